"""Dask: privatize Parquet with the tasks of a cluster, once; and ``ddf.rr`` on Dask frames.

    import rrstats.engines.dask as rrd

    rrd.privatize_parquet("/shared/in", "/shared/out", {"answer": m}, client=client)   a sink
    ddf.rr.privatize("answer", m, key=keyed)                   lazy, only with keyed reports
    ddf.rr.estimate("answer", m)                               counted by Dask

A Dask frame is computed again whenever its result is used, and when a worker is lost.  With fresh
noise each computation would be another release of the same answers, and their mean would reveal
the true answers.  So fresh reports are written once, and read from the files.
The distribution is that of `rr.privatize`; this module neither draws nor counts.

The partitions of a frame become the parts of the release, which shows which rows are in one part.
So no partition may depend on the private column: not through the folders it was read from
(``answer=yes/``), nor through a shuffle, a sort or a merge on it.  This is checked in the frame's
`expr`, without computing.  Not detected: partitions by the user's own functions or a groupby, and a
column that was computed or renamed from the one that rows depend on (for folders, renamed
categories are detected).  For errors of the cluster the message names only their type and the next
step, because their text may quote a cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

import numpy as np
import pandas as pd

from rrstats._checks import needing
from rrstats._names import checked_keywords, missing_attribute
from rrstats._typing import FilePath
from rrstats.data.arrow_rebuild import rebuilt_table
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError
from rrstats.estimation.estimates.counting_accessor import CountingAccessor
from rrstats.files import file_metadata
from rrstats.files.batches import BatchRelease, Seen, anew, check_lazy, check_told
from rrstats.files.plan import ColumnRequest, wanted_columns
from rrstats.files.privatize_file import (
    Call,
    Progress,
    Receipt,
    Run,
    TaskOutcome,
    privatize_batches,
    privatize_by_tasks,
)
from rrstats.files.shuffle import Shuffle
from rrstats.privatization.frame import column_mechanisms, privatize
from rrstats.randomness.keyed import Keyed
from rrstats.randomness.sources import secret_bytes

with needing("rrstats.engines.dask needs Dask and pyarrow; pip install 'dask[dataframe]' pyarrow"):
    import dask
    import dask.dataframe as dd
    import pyarrow as pa
    import pyarrow.parquet as pq
    from dask.dataframe.extensions import register_dataframe_accessor
    from dask.dataframe.utils import meta_nonempty
    from dask.delayed import Delayed

__all__ = ["DaskAccessor", "privatize_parquet"]


# -- tasks: run by a client, or by the scheduler of Dask ------------------------------------


ABSENT = (
    "a worker or the scheduler cannot import a module that the tasks need; install the packages "
    "of this process on all of them, in the same versions"
)
LOST = "the client lost its cluster; create a new dask.distributed.Client"

FAULTS = {
    "ModuleNotFoundError": ABSENT,
    "MissingPackageError": ABSENT,
    "ClosedClientError": LOST,
    "CommClosedError": LOST,
    "FutureCancelledError": LOST,
    "KilledWorker": "several workers died while they ran one task, usually because memory was "
    "short; give workers more memory, or use smaller files or partitions",
}
"""Faults of a cluster with the next step, by the type of the error: its text may quote a cell."""


def client_of(client: Any) -> Any:
    """The client that runs tasks; None for Dask's own scheduler."""
    if client is not None:
        if not hasattr(client, "compute") or getattr(client, "asynchronous", True):
            raise ArgumentTypeError(
                "client must be a dask.distributed.Client that is not asynchronous, found "
                f"{type(client).__name__}"
            )
        return client
    if dask.config.get("scheduler", None) in (None, "distributed", "dask.distributed"):
        with suppress(ImportError, ValueError):
            from distributed import default_client

            return default_client()
    return None


def run_by(client: Any, partitions: Sequence[Any] | None = None) -> Run:
    """A function that runs calls with Dask, each with its partition if there are partitions."""

    def run(calls: Sequence[Call]) -> Generator[tuple[int, TaskOutcome]]:
        name = f"rrstats-part-{secret_bytes(16).hex()}"
        tasks = []
        for place, call in enumerate(calls):
            data = () if partitions is None else (partitions[place],)
            lazy = dask.delayed(call, pure=False, traverse=False)
            tasks.append(lazy(*data, dask_key_name=f"{name}-{place}"))
        fault = None
        try:
            if client is None:
                yield from enumerate(dask.compute(*tasks))
            else:
                yield from _run(client, tasks)
        except Exception as error:
            fault = _of_the_cluster(error)
            if fault is None:
                raise
        if fault is not None:  # outside the block, so that it does not carry the original error
            raise FileError(f"{fault}; nothing was published")

    return run


