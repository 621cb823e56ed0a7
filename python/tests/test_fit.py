"""Training on texts: accepted and refused arguments, and the same arrays from the same texts."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import TOPICS, planted

import topicmill
from topicmill import _job
from topicmill.errors import DataError, UsageError

PASSES = {"train.passes": 5}
BODIES = pandas.DataFrame({"body": ["a"], "year": [1990]})


def test_threads_and_memory_layout_do_not_change_the_arrays(texts):
    forms = [texts, iter(texts), tuple(texts), np.array(texts), np.array(texts, dtype=object)]
    forms += [pandas.Series(texts), polars.Series(texts), pyarrow.chunked_array([texts[:9], texts[9:]])]
    first = topicmill.fit(texts, TOPICS, threads=1, settings=PASSES)
    for form, threads in zip(forms, [2, 3, 4, 1, 2, 3, 4, 1]):
        other = topicmill.fit(form, TOPICS, threads=threads, settings=PASSES)
        np.testing.assert_array_equal(first.phi, other.phi)
        assert (first.theta != other.theta).nnz == 0
    other = topicmill.fit(texts, TOPICS, seed=2, settings=PASSES)
    assert (first.phi != other.phi).any()


def test_settings_and_keywords_mean_the_same(texts):
    first = topicmill.fit(texts, TOPICS, settings={"train.passes": 5, "vocabulary.stop_words": ["en", "de"]})
    for words in (("en", "de"), np.array(["en", "de"])):
        second = topicmill.fit(texts, TOPICS, train__passes=np.int64(5), vocabulary__stop_words=words)
        np.testing.assert_array_equal(first.phi, second.phi)
    assert 'stop_words = ["en", "de"]' in (first.path / "job.toml").read_text().replace('", \n', '", ')


def test_a_file_in_a_setting_is_relative_to_the_current_directory(texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("cat\ndog\n")
    result = topicmill.fit(texts, TOPICS, vocabulary__stop_words=["en", "words.txt"], settings=PASSES)
    assert "kitten" in result.terms
    assert not {"cat", "dog"} & set(result.terms)
    for file in ("tree.txt", Path("tree.txt")):
        assert _job.flags({"tree.file": file}) == ["--set", f'tree.file="{tmp_path / "tree.txt"}"']


def test_missing_texts_keep_their_rows():
    texts = [*planted(50), None, "", float("nan"), "of the"]
    result = topicmill.fit(texts, TOPICS, settings=PASSES)
    statuses = list(result.documents["status"])
    assert statuses == ["ok"] * 50 + ["empty"] * 3 + ["no_vocabulary"]
    assert result.theta.shape == (54, TOPICS)
    assert result.theta[50:].nnz == 0
    nullable = topicmill.fit(pandas.Series(texts, dtype="string"), TOPICS, settings=PASSES)
    assert list(nullable.documents["status"]) == statuses


def test_ids_and_metadata_are_columns_of_documents(texts):
    frame = pandas.DataFrame({"year": np.arange(400), "who": ["Ünal \"U\"\n\\"] * 400})
    names = [f"a{position}" for position in range(400)]
    documents = topicmill.fit(texts, TOPICS, ids=names, metadata=frame, settings=PASSES).documents
    assert list(documents["source_id"]) == names
    assert list(documents["year"][-2:]) == [398, 399]
    assert set(documents["who"]) == {"Ünal \"U\"\n\\"}
    labelled = topicmill.fit(texts, labels=["a", "b"] * 200, metadata=frame, settings=PASSES)
    assert list(labelled.documents["year"][-2:]) == [398, 399]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_a_table_are_named(texts, library):
    columns = {
        "body": [*texts[:59], None],
        "url": [f"u{place}" for place in range(60)],
        "published": [datetime.datetime(2001, 2 + place % 3, 5) for place in range(60)],
        "book": [f"b{place // 10}" for place in range(60)],
        "tags": [["a", "b"], ["c"]] * 30,
    }
    table = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}[library](columns)
    named = {"ids": "url", "date": "published", "group": "book", "metadata": ["tags"]}
    result = topicmill.fit(table, 2, text="body", settings=PASSES, **named)
    assert type(result.documents).__module__.startswith(library)
    documents = topicmill.read(result.path, backend="pandas").documents
    for name, column in (("source_id", "url"), ("group_id", "book")):
        assert list(documents[name]) == columns[column]
    assert [list(tags) for tags in documents["tags"][:2]] == [["a", "b"], ["c"]]
    assert documents["status"][59] == "empty"
    trends = topicmill.read(result.path, backend="pandas").table("topic_trends")
    assert set(trends["name"]) == {"published"}
    assert set(trends["value"]) == {"2001-02-05", "2001-03-05", "2001-04-05"}


def test_missing_values_and_truth_values_of_numpy_are_those_of_python(texts):
    columns = {"x": [1.5, float("nan")] * 200, "when": [2001, None] * 200, "is_new": [True, False] * 200}
    arrays = {
        "x": np.array(columns["x"], dtype=np.float32),
        "when": np.array(["2001", "NaT"] * 200, dtype="datetime64[Y]"),
        "is_new": np.array(columns["is_new"]),
    }
    of_lists, of_arrays = (topicmill.fit(texts, TOPICS, metadata=form, settings=PASSES) for form in (columns, arrays))
    for name in columns:
        assert list(of_arrays.documents[name].fillna("")) == list(of_lists.documents[name].fillna(""))
    labelled = topicmill.fit(texts, labels=arrays["x"], settings=PASSES)
    assert list(labelled.labels["label"]) == ["1.5"]


def test_files_are_read_where_they_are(tmp_path, texts, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path("in [1]")
    folder.mkdir()
    pandas.DataFrame({"body": texts}).to_csv(folder / "texts.csv")
    result = topicmill.fit(folder, TOPICS, text="body", metadata=["body"], settings=PASSES)
    assert list(result.documents["tokens_total"]) == [30] * 400
    assert list(result.documents["body"]) == texts
    assert result.transform([texts[0]]).toarray().max() > 0.5
    with pytest.raises(DataError, match="no column `boddy`; did you mean `body`"):
        topicmill.fit(folder, TOPICS, corpus__text="boddy")


def test_an_output_is_completed_once_and_replaced_on_request(texts, tmp_path):
    output = tmp_path / "out"
    first = topicmill.fit(texts, TOPICS, output=output, settings=PASSES)
    written = (output / "_SUCCESS").stat().st_mtime_ns
    topicmill.fit(iter(texts), TOPICS, output=output, settings=PASSES)
    assert (output / "_SUCCESS").stat().st_mtime_ns == written
    with pytest.raises(UsageError, match="made with different settings.*overwrite"):
        topicmill.fit(texts, 3, output=output, settings=PASSES)
    with pytest.raises(UsageError, match="made with different settings.*overwrite"):
        topicmill.fit(texts[1:], TOPICS, output=output, settings=PASSES)
    assert len(list((output / ".input").iterdir())) == 2
    assert len(first.phi) == TOPICS
    second = topicmill.fit(texts[1:], 3, output=output, overwrite=True, settings=PASSES)
    assert second.theta.shape == (399, 3)
    assert len(list((output / ".input").iterdir())) == 2


def test_a_call_that_is_refused_leaves_nothing(texts, tmp_path):
    with pytest.raises(UsageError, match="unknown key"):
        topicmill.fit(texts, TOPICS, output=tmp_path / "out", train__passses=5)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="unknown key"):
        topicmill.fit(texts, TOPICS, output=tmp_path, train__passses=5)
    assert list(tmp_path.iterdir()) == []
    own = tmp_path / "notes.txt"
    own.write_text("mine")
    with pytest.raises(DataError, match="notes.txt"):
        topicmill.fit(texts, TOPICS, output=tmp_path)
    assert list(tmp_path.iterdir()) == [own]


def test_progress_is_shown_on_request(texts, capsys):
    topicmill.fit(texts, TOPICS, settings=PASSES)
    assert capsys.readouterr() == ("", "")
    topicmill.fit(texts, TOPICS, settings=PASSES, verbose=True)
    assert "report: done" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"texts": []}, DataError, r"contains no document \(files: 1, bytes: 0\): check corpus.input"),
        ({"texts": ["one lonely document"]}, DataError, "the vocabulary is empty.*lower min_documents"),
        ({"texts": Path("nowhere")}, DataError, "no file matches `nowhere`.*correct the pattern"),
        ({"topics": 0}, UsageError, "`model.topics` is 0, but must be a whole number from 1 to 65535"),
        ({"train__passses": 5}, UsageError, "unknown key `passses` in .train.\ndid you mean `passes`"),
        ({"settings": {"train.passes": "x"}}, UsageError, "must be a whole number from 1"),
        ({"passes": 5}, TypeError, "unknown argument 'passes'.*as in train__passes=50"),
        ({"texts": "one text"}, TypeError, "texts is a single string: pass a list"),
        ({"texts": {"a": "b"}}, TypeError, "texts is a dict: pass one of its columns"),
        ({"texts": ["a", b"b"]}, TypeError, "text 1 is bytes, not str"),
        ({"ids": [1]}, ValueError, "ids has 1 values, fewer than there are texts"),
        ({"ids": range(401)}, ValueError, "ids has more values than the 400 texts"),
        # Refused before the texts are read.
        ({"texts": (1 / 0 for _ in "a"), "backend": "Pandas"}, ValueError, "backend is 'Pandas', but must be one of"),
        ({"threads": -1}, UsageError, "invalid value '-1' for 'threads'"),
        ({"model__topics": 3}, TypeError, "model.topics is an argument of its own: pass topics .of TopicMill: n_comp"),
        ({"settings": {"model.seed": 3}}, TypeError, "model.seed is an argument of its own: pass seed"),
        ({"output__path": "out"}, TypeError, "output.path is an argument of its own: pass output"),
        ({"output": "s3://bucket/out"}, ValueError, "output is s3://bucket/out, but must be a local folder"),
        ({"metadata": {"text": range(400)}}, ValueError, "cannot be named 'text'"),
        ({"metadata": ["year"]}, TypeError, "metadata is a list: with a list, pass a dict of columns, such as {'year'"),
        ({"date": "year"}, TypeError, "date is a str: with a list, pass a value for each text"),
        ({"texts": BODIES}, ValueError, "the DataFrame has no column 'text': name one with text=\nit has 'body', 'year'"),
        ({"texts": BODIES, "text": "boddy"}, ValueError, "no column 'boddy': did you mean text='body'?"),
        ({"texts": BODIES, "text": "body", "metadata": ["yaer"]}, ValueError, "did you mean metadata='year'"),
        ({"texts": BODIES, "text": "body", "date": [1]}, TypeError, "date is a list: with a DataFrame, pass the name"),
        ({"texts": BODIES, "text": "body", "metadata": {"a": [1]}}, TypeError, "with a DataFrame, pass a list of names"),
        ({"texts": Path("nowhere"), "ids": [1]}, TypeError, "ids is a list: with a path, pass the name of a column"),
    ],
)
def test_what_is_wrong_is_said_with_a_remedy(texts, no_leftovers, monkeypatch, arguments, kind, message):
    monkeypatch.chdir(no_leftovers)
    with pytest.raises(kind, match=f"(?s){message}"):
        topicmill.fit(**{"texts": texts, "topics": TOPICS, **arguments})


def test_more_topics_than_terms_are_refused(texts):
    with pytest.raises(topicmill.TopicMillError, match="60 topics are more than the 50 terms of the vocabulary"):
        topicmill.fit(texts, 60, settings=PASSES)


def test_an_error_of_the_texts_themselves_is_raised(no_leftovers):
    def broken():
        yield "a text"
        raise LookupError("the source is gone")

    with pytest.raises(LookupError, match="the source is gone"):
        topicmill.fit(broken(), TOPICS)


def test_calls_with_the_same_output_do_not_mix_their_texts(texts, tmp_path):
    """One call begins while the texts of another are being written, and completes first."""

    def slow():
        yield from texts[:200]
        topicmill.fit(planted(300, seed=2), TOPICS, output=tmp_path, settings=PASSES)
        yield from texts[200:]

    with pytest.raises(UsageError, match="made with different settings"):
        topicmill.fit(slow(), TOPICS, output=tmp_path, settings=PASSES)
    assert list(topicmill.read(tmp_path).documents["status"]) == ["ok"] * 300


SLEEPER = """
import topicmill, sys
sys.path.insert(0, {tests!r})
from conftest import planted
topicmill.fit(planted(2000), 50, output={output!r}, train__passes=4000000, train__patience=0,
              train__checkpoint_every=1)
