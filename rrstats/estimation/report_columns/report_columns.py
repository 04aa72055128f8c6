"""Columns for analysis: the only way from data to columns of reports and of ordinary values.

A `ReportColumn` is one column, read as codes of the cells that a tally counts.  The channel of a
mechanism relates the cells of a private column to the true answer; an ordinary column holds true
values.  Groups, tables, tests and regressions all read columns here, in blocks, so that they treat
both kinds alike and hold only codes.
A column is private if a mechanism is given for it or its data have a record of one; all other
columns are ordinary.  Values by themselves are opened by `report_column`, columns of frames by
`ReportFrame`, and pieces of files by `opened_column`.  `ReportSource.mechanism` makes the mechanism
of a column from its record, from the arguments, or from both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from rrstats._checks import FROM_COUNTS, check_rows
from rrstats._typing import Array, Booleans, Counts, Floats, Indices, Labels, RateLike
from rrstats.data.categories import PublicCategories
from rrstats.data.codecs import codec_of, open_reports
from rrstats.data.columns import aligned, is_by_row, open_column
from rrstats.data.encoders import Encoded, Reader, reader
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    UnknownAnswersError,
)
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.channel import Channel, recode_matrix, transition_matrix
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.krr import (
    KRR,
    MechanismLike,
    RowRates,
    as_mechanism,
    no_common_channel,
)
from rrstats.mechanisms.records import (
    ColumnRecord,
    asked_labels,
    check_most,
    find,
    read,
)
from rrstats.mechanisms.samples import Samples, by_row, sample_codes

ALL = slice(None)

_MAX_PROBS = 100
"""Maximum number of different probabilities of the rows of a column in a table."""


class ReportModel:
    """Base of one column with ``categories`` and a ``mechanism``: what its cells tell of them.

    The mechanism of an ordinary column is None: its cells are its levels, and tell themselves.
    """

    @property
    def k(self: Any) -> int:
        """The number of categories, or of levels."""
        return len(self.categories)

    @property
    def channel(self: Any) -> Channel | None:
        """P(report | truth); None for an ordinary column."""
        return None if self.mechanism is None else self.mechanism.channel

    @property
    def is_multinomial(self) -> bool:
        """True where each row falls into one cell."""
        return self.channel is None or self.channel.is_multinomial

    @property
    def m(self) -> int:
        """The number of cells, or of categories that a report may name."""
        return self.k if self.channel is None else len(self.channel.samples)

    @property
    def score_table(self) -> Floats:
        """(m, k) the scores of each cell."""
        return np.eye(self.k) if self.channel is None else self.channel.scores(np.arange(self.m))

    @property
    def likelihood_table(self) -> Floats:
        """(m, classes) P(cell | latent class)."""
        return np.eye(self.k) if self.channel is None else transition_matrix(self.channel)

    @property
    def recode(self) -> Floats:
        """(k, classes) 1 where a latent class belongs to a category."""
        return np.eye(self.k) if self.channel is None else recode_matrix(self.channel)


@dataclass(frozen=True, eq=False)
class ReportColumn(ReportModel):
    """One column for analysis, opened but not yet read; rows of several go together by position.

    name : of the column, or None.  categories : the k true answers; of an ordinary column its
        levels.  rows : its length.
    cells, reader : the column, and what codes some of it.
    mechanism : what made its reports; None for an ordinary column.
    rates : the prob of each row, where it differs; there is then no `channel`.
    samples : (rows,) the sample of each report; None where there is one.
    times : (rows,) how many rows of the data each stands for; None where that is 1.
    plan : of the frame, as in its record: rows without a report were not asked.
    pair : the names of two columns that a plan asked together, and their joint mechanism.
    assigned : (rows,) where a plan asked for it, as its public column says; else None.
    public : (rows,) the public column of its plan, where that is given; else None.
    """

    name: Hashable
    categories: Labels
    rows: int
    cells: Any
    reader: Reader
    mechanism: Mechanism | None = None
    rates: RowRates | None = None
    samples: Indices | None = None
    times: Counts | None = None
    plan: FramePlan | None = None
    pair: tuple[Labels, KRR] | None = None
    assigned: Booleans | None = None
    public: Any = None

    @property
    def size(self) -> int:
        """The number of rows of the data."""
        return self.rows if self.times is None else int(self.times.sum())

    @property
    def channel(self) -> Channel | None:
        """P(report | truth); None for an ordinary column."""
        if self.rates is not None:
            raise no_common_channel()
        return None if self.mechanism is None else self.mechanism.channel

    @property
    def private(self) -> bool:
        """True where the column holds reports."""
        return self.mechanism is not None

    @property
    def has_cells(self) -> bool:
        """True where each row falls into one cell of a common channel; others have scores."""
        return self.rates is None and self.is_multinomial

    def read(self, part: slice) -> Encoded:
        """The reports of some rows, coded; of a plan, where it asked for them."""
        encoded = self.reader(self.cells[part])
        if self.assigned is None or self.mechanism is None:
            return encoded
        in_plan = self.assigned[part]
        domain = self.mechanism.domain
        absent = encoded.codes == domain.absent_code
        no_answers = domain.missing_code is None  # a missing one is no report where asked
        others = absent == in_plan if no_answers else ~(absent | in_plan)
        if others.any():
            raise MetadataError(
                f"column {self.name!r} of a plan has reports in other rows than were asked for it: "
                "the public column says that other rows were asked; use the columns as they were "
                "released (nothing filled)"
            )
        if no_answers:
            return encoded
        return Encoded.of(np.where(in_plan, encoded.codes, domain.k + 1), domain.k)

    def present(self, encoded: Encoded, part: slice) -> Array:
        """The reports among some rows, without what is unknown or missing, for the channel."""
        outside = encoded.outside
        codes = np.delete(encoded.codes, outside, axis=0) if outside.size else encoded.codes
        if self.samples is None:
            return codes
        samples = np.delete(self.samples[part], outside)
        return cast(Samples, self.mechanism).cells(codes, samples)

    def flat(self, codes: Array) -> tuple[Any, Indices]:
        """Of which report each cell is, all where each report has one; and the cells."""
        codec = None if self.mechanism is None else codec_of(self.mechanism.report_space)
        if codec is None or codec.is_label:
            return ALL, codes.astype(np.intp, copy=False)
        reports, cells = np.nonzero(codec.decode(codes))
        return (ALL if self.is_multinomial else reports), cells

    def unknown(self, encoded: Encoded, part: slice) -> int:
        """The number of reports, among some rows, that the mechanism cannot have made."""
        if self.times is None or not encoded.unknown:
            return encoded.unknown
        times = self.times[part]
        return int(times[encoded.outside].sum() - times[encoded.absent].sum())

    def refuse(self, unknown: int) -> None:
        """Raise UnknownAnswersError for reports that the mechanism cannot have made."""
        if unknown and self.mechanism is not None:
            space = self.mechanism.report_space
            what = "categories" if space == self.mechanism.domain else "possible reports"
            hint = "give the mechanism that made them (were they privatized?)"
            if unknown == self.size and self.m == 2:
                hint += (
                    "; labels of the reports of a survey belong to its design, as in "
                    "rr.surveys.crosswise(..., reports=['different', 'same'])"
                )
            if unknown == self.size == self.m:
                hint = f"counts of reports go to {FROM_COUNTS}"
            raise UnknownAnswersError(
                f"{unknown} of {self.size} reports are not among the {what} "
                f"{space.describe()}; {hint}"
            )

    def codes(self, part: slice = ALL) -> Indices:
        """(rows,) the cell of each row, and m where it is missing."""
        if not self.is_multinomial:
            raise ArgumentValueError(
                "a report that names several categories has no single cell; use scores"
            )
        return self._values(part, self.m, lambda codes: self.flat(codes)[1])

    def scores(self, part: slice = ALL) -> Floats:
        """(rows, k) unbiased values of the categories' indicators; NaN where it is missing."""
        if self.rates is not None:
            return self._by_rates(part, self.rates.scores)
        channel = self.channel
        evaluate = self._indicators if channel is None else channel.scores
        return self._values(part, np.nan, lambda codes: evaluate(self._decoded(codes)))

    def likelihood(self, part: slice = ALL) -> Floats:
        """(rows, classes) P(report | truth) up to a factor by row; NaN where it is missing."""
        if self.rates is not None:
            return self._by_rates(part, self.rates.likelihood)
        channel = self.channel
        evaluate = self._indicators if channel is None else channel.likelihood
        return self._values(part, np.nan, lambda codes: evaluate(self._decoded(codes)))

    def _by_rates(self, part: slice, evaluate: Callable[[Array, slice], Floats]) -> Floats:
        """(rows, k) values of rows whose prob differs; NaN where a report is missing."""
        encoded = self.read(part)
        self.refuse(self.unknown(encoded, part))
        values = evaluate(encoded.codes, part)
        values[encoded.outside] = np.nan
        return values

    @property
    def recode(self) -> Floats:
        """(k, classes) 1 where a latent class belongs to a category; k-RR has no such classes."""
        return np.eye(self.k) if self.rates is not None else super().recode

    def missing(self) -> Booleans:
        """(rows,) where nothing was reported."""
        return self._values(ALL, True, lambda codes: np.zeros(len(codes), dtype=np.bool_))

    def _decoded(self, codes: Array) -> Array:
        """Present reports as a channel takes them; levels of an ordinary column as they are."""
        if self.mechanism is None:
            return codes
        return codec_of(self.mechanism.report_space).decode(codes)

    def _indicators(self, codes: Array) -> Floats:
        """(rows, k) 1 where a row has a level."""
        return np.asarray(codes[:, None] == np.arange(self.k), dtype=np.float64)

    def _values(self, part: slice, absent: float, evaluate: Callable[[Array], Array]) -> Array:
        """(rows, ...) values of the rows with a report, in their places; others are absent."""
        encoded = self.read(part)
        self.refuse(self.unknown(encoded, part))
        values = np.asarray(evaluate(self.present(encoded, part)))
        outside = encoded.outside
        if not outside.size:
            return values
        rows = len(encoded.codes)
        filled = np.full((rows, *values.shape[1:]), absent, dtype=values.dtype)
        filled[np.delete(np.arange(rows), outside)] = values
        return filled


