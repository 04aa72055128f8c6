"""The laws of survey designs: the matrix of each, from the few numbers that describe it.

All numbers are exact.  Most designs ask for a yes or a no; then P(report yes) = c + d * (true
share of yes) with c = P(report yes | no) and d = P(report yes | yes) - c.  Others report a
number of cards or a pair of answers, and some tell finer classes apart than they estimate: who
has the trait of the unrelated question, who cheats, who does not pay attention.
What a respondent does is told in `surveys`, where each design has a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats.data.categories import Domain
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.exact_numbers import Number, listed, numbers, probability, whole_sum

__all__ = ["DESIGNS", "Asked", "Design", "Law"]

_MOST_DRAWS = 100
_HALF = Fraction(1, 2)
_TRAIT = (True, False)


class Asked(NamedTuple):
    """What a law is told besides its numbers.

    categories : the categories that were asked for.  sensitive : for each, whether it is the
    yes.  answers : the labels that the user wants for reports, or None.
    """

    categories: tuple[Hashable, ...]
    sensitive: tuple[bool, ...]
    answers: tuple[Hashable, ...] | None

    def labels(self, usual: Sequence[Hashable], order: str) -> tuple[Hashable, ...]:
        """The labels of the reports: the user's, or the usual ones."""
        if self.answers is None:
            return tuple(usual)
        if len(self.answers) != len(usual):
            raise ArgumentValueError(
                f"reports must be {len(usual)} labels, {order}, found {len(self.answers)}"
            )
        return self.answers

    @property
    def single(self) -> tuple[Hashable, ...]:
        """The labels of one answer."""
        return self.labels(self.categories, "in the order of the categories")


class Law(NamedTuple):
    """A design's matrix, and what its rows and columns are.

    classes : the true answers; where they are finer than the categories, ``shows`` has for each
    the code of the category.  inverse : the design's own left inverse, if it has one.
    """

    entries: Sequence[Sequence[Fraction]]
    reports: Sequence[Hashable]
    classes: Sequence[Hashable]
    shows: tuple[int, ...] | None = None
    inverse: Sequence[Sequence[Fraction]] | None = None


class Design(NamedTuple):
    """A law, how each of its numbers is read, and whether one category is the sensitive one."""

    law: Callable[..., Law]
    parameters: Mapping[str, Callable[[Any, str, Asked], Any]]
    has_yes: bool = True


def _said(yes: bool, chance: Fraction) -> Fraction:
    return chance if yes else 1 - chance


def _score(asked: Asked, yes: Sequence[Fraction]) -> list[list[Fraction]]:
    """The left inverse that takes these scores of the reports for the yes."""
    return [[_said(sensitive, x) for x in yes] for sensitive in asked.sensitive]


# -- one yes or no ------------------------------------------------------------------------------


def _one_answer(asked: Asked, says_yes: Sequence[Fraction], classes: Sequence[Hashable]) -> Law:
    """A yes or no of classes of truth, each with its P(report yes)."""
    entries = [[_said(report, p) for p in says_yes] for report in asked.sensitive]
    return Law(entries, asked.single, classes)


def _yes_or_no(rates: Callable[..., tuple[Fraction | int, Fraction]]) -> Callable[..., Law]:
    """The law of a design from its P(report yes | yes) and P(report yes | no)."""

    def law(asked: Asked, *given: Fraction) -> Law:
        if_yes, if_no = map(Fraction, rates(*given))
        says_yes = [if_yes if sensitive else if_no for sensitive in asked.sensitive]
        return _one_answer(asked, says_yes, asked.categories)

    return law


def _unrelated(p: Fraction, prevalence: Fraction) -> tuple[Fraction, Fraction]:
    return p + (1 - p) * prevalence, (1 - p) * prevalence


