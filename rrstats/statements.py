"""The page that accompanies a release: what was done, what is promised, and what is not.

Written for whoever has to answer for the release and for whoever works with it; every number
comes from the mechanisms' channels and documents, so that it holds for every mechanism.  The
page is built once as plain blocks and then written as Markdown or as self-contained HTML, each
of which escapes whatever names and categories contain.
"""

from __future__ import annotations

import datetime
import json
import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms import Mechanism
from rrstats.metadata import VERSION, Record, write
from rrstats.pages import Block, as_html, as_markdown, as_text, chance, label
from rrstats.privacy import explain, posterior, round_up, total_epsilon

__all__ = ["EXACT", "NOT_HIDDEN", "PROMISE", "describe", "row_odds", "statement"]

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

PRIOR = 0.05
MOST_SHOWN = 12
"""Tables of probabilities larger than this tell nobody anything."""


def _epsilon(value: float) -> str:
    return round_up(value) if value < math.inf else "infinite: no protection is proven"


def _few(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(f"\u201c{text}\u201d" for text in labels)


# -- what was done -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """One column: its record, and a mechanism of the same law even if labels are not known."""

    record: Record
    mechanism: Mechanism
    labels: list[str] | None

    @classmethod
    def of(cls, record: Record) -> _Column:
        mechanism = record.unlabelled()
        labels = None if record.is_shortened else list(map(label, mechanism.categories))
        return cls(record, mechanism, labels)

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @property
    def loss(self) -> str:
        """Epsilon as it may be quoted."""
        void = ", void: the noise was simulated" if self.record.simulated else ""
        return f"{_epsilon(self.epsilon)}{void}"

    @property
    def name(self) -> str:
        return label(self.record.name)

    def answers(self) -> str:
        if self.labels is None:
            return (
                f"There are {self.mechanism.k:,} possible answers, fixed beforehand. The file "
                "holds a fingerprint of the list; whoever estimates needs the list itself."
            )
        return (
            f"There are {self.mechanism.k:,} possible answers, fixed beforehand: "
            f"{_listed(self.labels)}."
        )

    def rounds(self) -> str | None:
        number = len(getattr(self.mechanism, "rounds", ()))
        if number < 2:
            return None
        return (
            f"The answers were randomized {number} times in a row. The probabilities are those of "
            "the final reports."
        )

    def others(self) -> str:
        """What happened to answers outside the categories."""
        record = self.record
        replaced = (
            "first replaced by one of the possible answers, each equally likely, and then treated "
            "like all others"
        )
        refused = "would have stopped the release, so there were none"
        if None in self.mechanism.categories:
            absent = None
        elif record.missing == "keep":
            absent = "left as they were: the file shows who did not answer"
        elif record.missing == "raise" or record.unknown == "raise":
            absent = refused
        else:
            absent = replaced
        unknown = refused if record.unknown == "raise" else replaced
        if unknown == absent:
            return f"Missing answers, and answers outside this list, {_were(unknown)}."
        said = f"Answers outside this list {_were(unknown)}."
        if absent is None:
            return f"Not answering is one of the answers, protected like the others. {said}"
        return f"{said} Missing answers {_were(absent)}."

    def noise(self) -> str | None:
        if self.record.keyed:
            return (
                "The noise was computed from a secret key: it protects only as long as nobody "
                "learns the key, and it does not hide when a person's answer changes."
            )
        return None


def _were(fate: str) -> str:
    return fate if fate.startswith("would") else f"were {fate}"


@dataclass(frozen=True)
class _Law:
    """How reports follow from answers, as far as a page can show it.

    truth, other : the two probabilities where all answers are treated alike, else None.
    rates : (truths, cells) of a small design, else None.  shares : whether a report is one cell.
    """

    truth: float | None
    other: float | None
    rates: Any
    shares: bool

    @classmethod
    def of(cls, mechanism: Mechanism) -> _Law:
        k, channel, space = mechanism.k, mechanism.channel, mechanism.report_space
        own = k == channel.m and mechanism.categories == space.categories
        truths = np.eye(min(k, MOST_SHOWN), k)
        rates = np.asarray(channel.rates(truths))
        shares = bool(np.allclose(rates.sum(axis=-1), 1.0, rtol=0, atol=1e-9))
        truth, other = float(rates[0, 0]), float(rates[0, -1])
        # All answers alike: the law is other + (truth - other) theta, at the corners that are
        # shown and at a point where every share is different.
        uneven = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
        probes = np.vstack([truths, uneven])
        expected = other + (truth - other) * probes
        alike = own and np.allclose(channel.rates(probes), expected, rtol=1e-9, atol=1e-12)
        small = k <= MOST_SHOWN and channel.m <= MOST_SHOWN
        return cls(
            truth if alike else None,
            other if alike else None,
            rates if small else None,
            shares,
        )


def _brief(law: _Law) -> str:
    return "see below" if law.truth is None else chance(law.truth)


def _law_blocks(column: _Column, law: _Law) -> list[Block]:
    k = column.mechanism.k
    if law.truth is not None and law.other is not None:
        verb = "is" if law.shares else "names, possibly among others,"
        rest = (
            f"the other answer with probability {chance(law.other)}"
            if k == 2
            else f"each of the other {k - 1:,} with probability {chance(law.other)}"
        )
        return [("text", f"A report {verb} the true answer with probability {chance(law.truth)}, "
                         f"and {rest}.")]  # fmt: skip
    if law.rates is None or column.labels is None:
        return [("text", "How often each report follows each answer is part of the design; the "
                         "document at the end of this page says how it is computed.")]  # fmt: skip
    cells = [label(category) for category in column.mechanism.report_space.categories]
    if len(cells) != law.rates.shape[1]:
        cells = [str(cell) for cell in range(law.rates.shape[1])]
    told = "report" if law.shares else "report supports"
    header = ["true answer", *(f"{told}: {cell}" for cell in cells)]
    rows = [
        [name, *(chance(rate) if 0 < rate < 1 else f"{rate:.0%}" for rate in row)]
        for name, row in zip(column.labels, law.rates.tolist(), strict=True)
    ]
    return [("text", "How often each report follows each true answer:"), ("table", (header, rows))]


# -- the page ------------------------------------------------------------------------------


def _opening(columns: Sequence[_Column], rows: int | None, made: str | None) -> Iterable[Block]:
    simulated = [column.name for column in columns if column.record.simulated]
    if simulated:
        yield (
            "warning",
            f"NOT PROTECTED. The noise in {_listed(simulated)} was simulated for teaching or "
            "testing: whoever learns the seed or the state of its generator reads the true "
            "answers. Nothing below about privacy holds for it. Do not release.",
        )
    unproven = [column.name for column in columns if column.epsilon == math.inf]
    if unproven:
        yield (
            "warning",
            f"NO PROTECTION IS PROVEN for {_listed(unproven)}: some report proves, or rules out, "
            "a true answer.",
        )
    number = _few(len(columns), "column holds", "columns hold")
    yield (
        "text",
        f"{number} randomized reports in place of true answers. For each row, chance decided with "
        "known probabilities whether the true answer or another one was written down, and nothing "
        "in the file says which. So a single report proves little about a person, while all "
        "reports together still tell the shares, because the noise is known and can be taken out.",
    )
    facts = [] if rows is None else [f"Rows: {rows:,}."]
    if made:
        facts.append(f"Made: {label(made)}.")
    if facts:
        yield "text", " ".join(facts)


def _table(columns: Sequence[_Column], laws: Sequence[_Law]) -> Block:
    header = ["column", "possible answers", "a report is the truth", "epsilon of a report"]
    rows = [
        [column.name, f"{column.mechanism.k:,}", _brief(law), column.loss]
        for column, law in zip(columns, laws, strict=True)
    ]
    return "table", (header, rows)


def _done(columns: Sequence[_Column], laws: Sequence[_Law]) -> Iterable[Block]:
    yield "heading", "What was done"
    yield _table(columns, laws)
    for column, law in zip(columns, laws, strict=True):
        yield "column", f"Column {column.name}"
        yield "text", column.answers()
        again, noise = column.rounds(), column.noise()
        if again:
            yield "text", again
        yield from _law_blocks(column, law)
        yield "text", column.others()
        if noise:
            yield "text", noise


def row_odds(total: float, prior: float = PRIOR) -> str:
    """What the epsilon of a whole row means, in one sentence."""
    if total == math.inf:
        return "The epsilon of a whole row is infinite: no protection of the row is proven."
    factor = math.exp(total) if total < 700 else math.inf
    highest = min(posterior(prior, factor), 1.0)
    grown = "an astronomical factor" if factor == math.inf else f"at most {round_up(factor, 3)}"
    return (
        f"Whoever sees all privatized cells of a row can change the odds between any two possible "
        f"truths about that row by a factor of {grown}: what seemed {prior:.0%} likely before can "
        f"come to seem {round_up(highest * 100, 3)}% likely, and no more."
    )


def _privacy(columns: Sequence[_Column]) -> Iterable[Block]:
    yield "heading", "What is promised"
    yield "text", PROMISE
    yield "text", NOT_HIDDEN
    yield "text", EXACT
    yield (
        "text",
        "Epsilon measures the privacy loss (in nats): the smaller, the better "
        "protected. All values are rounded up.",
    )
    said: dict[str, list[str]] = {}
    for column in columns:
        said.setdefault(explain(column.mechanism, PRIOR), []).append(column.name)
    yield "list", [f"{_listed(names)}: {words}" for words, names in said.items()]
    total = total_epsilon(column.epsilon for column in columns)
    yield "text", f"Epsilon of a whole row, all its reports together: {_epsilon(total)}."
    if len(columns) > 1:
        yield "text", row_odds(total)
    yield (
        "text",
        "Several rows of one person, other waves and other releases of the same answers add their "
        "epsilons to this.",
    )


def _use(columns: Sequence[_Column], file: str) -> Iterable[Block]:
    yield "heading", "How to estimate"
    yield (
        "text",
        "Shares counted among the reports are pulled towards equal shares. rrstats takes the "
        "noise out and gives intervals that hold. Take every row: picking rows by their report, "
        "or dropping some, makes the estimates wrong. An estimated share may lie below 0% or above "
        "100%; that is noise, and its interval says how much it tells.",
    )
    name = columns[0].record.name
    if all(column.labels is not None for column in columns):
        yield "text", "In Python:"
        yield (
            "code",
            "from rrstats import files\n\n"
            f"estimates = files.estimate_file({file!r})\n"
            f"print(estimates[{name!r}])",
        )
        yield "text", "In a terminal:"
        yield "code", f"rrstats estimate {shlex.quote(label(file))}"
    else:
        yield (
            "text",
            "Some lists of answers are too long for the file, so the mechanism has to be given: "
            "in Python as the argument mechanism of rrstats.files.estimate_file, in a terminal as "
            "options of rrstats estimate.",
        )


def _limits(columns: Sequence[_Column]) -> Iterable[Block]:
    yield "heading", "What this does not hide"
    told = [
        "that a person's row is in the file, and where it stands",
        "every column that is not named above; if one of them gives the answer away, noise "
        "in another cannot help",
        "the shares themselves: what is true of the whole group is what the release is for",
    ]
    if any(column.record.missing == "keep" for column in columns):
        names = [column.name for column in columns if column.record.missing == "keep"]
        told.append(f"who did not answer, in {_listed(names)}")
    yield "list", told


def _document(records: Sequence[Record]) -> Iterable[Block]:
    yield "heading", "For machines"
    yield (
        "text",
        "The document that travels with the data, from which this page was written. Where it is "
        "lost, it can be given to rrstats again.",
    )
    lines = ",\n  ".join(json.dumps(column) for column in write(records)["columns"])
    yield "code", f'{{"v": {VERSION}, "columns": [\n  {lines}\n]}}'


def statement(
    records: Iterable[Record],
    *,
    rows: int | None = None,
    title: str | None = None,
    made: str | datetime.date | None = None,
    file: str | None = None,
    format: str = "markdown",
) -> str:
    """The page that accompanies a release.

    records : how its columns were made, as `metadata.read` or `files.describe_file` give them.
    rows : how many rows there are.  title : the page's heading.  made : when.
    file : the released file's name, for the examples.  format : "markdown" or "html".
    Raises ArgumentValueError where there is nothing to describe.

    >>> import rrstats as rr
    >>> record = rr.metadata.Record.of("smoker", rr.KRR(["yes", "no"], 0.75))
    >>> print(statement([record]).splitlines()[0])
    # How the answers in this file were protected
    """
    writers = {"markdown": as_markdown, "html": as_html}
    if format not in writers:
        raise ArgumentValueError(f"format must be one of {list(writers)}, got {format!r}")
    if not (made is None or isinstance(made, str | datetime.date)):
        raise ArgumentTypeError(f"made must be a date or a text, found {type(made).__name__}")
    described = list(records)
    if not described:
        raise ArgumentValueError("records must describe at least one column, found none")
    columns = [_Column.of(record) for record in described]
    laws = [_Law.of(column.mechanism) for column in columns]
    blocks: list[Block] = [
        ("title", label(title) if title else "How the answers in this file were protected")
    ]
    blocks += _opening(columns, rows, None if made is None else str(made))
    blocks += _done(columns, laws)
    blocks += _privacy(columns)
    blocks += _limits(columns)
    blocks += _use(columns, file or "released.parquet")
    blocks += _document(described)
    return writers[format](blocks)


def describe(records: Iterable[Record]) -> str:
    """How columns were made, as plain text for a terminal.

    >>> import rrstats as rr
    >>> record = rr.metadata.Record.of("smoker", rr.KRR(["yes", "no"], 0.75))
    >>> "A report is the true answer with probability 75%" in describe([record])
    True
    """
    columns = [_Column.of(record) for record in records]
    laws = [_Law.of(column.mechanism) for column in columns]
    done = [block for block in _done(columns, laws) if block[0] != "heading"]
    warnings = [block for block in _opening(columns, None, None) if block[0] == "warning"]
    total = total_epsilon(column.epsilon for column in columns)
    epsilon = f"Epsilon of a whole row, all its reports together: {_epsilon(total)}."
    return as_text([*warnings, *done, ("text", epsilon), ("text", row_odds(total))])
