"""Table 1 and Figure 5: one document's topics by each method: `python -m figures.document FOLDER`, with FOLDER/plan.json; writes
document.csv and document.svg."""

import csv
import json
import sys
from pathlib import Path

import matplotlib
import numpy

from .runs import Trained, methods

matplotlib.use("svg")
import matplotlib.pyplot

NAMES = ("Gibbs1", "Gibbs2", "Gibbs3", "Gibbs2.S", "Gibbs3.S", "Variational", "CVB0", "MaxEnt", "Hybrid MaxEnt", "Naive Bayes")
# Number of topics listed for each method, and of their terms.
LISTED, TERMS = 5, 6
# The document is the first in which Gibbs1 gives more than SHARE to each of TOPICS topics.
SHARE, TOPICS = 0.12, 4


def chosen(proportions: numpy.ndarray) -> int:
    """Returns the index of the document to show."""
    return int(numpy.flatnonzero((proportions > SHARE).sum(axis=1) >= TOPICS)[0])


def draw(found: dict[str, numpy.ndarray], path: Path) -> None:
    """Draws Figure 5: every topic's proportion, a panel per method."""
    matplotlib.rcParams |= {"svg.hashsalt": "inference", "svg.fonttype": "none"}
    figure, all_axes = matplotlib.pyplot.subplots(2, 5, figsize=(15, 5), sharex=True, sharey=True, layout="constrained")
    for axes, (name, proportions) in zip(all_axes.flat, found.items()):
        axes.step(range(len(proportions)), proportions, where="mid", linewidth=1)
        axes.set_title(name)
    figure.supxlabel("topic")
    figure.supylabel("proportion")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    folder = Path(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    trained = Trained(plan, folder / "main", plan["topics"], plan["trained"])
    found, place = {}, None
    for name in NAMES:
        _, numbers, proportions = trained.infer(methods(plan["passes"])[name])
        place = chosen(proportions) if place is None else place
        found[name] = proportions[place]
    print(f"document {numbers[place]}", flush=True)
    with open(folder / "document.csv", "w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(("method", "rank", "topic", "proportion", "terms"))
        for name, proportions in found.items():
            for rank, topic in enumerate(numpy.argsort(-proportions, kind="stable")[:LISTED], 1):
                terms = " ".join(trained.top_terms[topic][:TERMS])
                table.writerow((name, rank, topic, f"{proportions[topic]:.4f}", terms))
    draw(found, folder / "document.svg")


if __name__ == "__main__":
    main()