def _run(client: Any, tasks: list[Any]) -> Generator[tuple[int, TaskOutcome]]:
    """Yield the outcomes of a cluster as they come; cancel the remaining tasks at the end."""
    from distributed import as_completed

    futures = {future: place for place, future in enumerate(client.compute(tasks))}
    try:
        for future, outcome in as_completed(list(futures), loop=client.loop, with_results=True):
            place = futures.pop(future)
            future.release()  # it is not needed again, even if its worker is lost
            yield place, outcome
    finally:
        if futures:
            client.cancel(list(futures))


def _of_the_cluster(error: BaseException | None) -> str | None:
    """The fault of the cluster, with the next step; None for any other error."""
    while error is not None:
        fault = FAULTS.get(type(error).__name__)
        if fault is not None:
            return fault
        error = error.__cause__
    return None


# -- a Dask frame as a source ---------------------------------------------------------------


MOVED_BY = ("partitioning_index", "by", "_other")

"""Operands that name the columns by which all rows are moved to other parts."""

FOLLOWED = (*MOVED_BY, "left_on", "right_on")

"""Operands that name the columns by which rows are moved; a merge may leave them in their parts."""

LATER_BLOCK = re.compile("read-block-[1-9]")

"""Names of the tasks of Dask that read a block of a file which begins behind its first byte."""

SHOWN = ("FromPandas", "FromPandasDivisions", "FromArray", "FromMapProjectable")

"""Sources without partitions by folders: data in memory, and text read by `read_csv`."""


def check_layout(frame: dd.DataFrame, names: Sequence[str]) -> None:
    """Raise ArgumentValueError if the partitions depend on a private column, by declaration."""
    folders: dict[str, Any] = {}
    moved: dict[str, str] = {}
    hides_source = False
    for step in frame.expr.walk():
        kind = type(step).__name__
        moved |= dict.fromkeys(_followed(step, FOLLOWED), kind)
        if kind.startswith("ReadParquet"):
            step_folders = _folders(step)
            folders |= step_folders or {}
            hides_source |= step_folders is None
        elif not step.dependencies():
            hides_source |= kind not in SHOWN
    if _has_parts_of_bytes(frame):
        raise ArgumentValueError(
            "the frame was read from text in blocks of bytes, or repartitioned by partition_size, "
            "so that the sizes of its parts would tell how long the answers are; read it with "
            "blocksize=None, which makes one part of each file, or move its rows by a public "
            "column with many values, ddf.shuffle('id')"
        )
    for name in names:
        categories = _known_categories(frame._meta, name)
        if name in moved:
            why = (
                f"the frame's rows were moved by column {name!r} ({moved[name]}), so the rows of a "
                "part would reveal something about the answers"
            )
        elif name.casefold() in folders or (categories and categories in folders.values()):
            why = (
                f"the frame was read from folders partitioned by column {name!r}, so each part "
                "would hold the rows of one answer"
            )
        elif hides_source and categories is not None:
            raise ArgumentValueError(
                f"column {name!r} has known categories, as a column from folder names has, and the "
                "frame does not show its source (persist, optimize, from_delayed and from_map hide "
                "it); give the frame as it was before, or, if no partition depends on this column, "
                f"ddf.astype({{{name!r}: 'string[pyarrow]'}})"
            )
        else:
            continue
        raise ArgumentValueError(
            f"{why}; mix the rows by a public column with many values, ddf.astype({{{name!r}: "
            "'string[pyarrow]'}).shuffle('id').to_parquet(path, write_index=False), and give that "
            "path with shuffle_rows=True"
        )


def _has_parts_of_bytes(frame: dd.DataFrame) -> bool:
    """True if parts were cut by bytes, and their rows were not moved to other parts since."""
    waiting = [frame.expr]
    while waiting:
        step = waiting.pop()
        if any(_followed(step, MOVED_BY)):
            continue
        if _is_cut_by_bytes(step):
            return True
        waiting += step.dependencies()
        waiting += _operands(step).get("exprs", ())  # of a frame that was optimized
    return False


