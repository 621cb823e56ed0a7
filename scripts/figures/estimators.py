"""The command line of scripts/estimator_figures: measures, then has the report made."""

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from bench_peers import environment, processes
from bench_peers.refused import Failed, Refused, guarded

EXAMPLE = ["cargo", "run", "--release", "--locked", "--quiet", "--example", "estimator_figures", "--"]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/estimator_figures",
        description="Perplexity against the number of samples, for plain and soft estimators, one chain and several.",
        epilog="docs/EXPERIMENTS.md says what is measured. Exit codes: 0 done, 1 failed, 2 wrong input or command line.",
    )
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=Path, help="a UCI bag of words: docword*.txt and vocab*.txt")
    add("keys", metavar="KEY=VALUE", nargs="*", help="topics, samples, chains, passes, burn_in, lag, seed")
    add("--csv", type=Path, metavar="FILE", help="take these measurements instead of making them")
    add("--out", type=Path, default=environment.TARGET / "estimators", metavar="DIR",
        help="where samples.csv, table.md and figures.svg go (default: target/estimators)")
    add("--python", type=Path, metavar="PATH", help="this Python, with the packages there, instead of making one")
    return parser.parse_args()


def measure(folder: Path, keys: list[str], path: Path) -> None:
    """Runs the example; its lines into a file."""
    unfinished = path.with_name("unfinished-samples.csv")
    try:
        with open(unfinished, "wb") as lines:
            command = [*EXAMPLE, str(folder.resolve()), *keys]
            if subprocess.run(command, cwd=environment.PROJECT, stdin=subprocess.DEVNULL, stdout=lines).returncode:
                raise Failed("the measurements could not be made: see above")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def work() -> int:
    """Does what the command line says; gives the exit code."""
    asked = arguments()
    if not asked.folder.is_dir():
        raise Refused(f"{asked.folder}: there is no such folder; name one with docword*.txt and vocab*.txt")
    python = asked.python or environment.python()
    asked.out.mkdir(parents=True, exist_ok=True)
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
