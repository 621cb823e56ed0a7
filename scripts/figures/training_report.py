"""Makes table.md and figure.svg from results.csv: `python -m figures.training_report FOLDER`."""

import csv
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot

# Columns of results.csv that distinguish runs of a line, and measurements of a model with their names in tables.
VARIED = ("part", "topics", "passes", "offset")
NAMES = {
    "seconds": "seconds",
    "cpu_seconds": "CPU seconds",
    "cpu_ms_per_100": "CPU ms per 100 documents",
    "cpu_ms_per_10000": "CPU ms per 10,000 documents",
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

# A run's rounds: (visits, tokens, CPU seconds, held-out log-likelihood per token).
Curve = list[tuple[float, float, float, float]]


def curves_of(results: list[dict]) -> dict[str, dict[tuple, Curve]]:
    """Returns the curves by schedule, then by seed and settings."""
    curves: dict = defaultdict(lambda: defaultdict(list))
    for row in results:
        key = tuple(row[name] for name in ("seed", "offset", "decay", "minibatch"))
        figures = (float(row[name]) for name in ("visits", "tokens", "cpu_seconds", "heldout"))
        curves[row["line"]][key].append(tuple(figures))
    return curves


def reached(curve: Curve, level: float, column: int) -> float | None:
    """Returns where a curve first reaches a level, interpolated linearly between evaluations."""
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
    """Returns the mean, and the standard deviation of several values."""
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):+.4f}{spread}"


def halfway(curve: Curve) -> float:
    """Returns the figure after half of the visits."""
    return next(point[3] for point in curve if point[0] >= curve[-1][0] / 2)


def draws(curves: dict[str, dict[tuple, Curve]]) -> str:
    """Returns each schedule's final figure, and the visits and tokens that it takes to reach the uniform schedule's
    figures halfway and at the end. A seed also determines the held-out documents: runs are compared seed by seed."""
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
    """Returns how often residual draws end better than uniform ones, and by how much (the paper's Figure 5)."""
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
    """Returns the final figures of each line: means and standard deviations over seeds."""
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


# The horizontal axes of curves: the column of a point, its unit, and the label.
VISITS, TOKENS, SECONDS = (0, 1.0, "visits per document"), (1, 1e6, "million tokens"), (2, 1.0, "CPU seconds")


def plot_curves(curves: dict[str, dict[tuple, Curve]], panels: list, across: tuple) -> None:
    """Draws held-out figures against visits, tokens or CPU time; all seeds of a schedule have one colour."""
    for axes, (column, unit, label) in zip(panels, across):
        for number, (schedule, runs) in enumerate(curves.items()):
            for place, curve in enumerate(runs.values()):
                axes.plot([point[column] / unit for point in curve], [point[3] for point in curve], color=f"C{number}",
                          linewidth=1.2, label=schedule if place == 0 else None)
        axes.set_xlabel(label)
        axes.locator_params(nbins=5)


def plot_sizes(parts: dict[str, list[dict]], panels) -> None:
    """Draws the same for each part of the corpus: against visits, and below that against CPU time."""
    for place, (part, rows) in enumerate(parts.items()):
        plot_curves(curves_of(rows), panels[:, place], (VISITS, SECONDS))
        panels[0][place].set_title(f"{100 * float(part):g} % of the documents", fontsize=10)


def by_part(results: list[dict]) -> dict[str, list[dict]]:
    """Returns the rows for each part of the corpus."""
    parts: dict = defaultdict(list)
    for row in results:
        parts[row["part"]].append(row)
    return parts


def plot_settings(curves: dict[str, dict[tuple, Curve]], panels: list) -> None:
    """Draws a square where residual draws end better and a circle where uniform ones do, sized by the difference
    (the mean over seeds), in a panel per minibatch."""
    gains: dict = defaultdict(list)
    for key, curve in curves["residual"].items():
        gains[tuple(map(float, key[1:]))].append(curve[-1][3] - curves["uniform"][key][-1][3])
    offsets, decays, sizes = (sorted({key[place] for key in gains}) for place in range(3))
    largest = max(abs(statistics.mean(values)) for values in gains.values())
    for axes, size in zip(panels, sizes):
        own = {key[:2]: statistics.mean(values) for key, values in gains.items() if key[2] == size}
        for sign, marker, color in ((1, "s", "C3"), (-1, "o", "C2")):
            shown = [key for key, gain in own.items() if sign * gain > 0]
            axes.scatter([offsets.index(offset) for offset, _ in shown], [decays.index(decay) for _, decay in shown],
                         s=[400 * abs(own[key]) / largest for key in shown], marker=marker, color=color, zorder=3)
        axes.set_xticks(range(len(offsets)), [f"{offset:g}" for offset in offsets])
        axes.set_yticks(range(len(decays)), [f"{decay:g}" for decay in decays])
        axes.set_xlim(-0.6, len(offsets) - 0.4)
        axes.set_ylim(-0.6, len(decays) - 0.4)
        axes.set_xlabel("t₀")
        axes.set_title(f"minibatch {size:g}", fontsize=10)
        axes.label_outer()
    panels[0].set_ylabel("κ")
    panels[0].figure.supxlabel(f"■ residual ahead   ● uniform ahead; the largest: {largest:.3f} nats per token", fontsize=9)


