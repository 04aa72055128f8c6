"""How wide an interval will be, for how many people, at which epsilon.

The width planned is that of the interval that `rr.estimate` will give, not that of a formula:
where counts are binomial it is the mean, or a quantile, over the law of the count, of the default
interval cut to [0, 1]; elsewhere it is the default interval at the reports that are expected.
For the rows at hand every likely count is looked at up to about 500 rows; above, some of them: a
width is then right to about one row.
A half-width is half of high - low: intervals of small shares are not symmetric.
Not for a test: `power` and `people_for_power` plan those.
Law: about z sqrt(s (1 - s) / n) / abs(p - q) with s = q + f (p - q); the exact interval of the
default is a few percent wider, and near 0 and 1 the cut makes it narrower.
Source: Clopper and Pearson (1934); Kupper and Hafner (1989) for planning with an assurance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

import numpy as np
import scipy

from rrstats._checks import check_level, check_one_of
from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimate import Estimate
from rrstats.inference import binomial as intervals
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.epsilon import largest_epsilon
from rrstats.mechanisms.krr import KRR
from rrstats.planning.questions import (
    MOST_PEOPLE,
    Question,
    ask,
    check_open,
    check_people,
    check_share,
)

__all__ = ["first", "half_width", "least_epsilon", "people"]


_MOST_COUNTS, _SMOOTH_COUNTS, _REACH = 2000, 200, 9.0
"""Counts at which an interval is computed, for a quantile or a few people and for a mean of many,
and how many standard deviations they reach."""

_MANY = 100_000_000

_ROWS_MOST, _ROWS_SMOOTH, _ROWS_REST, _ROWS_FEW = 100, 40, 1e-6, 24
"""For the rows at hand, where one interval takes a millisecond: the most counts at which one is
computed; where there are more, so many for a mean; the probability beyond them to each side; and
up to how many rows nothing is left beyond."""

_ROWS_ADDED = 10**7
"""Products of a convolution, above which the law of the count of the rows is the normal one."""

_AHEAD, _MOST_AHEAD = 40, 500
"""With an assurance, so many larger n must hold as well: counts are whole numbers."""

_MOST_COMPUTED = 1 << 40
"""Beyond so many people the exact intervals lose digits."""

_PLENTY = 1e9
"""From so large a variance of the count on, they are Wilson's, and the count's law is normal."""

_TOO_WIDE = "; an interval inside [0, 1] is never wider than that to both sides"


def half_width(
    n: int,
    share: float,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    category: Hashable = None,
    mix: Any = None,
    target: str = "population",
    level: float = 0.95,
    method: str | None = None,
    assurance: float | None = None,
) -> float:
    """Half the width of the interval that n people will give.

    n : people who report, 1 to 2**53.  share : the true share that one expects, in [0, 1].
    mechanism, prob, epsilon : a mechanism; or the categories, or only their number, of a k-RR
        with prob or epsilon.  Samples of one mechanism are of equal size.
    category : the one with that share; by default the sensitive one, where the mechanism
        knows it, else the last.  For k-RR and the like it makes no difference.
    mix : how common classes of people are, where the design tells them apart, or the other
        categories, where it treats them differently; equal by default.
    target : "population" (people are a sample of it) or "rows" (just these, nobody else: the
        nearest whole number of them has the category).
    level, method : of the interval, as in `Estimate.interval`.
    assurance : the probability with which the interval is to be no wider than what is returned;
        by default what is returned is the mean width.
    Raises ArgumentValueError for numbers outside their ranges, NotIdentifiableError where reports
    carry no information.

    >>> round(half_width(8068, 0.1, epsilon=math.log(3)), 4)
    0.0201
    >>> round(half_width(8068, 0.1, epsilon=math.log(3), assurance=0.9), 4)
    0.0202

    8,068 people who tell the truth with probability 3/4 give 10% +- 2.0 points; nine
    times of ten +- 2.03 points or less.
    """
    size = check_people(n)
    question = ask(mechanism, prob, epsilon, category=category, mix=mix, target=target)
    share = check_share(share, "share")
    return _planned(question, share, level, method, assurance)(size)


def people(
    half_width: float,
    share: float,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    category: Hashable = None,
    mix: Any = None,
    target: str = "population",
    level: float = 0.95,
    method: str | None = None,
    assurance: float | None = None,
) -> int:
    """How many people it takes for an interval no wider than this to both sides.

    half_width : half of high - low, in (0, 0.5).  The other arguments as in `half_width`; with
        assurance so many that the next larger numbers, 40 to 500 of them, reach it too.
    Returns the smallest n whose interval is no wider in the mean, or with that probability.
    Raises ArgumentValueError where it takes more than 2**53.

    >>> people(0.02, 0.1, epsilon=math.log(3))
    8164
    >>> people(0.02, 0.1, epsilon=math.log(3), method="wilson")
    8063
    >>> import rrstats as rr
    >>> people(0.02, 0.1, rr.surveys.direct(["no", "yes"]))
    911

    8,164 people where each has a coin of 3/4; the formula z^2 s (1 - s) / ((p - q)^2 h^2) says
    8,068, which the default, exact interval does not reach.  Without protection 911 are enough.
    """
    wanted = check_open(half_width, "half_width", 0.5, _TOO_WIDE)
    question = ask(mechanism, prob, epsilon, category=category, mix=mix, target=target)
    share = check_share(share, "share")
    width = cache(_planned(question, share, level, method, assurance))
    z = float(scipy.special.ndtri((1 + level) / 2))
    about = z**2 * question.spread(share) / wanted**2
    if about > MOST_PEOPLE:
        raise ArgumentValueError(
            f"a half_width of {wanted:g} takes about {about:.2g} people, more than 2**53; ask for "
            "a wider interval or a larger epsilon"
        )
    start = max(1, math.ceil(about))
    for _ in range(2):  # widths shrink by 1 / sqrt(n), so this lands next to the answer
        start = min(max(1, math.ceil(start * (width(start) / wanted) ** 2)), MOST_PEOPLE)
    found = first(lambda n: width(n) <= wanted, start)
    if assurance is None:
        return found
    # Cut at 0 or 1 a width goes by whole counts over n; otherwise a count matters less.
    cut = wanted > min(share, 1 - share) / 2
    ahead = min(_AHEAD + math.ceil(cut * 2.5 * math.sqrt(found)), _MOST_AHEAD)
    beyond = found
    while beyond < found + ahead:
        beyond += 1
        if width(beyond) > wanted:
            found = beyond + 1
    return found


def least_epsilon(
    half_width: float,
    n: int,
    share: float,
    categories: Any = 2,
    *,
    design: Callable[..., Mechanism] = KRR,
    category: Hashable = None,
    target: str = "population",
    level: float = 0.95,
    method: str | None = None,
    assurance: float | None = None,
) -> float:
    """The least epsilon at which n people give an interval no wider than this to both sides.

    half_width, n, share : as in `people`.  categories : them, or how many there are.
    design : `rr.KRR` or another that is made by ``design(categories, epsilon=...)``.
    Returns the epsilon of a mechanism that was tried and suffices; with the last digits of a
    double less it does not.  ``design(categories, epsilon=found).epsilon <= found``.
    Raises ArgumentValueError where even a direct question is too wide: it says how wide.

    >>> found = least_epsilon(0.03, 2000, 0.1)
    >>> round(found, 3)
    1.504
    >>> round(half_width(2000, 0.1, epsilon=found), 6)
    0.03

    2,000 people and +- 3 points leave room for no more protection than epsilon 1.50.
    """
    wanted = check_open(half_width, "half_width", 0.5, _TOO_WIDE)
    size, share = check_people(n), check_share(share, "share")
    if not callable(design):
        raise ArgumentTypeError(
            f"design must be made by design(categories, epsilon=...), found {type(design).__name__}"
        )
    if isinstance(categories, int | np.integer) and not isinstance(categories, bool):
        categories = range(int(categories))

    def width(epsilon: float) -> float:
        made = design(categories, epsilon=epsilon)
        question = ask(made, category=category, target=target)
        return _planned(question, share, level, method, assurance)(size)

    high = largest_epsilon(len(tuple(categories)))
    if (least := width(high)) > wanted:
        raise ArgumentValueError(
            f"{size:,} people give a half_width of {least:.3g} even without any protection, more "
            f"than {wanted:g}; see people({wanted:g}, {share:g}, epsilon=...)"
        )
    low = high
    while width(low) <= wanted:
        high, low = low, low / 2
        if low < 1e-12:
            raise ArgumentValueError(
                f"half_width {wanted:g} is reached by the noise alone, at any epsilon; ask for less"
            )
    while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-13 * high:
        low, high = (low, middle) if width(middle) <= wanted else (middle, high)
    return design(categories, epsilon=high).epsilon


# -- the width at n ----------------------------------------------------------------------------


def _planned(
    question: Question, share: float, level: float, method: str | None, assurance: float | None
) -> Callable[[int], float]:
    """The half-width as a function of n: the mean one, or the quantile."""
    level = check_level(level)
    if assurance is not None:
        assurance = check_open(assurance, "assurance", why="; 0.8 or 0.9 are usual")
    if question.rates is None:
        if assurance is not None:
            question.rate(share)  # raises: there is no binomial count
        return lambda n: _typical(question, share, n, level, method)
    method = check_one_of(method or intervals.METHOD, "method", intervals.METHODS)
    base, top = question.rates
    if question.target == "rows":
        if method != intervals.METHOD:
            raise ArgumentValueError(
                f"method {method!r} is for the population; for target 'rows' leave it out"
            )
        return lambda n: _of_rows(n, share, base, top, level, assurance)
    rate = question.rate(share)

    def width(n: int) -> float:
        plenty = n > _MOST_COMPUTED and n * rate * (1 - rate) > _PLENTY
        used = "wilson" if plenty and method != "wald" else method
        most = _MOST_COUNTS if assurance is not None or n < _MANY else _SMOOTH_COUNTS
        counts, weights = _counts(n, rate, most)
        low, high = intervals.population_interval(counts, n, base, top, level=level, method=used)
        return _summary((high - low) / 2, weights, assurance)

    return width


def _summary(widths: Floats, weights: Floats, assurance: float | None) -> float:
    """The mean, or the least width that is kept with this probability."""
    if assurance is None:
        return float(widths @ weights / weights.sum())
    order = np.argsort(widths, kind="stable")
    kept = weights[order].cumsum() / weights.sum()
    return float(widths[order][min(int(np.searchsorted(kept, assurance)), len(order) - 1)])


def _counts(n: int, rate: float, most: int) -> tuple[Floats, Floats]:
    """Counts of Bin(n, rate) with their probabilities; where many, a grid that stands for all."""
    reach = _REACH * math.sqrt(n * rate * (1 - rate)) + 40
    first, last = max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach))
    step = -(-(last - first + 1) // most)
    edges = np.append(np.arange(first, last + 1, step), last + 1).astype(np.float64)
    inner = np.clip(edges, 1, n)
    below = scipy.special.betaincc(inner, n - inner + 1, rate)  # P(X < edge)
    if (variance := n * rate * (1 - rate)) > _PLENTY:
        below = scipy.special.ndtr((edges - 0.5 - n * rate) / math.sqrt(variance))
    below = np.where(edges <= 0, 0.0, np.where(edges > n, 1.0, below))
    return (edges[:-1] + edges[1:] - 1) / 2, np.diff(below)


def _of_rows(
    n: int, share: float, base: float, top: float, level: float, assurance: float | None
) -> float:
    """The same for just these n rows, by the law Bin(N1, top) + Bin(n - N1, base)."""
    counts, weights = _counts_of_rows(n, round(share * n), base, top)
    if len(counts) > _ROWS_MOST:  # one count in the middle stands for its neighbours
        step = -(-len(counts) // (_ROWS_MOST if assurance is not None else _ROWS_SMOOTH))
        first = np.arange(0, len(counts), step)
        last = np.append(first[1:], len(counts)) - 1
        counts, weights = counts[(first + last) // 2], np.add.reduceat(weights, first)
    low, high = intervals.rows_interval(counts, n, base, top, level=level)
    return _summary((high - low) / 2, weights, assurance)


def _counts_of_rows(n: int, ones: int, base: float, top: float) -> tuple[Floats, Floats]:
    """The likely counts of just these rows, and their probabilities."""
    spread = [ones * top * (1 - top), (n - ones) * base * (1 - base)]
    sizes = [min(2 * _REACH * math.sqrt(v) + 80, n + 1) for v in spread]
    if sizes[0] * sizes[1] > _ROWS_ADDED:
        mean, deviation = ones * top + (n - ones) * base, math.sqrt(sum(spread))
        reach = -float(scipy.special.ndtri(_ROWS_REST)) * deviation
        # Of many millions of counts some thousands are enough.
        step = max(1, math.floor(deviation / 100))
        counts = np.arange(max(0, math.floor(mean - reach)), min(n, mean + reach) + 1, step)
        return counts, np.exp(-(((counts - mean) / deviation) ** 2) / 2)
    parts = [_counts(ones, top, n + 1), _counts(n - ones, base, n + 1)]
    weights = np.convolve(parts[0][1], parts[1][1])
    counts = parts[0][0][0] + parts[1][0][0] + np.arange(float(len(weights)))
    if n <= _ROWS_FEW:
        return counts, weights
    below, above = weights.cumsum(), weights[::-1].cumsum()[::-1]
    likely = (below > _ROWS_REST) & (above > _ROWS_REST)
    return counts[likely], weights[likely]


def _typical(question: Question, share: float, n: int, level: float, method: str | None) -> float:
    """The half-width at the reports that n people are expected to give.

    Beyond 2**40 people carried on by 1 / sqrt(n) from where the interval is inside [0, 1]: to
    three digits; where it never is, computed, to a few percent at 2**50.
    """
    size = min(n, _MOST_COMPUTED)
    while True:
        counted = question.tally(share, size)
        ends = Estimate(counted, question.target).interval(level, method=method)
        low, high = float(ends.low[question.code]), float(ends.high[question.code])
        if size == n or (low > 0 and high < 1):
            return (high - low) / 2 * math.sqrt(size / n)
        size = min(n, 4 * size)


def first(reached: Callable[[int], bool], guess: int) -> int:
    """The smallest n of 1 .. 2**53 that is reached, for a rule that stays true once it is.

    Strides from the guess, twice as far each time, and halves what is left once that is less.
    """
    low, high, step = 0, MOST_PEOPLE + 1, 1
    place = min(max(guess, 1), MOST_PEOPLE)
    while high - low > 1:
        accepted = reached(place)
        low, high = (low, place) if accepted else (place, high)
        half = (low + high) // 2
        place = max(place - step, half) if accepted else min(place + step, half)
        step *= 2
    if high > MOST_PEOPLE:
        raise ArgumentValueError("this takes more than 2**53 people")
    return high
