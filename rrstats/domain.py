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
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["Domain", "Encoded", "is_missing", "kind_of_type"]

Codes = NDArray[Any]


def is_missing(value: object) -> bool:
    """Whether one value is missing: None, NaN, NaT and pandas.NA are all the same."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def _plain(category: object) -> Hashable:
    """The Python value behind a NumPy scalar; missing values become None."""
    if is_missing(category):
        return None
    if isinstance(category, np.datetime64):
        return pd.Timestamp(category)
    if isinstance(category, np.generic):
        category = category.item()
    if type(category) is not str and isinstance(category, str):
        category = str(category)
    try:
        hash(category)
    except TypeError:
        raise ArgumentTypeError(
            f"categories must be hashable, found one of type {type(category).__name__}"
        ) from None
    return category  # type: ignore[return-value]  # hashed just above


def _kind(category: object) -> str:
    """The kind of one category, as far as containers distinguish kinds."""
    if isinstance(category, bool):
        return "bool"
    for kind, types in (
        ("int", int),
        ("float", float),
        ("str", str),
        ("bytes", bytes),
        ("date", datetime.date),
    ):
        if isinstance(category, types):
            return kind
    return "other"


def _collision_key(category: Hashable) -> Hashable:
    """Categories with equal keys would be taken for one another somewhere."""
    if isinstance(category, str):
        return unicodedata.normalize("NFC", category)
    return category


def _as_sequence(categories: object) -> list[Any]:
    if isinstance(categories, pd.CategoricalDtype):
        categories = categories.categories
    if isinstance(categories, pd.Categorical):
        raise ArgumentTypeError(
            "categories must be declared, not taken from data; pass a list, or the dtype"
        )
    if isinstance(categories, str | bytes | Mapping) or not isinstance(categories, Iterable):
        raise ArgumentTypeError(
            "categories must be a list of the possible answers, "
            f"found {type(categories).__name__}; pass for example ['yes', 'no']"
        )
    if isinstance(categories, set | frozenset):
        try:
            return sorted(categories)
        except TypeError:
            raise ArgumentTypeError(
                "categories given as a set must be sortable, because their order is part of "
                "the design; pass a list"
            ) from None
    listed = getattr(categories, "to_pylist", None) or getattr(categories, "tolist", None)
    return list(listed() if listed is not None else categories)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Codes of answers and how many could not be served; lengths, never values.

    codes : (n,) unsigned; 0 .. k-1, k for unknown, k+1 for missing.
    """

    codes: Codes
    k: int

    @property
    def unknown(self) -> int:
        """How many answers are neither a category nor missing."""
        return int(np.count_nonzero(self.codes == self.k))

    @property
    def missing(self) -> int:
        """How many answers are missing, where missing is not a category."""
        return int(np.count_nonzero(self.codes == self.k + 1))


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
        seen: dict[Hashable, Hashable] = {}
        for category in plain:
            key = _collision_key(category)
            if key in seen:
                raise ArgumentValueError(
                    f"categories must be distinct, but {seen[key]!r} and {category!r} are equal "
                    "or would be taken for one another; drop or rename one"
                )
            seen[key] = category
        kinds = {_kind(c) for c in plain if c is not None}
        self.categories = plain
        self.k = len(plain)
        self.kind = (
            "float" if kinds == {"int", "float"} else kinds.pop() if len(kinds) == 1 else "other"
        )
        self.missing_code = plain.index(None) if None in plain else None
        self._bools = {c: i for i, c in enumerate(plain) if isinstance(c, bool)}
        self._others = {
            c: i for i, c in enumerate(plain) if c is not None and not isinstance(c, bool)
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
            return self._others.get(value, self.k)  # type: ignore[call-overload, no-any-return]
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
        held = kind_of_type(cells.dtype if hasattr(cells, "dtype") else cells.type)
        if held == "any" or self.kind == "other" or held == self.kind:
            return
        if {held, self.kind} == {"int", "float"}:
            return
        raise ArgumentTypeError(
            f"categories {self.describe()} are of kind {self.kind}, but the answers are of kind "
            f"{held}; declare the categories in the answers' type, or convert the answers"
        )

    def _codes(self, cells: Any) -> Codes:
        dtype = getattr(cells, "dtype", None)
        if isinstance(dtype, pd.CategoricalDtype):
            labels = dtype.categories
            values = labels.to_numpy() if isinstance(labels.dtype, np.dtype) else labels.array
            return self._codes_by_table(values, cells.codes, None)
        if dtype is None:
            return self._codes_of_arrow(cells)
        if isinstance(dtype, np.dtype):
            return self._codes_of_numpy(cells)
        storage = getattr(dtype, "numpy_dtype", None)
        if storage is not None and storage.kind in "biuf":
            # Masked and Arrow-backed numbers: values and mask apart, so nothing is rounded.
            fill = np.nan if storage.kind == "f" else storage.type(0)
            codes = self._codes_of_numpy(cells.to_numpy(dtype=storage, na_value=fill))
            codes[np.asarray(cells.isna())] = self.code(None)
            return codes
        return self._codes_of_objects(cells.to_numpy(dtype=object, na_value=None))

    def _codes_by_table(
        self, values: Any, indices: NDArray[Any], missing: NDArray[np.bool_] | None
    ) -> Codes:
        """Codes of dictionary-encoded answers: encode the dictionary, then look up."""
        table = np.append(self._codes(values), self.dtype.type(self.code(None)))
        if missing is not None:
            indices = np.where(missing, len(table) - 1, indices)
        return table[indices].astype(self.dtype, copy=False)

    def _codes_of_arrow(self, cells: Any) -> Codes:
        import pyarrow as pa

        if isinstance(cells, pa.DictionaryArray):
            missing = np.asarray(cells.is_null())
            indices = cells.indices.fill_null(0).to_numpy(zero_copy_only=False)
            return self._codes_by_table(cells.dictionary, indices, missing)
        return self._codes(pd.array(cells, dtype=pd.ArrowDtype(cells.type)))

    def _codes_of_numpy(self, cells: NDArray[Any]) -> Codes:
        if cells.dtype.kind == "b":
            table = np.array([self.code(False), self.code(True)], dtype=self.dtype)
            return table[cells.view(np.uint8)]
        if cells.dtype.kind in "iuf":
            return self._codes_of_numbers(cells)
        if cells.dtype.kind in "mM":
            return self._codes_of_objects(np.asarray(pd.Series(cells).astype(object)))
        return self._codes_of_objects(cells.astype(object))

    def _codes_of_numbers(self, cells: NDArray[Any]) -> Codes:
        """Codes of numbers by bisection in the column's own type, where comparison is exact."""
        numbers: list[Any] = []
        codes_of: list[int] = []
        for category, code in self._others.items():
            if not isinstance(category, int | float):
                continue
            if cells.dtype.kind in "iu":
                info = np.iinfo(cells.dtype)
                if category % 1 or not info.min <= category <= info.max:
                    continue  # no number of this column can equal it
                number: Any = int(category)
            else:
                try:
                    number = cells.dtype.type(category)
                except OverflowError:
                    continue
            numbers.append(number)
            codes_of.append(code)
        found = np.full(cells.shape, self.k, dtype=self.dtype)
        if numbers:
            values = np.array(numbers, dtype=cells.dtype)
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
        if cells.dtype.kind == "f":
            found[np.isnan(cells)] = self.code(None)
        return found

    def _codes_of_objects(self, cells: NDArray[np.object_]) -> Codes:
        """Codes of Python objects of any kind, hostile ones too."""
        if self.kind == "str" and len(cells) > 32:  # building the hash table has its price
            # Nothing but a str equals a str, so pandas' hash table is exact here.
            try:
                known = pd.Index(list(self._others), dtype=object)
                place = known.get_indexer(pd.Index(cells, dtype=object, tupleize_cols=False))
                codes_of = np.array([*self._others.values(), self.k], dtype=self.dtype)
                codes = codes_of[place]
                codes[pd.isna(cells)] = self.code(None)
                return codes
            except Exception:  # unhashable or hostile cells: the slow way serves them
                pass
        return np.fromiter((self.code(v) for v in cells), dtype=self.dtype, count=len(cells))


def _arrow_kind(arrow: Any) -> str:
    import pyarrow as pa

    if pa.types.is_dictionary(arrow):
        return _arrow_kind(arrow.value_type)
    tests = {
        "bool": pa.types.is_boolean,
        "int": pa.types.is_integer,
        "float": pa.types.is_floating,
        "str": lambda t: pa.types.is_string(t) or pa.types.is_large_string(t),
        "bytes": lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t),
        "date": lambda t: pa.types.is_date(t) or pa.types.is_timestamp(t),
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
        return "date"
    storage = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", None)
    if storage is None:
        return _arrow_kind(dtype) if type(dtype).__module__.startswith("pyarrow") else "any"
    kinds = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str", "T": "str"}
    kinds |= {"S": "bytes", "M": "date"}
    return kinds.get(storage.kind, "any")
