"""Debias reports: shares, counts, variances and intervals, on arrays and as an `Estimate`.

For k-RR the share of reports of v is s = q + f (p - q), so f = (s - q) / (p - q): unbiased, and
outside [0, 1] now and then; nothing is clipped silently.  Every variance names its target:
``"population"`` (s(1-s) / (p-q)^2 over n: the people were sampled) or ``"rows"``
([f p(1-p) + (1-f) q(1-q)] / (p-q)^2 over n: only the noise is random); they differ by f(1-f)/n.
Counts are always about the rows.
Sources: Warner (1965); Wang, Blocki, Li and Jha (2017), eq. 2 and 3; OpenDP's user guide.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rrstats import intervals
from rrstats.channel import BinomialRates, SupportChannel, check_target
from rrstats.containers import open_container
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.intervals import Interval, check_level, check_method
from rrstats.mechanisms import Mechanism, as_mechanism
from rrstats.privacy import check_epsilon, check_k, check_prob, prob_from_epsilon
from rrstats.tallies import Tally, as_count, tally

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Estimate",
    "ShareEstimate",
    "SimplexTable",
    "confidence_interval",
    "count_interval",
    "count_variance",
    "debias_counts",
    "debias_proportions",
    "debias_reports",
    "estimate",
    "project_to_simplex",
    "proportion_variance",
]

Floats = NDArray[np.float64]


# -- arrays --------------------------------------------------------------------------------


def _channel(
    shape: tuple[int, ...], prob: float | None, epsilon: float | None, k: int | None
) -> SupportChannel:
    """The k-RR channel that array arguments name; k is the last axis where not given."""
    if k is None:
        if not shape:
            raise ArgumentTypeError("a single number needs k, the number of categories")
        k = shape[-1]
        if k < 2:
            raise ArgumentValueError(
                f"the last axis must hold all k >= 2 categories, found {k}; for some give k"
            )
    k = check_k(k)
    if (prob is None) == (epsilon is None):
        given = "neither" if prob is None else "both"
        raise ArgumentTypeError(f"give prob or epsilon, found {given}")
    if prob is None:
        prob = prob_from_epsilon(check_epsilon(epsilon), k)
    return SupportChannel.single(k, Fraction(check_prob(prob, k)))


def _numbers(values: ArrayLike, name: str) -> Floats:
    """Finite real numbers as an array of doubles; raises for anything else."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf":
            array = array.astype(object)
            if any(isinstance(x, str | bytes | bool | complex) for x in array.flat):
                raise TypeError
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name} must be numbers") from None
    if not np.isfinite(numbers).all():
        raise ArgumentValueError(f"{name} must be finite numbers, found NaN or infinity")
    return numbers


def _shares(values: ArrayLike, name: str, whole: bool) -> Floats:
    shares = _numbers(values, name)
    if shares.size and (shares.min() < 0 or shares.max() > 1):
        raise ArgumentValueError(f"{name} must be shares in [0, 1]; for counts use debias_counts")
    if whole and shares.size:
        totals = shares.sum(axis=-1)
        worst = totals.flat[int(np.abs(totals - 1).argmax())]
        if abs(worst - 1) > max(0.01, 0.001 * shares.shape[-1]):
            raise ArgumentValueError(
                f"{name} of all k categories must sum to 1 along the last axis, found {worst:.6g}; "
                "for some of the categories give k"
            )
    return shares


def _like(result: Floats) -> Any:
    return result if result.ndim else float(result)


def debias_proportions(
    naive: ArrayLike,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    k: int | None = None,
) -> Any:
    """True shares from the shares among k-RR reports: unbiased, may lie outside [0, 1].

    naive : shares of reports: one number (with k), (k,) or (..., k); with k given, of any of
        the categories.  prob : P(report = truth); or epsilon in nats.
    Returns (naive - q) / (prob - q) of the same shape, q = (1 - prob) / (k - 1).
    Raises ArgumentValueError for shares outside [0, 1] or not summing to 1, and
    NotIdentifiable for prob = 1/k.
    Source: Warner (1965) for k = 2; OpenDP's user guide, (m(k-1) + p - 1) / (pk - 1).

    >>> round(debias_proportions(0.364, 0.75, k=2), 3)
    0.228
    >>> debias_proportions([0.165, 0.349, 0.284, 0.202], 0.75).round(3)
    array([0.122, 0.398, 0.301, 0.178])
    """
    channel = _channel(np.shape(naive), prob, epsilon, k)
    return _like(channel.solve(_shares(naive, "naive", whole=k is None)))


