"""Results: trained on texts in memory, or read from an output folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from . import _job, _tables, _training
from ._job import Settings
from ._tables import Backend, Table
from .errors import UsageError
from .result import Result

_TOPICS = 50


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
    chosen = _training.keys(settings, keywords, seed)
    if topics is None and labels is None and "corpus.labels" not in chosen:
        topics = _TOPICS
    if topics is not None:
        chosen["model.topics"] = topics
    described = {"text": text, "ids": ids, "date": date, "group": group, "labels": labels}
    flags = ["--processes", "1", *_job.threads(threads), *["--overwrite"] * overwrite]
    with _training.folders(output) as folders:
        _training.run("run", flags, folders, texts, described, metadata, chosen, verbose)
        if output is None:
            shutil.rmtree(folders.input)
        result = Result(folders.output, backend=backend)
        folders.give_to(result)
        return result


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
    result = Result(path, backend=backend)
    if "sweep" in result.tables:
        raise UsageError(f"{path}: is a sweep", "open it with topicmill.read_sweep")
    return result
