"""Privacy of one person: the meaning of an epsilon, and the sum of several releases.

`explain` says in plain words what an epsilon means, and `instructions` writes the page for using a
design by hand, with dice and cards.  `compose` adds up all reports of one person: columns, waves
and rows.  Its plain sum holds for the worst outcome, which may be very improbable.  A smaller
epsilon therefore holds with a ``delta``: for every set S of outcomes
P(S | true answers) <= e^epsilon P(S | others) + delta.  The smallest such delta is the sum of
(P - e^epsilon Q)_+ over all outcomes.  With probability delta a person may lose all protection:
state the plain sum first, and keep delta far below one over the number of people.

The privacy loss of a report is ln(P/Q).  Losses of independent reports add for any dependence
between the true answers, and their masses (P, Q) multiply.  With few sums of losses the curve is
computed in decimals rounded outward and is exact up to the last double.  With more sums, losses
are split between two points of a grid so that the sums of P and Q stay the same; this never
understates the loss, so the curve is an upper bound.
Sources: Evfimievski, Gehrke and Srikant (2003) for `explain`; Kairouz, Oh and Viswanath (2015);
Murtagh and Vadhan (2016); Zhu, Dong and Wang (2022) for dominating pairs; Doroshenko, Ghazi,
Kamath, Kumar and Manurangsi (2022) for the grid.
"""

from __future__ import annotations

import decimal
import math
import tomllib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache, cached_property, reduce
from itertools import accumulate, combinations, islice, pairwise
from math import lcm
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from rrstats._checks import (
    check_instance,
    check_number,
    check_numbers,
    check_probability,
    check_whole_number,
)
from rrstats._display import Block, as_fragment, as_html, as_text, chance, label
from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import A_MECHANISM, Mechanism, is_mechanism
from rrstats.mechanisms.channel import Channel, Entries, MultinomialChannel, SupportChannel
from rrstats.mechanisms.epsilon import (
    context,
    double_above,
    epsilon_from_prob,
    last_double,
    magnitude,
    prob_from_epsilon,
    round_up,
    rounded,
    written,
)
from rrstats.mechanisms.matrix_channel import StackedChannel
from rrstats.mechanisms.samples import sample_codes

__all__ = ["compose", "epsilon_from_prob", "explain", "instructions", "prob_from_epsilon"]

Outcome = tuple[Fraction, Fraction]
Point = tuple[Fraction, Fraction]

_DELTA = 1e-6
# Above every finite loss of so many reports.
_BEYOND = 1e12
_DELTAS = (1e-9, 1e-6, 1e-3)

_MOST_REPORTS = 100_000
# Up to so many reports of one matrix with uneven losses are composed with their own losses.
_MOST_UNEVEN = 1000

# Up to so many sums of losses are kept one by one.
_MOST_POINTS = 1 << 16

# Limits on the reports of pairs of true answers, all and different ones, that are compared.
_MOST_PAIRED, _MOST_DIFFERENT = 1_000_000, 20_000

_DIGITS = 70
# The approximate number of points of the grid of all reports together.
_GRID = 1 << 18

# Losses with less mass than this are left out of a grid and counted as infinite.
_NEGLIGIBLE = Decimal("1e-65")

# Eight roundings: the relative error of one step of a sum of positive doubles.
_ULPS = 2.0**-50

_NO_WORST_PAIR = (
    "no pair of its true answers is the worst everywhere; a distribution that bounds all pairs"
)
_BY_EPSILON = "binary randomized response of its epsilon (Kairouz, Oh and Viswanath 2015)"


# -- in plain words --------------------------------------------------------------------------


def posterior(prior: float, likelihood_ratio: float) -> float:
    """Return the probability of a true answer after a report, by Bayes' rule.

    Parameters
    ----------
    prior : float
        Probability of the true answer v before the report, in (0, 1).
    likelihood_ratio : float
        P(report | v) / P(report | not v), at least 0; may be infinite.

    Returns
    -------
    float
        The probability of v after the report.

    Examples
    --------
    >>> round(posterior(0.01, 3.0), 6)
    0.029412
    """
    before = check_probability(prior, "prior", "()")
    ratio = check_number(likelihood_ratio, "likelihood_ratio", 0.0, math.inf)
    return before * ratio / (before * ratio + 1 - before) if ratio < math.inf else 1.0


def explain(mechanism: Mechanism, prior: float = 0.05) -> str:
    """Explain what a mechanism's epsilon means for one person, in plain words.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism.
    prior : float, default 0.05
        The probability of a true answer of this person before the report is seen, in (0, 1).

    Returns
    -------
    str
        One paragraph.  Its numbers are computed exactly and never rounded towards more privacy.

    References
    ----------
    Evfimievski, Gehrke and Srikant (2003), sect. 2.

    Examples
    --------
    >>> import rrstats as rr
    >>> print(rr.privacy.explain(rr.KRR(["yes", "no"], 0.75), prior=0.01))
    Epsilon is 1.099 per report. A report changes the odds of any true answer by a factor of at \
most 3. A true answer that had probability 1% before the report has probability at most 3% \
afterwards, and at least 0.33%.
    """
    return "".join(_explained(mechanism, prior))


