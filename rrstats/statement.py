"""The page that accompanies a release: what was done, what is promised, and what is not.

Every number comes from the mechanisms' channels and documents, so that the page holds for every
mechanism.  It is built once as the plain blocks of `rrstats._display`, and written as Markdown or
as one HTML file; both escape what names and categories contain.
"""

from __future__ import annotations

import datetime
import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from rrstats._checks import check_instance, check_one_of
from rrstats._display import Block, as_html, as_markdown, as_text, chance, label
from rrstats._typing import Floats
from rrstats._version import __version__
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import expected_rates
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.mechanisms.records import VERSION, Record, write

PROMISE = (
    "For every record, whatever the other records and columns, the privatized cell is "
    "epsilon-locally differentially private for replacing that record's value by any other "
    "declared category, by a missing value, or by anything else."
)
NOT_HIDDEN = (
    "It does not hide that the record exists, its other columns, its index, its position, or the "
    "time the call took. Epsilon adds up: over privatized columns, over waves, over the rows of "
    "one person, and over repeated releases of the same source."
)
EXACT = (
    "The promise is exact for ideal random bits. The bits come from the operating system, "
    "stretched by AES-256 where the cryptography package is installed, which makes it "
    "computational."
)
"""The promise, as the README gives it; a test compares the two."""

_ANSWERED = (
    f"{PROMISE.partition(', by a missing value')[0]}. Whether a person answered is not protected."
)
"""The part of the promise that is left where missing answers stay missing."""

_REPLACED = (
    "were first replaced by one of the possible answers, each equally likely, and then treated "
    "like all others"
)
_REFUSED = "would have stopped the release, so there were none"

_PRIOR = Fraction(5, 100)
_MOST_SHOWN = 12
"""Larger tables of probabilities are left to the document."""


def _epsilon(value: float) -> str:
    return round_up(value) if value < math.inf else "infinite: no protection is proven"


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(f"\u201c{text}\u201d" for text in labels)


@dataclass(frozen=True)
class _Column:
    """A record, with a mechanism of the same probabilities even if its labels are not known."""

    record: Record
    mechanism: Mechanism

    @cached_property
    def labels(self) -> list[str] | None:
        if self.record.is_shortened:
            return None
        return [label(category) for category in self.mechanism.domain.categories]

    @property
    def name(self) -> str:
        return label(self.record.name)

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @property
    def loss(self) -> str:
        """Epsilon as it may be quoted."""
        void = ", void: the noise was simulated" if self.record.simulated else ""
        return f"{_epsilon(self.epsilon)}{void}"

    @property
    def shows_who_answered(self) -> bool:
        """True where missing answers stayed missing; where missing is a category, none can."""
        return self.record.missing == "keep" and None not in self.mechanism.domain.categories

    @property
    def is_multinomial(self) -> bool:
        return self.mechanism.channel.is_multinomial

    @property
    def reports_answers(self) -> bool:
        """True where the reports are the possible answers themselves."""
        channel, own = self.mechanism.channel, self.mechanism.domain.categories
        same = len(channel.class_of) == len(channel.samples)
        return same and own == self.mechanism.report_space.categories

    @cached_property
    def alike(self) -> tuple[float, float] | None:
        """P(report = truth) and P(report = another answer), where all answers are treated alike."""
        if not self.reports_answers:
            return None
        k = len(self.mechanism.channel.class_of)
        # At the first corners, and at a point where every proportion is different.
        uneven = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
        probes = np.vstack([np.eye(min(k, _MOST_SHOWN), k), uneven])
        rates = expected_rates(self.mechanism.channel, probes)
        truth, other = float(rates[0, 0]), float(rates[0, -1])
        close = np.allclose(rates, other + (truth - other) * probes, rtol=1e-9, atol=1e-12)
        return (truth, other) if close else None

    @property
    def small_rates(self) -> Floats | None:
        """(truths, reports) the probabilities of a small design."""
        channel = self.mechanism.channel
        k, cells = len(channel.class_of), len(channel.samples)
        if self.labels is None or max(k, cells) > _MOST_SHOWN:
            return None
        return expected_rates(channel, np.eye(k))


# -- what was done -------------------------------------------------------------------------


