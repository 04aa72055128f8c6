"""Privatize whole files: one pass, bounded memory, and all or nothing.

Everything is checked first: columns, types, policies, what the source says of itself, and what
the ledger knows of earlier releases.  Then pieces of the file are read, privatized and written
beside the target, which appears when all of it is there and the ledger says so.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from rrstats.containers import form_of
from rrstats.files import documents
from rrstats.files.delimited import SIDECAR
from rrstats.files.formats import Source, check_target, open_source
from rrstats.files.ledger import Ledger, digest_of
from rrstats.files.parts import Part, ahead, even_groups
from rrstats.files.plans import Wanted, check_one_sample, wanted_columns
from rrstats.files.publishing import Publication
from rrstats.files.shuffling import Shuffle
from rrstats.mechanisms import Mechanism
from rrstats.metadata import Record, write
from rrstats.privacy import total_epsilon
from rrstats.privatizing import ColumnRelease, recorded_mechanism, warn_of

__all__ = ["Receipt", "privatize_file"]

Progress = Callable[[int, int | None], object]


@dataclass(frozen=True)
class Receipt:
    """What a release did.

    rows : of the target.  records : how each column was made.  epsilon_per_row : of all
    columns of the target that say they hold reports, earlier ones too.  account : for each
    column how often it was released from this source, as the ledger knows it, this time
    included, and the epsilon of all these releases together.  private : for each column how many
    answers were unknown and missing; for the steward only.
    """

    rows: int
    records: list[Record]
    target: Path
    seconds: float
    epsilon_per_row: float
    account: dict[str, tuple[int, float]]
    private: dict[str, dict[str, int]] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What may be printed and kept: plain JSON, nothing private."""
        columns = []
        for record in self.records:
            releases, together = self.account[str(record.name)]
            said = {"epsilon": _plain(record.epsilon), "releases": releases}
            columns.append(
                {**record.to_dict(), **said, "epsilon_of_all_releases": _plain(together)}
            )
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
        tells something.  Otherwise the row groups of a Parquet file and the batches of an Arrow
        file keep their numbers of rows, which are taken to be public; where a file was written
        group by group, or cut by its size in bytes, they may tell of answers: shuffle it.
    ledger : the private record of releases; by default beside the source.
    progress : called with the rows done so far and, where it is known, their number.
    rng : as for `privatize`.
    Returns a Receipt.  The target says how its columns were made, so that estimating needs no
    parameters; all else of the source is kept: other columns, keys and descriptions, and what
    pandas keeps as an index, which the promise does not cover, be it a copy of the answers.
    Raises FileError for files that cannot be read or written, SecondReleaseError for a column
    that was released before, UnknownAnswersError as asked, ArgumentValueError and
    ArgumentTypeError for bad arguments.  Then nothing is published; no message quotes an answer.
    """
    began = time.monotonic()
    origin = open_source(source)
    place = check_target(origin, target)
    wanted = wanted_columns(columns, unknown, missing)
    made = _prepare(origin, wanted, again, rng)
    records = [column.record() for column in made]
    per_row = max(
        total_epsilon(record.epsilon for record in documents.merge(part.records, records))
        for part in origin.parts
    )
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
            entry = book.entry(records, target=place, digest=found, rows=rows, again=again)
            with entry as known:
                publication.publish()
    finally:
        over.set()  # so that nothing is waited for after an error or Ctrl-C
        hashing.shutdown(wait=False, cancel_futures=True)
    warn_of(column.release for column in made)
    counts = {c.name: {"unknown": c.release.unknown, "missing": c.release.missing} for c in made}
    account = {}
    for column in made:
        spent = [
            release.epsilon[column.name] for release in known if column.name in release.epsilon
        ]
        account[column.name] = (len(spent), total_epsilon(spent))
    return Receipt(rows, records, place, time.monotonic() - began, per_row, account, counts)


# -- what is to be done --------------------------------------------------------------------


def _prepare(origin: Source, wanted: Iterable[Wanted], again: bool, rng: Any) -> list[_Column]:
    """The columns, checked against the source's declarations."""
    found = []
    for place, asked in enumerate(wanted):
        name, mechanism = origin.check_column(asked.name), asked.mechanism
        check_one_sample(name, mechanism)
        origin.parts[0].no_cells(name, mechanism.report_space)  # raises where it cannot hold them
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

    def _reports(self, part: Part, before: int) -> Iterator[tuple[bool, pa.RecordBatch, int]]:
        """The blocks of a part with reports: whether one opens a group, itself, and its rows."""
        domains = {column.name: column.mechanism.domain for column in self.columns}
        schema, total = part.schema_of(self.columns), self.origin.rows
        reports: dict[str, list[pa.Array]] = {name: [] for name in domains}
        opens, rows = False, 0
        size = sum(form_of(c.mechanism.report_space).report_bytes for c in self.columns)
        pieces = part.pieces(domains, report_bytes=size, lines=self.shuffle_rows)
        for piece in ahead(pieces):
            opens, rows = opens or piece.opens, rows + piece.rows
            for column in self.columns:
                reports[column.name].append(column.release.reports(piece.cells(column.name)))
            if piece.closes:
                whole = {
                    name: those[0] if len(those) == 1 else pa.concat_arrays(those)
                    for name, those in reports.items()
                }
                reports = {name: [] for name in domains}
                yield opens, piece.replaced(whole, schema), rows
                opens, rows = False, 0
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
        for opens, block, count in self._reports(part, before):
            if opens and group:
                yield group, rows
                group, rows = [], 0
            group.append(block)
            rows += count
        if group:
            yield group, rows

    def _shuffled(
        self, part: Part, before: int, folder: Path
    ) -> Iterator[tuple[list[pa.RecordBatch], int]]:
        """The rows of a part in random order; the source's groups may tell of the answers."""
        schema, expected = part.schema_of(self.columns), part.bytes_expected(self.columns)
        with Shuffle(folder, schema, expected, rng=self.rng) as shuffle:
            for _, block, _ in self._reports(part, before):
                shuffle.add(block)
            for group in even_groups(shuffle.batches()):
                yield [group], group.num_rows
