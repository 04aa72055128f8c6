"""Covariates as a named matrix of numbers, from a formula or from columns as they stand.

`covariates` opens the data and says which rows are whole; `DesignMatrix.made` makes the matrix of
the rows that are used, and `DesignMatrix.again` the same columns of another frame: with the levels,
means and knots of the fit, so that predictions mean what the coefficients do.
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
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_one_of
from rrstats._typing import Booleans, Floats
from rrstats.data.columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from rrstats.estimation.analysis_columns import numbers, refuse_renamed, refuse_reports
from rrstats.mechanisms.records import KEY, find, write

BLOCK = 16_384
"""Rows worked on at once, so that what is computed of them stays in cache."""

_WELL = 1e-6
"""Where squared lengths stay above this, products of columns lose no digits that matter."""

_COLLINEAR = 1e-9
"""Columns of length 1 have a combination this short: the covariates say the same twice."""


_MOST_NAMED = 12
"""Covariates that an error names."""


def orthonormal(matrix: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Orthogonal columns of mean square 1 that span the covariates, and what makes them of these.

    That is (p, p), the coefficients of the covariates from those of the columns.
    Raises ArgumentValueError where covariates are collinear.
    """
    parts = [matrix[start : start + BLOCK] for start in range(0, len(matrix), BLOCK)]
    with np.errstate(over="ignore", invalid="ignore"):
        gram = sum((part.T @ part for part in parts), np.zeros((len(names), len(names))))
    lengths = np.sqrt(np.diagonal(gram))
    usable = np.isfinite(lengths) & (lengths > 0)
    if not usable.all():
        told = by_source(name for name, fine in zip(names, usable, strict=True) if not fine)
        raise ArgumentValueError(
            f"the covariates {told} are 0 in all rows, or too large to square; leave them out, or "
            "rescale them"
        )
    sizes, directions = np.linalg.eigh(gram / np.outer(lengths, lengths))
    back = directions / np.sqrt(np.maximum(sizes, _WELL)) / lengths[:, None]
    if len(names) and sizes[0] <= _WELL:
        triangles = [np.linalg.qr(part, mode="r") for part in parts]
        triangle = np.linalg.qr(np.vstack(triangles), mode="r") / lengths
        refuse_collinear(triangle, names, len(matrix))
        back = np.linalg.inv(triangle) / lengths[:, None]
    back = back * np.sqrt(len(matrix))
    return (back.T @ matrix.T).T, back


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


def source_of(name: str) -> str:
    """Source of a column of a design, without the level, which is a cell of the data."""
    return name.partition("[")[0] or name


def by_source(names: Iterable[str]) -> list[str]:
    """Columns of a design for an error: of factors their name and how many, and not too many."""
    names = list(names)
    counts = Counter(map(source_of, names))
    levels = {source_of(name) for name in names} - set(names)
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

    frame : the columns that it is made of, of the rows of the matrix.  maker : makes it.
    factors : columns used as ``C(column)`` alone.  jumps : columns in a transform that has no
    slope, and that transform.
    matrix : (rows, p) finite numbers, once it is made.  names : of its p columns.
    """

    frame: pd.DataFrame
    maker: _FormulaMatrix | _ColumnMatrix
    factors: frozenset[str] = frozenset()
    jumps: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    matrix: Floats = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of a frame that it is made of; for arrays the names of its columns."""
        return tuple(self.frame.columns)

    def missing(self) -> dict[str, Booleans]:
        """For each column with missing values, where they are."""
        columns = {str(name): np.asarray(self.frame[name].isna()) for name in self.frame.columns}
        return {f"covariate {name!r}": where for name, where in columns.items() if where.any()}

    def made(self, keep: Booleans | None = None) -> DesignMatrix:
        """The matrix of all rows, or of those to keep."""
        frame = self.frame if keep is None else self.frame[keep]
        matrix, names, maker = self.maker.made(frame)
        if twice := [name for place, name in enumerate(names) if name in names[:place]]:
            raise ArgumentValueError(
                "covariates must have names of their own, found more than one of "
                f"{by_source(twice)}; rename a column or a level"
            )
        matrix = finite(matrix, names)
        return replace(self, frame=frame, maker=maker, names=names, matrix=matrix)

    def again(self, data: Any) -> Floats:
        """(rows, p) the same columns of other rows; NaN in rows where a value is missing.

        data : a frame that has the columns `sources`, or for arrays an array of as many columns.
        Raises ArgumentValueError for columns that are not there and levels that the fit never saw.
        """
        frame = self.framed(data)
        found = np.full((len(frame), len(self.names)), np.nan)
        whole = np.asarray(frame.notna().all(axis=1), dtype=np.bool_)
        if whole.any():
            found[whole] = finite(self.maker.made(frame[whole])[0], self.names)
        return found

    def framed(self, data: Any) -> pd.DataFrame:
        """The columns that the matrix is made of."""
        if isinstance(data, pd.Series) and len(self.sources) == 1:
            return data.to_frame(self.sources[0])
        frame = table_of(data, self.sources)
        return pd.DataFrame({name: called(frame, name) for name in self.sources}, index=frame.index)


