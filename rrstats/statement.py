"""The page that accompanies a release: what was done, what is promised, and what is not.

Every number comes from the mechanisms' channels and documents, so the page is correct for every
mechanism.  It is a template filled with plain sentences, written as Markdown or as one HTML file;
both escape markup in names and categories.
"""

from __future__ import annotations

import datetime
import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rrstats._cached import cached_property
from rrstats._checks import check_instance
from rrstats._display import Block, Text, as_markdown, as_text, chance, label
from rrstats._version import __version__
from rrstats.data.number_spaces import NumberGrid
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import expected_rates
from rrstats.mechanisms.epsilon import loss_text, round_up
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.plans import part_label
from rrstats.mechanisms.records import ColumnRecord, missing_policy, write
from rrstats.mechanisms.row_privacy import row_epsilon, row_mechanisms
from rrstats.randomness.sources import is_stretched

PROMISE = (
    "For every record, whatever the other records and columns, the privatized cell is "
    "epsilon-locally differentially private for replacing that record's value by any other "
    "declared category."
)
_STOPPED = (
    "Where other answers would have stopped the release, that it exists says that there were none."
)
NOT_HIDDEN = (
    "It does not hide that the record exists, its other columns, its index, its position, or the "
    "time the call took. Epsilon adds up: over privatized columns, over waves, over the rows of "
    "one person, and over repeated releases of the same source."
)
EXACT = "The promise is exact for ideal random bits. The bits come from the operating system"
"""The promise, as `docs/guide/limits.md` gives it; a test compares the two."""

_STRETCHED = (
    ", stretched by AES-256, which makes it computational: the cryptography package is installed "
    "where this page was written."
)
_UNSTRETCHED = (
    " alone: the cryptography package, which would stretch them by AES-256, is not installed where "
    "this page was written."
)

# Inserted texts have neither line ends nor tabs, and never begin a paragraph; see `_blocks`.
_PAGE = """\
# {title}

{warnings}

Some columns hold randomized reports in place of true answers. Each report was drawn at random, with
known probabilities that depend on the true answer. The file does not contain the true answers of
these columns. The shares can still be estimated from all reports together, because the
probabilities are known.

{facts}

{two_files}

## What was done

{done}

## What is promised

{promised}

{row}

The epsilons of several rows of one person, of other waves and of other releases of the same answers
are added to this.

## What this does not hide

- that a person's row is in the file, and where it stands (unless the rows were shuffled)
- every column that is not named above; such a column may reveal the true answer despite the noise
- the shares themselves: the purpose of the release is to estimate them for the whole group{kept}

## How to estimate

The shares of the reports are biased towards equal shares. rrstats corrects this bias and gives
confidence intervals. Use every row: selecting or dropping rows by their report makes the estimates
wrong. An estimated share may lie below 0% or above 100% because of the noise; its confidence
interval shows the uncertainty. rrstats is the Python package randomized-response; on the public
package index the name rrstats belongs to another project.

{use}

## For machines

This page was written from the document that travels with the data {where}.{hint}

```
{document}
```
"""

_HINT_IF_LOST = (
    " If it is lost, save it as made.json and use rrstats estimate with --plan made.json."
)
_REPLACED = (
    "were first replaced by one of the possible answers, each equally likely, and then treated "
    "like all others"
)
_REFUSED = "would have stopped the release, so there were none"
_KEYED = (
    "The noise was computed from a secret key and the person's id: it protects only as long as "
    "nobody learns the key. A person who gives the same answer again gets the same report, so the "
    "noise does not hide whether or when an answer changed, and epsilon counts once for every "
    "distinct answer that a person ever gives in this column."
)
_PRIOR = Fraction(5, 100)
"""The probability before the report, in the example of what a report can change."""

_MAX_LISTED = 12
"""The page shows no larger table of probabilities; the document describes it."""


