"""Trains one system in this process: `python -m bench_peers.systems NAME SPLIT OUT`.

Writes its snapshots to OUT, and its version and peak memory to OUT/system.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .peers import Gensim, Mallet, ScikitLearn, Tomotopy, Topica, TopicaOnline
from .task import System, Task, arguments, leave
from .topicmill import Topicmill

PEERS: dict[str, Callable[[Task], System]] = {
    "tomotopy": Tomotopy,
    "mallet": Mallet,
    "topica": partial(Topica, sampler="sparse"),
    "topica-warp": partial(Topica, sampler="warp"),
    "topica-lightlda": partial(Topica, sampler="lightlda"),
    "topica-cvb0": partial(Topica, sampler="cvb0"),
    "topica-online": TopicaOnline,
    "gensim": Gensim,
    "sklearn": ScikitLearn,
}
# topicmill's methods by the names of systems.
OURS = {"topicmill": "sampled", "topicmill-online-vb": "online-vb", "topicmill-batch-vb": "batch-vb", "topicmill-cvb0": "cvb0"}
SYSTEMS = [*OURS, *PEERS]
# The systems that run unless `--systems` names others.
DEFAULT = ["topicmill", "tomotopy", "mallet", "topica", "topica-warp", "gensim", "sklearn"]


def main() -> None:
    asked = arguments(__doc__, SYSTEMS)
    task = Task(asked.split, asked.out, asked.topics, asked.seconds, asked.threads, asked.seed)
    system: System
    if asked.name in OURS:
        system = Topicmill(task, asked.binary, OURS[asked.name])
    else:
        system = PEERS[asked.name](task)
    facts: dict[str, object] = {"version": system.version(), "settings": system.settings}
    about = asked.out / "system"
    about.write_text(json.dumps(facts), encoding="utf-8")
    system.train()
    facts["peak_mb"] = system.peak_mb()
    about.write_text(json.dumps(facts), encoding="utf-8")
    leave(asked.name)


if __name__ == "__main__":
    main()
