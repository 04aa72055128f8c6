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
from fractions import Fraction
from typing import Any

import numpy as np

from rrstats._display import Block, as_html, as_markdown, as_text, chance, label
from rrstats._version import __version__
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import expected_rates
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.mechanisms.records import VERSION, Record, write

__all__ = ["ANSWERED", "EXACT", "NOT_HIDDEN", "PROMISE", "describe", "statement"]

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

ANSWERED = (
    f"{PROMISE.partition(', by a missing value')[0]}. Whether a person answered is not protected."
)
"""What is left of the promise where missing answers stay missing."""

PRIOR = Fraction(5, 100)
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
        labels = None if record.is_shortened else list(map(label, mechanism.domain.categories))
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

    @property
    def shows_who_answered(self) -> bool:
        """Whether missing answers stayed missing; where missing is a category, none can."""
        return self.record.missing == "keep" and None not in self.mechanism.domain.categories

    def answers(self) -> str:
        if self.labels is None:
            return (
                f"There are {self.mechanism.domain.k:,} possible answers, fixed beforehand. The "
                "file holds a fingerprint of the list; whoever estimates needs the list itself."
            )
        return (
            f"There are {self.mechanism.domain.k:,} possible answers, fixed beforehand: "
            f"{_listed(self.labels)}."
        )

    def rounds(self) -> str | None:
        number = len(getattr(self.mechanism, "rounds", ()))
        if (groups := self.mechanism.groups) is not None:
            return (
                f"There were {len(groups)} samples, each with instructions of its own: "
                f"{_listed([label(group) for group in groups])}."
            )
        if number < 2:
            return None
        return (
            f"The answers were randomized {number} times in a row. The probabilities are those of "
            "the final reports."
        )

    def kept(self) -> str | None:
        """What a first round tells whose reports somebody keeps, or sees."""
        if self.record.simulated:
            return None
        lifetime = getattr(self.mechanism, "epsilon_lifetime", None)
        if lifetime is not None:
            return (
                "A report has two rounds: what was drawn once for an answer may be kept, and each "
                "report is drawn anew from that. Whoever sees what was kept, or all reports ever "
                "made from it, may learn more than from one report. To draw the first round again "
                "adds as much once more. Epsilon of all that one first round tells: "
                f"{_epsilon(lifetime)}."
            )
        rounds: tuple[Mechanism, ...] = getattr(self.mechanism, "rounds", ())
        if len(rounds) < 2:
            return None
        return (
            "Whoever sees the reports of the first round, or all reports ever made from them where "
            "they are kept and randomized again, may learn more than from one final report. To "
            "draw the first round again adds as much once more. Epsilon of all that one first "
            f"round tells: {_epsilon(rounds[0].epsilon)}."
        )

    def others(self) -> str:
        """What happened to answers outside the categories."""
        record = self.record
        replaced = (
            "first replaced by one of the possible answers, each equally likely, and then treated "
            "like all others"
        )
        refused = "would have stopped the release, so there were none"
        if None in self.mechanism.domain.categories:
            absent = None
        elif self.shows_who_answered:
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
                "The noise was computed from a secret key and the person's id: it protects only as "
                "long as nobody learns the key. Whoever gives the same answer again gets the same "
                "report, so it does not hide whether or when an answer changed, and epsilon counts "
                "once for every distinct answer that a person ever gives in this column."
            )
        return None


def _were(fate: str) -> str:
    return fate if fate.startswith("would") else f"were {fate}"


@dataclass(frozen=True)
class _Law:
    """How reports follow from answers, as far as a page can show it.

    truth, other : the two probabilities where all answers are treated alike, else None.
    rates : (truths, cells) of a small design, else None.  shares : whether a report is one cell.
    own : whether the cells are the possible answers.
    """

    truth: float | None
    other: float | None
    rates: Any
    shares: bool
    own: bool

    @classmethod
    def of(cls, mechanism: Mechanism) -> _Law:
        channel, space = mechanism.channel, mechanism.report_space
        k, cells = len(channel.class_of), len(channel.samples)
        own = k == cells and mechanism.domain.categories == space.categories
        truths = np.eye(min(k, MOST_SHOWN), k)
        rates = expected_rates(channel, truths)
        shares = channel.is_multinomial
        truth, other = float(rates[0, 0]), float(rates[0, -1])
        # All answers alike: the law is other + (truth - other) theta, at the corners that are
        # shown and at a point where every share is different.
        uneven = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
        probes = np.vstack([truths, uneven])
        expected = other + (truth - other) * probes
        alike = own and np.allclose(
            expected_rates(channel, probes), expected, rtol=1e-9, atol=1e-12
        )
        small = k <= MOST_SHOWN and cells <= MOST_SHOWN
        return cls(
            truth if alike else None,
            other if alike else None,
            rates if small else None,
            shares,
            own,
        )


