"""The task of a trained system."""

import time
import typing

from bench_peers.task import Task

if typing.TYPE_CHECKING:
    import numpy

# Each time is the best of this many runs.
REPEATS = 3


class System:
    """A system that trains and then infers. Classes of `bench_peers` train the systems that they implement."""

    task: Task

    def threads(self) -> list[int]:
        """Returns the numbers of threads to try; the fastest counts."""
        return [self.task.threads]

    def new_documents(self, name: str) -> object:
        """Returns the documents `test` or `observed` of the split in the system's form; this is not timed."""
        raise NotImplementedError

    def infer(self, documents: object, threads: int) -> "numpy.ndarray":
        """Returns proportions, documents × topics; this is timed."""
        raise NotImplementedError

    def proportions(self, name: str) -> "numpy.ndarray":
        """Returns the proportions to score, which may differ from the timed ones."""
        return self.infer(self.new_documents(name), self.task.threads)

    def idle(self) -> float:
        """Returns the seconds of `infer` to subtract because they are not inference."""
        return 0.0


def fastest(system: System) -> tuple[float, int]:
    """Returns the least seconds for the test documents, and the number of threads that achieves them."""
    best = (float("inf"), 0)
    for threads in system.threads():
        for _ in range(REPEATS):
            documents = system.new_documents("test")
            started = time.perf_counter()
            system.infer(documents, threads)
            best = min(best, (time.perf_counter() - started, threads))
    return max(best[0] - system.idle(), 1e-9), best[1]


def normalised(rows: "numpy.ndarray") -> "numpy.ndarray":
    """Divides each of the non-negative rows by its sum."""
    return rows / rows.sum(axis=1, keepdims=True)
