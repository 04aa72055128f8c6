"""Privatize some columns of Arrow batches, batch by batch, and change nothing else.

`ReleasedColumns` are the private columns of a release with their counts of answers.  Engines run a
`BatchRelease` on each part of their data.  It is created where its batches are, so each task has
its own keys, and keys and random words are never sent anywhere.  A task returns only a `Seen`, the
counts of its answers; the caller adds them up to refuse.
Each column has the distribution of its `privatization.column.ColumnRelease`.

The target shows where groups of rows end.  So the groups depend on the number of rows, the other
columns and the declared categories, never on the size of a true answer: pieces may end anywhere,
and `grouped` cuts them into groups of a constant number of rows.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa

from rrstats._checks import check_left_out, quote
from rrstats._display import Notes
from rrstats._names import nearest
from rrstats._typing import ArrowMetadata
from rrstats.data.arrow_rebuild import rebuilt_table
from rrstats.data.categories import PublicCategories
from rrstats.data.columns import check_any_column
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FileError,
    RRStatsError,
    RRStatsWarning,
    SimulationWarning,
    warn,
)
from rrstats.files import file_metadata, file_records
from rrstats.files.data_file import Blocks
from rrstats.files.file_metadata import Columns, WrittenColumn
from rrstats.files.plan import ColumnRequest, wanted_columns
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.records import ColumnRecord, check_policies
from rrstats.privatization.column import ColumnAnswers, ColumnRelease
from rrstats.privatization.frame import refuse, warn_of
from rrstats.privatization.frame_release import FrameRelease
from rrstats.randomness.keyed import Keyed, check_keyed
from rrstats.randomness.sources import BLOCK_ROWS, SIMULATED_TEXT, Unpicklable

Result = TypeVar("Result")
Item = TypeVar("Item")

BATCH_ROWS = BLOCK_ROWS
"""Rows of a piece, unless rows are wide."""

GROUP_ROWS = 4 * BLOCK_ROWS
"""The largest number of rows written at once, as in pyarrow's own row groups."""

GROUP_BYTES = 64 << 20
"""Approximate memory of the rows that are written at once."""

EVEN_ROWS = 1 << 10
"""The number of rows of a group is a multiple of this."""

FIELD_ID = b"PARQUET:field_id"

NUMBERED = "the public column"
"""The first words of a note on a column that numbers the rows, which is also a warning."""

_OF_PYARROW = (TypeError, KeyError, NotImplementedError, AttributeError, IndexError)
"""Errors that pyarrow's own code raises on unexpected files."""


# -- files -----------------------------------------------------------------------------------


