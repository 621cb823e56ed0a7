"""The command line of scripts/bench, and its steps in order."""

import argparse
import json
import os
import platform
import shutil
import signal
import tempfile
import time
import typing
from pathlib import Path

from . import environment, processes
from .refused import Failed, Refused, guarded
from .systems import DEFAULT, OURS, SYSTEMS


def arguments() -> argparse.Namespace:
    """Parses and checks the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Trains topicmill and its peers on the same corpus, one after the other, and scores them alike.",
        epilog="docs/measurements/BENCHMARKS.md says what is measured. Exit codes: 0 done, 1 failed, 2 wrong input or command line.",
    )
    add = parser.add_argument
    add("input", metavar="INPUT", type=Path, nargs="?",
        help="a UCI bag of words (its folder, or its docword*.txt) or a JSON Lines file; plain, .gz or .zst")
    add("--topics", type=whole, default=100, metavar="K", help="topics (default: 100)")
    add("--seconds", type=positive, default=60, metavar="S", help="training time of each at most (default: 60)")
    add("--threads", type=whole, default=2, metavar="N", help="threads of each (default: 2)")
    add("--seed", type=whole, default=1, metavar="S", help="the random seed of each (default: 1); the split is always the same")
    also = [name for name in SYSTEMS if name not in DEFAULT]
    add("--systems", type=names, default=DEFAULT, metavar="A,B",
        help=f"which, in which order (default: {','.join(DEFAULT)}; also {', '.join(also)})")
    add("--out", type=Path, default=environment.TARGET / "bench", metavar="DIR",
        help="where table.md, results.json, curves.svg and logs/ go (default: target/bench)")
    add("--id", default="id", metavar="KEY", help="JSON Lines: the key of a document's id (default: id)")
    add("--text", default="text", metavar="KEY", help="JSON Lines: the key of its text (default: text)")
    add("--binary", type=Path, metavar="PATH", help="use this topicmill instead of building one")
    add("--plot-only", action="store_true", help="only make table and plot again, from results.json")
    add("--self-test", action="store_true", help="only check the parts that are not a system, in some seconds")
    parsed = parser.parse_args()
    if not (parsed.input or parsed.plot_only or parsed.self_test):
        parser.error("INPUT is missing: name a UCI bag of words or a JSON Lines file")
    return parsed


def whole(text: str) -> int:
    """Parses a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1")
    return int(text)


def positive(text: str) -> float:
    """Parses a number above 0."""
    try:
        if 0 < float(text) < float("inf"):
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text} is not a number above 0")


def names(text: str, known: list[str] = SYSTEMS) -> list[str]:
    """Parses systems separated by commas."""
    wanted = list(dict.fromkeys(text.split(",")))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0] or 'an empty name'}: the systems are {', '.join(known)}")
    return wanted


