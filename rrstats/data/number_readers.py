"""Readers of numbers: cells of a declared type to doubles, without a word about any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rrstats._typing import Floats, Indices
from rrstats.data.arrow import arrow_type, chunks_of, is_plain_number
from rrstats.data.cell_types import objects_in, storage_type
from rrstats.data.number_spaces import number_of
from rrstats.data.silence import silent

NumberReader = Callable[[Any], tuple[Floats, Indices]]
"""A function from cells to doubles, NaN where missing, and the places of no numbers."""


def number_reader(dtype: Any) -> NumberReader:
    """Prepare a silent reader: a warning would tell of an answer that overflows, or the like."""
    return np.errstate(all="ignore")(_number_reader(dtype))


def _number_reader(dtype: Any) -> NumberReader:
    """The reader of a type."""
    arrow = arrow_type(dtype)
    nothing = np.empty(0, dtype=np.intp)
    if arrow is not None and is_plain_number(arrow):

        def from_arrow(cells: Any) -> tuple[Floats, Indices]:
            parts = [
                np.array(chunk.to_numpy(zero_copy_only=False), dtype=np.float64)
                for chunk in chunks_of(cells)
            ]
            return np.concatenate([np.empty(0), *parts]), nothing

        return from_arrow
    if arrow is None and storage_type(dtype).kind in "iuf":
        if isinstance(dtype, np.dtype):
            return lambda cells: (cells.astype(np.float64), nothing)
        return lambda cells: (cells.to_numpy(dtype=np.float64, na_value=np.nan), nothing)

    def from_objects(cells: Any) -> tuple[Floats, Indices]:
        listed = objects_in(cells)
        numbers = np.empty(len(listed))
        others = []
        with silent():
            for place, cell in enumerate(listed):
                try:
                    numbers[place] = number_of(cell)
                except Exception:  # no number, or an object that raises when looked at
                    others.append(place)
                    numbers[place] = np.nan
        return numbers, np.array(others, dtype=np.intp)

    return from_objects