def _explained(mechanism: Mechanism, prior: float = 0.05) -> tuple[str, str]:
    """The number of epsilon, for a finite one above 0, and what it means for one person."""
    check_instance(mechanism, "mechanism", Mechanism, A_MECHANISM)
    # The decimal that was typed, not the double behind it: 5% is 1/20.
    typed = Decimal(repr(check_probability(prior, "prior", "()")))
    before, chance = Fraction(typed), f"{written(typed.scaleb(2))}%"
    factor = mechanism.channel.max_likelihood_ratio
    if not isinstance(factor, Fraction):
        return "", (
            "Epsilon is infinite: some report proves, or rules out, a true answer. "
            "This is no protection for the person who gives that report."
        )
    if factor == 1:
        return "", (
            "Epsilon is 0 per report: every true answer makes every report equally likely, so "
            f"a true answer that had probability {chance} before the report has the same "
            "probability afterwards. Nothing can be estimated from such reports."
        )
    highest = before * factor / (before * factor + 1 - before)
    lowest = before / (before + factor * (1 - before))
    return f"Epsilon is {round_up(Fraction(mechanism.epsilon))} per report. ", (
        f"A report changes the odds of any true answer by a factor of at most {_factor(factor)}. "
        f"A true answer that had probability {chance} before the report has probability "
        f"at most {_percent(highest, up=True)} afterwards, and at least "
        f"{_percent(lowest, up=False)}."
    )


def _factor(factor: Fraction) -> str:
    """A factor above 1, rounded up to three digits; near 1, to two digits of its excess over 1."""
    if factor >= 2:
        return round_up(factor, 3)
    return written(rounded(factor, min(6, 1 - magnitude(factor - 1)), up=True))


def _percent(share: Fraction, *, up: bool) -> str:
    """A proportion in percent, with two digits of itself or of its distance to 100%."""
    percent = share * 100
    places = 1 - magnitude(min(percent, 100 - percent))
    if percent > 50:
        places = min(places, 6)
    return f"{written(rounded(percent, places, up=up))}%"


# -- in the field ----------------------------------------------------------------------------

