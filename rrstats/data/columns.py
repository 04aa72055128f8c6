"""Columns of answers: open a container, encode its cells to codes, write reports back.

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
no category.  An encoder is prepared once from declarations and applied block by block; it never
raises or warns because of an answer.  Ways, from fast to slow: a look at the codes of a
Categorical or a bool, an offset into a small span of whole numbers, Arrow's hash for text,
bisection for numbers, distinct values for dates and the like, a dict for objects.
"""

from __future__ import annotations

import contextlib
import datetime
import difflib
import enum
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from numbers import Number
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype

from rrstats._checks import check_rows, quote, type_name
from rrstats._typing import Floats
from rrstats.data.categories import (
    Categories,
    Codes,
    arrow_kind,
    arrow_type,
    category_array,
    is_missing,
)
from rrstats.errors import ArgumentTypeError, ArgumentValueError

Encoder = Callable[[Any], Codes]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]

_NUMERIC = {*"biuf", "integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty"}
"""Kinds of dtypes that are numbers, and what pandas calls objects that are."""

_SMALL_SPAN = 4096
"""Whole numbers this close together are looked up in a table."""

_AT_ONCE = 1 << 16
"""Cells looked up at a time, so that what is in between stays in the cache."""

# Types whose hash and equality are Python's own: a dict serves them exactly, and never raises.
_HONEST_TYPES = {str, np.str_, int, float, type(None)}

_NUMPY_MISSING: dict[str, Any] = {
    "f": np.nan,
    "M": "NaT",  # of the unit of the array
    "m": "NaT",
}
"""A missing value in NumPy arrays of some kinds; None in all others."""


# -- codes ---------------------------------------------------------------------------------


class Encoded(NamedTuple):
    """Codes of cells, and the rows that have none; lengths and places, never values.

    codes : (n, ...) 0 .. k-1, k for unknown, k+1 for missing; or packed bits.
    outside : the rows that are unknown or missing, where missing is no category.
    absent : those of them that are missing.
    """

    codes: Codes
    outside: Places
    absent: Places

    @classmethod
    def of(cls, codes: Codes, k: int) -> Encoded:
        """The rows without a category, from codes that say it."""
        outside = np.empty(0, dtype=np.intp)
        if codes.max(initial=0) >= k:  # rare, and cheap to see
            outside = np.flatnonzero(codes >= k)
        return cls(codes, outside, outside[codes[outside] == k + 1])

    @property
    def unknown(self) -> int:
        """The number of rows that are neither a category nor missing."""
        return len(self.outside) - len(self.absent)


Reader = Callable[[Any], Encoded]


def reader(categories: Categories, like: Any) -> Reader:
    """Prepare a function from cells of the type of ``like`` to their codes.

    Parameters
    ----------
    categories : Categories
        The declared categories.
    like : list, NumPy, pandas or Arrow array
        Any number of cells; only their declared type counts.

    Returns
    -------
    callable
        From cells to `Encoded` with fresh codes.

    Raises
    ------
    ArgumentTypeError
        That type cannot hold the categories, or tell them apart.
    """
    own = dtype = type_of(like)
    if isinstance(dtype, pd.CategoricalDtype):
        words = categories.labels is not categories.categories  # of a codebook may stand there too
        own = np.dtype(object) if words or not len(dtype.categories) else dtype.categories.dtype
    held, kind = kind_of_type(own), categories.kind
    # NumPy and pandas make floats of a column in which everybody is missing.
    if held not in ("any", kind) and not (held == "float" and isinstance(own, np.dtype)):
        tuples = all(isinstance(c, tuple) for c in categories.categories if c is not None)
        if tuples or (kind != "other" and {held, kind} != {"int", "float"}):
            raise ArgumentTypeError(
                f"categories {categories.describe()} are "
                f"{'tuples' if tuples else f'of kind {kind}'}, but the answers are of kind "
                f"{held}; declare the categories in the answers' type, or convert the answers"
            )
    codes = _of_type(categories, dtype)
    return lambda cells: Encoded.of(codes(cells), categories.k)


