"""Makes table.md and curves.svg from results.json: `python -m bench_peers.report FOLDER`."""

import argparse
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot

from .notes import notes

# Levels at which systems are compared: these numbers of nats below the best that any peer reached.
BELOW_THE_BEST = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
# The prefix of the names of our systems.
OURS = "topicmill"
FIGURES = ["passes", "training, s", "log-likelihood, nats/token", "NPMI", "NPMI, test", "C_V", "UMass"]


class Reached(NamedTuple):
    """When a system first reached a log-likelihood, and how coherent its topics were then."""

    seconds: float
    is_bound: bool
    """True if the first snapshot had reached it already, so that the time is an upper bound."""
    npmi: float


def reaches(level: float, snapshots: list[dict]) -> Reached | None:
    """Returns when a system first reached this log-likelihood, interpolated linearly over log time, or None if never."""
    before = None
    for snapshot in sorted(snapshots, key=lambda snapshot: snapshot["seconds"]):
        if snapshot["log_likelihood"] >= level:
            if before is None:
                return Reached(snapshot["seconds"], True, snapshot["npmi"])
            share = (level - before["log_likelihood"]) / (snapshot["log_likelihood"] - before["log_likelihood"])
            start, end = math.log(before["seconds"]), math.log(snapshot["seconds"])
            npmi = before["npmi"] + share * (snapshot["npmi"] - before["npmi"])
            return Reached(math.exp(start + share * (end - start)), False, npmi)
        before = snapshot
    return None


def levels(systems: list[dict]) -> list[float]:
    """Returns the levels to compare at, best first: topicmill's best if no peer reached it, then those of the peers."""
    best = {system["name"]: max(s["log_likelihood"] for s in system["snapshots"]) for system in systems}
    peers = [value for name, value in best.items() if not name.startswith(OURS)] or list(best.values())
    ours = [value for name, value in best.items() if name.startswith(OURS)]
    chosen = [max(peers) - below for below in BELOW_THE_BEST]
    return [max(ours), *chosen] if max(ours, default=-math.inf) > chosen[0] else chosen


def ratio(times: dict[str, Reached | None]) -> str:
    """Returns the fastest peer's seconds over topicmill's, as a bound if one of them is a bound."""
    peers = [time for name, time in times.items() if not name.startswith(OURS) and time]
    ours = min((time for name, time in times.items() if name.startswith(OURS) and time), default=None)
    if not peers or not ours:
        return "–"
    fastest = min(peers)
    if fastest.is_bound and ours.is_bound:
        return "–"
    sign = "≤ " if fastest.is_bound else "≥ " if ours.is_bound else ""
    return f"{sign}{fastest.seconds / ours.seconds:.2f}"


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def head(*cells: str) -> str:
    return row(*cells) + row(*["---"] * len(cells))


def passes(number: float) -> str:
    return f"{number:.1f}" if number < 10 else f"{number:.0f}"


def table(results: dict) -> str:
    """Returns the whole report in Markdown."""
    corpus, settings, machine = results["corpus"], results["settings"], results["machine"]
    measured = [system for system in results["systems"] if system["snapshots"]]
    text = (
        f"# {corpus['name']}, {settings['topics']} topics\n\n"
        f"{corpus['train_documents']:,} documents, {corpus['train_tokens']:,} tokens, {corpus['terms']:,} terms; "
        f"{settings['threads']} threads; seed {settings['seed']}; at most {settings['seconds']:g} s of training each; {results['date']}, "
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}.\n\n"
        "## At the end of each system's time\n\n"
    )
    text += head("system", "version", *FIGURES, "peak memory, MB")
    for system in results["systems"]:
        text += last_row(system)
    text += notes(results)
    text += "\n## Settings\n\nBesides documents, topics, threads and the seed; all else is the system's default.\n\n"
    text += told(results["systems"])
    if measured:
        text += "\n## Seconds to reach a log-likelihood, and NPMI then\n\n" + reached(measured)
        text += "\n## All snapshots\n\n" + all_snapshots(measured)
    return text