def debias_counts(
    reported: ArrayLike,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    n: float | None = None,
    k: int | None = None,
) -> Any:
    """True counts among the rows from counts of k-RR reports: unbiased, not whole.

    reported : counts of reports: (..., k), or fewer with k and n given.
    n : number of reports; by default the sum over the last axis.
    Returns (reported - n q) / (prob - q): the estimated counts, of the same shape.
    Source: RAPPOR's and k-RR's aggregate, (Y - N d/k) / (1 - d) with d the probability of a
    uniform draw; OpenDP's user guide (whose printed counts are truncated).

    >>> debias_counts([165, 349, 284, 202], 0.75).round(1)
    array([122.5, 398.5, 301. , 178. ])
    """
    channel = _channel(np.shape(reported), prob, epsilon, k)
    counts = _numbers(reported, "reported")
    if counts.size and counts.min() < 0:
        raise ArgumentValueError("reported must be counts of at least 0")
    if n is None:
        if k is not None and (not counts.ndim or counts.shape[-1] != k):
            raise ArgumentTypeError(
                "counts of some of the categories need n, the number of reports"
            )
        size = counts.sum(axis=-1, keepdims=True)
    else:
        size = _numbers(n, "n")
        if counts.size and (counts > size).any():
            raise ArgumentValueError("reported must be at most n, the number of reports")
    per_report = channel.solve(1.0) - channel.solve(0.0)  # 1 / (prob - q)
    return _like(np.asarray((counts - size * float(channel.prob_other)) * per_report))


def debias_reports(
    reports: Any, categories: Any, prob: float | None = None, *, epsilon: float | None = None
) -> Floats:
    """Each report as k unbiased values: their mean, over any group, estimates its shares.

    reports : n reports.  categories, prob, epsilon : or a mechanism.
    Returns (n, k); a missing report gives NaN.  Raises for reports outside the categories.
    Source: Wang et al. (2017), eq. 2; for k-RR (1[report = v] - q) / (p - q).

    >>> import math
    >>> debias_reports([3], range(10), epsilon=math.log(3)).round(2).tolist()
    [[-0.5, -0.5, -0.5, 5.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5]]
    """
    mechanism = as_mechanism(categories, prob, epsilon)
    space, container = mechanism.report_space, open_container(reports)
    encoded = space.encode(container.cells)
    if encoded.unknown:
        raise ArgumentValueError(
            f"{encoded.unknown} of {container.rows} reports are not among the categories "
            f"{space.describe()}"
        )
    absent = encoded.codes == space.k + 1
    scores = mechanism.channel.scores(np.where(absent, 0, encoded.codes))
    scores[absent] = np.nan
    return scores


def proportion_variance(
    proportions: ArrayLike,
    n: int,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    k: int | None = None,
    target: str = "population",
    ddof: int = 0,
) -> Any:
    """The variance of debiased shares, at given true shares.

    proportions : true shares (or their estimates, then ddof=1 is unbiased for
        "population"): one number (with k) or (..., k).  n : number of reports.
    target : "population": s(1-s) / ((p-q)^2 (n - ddof)) with s = q + f(p-q); "rows":
        [f p(1-p) + (1-f) q(1-q)] / ((p-q)^2 n).  The first exceeds the second by f(1-f)/n.
    Source: Warner (1965) and Wang et al. (2017), eq. 3, respectively.

    >>> round(proportion_variance(0.3, 1000, 0.7, k=4), 8)
    0.00056
    >>> round(proportion_variance(0.3, 1000, 0.7, k=4, target="rows"), 8)
    0.00035
    """
    channel = _channel(np.shape(proportions), prob, epsilon, k)
    size = as_count(n, "n") - (
        as_count(ddof, "ddof") if check_target(target) == "population" else 0
    )
    if size < 1:
        raise ArgumentValueError(f"n must be at least 1 more than ddof, got n={n}, ddof={ddof}")
    return _like(np.asarray(channel.variance(_numbers(proportions, "proportions"), target) / size))


