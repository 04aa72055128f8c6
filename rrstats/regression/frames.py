"""Covariates as a named matrix of numbers, from a formula or from columns as they stand.

`covariates` opens what the user gave and says which rows are whole; `Covariates.design` makes the
matrix of the rows that are used, and `Design.again` the same columns of another frame: with what
the fit has seen (levels of factors, means of centred columns, knots of splines), so that
predictions mean what the coefficients do.
A formula adds an intercept as formulas do; arrays are taken as they stand, as in statsmodels,
unless ``intercept=True``.  Formulas are read in `formulas`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from rrstats.data.frame_columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import refuse_renamed, refuse_reports
from rrstats.estimation.means import numbers
from rrstats.regression.designs import (
    INTERCEPT,
    Booleans,
    Design,
    Floats,
    check_names,
    finite,
    gaps,
    refuse_masked,
    table_of,
)
from rrstats.regression.formulas import Formula, frame_of, outcome_name, right_side

__all__ = [
    "Covariates",
    "Design",
    "check_index",
    "check_ordinary",
    "column_or_values",
    "covariates",
    "offset_of",
    "outcome_name",
    "table_of",
    "whole_rows",
]


class Covariates(Protocol):
    """Covariates that are opened and not yet a matrix."""

    @property
    def rows(self) -> int:
        """The number of rows, those with missing values among them."""
        ...

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that are used."""
        ...

    def missing(self) -> dict[str, Booleans]:
        """For each column that has missing values, the (rows,) where they are."""
        ...

    def design(self, keep: Booleans | None = None) -> Design:
        """The matrix of some rows; by default of all.  None of them may be missing."""
        ...


def covariates(
    data: Any,
    formula: str | None = None,
    *,
    rows: int,
    intercept: bool = False,
    whole: Iterable[Any] = (),
) -> Covariates:
    """Open covariates.

    data : a frame; without a formula also an (rows, p) array, or None for an intercept alone.
    formula : of which the right side is used; it says itself whether there is an intercept.
    rows : how many there must be.  intercept : whether to add one to an array or frame.
    whole : columns of a formula whose categories all count; others lose those that no row has.
    Raises MissingPackageError for a formula without formulaic, and ArgumentTypeError or
    ArgumentValueError for what is no covariate.
    """
    if formula is not None:
        if intercept:
            raise ArgumentTypeError(
                "intercept is for arrays; a formula has one unless it says '- 1'"
            )
        text = str(formula).partition("~")[2].strip()
        opened = Formula(right_side(formula), frame_of(data), text, frozenset(map(str, whole)))
        if (name := outcome_name(formula)) in opened.sources:
            raise ArgumentValueError(
                f"the outcome {name!r} stands on both sides of the formula, and explains itself; "
                "leave it out on the right"
            )
        return opened
    if data is None:
        return _Columns(pd.DataFrame(index=range(rows)), intercept=True)
    found = _Columns(_table(data), intercept=intercept)
    if found.rows != rows:
        raise ArgumentValueError(
            f"data must have one row for each of the {rows} reports, found {found.rows}"
        )
    return found


def whole_rows(missing: str, absent: Mapping[str, Booleans], rows: int) -> Booleans | None:
    """The rows that are used; None for all of them.

    missing : "raise" or "drop", what to do where something is missing.
    absent : for each thing that rows need, where it is missing.
    """
    if missing not in ("raise", "drop"):
        raise ArgumentValueError(f"missing must be 'raise' or 'drop', got {missing!r}")
    counts = {name: int(where.sum()) for name, where in absent.items() if where.any()}
    if not counts:
        return None
    if missing == "raise":
        told = ", ".join(f"{count} in {name}" for name, count in counts.items())
        raise ArgumentValueError(
            f"some of the {rows} rows have missing values: {told}; missing='drop' leaves these "
            "rows out (then the fit speaks of the others only)"
        )
    keep = ~np.logical_or.reduce([absent[name] for name in counts])
    if not keep.any():
        raise ArgumentValueError(f"no row is left: all {rows} have a missing value somewhere")
    return np.asarray(keep)


