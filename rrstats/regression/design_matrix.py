"""Covariates as a named matrix of numbers, from a formula or from columns as they stand.

`covariates` opens the data and says which rows are whole; `DesignMatrix.made` makes the matrix of
the rows that are used, and `DesignMatrix.again` the same columns of another frame: with the levels,
means and knots of the fit, so that predictions mean what the coefficients do.
A formula adds an intercept as formulas do; arrays are taken as they stand, as in statsmodels,
unless ``intercept=True``.  A formula is a program: formulaic evaluates it, and so does this module,
with all that Python can do; never take a formula from somebody else.
Columns of reports never come here: private covariates are made of their categories alone.
Source: formulaic (Wilkinson's notation), imported here when a formula is given.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats._checks import check_left_out, check_one_of, check_rows, needing
from rrstats._typing import Booleans, Floats
from rrstats.data.columns import column_of, numbers
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.report_columns import ReportFrame, blocks, refuse_reports
from rrstats.mechanisms.records import KEY, find, write
from rrstats.mechanisms.samples import check_aligned

BLOCK = 16_384
"""Rows worked on at once, so that what is computed of them stays in cache."""

_COLLINEAR = 1e-9
"""Columns of length 1 have a combination this short: the covariates say the same twice."""

_MOST_NAMED = 12
"""Covariates that an error names."""

_FACTOR_ROWS = 50
"""Of more rows a factor must have at most half as many levels."""


def orthonormal(matrix: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Orthogonal columns of mean square 1 that span the covariates, and what makes them of these.

    That is (p, p), the coefficients of the covariates from those of the columns.
    Raises ArgumentValueError where covariates are collinear.
    """
    parts = [matrix[start : start + BLOCK] for start in range(0, len(matrix), BLOCK)]
    lengths, sizes, directions = principal_axes(parts, names, len(matrix))
    back = directions.T / sizes / lengths[:, None] * np.sqrt(len(matrix))
    return (back.T @ matrix.T).T, back


def principal_axes(
    parts: Sequence[Floats], names: Sequence[str], rows: int
) -> tuple[Floats, Floats, Floats]:
    """Lengths of columns, and of these at length 1 the lengths and directions of the axes.

    parts : of the rows.  Raises ArgumentValueError for columns that follow from others.
    """
    stacked = np.vstack([np.asarray(np.linalg.qr(part, mode="r")) for part in parts])
    triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    lengths = np.sqrt((triangle**2).sum(axis=0))
    _, sizes, directions = np.linalg.svd(triangle / np.where(lengths > 0, lengths, 1.0))
    short = directions[np.arange(len(names)) >= (sizes > _COLLINEAR).sum()]
    if count := len(short):
        involved = np.abs(short).max(axis=0) > 1e-6
        told = [name for name, one in zip(names, involved, strict=True) if one]
        raise ArgumentValueError(
            f"the covariates {by_source(told)} are collinear, or 0, over the {rows} rows, so their "
            f"coefficients cannot be told apart; leave {count} out"
        )
    return lengths, sizes[::-1], directions[::-1]


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


