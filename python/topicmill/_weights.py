"""Terms and documents of a topic, documents near another, and labels of a document, with their weights."""

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


class DocumentDistance(NamedTuple):
    """A document near the requested document, topic or text.

    Parameters
    ----------
    doc_id : int
        The document's number, from 0, in the input's order.
    source_id : str
        Its id in the input.
    distance : float
        The Hellinger distance between their topic proportions, from 0 to 1.
    """

    doc_id: int
    source_id: str
    distance: float


class LabelScore(NamedTuple):
    """A label that a document is predicted to have.

    Parameters
    ----------
    label : str
    score : float
        The share of the document's tokens that it is expected to have.
    """

    label: str
    score: float