class ArrowPiece:
    """Rows of an Arrow batch (a `data_file.Piece`)."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._batch.num_rows)

    def cells(self, name: str) -> pa.Array:
        """The cells of one column, as they are."""
        return self._batch.column(self._batch.schema.names.index(name))

    def shown(self, name: str) -> pa.Array:
        """The cells of one column, for the data curator."""
        return self.cells(name)

    def labels(self, name: str) -> pa.Array:
        """The cells of an ordinary column as labels of groups, without a dictionary."""
        cells = self.cells(name)
        return cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells

    def replaced(self, reports: Mapping[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
        """The rows with reports in some columns; new columns come last."""
        columns = itertools.zip_longest(schema.names, self._batch.columns)
        arrays = [reports.get(name, column) for name, column in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def grouped(
    blocks: Blocks, schema: pa.Schema, size: int, *, loose: Iterable[str] = ()
) -> Iterator[pa.Table]:
    """The rows in groups of constant size (the last may be shorter), whatever the blocks.

    Each group is rebuilt from its cells, so that it does not show where the blocks ended, and holds
    no byte that no cell shows.  loose : columns whose dictionaries were not declared.
    """
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for block in blocks:
        waiting.append(block)
        rows += block.num_rows
        while rows >= size:
            table = pa.Table.from_batches(waiting, schema)
            yield rebuilt_table(table.slice(0, size), loose=loose)
            waiting = table.slice(size).to_batches()
            rows -= size
    if rows:
        yield rebuilt_table(pa.Table.from_batches(waiting, schema), loose=loose)


def row_bytes(schema: pa.Schema) -> int:
    """Approximate bytes of one row, if text is short."""
    bits = 0
    for type in schema.types:
        type = type.index_type if pa.types.is_dictionary(type) else type
        try:
            bits += type.bit_width
        except ValueError:  # of no fixed width
            bits += 128
    return -(-bits // 8)


def changed_schema(schema: pa.Schema, changed: Columns) -> pa.Schema:
    """The schema with the types of the reports; order and names are kept, new columns come last.

    Of a private column's metadata only the field number is kept.
    """
    for name, column in changed.items():
        if name not in schema.names:
            schema = schema.append(pa.field(name, column.type, column.may_lack))
            continue
        place = schema.names.index(name)
        old = schema.field(place)
        number = (old.metadata or {}).get(FIELD_ID, b"")
        kept = {FIELD_ID: number} if number.isdigit() else None
        nullable = old.nullable or column.may_lack
        schema = schema.set(place, pa.field(name, column.type, nullable, kept))
    return schema


def ahead(items: Iterator[Item], depth: int = 2) -> Iterator[Item]:
    """Items in their order; another thread prepares the next ones while one is processed."""
    end: Any = object()
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, items, end) for _ in range(depth))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, items, end))
            yield item


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Turn errors of reading into FileError, without Arrow's messages, which may quote a cell."""
    try:
        yield
    except RRStatsError:
        raise
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise FileError(f"cannot read {path}: {error.strerror or 'no such file'}") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError, *_OF_PYARROW):
        raise FileError(
            f"cannot read {path} as {what}: it is truncated, damaged, encrypted, of a different "
            f"format than its name says, or has content that pyarrow {pa.__version__} cannot read"
        ) from None


# -- releases -----------------------------------------------------------------------------------


def _column_releases(
    requests: Sequence[ColumnRequest],
    likes: Mapping[str, pa.Array],
    earlier: Mapping[str, ColumnRecord],
    *,
    again: bool,
    key: Keyed | None,
    rng: Any,
    threads: int | None,
) -> dict[str, ColumnRelease]:
    """A release of each column, by its name; earlier : the records of earlier rounds."""
    names = [str(request.name) for request in requests]
    questions: Mapping[Any, Any] = {}
    if key is not None and key.question is not None:
        questions = key.questions(names)
    return {
        name: ColumnRelease(
            likes[name],
            request.mechanism,
            unknown=request.unknown,
            missing=request.missing,
            rng=rng,
            column=place,
            threads=threads,
            key=None if key is None else key.key,
            question=questions.get(name, name),
            record=earlier.get(name),
            again=again,
        )
        for place, (name, request) in enumerate(zip(names, requests, strict=True))
    }


def _written_columns(
    columns: Mapping[str, ColumnAnswers], plan: FramePlan | None
) -> dict[str, WrittenColumn]:
    """The columns of reports, and of a plan the public column, which says what was asked."""
    written = {name: _written(column) for name, column in columns.items()}
    if plan is not None:
        space = PublicCategories(plan.labels)
        written[str(plan.asked)] = WrittenColumn(pa.string(), space, may_lack=False)
    return written


def _written(column: ColumnAnswers) -> WrittenColumn:
    space = column.mechanism.report_space
    may_lack = column.leaves_missing or space.missing_code is not None
    return WrittenColumn(column.type, space, may_lack)


@dataclass(frozen=True)
class Seen:
    """Counts of the answers that a release read.  Private: for the data curator only.

    rows : of all batches.  unknown, missing : for each column, the number of answers outside its
    categories, and of missing answers if missing is not a category.  notes : what a shuffle changed
    in public columns.
    """

    rows: int = 0
    unknown: Counter[str] = field(default_factory=Counter, repr=False)
    missing: Counter[str] = field(default_factory=Counter, repr=False)
    notes: Notes = field(default=(), repr=False)

    def __add__(self, other: Seen) -> Seen:
        return Seen(
            self.rows + other.rows,
            self.unknown + other.unknown,
            self.missing + other.missing,
            tuple(dict.fromkeys(self.notes + other.notes)),
        )


