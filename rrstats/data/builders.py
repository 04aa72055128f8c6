"""Builders of reports: arrays that are filled block by block, in the type that reports get.

The dtype of the reports follows from the declared categories and the container's declared
type alone, never from values or from missingness:

- list, tuple and scalar give back the category objects themselves;
- bool categories give bool, and integer ones the column's integer type where all fit, else int64,
  also from float and object columns;
- NumPy text and bytes are as wide as the widest category;
- a pandas Categorical gets exactly the declared categories, a string dtype stays itself, and for
  words, dates and durations any other column gets what pandas makes of the categories alone;
- Arrow types stay themselves, integers widened where a category does not fit, and views and
  run ends become plain arrays;
- where missing is a category, or missing answers are kept, the type is one that can hold them,
  also if this column has none: float64 for integers, objects for bool.

Codes are 0 .. k-1, k for an answer outside the categories, k+1 for a missing one where missing is
no category.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Array, Indices
from rrstats.data.arrow import arrow_type, category_array
from rrstats.data.categories import Categories, Codes
from rrstats.data.cell_types import storage_type, type_of
from rrstats.data.columns import Column, unchanged

Mask = NDArray[np.bool_]

_NUMPY_MISSING: dict[str, Any] = {
    "f": np.nan,
    "M": "NaT",  # of the unit of the array
    "m": "NaT",
}
"""A missing value in NumPy arrays of some kinds; None in all others."""

_MAX_EXACT_INTEGER = 2**53
"""Up to it a double holds every whole number exactly."""


# -- builders ------------------------------------------------------------------------------


@dataclass
class NumpyBuilder:
    """Reports as NumPy values and, where there is one, a mask; others wrap them.

    array : (n, ...) filled block by block.  fill : writes codes into a part of the array.
    finish : makes of the values and the mask what `reports` returns.
    mask : (n,) true where a report is missing.  absent : a missing value, where there is no mask.
    """

    array: Array
    fill: Callable[[Array, Codes], object]
    finish: Callable[[Array, Mask | None], Any] = unchanged
    mask: Mask | None = None
    absent: Any = None

    def write(self, rows: slice, codes: Codes, missing: Indices | None) -> None:
        """Write the reports of some rows.

        Parameters
        ----------
        rows : slice
            Positions of the rows; blocks come in any order.
        codes : ndarray of shape (rows, ...)
            Codes of reports, none of them missing or unknown; given away.
        missing : ndarray of int, optional
            Places among these rows that are left missing.
        """
        self.fill(self.array[rows], codes)
        if missing is not None and self.mask is not None:
            self.mask[rows][missing] = True
        elif missing is not None:
            self.array[rows][missing] = self.absent

    def write_some(self, rows: slice, places: Indices, codes: Codes) -> None:
        """Write the reports at some places among these rows; all other rows are left missing.

        Parameters
        ----------
        rows : slice
            Positions of the rows; blocks come in any order.
        places : ndarray of int
            Places among these rows.
        codes : ndarray of shape (places,)
            Codes of reports, none of them missing or unknown.
        """
        reports = np.empty(len(codes), self.array.dtype)
        self.fill(reports, codes)
        self.array[rows] = self.absent if self.mask is None else 0  # nothing old under a mask
        self.array[rows][places] = reports
        if self.mask is not None:
            self.mask[rows] = True
            self.mask[rows][places] = False

    def reports(self) -> Any:
        """Return the values and the mask as ``finish`` makes them."""
        return self.finish(self.array, self.mask)


@dataclass
class ArrowBuilder:
    """Reports as chunks of an Arrow array, one for each block.

    table : the k categories in the reports' type.
    finish : makes of the chunked array what `reports` returns.
    """

    table: Any
    finish: Callable[[Any], Any]
    parts: dict[int, Any] = field(default_factory=dict)

    def write(self, rows: slice, codes: Codes, missing: Indices | None) -> None:
        """Write the reports of some rows, as `NumpyBuilder.write`."""
        valid = None
        if missing is not None:
            valid = np.ones(len(codes), dtype=np.bool_)
            valid[missing] = False
            codes = np.where(valid, codes, codes.dtype.type(0))  # no report under a mask
        self._write(rows, codes, valid)

    def write_some(self, rows: slice, places: Indices, codes: Codes) -> None:
        """Write the reports at some places among these rows, as `NumpyBuilder.write_some`."""
        all_codes = np.zeros(rows.stop - rows.start, dtype=codes.dtype)
        all_codes[places] = codes
        valid = np.zeros(len(all_codes), dtype=np.bool_)
        valid[places] = True
        self._write(rows, all_codes, valid)

    def _write(self, rows: slice, codes: Codes, valid: Mask | None) -> None:
        """Write the reports that are valid; the others are missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
        # The numbers themselves, or places in a dictionary.
        is_dictionary = pa.types.is_dictionary(self.table.type)
        values = self.table.indices if is_dictionary else self.table
        is_looked_up = pa.types.is_integer(values.type) and not values.null_count
        cells = values.to_numpy()[codes] if is_looked_up else codes
        # Much faster than an array of pyarrow with a mask.
        buffers = [bits, pa.py_buffer(np.ascontiguousarray(cells))]
        part = pa.Array.from_buffers(pa.from_numpy_dtype(cells.dtype), len(cells), buffers)
        if not is_looked_up:
            part = pc.take(self.table, part, boundscheck=False)
        elif is_dictionary:
            ordered = self.table.type.ordered
            part = pa.DictionaryArray.from_arrays(
                part, self.table.dictionary, ordered=ordered, safe=False
            )
        self.parts[rows.start] = part

    def reports(self) -> Any:
        """Return the chunks in their order as ``finish`` makes them."""
        import pyarrow as pa

        parts = [self.parts[start] for start in sorted(self.parts)]
        return self.finish(pa.chunked_array(parts, type=self.table.type))