"""


def test_an_interrupt_saves_progress_and_the_program_ends_with_python(tmp_path):
    output = tmp_path / "out"
    script = SLEEPER.format(tests=str(Path(__file__).parent), output=str(output))
    for number in (signal.SIGINT, signal.SIGKILL):
        python = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
        _wait_for(lambda: "running" in _state(output) and list(output.glob("checkpoints/*")))
        python.send_signal(number)
        assert python.wait(30) != 0
        said = python.stderr.read()
        assert ("KeyboardInterrupt" in said) == (number == signal.SIGINT)
        _wait_for(lambda: "running" not in _state(output))
    assert "rerun" in _state(output)


def test_an_exception_of_a_signal_handler_stops_the_program(tmp_path):
    def expire(*_):
        raise TimeoutError("time is up")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        with pytest.raises(TimeoutError, match="time is up"):
            topicmill.fit(planted(2000), 50, output=tmp_path / "out", train__passes=2000, train__patience=0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not (tmp_path / "out" / "_SUCCESS").exists()


def _state(output: Path) -> str:
    program = topicmill._program.path()
    shown = subprocess.run([program, "status", output], capture_output=True, text=True)
    return next((line for line in shown.stdout.splitlines() if line.startswith("state")), "")


def _wait_for(happens) -> None:
    ticks = threading.Event()
    for _ in range(600):
        if happens():
            return
        ticks.wait(0.1)
    raise TimeoutError(happens)


def test_schedulers_variables_are_not_taken_for_ours(texts, monkeypatch):
    for name, value in {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_NODELIST": "a,b"}.items():
        monkeypatch.setitem(os.environ, name, value)
    result = topicmill.fit(texts, TOPICS, settings=PASSES)
    assert len(result.phi) == TOPICS
    assert result.transform(texts[:2]).shape == (2, TOPICS)
