"""Makes table.md and figures.svg from samples.csv: `python -m figures.estimators_report FOLDER`."""

import csv
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot

# φ and θ by their estimators, as in the paper's legends.
LINES = {
    ("counts", "counts"): "φ + θ",
    ("counts", "soft"): "φ + θᵖ",
    ("soft", "counts"): "φᵖ + θ",
    ("soft", "soft"): "φᵖ + θᵖ",
}

# Perplexity of each run, by (topics, chains, φ, θ), then by the number of samples.
Figures = dict[tuple[int, int, str, str], dict[int, dict[int, float]]]


def read(path: Path) -> Figures:
    """Reads the measurements."""
    figures: Figures = defaultdict(lambda: defaultdict(dict))
    with open(path, encoding="utf-8") as lines:
        for line in csv.DictReader(lines):
            key = int(line["topics"]), int(line["chains"]), line["phi"], line["theta"]
            figures[key][int(line["samples"])][int(line["seed"])] = float(line["perplexity"])
    return figures


def groups(figures: Figures) -> list[tuple[int, int]]:
    """Returns pairs of topics and chains, one per figure."""
    return sorted({key[:2] for key in figures})


def table(figures: Figures) -> str:
    """Returns means over the runs, and differences of the soft estimators from the plain ones, with standard errors."""
    rows = []
    for topics, chains in groups(figures):
        of_lines = [figures[topics, chains, *line] for line in LINES]
        runs = len(next(iter(of_lines[0].values())))
        rows.append(f"{topics} topics, chains: {chains}; means of {runs} runs\n")
        rows.append("| samples | " + " | ".join(LINES.values()) + " | φᵖ less φ (with θᵖ) | θᵖ less θ (with φ) |")
        rows.append("| --- " * (len(LINES) + 3) + "|")
        for samples in sorted(of_lines[0]):
            means = [f"{statistics.mean(line[samples].values()):.1f}" for line in of_lines]
            plain, soft_theta, _, soft = (line[samples] for line in of_lines)
            gains = [difference(soft, soft_theta), difference(soft_theta, plain)]
            rows.append(f"| {samples} | " + " | ".join(means + gains) + " |")
        rows.append("")
    return "\n".join(rows)


def difference(one: dict[int, float], other: dict[int, float]) -> str:
    """Returns the mean over the runs of `one` minus `other`, and its standard error."""
    differences = [one[run] - other[run] for run in one]
    mean = statistics.mean(differences)
    if len(differences) < 2:
        return f"{mean:+.1f}"
    return f"{mean:+.1f} ± {statistics.stdev(differences) / len(differences) ** 0.5:.1f}"


def draw(figures: Figures, path: Path) -> None:
    """Draws a plot for each number of topics and chains."""
    matplotlib.rcParams |= {"svg.hashsalt": "estimators", "svg.fonttype": "none"}
    all_groups = groups(figures)
    figure, all_axes = matplotlib.pyplot.subplots(
        1, len(all_groups), figsize=(5 * len(all_groups), 4), sharey=True, squeeze=False, layout="constrained"
    )
    for axes, (topics, chains) in zip(all_axes[0], all_groups):
        for line, name in LINES.items():
            found = sorted(figures[topics, chains, *line].items())
            means = [statistics.mean(runs.values()) for _, runs in found]
            axes.plot([samples for samples, _ in found], means, marker=".", label=name)
        counts = sorted(figures[topics, chains, "counts", "counts"])
        axes.set_xscale("log")
        axes.set_xticks(counts, labels=[str(count) for count in counts])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("samples averaged, of each chain")
        axes.set_title(f"{topics} topics, {'one chain' if chains == 1 else f'{chains} chains'}")
        axes.grid(alpha=0.3)
    all_axes[0][0].set_ylabel("perplexity of the second halves")
    all_axes[0][-1].legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    folder = Path(sys.argv[1])
    figures = read(folder / "samples.csv")
    (folder / "table.md").write_text(table(figures), encoding="utf-8")
    draw(figures, folder / "figures.svg")
    print(folder / "table.md")


if __name__ == "__main__":
    main()
