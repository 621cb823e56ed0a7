"""Inference for new texts."""

from __future__ import annotations

import itertools
import sqlite3

import numpy as np
import pytest
from conftest import TOPICS
from sklearn.cluster import KMeans

import topicmill
from topicmill import _program


def test_the_collection_gets_its_own_rows_on_any_number_of_threads(result, texts):
    for threads in (None, 1, 3):
        theta = result.transform(iter(texts), threads=threads)
        assert (theta != result.theta).nnz == 0


def test_scikit_learn_takes_the_proportions(result, texts):
    for theta in (result.theta, result.transform(texts)):
        assert KMeans(TOPICS, n_init=1).fit_predict(theta).shape == (400,)


def test_every_text_has_a_row_and_a_status(result):
    theta, statuses = result.transform(["a kitten's paw", "", None, "xyzzy", "bank"], statuses=True)
    assert statuses == ["ok", "empty", "empty", "no_vocabulary", "ok"]
    assert theta.shape == (5, TOPICS)
    np.testing.assert_array_equal(np.diff(theta.indptr) > 0, [True, False, False, False, True])
    assert result.transform([]).shape == (0, TOPICS)


def test_keys_of_project_may_be_set_and_others_may_not(result, texts):
    theta = result.transform(texts[:9], project__threshold=0)
    assert np.diff(theta.indptr).tolist() == [TOPICS] * 9
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)
    assert result.transform(texts[:9], settings={"project.top": 1}).nnz == 9
    with pytest.raises(topicmill.errors.UsageError, match="unknown key `treshold`.*\n.*`threshold`"):
        result.transform(texts, project__treshold=0)
    with pytest.raises(topicmill.TopicMillError, match="different|other"):
        result.transform(texts, model__seed=3)


def test_errors_of_the_texts_are_raised(result, texts):
    def broken():
        yield from texts
        raise LookupError("the source is gone")

    with pytest.raises(LookupError, match="the source is gone"):
        result.transform(broken())
    with pytest.raises(TypeError, match="text 1 is int, not str"):
        result.transform(["a", 3])


def test_an_endless_stream_is_answered_line_by_line_and_can_be_left(result):
    answers, taken = [], itertools.count()

    def endless():
        while len(answers) < 1000:
            next(taken)
            yield '{"text": "cat"}\n'
        raise LookupError("left")

    with pytest.raises(LookupError, match="left"):
        _program.stream(["project", result.path, "--stdin", "--quiet"], answers.append, endless())
    # The program and the pipes hold only some of the texts.
    assert next(taken) < 10_000_000


def test_texts_are_taken_on_the_callers_thread(result):
    rows = sqlite3.connect(":memory:").execute("select 'a kitten' union all select 'a bank'")
    assert result.transform(text for text, in rows).shape == (2, TOPICS)


def test_texts_may_not_end_early_without_a_word(result):
    def broken():
        yield "a kitten"
        raise BrokenPipeError("the source is gone")

    with pytest.raises(BrokenPipeError, match="the source is gone"):
        result.transform(broken())


@pytest.mark.parametrize("said", ["", '{"status": "ok", "top'])
def test_a_program_that_is_killed_is_an_error_of_its_own(result, tmp_path, monkeypatch, said):
    program = tmp_path / "topicmill"
    program.write_text(f"#!/bin/sh\nread line; printf '%s' '{said}'; kill -9 $$\n")
    program.chmod(0o755)
    monkeypatch.setenv("TOPICMILL", str(program))
    with pytest.raises(topicmill.errors.KilledError):
        result.transform(["a kitten"] * 100_000)


def test_an_answer_that_cannot_be_taken_is_an_error(result, texts):
    def refuse(line):
        raise LookupError("no room")

    with pytest.raises(LookupError, match="no room"):
        _program.stream(["project", result.path, "--stdin", "--quiet"], refuse, ['{"text": "cat"}\n'] * 1_000_000)
