"""The transformer for scikit-learn, and the base class that the classifier shares."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _texts
from ._evaluation import EVERY_TERM, held_out_likelihood
from ._job import Settings
from .fitting import fit

# The terms of a count matrix are the numbers of its columns; all are kept unchanged.
_COUNTS: Settings = {
    "tokens.rule": "whitespace",
    "tokens.min_length": 1,
    "tokens.numbers": True,
    **EVERY_TERM,
}


class DocumentEstimator(BaseEstimator):  # type: ignore[misc]
    """The base of estimators on texts or counts: documents in the program's form, threads, seed."""

    def _texts(self, X: Any, *, reset: bool) -> Iterable[str | None]:
        """Return X as texts. Counts become texts of column numbers, each repeated as often as it is counted."""
        is_of_counts = _is_matrix(X)
        # A few rows show whether there is a column of texts.
        if hasattr(X, "columns") and any(isinstance(value, str) for value in np.asarray(X[:100], dtype=object).flat):
            raise TypeError(f"X is a {type(X).__name__}: pass one of its columns")
        if reset:
            self._is_of_counts = is_of_counts
        elif self._is_of_counts != is_of_counts:
            given, fitted = (("texts", "counts")[kind] for kind in (is_of_counts, self._is_of_counts))
            raise ValueError(f"X has {given}, but {type(self).__name__} is fitted on {fitted}")
        if not is_of_counts:
            texts: Iterable[str | None] = X
            return texts
        X = validate_data(
            self, X, accept_sparse="csr", dtype="numeric", reset=reset, ensure_non_negative=True
        )
        return _texts_of_counts(_whole_counts(csr_array(X)))

    @property
    def _seed(self) -> int:
        seed = self.random_state
        return int(seed if isinstance(seed, (int, np.integer)) else check_random_state(seed).randint(1 << 31))

    @property
    def _base_settings(self) -> Settings:
        return _COUNTS if self._is_of_counts else {}

    @property
    def _threads(self) -> int | None:
        return None if self.n_jobs in (None, -1) else effective_n_jobs(self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        return tags


class TopicMill(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocumentEstimator):  # type: ignore[misc]
    """Latent Dirichlet allocation by topicmill, as a transformer.

    Parameters
    ----------
    n_components : int, default 10
        Number of topics.
    random_state : int, RandomState instance or None, default 1
        The seed. With an int, the same input produces the same arrays on any number of threads. None
        uses a different seed at each call of `fit`.
    n_jobs : int, optional
        Threads; None and -1 mean one for each core, -2 one less, and so on.
    settings : dict, optional
        Keys of the job, such as ``{"train.passes": 50}``; docs/JOB.md lists them.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The topics' term probabilities φ. If fitted on counts, a column of X that contains only zeros
        has probability 0; the others sum to 1 in each row.
    result_ : topicmill.Result
        The result, with its tables. If fitted on counts, its terms are column numbers.
    n_features_in_ : int
        Number of columns of X. Only if fitted on counts.
    feature_names_in_ : ndarray of str
        Names of the columns of X. Only if fitted on a DataFrame whose columns have names.

    Notes
    -----
    `X` is either an iterable of texts, or a matrix of counts, dense or sparse, of shape
    (documents, terms), as ``CountVectorizer`` returns it. Counts that are not whole numbers are
    rounded, with a warning.

    `score` is that of documents held out, so that ``GridSearchCV(TopicMill(), {"n_components": [20, 50]})``
    compares numbers of topics, and ``{"settings": [{"train.passes": 20}, {"train.passes": 50}]}`` keys of the job.
    Scores of models with different vocabularies cannot be compared. `topicmill.sweep` compares numbers of topics by
    coherence and stability too.

    Examples
    --------
    >>> from topicmill import TopicMill
    >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
    >>> model = TopicMill(n_components=2).fit(texts)
    >>> model.transform(["money in the bank", "a cat and a dog"]).round(1)
    array([[0.1, 0.9],
           [0.9, 0.1]], dtype=float32)

    In a pipeline, on counts:

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> pipeline = make_pipeline(CountVectorizer(), TopicMill(n_components=2)).fit(texts)
    >>> pipeline.get_feature_names_out()
    array(['topicmill0', 'topicmill1'], dtype=object)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        random_state: int | np.random.RandomState | None = 1,
        n_jobs: int | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.settings = settings

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the topics.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (documents, terms)
            Texts or counts.
        y : None
            Ignored.

        Returns
        -------
        TopicMill
            This object.
        """
        texts = self._texts(X, reset=True)
        self.result_ = fit(
            texts,
            self.n_components,
            seed=self._seed,
            threads=self._threads,
            settings={**self._base_settings, **_ALL_TOPICS, **(self.settings or {})},
        )
        self.components_ = self._components()
        return self

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[np.float32]:
        """Train the topics, and return the topic proportions of each document.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (documents, terms)
            Texts or counts.
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (documents, n_components)
            The same as from `transform`.
        """
        proportions: npt.NDArray[np.float32] = self.fit(X).result_.theta.toarray()
        return proportions

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Return the topic proportions of each document.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (documents, terms)
            Texts or counts, as in `fit`.

        Returns
        -------
        ndarray of shape (documents, n_components)
            Rows sum to 1, except that a document without a known term has zeros.
        """
        check_is_fitted(self)
        texts = self._texts(X, reset=False)
        return self.result_.transform(texts, threads=self._threads).toarray()

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood per token by document completion.

        The topics of each document are inferred from a random half of its tokens, and the other half
        is scored (``topicmill evaluate``).

        Parameters
        ----------
        X : iterable of str, or matrix of shape (documents, terms)
            Documents that the model was not fitted on.
        y : None
            Ignored.

        Returns
        -------
        float
            In nats per token that the model knows; higher is better.
        """
        check_is_fitted(self)
        return held_out_likelihood(self.result_.path, self._texts(X, reset=False), self._threads)

    def perplexity(self, X: Any) -> float:
        """Return exp(-score): the perplexity by document completion.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (documents, terms)
            Documents that the model was not fitted on.

        Returns
        -------
        float
            Lower is better.
        """
        return float(np.exp(-self.score(X)))

    def _components(self) -> npt.NDArray[np.float32]:
        phi = self.result_.phi
        if not self._is_of_counts:
            return phi
        components = np.zeros((len(phi), self.n_features_in_), dtype=np.float32)
        components[:, self.result_.terms.astype(np.int64)] = phi
        return components

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


# All topics of every document, so that rows sum to 1.
_ALL_TOPICS: Settings = {"project.threshold": 0.0}


def _is_matrix(X: Any) -> bool:
    """Whether X is not texts but a matrix, or something that validation should refuse."""
    if issparse(X) or getattr(X, "ndim", 1) != 1 or len(getattr(X, "shape", (0,))) != 1:
        return True
    if isinstance(X, Iterator):
        return False
    first = _texts.plain(next(iter(X), None) if hasattr(X, "__iter__") else X)
    return not (first is None or isinstance(first, (str, bytes)))


def _whole_counts(counts: csr_array[Any, tuple[int, int]]) -> csr_array[np.int64, tuple[int, int]]:
    rounded = np.rint(counts.data)
    if not np.array_equal(rounded, counts.data):
        warnings.warn(
            "X has counts that are not whole numbers; they are rounded. A topic model takes counts of "
            "words: use CountVectorizer in place of TfidfVectorizer",
            stacklevel=4,  # The caller of fit.
        )
    entries = (rounded.astype(np.int64), counts.indices, counts.indptr)
    return csr_array(entries, shape=counts.shape)


def _texts_of_counts(counts: csr_array[np.int64, tuple[int, int]]) -> Iterator[str]:
    for start, end in zip(counts.indptr, counts.indptr[1:]):
        entries = zip(counts.indices[start:end].tolist(), counts.data[start:end].tolist())
        yield "".join(f"{term} " * count for term, count in entries)
