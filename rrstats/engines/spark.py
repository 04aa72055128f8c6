"""Spark: privatize on a cluster, once, or lazily with keyed reports.

    import rrstats.engines.spark as rrs
    rrs.privatize_parquet("hdfs://cluster/answers", "hdfs://cluster/reports", {"answer": m})
    rr.estimate(spark.read.parquet("hdfs://cluster/reports"), columns="answer")

Spark computes a lazy frame again each time it is used, so fresh noise would make another release
each time, and averaging them would remove the noise.  `privatize_parquet` therefore writes: each
attempt of a task takes its own keys from the operating system, Spark's commit protocol keeps one
attempt of each task, and the directory appears when it is complete.  `privatize` is lazy, and only
for keyed reports: the same key and ids give the same reports in every computation.
Executors need rrstats and pyarrow.  Sources: `Dataset.mapInArrow` of Spark; `files.batches`.

Files are written to ``.TARGET.<random>.part/data`` beside the target, closed to others, until one
rename gives the directory its name.  Spark's committer alone cannot ensure this: a task that Spark
has abandoned may still write into the target.  So the committed files are moved, one by one, into a
folder that no task knows, and files that such a task writes later are removed at the end.
A rename is one step on HDFS, on local disks and on Azure.  On S3 and other object stores it copies
each file, in no certain order: read the target there after the call has returned.
After a kill a ``.part`` may remain, and so may one that a task makes after the end (readable for
others as far as the file system's mask allows).  Remove it: it may hold a second draw.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import unquote

from rrstats._checks import check_instance, needing
from rrstats._names import checked_keywords, missing_attribute
from rrstats._typing import FilePath
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FileError,
    MissingPackageError,
    RRStatsError,
    RRStatsWarning,
)
from rrstats.files import file_records
from rrstats.files.batches import BatchRelease, Seen, careful, check_lazy, check_told
from rrstats.files.plan import ColumnRequest, wanted_columns
from rrstats.files.privatize_file import Receipt, release_receipt
from rrstats.mechanisms.records import KEY, ColumnRecord, read, write
from rrstats.randomness.keyed import Keyed
from rrstats.randomness.sources import secret_bytes

with needing("rrstats.engines.spark needs pyspark; pip install pyspark, and Java 17 or newer"):
    import pyarrow as pa
    from pyspark.accumulators import AccumulatorParam
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as T
    from pyspark.sql.pandas.types import from_arrow_type

__all__ = ["privatize", "privatize_parquet"]


# -- errors and file systems ----------------------------------------------------------------


Result = TypeVar("Result")


def retold(text: str, work: Callable[[], Result]) -> Result:
    """The result of the work; errors of Spark or Java become a FileError with their type alone.

    Their messages may quote cells, and so may the errors that caused them.
    """
    try:
        return work()
    except (RRStatsError, RRStatsWarning):  # a warning of ours that is an error
        raise
    except Exception as error:
        kind, step = _kind(error)
    # Raised outside the except block, so that it does not carry the original error.
    raise FileError(
        f"{text}: {kind}; its message is not shown because it may quote an answer (Spark's own log "
        f"has it){step}; nothing was published"
    )


def _kind(error: Exception) -> tuple[str, str]:
    """The type of an error, and the next step for the commonest; neither can contain a cell."""
    kind = type(error).__name__
    step = ""
    spark_error: Any = error
    with suppress(Exception):
        kind = str(spark_error.java_exception.getClass().getSimpleName())
    with suppress(Exception):  # an identifier of Spark's own, such as PATH_NOT_FOUND
        if spark_error.getCondition():
            kind += f" ({spark_error.getCondition()})"
    with suppress(Exception):
        if "ModuleNotFoundError: " in str(error):
            step = (
                "; an executor cannot import a module: it needs rrstats, pyarrow and cryptography, "
                "so set PYSPARK_PYTHON to a Python that has them before the session starts"
            )
    return kind, step


def _location(path: FilePath) -> str:
    """A path for Spark: text is a path of Spark, a `Path` is a local file."""
    if isinstance(path, str):
        return path
    return f"file://{Path(path).absolute().as_posix()}"


def _opened(spark: SparkSession, place: str) -> tuple[Any, Any]:
    """The full path, and its file system."""
    path = spark._jvm.org.apache.hadoop.fs.Path(place)
    system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    return system.makeQualified(path), system


# -- data sets of Spark as sources: each file is a task -------------------------------------


DOCUMENT = "_rrstats.json"

# More than the bytes of any file, and the "cost" of opening one: so a task gets one whole file.
WHOLE_BYTES = 1 << 42


def read_source(spark: SparkSession, path: str) -> tuple[DataFrame, list[str], dict[bytes, bytes]]:
    """A data set with one task per file, the files with rows, and the metadata with records.

    The frame has its own session, in which Spark does not cut files; the user's session stays as
    it is.
    """
    frame = _uncutting(spark).read.parquet(path)
    files = files_of(frame)
    document = _document_of(spark, path)
    footers = {file: _footer(spark, file) for file in files}
    first = footers[files[0]] if files else Footer({}, {}, 0)
    first_records = file_records.records(first.metadata)
    # Spark uses the columns of one file, and fills columns that others lack with null.
    for file, footer in footers.items():
        has_same_columns = footer.columns == first.columns
        if not has_same_columns or file_records.records(footer.metadata) != first_records:
            raise FileError(
                f"the files {files[0]} and {file} of {path} have different columns, or different "
                "records of how these were made; privatize them separately, or write them with one "
                "schema"
            )
    filled = [file for file, footer in footers.items() if footer.rows] or files
    records = one_document([first_records, read({KEY: document})])
    return frame, filled, {**first.metadata, KEY.encode(): records}


def _document_of(spark: SparkSession, path: str) -> bytes | None:
    """The text of the document in a directory; None without one, or if the path is a pattern."""
    if any(sign in path for sign in "*?[{"):
        return None
    folder, system = _opened(spark, path)
    document = spark._jvm.org.apache.hadoop.fs.Path(folder, DOCUMENT)
    if not system.exists(document):
        return None
    with closing(system.open(document)) as stream:
        return bytes(stream.readAllBytes())


def _uncutting(spark: SparkSession) -> SparkSession:
    """A copy of a session that reads each file as one piece, and each piece as one task."""
    session = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name in ("maxPartitionBytes", "openCostInBytes"):
        session.conf.set(f"spark.sql.files.{name}", str(WHOLE_BYTES))
    session.conf.unset("spark.sql.files.maxPartitionNum")
    # The newer reader does not show which files its tasks read.
    session.conf.set("spark.sql.sources.useV1SourceList", "parquet")
    return session


def files_of(frame: DataFrame) -> list[str]:
    """The files that a frame is read from, as far as Spark shows them; also if it is cached."""
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


def refuse_by(frame: DataFrame, requests: list[ColumnRequest]) -> list[str]:
    """The files that a frame is read from; raises if folders are named by a private column."""
    files = retold("cannot list the files of the source", lambda: files_of(frame))
    for name in (str(request.name) for request in requests):
        for folder in {folder for file in files for folder in file.split("/")}:
            key, equals, _ = folder.partition("=")
            if equals and unquote(key).casefold() == name.casefold():
                raise ArgumentValueError(
                    f"the source is partitioned by column {name!r}, so rows with the same answer "
                    "are together and their places would reveal it; write the answers again "
                    "without partitionBy and in an order that does not depend on them, such as "
                    "df.orderBy(F.rand()).write.parquet(...), and privatize the result"
                )
    return files


def _check_apart(files: list[str], source: str | None, target: str) -> None:
    """Raise if the target is the source, is inside it, or contains it."""

    def plain(place: str) -> str:
        # Java writes the URI of a local file with one slash or with three.
        return f"{unquote(place).replace(':///', ':/').rstrip('/')}/"

    around = any(plain(file).startswith(plain(target)) for file in files)
    if around or (source is not None and plain(target).startswith(plain(source))):
        raise ArgumentValueError(
            "dst must be another directory than the source's, neither inside nor around it, got "
            f"{target!r}"
        )


@dataclass(frozen=True)
class Footer:
    """The columns of a Parquet file with their physical types, its key-values and its rows."""

    columns: dict[str, str]
    metadata: dict[bytes, bytes]
    rows: int


def _footer(spark: SparkSession, file: str) -> Footer:
    """The footer of a Parquet file."""
    jvm = spark._jvm
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    opened = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, conf)
    with closing(jvm.org.apache.parquet.hadoop.ParquetFileReader.open(opened)) as reader:
        description = reader.getFooter().getFileMetaData()
        columns = {
            ".".join(column.getPath()): column.getPrimitiveType().getPrimitiveTypeName().toString()
            for column in description.getSchema().getColumns()
        }
        texts = dict(description.getKeyValueMetaData())
        rows = reader.getRecordCount()
    metadata = {name.encode(): text.encode() for name, text in texts.items()}
    return Footer(columns, metadata, rows)


def one_document(places: Iterable[list[ColumnRecord]]) -> bytes:
    """One document from the records of several places, which must agree."""
    return json.dumps(write(file_records.joined("the data say", *places))).encode()


# -- columns of Spark as columns of Arrow, and back -----------------------------------------


def arrow_schema(frame: DataFrame, private: set[str], metadata: dict[bytes, bytes]) -> pa.Schema:
    """The declarations as an Arrow schema, with the records of how columns were made.

    Of the other columns only the names are used.
    """
    failed = "Spark cannot give the columns as Arrow"
    fields = retold(failed, lambda: list(frame.limit(0).toArrow().schema))
    records = [file_records.records(metadata)]
    for place, field in enumerate(frame.schema.fields):
        kind = fields[place].type if field.name in private else pa.null()
        fields[place] = pa.field(field.name, kind)
        # The record stays with the column when the column is renamed.
        records.append([replace(record, name=field.name) for record in read(field.metadata or {})])
    return pa.schema(fields, metadata={**metadata, KEY.encode(): one_document(records)})


def reports_schema(schema: T.StructType, release: BatchRelease) -> T.StructType:
    """Spark's schema of the reports; the metadata of a private column record how it was made.

    Its other metadata, such as the labels of an indexer by frequency, are dropped: they depend on
    the answers.
    """
    fields = []
    records = {str(record.name): record for record in release.records}
    new = [name for name in release.written if name not in release.columns]
    for field in [*schema.fields, *(T.StructField(name, T.StringType()) for name in new)]:
        column = release.columns.get(field.name)
        if column is not None:
            bits = pa.types.is_fixed_size_binary(column.type)
            kind = from_arrow_type(pa.binary() if bits else column.type)
            metadata = {KEY: json.dumps(write([records[field.name]]))}
            field = T.StructField(field.name, kind, True, metadata)
        fields.append(field)
    return T.StructType(fields)


# -- tasks ----------------------------------------------------------------------------------


Batches = Iterator[pa.RecordBatch]


class Adding(AccumulatorParam[Any]):
    """Sum of values over finished tasks; each task of a job counts once."""

    def zero(self, value: Any) -> Any:
        """The empty value."""
        return type(value)()

    def addInPlace(self, value1: Any, value2: Any) -> Any:
        """The sum of two tasks' values."""
        return value1 + value2


