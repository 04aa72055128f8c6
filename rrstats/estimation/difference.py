"""Differences of two estimates: per category with an interval, and all together in a test.

Two independent samples, asked by any two designs with the same categories; two groups of one sample
with weights, strata or clusters, whose shares go together; or the same people twice, where a
table of both columns says how far their answers do.
Intervals are MOVER's: the distances from each share to the ends of its own interval, uncut, are
put together like standard errors; only the difference is cut to [-1, 1].  The p-value of a
category is the level at which its interval comes to exclude 0, and z the normal quantile
of that, so that neither contradicts the interval.  A difference in standard errors would: where
a category is not reported at all in a small sample, its standard error is 0.
For more than two samples, and for one test of all categories, see `hypotheses.homogeneity`.
Sources: Newcombe (1998), method 10; Zou and Donner (2008), with their correlation for pairs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_bool, check_level
from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation import debiasing
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.homogeneity import (
    TestResult,
    category_difference,
    homogeneity,
    wald_tail,
)
from rrstats.estimation.result import FORMATS, label_column, percent_range, said, shortened
from rrstats.inference.binomial import Interval, carry, rows_variance_interval, wilson_rates
from rrstats.inference.contrasts import joined_distance, normal_quantile, wald, wald_statistic
from rrstats.inference.empirical_likelihood import mean_interval
from rrstats.mechanisms.channel import recode_matrix

__all__ = ["Difference", "difference"]


_LEVELS = (0.25, 0.6, 0.9, 0.95, 0.99, 0.999, 0.9999)
"""Intervals at these are computed for a p-value, and the level of one that ends at 0 lies between.