def _answers(column: _Column) -> str:
    fixed = f"There are {column.mechanism.domain.k:,} possible answers, fixed beforehand"
    if column.labels is not None:
        return f"{fixed}: {_listed(column.labels)}."
    return f"{fixed}. The file holds a fingerprint of the list; an estimate needs the list itself."


def _rounds(column: _Column) -> Iterator[str]:
    """Samples and rounds of a design, and the epsilon of a first round that is kept."""
    groups = column.mechanism.groups
    rounds: Sequence[Mechanism] = getattr(column.mechanism, "rounds", ())
    if groups is not None:
        yield (
            f"There were {len(groups)} samples, each with instructions of its own: "
            f"{_listed(map(label, groups))}."
        )
    elif len(rounds) > 1:
        yield (
            f"The answers were randomized {len(rounds)} times in a row. The probabilities are "
            "those of the final reports."
        )
    lifetime = getattr(column.mechanism, "epsilon_lifetime", None)
    if lifetime is None and len(rounds) > 1:
        lifetime = rounds[0].epsilon
    if lifetime is not None and not column.record.simulated:
        yield (
            "A report has more than one round. The result of the first round, or all reports ever "
            "made from it where it is kept and randomized again, may tell more than one report. To "
            "draw the first round again adds as much once more. Epsilon of all that one first "
            f"round tells: {_epsilon(lifetime)}."
        )


def _probabilities(column: _Column) -> Iterator[Block]:
    """The probabilities of reports given answers, in a sentence or a table."""
    k, rates = column.mechanism.domain.k, column.small_rates
    if column.alike is not None:
        truth, other = map(chance, column.alike)
        verb = "is" if column.is_multinomial else "names, possibly among others,"
        rest = "the other answer" if k == 2 else f"each of the other {k - 1:,}"
        yield (
            "text",
            f"A report {verb} the true answer with probability {truth}, and {rest} with "
            f"probability {other}.",
        )
        return
    if rates is None:
        yield (
            "text",
            "How often each report follows each answer is part of the design; the document at the "
            "end of this page says how it is computed.",
        )
        return
    cells = [label(category) for category in column.mechanism.report_space.categories]
    if (groups := column.mechanism.groups) is not None:
        cells = [f"{cell} in sample {label(group)}" for group in groups for cell in cells]
    if len(cells) != len(rates[0]):
        cells = [str(cell) for cell in range(len(rates[0]))]
    told = "report" if column.is_multinomial else "report supports"
    rows = [
        [name, *(chance(rate) if 0 < rate < 1 else f"{rate:.0%}" for rate in row)]
        for name, row in zip(column.labels or (), rates.tolist(), strict=True)
    ]
    yield "text", "How often each report follows each true answer:"
    yield "table", (["true answer", *(f"{told}: {cell}" for cell in cells)], rows)


def _others(column: _Column) -> str:
    """The fate of answers outside the categories."""
    record = column.record
    unknown = _REFUSED if record.unknown == "raise" else _REPLACED
    if None in column.mechanism.domain.categories:
        return (
            "Not answering is one of the answers, protected like the others. Answers outside this "
            f"list {unknown}."
        )
    missing = {
        "unknown": unknown,
        "uniform": _REPLACED,
        "raise": _REFUSED,
        "keep": "were left as they were: the file shows who did not answer",
    }[record.missing]
    if unknown == missing:
        return f"Missing answers, and answers outside this list, {unknown}."
    return f"Answers outside this list {unknown}. Missing answers {missing}."


_KEYED = (
    "The noise was computed from a secret key and the person's id: it protects only as long as "
    "nobody learns the key. A person who gives the same answer again gets the same report, so it "
    "does not hide whether or when an answer changed, and epsilon counts once for every distinct "
    "answer that a person ever gives in this column."
)


