"""Columns for analysis: reports of a mechanism, and ordinary values.

A `ReportColumn` is one column, read as codes of the cells that a tally counts.  The channel of a
mechanism relates the cells of a private column to the true answer; an ordinary column holds true
values.  Groups, tables, tests and regressions read all columns here, in blocks, so that they treat
both kinds alike and hold only codes.
A column is private if a mechanism is given for it or its data have a record of one; all other
columns are ordinary.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_rows
from rrstats._typing import Floats
from rrstats.data.columns import Encoded, Reader, codec_of, column_of, open_column, open_reports
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    UnknownAnswersError,
)
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.channel import Channel, recode_matrix, transition_matrix
from rrstats.mechanisms.krr import KRR, KRRByRow, as_mechanism, is_by_row, names_column
from rrstats.mechanisms.samples import Samples, by_row, check_aligned, sample_codes
from rrstats.mechanisms.serialization import (
    ASKED,
    ColumnRecord,
    asked_labels,
    check_most,
    find,
    marginal_mechanism,
    part_mechanism,
    read,
)
from rrstats.randomness.sources import BLOCK_ROWS

ALL = slice(None)


def blocks(rows: int, size: int = BLOCK_ROWS) -> list[slice]:
    """All rows, in blocks that stay in cache."""
    return [slice(start, start + size) for start in range(0, rows, size)]


def record_of(reports: Any) -> ColumnRecord | None:
    """The record of a column, if its attrs have one."""
    attrs = getattr(reports, "attrs", None)
    return find(attrs, getattr(reports, "name", None)) if attrs else None


def mechanism_of(
    reports: Any, mechanism: Any, prob: float | None, epsilon: float | None
) -> Mechanism:
    """The mechanism of reports: from the arguments, from their record, or both.

    reports : may have ``attrs`` and ``name``.
    Raises ArgumentTypeError if there is neither, MetadataError if they disagree.
    """
    silence = "pandas loses it when a column is assigned, merged or read; few engines keep it."
    attrs, name = getattr(reports, "attrs", None) or {}, getattr(reports, "name", None)
    said = any(one is not None for one in (mechanism, prob, epsilon))
    given = as_mechanism(mechanism, prob, epsilon) if said else None
    record = record_of(reports)
    if record is not None:
        return record.resolve(given)
    if given is None:
        others = [record.name for record in read(attrs)]
        if others:
            silence = f"the records are of {others}, not of {name!r}; was it renamed?"
        whose = "these reports" if name is None else f"the reports of column {name!r}"
        old = repr(others[0]) if len(others) == 1 else "old"
        named = "" if name is None else f", names={{{old}: {name!r}}}"
        raise ArgumentTypeError(
            f"{whose} have no record of their mechanism: {silence}  Give the mechanism (for true "
            "answers rr.surveys.direct([...])), or restore the record: df = "
            f"rr.metadata.carry(df, reports{named})"
        )
    return given


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
    samples : (rows,) the sample of each report; None where there is one.
    times : (rows,) how many rows of the data each stands for; None where that is 1.
    plan : of the frame, as in its record: rows without a report were not asked.
    pair : the names of two columns that a plan asked together, and their joint mechanism.
    asked : (rows,) where a plan asked for it, as its public column says; else None.
    """

    name: Hashable
    categories: tuple[Hashable, ...]
    rows: int
    cells: Any
    reader: Reader
    mechanism: Mechanism | None = None
    samples: NDArray[np.intp] | None = None
    times: NDArray[np.int64] | None = None
    plan: Mapping[str, Any] | None = None
    pair: tuple[tuple[Hashable, ...], KRR] | None = None
    asked: NDArray[np.bool_] | None = None

    @property
    def private(self) -> bool:
        """True where the column holds reports."""
        return self.mechanism is not None

    @property
    def has_cells(self) -> bool:
        """True where each row falls into one cell of a common channel; others have scores."""
        return not isinstance(self.mechanism, KRRByRow) and self.is_multinomial

    def read(self, part: slice) -> Encoded:
        """The reports of some rows, coded; of a plan, where it asked for them."""
        encoded = self.reader(self.cells[part])
        if self.asked is None or self.mechanism is None:
            return encoded
        asked, domain = self.asked[part], self.mechanism.domain
        gone = encoded.codes == domain.absent_code
        if not gone[~asked].all() or (domain.missing_code is None and gone[asked].any()):
            raise MetadataError(
                f"column {self.name!r} of a plan has reports in other rows than were asked for it, "
                "as the public column says; use the columns as they were released (nothing filled)"
            )
        if domain.missing_code is None:
            return encoded
        return Encoded.of(np.where(asked, encoded.codes, domain.k + 1), domain.k)

    def given(self, encoded: Encoded, part: slice) -> NDArray[Any]:
        """The reports among some rows, without what is unknown or missing, for the channel."""
        outside = encoded.outside
        codes = np.delete(encoded.codes, outside, axis=0) if outside.size else encoded.codes
        if self.samples is None:
            return codes
        mine = np.delete(self.samples[part], outside)
        return cast(Samples, self.mechanism).cells(codes, mine)

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
            every = self.rows if self.times is None else int(self.times.sum())
            space = self.mechanism.report_space
            what = "categories" if space == self.mechanism.domain else "possible reports"
            raise UnknownAnswersError(
                f"{unknown} of {every} reports are not among the {what} "
                f"{space.describe()}; give the mechanism that made them (were they privatized?)"
            )

    def codes(self, part: slice = ALL) -> NDArray[np.intp]:
        """(rows,) the cell of each row, and m where it is missing."""
        if not self.is_multinomial:
            raise ArgumentValueError(
                "a report that names several categories has no single cell; use scores"
            )
        return self._answers(part, self.m, lambda codes: self.flat(codes)[1])

    def scores(self, part: slice = ALL) -> Floats:
        """(rows, k) unbiased values of the categories' indicators; NaN where it is missing."""
        if isinstance(self.mechanism, KRRByRow):
            encoded = self.read(part)
            self.refuse(self.unknown(encoded, part))
            found = self.mechanism.scores(encoded.codes, part)
            found[encoded.outside] = np.nan
            return found
        return self._answers(part, np.nan, lambda codes: self._of_channel(codes, "scores"))

    def likelihood(self, part: slice = ALL) -> Floats:
        """(rows, classes) P(report | truth) up to a factor by row; NaN where it is missing."""
        return self._answers(part, np.nan, lambda codes: self._of_channel(codes, "likelihood"))

    def missing(self) -> NDArray[np.bool_]:
        """(rows,) where nothing was reported."""
        return self._answers(ALL, True, lambda codes: np.zeros(len(codes), dtype=np.bool_))

    def _of_channel(self, codes: NDArray[Any], asked: str) -> Floats:
        """Scores or likelihoods of reports that are there; of an ordinary column indicators."""
        if self.mechanism is None:
            return np.asarray(codes[:, None] == np.arange(self.k), dtype=np.float64)
        decoded = codec_of(self.mechanism.report_space).decode(codes)
        return np.asarray(getattr(self.mechanism.channel, asked)(decoded))

    def _answers(self, part: slice, absent: Any, ask: Callable[[Any], Any]) -> NDArray[Any]:
        """Answers about the rows that are there, in their places."""
        encoded = self.read(part)
        self.refuse(self.unknown(encoded, part))
        known, outside = np.asarray(ask(self.given(encoded, part))), encoded.outside
        if not outside.size:
            return known
        found = np.full((len(encoded.codes), *known.shape[1:]), absent, dtype=known.dtype)
        found[np.delete(np.arange(len(found)), outside)] = known
        return found


