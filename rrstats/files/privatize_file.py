"""Privatize whole files, and save released frames, in bounded memory and completely or not at all.

Everything is checked first: columns, types, policies, the source's own records, and the earlier
releases in the ledger.  Then pieces of the file are read, privatized and written beside the
target, and removed if the policies refuse an answer.  The release is entered in the ledger, and
then the target appears, complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rrstats._checks import check_ending, quote
from rrstats._display import Notes, counted
from rrstats._names import checked_keywords
from rrstats._typing import FilePath, JsonObject, Labels
from rrstats.data.columns import check_any_column, column_of
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FileError,
    MetadataError,
    RRStatsError,
    SimulationWarning,
    warn,
)
from rrstats.files import file_metadata, file_records
from rrstats.files.atomic import LEDGER, Publication, check_overwrite, make, repair
from rrstats.files.batches import (
    BatchRelease,
    ReleasedColumns,
    Seen,
    ahead,
    anew,
    grouped,
    reading,
)
from rrstats.files.csv import Words
from rrstats.files.data_file import DataFile, ReportSpace
from rrstats.files.formats import (
    ENDINGS,
    PARQUET,
    FileSource,
    ParquetFile,
    check_directory,
    check_target,
    format_of,
    open_source,
)
from rrstats.files.ledger import Ledger, LedgerEntry, RowTotal, digest_of, plain_epsilon, spent
from rrstats.files.plan import ColumnRequest, wanted_columns
from rrstats.files.read_file import other_cells
from rrstats.files.shuffle import Shuffle
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.mechanisms.krr import MechanismLike
from rrstats.mechanisms.records import ColumnRecord, write
from rrstats.mechanisms.row_privacy import VOID, epsilon_text
from rrstats.privatization.frame import TABLE_CHECK, column_mechanisms
from rrstats.randomness.sources import SIMULATED_TEXT, secret_bytes

Progress = Callable[[int, int | None], object]


@dataclass(frozen=True, repr=False)
class Receipt:
    """The outcome of a release.

    Attributes
    ----------
    rows : int
        The number of rows of the target.
    records : list of ColumnRecord
        How each column was made.
    target : path
        The file or directory that was written.
    seconds : float
        The duration of the release.
    epsilon_per_row : float
        The total epsilon of one row over all recorded columns: those of the target, and those that
        the ledger records as released from this source before.
    account : dict
        For each column the number of its releases from this source according to the ledger, this
        one included, and their total epsilon.
    private : dict
        For each column the numbers of unknown and missing answers, in a plan among the rows that
        were asked; for the data curator only.
    ledger : Path or None
        The ledger in which the release was entered; None if it was not entered.
    void : tuple of hashables
        Those of these columns whose noise was simulated: they make ``epsilon_per_row`` infinite.
    notes : tuple of str
        What a release in random order changed in public columns, so that they do not show the order
        of the source; and columns that still show it.
    """

    rows: int
    records: list[ColumnRecord]
    target: FilePath
    seconds: float
    epsilon_per_row: float
    account: dict[str, tuple[int, float]]
    private: dict[str, dict[str, int]]
    ledger: Path | None = None
    void: Labels = ()
    notes: Notes = ()

    def to_dict(self) -> JsonObject:
        """Return the public part as plain JSON, which may be published.

        Returns
        -------
        dict
            Target, rows, columns with their records and epsilons, the epsilon of one row, and the
            notes if there are any.
        """
        columns = []
        for record in self.records:
            releases, total_over_releases = self.account[str(record.name)]
            columns.append(
                {
                    **record.to_dict(),
                    "epsilon": plain_epsilon(record.epsilon),
                    "releases": releases,
                    "epsilon_of_all_releases": plain_epsilon(total_over_releases),
                }
            )
        public = {
            "target": str(self.target),
            "rows": self.rows,
            "columns": columns,
            **RowTotal(self.epsilon_per_row, self.void).to_dict(),
        }
        if self.notes:
            public["notes"] = list(self.notes)
        return public

    def __repr__(self) -> str:
        columns = ", ".join(
            f"{record.name!r} at epsilon {epsilon_text(record)}" for record in self.records[:5]
        )
        more = f" and {len(self.records) - 5} more" if len(self.records) > 5 else ""
        entered = (
            "entered in no ledger" if self.ledger is None else f"entered in {self.ledger.name}"
        )
        void = f", {VOID}" if self.void else ""
        return (
            f"<Receipt: {counted(self.rows, 'row')} in {self.target}; {columns}{more}; a row "
            f"spends epsilon {round_up(self.epsilon_per_row)}{void}; "
            f"{'; '.join([entered, *self.notes])}>"
        )


@checked_keywords
def privatize_file(
    source: FilePath,
    destination: FilePath,
    columns: Any,
    categories: MechanismLike | None = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    unknown: str = "raise",
    missing: str = "unknown",
    again: bool = False,
    overwrite: bool = False,
    shuffle_rows: bool = False,
    ledger: FilePath | None = None,
    progress: Progress | None = None,
) -> Receipt:
    """Privatize columns of a file, or of a directory of Parquet files, into a new one.

    Parameters
    ----------
    source, destination : path
        Paths of the same format: Parquet (.parquet, .pq, or a directory of such files),
        Arrow IPC (.feather, .arrow, .ipc), CSV and TSV (also .gz).
    columns : str, list of str, mapping, FramePlan, list of ColumnRecord, dict or path
        One column's name or a list of names, with categories; or a mapping from column to
        mechanism, or to categories with prob or epsilon; or a plan: a `FramePlan`, a list of
        records, a document, or the path of a .json or .toml file.  The public column of a
        `FramePlan` comes last.
    categories : sequence of k hashables, or Mechanism, optional
        The k categories of the named columns, with ``prob`` or ``epsilon``; or a mechanism alone.
    prob, epsilon : float, optional
        P(report = truth), or instead the privacy loss of one report in nats.
    unknown, missing : str
        As for `rrstats.privatize`, for all columns; with a plan, the plan sets them.
    again : bool
        Release a column although the source records that it holds reports (both rounds are
        recorded), or although the ledger has an earlier release (epsilons add up).
    overwrite : bool
        Replace an existing destination.
    shuffle_rows : bool
        Write the rows of each file in a uniformly random order, if their order may reveal answers.
        Row groups of a Parquet file and batches of an Arrow file have a constant number of rows,
        which does not depend on those of the source.  Categories of public columns (dictionaries)
        become plain values, and an integer pandas index without a name is left out.  In text all
        lines end like the header, and blank lines are left out.
    ledger : path, optional
        The private record of releases; by default beside the source.
    progress : callable, optional
        Called with the rows done so far and, if known, the total number.

    Returns
    -------
    Receipt
        Rows, records and epsilons of the release.

    Raises
    ------
    FileError
        A file cannot be read or written.
    SecondReleaseError
        A column was released before, or may have been under another name, and ``again`` is False.
    UnknownAnswersError
        ``unknown`` or ``missing`` refuses an answer; nothing is published or entered.
    ArgumentValueError, ArgumentTypeError
        An argument is wrong.

    Notes
    -----
    After any error nothing is published, and no message quotes an answer.  The new file records how
    its columns were made, so that estimating needs no parameters.  No other metadata of a private
    column is kept: no field metadata, and no key of the file that names the column.  Everything
    else stays: other columns, keys and descriptions, and pandas' index.  The promise does not cover
    these, even if they are a copy of the answers.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> pd.DataFrame({"smoker": ["yes", "no"] * 50}).to_csv(f"{folder}/in.csv", index=False)
    >>> source, destination = f"{folder}/in.csv", f"{folder}/out.csv"
    >>> receipt = privatize_file(source, destination, "smoker", ["yes", "no"], epsilon=1)
    >>> receipt.rows, receipt.ledger.name
    (100, 'in.csv.rrstats-ledger.json')
    """
    if any(argument is not None for argument in (categories, prob, epsilon)):
        columns = column_mechanisms(columns, categories, prob, epsilon)
    return release_file(
        source,
        destination,
        wanted_columns(columns, unknown, missing),
        again=again,
        overwrite=overwrite,
        shuffle_rows=shuffle_rows,
        ledger=ledger,
        progress=progress,
    )


def release_file(
    source: FilePath,
    target: FilePath,
    requests: list[ColumnRequest],
    *,
    again: bool = False,
    overwrite: bool = False,
    shuffle_rows: bool = False,
    ledger: FilePath | None = None,
    progress: Progress | None = None,
    rng: Any = None,
) -> Receipt:
    """As `privatize_file`, with requests that are checked, and with a source of words for tests.

    rng : as for `privatize`; the records then say that the noise is simulated.
    """
    origin = open_source(source)
    place = check_target(origin, target)
    repair(place)
    release = _prepare(origin, requests, again=again, rng=rng)
    work = _Files(origin, release, shuffle_rows, progress, rng)
    return _release(origin, place, work, again=again, overwrite=overwrite, ledger=ledger)


def preview_file(
    source: FilePath,
    target: FilePath,
    columns: Any,
    *,
    again: bool = False,
    overwrite: bool = False,
    shuffle_rows: bool = False,
    ledger: Path | None = None,
) -> dict[str, Any]:
    """The summary of a release without making it.

    Where a policy refuses answers, reports are drawn and dropped, so that it refuses here, too.
    """
    origin = open_source(source)
    place = check_target(origin, target)
    requests = wanted_columns(columns, "raise", "unknown")
    release = _prepare(origin, requests, again=again)
    records = release.new_records
    source_ledger = Ledger.of(origin.path, ledger)
    check_overwrite(place, overwrite, origin.is_directory)
    source_ledger.refuse(records, again, present=origin.files[0].names)
    if any("raise" in (request.unknown, request.missing) for request in requests):
        for file in origin.files:
            for _ in _privatized(file, release, lines=shuffle_rows):
                pass
        release.refuse(_check_call(origin.path))
    planned = LedgerEntry.of(records, target=place, digest="", rows=0)
    source_records = [file.records for file in origin.files]
    total = RowTotal.of(source_records, [*source_ledger.known, planned])
    return {
        "dry_run": True,
        "target": str(place),
        "rows": origin.rows,
        "columns": [
            {**record.to_dict(), "epsilon": plain_epsilon(record.epsilon)} for record in records
        ],
        **total.to_dict(),
    }


def privatize_by_tasks(
    source: FilePath,
    target: FilePath,
    columns: Any,
    run: Run,
    *,
    unknown: str = "raise",
    missing: str = "unknown",
    shuffle_rows: bool = False,
    progress: Progress | None = None,
    again: bool = False,
    overwrite: bool = False,
    ledger: FilePath | None = None,
) -> Receipt:
    """As `privatize_file`, but a task of an engine writes each Parquet file, in parallel.

    source : a Parquet file or a directory of them, with the path that the engine's machines use.
    target : a directory; it also gets the document of how it was made, and ``_SUCCESS``.
    run : the function that runs tasks, see `Run`.  Every task draws fresh keys.
    The other arguments, the result and the errors are those of `privatize_file`.
    """
    origin = open_source(Path(source).absolute())
    place = Path(target).absolute()
    check_target(replace(origin, is_directory=True), place)
    repair(place)
    requests = wanted_columns(columns, unknown, missing)
    release = _prepare(origin, requests, again=again)
    tasks = []
    for file in origin.files:
        records = file_records.merge(file.records, release.new_records)
        tasks.append(FileTask(file.path, file.relative, file.rows, requests, records, shuffle_rows))
    common_records = [
        record
        for record in origin.files[0].records
        if all(record in file.records for file in origin.files)
    ]
    target_records = file_records.merge(common_records, release.new_records)
    work = TaskOutputs(tasks, run, target_records, release, progress)
    return _release(origin, place, work, again=again, overwrite=overwrite, ledger=ledger)


def privatize_batches(
    tasks: Sequence[OutputTask],
    target: FilePath,
    release: BatchRelease,
    run: Run,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Receipt:
    """Write data that are not in files to a directory of Parquet, each part by an engine's task.

    release : the columns as the tasks release them, for checks, records and counts.
    There is no ledger, because it is not known whether two frames hold the same answers.
    """
    began = time.monotonic()
    place = Path(target).absolute()
    check_directory(place)
    work = TaskOutputs(tasks, run, release.records, release, progress)
    with Publication(place, overwrite=overwrite, directory=True) as publication:
        rows = work.write(publication)
        publication.sync()
        receipt = release_receipt(release, rows, place, began)
        publication.publish()
        return receipt


def release_receipt(release: BatchRelease, rows: int, place: FilePath, began: float) -> Receipt:
    """The receipt of data that are not in files, after the checks of the answers; no ledger.

    Make it before publishing: it refuses, and a warning may be an error.
    """
    total = RowTotal.of([release.records])
    account = {
        str(record.name): (1, total_epsilon([record.epsilon])) for record in release.new_records
    }
    return _receipt(
        release,
        [release.records],
        rows,
        place,
        began=began,
        account=account,
        total=total,
        check_call=TABLE_CHECK,
    )


# -- checks --------------------------------------------------------------------------------


def _prepare(
    origin: FileSource,
    requests: Sequence[ColumnRequest],
    *,
    again: bool,
    rng: Any = None,
) -> ReleasedColumns:
    """The columns, checked against the source's declarations."""
    first = origin.files[0]
    likes = {}
    check_any_column(first.names, [request.name for request in requests])
    for request in requests:
        name = origin.check_column(request.name)
        # Raises if the column cannot hold the reports.
        first.no_cells(name, request.mechanism.report_space)
        likes[name] = first.no_cells(name, request.mechanism.domain)
    records = map(origin.record_of, likes)
    return ReleasedColumns(requests, likes, first.names, records=records, again=again, rng=rng)


