"""Time, peak memory and disk space of each stage as a collection grows: the tables in docs/measurements/SCALING.md.

    scripts/scaling.py BINARY FOLDER [DOCUMENTS ...] [--sections N ...] [--streamed N] [--threads N]

Generates collections in FOLDER, of short documents (20 tokens each) and of sections (1,000 tokens each) with 50
planted topics and 20,000 terms, runs ingest, train and project on each in separate processes, and removes its files.
The sample is 20,000 documents for every size, as in a large collection. Needs only Python's standard library.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

JOB = """
[corpus]
input = "{corpus}/documents-*.jsonl"

[vocabulary]
stop_words = "none"

[sample]
documents = {sample}

[model]
topics = 50

[train]
passes = {passes}
memory = "off"
patience = 0

[output]
path = "{out}"
"""

SAMPLE, PASSES = 20_000, 5
# Tokens of a document, by the name of the collection.
LENGTHS = {"short documents": 20, "sections": 1_000}
# Upper bounds of disk space for texts, shards and tables together: bytes per document, and per token.
BYTES_PER_DOCUMENT, BYTES_PER_TOKEN = 150, 12


def size_of(folder: Path) -> int:
    """Returns the bytes of the files below a folder; files may disappear meanwhile."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.stat(os.path.join(parent, name), follow_symlinks=False).st_blocks * 512
            except FileNotFoundError:
                pass
    return size


class Disk:
    """The most space that a folder takes while something runs, looked at five times a second."""

    def __init__(self, folder: Path):
        self.folder, self.peak, self.done = folder, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self) -> None:
        while not self.done.wait(0.2):
            self.peak = max(self.peak, size_of(self.folder))

    def __enter__(self) -> "Disk":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()
        self.peak = max(self.peak, size_of(self.folder))


def measured(command: list[object], folder: Path) -> tuple[str, float, float, int]:
    """Runs a command that writes to a folder; returns its last line, seconds, peak MB, and the folder's peak bytes."""
    log = folder.with_suffix(".log")
    with Disk(folder) as disk, open(log, "wb") as errors:
        started = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=errors)
        assert process.stdout
        printed = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}\n{log.read_text(errors='replace')[-2000:]}")
    return printed.strip().split("\n")[-1], seconds, usage.ru_maxrss / 1024, disk.peak


class Collection:
    """A generated collection, which prints its rows of the table."""

    def __init__(self, arguments: argparse.Namespace, kind: str, documents: int):
        self.arguments, self.kind, self.documents = arguments, kind, documents
        self.folder = (arguments.folder / f"{kind.split()[0]}-{documents}").absolute()
        self.corpus = self.folder / "texts"

    def row(self, stage: str, command: list[object], folder: Path, used: int) -> int:
        """Runs a stage and prints its row; `used` and the result are the folder's bytes before and after."""
        line, seconds, peak, most = measured([self.arguments.binary, *command], folder)
        found = json.loads(line)["documents"] if line else self.documents
        if found != self.documents:
            sys.exit(f"{stage}: {found} documents instead of {self.documents}")
        after = size_of(folder)
        rates = f"{self.documents / seconds:,.0f} | {self.documents * LENGTHS[self.kind] / seconds / 1e6:.2f}"
        disk = f"{(after - used) / 1e6:,.0f} | {most / 1e6:,.0f}"
        print(f"| {self.documents:,} {self.kind} | {stage} | {seconds:.1f} | {rates} | {peak:.0f} | {disk} |", flush=True)
        return after

    def job(self, name: str, sample: int, passes: int) -> tuple[Path, Path]:
        """Writes a job file; returns it and its output folder."""
        job, out = self.folder / f"{name}.toml", self.folder / name
        text = JOB.format(corpus=self.corpus, out=out, sample=sample, passes=passes)
        job.write_text(text, encoding="utf-8")
        return job, out

    def measure(self, streamed: int) -> None:
        """Measures all stages; then one pass over a sample of `streamed` documents, if not 0."""
        self.folder.mkdir(parents=True)
        needed = self.documents * (BYTES_PER_DOCUMENT + LENGTHS[self.kind] * BYTES_PER_TOKEN)
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            sys.exit(f"{self.folder}: {self.documents} {self.kind} need {needed / 1e9:.0f} GB, free are {free / 1e9:.0f}")
        make: list[object] = ["synth", "--path", self.corpus, "--documents", self.documents, "--topics", 50, "--terms", 20_000]
        self.row("generate", [*make, "--mean-length", LENGTHS[self.kind], "--quiet"], self.corpus, 0)
        job, out = self.job("out", SAMPLE, PASSES)
        used = 0
        threads = ["--threads", self.arguments.threads, "--json"]
        for stage in ["ingest", "train", "project"]:
            used = self.row(stage, [stage, job, *threads], out, used)
        if streamed:
            job, again = self.job("streamed", streamed, 1)
            measured([self.arguments.binary, "ingest", job, *threads], again)
            used = size_of(again)
            self.row(f"train, {streamed:,} of them streamed", ["train", job, *threads], again, used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("documents", nargs="*", type=int, default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--sections", nargs="*", type=int, default=[], metavar="N", help="collections of this many sections")
    parser.add_argument("--streamed", type=int, default=0, metavar="N", help="on the last collection: one pass over N documents")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    print("| collection | stage | seconds | documents/s | M tokens/s | peak memory, MB | disk, MB | peak disk, MB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    collections = [("short documents", number) for number in arguments.documents]
    collections += [("sections", number) for number in arguments.sections]
    for kind, documents in collections:
        collection = Collection(arguments, kind, documents)
        try:
            collection.measure(arguments.streamed if (kind, documents) == collections[-1] else 0)
        finally:
            shutil.rmtree(collection.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
