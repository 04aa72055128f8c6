"""Columns of a container: open the cells of an array, a Series or one column of a frame."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Collection, Hashable, Iterable
from decimal import Decimal
from functools import partial
from numbers import Number
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from rrstats._checks import FROM_COUNTS, check_rows, quote, type_name
from rrstats._names import nearest
from rrstats._typing import Floats, Indices
from rrstats.data.arrow import arrow_type, plain, polars_series, taken
from rrstats.data.categories import is_missing
from rrstats.data.rebuilt import rebuilt_index
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.randomness.sources import BLOCK_ROWS

_NUMERIC = {*"biuf", "integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty"}
"""Kinds of dtypes that are numbers, and what pandas calls objects that are."""


def blocks(rows: int, size: int = BLOCK_ROWS) -> list[slice]:
    """All rows, in blocks that stay in cache."""
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def aligned(values: Any, columns: Iterable[tuple[str, Any]]) -> None:
    """Raise where a column has another index than the values: rows would go by position.

    values : answers or reports; only of a Series the index is compared.
    columns : those of the same rows, each with its argument.
    """
    if not isinstance(values, pd.Series):
        return
    for name, column in columns:
        is_labelled = isinstance(column, pd.Series | pd.DataFrame)
        if is_labelled and not values.index.equals(column.index):
            raise ArgumentValueError(
                f"{name} must have the same index as the values, found a different one; align it, "
                f"or give {name}.to_numpy() to match rows by position"
            )


def unchanged(values: Any, *_: Any) -> Any:
    """Return the values and ignore all other arguments."""
    return values


class Column(NamedTuple):
    """The opened cells of a container, and the way back into such a container.

    cells : the n answers as a list, or as a flat NumPy, pandas or Arrow array.
    family : "list", "numpy", "pandas" or "arrow".
    dtype : their declared type.
    shape : the shape of the container; () for one answer.
    wrap : puts the reports of a builder into a container of the same type.
    """

    cells: Any
    family: str
    dtype: Any
    shape: tuple[int, ...]
    wrap: Callable[[Any], Any] = unchanged

    @property
    def rows(self) -> int:
        """The number of answers."""
        return len(self.cells)

    def take(self, places: Indices) -> Any:
        """Return the cells at some increasing places, in an array that a reader of these takes."""
        if self.family == "list":
            return [self.cells[place] for place in places.tolist()]
        if arrow_type(self.dtype) is None:
            return self.cells[places]
        return taken(self.cells, places)

    def pick(self, places: Indices) -> list[Any]:
        """Return the answers at some places, as Python values; they are private."""
        if self.family == "list":
            return list(self.take(places))
        if self.family == "arrow":
            return list(self.cells.take(places).to_pylist())
        return list(self.cells.take(places))


_NO_COLUMNS: dict[type, str] = {
    pd.DataFrame: "give one column, such as df['answer'], or use df.rr with its name",
    pd.MultiIndex: "pick one level",
    np.ma.MaskedArray: "masked cells would be answers; give values.astype(object).filled(None)",
}

_SCALARS = (str, bytes, np.generic, Number, enum.Enum, datetime.date, datetime.timedelta)


def open_column(values: Any) -> Column:
    """Open the flat cells of a container of answers.

    Parameters
    ----------
    values : list, tuple, scalar, ndarray, Series, Index, Arrow array or Polars Series
        The answers; any object with Arrow's PyCapsule interface will do.

    Returns
    -------
    Column

    Raises
    ------
    ArgumentTypeError
        The container is one that reports cannot be given back in.
    """
    for kind, advice in _NO_COLUMNS.items():
        if isinstance(values, kind):
            raise ArgumentTypeError(
                f"values must be one column, found {type(values).__name__}; {advice}"
            )
    if isinstance(values, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        return _open_pandas(values)
    if isinstance(values, np.ndarray):
        shape = values.shape
        return Column(
            np.asarray(values).reshape(-1),
            "numpy",
            values.dtype,
            shape,
            lambda reports: reports.reshape(shape + reports.shape[1:]),
        )
    object_type = np.dtype(object)
    if isinstance(values, list | tuple):
        cells = values if type(values) is list else list(values)
        wrap = unchanged if isinstance(values, list) else tuple
        return Column(cells, "list", object_type, (len(cells),), wrap)
    if isinstance(values, _SCALARS) or is_missing(values):
        return Column([values], "list", object_type, (), itemgetter(0))
    column = _open_arrow(values)
    if column is not None:
        return column
    advice = engine_hint(values) or "; convert it to one of these"
    if isinstance(values, dict):
        advice += f"; counts of reports go to {FROM_COUNTS}"
    raise ArgumentTypeError(
        "values must be a list, tuple, array, Series, Index, Arrow array or one answer, "
        f"found {type(values).__name__}{advice}"
    )


def _open_pandas(values: Any) -> Column:
    """Open a Series, an Index or an array of pandas."""
    cells: Any = values.array if isinstance(values, pd.Series | pd.Index) else values
    if type(cells) is pd.arrays.NumpyExtensionArray or isinstance(cells.dtype, np.dtype):
        cells = values.to_numpy()
    elif isinstance(cells.dtype, pd.ArrowDtype):
        array = plain(cells.__arrow_array__())
        if array.type != cells.dtype.pyarrow_dtype:
            cells = pd.array(array, dtype=pd.ArrowDtype(array.type))

    def wrap(reports: Any) -> Any:
        # The dtype is named each time, so that pandas infers nothing from the reports.
        dtype = reports.dtype
        if isinstance(values, pd.Series):
            index = rebuilt_index(values.index)
            return pd.Series(reports, index=index, name=values.name, dtype=dtype, copy=False)
        if isinstance(values, pd.Index):
            return pd.Index(reports, dtype=dtype, name=values.name, tupleize_cols=False)
        if isinstance(reports, np.ndarray):
            return pd.array(reports, dtype=dtype, copy=False)
        return reports

    return Column(cells, "pandas", cells.dtype, (len(values),), wrap)


def _open_arrow(values: Any) -> Column | None:
    """Open a column of Arrow, or of another library with Arrow's PyCapsule interface."""
    library = type(values).__module__.partition(".")[0]
    streams = hasattr(type(values), "__arrow_c_stream__")
    if library != "pyarrow" and not streams and not hasattr(type(values), "__arrow_c_array__"):
        return None
    import pyarrow as pa

    if isinstance(values, pa.Scalar):
        cells = pa.array([values], type=values.type)
        return Column(cells, "arrow", cells.type, (), itemgetter(0))
    if isinstance(values, pa.Array | pa.ChunkedArray):
        values = plain(values)
        return Column(values, "arrow", values.type, (len(values),))
    if library == "pyarrow" or (library == "polars" and not hasattr(values, "name")):
        return None  # a table
    try:
        if library == "polars":
            cells = values.to_arrow()
            wrap: Callable[[Any], Any] = partial(polars_series, values)
        else:
            cells = pa.chunked_array(values) if streams else pa.array(values)
            kind: Any = type(values)
            wrap = kind.from_arrow if hasattr(kind, "from_arrow") else kind
        if pa.types.is_struct(cells.type):
            return None
        wrap(cells[:0])
        cells = plain(cells)
    except Exception:
        raise ArgumentTypeError(
            f"values of type {type(values).__name__} ({library}) cannot be converted to one Arrow "
            "array and back; convert them to an array of pyarrow"
        ) from None
    return Column(cells, "arrow", cells.type, (len(cells),), wrap)


