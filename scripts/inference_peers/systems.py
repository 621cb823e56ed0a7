"""Trains one system and infers with it: `python -m inference_peers.systems NAME SPLIT OUT`.

Writes to OUT phi.npy (topics × terms), alpha.npy (topics), theta.npy and theta-observed.npy (documents × topics; of
whole test documents, and of their first halves), all float32, and `system`: version, training and inference seconds.
"""

import json
from pathlib import Path

from bench_peers import snapshots
from bench_peers.task import Task, arguments, leave

from .task import fastest, normalised

SYSTEMS = ["tomotopy", "gensim", "sklearn", "vw", "bigartm", "topicmill"]


def made(name: str, task: Task, binary: Path | None):
    """Creates a system, importing only its module, because each needs packages that others lack."""
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
    """Saves an array for the scoring program; exits if it contains values that are not finite."""
    import numpy

    values = numpy.ascontiguousarray(values, dtype=numpy.float32)
    if not numpy.isfinite(values).all():
        raise SystemExit(f"{name}: not all are numbers")
    numpy.save(folder / f"{name}.npy", values)


def main() -> None:
    asked = arguments(__doc__, SYSTEMS)
    task = Task(asked.split, asked.out, asked.topics, asked.seconds, asked.threads)
    # One snapshot, at the end.
    task.clock.due = task.seconds
    system = made(asked.name, task, asked.binary)
    about = asked.out / "system"
    facts: dict[str, object] = {"version": system.version()}
    about.write_text(json.dumps(facts), encoding="utf-8")
    system.train()
    rows, trained = snapshots.read(max(asked.out.glob("*.json")))
    save(asked.out, "phi", normalised(rows))
    save(asked.out, "alpha", trained["alpha"])
    save(asked.out, "theta", system.proportions("test"))
    save(asked.out, "theta-observed", system.proportions("observed"))
    seconds, threads = fastest(system)
    facts |= {"trained_seconds": trained["seconds"], "passes": trained["passes"]}
    facts |= {"seconds": seconds, "inferring_threads": threads}
    about.write_text(json.dumps(facts), encoding="utf-8")
    if asked.name == "topicmill":
        system.close()
    leave(asked.name)


if __name__ == "__main__":
    main()
