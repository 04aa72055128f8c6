"""Width of the interval for n respondents, and the sample size or the epsilon for a width.

The width is that of the interval of `rr.estimate`.  Where counts are binomial it is the mean, or a
quantile, of the width of the default interval, cut to [0, 1], over the distribution of the count;
elsewhere it is the width at the expected reports.  For target "sample" all likely counts are used
up to about 500 rows, and some of them for more rows: the width is then accurate to about one row.
Half the width is about z sqrt(s (1 - s) / n) / abs(p - q) with s = q + f (p - q); the exact
interval is a few percent wider, and narrower where it is cut near 0 and 1.
Sources: Clopper and Pearson (1934); Kupper and Hafner (1989) for planning with an assurance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, TypedDict, TypeVar, Unpack

import numpy as np
import scipy

from rrstats._cached import cached_property
from rrstats._checks import (
    check_count,
    check_instance,
    check_left_out,
    check_level,
    check_number,
    check_numbers,
    check_one_of,
    check_probability,
    check_proportions,
    check_whole_number,
    quote,
)
from rrstats._names import checked_options
from rrstats._typing import CategoriesLike, Floats
from rrstats.data.categories import Categories, category_numbers
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.tallies.tally import Tally, UnitCounts
from rrstats.inference import binomial
from rrstats.inference.contrasts import normal_quantile
from rrstats.inference.optimize import (
    first_accepted,
    last_accepted_number,
)
from rrstats.mechanisms.base import HasMechanism, Mechanism, is_mechanism
from rrstats.mechanisms.channel import (
    check_target,
    expected_rates,
    has_latent_classes,
    report_contrast_covariance,
    report_variance,
)
from rrstats.mechanisms.epsilon import largest_epsilon
from rrstats.mechanisms.frame_plans import FramePlan, MechanismOrPlan
from rrstats.mechanisms.krr import KRR, as_mechanism
from rrstats.mechanisms.survey_design import NamedDesign
from rrstats.planning.response_rates import Fieldwork, fieldwork_of

Plan = TypeVar("Plan")

MAX_PEOPLE = 2**40
"""Maximum sample size; for more the exact intervals are inaccurate."""

_MAX_CATEGORIES = 1_000_000


@dataclass(frozen=True)
class _GridConstants:
    """Constants of the grid of counts at which an interval is computed, for the population.

    max_counts : in general.  max_counts_large_n : for the mean width from ``large_n`` people on.
    deviations, margin : range of the counts, in standard deviations and further counts.
    """

    max_counts: int = 2000
    max_counts_large_n: int = 200
    large_n: int = 100_000_000
    deviations: float = 9.0
    margin: int = 40


_GRID = _GridConstants()


@dataclass(frozen=True)
class _RowsConstants:
    """Constants of the same for target "sample", where one interval takes a millisecond.

    max_counts : at which an interval is computed.  mean_counts : their number for a mean width if
        there are more.
    tail : probability of counts left out on each side.  exact_rows : up to so many rows no count
        is left out.
    normal_deviation : standard deviation above which the distribution of the count is approximated
        as normal, with ``steps_per_deviation`` counts in each deviation.
    """

    max_counts: int = 100
    mean_counts: int = 40
    tail: float = 1e-6
    exact_rows: int = 24
    normal_deviation: float = 250.0
    steps_per_deviation: int = 100


_ROWS = _RowsConstants()


@dataclass(frozen=True)
class _AssuranceConstants:
    """Number of larger n that must reach an assurance, too, because counts are whole numbers.

    ahead : in general.  cut_factor : times the root of n further ones where intervals are cut at 0
        or 1.  max_ahead : at most.
    """

    ahead: int = 40
    cut_factor: float = 2.5
    max_ahead: int = 500


_ASSURANCE = _AssuranceConstants()

_MIN_EPSILON = 1e-12
"""The smallest epsilon that is tried."""

_OF_PLAN = "a plan has the mechanisms of its columns"

_TOO_WIDE = "half the width of an interval inside [0, 1] is never larger"


# -- one category and one mechanism ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Question:
    """The proportion of one category among people who report by one mechanism.

    code : the category.  mix : (classes,) relative sizes of latent classes, used only within the
    category and within the rest.
    """

    mechanism: Mechanism
    code: int
    mix: Floats

    def theta(self, proportion: float) -> Floats:
        """(classes,) true proportions if this is the proportion of the category."""
        classes = np.asarray(self.mechanism.channel.class_of)
        inside = np.where(classes == self.code, self.mix, 0.0)
        outside = self.mix - inside
        return np.asarray(
            proportion * inside / inside.sum() + (1 - proportion) * outside / outside.sum()
        )

    def variance(self, proportion: float, target: str = "population") -> float:
        """The variance of the estimate, times the number of people; samples of equal size."""
        theta = self.theta(proportion)
        return float(report_variance(self.mechanism.channel, theta, target)[self.code])

    @cached_property
    def rates(self) -> tuple[float, float] | None:
        """The rate of the binomial count at proportions 0 and 1; None without one."""
        self.variance(0.5)  # may raise NotIdentifiableError
        rates = self.mechanism.channel.binomial_rates
        if rates is None:
            return None
        return (
            float(rates.false_positive_rate[self.code]),
            float(rates.true_positive_rate[self.code]),
        )

    def rate(self, proportion: float) -> float:
        """P(a report counts for the category), where counts are binomial."""
        if self.rates is None:
            raise ArgumentValueError(
                "exact and assurance need a design whose counts are binomial, and this design has "
                "none; leave them out"
            )
        low, high = self.rates
        return float(np.clip(low + proportion * (high - low), 0, 1))

    def tally(self, proportion: float, n: int) -> Tally:
        """The expected reports of n people."""
        return _expected_tally(self.mechanism, self.theta(proportion), n)


def _expected_tally(mechanism: Mechanism, theta: Floats, n: int) -> Tally:
    """The expected reports of n people, in whole numbers; samples of equal size."""
    channel = mechanism.channel
    rates = expected_rates(channel, theta)
    samples = channel.samples
    sizes = np.diff(np.linspace(0, n, int(samples.max()) + 2).astype(np.int64)).tolist()
    counts = [_whole(rates[samples == place] * size, size) for place, size in enumerate(sizes)]
    return Tally(mechanism, UnitCounts.of_sample(n, np.concatenate(counts).astype(np.int64)))


def _whole(expected: Floats, size: int) -> Floats:
    """Whole numbers that sum to the size; the largest remainders are rounded up."""
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
    """The Question from the arguments that all plans share; an estimate has its own classes."""
    if mix is None and isinstance(mechanism, Estimate):
        has_classes = has_latent_classes(mechanism.mechanism.channel)
        mix = mechanism.merge().project().proportions if has_classes else None
    mechanism = as_mechanism(numbered(mechanism), prob, epsilon)
    code = mechanism.k - 1
    if category is None and isinstance(mechanism, NamedDesign):
        category = mechanism.yes
    if category is not None:
        answers = Categories(mechanism.categories)
        code = answers.code(category)
        if code >= mechanism.k:
            raise ArgumentValueError(
                f"category must be one of {answers.describe()}, got {quote(category)}"
            )
    return Question(mechanism, code, _check_mix(mix, mechanism, code))


def ask_about(
    proportion: Any, mechanism: tuple[Any, ...], category: Hashable = None
) -> tuple[Question, Any]:
    """The Question, and the proportion of its category; sizes of all classes give both."""
    if not _has_sizes(proportion):
        return ask(*mechanism, category=category), proportion
    question = ask(*mechanism, category=category, mix=proportion)
    inside = np.asarray(question.mechanism.channel.class_of) == question.code
    return question, float(question.mix[inside].sum() / question.mix.sum())


def numbered(categories: Any) -> Any:
    """Numbers as categories if only their number is given; of an estimate its mechanism."""
    if isinstance(categories, FramePlan):
        raise ArgumentTypeError(
            "mechanism must be of one column, found a plan; give one of plan.part_mechanisms"
        )
    if isinstance(categories, HasMechanism):
        categories = categories.mechanism
    if is_mechanism(categories):
        if categories.deck is not None:
            raise ArgumentTypeError(
                "mechanism must not be a deck of cards: in full blocks it is a direct question to "
                "fewer people; give mechanism=rr.surveys.direct(categories) and fieldwork="
                "rr.planning.Fieldwork(response_rate=...) with "
                f"{categories.deck.direct:g} times your rate"
            )
        return categories
    if not isinstance(categories, int | np.integer) or isinstance(categories, bool):
        return categories
    name = "k, the number of categories,"
    return range(check_whole_number(categories, name, 2, _MAX_CATEGORIES))


def _check_mix(mix: Any, mechanism: Mechanism, code: int) -> Floats:
    """(classes,) non-negative weights, with some on both sides of the category."""
    classes = mechanism.domain
    if mix is None:
        if has_latent_classes(mechanism.channel):
            raise ArgumentTypeError(
                f"proportion must give the sizes of all latent classes {classes.describe()} of "
                "this design, a number for each; or give the estimate of an earlier survey as "
                "mechanism, which has them"
            )
        return np.ones(classes.k)
    if isinstance(mix, Mapping):
        mix = [mix[name] for name in classes.categories]
    weights = check_numbers(mix, "proportion", size=classes.k, low=0.0)
    inside = weights[np.asarray(mechanism.channel.class_of) == code].sum()
    if not 0 < inside < weights.sum():
        raise ArgumentValueError(
            "proportion must be above 0 for a class in the category and for a class outside it"
        )
    return weights


def plan(
    kind: Callable[..., Plan], proportion: float, mechanism: tuple[Any, ...], options: Any
) -> Plan:
    """A plan from the arguments that all questions share; mechanism includes prob and epsilon."""
    rest = dict(options)
    category = rest.pop("category", None)
    question = None
    for argument in ("against", "other"):
        if _has_sizes(rest.get(argument)):
            question, rest[argument] = ask_about(rest[argument], mechanism, category)
    if question is None or _has_sizes(proportion):
        question, proportion = ask_about(proportion, mechanism, category)
    return kind(question, proportion, **rest)


def _has_sizes(proportion: Any) -> bool:
    """True for the sizes of all classes; False for one proportion."""
    return isinstance(proportion, Mapping) or np.ndim(proportion) > 0


def people_in_words(n: int) -> str:
    """The number of people with its noun."""
    return "1 person" if n == 1 else f"{n:,} people"


def check_people(n: object) -> int:
    """A number of people, 1 to 2**40."""
    return check_whole_number(check_count(n, "n"), "n, a number of people,", 1, MAX_PEOPLE)


# -- the questions -------------------------------------------------------------------------------


class FieldworkOptions(TypedDict, total=False):
    """Category that is planned for, and how people are asked.

    category : the category with that proportion; by default the sensitive one, if the mechanism
        has one, else the last.  For symmetric designs such as k-RR it makes no difference.
    fieldwork : a `Fieldwork` with the response rate, the design effect of weights and clusters,
        and the number of questions.  By default all people report, in a simple random sample.
    """

    category: Hashable
    fieldwork: Fieldwork


class IntervalOptions(FieldworkOptions, total=False):
    """Interval whose width is planned, besides `FieldworkOptions`.

    target : "population" (respondents are a sample of it) or "sample" (only these respondents: the
        nearest whole number of them has the category).
    level, method : as in `Estimate.interval`.
    assurance : the probability that the interval is at most as wide as planned; by default the
        mean width is planned.
    scores : mapping or sequence of floats: plan the interval of the mean of these numbers of the
        categories (`Estimate.mean`), in their unit, in place of one category's proportion; the
        proportion is then those of all categories.  It excludes category, method, assurance.
    """

    target: str
    level: float
    method: str | None
    assurance: float | None
    scores: Any


@checked_options(IntervalOptions)
def half_width(
    n: int,
    proportion: Any,
    mechanism: MechanismOrPlan | int = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    **options: Unpack[IntervalOptions],
) -> float:
    """Calculate half the expected width of the interval for n people.

    Parameters
    ----------
    n : int
        The number of respondents, 1 to 2**40; with a response rate, of people who are asked.
    proportion : float, mapping or sequence of floats
        The expected true proportion, in [0, 1]; or the relative sizes of all latent classes, or of
        all categories, where the design treats them differently.  With scores, the proportions of
        all categories.  0.5 is the worst case of two categories alone: of four, at epsilon 1, the
        interval of 2,000 people is widest at 0.84.
    mechanism : Mechanism, Estimate, FramePlan, sequence of hashables or int
        A mechanism, or an estimate of an earlier survey that used it, which also knows the sizes of
        latent classes; or the categories, or only their number, of a k-RR with prob or epsilon.
        Samples of one mechanism are of equal size.  Of a plan the widest column counts, and only
        level and fieldwork are options.
    prob, epsilon : float, optional
        The parameter of the k-RR.
    **options
        category and fieldwork, see `FieldworkOptions`; target, level, method, assurance and
        scores, see `IntervalOptions`.

    Returns
    -------
    float
        (high - low) / 2; intervals of small proportions are not symmetric.

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

    8,068 people who report the truth with probability 3/4 give 10% ± 2.0 points on average, and
    ± 2.02 points or less with probability 0.9.
    """
    fieldwork, rest = fieldwork_of(options, "level", 0.95)
    size = fieldwork.reports(check_people(n))
    if isinstance(mechanism, FramePlan):
        check_left_out(_OF_PLAN, prob=prob, epsilon=epsilon)
        return max(
            mechanism.half_width(size, name, proportion=proportion, **rest)
            for name in mechanism.categories
        )
    return _planned(proportion, (mechanism, prob, epsilon), rest)(size)


@checked_options(IntervalOptions)
def sample_size(
    half_width: float,
    proportion: Any,
    mechanism: MechanismOrPlan | int = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    pooled: tuple[int, float] | None = None,
    **options: Unpack[IntervalOptions],
) -> int:
    """Calculate the sample size for an interval of at most this half-width.

    Parameters
    ----------
    half_width : float
        (high - low) / 2, in (0, 0.5); with scores, below half their range.
    proportion, mechanism, prob, epsilon, **options
        As in `half_width`.
    pooled : tuple of int and float, optional
        Plan pooled estimates of so many groups (`GroupEstimates.pooled`), whose true proportions
        have this standard deviation between groups: n is then that of each group.  That the
        deviation must be estimated widens intervals by a few percent more.

    Returns
    -------
    int
        The smallest n whose mean half-width is at most this; with a response rate people to ask.
        With assurance, the smallest n such that it and the next 40 to 500 larger n reach the
        half-width.

    Raises
    ------
    ArgumentValueError
        It takes more than 2**40 people.

    Examples
    --------
    >>> sample_size(0.02, 0.1, epsilon=math.log(3))
    8164
    >>> sample_size(0.02, 0.1, epsilon=math.log(3), method="wilson")
    8063
    >>> import rrstats as rr
    >>> sample_size(0.02, 0.1, rr.surveys.direct(["no", "yes"]))
    911

    With probability 3/4 of the truth 8,164 people are needed.  The normal formula
    z^2 s (1 - s) / ((p - q)^2 h^2) gives 8,068, too few for the default, exact interval.  A direct
    question needs 911 people.

    >>> fieldwork = rr.planning.Fieldwork(response_rate=0.6, design_effect=1.3)
    >>> sample_size(0.02, 0.1, epsilon=math.log(3), fieldwork=fieldwork)
    17689

    If 6 of 10 people who are asked report, and weights make the variance 1.3 times as large, 17,689
    must be asked.

    >>> sample_size(0.08, 0.3, epsilon=1.0)
    703
    >>> sample_size(0.08, 0.3, epsilon=1.0, pooled=(50, 0.05))
    251

    Of 50 groups each needs 703 people by itself, and 251 if their estimates are pooled.
    """
    fieldwork, rest = fieldwork_of(options, "level", 0.95)
    if isinstance(mechanism, FramePlan):
        check_left_out(_OF_PLAN, prob=prob, epsilon=epsilon, pooled=pooled)
        rows = max(
            mechanism.sample_size(half_width, name, proportion=proportion, **rest)
            for name in mechanism.categories
        )
        return fieldwork.people(rows)
    if pooled is not None:
        of_groups = plan(_Pooled, proportion, (mechanism, prob, epsilon), rest)
        return fieldwork.people(replace(of_groups, pooled=pooled).people(half_width))
    planned = _planned(proportion, (mechanism, prob, epsilon), rest)
    return fieldwork.people(_reports_for(half_width, planned))


def _reports_for(half_width: float, planned: _Width | _MeanWidth) -> int:
    """The smallest number of reports whose interval is at most so wide."""
    limit = check_number(half_width, "half_width", 0, planned.most, ends="()", hint=_TOO_WIDE)
    width = cache(planned)
    about = planned.about(limit)
    if about > MAX_PEOPLE:
        raise ArgumentValueError(
            f"a half_width of {limit:g} needs about {about:.2g} people, more than 2**40; use a "
            "larger half_width or a larger epsilon"
        )
    start = max(1, math.ceil(about))
    for _ in range(2):  # widths shrink by 1 / sqrt(n), so this lands next to the answer
        start = min(max(1, math.ceil(start * (width(start) / limit) ** 2)), MAX_PEOPLE)
    size = first_accepted(lambda n: width(n) <= limit, 0, MAX_PEOPLE, start)
    if isinstance(planned, _MeanWidth) or planned.assurance is None:
        return size
    ahead = _ASSURANCE.ahead
    if limit > min(planned.proportion, 1 - planned.proportion) / 2:
        # Widths that are cut at 0 or 1 vary more from one n to the next.
        ahead += math.ceil(_ASSURANCE.cut_factor * math.sqrt(size))
    ahead = min(ahead, _ASSURANCE.max_ahead)
    for larger in range(size + 1, MAX_PEOPLE):
        if larger > size + ahead:
            break
        if width(larger) > limit:
            size = larger + 1
    return size


@checked_options(IntervalOptions)
def least_epsilon(
    half_width: float,
    n: int,
    proportion: Any,
    categories: CategoriesLike | int = 2,
    *,
    design: Callable[..., Mechanism] = KRR,
    **options: Unpack[IntervalOptions],
) -> float:
    """Calculate the smallest epsilon for n people and an interval of at most this half-width.

    Parameters
    ----------
    half_width, n, proportion, **options
        As in `sample_size`.
    categories : sequence of hashables or int
        The categories, or their number.
    design : callable
        `rr.KRR` or another mechanism that ``design(categories, epsilon=...)`` makes.

    Returns
    -------
    float
        The epsilon of a mechanism that reaches the half-width; a smaller one does not, up to
        rounding errors.  ``design(categories, epsilon=found).epsilon <= found``.

    Raises
    ------
    ArgumentValueError
        The interval is wider even without noise; the message has its half-width.

    Examples
    --------
    >>> found = least_epsilon(0.03, 2000, 0.1)
    >>> round(found, 3)
    1.504
    >>> round(half_width(2000, 0.1, epsilon=found), 6)
    0.03

    With 2,000 people, an interval of ± 3 points needs an epsilon of at least 1.50.
    """
    fieldwork, rest = fieldwork_of(options, "level", 0.95)
    size = fieldwork.reports(check_people(n))
    answers = Categories(numbered(categories)).categories
    check_instance(design, "design", Callable, "made by design(answers, epsilon=...)")

    def planned(epsilon: float) -> _Width | _MeanWidth:
        return _planned(proportion, (design(answers, epsilon=epsilon),), rest)

    def width(epsilon: float) -> float:
        return planned(epsilon)(size)

    high = largest_epsilon(len(answers))
    most = planned(high).most
    limit = check_number(half_width, "half_width", 0, most, ends="()", hint=_TOO_WIDE)
    least = width(high)
    if least > limit:
        raise ArgumentValueError(
            f"half_width must be at least {least:.3g} for {people_in_words(size)}, even without "
            f"noise, got {limit:g}; sample_size({limit:g}, {proportion:g}, epsilon=...) gives the "
            "sample size"
        )

    def excess(epsilon: float) -> float:
        return width(epsilon) - limit

    solution = last_accepted_number(excess, high, _MIN_EPSILON)
    return design(answers, epsilon=solution).epsilon


# -- the width at n ----------------------------------------------------------------------------


def _planned(
    proportion: Any, mechanism: tuple[Any, ...], options: Mapping[str, Any]
) -> _Width | _MeanWidth:
    """The width of one category's interval, or with scores of that of their mean."""
    rest = dict(options)
    scores = rest.pop("scores", None)
    if scores is None:
        return plan(_Width, proportion, mechanism, rest)
    scored = as_mechanism(numbered(mechanism[0]), *mechanism[1:])
    theta = check_proportions(proportion, "proportion", len(scored.channel.class_of))
    values = category_numbers(scores, scored.categories, "scores")
    return _MeanWidth(scored, theta, values, **rest)


