"""The cost of a slow link: bytes, seconds, and the share of them that workers spend waiting."""

import json
import subprocess
import time
from collections.abc import Iterator

from network import Host
from runs import Ground

JOB = """
[synth]
path = "{folder}/planted"
topics = 50
documents = {documents}
terms = 20000
mean_length = 100
[vocabulary]
stop_words = "none"
[sample]
fraction = 1.0
held_out = 0.02
[model]
topics = {topics}
[train]
online_passes = 1
passes = 21
patience = 0
checkpoint_every = 0
checkpoint_minutes = 0
[project]
method = "none"
[output]
path = "{folder}/out"
"""
COLUMNS = ("round", "seconds", "exchanging_seconds", "bytes_exchanged")


def training_log(ground: Ground) -> list[dict]:
    """Returns the rows of the table `training_log`."""
    words = [ground.binary, "inspect", f"{ground.out}/training_log", "--rows", "100000", "--json"]
    shown = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    names = [column["name"] for column in shown["columns"]]
    rows = [dict(zip(names, row)) for row in shown["head"]]
    return [{name: float(row[name]) for name in COLUMNS} for row in rows]


def one(ground: Ground, name: str, *more: str) -> str:
    """Runs the job; returns a line of the table."""
    ground.clear()
    before = [host.bytes_sent() for host in ground.hosts]
    started = time.monotonic()
    run = ground.start(*more)
    run.wait(patience=1200)
    wall = time.monotonic() - started
    if any(ended.code for ended in run.ended.values()):
        raise RuntimeError(run.show())
    sent = sum(host.bytes_sent() - old for host, old in zip(ground.hosts, before))
    log = training_log(ground)
    seconds = log[-1]["seconds"]
    waited = sum(row["exchanging_seconds"] for row in log)
    by_process = sum(row["bytes_exchanged"] for row in log) / len(log)
    return (f"| {name} | {wall:.1f} | {seconds:.1f} | {len(log)} | {by_process / 1e6:.2f} | "
            f"{sent / 1e6:.0f} | {waited / seconds:.0%} |")


def measure(ground: Ground, hosts: list[Host], rates: list[str], documents: int, topics: int) -> Iterator[str]:
    """Yields the table, line by line."""
    with open(ground.job, "w", encoding="utf-8") as file:
        file.write(JOB.format(folder=ground.folder, documents=documents, topics=topics))
    yield "| link | wall s | training s | rounds | MB a round, of process 0 | MB of all hosts | waiting in exchanges |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for rate in ["", *rates]:
        for host in hosts:
            if rate:
                host.limit(rate)
        for flags in ((), ("--compress",)):
            yield one(ground, " ".join([rate or "not limited", *flags]), *flags)
        for host in hosts:
            if rate:
                host.unlimit()
