"""One column of a frame by its name; the name may be said in errors, its cells never."""

from __future__ import annotations

import difflib
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["column_of", "place_of"]


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