# So many cards people shuffle, and a table of so many numbers and cells people read.
_MOST_CARDS, _MOST_NUMBERS, _MOST_CELLS = 100, 1000, 48
# A double stands for the small fraction beside it: 0.7 for 7 of 10 cards.
_ROUNDING = Fraction(1, 2**50)
# From the true answer (its code, or whether it is the sensitive one) and the marks to the report's
# place, or the mark that is said, in designs without a table of what is said in surveys.toml.
_RULES: dict[str, Callable[..., Any]] = {
    "direct": lambda x: x,
    "forced_response": lambda x, drawn: x if drawn == "truth" else drawn,
    "kuk": lambda x, *m: (m[: len(m) // 2] if x else m[len(m) // 2 :]).count("red"),
    "christofides": lambda x, drawn: -int(drawn) if x else int(drawn) - 1,
}


class Draw(NamedTuple):
    """One draw in secret: its marks with their probabilities, the material, and the step."""

    outcomes: tuple[tuple[str, Fraction], ...]
    times: int
    prepare: str
    step: str


@dataclass(frozen=True, repr=False)
class Instructions:
    """Instructions for a design: text in a terminal, a page in a notebook and as HTML.

    Attributes
    ----------
    question : str
        The sensitive question.
    draws : tuple of Draw
        The respondent's draws, with exact probabilities; empty if a device draws the report.
    rule : callable, optional
        It returns the report.  Its arguments: whether the true answer is the sensitive one (its
        code, if the design treats all answers alike); the unrelated trait, if its prevalence is
        unknown; and the marks drawn.
    blocks : tuple
        The content of the page.
    """

    question: str
    draws: tuple[Draw, ...]
    rule: Callable[..., Any] | None
    blocks: tuple[Block, ...]

    def to_html(self) -> str:
        """Return one page to print on A4 or Letter; it loads nothing.

        Returns
        -------
        str
        """
        return as_html(self.blocks)

    def _repr_html_(self) -> str:
        smaller = {"title": "column", "heading": "column"}  # the notebook has headings of its own
        return as_fragment([(smaller.get(kind, kind), content) for kind, content in self.blocks])

    def __repr__(self) -> str:
        return as_text(self.blocks)


def instructions(
    mechanism: Mechanism, question: str, *, group: Hashable = None, unrelated: str | None = None
) -> Instructions:
    """Write the interviewer's and the respondent's instructions for a design.

    Parameters
    ----------
    mechanism : Mechanism
        A design of `rr.surveys`, or any other mechanism: small ones get a table of numbers to
        draw, others are left to a device.
    question : str
        The wording of the sensitive question.
    group : hashable, optional
        The sample for which the page is written, if the design has several.
    unrelated : str, optional
        The wording of the second question, in designs that have one.  By default a draw answers
        it, with exactly the design's probability; a birthday has only nearly that probability.

    Returns
    -------
    Instructions
        ``print`` it, display it in a notebook, or write ``to_html()`` to a file for the printer.

    Notes
    -----
    Coins, dice and at most 100 cards have exactly the probabilities of the design.  A double
    counts as the simple fraction next to it: 0.7 is 7 of 10 cards.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.warner(["no", "yes"], 2/3, yes="yes")
    >>> page = instructions(m, "Did you ever sit an exam for somebody else?")
    >>> page.draws[0].step
    'Roll a die where nobody else sees it: "A" for 1, 2, 3, 4 and "B" for 5, 6.'
    >>> page.rule(True, "A"), page.rule(True, "B")
    ('yes', 'no')
    """
    check_instance(mechanism, "mechanism", Mechanism, A_MECHANISM)
    check_instance(question, "question", str, "the wording of the question")
    sample = sample_codes(mechanism, None if group is None else [group], 1)
    mechanism = mechanism if sample is None else cast(Any, mechanism).parts[sample[0]]
    words = _words()["page"]
    by_hand = _by_hand(mechanism, unrelated) or _by_numbers(mechanism)
    draws, (steps, *tables), rule = by_hand or ([], [words["device"]], None)
    steps = [*(draw.step for draw in draws), *steps]
    kind = str if unrelated is not None and unrelated in "".join(steps) else type(None)
    check_instance(unrelated, "unrelated", kind, "left out, as this design has no second question")
    reports = getattr(mechanism.report_space, "categories", ())
    listed = f" ({', '.join(map(label, reports))})" if 0 < len(reports) < 12 else ""
    blocks: list[Block] = [
        ("title", question),
        *[("heading", "Prepare"), ("list", [draw.prepare for draw in draws])] * bool(draws),
        ("heading", "Read aloud"),
        *[("text", words["aloud"])] * bool(draws or rule is None),
        ("text", _explained(mechanism)[1]),  # the number of epsilon stands below, unspoken
        ("text", f'The question is: "{question}"'),
        ("heading", "The respondent, in secret"),
        ("steps", steps),
        *(("table", table) for table in tables),
        ("heading", "Write down"),
        ("text", words["record"].format(reports=listed)),
        ("code", repr(mechanism)),
    ]
    return Instructions(question, tuple(draws), rule, tuple(blocks))


_Way = tuple[list[Draw], list[Any], Callable[..., Any] | None]


@cache
def _words() -> dict[str, Any]:
    """The words of the designs, and of the page."""
    return tomllib.loads((Path(__file__).parent / "mechanisms/surveys.toml").read_text("utf-8"))


def _small(number: Any, most: int) -> Fraction:
    """The small fraction that a number is; 1 / (most + 1) where it is none."""
    small = (exact := Fraction(number)).limit_denominator(most)
    near = 0 < small < 1 and abs(small - exact) <= _ROUNDING  # nothing becomes impossible
    return small if near or small == exact else Fraction(1, most + 1)


def _by_hand(mechanism: Any, unrelated: str | None) -> _Way | None:
    """A survey design by its name; None for other mechanisms, and where no deck has its chances."""
    name = getattr(mechanism, "design", "")
    if (field := _words().get(name := _words().get(name, {}).get("same", name))) is None:
        return None
    asked, numbers, draws = mechanism.asked.categories, mechanism.parameters, list[Any]()
    reports, page = mechanism.report_space.categories, _words()["page"]
    said = asked if mechanism.answers is None else mechanism.answers.categories
    own = 0 if mechanism.yes is None else mechanism.asked.code(mechanism.yes)
    dictated = [f"say {label(one)}" for one in said]
    if "prob_forced_yes" in numbers:
        forced = numbers["prob_forced_no"], numbers["prob_forced_yes"]
        numbers["prob_forced"] = forced if own else forced[::-1]
    for called, parameter, marks in field["draws"]:
        given = numbers.get(parameter, Fraction(1, 2))
        if parameter == "prob_forced":
            marks, given = ["truth", *dictated], [1 - sum(map(Fraction, given)), *given]
        elif parameter == "prob_marks":
            marks = map(str, range(1, len(given) + 1))
        else:  # the own of each of two answers
            one = given[called.startswith("second")] if isinstance(given, tuple) else given
            given = [one, 1 - Fraction(one)]
        second = unrelated if called == "second answer" else None
        draws.append(_draw(called, dict(zip(marks, given, strict=True)), second, numbers))
    if None in draws:
        return None
    words = {"yes": asked[own], "no": asked[1 - own], "Y": said[own], "N": said[1 - own]}
    texts = {name: f'"{label(one)}"' for name, one in words.items()}
    texts |= {"truth": "say your true answer", "as": "", "turn": str(len(reports) + 1)}
    if said is not asked:
        own_words = [f'"{label(b)}" for "{label(a)}"' for b, a in zip(said, asked, strict=False)]
        counts = [f'"{label(b)}" for {a}' for a, b in enumerate(said, name == "christofides")]
        texts["truth"] += f", as {', '.join(own_words)}"
        texts["as"] = f", as {', '.join(counts)}"
    steps = [step.format(**texts) for step in field["steps"]]
    if field.get("trait"):
        steps.insert(0, page["second"].format(second=unrelated or page["trait"]))

    def report(*given: Any) -> Any:
        if rule := _RULES.get(name):
            place = rule(*given)
            return said[dictated.index(place)] if place in dictated else reports[place]
        truths, drawn = given[: -len(draws)], given[-len(draws) :]
        place = int("".join("01"[not one] for one in truths), 2)
        for line in map(str.split, field["says"]):
            if all(mark in ("*", one) for mark, one in zip(line, drawn, strict=False)):
                found = [said[own ^ (one == "N")] for one in line[len(drawn) + place]]
                return tuple(found) if len(found) > 1 else found[0]

    return draws, [steps], report


def _draw(name: str, chances: Mapping[str, Any], second: str | None, numbers: Any) -> Draw | None:
    """One draw of a design by a coin, a die or cards; None where they are too many."""
    page, outcomes = _words()["page"], [(mark, Fraction(p)) for mark, p in chances.items() if p]
    if second is not None:
        known = page["known"].format(chance=chance(float(chances["yes"])))
        return Draw(tuple(outcomes), 1, known, page["second"].format(second=second))
    outcomes = [(mark, _small(p, _MOST_CARDS)) for mark, p in outcomes]
    size = lcm(*(p.denominator for _, p in outcomes))
    if size > _MOST_CARDS or sum(p for _, p in outcomes) != 1:
        return None
    size, times = {1: 10, 3: 6}.get(size, size), numbers.get("draws", 1)
    place, start = ("", "") if name == "draw" else (f" for the {name}", f"{name}: ")
    if str(size) not in page["coins"] or name.endswith(("stack", "box")):
        act, end = "draw a card" if times == 1 else f"{times} times, draw a card", page["back"]
        counts = ", ".join(f'{p * size} "{mark}"' for mark, p in outcomes)
        thing = f"{size} cards{place}: {counts}."
    else:
        act, *faces = page["coins"][str(size)]
        shown, thing = iter(faces), f"A {act.split()[2]}{place}."
        runs = [(mark, ", ".join(islice(shown, int(p * size)))) for mark, p in outcomes]
        means = " and ".join(f'"{mark}" for {run}' for mark, run in runs if run != mark)
        end = means and f": {means}"
    step = page["draw"].format(start=start, act=act, end=end)
    return Draw(tuple(outcomes), times, thing, f"{step[0].upper()}{step[1:]}")


def _by_numbers(mechanism: Any) -> _Way | None:
    """A table of the numbers that make each report, for each true answer; None for large ones."""
    channel, truths, page = mechanism.channel, mechanism.domain.categories, _words()["page"]
    if not channel.is_multinomial or channel.m * len(truths) > _MOST_CELLS:
        return None
    columns = [[_small(p, _MOST_NUMBERS) for p in c] for c in zip(*channel.entries, strict=True)]
    size = lcm(*(p.denominator for column in columns for p in column))
    if size > _MOST_NUMBERS or any(sum(column) != 1 for column in columns):
        return None
    reports = mechanism.report_space.categories
    ends = [[int(end * size) for end in accumulate(column)] for column in columns]
    runs = [[range(low + 1, high + 1) for low, high in pairwise([0, *column])] for column in ends]
    ends_of = [[" to ".join(map(str, r[:: len(r) - 1 or 1])) or "-" for r in one] for one in runs]
    rows = [list(row) for row in zip(map(label, reports), *ends_of, strict=True)]
    table = (["Say", *(f"if it is {label(one)}" for one in truths)], rows)
    outcomes = tuple((str(place + 1), Fraction(1, size)) for place in range(size))
    draw = Draw(outcomes, 1, *(page[part].format(size=size) for part in ("deck", "numbers")))
    return [draw], [[page["find"]], table], lambda x, n: reports[bisect_left(ends[x], int(n))]


# -- all reports of one person ---------------------------------------------------------------


@dataclass(frozen=True)
class Release:
    """One kind of report of a person.

    Parameters
    ----------
    mechanism : Mechanism
        Makes the reports.
    times : int, default 1
        Number of such reports in one row of data.
    name : hashable, optional
        The column's name.
    """

    mechanism: Mechanism
    times: int = 1
    name: Hashable = None


@dataclass(frozen=True, repr=False)
class Composition:
    """Privacy of all reports of one person together; `compose` makes it.

    Parameters
    ----------
    releases : tuple of Release
        Each mechanism with the number of its reports in one row of data.
    max_rows_per_person : int, default 1
        The declared largest number of rows of one person.
    """

    releases: tuple[Release, ...]
    max_rows_per_person: int = 1

    @property
    def reports(self) -> int:
        """The largest number of reports of one person."""
        return sum(map(self._times, self.releases))

    @cached_property
    def epsilon(self) -> float:
        """The plain sum of the epsilons of all reports, rounded up; infinite if one of them is."""
        return self._spent(self.releases)

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta with which an epsilon holds.

        Parameters
        ----------
        epsilon : float
            Nats, at least 0.  0 gives the total variation distance between the outcomes of two
            people.

        Returns
        -------
        float
            Rounded up; if `is_exact`, at most one double above the exact number.
        """
        value = check_number(epsilon, "epsilon", 0.0, math.inf)
        return 0.0 if value >= self.epsilon < math.inf else self._curve.delta(value)

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest epsilon that holds with a delta.

        Parameters
        ----------
        delta : float
            In [0, 1]; 0 gives the plain sum.  It should be far below one over the number of
            people.

        Returns
        -------
        float
            Rounded up; infinite if reports prove a true answer with probability above delta.
        """
        value = check_number(delta, "delta", 0.0, 1.0)
        if not value:
            return self.epsilon
        if self.delta(_BEYOND) > value:
            return math.inf
        return last_double(min(self.epsilon, _BEYOND), 0.0, lambda one: self.delta(one) <= value)

    @cached_property
    def _losses(self) -> list[PrivacyLoss]:
        return [privacy_loss(one.mechanism.channel, self._times(one)) for one in self.releases]

    @property
    def is_exact(self) -> bool:
        """True if the curve is exact; otherwise it is an upper bound, and `bounds` says why."""
        return not self.bounds

    @property
    def bounds(self) -> tuple[str, ...]:
        """The reasons why the curve is an upper bound, one sentence each; empty if it is exact."""
        found = []
        for place, (release, loss) in enumerate(zip(self.releases, self._losses, strict=True)):
            name = f"release number {place + 1}" if release.name is None else None
            if loss.bound is not None:
                found.append(f"{name or f'column {release.name!r}'}: {loss.bound} replaces it")
        return (*found, *self._curve.bounds)

    def to_frame(self, deltas: Iterable[float] = _DELTAS) -> pd.DataFrame:
        """Return the curve as a table.

        Parameters
        ----------
        deltas : iterable of float, default (1e-9, 1e-6, 1e-3)
            The deltas of the rows after the first.

        Returns
        -------
        DataFrame
            Columns delta, epsilon, and share (epsilon divided by the plain sum).  The first row
            has delta 0 and the plain sum.

        Examples
        --------
        >>> import rrstats as rr
        >>> ten = compose([(rr.KRR(range(100), epsilon=0.5), 10)])
        >>> ten.to_frame([0.001]).round(3)
           delta  epsilon  share
        0  0.000    5.000  1.000
        1  0.001    0.915  0.183
        """
        chosen = [0.0, *(delta for delta in check_numbers(deltas, "deltas").tolist() if delta)]
        epsilons = [self.epsilon_at(delta) for delta in chosen]
        whole = self.epsilon
        shares = [one / whole if whole and one < math.inf else math.nan for one in epsilons]
        return pd.DataFrame({"delta": chosen, "epsilon": epsilons, "share": shares})

    def by_release(self) -> pd.DataFrame:
        """Return each release's contribution to the plain sum.

        Returns
        -------
        DataFrame
            Columns name, epsilon_per_report, reports and epsilon.
        """
        rows = [
            (one.name, one.mechanism.epsilon, self._times(one), self._spent([one]))
            for one in self.releases
        ]
        return pd.DataFrame(rows, columns=["name", "epsilon_per_report", "reports", "epsilon"])

    def _times(self, release: Release) -> int:
        return release.times * self.max_rows_per_person

    def _spent(self, releases: Iterable[Release]) -> float:
        """The sum of the epsilons of some releases, rounded up."""
        parts = [(one.mechanism.epsilon, self._times(one)) for one in releases]
        if math.inf in dict(parts):
            return math.inf
        return double_above(sum((Fraction(one) * times for one, times in parts), Fraction(0)))

    @cached_property
    def _curve(self) -> _Curve:
        return _privacy_curve(zip(self._losses, map(self._times, self.releases), strict=True))

    def __repr__(self) -> str:
        reports = f"{self.reports} report{'s' if self.reports > 1 else ''} of one person"
        whole = f"epsilon {round_up(self.epsilon)} in all"
        if self.epsilon == 0:
            return f"<{reports}: {whole}>"
        found = f"{'' if self.is_exact else 'at most '}{round_up(self.epsilon_at(_DELTA))}"
        return f"<{reports}: {whole}, or {found} with delta {_DELTA:g}>"


def compose(mechanisms: Any, *, max_rows_per_person: int = 1) -> Composition:
    """Compute the total privacy loss of all reports of one person.

    Parameters
    ----------
    mechanisms : list of Mechanism, or mapping from column to Mechanism
        Every report of one row.  Use ``(mechanism, times)`` for several reports, such as waves, or
        repeat the mechanism.
    max_rows_per_person : int, default 1
        The largest number of rows of any one person, as the study's design declares it and never
        counted in the data; it multiplies every report.

    Returns
    -------
    Composition
        ``epsilon`` is the plain sum, ``delta(epsilon)`` and ``epsilon_at(delta)`` are the curve,
        ``to_frame()`` a table.

    Notes
    -----
    Count every privatized column, every wave, every row of one person, and every release of the
    same source.  Columns add in full even if they are strongly correlated: for a reader who knows
    that two columns always agree, both are reports of one answer.  Missing answers and answers
    outside the categories are covered, because their reports are mixtures of the categories'.
    With missing="keep" the data publish who did not answer, and no epsilon covers that.

    A wave that only randomizes kept reports again costs nothing: count the mechanism of the first
    round once for every distinct true answer.  Keyed reports (``key=``, ``id=``) repeat for the
    same value: count every distinct value that a person ever had once.  That covers the values,
    but not whether two of them differ.  Reports must be drawn independently.

    For k-RR the loss of a report is epsilon, 0, -epsilon with probabilities p, (k-2) q, q, and
    losses add.  Many different mechanisms are put on a grid; mechanisms without one worst pair of
    true answers are bounded.  `Composition.bounds` reports both.

    References
    ----------
    Kairouz, Oh and Viswanath (2015).

    Examples
    --------
    >>> import rrstats as rr
    >>> ten = rr.privacy.compose([(rr.KRR(range(10), epsilon=0.5), 10)])
    >>> round(ten.epsilon, 6), round(ten.epsilon_at(1e-6), 4)
    (5.0, 3.8976)
    >>> rr.privacy.compose({"smoker": rr.KRR(["yes", "no"], 0.75)}, max_rows_per_person=4)
    <4 reports of one person: epsilon 4.395 in all, or 4.395 with delta 1e-06>
    """
    rows = _check_max_rows(max_rows_per_person)
    listed = [mechanisms] if is_mechanism(mechanisms) else mechanisms
    rule = "a list of mechanisms, or a mapping from column to mechanism"
    check_instance(listed, "mechanisms", Iterable, rule)
    named = listed.items() if isinstance(listed, Mapping) else ((None, one) for one in listed)
    found = Composition(tuple(_release(name, given) for name, given in named), rows)
    if not 0 < found.reports <= _MOST_REPORTS:
        raise ArgumentValueError(
            f"mechanisms must be at least one and at most {_MOST_REPORTS:,} reports of one person, "
            f"found {found.reports:,}; data without records have an unknown epsilon, not 0"
        )
    return found


def _check_max_rows(number: object) -> int:
    hint = "it is declared by the design, never counted in the data"
    return check_whole_number(number, "max_rows_per_person", 1, hint=hint)


def _release(name: Hashable, given: Any) -> Release:
    """One release, from a mechanism or a mechanism with its number of reports."""
    mechanism, times = given if isinstance(given, tuple) and len(given) == 2 else (given, 1)
    rule = f"mechanisms, or (mechanism, times), {A_MECHANISM}"
    check_instance(mechanism, "mechanisms", Mechanism, rule)
    return Release(mechanism, check_whole_number(times, "times", 1), name)


def check_rows_per_person(person: Any, max_rows_per_person: int) -> None:
    """Raise if a person has more rows than declared.

    Parameters
    ----------
    person : array-like
        A label for the person of each row; none may be missing.
    max_rows_per_person : int
        The declared largest number, at least 1.

    Raises
    ------
    ArgumentValueError
        For more rows, and for a row without a label.  A person's number of rows is private, and so
        is the largest one: no message quotes a label or a count.  The error itself reveals that
        the limit is exceeded, so this check is for the data curator only.

    Examples
    --------
    >>> check_rows_per_person(["a", "b", "a"], 2)
    """
    most = _check_max_rows(max_rows_per_person)
    codes = pd.factorize(person if isinstance(person, pd.Series) else pd.Series(person))[0]
    if (codes < 0).any():
        raise ArgumentValueError(
            "person must identify a person in every row, found missing labels: rows of an unknown "
            "person cannot be counted"
        )
    if len(codes) and int(np.bincount(codes).max()) > most:
        raise ArgumentValueError(
            f"a person has more rows than max_rows_per_person={most} declares; declare the largest "
            "number that the study's design allows, or remove rows before privatizing"
        )


# -- the privacy loss of one report ----------------------------------------------------------


@dataclass(frozen=True)
class PrivacyLoss:
    """The masses (P, Q) of each privacy loss of one report, the largest loss first.

    One distribution bounds all pairs of true answers if its delta is nowhere below theirs.  The
    smallest such distribution has the concave hull of the pairs' curves (Q(S), P(S)), S any set of
    reports.  It is exact if one pair has that curve; ``bound`` is then None, otherwise the name of
    the distribution.  The report of an answer that was replaced by a uniform one is a mixture of
    the true answers' reports, and the delta of a mixture is at most the mixture of the deltas.
    """

    outcomes: tuple[Outcome, ...]
    bound: str | None = None

    @classmethod
    def three_points(cls, more: Fraction, less: Fraction) -> PrivacyLoss:
        """Reports with these probabilities under two true answers; all others are equal."""
        more, less = max(more, less), min(more, less)
        even = 1 - more - less
        if more == less:
            return cls(((Fraction(1), Fraction(1)),))
        middle = ((even, even),) if even else ()
        return cls(((more, less), *middle, (less, more)))

    @classmethod
    def of_ratio(cls, ratio: Fraction | float) -> PrivacyLoss:
        """Binary randomized response, which bounds every distribution with at most this ratio."""
        truth = ratio / (1 + ratio) if isinstance(ratio, Fraction) else Fraction(1)
        return cls(cls.three_points(truth, 1 - truth).outcomes, _BY_EPSILON)

    @property
    def finite(self) -> list[Outcome]:
        """The outcomes of finite loss; outcomes with P = 0 cost nothing."""
        return [(p, q) for p, q in self.outcomes if p and q]

    @property
    def is_even(self) -> bool:
        """True if the losses are equally spaced, so that their sums coincide."""
        if len(self.finite) != 3:
            return len(self.finite) < 3
        (p0, q0), (p1, q1), (p2, q2) = self.finite
        return p0 * p2 * q1 * q1 == q0 * q2 * p1 * p1


def privacy_loss(channel: Channel, times: int = 1) -> PrivacyLoss:
    """The masses of the privacy losses of one report, for the worst pair of true answers.

    In a SupportChannel all pairs are alike: only the support of the two categories matters.
    For a matrix it is the smallest distribution above all pairs of classes, or with too many pairs
    that of the worst ratio.  In a StackedChannel the sample of each person is public.
    times : the number of such reports; for too many with uneven losses the worst ratio is used.
    """
    ratio = channel.max_likelihood_ratio
    if isinstance(channel, SupportChannel):
        own, other = channel.prob_truth, channel.prob_other
        return PrivacyLoss.three_points(own - channel.pair_truth, other - channel.pair_truth)
    if isinstance(channel, StackedChannel):
        parts = [privacy_loss(part) for part in channel.parts]
        found = worst_loss([loss.outcomes for loss in parts])
        bounds = filter(None, (found.bound, *(loss.bound for loss in parts)))
        found = PrivacyLoss(found.outcomes, next(bounds, None))
    else:
        pairs = _different_pairs(cast(MultinomialChannel, channel).entries)
        found = worst_loss(pairs) if pairs else PrivacyLoss.of_ratio(ratio)
    return found if found.is_even or times <= _MOST_UNEVEN else PrivacyLoss.of_ratio(ratio)


def _different_pairs(entries: Entries) -> list[tuple[Outcome, ...]]:
    """The pairs of columns that differ up to the order of the rows; empty if too many."""
    if len(entries) * len(entries[0]) ** 2 > _MOST_PAIRED:
        return []
    pairs = (tuple(zip(a, b, strict=True)) for a, b in combinations(zip(*entries, strict=True), 2))
    different = {frozenset(Counter(pair).items()): pair for pair in pairs}
    return list(different.values()) if len(entries) * len(different) <= _MOST_DIFFERENT else []


def worst_loss(pairs: Sequence[Sequence[Outcome]]) -> PrivacyLoss:
    """The smallest distribution above those of pairs of true answers, in both directions."""
    curves = [_curve(pair) for pair in pairs]
    points = {point for curve in curves for point in curve}
    hull = _hull(points | {(1 - p, 1 - q) for q, p in points})
    alone = any(set(hull) <= set(curve) for curve in curves)
    outcomes = tuple((p - p0, q - q0) for (q0, p0), (q, p) in pairwise(hull))
    return PrivacyLoss(outcomes, None if alone else _NO_WORST_PAIR)


def _curve(outcomes: Iterable[Outcome]) -> list[Point]:
    """The points (Q(S), P(S)) where S takes the reports of largest loss first."""
    told = [(p, q) for p, q in outcomes if p or q]
    # Without division: P/Q may be infinite, P/(P+Q) grows with it.
    told.sort(key=lambda outcome: outcome[0] / (outcome[0] + outcome[1]), reverse=True)
    sums = [accumulate(side, initial=Fraction(0)) for side in zip(*told, strict=True)]
    return list(zip(sums[1], sums[0], strict=True))


def _hull(points: Iterable[Point]) -> list[Point]:
    """The corners of the upper hull, from (0, 0) to (1, 1)."""
    corners: list[Point] = []
    for x2, y2 in sorted(points):
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if (x1 - x0) * (y2 - y0) < (y1 - y0) * (x2 - x0):
                break
            corners.pop()
        corners.append((x2, y2))
    return corners


# -- the losses of many reports --------------------------------------------------------------


class _Masses(NamedTuple):
    """Masses of finite losses, P rounded up and Q rounded down, and P of the infinite losses."""

    p: list[Decimal]
    q: list[Decimal]
    infinite: Decimal


class _Curve(NamedTuple):
    """Delta at an epsilon; for an upper bound also the reasons."""

    delta: Callable[[float], float]
    bounds: tuple[str, ...] = ()


def _privacy_curve(losses: Iterable[tuple[PrivacyLoss, int]]) -> _Curve:
    """The curve of independent reports: each loss with the number of its reports."""
    grouped: Counter[tuple[Outcome, ...]] = Counter()
    for loss, times in losses:
        grouped[loss.outcomes] += times
    pieces: list[_Masses] = []
    for outcomes, times in grouped.items():
        one = PrivacyLoss(outcomes)
        pieces += [_power(one, times)] if one.is_even else [_power(one, 1)] * times
    if sum(math.log2(len(piece.p) or 1) for piece in pieces) <= math.log2(_MOST_POINTS or 0.5):
        return _exact_curve(pieces)
    return _grid_curve(pieces)


def _power(loss: PrivacyLoss, times: int) -> _Masses:
    """The masses of equal reports: one with any losses, or many with equally spaced ones."""
    sides = [[outcome[side] for outcome in loss.finite] for side in (0, 1)]
    infinite = sum((p for p, q in loss.outcomes if not q), Fraction(0))
    with decimal.localcontext(context(_DIGITS, ROUND_FLOOR)):
        q, finite = _side_power(sides[1], times), _raised(1 - infinite, times)
    with decimal.localcontext(context(_DIGITS, ROUND_CEILING)):
        return _Masses(_side_power(sides[0], times), q, 1 - finite)


def _decimal(number: Fraction) -> Decimal:
    """A fraction, rounded as the context says."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def _raised(number: Fraction, times: int) -> Decimal:
    """A power by squaring, each step rounded as the context says."""
    result, base = Decimal(1), _decimal(number)
    while times:
        if times & 1:
            result *= base
        base, times = base * base, times >> 1
    return result


def _side_power(masses: Sequence[Fraction], times: int) -> list[Decimal]:
    """The coefficients of (a + b z + c z^2)^n, or of fewer terms, from both ends."""
    if times == 1:
        return [_decimal(mass) for mass in masses]
    if len(masses) < 2:
        return [_raised(mass, times) for mass in masses]
    if len(masses) == 2:
        return _half_power(masses, times)
    return _half_power(masses, times) + _half_power(masses[::-1], times)[-2::-1]


def _half_power(masses: Sequence[Fraction], times: int) -> list[Decimal]:
    """The first n + 1 coefficients: k a A_k = (n-k+1) b A_(k-1) + (2n-k+2) c A_(k-2) (Euler)."""
    a, b, c = (*masses, Fraction(0))[:3]
    by_one, by_two = _decimal(b / a), _decimal(c / a)
    found = [Decimal(0), _raised(a, times)]
    for k in range(1, times + 1):
        one = (times - k + 1) * by_one * found[-1]
        two = (2 * times - k + 2) * by_two * found[-2]
        found.append((one + two) / k)
    return found[1:]


def _product(one: _Masses, other: _Masses) -> _Masses:
    """The masses of two independent losses together."""
    with decimal.localcontext(context(_DIGITS, ROUND_FLOOR)):
        q = [mass * times for mass in one.q for times in other.q]
    with decimal.localcontext(context(_DIGITS, ROUND_CEILING)):
        p = [mass * times for mass in one.p for times in other.p]
        return _Masses(p, q, one.infinite + other.infinite * (1 - one.infinite))


def _exact_curve(pieces: Sequence[_Masses]) -> _Curve:
    """The curve of losses that are kept one by one: exact up to the last double."""
    p, q, infinite = reduce(_product, pieces)
    with decimal.localcontext(context(_DIGITS, ROUND_CEILING)):
        pairs = sorted(zip(p, q, strict=True), key=lambda pair: pair[1] / pair[0])
        above = list(accumulate((high for high, _ in pairs), initial=infinite))
    with decimal.localcontext(context(_DIGITS, ROUND_FLOOR)):
        below = list(accumulate((low for _, low in pairs), initial=Decimal(0)))

    def delta(epsilon: float) -> float:
        """The smallest double that is not below the sum of (P - e^epsilon Q)_+."""
        with decimal.localcontext(context(_DIGITS, ROUND_CEILING)):
            # The exponential is rounded to nearest, and exact at 0 alone.
            grown = -(Decimal(epsilon).exp().next_minus() if epsilon else Decimal(1))
            last = bisect_left(pairs, True, key=lambda pair: pair[1].fma(grown, pair[0]) <= 0)
            total = below[last].fma(grown, above[last])
        return min(double_above(total), 1.0)

    return _Curve(delta)


def _grid_curve(pieces: Sequence[_Masses]) -> _Curve:
    """The curve of losses on a grid that is fine enough for all pieces: an upper bound.

    All terms are positive, so a sum of doubles is off by so many ulps, and is raised by more
    (taking NumPy's ``expm1`` and ``exp`` to be within four ulps).
    """
    infinite, parts = Decimal(0), []
    for piece in pieces:
        losses, masses, lost = _finite_losses(piece)
        parts.append((losses, masses))
        with decimal.localcontext(context(_DIGITS, ROUND_CEILING)):
            infinite += lost * (1 - infinite)
    proof = double_above(infinite)
    if not all(len(losses) for losses, _ in parts):  # some report always proves the truth
        return _Curve(lambda epsilon: proof)
    width = sum(float(np.ptp(losses)) for losses, _ in parts)
    largest = sum(float(np.abs(losses).max()) for losses, _ in parts)
    # A power of two, and not so fine that the number of a point is no 64-bit integer.
    step = 2.0 ** math.ceil(math.log2(max(width, largest / _GRID) / _GRID))
    mass, start, steps = np.ones(1), 0, 0
    for losses, masses in parts:
        first, split = _split(losses, masses, step)
        mass, start = _convolved(mass, split), start + first
        steps += int(np.count_nonzero(split)) + 8
    # The total that underflowed is less than 1e-300.
    mass = mass * (1 + (steps + len(mass)) * _ULPS) + 1e-300
    # Exact, as the step is a power of two.
    places = (np.arange(len(mass)) + start) * step

    def delta(epsilon: float) -> float:
        """A double not below the sum of P (1 - e^(epsilon - loss))_+."""
        first = int(np.searchsorted(places, epsilon, side="right"))
        told = -np.expm1(epsilon - places[first:])
        total = float(np.dot(mass[first:], told)) * (1 + (len(told) + 8) * _ULPS)
        if total:
            total = math.nextafter(total + proof, math.inf)
        return min(total or proof, 1.0)

    loose = (
        "so many different losses are put on a grid, which adds at most "
        f"{round_up(step * len(pieces), 2)} to epsilon at a given delta, usually far less"
    )
    return _Curve(delta, (loose,))


def _finite_losses(piece: _Masses) -> tuple[Floats, Floats, Decimal]:
    """Each loss, its P, and P of the infinite losses, all rounded up."""
    with decimal.localcontext(context(_DIGITS, ROUND_CEILING)):
        kept = [(p / q, p) for p, q in zip(piece.p, piece.q, strict=True) if p > _NEGLIGIBLE]
        lost = sum((p for p in piece.p if p <= _NEGLIGIBLE), piece.infinite)
        # The logarithm is rounded to nearest.
        losses = [double_above(ratio.ln().next_plus()) for ratio, _ in kept]
    return np.array(losses), np.array([double_above(p) for _, p in kept]), lost


def _split(losses: Floats, p: Floats, step: float) -> tuple[int, Floats]:
    """The first point of the grid and P on all points; the sums of P and Q stay the same.

    A loss l with P between the points a and b = a + h has P (1 - e^(a-l)) / (1 - e^-h) at b.
    Differences to points are exact, as the step is a power of two.
    """
    places = np.floor(losses / step).astype(np.int64)
    above = losses - places * step
    first, whole = int(places.min()), math.expm1(-step)
    mass = np.zeros(int(places.max()) - first + 2)
    np.add.at(mass, places - first + 1, p * np.expm1(-above) / whole)
    np.add.at(mass, places - first, p * np.exp(-above) * np.expm1(above - step) / whole)
    return first, mass


def _convolved(mass: Floats, other: Floats) -> Floats:
    """The convolution, in one step for each nonzero point of the sparser argument."""
    if np.count_nonzero(other) > np.count_nonzero(mass):
        mass, other = other, mass
    found = np.zeros(len(mass) + len(other) - 1)
    for place in np.flatnonzero(other):
        found[place : place + len(mass)] += other[place] * mass
    return found


def __dir__() -> list[str]:
    return __all__
