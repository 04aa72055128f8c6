"""A matrix of covariates with the names of its columns, and how to make it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rrstats._typing import Booleans, Floats
from rrstats.data.frame_columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.records import KEY, find, write
from rrstats.regression.bases import by_source, source_of

__all__ = [
    "INTERCEPT",
    "Booleans",
    "Design",
    "Floats",
    "called",
    "check_names",
    "finite",
    "gaps",
    "listed",
    "refuse_masked",
    "table_of",
]


INTERCEPT = "Intercept"


@dataclass(frozen=True, eq=False)
class Design:
    """A matrix of covariates, and how to make it again.

    matrix : (rows, p) finite numbers.  names : of its p columns.
    sources : the columns of a frame that it is made of; for arrays the names of its columns.
    frame : these columns, of the rows of the matrix.
    """

    matrix: Floats
    names: tuple[str, ...]
    sources: tuple[str, ...]
    frame: pd.DataFrame
    build: Callable[[pd.DataFrame], Floats]

    def again(self, data: Any) -> Floats:
        """(rows, p) the same columns of other rows; NaN in rows where a value is missing.

        data : a frame that has the columns `sources`, or for arrays an array of as many columns.
        Raises ArgumentValueError for columns that are not there and levels that the fit never saw.
        """
        frame = self.framed(data)
        missing = np.asarray(frame.isna().any(axis=1), dtype=np.bool_)
        if not missing.any():
            return self.build(frame)
        found = np.full((len(frame), len(self.names)), np.nan)
        if not missing.all():
            found[~missing] = self.build(frame[~missing])
        return found

    def framed(self, data: Any) -> pd.DataFrame:
        """The columns that the matrix is made of."""
        if isinstance(data, pd.Series) and len(self.sources) == 1:
            return data.to_frame(self.sources[0])
        data = table_of(data)
        if isinstance(data, pd.DataFrame):
            columns = {name: called(data, name) for name in self.sources}
            return pd.DataFrame(columns, index=data.index)
        refuse_masked(data)
        table = np.asarray(data)
        if table.ndim == 1 and len(self.sources) == 1:
            table = table[:, None]
        if table.ndim != 2 or table.shape[1] != len(self.sources):
            raise ArgumentValueError(
                f"data must have the columns {listed(self.sources)}, in this order or as a frame, "
                f"found an array of shape {table.shape}"
            )
        return pd.DataFrame(table, columns=list(self.sources))


def table_of(data: Any) -> Any:
    """What was given, a Series and a mapping of columns as a frame, with what these say of
    themselves.
    """
    if isinstance(data, pd.Series):
        data = {"x1" if data.name is None else data.name: data}
    if not isinstance(data, Mapping):
        return data
    try:
        frame = pd.DataFrame(dict(data))
    except (TypeError, ValueError):
        sizes = [str(np.shape(column)) for column in data.values()]
        raise ArgumentValueError(
            "data must have columns of one axis and equal lengths, found the shapes "
            f"{', '.join(sizes[:20])}; of one row give lists of one"
        ) from None
    records = [
        replace(record, name=name)
        for name, column in data.items()
        if isinstance(column, pd.Series) and (record := find(column.attrs, column.name))
    ]
    if records:
        frame.attrs[KEY] = write(records)
    return frame


def refuse_masked(data: Any) -> None:
    """Raise for arrays with masked cells: as plain arrays they show what stands behind the mask."""
    if np.ma.is_masked(data):
        raise ArgumentTypeError(
            f"data must not be masked, found {int(np.ma.getmaskarray(data).sum())} masked cells; "
            "give data.filled(...), or a frame with NaN, of which missing= says what to do"
        )


def called(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """The column of that name, or the one whose label reads like it (2020, a pair)."""
    if name in frame.columns:
        return column_of(frame, name)
    alike = [place for place, label in enumerate(frame.columns) if str(label) == name]
    return frame.iloc[:, alike[0]] if len(alike) == 1 else column_of(frame, name)


def check_names(names: tuple[str, ...]) -> None:
    """Raise for two columns of one name."""
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ArgumentValueError(
            f"covariates must have names of their own, found more than one of {by_source(twice)}; "
            "rename a column or a level"
        )


def gaps(frame: pd.DataFrame) -> dict[str, Booleans]:
    """For each column with missing values, where they are."""
    found = {str(name): np.asarray(frame[name].isna(), dtype=np.bool_) for name in frame.columns}
    return {f"covariate {name!r}": where for name, where in found.items() if where.any()}


def finite(matrix: Floats, names: tuple[str, ...]) -> Floats:
    """The matrix, if all is finite; raises otherwise, with the columns and how many."""
    total = float(matrix.sum())
    if np.isfinite(total):
        return matrix
    bad = ~np.isfinite(matrix)
    found: dict[str, Booleans] = {}
    for place in np.flatnonzero(bad.any(axis=0)):
        source = source_of(names[place])
        found[source] = bad[:, place] | found.get(source, False)
    if told := [f"{int(rows.sum())} in {source!r}" for source, rows in found.items()]:
        raise ArgumentValueError(
            f"covariates must be finite, found infinite or undefined values in {len(matrix)} rows: "
            f"{', '.join(told[:20])}"
        )
    return matrix


def listed(names: tuple[str, ...]) -> str:
    """Names for an error, and not too many."""
    return ", ".join(repr(name) for name in names[:20]) + ", ..." * (len(names) > 20)
