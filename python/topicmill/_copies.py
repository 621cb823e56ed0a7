"""Copies of a result's files in memory, for pickling."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

# What a copy of a result lacks: documents, and what only resuming needs.
_LEFT_OUT = shutil.ignore_patterns("checkpoints", "logs", "shards", "_lock", "_temporary", ".*")


def take(path: Path) -> dict[str, bytes]:
    """Return the files of the result in `path`, by their names."""
    with tempfile.TemporaryDirectory(prefix="topicmill-") as folder:
        copy = shutil.copytree(path, Path(folder, "output"), ignore=_LEFT_OUT)
        paths = sorted(path for path in copy.rglob("*") if path.is_file())
        return {path.relative_to(copy).as_posix(): path.read_bytes() for path in paths}


def put(files: dict[str, bytes]) -> Path:
    """Write them to ``output`` in a new temporary folder, and return that folder."""
    folder = Path(tempfile.mkdtemp(prefix="topicmill-"))
    for name, content in files.items():
        file = folder / "output" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder
