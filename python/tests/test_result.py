"""Reading a result: tables, arrays, top terms and documents."""

from __future__ import annotations

import copy
import html
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from conftest import TOPICS, WORDS

import topicmill
from topicmill import _display, _program


def test_each_backend_has_the_same_rows(result):
    kinds = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.Table}
    for backend, kind in kinds.items():
        other = topicmill.read(result.path, backend=backend)
        assert isinstance(other.topics, kind)
        assert list(other.documents["tokens_total"].to_numpy()) == [30] * 400
        assert [len(other.table(name)) for name in other.tables] == [
            table["rows"] for table in other.manifest["tables"].values()
        ]
    assert list(result.documents["year"][:3]) == [1990, 1991, 1992]


def test_an_unknown_table_or_backend_is_refused(result):
    with pytest.raises(KeyError, match="no table 'topcis'.*: it has .*topics"):
        result.table("topcis")
    assert not hasattr(result, "labels")
    with pytest.raises(ValueError, match="must be one of pandas, polars, pyarrow"):
        topicmill.read(result.path, backend="dask")


def test_a_table_whose_files_are_gone_is_an_error(result, tmp_path):
    shutil.copytree(result.path, tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "topics")
    with pytest.raises(topicmill.errors.DataError, match="topics has no part-.*.parquet: the result is damaged"):
        topicmill.read(tmp_path / "out").topics


def test_names_are_listed_before_other_packages_are_imported():
    script = "import sys, topicmill; assert 'fit' in dir(topicmill) and not {'numpy', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_is_not_installed_is_named_by_its_extra(monkeypatch):
    for name, module, extra in (("fit", "fitting", "analysis"), ("TopicMill", "estimator", "sklearn")):
        monkeypatch.setitem(sys.modules, f"topicmill.{module}", None)
        with pytest.raises(ImportError, match=rf"topicmill.{name} needs .*: pip install 'topicmill\[{extra}\]'"):
            getattr(topicmill, name)
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        topicmill.fitt


def test_the_version_is_the_programs():
    assert _program.run("--version").split()[:2] == ["topicmill", topicmill.__version__]


def test_phi_is_the_tables_and_sums_to_one(result):
    assert result.phi.shape == (TOPICS, 50)
    np.testing.assert_allclose(result.phi.sum(axis=1), 1, rtol=1e-5)
    entries = pyarrow.parquet.read_table(result.path / "topic_terms").to_pylist()
    assert entries
    for entry in entries:
        assert result.phi[entry["topic"], entry["term_id"]] == np.float32(entry["weight"])
        assert result.terms[entry["term_id"]] == entry["term"]
    listed = {(entry["topic"], entry["term_id"]) for entry in entries}
    absent = next(pair for pair in np.ndindex(result.phi.shape) if pair not in listed)
    expected = result.topics["absent_weight"][absent[0]]
    assert result.phi[absent] == np.float32(expected)


def test_theta_and_dropped_mass_sum_to_one(result):
    assert result.theta.shape == (400, TOPICS)
    assert result.theta.has_sorted_indices
    sums = result.theta.sum(axis=1) + result.documents["dropped_mass"].to_numpy()
    np.testing.assert_allclose(sums, 1, rtol=1e-5)
    top = result.theta.argmax(axis=1).ravel()
    np.testing.assert_array_equal(top, result.documents["top_topic"].to_numpy())


def test_top_terms_are_those_planted(result):
    found = sorted(sorted(term for term, _ in result.top_terms(topic)) for topic in range(TOPICS))
    assert found == sorted(sorted(words) for words in WORDS)
    first = result.top_terms(2, n=1)[0]
    assert first.weight == result.phi[2].max()
    assert first.term == result.terms[result.phi[2].argmax()]


def test_top_documents_have_the_largest_proportions(result):
    documents = result.top_documents(3, n=5)
    weights = [document.weight for document in documents]
    column = result.theta[:, [3]].toarray().ravel()
    assert weights == sorted(column, reverse=True)[:5]
    assert all(column[document.doc_id] == document.weight for document in documents)
    assert [document.source_id for document in documents] == [str(d.doc_id) for d in documents]


