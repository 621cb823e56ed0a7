"""A finished result: its tables, its model as arrays, and inference with it."""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt
import pyarrow.dataset
from scipy.sparse import csr_array

from . import _copies, _display, _exports, _files, _program, _projection, _pyldavis, _tables, _texts
from ._job import Settings, merged
from ._job import threads as threads_flags
from ._report import Report
from ._tables import Backend, Table
from ._weights import DocumentDistance, DocumentWeight, LabelScore, TermWeight

if TYPE_CHECKING:
    from ._plots import Plots

Matrix = csr_array[np.float32, tuple[int, int]]
Format = Literal["mallet-state", "mallet-diagnostics", "pyldavis", "gensim", "npy", "parquet"]


class _NoTable(KeyError, AttributeError):
    """An AttributeError too, so that `hasattr` is false for a property whose table is missing."""


class Result:
    """A finished result of topicmill.

    Returned by :func:`topicmill.read` and :func:`topicmill.fit`. Tables and arrays are read on
    first use. A result of `fit` without `output` is in a temporary folder, which is removed with
    this object; pickling copies it, except for the documents' bags of words, which `export` needs
    to write ``gensim`` and ``mallet-state``. To share a result among processes, name an `output`.

    Parameters
    ----------
    path : path-like
        The output folder of a finished run.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library that tables are returned with; by default, the first of them that is installed.

    Attributes
    ----------
    path : pathlib.Path
        The output folder.

    Examples
    --------
    >>> import topicmill
    >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
    >>> result = topicmill.fit(texts, topics=2)
    >>> result
    <topicmill.Result: 2 topics, 10 terms, 100 documents>
    >>> sorted(term for term, weight in result.top_terms(0, 5))
    ['cat', 'dog', 'kitten', 'paw', 'puppy']
    >>> result.theta.shape
    (100, 2)
    >>> result.transform(["The kitten has a paw."]).toarray().argmax()
    np.int64(0)
    """

    _is_temporary = False

    def __init__(self, path: str | os.PathLike[str], *, backend: Backend | None = None) -> None:
        self._backend = _tables.choose(backend)
        if not Path(path, "_SUCCESS").is_file():
            # Fails with the reason and the remedy.
            _program.run("verify", path)
        self.path = Path(path).absolute()

    def _own(self, folder: Path) -> None:
        """Remove `folder` when this object is garbage-collected."""
        self._is_temporary = True
        weakref.finalize(self, _copies.remove, folder, os.getpid())

    def __repr__(self) -> str:
        if "topics" not in self.tables:
            # For example, an evaluation.
            return f"<topicmill.Result: no topics, tables {', '.join(self.tables)}>"
        topics, terms = len(self.alpha), len(self.terms)
        return f"<topicmill.Result: {topics:,} topics, {terms:,} terms, {self._document_count:,} documents>"

    # Tables

    def table(self, name: str) -> Table:
        """Return a table of the result.

        Parameters
        ----------
        name : str
            A name such as ``"topics"``: `tables` lists them, docs/FORMATS.md their columns.

        Returns
        -------
        DataFrame or pyarrow.Table
            The type depends on `backend`.
        """
        return _tables.convert(self._arrow(name), self._backend)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The result's manifest: tables with rows and columns, statuses of documents, version."""
        manifest: dict[str, Any] = json.loads((self.path / "manifest.json").read_text(encoding="utf-8"))
        return manifest

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(self.manifest["tables"])

    @cached_property
    def topics(self) -> Table:
        """The table ``topics``: one row per topic with its share, top terms and figures of quality.

        If topics were named (``topicmill report --names``), it has a column ``name`` too.
        """
        topics = self._arrow("topics")
        if "topic_names" in self.tables:
            rows = self._arrow("topic_names", ["topic", "name"]).to_pylist()
            names = {row["topic"]: row["name"] for row in rows}
            column = [names.get(topic) for topic in topics["topic"].to_pylist()]
            topics = topics.append_column("name", pyarrow.array(column, pyarrow.string()))
        return _tables.convert(topics, self._backend)

    @cached_property
    def documents(self) -> Table:
        """The table ``documents``: one row per document with its status, tokens and top topic."""
        return self.table("documents")

    @cached_property
    def labels(self) -> Table:
        """The table ``labels``, if documents have labels: each topic's label and how well it is predicted."""
        return self.table("labels")

    @cached_property
    def predictions(self) -> Table:
        """The table ``predictions``: one row per document and label that it has or is predicted to have."""
        return self.table("predictions")

    def _arrow(
        self,
        name: str,
        columns: list[str] | None = None,
        where: pyarrow.dataset.Expression | None = None,
    ) -> pyarrow.Table:
        if name not in self.tables:
            raise _NoTable(f"no table {name!r} in {self.path}: it has {', '.join(self.tables)}")
        return _tables.read(self.path / name, columns, where)

    def _column(
        self, table: str, name: str, where: pyarrow.dataset.Expression | None = None
    ) -> npt.NDArray[Any]:
        column: npt.NDArray[Any] = self._arrow(table, [name], where).column(name).to_numpy()
        return column

    @property
    def _document_count(self) -> int:
        return sum(self.manifest["documents_by_status"].values())

    @cached_property
    def _numbers(self) -> npt.NDArray[np.int64]:
        """The numbers of the documents, ascending; those of documents that were removed are missing."""
        return self._column("documents", "doc_id")

    # The model as arrays

    @cached_property
    def terms(self) -> npt.NDArray[np.object_]:
        """The terms, shape (V,): column w of `phi` is term w."""
        return self._column("vocabulary", "term", _tables.IS_KEPT)

    @cached_property
    def alpha(self) -> npt.NDArray[np.float64]:
        """The parameters α of the documents' Dirichlet prior, shape (K,)."""
        return self._column("topics", "alpha")

    @cached_property
    def phi(self) -> npt.NDArray[np.float32]:
        """The topics' term probabilities φ, shape (K, V); each row sums to 1. Dense: 4 K V bytes."""
        absent = self._column("topics", "absent_weight").astype(np.float32)
        phi = np.repeat(absent[:, np.newaxis], len(self.terms), axis=1)
        entries = self._arrow("topic_terms", ["topic", "term_id", "weight"])
        phi[entries["topic"].to_numpy(), entries["term_id"].to_numpy()] = entries["weight"].to_numpy()
        return phi

    @cached_property
    def theta(self) -> Matrix:
        """The documents' topic proportions θ, sparse, shape (documents, K), in the order of `documents`.

        Contains the proportions of at least ``project.threshold`` (0.01 by default); the rest of a
        row's sum of 1 is ``dropped_mass`` in `documents`. A document without a term of the
        vocabulary has an empty row.
        """
        entries = self._arrow("document_topics", ["doc_id", "topic", "weight"])
        rows = np.searchsorted(self._numbers, entries["doc_id"].to_numpy())
        columns = entries["topic"].to_numpy()
        return _projection.csr(
            entries["weight"].to_numpy(),
            columns,
            np.bincount(rows, minlength=len(self._numbers)),
            len(self.alpha),
        )

    def top_terms(self, topic: int, n: int = 10) -> list[TermWeight]:
        """Return the most probable terms of a topic, most probable first.

        Parameters
        ----------
        topic : int
            The topic, from 0.
        n : int, default 10
            Number of terms. Fewer are returned if fewer were assigned to the topic.

        Returns
        -------
        list of TermWeight
            Pairs of term and probability.
        """
        return [TermWeight(**row) for row in self._of_topic("topic_terms", topic, n, ["term", "weight"])]

    def top_documents(self, topic: int, n: int = 10) -> list[DocumentWeight]:
        """Return the documents with the largest proportions of a topic, largest first.

        Parameters
        ----------
        topic : int
            The topic, from 0.
        n : int, default 10
            Number of documents, at most ``project.topic_documents`` of the run (20 by default).

        Returns
        -------
        list of DocumentWeight
            Triples of document number, id and proportion.
        """
        columns = ["doc_id", "source_id", "weight"]
        return [DocumentWeight(**row) for row in self._of_topic("topic_documents", topic, n, columns)]

    def similar(
        self,
        document: int | None = None,
        *,
        source_id: str | None = None,
        topic: int | None = None,
        text: str | None = None,
        n: int = 10,
    ) -> list[DocumentDistance]:
        """Return the documents nearest to a document, a topic or a text, nearest first.

        The distance is the Hellinger distance of the listed proportions (those in `theta`). Documents that share no
        topic are not compared.

        Parameters
        ----------
        document : int, optional
            The number of a document (``doc_id``), which is not returned itself.
        source_id : str, optional
            The document's id in the input, instead of its number.
        topic : int, optional
            A topic; returns the documents nearest to a document with this topic only.
        text : str, optional
            A new text.
        n : int, default 10
            Number of documents. Fewer are returned if fewer share a topic with it.

        Returns
        -------
        list of DocumentDistance
            Triples of document number, id and distance, from 0 to 1. At equal distances, the earlier document is first.
        """
        if sum(it is not None for it in (document, source_id, topic, text)) != 1:
            raise TypeError("pass one of document, source_id, topic and text")
        if n < 1:
            raise ValueError(f"n is {n}, but must be at least 1")
        ids, row = self._column("documents", "source_id"), None
        if topic is not None:
            self._check_topic(topic)
            weights = np.eye(1, len(self.alpha), topic)[0]
        elif text is not None:
            weights = self.transform([text]).toarray()[0]
            if not weights.any():
                raise ValueError("none of the text's words is in the vocabulary: pass a longer text")
        else:
            row = self._row(document, source_id, ids)
            weights = self.theta[[row]].toarray()[0]
            if not weights.any():
                raise ValueError(f"document {self._numbers[row]} has no topics: pass another one")
        affinity = self.theta.astype(np.float64).sqrt() @ np.sqrt(weights.astype(np.float64))
        if row is not None:
            affinity[row] = 0
        sharing = np.flatnonzero(affinity)
        distances = np.sqrt(np.maximum(1 - affinity[sharing], 0))
        order = np.argsort(distances, kind="stable")[:n]
        nearest = zip(sharing[order].tolist(), distances[order].tolist())
        numbers = self._numbers
        return [DocumentDistance(int(numbers[row]), ids[row], distance) for row, distance in nearest]

    def _row(self, number: int | None, source_id: str | None, ids: npt.NDArray[Any]) -> int:
        """Return the row in `documents` of the document with this number or id."""
        if isinstance(number, str):
            raise TypeError(f"document is a number (doc_id): pass source_id={number!r} for an id")
        if number is not None:
            row = int(np.searchsorted(self._numbers, number))
            if row == len(ids) or self._numbers[row] != number:
                raise IndexError(f"no document {number}: the result has documents 0 to {self._numbers[-1]}")
            return row
        found = np.flatnonzero(ids == source_id).tolist()
        if not found:
            raise KeyError(f"no document with source_id {source_id!r}: the table `documents` lists all")
        if len(found) > 1:
            several = ", ".join(map(str, self._numbers[found[:10]]))
            raise ValueError(f"several documents have source_id {source_id!r}: pass document=, one of {several}")
        return int(found[0])

    def _of_topic(self, table: str, topic: int, n: int, columns: list[str]) -> list[dict[str, Any]]:
        self._check_topic(topic)
        where = (pyarrow.dataset.field("topic") == topic) & (pyarrow.dataset.field("rank") <= n)
        return list(self._arrow(table, columns, where).to_pylist())

    def _check_topic(self, topic: int) -> None:
        if topic not in range(len(self.alpha)):
            raise IndexError(f"no topic {topic}: the result has topics 0 to {len(self.alpha) - 1}")

    # Inference

    @overload
    def transform(
        self,
        texts: Iterable[str | None],
        *,
        statuses: Literal[False] = False,
        threads: int | None = None,
        settings: Settings | None = None,
        **keywords: Any,
    ) -> Matrix: ...

    @overload
    def transform(
        self,
        texts: Iterable[str | None],
        *,
        statuses: Literal[True],
        threads: int | None = None,
        settings: Settings | None = None,
        **keywords: Any,
    ) -> tuple[Matrix, list[str]]: ...

    def transform(
        self,
        texts: Iterable[str | None],
        *,
        statuses: bool = False,
        threads: int | None = None,
        settings: Settings | None = None,
        **keywords: Any,
    ) -> Matrix | tuple[Matrix, list[str]]:
        """Infer the topic proportions of new texts.

        The texts are streamed through ``topicmill project --stdin``; an iterator may be of any length.

        Parameters
        ----------
        texts : iterable of str
            The texts. The collection's own texts, in order, get the rows of `theta`.
        statuses : bool, default False
            Whether to return each text's status too.
        threads : int, optional
            Threads; by default, one for each core. The result does not depend on it.
        settings : dict, optional
            Keys of the job's section ``project``, such as ``{"project.threshold": 0}``.
        **keywords
            The same as ``project__threshold=0``.

        Returns
        -------
        theta : scipy.sparse.csr_array
            Proportions, shape (texts, K). A text without a known term has an empty row.
        statuses : list of str
            ``ok``, ``empty``, ``no_vocabulary``, …; only if `statuses` is true.
        """
        chosen = merged(settings, keywords)
        theta, found = _projection.project(self.path, len(self.alpha), texts, threads, chosen)
        return (theta, found) if statuses else theta

    def add(
        self,
        texts: Iterable[str | None] | os.PathLike[str],
        *,
        ids: Iterable[object] | None = None,
        metadata: Mapping[str, Iterable[object]] | None = None,
        on_duplicate: Literal["error", "replace", "skip", "keep"] = "error",
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        """Add texts to the result, with its terms and its topics.

        Runs ``topicmill add``: tables and arrays then include the texts, after those that were there. If it is
        interrupted, nothing is added.

        Parameters
        ----------
        texts : iterable of str, or pathlib.Path
            The texts, or files in the form of the result's own.
        ids : iterable, optional
            The texts' ids; by default, their numbers in it (``doc_id``).
        metadata : mapping of str to iterable, optional
            The columns that the result's texts have, such as ``{"year": years}``; others are not read.
        on_duplicate : {"error", "replace", "skip", "keep"}, default "error"
            What to do with a text whose id the result has: add nothing; replace the result's text, as a correction;
            leave the new one out; or add it as another document.
        threads : int, optional
            Threads; by default, one for each core.
        verbose : bool, default False
            Whether to show progress on standard error.

        Raises
        ------
        TopicMillError
            With the program's message and remedy, such as a `DataError` for ids that the result has.

        Examples
        --------
        >>> import topicmill
        >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
        >>> result = topicmill.fit(texts, topics=2)
        >>> result.add(["a kitten", "a loan"])
        >>> result.theta.shape
        (102, 2)
        """
        with tempfile.TemporaryDirectory() as folder:
            if isinstance(texts, os.PathLike):
                if ids is not None or metadata is not None:
                    raise ValueError("ids and metadata of files are read as those of the result's own files")
                file = Path(texts)
            else:
                text_key, id_key = _projection.keys(self.path)
                lines = _texts.lines(texts, ids, metadata, text_key, id_key, int(self._numbers[-1]) + 1)
                file = _texts.spool(lines, Path(folder))
            self._change("add", file, "--on-duplicate", on_duplicate, threads=threads, verbose=verbose)

    def remove(self, ids: Iterable[object], *, threads: int | None = None, verbose: bool = False) -> None:
        """Remove documents from the result, which is then as if it had never had them.

        Runs ``topicmill remove``. What the model learnt from them stays. If it is interrupted, nothing is removed.

        Parameters
        ----------
        ids : iterable
            The documents' ids (``source_id``).
        threads : int, optional
            Threads; by default, one for each core.
        verbose : bool, default False
            Whether to show progress on standard error.

        Raises
        ------
        TopicMillError
            With the program's message and remedy, such as a `DataError` for an id that the result does not have.

        Examples
        --------
        >>> import topicmill
        >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
        >>> result = topicmill.fit(texts, topics=2)
        >>> result.remove([0, 1])
        >>> result.theta.shape
        (98, 2)
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "ids")
            file.write_text("".join(f"{number}\n" for number in ids), encoding="utf-8")
            self._change("remove", "--ids", file, threads=threads, verbose=verbose)

    def retrain(self, *, threads: int | None = None, verbose: bool = False) -> None:
        """Train the model again, on a sample of the documents that the result has now.

        Runs ``topicmill retrain``. The terms are chosen again; topics keep their numbers, and the table
        ``topic_changes`` says how far each has moved. If it is interrupted, nothing changes.

        Parameters
        ----------
        threads : int, optional
            Threads; by default, one for each core.
        verbose : bool, default False
            Whether to show progress on standard error.

        Raises
        ------
        TopicMillError
            With the program's message and remedy.

        Examples
        --------
        >>> import topicmill
        >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
        >>> result = topicmill.fit(texts, topics=2)
        >>> result.add(["cat boat sail"] * 20)
        >>> result.retrain()
        >>> "boat" in result.terms
        True
        """
        self._change("retrain", threads=threads, verbose=verbose)

    def _change(self, command: str, *flags: str | Path, threads: int | None, verbose: bool) -> None:
        """Run a command that changes the result, and forget what was read of it."""
        flags = (*flags, *threads_flags(threads), *["--quiet"] * (not verbose))
        _program.run(command, self.path, *flags, verbose=verbose)
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            delattr(self, name)

    def predict(
        self,
        texts: Iterable[str | None],
        *,
        threads: int | None = None,
        settings: Settings | None = None,
        **keywords: Any,
    ) -> list[list[LabelScore]]:
        """Predict the labels of new texts, with a result whose documents have labels.

        Parameters
        ----------
        texts, threads
            As in `transform`.
        settings : dict, optional
            Keys of the job's section ``project``, such as ``{"project.label_count": 3}``.
        **keywords
            The same as ``project__label_count=3``.

        Returns
        -------
        list of list of LabelScore
            For each text, pairs of label and score, best first, with the scores of `predictions`. Empty for
            a text without a known term.
        """
        if "labels" not in self.tables:
            raise ValueError(f"{self.path} has no labels: pass labels to topicmill.fit, or set corpus.labels")
        return _projection.predict(self.path, texts, threads, merged(settings, keywords))

    # Exports

    def export(self, format: Format, output: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the result in another program's format; docs/FORMATS.md describes the files.

        Every file is complete or absent. ``topicmill export`` writes ``mallet-state``, ``pyldavis`` and ``parquet``.

        Parameters
        ----------
        format : str
            ``"mallet-state"``, ``"mallet-diagnostics"``, ``"pyldavis"``, ``"gensim"``, ``"npy"`` or ``"parquet"``.
        output : path-like
            The file to write; for ``gensim`` and ``npy``, the folder.
        overwrite : bool, default False
            Whether to replace an existing file or folder.

        Returns
        -------
        pathlib.Path
            The file or folder.
        """
        output = Path(output)
        if format == "mallet-diagnostics":
            with _files.writing(output.parent, [output.name], overwrite) as folder:
                _exports.mallet_diagnostics(self, folder / output.name)
        elif format == "gensim":
            with _files.writing(output, _exports.GENSIM, overwrite) as folder:
                _exports.gensim(self, folder)
        elif format == "npy":
            with _files.writing(output, _exports.NPY, overwrite) as folder:
                _exports.npy(self, folder)
        else:
            flags = ["--overwrite"] if overwrite else []
            _program.run("export", self.path, "--format", format, "--output", output, *flags)
        return output

    def to_pyldavis(self) -> Any:
        """Return the topics prepared for pyLDAvis.

        Returns
        -------
        pyLDAvis.PreparedData
            For ``pyLDAvis.display`` and ``pyLDAvis.save_html``. LDAvis counts from 1: its topic 8 is topic 7.
        """
        with tempfile.TemporaryDirectory(prefix="topicmill-") as folder:
            path = self.export("pyldavis", Path(folder, "pyldavis.json"))
            return _pyldavis.read(path)

    def show(self, topics: int = 30, terms: int = 10) -> None:
        """Print the topics with their terms, largest first.

        Parameters
        ----------
        topics : int, default 30
            Number of topics; 0 prints all.
        terms : int, default 10
            Terms per topic, at most ``project.top_terms`` of the run (20 by default).
        """
        page = _program.run("inspect", self.path, f"--topics={topics}", f"--terms={terms}")
        print(_display.topics_of(page), end="")

    def _repr_html_(self) -> str | None:
        if "topics" not in self.tables:
            return None
        rows = self._arrow("topics", ["topic", "share", "coherence_npmi", "top_terms"]).to_pylist()
        if "labels" in self.tables:
            for row, label in zip(rows, self._column("labels", "label")):
                row["top_terms"] = [f"{label}:", *row["top_terms"]]
        return _display.page(repr(self)[1:-1], rows)

    def report(self) -> Report:
        """Return the page about the result, which a notebook shows inline.

        Returns
        -------
        Report
            Its `path` is the HTML file, which needs no network, and `open` opens it in a browser. The page is written
            if the result has none.

        Examples
        --------
        >>> import topicmill
        >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
        >>> topicmill.fit(texts, topics=2).report().path.name
        'report.html'
        """
        path = self.path / "report.html"
        if not path.exists():
            _program.run("report", self.path)
        return Report(path, self)

    @property
    def plot(self) -> Plots:
        """Pictures by matplotlib: ``result.plot.trend("date")``, ``.topics()`` and ``.map()``."""
        from ._plots import Plots

        return Plots(self)

    # A temporary folder does not outlive its object, so a pickled copy contains the files.

    def __getstate__(self) -> dict[str, Any]:
        files = _copies.take(self.path) if self._is_temporary else None
        return {"path": self.path, "backend": self._backend, "files": files}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path, self._backend = state["path"], state["backend"]
        if state["files"] is not None:
            folder = _copies.put(state["files"])
            self.path = folder / "output"
            self._own(folder)
