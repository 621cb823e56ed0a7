"""Makes table.md and figure.svg from results.csv: `python -m figures.training_report FOLDER`."""

import csv
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot

# What tells runs of a line apart, and what is measured of a model: columns of results.csv, and their names in tables.
VARIED = ("topics", "passes", "offset")
NAMES = {
    "seconds": "seconds",
    "round_ms": "ms a minibatch",
    "ms_per_10000": "ms a 10,000 documents",
    "nonzero_share": "non-zero share",
    "heldout": "completion",
    "left_to_right": "left to right",
    "umass": "UMass",
    "umass_worst": "worst tenth, UMass",
    "npmi": "NPMI",
    "npmi_worst": "worst tenth, NPMI",
    "accuracy": "accuracy",
    "baseline": "most frequent label",
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "document_f1": "F1 by document",
    "one_error": "one-error",
    "ranking_loss": "ranking loss",
    "average_precision": "average precision",
    "documents_per_second": "documents/s",
}

# A run's rounds: (visits, tokens, seconds, held-out log-likelihood per token).
Curve = list[tuple[float, float, float, float]]


def curves_of(results: list[dict]) -> dict[str, dict[tuple, Curve]]:
    """The curves, by schedule, then by seed and settings."""
    curves: dict = defaultdict(lambda: defaultdict(list))
    for row in results:
        key = tuple(row[name] for name in ("seed", "offset", "decay", "minibatch"))
        figures = (float(row[name]) for name in ("visits", "tokens", "seconds", "heldout"))
        curves[row["line"]][key].append(tuple(figures))
    return curves


def reached(curve: Curve, level: float, column: int) -> float | None:
    """Where a curve first reaches a level, between two evaluations by a straight line."""
    before = None
    for point in curve:
        if point[3] >= level:
            if before is None:
                return point[column]
            share = (level - before[3]) / (point[3] - before[3])
            return before[column] + share * (point[column] - before[column])
        before = point
    return None


def mean(values: list[float]) -> str:
    """The mean, and the standard deviation where there are several."""
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):+.4f}{spread}"


def halfway(curve: Curve) -> float:
    """The figure after half of the visits."""
    return next(point[3] for point in curve if point[0] >= curve[-1][0] / 2)


def draws(curves: dict[str, dict[tuple, Curve]]) -> str:
    """What each schedule ends with, and what it takes to where the uniform one is halfway and at its end. A seed decides
    which documents are held out, too: runs are compared seed by seed."""
    rows = [
        "| schedule | gain at the end, nats | visits to the uniform one's figure halfway, ratio | tokens, ratio | visits to its last, ratio | tokens, ratio |",
        "| --- " * 6 + "|",
    ]
    uniform = curves["uniform"]
    for schedule, runs in curves.items():
        cells = [schedule, mean([curve[-1][3] - uniform[key][-1][3] for key, curve in runs.items()])]
        for place in (halfway, lambda curve: curve[-1][3]):
            for column in (0, 1):
                ratios = []
                for key, curve in runs.items():
                    level = place(uniform[key])
                    mine, its = reached(curve, level, column), reached(uniform[key], level, column)
                    ratios.append(mine / its if mine and its else None)
                known = [ratio for ratio in ratios if ratio is not None]
                cells.append(f"{statistics.mean(known):.2f}" if len(known) == len(ratios) else
                             f"reached by {len(known)} of {len(ratios)}")
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def settings(curves: dict[str, dict[tuple, Curve]]) -> str:
    """How often residual draws end better than uniform ones, and by how much (the paper's Figure 5)."""
    gains = {key: curve[-1][3] - curves["uniform"][key][-1][3] for key, curve in curves["residual"].items()}
    won = sum(gain > 0 for gain in gains.values())
    rows = [
        f"residual is ahead in {won} of {len(gains)} runs, by {statistics.mean(gains.values()):+.4f} nats on average "
        f"(from {min(gains.values()):+.4f} to {max(gains.values()):+.4f})\n",
        "| t₀ | κ | minibatch | uniform | residual | gain |",
        "| --- " * 6 + "|",
    ]
    for key in sorted({key[1:] for key in gains}, key=lambda key: tuple(map(float, key))):
        of_seeds = [seed for seed in gains if seed[1:] == key]
        ends = [statistics.mean(curves[name][seed][-1][3] for seed in of_seeds) for name in ("uniform", "residual")]
        rows.append(f"| {' | '.join(key)} | {ends[0]:.4f} | {ends[1]:.4f} | {ends[1] - ends[0]:+.4f} |")
    return "\n".join(rows) + "\n"


