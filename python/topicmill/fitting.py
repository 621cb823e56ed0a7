"""Results: trained on texts in memory, or read from an output folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from . import _job, _program, _tables, _texts
from ._job import Settings
from ._tables import Backend, Table
from .errors import DataError, UsageError
from .result import Result

# In an output folder, where the program ignores names that begin with a dot.
_INPUT = ".input"
_TOPICS = 50
# The columns of texts that are no table, by argument; and the keys of the job that name columns.
_COLUMNS = {"text": "text", "ids": "id", "date": "date", "group": "group", "labels": "labels"}
_KEYS = {"text": "text", "ids": "id", "group": "group", "labels": "labels"}
# Keys of the job that are arguments.
_ARGUMENTS = {
    "model.seed": "seed (of estimators: random_state)",
    "model.topics": "topics (of TopicMill: n_components)",
    "output.path": "output",
}


def fit(
    texts: Iterable[str | None] | Table | os.PathLike[str],
    topics: int | None = None,
    *,
    text: str | None = None,
    ids: str | Iterable[object] | None = None,
    date: str | Iterable[object] | None = None,
    group: str | Iterable[object] | None = None,
    labels: str | Iterable[object] | None = None,
    metadata: Mapping[str, Iterable[object]] | Iterable[str] | None = None,
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
    texts : DataFrame, iterable of str, or pathlib.Path
        The texts. A table, which is a DataFrame of pandas or polars or a table of pyarrow, has a row for each, and the
        next arguments name its columns. Of a list, an iterator or a column of these libraries they are values, one for
        each text. A missing text gets the status ``empty``. A path names a file, a folder or a glob, in any format that
        a job reads; the next arguments name columns or keys, as of a table.
    topics : int, default 50
        Number of topics; omit it with labels, each of which is a topic.
    text : str, optional
        The table's column with the texts; ``"text"`` by default.
    ids : str or iterable, optional
        The texts' ids; by default, their positions, from 0.
    date : str or iterable, optional
        The texts' dates or years, for the table ``documents``, and for the trends of topics in time: the table
        ``topic_trends``, ``result.plot.trend`` and the report.
    group : str or iterable, optional
        The volume that each text is a section of; topics are summed over volumes in the table ``group_topics``.
    labels : str or iterable, optional
        The labels of each text: a list of them, a single one, or None. Each label becomes a topic (Labeled
        LDA), and labels are predicted for all texts: see `Result.labels`, `Result.predictions` and
        `Result.predict`.
    metadata : iterable of str, or mapping of str to iterable, optional
        Further columns for the table ``documents``: names, such as ``["author"]``; of texts that are no table, values,
        such as ``{"author": authors}``.
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
        The library that tables are returned with; by default that of `texts`, or the first that is installed.
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

    Columns of a table, here one of pandas:

    >>> import pandas
    >>> frame = pandas.DataFrame({"body": texts, "year": [1990, 2000] * 50})
    >>> result = topicmill.fit(frame, topics=2, text="body", date="year")
    >>> list(result.table("topic_trends")["value"].unique())
    ['1990', '2000']

    Each label is a topic:

    >>> result = topicmill.fit(texts, labels=[["animals"], ["money"]] * 50)
    >>> [[label for label, score in labels] for labels in result.predict(["a bank loan", "the puppy"])]
    [['money'], ['animals']]
    """
    backend = _tables.choose(backend, texts)
    chosen = _job.merged(settings, keywords)
    for key, argument in _ARGUMENTS.items():
        if key in chosen:
            raise TypeError(f"{key} is an argument of its own: pass {argument}")
    chosen["model.seed"] = seed
    if topics is None and labels is None and "corpus.labels" not in chosen:
        topics = _TOPICS
    if topics is not None:
        chosen["model.topics"] = topics
    described = {"text": text, "ids": ids, "date": date, "group": group, "labels": labels}
    corpus, lines = _corpus(texts, {key: value for key, value in described.items() if value is not None}, metadata)
    if date is not None:
        chosen["project.trends"] = list(dict.fromkeys([corpus["metadata"][0], *chosen.get("project.trends", [])]))
    flags = [*_job.threads(threads), *_job.flags(chosen)]
    flags += ["--overwrite"] * overwrite + ["--quiet"] * (not verbose)
    if output is not None:
        if "://" in str(output):
            raise ValueError(f"output is {output}, but must be a local folder: for others, use `topicmill run`")
        folder = Path(output).absolute()
        _run(corpus, lines, folder / _INPUT, folder, flags, verbose)
        return Result(folder, backend=backend)
    temporary = Path(tempfile.mkdtemp(prefix="topicmill-"))
    try:
        _run(corpus, lines, temporary / "input", temporary / "output", flags, verbose)
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


def _run(
    corpus: Mapping[str, Any], lines: Iterator[str] | None, spool: Path, output: Path, flags: list[str], verbose: bool
) -> None:
    """Write job and lines, if there are any, to the folder `spool`, and run the job."""
    had_output = output.exists()
    job = spool / "job.toml"
    if lines is not None:
        file = _texts.spool(lines, spool)
        corpus = {"base": file.parent, "input": file.name, **corpus}
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
