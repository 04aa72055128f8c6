"""What holds a frame and is none yet: which step makes it one.

A data set of files, a reader, a connection, a path: each is one call from a frame, and to say only
that it is none does not help.  Also frames with a name that is there twice, which narwhals refuses.
"""

from __future__ import annotations

import os
from typing import Any

from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["refuse_twice", "refuse_unopened"]

_STEPS = {
    ("pyarrow", "Dataset"): "give the table that its .to_table() reads",
    ("pyarrow", "RecordBatchReader"): "give the table that its .read_all() reads",
    ("pyarrow", "ParquetFile"): "give the table that its .read() reads",
    ("duckdb", "DuckDBPyConnection"): "give one of its relations, con.table('name') or "
    "con.sql('SELECT ...')",
    ("pyspark", "SparkSession"): "give one of its frames, spark.table('name') or "
    "spark.read.parquet(path)",
}

_FILE = (
    "count one column of a file with rr.files.tally_file(path, 'name'), or open it as a frame, as "
    "pandas.read_parquet does"
)


def refuse_unopened(data: Any, *, text: bool = False) -> None:
    """Raise ArgumentTypeError, with the step to take, for what holds a frame and is none.

    text : whether text is meant as a path, and not as an answer.
    """
    step = None
    if isinstance(data, os.PathLike) or (text and isinstance(data, str)):
        step = _FILE
    for kind in type(data).__mro__:
        step = step or _STEPS.get((_package(kind), kind.__name__))
    if step is not None:
        raise ArgumentTypeError(
            f"data must be a frame, or a column of one, found {type(data).__name__}; {step}"
        )


def refuse_twice(data: Any) -> None:
    """Raise ArgumentValueError for a frame of Arrow or Dask in which a name is there twice."""
    kind = type(data)
    if _package(kind) not in ("pyarrow", "dask"):
        return
    names = data.column_names if hasattr(data, "column_names") else list(data.columns)
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ArgumentValueError(
            f"the columns of a {kind.__name__} of {_package(kind)} must have a name each, and "
            f"{twice[0]!r} is there twice; rename one, or leave it out"
        )


def _package(kind: type) -> str:
    """Where a type is from; compiled modules have a line before their names."""
    return kind.__module__.partition(".")[0].lstrip("_")
