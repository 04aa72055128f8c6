"""Columns for analysis: the only way from data to columns of reports and of ordinary values.

A `ReportColumn` is one column, read as codes of the cells that a tally counts.  The channel of a
mechanism relates the cells of a private column to the true answer; an ordinary column holds true
values.  Groups, tables, tests and regressions all read columns here, in blocks, so that they treat
both kinds alike and hold only codes.
A column is private if a mechanism is given for it or its data have a record of one; all other
columns are ordinary.  Values by themselves are opened by `report_column`, columns of a frame by
`report_columns` (each for itself) and `ReportFrame.joint` (columns of the same rows).  Records are
parsed once a call (`records_of`), and `ReportSource.mechanism` makes the mechanism of a column from
its record, from the arguments, or from both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple, Protocol, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_distinct, check_rows, quote_list
from rrstats._typing import Counts, Floats, RateLike
from rrstats.data.categories import PublicCategories
from rrstats.data.codecs import codec_of, open_reports
from rrstats.data.columns import aligned, check_any_column, column_of, open_column, place_of
from rrstats.data.encoders import Encoded, Reader, reader
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    UnknownAnswersError,
)
from rrstats.estimation.report_columns.engine_frames import (
    MOST,
    EngineFrame,
    group_counts,
    is_frame,
    most_of,
    open_frame,
)
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.channel import Channel, recode_matrix, transition_matrix
from rrstats.mechanisms.krr import (
    KRR,
    MechanismLike,
    RowRates,
    as_mechanism,
    is_by_row,
    names_column,
    no_common_channel,
    rate_column,
)
from rrstats.mechanisms.plans import ASKED, PlanParts, marginal_mechanism, part_mechanism
from rrstats.mechanisms.records import (
    ColumnRecord,
    asked_labels,
    check_asked_column,
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
    asked : (rows,) where a plan asked for it, as its public column says; else None.
    frame : whose rows these are; None for values by themselves.
    """

    name: Hashable
    categories: tuple[Hashable, ...]
    rows: int
    cells: Any
    reader: Reader
    mechanism: Mechanism | None = None
    rates: RowRates | None = None
    samples: NDArray[np.intp] | None = None
    times: NDArray[np.int64] | None = None
    plan: PlanParts | None = None
    pair: tuple[tuple[Hashable, ...], KRR] | None = None
    asked: NDArray[np.bool_] | None = None
    frame: ReportFrame | None = None

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
        if self.asked is None or self.mechanism is None:
            return encoded
        in_plan = self.asked[part]
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

    def present(self, encoded: Encoded, part: slice) -> NDArray[Any]:
        """The reports among some rows, without what is unknown or missing, for the channel."""
        outside = encoded.outside
        codes = np.delete(encoded.codes, outside, axis=0) if outside.size else encoded.codes
        if self.samples is None:
            return codes
        samples = np.delete(self.samples[part], outside)
        return cast(Samples, self.mechanism).cells(codes, samples)

    def flat(self, codes: NDArray[Any]) -> tuple[Any, NDArray[np.intp]]:
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
            if unknown == self.size == self.m:
                hint = "for counts of reports give rr.Tally.from_counts(counts, mechanism)"
            raise UnknownAnswersError(
                f"{unknown} of {self.size} reports are not among the {what} "
                f"{space.describe()}; {hint}"
            )

    def codes(self, part: slice = ALL) -> NDArray[np.intp]:
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
        return self._values(part, np.nan, lambda codes: self._of_channel(codes, "scores"))

    def likelihood(self, part: slice = ALL) -> Floats:
        """(rows, classes) P(report | truth) up to a factor by row; NaN where it is missing."""
        if self.rates is not None:
            return self._by_rates(part, self.rates.likelihood)
        return self._values(part, np.nan, lambda codes: self._of_channel(codes, "likelihood"))

    def _by_rates(self, part: slice, evaluate: Callable[[NDArray[Any], slice], Floats]) -> Floats:
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

    def missing(self) -> NDArray[np.bool_]:
        """(rows,) where nothing was reported."""
        return self._values(ALL, True, lambda codes: np.zeros(len(codes), dtype=np.bool_))

    def _of_channel(
        self, codes: NDArray[Any], attribute: Literal["scores", "likelihood"]
    ) -> Floats:
        """Scores or likelihoods of present reports; of an ordinary column indicators."""
        if self.mechanism is None:
            return np.asarray(codes[:, None] == np.arange(self.k), dtype=np.float64)
        decoded = codec_of(self.mechanism.report_space).decode(codes)
        return np.asarray(getattr(self.channel, attribute)(decoded))

    def _values(
        self, part: slice, absent: float, evaluate: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> NDArray[Any]:
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
    columns : the columns of the data, if they are a frame.
    """

    name: Hashable = None
    record: ColumnRecord | None = None
    recorded: Collection[Hashable] = ()
    columns: Collection[Hashable] = ()

    @classmethod
    def of(cls, values: Any) -> ReportSource:
        """The source of values in any container; a Series of pandas has metadata."""
        name = getattr(values, "name", None)
        attrs = getattr(values, "attrs", None)
        records = records_of(attrs) if attrs else {}
        return cls(name, records.get(name) if records else None, records)

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
        gone = [name for name in self.recorded if name not in self.columns]
        if gone and len(self.columns):
            return ArgumentTypeError(
                f"{where} has no record of its mechanism, and the frame records a column "
                f"{gone[0]!r} that is not there.  If this is it under a new name: df = "
                f"rr.metadata.carry(df, names={{{gone[0]!r}: {self.name!r}}}); otherwise give the "
                "mechanism"
            )
        if self.recorded:
            others = list(self.recorded)
            return ArgumentTypeError(
                f"{where} has no record of its mechanism; the records are of {others}.  If it "
                "holds reports, give their mechanism; of a copy of a recorded column it is "
                f"df.rr.mechanisms[{others[0]!r}]"
            )
        return ArgumentTypeError(
            f"{where} has no record of its mechanism: merge, assign, read_csv and most engines "
            "lose it.  For reports give the mechanism, or df = rr.metadata.carry(df, released), "
            f"with names={{reports.name: {self.name!r}}} for a Series, or df = "
            "rr.files.read(path).  True answers: rr.surveys.direct(categories)"
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
    resolved = _resolved(values, source, (mechanism, prob, epsilon), group)
    name = source.name if name is None else name
    return opened_column(values, name, source.record, resolved, times=times)


def _resolved(
    values: Any, source: ReportSource, arguments: tuple[Any, Any, Any], group: Any
) -> Resolved:
    """Resolve the mechanism of reports from the arguments and their record.

    arguments : mechanism, prob and epsilon, each of which may be a column.
    """
    mechanism, prob, epsilon = arguments
    columns = {"mechanism": mechanism, "prob": prob, "epsilon": epsilon, "group": group}
    aligned(values, columns)
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
    frame: ReportFrame | None = None,
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
        frame=frame,
    )
    hides = mechanism.domain.missing_code is not None  # what was not asked looks like a report
    if record is not None and plan is not None and (hides or group is not None):
        column = replace(column, asked=_asked(record, group, column.rows))
    if mechanism.groups is None and (group is None or plan is not None):
        return column
    asked = column.asked
    absent = column.missing if asked is None else lambda: ~asked
    samples = sample_codes(mechanism, group, column.rows, absent=absent)
    return replace(column, samples=samples)


def _asked(record: ColumnRecord, group: Any, rows: int) -> NDArray[np.bool_]:
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
        raise _is_private(column.name, name, way)


def _is_private(column: Hashable, name: str, way: str) -> ArgumentValueError:
    """The error of a privatized column as an argument that takes ordinary values."""
    return ArgumentValueError(
        f"{name} must be ordinary values, found reports of the privatized column "
        f"{column!r}, which are not true values: {way}; to use the reports as values give "
        f"{name}.to_numpy()"
    )


def _may_be(record: ColumnRecord, levels: tuple[Hashable, ...]) -> bool:
    """True where all levels of a column are reports that a record allows."""
    try:
        codec = codec_of(record.largest().report_space)
    except MetadataError:  # only a fingerprint of it was kept
        return False
    if not codec.is_label:
        return all(isinstance(level, bytes) for level in levels)
    return all(codec.domain.code(level) < codec.domain.k for level in levels)


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


def _leveled(name: Hashable, codes: NDArray[Any], levels: pd.Index[Any]) -> ReportColumn:
    """An ordinary column, by its codes; -1 is missing."""
    reader = partial(_read_levels, len(levels))
    return ReportColumn(name, tuple(levels.tolist()), len(codes), codes, reader)


def _read_levels(k: int, codes: NDArray[Any]) -> Encoded:
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


# -- columns of a frame ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReportRequest:
    """Columns of data that hold reports, and their mechanism; the arguments of `tally`.

    mechanism, prob, epsilon : of the reports; of a frame the mechanism may be a mapping by column
        or a `FramePlan`, and prob or epsilon the name of a column.
    columns : of a frame, one name or a list; None for the only column of reports.
    group : the sample of each row; of a frame the name of a column.
    public : names of further columns of a frame that are read beside reports, by argument.
    """

    mechanism: Any = None
    prob: Any = None
    epsilon: Any = None
    columns: Any = None
    group: Any = None
    public: Mapping[str, Any] = field(default_factory=dict)

    @property
    def further(self) -> list[Hashable]:
        """The names of the further columns."""
        return [name for names in self.public.values() for name in listed(names)]

    @property
    def several(self) -> bool:
        """True for a list of columns, or a plan that names them."""
        planned = self.columns is None and len(plan_records(self.mechanism)) > 0
        return planned or isinstance(self.columns, list)


_WAYS = {
    **dict.fromkeys(
        ("by", "clusters", "strata", "values"),
        "crosstab both columns, and use conditional proportions",
    ),
    **dict.fromkeys(
        ("probabilities", "weights", "replicates"), "use weights from ordinary columns"
    ),
}
"""What to do instead of reports as one of these arguments."""

_LISTS = ("by", "group", "replicates")
"""Arguments that may be lists of names of columns."""


def replicates_in_engine() -> ArgumentValueError:
    """The error for replicate weights in the frame of an engine."""
    return ArgumentValueError(
        "replicates need the rows, because an engine returns counts, and nearly every row has "
        "replicate weights of its own; give a pandas frame"
    )


@dataclass(frozen=True, eq=False)
class ReportFrame:
    """A frame of pandas or of an engine, with the records of its columns.

    table : its columns in pandas, without attrs, because pandas copies these for every column; of
        an engine without rows until `counted`.
    records : by the name of the column.  names : of all columns of the data.
    engine : the frame of an engine; None where the table has the rows.
    times : (rows,) how many rows of the data each row stands for; None where that is 1.
    """

    table: pd.DataFrame
    records: Mapping[Hashable, ColumnRecord]
    names: Collection[Hashable]
    engine: EngineFrame | None = None
    times: Counts | None = None

    @classmethod
    def of(cls, data: Any, plan: Any = None) -> ReportFrame:
        """Open a frame that `is_frame` accepts.

        plan : a `FramePlan`, whose records stand for those that the data lack; others have none.
        """
        frame = open_frame(data)
        planned = {record.name: record for record in plan_records(plan)}
        if isinstance(frame, EngineFrame):
            records = planned or {record.name: record for record in frame.records}
            return cls(frame.header, records, frame.header.columns, frame)
        return cls(pd.DataFrame(frame), records_of(frame.attrs) | planned, frame.columns)

    def source(self, name: Hashable) -> ReportSource:
        """Name and record of one column."""
        return ReportSource(name, self.records.get(name), self.records, self.names)

    def column(self, name: Hashable) -> pd.Series[Any]:
        """One column; raises where it is not there just once."""
        return column_of(self.table, name)

    def public(self, argument: str, name: Hashable) -> pd.Series[Any]:
        """The column of ordinary values that an argument names; raises for reports."""
        column = self.column(name)
        if name in self.records:
            raise _is_private(name, argument, _WAYS[argument])
        return column

    def check_names(self, public: Mapping[str, Any]) -> None:
        """Raise for what is no name of a column; some arguments may be lists of names."""
        if "replicates" in public and self.engine is not None:
            raise replicates_in_engine()
        for argument, names in public.items():
            every = listed(names) if argument in _LISTS else [names]
            if all(isinstance(name, Hashable) for name in every):
                check_any_column(self.table, every)
            for name in every:
                if isinstance(name, pd.Index) or not isinstance(name, Hashable):
                    raise ArgumentTypeError(
                        f"with a frame, {argument} is the name of one of its columns, found "
                        f"{type(name).__name__}"
                    )
                place_of(self.table, name)

    def counted(self, names: Sequence[Hashable], most: int = MOST) -> ReportFrame:
        """The frame with rows: of an engine the combinations of the values of some columns."""
        if self.engine is None:
            return self
        table, times = group_counts(self.engine, names, most)
        return replace(self, table=table, times=times, engine=None)

    # -- columns of reports ----------------------------------------------------------------

    def reports(self, names: Sequence[Hashable], request: ReportRequest) -> ReportColumn:
        """The reports in one column, or in several that hold their parts.

        An engine counts the rows of these columns and of those beside them.
        """
        name = names[0] if len(names) == 1 else None
        source = self.source(name) if len(names) == 1 else ReportSource()
        group = source.group(request.group)
        if source.record is not None:
            check_asked_column(source.record, self.names)
        if self.engine is None:
            frame = self
            values = reports_in(frame, names)
            arguments = self._rates(source.record, request)
            samples = None if group is None else frame.column(group)
            resolved = _resolved(values, source, arguments, samples)
        else:
            # Arguments are checked before the engine computes.
            mechanism = source.mechanism(request.mechanism, request.prob, request.epsilon)
            others = [*request.further, *listed(group)]
            frame = self.counted([*names, *others], MOST if others else most_of(mechanism))
            values = reports_in(frame, names)
            resolved = Resolved(mechanism, None if group is None else frame.column(group))
        return opened_column(values, name, source.record, resolved, times=frame.times, frame=frame)

    def _rates(self, record: ColumnRecord | None, request: ReportRequest) -> tuple[Any, Any, Any]:
        """The mechanism, prob and epsilon of a column; by row, the latter are columns.

        The name of a column stands for it; without any, the record of the reports says it.
        """
        mechanism = request.mechanism
        no_rates = request.prob is None and request.epsilon is None
        needs_record = no_rates and not is_mechanism(mechanism)
        if record is not None and record.by_row and needs_record:
            rates = {argument: self.column(name) for argument, name in record.by_row.items()}
            return mechanism, rates.get("prob"), rates.get("epsilon")
        prob = self._rate(request.prob, "prob")
        return mechanism, prob, self._rate(request.epsilon, "epsilon")

    def _rate(self, rate: Any, argument: str) -> Any:
        """A prob or epsilon; the column for the name of one."""
        return rate_column(self.table, rate, argument) if names_column(rate) else rate

    def joint(
        self,
        names: Iterable[Hashable],
        mechanisms: Mapping[Any, Any] | None = None,
        *,
        group: Any = None,
        others: Iterable[Hashable] = (),
        pairs: bool = False,
        parts: bool = False,
    ) -> list[ReportColumn]:
        """Columns of the same rows, private where a mechanism is given or a record says so.

        mechanisms : mapping from column to mechanism.  group : the column that says which sample a
            row is in, for mechanisms with several; by default that of a plan.
        others : further columns, for an engine.  pairs : whether two columns may be a pair of one
            plan.  parts : whether columns of one plan may be used, of which each row has a part.
        Raises ArgumentValueError for columns that are not there just once, for a mechanism of a
        column that is not asked for, and for columns of one plan that cannot be used together.
        """
        names = list(names)
        mechanisms = dict(mechanisms or {})
        check_asked(mechanisms, names)
        if self.engine is not None:
            groups = [self.source(name).group(group) for name in names]
            labels = [label for group_names in groups for label in listed(group_names)]
            frame = self.counted([*names, *labels, *others])
            return frame.joint(names, mechanisms, group=group, pairs=pairs, parts=parts)
        columns = []
        for name in names:
            if name in mechanisms or self.source(name).record is not None:
                columns.append(self._private(name, mechanisms.get(name), group))
            else:
                self.refuse_renamed(name)
                column = ordinary(self.column(name), name=name)
                columns.append(replace(column, times=self.times, frame=self))
        check_together(columns, self.names, pairs=pairs, parts=parts)
        return columns

    def _private(self, name: Hashable, mechanism: Any, group: Any) -> ReportColumn:
        """A column of reports for `joint`; its samples are those of ``group`` or of its plan."""
        source = self.source(name)
        values = self.column(name)
        if source.record is not None:
            check_asked_column(source.record, self.names)
        arguments = self._rates(source.record, ReportRequest(mechanism))
        resolved = _resolved(values, source, arguments, None)
        sampled_by = source.group(group)
        needs_samples = resolved.mechanism.groups is not None or sampled_by != group
        if resolved.group is None and sampled_by is not None and needs_samples:
            resolved = resolved._replace(group=self.column(sampled_by))
        return opened_column(values, name, source.record, resolved, times=self.times, frame=self)

    def answer(self, names: Sequence[Hashable], request: ReportRequest) -> ReportColumn:
        """The answer that one column holds, or several together."""
        if len(names) > 1 and request.mechanism is None:
            pair = pair_column(self.joint(names, group=request.group, pairs=True))
            if pair is not None:
                return pair
        return self.reports(names, request)

    def refuse_renamed(self, name: Hashable) -> None:
        """Raise MetadataError for a column that may be one that the frame calls privatized.

        That is, where a privatized column is not there under its name, and all values of this one
        are reports of it: renamed, or put beside another wave by a merge.
        """
        gone = [record for record in self.records.values() if record.name not in self.names]
        levels = ordinary(self.column(name)).categories if gone else ()
        suspects = [record.name for record in gone if levels and _may_be(record, levels)]
        if suspects:
            raise MetadataError(
                f"column {name!r} may hold reports: the frame has a record of a privatized column "
                f"{suspects[0]!r}, but no such column (renamed, or merged?), and every value of "
                f"{name!r} is one of its reports; give its mechanism, or "
                "rr.surveys.direct(categories) if it holds true answers"
            )


def report_columns(data: Any, request: ReportRequest) -> Iterator[ReportColumn]:
    """The columns of reports that are asked for, each opened for itself: values, or of a frame.

    A frame's columns are opened one after the other, because an engine counts each with its rows.
    """
    plain = isinstance(data, list | tuple | np.ndarray | pd.Series)
    if plain or not is_frame(data):
        if request.columns is not None:
            raise ArgumentTypeError(
                f"columns needs reports in a frame, found a {type(data).__name__}; give a "
                "frame, for example from pandas.read_parquet, or leave columns out"
            )
        arguments = (request.mechanism, request.prob, request.epsilon)
        yield report_column(data, *arguments, group=request.group)
        return
    frame = ReportFrame.of(data, request.mechanism)
    planned = plan_records(request.mechanism)
    if planned:
        columns = request.columns
        if columns is None:
            columns = [record.name for record in planned]
        request = replace(request, mechanism=None, columns=columns)
    mechanisms = _mechanism_by_column(frame, request)
    frame.check_names({**request.public, "group": request.group})
    for names, mechanism in mechanisms:
        yield frame.reports(names, replace(request, mechanism=mechanism))


class Plan(Protocol):
    """A `FramePlan`, which knows the records of its columns."""

    @property
    def records(self) -> list[ColumnRecord]:
        """The record of each column."""


def plan_records(mechanism: Any) -> list[ColumnRecord]:
    """The records of a `FramePlan`, which knows them; none of anything else."""
    records = getattr(mechanism, "records", None)
    return records if isinstance(records, list) else []


def listed(names: Any) -> list[Hashable]:
    """One name or a list of them; None is an empty list."""
    if names is None:
        return []
    return list(names) if isinstance(names, list) else [names]


def _mechanism_by_column(
    frame: ReportFrame, request: ReportRequest
) -> list[tuple[list[Hashable], Any]]:
    """The columns of each report that is asked for, and its mechanism where one is given."""
    mechanism = request.mechanism
    names = listed(request.columns)
    if request.columns is None:
        names = [_only_column(frame, mechanism)]
    if all(isinstance(name, Hashable) for name in names):
        check_any_column(frame.table, names)
    for name in names:
        place_of(frame.table, name)
    check_distinct(names, "columns")
    if isinstance(mechanism, Mapping) and any(name in mechanism for name in names):
        check_asked(mechanism, names)
        return [([name], mechanism.get(name)) for name in names]
    if request.several and _is_one_report(mechanism, len(names)):
        return [(names, mechanism)]
    return [([name], mechanism) for name in names]


def _only_column(frame: ReportFrame, mechanism: Any) -> Hashable:
    """The only column that a mapping, or else the frame, speaks of."""
    names = list(frame.names)
    private = [name for name in frame.records if name in names]
    if isinstance(mechanism, Mapping) and mechanism and all(name in names for name in mechanism):
        private = list(mechanism)
    if len(private) == 1:
        return private[0]
    state = f"reports are in the columns {private}" if private else f"its columns are {names[:20]}"
    raise ArgumentTypeError(
        "values must be one column, found a frame; give one column as columns='name', or several "
        f"as a list with a mapping from column to mechanism; {state}"
    )


def _is_one_report(mechanism: Any, columns: int) -> bool:
    """True where each report is a tuple with as many parts, as where a person answers twice."""
    if not is_mechanism(mechanism) or columns < 2:
        return False
    codec = codec_of(as_mechanism(mechanism).report_space)
    return codec.is_label and all(
        isinstance(label, tuple) and len(label) == columns for label in codec.domain.categories
    )


def reports_in(frame: ReportFrame, names: Sequence[Hashable]) -> pd.Series[Any]:
    """A column of reports; of several, the tuples of what stands in them, missing if a part is."""
    columns = [frame.column(name) for name in names]
    if len(columns) == 1:
        return columns[0]
    tuples = list(zip(*columns, strict=True))
    reports = pd.Series(tuples, index=frame.table.index, dtype=object)
    return reports.mask(pd.concat(columns, axis=1).isna().any(axis=1), None)


# -- columns of one plan ---------------------------------------------------------------------


def check_together(
    columns: Sequence[ReportColumn],
    names: Iterable[Hashable] = (),
    *,
    pairs: bool = False,
    parts: bool = False,
) -> None:
    """Raise for several columns of one plan: few rows or none have them all, with joint noise.

    names : of all columns of the data, which show that they are of a plan.
    pairs : whether the two columns of a pair may be together.
    parts : whether any may, because not the rows are used but moments of the parts.
    """
    planned = [column for column in columns if column.plan is not None]
    private = [column.name for column in columns if column.private]
    if ASKED in names and len(private) > 1 and not planned:
        raise MetadataError(
            f"the data have the public column {ASKED!r} of a plan, but no record of it, so the "
            f"columns {private} may not be used together: give the plan, rr.crosstab(..., "
            "mechanisms=plan), or restore the records (rr.metadata.carry)"
        )
    if parts:
        return
    for column in planned:
        alike = [other.name for other in planned if other.plan == column.plan]
        of_plan = cast(PlanParts, column.plan).parts
        if len(alike) < 2 or (pairs and any({*part} == {*alike} for part in of_plan)):
            continue
        reason = "few rows or none hold all of them, and the noise of a pair is joint"
        step = (
            "use one of them, rr.crosstab for a pair that was asked together, or rr.linear and "
            "rr.correlations, which need only pairs"
        )
        if pairs and len(alike) == 2:
            reason = "the plan never asked both of the same row"
            step = f"rr.planning.frame(..., want=[({alike[0]!r}, {alike[1]!r})]) asks them together"
        raise ArgumentValueError(
            f"the columns {alike} of one plan cannot be used together: {reason}; {step}"
        )


def as_pairs(columns: Sequence[ReportColumn]) -> list[ReportColumn]:
    """The columns; those that a plan asked together with the mechanism of that part, and the pair.

    Rows that hold both were asked the pair, so their reports follow its marginal mechanisms.
    """
    by_name = {column.name: column for column in columns}
    for first, second in combinations(columns, 2):
        if first.plan is None or first.plan != second.plan:
            continue
        domains = [cast(Mechanism, column.mechanism).domain for column in (first, second)]
        joint = part_mechanism(domains, first.plan.epsilon)
        pair = (first.name, second.name), joint
        for column, domain in zip((first, second), domains, strict=True):
            marginal = marginal_mechanism(domain, joint)
            by_name[column.name] = replace(column, mechanism=marginal, samples=None, pair=pair)
    return list(by_name.values())


def pair_column(columns: Sequence[ReportColumn]) -> ReportColumn | None:
    """The answer that two columns of a plan hold together; None for others."""
    first, *others = as_pairs(columns)
    if first.pair is None:
        return None
    (second,) = others
    _, joint = first.pair
    first_codes = first.codes()
    second_codes = second.codes()
    present = (first_codes < first.k) & (second_codes < second.k)
    codes = np.where(present, first_codes * second.k + second_codes, joint.k + 1)
    return ReportColumn(
        name=None,
        categories=joint.categories,
        rows=first.rows,
        cells=codes,
        reader=partial(Encoded.of, k=joint.k),
        mechanism=joint,
        plan=first.plan,
    )


def not_asked(
    columns: Iterable[ReportColumn], rows: int, *, all_of_them: bool = False
) -> NDArray[np.bool_]:
    """(rows,) where a plan did not ask for a column, or for all of its columns."""
    planned = [column.missing() for column in columns if column.plan is not None]
    if all_of_them:
        return np.asarray(np.logical_and.reduce(planned))
    return np.asarray(np.logical_or.reduce([np.zeros(rows, dtype=np.bool_), *planned]))


def check_asked(
    names: Iterable[Hashable], columns: list[Hashable], argument: str = "mechanisms"
) -> None:
    """Raise for an argument by column that names a column which is not asked for."""
    others = [name for name in names if name not in columns]
    if others:
        raise ArgumentValueError(
            f"{argument} must be of the columns asked for, {columns}, found also "
            f"{quote_list(others)}"
        )
