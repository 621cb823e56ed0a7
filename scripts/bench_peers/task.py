"""The task of a system."""

import argparse
import json
import os
import sys
import typing
from pathlib import Path

from . import snapshots

if typing.TYPE_CHECKING:
    from scipy import sparse


class Task:
    """Training `topics` topics on the training documents of `split`, with snapshots in `out`."""

    def __init__(self, split: Path, out: Path, topics: int, seconds: float, threads: int, seed: int = 1):
        self.split = split
        self.out = out
        self.topics = topics
        self.seconds = seconds
        self.threads = threads
        self.seed = seed
        facts = json.loads((split / "facts.json").read_text(encoding="utf-8"))
        self.documents: int = facts["train_documents"]
        self.terms: int = facts["terms"]
        self.clock = snapshots.Clock(seconds, out)

    def train_matrix(self) -> "sparse.csr_array":
        """Returns training documents × terms."""
        from . import split

        return split.read_matrix(self.split, "train")


def arguments(about: str, systems: list[str]) -> argparse.Namespace:
    """Parses the command line of a process with one system."""
    parser = argparse.ArgumentParser(description=about.split("\n\n")[0])
    parser.add_argument("name", choices=systems)
    parser.add_argument("split", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--binary", type=Path)
    return parser.parse_args()


def leave(name: str) -> None:
    """Ends the process at once if the system has threads for which Python would wait."""
    if name == "gensim":
        # It may have left a thread that feeds a queue without a reader.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


class System(typing.Protocol):
    """One system, with its model; making it reads the documents, which is not counted."""

    settings: dict[str, object]
    """All settings besides documents, topics, threads and seed; the report lists them."""

    def version(self) -> str:
        """Returns the version of the program or package."""

    def train(self) -> None:
        """Trains until time is up, taking snapshots."""

    def peak_mb(self) -> float:
        """Returns the peak memory; call it after training."""