# -- one column of reports -------------------------------------------------------------------


class Resolved(NamedTuple):
    """Mechanism of reports, the sample of each, and the prob of each row."""

    mechanism: Mechanism
    group: Any = None
    rates: RowRates | None = None


class ReportSource(NamedTuple):
    """Name and record of a column of reports.

    name : of the column, or None.  record : its record, or None.
    recorded : the names of all columns of which the data have a record.
    columns : the columns of the data, if they are a frame.  engine : its engine; empty for pandas.
    """

    name: Hashable = None
    record: ColumnRecord | None = None
    recorded: Collection[Hashable] = ()
    columns: Collection[Hashable] = ()
    engine: str = ""

    @classmethod
    def of(cls, values: Any) -> ReportSource:
        """The source of values in any container; a Series of pandas has metadata."""
        name = getattr(values, "name", None)
        attrs = getattr(values, "attrs", None)
        records = records_of(attrs) if attrs else {}
        library = type(values).__module__.partition(".")[0]
        engine = library if library == "polars" else ""
        return cls(name, records.get(name) if records else None, records, engine=engine)

    def group(self, group: Any) -> Any:
        """The column of the samples of rows: the one that is given, or the public one of a plan."""
        plan = None if self.record is None else self.record.plan
        return group if plan is None else plan.asked

    def mechanism(
        self, mechanism: Any, prob: float | None = None, epsilon: float | None = None
    ) -> Mechanism:
        """The mechanism of reports: from the arguments, from their record, or both.

        Raises ArgumentTypeError if there is neither, MetadataError if they disagree.
        """
        arguments = (mechanism, prob, epsilon)
        if all(argument is None for argument in arguments):
            if self.record is None:
                raise self._unrecorded()
            return self.record.resolve()
        described = as_mechanism(*arguments)
        return described if self.record is None else self.record.resolve(described)

    def _unrecorded(self) -> ArgumentTypeError:
        """The error of reports without a record and without a mechanism."""
        if self.name is None and not self.recorded:
            return ArgumentTypeError(
                "these reports have no record of their mechanism; give it, as categories with prob "
                "or epsilon, or as a mechanism (of true answers rr.surveys.direct(categories))"
            )
        where = "this column" if self.name is None else f"column {self.name!r}"
        if self.engine:
            return ArgumentTypeError(
                f"{where} has no record of its mechanism, which {self.engine} does not keep.  For "
                "reports give the mechanism, as in rr.estimate(frame, mechanism, columns="
                f"{self.name!r}), or read the file with rr.files.read(path).  "
                "True answers: rr.surveys.direct(categories)"
            )
        gone = [name for name in self.recorded if name not in self.columns]
        if gone and len(self.columns):
            return ArgumentTypeError(
                f"{where} has no record of its mechanism, and the frame records a column "
                f"{gone[0]!r} that is not there.  If this is it under a new name: df = "
                f"df.rr.carry(names={{{gone[0]!r}: {self.name!r}}}); otherwise give the mechanism"
            )
        if self.recorded:
            others = list(self.recorded)
            return ArgumentTypeError(
                f"{where} has no record of its mechanism; the records are of {others}.  If it "
                "holds reports, give their mechanism; of a copy of a recorded column it is "
                f"df.rr.mechanisms[{others[0]!r}]"
            )
        return ArgumentTypeError(
            f"{where} has no record of its mechanism: merge, join, concat, assign and read_csv "
            "lose it.  For reports give the mechanism, or df = df.rr.carry(released), with "
            f"names={{reports.name: {self.name!r}}} for a Series, or df = rr.files.read(path).  "
            "True answers: rr.surveys.direct(categories)"
        )