Builder = NumpyBuilder | ArrowBuilder
"""Takes n reports block by block in any order; shares no memory with the answers."""


class ReportLayout(NamedTuple):
    """The form that reports will have in a container, before there are any.

    type : their declared type.  builder : from a number of rows to a `Builder`.
    """

    type: Any
    builder: Callable[[int], Builder]


def numpy_layout(
    table: Array,
    dtype: Any,
    finish: Callable[..., Any] = unchanged,
    *,
    absent: Any = None,
    masked: bool = False,
) -> ReportLayout:
    """The layout of NumPy values, looked up in ``table``, and what wraps them."""
    # Codes that stand for themselves need no table: bool as its bytes, whole numbers.
    is_counting = table.dtype.kind in "biu" and np.array_equal(table, np.arange(len(table)))

    def fill(part: Array, codes: Codes) -> None:
        if is_counting:
            target = part.view(np.uint8) if part.dtype == np.bool_ else part
            np.copyto(target, codes, casting="unsafe")
        else:
            part[:] = table[codes]

    def builder(rows: int) -> Builder:
        mask = np.zeros(rows, dtype=np.bool_) if masked else None
        return NumpyBuilder(np.empty(rows, table.dtype), fill, finish, mask, absent)

    return ReportLayout(dtype, builder)


def _arrow_layout(table: Any, arrow: Any, column: Column) -> ReportLayout:
    """The layout of Arrow arrays, by themselves or in pandas."""
    dtype = type_of(table)
    if dtype is arrow:
        table.take([0])  # some types cannot: better found out before anything is drawn
        dtype = pd.ArrowDtype(arrow) if column.family == "pandas" else arrow
    else:
        table = table.__arrow_array__()
        if hasattr(table, "chunks"):
            table = table.combine_chunks()

    def finish(reports: Any) -> Any:
        if column.family == "pandas":
            return pd.array(reports, dtype=dtype, copy=False)
        if hasattr(column.cells, "chunks"):
            return reports
        return reports.chunk(0) if reports.num_chunks == 1 else reports.combine_chunks()

    return ReportLayout(dtype, lambda rows: ArrowBuilder(table, finish))


def layout_of(table: Any, column: Column) -> ReportLayout:
    """The layout of arrays of the type of ``table``, which holds the k categories."""
    dtype = type_of(table)
    if isinstance(table, np.ndarray):
        return numpy_layout(table, dtype, absent=_NUMPY_MISSING.get(dtype.kind))
    if isinstance(table, pd.Categorical):
        of_codes = partial(pd.Categorical.from_codes, dtype=dtype, validate=False)
        places = np.asarray(table.codes)
        return numpy_layout(places, dtype, lambda codes, _: of_codes(codes), absent=-1)
    arrow = arrow_type(dtype)
    if arrow is not None:
        return _arrow_layout(table, arrow, column)
    if hasattr(dtype, "numpy_dtype") and not table.isna().any():
        values = table.to_numpy(dtype=dtype.numpy_dtype)
        return numpy_layout(values, dtype, type(table), masked=True)
    places = np.arange(len(table))
    wrap = partial(table.take, allow_fill=True)
    return numpy_layout(places, dtype, lambda codes, _: wrap(codes), absent=-1)


