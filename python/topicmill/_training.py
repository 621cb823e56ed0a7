"""Running the program on a job of texts in memory or in files."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import _job, _program, _texts
from ._job import Settings
from .errors import DataError, UsageError
from .result import Result

# In an output folder, where the program ignores names that begin with a dot.
_INPUT = ".input"
# The columns of texts that are no table, by argument; and the keys of the job that name columns.
_COLUMNS = {"text": "text", "ids": "id", "date": "date", "group": "group", "labels": "labels"}
_KEYS = {"text": "text", "ids": "id", "group": "group", "labels": "labels"}
# Keys of the job that are arguments.
_ARGUMENTS = {
    "model.seed": "seed (of estimators: random_state)",
    "model.topics": "topics (of TopicMill: n_components)",
    "output.path": "output",
}


class Folders(NamedTuple):
    """Where the program reads and writes."""

    output: Path
    # The job, and texts that are not in files.
    input: Path
    temporary: Path | None

    def give_to(self, result: Result) -> None:
        """Remove the folders with `result`, if they are temporary."""
        if self.temporary is not None:
            result._own(self.temporary)


@contextlib.contextmanager
def folders(output: str | os.PathLike[str] | None) -> Iterator[Folders]:
    """Yield the folders of an output. Without one, they are temporary, and are removed if an exception is raised."""
    if output is not None:
        if "://" in str(output):
            raise ValueError(f"output is {output}, but must be a local folder: for others, use the topicmill program")
        folder = Path(output).absolute()
        yield Folders(folder, folder / _INPUT, None)
        return
    temporary = Path(tempfile.mkdtemp(prefix="topicmill-"))
    try:
        yield Folders(temporary / "output", temporary / "input", temporary)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def keys(settings: Settings | None, keywords: Settings, seed: int) -> dict[str, Any]:
    """Return keys of the job, with the seed. Those that are other arguments are refused."""
    chosen = _job.merged(settings, keywords)
    for key, argument in _ARGUMENTS.items():
        if key in chosen:
            raise TypeError(f"{key} is an argument of its own: pass {argument}")
    return {**chosen, "model.seed": seed}


def run(
    subcommand: str,
    flags: list[str],
    folders: Folders,
    texts: Any,
    described: dict[str, Any],
    metadata: Any,
    chosen: dict[str, Any],
    verbose: bool,
) -> None:
    """Write the job of `texts`, which the arguments `described` describe, and run a subcommand on it."""
    corpus, lines = _corpus(texts, {key: value for key, value in described.items() if value is not None}, metadata)
    if described["date"] is not None:
        chosen["project.trends"] = list(dict.fromkeys([corpus["metadata"][0], *chosen.get("project.trends", [])]))
    had_output = folders.output.exists()
    job = folders.input / "job.toml"
    if lines is not None:
        file = _texts.spool(lines, folders.input)
        corpus = {"base": file.parent, "input": file.name, **corpus}
        job = file.with_suffix(".toml")
    is_new = not job.exists()
    _job.write(job, {"corpus": corpus, "output": {"path": folders.output}})
    try:
        flags = [*flags, *_job.flags(chosen), *["--quiet"] * (not verbose)]
        _program.run(subcommand, job, *flags, verbose=verbose)
    except (UsageError, DataError):
        for file in folders.input.glob(f"{job.stem}.*") if is_new else ():
            file.unlink()
        with contextlib.suppress(OSError):  # Not empty.
            folders.input.rmdir()
            if not had_output:
                folders.output.rmdir()
        raise
    for other in folders.input.glob("documents-*.*"):
        if other.stem != job.stem:
            other.unlink()


def _corpus(
    texts: Any, described: dict[str, Any], metadata: Any
) -> tuple[dict[str, Any], Iterator[str] | None]:
    """Return keys of the job's section ``corpus``, and texts that are not in files as lines.

    `described` has the arguments that describe texts: names of columns, or their values.
    """
    is_table, is_files = _texts.is_table(texts), isinstance(texts, os.PathLike)
    is_named = is_table or is_files
    kind = "path" if is_files else type(texts).__name__
    for argument, value in described.items():
        if isinstance(value, str) != is_named:
            wanted = "the name of a column" if is_named else "a value for each text"
            raise TypeError(f"{argument} is a {type(value).__name__}: with a {kind}, pass {wanted}")
    if metadata is not None and hasattr(metadata, "items") == is_named:
        wanted = "a list of names of columns" if is_named else "a dict of columns, such as {'year': df['year']}"
        raise TypeError(f"metadata is a {type(metadata).__name__}: with a {kind}, pass {wanted}")
    listed = [metadata] if isinstance(metadata, str) else [] if metadata is None else list(metadata)
    names = described if is_named else {argument: _COLUMNS[argument] for argument in described}
    if not is_files:
        names = {"text": "text", "ids": "id"} | names
    kept = list(dict.fromkeys([names["date"], *listed] if "date" in names else listed))
    corpus = {_KEYS[argument]: name for argument, name in names.items() if argument in _KEYS}
    if kept:
        corpus["metadata"] = kept
    if is_files:
        return {"base": Path.cwd(), "input": os.fspath(texts), **corpus}, None
    columns: dict[str, Any]
    if is_table:
        places = [("text", names["text"]), *described.items(), *(("metadata", name) for name in listed)]
        columns = {name: _texts.column(texts, name, argument) for argument, name in places}
    else:
        for name in listed:
            if name in ("text", "id", *names.values()):
                raise ValueError(f"a column of metadata cannot be named {name!r}: rename it")
        columns = {"text": texts, **{names[argument]: value for argument, value in described.items()}}
        columns |= {name: metadata[name] for name in listed}
    if "labels" in names:
        columns[names["labels"]] = _texts.label_lists(columns[names["labels"]])
    ids = columns.pop(names["ids"]) if "ids" in described else None
    return corpus, _texts.lines(columns.pop(names["text"]), ids, columns, names["text"], names["ids"])
