"""Figure 9: models of earlier documents infer the latest ones: `python -m figures.drift FOLDER`, with FOLDER/plan.json;
writes drift.csv and drift.svg."""

import csv
import json
import random
import shutil
import sys
from pathlib import Path

import matplotlib
import numpy
import pyarrow

from .measures import compare
from .report import MEASURES
from .runs import Trained, methods

matplotlib.use("svg")
import matplotlib.pyplot

NAMES = ("Gibbs3", "Gibbs3.S", "CVB0", "MaxEnt", "Hybrid MaxEnt", "Naive Bayes")
# Number of documents to train on, the same for each period, and to infer.
TRAINED, TESTED = 10_000, 2_000
# Allowed numbers of words. MaxEnt learns nothing if a document of 200,000 words is in the sample.
WORDS = range(10, 1001)
# Number of periods to train on, which all start at the first time.
PERIODS = 6
KNOWN = ("known_term_share", "known_token_share")


def by_time(plan: dict) -> dict[str, list[str]]:
    """Returns the texts of each time, in random order."""
    texts = {}
    with pyarrow.input_stream(plan["input"]) as file:
        for line in filter(None, file.read().decode("utf-8").split("\n")):
            record = json.loads(line)
            if len(record["text"].split()) in WORDS and record.get(plan["time"]) is not None:
                texts.setdefault(str(record[plan["time"]]), []).append(record["text"])
    for time in sorted(texts):
        random.Random(time).shuffle(texts[time])
    return texts


def periods(texts: dict[str, list[str]]) -> list[str]:
    """Returns the ends of periods, evenly spaced: the first has enough documents, the last is before the last time."""
    times = sorted(texts)[:-1]
    sizes = numpy.cumsum([len(texts[time]) for time in times])
    ends = times[int(numpy.searchsorted(sizes, 1.1 * TRAINED)):]
    if not ends:
        raise SystemExit(f"fewer than {1.1 * TRAINED:.0f} documents before the last time")
    return [ends[round(place)] for place in numpy.linspace(0, len(ends) - 1, min(PERIODS, len(ends)))]


def write(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"id": number, "text": text}) + "\n" for number, text in enumerate(texts)), encoding="utf-8")


def places(plan: dict, folder: Path, share: float, tested: int) -> list[bool]:
    """Returns whether each document of a collection is trained on, up to the last one needed. This depends only on the
    document's number, and is read from the result of a collection of as many other documents."""
    count = int(1.1 * (TRAINED + tested))
    write(folder / "probe.jsonl", [f"first{n % 7} second{n % 11} third{n % 13}" for n in range(count)])
    probe = Trained(plan | {"input": str(folder / "probe.jsonl")}, folder / "probe", 2, share)
    _, others, _ = probe.infer({"method": "naive-bayes"})
    shutil.rmtree(probe.folder)
    others = set(others.tolist()[:tested])
    return [number not in others for number in range(max(others) + 1)]


def main() -> None:
    folder = Path(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    texts = by_time(plan)
    tests = texts[max(texts)][:TESTED]
    share = TRAINED / (TRAINED + len(tests))
    is_trained = places(plan, folder, share, len(tests))
    lines = []
    for end in periods(texts):
        early = [text for time in sorted(texts) if time <= end for text in texts[time]]
        random.Random(end).shuffle(early)
        of_each = {True: iter(early), False: iter(tests)}
        write(folder / "period.jsonl", [next(of_each[trained]) for trained in is_trained])
        trained = Trained(plan | {"input": str(folder / "period.jsonl")}, folder / "period", plan["topics"], share)
        all_methods = methods(plan["passes"])
        summary, numbers, reference = trained.infer(all_methods["Gibbs2"])
        if any(is_trained[number] for number in numbers):
            raise SystemExit("the sample is not the one of the probe")
        for name in NAMES:
            _, _, proportions = trained.infer(all_methods[name])
            figures = compare(reference, proportions)
            lines.append({"trained_to": end, **{key: summary["drift"][key] for key in KNOWN}, "method": name, **figures})
        print(f"  {lines[-len(NAMES):]}", flush=True)
        shutil.rmtree(trained.folder)
    with open(folder / "drift.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, lines[0])
        table.writeheader()
        table.writerows({key: f"{cell:.4f}" if isinstance(cell, float) else cell for key, cell in line.items()} for line in lines)
    draw(lines, folder / "drift.svg")


def draw(lines: list[dict], path: Path) -> None:
    """Draws each measure against the share of known terms, a line per method."""
    matplotlib.rcParams |= {"svg.hashsalt": "inference", "svg.fonttype": "none"}
    figure, all_axes = matplotlib.pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for axes, (measure, title) in zip(all_axes, MEASURES.items()):
        for name in NAMES:
            found = [(line["known_term_share"], line[measure]) for line in lines if line["method"] == name]
            axes.plot(*zip(*found), marker=".", label=name)
        axes.set_title(f"{title}, against Gibbs2")
        axes.set_xlabel("distinct terms known")
    all_axes[0].legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
