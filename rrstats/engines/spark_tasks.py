"""What a task of Spark does: reports in the place of answers, or a look at them.

Each attempt of a task makes its own `BatchRelease`, with keys of its own; what finished tasks
saw comes back by accumulators of Spark, which count each task of a job once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.accumulators import AccumulatorParam

from rrstats.engines.spark_source import file_of
from rrstats.files.batches import BatchRelease, Seen, careful
from rrstats.files.plan import Wanted

__all__ = ["Adding", "Listing", "Task", "mapped"]

Batches = Iterator[pa.RecordBatch]


class Adding(AccumulatorParam[Seen]):
    """How Spark adds up what finished tasks saw; each task of a job counts once."""

    def zero(self, value: Seen) -> Seen:
        """Nothing seen."""
        return Seen()

    def addInPlace(self, value1: Seen, value2: Seen) -> Seen:
        """What two tasks saw."""
        return value1 + value2


class Listing(AccumulatorParam[dict[int, str | None]]):
    """How Spark brings together which task had which file."""

    def zero(self, value: object) -> dict[int, str | None]:
        """No task."""
        return {}

    def addInPlace(
        self, value1: dict[int, str | None], value2: dict[int, str | None]
    ) -> dict[int, str | None]:
        """The tasks of both; what was told last of a task counts."""
        return value1 | value2


@dataclass(frozen=True)
class Task:
    """What an attempt does with the batches of one partition, on any machine, under its own keys.

    names : of the columns, by place.  seen : where to add what was seen, if anywhere.
    files : where to add which file this was, if batches have its mark.
    """

    names: list[str]
    wanted: list[Wanted]
    options: dict[str, Any]
    seen: Any = None
    files: Any = None

    def reports(self, batches: Batches) -> Batches:
        """The batches with reports in the place of answers."""
        release, rows = None, 0
        for batch in batches:
            if self.files is not None:
                batch = self._unmarked(batch, first=not rows)
            rows += batch.num_rows
            named = batch.rename_columns(self.names)
            release = self._release(named) if release is None else release
            yield stored(careful(release.reports, named))
        self._add(release)

    def look(self, batches: Batches) -> Batches:
        """Nothing; the answers are counted."""
        release = None
        for batch in batches:
            named = batch.rename_columns(self.names)
            release = self._release(named) if release is None else release
            careful(release.look, named)
        self._add(release)
        yield from ()

    def _unmarked(self, batch: pa.RecordBatch, *, first: bool) -> pa.RecordBatch:
        """The batch without its last column, which names the file in its first row."""
        *names, last = batch.schema.names
        marks = batch.column(last)
        if len(marks) and (first or marks.null_count < len(marks)):
            task = TaskContext.get()
            assert task is not None  # as this is one
            self.files.add({task.partitionId(): file_of(marks, first=first)})
        return batch.select(names)

    def _release(self, batch: pa.RecordBatch) -> BatchRelease:
        schema = batch.schema.remove_metadata()
        return BatchRelease(schema, self.wanted, threads=1, **self.options)

    def _add(self, release: BatchRelease | None) -> None:
        if release is not None and self.seen is not None:
            self.seen.add(release.seen())


def stored(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch in types that Spark has: bytes of a fixed number are bytes there."""
    fixed = pa.types.is_fixed_size_binary
    arrays = [array.cast(pa.binary()) if fixed(array.type) else array for array in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def mapped(frame: Any, work: Callable[[Batches], Batches], schema: Any) -> Any:
    """The lazy frame of what the work makes of each partition."""
    # By place, because Spark takes a dot in a name for a field of a structure.
    placed = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    with warnings.catch_warnings():
        # No pandas is used here; executors say it to their own logs.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        return placed.mapInArrow(lambda batches: work(batches), schema)
