"""Maximum likelihood of counts whose distribution is known but for the proportions of classes.

Reports come from one or several samples; ``matrix[r, x]`` is P(report cell r | class x), the
rows of all samples stacked, columns summing to 1 within each sample.  The log-likelihood of
proportions phi is the sum of counts[r] log((matrix @ phi)[r]): concave, so that what cannot be
improved locally is the maximum, and ``max_x g_x - n`` bounds what is still to gain, with g the
gradient and n the number of reports.
Inside the simplex one interior-point method serves all, on several problems at once: the maximum
over all proportions, and that over proportions with a given sum of some.  Tables of several
columns whose Kronecker product is too large are climbed axis by axis (EM, extrapolated).
Under a null hypothesis proportions are *not* held inside the simplex, only rates are positive
(`fit_rates`): an estimate that is pushed inside lies further from the reports, so that a test
against chi-squared rejects too often where true proportions are 0.

Where a category's reports are binomial, `binomial` has exact methods; the profile likelihood
here is for other designs and approximate (`profile_ends` says how good).
Sources: van den Hout and van der Heijden (2002) (the simplex); Koenker and Mizera (2014)
(interior points beat EM for mixture proportions); Dempster, Laird and Rubin (1977) and Varadhan and
Roland (2008), scheme S3, for EM; Wilks (1938) (the likelihood ratio); Rao (1948) (the score);
Korn and Graubard (1990) for Wald's test with few clusters; Davison and Hinkley (1997), eq. 4.11,
for simulated p-values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import comb, prod

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rrstats._typing import Array, Booleans, Floats, Indices
from rrstats.errors import ArgumentValueError, ConvergenceWarning, warn
from rrstats.inference.contrasts import Interval, normal_quantile
from rrstats.inference.optimize import ValuesAndSlopes, last_accepted, root_excess


@dataclass(frozen=True)
class _InteriorPoint:
    """Constants of the interior-point method inside the simplex.

    gap : log-likelihood per report that a maximum may miss; rounding leaves so much undecided.
    complementarity : mean product of proportions and slacks at which the search ends, where
        rounding hides the gap.
    ridge : weight that keeps unidentified proportions where they are in the last step.
    steps : Newton steps at most; random problems of 2 to 30 classes took 5 to 25.
    """

    gap: float = 1e-14
    complementarity: float = 1e-20
    ridge: float = 1e-6
    steps: int = 100


_INTERIOR = _InteriorPoint()

_BATCH_ENTRIES = 2_000_000
"""Matrix entries of problems solved at once, which bound the memory of many categories."""

_MAX_KRONECKER_ENTRIES = 1 << 20
"""Entries of a Kronecker product that is solved exactly; a table of 1,000 cells."""


@dataclass(frozen=True)
class _ExpectationMaximization:
    """Constants of EM.

    steps : steps at most.
    gap : log-likelihood per report, or change of all proportions, at which it ends.
    """

    steps: int = 20_000
    gap: float = 1e-9


_EM = _ExpectationMaximization()


@dataclass(frozen=True)
class _FisherScoring:
    """Constants of a fit under a null hypothesis.

    steps : steps at most.  gain : promised gain in log-likelihood at which the fit ends.
    halvings : times that one step is halved at most.
    kept_rate : part of itself that a step leaves every rate at least.
    """

    steps: int = 200
    gain: float = 1e-11
    halvings: int = 40
    kept_rate: float = 0.02


_SCORING = _FisherScoring()

ZERO_RATE = 1e-9
"""A fitted rate that is not larger is 0 up to the tolerance of the fit."""


# -- inside the simplex --------------------------------------------------------------------


def most_likely(matrix: ArrayLike, counts: ArrayLike) -> Floats:
    """Proportions of the classes, inside the simplex, that make the counts likeliest.

    Parameters
    ----------
    matrix : ndarray of shape (m, c)
        P(report cell | class).
    counts : ndarray of shape (m,)
        Counts of the cells; need not be whole.

    Returns
    -------
    ndarray of shape (c,)
        A square design whose linear solution lies inside has it as its maximum; otherwise an
        interior-point method, then a last step with exact zeros.  The gradient is at most
        n (1 + 1e-9) everywhere, and n where a proportion is positive, to rounding.  Where they
        are not identified (latent classes, no reports) one of the maximizers, always the same.

    Raises
    ------
    ArgumentValueError
        For counts of reports that are impossible in the design.

    Examples
    --------
    >>> most_likely([[0.75, 0.25], [0.25, 0.75]], [400, 600]).round(6).tolist()
    [0.3, 0.7]
    >>> most_likely([[0.75, 0.25], [0.25, 0.75]], [20, 80]).tolist()
    [0.0, 1.0]
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    counts = np.asarray(counts, dtype=np.float64)
    if not counts.any():
        return np.full(matrix.shape[1], 1 / matrix.shape[1])
    seen = counts > 0
    rates = counts / counts.sum()
    if not matrix[seen].any(axis=1).all():
        raise ArgumentValueError("counts hold reports that this design never makes")
    solved = _solved(matrix, rates)
    if solved is not None:
        return solved
    matrix = matrix[seen]
    rates = rates[seen]
    all_classes = np.ones((1, matrix.shape[1]), dtype=bool)
    near = _climb(matrix, rates[None], all_classes, np.ones(1))[0]
    settled = _settle(matrix, rates, near)
    exact = _gain(matrix, rates, settled) <= max(_gain(matrix, rates, near), 1e-10)
    return settled if exact else near