def _blocks(page: str) -> Iterator[Block]:
    """The blocks of a page: its paragraphs, whose first characters determine the kind."""
    kinds = {"#": "title", "##": "heading", "###": "column", ">": "warning"}
    for part in filter(None, (part.strip("\n") for part in page.split("\n\n"))):
        lines = part.split("\n")
        sign, _, rest = part.partition(" ")
        if "\t" in part:
            header, *rows = [line.split("\t") for line in lines]
            yield "table", (header, rows)
        elif lines[0] == "```":
            yield "code", "\n".join(lines[1:-1])
        elif sign == "-":
            yield "list", [line.removeprefix("- ") for line in lines]
        else:
            yield kinds.get(sign, "text"), " ".join((rest if sign in kinds else part).split())


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(f"\u201c{text}\u201d" for text in labels)


@runtime_checkable
class _Kept(Protocol):
    """A mechanism whose first round a person may keep."""

    @property
    def epsilon_lifetime(self) -> float:
        """The privacy loss of all reports of one unchanged answer, in nats."""


@dataclass(frozen=True)
class _Column:
    """A privatized column, as its record describes it."""

    record: ColumnRecord

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism; it has the same probabilities even if labels are unknown."""
        return self.record.unlabelled()

    @property
    def name(self) -> str:
        return label(self.record.name)

    @cached_property
    def labels(self) -> list[str] | None:
        answers = self.mechanism.domain.categories
        return None if self.record.is_shortened else [label(answer) for answer in answers]

    @property
    def loss(self) -> str:
        """The text of the column's epsilon."""
        void = ", void: the noise was simulated" if self.record.simulated else ""
        return f"{loss_text(self.mechanism.epsilon)}{void}"

    @property
    def shows_who_answered(self) -> bool:
        """True if missing answers stayed missing; never if missing is a category."""
        return self.record.missing == "keep" and None not in self.mechanism.domain.categories

    @property
    def replaced(self) -> str:
        """The values that are no category for which the promise holds too; "" if none."""
        record = self.record
        values = []
        policy = missing_policy(record.unknown, record.missing)
        if policy not in ("raise", "keep") and None not in self.mechanism.domain.categories:
            values.append("by a missing value")
        if record.unknown != "raise":
            values.append("by anything else")
        return ", or ".join(values)

    @cached_property
    def alike(self) -> tuple[float, float] | None:
        """P(report = truth) and P(report = another answer), if all answers are treated alike."""
        rates = self.mechanism.channel.binomial_rates
        answers = self.mechanism.domain.categories
        if rates is None or answers != self.mechanism.report_space.categories:
            return None
        truth = rates.true_positive_rate
        other = rates.false_positive_rate
        if np.ptp(truth) > 0 or np.ptp(other) > 0:
            return None
        return float(truth[0]), float(other[0])

    def paragraphs(self) -> Iterator[str]:
        """Paragraphs that describe how this column's reports were made."""
        yield self._answers()
        yield from self._procedure()
        yield from self._lifetime()
        yield self._probabilities()
        if self.record.by_row:
            (column,) = self.record.by_row.values()
            yield (
                "The probability differs from row to row, as column "
                f"{_listed([label(column)])} says. The numbers on this page are for the row with "
                "the largest epsilon; all other rows are protected more."
            )
        yield self._others()
        if self.record.keyed:
            yield _KEYED

    def _answers(self) -> str:
        """A sentence on the possible answers."""
        domain = self.mechanism.domain
        if isinstance(domain, NumberGrid):
            low, high = (f"{bound:g}" for bound in domain.bounds)
            return (
                f"Answers are numbers.  Those outside {low} to {high}, bounds that were fixed "
                f"beforehand, were moved to the nearer bound.  Each was then rounded at random to "
                f"one of {domain.k} evenly spaced points, so that its mean is kept, and that point "
                "was randomized.  The plain mean of the reports estimates the mean of the answers "
                "within these bounds."
            )
        fixed = f"There are {self.mechanism.domain.k:,} possible answers, fixed beforehand"
        if self.labels is not None:
            return f"{fixed}: {_listed(self.labels)}."
        return (
            f"{fixed}. The file holds a fingerprint of the list; an estimate needs the list itself."
        )

    def _procedure(self) -> Iterator[str]:
        """Sentences on the plan, the samples or the rounds of the column, if it has any."""
        mechanism = self.mechanism
        if self.record.plan is not None:
            yield from self._asked(self.record.plan)
        elif mechanism.groups is not None:
            yield (
                f"There were {len(mechanism.groups)} samples, each with instructions of its own: "
                f"{_listed(map(label, mechanism.groups))}."
            )
        elif len(mechanism.rounds) > 1:
            yield (
                f"The answers were randomized {len(mechanism.rounds)} times in a row. The "
                "probabilities are those of the final reports."
            )

    def _lifetime(self) -> Iterator[str]:
        """Sentences on the epsilon of everything that one first round reveals."""
        mechanism = self.mechanism
        lifetime: float | None
        if isinstance(mechanism, _Kept):
            lifetime = mechanism.epsilon_lifetime
        else:  # each sample has rounds of its own
            parts = mechanism.of_samples
            firsts = [part.rounds[0].epsilon for part in parts if len(part.rounds) > 1]
            lifetime = max(firsts, default=None)
        if lifetime is not None and not self.record.simulated:
            yield (
                "A report has more than one round. The result of the first round, or all reports "
                "ever made from it if it is kept and randomized again, may reveal more than one "
                "report. A second draw of the first round adds the same epsilon again. Epsilon of "
                f"everything that one first round reveals: {loss_text(lifetime)}."
            )

    def _asked(self, plan: FramePlan) -> Iterator[str]:
        """Sentences on the coin that picked what a row reports."""
        chances = list(zip(plan.parts, plan.chances, strict=True))
        asking = [(part, number) for part, number in chances if self.record.name in part]
        proportion = sum(number for _, number in asking) / sum(number for _, number in chances)
        rows = chance(proportion) if proportion < 1 else "all"
        pairs = [label(part_label(part)) for part, _ in asking if len(part) > 1]
        in_pairs = ""
        if pairs:
            in_pairs = f", in the pairs {_listed(pairs[:_MAX_LISTED])}"
        sentences = [
            "A public coin, independent of all answers, picked what each row reports; the column "
            f"{label(plan.asked)} says what.",
            f"This column was asked in {rows} of the rows{in_pairs}.",
            "In all other rows it is empty, which says nothing about the answer.",
        ]
        if pairs:
            sentences.append(
                "A pair was reported as one answer; below are the chances of this column alone."
            )
        yield " ".join(sentences)

    def _probabilities(self) -> str:
        """The probabilities of reports given answers, in a sentence or a table."""
        channel = self.mechanism.channel
        k = self.mechanism.domain.k
        if self.alike is not None:
            truth, other = map(chance, self.alike)
            verb = "is" if channel.is_multinomial else "names, possibly among others,"
            rest = "the other answer" if k == 2 else f"each of the other {k - 1:,}"
            return (
                f"A report {verb} the true answer with probability {truth}, and {rest} with "
                f"probability {other}."
            )
        if self.labels is None or max(k, len(channel.samples)) > _MAX_LISTED:
            return (
                "The design determines the probability of each report given each answer; the "
                "document at the end of this page says how to compute it."
            )
        cells = [label(category) for category in self.mechanism.report_space.categories]
        groups = self.mechanism.groups
        if groups is not None:
            cells = [f"{cell} in sample {label(group)}" for group in groups for cell in cells]
        rates = expected_rates(channel, np.eye(k))
        if len(cells) != len(rates[0]):
            cells = [str(cell) for cell in range(len(rates[0]))]
        verb = "report" if channel.is_multinomial else "report supports"
        rows = [["true answer", *(f"{verb}: {cell}" for cell in cells)]]
        for name, row in zip(self.labels, rates.tolist(), strict=True):
            rows.append([name, *(chance(rate) if 0 < rate < 1 else f"{rate:.0%}" for rate in row)])
        return f"Probability of each report, given the true answer:\n\n{_table(rows)}"

    def _others(self) -> str:
        """A sentence on the treatment of answers outside the categories."""
        refused = _REFUSED
        if self.record.plan is not None:
            refused += " among those that were asked for"
        unknown = refused if self.record.unknown == "raise" else _REPLACED
        if None in self.mechanism.domain.categories:
            return (
                "A missing answer is one of the possible answers and is protected like the others. "
                f"Answers outside this list {unknown}."
            )
        missing = {
            "unknown": unknown,
            "uniform": _REPLACED,
            "raise": refused,
            "keep": "were left as they were: the file shows who did not answer",
        }[self.record.missing]
        if unknown == missing:
            return f"Missing answers, and answers outside this list, {unknown}."
        return f"Answers outside this list {unknown}. Missing answers {missing}."


