"""BigARTM's LDA (package bigartm10), in an interpreter of its own with protobuf 3, without scipy and pyarrow."""

import os
import typing
from pathlib import Path

from bench_peers.task import Task

from .task import System

if typing.TYPE_CHECKING:
    import numpy

# Its messages were generated for an older protobuf than the fast implementation accepts.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"


class BigArtm(System):
    """Offline passes, 10 iterations per document (its defaults); a step is a pass. Documents are its batches on disk."""

    def __init__(self, task: Task):
        import artm

        # It writes its log to the current directory.
        os.chdir(task.out)
        self.task = task
        self.seen = 0
        self.batches: dict[str, object] = {}
        batches = self.new_documents("train")
        self.model = artm.LDA(
            num_topics=task.topics, num_processors=task.threads, dictionary=batches.dictionary, seed=task.seed
        )
        self.model.initialize(batches.dictionary)

    def version(self) -> str:
        import artm

        return artm.version()

    def train(self) -> None:
        clock = self.task.clock
        batches = self.new_documents("train")
        clock.start()
        goes_on = True
        while goes_on:
            self.model.fit_offline(batches, 1)
            self.seen += 1
            goes_on = clock.step_done(self)

    def passes(self) -> float:
        return self.seen

    def alpha(self) -> list[float]:
        """Returns the value that it adds to a topic's expected tokens in a document."""
        return [float(self.model.alpha)] * self.task.topics

    def rows(self) -> "typing.Iterator[numpy.ndarray]":
        import numpy

        weights = self.model.phi_
        names = (name if isinstance(name, str) else name[-1] for name in weights.index)
        places = numpy.array([int(name[1:]) for name in names])
        values = weights.to_numpy()
        for topic in range(self.task.topics):
            row = numpy.zeros(self.task.terms, dtype=numpy.float32)
            row[places] = values[:, topic]
            yield row

    def new_documents(self, name: str) -> typing.Any:
        import artm

        if name not in self.batches:
            self.batches[name] = artm.BatchVectorizer(
                data_path=str(self.task.split),
                data_format="bow_uci",
                collection_name=name,
                target_folder=str(Path(self.task.out) / f"batches-{name}"),
            )
        return self.batches[name]

    def infer(self, documents: typing.Any, threads: int) -> "numpy.ndarray":
        # Documents are in the order of their completion; their names are their numbers.
        found = self.model.transform(documents)
        return found[sorted(found.columns, key=int)].to_numpy().T
