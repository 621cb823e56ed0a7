"""Sweeps: their tables, pictures and results."""

from __future__ import annotations

import os

import numpy as np
import pandas
import pytest
from conftest import planted
from matplotlib.pyplot import close
from scipy.optimize import linear_sum_assignment

import topicmill
from topicmill.errors import UsageError

NUMBERS, SEEDS = [2, 5], 2
FRAME = pandas.DataFrame({"body": planted(60), "year": [1990 + place % 2 for place in range(60)]})
FEW = {"text": "body", "date": "year", "train__passes": 5}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    output = tmp_path_factory.mktemp("sweep") / "out"
    return topicmill.sweep(FRAME, NUMBERS, SEEDS, output=output, **FEW)


def test_it_has_a_model_for_each_number_and_seed(sweep):
    made = [(topics, seed) for topics in NUMBERS for seed in (1, 2)]
    assert list(zip(sweep.models["topics"], sweep.models["seed"])) == made
    assert list(sweep.sizes["topics"]) == NUMBERS and list(sweep.sizes["models"]) == [SEEDS] * 2
    assert len(sweep.topics) == SEEDS * sum(NUMBERS)
    assert len(sweep.matches) == len(sweep.topics) * (len(made) - 1)
    assert [sweep.recommended] == (list(sweep.sizes["topics"][sweep.sizes["recommended"]]) or [None])
    recommended = sweep.recommended or "none"
    assert repr(sweep) == f"<topicmill.Sweep: 4 models of 2, 5 topics, {recommended} recommended>"
    page = sweep._repr_html_()
    assert sweep.advice and sweep.advice in page and page.count("<tr>") == 3


def test_the_same_call_trains_nothing(sweep):
    written = (sweep.path / "_SUCCESS").stat().st_mtime_ns
    again = topicmill.sweep(FRAME, iter(NUMBERS), SEEDS, output=sweep.path, threads=1, parallel=2, **FEW)
    assert (again.path / "_SUCCESS").stat().st_mtime_ns == written
    with pytest.raises(UsageError, match="another collection\nchoose another output, or replace it: overwrite=True"):
        topicmill.sweep(FRAME[1:], NUMBERS, SEEDS, output=sweep.path, **FEW)


def test_the_model_that_is_taken_has_the_topics_of_the_sweep(sweep, no_leftovers):
    result = sweep.take(5, seed=2)
    rows = sweep.topics.query("topics == 5 and seed == 2")
    assert [list(terms) for terms in result.topics["top_terms"]] == [list(terms) for terms in rows["top_terms"]]
    assert list(result.documents["year"]) == list(FRAME["year"]) and "topic_trends" in result.tables
    output = no_leftovers / "two"
    assert len(sweep.take(2, output=output, threads=1).alpha) == 2
    with pytest.raises(UsageError, match="has no model 3\nits models are 2/1, 2/2, 5/1, 5/2"):
        sweep.take(3)
    del result


def test_topics_are_matched_as_scipy_matches_them(sweep):
    phi = {name: topicmill.read(sweep.path / f"models/{name}").phi.astype(float) for name in ("2-1", "5-1", "5-2")}

    def distances(one, other):
        roots = np.sqrt(phi[one])[:, None] - np.sqrt(phi[other])[None]
        return np.sqrt((roots**2).sum(axis=2) / 2)

    def rows(seed, topics, other):
        found = sweep.matches.query("topics == 5 and seed == @seed and other_topics == @topics and other_seed == @other")
        return found.sort_values("topic")

    table, between = distances("5-1", "5-2"), rows(1, 5, 2)
    partners = linear_sum_assignment(np.minimum(table, 0.5))[1]
    apart = table[np.arange(5), partners]
    expected = [partner if distance <= 0.5 else None for partner, distance in zip(partners, apart)]
    assert [None if np.isnan(partner) else partner for partner in between["partner"].astype(float)] == expected
    np.testing.assert_allclose(between["distance"], table.min(axis=1), atol=1e-6)
    np.testing.assert_allclose(rows(1, 2, 1)["distance"], distances("5-1", "2-1").min(axis=1), atol=1e-6)
    live = {
        seed: (~topics["dead"] & ~topics["junk"] & topics["duplicate_of"].isna()).to_numpy()
        for seed in (1, 2)
        for topics in [topicmill.read(sweep.path / f"models/5-{seed}").topics]
    }
    stable = (apart <= 0.5) & live[1] & live[2][partners]
    assert list(sweep.topics.query("topics == 5 and seed == 1")["stability"]) == list(stable.astype(float))


