"""Types and arrays of Arrow; pyarrow is imported where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from rrstats._typing import Indices
from rrstats.data.categories import Categories

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    ArrowCells: TypeAlias = pa.Array | pa.ChunkedArray


WORD_PLACES = "rrstats.word_places"
"""The Arrow extension type of cells of text that were looked up among the words of categories.

Its storage is int32: 0 .. k-1, k for another word, and missing.
"""


def are_word_places(arrow: Any) -> bool:
    """True for the type of cells of text that were looked up among words."""
    return hasattr(arrow, "extension_name") and arrow.extension_name == WORD_PLACES


def arrow_type(dtype: Any) -> Any:
    """The Arrow type behind a declared type, of pandas or Arrow; None if there is none."""
    if isinstance(dtype, pd.ArrowDtype):
        return dtype.pyarrow_dtype
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        import pyarrow as pa

        return pa.large_string()
    is_arrow = type(dtype).__module__.startswith("pyarrow") or are_word_places(dtype)
    return dtype if is_arrow else None


def arrow_kind(arrow: pa.DataType) -> str:
    """The kind of category that an Arrow type can hold; "any" where it does not say."""
    import pyarrow as pa

    if pa.types.is_dictionary(arrow):
        return arrow_kind(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return "date" if arrow.tz is None else "instant"
    binaries = (pa.binary(), pa.large_binary())
    tests = {
        "bool": pa.types.is_boolean,
        "int": pa.types.is_integer,
        "float": pa.types.is_floating,
        "str": lambda t: t in (pa.string(), pa.large_string()),
        "bytes": lambda t: pa.types.is_fixed_size_binary(t) or t in binaries,
        "date": pa.types.is_date,
        "duration": pa.types.is_duration,
    }
    return next((kind for kind, test in tests.items() if test(arrow)), "any")


def is_plain_number(arrow: pa.DataType) -> bool:
    """True for integers and floats that are not in a dictionary."""
    import pyarrow as pa

    return bool(pa.types.is_integer(arrow) or pa.types.is_floating(arrow))


def result_type(categories: Categories, column_type: pa.DataType) -> pa.DataType:
    """The Arrow type of the reports of a column, from its declared type."""
    import pyarrow as pa

    if pa.types.is_dictionary(column_type):
        values = result_type(categories, column_type.value_type)
        return pa.dictionary(pa.int32(), values, ordered=column_type.ordered)
    if are_word_places(column_type):
        values = pa.array([c for c in categories.categories if c is not None])
        return pa.dictionary(pa.int32(), values.type)
    if pa.types.is_null(column_type):  # what Arrow makes of a column in which all are missing
        return pa.array(categories.categories).type
    if categories.kind == "int":
        is_integer = pa.types.is_integer(column_type)
        numpy_type = np.dtype(column_type.to_pandas_dtype() if is_integer else float)
        fitting = categories.integer_type(numpy_type)
        return column_type if fitting is None else pa.from_numpy_dtype(fitting)
    if categories.kind == "float" and not pa.types.is_floating(column_type):
        return pa.float64()
    return column_type


def category_array(categories: Categories, column_type: pa.DataType) -> pa.Array:
    """The k categories as an Arrow array of the type that reports of a column get."""
    import pyarrow as pa

    target = result_type(categories, column_type)
    if not pa.types.is_dictionary(target):
        return pa.array(categories.categories, type=target)
    return pa.DictionaryArray.from_arrays(
        pa.array(categories.places, type=target.index_type, mask=categories.places < 0),
        pa.array([c for c in categories.categories if c is not None], type=target.value_type),
        ordered=target.ordered,
    )


def text_of_view(arrow: pa.DataType) -> pa.DataType | None:
    """The type of text or bytes that a view shows; None for other types."""
    import pyarrow as pa

    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(arrow)


def plain(cells: ArrowCells) -> ArrowCells:
    """An Arrow array without views and run ends, chunked or not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(cells.type):
        cells = pc.run_end_decode(cells)
    shown = text_of_view(cells.type)
    return cells if shown is None else cells.cast(shown)


def arrow_objects(cells: ArrowCells) -> list[Any]:
    """The Python values of an Arrow array; one that Python cannot hold becomes an object()."""

    def value_of(cell: pa.Scalar) -> object:
        try:
            return cell.as_py()
        except Exception:  # such as a date far in the future: unknown
            return object()

    return [value_of(cell) for cell in cells]


def chunks_of(cells: Any) -> list[pa.Array]:
    """The chunks of an Arrow array, or of an array of pandas that holds it."""
    array = cells.__arrow_array__() if hasattr(cells, "__arrow_array__") else cells
    return list(array.chunks) if hasattr(array, "chunks") else [array]


def taken(cells: Any, places: Indices) -> pa.ChunkedArray:
    """The cells at some increasing places of an Arrow array, or of one of pandas that holds it."""
    import pyarrow as pa

    chunks = chunks_of(cells)
    parts = []
    start = 0
    for chunk in chunks:  # their dictionaries may differ
        first, last = np.searchsorted(places, [start, start + len(chunk)])
        if first < last:
            parts.append(chunk.take(pa.array(places[first:last] - start)))
        start += len(chunk)
    return pa.chunked_array(parts, chunks[0].type if chunks else cells.type)


def polars_series(like: pl.Series, reports: ArrowCells) -> pl.Series:
    """Reports as a Polars Series of the same name; of categories, an Enum of the declared ones.

    The codes of a Polars Categorical follow from words that were seen before, answers too.
    """
    import polars as pl

    series = pl.Series(like.name, reports)
    are_bits = not hasattr(reports, "dictionary")
    if are_bits or type(like.dtype).__name__ not in ("Enum", "Categorical"):
        return series
    return series.cast(pl.Enum(reports.dictionary.to_pylist()))
