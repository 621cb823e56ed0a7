"""Models of other programs as tables that ``topicmill evaluate`` reads."""

from __future__ import annotations

import bz2
import gzip
import json

import numpy as np
import pyarrow.parquet
import pytest
from conftest import TOPICS
from gensim.corpora import Dictionary
from gensim.models import LdaModel
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

import topicmill
from topicmill import _program
from topicmill.errors import DataError, UsageError

TERMS = ["whale", "sea", "bread"]
WEIGHTS = [[2.0, 2.0, 0.0], [0.0, 1.0, 3.0]]
PHI = [[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]


@pytest.fixture
def output(tmp_path):
    return tmp_path / "model.parquet"


def read(path, terms=TERMS):
    """Returns φ and, if there is one, α."""
    rows = pyarrow.parquet.read_table(path).to_pylist()
    phi = np.zeros((1 + max(row["topic"] for row in rows), len(terms)))
    for row in rows:
        assert row["weight"] > 0
        phi[row["topic"], terms.index(row["term"])] = row["weight"]
    alpha = path.with_suffix(".alpha.txt")
    return phi, np.loadtxt(alpha, ndmin=1) if alpha.exists() else None


def evaluated(result, *arguments):
    """Returns the likelihood per token and the notes of an evaluation of the result's job."""
    printed = _program.run("evaluate", result.path / "job.toml", *arguments, "--json")
    summary = json.loads(printed.splitlines()[-1])
    return summary["figures"][0]["value"], summary["notes"]


def test_a_model_scores_like_its_table(result, output):
    own, _ = evaluated(result, "--output", output.parent / "own")
    topicmill.convert(result.phi, output, terms=result.terms)
    np.savetxt(output.parent / "alpha.txt", result.alpha)
    flags = "--alpha", output.parent / "alpha.txt", "--output", output.parent / "evaluation"
    converted, notes = evaluated(result, "--model", output, *flags)
    assert converted == pytest.approx(own, abs=2e-3)
    assert f"{TOPICS} topics, 50 terms" in notes[0] and "lacks 0 of" in notes[1]


def test_gensims_model(result, texts, output):
    words = [text.split() for text in texts]
    dictionary = Dictionary(words)
    bags = [dictionary.doc2bow(text) for text in words]
    model = LdaModel(bags, id2word=dictionary, num_topics=TOPICS, alpha="auto", passes=2, random_state=1)
    assert topicmill.convert(model, output) == output
    phi, alpha = read(output, [dictionary[term] for term in range(50)])
    np.testing.assert_allclose(phi, model.get_topics(), rtol=1e-5)
    np.testing.assert_array_equal(alpha, model.alpha.astype(float))
    flags = "--alpha", output.with_suffix(".alpha.txt"), "--output", output.parent / "evaluation"
    _, notes = evaluated(result, "--model", output, *flags)
    assert "from evaluate.alpha" in notes[2] and f"its sum is {model.alpha.sum():.4f}" in notes[2]
    topicmill.convert(model, output, terms=[f"w{term}" for term in range(50)], overwrite=True)
    assert "w49" in pyarrow.parquet.read_table(output)["term"].to_pylist()


def test_scikit_learns_model(texts, output):
    vectorizer = CountVectorizer()
    model = LatentDirichletAllocation(TOPICS, max_iter=2, random_state=1).fit(vectorizer.fit_transform(texts))
    terms = list(vectorizer.get_feature_names_out())
    for given in (vectorizer, terms):
        phi, alpha = read(topicmill.convert(model, output, terms=given, overwrite=True), terms)
        np.testing.assert_allclose(phi, model.components_ / model.components_.sum(axis=1, keepdims=True))
        np.testing.assert_array_equal(alpha, [1 / TOPICS] * TOPICS)
    with pytest.raises(TypeError, match="LatentDirichletAllocation does not name its terms: pass terms"):
        topicmill.convert(model, output)


class LikeTomotopy:
    """What is used of a tomotopy.LDAModel."""

    k = 2
    used_vocabs = TERMS
    alpha = np.array([0.5, 0.25], dtype=np.float32)

    def get_topic_word_dist(self, topic):
        return np.array(PHI[topic], dtype=np.float32)


def test_tomotopys_model(output):
    phi, alpha = read(topicmill.convert(LikeTomotopy(), output))
    np.testing.assert_array_equal(phi, PHI)
    np.testing.assert_array_equal(alpha, [0.5, 0.25])


@pytest.mark.parametrize("kind", ["f4", ">f8", "i4", "u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_in_memory_and_in_a_file(kind, order, tmp_path, output):
    weights = np.array(WEIGHTS, dtype=kind, order=order)
    np.save(tmp_path / "weights.npy", weights)
    (tmp_path / "terms.txt").write_text("whale\nsea\r\nbread")
    np.testing.assert_array_equal(read(topicmill.convert(weights, output, terms=TERMS))[0], PHI)
    read_back = topicmill.convert(tmp_path / "weights.npy", output, terms=tmp_path / "terms.txt", overwrite=True)
    phi, alpha = read(read_back)
    np.testing.assert_array_equal(phi, PHI)
    assert alpha is None


@pytest.mark.parametrize(
    ("weights", "terms", "said"),
    [
        ([[1, 1, 1], [1, np.nan, 1]], TERMS, "'sea' has the weight nan in topic 1: weights are numbers from 0 to 1e30"),
        ([[1, 1, -0.5], [1, 1, 1]], TERMS, "'bread' has the weight -0.5 in topic 0"),
        ([[1, 1, 1], [1, 1, np.inf]], TERMS, "'bread' has the weight inf in topic 1"),
        ([[1, 1, 1], [0, 0, 0]], TERMS, "topic 1 has no weight at all"),
        ([[1, 1]] * 3, TERMS, r"shape \(3, 2\), topics × terms, but there are 3 terms: pass its transpose"),
        ([[1] * 4] * 2, TERMS, r"shape \(2, 4\), topics × terms, but there are 3 terms$"),
        ([1] * 6, TERMS, "an array of 1 dimensions of int64"),
        ([["a", "b", "c"]], TERMS, "2 dimensions of <U1"),
        (np.zeros((0, 3)), TERMS, "no topics"),
        ([[1, 1, 1]], ["a", "b", "a"], "term 2 is 'a', and term 0 too: terms must be distinct"),
    ],
)
def test_a_wrong_array_is_refused_by_topic_and_term(weights, terms, said, output):
    with pytest.raises(ValueError, match=said):
        topicmill.convert(np.array(weights), output, terms=terms)
    assert list(output.parent.iterdir()) == []


def test_mallets_weights(tmp_path, output):
    lines = "0\twhale\t2\n0\tsea\t2.0\n1\tsea\t1e0\n1\tbread\t3\n0\tbread\t0\n"
    headed = f"\ufeff\n\ntopic\tterm\tweight\r\n{lines}"
    for name, content in {
        "w": lines.encode(),
        "w.gz": gzip.compress(headed.encode()),
        "w.bz2": bz2.compress(lines.encode()),
    }.items():
        (tmp_path / name).write_bytes(content)
        phi, alpha = read(topicmill.convert(tmp_path / name, output, overwrite=True))
        np.testing.assert_array_equal(phi, PHI)
        assert alpha is None


def test_mallets_counts_are_smoothed(tmp_path, output):
    (tmp_path / "c").write_text("0 whale 0:2\n1 sea 1:1 0:2\n2 bread 1:3\n")
    for beta in (0.01, 0.5):
        arguments = {} if beta == 0.01 else {"beta": beta}
        phi, _ = read(topicmill.convert(tmp_path / "c", output, overwrite=True, **arguments))
        np.testing.assert_allclose(phi, (np.array(WEIGHTS) + beta) / (4 + 3 * beta))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("0\ta\t1\n0\ta\t2\n", "'a' has two weights in topic 0"),
        ("0\ta\t1\n2\ta\t2\n", "topic 1 has no weight"),
        ("0\ta\t1\n0\tb\tx\n", "line 2: 'x' is not a weight"),
        ("0\ta\t1\n0\tb\tNaN\n", "'b' has the weight nan in topic 0"),
        ("0\ta\t1\n0\tb\t1e300\n", r"'b' has the weight 1e\+300 in topic 0"),
        ("0\ta\t1e-300\n", "topic 0 has no weight at all"),
        ("0\ta\t1\n-1\tb\t1\n", "line 2: '-1' is not a topic"),
        ("0\ta\t1\n0\tb\n", "line 2: is not `topic TAB term TAB weight`"),
        ("0 a 0:1\n1 a 0:1\n", "line 2: 'a' is in an earlier line too"),
        ("0 a 0:1\n1 b 0=1\n", "line 2: '0=1' is not a topic"),
        ("once upon a time\n", "line 1: is not `number term topic:count …`"),
        ("\n", "wrong: is empty"),
        ("0 a\n", "holds no weight"),
        ("#doc source pos typeindex type topic\n", "is MALLET's state\npass it to evaluate as it is"),
    ],
)
def test_a_wrong_list_is_refused_by_line(content, said, tmp_path, output):
    (tmp_path / "wrong").write_text(content)
    with pytest.raises(ValueError, match=said):
        topicmill.convert(tmp_path / "wrong", output)


def test_existing_files_are_replaced_only_on_request(tmp_path, output):
    topicmill.convert(LikeTomotopy(), output)
    for path in (output, output.with_suffix(".alpha.txt")):
        with pytest.raises(UsageError, match="exists\nname another file, or replace it with overwrite=True"):
            topicmill.convert(LikeTomotopy(), output)
        path.unlink()
    topicmill.convert(LikeTomotopy(), output)
    # This model has no α.
    topicmill.convert(np.array(WEIGHTS), output, terms=TERMS, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model.parquet"]


def test_a_damaged_list_is_refused_by_its_name(tmp_path, output):
    lines = "".join(f"{n}\tterm{n * n}\t{n + 1}\n" for n in range(500)).encode()
    packed = gzip.compress(lines)
    for name, content, said in (
        ("latin", b"0\ta\t1\n0\t\xff\t1\n", "latin: is not UTF-8"),
        ("packed", packed, "packed: is not UTF-8"),
        ("cut.gz", packed[: len(packed) // 2], "cut.gz: is cut short or damaged"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=said):
            topicmill.convert(tmp_path / name, output)
    with pytest.raises(FileNotFoundError, match="absent"):
        topicmill.convert(tmp_path / "absent", output)