def records_of(attrs: Mapping[Any, Any]) -> dict[Hashable, ColumnRecord]:
    """The records in the attrs of a frame or Series, by the name of the column."""
    return {record.name: record for record in read(attrs)}


def report_column(
    values: Any,
    mechanism: MechanismLike | None = None,
    prob: RateLike | None = None,
    epsilon: RateLike | None = None,
    *,
    group: Any = None,
    times: Counts | None = None,
    name: Hashable = None,
) -> ReportColumn:
    """A private column from values by themselves; the arguments are those of `tally`.

    name : by default that of a Series.

    >>> import rrstats as rr
    >>> column = report_column(["yes", None, "no"], ["no", "yes"], 0.75)
    >>> column.codes(), column.score_table.tolist()
    (array([1, 2, 0]), [[1.5, -0.5], [-0.5, 1.5]])
    """
    source = ReportSource.of(values)
    resolved = resolved_mechanism(values, source, (mechanism, prob, epsilon), group)
    name = source.name if name is None else name
    return opened_column(values, name, source.record, resolved, times=times)


def resolved_mechanism(
    values: Any, source: ReportSource, arguments: tuple[Any, Any, Any], group: Any
) -> Resolved:
    """Resolve the mechanism of reports from the arguments and their record.

    arguments : mechanism, prob and epsilon, each of which may be a column.
    """
    mechanism, prob, epsilon = arguments
    columns = {"mechanism": mechanism, "prob": prob, "epsilon": epsilon, "group": group}
    aligned(values, columns.items())
    if mechanism is not None and not is_mechanism(mechanism):
        by_rows = _mechanism_of_rows(values, mechanism)
        if by_rows is not None:
            mechanism, group = by_rows
    if is_by_row(prob) or is_by_row(epsilon):
        rates = _row_rates(values, source.record, (mechanism, prob, epsilon))
        return Resolved(rates.base, group, rates)
    return Resolved(source.mechanism(mechanism, prob, epsilon), group)