@dataclass(frozen=True)
class Task:
    """The work of one attempt on the batches of a partition, on any machine, with its own keys.

    names : of the columns, by place.  key : for keyed reports, as for `BatchRelease`.
    seen : the accumulator of counts, or None.
    """

    names: list[str]
    requests: list[ColumnRequest]
    key: Keyed | None = None
    seen: Any = None

    def reports(self, batches: Batches) -> Batches:
        """The batches with reports instead of answers; fixed-size binary becomes binary."""
        fixed = pa.types.is_fixed_size_binary
        for release, batch in self._opened(batches):
            reports = careful(release.reports, batch)
            arrays = [
                column.cast(pa.binary()) if fixed(column.type) else column
                for column in reports.columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=reports.schema.names)

    def _opened(self, batches: Batches) -> Iterator[tuple[BatchRelease, pa.RecordBatch]]:
        """The task's release, opened at the first batch, with each batch; then adds its counts."""
        release = None
        for batch in batches:
            answers = batch.rename_columns(self.names)
            if release is None:
                schema = answers.schema.remove_metadata()
                release = BatchRelease(schema, self.requests, key=self.key, threads=1)
            yield release, answers
        if release is not None and self.seen is not None:
            self.seen.add(release.seen())


def file_places(reports: DataFrame, files: list[str]) -> dict[int, int]:
    """The place of the file of each task, as Spark planned the tasks.

    Raises FileError if a task is not one complete file.
    """
    tasks: dict[str, int] = {}
    for task in reports._jdf.queryExecution().toRdd().partitions():
        file, *others = task.files()
        if others or file.length() < file.fileSize():
            raise FileError(
                "this Spark cuts files and combines the pieces by their bytes, which depend on the "
                "answers; nothing was published; give a DataFrame in an order that does not depend "
                "on them, such as spark.read.parquet(...).orderBy(F.rand())"
            )
        tasks[str(file.urlEncodedPath())] = task.index()
    return {tasks[file]: place for place, file in enumerate(files)}