def table_of(data: Any, names: Sequence[str] = ()) -> pd.DataFrame:
    """Data as a frame; a Series and a mapping of columns with their metadata.

    names : of the columns of an array, by default x1, x2, ...
    """
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pd.Series):
        data = {"x1" if data.name is None else data.name: data}
    if isinstance(data, Mapping):
        return _of_columns(data)
    if np.ma.is_masked(data):  # as plain arrays they show what stands behind the mask
        raise ArgumentTypeError(
            f"data must not be masked, found {int(np.ma.getmaskarray(data).sum())} masked cells; "
            "give data.filled(...), or a frame with NaN, of which missing= says what to do"
        )
    table = np.asarray(data)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not (np.issubdtype(table.dtype, np.number) or table.dtype == np.bool_):
        raise ArgumentTypeError(
            "data must be a frame, or an array of numbers with one row for each report, found "
            f"{type(data).__name__} of type {table.dtype} with {table.ndim} axes"
        )
    if names and table.shape[1] != len(names):
        raise ArgumentValueError(
            f"data must have the columns {listed(names)}, in this order or as a frame, "
            f"found an array of shape {table.shape}"
        )
    columns = list(names) or [f"x{place + 1}" for place in range(table.shape[1])]
    return pd.DataFrame(table, columns=columns)


def _of_columns(data: Mapping[Any, Any]) -> pd.DataFrame:
    """A mapping of columns as a frame; metadata of Series go with them."""
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


def labelled(data: Any) -> pd.DataFrame | None:
    """Data whose rows have labels; None for an array."""
    return table_of(data) if isinstance(data, pd.DataFrame | pd.Series | Mapping) else None


