"""The ``topicmill`` program: where it is installed, running it, and feeding it a stream."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from .errors import ProgramNotFoundError, from_exit


def path() -> Path:
    """Return the program's path: ``$TOPICMILL``, beside this package, or on ``$PATH``."""
    chosen = os.environ.get("TOPICMILL")
    if chosen:
        if shutil.which(chosen) is None:
            raise ProgramNotFoundError(f"TOPICMILL is {chosen}: no such program", "correct or unset the variable")
        return Path(chosen)
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")):
        program = Path(folder, "topicmill")
        if program.is_file():
            return program
    found = shutil.which("topicmill")
    if found is None:
        raise ProgramNotFoundError(
            "the topicmill program is not installed",
            "install the package with `pip install ./python` in topicmill's source folder, "
            "or set TOPICMILL to the program's path",
        )
    return Path(found)


def run(*arguments: str | os.PathLike[str], lines: Iterable[str] | None = None, verbose: bool = False) -> str:
    """Run the program to its end, as `stream` does, and return its standard output."""
    printed: list[str] = []
    stream(arguments, printed.append, lines, verbose)
    return "".join(printed)


def stream(
    arguments: Iterable[str | os.PathLike[str]],
    take: Callable[[str], object],
    lines: Iterable[str] | None = None,
    verbose: bool = False,
) -> None:
    """Run the program to its end, feed it `lines`, and call `take` with each line of its standard output.

    `take` is called on another thread. Memory does not grow with the number of lines: the program bounds
    the lines that it holds, and the next line is produced only when the program reads it. With `verbose`,
    standard error is shown as it arrives. An exception that is raised meanwhile, such as KeyboardInterrupt,
    stops the program: with SIGKILL if it is fed, else with SIGINT, so that a run saves its progress first.
    """
    said: deque[str] = deque(maxlen=10_000)  # Errors are printed last.

    def keep(line: str) -> None:
        said.append(line)
        if verbose:
            print(line, end="", file=sys.stderr, flush=True)

    # The program's widest output, so that nothing is cut to the width of a terminal.
    environment = {**os.environ, "COLUMNS": "400"}
    if lines is None:
        # The program ends when its standard input is closed, even if Python is killed.
        environment["TOPICMILL_FOLLOW_PARENT"] = "1"
    process = subprocess.Popen(
        [path(), *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        # This process passes an interrupt on once; the terminal must not send it to the program too.
        start_new_session=True,
    )
    assert process.stdin and process.stdout and process.stderr
    errors: list[BaseException] = []
    # Daemon threads: if Python exits meanwhile, it does not wait for the program.
    readers = [
        threading.Thread(target=_drain, args=(*of, errors), daemon=True)
        for of in ((process.stdout, take), (process.stderr, keep))
    ]
    with process:
        for reader in readers:
            reader.start()
        try:
            if lines is not None:
                _feed(process.stdin, lines)
            code = process.wait()
        except BaseException:
            process.send_signal(signal.SIGINT if lines is None else signal.SIGKILL)
            process.wait()
            _close(process.stdin)
            raise
        for reader in readers:
            reader.join()
    for error in errors:
        raise error
    if code != 0:
        raise from_exit(code, "".join(said))


def _drain(pipe: IO[str], take: Callable[[str], object], errors: list[BaseException]) -> None:
    try:
        with pipe:  # Closed even if `take` raises, which ends the program.
            for line in pipe:
                take(line)
    except BaseException as error:
        errors.append(error)


def _feed(pipe: IO[str], lines: Iterable[str]) -> None:
    for line in lines:
        try:
            pipe.write(line)
        except BrokenPipeError:
            break  # The program has ended and printed the reason.
    _close(pipe)


def _close(pipe: IO[str]) -> None:
    with contextlib.suppress(BrokenPipeError):
        pipe.close()
