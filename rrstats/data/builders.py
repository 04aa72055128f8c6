"""Builder for reports: an array of the type they will have, filled block by block in any order.

Nothing of the size of the column stands beside the result, and the result shares no memory
with the true answers.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.categories import Codes

__all__ = ["NUMPY_MISSING", "Builder", "ListBuilder", "builder_for"]

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

NUMPY_MISSING: dict[str, Any] = {
    "f": np.nan,
    "M": np.datetime64("NaT", "ns"),
    "m": np.timedelta64("NaT", "ns"),
}
"""What stands for a missing value in NumPy arrays of some kinds; None in all others."""


class Builder(Protocol):
    """Takes n reports block by block in any order; shares no memory with the truth."""

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
        """Put the reports of some rows, all codes below k.

        codes : (rows,), given away.  missing : places among these rows that are left missing.
        """
        ...

    def reports(self) -> Any:
        """All reports, as an array of the table's type."""
        ...


def builder_for(table: Any, rows: int, keep_missing: bool, chunked: bool) -> Builder:
    """Builder for reports of the type of ``table``, which holds the k categories in their order.

    keep_missing : whether reports may be left missing.  chunked : for a table of Arrow,
    whether the reports may come in chunks.
    """
    if isinstance(table, pd.Categorical):
        return _CategoricalBuilder(table, rows)
    if isinstance(table, np.ndarray):
        return _NumpyBuilder(table, rows)
    if not isinstance(table, pd.api.extensions.ExtensionArray):
        return (
            _ArrowBuilder(table, rows) if chunked else _WholeArrowBuilder(table, rows, keep_missing)
        )
    dtype: Any = table.dtype
    if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", "") == "pyarrow":
        return _PandasArrowBuilder(table, rows)
    masked = hasattr(dtype, "numpy_dtype")
    return _MaskedBuilder(table, rows) if masked else _PartsBuilder(table, rows)


class ListBuilder:
    """A list of the category objects themselves."""

    def __init__(self, table: NDArray[np.object_], rows: int) -> None:
        self._table = table
        self._list: list[Any] = [None] * rows

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
        """See `Builder`."""
        found = self._table[codes]
        if missing is not None:
            found[missing] = None
        self._list[rows] = found.tolist()

    def reports(self) -> list[Any]:
        """See `Builder`."""
        return self._list


class _NumpyBuilder:
    def __init__(self, table: NDArray[Any], rows: int) -> None:
        self._table = table
        self._array = np.empty(rows, dtype=table.dtype)
        self._missing = NUMPY_MISSING.get(table.dtype.kind)
        # Codes that stand for themselves need no table: bool as its bytes, whole numbers.
        self._bytes = None
        if table.dtype == np.bool_:
            self._bytes = self._array.view(np.uint8)
        elif table.dtype.kind in "iu":
            self._bytes = self._array
        if self._bytes is not None and not np.array_equal(table, np.arange(len(table))):
            self._bytes = None

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
        if self._bytes is not None:
            self._bytes[rows] = codes
        else:
            self._array[rows] = self._table[codes]
        if missing is not None:
            self._array[rows][missing] = self._missing

    def reports(self) -> NDArray[Any]:
        return self._array


class _CategoricalBuilder:
    def __init__(self, table: pd.Categorical, rows: int) -> None:
        self._dtype = table.dtype
        self._room = _NumpyBuilder(np.asarray(table.codes), rows)

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
        self._room.write(rows, codes, None)
        if missing is not None:
            self._room.reports()[rows][missing] = -1

    def reports(self) -> pd.Categorical:
        codes = self._room.reports()
        return pd.Categorical.from_codes(codes, dtype=self._dtype, validate=False)


class _MaskedBuilder:
    """pandas' masked numbers and booleans."""

    def __init__(self, table: Any, rows: int) -> None:
        storage = table.dtype.numpy_dtype
        self._absent = np.asarray(table.isna())
        self._values = _NumpyBuilder(table.to_numpy(dtype=storage, na_value=storage.type(0)), rows)
        self._mask = np.zeros(rows, dtype=np.bool_)
        kinds: dict[str, Any] = {"b": pd.arrays.BooleanArray, "f": pd.arrays.FloatingArray}
        self._make = kinds.get(storage.kind, pd.arrays.IntegerArray)

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
        if self._absent.any():
            self._mask[rows] = self._absent[codes]
        self._values.write(rows, codes, None)
        if missing is not None:
            self._mask[rows][missing] = True

    def reports(self) -> Any:
        return self._make(self._values.reports(), self._mask)


class _PartsBuilder:
    """Other arrays of pandas: parts, joined at the end."""

    def __init__(self, table: Any, rows: int) -> None:
        self._table = table
        self._parts: dict[int, Any] = {}

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
        places = codes.astype(np.intp)
        if missing is not None:
            places[missing] = -1
        self._parts[rows.start] = self._table.take(places, allow_fill=missing is not None)

    def reports(self) -> Any:
        parts = [self._parts[start] for start in sorted(self._parts)]
        return type(self._table)._concat_same_type(parts) if parts else self._table[:0].copy()


class _ArrowBuilder:
    """Chunks of an Arrow array, one for each block."""

    def __init__(self, table: Any, rows: int) -> None:
        self._table = table
        self._parts: dict[int, Any] = {}

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        places = pa.array(codes, mask=_mask(codes, missing))
        self._parts[rows.start] = pc.take(self._table, places, boundscheck=False)

    def reports(self) -> Any:
        import pyarrow as pa

        parts = [self._parts[start] for start in sorted(self._parts)]
        return pa.chunked_array(parts, type=self._table.type)


class _PandasArrowBuilder(_ArrowBuilder):
    """The same behind an array of pandas, which takes the chunks as they are."""

    def __init__(self, table: Any, rows: int) -> None:
        import pyarrow as pa

        held = table.__arrow_array__()
        chunked = isinstance(held, pa.ChunkedArray)
        super().__init__(held.combine_chunks() if chunked else held, rows)
        self._dtype = table.dtype

    def reports(self) -> Any:
        return pd.array(super().reports(), dtype=self._dtype)


class _WholeArrowBuilder:
    """One Arrow array: the codes, and one look into the table at the end."""

    def __init__(self, table: Any, rows: int, keep_missing: bool) -> None:
        self._table = table
        self._codes = np.empty(rows, dtype=np.min_scalar_type(len(table)))
        self._missing = np.zeros(rows, dtype=np.bool_) if keep_missing else None

    def write(self, rows: slice, codes: Codes, missing: Places | None) -> None:
        self._codes[rows] = codes
        if missing is not None and self._missing is not None:
            self._missing[rows][missing] = True

    def reports(self) -> Any:
        import pyarrow as pa

        return self._table.take(pa.array(self._codes, mask=self._missing))


def _mask(codes: Codes, missing: Places | None) -> Mask | None:
    if missing is None:
        return None
    mask = np.zeros(len(codes), dtype=np.bool_)
    mask[missing] = True
    return mask
