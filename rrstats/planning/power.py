"""Power of a test, sample size for a power, and the least difference that n people notice.

A proportion is compared with a known value (``against``), or with that of a second group, asked by
the same mechanism (``other``).  The reported proportion of n people is Bin(n, s) / n, and power is
the sum of this distribution over the region of rejection: of the exact test that belongs to the
default interval; for two groups, of the z test of two reported proportions with pooled variance.
Where no count is binomial, for more people than that is added up for, and by request
(``exact=False``) it is the normal formula: with v(f) = s (1 - s) / (p - q)^2, or the channel's
variance of one report, 1 - Phi((f0 + z sqrt(v(f0) / n) - f) / sqrt(v(f) / n)), and both tails for
two sides; two groups add their variances, and f0 is a difference.  The formula says too few people
where few reports are expected: for a value near 0 and a large epsilon, 5 instead of 29.
The people returned reach the power that was asked: R's rr (1.4.2) stops at .790 for .80.
Sources: Blair, Imai and Zhou (2015), sect. 4; rr's `power.rr.test`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from rrstats._checks import (
    check_exactly_one,
    check_number,
    check_one_of,
    check_probability,
)
from rrstats._typing import Booleans, Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.posterior import proportions_of
from rrstats.inference.binomial import upper_tail
from rrstats.inference.contrasts import wald_statistic
from rrstats.inference.multinomial import score_statistic
from rrstats.inference.optimize import first_accepted
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import expected_rates, has_latent_classes, transition_matrix
from rrstats.mechanisms.krr import as_mechanism
from rrstats.planning.precision import (
    MOST_PEOPLE,
    CategoryOptions,
    Question,
    check_people,
    numbered,
    plan,
)

_MOST_EXACT, _MOST_EXACT_PAIRS = 10**9, 20_000
"""People up to whom the distribution is added up: one group, and the first of two."""

_SIDES = {"two-sided": [1, -1], "greater": [1], "less": [-1]}
"""The sides on which a test rejects: 1 above, -1 below."""

_AT_ONCE = 4096
_TAIL = 9.0


class PowerOptions(CategoryOptions, total=False):
    """Test whose power is planned.

    against : the value that the proportion is tested against; or
    other : the proportion that one expects in the second group, of n times ``ratio`` people.
    null : for two groups, the proportion of both if they do not differ, by default their mean; for
        the normal formula, which is taken where it is given.
    alternative : "two-sided", "greater" (than the value, or than the other group) or "less".
    alpha : the probability of a false alarm, in (0, 1).
    exact : True: by the binomial distribution of the reports, of the exact test (two-sided: half of
        alpha to each side) or the pooled z test.  False: by the normal formula, as R's rr.  By
        default the distribution where counts are binomial and n is at most 1,000,000,000, in the
        first of two groups 20,000; else the formula.
    """

    against: float | None
    other: float | None
    ratio: float
    null: float | None
    alternative: str
    alpha: float
    exact: bool | None


def power(
    n: int,
    proportion: Any,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    **options: Unpack[PowerOptions],
) -> float:
    """Probability that a test will notice a difference that is there.

    Parameters
    ----------
    n : int
        People who report; with ``other`` people in the first group.
    proportion : float, or sequence of k floats or mapping
        The true proportion that one expects; or all of them, for the test of goodness of fit.
    mechanism, prob, epsilon
        As in `half_width`.
    **options
        category and mix, see `CategoryOptions`; against or other, ratio, null, alternative, alpha
        and exact, see `PowerOptions`; for goodness of fit against, which has all proportions
        of the null, and alpha.

    Returns
    -------
    float
        The power.  That of goodness of fit is by the noncentral chi-squared distribution, which is
        good where all expected counts are some fives.

    Raises
    ------
    ArgumentTypeError
        Not one of against and other is given.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.forced_response(["no", "yes"], 2/3, [1/6, 1/6])
    >>> round(power(1000, 0.15, m, against=0.10), 3)
    0.669
    >>> round(power(1000, 0.15, m, against=0.10, exact=False), 3)
    0.695
    >>> round(power(1000, 0.25, m, other=0.15), 3)
    0.903

    If 15% did it, 1,000 people notice in 2 of 3 surveys that it is not 10%.

    >>> three = ["never", "once", "often"]
    >>> round(power(1000, [0.6, 0.3, 0.1], three, 0.75, against=[0.7, 0.2, 0.1]), 3)
    0.993
    """
    size = check_people(n)
    if np.ndim(proportion) or isinstance(proportion, Mapping):
        made = as_mechanism(numbered(mechanism), prob, epsilon)
        return _fit_power(size, made, proportion, **dict[str, Any](options))
    planned = plan(_Test, proportion, (mechanism, prob, epsilon), options)
    return float(planned.power(np.array([size]))[0])


def people_for_power(
    power: float,
    proportion: float,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    **options: Unpack[PowerOptions],
) -> int:
    """Sample size for a test that notices with this probability.

    Parameters
    ----------
    power : float
        In (0, 1); 0.8 and 0.9 are usual.
    proportion, mechanism, prob, epsilon, **options
        As in `power`.

    Returns
    -------
    int
        The smallest n from which on the power is at least that; of two groups the people of the
        first.  By the exact distribution power goes up and down with n, as counts are whole: it
        holds for larger n too, up to where its waves have died away, at most a million ahead.

    Raises
    ------
    ArgumentValueError
        No n does: the proportion is not on the side of the alternative.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.forced_response(["no", "yes"], 2/3, [1/6, 1/6])
    >>> n = people_for_power(0.8, 0.1, m, against=0, alternative="greater")
    >>> n, round(power(n, 0.1, m, against=0, alternative="greater"), 4)
    (241, 0.8079)
    >>> people_for_power(0.8, 0.1, m, against=0, alternative="greater", exact=False)
    212

    241 people, one in ten of whom did it, show that somebody did in 4 of 5 surveys; by the normal
    formula 212 would be enough.
    """
    why = "no number of people makes it certain"
    wanted = check_number(power, "power", 0, 1, ends="()", hint=why)
    planned = plan(_Test, proportion, (mechanism, prob, epsilon), options)
    planned.check_possible(wanted)
    start = planned.guess(wanted)
    if start > MOST_PEOPLE:
        raise ArgumentValueError(
            f"a power of {wanted:g} takes about {start:.2g} people, more than 2**40"
        )

    def reached(n: int) -> bool:
        return bool(planned.power(np.array([n]))[0] >= wanted)

    found = first_accepted(reached, 0, MOST_PEOPLE, max(1, math.ceil(start)))
    return found if planned.exact is False else planned.settle(found, wanted)


def detectable(
    n: int,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    power: float = 0.8,
    **options: Unpack[PowerOptions],
) -> float:
    """Least difference from a value, or between two groups, that n people will notice.

    Parameters
    ----------
    n, mechanism, prob, epsilon
        As in `power`.
    power : float
        The probability with which the difference is noticed.
    **options
        As in `power`; alternative "less" looks below against or other, the others above.

    Returns
    -------
    float
        The distance of the proportion from against or other at which the power is reached.

    Raises
    ------
    ArgumentValueError
        No proportion does; the message says what power the farthest one has.

    Examples
    --------
    >>> round(detectable(1000, epsilon=1.0, against=0.1), 4)
    0.0911
    >>> round(detectable(1000, epsilon=1.0, other=0.1), 4)
    0.1286

    At epsilon 1 a survey of 1,000 will see that a proportion is not 10% once it is 19%; of two
    groups of 1,000 that one has 10% and the other 23%.
    """
    size, wanted = np.array([check_people(n)]), check_number(power, "power", 0, 1, ends="()")
    farthest = 0.0 if options.get("alternative") == "less" else 1.0
    planned = plan(_Test, farthest, (mechanism, prob, epsilon), options)

    def reached(proportion: float) -> float:
        return float(replace(planned, proportion=proportion).power(size)[0])

    start = planned.compared
    near, far = start, farthest
    if near == far or reached(far) < wanted:
        most = planned.alpha if near == far else reached(far)
        raise ArgumentValueError(
            f"{n:,} people reach a power of {most:.3g} even at a proportion of {far:g}, less than "
            f"{wanted:g}; take more people, or a larger epsilon"
        )
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (near, middle) if reached(middle) >= wanted else (middle, far)
    return abs(far - start)


# -- goodness of fit -----------------------------------------------------------------------------


def _fit_power(
    n: int, mechanism: Mechanism, proportions: Any, *, against: Any, alpha: float = 0.05
) -> float:
    distance, df = fit_distance(n, mechanism, proportions, against)
    limit = scipy.special.chdtri(df, check_probability(alpha, "alpha", "()"))
    return 1 - float(scipy.special.chndtr(limit, df, distance)) if distance < math.inf else 1.0


def fit_distance(n: int, mechanism: Mechanism, proportions: Any, against: Any) -> tuple[float, int]:
    """The noncentrality of the test of goodness of fit, and its degrees of freedom.

    n sum (r1 - r0)^2 / r0 of the reports' rates; for k-RR with proportions p0 + D / sqrt(n) it is
    (e-1)^2 / (e+k-1) sum D^2 / ((e-1) p0 + 1), e = exp(epsilon), Gaboardi and Rogers (2018).
    """
    channel, answers = mechanism.channel, Categories(mechanism.categories)
    real = proportions_of(proportions, answers, "proportion")
    null = proportions_of(against, answers, "against")
    if has_latent_classes(channel) or channel.samples.any():
        raise ArgumentValueError(
            "the power of goodness of fit is there for designs of one sample without latent classes"
        )
    if not channel.is_multinomial:
        distance, df = wald_statistic(real - null, channel.covariance(null, "population"))
        return n * distance, df
    rates, expected = (expected_rates(channel, one) for one in (null, real))
    return score_statistic(transition_matrix(channel), n * expected, rates, np.full_like(rates, n))


# -- the test ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Test:
    """The region of rejection of a test, and how often reports fall into it."""

    question: Question
    proportion: float
    against: float | None = None
    other: float | None = None
    ratio: float = 1.0
    null: float | None = None
    alternative: str = "two-sided"
    alpha: float = 0.05
    exact: bool | None = None

    def __post_init__(self) -> None:
        given = check_exactly_one(against=self.against, other=self.other)
        check_one_of(self.alternative, "alternative", _SIDES)
        check_probability(self.proportion, "proportion")
        check_probability(self.compared, given)
        check_probability(self.null or 0.0, "null")
        check_probability(self.alpha, "alpha", "()")
        check_number(self.ratio, "ratio", 0, math.inf, ends="()")
        if self.null is not None and (self.other is None or self.exact):
            raise ArgumentTypeError(
                "null is of two groups, and for the normal formula; leave null or exact out"
            )
        if self.exact is None and (self.null is not None or self.question.rates is None):
            object.__setattr__(self, "exact", False)

    @property
    def compared(self) -> float:
        """The value, or the proportion of the other group."""
        return cast(float, self.against if self.other is None else self.other)

    @property
    def expected(self) -> float:
        """The proportion if nothing is there."""
        if self.null is not None:
            return self.null
        size = 0.0 if self.other is None else 1.0
        return (size * self.proportion + self.ratio * self.compared) / (size + self.ratio)

    @property
    def tail(self) -> float:
        """The probability of a false alarm to one side."""
        return self.alpha / (1 + (self.alternative == "two-sided"))

    @property
    def z(self) -> float:
        """The quantile that the estimate must exceed."""
        return float(-scipy.special.ndtri(self.tail))

    def power(self, n: NDArray[Any]) -> Floats:
        """The power at each n."""
        most = _MOST_EXACT if self.other is None else _MOST_EXACT_PAIRS
        exact = (n <= most) & (n * self.ratio <= _MOST_EXACT)
        if self.exact and not exact.all():
            raise ArgumentValueError(
                f"exact is for at most {most:,} people, got {n.max():,}; leave it out"
            )
        exact &= self.exact is not False
        found = np.empty(len(n))
        if exact.any():
            found[exact] = self._exact(n[exact])
        if not exact.all():
            found[~exact] = self._normal(n[~exact])
        return found

    # -- the normal formula

    def _deviations(self) -> tuple[float, float]:
        """sqrt(n) times the standard error if nothing is there, and as it is."""
        variance = self.question.variance
        without, real = variance(self.expected), variance(self.proportion)
        if self.other is None:
            return math.sqrt(without), math.sqrt(real)
        real += variance(self.other) / self.ratio
        return math.sqrt(without * (1 + 1 / self.ratio)), math.sqrt(real)

    def _normal(self, n: NDArray[Any]) -> Floats:
        """By the normal formula, as rr has it."""
        without, real = self._deviations()
        if without == 0:
            raise ArgumentValueError(
                f"at a proportion of {self.expected:g} no report of this design varies, so that "
                "the normal formula says nothing; leave exact out"
            )
        scaled = np.sqrt(n.astype(np.float64)) * (self.proportion - self.compared)
        with np.errstate(divide="ignore", invalid="ignore"):
            tails = [(side * scaled - self.z * without) / real for side in _SIDES[self.alternative]]
        # Where nothing varies the test decides without error: 0 / 0 is "not beyond".
        return np.asarray(sum(scipy.special.ndtr(np.nan_to_num(t, nan=-np.inf)) for t in tails))

    def check_possible(self, wanted: float) -> None:
        """Raise where more people do not help, or none are needed."""
        if wanted <= self.alpha:
            raise ArgumentValueError(
                f"power must be above alpha, {self.alpha:g}, which a test reaches without any "
                f"reports; got {wanted:g}"
            )
        difference = self.proportion - self.compared
        if not any(side * difference > 0 for side in _SIDES[self.alternative]):
            relation = {"two-sided": "another"}.get(self.alternative, self.alternative)
            raise ArgumentValueError(
                f"no number of people reaches a power of {wanted:g}: the proportion expected, "
                f"{self.proportion:g}, is not {relation} than {self.compared:g}"
            )

    def guess(self, wanted: float) -> float:
        """About how many people, from the tail that counts."""
        without, real = self._deviations()
        reach = self.z * without + float(scipy.special.ndtri(wanted)) * real
        return (max(reach, 0.0) / (self.proportion - self.compared)) ** 2

    # -- the exact distribution

    def _exact(self, n: NDArray[Any]) -> Floats:
        """The probability of the region of rejection, at each n."""
        second = self.expected if self.other is None else self.other
        rates = [self.question.rate(each) for each in (self.proportion, second)]
        rising = self.question.rate(1.0) > self.question.rate(0.0)
        found = np.zeros(len(n))
        for side in _SIDES[self.alternative]:  # counts that fall are counted the other way round
            rate, other = rates if (side > 0) == rising else (1 - rates[0], 1 - rates[1])
            if self.other is None:
                found += upper_tail(_critical(n, other, self.tail), n, rate)
            else:
                found += [self._pair(size, rate, other) for size in n.tolist()]
        return found

    def _pair(self, n: int, rate: float, other: float) -> float:
        """P(the first reported proportion exceeds the second by z pooled standard errors)."""
        m = max(1, round(n * self.ratio))
        reach = _TAIL * math.sqrt(n * rate * (1 - rate)) + 40
        x = np.arange(max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach)) + 1)
        below = upper_tail(np.append(x, x[-1] + 1), n, rate)

        def rejected(second: Floats) -> Booleans:
            y = np.maximum(second, 0)
            pooled = (x + y) / (n + m)
            error = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
            return np.asarray((x / n - y / m >= self.z * error) & (error > 0))

        # The largest second count that is still rejected: fewer ones are, too.
        low, high = np.full(len(x), -1.0), np.floor(np.minimum(m, x * (m / n)))
        low = np.where(rejected(np.zeros(len(x))), 0.0, low)
        high = np.maximum(high, low)
        while np.any(high - low > 0):  # halves: at most 30 times for a billion people
            middle = np.ceil((low + high) / 2)
            kept = rejected(middle) & (middle >= 0)
            low, high = np.where(kept, middle, low), np.where(kept, high, middle - 1)
        second = np.where(low < 0, 0.0, 1 - upper_tail(low + 1, m, other))
        return float(-np.diff(below) @ second)

    def settle(self, n: int, wanted: float) -> int:
        """The smallest n from which on the power is kept, at or after the one found."""
        s = self.question.rate(self.expected)
        variance = max(s * (1 - s), 0.1 / n)
        quantiles = abs(self.z) + abs(float(scipy.special.ndtri(wanted)))
        # A wave lasts 1/s or 1/(1-s) people, and waves die away over so many (see the tests).
        wave = (2 + 4 / quantiles) * math.sqrt(n / variance) + 3 / variance
        ahead, start = math.ceil(min(wave * (1.0 if self.other is None else 0.1), 1e6)), n
        while start <= n + ahead:  # power tends to 1, so that n stays
            block = np.arange(start, min(start + _AT_ONCE, n + ahead + 1))
            short = np.flatnonzero(self.power(block) < wanted)
            if short.size:
                n = int(block[short[-1]]) + 1
            start = int(block[-1]) + 1
        return n


def _critical(size: NDArray[Any], rate: float, tail: float) -> Floats:
    """The least count whose upper tail is at most this; size + 1 where none is."""
    z = float(-scipy.special.ndtri(tail))
    skew = (1 - 2 * rate) * (z * z - 1) / 6  # Cornish and Fisher: mostly the edge itself
    near = np.ceil(size * rate + z * np.sqrt(size * rate * (1 - rate)) + skew + 0.5)
    place = np.clip(near, 0, size)
    # Steps of 1 to the edge: the tail falls from 1 to 0 on the way through 0 .. size + 1.
    while (short := upper_tail(place, size, rate) > tail).any():
        place += short
    while (ample := (place > 0) & (upper_tail(place - 1, size, rate) <= tail)).any():
        place -= ample
    return place