# -- types of reports ----------------------------------------------------------------------


def _numpy_type(
    categories: Categories, column_type: np.dtype[Any], holds_missing: bool
) -> np.dtype[Any] | None:
    """The NumPy type of the reports of a column of this type; None means objects."""
    kind = categories.kind
    if kind == "bool":
        return None if holds_missing else np.dtype(bool)
    if kind == "int" and not holds_missing:
        return categories.integer_type(column_type)
    if kind == "int":
        integers = [c for c in categories.categories if isinstance(c, int)]
        is_exact = all(abs(integer) <= _MAX_EXACT_INTEGER for integer in integers)
        return np.dtype(np.float64) if is_exact else None
    if kind == "float":
        return column_type if column_type.kind == "f" else np.dtype(np.float64)
    if kind in ("date", "duration"):
        return column_type if column_type.kind in "mM" else None
    if kind == "str" and column_type.kind == "T" and not holds_missing:
        return column_type
    if (kind, column_type.kind) in (("str", "U"), ("bytes", "S")) and not holds_missing:
        return np.dtype(column_type.kind)  # NumPy makes it as wide as the widest category
    return None


def numpy_table(categories: Categories, column_type: np.dtype[Any], holds_missing: bool) -> Array:
    """The categories as a NumPy array of the reports' type."""
    target = _numpy_type(categories, column_type, holds_missing)
    if target is None:
        return categories.objects
    if target.kind in "mM":
        to_index = pd.DatetimeIndex if target.kind == "M" else pd.TimedeltaIndex
        return to_index(list(categories.categories)).to_numpy().astype(target)
    absent = _NUMPY_MISSING.get(target.kind)
    return np.array([absent if c is None else c for c in categories.categories], dtype=target)


def pandas_table(
    categories: Categories,
    column_type: np.dtype[Any] | pd.api.extensions.ExtensionDtype,
    holds_missing: bool,
) -> Any:
    """The categories as an array of the type that reports of a pandas column get."""
    values: list[Any] = list(categories.categories)
    if isinstance(column_type, pd.CategoricalDtype):
        labels: Any = [c for c in values if c is not None]
        if categories.kind == "other":  # pd.Index would look inside tuples
            labels = np.fromiter(labels, dtype=object, count=len(labels))
        index = pd.Index(labels, tupleize_cols=False)
        return pd.Categorical.from_codes(
            categories.places, index, ordered=bool(column_type.ordered)
        )
    if isinstance(column_type, pd.ArrowDtype):
        return category_array(categories, column_type.pyarrow_dtype)
    if (isinstance(column_type, pd.StringDtype) and categories.kind == "str") or (
        isinstance(column_type, pd.BooleanDtype) and categories.kind == "bool"
    ):
        return pd.array(values, dtype=column_type)
    is_masked = not isinstance(column_type, np.dtype) and hasattr(column_type, "numpy_dtype")
    if is_masked and categories.kind in ("int", "float"):
        fitting = _numpy_type(categories, storage_type(column_type), holds_missing=False)
        if fitting is not None:
            masked_type = pd.array(np.zeros(1, fitting)).dtype  # Int64, UInt8, Float32 and so on
            return pd.array(values, dtype=masked_type)
    if categories.kind in ("str", "date", "instant", "duration"):
        # A unit or a time zone of the column may come from one answer, so it does not count.
        is_datetime = isinstance(column_type, np.dtype) and column_type.kind == "M"
        of_days = is_datetime and categories.kind == "date"
        try:
            series = pd.Series(pd.DatetimeIndex(values) if of_days else values)
        except UnicodeEncodeError:  # half a surrogate pair does not go into Arrow's strings
            return categories.objects
        return series.to_numpy() if isinstance(series.dtype, np.dtype) else series.array
    numpy_type = column_type if isinstance(column_type, np.dtype) else np.dtype("O")
    return numpy_table(categories, numpy_type, holds_missing)