def _brief(law: _Law) -> str:
    """How often a report is the truth; one that names several answers is none of them."""
    return "see below" if law.truth is None or not law.shares else chance(law.truth)


def _law_blocks(column: _Column, law: _Law) -> list[Block]:
    k = column.mechanism.domain.k
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
    if (groups := column.mechanism.groups) is not None:
        cells = [f"{cell} in sample {label(group)}" for group in groups for cell in cells]
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


def _warnings(columns: Sequence[_Column]) -> Iterable[Block]:
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


def _opening(
    columns: Sequence[_Column], laws: Sequence[_Law], facts: str, beside: str | None
) -> Iterable[Block]:
    yield from _warnings(columns)
    row = "row with an answer" if any(c.shows_who_answered for c in columns) else "row"
    protects = "a single report proves little about a person, while "
    if any(column.record.simulated for column in columns):
        protects = ""
    number = _few(len(columns), "column holds", "columns hold")
    decided = (
        "whether the true answer or another one was written down, and nothing in the file says "
        "which"
    )
    if not all(law.own and law.shares for law in laws):
        decided = (
            "what was written down for a true answer, and nothing in the file says which answer "
            "that was"
        )
    yield (
        "text",
        f"{number} randomized reports in place of true answers. For each {row}, chance decided "
        f"with known probabilities {decided}. So {protects}all reports together still tell the "
        "shares, because the noise is known and can be taken out.",
    )
    yield "text", facts
    if beside is not None:
        yield "text", _two_files(beside)


def _two_files(beside: str) -> str:
    return (
        f"The file beside it, {label(beside)}, says how the reports were made. The two files "
        "belong together: whoever gets one needs the other."
    )


def _facts(file: str | None, rows: int | None, made: str) -> str:
    """Which file the page is about, and where the page comes from."""
    facts = [] if file is None else [f"File: {label(file)}."]
    facts += [] if rows is None else [f"Rows: {rows:,}."]
    return " ".join([*facts, f"Page of {label(made)}, written by rrstats {__version__}."])


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
        again, kept, noise = column.rounds(), column.kept(), column.noise()
        if again:
            yield "text", again
        yield from _law_blocks(column, law)
        if kept:
            yield "text", kept
        yield "text", column.others()
        if noise:
            yield "text", noise


def _written(number: Fraction, distance: Fraction) -> str:
    """A number rounded up to three digits, or to as many as tell it from what it is close to."""
    ratio = float(min(number / distance, Fraction(10**12))) if distance else 1.0
    return round_up(number, 3 + max(0, math.floor(math.log10(ratio))))


def _odds(columns: Sequence[_Column]) -> str:
    """What the reports of one row in some columns tell at most, in one sentence."""
    factor = Fraction(1)
    for ratio in (column.mechanism.channel.max_likelihood_ratio for column in columns):
        if not isinstance(ratio, Fraction):
            return "Some report proves, or rules out, a true answer: no protection is proven."
        factor *= ratio
    seen = "a report" if len(columns) == 1 else "all privatized cells of a row"
    whose = "the answer" if len(columns) == 1 else "that row"
    if factor == 1:
        return f"Whoever sees {seen} learns nothing from it, and nothing can be estimated."
    highest = PRIOR * factor / (PRIOR * factor + 1 - PRIOR)
    shown = _written(highest * 100, min(highest, 1 - highest) * 100)
    kept = [column.name for column in columns if column.shows_who_answered]
    whom = "" if not kept else "of a person who answered"
    if kept and len(columns) > 1:
        whom += f" in {_listed(kept)}"
    return (
        f"Whoever sees {seen}{' ' * bool(whom)}{whom} can change the odds between any two possible "
        f"truths about {whose} by a factor of at most {_written(factor, factor - 1)}: what seemed "
        f"{float(PRIOR):.0%} likely before can come to seem {shown}% likely, and no more."
    )


