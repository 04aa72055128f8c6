"""The page for those who decide on releases: all releases in a ledger, and what they add up to.

It is private like the ledger, because it lists all releases of a source.
"""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

from rrstats._checks import check_instance, check_one_of
from rrstats._display import Block, as_html, as_markdown, label
from rrstats._names import checked_keywords
from rrstats._version import __version__
from rrstats.errors import FileError
from rrstats.files.ledger import Ledger, LedgerEntry
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.mechanisms.row_privacy import VOID
from rrstats.privacy.deployments import deployments

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
_PRIVATE = "This page lists all releases of the source: it is for those who decide, not to publish."


@checked_keywords
def sign_off(
    path: Path | str,
    *,
    ledger: Path | str | None = None,
    made: str | datetime.date | None = None,
    contact: str | None = None,
    format: str = "markdown",
) -> str:
    """Write the page on which the releases of a source are signed off, from its ledger.

    Parameters
    ----------
    path : path
        The source, which holds the true answers; only its ledger is read.
    ledger : path, optional
        The ledger, if it is not beside the source.
    made : str or date, optional
        The page's date; by default today.
    contact : str, optional
        The person or organization responsible for the releases.
    format : {"markdown", "html"}
        The HTML is one file that loads no other resource.

    Returns
    -------
    str
        Releases, columns, the epsilon of a row over all of them, and known deployments.

    Raises
    ------
    FileError
        The ledger records no release, or cannot be read.

    Examples
    --------
    >>> import rrstats as rr
    >>> page = rr.files.sign_off("survey.parquet", contact="data office")  # doctest: +SKIP
    """
    writers = {"markdown": as_markdown, "html": as_html}
    writer = writers[check_one_of(format, "format", list(writers))]
    check_instance(made, "made", (type(None), str, datetime.date), "a date or a text")
    source = Ledger.of(Path(path), None if ledger is None else Path(ledger))
    releases = sorted(source.known, key=lambda release: release.when)
    if not releases:
        raise FileError(
            f"the ledger {source.path} records no release of {path}; privatize it with rrstats "
            "first, or give the ledger's place with ledger="
        )
    facts = (
        f"Page of {label(str(made or datetime.date.today()))}, written by rrstats {__version__}."
    )
    responsible = "No contact is named." if contact is None else f"Contact: {label(contact)}."
    return writer(_page(source.source.name, releases, f"{facts} {responsible}"))


def _page(source: str, releases: list[LedgerEntry], facts: str) -> list[Block]:
    """The page of the releases of a source; facts : its date, its program and the contact."""
    is_void = any(record.simulated for release in releases for record in release.records)
    total = math.inf if is_void else total_epsilon(release.row_epsilon for release in releases)
    blocks: list[Block] = [("title", f"Releases of {label(source)}")]
    if is_void:
        blocks.append(("warning", "NOT PROTECTED: the noise of some column was simulated."))
    return [
        *blocks,
        ("text", facts),
        ("text", _PRIVATE),
        ("heading", "Releases"),
        ("table", _release_table(releases)),
        ("heading", "Columns"),
        ("table", _column_table(releases)),
        ("heading", "Epsilon of a row over all releases"),
        ("text", f"Epsilon of a row, all its reports in all releases together: {_text(total)}."),
        ("text", _OF_A_PERSON),
        ("text", _LIMITS),
        ("heading", "Known deployments beside it"),
        ("table", _deployment_table(total)),
        ("heading", "Decision"),
        ("table", (["approved", "name", "date", "signature"], [["", "", "", ""]])),
    ]


def _text(epsilon: float) -> str:
    """An epsilon, rounded up."""
    return round_up(epsilon) if epsilon < math.inf else "infinite: no protection is proven"


def _release_table(releases: list[LedgerEntry]) -> tuple[list[str], list[list[str]]]:
    """When, where, which columns, and the epsilon of a row, for each release."""
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
                VOID if is_void else _text(release.row_epsilon),
            ]
        )
    return heads, rows


def _column_table(releases: list[LedgerEntry]) -> tuple[list[str], list[list[str]]]:
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
            VOID if name in void else _text(total_epsilon(epsilons)),
        ]
        for name, epsilons in spent.items()
    ]
    return ["column", "releases", "epsilon in total"], rows


def _deployment_table(total: float) -> tuple[list[str], list[list[str]]]:
    """Known deployments and these releases, the smallest epsilon first."""
    frame = deployments()
    lines = list(zip(frame["epsilon"], frame.index, frame["what is randomized"], strict=True))
    lines.append((total, "these releases together", "a row"))
    lines.sort(key=lambda line: line[0])
    rows = []
    for epsilon, name, what in lines:
        shown = round_up(epsilon) if epsilon < math.inf else "infinite"
        rows.append([name, what, shown])
    return ["deployment", "what is randomized", "epsilon"], rows
