"""Trains one system in this process: `python -m bench_peers.systems NAME SPLIT OUT`.

Leaves its snapshots in OUT, and OUT/system with its version and peak memory.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .peers import Gensim, ScikitLearn, Tomotopy, Topica, TopicaOnline
from .task import System, Task
from .topicmill import Topicmill

PEERS: dict[str, Callable[[Task], System]] = {
    "tomotopy": Tomotopy,
    "topica": partial(Topica, sampler="sparse"),
    "topica-warp": partial(Topica, sampler="warp"),
    "topica-lightlda": partial(Topica, sampler="lightlda"),
    "topica-cvb0": partial(Topica, sampler="cvb0"),
    "topica-online": TopicaOnline,
    "gensim": Gensim,
    "sklearn": ScikitLearn,
}
# topicmill's methods, by the names of the systems.
OURS = {"topicmill": "sampled", "topicmill-online-vb": "online-vb", "topicmill-batch-vb": "batch-vb", "topicmill-cvb0": "cvb0"}
SYSTEMS = [*OURS, *PEERS]
# The systems that run unless `--systems` names others.
DEFAULT = ["topicmill", "tomotopy", "topica", "topica-warp", "gensim", "sklearn"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("name", choices=SYSTEMS)
    parser.add_argument("split", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--binary", type=Path)
    arguments = parser.parse_args()
    task = Task(arguments.split, arguments.out, arguments.topics, arguments.seconds, arguments.threads, arguments.seed)
    system: System
    if arguments.name in OURS:
        system = Topicmill(task, arguments.binary, OURS[arguments.name])
    else:
        system = PEERS[arguments.name](task)
    facts: dict[str, object] = {"version": system.version(), "settings": system.settings}
    about = arguments.out / "system"
    about.write_text(json.dumps(facts), encoding="utf-8")
    system.train()
    facts["peak_mb"] = system.peak_mb()
    about.write_text(json.dumps(facts), encoding="utf-8")
    if arguments.name == "gensim":
        # It may have left a thread that feeds a queue nobody reads any more, and Python would wait for that.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