def _is_cut_by_bytes(step: Any) -> bool:
    """True for a step that reads blocks of text files, or limits the memory of parts."""
    operands = _operands(step)
    if operands.get("label") == "read-csv":
        blocks = operands["iterables"][-1]
        return not all(is_first and is_last for _, is_first, is_last in blocks)
    if operands.get("partition_size") is not None:
        return True
    tasks = [name for part in step.operands if isinstance(part, Delayed) for name in part.dask]
    return any(LATER_BLOCK.match(str(name)) for name in tasks)


def _operands(step: Any) -> dict[str, Any]:
    """The operands of a step of a frame, by name."""
    return dict(zip(step._parameters, step.operands, strict=False))


def _followed(step: Any, operands: Sequence[str]) -> Iterator[str]:
    """The columns by which a step of the frame moves rows, as some of its operands name them."""
    by_name = _operands(step)
    for operand in {*operands} & {*by_name}:
        value = by_name[operand]
        for by in value if isinstance(value, list | tuple) else [value]:
            yield from map(str, getattr(by, "columns", [by]))


def _folders(read: Any) -> dict[str, Any] | None:
    """The columns in folder names, each with its categories; None if Dask hides the folders."""
    try:
        info = read._dataset_info
        files = info["ds"].files if "ds" in info else [file.path for file in read.fragments]
    except (AttributeError, KeyError, TypeError, OSError):
        return None
    folders = {folder for file in files for folder in PurePosixPath(file).parts[:-1]}
    names = [unquote(folder.partition("=")[0]) for folder in folders if "=" in folder]
    return {name.casefold(): _known_categories(read._meta, name) for name in names}


def _known_categories(meta: pd.DataFrame, name: str) -> list[str] | None:
    """The categories of a column if Dask knows them, as it does for folder names; or None."""
    if name not in meta.columns or not isinstance(meta.dtypes[name], pd.CategoricalDtype):
        return None
    categories = meta.dtypes[name].categories
    return None if "__UNKNOWN_CATEGORIES__" in categories else [str(value) for value in categories]


# -- what the frame declares ---------------------------------------------------------------


def schema_of(frame: dd.DataFrame) -> tuple[pa.Schema, bool]:
    """The Arrow schema of all partitions, from declarations alone; True if it has the index."""
    meta = frame._meta
    keeps_index = meta.index.name is not None
    # With made-up rows, because an empty column of objects has no type; nearly all hold text.
    sample = meta_nonempty(meta)
    sample.attrs = {}
    for place, dtype in enumerate(sample.dtypes):
        if pd.api.types.is_object_dtype(dtype):
            sample.isetitem(place, np.full(len(sample), "text", dtype=object))
    schema = pa.Schema.from_pandas(sample, preserve_index=keeps_index)
    for place, field in enumerate(schema):
        if pa.types.is_dictionary(field.type):
            # There may be many unknown categories; they count as text unless declared otherwise.
            declared = field.type.value_type
            values = pa.string() if pa.types.is_null(declared) else declared
            wide = pa.dictionary(pa.int32(), values, field.type.ordered)
            schema = schema.set(place, field.with_type(wide))
    attrs = json.dumps(meta.attrs, default=lambda _: None, skipkeys=True)  # only JSON values
    return schema.with_metadata({**schema.metadata, b"PANDAS_ATTRS": attrs}), keeps_index


# -- privatize ------------------------------------------------------------------------------


