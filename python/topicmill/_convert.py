"""Models of other programs as tables that ``topicmill evaluate --model`` reads."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet
from scipy.sparse import csr_array

from . import _files
from .errors import DataError

_SCHEMA = pyarrow.schema({"topic": pyarrow.int32(), "term": pyarrow.string(), "weight": pyarrow.float64()})
_LARGEST = 1e30


@dataclass
class _Model:
    """Weights of terms in topics, as another program has them."""

    terms: list[str]
    # One array of shape (V,) per topic.
    rows: Iterable[npt.NDArray[Any]]
    alpha: Any = None


def convert(
    model: Any,
    output: str | os.PathLike[str],
    *,
    terms: Any = None,
    beta: float = 0.01,
    overwrite: bool = False,
) -> Path:
    """Write a model of another program as a table that ``topicmill evaluate --model`` reads.

    The table has the columns ``topic`` (from 0), ``term`` and ``weight``, the term's probability in the
    topic; rows with probability 0 are left out. If the model has α, it is written beside the table for
    ``--alpha``, one number per topic: for ``lda.parquet``, to ``lda.alpha.txt``.

    Parameters
    ----------
    model : object, array or path-like
        - A model of gensim (``LdaModel``), scikit-learn (``LatentDirichletAllocation``) or tomotopy
          (``LDAModel``).
        - An array of weights, shape (K, V), or the path of a ``.npy`` file with one.
        - The path of MALLET's ``--topic-word-weights-file`` or ``--word-topic-counts-file``, compressed if
          its name ends with ``.gz``. MALLET's state needs no conversion.
    output : path-like
        The Parquet file to write.
    terms : iterable of str, vectorizer or path-like, optional
        The terms of the columns: a list, scikit-learn's vectorizer, or a file with one per line. Required
        for arrays and models of scikit-learn; replaces the terms of models of gensim and tomotopy.
    beta : float, default 0.01
        Added to the counts of MALLET's ``--word-topic-counts-file``, which does not contain its ``--beta``.
    overwrite : bool, default False
        Whether to replace existing files.

    Returns
    -------
    pathlib.Path
        The Parquet file.

    Raises
    ------
    ValueError
        If terms are not distinct, weights are not numbers from 0 to 1e30, or a topic has none above 0. The
        message names the topic and the term.

    Examples
    --------
    >>> import tempfile, numpy, pyarrow.parquet, topicmill
    >>> folder = tempfile.TemporaryDirectory()
    >>> phi = numpy.array([[2, 2, 0], [0, 1, 3]])
    >>> path = topicmill.convert(phi, f"{folder.name}/model.parquet", terms=["whale", "sea", "bread"])
    >>> pyarrow.parquet.read_table(path).to_pylist()[0]
    {'topic': 0, 'term': 'whale', 'weight': 0.5}
    >>> folder.cleanup()
    """
    read = _read(model, None if terms is None else _terms(terms), beta)
    output = Path(output)
    alpha = output.with_suffix(".alpha.txt").name
    with _files.writing(output.parent, [output.name, alpha], overwrite) as folder:
        topics = _write(folder / output.name, read)
        # Only one value per topic is the parameter of a Dirichlet prior over topics.
        if read.alpha is not None and np.shape(read.alpha) == (topics,):
            np.savetxt(folder / alpha, read.alpha, fmt="%.17g")
    return output


def _write(path: Path, model: _Model) -> int:
    """Write the table; return the number of topics."""
    terms = pyarrow.array(model.terms, pyarrow.string())
    numbers: dict[str, int] = {}
    for number, term in enumerate(model.terms):
        if numbers.setdefault(term, number) != number:
            raise ValueError(f"term {number} is {term!r}, and term {numbers[term]} too: terms must be distinct")
    topic = -1
    with pyarrow.parquet.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        for topic, row in enumerate(model.rows):
            weights = np.asarray(row, dtype=np.float64)
            if weights.shape != (len(terms),):
                raise ValueError(f"topic {topic} has {weights.size} weights, but there are {len(terms)} terms")
            wrong = np.flatnonzero(~((weights >= 0) & (weights <= _LARGEST)))
            if len(wrong):
                said = f"{model.terms[wrong[0]]!r} has the weight {weights[wrong[0]]} in topic {topic}"
                raise ValueError(f"{said}: weights are numbers from 0 to 1e30")
            total = weights.sum()
            if total < 1 / _LARGEST:
                raise ValueError(f"topic {topic} has no weight at all")
            places = np.flatnonzero(weights)
            columns = [np.full(len(places), topic, np.int32), terms.take(places), weights[places] / total]
            writer.write_table(pyarrow.table(columns, schema=_SCHEMA))
    if topic < 0:
        raise ValueError("the model has no topics")
    return topic + 1


def _read(model: Any, terms: list[str] | None, beta: float) -> _Model:
    if isinstance(model, (str, os.PathLike)):
        if Path(model).suffix != ".npy":
            return _mallet(Path(model), beta)
        model = np.load(model)
    if hasattr(model, "get_topics"):
        phi = model.get_topics()
        names = [model.id2word[number] for number in range(phi.shape[1])] if terms is None else terms
        return _Model(names, _matrix(phi, names), getattr(model, "alpha", None))
    if hasattr(model, "get_topic_word_dist"):
        names = list(model.used_vocabs) if terms is None else terms
        rows = (model.get_topic_word_dist(topic) for topic in range(model.k))
        return _Model(names, rows, getattr(model, "alpha", None))
    if terms is None:
        raise TypeError(f"{type(model).__name__} does not name its terms: pass terms, a list or the vectorizer")
    if hasattr(model, "components_"):
        prior = getattr(model, "doc_topic_prior_", None)
        phi = model.components_
        return _Model(terms, _matrix(phi, terms), None if prior is None else np.full(len(phi), prior))
    return _Model(terms, _matrix(np.asarray(model), terms))


def _matrix(phi: npt.NDArray[Any], terms: list[str]) -> npt.NDArray[Any]:
    if phi.ndim != 2 or phi.dtype.kind not in "biuf":
        kind = f"{phi.ndim} dimensions of {phi.dtype}"
        raise ValueError(f"the model is an array of {kind}, but must be one of numbers, topics × terms")
    if phi.shape[1] != len(terms):
        turned = ": pass its transpose" if len(phi) == len(terms) else ""
        raise ValueError(f"the model has shape {phi.shape}, topics × terms, but there are {len(terms)} terms{turned}")
    return phi


def _terms(terms: Any) -> list[str]:
    if hasattr(terms, "get_feature_names_out"):
        terms = terms.get_feature_names_out()
    if isinstance(terms, (str, os.PathLike)):
        with _files.text(terms) as lines:
            return [line.rstrip("\r\n") for line in lines]
    return [str(term) for term in terms]


def _mallet(path: Path, beta: float) -> _Model:
    """Read a list of weights or counts."""
    topics, terms, weights = array("q"), array("q"), array("d")
    numbers: dict[str, int] = {}
    with _files.text(path) as file:
        lines = ((number, line.rstrip("\r\n")) for number, line in enumerate(file, 1) if line.strip())
        number, first = next(lines, (0, ""))
        if not first:
            raise DataError(f"{path}: is empty")
        if first.startswith("#doc"):
            raise DataError(f"{path}: is MALLET's state", "pass it to evaluate as it is: --model")
        is_counts = "\t" not in first
        entries = _counts if is_counts else _weights
        is_heading = first.startswith("topic\t")
        for number, line in chain([] if is_heading else [(number, first)], lines):
            try:
                for topic, term, weight in entries(line, numbers):
                    topics.append(topic)
                    terms.append(term)
                    weights.append(weight)
            except ValueError as error:
                raise DataError(f"{path}, line {number}: {error}") from None
    size = len(numbers)
    if not topics:
        raise DataError(f"{path}: holds no weight of a term in a topic")
    places = np.asarray(topics) * size + np.asarray(terms)
    order = np.sort(places)
    if len(twice := order[1:][order[1:] == order[:-1]]):
        topic, term = divmod(int(twice[0]), size)
        raise DataError(f"{path}: {list(numbers)[term]!r} has two weights in topic {topic}")
    matrix = csr_array((np.asarray(weights), (np.asarray(topics), np.asarray(terms))), shape=(max(topics) + 1, size))
    smoothing = beta if is_counts else 0.0
    return _Model(list(numbers), (matrix[[topic]].toarray()[0] + smoothing for topic in range(matrix.shape[0])))


def _weights(line: str, numbers: dict[str, int]) -> list[tuple[int, int, float]]:
    fields = line.split("\t")
    if len(fields) != 3:
        raise ValueError("is not `topic TAB term TAB weight`")
    topic, term, weight = fields
    return [(_topic(topic), numbers.setdefault(term, len(numbers)), _weight(weight))]


def _counts(line: str, numbers: dict[str, int]) -> list[tuple[int, int, float]]:
    fields = line.split()
    if len(fields) < 2 or not fields[0].isdecimal():
        raise ValueError("is not `number term topic:count …`")
    term = fields[1]
    if term in numbers:
        raise ValueError(f"{term!r} is in an earlier line too")
    numbers[term] = len(numbers)
    pairs = (pair.partition(":") for pair in fields[2:])
    return [(_topic(topic), numbers[term], _weight(count)) for topic, _, count in pairs]


def _topic(text: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError(f"{text!r} is not a topic (a whole number from 0)")
    return int(text)


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a weight") from None