@dataclass(frozen=True, eq=False)
class _Pooled:
    """Pooled estimates of groups of equal size: the mean half-width of their normal intervals."""

    question: Question
    proportion: float
    level: float = 0.95
    pooled: Any = None

    def people(self, half_width: float) -> int:
        """The smallest number of people of a group whose pooled half-width is at most this.

        With v the variance of a raw estimate and a that between groups, the variance of a pooled
        one is a v / (a + v), and that of the mean of the groups with the weight v / (a + v).
        """
        rule = "as in pooled=(50, 0.05), groups and their standard deviation"
        check_instance(self.pooled, "pooled", tuple, rule)
        if len(self.pooled) != 2:
            raise ArgumentValueError(f"pooled must have two numbers, {rule}")
        groups = check_whole_number(self.pooled[0], "groups of pooled", 2, MAX_PEOPLE, hint=rule)
        deviation = check_number(
            self.pooled[1], "standard deviation of pooled", 0, 0.5, ends="(]", hint=rule
        )
        limit = check_number(half_width, "half_width", 0, 0.5, ends="()", hint=_TOO_WIDE)
        variance = self.question.variance(check_number(self.proportion, "proportion", 0, 1))
        between = deviation**2
        least = (limit / normal_quantile(check_level(self.level))) ** 2

        def is_enough(n: int) -> bool:
            raw = variance / n
            weight = raw / (between + raw)
            return between * weight + weight * raw / groups <= least

        start = max(1, math.ceil(variance * max(1 / least - 1 / between, 1 / between)))
        return max(2, first_accepted(is_enough, 0, MAX_PEOPLE, start))