def test_similar_documents_are_the_nearest_ones(result):
    own, new = result.theta[[7]], result.transform(["a kitten at the bank"])
    for near, theta, but in ((result.similar(7), own, [7]), (result.similar(text="a kitten at the bank"), new, [])):
        distances = np.sqrt(1 - np.sqrt(result.theta.astype(float)) @ np.sqrt(theta.toarray()[0].astype(float)))
        distances[but] = 1
        np.testing.assert_allclose([document.distance for document in near], np.sort(distances)[:10], atol=1e-6)
        for doc_id, source_id, distance in near:
            assert source_id == str(doc_id) and distance == pytest.approx(distances[doc_id], abs=1e-6)
    assert result.similar(source_id="7", n=3) == result.similar(7)[:3]
    assert result.similar(topic=2, n=1)[0].doc_id == result.top_documents(2, n=1)[0].doc_id
    for wrong in ({}, {"document": 7, "topic": 0}):
        with pytest.raises(TypeError, match="pass one of document, source_id, topic and text"):
            result.similar(**wrong)
    with pytest.raises(TypeError, match="pass source_id='7'"):
        result.similar("7")
    for wrong, error, said in (
        ({"source_id": "-x"}, KeyError, "no document with source_id '-x'"),
        ({"document": 400}, IndexError, "no document 400: the result has documents 0 to 399"),
        ({"topic": TOPICS}, IndexError, "no topic 5: the result has topics 0 to 4"),
        ({"text": "unicorn"}, ValueError, "none of the text's words is in the vocabulary"),
        ({"document": 7, "n": 0}, ValueError, "n is 0, but must be at least 1"),
    ):
        with pytest.raises(error, match=said):
            result.similar(**wrong)


def test_a_document_is_named_by_an_id_of_its_own_and_has_topics(texts):
    result = topicmill.fit([*texts[:50], ""], 2, ids=["twice", *map(str, range(49)), "twice"], train__passes=5)
    with pytest.raises(ValueError, match="several documents have source_id 'twice': pass document=, one of 0, 50"):
        result.similar(source_id="twice")
    with pytest.raises(ValueError, match="document 50 has no topics"):
        result.similar(50)
    assert {document.doc_id for document in result.similar(0, n=100)} <= set(range(1, 50))


@pytest.mark.parametrize("topic", [-1, TOPICS, 0.5])
def test_a_topic_that_is_not_there_is_refused(result, topic):
    with pytest.raises(IndexError, match=f"no topic {topic}: the result has topics 0 to 4"):
        result.top_terms(topic)


def test_it_shows_itself(result, capsys):
    result.show(topics=2, terms=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["topic", "share", "coherence", "top", "terms"]
    assert "… and 3 more" in lines[3]
    result.show(terms=15)
    shown = {line.split(maxsplit=4)[-1] for line in capsys.readouterr().out.splitlines()[1:]}
    assert shown == {" ".join(row[:15]) for row in result.topics["top_terms"]}
    with pytest.raises(topicmill.errors.UsageError, match="invalid value '-1' for 'topics'"):
        result.show(-1)
    assert repr(result) == "<topicmill.Result: 5 topics, 50 terms, 400 documents>"
    page = result._repr_html_()
    assert page.count("<tr>") == 1 + TOPICS
    assert "kitten" in page


def test_its_report_is_shown_inline_and_written_if_there_is_none(result, monkeypatch):
    Path(result.path, "report.html").unlink()
    report = result.report()
    assert repr(report) == str(report.path) == f"{result.path}/report.html"
    frame = re.fullmatch('<iframe srcdoc="([^"]*)" sandbox="allow-scripts [^<]*></iframe>', report._repr_html_())
    page = html.unescape(frame[1])
    assert page.replace('<base href="about:srcdoc">', "") == report.path.read_text()
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    report.open()
    assert opened == [report.path.as_uri()]


def test_an_evaluation_shows_its_tables(result):
    _program.run("evaluate", result.path / "job.toml", "--quiet")
    evaluation = topicmill.read(f"{result.path}-evaluation")
    assert not hasattr(evaluation, "phi")
    assert repr(evaluation) == "<topicmill.Result: no topics, tables document_scores, evaluation>"
    assert evaluation._repr_html_() is None
    assert "perplexity" in list(evaluation.table("evaluation")["metric"])


def test_the_topics_are_found_below_whatever_the_program_prints_before_them():
    table = " topic  share  coherence  top terms\n     0  1.0 %      0.100  cat dog\n"
    for before in ("", "topics  2 rows\n\n", "topics  2 rows\n\ntraining   -3.2 (round 1)\n\n"):
        assert _display.topics_of(before + table) == table
    assert _display.topics_of("no tables yet\n") == "no tables yet\n"


def test_html_escapes_terms():
    texts = ["a&lt;b <i>x</i>", "c&d"] * 20
    result = topicmill.fit(texts, 2, tokens__rule="whitespace", tokens__min_length=1)
    assert "<i>" not in result._repr_html_()
    assert "&lt;i&gt;x&lt;/i&gt;" in result._repr_html_()


def test_a_result_in_a_temporary_folder_can_be_copied_and_goes_with_its_object(texts, no_leftovers):
    first = topicmill.fit(texts, TOPICS, train__passes=5)
    theta = first.theta
    second, third = pickle.loads(pickle.dumps(first)), copy.deepcopy(first)
    assert len({first.path, second.path, third.path}) == 3
    del first
    assert (third.transform(texts) != theta).nnz == 0
    assert (second.theta != theta).nnz == 0


def test_a_fork_leaves_the_temporary_folder_to_its_parent(tmp_path):
    script = "import os, topicmill\nr = topicmill.fit(['cat dog', 'bank loan'] * 50, 2)\nif os.fork(): os.wait(); r.topics"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], env=environment, check=True)
    assert list(tmp_path.glob("topicmill-*")) == []


