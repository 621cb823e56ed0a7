"""Temporary folders of results: copies in memory, for pickling, and their removal."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

# Not copied: the documents' bags of words, and files that only resuming a run needs.
_LEFT_OUT = {"checkpoints", "logs", "shards", "_lock", "_temporary"}


def take(path: Path) -> dict[str, bytes]:
    """Return the contents of the result's files in `path`, by name."""
    names = [file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file()]
    kept = (name for name in names if not any(part in _LEFT_OUT or part.startswith(".") for part in name.parts))
    return {name.as_posix(): (path / name).read_bytes() for name in kept}


def put(files: dict[str, bytes]) -> Path:
    """Write `files` to ``output`` in a new temporary folder, and return that folder."""
    folder = Path(tempfile.mkdtemp(prefix="topicmill-"))
    for name, content in files.items():
        file = folder / "output" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def remove(folder: Path, owner: int) -> None:
    """Remove a temporary folder, but not from a fork of the process that owns it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
