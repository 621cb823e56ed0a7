"""What a system is asked to do once it is trained."""

import time
import typing

from bench_peers.task import Task

if typing.TYPE_CHECKING:
    import numpy

# Each time is the best of this many runs.
REPEATS = 3


class System:
    """One system, trained and then inferring. A class of `bench_peers` trains those that it has."""

    task: Task

    def threads(self) -> list[int]:
        """Numbers of threads to try; the fastest counts."""
        return [self.task.threads]

    def new_documents(self, name: str) -> object:
        """The documents `test` or `observed` of the split, as the system wants them; this is not timed."""
        raise NotImplementedError

    def infer(self, documents: object, threads: int) -> "numpy.ndarray":
        """Proportions, documents × topics; this is timed."""
        raise NotImplementedError

    def proportions(self, name: str) -> "numpy.ndarray":
        """Proportions that are scored, where they are not those that were timed."""
        return self.infer(self.new_documents(name), self.task.threads)

    def idle(self) -> float:
        """Seconds of `infer` that are not inference and are to be taken off."""
        return 0.0


def fastest(system: System) -> tuple[float, int]:
    """Seconds that the test documents take, and the threads they take them on."""
    best = (float("inf"), 0)
    for threads in system.threads():
        for _ in range(REPEATS):
            documents = system.new_documents("test")
            started = time.perf_counter()
            system.infer(documents, threads)
            best = min(best, (time.perf_counter() - started, threads))
    return max(best[0] - system.idle(), 1e-9), best[1]


def normalised(rows: "numpy.ndarray") -> "numpy.ndarray":
    """Non-negative rows, each divided by its sum."""
    return rows / rows.sum(axis=1, keepdims=True)