def _row(columns: Sequence[_Column]) -> str:
    """The epsilon of a whole row, and what it does not cover."""
    if any(column.record.simulated for column in columns):
        return "Epsilon of a whole row: void, because noise was simulated."
    total = total_epsilon(column.epsilon for column in columns)
    kept = [column.name for column in columns if column.shows_who_answered]
    beyond = f" It does not cover whether a person answered, in {_listed(kept)}." if kept else ""
    return f"Epsilon of a whole row, all its reports together: {_epsilon(total)}.{beyond}"


def _promises(columns: Sequence[_Column]) -> Iterable[Block]:
    """The promise as far as it holds for columns whose noise was not simulated."""
    kept = [column.name for column in columns if column.shows_who_answered]
    others = [column.name for column in columns if not column.shows_who_answered]
    yield "text", ANSWERED if kept else PROMISE
    if kept and others:
        yield (
            "text",
            f"In {_listed(others)}, where no answer stayed missing, the promise also covers "
            "replacing the value by a missing value, or by anything else.",
        )
    yield "text", NOT_HIDDEN
    yield "text", EXACT
    keyed = [column.name for column in columns if column.record.keyed]
    if keyed:
        yield "text", f"In {_listed(keyed)} the bits come from a secret key instead."


def _privacy(columns: Sequence[_Column]) -> Iterable[Block]:
    yield "heading", "What is promised"
    real = [column for column in columns if not column.record.simulated]
    simulated = [column.name for column in columns if column.record.simulated]
    if simulated:
        yield "text", f"For {_listed(simulated)} nothing is promised: the noise was simulated."
    if real:
        yield from _promises(real)
        yield (
            "text",
            "Epsilon measures the privacy loss (in nats): the smaller, the better "
            "protected. All values are rounded up.",
        )
        said: dict[str, list[str]] = {}
        for column in real:
            words = f"epsilon {column.loss}. {_odds([column])}"
            said.setdefault(words, []).append(column.name)
        yield "list", [f"{_listed(names)}: {words}" for words, names in said.items()]
    yield "text", _row(columns)
    if len(columns) > 1 and not simulated:
        yield "text", _odds(columns)
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
        "that a person's row is in the file, and where it stands (unless the rows were shuffled)",
        "every column that is not named above; if one of them gives the answer away, noise "
        "in another cannot help",
        "the shares themselves: what is true of the whole group is what the release is for",
    ]
    kept = [column.name for column in columns if column.shows_who_answered]
    if kept:
        told.append(f"who did not answer, in {_listed(kept)}")
    yield "list", told


def _document(columns: Sequence[_Column], file: str, beside: str | None) -> Iterable[Block]:
    yield "heading", "For machines"
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
    format: str = "markdown",
) -> str:
    """The page that accompanies a release.

    records : how its columns were made, as `metadata.read` or `files.describe_file` give them.
    rows : how many rows there are.  title : the page's heading.
    made : the page's date; today unless given.  file : the released file's name.
    beside : the name of the file beside it that says how it was made, where that is not in
        the file itself.
    format : "markdown" or "html".
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
    date = str(datetime.date.today() if made is None else made)
    blocks += _opening(columns, laws, _facts(file, rows, date), beside)
    blocks += _done(columns, laws)
    blocks += _privacy(columns)
    blocks += _limits(columns)
    blocks += _use(columns, file or "released.parquet")
    blocks += _document(columns, file or "released.parquet", beside)
    return writers[format](blocks)


def describe(records: Iterable[Record], *, beside: str | None = None) -> str:
    """How columns were made, as plain text for a terminal.

    records, beside : as for `statement`.

    >>> import rrstats as rr
    >>> record = rr.metadata.Record.of("smoker", rr.KRR(["yes", "no"], 0.75))
    >>> "A report is the true answer with probability 75%" in describe([record])
    True
    """
    columns = [_Column.of(record) for record in records]
    laws = [_Law.of(column.mechanism) for column in columns]
    done = [block for block in _done(columns, laws) if block[0] != "heading"]
    together: list[Block] = [] if beside is None else [("text", _two_files(beside))]
    blocks: list[Block] = [*_warnings(columns), *done, *together, ("text", _row(columns))]
    if not any(column.record.simulated for column in columns):
        blocks.append(("text", _odds(columns)))
    return as_text(blocks)
