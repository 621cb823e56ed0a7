"""Texts that become part of a result, and texts that leave it."""

import pathlib

import numpy as np
import pytest

import topicmill

ANIMALS, MONEY = "cat dog kitten puppy paw", "bank loan money credit rate"


@pytest.fixture
def grown():
    years = {"year": [2000 + n % 3 for n in range(100)]}
    return topicmill.fit([ANIMALS, MONEY] * 50, topics=2, metadata=years, train__passes=10, backend="pyarrow")


def test_texts_follow_those_that_were_there(grown):
    theta, topics = grown.theta, grown.topics
    expected = grown.transform(["a kitten and a paw", "a loan"])
    grown.add(iter(["a kitten and a paw", "a loan"]), metadata={"year": [2001, 2009]})
    assert grown.theta.shape == (102, 2)
    assert np.array_equal(grown.theta[:100].toarray(), theta.toarray())
    assert np.array_equal(grown.theta[100:].toarray(), expected.toarray())
    assert grown.topics["top_terms"] == topics["top_terms"]
    last = grown.documents.slice(100)
    assert last["source_id"].to_pylist() == ["100", "101"]
    assert last["year"].to_pylist() == [2001, 2009]
    assert "102 documents" in repr(grown)


def test_ids_are_the_callers_own_and_new(grown):
    grown.add(["a loan"], ids=["mine"])
    with pytest.raises(topicmill.errors.DataError, match="mine"):
        grown.add(["another loan"], ids=["mine"])
    assert grown.documents["source_id"].to_pylist()[100:] == ["mine"]


def test_files_are_read_as_those_of_the_result(grown, tmp_path):
    file = tmp_path / "more.jsonl"
    file.write_text('{"id": "a", "text": "the bank"}\n')
    grown.add(pathlib.Path(file))
    assert grown.theta.shape == (101, 2)
    with pytest.raises(ValueError, match="read as those"):
        grown.add(pathlib.Path(file), ids=["b"])


def test_corrections_replace_and_the_numbers_of_what_is_gone_stay_free(grown):
    theta = grown.theta
    grown.add(["a loan"], ids=[3], on_duplicate="replace")
    assert grown.theta.shape == (100, 2)
    assert grown.documents["doc_id"].to_pylist() == [*range(3), *range(4, 101)]
    assert grown.documents["source_id"].to_pylist()[-1] == "3"
    grown.remove(["0", 5])
    assert np.array_equal(grown.theta[:2].toarray(), theta[1:3].toarray())
    assert all(near.doc_id not in (0, 3, 5) for near in grown.similar(1, n=100))
    with pytest.raises(IndexError, match="documents 0 to 100"):
        grown.similar(5)
    with pytest.raises(topicmill.errors.DataError, match="such as 5"):
        grown.remove([5])


def test_training_again_learns_new_words_and_keeps_the_numbers_of_topics(grown):
    top = [terms[0] in ANIMALS.split() for terms in grown.topics["top_terms"].to_pylist()]
    grown.add(["cat dog boat sail"] * 20)
    assert "boat" not in grown.terms
    grown.retrain()
    assert {"boat", "sail"} <= set(grown.terms)
    assert [terms[0] in ANIMALS.split() for terms in grown.topics["top_terms"].to_pylist()] == top
    assert grown.theta.shape == (120, 2)
    assert grown.phi.shape == (2, len(grown.terms))