def report_column(
    values: Any,
    mechanism: Any = None,
    prob: float | None = None,
    epsilon: float | None = None,
    *,
    group: Any = None,
    times: NDArray[np.int64] | None = None,
    name: Hashable = None,
) -> ReportColumn:
    """A private column; the arguments are those of `tally`.

    name : by default that of a Series.

    >>> import rrstats as rr
    >>> found = report_column(["yes", None, "no"], ["no", "yes"], 0.75)
    >>> found.codes(), found.score_table.tolist()
    (array([1, 2, 0]), [[1.5, -0.5], [-0.5, 1.5]])
    """
    if not is_mechanism(mechanism):
        check_aligned(values, mechanism, "mechanism")
        if (listed := _by_row(mechanism, open_column(values).rows)) is not None:
            mechanism, group = listed
    if is_by_row(prob) or is_by_row(epsilon):
        made: Mechanism = _row_mechanism(values, mechanism, prob, epsilon)
    else:
        made = mechanism_of(values, mechanism, prob, epsilon)
    column, reader = open_reports(values, made.report_space)
    record = record_of(values)
    plan = None if record is None else record.plan
    called = getattr(values, "name", None) if name is None else name
    held = column.rows, column.cells, reader
    found = ReportColumn(called, made.categories, *held, made, times=times, plan=plan)
    hides = made.domain.missing_code is not None  # what was not asked looks like a report
    if record is not None and plan is not None and (hides or group is not None):
        found = replace(found, asked=_asked(record, group, column.rows))
    if made.groups is None and (group is None or plan is not None):
        return found
    samples = sample_codes(made, group, column.rows, values, absent=found.missing)
    return replace(found, samples=samples)