@checked_keywords
def privatize_parquet(
    src: FilePath | dd.DataFrame,
    dst: FilePath,
    plan: Any,
    *,
    client: Any = None,
    unknown: str = "raise",
    missing: str = "unknown",
    again: bool = False,
    overwrite: bool = False,
    shuffle_rows: bool = False,
    ledger: FilePath | None = None,
    progress: Progress | None = None,
) -> Receipt:
    """Privatize columns of Parquet data into a new directory; each part is a task of Dask.

    Parameters
    ----------
    src : path, or Dask frame
        A Parquet file or a directory of them, on a disk that all workers see under the same path:
        each file is a task and becomes a file of the same name.  Or a Dask frame: each partition
        is a task and becomes ``part-0.parquet`` and so on.  The index of a frame is kept if it has
        a name, and there is no ledger, because the source of a frame's answers is not known.
    dst : path
        A directory on such a disk.  It appears when all parts are complete, with the document of
        how it was made (``_rrstats.json``, and in each part) and ``_SUCCESS``.
    plan : mapping
        From column to mechanism, or a plan as for `rrstats.files.privatize_file`.
    client : dask.distributed.Client, optional
        By default the current client, or else Dask's own scheduler.
    shuffle_rows : bool
        Write the rows of each file, or of each partition, in random order.  Rows stay in their
        part, so this does not help if a part holds the rows of one answer.
    progress : callable, optional
        Called with the rows of the finished parts and, if known, the total number.
    unknown, missing, again, overwrite, ledger
        As for `rrstats.files.privatize_file`, which also describes the errors.

    Returns
    -------
    Receipt

    Notes
    -----
    The release shows which rows are in a partition, and their order.  A frame that was read from
    folders of the private column (``answer=yes/``), or shuffled, sorted or merged by it, is refused
    as far as Dask shows it; partitions of your own functions must not depend on it either.
    Engines cut what they read by bytes, which depend on the answers.  Frames of ``read_csv`` and
    ``read_json`` are refused unless each part is a whole file (``blocksize=None``) or the rows were
    moved by a public column, ``ddf.shuffle("id")``; so is ``repartition(partition_size=...)``.
    Dask does not show how a frame was cut that was persisted.  Row groups of Parquet that become
    partitions may be cut so by their writer: give the path instead of the frame.

    Every attempt of a task draws its own keys where it runs.  One attempt of each part is
    published, however many there were.  If a worker is lost, its task runs again elsewhere; if a
    task fails, the release fails.  Each file is one task: write several files if it takes too long.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> frame = dd.from_pandas(pd.DataFrame({"smoker": ["yes", "no"] * 50}), npartitions=2)
    >>> receipt = privatize_parquet(frame, f"{folder}/out", {"smoker": rr.KRR(["yes", "no"], 0.75)})
    >>> receipt.rows, sorted(path.name for path in receipt.target.iterdir())
    (100, ['_SUCCESS', '_rrstats.json', 'part-0.parquet', 'part-1.parquet'])
    """
    client = client_of(client)
    if not isinstance(src, dd.DataFrame):
        return privatize_by_tasks(
            src,
            dst,
            plan,
            run_by(client),
            unknown=unknown,
            missing=missing,
            shuffle_rows=shuffle_rows,
            progress=progress,
            again=again,
            overwrite=overwrite,
            ledger=ledger,
        )
    if ledger is not None:
        raise ArgumentTypeError(
            "ledger needs src as a path; write the frame to Parquet, and give its path"
        )
    requests = wanted_columns(plan, unknown, missing)
    schema, keeps_index = schema_of(src)
    release = BatchRelease(schema, requests, again=again)
    check_layout(src, list(release.columns))
    tasks = [
        _PartitionTask(
            relative=f"part-{place}.parquet",
            schema=schema,
            keeps_index=keeps_index,
            requests=requests,
            again=again,
            shuffle_rows=shuffle_rows,
        )
        for place in range(src.npartitions)
    ]
    run = run_by(client, src.to_delayed())
    return privatize_batches(tasks, dst, release, run, overwrite=overwrite, progress=progress)


# -- a Dask frame as the source ------------------------------------------------------------


@dataclass(frozen=True)
class _PartitionTask:
    """One partition of a Dask frame; see `privatize_file.OutputTask`."""

    relative: str
    schema: pa.Schema
    keeps_index: bool
    requests: Sequence[ColumnRequest]
    again: bool
    shuffle_rows: bool
    rows: int | None = None

    def write(self, sink: IO[bytes], folder: Path, frame: pd.DataFrame) -> Seen:
        release = BatchRelease(self.schema, list(self.requests), again=self.again)
        reports = [release.reports(batch) for batch in self._batches(frame)]
        schema = release.schema
        if self.shuffle_rows:
            index = file_metadata.index_columns(schema.metadata)
            with Shuffle(
                folder,
                schema,
                sum(batch.nbytes for batch in reports),
                declared=release.written,
                watched=[name for name in index if name not in release.written],
            ) as shuffle:
                while reports:
                    shuffle.add(reports.pop(0))
                schema = shuffle.finish()
                schema = schema.with_metadata(file_metadata.fitted(schema.metadata, schema))
                reports = [
                    pa.RecordBatch.from_arrays(batch.columns, schema=schema)
                    for batch in shuffle.batches()
                ]
                release.note(shuffle.notes, shuffle.numbering)
        pq.write_table(rebuilt_table(pa.Table.from_batches(reports, schema)), sink)
        return release.seen()

    def _batches(self, frame: pd.DataFrame) -> Iterator[pa.RecordBatch]:
        """The partition as batches of the declared schema."""
        index = list(frame.index.names) if self.keeps_index else []
        if [*frame.columns, *index] != self.schema.names:
            raise FileError(
                f"a partition has other columns than its frame declares ({self.relative}); call "
                "map_partitions with the meta of its result"
            )
        message = (
            f"a partition has cells of other types than its frame declares ({self.relative}; a "
            "column of objects counts as text); convert its columns with astype first"
        )
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            table = pa.Table.from_pandas(
                frame, self.schema, preserve_index=self.keeps_index, nthreads=1
            )
            return iter(table.combine_chunks().to_batches())
        raise FileError(message)  # outside the block, because Arrow's error would quote a cell


