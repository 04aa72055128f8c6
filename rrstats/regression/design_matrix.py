"""Covariates as a named matrix of numbers, from a formula or from columns as they stand.

`covariates` opens the data and says which rows are whole; ``design`` makes the matrix of the rows
that are used, and `DesignMatrix.again` the same columns of another frame: with the levels, means
and knots of the fit, so that predictions mean what the coefficients do.
A formula adds an intercept as formulas do; arrays are taken as they stand, as in statsmodels,
unless ``intercept=True``.  A formula is code: formulaic evaluates it, and so does this module.
Columns of reports never come here: private covariates are made of their categories alone.
Source: formulaic (Wilkinson's notation), imported here when a formula is given.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rrstats._typing import Booleans, Floats
from rrstats.data.columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from rrstats.estimation.analysis_columns import refuse_renamed, refuse_reports
from rrstats.estimation.means import numbers
from rrstats.mechanisms.records import KEY, find, write

BLOCK = 16_384
"""Rows worked on at once, so that what is computed of them stays in cache."""

_WELL = 1e-6
"""Where squared lengths stay above this, products of columns lose no digits that matter."""

_COLLINEAR = 1e-9
"""Columns of length 1 have a combination this short: the covariates say the same twice."""


_MOST_NAMED = 12
"""Covariates that an error names."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Orthogonal columns of mean square 1 that span the covariates.

    columns : (rows, p).  back : (p, p), coefficients of the covariates from those of columns.
    """

    columns: Floats
    back: Floats


def orthonormal(matrix: Floats, names: tuple[str, ...]) -> Basis:
    """Orthogonal columns; raises ArgumentValueError where covariates are collinear."""
    gram = np.zeros((len(names), len(names)))
    with np.errstate(over="ignore", invalid="ignore"):
        for part in blocks(len(matrix)):
            gram += matrix[part].T @ matrix[part]
    lengths = np.sqrt(np.diagonal(gram))
    if not np.isfinite(lengths).all():
        large = [name for name, one in zip(names, lengths, strict=True) if not np.isfinite(one)]
        raise ArgumentValueError(
            f"the covariates {by_source(large)} are too large to square; rescale them"
        )
    if not lengths.all():
        zero = [name for name, length in zip(names, lengths, strict=True) if not length]
        raise ArgumentValueError(
            f"the covariates {by_source(zero)} are 0 in all rows; leave them out"
        )
    sizes, directions = np.linalg.eigh(gram / np.outer(lengths, lengths))
    if sizes[0] > _WELL:
        back = directions / np.sqrt(sizes) / lengths[:, None]
    else:
        back = _triangular(matrix, lengths, names)
    back = back * np.sqrt(len(matrix))
    return Basis((back.T @ matrix.T).T, back)


def _triangular(matrix: Floats, lengths: Floats, names: tuple[str, ...]) -> Floats:
    """The same by QR; raises ArgumentValueError for collinear covariates."""
    parts = [np.linalg.qr(matrix[part], mode="r") for part in blocks(len(matrix))]
    triangle = np.linalg.qr(np.vstack(parts), mode="r") / lengths
    refuse_collinear(triangle, names, len(matrix))
    return np.asarray(np.linalg.inv(triangle) / lengths[:, None])


def refuse_collinear(triangle: Floats, names: Sequence[str], rows: int) -> None:
    """Raise for columns that follow from others, by a triangle with the same products."""
    lengths = np.sqrt((triangle**2).sum(axis=0))
    _, sizes, directions = np.linalg.svd(triangle / np.where(lengths > 0, lengths, 1.0))
    short = directions[np.arange(len(names)) >= (sizes > _COLLINEAR).sum()]
    if count := len(short):
        involved = np.abs(short).max(axis=0) > 1e-6
        told = [name for name, one in zip(names, involved, strict=True) if one]
        raise ArgumentValueError(
            f"the covariates {by_source(told)} are collinear over the {rows} rows: {count} "
            f"of them follow{'s' * (count == 1)} from the others, so their coefficients cannot be "
            "told apart; leave out as many"
        )


def blocks(rows: int) -> Iterator[slice]:
    """All rows, in blocks."""
    return (slice(start, start + BLOCK) for start in range(0, rows, BLOCK))


def source_of(name: str) -> str:
    """Source of a column of a design, without the level, which is a cell of the data."""
    return name.partition("[")[0] or name


def by_source(names: Iterable[str]) -> list[str]:
    """Columns of a design for an error: of factors their name and how many, and not too many."""
    counts: dict[str, int] = {}
    levels = set()
    for name in names:
        source = source_of(name)
        counts[source] = counts.get(source, 0) + 1
        if source != name:
            levels.add(source)
    told = [
        f"{source} ({count} column{'s' * (count > 1)})" if source in levels else source
        for source, count in counts.items()
    ]
    more = len(told) - _MOST_NAMED
    return [*told[:_MOST_NAMED], f"{more} more"] if more > 1 else told


INTERCEPT = "Intercept"


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """A matrix of covariates, and how to make it again.

    matrix : (rows, p) finite numbers.  names : of its p columns.
    sources : the columns of a frame that it is made of; for arrays the names of its columns.
    frame : these columns, of the rows of the matrix.
    factors : columns used as ``C(column)`` alone.  jumps : columns in a transform that has no
    slope, and that transform.
    """

    matrix: Floats
    names: tuple[str, ...]
    sources: tuple[str, ...]
    frame: pd.DataFrame
    build: Callable[[pd.DataFrame], Floats]
    factors: frozenset[str] = frozenset()
    jumps: Mapping[str, str] = field(default_factory=dict)

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
    """A Series or a mapping of columns as a frame with its metadata; other data as they are."""
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


# -- formulas ----------------------------------------------------------------------------------


# Functions of a formula that have a slope nearly everywhere.
_SMOOTH = re.compile(
    r"(np\.)?(I|abs|arctan|bs|cc|center|clip|cos|cr|cs|exp|exp10|exp2|expm1|float|log|log10|log1p|"
    r"log2|maximum|minimum|poly|power|scale|sin|sqrt|square|standardize|tan|tanh)"
)

_QUOTED = re.compile(r"`([^`]+)`")

_EXAMPLE = "'smoker ~ age + C(region)'"


@dataclass(frozen=True, eq=False)
class FormulaCovariates:
    """The right side of a formula over the columns of a frame.

    whole : columns whose categories all count; others lose those that no row has.
    """

    terms: Any
    data: pd.DataFrame
    text: str
    whole: frozenset[str]

    @property
    def rows(self) -> int:
        """Number of rows of the frame."""
        return len(self.data)

    @cached_property
    def _uses(self) -> dict[str, list[Any]]:
        """The factors that use each column of the frame."""
        found: dict[str, list[Any]] = {}
        for factor in dict.fromkeys(factor for term in self.terms for factor in term.factors):
            for name in _looked_up(factor):
                if name in self.data.columns:
                    found.setdefault(name, []).append(factor)
        return found

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that the formula names."""
        return tuple(self._uses)

    @property
    def frame(self) -> pd.DataFrame:
        """The columns that are used."""
        columns = {name: column_of(self.data, name) for name in self.sources}
        return pd.DataFrame(columns, index=self.data.index)

    def missing(self) -> dict[str, Booleans]:
        """For each column with missing values, where they are."""
        return gaps(self.frame)

    def design(self, keep: Booleans | None = None) -> DesignMatrix:
        """The matrix of all rows, or of those to keep."""
        frame = _with_used_levels(self.frame if keep is None else self.frame[keep], self.whole)
        plain = {
            name
            for name, factors in self._uses.items()
            if any(factor.eval_method.value == "lookup" for factor in factors)
        }
        columns = tuple(map(str, self.data.columns))
        first = _FormulaMatrix(self.terms, self.text, frozenset(plain), columns)
        matrix, spec = first.made(frame)
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
        jumps = {
            name: str(factor.expr)
            for name, factors in self._uses.items()
            for factor in factors
            if factor.eval_method.value == "python" and not _is_smooth(str(factor.expr))
        }
        factors = {
            name
            for name, factors in self._uses.items()
            if all(re.match(rf"C\(`?{re.escape(name)}`?[,)]", str(one.expr)) for one in factors)
        }
        again = replace(first, terms=spec, names=names)
        return DesignMatrix(
            finite(matrix, names), names, self.sources, frame, again, frozenset(factors), jumps
        )


