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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rrstats.engines.hadoop import Staging, full, location, read_bytes, retold
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FileError,
    MetadataError,
    MissingPackageError,
)
from rrstats.files import file_metadata
from rrstats.files.batches import BatchRelease, Seen, careful
from rrstats.files.plan import Wanted, wanted_columns
from rrstats.files.privatize_file import Receipt, release_receipt
from rrstats.mechanisms.records import KEY, Record, read, write
from rrstats.randomness.keyed import check_key

try:
    import pyarrow as pa
    from pyspark import TaskContext
    from pyspark.accumulators import AccumulatorParam
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
except ImportError:
    raise MissingPackageError(
        "rrstats.engines.spark needs pyspark; pip install pyspark, and Java 17 or newer"
    ) from None

__all__ = ["privatize", "privatize_parquet"]


# -- data sets of Spark as sources: each file is a task -------------------------------------


DOCUMENT = "_rrstats.json"

# More than any file has.  Opening one "costs" as much, so that a task has no room for a second.
WHOLE_BYTES = 1 << 42


def read_source(spark: Any, path: str, names: list[str]) -> tuple[Any, dict[bytes, bytes]]:
    """A data set, each file one task, and what its document and the footer of a file say.

    The frame has a session of its own, in which Spark does not cut files; that of the user
    stays as it is.
    """
    failed = f"cannot read {path} as Parquet"
    frame = retold(failed, lambda: _uncutting(spark).read.parquet(path))
    files = refuse_by(frame, names)
    beside = None
    if not any(sign in path for sign in "*?[{"):
        beside = retold(failed, lambda: read_bytes(spark, path, DOCUMENT))
    footers = retold(failed, lambda: [_footer(spark, file) for file in files])
    _check_alike(path, files, footers)
    footer = footers[0][1] if footers else {}
    here, there = file_metadata.read_records(footer), read({KEY: beside})
    return frame, {**footer, KEY.encode(): one_document([here, there])}


def _uncutting(spark: Any) -> Any:
    """A copy of a session that reads each file as one piece, and each piece as one task."""
    session = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name in ("maxPartitionBytes", "openCostInBytes"):
        session.conf.set(f"spark.sql.files.{name}", str(WHOLE_BYTES))
    session.conf.unset("spark.sql.files.maxPartitionNum")
    # The newer reader does not tell where a row lies.
    session.conf.set("spark.sql.sources.useV1SourceList", "parquet")
    return session


def files_of(frame: Any) -> list[str]:
    """The files that a frame is read from, as far as Spark tells: also where it is cached."""
    if frame.isStreaming:
        return []
    files = set(frame.inputFiles())
    if hasattr(frame, "_jdf"):  # in this process, not in a remote session
        leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
        for leaf in (leaves.apply(place) for place in range(leaves.size())):
            if leaf.getClass().getSimpleName() == "LogicalRelation":
                relation = leaf.relation()
                if relation.getClass().getSimpleName() == "HadoopFsRelation":
                    files |= set(relation.inputFiles())
    return sorted(files)


def refuse_by(frame: Any, names: Iterable[str]) -> list[str]:
    """The files that a frame is read from; refused where their folders are named by an answer."""
    files = retold("cannot list the files of the source", lambda: files_of(frame))
    for name in names:
        if any(_is_partition(folder, name) for file in files for folder in file.split("/")):
            raise ArgumentValueError(
                f"the source is partitioned by column {name!r}, so rows with the same answer lie "
                "together and their places would tell it; write the answers once more without "
                "partitionBy and in an order that tells nothing, such as "
                "df.orderBy(F.rand()).write.parquet(...), and privatize that"
            )
    return files


def _is_partition(folder: str, name: str) -> bool:
    key, equals, _ = folder.partition("=")
    return bool(equals) and unquote(key).casefold() == name.casefold()


def marked(frame: Any) -> Any:
    """The frame with a last column that names the file in the first row of each file."""
    row = frame.metadataColumn("_metadata")
    name = F.when(row["row_index"] == 0, row["file_path"])
    return frame.select("*", name)


def file_of(marks: pa.Array, *, first: bool) -> str | None:
    """The file that the first batch of a task begins with; None where that is not all of it."""
    if marks.null_count != len(marks) - 1 or not marks[0].is_valid or not first:
        return None
    return str(marks[0])


def in_order(files: Mapping[int, str | None]) -> dict[int, int]:
    """For each task with rows the place of its part, in the order of the files' names.

    Raises FileError where a task was not one file from its first row to its last.
    """
    if None in files.values():
        raise FileError(
            "this Spark cuts files and packs the pieces by their bytes, which follow from answers; "
            "nothing was published; give a DataFrame in an order that tells nothing, such as "
            "spark.read.parquet(...).orderBy(F.rand())"
        )
    return {task: place for place, task in enumerate(sorted(files, key=lambda t: str(files[t])))}


Footer = tuple[dict[str, str], dict[bytes, bytes]]