# -- release -------------------------------------------------------------------------------


def _receipt(
    columns: ReleasedColumns,
    documents: Iterable[Sequence[ColumnRecord]],
    rows: int,
    place: FilePath,
    *,
    began: float,
    account: dict[str, tuple[int, float]],
    total: RowTotal,
    check_call: str,
    ledger: Path | None = None,
) -> Receipt:
    """The receipt of a release, unless the policies refuse an answer; after the warnings.

    documents : the records of each file of the target.  check_call : see `ReleasedColumns.refuse`.
    It is made before the release is published: a warning may be an error, and then nothing is.
    """
    columns.refuse(check_call)
    columns.warn(record for document in documents for record in document)
    counts = {
        name: {"unknown": column.unknown, "missing": column.missing}
        for name, column in columns.columns.items()
    }
    return Receipt(
        rows,
        columns.new_records,
        place,
        seconds=time.monotonic() - began,
        epsilon_per_row=total.epsilon,
        account=account,
        private=counts,
        ledger=ledger,
        void=total.void,
        notes=tuple(columns.notes),
    )


def _check_call(path: Path) -> str:
    """The call that lists the answers of a file that fit no category; see `refuse`."""
    name = repr(str(path)).replace("{", "{{").replace("}", "}}")
    return f"rr.files.check_file({name}, {{name}}, {{categories}}) (rrstats check)"


