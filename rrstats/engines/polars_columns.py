"""Columns of Polars as columns of Arrow, and back: what the sink and the namespaces share.

The type of reports follows from the declaration: what came as Categorical or Enum is an Enum of
the declared categories, because a Categorical of Polars may carry words from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import polars as pl
import polars.selectors as cs
import pyarrow as pa

from rrstats.errors import ArgumentTypeError, FileError, RRStatsError
from rrstats.files.batches import BatchRelease, ReleasedColumn, careful
from rrstats.files.plan import Wanted

__all__ = ["as_series", "drawn", "look", "open_release", "report_types", "retold", "stream"]

Result = TypeVar("Result")


def retold(text: str, work: Callable[[], Result], told: Sequence[RRStatsError] = ()) -> Result:
    """What the work returns; an error of Polars as FileError, by its kind alone.

    told : errors of ours, which Polars wraps in its own; the first of them is raised instead.
    """
    try:
        return work()
    except Exception as error:
        kind = type(error).__name__
    # Raised out here, so that it does not carry the other one along, nor Polars' notes to it.
    if told:
        raise type(told[0])(*told[0].args)
    raise FileError(
        f"{text}: {kind}, whose message may quote an answer and is not told; nothing was published"
    )


def open_release(schema: Mapping[str, Any], wanted: list[Wanted], **options: Any) -> BatchRelease:
    """The release of some columns, of the others only the ids and the names count."""
    ids = options.get("id") or []
    needed = {str(asked.name) for asked in wanted} | set(ids if isinstance(ids, list) else [ids])
    fields = [
        pa.field(name, _arrow_type(name, kind) if name in needed else pa.null())
        for name, kind in schema.items()
    ]
    return BatchRelease(pa.schema(fields), wanted, **options)


def _arrow_type(name: str, kind: Any) -> pa.DataType:
    try:
        return pl.Series([], dtype=kind).to_arrow().type
    except Exception:  # each kind of Python object that Polars holds has its own
        raise ArgumentTypeError(
            f"column {name!r} has the type {kind}, and a report is one plain value; put the answer "
            "into a column of its own"
        ) from None


def _report_type(column: ReleasedColumn) -> Any:
    """The type of a column's reports in Polars; it follows from the declaration alone."""
    if pa.types.is_dictionary(column.type):
        categories = column.mechanism.report_space.categories
        return pl.Enum([str(text) for text in categories if text is not None])
    return pl.Series(pl.from_arrow(pa.array([], type=column.type))).dtype


def stream(frame: pl.LazyFrame, work: Callable[[pl.DataFrame], pl.DataFrame], schema: Any) -> Any:
    """The frame, in batches, as the work makes it.

    Not as expressions: of a column that is the same in all rows, such as the key of a partition,
    Polars shows these one cell and repeats the report.  Nothing is moved through the work.
    """
    return frame.map_batches(
        work,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=schema,
        streamable=True,
    )


def drawn(release: BatchRelease, types: Mapping[str, Any], batch: pl.DataFrame) -> pl.DataFrame:
    """A batch with reports in the place of answers."""
    ids = [batch[name].to_arrow() for name in release.id]
    reports = [
        as_series(name, release.column_reports(name, batch[name].to_arrow(), *ids), kind)
        for name, kind in types.items()
    ]
    return batch.with_columns(reports)


def as_series(name: str, reports: pa.Array, kind: Any) -> pl.Series:
    """Reports as Polars has them, in the type declared for them."""
    return pl.Series(name, pl.from_arrow(reports)).cast(kind)


def report_types(release: BatchRelease) -> dict[str, Any]:
    """For each private column the type of its reports in Polars."""
    return {name: _report_type(column) for name, column in release.columns.items()}


def look(frame: pl.LazyFrame, release: BatchRelease) -> None:
    """Look at all answers first, where some may be refused; nothing is drawn."""
    if not release.may_refuse:
        return
    names = [name for name, column in release.columns.items() if column.release.may_refuse]

    def looked(batch: pl.DataFrame) -> pl.DataFrame:
        for name in names:
            careful(release.columns[name].release.look, batch[name].to_arrow())
        return batch.clear()

    asked = frame.select(cs.by_name(*names))
    seen = stream(asked, looked, asked.collect_schema())
    retold("the answers could not be looked at", lambda: seen.collect(engine="streaming"))
    release.refuse()
