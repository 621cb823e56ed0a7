"""Labels predicted from topics, and the association of words."""

from __future__ import annotations

import gzip

import numpy as np
import polars
import pytest
from conftest import WORDS
from scipy.sparse import csr_array

import topicmill
from topicmill.errors import DataError
from topicmill.evaluate import association, classification


def proportions(documents, topics=4):
    return np.random.default_rng(8).dirichlet([0.5] * topics, documents)


def test_labels_that_proportions_decide_are_all_found():
    theta = proportions(300)
    # A margin between the classes, so that any good separating line classifies all correctly.
    theta = theta[np.abs(theta[:, 0] - theta[:, 1]) > 0.1]
    labels = np.where(theta[:, 0] > theta[:, 1], "sea", "land")
    for given in (theta, csr_array(theta)):
        found = classification(given, labels)
        assert (found.accuracy, found.standard_error, found.labels) == (1, 0, 2)
        assert found.baseline == max(np.mean(labels == "sea"), np.mean(labels == "land")) < 0.7
        assert (found.documents, found.skipped) == (len(theta), 0)


def test_labels_that_have_nothing_to_do_with_topics_are_guessed():
    labels = np.minimum(np.random.default_rng(9).integers(10, size=1000), 4)
    found = classification(proportions(1000), labels)
    assert (found.labels, found.baseline) == (5, np.mean(labels == 4))
    assert abs(found.accuracy - found.baseline) < 0.05
    assert 0 < found.standard_error < 0.05


def test_the_same_seed_gives_the_same_folds():
    theta = proportions(200)
    labels = theta[:, 0] + np.random.default_rng(2).normal(0, 0.3, 200) > 0.3
    found = classification(theta, labels)
    assert classification(theta, labels) == found
    assert classification(theta, labels, seed=2) != found
    assert classification(theta, labels, folds=3).standard_error != found.standard_error


def test_documents_without_a_label_or_a_topic_are_left_out():
    sea, law = WORDS[0], WORDS[1]
    texts = [" ".join(np.roll(sea if n % 3 == 0 else law, n)) for n in range(300)]
    texts[8] = ""
    labels = [None if n % 10 == 7 else "sea" if n % 3 == 0 else "law" for n in range(300)]
    result = topicmill.fit(texts, 2, metadata={"kind": labels}, train__passes=20, sample__held_out=0.2, vocabulary__max_share=1.0)
    for given in (labels, result.documents["kind"], topicmill.read(result.path, backend="polars").documents["kind"]):
        found = classification(result.theta, given)
        assert found.accuracy > 0.98 and found.standard_error < 0.02
        # 30 of 300 have no label, one more no text.
        assert (found.documents, found.skipped, found.labels) == (269, 31, 2)
        laws = sum(label == "law" and n != 8 for n, label in enumerate(labels))
        assert found.baseline == pytest.approx(laws / 269)
    held_out = (result.documents["split"] == "held_out").to_numpy()
    assert held_out.sum() >= classification(result.theta[held_out], result.documents["kind"][held_out]).documents > 0


@pytest.mark.parametrize(
    ("labels", "folds", "said"),
    [
        (["a", "b"], 2, "there are 2 labels, but 3 documents"),
        (["a", "a", "a"], 2, "the only label is 'a', but there must be at least 2"),
        ([None, "", float("nan")], 2, "no document has a label and a topic"),
        (["a", "b", "b"], 4, "Cannot have number of splits n_splits=4 greater than the number of samples: n_samples=3"),
        (["a", "b", "b"], 1, "k-fold cross-validation requires at least one train/test split"),
        (["a", ["b", "c"], "b"], 2, "the label of document 1 is a list: pass one label per document"),
        (polars.Series([["a"], ["b"], ["c"]]), 2, "the label of document 0 is a Series: pass one label per document"),
    ],
)
def test_what_cannot_be_classified_says_why(labels, folds, said):
    with pytest.raises((TypeError, ValueError), match=said):
        classification([[0.5, 0.5]] * 3, labels, folds=folds)


def test_classification_without_scikit_learn_names_the_remedy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.linear_model", None)
    with pytest.raises(ImportError, match=r"classification needs more packages .*: pip install 'topicmill\[sklearn\]'"):
        classification([[1]], ["a"])


SEA = ["sea", "ship", "wave", "law", "court"]
TWO = [[0.5, 0.3, 0.2, 0, 0], [0, 0, 0.1, 0.6, 0.3]]


def test_associates_rank_as_by_hand():
    # Given `sea`: ship 0.3, wave 0.2, law and court 0. Given `wave`, of which two thirds are topic 0:
    # sea 0.33, ship and law 0.2, court 0.1.
    norms = {"sea": ["wave", "law", "whale"], "wave": ["sea", "ship", "court"]}
    found = association([*TWO], SEA, norms)
    # Ranks 2 and 3.5; 1, 2.5 and 4.
    assert (found.first_rank, found.rank, found.terms) == (1.5, 2.5, 4)
    assert (found.pairs, found.first_pairs, found.skipped) == (5, 2, 1)


