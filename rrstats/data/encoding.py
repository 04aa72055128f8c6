"""From answers of any declared type to codes, prepared once and applied block by block.

`encoder` looks at the declarations (categories, and the type of a column) and returns a function
from cells of that type to fresh codes: 0 .. k-1, k for an answer outside the categories, k+1 for
a missing one where missing is no category.  What a column costs once (tables, checks) is
paid there; the function itself never raises or warns because of an answer.

Ways, from fast to slow: a look at the codes of a Categorical or a bool, an offset into a small
span of whole numbers, Arrow's hash for text, bisection for numbers and moments, a dict for objects.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.categories import Codes, Domain
from rrstats.errors import ArgumentTypeError

__all__ = [
    "Encoded",
    "Encoder",
    "Read",
    "Reader",
    "encode",
    "encoder",
    "is_arrow_text",
    "kind_of_type",
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


def encode(domain: Domain, cells: Any) -> Encoded:
    """The codes of a flat array of answers (list, NumPy, pandas or Arrow).

    Raises ArgumentTypeError where the array's declared type cannot hold the categories.
    """
    return Encoded(encoder(domain, cells)(cells), domain.k)


def reader(domain: Domain, like: Any) -> Reader:
    """A function from cells of the type of ``like`` to what `encode` makes of them."""
    codes = encoder(domain, like)
    return lambda cells: Encoded(codes(cells), domain.k)


def encoder(domain: Domain, like: Any) -> Encoder:
    """A function from cells of the type of ``like`` to fresh codes.

    like : any number of cells; only their declared type counts.
    Raises ArgumentTypeError where that type cannot hold the categories, or tell them apart.
    """
    if isinstance(like, list):
        return _of_objects(domain)
    dtype = like.dtype if hasattr(like, "dtype") else like.type
    _check_type(domain, dtype)
    return _of_type(domain, dtype)


def _check_type(domain: Domain, dtype: Any) -> None:
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


def _of_type(domain: Domain, dtype: Any) -> Encoder:
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


def _absent(domain: Domain) -> Any:
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


def _of_bools(domain: Domain) -> Encoder:
    # A bool array read from a file may hold other bytes than 0 and 1: unknown.
    codes = [domain.code(False), domain.code(True), domain.k]
    look_up = _through(np.array(codes, dtype=domain.dtype), np.dtype(np.uint8))
    return lambda cells: look_up(cells.view(np.uint8))


def _of_dictionary(domain: Domain, known: Codes, dtype: np.dtype[Any]) -> Encoder:
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


def _of_categorical(domain: Domain, labels: Any) -> Encoder:
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


def _of_numpy(domain: Domain, dtype: np.dtype[Any]) -> Encoder:
    if dtype.kind == "b":
        return _of_bools(domain)
    if dtype.kind in "iuf":
        return _of_numbers(domain, dtype)
    if dtype.kind in "mM":
        return _of_moments(domain, dtype)
    of_objects = _of_objects(domain)
    return lambda cells: of_objects(cells.astype(object))


def _of_masked(domain: Domain, storage: np.dtype[Any]) -> Encoder:
    """Masked numbers: values and mask apart, so nothing is rounded."""
    fill = np.nan if storage.kind == "f" else storage.type(0)
    of_values, absent = _of_numpy(domain, storage), domain.code(None)

    def codes(cells: Any) -> Codes:
        found = of_values(cells.to_numpy(dtype=storage, na_value=fill))
        found[np.asarray(cells.isna())] = absent
        return found

    return codes


def _of_numbers(domain: Domain, dtype: np.dtype[Any]) -> Encoder:
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


def _numbers_of(domain: Domain, dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
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


def _of_moments(domain: Domain, dtype: np.dtype[Any]) -> Encoder:
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


def _matching(domain: Domain, values: NDArray[Any], codes_of: NDArray[np.intp]) -> Encoder:
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
    domain: Domain, values: NDArray[Any], codes_of: NDArray[np.intp], span: int
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


def _of_arrow(domain: Domain, dtype: Any) -> Encoder:
    """Codes of an Arrow array, chunked or not."""
    of_array = _of_arrow_array(domain, dtype)

    def codes(cells: Any) -> Codes:
        if not hasattr(cells, "chunks"):
            return of_array(cells)
        # One by one: chunks may have dictionaries that Arrow cannot unify.
        parts = [of_array(chunk) for chunk in cells.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([domain.empty(0), *parts])

    return codes


def _of_arrow_array(domain: Domain, dtype: Any) -> Encoder:
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


def _of_arrow_numbers(domain: Domain, dtype: Any, held: str) -> Encoder:
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


def _of_arrow_dictionary(domain: Domain, dtype: Any) -> Encoder:
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


def _of_arrow_text(domain: Domain, dtype: Any) -> Encoder:
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


def _of_objects(domain: Domain) -> Encoder:
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
