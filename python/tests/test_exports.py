"""Exports, opened by the programs for which they are made."""

from __future__ import annotations

import gzip
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections import Counter

import numpy as np
import pandas
import pyLDAvis
import pytest
import scipy.io
from conftest import TOPICS
from gensim.corpora import Dictionary, MmCorpus
from scipy.sparse import csr_array

import topicmill
from topicmill.errors import DataError, UsageError

STATE_LINE = re.compile(r"(\d+) (\S+) (\d+) (\d+) (\S+) (\d+)\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def bags(texts):
    return [Counter(text.split()) for text in texts]


def test_mallets_state(result, folder, bags):
    """Reads a state strictly: exactly six fields, positions without gaps, one number per type."""
    path = result.export("mallet-state", folder / "a.state.gz")
    tokens = np.zeros((TOPICS, len(result.terms)))
    found = [Counter() for _ in bags]
    with gzip.open(path, "rt", encoding="utf-8") as state:
        assert next(state) == "#doc source pos typeindex type topic\n"
        alpha = next(state).split(" ")
        assert alpha[:2] == ["#alpha", ":"]
        np.testing.assert_array_equal(np.array(alpha[2:], dtype=float), result.alpha)
        beta = float(next(state).removeprefix("#beta : "))
        for line in state:
            document, source, place, term, text, topic = STATE_LINE.fullmatch(line).groups()
            assert (source, text) == (document, result.terms[int(term)])
            assert int(place) == found[int(document)].total()
            found[int(document)][text] += 1
            tokens[int(topic), int(term)] += 1
    assert found == bags
    # Smoothed like MALLET's counts; these are of all documents, not only of the training sample.
    phi = (tokens + beta) / (tokens + beta).sum(axis=1, keepdims=True)
    assert np.abs(phi - result.phi).max() < 0.02


def test_mallets_diagnostics(result, folder):
    path = result.export("mallet-diagnostics", folder / "diagnostics.xml")
    assert path.read_text().startswith('<?xml version="1.0" encoding="UTF-8"?>\n<model>\n<topic id=\'0\' ')
    model = ElementTree.parse(path).getroot()
    assert [topic.tag for topic in model] == ["topic"] * TOPICS
    of_topic = "id tokens document_entropy word-length coherence uniform_dist corpus_dist eff_num_words token-doc-diff"
    assert list(model[0].attrib) == [*of_topic.split(), "rank_1_docs", "allocation_ratio", "allocation_count", "exclusivity"]
    of_word = "rank count prob cumulative docs word-length coherence uniform_dist corpus_dist token-doc-diff exclusivity"
    assert list(model[0][0].attrib) == of_word.split()
    for number, topic in enumerate(model):
        row = result.topics.iloc[number]
        assert topic.get("id") == str(number)
        assert float(topic.get("tokens")) == row["tokens"]
        assert float(topic.get("eff_num_words")) == pytest.approx(row["effective_terms"], abs=1e-4)
        assert topic.get("exclusivity") == f"{row['exclusivity']:.4f}"
        words = [(word.text, float(word.get("prob"))) for word in topic]
        expected = result.top_terms(number, n=len(words))
        assert [text for text, _ in words] == [term for term, _ in expected]
        assert [weight for _, weight in words] == pytest.approx([w for _, w in expected], abs=1e-5)
        assert [int(word.get("rank")) for word in topic] == list(range(1, len(words) + 1))
        assert all(int(word.get("docs")) > 0 for word in list(topic)[:5])


def test_gensim_reads_the_bags(result, folder, bags):
    path = result.export("gensim", folder / "gensim")
    corpus = MmCorpus(str(path / "corpus.mm"))
    dictionary = Dictionary.load_from_text(str(path / "dictionary.txt"))
    read = [Counter({dictionary[term]: int(count) for term, count in document}) for document in corpus]
    assert read == bags
    assert (corpus.num_docs, corpus.num_terms, dictionary.num_docs) == (400, 50, 400)
    assert dictionary.dfs == Counter(dictionary.token2id[term] for bag in bags for term in bag)
    assert scipy.io.mmread(path / "corpus.mm").sum() == sum(bag.total() for bag in bags)
    assert (path / "documents.txt").read_text().split() == list(result.documents["source_id"])


def test_numpy_reads_the_arrays(result, folder):
    path = result.export("npy", folder / "npy")
    arrays = {file.stem: np.load(file) for file in path.glob("*.npy")}
    np.testing.assert_array_equal(arrays["phi"], result.phi)
    np.testing.assert_array_equal(arrays["alpha"], result.alpha)
    theta = csr_array(
        (arrays["theta_data"], arrays["theta_indices"], arrays["theta_indptr"]),
        shape=result.theta.shape,
    )
    assert (theta != result.theta).nnz == 0
    assert (path / "documents.txt").read_text().split() == list(result.documents["source_id"])
    assert (path / "terms.txt").read_text(encoding="utf-8").split("\n")[:-1] == list(result.terms)


def test_pandas_reads_the_wide_table(result, folder):
    path = result.export("parquet", folder / "phi.parquet")
    table = pandas.read_parquet(path).set_index("term")
    assert list(table.columns) == [f"topic_{topic}" for topic in range(TOPICS)]
    np.testing.assert_array_equal(table.to_numpy().T, result.phi)
    assert list(table.index) == list(result.terms)


def test_pyldavis_draws_what_it_would_prepare(texts, bags):
    result = topicmill.fit(texts, TOPICS, project__threshold=0, train__passes=30)
    ours = result.to_pyldavis()
    theirs = pyLDAvis.prepare(
        result.phi / result.phi.sum(axis=1, keepdims=True),
        result.theta.toarray(),
        [bag.total() for bag in bags],
        list(result.terms),
        [sum(bag[term] for bag in bags) for term in result.terms],
        sort_topics=False,
        n_jobs=1,
    )
    page = pyLDAvis.prepared_data_to_html(ours)
    assert '"token.table"' in page and "kitten" in page

    columns = ["logprob", "loglift", "Freq", "Total"]
    bars = [data.topic_info.set_index(["Category", "Term"])[columns] for data in (ours, theirs)]
    common = bars[0].index.intersection(bars[1].index)
    assert len(common) > 0.9 * len(bars[0])
    topics = common[common.get_level_values(0) != "Default"]
    np.testing.assert_allclose(bars[0].loc[topics], bars[1].loc[topics], rtol=0.01, atol=0.05)
    assert set(ours.topic_info["Category"]) == set(theirs.topic_info["Category"])

    assert list(ours.topic_coordinates["topics"]) == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(ours.topic_coordinates["Freq"], theirs.topic_coordinates["Freq"], rtol=1e-3)
    tokens = [data.token_table.set_index(["Term", "Topic"])["Freq"] for data in (ours, theirs)]
    common = tokens[0].index.intersection(tokens[1].index)
    assert len(common) > 0.9 * len(tokens[0])
    np.testing.assert_allclose(tokens[0][common], tokens[1][common], atol=0.02)


def test_an_export_replaces_nothing_unless_asked(result, folder):
    for format, name, exists in (
        ("pyldavis", "twice.json", "twice.json exists; name another file"),
        ("mallet-diagnostics", "twice.xml", "twice.xml exists\nname another file, or replace it with overwrite=True"),
        ("npy", "twice", "alpha.npy exists"),
    ):
        path = folder / name
        assert result.export(format, path) == path
        with pytest.raises(UsageError, match=exists):
            result.export(format, path)
        before = contents(path)
        result.export(format, path, overwrite=True)
        assert contents(path) == before
    with pytest.raises(UsageError, match="documents.txt exists"):
        result.export("gensim", folder / "twice")


def contents(path):
    """Returns the bytes of a file, or of each file in a folder."""
    return {file.name: file.read_bytes() for file in (path.iterdir() if path.is_dir() else [path])}


def test_an_export_is_not_written_to_a_result_or_in_the_place_of_something_else(result, folder):
    (folder / "file").write_text("mine")
    (folder / "folder").mkdir()
    for format, path, said in (
        ("npy", result.path / "arrays", "is in a result of topicmill\nname a folder outside of it"),
        ("mallet-diagnostics", result.path / "d.xml", "is in a result of topicmill"),
        ("gensim", folder / "file", "file is a file\nname a folder"),
        ("mallet-diagnostics", folder / "folder", "folder is a folder\nname a file"),
        ("csv", folder / "csv", "invalid value 'csv'"),
    ):
        with pytest.raises(UsageError, match=said):
            result.export(format, path)
    assert (folder / "file").read_text() == "mine" and not list((folder / "folder").iterdir())


def test_ids_and_terms_are_escaped(folder):
    texts = ["sea <whale>", "law r&d", ""] * 20
    ids = [f"a file {number}\n" for number in range(60)]
    result = topicmill.fit(texts, 2, ids=ids, tokens__rule="whitespace", tokens__min_length=1, train__passes=5)
    path = result.export("gensim", folder / "escaped")
    corpus = MmCorpus(str(path / "corpus.mm"))
    # Every third document has no terms.
    assert [len(document) for document in corpus] == [2, 2, 0] * 20
    for written in (path, result.export("npy", folder / "escaped-npy")):
        assert (written / "documents.txt").read_text().split("\n")[59:] == ["a file 59 ", ""]
    xml = result.export("mallet-diagnostics", folder / "escaped.xml").read_text()
    assert ">&lt;whale&gt;</word>" in xml and ">r&amp;d</word>" in xml


def test_a_result_that_projects_nothing_has_a_model_to_export(texts, folder):
    result = topicmill.fit(texts, TOPICS, project__method="none", train__passes=5)
    path = result.export("npy", folder / "model")
    assert sorted(file.name for file in path.iterdir()) == ["alpha.npy", "phi.npy", "terms.txt"]
    assert len(list(MmCorpus(str(result.export("gensim", folder / "model-gensim") / "corpus.mm")))) == 400
    assert "document_entropy='NaN'" in result.export("mallet-diagnostics", folder / "model.xml").read_text()
    shutil.rmtree(result.path / "topics")
    with pytest.raises(DataError, match="run the job again"):
        topicmill.read(result.path).export("npy", folder / "damaged")


def test_labels_are_exported_with_the_topics(texts, folder):
    result = topicmill.fit(texts, labels=[["b\tc"], ["a"]] * 200, train__passes=5)
    path = result.export("npy", folder / "labels")
    labels = [label.replace("\t", " ") for label in result.labels["label"]]
    assert (path / "labels.txt").read_text().split("\n")[:-1] == labels
