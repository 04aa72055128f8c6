"""Covariates as a named matrix of numbers, from a formula or from columns as they stand.

`covariates` opens the data, and `complete_rows` says which rows miss nothing.
`DesignMatrix.evaluated` makes the matrix of the rows that are used, and `DesignMatrix.again` the
same columns of another frame: with the levels, means and knots of the fit, so that predictions mean
what the coefficients do.
Arrays are taken as they stand, after an intercept; a formula has one unless it says ``- 1``.
A formula is a program: formulaic evaluates it, and so does this module, with all that Python can
do; never take a formula from somebody else.
Columns of reports never come here: private covariates are made of their categories alone.
Source: formulaic (Wilkinson's notation), imported here when a formula is given.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import check_one_of, check_rows, needing
from rrstats._names import nearest
from rrstats._typing import Booleans, Floats
from rrstats.data.columns import aligned, blocks, column_of, numbers
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.report_columns.report_columns import refuse_reports
from rrstats.estimation.report_columns.report_frames import ReportFrame
from rrstats.mechanisms.records import KEY, find, write

BLOCK = 16_384
"""Rows worked on at once, so that what is computed of them stays in cache."""

_COLLINEAR = 1e-9
"""Columns of length 1 have a combination this short: the covariates say the same twice."""

_INVOLVED = 1e-6
"""Coefficient of a column in such a combination from which on an error names it."""

_MAX_LISTED = 12
"""Covariates that an error names."""

_FACTOR_ROWS = 50
"""Of more rows a factor must have at most half as many levels."""

_TRANSPOSED_ROWS = 4096
"""Rows that are transposed at once, so that they stay in cache."""

_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d[\d.]*""")
"""What may be a cell in the message of another library: a quoted text, or a number."""

_WORDS = re.compile(r"""'[^']*'|"[^"]*"|\w+|\d[\d.]*""")
"""The words and quoted texts of a formula."""

_WITHOUT_CELLS = (NameError, SyntaxError, AttributeError, TypeError)
"""Errors whose messages name variables and types, but quote no cell."""


