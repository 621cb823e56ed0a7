"""Sweeps: models of several numbers of topics, each with several seeds, on the same texts."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _display, _job, _program, _tables, _training
from ._job import Settings
from ._report import Report
from ._tables import Backend, Table
from .errors import UsageError
from .result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Sweep:
    """Models of several numbers of topics, each with several seeds, and their comparison.

    Returned by :func:`topicmill.sweep` and :func:`topicmill.read_sweep`. A sweep without `output` is in a temporary
    folder, which is removed with this object; results that `take` returned remain. To share a sweep among processes,
    name an `output`.

    Parameters
    ----------
    path : path-like
        The folder of a finished sweep.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library that tables are returned with; by default, the first of them that is installed.
    """

    def __init__(self, path: str | os.PathLike[str], *, backend: Backend | None = None) -> None:
        # Its tables; it removes a temporary folder.
        self._result = Result(path, backend=backend)
        if "sweep" not in self._result.tables:
            raise UsageError(f"{path}: is not a sweep", "open it with topicmill.read")

    @property
    def path(self) -> Path:
        """The folder."""
        return self._result.path

    def __repr__(self) -> str:
        rows = self._result._arrow("sweep_sizes", ["topics", "models"]).to_pylist()
        numbers = ", ".join(dict.fromkeys(f"{row['topics']:,}" for row in rows))
        recommended = "none" if self.recommended is None else f"{self.recommended:,}"
        models = f"{sum(row['models'] for row in rows):,} models"
        return f"<topicmill.Sweep: {models} of {numbers} topics, {recommended} recommended>"

    @cached_property
    def sizes(self) -> Table:
        """The table ``sweep_sizes``: one row per number of topics, and settings, with means over its models."""
        return self._result.table("sweep_sizes")

    @cached_property
    def models(self) -> Table:
        """The table ``sweep``: one row per model, with its seed and its figures of quality."""
        return self._result.table("sweep")

    @cached_property
    def topics(self) -> Table:
        """The table ``sweep_topics``: one row per topic of each model, with its top terms and stability."""
        return self._result.table("sweep_topics")

    @cached_property
    def matches(self) -> Table:
        """The table ``sweep_matches``: for each topic and other model, the nearest topic and the partner."""
        return self._result.table("sweep_matches")

    @cached_property
    def recommended(self) -> int | None:
        """The recommended number of topics; None if there is none."""
        rows = self._result._arrow("sweep_sizes", ["topics", "recommended"]).to_pylist()
        return next((row["topics"] for row in rows if row["recommended"]), None)

    @cached_property
    def advice(self) -> str:
        """Which number of topics to take, and why, in words."""
        advice: str = json.loads(_program.run("inspect", "--json", self.path))["advice"]
        return advice

    def plot(self) -> list[Axes]:
        """Draw held-out likelihood, coherence, stability and the topics found again against the number of topics, by matplotlib.

        A dot is a model; the line connects the means, with an interval of ±2 standard errors over seeds; of several
        settings, each has its colour. The dashed line marks the recommended number. The models of a number of topics are compared with each other for their
        stability, so its intervals are too narrow.

        Returns
        -------
        list of matplotlib.axes.Axes
            One for each of these figures that the sweep has, of one picture: with one seed, there is no stability.
        """
        from ._plots import sweep_panels

        return sweep_panels(self._result._arrow("sweep").to_pylist(), self.recommended)

    def take(
        self,
        topics: int,
        seed: int | None = None,
        settings: Mapping[str, Any] | str | None = None,
        *,
        output: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        threads: int | None = None,
        verbose: bool = False,
    ) -> Result:
        """Infer the topics of all texts with one of the models.

        Runs ``topicmill take``: nothing is trained again.

        Parameters
        ----------
        topics : int
            The number of topics.
        seed : int, optional
            The model's seed; of several models, the one that predicts held-out documents best is taken.
        settings : dict or str, optional
            Its settings, if the sweep has several, or some of them: ``{"train.passes": 50}``, or as the tables have them.
        output : path-like, optional
            A folder to write the result to; its job is written beside it. By default, the result is in a temporary
            folder that is removed with the returned object.
        overwrite : bool, default False
            Whether to replace another result in `output`.
        threads : int, optional
            Threads; by default, one for each core.
        verbose : bool, default False
            Whether to show progress on standard error.

        Returns
        -------
        Result
            Like that of `topicmill.fit`. It remains when the sweep is removed.
        """
        if isinstance(settings, Mapping):
            settings = ",".join(f"{key}={value}" for key, value in settings.items())
        model = "/".join(str(part) for part in (topics, seed, settings) if part is not None)
        flags = [*_job.threads(threads), *["--overwrite"] * overwrite, *["--quiet"] * (not verbose)]
        with _training.folders(output) as folders:
            _program.run("take", self.path, model, "--output", folders.output, *flags, verbose=verbose)
            result = Result(folders.output, backend=self._result._backend)
            folders.give_to(result)
            return result

    def report(self) -> Report:
        """Return the page about the sweep, which a notebook shows inline.

        Returns
        -------
        Report
            Its `path` is the HTML file, which needs no network, and `open` opens it in a browser.
        """
        return Report(self.path / "sweep.html", self._result)

    def _repr_html_(self) -> str:
        return _display.sweep_page(repr(self)[1:-1], self.advice, self._result._arrow("sweep_sizes").to_pylist())


def sweep(
    texts: Iterable[str | None] | Table | os.PathLike[str],
    topics: Iterable[int] = (10, 20, 50, 100, 200),
    seeds: int = 3,
    *,
    text: str | None = None,
    ids: str | Iterable[object] | None = None,
    date: str | Iterable[object] | None = None,
    group: str | Iterable[object] | None = None,
    metadata: Mapping[str, Iterable[object]] | Iterable[str] | None = None,
    seed: int = 1,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    parallel: int = 1,
    verbose: bool = False,
    backend: Backend | None = None,
    settings: Settings | None = None,
    **keywords: Any,
) -> Sweep:
    """Train several numbers of topics on texts, each with several seeds, and compare the models.

    Runs ``topicmill sweep``: the models have the same vocabulary, texts to train on and held-out texts. The topics of
    all texts are inferred by `Sweep.take`, with the model that it names.

    Parameters
    ----------
    texts : DataFrame, iterable of str, or pathlib.Path
        The texts, as `topicmill.fit` takes them.
    topics : iterable of int, default (10, 20, 50, 100, 200)
        The numbers of topics.
    seeds : int, default 3
        Models of each number of topics, with as many seeds: `seed` and those that follow it. Stability needs at
        least two.
    text, ids, date, group, metadata : optional
        What the texts have besides, as in `topicmill.fit`.
    seed : int, default 1
        The first seed.
    output : path-like, optional
        A folder to write the sweep to, with the texts in ``.input``. An interrupted call resumes there; with more
        numbers or seeds, only the new models are trained. By default, the sweep is in a temporary folder that is
        removed with the returned object.
    overwrite : bool, default False
        Whether to replace another sweep in `output`.
    threads : int, optional
        Threads; by default, one for each core.
    parallel : int, default 1
        Models to train at a time, which share the threads.
    verbose : bool, default False
        Whether to show progress on standard error.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library that tables are returned with; by default that of `texts`, or the first that is installed.
    settings : dict, optional
        Keys of the job that are not arguments, such as ``{"train.passes": 50}``; docs/JOB.md lists them. With a list
        of values of a key of ``model``, ``train`` or ``tree``, each combination is trained and compared.
    **keywords
        The same as keywords, such as ``train__passes=50``. Files are relative to the current directory.

    Returns
    -------
    Sweep
        The models with their figures of quality, and the recommended number of topics.

    Raises
    ------
    TopicMillError
        With the program's message and remedy, such as a `UsageError` for a wrong setting or a
        `DataError` for texts that leave no vocabulary.

    Examples
    --------
    >>> import topicmill
    >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
    >>> sweep = topicmill.sweep(texts, topics=[2, 4], seeds=2, train__passes=5)
    >>> sweep.sizes[["topics", "models"]].values.tolist()
    [[2, 2], [4, 2]]
    >>> sweep.take(2, seed=1)
    <topicmill.Result: 2 topics, 10 terms, 100 documents>
    """
    backend = _tables.choose(backend, texts)
    chosen = _training.keys(settings, keywords, seed)
    numbers = list(topics)
    described = {"text": text, "ids": ids, "date": date, "group": group}
    flags = [f"--topics={','.join(map(str, numbers))}", f"--seeds={seeds}", f"--parallel={parallel}"]
    flags += [*_job.threads(threads), *["--overwrite"] * overwrite]
    with _training.folders(output) as folders:
        flags.append(f"--output={folders.output}")
        _training.run("sweep", flags, folders, texts, described, metadata, chosen, verbose)
        if folders.temporary is not None:
            shutil.rmtree(folders.input)
        made = Sweep(folders.output, backend=backend)
        folders.give_to(made._result)
        return made


def read_sweep(path: str | os.PathLike[str], *, backend: Backend | None = None) -> Sweep:
    """Open the folder of a finished sweep, also of ``topicmill sweep``.

    Parameters
    ----------
    path : path-like
        The folder.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library that tables are returned with; by default, the first of them that is installed.

    Returns
    -------
    Sweep
        Its tables are read on first use.

    Raises
    ------
    TopicMillError
        If there is no finished sweep; the message says what to do.

    Examples
    --------
    >>> import topicmill
    >>> topicmill.read_sweep("nowhere")
    Traceback (most recent call last):
      ...
    topicmill.errors.UsageError: nowhere: does not exist
    pass the folder that the job names as `output.path`
    """
    return Sweep(path, backend=backend)
