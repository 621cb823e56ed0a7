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

# With this variable the program ends when its standard input is closed: also if Python is killed.
_FOLLOW = "TOPICMILL_FOLLOW_PARENT"
# Of standard error: errors come last.
_LAST_LINES = 10_000


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


def run(
    *arguments: str | os.PathLike[str], lines: Iterable[str] | None = None, verbose: bool = False
) -> str:
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
    what it holds, and the next line is taken only when the program reads it. With `verbose`, standard error
    is shown as it comes. An exception that is raised meanwhile, such as KeyboardInterrupt, stops the program;
    if it is not fed, as SIGINT does: a run saves its progress first.
    """
    said: deque[str] = deque(maxlen=_LAST_LINES)

    def keep(line: str) -> None:
        said.append(line)
        if verbose:
            print(line, end="", file=sys.stderr, flush=True)

    with _start(arguments, follow=lines is None) as process:
        readers = [_Reader(process.stdout, take), _Reader(process.stderr, keep)]
        assert process.stdin is not None
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
            reader.end()
    if code != 0:
        raise from_exit(code, "".join(said))


def _start(arguments: Iterable[str | os.PathLike[str]], follow: bool) -> subprocess.Popen[str]:
    # The widest page that the program prints: nothing is cut to that of a terminal.
    environment = {**os.environ, "COLUMNS": "400"}
    if follow:
        environment[_FOLLOW] = "1"
    return subprocess.Popen(
        [path(), *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        # An interrupt of this process is passed on once, by us.
        start_new_session=True,
    )


def _feed(pipe: IO[str], lines: Iterable[str]) -> None:
    for line in lines:
        try:
            pipe.write(line)
        except BrokenPipeError:
            break  # The program has ended, and says why.
    _close(pipe)


def _close(pipe: IO[str]) -> None:
    with contextlib.suppress(BrokenPipeError):
        pipe.close()


class _Reader:
    """Reads a pipe to its end on a thread of its own; closes it, and keeps the error, if a line cannot be taken."""

    def __init__(self, pipe: IO[str] | None, take: Callable[[str], object]) -> None:
        assert pipe is not None
        self._pipe, self._take = pipe, take
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for line in self._pipe:
                self._take(line)
        except BaseException as error:
            self._error = error
            self._pipe.close()

    def end(self) -> None:
        self._thread.join()
        if self._error is not None:
            raise self._error