def most_likely_krr(counts: ArrayLike, prob_truth: float, prob_other: float, gap: float) -> Floats:
    """(k,) the same for k-ary randomized response in closed form, by one sort.

    The rate of a category is q + (p - q) f.  Where f > 0 it is c / t, with one t for all of them;
    elsewhere it is q, and c <= t q (c >= t q if p < q).  So the positive ones are those with the
    largest (smallest) counts, as many as keep positive: water filling.

    prob_truth, prob_other, gap : p, q and p - q, which loses no digits if it was rounded last.

    >>> most_likely_krr([640, 360, 0], 0.8, 0.1, 0.7).round(4).tolist()
    [0.68, 0.32, 0.0]
    """
    counts = np.asarray(counts, dtype=np.float64)
    if not counts.any():
        return np.full(len(counts), 1 / len(counts))
    if gap < 0 and not counts.all():  # answers that nobody reports are then likeliest, all alike
        return np.asarray((counts == 0) / np.count_nonzero(counts == 0))
    sign = np.copysign(1.0, gap)
    ordered = np.abs(np.sort(-sign * counts))
    scales = (np.arange(1, len(counts) + 1) * prob_other + gap) / ordered.cumsum()
    kept = int(np.flatnonzero(sign * (ordered * scales - prob_other) > 0)[-1])
    return np.asarray(np.maximum((counts * scales[kept] - prob_other) / gap, 0.0))


def smoothed(matrix: Floats, counts: Floats) -> Floats:
    """(c,) proportions of ordered classes by EM, each step smoothed over neighbours (EMS).

    Weights are 1/4, 1/2, 1/4; at both ends 1/3 moves inward, so that mass is conserved.  It is the
    fixed point of these steps, no maximum: where reports say little flat, with 3/4 of the others
    at both ends, and biased towards that everywhere.
    Silverman, Jones, Wilson and Nychka (1990); Li et al. (2020).
    """
    c = matrix.shape[1]
    kernel = 2 * np.eye(c) + np.eye(c, k=1) + np.eye(c, k=-1)
    kernel = kernel / kernel.sum(axis=0)
    proportions = np.full(c, 1 / c)
    change = 0.0
    seen = counts > 0
    matrix = matrix[seen]
    rates = counts[seen] / max(float(counts.sum()), 1.0)
    for _ in range(_EM.steps if len(rates) else 0):
        step = kernel @ (proportions * (rates / (matrix @ proportions) @ matrix))
        change = float(abs(step - proportions).sum())
        proportions = step / step.sum()
        if change <= _EM.gap:
            break
    if change > _EM.gap:
        warn(f"smoothed proportions still changed by {change:.3g} a step", ConvergenceWarning)
    return np.asarray(proportions)


