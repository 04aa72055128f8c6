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
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rrstats.engines.hadoop import Staging, full, location, retold
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError, MissingPackageError
from rrstats.files.batches import BatchRelease, Seen
from rrstats.files.plan import Wanted, wanted_columns
from rrstats.files.privatize_file import Receipt
from rrstats.mechanisms.epsilon import total_epsilon
from rrstats.mechanisms.records import write
from rrstats.randomness.keyed import check_key

try:
    from pyspark.sql import DataFrame, SparkSession
except ImportError:
    raise MissingPackageError(
        "rrstats.engines.spark needs pyspark; pip install pyspark, and Java 17 or newer"
    ) from None

from rrstats.engines.spark_columns import arrow_schema, reports_schema
from rrstats.engines.spark_source import (
    DOCUMENT,
    files_of,
    in_order,
    marked,
    read_source,
    refuse_by,
)
from rrstats.engines.spark_tasks import Adding, Listing, Task, mapped

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
    dst : the directory; any Hadoop file system.  Each file of a path is one task and one part, in
        the order of their names and with its rows in their order (without rows it has none); each
        partition of a DataFrame is one part, as it stands.
    plan : a mapping from column to mechanism, or a plan as for `rr.files.privatize_file`.
    spark : the session, for a path; by default the active one.
    unknown, missing, again : as for `rr.files.privatize_file`; again=True privatizes reports once
        more.  overwrite : replace an existing directory of Parquet files.
    Returns a Receipt.  The directory holds ``_SUCCESS`` and ``_rrstats.json``, which says how the
    columns were made, and so does the metadata of each column
    (``spark.read.parquet(dst).schema["answer"].metadata["rrstats"]``).
    What a DataFrame's order tells, its parts tell.  Spark itself cuts and packs the files it reads
    by their bytes, which follow from the answers: give the path, or an order that tells nothing,
    ``df.orderBy(F.rand())`` or ``df.repartition(n, "id").sortWithinPartitions("id")``; never one
    that was grouped, sorted or bucketed by an answer.  Where folders of files are named by a
    private column (``answer=yes``) both are refused; of a column that was renamed, or of data
    that passed through RDDs or a checkpoint, Spark does not tell it.
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
    names = [str(asked.name) for asked in wanted]
    told: dict[bytes, bytes] = {}
    source = None
    if isinstance(src, DataFrame):
        frame, spark = src, src.sparkSession
        _check_frame(frame)
        refuse_by(frame, names)
    else:
        spark, given = _session(spark), location(src, "src")
        _check_local(spark)
        frame, told = read_source(spark, given, names)
        source = retold(f"cannot read {given}", lambda: full(spark, given))
    job = _Job.prepare(frame, wanted, again, told, by_file=source is not None)
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
    has the same report, and the same as by `rr.privatize` under that key.  The price: it
    hides values, not whether or when one changed; epsilon counts for every distinct value of a
    person; rows of one person have dependent noise; whoever has the key has nearly everything.
    An id names one person in all that is released under a key; that of a household does not: two
    persons with the same id and answer have the same noise, so where their reports differ their
    answers do, for certain.
    The key travels to the executors with each job.  Rows stay where they are: what their order
    tells, what is written tells.  Where folders are named by a private column, it is refused.
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
    refuse_by(df, [str(asked.name) for asked in wanted])
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


def _check_local(session: Any) -> None:
    if not hasattr(session, "_jsparkSession"):
        raise ArgumentTypeError(
            "the sink needs a session with Spark's own Java process, and this one is remote "
            "(Spark Connect); run it where the driver runs"
        )


def _check_frame(frame: Any) -> None:
    _check_local(frame.sparkSession)
    if frame.isStreaming:
        raise ArgumentTypeError(
            "the sink writes a whole data set, and this frame is a stream; privatize each batch in "
            "foreachBatch"
        )


def _check_apart(frame: Any, source: str | None, target: str) -> None:
    """Raise where the target is what the frame is read from, or lies inside or around it."""
    there = _plain(target)
    around = [_plain(file) for file in files_of(frame)]
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


@dataclass(frozen=True)
class _Job:
    """Columns of a frame that are to be privatized, checked.

    release : holds the declarations, and counts what the tasks saw; draws nothing.
    schema : Spark's, of the reports.  by_file : whether each task is to be one file.
    """

    source: Any
    release: BatchRelease
    task: Task
    schema: Any
    by_file: bool

    @classmethod
    def prepare(
        cls,
        frame: Any,
        wanted: list[Wanted],
        again: bool,
        told: dict[bytes, bytes],
        *,
        by_file: bool = False,
        **options: Any,
    ) -> _Job:
        names = list(frame.columns)
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise ArgumentValueError(f"column {twice[0]!r} is there twice; rename one")
        private = {asked.name for asked in wanted}
        schema = arrow_schema(frame, private, told)
        release = BatchRelease(schema, wanted, again=again, **options)
        task = Task(names, wanted, options)
        return cls(frame, release, task, reports_schema(frame.schema, release), by_file)

    def refuse(self) -> None:
        """Look at all answers first, where some may be refused; nothing is drawn."""
        if not self.release.may_refuse:
            return

        def work(task: Task) -> None:
            # Collected, not counted: then tasks that were tried again count once.
            mapped(self.source, task.look, "looked long").collect()

        self.release.add(self._seen("Spark could not look at the answers", work))
        self.release.refuse()

    def write(self, staging: Staging) -> int:
        """Write all reports; how many rows there are."""
        session = self.source.sparkSession
        listing: dict[int, str | None] = {}
        files = session.sparkContext.accumulator(listing, Listing()) if self.by_file else None
        source = marked(self.source) if self.by_file else self.source

        def work(task: Task) -> None:
            reports = mapped(source, replace(task, files=files).reports, self.schema)
            reports.write.mode("append").options(**WRITING).parquet(staging.data)

        failed = "Spark could not write the reports"
        seen = self._seen(failed, work)
        # Without rows there is one part without rows.
        staging.close(None if files is None else in_order(files.value) or {0: 0})
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

    def _seen(self, failed: str, work: Callable[[Task], None]) -> Seen:
        """What all tasks of one job saw."""
        context = self.source.sparkSession.sparkContext
        total = context.accumulator(Seen(), Adding())
        retold(failed, lambda: work(replace(self.task, seen=total)))
        found: Seen = total.value
        return found

    def frame(self) -> Any:
        """The lazy frame of the reports."""
        return mapped(self.source, self.task.reports, self.schema)
