"""Streams of Arrow batches: some columns privatized, batch by batch, and nothing else changed.

What engines run on each part of their data.  A `BatchRelease` is made where its batches are, so
each task has keys of its own, and neither a key nor a word ever travels; what travels back is a
`Seen`, how many answers there were, which the place that asked adds up to warn or to refuse.
Law: that of `privatizing.ColumnRelease`, of which it has one for each column.
Not for whole files, which `privatize_file` keeps a ledger for.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import pyarrow as pa

from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError, RRStatsError
from rrstats.files import file_metadata
from rrstats.files.parts import changed_schema, is_served, no_cells
from rrstats.files.plan import Wanted, check_one_sample, wanted_columns
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.records import Record
from rrstats.privatization.column import ColumnRelease, rounds_before
from rrstats.privatization.frame import recorded_mechanism, warn_of

__all__ = ["BatchRelease", "ReleasedColumn", "Seen", "careful"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class Seen:
    """How many answers a release saw.  Private: for the steward only.

    rows : of all batches.  unknown, missing : for each column, the answers outside its
    categories, and those that are missing where missing is no category.
    """

    rows: int = 0
    unknown: dict[str, int] = field(default_factory=dict, repr=False)
    missing: dict[str, int] = field(default_factory=dict, repr=False)

    def __add__(self, other: Seen) -> Seen:
        return Seen(
            self.rows + other.rows,
            _sums(self.unknown, other.unknown),
            _sums(self.missing, other.missing),
        )


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


@dataclass(frozen=True)
class ReleasedColumn:
    """One column of a release, checked; nothing is drawn yet.

    recorded : the mechanism that the target names, a chain where reports are privatized again.
    said : what the data say of earlier rounds, if anything.
    """

    name: str
    release: ColumnRelease
    recorded: Mechanism
    has_nulls: bool
    said: Record | None

    @classmethod
    def prepare(
        cls, asked: Wanted, like: Any, said: Record | None, *, again: bool, rng: Any, **options: Any
    ) -> ReleasedColumn:
        """A column of the type of ``like``, of which the data say ``said``.

        options : as for `ColumnRelease`.
        """
        name, mechanism, missing = str(asked.name), asked.mechanism, asked.missing
        check_one_sample(name, mechanism)
        before = rounds_before(said, again)
        release = ColumnRelease(
            like,
            mechanism,
            unknown=asked.unknown,
            missing=missing,
            rng=rng,
            before=before,
            **options,
        )
        recorded = recorded_mechanism(said, mechanism, again=again, missing=missing, rng=rng)
        nulls = missing == "keep" or mechanism.report_space.missing_code is not None
        return cls(name, release, recorded, nulls, said)

    @property
    def type(self) -> pa.DataType:
        """The type of the reports."""
        return self.release.type

    @property
    def mechanism(self) -> Mechanism:
        """What makes the reports."""
        return self.release.mechanism

    def record(self) -> Record:
        """How the reports are made."""
        return Record.of(self.name, self.recorded, **self.release.facts_after(self.said))


class BatchRelease:
    """Some columns of a stream of batches, with one fresh key a column for all of them.

    schema : of the batches; its metadata may say that a column holds reports already.
    plan : a mapping from column to mechanism, a plan as for `privatize_file`, or what
        `plan.wanted_columns` made of one.
    unknown, missing, again, rng : as for `privatize_file`.  threads : as for `privatize`; 1 where
        an engine shares out the cores.
    key, id : for the keyed form, the key and the name of the column (or a list of names) that
        tells whose answer it is; then reports are the same under any recomputation.
    ``schema`` is that of the reports, with the document of how they were made; ``columns`` are
    those that change; ``id`` lists those that tell whose answer it is.  All is checked here, from
    declarations alone, and nothing drawn.
    Batches may come from several threads; a copy in another process is refused.
    Raises ArgumentValueError, ArgumentTypeError and MetadataError.

    >>> import rrstats as rr
    >>> batch = pa.record_batch({"answer": ["no", "yes"], "age": [31, 42]})
    >>> release = BatchRelease(batch.schema, {"answer": rr.KRR(["no", "yes"], 0.75)})
    >>> release.reports(batch).column("age").to_pylist(), release.seen().rows
    ([31, 42], 2)
    """

    def __init__(
        self,
        schema: pa.Schema,
        plan: Any,
        *,
        unknown: str = "warn",
        missing: str = "unknown",
        again: bool = False,
        key: Any = None,
        id: Any = None,
        rng: Any = None,
        threads: int | None = None,
    ) -> None:
        self._source = schema
        metadata = dict(schema.metadata or {})
        told = file_metadata.read_records(metadata)
        wanted = _wanted(plan, unknown, missing)
        self.id = _id_columns(schema, key, id, [asked.name for asked in wanted])
        self.columns: dict[str, ReleasedColumn] = {}
        self._lookers: dict[str, ColumnRelease] = {}
        self._one_at_a_time = threading.Lock()
        for place, asked in enumerate(wanted):
            name = _check_column(schema, metadata, asked.name)
            like = no_cells(schema.field(name).type)
            said = next((record for record in told if str(record.name) == name), None)
            options: dict[str, Any] = {"column": place, "threads": threads}
            if key is not None:
                options |= {"key": key, "name": name}
            column = ReleasedColumn.prepare(asked, like, said, again=again, rng=rng, **options)
            if column.release.may_refuse:
                self._lookers[name] = ColumnRelease(
                    like, asked.mechanism, unknown=asked.unknown, missing=asked.missing
                )
            self.columns[name] = column
        made = list(self.columns.values())
        self.records = file_metadata.merge(told, [column.record() for column in made])
        self.schema = changed_schema(schema, made).with_metadata(
            file_metadata.release_metadata(metadata, made, self.records)
        )

    def declared(self, name: str) -> pa.DataType:
        """The type of a column's answers."""
        return self._source.field(name).type

    def reports(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with reports in the place of answers; it refers to no answer.

        Raises UnknownAnswersError as asked, before anything is drawn for this batch, and
        ArgumentTypeError where the batch is not of the declared schema.
        """
        self._check(batch)
        for name in self._lookers:
            self._refuse(name, batch.column(name))
        arrays, ids = list(batch.columns), [batch.column(name) for name in self.id]
        for name in self.columns:
            place = batch.schema.get_field_index(name)
            arrays[place] = self._drawn(name, batch.column(place), ids)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def column_reports(self, name: str, cells: pa.Array, *ids: pa.Array) -> pa.Array:
        """The reports of the next answers of one column, where columns come one by one.

        ids : in the keyed form the cells of the id columns.
        """
        _check_type(name, cells.type, self.declared(name))
        self._refuse(name, cells)
        return self._drawn(name, cells, list(ids))

    def _refuse(self, name: str, cells: pa.Array) -> None:
        if (looker := self._lookers.get(name)) is not None:
            with self._one_at_a_time:
                looker.look(cells)
                looker.refuse()

    def _drawn(self, name: str, cells: pa.Array, ids: list[pa.Array]) -> pa.Array:
        release = self.columns[name].release
        if not self.id:
            return release.reports(cells)
        return release.reports(cells, ids=ids[0] if len(ids) == 1 else ids)

    @property
    def may_refuse(self) -> bool:
        """Whether all batches must be looked at before anything is drawn."""
        return bool(self._lookers)

    def look(self, batch: pa.RecordBatch) -> None:
        """Count what the policies may refuse; draws nothing."""
        self._check(batch)
        for name in self._lookers:
            self.columns[name].release.look(batch.column(name))

    def refuse(self) -> None:
        """Raise UnknownAnswersError for answers looked at that were asked to be refused.

        Then counts from the beginning: what was looked at is still to be privatized.
        """
        for name in self._lookers:
            self.columns[name].release.refuse()

    def seen(self) -> Seen:
        """How many answers there were so far; private."""
        releases = {name: column.release for name, column in self.columns.items()}
        return Seen(
            max(release.rows for release in releases.values()),
            {name: release.unknown for name, release in releases.items()},
            {name: release.missing for name, release in releases.items()},
        )

    def add(self, seen: Seen) -> None:
        """Count what the same release saw elsewhere, to `refuse` or `warn` here."""
        for name, column in self.columns.items():
            release = column.release
            release.rows += seen.rows
            release.unknown += seen.unknown.get(name, 0)
            release.missing += seen.missing.get(name, 0)

    @property
    def rows(self) -> int:
        """How many rows there were so far."""
        return self.seen().rows

    @property
    def unknown(self) -> dict[str, int]:
        """For each column the answers outside its categories; private."""
        return self.seen().unknown

    @property
    def missing(self) -> dict[str, int]:
        """For each column the missing answers, where missing is no category; private."""
        return self.seen().missing

    @property
    def warns(self) -> bool:
        """Whether the named warning is due."""
        return any(column.release.warns for column in self.columns.values())

    def warn(self) -> None:
        """The named warnings, after the results exist."""
        warn_of(column.release for column in self.columns.values())

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "a BatchRelease cannot be pickled: two copies would share their noise; make one in "
            "each task"
        )

    def _check(self, batch: pa.RecordBatch) -> None:
        declared, found = self._source, batch.schema
        if found.names != declared.names:
            raise ArgumentTypeError(
                "batch must have the columns of the schema, in its order; found "
                f"{len(found.names)} columns that are others than its {len(declared.names)}"
            )
        for name, here, there in zip(found.names, found.types, declared.types, strict=True):
            _check_type(name, here, there)


def _check_type(name: str, found: pa.DataType, declared: pa.DataType) -> None:
    if found != declared:
        raise ArgumentTypeError(
            f"column {name!r} of a batch has the type {found}, and the schema says {declared}; "
            "write the data with one schema"
        )


def careful(work: Callable[..., Result], *cells: Any) -> Result:
    """What the work makes of cells; an error that may quote them does not get out."""
    try:
        return work(*cells)
    except RRStatsError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # Raised out here, so that it does not carry the other one along.
    raise FileError(f"privatizing failed with {kind}, whose message may quote an answer")


# -- checks of declarations ----------------------------------------------------------------


def _wanted(plan: Any, unknown: str, missing: str) -> list[Wanted]:
    if isinstance(plan, list) and plan and all(isinstance(asked, Wanted) for asked in plan):
        return plan
    return wanted_columns(plan, unknown, missing)


def _check_column(schema: pa.Schema, metadata: Mapping[bytes, bytes], name: object) -> str:
    """The name, if it is a column, once, that can hold answers, and no copy of it is left."""
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"columns of these data are named by text, found {type(name).__name__}"
        )
    _check_once(schema, name)
    declared = schema.field(name).type
    if not is_served(declared):
        raise ArgumentTypeError(
            f"column {name!r} has the type {declared}, and a report is one plain value; put the "
            "answer into a column of its own"
        )
    if file_metadata.carries_copy(metadata, name):
        raise ArgumentValueError(
            f"an index of pandas has the name {name!r} too, and would release the answers; make "
            "the data again with reset_index(drop=True)"
        )
    return name


def _check_once(schema: pa.Schema, name: str) -> None:
    times = schema.names.count(name)
    if times == 1:
        return
    found = f"is there {times} times" if times else "is not there"
    near = difflib.get_close_matches(name, schema.names, n=1)
    hint = f"; did you mean {near[0]!r}" if near and not times else ""
    listed = ", ".join(repr(column) for column in schema.names[:20])
    raise ArgumentValueError(f"column {name!r} {found}{hint}; the columns are {listed}")


def _id_columns(schema: pa.Schema, key: Any, id: Any, private: list[Any]) -> list[str]:
    """The columns that tell whose answer it is; none for fresh noise."""
    if (key is None) != (id is None):
        given, absent = ("id", "key") if key is None else ("key", "id")
        raise ArgumentTypeError(
            f"{given} needs {absent} too: keyed reports follow from a key of rr.new_key() and "
            "from the column that tells whose answer it is; for fresh noise give neither"
        )
    if id is None:
        return []
    names = id if isinstance(id, list) else [id]
    if not names or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(
            "id must be the name of a column, or a list of names, found "
            + ("an empty list" if id == [] else type(id).__name__)
        )
    for name in names:
        _check_once(schema, name)
        if name in private:
            raise ArgumentValueError(
                f"id must be a public column, and {name!r} is to be privatized itself"
            )
    return names
