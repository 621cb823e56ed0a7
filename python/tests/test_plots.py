"""Pictures: what they show, and on which axes."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from conftest import TOPICS, WORDS
from matplotlib.pyplot import close

import topicmill
from topicmill import _plots


@pytest.fixture(autouse=True)
def closed():
    yield
    close("all")


def test_trends_have_their_shares_and_intervals(result):
    panels = result.plot.trend("year")
    assert len(panels) == TOPICS
    table = result.table("topic_trends")
    rows = table.query("topic == 3")
    assert panels[0].get_ylim()[0] == 0 and panels[0].get_ylim()[1] > table["high"].max()
    (panel,) = result.plot.trend("year", topics=3)
    (line,) = panel.lines
    np.testing.assert_array_equal(line.get_xdata(), range(1990, 2000))
    np.testing.assert_array_equal(line.get_ydata(), rows["share"])
    heights = panel.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.max() == rows["high"].max() and heights.min() == rows["low"].min()
    assert panel.get_title("left").startswith("3 ") and result.top_terms(3)[0].term in panel.get_title("left")
    figure = panel.figure
    figure.draw_without_rendering()
    assert figure.axes == [panel] and panel.yaxis.get_ticklabels()[0].get_text() == "0 %"


def test_values_are_placed_to_scale_or_below_each_other():
    values, places = _plots._axis({"1999-03": 2, "1998-11": 3, "1998": 9})
    assert values == ["1998-11", "1999-03"]
    assert (places[1] - places[0]).astype(int) == 120
    values, places = _plots._axis({"1990s": 2, "1970s": 3})
    assert values == ["1970s", "1990s"] and places.tolist() == [1970, 1990]
    assert _plots._axis({"10": 2, "9.5": 3})[1].tolist() == [9.5, 10]
    assert _plots._axis({"b": 2, "a": 3, "1990": 1}) == (["a", "b", "1990"], None)


def test_names_are_drawn_with_the_most_documents_first(texts):
    kinds = ["money $" if set(text.split()) & set(WORDS[1]) else "else" for text in texts]
    result = topicmill.fit(texts, 2, metadata={"kind": kinds}, project__trends=["kind"], train__passes=5)
    panels = result.plot.trend("kind")
    assert [label.get_text() for label in panels[0].get_yticklabels()] == sorted(set(kinds), key=kinds.count)[::-1]


def test_a_column_without_trends_is_refused(result, texts):
    with pytest.raises(ValueError, match="topic_trends has no column 'yaer': did you mean column='year'"):
        result.plot.trend("yaer")
    with pytest.raises(IndexError, match="no topic 7"):
        result.plot.trend("year", [0, 7])
    with pytest.raises(ValueError, match=r"no trends: pass date= or project__trends=\[…\] to topicmill.fit"):
        topicmill.fit(texts, 2, train__passes=5).plot.trend("year")


def test_bars_are_the_largest_topics(result):
    axes = result.plot.topics(topics=3, terms=2)
    shares = result.topics.sort_values("share", ascending=False)[:3][::-1]
    np.testing.assert_array_equal([bar.get_width() for bar in axes.patches], shares["share"])
    expected = [f"{topic}  {' '.join(terms[:2])}" for topic, terms in zip(shares["topic"], shares["top_terms"])]
    assert [label.get_text() for label in axes.get_yticklabels()] == expected


def test_the_map_has_a_labelled_circle_for_each_topic(result):
    axes = result.plot.map()
    places, sizes = axes.collections[0].get_offsets(), axes.collections[0].get_sizes()
    np.testing.assert_allclose(sizes / sizes.sum(), result.topics["share"] / result.topics["share"].sum())
    assert {text.get_text().split("\n")[0] for text in axes.texts} == set("01234") and places.shape == (TOPICS, 2)


def test_places_are_as_far_apart_as_topics_are():
    phi = np.array([[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5]])
    places = _plots._places(phi)
    distances = [np.linalg.norm(places[a] - places[b]) for a, b in ((0, 1), (1, 2), (0, 2))]
    # Hellinger distances; three points have an exact place in two dimensions.
    np.testing.assert_allclose(distances, np.sqrt([0.5, 0.5, 1]), atol=1e-9)
    assert _plots._places(phi[:1]).tolist() == [[0, 0]]


def test_the_extra_is_named_where_matplotlib_is_missing(result, monkeypatch):
    monkeypatch.delitem(sys.modules, "topicmill._plots")
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(ImportError, match=r"result.plot needs more packages .*: pip install 'topicmill\[plot\]'"):
        result.plot  # noqa: B018
