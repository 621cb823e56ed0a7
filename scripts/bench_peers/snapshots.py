"""The clock that training runs on, and the models it writes down on the way.

A snapshot is two files: NUMBER.f32, topics × terms as 32-bit floats, and NUMBER.json, written last, with the
rest. Rows are written one by one, so that a snapshot adds nothing to the peak memory that is measured.
Standard library alone: the process that starts topicmill must stay small.
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
    """What can be asked of a model in training."""

    def passes(self) -> float:
        """Passes over the training documents so far."""

    def alpha(self) -> list[float]:
        """The parameters of the documents' Dirichlet prior, one a topic."""

    def rows(self) -> Iterable:
        """Each topic's distribution over the terms, as float32 in the split's order of terms."""


def write(folder: Path, rows: Iterable, facts: dict) -> None:
    """Leaves a snapshot under the next number; one without its json is not complete."""
    number = f"{len(list(folder.glob('*.json'))):04}"
    with open(folder / f"{number}.f32", "wb") as file:
        for row in rows:
            file.write(row.tobytes())
    unfinished = folder / f"{number}.unfinished"
    unfinished.write_text(json.dumps(facts), encoding="utf-8")
    os.replace(unfinished, folder / f"{number}.json")


def read(path: Path) -> "tuple[numpy.ndarray, dict]":
    """The rows and facts of a snapshot, by its NUMBER.json."""
    import numpy

    facts = json.loads(path.read_text(encoding="utf-8"))
    rows = numpy.fromfile(path.with_suffix(".f32"), dtype=numpy.float32)
    return rows.reshape(len(facts["alpha"]), -1), facts


class Clock:
    """Training time. It stands while a snapshot is written; snapshots are due at limit / 128, / 64, … limit."""

    def __init__(self, limit: float, folder: Path):
        self.limit = limit
        self.folder = folder
        self.seconds = 0.0
        self.due = limit / 128
        self.since = 0.0

    def start(self) -> None:
        """Training begins now."""
        self.since = time.monotonic()

    def step_done(self, model: Model) -> bool:
        """To be called after each step that training can be interrupted at; says whether there is time for another."""
        self.seconds += time.monotonic() - self.since
        if self.seconds >= self.due:
            facts = {"seconds": self.seconds, "passes": model.passes(), "alpha": model.alpha()}
            write(self.folder, model.rows(), facts)
            while self.due <= self.seconds:
                self.due *= 2
        self.since = time.monotonic()
        return self.seconds < self.limit