def _release(
    origin: FileSource,
    place: Path,
    work: _Files | TaskOutputs,
    *,
    again: bool = False,
    overwrite: bool = False,
    ledger: FilePath | None = None,
) -> Receipt:
    """Write and publish a source that is in files, and enter the release in its ledger."""
    began = time.monotonic()
    names = origin.files[0].names
    source_ledger = Ledger.of(origin.path, None if ledger is None else Path(ledger))
    source_ledger.refuse(work.columns.new_records, again, present=names)
    directory = not place.name.lower().endswith(ENDINGS)
    with Publication(place, overwrite=overwrite, directory=directory) as publication:
        rows = work.write(publication)
        digest = digest_of(origin.path)
        origin.check_unchanged()
        publication.sync()
        source_records = [file.records for file in origin.files]
        new_records = work.columns.new_records
        documents = [file_records.merge(records, new_records) for records in source_records]
        draft = _receipt(
            work.columns,
            documents,
            rows,
            place,
            began=began,
            account={},
            total=RowTotal(0.0),
            check_call=_check_call(origin.path),
            ledger=source_ledger.path,
        )
        return _published(
            publication,
            source_ledger,
            draft,
            source_records,
            digest=digest,
            again=again,
            present=names,
        )


def _published(
    publication: Publication,
    source_ledger: Ledger,
    draft: Receipt,
    source_records: Sequence[Sequence[ColumnRecord]],
    *,
    digest: str,
    again: bool,
    present: Iterable[Hashable],
    release: str = "",
) -> Receipt:
    """Publish and enter in a ledger; return the receipt with the totals of the ledger.

    source_records : the records that each file of the source has, beyond those of the draft.
    The others are for `Ledger.entry`.
    Publishing comes last: what may fail is done before, so that an error means that nothing was
    published.
    """
    records = draft.records
    with source_ledger.entry(
        records,
        target=publication.target,
        digest=digest,
        rows=draft.rows,
        again=again,
        release=release,
        present=present,
    ) as entries:
        account = {}
        for record in records:
            epsilons = spent(entries, record.name)
            account[str(record.name)] = (len(epsilons), total_epsilon(epsilons))
        total = RowTotal.of(source_records, entries)
        receipt = replace(draft, account=account, epsilon_per_row=total.epsilon, void=total.void)
        publication.publish()
        return receipt


