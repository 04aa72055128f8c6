"""Records in the attrs of pandas: written when a frame is privatized, carried to later frames.

pandas loses attrs when a frame is merged with a plain one, joined to frames with other attrs, or
built anew from columns; it leaves them unchanged when a column is renamed or dropped.  It copies
them deeply whenever a column is selected, so the document is `_frozen.frozen`, of which a
copy is the document itself.

`carry` (``df.rr.carry``) copies the records of earlier data to later data.  It refuses sources that
contradict each other; a source that has a column of the same name without a record is such a
contradiction, because its rows are not reports.  It also refuses a recorded column that may have
been renamed, because leaving it out would understate epsilon.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pandas as pd

from rrstats._checks import check_instance, cut, quote, quote_list
from rrstats.data.columns import column_of
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    UnrecordedWarning,
    warn,
)
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.records import (
    KEY,
    ColumnRecord,
    check_fits,
    check_plan,
    check_rates,
    read,
    write,
)

Data = TypeVar("Data", pd.DataFrame, "pd.Series[Any]")


def record_columns(
    attrs: dict[Any, Any], columns: Mapping[Hashable, tuple[Mechanism, Mapping[str, Any]]]
) -> None:
    """Write the records of columns into ``attrs``, in place of their earlier records.

    columns : for each column its mechanism and the other facts of its `ColumnRecord`.
    Warns UnrecordedWarning if a name or category has no JSON form.  Then ``attrs`` keep no records
    at all, because a document without one of the columns would understate epsilon.
    """
    try:
        others = [record for record in read(attrs) if record.name not in columns]
        new = [
            ColumnRecord.of(name, mechanism, **facts)
            for name, (mechanism, facts) in columns.items()
        ]
        attrs[KEY] = write([*others, *new])
    except ArgumentValueError as error:
        attrs.pop(KEY, None)
        warn(
            f"these data have no record of how they were privatized: {error}; give the mechanism "
            "when you estimate",
            UnrecordedWarning,
        )


def released_records(frame: pd.DataFrame) -> list[ColumnRecord]:
    """The records of all privatized columns of a frame, for what is said of its privacy.

    Raises MetadataError if there are none, if a column is gone, or if it cannot hold its reports.
    """
    records = read(frame.attrs)
    if not records:
        raise MetadataError(
            "this frame has no record of how it was privatized, so its epsilon is unknown: a merge "
            "and read_csv lose it.  Restore it: df = df.rr.carry(released), with the frame before "
            "the merge, or df = rr.files.read(path), which also reads the record that stands "
            "beside a CSV file"
        )
    for record in records:
        try:
            column = column_of(frame, record.name)
        except ArgumentValueError:
            raise _absent_or_twice(record, records, frame) from None
        check_fits(column, record)
        check_plan(record, frame)
        check_rates(record, frame)
    return records


def _absent_or_twice(
    record: ColumnRecord, records: Sequence[ColumnRecord], frame: pd.DataFrame
) -> MetadataError:
    """The error of a recorded column that a frame does not have once."""
    name = cut(record.name)
    if record.name in frame.columns:
        return MetadataError(
            f"the frame has several columns named {name}, and its record is of one of them, so its "
            "epsilon is unknown; give them different names, and state the new names: df = "
            "df.rr.carry(released, names={...}), once for each frame that was merged"
        )
    recorded = {other.name for other in records}
    new = [column for column in frame.columns if column not in recorded]
    fitting = [column for column in new if _fits(frame[column], record)]
    # Of several, some may hold true answers: none of them is proposed.
    renamed = repr(fitting[0]) if len(fitting) == 1 else "'its new name'"
    return MetadataError(
        f"the frame records a privatized column {name} that is not there, so its epsilon is "
        f"unknown.  If it was renamed: df = df.rr.carry(names={{{name}: {renamed}}}); if it was "
        f"left out: df = df.rr.carry(dropped=[{name}])"
    )


def _fits(column: Any, record: ColumnRecord) -> bool:
    """True where a column of another name may hold the reports of a record: all are categories."""
    if record.is_shortened or not isinstance(column, pd.Series):
        return False
    return bool(column.dropna().isin(record.largest().categories).all())


class Mechanisms(Mapping[Hashable, Mechanism]):
    """The mechanism of each recorded column, by the column's name.

    All names are listed.  If a record holds only a fingerprint of the categories, looking up that
    column raises MetadataError, which says what to do; other columns still work.

    >>> kept = {"v": 1, "columns": [{"name": "smoker", "mechanism":
    ...     {"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}}]}
    >>> Mechanisms(read({"rrstats": kept}))["smoker"].prob
    0.75
    """

    def __init__(self, records: Sequence[ColumnRecord]) -> None:
        self._records = {record.name: record for record in records}
        self._described = {record.name: record.mechanism for record in records}

    def __getitem__(self, name: Hashable) -> Mechanism:
        return self._records[name].resolve()

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mechanisms):
            return super().__eq__(other)
        return self._described == other._described

    def __repr__(self) -> str:
        descriptions: dict[Hashable, Any] = {}
        for name, record in self._records.items():
            if record.is_shortened:
                descriptions[name] = "only a fingerprint of its categories is kept"
            elif record.by_row:
                descriptions[name] = "prob differs by row"
            else:
                descriptions[name] = self[name]
        return repr(descriptions)


def carry(
    data: Data,
    earlier: Iterable[Any],
    names: Mapping[Hashable, Hashable] | None,
    dropped: Iterable[Hashable],
) -> Data:
    """A frame or Series with the records of earlier data; see `FrameAccessor.carry`."""
    rule = "a mapping from the earlier name to the new one"
    check_instance(names or {}, "names", Mapping, rule)
    if isinstance(dropped, pd.Series):  # a column, whose cells may be answers
        raise ArgumentTypeError("dropped must be a list of names of columns, found Series")
    frame: Any = pd.DataFrame(data) if data.ndim == 1 else data
    records = _carried(frame, earlier, dict(names or {}), dropped)
    carried = data.copy(deep=False)
    carried.attrs[KEY] = write(records)
    return carried


def _carried(
    target: pd.DataFrame,
    earlier: Iterable[Any],
    moved: dict[Hashable, Hashable],
    dropped: Iterable[Hashable],
) -> list[ColumnRecord]:
    """The records for the columns of target."""
    sources = [_read_source(source) for source in earlier]
    recorded = read(target.attrs)
    carried = {record.name: record for record in recorded if record.name in target.columns}
    # Records of other columns, and whether the source itself has such a column.
    candidates = [(record, False) for record in recorded if record.name not in carried]
    candidates += [
        (record, record.name in columns) for records, columns in sources for record in records
    ]
    if not carried and not candidates:
        raise MetadataError(
            "there is nothing to carry: neither these data nor the earlier ones record a "
            "privatized column"
        )
    dropped_names = [dropped] if isinstance(dropped, str) else list(dropped)
    omitted = set(dropped_names)
    _check_names([*moved, *dropped_names], {record.name for record, _ in candidates})
    for name in moved.values():
        column_of(target, name)  # raises if it is absent or occurs twice
    staying = {
        record.name
        for record, in_source in candidates
        if in_source and record.name in target.columns
    }
    _check_no_answers(sources, staying - set(moved))
    new = _new_columns(target, sources, {*carried, *moved.values()})
    for record, in_source in candidates:
        if record.name in moved or (in_source and record.name in staying - omitted):
            renamed = replace(record, name=moved.get(record.name, record.name))
            carried[renamed.name] = _joined(carried.get(renamed.name, renamed), renamed)
        elif new and record.name not in omitted:
            raise _may_be_renamed(record.name, new)
    _check_columns(target, carried.values())
    return list(carried.values())


def _new_columns(
    target: pd.DataFrame,
    sources: Iterable[tuple[list[ColumnRecord], list[Hashable]]],
    explained: set[Hashable],
) -> list[Hashable]:
    """Columns of target that may be renamed reports; explained : those that are known not to be."""
    known_columns = set(explained)
    for records, columns in sources:
        known_columns |= _explained(records, columns)
    return [column for column in target.columns if column not in known_columns]


def _check_columns(target: pd.DataFrame, records: Iterable[ColumnRecord]) -> None:
    """Raise unless the columns of target may be what their records say."""
    for record in records:
        check_fits(column_of(target, record.name), record)
        check_plan(record, target)
        check_rates(record, target)


def _check_names(names: Iterable[Hashable], recorded: set[Hashable]) -> None:
    """Raise unless the sources record all renamed and dropped columns."""
    strange = [name for name in names if name not in recorded]
    if strange:
        # Several may be answers.
        others = quote(strange[0]) if len(strange) == 1 else f"{len(strange)} others"
        raise ArgumentValueError(
            f"names and dropped must be of {sorted(map(repr, recorded))}, the columns that the "
            f"earlier data record, found {others}"
        )


def _may_be_renamed(name: Hashable, new: Sequence[Hashable]) -> MetadataError:
    """The error of a recorded column that may be one of the new columns of target."""
    return MetadataError(
        f"earlier data record a privatized column {cut(name)} that these data do not "
        f"have from them, and one of {quote_list(new)} may be this column: give names={{"
        f"{cut(name)}: {quote(new[0])}}} if it was renamed so, dropped=[{cut(name)}] if it was "
        "left out, or give all frames, with all their columns, that these data were made of"
    )


def _check_no_answers(
    sources: Iterable[tuple[list[ColumnRecord], list[Hashable]]], names: set[Hashable]
) -> None:
    """Raise if a source has one of these columns without a record: its rows may be answers."""
    for records, columns in sources:
        unrecorded = set(columns) - {record.name for record in records}
        for name in unrecorded & names:
            raise MetadataError(
                f"one of the earlier data records that column {name!r} holds reports, and another "
                "has a column of that name that may hold true answers; leave that one out, or give "
                f"names={{{name!r}: ...}} if the reports have another name now"
            )


def _read_source(source: Any) -> tuple[list[ColumnRecord], list[Hashable]]:
    """The records of one source, and its columns."""
    if isinstance(source, pd.DataFrame):
        return read(source.attrs), list(source.columns)
    if isinstance(source, pd.Series):
        # Records of its frame's other columns do not apply.
        of_series = [record for record in read(source.attrs) if record.name == source.name]
        return of_series, [source.name]
    records = [source] if isinstance(source, ColumnRecord) else source
    if isinstance(records, Mapping):
        records = read({KEY: records})
    are_records = isinstance(records, list) and all(
        isinstance(record, ColumnRecord) for record in records
    )
    if not are_records:
        raise ArgumentTypeError(
            "each of the earlier data must be a frame, a Series, a document or a list of "
            f"ColumnRecords (as from rr.files.describe_file), found {type(source).__name__}"
        )
    return records, [record.name for record in records]


def _explained(records: list[ColumnRecord], columns: list[Hashable]) -> set[Hashable]:
    """Columns of a source that cannot be renamed reports: all, unless a recorded one is absent."""
    recorded = {record.name for record in records} & set(columns)
    return set(columns) if len(recorded) == len(records) else recorded


def _joined(first: ColumnRecord, second: ColumnRecord) -> ColumnRecord:
    """The common record of a column that two sources record; its rows may be from either."""
    facts = [
        (record.mechanism, record.missing, record.plan, record.by_row) for record in (first, second)
    ]
    if facts[0] != facts[1]:
        raise MetadataError(
            f"the data have two different records of column {first.name!r}; leave the data with "
            "the wrong one out, or give a column of mechanisms when you estimate (mechanism=...)"
        )
    return replace(
        first,
        unknown=first.unknown if first.unknown == second.unknown else "uniform",
        simulated=first.simulated or second.simulated,
        keyed=first.keyed or second.keyed,
    )