def _asked(record: ColumnRecord, group: Any, rows: int) -> NDArray[np.bool_]:
    """(rows,) where a plan asked for a column, from its public column."""
    if group is None:
        raise ArgumentTypeError(
            f"a missing report of column {record.name!r} may be an answer or a row that its plan "
            f"did not ask: give the frame, which says it in {record.plan and record.plan['asked']}"
        )
    labels, mine = ordinary(group), asked_labels(record)
    check_rows(labels.rows, rows, "group", "label", "reports")
    return np.array([*(one in mine for one in labels.categories), False])[labels.codes()]


def _row_mechanism(values: Any, categories: Any, prob: Any, epsilon: Any) -> KRRByRow:
    """The k-RR of reports whose prob differs by row; their record, if any, may name categories."""
    record = record_of(values)
    for argument, column in (("prob", prob), ("epsilon", epsilon)):
        check_aligned(values, column, argument)
    if record is not None and categories is None:
        categories = record.largest().domain.declared
    made = KRRByRow(categories, open_column(values).rows, prob=prob, epsilon=epsilon)
    if record is not None and record.by_row is None:
        record.resolve(made)  # raises
    elif record is not None:
        record.largest(KRR(made.domain.declared, record.mechanism.get("prob")))
        check_most(record, made.prob)
    return made


def row_rates(
    frame: pd.DataFrame,
    name: Hashable,
    prob: Any = None,
    epsilon: Any = None,
    *,
    mechanism: Any = None,
) -> tuple[Any, Any]:
    """The prob and epsilon of a column of a frame for `report_column`; by row they are columns.

    A name of a column stands for that column; without any, the record of the reports says it.
    """
    given = {"prob": prob, "epsilon": epsilon}
    if prob is None and epsilon is None and not is_mechanism(mechanism):
        by_row = getattr(find(frame.attrs, name), "by_row", None) or {}
        given |= {argument: column_of(frame, one) for argument, one in by_row.items()}
    prob, epsilon = (column_of(frame, v) if names_column(v) else v for v in given.values())
    return prob, epsilon