@dataclass(frozen=True)
class _Files:
    """All files of a source, written in this process with one key per column for all files."""

    origin: FileSource
    columns: ReleasedColumns
    shuffle_rows: bool = False
    progress: Progress | None = None
    rng: Any = None

    def write(self, publication: Publication) -> int:
        """Write all files; return the number of rows."""
        origin = self.origin
        rows = 0

        def tell(count: int) -> None:
            nonlocal rows
            rows += count
            if self.progress is not None:
                self.progress(rows, origin.rows)

        for file in origin.files:
            records = file_records.merge(file.records, self.columns.new_records)
            with publication.open(file.relative if origin.is_directory else None) as sink:
                rewrite(
                    file,
                    sink,
                    self.columns,
                    records,
                    folder=publication.target.parent,
                    shuffle_rows=self.shuffle_rows,
                    rng=self.rng,
                    tell=tell,
                )
            if file.document_is_beside:
                publication.add_sidecar(as_document(records))
        return rows


def as_document(records: Iterable[ColumnRecord]) -> bytes:
    """The text of a document in a separate file."""
    return json.dumps(write(records), indent=1).encode() + b"\n"


def rewrite(
    file: DataFile,
    sink: IO[bytes],
    columns: ReleasedColumns,
    records: file_metadata.Records,
    *,
    folder: Path,
    shuffle_rows: bool,
    rng: Any = None,
    tell: Callable[[int], object] = lambda rows: None,
) -> None:
    """Write a part with reports to ``sink``, which stays open.

    records : for the new file.  folder : the place to spill rows that are shuffled.
    tell : called with the number of rows of each finished piece.
    """
    changed = columns.written
    schema = file.schema_of(changed)
    blocks = _privatized(file, columns, lines=shuffle_rows, tell=tell)
    if not shuffle_rows:
        file.write(sink, blocks, changed, records)
        return
    public = [name for name in schema.names if name not in changed]
    watched = {*file_metadata.index_columns(file.metadata), *file_metadata.USUAL_NUMBERS}
    with Shuffle(
        folder,
        schema,
        file.bytes_expected(changed),
        declared=changed,
        left_out=[name for name in file_metadata.row_numbers(schema) if name in public],
        watched=[name for name in public if name in watched],
        rng=rng,
    ) as shuffle:
        # The random words of a row must not depend on where pieces of long answers ended.
        for group in grouped(blocks, schema, file.group_rows(changed, share=8)):
            for batch in group.to_batches():
                shuffle.add(batch)
        file.write(sink, shuffle.batches(), changed, records, schema=shuffle.finish())
        numbering = shuffle.numbering
        if file.document_is_beside:  # cells of text are not read
            index_names = [name for name in file.names if name in file_metadata.UNNAMED]
            numbering = [name for name in index_names if name not in changed]
        columns.note(shuffle.notes, numbering)


