"""The Parquet tables of a result, returned with an installed library."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, cast, get_args

import pyarrow
import pyarrow.dataset

from .errors import DataError

Backend = Literal["pandas", "polars", "pyarrow"]
# A pandas or polars DataFrame, or a pyarrow Table.
Table = Any
# The rows of the table `vocabulary` that are terms of the model.
IS_KEPT = pyarrow.dataset.field("term_id").is_valid()


def choose(backend: Backend | None, given: object = None) -> Backend:
    """Return `backend`, or the library of a given table, or the first one that is installed."""
    library = type(given).__module__.partition(".")[0]
    if backend is None and library in get_args(Backend):
        return cast(Backend, library)
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
    dataset = pyarrow.dataset.dataset(parts(folder, "part-*.parquet"), format="parquet")
    return dataset.to_table(columns=columns, filter=where).replace_schema_metadata()


def parts(folder: Path, pattern: str) -> list[Path]:
    """Return the numbered files of a folder, in order."""
    found = sorted(folder.glob(pattern), key=lambda part: (len(part.name), part.name))
    if not found:
        raise DataError(f"{folder} has no {pattern}: the result is damaged", "run the job again, to replace it")
    return found


def convert(table: pyarrow.Table, backend: Backend) -> Table:
    """Convert an Arrow table to the type of `backend`."""
    if backend == "pandas":
        return table.to_pandas()
    if backend == "polars":
        import polars

        return polars.from_arrow(table)
    return table
