"""What changes of a covariate are worth telling: a slope, or differences between levels.

A number has a slope where the columns made of it have one.  Those of ``C(age > 50)`` and ``x // 3``
jump, and differences over short steps then measure only how short the steps were.  So jumps are
looked for first, by halving intervals between values that were seen: what a continuous column
changes by there goes to 0, a jump stays.  A slope that depends on the step is none either.
Nothing is asked beyond the values seen, where splines are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError

__all__ = ["Effect", "changes", "moved"]


_STEP = 1e-5
"""The shorter of two steps, in typical deviations of the covariate."""

_FINER = 1e-2
"""Where they disagree both are tried again so much shorter, twice: values may lie far apart."""

_AGREE, _AGREE_ERROR = 1e-3, 1e-2
"""Slopes of two steps may differ by this part, and by this part of the standard error."""

_POINTS = 257
"""Values of a covariate at which its columns are looked at, at most."""

_HALVINGS, _JUMP = 20, 1e-2
"""A column that keeps this part of its change in an interval halved so often has a jump there."""

_FEW = 12
"""A covariate that jumps is told level by level if it has at most so many."""


class Effect(NamedTuple):
    """What a change does to (k,) means, and the standard errors."""

    values: Floats
    errors: Floats


def changes(
    frame: pd.DataFrame,
    build: Callable[[pd.DataFrame], Floats],
    name: str,
    effect: Callable[[Any, Any, Floats | None], Effect],
) -> list[tuple[str, Effect]]:
    """The changes of one covariate in words, and their effects.

    build : makes the (rows, p) columns of a frame.
    effect : of a column before and after, divided by (rows,) widths where these are given.
    A slope for numbers; differences to the first level for factors, 0/1 columns, and numbers of few
    values whose columns jump; else the difference between the quartiles.
    """
    column = frame[name]
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64)
        if not np.isin(values, (0.0, 1.0)).all():
            shape = _shape(frame, build, name, values)
            if shape == "smooth" and (slope := _slope(values, effect)) is not None:
                return [("slope", slope)]
            if shape != "levels" and len(np.unique(values)) > _FEW:
                low, high = _quartiles(values)
                before, after = np.full(len(values), low), np.full(len(values), high)
                return [(f"{low:.6g} to {high:.6g}", effect(before, after, None))]
    if isinstance(column.dtype, pd.CategoricalDtype):
        present = set(column.unique())
        levels = [one for one in column.cat.categories if one in present]
    else:
        levels = sorted(column.unique())
    whole = [pd.Series([one] * len(column), dtype=column.dtype).array for one in levels]
    return [
        (f"{levels[0]} to {one}", effect(whole[0], other, None))
        for one, other in zip(levels[1:], whole[1:], strict=True)
    ]


def moved(frame: pd.DataFrame, name: str, values: Any) -> pd.DataFrame:
    """The frame with other values of a covariate."""
    found = frame.copy(deep=False)
    found[name] = values
    return found


def _slope(values: Floats, effect: Callable[[Any, Any, Floats | None], Effect]) -> Effect | None:
    """The mean slope; None where it depends on the step, as that of a root does at 0."""
    low, high = values.min(), values.max()
    if low == high:
        low, high = -np.inf, np.inf
    quarters = np.subtract(*np.quantile(values, [0.75, 0.25]))
    deviation = float(values.std()) or 1.0
    step = _STEP * (min(deviation, float(quarters)) or deviation)
    for length in (step, step * _FINER, step * _FINER**2):
        found = []
        for size in (length, 10 * length):
            before, after = np.maximum(values - size, low), np.minimum(values + size, high)
            try:
                found.append(effect(before, after, after - before))
            except ArgumentValueError:
                return None
        if _agree(*found):
            return found[0]
    return None


def _agree(short: Effect, long: Effect) -> bool:
    """Whether two steps find the same slopes, with the same errors."""
    apart = np.abs(short.values - long.values)
    error = np.nan_to_num(np.maximum(short.errors, long.errors))
    gap = np.nan_to_num(np.abs(short.errors - long.errors))
    size = np.maximum(np.abs(short.values), np.abs(long.values)).max()
    agree = apart <= _AGREE * size + _AGREE_ERROR * error
    return bool((agree & (gap <= _AGREE_ERROR * error)).all())


def _quartiles(values: Floats) -> tuple[float, float]:
    """Two values seen: the quartiles, or where these are equal the ends."""
    low, high = np.quantile(values, [0.25, 0.75], method="nearest").tolist()
    return (low, high) if low < high else (float(values.min()), float(values.max()))


def _shape(
    frame: pd.DataFrame, build: Callable[[pd.DataFrame], Floats], name: str, values: Floats
) -> str:
    """How columns go with a number: "smooth", with "jumps", or known at its "levels" alone."""
    points = np.unique(values)
    if len(points) > _POINTS:
        places = np.linspace(0, len(points) - 1, _POINTS).round().astype(int)
        points = points[places]
    if len(points) < 2:
        return "smooth"
    matrix = build(frame)
    people = np.unique(np.abs(matrix).argmax(axis=0))  # each column is not 0 for one of them
    tall = moved(frame.iloc[people.repeat(len(points))], name, np.tile(points, len(people)))
    curves = build(tall).reshape(len(people), len(points), -1)
    steps = np.abs(np.diff(curves, axis=1))
    size = np.abs(curves).max(axis=(0, 1))
    # Where a column changes most, and where it is steepest.
    ends = []
    for kind in (steps, steps / np.diff(points)[:, None]):
        for column in range(kind.shape[2]):
            person, place = np.unravel_index(kind[:, :, column].argmax(), kind.shape[:2])
            if steps[person, place, column] > 1e-9 * size[column]:
                ends.append((column, person, place))
    if not ends:
        return "smooth"
    columns, who, place = np.array(ends).T
    low, high = points[place], points[place + 1]
    low_value, high_value = curves[who, place, columns], curves[who, place + 1, columns]
    first, base = np.abs(high_value - low_value), frame.iloc[people[who]]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        try:
            value = build(moved(base, name, middle))[np.arange(len(columns)), columns]
        except ArgumentValueError:
            return "levels"  # of a factor: between them there is nothing
        left = np.abs(value - low_value) >= np.abs(high_value - value)
        low, high = np.where(left, low, middle), np.where(left, middle, high)
        low_value = np.where(left, low_value, value)
        high_value = np.where(left, value, high_value)
        if (np.abs(high_value - low_value) <= _JUMP * first).all():
            return "smooth"
    return "jumps"