def last_row(system: dict) -> str:
    """Returns the row of a system's last snapshot, or of its failure."""
    version = system["version"] or "–"
    if not system["snapshots"]:
        return row(system["name"], version, "failed", *["–"] * len(FIGURES))
    last = max(system["snapshots"], key=lambda snapshot: snapshot["seconds"])
    memory = f"{system['peak_mb']:,.0f}" if system["peak_mb"] else "–"
    return row(system["name"], version, *figures(last), memory)


def figures(snapshot: dict) -> list[str]:
    """Returns a snapshot's cells."""
    return [
        passes(snapshot["passes"]),
        f"{snapshot['seconds']:.2f}",
        f"{snapshot['log_likelihood']:.4f}",
        f"{snapshot['npmi']:.3f}",
        f"{snapshot['test_npmi']:.3f}",
        f"{snapshot['c_v']:.3f}",
        f"{snapshot['umass']:.0f}",
    ]


def told(systems: list[dict]) -> str:
    """Returns each system's settings, one line per system."""
    text = ""
    for system in systems:
        # Systems that failed to start, and results of older versions, have no settings.
        if "settings" not in system:
            continue
        settings = ", ".join(f"`{name} = {json.dumps(value)}`" for name, value in system["settings"].items())
        noted = any(snapshot.get("note") for snapshot in system["snapshots"])
        each = '; for each snapshot also the last column of "All snapshots"' if noted else ""
        text += f"- {system['name']}: {settings or 'nothing'}{each}\n"
    return text


def reached(measured: list[dict]) -> str:
    """Returns the seconds of each system at several levels, and the NPMI of its topics there."""
    names = [system["name"] for system in measured]
    text = head("log-likelihood", *names, f"fastest peer / {OURS}")
    for level in levels(measured):
        times = {system["name"]: reaches(level, system["snapshots"]) for system in measured}
        cells = ["–" if at is None else f"{'≤ ' if at.is_bound else ''}{at.seconds:.2f} ({at.npmi:.3f})" for at in times.values()]
        text += row(f"{level:.4f}", *cells, ratio(times))
    return text


def all_snapshots(measured: list[dict]) -> str:
    text = head("system", *FIGURES, "set")
    for system in measured:
        for snapshot in system["snapshots"]:
            text += row(system["name"], *figures(snapshot), snapshot.get("note", ""))
    return text


# What is drawn against training time: the figure of a snapshot, and its name.
CURVES = [("log_likelihood", "held-out log-likelihood, nats per token"), ("npmi", "NPMI of topics, training documents")]


def plot(results: dict, path: Path) -> None:
    """Draws held-out log-likelihood and NPMI against training time, a line per system."""
    matplotlib.rcParams["svg.hashsalt"] = "bench"
    figure, both = matplotlib.pyplot.subplots(1, len(CURVES), figsize=(14, 5), layout="constrained")
    for axes, (key, name) in zip(both, CURVES):
        for number, system in enumerate(results["systems"]):
            points = sorted(system["snapshots"], key=lambda snapshot: snapshot["seconds"])
            times, scores = ([point[key] for point in points] for key in ["seconds", key])
            label = f"{system['name']} {system['version'] or ''}" if points else f"{system['name']}: failed"
            axes.plot(times, scores, label=label, marker="os^D"[number % 4], markersize=4, linewidth=1.5)
        axes.set_xscale("log")
        axes.set_xlabel("training time, s")
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
    both[0].legend(loc="lower right")
    corpus, settings = results["corpus"], results["settings"]
    title = f"{corpus['name']}: {corpus['train_tokens']:,} tokens"
    figure.suptitle(f"{title}, {settings['topics']} topics, {settings['threads']} threads")
    figure.savefig(path, metadata={"Date": None})


def replace(path: Path, make: Callable[[Path], object]) -> None:
    """Makes a file under another name first, so that it is complete or absent."""
    unfinished = path.with_name(f"unfinished-{path.name}")
    try:
        make(unfinished)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    text = table(results)
    replace(folder / "table.md", lambda path: path.write_text(text, encoding="utf-8"))
    replace(folder / "curves.svg", lambda path: plot(results, path))
    print(f"\n{text}\n{folder / 'table.md'}, {folder / 'curves.svg'}")


if __name__ == "__main__":
    main()
