"""Public columns rebuilt from their cells, for frames of pandas and Polars and tables of Arrow.

No public column leaves in the chunks, nor with bytes that no cell shows, in which it came: a reader
may have cut its chunks by the bytes of answers, and bytes under a mask, outside a slice or behind a
view may be answers.  Declared categories stay whole and in order.  `arrow_rebuild` has the rule for
Arrow, which columns of all libraries go through that hold Arrow's buffers.
Objects other than text and bytes are passed on as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rrstats._typing import Array
from rrstats.data.arrow import arrow_type

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


def rebuilt_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of an Arrow table, rebuilt."""
    from rrstats.data.arrow_rebuild import rebuilt  # needs pyarrow, an optional package

    return rebuilt(column)


def rebuilt_series(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of a pandas frame, rebuilt; plain numbers are copied where they are put together."""
    if _is_plain(column.dtype):
        return column
    array = _rebuilt_array(column.array)
    return pd.Series(array, column.index, dtype=column.dtype, name=column.name, copy=False)


def rebuilt_index(index: pd.Index[Any]) -> pd.Index[Any]:
    """An index of pandas, rebuilt; levels of a MultiIndex have the labels of its rows alone."""
    if isinstance(index, pd.MultiIndex):
        levels = [rebuilt_index(index.get_level_values(n)) for n in range(index.nlevels)]
        return pd.MultiIndex.from_arrays(levels, names=index.names)
    if _is_plain(index.dtype):
        return index.copy(deep=True)
    array = _rebuilt_array(index.array)
    rebuilt: pd.Index[Any] = pd.Index(
        array, dtype=index.dtype, name=index.name, tupleize_cols=False
    )
    return rebuilt


def _is_plain(dtype: Any) -> bool:
    """True for numbers, times and the like of NumPy, whose bytes are those of their cells."""
    return isinstance(dtype, np.dtype) and dtype != np.dtype(object)


def _rebuilt_array(cells: Any) -> Any:
    """The cells of an array of pandas in an array of its dtype."""
    dtype = cells.dtype
    if isinstance(cells, pd.Categorical):
        categories = rebuilt_index(cells.categories)
        declared = pd.CategoricalDtype(categories, cells.ordered)
        return pd.Categorical.from_codes(cells.codes.copy(), dtype=declared)
    if arrow_type(dtype) is not None:
        return pd.array(rebuilt_column(_chunked(cells)), dtype=dtype, copy=False)
    if isinstance(cells, pd.arrays.NumpyExtensionArray):  # of objects: others are plain
        return _rebuilt_objects(cells.to_numpy(dtype=object))
    if isinstance(dtype, pd.StringDtype):
        objects = _rebuilt_objects(cells.to_numpy(dtype=object))
        return pd.array(objects, dtype=dtype, copy=False)
    if hasattr(dtype, "numpy_dtype") and hasattr(cells, "_mask"):
        zero = dtype.numpy_dtype.type(0)
        values = cells.to_numpy(dtype=dtype.numpy_dtype, na_value=zero, copy=True)
        return type(cells)(values, np.array(cells.isna()))
    if isinstance(dtype, pd.SparseDtype):
        return type(cells)(np.asarray(cells), dtype=dtype)
    return cells.copy()


def _chunked(cells: Any) -> pa.ChunkedArray:
    import pyarrow as pa

    array = cells.__arrow_array__()
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _rebuilt_objects(cells: Array) -> Array:
    """Python objects, equal words as one object.

    A pickle tells which cells share an object, and a reader that works in pieces makes new ones in
    each piece.
    """
    words: dict[Any, Any] = {}
    objects = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells.tolist()):
        is_word = type(cell) is str or type(cell) is bytes
        objects[place] = words.setdefault(cell, cell) if is_word else cell
    return objects


def rebuilt_polars(frame: pl.DataFrame) -> pl.DataFrame:
    """A Polars frame with all columns in one chunk, rebuilt."""
    return frame.with_columns(_rebuilt_polars_column(column) for column in frame.get_columns())


def _rebuilt_polars_column(column: pl.Series) -> pl.Series:
    """A column of a Polars frame in one chunk, rebuilt."""
    import polars as pl
    import pyarrow as pa

    if column.dtype == pl.Object:
        return pl.Series(column.name, column.to_list(), dtype=pl.Object)
    try:
        cells = column.to_arrow()
    except pa.ArrowException:  # integers of 128 bits
        return pl.Series(column.name, column.to_list(), dtype=column.dtype)
    rebuilt = pl.Series(column.name, rebuilt_column(pa.chunked_array([cells])))
    return rebuilt.cast(column.dtype).rechunk()
