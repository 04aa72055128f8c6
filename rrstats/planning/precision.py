"""Width of the interval that n respondents will give, and the n or the epsilon for a width.

The width is that of the interval of `rr.estimate`.  Where counts are binomial it is the mean, or a
quantile, over the distribution of the count, of the default interval cut to [0, 1]; elsewhere it is
the default interval at the expected reports.  For the rows at hand every likely count is looked at
up to about 500 rows, and some of them above: a width is then right to about one row.
About z sqrt(s (1 - s) / n) / abs(p - q) with s = q + f (p - q); the exact interval is a few percent
wider, and near 0 and 1 the cut makes it narrower.
Sources: Clopper and Pearson (1934); Kupper and Hafner (1989) for planning with an assurance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np
import scipy

from rrstats._checks import (
    check_count,
    check_instance,
    check_level,
    check_number,
    check_numbers,
    check_one_of,
    check_probability,
    check_whole_number,
)
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.sample_design import EVERYONE
from rrstats.estimation.tally import Cell, Tally
from rrstats.inference import binomial
from rrstats.inference.contrasts import normal_quantile
from rrstats.inference.optimize import first_accepted
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import check_target, expected_rates, has_latent_classes
from rrstats.mechanisms.epsilon import largest_epsilon
from rrstats.mechanisms.krr import KRR, as_mechanism
from rrstats.mechanisms.support_channel import report_variance

Plan = TypeVar("Plan")

MOST_PEOPLE = 2**40
"""Beyond so many people the exact intervals lose digits."""

_MOST_CATEGORIES = 1_000_000

_MOST_COUNTS, _SMOOTH_COUNTS, _REACH = 2000, 200, 9.0
"""Counts at which an interval is computed, for a quantile or a few people and for a mean of many,
and how many standard deviations they reach."""

_MANY = 100_000_000

_ROWS_MOST, _ROWS_SMOOTH, _ROWS_REST, _ROWS_FEW = 100, 40, 1e-6, 24
"""For the rows at hand, where one interval takes a millisecond: the most counts at which one is
computed; where there are more, so many for a mean; the probability beyond them to each side; and
up to how many rows nothing is left beyond."""

_NORMAL = 250
"""Standard deviation above which the distribution of the rows' count is taken as normal."""

_AHEAD, _MOST_AHEAD = 40, 500
"""With an assurance, so many larger n must hold as well: counts are whole numbers."""

_NO_EPSILON = 1e-12
"""Below it a width that suffices is that of the noise alone."""

_TOO_WIDE = "an interval inside [0, 1] is never wider than that to both sides"


# -- one category, seen through one mechanism ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Question:
    """The proportion of one category among people who report by one mechanism.

    code : the category.  mix : (classes,) how common classes of people are, beside those on the
    same side; it never says how common the category is.
    """

    mechanism: Mechanism
    code: int
    mix: Floats

    def theta(self, proportion: float) -> Floats:
        """(classes,) true proportions in which the category has this one."""
        classes = np.asarray(self.mechanism.channel.class_of)
        inside = np.where(classes == self.code, self.mix, 0.0)
        outside = self.mix - inside
        return np.asarray(
            proportion * inside / inside.sum() + (1 - proportion) * outside / outside.sum()
        )

    def variance(self, proportion: float, target: str = "population") -> float:
        """The variance of the estimate, times the number of people; samples of one size."""
        theta = self.theta(proportion)
        return float(report_variance(self.mechanism.channel, theta, target)[self.code])

    @cached_property
    def rates(self) -> tuple[float, float] | None:
        """The rate of a binomial count at a proportion of 0 and at 1; None where none is one."""
        self.variance(0.5)  # raises NotIdentifiableError where nothing can be planned
        rates = self.mechanism.channel.binomial_rates
        if rates is None:
            return None
        low, high = rates.false_positive_rate, rates.true_positive_rate
        return float(low[self.code]), float(high[self.code])

    def rate(self, proportion: float) -> float:
        """P(a report counts for the category), where counts are binomial."""
        if self.rates is None:
            raise ArgumentValueError(
                "this design has no binomial count, so there is no exact distribution to plan by; "
                "leave exact and assurance out"
            )
        low, high = self.rates
        return float(np.clip(low + proportion * (high - low), 0, 1))

    def tally(self, proportion: float, n: int) -> Tally:
        """The reports expected of n people, in whole numbers; samples of one size."""
        channel = self.mechanism.channel
        rates, samples = expected_rates(channel, self.theta(proportion)), channel.samples
        sizes = np.diff(np.linspace(0, n, int(samples.max()) + 2).astype(np.int64)).tolist()
        counts = [_whole(rates[samples == place] * size, size) for place, size in enumerate(sizes)]
        return Tally(self.mechanism, {EVERYONE: Cell(n, np.concatenate(counts).astype(np.int64))})