def _solved(matrix: Floats, rates: Floats) -> Floats | None:
    """The linear solution, where the design is square and it lies inside the simplex."""
    square = len(matrix) == matrix.shape[1] and abs(matrix[:, 0].sum() - 1) < 1e-6
    if not square or np.linalg.cond(matrix) > 1e8:
        return None
    proportions = np.linalg.solve(matrix, rates)
    return np.asarray(proportions / proportions.sum()) if proportions.min() > 0 else None


def _gain(matrix: Floats, rates: Floats, proportions: Floats) -> float:
    """Upper bound, by concavity, of the log-likelihood per report that is still to gain."""
    fitted = matrix @ proportions
    if not (fitted > 0).all():
        return np.inf
    gradient = (rates / fitted) @ matrix
    return float(gradient.max() - proportions @ gradient)


def _settle(matrix: Floats, rates: Floats, near: Floats) -> Floats:
    """The maximum with exact zeros, from proportions near it.

    One step of Newton's method for the log-likelihood per report minus half the squared sum of
    proportions >= 0, whose maximum sums to 1 of itself: non-negative least squares.  The last rows
    keep what is not identified where it is.
    """
    scaled = matrix * (np.sqrt(rates) / (matrix @ near))[:, None]
    ridge = _INTERIOR.ridge * np.eye(len(near))
    rows = np.vstack([scaled, np.ones(len(near)), ridge])
    right_side = np.concatenate([2 * np.sqrt(rates), [0.0], _INTERIOR.ridge * near])
    with contextlib.suppress(RuntimeError):  # of SciPy before 1.15: too many steps
        near = scipy.optimize.nnls(rows, right_side)[0]
    return np.asarray(near / near.sum())


def _climb(matrix: Floats, rates: Floats, in_sum: Booleans, total: Floats) -> Floats:
    """(b, c) the most likely proportions of b problems, in which some classes sum to a total.

    matrix : (m, c).  rates : (b, m) or (1, m), summing to 1.
    in_sum : (b, c) the classes of each problem's sum.  total : (b,) the sum of their proportions.
    Each problem must be possible: some class with a positive proportion makes each report seen.
    A primal-dual interior-point method in the proportions *within* the two groups of classes:
    proportions a, slacks z = (their group's top) - gradient, and a z driven to 0 from the centre.
    Stops where the gradient proves that less than `_INTERIOR.gap` per report is to gain.
    """
    groups = np.stack([in_sum, ~in_sum], axis=1).astype(np.float64)
    sizes = groups.sum(axis=2)
    weight = np.where(in_sum, total[:, None], 1 - total[:, None])
    within = np.where(in_sum, *(1 / np.maximum(sizes, 1)).T[:, :, None])
    slack = np.empty_like(within)
    rates = np.broadcast_to(rates, (len(in_sum), rates.shape[1]))
    left = np.arange(len(in_sum))
    for count in range(_INTERIOR.steps):
        design = matrix * weight[left, None, :]
        a = within[left]
        fitted = (design @ a[..., None])[..., 0]
        seen = rates[left] > 0
        ratio = _over(rates[left], fitted, seen)
        gradient = (ratio[:, None, :] @ design)[:, 0]
        tops = np.where(groups[left] > 0, gradient[:, None, :], -np.inf).max(axis=2)
        tops[sizes[left] == 0] = 0.0
        if not count:
            slack = (groups * tops[:, :, None]).sum(axis=1) - gradient + 1
        gap = tops.sum(axis=1) - (a * gradient).sum(axis=1)
        complementarity = (a * slack[left]).mean(axis=1)
        going = (gap > _INTERIOR.gap) & (complementarity > _INTERIOR.complementarity)
        if not going.any():
            break
        scaled = (design * _over(np.sqrt(rates[left]), fitted, seen)[..., None])[going]
        hessian = np.swapaxes(scaled, 1, 2) @ scaled
        left = left[going]
        within[left], slack[left] = _newton(
            a[going], slack[left], gradient[going], hessian=hessian, groups=groups[left]
        )
    return np.asarray(within * weight)


