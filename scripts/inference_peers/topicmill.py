"""topicmill, trained with all defaults; new documents are lines that `topicmill project --stdin` answers."""

import json
import subprocess
import threading
import typing
from pathlib import Path

from bench_peers import split
from bench_peers.task import Task
from bench_peers.topicmill import Topicmill as Trained

from .task import System

if typing.TYPE_CHECKING:
    import numpy

# Terms are called w0, w1, …, which are shorter than the default minimum. The training job does not project, so the
# method, the default, is named.
TOKENS = """
[tokens]
min_length = 2
"""
METHOD = "cvb0"


class Topicmill(Trained, System):
    """A run, and then one process that answers lines until it is closed."""

    def __init__(self, task: Task, binary: Path):
        super().__init__(task, binary)
        self.stream: subprocess.Popen | None = None

    def train(self) -> None:
        """Trains with all defaults, which end training by their own rule: `--seconds` is ignored."""
        self.run(self.write_job(TOKENS), self.task.out / "run", [])
        self.snapshot("")

    def started(self, *settings: str) -> subprocess.Popen:
        """Starts the process that answers."""
        command: list[str | Path] = [self.binary, "project", self.task.out / "run", "--stdin", "--quiet"]
        command += ["--threads", str(self.task.threads)]
        for setting in [f"project.method={METHOD}", *settings]:
            command += ["--set", setting]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def new_documents(self, name: str) -> list[bytes]:
        matrix = split.read_matrix(self.task.split, name)
        made = []
        for row in range(matrix.shape[0]):
            pairs = zip(*(part[matrix.indptr[row] : matrix.indptr[row + 1]] for part in (matrix.indices, matrix.data)))
            text = " ".join(f"w{term}" for term, count in pairs for _ in range(count))
            made.append(json.dumps({"id": str(row), "text": text}).encode() + b"\n")
        return made

    def infer(self, documents: list[bytes], threads: int) -> "numpy.ndarray":
        """Infers by a process that has loaded the model; answers leave out topics below the job's threshold."""
        if self.stream is None:
            self.stream = self.started()
            self.answers(self.stream, documents[:1])
        return self.answers(self.stream, documents)

    def proportions(self, name: str) -> "numpy.ndarray":
        """Returns all topics, which are too many to write while being timed."""
        with self.started("project.threshold=0.0") as process:
            return self.answers(process, self.new_documents(name))

    def answers(self, process: subprocess.Popen, documents: list[bytes]) -> "numpy.ndarray":
        """Returns the documents' proportions; a thread writes lines while answers are read."""
        import numpy

        assert process.stdin and process.stdout
        found = numpy.zeros((len(documents), self.task.topics), dtype=numpy.float32)
        writer = threading.Thread(target=self.ask, args=(process.stdin, b"".join(documents)), daemon=True)
        writer.start()
        for row in found:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"topicmill project: exit code {process.wait()}")
            for topic in json.loads(line)["topics"]:
                row[topic["topic"]] = topic["weight"]
        writer.join()
        return found / found.sum(axis=1, keepdims=True)

    @staticmethod
    def ask(pipe: typing.BinaryIO, lines: bytes) -> None:
        """Writes lines; if the reader is gone, `answers` notices the missing answers."""
        try:
            pipe.write(lines)
            pipe.flush()
        except BrokenPipeError:
            pass

    def close(self) -> None:
        """Ends the process that answers."""
        if self.stream and self.stream.stdin:
            self.stream.stdin.close()
            self.stream.wait()
