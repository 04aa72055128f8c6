"""Dask: privatize Parquet by the tasks of a cluster, once; and ``ddf.rr`` on Dask frames.

    import rrstats.engines.dask as rrd

    rrd.privatize_parquet("/shared/in", "/shared/out", {"answer": m}, client=client)   a sink
    ddf.rr.privatize("answer", m, key=key, id="id")            lazy, and only in the keyed form
    ddf.rr.estimate("answer", m)                               counted by Dask

A Dask frame is computed anew whenever something is asked of it, and again when a worker is lost.
With fresh noise each time would be another release of the same answers, and their mean the truth;
so what is privatized afresh is written, once, and read from there.
Law: that of `rr.privatize`; nothing is drawn and nothing is counted in this module.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import pandas as pd

from rrstats.errors import ArgumentTypeError, FileError, MissingPackageError

try:
    import dask.dataframe as dd
    import pyarrow as pa
    import pyarrow.parquet as pq
    from dask.dataframe.extensions import register_dataframe_accessor
except ImportError:
    raise MissingPackageError(
        "rrstats.engines.dask needs Dask and pyarrow; pip install 'dask[dataframe]' pyarrow"
    ) from None

import rrstats.accessor  # noqa: F401  # df.rr of the partitions
from rrstats.engines.dask_cluster import client_of, run_by
from rrstats.engines.dask_sources import check_layout, schema_of
from rrstats.files.batches import BatchRelease, Seen
from rrstats.files.plan import Wanted, wanted_columns
from rrstats.files.privatize_file import (
    Progress,
    Receipt,
    anew,
    privatize_batches,
    privatize_spread,
)
from rrstats.files.shuffle import Shuffle
from rrstats.randomness.sources import secret_bytes

__all__ = ["DaskAccessor", "privatize_parquet"]


def privatize_parquet(
    src: Path | str | dd.DataFrame,
    dst: Path | str,
    plan: Any,
    *,
    client: Any = None,
    unknown: str = "warn",
    missing: str = "unknown",
    again: bool = False,
    overwrite: bool = False,
    shuffle_rows: bool = False,
    ledger: Path | str | None = None,
    progress: Progress | None = None,
) -> Receipt:
    """Privatize columns of Parquet data into a new directory; each part is a task of Dask.

    src : the path of a Parquet file or of a directory of them, on a disk that all workers see
        under the same path: each file is a task and becomes a file of the same name.  Or a Dask
        frame, each partition of which is a task and becomes ``part-0.parquet`` and so on: its
        index is kept where it has a name, and there is no ledger, as a frame does not tell where
        its answers are from.  Which rows a partition holds, and their order, are published: a
        frame that was read from folders of the private column (``answer=yes/``), or shuffled,
        sorted or merged by it, is refused as far as Dask tells; what your own functions cut must
        not follow it either.  `dask.dataframe.read_csv` cuts by bytes of text, and so by the
        lengths of answers: read Parquet, or write it after ``ddf.shuffle("id")``, and give the
        path with ``shuffle_rows=True``.
    dst : a directory on a disk of that kind.  It appears when all parts are there, with the
        document of how it was made (``_rrstats.json``, and in each part) and ``_SUCCESS``.
    plan : a mapping from column to mechanism, or a plan as for `rrstats.files.privatize_file`.
    client : a Dask client; by default the current one, or else Dask's own scheduler.
    shuffle_rows : write the rows of each file, or of each partition, in random order.  They stay
        in their part: it does not help where a part holds the rows of one answer.
    progress : called with the rows of the parts that are done and, if it is known, of all.
    The other arguments, what is returned and what is raised are those of
    `rrstats.files.privatize_file`.  Every attempt of a task draws keys of its own where it runs;
    of each part one attempt is published, however many there were.
    A task whose worker is lost runs again elsewhere; one that fails ends the release.  A large
    file is one task: write it as several where that takes too long.

    >>> import pandas as pd, rrstats as rr, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> frame = dd.from_pandas(pd.DataFrame({"smoker": ["yes", "no"] * 50}), npartitions=2)
    >>> receipt = privatize_parquet(frame, f"{folder}/out", {"smoker": rr.KRR(["yes", "no"], 0.75)})
    >>> receipt.rows, sorted(path.name for path in receipt.target.iterdir())
    (100, ['_SUCCESS', '_rrstats.json', 'part-0.parquet', 'part-1.parquet'])
    """
    client = client_of(client)
    if not isinstance(src, dd.DataFrame):
        return privatize_spread(
            src,
            dst,
            plan,
            run_by(client),
            unknown=unknown,
            missing=missing,
            again=again,
            overwrite=overwrite,
            shuffle_rows=shuffle_rows,
            ledger=ledger,
            progress=progress,
        )
    if ledger is not None:
        raise ArgumentTypeError(
            "ledger is for src as a path; write the frame to Parquet, and give its path"
        )
    wanted = wanted_columns(plan, unknown, missing)
    schema, keeps_index = schema_of(src, wanted)
    release = BatchRelease(schema, wanted, again=again)
    check_layout(src, list(release.columns))
    tasks = [
        _PartitionTask(f"part-{place}.parquet", schema, keeps_index, wanted, again, shuffle_rows)
        for place in range(src.npartitions)
    ]
    run = run_by(client, src.to_delayed())
    return privatize_batches(tasks, dst, release, run, overwrite=overwrite, progress=progress)


# -- a Dask frame as the source ------------------------------------------------------------


@dataclass(frozen=True)
class _PartitionTask:
    """One partition of a Dask frame; see `spreading.Task`."""

    relative: str
    schema: pa.Schema
    keeps_index: bool
    wanted: Sequence[Wanted]
    again: bool
    shuffle_rows: bool = False
    rows: int | None = None

    def look(self, frame: pd.DataFrame) -> Seen:
        release = self._release()
        for batch in self._batches(frame):
            release.look(batch)
        return release.seen()

    def write(self, sink: IO[bytes], folder: Path, frame: pd.DataFrame) -> Seen:
        release = self._release()
        reports = [release.reports(batch) for batch in self._batches(frame)]
        if self.shuffle_rows:
            expected = sum(batch.nbytes for batch in reports)
            declared = [column.name for column in self.wanted]
            with Shuffle(folder, release.schema, expected, declared=declared) as shuffle:
                while reports:
                    shuffle.add(reports.pop())
                reports = list(shuffle.batches())
        # In one piece: where pieces of long answers ended must not show.
        table = pa.Table.from_batches(reports, release.schema).combine_chunks()
        pq.write_table(table.unify_dictionaries(), sink)
        return release.seen()

    def _release(self) -> BatchRelease:
        return BatchRelease(self.schema, list(self.wanted), again=self.again)

    def _batches(self, frame: pd.DataFrame) -> Iterator[pa.RecordBatch]:
        """The partition as its frame declares it."""
        index = list(frame.index.names) if self.keeps_index else []
        if [*frame.columns, *index] != self.schema.names:
            raise FileError(
                f"a partition has other columns than its frame declares ({self.relative}); call "
                "map_partitions with the meta of what it gives"
            )
        try:
            table = pa.Table.from_pandas(
                frame, self.schema, preserve_index=self.keeps_index, nthreads=1
            )
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # Its message would quote a cell.
            table = None
        if table is None:
            raise FileError(
                f"a partition has cells that are not of the types that its frame declares "
                f"({self.relative}; a column of objects counts as text); convert its columns with "
                "astype first"
            )
        return iter(table.combine_chunks().to_batches())


# -- ddf.rr --------------------------------------------------------------------------------


class _Keyed:
    """`df.rr.privatize` of one partition.  Neither its name nor its repr tells of the key."""

    def __init__(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self._arguments, self._options = arguments, options
        self._token = secret_bytes(16).hex()

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        try:
            return cast(pd.DataFrame, frame.rr.privatize(*self._arguments, **self._options))
        except Exception as error:
            failed = anew(error, "privatizing a partition")
        raise failed

    def __dask_tokenize__(self) -> str:
        return self._token

    def __repr__(self) -> str:
        return "<keyed privatizing>"

    __name__ = "rrstats-keyed"


@register_dataframe_accessor("rr")
class DaskAccessor:
    """Randomized response on a Dask frame: keyed reports, and counting.

    ddf.rr.privatize("answer", categories, 0.75, key=key, id="id")    lazy
    ddf.rr.estimate("answer", m), ddf.rr.tally("answer", m)           counted by Dask
    ddf.rr.crosstab("answer", "region", mechanisms={"answer": m})

    For fresh noise, the stronger promise, write once: `privatize_parquet`.
    """

    def __init__(self, data: dd.DataFrame) -> None:
        self._data = data

    def privatize(
        self,
        column: Any,
        categories: Any = None,
        prob: float | None = None,
        *,
        epsilon: float | None = None,
        key: Any = None,
        id: Any = None,
        **options: Any,
    ) -> dd.DataFrame:
        """A lazy frame of keyed reports: the same whenever, and in whatever parts, it is computed.

        column, categories, prob, epsilon, options : as for ``df.rr.privatize`` of pandas.
        key : of `rrstats.new_key`; it goes to the workers with the tasks.  id : the column, or a
            list of columns, that tells whose answer it is.  It must name one person in all that is
            released under the key: of two people with one id (a household's number) the same
            answers have the same reports, and where their reports differ, so do their answers.
        Index, divisions, other columns and their order stay.
        The price of the keyed form: it hides a value, not whether or when it changed; epsilon
        counts for every distinct value of a person; rows with the same id and value share their
        noise; whoever has the key has nearly everything.  See `rrstats.randomness.keyed`.
        Raises ArgumentTypeError without key and id: computed again, a lazy frame would release
        again.
        """
        if key is None or id is None:
            raise ArgumentTypeError(
                "a lazy frame is computed again and again, and fresh noise would be another "
                "release each time; rrstats.engines.dask.privatize_parquet(ddf, path, plan) "
                "writes it once; or give key= (rr.new_key()) and id= for keyed reports"
            )
        one = _Keyed(
            (column, categories, prob), {"epsilon": epsilon, "key": key, "id": id, **options}
        )
        meta = one(self._data._meta)
        lazy: dd.DataFrame = self._data.map_partitions(one, meta=meta)
        return lazy

    def estimate(
        self,
        column: Hashable,
        categories: Any = None,
        prob: float | None = None,
        *,
        level: float = 0.95,
        method: str | None = None,
        simultaneous: bool = False,
        **options: Any,
    ) -> pd.DataFrame:
        """True shares of a privatized column, counted by Dask, as ``df.rr.estimate`` gives them.

        options : epsilon, mechanism, target, by and others of `rrstats.estimate`, as names of
            columns.
        """
        from rrstats.estimation.estimator import estimate

        found: Any = estimate(self._data, categories, prob, columns=column, **options)
        table: pd.DataFrame = found.to_frame(level, method=method, simultaneous=simultaneous)
        return table

    def tally(
        self, column: Hashable, categories: Any = None, prob: float | None = None, **options: Any
    ) -> Any:
        """`rrstats.tally` of a column of reports, counted by Dask; options as there."""
        from rrstats.estimation.tally import tally

        return tally(self._data, categories, prob, columns=column, **options)

    def crosstab(self, *columns: Hashable, **options: Any) -> Any:
        """`rrstats.crosstab` of columns, counted by Dask; options as there."""
        from rrstats.estimation.crosstab import crosstab

        return crosstab(self._data, *columns, **options)

    def __repr__(self) -> str:
        return "<randomized response on a Dask frame: privatize, estimate, tally, crosstab>"
