"""The systems that `bench_peers` trains: tomotopy, gensim and scikit-learn, inferring with their own defaults."""

import itertools
import typing

from bench_peers import peers, split

from .task import System, normalised

if typing.TYPE_CHECKING:
    import numpy


class Tomotopy(peers.Tomotopy, System):
    """100 sweeps of Gibbs sampling, each document by itself; the last one counts."""

    def new_documents(self, name: str) -> list:
        # A document remembers its topics, so each call gets new documents.
        matrix = split.read_matrix(self.task.split, name)
        made = []
        for start, end in itertools.pairwise(matrix.indptr):
            tokens = zip(matrix.indices[start:end].tolist(), matrix.data[start:end].tolist())
            made.append(self.model.make_doc([f"w{term}" for term, count in tokens for _ in range(count)]))
        return made

    def infer(self, documents: list, threads: int) -> "numpy.ndarray":
        import numpy

        proportions, _ = self.model.infer(documents, workers=threads)
        return numpy.array(proportions)


class Gensim(peers.Gensim, System):
    """Variational inference, at most 50 iterations, in this process: LdaMulticore uses several for training only."""

    def threads(self) -> list[int]:
        return [1]

    def new_documents(self, name: str) -> list:
        matrix = split.read_matrix(self.task.split, name)
        return [
            list(zip(matrix.indices[start:end].tolist(), matrix.data[start:end].tolist()))
            for start, end in itertools.pairwise(matrix.indptr)
        ]

    def infer(self, documents: list, threads: int) -> "numpy.ndarray":
        gamma, _ = self.model.inference(documents)
        return normalised(gamma)


class ScikitLearn(peers.ScikitLearn, System):
    """Variational inference, at most 100 iterations, in one process or several, whichever is faster."""

    def threads(self) -> list[int]:
        return sorted({1, self.task.threads})

    def new_documents(self, name: str) -> object:
        return split.read_matrix(self.task.split, name).astype(float)

    def infer(self, documents: object, threads: int) -> "numpy.ndarray":
        self.model.n_jobs = threads
        return self.model.transform(documents)