class _Term(NamedTuple):
    """A term of a formula, or a column as it stands.

    places : of its columns in the matrix.  sources : the columns of the frame that it uses.
    by_row : its value in a row follows from that row.
    """

    term: Any
    places: list[int]
    sources: frozenset[str]
    by_row: bool


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """A matrix of covariates, and how to make it again.

    frame : the columns that it is made of, of the rows of the matrix.
    intercept : a column of ones stands before columns as they stand.
    whole : columns of categories that all count; others lose those that no row has.
    terms : of a formula, or what formulaic made of it; None for columns as they stand.
    text, columns : the formula and the columns of its data, for errors.
    plain : columns that the formula uses as they stand.  factors : those used as ``C(column)``
    alone.  jumps : columns in a transform that has no slope, and that transform.
    powers : columns in a transform with a power, which are real numbers there, as in R.
    matrix : (rows, p) finite numbers, once it is made.  names : of its p columns.
    """

    frame: pd.DataFrame
    intercept: bool = False
    whole: frozenset[str] = frozenset()
    terms: Any = None
    text: str = ""
    columns: tuple[str, ...] = ()
    plain: frozenset[str] = frozenset()
    factors: frozenset[str] = frozenset()
    jumps: Mapping[str, str] = field(default_factory=dict)
    powers: frozenset[str] = frozenset()
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
        here = self if keep is None else replace(self, frame=self.frame[keep])
        matrix, names, terms = here._made(here.frame)
        if not names:
            raise ArgumentValueError("there is nothing to fit: no covariates and no intercept")
        if twice := [name for place, name in enumerate(names) if name in names[:place]]:
            raise ArgumentValueError(f"covariates have names twice, found {by_source(twice)}")
        return replace(here, terms=terms, names=names, matrix=finite(matrix, names))

    def again(self, data: Any) -> Floats:
        """(rows, p) the same columns of other rows; NaN in rows where a value is missing.

        data : a frame that has the columns `sources`, or for arrays an array of as many columns.
        Raises ArgumentValueError for columns that are not there and levels that the fit never saw.
        """
        frame = self.framed(data)
        found = np.full((len(frame), len(self.names)), np.nan)
        whole = np.asarray(frame.notna().all(axis=1), dtype=np.bool_)
        if whole.any():
            self._check_seen(frame[whole])
            found[whole] = finite(self._made(frame[whole])[0], self.names)
        return found

    def ordinary(self, private: Set[str]) -> Booleans:
        """(p,) True for columns of the matrix that no privatized covariate enters."""
        columns = np.ones(len(self.names), dtype=np.bool_)
        for term in self._uses():
            columns[term.places] = term.sources.isdisjoint(private)
        return columns

    def of_categories(self, profiles: pd.DataFrame) -> dict[int, Floats]:
        """Columns that privatized covariates alone decide, by place in the matrix.

        profiles : true categories of all privatized covariates.  Columns have a value for each of
        its rows.  A transform other than C() may use all rows of a column, so it has no place here.
        """
        private = set(profiles.columns)
        alone = [term for term in self._uses() if term.by_row and term.sources <= private]
        alone = [term for term in alone if term.sources]
        if not alone:
            return {}
        if self.terms is None:
            used = profiles[[name for name in self.sources if name in private]]
            matrix, names, _ = replace(self, intercept=False)._made(used)
        else:
            subset = self.terms.subset([term.term for term in alone])
            matrix, names, _ = replace(self, terms=subset)._evaluated(profiles)
        matrix = finite(matrix, names)
        places = [place for term in alone for place in term.places]
        return {place: matrix[:, names.index(self.names[place])] for place in places}

    def _uses(self) -> Iterator[_Term]:
        """The terms of a matrix that is made, with the columns that each uses."""
        if self.terms is not None:
            for term, places in self.terms.term_indices.items():
                used = {name for factor in term.factors for name in _looked_up(factor)}
                by_row = all(map(_is_by_row, term.factors))
                yield _Term(term, places, frozenset(used.intersection(self.sources)), by_row)
            return
        first = 0
        if self.intercept:
            first = 1
            yield _Term(None, [0], frozenset(), True)
        for name in self.sources:
            width = len(self.frame[name].cat.categories) - 1 if name in self.whole else 1
            yield _Term(None, list(range(first, first + width)), frozenset({name}), True)
            first += width

    def framed(self, data: Any) -> pd.DataFrame:
        """The columns that the matrix is made of."""
        if isinstance(data, pd.Series) and len(self.sources) == 1:
            return data.to_frame(self.sources[0])
        frame = table_of(data, self.sources)
        return pd.DataFrame({name: called(frame, name) for name in self.sources}, index=frame.index)

    @cached_property
    def _levels(self) -> dict[str, list[Any]]:
        """The factors of a formula, and their levels in the rows of the fit."""
        found = {}
        for name in self.sources if self.terms is not None else ():
            numeric = pd.api.types.is_numeric_dtype(self.frame[name].dtype)
            if name in self.factors or not (numeric or name in self.whole):
                with contextlib.suppress(TypeError):  # cells without a hash: formulaic says so
                    found[name] = self.frame[name].unique().tolist()
        return found

    def _check_seen(self, frame: pd.DataFrame) -> None:
        """Raise for levels that the fit has not seen, which formulaic would make no level."""
        for name, levels in self._levels.items():
            with contextlib.suppress(TypeError):
                if not frame[name].isin(levels).all():
                    raise ArgumentValueError(
                        f"data has levels of {name!r} that were not among those of the fit; leave "
                        "these rows out"
                    )

    def _check_factors(self) -> None:
        """Raise for levels that read alike, and for so many that rows cannot tell them apart."""
        for name, levels in self._levels.items():
            if len(set(map(str, levels))) < len(levels):  # columns of one name become one column
                raise ArgumentValueError(f"levels of {name!r} read alike, such as 1 and '1'")
            rows = len(self.frame)
            if name in self.plain | self.factors and 2 * len(levels) > rows > _FACTOR_ROWS:
                raise ArgumentValueError(
                    f"covariate {name!r} has {len(levels)} levels in {rows} rows, too many for a "
                    "coefficient each; merge levels, or leave it out"
                )

    def _made(self, frame: pd.DataFrame) -> tuple[Floats, tuple[str, ...], Any]:
        """The matrix of a frame, its names, and the terms that make it again."""
        if self.terms is not None:
            return self._evaluated(frame)
        columns: list[tuple[str, Any]] = [(INTERCEPT, np.ones(len(frame)))] * self.intercept
        for place, name in enumerate(frame.columns):
            column = frame.iloc[:, place]
            kind = column.dtype
            if name in self.whole:
                levels, codes = column.cat.categories, column.cat.codes
                columns += [(f"{name}[T.{levels[code]}]", codes == code)
                            for code in range(1, len(levels))]  # fmt: skip
            elif not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_complex_dtype(kind):
                raise ArgumentTypeError(
                    f"covariate {name!r} must hold numbers, found a column of type {kind}; a "
                    f"formula with C({name}) makes a factor of it"
                )
            else:
                columns.append((name, column.to_numpy(dtype=np.float64, na_value=np.nan)))
        matrix = np.array([column for _, column in columns], dtype=np.float64)
        names = tuple(name for name, _ in columns)
        return matrix.reshape(len(names), len(frame)).T, names, None  # column by column

    def _evaluated(self, data: pd.DataFrame) -> tuple[Floats, tuple[str, ...], Any]:
        """The same by formulaic."""
        from formulaic.materializers import PandasMaterializer

        frame = pd.DataFrame({name: self._known(data[name]) for name in data}, index=data.index)
        if not frame.shape[1]:  # only an intercept: formulaic takes the length from a column
            frame[INTERCEPT] = np.zeros(len(frame))
        if not self.names:
            self._check_factors()
        try:
            with np.errstate(all="ignore"):  # log(0): `finite` says so
                made = PandasMaterializer(frame).get_model_matrix(
                    self.terms, na_action="ignore", output="numpy"
                )
                matrix = np.asarray(made, dtype=np.float64)
        except Exception as error:  # a formula is code, and may raise anything
            raise self._refused(error, frame) from None
        names = tuple(map(str, made.model_spec.column_names))
        return matrix.reshape(len(frame), len(names)), names, made.model_spec

    def _refused(self, error: Exception, frame: pd.DataFrame) -> ArgumentValueError:
        """An error that names the factor and formulaic's reason, with the next step."""
        told = re.match(r"Unable to evaluate factor `(.*?)`\. \[", str(error))
        factor = told[1] if told else ""
        cause = (error.__cause__ or error) if told else error
        where = f" at the factor '{factor}'" if factor else ""
        kinds = ", ".join(f"{name!r} of type {kind}" for name, kind in frame.dtypes.items())
        hint = f"its columns are {kinds[:400]}"
        if isinstance(cause, NameError):
            wanted = "".join((re.findall(r"'(\w+)'|`(.+?)`", str(cause)) or [""])[0])
            hint = f"the columns are {list(self.columns[:20])}"
            if near := difflib.get_close_matches(wanted, self.columns, n=1):
                hint = f"did you mean {near[0]!r}? {hint}"
        reason = f"{type(cause).__name__}: {next(iter(str(cause).splitlines()), '')}"
        return ArgumentValueError(
            f"the formula '{self.text}' cannot be made of these columns{where} ({reason}); "
            f"{_habit(factor) or hint}"
        )

    def _known(self, column: pd.Series[Any]) -> pd.Series[Any]:
        """A column of a type that formulaic knows; nothing is missing in it."""
        kind = pd.api.types.infer_dtype(column, skipna=False)
        if column.name in self.plain and kind.startswith(("date", "time", "period", "complex")):
            raise ArgumentTypeError(
                f"covariate {column.name!r} must hold numbers or texts, found a column of type "
                f"{column.dtype}; make a number of it first, such as days or years"
            )
        if isinstance(column.dtype, pd.CategoricalDtype):
            return column if column.name in self.whole else column.cat.remove_unused_categories()
        if kind == "decimal":
            return column.astype(np.float64)
        if column.dtype.kind in "iu":  # in int8 60**2 is 16
            wide = column.name in self.powers or column.max() >= 1 << 63
            return column.astype(np.float64 if wide else np.int64)
        if isinstance(column.dtype, np.dtype | pd.PeriodDtype | pd.DatetimeTZDtype):
            return column
        values = column.to_numpy(dtype=object, na_value=np.nan)
        held = pd.Series(values, column.index, dtype=object)
        return held if pd.api.types.infer_dtype(held) == "string" else held.infer_objects()


