"""Makes table.md and figures.svg from results.json: `python -m figures.report FOLDER`."""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot

MEASURES = {"cosine": "cosine", "f1": "F1", "kl": "KL, nats"}


def cell(line: dict, reference: str, measure: str) -> str:
    """Returns a figure, or a dash for a method compared with itself."""
    return f"{line[reference][measure]:.3f}" if reference in line else "–"


def table(results: dict) -> str:
    """Returns all results as Markdown."""
    rows = ["| method | seconds | " + " | ".join(f"{name}, Gibbs{n}" for n in (1, 2) for name in MEASURES.values()) + " |"]
    rows.append("| --- " * 8 + "|")
    for line in results["methods"]:
        cells = [cell(line, f"Gibbs{n}", measure) for n in (1, 2) for measure in MEASURES]
        rows.append(f"| {line['method']} | {line['seconds']:.2f} | " + " | ".join(cells) + " |")
    rows += ["", "F1 against Gibbs2 by the number of topics:", ""]
    topics = sorted({line["topics"] for line in results["by_topics"]})
    names = [line["method"] for line in results["methods"] if line["method"] not in ("Gibbs1", "Gibbs2", "Gibbs3")]
    rows.append("| method | " + " | ".join(str(count) for count in topics) + " |")
    rows.append("| --- " * (len(topics) + 1) + "|")
    for name in names:
        found = {line["topics"]: cell(line, "Gibbs2", "f1") for line in results["by_topics"] if line["method"] == name}
        rows.append(f"| {name} | " + " | ".join(found.get(count, "–") for count in topics) + " |")
    rows += ["", "Against Gibbs2 by the share of the documents trained on:", ""]
    rows += ["| trained on | method | cosine | F1 | KL, nats |", "| --- | --- | --- | --- | --- |"]
    for line in results["by_share"]:
        figures = " | ".join(f"{line[measure]:.3f}" for measure in MEASURES)
        rows.append(f"| {line['share']:.0%} | {line['method']} | {figures} |")
    return "\n".join(rows) + "\n"


def bars(axes, results: dict, reference: str, measure: str, title: str) -> None:
    """Draws Figures 3 and 4: a bar per method."""
    lines = [line for line in results["methods"] if reference in line]
    axes.barh([line["method"] for line in lines], [line[reference][measure] for line in lines])
    axes.invert_yaxis()
    axes.set_title(title)


def draw(results: dict, path: Path) -> None:
    """Draws Figures 3, 4, 6, 7 and 8 on one page."""
    matplotlib.rcParams |= {"svg.hashsalt": "inference", "svg.fonttype": "none"}
    figure, all_axes = matplotlib.pyplot.subplots(3, 3, figsize=(16, 14), layout="constrained")
    for row, (reference, number) in enumerate((("Gibbs1", 3), ("Gibbs2", 4))):
        for axes, (measure, name) in zip(all_axes[row], MEASURES.items()):
            bars(axes, results, reference, measure, f"Figure {number}: {name}, against {reference}")
    time, topics, share = all_axes[2]
    lines = [line for line in results["methods"] if "Gibbs2" in line]
    for line in lines:
        time.scatter(line["seconds"], line["Gibbs2"]["f1"])
        time.annotate(line["method"], (line["seconds"], line["Gibbs2"]["f1"]), fontsize=7)
    time.set_xscale("log")
    time.set_xlabel("seconds of projection")
    time.set_ylabel("F1 against Gibbs2")
    time.set_title("Figure 6")
    for name in dict.fromkeys(line["method"] for line in results["by_topics"]):
        found = [line for line in results["by_topics"] if line["method"] == name and "Gibbs2" in line]
        found = sorted((line["topics"], line["Gibbs2"]["f1"]) for line in found)
        if len(found) > 1:
            topics.plot(*zip(*found), marker=".", label=name)
    topics.set_xlabel("topics")
    topics.set_ylabel("F1 against Gibbs2")
    topics.set_title("Figure 7")
    if topics.lines:
        topics.legend(fontsize=7)
    topics.set_visible(bool(topics.lines))
    for name in dict.fromkeys(line["method"] for line in results["by_share"]):
        found = sorted((line["share"], line["f1"], line["cosine"]) for line in results["by_share"] if line["method"] == name)
        share.plot([f[0] for f in found], [f[1] for f in found], marker=".", label=f"{name}, F1")
        share.plot([f[0] for f in found], [f[2] for f in found], marker=".", linestyle="--", label=f"{name}, cosine")
    share.set_xlabel("share of the documents trained on")
    share.set_title("Figure 8: against Gibbs2")
    if share.lines:
        share.legend(fontsize=7)
    share.set_visible(bool(share.lines))
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    folder = Path(sys.argv[1])
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (folder / "table.md").write_text(table(results), encoding="utf-8")
    draw(results, folder / "figures.svg")
    print(folder / "table.md")


if __name__ == "__main__":
    main()
