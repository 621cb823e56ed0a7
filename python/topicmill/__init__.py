"""Topic models of large text collections.

This package installs and calls the ``topicmill`` program, which does the work:

- `fit` trains topics on texts; `read` opens the output folder of a finished run. Both return a
  `Result`: tables, the model as arrays, pictures, inference for new texts.
- `sweep` trains several numbers of topics, each with several seeds, and returns a `Sweep`, which compares them and
  recommends a number; `read_sweep` opens the folder of one.
- `convert` writes a model of another program as a table that ``topicmill evaluate`` reads; `evaluate`
  measures how well topics separate labelled documents, and how a model associates words.
- `TopicMill` is a transformer and `TopicMillClassifier` a classifier for scikit-learn.
- Errors of the program are exceptions with its message and remedy (`topicmill.errors`).

The program alone needs no other package; what is here needs ``pip install 'topicmill[analysis]'``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _extras, errors
from .errors import TopicMillError

if TYPE_CHECKING:
    from . import evaluate
    from ._convert import convert
    from ._weights import DocumentDistance, DocumentWeight, LabelScore, TermWeight
    from .classifier import TopicMillClassifier
    from .estimator import TopicMill
    from .fitting import fit, read
    from .result import Result
    from .sweeping import Sweep, read_sweep, sweep

    __version__: str

__all__ = [
    "DocumentDistance",
    "DocumentWeight",
    "LabelScore",
    "Result",
    "Sweep",
    "TermWeight",
    "TopicMill",
    "TopicMillClassifier",
    "TopicMillError",
    "__version__",
    "convert",
    "errors",
    "evaluate",
    "fit",
    "read",
    "read_sweep",
    "sweep",
]

# The names that are imported on first use, by module.
_MODULES = {
    "_convert": ["convert"],
    "_weights": ["DocumentDistance", "DocumentWeight", "LabelScore", "TermWeight"],
    "classifier": ["TopicMillClassifier"],
    "estimator": ["TopicMill"],
    "fitting": ["fit", "read"],
    "result": ["Result"],
    "sweeping": ["Sweep", "read_sweep", "sweep"],
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("topicmill")
    with _extras.needed(f"topicmill.{name}", "sklearn" if name.startswith("TopicMill") else "analysis"):
        if name == "evaluate":
            return import_module(".evaluate", __name__)
        if name in _MODULE_OF:
            return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
