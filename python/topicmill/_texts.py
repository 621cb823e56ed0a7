"""Texts as the program reads them: JSON Lines."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

_NAMES = "pass a list of label names for each text"


def lines(
    texts: Iterable[str | None],
    ids: Iterable[object] | None = None,
    metadata: Mapping[str, Iterable[object]] | None = None,
    text_key: str = "text",
    id_key: str = "id",
    first: int = 0,
) -> Iterator[str]:
    """Yield one JSON object per text, with a line break; the keys are those under which a job looks for text and id.

    Without `ids`, the id of a text is its position, from `first`. A missing text (None, NaN, a
    null of pandas, polars or Arrow) is null, and gets the status ``empty``.
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts is a single string: pass a list of texts, or a pathlib.Path of files to read")
    if isinstance(texts, Mapping) or is_table(texts):
        raise TypeError(f"texts is a {type(texts).__name__}: pass one of its columns")
    columns: dict[str, Iterator[object]] = {}
    if ids is not None:
        columns[id_key] = iter(ids)
    for name, values in ({} if metadata is None else metadata).items():
        if name in (text_key, id_key):
            advice = "pass it as ids" if name == id_key else "rename it"
            raise ValueError(f"a column of metadata cannot be named {name!r}: {advice}")
        columns[name] = iter(values)
    count = 0
    for position, text in enumerate(texts):
        line: dict[str, object] = {id_key: str(first + position)}
        for name, column in columns.items():
            value = plain(next(column, columns))
            if value is columns:
                raise ValueError(f"{_argument(name, id_key)} has {position} values, fewer than there are texts")
            line[name] = value
        line[text_key] = _text(text, position)
        yield json.dumps(line, default=_jsonable) + "\n"
        count += 1
    for name, column in columns.items():
        if next(column, columns) is not columns:
            raise ValueError(f"{_argument(name, id_key)} has more values than the {count} texts")


def _argument(column: str, id_key: str) -> str:
    return "ids" if column == id_key else column


def _jsonable(value: Any) -> Any:
    """Return lists of numpy and polars as lists, and all else as text."""
    to_list = getattr(value, "to_list", getattr(value, "tolist", None))
    return str(value) if to_list is None or isinstance(value, np.generic) else to_list()


def is_table(value: object) -> bool:
    """Whether this is a DataFrame of pandas or polars, or a table of pyarrow."""
    return hasattr(value, "columns")


def column(table: Any, name: str, argument: str) -> Any:
    """Return the column of a table that an argument names."""
    check_name(name, list(getattr(table, "column_names", table.columns)), f"the {type(table).__name__}", argument)
    return table[name]


def check_name(name: str, names: list[str], of: str, argument: str) -> None:
    """Refuse a column that is not there, with the nearest name."""
    if name not in names:
        near = get_close_matches(name, map(str, names), n=1, cutoff=0.5)
        advice = f"did you mean {argument}={near[0]!r}?" if near else f"name one with {argument}="
        listed = ", ".join(map(repr, names[:20])) + ", …" * (len(names) > 20)
        raise ValueError(f"{of} has no column {name!r}: {advice}\nit has {listed}")


def label_lists(labels: Iterable[object]) -> Iterator[list[str]]:
    """Yield each text's labels as a list of strings: one label, several, or none (a missing value)."""
    if isinstance(labels, Mapping) or hasattr(labels, "columns"):
        raise TypeError(f"labels is a {type(labels).__name__}: {_NAMES}, or one of its columns")
    if hasattr(labels, "toarray") or _is_indicators(labels):
        raise TypeError(f"labels is a matrix of indicators: {_NAMES}")
    for position, value in enumerate(labels):
        value = plain(value)
        is_single = value is None or isinstance(value, str) or not isinstance(value, Iterable)
        names = [plain(label) for label in ([value] if is_single else value)]
        if not is_single and any(isinstance(label, (bool, np.bool_)) for label in names):
            raise TypeError(f"the labels of text {position} are indicators: {_NAMES}")
        yield [str(label) for label in names if label is not None]


def spool(documents: Iterable[str], folder: Path) -> Path:
    """Write JSON Lines to a file in `folder`, and return its path.

    The name is a hash of the content, so that the same texts are the same input.
    """
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    # In a folder of its own, because another call may write to `folder` at the same time.
    with tempfile.TemporaryDirectory(dir=folder) as own:
        partial = Path(own, "documents")
        with partial.open("wb") as file:
            for line in documents:
                data = line.encode("ascii")
                digest.update(data)
                file.write(data)
        return partial.rename(folder / f"documents-{digest.hexdigest()[:16]}.jsonl")


def _is_indicators(labels: Any) -> bool:
    return getattr(labels, "ndim", 1) > 1 and bool(((labels == 0) | (labels == 1)).all())


def _text(value: object, position: int) -> str | None:
    value = plain(value)
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"text {position} is {type(value).__name__}, not str")


def plain(value: Any) -> Any:
    """Convert scalars of Arrow and numpy's booleans to Python's; return None for a missing value."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    if isinstance(value, np.bool_):
        return bool(value)
    # NaN and numpy's NaT differ from themselves.
    if isinstance(value, (float, np.generic)) and value != value:
        return None
    return None if type(value).__name__ in ("NAType", "NaTType") else value