def work() -> int:
    """Executes the command line; returns the exit code."""
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if asked.self_test:
        return run_self_test()
    if asked.plot_only:
        check_results(asked.out / "results.json")
        report(environment.python(), asked.out)
        return 0
    if not asked.input.exists():
        raise Refused(f"{asked.input}: there is no such file or folder; name a UCI bag of words or a JSON Lines file")
    if asked.binary and not os.access(asked.binary, os.X_OK):
        raise Refused(f"{asked.binary}: there is no such program; leave --binary out to have it built")
    python = environment.python()
    binary = None
    if OURS.keys() & set(asked.systems):
        binary = asked.binary.resolve() if asked.binary else environment.topicmill()
    (asked.out / "logs").mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="unfinished-", dir=asked.out))
    try:
        results = measured(asked, python, binary, scratch)
        (scratch / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
        os.replace(scratch / "results.json", asked.out / "results.json")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    report(python, asked.out)
    return 0 if any(system["snapshots"] for system in results["systems"]) else 1


def measured(asked: argparse.Namespace, python: Path, binary: Path | None, scratch: Path) -> dict:
    """Measures everything for the report."""
    read = [python, "-m", "bench_peers.corpus", asked.input, scratch / "split"]
    corpus = read_corpus(asked, [*read, f"--id={asked.id}", f"--text={asked.text}"], scratch)
    systems = [one_system(name, asked, python, binary, scratch) for name in asked.systems]
    return {
        "corpus": corpus,
        "settings": {"topics": asked.topics, "seconds": asked.seconds, "threads": asked.threads, "seed": asked.seed},
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "systems": systems,
    }


def read_corpus(asked: argparse.Namespace, read: list[object], scratch: Path) -> dict:
    """Runs a command that reads and splits the input into scratch/split; returns the facts that it wrote there."""
    split = scratch / "split"
    split.mkdir()
    problem = processes.run(read, scratch / "corpus.log")
    if problem:
        raise Refused(problem.removeprefix("bench: ")) if problem.startswith("bench: ") else Failed(problem)
    corpus = {"name": asked.input.resolve().name} | json.loads((split / "facts.json").read_text(encoding="utf-8"))
    print(
        "{name}: {train_documents:,} documents and {train_tokens:,} tokens to train on, "
        "{test_documents:,} documents to test on, {terms:,} terms".format(**corpus),
        flush=True,
    )
    return corpus


def one_system(name: str, asked: argparse.Namespace, python: Path, binary: Path | None, scratch: Path) -> dict:
    """Trains a system and scores its snapshots, even if it failed."""
    folder = scratch / name
    folder.mkdir()
    busy = busy_cores()
    print(f"{name}: training …", flush=True)
    train: list[object] = [python, "-m", "bench_peers.systems", name, scratch / "split", folder]
    train += [f"--topics={asked.topics}", f"--seconds={asked.seconds}", f"--threads={asked.threads}", f"--seed={asked.seed}"]
    train += [f"--binary={binary}"] if name in OURS else []
    problem = processes.run(train, asked.out / "logs" / f"{name}.log", limit=5 * asked.seconds + 600)
    facts: dict[str, typing.Any] = {"name": name, "version": None, "peak_mb": None, "busy_cores": busy}
    facts |= {"problem": problem, "snapshots": []}
    if (folder / "system").exists():
        facts |= json.loads((folder / "system").read_text(encoding="utf-8"))
    if facts["version"] and name in OURS and not asked.binary:
        facts["version"] += f" {environment.commit()}"
    score = [python, "-m", "bench_peers.evaluate", scratch / "split", folder]
    score_problem = processes.run(score, asked.out / "logs" / f"{name}-scores.log")
    if score_problem:
        facts["problem"] = problem or f"scoring: {score_problem}"
    else:
        facts["snapshots"] = json.loads((folder / "scores").read_text(encoding="utf-8"))
    shutil.rmtree(folder)
    for snapshot in facts["snapshots"]:
        print("  {seconds:8.2f} s  {log_likelihood:9.4f} nats per token".format(**snapshot), flush=True)
    if facts["problem"]:
        print(f"  {facts['problem']}; see logs/{name}.log", flush=True)
    return facts


def machine() -> dict:
    """Describes the machine."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return {"processor": model, "cores": os.cpu_count(), "system": platform.system()}


def busy_cores() -> float | None:
    """Returns the cores that other processes use during one second, or None if the system does not tell."""
    if not Path("/proc/stat").exists():
        return None

    def ticks() -> tuple[int, int]:
        with open("/proc/stat", encoding="ascii") as file:
            numbers = [int(number) for number in file.readline().split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]

    total, idle = ticks()
    time.sleep(1)
    total_now, idle_now = ticks()
    return (os.cpu_count() or 1) * (1 - (idle_now - idle) / max(total_now - total, 1))


def report(python: Path, out: Path) -> None:
    """Makes table and plot from results.json."""
    problem = processes.run([python, "-m", "bench_peers.report", out])
    if problem:
        raise Failed(f"the report could not be made: {problem}")


def check_results(path: Path) -> None:
    """Refuses results that no run wrote."""
    try:
        json.loads(path.read_text(encoding="utf-8"))["systems"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refused(f"{path}: not the results of a run ({error}); run scripts/bench INPUT first") from error


def run_self_test() -> int:
    """Runs the checks of everything but the systems."""
    problem = processes.run([environment.python(), "-m", "bench_peers.self_test"])
    return 1 if problem else 0


def main() -> int:
    return guarded(work)


if __name__ == "__main__":
    raise SystemExit(main())
