"""The page for those who decide on releases: all releases in a ledger, and what they add up to.

It is private like the ledger, because it lists all releases of a source.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rrstats._checks import check_bool, check_instance
from rrstats._display import Block, Text, TextTable, as_markdown, label
from rrstats._names import checked_keywords
from rrstats._typing import FilePath
from rrstats._version import __version__
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError
from rrstats.files.formats import listed_paths, open_source
from rrstats.files.ledger import Ledger, LedgerEntry, RowTotal
from rrstats.mechanisms.deployments import deployments
from rrstats.mechanisms.epsilon import loss_text, round_up, total_epsilon
from rrstats.mechanisms.records import ColumnRecord
from rrstats.mechanisms.row_privacy import VOID

_LIMITS = (
    "The ledger does not know releases of a copy of the source, of a source that was renamed or "
    "moved without its ledger, or releases that were recorded elsewhere. Ask for these before "
    "you sign."
)
_OF_A_PERSON = (
    "This is also the epsilon of a person if each person has one row in the source. A person with "
    "several rows has the sum over these rows, and waves of the same people in other files add "
    "theirs."
)
_OF_A_PERSON_IN_FILES = (
    "This is the bound for a person with one row in each file. Say one_file_per_person=True if "
    "nobody has rows in two files."
)
_OF_A_PERSON_IN_ONE = (
    "This is the largest epsilon of a file, because the caller of this page says that nobody has "
    "rows in two files. A person with several rows in one file has the sum over these rows."
)
_UNREADABLE = (
    "Some source cannot be read here. Reports that it held before its releases, if any, are not "
    "counted."
)
_PRIVATE = "This page lists all releases of the source: it is for those who decide, not to publish."


@checked_keywords
def sign_off(
    path: FilePath | Sequence[FilePath],
    *,
    ledger: FilePath | None = None,
    one_file_per_person: bool = False,
    made: str | datetime.date | None = None,
    contact: str | None = None,
) -> Text:
    """Write the page on which the releases of a source are signed off, from its ledger.

    Parameters
    ----------
    path : path or sequence of paths
        The source, which holds the true answers; of a folder, also its files that were released one
        by one.  The ledgers are read, and the records of the sources; no answer is.
    ledger : path, optional
        The ledger of one source, if it is not beside it.
    one_file_per_person : bool
        True if nobody has rows in two files: then the bound for a person is the largest epsilon of
        a file, and not the sum over all files.
    made : str or date, optional
        The page's date; by default today.
    contact : str, optional
        The person or organization responsible for the releases.

    Returns
    -------
    Text
        Releases, columns, the epsilon of a row over all of them (of several files the epsilon of
        each, and the bound for a person), and known deployments: in Markdown where it is printed,
        and ``save("page.html")`` writes one HTML file that loads no other resource.

    Raises
    ------
    FileError
        A ledger records no release, or cannot be read.
    ArgumentTypeError, ArgumentValueError
        An argument is wrong.

    Examples
    --------
    >>> import rrstats as rr
    >>> page = rr.files.sign_off("survey.parquet", contact="data office")  # doctest: +SKIP
    """
    check_instance(made, "made", (type(None), str, datetime.date), "a date or a text")
    check_bool(one_file_per_person, "one_file_per_person")
    sources = _sources(path, ledger)
    facts = (
        f"Page of {label(str(made or datetime.date.today()))}, written by rrstats {__version__}."
    )
    responsible = "No contact is named." if contact is None else f"Contact: {label(contact)}."
    blocks = _page(sources, f"{facts} {responsible}", one_file_per_person)
    return Text(as_markdown(blocks), blocks)


@dataclass(frozen=True)
class _ReleasedSource:
    """A released file or folder, with its ledger and the records of reports that it holds.

    source_records : for each file, or None if the source cannot be read here.
    """

    ledger: Ledger
    releases: list[LedgerEntry]
    source_records: list[list[ColumnRecord]] | None

    @classmethod
    def of(cls, ledger: Ledger) -> _ReleasedSource:
        """The source of a ledger."""
        source_records = None
        with suppress(FileError, ArgumentValueError):  # such as survey.sav, or a file that is gone
            source_records = [file.records for file in open_source(ledger.source).files]
        return cls(ledger, ledger.known, source_records)

    @property
    def total(self) -> float:
        """The epsilon of a row over all its releases."""
        return RowTotal.of(self.source_records or [], self.releases).epsilon


def _sources(path: Any, ledger: FilePath | None) -> list[_ReleasedSource]:
    """The sources that were released by themselves; raises FileError where there is none."""
    paths = listed_paths(path, lambda each: bool(Ledger.of(each, None).known))
    if not paths:
        raise ArgumentValueError("path must name at least one source, got none")
    if ledger is not None and len(paths) > 1:
        raise ArgumentTypeError(
            f"ledger is for one source, found {len(paths)}; leave it out, or write a page for each"
        )
    sources: dict[Path, _ReleasedSource] = {}
    for each in paths:
        release_ledger = Ledger.of(each, None if ledger is None else Path(ledger))
        if not release_ledger.known:
            if ledger is None and not release_ledger.source.exists():
                raise FileError(
                    f"path must be a source with a ledger beside it, found no file {each} and no "
                    f"ledger {release_ledger.path}; give the source's path, or the ledger's place "
                    "with ledger="
                )
            raise FileError(
                f"the ledger {release_ledger.path} records no release of {each}; privatize it "
                "with rrstats first, or give the ledger's place with ledger="
            )
        sources |= {part.path: _ReleasedSource.of(part) for part in release_ledger.parts}
    return list(sources.values())


def _page(sources: list[_ReleasedSource], facts: str, one_file_per_person: bool) -> list[Block]:
    """The page of the releases of some sources; facts : its date, its program and the contact."""
    books = {path: book for source in sources for path, book in source.ledger.books.items()}
    entries = (release for book in books.values() for release in book)
    releases = sorted(entries, key=lambda release: release.when)
    is_void = any(record.simulated for release in releases for record in release.records)
    names = _names([source.ledger.source for source in sources])
    blocks: list[Block] = [("title", f"Releases of {names[0]}")]
    if len(sources) > 1:
        blocks = [("title", f"Releases of {len(sources)} files")]
    if is_void:
        blocks.append(("warning", "NOT PROTECTED: the noise of some column was simulated."))
    blocks += [
        ("text", facts),
        ("text", _PRIVATE),
        ("heading", "Releases"),
        ("table", _release_table(releases)),
        ("heading", "Columns"),
        ("table", _column_table(releases)),
        *_refused_text(releases),
    ]
    if len(sources) == 1:
        total = sources[0].total
        unit = "a row"
        blocks += [
            ("heading", "Epsilon of a row over all releases"),
            (
                "text",
                f"Epsilon of a row, all its reports in all releases together: {loss_text(total)}.",
            ),
            ("text", _OF_A_PERSON),
        ]
    else:
        of_files = [source.total for source in sources]
        total = max(of_files) if one_file_per_person else total_epsilon(of_files)
        unit = "a person"
        rows = [[name, loss_text(epsilon)] for name, epsilon in zip(names, of_files, strict=True)]
        blocks += [
            ("heading", "Files"),
            ("table", (["file", "epsilon of a row"], rows)),
            ("heading", "Epsilon of a person over all files"),
            ("text", f"Epsilon of a person, over all files and releases: {loss_text(total)}."),
            ("text", _OF_A_PERSON_IN_ONE if one_file_per_person else _OF_A_PERSON_IN_FILES),
        ]
    if any(source.source_records is None for source in sources):
        blocks.append(("text", _UNREADABLE))
    return [
        *blocks,
        ("text", _LIMITS),
        ("heading", "Known deployments beside it"),
        ("table", _deployment_table(total, unit)),
        ("heading", "Decision"),
        ("table", (["approved", "name", "date", "signature"], [["", "", "", ""]])),
    ]


def _names(paths: list[Path]) -> list[str]:
    """The names of files as they differ: relative to the folder that they have in common."""
    folder = os.path.commonpath([path.parent for path in paths])
    return [label(os.path.relpath(path, folder)) for path in paths]


def _release_table(releases: list[LedgerEntry]) -> TextTable:
    """A table of releases: time, place, columns, and the epsilon of a row."""
    heads = ["when", "target", "rows", "columns", "epsilon of a row"]
    rows = []
    for release in releases:
        columns = ", ".join(label(record.name) for record in release.records)
        is_void = any(record.simulated for record in release.records)
        rows.append(
            [
                f"{release.when.astimezone(datetime.UTC):%Y-%m-%d %H:%M} UTC",
                label(Path(release.target).name),
                f"{release.rows:,}",
                columns,
                VOID if is_void else loss_text(release.row_epsilon),
            ]
        )
    return heads, rows


def _refused_text(releases: list[LedgerEntry]) -> list[Block]:
    """A sentence on the columns whose policy refuses an answer; empty without one."""
    records = [record for release in releases for record in release.records]
    refusing = {each.name: "" for each in records if "raise" in (each.unknown, each.missing)}
    if not refusing:
        return []
    names = ", ".join(map(label, refusing))
    return [
        (
            "text",
            f"Answers outside the declared ones would have stopped a release of {names}: that it "
            "exists says that there were none.",
        )
    ]


def _column_table(releases: list[LedgerEntry]) -> TextTable:
    """For each column its releases, and the sum of their epsilons."""
    spent: dict[Any, list[float]] = {}
    void = set()
    for release in releases:
        for record in release.records:
            spent.setdefault(record.name, []).append(release.epsilon[record.name])
            if record.simulated:
                void.add(record.name)
    rows = [
        [
            label(name),
            str(len(epsilons)),
            VOID if name in void else loss_text(total_epsilon(epsilons)),
        ]
        for name, epsilons in spent.items()
    ]
    return ["column", "releases", "epsilon in total"], rows


def _deployment_table(total: float, unit: str) -> TextTable:
    """Known deployments and these releases of a unit, the smallest epsilon first."""
    frame = deployments()
    lines = list(zip(frame["epsilon"], frame.index, frame["what is randomized"], strict=True))
    lines.append((total, "these releases together", unit))
    lines.sort(key=lambda line: line[0])
    rows = []
    for epsilon, name, what in lines:
        shown = round_up(epsilon) if epsilon < math.inf else "infinite"
        rows.append([name, what, shown])
    return ["deployment", "what is randomized", "epsilon"], rows