_SINKS = {
    "dask": "rrstats.engines.dask.privatize_parquet",
    "pyspark": "rrstats.engines.spark.privatize_parquet",
    "polars": "rrstats.engines.polars.sink_privatized",
}


def engine_hint(values: Any) -> str:
    """Advice for a frame or column of an engine; empty for all else.

    Lazy frames are computed anew for every use, and each time the noise would be drawn anew.
    """
    engine = type(values).__module__.partition(".")[0]
    if engine not in _SINKS:
        return ""
    module = "spark" if engine == "pyspark" else engine
    return (
        f" of {engine}: a lazy frame is computed again for every use, and fresh noise would be "
        f"drawn each time, which reveals the answers; {_SINKS[engine]} writes reports once, "
        "and a lazy frame can have keyed ones (key=rr.client.Keyed(key, id); import "
        f"rrstats.engines.{module}); "
        "to count reports, give rr.tally or "
        "rr.estimate the engine's frame and columns="
    )


def is_table(values: Any) -> bool:
    """Tell a Polars frame in memory, or an Arrow table."""
    library = type(values).__module__.partition(".")[0]
    return (library, type(values).__name__) in (("polars", "DataFrame"), ("pyarrow", "Table"))


def column_labels(data: Any) -> Any:
    """The names of the columns of a frame or table, as an Index of pandas."""
    if isinstance(data, pd.DataFrame):
        return data.columns
    # Of Arrow, columns are the cells.
    names = data.column_names if hasattr(data, "column_names") else data.columns
    return pd.Index(names, dtype=object)


