"""Scrapes a run's metrics as Prometheus does, with Prometheus's own parser of OpenMetrics.

    scripts/check_metrics.py TOPICMILL FOLDER

FOLDER is emptied first. Runs a job that generates its own corpus in two processes, scrapes both until
the run ends, and checks that every response parses and that counters only grow.
"""

import json
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families

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
CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def scrape(status: Path) -> dict[str, float] | None:
    """Returns the samples of a process by name and labels, or None if it cannot be reached."""
    try:
        address = json.loads(status.read_text())["metrics_address"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
            assert answer.headers["Content-Type"] == CONTENT_TYPE, answer.headers
            text = answer.read().decode()
    except (FileNotFoundError, urllib.error.URLError, ConnectionError):
        return None
    return {
        f"{sample.name}{json.dumps(sample.labels, sort_keys=True)}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def main() -> None:
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "job.toml").write_text(JOB)
    command = [program, "run", "job.toml", "--processes", "2", "-w", "1", "--quiet"]
    run = subprocess.Popen([*command, "--metrics-addr", "127.0.0.1:0"], cwd=folder)
    before: list[dict[str, float]] = [{}, {}]
    scrapes = [0, 0]
    while run.poll() is None:
        for process in range(2):
            now = scrape(folder / f"out/logs/status-{process:05}.json")
            if now is None:
                continue
            scrapes[process] += 1
            for name, value in before[process].items():
                grows = name.split("{")[0].endswith("_total")
                assert not grows or now[name] >= value, f"{name}: {value}, then {now.get(name)}"
            before[process] = now
        time.sleep(0.1)
    assert run.returncode == 0, run.returncode
    assert all(count > 2 for count in scrapes), scrapes
    for process, samples in enumerate(before):
        assert samples["topicmill_process{}"] == process, samples
        assert samples['topicmill_documents_total{"stage": "ingest"}'] > 0, samples
    print(f"{scrapes[0]} and {scrapes[1]} scrapes, {len(before[0])} samples each")


main()