def test_a_temporary_sweep_is_removed_and_its_results_remain(no_leftovers):
    sweep = topicmill.sweep(list(FRAME["body"]), [2], seeds=2, train__passes=1)
    result, path = sweep.take(2), sweep.path
    del sweep
    assert not path.exists()
    assert result.transform(["cat dog"]).shape == (1, 2)
    del result


def test_pictures_have_a_dot_for_each_model_and_a_line_of_means(sweep):
    panels = sweep.plot()
    models = sweep.models.assign(found=sweep.models["stability"] * sweep.models["topics"])
    sizes = sweep.sizes.assign(found=sweep.sizes["stable_topics"])
    for axes, name in zip(panels, ["log_likelihood_per_token", "coherence_npmi", "stability", "found"], strict=True):
        means, dots = axes.lines[:2]
        np.testing.assert_array_equal(dots.get_xydata(), models[["topics", name]])
        np.testing.assert_allclose(means.get_xydata(), sizes[["topics", name]])
        assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "5"]
        assert [line.get_xdata()[0] for line in axes.lines[2:]] == ([sweep.recommended] if sweep.recommended else [])
    ends = panels[0].collections[0].get_segments()
    errors = [(high - low) / 4 for (_, low), (_, high) in ends]
    np.testing.assert_allclose(errors, sweep.sizes["seed_error"])
    close("all")


def test_settings_are_compared():
    sweep = topicmill.sweep(planted(60), [5], 2, model__alpha_sum=[1, 4.5], train__passes=5)
    settings = ["model.alpha_sum=1.0", "model.alpha_sum=4.5"]
    assert list(sweep.sizes["settings"]) == settings and sweep.recommended == 5
    assert sweep.advice.startswith("With model.alpha_sum=") and settings[1] in sweep._repr_html_()
    assert [line.get_label() for line in sweep.plot()[0].lines[:3:2]] == settings
    close("all")
    taken = sweep.take(5, settings={"model.alpha_sum": 4.5})
    assert "alpha_sum = 4.5" in (taken.path / "job.toml").read_text()


def test_each_folder_has_its_function(sweep, result):
    again = topicmill.read_sweep(os.fspath(sweep.path), backend="polars")
    assert again.sizes["topics"].to_list() == NUMBERS and "polars" in str(type(again.models))
    assert again.report().path == sweep.path / "sweep.html"
    with pytest.raises(UsageError, match="is a sweep\nopen it with topicmill.read_sweep"):
        topicmill.read(sweep.path)
    with pytest.raises(UsageError, match="is not a sweep\nopen it with topicmill.read$"):
        topicmill.read_sweep(result.path)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"topics": [5], "seeds": 1}, UsageError, "compares nothing\nname several: topics 20,50,100 seeds 3"),
        ({"topics": []}, UsageError, "invalid value '' for 'topics <K,…>'"),
        ({"topics": [0, 5]}, UsageError, "0 is not in 1..=65535"),
        ({"train__passses": 5}, UsageError, "unknown key `passses`"),
        ({"model__topics": 5}, TypeError, "model.topics is an argument of its own"),
        ({"labels": ["a"]}, TypeError, "unknown argument 'labels'"),
    ],
)
def test_what_is_wrong_is_said(no_leftovers, arguments, kind, message):
    with pytest.raises(kind, match=message):
        topicmill.sweep(**{"texts": FRAME, **FEW, **arguments})