def mapped(
    frame: DataFrame, work: Callable[[Batches], Batches], schema: T.StructType | str
) -> DataFrame:
    """The lazy frame with the work applied to each partition."""
    # By place, because Spark reads a dot in a name as a field of a structure.
    placed = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    return placed.mapInArrow(lambda batches: work(batches), schema)


def prepare(
    frame: DataFrame,
    requests: list[ColumnRequest],
    metadata: dict[bytes, bytes],
    *,
    again: bool,
    key: Keyed | None = None,
) -> tuple[BatchRelease, Task, T.StructType]:
    """A release that only checks and counts; the task; Spark's schema of the reports."""
    names = list(frame.columns)
    schema = arrow_schema(frame, {str(request.name) for request in requests}, metadata)
    release = BatchRelease(schema, requests, again=again, key=key)
    return release, Task(names, requests, key), reports_schema(frame.schema, release)


# -- privatize ------------------------------------------------------------------------------


WRITING = {
    # Files join the directory when the job commits, so never from two attempts of a task.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
}


@checked_keywords
def privatize_parquet(
    src: DataFrame | Path | str,
    dst: FilePath,
    plan: Any,
    *,
    spark: SparkSession | None = None,
    unknown: str = "raise",
    missing: str = "unknown",
    again: bool = False,
    overwrite: bool = False,
) -> Receipt:
    """Privatize columns of a data set with Spark into a new directory of Parquet files.

    Parameters
    ----------
    src : path, or Spark DataFrame
        A path that Spark reads as Parquet (text is a path of Spark, a `Path` is a local file), or a
        DataFrame, which is computed once.
    dst : path
        The directory; any Hadoop file system.  Each file of a path is one task and one part, in
        the order of their names and with its rows in their order (a file without rows has no
        part); each partition of a DataFrame is one part, with its rows in their order.
    plan : mapping
        From column to mechanism, or a plan as for `rr.files.privatize_file`.
    spark : SparkSession, optional
        For a path; by default the active session.
    unknown, missing, again
        As for `rr.files.privatize_file`; again=True privatizes reports a second time.
    overwrite : bool
        Replace an existing directory of Parquet files.

    Returns
    -------
    Receipt
        The directory holds ``_SUCCESS`` and ``_rrstats.json``, which records how the columns were
        made.  The metadata of each column also record it
        (``spark.read.parquet(dst).schema["answer"].metadata["rrstats"]``).

    Raises
    ------
    FileError
        The job failed; nothing is published.
    UnknownAnswersError
        ``unknown`` or ``missing`` refuses an answer; nothing is published.
    ArgumentValueError, ArgumentTypeError, MetadataError
        An argument is wrong.  No message quotes an answer.  Spark's own logs and pages may quote
        errors of the code behind ``src``; rrstats adds none.

    Notes
    -----
    The parts show the order of a DataFrame's rows.  Spark itself cuts and combines the files it
    reads by their bytes, which depend on the answers.  So give the path, or an order that does not
    depend on the answers, such as ``df.orderBy(F.rand())`` or
    ``df.repartition(n, "id").sortWithinPartitions("id")``; never a frame that was grouped, sorted
    or bucketed by an answer.  Paths and frames whose folders are named by a private column
    (``answer=yes``) are refused; Spark does not show this for a renamed column, or after an RDD or
    a checkpoint.

    There is no ledger, because sources of Spark need not be files: record releases yourself, as
    each further release of the same answers adds its epsilon.
    """
    began = time.monotonic()
    place = _location(dst)
    requests = wanted_columns(plan, unknown, missing)
    source = _open_source(src, spark)
    session = source.session
    frame = source.frame
    files = refuse_by(frame, requests)
    release, task, schema = prepare(frame, requests, source.metadata, again=again)

    shown = str(dst) if "://" in str(dst) else Path(dst)  # a Path would lose a slash

    def work() -> Receipt:
        with Staging(session, place, overwrite=overwrite) as staging:
            _check_apart(files, source.path, staging.target)
            rows = _write(staging, frame, release, task=task, schema=schema, files=source.filled)
            receipt = release_receipt(release, rows, shown, began)  # may refuse, or warn
            staging.publish()
            return receipt

    return retold(f"Spark could not write {place}", work)