def table_of(data: Any, names: Sequence[str] = ()) -> pd.DataFrame:
    """Data as a frame; a Series and a mapping of columns with their metadata.

    names : of the columns of an array, by default x1, x2, ...
    """
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pd.Series):
        data = {"x1" if data.name is None else data.name: data}
    if isinstance(data, Mapping):
        frame = pd.DataFrame(dict(data))
        if records := [
            replace(record, name=name)
            for name, column in data.items()
            if isinstance(column, pd.Series) and (record := find(column.attrs, column.name))
        ]:
            frame.attrs[KEY] = write(records)  # metadata of Series go with them
        return frame
    if np.ma.isMaskedArray(data):  # as plain arrays they show what stands behind the mask
        data = np.ma.filled(data.astype(np.float64), np.nan)
    table = np.asarray(data)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not (np.issubdtype(table.dtype, np.number) or table.dtype == np.bool_):
        raise ArgumentTypeError(
            "data must be a frame, or an array of numbers with a row for each report, found "
            f"{type(data).__name__} of {table.dtype} with {table.ndim} axes"
        )
    columns = list(names) or [f"x{place + 1}" for place in range(table.shape[1])]
    held = np.empty(table.shape[::-1], dtype=table.dtype)
    for part in blocks(len(table), 4096):  # turned in cache, which pandas does not
        held[:, part] = table[part].T
    return pd.DataFrame(held.T, columns=columns, copy=False)