class ReleasedColumns:
    """The columns of one release, with their common checks, counts and warnings.

    requests : the columns to privatize.  likes : an empty array of the type of each column.
    names : of all columns of the data.  records : how columns of the data were made before.
    again, key, rng, threads : as for `BatchRelease`.
    ``columns`` are the private columns by name, ``written`` all that the release writes, and
    ``new_records`` the records of how the reports are made.
    """

    id: Sequence[str] = ()

    def __init__(
        self,
        requests: Sequence[ColumnRequest],
        likes: Mapping[str, pa.Array],
        names: Iterable[str],
        *,
        records: Iterable[ColumnRecord | None] = (),
        again: bool = False,
        key: Keyed | None = None,
        rng: Any = None,
        threads: int | None = None,
    ) -> None:
        earlier = {str(record.name): record for record in records if record is not None}
        self.notes: dict[str, None] = {}
        self.columns: Mapping[str, ColumnAnswers]
        self._frame: FrameRelease | None = None
        plan = requests[0].plan
        if plan is None:
            self.columns = _column_releases(
                requests, likes, earlier, again=again, key=key, rng=rng, threads=threads
            )
        else:
            check_left_out("the coin of a plan needs fresh words", key=key)
            self._frame = FrameRelease(
                likes,
                plan,
                names,
                unknown=requests[0].unknown,
                missing=requests[0].missing,
                rng=rng,
                threads=threads,
                records=earlier.values(),
            )
            self.columns = self._frame.columns
        self.written = _written_columns(self.columns, plan)
        self.new_records = [
            ColumnRecord.of(name, column.recorded, **column.facts)
            for name, column in self.columns.items()
        ]

    def draw(self, cells: Callable[[str], pa.Array]) -> dict[str, pa.Array]:
        """The next rows of all columns to write; ``cells`` gives the cells of a column."""
        if self._frame is not None:
            checked = {name: self._checked(name, cells(name)) for name in self.columns}
            return self._frame.reports(checked)
        ids = [cells(name) for name in self.id]
        return {name: self.column_reports(name, cells(name), *ids) for name in self.columns}

    def column_reports(self, name: str, cells: pa.Array, *ids: pa.Array) -> pa.Array:
        """The reports of the next answers of one column that is privatized by itself.

        ids : for keyed reports, the cells of the id columns.
        """
        column = cast(ColumnRelease, self.columns[name])
        checked = self._checked(name, cells)
        if not ids:
            return column.reports(checked)
        return column.reports(checked, ids=ids[0] if len(ids) == 1 else list(ids))

    def _checked(self, name: str, cells: pa.Array) -> pa.Array:
        """The cells of a column, which were checked before."""
        return cells

    def refuse(self, check_call: str) -> None:
        """Raise UnknownAnswersError if the policies refuse answers whose reports were drawn.

        check_call : see `privatization.frame.refuse`.
        """
        refuse(self.columns, check_call)

    def seen(self) -> Seen:
        """Counts of the answers so far; private."""
        return Seen(
            max(column.rows for column in self.columns.values()),
            Counter({name: column.unknown for name, column in self.columns.items()}),
            Counter({name: column.missing for name, column in self.columns.items()}),
            tuple(self.notes),
        )

    def confirm(self, rows: int) -> None:
        """Raise FileError unless as many rows were privatized as were written."""
        if rows != self.seen().rows:
            raise FileError(
                f"{self.seen().rows} rows were privatized, but {rows} were written; nothing was "
                "published: run it again"
            )

    def add(self, seen: Seen) -> None:
        """Add the counts of the same release from another place, to `refuse` here."""
        for name, column in self.columns.items():
            column.add(seen.rows, seen.unknown[name], seen.missing[name])
        self.notes |= dict.fromkeys(seen.notes)

    def note(self, changes: Iterable[str], numbering: Iterable[str]) -> None:
        """Add what a shuffle changed, and public columns that still number the rows."""
        self.notes |= dict.fromkeys(changes)
        self.notes |= dict.fromkeys(
            f"{NUMBERED} {name!r} seems to number the rows of the source, so it shows their order; "
            "write the source without it if that order may reveal answers"
            for name in numbering
        )

    def warn(self, records: Iterable[ColumnRecord]) -> None:
        """Issue the warnings of the release, after the results exist.

        records : of all columns of the target, also of those that the source recorded.
        """
        warn_of(self.columns)
        others = [record for record in records if record.name not in self.columns]
        is_secure = all(column.secure for column in self.columns.values())
        if is_secure and any(record.simulated for record in others):
            warn(SIMULATED_TEXT, SimulationWarning)
        for note in self.notes:
            if note.startswith(NUMBERED):
                warn(note, RRStatsWarning)


