"""Melded intervals and p-values of the difference of two proportions from binomial counts.

The ends of Clopper-Pearson's intervals at all levels are two confidence distributions of a reported
rate: with x of n they are Beta(x, n - x + 1) for lower ends and Beta(x + 1, n - x) for upper ones
(a point at 0 or 1 where a parameter is 0).  Carried through the channel they are distributions of
the true proportion, which are not cut to [0, 1].  With independent L1 and U2 the lower end of the
melded interval at level 1 - alpha is the alpha / 2 quantile of L1 - U2, and the upper end mirrors
it.  The one-sided p-value is P(L1 <= U2); for two samples of one design it is that of Fisher's
exact test.

P(A <= B + d) is the mean of the distribution function of the wider one over the narrower one, by
Gauss and Legendre's quadrature in normal scores.  It runs between the scores at which the wider one
begins and ends; outside these the function is 0 or 1.
Source: Fay, Proschan and Brittain (2015).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from rrstats._typing import Booleans, Floats, Indices
from rrstats.inference.contrasts import Interval, normal_quantile
from rrstats.inference.optimize import ValuesAndSlopes, last_accepted

_MAX_SCORE = 9.5
"""Largest normal score of the quadrature; what lies beyond has a probability of 1e-21."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(80)
"""Nodes and weights of the quadrature."""

_CLOSE = 1e-9
"""Distance from an end of an interval, in normal scores, that is rounding."""

_LAST_TERM = 1e-13
"""Terms of Fisher's test, over the first, that are not summed."""

SMALLEST_TAIL = 1e-12
"""Smallest p-value that the quadrature computes to several digits."""


class BinomialCounts(NamedTuple):
    """(k,) binomial counts, their sizes, and their rates at a true proportion of 0 and of 1."""

    counts: Floats
    sizes: Floats
    false_positive_rate: Floats
    true_positive_rate: Floats

    def take(self, which: Indices) -> BinomialCounts:
        """The counts of some categories."""
        return BinomialCounts(*(values[which] for values in self))


class _Carried(NamedTuple):
    """(c,) distributions of (R - q) / gap, with R ~ Beta(a, b); a point where a or b is 0."""

    a: Floats
    b: Floats
    q: Floats
    gap: Floats

    def ends(self) -> Interval:
        """The least and the largest value."""
        least_rate = np.where(self.b > 0, 0.0, 1.0)
        largest_rate = np.where(self.a > 0, 1.0, 0.0)
        return Interval((least_rate - self.q) / self.gap, (largest_rate - self.q) / self.gap)

    def mean(self) -> Floats:
        """Means."""
        return np.asarray((self.a / (self.a + self.b) - self.q) / self.gap)

    def variance(self) -> Floats:
        """Variances."""
        total = self.a + self.b
        return np.asarray(self.a * self.b / ((total + 1) * (total * self.gap) ** 2))

    def mirrored(self) -> _Carried:
        """The distributions of the values times -1."""
        return _Carried(self.b, self.a, 1 - self.q, self.gap)

    def take(self, which: Indices) -> _Carried:
        """The distributions of some problems."""
        return _Carried(*(values[which] for values in self))


def _choose(condition: Booleans, first: _Carried, second: _Carried) -> _Carried:
    """The first where the condition holds, else the second."""
    return _Carried(*(np.where(condition, *pair) for pair in zip(first, second, strict=True)))


def _confidence(binomial: BinomialCounts, upper: bool) -> _Carried:
    """The confidence distributions of the lower, or of the upper ends."""
    x, n, q, p = (np.asarray(values, dtype=np.float64) for values in binomial)
    is_falling = p < q  # then the count of the complement rises with the proportion
    x = np.where(is_falling, n - x, x)
    q = np.where(is_falling, 1 - q, q)
    gap = np.abs(np.asarray(binomial.true_positive_rate) - binomial.false_positive_rate)
    return _Carried(x + upper, n - x + (not upper), q, gap)