Simulated with k-RR, z is within 0.03 of the exact one that way; where an interval at one of
these ends at 0 it is exact.
"""


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """Shares of one estimate less those of another, category by category.

    first, second : the two estimates.  shared : (k, k) covariance of the shares of the first with
    those of the second; None where the samples are independent.  groups : whether they are
    two groups of one sample, and not the same people twice.
    Where one has few clusters, quantiles are of t with the degrees of freedom of the difference
    (`degrees_of_freedom`).
    """

    first: Any
    second: Any
    shared: Floats | None = None
    groups: bool = False

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The k categories of both."""
        return tuple(self.first.categories)

    @property
    def k(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    def target(self) -> str:
        """Whom the difference is about; for "rows" only the noise is random."""
        return str(getattr(self.first, "target", "population"))

    @property
    def differences(self) -> Floats:
        """(k,) unbiased differences of shares; may lie outside [-1, 1]."""
        return np.asarray(self.first.proportions - self.second.proportions)

    def covariance(self) -> Floats:
        """(k, k) covariance of the differences."""
        return self._covariance

    @cached_property
    def _covariance(self) -> Floats:
        total = np.asarray(self.first.covariance() + self.second.covariance(), dtype=np.float64)
        return total if self.shared is None else total - self.shared - self.shared.T

    @property
    def variance(self) -> Floats:
        """(k,) variance of the differences; NaN where there are too few reports."""
        total = np.asarray(self.first.variance + self.second.variance, dtype=np.float64)
        if self.shared is not None:
            total = total - 2 * np.diagonal(self.shared)
        return np.maximum(total, 0.0)

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the differences."""
        return np.asarray(np.sqrt(self.variance))

    @cached_property
    def degrees_of_freedom(self) -> Floats | None:
        """(k,) Satterthwaite's, of the difference; None where neither has weights or a design.

        Never more than the reports of both together have, of which two groups in the same
        clusters have no more than one.
        """
        given = [getattr(one, "df", np.inf) for one in (self.first, self.second)]
        if given == [np.inf, np.inf]:
            return None
        parts = [_trusted(one) for one in (self.first, self.second)]
        free = [
            float(one.n) - 1 if own == np.inf else float(own)
            for one, own in zip((self.first, self.second), given, strict=True)
        ]
        if min(free) < 1:
            return np.zeros(self.k)
        total = parts[0] + parts[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            both = total**2 / (parts[0] ** 2 / free[0] + parts[1] ** 2 / free[1])
        found = np.where(np.isfinite(both) & (total > 0), both, min(free))
        most = sum(free) if self.shared is None else min(free)
        if self.groups:
            most = self.first.df_with(self.second) or most
        return np.minimum(found, most)

    @cached_property
    def z(self) -> Floats:
        """(k,) as many normal quantiles as the interval must reach to end at 0, with a sign.

        Near differences / std_error where there are many reports.  Past the last of the
        levels at which intervals are computed, 99.99%, their length is taken to grow with z.
        """
        quantiles = scipy.special.ndtri((1 + np.array(_LEVELS)) / 2)
        shift = self.differences
        both = np.array([self._reach(level) for level in _LEVELS])
        reach = np.where(shift > 0, both[:, 0], both[:, 1])
        return np.sign(shift) * _crossing(quantiles, reach, np.abs(shift))

    @property
    def p_value(self) -> Floats:
        """(k,) two-sided p-values, each category by itself: below 5% where 0 is outside 95%.

        Exact levels at 5% with two samples of 10 to 300 reports of one or two k-RR designs (2 to 7
        categories, epsilon 0.5 to 5, and direct answers), equal shares from 0 to 1: 4.3% on
        average and at most 6.7%; 9.2% with 5 reports.  Differences in standard errors rejected
        up to 62% there, and 79% with 5 reports.  Simulated, 1,000 true nulls a case: two
        independent samples of 2 to 30 clusters each that differ 0.9% to 5.5%, of clusters that
        do not 0% (2 of them) to 3.8% (30), where differences in standard errors rejected 6%
        to 20%; two groups of one sample of 3 to 12 clusters 4.5% to 5.6%.
        """
        return np.asarray(2 * scipy.special.ndtr(-np.abs(self.z)))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """(k,) intervals of the differences by MOVER, cut to [-1, 1].

        simultaneous : all at once hold with probability ``level`` (Bonferroni; none for two
        categories that sum to 1).  Where there is nothing to compare, [-1, 1].

        Lowest exact coverage at 95% on the tests' grid, two categories, 25 to 50 reports each:
        94.1% under noise, 93.0% with next to none (prob 0.95).  Simulated with three categories,
        designs of three and four reports, 50 to 400 of them, either target: 93.2% to 97%.
        """
        level = check_level(level)
        if check_bool(simultaneous, "simultaneous") and not self._one_number:
            level = 1 - (1 - level) / self.k
        down, up = self._reach(level)
        low, high = self.differences - down, self.differences + up
        low, high = np.clip(low, -1, 1), np.clip(high, -1, 1)
        return Interval(np.nan_to_num(low, nan=-1.0), np.nan_to_num(high, nan=1.0))

    def _reach(self, level: float) -> tuple[Floats, Floats]:
        """(k,) how far the interval goes to below and above the difference."""
        a, b = self.first.proportions, self.second.proportions
        ends_a, ends_b = (
            uncut_interval(one, level, self.degrees_of_freedom) for one in (self.first, self.second)
        )
        down = joined_distance(a - ends_a.low, ends_b.high - b, self._correlation)
        up = joined_distance(ends_a.high - a, b - ends_b.low, self._correlation)
        return down, up

    @property
    def _one_number(self) -> bool:
        """Whether one difference says both."""
        sums = [float(np.sum(one.proportions)) for one in (self.first, self.second)]
        return self.k == 2 and bool(np.allclose(sums, 1, rtol=0, atol=1e-9))

    @property
    def _correlation(self) -> Floats:
        if self.shared is None:
            return np.zeros(self.k)
        both = _trusted(self.first) * _trusted(self.second)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.diagonal(self.shared) / np.sqrt(both)
        return np.asarray(np.clip(np.nan_to_num(found), -1, 1))

    def test(self) -> TestResult:
        """Whether all shares are the same, with k - 1 degrees of freedom.

        Of independent samples `hypotheses.homogeneity`, whose covariance is that under the null:
        with 50 and 100 reports it keeps its level, where Wald's test rejected 5.7% to 8.9% of
        true nulls at 5%.  With weights or a design its F distribution keeps the level where
        clusters are few, and two groups of one sample have their joint covariance.  Of pairs,
        Wald's test.  For two categories `p_value` is another test, inverted intervals, and a
        little different.

        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
        >>> b = rr.estimate(rr.Tally.from_counts([580, 420], m))
        >>> found = difference(a, b).test()
        >>> round(found.statistic, 2), found.df, round(found.p_value, 4)
        (7.57, 1, 0.0059)
        """
        if self.shared is None or self.groups:
            return homogeneity(self.first, self.second)
        statistic, df = wald_statistic(self.differences, self._covariance)
        free = self.degrees_of_freedom
        p_value, name, notes = wald_tail(statistic, df, None if free is None else float(free.min()))
        if np.isnan(statistic):
            notes = [_NO_TEST]
        return TestResult(
            null="the shares of both are the same",
            statistic=statistic,
            df=df,
            p_value=p_value,
            method="Wald test of a difference of shares, some people in both samples" + name,
            n=int(self.first.n) + int(self.second.n),
            notes=tuple(notes),
        )

    def to_frame(self, level: float = 0.95, *, simultaneous: bool = False) -> pd.DataFrame:
        """A tidy frame, one row a category.

        Columns: category, first, second (the shares), difference, std_error, low, high, z, p_value.
        """
        low, high = self.interval(level, simultaneous=simultaneous)
        return pd.DataFrame(
            {
                "category": label_column(self.categories),
                "first": self.first.proportions,
                "second": self.second.proportions,
                "difference": self.differences,
                "std_error": self.std_error,
                "low": low,
                "high": high,
                "z": self.z,
                "p_value": self.p_value,
            }
        )

    def reading(self, category: Hashable = ..., level: float = 0.95) -> str:
        """One sentence about the difference of one category, by default the last.

        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
        >>> b = rr.estimate(rr.Tally.from_counts([580, 420], m))
        >>> difference(b, a).reading("yes")
        'yes: 12.0 points more than in the second, 95% interval 3.4 to 20.5 points'
        """
        code = self.k - 1
        if category is not ...:
            if category not in self.categories:
                raise ArgumentValueError(
                    f"{category!r} is not among the {self.k} categories of these estimates"
                )
            code = self.categories.index(category)
        low, high = (float(end[code]) for end in self.interval(level))
        label, found = said(self.categories[code]), float(self.differences[code])
        if not np.isfinite(found):
            return f"{label}: nothing can be said of a difference, there are too few reports"
        span = percent_range(low, high).replace("%", "")
        word = "more" if found >= 0 else "less"
        doubt = "; it may well be none" if low <= 0 <= high else ""
        return (
            f"{label}: {abs(found) * 100:.1f} points {word} than in the second, "
            f"{level * 100:.10g}% interval {span} points{doubt}"
        )

    def __repr__(self) -> str:
        table = self.to_frame()
        table["category"] = [said(category) for category in self.categories]
        shown = dict.fromkeys(("first", "second", "difference", "z", "p_value"), "{:.4f}".format)
        text = table.to_string(index=False, formatters={**FORMATS, **shown}, **shortened())
        kind = ", two groups of one sample" if self.groups else ", of the same people"
        pairs = "" if self.shared is None else kind
        sizes = f"n={int(self.first.n):,} and {int(self.second.n):,}"
        return f"Difference for target {self.target!r}: {sizes}{pairs}\n{text}"


_NO_TEST = "too few reports for this test: a share has no variance that could be estimated"


def _crossing(quantiles: Floats, reach: Floats, shift: Floats) -> Floats:
    """(k,) the quantile at which an interval reaches as far as the shift.

    quantiles : (q,) increasing.  reach : (q, k) at each.  Reach over quantile is nearly
    constant, and taken for linear between two of them.
    """
    slope = reach / quantiles[:, None]
    k = len(shift)
    at = np.minimum((reach < shift).cumprod(axis=0).sum(axis=0), len(quantiles))
    before, after = np.maximum(at - 1, 0), np.minimum(at, len(quantiles) - 1)
    every = np.arange(k)
    z0, z1, h0, h1 = quantiles[before], quantiles[after], slope[before, every], slope[after, every]
    with np.errstate(divide="ignore", invalid="ignore"):
        # z (h0 + s (z - z0)) = shift, between z0 and z1
        s = np.where(z1 > z0, (h1 - h0) / np.where(z1 > z0, z1 - z0, 1.0), 0.0)
        middle = h0 - s * z0
        root = np.sqrt(np.maximum(middle**2 + 4 * s * shift, 0.0))
        found = np.where(shift == 0, 0.0, 2 * shift / (middle + root))
    inside = np.clip(found, z0, z1)
    return np.where(z1 > z0, inside, found)


def difference(first: Any, second: Any, *, paired: Any = None) -> Difference:
    """The shares of one estimate less those of another.

    first, second : Estimates with the same categories in the same order, by any designs, for the
        same target.  For "population" two independent samples, or two groups of one sample with
        a design, as ``estimate(..., by=)`` makes them (see `Estimate.covariance_with`);
        for "rows" two sets of rows of which only the noise is random.
    paired : where the same people gave both reports, the crosstab of the first with the second;
        people who gave only one of them may be in the estimates as well.
    Raises ArgumentValueError for different categories or targets.

    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
    >>> b = rr.estimate(rr.Tally.from_counts([420, 580], rr.surveys.direct(["no", "yes"])))
    >>> low, high = difference(a, b).interval()
    >>> low.round(3), high.round(3)
    (array([ 0.292, -0.426]), array([ 0.426, -0.292]))
    """
    for name, given in (("first", first), ("second", second)):
        if not hasattr(given, "proportions") or not hasattr(given, "covariance"):
            raise ArgumentTypeError(
                f"{name} must be an Estimate, as estimate() makes it, found {type(given).__name__}"
            )
    if tuple(first.categories) != tuple(second.categories):
        raise ArgumentValueError(
            "both estimates must have the same categories in the same order, found "
            + category_difference(first.categories, second.categories)
        )
    targets = [getattr(given, "target", "population") for given in (first, second)]
    if targets[0] != targets[1]:
        raise ArgumentValueError(
            f"both estimates must be about the same target, found {targets[0]!r} and "
            f"{targets[1]!r}; use with_target"
        )
    if paired is not None:
        return Difference(first, second, _shared(first, second, paired, targets[0]))
    together = getattr(first, "covariance_with", None)
    shared = None if together is None else together(second)
    return Difference(first, second, shared, groups=shared is not None)


def _shared(first: Any, second: Any, table: Any, target: str) -> Floats:
    """(k, k) covariance of the shares of the first with those of the second."""
    k = len(first.categories)
    if np.shape(table.proportions) != (k, k):
        raise ArgumentValueError(
            f"paired must be the crosstab of both columns, {k} by {k} categories, found the shape "
            f"{np.shape(table.proportions)}"
        )
    if table.n > min(first.n, second.n):
        raise ArgumentValueError(
            f"paired has {table.n} people who gave both reports, but the estimates have "
            f"{first.n} and {second.n} reports"
        )
    if target == "rows":  # fresh noise: only the people were the same
        return np.zeros((k, k))
    if table.n < 2:
        return np.zeros((k, k))
    one, other = (table.margin(name).proportions for name in table.names)
    # The people in the table are some of those in each estimate.
    each = np.asarray(table.proportions) - np.outer(one, other)
    unbiased = table.n / (table.n - getattr(first, "ddof", 1))
    return np.asarray(each * (unbiased * table.n / (first.n * second.n)))


def _trusted(one: Any) -> Floats:
    """(k,) the variance that intervals take: no less than that of strata and weights."""
    least = getattr(one, "least_variance", None)
    own = np.asarray(one.variance, dtype=np.float64)
    return np.nan_to_num(own if least is None else np.fmax(own, least))


def uncut_interval(estimate: Any, level: float, free: Floats | None = None) -> Interval:
    """(k,) an interval of each share by itself that may leave [0, 1], as MOVER needs it.

    free : (k,) degrees of freedom whose t quantiles take the place of the normal one.
    Wilson's where the count of each category is binomial, else the empirical likelihood's of the
    unbiased shares; for just these rows, the score interval.
    """
    if isinstance(estimate, Estimate) and estimate.designed and free is not None:
        return estimate.uncut_interval(level, free)
    low, high = _normal_ends(estimate, level)
    if free is None:
        return Interval(low, high)
    shares, tail = np.asarray(estimate.proportions), (1 + level) / 2
    with np.errstate(invalid="ignore"):
        quantiles = np.where(free > 0, scipy.special.stdtrit(np.maximum(free, 1), tail), np.inf)
        stretch = quantiles / scipy.special.ndtri(tail)
        return Interval(shares - stretch * (shares - low), shares + stretch * (high - shares))


def _normal_ends(estimate: Any, level: float) -> Interval:
    """The same, with normal quantiles."""
    shares = np.asarray(estimate.proportions)
    if not isinstance(estimate, Estimate) or estimate.designed:
        return _stretched(estimate, shares, level)
    if not np.isfinite(shares).all():
        return Interval(np.full(len(shares), np.nan), np.full(len(shares), np.nan))
    n, channel, counts = estimate.n, estimate.mechanism.channel, estimate.reported.astype(float)
    if (
        estimate.target == "rows"
        and (spread := debiasing.score_variances(channel, counts)) is not None
    ):
        return rows_variance_interval(shares, n, spread, recode_matrix(channel) > 0, level)
    if (rates := channel.binomial_rates) is not None:
        ends = rates.false_positive_rate, rates.true_positive_rate
        return carry(wilson_rates(counts, n, level), *ends)
    if estimate.default_method == "wald":
        error = estimate.with_target("population").std_error
        return wald(shares, error, normal_quantile(level))
    if not debiasing.has_scores(channel):  # samples need one another
        scale = debiasing.weights(channel, counts)
        return mean_interval(scale, counts, channel.samples, level)
    scores = channel.scores(np.arange(len(counts))).T
    return mean_interval(scores, counts, np.zeros_like(channel.samples), level)


def _stretched(estimate: Any, shares: Floats, level: float) -> Interval:
    """The estimate's own interval; where it was cut at 0 or 1, as far as its standard errors."""
    low, high = estimate.interval(level)
    reach = scipy.special.ndtri((1 + level) / 2) * np.nan_to_num(estimate.std_error)
    low = np.where(low <= 0, np.minimum(low, shares - reach), np.minimum(low, shares))
    high = np.where(high >= 1, np.maximum(high, shares + reach), np.maximum(high, shares))
    return Interval(low, high)
