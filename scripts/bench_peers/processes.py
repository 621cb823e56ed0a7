"""Runs one process at a time, and leaves none of its children behind."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Time for a terminated process to clean up.
GRACE_SECONDS = 10

# Systems set their own threads; BLAS must not add more.
ENVIRONMENT = {name: "1" for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]}


def run(command: Sequence[object], log: Path | None = None, limit: float | None = None) -> str | None:
    """Runs a command, with its output in `log` if given; returns the problem, or None."""
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    output = open(log, "wb") if log else None
    try:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            env=environment,
            start_new_session=True,
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            end(process)
            return f"ended after {limit:.0f} s"
        except BaseException:
            end(process)
            raise
    finally:
        if output:
            output.close()
    if code < 0:
        return f"ended by {signal.Signals(-code).name}" + (", perhaps for lack of memory" if code == -9 else "")
    return None if code == 0 else last_line(log) or f"exit code {code}"


def end(process: subprocess.Popen) -> None:
    """Ends a process and its group, gently first."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def last_line(log: Path | None) -> str:
    """Returns the last non-blank line of a log."""
    said = log.read_text(encoding="utf-8", errors="replace").split("\n") if log else []
    return next((line.strip() for line in reversed(said) if line.strip()), "")
