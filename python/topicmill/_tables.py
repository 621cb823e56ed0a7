"""The Parquet tables of a result, returned with an installed library."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow
import pyarrow.dataset

from .errors import DataError

Backend = Literal["pandas", "polars", "pyarrow"]
# A pandas or polars DataFrame, or a pyarrow Table.
Table = Any


def choose(backend: Backend | None) -> Backend:
    """Return `backend`, or the first one that is installed."""
    if backend is None:
        return next(name for name in get_args(Backend) if find_spec(name) is not None)
    if backend not in get_args(Backend):
        raise ValueError(f"backend is {backend!r}, but must be one of {', '.join(get_args(Backend))}")
    return backend


def read(
    folder: Path,
    columns: list[str] | None = None,
    where: pyarrow.dataset.Expression | None = None,
) -> pyarrow.Table:
    """Read all parts of a table's folder, in order."""
    parts = sorted(folder.glob("part-*.parquet"), key=lambda part: (len(part.name), part.name))
    if not parts:
        raise DataError(f"{folder} has no part-*.parquet: the result is damaged", "run the job again, to replace it")
    dataset = pyarrow.dataset.dataset(parts, format="parquet")
    return dataset.to_table(columns=columns, filter=where).replace_schema_metadata()


def convert(table: pyarrow.Table, backend: Backend) -> Table:
    """Convert an Arrow table to the type of `backend`."""
    if backend == "pandas":
        return table.to_pandas()
    if backend == "polars":
        import polars

        return polars.from_arrow(table)
    return table
