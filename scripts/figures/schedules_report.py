"""Makes table.md and figure.svg from rounds.csv: `python -m figures.schedules_report FOLDER`."""

import csv
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot

# A run's rounds: (passes, tokens, seconds, held-out log-likelihood per token).
Curve = list[tuple[float, float, float, float]]


def read(path: Path) -> dict[str, dict[tuple, Curve]]:
    """The curves, by schedule, then by seed and settings."""
    curves: dict = defaultdict(lambda: defaultdict(list))
    with open(path, encoding="utf-8") as lines:
        for line in csv.DictReader(lines):
            key = tuple(line[name] for name in ("seed", "offset", "decay", "minibatch"))
            figures = (float(line[name]) for name in ("passes", "tokens", "seconds", "heldout"))
            curves[line["schedule"]][key].append(tuple(figures))
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


def plot(curves: dict[str, dict[tuple, Curve]], path: Path) -> None:
    """Held-out figures against passes, and against tokens; the first seed of each schedule."""
    matplotlib.rcParams |= {"svg.hashsalt": "schedules", "svg.fonttype": "none"}
    figure, both = matplotlib.pyplot.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for axes, column, label in zip(both, (0, 2), ("visits per document", "seconds")):
        for schedule, runs in curves.items():
            curve = next(iter(runs.values()))
            axes.plot([point[column] for point in curve], [point[3] for point in curve], label=schedule)
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    both[0].set_ylabel("held-out log-likelihood per token")
    both[1].legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    folder = Path(sys.argv[1])
    curves = read(folder / "rounds.csv")
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    is_of_settings = plan["figure"] == "settings"
    table = settings(curves) if is_of_settings else draws(curves)
    (folder / "table.md").write_text(table, encoding="utf-8")
    print(table)
    if not is_of_settings:
        plot(curves, folder / "figure.svg")


if __name__ == "__main__":
    main()