def _truth_or(t: Fraction, otherwise: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    """The truth with probability ``t``, else what another design says."""
    return t + (1 - t) * otherwise[0], (1 - t) * otherwise[1]


# -- other reports ------------------------------------------------------------------------------


def _direct(asked: Asked) -> Law:
    return _forced(asked, Fraction(1), [Fraction(0)] * len(asked.categories))


def _forced(asked: Asked, truth: Fraction, forced: Sequence[Fraction]) -> Law:
    total = whole_sum([truth, *forced], "prob_truth and prob_forced together")
    every = range(len(asked.categories))
    entries = [[forced[i] / total] * len(every) for i in every]
    for i in every:
        entries[i][i] += truth / total
    return Law(entries, asked.single, asked.categories)


def _kuk(asked: Asked, if_yes: Fraction, if_no: Fraction, draws: Fraction) -> Law:
    cards = int(draws)
    counts = range(cards + 1)
    red = [if_yes if sensitive else if_no for sensitive in asked.sensitive]
    entries = [[comb(cards, c) * p**c * (1 - p) ** (cards - c) for p in red] for c in counts]
    gap = if_yes - if_no
    inverse = _score(asked, [(Fraction(c, cards) - if_no) / gap for c in counts]) if gap else None
    reports = asked.labels(counts, "for 0, 1, ... red cards")
    return Law(entries, reports, asked.categories, inverse=inverse)


def _christofides(asked: Asked, marks: Sequence[Fraction]) -> Law:
    total = whole_sum(marks, "prob_marks")
    deck = [p / total for p in marks]
    numbers = range(1, len(deck) + 1)
    turned = deck[::-1]
    entries = [
        [(turned if sensitive else deck)[mark - 1] for sensitive in asked.sensitive]
        for mark in numbers
    ]
    mean = sum((mark * p for mark, p in zip(numbers, deck, strict=True)), Fraction(0))
    gap = len(deck) + 1 - 2 * mean
    inverse = _score(asked, [(mark - mean) / gap for mark in numbers]) if gap else None
    reports = asked.labels(numbers, "for the marks 1, 2, ...")
    return Law(entries, reports, asked.categories, inverse=inverse)


# -- two answers of one person ------------------------------------------------------------------


def _pairs(asked: Asked) -> tuple[list[tuple[bool, ...]], list[Hashable]]:
    """Two answers: whether each is a yes, and their labels."""
    answers = product(asked.sensitive, repeat=2)
    return list(answers), list(product(asked.single, repeat=2))


def _with_trait(asked: Asked) -> tuple[list[tuple[bool, bool]], list[Hashable]]:
    """Each category with and without the unrelated trait, and the labels of these classes."""
    return list(product(asked.sensitive, _TRAIT)), list(product(asked.categories, _TRAIT))


def _twice(
    asked: Asked,
    prob_sensitive: Sequence[Fraction],
    says_yes: Callable[[bool, bool, Fraction], Fraction],
) -> Law:
    """Two independent answers, each with its own share of cards with the sensitive question.

    The score ((1 - p2) I - (1 - p1) J) / (p1 - p2) is that of Chaudhuri (2011): in it the
    unrelated trait cancels.
    """
    first, second = prob_sensitive
    reports, report_labels = _pairs(asked)
    classes, class_labels = _with_trait(asked)
    entries = [
        [_said(i, says_yes(*c, first)) * _said(j, says_yes(*c, second)) for c in classes]
        for i, j in reports
    ]
    inverse = None
    if first != second:
        yes = [((1 - second) * i - (1 - first) * j) / (first - second) for i, j in reports]
        inverse = _score(asked, yes)
    return Law(entries, report_labels, class_labels, (0, 0, 1, 1), inverse)


def _two_answers(asked: Asked, prob_sensitive: Sequence[Fraction], t: Fraction) -> Law:
    return _twice(
        asked,
        prob_sensitive,
        lambda sensitive, trait, p: t * sensitive + (1 - t) * (p * sensitive + (1 - p) * trait),
    )


def _two_answers_of_no(asked: Asked, prob_sensitive: Sequence[Fraction]) -> Law:
    return _twice(
        asked,
        prob_sensitive,
        lambda sensitive, trait, p: Fraction(1) if sensitive else (1 - p) * trait,
    )


def _anchored(asked: Asked, p: Fraction, anchor: Fraction) -> Law:
    reports, report_labels = _pairs(asked)
    alike = [_said(sensitive, p) for sensitive in asked.sensitive]
    entries = [
        [*(_said(i, chance) * _said(j, 1 - anchor) for chance in alike), Fraction(1, 4)]
        for i, j in reports
    ]
    inverse = None
    if _HALF not in (p, anchor):
        # (attentive yes) - (attentive no) from the first answer, their sum from the anchor:
        # nothing is said of how the answers of inattentive people go together.
        gap = [(i - _HALF) / (p - _HALF) for i, _ in reports]
        attentive = [(j - _HALF) / (_HALF - anchor) for _, j in reports]
        both = list(zip(attentive, gap, strict=True))
        inverse = [[(a + d if s else a - d) / 2 for a, d in both] for s in asked.sensitive]
        inverse.append([1 - a for a in attentive])
    return Law(entries, report_labels, (*asked.categories, "inattentive"), inverse=inverse)


# -- one sample of a design of several ----------------------------------------------------------


def _unrelated_sample(asked: Asked, p: Fraction) -> Law:
    classes, class_labels = _with_trait(asked)
    return _one_answer(asked, [p * s + (1 - p) * trait for s, trait in classes], class_labels)


def _cheater_sample(asked: Asked, forced_yes: Fraction, forced_no: Fraction) -> Law:
    if forced_yes + forced_no > 1:
        raise ArgumentValueError(
            "prob_forced_yes and prob_forced_no of a sample must sum to at most 1, found "
            f"{float(forced_yes + forced_no):g}; with 1 nobody answers the question"
        )
    honest = [1 - forced_no if sensitive else forced_yes for sensitive in asked.sensitive]
    return _one_answer(asked, [*honest, Fraction(0)], (*asked.categories, "cheater"))


def _liar_sample(asked: Asked, p: Fraction) -> Law:
    says_yes: list[Fraction] = []
    classes: list[Hashable] = []
    for category, sensitive in zip(asked.categories, asked.sensitive, strict=True):
        says_yes.append(Fraction(1) if sensitive else 1 - p)
        classes.append((category, "honest"))
        if sensitive:
            says_yes.append(Fraction(0))
            classes.append((category, "lying"))
    return _one_answer(asked, says_yes, classes)


# -- how numbers are read -----------------------------------------------------------------------


def _in(interval: str) -> Callable[[Any, str, Asked], Number]:
    return lambda value, name, asked: probability(value, name, interval)


def _whole(value: Any, name: str, asked: Asked) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"{name} must be a whole number, found {type(value).__name__}")
    if not 1 <= value <= _MOST_DRAWS:
        raise ArgumentValueError(f"{name} must be in [1, {_MOST_DRAWS}], got {value}")
    return int(value)


