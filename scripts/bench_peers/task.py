"""What a system is asked to do."""

import json
import typing
from pathlib import Path

from . import snapshots

if typing.TYPE_CHECKING:
    from scipy import sparse


class Task:
    """Train `topics` topics on the training documents of `split`, and leave snapshots in `out`."""

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
        """Training documents × terms."""
        from . import split

        return split.read_matrix(self.split, "train")


class System(typing.Protocol):
    """One system, with its model; making it reads the documents, which is not counted."""

    settings: dict[str, object]
    """All that is set besides documents, topics, threads and seed; the report lists it."""

    def version(self) -> str:
        """The version of the program or package."""

    def train(self) -> None:
        """Trains until time is up, taking snapshots."""

    def peak_mb(self) -> float:
        """Its peak memory; to be asked when training is over."""
