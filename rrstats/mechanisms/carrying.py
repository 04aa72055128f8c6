"""Put back what pandas lost: which columns of a frame hold reports, and how they were made.

pandas keeps ``attrs`` through selecting, filtering and sorting.  It loses them where a frame is
merged with a plain one, joined to others that say something else, or built anew from columns;
and it leaves them as they were where a column was renamed or dropped.  `carry` takes what the
data before say and records it beside the data after, for the columns that are still there.

What was said is a default and never evidence, before and after.  What can be noticed is refused:
sources that contradict each other (also one that has a column of that name and says nothing of
it, so that its rows are no reports), a column whose type no report of its mechanism has, and a
column that was spoken of and may now go by another name, because leaving it out would understate
epsilon.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from rrstats.data.columns import codec_of, column_of, open_reports
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms.records import KEY, Record, read, write

__all__ = ["carry", "check_fits"]


def carry(
    target: pd.DataFrame,
    *sources: Any,
    names: Mapping[Hashable, Hashable] | None = None,
    dropped: Iterable[Hashable] = (),
) -> pd.DataFrame:
    """The frame, saying of its columns what the data that they came from say of them.

    target : a frame after a merge, a concat or a renaming; it is not changed, and what comes
        back shares its data.
    sources : the data before: frames, Series, a document, or Records, such as
        `rr.files.describe_file` of the file that a frame was read from.  What target still says
        of itself counts too.
    names : where columns were renamed, a mapping from the name in the sources to that in target.
    dropped : names of privatized columns of the sources that are not in target, under no name.
    Returns a frame whose document speaks of the columns that are there, and of no others.
    Raises MetadataError where the sources contradict each other, where a column's type does not
    fit what is said of it, where nothing is said, and where a privatized column is not there and
    may have been renamed: that is, unless the sources have all columns of target by name.

    >>> import pandas as pd, rrstats as rr
    >>> answers = pd.DataFrame({"id": [1, 2, 3], "answer": ["yes", "no", "no"]})
    >>> reports = answers.rr.privatize("answer", ["yes", "no"], 0.75)
    >>> merged = pd.DataFrame({"id": [1, 2, 3], "age": [31, 42, 53]}).merge(reports, on="id")
    >>> rr.metadata.carry(merged, reports).rr.epsilon
    1.0986122886681098
    """
    if not isinstance(target, pd.DataFrame):
        raise ArgumentTypeError(f"target must be a DataFrame, found {type(target).__name__}")
    made, said, known = _said(target, sources)
    moved = dict(names or {})
    _refuse_plain(target, sources, said, moved)
    gone: list[Hashable] = [dropped] if isinstance(dropped, str) else list(dropped)
    _check_names(target, moved, gone, {one.record.name for one in said})
    known |= {*made, *moved.values()}
    for one in said:
        name = one.record.name
        if name in gone:
            continue
        if name not in moved and not (one.stands and name in target.columns):
            _refuse_lost(name, target, known)
            continue
        found = replace(one.record, name=moved.get(name, name))
        made[found.name] = _joined(made[found.name], found) if found.name in made else found
    for record in made.values():
        check_fits(column_of(target, record.name), record)
    carried = target.copy(deep=False)
    carried.attrs = {**target.attrs, KEY: write(made.values())}
    return carried


@dataclass(frozen=True)
class _Said:
    """What a source says of a column.  stands : whether the source has such a column itself."""

    record: Record
    stands: bool


def _said(
    target: pd.DataFrame, sources: Iterable[Any]
) -> tuple[dict[Hashable, Record], list[_Said], set[Hashable]]:
    """What target says of its columns; all else that is said; columns that are no renamed ones."""
    own = read(target.attrs)
    made = {record.name: record for record in own if record.name in target.columns}
    said, known = [_Said(record, False) for record in own if record.name not in made], set()
    for source in sources:
        records, columns = _opened(source)
        found = [_Said(record, record.name in columns) for record in records]
        said += found
        # Where a privatized column was lost before, each of the others may be it.
        whole = all(one.stands for one in found)
        known |= {*columns} if whole else {one.record.name for one in found if one.stands}
    if not made and not said:
        raise MetadataError(
            "neither target nor the sources say how a column was made, so there is nothing to "
            "carry; give the data that rr.privatize made, or the mechanism when you estimate"
        )
    return made, said, known


def _refuse_plain(
    target: pd.DataFrame,
    sources: Iterable[Any],
    said: Iterable[_Said],
    moved: Mapping[Hashable, Hashable],
) -> None:
    """Raise where a column that one source calls reports may be the plain one of another."""
    claimed = {one.record.name for one in said if one.stands} - set(moved)
    for source in sources:
        if not isinstance(source, pd.DataFrame | pd.Series):
            continue
        records, columns = _opened(source)
        plain = set(columns) - {record.name for record in records}
        for name in [*target.columns]:
            if name in claimed and name in plain:
                raise MetadataError(
                    f"one source says that column {name!r} holds reports, and another has a "
                    f"column {name!r} of which it says nothing, so that it may hold true answers; "
                    f"give names={{{name!r}: ...}} where the reports go by another name in target, "
                    "and leave a source out whose column is not in it"
                )


def _opened(source: Any) -> tuple[list[Record], list[Hashable]]:
    """What one source says, and the columns that it has."""
    if isinstance(source, pd.DataFrame):
        return read(source.attrs), list(source.columns)
    if isinstance(source, pd.Series):
        # What its frame said of other columns is not about this one.
        mine = [record for record in read(source.attrs) if record.name == source.name]
        return mine, [source.name]
    records = [source] if isinstance(source, Record) else source
    if isinstance(records, Mapping):
        records = read({KEY: records})
    if not isinstance(records, list) or not all(isinstance(one, Record) for one in records):
        raise ArgumentTypeError(
            "each source must be a frame, a Series, a document or a list of Records (such as "
            f"rr.files.describe_file gives), found {type(source).__name__}"
        )
    return records, [record.name for record in records]


def _check_names(
    target: pd.DataFrame,
    moved: Mapping[Hashable, Hashable],
    gone: list[Hashable],
    spoken: set[Hashable],
) -> None:
    """Raise for names of columns that nobody speaks of, or that target does not have."""
    if strange := [name for name in [*moved, *gone] if name not in spoken]:
        raise ArgumentValueError(
            f"names and dropped must be of columns that the sources speak of, "
            f"{sorted(map(repr, spoken))}, found {strange[0]!r}"
        )
    for name in moved.values():
        column_of(target, name)  # raises where it is not there just once


def _refuse_lost(name: Hashable, target: pd.DataFrame, known: set[Hashable]) -> None:
    """Raise for a privatized column that may be in target under another name."""
    new = [column for column in target.columns if column not in known]
    if new:
        raise MetadataError(
            f"a source speaks of a privatized column {name!r} that target does not have from it, "
            f"and one of {new[:20]} may be it: give names={{{name!r}: ...}} where it was renamed, "
            f"dropped=[{name!r}] where it was left out, or as sources, whole, all frames that "
            "target was made of"
        )


def _joined(one: Record, other: Record) -> Record:
    """What two sources say of one column, where its rows may come from either."""
    if one.mechanism != other.mechanism or one.missing != other.missing:
        raise MetadataError(
            f"the data say two different things of how column {one.name!r} was made; where its "
            "rows were made by different mechanisms, give a column of mechanisms when you "
            "estimate (df.rr.estimate(..., mechanism=...)), else leave the wrong source out"
        )
    return replace(
        one,
        unknown=one.unknown if one.unknown == other.unknown else "warn",
        simulated=one.simulated or other.simulated,
        keyed=one.keyed or other.keyed,
    )


def check_fits(column: pd.Series[Any], record: Record) -> None:
    """Raise MetadataError for a column whose type says that it holds other values than reports.

    The type alone is looked at: its kind, and of a Categorical its categories.  Of a column of
    which only a fingerprint was kept nothing is known.
    """
    if record.is_shortened:
        return
    space = record.resolve().report_space
    try:
        open_reports(column, space)
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise MetadataError(
            f"what the data say of column {record.name!r} does not fit it: {error}"
        ) from None
    codec = codec_of(space)
    if isinstance(column.dtype, pd.CategoricalDtype) and codec.is_label:
        levels = column.dtype.categories.tolist()
        other = sum(codec.labels.code(level) >= codec.labels.k for level in levels)
        if other:
            raise MetadataError(
                f"what the data say of column {record.name!r} does not fit it: {other} of its "
                f"{len(levels)} categories are not among the reports {space.describe()}; were they "
                "renamed? Give the mechanism with the new ones when you estimate"
            )
