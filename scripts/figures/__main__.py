"""The command line of scripts/inference_figures."""

import argparse
import signal
import sys
import time
from pathlib import Path

from bench_peers import environment
from bench_peers.__main__ import busy_cores, machine, whole
from bench_peers.refused import Refused, guarded

from .stages import carry_out

# The share of documents trained on, as in the paper, and the shares of Figure 8.
TRAINED = 0.7
PROPORTIONS = (0.1, 0.3, 0.5, 0.7)
# For each figure: the module that measures it, the files to keep, and the module that makes the report.
FIGURES = {
    "methods": ("figures.runs", ("results.json",), "figures.report"),
    "document": ("figures.document", ("document.csv", "document.svg"), None),
    "drift": ("figures.drift", ("drift.csv", "drift.svg"), None),
}


def arguments() -> argparse.Namespace:
    """Parses and checks the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/inference_figures",
        description="Infers documents that were not trained on by every method, and compares them.",
        epilog="docs/measurements/PAPERS.md says what is measured. Exit codes: 0 done, 1 failed, 2 wrong input or command line.",
    )
    add = parser.add_argument
    add("input", metavar="INPUT", type=Path, help="JSON Lines, plain or compressed")
    add("--figure", choices=FIGURES, default="methods", help="Figures 3, 4, 6, 7 and 8, Table 1 and Figure 5, or Figure 9 (default: methods)")
    add("--time", metavar="COLUMN", help="of the figure drift: the key with a document's time, which sorts as a text")
    add("--topics", type=whole, default=70, metavar="K", help="topics (default: 70)")
    add("--other-topics", default="35,140,280", metavar="K,K", help="Figure 7: further numbers of topics")
    add("--passes", type=whole, default=1000, metavar="N",
        help="sweeps of the slow methods, half of them thrown away (default: 1000)")
    add("--share-passes", type=whole, metavar="N", help="the same for Figure 8, which trains four times (default: --passes)")
    add("--threads", type=whole, default=2, metavar="N", help="threads (default: 2)")
    add("--out", type=Path, default=environment.TARGET / "figures", metavar="DIR",
        help="where results go (default: target/figures)")
    add("--binary", type=Path, metavar="PATH", help="use this topicmill instead of building one")
    add("--python", type=Path, metavar="PATH", help="use this Python and its packages")
    return parser.parse_args()


def work() -> int:
    """Executes the command line; returns the exit code."""
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if not asked.input.is_file():
        raise Refused(f"{asked.input}: there is no such file; name a JSON Lines file")
    try:
        others = [int(topics) for topics in asked.other_topics.split(",") if topics]
    except ValueError:
        raise Refused(f"--other-topics {asked.other_topics}: numbers with commas between them") from None
    if (asked.figure == "drift") != bool(asked.time):
        raise Refused("--figure drift and --time COLUMN go together")
    python = asked.python or environment.python()
    binary = asked.binary.resolve() if asked.binary else environment.topicmill()
    plan = {
        "input": str(asked.input.resolve()),
        "binary": str(binary),
        "threads": asked.threads,
        "time": asked.time,
        "topics": asked.topics,
        "other_topics": others,
        "passes": asked.passes,
        "share_passes": asked.share_passes or asked.passes,
        "trained": TRAINED,
        "proportions": PROPORTIONS,
        "machine": machine(),
        "busy_cores": busy_cores(),
        "date": time.strftime("%Y-%m-%d"),
    }
    carry_out(python, asked.out, plan, *FIGURES[asked.figure])
    return 0


def main() -> int:
    return guarded(work)


if __name__ == "__main__":
    sys.exit(main())
