"""Documents with labels: results, new texts, and the classifier by scikit-learn's own checks."""

from __future__ import annotations

import pickle

import numpy as np
import pandas
import polars
import pytest
from conftest import TOPICS, WORDS, planted
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import topicmill
from topicmill import TopicMillClassifier

NAMES = ["animals", "finance, markets", "sports", "space", "food"]
FEW = {"train.passes": 5}


def of(text: str) -> list[str]:
    """Returns the labels of a planted text: the two topics of its words."""
    return [name for name, words in zip(NAMES, WORDS) if set(words) & set(text.split())]


@pytest.fixture(scope="module")
def labelled(texts):
    labels = [of(text) if place % 10 else None for place, text in enumerate(texts)]
    return topicmill.fit(texts, labels=labels, backend="pandas")


def test_each_label_is_a_topic_of_its_words(labelled):
    assert list(labelled.labels["label"]) == sorted(NAMES)
    assert ">finance, markets: " in labelled._repr_html_()
    for topic, name in enumerate(labelled.labels["label"]):
        words = WORDS[NAMES.index(name)]
        assert sorted(term for term, _ in labelled.top_terms(topic, 10)) == sorted(words)


def test_labels_of_new_texts_are_those_of_the_table(labelled, texts):
    predicted = labelled.predictions.query("predicted")
    expected = {doc: list(zip(rows["label"], rows["weight"])) for doc, rows in predicted.groupby("doc_id")}
    answers = labelled.predict(texts)
    assert [[(label, np.float32(score)) for label, score in answer] for answer in answers] == [
        expected[doc] for doc in range(len(texts))
    ]
    assert labelled.predict(["xyzzy", None, "kitten"], project__label_count=1)[:2] == [[], []]
    assert [len(answer) for answer in labelled.predict(texts[:3], settings={"project.label_count": 5})] == [5] * 3


def test_labels_in_any_form_and_what_is_wrong_with_them(texts, labelled, tmp_path):
    single = topicmill.fit(texts, labels=np.array([len(text) % 3 for text in texts]), **{"train__passes": 5})
    assert list(single.table("labels")["label"]) == ["0", "1", "2"]
    rows = topicmill.fit(texts, labels=np.array([[3, len(text) % 3] for text in texts]), **{"train__passes": 5})
    assert list(rows.table("labels")["label"]) == ["0", "1", "2", "3"]
    with pytest.raises(ValueError, match="labels has 2 values"):
        topicmill.fit(texts, labels=["a", "b"])
    with pytest.raises(ValueError, match="cannot be named 'labels'"):
        topicmill.fit(texts, labels=texts, metadata={"labels": texts})
    frame = pandas.DataFrame({"text": texts, "kind": ["a", "b"] * (len(texts) // 2)})
    assert list(topicmill.fit(frame, labels="kind", settings=FEW).labels["label"]) == ["a", "b"]
    with pytest.raises(topicmill.errors.UsageError, match="each label is a topic"):
        topicmill.fit(texts, 3, labels=["a"] * len(texts))
    with pytest.raises(ValueError, match="has no labels"):
        topicmill.fit(texts, 2, settings=FEW).predict(texts)
    copy = pickle.loads(pickle.dumps(labelled))
    assert copy.predict(texts[:5]) == labelled.predict(texts[:5])


def test_indicators_are_no_names_of_labels(texts):
    y = MultiLabelBinarizer(classes=NAMES).fit_transform([of(text) for text in texts])
    frame = pandas.DataFrame(y, columns=NAMES)
    for form in (y, y.astype(bool), y.astype(float), csr_matrix(y)):
        with pytest.raises(TypeError, match="labels is a matrix of indicators: pass a list of label names for each"):
            topicmill.fit(texts, labels=form)
    for form in ((y == 1).tolist(), [None, *(y[1:] == 1)]):
        with pytest.raises(TypeError, match="the labels of text [01] are indicators: pass a list of label names"):
            topicmill.fit(texts, labels=form)
    for form in (frame, polars.DataFrame(y), frame.to_dict("list")):
        with pytest.raises(TypeError, match="labels is a (DataFrame|dict): pass a list.*, or one of its columns"):
            topicmill.fit(texts, labels=form)


@parametrize_with_checks([TopicMillClassifier(settings=FEW)])
@pytest.mark.filterwarnings("ignore:X has counts that are not whole")
@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API|.*Can't check dok sparse|.*invalid value encountered in cast")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_one_label_a_document(texts):
    # The topic of 24 of the 30 words.
    main = [max(range(TOPICS), key=lambda k: sum(word in WORDS[k] for word in text.split())) for text in texts]
    y = np.array(NAMES)[main]
    model = make_pipeline(CountVectorizer(), TopicMillClassifier(settings=FEW))
    assert cross_val_score(model, texts, y, cv=3).mean() > 0.95
    model = TopicMillClassifier().fit(texts, y)
    assert list(model.classes_) == sorted(NAMES)
    scores = model.decision_function(texts)
    assert scores.shape == (len(texts), TOPICS) and (scores >= 0).all() and (scores <= 1).all()
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(texts))
    names, counts = np.unique(y, return_counts=True)
    assert list(model.predict(["xyzzy"])) == [names[counts.argmax()]]


def test_several_labels_a_document(texts):
    y = MultiLabelBinarizer(classes=NAMES).fit_transform([of(text) for text in texts])
    held_out = planted(100, seed=2)
    expected = MultiLabelBinarizer(classes=NAMES).fit_transform([of(text) for text in held_out])
    for form in (y, csr_matrix(y)):
        model = TopicMillClassifier().fit(texts, form)
        predicted = model.predict(held_out)
        assert predicted.shape == expected.shape and f1_score(expected, predicted, average="micro") > 0.95
    assert model.decision_function(held_out).shape == expected.shape
    assert model.score(held_out, expected) > 0.9
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TopicMillClassifier().fit(texts, y[1:])
