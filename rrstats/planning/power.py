"""Power of a test, sample size for a power, and the smallest detectable difference.

A proportion is compared with a known value (``against``), or with that of a second group with the
same mechanism (``other``).  The reported proportion of n people is Bin(n, s) / n, and power is the
probability of the rejection region: of the exact test that corresponds to the default interval; for
two groups, whose design is the same, of the test that corresponds to the melded interval of their
difference, Fisher's exact test of the reports (half of alpha on each side).
If no count is binomial, if n is too large for that sum, and with ``exact=False``, power is from the
normal formula: with v(f) = s (1 - s) / (p - q)^2, or the channel's variance of one report,
1 - Phi((f0 + z sqrt(v(f0) / n) - f) / sqrt(v(f) / n)), and both tails for a two-sided test; for two
groups the variances are added, and f0 is a difference.  With few expected reports the formula gives
too small samples: for a value near 0 and a large epsilon, 5 people instead of 29.
The sample size reaches the requested power: R's rr (1.4.2) stops at .790 for .80.
Sources: Blair, Imai and Zhou (2015), sect. 4; rr's `power.rr.test`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack, cast

import numpy as np
import scipy

from rrstats._checks import (
    check_alpha,
    check_number,
    check_one_of,
    check_probability,
)
from rrstats._names import checked_options
from rrstats._typing import Array, Counts, Floats, Indices, NumbersByCategory
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.posterior import proportions_of
from rrstats.inference.binomial import upper_tail
from rrstats.inference.contrasts import wald_statistic
from rrstats.inference.melded import fisher_tail
from rrstats.inference.multinomial import score_statistic
from rrstats.inference.optimize import (
    first_accepted,
    first_positive_each,
    last_accepted_number,
)
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import expected_rates, has_latent_classes, transition_matrix
from rrstats.mechanisms.krr import MechanismLike, as_mechanism
from rrstats.planning.precision import (
    MAX_PEOPLE,
    FieldworkOptions,
    Question,
    binomial_counts,
    check_people,
    numbered,
    people_in_words,
    plan,
)
from rrstats.planning.response_rates import fieldwork_of

_SIDES = {"two-sided": [1, -1], "greater": [1], "less": [-1]}
"""The sides on which a test rejects: 1 above, -1 below."""


@dataclass(frozen=True)
class _ExactConstants:
    """Constants of exact power.

    max_people : largest size of each group whose power is exact.
    max_first : largest first of two groups, whose counts are all enumerated.
    negligible : probability of a count of the first group, with a rejected second one, that is
        left out.
    block : sample sizes whose power is computed at once.
    max_ahead : larger sample sizes whose power is checked, at most.
    pair_wave : part of the variation of power over n that is left with two groups.
    """

    max_people: int = 10**9
    max_first: int = 20_000
    negligible: float = 1e-13
    block: int = 4096
    max_ahead: float = 1e6
    pair_wave: float = 0.1


_EXACT = _ExactConstants()


class PowerOptions(FieldworkOptions, total=False):
    """Test whose power is planned, besides `FieldworkOptions`.

    against : the proportion under the null hypothesis; or
    other : the expected proportion in the second group, which has n times ``ratio`` people;
        against is then that of both under the null hypothesis, by default their mean; if it is
        given, the normal formula is used.
    alternative : "two-sided", "greater" (than the value, or than the other group) or "less".
    alpha : the significance level, in (0, 1).
    exact : True: by the binomial distribution of the reports, for the exact test (two-sided: half
        of alpha on each side; of two groups Fisher's).  False: by the normal formula, as R's rr.
        The default is the distribution where counts are binomial and n is at most 1,000,000,000
        (the first of two groups: 20,000), else the formula.
    """

    against: float | None
    other: float | None
    ratio: float
    alternative: str
    alpha: float
    exact: bool | None


@checked_options(PowerOptions)
def power(
    n: int,
    proportion: Any,
    mechanism: MechanismLike | int = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    **options: Unpack[PowerOptions],
) -> float:
    """Calculate the power of a test: the probability that it rejects a false null hypothesis.

    Parameters
    ----------
    n : int
        The number of respondents, with a response rate of people who are asked; with ``other``
        those of the first group.
    proportion : float, or sequence of k floats or mapping
        The expected true proportion; or all proportions, for the test of goodness of fit.
    mechanism, prob, epsilon
        As in `half_width`.
    **options
        category and fieldwork, see `FieldworkOptions`; against or other, ratio, alternative, alpha
        and exact, see `PowerOptions`; for goodness of fit alpha and against, all proportions under
        the null hypothesis.

    Returns
    -------
    float
        The power.  For goodness of fit it is from the noncentral chi-squared distribution, which is
        accurate if all expected counts are well above 5.

    Raises
    ------
    ArgumentTypeError
        Neither against nor other is given.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.forced_response(["no", "yes"], 2/3, [1/6, 1/6])
    >>> round(power(1000, 0.15, m, against=0.10), 3)
    0.669
    >>> round(power(1000, 0.15, m, against=0.10, exact=False), 3)
    0.695
    >>> round(power(1000, 0.25, m, other=0.15), 3)
    0.894

    If the true proportion is 15%, a survey of 1,000 people rejects 10% with probability 0.67.

    >>> three = ["never", "once", "often"]
    >>> round(power(1000, [0.6, 0.3, 0.1], three, 0.75, against=[0.7, 0.2, 0.1]), 3)
    0.993
    """
    fieldwork, rest = fieldwork_of(options, "alpha", 0.05)
    size = fieldwork.reports(check_people(n))
    if np.ndim(proportion) or isinstance(proportion, Mapping):
        design = as_mechanism(numbered(mechanism), prob, epsilon)
        if not has_latent_classes(design.channel):
            return _fit_power(size, design, proportion, **rest)
    planned = plan(_Test, proportion, (mechanism, prob, epsilon), rest)
    return float(planned.power(np.array([size]))[0])


@checked_options(PowerOptions)
def people_for_power(
    power: float,
    proportion: float,
    mechanism: MechanismLike | int = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    **options: Unpack[PowerOptions],
) -> int:
    """Calculate the sample size for a test with this power.

    Parameters
    ----------
    power : float
        The power, in (0, 1); 0.8 and 0.9 are usual.
    proportion, mechanism, prob, epsilon, **options
        As in `power`.

    Returns
    -------
    int
        The smallest n from which on the power is at least this, with a response rate of people to
        ask; for two groups the size of the first.  Exact power goes up and down with n, because
        counts are whole numbers.  Larger n reach the power too; this is checked until its variation
        is negligible, for at most a million larger n.

    Raises
    ------
    ArgumentValueError
        No n reaches it, because the proportion is not on the side of the alternative.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.forced_response(["no", "yes"], 2/3, [1/6, 1/6])
    >>> n = people_for_power(0.8, 0.1, m, against=0, alternative="greater")
    >>> n, round(power(n, 0.1, m, against=0, alternative="greater"), 4)
    (241, 0.8079)
    >>> people_for_power(0.8, 0.1, m, against=0, alternative="greater", exact=False)
    212

    If the true proportion is 10%, 241 people reject a proportion of 0 with a power of 0.8; the
    normal formula gives 212 people.
    """
    why = "no sample size gives a power of 1"
    power = check_number(power, "power", 0, 1, ends="()", hint=why)
    fieldwork, rest = fieldwork_of(options, "alpha", 0.05)
    planned = plan(_Test, proportion, (mechanism, prob, epsilon), rest)
    planned.check_possible(power)
    start = planned.guess(power)
    if start > MAX_PEOPLE:
        raise ArgumentValueError(
            f"a power of {power:g} needs about {start:.2g} people, more than 2**40"
        )

    def is_enough(n: int) -> bool:
        return bool(planned.power(np.array([n]))[0] >= power)

    size = first_accepted(is_enough, 0, MAX_PEOPLE, max(1, math.ceil(start)))
    return fieldwork.people(size if planned.exact is False else planned.settle(size, power))


@checked_options(PowerOptions)
def detectable_difference(
    n: int,
    mechanism: MechanismLike | int = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    power: float = 0.8,
    **options: Unpack[PowerOptions],
) -> float:
    """Calculate the smallest difference that a test of n people detects with a given power.

    Parameters
    ----------
    n, mechanism, prob, epsilon
        As in `power`.
    power : float
        The power.
    **options
        As in `power`; alternative "less" searches below against or other, the others above.

    Returns
    -------
    float
        The smallest distance of the proportion from against or other with this power.

    Raises
    ------
    ArgumentValueError
        No proportion has this power; the message gives the largest power.

    Examples
    --------
    >>> round(detectable_difference(1000, epsilon=1.0, against=0.1), 4)
    0.0911
    >>> round(detectable_difference(1000, epsilon=1.0, other=0.1), 4)
    0.1309

    At epsilon 1 a survey of 1,000 people rejects 10% with a power of 0.8 if the true proportion is
    19%.  Two groups of 1,000 differ significantly with this power if they have 10% and 23%.
    """
    fieldwork, rest = fieldwork_of(options, "alpha", 0.05)
    size = np.array([fieldwork.reports(check_people(n))])
    power = check_number(power, "power", 0, 1, ends="()")
    farthest = 0.0 if options.get("alternative") == "less" else 1.0
    planned = plan(_Test, farthest, (mechanism, prob, epsilon), rest)

    def power_at(proportion: float) -> float:
        return float(replace(planned, proportion=proportion).power(size)[0])

    compared = planned.compared
    largest = planned.alpha if compared == farthest else power_at(farthest)
    if compared == farthest or largest < power:
        raise ArgumentValueError(
            f"power must be at most {largest:.3g} for {people_in_words(n)}, which a proportion of "
            f"{farthest:g} gives, got {power:g}; use more people or a larger epsilon"
        )

    def missing(proportion: float) -> float:
        return power - power_at(proportion)

    return abs(last_accepted_number(missing, farthest, compared) - compared)


# -- goodness of fit -----------------------------------------------------------------------------


def _fit_power(
    n: int,
    mechanism: Mechanism,
    proportions: NumbersByCategory,
    *,
    against: NumbersByCategory,
    alpha: float = 0.05,
) -> float:
    """Power of the test of goodness of fit."""
    distance, df = fit_distance(n, mechanism, proportions, against)
    return chi_squared_power(distance, df, check_alpha(alpha))


def chi_squared_power(noncentrality: float, df: int, alpha: float) -> float:
    """The probability that a noncentral chi-squared is significant."""
    if noncentrality == math.inf:
        return 1.0
    limit = scipy.special.chdtri(df, alpha)
    return 1 - float(scipy.special.chndtr(limit, df, noncentrality))


def fit_distance(
    n: int, mechanism: Mechanism, proportions: NumbersByCategory, against: NumbersByCategory
) -> tuple[float, int]:
    """The noncentrality of the test of goodness of fit, and its degrees of freedom.

    n sum (r1 - r0)^2 / r0 with the probabilities r of reports; for k-RR with p0 + D / sqrt(n) it is
    (e-1)^2 / (e+k-1) sum D^2 / ((e-1) p0 + 1), e = exp(epsilon), Gaboardi and Rogers (2018).
    """
    channel = mechanism.channel
    answers = Categories(mechanism.categories)
    real = proportions_of(proportions, answers, "proportion")
    null = proportions_of(against, answers, "against")
    if has_latent_classes(channel) or channel.samples.any():
        raise ArgumentValueError(
            "the power of goodness of fit needs a design with one sample and without latent classes"
        )
    if not channel.is_multinomial:
        distance, df = wald_statistic(real - null, channel.covariance(null, "population"))
        return n * distance, df
    rates = expected_rates(channel, null)
    counts = n * expected_rates(channel, real)
    return score_statistic(transition_matrix(channel), counts, rates, np.full_like(rates, n))


# -- the test ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Test:
    """The rejection region of a test, and its probability."""

    question: Question
    proportion: float
    against: float | None = None
    other: float | None = None
    ratio: float = 1.0
    alternative: str = "two-sided"
    alpha: float = 0.05
    exact: bool | None = None

    def __post_init__(self) -> None:
        if self.against is None and self.other is None:
            raise ArgumentTypeError("give against or other, found neither")
        check_one_of(self.alternative, "alternative", _SIDES)
        check_probability(self.proportion, "proportion")
        check_probability(self.against or 0.0, "against")
        check_probability(self.other or 0.0, "other")
        check_alpha(self.alpha)
        check_number(self.ratio, "ratio", 0, math.inf, ends="()")
        if self.exact and self.has_null:
            raise ArgumentTypeError(
                "against of two groups is for the normal formula; leave exact out"
            )
        if self.exact is None and (self.has_null or self.question.rates is None):
            object.__setattr__(self, "exact", False)

    @property
    def has_null(self) -> bool:
        """The proportion of both groups under the null hypothesis is given."""
        return self.against is not None and self.other is not None

    @property
    def compared(self) -> float:
        """The value under the null hypothesis, or the proportion of the other group."""
        return cast(float, self.against if self.other is None else self.other)

    @property
    def expected(self) -> float:
        """The proportion under the null hypothesis."""
        if self.has_null:
            return cast(float, self.against)
        size = 0.0 if self.other is None else 1.0
        return (size * self.proportion + self.ratio * self.compared) / (size + self.ratio)

    @property
    def tail(self) -> float:
        """The significance level on one side."""
        return self.alpha / len(_SIDES[self.alternative])

    @property
    def z(self) -> float:
        """The critical value."""
        return float(-scipy.special.ndtri(self.tail))

    def power(self, n: Array) -> Floats:
        """The power at each n."""
        limit = _EXACT.max_people if self.other is None else _EXACT.max_first
        exact = (n <= limit) & (n * self.ratio <= _EXACT.max_people)
        if self.exact and not exact.all():
            raise ArgumentValueError(
                f"exact=True is for at most {limit:,} people, got {n.max():,}; leave exact out"
            )
        exact &= self.exact is not False
        power = np.empty(len(n))
        if exact.any():
            power[exact] = self._exact(n[exact])
        if not exact.all():
            power[~exact] = self._normal(n[~exact])
        return power

    # -- the normal formula

    def _deviations(self) -> tuple[float, float]:
        """sqrt(n) times the standard error under the null hypothesis, and under the alternative."""
        null = self.question.variance(self.expected)
        real = self.question.variance(self.proportion)
        if self.other is None:
            return math.sqrt(null), math.sqrt(real)
        real += self.question.variance(self.other) / self.ratio
        return math.sqrt(null * (1 + 1 / self.ratio)), math.sqrt(real)

    def _normal(self, n: Array) -> Floats:
        """The power by the normal formula, as in R's rr."""
        null, real = self._deviations()
        if null == 0:
            raise ArgumentValueError(
                f"the normal formula needs reports that vary, but at a proportion of "
                f"{self.expected:g} those of this design do not; leave exact out"
            )
        scaled = np.sqrt(n.astype(np.float64)) * (self.proportion - self.compared)
        with np.errstate(divide="ignore", invalid="ignore"):
            tails = [(side * scaled - self.z * null) / real for side in _SIDES[self.alternative]]
        # Without variation the test has no error; 0 / 0 means "not rejected".
        return np.asarray(sum(scipy.special.ndtr(np.nan_to_num(t, nan=-np.inf)) for t in tails))

    def check_possible(self, power: float) -> None:
        """Raise for a power that no n reaches, or that needs no reports."""
        if power <= self.alpha:
            raise ArgumentValueError(
                f"power must be above alpha, {self.alpha:g}, which a test without reports has; got "
                f"{power:g}"
            )
        difference = self.proportion - self.compared
        if not any(side * difference > 0 for side in _SIDES[self.alternative]):
            relation = "another" if self.alternative == "two-sided" else self.alternative
            raise ArgumentValueError(
                f"no number of people reaches a power of {power:g}: the expected proportion, "
                f"{self.proportion:g}, is not {relation} than {self.compared:g}"
            )

    def guess(self, power: float) -> float:
        """An approximate sample size, from the main tail."""
        null, real = self._deviations()
        distance = self.z * null + float(scipy.special.ndtri(power)) * real
        return (max(distance, 0.0) / (self.proportion - self.compared)) ** 2

    # -- the exact distribution

    def _exact(self, n: Array) -> Floats:
        """The probability of the rejection region at each n."""
        second = self.expected if self.other is None else self.other
        rate = self.question.rate(self.proportion)
        other = self.question.rate(second)
        is_rising = self.question.rate(1.0) > self.question.rate(0.0)
        power = np.zeros(len(n))
        for side in _SIDES[self.alternative]:
            if (side > 0) == is_rising:
                power += self._upper(n, rate, other)
            else:  # counts of the complement
                power += self._upper(n, 1 - rate, 1 - other)
        return power

    def _upper(self, n: Array, rate: float, other: float) -> Floats:
        """The probability of the upper rejection region at each n."""
        if self.other is None:
            return np.asarray(upper_tail(_critical(n, other, self.tail), n, rate))
        return np.array([self._pair(size, rate, other) for size in n.tolist()])

    def _pair(self, n: int, rate: float, other: float) -> float:
        """P(Fisher's exact test rejects for the first reported proportion being the larger one)."""
        m = max(1, round(n * self.ratio))
        x, masses = binomial_counts(n, rate, n + 1)
        near = _nearly_rejected(x, n, m, self.z)
        matters = masses * (1 - upper_tail(near + 3 * max(1, m // n), m, other)) > _EXACT.negligible
        x = x[matters]
        low = _largest_rejected(x, n, m, near=near[matters], tail=self.tail)
        second = np.where(low < 0, 0.0, 1 - upper_tail(low + 1, m, other))
        return float(masses[matters] @ second)

    def settle(self, n: int, power: float) -> int:
        """The smallest n, at least this one, such that all larger n have the power too."""
        s = self.question.rate(self.expected)
        variance = max(s * (1 - s), 0.1 / n)
        quantiles = abs(self.z) + abs(float(scipy.special.ndtri(power)))
        # Power goes up and down with a period of 1/s or 1/(1-s), and less so for larger n.
        wave = (2 + 4 / quantiles) * math.sqrt(n / variance) + 3 / variance
        if self.other is not None:
            wave *= _EXACT.pair_wave
        ahead = math.ceil(min(wave, _EXACT.max_ahead))
        start = n
        while start <= n + ahead:  # ends, because power tends to 1
            block = np.arange(start, min(start + _EXACT.block, n + ahead + 1))
            insufficient = np.flatnonzero(self.power(block) < power)
            if insufficient.size:
                n = int(block[insufficient[-1]]) + 1
            start = int(block[-1]) + 1
        return n


def _critical(size: Array, rate: float, tail: float) -> Floats:
    """The smallest count whose upper tail is at most this; size + 1 if there is none."""
    z = float(-scipy.special.ndtri(tail))
    skew = (1 - 2 * rate) * (z * z - 1) / 6  # Cornish and Fisher: mostly the exact count
    near = np.ceil(size * rate + z * np.sqrt(size * rate * (1 - rate)) + skew + 0.5)
    count = np.clip(near, 0, size)
    # Steps of 1 to the exact count: the tail decreases from 1 to 0 over 0 .. size + 1.
    while (too_low := upper_tail(count, size, rate) > tail).any():
        count += too_low
    while (too_high := (count > 0) & (upper_tail(count - 1, size, rate) <= tail)).any():
        count -= too_high
    return count


def _nearly_rejected(x: Floats, n: int, m: int, z: float) -> Floats:
    """The largest second counts by the normal formula with Yates's correction; -1 if none."""
    highest = np.floor(np.minimum(m, x * (m / n))) + 1

    def excess(which: Indices, second: Counts) -> Floats:
        pooled = (x[which] + second) / (n + m)
        error = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        distance = x[which] / n - second / m
        return np.asarray(z * error + (1 / n + 1 / m) / 2 - distance)

    return _last_rejected(excess, highest, highest / 2)


def _largest_rejected(x: Floats, n: int, m: int, *, near: Floats, tail: float) -> Floats:
    """The largest second counts at which Fisher's test rejects; -1 if there is none.

    near : counts from which the search starts.  All smaller counts than those sought are rejected,
        too.
    """

    def excess(which: Indices, second: Counts) -> Floats:
        return fisher_tail(x[which], n, second.astype(np.float64), m) - tail

    return _last_rejected(excess, np.full(len(x), m + 1.0), near)


def _last_rejected(
    excess: Callable[[Indices, Counts], Floats], outside: Floats, guess: Floats
) -> Floats:
    """The last counts below ``outside`` whose p-values are not in excess; -1 if none."""
    first = first_positive_each(
        excess,
        np.full(len(guess), -1),
        outside.astype(np.int64),
        guess.astype(np.int64),
        slope=np.full(len(guess), np.nan),
    )
    return first.astype(np.float64) - 1
