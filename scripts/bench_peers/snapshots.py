"""The clock of training, and the snapshots of models that are written on the way.

A snapshot is two files: NUMBER.f32, topics × terms as 32-bit floats, and NUMBER.json, written last, with the
rest. Rows are written one by one, so that a snapshot adds nothing to the measured peak memory. Uses only the
standard library, because the process that starts topicmill must stay small.
"""

import json
import os
import time
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

if typing.TYPE_CHECKING:
    import numpy


class Model(Protocol):
    """A model in training."""

    def passes(self) -> float:
        """Returns the passes over the training documents so far."""

    def alpha(self) -> list[float]:
        """Returns the parameters of the documents' Dirichlet prior, one per topic."""

    def rows(self) -> Iterable:
        """Yields each topic's distribution over the terms, as float32 in the split's order of terms."""


def write(folder: Path, rows: Iterable, facts: dict) -> None:
    """Writes a snapshot under the next number; it is complete once its JSON exists."""
    number = f"{len(list(folder.glob('*.json'))):04}"
    with open(folder / f"{number}.f32", "wb") as file:
        for row in rows:
            file.write(row.tobytes())
    unfinished = folder / f"{number}.unfinished"
    unfinished.write_text(json.dumps(facts), encoding="utf-8")
    os.replace(unfinished, folder / f"{number}.json")


def read(path: Path) -> "tuple[numpy.ndarray, dict]":
    """Reads the rows and facts of the snapshot with this NUMBER.json."""
    import numpy

    facts = json.loads(path.read_text(encoding="utf-8"))
    rows = numpy.fromfile(path.with_suffix(".f32"), dtype=numpy.float32)
    return rows.reshape(len(facts["alpha"]), -1), facts


class Clock:
    """Training time, which stops while a snapshot is written. Snapshots are due at limit / 128, / 64, … limit."""

    def __init__(self, limit: float, folder: Path):
        self.limit = limit
        self.folder = folder
        self.seconds = 0.0
        self.due = limit / 128
        self.since = 0.0

    def start(self) -> None:
        """Starts the clock."""
        self.since = time.monotonic()

    def step_done(self, model: Model) -> bool:
        """Call after each step at which training can stop; returns whether there is time for another."""
        self.seconds += time.monotonic() - self.since
        if self.seconds >= self.due:
            facts = {"seconds": self.seconds, "passes": model.passes(), "alpha": model.alpha()}
            write(self.folder, model.rows(), facts)
            while self.due <= self.seconds:
                self.due *= 2
        self.since = time.monotonic()
        return self.seconds < self.limit
