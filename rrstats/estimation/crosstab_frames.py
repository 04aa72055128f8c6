"""Arrays over the categories of several columns, as frames for people and for programs."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.estimation.crosstab_axes import Axis
from rrstats.estimation.result import label_column, said

__all__ = ["long_frame", "wide_frame"]


def long_frame(axes: Sequence[Axis], held: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """One row a cell: a column of categories for each axis, then what is held of the cells.

    An axis that is called like something held has "_group" behind its name, as a column of groups
    in `GroupEstimates.to_frame`.
    """
    shape = tuple(axis.k for axis in axes)
    places = np.indices(shape).reshape(len(shape), -1)
    columns: list[Any] = [
        label_column(axis.categories).take(at).reset_index(drop=True)
        for axis, at in zip(axes, places, strict=True)
    ]
    columns += [pd.Series(np.asarray(values).ravel()) for values in held.values()]
    names: list[Hashable] = [axis.name for axis in axes]
    taken = {*names, *held}
    names = [_free(name, taken) if name in held else name for name in names]
    frame: pd.DataFrame = pd.concat(columns, axis=1)
    frame.columns = pd.Index([*names, *held], dtype=object, tupleize_cols=False)
    return frame


def _free(name: Hashable, taken: Collection[Hashable]) -> str:
    found = f"{name}_group"
    return _free(found, taken) if found in taken else found


def wide_frame(axes: Sequence[Axis], values: NDArray[Any], *, words: bool = False) -> pd.DataFrame:
    """The last axis side by side, the others below one another; one axis alone has one column.

    words : categories as text, as people read them.
    """
    labels = [pd.Index(_labels(axis, words), name=axis.name) for axis in axes]
    if len(axes) == 1:
        return pd.DataFrame({"share": np.asarray(values)}, index=labels[0])
    rows = labels[0] if len(axes) == 2 else pd.MultiIndex.from_product(labels[:-1])
    held = np.asarray(values).reshape(len(rows), axes[-1].k)
    # A copy: what is done to the frame is not done to the table.
    return pd.DataFrame(held, index=rows, columns=labels[-1], copy=True)


def _labels(axis: Axis, words: bool) -> Any:
    if words:
        return [said(category) for category in axis.categories]
    return label_column(axis.categories)
