"""Cells of any library: their declared type, the kind of category it holds, and their objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rrstats.data.arrow import arrow_kind, arrow_objects, arrow_type

_KINDS = {
    "b": "bool",
    "i": "int",
    "u": "int",
    "f": "float",
    "U": "str",
    "T": "str",
    "S": "bytes",
    "M": "date",
    "m": "duration",
}
"""Kind of category by the kind of a NumPy type."""


def type_of(cells: Any) -> Any:
    """The declared type of an array of any library; of a list, that of objects."""
    if isinstance(cells, list):
        return np.dtype(object)
    return cells.dtype if hasattr(cells, "dtype") else cells.type


def storage_type(dtype: Any) -> np.dtype[Any]:
    """The NumPy type of the numbers behind a declared type of NumPy or pandas; else objects."""
    if isinstance(dtype, np.dtype):
        return dtype
    masked: np.dtype[Any] = dtype.numpy_dtype if hasattr(dtype, "numpy_dtype") else np.dtype(object)
    return masked


def kind_of_type(dtype: Any) -> str:
    """The kind of category that a declared type can hold; "any" where it does not say."""
    if isinstance(dtype, pd.CategoricalDtype):
        return kind_of_type(dtype.categories.dtype)
    if isinstance(dtype, pd.StringDtype):
        return "str"
    if isinstance(dtype, pd.DatetimeTZDtype):
        return "instant"
    arrow = arrow_type(dtype)
    if arrow is not None:
        return arrow_kind(arrow)
    return _KINDS.get(storage_type(dtype).kind, "any")


def objects_in(cells: Any) -> list[Any]:
    """The Python objects of a list or of any array."""
    if isinstance(cells, list):
        return cells
    if hasattr(cells, "to_pylist"):
        return arrow_objects(cells)
    if isinstance(cells, np.ndarray):
        listed: list[Any] = cells.tolist()
        return listed
    if isinstance(cells, pd.Categorical):
        cells = cells.astype(object)
        return list(cells)
    return list(cells.to_numpy(dtype=object, na_value=None).tolist())