def _privatized(
    file: DataFile,
    columns: ReleasedColumns,
    *,
    lines: bool,
    tell: Callable[[int], object] = lambda rows: None,
) -> Iterator[pa.RecordBatch]:
    """The rows of a file with reports; ``tell`` is called with the rows of each piece."""
    schema = file.schema_of(columns.written)
    domains = {name: column.mechanism.domain for name, column in columns.columns.items()}
    for piece in ahead(file.pieces(domains, lines=lines)):
        yield piece.replaced(columns.draw(piece.cells), schema)
        tell(piece.rows)


SUCCESS = "_SUCCESS"


class OutputTask(Protocol):
    """One part to write; it can be pickled, and holds neither answers nor a key.

    An engine may call `write` with the data of the part, if the task does not read them.
    """

    @property
    def relative(self) -> str:
        """The name of the part in the target."""

    @property
    def rows(self) -> int | None:
        """The number of rows that the part must have, if known."""

    @property
    def write(self) -> Callable[..., Seen]:
        """Called with sink, folder and the data, if any: writes the part with fresh keys.

        It may spill rows to the folder.
        """


@dataclass(frozen=True)
class TaskOutcome:
    """The outcome of a task: counts, the file it wrote, or its error."""

    seen: Seen = field(default_factory=Seen)
    file: str = ""
    error: RRStatsError | None = None


