"""Privatize whole files: one pass, bounded memory, and all or nothing.

Everything is checked first: columns, types, policies, what the source says of itself, and what
the ledger knows of earlier releases.  Then pieces of the file are read, privatized and written
beside the target, which appears when all of it is there and the ledger says so.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.files import documents
from rrstats.files.batches import BatchRelease, ReleasedColumn, Seen
from rrstats.files.delimited import SIDECAR
from rrstats.files.formats import FORMATS, PARQUET, Source, check_target, open_source
from rrstats.files.ledger import Ledger, digest_of
from rrstats.files.plans import Wanted, check_one_sample, wanted_columns
from rrstats.files.publishing import Publication
from rrstats.files.rewriting import look, rewrite
from rrstats.files.spreading import FileTask, Run, Spread, Task
from rrstats.mechanisms.epsilon import total_epsilon
from rrstats.mechanisms.records import Record, write
from rrstats.privatization.frame import warn_of

__all__ = ["Receipt", "privatize_batches", "privatize_file", "privatize_spread"]

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
    target: Path | str
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
    made = _prepare(origin, wanted_columns(columns, unknown, missing), again, rng)
    records = [column.record() for column in made]
    hands = _OneByOne(origin, made, records, shuffle_rows, progress, rng)
    release = _Release(origin, place, made, records, again, overwrite)
    return release.run(hands, ledger, began, directory=origin.is_directory)


def privatize_spread(
    source: Path | str,
    target: Path | str,
    columns: Any,
    run: Run,
    *,
    unknown: str = "warn",
    missing: str = "unknown",
    again: bool = False,
    overwrite: bool = False,
    shuffle_rows: bool = False,
    ledger: Path | str | None = None,
    progress: Progress | None = None,
) -> Receipt:
    """As `privatize_file`, but each Parquet file is written by a task of an engine, at once.

    source : a Parquet file or a directory of them, as the engine's machines see it.
    target : a directory; it also gets the document of how it was made, and ``_SUCCESS``.
    run : how the engine runs tasks, see `spreading.Run`.  Every task draws fresh keys.
    The other arguments, what is returned and what is raised are those of `privatize_file`.
    """
    began = time.monotonic()
    origin = open_source(_absolute(source, "source"))
    place = _check_directory(origin, _absolute(target, "target"))
    wanted = wanted_columns(columns, unknown, missing)
    made = _prepare(origin, wanted, again, None)
    records = [column.record() for column in made]
    tasks = []
    for part in origin.parts:
        said = documents.merge(part.records, records)
        tasks.append(FileTask(part.path, part.relative, part.rows, wanted, said, shuffle_rows))
    alike = [r for r in origin.parts[0].records if all(r in p.records for p in origin.parts)]
    hands = Spread(tasks, run, documents.merge(alike, records), partial(_add, made), progress)
    release = _Release(origin, place, made, records, again, overwrite)
    return release.run(hands, ledger, began, directory=True)


def privatize_batches(
    tasks: Sequence[Task],
    target: Path | str,
    release: BatchRelease,
    run: Run,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Receipt:
    """Let tasks of an engine write the parts of data that lie in no file: a directory of Parquet.

    release : the columns as the tasks will release them, for checks, records and counts.
    No ledger is kept, because nothing tells whether two frames hold the same answers.
    """
    began, place = time.monotonic(), _absolute(target, "target")
    _check_ending(place)
    columns = list(release.columns.values())
    hands = Spread(tasks, run, release.records, release.add, progress)
    with Publication(place, overwrite=overwrite, directory=True) as publication:
        _refuse(hands, columns)
        rows = hands.write(publication)
        publication.publish()
    account = {c.name: (1, total_epsilon([c.record().epsilon])) for c in columns}
    per_row = total_epsilon(record.epsilon for record in release.records)
    return _receipt(rows, place, columns, began, per_row, account)


# -- what is to be done --------------------------------------------------------------------


def _prepare(
    origin: Source, wanted: Iterable[Wanted], again: bool, rng: Any
) -> list[ReleasedColumn]:
    """The columns, checked against the source's declarations."""
    found = []
    first = origin.parts[0]
    for place, asked in enumerate(wanted):
        name, mechanism = origin.check_column(asked.name), asked.mechanism
        check_one_sample(name, mechanism)
        first.no_cells(name, mechanism.report_space)  # raises where it cannot hold them
        like, said = first.no_cells(name, mechanism.domain), origin.record_of(name)
        found.append(ReleasedColumn.prepare(asked, like, said, again=again, rng=rng, column=place))
    return found


def _absolute(path: Any, argument: str) -> Path:
    """A path that other processes understand too."""
    if isinstance(path, str) and "://" in path:
        raise ArgumentValueError(
            f"{argument} must be a path on a disk that all machines share, got {path!r}; what lies "
            "elsewhere must be copied there first"
        )
    if not isinstance(path, str | os.PathLike):
        raise ArgumentTypeError(f"{argument} must be a path, found {type(path).__name__}")
    return Path(os.path.abspath(path))  # noqa: PTH100  # links stay as they are


