"""Privatize whole files: one pass, bounded memory, and all or nothing.

Everything is checked first: columns, types, policies, what the source says of itself, and what
the ledger knows of earlier releases.  Then pieces of the file are read, privatized and written
beside the target, which appears when all of it is there and the ledger says so.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
)
from rrstats.files import documents
from rrstats.files.delimited import SIDECAR
from rrstats.files.formats import Source, check_target, open_source
from rrstats.files.ledger import Ledger, digest_of
from rrstats.files.parts import Part, Piece, ahead
from rrstats.files.plans import read_plan
from rrstats.files.publishing import Publication
from rrstats.files.shuffling import Shuffle
from rrstats.mechanisms import Mechanism, as_mechanism
from rrstats.metadata import KEY, Record, read, write
from rrstats.privacy import total_epsilon
from rrstats.privatizing import ColumnRelease, recorded_mechanism, warn_of

__all__ = ["Receipt", "privatize_file"]

EXPANSION = 4

Progress = Callable[[int, int | None], object]


@dataclass(frozen=True)
class Receipt:
    """What a release did.

    rows : of the target.  records : how each column was made.  epsilon_per_row : of all
    columns of the target that say they hold reports, earlier ones too.  private : for each
    column how many answers were unknown and missing; for the steward only.
    """

    rows: int
    records: list[Record]
    target: Path
    seconds: float
    epsilon_per_row: float
    private: dict[str, dict[str, int]] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What may be printed and kept: plain JSON, nothing private."""
        columns = [
            {**record.to_dict(), "epsilon": _plain(record.epsilon)} for record in self.records
        ]
        return {
            "target": str(self.target),
            "rows": self.rows,
            "columns": columns,
            "epsilon_per_row": _plain(self.epsilon_per_row),
            "seconds": round(self.seconds, 3),
        }


def _plain(epsilon: float) -> float | str:
    return epsilon if epsilon < float("inf") else "inf"


@dataclass(frozen=True)
class _Column:
    """One column of the release, checked; nothing is drawn yet."""

    name: str
    release: ColumnRelease
    recorded: Mechanism
    has_nulls: bool

    @property
    def type(self) -> pa.DataType:
        return self.release.type

    @property
    def mechanism(self) -> Mechanism:
        return self.release.mechanism

    def record(self) -> Record:
        return Record.of(self.name, self.recorded, **self.release.facts()[1])


def privatize_file(
    source: Path | str,
    target: Path | str,
    columns: Any,
    *,
    unknown: str = "warn",
    missing: str = "unknown",
    again: bool = False,
    overwrite: bool = False,
    shuffle_rows: bool = False,
    ledger: Path | str | None = None,
    progress: Progress | None = None,
    rng: Any = None,
) -> Receipt:
    """Privatize columns of a file, or of a directory of Parquet files, into a new one.

    source, target : paths of the same format: Parquet (.parquet, .pq, or a directory of such
        files), Arrow IPC (.feather, .arrow, .ipc), CSV and TSV (also .gz).
    columns : a mapping from column to mechanism; or a plan: a list of records, a document, or
        the path of a .json or .toml file.
    unknown, missing : as for `privatize`, for all columns; a plan says them itself.
    again : release although the source says that a column holds reports (recorded as both
        rounds), or although the ledger knows an earlier release (epsilons add up).
    overwrite : replace an existing target.
    shuffle_rows : write the rows of each file in a uniformly random order, where their order
        tells something.
    ledger : the private record of releases; by default beside the source.
    progress : called with the rows done so far and, where it is known, their number.
    rng : as for `privatize`.
    Returns a Receipt.  The target says how its columns were made, so that estimating needs no
    parameters; all else of the source is kept.
    Raises FileError for files that cannot be read or written, SecondReleaseError for a column
    that was released before, UnknownAnswersError as asked, ArgumentValueError and
    ArgumentTypeError for bad arguments.  Then nothing is published; no message quotes an answer.
    """
    began = time.monotonic()
    origin = open_source(source)
    place = check_target(origin, target)
    wanted = _wanted(columns, unknown, missing)
    made = _prepare(origin, wanted, again, rng)
    records = [column.record() for column in made]
    for part in origin.parts:
        total_epsilon(record.epsilon for record in documents.merge(part.records, records))
    book = Ledger.of(origin.path, None if ledger is None else Path(ledger))
    book.refuse(records, again)
    work = _Work(origin, made, records, shuffle_rows, progress, rng)
    hashing, over = ThreadPoolExecutor(1), threading.Event()
    try:
        digest = hashing.submit(digest_of, origin.path, over)
        with Publication(place, overwrite=overwrite, directory=origin.is_directory) as publication:
            work.refuse()
            rows = work.write(publication, place.parent)
            origin.check_unchanged()
            found = digest.result()
            with book.entry(records, target=place, digest=found, rows=rows, again=again):
                publication.publish()
    finally:
        over.set()  # so that nothing is waited for after an error or Ctrl-C
        hashing.shutdown(wait=False, cancel_futures=True)
    warn_of(column.release for column in made)
    said = documents.merge(origin.parts[0].records, records)
    counts = {c.name: {"unknown": c.release.unknown, "missing": c.release.missing} for c in made}
    per_row = total_epsilon(record.epsilon for record in said)
    return Receipt(rows, records, place, time.monotonic() - began, per_row, counts)