Call = Callable[..., TaskOutcome]

Run = Callable[[Sequence[Call]], Generator[tuple[int, TaskOutcome]]]
"""An engine that runs calls, one for each file, anywhere, and yields their places and outcomes.

It may pass a call the data of its file.  Outcomes may come in any order; the first of each place
counts.  If it is closed before its end, it must cancel the remaining calls.
"""


@dataclass(frozen=True)
class FileTask:
    """One Parquet file of a source, which the task opens."""

    path: Path
    relative: str
    rows: int | None
    requests: Sequence[ColumnRequest]
    records: Sequence[ColumnRecord]
    shuffle_rows: bool = False

    def write(self, sink: IO[bytes], folder: Path) -> Seen:
        """Write the file with reports."""
        file = ParquetFile(self.path, self.relative)
        likes = {
            str(request.name): file.no_cells(request.name, request.mechanism.domain)
            for request in self.requests
        }
        # The engine assigns the cores.
        columns = ReleasedColumns(self.requests, likes, file.names, threads=1)
        rewrite(file, sink, columns, self.records, folder=folder, shuffle_rows=self.shuffle_rows)
        return columns.seen()


def attempt(task: OutputTask, folder: Path, *data: Any) -> TaskOutcome:
    """Let a task write its part; returns errors instead, so that no data leave in them."""
    try:
        path = folder / f"{secret_bytes(16).hex()}.parquet"
        with os.fdopen(make(path), "wb", buffering=1 << 20) as sink:
            seen = task.write(sink, folder, *data)
            sink.flush()
            os.fsync(sink.fileno())
        return TaskOutcome(seen, path.name)
    except Exception as error:
        return TaskOutcome(error=anew(error, f"the task of {task.relative}"))


# -- tasks of an engine --------------------------------------------------------------------


@dataclass(frozen=True)
class TaskOutputs:
    """All tasks of a release, and the function that runs them.

    records : of the columns of the target.  columns : add up the counts of the tasks.
    progress : called with the rows done so far and, if known, the total number.
    """

    tasks: Sequence[OutputTask]
    run: Run
    records: Sequence[ColumnRecord]
    columns: ReleasedColumns
    progress: Progress | None = None

    def write(self, publication: Publication) -> int:
        """Let every task write its part; return the number of rows."""
        folder = publication.attempts()
        rows = 0
        expected_rows = [task.rows for task in self.tasks if task.rows is not None]
        total = sum(expected_rows) if len(expected_rows) == len(self.tasks) else None
        with closing(self._outcomes(folder)) as outcomes:
            for task, outcome in outcomes:
                path = folder / outcome.file
                with reading(path, "a Parquet file"):
                    written_rows = pq.read_metadata(path).num_rows
                if written_rows != outcome.seen.rows or task.rows not in (None, written_rows):
                    expected = outcome.seen.rows if task.rows is None else task.rows
                    raise FileError(
                        f"{task.relative} has {written_rows} rows instead of {expected}; "
                        "nothing was published"
                    )
                publication.accept(path, task.relative)
                rows += written_rows
                if self.progress is not None:
                    self.progress(rows, total)
        with publication.open(file_metadata.DOCUMENT) as file:
            file.write(as_document(self.records))
        publication.open(SUCCESS).close()
        return rows

    def _outcomes(self, folder: Path) -> Generator[tuple[OutputTask, TaskOutcome]]:
        """The first outcome of each task; raises if a task failed, or has no outcome."""
        waiting = dict(enumerate(self.tasks))
        failed = None
        calls = [partial(attempt, task, folder) for task in self.tasks]
        try:
            with closing(self.run(calls)) as outcomes:
                for place, outcome in outcomes:
                    if place not in waiting:
                        continue
                    if outcome.error is not None:
                        raise outcome.error
                    self.columns.add(outcome.seen)
                    yield waiting.pop(place), outcome
        except Exception as error:  # of the engine or of tasks behind the data: may quote cells
            failed = anew(error, "a task of the engine")
        if failed is None and waiting:
            example = next(iter(waiting.values())).relative
            failed = FileError(
                f"{len(waiting)} of {len(self.tasks)} parts were not written, for example "
                f"{example}; nothing was published"
            )
        if failed is not None:
            raise failed