def opened_column(
    values: Any,
    name: Hashable,
    record: ColumnRecord | None,
    resolved: Resolved,
    *,
    times: Counts | None = None,
) -> ReportColumn:
    """A column of reports of which it is known how they were made."""
    mechanism, group, rates = resolved
    container, reader = open_reports(values, mechanism.report_space)
    plan = None if record is None else record.plan
    column = ReportColumn(
        name,
        mechanism.categories,
        container.rows,
        container.cells,
        reader,
        mechanism,
        rates,
        times=times,
        plan=plan,
        public=None if plan is None else group,
    )
    hides = mechanism.domain.missing_code is not None  # what was not asked looks like a report
    if record is not None and plan is not None and (hides or group is not None):
        column = replace(column, assigned=_assigned(record, group, column.rows))
    if mechanism.groups is None and (group is None or plan is not None):
        return column
    assigned = column.assigned
    absent = column.missing if assigned is None else lambda: ~assigned
    samples = sample_codes(mechanism, group, column.rows, absent=absent)
    return replace(column, samples=samples)


def _assigned(record: ColumnRecord, group: Any, rows: int) -> Booleans:
    """(rows,) where a plan asked for a column, from its public column."""
    if group is None:
        raise ArgumentTypeError(
            f"a missing report of column {record.name!r} may be an answer or a row that its plan "
            f"did not ask: give the frame, which says it in {record.plan and record.plan.asked}"
        )
    labels = open_column(group)
    check_rows(labels.rows, rows, "group", "label", each="reports")
    labels_of_column = PublicCategories(asked_labels(record))
    encoded = reader(labels_of_column, labels.cells)(labels.cells)
    return np.asarray(encoded.codes < labels_of_column.k)


