"""The command line of scripts/inference_bench, and its steps in order."""

import argparse
import csv
import functools
import json
import os
import shutil
import signal
import tempfile
import time
import typing
from pathlib import Path

from bench_peers import environment, processes
from bench_peers.__main__ import busy_cores, machine, names, positive, read_corpus, whole
from bench_peers.refused import Refused, guarded

from . import report
from .systems import SYSTEMS

# The program in examples/ that scores.
SCORING = "inference_quality"
# Its reference, two chains of a thousand sweeps, may take long.
SCORING_LIMIT = 4 * 3600


def arguments() -> argparse.Namespace:
    """Parses and checks the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/inference_bench",
        description="Trains topicmill and its peers on the same corpus, has each infer new documents, and compares "
        "that with long sampling, and with our inference, under the same model.",
        epilog="docs/measurements/BENCHMARKS.md says what is measured. Exit codes: 0 done, 1 failed, 2 wrong input or command line.",
    )
    add = parser.add_argument
    add("input", metavar="INPUT", type=Path, nargs="?",
        help="a UCI bag of words (its folder, or its docword*.txt) or a JSON Lines file; plain, .gz or .zst")
    add("--topics", type=whole, default=100, metavar="K", help="topics (default: 100)")
    add("--seconds", type=positive, default=30, metavar="S",
        help="training time of each peer; topicmill ends by its own rule (default: 30)")
    add("--documents", type=whole, default=2000, metavar="N",
        help="test documents at most, of a tenth of the corpus (default: 2000)")
    add("--threads", type=whole, default=2, metavar="N", help="threads of each (default: 2)")
    add("--systems", type=functools.partial(names, known=SYSTEMS), metavar="A,B",
        help=f"which, in which order (default: {','.join(SYSTEMS)}, bigartm only with --bigartm)")
    add("--out", type=Path, default=environment.TARGET / "inference_bench", metavar="DIR",
        help="where table.md, results.json and logs/ go (default: target/inference_bench)")
    add("--id", default="id", metavar="KEY", help="JSON Lines: the key of a document's id (default: id)")
    add("--text", default="text", metavar="KEY", help="JSON Lines: the key of its text (default: text)")
    add("--binary", type=Path, metavar="PATH", help="use this topicmill instead of building one")
    add("--example", type=Path, metavar="PATH", help=f"this examples/{SCORING}, instead of building one")
    add("--python", type=Path, metavar="PATH", help="use this Python and its packages")
    add("--bigartm", type=Path, metavar="PYTHON", help="a Python with bigartm10, protobuf 3 and pandas")
    add("--self-test", action="store_true", help="only check the parts that are not a system, in some seconds")
    parsed = parser.parse_args()
    if not (parsed.input or parsed.self_test):
        parser.error("INPUT is missing: name a UCI bag of words or a JSON Lines file")
    if parsed.systems is None:
        parsed.systems = [name for name in SYSTEMS if name != "bigartm" or parsed.bigartm]
    if "bigartm" in parsed.systems and not parsed.bigartm:
        parser.error("bigartm needs a Python of its own: name it with --bigartm")
    return parsed


def work() -> int:
    """Executes the command line; returns the exit code."""
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if asked.self_test:
        python = asked.python or environment.python()
        return 1 if processes.run([python, "-m", "inference_peers.self_test"]) else 0
    if not asked.input.exists():
        raise Refused(f"{asked.input}: there is no such file or folder; name a UCI bag of words or a JSON Lines file")
    for option in ["binary", "example", "python", "bigartm"]:
        path = getattr(asked, option)
        if path and not os.access(path, os.X_OK):
            raise Refused(f"--{option} {path}: there is no such program")
        if path:
            # Not resolved: the python of an environment is a link, and its location identifies the environment.
            setattr(asked, option, path.absolute())
    asked.python = asked.python or environment.python()
    if "topicmill" in asked.systems:
        asked.binary = asked.binary or environment.topicmill()
    asked.example = asked.example or environment.example(SCORING)
    (asked.out / "logs").mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="unfinished-", dir=asked.out))
    try:
        results = measured(asked, scratch)
        for name, text in [("results.json", json.dumps(results, indent=1)), ("table.md", report.table(results))]:
            (scratch / name).write_text(text, encoding="utf-8")
            os.replace(scratch / name, asked.out / name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"\n{report.table(results)}\n{asked.out / 'table.md'}")
    return 0 if any(system["scores"] for system in results["systems"]) else 1


def measured(asked: argparse.Namespace, scratch: Path) -> dict:
    """Measures everything for the report."""
    read = [asked.python, "-m", "inference_peers.documents", asked.input, scratch / "split"]
    read += [f"--id={asked.id}", f"--text={asked.text}", f"--documents={asked.documents}"]
    corpus = read_corpus(asked, read, scratch)
    systems = [one_system(name, asked, scratch) for name in asked.systems]
    return {
        "corpus": corpus,
        "settings": {"topics": asked.topics, "seconds": asked.seconds, "threads": asked.threads},
        "machine": machine(),
        "commit": environment.commit(),
        "date": time.strftime("%Y-%m-%d"),
        "systems": systems,
    }


def one_system(name: str, asked: argparse.Namespace, scratch: Path) -> dict:
    """Trains and infers with a system, and scores the result; a failure is reported, and other systems continue."""
    folder = (scratch / name).absolute()
    folder.mkdir()
    facts: dict[str, typing.Any] = {"name": name, "version": None, "busy_cores": busy_cores(), "scores": []}
    print(f"{name}: training and inferring …", flush=True)
    split = (scratch / "split").absolute()
    python = asked.bigartm if name == "bigartm" else asked.python
    train: list[object] = [python, "-m", "inference_peers.systems", name, split, folder]
    train += [f"--topics={asked.topics}", f"--seconds={asked.seconds}", f"--threads={asked.threads}"]
    train += [f"--binary={asked.binary}"] if name == "topicmill" else []
    log = asked.out / "logs" / f"{name}.log"
    facts["problem"] = processes.run(train, log, limit=10 * asked.seconds + 3600)
    if (folder / "system").exists():
        facts |= json.loads((folder / "system").read_text(encoding="utf-8"))
    if not facts["problem"]:
        facts["documents_per_second"] = documents(split) / facts["seconds"]
        print("  {documents_per_second:,.0f} documents/s; scoring …".format(**facts), flush=True)
        log = asked.out / "logs" / f"{name}-scores.csv"
        score: list[object] = [asked.example, folder, split, asked.threads]
        facts["problem"] = processes.run(score, log, limit=SCORING_LIMIT)
        if not facts["problem"]:
            facts["scores"] = scores(log.read_text(encoding="utf-8"))
    shutil.rmtree(folder)
    for line in facts["scores"]:
        print("  {method:20} cosine, KL, F1, held out: {}".format(", ".join(report.figures(line)), **line), flush=True)
    if facts["problem"]:
        print(f"  {facts['problem']}; see logs/{log.name}", flush=True)
    return facts


def documents(split: Path) -> int:
    """Returns the number of inferred documents."""
    return json.loads((split / "facts.json").read_text(encoding="utf-8"))["test_documents"]


def scores(text: str) -> list[dict]:
    """Parses the scoring program's output: lines for the system's inference, the chains, and each of our methods."""
    keys = ["method", "rate", "rate_on_threads", "cosine", "kl", "f1", "held_out"]
    lines = []
    for row in list(csv.reader(text.splitlines()))[1:]:
        figures = [float(cell) if cell else None for cell in row[1:]]
        lines.append(dict(zip(keys, [row[0], *figures], strict=True)))
    return lines


def main() -> int:
    return guarded(work)


if __name__ == "__main__":
    raise SystemExit(main())
