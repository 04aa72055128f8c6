"""Maximum likelihood for counts of reports whose law is known but for the shares of classes.

Reports come from one or several samples; ``matrix[r, x]`` is P(report cell r | class x), the
rows of all samples stacked, columns summing to 1 within each sample.  The log-likelihood of
shares phi is the sum of counts[r] log((matrix @ phi)[r]): concave, so that what cannot be
improved locally is the maximum, and ``max_x g_x - n`` bounds what is still to gain, with g the
gradient and n the number of reports.
One algorithm serves all: Newton's method from the inside of the simplex, on several problems
at once, for the maximum over all shares and for that over shares with a given part.

Where a category's reports are binomial, `intervals` has exact methods; the profile likelihood
here is for other designs and approximate (`profile_interval` says how good).
Sources: van den Hout and van der Heijden (2002) (the simplex); Koenker and Mizera (2014)
(interior points beat EM for mixture proportions); Wilks (1938) (the likelihood ratio).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = [
    "log_likelihood",
    "most_likely",
    "profile_deviance",
    "profile_interval",
    "profile_intervals",
]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

_GAP = 1e-14
"""What a maximum may miss, in log-likelihood per report: what rounding leaves undecided."""

_CENTRE = 1e-20
"""How near the boundary of the simplex the inside is followed, where rounding hides the gap."""

_STEPS = 100
"""Newton steps at most; random problems of 2 to 30 classes took 5 to 25."""

_ENTRIES = 2_000_000
"""Matrix entries of problems solved at once, which bound the memory of many categories."""


# -- arguments -----------------------------------------------------------------------------


def _numbers(values: Any, name: str, axes: int) -> Floats:
    """Finite numbers, none negative, as an array with so many axes; raises otherwise."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name} must be numbers, found {type(values).__name__}") from None
    if array.ndim != axes:
        raise ArgumentValueError(f"{name} must have {axes} axes, found {array.ndim}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise ArgumentValueError(f"{name} must be finite and not negative")
    return array


def _checked(matrix: ArrayLike, counts: ArrayLike) -> tuple[Floats, Floats]:
    design, reported = _numbers(matrix, "matrix", 2), _numbers(counts, "counts", 1)
    if len(design) != len(reported) or not design.size:
        raise ArgumentValueError(
            f"counts must hold one number for each of the {len(design)} rows (reports) of matrix, "
            f"found {len(reported)}"
        )
    totals = design.sum(axis=0)
    samples = max(round(totals[0]), 1)
    if np.abs(totals - samples).max() > 1e-6:
        raise ArgumentValueError(
            "matrix must have columns (classes) that sum to 1 within each sample, found sums of "
            f"{totals.min():.6g} to {totals.max():.6g}; are the axes swapped?"
        )
    if not design[reported > 0].any(axis=1).all():
        raise ArgumentValueError("counts hold reports that this design never makes")
    return design, reported


def _check_functional(functional: ArrayLike, classes: int) -> Booleans:
    part = _numbers(functional, "functional", 1)
    if part.shape != (classes,) or not np.isin(part, (0, 1)).all():
        raise ArgumentValueError(
            f"functional must hold a 0 or 1 for each of the {classes} classes, found {functional!r}"
        )
    return part > 0


def _sample_of_rows(samples: Any, rows: int) -> NDArray[np.intp]:
    """(m,) the sample of each row, from slices, from one number for each row, or from None."""
    if samples is None:
        return np.zeros(rows, dtype=np.intp)
    given = list(samples)
    if all(isinstance(part, slice) for part in given):
        sample = np.full(rows, -1, dtype=np.intp)
        for number, part in enumerate(given):
            sample[part] = number
    else:
        sample = np.asarray(given, dtype=np.intp)
    if sample.shape != (rows,) or (sample < 0).any():
        raise ArgumentValueError(
            f"samples must be slices that cover the {rows} rows of matrix, or a number for each row"
        )
    return sample


# -- the maximum ---------------------------------------------------------------------------


def most_likely(matrix: ArrayLike, counts: ArrayLike) -> Floats:
    """(c,) shares of the classes, inside the simplex, that make the counts likeliest.

    matrix : (m, c) P(report cell | class).  counts : (m,), need not be whole.
    A square design whose linear solution lies inside has it as its maximum; otherwise an
    interior-point method, then Newton's with exact zeros.  The gradient is at most
    n (1 + 1e-9) everywhere, and n where a share is positive, to rounding.
    Where shares are not identified (latent classes, no reports) one of the maximizers, always
    the same.  Raises ArgumentValueError for counts of reports that the design never makes.
    Source: KKT conditions of the multinomial likelihood.

    >>> most_likely([[0.75, 0.25], [0.25, 0.75]], [400, 600]).round(6).tolist()
    [0.3, 0.7]
    >>> most_likely([[0.75, 0.25], [0.25, 0.75]], [20, 80]).tolist()
    [0.0, 1.0]
    """
    design, reported = _checked(matrix, counts)
    if not reported.any():
        return np.full(design.shape[1], 1 / design.shape[1])
    seen = reported > 0
    rates = reported / reported.sum()
    solved = _solved(design, rates)
    if solved is not None:
        return solved
    design, rates = design[seen], rates[seen]
    everyone = np.ones((1, design.shape[1]), dtype=bool)
    near = _climb(design, rates[None], everyone, np.ones(1))[0]
    settled = _settle(design, rates, near)
    exact = _gain(design, rates, settled) <= max(_gain(design, rates, near), 1e-10)
    return settled if exact else near


def _solved(matrix: Floats, rates: Floats) -> Floats | None:
    """The linear solution, where the design is square and it lies inside the simplex."""
    square = len(matrix) == matrix.shape[1] and abs(matrix[:, 0].sum() - 1) < 1e-6
    if not square or np.linalg.cond(matrix) > 1e8:
        return None
    shares = np.linalg.solve(matrix, rates)
    return np.asarray(shares / shares.sum()) if shares.min() > 0 else None


def _gradient(matrix: Floats, rates: Floats, shares: Floats) -> Floats:
    """(c,) what the log-likelihood per report gains for a share: 1 at the maximum, or less."""
    return np.asarray((rates / (matrix @ shares)) @ matrix)


def _gain(matrix: Floats, rates: Floats, shares: Floats) -> float:
    """A bound of the log-likelihood per report that is still to gain: concavity's."""
    if not (matrix @ shares > 0).all():
        return np.inf
    return float(_gradient(matrix, rates, shares).max() - shares @ _gradient(matrix, rates, shares))


def _settle(matrix: Floats, rates: Floats, near: Floats) -> Floats:
    """The maximum with exact zeros, from shares near it, by Newton's method on an active set.

    Maximizes the log-likelihood per report minus the sum of shares, over shares >= 0: its
    maximum sums to 1 of itself.  A share that would become negative is set to 0 for good.
    """
    shares = near.copy()
    free = shares > 1 - _gradient(matrix, rates, shares)
    # Nor may a report lose what explains it.
    lost = matrix @ np.where(free, 0.0, shares) > 1e-6 * (matrix @ shares)
    free |= matrix[lost].any(axis=0)
    shares[~free] = 0.0
    for _ in range(4 * len(shares) + 20):
        law = matrix @ shares
        if not (law > 0).all():
            return near
        scaled = matrix[:, free] * (np.sqrt(rates) / law)[:, None]
        slope = _gradient(matrix, rates, shares) - 1
        sizes = np.sqrt((scaled**2).sum(axis=0))
        scaled /= sizes
        hessian, wanted = scaled.T @ scaled, slope[free] / sizes
        step = np.linalg.lstsq(hessian, wanted, rcond=1e-14)[0]
        missed = wanted - hessian @ step
        if np.abs(missed * sizes).max() > 1e-11:  # no curvature that way: climb until a share ends
            step = missed * 1e9
        step /= sizes
        falling = step < 0
        room = shares[free][falling] / -step[falling]
        if room.size and room.min() < 1:
            shares[free] += room.min() * step
            shares[np.flatnonzero(free)[falling][room.argmin()]] = 0.0
            free &= shares > 0
            continue
        shares[free] += step
        if (np.abs(step) <= 1e-20 + 1e-9 * shares[free]).all():
            break
    return np.asarray(shares / shares.sum())


def _climb(matrix: Floats, rates: Floats, shows: Booleans, part: Floats) -> Floats:
    """(b, c) the most likely shares of b problems, those of the shown classes summing to part.

    matrix : (m, c).  rates : (b, m) or (1, m), summing to 1.  shows : (b, c).  part : (b,).
    Each problem must be possible: some class with a positive share makes each report seen.
    A primal-dual interior-point method in the shares *within* the two groups of classes:
    shares a, slacks z = (their group's top) - gradient, and a z driven to 0 from the centre.
    Stops where the gradient proves that less than `_GAP` per report is to gain.
    """
    groups = np.stack([shows, ~shows], axis=1).astype(np.float64)
    sizes = groups.sum(axis=2)
    weight = np.where(shows, part[:, None], 1 - part[:, None])
    within = np.where(shows, *(1 / np.maximum(sizes, 1)).T[:, :, None])
    slack = np.empty_like(within)
    rates = np.broadcast_to(rates, (len(shows), rates.shape[1]))
    left = np.arange(len(shows))
    for count in range(_STEPS):
        design = matrix * weight[left, None, :]
        a, law = within[left], (design @ within[left, :, None])[..., 0]
        ratio = _over(rates[left], law)
        gradient = (ratio[:, None, :] @ design)[:, 0]
        tops = np.where(groups[left] > 0, gradient[:, None, :], -np.inf).max(axis=2)
        tops[sizes[left] == 0] = 0.0
        if not count:
            slack = (groups * tops[:, :, None]).sum(axis=1) - gradient + 1
        gap = tops.sum(axis=1) - (a * gradient).sum(axis=1)
        going = (gap > _GAP) & ((a * slack[left]).mean(axis=1) > _CENTRE)
        if not going.any():
            break
        scaled = (design * _over(np.sqrt(rates[left]), law)[..., None])[going]
        hessian = np.swapaxes(scaled, 1, 2) @ scaled
        left, a, gradient = left[going], a[going], gradient[going]
        a, z = _newton(a, slack[left], gradient, hessian, groups[left])
        within[left], slack[left] = a, z
    return np.asarray(within * weight)


def _over(top: Floats, bottom: Floats) -> Floats:
    """Quotients, 0 where the top is 0."""
    return np.divide(top, bottom, out=np.zeros(bottom.shape), where=top > 0)


def _newton(
    a: Floats, z: Floats, gradient: Floats, hessian: Floats, groups: Floats
) -> tuple[Floats, Floats]:
    """One primal-dual step: shares and slacks nearer to the maximum, still positive."""
    mean = (a * z).mean(axis=1, keepdims=True)
    aim = np.minimum(0.1, np.sqrt(mean)) * mean
    diagonal = np.arange(a.shape[1])
    hessian[:, diagonal, diagonal] *= 1 + 1e-12  # so that alike classes leave it invertible
    hessian[:, diagonal, diagonal] += z / a
    empty = np.eye(2) * (groups.sum(axis=2)[:, :, None] == 0)  # no classes bind nothing
    system = np.block([[hessian, np.swapaxes(groups, 1, 2)], [groups, empty]])
    missing = groups.any(axis=2) - (groups @ a[..., None])[..., 0]
    known = np.concatenate([gradient + aim / a, missing], axis=1)
    step = np.linalg.solve(system, known[..., None])[:, : a.shape[1], 0]
    slack_step = (aim - z * (a + step)) / a
    nearly = np.clip(1 - mean, 0.995, 1 - 1e-9)

    def moved(values: Floats, steps: Floats) -> Floats:
        longest = (-steps / values).max(axis=1, keepdims=True)
        return np.asarray(values + np.minimum(1, nearly / np.maximum(longest, 1e-300)) * steps)

    return moved(a, step), moved(z, slack_step)


# -- its value -----------------------------------------------------------------------------


def log_likelihood(
    matrix: ArrayLike,
    counts: ArrayLike,
    shares: ArrayLike,
    *,
    samples: Sequence[slice] | ArrayLike | None = None,
    constant: bool = True,
) -> float:
    """The log-probability of the counts when the classes have these shares.

    matrix : (m, c) P(report cell | class).  counts : (m,).  shares : (c,), summing to 1; they may
    leave [0, 1], as unbiased estimates do, as long as every report keeps a probability.
    samples : slices of rows, or a number for each row (m,): which rows are one sample's.
    constant : with the multinomial coefficient of each sample, which makes it a log-probability
    (for a binary design, the binomial's); without it, the sum of counts times log-rates.
    Minus infinity where counts are impossible.
    Computed so, the value is comparable between designs; RRreg 0.7.6 prints -84.75 for a forced
    response whose log-probability is -3.66.

    >>> round(log_likelihood([[0.7, 0.3], [0.3, 0.7]], [60, 65], [0.45, 0.55]), 6)
    -2.641152
    """
    design, reported = _numbers(matrix, "matrix", 2), _numbers(counts, "counts", 1)
    phi = np.asarray(shares, dtype=np.float64)
    if phi.shape != design.shape[1:] or reported.shape != design.shape[:1]:
        raise ArgumentValueError(
            f"counts and shares must hold a number for each of the {design.shape[0]} rows and "
            f"{design.shape[1]} columns of matrix, found {reported.shape} and {phi.shape}"
        )
    if not abs(phi.sum() - 1) < 1e-6:
        raise ArgumentValueError(f"shares must sum to 1, got {phi.sum():.6g}")
    sample = _sample_of_rows(samples, len(design))
    sums = np.stack([np.bincount(sample, column) for column in design.T])
    if np.abs(sums - 1)[:, np.unique(sample)].max() > 1e-6:
        raise ArgumentValueError(
            "matrix must have columns (classes) that sum to 1 within each sample; say by `samples` "
            f"which rows are one sample's, found sums of {sums.min():.6g} to {sums.max():.6g}"
        )
    law = design @ phi
    if (law < -1e-12).any() or (law[reported > 0] <= 0).any():
        return -np.inf
    value = float(scipy.special.xlogy(reported, np.maximum(law, 0.0)).sum())
    if constant:
        totals = np.bincount(sample, reported)
        value += float(scipy.special.gammaln(totals + 1).sum())
        value -= float(scipy.special.gammaln(reported + 1).sum())
    return value


# -- a part of the shares ------------------------------------------------------------------


def profile_deviance(
    matrix: ArrayLike, counts: ArrayLike, functional: ArrayLike, values: ArrayLike
) -> Floats:
    """(...) -2 log of the likelihood ratio of "the classes of functional have this share".

    functional : (c,) of 0 and 1.  values : (...) shares in [0, 1].  Compared with a quantile of
    chi-squared with one degree of freedom it is a test; infinite where counts are impossible.

    >>> profile_deviance([[0.75, 0.25], [0.25, 0.75]], [50, 50], [1, 0], [0.5, 0.7]).round(4)
    array([0.    , 4.0822])
    """
    design, reported = _checked(matrix, counts)
    part = _check_functional(functional, design.shape[1])
    asked = _numbers(values, "values", np.ndim(values))
    if (asked > 1).any():
        raise ArgumentValueError(f"values must be shares in [0, 1], got {asked.max():.6g}")
    flat = asked.ravel()
    if not reported.any() or not flat.size:
        return np.zeros(asked.shape)
    found = np.full(flat.shape, np.inf)
    possible = np.ones(flat.shape, dtype=bool)
    if part.all() or not part.any():
        possible = flat == float(part.all())
    best = most_likely(design, reported)
    shows = np.broadcast_to(part, (int(possible.sum()), len(part)))
    found[possible] = _deviance(design, reported, best, shows, flat[possible])[0]
    return found.reshape(asked.shape)


def _deviance(
    matrix: Floats, counts: Floats, best: Floats, shows: Booleans, part: Floats
) -> tuple[Floats, Floats]:
    """(b,) the deviance at each part, and its derivative there; infinite if impossible.

    counts, best : (m,), (c,), or a row for each of the b problems.
    """
    reported = np.broadcast_to(counts, (len(part), len(matrix)))
    best = np.broadcast_to(best, shows.shape)
    weight = np.where(shows, part[:, None], 1 - part[:, None])
    possible = ((weight @ matrix.T > 0) | (reported == 0)).all(axis=1)
    value, slope = np.full(len(part), np.inf), np.full(len(part), np.nan)
    n = reported.sum(axis=1, keepdims=True)
    rates, shows, best = (reported / n)[possible], shows[possible], best[possible]
    shares, seen = _climb(matrix, rates, shows, part[possible]), rates > 0
    # The ratio of laws from their difference, so that no digits are lost where it is nearly 1.
    change, law = (shares - best) @ matrix.T, best @ matrix.T
    change = np.divide(change, law, out=np.zeros_like(change), where=seen)
    with np.errstate(divide="ignore"):
        logs = np.log1p(np.maximum(change, -1.0))
    value[possible] = np.maximum(-2 * n[possible, 0] * (rates * logs).sum(axis=1), 0.0)
    gradient = _over(rates, shares @ matrix.T) @ matrix
    tops = [np.where(group, gradient, -np.inf).max(axis=1) for group in (shows, ~shows)]
    slope[possible] = -2 * n[possible, 0] * (tops[0] - tops[1])
    return value, slope


def profile_interval(
    matrix: ArrayLike, counts: ArrayLike, functional: ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """The shares of some classes together that the likelihood ratio does not reject.

    matrix : (m, c) P(report cell | class).  counts : (m,).  functional : (c,) of 0 and 1, the
    classes meant.  The hull of all t in [0, 1] whose `profile_deviance` is at most the
    quantile of chi-squared with one degree of freedom; never empty, never outside [0, 1]; all
    of [0, 1] without reports, and wide where the share is not identified.  For two classes and
    two reports it is `intervals.bounded_likelihood_rates` carried through the channel.

    Lowest coverage at 95%, n = 50 to 1000, 20,000 simulated samples a cell, corners included:
    94.1% for 3 x 3 and 4 x 3 matrices, 94.5% for Kuk's design with four cards, 92.8% for the
    stochastic lie detector (nobody a carrier), otherwise 94.4% there.  Not to be trusted for
    the large share of a table with many empty categories, whose likeliest shares are all pushed
    upward: ten categories, prob 0.53, everyone in one of them: 63%; half in one of two: 91%.
    Take its hull with an interval of the unbiased estimate there.

    >>> low, high = profile_interval([[0.75, 0.25], [0.25, 0.75]], [10, 90], [1, 0])
    >>> low, round(high, 4)
    (0.0, 0.0459)
    """
    design, reported = _checked(matrix, counts)
    shows = _check_functional(functional, design.shape[1])[None]
    low, high = _limits(design, reported, shows, level)
    return float(low[0]), float(high[0])


def profile_intervals(
    matrix: ArrayLike, counts: ArrayLike, shows: ArrayLike, k: int, level: float = 0.95
) -> tuple[Floats, Floats]:
    """The `profile_interval` of each of k categories, each at this level by itself.

    shows : (c,) the category, 0 .. k-1, that each class shows.  Returns low and high, (k,).

    >>> matrix = [[0.7, 0.1, 0.1], [0.2, 0.8, 0.2], [0.1, 0.1, 0.7]]
    >>> low, high = profile_intervals(matrix, [30, 40, 30], [0, 1, 2], 3)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.193, 0.179, 0.193], [0.49, 0.496, 0.49])
    """
    design, reported = _checked(matrix, counts)
    codes = np.asarray(shows)
    if codes.shape != design.shape[1:] or not np.isin(codes, np.arange(k)).all():
        raise ArgumentValueError(
            f"shows must hold a category 0 .. {k - 1} for each of the {design.shape[1]} classes"
        )
    return _limits(design, reported, codes == np.arange(k)[:, None], level)


def _limits(matrix: Floats, counts: Floats, shows: Booleans, level: float) -> tuple[Floats, Floats]:
    if not 0 < level < 1:
        raise ArgumentValueError(f"level must be in (0, 1), got {level!r}")
    if not counts.any():
        return np.zeros(len(shows)), np.ones(len(shows))
    limit = float(scipy.special.ndtri((1 + level) / 2)) ** 2
    # The lowest share of some classes leaves the others their highest.
    best, sides = most_likely(matrix, counts), np.concatenate([shows, ~shows])
    parts = np.array_split(sides, -(-len(sides) * matrix.size // _ENTRIES))
    highest = np.concatenate([_highest(matrix, counts, best, part, limit) for part in parts])
    return 1 - highest[len(shows) :], highest[: len(shows)]


def _highest(matrix: Floats, counts: Floats, best: Floats, shows: Booleans, limit: float) -> Floats:
    """(b,) the highest share of the shown classes whose deviance is at most the limit.

    Newton's method on the root of the deviance, which is nearly linear, between a share that
    is accepted and one that is not; where it leaves them or gains little, the middle.
    """
    high = np.asarray(shows.any(axis=1), dtype=np.float64)
    left = np.flatnonzero(high > shows.all(axis=1))
    inside, outside = np.clip(shows @ best, 0, 1), high.copy()
    value, slope = np.zeros_like(high), np.zeros_like(high)
    value[left], slope[left] = _deviance(matrix, counts, best, shows[left], high[left])
    left = left[value[left] > limit]
    halve = np.zeros(len(high), dtype=bool)
    close = 1e-9 * limit + _GAP * counts.sum()
    while left.size:
        before, a, b = value[left], inside[left], outside[left]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = high[left] - 2 * (before - np.sqrt(limit * before)) / slope[left]
        t = np.where((a < t) & (t < b) & ~halve[left], t, (a + b) / 2)
        high[left] = t
        value[left], slope[left] = _deviance(matrix, counts, best, shows[left], t)
        accepted = value[left] <= limit
        inside[left], outside[left] = np.where(accepted, t, a), np.where(accepted, b, t)
        missed = np.abs(value[left] - limit)
        halve[left] = missed > np.abs(before - limit) / 2
        left = left[(missed > close) & (outside[left] - inside[left] > 1e-15)]
    return high
