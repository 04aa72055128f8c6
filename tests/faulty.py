"""Functions that privatize wrongly, each in one way, beside a right one: what an audit must catch.

All take a list of answers and give reports of k-RR, as `right` does, so that a fault is all that
is different.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import rrstats as rr

CATEGORIES = ("never", "once", "often")
EPSILON = 1.0

_noise = random.SystemRandom()


def prob_of(epsilon: float, k: int) -> float:
    """P(report = truth) of k-RR."""
    return math.exp(epsilon) / (math.exp(epsilon) + k - 1)


PROB = prob_of(EPSILON, len(CATEGORIES))


def one(
    answer: Any, prob: float = PROB, noise: random.Random = _noise, outside: str = "uniform"
) -> str:
    """The report of one answer; an answer that is no category is made a uniform one first."""
    if answer not in CATEGORIES:
        if outside == "raw":
            return answer
        answer = noise.choice(CATEGORIES)
    if noise.random() < prob:
        return answer
    return noise.choice([other for other in CATEGORIES if other != answer])


def right(answers: Sequence[Any]) -> list[str]:
    """As it should be."""
    return [one(answer) for answer in answers]


def k_minus_2(answers: Sequence[Any]) -> list[str]:
    """k - 2 for k - 1 in the formula of prob."""
    return [one(answer, prob_of(EPSILON, len(CATEGORIES) - 1)) for answer in answers]


def unknown_raw(answers: Sequence[Any]) -> list[Any]:
    """An answer that is no category comes back as it is."""
    return [one(a) if a is None else one(a, outside="raw") for a in answers]


def missing_left(answers: Sequence[Any]) -> list[Any]:
    """A missing answer stays missing."""
    return [None if answer is None else one(answer) for answer in answers]


def sorted_index(answers: pd.Series) -> pd.Series:
    """Sorted by the truth, with the index that says whose row it is."""
    told = answers.tolist()
    order = sorted(range(len(told)), key=lambda place: str(told[place]))
    ordered = [told[place] for place in order]
    return pd.Series(right(ordered), index=answers.index[order], name=answers.name)


def sorted_truth(answers: Sequence[Any]) -> list[str]:
    """Sorted by the truth, so that one answer moves others: with k = 3, twice the epsilon."""
    return [one(answer, prob_of(2.0, len(CATEGORIES))) for answer in sorted(answers)]


def lies_last(answers: Sequence[Any]) -> list[str]:
    """Reports that are true come first."""
    reports = [(one(answer), answer) for answer in answers]
    return [report for report, _ in sorted(reports, key=lambda both: both[0] != both[1])]


def one_coin(answers: Sequence[Any]) -> list[str]:
    """One coin decides for all rows whether they tell the truth."""
    prob = 1.0 if _noise.random() < PROB else 0.0
    return [one(answer, prob) for answer in answers]


def same_seed(answers: Sequence[Any]) -> list[str]:
    """Each call starts the same generator again."""
    noise = random.Random(20_260_101)
    return [one(answer, noise=noise) for answer in answers]


def dtype_of_missing(answers: Sequence[Any]) -> np.ndarray:
    """The dtype says whether an answer was missing."""
    return np.array(right(answers), dtype=object if None in answers else None)


def quoting_error(answers: Sequence[Any]) -> list[str]:
    """An answer that is no category is named in an error."""
    for answer in answers:
        if answer is not None and answer not in CATEGORIES:
            raise ValueError(f"{answer!r} is not in list")
    return right(answers)


def asymmetric(answers: Sequence[Any]) -> list[str]:
    """One category is told truthfully more often than the others."""
    return [one(answer, 0.8 if answer == CATEGORIES[1] else PROB) for answer in answers]


def drops_unknown(answers: Sequence[Any]) -> list[str]:
    """Rows whose answer is no category are left out."""
    return right([answer for answer in answers if answer is None or answer in CATEGORIES])


# -- faults of some places alone -----------------------------------------------------------------

_PRIVATE = rr.KRR(CATEGORIES, epsilon=EPSILON)


def plainly(answers: Sequence[Any]) -> list[str]:
    """As it should be, for long columns: all else counts as one of the categories."""
    return list(rr.privatize(_known(answers), _PRIVATE))


def _known(answers: Sequence[Any]) -> list[str]:
    return [answer if answer in CATEGORIES else CATEGORIES[1] for answer in answers]


def _bare(answers: Sequence[Any], rows: slice) -> list[str]:
    """Some rows come back as they are."""
    reports = plainly(answers)
    reports[rows] = _known(answers)[rows]
    return reports


def first_row(answers: Sequence[Any]) -> list[str]:
    """The first row of each column of two or more is forgotten."""
    return _bare(answers, slice(0, 1 if len(answers) > 1 else 0))


def last_row(answers: Sequence[Any]) -> list[str]:
    """The last row of each column of two or more is forgotten."""
    return _bare(answers, slice(-1 if len(answers) > 1 else len(answers), None))