# -- ddf.rr --------------------------------------------------------------------------------


class _Keyed:
    """`df.rr.privatize` of one partition.  Its name and its repr do not show the key."""

    def __init__(self, mechanisms: Mapping[Hashable, Any], options: dict[str, Any]) -> None:
        self._mechanisms = mechanisms
        self._options = options
        self._token = secret_bytes(16).hex()

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        try:
            return privatize(frame, self._mechanisms, **self._options)
        except Exception as error:
            failed = anew(error, "privatizing a partition")
        raise failed

    def __dask_tokenize__(self) -> str:
        return self._token

    def __repr__(self) -> str:
        return "<keyed privatizing>"

    __name__ = "rrstats-keyed"


@checked_keywords
@register_dataframe_accessor("rr")
class DaskAccessor(CountingAccessor):
    """Randomized response on a Dask frame: keyed reports and counts.

    ddf.rr.privatize("answer", categories, 0.75, key=keyed)           lazy
    ddf.rr.estimate("answer", m), ddf.rr.tally("answer", m)           counted by Dask
    ddf.rr.crosstab("answer", "region", mechanisms={"answer": m})

    Fresh noise has the stronger promise: write it once with `privatize_parquet`.
    """

    def __init__(self, data: dd.DataFrame) -> None:
        self._data: dd.DataFrame = data

    def privatize(
        self,
        column: Any,
        categories: Any = None,
        prob: float | None = None,
        *,
        epsilon: float | None = None,
        unknown: str = "raise",
        missing: str = "unknown",
        key: Keyed | None = None,
        **options: Any,
    ) -> dd.DataFrame:
        """A lazy frame of keyed reports, which are the same in every computation.

        Parameters
        ----------
        column, categories, prob, epsilon, **options
            As for ``df.rr.privatize`` of pandas.
        unknown : {"uniform"}
            Required: nothing can be refused when Dask computes.  The default "raise" is refused.
        missing : {"unknown", "uniform", "keep"}
            As for ``df.rr.privatize`` of pandas.
        key : Keyed
            ``rr.client.Keyed(key, id)``, which is sent to the workers with the tasks; id is the
            column, or the columns, that identify the respondent.  An id must belong to one person
            in all releases under the key.  If two people have one id (a household's number), their
            equal answers have equal reports, so different reports reveal different answers.

        Returns
        -------
        dask.dataframe.DataFrame
            Index, divisions, other columns and their order stay.

        Raises
        ------
        ArgumentTypeError
            key is missing: a lazy frame that is computed again would be a second release.
        ArgumentValueError
            unknown is not "uniform", or missing is "raise"; or the parts of the frame depend on the
            answers, as those of `read_csv` in blocks do, see `privatize_parquet`.

        Notes
        -----
        Limits of keyed reports: they hide a value, but not whether or when it changed; epsilon
        counts for every distinct value of a person; rows with the same id and value have the same
        noise; the key reveals nearly every answer.  See `rrstats.client.new_key`.
        """
        sink = "dask.privatize_parquet(ddf, path, plan)"
        check_lazy(key, sink, column)
        check_told(unknown, missing, sink)
        mechanisms = column_mechanisms(column, categories, prob, epsilon)
        check_layout(self._data, list(map(str, mechanisms)))
        policies = {"unknown": unknown, "missing": missing}
        keyed = _Keyed(mechanisms, {"key": key, **policies, **options})
        meta = keyed(self._data._meta)
        lazy: dd.DataFrame = self._data.map_partitions(keyed, meta=meta)
        return lazy

    def __repr__(self) -> str:
        return "<randomized response on a Dask frame: privatize, estimate, tally, crosstab>"


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
