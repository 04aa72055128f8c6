"""Parts of one release, each written by a task somewhere else, published together.

An engine runs tasks on machines that share a disk with this process; a task may be run twice, or
die while it writes.  So no task writes to the target.  Each attempt draws keys of its own, writes
to a new file with a random name in a folder that goes before anything is published, and answers
with that name and with counts.  Of each task one answer is taken, its file is checked and given
its place; what other attempts wrote goes with the folder.  So every row is released once, however
often an engine tries.

A task never raises: what it finds comes back as an answer, so that no engine writes its arguments
into a log.  Errors of rrstats never quote an answer; of all others only the type is told.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow.parquet as pq

from rrstats.errors import FileError, RRStatsError
from rrstats.files import documents
from rrstats.files.batches import ReleasedColumn, Seen
from rrstats.files.claims import make
from rrstats.files.parquet import ParquetPart
from rrstats.files.parts import reading
from rrstats.files.plans import Wanted
from rrstats.files.publishing import Publication
from rrstats.files.rewriting import look, rewrite
from rrstats.mechanisms.records import Record, write
from rrstats.randomness.sources import secret_bytes

__all__ = ["Answer", "FileTask", "Run", "Spread", "Task", "anew", "attempt"]

SUCCESS = "_SUCCESS"


class Task(Protocol):
    """One part to be written; it can be pickled, and holds neither answers nor a key."""

    @property
    def relative(self) -> str:
        """The name of the part in the target."""
        ...

    @property
    def rows(self) -> int | None:
        """How many it must have, if that is known."""
        ...

    def look(self, *data: Any) -> Seen:
        """Count what may be refused; draws nothing."""
        ...

    def write(self, sink: IO[bytes], folder: Path, *data: Any) -> Seen:
        """Write the part, under fresh keys; ``folder`` may hold what does not fit in memory."""
        ...


@dataclass(frozen=True)
class Answer:
    """What a task found: what it saw, the file it wrote, or why it could not."""

    seen: Seen = field(default_factory=Seen)
    file: str = ""
    error: RRStatsError | None = None


Call = Callable[..., Answer]

Run = Callable[[Sequence[Call]], Generator[tuple[int, Answer]]]
"""How an engine runs calls, one for each part, wherever it likes: each one's place and answer.

