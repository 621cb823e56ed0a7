"""Pictures of a result or a sweep, by matplotlib."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _extras, _texts

with _extras.needed("result.plot", "plot"):
    from matplotlib.axes import Axes
    from matplotlib.pyplot import subplots
    from matplotlib.ticker import MaxNLocator, NullLocator

if TYPE_CHECKING:
    from .result import Result

_COLOUR, _GREY = "#1b5e82", "#8a9299"
_PANELS, _COLUMNS = 6, 3
# At most so many values that are not on a scale.
_NAMES = 20
_DAY = re.compile(r"\d{4}-\d\d(-\d\d)?")
_DECADE = re.compile(r"\d{4}s")
_SWEEP_FIGURES = {
    "log_likelihood_per_token": "held-out log-likelihood per token",
    "coherence_npmi": "coherence (NPMI)",
    "stability": "stability",
    "found": "topics found again",
}


class Plots:
    """Pictures of a result, `Result.plot`."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def trend(self, column: str, topics: int | Iterable[int] | None = None) -> list[Axes]:
        """Draw the share of topics by the values of a column, with 95 % intervals.

        Dates, years and numbers are on an axis to scale, which leaves room for those that are missing; a band is the
        interval. Other values, those with the most documents, are below each other. Documents without a value, and
        dates less precise than most, are left out.

        Parameters
        ----------
        column : str
            A column of the table ``topic_trends``: the `date` of `topicmill.fit`, or one that ``project.trends`` names.
        topics : int or iterable of int, optional
            The topics; by default, the six whose shares vary most.

        Returns
        -------
        list of matplotlib.axes.Axes
            One for each topic, of one figure.

        Examples
        --------
        >>> import topicmill
        >>> texts = ["cat dog kitten puppy paw", "bank loan money credit rate"] * 50
        >>> result = topicmill.fit(texts, topics=2, date=[1990, 2000] * 50)
        >>> len(result.plot.trend("date"))
        2
        """
        rows = self._result._arrow("topic_trends") if "topic_trends" in self._result.tables else None
        columns = [] if rows is None else sorted(set(rows["name"].to_pylist()))
        if rows is None or not columns:
            raise ValueError("the result has no trends: pass date= or project__trends=[…] to topicmill.fit")
        _texts.check_name(column, columns, "topic_trends", "column")
        records = [row for row in rows.to_pylist() if row["name"] == column and row["value_count"] == 1]
        documents = {row["value"]: row["documents"] for row in records}
        values, places = _axis(documents)
        shares = np.zeros((len(self._result.alpha), len(values), 3))
        position = {value: number for number, value in enumerate(values)}
        for row in records:
            if row["value"] in position:
                ends = (np.nan if end is None else end for end in (row["low"], row["high"]))
                shares[row["topic"], position[row["value"]]] = (row["share"], *ends)
        if topics is None:
            weights = [documents[value] for value in values]
            means = np.average(shares[:, :, 0], axis=1, weights=weights)
            variances = np.average((shares[:, :, 0].T - means) ** 2, axis=0, weights=weights)
            topics = sorted(np.argsort(-variances, kind="stable")[:_PANELS].tolist())
        chosen = [topics] if isinstance(topics, (int, np.integer)) else list(topics)
        if not chosen:
            raise ValueError("topics is empty: pass at least one")
        for topic in chosen:
            self._result._check_topic(topic)
        return self._panels(column, chosen, values, places, shares)

    def _panels(
        self,
        column: str,
        topics: list[int],
        values: list[str],
        places: npt.NDArray[Any] | None,
        shares: npt.NDArray[Any],
    ) -> list[Axes]:
        names = self._names(terms=4)
        across = min(len(topics), _COLUMNS)
        down = -(-len(topics) // across)
        height = 2.4 if places is not None else 0.8 + 0.25 * len(values)
        figure, grid = subplots(
            down,
            across,
            figsize=(max(4.0 * across, 6), height * down),
            sharex=True,
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        panels = grid.flat
        for topic, axes in zip(topics, panels):
            share, low, high = shares[topic].T
            axes.set_title(_short(names[topic], 42), fontsize=10, loc="left")
            _clean(axes)
            if places is None:
                rows = np.arange(len(values))[::-1]
                axes.hlines(rows, low, high, color=_COLOUR, alpha=0.4, linewidth=4)
                axes.plot(share, rows, "o", color=_COLOUR, markersize=4)
                axes.set_yticks(rows, [_short(value, 30) for value in values])
                axes.xaxis.set_major_formatter(_percent)
            else:
                axes.fill_between(places, low, high, color=_COLOUR, alpha=0.2, linewidth=0)
                axes.plot(places, share, "-o", color=_COLOUR, linewidth=1.2, markersize=2.5)
                axes.yaxis.set_major_formatter(_percent)
                if places.dtype.kind != "M":
                    axes.xaxis.set_major_locator(MaxNLocator(5, integer=bool((places == np.rint(places)).all())))
                else:
                    axes.tick_params(axis="x", rotation=30)
        for axes in panels:
            axes.remove()
        for axes in figure.axes[-across:]:
            axes.tick_params(axis="x", labelbottom=True)
        # Of all panels, because they share their axes; last, because it ends the choice of limits.
        figure.axes[0].set(**{"xlim" if places is None else "ylim": (0, None)})
        (figure.supxlabel if places is not None else figure.supylabel)(column, fontsize=10)
        return list(figure.axes)

    def topics(self, topics: int = 30, terms: int = 6) -> Axes:
        """Draw the shares of topics as bars, with their top terms, largest first.

        Parameters
        ----------
        topics : int, default 30
            Number of topics.
        terms : int, default 6
            Terms per topic.

        Returns
        -------
        matplotlib.axes.Axes
        """
        names = self._names(terms)
        shares = self._result._column("topics", "share")
        shown = np.argsort(-shares, kind="stable")[:topics][::-1]
        figure, axes = subplots(figsize=(8, 0.8 + 0.26 * len(shown)), layout="constrained")
        bars = axes.barh(np.arange(len(shown)), shares[shown], color=_COLOUR, height=0.7)
        axes.bar_label(bars, [f"{share:.1%}".replace("%", " %") for share in shares[shown]], padding=3, fontsize=9)
        axes.set_yticks(np.arange(len(shown)), [names[topic] for topic in shown])
        axes.margins(x=0.1, y=0.01)
        axes.set_xlabel(f"share of all tokens, {len(shown)} of {len(shares)} topics")
        axes.xaxis.set_major_formatter(_percent)
        _clean(axes)
        return axes

    def map(self, terms: int = 2) -> Axes:
        """Draw the topics as circles, near each other if their terms are: the larger, the larger the share.

        The places are by classical multidimensional scaling of the Hellinger distances between rows of `Result.phi`.
        Topics whose labels would hide others have numbers only, or nothing if there is no room.

        Parameters
        ----------
        terms : int, default 2
            Terms per label.

        Returns
        -------
        matplotlib.axes.Axes
        """
        names = self._names(terms)
        shares = self._result._column("topics", "share")
        places = _places(self._result.phi)
        figure, axes = subplots(figsize=(8, 6.5), layout="constrained")
        # Of points²: the circles together would cover a sixth of the picture.
        sizes = 50_000 * shares / max(shares.sum(), 1e-12)
        axes.scatter(places[:, 0], places[:, 1], sizes, color=_COLOUR, alpha=0.25, edgecolors=_COLOUR)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.2)
        axes.spines[:].set_visible(False)
        figure.draw_without_rendering()
        taken: list[Any] = []
        for topic in np.argsort(-shares, kind="stable"):
            for label in (names[topic].replace("  ", "\n", 1), str(topic)):
                text = axes.annotate(label, places[topic], ha="center", va="center", fontsize=8, linespacing=1.1)
                box = text.get_window_extent()
                if not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    break
                text.remove()
        return axes

    def _names(self, terms: int) -> list[str]:
        """Return each topic's number with its label, or with its top terms."""
        rows = self._result._arrow("topics", ["topic", "top_terms"]).to_pylist()
        words = [" ".join(row["top_terms"][:terms]) for row in rows]
        if "labels" in self._result.tables:
            words = self._result._column("labels", "label").tolist()
        # A dollar sign begins a formula.
        return [f"{row['topic']}  {word}".replace("$", r"\$") for row, word in zip(rows, words)]


def sweep_panels(models: list[dict[str, Any]], recommended: int | None) -> list[Axes]:
    """Draw figures of models against the number of topics, from rows of the table ``sweep``."""
    models = [{**row, "found": row["stability"] and row["stability"] * row["topics"]} for row in models]
    figures = [name for name in _SWEEP_FIGURES if any(row[name] is not None for row in models)]
    numbers = sorted({row["topics"] for row in models})
    figure, panels = subplots(
        1, len(figures), figsize=(max(4.0 * len(figures), 6), 3), squeeze=False, layout="constrained"
    )
    settings = sorted({row["settings"] for row in models})
    for name, axes in zip(figures, panels.flat):
        for place, of_settings in enumerate(settings):
            colour = f"C{place}" if len(settings) > 1 else _COLOUR
            rows = [row for row in models if row["settings"] == of_settings and row[name] is not None]
            points = [(row["topics"], row[name]) for row in rows]
            of_numbers = [_interval([value for topics, value in points if topics == number]) for number in numbers]
            low, means, high = zip(*of_numbers)
            axes.vlines(numbers, low, high, color=colour, alpha=0.25, linewidth=5)
            axes.plot(numbers, means, color=colour, linewidth=1.2, label=of_settings)
            axes.plot([x for x, _ in points], [y for _, y in points], "o", color=colour, markersize=3)
        if recommended is not None:
            axes.axvline(recommended, color=_GREY, linestyle="--", linewidth=1, zorder=0)
        axes.set_title(_SWEEP_FIGURES[name], fontsize=10, loc="left")
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(numbers, [f"{number:,}" for number in numbers])
        _clean(axes)
    if len(settings) > 1:
        figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside upper left", fontsize=8)
    label = "number of topics" + (f" (recommended: {recommended:,})" if recommended is not None else "")
    figure.supxlabel(label, fontsize=10)
    return list(figure.axes)


def _interval(values: list[float]) -> tuple[float, float, float]:
    """Return the mean between the ends of its interval of ±2 standard errors, which one value does not have."""
    mean = float(np.mean(values)) if values else np.nan
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return mean - 2 * error, mean, mean + 2 * error


def _axis(documents: dict[str, int]) -> tuple[list[str], npt.NDArray[Any] | None]:
    """Return values in the order of an axis, and their places on it, or None for names."""
    days = [value for value in documents if _DAY.fullmatch(value)]
    if 2 * len(days) > len(documents):
        lengths = [len(value) for value in days]
        values = sorted(value for value in days if len(value) == max(set(lengths), key=lengths.count))
        return values, np.array(values, dtype="datetime64[D]")
    try:
        numbers = {value: float(value[:4] if _DECADE.fullmatch(value) else value) for value in documents}
    except ValueError:
        return sorted(documents, key=lambda value: -documents[value])[:_NAMES], None
    values = sorted(numbers, key=lambda value: numbers[value])
    return values, np.array([numbers[value] for value in values])


def _places(phi: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a point for each row, by classical scaling."""
    roots = np.sqrt(phi.astype(np.float64))
    squares = 1 - roots @ roots.T
    inner = -(squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()) / 2
    weights, vectors = np.linalg.eigh(inner)
    points = vectors[:, :-3:-1] * np.sqrt(np.maximum(weights[:-3:-1], 0))
    # The sign of an eigenvector is arbitrary.
    points *= np.sign(points[np.abs(points).argmax(axis=0), np.arange(points.shape[1])] + 1e-300)
    return np.hstack([points, np.zeros((len(phi), 2 - points.shape[1]))])


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _percent(share: float, place: object) -> str:
    return f"{100 * share:.3g} %"


def _clean(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_GREY)
    axes.tick_params(color=_GREY, labelsize=9)
