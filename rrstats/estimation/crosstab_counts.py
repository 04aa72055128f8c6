"""Rows of several columns counted together, in blocks, by what an axis counts of each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._typing import Counts
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import Variable
from rrstats.estimation.crosstab_axes import Axis, axis_of
from rrstats.estimation.engine_frames import is_frame, refuse_unopened
from rrstats.randomness.sources import BLOCK_ROWS

__all__ = ["MOST_CELLS", "check_asked", "check_name", "check_size", "count_rows"]

MOST_CELLS = 1 << 22
"""Numbers in a table.  Beyond, ten million rows leave two or three for each."""

_AT_ONCE = 1 << 21
"""Products of what is counted of several categories, held at once."""


def check_size(axes: Sequence[Axis]) -> None:
    """Raise for a table that has more numbers than any data could fill."""
    size = prod(axis.features + 1 for axis in axes)
    if size > MOST_CELLS:
        widest = max(axes, key=lambda axis: axis.k)
        raise ArgumentValueError(
            f"a table of {len(axes)} columns must have at most {MOST_CELLS:,} cells, found "
            f"{size:,}; column {widest.name!r} alone has {widest.k:,} categories: leave it out, "
            "merge its categories, or cut its numbers into ranges (pandas.cut)"
        )


def count_rows(
    columns: Sequence[Variable], *, keep: bool = False, times: Counts | None = None
) -> tuple[list[Axis], Counts]:
    """The axes, and how many rows have each combination of what they count.

    keep : whether missing values of an ordinary column are a level of their own, None.  Other
        rows in which anything is missing are left out.
    times : (rows,) how many rows of the data each row stands for; None where that is 1.
    """
    axes = [axis_of(column) for column in columns]
    check_size(axes)
    several = [j for j, axis in enumerate(axes) if not axis.one_cell_each]
    full = _mixed(columns, axes, several, times) if several else _cells(columns, times)
    for j, (axis, column) in enumerate(zip(axes, columns, strict=True)):
        if not axis.one_cell_each:
            continue
        last = np.take(full, column.m, axis=j)
        if keep and not axis.private and last.any():
            axes[j] = Axis(axis.name, (*axis.categories, None))
        else:
            full = np.take(full, np.arange(column.m), axis=j)
    return axes, np.ascontiguousarray(full)


def _blocks(rows: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, rows, size)]


def _places(columns: Sequence[Variable], part: slice) -> NDArray[np.intp]:
    """(n,) the combined cell of each row, with a place for missing behind those of each column."""
    place = columns[0].codes(part)
    for column in columns[1:]:
        place = place * (column.m + 1)
        place += column.codes(part)
    return place


def _cells(columns: Sequence[Variable], times: Counts | None) -> Counts:
    """(m1 + 1, ..., md + 1) rows by cell; doubles add them exactly up to 2**53."""
    shape = tuple(column.m + 1 for column in columns)
    counts = np.zeros(prod(shape), dtype=np.int64)
    for part in _blocks(columns[0].rows, BLOCK_ROWS):
        often = None if times is None else times[part]
        found = np.bincount(_places(columns, part), often, minlength=counts.size)
        counts += found.astype(np.int64, copy=False)
    return counts.reshape(shape)


def _mixed(
    columns: Sequence[Variable], axes: Sequence[Axis], several: list[int], times: Counts | None
) -> Counts:
    """The same where some reports name several categories: sums of products of their features."""
    plain = [j for j in range(len(columns)) if j not in several]
    shape = tuple(columns[j].m + 1 for j in plain)
    wide = tuple(axes[j].features for j in several)
    total = np.zeros((prod(shape), prod(wide)))
    for part in _blocks(columns[0].rows, max(256, min(BLOCK_ROWS, _AT_ONCE // prod(wide)))):
        told: Any = None
        for j in several:
            features = axes[j].supports(columns[j].scores(part))
            if told is None:
                told = features
            else:
                told = (told[:, :, None] * features[:, None, :]).reshape(len(features), -1)
        often = np.ones(len(told)) if times is None else times[part].astype(np.float64)
        if not plain:
            total += often @ told
            continue
        place = _places([columns[j] for j in plain], part)
        rows = scipy.sparse.csr_array(
            (often, (place, np.arange(len(place)))), shape=(len(total), len(place))
        )
        total += rows @ told
    full = np.rint(total).astype(np.int64).reshape(shape + wide)
    return np.moveaxis(full, range(full.ndim), [*plain, *several])


def check_name(name: Any) -> None:
    """Raise for what cannot be a column's name; it is not quoted, as it may hold answers."""
    try:
        hash(name)
    except TypeError:
        raise ArgumentTypeError(
            f"a column is given by its name, found {type(name).__name__}"
        ) from None


def check_frame(data: Any, *, engines: bool = False) -> None:
    """Raise unless data are a frame of pandas.

    engines : whether an engine's frame serves as well.
    """
    if isinstance(data, pd.DataFrame) or (engines and is_frame(data)):
        return
    if is_frame(data):
        raise ArgumentTypeError(
            f"data must be a DataFrame of pandas, found a {type(data).__name__}, whose rows are "
            "not fetched; rr.tally, rr.estimate and rr.crosstab count it where it is"
        )
    refuse_unopened(data, text=True)
    raise ArgumentTypeError(f"data must be a DataFrame, found {type(data).__name__}")


def check_asked(
    data: Any, names: Sequence[Hashable], mechanisms: Any, *, engines: bool = False
) -> None:
    """Raise unless there are a frame, the names of columns, each once, and mechanisms of these.

    engines : whether an engine's frame serves as well as one of pandas.
    """
    check_frame(data, engines=engines)
    if mechanisms is not None and not isinstance(mechanisms, Mapping):
        raise ArgumentTypeError(
            "mechanisms must be a mapping from column to mechanism, found "
            f"{type(mechanisms).__name__}"
        )
    for name in names:
        check_name(name)
    if not names:
        raise ArgumentTypeError("name at least one column")
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ArgumentValueError(f"column {twice[0]!r} is named twice")
    if strange := [name for name in mechanisms or {} if name not in names]:
        raise ArgumentValueError(
            f"mechanisms must be of the columns asked for, {list(names)}, found also {strange}"
        )