It may give a call the data of its part.  Answers are taken as they come; the first of a place
counts.  Closed before its end, it must give up what is still to be run.
"""


@dataclass(frozen=True)
class FileTask:
    """One Parquet file of a source; the task opens it by itself."""

    path: Path
    relative: str
    rows: int | None
    wanted: Sequence[Wanted]
    records: Sequence[Record]
    shuffle_rows: bool = False

    def look(self) -> Seen:
        """Count what may be refused."""
        part, columns = self._opened()
        look(part, columns)
        return _seen(columns)

    def write(self, sink: IO[bytes], folder: Path) -> Seen:
        """Write the file with reports."""
        part, columns = self._opened()
        shuffle = self.shuffle_rows
        rows = rewrite(part, sink, columns, self.records, folder, shuffle_rows=shuffle)
        seen = _seen(columns)
        return Seen(rows, seen.unknown, seen.missing)

    def _opened(self) -> tuple[ParquetPart, list[ReleasedColumn]]:
        if not self.path.exists():
            raise FileError(
                f"a worker does not see {self.path}; source and target must lie on a disk that "
                "all workers see under the same paths; nothing was published"
            )
        part = ParquetPart(self.path, self.relative)
        columns = []
        for place, asked in enumerate(self.wanted):
            like = part.no_cells(asked.name, asked.mechanism.domain)
            # The engine shares out the cores.
            options: dict[str, Any] = {"column": place, "threads": 1}
            columns.append(
                ReleasedColumn.prepare(asked, like, None, again=False, rng=None, **options)
            )
        return part, columns


def _seen(columns: Iterable[ReleasedColumn]) -> Seen:
    found = {column.name: column.release for column in columns}
    return Seen(
        max(release.rows for release in found.values()),
        {name: release.unknown for name, release in found.items()},
        {name: release.missing for name, release in found.items()},
    )


# -- where the task runs -------------------------------------------------------------------


def attempt(task: Task, folder: Path | None, *data: Any) -> Answer:
    """Look (without a folder) or write; never raises, so that nothing is told of the data."""
    try:
        if folder is None:
            return Answer(task.look(*data))
        path = folder / f"{secret_bytes(16).hex()}.parquet"
        return Answer(_written(task, path, *data), path.name)
    except Exception as error:
        return Answer(error=anew(error, f"the task of {task.relative}"))


def _written(task: Task, path: Path, *data: Any) -> Seen:
    try:
        with os.fdopen(make(path), "wb", buffering=1 << 20) as sink:
            seen = task.write(sink, path.parent, *data)
            sink.flush()
            os.fsync(sink.fileno())
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    return seen


def anew(error: Exception, what: str) -> RRStatsError:
    """An error that may go anywhere: the frames of the stack, and cells in them, stay behind.

    Ours as new; of the system with its reason; any other by its type.  what : what failed.
    """
    if isinstance(error, RRStatsError):
        return type(error)(*error.args)
    if isinstance(error, OSError) and isinstance(error.errno, int):
        why = os.strerror(error.errno).lower()
        lost = isinstance(error, FileNotFoundError)
        hint = "; source and target must lie on a disk that all workers see under the same paths"
        return FileError(f"{what} failed: {why}{hint if lost else ''}; nothing was published")
    return FileError(
        f"{what} failed with {type(error).__name__}, whose message may quote an answer and is "
        "not told; nothing was published"
    )


# -- where it is published -----------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """All tasks of a release, and how the engine runs them.

    records : what the target says of its columns.  add : takes what a task saw.
    progress : called with the rows done so far and, where it is known, their number.
    """

    tasks: Sequence[Task]
    run: Run
    records: Sequence[Record]
    add: Callable[[Seen], object]
    progress: Callable[[int, int | None], object] | None = None

    def look(self) -> None:
        """Let every task count what may be refused; nothing is drawn."""
        with closing(self._answers(None)) as answers:
            for _ in answers:
                pass

    def write(self, publication: Publication) -> int:
        """Let every task write its part; how many rows they have."""
        folder = publication.workshop()
        counts = [task.rows for task in self.tasks]
        total = None if None in counts else sum(count for count in counts if count is not None)
        rows = 0
        with closing(self._answers(folder)) as answers:
            for task, answer in answers:
                path = folder / answer.file
                _check(task, path, answer)
                publication.accept(path, task.relative)
                rows += answer.seen.rows
                if self.progress is not None:
                    self.progress(rows, total)
        with publication.open(documents.DOCUMENT) as file:
            file.write(json.dumps(write(self.records), indent=1).encode() + b"\n")
        publication.open(SUCCESS).close()
        return rows

    def _answers(self, folder: Path | None) -> Generator[tuple[Task, Answer]]:
        """The first answer of each task; raises where one failed, or where one is missing."""
        waiting = dict(enumerate(self.tasks))
        calls = [partial(attempt, task, folder) for task in self.tasks]
        with closing(_careful(self.run(calls))) as answers:
            for place, answer in answers:
                if place not in waiting:
                    continue
                if answer.error is not None:
                    raise answer.error
                self.add(answer.seen)
                yield waiting.pop(place), answer
        if waiting:
            lost = next(iter(waiting.values())).relative
            raise FileError(
                f"{len(waiting)} of {len(self.tasks)} parts were not written, {lost} for one; "
                "nothing was published"
            )


def _careful(answers: Generator[tuple[int, Answer]]) -> Generator[tuple[int, Answer]]:
    """The answers; an error of the engine, or of the data's own tasks, may quote cells."""
    failed = None
    try:
        yield from answers
    except Exception as error:
        failed = anew(error, "a task of the engine")
    if failed is not None:
        raise failed


def _check(task: Task, path: Path, answer: Answer) -> None:
    """Raise FileError unless a part is here, whole, with the rows that it must have."""
    if not path.is_file():
        raise FileError(
            f"{task.relative} was written, and is not to be seen from here; source and target "
            "must lie on a disk that all workers share; nothing was published"
        )
    with reading(path, "a Parquet file"):
        rows = pq.read_metadata(path).num_rows
    if rows != answer.seen.rows or task.rows not in (None, rows):
        expected = answer.seen.rows if task.rows is None else task.rows
        raise FileError(
            f"{task.relative} has {rows} rows, and {expected} were to be written; nothing was "
            "published"
        )