def _table(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("\t".join(row) for row in rows)


def _done(columns: Sequence[_Column], questions: Mapping[Any, str]) -> str:
    rows = [["column", "possible answers", "P(report = true answer)", "epsilon of a report"]]
    parts = []
    for column in columns:
        alike = column.alike if column.mechanism.channel.is_multinomial else None
        truth = "see below" if alike is None else chance(alike[0])
        rows.append([column.name, f"{column.mechanism.k:,}", truth, column.loss])
        parts.append(f"### Column {column.name}")
        question = questions.get(column.record.name)
        if question is not None:
            parts.append(f"The question was: \u201c{label(question)}\u201d")
        parts += column.paragraphs()
    return "\n\n".join([_table(rows), *parts])


def _warnings(columns: Sequence[_Column]) -> str:
    parts = []
    simulated = [column.name for column in columns if column.record.simulated]
    if simulated:
        parts.append(
            f"> NOT PROTECTED. The noise in {_listed(simulated)} was simulated for teaching or "
            "testing: the seed or the state of its generator reveals the true answers. Nothing "
            "below about privacy holds for it. Do not release."
        )
    unproven = [column.name for column in columns if column.mechanism.epsilon == math.inf]
    if unproven:
        parts.append(
            f"> NO PROTECTION IS PROVEN for {_listed(unproven)}: some report proves, or rules out, "
            "a true answer."
        )
    return "\n\n".join(parts)


def _facts(
    file: str | None, rows: int | None, date: str | datetime.date | None, contact: str | None
) -> str:
    """One line with the file, rows, date and contact of the release, as far as they are given."""
    sentences = []
    if file:
        sentences.append(f"File: {label(file)}.")
    if rows is not None:
        sentences.append(f"Rows: {rows:,}.")
    date_text = label(str(date or datetime.date.today()))
    sentences.append(f"Page of {date_text}, written by rrstats {__version__}.")
    if contact:
        sentences.append(f"Contact: {label(contact)}.")
    return " ".join(sentences)


def _two_files(sidecar: str | None) -> str:
    if sidecar is None:
        return ""
    return (
        f"The file beside it, {label(sidecar)}, records how the reports were made. The two files "
        "belong together: pass on both."
    )


# -- what is promised ------------------------------------------------------------------------


def _rounded_up(number: Fraction, distance: Fraction) -> str:
    """A number rounded up to three digits, or more if it is close to its limit."""
    ratio = float(min(number / distance, Fraction(10**12))) if distance else 1.0
    return round_up(number, 3 + max(0, math.floor(math.log10(ratio))))


def _odds_text(columns: Sequence[_Column], mechanisms: Iterable[Mechanism]) -> str:
    """A sentence that bounds what the reports of one row in some columns reveal."""
    factor = Fraction(1)
    for ratio in (mechanism.max_likelihood_ratio for mechanism in mechanisms):
        if not isinstance(ratio, Fraction):
            return "Some report proves, or rules out, a true answer: no protection is proven."
        factor *= ratio
    several = len(columns) > 1
    seen = "all privatized cells of a row" if several else "a report"
    if factor == 1:
        return f"A reader of {seen} learns nothing from it, and nothing can be estimated."
    highest = _PRIOR * factor / (_PRIOR * factor + 1 - _PRIOR)
    percent = _rounded_up(highest * 100, min(highest, 1 - highest) * 100)
    kept = [column.name for column in columns if column.shows_who_answered]
    if kept:
        seen += " of a person who answered"
    if kept and several:
        seen += f" in {_listed(kept)}"
    of_row = "of that row " if several else ""
    return (
        f"{seen[0].upper()}{seen[1:]} can change the odds between any two possible true answers "
        f"{of_row}by a factor of at most {_rounded_up(factor, factor - 1)}: a "
        f"true answer with probability {float(_PRIOR):.0%} before has probability at most "
        f"{percent}% afterwards."
    )


def row_protection(records: Iterable[ColumnRecord]) -> list[str]:
    """The epsilon of a row, its limits, and its meaning in odds."""
    listed = list(records)
    columns = [_Column(record) for record in listed]
    if any(record.simulated for record in listed):
        return ["Epsilon of a whole row: void, because noise was simulated."]
    total = loss_text(row_epsilon(listed))
    kept = [column.name for column in columns if column.shows_who_answered]
    text = f"Epsilon of a whole row, all its reports together: {total}."
    if kept:
        text += f" It does not cover whether a person answered, in {_listed(kept)}."
    planned = [column.name for column in columns if column.record.plan is not None]
    if planned:
        text += f" {_listed(planned)} share one: a row reports only what the public coin picked."
    return [text, _odds_text(columns, row_mechanisms(listed).values())]


def _promised(columns: Sequence[_Column]) -> str:
    """The promise; columns whose noise was simulated have none."""
    real = [column for column in columns if not column.record.simulated]
    parts = []
    simulated = [column.name for column in columns if column.record.simulated]
    if simulated:
        parts.append(f"For {_listed(simulated)} nothing is promised: the noise was simulated.")
    if not real:
        return parts[0]
    kept = [column.name for column in real if column.shows_who_answered]
    parts.append(PROMISE)
    for values in dict.fromkeys(column.replaced for column in real if column.replaced):
        names = [column.name for column in real if column.replaced == values]
        parts.append(f"In {_listed(names)} it also holds for replacing the value {values}.")
    if any("raise" in (column.record.unknown, column.record.missing) for column in real):
        parts.append(_STOPPED)
    if kept:
        parts.append(f"In {_listed(kept)} whether a person answered is not protected.")
    parts += [NOT_HIDDEN, EXACT + (_STRETCHED if is_stretched() else _UNSTRETCHED)]
    keyed = [column.name for column in real if column.record.keyed]
    if keyed:
        parts.append(f"In {_listed(keyed)} the bits come from a secret key instead.")
    parts.append(
        "Epsilon measures the privacy loss (in nats): the smaller, the better protected. All "
        "values are rounded up."
    )
    items = [
        f"- \u201c{column.name}\u201d: epsilon {column.loss}. "
        + _odds_text([column], [column.mechanism])
        for column in real
    ]
    return "\n\n".join([*parts, "\n".join(items)])


# -- how to use it ---------------------------------------------------------------------------


def _use(columns: Sequence[_Column], file: str) -> str:
    if all(column.labels is not None for column in columns):
        name = columns[0].record.name
        parts = [
            "In Python:",
            f"```\nfrom rrstats import files\nestimates = files.estimate_file({file!r})\n"
            f"print(estimates[{name!r}])\n```",
            "In a terminal:",
            f"```\nrrstats estimate {shlex.quote(label(file))}\n```",
        ]
    else:
        parts = [
            "Some lists of answers are too long for the file, so you must give the mechanism: in "
            "Python as the argument mechanism of rrstats.files.estimate_file, in a terminal as "
            "options of rrstats estimate."
        ]
    formulas = [
        f"- \u201c{column.name}\u201d: true share = (share of reports - {other:.10g}) / "
        f"({truth:.10g} - {other:.10g})"
        for column in columns
        for truth, other in [column.alike or (0.0, 0.0)]
        if truth != other
    ]
    if formulas:
        parts += ["Without rrstats, the estimate of each answer is:", "\n".join(formulas)]
    return "\n\n".join(parts)


def statement(
    records: Iterable[ColumnRecord],
    *,
    rows: int | None = None,
    title: str | None = None,
    made: str | datetime.date | None = None,
    file: str | None = None,
    beside: str | None = None,
    wording: Mapping[Any, str] | None = None,
    contact: str | None = None,
) -> Text:
    """Write the page that accompanies a release.

    Parameters
    ----------
    records : iterable of ColumnRecord
        One for each privatized column, from `files.records` or `files.describe_file`.
    rows : int, optional
        The number of rows.
    title : str, optional
        The heading of the page.
    made : str or date, optional
        The date of the page; today by default.
    file : str, optional
        The name of the released file.
    beside : str, optional
        The name of the file that holds the document, if that is a separate file.
    wording : mapping of column name to str, optional
        The wording of the questions.
    contact : str, optional
        The person or organization responsible for the release.

    Returns
    -------
    Text
        The page: in Markdown where it is printed; ``save("page.html")`` writes one HTML file that
        loads no other resource.

    Raises
    ------
    ArgumentValueError
        There is no record, or a question belongs to no column.

    Examples
    --------
    >>> import rrstats as rr
    >>> from rrstats.mechanisms.records import ColumnRecord
    >>> record = ColumnRecord.of("smoker", rr.KRR(["yes", "no"], 0.75))
    >>> print(statement([record]).splitlines()[0])
    # How the answers in this file were protected
    """
    check_instance(made, "made", (type(None), str, datetime.date), "a date or a text")
    listed = list(records)
    columns = [_Column(record) for record in listed]
    if not columns:
        raise ArgumentValueError("records must describe at least one column, found none")
    wording = dict(wording or {})
    _check_questions(wording, columns)
    name = file or "released.parquet"
    kept = [column.name for column in columns if column.shows_who_answered]
    is_complete = all(column.labels is not None for column in columns)
    document = _document_text(listed)
    page = _PAGE.format(
        title=label(title) if title else "How the answers in this file were protected",
        warnings=_warnings(columns),
        facts=_facts(file, rows, made, contact),
        two_files=_two_files(beside),
        done=_done(columns, wording),
        promised=_promised(columns),
        row="\n\n".join(row_protection(listed)[: 2 if len(columns) > 1 else 1]),
        kept=f"\n- who did not answer, in {_listed(kept)}" if kept else "",
        use=_use(columns, name),
        where="in the file" if beside is None else f"beside it, in {label(beside)}",
        hint=_HINT_IF_LOST if is_complete else "",
        document=document,
    )
    blocks = list(_blocks(page))
    return Text(as_markdown(blocks), blocks)


def _document_text(records: list[ColumnRecord]) -> str:
    """The JSON document of the records, with one column a line."""
    metadata = write(records)
    columns = ",\n  ".join(map(json.dumps, metadata["columns"]))
    return f'{{"v": {metadata["v"]}, "columns": [\n  {columns}\n]}}'


def _check_questions(wording: Mapping[Any, str], columns: Sequence[_Column]) -> None:
    """Raise for a question of a column that was not privatized."""
    unused = set(wording) - {column.record.name for column in columns}
    if unused:
        raise ArgumentValueError(f"wording must name privatized columns, got {sorted(unused)}")


def describe(records: Iterable[ColumnRecord], *, beside: str | None = None) -> str:
    """Describe how columns were made, as plain text for a terminal.

    Parameters
    ----------
    records : iterable of ColumnRecord
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
    >>> from rrstats.mechanisms.records import ColumnRecord
    >>> record = ColumnRecord.of("smoker", rr.KRR(["yes", "no"], 0.75))
    >>> "A report is the true answer with probability 75%" in describe([record])
    True
    """
    listed = list(records)
    columns = [_Column(record) for record in listed]
    parts = [_warnings(columns), _done(columns, {}), _two_files(beside), *row_protection(listed)]
    return as_text(_blocks("\n\n".join(parts)))
