"""Errors that end the command with one line, and their exit codes."""

import sys
from collections.abc import Callable


class Refused(Exception):
    """The command line or the input is wrong: the message names the file and the remedy."""

    code = 2


class Failed(Exception):
    """Something that should have worked did not."""

    code = 1


def guarded(work: Callable[[], int | None]) -> int:
    """Runs the work of a process; returns its exit code, after printing one line if it failed."""
    try:
        return work() or 0
    except (Refused, Failed) as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("bench: stopped; the last finished results, if any, are untouched", file=sys.stderr)
        return 130
