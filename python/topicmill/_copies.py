"""Copies of a result's files in memory, for pickling."""

from __future__ import annotations

import tempfile
from pathlib import Path

# What a copy of a result lacks: documents, and what only resuming needs.
_LEFT_OUT = {"checkpoints", "logs", "shards", "_lock", "_temporary"}


def take(path: Path) -> dict[str, bytes]:
    """Return the files of the result in `path`, by their names."""
    names = [file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file()]
    kept = (name for name in names if not any(part in _LEFT_OUT or part.startswith(".") for part in name.parts))
    return {name.as_posix(): (path / name).read_bytes() for name in kept}


def put(files: dict[str, bytes]) -> Path:
    """Write them to ``output`` in a new temporary folder, and return that folder."""
    folder = Path(tempfile.mkdtemp(prefix="topicmill-"))
    for name, content in files.items():
        file = folder / "output" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder
