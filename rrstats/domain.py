"""The declared categories, and the way from answers of any type to codes.

A `Domain` is declared, never inferred from data.  Encoding maps each answer to its code
0 .. k-1, an answer outside the categories to k, and a missing one to k+1 (or to its category,
where missing is one).  It never raises or warns because of an answer, whatever the answer is.

Traps handled here: ``True == 1 == 1.0``, NaN, pandas' silent conversions, hostile objects.
The way back, from codes to a container of reports, is in `containers`.
"""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["Domain", "Encoded", "is_missing", "kind_of_type"]

Codes = NDArray[Any]

# Types whose hash and equality are Python's own: a dict serves them exactly, and never raises.
_SMALL_SPAN = 4096
"""Whole numbers this close together are looked up in a table."""

_AT_ONCE = 1 << 16
"""Cells looked up at a time, so that what is in between stays in the cache."""

_HONEST_TYPES = {str, np.str_, int, float, type(None)}

# Attoseconds in each unit of NumPy's dates and durations that has a fixed length.
_UNIT_LENGTH = {"as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15}
_UNIT_LENGTH |= {"s": 10**18, "m": 60 * 10**18, "h": 3600 * 10**18}
_UNIT_LENGTH |= {"D": 86_400 * 10**18, "W": 7 * 86_400 * 10**18}

_KINDS = {"int": int, "float": float, "str": str, "bytes": bytes}
_KINDS |= {"date": datetime.date, "duration": datetime.timedelta}


def is_missing(value: object) -> bool:
    """Whether one value is missing: None, NaN, NaT and pandas.NA are all the same."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    try:
        if isinstance(value, Decimal):
            return value.is_nan()
        if isinstance(value, float | complex | np.inexact):
            return bool(value != value)
        return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))
    except Exception:  # an answer may be an object that raises when looked at
        return False


def _plain(category: object) -> Hashable:
    """The Python value behind a NumPy scalar, a str or an int of another class; None if missing."""
    if is_missing(category):
        return None
    if isinstance(category, np.datetime64):
        category = pd.Timestamp(category)
    elif isinstance(category, np.timedelta64):
        category = pd.Timedelta(category)
    elif isinstance(category, np.generic):
        category = category.item()
    elif isinstance(category, str):
        category = str.__str__(category)  # not str(): an Enum's own __str__ says something else
    elif isinstance(category, int) and not isinstance(category, bool):
        category = int(category)
    if isinstance(category, np.floating):  # a long double has no Python value
        raise ArgumentTypeError(
            f"categories must be Python numbers, found one of type {type(category).__name__}; "
            "convert it to float"
        )
    try:
        hash(category)
    except Exception:
        raise ArgumentTypeError(
            f"categories must be hashable, found one of type {type(category).__name__}"
        ) from None
    return category


def _kind(category: object) -> str:
    """The kind of one category, as far as containers distinguish kinds."""
    if isinstance(category, bool):
        return "bool"
    if isinstance(category, datetime.datetime) and category.tzinfo is not None:
        return "instant"
    return next((kind for kind, types in _KINDS.items() if isinstance(category, types)), "other")


def _comparable(value: Any) -> Any:
    """The value in whose place Python compares and hashes: dates are midnights, as in pandas."""
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value)
    if isinstance(value, np.timedelta64):
        return pd.Timedelta(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def _collision_key(category: Hashable) -> Hashable:
    """Categories with equal keys would be taken for one another somewhere."""
    if isinstance(category, str):
        return unicodedata.normalize("NFC", category)
    if isinstance(category, tuple):
        return tuple(_collision_key(part) for part in category)
    key: Hashable = _comparable(category)
    return key


def _as_sequence(categories: object) -> list[Any]:
    if isinstance(categories, pd.CategoricalDtype):
        categories = categories.categories
    if isinstance(categories, pd.Categorical | pd.Series):
        raise ArgumentTypeError(
            "categories must be declared, not taken from data; pass a list, or the dtype"
        )
    if (
        isinstance(categories, str | bytes | Mapping)
        or not isinstance(categories, Iterable)
        or getattr(categories, "ndim", 1) != 1
    ):
        raise ArgumentTypeError(
            "categories must be a list of the possible answers, "
            f"found {type(categories).__name__}; pass for example ['yes', 'no']"
        )
    if isinstance(categories, set | frozenset):
        try:
            listed = sorted(categories)
            # NaN and nested sets sort without an error, but in no fixed order.
            in_order = all(bool(a < b) for a, b in pairwise(listed))
        except Exception:
            in_order = False
        if not in_order:
            raise ArgumentTypeError(
                "categories given as a set must be sortable, because their order is part of "
                "the design; pass a list"
            )
        return listed
    to_list = getattr(categories, "to_pylist", None)
    return list(categories) if to_list is None else list(to_list())


@dataclass(frozen=True)
class Encoded:
    """Codes of answers and how many could not be served; lengths, never values.

    codes : (n,) unsigned; 0 .. k-1, k for unknown, k+1 for missing.
    """

    codes: Codes
    k: int

    @cached_property
    def _beyond(self) -> Codes:
        return self.codes[self.codes >= self.k]

    @property
    def unknown(self) -> int:
        """How many answers are neither a category nor missing."""
        return int(np.count_nonzero(self._beyond == self.k))

    @property
    def missing(self) -> int:
        """How many answers are missing, where missing is not a category."""
        return len(self._beyond) - self.unknown


class Domain:
    """The k declared categories, in their declared order.

    categories : at least two distinct hashable values: bool, int, float, str, bytes, date,
        tuple or any other; a missing value (None, NaN, NA: all one) may be among them.
        A set is sorted.  Values that pandas or Python would confuse (True and 1 and 1.0,
        0.0 and -0.0, two spellings of one accented word) are refused together.
    Raises ArgumentValueError or ArgumentTypeError for anything else; never looks at data.

    >>> Domain(["never", "once", "often"]).k
    3
    """

    __slots__ = ("_bools", "_key", "_others", "categories", "k", "kind", "missing_code")

    categories: tuple[Hashable, ...]
    k: int
    kind: str
    missing_code: int | None

    def __init__(self, categories: object) -> None:
        plain = tuple(_plain(c) for c in _as_sequence(categories))
        if len(plain) < 2:
            raise ArgumentValueError(
                f"categories must have at least two distinct values, found {len(plain)}"
            )
        seen: dict[Hashable, int] = {}
        for place, category in enumerate(plain):
            first = seen.setdefault(_collision_key(category), place)
            if first != place:
                # Not quoted: who passes the data as categories by mistake would see answers.
                raise ArgumentValueError(
                    f"categories must be distinct, but number {first + 1} "
                    f"({type(plain[first]).__name__}) and number {place + 1} "
                    f"({type(category).__name__}) are equal or would be taken for one another; "
                    "drop or rename one"
                )
        kinds = {_kind(c) for c in plain if c is not None}
        self.categories = plain
        self.k = len(plain)
        self.kind = (
            "float" if kinds == {"int", "float"} else kinds.pop() if len(kinds) == 1 else "other"
        )
        self.missing_code = plain.index(None) if None in plain else None
        self._bools = {c: i for i, c in enumerate(plain) if isinstance(c, bool)}
        self._others = {
            _comparable(c): i
            for i, c in enumerate(plain)
            if c is not None and not isinstance(c, bool)
        }
        self._key = tuple((type(c).__name__, c) for c in plain)

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_key"):
            raise AttributeError("a Domain cannot be changed; declare a new one")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Domain({self.describe()})"

    def __reduce__(self) -> tuple[type[Domain], tuple[tuple[Hashable, ...]]]:
        return Domain, (self.categories,)

    def describe(self, most: int = 8) -> str:
        """The categories in words, shortened where there are many."""
        if self.k <= most:
            return repr(list(self.categories))
        first = ", ".join(repr(c) for c in self.categories[: most - 2])
        return f"[{first}, ... {self.k} categories]"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every code, both sentinels and 2k - 2."""
        size = 2 * self.k
        return np.dtype(np.uint8 if size <= 256 else np.uint16 if size <= 65536 else np.uint32)

    def empty(self, rows: int) -> Codes:
        """Room for the codes of ``rows`` reports."""
        return np.empty(rows, dtype=self.dtype)

    def code(self, value: object) -> int:
        """The code of one value: 0 .. k-1, k if it is no category, k+1 if it is missing."""
        if is_missing(value):
            return self.k + 1 if self.missing_code is None else self.missing_code
        try:
            if isinstance(value, bool | np.bool_):
                return self._bools.get(bool(value), self.k)
            return self._others.get(_comparable(value), self.k)
        except Exception:  # an answer may be unhashable, or raise when compared: unknown
            return self.k

    # -- answers to codes --------------------------------------------------------------

    def encode(self, cells: Any) -> Encoded:
        """The codes of a flat array of answers (NumPy, pandas or Arrow).

        Raises ArgumentTypeError where the array's declared type cannot hold the categories.
        """
        self._check_type(cells)
        return Encoded(self._codes(cells), self.k)

    def _check_type(self, cells: Any) -> None:
        dtype = cells.dtype if hasattr(cells, "dtype") else cells.type
        if isinstance(dtype, pd.CategoricalDtype):
            dtype = dtype.categories.dtype if len(dtype.categories) else np.dtype(object)
        held = kind_of_type(dtype)
        if held == "any" or self.kind == "other" or held == self.kind:
            return
        if {held, self.kind} == {"int", "float"}:
            return
        if held == "float" and isinstance(dtype, np.dtype):
            return  # what pandas and NumPy make of a column in which everybody is missing
        raise ArgumentTypeError(
            f"categories {self.describe()} are of kind {self.kind}, but the answers are of kind "
            f"{held}; declare the categories in the answers' type, or convert the answers"
        )

    def _codes(self, cells: Any) -> Codes:
        dtype = getattr(cells, "dtype", None)
        if dtype is None:
            return self._codes_of_arrow(cells)
        if isinstance(dtype, np.dtype):
            return self._codes_of_numpy(cells)
        if isinstance(dtype, pd.CategoricalDtype):
            labels = dtype.categories
            values = labels.to_numpy() if isinstance(labels.dtype, np.dtype) else labels.array
            return self._codes_by_table(values, cells.codes)
        if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", "") == "pyarrow":
            return self._codes_of_arrow(cells.__arrow_array__())
        if isinstance(dtype, pd.DatetimeTZDtype):
            return self._codes_of_numpy(cells.tz_convert(None).to_numpy())
        storage = getattr(dtype, "numpy_dtype", None)
        if storage is not None and storage.kind in "biuf":
            # Masked numbers: values and mask apart, so nothing is rounded.
            fill = np.nan if storage.kind == "f" else storage.type(0)
            codes = self._codes_of_numpy(cells.to_numpy(dtype=storage, na_value=fill))
            codes[np.asarray(cells.isna())] = self.code(None)
            return codes
        return self._codes_of_objects(cells.to_numpy(dtype=object, na_value=None))

    def _codes_by_table(self, values: Any, indices: NDArray[Any]) -> Codes:
        """Codes of dictionary-encoded answers (-1 is missing): encode the dictionary, look up."""
        table = np.append(self._codes(values), self.dtype.type(self.code(None)))
        codes: Codes = table[indices].astype(self.dtype, copy=False)
        return codes

    def _codes_of_arrow(self, cells: Any) -> Codes:
        import pyarrow as pa

        if isinstance(cells, pa.ChunkedArray):
            # One by one: chunks may have dictionaries that Arrow cannot unify.
            parts = [self._codes_of_arrow(chunk) for chunk in cells.chunks]
            return np.concatenate([self.empty(0), *parts])
        held, dictionary = _arrow_kind(cells.type), isinstance(cells, pa.DictionaryArray)
        if dictionary:
            indices = cells.indices.cast(pa.int64()).fill_null(-1)
            return self._codes_by_table(cells.dictionary, indices.to_numpy(zero_copy_only=False))
        if held == "str":
            return self._codes_of_arrow_text(cells)
        if held == "float":  # a null becomes NaN, which is missing too
            return self._codes_of_numpy(cells.to_numpy(zero_copy_only=False))
        if held in ("bool", "int", "date", "instant", "duration"):
            filled = cells.fill_null(False if held == "bool" else pa.scalar(0, cells.type))
            codes = self._codes_of_numpy(filled.to_numpy(zero_copy_only=False))
            codes[cells.is_null().to_numpy(zero_copy_only=False)] = self.code(None)
            return codes
        return self._codes_of_objects(_arrow_objects(cells))

    def _codes_of_arrow_text(self, cells: Any) -> Codes:
        import pyarrow as pa
        import pyarrow.compute as pc

        # Text that is not Unicode (half a surrogate pair) cannot be in an Arrow array.
        texts = {c: i for c, i in self._others.items() if isinstance(c, str)}
        words = {c: i for c, i in texts.items() if c == c.encode(errors="ignore").decode()}
        found = pc.index_in(cells, value_set=pa.array(list(words), type=cells.type))
        codes_of = np.array([*words.values(), self.k], dtype=self.dtype)
        codes: Codes = codes_of[found.fill_null(len(words)).to_numpy(zero_copy_only=False)]
        if cells.null_count:
            codes[cells.is_null().to_numpy(zero_copy_only=False)] = self.code(None)
        return codes

    def _codes_of_numpy(self, cells: NDArray[Any]) -> Codes:
        if cells.dtype.kind == "b":
            # A bool array read from a file may hold other bytes than 0 and 1: unknown.
            table: Codes = np.full(256, self.k, dtype=self.dtype)
            table[:2] = self.code(False), self.code(True)
            codes: Codes = table[cells.view(np.uint8)]
            return codes
        if cells.dtype.kind in "iuf":
            return self._codes_of_numbers(cells)
        if cells.dtype.kind in "mM":
            return self._codes_of_moments(cells)
        return self._codes_of_objects(cells.astype(object))

    def _codes_of_moments(self, cells: NDArray[Any]) -> Codes:
        """Codes of NumPy dates or durations, as whole numbers of the column's own unit."""
        unit, multiple = np.datetime_data(cells.dtype)
        if unit in ("Y", "M") and cells.dtype.kind == "M":
            cells = cells.astype("datetime64[D]")
            unit, multiple = "D", 1
        length = _UNIT_LENGTH.get(unit, 0) * multiple
        wanted = datetime.datetime if cells.dtype.kind == "M" else datetime.timedelta
        to_numpy: Any = pd.Timestamp if cells.dtype.kind == "M" else pd.Timedelta
        numbers: list[int] = []
        codes_of: list[int] = []
        for category, code in self._others.items():
            if not length or not isinstance(category, wanted):
                continue
            exact = to_numpy(category).asm8
            span = int(exact.astype(np.int64)) * _UNIT_LENGTH[np.datetime_data(exact.dtype)[0]]
            if span % length == 0 and abs(span // length) < 2**63:
                numbers.append(span // length)
                codes_of.append(code)
        codes = self._match(cells.astype(np.int64), np.array(numbers, dtype=np.int64), codes_of)
        codes[np.isnat(cells)] = self.code(None)
        return codes

    def _codes_of_numbers(self, cells: NDArray[Any]) -> Codes:
        """Codes of numbers, compared in the column's own type.

        Integers match exactly; other categories are rounded to the type of a float column.
        """
        numbers: list[Any] = []
        codes_of: list[int] = []
        for category, code in self._others.items():
            if isinstance(category, int | float):
                number = _in_type(category, cells.dtype)
                if number is not None:
                    numbers.append(number)
                    codes_of.append(code)
        found = self._match(cells, np.array(numbers, dtype=cells.dtype), codes_of)
        if cells.dtype.kind == "f":
            found[np.isnan(cells)] = self.code(None)
        return found

    def _match(self, cells: NDArray[Any], values: NDArray[Any], codes_of: list[int]) -> Codes:
        """``codes_of[j]`` where a cell equals ``values[j]``, else k: by bisection or a table."""
        if cells.dtype.kind in "iu" and len(values):
            span = int(values.max()) - int(values.min()) + 1
            if span <= max(_SMALL_SPAN, 4 * self.k):
                return self._match_by_offset(cells, values, codes_of, span)
        found = np.full(cells.shape, self.k, dtype=self.dtype)
        if len(values):
            order = np.argsort(values)
            values, ranked = values[order], np.array(codes_of, dtype=self.dtype)[order]
            if np.any(values[1:] == values[:-1]):
                raise ArgumentTypeError(
                    f"categories cannot be told apart in answers of type {cells.dtype}; "
                    "convert the answers to float64"
                )
            place = np.searchsorted(values, cells)
            place[place == len(values)] = 0
            match = values[place] == cells
            found[match] = ranked[place[match]]
        return found

    def _match_by_offset(
        self, cells: NDArray[Any], values: NDArray[Any], codes_of: list[int], span: int
    ) -> Codes:
        """Codes of whole numbers within a short span: offsets from the lowest, looked up."""
        cells = cells.astype(cells.dtype.newbyteorder("="), copy=False)
        unsigned = np.dtype(f"u{cells.dtype.itemsize}")
        lowest = values.astype(cells.dtype).min()
        table = np.full(span + 1, self.k, dtype=self.dtype)
        table[[int(value) - int(lowest) for value in values]] = codes_of
        in_order = bool((table == np.arange(span + 1)).all())  # then an offset is a code
        found = self.empty(len(cells))
        # NumPy is eight times faster with an array here than with one number.
        short = min(len(cells), _AT_ONCE)
        limit = np.full(short, span, unsigned) if span <= np.iinfo(unsigned).max else None
        for start in range(0, len(cells), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            # Unsigned, a number below the lowest wraps to far above the highest.
            offsets = cells[rows].view(unsigned) - lowest.view(unsigned)
            if limit is not None:
                np.minimum(offsets, limit[: len(offsets)], out=offsets)
            found[rows] = offsets if in_order else table[offsets]
        return found

    def _codes_of_objects(self, cells: NDArray[np.object_]) -> Codes:
        """Codes of Python objects of any kind, hostile ones too."""
        listed = cells.tolist()
        types = set(map(type, listed))
        if types <= _HONEST_TYPES or types <= {bool, type(None)}:
            table: dict[Any, int] = self._bools if bool in types else self._others
            codes = np.fromiter(map(table.get, listed, repeat(self.k)), self.dtype, len(listed))
            if types & {float, type(None)}:
                codes[pd.isna(cells)] = self.code(None)
            return codes
        return np.fromiter((self.code(value) for value in listed), self.dtype, len(listed))


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


def _arrow_objects(cells: Any) -> NDArray[np.object_]:
    """The Python values of an Arrow array; one that Python cannot hold becomes an object()."""

    def value_of(cell: Any) -> object:
        try:
            return cell.as_py()
        except Exception:  # such as a date far in the future: unknown
            return object()

    return np.fromiter((value_of(cell) for cell in cells), dtype=object, count=len(cells))


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
