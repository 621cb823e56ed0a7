"""The exported JSON as pyLDAvis's own type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import _extras


def read(path: Path) -> Any:
    """Return the ``pyLDAvis.PreparedData`` of an exported file."""
    with _extras.needed("to_pyldavis", "pyldavis"):
        import pandas
        from pyLDAvis import PreparedData

    data = json.loads(path.read_text(encoding="utf-8"))
    order = [number - 1 for number in data["topic.order"]]
    coordinates = pandas.DataFrame(data["mdsDat"])
    coordinates.insert(0, "topic", order)
    tokens = pandas.DataFrame(data["token.table"])
    return PreparedData(
        topic_coordinates=coordinates.set_index("topic"),
        topic_info=pandas.DataFrame(data["tinfo"]),
        token_table=tokens,
        R=data["R"],
        lambda_step=data["lambda.step"],
        plot_opts=data["plot.opts"],
        topic_order=data["topic.order"],
    )
