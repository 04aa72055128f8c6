"""The right side of a formula over the columns of a frame, as a `Design`.

Levels of factors, means of centred columns and knots of splines are kept, so that other rows get
the same columns.  Levels are compared before formulaic sees them: it would drop unseen ones, and
quote them.  Source: formulaic (Wilkinson's notation), imported here when a formula is given.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rrstats.data.frame_columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from rrstats.regression.designs import (
    INTERCEPT,
    Booleans,
    Design,
    Floats,
    check_names,
    finite,
    gaps,
    listed,
    table_of,
)

__all__ = ["Formula", "frame_of", "outcome_name", "right_side"]

_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, eq=False)
class Formula:
    """The right side of a formula over the columns of a frame."""

    terms: Any
    data: pd.DataFrame
    text: str
    whole: frozenset[str]

    @property
    def rows(self) -> int:
        """The number of rows of the frame."""
        return len(self.data)

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that the formula names."""
        found = dict.fromkeys(
            name for term in self.terms for factor in term.factors for name in _names(factor)
        )
        return tuple(name for name in found if name in self.data.columns)

    @property
    def frame(self) -> pd.DataFrame:
        """The columns that are used."""
        columns = {name: column_of(self.data, name) for name in self.sources}
        return pd.DataFrame(columns, index=self.data.index)

    def missing(self) -> dict[str, Booleans]:
        """For each column with missing values, where they are."""
        return gaps(self.frame)

    def design(self, keep: Booleans | None = None) -> Design:
        """The matrix of all rows, or of those to keep."""
        frame = _with_used_levels(self.frame if keep is None else self.frame[keep], self.whole)
        looked_up = {
            str(factor.expr)
            for term in self.terms
            for factor in term.factors
            if factor.eval_method.value == "lookup"
        }
        maker = _Maker(self.text, frozenset(looked_up), tuple(map(str, self.data.columns)))
        matrix, spec = maker.matrix(self.terms, frame)
        names = tuple(str(name) for name in spec.column_names)
        if not names:
            raise ArgumentValueError("the formula has no covariates and no intercept")
        for expression, levels in _levels_of(spec).items():
            if len(set(map(str, levels))) < len(levels):  # columns of one name become one column
                raise ArgumentValueError(
                    f"levels of {expression!r} read alike, such as 1 and '1'; make texts or "
                    "numbers of all"
                )
        check_names(names)
        return Design(finite(matrix, names), names, self.sources, frame, _Again(maker, spec, names))


@dataclass(frozen=True, eq=False)
class _Again:
    """Makes the matrix of a formula as the fit did."""

    maker: _Maker
    spec: Any
    names: tuple[str, ...]

    def __call__(self, data: pd.DataFrame) -> Floats:
        return finite(self.maker.matrix(self.spec, _with_used_levels(data))[0], self.names)


def _with_used_levels(frame: pd.DataFrame, whole: Iterable[str] = ()) -> pd.DataFrame:
    """The frame without categories that no row has: their columns would be 0.

    whole : columns that keep theirs.
    """
    used = {
        str(name): frame[name].cat.remove_unused_categories()
        for name, kind in frame.dtypes.items()
        if isinstance(kind, pd.CategoricalDtype) and str(name) not in whole
    }
    return frame.assign(**used) if used else frame


