"""Polars: privatize a lazy frame of any size into a file, or frames in memory.

    import rrstats.engines.polars as rrp              # brings df.rr, lf.rr and s.rr
    rrp.sink_privatized(pl.scan_parquet("answers.parquet"), "reports.parquet", {"answer": m})
    df.rr.privatize("answer", m)                      # a DataFrame, at once, as in pandas
    lf.rr.privatize("answer", m, key=keyed)   # a LazyFrame, only with keyed reports
    lf.rr.estimate("answer", m)                       # counted by Polars

Polars computes a lazy frame again each time it is collected, so fresh noise would make another
release each time.  `sink_privatized` therefore streams it into a file, once, and the file appears
when it is complete.  A lazy result exists only with keyed reports: the same key and ids give the
same reports in every computation.
`rrstats.privatize` handles eager frames.
Sources: `Expr.map_batches` and `LazyFrame.sink_parquet` of Polars; `files.batches`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rrstats._checks import check_ending, check_instance, needing
from rrstats._names import checked_keywords, missing_attribute
from rrstats._typing import FilePath
from rrstats.data.rebuilt import rebuilt_polars
from rrstats.errors import FileError, RRStatsError
from rrstats.estimation.estimates.counting_accessor import CountingAccessor, as_method
from rrstats.estimation.estimates.estimate import estimate
from rrstats.estimation.tallies.tally import tally
from rrstats.files.atomic import Publication
from rrstats.files.batches import BatchRelease, careful, check_lazy, check_told
from rrstats.files.plan import ColumnRequest, wanted_columns
from rrstats.files.privatize_file import Receipt, release_receipt
from rrstats.mechanisms.records import KEY, write
from rrstats.privatization.frame import column_mechanisms, privatize
from rrstats.randomness.keyed import Keyed, check_keyed

with needing("rrstats.engines.polars needs polars and pyarrow; pip install polars pyarrow"):
    import polars as pl
    import polars.selectors as cs
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["FrameNamespace", "LazyNamespace", "SeriesNamespace", "sink_privatized"]


# -- columns of Polars as columns of Arrow, and back ----------------------------------------


def open_release(
    schema: Mapping[str, pl.DataType],
    requests: list[ColumnRequest],
    key: Keyed | None,
) -> BatchRelease:
    """The release of some columns; other columns are needed as ids, or by name only."""
    ids: Any = [] if key is None else check_keyed(key).id
    ids = ids if isinstance(ids, list) else [ids]
    needed = {str(request.name) for request in requests} | set(ids)
    fields = []
    for name, dtype in schema.items():
        cells = pl.Series([], dtype=dtype if name in needed else pl.Null).to_arrow()
        fields.append(pa.field(name, cells.type))
    return BatchRelease(pa.schema(fields), requests, key=key)


def report_types(release: BatchRelease) -> dict[str, pl.DataType]:
    """The Polars type of each column that is written, from declarations alone."""
    types: dict[str, pl.DataType] = {}
    for name, column in release.written.items():
        if pa.types.is_dictionary(column.type):
            words = [word for word in column.space.categories if word is not None]
            types[name] = pl.Enum([str(word) for word in words])
        else:
            types[name] = pl.Series(pl.from_arrow(pa.array([], type=column.type))).dtype
    return types


def stream(
    frame: pl.LazyFrame,
    work: Callable[[pl.DataFrame], pl.DataFrame],
    schema: Mapping[str, pl.DataType],
) -> pl.LazyFrame:
    """The frame with the work applied to its batches.

    The work is not an expression: Polars would pass it one cell of a constant column, such as the
    key of a partition, and repeat the report.  Polars moves no other step across the work.
    """
    return frame.map_batches(
        work,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=schema,
        streamable=True,
    )


def drawn(
    release: BatchRelease, types: Mapping[str, pl.DataType], batch: pl.DataFrame
) -> pl.DataFrame:
    """A batch with reports instead of answers."""
    reports = release.draw(lambda name: batch[name].to_arrow())
    return batch.with_columns(
        as_series(name, reports[name], dtype) for name, dtype in types.items()
    )


def as_series(name: str, reports: pa.Array, dtype: pl.DataType) -> pl.Series:
    """Reports as a Polars Series of the declared type."""
    return pl.Series(name, pl.from_arrow(reports)).cast(dtype)


# -- privatize ------------------------------------------------------------------------------


# Set here, because Polars' own groups would depend on the bytes of the answers in the source.
GROUP_ROWS = 1 << 18


@checked_keywords
def sink_privatized(
    lazyframe: pl.LazyFrame | pl.DataFrame,
    path: FilePath,
    plan: Any,
    *,
    unknown: str = "raise",
    missing: str = "unknown",
    overwrite: bool = False,
    key: Keyed | None = None,
) -> Receipt:
    """Privatize columns of a LazyFrame into a new Parquet file, streaming.

    Parameters
    ----------
    lazyframe : LazyFrame or DataFrame
        It is computed once.
    path : path
        The file to write.  It records how its columns were made, and appears when it is complete.
    plan : mapping
        From column to mechanism, or a plan as for `rr.files.privatize_file`.
    unknown, missing
        As for `rr.files.privatize_file`.
    overwrite : bool
        Replace an existing file.
    key : Keyed, optional
        For keyed reports, ``rr.client.Keyed(key, id)``, where id is a column's name or a list of
        names.  An id must belong to one person in all releases under a key, so a household's number
        is no id: two persons with the same id and answer have the same report, so different
        reports reveal different answers.

    Returns
    -------
    Receipt
        There is no ledger, because a frame need not come from a file, and a frame does not record
        whether its columns already hold reports: for files use `rr.files.privatize_file`.

    Raises
    ------
    FileError
        The frame cannot be computed or written; nothing is published.
    UnknownAnswersError
        ``unknown`` or ``missing`` refuses an answer; nothing is published.
    ArgumentValueError, ArgumentTypeError
        An argument is wrong.  No message quotes an answer.

    Notes
    -----
    Rows keep their order.  If the order reveals answers (rows sorted by them, folders named by
    them), change it first.  Row groups have 262,144 rows, whatever those of the source.
    Columns of categories become an Enum of the declared categories.
    """
    began = time.monotonic()
    place = Path(path)
    check_ending(place, "path", (".parquet", ".pq"))
    kinds = pl.LazyFrame | pl.DataFrame
    frame = check_instance(lazyframe, "lazyframe", kinds, "a LazyFrame or a DataFrame").lazy()
    requests = wanted_columns(plan, unknown, missing)
    schema = careful(frame.collect_schema)
    release = open_release(schema, requests, key)
    with Publication(place, overwrite=overwrite) as publication:
        rows = _write(frame, release, publication)
        release.confirm(rows)
        publication.sync()
        receipt = release_receipt(release, rows, place, began)
        publication.publish()
        return receipt


def _write(frame: pl.LazyFrame, release: BatchRelease, publication: Publication) -> int:
    """Stream the reports into the file of a publication; return its number of rows."""
    types = report_types(release)
    our_errors: list[RRStatsError] = []

    def draw(batch: pl.DataFrame) -> pl.DataFrame:
        try:
            return careful(drawn, release, types, batch)
        except RRStatsError as error:
            our_errors.append(error)
            raise

    reports = stream(frame, draw, dict(frame.collect_schema()) | types)
    sink = partial(
        reports.sink_parquet,
        metadata={KEY: json.dumps(write(release.records))},
        row_group_size=GROUP_ROWS,
        engine="streaming",
    )
    file = publication.open()
    try:
        careful(sink, file)
    except FileError:
        if our_errors:  # Polars wraps them in its own errors
            raise type(our_errors[0])(*our_errors[0].args) from None
        raise
    file.flush()
    with os.fdopen(os.dup(file.fileno()), "rb") as written:
        return int(pq.read_metadata(written).num_rows)


# -- namespaces of Polars ------------------------------------------------------------------


@checked_keywords
@pl.api.register_dataframe_namespace("rr")
class FrameNamespace(CountingAccessor):
    """Randomized response on a Polars DataFrame: privatize columns, count and estimate."""

    privatize: Callable[..., pl.DataFrame] = as_method(privatize)


@checked_keywords
@pl.api.register_lazyframe_namespace("rr")
class LazyNamespace(CountingAccessor):
    """Randomized response on a LazyFrame: keyed reports, counts and estimates."""

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
    ) -> pl.LazyFrame:
        """A lazy frame in which some columns hold keyed reports, the same in every computation.

        Parameters
        ----------
        column, categories, prob, epsilon
            As for a DataFrame.
        unknown : {"uniform"}
            Required: nothing can be refused when Polars computes.  The default "raise" is refused.
        missing : {"unknown", "uniform", "keep"}
            As for a DataFrame.
        key : Keyed
            Required.  An id belongs to one person, not to a household, see `sink_privatized`.

        Returns
        -------
        polars.LazyFrame

        Raises
        ------
        ArgumentTypeError
            key is missing; the message names the sink.
        ArgumentValueError
            unknown is not "uniform", or missing is "raise".

        Notes
        -----
        Limits of keyed reports: they hide values, but not whether or when one changed; epsilon
        counts for every distinct value of a person; rows of one person have dependent noise; the
        key reveals nearly every answer.

        Polars reads a file in parts whose bytes include the answers, so parts tell their lengths.
        Here all rows are put together and rebuilt, which needs memory for the columns in use.
        `sink_privatized` with a key streams instead.
        """
        sink = "polars.sink_privatized(lf, path, ...)"
        check_lazy(key, sink, column)
        check_told(unknown, missing, sink)
        plan = column_mechanisms(column, categories, prob, epsilon)
        requests = wanted_columns(plan, unknown, missing)
        schema = careful(self._data.collect_schema)
        release = open_release(schema, requests, key)
        lazy: pl.LazyFrame = self._data.with_columns(
            _keyed(release, name, dtype) for name, dtype in report_types(release).items()
        )
        # Polars may push each of its steps across this one, which changes no cell and no row.
        return lazy.map_batches(partial(careful, rebuilt_polars), streamable=False)


def _keyed(release: BatchRelease, name: str, dtype: pl.DataType) -> pl.Expr:
    """The expression of a column's keyed reports."""
    # By place, because Polars reads ^...$ as a pattern here too.
    ids: dict[str, Any] = {
        f"id {place}": cs.by_name(id_name) for place, id_name in enumerate(release.id)
    }

    def reports(rows: pl.Series) -> pl.Series:
        answers = rows.struct.field("answer").to_arrow()
        id_cells = [rows.struct.field(place).to_arrow() for place in ids]
        return as_series(name, release.column_reports(name, answers, *id_cells), dtype)

    answers_and_ids = pl.struct(answer=cs.by_name(name).as_expr(), **ids)
    expression: pl.Expr = answers_and_ids.map_batches(
        partial(careful, reports), return_dtype=dtype, is_elementwise=True
    )
    return expression.alias(name)


@checked_keywords
@pl.api.register_series_namespace("rr")
class SeriesNamespace:
    """Randomized response on a Polars Series: privatize it, or estimate from its reports."""

    def __init__(self, data: pl.Series) -> None:
        self._data = data

    privatize: Callable[..., pl.Series] = as_method(privatize)
    estimate: Callable[..., Any] = as_method(estimate)
    tally: Callable[..., Any] = as_method(tally)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