def _whole(expected: Floats, size: int) -> Floats:
    """Whole numbers that sum to the size, nearest to these; the largest rests are rounded up."""
    down = np.floor(expected)
    down[np.argsort(down - expected, kind="stable")[: size - int(down.sum())]] += 1
    return down


def ask(
    mechanism: Any,
    prob: float | None = None,
    epsilon: float | None = None,
    *,
    category: Hashable = None,
    mix: Any = None,
) -> Question:
    """The question behind the arguments that all plans share."""
    made = as_mechanism(numbered(mechanism), prob, epsilon)
    code = made.k - 1
    wanted = getattr(made, "yes", None) if category is None else category
    if wanted is not None:
        answers = Categories(made.categories)
        code = answers.code(wanted)
        if code >= made.k:
            raise ArgumentValueError(
                f"category must be one of {answers.describe()}, got {wanted!r}"
            )
    return Question(made, code, _check_mix(mix, made, code))


def numbered(categories: Any) -> Any:
    """Numbers as categories where only how many there are is given."""
    if not isinstance(categories, int | np.integer) or isinstance(categories, bool):
        return categories
    name = "k, the number of categories,"
    return range(check_whole_number(categories, name, 2, _MOST_CATEGORIES))


def _check_mix(mix: Any, mechanism: Mechanism, code: int) -> Floats:
    """(classes,) non-negative weights, with some on both sides of the category."""
    classes = mechanism.domain
    if mix is None:
        if has_latent_classes(mechanism.channel):
            raise ArgumentTypeError(
                f"this design tells the classes {classes.describe()} apart; say in mix= how common "
                "they are: a number for each, of which only the proportions within the category "
                "and outside it count"
            )
        return np.ones(classes.k)
    if isinstance(mix, Mapping):
        mix = [mix[name] for name in classes.categories]
    found = check_numbers(mix, "mix", size=classes.k, low=0.0)
    inside = found[np.asarray(mechanism.channel.class_of) == code].sum()
    if not 0 < inside < found.sum():
        raise ArgumentValueError(
            "mix must leave somebody in the category and somebody outside it: how common the "
            "category is, is said by the proportion"
        )
    return found


def plan(
    kind: Callable[..., Plan], proportion: float, mechanism: tuple[Any, ...], options: Any
) -> Plan:
    """A plan from what all questions share; the mechanism with its prob and epsilon."""
    rest = dict(options)
    category, mix = rest.pop("category", None), rest.pop("mix", None)
    return kind(ask(*mechanism, category=category, mix=mix), proportion, **rest)


def check_people(n: object) -> int:
    """A number of people, 1 to 2**40."""
    return check_whole_number(check_count(n, "n"), "n, a number of people,", 1, MOST_PEOPLE)


# -- the questions -------------------------------------------------------------------------------


class CategoryOptions(TypedDict, total=False):
    """Category that is planned for.

    category : the one with that proportion; by default the sensitive one, where the mechanism knows
        it, else the last.  For k-RR and the like it makes no difference.
    mix : mapping or sequence of floats: how common classes of people are, where the design tells
        them apart, or the other categories, where it treats them differently; equal by default.
    """

    category: Hashable
    mix: Any


class IntervalOptions(CategoryOptions, total=False):
    """Interval whose width is planned, besides `CategoryOptions`.

    target : "population" (people are a sample of it) or "rows" (just these, nobody else: the
        nearest whole number of them has the category).
    level, method : as in `Estimate.interval`.
    assurance : the probability with which the interval is to be no wider than what is returned;
        by default what is returned is the mean width.
    """

    target: str
    level: float
    method: str | None
    assurance: float | None


def half_width(
    n: int,
    proportion: float,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    **options: Unpack[IntervalOptions],
) -> float:
    """Half the width of the interval that n people will give.

    Parameters
    ----------
    n : int
        People who report, 1 to 2**40.
    proportion : float
        The true proportion that one expects, in [0, 1].
    mechanism : Mechanism, sequence of hashables or int
        A mechanism; or the categories, or only their number, of a k-RR with prob or epsilon.
        Samples of one mechanism are of equal size.
    prob, epsilon : float, optional
        Of the k-RR.
    **options
        category and mix, see `CategoryOptions`; target, level, method and assurance, see
        `IntervalOptions`.

    Returns
    -------
    float
        Half of high - low: intervals of small proportions are not symmetric.

    Raises
    ------
    NotIdentifiableError
        Reports carry no information.

    Examples
    --------
    >>> round(half_width(8068, 0.1, epsilon=math.log(3)), 4)
    0.0201
    >>> round(half_width(8068, 0.1, epsilon=math.log(3), assurance=0.9), 4)
    0.0202

    8,068 people who tell the truth with probability 3/4 give 10% +- 2.0 points; nine
    times of ten +- 2.03 points or less.
    """
    size = check_people(n)
    return plan(_Width, proportion, (mechanism, prob, epsilon), options)(size)