def column_or_values(given: Any, data: Any, rows: int, name: str, outcome: Any = None) -> Any:
    """A column of data by its name, or values as they are; checked for length and index.

    outcome : what has the index of the rows where data has none.
    Raises ArgumentValueError for reports, which are not what people are.
    """
    if given is None:
        return None
    if isinstance(given, str):
        if not isinstance(data, pd.DataFrame):
            raise ArgumentTypeError(
                f"{name} may be the name of a column where data is a frame; give the values"
            )
        given = column_of(data, given)
    check_index(given, data, name)
    check_index(given, outcome, name, "the outcome")
    refuse_reports(given, name, "give a column that was not privatized")
    found = len(given) if hasattr(given, "__len__") else "something else"
    if found != rows:
        raise ArgumentValueError(f"{name} must have one value for each of {rows} rows, got {found}")
    return given


def check_index(values: Any, data: Any, name: str, beside: str = "data") -> None:
    """Raise where two labelled columns have other labels: rows would be matched by position."""
    both = isinstance(values, pd.Series) and isinstance(data, pd.Series | pd.DataFrame)
    if both and not values.index.equals(data.index):
        argument = name.removeprefix("the ")
        raise ArgumentValueError(
            f"{name} has another index than {beside}, so it is not clear which rows belong "
            f"together; align it, or give {argument}.to_numpy() to match by position"
        )


def check_ordinary(data: pd.DataFrame, names: Iterable[Hashable]) -> None:
    """Raise MetadataError where a column that would be taken as it stands may hold reports."""
    for name in names:
        with contextlib.suppress(TypeError):  # cells without a hash are no labels: said later
            refuse_renamed(data, name)


def offset_of(offset: Any, data: Any, rows: int) -> Any:
    """The (rows,) offset of profiles: a number, values or a column of data; None stays None."""
    if offset is None:
        return None
    scalar = not isinstance(offset, str) and np.ndim(offset) == 0
    values = [offset] * rows if scalar else column_or_values(offset, data, rows, "offset")
    return numbers(values, "offset", rows)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Numeric columns, one each in the matrix."""

    frame: pd.DataFrame
    intercept: bool

    @property
    def rows(self) -> int:
        return len(self.frame)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    def missing(self) -> dict[str, Booleans]:
        return gaps(self.frame)

    def design(self, keep: Booleans | None = None) -> Design:
        frame = self.frame if keep is None else self.frame[keep]
        sources = self.sources
        names = (INTERCEPT, *sources) if self.intercept else sources
        check_names(names)
        build = _Stood(names, len(names) - len(sources))
        return Design(build(frame), names, sources, frame, build)


@dataclass(frozen=True)
class _Stood:
    """Makes the matrix of columns as they stand, after so many columns of ones."""

    names: tuple[str, ...]
    ones: int

    def __call__(self, data: pd.DataFrame) -> Floats:
        matrix = np.empty((len(data), len(self.names)))
        matrix[:, : self.ones] = 1.0
        for place, column in enumerate(_numeric(data), self.ones):
            matrix[:, place] = column
        return finite(matrix, self.names)


def _table(data: Any) -> pd.DataFrame:
    """Covariates without a formula as a frame of columns with names."""
    data = table_of(data)
    if isinstance(data, pd.DataFrame):
        return data.set_axis([str(name) for name in data.columns], axis=1)
    refuse_masked(data)
    table = np.asarray(data)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not (np.issubdtype(table.dtype, np.number) or table.dtype == np.bool_):
        raise ArgumentTypeError(
            "data must be a frame or an array of numbers with one row for each report, found "
            f"an array of type {table.dtype} with {table.ndim} axes"
        )
    return pd.DataFrame(table, columns=[f"x{place}" for place in range(1, table.shape[1] + 1)])


def _numeric(frame: pd.DataFrame) -> list[Floats]:
    found = []
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        kind = column.dtype
        if not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_complex_dtype(kind):
            raise ArgumentTypeError(
                f"covariate {name!r} must hold numbers, found a column of type {kind}; a "
                f"formula with C({name}) makes a factor of it"
            )
        found.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return found
