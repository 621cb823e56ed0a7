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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from .errors import ProgramNotFoundError, from_exit

# With this variable the program ends when its standard input is closed: also if Python is killed.
_FOLLOW = "TOPICMILL_FOLLOW_PARENT"
_NAME = "topicmill.exe" if os.name == "nt" else "topicmill"


def path() -> Path:
    """Return the program's path: ``$TOPICMILL``, beside this package, or on ``$PATH``."""
    chosen = os.environ.get("TOPICMILL")
    if chosen:
        return Path(chosen)
    schemes = [sysconfig.get_path("scripts")]
    with contextlib.suppress(KeyError):
        schemes.append(sysconfig.get_path("scripts", f"{os.name}_user"))
    for folder in schemes:
        program = Path(folder, _NAME)
        if program.is_file():
            return program
    found = shutil.which(_NAME)
    if found is None:
        raise ProgramNotFoundError(
            "the topicmill program is not installed",
            "install the package with `pip install ./python` in topicmill's source folder, "
            "or set TOPICMILL to the program's path",
        )
    return Path(found)


def run(*arguments: str | os.PathLike[str], verbose: bool = False) -> str:
    """Run the program to its end, and return its standard output.

    With `verbose`, what it writes to standard error is shown as it comes. An exception that is raised
    meanwhile, such as KeyboardInterrupt, stops it as SIGINT does: a run saves its progress first.
    """
    with _start(arguments, follow=True) as process:
        errors = _Collector(process.stderr, sys.stderr if verbose else None)
        output = _Collector(process.stdout, None)
        try:
            code = process.wait()
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
        said, printed = errors.text(), output.text()
    if code != 0:
        raise from_exit(code, said)
    return printed


def stream(arguments: Iterable[str | os.PathLike[str]], lines: Iterable[str]) -> Iterator[str]:
    """Feed `lines` to the program, and yield the lines that it answers.

    Memory does not grow with the number of lines: the program bounds what it holds, and a thread
    takes the next line only when the program reads it.
    """
    with _start(arguments, follow=False) as process:
        errors = _Collector(process.stderr, None)
        feeder = _Feeder(process, lines)
        assert process.stdout is not None
        try:
            yield from process.stdout
        finally:
            # Where the caller has lost interest, too.
            process.stdout.close()
            feeder.end()
            code, said = process.wait(), errors.text()
    if feeder.error is not None:
        raise feeder.error
    if code != 0:
        raise from_exit(code, said)


def _start(arguments: Iterable[str | os.PathLike[str]], follow: bool) -> subprocess.Popen[str]:
    environment = dict(os.environ)
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


class _Collector:
    """Reads a pipe to its end on a thread of its own, and may repeat it elsewhere."""

    # Lines kept of a verbose run: errors come last.
    _LINES = 10_000

    def __init__(self, pipe: IO[str] | None, shown: IO[str] | None) -> None:
        assert pipe is not None
        self._pipe, self._shown = pipe, shown
        self._lines: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._pipe:
            self._lines.append(line)
            if self._shown is not None:
                self._shown.write(line)
                self._shown.flush()
                del self._lines[: -self._LINES]

    def text(self) -> str:
        self._thread.join()
        return "".join(self._lines)


class _Feeder:
    """Writes lines to a process on a thread of its own; keeps the error of their source."""

    def __init__(self, process: subprocess.Popen[str], lines: Iterable[str]) -> None:
        assert process.stdin is not None
        self.error: BaseException | None = None
        self._process, self._pipe, self._lines = process, process.stdin, lines
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        try:
            for line in self._lines:
                self._pipe.write(line)
        except BrokenPipeError:
            pass  # The program has ended, and says why.
        except BaseException as error:
            self.error = error
        finally:
            with contextlib.suppress(BrokenPipeError):
                self._pipe.close()

    def end(self) -> None:
        self._thread.join()
