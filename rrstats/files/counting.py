"""Count and estimate from files of reports, and look at a source before it is released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rrstats.domain import Domain
from rrstats.encoding import encode
from rrstats.errors import ArgumentTypeError
from rrstats.estimators import Estimate, estimate
from rrstats.files import documents
from rrstats.files.formats import Source, open_source
from rrstats.files.parts import Piece
from rrstats.mechanisms import Mechanism, as_mechanism, is_mechanism
from rrstats.metadata import Record
from rrstats.tallies import Tally, tally

__all__ = ["check_file", "describe_file", "estimate_file", "tally_file"]

MOST_LISTED = 1000


def describe_file(path: Path | str) -> list[Record]:
    """How the columns of a file were made, as it says itself; empty where it says nothing.

    path : a file of reports, or a directory of Parquet files, which must agree.
    Raises FileError for a file that cannot be read, MetadataError for a document that cannot.
    """
    source = open_source(path)
    records: list[Record] = []
    for part in source.parts:
        records = documents.merge(part.records, records)
    for record in records:
        source.record_of(str(record.name))  # raises where files disagree
    return records


def tally_file(path: Path | str, column: str, mechanism: Any = None) -> Tally:
    """Count the reports in a column of a file, in bounded memory.

    mechanism : what made them; by default what the file says.
    Raises MetadataError where the file says otherwise, ArgumentTypeError where it says
    nothing and none is given, ArgumentValueError for reports outside the categories.
    """
    source = open_source(path)
    return _tallies(source, {source.check_column(column): mechanism})[column]


def estimate_file(
    path: Path | str,
    column: str | Iterable[str] | None = None,
    mechanism: Any = None,
    *,
    target: str = "population",
) -> dict[str, Estimate]:
    """Estimate the true shares behind the reports in a file.

    column : a name, several, or None for all columns that the file says are reports.
    mechanism : what made the reports of one column; by default what the file says.
    target : as for `estimate`.
    Returns for each column its Estimate.
    Raises as `tally_file`, and NotIdentifiable as `estimate`.
    """
    source = open_source(path)
    if column is None:
        names = [str(record.name) for record in describe_file(path)]
        if not names:
            raise ArgumentTypeError(
                f"{path} does not say which columns hold reports; name the column and give its "
                "mechanism, or categories and prob; true answers must be privatized first"
            )
    else:
        names = [column] if isinstance(column, str) else list(column)
    if mechanism is not None and len(names) != 1:
        raise ArgumentTypeError(
            f"mechanism is for one column, found {len(names)} columns; name the one it made"
        )
    given = {source.check_column(name): mechanism for name in names}
    counted = _tallies(source, given)
    return {name: estimate(counted[name], target=target) for name in names}


def _tallies(source: Source, given: dict[str, Any]) -> dict[str, Tally]:
    """Tallies of some columns, in one pass."""
    mechanisms = {name: _mechanism(source, name, each) for name, each in given.items()}
    domains = {name: each.report_space for name, each in mechanisms.items()}
    none = {n: source.parts[0].no_cells(n, domain) for n, domain in domains.items()}
    found = {name: tally(none[name], each) for name, each in mechanisms.items()}
    for part in source.parts:
        for piece in part.pieces(domains, only=True):
            for name, mechanism in mechanisms.items():
                found[name] += tally(piece.cells(name), mechanism)
    return found


def _mechanism(source: Source, name: str, given: Any) -> Mechanism:
    record = source.record_of(name)
    mechanism = None if given is None else as_mechanism(given)
    if record is not None:
        return record.resolve(mechanism)
    if mechanism is None:
        raise ArgumentTypeError(
            f"{source.path} does not say how column {name!r} was made; give the mechanism, or "
            "categories and prob, that made it; true answers must be privatized first"
        )
    return mechanism


# -- for the steward -----------------------------------------------------------------------


def check_file(path: Path | str, column: str, categories: Any) -> pd.DataFrame:
    """For the data steward only: which answers in a file no category serves.  Private.

    categories : the categories or a mechanism.
    Returns a frame as `check` does: columns value, status and count.  At most 1000 distinct
    values are listed; answers beyond them are counted in a last row with the status "not
    listed".  Never release, log or share it: it shows true answers.
    """
    domain = categories.domain if is_mechanism(categories) else Domain(categories)
    source = open_source(path)
    name = source.check_column(column)
    unknown: Counter[Hashable] = Counter()
    missing = left_out = 0
    for part in source.parts:
        for piece in part.pieces({name: domain}, only=True):
            values, absent = _outside(piece, name, domain)
            missing += absent
            for value, count in values:
                if value in unknown or len(unknown) < MOST_LISTED:
                    unknown[value] += count
                else:
                    left_out += count
    rows: list[tuple[Any, str, int]] = [(v, "unknown", n) for v, n in unknown.items()]
    rows += [(None, "missing", missing)] if missing else []
    rows.sort(key=lambda row: -row[2])
    rows += [(None, "not listed", left_out)] if left_out else []
    return _frame(rows)


def _outside(piece: Piece, name: str, domain: Domain) -> tuple[list[tuple[Any, int]], int]:
    """The unknown values of a piece with their counts, and how many are missing."""
    codes = encode(domain, piece.cells(name)).codes
    missing = int(np.count_nonzero(codes == domain.k + 1))
    picked = piece.shown(name).filter(pa.array(codes == domain.k))
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


def _frame(rows: list[tuple[Any, str, int]]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "value": pd.Series([row[0] for row in rows], dtype=object),
            "status": pd.Series([row[1] for row in rows], dtype=object),
            "count": pd.Series([row[2] for row in rows], dtype=np.int64),
        }
    )
