"""A released frame of pandas as a file that says how its columns were made.

    released = df.rr.privatize("smoker", ["yes", "no"], 0.75)
    released.rr.to_parquet("released.parquet", source="survey.parquet")

Saving one release twice is one spending: the frame carries a random id, in
``attrs["rrstats_release"]``, together with a fingerprint of its document, and the ledger knows
the id again.  A frame in which another column was privatized since has another document, and so
gets another id.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import time
from pathlib import Path
from typing import IO, Any, cast

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rrstats.data.columns import codec_of, column_of, open_reports
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.files import file_metadata
from rrstats.files.atomic import LEDGER, Publication
from rrstats.files.csv import SIDECAR, Words
from rrstats.files.formats import PARQUET, format_of
from rrstats.files.ledger import Ledger, digest_of
from rrstats.files.privatize_file import Receipt, account_of, as_document
from rrstats.mechanisms.epsilon import total_epsilon
from rrstats.mechanisms.records import Record, write
from rrstats.randomness.sources import secret_bytes

RELEASE = "rrstats_release"


def save_frame(
    frame: pd.DataFrame,
    records: list[Record],
    path: Path | str,
    *,
    source: Path | str | None = None,
    ledger: Path | str | None = None,
    again: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> Receipt:
    """Write a released frame to a Parquet, CSV or TSV file, at once.

    Parameters
    ----------
    frame : DataFrame
        Its columns' names must be text.
    records : list of Record
        How its privatized columns were made.
    path : path
        Ends in .parquet, .pq, .csv, .tsv, .csv.gz or .tsv.gz.
    source : path, optional
        The file that the true answers were read from; the release is entered in its ledger.
    ledger : path, optional
        The ledger, if it is not the one beside the source.  Without either nothing is entered.
    again, overwrite
        As for `privatize_file`.
    **options
        For `DataFrame.to_csv`, or for `pyarrow.parquet.write_table`; the index is left out
        unless ``index=True``.

    Returns
    -------
    Receipt
        Its ``ledger`` is None where nothing was entered.

    Raises
    ------
    SecondReleaseError
        Another release of a column is in the ledger, and ``again`` is False.
    FileError
        The file cannot be written; then nothing is published or entered.
    """
    began, place = time.monotonic(), Path(path)
    is_table = format_of(place, "path") == PARQUET
    if not (is_table or place.name.lower().endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz"))):
        raise ArgumentValueError(f"path must be of a Parquet, CSV or TSV file, got {str(path)!r}")
    if not all(isinstance(name, str) for name in frame.columns):
        raise ArgumentTypeError("the columns of a frame must be named by text to be saved")
    for record in records:
        _check_reports(frame, record, is_table)
    account = {str(record.name): (0, record.epsilon) for record in records}
    release, book = _release_of(frame, records), _ledger(source, ledger)
    with Publication(place, overwrite=overwrite) as publication:
        _write(frame, records, publication, is_table, options)
        if book is None:
            publication.publish()
        else:
            digest = "frame" if source is None else digest_of(Path(source))
            with book.entry(
                records,
                target=place,
                digest=digest,
                rows=len(frame),
                again=again,
                release=release,
            ) as known:
                publication.publish()
            account = account_of(records, known)
    per_row = total_epsilon(record.epsilon for record in records)
    seconds = time.monotonic() - began
    entered = None if book is None else book.path
    return Receipt(len(frame), records, place, seconds, per_row, account, {}, entered)


def _check_reports(frame: pd.DataFrame, record: Record, is_table: bool) -> None:
    """Raise where text cannot hold the reports of a column, or it holds what none of them is."""
    if record.is_shortened and is_table:
        return
    space = record.resolve().report_space
    if not is_table:
        Words(space)
    column, read = open_reports(column_of(frame, record.name), space)
    if codec_of(space).is_label and (other := read(column.cells).unknown):
        raise MetadataError(
            f"{other} of {len(frame)} values in column {record.name!r} are none of its reports; "
            "was it overwritten with answers? Put the reports back, or privatize it again"
        )


def _ledger(source: Path | str | None, ledger: Path | str | None) -> Ledger | None:
    """The ledger of a source, or one that is named alone and says by its name whose it is."""
    path = None if ledger is None else Path(ledger)
    if source is not None:
        return Ledger.of(Path(source), path)
    if path is None:
        return None
    return Ledger(path.with_name(path.name.removesuffix(LEDGER) or path.name), path)


def _release_of(frame: pd.DataFrame, records: list[Record]) -> str:
    """The id of the release that a frame holds; a new one where document or reports are others."""
    made = hashlib.sha256(json.dumps(write(records)).encode())
    for record in records:  # reports are public; their order counts, too
        reports = column_of(frame, record.name).astype(str)
        made.update(pd.util.hash_pandas_object(reports, index=False).to_numpy().tobytes())
    document = made.hexdigest()
    known = frame.attrs.get(RELEASE)
    if not (isinstance(known, dict) and known.get("document") == document):
        known = {"id": secret_bytes(16).hex(), "document": document}
        frame.attrs[RELEASE] = known
    return str(known["id"])


def _write(
    frame: pd.DataFrame,
    records: list[Record],
    publication: Publication,
    is_table: bool,
    options: dict[str, Any],
) -> None:
    index = options.pop("index", False)
    with publication.open() as file:
        if is_table:
            table = pa.Table.from_pandas(frame, preserve_index=index)
            told = {**table.schema.metadata, file_metadata.ATTRS: _attributes(frame)}
            metadata = file_metadata.release_metadata(told, [], records)
            pq.write_table(table.replace_schema_metadata(metadata), file, **options)
            return
        name = publication.target.name.lower()
        options = {"sep": "\t" if ".tsv" in name else ",", "index": index} | options
        if name.endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                frame.to_csv(cast(IO[bytes], packed), **options)
        else:
            frame.to_csv(file, **options)
    publication.beside(SIDECAR, as_document(records))


def _attributes(frame: pd.DataFrame) -> bytes:
    """Attrs as pandas keeps them in a file: all, or of odd ones the release alone."""
    try:
        return json.dumps(frame.attrs).encode()
    except (TypeError, ValueError):
        return json.dumps({RELEASE: frame.attrs[RELEASE]}).encode()