# -- what is to be done --------------------------------------------------------------------


@dataclass(frozen=True)
class _Wanted:
    name: Any
    mechanism: Mechanism
    unknown: str
    missing: str


def _wanted(columns: Any, unknown: str, missing: str) -> list[_Wanted]:
    """The columns that a mapping or a plan asks for."""
    is_plan = isinstance(columns, str | Path | list) or (
        isinstance(columns, Mapping) and set(columns) == {"v", "columns"}
    )
    if not is_plan:
        if not isinstance(columns, Mapping):
            raise ArgumentTypeError(
                "columns must be a mapping from column to mechanism, or a plan, found "
                f"{type(columns).__name__}"
            )
        found = [_Wanted(n, as_mechanism(given), unknown, missing) for n, given in columns.items()]
    else:
        if (unknown, missing) != ("warn", "unknown"):
            raise ArgumentTypeError(
                "a plan says for each column what unknown and missing mean; leave them out"
            )
        records = columns if isinstance(columns, list) else None
        if isinstance(columns, str | Path):
            records = read_plan(Path(columns))
        elif records is None:
            records = read({KEY: columns})
        found = [_asked(record) for record in records]
    if not found:
        raise ArgumentValueError("columns must name at least one column, found none")
    twice = [w.name for i, w in enumerate(found) if w.name in [o.name for o in found[:i]]]
    if twice:
        raise ArgumentValueError(f"column {twice[0]!r} is asked for twice")
    return found


def _asked(record: object) -> _Wanted:
    if not isinstance(record, Record):
        raise ArgumentTypeError(f"a plan must be a list of records, found {type(record).__name__}")
    if record.simulated or record.keyed:
        raise ArgumentValueError(
            f"the plan calls column {record.name!r} simulated or keyed, which no plan can ask for; "
            "leave it out"
        )
    return _Wanted(record.name, record.resolve(), record.unknown, record.missing)


def _prepare(origin: Source, wanted: Iterable[_Wanted], again: bool, rng: Any) -> list[_Column]:
    """The columns, checked against the source's declarations."""
    found = []
    for place, asked in enumerate(wanted):
        name, mechanism = origin.check_column(asked.name), asked.mechanism
        release = ColumnRelease(
            origin.parts[0].no_cells(name, mechanism.domain),
            mechanism,
            unknown=asked.unknown,
            missing=asked.missing,
            rng=rng,
            column=place,
        )
        said = origin.record_of(name)
        recorded = recorded_mechanism(said, mechanism, again=again, missing=asked.missing, rng=rng)
        nulls = asked.missing == "keep" or mechanism.report_space.missing_code is not None
        found.append(_Column(name, release, recorded, nulls))
    return found


