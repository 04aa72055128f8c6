"""One table on every engine that is there: Polars, pyarrow, DuckDB, Ibis, SQLFrame, Dask, Spark.

    frame = engine_frames.make("duckdb", {"answer": ["yes", None], "age": [31, 42]})

Columns are lists of Python values, None for a missing one; Arrow chooses their types, or
``types`` says them.  `make` skips the test where the engine, or narwhals, is not installed.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import count
from typing import Any

import pandas as pd
import pytest
import spark_session

ENGINES = [
    "polars",
    "polars lazy",
    "pyarrow",
    "duckdb",
    "ibis",
    "sqlframe",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("dask", "pyspark")),
]

QUIET = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
"""For tests that may start Spark, whose oldest version leaves sockets to the collector."""

_NUMBERS = count()

PARTS = 3
"""Chunks, or partitions, of the frames that have them."""


def arrow(columns: Mapping[str, Sequence[Any]], types: Mapping[str, Any] | None = None) -> Any:
    """A pyarrow Table of a few chunks."""
    pa = pytest.importorskip("pyarrow")
    asked = dict(types or {})
    found = pa.table({name: pa.array(v, type=asked.get(name)) for name, v in columns.items()})
    size = max(1, -(-found.num_rows // PARTS))
    return pa.Table.from_batches(found.to_batches(max_chunksize=size), schema=found.schema)


def of_arrow(engine: str, table: Any) -> Any:
    """A pyarrow Table as a frame of an engine."""
    pytest.importorskip("narwhals")
    if engine == "pyarrow":
        return table
    if engine.startswith("polars"):
        frame = pytest.importorskip("polars").from_arrow(table)
        return frame.lazy() if engine.endswith("lazy") else frame
    if engine == "duckdb":
        return pytest.importorskip("duckdb").from_arrow(table)
    if engine == "ibis":
        return _ibis().memtable(table)
    if engine == "sqlframe":
        session, connection = _sqlframe()
        name = f"held{next(_NUMBERS)}"
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        return session.table(name)
    if engine == "dask":
        dd = pytest.importorskip("dask.dataframe")
        held = table.to_pandas(types_mapper=pd.ArrowDtype)
        return dd.from_pandas(held, npartitions=PARTS, sort=False)
    session = spark_session.get()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark does not fully know pandas 3 yet, and says so
        return session.createDataFrame(table)


@cache
def _sqlframe() -> tuple[Any, Any]:
    """The one session of SQLFrame on DuckDB, and its connection."""
    session = pytest.importorskip("sqlframe.duckdb").DuckDBSession
    connection = pytest.importorskip("duckdb").connect()
    return session(conn=connection), connection


@cache
def _ibis() -> Any:
    """Ibis, loaded."""
    found = pytest.importorskip("ibis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an option of pandas 3 that it still asks for
        found.memtable({"a": [1]}).count().to_pyarrow()  # loads the rest
    return found


def told(error: BaseException) -> str:
    """All that an error says, with all that it carries along."""
    return "".join(traceback.format_exception(error)) + repr(error.__context__)


def make(
    engine: str, columns: Mapping[str, Sequence[Any]], types: Mapping[str, Any] | None = None
) -> Any:
    """The table on one of `ENGINES`."""
    return of_arrow(engine, arrow(columns, types))


def at_ease(engine: str) -> AbstractContextManager[Any]:
    """While it lasts Dask computes in this thread, which is faster for a few rows."""
    if engine != "dask":
        return nullcontext()
    import dask

    return dask.config.set(scheduler="synchronous")