class _Source(NamedTuple):
    """A source of rows, and the session that reads and writes.

    path : the full path, None for a frame.  filled : its files with rows, each of them a task; None
    for a frame.  metadata : of the files.
    """

    session: SparkSession
    frame: DataFrame
    path: str | None
    filled: list[str] | None
    metadata: dict[bytes, bytes]


def _open_source(src: DataFrame | Path | str, spark: SparkSession | None) -> _Source:
    """A frame as it is, or the data set at a path."""
    if isinstance(src, DataFrame):
        return _Source(_session(src.sparkSession), src, None, None, {})
    session = _session(spark)
    location = _location(src)
    failed = f"cannot read {location} as Parquet"
    frame, filled, metadata = retold(failed, lambda: read_source(session, location))
    return _Source(session, frame, str(_opened(session, location)[0]), filled, metadata)


@contextmanager
def _counted(spark: SparkSession, release: BatchRelease) -> Iterator[Any]:
    """An accumulator of the tasks' counts, which are added to the release at the end."""
    total = spark.sparkContext.accumulator(Seen(), Adding())
    yield total
    release.add(total.value)


def _write(
    staging: Staging,
    frame: DataFrame,
    release: BatchRelease,
    *,
    task: Task,
    schema: T.StructType,
    files: list[str] | None,
) -> int:
    """Write all reports; return the number of rows.  files : those whose tasks make the parts."""
    spark = frame.sparkSession
    with _counted(spark, release) as seen:
        reports = mapped(frame, replace(task, seen=seen).reports, schema)
        places = None if files is None else file_places(reports, files)
        reports.write.mode("append").options(**WRITING).parquet(staging.data)
    staging.close(places)
    rows: int = spark.read.parquet(staging.data).count()
    release.confirm(rows)
    document = json.dumps(write(release.records), indent=1)
    staging.write(DOCUMENT, document.encode() + b"\n")
    return rows