# -- doing it ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Work:
    origin: Source
    columns: Sequence[_Column]
    records: Sequence[Record]
    shuffle_rows: bool
    progress: Progress | None
    rng: Any

    def refuse(self) -> None:
        """Look at all answers first, where some may be refused; nothing is drawn."""
        careful = [column for column in self.columns if column.release.may_refuse]
        if not careful:
            return
        domains = {column.name: column.mechanism.domain for column in careful}
        for part in self.origin.parts:
            for piece in part.pieces(domains, only=True):
                for column in careful:
                    column.release.look(piece.cells(column.name))
        for column in careful:
            column.release.refuse()

    def write(self, publication: Publication, folder: Path) -> int:
        """Write all parts; how many rows they have."""
        rows = 0
        for part in self.origin.parts:
            name = part.relative if self.origin.is_directory else None
            said = documents.merge(part.records, self.records)
            with publication.open(name) as sink:
                writer = part.writer(sink, self.columns, said, self.shuffle_rows)
                try:
                    for group, count in self._groups(part, rows, folder):
                        writer.write(group)
                        rows += count
                except BaseException:
                    with suppress(Exception):  # it would write on when it is forgotten
                        writer.close()
                    raise
                writer.close()
            if part.document_is_beside:
                publication.beside(SIDECAR, json.dumps(write(said), indent=1).encode() + b"\n")
        return rows

    def _reports(self, part: Part, before: int) -> Iterator[tuple[Piece, pa.RecordBatch]]:
        """Pieces of a part, and the same rows with reports."""
        domains = {column.name: column.mechanism.domain for column in self.columns}
        schema, total = part.schema_of(self.columns), self.origin.rows
        for piece in ahead(part.pieces(domains, lines=self.shuffle_rows)):
            reports = {
                column.name: column.release.reports(piece.cells(column.name))
                for column in self.columns
            }
            yield piece, piece.replaced(reports, schema)
            before += piece.rows
            if self.progress is not None:
                self.progress(before, total)

    def _groups(
        self, part: Part, before: int, folder: Path
    ) -> Iterator[tuple[list[pa.RecordBatch], int]]:
        """What is written at once, and how many rows it has."""
        if self.shuffle_rows:
            yield from self._shuffled(part, before, folder)
            return
        group: list[pa.RecordBatch] = []
        rows = 0
        for piece, batch in self._reports(part, before):
            if piece.opens and group:
                yield group, rows
                group, rows = [], 0
            group.append(batch)
            rows += piece.rows
        if group:
            yield group, rows

    def _shuffled(
        self, part: Part, before: int, folder: Path
    ) -> Iterator[tuple[list[pa.RecordBatch], int]]:
        """The rows of a part in random order, in groups as large as those of the source."""
        sizes: list[int] = []
        # Compressed files are some times larger in memory; a bad guess costs only time.
        expected = EXPANSION * part.path.stat().st_size
        with Shuffle(folder, part.schema_of(self.columns), expected, rng=self.rng) as shuffle:
            for piece, batch in self._reports(part, before):
                sizes += [0] if piece.opens or not sizes else []
                sizes[-1] += piece.rows
                shuffle.add(batch)
            yield from regrouped(shuffle.batches(), sizes)


def regrouped(
    batches: Iterable[pa.RecordBatch], sizes: Iterable[int]
) -> Iterator[tuple[list[pa.RecordBatch], int]]:
    """The rows of some batches in groups of the given sizes, which add up to all rows."""
    stream = iter(batches)
    rest: pa.RecordBatch | None = None
    for size in sizes:
        group, needed = [], size
        while needed:
            batch = next(stream) if rest is None else rest
            group.append(batch.slice(0, needed))
            rest = batch.slice(needed) if batch.num_rows > needed else None
            needed -= group[-1].num_rows
        yield group, size