def _of_type(categories: Categories, dtype: Any) -> Encoder:
    """Codes of cells of one declared type; it decides the way."""
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_categorical(categories, dtype.categories)
    if (arrow := arrow_type(dtype)) is not None:
        return _of_arrow(categories, arrow)
    is_numpy = isinstance(dtype, np.dtype)
    storage = dtype if is_numpy else getattr(dtype, "numpy_dtype", np.dtype(object))
    kind = storage.kind
    if isinstance(dtype, pd.DatetimeTZDtype) or (is_numpy and kind in "mM"):
        return _of_distinct(categories)
    if kind not in "biuf":
        return _of_objects(categories)
    of_values = _of_numbers(categories, storage)
    if is_numpy and kind != "f":
        return of_values
    fill = storage.type("nan" if kind == "f" else 0)

    def codes(cells: Any) -> Codes:
        values = cells
        if not is_numpy:  # values and mask apart, so that nothing is rounded
            values = cells.to_numpy(dtype=storage, na_value=fill)
        found = of_values(values)
        found[np.isnan(values) if kind == "f" else cells.isna()] = categories.absent_code
        return found

    return codes


def _through(table: Codes, dtype: np.dtype[Any], lowest: Any = 0) -> Encoder:
    """``table[place - lowest]`` for unsigned places; the last entry serves all beyond it.

    Where the table just counts up, that is a minimum; NumPy is eight times faster with an array
    there than with one number.
    """
    last = len(table) - 1
    in_order = bool((table == np.arange(len(table))).all())
    if not in_order and dtype == table.dtype == np.uint8:
        # From bytes to bytes Python has a function twice as fast as indexing.
        every = np.full(256, table[-1], dtype=np.uint8)
        every[: len(table)] = table[:256]
        translation = every.tobytes()
        return lambda places: np.frombuffer(
            bytearray(places - lowest if lowest else places).translate(translation), np.uint8
        )
    caps = np.full(_AT_ONCE, min(last, np.iinfo(dtype).max), dtype=dtype)

    def look_up(places: NDArray[Any]) -> Codes:
        found = np.empty(len(places), dtype=table.dtype)
        for start in range(0, len(places), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            part = places[rows] - lowest if lowest else places[rows]
            if in_order:
                np.minimum(part, caps[: len(part)], out=found[rows], casting="unsafe")
            else:
                found[rows] = table[np.minimum(part, caps[: len(part)])]
        return found

    return look_up


def _of_dictionary(categories: Categories, known: Codes, dtype: np.dtype[Any]) -> Encoder:
    """Codes of places in a dictionary whose entries have the codes ``known``; -1 is missing."""
    absent = categories.absent_code
    between = np.arange(len(known), absent)  # so that a table in order stays in order
    table = np.concatenate([known, between, [absent]]).astype(categories.dtype)
    # Seen as unsigned, -1 must lie beyond the table, or it would be one of its entries.
    wide = dtype if len(table) <= np.iinfo(f"u{dtype.itemsize}").max else np.dtype(np.int64)
    unsigned = np.dtype(f"u{wide.itemsize}")
    look_up = _through(table, unsigned)
    return lambda places: look_up(places.astype(wide, copy=False).view(unsigned))


def _of_categorical(categories: Categories, labels: Any) -> Encoder:
    values = labels.to_numpy() if isinstance(labels.dtype, np.dtype) else labels.array
    known = _of_type(categories, labels.dtype)(values)
    if categories.labels is not categories.categories:  # of a codebook: as pandas reads SPSS, Stata
        by_label = _of_type(Categories(categories.labels), labels.dtype)(values)
        known = np.where((known == categories.k) & (by_label < categories.k), by_label, known)
    look_up = _of_dictionary(categories, known, pd.Categorical.from_codes([], labels).codes.dtype)
    return lambda cells: look_up(cells.codes)


def _of_distinct(categories: Categories) -> Encoder:
    """Codes of NumPy or pandas cells by way of their distinct values, each looked at alone."""

    def codes(cells: Any) -> Codes:
        places, values = pd.factorize(cells)
        known = np.fromiter(map(categories.code, values), categories.dtype, len(values))
        return _of_dictionary(categories, known, places.dtype)(places)

    return codes


def _numbers_of(categories: Categories, dtype: np.dtype[Any]) -> tuple[NDArray[Any], Places]:
    """The categories that are numbers, in a column's type where it can hold them; their codes.

    Integers match exactly; other categories are rounded to the type of a float column.
    """
    if dtype.kind == "b":  # of a file it may hold other bytes than 0 and 1: unknown
        return np.arange(2) > 0, np.array(list(map(categories.code, (False, True))))
    if dtype.kind in "iu" and categories.integers is not None:
        info, whole = np.iinfo(dtype), categories.integers
        held = np.flatnonzero((whole >= info.min) & (whole <= min(info.max, 2**63 - 1)))
        return whole[held].astype(dtype), held
    found, codes = [], []
    for category, code in categories.value_codes.items():
        if not isinstance(category, int | float):
            continue
        with contextlib.suppress(OverflowError), np.errstate(all="ignore"):
            number: Any = dtype.type(category)
            rounded = dtype.kind == "f" and isinstance(category, float) and number != 0
            if number.item() == category or (rounded and np.isfinite(number)):
                found.append(number)
                codes.append(code)
    return np.array(found, dtype=dtype), np.array(codes, dtype=np.intp)


def _of_numbers(categories: Categories, dtype: np.dtype[Any]) -> Encoder:
    """Codes of NumPy numbers or booleans: offsets within a short span, or by hashing."""
    values, codes_of = _numbers_of(categories, dtype)
    own = np.dtype(np.float64) if dtype.kind == "f" else dtype.newbyteorder("=")
    values = values.astype(own)
    if dtype.kind != "f" and len(values):
        unsigned = np.dtype(f"u{own.itemsize}")
        span = int(values.max()) - int(values.min()) + 1
        if span <= max(_SMALL_SPAN, 4 * categories.k):
            lowest = values.min().view(unsigned)
            table = np.full(span + 1, categories.k, dtype=categories.dtype)
            # Unsigned, also where the span is wider than half of a signed type, and a number below
            # the lowest wraps to far above the highest.
            table[values.view(unsigned) - lowest] = codes_of
            look_up = _through(table, unsigned, lowest)
            return lambda cells: look_up(cells.astype(own, copy=False).view(unsigned))
    index = pd.Index(values)
    if not index.is_unique:
        raise ArgumentTypeError(
            f"categories cannot be distinguished in answers of type {dtype}; "
            "convert the answers to float64"
        )
    table = np.append(codes_of, categories.k).astype(categories.dtype)
    return lambda cells: table[index.get_indexer(cells.astype(own, copy=False))]


# -- Arrow and objects ---------------------------------------------------------------------


def _of_arrow(categories: Categories, arrow: Any) -> Encoder:
    """Codes of Arrow arrays, chunk by chunk: chunks may have dictionaries of their own."""
    of_chunk, absent = _of_chunk(categories, arrow), categories.absent_code

    def codes(cells: Any) -> Codes:
        held = cells.__arrow_array__() if hasattr(cells, "__arrow_array__") else cells
        parts = []
        for chunk in getattr(held, "chunks", [held]):
            parts.append(of_chunk(chunk))
            if chunk.null_count:
                parts[-1][chunk.is_null().to_numpy(zero_copy_only=False)] = absent
        return parts[0] if len(parts) == 1 else np.concatenate([categories.empty(0), *parts])

    return codes


def _of_chunk(categories: Categories, dtype: Any) -> Encoder:
    """Codes of the cells of an Arrow array that are not missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = arrow_kind(dtype)
    if pa.types.is_dictionary(dtype):
        return _of_encoded(categories, _of_arrow(categories, dtype.value_type))
    if kind in ("bool", "int", "float"):
        storage = np.dtype(dtype.to_pandas_dtype())
        of_values, zero = _of_type(categories, storage), pa.array(np.zeros(1, storage))[0]
        return lambda cells: of_values(cells.fill_null(zero).to_numpy(zero_copy_only=False))
    if kind != "str":
        of_objects = _of_objects(categories)
        of_distinct = _of_encoded(categories, of_objects)  # few objects are made of many cells
        nested = pa.types.is_nested(dtype)
        return of_objects if nested else lambda cells: of_distinct(cells.dictionary_encode())
    # Text that is not Unicode (half a surrogate pair) cannot be in an Arrow array.
    texts = [(c, code) for c, code in categories.value_codes.items() if isinstance(c, str)]
    words = {c: code for c, code in texts if c == c.encode(errors="ignore").decode()}
    value_set = pa.array(list(words), type=dtype)
    table = np.array([*words.values(), categories.k], dtype=categories.dtype)
    look_up = _through(table, np.dtype(np.uint32))

    def codes(cells: Any) -> Codes:
        places = pc.index_in(cells, value_set=value_set)
        if places.null_count:
            places = places.fill_null(len(words))
        return look_up(places.to_numpy(zero_copy_only=False).view(np.uint32))

    return codes


def _of_encoded(categories: Categories, of_values: Encoder) -> Encoder:
    """Codes of Arrow's dictionary arrays, whose dictionaries ``of_values`` reads."""

    def codes(cells: Any) -> Codes:
        look_up = _of_dictionary(categories, of_values(cells.dictionary), np.dtype(np.int64))
        places = cells.indices.cast("int64").fill_null(-1)
        return look_up(places.to_numpy(zero_copy_only=False))

    return codes


def _of_objects(categories: Categories) -> Encoder:
    """Codes of Python objects of any kind, hostile ones too; from a list or any array."""
    absent, k, dtype = categories.absent_code, categories.k, categories.dtype

    def codes(cells: Any) -> Codes:
        if isinstance(cells, list):
            listed = cells
        elif hasattr(cells, "to_pylist"):
            listed = arrow_objects(cells)
        elif isinstance(cells, np.ndarray):
            listed = cells.tolist()
        else:
            listed = cells.to_numpy(dtype=object, na_value=None).tolist()
        types = set(map(type, listed))
        if not (types <= _HONEST_TYPES or types <= {bool, type(None)}):
            return np.fromiter(map(categories.code, listed), dtype, len(listed))
        table: dict[Any, int] = categories.bool_codes if bool in types else categories.value_codes
        found = np.fromiter(map(table.get, listed, repeat(k)), dtype, len(listed))
        if float in types:  # NaN, which a dict does not find
            rows = np.flatnonzero(found == k).tolist()
            found[[row for row in rows if listed[row] != listed[row]]] = absent
        return found

    return codes


# -- kinds ---------------------------------------------------------------------------------


def type_of(cells: Any) -> Any:
    """The declared type of an array of any library; of a list, that of objects."""
    return cells.dtype if hasattr(cells, "dtype") else getattr(cells, "type", np.dtype(object))


def kind_of_type(dtype: Any) -> str:
    """The kind of category that a declared type can hold; "any" where it does not say."""
    if isinstance(dtype, pd.CategoricalDtype):
        return kind_of_type(dtype.categories.dtype)
    if isinstance(dtype, pd.StringDtype):
        return "str"
    if isinstance(dtype, pd.DatetimeTZDtype):
        return "instant"
    if (arrow := arrow_type(dtype)) is not None:
        return arrow_kind(arrow)
    storage = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", None)
    kinds = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str", "T": "str"}
    kinds |= {"S": "bytes", "M": "date", "m": "duration"}
    return kinds.get(getattr(storage, "kind", ""), "any")


# -- builders ------------------------------------------------------------------------------


def _same(values: Any, *_: Any) -> Any:
    return values


@dataclass
class NumpyBuilder:
    """Reports as NumPy values and, where there is one, a mask; others wrap them.

    array : (n, ...) filled block by block.  fill : writes codes into a part of the array.
    finish : makes of the values and the mask what `reports` returns.
    mask : (n,) true where a report is missing.  absent : a missing value, where there is no mask.
    """

    array: NDArray[Any]
    fill: Callable[[NDArray[Any], Codes], object]
    finish: Callable[[NDArray[Any], Mask | None], Any] = _same
    mask: Mask | None = None
    absent: Any = None

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
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

    def write_some(self, rows: slice, places: Places, codes: Codes) -> None:
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
        found = np.empty(len(codes), self.array.dtype)
        self.fill(found, codes)
        self.array[rows] = self.absent if self.mask is None else 0  # nothing old under a mask
        self.array[rows][places] = found
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

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
        """Write the reports of some rows, as `NumpyBuilder.write`."""
        there = None
        if missing is not None:
            there = np.ones(len(codes), dtype=np.bool_)
            there[missing] = False
            codes = np.where(there, codes, codes.dtype.type(0))  # no report under a mask
        self._write(rows, codes, there)

    def write_some(self, rows: slice, places: Places, codes: Codes) -> None:
        """Write the reports at some places among these rows, as `NumpyBuilder.write_some`."""
        whole = np.zeros(rows.stop - rows.start, dtype=codes.dtype)
        there = np.zeros(len(whole), dtype=np.bool_)
        whole[places], there[places] = codes, True
        self._write(rows, whole, there)

    def _write(self, rows: slice, codes: Codes, there: NDArray[np.bool_] | None) -> None:
        """Write reports, of which only some are there."""
        import pyarrow as pa
        import pyarrow.compute as pc

        bits = None if there is None else pa.py_buffer(np.packbits(there, bitorder="little"))
        held = getattr(self.table, "indices", self.table)  # numbers, or places in a dictionary
        plain = pa.types.is_integer(held.type) and not held.null_count
        cells = held.to_numpy()[codes] if plain else codes
        # Much faster than an array of pyarrow with a mask.
        buffers = [bits, pa.py_buffer(np.ascontiguousarray(cells))]
        made = pa.Array.from_buffers(pa.from_numpy_dtype(cells.dtype), len(cells), buffers)
        if not plain:
            made = pc.take(self.table, made, boundscheck=False)
        elif pa.types.is_dictionary(kind := self.table.type):
            words, order = self.table.dictionary, kind.ordered
            made = pa.DictionaryArray.from_arrays(made, words, ordered=order, safe=False)
        self.parts[rows.start] = made

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


def _numpy_layout(
    table: NDArray[Any],
    dtype: Any,
    finish: Callable[..., Any] = _same,
    *,
    absent: Any = None,
    masked: bool = False,
) -> ReportLayout:
    """The layout of NumPy values, looked up in ``table``, and what wraps them."""
    # Codes that stand for themselves need no table: bool as its bytes, whole numbers.
    themselves = table.dtype.kind in "biu" and np.array_equal(table, np.arange(len(table)))

    def fill(part: NDArray[Any], codes: Codes) -> None:
        if themselves:
            part = part.view(np.uint8) if part.dtype == np.bool_ else part
            np.copyto(part, codes, casting="unsafe")
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
        table = table.combine_chunks() if hasattr(table, "chunks") else table

    def finish(made: Any) -> Any:
        if column.family == "pandas":
            return pd.array(made, dtype=dtype, copy=False)
        if hasattr(column.cells, "chunks"):
            return made
        return made.chunk(0) if made.num_chunks == 1 else made.combine_chunks()

    return ReportLayout(dtype, lambda rows: ArrowBuilder(table, finish))


def _layout_of(table: Any, column: Column) -> ReportLayout:
    """The layout of arrays of the type of ``table``, which holds the k categories."""
    dtype = type_of(table)
    if isinstance(table, np.ndarray):
        return _numpy_layout(table, dtype, absent=_NUMPY_MISSING.get(dtype.kind))
    if isinstance(table, pd.Categorical):
        of_codes = partial(pd.Categorical.from_codes, dtype=dtype, validate=False)
        places = np.asarray(table.codes)
        return _numpy_layout(places, dtype, lambda codes, _: of_codes(codes), absent=-1)
    if (arrow := arrow_type(dtype)) is not None:
        return _arrow_layout(table, arrow, column)
    if hasattr(dtype, "numpy_dtype") and not table.isna().any():
        values = table.to_numpy(dtype=dtype.numpy_dtype)
        return _numpy_layout(values, dtype, type(table), masked=True)
    places = np.arange(len(table))
    wrap = partial(table.take, allow_fill=True)
    return _numpy_layout(places, dtype, lambda codes, _: wrap(codes), absent=-1)


# -- containers ----------------------------------------------------------------------------


class Column(NamedTuple):
    """One column that came in.

    cells : the n answers as a list, or as a flat NumPy, pandas or Arrow array.
    family : "list", "numpy", "pandas" or "arrow".
    dtype : their declared type.
    shape : of the array that came in; () for one answer.
    wrap : makes of what a builder gives the container that came in.
    """

    cells: Any
    family: str
    dtype: Any
    shape: tuple[int, ...]
    wrap: Callable[[Any], Any] = _same

    @property
    def rows(self) -> int:
        """The number of answers."""
        return len(self.cells)

    def take(self, places: Places) -> Any:
        """Return the cells at some increasing places, in an array that a reader of these takes."""
        if self.family == "list":
            return [self.cells[place] for place in places.tolist()]
        if arrow_type(self.dtype) is None:
            return self.cells[places]
        import pyarrow as pa

        cells, taken, start = self.cells, [], 0
        held = cells.__arrow_array__() if hasattr(cells, "__arrow_array__") else cells
        for chunk in getattr(held, "chunks", [held]):  # their dictionaries may differ
            first, last = np.searchsorted(places, [start, start + len(chunk)])
            if first < last:
                taken.append(chunk.take(pa.array(places[first:last] - start)))
            start += len(chunk)
        return pa.chunked_array(taken, held.type)

    def pick(self, places: Places) -> list[Any]:
        """Return the answers at some places, as Python values; they are private."""
        if self.family == "list":
            return [self.cells[place] for place in places.tolist()]
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
            lambda made: made.reshape(shape + made.shape[1:]),
        )
    object_type = np.dtype(object)
    if isinstance(values, list | tuple):
        cells = values if type(values) is list else list(values)
        wrap = _same if isinstance(values, list) else tuple
        return Column(cells, "list", object_type, (len(cells),), wrap)
    if isinstance(values, _SCALARS) or is_missing(values):
        return Column([values], "list", object_type, (), itemgetter(0))
    if (found := _open_arrow(values)) is not None:
        return found
    raise ArgumentTypeError(
        "values must be a list, tuple, array, Series, Index, Arrow array or one answer, "
        f"found {type(values).__name__}{engine_hint(values) or '; convert it to one of these'}"
        + ("; for counts of reports use rr.Tally.from_counts" if isinstance(values, dict) else "")
    )


