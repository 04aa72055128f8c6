"""Containers of answers: open one, and give reports back in the same form.

The dtype of the reports follows from the declared categories and the container's declared
type alone, never from values or from missingness:

- list, tuple and scalar give back the category objects themselves;
- bool categories give bool, and integer ones the column's integer type where all fit, else int64,
  also from float and object columns;
- NumPy text and bytes are as wide as the widest category;
- a pandas Categorical gets exactly the declared categories, a string dtype stays itself, and for
  words, dates and durations any other column gets what pandas makes of the categories alone;
- Arrow types stay themselves, integers widened where a category does not fit;
- where missing is a category, or missing answers are kept, the type is one that can hold them,
  also if this column has none: float64 for integers, objects for bool.

From answers of any declared type to codes, prepared once and applied block by block.

`encoder` looks at the declarations (categories, and the type of a column) and returns a function
from cells of that type to fresh codes: 0 .. k-1, k for an answer outside the categories, k+1 for
a missing one where missing is no category.  What a column costs once (tables, checks) is
paid there; the function itself never raises or warns because of an answer.

Ways, from fast to slow: a look at the codes of a Categorical or a bool, an offset into a small
span of whole numbers, Arrow's hash for text, bisection for numbers and moments, a dict for objects.
"""

from __future__ import annotations

import datetime
import difflib
import enum
import numbers
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial, singledispatch
from itertools import repeat
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.builders import NUMPY_MISSING, Builder, ListBuilder, builder_for
from rrstats.data.categories import Categories, Codes, is_missing
from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = [
    "Column",
    "Encoded",
    "Encoder",
    "Read",
    "Reader",
    "ReportCodec",
    "Table",
    "codec_of",
    "column_of",
    "encode",
    "encoder",
    "engine_hint",
    "is_arrow_text",
    "kind_of_type",
    "open_column",
    "open_reports",
    "place_of",
    "reader",
]

Encoder = Callable[[Any], Codes]

_SMALL_SPAN = 4096
"""Whole numbers this close together are looked up in a table."""

_AT_ONCE = 1 << 16
"""Cells looked up at a time, so that what is in between stays in the cache."""

# Types whose hash and equality are Python's own: a dict serves them exactly, and never raises.
_HONEST_TYPES = {str, np.str_, int, float, type(None)}

