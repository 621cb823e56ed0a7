"""How well topics separate labelled documents, and whether they associate words as people do.

The functions take arrays, such as those of a `Result` or of another program's model. ``topicmill evaluate``
measures the likelihood of documents and the coherence of topics (docs/EVALUATION.md).
"""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from . import _extras, _files, _texts
from .errors import DataError

__all__ = ["Association", "Classification", "association", "classification"]

# Terms of equal probability differ by no more than the rounding of sums.
_SAME = 1e-12


class Classification(NamedTuple):
    """How well labels are predicted from topics.

    Parameters
    ----------
    accuracy : float
        The share of documents whose label is predicted correctly, from 0 to 1: the mean over folds.
    standard_error : float
        Of `accuracy`, over folds.
    baseline : float
        The share of the most frequent label, which `accuracy` must beat.
    labels : int
        Number of distinct labels.
    documents : int
        Number of documents with a label and a topic.
    skipped : int
        Number of other documents.
    """

    accuracy: float
    standard_error: float
    baseline: float
    labels: int
    documents: int
    skipped: int


def classification(theta: Any, labels: Iterable[object], *, folds: int = 5, seed: int = 1) -> Classification:
    """Predict each document's label from its topic proportions, by cross-validation.

    A multinomial logistic regression on θ is fitted to all folds but one, and predicts the labels of the
    remaining fold (Wahabzada & Kersting 2011, §5, who use a support vector machine). Folds are stratified:
    each has its share of every label. Requires scikit-learn.

    Parameters
    ----------
    theta : array or sparse array of shape (documents, K)
        Topic proportions, such as `Result.theta`.
    labels : iterable
        One label per document, such as a column of `Result.documents`; None, NaN and ``""`` are no label.
    folds : int, default 5
        Number of folds, at least 2.
    seed : int, default 1
        Determines the folds.

    Returns
    -------
    Classification
        The accuracy, with the baseline. Documents without a label, or whose row of `theta` is 0, are left
        out and counted.

    Examples
    --------
    >>> import topicmill
    >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
    >>> result = topicmill.fit(texts, topics=2, metadata={"kind": ["animals", "money"] * 50})
    >>> topicmill.evaluate.classification(result.theta, result.documents["kind"]).accuracy
    1.0
    """
    with _extras.needed("classification", "sklearn"):
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold, cross_val_score

    proportions = csr_array(theta, dtype=np.float64)
    names = np.array([_label(position, label) for position, label in enumerate(labels)], dtype=object)
    if len(names) != proportions.shape[0]:
        raise ValueError(f"there are {len(names)} labels, but {proportions.shape[0]} documents")
    used = np.flatnonzero((names != "") & (proportions.sum(axis=1) > 0))
    if not len(used):
        raise ValueError("no document has a label and a topic")
    distinct, classes, sizes = np.unique(names[used].astype(str), return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        raise ValueError(f"the only label is {str(distinct[0])!r}, but there must be at least 2")
    # Proportions are at most 1, so separating classes needs large weights: their prior variance is 10⁴. On 20 Newsgroups
    # the default tolerance takes twice as long and changes the accuracy by 0.0001.
    regression = LogisticRegression(C=1e4, max_iter=1000, tol=3e-4)
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    accuracies = cross_val_score(regression, proportions[used], classes, cv=split, error_score="raise")
    return Classification(
        accuracy=float(accuracies.mean()),
        standard_error=float(accuracies.std(ddof=1) / np.sqrt(folds)),
        baseline=float(sizes.max() / len(used)),
        labels=len(distinct),
        documents=len(used),
        skipped=len(names) - len(used),
    )


def _label(position: int, label: object) -> str:
    label = _texts.plain(label)
    if not isinstance(label, str) and isinstance(label, Iterable):
        raise TypeError(f"the label of document {position} is a {type(label).__name__}: pass one label per document")
    return "" if label is None else str(label)


class Association(NamedTuple):
    """How a model ranks the words that people associate with a word.

    Parameters
    ----------
    rank : float
        The median rank of all associates; 1 is the most probable term. By chance it is half of `terms`.
    first_rank : float
        The median rank of the first associate of each cue, its strongest; NaN if there is none.
    terms : int
        Number of terms that are ranked for a cue. Compare only figures with the same number, on the same
        pairs.
    pairs : int
        Number of pairs of a cue and an associate.
    first_pairs : int
        Number of first associates.
    skipped : int
        Number of other pairs: a word is not a term of the model, or both are the same term.
    """

    rank: float
    first_rank: float
    terms: int
    pairs: int
    first_pairs: int
    skipped: int


def association(
    phi: npt.ArrayLike,
    terms: Iterable[str],
    norms: Mapping[str, Iterable[str]] | str | os.PathLike[str],
    *,
    alpha: npt.ArrayLike | None = None,
) -> Association:
    """Rank the words that people associate with a word, the cue, by a model's probabilities.

    For each cue w₁, all other terms w₂ are ranked by P(w₂ | w₁) = Σ_k φ_kw₂ P(k | w₁), with
    P(k | w₁) ∝ α_k φ_kw₁ (Griffiths, Steyvers & Tenenbaum 2007; with equal α_k, Papanikolaou 2017, Eq. 57).
    Terms of equal probability share the mean of their ranks.

    Parameters
    ----------
    phi : array of shape (K, V)
        The topics' term probabilities, such as `Result.phi`. A term with probability 0 in every topic is
        not a term of the model.
    terms : iterable of str
        The V terms, such as `Result.terms`. A word is the term that is spelled like it or, if there is
        none, like its lower case.
    norms : mapping or path-like
        The associates of each cue, strongest first; or a file with a cue, an associate and, optionally, a
        strength in each line, separated by tabs or, if the first line has none, by commas. A first line
        that begins with ``cue`` is a heading.
    alpha : array of shape (K,), optional
        The parameters of the documents' Dirichlet prior, such as `Result.alpha`; by default, equal.

    Returns
    -------
    Association
        The median ranks, and the numbers of pairs.

    Examples
    --------
    >>> import topicmill
    >>> phi = [[0.5, 0.3, 0.2, 0, 0], [0, 0, 0.1, 0.6, 0.3]]
    >>> terms = ["sea", "ship", "wave", "law", "court"]
    >>> topicmill.evaluate.association(phi, terms, {"sea": ["wave", "law"]}).rank
    2.75
    """
    topics = np.asarray(phi, dtype=np.float64)
    known = np.flatnonzero(topics.any(axis=0))
    names = list(terms)
    if topics.ndim != 2 or topics.shape[1] != len(names):
        raise ValueError(f"phi has shape {topics.shape}, but there are {len(names)} terms")
    topics = topics[:, known]
    numbers = {names[place]: number for number, place in enumerate(known)}
    weights = np.ones(len(topics)) if alpha is None else np.asarray(alpha, dtype=np.float64)

    def number_of(word: str) -> int | None:
        return numbers.get(word, numbers.get(word.lower()))

    ranks: list[float] = []
    first_ranks: list[float] = []
    pairs = 0
    for word, associates in (norms if isinstance(norms, Mapping) else _read(norms)).items():
        cue = number_of(word)
        found = [number_of(associate) for associate in associates]
        pairs += len(found)
        if cue is None:
            continue
        targets = [number for number in found if number is not None and number != cue]
        of_cue = weights * topics[:, cue]
        scores = of_cue @ topics / of_cue.sum()
        scores[cue] = -1
        for target in targets:
            above = np.count_nonzero(scores > scores[target] * (1 + _SAME))
            ranks.append((above + 1 + np.count_nonzero(scores >= scores[target] * (1 - _SAME))) / 2)
        if targets and found[0] == targets[0]:
            first_ranks.append(ranks[-len(targets)])
    if not ranks:
        raise ValueError(f"none of the {pairs} pairs has two words that are terms of the model")
    return Association(
        rank=float(np.median(ranks)),
        first_rank=float(np.median(first_ranks)) if first_ranks else float("nan"),
        terms=len(known) - 1,
        pairs=len(ranks),
        first_pairs=len(first_ranks),
        skipped=pairs - len(ranks),
    )


def _read(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Read the associates of each cue from a file, strongest first; equal ones in the file's order."""
    with _files.text(path) as file:
        lines = list(file)
    first = next(filter(str.strip, lines), "")
    rows = csv.reader(lines, delimiter="\t" if "\t" in first else ",", skipinitialspace=True, strict=True)
    cues: dict[str, dict[str, float]] = {}
    sizes = set()
    try:
        filled = filter(any, ([field.strip() for field in row] for row in rows))
        for position, fields in enumerate(filled):
            if position == 0 and fields[0].lower() == "cue":
                continue
            if len(fields) not in (2, 3) or "" in fields:
                raise ValueError("is not a cue, an associate and perhaps a strength, separated as in the first line")
            sizes.add(len(fields))
            if len(sizes) > 1:
                raise ValueError("either every line has a strength, or none")
            cue, associate, *strength = fields
            associates = cues.setdefault(cue, {})
            if associate in associates:
                raise ValueError(f"{cue!r} and {associate!r} are in an earlier line too")
            associates[associate] = _strength(*strength)
    except (csv.Error, ValueError) as error:
        raise DataError(f"{os.fspath(path)}, line {rows.line_num}: {error}") from None
    if not cues:
        raise DataError(f"{os.fspath(path)}: has no line with a cue and an associate, separated by a tab or comma")
    return {cue: sorted(found, key=lambda associate: -found[associate]) for cue, found in cues.items()}


def _strength(text: str = "0") -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (strength := float(text)) < float("inf"):
            return strength
    raise ValueError(f"{text!r} is not a strength (a number from 0)")