def name_of(values: Any, default: Hashable = None) -> Hashable:
    """The name of a Series, an Index or another named column; of all else the default.

    A single answer may have a ``name``, too, which is private: the members of an Enum do.
    """
    is_column = isinstance(values, pd.Index) or hasattr(type(values), "__arrow_c_stream__")
    is_named = isinstance(values, pd.Series) or (is_column and hasattr(values, "name"))
    name: Hashable = values.name if is_named else default
    return name


def check_any_column(columns: Iterable[Hashable], names: Collection[Hashable]) -> None:
    """Raise if none of several names is a column: then they may be answers, and are counted."""
    if len(names) > 1 and not {*names} & {*columns}:
        raise ArgumentValueError(f"none of the {len(names)} names is a column")


def place_of(data: Any, name: Hashable) -> int:
    """Position of one column of a frame; raises where it is not there just once."""
    labels: Any = column_labels(data)
    try:
        location = labels.get_loc(name)
    except (KeyError, TypeError, ValueError, pd.errors.InvalidIndexError):
        location = slice(0)
    places = np.atleast_1d(np.arange(len(labels))[location])
    is_list = isinstance(name, slice | np.ndarray | pd.Index | pd.Series | pd.DataFrame)
    times = len(places)
    if times == 1 and not is_list:
        return int(places[0])
    is_full_name = isinstance(name, tuple) and 1 < labels.nlevels == len(name)
    text = repr(name) if is_full_name else quote(name)
    if is_list or (not times and text == type_name(name)):  # it may hold answers
        raise ArgumentTypeError(f"a column is given by its name, found {type_name(name)}")
    listed = ", ".join(repr(column) for column in list(labels)[:20])
    if times:
        finding = f"is there {times} times"
    else:
        finding = "is not there"
        near = nearest(name, labels)
        if near is not None:
            finding += f"; did you mean {near!r}"
    raise ArgumentValueError(f"column {text} {finding}; the columns are {listed}")


def column_of(data: Any, name: Hashable) -> pd.Series[Any]:
    """One column of a frame; raises where it is not there just once."""
    place = place_of(data, name)
    if isinstance(data, pd.DataFrame):
        return data.iloc[:, place]
    of_table: pd.Series[Any] = data[name]
    return of_table


def is_by_row(value: Any) -> bool:
    """True for a prob or epsilon that is a column of numbers, one for each row."""
    if hasattr(value, "ndim"):
        return bool(value.ndim == 1)
    return isinstance(value, list) or hasattr(value, "to_pandas")


def names_column(value: Any) -> bool:
    """True for a prob or epsilon of a frame that is the name of a column: it is no number."""
    if isinstance(value, str):
        return True
    is_number = isinstance(value, Number | Decimal) or hasattr(value, "__array__")
    return isinstance(value, Hashable) and value is not None and not is_number


def rate_column(data: Any, name: Hashable, argument: str) -> Any:
    """The column of a frame that prob or epsilon names; raises for a number written as text."""
    is_number = isinstance(name, str) and name.replace(".", "", 1).isdigit()
    if is_number and name not in column_labels(data):
        raise ArgumentTypeError(
            f"{argument} must be a number, or the name of a column, found the text {name!r}; "
            f"write {argument}={name}"
        )
    return column_of(data, name)


def numbers(values: Any, name: str, rows: int, *, finite: bool = True) -> Floats:
    """(rows,) floats, missing ones NaN; raises for what is no number, or infinite."""
    column = values if isinstance(values, pd.Series) else pd.Series(values)
    check_rows(len(column), rows, name, "number")
    kind = column.dtype.kind if column.dtype.kind in "biuf" else infer_dtype(column, skipna=True)
    if kind not in _NUMERIC:
        raise ArgumentTypeError(f"{name} must be numbers, found a column of type {column.dtype}")
    floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = int(np.isinf(floats).sum())
    if finite and infinite:
        raise ArgumentValueError(
            f"{name} must be finite, found {infinite} infinite of {rows}; leave them out, or bound "
            "them"
        )
    return floats