@dataclass(frozen=True, eq=False)
class _FormulaMatrix:
    """Makes the matrix of a formula; of other rows with the levels, means and knots of the fit.

    terms : of the formula, or what formulaic made of it.  plain : columns used as they stand.
    columns : of the frame, for errors.
    """

    terms: Any
    text: str
    plain: frozenset[str]
    columns: tuple[str, ...]
    names: tuple[str, ...] = ()

    def __call__(self, data: pd.DataFrame) -> Floats:
        return finite(self.made(_with_used_levels(data))[0], self.names)

    def made(self, frame: pd.DataFrame) -> tuple[Floats, Any]:
        """The matrix of a frame, and what makes it again."""
        from formulaic.materializers import PandasMaterializer
        from formulaic.utils.stateful_transforms import stateful_eval

        frame = frame.assign(**{name: self._plain(frame[name]) for name in map(str, frame)})
        if not frame.shape[1]:  # only an intercept: formulaic takes the length from a column
            frame = pd.DataFrame({INTERCEPT: np.zeros(len(frame))}, index=frame.index)
        maker = PandasMaterializer(frame)
        context, terms = maker.layered_context, self.terms
        if self.names:  # a frame that is refused must leave nothing behind
            known = {name: (kind, dict(one)) for name, (kind, one) in terms.encoder_state.items()}
            terms = terms.update(encoder_state=known)

        def evaluated(expression: str) -> Any:
            if expression in context:
                return context[expression]
            return stateful_eval(expression, context, {}, dict(terms.transform_state), terms)

        try:
            with np.errstate(all="ignore"):  # log(0): `finite` says so
                if self.names:
                    _check_levels(terms, evaluated)
                made = maker.get_model_matrix(terms, na_action="ignore", output="numpy")
                matrix = np.asarray(made, dtype=np.float64)
        except ArgumentValueError:
            raise
        except Exception as error:  # a formula is code, and may raise anything
            raise self._refused(error, frame) from None
        spec = made.model_spec
        _check_levels(spec, lambda expression: maker.factor_cache[expression].values)
        return matrix.reshape(len(frame), len(spec.column_names)), spec

    def _refused(self, error: Exception, frame: pd.DataFrame) -> ArgumentValueError:
        """An error that names the factor and formulaic's reason, with the next step."""
        told = re.match(r"Unable to evaluate factor `(.*?)`\. \[", str(error))
        factor = told[1] if told else ""
        cause = (error.__cause__ or error) if told else error
        where = f" at the factor '{factor}'" if factor else ""
        kinds = ", ".join(f"{name!r} of type {kind}" for name, kind in frame.dtypes.items())
        hint = _habit(factor) or f"its columns are {kinds[:400]}"
        if isinstance(cause, NameError):
            name = re.search(r"'(\w+)'|`(.+?)`", str(cause))
            wanted = (name[1] or name[2]) if name else ""
            dotted = [one for one in self.columns if one.startswith(f"{wanted}.") and one in factor]
            near = difflib.get_close_matches(wanted, self.columns, n=1)
            hint = f"the columns are {listed(self.columns)}"
            if dotted:
                hint = f"a name with a dot stands in backticks there: `{dotted[0]}`"
            elif habit := _habit(factor):
                hint = habit
            elif near:
                hint = f"did you mean {near[0]!r}? {hint}"
        reason = f"{type(cause).__name__}: {str(cause).splitlines()[0] if str(cause) else ''}"
        return ArgumentValueError(
            f"the formula '{self.text}' cannot be made of these columns{where} ({reason}); {hint}"
        )

    def _plain(self, column: pd.Series[Any]) -> pd.Series[Any]:
        """A column of a type that formulaic knows; nothing is missing in it."""
        kind: Any = column.dtype
        dated = isinstance(kind, pd.PeriodDtype) or getattr(kind, "kind", "O") in "mM"
        if column.name in self.plain and (dated or pd.api.types.is_complex_dtype(kind)):
            raise ArgumentTypeError(
                f"covariate {column.name!r} must hold numbers or texts, found a column of type "
                f"{kind}; make a number of it first, such as days or years"
            )
        if isinstance(kind, pd.StringDtype):
            return column if str(kind) == "str" else column.astype(object)
        plain = None if dated else getattr(kind, "numpy_dtype", None)
        if plain is None or not isinstance(kind, pd.api.extensions.ExtensionDtype):
            return column
        if plain.kind != "b" and not pd.api.types.is_numeric_dtype(kind):
            return column.astype(object)
        return column.astype(np.float64 if plain.hasobject else plain)  # object: decimals


