"""Terms and documents of a topic, with their weights."""

from __future__ import annotations

from typing import NamedTuple


class TermWeight(NamedTuple):
    """A term of a topic.

    Parameters
    ----------
    term : str
    weight : float
        Its probability in the topic.
    """

    term: str
    weight: float


class DocumentWeight(NamedTuple):
    """A document of a topic.

    Parameters
    ----------
    doc_id : int
        The document's number, from 0, in the input's order.
    source_id : str
        Its id in the input.
    weight : float
        The topic's proportion in it.
    """

    doc_id: int
    source_id: str
    weight: float
