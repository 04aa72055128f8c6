"""Read files of reports: count, estimate, describe; and check a source before its release.

`tally_file`, `estimate_file` and `describe_file` read a released file, `statement_of` writes the
page to publish with it, and `check_file` checks a source before its release.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rrstats._display import Text
from rrstats._names import checked_keywords
from rrstats._typing import Counts, FilePath, JsonObject
from rrstats.data.arrow import are_word_places
from rrstats.data.categories import Categories, PublicCategories
from rrstats.data.columns import check_any_column
from rrstats.data.encoders import reader
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError, MetadataError
from rrstats.estimation.estimates.estimate import estimate
from rrstats.estimation.estimates.group_labels import group_text
from rrstats.estimation.estimates.groups import GroupEstimates
from rrstats.estimation.report_columns.report_columns import (
    ReportColumn,
    Resolved,
    opened_column,
    ordinary,
)
from rrstats.estimation.report_columns.sample_design import Rows, rows_of
from rrstats.estimation.tallies.tally import Tally, count_groups, count_units
from rrstats.files import file_records
from rrstats.files.atomic import SIDECAR
from rrstats.files.csv import number_in
from rrstats.files.data_file import Piece, ReportSpace
from rrstats.files.formats import FileSource, Paths, open_released, open_source
from rrstats.files.plan import check_one_sample, is_document, read_document
from rrstats.mechanisms.attrs import released_records
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.krr import answers_of, as_mechanism
from rrstats.mechanisms.records import ColumnRecord
from rrstats.privatization.frame import (
    category_counts,
    check_table,
    clipped_counts,
    frequency_order,
    telling_columns,
)
from rrstats.statement import statement

MAX_LISTED = 1000
_MAX_GROUPS = 1000
"""Groups of a file, whose tallies are in memory."""
ROWS_COMPARED = 100_000


@checked_keywords
def tally_file(path: Paths, column: str, mechanism: Any = None) -> Tally:
    """Count the reports in a column of a file, in bounded memory.

    Parameters
    ----------
    path : path or sequence of paths
        A file of reports, a folder of files of one format, or several of these, with equal columns
        and equal records.
    column : str
        The column's name.
    mechanism : Mechanism, ColumnRecord, dict or path, optional
        The mechanism that made the reports, or a document that describes it; by default the
        record in the file.

    Returns
    -------
    Tally
        Counts of the reports; tallies of several files can be added.

    Raises
    ------
    MetadataError
        The file's record contradicts the mechanism, or reports are missing although the record
        allows none.
    ArgumentTypeError
        The file has no record of the column, and no mechanism is given.
    ArgumentValueError
        There are reports outside the categories.
    """
    return _tallies(open_released(path), [column], _design(mechanism))[column]


@checked_keywords
def estimate_file(
    path: Paths,
    column: str | Iterable[str] | None = None,
    mechanism: Any = None,
    *,
    by: str | None = None,
    target: str = "population",
) -> JsonObject:
    """Estimate the true proportions from the reports in a file.

    Parameters
    ----------
    path : path or sequence of paths
        A file of reports, a folder of files of one format, or several of these, with equal columns
        and equal records.
    column : str or iterable of str, optional
        One name, several names, or None for all columns that the given document describes, or
        without a document all that the file describes.
    mechanism : Mechanism, FramePlan, ColumnRecord, list of ColumnRecord, dict or path, optional
        The mechanism of one column, or a document as for `tally_file`, such as the
        ``.rrstats.json`` of a CSV file; by default the record in the file.
    by : str, optional
        An ordinary column of the file: each of its values is a group, at most 1,000.  Rows without
        a value are in no group; groups of text files are texts.
    target : {"population", "sample"}
        As for `rrstats.estimate`.

    Returns
    -------
    dict of str to Estimate
        The Estimate of each column; with ``by`` its GroupEstimates.

    Raises
    ------
    MetadataError, ArgumentTypeError, ArgumentValueError
        As for `tally_file`.
    NotIdentifiableError
        As for `rrstats.estimate`.
    """
    source = open_released(path)
    design = _design(mechanism)
    if column is not None:
        names = [column] if isinstance(column, str) else list(column)
    else:
        records = design if isinstance(design, list) else describe_file(path)
        names = [str(record.name) for record in records]
        if not names:
            raise ArgumentTypeError(
                f"{source.path} does not say which columns hold reports{silence(source)}; name the "
                "column and give its mechanism, or categories and prob; true answers must be "
                "privatized first"
            )
    if is_mechanism(design) and len(names) != 1:
        raise ArgumentTypeError(
            f"mechanism is for one column, found {len(names)} columns; name the column it made"
        )
    if by is None:
        tallies = _tallies(source, names, design)
        return {name: estimate(tallies[name], target=target) for name in names}
    counts = _counts(source, names, design, by)
    return {
        name: GroupEstimates(
            (by,),
            {
                label: replace(estimate(each, target=target), _group=group_text((by,), label))
                for label, each in groups.items()
            },
            _rows(everyone) - sum(_rows(each) for each in groups.values()),
        )
        for name, (everyone, groups) in counts.items()
    }


def _rows(counted: Tally) -> int:
    """The number of rows of a tally, with those that lack a report."""
    return counted.n + counted.n_missing


# -- the mechanism of the reports ----------------------------------------------------------


_Design = Mechanism | list[ColumnRecord] | None


def _design(mechanism: Any) -> _Design:
    """The argument as a mechanism, or as the records of a document."""
    if mechanism is None:
        return None
    return read_document(mechanism) if is_document(mechanism) else as_mechanism(mechanism)


def _made_by(
    source: FileSource, name: str, design: _Design
) -> tuple[Mechanism, ColumnRecord | None, str]:
    """The mechanism that made the reports of a column, its record, and where the record is."""
    file_record = source.record_of(name)
    if isinstance(design, list):
        record = _record_of(name, design)
        if file_record is None:
            return record.resolve(), record, "given"
        if record.is_shortened:
            record.resolve(file_record.resolve())  # raises where they disagree
        design = None if record.is_shortened else record.resolve()
    if file_record is not None:
        where = "in the file" if document_beside(source) is None else "beside the file"
        return file_record.resolve(design), file_record, where
    if design is None:
        raise ArgumentTypeError(
            f"{source.path} does not say how column {name!r} was made{silence(source)}; give the "
            "mechanism, or categories and prob, that made it; true answers must be privatized first"
        )
    return design, None, ""


def _record_of(name: str, records: list[ColumnRecord]) -> ColumnRecord:
    """The record of a column in a document."""
    record = next((record for record in records if str(record.name) == name), None)
    if record is None:
        raise MetadataError(
            f"the document given describes {[record.name for record in records]}, not column "
            f"{name!r}; check whether the column was renamed"
        )
    return record


def _tallies(source: FileSource, names: Collection[str], design: _Design) -> dict[str, Tally]:
    """Tallies of some columns, in one pass."""
    return {name: tally for name, (tally, _) in _counts(source, names, design).items()}


def _counts(
    source: FileSource, names: Collection[str], design: _Design, by: str | None = None
) -> dict[str, tuple[Tally, dict[Any, Tally]]]:
    """Tallies of some columns, and those by the values of an ordinary one, in one pass.

    Groups are in order of appearance.  Each piece is counted as a frame is, and tallies add.
    """
    if by is not None:
        by = source.check_column(by)
        if source.record_of(by) is not None:
            raise ArgumentValueError(
                f"by must be an ordinary column, found {by!r}, which holds reports: people who "
                "reported something are not those of whom it is true"
            )
    check_any_column(source.files[0].names, names)
    made = {name: _made_by(source, source.check_column(name), design) for name in names}
    spaces: dict[str, ReportSpace] = {}
    for name, (mechanism, record, _) in made.items():
        spaces[name] = mechanism.report_space
        if record is None or record.plan is None:
            check_one_sample(name, mechanism)
        else:
            spaces[source.check_column(record.plan.asked)] = PublicCategories(record.plan.labels)
    no_cells = {name: source.files[0].no_cells(name, space) for name, space in spaces.items()}
    tallies: dict[str, Tally] = {}
    groups: dict[str, dict[Any, Tally]] = {name: {} for name in made}
    for name, (mechanism, record, _) in made.items():
        tallies[name] = count_units(_opened(no_cells.__getitem__, name, mechanism, record), Rows())
    some_space = next(iter(spaces.values()))
    needed = spaces if by is None else {by: some_space, **spaces}
    for file in source.files:
        for piece in file.pieces(needed, only=True):
            labels = None if by is None else ordinary(piece.labels(by))
            for name, (mechanism, record, _) in made.items():
                column = _opened(piece.cells, name, mechanism, record)
                tallies[name] += count_units(column, Rows())
                if labels is not None:
                    _add_groups(groups[name], column, labels, by)
    for name, (_, record, where) in made.items():
        _check_missing(source, name, tallies[name], record, where)
    return {name: (tallies[name], groups[name]) for name in made}


def _opened(
    cells: Callable[[str], pa.Array], name: str, mechanism: Mechanism, record: ColumnRecord | None
) -> ReportColumn:
    """A column of a piece of a file, with the public column of its plan."""
    group = None
    if record is not None and record.plan is not None:
        group = _labels_of_parts(cells(str(record.plan.asked)), record.plan)
    return opened_column(cells(name), name, record, Resolved(mechanism, group))


def _add_groups(
    groups: dict[Any, Tally], column: ReportColumn, labels: ReportColumn, by: Hashable
) -> None:
    """Add the tallies of a piece to those of its groups."""
    counted = count_groups(column, rows_of(None, column.rows, by=labels))
    for label, tally in counted.by_label().items():
        groups[label] = groups[label] + tally if label in groups else tally
    if len(groups) > _MAX_GROUPS:
        raise ArgumentValueError(
            f"by must be a column of at most {_MAX_GROUPS:,} values, found more in {by!r}"
        )


def _check_missing(
    source: FileSource, name: str, counted: Tally, record: ColumnRecord | None, where: str
) -> None:
    """Raise MetadataError for missing reports where the record allows none.

    If "no answer" is a category, its reports do not count as missing.
    """
    if record is None or record.plan is not None or record.missing == "keep":
        return
    if counted.n_missing:
        raise MetadataError(
            f"{counted.n_missing:,} of {_rows(counted):,} reports in column {name!r} of "
            f"{source.path} are missing, but the document {where} allows none (its missing is "
            f"{record.missing!r}, not 'keep'): the document {where} does not describe these "
            "reports; use the file as it was released"
        )


def _labels_of_parts(cells: pa.Array, plan: FramePlan) -> pa.Array:
    """The public column of a plan as text; other words of a text file are missing."""
    if are_word_places(cells.type):
        return pa.DictionaryArray.from_arrays(cells.storage, pa.array([*plan.labels, None]))
    return cells


# -- for the data curator ------------------------------------------------------------------


@checked_keywords
def check_file(path: FilePath, column: str, categories: Any) -> pd.DataFrame:
    """List the answers in a file that match no category; for the data curator only.

    Parameters
    ----------
    path : path
        The file of true answers, or a directory of Parquet files.
    column : str
        The column's name.
    categories : sequence, Mechanism, ColumnRecord, dict or path
        The categories, a mechanism, or a document of the column as for `tally_file`.

    Returns
    -------
    DataFrame
        Columns value, status, count and did_you_mean, as in `rrstats.check`.  At most 1000 distinct
        values are listed; one row with the status "not listed" counts the answers with other
        values.  The last rows name columns that determine the answers, as in `df.rr.check`, judged
        by the first 100,000 rows or more.  Never release, log or share it: it shows true answers.
    """
    source = open_source(path)
    name = source.check_column(column)
    if is_document(categories):
        categories = _record_of(name, read_document(categories)).resolve()
    domain = answers_of(categories)
    unknown: Counter[Hashable] = Counter()
    clipped: Counter[Hashable] = Counter()
    missing = left_out = 0
    counts = np.zeros(domain.k, dtype=np.int64)
    for file in source.files:
        for piece in file.pieces({name: domain}, only=True):
            values, absent = _outside(piece, name, domain, counts)
            missing += absent
            numbers = piece.cells(name)
            if are_word_places(numbers.type):
                numbers = pa.array(map(number_in, piece.shown(name).to_pylist()), pa.float64())
            for bound, _, count in clipped_counts(domain, numbers):
                clipped[bound] += count
            for value, count in values:
                if value in unknown or len(unknown) < MAX_LISTED:
                    unknown[value] += count
                else:
                    left_out += count
    rows: list[tuple[Any, str, int]] = [(v, "unknown", n) for v, n in unknown.items()]
    if missing:
        rows.append((None, "missing", missing))
    rows += [(bound, "clipped", count) for bound, count in clipped.items()]
    rows.sort(key=lambda row: -row[2])
    if left_out:
        rows.append((None, "not listed", left_out))
    rows += frequency_order(counts, domain)
    others = _first_codes(source, domain)
    if name in others:
        rows += telling_columns(others, others.pop(name))
    return check_table(rows, domain)


def _first_codes(source: FileSource, domain: Categories) -> pd.DataFrame:
    """Codes of the cells of the first rows, equal for equal cells; without columns of lists."""
    names = list(dict.fromkeys(source.files[0].names))
    rows = 0
    parts: dict[str, list[pa.Array]] = {name: [] for name in names}
    spaces = dict.fromkeys(names, domain)
    for piece in (piece for file in source.files for piece in file.pieces(spaces, only=True)):
        for name in names:
            cells = piece.shown(name)
            decoded = pa.types.is_dictionary(cells.type)
            parts[name].append(cells.dictionary_decode() if decoded else cells)
        rows += piece.rows
        if rows >= ROWS_COMPARED:
            break
    codes = {}
    for name in names if rows else ():
        with suppress(pa.ArrowNotImplementedError):
            cells = pa.concat_arrays(parts[name])
            codes[name] = cells.dictionary_encode("encode").indices.to_numpy()
    return pd.DataFrame(codes, columns=None if rows else names)


def _outside(
    piece: Piece, name: str, domain: Categories, counts: Counts
) -> tuple[list[tuple[Any, int]], int]:
    """The unknown values of a piece with their counts, and the number of missing ones.

    counts : (k,) of the answers, to which those of the piece are added.
    """
    cells = piece.cells(name)
    codes = reader(domain, cells)(cells).codes
    counts += category_counts(codes, domain)
    missing = int(np.count_nonzero(codes == domain.answers + 1))
    picked = piece.shown(name).filter(pa.array(codes == domain.answers))
    if not len(picked):
        return [], missing
    if pa.types.is_dictionary(picked.type):
        picked = picked.dictionary_decode()
    counted = picked.value_counts()
    try:
        values = counted.field(0).to_pylist()
    except (ValueError, OverflowError):  # such as a date that Python cannot hold
        values = counted.field(0).cast(pa.string()).to_pylist()
    return list(zip(values, counted.field(1).to_pylist(), strict=True)), missing


@checked_keywords
def describe_file(path: Paths) -> list[ColumnRecord]:
    """Read the file's own record of how its columns were made.

    Parameters
    ----------
    path : path or sequence of paths
        As for `tally_file`.

    Returns
    -------
    list of ColumnRecord
        One for each privatized column; empty if the file has no record.

    Raises
    ------
    FileError
        The file cannot be read.
    MetadataError
        Its document cannot be read.
    """
    source = open_released(path)
    records: list[ColumnRecord] = []
    for file in source.files:
        records = file_records.merge(file.records, records)
    for record in records:
        source.record_of(str(record.name))  # raises where files disagree
    return records


@checked_keywords
def statement_of(
    path: FilePath | pd.DataFrame,
    *,
    title: str | None = None,
    made: str | datetime.date | None = None,
    wording: Mapping[str, str] | None = None,
    contact: str | None = None,
) -> Text:
    """Write the page to publish with a released file: what was done, promised and not promised.

    Parameters
    ----------
    path : path or DataFrame
        A file of reports, a directory of Parquet files, or a released frame.
    title : str, optional
        The page's heading.
    made : str or date, optional
        The page's date; by default today.
    wording, contact
        As for `rrstats.statement.statement`.

    Returns
    -------
    Text
        The page: in Markdown where it is printed; ``save("page.html")`` writes one HTML file that
        loads no other resource.

    Raises
    ------
    FileError, MetadataError
        The file or the frame does not say how it was made, or a column of the frame does not fit
        its record.
    """
    if isinstance(path, pd.DataFrame):
        records = released_records(path)
        rows = len(path)
        file = None
        document = None
    else:
        records = describe_file(path)
        source = open_source(path)
        if not records:
            raise FileError(f"{path} does not say that any column was privatized{silence(source)}")
        rows = count_rows(source)
        file = source.path.name
        document = document_beside(source)
    return statement(
        records,
        rows=rows,
        file=file,
        beside=document,
        title=title,
        made=made,
        wording=wording,
        contact=contact,
    )


def count_rows(source: FileSource) -> int:
    """The number of rows; text files are read to count them."""
    return sum(
        sum(piece.rows for piece in file.pieces({}, only=True)) if file.rows is None else file.rows
        for file in source.files
    )


def document_beside(source: FileSource) -> str | None:
    """The name of the file beside the source that describes it; None if the source does."""
    document = _document_beside(source)
    return None if document is None else document.name


def _document_beside(source: FileSource) -> Path | None:
    """The document beside a text file; of several files, of the first without a record."""
    if not source.files[0].document_is_beside:
        return None
    file = next((file for file in source.files if not file.records), source.files[0])
    return file.path.with_name(f"{file.path.name}{SIDECAR}")


def silence(source: FileSource) -> str:
    """The reason why a text file has no record, and the next step; empty for other files."""
    document = _document_beside(source)
    if document is None or document.exists():
        return ""
    return (
        f", because {document.name} is not beside it; put it there, or give it (in a terminal: "
        "with --plan, in Python: as mechanism)"
    )