def _check_directory(origin: Source, target: Path) -> Path:
    """The directory to write to, if the source is Parquet and apart from it."""
    if origin.format is not PARQUET:
        raise ArgumentValueError(
            f"source must be a Parquet file or a directory of them, got {str(origin.path)!r}; "
            "rr.files.privatize_file takes other formats"
        )
    _check_ending(target)
    return check_target(replace(origin, is_directory=True), target)


def _check_ending(target: Path) -> None:
    if target.name.lower().endswith(tuple(end for form in FORMATS for end in form.endings)):
        raise ArgumentValueError(
            f"target must be a directory, which gets one file for each part, got {str(target)!r}; "
            "name it without the ending of a file"
        )


# -- doing it ------------------------------------------------------------------------------


class _Hands(Protocol):
    """Who looks at the parts and writes them."""

    def look(self) -> None:
        """Count the answers that may be refused, in all parts."""
        ...

    def write(self, publication: Publication) -> int:
        """Write all parts; how many rows they have."""
        ...


def _refuse(hands: _Hands, columns: Sequence[ReleasedColumn]) -> None:
    """Look at all answers first, where some may be refused; nothing is drawn."""
    if any(column.release.may_refuse for column in columns):
        hands.look()
        for column in columns:
            column.release.refuse()


def _add(columns: Iterable[ReleasedColumn], seen: Seen) -> None:
    """Count what a task saw elsewhere."""
    for column in columns:
        release = column.release
        release.rows += seen.rows
        release.unknown += seen.unknown[column.name]
        release.missing += seen.missing[column.name]


def _receipt(
    rows: int,
    place: Path,
    columns: Sequence[ReleasedColumn],
    began: float,
    per_row: float,
    account: dict[str, tuple[int, float]],
) -> Receipt:
    """What was done, with the named warnings."""
    warn_of(column.release for column in columns)
    counts = {c.name: {"unknown": c.release.unknown, "missing": c.release.missing} for c in columns}
    records = [column.record() for column in columns]
    return Receipt(rows, records, place, time.monotonic() - began, per_row, account, counts)


@dataclass(frozen=True)
class _Release:
    """The release of a source that lies in files: refused or entered in its ledger."""

    origin: Source
    place: Path
    columns: Sequence[ReleasedColumn]
    records: Sequence[Record]
    again: bool
    overwrite: bool

    def run(
        self, hands: _Hands, ledger: Path | str | None, began: float, *, directory: bool
    ) -> Receipt:
        origin, place, records, again = self.origin, self.place, self.records, self.again
        per_row = max(
            total_epsilon(record.epsilon for record in documents.merge(part.records, records))
            for part in origin.parts
        )
        book = Ledger.of(origin.path, None if ledger is None else Path(ledger))
        book.refuse(records, again)
        hashing, over = ThreadPoolExecutor(1), threading.Event()
        try:
            digest = hashing.submit(digest_of, origin.path, over)
            with Publication(place, overwrite=self.overwrite, directory=directory) as publication:
                _refuse(hands, self.columns)
                rows = hands.write(publication)
                origin.check_unchanged()
                found = digest.result()
                entry = book.entry(records, target=place, digest=found, rows=rows, again=again)
                with entry as known:
                    publication.publish()
        finally:
            over.set()  # so that nothing is waited for after an error or Ctrl-C
            hashing.shutdown(wait=False, cancel_futures=True)
        account = {}
        for column in self.columns:
            spent = [r.epsilon[column.name] for r in known if column.name in r.epsilon]
            account[column.name] = (len(spent), total_epsilon(spent))
        return _receipt(rows, place, self.columns, began, per_row, account)


@dataclass(frozen=True)
class _OneByOne:
    """This process does it, with one key a column for all parts."""

    origin: Source
    columns: Sequence[ReleasedColumn]
    records: Sequence[Record]
    shuffle_rows: bool
    progress: Progress | None
    rng: Any

    def look(self) -> None:
        for part in self.origin.parts:
            look(part, self.columns)

    def write(self, publication: Publication) -> int:
        folder, rows, done, total = publication.target.parent, 0, 0, self.origin.rows

        def tell(more: int) -> None:
            nonlocal done
            done += more
            if self.progress is not None:
                self.progress(done, total)

        for part in self.origin.parts:
            name = part.relative if self.origin.is_directory else None
            with publication.open(name) as sink:
                rows += rewrite(
                    part,
                    sink,
                    self.columns,
                    self.records,
                    folder,
                    shuffle_rows=self.shuffle_rows,
                    rng=self.rng,
                    tell=tell,
                )
            if part.document_is_beside:
                said = documents.merge(part.records, self.records)
                publication.beside(SIDECAR, json.dumps(write(said), indent=1).encode() + b"\n")
        return rows