def _habit(text: str) -> str:
    """The next step for what R writes otherwise; empty for other texts."""
    if re.search(r"\bfactor\(", text):
        return "a factor is C(column), and not factor() or as.factor()"
    if re.search(r"\b(ns|s)\(", text):
        return "a natural spline is cr(column, df=4), and a B-spline bs(column, df=4)"
    if "offset(" in text:
        return "an offset is the argument offset="
    return "inside I() and other functions a power is **, and not ^" if "^" in text else ""


def _with_used_levels(frame: pd.DataFrame, whole: Iterable[str] = ()) -> pd.DataFrame:
    """The frame without categories that no row has, whose columns would be 0, but for some."""
    used = {
        str(name): frame[name].cat.remove_unused_categories()
        for name, kind in frame.dtypes.items()
        if isinstance(kind, pd.CategoricalDtype) and str(name) not in whole
    }
    return frame.assign(**used) if used else frame


def _levels_of(spec: Any) -> dict[str, Any]:
    """The levels of the factors that a fit has seen, by their expressions."""
    return {
        expression: state["categories"]
        for expression, (_, state) in spec.encoder_state.items()
        if isinstance(state, dict) and "categories" in state
    }


def _check_levels(spec: Any, values_of: Callable[[str], Any]) -> None:
    """Raise for levels that a fit has not seen, or that C(..., levels=) does not name.

    formulaic only warns of them, and makes them no level at all.
    """
    for expression, levels in _levels_of(spec).items():
        values = values_of(expression)
        values = pd.Series(getattr(values, "__wrapped__", values))
        if not set(values.unique().tolist()) <= set(levels):
            raise ArgumentValueError(
                f"data has levels of {expression!r} that were not among those of the fit, or "
                "of the formula, so nothing can be said of them; leave these rows out"
            )