def count_variance(
    proportions: ArrayLike,
    n: int,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    k: int | None = None,
) -> Any:
    """The variance of debiased counts among the rows: n^2 times that of their shares.

    >>> round(count_variance(0.3, 1000, 0.7, k=4), 6)
    350.0
    """
    variance = proportion_variance(proportions, n, prob, epsilon=epsilon, k=k, target="rows")
    return variance * float(n) ** 2


def confidence_interval(
    reported: ArrayLike,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    n: int | None = None,
    k: int | None = None,
    level: float = 0.95,
    method: str = "clopper-pearson",
    simultaneous: bool = False,
    target: str = "population",
) -> Interval:
    """Intervals of the true shares, from counts of k-RR reports.

    reported : counts of reports: (..., k), or fewer with k and n.  n : number of reports, by
        default the sum over the last axis.
    level : confidence.  method : "clopper-pearson" (never below its level), "wilson",
        "agresti-coull", "blaker", "lr", or "wald" as R's packages print it.
    simultaneous : all k categories together (Bonferroni; for k = 2 both say the same).
    target : "population", or "rows": these n rows, by the exact law.
    Returns Interval(low, high), arrays of the shape of ``reported``.

    >>> low, high = confidence_interval(312, 0.75, n=1000, k=2)
    >>> round(low, 4), round(high, 4)
    (0.0667, 0.1835)
    """
    counts = _numbers(reported, "reported")
    channel = _channel(counts.shape, prob, epsilon, k)
    if counts.size and (counts.min() < 0 or (counts != np.floor(counts)).any()):
        raise ArgumentValueError("reported must be whole counts of at least 0")
    if n is None and k is not None and (not counts.ndim or counts.shape[-1] != k):
        raise ArgumentTypeError("counts of some of the categories need n, the number of reports")
    size: Any = counts.sum(axis=-1, keepdims=True) if n is None else as_count(n, "n")
    if counts.size and (counts > size).any():
        raise ArgumentValueError("reported must be at most n, the number of reports")
    rates = channel.binomial_rates
    one = BinomialRates(rates.base[0], rates.top[0], rates.complementary)
    found = _interval(counts, size, one, channel.k, level, method, simultaneous, target)
    return Interval(_like(found.low), _like(found.high))


def count_interval(
    reported: ArrayLike,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    n: int | None = None,
    k: int | None = None,
    level: float = 0.95,
    simultaneous: bool = False,
) -> Interval:
    """Intervals of the true counts among the rows, from counts of k-RR reports.

    Arguments as for `confidence_interval`; n times its interval for target "rows".

    >>> low, high = count_interval(25, 0.75, n=60, k=2)
    >>> round(low), round(high)
    (6, 34)
    """
    low, high = confidence_interval(
        reported,
        prob,
        epsilon=epsilon,
        n=n,
        k=k,
        level=level,
        simultaneous=simultaneous,
        target="rows",
    )
    size = np.asarray(reported).sum(axis=-1, keepdims=True) if n is None else n
    return Interval(low * size, high * size)


def _interval(
    counts: Floats,
    n: Any,
    rates: BinomialRates,
    k: int,
    level: float,
    method: str,
    simultaneous: bool,
    target: str,
) -> Interval:
    """Intervals of shares by name: the one place where methods and targets meet."""
    level, method = check_level(level), check_method(method)
    if simultaneous and not rates.complementary:
        level = 1 - (1 - level) / k
    if check_target(target) == "population":
        return intervals.population_interval(counts, n, rates.base, rates.top, level, method)
    if method != "clopper-pearson":
        raise ArgumentValueError(
            f"method {method!r} is for the population; for target 'rows' there is one interval, "
            "the inversion of the exact law of the counts: leave method out"
        )
    sizes = np.broadcast_to(n, counts.shape)
    if np.ndim(n) == 0 or sizes.size == 0 or (sizes == sizes.flat[0]).all():
        size = int(sizes.flat[0]) if sizes.size else 0
        return intervals.rows_interval(counts, size, rates.base, rates.top, level)
    low, high = np.empty(counts.shape), np.empty(counts.shape)
    for place in np.ndindex(counts.shape[:-1]):
        low[place], high[place] = intervals.rows_interval(
            counts[place], int(sizes[place][0]), rates.base, rates.top, level
        )
    return Interval(low, high)