def plot_models(results: list[dict], across: str, figures: tuple[str, str], panels: list) -> None:
    """Draws two figures of models against the varied setting, with a point per run; lines join the means over seeds."""
    for axes, figure in zip(panels, figures):
        for line in dict.fromkeys(row["line"] for row in results):
            points: dict = defaultdict(list)
            for row in results:
                if row["line"] == line and row[figure]:
                    points[row[across] if across == "line" else float(row[across])].append(float(row[figure]))
            drawn = axes.plot(list(points), [statistics.mean(values) for values in points.values()], label=line)
            for place, values in points.items():
                axes.plot([place] * len(values), values, "o", color=drawn[0].get_color(), markersize=4)
        axes.set_xlabel(ACROSS.get(across, ""))
        axes.set_ylabel(NAMES[figure])
        if across != "line":
            axes.set_xscale("log")
        if across == "topics":
            ticks = sorted({int(row["topics"]) for row in results})
            axes.set_yscale("log")
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
            axes.minorticks_off()


# Titles of figures, and labels of axes.
TITLES = {
    "draws": "Held-out likelihood by schedule",
    "passes": "Held-out likelihood by schedule",
    "sizes": "Held-out likelihood by schedule and size of the corpus",
    "accuracy": "Classification by schedule",
    "settings": "Residual against uniform schedules",
    "methods": "Likelihood and coherence by method",
    "topics": "Time and sparsity by the number of topics",
    "labels": "Prediction of labels",
    "offsets": "Coherence and likelihood by t₀",
}
ACROSS = {"cpu_seconds": "CPU seconds", "topics": "topics, K", "offset": "t₀"}

# For figures of models: the horizontal axis, and the two figures drawn.
PLOTS = {
    "accuracy": ("cpu_seconds", ("accuracy", "heldout")),
    "methods": ("line", ("left_to_right", "umass_worst")),
    "topics": ("topics", ("cpu_ms_per_100", "nonzero_share")),
    "offsets": ("offset", ("umass", "left_to_right")),
    "labels": ("line", ("micro_f1", "macro_f1")),
}


def main() -> None:
    folder = Path(sys.argv[1])
    with open(folder / "results.csv", encoding="utf-8") as lines:
        results = list(csv.DictReader(lines))
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    figure = plan["figure"]
    matplotlib.rcParams |= {"svg.hashsalt": "training", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}
    if figure in PLOTS:
        table = models(results)
        canvas, panels = canvas_of(1, 2)
        plot_models(results, *PLOTS[figure], panels[0])
    elif figure == "settings":
        table = settings(curves_of(results))
        canvas, panels = canvas_of(1, 4)
        plot_settings(curves_of(results), panels[0])
    elif figure == "sizes":
        parts = by_part(results)
        table = "\n".join(f"{100 * float(part):g} % of the documents:\n\n{draws(curves_of(rows))}" for part, rows in parts.items())
        canvas, panels = canvas_of(2, len(parts))
        plot_sizes(parts, panels)
    else:
        table = draws(curves_of(results))
        canvas, panels = canvas_of(1, 3)
        plot_curves(curves_of(results), panels[0], (VISITS, TOKENS, SECONDS))
    (folder / "table.md").write_text(table, encoding="utf-8")
    print(table)
    for axes in panels.flat:
        axes.grid(alpha=0.3)
    if figure != "settings":
        panels.flat[-1].legend(fontsize=8)
    if figure in ("draws", "passes", "sizes"):
        for axes in panels[:, 0]:
            axes.set_ylabel("held-out nats per token")
    canvas.suptitle(title(plan), fontsize=11)
    canvas.savefig(folder / "figure.svg", metadata={"Date": None})
    # A tenth of a point is exact enough, and makes the file much smaller.
    drawn = (folder / "figure.svg").read_text(encoding="utf-8")
    shorter = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), drawn)
    (folder / "figure.svg").write_text(shorter, encoding="utf-8")


def canvas_of(height: int, width: int) -> tuple:
    """Returns a canvas and its panels."""
    return matplotlib.pyplot.subplots(height, width, figsize=(11, 0.4 + 3 * height), layout="constrained", squeeze=False)


def title(plan: dict) -> str:
    """Returns the title, with the job and the number of seeds."""
    method = f", {plan['method']}" if plan["figure"] in ("passes", "sizes", "accuracy", "settings") else ""
    seeds = len({run["seed"] for run in plan["runs"]})
    return f"{TITLES[plan['figure']]}{method}: {Path(plan['job']).stem}, {seeds} seed{'s' if seeds > 1 else ''}"


if __name__ == "__main__":
    main()
