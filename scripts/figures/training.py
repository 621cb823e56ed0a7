"""The command line of scripts/training_figures: trains with every setting of a figure, then makes the report."""

import argparse
import signal
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

from bench_peers import environment
from bench_peers.__main__ import machine, whole
from bench_peers.refused import Refused, guarded

from .stages import carry_out

SCHEDULES = {name: {"train.schedule": name} for name in
             ("uniform", "influence", "influence-draws", "residual")}
# Schedules whose drawn documents are weighted by the inverse of their probability.
WEIGHTED = {f"{name}, weighted": SCHEDULES[name] | {"train.importance": True} for name in ("influence-draws", "residual")}

# The methods that Mimno 2012 compares, with five sweeps each, of which sampling discards two. Priors are the paper's,
# except for the η of the mean geometry, which has its own rule.
SAMPLED = {"train.method": "sampled", "train.memory": "off", "train.burn_in": 1, "train.sweeps": 3}
EXP_PSI = {"model.geometry": "exp-psi", "model.eta": 0.4}
METHODS = {
    "online-vb": {"train.method": "online-vb", "model.eta": 0.4},
    "sampled, exp-psi": SAMPLED | EXP_PSI,
    "sampled, mean": SAMPLED,
    "smc": {"train.method": "smc"},
}
# The methods whose second pass can be timed.
TIMED = {name: keys for name, keys in METHODS.items() if name != "smc"}
# Papanikolaou 2017, §6.3 compares samples of one chain and of five; other lines are this program's methods and peers.
ONE_SAMPLE = {"project.method": "gibbs", "project.burn_in": 50, "project.sweeps": 1, "train.average_every": 0}
MANY_SAMPLES = {"project.method": "gibbs", "project.burn_in": 50, "project.sweeps": 30, "project.chains": 5}
LABELS = {
    "Dependency-LDA": {},
    "Prior-LDA": {"project.label_topics": 0},
    "Labeled LDA": {"model.label_prior": "uniform"},
    "Prior-LDA, one sample, θ": ONE_SAMPLE | {"project.estimator": "counts"},
    "Prior-LDA, one sample, θᵖ": ONE_SAMPLE,
    "Prior-LDA, 5 × 30 samples, θ": MANY_SAMPLES | {"project.estimator": "counts"},
    "Prior-LDA, 5 × 30 samples, θᵖ": MANY_SAMPLES,
    "Dependency-LDA, φᵖ": {"train.estimator": "soft"},
    "Dependency-LDA, trained by CVB0": {"train.method": "cvb0"},
    "Prior-LDA, trained by CVB0": {"train.method": "cvb0", "project.label_topics": 0},
    "linear SVM": {},
    "tomotopy": {},
    "topica": {},
}
# Figure 5 of Wahabzada 2011; its κ = 0.5 does not converge and is not a valid setting.
OFFSETS = (1.0, 4.0, 16.0, 64.0, 256.0)
DECAYS = (0.51, 0.6, 0.7, 0.8, 0.9)
MINIBATCHES = (100, 250, 500, 1000)
# Figure 4 of Mimno 2012.
SHARES = (1.0, 0.5, 0.25, 0.125)
LATE_OFFSETS = (3e3, 1e4, 3e4, 1e5, 3e5)

FIGURES = {
    "draws": "held-out likelihood against visits by every schedule, as a job trains by default",
    "passes": "the same with all passes online, evaluated several times a pass (Wahabzada 2011, Figures 4 a–c, 7)",
    "sizes": "the same on parts of the corpus (Wahabzada 2011, Figures 3 and 6)",
    "accuracy": "classification by schedule, after 1, 2, … passes (Wahabzada 2011, Figure 4 d, e); wants --labels",
    "settings": "residual against uniform over a hundred settings (Wahabzada 2011, Figure 5)",
    "methods": "variational Bayes, sampling and SMC: likelihood and coherence (Mimno 2012, Figures 2 and 3)",
    "topics": "CPU time and the share of non-zero parameters against K (Mimno 2012, Figure 1 and §4.5)",
    "labels": "prediction of labels by prior and estimator, by a linear SVM, and by peers (Papanikolaou 2017, Tables 6–8); the job has corpus.labels",
    "offsets": "coherence against t₀ and the size of the corpus (Mimno 2012, Figure 4)",
}


def listed(kind: type) -> Callable[[str], list]:
    """Returns a parser of comma-separated numbers."""
    def read(text: str) -> list:
        try:
            return [kind(number) for number in text.split(",")]
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text}: numbers with commas between them") from None
    return read


def arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/training_figures",
        description="Redoes figures on training of Mimno 2012, Wahabzada 2011 and Papanikolaou 2017.",
        epilog="\n".join(["figures:", *(f"  {name:9} {text}" for name, text in FIGURES.items()), "",
                          "docs/measurements/PAPERS.md says what is measured. Exit codes: 0 done, 1 failed, 2 wrong input or command line."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("figure", metavar="FIGURE", choices=FIGURES, help="see below")
    add("job", metavar="JOB", type=Path, help="a job file")
    add("--method", choices=("sampled", "online-vb", "batch-vb"), default="sampled", help="the local step of schedules (default: sampled)")
    add("--lines", default="", metavar="NAME;NAME", help="only these schedules or methods")
    add("--topics", type=listed(int), default="100,200,500,1000,2000", metavar="K,K", help="of the figure topics (default: 100,200,500,1000,2000)")
    add("--parts", type=listed(float), default="0.1,0.3,1", metavar="P,P", help="of the figure sizes (default: 0.1,0.3,1)")
    add("--passes", type=whole, metavar="N", help="passes (default: 20 of schedules, 1 of methods and offsets)")
    add("--every", type=whole, default=5, metavar="N",
        help="online rounds, or Gibbs passes, between two evaluations (default: 5)")
    add("--seeds", type=whole, default=3, metavar="N", help="seeds, from 1 (default: 3)")
    add("--threads", type=whole, default=2, metavar="N", help="threads (default: 2)")
    add("--documents", type=whole, default=1000, metavar="N", help="documents that are scored, or whose labels are predicted (default: 1000)")
    add("--labels", metavar="COLUMN", help="the column that is predicted from topics: one of corpus.metadata")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of the job; may be given several times")
    add("--out", type=Path, default=environment.TARGET / "training", metavar="DIR",
        help="where results.csv, table.md and figure.svg go (default: target/training)")
    add("--binary", type=Path, metavar="PATH", help="use this topicmill instead of building one")
    add("--python", type=Path, metavar="PATH", help="use this Python and its packages")
    return parser.parse_args()


def runs(asked: argparse.Namespace) -> list[dict]:
    """Returns the runs of a figure: the facts that identify each (`line`, `seed`, …), its `settings`, and what is
    `measured`, such as the rounds or the final model."""
    lines = asked.lines.split(";") if asked.lines else None
    methods = lines or METHODS
    of_schedules = {"train.method": asked.method, "train.patience": 0}
    if asked.figure != "draws" and asked.method == "sampled":
        of_schedules["train.memory"] = "on"
        of_schedules["train.online_passes"] = 2**32 - 1
    of_methods = {"model.alpha": 0.1, "train.minibatch": 100, "train.patience": 0, "train.passes": asked.passes or 1}
    found: list[dict] = []

    def add(line: str, settings: dict, measured: str = "model", **facts: object) -> None:
        found.append({"line": line, "measured": measured, **facts, "settings": {**settings, "model.seed": facts["seed"]}})

    for seed in range(1, asked.seeds + 1):
        passes = {"train.passes": asked.passes or 20}
        match asked.figure:
            case "draws" | "passes":
                every = {"train.evaluate_every": asked.every}
                for name in lines or (SCHEDULES if asked.figure == "draws" else SCHEDULES | WEIGHTED):
                    add(name, of_schedules | passes | every | (SCHEDULES | WEIGHTED)[name], "rounds", seed=seed)
            case "sizes":
                for part, name in product(asked.parts, lines or ("uniform", "influence", "residual")):
                    keys = {"sample.fraction": part, "train.evaluate_every": max(1, round(asked.every * part))}
                    add(name, of_schedules | passes | SCHEDULES[name] | keys, "rounds", seed=seed, part=part)
            case "accuracy":
                for name, count in product(lines or SCHEDULES, range(1, (asked.passes or 4) + 1)):
                    add(name, of_schedules | SCHEDULES[name] | {"train.passes": count}, seed=seed, passes=count)
            case "settings":
                for offset, decay, minibatch, name in product(OFFSETS, DECAYS, MINIBATCHES, ("uniform", "residual")):
                    keys = {"train.schedule": name, "train.step_offset": offset, "train.step_decay": decay,
                            "train.minibatch": minibatch, "train.evaluate_every": 1_000_000}
                    add(name, of_schedules | passes | keys, "rounds", seed=seed, offset=offset, decay=decay,
                        minibatch=minibatch)
            case "methods":
                for name in methods:
                    add(name, of_methods | METHODS[name], seed=seed)
            case "topics":
                for name, topics in product(lines or TIMED, asked.topics):
                    keys = METHODS[name] | {"model.topics": topics, "train.evaluate_every": 1_000_000}
                    add(name, of_methods | keys, "speed", seed=seed, topics=topics)
            case "labels":
                for name in lines or LABELS:
                    measured = {"linear SVM": "svm", "tomotopy": name, "topica": name}.get(name, "labels")
                    add(name, LABELS[name], measured, seed=seed)
            case "offsets":
                for share, offset in product(SHARES, LATE_OFFSETS):
                    keys = METHODS["sampled, exp-psi"] | {"sample.fraction": share, "train.step_offset": offset}
                    add(f"{share:.1%} of the corpus", of_methods | keys, seed=seed, offset=offset)
    return found


def work() -> int:
    """Executes the command line; returns the exit code."""
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if not asked.job.is_file():
        raise Refused(f"{asked.job}: there is no such file; name a job file")
    every = SCHEDULES | WEIGHTED
    known = {"draws": every, "passes": every, "sizes": SCHEDULES, "accuracy": SCHEDULES, "methods": METHODS,
             "topics": TIMED, "labels": LABELS}.get(asked.figure, {})
    for name in filter(None, asked.lines.split(";")):
        if not known:
            raise Refused(f"--lines: {asked.figure} has no lines to choose from; leave it out")
        if name not in known:
            raise Refused(f"--lines: {name} is none of {'; '.join(known)}")
    if asked.figure == "accuracy" and not asked.labels:
        raise Refused("accuracy: name the column that is predicted, --labels COLUMN")
    python = asked.python or environment.python()
    binary = asked.binary.resolve() if asked.binary else environment.topicmill()
    plan = {
        "job": str(asked.job.resolve()),
        "binary": str(binary),
        "threads": asked.threads,
        "figure": asked.figure,
        "method": asked.method,
        "documents": asked.documents,
        "labels": asked.labels,
        "set": asked.set,
        "runs": runs(asked),
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
    }
    results = ("results.csv", "plan.json")
    carry_out(python, asked.out, plan, "figures.training_runs", results, "figures.training_report")
    return 0


def main() -> int:
    return guarded(work)
