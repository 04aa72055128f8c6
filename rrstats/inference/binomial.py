"""Confidence intervals of binomial counts: pure functions, vectorized over any shape.

A binomial interval for the *reported* rate is exact or not whatever the mechanism; carried
through the channel's two rates it is one for the *true* proportion with the same coverage.
Names end in what they bound: ``*_rates`` bound a reported rate, the others a true proportion.
``false_positive_rate`` q and ``true_positive_rate`` p are the reported rates at a true proportion
of 0 and of 1.

Sources: Clopper and Pearson (1934); Wilson (1927); Agresti and Coull (1998); Blaker (2000);
Reiczigel, Foldi and Ozsvari (2010) for the map; for the proportion in the rows at hand, inversion
of Bin(N1, p) + Bin(n - N1, q).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rrstats._typing import Array, Booleans, Counts, Floats, Indices
from rrstats.inference.contrasts import Interval, cut_to_unit, hull, normal_quantile
from rrstats.inference.optimize import (
    ValuesAndSlopes,
    first_positive_each,
    last_accepted,
    root_excess,
)

EXACT_ROWS = 10_000_000_000
"""Up to this many rows the interval for the rows at hand inverts their exact distribution."""


# -- the reported rate ---------------------------------------------------------------------


def _arrays(*values: ArrayLike) -> list[Floats]:
    """Numbers as arrays of doubles of one shape."""
    return list(np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in values)))


def _by_case(interval: Callable[..., Interval], *values: ArrayLike) -> Interval:
    """The interval of each case, from a function of arrays of shape (b,).

    Equal cases are computed once: among many categories many counts are equal.
    """
    arrays = _arrays(*values)
    cases, place = np.unique([array.ravel() for array in arrays], axis=1, return_inverse=True)
    low, high = interval(*cases)
    place = place.reshape(arrays[0].shape)
    return Interval(low[place], high[place])


def _rate(x: Floats, size: Floats) -> Floats:
    """The observed rate; 1/2 where there are no reports, and every interval is [0, 1]."""
    return np.asarray(np.divide(x, size, out=np.full(x.shape, 0.5), where=size > 0))


def clopper_pearson_rates(counts: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """The exact interval with equal tails: never covers less than ``level``.

    Parameters
    ----------
    counts, n : array-like
        Counts and sample sizes of one shape; of weighted surveys they need not be whole.
    level : float
        The confidence.

    Returns
    -------
    Interval
        Of the reported rate.

    Examples
    --------
    >>> low, high = clopper_pearson_rates(3, 10)
    >>> round(float(low), 6), round(float(high), 6)
    (0.06674, 0.652453)
    """
    x, size = _arrays(counts, n)
    tail = (1 - level) / 2
    # Where a count is 0 its bound is 0; the 1 below only keeps the function defined.
    low = scipy.special.betaincinv(np.where(x > 0, x, 1), size - x + 1, tail)
    high = scipy.special.betainccinv(x + 1, np.where(size - x > 0, size - x, 1), tail)
    return Interval(np.where(x <= 0, 0.0, low), np.where(x >= size, 1.0, high))


def wilson_rates(counts: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """The score interval: short, and mostly near its level; worst for small rates.

    Lowest exact coverage at 95% on the grid that the tests enumerate: 92.2%.

    >>> low, high = wilson_rates(412, 1000)
    >>> round(float(low), 6), round(float(high), 6)
    (0.381887, 0.442786)
    """
    x, size = _arrays(counts, n)
    z2 = normal_quantile(level) ** 2
    centre = (x + z2 / 2) / (size + z2)
    half = np.sqrt(z2 * (x * (1 - _rate(x, size)) + z2 / 4)) / (size + z2)
    low = np.where(x <= 0, 0.0, centre - half)
    high = np.where(x >= size, 1.0, centre + half)
    return Interval(low, high)


def agresti_coull_rates(counts: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Wald's interval after adding z**2/2 of each answer; may leave [0, 1].

    Lowest exact coverage on the tests' grid: 93.5%.

    >>> low, high = agresti_coull_rates(0, 50)
    >>> round(float(low), 6), round(float(high), 6)
    (-0.013869, 0.085216)
    """
    x, size = _arrays(counts, n)
    z = normal_quantile(level)
    larger = size + z**2
    centre = (x + z**2 / 2) / larger
    half = z * np.sqrt(centre * (1 - centre) / larger)
    return Interval(centre - half, centre + half)


