"""The command line of scripts/schedule_figures: trains by every schedule, then has the report made."""

import argparse
import json
import os
import signal
import tempfile
import time
from pathlib import Path

from bench_peers import environment, processes
from bench_peers.__main__ import machine, whole
from bench_peers.refused import Failed, Refused, guarded

SCHEDULES = "uniform,sorted,influence,influence-draws,residual,moved"
# Figure 5 of the paper; its κ = 0.5 does not converge, and is not a setting.
OFFSETS = (1.0, 4.0, 16.0, 64.0, 256.0)
DECAYS = (0.51, 0.6, 0.7, 0.8, 0.9)
MINIBATCHES = (100, 250, 500, 1000)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/schedule_figures",
        description="Held-out likelihood against draws, by the schedule that decides which documents are visited.",
        epilog="docs/EXPERIMENTS.md says what is measured. Exit codes: 0 done, 1 failed, 2 wrong input or command line.",
    )
    add = parser.add_argument
    add("job", metavar="JOB", type=Path, help="a job file")
    add("--figure", choices=("draws", "passes", "settings"), default="draws",
        help="draws: every schedule, as a job trains by default; passes: every schedule with all passes online, evaluated "
             "ten times a pass; settings: residual against uniform over a hundred settings (default: draws)")
    add("--method", choices=("sampled", "online-vb"), default="sampled", help="the local step (default: sampled)")
    add("--schedules", default=SCHEDULES, metavar="NAME,NAME", help=f"default: {SCHEDULES}")
    add("--passes", type=whole, default=20, metavar="N", help="passes (default: 20)")
    add("--every", type=whole, default=5, metavar="N",
        help="online rounds, or Gibbs passes, between two evaluations (default: 5)")
    add("--seeds", type=whole, default=3, metavar="N", help="seeds, from 1 (default: 3)")
    add("--threads", type=whole, default=2, metavar="N", help="threads (default: 2)")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of the job; may be given several times")
    add("--out", type=Path, default=environment.TARGET / "schedules", metavar="DIR",
        help="where rounds.csv, table.md and figure.svg go (default: target/schedules)")
    add("--binary", type=Path, metavar="PATH", help="this topicmill, instead of building one")
    add("--python", type=Path, metavar="PATH", help="this Python, with the packages there, instead of making one")
    return parser.parse_args()


def runs(asked: argparse.Namespace) -> list[dict]:
    """The runs of a figure: what tells each apart, and its settings."""
    common = {"train.method": asked.method, "train.passes": asked.passes, "train.patience": 0}
    if asked.figure != "draws" and asked.method == "sampled":
        common |= {"train.online_passes": asked.passes}
    found = []
    for seed in range(1, asked.seeds + 1):
        if asked.figure == "settings":
            found += [
                {"schedule": schedule, "seed": seed, "offset": offset, "decay": decay, "minibatch": minibatch,
                 "settings": common | {
                     "train.schedule": schedule, "model.seed": seed, "train.step_offset": offset,
                     "train.step_decay": decay, "train.minibatch": minibatch, "train.evaluate_every": 1_000_000,
                 }}
                for offset in OFFSETS for decay in DECAYS for minibatch in MINIBATCHES
                for schedule in ("uniform", "residual")
            ]
            continue
        every = {"train.evaluate_every": asked.every}
        for schedule in asked.schedules.split(","):
            settings = common | every | {"train.schedule": schedule, "model.seed": seed}
            found.append({"schedule": schedule, "seed": seed, "settings": settings})
    return found


def work() -> int:
    """Does what the command line says; gives the exit code."""
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if not asked.job.is_file():
        raise Refused(f"{asked.job}: there is no such file; name a job file")
    python = asked.python or environment.python()
    binary = asked.binary.resolve() if asked.binary else environment.topicmill()
    asked.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=asked.out) as scratch:
        plan = {
            "job": str(asked.job.resolve()),
            "binary": str(binary),
            "threads": asked.threads,
            "figure": asked.figure,
            "method": asked.method,
            "set": asked.set,
            "runs": runs(asked),
            "machine": machine(),
            "date": time.strftime("%Y-%m-%d"),
        }
        (Path(scratch) / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        problem = processes.run([python, "-m", "figures.schedules_runs", scratch])
        if problem:
            raise Failed(problem)
        for name in ("rounds.csv", "plan.json"):
            os.replace(Path(scratch) / name, asked.out / name)
    problem = processes.run([python, "-m", "figures.schedules_report", asked.out])
    if problem:
        raise Failed(f"the report could not be made: {problem}")
    return 0


def main() -> int:
    return guarded(work)