def models(results: list[dict]) -> str:
    """What each line ends with: means and standard deviations over seeds."""
    facts = [name for name in ("line", *VARIED) if any(row[name] for row in results)]
    figures = [name for name in NAMES if any(row[name] for row in results)]
    groups: dict = defaultdict(list)
    for row in results:
        groups[tuple(row[name] for name in facts)].append(row)
    rows = [
        "| " + " | ".join([*facts, *(NAMES[name] for name in figures)]) + " |",
        "| --- " * (len(facts) + len(figures)) + "|",
    ]
    for key, group in groups.items():
        cells = []
        for name in figures:
            values = [float(row[name]) for row in group if row[name]]
            spread = f" ± {statistics.stdev(values):.2g}" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values):.4g}{spread}" if values else "–")
        rows.append("| " + " | ".join([*key, *cells]) + " |")
    return "\n".join(rows) + "\n"


def plot_curves(curves: dict[str, dict[tuple, Curve]], both: list) -> None:
    """Held-out figures against visits, and against seconds; the first seed of each schedule."""
    for axes, column, label in zip(both, (0, 2), ("visits per document", "seconds")):
        for schedule, runs in curves.items():
            curve = next(iter(runs.values()))
            axes.plot([point[column] for point in curve], [point[3] for point in curve], label=schedule)
        axes.set_xlabel(label)
        axes.set_ylabel("held-out log-likelihood per token")


def plot_models(results: list[dict], across: str, figures: tuple[str, str], both: list) -> None:
    """Two figures of models against what varies; each run is a point, and the means over seeds are joined."""
    for axes, figure in zip(both, figures):
        for line in dict.fromkeys(row["line"] for row in results):
            points: dict = defaultdict(list)
            for row in results:
                if row["line"] == line and row[figure]:
                    points[row[across] if across == "line" else float(row[across])].append(float(row[figure]))
            drawn = axes.plot(list(points), [statistics.mean(values) for values in points.values()], label=line)
            for place, values in points.items():
                axes.plot([place] * len(values), values, "o", color=drawn[0].get_color())
        axes.set_xlabel(across)
        axes.set_ylabel(NAMES[figure])
        if across != "line":
            axes.set_xscale("log")
    if across == "topics":
        both[0].set_yscale("log")
        both[1].set_yscale("log")


# What the figures of models are drawn against, and what is drawn.
PLOTS = {
    "accuracy": ("seconds", ("accuracy", "heldout")),
    "methods": ("line", ("left_to_right", "umass_worst")),
    "topics": ("topics", ("round_ms", "nonzero_share")),
    "offsets": ("offset", ("umass", "left_to_right")),
    "labels": ("line", ("micro_f1", "macro_f1")),
}


def main() -> None:
    folder = Path(sys.argv[1])
    with open(folder / "results.csv", encoding="utf-8") as lines:
        results = list(csv.DictReader(lines))
    figure = json.loads((folder / "plan.json").read_text(encoding="utf-8"))["figure"]
    if figure in PLOTS:
        table = models(results)
    else:
        table = settings(curves_of(results)) if figure == "settings" else draws(curves_of(results))
    (folder / "table.md").write_text(table, encoding="utf-8")
    print(table)
    if figure == "settings":
        return
    matplotlib.rcParams |= {"svg.hashsalt": "training", "svg.fonttype": "none"}
    canvas, both = matplotlib.pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    if figure in PLOTS:
        plot_models(results, *PLOTS[figure], both)
    else:
        plot_curves(curves_of(results), both)
    for axes in both:
        axes.grid(alpha=0.3)
    both[1].legend()
    canvas.savefig(folder / "figure.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
