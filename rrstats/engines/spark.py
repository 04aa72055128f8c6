"""Spark: privatize on a cluster, once and for all, or lazily under a key.

    import rrstats.engines.spark as rrs
    rrs.privatize_parquet("hdfs://cluster/answers", "hdfs://cluster/reports", {"answer": m})
    rr.estimate(spark.read.parquet("hdfs://cluster/reports"), columns="answer")

Spark computes a lazy frame anew each time it is used, so a fresh draw would be another release
each time, and averaging them would undo the noise.  `privatize_parquet` therefore writes: each
attempt of a task takes keys of its own from the operating system, Spark's commit protocol keeps
one attempt of each task, and the directory appears when all of it is there.  `privatize` is lazy,
and only in keyed form: the same key and ids give the same reports whenever they are computed.
Executors need rrstats and pyarrow.  Sources: `Dataset.mapInArrow` of Spark; `files.batches`.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from rrstats.engines.hadoop import Staging, full, location, retold
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FileError,
    MissingPackageError,
)
from rrstats.files.batches import BatchRelease, Seen, careful
from rrstats.files.plans import Wanted, wanted_columns
from rrstats.files.release import Receipt
from rrstats.keyed import check_key
from rrstats.metadata import write
from rrstats.privacy import total_epsilon

try:
    from pyspark.accumulators import AccumulatorParam
    from pyspark.sql import DataFrame, SparkSession
except ImportError:
    raise MissingPackageError(
        "rrstats.engines.spark needs pyspark; install pyspark (pip install 'rrstats[spark]'), "
        "and Java 17 or newer"
    ) from None

from rrstats.engines.spark_columns import DOCUMENT, arrow_schema, read_source, reports_schema

__all__ = ["privatize", "privatize_parquet"]

WRITING = {
    # A task's files become part of the directory with the job, so never two attempts of one.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
}


def privatize_parquet(
    src: Any,
    dst: Path | str,
    plan: Any,
    *,
    spark: Any = None,
    unknown: str = "warn",
    missing: str = "unknown",
    again: bool = False,
    overwrite: bool = False,
) -> Receipt:
    """Privatize columns of a data set by Spark into a new directory of Parquet files.

    src : a path that Spark reads as Parquet (text as Spark takes it, a `Path` of this machine),
        or a Spark DataFrame, which is computed once (twice where answers may be refused).
    dst : the directory; any Hadoop file system.  Its parts are those of ``src``.
    plan : a mapping from column to mechanism, or a plan as for `rr.files.privatize_file`.
    spark : the session, for a path; by default the active one.
    unknown, missing, again : as for `rr.files.privatize_file`; again=True privatizes reports once
        more.  overwrite : replace an existing directory of Parquet files.
    Returns a Receipt.  The directory holds ``_SUCCESS`` and ``_rrstats.json``, which says how the
    columns were made, and so does the metadata of each column
    (``spark.read.parquet(dst).schema["answer"].metadata["rrstats"]``).
    No ledger is kept, since sources of Spark need not be files: note yourself what was released,
    for each further release of the same answers adds its epsilon.
    Raises FileError, with nothing published, where the job fails; UnknownAnswersError as asked,
    before anything is drawn; ArgumentValueError, ArgumentTypeError, MetadataError for bad
    arguments.  No message quotes an answer.  Spark's own logs and pages may quote what the code
    behind ``src`` says when it fails; nothing of rrstats does.
    """
    began = time.monotonic()
    place = location(dst, "dst")
    wanted = wanted_columns(plan, unknown, missing)
    told: dict[bytes, bytes] = {}
    source = None
    if isinstance(src, DataFrame):
        frame, spark = src, src.sparkSession
    else:
        spark, given = _session(spark), location(src, "src")
        frame, told = read_source(spark, given, [str(asked.name) for asked in wanted])
        source = retold(f"cannot read {given}", lambda: full(spark, given))
    _check_frame(frame)
    job = _Job.prepare(frame, wanted, again, told)
    with Staging(spark, place, overwrite=overwrite) as staging:
        _check_apart(frame, source, staging.target)
        job.refuse()
        rows = job.write(staging)
        staging.publish()
    release = job.release
    release.warn()
    seen = release.seen()
    made = [record for record in release.records if str(record.name) in release.columns]
    return Receipt(
        rows,
        made,
        str(dst) if "://" in str(dst) else Path(dst),  # a Path would lose a slash
        time.monotonic() - began,
        total_epsilon(record.epsilon for record in release.records),
        {str(record.name): (1, record.epsilon) for record in made},
        {
            name: {"unknown": seen.unknown[name], "missing": seen.missing[name]}
            for name in release.columns
        },
    )


def privatize(
    df: Any,
    columns: Any,
    *,
    key: Any = None,
    id: Any = None,
    unknown: str = "warn",
    missing: str = "unknown",
    again: bool = False,
) -> Any:
    """A lazy Spark DataFrame in which some columns hold keyed reports.

    df : a DataFrame.  columns : a mapping from column to mechanism, or a plan.
    key : 32 secret bytes of ``rr.new_key()``.  id : the name of the column that tells whose
        answer it is, or a list of names; missing ids are refused.
    unknown, missing, again : as for `rr.privatize`, but that nothing can be said of unknown
        answers before Spark computes: "warn" is silent here, "raise" fails then.
    Whenever, wherever and in whatever order it is computed, a row with the same id and answer
    has the same report, and the same as by `rr.privatize_frame` under that key.  The price: it
    hides values, not whether or when one changed; epsilon counts for every distinct value of a
    person; rows of one person have dependent noise; whoever has the key has nearly everything.
    The key travels to the executors with each job.
    Raises ArgumentTypeError without key and id.
    """
    if not isinstance(df, DataFrame):
        raise ArgumentTypeError(f"df must be a Spark DataFrame, found {type(df).__name__}")
    if key is None or id is None:
        raise ArgumentTypeError(
            "a lazy frame is computed anew each time it is used, and each time would be another "
            "release of the same answers; write it once with "
            "rrstats.engines.spark.privatize_parquet(df, dst, ...), or give key= and id="
        )
    wanted = wanted_columns(columns, unknown, missing)
    return _Job.prepare(df, wanted, again, {}, key=check_key(key), id=id).frame()


# -- the source ----------------------------------------------------------------------------


def _session(spark: Any) -> Any:
    if spark is not None and not isinstance(spark, SparkSession):
        raise ArgumentTypeError(f"spark must be a SparkSession, found {type(spark).__name__}")
    if spark is None:
        try:
            spark = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        except Exception as error:
            raise MissingPackageError(
                f"Spark could not be started ({type(error).__name__}); it needs Java 17 or newer: "
                "is JAVA_HOME set?"
            ) from None
    return spark


def _check_frame(frame: Any) -> None:
    if not hasattr(frame, "_jdf"):
        raise ArgumentTypeError(
            "the sink needs a session with Spark's own Java process, and this one is remote "
            "(Spark Connect); run it where the driver runs"
        )
    if frame.isStreaming:
        raise ArgumentTypeError(
            "the sink writes a whole data set, and this frame is a stream; privatize each batch in "
            "foreachBatch"
        )


def _check_apart(frame: Any, source: str | None, target: str) -> None:
    """Raise where the target is what the frame is read from, or lies inside or around it."""
    there = _plain(target)
    around = [_plain(file) for file in frame.inputFiles()]
    inside = [] if source is None else [_plain(source)]
    if any(f"{place}/".startswith(f"{there}/") for place in around) or any(
        f"{there}/".startswith(f"{place}/") for place in inside
    ):
        raise ArgumentValueError(
            "dst must be another directory than the source's, neither inside nor around it, got "
            f"{target!r}"
        )


def _plain(place: str) -> str:
    """A path to be compared: Java writes that of a local file with one slash or with three."""
    scheme, colon, rest = unquote(place).partition(":")
    return f"{scheme}:{rest.replace('///', '/').rstrip('/')}" if colon else place.rstrip("/")


# -- the work ------------------------------------------------------------------------------

Batches = Iterator[pa.RecordBatch]


class _Adding(AccumulatorParam[Seen]):
    """How Spark adds up what finished tasks saw; each task of a job counts once."""

    def zero(self, value: Seen) -> Seen:
        return Seen()

    def addInPlace(self, value1: Seen, value2: Seen) -> Seen:
        return value1 + value2


@dataclass(frozen=True)
class _Task:
    """What an attempt does with the batches of one partition, on any machine, under its own keys.

    names : of the columns, by place.  seen : where to add what was seen, if anywhere.
    """

    names: list[str]
    wanted: list[Wanted]
    options: dict[str, Any]
    seen: Any = None

    def reports(self, batches: Batches) -> Batches:
        """The batches with reports in the place of answers."""
        release = None
        for batch in batches:
            named = batch.rename_columns(self.names)
            release = self._release(named) if release is None else release
            yield _stored(careful(release.reports, named))
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

    def _release(self, batch: pa.RecordBatch) -> BatchRelease:
        schema = batch.schema.remove_metadata()
        return BatchRelease(schema, self.wanted, threads=1, **self.options)

    def _add(self, release: BatchRelease | None) -> None:
        if release is not None and self.seen is not None:
            self.seen.add(release.seen())


def _stored(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch in types that Spark has: bytes of a fixed number are bytes there."""
    fixed = pa.types.is_fixed_size_binary
    arrays = [array.cast(pa.binary()) if fixed(array.type) else array for array in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _mapped(frame: Any, work: Callable[[Batches], Batches], schema: Any) -> Any:
    """The lazy frame of what the work makes of each partition."""
    # By place, because Spark takes a dot in a name for a field of a structure.
    placed = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    with warnings.catch_warnings():
        # No pandas is used here; executors say it to their own logs.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        return placed.mapInArrow(lambda batches: work(batches), schema)


@dataclass(frozen=True)
class _Job:
    """Columns of a frame that are to be privatized, checked.

    release : holds the declarations, and counts what the tasks saw; draws nothing.
    schema : Spark's, of the reports.
    """

    source: Any
    release: BatchRelease
    task: _Task
    schema: Any

    @classmethod
    def prepare(
        cls, frame: Any, wanted: list[Wanted], again: bool, told: dict[bytes, bytes], **options: Any
    ) -> _Job:
        names = list(frame.columns)
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise ArgumentValueError(f"column {twice[0]!r} is there twice; rename one")
        private = {asked.name for asked in wanted}
        schema = arrow_schema(frame, private, told)
        release = BatchRelease(schema, wanted, again=again, **options)
        task = _Task(names, wanted, options)
        return cls(frame, release, task, reports_schema(frame.schema, release))

    def refuse(self) -> None:
        """Look at all answers first, where some may be refused; nothing is drawn."""
        if not self.release.may_refuse:
            return

        def work(task: _Task) -> None:
            # Collected, not counted: then tasks that were tried again count once.
            _mapped(self.source, task.look, "looked long").collect()

        self.release.add(self._seen("Spark could not look at the answers", work))
        self.release.refuse()

    def write(self, staging: Staging) -> int:
        """Write all reports; how many rows there are."""

        def work(task: _Task) -> None:
            reports = _mapped(self.source, task.reports, self.schema)
            reports.write.mode("append").options(**WRITING).parquet(staging.data)

        failed = "Spark could not write the reports"
        seen = self._seen(failed, work)
        session = self.source.sparkSession
        rows: int = retold(failed, lambda: session.read.parquet(staging.data).count())
        if rows != seen.rows:
            raise FileError(
                f"{seen.rows} rows were privatized and {rows} were written; nothing was published, "
                "run it again"
            )
        self.release.add(seen)
        document = json.dumps(write(self.release.records), indent=1)
        staging.write(DOCUMENT, document.encode() + b"\n")
        return rows

    def _seen(self, failed: str, work: Callable[[_Task], None]) -> Seen:
        """What all tasks of one job saw."""
        context = self.source.sparkSession.sparkContext
        total = context.accumulator(Seen(), _Adding())
        retold(failed, lambda: work(replace(self.task, seen=total)))
        found: Seen = total.value
        return found

    def frame(self) -> Any:
        """The lazy frame of the reports."""
        return _mapped(self.source, self.task.reports, self.schema)
