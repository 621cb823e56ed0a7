"""Runs measurements, and then their report, in modules that run with the packages that they need."""

import json
import os
import tempfile
from pathlib import Path

from bench_peers import processes
from bench_peers.refused import Failed


def carry_out(python: Path, out: Path, plan: dict, module: str, results: tuple[str, ...], report: str | None) -> None:
    """Runs a module on a folder with plan.json, moves its files `results` to `out`, and makes the report, if any, from
    them."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=out) as scratch:
        (Path(scratch) / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        problem = processes.run([python, "-m", module, scratch])
        if problem:
            raise Failed(problem)
        for name in results:
            os.replace(Path(scratch) / name, out / name)
    problem = report and processes.run([python, "-m", report, out])
    if problem:
        raise Failed(f"the report could not be made: {problem}")