def _row_rates(
    values: Any, record: ColumnRecord | None, arguments: tuple[Any, Any, Any]
) -> RowRates:
    """The prob of each row of reports; their record, if any, may name the categories.

    arguments : categories, prob and epsilon.
    """
    categories, prob, epsilon = arguments
    if record is not None and categories is None:
        categories = record.largest().domain.declared
    rates = RowRates.of(categories, open_column(values).rows, prob=prob, epsilon=epsilon)
    if record is not None and record.by_row is None:
        record.resolve(rates.base)  # raises
    elif record is not None:
        record.largest(KRR(rates.base.domain.declared, record.mechanism.get("prob")))
        if len(rates.probs):
            check_most(record, rates.base.prob)
    return rates


def _mechanism_of_rows(values: Any, mechanism: Any) -> tuple[Mechanism, list[int] | None] | None:
    """One mechanism, and the sample of each row, for a column of mechanisms; None for no column."""
    if isinstance(mechanism, pd.Series | np.ndarray):
        mechanism = mechanism.tolist()
    if not isinstance(mechanism, list | tuple) or not any(map(is_mechanism, mechanism)):
        return None
    rows = open_column(values).rows
    if len(mechanism) != rows or not all(map(is_mechanism, mechanism)):
        absent = sum(not is_mechanism(item) for item in mechanism)
        raise ArgumentValueError(
            f"a column of mechanisms must have one for each of the {rows} reports, found "
            f"{len(mechanism)}, {absent} of them no mechanism"
        )
    return by_row(mechanism)


def by_samples(column: ReportColumn) -> ReportColumn:
    """A column whose prob differs by row as one of several samples, one of each prob."""
    if column.rates is None:
        return column
    column.rates.check_informative(every=True)
    probs, samples = np.unique(column.rates.probs, return_inverse=True)
    if len(probs) > _MAX_PROBS:
        raise ArgumentValueError(
            f"column {column.name!r} of a table must have at most {_MAX_PROBS} different "
            f"probabilities, whose reports are counted apart, found {len(probs):,}; privatize with "
            "rounded ones, or estimate the columns alone, by= the ordinary ones"
        )
    declared = column.rates.base.domain.declared
    if not len(probs):
        return replace(column, mechanism=column.rates.base, rates=None)
    mechanisms = {prob: KRR(declared, prob) for prob in probs.tolist()}
    if len(mechanisms) == 1:
        return replace(column, mechanism=next(iter(mechanisms.values())), rates=None)
    return replace(column, mechanism=Samples(mechanisms), rates=None, samples=samples)