def _open_pandas(values: Any) -> Column:
    """Open a Series, an Index or an array of pandas."""
    cells = getattr(values, "array", values)
    if type(cells) is pd.arrays.NumpyExtensionArray or isinstance(cells.dtype, np.dtype):
        cells = values.to_numpy()
    elif isinstance(cells.dtype, pd.ArrowDtype):
        held = plain(cells.__arrow_array__())
        if held.type != cells.dtype.pyarrow_dtype:
            cells = pd.array(held, dtype=pd.ArrowDtype(held.type))

    def wrap(reports: Any) -> Any:
        # The dtype is named each time, so that pandas infers nothing from the reports.
        dtype = reports.dtype
        if isinstance(values, pd.Series):
            index, name = values.index.copy(), values.name
            return pd.Series(reports, index=index, name=name, dtype=dtype, copy=False)
        if isinstance(values, pd.Index):
            return pd.Index(reports, dtype=dtype, name=values.name, tupleize_cols=False)
        is_numpy = isinstance(reports, np.ndarray)
        return pd.array(reports, dtype=dtype, copy=False) if is_numpy else reports

    return Column(cells, "pandas", cells.dtype, (len(values),), wrap)


def plain(cells: Any) -> Any:
    """An Arrow array without views and run ends, chunked or not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(cells.type):
        cells = pc.run_end_decode(cells)
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return cells.cast(views[cells.type]) if cells.type in views else cells


def arrow_objects(cells: Any) -> list[Any]:
    """The Python values of an Arrow array; one that Python cannot hold becomes an object()."""

    def value_of(cell: Any) -> object:
        try:
            return cell.as_py()
        except Exception:  # such as a date far in the future: unknown
            return object()

    return [value_of(cell) for cell in cells]


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
    make = getattr(type(values), "from_arrow", type(values))
    try:
        if library == "polars":
            cells, make = values.to_arrow(), partial(_polars_series, values)
        else:
            cells = pa.chunked_array(values) if streams else pa.array(values)
        if pa.types.is_struct(cells.type):
            return None
        make(cells[:0])
        cells = plain(cells)
    except Exception:
        raise ArgumentTypeError(
            f"values of type {type(values).__name__} ({library}) cannot be converted to one Arrow "
            "array and back; convert them to an array of pyarrow"
        ) from None
    return Column(cells, "arrow", cells.type, (len(cells),), make)


def _polars_series(like: Any, reports: Any) -> Any:
    """Reports as a Polars Series of the same name; of categories, an Enum of the declared ones.

    The codes of a Polars Categorical follow from words that were seen before, answers too.
    """
    import polars as pl

    series = pl.Series(like.name, reports)
    words = getattr(reports, "dictionary", None)  # none where reports are bits
    if words is None or type(like.dtype).__name__ not in ("Enum", "Categorical"):
        return series
    return series.cast(pl.Enum(words.to_pylist()))


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
    return (
        f" of {engine}: a lazy frame is computed again for every use, and fresh noise would be "
        f"drawn each time, which reveals the answers; {_SINKS[engine]} writes reports once, "
        "and a lazy frame can have keyed ones (key= and id=; import rrstats.engines."
        f"{'spark' if engine == 'pyspark' else engine}); to count reports, give rr.tally or "
        "rr.estimate the engine's frame and columns="
    )


def is_table(values: Any) -> bool:
    """Tell a Polars frame in memory, or an Arrow table."""
    library, kind = type(values).__module__.partition(".")[0], type(values).__name__
    return (library, kind) in (("polars", "DataFrame"), ("pyarrow", "Table"))


def place_of(data: Any, name: Any) -> int:
    """Position of one column of a frame; raises where it is not there just once."""
    labels: Any = data.columns
    if not isinstance(data, pd.DataFrame):  # of Arrow, columns are the cells
        labels = pd.Index(getattr(data, "column_names", labels), dtype=object)
    try:
        found = labels.get_loc(name)
    except (KeyError, TypeError, ValueError, pd.errors.InvalidIndexError):
        found = slice(0)
    places = np.atleast_1d(np.arange(len(labels))[found])
    several = isinstance(name, slice | np.ndarray | pd.Index | pd.Series | pd.DataFrame)
    if (times := len(places)) == 1 and not several:
        return int(places[0])
    own = isinstance(name, tuple) and 1 < labels.nlevels == len(name)
    label = repr(name) if own else quote(name)
    if several or (not times and label == type_name(name)):  # it may hold answers
        raise ArgumentTypeError(f"a column is given by its name, found {type_name(name)}")
    there = f"is there {times} times" if times else "is not there"
    near = difflib.get_close_matches(str(name), [str(c) for c in labels], n=1)
    hint = f"; did you mean {near[0]!r}" if near and not times else ""
    listed = ", ".join(repr(c) for c in list(labels)[:20])
    raise ArgumentValueError(f"column {label} {there}{hint}; the columns are {listed}")


def column_of(data: Any, name: Hashable) -> pd.Series[Any]:
    """One column of a frame; raises where it is not there just once."""
    place = place_of(data, name)
    if isinstance(data, pd.DataFrame):
        return data.iloc[:, place]
    of_table: pd.Series[Any] = data[name]
    return of_table


# -- codecs --------------------------------------------------------------------------------


def numbers(values: Any, name: str, rows: int, *, finite: bool = True) -> Floats:
    """(rows,) floats, missing ones NaN; raises for what is no number, or infinite."""
    column = values if isinstance(values, pd.Series) else pd.Series(values)
    check_rows(len(column), rows, name, "number")
    kind = column.dtype.kind if column.dtype.kind in "biuf" else infer_dtype(column, skipna=True)
    if kind not in _NUMERIC:
        raise ArgumentTypeError(f"{name} must be numbers, found a column of type {column.dtype}")
    found = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if finite and (infinite := int(np.isinf(found).sum())):
        raise ArgumentValueError(
            f"{name} must be finite, found {infinite} infinite of {rows}; leave them out, or bound "
            "them"
        )
    return found


@dataclass(frozen=True)
class ReportCodec:
    """Reports of one space in containers: how they are read, and the form they are given.

    This one is of reports that are categories; another space inherits and changes it.

    Parameters
    ----------
    domain : Categories
        The declared categories: labels of the cells of a tally.
    """

    domain: Categories
    is_label = True
    """True where a report is one of the labels, so that their counts sum to n."""

    @property
    def report_bytes(self) -> int:
        """About the bytes of a report in memory, at most."""
        texts = [c for c in self.domain.categories if isinstance(c, str | bytes)]
        sizes = [len(t.encode(errors="replace") if isinstance(t, str) else t) for t in texts]
        return 16 + max(sizes, default=0)

    def rows(self, column: Column) -> Column:
        """Return the column with one row for each report."""
        return column

    def reader(self, like: Any) -> Reader:
        """Return a function from cells of the type of ``like`` to coded reports."""
        return reader(self.domain, like)

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return coded reports as a channel's ``scores`` and ``likelihood`` take them."""
        return codes

    def layout(self, column: Column, keep_missing: bool) -> ReportLayout:
        """Form of the reports in a container; comes before anything is drawn.

        Parameters
        ----------
        column : Column
            The container; its declarations alone count.
        keep_missing : bool
            Whether reports may be left missing.

        Returns
        -------
        ReportLayout

        Raises
        ------
        ArgumentTypeError
            The container cannot hold such reports.
        """
        categories = self.domain
        if column.family == "list":  # it holds the objects themselves
            table: Any = categories.objects
            return _numpy_layout(table, table.dtype, lambda made, _: made.tolist())
        holds_missing = keep_missing or categories.missing_code is not None
        try:
            with np.errstate(all="ignore"):
                if column.family == "numpy":
                    table = _numpy_table(categories, column.dtype, holds_missing)
                elif column.family == "arrow":
                    table = category_array(categories, column.dtype)
                else:
                    table = _pandas_table(categories, column.dtype, holds_missing)
                made = _layout_of(table, column)
                # Whatever a type does to a value (cut, round, wrap), it must come back as itself.
                codes = reader(categories, table)(table).codes
                if np.array_equal(codes, np.arange(categories.k)):
                    return made
        except (ValueError, TypeError, ArithmeticError, NotImplementedError, KeyError):
            pass
        raise ArgumentTypeError(
            f"categories {categories.describe()} cannot be stored or distinguished as reports "
            f"of answers of type {column.dtype}; convert the answers to another type"
        )


