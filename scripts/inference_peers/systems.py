"""Trains one system and has it infer: `python -m inference_peers.systems NAME SPLIT OUT`.

Leaves in OUT phi.npy (topics × terms), alpha.npy (topics), theta.npy and theta-observed.npy (documents × topics; of
whole test documents, and of their first halves), all float32, and `system`: version, training and inference seconds.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from bench_peers import snapshots
from bench_peers.task import Task

from .task import fastest, normalised

SYSTEMS = ["tomotopy", "gensim", "sklearn", "vw", "bigartm", "topicmill"]


def made(name: str, task: Task, binary: Path | None):
    """A system, imported by itself: each has packages that others lack."""
    match name:
        case "topicmill":
            from .topicmill import Topicmill

            assert binary
            return Topicmill(task, binary)
        case "bigartm":
            from .bigartm import BigArtm

            return BigArtm(task)
        case "vw":
            from .vowpal_wabbit import VowpalWabbit

            return VowpalWabbit(task)
    from . import peers

    return {"tomotopy": peers.Tomotopy, "gensim": peers.Gensim, "sklearn": peers.ScikitLearn}[name](task)


def save(folder: Path, name: str, values) -> None:
    """Leaves an array as the scoring program reads it, or ends where it is not one of numbers."""
    import numpy

    values = numpy.ascontiguousarray(values, dtype=numpy.float32)
    if not numpy.isfinite(values).all():
        raise SystemExit(f"{name}: not all are numbers")
    numpy.save(folder / f"{name}.npy", values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("name", choices=SYSTEMS)
    parser.add_argument("split", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--binary", type=Path)
    arguments = parser.parse_args()
    task = Task(arguments.split, arguments.out, arguments.topics, arguments.seconds, arguments.threads)
    # One snapshot, at the end.
    task.clock.due = task.seconds
    system = made(arguments.name, task, arguments.binary)
    about = arguments.out / "system"
    facts: dict[str, object] = {"version": system.version()}
    about.write_text(json.dumps(facts), encoding="utf-8")
    system.train()
    rows, trained = snapshots.read(max(arguments.out.glob("*.json")))
    save(arguments.out, "phi", normalised(rows))
    save(arguments.out, "alpha", trained["alpha"])
    save(arguments.out, "theta", system.proportions("test"))
    save(arguments.out, "theta-observed", system.proportions("observed"))
    seconds, threads = fastest(system)
    facts |= {"trained_seconds": trained["seconds"], "passes": trained["passes"]}
    facts |= {"seconds": seconds, "inferring_threads": threads}
    about.write_text(json.dumps(facts), encoding="utf-8")
    if arguments.name == "topicmill":
        system.close()
    if arguments.name == "gensim":
        # It may have left a thread that feeds a queue nobody reads any more, and Python would wait for that.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
