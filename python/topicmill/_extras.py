"""Packages that only some calls need, and the extras that install them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def needed(by: str, extra: str) -> Iterator[None]:
    """Name the extra to install if an import fails."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{by} needs more packages ({error}): pip install 'topicmill[{extra}]'") from error
