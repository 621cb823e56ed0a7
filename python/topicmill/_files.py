"""Files that are complete or absent, and text files that may be compressed."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pyarrow

from .errors import DataError, UsageError


@contextlib.contextmanager
def writing(folder: Path, names: list[str], overwrite: bool) -> Iterator[Path]:
    """Yield an empty folder; what is written to it is moved to `folder` at the end, unless an exception is raised.

    Refuses a folder in a result, and files of `names` that exist unless they may be overwritten.
    """
    folder = folder.absolute()
    for parent in (folder, *folder.parents):
        if Path(parent, "_SUCCESS").exists() and Path(parent, "manifest.json").exists():
            raise UsageError(f"{folder} is in a result of topicmill", "name a folder outside of it")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", "name a folder")
    for name in names:
        if Path(folder, name).is_dir():
            raise UsageError(f"{folder / name} is a folder", "name a file")
        if Path(folder, name).exists() and not overwrite:
            raise UsageError(f"{folder / name} exists", "name another file, or replace it with overwrite=True")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".topicmill-", dir=folder) as temporary:
        yield Path(temporary)
        for name in names:
            if Path(temporary, name).exists():
                os.replace(Path(temporary, name), folder / name)
            else:
                Path(folder, name).unlink(missing_ok=True)


@contextlib.contextmanager
def text(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file, which is decompressed if its name ends with .gz, .bz2 or .zst."""
    name = os.fspath(path)
    with io.TextIOWrapper(pyarrow.input_stream(name), encoding="utf-8-sig", newline="\n") as file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise DataError(f"{name}: is not UTF-8: {error.reason}") from None
        except OSError as error:
            if error.errno is not None:
                raise
            # Of a decoder.
            raise DataError(f"{name}: is cut short or damaged: {error}", "write or copy it again") from None
