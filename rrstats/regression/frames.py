"""Covariates as a named matrix of numbers, from a formula or from columns as they stand.

`covariates` opens what the user gave and says which rows are whole; `Covariates.design` makes the
matrix of the rows that are used, and `Design.again` the same columns of another frame: with what
the fit has seen (levels of factors, means of centred columns, knots of splines), so that
predictions mean what the coefficients do.
A formula adds an intercept as formulas do; arrays are taken as they stand, as in statsmodels,
unless ``intercept=True``.  Source of formulas: formulaic (Wilkinson's notation), imported here
when one is given.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError

__all__ = ["Covariates", "Design", "column_or_values", "covariates", "outcome_name", "whole_rows"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

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
        frame = self._framed(data)
        missing = np.asarray(frame.isna().any(axis=1), dtype=np.bool_)
        if not missing.any():
            return self.build(frame)
        found = np.full((len(frame), len(self.names)), np.nan)
        if not missing.all():
            found[~missing] = self.build(frame[~missing])
        return found

    def _framed(self, data: Any) -> pd.DataFrame:
        """The columns that the matrix is made of."""
        if isinstance(data, Mapping):
            data = pd.DataFrame(dict(data))
        if isinstance(data, pd.DataFrame):
            columns = {name: column_of(data, name) for name in self.sources}
            return pd.DataFrame(columns, index=data.index)
        table = np.asarray(data)
        if table.ndim == 1 and len(self.sources) == 1:
            table = table[:, None]
        if table.ndim != 2 or table.shape[1] != len(self.sources):
            raise ArgumentValueError(
                f"data must have the columns {_listed(self.sources)}, in this order or as a frame, "
                f"found an array of shape {table.shape}"
            )
        return pd.DataFrame(table, columns=list(self.sources))


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
    data: Any, formula: str | None = None, *, rows: int, intercept: bool = False
) -> Covariates:
    """Open covariates.

    data : a frame; without a formula also an (rows, p) array, or None for an intercept alone.
    formula : of which the right side is used; it says itself whether there is an intercept.
    rows : how many there must be.  intercept : whether to add one to an array or frame.
    Raises MissingPackageError for a formula without formulaic, and ArgumentTypeError or
    ArgumentValueError for what is no covariate.
    """
    if formula is not None:
        if intercept:
            raise ArgumentTypeError(
                "intercept is for arrays; a formula has one unless it says '- 1'"
            )
        return _Formula(_right(formula), _frame(data), str(formula).partition("~")[2].strip())
    if data is None:
        return _Columns(pd.DataFrame(index=range(rows)), intercept=True)
    found = _Columns(_table(data), intercept=intercept)
    if found.rows != rows:
        raise ArgumentValueError(
            f"data must have one row for each of the {rows} reports, found {found.rows}"
        )
    return found


def outcome_name(formula: str) -> str:
    """The column on the left of a formula; raises where there is no single one."""
    left = getattr(_parsed(formula), "lhs", None)
    factors = [factor for term in left or () for factor in term.factors]
    if len(factors) != 1 or factors[0].eval_method.value != "lookup":
        raise ArgumentValueError(
            "the left side of a formula must be the name of the column of the outcome, as in "
            "'smoker ~ age + C(region)'; names with spaces stand in backticks"
        )
    return str(factors[0].expr)


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


def column_or_values(given: Any, data: Any, rows: int, name: str) -> Any:
    """A column of data by its name, or values as they are; checked for length and index."""
    if given is None:
        return None
    if isinstance(given, str):
        if not isinstance(data, pd.DataFrame):
            raise ArgumentTypeError(
                f"{name} may be the name of a column where data is a frame; give the values"
            )
        return column_of(data, given)
    check_index(given, data, name)
    found = len(given) if hasattr(given, "__len__") else "something else"
    if found != rows:
        raise ArgumentValueError(f"{name} must have one value for each of {rows} rows, got {found}")
    return given


def check_index(values: Any, data: Any, name: str) -> None:
    """Raise where two labelled columns have other labels: rows would be matched by position."""
    both = isinstance(values, pd.Series) and isinstance(data, pd.Series | pd.DataFrame)
    if both and not values.index.equals(data.index):
        raise ArgumentValueError(
            f"{name} has another index than data, so it is not clear which rows belong together; "
            f"align it, or give {name}.to_numpy() to match by position"
        )


# -- columns as they stand -------------------------------------------------------------------


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
        return _gaps(self.frame)

    def design(self, keep: Booleans | None = None) -> Design:
        frame = self.frame if keep is None else self.frame[keep]
        sources = self.sources
        names = (INTERCEPT, *sources) if self.intercept else sources
        if len(set(names)) != len(names):
            raise ArgumentValueError(f"covariates must have names of their own, found {names}")

        def build(data: pd.DataFrame) -> Floats:
            matrix = np.empty((len(data), len(names)))
            matrix[:, : len(names) - len(sources)] = 1.0
            for place, column in enumerate(_numeric(data), len(names) - len(sources)):
                matrix[:, place] = column
            return _finite(matrix, names)

        return Design(build(frame), names, sources, frame, build)


def _table(data: Any) -> pd.DataFrame:
    """Covariates without a formula as a frame of columns with names."""
    if isinstance(data, pd.DataFrame):
        return data.set_axis([str(name) for name in data.columns], axis=1)
    if isinstance(data, pd.Series):
        return data.to_frame("x1" if data.name is None else str(data.name))
    if isinstance(data, Mapping):
        return _table(pd.DataFrame(dict(data)))
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
        if not pd.api.types.is_numeric_dtype(column.dtype):
            raise ArgumentTypeError(
                f"covariate {name!r} must hold numbers, found a column of type {column.dtype}; a "
                f"formula with C({name}) makes a factor of it"
            )
        found.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return found


# -- formulas ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Formula:
    """The right side of a formula over the columns of a frame."""

    terms: Any
    data: pd.DataFrame
    text: str

    @property
    def rows(self) -> int:
        return len(self.data)

    @property
    def sources(self) -> tuple[str, ...]:
        found = dict.fromkeys(
            name for term in self.terms for factor in term.factors for name in _names(factor)
        )
        return tuple(name for name in found if name in self.data.columns)

    def missing(self) -> dict[str, Booleans]:
        return _gaps(self.data[list(self.sources)])

    def design(self, keep: Booleans | None = None) -> Design:
        frame = self.data[list(self.sources)]
        frame = frame if keep is None else frame[keep]
        matrix, spec = self._materialized(self.terms, frame)
        names = tuple(str(name) for name in spec.column_names)
        if not names:
            raise ArgumentValueError("the formula has no covariates and no intercept")

        def build(data: pd.DataFrame) -> Floats:
            return _finite(self._materialized(spec, data)[0], names)

        return Design(_finite(matrix, names), names, self.sources, frame, build)

    def _materialized(self, terms: Any, frame: pd.DataFrame) -> tuple[Floats, Any]:
        """The matrix of a frame, and what makes it again."""
        from formulaic.errors import DataMismatchWarning, FormulaicError

        if not frame.shape[1]:  # only an intercept: formulaic takes the length from a column
            frame = pd.DataFrame({INTERCEPT: np.zeros(len(frame))}, index=frame.index)
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # log(0): `_finite` says so
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                made = terms.get_model_matrix(frame, na_action="ignore", output="numpy")
            except DataMismatchWarning:
                raise ArgumentValueError(
                    "data has levels of a factor that were not among those of the fit, so nothing "
                    "can be said of them; leave these rows out"
                ) from None
            except FormulaicError as error:
                known = "not present in the dataset" in str(error)
                why = "it names a column that is not there" if known else type(error).__name__
                raise ArgumentValueError(
                    f"the formula '{self.text}' cannot be made of these columns ({why}); the "
                    f"columns are {_listed(tuple(map(str, self.data.columns)))}"
                ) from None
        matrix = np.asarray(made, dtype=np.float64)
        return matrix.reshape(len(frame), -1), made.model_spec


def _parsed(formula: str) -> Any:
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError:
        raise MissingPackageError(
            "a formula needs formulaic: pip install 'rrstats[formula]'; or give arrays, the "
            "reports first and then data= with one column for each covariate"
        ) from None
    try:
        return Formula(formula)
    except FormulaicError:
        raise ArgumentValueError(
            f"'{formula}' is no formula; write one as 'smoker ~ age + C(region)'"
        ) from None


def _right(formula: str) -> Any:
    right = getattr(_parsed(formula), "rhs", None)
    if right is None or isinstance(right, tuple):
        raise ArgumentValueError(
            f"'{formula}' must have an outcome and covariates, as in 'smoker ~ age + C(region)'"
        )
    return right


def _names(factor: Any) -> list[str]:
    """The names that a factor of a formula looks up, apart from those that it calls."""
    if factor.eval_method.value == "lookup":
        return [str(factor.expr)]
    if factor.eval_method.value != "python":
        return []
    quoted = re.findall(r"`([^`]+)`", factor.expr)
    tree = ast.parse(re.sub(r"`[^`]+`", "0", factor.expr), mode="eval")
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return quoted + [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called
    ]


def _frame(data: Any) -> pd.DataFrame:
    if isinstance(data, Mapping):
        return pd.DataFrame(dict(data))
    if not isinstance(data, pd.DataFrame):
        raise ArgumentTypeError(
            f"a formula needs a frame with its columns as data, found {type(data).__name__}"
        )
    return data


def _gaps(frame: pd.DataFrame) -> dict[str, Booleans]:
    """For each column with missing values, where they are."""
    found = {str(name): np.asarray(frame[name].isna(), dtype=np.bool_) for name in frame.columns}
    return {f"covariate {name!r}": where for name, where in found.items() if where.any()}


def _finite(matrix: Floats, names: tuple[str, ...]) -> Floats:
    """The matrix, if all is finite; raises otherwise, with the columns and how many."""
    total = float(matrix.sum())
    if np.isfinite(total):
        return matrix
    bad = ~np.isfinite(matrix)
    counts = bad.sum(axis=0).tolist()
    if told := [f"{count} in {name!r}" for name, count in zip(names, counts, strict=True) if count]:
        raise ArgumentValueError(
            f"covariates must be finite, found infinite or undefined values in {len(matrix)} rows: "
            f"{', '.join(told)}"
        )
    return matrix


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names[:20]) + ", ..." * (len(names) > 20)