def _done(columns: Sequence[_Column], questions: Mapping[Any, str]) -> Iterator[Block]:
    header = ["column", "possible answers", "a report is the truth", "epsilon of a report"]
    rows = []
    for column in columns:
        alike = column.alike if column.is_multinomial else None
        truth = "see below" if alike is None else chance(alike[0])
        rows.append([column.name, f"{column.mechanism.k:,}", truth, column.loss])
    yield "table", (header, rows)
    for column in columns:
        yield "column", f"Column {column.name}"
        if column.record.name in questions:
            yield "text", f"The question was: \u201c{label(questions[column.record.name])}\u201d"
        yield "text", _answers(column)
        for sentence in _rounds(column):
            yield "text", sentence
        yield from _probabilities(column)
        yield "text", _others(column)
        if column.record.keyed:
            yield "text", _KEYED


def _warnings(columns: Sequence[_Column]) -> Iterator[Block]:
    if simulated := [column.name for column in columns if column.record.simulated]:
        yield (
            "warning",
            f"NOT PROTECTED. The noise in {_listed(simulated)} was simulated for teaching or "
            "testing: the seed or the state of its generator gives the true answers away. Nothing "
            "below about privacy holds for it. Do not release.",
        )
    if unproven := [column.name for column in columns if column.epsilon == math.inf]:
        yield (
            "warning",
            f"NO PROTECTION IS PROVEN for {_listed(unproven)}: some report proves, or rules out, "
            "a true answer.",
        )


def _opening(columns: Sequence[_Column]) -> str:
    row = "row with an answer" if any(c.shows_who_answered for c in columns) else "row"
    number = "1 column holds" if len(columns) == 1 else f"{len(columns):,} columns hold"
    simulated = any(column.record.simulated for column in columns)
    protects = "" if simulated else "a single report proves little about a person, while "
    decided = "what was written down for a true answer, and nothing in the file says which it was"
    if all(column.reports_answers and column.is_multinomial for column in columns):
        decided = (
            "whether the true answer or another one was written down, and nothing in the file says "
            "which"
        )
    return (
        f"{number} randomized reports in place of true answers. For each {row}, chance decided "
        f"with known probabilities {decided}. So {protects}all reports together still tell the "
        "shares, because the noise is known and can be taken out."
    )


def _two_files(beside: str) -> str:
    return (
        f"The file beside it, {label(beside)}, says how the reports were made. The two files "
        "belong together: hand on both."
    )


# -- what is promised ------------------------------------------------------------------------


def _rounded_up(number: Fraction, distance: Fraction) -> str:
    """A number in three digits, or as many as tell it from what it is close to."""
    ratio = float(min(number / distance, Fraction(10**12))) if distance else 1.0
    return round_up(number, 3 + max(0, math.floor(math.log10(ratio))))


def _odds(columns: Sequence[_Column]) -> str:
    """The most that the reports of one row in some columns tell, in one sentence."""
    factor = Fraction(1)
    for ratio in (column.mechanism.channel.max_likelihood_ratio for column in columns):
        if not isinstance(ratio, Fraction):
            return "Some report proves, or rules out, a true answer: no protection is proven."
        factor *= ratio
    several = len(columns) > 1
    seen = "all privatized cells of a row" if several else "a report"
    if factor == 1:
        return f"A reader of {seen} learns nothing from it, and nothing can be estimated."
    highest = _PRIOR * factor / (_PRIOR * factor + 1 - _PRIOR)
    shown = _rounded_up(highest * 100, min(highest, 1 - highest) * 100)
    if kept := [column.name for column in columns if column.shows_who_answered]:
        seen += " of a person who answered" + f" in {_listed(kept)}" * several
    return (
        f"A reader of {seen} can change the odds between any two possible truths about "
        f"{'that row' if several else 'the answer'} by a factor of at most "
        f"{_rounded_up(factor, factor - 1)}: what seemed {float(_PRIOR):.0%} likely before can "
        f"come to seem {shown}% likely, and no more."
    )


def _row(columns: Sequence[_Column]) -> str:
    """The epsilon of a whole row, and what it does not cover."""
    if any(column.record.simulated for column in columns):
        return "Epsilon of a whole row: void, because noise was simulated."
    total = _epsilon(total_epsilon(column.epsilon for column in columns))
    kept = [column.name for column in columns if column.shows_who_answered]
    beyond = f" It does not cover whether a person answered, in {_listed(kept)}." if kept else ""
    return f"Epsilon of a whole row, all its reports together: {total}.{beyond}"


