"""The command line of scripts/estimator_figures: measures, then makes the report."""

import argparse
import csv
import os
import shutil
import statistics
import subprocess
from pathlib import Path

from bench_peers import environment, processes
from bench_peers.refused import Failed, Refused, guarded

EXAMPLE = ["cargo", "run", "--release", "--locked", "--quiet", "--example", "estimator_figures", "--"]
# For --states.
TOPICS, SEEDS = 100, (1, 2, 3)


def arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/estimator_figures",
        description="Perplexity against the number of samples, for plain and soft estimators, one chain and several.",
        epilog="docs/measurements/PAPERS.md says what is measured. Exit codes: 0 done, 1 failed, 2 wrong input or command line.",
    )
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=Path, help="a UCI bag of words: docword*.txt and vocab*.txt")
    add("keys", metavar="KEY=VALUE", nargs="*", help="topics, samples, chains, passes, burn_in, lag, seed")
    add("--states", action="store_true", help="Table 4 instead: on states of this program and of others, K = 100, seeds 1 to 3")
    add("--csv", type=Path, metavar="FILE", help="take these measurements instead of making them")
    add("--out", type=Path, default=environment.TARGET / "estimators", metavar="DIR",
        help="where samples.csv, table.md and figures.svg go (default: target/estimators)")
    add("--python", type=Path, metavar="PATH", help="use this Python and its packages")
    return parser.parse_args()


def measure(source: Path, keys: list[str], path: Path) -> None:
    """Runs the example on a folder or a state, and writes its output to a file."""
    unfinished = path.with_name("unfinished-samples.csv")
    try:
        with open(unfinished, "wb") as lines:
            command = [*EXAMPLE, str(source.resolve()), *keys]
            if subprocess.run(command, cwd=environment.PROJECT, stdin=subprocess.DEVNULL, stdout=lines).returncode:
                raise Failed("the measurements could not be made: see above")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def table_of_states(folder: Path, out: Path, python: Path) -> None:
    """Writes Table 4: the log-likelihood of the training documents under each sampler's state, as means of the seeds."""
    found: dict[tuple[str, str], list[float]] = {}
    for seed in SEEDS:
        problem = processes.run([python, "-m", "figures.states", folder, out, str(seed), str(TOPICS)])
        if problem:
            raise Failed(f"the states could not be sampled: {problem}")
        states = {path.stem.rpartition("-")[0]: path for path in sorted(out.glob(f"*-{seed}.gz"))}
        for name, source in {"topicmill": folder, **states}.items():
            path = out / f"{name}-{seed}.csv"
            measure(source, ["table=4", f"topics={TOPICS}", f"seed={seed}"], path)
            with open(path, encoding="utf-8") as lines:
                for line in csv.DictReader(lines):
                    millions = float(line["log_likelihood"]) / 1e6
                    found.setdefault((name, f"{line['phi']}, {line['theta']}"), []).append(millions)
    columns = list(dict.fromkeys(column for _, column in found))
    rows = ["| millions of nats: φ, θ | " + " | ".join(columns) + " |", "| --- " * (len(columns) + 1) + "|"]
    for name in dict.fromkeys(name for name, _ in found):
        rows.append(f"| {name} | " + " | ".join(f"{statistics.mean(found[name, column]):.4f}" for column in columns) + " |")
    (out / "table.md").write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(out / "table.md")


def work() -> int:
    """Executes the command line; returns the exit code."""
    asked = arguments()
    if not asked.folder.is_dir():
        raise Refused(f"{asked.folder}: there is no such folder; name one with docword*.txt and vocab*.txt")
    python = asked.python or environment.python()
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.states:
        table_of_states(asked.folder, asked.out, python)
        return 0
    path = asked.out / "samples.csv"
    if asked.csv:
        shutil.copyfile(asked.csv, path)
    else:
        measure(asked.folder, asked.keys, path)
    problem = processes.run([python, "-m", "figures.estimators_report", asked.out])
    if problem:
        raise Failed(f"the report could not be made: {problem}")
    return 0


def main() -> int:
    return guarded(work)