# Attoseconds in each unit of NumPy's dates and durations that has a fixed length.
_UNIT_LENGTH = {"as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15}
_UNIT_LENGTH |= {"s": 10**18, "m": 60 * 10**18, "h": 3600 * 10**18}
_UNIT_LENGTH |= {"D": 86_400 * 10**18, "W": 7 * 86_400 * 10**18}


class Read(Protocol):
    """What was read from cells: codes, and the rows for which there is none."""

    @property
    def codes(self) -> Codes:
        """(n, ...) a code for each row; those of rows outside do not matter."""
        ...

    @property
    def outside(self) -> NDArray[np.intp]:
        """The rows that are unknown or missing."""
        ...

    @property
    def absent(self) -> NDArray[np.intp]:
        """The rows that are missing."""
        ...

    @property
    def unknown(self) -> int:
        """How many rows are unknown."""
        ...

    @property
    def missing(self) -> int:
        """How many rows are missing."""
        ...


Reader = Callable[[Any], Read]


@dataclass(frozen=True)
class Encoded:
    """Codes of answers and where no category serves; lengths and places, never values.

    codes : (n,) unsigned; 0 .. k-1, k for unknown, k+1 for missing.
    """

    codes: Codes
    k: int

    @cached_property
    def outside(self) -> NDArray[np.intp]:
        """The rows whose answer is unknown or missing, where missing is not a category."""
        if self.codes.max(initial=0) < self.k:  # the usual case, and the cheapest to see
            return np.empty(0, dtype=np.intp)
        return np.asarray(np.flatnonzero(self.codes >= self.k))

    @cached_property
    def absent(self) -> NDArray[np.intp]:
        """The rows whose answer is missing, where missing is not a category."""
        outside = self.outside
        return outside[self.codes[outside] == self.k + 1] if outside.size else outside

    @property
    def unknown(self) -> int:
        """How many answers are neither a category nor missing."""
        return len(self.outside) - self.missing

    @property
    def missing(self) -> int:
        """How many answers are missing, where missing is not a category."""
        return len(self.absent)


def encode(domain: Categories, cells: Any) -> Encoded:
    """The codes of a flat array of answers (list, NumPy, pandas or Arrow).

    Raises ArgumentTypeError where the array's declared type cannot hold the categories.
    """
    return Encoded(encoder(domain, cells)(cells), domain.k)


def reader(domain: Categories, like: Any) -> Reader:
    """A function from cells of the type of ``like`` to what `encode` makes of them."""
    codes = encoder(domain, like)
    return lambda cells: Encoded(codes(cells), domain.k)


def encoder(domain: Categories, like: Any) -> Encoder:
    """A function from cells of the type of ``like`` to fresh codes.

    like : any number of cells; only their declared type counts.
    Raises ArgumentTypeError where that type cannot hold the categories, or tell them apart.
    """
    if isinstance(like, list):
        return _of_objects(domain)
    dtype = like.dtype if hasattr(like, "dtype") else like.type
    _check_type(domain, dtype)
    return _of_type(domain, dtype)


def _check_type(domain: Categories, dtype: Any) -> None:
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype if len(dtype.categories) else np.dtype(object)
    held = kind_of_type(dtype)
    pairs = all(isinstance(c, tuple) for c in domain.categories if c is not None)
    if (
        pairs
        and held not in ("any", "other")
        and not (held == "float" and isinstance(dtype, np.dtype))
    ):
        raise ArgumentTypeError(
            f"the true answers of this design are tuples, {domain.describe()}, but the answers "
            f"are of kind {held}; give a column of such tuples"
        )
    if held == "any" or domain.kind == "other" or held == domain.kind:
        return
    if {held, domain.kind} == {"int", "float"}:
        return
    if held == "float" and isinstance(dtype, np.dtype):
        return  # what pandas and NumPy make of a column in which everybody is missing
    raise ArgumentTypeError(
        f"categories {domain.describe()} are of kind {domain.kind}, but the answers are of kind "
        f"{held}; declare the categories in the answers' type, or convert the answers"
    )


def _of_type(domain: Categories, dtype: Any) -> Encoder:
    if isinstance(dtype, np.dtype):
        return _of_numpy(domain, dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_categorical(domain, dtype.categories)
    if isinstance(dtype, pd.ArrowDtype):
        of_arrow = _of_arrow(domain, dtype.pyarrow_dtype)
        return lambda cells: of_arrow(cells.__arrow_array__())
    if getattr(dtype, "storage", "") == "pyarrow":
        import pyarrow as pa

        of_text = _of_arrow(domain, pa.large_string())
        return lambda cells: of_text(cells.__arrow_array__())
    if isinstance(dtype, pd.DatetimeTZDtype):
        of_moments = _of_moments(domain, np.dtype(f"M8[{dtype.unit}]"))
        return lambda cells: of_moments(cells.tz_convert(None).to_numpy())
    storage = getattr(dtype, "numpy_dtype", None)
    if storage is not None and storage.kind in "biuf":
        return _of_masked(domain, storage)
    of_objects = _of_objects(domain)
    if isinstance(dtype, pd.api.extensions.ExtensionDtype):
        return lambda cells: of_objects(cells.to_numpy(dtype=object, na_value=None))
    return _of_arrow(domain, dtype)


def _absent(domain: Categories) -> Any:
    """The code of a missing answer."""
    return domain.dtype.type(domain.code(None))


# -- whole numbers, looked up -------------------------------------------------------------


def _through(table: Codes, dtype: np.dtype[Any]) -> Encoder:
    """``table[place]`` for unsigned places of ``dtype``; the last entry serves all beyond it.

    Where the table just counts up, that is a minimum; NumPy is eight times faster with an array
    there than with one number.
    """
    last = len(table) - 1
    in_order = bool((table == np.arange(len(table))).all())
    all_fit = last > np.iinfo(dtype).max
    if not in_order and dtype == table.dtype == np.uint8:
        return _through_bytes(table)
    caps = np.full(_AT_ONCE, 0 if all_fit else last, dtype=dtype)

    def look_up(places: NDArray[Any]) -> Codes:
        found = np.empty(len(places), dtype=table.dtype)
        direct = in_order and not all_fit and dtype == table.dtype
        for start in range(0, len(places), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            part = places[rows]
            if direct:
                np.minimum(part, caps[: len(part)], out=found[rows])
                continue
            if not all_fit:
                part = np.minimum(part, caps[: len(part)])
            found[rows] = part if in_order else table[part]
        return found

    return look_up


def _through_bytes(table: Codes) -> Encoder:
    """`_through` from bytes to bytes, for which Python has a function twice as fast as indexing."""
    every = np.full(256, table[-1], dtype=np.uint8)
    every[: len(table)] = table[:256]
    translation = every.tobytes()
    return lambda places: np.frombuffer(bytearray(places).translate(translation), np.uint8)


def _of_bools(domain: Categories) -> Encoder:
    # A bool array read from a file may hold other bytes than 0 and 1: unknown.
    codes = [domain.code(False), domain.code(True), domain.k]
    look_up = _through(np.array(codes, dtype=domain.dtype), np.dtype(np.uint8))
    return lambda cells: look_up(cells.view(np.uint8))


def _of_dictionary(domain: Categories, known: Codes, dtype: np.dtype[Any]) -> Encoder:
    """Codes of places in a dictionary whose entries have the codes ``known``; -1 is missing."""
    absent = domain.code(None)
    between = np.arange(len(known), absent)  # so that a table in order stays in order
    table = np.concatenate([known, between, [absent]]).astype(domain.dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    # Seen as unsigned, -1 must lie beyond the table, or it would be one of its entries.
    if len(table) > np.iinfo(unsigned).max:
        look_up = _through(table, np.dtype(np.uint64))
        return lambda places: look_up(places.astype(np.int64).view(np.uint64))
    look_up = _through(table, unsigned)
    return lambda places: look_up(places.view(unsigned))


def _of_categorical(domain: Categories, labels: Any) -> Encoder:
    values = labels.to_numpy() if isinstance(labels.dtype, np.dtype) else labels.array
    known = _of_type(domain, labels.dtype)(values)
    ways: dict[np.dtype[Any], Encoder] = {}

    def codes(cells: Any) -> Codes:
        places = cells.codes
        if places.dtype not in ways:
            ways[places.dtype] = _of_dictionary(domain, known, places.dtype)
        return ways[places.dtype](places)

    return codes


# -- NumPy ---------------------------------------------------------------------------------


def _of_numpy(domain: Categories, dtype: np.dtype[Any]) -> Encoder:
    if dtype.kind == "b":
        return _of_bools(domain)
    if dtype.kind in "iuf":
        return _of_numbers(domain, dtype)
    if dtype.kind in "mM":
        return _of_moments(domain, dtype)
    of_objects = _of_objects(domain)
    return lambda cells: of_objects(cells.astype(object))


def _of_masked(domain: Categories, storage: np.dtype[Any]) -> Encoder:
    """Masked numbers: values and mask apart, so nothing is rounded."""
    fill = np.nan if storage.kind == "f" else storage.type(0)
    of_values, absent = _of_numpy(domain, storage), domain.code(None)

    def codes(cells: Any) -> Codes:
        found = of_values(cells.to_numpy(dtype=storage, na_value=fill))
        found[np.asarray(cells.isna())] = absent
        return found

    return codes


def _of_numbers(domain: Categories, dtype: np.dtype[Any]) -> Encoder:
    """Codes of numbers, compared in the column's own type.

    Integers match exactly; other categories are rounded to the type of a float column.
    """
    match = _matching(domain, *_numbers_of(domain, dtype))
    if dtype.kind != "f":
        return match
    absent = domain.code(None)

    def codes(cells: NDArray[Any]) -> Codes:
        found = match(cells)
        found[np.isnan(cells)] = absent
        return found

    return codes


def _numbers_of(domain: Categories, dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The categories that are numbers, in a column's type where it can hold them; their codes."""
    if dtype.kind in "iu" and domain.integers is not None:
        info, whole = np.iinfo(dtype), domain.integers
        held = np.flatnonzero((whole >= info.min) & (whole <= min(info.max, 2**63 - 1)))
        return whole[held].astype(dtype), held
    numbers: list[Any] = []
    codes: list[int] = []
    for category, code in domain.value_codes.items():
        if isinstance(category, int | float):
            number = _in_type(category, dtype)
            if number is not None:
                numbers.append(number)
                codes.append(code)
    return np.array(numbers, dtype=dtype), np.array(codes, dtype=np.intp)


def _of_moments(domain: Categories, dtype: np.dtype[Any]) -> Encoder:
    """Codes of NumPy dates or durations, as whole numbers of the column's own unit."""
    unit, multiple = np.datetime_data(dtype)
    in_days = unit in ("Y", "M") and dtype.kind == "M"
    if in_days:
        unit, multiple = "D", 1
    length = _UNIT_LENGTH.get(unit, 0) * multiple
    wanted = datetime.datetime if dtype.kind == "M" else datetime.timedelta
    to_numpy: Any = pd.Timestamp if dtype.kind == "M" else pd.Timedelta
    numbers: list[int] = []
    codes_of: list[int] = []
    for category, code in domain.value_codes.items():
        if not length or not isinstance(category, wanted):
            continue
        exact = to_numpy(category).asm8
        span = int(exact.astype(np.int64)) * _UNIT_LENGTH[np.datetime_data(exact.dtype)[0]]
        if span % length == 0 and abs(span // length) < 2**63:
            numbers.append(span // length)
            codes_of.append(code)
    match = _matching(domain, np.array(numbers, np.int64), np.array(codes_of, np.intp))
    absent = domain.code(None)

    def codes(cells: NDArray[Any]) -> Codes:
        if in_days:
            cells = cells.astype("datetime64[D]")
        found = match(cells.astype(np.int64))
        found[np.isnat(cells)] = absent
        return found

    return codes


def _matching(domain: Categories, values: NDArray[Any], codes_of: NDArray[np.intp]) -> Encoder:
    """``codes_of[j]`` where a cell equals ``values[j]``, else k: by a table or by bisection."""
    if values.dtype.kind in "iu" and len(values):
        span = int(values.max()) - int(values.min()) + 1
        if span <= max(_SMALL_SPAN, 4 * domain.k):
            return _by_offset(domain, values, codes_of, span)
    order = np.argsort(values)
    values, ranked = values[order], codes_of.astype(domain.dtype)[order]
    if np.any(values[1:] == values[:-1]):
        raise ArgumentTypeError(
            f"categories cannot be told apart in answers of type {values.dtype}; "
            "convert the answers to float64"
        )

    def codes(cells: NDArray[Any]) -> Codes:
        found = np.full(cells.shape, domain.k, dtype=domain.dtype)
        if len(values):
            place = np.searchsorted(values, cells)
            place[place == len(values)] = 0
            match = values[place] == cells
            found[match] = ranked[place[match]]
        return found

    return codes


def _by_offset(
    domain: Categories, values: NDArray[Any], codes_of: NDArray[np.intp], span: int
) -> Encoder:
    """Codes of whole numbers within a short span: offsets from the lowest, looked up."""
    own = values.dtype.newbyteorder("=")
    unsigned = np.dtype(f"u{own.itemsize}")
    values = values.astype(own)
    lowest = values.min()
    table = np.full(span + 1, domain.k, dtype=domain.dtype)
    # Unsigned, also where the span is wider than half of a signed type.
    table[(values.view(unsigned) - lowest.view(unsigned))] = codes_of
    look_up = _through(table, unsigned)
    if lowest == 0:
        return lambda cells: look_up(cells.astype(own, copy=False).view(unsigned))

    def codes(cells: NDArray[Any]) -> Codes:
        cells = cells.astype(own, copy=False).view(unsigned)
        found = np.empty(len(cells), dtype=domain.dtype)
        for start in range(0, len(cells), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            # Unsigned, a number below the lowest wraps to far above the highest.
            found[rows] = look_up(cells[rows] - lowest.view(unsigned))
        return found

    return codes


def _in_type(category: int | float, dtype: np.dtype[Any]) -> Any:
    """The number that stands for a category in a column of this type; None if no number can."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        whole = category % 1 == 0
        return int(category) if whole and info.min <= category <= info.max else None
    try:
        with np.errstate(all="ignore"):
            number = dtype.type(category)
    except OverflowError:
        return None
    if isinstance(category, int):
        return number if np.isfinite(number) and int(number) == category else None
    vanished = (number == 0) != (category == 0) or bool(np.isinf(number)) != np.isinf(category)
    return None if vanished else number


# -- Arrow ---------------------------------------------------------------------------------


def _of_arrow(domain: Categories, dtype: Any) -> Encoder:
    """Codes of an Arrow array, chunked or not."""
    of_array = _of_arrow_array(domain, dtype)

    def codes(cells: Any) -> Codes:
        if not hasattr(cells, "chunks"):
            return of_array(cells)
        # One by one: chunks may have dictionaries that Arrow cannot unify.
        parts = [of_array(chunk) for chunk in cells.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([domain.empty(0), *parts])

    return codes


def _of_arrow_array(domain: Categories, dtype: Any) -> Encoder:
    import pyarrow as pa

    if pa.types.is_dictionary(dtype):
        return _of_arrow_dictionary(domain, dtype)
    held = _arrow_kind(dtype)
    if held == "str":
        return _of_arrow_text(domain, dtype)
    if held == "float":  # a null becomes NaN, which is missing too
        of_floats = _of_numpy(domain, np.dtype(dtype.to_pandas_dtype()))
        return lambda cells: of_floats(cells.to_numpy(zero_copy_only=False))
    if held in ("bool", "int", "date", "instant", "duration"):
        return _of_arrow_numbers(domain, dtype, held)
    of_objects = _of_objects(domain)
    return lambda cells: of_objects(_arrow_objects(cells))


def _of_arrow_numbers(domain: Categories, dtype: Any, held: str) -> Encoder:
    import pyarrow as pa

    filler = False if held == "bool" else pa.scalar(0, dtype)
    sample = pa.array([filler], type=dtype).to_numpy(zero_copy_only=False)
    of_values, absent = _of_numpy(domain, sample.dtype), domain.code(None)

    def codes(cells: Any) -> Codes:
        found = of_values(cells.fill_null(filler).to_numpy(zero_copy_only=False))
        if cells.null_count:
            found[cells.is_null().to_numpy(zero_copy_only=False)] = absent
        return found

    return codes


def _of_arrow_dictionary(domain: Categories, dtype: Any) -> Encoder:
    """Encode the dictionary, look its places up; the last dictionary's codes are kept."""
    import pyarrow as pa

    of_values = _of_arrow_array(domain, dtype.value_type)
    # One tuple, replaced as a whole: threads may hold different ones at a time.
    last: list[tuple[Any, Any, Encoder] | None] = [None]

    def places_in(dictionary: Any) -> Encoder:
        # Slices of a column share their dictionary, and so its memory.
        addresses = [buffer and buffer.address for buffer in dictionary.buffers()]
        where = (len(dictionary), dictionary.offset, addresses)
        known = last[0]
        if known is not None and known[1] == where:
            return known[2]
        of_places = _of_dictionary(domain, of_values(dictionary), np.dtype(np.int64))
        last[0] = (dictionary, where, of_places)  # held, so that its memory stays its own
        return of_places

    def codes(cells: Any) -> Codes:
        of_places = places_in(cells.dictionary)
        indices = cells.indices.cast(pa.int64()).fill_null(-1)
        return of_places(indices.to_numpy(zero_copy_only=False))

    return codes


def _of_arrow_text(domain: Categories, dtype: Any) -> Encoder:
    import pyarrow as pa
    import pyarrow.compute as pc

    # Text that is not Unicode (half a surrogate pair) cannot be in an Arrow array.
    words = {c: i for c, i in domain.value_codes.items() if isinstance(c, str) and _is_unicode(c)}
    value_set, absent = pa.array(list(words), type=dtype), domain.code(None)
    table = np.array([*words.values(), domain.k], dtype=domain.dtype)
    look_up = _through(table, np.dtype(np.uint32))

    def codes(cells: Any) -> Codes:
        places = pc.index_in(cells, value_set=value_set)
        if places.null_count:
            places = places.fill_null(len(words))
        found = look_up(places.to_numpy(zero_copy_only=False).view(np.uint32))
        if cells.null_count:
            found[cells.is_null().to_numpy(zero_copy_only=False)] = absent
        return found

    return codes


def _is_unicode(text: str) -> bool:
    return text.isascii() or text == text.encode(errors="ignore").decode()


def _arrow_objects(cells: Any) -> NDArray[np.object_]:
    """The Python values of an Arrow array; one that Python cannot hold becomes an object()."""

    def value_of(cell: Any) -> object:
        try:
            return cell.as_py()
        except Exception:  # such as a date far in the future: unknown
            return object()

    return np.fromiter((value_of(cell) for cell in cells), dtype=object, count=len(cells))


# -- objects -------------------------------------------------------------------------------


def _of_objects(domain: Categories) -> Encoder:
    """Codes of Python objects of any kind, hostile ones too; from a list or an array."""
    absent = domain.code(None)

    def codes(cells: Any) -> Codes:
        listed = cells if isinstance(cells, list) else cells.tolist()
        types = set(map(type, listed))
        if not (types <= _HONEST_TYPES or types <= {bool, type(None)}):
            return np.fromiter(map(domain.code, listed), domain.dtype, len(listed))
        table: dict[Any, int] = domain.bool_codes if bool in types else domain.value_codes
        found = np.fromiter(map(table.get, listed, repeat(domain.k)), domain.dtype, len(listed))
        if float in types:  # NaN, which a dict does not find
            rows = np.flatnonzero(found == domain.k)
            cells = np.fromiter((listed[row] for row in rows.tolist()), object, len(rows))
            found[rows[pd.isna(cells)]] = absent
        return found

    return codes


# -- kinds ---------------------------------------------------------------------------------


def _arrow_kind(arrow: Any) -> str:
    import pyarrow as pa

    if pa.types.is_dictionary(arrow):
        return _arrow_kind(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return "date" if arrow.tz is None else "instant"
    tests = {
        "bool": pa.types.is_boolean,
        "int": pa.types.is_integer,
        "float": pa.types.is_floating,
        "str": lambda t: pa.types.is_string(t) or pa.types.is_large_string(t),
        "bytes": lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t),
        "date": pa.types.is_date,
        "duration": pa.types.is_duration,
    }
    return next((kind for kind, test in tests.items() if test(arrow)), "any")


def is_arrow_text(cells: Any) -> bool:
    """Whether these are strings that Arrow holds, in pandas or by itself."""
    dtype = getattr(cells, "dtype", getattr(cells, "type", None))
    if isinstance(dtype, pd.StringDtype):
        return dtype.storage == "pyarrow"
    arrow = isinstance(dtype, pd.ArrowDtype) or type(dtype).__module__.startswith("pyarrow")
    return arrow and kind_of_type(dtype) == "str"


def kind_of_type(dtype: Any) -> str:
    """The kind of category that a declared type can hold; "any" where it does not say."""
    if isinstance(dtype, pd.CategoricalDtype):
        return kind_of_type(dtype.categories.dtype)
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow_kind(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.StringDtype):
        return "str"
    if isinstance(dtype, pd.DatetimeTZDtype):
        return "instant"
    storage = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", None)
    if storage is None:
        return _arrow_kind(dtype) if type(dtype).__module__.startswith("pyarrow") else "any"
    kinds = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str", "T": "str"}
    kinds |= {"S": "bytes", "M": "date", "m": "duration"}
    return kinds.get(storage.kind, "any")


@dataclass(frozen=True, slots=True)
class Column:
    """What came in.

    cells : the n answers as a list, or as a flat NumPy, pandas or Arrow array.
    family : "list", "tuple", "scalar", "numpy", "pandas", "series", "index", "arrow", "chunked",
        "arrow scalar".
    shape : of an array; like : the Series or Index that came in, for its name and index.
    """

    cells: Any
    family: str
    shape: tuple[int, ...]
    like: Any = None

    @property
    def rows(self) -> int:
        """The number of answers."""
        return len(self.cells)

    @property
    def dtype(self) -> Any:
        """The declared type of the answers."""
        if self.like is not None:
            return self.like.dtype
        if isinstance(self.cells, list):
            return np.dtype(object)
        return self.cells.dtype if hasattr(self.cells, "dtype") else self.cells.type

    def pick(self, places: NDArray[np.intp]) -> list[Any]:
        """The answers at some places, as Python values.  For the steward: they are private."""
        if isinstance(self.cells, list):
            return [self.cells[place] for place in places.tolist()]
        cells = self.cells.take(places)
        return list(cells.to_pylist() if hasattr(cells, "to_pylist") else cells)

    def table(self, space: Any, keep_missing: bool = False) -> Table:
        """What reports of a space look like in this container; comes before anything is drawn.

        space : what reports are: a Categories, or another space that `codec_of` knows.
        keep_missing : whether reports may be left missing.
        Raises ArgumentTypeError where the container cannot hold such reports; follows from
        the declarations alone.
        """
        return codec_of(space).table(self, keep_missing)

    def part(self, rows: slice) -> Any:
        """The cells of some rows."""
        return self.cells[rows]

    def builder(self, table: Table, keep_missing: bool = False) -> Builder:
        """Builder for the reports of all rows; `wrap` makes them the container that came in.

        table : from `table`, made with the same ``keep_missing``.
        """
        return table.builder(self.rows)

    def wrap(self, reports: Any) -> Any:
        """What a room holds, as the container that came in."""
        if self.family == "list":
            return reports
        if self.family == "tuple":
            return tuple(reports)
        if self.family in ("scalar", "arrow scalar"):
            return reports[0]
        if self.family == "numpy":
            return reports.reshape(self.shape + reports.shape[1:])
        # The dtype is named each time, so that pandas infers nothing from the reports.
        if self.family == "series":
            index, name = self.like.index.copy(), self.like.name
            return pd.Series(reports, index=index, name=name, dtype=reports.dtype, copy=False)
        if self.family == "index":
            name = self.like.name
            return pd.Index(reports, dtype=reports.dtype, name=name, tupleize_cols=False)
        if self.family == "pandas" and isinstance(reports, np.ndarray):
            return pd.array(reports, dtype=reports.dtype, copy=False)
        return reports


class Table(Protocol):
    """What reports look like in a container, before there are any."""

    @property
    def type(self) -> Any:
        """Their declared type."""
        ...

    def builder(self, rows: int) -> Builder:
        """Builder for as many."""
        ...


class ReportCodec(Protocol):
    """How reports of one space stand in containers."""

    @property
    def labels(self) -> Categories:
        """What the cells of a tally are called."""
        ...

    @property
    def is_label(self) -> bool:
        """Whether a report is one of the labels, so that their counts sum to n."""
        ...

    @property
    def report_bytes(self) -> int:
        """About the bytes of a report in memory, at most."""
        ...

    def rows(self, container: Column) -> Column:
        """The container, a row for each report."""
        ...

    def reader(self, like: Any) -> Reader:
        """A function from cells of the type of ``like`` to coded reports."""
        ...

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Coded reports as a channel's ``scores`` and ``likelihood`` take them."""
        ...

    def table(self, container: Column, keep_missing: bool) -> Table:
        """See `Column.table`."""
        ...


@singledispatch
def codec_of(space: Any) -> ReportCodec:
    """How reports of a space stand in containers; each kind of space registers its form."""
    raise ArgumentTypeError(f"reports of a {type(space).__name__} have no form in containers")


@codec_of.register
def _(space: Categories) -> ReportCodec:
    return _CategoryCodec(space)


def open_reports(values: Any, space: Any) -> tuple[Column, Reader]:
    """Reports in any container that `privatize` gives back, and what reads their cells.

    Raises ArgumentTypeError where the container cannot hold reports of the space.
    """
    form = codec_of(space)
    container = form.rows(open_column(values))
    return container, form.reader(container.cells)


@dataclass(frozen=True)
class _CategoryCodec:
    """Reports that are categories."""

    labels: Categories
    is_label: bool = True

    @property
    def report_bytes(self) -> int:
        texts = [c for c in self.labels.categories if isinstance(c, str | bytes)]
        sizes = [len(t.encode(errors="replace") if isinstance(t, str) else t) for t in texts]
        return 16 + max(sizes, default=0)

    def rows(self, container: Column) -> Column:
        return container

    def reader(self, like: Any) -> Reader:
        return reader(self.labels, like)

    def decode(self, codes: Codes) -> NDArray[Any]:
        return codes

    def table(self, container: Column, keep_missing: bool) -> Table:
        """The k categories in the type that the reports will have."""
        domain = self.labels
        if container.family in ("list", "tuple", "scalar"):  # they hold the objects themselves
            return _CategoryTable(domain.objects, ListBuilder)
        holds_missing = keep_missing or domain.missing_code is not None
        try:
            with np.errstate(all="ignore"):
                table = self._array(container, holds_missing)
                # Whatever a type does to a value (cut, round, wrap), it must come back as itself.
                kept = bool(np.array_equal(encode(domain, table).codes, np.arange(domain.k)))
        except (ValueError, TypeError, ArithmeticError, NotImplementedError, KeyError):
            kept = False
        if not kept:
            raise ArgumentTypeError(
                f"categories {domain.describe()} cannot be stored, or not be told apart, as "
                f"reports of answers of type {container.dtype}; convert the answers to another type"
            )
        make = partial(
            builder_for, keep_missing=keep_missing, chunked=container.family == "chunked"
        )
        return _CategoryTable(table, make)

    def _array(self, container: Column, holds_missing: bool) -> Any:
        if container.family in ("arrow", "chunked", "arrow scalar"):
            return _arrow_table(self.labels, container.dtype)
        if container.family == "numpy":
            return _numpy_table(self.labels, container.dtype, holds_missing)
        return _pandas_table(self.labels, container.dtype, holds_missing)


@dataclass(frozen=True, eq=False)
class _CategoryTable:
    """The k categories as an array of the reports' type."""

    categories: Any
    make: Callable[[Any, int], Builder]

    @property
    def type(self) -> Any:
        return getattr(self.categories, "type", getattr(self.categories, "dtype", None))

    def builder(self, rows: int) -> Builder:
        return self.make(self.categories, rows)


_SCALARS = (str, bytes, np.generic, numbers.Number, enum.Enum, datetime.date, datetime.timedelta)


def open_column(values: Any) -> Column:
    """The flat cells of a list, tuple, scalar, array, Series, Index or Arrow array.

    Raises ArgumentTypeError for a container that rrstats cannot give back.
    """
    if isinstance(values, pd.DataFrame):
        raise ArgumentTypeError(
            "values must be one column, found a DataFrame; give one column, such as "
            "df['answer'], or use df.rr with its name"
        )
    if isinstance(values, pd.MultiIndex):
        raise ArgumentTypeError("values must be one column, found a MultiIndex; pick one level")
    if isinstance(values, pd.Series | pd.Index):
        family = "series" if isinstance(values, pd.Series) else "index"
        cells = values.to_numpy() if isinstance(values.dtype, np.dtype) else values.array
        return Column(cells, family, (len(values),), values)
    if isinstance(values, pd.api.extensions.ExtensionArray):
        thin = isinstance(values, pd.arrays.NumpyExtensionArray) or isinstance(
            values.dtype, np.dtype
        )
        return Column(values.to_numpy() if thin else values, "pandas", (len(values),))
    if isinstance(values, np.ma.MaskedArray):
        raise ArgumentTypeError(
            "values must not be a masked array: what is masked would be taken for an answer; "
            "convert it, for example with values.astype(object).filled(None)"
        )
    if isinstance(values, np.ndarray):
        return Column(np.asarray(values).reshape(-1), "numpy", values.shape)
    if type(values).__module__.partition(".")[0] == "pyarrow":
        import pyarrow as pa

        if isinstance(values, pa.ChunkedArray):
            return Column(values, "chunked", (len(values),))
        if isinstance(values, pa.Array):
            return Column(values, "arrow", (len(values),))
        if isinstance(values, pa.Scalar):
            return Column(pa.array([values], type=values.type), "arrow scalar", ())
    if isinstance(values, list | tuple):
        if type(values) is list:
            return Column(values, "list", (len(values),))
        family = "list" if isinstance(values, list) else "tuple"
        return Column(list(values), family, (len(values),))
    if isinstance(values, _SCALARS) or is_missing(values):
        return Column([values], "scalar", ())
    raise ArgumentTypeError(
        "values must be a list, tuple, array, Series, Index, Arrow array or one answer, "
        f"found {type(values).__name__}{engine_hint(values) or '; convert it to one of these'}"
        + ("; for counts of reports use rr.Tally.from_counts" if isinstance(values, dict) else "")
    )


_SINKS = {
    "dask": "rrstats.engines.dask.privatize_parquet",
    "pyspark": "rrstats.engines.spark.privatize_parquet",
    "polars": "rrstats.engines.polars.sink_privatized",
}


def engine_hint(values: Any) -> str:
    """What to use for a frame or column of an engine; empty for all else.

    Lazy frames are computed anew for every use, and each time the noise would be drawn anew.
    """
    engine = type(values).__module__.partition(".")[0]
    if engine not in _SINKS:
        return ""
    return (
        f" of {engine}: a lazy frame is computed again for every use, and fresh noise would be "
        f"drawn each time, which gives the answers away; {_SINKS[engine]} writes reports once, "
        "and a lazy frame can have keyed ones (key= and id=; import rrstats.engines."
        f"{'spark' if engine == 'pyspark' else engine}); to count reports, give rr.tally or "
        "rr.estimate the engine's frame and columns="
    )


def _objects(values: Iterable[object], count: int) -> NDArray[np.object_]:
    # fromiter, because np.array would look inside tuples and lists.
    return np.fromiter(values, dtype=object, count=count)


def _integer_type(domain: Categories, own: np.dtype[Any]) -> np.dtype[Any] | None:
    """The column's own integer type if all categories fit, else int64, uint64 or None."""
    if domain.integers is not None:
        least, most = int(domain.integers.min()), int(domain.integers.max())
    else:
        declared = [c for c in domain.categories if isinstance(c, int)]
        least, most = min(declared), max(declared)
    candidates = [own] if own.kind in "iu" else []
    for candidate in (*candidates, np.dtype(np.int64), np.dtype(np.uint64)):
        info = np.iinfo(candidate)
        if info.min <= least and most <= info.max:
            return candidate
    return None


def _numpy_type(
    domain: Categories, own: np.dtype[Any], holds_missing: bool
) -> np.dtype[Any] | None:
    """The NumPy type of the reports of a column of type ``own``; None means objects."""
    if domain.kind == "bool":
        return None if holds_missing else np.dtype(bool)
    if domain.kind == "int":
        if not holds_missing:
            return _integer_type(domain, own)
        exact = all(abs(c) <= 2**53 for c in domain.categories if isinstance(c, int))
        return np.dtype(np.float64) if exact else None
    if domain.kind == "float":
        return own if own.kind == "f" else np.dtype(np.float64)
    if domain.kind in ("date", "duration"):
        return own if own.kind in "mM" else None
    if domain.kind == "str" and own.kind == "T" and not holds_missing:
        return own
    if (domain.kind, own.kind) in (("str", "U"), ("bytes", "S")) and not holds_missing:
        texts: list[Any] = list(domain.categories)
        width = max(map(len, texts))
        return np.dtype(f"{own.kind}{max(width, 1)}")
    return None


def _numpy_table(domain: Categories, own: np.dtype[Any], holds_missing: bool) -> NDArray[Any]:
    """The categories as a NumPy array of the reports' type."""
    target = _numpy_type(domain, own, holds_missing)
    if target is None:
        return domain.objects
    if target.kind in "mM":
        return _moments(domain, target)
    if domain.integers is not None:
        return domain.integers.astype(target)
    absent = NUMPY_MISSING.get(target.kind)
    return np.array([absent if c is None else c for c in domain.categories], dtype=target)


def _moments(domain: Categories, target: np.dtype[Any]) -> NDArray[Any]:
    """Dates or durations as NumPy has them; instants in UTC."""
    to_pandas: Any = pd.Timestamp if target.kind == "M" else pd.Timedelta
    absent = NUMPY_MISSING[target.kind]
    exact = [absent if c is None else to_pandas(c).asm8 for c in domain.categories]
    return np.array([moment.astype(target) for moment in exact], dtype=target)


def category_labels(domain: Categories) -> pd.Index[Any]:
    """The declared categories without a missing one, as the labels of a Categorical."""
    values = [c for c in domain.categories if c is not None]
    if domain.kind == "other":
        return pd.Index(_objects(values, len(values)), tupleize_cols=False)
    return pd.Index(values, tupleize_cols=False)


def _pandas_table(domain: Categories, own: Any, holds_missing: bool) -> Any:
    """The categories as an array of the type that reports of a pandas column get."""
    values: list[Any] = list(domain.categories)
    if isinstance(own, pd.CategoricalDtype):
        codes = np.array([-1 if c is None else 0 for c in values])
        codes[codes == 0] = np.arange(np.count_nonzero(codes == 0))
        return pd.Categorical.from_codes(codes, category_labels(domain), ordered=bool(own.ordered))
    if isinstance(own, pd.ArrowDtype):
        table = _arrow_table(domain, own.pyarrow_dtype)
        return pd.array(table, dtype=pd.ArrowDtype(table.type))
    if isinstance(own, pd.StringDtype) and domain.kind == "str":
        return pd.array(values, dtype=own)
    if isinstance(own, pd.BooleanDtype) and domain.kind == "bool":
        return pd.array(values, dtype=own)
    masked = None if isinstance(own, np.dtype) else getattr(own, "numpy_dtype", None)
    if masked is not None and domain.kind == "int":
        fitting = _integer_type(domain, masked)
        if fitting is not None:
            # pandas names its masked integers Int64, UInt8 and so on.
            name: Any = fitting.name.replace("i", "I").replace("u", "U")
            return pd.array(values, dtype=name)
    if masked is not None and domain.kind == "float":
        floating: Any = own if masked.kind == "f" else "Float64"
        return pd.array(values, dtype=floating)
    if domain.kind in ("str", "date", "instant", "duration"):
        # A unit or a time zone of the column may come from one answer, so it does not count.
        of_days = domain.kind == "date" and isinstance(own, np.dtype) and own.kind == "M"
        try:
            alone = pd.Series(pd.DatetimeIndex(values) if of_days else values)
        except UnicodeEncodeError:  # half a surrogate pair does not go into Arrow's strings
            return _objects(values, domain.k)
        return alone.to_numpy() if isinstance(alone.dtype, np.dtype) else alone.array
    return _numpy_table(domain, own if isinstance(own, np.dtype) else np.dtype("O"), holds_missing)


def _arrow_type(domain: Categories, own: Any) -> Any:
    """The Arrow type of the reports of a column of type ``own``."""
    import pyarrow as pa

    if pa.types.is_dictionary(own):
        value_type = _arrow_type(domain, own.value_type)
        return pa.dictionary(pa.int32(), value_type, ordered=own.ordered)
    if pa.types.is_null(own):  # what Arrow makes of a column in which everybody is missing
        return pa.array(domain.categories).type
    if domain.kind == "int":
        integer = pa.types.is_integer(own)
        fitting = _integer_type(domain, np.dtype(own.to_pandas_dtype() if integer else float))
        return own if fitting is None else pa.from_numpy_dtype(fitting)
    if domain.kind == "float" and not pa.types.is_floating(own):
        return pa.float64()
    return own


def _arrow_table(domain: Categories, own: Any) -> Any:
    """The categories as an Arrow array of the reports' type."""
    import pyarrow as pa

    target = _arrow_type(domain, own)
    if not pa.types.is_dictionary(target):
        table = _arrow_values(domain, target)
    else:
        place = iter(range(domain.k))
        indices = [None if c is None else next(place) for c in domain.categories]
        words = _arrow_values(domain, target.value_type).drop_null()
        table = pa.DictionaryArray.from_arrays(
            pa.array(indices, type=target.index_type), words, ordered=target.ordered
        )
    table.take(pa.array([0]))  # some types cannot: better found out before anything is drawn
    return table


def _arrow_values(domain: Categories, target: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_float16(target):  # older pyarrow takes Python floats for it from NumPy only
        absent = [np.nan if c is None else c for c in domain.categories]
        return pa.array(np.array(absent, dtype=np.float16), from_pandas=True)
    if domain.kind not in ("date", "instant", "duration"):
        return pa.array(domain.categories, type=target)
    unit = "D" if pa.types.is_date(target) else getattr(target, "unit", None)
    if unit is None or pa.types.is_time(target):
        return pa.array(domain.categories, type=target)
    kind = "m8" if pa.types.is_duration(target) else "M8"
    return pa.array(_moments(domain, np.dtype(f"{kind}[{unit}]")), type=target)


def place_of(data: pd.DataFrame, name: Any) -> int:
    """Where one column of a frame stands; raises where it is not there just once."""
    places: Any
    if isinstance(name, list | set | slice | np.ndarray | pd.Index | pd.Series | pd.DataFrame):
        # Not quoted: it may hold answers.
        raise ArgumentTypeError(f"a column is given by its name, found {type(name).__name__}")
    try:
        places = data.columns.get_loc(name)
    except (KeyError, TypeError, ValueError, pd.errors.InvalidIndexError):
        places = slice(0)
    if isinstance(places, int | np.integer):
        return int(places)
    times = len(np.arange(len(data.columns))[places])
    found = f"is there {times} times" if times else "is not there"
    near = difflib.get_close_matches(str(name), [str(c) for c in data.columns], n=1)
    hint = f"; did you mean {near[0]!r}" if near and not times else ""
    listed = ", ".join(repr(c) for c in list(data.columns)[:20])
    raise ArgumentValueError(f"column {name!r} {found}{hint}; the columns are {listed}")


def column_of(data: pd.DataFrame, name: Hashable) -> pd.Series[Any]:
    """One column of a frame; raises where it is not there just once."""
    return data.iloc[:, place_of(data, name)]
