"""Time and peak memory of each stage as a collection grows: the table in docs/SCALING.md.

    scripts/scaling.py BINARY FOLDER [DOCUMENTS ...] [--threads N]

Makes collections of short documents in FOLDER (20 tokens each, 50 planted topics, 20,000 terms) and
runs ingest, train and project on each as processes of their own. The sample is 20,000 documents
whatever the size, as in a large collection. Needs nothing but Python's standard library.
"""

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

JOB = """
[corpus]
input = "{corpus}/documents-*.jsonl"

[vocabulary]
stop_words = "none"

[sample]
documents = 20000

[model]
topics = 50

[train]
passes = 5
memory = "off"
patience = 0

[output]
path = "{out}"
"""


def measured(command):
    """Runs a command; gives what it printed last, its seconds and its peak memory in MB."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    printed = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command}: exit code {process.returncode}")
    seconds = time.monotonic() - started
    return printed.strip().split("\n")[-1], seconds, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folder", type=Path)
    parser.add_argument("documents", nargs="*", type=int, default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--threads", default="2")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print("| documents | stage | seconds | documents/s | peak memory, MB |")
    print("| --- | --- | --- | --- | --- |")
    for documents in arguments.documents:
        corpus, out = arguments.folder / f"corpus-{documents}", arguments.folder / f"out-{documents}"
        make = ["synth", "--path", corpus, "--documents", str(documents), "--topics", "50"]
        measured([arguments.binary, *make, "--terms", "20000", "--mean-length", "20", "--quiet"])
        job = arguments.folder / f"{documents}.toml"
        job.write_text(JOB.format(corpus=corpus.absolute(), out=out.absolute()), encoding="utf-8")
        for stage in ["ingest", "train", "project"]:
            run = [arguments.binary, stage, job, "--threads", arguments.threads, "--json"]
            line, seconds, peak = measured(run + (["--overwrite"] if stage == "ingest" else []))
            assert json.loads(line)["documents"] == documents
            print(f"| {documents:,} | {stage} | {seconds:.2f} | {documents / seconds:,.0f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()