def _promises(columns: Sequence[_Column]) -> Iterator[Block]:
    """The promise as far as it holds for columns whose noise was not simulated."""
    kept = [column.name for column in columns if column.shows_who_answered]
    others = [column.name for column in columns if not column.shows_who_answered]
    yield "text", _ANSWERED if kept else PROMISE
    if kept and others:
        yield (
            "text",
            f"In {_listed(others)}, where no answer stayed missing, the promise also covers "
            "replacing the value by a missing value, or by anything else.",
        )
    yield "text", NOT_HIDDEN
    yield "text", EXACT
    if keyed := [column.name for column in columns if column.record.keyed]:
        yield "text", f"In {_listed(keyed)} the bits come from a secret key instead."
    yield (
        "text",
        "Epsilon measures the privacy loss (in nats): the smaller, the better protected. All "
        "values are rounded up.",
    )
    said: dict[str, list[str]] = {}
    for column in columns:
        said.setdefault(f"epsilon {column.loss}. {_odds([column])}", []).append(column.name)
    yield "list", [f"{_listed(names)}: {words}" for words, names in said.items()]


def _privacy(columns: Sequence[_Column]) -> Iterator[Block]:
    real = [column for column in columns if not column.record.simulated]
    if simulated := [column.name for column in columns if column.record.simulated]:
        yield "text", f"For {_listed(simulated)} nothing is promised: the noise was simulated."
    if real:
        yield from _promises(real)
    yield "text", _row(columns)
    if len(columns) > 1 and not simulated:
        yield "text", _odds(columns)
    yield (
        "text",
        "Several rows of one person, other waves and other releases of the same answers add their "
        "epsilons to this.",
    )
    told = [
        "that a person's row is in the file, and where it stands (unless the rows were shuffled)",
        "every column that is not named above; if one of them gives the answer away, noise "
        "in another cannot help",
        "the shares themselves: what is true of the whole group is what the release is for",
    ]
    if kept := [column.name for column in columns if column.shows_who_answered]:
        told.append(f"who did not answer, in {_listed(kept)}")
    yield "heading", "What this does not hide"
    yield "list", told


# -- how to use it ---------------------------------------------------------------------------


def _use(columns: Sequence[_Column], file: str) -> Iterator[Block]:
    yield (
        "text",
        "Shares counted among the reports are pulled towards equal shares. rrstats takes the "
        "noise out and gives confidence intervals. Take every row: picking rows by their report, "
        "or dropping some, makes the estimates wrong. An estimated share may lie below 0% or above "
        "100%; that is noise, and its interval says how much it tells.",
    )
    if all(column.labels is not None for column in columns):
        code = f"from rrstats import files\n\nestimates = files.estimate_file({file!r})\n"
        yield "text", "In Python:"
        yield "code", f"{code}print(estimates[{columns[0].record.name!r}])"
        yield "text", "In a terminal:"
        yield "code", f"rrstats estimate {shlex.quote(label(file))}"
    else:
        yield (
            "text",
            "Some lists of answers are too long for the file, so the mechanism has to be given: "
            "in Python as the argument mechanism of rrstats.files.estimate_file, in a terminal as "
            "options of rrstats estimate.",
        )
    formulas = [
        f"{_listed([column.name])}: true share = (share of reports - {other:.10g}) / "
        f"({truth:.10g} - {other:.10g})"
        for column in columns
        if column.alike is not None
        for truth, other in [column.alike]
        if truth != other
    ]
    if formulas:
        yield "text", "Without rrstats, the estimate of each answer is:"
        yield "list", formulas


def _document(columns: Sequence[_Column], file: str, beside: str | None) -> Iterator[Block]:
    where = "in the file" if beside is None else f"beside it, in {label(beside)}"
    told = f"The document that travels with the data {where}, from which this page was written."
    if any(column.labels is None for column in columns):
        yield "text", told
    else:
        yield (
            "text",
            f"{told} Where it is lost, save the lines at the end of this page as made.json; "
            "rrstats takes that as the argument mechanism of rrstats.files.estimate_file, and in a "
            "terminal:",
        )
        yield "code", f"rrstats estimate {shlex.quote(label(file))} --plan made.json"
        yield "text", "The document:"
    records = [column.record for column in columns]
    lines = ",\n  ".join(json.dumps(column) for column in write(records)["columns"])
    yield "code", f'{{"v": {VERSION}, "columns": [\n  {lines}\n]}}'