def called(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """The column of that name, or the one whose label reads like it (2020, a pair)."""
    if name in frame.columns:
        return column_of(frame, name)
    alike = [place for place, label in enumerate(frame.columns) if str(label) == name]
    return frame.iloc[:, alike[0]] if len(alike) == 1 else column_of(frame, name)


def finite(matrix: Floats, names: Sequence[str]) -> Floats:
    """The matrix, if all is finite; raises otherwise, with the columns and how many."""
    if not np.isfinite(float(matrix.sum())):
        bad = pd.DataFrame(~np.isfinite(matrix).T, index=list(map(source_of, names)))
        counts = bad.groupby(level=0, sort=False).any().sum(axis=1)
        told = [f"{count} in {name!r}" for name, count in counts.items() if count]
        if told:
            raise ArgumentValueError(
                "covariates must be finite, found infinite or undefined values in "
                f"{len(matrix)} rows: {', '.join(told[:20])}"
            )
    return matrix


def listed(names: Sequence[str]) -> str:
    """Names for an error, and not too many."""
    return ", ".join(repr(name) for name in names[:20]) + ", ..." * (len(names) > 20)


# -- formulas ----------------------------------------------------------------------------------


# Functions of a formula that have a slope nearly everywhere.
_SMOOTH = re.compile(
    r"(np\.)?(I|abs|arctan|bs|cc|center|clip|cos|cr|cs|exp|exp10|exp2|expm1|float|log|log10|log1p|"
    r"log2|maximum|minimum|poly|power|scale|sin|sqrt|square|standardize|tan|tanh)"
)

_JUMPS = ast.Compare | ast.BoolOp | ast.IfExp | ast.FloorDiv | ast.Mod

_QUOTED = re.compile(r"`([^`]+)`")

_EXAMPLE = "'smoker ~ age + C(region)'"


def _formula_covariates(formula: str, data: pd.DataFrame, whole: frozenset[str]) -> DesignMatrix:
    """The right side of a formula over a frame.

    whole : columns whose categories all count; others lose those that no row has.
    """
    outcome, terms = sides(formula)
    uses: dict[str, list[Any]] = {}
    for factor in dict.fromkeys(factor for term in terms for factor in term.factors):
        for name in _looked_up(factor):
            if name in data.columns:
                uses.setdefault(name, []).append(factor)
    if outcome in uses:
        raise ArgumentValueError(
            f"the outcome {outcome!r} stands on both sides of the formula, and explains itself; "
            "leave it out on the right"
        )
    pairs = [(name, one, str(one.expr)) for name, factors in uses.items() for one in factors]
    plain = {name for name, one, _ in pairs if one.eval_method.value == "lookup"}
    jumps = {
        name: text
        for name, one, text in pairs
        if one.eval_method.value == "python" and not _is_smooth(text)
    }
    alone = r"C\(`?{}`?[,)]"
    other = {name for name, _, text in pairs if not re.match(alone.format(re.escape(name)), text)}
    frame = pd.DataFrame({name: column_of(data, name) for name in uses}, index=data.index)
    text = formula.partition("~")[2].strip()
    columns = tuple(map(str, data.columns))
    maker = _FormulaMatrix(terms, text, frozenset(plain), columns, whole)
    return DesignMatrix(frame, maker, frozenset(uses) - other, jumps)


@dataclass(frozen=True, eq=False)
class _FormulaMatrix:
    """Makes the matrix of a formula; of other rows with the levels, means and knots of the fit.

    terms : of the formula, or what formulaic made of it.  plain : columns used as they stand.
    columns : of the frame, for errors.  whole : those whose categories all count.
    """

    terms: Any
    text: str
    plain: frozenset[str]
    columns: tuple[str, ...]
    whole: frozenset[str]
    names: tuple[str, ...] = ()

    def made(self, data: pd.DataFrame) -> tuple[Floats, tuple[str, ...], _FormulaMatrix]:
        """The matrix of a frame, its names, and what makes it again."""
        from formulaic.materializers import PandasMaterializer
        from formulaic.utils.stateful_transforms import stateful_eval

        frame = pd.DataFrame({name: self._plain(data[name]) for name in data}, index=data.index)
        if not frame.shape[1]:  # only an intercept: formulaic takes the length from a column
            frame[INTERCEPT] = np.zeros(len(frame))
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
        names = tuple(map(str, spec.column_names))
        if not names:
            raise ArgumentValueError("the formula has no covariates and no intercept")
        again = replace(self, terms=spec, names=names)
        return matrix.reshape(len(frame), len(names)), names, again

    def _refused(self, error: Exception, frame: pd.DataFrame) -> ArgumentValueError:
        """An error that names the factor and formulaic's reason, with the next step."""
        told = re.match(r"Unable to evaluate factor `(.*?)`\. \[", str(error))
        factor = told[1] if told else ""
        cause = (error.__cause__ or error) if told else error
        where = f" at the factor '{factor}'" if factor else ""
        kinds = ", ".join(f"{name!r} of type {kind}" for name, kind in frame.dtypes.items())
        hint = _habit(factor) or f"its columns are {kinds[:400]}"
        if isinstance(cause, NameError):
            wanted = "".join((re.findall(r"'(\w+)'|`(.+?)`", str(cause)) or [""])[0])
            dotted = [one for one in self.columns if one.startswith(f"{wanted}.") and one in factor]
            near = difflib.get_close_matches(wanted, self.columns, n=1)
            hint = _habit(factor) or f"the columns are {listed(self.columns)}"
            if dotted:
                hint = f"a name with a dot stands in backticks there: `{dotted[0]}`"
            elif near and not _habit(factor):
                hint = f"did you mean {near[0]!r}? {hint}"
        reason = f"{type(cause).__name__}: {next(iter(str(cause).splitlines()), '')}"
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
        if isinstance(kind, pd.CategoricalDtype):
            return column if column.name in self.whole else column.cat.remove_unused_categories()
        plain = None if dated else getattr(kind, "numpy_dtype", None)
        if isinstance(kind, pd.StringDtype):
            return column.astype(object)
        if plain is None or not isinstance(kind, pd.api.extensions.ExtensionDtype):
            return column
        if plain.kind != "b" and not pd.api.types.is_numeric_dtype(kind):
            return column.astype(object)
        return column.astype(np.float64 if plain.hasobject else plain)  # object: decimals


_HABITS = (
    (r"\bfactor\(", "a factor is C(column), and not factor() or as.factor()"),
    (r"\b(ns|s)\(", "a natural spline is cr(column, df=4), and a B-spline bs(column, df=4)"),
    (r"offset\(", "an offset is the argument offset="),
    (r"\^", "inside I() and other functions a power is **, and not ^"),
)
"""Signs of what R writes otherwise, and the next step."""


def _habit(text: str) -> str:
    """The next step for what R writes otherwise; empty for other texts."""
    return next((step for sign, step in _HABITS if re.search(sign, text)), "")


def _check_levels(spec: Any, values_of: Callable[[str], Any]) -> None:
    """Raise for levels that a fit has not seen, or that C(..., levels=) does not name.

    formulaic only warns of them, and makes them no level at all.
    """
    for expression, (_, state) in spec.encoder_state.items():
        if not isinstance(state, dict) or "categories" not in state:
            continue
        levels = list(state["categories"])
        if len(set(map(str, levels))) < len(levels):  # columns of one name become one column
            raise ArgumentValueError(
                f"levels of {expression!r} read alike, such as 1 and '1'; make texts or numbers "
                "of all"
            )
        values = values_of(expression)
        values = pd.Series(getattr(values, "__wrapped__", values))
        if not set(values.unique().tolist()) <= set(levels):
            raise ArgumentValueError(
                f"data has levels of {expression!r} that were not among those of the fit, or "
                "of the formula, so nothing can be said of them; leave these rows out"
            )


_UNREADABLE = (
    (r"`1`", "takes `1` for its intercept and not for a column; rename that column"),
    (
        r"~\s*\.\s*($|[-+*])",
        "has a dot for all other columns, which is not supported; name the covariates, or give the "
        "outcome and a frame of them",
    ),
)
"""Signs of formulas that would be read otherwise than they are meant."""


def sides(formula: str) -> tuple[str, Any]:
    """The column on the left of a formula, and the terms on its right."""
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError:
        raise MissingPackageError(
            "a formula needs formulaic: pip install formulaic; or give arrays, the "
            "reports first and then data= with one column for each covariate"
        ) from None
    if why := [why for sign, why in _UNREADABLE if re.search(sign, formula)]:
        raise ArgumentValueError(f"'{formula}' {why[0]}")
    try:
        parsed = Formula(formula)
    except (FormulaicError, SyntaxError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        hint = _habit(formula.replace("^", "")) or f"write one as {_EXAMPLE}"
        raise ArgumentValueError(f"'{formula}' is no formula ({reason}); {hint}") from None
    left, right = (getattr(parsed, side, None) for side in ("lhs", "rhs"))
    factors = [factor for term in left or () for factor in term.factors]
    named = len(factors) == 1 and factors[0].eval_method.value == "lookup"
    if not named or right is None or isinstance(right, tuple):
        raise ArgumentValueError(
            f"'{formula}' must have the name of the column of the outcome on its left, and "
            f"covariates on its right, as in {_EXAMPLE}; names with spaces stand in backticks"
        )
    return str(factors[0].expr), right


def _looked_up(factor: Any) -> list[str]:
    """The names that a factor of a formula looks up, apart from those that it calls."""
    if factor.eval_method.value != "python":
        return [str(factor.expr)] if factor.eval_method.value == "lookup" else []
    nodes, quoted = _nodes(str(factor.expr))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    return [quoted.get(name.id, name.id) for name in names]


def _is_smooth(expression: str) -> bool:
    """A transform has a slope nearly everywhere, as far as its functions are known."""
    nodes = _nodes(expression)[0]
    calls = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
    return all(map(_SMOOTH.fullmatch, calls)) and not any(isinstance(one, _JUMPS) for one in nodes)


def _nodes(expression: str) -> tuple[list[ast.AST], dict[str, str]]:
    """The parts of a factor of a formula, and the names that stand in backticks in it."""
    quoted = {f"_quoted_{place}_": name for place, name in enumerate(_QUOTED.findall(expression))}
    places = iter(quoted)
    tree = ast.parse(_QUOTED.sub(lambda _: next(places), expression), mode="eval")
    return list(ast.walk(tree)), quoted


# -- columns as they stand -----------------------------------------------------------------------


@dataclass(frozen=True)
class _ColumnMatrix:
    """Makes the matrix of columns as they stand, after a column of ones where one is asked for.

    whole : columns of categories, which have a column for each but the first.
    """

    intercept: bool
    whole: frozenset[str] = frozenset()

    def made(self, data: pd.DataFrame) -> tuple[Floats, tuple[str, ...], _ColumnMatrix]:
        """The matrix of a frame, its names, and what makes it again."""
        columns = [(INTERCEPT, np.ones(len(data)))] * self.intercept
        for place, name in enumerate(data.columns):
            columns += self._columns(name, data.iloc[:, place])
        names = tuple(name for name, _ in columns)
        matrix = np.array([column for _, column in columns], dtype=np.float64)
        return matrix.reshape(len(names), len(data)).T, names, self  # column by column

    def _columns(self, name: str, column: pd.Series[Any]) -> Iterator[tuple[str, Floats]]:
        kind = column.dtype
        if name in self.whole:
            for code, level in list(enumerate(column.cat.categories))[1:]:
                yield f"{name}[T.{level}]", np.asarray(column.cat.codes == code, dtype=np.float64)
        elif not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_complex_dtype(kind):
            raise ArgumentTypeError(
                f"covariate {name!r} must hold numbers, found a column of type {kind}; a "
                f"formula with C({name}) makes a factor of it"
            )
        else:
            yield name, column.to_numpy(dtype=np.float64, na_value=np.nan)


def covariates(
    data: Any,
    formula: str | None = None,
    *,
    rows: int,
    intercept: bool = False,
    whole: Iterable[Any] = (),
) -> DesignMatrix:
    """Open covariates.

    data : a frame; without a formula it may be None, for an intercept alone.
    formula : of which the right side is used; it says itself whether there is an intercept.
    rows : how many there must be.  intercept : whether to add one to columns as they stand.
    whole : columns of categories that all count.
    """
    whole = frozenset(map(str, whole))
    if formula is not None:
        if intercept:
            raise ArgumentTypeError(
                "intercept is for arrays; a formula has one unless it says '- 1'"
            )
        return _formula_covariates(formula, data, whole)
    if data is None:
        return DesignMatrix(pd.DataFrame(index=range(rows)), _ColumnMatrix(True))
    if len(data) != rows:
        raise ArgumentValueError(
            f"data must have one row for each of the {rows} reports, found {len(data)}"
        )
    frame = data.set_axis([str(name) for name in data.columns], axis=1)
    return DesignMatrix(frame, _ColumnMatrix(intercept, whole))


# -- rows and values of people -------------------------------------------------------------------


def whole_rows(missing: str, absent: Mapping[str, Booleans], rows: int) -> Booleans | None:
    """The rows that are used; None for all of them.

    missing : "raise" or "drop", what to do where something is missing.
    absent : for each thing that rows need, where it is missing.
    """
    check_one_of(missing, "missing", ("raise", "drop"))
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


def column_or_values(given: Any, data: Any, rows: int, name: str, *beside: Any) -> Any:
    """A column of data by its name, or values as they are; checked for length and index.

    beside : data and outcome, where these have labels of rows.
    Raises ArgumentValueError for reports, which are not what people are.
    """
    if given is None:
        return None
    given = column_of(data, given) if isinstance(given, str) else given
    for what, other in zip(("data", "the outcome"), beside, strict=False):
        check_index(given, other, name, what)
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
    given = [offset] * rows if scalar else offset
    frame = labelled(data)
    return numbers(column_or_values(given, frame, rows, "offset", frame), "offset", rows)
