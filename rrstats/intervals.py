"""Confidence intervals: pure functions of counts, vectorized over any shape.

A binomial interval for the *reported* share is exact or not whatever the mechanism; carried
through the channel's two rates it is one for the *true* share with the same coverage.
Names end in what they bound: ``*_rates`` bound a reported rate, the others a true share.

Sources: Clopper and Pearson (1934); Wilson (1927); Agresti and Coull (1998); Blaker (2000);
Newcombe (1998) for differences (MOVER); Reiczigel, Foldi and Ozsvari (2010) for the map; for
the share in the rows at hand, inversion of Bin(N1, p) + Bin(n - N1, q).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = [
    "EXACT_ROWS",
    "METHODS",
    "Interval",
    "agresti_coull_rates",
    "blaker_rates",
    "bounded_likelihood_rates",
    "carry",
    "check_level",
    "check_method",
    "clopper_pearson_rates",
    "likelihood_rates",
    "mover_difference",
    "population_interval",
    "rows_interval",
    "rows_likelihood_interval",
    "rows_score_interval",
    "wald_rates",
    "wilson_rates",
]

Floats = NDArray[np.float64]

EXACT_ROWS = 100_000
"""Up to this many rows the interval for the rows at hand inverts their exact law."""

_HALVINGS = 64
"""Bisection steps that exhaust the digits of a double in [0, 1]."""


class Interval(NamedTuple):
    """Both ends of an interval, scalars or arrays of one shape."""

    low: Any
    high: Any


def check_level(level: object) -> float:
    """A confidence level in (0, 1); raises otherwise."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number):
        raise ArgumentTypeError(f"level must be a number, found {type(level).__name__}")
    if not 0 < level < 1:
        hint = "; write 0.95, not 95" if level >= 1 else ""
        raise ArgumentValueError(f"level must be in (0, 1), got {level!r}{hint}")
    return float(level)


# -- the reported rate ---------------------------------------------------------------------


