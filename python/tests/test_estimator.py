"""The transformer, with scikit-learn's own checks and tools."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas
import polars
import pytest
from conftest import TOPICS, WORDS, planted
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from topicmill import TopicMill
from topicmill.errors import UsageError

FEW = {"train.passes": 5}


# Two topics, because some checks have only two terms, and more topics than terms are an error.
@parametrize_with_checks([TopicMill(2, settings=FEW)])
@pytest.mark.filterwarnings("ignore:X has counts that are not whole")
@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API|.*Can't check dok sparse:")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def counts(texts):
    return CountVectorizer().fit_transform(texts)


def test_counts_and_texts_give_the_same_topics(texts, counts):
    vectorizer = CountVectorizer().fit(texts)
    of_texts = TopicMill(TOPICS, settings=FEW).fit(texts)
    of_counts = TopicMill(TOPICS, settings=FEW).fit(counts)
    assert of_counts.components_.shape == (TOPICS, 50)
    for components, terms in (
        (of_texts.components_, of_texts.result_.terms),
        (of_counts.components_, vectorizer.get_feature_names_out()),
    ):
        found = sorted(sorted(terms[row.argsort()[-10:]]) for row in components)
        assert found == sorted(sorted(words) for words in WORDS)


def test_texts_of_which_the_first_is_missing_are_texts(texts):
    expected = TopicMill(TOPICS, settings=FEW).fit_transform([None, *texts])
    missing = [np.nan, *texts]
    for form in (missing, pandas.Series(missing), pandas.Series(missing, dtype="string"), polars.Series([None, *texts])):
        np.testing.assert_array_equal(TopicMill(TOPICS, settings=FEW).fit_transform(form), expected)


def test_forms_of_counts_mean_the_same(counts):
    first = TopicMill(TOPICS, settings=FEW).fit_transform(counts)
    for form in (counts.toarray(), counts.astype(float), csr_matrix(counts), counts.tocoo(), counts.toarray().tolist()):
        np.testing.assert_array_equal(TopicMill(TOPICS, settings=FEW).fit_transform(form), first)
    assert first.dtype == np.float32
    np.testing.assert_allclose(first.sum(axis=1), 1, rtol=1e-5)


def test_transform_has_the_threshold_of_fit(texts):
    model = TopicMill(TOPICS, settings={**FEW, "project.threshold": 0.3})
    proportions = model.fit_transform(texts)
    assert (proportions == 0).any()
    np.testing.assert_array_equal(model.transform(texts), proportions)


def test_columns_without_a_count_have_no_probability(counts):
    dense = np.insert(counts.toarray(), 7, 0, axis=1)
    model = TopicMill(TOPICS, settings=FEW).fit(dense)
    assert model.n_features_in_ == 51
    assert (model.components_[:, 7] == 0).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)
    rows = np.zeros((2, 51))
    rows[1, 0] = 3
    np.testing.assert_allclose(model.transform(rows).sum(axis=1), [0, 1], rtol=1e-5)


def test_fractions_are_rounded_with_a_warning(counts):
    model = TopicMill(TOPICS, settings=FEW)
    with pytest.warns(UserWarning, match="not whole numbers; they are rounded.*CountVectorizer") as warned:
        model.fit(counts * 1.1)
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="not whole"):
        rounded = model.fit_transform(counts * 1.1)
    np.testing.assert_array_equal(rounded, model.fit_transform(np.rint(counts.toarray() * 1.1)))


def test_score_and_perplexity_are_those_of_held_out_texts(texts):
    held_out = planted(100, seed=2)
    good = TopicMill(TOPICS, settings=FEW).fit(texts)
    poor = TopicMill(1, settings=FEW).fit(texts)
    assert poor.perplexity(held_out) == pytest.approx(50, rel=0.05)
    assert good.perplexity(held_out) < 30
    assert good.perplexity(held_out) == pytest.approx(np.exp(-good.score(held_out)))
    assert good.score(held_out) == clone(good).fit(texts).score(held_out)


def test_score_joins_the_phrases_of_the_model(texts):
    model = TopicMill(TOPICS, settings={**FEW, "phrases.detect": True, "phrases.min_count": 9})
    model.fit([text + " red panda" * (place % 3 == 0) for place, text in enumerate(texts)])
    assert "red_panda" in model.result_.terms
    # Four occurrences are too few for detection, and the text has no other known term.
    assert np.isfinite(model.score(["red panda " * 4]))


def test_seeds(texts):
    components = [TopicMill(TOPICS, random_state=seed, settings=FEW).fit(texts).components_ for seed in (3, 3, 4)]
    np.testing.assert_array_equal(components[0], components[1])
    assert (components[0] != components[2]).any()
    for seed in (None, np.random.RandomState(3)):
        assert TopicMill(TOPICS, random_state=seed, settings=FEW).fit(texts).components_.shape == (TOPICS, 50)


def test_threads_are_counted_as_scikit_learn_counts_them(texts):
    models = [TopicMill(TOPICS, n_jobs=n_jobs, settings=FEW).fit(texts) for n_jobs in (None, 2, -2)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.transform(texts), models[0].transform(texts))


def test_it_works_in_pipelines_searches_and_other_processes(texts, counts):
    labels = [text.count("cat") + text.count("dog") > 0 for text in texts]
    pipeline = make_pipeline(CountVectorizer(), TopicMill(TOPICS, settings=FEW), LogisticRegression(C=100))
    assert cross_val_score(pipeline, texts, labels, cv=3, n_jobs=2).mean() > 0.75
    search = GridSearchCV(TopicMill(settings=FEW), {"n_components": [1, TOPICS]}, cv=2, n_jobs=2).fit(counts)
    assert search.best_params_ == {"n_components": TOPICS}


def test_searches_compare_scores_of_held_out_texts(texts):
    settings = [{**FEW, "train.passes": passes} for passes in (1, 5)]
    search = GridSearchCV(TopicMill(TOPICS, n_jobs=1), {"settings": settings}, cv=2, refit=False).fit(texts[:100])
    assert search.best_params_ == {"settings": settings[1]}
    model = clone(search.estimator).set_params(**search.best_params_).fit(texts[50:100])
    assert model.score(texts[:50]) == search.cv_results_["split0_test_score"][1]


def test_pickles_and_names_of_outputs(texts, counts):
    model = TopicMill(TOPICS, settings=FEW).fit(texts)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(texts), model.transform(texts))
    assert list(again.get_feature_names_out()) == [f"topicmill{topic}" for topic in range(TOPICS)]
    frame = TopicMill(TOPICS, settings=FEW).set_output(transform="pandas").fit_transform(texts)
    assert list(frame.columns) == list(again.get_feature_names_out())


def test_what_is_wrong_is_said(texts, counts):
    with pytest.raises(ValueError, match="X has counts, but TopicMill is fitted on texts"):
        TopicMill(TOPICS, settings=FEW).fit(texts).transform(counts)
    with pytest.raises(ValueError, match="X has texts, but TopicMill is fitted on counts"):
        TopicMill(TOPICS, settings=FEW).fit(counts).transform(texts)
    for form in (pandas.DataFrame({"text": texts}), polars.DataFrame({"id": range(400), "text": texts})):
        for of in (TopicMill(TOPICS).fit, TopicMill(TOPICS, settings=FEW).fit(texts).transform):
            with pytest.raises(TypeError, match="X is a DataFrame: pass one of its columns"):
                of(form)
    with pytest.raises(TypeError, match="text 0 is bytes, not str"):
        TopicMill(TOPICS).fit([b"a text"])
    with pytest.raises(ValueError, match="Negative values"):
        TopicMill(TOPICS).fit(-counts.toarray())
    with pytest.raises(UsageError, match="unknown key `passses`"):
        TopicMill(TOPICS, settings={"train.passses": 3}).fit(texts)
    with warnings.catch_warnings(), pytest.raises(UsageError, match="`model.topics` is 0"):
        warnings.simplefilter("error")
        TopicMill(0).fit(texts)
