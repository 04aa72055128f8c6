"""Frames for analysis: which of their columns are asked for, and how their reports were made.

`ReportRequest` holds the arguments of an analysis, `ReportFrame` a frame of pandas or of an engine
with the records of its columns.  Columns of a frame are opened each for itself (`reports`) or
together, of the same rows (`joint`).  Records are parsed once a call.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_distinct, quote_list, refuse_path
from rrstats._typing import Booleans, Counts, Labels
from rrstats.data.codecs import codec_of
from rrstats.data.columns import (
    check_any_column,
    column_labels,
    column_of,
    names_column,
    place_of,
    rate_column,
)
from rrstats.data.encoders import Encoded
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.estimation.report_columns.engine_frames import (
    MOST,
    EngineFrame,
    group_counts,
    most_of,
    open_engine,
)
from rrstats.estimation.report_columns.report_columns import (
    ReportColumn,
    ReportSource,
    opened_column,
    ordinary,
    records_of,
    resolved_mechanism,
)
from rrstats.mechanisms.base import is_mechanism
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.krr import as_mechanism
from rrstats.mechanisms.plans import ASKED, marginal_mechanism, part_mechanism
from rrstats.mechanisms.records import ColumnRecord, check_asked_column


@dataclass(frozen=True, eq=False)
class ReportRequest:
    """Columns of data that hold reports, and their mechanism; the arguments of `tally`.

    mechanism, prob, epsilon : of the reports; of a frame the mechanism may be a mapping by column
        or a `FramePlan`, and prob or epsilon the name of a column.
    columns : of a frame, one name or a list; None for the only column of reports.
    group : the sample of each row; of a frame the name of a column.
    """

    mechanism: Any = None
    prob: Any = None
    epsilon: Any = None
    columns: Any = None
    group: Any = None

    @property
    def several(self) -> bool:
        """True for a list of columns, or a plan that names them."""
        planned = self.columns is None and len(plan_records(self.mechanism)) > 0
        return planned or isinstance(self.columns, list)


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
    def of(cls, frame: Any, plan: Any = None) -> ReportFrame:
        """A frame of pandas, or an `EngineFrame`, with its records.

        plan : a `FramePlan`, whose records stand for those that the data lack; others have none.
        """
        planned = {record.name: record for record in plan_records(plan)}
        if isinstance(frame, EngineFrame):
            records = planned or {record.name: record for record in frame.records}
            return cls(frame.header, records, frame.header.columns, frame)
        return cls(pd.DataFrame(frame), records_of(frame.attrs) | planned, frame.columns)

    def source(self, name: Hashable) -> ReportSource:
        """Name and record of one column."""
        engine = "" if self.engine is None else self.engine.engine
        return ReportSource(name, self.records.get(name), self.records, self.names, engine)

    def column(self, name: Hashable) -> pd.Series[Any]:
        """One column; raises where it is not there just once."""
        return column_of(self.table, name)

    def counted(self, names: Sequence[Hashable], most: int = MOST) -> ReportFrame:
        """The frame with rows: of an engine the combinations of the values of some columns."""
        if self.engine is None:
            return self
        table, times = group_counts(self.engine, names, most)
        return replace(self, table=table, times=times, engine=None)

    def counted_reports(
        self, names: Sequence[Hashable], request: ReportRequest, others: Iterable[Hashable] = ()
    ) -> ReportFrame:
        """The frame with the rows of one answer; others : further columns, for an engine.

        Arguments are checked before an engine computes.
        """
        if self.engine is None:
            return self
        source = self._source_of(names)
        mechanism = source.mechanism(request.mechanism, request.prob, request.epsilon)
        further = [*others, *listed(source.group(request.group))]
        return self.counted([*names, *further], MOST if further else most_of(mechanism))

    def counted_columns(
        self, names: Sequence[Hashable], others: Iterable[Hashable] = ()
    ) -> ReportFrame:
        """The frame with the rows of some columns, and of the public ones of their plans."""
        groups = [listed(self.source(name).group(None)) for name in names]
        return self.counted([*names, *(label for group in groups for label in group), *others])

    # -- columns of reports ----------------------------------------------------------------

    def _source_of(self, names: Sequence[Hashable]) -> ReportSource:
        """Name and record of a column; of several that hold the parts of reports none."""
        return self.source(names[0]) if len(names) == 1 else ReportSource()

    def reports(self, names: Sequence[Hashable], request: ReportRequest) -> ReportColumn:
        """The reports in one column, or in several that hold their parts."""
        source = self._source_of(names)
        group = source.group(request.group)
        if source.record is not None:
            check_asked_column(source.record, self.names)
        values = reports_in(self, names)
        arguments = self._rates(source.record, request)
        samples = None if group is None else self.column(group)
        resolved = resolved_mechanism(values, source, arguments, samples)
        return opened_column(values, source.name, source.record, resolved, times=self.times)

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
            frame = self.counted_columns(names, listed(group))
            return frame.joint(names, mechanisms, group=group, pairs=pairs, parts=parts)
        columns = []
        for name in names:
            if name in mechanisms or self.source(name).record is not None:
                columns.append(self._private(name, mechanisms.get(name), group))
            else:
                self.refuse_renamed(name)
                column = ordinary(self.column(name), name=name)
                columns.append(replace(column, times=self.times))
        check_together(columns, self.names, pairs=pairs, parts=parts)
        return columns

    def _private(self, name: Hashable, mechanism: Any, group: Any) -> ReportColumn:
        """A column of reports for `joint`; its samples are those of ``group`` or of its plan."""
        source = self.source(name)
        values = self.column(name)
        if source.record is not None:
            check_asked_column(source.record, self.names)
        arguments = self._rates(source.record, ReportRequest(mechanism))
        resolved = resolved_mechanism(values, source, arguments, None)
        sampled_by = source.group(group)
        needs_samples = resolved.mechanism.groups is not None or sampled_by != group
        if resolved.group is None and sampled_by is not None and needs_samples:
            resolved = resolved._replace(group=self.column(sampled_by))
        return opened_column(values, name, source.record, resolved, times=self.times)

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


def _may_be(record: ColumnRecord, levels: Labels) -> bool:
    """True where all levels of a column are reports that a record allows."""
    try:
        codec = codec_of(record.largest().report_space)
    except MetadataError:  # only a fingerprint of it was kept
        return False
    if not codec.is_label:
        return all(isinstance(level, bytes) for level in levels)
    return all(codec.domain.code(level) < codec.domain.k for level in levels)


def open_frame(data: Any, plan: Any = None) -> ReportFrame | None:
    """The frame of pandas or of an engine, as `ReportFrame.of` has it; None for anything else."""
    frame = data if isinstance(data, pd.DataFrame) else open_engine(data)
    return None if frame is None else ReportFrame.of(frame, plan)


def columns_by_place(data: Any, request: ReportRequest) -> ReportRequest:
    """The request with the columns that stand after a frame, as in ``rr.estimate(df, "smoker")``.

    A text names a column, and so does a list of texts that are all columns of the frame; the
    mechanism then stands in the place of prob.  Of values by themselves there are no columns.
    """
    names = request.mechanism
    is_frame = hasattr(type(data), "columns")  # of a lazy frame the property itself computes
    if request.columns is not None or not is_frame:
        return request
    if isinstance(names, str) or (isinstance(names, list) and _are_columns(data, names)):
        return replace(request, columns=names, mechanism=request.prob, prob=None)
    return request


def _are_columns(data: Any, names: list[Any]) -> bool:
    """True for texts that are all names of columns; lists of other categories are no names."""
    if not names or not all(isinstance(name, str) for name in names):
        return False
    engine = None if isinstance(data, pd.DataFrame) else open_engine(data)
    labels = data.columns if engine is None else engine.header.columns
    return set(names) <= {*labels}


def requested_frame(data: Any, request: ReportRequest) -> ReportFrame | None:
    """The frame of a request; None for values by themselves, which have no columns."""
    plain = isinstance(data, list | tuple | np.ndarray | pd.Series)
    if not plain:
        refuse_path(data, "estimate_file(path, column)")
    frame = None if plain else open_frame(data, request.mechanism)
    if frame is None and request.columns is not None:
        raise ArgumentTypeError(
            f"columns needs reports in a frame, found a {type(data).__name__}; give a "
            "frame, for example from pandas.read_parquet, or leave columns out"
        )
    if frame is not None and isinstance(request.mechanism, str):
        raise ArgumentTypeError(
            "categories must be a list of the possible answers, or a mechanism, found str; a "
            "column stands first, as in rr.estimate(df, 'smoker', ['no', 'yes'], epsilon=1)"
        )
    return frame


def column_requests(
    frame: ReportFrame, request: ReportRequest
) -> list[tuple[list[Hashable], ReportRequest]]:
    """The columns of each report that is asked for, and the request for it alone."""
    planned = plan_records(request.mechanism)
    if planned:
        columns = request.columns
        if columns is None:
            columns = [record.name for record in planned]
        request = replace(request, mechanism=None, columns=columns)
    return [
        (names, replace(request, mechanism=mechanism))
        for names, mechanism in _mechanism_by_column(frame, request)
    ]


def plan_records(mechanism: Any) -> list[ColumnRecord]:
    """The records of a `FramePlan`, which knows them; none of anything else."""
    if not isinstance(mechanism, FramePlan):
        return []
    plan = mechanism.recorded
    return [
        ColumnRecord(name, of_column.to_dict(), plan=plan)
        for name, of_column in mechanism.mechanisms.items()
    ]


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
        check_any_column(column_labels(frame.table), names)
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
        "values must be one column, found a frame; name one column after it, or several as a "
        f"list, as in rr.estimate(df, 'smoker'); {state}"
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
    planned = [(column.name, column.plan) for column in columns if column.plan is not None]
    private = [column.name for column in columns if column.private]
    if ASKED in names and len(private) > 1 and not planned:
        raise MetadataError(
            f"the data have the public column {ASKED!r} of a plan, but no record of it, so the "
            f"columns {private} may not be used together: give the plan, rr.crosstab(..., "
            "mechanisms=plan), or restore the records (df.rr.carry)"
        )
    if parts:
        return
    for _, plan in planned:
        alike = [name for name, other in planned if other == plan]
        if len(alike) < 2 or (pairs and any({*part} == {*alike} for part in plan.parts)):
            continue
        reason = "few rows or none hold all of them, and the noise of a pair is joint"
        step = (
            "use one of them, rr.crosstab for a pair that was asked together, or rr.linear and "
            "rr.correlations, which need only pairs"
        )
        if pairs and len(alike) == 2:
            reason = "the plan never asked both of the same row"
            step = f"rr.planning.plan(..., want=[({alike[0]!r}, {alike[1]!r})]) asks them together"
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
        mechanisms = (first.mechanism, second.mechanism)
        domains = [mechanism.domain for mechanism in mechanisms if mechanism is not None]
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


def not_asked(columns: Iterable[ReportColumn], rows: int, *, all_of_them: bool = False) -> Booleans:
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