@dataclass(frozen=True)
class _Maker:
    """Makes the matrix of a formula's right side.

    looked_up : columns that it uses as they stand.  columns : those of the frame, for errors.
    """

    text: str
    looked_up: frozenset[str]
    columns: tuple[str, ...]

    def matrix(self, terms: Any, frame: pd.DataFrame) -> tuple[Floats, Any]:
        """The matrix of a frame, and what makes it again."""
        from formulaic.errors import FormulaicError
        from formulaic.materializers import PandasMaterializer

        frame = self._plain(frame)
        if not frame.shape[1]:  # only an intercept: formulaic takes the length from a column
            frame = pd.DataFrame({INTERCEPT: np.zeros(len(frame))}, index=frame.index)
        maker = PandasMaterializer(frame)
        try:
            with np.errstate(all="ignore"):  # log(0): `finite` says so
                _check_levels(terms, maker.layered_context)
                made = maker.get_model_matrix(terms, na_action="ignore", output="numpy")
                matrix = np.asarray(made, dtype=np.float64)
        except (FormulaicError, NameError) as error:
            missing = isinstance(error, NameError) or "not present in the dataset" in str(error)
            why = "it names a column that is not there" if missing else type(error).__name__
            raise ArgumentValueError(
                f"the formula '{self.text}' cannot be made of these columns ({why}); the columns "
                f"are {listed(self.columns)}"
            ) from None
        except ArgumentValueError:
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError):
            # Not chained: their messages quote cells.
            kinds = [f"{name!r} of type {kind}" for name, kind in frame.dtypes.items()]
            raise ArgumentTypeError(
                f"the formula '{self.text}' cannot be made of columns of these types: "
                f"{', '.join(kinds[:20])}; give numbers, or texts for a factor"
            ) from None
        return matrix.reshape(len(frame), len(made.model_spec.column_names)), made.model_spec

    def _plain(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with columns of types that formulaic knows; nothing is missing in them."""
        found: dict[str, Any] = {}
        for name in map(str, frame.columns):
            column = frame[name]
            kind: Any = column.dtype
            dated = isinstance(kind, pd.PeriodDtype) or getattr(kind, "kind", "O") in "mM"
            if name in self.looked_up and (dated or pd.api.types.is_complex_dtype(kind)):
                raise ArgumentTypeError(
                    f"covariate {name!r} must hold numbers or texts, found a column of type "
                    f"{kind}; make a number of it first, such as days or years"
                )
            if not dated and (wanted := _plain_kind(kind)) is not None:
                found[name] = column.astype(wanted)
        return frame.assign(**found) if found else frame


def _plain_kind(kind: Any) -> Any:
    """The type that formulaic knows, of a column of texts or numbers that has another."""
    if isinstance(kind, pd.StringDtype):
        return None if str(kind) == "str" else object
    if not isinstance(kind, pd.api.extensions.ExtensionDtype):
        return None
    plain = getattr(kind, "numpy_dtype", None)  # of categories and intervals there is none
    if plain is None or plain.kind == "b":
        return plain
    if not pd.api.types.is_numeric_dtype(kind):
        return object
    return np.float64 if plain.hasobject else plain  # decimals


def _levels_of(spec: Any) -> dict[str, Any]:
    """The levels of the factors that a fit has seen, by their expressions."""
    return {
        expression: state["categories"]
        for expression, (_, state) in spec.encoder_state.items()
        if isinstance(state, dict) and "categories" in state
    }


def _check_levels(terms: Any, context: Mapping[str, Any]) -> None:
    """Raise for levels that a fit has not seen, or that C(..., levels=) does not name.

    formulaic only warns of them, quoting cells, and makes them the first level.  Whether a warning
    is raised or not shown is one setting of all threads, so that none must come.

    terms : a formula, or what a fit has made of it.
    """
    from formulaic import ModelSpec
    from formulaic.utils.stateful_transforms import stateful_eval

    spec = ModelSpec.from_spec(terms)
    known = _levels_of(spec)
    expressions = {str(factor.expr) for term in spec.formula for factor in term.factors}
    for expression in known or [one for one in sorted(expressions) if "levels" in one]:
        inner, levels = _factor_of(expression)
        state = dict(spec.transform_state)
        if expression in known:
            seen = known[expression]
        elif levels is None:
            continue
        else:
            seen = stateful_eval(levels, context, {}, state, spec)
        if inner in context:
            values = context[inner]
        else:
            values = stateful_eval(inner, context, {}, state, spec)
        found = pd.Series(getattr(values, "__wrapped__", values)).unique().tolist()
        if set(found).difference(seen):
            raise ArgumentValueError(
                "data has levels of a factor that were not among those of the fit, or of the "
                "formula, so nothing can be said of them; leave these rows out"
            )


def _parsed(formula: str) -> Any:
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError:
        raise MissingPackageError(
            "a formula needs formulaic: pip install formulaic; or give arrays, the "
            "reports first and then data= with one column for each covariate"
        ) from None
    if "`1`" in formula:
        raise ArgumentValueError(
            "a formula takes `1` for its intercept and not for a column; rename that column"
        )
    try:
        return Formula(formula)
    except FormulaicError:
        raise ArgumentValueError(
            f"'{formula}' is no formula; write one as 'smoker ~ age + C(region)'"
        ) from None


def right_side(formula: str) -> Any:
    """The terms on the right of a formula; raises where there are none."""
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
    tree, quoted = _tree(factor.expr)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return [
        quoted.get(node.id, node.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and id(node) not in called
    ]


def _tree(expression: str) -> tuple[ast.expr, dict[str, str]]:
    """A factor of a formula as a tree, and what its names stand for that are in backticks."""
    quoted = {f"_quoted_{place}_": name for place, name in enumerate(_QUOTED.findall(expression))}
    places = iter(quoted)
    return ast.parse(_QUOTED.sub(lambda _: next(places), expression), mode="eval").body, quoted


def _factor_of(expression: str) -> tuple[str, str | None]:
    """What C(...) makes a factor of, and its levels if it names them; of others the expression."""
    if not expression.startswith("C("):
        return expression, None
    tree, quoted = _tree(expression)
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) != "C" or not tree.args:
        return expression, None
    levels = [keyword.value for keyword in tree.keywords if keyword.arg == "levels"]
    told = [ast.unparse(tree.args[0]), *map(ast.unparse, levels)]
    for place, name in quoted.items():
        told = [one.replace(place, f"`{name}`") for one in told]
    return told[0], told[1] if levels else None


def frame_of(data: Any) -> pd.DataFrame:
    """Data as a frame; raises for what is none."""
    data = table_of(data)
    if not isinstance(data, pd.DataFrame):
        raise ArgumentTypeError(
            f"a formula needs a frame with its columns as data, found {type(data).__name__}"
        )
    return data


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