@checked_keywords
def privatize(
    df: DataFrame,
    columns: Any,
    *,
    key: Keyed | None = None,
    unknown: str = "raise",
    missing: str = "unknown",
    again: bool = False,
) -> Any:
    """A lazy Spark DataFrame in which some columns hold keyed reports.

    Parameters
    ----------
    df : DataFrame
    columns : mapping
        From column to mechanism, or a plan.
    key : Keyed
        ``rr.client.Keyed(key, id)``, which is sent to the executors with each job; id is the
        column, or the columns, that identify the respondent, and missing ids are refused.
    unknown : {"uniform"}
        Required, here or in the plan: nothing can be refused when Spark computes.  The default
        "raise" is refused.
    missing : {"unknown", "uniform", "keep"}
        As for `rr.privatize`.
    again
        As for `rr.privatize`.

    Returns
    -------
    DataFrame
        In every computation a row with the same id and answer has the same report, which is also
        that of `rr.privatize` with this key.

    Raises
    ------
    ArgumentTypeError
        key is missing.
    ArgumentValueError
        unknown is not "uniform", or missing is "raise".

    Notes
    -----
    Limits of keyed reports: they hide values, but not whether or when one changed; epsilon counts
    for every distinct value of a person; rows of one person have dependent noise; the key reveals
    nearly every answer.  An id must belong to one person in all releases under a key, so a
    household's number is no id: two persons with the same id and answer have the same report, so
    different reports reveal different answers.

    Rows keep their order, which the written files show.  Folders that are named by a private
    column are refused.
    """
    check_instance(df, "df", DataFrame, "a Spark DataFrame")
    sink = "spark.privatize_parquet(df, dst, ...)"
    check_lazy(key, sink, columns)
    requests = wanted_columns(columns, unknown, missing)
    for request in requests:
        check_told(request.unknown, request.missing, sink)
    refuse_by(df, requests)
    _, task, schema = prepare(df, requests, {}, again=again, key=key)
    return mapped(df, task.reports, schema)


def _session(spark: SparkSession | None) -> SparkSession:
    """The session, by default the active one; raises if it cannot write."""
    try:
        session = spark or SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    except Exception as error:
        raise MissingPackageError(
            f"Spark could not be started ({type(error).__name__}); it needs Java 17 or newer: "
            "check JAVA_HOME"
        ) from None
    if not hasattr(session, "_jsparkSession"):
        raise ArgumentTypeError(
            "spark must be a SparkSession with Spark's own Java process, found "
            f"{type(session).__module__}.{type(session).__name__}; a remote session "
            "(Spark Connect) cannot write: run this where the driver runs"
        )
    return session


# -- atomic publication of a directory ------------------------------------------------------


REMOVALS = 10
PAUSE_SECONDS = 0.1
"""Times to remove a directory, because an abandoned task may still create files in it."""