def labelled(data: Any) -> pd.Series[Any] | None:
    """A column with the labels of the rows; None for an array."""
    if not isinstance(data, pd.DataFrame | pd.Series | Mapping):
        return None
    return table_of(data).index.to_series()


def called(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """The column of that name, or the one whose label reads like it (2020, a pair)."""
    if name in frame.columns:
        return column_of(frame, name)
    alike = [place for place, label in enumerate(frame.columns) if str(label) == name]
    return frame.iloc[:, alike[0]] if len(alike) == 1 else column_of(frame, name)


def finite(matrix: Floats, names: Sequence[str]) -> Floats:
    """The matrix, if all is finite; raises otherwise, with the columns."""
    if not np.isfinite(float(matrix.sum())):
        bad = pd.Index(names)[np.flatnonzero(~np.isfinite(matrix).all(axis=0))]
        if len(bad):
            raise ArgumentValueError(f"covariates must be finite, found others in {by_source(bad)}")
    return matrix


# -- formulas ----------------------------------------------------------------------------------


# Functions of a formula that have a slope nearly everywhere.
_SMOOTH = re.compile(
    r"(np\.)?(I|abs|arctan|bs|cc|center|clip|cos|cr|cs|exp|exp10|exp2|expm1|float|log|log10|log1p|"
    r"log2|maximum|minimum|poly|power|scale|sin|sqrt|square|standardize|tan|tanh)"
)

_JUMPS = re.compile(r"[<>%]|[=!]=|//")

_EXAMPLE = "'smoker ~ age + C(region)'"


def _formula_covariates(formula: str, data: pd.DataFrame, whole: frozenset[str]) -> DesignMatrix:
    """The right side of a formula over a frame.

    whole : columns whose categories all count; others lose those that no row has.
    """
    outcome, terms = sides(formula)
    uses = [
        (name, factor.eval_method.value == "lookup", str(factor.expr))
        for factor in dict.fromkeys(factor for term in terms for factor in term.factors)
        for name in _looked_up(factor)
        if name in data.columns
    ]
    used = dict.fromkeys(name for name, _, _ in uses)
    if outcome in used:
        raise ArgumentValueError(f"the outcome {outcome!r} stands on both sides of the formula")
    other = {name for name, _, text in uses if not _is_factor(text, name)}
    return DesignMatrix(
        pd.DataFrame({name: column_of(data, name) for name in used}, index=data.index),
        whole=whole,
        terms=terms,
        text=formula.partition("~")[2].strip(),
        columns=tuple(map(str, data.columns)),
        plain=frozenset(name for name, plain, _ in uses if plain),
        factors=frozenset(used) - other,
        jumps={name: text for name, plain, text in uses if not (plain or _is_smooth(text))},
        powers=frozenset(name for name, _, text in uses if "**" in text),
    )


_WORDS = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|\^|[\w.]++(?!\()")


def from_r(formula: str, columns: Iterable[Any]) -> str:
    """A formula with ``**`` for ``^`` (xor in Python), and dotted names in backticks."""
    dotted = {name for name in map(str, columns) if "." in name and name[0].isalpha()}
    spelled = {"^": "**"} | {name: f"`{name}`" for name in dotted}
    return _WORDS.sub(lambda word: spelled.get(word[0], word[0]), formula)


_HABITS = (
    (r"\bfactor\(", "a factor is C(column), and not factor() or as.factor()"),
    (r"\b(ns|s)\(", "a natural spline is cr(column, df=4), and a B-spline bs(column, df=4)"),
    (r"offset\(", "an offset is the argument offset="),
)
"""Signs of what R writes otherwise, and the next step."""


def _habit(text: str) -> str:
    """The next step for what R writes otherwise; empty for other texts."""
    return next((step for sign, step in _HABITS if re.search(sign, text)), "")


_UNREADABLE = (
    (r"`1`", "takes `1` for its intercept and not for a column; rename that column"),
    (
        r"~\s*\.\s*($|[-+*])",
        "has a dot for all other columns, which is not supported; name the covariates, or give the "
        "outcome and a frame of them",
    ),
)
"""Signs of formulas that would be read otherwise than they are meant."""


_NO_FORMULAS = (
    "a formula needs formulaic: pip install formulaic; or give arrays, the reports first and then "
    "data= with one column for each covariate"
)


def sides(formula: str) -> tuple[str, Any]:
    """The column on the left of a formula, and the terms on its right."""
    with needing(_NO_FORMULAS):
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    if why := [why for sign, why in _UNREADABLE if re.search(sign, formula)]:
        raise ArgumentValueError(f"'{formula}' {why[0]}")
    try:
        parsed = Formula(formula)
    except (FormulaicError, SyntaxError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        hint = _habit(formula) or f"write one as {_EXAMPLE}"
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


def _looked_up(factor: Any) -> set[str]:
    """The names that a factor of a formula looks up, apart from those that it calls."""
    from formulaic.utils.code import sanitize_variable_names
    from formulaic.utils.variables import get_expression_variables

    if factor.eval_method.value != "python":
        return {str(factor.expr)} if factor.eval_method.value == "lookup" else set()
    aliases: dict[str, str] = {}
    text = sanitize_variable_names(str(factor.expr), {}, aliases)
    found = get_expression_variables(text, {}, aliases)
    values = [one for one in found if "." in one or "value" in one.roles]
    return {name for one in values for name in (str(one), one.partition(".")[0])}


def _is_factor(text: str, name: str) -> bool:
    """True for C(name), also with levels or contrasts."""
    return re.match(rf"C\(`?{re.escape(name)}`?[,)]", text) is not None


def _is_by_row(factor: Any) -> bool:
    """True for a number, a column and C(column)."""
    names = _looked_up(factor)
    return factor.eval_method.value != "python" or any(
        _is_factor(str(factor.expr), name) for name in names
    )


def _is_smooth(expression: str) -> bool:
    """A transform has a slope nearly everywhere, as far as its functions are known."""
    text = re.sub("`[^`]*`", "x", expression)
    return not _JUMPS.search(text) and all(map(_SMOOTH.fullmatch, re.findall(r"([\w.]+)\(", text)))


# -- columns as they stand -----------------------------------------------------------------------


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
        check_left_out("a formula says itself whether there is one", intercept=intercept or None)
        return _formula_covariates(formula, data, whole)
    if data is None:
        return DesignMatrix(pd.DataFrame(index=range(rows)), intercept=True)
    check_rows(len(data), rows, "data", "row", "reports")
    frame = data.set_axis([str(name) for name in data.columns], axis=1)
    return DesignMatrix(frame, intercept, whole)


# -- rows and values of people -------------------------------------------------------------------


def whole_rows(missing: str, absent: Mapping[str, Booleans], rows: int) -> Booleans:
    """(rows,) those that are used.

    missing : "raise" or "drop", what to do where something is missing.
    absent : for each thing that rows need, where it is missing.
    """
    check_one_of(missing, "missing", ("raise", "drop"))
    gaps = {name: where for name, where in absent.items() if where.any()}
    if gaps and missing == "raise":
        told = ", ".join(f"{where.sum()} in {name}" for name, where in gaps.items())
        raise ArgumentValueError(
            f"some of the {rows} rows have missing values: {told}; missing='drop' leaves these "
            "rows out (then the fit speaks of the others only)"
        )
    return np.asarray(~np.logical_or.reduce([np.zeros(rows, dtype=np.bool_), *gaps.values()]))


def column_or_values(given: Any, data: Any, rows: int, name: str, *beside: Any) -> Any:
    """A column of data by its name, or values as they are; checked for length and index.

    beside : data and outcome, where these have labels of rows.
    Raises ArgumentValueError for reports, which are not what people are.
    """
    if given is None:
        return None
    given = column_of(data, given) if isinstance(given, str) else given
    for other in beside:
        check_aligned(other, given, name)
    refuse_reports(given, name, "give a column that was not privatized")
    found = len(given) if hasattr(given, "__len__") else "something else"
    check_rows(found, rows, name)
    return given


def check_ordinary(frame: ReportFrame, names: Iterable[Hashable]) -> None:
    """Raise MetadataError where a column that would be taken as it stands may hold reports."""
    for name in names:
        with contextlib.suppress(TypeError):  # cells without a hash are no labels: said later
            frame.refuse_renamed(name)


def offset_of(offset: Any, data: Any, rows: int) -> Any:
    """The (rows,) offset of profiles: a number, values or a column of data; None stays None."""
    if offset is None:
        return None
    scalar = not isinstance(offset, str) and np.ndim(offset) == 0
    given = [offset] * rows if scalar else offset
    labels = labelled(data)
    frame = None if labels is None else table_of(data)
    return numbers(column_or_values(given, frame, rows, "offset", labels), "offset", rows)