def _footer(spark: Any, file: str) -> Footer:
    """The columns of a Parquet file with their physical types, and its key-values."""
    jvm, conf = spark._jvm, spark.sparkContext._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    opened = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, conf)
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(opened)
    try:
        told = reader.getFooter().getFileMetaData()
        columns = {
            ".".join(column.getPath()): column.getPrimitiveType().getPrimitiveTypeName().toString()
            for column in told.getSchema().getColumns()
        }
        found = dict(told.getKeyValueMetaData())
    finally:
        reader.close()
    return columns, {name.encode(): text.encode() for name, text in found.items()}


def _check_alike(path: str, files: list[str], footers: list[Footer]) -> None:
    """Raise where files differ in their columns, or in what they say of how those were made.

    Spark takes the columns of one file, and fills what others lack with nothing.
    """
    for file, (columns, told) in zip(files[1:], footers[1:], strict=True):
        differ = [
            name
            for name in {**footers[0][0], **columns}
            if columns.get(name) != footers[0][0].get(name)
        ]
        if differ:
            raise FileError(
                f"the files of {path} do not have the same columns: {file} differs from {files[0]} "
                f"in {differ[0]!r}; privatize them apart, or write them with one schema"
            )
        if file_metadata.read_records(told) != file_metadata.read_records(footers[0][1]):
            raise MetadataError(
                f"the files of {path} say different things of how columns were made: {files[0]} "
                f"and {file}; privatize them apart"
            )


def one_document(places: Iterable[list[Record]]) -> bytes:
    """The document of several places, which must agree."""
    return json.dumps(write(file_metadata.joined("the data say", *places))).encode()


# -- columns of Spark as columns of Arrow, and back -----------------------------------------


_ARROW: dict[type[T.DataType], pa.DataType] = {
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
    T.NullType: pa.null(),
}


def arrow_schema(frame: Any, private: set[str], told: dict[bytes, bytes]) -> pa.Schema:
    """The declarations as Arrow has them, and what they say of how columns were made.

    Of the other columns nothing but the name counts.
    """
    said = [file_metadata.read_records(told)]
    fields = []
    for field in frame.schema.fields:
        kind = _arrow_type(field) if field.name in private else pa.null()
        fields.append(pa.field(field.name, kind))
        # It stays with the column when that gets another name.
        own = [replace(record, name=field.name) for record in read(field.metadata or {})]
        said.append(own)
    return pa.schema(fields, metadata={**told, KEY.encode(): one_document(said)})


def _arrow_type(field: Any) -> pa.DataType:
    kind = field.dataType
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if type(kind) not in _ARROW:
        raise ArgumentTypeError(
            f"column {field.name!r} has the type {kind.simpleString()}, and a report is one plain "
            "value; put the answer into a column of its own"
        )
    return _ARROW[type(kind)]


def reports_schema(schema: Any, release: BatchRelease) -> Any:
    """Spark's schema of the reports; the metadata of a private column say how it was made.

    What else they say of it, such as the labels of an indexer by frequency, came from answers.
    """
    fields = []
    records = {str(record.name): record for record in release.records}
    for field in schema.fields:
        column = release.columns.get(field.name)
        if column is not None:
            same = release.declared(field.name) == column.type
            kind = field.dataType if same else _spark_type(field.name, column.type)
            metadata = {KEY: json.dumps(write([records[field.name]]))}
            field = T.StructField(field.name, kind, True, metadata)
        fields.append(field)
    return T.StructType(fields)


def _spark_type(name: str, kind: pa.DataType) -> Any:
    if pa.types.is_fixed_size_binary(kind):
        return T.BinaryType()
    found = next((spark for spark, arrow in _ARROW.items() if arrow == kind), None)
    if found is None:
        raise ArgumentTypeError(
            f"the reports of column {name!r} would have the type {kind}, which Spark does not have"
        )
    return found()


# -- tasks ----------------------------------------------------------------------------------


Batches = Iterator[pa.RecordBatch]


class Adding(AccumulatorParam[Seen]):
    """Sum of the counts of finished tasks; each task of a job counts once."""

    def zero(self, value: Seen) -> Seen:
        """Nothing seen."""
        return Seen()

    def addInPlace(self, value1: Seen, value2: Seen) -> Seen:
        """The counts of two tasks."""
        return value1 + value2


class Listing(AccumulatorParam[dict[int, str | None]]):
    """Union of the files of tasks."""

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
    """Work of an attempt on the batches of one partition, on any machine, under keys of its own.

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


# -- privatize ------------------------------------------------------------------------------


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
    shown = str(dst) if "://" in str(dst) else Path(dst)  # a Path would lose a slash
    return release_receipt(job.release, rows, shown, began)


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
        """The counts of all tasks of one job."""
        context = self.source.sparkSession.sparkContext
        total = context.accumulator(Seen(), Adding())
        retold(failed, lambda: work(replace(self.task, seen=total)))
        found: Seen = total.value
        return found

    def frame(self) -> Any:
        """The lazy frame of the reports."""
        return mapped(self.source, self.task.reports, self.schema)
