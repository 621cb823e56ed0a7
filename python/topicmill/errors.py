"""Exceptions that carry the program's message, its remedy and its exit code."""

from __future__ import annotations

import re

__all__ = [
    "DataError",
    "InternalError",
    "KilledError",
    "ProgramNotFoundError",
    "StoppedError",
    "StorageError",
    "TemporaryError",
    "TopicMillError",
    "UnavailableError",
    "UsageError",
]


class TopicMillError(Exception):
    """An error of the ``topicmill`` program.

    Parameters
    ----------
    message : str
        What went wrong, with its causes.
    remedy : str, optional
        What to do about it, unless the message says so.

    Attributes
    ----------
    message : str
    remedy : str or None
    code : int or None
        The program's exit code; None if the program did not run.
    """

    code: int | None = None

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return self.message if self.remedy is None else f"{self.message}\n{self.remedy}"


class ProgramNotFoundError(TopicMillError):
    """The ``topicmill`` program is not installed."""


class UsageError(TopicMillError, ValueError):
    """A setting or an argument is wrong; nothing was done."""

    code = 64


class DataError(TopicMillError, ValueError):
    """The input or a stored result is wrong."""

    code = 65


class UnavailableError(TopicMillError):
    """Another process was lost, or a worker stalled."""

    code = 69


class InternalError(TopicMillError, RuntimeError):
    """A bug in topicmill; please report it."""

    code = 70


class StorageError(TopicMillError):
    """Reading or writing failed: disk full, no permission."""

    code = 74


class TemporaryError(TopicMillError):
    """A temporary failure, such as an output that another run holds; the same call may succeed later."""

    code = 75


class KilledError(TopicMillError):
    """The program was killed, for example because memory ran out."""

    code = 137


class StoppedError(TopicMillError):
    """The program was stopped by a signal (SIGTERM, SIGINT)."""

    code = 143


# The program's flags that are arguments here.
_ARGUMENTS = {
    "overwrite": "overwrite=True",
    **{name: name for name in ("format", "output", "parallel", "seeds", "terms", "threads", "topics")},
}
_FLAG = re.compile(rf"(?<!\S)('?)--({'|'.join(_ARGUMENTS)})(?![\w-])(?: <\w+>)?")


def _in_python(text: str) -> str:
    """Return a line of a message with arguments instead of flags; the flags of commands stay."""
    if "topicmill " in text:
        return text
    return _FLAG.sub(lambda flag: flag[1] + _ARGUMENTS[flag[2]], text.replace("--set ", ""))


_BY_CODE = {kind.code: kind for kind in TopicMillError.__subclasses__() if kind.code is not None}


def from_exit(code: int, stderr: str) -> TopicMillError:
    """Return the exception for an exit code and the text on standard error.

    The program ends its errors with lines ``error: …``, ``cause: …`` and ``help: …``; anything
    before them, such as warnings, is left out.
    """
    # The code of a process that a signal ended is minus the signal's number.
    code = 128 - code if code < 0 else code
    lines = stderr.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("error: ")]
    said = lines[starts[-1] :] if starts else lines[-5:]
    said = [_in_python(line) for line in said if not line.startswith(("Usage: ", "For more information, try "))]
    remedies = [line.removeprefix("help: ") for line in said if line.startswith("help: ")]
    message = "\n".join(line for line in said if not line.startswith("help: "))
    message = message.removeprefix("error: ")
    kind = _BY_CODE.get(code, InternalError)
    error = kind(message.strip() or f"topicmill exited with {code}", "\n".join(remedies) or None)
    error.code = code
    return error