def _parsed(formula: str) -> Any:
    """Both sides of a formula; raises ArgumentValueError with formulaic's reason."""
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
    if re.search(r"~\s*\.\s*($|[-+*])", formula):
        raise ArgumentValueError(
            f"'{formula}' has a dot for all other columns, which is not supported; name the "
            "covariates, or give the outcome and a frame of them"
        )
    try:
        return Formula(formula)
    except (FormulaicError, SyntaxError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        hint = _habit(formula.replace("^", "")) or f"write one as {_EXAMPLE}"
        raise ArgumentValueError(f"'{formula}' is no formula ({reason}); {hint}") from None


def right_side(formula: str) -> Any:
    """The terms on the right of a formula; raises where there are none."""
    right = getattr(_parsed(formula), "rhs", None)
    if right is None or isinstance(right, tuple):
        raise ArgumentValueError(
            f"'{formula}' must have an outcome and covariates, as in {_EXAMPLE}"
        )
    return right


def outcome_name(formula: str) -> str:
    """The column on the left of a formula; raises where there is no single one."""
    left = getattr(_parsed(formula), "lhs", None)
    factors = [factor for term in left or () for factor in term.factors]
    if len(factors) != 1 or factors[0].eval_method.value != "lookup":
        raise ArgumentValueError(
            "the left side of a formula must be the name of the column of the outcome, as in "
            f"{_EXAMPLE}; names with spaces stand in backticks"
        )
    return str(factors[0].expr)


def _looked_up(factor: Any) -> list[str]:
    """The names that a factor of a formula looks up, apart from those that it calls."""
    if factor.eval_method.value == "lookup":
        return [str(factor.expr)]
    if factor.eval_method.value != "python":
        return []
    tree, quoted = _tree(str(factor.expr))
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return [
        quoted.get(node.id, node.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and id(node) not in called
    ]


def _is_smooth(expression: str) -> bool:
    """A transform has a slope nearly everywhere, as far as its functions are known."""
    for node in ast.walk(_tree(expression)[0]):
        if isinstance(node, ast.Call) and not _SMOOTH.fullmatch(ast.unparse(node.func)):
            return False
        if isinstance(node, ast.Compare | ast.BoolOp | ast.IfExp | ast.FloorDiv | ast.Mod):
            return False
    return True


def _tree(expression: str) -> tuple[ast.expr, dict[str, str]]:
    """A factor of a formula as a tree, and the names for which those in it stand in backticks."""
    quoted = {f"_quoted_{place}_": name for place, name in enumerate(_QUOTED.findall(expression))}
    places = iter(quoted)
    tree = ast.parse(_QUOTED.sub(lambda _: next(places), expression), mode="eval")
    return tree.body, quoted


def frame_of(data: Any) -> pd.DataFrame:
    """Data as a frame; raises for what is none."""
    data = table_of(data)
    if not isinstance(data, pd.DataFrame):
        raise ArgumentTypeError(
            f"a formula needs a frame with its columns as data, found {type(data).__name__}"
        )
    return data


# -- columns as they stand -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ColumnCovariates:
    """Numeric columns, one each in the matrix."""

    frame: pd.DataFrame
    intercept: bool

    @property
    def rows(self) -> int:
        """Number of rows of the frame."""
        return len(self.frame)

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.frame.columns)

    def missing(self) -> dict[str, Booleans]:
        """For each column with missing values, where they are."""
        return gaps(self.frame)

    def design(self, keep: Booleans | None = None) -> DesignMatrix:
        """The matrix of all rows, or of those to keep."""
        frame = self.frame if keep is None else self.frame[keep]
        names = (INTERCEPT, *self.sources) if self.intercept else self.sources
        check_names(names)
        build = _ColumnMatrix(names, len(names) - len(self.sources))
        return DesignMatrix(build(frame), names, self.sources, frame, build)


@dataclass(frozen=True)
class _ColumnMatrix:
    """Makes the matrix of columns as they stand, after so many columns of ones."""

    names: tuple[str, ...]
    ones: int

    def __call__(self, data: pd.DataFrame) -> Floats:
        matrix = np.empty((len(self.names), len(data))).T  # column by column
        matrix[:, : self.ones] = 1.0
        for place, name in enumerate(data.columns):
            column = data.iloc[:, place]
            kind = column.dtype
            if not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_complex_dtype(kind):
                raise ArgumentTypeError(
                    f"covariate {name!r} must hold numbers, found a column of type {kind}; a "
                    f"formula with C({name}) makes a factor of it"
                )
            matrix[:, self.ones + place] = column.to_numpy(dtype=np.float64, na_value=np.nan)
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


def covariates(
    data: Any,
    formula: str | None = None,
    *,
    rows: int,
    intercept: bool = False,
    whole: Iterable[Any] = (),
) -> FormulaCovariates | ColumnCovariates:
    """Open covariates.

    data : a frame; without a formula also an (rows, p) array, or None for an intercept alone.
    formula : of which the right side is used; it says itself whether there is an intercept.
    rows : how many there must be.  intercept : whether to add one to an array or frame.
    whole : columns of a formula whose categories all count.
    """
    if formula is not None:
        if intercept:
            raise ArgumentTypeError(
                "intercept is for arrays; a formula has one unless it says '- 1'"
            )
        text = str(formula).partition("~")[2].strip()
        kept = frozenset(map(str, whole))
        opened = FormulaCovariates(right_side(formula), frame_of(data), text, kept)
        if (name := outcome_name(formula)) in opened.sources:
            raise ArgumentValueError(
                f"the outcome {name!r} stands on both sides of the formula, and explains itself; "
                "leave it out on the right"
            )
        return opened
    if data is None:
        return ColumnCovariates(pd.DataFrame(index=range(rows)), intercept=True)
    found = ColumnCovariates(_table(data), intercept=intercept)
    if found.rows != rows:
        raise ArgumentValueError(
            f"data must have one row for each of the {rows} reports, found {found.rows}"
        )
    return found


# -- rows and values of people -------------------------------------------------------------------


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