def people(
    half_width: float,
    proportion: float,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    **options: Unpack[IntervalOptions],
) -> int:
    """Sample size for an interval no wider than this to both sides.

    Parameters
    ----------
    half_width : float
        Half of high - low, in (0, 0.5).
    proportion, mechanism, prob, epsilon, **options
        As in `half_width`.

    Returns
    -------
    int
        The smallest n whose interval is no wider in the mean, or with the assurance; then the next
        larger numbers, 40 to 500 of them, reach it too.

    Raises
    ------
    ArgumentValueError
        It takes more than 2**40 people.

    Examples
    --------
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
    wanted = check_number(half_width, "half_width", 0, 0.5, ends="()", hint=_TOO_WIDE)
    planned = plan(_Width, proportion, (mechanism, prob, epsilon), options)
    width = cache(planned)
    about = planned.about(wanted)
    if about > MOST_PEOPLE:
        raise ArgumentValueError(
            f"a half_width of {wanted:g} takes about {about:.2g} people, more than 2**40; ask for "
            "a wider interval or a larger epsilon"
        )
    start = max(1, math.ceil(about))
    for _ in range(2):  # widths shrink by 1 / sqrt(n), so this lands next to the answer
        start = min(max(1, math.ceil(start * (width(start) / wanted) ** 2)), MOST_PEOPLE)
    found = first_accepted(lambda n: width(n) <= wanted, 0, MOST_PEOPLE, start)
    if planned.assurance is None:
        return found
    # Cut at 0 or 1 a width goes by whole counts over n; otherwise a count matters less.
    cut = wanted > min(proportion, 1 - proportion) / 2
    ahead = min(_AHEAD + math.ceil(cut * 2.5 * math.sqrt(found)), _MOST_AHEAD)
    for beyond in range(found + 1, MOST_PEOPLE):
        if beyond > found + ahead:
            break
        if width(beyond) > wanted:
            found = beyond + 1
    return found


def least_epsilon(
    half_width: float,
    n: int,
    proportion: float,
    categories: Any = 2,
    *,
    design: Callable[..., Mechanism] = KRR,
    **options: Unpack[IntervalOptions],
) -> float:
    """Least epsilon at which n people give an interval no wider than this to both sides.

    Parameters
    ----------
    half_width, n, proportion, **options
        As in `people`.
    categories : sequence of hashables or int
        The categories, or how many there are.
    design : callable
        `rr.KRR` or another that is made by ``design(categories, epsilon=...)``.

    Returns
    -------
    float
        The epsilon of a mechanism that was tried and suffices; with the last digits of a double
        less it does not.  ``design(categories, epsilon=found).epsilon <= found``.

    Raises
    ------
    ArgumentValueError
        Even a direct question is too wide; the message says how wide.

    Examples
    --------
    >>> found = least_epsilon(0.03, 2000, 0.1)
    >>> round(found, 3)
    1.504
    >>> round(half_width(2000, 0.1, epsilon=found), 6)
    0.03

    2,000 people and +- 3 points leave room for no more protection than epsilon 1.50.
    """
    wanted = check_number(half_width, "half_width", 0, 0.5, ends="()", hint=_TOO_WIDE)
    size, categories = check_people(n), numbered(categories)
    check_instance(design, "design", Callable, "made by design(categories, epsilon=...)")

    def width(epsilon: float) -> float:
        return plan(_Width, proportion, (design(categories, epsilon=epsilon),), options)(size)

    high = largest_epsilon(len(tuple(categories)))
    if (least := width(high)) > wanted:
        raise ArgumentValueError(
            f"{size:,} people give a half_width of {least:.3g} even without any protection, more "
            f"than {wanted:g}; see people({wanted:g}, {proportion:g}, epsilon=...)"
        )
    low = 0.0
    while high - low > 1e-13 * high and (middle := (low + high) / 2) > _NO_EPSILON:
        low, high = (low, middle) if width(middle) <= wanted else (middle, high)
    return design(categories, epsilon=high).epsilon


# -- the width at n ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Width:
    """The half-width as a function of n: the mean one, or the quantile."""

    question: Question
    proportion: float
    target: str = "population"
    level: float = 0.95
    method: str | None = None
    assurance: float | None = None

    def __post_init__(self) -> None:
        check_probability(self.proportion, "proportion")
        check_level(self.level)
        if self.assurance is not None:
            check_probability(self.assurance, "assurance", "()")
            self.question.rate(self.proportion)  # raises where there is no binomial count
        if check_target(self.target) == "rows" and self.method not in (None, binomial.METHOD):
            raise ArgumentValueError(
                f"method {self.method!r} is for the population; for target 'rows' leave it out"
            )

    def about(self, wanted: float) -> float:
        """The n of the normal formula for this half-width."""
        variance = self.question.variance(self.proportion, self.target)
        return normal_quantile(self.level) ** 2 * variance / wanted**2

    def __call__(self, n: int) -> float:
        if self.question.rates is None:
            counted = self.question.tally(self.proportion, n)
            ends = Estimate(counted, self.target).interval(self.level, method=self.method)
            return float(ends.high[self.question.code] - ends.low[self.question.code]) / 2
        q, p = self.question.rates
        if self.target == "rows":
            counts, weights = self._some(*_counts_of_rows(n, round(self.proportion * n), q, p))
            low, high = binomial.rows_interval(counts, n, q, p, level=self.level)
        else:
            method = check_one_of(self.method or binomial.METHOD, "method", binomial.METHODS)
            most = _MOST_COUNTS if self.assurance is not None or n < _MANY else _SMOOTH_COUNTS
            counts, weights = _counts(n, self.question.rate(self.proportion), most)
            options: Any = {"level": self.level, "method": method}
            low, high = binomial.population_interval(counts, n, q, p, **options)
        return self._summary((high - low) / 2, weights)

    def _some(self, counts: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Counts of which one in the middle stands for its neighbours, where they are many."""
        if len(counts) <= _ROWS_MOST:
            return counts, weights
        step = -(-len(counts) // (_ROWS_MOST if self.assurance is not None else _ROWS_SMOOTH))
        first = np.arange(0, len(counts), step)
        last = np.append(first[1:], len(counts)) - 1
        return counts[(first + last) // 2], np.add.reduceat(weights, first)

    def _summary(self, widths: Floats, weights: Floats) -> float:
        """The mean, or the least width that is kept with the assurance."""
        if self.assurance is None:
            return float(widths @ weights / weights.sum())
        order = np.argsort(widths, kind="stable")
        kept = weights[order].cumsum() / weights.sum()
        place = int(np.searchsorted(kept, self.assurance))
        return float(widths[order][min(place, len(order) - 1)])


def _counts(n: int, rate: float, most: int) -> tuple[Floats, Floats]:
    """Counts of Bin(n, rate) with their probabilities; where many, a grid that stands for all."""
    reach = _REACH * math.sqrt(n * rate * (1 - rate)) + 40
    first, last = max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach))
    step = -(-(last - first + 1) // most)
    edges = np.append(np.arange(first, last + 1, step), last + 1).astype(np.float64)
    return (edges[:-1] + edges[1:] - 1) / 2, -np.diff(binomial.upper_tail(edges, n, rate))


def _counts_of_rows(n: int, ones: int, q: float, p: float) -> tuple[Floats, Floats]:
    """The likely counts of just these rows, Bin(ones, p) + Bin(n - ones, q)."""
    mean, variance = ones * p + (n - ones) * q, ones * p * (1 - p)
    deviation = math.sqrt(variance + (n - ones) * q * (1 - q))
    if deviation > _NORMAL:
        reach = -float(scipy.special.ndtri(_ROWS_REST)) * deviation
        # Of many millions of counts some thousands are enough.
        step = max(1, math.floor(deviation / 100))
        counts = np.arange(max(0, math.floor(mean - reach)), min(n, mean + reach) + 1, step)
        return counts, np.exp(-(((counts - mean) / deviation) ** 2) / 2)
    parts = binomial.likely_counts(ones, p), binomial.likely_counts(n - ones, q)
    weights = np.convolve(parts[0][1], parts[1][1])
    counts = parts[0][0] + parts[1][0] + np.arange(float(len(weights)))
    beyond = np.minimum(weights.cumsum(), weights[::-1].cumsum()[::-1])
    kept = (beyond > _ROWS_REST) | (n <= _ROWS_FEW)
    return counts[kept], weights[kept]
