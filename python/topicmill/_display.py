"""A result or a sweep on the screen and in a notebook."""

from __future__ import annotations

import html
import re
from typing import Any

# The start of the table of topics that the program prints, after other tables and the training curve.
_HEADER = re.compile(r"^ *topic +share ", re.MULTILINE)
_MOST = 30


def topics_of(page: str) -> str:
    """Return the table of topics from the output of ``topicmill inspect``."""
    header = _HEADER.search(page)
    return page[header.start() :] if header else page


def page(title: str, topics: list[dict[str, Any]]) -> str:
    """Return the largest topics as HTML, from rows of the table ``topics``."""
    largest = sorted(topics, key=lambda row: (-row["share"], row["topic"]))[:_MOST]
    rows = "".join(
        f"<tr><td>{row['topic']}</td><td>{row['share']:.1%}</td><td>{_figure(row['coherence_npmi'])}</td>"
        f"<td style='text-align: left'>{html.escape(' '.join(row['top_terms'][:10]))}</td></tr>"
        for row in largest
    )
    others = len(topics) - len(largest)
    more = f"<p>… and {others:,} more topics</p>" if others else ""
    return (
        f"<p>{html.escape(title)}</p><table><thead><tr><th>topic</th><th>share</th>"
        "<th>coherence</th><th style='text-align: left'>top terms</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{more}"
    )


def sweep_page(title: str, advice: str, sizes: list[dict[str, Any]]) -> str:
    """Return the figures of each number of topics as HTML, from rows of the table ``sweep_sizes``."""
    rows = "".join(
        f"<tr><td style='text-align: left'>{html.escape(row['settings'])}</td><td>{row['topics']:,}</td>"
        f"<td>{_figure(row['log_likelihood_per_token'])}</td><td>{_figure(row['coherence_npmi'])}</td><td>{_figure(row['stability'])}</td>"
        f"<td style='text-align: left'>{_verdict(row)}</td></tr>"
        for row in sizes
    )
    return (
        f"<p>{html.escape(title)}</p><p>{html.escape(advice)}</p><table><thead><tr><th></th><th>topics</th>"
        "<th>held-out likelihood</th><th>coherence</th><th>stability</th><th></th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _verdict(row: dict[str, Any]) -> str:
    return "recommended" if row["recommended"] else "as good" if row["acceptable"] else ""


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