def _counts(reported: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    x, size = np.broadcast_arrays(
        np.asarray(reported, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    return x, size


def _z(level: float) -> float:
    return float(-special.ndtri((1 - level) / 2))


def clopper_pearson_rates(reported: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """The exact interval with equal tails: never covers less than ``level``.

    reported, n : counts and sample sizes of one shape.

    >>> low, high = clopper_pearson_rates(3, 10)
    >>> round(float(low), 6), round(float(high), 6)
    (0.06674, 0.652453)
    """
    x, size = _counts(reported, n)
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = special.betaincinv(np.maximum(x, 1e-300), size - x + 1, tail)
        high = special.betaincinv(x + 1, np.maximum(size - x, 1e-300), 1 - tail)
    return Interval(np.where(x <= 0, 0.0, low), np.where(x >= size, 1.0, high))


def wilson_rates(reported: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """The score interval: short, and mostly near its level; worst for small rates.

    >>> low, high = wilson_rates(412, 1000)
    >>> round(float(low), 6), round(float(high), 6)
    (0.381887, 0.442786)
    """
    x, size = _counts(reported, n)
    z2 = _z(level) ** 2
    centre = (x + z2 / 2) / (size + z2)
    half = np.sqrt(z2 * (x * (size - x) / size + z2 / 4)) / (size + z2)
    low, high = centre - half, centre + half
    return Interval(np.where(x <= 0, 0.0, low), np.where(x >= size, 1.0, high))


def agresti_coull_rates(reported: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Wald's interval after adding z**2/2 of each answer; may leave [0, 1].

    >>> low, high = agresti_coull_rates(0, 50)
    >>> round(float(low), 6), round(float(high), 6)
    (-0.013869, 0.085216)
    """
    x, size = _counts(reported, n)
    z = _z(level)
    larger = size + z**2
    centre = (x + z**2 / 2) / larger
    half = z * np.sqrt(centre * (1 - centre) / larger)
    return Interval(centre - half, centre + half)


def wald_rates(reported: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Estimate plus and minus z standard errors, as R's packages print it; not cut.

    Its coverage breaks down near 0 and 1: 43% instead of 95% has been computed.

    >>> low, high = wald_rates(31, 200)
    >>> round(float(low), 6), round(float(high), 6)
    (0.104843, 0.205157)
    """
    x, size = _counts(reported, n)
    rate = x / size
    half = _z(level) * np.sqrt(rate * (1 - rate) / size)
    return Interval(rate - half, rate + half)


def _bisect(
    accept: Callable[[Floats], NDArray[np.bool_]], inside: Floats, outside: Floats
) -> Floats:
    """The edge between points that are accepted (``inside``) and points that are not."""
    good, bad = inside.astype(np.float64), outside.astype(np.float64)
    for _ in range(_HALVINGS):
        middle = (good + bad) / 2
        accepted = accept(middle)
        good, bad = np.where(accepted, middle, good), np.where(accepted, bad, middle)
    return good


def _deviance(x: Floats, size: Floats, rate: Floats) -> Floats:
    """-2 log-likelihood of a binomial rate, without its constant; infinite if impossible."""
    with np.errstate(divide="ignore"):
        return np.asarray(-2 * (special.xlogy(x, rate) + special.xlog1py(size - x, -rate)))


def bounded_likelihood_rates(
    reported: ArrayLike, n: ArrayLike, level: float, lowest: ArrayLike, highest: ArrayLike
) -> Interval:
    """Rates in [lowest, highest] not rejected by the likelihood ratio against the best there.

    Never empty and never a single point for lowest < highest, even where the observed rate
    lies outside.

    >>> low, high = bounded_likelihood_rates(10, 100, 0.95, 0.25, 0.75)
    >>> float(low), round(float(high), 4)
    (0.25, 0.2623)
    """
    x, size = _counts(reported, n)
    floor, ceiling = np.asarray(lowest, dtype=np.float64), np.asarray(highest, dtype=np.float64)
    best = np.clip(np.divide(x, size, out=np.zeros_like(x), where=size > 0), floor, ceiling)
    limit = _deviance(x, size, best) + _z(level) ** 2

    def accept(rate: Floats) -> NDArray[np.bool_]:
        return np.asarray(_deviance(x, size, rate) <= limit)

    floor, ceiling = np.broadcast_to(floor, best.shape), np.broadcast_to(ceiling, best.shape)
    low = np.where(accept(floor), floor, _bisect(accept, best, floor))
    high = np.where(accept(ceiling), ceiling, _bisect(accept, best, ceiling))
    return Interval(low, high)


def likelihood_rates(reported: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Rates that the likelihood ratio does not reject.

    >>> low, high = likelihood_rates(20, 50)
    >>> round(float(low), 4), round(float(high), 4)
    (0.2717, 0.5382)
    """
    return bounded_likelihood_rates(reported, n, level, 0.0, 1.0)


def blaker_rates(reported: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Blaker's exact interval: never covers less than ``level``, inside Clopper-Pearson's.

    A rate is accepted where the smaller tail, and the other side's tail that is not larger,
    together exceed 1 - level.  Returns the hull of the accepted rates.  The pieces between
    its jumps are convex with one minimum, so two bisections find each end.
    Source: Blaker (2000), theorem 1; pieces: Klaschka (2010).

    >>> low, high = blaker_rates(3, 10)
    >>> round(float(low), 6), round(float(high), 6)
    (0.087264, 0.619411)
    """
    x, size = _counts(reported, n)
    low = _blaker_low(x, size, level)
    return Interval(low, 1 - _blaker_low(size - x, size, level))


def _upper_tail(x: Floats, size: Floats, rate: ArrayLike) -> Floats:
    """P(X >= x) for X ~ Bin(size, rate)."""
    safe = np.maximum(x, 1.0)
    return np.where(x <= 0, 1.0, special.betainc(safe, np.maximum(size - safe + 1, 0.5), rate))


def _lower_tail(x: Floats, size: Floats, rate: ArrayLike) -> Floats:
    """P(X <= x) for X ~ Bin(size, rate)."""
    return _upper_tail(size - x, size, 1 - np.asarray(rate))


def _blaker_low(x: Floats, size: Floats, level: float) -> Floats:
    alpha = 1 - level
    start = np.asarray(clopper_pearson_rates(x, size, level).low)
    # y: the largest count whose lower tail at `start` is at most its upper tail alpha / 2.
    bottom, top = np.full_like(x, -1.0), x.copy()
    while np.any(top - bottom > 1):
        middle = np.floor((bottom + top) / 2)
        fits = _lower_tail(middle, size, start) <= alpha / 2
        bottom, top = np.where(fits, middle, bottom), np.where(fits, top, middle)
    other = bottom

    # The piece ends where the next count's lower tail falls to the upper tail of x.
    def before_jump(rate: Floats) -> NDArray[np.bool_]:
        return np.asarray(_lower_tail(other + 1, size, rate) > _upper_tail(x, size, rate))

    jump = _bisect(before_jump, start, np.ones_like(x))

    def accept(rate: Floats) -> NDArray[np.bool_]:
        left = np.where(other >= 0, _lower_tail(np.maximum(other, 0.0), size, rate), 0.0)
        return np.asarray(_upper_tail(x, size, rate) + left > alpha)

    edge = np.where(accept(jump), _bisect(accept, jump, start), jump)
    return np.where(x <= 0, 0.0, edge)


METHODS: dict[str, Callable[..., Interval]] = {
    "clopper-pearson": clopper_pearson_rates,
    "wilson": wilson_rates,
    "agresti-coull": agresti_coull_rates,
    "blaker": blaker_rates,
    "lr": likelihood_rates,
    "wald": wald_rates,
}
"""The interval methods by name; the first is the default."""


def check_method(method: object) -> str:
    """A method's name; raises with the list of them otherwise."""
    if isinstance(method, str) and method in METHODS:
        return method
    raise ArgumentValueError(f"method must be one of {list(METHODS)}, got {method!r}")


# -- the true share ------------------------------------------------------------------------


def carry(rates: Interval, base: ArrayLike, top: ArrayLike) -> Interval:
    """An interval of the reported rate as one of the true share: (rate - base) / (top - base).

    base, top : the rate at a true share of 0 and of 1.  Nothing is cut.

    >>> low, high = carry(Interval(0.3, 0.4), 0.25, 0.75)
    >>> round(low, 12), round(high, 12)
    (0.1, 0.3)
    """
    floor = np.asarray(base, dtype=np.float64)
    gap = np.asarray(top, dtype=np.float64) - floor
    first, second = (rates.low - floor) / gap, (rates.high - floor) / gap
    return Interval(np.minimum(first, second), np.maximum(first, second))


def population_interval(
    reported: ArrayLike,
    n: ArrayLike,
    base: ArrayLike,
    top: ArrayLike,
    level: float = 0.95,
    method: str = "clopper-pearson",
) -> Interval:
    """The true share in the population that the n respondents are a sample of.

    reported : how many reports count for each category, Bin(n, base + share (top - base)).
    Every method but "wald" is cut to [0, 1]; where the unbiased estimate lies outside,
    the likelihood-ratio interval of shares inside [0, 1] is added, so that no interval is a
    sliver.  Adding points never lowers the coverage.  No respondents: [0, 1].

    >>> low, high = population_interval(312, 1000, 0.25, 0.75)
    >>> round(float(low), 6), round(float(high), 6)
    (0.066746, 0.183477)
    """
    x, size = _counts(reported, n)
    empty = size == 0
    floor, ceiling = np.asarray(base, dtype=np.float64), np.asarray(top, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = carry(METHODS[method](x, size, level), floor, ceiling)
        if method != "wald":
            share = (x / size - floor) / (ceiling - floor)
            bounded = bounded_likelihood_rates(
                x, size, level, np.minimum(floor, ceiling), np.maximum(floor, ceiling)
            )
            low, high = _settle(share, Interval(low, high), carry(bounded, floor, ceiling))
    return Interval(np.where(empty, 0.0, low), np.where(empty, 1.0, high))


def _settle(share: Floats, found: Interval, bounded: Interval) -> Interval:
    """Cut to [0, 1]; where the estimate is outside, the union with the bounded interval."""
    low, high = np.clip(found.low, 0, 1), np.clip(found.high, 0, 1)
    outside = (share < 0) | (share > 1)
    low = np.where(outside, np.minimum(low, bounded.low), low)
    high = np.where(outside, np.maximum(high, bounded.high), high)
    return Interval(np.clip(low, 0, 1), np.clip(high, 0, 1))


def rows_interval(
    reported: ArrayLike, n: int, base: ArrayLike, top: ArrayLike, level: float = 0.95
) -> Interval:
    """The true share among the n respondents themselves, nobody else.

    Their true answers are fixed; only the randomization is random, so this interval is
    shorter than the population's.  Up to `EXACT_ROWS` rows it inverts the exact law of the
    count, Bin(N1, top) + Bin(n - N1, base), with equal tails; above, the score interval with
    a continuity correction.  Where the estimate is outside [0, 1] the likelihood-ratio
    interval is added, as for the population.

    >>> low, high = rows_interval(25, 60, 0.25, 0.75)
    >>> round(float(low) * 60), round(float(high) * 60)
    (6, 34)
    """
    x = np.asarray(reported, dtype=np.float64)
    floors, ceilings = np.broadcast_to(base, x.shape), np.broadcast_to(top, x.shape)
    low, high = np.zeros(x.shape), np.ones(x.shape)
    if n == 0:
        return Interval(low, high)
    known: dict[tuple[float, float, float], tuple[float, float]] = {}
    for place in np.ndindex(x.shape):
        case = (float(x[place]), float(floors[place]), float(ceilings[place]))
        if case not in known:
            known[case] = _rows_case(*case, n, level)
        low[place], high[place] = known[case]
    return Interval(low, high)


def _rows_case(x: float, base: float, top: float, n: int, level: float) -> tuple[float, float]:
    if top < base:  # count the other way round, so that the count grows with the share
        x, base, top = n - x, 1 - base, 1 - top
    share = (x / n - base) / (top - base)
    if n > EXACT_ROWS:
        low, high = rows_score_interval(x, n, base, top, level, correction=0.5)
    else:
        tail = (1 - level) / 2
        low = _first(lambda ones: _sum_tail(x, ones, n, base, top, upper=True) > tail, n) / n
        high = (n - _first(lambda z: _sum_tail(x, n - z, n, base, top, upper=False) > tail, n)) / n
    if 0 <= share <= 1:
        return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))
    added = rows_likelihood_interval(x, n, base, top, level)
    merged = _settle(np.asarray(share), Interval(low, high), added)
    return float(merged.low), float(merged.high)


def _first(accept: Callable[[int], bool], n: int) -> int:
    """The smallest integer of 0 .. n that is accepted, for a rule that stays true; else n."""
    below_it, at_most = -1, n
    while at_most - below_it > 1:
        middle = (below_it + at_most) // 2
        if accept(middle):
            at_most = middle
        else:
            below_it = middle
    return at_most


def _binomial_pmf(x: Floats, size: int, rate: float) -> Floats:
    """P(X = x) for X ~ Bin(size, rate), 0 outside 0 .. size."""
    inside = (x >= 0) & (x <= size)
    y = np.where(inside, x, 0.0)
    log = (
        special.gammaln(size + 1)
        - special.gammaln(y + 1)
        - special.gammaln(size - y + 1)
        + special.xlogy(y, rate)
        + special.xlog1py(size - y, -rate)
    )
    return np.where(inside, np.exp(log), 0.0)


def _likely(size: int, rate: float) -> Floats:
    """The integers that hold all but 1e-30 of Bin(size, rate)."""
    reach = 12 * np.sqrt(size * rate * (1 - rate)) + 40
    return np.arange(max(0, int(size * rate - reach)), min(size, int(size * rate + reach)) + 1.0)


def _sum_tail(x: float, ones: int, n: int, base: float, top: float, *, upper: bool) -> float:
    """P(C >= x) or P(C <= x) for C = Bin(ones, top) + Bin(n - ones, base)."""
    first = _likely(ones, top)
    weight = _binomial_pmf(first, ones, top)
    rest, zeros = x - first, np.asarray(float(n - ones))
    if upper:
        tail = np.where(rest > zeros, 0.0, _upper_tail(rest, zeros, base))
    else:
        tail = np.where(rest < 0, 0.0, 1.0)
        part = (rest >= 0) & (rest < zeros)
        tail[part] = _lower_tail(rest[part], zeros, base)
    return float(weight @ tail)


def rows_likelihood_interval(
    reported: float, n: int, base: float, top: float, level: float = 0.95
) -> Interval:
    """Shares among the n rows that the likelihood ratio does not reject, inside [0, 1].

    Exact law up to `EXACT_ROWS` rows; above, its normal approximation.
    """
    z2 = _z(level) ** 2

    def deviance(ones: int) -> float:
        if n > EXACT_ROWS:
            variance = ones * top * (1 - top) + (n - ones) * base * (1 - base)
            mean = ones * top + (n - ones) * base
            return float((reported - mean) ** 2 / variance + np.log(variance))
        first = _likely(ones, top)
        mass = _binomial_pmf(first, ones, top) @ _binomial_pmf(reported - first, n - ones, base)
        return float(-2 * np.log(mass)) if mass > 0 else np.inf

    share = (reported / n - base) / (top - base)
    best = int(np.clip(round(share * n), 0, n))
    # Outside [0, 1] the likelihood is monotone, and its best point is the end of the range.
    limit = min(deviance(best), deviance(0), deviance(n)) + z2
    low = _first(lambda ones: ones >= best or deviance(ones) <= limit, n)
    high = n - _first(lambda zeros: n - zeros <= best or deviance(n - zeros) <= limit, n)
    return Interval(np.float64(low / n), np.float64(high / n))


def rows_score_interval(
    reported: ArrayLike,
    n: ArrayLike,
    base: ArrayLike,
    top: ArrayLike,
    level: float = 0.95,
    *,
    correction: float = 0.0,
) -> Interval:
    """The score interval of the share among the rows, in closed form; not cut.

    Roots in the share of (rate - expected)**2 = z**2 / n times the randomization variance,
    with the count moved outward by ``correction``.
    """
    x, size = _counts(reported, n)
    q, p = np.asarray(base, dtype=np.float64), np.asarray(top, dtype=np.float64)
    gap, z2 = p - q, _z(level) ** 2

    def root(rate: Floats, sign: int) -> Floats:
        offset = rate - q
        slope = (p * (1 - p) - q * (1 - q)) * z2 / size
        half_b = -(gap * offset + slope / 2)
        c = offset**2 - z2 / size * q * (1 - q)
        spread = np.sqrt(np.maximum(half_b**2 - gap**2 * c, 0.0))
        return np.asarray((-half_b + sign * spread) / gap**2)

    return Interval(root((x - correction) / size, -1), root((x + correction) / size, 1))


def mover_difference(
    first: ArrayLike, first_interval: Interval, second: ArrayLike, second_interval: Interval
) -> Interval:
    """The difference first - second of two independent shares, from their own intervals.

    Give uncut intervals (Wilson's, carried through the channel): only the difference is
    cut to [-1, 1].  Source: Newcombe (1998), method 10; MOVER of Zou and Donner (2008).

    >>> low, high = mover_difference(0.5, Interval(0.4, 0.6), 0.2, Interval(0.1, 0.3))
    >>> round(float(low), 6), round(float(high), 6)
    (0.158579, 0.441421)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    low = a - b - np.hypot(a - first_interval.low, second_interval.high - b)
    high = a - b + np.hypot(first_interval.high - a, b - second_interval.low)
    return Interval(np.clip(low, -1, 1), np.clip(high, -1, 1))
