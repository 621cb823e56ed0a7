"""Vowpal Wabbit's online variational Bayes (`--lda`). One thread computes, another reads the input."""

import itertools
import sys
import time
import typing
from importlib import metadata
from pathlib import Path

from bench_peers import snapshots, split
from bench_peers.task import Task

from .task import REPEATS, System, normalised

if typing.TYPE_CHECKING:
    import numpy

# By default a minibatch is one document, which yields no usable model; these are the settings of its own tutorial.
SETTINGS = "--lda_alpha 0.1 --lda_rho 0.1 --power_t 0.5 --initial_t 1 --minibatch 256"
# With -t alone it still learns; -l 0 keeps the topics fixed.
FROZEN = "-t -l 0"
ALPHA = 0.1
RHO = 0.1


# Maximum number of documents in a minibatch; with many more, it is killed by a signal.
MOST = 256


def full_minibatch(count: int) -> int:
    """Returns the size of minibatches with which `count` documents leave the last one as full as possible."""
    return count if count <= MOST else min(range(MOST // 2, MOST + 1), key=lambda size: (-count % size, -size))


class VowpalWabbit(System):
    """Runs the whole program in this process, because its Python interface has no single documents for LDA."""

    def __init__(self, task: Task):
        import vowpalwabbit

        self.run = vowpalwabbit.Workspace
        self.task = task
        self.bits = max((task.terms - 1).bit_length(), 1)
        self.model = task.out / "model"
        self.text("train")

    def version(self) -> str:
        return metadata.version("vowpalwabbit")

    def text(self, name: str, most: int | None = None) -> Path:
        """Writes documents of the split in its text format; a term that is a number is its own hash."""
        path = self.task.out / f"{name}.{most}.vw"
        matrix = split.read_matrix(self.task.split, name)[:most]
        count = matrix.shape[0]
        with open(path, "w", encoding="ascii") as file:
            for start, end in itertools.pairwise(matrix.indptr):
                pairs = zip(matrix.indices[start:end].tolist(), matrix.data[start:end].tolist())
                file.write("| " + " ".join(f"{term}:{count}" for term, count in pairs) + "\n")
            if name != "train":
                # Fills the last minibatch; the answers for these lines are skipped.
                file.write("| 0:1\n" * (-count % full_minibatch(count)))
        return path

    def train(self) -> None:
        """Trains for one pass; then again from the start for as many as there is time for, in one run."""
        seconds = self.passes(1)
        passes = max(int(self.task.seconds / seconds), 1)
        if passes > 1:
            seconds = self.passes(passes)
        facts = {"seconds": seconds, "passes": passes, "alpha": [ALPHA] * self.task.topics}
        snapshots.write(self.task.out, self.rows(), facts)

    def passes(self, number: int) -> float:
        """Trains from the start; returns the seconds, including reading the text in the first pass."""
        task = self.task
        (task.out / "train.cache").unlink(missing_ok=True)
        started = time.perf_counter()
        workspace = self.run(
            f"-d {task.out / 'train.None.vw'} --cache_file {task.out / 'train.cache'} --passes {number} --holdout_off "
            f"--lda {task.topics} --lda_D {task.documents} {SETTINGS} -b {self.bits} "
            f"--random_seed {self.task.seed} -f {self.model} --quiet"
        )
        seconds = time.perf_counter() - started
        workspace.finish()
        return seconds

    def rows(self) -> "typing.Iterator[numpy.ndarray]":
        """Yields each topic's terms. The model ends with a record per term: its number, a weight per topic minus RHO."""
        import numpy

        record = numpy.dtype([("term", "<u8"), ("weights", "<f4", (self.task.topics,))])
        terms = 1 << self.bits
        offset = self.model.stat().st_size - terms * record.itemsize
        records = numpy.fromfile(self.model, dtype=record, offset=max(offset, 0))
        if len(records) != terms or (records["term"] != numpy.arange(terms)).any():
            raise SystemExit("the model of Vowpal Wabbit is not laid out as known here")
        for row in records["weights"][: self.task.terms].T:
            counts = numpy.maximum(row, 0).astype(float) + RHO
            yield (counts / counts.sum()).astype(numpy.float32)

    def threads(self) -> list[int]:
        return [1]

    def new_documents(self, name: str, most: int | None = None) -> tuple[Path, int]:
        """Returns a text, which is read from the cache beside it, and its number of documents."""
        path = self.task.out / f"{name}.{most}.vw"
        count = min(split.read_matrix(self.task.split, name).shape[0], most or sys.maxsize)
        if not path.exists():
            self.infer((self.text(name, most), count), 1)
        return path, count

    def infer(self, documents: tuple[Path, int], threads: int) -> "numpy.ndarray":
        """Infers in minibatches that the documents fill, because it outputs nothing for an unfilled one."""
        import numpy

        path, count = documents
        minibatch = full_minibatch(count)
        predictions = path.with_suffix(".predictions")
        self.run(
            f"-d {path} --cache_file {path.with_suffix('.cache')} {FROZEN} -i {self.model} --minibatch {minibatch} "
            f"-p {predictions} --quiet"
        ).finish()
        values = numpy.fromstring(predictions.read_bytes(), sep=" ", dtype=numpy.float32)
        return normalised(values.reshape(-1, self.task.topics)[:count])

    def idle(self) -> float:
        """Returns the time of a single document, which is that of reading the model, as each call does."""
        documents = self.new_documents("test", 1)
        times = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            self.infer(documents, 1)
            times.append(time.perf_counter() - started)
        return min(times)
