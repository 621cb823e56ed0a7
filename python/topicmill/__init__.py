"""Topic models of large text collections.

This package installs and calls the ``topicmill`` program, which does the work:

- `fit` trains topics on texts; `read` opens the output folder of a finished run. Both return a
  `Result`: tables, the model as arrays, inference for new texts.
- `convert` writes a model of another program as a table that ``topicmill evaluate`` reads; `evaluate`
  measures how well topics separate labelled documents, and how a model associates words.
- `TopicMill` is a transformer and `TopicMillClassifier` a classifier for scikit-learn.
- Errors of the program are exceptions with its message and remedy (`topicmill.errors`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors, evaluate
from ._convert import convert
from ._weights import DocumentDistance, DocumentWeight, LabelScore, TermWeight
from .errors import TopicMillError
from .fitting import fit, read
from .result import Result

if TYPE_CHECKING:
    from .classifier import TopicMillClassifier
    from .estimator import TopicMill

__all__ = [
    "DocumentDistance",
    "DocumentWeight",
    "LabelScore",
    "Result",
    "TermWeight",
    "TopicMill",
    "TopicMillClassifier",
    "TopicMillError",
    "convert",
    "errors",
    "evaluate",
    "fit",
    "read",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # scikit-learn is optional and takes a second to import.
    if name == "TopicMill":
        from .estimator import TopicMill

        return TopicMill
    if name == "TopicMillClassifier":
        from .classifier import TopicMillClassifier

        return TopicMillClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