def _by_row(mechanism: Any, rows: int) -> tuple[Mechanism, list[int] | None] | None:
    """One mechanism, and the sample of each row, for a column of mechanisms; None for no column."""
    if isinstance(mechanism, pd.Series | np.ndarray):
        mechanism = mechanism.tolist()
    if not isinstance(mechanism, list | tuple) or not any(map(is_mechanism, mechanism)):
        return None
    if len(mechanism) != rows or not all(map(is_mechanism, mechanism)):
        absent = sum(not is_mechanism(one) for one in mechanism)
        raise ArgumentValueError(
            f"a column of mechanisms must have one for each of the {rows} reports, found "
            f"{len(mechanism)}, {absent} of them no mechanism"
        )
    return by_row(mechanism)


def refuse_reports(column: Any, name: str, way: str) -> None:
    """Raise ArgumentValueError for a Series that says that it holds reports.

    name : of the argument, which takes ordinary values.  way : what to do instead.
    """
    if isinstance(column, pd.Series) and find(column.attrs, column.name) is not None:
        raise ArgumentValueError(
            f"{name} must be ordinary values, found reports of the privatized column "
            f"{column.name!r}, which are not true values: {way}; to use the reports as values give "
            f"{name}.to_numpy()"
        )


def refuse_renamed(frame: pd.DataFrame, name: Hashable) -> None:
    """Raise MetadataError for a column that may be one that the frame calls privatized.

    That is, where a privatized column is not there under its name, and all values of this one
    are reports of it: renamed, or put beside another wave by a merge.
    """
    gone = [record for record in read(frame.attrs) if record.name not in frame.columns]
    levels = ordinary(column_of(frame, name)).categories if gone else ()
    if suspects := [record.name for record in gone if levels and _may_be(record, levels)]:
        raise MetadataError(
            f"column {name!r} may hold reports: the frame has a record of a privatized column "
            f"{suspects[0]!r}, but no such column (renamed, or merged?), and every value of "
            f"{name!r} is one of its reports; give its mechanism, or "
            "rr.surveys.direct(categories) if it holds true answers"
        )


def _may_be(record: ColumnRecord, levels: tuple[Hashable, ...]) -> bool:
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
    named = column.name if name is None else name
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, levels = column.cat.codes.to_numpy(), column.cat.categories
        return _leveled(named, codes, levels)
    for sort in (True, False):  # values that have no order keep that of the rows
        with suppress(TypeError):
            return _leveled(named, *pd.factorize(column, sort=sort))
    raise ArgumentTypeError(
        "an ordinary column must hold hashable values, such as texts and numbers, found others, "
        "such as lists"
    )


def _leveled(name: Hashable, codes: NDArray[Any], levels: pd.Index[Any]) -> ReportColumn:
    """An ordinary column, by its codes; -1 is missing."""
    reader = partial(_read_levels, len(levels))
    return ReportColumn(name, tuple(levels.tolist()), len(codes), codes, reader)


def _read_levels(k: int, codes: NDArray[Any]) -> Encoded:
    found = codes.astype(np.intp)
    found[found < 0] = k + 1
    return Encoded.of(found, k)


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
    held: Any = values if hasattr(values, "dtype") else list(values)
    return pd.Series(held, dtype=None if len(held) else object)


def joint_columns(
    frame: pd.DataFrame,
    columns: Iterable[Hashable],
    mechanisms: Mapping[Any, Any] | None = None,
    *,
    group: Hashable = None,
    times: NDArray[np.int64] | None = None,
    pairs: bool = False,
) -> list[ReportColumn]:
    """Columns of a frame, private where a mechanism is given or the frame says so.

    mechanisms : mapping from column to mechanism.  group : the column that says which sample a
        row is in, for mechanisms with several; by default that of a plan.  times : (rows,) how many
        rows of the data each row stands for, where they were counted already; the caller counts
        them so often.  pairs : whether two columns may be a pair of one plan.
    Raises ArgumentValueError for columns that are not there just once, for a mechanism of a
    column that is not asked for, and for columns of one plan that cannot be used together.
    """
    named, given = list(columns), dict(mechanisms or {})
    check_asked(given, named)
    found = []
    for name in named:
        column, made, labels = column_of(frame, name), given.get(name), None
        if name not in given and find(column.attrs, name) is None:
            refuse_renamed(frame, name)
            found.append(ordinary(column, name=name))
            continue
        beside = sample_column(frame.attrs, name, group)
        if beside is not None and _by_row(made, len(column)) is None:
            sampled = mechanism_of(column, made, None, None).groups is not None
            labels = column_of(frame, beside) if sampled or beside != group else None
        found.append(report_column(column, made, name=name, group=labels, times=times))
    check_together(found, frame.columns, pairs=pairs)
    return found