class BatchRelease(ReleasedColumns, Unpicklable):
    """Privatize columns of a stream of batches, with one fresh key per column for all batches.

    schema : of the batches; its metadata may say that a column already holds reports.
    plan : a mapping from column to mechanism, a plan as for `privatize_file`, or the result of
        `plan.wanted_columns`.
    unknown, missing, again, rng : as for `privatize_file`.  threads : as for `privatize`; 1 if
        an engine assigns the cores.
    key : for keyed reports, the key and the names of the columns that identify the respondent;
        then every recomputation gives the same reports.
    The attribute ``schema`` is that of the reports, with the document of how they were made;
    ``columns`` are the private columns; ``id`` lists the identifying columns.  Everything is
    checked here, from declarations alone; nothing is drawn.
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
        unknown: str = "raise",
        missing: str = "unknown",
        again: bool = False,
        key: Keyed | None = None,
        rng: Any = None,
        threads: int | None = None,
    ) -> None:
        self._source = schema
        metadata = dict(schema.metadata or {})
        source_records = file_records.records(metadata)
        requests = wanted_columns(plan, unknown, missing)
        private = [request.name for request in requests]
        self.id = [] if key is None else _id_columns(schema, check_keyed(key).id, private)
        likes = {}
        check_any_column(schema.names, private)
        for request in requests:
            name = check_column(request.name, schema.names, self.declared, metadata)
            likes[name] = pa.nulls(0, self.declared(name))
        super().__init__(
            requests,
            likes,
            schema.names,
            records=source_records,
            again=again,
            key=key,
            rng=rng,
            threads=threads,
        )
        self.records = file_records.merge(source_records, self.new_records)
        self.schema = changed_schema(schema, self.written).with_metadata(
            file_metadata.release_metadata(metadata, self.written, self.records)
        )

    def declared(self, name: str) -> pa.DataType:
        """The type of a column's answers."""
        return self._source.field(name).type

    def reports(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with reports instead of answers, and no reference to an answer.

        Nothing is refused here: call `refuse` when all batches are drawn, before they are
        published.  Raises ArgumentTypeError if the batch does not have the declared schema.
        """
        self._check(batch)
        return ArrowPiece(batch).replaced(self.draw(batch.column), self.schema)

    def _checked(self, name: str, cells: pa.Array) -> pa.Array:
        """The cells, if they have the declared type."""
        declared = self.declared(name)
        if cells.type != declared:
            raise ArgumentTypeError(
                f"column {name!r} of a batch has the type {cells.type}, and the schema says "
                f"{declared}; write the data with one schema"
            )
        return cells

    def _check(self, batch: pa.RecordBatch) -> None:
        if batch.schema.names != self._source.names:
            raise ArgumentTypeError(
                f"batch must have the {len(self._source.names)} columns of the schema in the same "
                f"order; found {len(batch.schema.names)} columns with other names or another order"
            )


def careful(work: Callable[..., Result], *cells: Any) -> Result:
    """The result of work on cells; an error that may quote cells is replaced."""
    try:
        return work(*cells)
    except Exception as error:
        failed = anew(error, "privatizing")
    # Raised outside the except block, so that it does not carry the original error.
    raise failed


def anew(error: Exception, what: str) -> RRStatsError:
    """A new error that is safe to pass on: it holds no stack frames, and so no cells.

    Errors of rrstats keep their message, errors of the system their reason, and all others only
    their type.  what : the step that failed.
    """
    if isinstance(error, RRStatsError):
        return type(error)(*error.args)
    if isinstance(error, OSError) and isinstance(error.errno, int):
        why = os.strerror(error.errno).lower()
        hint = ""
        if isinstance(error, FileNotFoundError):
            hint = (
                "; source and target must lie on a disk that all workers see under the same paths"
            )
        return FileError(f"{what} failed: {why}{hint}; nothing was published")
    return FileError(
        f"{what} failed with {type(error).__name__}; its message is not shown because it may "
        "quote an answer; nothing was published"
    )


def check_lazy(key: Keyed | None, sink: str, columns: Any) -> None:
    """Raise ArgumentTypeError unless a lazy result is the same whenever it is computed."""
    is_plan = isinstance(columns, FramePlan)
    if is_plan or key is None:
        hint = ", or give key=rr.client.Keyed(key, id) and unknown='uniform' for keyed reports"
        if is_plan:
            hint = "; the coin of a plan cannot be keyed"
        raise ArgumentTypeError(
            "a lazy frame is computed again each time it is used, and each time would be another "
            f"release of the same answers; write it once with rrstats.engines.{sink}{hint}"
        )


def check_told(unknown: str, missing: str, sink: str) -> None:
    """Raise ArgumentValueError if a policy refuses answers of a lazy frame, drawn after the call.

    sink : the function of rrstats.engines that refuses before it publishes.
    """
    check_policies(unknown, missing)
    if "raise" in (unknown, missing):
        raise ArgumentValueError(
            "unknown='raise', the default, and missing='raise' are refused here: the reports are "
            "drawn after this call, when it is too late to refuse an answer; give "
            "unknown='uniform', which replaces each answer that is no category by a random one, "
            f"or write with rrstats.engines.{sink}, which refuses before it publishes"
        )


# -- checks of declarations ----------------------------------------------------------------


def check_column(
    name: Hashable,
    names: Sequence[str],
    type_of: Callable[[str], pa.DataType],
    metadata: ArrowMetadata,
    *,
    where: str = "",
    shown: bool = True,
) -> str:
    """The name, if it names exactly one column that can hold answers and has no copy.

    where : " of" the data, for errors.  shown : as for `_check_once`.
    """
    column = _check_once(name, names, where, shown=shown)
    declared = type_of(column)
    values: Any = declared.value_type if pa.types.is_dictionary(declared) else declared
    if pa.types.is_nested(values) or isinstance(values, pa.BaseExtensionType):
        raise ArgumentTypeError(
            f"column {column!r}{where} has the type {declared}, but a report is one plain value; "
            "put the answer into a column of its own"
        )
    if file_metadata.carries_copy(metadata, column):
        raise ArgumentValueError(
            f"a pandas index{where} also has the name {column!r}, and would release the answers; "
            "write the data again after reset_index(drop=True)"
        )
    return column


def _check_once(
    name: Hashable, names: Sequence[str], where: str = "", *, shown: bool = True
) -> str:
    """The name of a column, if there is exactly one such column.

    shown : whether errors may name the other columns; without a header they are answers.
    """
    times = names.count(name) if isinstance(name, str) else 0  # others may be cells
    if times == 1:
        return str(name)
    problem = f"is there {times} times" if times else "is not there"
    if shown:
        near = nearest(name, names)
        hint = f"; did you mean {near!r}" if near is not None and not times else ""
        hint += f"; the columns are {', '.join(map(repr, names[:20]))}"
    else:
        count = "1 cell" if len(names) == 1 else f"{len(names)} cells"
        hint = f"; its first line has {count}: is that line a header with the names?"
    raise ArgumentValueError(f"column {quote(name)}{where} {problem}{hint}")


def _id_columns(schema: pa.Schema, id: str | list[str], private: list[Hashable]) -> list[str]:
    """The columns that identify the respondent."""
    names = id if isinstance(id, list) else [id]
    for name in names:
        _check_once(name, schema.names)
        if name in private:
            raise ArgumentValueError(
                f"id must be a public column, but {name!r} is to be privatized"
            )
    return names