def orthonormal(matrix: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Orthogonal columns of mean square 1 that span the covariates, and their transformation.

    The transformation (p, p) makes coefficients of the covariates from those of the columns.
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
        is_involved = np.abs(short).max(axis=0) > _INVOLVED
        involved = [name for name, is_in in zip(names, is_involved, strict=True) if is_in]
        raise ArgumentValueError(
            f"the covariates {by_source(involved)} are collinear, or 0, over the {rows} rows, so "
            f"their coefficients cannot be told apart; leave {count} out"
        )
    return lengths, sizes[::-1], directions[::-1]


def source_of(name: str) -> str:
    """Source of a column of a design, without the level, which is a cell of the data."""
    return name.partition("[")[0] or name


def by_source(names: Iterable[str]) -> list[str]:
    """Columns of a design for an error: of factors their name and how many, and not too many."""
    names = list(names)
    counts = Counter(map(source_of, names))
    factors = {source_of(name) for name in names} - set(names)
    sources = []
    for source, count in counts.items():
        if source not in factors:
            sources.append(source)
        else:
            sources.append(f"{source} ({count} {'columns' if count > 1 else 'column'})")
    more = len(sources) - _MAX_LISTED
    return [*sources[:_MAX_LISTED], f"{more} more"] if more > 1 else sources


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
    keep_levels : columns that keep all their categories; others lose those that no row has.
    terms : of a formula, or its model specification; None for columns as they stand.
    text, columns : the formula and the columns of its data, for errors.
    plain : columns that the formula uses as they stand.  factors : those used as ``C(column)``
    alone.  jumps : columns in a transform that has no slope, and that transform.
    powers : columns in a transform with a power, which are real numbers there, as in R.
    matrix : (rows, p) finite numbers, once it is made.  names : of its p columns.
    """

    frame: pd.DataFrame
    intercept: bool = False
    keep_levels: frozenset[str] = frozenset()
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
        return {f"covariate {name!r}": rows for name, rows in columns.items() if rows.any()}

    def evaluated(self, keep: Booleans | None = None) -> DesignMatrix:
        """The design with its matrix of all rows, or of those to keep."""
        design = self if keep is None else replace(self, frame=self.frame[keep])
        matrix, names, terms = design._matrix_of(design.frame)
        if not names:
            raise ArgumentValueError("there is nothing to fit: no covariates and no intercept")
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise ArgumentValueError(f"covariates have names twice, found {by_source(twice)}")
        return replace(design, terms=terms, names=names, matrix=finite(matrix, names))

    def again(self, data: Any) -> Floats:
        """(rows, p) the same columns of other rows; NaN in rows where a value is missing.

        data : a frame that has the columns `sources`, or for arrays an array of as many columns.
        Raises ArgumentValueError for columns that are not there and levels that the fit never saw.
        """
        frame = self.framed(data)
        matrix = np.full((len(frame), len(self.names)), np.nan)
        complete = np.asarray(frame.notna().all(axis=1), dtype=np.bool_)
        if complete.any():
            self._check_levels(frame[complete])
            matrix[complete] = finite(self._matrix_of(frame[complete])[0], self.names)
        return matrix

    def ordinary(self, private: Set[str]) -> Booleans:
        """(p,) True for columns of the matrix that no privatized covariate enters."""
        columns = np.ones(len(self.names), dtype=np.bool_)
        for term in self._uses():
            columns[term.places] = term.sources.isdisjoint(private)
        return columns

    def uses_of(self, private: Set[str]) -> list[frozenset[str]]:
        """The privatized covariates in each term of the matrix."""
        return [term.sources & private for term in self._uses()]

    def learned(self, names: Set[str]) -> str | None:
        """A transform of one of these columns whose constants come from the rows, if any."""
        states = getattr(self.terms, "transform_state", None) or {}
        for term in self._uses() if states else ():
            for factor in term.term.factors:
                text = str(factor.expr)
                if not _looked_up(factor).isdisjoint(names) and any(map(text.__contains__, states)):
                    return text
        return None

    def of_categories(self, profiles: pd.DataFrame) -> dict[int, Floats]:
        """Columns that depend on privatized covariates alone, by place in the matrix.

        profiles : true categories of all privatized covariates.  Columns have a value for each of
        its rows.  A transform other than C() may use all rows of a column, so it has no place here.
        """
        private = set(profiles.columns)
        categorical = [
            term
            for term in self._uses()
            if term.by_row and term.sources and term.sources <= private
        ]
        if not categorical:
            return {}
        if self.terms is None:
            used = profiles[[name for name in self.sources if name in private]]
            matrix, names, _ = replace(self, intercept=False)._matrix_of(used)
        else:
            subset = self.terms.subset([term.term for term in categorical])
            matrix, names, _ = replace(self, terms=subset)._by_formula(profiles)
        matrix = finite(matrix, names)
        places = [place for term in categorical for place in term.places]
        return {place: matrix[:, names.index(self.names[place])] for place in places}

    def _uses(self) -> Iterator[_Term]:
        """The terms of an evaluated matrix, with the columns that each uses."""
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
            width = len(self.frame[name].cat.categories) - 1 if name in self.keep_levels else 1
            yield _Term(None, list(range(first, first + width)), frozenset({name}), True)
            first += width

    def framed(self, data: Any) -> pd.DataFrame:
        """The columns of the data that the matrix uses."""
        if isinstance(data, pd.Series) and len(self.sources) == 1:
            return data.to_frame(self.sources[0])
        frame = table_of(data, self.sources)
        return pd.DataFrame({name: called(frame, name) for name in self.sources}, index=frame.index)

    @cached_property
    def _levels(self) -> dict[str, list[Any]]:
        """The factors of a formula, and their levels in the rows of the fit."""
        levels: dict[str, list[Any]] = {}
        if self.terms is None:
            return levels
        for name in self.sources:
            is_numeric = pd.api.types.is_numeric_dtype(self.frame[name].dtype)
            if name in self.factors or not (is_numeric or name in self.keep_levels):
                with contextlib.suppress(TypeError):  # cells without a hash: formulaic says so
                    levels[name] = self.frame[name].unique().tolist()
        return levels

    def _check_levels(self, frame: pd.DataFrame) -> None:
        """Raise for levels that are not in the fit; formulaic would make them no level."""
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

    def _matrix_of(self, frame: pd.DataFrame) -> tuple[Floats, tuple[str, ...], Any]:
        """The matrix of a frame, its names, and the terms that make it again."""
        if self.terms is not None:
            return self._by_formula(frame)
        columns: list[tuple[str, Any]] = []
        if self.intercept:
            columns.append((INTERCEPT, np.ones(len(frame))))
        for place, name in enumerate(frame.columns):
            column = frame.iloc[:, place]
            kind = column.dtype
            if name in self.keep_levels:
                codes = column.cat.codes
                for code, level in enumerate(column.cat.categories):
                    if code > 0:
                        columns.append((f"{name}[T.{level}]", codes == code))
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

    def _by_formula(self, data: pd.DataFrame) -> tuple[Floats, tuple[str, ...], Any]:
        """The design matrix, names and terms of a formula by formulaic."""
        from formulaic.materializers import PandasMaterializer

        columns = {name: self._for_formulaic(data[name]) for name in data}
        frame = pd.DataFrame(columns, index=data.index)
        if not frame.shape[1]:  # only an intercept: formulaic takes the length from a column
            frame[INTERCEPT] = np.zeros(len(frame))
        if not self.names:
            self._check_factors()
        refused = None
        try:
            with np.errstate(all="ignore"):  # log(0): `finite` says so
                model_matrix = PandasMaterializer(frame).get_model_matrix(
                    self.terms, na_action="ignore", output="numpy"
                )
                matrix = np.asarray(model_matrix, dtype=np.float64)
        except Exception as error:  # a formula is code, and may raise anything
            refused = self._refused(error, frame)
        if refused is not None:  # without the other error as its context, which may quote a cell
            raise refused
        spec = model_matrix.model_spec
        names = tuple(map(str, spec.column_names))
        return matrix.reshape(len(frame), len(names)), names, spec

    def _refused(self, error: Exception, frame: pd.DataFrame) -> ArgumentValueError:
        """An error that names the factor and formulaic's reason, with the next step."""
        match = re.match(r"Unable to evaluate factor `(.*?)`\. \[", str(error))
        factor = ""
        cause: BaseException = error
        if match:
            factor = match[1]
            cause = error.__cause__ or error
        where = f" at the factor '{factor}'" if factor else ""
        kinds = ", ".join(f"{name!r} of type {kind}" for name, kind in frame.dtypes.items())
        hint = f"its columns are {kinds[:400]}"
        if isinstance(cause, NameError):
            quoted = re.search(r"'(\w+)'|`(.+?)`", str(cause))
            name = (quoted[1] or quoted[2]) if quoted else ""
            hint = f"the columns are {list(self.columns[:20])}"
            near = nearest(name, self.columns)
            if near is not None:
                hint = f"did you mean {near!r}? {hint}"
        reason = f"{type(cause).__name__}: {self._without_cells(cause)}"
        return ArgumentValueError(
            f"the formula '{self.text}' cannot be made of these columns{where} ({reason}); "
            f"{_r_hint(factor) or hint}"
        )

    def _without_cells(self, cause: BaseException) -> str:
        """The first line of another library's error, without texts and numbers of cells.

        Words of the formula and names of columns stay.
        """
        first_line = next(iter(str(cause).splitlines()), "")
        if isinstance(cause, _WITHOUT_CELLS):
            return first_line
        public = {*_WORDS.findall(self.text), *map(str, self.columns)}

        def word_of_formula(quoted: re.Match[str]) -> str:
            return quoted[0] if {quoted[0], quoted[0].strip("'\"")} & public else "..."

        return _QUOTED.sub(word_of_formula, first_line)

    def _for_formulaic(self, column: pd.Series[Any]) -> pd.Series[Any]:
        """A column of a type that formulaic reads; it has no missing values."""
        kind = pd.api.types.infer_dtype(column, skipna=False)
        if column.name in self.plain and kind.startswith(("date", "time", "period", "complex")):
            raise ArgumentTypeError(
                f"covariate {column.name!r} must hold numbers or texts, found a column of type "
                f"{column.dtype}; make a number of it first, such as days or years"
            )
        if isinstance(column.dtype, pd.CategoricalDtype):
            if column.name in self.keep_levels:
                return column
            return column.cat.remove_unused_categories()
        if kind == "decimal":
            return column.astype(np.float64)
        if column.dtype.kind in "iu":  # in int8 60**2 is 16
            is_wide = column.name in self.powers or column.max() >= 1 << 63
            return column.astype(np.float64 if is_wide else np.int64)
        if isinstance(column.dtype, np.dtype | pd.PeriodDtype | pd.DatetimeTZDtype):
            return column
        values = column.to_numpy(dtype=object, na_value=np.nan)
        objects = pd.Series(values, column.index, dtype=object)
        if pd.api.types.infer_dtype(objects) == "string":
            return objects
        return objects.infer_objects()


def table_of(data: Any, names: Sequence[str] = ()) -> pd.DataFrame:
    """Data as a frame; a Series and a mapping of columns with their metadata.

    names : of the columns of an array, by default x1, x2, ...
    """
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pd.Series):
        data = {"x1" if data.name is None else data.name: data}
    if isinstance(data, Mapping):
        return _frame_of_columns(data)
    if np.ma.isMaskedArray(data):  # a plain array would have the values behind the mask
        data = np.ma.filled(data.astype(np.float64), np.nan)
    table = np.asarray(data)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not (np.issubdtype(table.dtype, np.number) or table.dtype == np.bool_):
        raise ArgumentTypeError(
            "data must be a frame, or an array of numbers with a row for each report, found "
            f"{type(data).__name__} of {table.dtype} with {table.ndim} axes"
        )
    columns = list(names) or [f"x{place + 1}" for place in range(table.shape[1])]
    transposed = np.empty(table.shape[::-1], dtype=table.dtype)
    for part in blocks(len(table), _TRANSPOSED_ROWS):  # in cache, which pandas does not
        transposed[:, part] = table[part].T
    return pd.DataFrame(transposed.T, columns=columns, copy=False)


