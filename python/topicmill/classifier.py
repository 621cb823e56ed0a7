"""The classifier for scikit-learn: each label is a topic, and a document has one label or several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ._job import Settings
from .estimator import DocumentEstimator
from .fitting import fit


class TopicMillClassifier(ClassifierMixin, DocumentEstimator):  # type: ignore[misc]
    """Labels of documents by Labeled LDA and Dependency-LDA, as a classifier.

    Each label is a topic. The labels predicted for a document are those with the largest expected shares
    of its tokens (docs/TRAINING.md, "Documents with labels").

    Parameters
    ----------
    random_state : int, RandomState instance or None, default 1
        The seed. None uses a different seed at each call of `fit`.
    n_jobs : int, optional
        Threads; None and -1 mean one for each core, -2 one less, and so on.
    settings : dict, optional
        Keys of the job, such as ``{"train.passes": 50}``; docs/JOB.md lists them.

    Attributes
    ----------
    classes_ : ndarray
        The labels; if y is an indicator matrix, the numbers of its columns.
    result_ : topicmill.Result
        The result, with its tables. Its labels are indices of `classes_`.
    n_features_in_ : int
        Number of columns of X. Only if fitted on counts.

    Notes
    -----
    `X` is as in `TopicMill`. With one label per document, y has shape (documents,). With several, it is an indicator
    matrix of shape (documents, labels), as ``MultiLabelBinarizer`` returns it, and the number of labels that are
    predicted for a document is estimated from its terms.

    Examples
    --------
    >>> from topicmill import TopicMillClassifier
    >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
    >>> model = TopicMillClassifier().fit(texts, ["animals", "money"] * 50)
    >>> model.predict(["money in the bank", "a cat and a dog"])
    array(['money', 'animals'], dtype='<U7')
    """

    def __init__(
        self,
        *,
        random_state: int | np.random.RandomState | None = 1,
        n_jobs: int | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.settings = settings

    def fit(self, X: Any, y: Any) -> Self:
        """Train a topic for each label.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (documents, terms)
            Texts or counts.
        y : array-like of shape (documents,) or (documents, labels)
            One label per document, or 1 for each label that it has and 0 for the others.

        Returns
        -------
        TopicMillClassifier
            This object.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        check_classification_targets(y)
        self._is_multilabel = type_of_target(y) == "multilabel-indicator"
        if not self._is_multilabel:
            y = column_or_1d(y, warn=True)
        texts = self._texts(X, reset=True)
        if hasattr(X, "shape") or hasattr(X, "__len__"):
            check_consistent_length(X, y)
        labels: Iterable[object]
        if self._is_multilabel:
            own = np.asarray(y.toarray() if hasattr(y, "toarray") else y) != 0
            self.classes_ = np.arange(own.shape[1])
            labels = [np.flatnonzero(row).tolist() for row in own]
            self._majority = own.mean(axis=0) > 0.5
        else:
            self.classes_, labels, counts = np.unique(y, return_inverse=True, return_counts=True)
            self._majority = np.arange(len(counts)) == counts.argmax()
        self.result_ = fit(
            texts,
            labels=labels,
            seed=self._seed,
            threads=self._threads,
            settings={**self._base_settings, "sample.held_out": 0.0, **(self.settings or {})},
        )
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the labels of documents.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (documents, terms)
            Texts or counts, as in `fit`.

        Returns
        -------
        ndarray of shape (documents,) or (documents, labels)
            Like y in `fit`. A document without a known term gets the most frequent label or, with several
            labels per document, those that more than half of the documents have.
        """
        check_is_fitted(self)
        settings = {} if self._is_multilabel else {"project.label_count": 1}
        predicted = self._scores(X, settings) > -np.inf
        predicted[~predicted.any(axis=1)] = self._majority
        if self._is_multilabel:
            return predicted.astype(np.int64)
        labels: npt.NDArray[Any] = self.classes_[predicted.argmax(axis=1)]
        return labels

    def decision_function(self, X: Any) -> npt.NDArray[np.float32]:
        """Return the share of each document's tokens that each label is expected to have.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (documents, terms)
            Texts or counts, as in `fit`.

        Returns
        -------
        ndarray of shape (documents, labels) or, for two classes, (documents,)
            From 0 to 1; for two classes, the share of the second minus that of the first.
        """
        check_is_fitted(self)
        scores = self._scores(X, {"project.label_count": len(self.classes_)})
        scores[np.isinf(scores)] = 0
        return scores if self._is_multilabel or len(self.classes_) != 2 else scores[:, 1] - scores[:, 0]

    def _scores(self, X: Any, settings: Settings) -> npt.NDArray[np.float32]:
        """Return a score for each label that is predicted for a document, and −∞ for the others."""
        predicted = self.result_.predict(self._texts(X, reset=False), threads=self._threads, settings=settings)
        scores = np.full((len(predicted), len(self.classes_)), -np.inf, dtype=np.float32)
        for row, labels in zip(scores, predicted):
            for label, score in labels:
                row[int(label)] = score
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        # The two-dimensional blobs of scikit-learn's checks are not documents.
        tags.classifier_tags.poor_score = True
        return tags