@dataclass(frozen=True, eq=False)
class _MeanWidth:
    """The half-width of the interval of a mean of numbers, at the expected reports of n people."""

    mechanism: Mechanism
    theta: Floats
    scores: Floats
    target: str = "population"
    level: float = 0.95
    assurance: ClassVar[None] = None

    @property
    def most(self) -> float:
        """The largest half-width: half the range of the scores."""
        return float(np.ptp(self.scores)) / 2

    def about(self, half_width: float) -> float:
        """The n of the normal formula for a half-width."""
        target = check_target(self.target)
        variance = report_contrast_covariance(
            self.mechanism.channel, self.theta, target, self.scores[None]
        ).item()
        return normal_quantile(check_level(self.level)) ** 2 * variance / half_width**2

    def __call__(self, n: int) -> float:
        estimate = Estimate(_expected_tally(self.mechanism, self.theta, n), self.target)
        low, high = estimate.mean(self.scores.tolist()).interval(self.level)
        return (high - low) / 2


@dataclass(frozen=True)
class _Width:
    """The mean or a quantile of the half-width, as a function of n."""

    question: Question
    proportion: float
    target: str = "population"
    level: float = 0.95
    method: str | None = None
    assurance: float | None = None
    most: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        check_probability(self.proportion, "proportion")
        check_level(self.level)
        if self.assurance is not None:
            check_probability(self.assurance, "assurance", "()")
            self.question.rate(self.proportion)  # raises without a binomial count
        methods_of_rows = (None, binomial.METHOD_OF_ROWS)
        if check_target(self.target) == "sample" and self.method not in methods_of_rows:
            raise ArgumentValueError(
                f"method must be None for target 'sample', with one interval; got {self.method!r}"
            )

    def about(self, half_width: float) -> float:
        """The n of the normal formula for a half-width."""
        variance = self.question.variance(self.proportion, self.target)
        return normal_quantile(self.level) ** 2 * variance / half_width**2

    def __call__(self, n: int) -> float:
        if self.question.rates is None:
            tally = self.question.tally(self.proportion, n)
            ends = Estimate(tally, self.target).interval(self.level, method=self.method)
            return float(ends.high[self.question.code] - ends.low[self.question.code]) / 2
        q, p = self.question.rates
        if self.target == "sample":
            counts, weights = _counts_of_rows(n, round(self.proportion * n), q, p)
            counts, weights = self._thinned(counts, weights)
            low, high = binomial.rows_interval(counts, n, q, p, level=self.level)
        else:
            method = self.method or binomial.DEFAULT_METHOD
            check_one_of(method, "method", binomial.METHODS)
            max_counts = _GRID.max_counts
            if self.assurance is None and n >= _GRID.large_n:
                max_counts = _GRID.max_counts_large_n
            counts, weights = binomial_counts(n, self.question.rate(self.proportion), max_counts)
            low, high = binomial.population_interval(
                counts, n, q, p, level=self.level, method=method
            )
        return self._summary((high - low) / 2, weights)

    def _thinned(self, counts: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """The counts, or a grid of them if there are many."""
        if len(counts) <= _ROWS.max_counts:
            return counts, weights
        size = _ROWS.mean_counts if self.assurance is None else _ROWS.max_counts
        step = -(-len(counts) // size)
        first = np.arange(0, len(counts), step)
        last = np.append(first[1:], len(counts)) - 1
        return counts[(first + last) // 2], np.add.reduceat(weights, first)

    def _summary(self, widths: Floats, weights: Floats) -> float:
        """The mean width, or the smallest that has the assurance."""
        if self.assurance is None:
            return float(widths @ weights / weights.sum())
        order = np.argsort(widths, kind="stable")
        distribution = weights[order].cumsum() / weights.sum()
        place = int(np.searchsorted(distribution, self.assurance))
        return float(widths[order][min(place, len(order) - 1)])


def binomial_counts(n: int, rate: float, max_counts: int) -> tuple[Floats, Floats]:
    """Counts of Bin(n, rate) with their probabilities, or a grid of them if there are many."""
    half_range = _GRID.deviations * math.sqrt(n * rate * (1 - rate)) + _GRID.margin
    first = max(0, math.floor(n * rate - half_range))
    last = min(n, math.ceil(n * rate + half_range))
    step = -(-(last - first + 1) // max_counts)
    edges = np.append(np.arange(first, last + 1, step), last + 1).astype(np.float64)
    return (edges[:-1] + edges[1:] - 1) / 2, -np.diff(binomial.upper_tail(edges, n, rate))


def _counts_of_rows(n: int, ones: int, q: float, p: float) -> tuple[Floats, Floats]:
    """The likely counts of just these rows, Bin(ones, p) + Bin(n - ones, q)."""
    mean = ones * p + (n - ones) * q
    deviation = math.sqrt(ones * p * (1 - p) + (n - ones) * q * (1 - q))
    if deviation > _ROWS.normal_deviation:
        half_range = -float(scipy.special.ndtri(_ROWS.tail)) * deviation
        # A grid of some thousand counts is enough.
        step = max(1, math.floor(deviation / _ROWS.steps_per_deviation))
        first = max(0, math.floor(mean - half_range))
        counts = np.arange(first, min(n, mean + half_range) + 1, step)
        return counts, np.exp(-(((counts - mean) / deviation) ** 2) / 2)
    first_one, probs_one = binomial.likely_counts(ones, p)
    first_zero, probs_zero = binomial.likely_counts(n - ones, q)
    weights = np.convolve(probs_one, probs_zero)
    counts = first_one + first_zero + np.arange(float(len(weights)))
    if n <= _ROWS.exact_rows:
        return counts, weights
    tails = np.minimum(weights.cumsum(), weights[::-1].cumsum()[::-1])
    likely = tails > _ROWS.tail
    return counts[likely], weights[likely]