def test_a_cue_of_one_topic_ranks_the_terms_of_that_topic():
    # Terms 0 to 2 are in topic 0, 3 and 4 in topic 1, 5 in both; the model lacks 6.
    phi = [[0.2, 0.5, 0.2, 0, 0, 0.1, 0], [0, 0, 0, 0.6, 0.3, 0.1, 0]]
    ranks = {
        (0, 1): 1, (0, 2): 2, (0, 3): 4.5, (0, 4): 4.5, (0, 5): 3,
        (5, 0): 4.5, (5, 1): 2, (5, 2): 4.5, (5, 3): 1, (5, 4): 3,
    }  # fmt: skip
    for (cue, target), rank in ranks.items():
        found = association(phi, "0123456", {str(cue): [str(target), "6"]})
        assert (found.rank, found.first_rank, found.terms, found.skipped) == (rank, rank, 5, 1)


def test_a_prior_on_topics_moves_the_ranks():
    phi, terms = [[0.4, 0.6, 0], [0.4, 0, 0.5]], ["cue", "a", "b"]
    assert association(phi, terms, {"cue": ["a"]}).rank == 1
    assert association(phi, terms, {"cue": ["a"]}, alpha=[0.1, 1]).rank == 2


def test_ranks_are_those_of_the_equation():
    """Eq. 57 as printed, with P(k) ∝ α_k, one sum after the other."""
    random = np.random.default_rng(5)
    phi = np.where(random.random((6, 40)) < 1 / 3, 0.05 * random.random((6, 40)), 0) + 1e-4
    phi[:, 7] = 0
    alpha = 0.1 + 0.05 * np.arange(6)
    terms = [f"w{term}" for term in range(40)]
    for cue in (0, 3, 20):
        topics = [alpha[k] * phi[k, cue] / sum(alpha * phi[:, cue]) for k in range(6)]
        scores = {w: sum(phi[k, w] * topics[k] for k in range(6)) for w in range(40) if w not in (cue, 7)}
        for target, score in scores.items():
            above = sum(other > score + 1e-12 for other in scores.values())
            equal = sum(abs(other - score) <= 1e-12 for other in scores.values())
            found = association(phi, terms, {terms[cue]: [terms[target]]}, alpha=alpha)
            assert (found.rank, found.terms) == (above + (equal + 1) / 2, 38)


def test_associates_rank_by_the_topics_of_their_cue(result, tmp_path):
    norms = tmp_path / "norms.csv"
    norms.write_text(
        "cue,associate,strength\ncat,dog,0.2\ncat,bank,0.1\ncat,dragon,0.5\nBank,loan,0.7\n"
        'bank,"money",0.2\nunicorn,horn,1\nmoon,Moon,1\n'
    )
    found = association(result.phi, result.terms, norms, alpha=result.alpha)
    # The first associate of `cat` is `dragon`, which is not a term; `Bank` and `bank` are two cues.
    assert (found.terms, found.pairs, found.first_pairs, found.skipped) == (49, 4, 2, 3)
    # The other nine words of a cue's topic come first.
    assert found.first_rank <= 9 and found.rank <= 9


def ranked(path):
    """Returns the cues and associates of a file."""
    from topicmill.evaluate import _read

    return _read(path)


def test_associates_are_in_the_order_of_their_strength(tmp_path):
    wanted = {"dog": ["cat", "bone", "leash"], "salt": ["pepper"]}
    tabs = (
        "\ufeffCue\tresponse\tstrength\r\ndog\tbone\t0.1\r\nsalt\tpepper\t3\r\n"
        "dog\tcat\t0.4\r\n\ndog\tleash\t0.1\n"
    )
    (tmp_path / "norms.tsv.gz").write_bytes(gzip.compress(tabs.encode()))
    (tmp_path / "norms.csv").write_text(
        '\ncue,associate\n"dog","cat"\ndog, bone\n"salt",pepper\ndog,"leash"\n'
    )
    assert ranked(tmp_path / "norms.tsv.gz") == ranked(tmp_path / "norms.csv") == wanted


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("dog,cat\nbone\n", "line 2: is not a cue, an associate and perhaps a strength"),
        ("dog\tcat\n\ndog,bone\n", "line 3: is not a cue"),
        ("dog,cat,1,2\n", "line 1: is not a cue"),
        ("dog,,1\n", "line 1: is not a cue"),
        ("dog,cat,many\n", "line 1: 'many' is not a strength"),
        ("dog,cat,-1\n", "'-1' is not a strength"),
        ("dog,cat,NaN\n", "'NaN' is not a strength"),
        ("dog,cat,1\ndog,bone\n", "line 2: either every line has a strength, or none"),
        ("dog,cat\na,b\ndog,cat\n", "line 3: 'dog' and 'cat' are in an earlier line too"),
        ('dog,"cat\n', "line 1: unexpected end of data"),
        ("cue,target\n\n", "has no line with a cue"),
        ("", "has no line with a cue"),
    ],
)
def test_a_wrong_line_is_named(content, said, tmp_path):
    (tmp_path / "norms.csv").write_text(content)
    with pytest.raises(DataError, match=f"norms.csv.*{said}"):
        association(TWO, SEA, tmp_path / "norms.csv")


def test_norms_of_other_words_are_refused():
    with pytest.raises(ValueError, match="none of the 1 pairs has two words that are terms of the model"):
        association(TWO, SEA, {"cat": ["dog"]})
    with pytest.raises(ValueError, match=r"phi has shape \(2, 5\), but there are 4 terms"):
        association(TWO, SEA[1:], {})