def codec_of(space: Any) -> ReportCodec:
    """Codec of the reports of a space: of `Categories`, or of a space that is its own codec."""
    codec: ReportCodec = ReportCodec(space) if isinstance(space, Categories) else space
    return codec


def open_reports(values: Any, space: Any) -> tuple[Column, Reader]:
    """Open reports in any container that `privatize` gives back.

    Parameters
    ----------
    values : container
        The reports.
    space : Categories or another report space
        The possible reports.

    Returns
    -------
    column, reader
        The column, and what reads its cells.

    Raises
    ------
    ArgumentTypeError
        The container cannot hold reports of the space.
    """
    codec = codec_of(space)
    column = codec.rows(open_column(values))
    return column, codec.reader(column.cells)


def _numpy_type(
    categories: Categories, own: np.dtype[Any], holds_missing: bool
) -> np.dtype[Any] | None:
    """The NumPy type of the reports of a column of type ``own``; None means objects."""
    kind, values = categories.kind, categories.categories
    if kind == "bool":
        return None if holds_missing else np.dtype(bool)
    if kind == "int" and not holds_missing:
        return categories.integer_type(own)
    if kind == "int":
        exact = all(abs(c) <= 2**53 for c in values if isinstance(c, int))
        return np.dtype(np.float64) if exact else None
    if kind == "float":
        return own if own.kind == "f" else np.dtype(np.float64)
    if kind in ("date", "duration"):
        return own if own.kind in "mM" else None
    if kind == "str" and own.kind == "T" and not holds_missing:
        return own
    if (kind, own.kind) in (("str", "U"), ("bytes", "S")) and not holds_missing:
        return np.dtype(own.kind)  # NumPy makes it as wide as the widest category
    return None


