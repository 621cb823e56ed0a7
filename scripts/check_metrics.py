"""Reads a run's metrics with Prometheus's own parser of its text format.

    scripts/check_metrics.py TOPICMILL FOLDER

FOLDER is emptied first. Runs a job that generates its own corpus in two processes, reads both metrics files until
the run ends, and checks that they always parse and that counters only grow.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

JOB = """
[synth]
path = "planted"
topics = 8
documents = 20000
[vocabulary]
stop_words = "none"
[sample]
fraction = 0.4
[model]
topics = 12
[train]
minibatch = 256
online_passes = 2
passes = 14
patience = 0
[output]
path = "out"
"""


def read(metrics: Path) -> dict[str, float] | None:
    """Returns the samples of a process by name and labels, or None if there are none yet."""
    if not metrics.exists():
        return None
    return {
        f"{sample.name}{json.dumps(sample.labels, sort_keys=True)}": sample.value
        for family in text_string_to_metric_families(metrics.read_text())
        for sample in family.samples
    }


def main() -> None:
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "job.toml").write_text(JOB)
    command = [program, "run", "job.toml", "--processes", "2", "-w", "1", "--quiet"]
    run = subprocess.Popen(command, cwd=folder)
    before: list[dict[str, float]] = [{}, {}]
    reads = [0, 0]
    while run.poll() is None:
        for process in range(2):
            now = read(folder / f"out/logs/metrics-{process:05}.prom")
            if now is None:
                continue
            reads[process] += 1
            for name, value in before[process].items():
                grows = name.split("{")[0].endswith("_total")
                assert not grows or now[name] >= value, f"{name}: {value}, then {now.get(name)}"
            before[process] = now
        time.sleep(0.1)
    assert run.returncode == 0, run.returncode
    assert all(count > 2 for count in reads), reads
    for process, samples in enumerate(before):
        ingested = f'topicmill_documents_total{{"process": "{process}", "stage": "ingest"}}'
        assert samples[ingested] > 0, samples
    print(f"{reads[0]} and {reads[1]} reads, {len(before[0])} samples each")


main()