def _below(a: Floats, b: Floats, rate: Floats, *, strict: bool = False) -> Floats:
    """P(R <= rate), or P(R < rate), for R ~ Beta(a, b)."""
    safe_a = np.where(a > 0, a, 1.0)
    safe_b = np.where(b > 0, b, 1.0)
    smooth = scipy.special.betainc(safe_a, safe_b, np.clip(rate, 0.0, 1.0))
    point = np.where(a > 0, 1.0, 0.0)
    reached = rate > point if strict else rate >= point
    return np.where((a > 0) & (b > 0), smooth, reached)


def _density(a: Floats, b: Floats, rate: Floats) -> Floats:
    """The density of Beta(a, b); 0 outside (0, 1) and for a point."""
    inside = (rate > 0) & (rate < 1) & (a > 0) & (b > 0)
    safe = np.where(inside, rate, 0.5)
    safe_a = np.where(a > 0, a, 1.0)
    safe_b = np.where(b > 0, b, 1.0)
    logs = scipy.special.xlogy(safe_a - 1, safe) + scipy.special.xlog1py(safe_b - 1, -safe)
    return np.where(inside, np.exp(logs - scipy.special.betaln(safe_a, safe_b)), 0.0)


def _rates_at(spread: _Carried, scores: Floats) -> Floats:
    """(c, g) the rates at normal scores, precise in both tails; the point of a point."""
    a = np.broadcast_to(np.where(spread.a > 0, spread.a, 1.0)[:, None], scores.shape)
    b = np.broadcast_to(np.where(spread.b > 0, spread.b, 1.0)[:, None], scores.shape)
    tails = scipy.special.ndtr(-np.abs(scores))
    lower = scores < 0
    rates = np.empty_like(scores)
    rates[lower] = scipy.special.betaincinv(a[lower], b[lower], tails[lower])
    rates[~lower] = scipy.special.betainccinv(a[~lower], b[~lower], tails[~lower])
    rates = np.where(spread.a[:, None] > 0, rates, 0.0)
    return np.where(spread.b[:, None] > 0, rates, 1.0)


def _tails(first: _Carried, second: _Carried, shift: Floats) -> tuple[Floats, Floats]:
    """(c,) P(A <= B + shift), and its derivative by the shift."""
    is_first_wider = first.variance() >= second.variance()
    wide = _choose(is_first_wider, first, second.mirrored())
    narrow = _choose(is_first_wider, second, first.mirrored())
    # At a rate r of the narrower one the wider one is compared with the rate (r - start) * ratio.
    ratio = wide.gap / narrow.gap
    start = narrow.q - narrow.gap * (wide.q / wide.gap + shift)
    end = start + narrow.gap / wide.gap
    beyond = _below(narrow.b, narrow.a, 1 - end, strict=True)
    with np.errstate(divide="ignore"):
        low = scipy.special.ndtri(_below(narrow.a, narrow.b, start, strict=True))
        high = -scipy.special.ndtri(beyond)
    low = np.clip(low, -_MAX_SCORE, _MAX_SCORE)
    high = np.clip(high, low, _MAX_SCORE)
    is_point = (narrow.a <= 0) | (narrow.b <= 0)
    half = np.where(is_point, 0.0, (high - low) / 2)
    scores = ((low + high) / 2)[:, None] + half[:, None] * _NODES
    masses = half[:, None] * _WEIGHTS * np.exp(-(scores**2) / 2) / np.sqrt(2 * np.pi)
    masses[is_point] = 1 / len(_NODES)
    beyond = np.where(is_point, 0.0, beyond)
    rates = (_rates_at(narrow, scores) - start[:, None]) * ratio[:, None]
    a = wide.a[:, None]
    b = wide.b[:, None]
    tail = (masses * _below(a, b, rates)).sum(axis=1) + beyond
    slope = (masses * _density(a, b, rates)).sum(axis=1) * wide.gap
    return tail, slope