def _frame_of_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    """Columns as a frame, with the metadata of those that are Series."""
    frame = pd.DataFrame(dict(columns))
    records = []
    for name, column in columns.items():
        record = find(column.attrs, column.name) if isinstance(column, pd.Series) else None
        if record:
            records.append(replace(record, name=name))
    if records:
        frame.attrs[KEY] = write(records)
    return frame


def labelled(data: Any) -> pd.Series[Any] | None:
    """A column with the labels of the rows; None for an array."""
    if not isinstance(data, pd.DataFrame | pd.Series | Mapping):
        return None
    return table_of(data).index.to_series()


def called(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """The column of that name, or the one whose label has that text (2020, a pair)."""
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


class Sides(NamedTuple):
    """A formula that was parsed: its text, the column of the outcome and the terms on the right."""

    text: str
    outcome: str
    terms: Any


def _formula_covariates(
    formula: Sides, data: pd.DataFrame, keep_levels: frozenset[str]
) -> DesignMatrix:
    """The right side of a formula over a frame.

    keep_levels : columns that keep all their categories; others lose those that no row has.
    """
    text, outcome, terms = formula
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
        keep_levels=keep_levels,
        terms=terms,
        text=text.partition("~")[2].strip(),
        columns=tuple(map(str, data.columns)),
        plain=frozenset(name for name, plain, _ in uses if plain),
        factors=frozenset(used) - other,
        jumps={name: text for name, plain, text in uses if not (plain or _is_smooth(text))},
        powers=frozenset(name for name, _, text in uses if "**" in text),
    )