# -- ordinary columns ------------------------------------------------------------------------


def refuse_reports(column: Any, name: str, way: str) -> None:
    """Raise ArgumentValueError for a Series that says that it holds reports.

    name : of the argument, which takes ordinary values.  way : what to do instead.
    """
    if isinstance(column, pd.Series) and find(column.attrs, column.name) is not None:
        raise private_argument(column.name, name, way)


def numbers_reported(column: Any) -> tuple[Any, bool]:
    """Reports of a number as ordinary values, whose mean is that of the answers; and whether so."""
    if isinstance(column, pd.Series):
        record = find(column.attrs, column.name)
        if record is not None and record.is_number:
            return pd.Series(column.array, column.index, name=column.name), True
    return column, False


def check_squares(columns: Iterable[ReportColumn], what: str) -> None:
    """Raise for a number whose random rounding inflates its squares.

    what : the results that need them.
    """
    for column in columns:
        domain = None if column.mechanism is None else column.mechanism.domain
        if domain is not None and not domain.holds_integers:
            raise ArgumentValueError(
                f"{what} need the squares of the numbers in column {column.name!r}, which random "
                f"rounding to {domain.k} points inflates: privatize it with a point for each "
                "integer, as rr.number(0, 10) has, or rr.number(low, high, points=high - low + 1) "
                "for integers, of at most 100 points"
            )


def private_argument(column: Hashable, name: str, way: str) -> ArgumentValueError:
    """The error of a privatized column as an argument that takes ordinary values."""
    return ArgumentValueError(
        f"{name} must be ordinary values, found reports of the privatized column "
        f"{column!r}, which are not true values: {way}; to use the reports as values give "
        f"{name}.to_numpy()"
    )


def ordinary(values: Any, *, name: Hashable = None) -> ReportColumn:
    """A column that stands as it is: of a Categorical its categories, else its sorted values.

    Values that do not compare keep the order in which they come.  Missing ones stay missing.

    >>> ordinary(["south", None, "north"]).categories
    ('north', 'south')
    """
    if isinstance(values, ReportColumn):
        return values
    column = _series(values)
    label = column.name if name is None else name
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _leveled(label, column.cat.codes.to_numpy(), column.cat.categories)
    for sort in (True, False):  # values that have no order keep that of the rows
        with suppress(TypeError):
            return _leveled(label, *pd.factorize(column, sort=sort))
    raise ArgumentTypeError(
        "an ordinary column must hold hashable values, such as texts and numbers, found others, "
        "such as lists"
    )


def _leveled(name: Hashable, codes: Array, levels: pd.Index[Any]) -> ReportColumn:
    """An ordinary column, by its codes; -1 is missing."""
    reader = partial(_read_levels, len(levels))
    return ReportColumn(name, tuple(levels.tolist()), len(codes), codes, reader)


def _read_levels(k: int, codes: Array) -> Encoded:
    """Codes of an ordinary column, of which -1 is missing."""
    level_codes = codes.astype(np.intp)
    level_codes[level_codes < 0] = k + 1
    return Encoded.of(level_codes, k)


def _series(values: Any) -> pd.Series[Any]:
    """Ordinary values in pandas; what stands under a mask is missing."""
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if isinstance(values, pd.Series):
        return values
    if getattr(values, "ndim", 1) != 1 or isinstance(values, str | Mapping | set):
        raise ArgumentTypeError(
            f"an ordinary column must be values along one axis, found {type(values).__name__}"
        )
    cells: Any = values if hasattr(values, "dtype") else list(values)
    return pd.Series(cells, dtype=None if len(cells) else object)
