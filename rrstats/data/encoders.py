"""Encoders: cells of a declared type to codes of categories.

Codes are 0 .. k-1, k for an answer outside the categories, k+1 for a missing one where missing is
no category.  An encoder is prepared once from declarations and applied block by block; it never
raises or warns because of an answer.  Ways, from fast to slow: a look at the codes of a
Categorical or a bool, an offset into a small span of whole numbers, Arrow's hash for text,
bisection for numbers, distinct values for dates and the like, a dict for objects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats._typing import Array, Booleans, Indices
from rrstats.data.arrow import are_word_places, arrow_kind, arrow_type, chunks_of
from rrstats.data.categories import Categories, Codes
from rrstats.data.cell_types import kind_of_type, objects_in, storage_type, type_of
from rrstats.data.columns import blocks
from rrstats.data.number_readers import number_reader
from rrstats.data.number_spaces import NumberGrid, NumberSpace
from rrstats.data.silence import silent
from rrstats.errors import ArgumentTypeError

if TYPE_CHECKING:
    import pyarrow as pa

Encoder = Callable[[Any], Codes]

_MAX_TABLE_SPAN = 4096
"""Whole numbers this close together are looked up in a table."""

_BLOCK_CELLS = 1 << 16
"""Cells looked up at a time, so that intermediate arrays stay in the cache."""

# Types whose hash and equality are Python's own: a dict serves them exactly, and never raises.
_HONEST_TYPES = {str, np.str_, int, float, type(None)}


# -- codes ---------------------------------------------------------------------------------


class Encoded(NamedTuple):
    """Codes of cells, and the rows that have none; lengths and places, never values.

    codes : (n, ...) 0 .. k-1, k for unknown, k+1 for missing; or packed bits.
    outside : the rows that are unknown or missing, where missing is no category.
    absent : those of them that are missing.
    """

    codes: Codes
    outside: Indices
    absent: Indices

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
    dtype = type_of(like)
    _check_kind(categories, dtype)
    codes = _of_type(categories, dtype)
    return lambda cells: Encoded.of(codes(cells), categories.answers)


def _check_kind(categories: Categories, dtype: Any) -> None:
    """Raise ArgumentTypeError for a declared type that cannot hold the categories."""
    value_type = dtype
    if isinstance(dtype, pd.CategoricalDtype):
        # The labels of a codebook may be there, too.
        has_labels = categories.labels is not categories.categories
        anything = has_labels or not len(dtype.categories)
        value_type = np.dtype(object) if anything else dtype.categories.dtype
    answer_kind = kind_of_type(value_type)
    kind = categories.kind
    if answer_kind in ("any", kind):
        return
    # NumPy and pandas make floats of a column in which everybody is missing.
    if answer_kind == "float" and isinstance(value_type, np.dtype):
        return
    are_tuples = all(isinstance(c, tuple) for c in categories.categories if c is not None)
    if are_tuples or (kind != "other" and {answer_kind, kind} != {"int", "float"}):
        other = "declare the categories in the answers' type, or convert the answers"
        raise ArgumentTypeError(
            f"categories {categories.describe()} are "
            f"{'tuples' if are_tuples else f'of kind {kind}'}, but the answers are of kind "
            f"{answer_kind}; {meant_as(categories, answer_kind) or other}"
        )


def meant_as(categories: Categories, answer_kind: str = "any") -> str:
    """The next step where codes and labels may be swapped; empty where they cannot be.

    answer_kind : of the answers' type, "any" of objects.
    """
    is_codebook = categories.labels is not categories.categories
    if is_codebook and answer_kind in ("str", "any"):
        return "if they are the labels of this codebook, declare list(codebook.values())"
    if categories.kind == "str" and answer_kind in ("int", "float", "any"):
        return (
            "if they are codes, map each code, in the answers' type, to its label, as in "
            "{1: 'never', 2: 'once'}"
        )
    return ""


def _of_type(categories: Categories, dtype: Any) -> Encoder:
    """Prepare the fastest encoder for cells of one declared type."""
    if isinstance(categories, NumberSpace) and not are_word_places(dtype):
        return _of_number_space(categories, dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_categorical(categories, dtype.categories)
    arrow = arrow_type(dtype)
    if arrow is not None:
        return _of_arrow(categories, arrow)
    is_numpy = isinstance(dtype, np.dtype)
    storage = storage_type(dtype)
    kind = storage.kind
    if isinstance(dtype, pd.DatetimeTZDtype) or (is_numpy and kind in "mM"):
        return _of_distinct(categories)
    if kind not in "biuf":
        return _of_objects(categories)
    of_values = _of_numbers(categories, storage)
    if is_numpy and kind != "f":
        return of_values
    fill = storage.type("nan" if kind == "f" else 0)

    def codes_of(cells: Any) -> Codes:
        values = cells
        if not is_numpy:  # values and mask apart, so that nothing is rounded
            values = cells.to_numpy(dtype=storage, na_value=fill)
        codes = of_values(values)
        codes[np.isnan(values) if kind == "f" else cells.isna()] = categories.absent_code
        return codes

    return codes_of


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
    caps = np.full(_BLOCK_CELLS, min(last, np.iinfo(dtype).max), dtype=dtype)

    def look_up(places: Array) -> Codes:
        codes = np.empty(len(places), dtype=table.dtype)
        for rows in blocks(len(places), _BLOCK_CELLS):
            part = places[rows] - lowest if lowest else places[rows]
            if in_order:
                np.minimum(part, caps[: len(part)], out=codes[rows], casting="unsafe")
            else:
                codes[rows] = table[np.minimum(part, caps[: len(part)])]
        return codes

    return look_up


def _of_dictionary(categories: Categories, entry_codes: Codes, dtype: np.dtype[Any]) -> Encoder:
    """Codes of places in a dictionary, from the codes of its entries; place -1 is missing."""
    absent = categories.absent_code
    between = np.arange(len(entry_codes), absent)  # so that a table in order stays in order
    table = np.concatenate([entry_codes, between, [absent]]).astype(categories.dtype)
    # Seen as unsigned, -1 must lie beyond the table, or it would be one of its entries.
    wide = dtype if len(table) <= np.iinfo(f"u{dtype.itemsize}").max else np.dtype(np.int64)
    unsigned = np.dtype(f"u{wide.itemsize}")
    look_up = _through(table, unsigned)
    return lambda places: look_up(places.astype(wide, copy=False).view(unsigned))


def _of_categorical(categories: Categories, levels: pd.Index[Any]) -> Encoder:
    """Codes of Categoricals of pandas, from their declared levels."""
    values = levels.to_numpy() if isinstance(levels.dtype, np.dtype) else levels.array
    codes = _of_type(categories, levels.dtype)(values)
    if categories.labels is not categories.categories:  # of a codebook: as pandas reads SPSS, Stata
        by_label = _of_type(Categories(categories.labels), levels.dtype)(values)
        is_label = (codes == categories.k) & (by_label < categories.k)
        codes = np.where(is_label, by_label, codes)
    look_up = _of_dictionary(categories, codes, pd.Categorical.from_codes([], levels).codes.dtype)
    return lambda cells: look_up(cells.codes)


def _of_distinct(categories: Categories) -> Encoder:
    """Codes of NumPy or pandas cells by way of their distinct values, looked up one by one."""

    def codes(cells: Any) -> Codes:
        places, values = pd.factorize(cells)
        value_codes = np.fromiter(map(categories.code, values), categories.dtype, len(values))
        return _of_dictionary(categories, value_codes, places.dtype)(places)

    return codes


def _numbers_of(categories: Categories, dtype: np.dtype[Any]) -> tuple[Array, Indices]:
    """The categories that are numbers, in a column's type where it can hold them; their codes.

    Integers match exactly; other categories are rounded to the type of a float column.
    """
    if dtype.kind == "b":  # of a file it may hold other bytes than 0 and 1: unknown
        return np.arange(2) > 0, np.array(list(map(categories.code, (False, True))))
    if dtype.kind in "iu" and categories.integers is not None:
        info = np.iinfo(dtype)
        integers = categories.integers
        fitting = np.flatnonzero((integers >= info.min) & (integers <= min(info.max, 2**63 - 1)))
        return integers[fitting].astype(dtype), fitting
    numbers = []
    codes = []
    for category, code in categories.value_codes.items():
        if not isinstance(category, int | float):
            continue
        with contextlib.suppress(OverflowError), np.errstate(all="ignore"):
            number: Any = dtype.type(category)
            rounded = dtype.kind == "f" and isinstance(category, float) and number != 0
            if number.item() == category or (rounded and np.isfinite(number)):
                numbers.append(number)
                codes.append(code)
    return np.array(numbers, dtype=dtype), np.array(codes, dtype=np.intp)


def _of_numbers(categories: Categories, dtype: np.dtype[Any]) -> Encoder:
    """Codes of NumPy numbers or booleans: offsets within a short span, or by hashing."""
    values, codes_of = _numbers_of(categories, dtype)
    native = np.dtype(np.float64) if dtype.kind == "f" else dtype.newbyteorder("=")
    values = values.astype(native)
    if dtype.kind != "f" and len(values):
        unsigned = np.dtype(f"u{native.itemsize}")
        span = int(values.max()) - int(values.min()) + 1
        if span <= max(_MAX_TABLE_SPAN, 4 * categories.k):
            lowest = values.min().view(unsigned)
            table = np.full(span + 1, categories.k, dtype=categories.dtype)
            # Unsigned, also where the span is wider than half of a signed type, and a number below
            # the lowest wraps to far above the highest.
            table[values.view(unsigned) - lowest] = codes_of
            look_up = _through(table, unsigned, lowest)
            return lambda cells: look_up(cells.astype(native, copy=False).view(unsigned))
    index = pd.Index(values)
    if not index.is_unique:
        raise ArgumentTypeError(
            f"categories cannot be distinguished in answers of type {dtype}; "
            "convert the answers to float64"
        )
    table = np.append(codes_of, categories.k).astype(categories.dtype)
    return lambda cells: table[index.get_indexer(cells.astype(native, copy=False))]


# -- numbers between bounds ----------------------------------------------------------------


def bound_reader(
    domain: Categories, like: Any
) -> Callable[[Any], tuple[Booleans, Booleans, bool]] | None:
    """Prepare a function from cells to whether some are at each bound, beyond it, and no integers.

    Of a scale whose integers are all points only the last may be true, of other numbers only the
    first two.  None of categories, and of bounds where the cells of a text file were clipped.
    """
    dtype = type_of(like)
    if not isinstance(domain, NumberGrid):
        return None
    if domain.holds_integers:
        codes_of = _of_type(domain, dtype)
        no_bounds = np.zeros(2, dtype=np.bool_)
        return lambda cells: (no_bounds, no_bounds, bool(domain.between(codes_of(cells)).any()))
    if are_word_places(dtype):
        return None
    read = number_reader(dtype)

    def compared(cells: Any) -> tuple[Booleans, Booleans, bool]:
        numbers, _ = read(cells)
        at_bounds = [(numbers == bound).any() for bound in domain.bounds]
        beyond = [each.any() for each in domain.clipped(numbers)]
        return np.array(at_bounds), np.array(beyond), False

    return compared


def _of_number_space(space: NumberSpace, dtype: Any) -> Encoder:
    """Codes of numbers, of which each has one."""
    read = number_reader(dtype)

    @np.errstate(all="ignore")  # as the reader: places between the bounds may underflow
    def codes_of(cells: Any) -> Codes:
        numbers, others = read(cells)
        codes = space.encode(numbers)
        codes[others] = space.answers
        return codes

    return codes_of


# -- Arrow and objects ---------------------------------------------------------------------


def _of_arrow(categories: Categories, arrow: pa.DataType) -> Encoder:
    """Codes of Arrow arrays, chunk by chunk: chunks may have dictionaries of their own."""
    of_chunk = _of_chunk(categories, arrow)

    def codes(cells: Any) -> Codes:
        parts = []
        for chunk in chunks_of(cells):
            part = of_chunk(chunk)
            if chunk.null_count:
                missing = chunk.is_null().to_numpy(zero_copy_only=False)
                part[missing] = categories.absent_code
            parts.append(part)
        return parts[0] if len(parts) == 1 else np.concatenate([categories.empty(0), *parts])

    return codes


def _of_chunk(categories: Categories, dtype: pa.DataType) -> Encoder:
    """Codes of the cells of an Arrow array that are not missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = arrow_kind(dtype)
    if are_word_places(dtype):
        absent = categories.absent_code

        def places(cells: Any) -> Codes:
            codes: Codes = cells.storage.fill_null(absent).to_numpy().astype(categories.dtype)
            return codes

        return places
    if pa.types.is_dictionary(dtype):
        return _of_encoded(categories, _of_arrow(categories, dtype.value_type))
    if kind in ("bool", "int", "float"):
        storage = np.dtype(dtype.to_pandas_dtype())
        of_values = _of_type(categories, storage)
        zero = pa.array(np.zeros(1, storage))[0]
        return lambda cells: of_values(cells.fill_null(zero).to_numpy(zero_copy_only=False))
    if kind != "str":
        of_objects = _of_objects(categories)
        if pa.types.is_nested(dtype):
            return of_objects
        of_distinct = _of_encoded(categories, of_objects)  # few objects are made of many cells
        return lambda cells: of_distinct(cells.dictionary_encode())
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
    k = categories.k
    dtype = categories.dtype

    def codes_of_honest(listed: list[Any], types: set[type]) -> Codes:
        table: dict[Any, int] = categories.bool_codes if bool in types else categories.value_codes
        codes = np.fromiter(map(table.get, listed, repeat(k)), dtype, len(listed))
        if float in types:  # NaN, which is never among the keys of a dict
            unknown = np.flatnonzero(codes == k).tolist()
            nan = [row for row in unknown if listed[row] != listed[row]]
            codes[nan] = categories.absent_code
        return codes

    def codes_of(cells: Any) -> Codes:
        listed = objects_in(cells)
        with silent():
            with contextlib.suppress(Exception):  # of a class that says that it is another
                types = set(map(type, listed))
                if types <= _HONEST_TYPES or types <= {bool, type(None)}:
                    return codes_of_honest(listed, types)
            return np.fromiter(map(categories.code, listed), dtype, len(listed))

    return codes_of