def statement(
    records: Iterable[Record],
    *,
    rows: int | None = None,
    title: str | None = None,
    made: str | datetime.date | None = None,
    file: str | None = None,
    beside: str | None = None,
    questions: Mapping[Any, str] | None = None,
    contact: str | None = None,
    format: str = "markdown",
) -> str:
    """Write the page that accompanies a release.

    Parameters
    ----------
    records : iterable of Record
        One for each privatized column, as `metadata.read` or `files.describe_file` give them.
    rows : int, optional
        The number of rows.
    title : str, optional
        The heading of the page.
    made : str or date, optional
        The date of the page; today unless given.
    file : str, optional
        The name of the released file.
    beside : str, optional
        The name of the file that holds the document, where that is a file of its own.
    questions : mapping of column name to str, optional
        The wording of the questions.
    contact : str, optional
        The person or office that answers for the release.
    format : {"markdown", "html"}
        HTML is one file that loads nothing.

    Returns
    -------
    str
        The text of the page.

    Raises
    ------
    ArgumentValueError
        There is nothing to describe, or a question belongs to no column.

    Examples
    --------
    >>> import rrstats as rr
    >>> record = rr.metadata.Record.of("smoker", rr.KRR(["yes", "no"], 0.75))
    >>> print(statement([record]).splitlines()[0])
    # How the answers in this file were protected
    """
    writer = {"markdown": as_markdown, "html": as_html}[
        check_one_of(format, "format", ["markdown", "html"])
    ]
    check_instance(made, "made", (type(None), str, datetime.date), "a date or a text")
    columns = [_Column(record, record.unlabelled()) for record in records]
    if not columns:
        raise ArgumentValueError("records must describe at least one column, found none")
    asked = dict(questions or {})
    if unused := set(asked) - {column.record.name for column in columns}:
        raise ArgumentValueError(f"questions must name privatized columns, got {sorted(unused)}")
    facts = [] if file is None else [f"File: {label(file)}."]
    facts += [] if rows is None else [f"Rows: {rows:,}."]
    date = label(str(made or datetime.date.today()))
    facts.append(f"Page of {date}, written by rrstats {__version__}.")
    facts += [] if contact is None else [f"Contact: {label(contact)}."]
    name = file or "released.parquet"
    blocks: list[Block] = [
        ("title", label(title) if title else "How the answers in this file were protected"),
        *_warnings(columns),
        ("text", _opening(columns)),
        ("text", " ".join(facts)),
        *([] if beside is None else [("text", _two_files(beside))]),
        ("heading", "What was done"),
        *_done(columns, asked),
        ("heading", "What is promised"),
        *_privacy(columns),
        ("heading", "How to estimate"),
        *_use(columns, name),
        ("heading", "For machines"),
        *_document(columns, name, beside),
    ]
    return writer(blocks)


def describe(records: Iterable[Record], *, beside: str | None = None) -> str:
    """Describe how columns were made, as plain text for a terminal.

    Parameters
    ----------
    records : iterable of Record
        One for each privatized column.
    beside : str, optional
        As for `statement`.

    Returns
    -------
    str
        Lines of at most 80 columns.

    Examples
    --------
    >>> import rrstats as rr
    >>> record = rr.metadata.Record.of("smoker", rr.KRR(["yes", "no"], 0.75))
    >>> "A report is the true answer with probability 75%" in describe([record])
    True
    """
    told = list(records)
    columns = [_Column(record, record.unlabelled()) for record in told]
    blocks: list[Block] = [*_warnings(columns), *_done(columns, {})]
    if beside is not None:
        blocks.append(("text", _two_files(beside)))
    blocks += [("text", sentences) for sentences in row_protection(told)]
    return as_text(blocks)


def row_protection(records: Iterable[Record]) -> list[str]:
    """The epsilon of a row, and what it means in odds; void where noise was simulated."""
    columns = [_Column(record, record.unlabelled()) for record in records]
    real = not any(column.record.simulated for column in columns)
    return [_row(columns), *([_odds(columns)] if real else [])]
