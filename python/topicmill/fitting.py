"""Results: trained on texts in memory, or read from an output folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _job, _program, _tables, _texts
from ._job import Settings
from ._tables import Backend
from .errors import DataError, UsageError
from .result import Result

# In an output folder, where the program ignores names that begin with a dot.
_INPUT = ".input"
_TOPICS = 50
# The column with the labels of texts.
_LABELS = "labels"
# Keys of the job that are arguments.
_ARGUMENTS = {
    "model.seed": "seed (of estimators: random_state)",
    "model.topics": "topics (of TopicMill: n_components)",
    "output.path": "output",
}


def fit(
    texts: Iterable[str | None] | os.PathLike[str],
    topics: int | None = None,
    *,
    labels: Iterable[object] | None = None,
    ids: Iterable[object] | None = None,
    metadata: Mapping[str, Iterable[object]] | None = None,
    seed: int = 1,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    verbose: bool = False,
    backend: Backend | None = None,
    settings: Settings | None = None,
    **keywords: Any,
) -> Result:
    """Train topics on texts, and infer the topics of each.

    Runs ``topicmill run``: the same texts, settings and seed give the same arrays, on any number of
    threads and any machine.

    Parameters
    ----------
    texts : iterable of str, or pathlib.Path
        The texts: a list, an iterator, a column of pandas, polars or pyarrow. A missing text gets the
        status ``empty``. A path names a file, a folder or a glob, in any format that a job reads.
    topics : int, default 50
        Number of topics; omit it with labels, each of which is a topic.
    labels : iterable, optional
        The labels of each text: a list of them, a single one, or None. Each label becomes a topic (Labeled
        LDA), and labels are predicted for all texts: see `Result.labels`, `Result.predictions` and
        `Result.predict`. For files, ``corpus__labels`` names the key or column.
    ids : iterable, optional
        The texts' ids; by default, their positions, from 0.
    metadata : mapping of str to iterable, optional
        Columns for the table ``documents``, such as ``{"year": years}``.
    seed : int, default 1
        The seed of every random choice.
    output : path-like, optional
        A folder to write the result to, with the texts in ``.input``. An interrupted call resumes
        there; a completed call returns immediately. By default, the result is in a temporary folder
        that is removed with the returned object.
    overwrite : bool, default False
        Whether to replace another result in `output`.
    threads : int, optional
        Threads; by default, one for each core.
    verbose : bool, default False
        Whether to show progress on standard error.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library that tables are returned with; by default, the first of them that is installed.
    settings : dict, optional
        Keys of the job that are not arguments, such as ``{"train.passes": 50}``; docs/JOB.md lists them.
    **keywords
        The same as keywords, such as ``train__passes=50``. Files are relative to the current directory.

    Returns
    -------
    Result
        The topics, and those of every text.

    Raises
    ------
    TopicMillError
        With the program's message and remedy, such as a `UsageError` for a wrong setting or a
        `DataError` for texts that leave no vocabulary.

    Examples
    --------
    >>> import topicmill
    >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
    >>> result = topicmill.fit(texts, topics=2, vocabulary__min_documents=10)
    >>> result.topics["topic"].to_list()
    [0, 1]
    >>> topicmill.fit(texts, topics=0)
    Traceback (most recent call last):
      ...
    topicmill.errors.UsageError: model.topics=0: `model.topics` is 0, but must be a whole number from 1 to 65535

    Each label is a topic:

    >>> result = topicmill.fit(texts, labels=[["animals"], ["money"]] * 50)
    >>> [[label for label, score in labels] for labels in result.predict(["a bank loan", "the puppy"])]
    [['money'], ['animals']]
    """
    backend = _tables.choose(backend)
    chosen = _job.merged(settings, keywords)
    for key, argument in _ARGUMENTS.items():
        if key in chosen:
            raise TypeError(f"{key} is an argument of its own: pass {argument}")
    chosen["model.seed"] = seed
    if topics is None and labels is None and "corpus.labels" not in chosen:
        topics = _TOPICS
    if topics is not None:
        chosen["model.topics"] = topics
    flags = [*_job.threads(threads), *_job.flags(chosen)]
    if metadata is not None:
        if not hasattr(metadata, "items"):
            kind = type(metadata).__name__
            raise TypeError(f"metadata is a {kind}: pass a dict of columns, such as {{'year': df['year']}}")
        metadata = dict(metadata.items())
    if labels is not None:
        if isinstance(texts, os.PathLike):
            raise ValueError("labels of files are named by corpus__labels")
        if _LABELS in (metadata or {}):
            raise ValueError(f"a column of metadata cannot be named {_LABELS!r} beside labels: rename it")
        metadata = {**(metadata or {}), _LABELS: _texts.label_lists(labels)}
        flags += _job.flags({"corpus.labels": _LABELS})
    flags += ["--overwrite"] * overwrite + ["--quiet"] * (not verbose)
    if output is not None:
        if "://" in str(output):
            raise ValueError(f"output is {output}, but must be a local folder: for others, use `topicmill run`")
        folder = Path(output).absolute()
        _run(texts, ids, metadata, folder / _INPUT, folder, flags, verbose)
        return Result(folder, backend=backend)
    temporary = Path(tempfile.mkdtemp(prefix="topicmill-"))
    try:
        _run(texts, ids, metadata, temporary / "input", temporary / "output", flags, verbose)
        shutil.rmtree(temporary / "input")
        result = Result(temporary / "output", backend=backend)
        result._own(temporary)
        return result
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read(path: str | os.PathLike[str], *, backend: Backend | None = None) -> Result:
    """Open the output folder of a finished run.

    Parameters
    ----------
    path : path-like
        The folder that the job names as ``output.path``.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library that tables are returned with; by default, the first of them that is installed.

    Returns
    -------
    Result
        Its tables and arrays are read on first use.

    Raises
    ------
    TopicMillError
        If there is no finished result; the message says what to do.

    Examples
    --------
    >>> import topicmill
    >>> topicmill.read("nowhere")
    Traceback (most recent call last):
      ...
    topicmill.errors.UsageError: nowhere: does not exist
    pass the folder that the job names as `output.path`
    """
    return Result(path, backend=backend)


def _run(
    texts: Iterable[str | None] | os.PathLike[str],
    ids: Iterable[object] | None,
    metadata: Mapping[str, Iterable[object]] | None,
    spool: Path,
    output: Path,
    flags: list[str],
    verbose: bool,
) -> None:
    """Write texts and job to the folder `spool`, and run the job."""
    had_output = output.exists()
    corpus: dict[str, Any]
    if isinstance(texts, os.PathLike):
        if ids is not None or metadata is not None:
            raise ValueError("ids and metadata of files are named by corpus__id and corpus__metadata")
        corpus = {"base": Path.cwd(), "input": os.fspath(texts)}
        job = spool / "job.toml"
    else:
        file = _texts.spool(_texts.lines(texts, ids, metadata), spool)
        corpus = {"base": file.parent, "input": file.name, "metadata": [] if metadata is None else list(metadata)}
        job = file.with_suffix(".toml")
    is_new = not job.exists()
    _job.write(job, {"corpus": corpus, "output": {"path": output}})
    try:
        _program.run("run", job, "--processes", "1", *flags, verbose=verbose)
    except (UsageError, DataError):
        for file in spool.glob(f"{job.stem}.*") if is_new else ():
            file.unlink()
        with contextlib.suppress(OSError):  # Not empty.
            spool.rmdir()
            if not had_output:
                output.rmdir()
        raise
    for other in spool.glob("documents-*.*"):
        if other.stem != job.stem:
            other.unlink()