PART_NAME = re.compile(r"part-(\d+)(\D.*)", re.DOTALL)


class Staging:
    """A directory that is being written, and appears when `publish` is called in its block.

    target : its final path, from `_location`.  overwrite : replace an existing directory.
    data : the path where Spark writes its files; after `close`, the path of the closed files.
    If the block ends in any other way, it is removed.  Raises FileError before it is published.
    """

    def __init__(self, spark: SparkSession, target: str, *, overwrite: bool = False) -> None:
        self._spark = spark
        self._overwrite = overwrite
        self._name = target
        self._target, self._system = _opened(spark, target)
        parent = self._target.getParent()
        name = self._target.getName()
        self.target = str(self._target)
        mark = secret_bytes(8).hex()
        self._part = self._path(parent, f".{name}.{mark}.part")
        self._old = self._path(parent, f".{name}.{mark}.old")
        self.data = str(self._path(self._part, "data"))
        self._closed = self._path(self._part, secret_bytes(8).hex())

    def _need(self, condition: bool, otherwise: str) -> None:
        if not condition:
            raise FileError(f"cannot write {self._name}: {otherwise}; nothing was published")

    def _path(self, folder: Any, name: str) -> Any:
        return self._spark._jvm.org.apache.hadoop.fs.Path(folder, name)

    def __enter__(self) -> Staging:
        self._check()
        permission = self._spark._jvm.org.apache.hadoop.fs.permission.FsPermission
        # While tasks run again, two draws of the same rows may be here.
        created = self._system.mkdirs(self._part, permission("700"))
        self._need(created, "its folder cannot be written to")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        # An abandoned task may still create its file, and the folder with it.
        for _again in range(REMOVALS):
            with suppress(Exception):
                self._system.delete(self._part, True)
            time.sleep(PAUSE_SECONDS)
            with suppress(Exception):
                if kind is None and not self._system.exists(self._part):
                    break

    def close(self, places: Mapping[int, int] | None = None) -> None:
        """Move the parts that the job committed, and nothing else, to a folder unknown to tasks.

        places : the number of the part of each task; parts of other tasks are dropped.
        """
        self._system.mkdirs(self._closed)
        for entry in self._system.listStatus(_opened(self._spark, self.data)[0]):
            name = entry.getPath().getName()
            part = PART_NAME.fullmatch(name)
            if part is not None and places is not None:
                place = places.get(int(part[1]))
                name = "" if place is None else f"part-{place:05}{part[2]}"
            is_committed = name == "_SUCCESS" or (part is not None and name != "")
            if not (entry.isFile() and is_committed):
                continue
            moved = self._system.rename(entry.getPath(), self._path(self._closed, name))
            self._need(moved, "renaming failed")
        self.data = str(self._closed)

    def write(self, name: str, data: bytes) -> None:
        """Write a small file in the directory."""
        with closing(self._system.create(self._path(self._closed, name), False)) as stream:
            stream.write(bytearray(data))

    def publish(self) -> None:
        """Rename the closed directory to the target."""
        replaced = self._check()
        if replaced:
            self._rename(self._target, self._old)
        try:
            self._rename(self._closed, self._target)
        except BaseException:
            if replaced:
                self._system.rename(self._old, self._target)
            raise
        if replaced:
            self._system.delete(self._old, True)

    def _rename(self, path: Any, new_path: Any) -> None:
        self._need(self._system.rename(path, new_path), "renaming failed")
        # If a directory of that name was made in the meantime, Hadoop moves into it.
        inside = self._path(new_path, path.getName())
        taken = self._system.exists(inside)
        if taken:
            self._system.delete(inside, True)
        self._need(not taken, "another program made it in the meantime")

    def _check(self) -> bool:
        """True if there is a directory to replace; FileError if it must not be replaced."""
        parent = self._target.getParent()
        self._need(self._system.exists(parent), f"the folder {parent} is not there")
        if not self._system.exists(self._target):
            return False
        self._need(self._overwrite, "it exists; choose another name, or give overwrite=True")
        folder = self._system.getFileStatus(self._target).isDirectory()
        names = [entry.getPath().getName() for entry in self._system.listStatus(self._target)]
        ours = all(name.startswith(("_", ".")) or name.endswith(".parquet") for name in names)
        self._need(
            folder and ours,
            "it holds more than Parquet files, and overwriting would remove everything; choose "
            "another name, or remove the directory yourself",
        )
        return True


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