def _over(top: Floats, bottom: Floats, where: Booleans) -> Floats:
    """Quotients ``top / bottom`` where the mask is true, elsewhere 0."""
    return np.divide(top, bottom, out=np.zeros(bottom.shape), where=where)


def _newton(
    a: Floats, z: Floats, gradient: Floats, *, hessian: Floats, groups: Floats
) -> tuple[Floats, Floats]:
    """One primal-dual step: proportions and slacks nearer to the maximum, still positive."""
    mean = (a * z).mean(axis=1, keepdims=True)
    aim = np.minimum(0.1, np.sqrt(mean)) * mean
    diagonal = np.arange(a.shape[1])
    hessian[:, diagonal, diagonal] *= 1 + 1e-12  # so that alike classes leave it invertible
    hessian[:, diagonal, diagonal] += z / a
    empty = np.eye(2) * (groups.sum(axis=2)[:, :, None] == 0)  # no classes bind nothing
    system = np.block([[hessian, np.swapaxes(groups, 1, 2)], [groups, empty]])
    missing = groups.any(axis=2) - (groups @ a[..., None])[..., 0]
    right_side = np.concatenate([gradient + aim / a, missing], axis=1)
    step = np.linalg.solve(system, right_side[..., None])[:, : a.shape[1], 0]
    slack_step = (aim - z * (a + step)) / a
    nearly = np.clip(1 - mean, 0.995, 1 - 1e-9)

    def moved(values: Floats, steps: Floats) -> Floats:
        longest = (-steps / values).max(axis=1, keepdims=True)
        return np.asarray(values + np.minimum(1, nearly / np.maximum(longest, 1e-300)) * steps)

    return moved(a, step), moved(z, slack_step)


def _deviance(
    matrix: Floats, counts: Floats, best: Floats, *, in_sum: Booleans, total: Floats
) -> tuple[Floats, Floats]:
    """(b,) -2 log of the likelihood ratio of "these classes sum to this total", and its slope.

    counts, best : a row for each of the b problems.  in_sum, total : as for `_climb`.
    Infinite where counts are impossible.
    """
    weight = np.where(in_sum, total[:, None], 1 - total[:, None])
    possible = ((weight @ matrix.T > 0) | (counts == 0)).all(axis=1)
    value = np.full(len(total), np.inf)
    slope = np.full(len(total), np.nan)
    n = counts[possible].sum(axis=1, keepdims=True)
    rates = counts[possible] / n
    in_sum = in_sum[possible]
    best = best[possible]
    proportions = _climb(matrix, rates, in_sum, total[possible])
    seen = rates > 0
    # The ratio of rates from their difference, so that no digits are lost where it is nearly 1.
    change = _over((proportions - best) @ matrix.T, best @ matrix.T, seen)
    with np.errstate(divide="ignore"):
        logs = np.log1p(np.maximum(change, -1.0))
    value[possible] = np.maximum(-2 * (n * rates * logs).sum(axis=1), 0.0)
    gradient = _over(rates, proportions @ matrix.T, seen) @ matrix
    tops = [np.where(group, gradient, -np.inf).max(axis=1) for group in (in_sum, ~in_sum)]
    slope[possible] = -2 * n[:, 0] * (tops[0] - tops[1])
    return value, slope


