"""The page about a result or a sweep, as an object that notebooks show."""

from __future__ import annotations

import html
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import Result

_HEIGHT = 800


class Report:
    """The page about a result or a sweep, which their ``report()`` returns. A notebook shows it, and ``print`` its path.

    Attributes
    ----------
    path : pathlib.Path
        The page, a file for a browser that needs no network.
    """

    def __init__(self, path: Path, result: Result) -> None:
        self.path = path
        # The files of a result in a temporary folder are removed with their object.
        self._result = result

    def open(self) -> None:
        """Open the page in a browser."""
        webbrowser.open(self.path.as_uri())

    def __repr__(self) -> str:
        return str(self.path)

    def _repr_html_(self) -> str:
        # In a frame of its own: neither its style nor its scripts reach the notebook. Its links are within it.
        page = self.path.read_text(encoding="utf-8").replace("<head>", '<head><base href="about:srcdoc">', 1)
        style = f"width: 100%; height: {_HEIGHT}px; border: 0"
        return f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads allow-popups" style="{style}"></iframe>'