def _numpy_table(categories: Categories, own: np.dtype[Any], holds_missing: bool) -> NDArray[Any]:
    """The categories as a NumPy array of the reports' type."""
    target = _numpy_type(categories, own, holds_missing)
    if target is None:
        return categories.objects
    if target.kind in "mM":
        to_index = pd.DatetimeIndex if target.kind == "M" else pd.TimedeltaIndex
        return to_index(list(categories.categories)).to_numpy().astype(target)
    absent = _NUMPY_MISSING.get(target.kind)
    return np.array([absent if c is None else c for c in categories.categories], dtype=target)


def _pandas_table(categories: Categories, own: Any, holds_missing: bool) -> Any:
    """The categories as an array of the type that reports of a pandas column get."""
    values: list[Any] = list(categories.categories)
    masked = None if isinstance(own, np.dtype) else getattr(own, "numpy_dtype", None)
    if isinstance(own, pd.CategoricalDtype):
        labels: Any = [c for c in values if c is not None]
        if categories.kind == "other":  # pd.Index would look inside tuples
            labels = np.fromiter(labels, dtype=object, count=len(labels))
        index = pd.Index(labels, tupleize_cols=False)
        return pd.Categorical.from_codes(categories.places, index, ordered=bool(own.ordered))
    if isinstance(own, pd.ArrowDtype):
        return category_array(categories, own.pyarrow_dtype)
    if (isinstance(own, pd.StringDtype) and categories.kind == "str") or (
        isinstance(own, pd.BooleanDtype) and categories.kind == "bool"
    ):
        return pd.array(values, dtype=own)
    if masked is not None and categories.kind in ("int", "float"):
        fitting = _numpy_type(categories, masked, holds_missing=False)
        if fitting is not None:
            own = pd.array(np.zeros(1, fitting)).dtype  # Int64, UInt8, Float32 and so on
            return pd.array(values, dtype=own)
    if categories.kind in ("str", "date", "instant", "duration"):
        # A unit or a time zone of the column may come from one answer, so it does not count.
        of_days = categories.kind == "date" and isinstance(own, np.dtype) and own.kind == "M"
        try:
            alone = pd.Series(pd.DatetimeIndex(values) if of_days else values)
        except UnicodeEncodeError:  # half a surrogate pair does not go into Arrow's strings
            return categories.objects
        return alone.to_numpy() if isinstance(alone.dtype, np.dtype) else alone.array
    own = own if isinstance(own, np.dtype) else np.dtype("O")
    return _numpy_table(categories, own, holds_missing)
