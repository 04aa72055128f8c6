"""Read a released file as a frame whose attrs hold its records.

CSV files hold text, so the record says the types of the reports: booleans, whole numbers, decimals
or text.  Public columns of CSV files get the types that pandas infers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from rrstats._checks import quote
from rrstats._names import checked_keywords
from rrstats.data.categories import Categories, PublicCategories
from rrstats.data.codecs import codec_of, open_reports
from rrstats.data.columns import column_of
from rrstats.errors import DamagedDocumentError, FileError, MetadataError
from rrstats.files import file_metadata
from rrstats.files.batches import reading
from rrstats.files.csv import TextFile
from rrstats.files.data_file import DataFile, ReportSpace
from rrstats.files.estimate_file import describe_file, document_beside
from rrstats.files.formats import Paths, open_released
from rrstats.mechanisms.documents import parse_object
from rrstats.mechanisms.records import KEY, ColumnRecord, asked_labels, check_asked_column, write

_NULLABLE = {pa.bool_(): pd.BooleanDtype(), pa.int64(): pd.Int64Dtype()}
"""Types of pandas for reports of a CSV file that may be missing, as `privatize` has them."""


@checked_keywords
def read(path: Paths) -> pd.DataFrame:
    """Read a released file with its records, in one call.

    Parameters
    ----------
    path : path or sequence of paths
        A file of reports, a folder of files of one format, or several of these, with equal columns
        and equal records.  The ``.rrstats.json`` of a CSV file must stand beside it.

    Returns
    -------
    DataFrame
        All columns of the file.  Its attrs hold the records, so that ``frame.rr.estimate()`` needs
        no design.  Reports have the type of their categories, also in CSV; where reports may be
        missing (a plan, ``missing="keep"``), booleans and whole numbers are nullable.

    Raises
    ------
    FileError
        The file cannot be read, or does not say that any column was privatized.
    MetadataError
        Its document cannot be read, or does not fit the file.

    Notes
    -----
    All rows are read into memory; `tally_file` and `estimate_file` read in pieces.  Public columns
    of CSV files get the types that pandas infers: for others give ``dtype`` to `pandas.read_csv`,
    and copy its columns into this frame.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr, tempfile
    >>> df = pd.DataFrame({"smoker": [True, False] * 50, "age": range(100)})
    >>> released = df.rr.privatize("smoker", [False, True], 0.75)
    >>> path = f"{tempfile.mkdtemp()}/released.csv"
    >>> receipt = released.rr.to_csv(path)
    >>> frame = rr.files.read(path)
    >>> frame.equals(released), list(frame.rr.estimate())
    (True, ['smoker'])
    """
    source = open_released(path)
    records = describe_file(path)
    if not records:
        document = document_beside(source)
        why = "" if document is None else f", because {document} is not beside it; put it there"
        raise FileError(f"{source.path} does not say that any column was privatized{why}")
    first = source.files[0]
    if isinstance(first, TextFile):
        frames = [_text_frame(file, records) for file in source.files if isinstance(file, TextFile)]
        filled = [each for each in frames if len(each)] or frames[:1]  # no row tells no type
        frame = filled[0] if len(filled) == 1 else pd.concat(filled, ignore_index=True)
    else:
        tables = [_table(file) for file in source.files]
        frame = _pandas_frame(pa.concat_tables(tables).unify_dictionaries(), source.path)
        frame.attrs = parse_object(tables[0].schema.metadata or {}, file_metadata.ATTRS)
        for record in records:
            # Of reports that became pandas' index df.rr says that they are gone.
            if not record.is_shortened and record.name in frame.columns:
                n_other = other_cells(frame, record, record.largest().report_space)
                _check_reports(n_other, len(frame), record, source.path)
    frame.attrs[KEY] = write(records)
    return frame


def _table(file: DataFile) -> pa.Table:
    """All rows of a file with Arrow types, with its key-values."""
    schema = file.schema_of({})
    batches = [piece.replaced({}, schema) for piece in file.pieces({})]
    return pa.Table.from_batches(batches, schema).replace_schema_metadata(dict(file.metadata))


def _pandas_frame(table: Any, path: Path) -> Any:
    """A table as pandas; raises DamagedDocumentError for metadata that pandas did not write."""
    try:
        return table.to_pandas()
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DamagedDocumentError(
            f"the metadata of pandas in {quote(str(path))} do not describe its columns; write the "
            "file again without the key 'pandas' of its schema's metadata"
        ) from None


def _text_frame(file: TextFile, records: list[ColumnRecord]) -> pd.DataFrame:
    """A CSV file with the types of the records."""
    by_name = {str(record.name): record for record in records}
    for record in records:
        if record.plan is not None and str(record.plan.asked) not in file.names:
            check_asked_column(record, file.names)
    labels = {
        str(record.plan.asked): record.plan.labels for record in records if record.plan is not None
    }
    spaces: dict[str, ReportSpace] = {
        name: record.largest().report_space for name, record in by_name.items()
    }
    spaces |= {name: PublicCategories(each) for name, each in labels.items()}
    parts: dict[str, list[pa.Array]] = {name: [] for name in spaces}
    for piece in file.pieces(spaces):
        for name, codes_of_parts in parts.items():
            codes_of_parts.append(piece.cells(name).storage)
    codes = {name: pa.chunked_array(each, pa.int32()) for name, each in parts.items()}
    columns: dict[str, Any] = {}
    for name, record in by_name.items():
        columns[name] = _reports(codes[name], spaces[name], record, file.path)
    for name, each in labels.items():
        places = codes[name].fill_null(-1).to_numpy()
        columns[name] = pd.Categorical.from_codes(
            np.where(places < len(each), places, -1), pd.Index(each)
        )
    public = [place for place, name in enumerate(file.names) if name not in columns]
    frame = pd.DataFrame(index=range(len(next(iter(codes.values())))))
    if public:
        with reading(file.path, "text"):
            frame = pd.read_csv(file.path, sep=file.separator, usecols=public)
    for place, name in enumerate(file.names):
        if name in columns:
            frame.insert(place, name, columns[name])
    return frame


def _reports(
    codes: pa.ChunkedArray, space: ReportSpace, record: ColumnRecord, path: Path
) -> pd.Series[Any]:
    """The reports of a column in the type of their categories."""
    domain: Categories = codec_of(space).domain
    may_lack = record.missing == "keep" or record.plan is not None
    n_other = pc.sum(pc.equal(codes, domain.k), min_count=0).as_py()
    if not may_lack and domain.missing_code is None:
        n_other += codes.null_count
    _check_reports(n_other, len(codes), record, path)
    types = _NULLABLE if may_lack or domain.missing_code is not None else {}
    reports: pd.Series[Any] = (
        pa.array(domain.categories).take(codes).to_pandas(types_mapper=types.get)
    )
    return reports


def other_cells(frame: pd.DataFrame, record: ColumnRecord, space: ReportSpace) -> int:
    """The number of cells of a column that cannot be its reports."""
    column, read_codes = open_reports(column_of(frame, record.name), space)
    reports = read_codes(column.cells)
    if record.plan is not None:  # reports of the rows that were asked, and no others
        labels = column_of(frame, record.plan.asked)
        was_asked = labels.isin(asked_labels(record)).to_numpy()
        is_absent = reports.codes == cast(Categories, space).absent_code
        is_other = np.where(was_asked, reports.codes >= space.k, ~is_absent)
        return int(np.count_nonzero(is_other))
    n_kept = len(reports.absent) if record.missing == "keep" else 0
    return len(reports.outside) - n_kept


def _check_reports(n_other: int, rows: int, record: ColumnRecord, path: Path) -> None:
    """Raise if some cells of a column are none of its reports."""
    if n_other:
        raise MetadataError(
            f"{n_other} of {rows} cells in column {quote(record.name)} of {path} are none of its "
            "reports, as its document lists them; use the file as it was released"
        )