def wald_rates(counts: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Estimate plus and minus z standard errors, as R's packages print it; not cut.

    Its coverage breaks down near 0 and 1: 42.8% instead of 95% on the tests' grid.

    >>> low, high = wald_rates(31, 200)
    >>> round(float(low), 6), round(float(high), 6)
    (0.104843, 0.205157)
    """
    x, size = _arrays(counts, n)
    rate = _rate(x, size)
    half = normal_quantile(level) * np.sqrt(rate * (1 - rate) / np.maximum(size, 1))
    low = np.where(size > 0, rate - half, 0.0)
    high = np.where(size > 0, rate + half, 1.0)
    return Interval(low, high)


def likelihood_rates(
    counts: ArrayLike,
    n: ArrayLike,
    level: float = 0.95,
    *,
    lowest: ArrayLike = 0.0,
    highest: ArrayLike = 1.0,
) -> Interval:
    """Rates in [lowest, highest] not rejected by the likelihood ratio against the best there.

    Never empty and never a single point for lowest < highest, even where the observed rate
    lies outside.  Lowest exact coverage of the true proportion on the tests' grid: 92.3%.

    >>> low, high = likelihood_rates(20, 50)
    >>> round(float(low), 4), round(float(high), 4)
    (0.2717, 0.5383)
    """

    def interval(x: Floats, size: Floats, floor: Floats, ceiling: Floats) -> Interval:
        limit = np.full(len(x), normal_quantile(level) ** 2)
        return _likelihood_ends(x, size, floor, ceiling, limit=limit)

    return _by_case(interval, counts, n, lowest, highest)


def _likelihood_ends(
    x: Floats, size: Floats, floor: Floats, ceiling: Floats, *, limit: Floats
) -> Interval:
    """(b,) ends of the rates whose deviance from the best in [floor, ceiling] is up to a limit."""
    best = np.clip(_rate(x, size), floor, ceiling)

    def excess(which: Indices, rate: Floats) -> ValuesAndSlopes:
        places = which % len(x)
        yes = x[places]
        no = size[places] - yes
        near = best[places]
        away = rate - near
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.divide(away, near, out=np.zeros_like(away), where=yes > 0)
            down = np.divide(-away, 1 - near, out=np.zeros_like(away), where=no > 0)
            logs = scipy.special.xlog1py(yes, up) + scipy.special.xlog1py(no, down)
            slope = 2 * (no / (1 - rate) - yes / rate)
        return root_excess(np.maximum(-2 * logs, 0.0), slope, limit[places])

    ends = last_accepted(excess, np.tile(best, 2), np.concatenate([floor, ceiling]))
    return Interval(*np.split(ends, 2))


def blaker_rates(counts: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Blaker's exact interval: never covers less than ``level``, inside Clopper-Pearson's.

    A rate is accepted where the smaller tail, and the other side's tail that is not larger,
    together exceed 1 - level.  Returns the hull of the accepted rates.  The pieces between
    its jumps are convex with one minimum, so two bisections find each end.
    Source: Blaker (2000), theorem 1; pieces: Klaschka (2010).

    >>> low, high = blaker_rates(3, 10)
    >>> round(float(low), 6), round(float(high), 6)
    (0.087264, 0.619411)
    """

    def interval(x: Floats, size: Floats) -> Interval:
        return Interval(_blaker_low(x, size, level), 1 - _blaker_low(size - x, size, level))

    return _by_case(interval, counts, n)


def upper_tail(x: float | Floats, size: float | Floats, rate: ArrayLike) -> Floats:
    """P(X >= x) for X ~ Bin(size, rate); of weighted surveys neither need be whole."""
    safe = np.maximum(x, 1.0)
    tail = scipy.special.betainc(safe, np.maximum(size - safe + 1, 0.5), rate)
    return np.where(x <= 0, 1.0, np.where(x > size, 0.0, tail))


def _lower_tail(x: Floats | Counts, size: Floats, rate: ArrayLike) -> Floats:
    """P(X <= x) for X ~ Bin(size, rate)."""
    return upper_tail(size - x, size, 1 - np.asarray(rate))


def _blaker_low(x: Floats, size: Floats, level: float) -> Floats:
    """(b,) lower ends of Blaker's intervals."""
    alpha = 1 - level
    start = np.asarray(clopper_pearson_rates(x, size, level).low)
    unknown = np.full(len(x), np.nan)

    def above_half(which: Indices, count: Counts) -> Floats:
        return _lower_tail(count, size[which], start[which]) - alpha / 2

    # y: the largest count whose lower tail at `start` is at most its upper tail alpha / 2.
    none = np.full(len(x), -1)
    most = np.ceil(x).astype(np.int64)
    y = first_positive_each(above_half, none, most, most // 2, slope=unknown) - 1

    # The piece ends where the next count's lower tail falls to the upper tail of x.
    def after_jump(which: Indices, rate: Floats) -> tuple[Floats, Floats]:
        lower = _lower_tail(y[which] + 1, size[which], rate)
        return upper_tail(x[which], size[which], rate) - lower, unknown[which]

    jump = last_accepted(after_jump, start, np.ones_like(x), (start + 1) / 2, close=0.0)

    def rejection(which: Indices, rate: Floats) -> tuple[Floats, Floats]:
        lower = np.where(y[which] >= 0, _lower_tail(y[which], size[which], rate), 0.0)
        return alpha - (upper_tail(x[which], size[which], rate) + lower), unknown[which]

    is_accepted = rejection(np.arange(len(x)), jump)[0] < 0
    edge = last_accepted(rejection, jump, start, (start + jump) / 2, close=0.0)
    return np.where(x <= 0, 0.0, np.where(is_accepted, edge, jump))


DEFAULT_METHOD = "clopper-pearson"
"""The default interval for the population."""

METHOD_OF_ROWS = "clopper-pearson"
"""The name of the only interval of target "sample", where counts are binomial."""

METHODS: dict[str, Callable[..., Interval]] = {
    "clopper-pearson": clopper_pearson_rates,
    "wilson": wilson_rates,
    "agresti-coull": agresti_coull_rates,
    "blaker": blaker_rates,
    "likelihood-ratio": likelihood_rates,
    "wald": wald_rates,
}
"""The interval methods by name; the first is the default."""


# -- the true proportion -------------------------------------------------------------------


def carry(
    rates: Interval, false_positive_rate: ArrayLike, true_positive_rate: ArrayLike
) -> Interval:
    """An interval of the reported rate as one of the true proportion, (rate - q) / (p - q).

    Nothing is cut.

    >>> low, high = carry(Interval(0.3, 0.4), 0.25, 0.75)
    >>> round(float(low), 12), round(float(high), 12)
    (0.1, 0.3)
    """
    q = np.asarray(false_positive_rate, dtype=np.float64)
    p = np.asarray(true_positive_rate, dtype=np.float64)
    first = (rates.low - q) / (p - q)
    second = (rates.high - q) / (p - q)
    return Interval(np.minimum(first, second), np.maximum(first, second))


def population_interval(
    counts: ArrayLike,
    n: ArrayLike,
    false_positive_rate: ArrayLike,
    true_positive_rate: ArrayLike,
    *,
    level: float = 0.95,
    method: str = DEFAULT_METHOD,
) -> Interval:
    """The true proportion in the population that the n respondents are a sample of.

    Parameters
    ----------
    counts, n : array-like
        Reports that count for each category, and respondents.
    false_positive_rate, true_positive_rate : array-like
        The rate of such reports at a true proportion of 0 and of 1.
    level : float
        The confidence.
    method : str
        One of `METHODS`.

    Returns
    -------
    Interval
        Every method but "wald" is cut to [0, 1]; where the unbiased estimate lies outside,
        the likelihood-ratio interval of proportions inside [0, 1] is added, so that no interval is
        a sliver.  Adding points never lowers the coverage.  No respondents: [0, 1].

    Examples
    --------
    >>> low, high = population_interval(312, 1000, 0.25, 0.75)
    >>> round(float(low), 6), round(float(high), 6)
    (0.066746, 0.183477)
    """

    def interval(x: Floats, size: Floats, q: Floats, p: Floats) -> Interval:
        uncut = carry(METHODS[method](x, size, level), q, p)
        if method == "wald":
            return Interval(np.where(size > 0, uncut.low, 0.0), np.where(size > 0, uncut.high, 1.0))
        low, high = cut_to_unit(uncut)
        proportion = (_rate(x, size) - q) / (p - q)
        out = (proportion < 0) | (proportion > 1)
        if out.any():
            bounded = likelihood_rates(
                x[out],
                size[out],
                level,
                lowest=np.minimum(q, p)[out],
                highest=np.maximum(q, p)[out],
            )
            added = cut_to_unit(carry(bounded, q[out], p[out]))
            low[out], high[out] = hull(Interval(low[out], high[out]), added)
        return Interval(low, high)

    return _by_case(interval, counts, n, false_positive_rate, true_positive_rate)


def anytime_interval(
    counts: ArrayLike,
    n: ArrayLike,
    false_positive_rate: ArrayLike,
    true_positive_rate: ArrayLike,
    *,
    level: float = 0.95,
) -> Interval:
    """Intervals of the true proportion that hold at every look, however often one looks.

    counts, n, false_positive_rate, true_positive_rate : as for `population_interval`.

    A rate r stays inside while the likelihood of the counts so far, averaged over a Beta
    distribution of rates, is at most 1 / (1 - level) times that at r.  The ratio is a martingale at
    the true rate, so it ever exceeds that bound with probability 1 - level at most (Ville).  The
    Beta distribution has mean and variance of a uniform one over the rates that truths can give.
    Source: Robbins (1970), "Statistical methods related to the law of the iterated logarithm".

    >>> anytime_interval(500, 1000, 0.25, 0.75).low.round(3)
    np.float64(0.398)
    """

    def interval(x: Floats, size: Floats, q: Floats, p: Floats) -> Interval:
        mean = (p + q) / 2
        total = mean * (1 - mean) / ((p - q) ** 2 / 12) - 1
        a = mean * total
        b = (1 - mean) * total
        gain = scipy.special.betaln(a + x, b + size - x) - scipy.special.betaln(a, b)
        best = _rate(x, size)
        largest = scipy.special.xlogy(x, best) + scipy.special.xlog1py(size - x, -best)
        limit = 2 * (largest - gain - np.log1p(-level))
        rates = _likelihood_ends(x, size, np.zeros_like(x), np.ones_like(x), limit=limit)
        return cut_to_unit(carry(rates, q, p))

    return _by_case(interval, counts, n, false_positive_rate, true_positive_rate)


def score_interval(
    estimates: Interval, v_members: Floats, v_others: Floats, scale: float | Floats
) -> Interval:
    """Score intervals of proportions among the rows at hand, in closed form; not cut.

    Roots in t of (estimate - t)^2 = scale (t v_members + (1 - t) v_others).

    estimates : the same twice without a correction for continuity.
    v_members, v_others : variances of the scores of people of the category, and of all others.
    scale : the square of a normal quantile, over the number of rows.
    """

    def root(estimate: Floats, sign: int) -> Floats:
        half_b = estimate + scale * (v_members - v_others) / 2
        discriminant = np.maximum(half_b**2 - estimate**2 + scale * v_others, 0.0)
        return np.asarray(half_b + sign * np.sqrt(discriminant))

    return Interval(root(estimates.low, -1), root(estimates.high, 1))


def rows_variance_interval(
    proportions: Floats, n: int, variances: Floats, parts: Booleans, *, level: float
) -> Interval:
    """(k,) score intervals of proportions among n rows, whose scores have known variances; not cut.

    variances : (k, classes) of each category's score, by true class.  parts : (k, classes) the
    classes of the category.  Of several classes the one with the largest variance counts.
    """
    if not n:
        return Interval(np.zeros_like(proportions), np.ones_like(proportions))
    v_members = np.where(parts, variances, 0.0).max(axis=1)
    v_others = np.where(parts, 0.0, variances).max(axis=1)
    scale = normal_quantile(level) ** 2 / n
    both = Interval(proportions, proportions)
    # Where the variance at a root would be negative there is none; the estimate stays inside.
    return hull(score_interval(both, v_members, v_others, scale), both)


def rows_interval(
    counts: ArrayLike,
    n: ArrayLike,
    false_positive_rate: ArrayLike,
    true_positive_rate: ArrayLike,
    *,
    level: float = 0.95,
) -> Interval:
    """The true proportion among the n respondents themselves, nobody else.

    Parameters
    ----------
    counts, n, false_positive_rate, true_positive_rate, level
        As for `population_interval`.

    Returns
    -------
    Interval
        Both ends are whole numbers of rows; an estimate between two of them is between the ends,
        too.  Where the estimate is outside [0, 1] the likelihood-ratio interval is added, as for
        the population.

    Notes
    -----
    Their true answers are fixed; only the randomization is random, so this interval is
    shorter than the population's.  Up to `EXACT_ROWS` rows it inverts the exact distribution of the
    count, Bin(N1, p) + Bin(n - N1, q), with equal tails; above, the score interval with
    a continuity correction, which is no longer exact where only a few reports are expected.

    Examples
    --------
    >>> low, high = rows_interval(25, 60, 0.25, 0.75)
    >>> round(float(low) * 60), round(float(high) * 60)
    (6, 34)
    """

    def interval(x: Floats, size: Floats, q: Floats, p: Floats) -> Interval:
        is_complement = p < q  # then the other reports are counted
        x = np.where(is_complement, size - x, x)
        q, p = np.where(is_complement, [1 - q, 1 - p], [q, p])
        low = np.zeros_like(x)
        high = np.ones_like(x)
        reported = np.flatnonzero(size)
        rows = _Rows(size[reported].astype(np.int64), q[reported], p[reported])
        low[reported], high[reported] = rows.interval(x[reported].astype(np.int64), level)
        return Interval(low, high)

    return _by_case(interval, counts, n, false_positive_rate, true_positive_rate)


@dataclass(frozen=True)
class _Rows:
    """The reports that count among n rows, Bin(ones, p) + Bin(n - ones, q), in each of b problems.

    n, q, p : (b,) with n > 0 and p > q.
    """

    n: Counts
    q: Floats
    p: Floats

    def take(self, which: Array) -> _Rows:
        """Some of the problems."""
        return _Rows(self.n[which], self.q[which], self.p[which])

    @property
    def complement(self) -> _Rows:
        """The reports that do not count."""
        return _Rows(self.n, 1 - self.p, 1 - self.q)

    def interval(self, x: Counts, level: float) -> Interval:
        """(b,) the proportions of ones, from the counts x."""
        n = self.n
        estimate = (x - n * self.q) / (self.p - self.q)
        low, high = self._score(x, normal_quantile(level) ** 2, 0.5)
        is_under = x < n * self.q  # estimates below 0, whose lower ends are 0
        is_over = x > n * self.p
        is_exact = n <= EXACT_ROWS
        # Both tails at once exclude a number only outside 0 .. n: one step of N1 moves the count by
        # at most one, so there the two searches never cross; outside, they meet at 0 or n.
        exact = np.flatnonzero(is_exact & ~is_under)
        low[exact] = self.take(exact).fewest(x[exact], level) / n[exact]
        exact = np.flatnonzero(is_exact & ~is_over)
        size = n[exact]
        high[exact] = (size - self.take(exact).complement.fewest(size - x[exact], level)) / size
        under = np.flatnonzero(is_under)
        over = np.flatnonzero(is_over)
        # Next to no noise: the whole number that is left lies beside the estimate.
        aside = ~((low * n - 1e-9 <= estimate) & (estimate <= high * n + 1e-9))
        aside[is_under | is_over] = False
        low[aside] = np.minimum(low, np.floor(estimate) / n)[aside]
        high[aside] = np.maximum(high, np.ceil(estimate) / n)[aside]
        if under.size:
            size = n[under]
            zeros = self.take(under).complement.likely(size - x[under], level)
            low[under] = 0.0
            high[under] = np.maximum(high[under], (size - zeros) / size)
        if over.size:
            ones = self.take(over).likely(x[over], level)
            low[over] = np.minimum(low[over], ones / n[over])
            high[over] = 1.0
        return Interval(np.clip(low, 0, 1), np.clip(high, 0, 1))

    def _score(self, x: Counts, limit: Floats | float, outward: float) -> Interval:
        """Ends whose squared scores are the limit, with the count moved outward (by 0 or 1/2)."""
        n = self.n
        q = self.q
        p = self.p
        both = Interval(((x - outward) / n - q) / (p - q), ((x + outward) / n - q) / (p - q))
        v_members = p * (1 - p) / (p - q) ** 2
        v_others = q * (1 - q) / (p - q) ** 2
        return score_interval(both, v_members, v_others, limit / n)

    def fewest(self, x: Counts, level: float) -> Counts:
        """(b,) the smallest number of rows with a true one whose counts C may be x or more.

        That is P(C >= x) above half of 1 - level; n where it is not for fewer.
        """
        z = normal_quantile(level)
        guess = (self._score(x, z**2, 0.5).low * self.n).astype(np.int64)
        tail = (1 - level) / 2
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)

        def excess(which: Indices, ones: Counts) -> Floats:
            return np.asarray(self.take(which)._upper_tail(x[which], ones) - tail)

        slope = density * self._scores_per_row(guess)
        return first_positive_each(excess, np.full_like(self.n, -1), self.n, guess, slope=slope)

    def _scores_per_row(self, ones: Counts) -> Floats:
        """(b,) the standard errors by which one more one moves the count's mean."""
        near = np.clip(ones, 0, self.n)
        variance = near * self.p * (1 - self.p) + (self.n - near) * self.q * (1 - self.q)
        with np.errstate(divide="ignore"):
            return np.asarray((self.p - self.q) / np.sqrt(variance))

    def _upper_tail(self, x: Counts, ones: Counts) -> Floats:
        """(b,) P(C >= x) where so many rows are ones."""
        zeros = self.n - ones
        tails = np.empty(len(x))
        widths = np.maximum(_reach(ones, self.p), _reach(zeros, self.q))
        for some in _alike(widths):
            first, weights = _likely_counts_each(ones[some], self.p[some])
            start, rest = _likely_counts_each(zeros[some], self.q[some])
            # beyond[:, width - i] is P(the other part >= start + i), 0 after the last
            width = rest.shape[1]
            beyond = np.zeros((len(rest), width + 1))
            np.cumsum(rest[:, ::-1], axis=1, out=beyond[:, 1:])
            places = np.arange(weights.shape[1]) + (width - x[some] + first + start)[:, None]
            np.clip(places, 0, width, out=places)
            other = np.take_along_axis(beyond, places, axis=1)
            total = weights.sum(axis=1) * beyond[:, -1]
            tails[some] = np.einsum("bi,bi->b", weights, other) / total
        return tails

    def likely(self, x: Counts, level: float) -> Counts:
        """(b,) the fewest ones that the likelihood ratio does not reject where n are likeliest.

        Where the estimate lies above 1 they are: the count is then beyond the mode of n - 1 coins.
        """
        z2 = normal_quantile(level) ** 2
        limit = self._deviance(x, self.n) + z2
        # The same of normal distributions.
        least = (x - self.n * self.p) ** 2 / (self.n * self.p * (1 - self.p))
        guess = (self._score(x, least + z2, 0.0).low * self.n).astype(np.int64)

        def room(which: Indices, ones: Counts) -> Floats:
            return np.asarray(limit[which] - self.take(which)._deviance(x[which], ones))

        slope = 2 * np.sqrt(least + z2) * self._scores_per_row(guess)
        return first_positive_each(room, np.full_like(self.n, -1), self.n, guess, slope=slope)

    def _deviance(self, x: Counts, ones: Counts) -> Floats:
        """(b,) -2 log P(C = x); above `EXACT_ROWS` of the normal distribution, no constant."""
        p = self.p
        q = self.q
        zeros = self.n - ones
        deviances = np.empty(len(x))
        large = self.n > EXACT_ROWS
        if large.any():
            variance = (ones * p * (1 - p) + zeros * q * (1 - q))[large]
            gap = (x - ones * p - zeros * q)[large]
            deviances[large] = gap**2 / variance + np.log(variance)
        exact = np.flatnonzero(~large)
        if exact.size:
            rows = self.take(exact)
            deviances[exact] = rows._exact_deviance(x[exact], ones[exact], zeros[exact])
        return deviances

    def _exact_deviance(self, x: Counts, ones: Counts, zeros: Counts) -> Floats:
        """(b,) -2 log P(C = x).

        The terms "i of the ones count" around the largest, where the next is not larger, also
        where all are far below the smallest double.
        """
        p = self.p
        q = self.q
        fewest = np.maximum(0, x - zeros)
        most = np.minimum(ones, x)
        against = q * (1 - p)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = p * (1 - q) / against
            a = odds - 1
            half_b = (odds * (ones + x) + zeros - x + 2) / 2
            c = odds * ones * x - (zeros - x + 1)
            root = np.sqrt(np.maximum(half_b**2 - a * c, 0.0))
            mode = np.clip(c / (half_b + root), fewest, most)
        peak = np.where(against > 0, mode, most).astype(np.int64)
        sizes = (peak, ones - peak, x - peak, zeros - x + peak)
        reach = 40 + (10 / np.sqrt(sum(1 / (size + 1) for size in sizes))).astype(np.int64)
        start = np.maximum(fewest, peak - reach)
        last = np.minimum(most, peak + reach)
        deviances = np.empty(len(x))
        for some in _alike(last - start + 1):
            width = int((last - start)[some].max()) + 1
            every = start[some, None] + np.arange(width)
            i = np.minimum(every, last[some, None]).astype(np.float64)
            terms = _log_binomial(i, ones[some, None], p[some, None])
            terms += _log_binomial(x[some, None] - i, zeros[some, None], q[some, None])
            terms[every > last[some, None]] = -np.inf
            deviances[some] = -2 * scipy.special.logsumexp(terms, axis=1)
        return deviances


_BATCH_TERMS = 1 << 14
"""Terms of several problems that are computed at once, which stay in cache."""


def _alike(widths: Counts) -> Iterator[Indices]:
    """The places of problems in batches of similar widths, each of at most `_BATCH_TERMS` terms."""
    order = np.argsort(widths, kind="stable")
    start = 0
    while start < len(order):
        # The last of a batch is its widest, and decides the number of its terms.
        size = max(1, _BATCH_TERMS // int(widths[order[start]]))
        while size > 1:
            last = min(start + size, len(order)) - 1
            if size * int(widths[order[last]]) <= _BATCH_TERMS:
                break
            size //= 2
        yield order[start : start + size]
        start += size


def _reach(size: Counts, rate: Floats) -> Counts:
    """(b,) the distance from the mean beyond which Bin(size, rate) has 1e-20 (Bernstein)."""
    return (10 * np.sqrt(size * rate * (1 - rate)) + 32).astype(np.int64) + 1


def _likely_counts_each(size: Counts, rate: Floats) -> tuple[Counts, Floats]:
    """(b,) first counts, and (b, w) probabilities from there on, up to a factor for each problem.

    From the ratios of neighbours, whose products have less error than differences of
    log-factorials.  Of a rate above 1/2 the counts of the others are taken: then the first count
    has more than 1e-100 of the largest probability, and no product leaves the range of doubles.
    """
    is_common = rate > 0.5
    rarer = np.where(is_common, 1 - rate, rate)
    reach = 10 * np.sqrt(size * rarer * (1 - rarer)) + 32
    first = np.maximum(0, (size * rarer - reach).astype(np.int64))
    last = np.minimum(size, (size * rarer + reach).astype(np.int64) + 1)
    widths = np.where(rarer > 0, last - first, 0)
    counts = np.arange(float(widths.max(initial=0))) + first[:, None]
    ratios = size[:, None] - counts
    ratios *= (rarer / (1 - rarer))[:, None]
    counts += 1
    ratios /= counts
    ended = np.flatnonzero(widths < ratios.shape[1])
    ratios[ended, widths[ended]] = 0.0  # and so all products from there on
    weights = np.ones((len(size), ratios.shape[1] + 1))
    np.cumprod(ratios, axis=1, out=weights[:, 1:])
    weights[is_common] = weights[is_common, ::-1]
    return np.where(is_common, size - first - ratios.shape[1], first), weights


def likely_counts(size: int, rate: float) -> tuple[int, Floats]:
    """Bin(size, rate): its first likely count, and the probabilities from there on.

    All but 1e-20 of it (Bernstein's bound).
    """
    first, weights = _likely_counts_each(np.array([size]), np.array([rate], dtype=np.float64))
    return int(first[0]), weights[0] / weights[0].sum()


def _log_binomial(x: Floats, size: Counts, rate: Floats) -> Floats:
    """The logarithm of P(X = x) for X ~ Bin(size, rate)."""
    choices = -np.log1p(size) - scipy.special.betaln(size - x + 1, x + 1)
    logs = scipy.special.xlogy(x, rate) + scipy.special.xlog1py(size - x, -rate)
    return np.asarray(choices + logs)


def implausible_counts(
    counts: ArrayLike,
    n: int,
    false_positive_rate: ArrayLike,
    true_positive_rate: ArrayLike,
    *,
    false_alarm: float = 1e-9,
) -> Booleans:
    """Find counts that no true proportions and noise together explain.

    A count is Bin(n, rate) with a rate between the two, so its tail beyond what was seen is at
    most that at the nearer end.  False for right reports, but for ``false_alarm`` over all counts
    together; exact, no normal approximation.

    >>> implausible_counts([135, 365], 500, 0.25, 0.75).tolist()
    [False, False]
    >>> implausible_counts([40, 460], 500, 0.25, 0.75).tolist()
    [True, True]
    """
    x, size, q, p = _arrays(counts, n, false_positive_rate, true_positive_rate)
    limit = false_alarm / max(2 * x.size, 1)
    low = _lower_tail(x, size, np.minimum(q, p))
    high = upper_tail(x, size, np.maximum(q, p))
    return np.asarray((size > 0) & ((low < limit) | (high < limit)))