def _list_in(value: Any, name: str, interval: str) -> tuple[Number, ...]:
    return tuple(probability(each, f"each of {name}", interval) for each in numbers(value, name))


def _deck(value: Any, name: str, asked: Asked) -> tuple[Number, ...]:
    found = _list_in(value, name, "[0, 1]")
    if len(found) < 2:
        raise ArgumentValueError(
            f"{name} must have one share for each of at least 2 marks, found {len(found)}"
        )
    return found


def _two_boxes(value: Any, name: str, asked: Asked) -> tuple[Number, ...]:
    found = _list_in(value, name, "(0, 1)")
    if len(found) != 2:
        raise ArgumentValueError(
            f"{name} must have one share for each of 2 answers, found {len(found)}"
        )
    return found


def _by_category(value: Any, name: str, asked: Asked) -> tuple[Number, ...]:
    """One number for each category, from a list in their order, a mapping or a Series."""
    categories = Domain(asked.categories)
    rule = f"{name} must have one number for each of the categories {categories.describe()}"
    if isinstance(value, Mapping | pd.Series):
        given = {categories.code(label): each for label, each in value.items()}
        if set(given) != set(range(categories.k)) or len(given) != len(value):
            raise ArgumentValueError(f"{rule}, found numbers for {listed(value.keys())}")
        value = [given[code] for code in range(categories.k)]
    found = _list_in(value, name, "[0, 1]")
    if len(found) != categories.k:
        raise ArgumentValueError(f"{rule}, found {len(found)}")
    return found