def melded_tail(first: BinomialCounts, second: BinomialCounts) -> Floats:
    """(k,) one-sided p-values: small where the first proportion is larger than the second.

    Examples
    --------
    >>> n, q, p = np.array([12.0]), np.array([0.25]), np.array([0.75])
    >>> nine = BinomialCounts(np.array([9.0]), n, q, p)
    >>> three = BinomialCounts(np.array([3.0]), n, q, p)
    >>> melded_tail(nine, three).round(4)
    array([0.0196])

    Both samples have one design, so this is the p-value of Fisher's exact test.
    """
    a = _confidence(first, upper=False)
    b = _confidence(second, upper=True)
    tail, _ = _tails(a, b, np.zeros(len(a.a)))
    return tail


def melded_p_value(first: BinomialCounts, second: BinomialCounts) -> Floats:
    """(k,) two-sided p-values: twice the smaller one-sided p-value."""
    tails = np.minimum(melded_tail(first, second), melded_tail(second, first))
    return np.asarray(np.minimum(2 * tails, 1.0))


def melded_interval(first: BinomialCounts, second: BinomialCounts, level: float) -> Interval:
    """(k,) intervals of the difference of the proportions; not cut.

    Examples
    --------
    >>> n, q, p = np.array([12.0]), np.array([0.0]), np.array([1.0])
    >>> nine = BinomialCounts(np.array([9.0]), n, q, p)
    >>> three = BinomialCounts(np.array([3.0]), n, q, p)
    >>> low, high = melded_interval(nine, three, 0.95)
    >>> low.round(4), high.round(4)
    (array([0.0202]), array([0.8102]))
    """
    tail = (1 - level) / 2
    low = lower_end(first, second, tail)
    return Interval(low, -lower_end(second, first, tail))


def lower_end(first: BinomialCounts, second: BinomialCounts, tail: float) -> Floats:
    """(k,) lower ends of melded intervals: the difference at which the one-sided p-value is a tail.

    Solved for the normal score of the p-value, which is nearly linear in the difference.
    """
    a = _confidence(first, upper=False)
    b = _confidence(second, upper=True)
    quantile = normal_quantile(1 - 2 * tail)

    def excess(which: Indices, shift: Floats) -> ValuesAndSlopes:
        probability, slope = _tails(a.take(which), b.take(which), shift)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            score = scipy.special.ndtri(probability)
            score_slope = slope * np.sqrt(2 * np.pi) * np.exp(score**2 / 2)
        return -quantile - score, -score_slope

    largest = a.ends().high - b.ends().low
    smallest = a.ends().low - b.ends().high
    start = a.mean() - b.mean() - quantile * np.sqrt(a.variance() + b.variance())
    start = np.clip(start, smallest, largest)
    return last_accepted(excess, largest, smallest, start, close=_CLOSE)


def fisher_tail(x: Floats, n: int, y: Floats, m: int) -> Floats:
    """P(X >= x | X + Y = x + y) for binomial X of n and Y of m with one rate: Fisher's test.

    It is 1 where the first rate is not the larger one; else its terms fall from x on.

    Examples
    --------
    >>> fisher_tail(np.array([9.0]), 12, np.array([3.0]), 12).round(4)
    array([0.0196])
    """
    tail = np.ones(len(x))
    is_larger = x * m > y * n
    x = x[is_larger]
    y = y[is_larger]
    logs = _log_choices(x, n) + _log_choices(y, m) - _log_choices(x + y, n + m)
    term = np.ones(len(x))
    series = np.zeros(len(x))
    step = 1
    while (term > _LAST_TERM).any():
        series += term
        ways = np.maximum(n - x - step + 1, 0.0) * np.maximum(y - step + 1, 0.0)
        term *= ways / ((x + step) * (m - y + step))
        step += 1
    tail[is_larger] = np.minimum(np.exp(logs) * series, 1.0)
    return tail


def _log_choices(x: Floats, n: int) -> Floats:
    """The logarithm of the number of ways to choose x of n."""
    return np.asarray(-np.log1p(n) - scipy.special.betaln(n - x + 1, x + 1))