def test_a_result_in_a_folder_is_pickled_by_its_path(result):
    assert pickle.loads(pickle.dumps(result)).path == result.path


def test_a_result_is_found_from_another_current_directory(result, monkeypatch):
    monkeypatch.chdir(result.path.parent)
    relative = topicmill.read(result.path.name)
    monkeypatch.chdir("/")
    assert len(relative.topics) == TOPICS


def test_a_missing_folder_is_an_error_with_the_remedy(tmp_path):
    with pytest.raises(topicmill.errors.UsageError) as refused:
        topicmill.read(tmp_path / "nowhere")
    assert refused.value.code == 64
    assert str(refused.value).endswith(
        "nowhere: does not exist\npass the folder that the job names as `output.path`"
    )
    assert refused.value.remedy == "pass the folder that the job names as `output.path`"


def test_a_folder_without_a_finished_result_is_an_error_with_the_remedy(tmp_path):
    with pytest.raises(topicmill.errors.DataError, match="not a result") as refused:
        topicmill.read(tmp_path)
    assert refused.value.code == 65


def test_errors_can_be_pickled():
    error = topicmill.errors.from_exit(74, "warning: x\nerror: a\ncause: b\nhelp: c\n")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.remedy) == (topicmill.errors.StorageError, "a\ncause: b", "c")
    assert topicmill.errors.from_exit(-9, "").code == 137
    assert isinstance(topicmill.errors.from_exit(-9, ""), topicmill.errors.KilledError)


def test_the_program_is_looked_for_and_its_absence_has_a_remedy(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("TOPICMILL", raising=False)
    monkeypatch.setattr("sysconfig.get_path", lambda *_: "/nowhere")
    with pytest.raises(topicmill.errors.ProgramNotFoundError, match="pip install"):
        topicmill.fit(["a"])
    monkeypatch.setenv("TOPICMILL", "/nowhere/topicmill")
    with pytest.raises(topicmill.errors.ProgramNotFoundError, match="TOPICMILL is /nowhere/topicmill: no such program"):
        topicmill.fit(["a"])


def test_the_saved_job_names_the_texts(result):
    folder = result.path / ".input"
    names = sorted(path.name for path in folder.iterdir())
    assert [Path(name).suffix for name in names] == [".jsonl", ".toml"]
    first = json.loads((folder / names[0]).open().readline())
    assert first.keys() == {"id", "text", "year"}


def test_errors_name_arguments_instead_of_flags():
    said = "error: invalid value '0' for '--terms <N>': 0 is not in 1..=9\n\nFor more information, try '--help'.\n"
    assert topicmill.errors.from_exit(64, said).message == "invalid value '0' for 'terms': 0 is not in 1..=9"
    said = "error: x exists; replace it with --overwrite\nhelp: run that one: topicmill run x.toml --overwrite\n"
    error = topicmill.errors.from_exit(64, said)
    assert error.message == "x exists; replace it with overwrite=True"
    assert error.remedy == "run that one: topicmill run x.toml --overwrite"