# -- frames of pandas ----------------------------------------------------------------------

RELEASE = "rrstats_release"
"""Attr of a frame with the id of its release and a fingerprint of document and reports.

The ledger recognizes the id, so saving one release twice spends its epsilon once.  Another column
or other reports are another release, and get another id.
"""


def save_frame(
    frame: pd.DataFrame,
    records: list[ColumnRecord],
    path: FilePath,
    *,
    source: FilePath | None = None,
    ledger: FilePath | None = None,
    again: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> Receipt:
    """Write a released frame to a Parquet, CSV or TSV file, which appears when complete.

    Parameters
    ----------
    frame : DataFrame
        The names of its columns must be text.
    records : list of ColumnRecord
        How its privatized columns were made.
    path : path
        Must end in .parquet, .pq, .csv, .tsv, .csv.gz or .tsv.gz.
    source : path, optional
        The file that the true answers were read from; the release is entered in its ledger.
    ledger : path, optional
        The ledger, if it is not beside the source.  Without source and ledger nothing is entered.
    again, overwrite
        As for `privatize_file`.
    **options
        ``mechanisms`` maps columns of more than 100 categories to their mechanisms, because the
        frame holds only a fingerprint of these.  All others are for `DataFrame.to_csv`, or for
        `pyarrow.parquet.write_table`; the index is left out unless ``index=True``.

    Returns
    -------
    Receipt
        Its ``ledger`` is None if nothing was entered.

    Raises
    ------
    SecondReleaseError
        The ledger has another release of a column, or of one that may be it under another name, and
        ``again`` is False.
    FileError
        The file cannot be written; nothing is published or entered.

    Warns
    -----
    SimulationWarning
        The noise of a column was simulated: the file protects nobody.
    """
    began = time.monotonic()
    place = Path(path)
    is_text = format_of(place, "path") != PARQUET
    check_ending(place, "path", (*PARQUET, ".csv", ".csv.gz", ".tsv", ".tsv.gz"))
    mechanisms = options.pop("mechanisms", None) or {}
    _check_frame(frame, records, mechanisms, is_text=is_text)
    if any(record.simulated for record in records):  # before anything is published
        warn(SIMULATED_TEXT, SimulationWarning)
    source_ledger = _ledger(source, ledger)
    with _needing_unicode():
        release = _release_of(frame, records)
    with Publication(place, overwrite=overwrite) as publication:
        with _needing_unicode():
            _write_frame(frame, records, publication, **options)
        publication.sync()
        receipt = _frame_receipt(frame, records, place, began=began, ledger=source_ledger)
        if source_ledger is None:
            publication.publish()
            return receipt
        digest = "frame" if source is None else digest_of(Path(source))
        present = _source_columns(source, frame)
        return _published(
            publication,
            source_ledger,
            receipt,
            [],
            digest=digest,
            again=again,
            present=present,
            release=release,
        )


def _frame_receipt(
    frame: pd.DataFrame,
    records: list[ColumnRecord],
    place: Path,
    *,
    began: float,
    ledger: Ledger | None,
) -> Receipt:
    """The receipt of a frame that is not yet in the ledger."""
    total = RowTotal.of([records])
    return Receipt(
        len(frame),
        records,
        place,
        seconds=time.monotonic() - began,
        epsilon_per_row=total.epsilon,
        account={str(record.name): (0, record.epsilon) for record in records},
        private={},
        ledger=None if ledger is None else ledger.path,
        void=total.void,
    )


def _check_frame(
    frame: pd.DataFrame,
    records: Iterable[ColumnRecord],
    mechanisms: Mapping[Hashable, Mechanism],
    *,
    is_text: bool,
) -> None:
    """Raise if a file cannot hold the frame, or if a column does not hold its reports."""
    if not all(isinstance(name, str) for name in frame.columns):
        raise ArgumentTypeError("the names of the columns of a frame must be text to save it")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ArgumentValueError(
            f"the columns of a frame must have different names to save it, {quote(twice[0])} is "
            "the name of several; rename them"
        )
    for record in records:
        space = record.largest(mechanisms.get(record.name)).report_space
        if is_text:
            Words(space)  # raises if text cannot hold the reports
        _check_reports(frame, record, space)


def _source_columns(source: FilePath | None, frame: pd.DataFrame) -> list[str]:
    """The columns of the source, or those of the frame if the source cannot be read here."""
    names: list[str] = []
    if source is not None:
        with suppress(RRStatsError):
            names = list(open_source(source).files[0].names)
    columns = list(frame.columns)
    return names if {*names} & {*columns} else columns


@contextmanager
def _needing_unicode() -> Iterator[None]:
    """Explain pandas' error for text that no file can hold, without its text."""
    try:
        yield
    except UnicodeEncodeError:
        raise ArgumentValueError(
            "a frame must hold text in valid Unicode to be saved, found half of a surrogate pair "
            "in a cell or a name: it often comes from a file that was read with another encoding"
        ) from None


def _check_reports(frame: pd.DataFrame, record: ColumnRecord, space: ReportSpace) -> None:
    """Raise if a column holds values that cannot be its reports."""
    n_other = other_cells(frame, record, space)
    if n_other:
        raise MetadataError(
            f"{n_other} of {len(frame)} values in column {record.name!r} are none of its reports; "
            "it may hold true answers again: restore the reports, or privatize it again"
        )


def _ledger(source: FilePath | None, ledger: FilePath | None) -> Ledger | None:
    """The ledger of a source, or a ledger without a source, whose name tells its source."""
    path = None if ledger is None else Path(ledger)
    if source is not None:
        return Ledger.of(Path(source), path)
    if path is None:
        return None
    return Ledger(path.with_name(path.name.removesuffix(LEDGER) or path.name), path)


def _release_of(frame: pd.DataFrame, records: list[ColumnRecord]) -> str:
    """The id of the release in a frame; a new id if its document or reports have changed."""
    digest = hashlib.sha256(json.dumps(write(records)).encode())
    for record in records:  # reports are public; their order counts, too
        reports = column_of(frame, record.name).map(str)
        digest.update(pd.util.hash_pandas_object(reports, index=False).to_numpy().tobytes())
    document = digest.hexdigest()
    release = frame.attrs.get(RELEASE)
    if not (isinstance(release, dict) and release.get("document") == document):
        release = {"id": secret_bytes(16).hex(), "document": document}
        frame.attrs[RELEASE] = release
    return str(release["id"])


def _write_frame(
    frame: pd.DataFrame, records: list[ColumnRecord], publication: Publication, **options: Any
) -> None:
    """Write a frame as text with the document beside it, or as a table that holds it."""
    index = options.pop("index", False)
    name = publication.target.name.lower()
    with publication.open() as file:
        if name.endswith(PARQUET):
            table = _released_table(frame, records, index=index)
            pq.write_table(table, file, **options)
            return
        publication.add_sidecar(as_document(records))
        defaults = {
            "sep": "\t" if ".tsv" in name else ",",
            "index": index,
            "mode": "wb",
            "compression": {"method": "gzip", "mtime": 0} if name.endswith(".gz") else None,
        }
        _with_whole_numbers(frame, records).to_csv(file, **{**defaults, **options})


def _released_table(
    frame: pd.DataFrame, records: list[ColumnRecord], *, index: bool | None
) -> pa.Table:
    """The frame as an Arrow table with the document of its records and its attrs."""
    table = pa.Table.from_pandas(frame, preserve_index=index)
    # Without values that JSON cannot hold.
    attrs = json.dumps(frame.attrs, skipkeys=True, default=lambda _: None).encode()
    metadata = {**table.schema.metadata, file_metadata.ATTRS: attrs}
    return table.replace_schema_metadata(file_metadata.release_metadata(metadata, {}, records))


def _with_whole_numbers(frame: pd.DataFrame, records: Iterable[ColumnRecord]) -> pd.DataFrame:
    """The frame with reports that are whole numbers, some missing, as whole numbers.

    They are doubles in pandas, and would be written as decimals.
    """
    complete = [record for record in records if not record.is_shortened]
    names = [
        record.name
        for record in complete
        if getattr(record.largest().report_space, "kind", None) == "int"
    ]
    return frame.astype({name: "Int64" for name in names if frame[name].dtype.kind == "f"})