def project_to_simplex(proportions: ArrayLike) -> Floats:
    """The nearest shares that are at least 0 and sum to 1 (Euclidean, along the last axis).

    Source: Held, Wolfe and Crowder (1974); "Norm-Sub" of Wang et al. (2020).

    >>> project_to_simplex([0.5, 0.3, 0.25, 0.1, -0.05, -0.1])
    array([0.4625, 0.2625, 0.2125, 0.0625, 0.    , 0.    ])
    """
    shares = np.asarray(proportions, dtype=np.float64)
    falling = -np.sort(-shares, axis=-1)
    surplus = falling.cumsum(axis=-1) - 1
    kept = (falling * np.arange(1, shares.shape[-1] + 1) > surplus).sum(axis=-1, keepdims=True)
    shift = np.take_along_axis(surplus, kept - 1, axis=-1) / kept
    return np.maximum(shares - shift, 0.0)


# -- the estimate --------------------------------------------------------------------------


@dataclass(frozen=True)
class ShareEstimate:
    """One category of an estimate, with 95% intervals; the columns of `Estimate.to_frame`."""

    category: Hashable
    n: int
    reported: int
    naive: float
    proportion: float
    std_error: float
    low: float
    high: float
    count: float
    count_low: float
    count_high: float


@dataclass(frozen=True, eq=False, repr=False)
class SimplexTable:
    """Shares made to lie in [0, 1] and to sum to 1, for a table or a total picture.

    It has no variance and no interval, on purpose: shares that were pushed inside are biased
    (the largest shrink), and no standard error repairs that.  For inference use the
    `Estimate` it came from.
    """

    categories: tuple[Hashable, ...]
    proportions: Floats
    n: int
    method: str

    @property
    def counts(self) -> Floats:
        """(k,) the shares times the number of rows."""
        return np.asarray(self.proportions * self.n)

    def to_frame(self) -> pd.DataFrame:
        """Columns category, proportion and count."""
        return pd.DataFrame(
            {
                "category": _labels(self.categories),
                "proportion": self.proportions,
                "count": self.counts,
            }
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("variance", "std_error", "covariance", "interval"):
            raise AttributeError(
                f"a table inside the simplex has no {name}: pushing shares inside biases them; "
                "use the estimate it came from"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return (
            f"SimplexTable by {self.method}, n={self.n}\n{self.to_frame().to_string(index=False)}"
        )


def _labels(categories: tuple[Hashable, ...]) -> NDArray[np.object_]:
    return np.fromiter(categories, dtype=object, count=len(categories))


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Unbiased shares of k categories, with what is needed to judge them.

    tally : the counted reports.  target : "population" or "rows", whom shares, variances and
    intervals are about.  ddof : what is taken off n in the population's variance; 1 is
    unbiased, 0 is what GLMMRR prints.

    Shares may lie outside [0, 1]: a rare category comes out below 0 about half the time.
    With no reports, shares are NaN and intervals are [0, 1].
    """

    tally: Tally
    target: str = "population"
    ddof: int = 1

    @property
    def mechanism(self) -> Mechanism:
        """What made the reports."""
        return self.tally.mechanism

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The k categories, in their declared order; a missing one is None."""
        return self.mechanism.categories

    @property
    def k(self) -> int:
        """The number of categories."""
        return self.mechanism.k

    @property
    def n(self) -> int:
        """The number of reports that are not missing."""
        return self.tally.n

    @property
    def missing(self) -> int:
        """The number of missing reports, not in n."""
        return self.tally.missing

    @property
    def reported(self) -> NDArray[np.int64]:
        """(m,) how often each report occurs."""
        return self.tally.reported

    @property
    def naive(self) -> Floats:
        """(m,) shares among the reports: biased towards 1/k; for comparison only."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.reported / np.float64(self.n))

    @cached_property
    def proportions(self) -> Floats:
        """(k,) unbiased true shares; may lie outside [0, 1]."""
        return self.mechanism.channel.solve(self.naive)

    @property
    def counts(self) -> Floats:
        """(k,) unbiased true counts among the rows: shares times n, not whole."""
        return self.proportions * self.n

    @property
    def _size(self) -> float:
        return float(self.n - self.ddof if self.target == "population" else self.n)

    @cached_property
    def variance(self) -> Floats:
        """(k,) variance of the shares, for the target; NaN where n is too small."""
        if self._size <= 0:
            return np.full(self.k, np.nan)
        return self.mechanism.channel.variance(self.proportions, self.target) / self._size

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the shares: square roots of `variance`."""
        return np.sqrt(self.variance)

    def covariance(self) -> Floats:
        """(k, k) covariance of the shares, for the target; rows sum to 0."""
        if self._size <= 0:
            return np.full((self.k, self.k), np.nan)
        return self.mechanism.channel.covariance(self.proportions, self.target) / self._size

    def with_target(self, target: str) -> Estimate:
        """The same reports, spoken of for another target."""
        return replace(self, target=check_target(target))

    def interval(
        self, level: float = 0.95, *, method: str = "clopper-pearson", simultaneous: bool = False
    ) -> Interval:
        """(k,) intervals of the true shares, for the target.

        level, method, simultaneous : as for `confidence_interval`.
        """
        return self._interval(level, method, simultaneous, self.target)

    def count_interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """(k,) intervals of the true counts among the rows."""
        low, high = self._interval(level, "clopper-pearson", simultaneous, "rows")
        return Interval(low * self.n, high * self.n)

    def _interval(self, level: float, method: str, simultaneous: bool, target: str) -> Interval:
        rates = self.mechanism.channel.binomial_rates
        if rates is None:
            raise ArgumentValueError(
                "intervals need counts that are binomial by themselves, which this channel does "
                "not have; use std_error"
            )
        _ = self.proportions  # raises NotIdentifiable where nothing can be said
        counts = self.reported.astype(np.float64)
        return _interval(counts, self.n, rates, self.k, level, method, simultaneous, target)

    def to_frame(
        self, level: float = 0.95, *, method: str = "clopper-pearson", simultaneous: bool = False
    ) -> pd.DataFrame:
        """A tidy frame, one row a category.

        Columns: category, n, reported, naive, proportion, std_error, low, high (the interval
        of the share, for the target), count, count_low, count_high (always about the rows).
        """
        low, high = self.interval(level, method=method, simultaneous=simultaneous)
        count_low, count_high = self.count_interval(level, simultaneous=simultaneous)
        return pd.DataFrame(
            {
                "category": pd.Series(_labels(self.categories), dtype=object).infer_objects(),
                "n": self.n,
                "reported": self.reported,
                "naive": self.naive,
                "proportion": self.proportions,
                "std_error": self.std_error,
                "low": low,
                "high": high,
                "count": self.counts,
                "count_low": count_low,
                "count_high": count_high,
            }
        )

    def __getitem__(self, category: Hashable) -> ShareEstimate:
        code = self.mechanism.domain.code(category)
        if code >= self.k:
            raise ArgumentValueError(
                f"{category!r} is not among the categories {self.mechanism.domain.describe()}"
            )
        row = self.to_frame().drop(columns="category").iloc[code].to_dict()
        return ShareEstimate(self.categories[code], **{str(k): v for k, v in row.items()})

    def mle(self) -> SimplexTable:
        """Maximum likelihood shares inside the simplex, in closed form.

        Equal to the unbiased shares where those are inside.  Better for a displayed
        table and for the whole distribution; biased for the largest and the rare categories.
        Source: KKT conditions of the multinomial likelihood.
        """
        shares = self.proportions  # raises NotIdentifiable where nothing can be said
        if self.n:
            shares = self.mechanism.channel.most_likely(self.reported)
        return SimplexTable(self.categories, shares, self.n, "maximum likelihood")

    def project(self) -> SimplexTable:
        """The shares inside the simplex that are nearest to the unbiased ones (Euclidean)."""
        shares = project_to_simplex(self.proportions) if self.n else self.proportions
        return SimplexTable(self.categories, shares, self.n, "Euclidean projection")

    def reading(self, category: Hashable | None = None, level: float = 0.95) -> str:
        """One sentence that says what the estimate says of one category.

        category : by default the last one.

        >>> import rrstats as rr
        >>> est = rr.estimate(rr.Tally.from_counts([640, 360], rr.KRR(["no", "yes"], 0.75)))
        >>> est.reading("yes")
        'about 22.0% yes, 95% interval 16.0% to 28.3%, of the population behind these 1,000 reports'
        """
        code = self.k - 1 if category is None else self.mechanism.domain.code(category)
        if code >= self.k:
            raise ArgumentValueError(
                f"{category!r} is not among the categories {self.mechanism.domain.describe()}"
            )
        label = "missing" if self.categories[code] is None else str(self.categories[code])
        whom = (
            f"these {self.n:,} rows"
            if self.target == "rows"
            else f"the population behind these {self.n:,} reports"
        )
        if not self.n:
            return f"nothing can be said of {label}: there are no reports"
        share = float(self.proportions[code])
        ends = self.interval(level)
        low, high = float(ends.low[code]), float(ends.high[code])
        said = f"about {share:.1%} {label}"
        if not 0 <= share <= 1:
            near = "0" if share < 0 else "1"
            said = (
                f"about {np.clip(share, 0, 1):.1%} {label} (the unbiased estimate is {share:.1%}, "
                f"which is noise around a share near {near})"
            )
        wide = ", so wide that it says next to nothing" if high - low > 0.9 else ""
        return f"{said}, {level * 100:.4g}% interval {low:.1%} to {high:.1%}{wide}, of {whom}"

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Naive and debiased shares with intervals, on new or given matplotlib Axes.

        options : level, method, simultaneous, and truth, a mapping or k true shares to mark.
        """
        from rrstats.plots import plot_estimate

        return plot_estimate(self, ax, **options)

    def __repr__(self) -> str:
        table = (
            self.to_frame().drop(columns="n").to_string(index=False, float_format="{:.4f}".format)
        )
        absent = f", {self.missing:,} missing" if self.missing else ""
        return f"Estimate for target {self.target!r}: n={self.n:,}{absent}\n{table}"

    def _repr_html_(self) -> str:
        import html

        table = self.to_frame().drop(columns="n")
        body = table.to_html(index=False, escape=True, float_format="{:.4f}".format, border=0)
        largest = self.categories[int(np.argmax(self.reported))] if self.n else None
        return f"{body}<p>{html.escape(self.reading(largest))}</p>"


def estimate(
    reports: Any,
    categories: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    target: str = "population",
    ddof: int = 1,
) -> Estimate:
    """Estimate true shares from privatized reports.

    reports : n reports in any container that `privatize` gives back, or a Tally of them.
    categories, prob, epsilon : what made them: the categories with prob or epsilon, or a
        mechanism.  A Tally, and a Series that says how it was made, need none.
    target : "population" (these people are a sample of it) or "rows" (just these rows).
    Returns an Estimate: k unbiased shares, which may lie outside [0, 1].  `Estimate.mle`
    tidies the table and says what that costs.
    Raises ArgumentValueError for reports outside the categories, NotIdentifiable where prob
    is 1/k, MetadataError where an argument contradicts what the reports say of themselves.
    Formula: Wang et al. (2017), eq. 2; variance as named by target.

    >>> import rrstats as rr
    >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
    >>> est.proportions.round(4), est.std_error.round(4)
    (array([0.78, 0.22]), array([0.0304, 0.0304]))
    """
    check_target(target)
    if as_count(ddof, "ddof") not in (0, 1):
        raise ArgumentValueError(f"ddof must be 0 or 1, got {ddof}")
    if isinstance(reports, Tally):
        if categories is not None or prob is not None or epsilon is not None:
            given = as_mechanism(categories, prob, epsilon)
            if given != reports.mechanism:
                raise ArgumentValueError(
                    f"the tally was counted for {reports.mechanism!r}; leave the mechanism out"
                )
        return Estimate(reports, target, ddof)
    return Estimate(tally(reports, categories, prob, epsilon=epsilon), target, ddof)