def sample_column(attrs: Mapping[Any, Any], name: Hashable, group: Any) -> Any:
    """The column of the samples of rows: what is given, or the public column of a plan."""
    record = find(attrs, name) if attrs else None
    return group if record is None or record.plan is None else record.plan["asked"]


def check_together(
    columns: Sequence[ReportColumn], names: Iterable[Hashable] = (), *, pairs: bool = False
) -> None:
    """Raise for several columns of one plan: few rows or none have them all, with joint noise.

    names : of all columns of the data, which show that they are of a plan.
    pairs : whether the two columns of a pair may be together.
    """
    planned = [column for column in columns if column.plan is not None]
    private = [column.name for column in columns if column.private]
    if ASKED in names and len(private) > 1 and not planned:
        raise MetadataError(
            f"the data have the public column {ASKED!r} of a plan, but no record of it, so the "
            f"columns {private} may not be used together: give the plan, rr.crosstab(..., "
            "mechanisms=plan), or restore the records (rr.metadata.carry)"
        )
    for column in planned:
        alike = [one.name for one in planned if one.plan == column.plan]
        parts = cast(Mapping[str, Any], column.plan)["parts"]
        if len(alike) < 2 or (pairs and any({*part} == {*alike} for part in parts)):
            continue
        reason = "few rows or none hold all of them, and the noise of a pair is joint"
        step = "use one of them, or rr.crosstab for a pair that was asked together"
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
    found = {column.name: column for column in columns}
    for one, other in combinations(columns, 2):
        if one.plan is None or one.plan != other.plan:
            continue
        domains = [cast(Mechanism, column.mechanism).domain for column in (one, other)]
        whole = part_mechanism(domains, one.plan["epsilon"])
        pair = (one.name, other.name), whole
        for column, domain in zip((one, other), domains, strict=True):
            alone = marginal_mechanism(domain, whole)
            found[column.name] = replace(column, mechanism=alone, samples=None, pair=pair)
    return list(found.values())


def pair_column(columns: Sequence[ReportColumn]) -> ReportColumn | None:
    """The answer that two columns of a plan hold together; None for others."""
    one, *others = as_pairs(columns)
    if one.pair is None:
        return None
    (other,), whole = others, one.pair[1]
    first, second = one.codes(), other.codes()
    there = (first < one.k) & (second < other.k)
    codes = np.where(there, first * other.k + second, whole.k + 1)
    held = None, whole.categories, one.rows, codes, partial(Encoded.of, k=whole.k)
    return ReportColumn(*held, mechanism=whole, plan=one.plan)


def not_asked(columns: Iterable[ReportColumn], rows: int) -> NDArray[np.bool_]:
    """(rows,) where a plan did not ask for a column."""
    planned = [column.missing() for column in columns if column.plan is not None]
    return np.asarray(np.logical_or.reduce([np.zeros(rows, dtype=np.bool_), *planned]))


def check_asked(given: Iterable[Any], named: list[Any], what: str = "mechanisms") -> None:
    """Raise for something given of a column that is not asked for."""
    if strange := [name for name in given if name not in named]:
        raise ArgumentValueError(
            f"{what} must be of the columns asked for, {named}, found also {strange}"
        )