def profile_ends(matrix: Floats, counts: Floats, parts: Booleans, level: float) -> Interval:
    """The sums of proportions of some classes that the likelihood ratio does not reject.

    Parameters
    ----------
    matrix : ndarray of shape (m, c)
        P(report cell | class).
    counts : ndarray of shape (m,) or (b, m)
        Counts of the cells, the same for all problems or of each.
    parts : ndarray of bool, shape (b, c)
        The classes that each problem sums up.
    level : float
        The confidence of each by itself.

    Returns
    -------
    Interval
        (b,) the hulls of all sums in [0, 1] whose deviance is at most the quantile of chi-squared
        with one degree of freedom: never empty, never outside [0, 1]; all of [0, 1] without
        reports, and wide where the sum is not identified.

    Notes
    -----
    For two classes and two reports it is `binomial.likelihood_rates` carried through the
    channel.
    Lowest coverage at 95%, n = 50 to 1000, 20,000 simulated samples a cell, corners included:
    94.1% for 3 x 3 and 4 x 3 matrices, 94.5% for Kuk's design with four cards, 92.8% for the
    stochastic lie detector (nobody a carrier), otherwise 94.4% there.  Not to be trusted for
    the large proportion of a table with many empty categories, whose likeliest proportions are all
    pushed upward: ten categories, prob 0.53, everyone in one of them: 63%; half in one of two: 91%.
    Take its hull with an interval of the unbiased estimate there.

    Examples
    --------
    >>> matrix = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> low, high = profile_ends(matrix, np.array([10.0, 90.0]), np.eye(2) > 0, 0.95)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.9541]), array([0.0459, 1.    ]))
    """
    b = len(parts)
    counts = np.atleast_2d(np.asarray(counts, dtype=np.float64))
    if not counts.any():
        return Interval(np.zeros(b), np.ones(b))
    best = np.array([most_likely(matrix, row) for row in counts])
    limit = normal_quantile(level) ** 2

    def highest(which: Indices) -> Floats:
        # The lowest sum of some classes leaves the others their highest.
        in_sum = np.where(which[:, None] < b, parts[which % b], ~parts[which % b])
        reported = counts[which % len(counts)]
        likeliest = best[which % len(best)]
        outside = np.asarray(in_sum.any(axis=1), dtype=np.float64)
        inside = np.clip((in_sum * likeliest).sum(axis=1), in_sum.all(axis=1), outside)

        def excess(rows: Indices, total: Floats) -> ValuesAndSlopes:
            value, slope = _deviance(
                matrix, reported[rows], likeliest[rows], in_sum=in_sum[rows], total=total
            )
            return root_excess(value, slope, limit)

        close = 1e-9 + np.minimum(_INTERIOR.gap * reported.sum(axis=1), 1e-3)
        return last_accepted(excess, inside, outside, close=close)

    n_batches = -(-2 * b * matrix.size // _BATCH_ENTRIES)
    batches = np.array_split(np.arange(2 * b), n_batches)
    ends = np.concatenate([highest(batch) for batch in batches])
    return Interval(1 - ends[b:], ends[:b])


# -- tables of several columns -------------------------------------------------------------


def contract(counts: Array, tables: Iterable[Floats]) -> Floats:
    """Counts of several axes, times a table for each axis; never their Kronecker product.

    counts : (f1, ..., fd).  tables : (fj, ...) each.  Returns the axes of the tables in order.
    """
    contracted = np.asarray(counts, dtype=np.float64)
    for table in tables:  # removes the first axis, and puts the table's other axis last
        contracted = np.tensordot(contracted, table, axes=(0, 0))
    return contracted


def most_likely_table(matrices: Sequence[Floats], counts: Array) -> Floats:
    """(c1, ..., cd) joint proportions of the classes that make a table of reports likeliest.

    matrices : (mj, cj) of each column.  counts : (m1, ..., md).
    """
    classes = tuple(matrix.shape[1] for matrix in matrices)
    if prod(matrix.size for matrix in matrices) <= _MAX_KRONECKER_ENTRIES:
        product: Floats = reduce(lambda left, right: np.asarray(np.kron(left, right)), matrices)
        return most_likely(product, counts.ravel()).reshape(classes)
    return _climb_table(matrices, np.asarray(counts, dtype=np.float64))


def _climb_table(matrices: Sequence[Floats], counts: Floats) -> Floats:
    """The most likely table by EM, which multiplies by the gradient and so stays inside.

    Squared extrapolation makes it several times as fast.
    """
    n = counts.sum()
    seen = counts > 0
    current = np.full([matrix.shape[1] for matrix in matrices], 1.0)
    current /= current.size

    def gains(proportions: Floats) -> tuple[Floats, float]:
        """The gradient and the log-likelihood, per report."""
        rates = contract(proportions, [matrix.T for matrix in matrices])
        if not (rates[seen] > 0).all():
            return np.zeros_like(proportions), -np.inf
        value = float(counts[seen] @ np.log(rates[seen])) / n
        return contract(_over(counts, rates, seen), matrices) / n, value

    gap = np.inf
    for _ in range(_EM.steps):
        gain, _ = gains(current)
        gap = float(gain.max() - (current * gain).sum())
        if gap <= _EM.gap:
            return current
        first = current * gain
        first_gain, first_value = gains(first)
        second = first * first_gain
        leap = _extrapolated(current, first, second)
        if leap is not None:
            leap_gain, leap_value = gains(leap)
            if leap_value >= first_value:  # no worse than plain EM
                second = leap * leap_gain
        current = second / second.sum()
    warn(
        f"the likeliest table was not reached in {_EM.steps:,} steps: its log-likelihood may miss "
        f"{n * gap:.3g}; merge categories, or use the unbiased proportions",
        ConvergenceWarning,
    )
    return current


def _extrapolated(current: Floats, first: Floats, second: Floats) -> Floats | None:
    """Two steps of EM extrapolated (scheme S3); None where they are short or leave the simplex."""
    r = first - current
    v = second - 2 * first + current
    length = np.linalg.norm(r) / max(float(np.linalg.norm(v)), 1e-300)
    leap = current + 2 * length * r + length**2 * v
    if not (length > 1 and (leap > 0).all()):
        return None
    return np.asarray(leap / leap.sum())


# -- the value, and whether proportions explain counts ---------------------------------------


def log_likelihood(
    matrix: ArrayLike,
    counts: ArrayLike,
    proportions: ArrayLike,
    samples: Indices | None = None,
) -> float:
    """The log-probability of the counts when the classes have these proportions.

    Parameters
    ----------
    matrix : ndarray of shape (m, c)
        P(report cell | class).
    counts : ndarray of shape (m,)
        Counts of the cells.
    proportions : ndarray of shape (c,)
        They sum to 1 and may leave [0, 1], as unbiased estimates do, as long as every report keeps
        a probability.
    samples : ndarray of shape (m,), optional
        The sample of each cell.

    Returns
    -------
    float
        With the multinomial coefficient of each sample; minus infinity where counts are impossible.

    Notes
    -----
    Computed so, the value is comparable between designs; RRreg 0.7.6 prints -84.75 for a forced
    response whose log-probability is -3.66.

    Examples
    --------
    >>> round(log_likelihood([[0.7, 0.3], [0.3, 0.7]], [60, 65], [0.45, 0.55]), 6)
    -2.641152
    """
    rates = np.asarray(matrix, dtype=np.float64) @ np.asarray(proportions, dtype=np.float64)
    return log_probability(rates, counts, samples)


def log_probability(rates: Floats, counts: ArrayLike, samples: Indices | None = None) -> float:
    """The log-probability of the counts of cells with these rates; as for `log_likelihood`."""
    counts = np.asarray(counts, dtype=np.float64)
    if (rates < -1e-12).any() or (rates[counts > 0] <= 0).any():
        return -np.inf
    sizes = counts.sum() if samples is None else np.bincount(samples, counts)
    value = scipy.special.xlogy(counts, np.maximum(rates, 0.0)).sum()
    value += scipy.special.gammaln(sizes + 1).sum() - scipy.special.gammaln(counts + 1).sum()
    return float(value)


def is_misfit(matrix: Floats, counts: Array, sizes: Floats, *, false_alarm: float = 1e-9) -> bool:
    """True where no proportions explain the reports; ``false_alarm`` bounds it for right ones.

    sizes : (m,) of each cell's sample.  The likelihood ratio of what was seen against the best
    proportions exceeds a bound that holds for every distribution and every n:
    P(n D > x) <= (n + 1)^m exp(-x) (the method of types).
    """
    seen = np.asarray(counts) > 0
    if not seen.any():
        return False
    expected = matrix @ most_likely(matrix, counts)
    with np.errstate(divide="ignore"):
        far = counts[seen] @ np.log(counts[seen] / sizes[seen] / expected[seen])
    return bool(far > np.log1p(sizes).sum() - np.log(false_alarm))


# -- under a null hypothesis -----------------------------------------------------------------


def start_inside(matrix: Floats, proportions: Floats) -> Floats:
    """(c,) proportions, moved towards equal ones until every possible report has a rate."""
    even = np.full(len(proportions), 1 / len(proportions))
    possible = matrix.any(axis=1)
    least = 1e-3 * (matrix @ even)[possible]
    for weight in (1.0, 0.99, 0.9, 0.75, 0.5, 0.25, 0.1):
        mixed = weight * proportions + (1 - weight) * even
        if ((matrix @ mixed)[possible] >= least).all():
            return np.asarray(mixed)
    return even


def fit_rates(
    model: Callable[[Floats], tuple[Floats, Floats]], counts: Floats, sizes: Floats, start: Floats
) -> Floats:
    """The parameters that make counts likeliest, with every rate positive.

    Parameters
    ----------
    model : callable
        Parameters to (m,) rates of the cells and their (m, p) derivatives.
    counts, sizes : ndarray of shape (m,)
        Counts of the cells, and the size of the sample of each.
    start : ndarray of shape (p,)
        Parameters at which every possible cell has a rate.

    Returns
    -------
    ndarray of shape (p,)
        The parameters, by Fisher scoring: weighted least squares, repeated.
    """
    x = np.array(start, dtype=np.float64)
    rates, slopes = model(start)
    possible = rates > 0
    seen = counts > 0
    reported = counts / np.maximum(sizes, 1e-300)  # an empty sample has no part in the fit
    for _ in range(_SCORING.steps):
        with np.errstate(divide="ignore"):
            root = np.where(possible, np.sqrt(sizes / rates), 0.0)
        scaled = slopes * root[:, None]
        residual = (reported - rates) * root
        step = np.linalg.lstsq(scaled, residual, rcond=1e-14)[0]
        if not (scaled @ step) @ residual > _SCORING.gain:
            break
        value = counts[seen] @ np.log(rates[seen])
        for _ in range(_SCORING.halvings):
            trial, trial_slopes = model(x + step)
            inside = (trial >= _SCORING.kept_rate * rates)[possible].all()
            if inside and counts[seen] @ np.log(trial[seen]) >= value:
                break
            step /= 2
        else:
            break
        x = x + step
        rates = trial
        slopes = trial_slopes
    return x


def distance(counts: ArrayLike, expected: ArrayLike) -> Floats:
    """(...) Pearson's X2 of (..., m) counts; infinite where no report was to be expected."""
    counts, expected = np.broadcast_arrays(
        np.asarray(counts, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    )
    terms = np.where(counts > 0, np.inf, 0.0)
    np.divide((counts - expected) ** 2, expected, out=terms, where=expected > 0)
    return np.asarray(terms.sum(axis=-1))


def likelihood_ratio(counts: ArrayLike, expected: ArrayLike) -> Floats:
    """(...) G2 of (..., m) counts; infinite where no report was to be expected."""
    return _at_least_0(2 * scipy.special.kl_div(counts, expected).sum(axis=-1))


def _at_least_0(statistic: ArrayLike) -> Floats:
    """A squared distance, which only rounding makes negative: there it is 0."""
    return np.maximum(np.asarray(statistic, dtype=np.float64), 0.0)


def score_statistic(
    matrix: Floats, counts: Floats, rates: Floats, sizes: Floats
) -> tuple[float, int]:
    """The squared distance of counts from rates in directions of proportions, and its df.

    matrix : (m, c), of one sample or of several on top of one another; ``sizes`` are theirs.
    Pearson's X2 where one sample has as many reports as categories, otherwise the part of it that
    proportions can explain.
    """
    possible = (rates > ZERO_RATE) & (sizes > 0)
    if counts[~possible].sum() > 1e-6:
        return float("inf"), max(matrix.shape[1] - 1, 1)
    counts = counts[possible]
    expected = (sizes * rates)[possible]
    if matrix.shape[0] == matrix.shape[1]:
        return float(distance(counts, expected)), len(counts) - 1
    slopes = (matrix[:, 1:] - matrix[:, :1])[possible]
    scaled = np.sqrt(sizes[possible] / rates[possible])[:, None] * slopes
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    kept = values > 1e-9 * values[0]
    residual = (counts - expected) / np.sqrt(expected)
    return float(((left[:, kept].T @ residual) ** 2).sum()), int(kept.sum())


# -- p-values of tables of counts ------------------------------------------------------------

_MAX_TABLE_COUNTS = 4_000_000
"""Counts of listed tables that are in memory at once."""


def chi_squared_test(
    statistic: float, df: int, covariance_df: float = np.inf
) -> tuple[float, float]:
    """A squared distance, or twice a gain of log-likelihood, at least 0, and its p-value.

    By chi-squared; NaN where df is 0.
    covariance_df : the degrees of freedom that its covariance rests on; where they are finite, by
        Hotelling's F distribution, and NaN where they are too few.
    """
    statistic = float(_at_least_0(statistic))
    denominator_df = covariance_df - df + 1
    if df < 1 or not denominator_df > 0:
        return statistic, float("nan")
    if denominator_df == np.inf:
        return statistic, float(scipy.special.chdtrc(df, statistic))
    f = statistic * denominator_df / (covariance_df * df)
    return statistic, float(scipy.special.fdtrc(df, denominator_df, f))


def _least(observed: float) -> float:
    """The distance from which tables count: rounding must not break ties."""
    return observed - 1e-9 * max(abs(observed), 1.0)


def exact_p_value(rates: Floats, n: int, observed: float) -> float:
    """P(distance >= observed) over all tables of n reports in m cells."""
    m = len(rates)
    tables = comb(n + m - 1, m - 1)
    if tables * m > _MAX_TABLE_COUNTS:
        raise ArgumentValueError(
            f"{n} reports of {m} kinds can come out in {tables:,} ways, more than are listed; "
            "merge categories, or leave exact out"
        )
    # Bars between stars: a table is the places of m - 1 walls among n + m - 1.
    walls = np.array(list(combinations(range(n + m - 1), m - 1))).reshape(tables, m - 1)
    counts = np.diff(walls, axis=1, prepend=-1, append=n + m - 1) - 1
    logs = scipy.special.gammaln(n + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
    prob = np.exp(logs + scipy.special.xlogy(counts, rates).sum(axis=1))
    return min(float(prob[distance(counts, n * rates) >= _least(observed)].sum()), 1.0)


def fit_margins(
    matrix: Floats, counts: Floats, sizes: Floats, start: Floats
) -> tuple[Floats, Floats, Floats]:
    """The margins of an independent table that make counts likeliest; may leave [0, 1].

    matrix : (m, r c), pairs row by row.  start : (r, c) proportions with positive rates.
    Third, (m, r + c - 2) the slopes of the rates in all margins but the last of each.
    """
    r, c = start.shape
    cube = matrix.reshape(len(matrix), r, c)

    def split(x: Floats) -> tuple[Floats, Floats]:
        first = x[: r - 1]
        second = x[r - 1 :]
        return np.append(first, 1 - first.sum()), np.append(second, 1 - second.sum())

    def model(x: Floats) -> tuple[Floats, Floats]:
        first, second = split(x)
        by_first = cube @ second
        by_second = np.einsum("mij,i->mj", cube, first)
        slopes = [by_first[:, :-1] - by_first[:, -1:], by_second[:, :-1] - by_second[:, -1:]]
        return by_first @ first, np.concatenate(slopes, axis=1)

    independent = np.outer(start.sum(axis=1), start.sum(axis=0))
    product = start_inside(matrix, independent.ravel()).reshape(r, c)
    margins = np.concatenate([product.sum(axis=1)[:-1], product.sum(axis=0)[:-1]])
    if not (model(margins)[0][matrix.any(axis=1)] > 0).all():
        margins = np.concatenate([np.full(r - 1, 1 / r), np.full(c - 1, 1 / c)])
    margins = fit_rates(model, counts, sizes, margins)
    return (*split(margins), model(margins)[1])