_R_WORDS = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|\^|[\w.]++(?!\()")


def from_r(formula: str, columns: Iterable[Any]) -> str:
    """A formula with ``**`` for ``^`` (xor in Python), and dotted names in backticks."""
    dotted = {name for name in map(str, columns) if "." in name and name[0].isalpha()}
    spelled = {"^": "**"} | {name: f"`{name}`" for name in dotted}
    return _R_WORDS.sub(lambda word: spelled.get(word[0], word[0]), formula)


_R_SPELLINGS = (
    (r"\bfactor\(", "a factor is C(column), and not factor() or as.factor()"),
    (r"\b(ns|s)\(", "a natural spline is cr(column, df=4), and a B-spline bs(column, df=4)"),
    (r"offset\(", "an offset is the argument offset="),
    (r"\([^)]*\|", "random intercepts, as in 'y ~ x + (1 | g)', are those of rr.regression.mixed"),
    (r"\|", "classes that nobody saw are explained after | in rr.logit and rr.linear alone"),
)
"""Signs of terms that are spelled otherwise in R, and the next step."""


def _r_hint(text: str) -> str:
    """The next step for a term that is spelled as in R; empty for other texts."""
    return next((step for sign, step in _R_SPELLINGS if re.search(sign, text)), "")


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


def sides(formula: str) -> Sides:
    """Parse a formula: the column on its left, and the terms on its right."""
    with needing(_NO_FORMULAS):
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    for sign, problem in _UNREADABLE:
        if re.search(sign, formula):
            raise ArgumentValueError(f"'{formula}' {problem}")
    try:
        parsed = Formula(formula)
    except (FormulaicError, SyntaxError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        hint = _r_hint(formula) or f"write one as {_EXAMPLE}"
        raise ArgumentValueError(f"'{formula}' is no formula ({reason}); {hint}") from None
    left = getattr(parsed, "lhs", None)
    right = getattr(parsed, "rhs", None)
    factors = [factor for term in left or () for factor in term.factors]
    is_column = len(factors) == 1 and factors[0].eval_method.value == "lookup"
    if not is_column or right is None or isinstance(right, tuple):
        raise ArgumentValueError(
            f"'{formula}' must have the name of the column of the outcome on its left, and "
            f"covariates on its right, as in {_EXAMPLE}; names with spaces stand in backticks"
        )
    return Sides(formula, str(factors[0].expr), right)


def _looked_up(factor: Any) -> set[str]:
    """Names of the values in a factor of a formula, without the functions that it calls."""
    from formulaic.utils.code import sanitize_variable_names
    from formulaic.utils.variables import get_expression_variables

    method = factor.eval_method.value
    if method == "lookup":
        return {str(factor.expr)}
    if method != "python":
        return set()
    aliases: dict[str, str] = {}
    text = sanitize_variable_names(str(factor.expr), {}, aliases)
    names = set()
    for variable in get_expression_variables(text, {}, aliases):
        if "." in variable or "value" in variable.roles:
            names.add(str(variable))
            names.add(variable.partition(".")[0])
    return names


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
    """A transform has a slope nearly everywhere, as far as its functions are in `_SMOOTH`."""
    text = re.sub("`[^`]*`", "x", expression)
    functions = re.findall(r"([\w.]+)\(", text)
    return not _JUMPS.search(text) and all(map(_SMOOTH.fullmatch, functions))


# -- columns as they stand -----------------------------------------------------------------------


def covariates(
    data: pd.DataFrame | None,
    formula: Sides | None = None,
    *,
    rows: int,
    keep_levels: Iterable[Hashable] = (),
) -> DesignMatrix:
    """Open covariates.

    data : a frame; without a formula it may be None, for an intercept only.
    formula : of which the right side is used; it says itself whether there is an intercept.
    rows : how many there must be.
    keep_levels : columns that keep all their categories.
    """
    names = frozenset(map(str, keep_levels))
    if data is None:
        return DesignMatrix(pd.DataFrame(index=range(rows)), intercept=True)
    if formula is not None:
        return _formula_covariates(formula, data, names)
    check_rows(len(data), rows, "data", "row", each="reports")
    frame = data.set_axis([str(name) for name in data.columns], axis=1)
    return DesignMatrix(frame, True, names)


# -- rows and values of people -------------------------------------------------------------------


def complete_rows(missing: str, missing_rows: Mapping[str, Booleans], rows: int) -> Booleans:
    """(rows,) True for rows without missing values.

    missing : "raise" or "drop", the treatment of the others.
    missing_rows : for each column (rows,) True where it is missing.
    """
    check_one_of(missing, "missing", ("raise", "drop"))
    gaps = {name: gap for name, gap in missing_rows.items() if gap.any()}
    if gaps and missing == "raise":
        counts = ", ".join(f"{gap.sum()} in {name}" for name, gap in gaps.items())
        raise ArgumentValueError(
            f"some of the {rows} rows have missing values: {counts}; missing='drop' leaves these "
            "rows out (then the fit speaks of the others only)"
        )
    return np.asarray(~np.logical_or.reduce([np.zeros(rows, dtype=np.bool_), *gaps.values()]))


def named_or_values(values: Any, data: pd.DataFrame | None, argument: str) -> Any:
    """A column of data by its name, or values as they are."""
    if not isinstance(values, str):
        return values
    if data is None:
        raise ArgumentTypeError(
            f"{argument} must be a column of values, found a name, and no data to look it up in"
        )
    return column_of(data, values)


def column_or_values(
    values: Any, data: pd.DataFrame | None, rows: int, argument: str, *labelled_rows: Any
) -> Any:
    """A column of data by its name, or values as they are; checked for length and index.

    labelled_rows : data and outcome, where these have labels of rows.
    Raises ArgumentValueError for reports, which are not what people are.
    """
    if values is None:
        return None
    values = named_or_values(values, data, argument)
    for other in labelled_rows:
        aligned(other, [(argument, values)])
    refuse_reports(values, argument, "give a column that was not privatized")
    length = len(values) if hasattr(values, "__len__") else "something else"
    check_rows(length, rows, argument)
    return values


def check_ordinary(frame: ReportFrame, names: Iterable[Hashable]) -> None:
    """Raise MetadataError where a column that would be taken as it stands may hold reports."""
    for name in names:
        with contextlib.suppress(TypeError):  # cells without a hash are no labels: said later
            frame.refuse_renamed(name)


def values_of_profiles(values: Any, data: Any, rows: int, argument: str) -> Any:
    """A column of profiles by its name, or values of the same rows; see `column_or_values`."""
    return column_or_values(values, table_of(data), rows, argument, labelled(data))


def offset_of(offset: Any, data: Any, rows: int) -> Any:
    """The (rows,) offset of profiles: a number, values or a column of data; None stays None."""
    if offset is None:
        return None
    is_number = not isinstance(offset, str) and np.ndim(offset) == 0
    values = [offset] * rows if is_number else offset
    return numbers(values_of_profiles(values, data, rows, "offset"), "offset", rows)


def offset_as_in_fit(offset: Any, data: Any, rows: int, has_offset: bool) -> Any:
    """The offset of profiles, as `offset_of`; raises unless there is one just as in the fit."""
    shift = offset_of(offset, data, rows)
    if (shift is not None) != has_offset:
        how = "is needed for data" if shift is None else "must be left out"
        raise ArgumentTypeError(f"offset {how}, as in the fit")
    return shift