_OPEN, _CLOSED, _UNDER_1 = _in("(0, 1)"), _in("[0, 1]"), _in("[0, 1)")
_UNRELATED = {"prob_sensitive": _OPEN, "prob_yes_unrelated": _CLOSED}

DESIGNS: dict[str, Design] = {
    "direct": Design(_direct, {}, has_yes=False),
    "forced_response": Design(
        _forced, {"prob_truth": _CLOSED, "prob_forced": _by_category}, has_yes=False
    ),
    "two_coin": Design(_yes_or_no(lambda: (Fraction(3, 4), Fraction(1, 4))), {}),
    "warner": Design(_yes_or_no(lambda p: (p, 1 - p)), {"prob_statement": _OPEN}),
    "disguised_response": Design(_yes_or_no(lambda p: (p, 1 - p)), {"prob_red": _OPEN}),
    "crosswise": Design(_yes_or_no(lambda p: (p, 1 - p)), {"prob_unrelated": _OPEN}),
    "triangular": Design(_yes_or_no(lambda p: (1, p)), {"prob_unrelated": _OPEN}),
    "unrelated_question": Design(_yes_or_no(_unrelated), _UNRELATED),
    "soberanis_cruz": Design(_yes_or_no(_unrelated), _UNRELATED),
    "mangat": Design(_yes_or_no(lambda p: (1, 1 - p)), {"prob_statement": _OPEN}),
    "devore": Design(_yes_or_no(lambda p: (1, 1 - p)), {"prob_sensitive": _OPEN}),
    "mangat_singh": Design(
        _yes_or_no(lambda t, p: _truth_or(t, (p, 1 - p))),
        {"prob_truth": _UNDER_1, "prob_statement": _OPEN},
    ),
    "mangat_unrelated_question": Design(
        _yes_or_no(lambda t, p, a: _truth_or(t, _unrelated(p, a))),
        {"prob_truth": _UNDER_1, **_UNRELATED},
    ),
    "mangat_singh_singh": Design(_yes_or_no(lambda p, a: (1, (1 - p) * a)), _UNRELATED),
    "singh_joarder": Design(
        _yes_or_no(lambda p: (p + (1 - p) * p, 1 - p)), {"prob_statement": _OPEN}
    ),
    "kuk": Design(_kuk, {"prob_red_if_yes": _CLOSED, "prob_red_if_no": _CLOSED, "draws": _whole}),
    "christofides": Design(_christofides, {"prob_marks": _deck}),
    "unrelated_question_two_answers": Design(
        _two_answers, {"prob_sensitive": _two_boxes, "prob_truth": _UNDER_1}
    ),
    "mangat_singh_singh_two_answers": Design(_two_answers_of_no, {"prob_sensitive": _two_boxes}),
    "crosswise_with_anchor": Design(
        _anchored, {"prob_unrelated": _OPEN, "prob_unrelated_anchor": _OPEN}
    ),
    "unrelated_question_sample": Design(_unrelated_sample, {"prob_sensitive": _CLOSED}),
    "cheater_detection_sample": Design(
        _cheater_sample, {"prob_forced_yes": _CLOSED, "prob_forced_no": _CLOSED}
    ),
    "stochastic_lie_detector_sample": Design(_liar_sample, {"prob_statement": _CLOSED}),
}
"""Every design: its law, its numbers in the order in which the law takes them."""
