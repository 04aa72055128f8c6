"""Differences of two estimates: per category with an interval, and all together in a test.

Two independent samples, asked by any two designs with the same categories; two groups of one sample
with weights, strata or clusters, whose proportions are correlated; or the same people twice, where
a table of both columns has the correlation of their answers.
Intervals are MOVER's: the distances from each proportion to the ends of its own interval, uncut,
are put together like standard errors; only the difference is cut to [-1, 1].  The p-value of a
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
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_instance
from rrstats._display import label, percent_range
from rrstats._typing import Floats
from rrstats.estimation import arrays
from rrstats.estimation.crosstab import Crosstab
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.hypothesis_tests import (
    TestResult,
    check_comparable,
    covariance_df,
    homogeneity,
    paired_covariance,
    paired_test,
    trusted_variance,
)
from rrstats.estimation.result import (
    FORMATS,
    LabelledInterval,
    Result,
    label_column,
    proportion_rows,
)
from rrstats.inference.binomial import carry, rows_variance_interval, wilson_rates
from rrstats.inference.contrasts import (
    Interval,
    mover_difference,
    normal_quantile,
    student_quantile,
    wald,
)
from rrstats.inference.empirical_likelihood import mean_interval
from rrstats.mechanisms.channel import recode_matrix
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LEVELS = (0.25, 0.6, 0.9, 0.95, 0.99, 0.999, 0.9999)
"""Intervals at these are computed for a p-value, and the level of one that ends at 0 lies between.

Simulated with k-RR, z is within 0.03 of the exact one that way; where an interval at one of
these ends at 0 it is exact.
"""

_COVERAGE = ((9, "87%"), (19, "88%"), (70, "91%"))
"""Lowest exact coverage at 95%, with up to so many reports in the smaller sample."""


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Result):
    """Proportions of one estimate less those of another, category by category.

    Attributes
    ----------
    first, second : Estimate
        The two estimates.
    shared : ndarray of shape (k, k) or None
        Covariance of the proportions of the first with those of the second; None where the samples
        are independent.
    groups : bool
        Whether they are two groups of one sample, and not the same people twice.
    """

    formats: ClassVar[Any] = {
        **FORMATS,
        **dict.fromkeys(("first", "second", "difference", "z", "p_value"), "{:.4f}".format),
    }
    shown = ("difference", "low", "high", "p_value", "first", "second", "std_error")

    first: Estimate
    second: Estimate
    shared: Floats | None = None
    groups: bool = False

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The k categories of both."""
        return self.first.categories

    @property
    def k(self) -> int:
        """The number of categories."""
        return self.first.k

    @property
    def n(self) -> int:
        """The number of reports of both."""
        return self.first.n + self.second.n

    @property
    def target(self) -> str:
        """Target of the difference; for "rows" only the noise is random."""
        return self.first.target

    @property
    def differences(self) -> Floats:
        """(k,) unbiased differences of proportions; may lie outside [-1, 1]."""
        return np.asarray(self.first.proportions - self.second.proportions)

    @property
    def covariance(self) -> Floats:
        """Covariance of the differences.

        Returns
        -------
        ndarray of shape (k, k)
            For the target.
        """
        total = np.asarray(self.first.covariance + self.second.covariance)
        return total if self.shared is None else total - self.shared - self.shared.T

    @property
    def variance(self) -> Floats:
        """(k,) variance of the differences; NaN where there are too few reports."""
        total = self.first.variance + self.second.variance
        if self.shared is not None:
            total = total - 2 * np.diagonal(self.shared)
        return np.maximum(total, 0.0)

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the differences."""
        return np.asarray(np.sqrt(self.variance))

    @cached_property
    def df(self) -> Floats:
        """(k,) Satterthwaite's, of the difference; infinite where neither has a design.

        Never more than the reports of both together have, of which two groups in the same
        clusters have no more than one.
        """
        both = [self.first, self.second]
        parts = zip(*(trusted_variance(one)[:, None, None] for one in both), strict=True)
        return np.array([covariance_df(both, list(pair)) for pair in parts])

    @cached_property
    def z(self) -> Floats:
        """(k,) normal quantiles that the interval must reach to end at 0, with a sign.

        Near differences / std_error where there are many reports.  Past the last of the
        levels at which intervals are computed, 99.99%, their length is taken to grow with z.
        """
        shift = self.differences
        margins = np.array([self._margins(level) for level in _LEVELS])
        toward = np.where(shift > 0, margins[:, 0], margins[:, 1])
        quantiles = np.array([normal_quantile(level) for level in _LEVELS])
        return np.sign(shift) * _crossing(quantiles, toward, np.abs(shift))

    @property
    def p_value(self) -> Floats:
        """(k,) two-sided p-values, each category by itself: below 5% where 0 is outside 95%.

        Exact levels at 5% with two samples of 10 to 300 reports of one or two k-RR designs (2 to 7
        categories, epsilon 0.5 to 5, and direct answers), equal proportions from 0 to 1: 4.3% on
        average and at most 6.7%; 9.2% with 5 reports.  Differences in standard errors rejected
        up to 62% there, and 79% with 5 reports.  Simulated, 1,000 true nulls a case: two
        independent samples of 2 to 30 clusters each that differ 0.9% to 5.5%, of clusters that
        do not 0% (2 of them) to 3.8% (30), where differences in standard errors rejected 6%
        to 20%; two groups of one sample of 3 to 12 clusters 4.5% to 5.6%.
        """
        return np.asarray(2 * scipy.special.ndtr(-np.abs(self.z)))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> LabelledInterval:
        """Intervals of the differences by MOVER, cut to [-1, 1].

        Parameters
        ----------
        level : float
            Confidence level.
        simultaneous : bool
            Whether all categories together hold at this level (Bonferroni; none for two categories
            that sum to 1).

        Returns
        -------
        LabelledInterval
            (k,) ends; [-1, 1] where there is nothing to compare.

        Notes
        -----
        Lowest exact coverage at 95% on the tests' grid, two categories, 25 to 50 reports each:
        94.1% under noise, 93.0% with next to none (prob 0.95).  Simulated with three categories,
        designs of three and four reports, 50 to 400 of them, either target: 93.2% to 97%.
        """
        sums = [one.proportions.sum() for one in (self.first, self.second)]
        one_number = self.k == 2 and np.allclose(sums, 1, rtol=0, atol=1e-9)
        level = arrays.level_of_each(level, simultaneous, 1 if one_number else self.k)
        below, above = self._margins(level)
        low, high = (np.clip(self.differences + one, -1, 1) for one in (-below, above))
        ends = np.nan_to_num(low, nan=-1.0), np.nan_to_num(high, nan=1.0)
        return LabelledInterval(*ends, self.categories)

    def _margins(self, level: float) -> tuple[Floats, Floats]:
        """(k,) distances from the difference to both ends of the interval."""
        a, b = self.first.proportions, self.second.proportions
        of_a, of_b = (uncut_interval(one, level, self.df) for one in (self.first, self.second))
        correlation = np.zeros(self.k)
        if self.shared is not None:
            product = np.sqrt(trusted_variance(self.first) * trusted_variance(self.second))
            with np.errstate(divide="ignore", invalid="ignore"):
                correlation = np.nan_to_num(np.diagonal(self.shared) / product).clip(-1, 1)
        low, high = mover_difference(a, of_a, b, of_b, correlation=correlation)
        return a - b - low, high - (a - b)

    def test(self) -> TestResult:
        """Test the null that all proportions are the same, with k - 1 degrees of freedom.

        Returns
        -------
        TestResult
            Of independent samples `hypotheses.homogeneity`, whose covariance is that under the
            null: with 50 and 100 reports it keeps its level, where Wald's test rejected 5.7% to
            8.9% of true nulls at 5%.  With weights or a design its F distribution keeps the level
            where clusters are few, and two groups of one sample have their joint covariance.  Of
            pairs, Wald's test.  For two categories `p_value` is another test, inverted intervals,
            and a little different.

        Examples
        --------
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
        return paired_test(self.first, self.second, self.shared)

    # -- for people ------------------------------------------------------------------------

    def to_frame(self, level: float = 0.95, *, simultaneous: bool = False) -> pd.DataFrame:
        """A tidy frame, one row a category.

        Parameters
        ----------
        level, simultaneous
            As for `interval`.

        Returns
        -------
        DataFrame
            Columns category, first, second (the proportions), difference, std_error, low, high, z,
            p_value.
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

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The difference of one category in a sentence.

        Parameters
        ----------
        category : hashable, optional
            By default the last.
        level : float
            Confidence level of the interval.

        Returns
        -------
        str
            The difference in percentage points with its interval.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
        >>> b = rr.estimate(rr.Tally.from_counts([580, 420], m))
        >>> difference(b, a).interpret("yes")
        'yes: 12.0 points more than in the second, 95% interval 3.4 to 20.5 points'
        """
        place = self.first.code_of(category)
        low, high = (float(end[place]) for end in self.interval(level))
        name, found = label(self.categories[place]), float(self.differences[place])
        if not np.isfinite(found):
            return f"{name}: nothing can be said of a difference, there are too few reports"
        span = percent_range(low, high).replace("%", "")
        word = "more" if found >= 0 else "less"
        doubt = "; it may well be none" if low <= 0 <= high else ""
        return (
            f"{name}: {abs(found) * 100:.1f} points {word} than in the second, "
            f"{level * 100:.10g}% interval {span} points{doubt}"
        )

    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the differences with their intervals.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        **options
            figsize, title, sort and top.

        Returns
        -------
        Axes
            One row for each category, and a line at no difference.
        """
        rows = proportion_rows(self.categories, self.differences, self.interval(level))
        xlabel = "proportion in the first less that in the second"
        return plot_intervals(rows, ax, xlabel=xlabel, level=level, bounds=(-1.0, 1.0), **options)

    @property
    def header(self) -> list[tuple[str, str]]:
        """The target, the reports, and whether the two are independent."""
        found = [("target", self.target), ("n", f"{self.first.n:,} and {self.second.n:,}")]
        if self.shared is not None:
            kind = "two groups of one sample" if self.groups else "the same people"
            found.append(("of", kind))
        return found

    @property
    def notes(self) -> list[str]:
        """The coverage of intervals with few reports."""
        few = min(self.first.n, self.second.n)
        if not 0 < few <= _COVERAGE[-1][0]:
            return []
        worst = next(coverage for size, coverage in _COVERAGE if few <= size)
        return [
            f"a sample has only {few} reports: in the worst case (two answers, next to no noise, "
            f"rare or common ones) 95% intervals of the difference cover {worst}"
        ]


def _crossing(quantiles: Floats, margins: Floats, shift: Floats) -> Floats:
    """(k,) the quantile at which an interval reaches as far as the shift.

    quantiles : (q,) increasing.  margins : (q, k) at each.  Reach over quantile is nearly
    constant, and taken for linear between two of them.
    """
    slope = margins / quantiles[:, None]
    k = len(shift)
    at = np.minimum((margins < shift).cumprod(axis=0).sum(axis=0), len(quantiles))
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


def difference(first: Any, second: Any, *, paired: Crosstab | None = None) -> Difference:
    """The proportions of one estimate less those of another.

    Parameters
    ----------
    first, second : Estimate
        With the same categories in the same order, by any designs, for the same target.  For
        "population" two independent samples, or two groups of one sample with a design, as
        ``estimate(..., by=)`` makes them (see `Estimate.covariance_with`); for "rows" two sets of
        rows of which only the noise is random.
    paired : Crosstab, optional
        Where the same people gave both reports, the crosstab of the first with the second; people
        who gave only one of them may be in the estimates as well.

    Returns
    -------
    Difference
        With an interval and a p-value for each category, and a test of all.

    Raises
    ------
    ArgumentValueError
        For different categories or targets.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
    >>> b = rr.estimate(rr.Tally.from_counts([420, 580], rr.surveys.direct(["no", "yes"])))
    >>> low, high = difference(a, b).interval()
    >>> low.round(3), high.round(3)
    (array([ 0.292, -0.426]), array([ 0.426, -0.292]))
    """
    for name, given in (("first", first), ("second", second)):
        check_instance(given, name, Estimate, "an Estimate, as estimate() makes it")
    check_comparable([first, second])
    if paired is not None:
        return Difference(first, second, paired_covariance(first, second, paired))
    shared = first.covariance_with(second)
    return Difference(first, second, shared, groups=shared is not None)


def uncut_interval(estimate: Estimate, level: float, df: Floats | float = np.inf) -> Interval:
    """(k,) an interval of each proportion by itself that may leave [0, 1], as MOVER needs it.

    df : degrees of freedom whose t quantiles take the place of the normal one.
    Wilson's where the count of each category is binomial, else the empirical likelihood's of the
    unbiased proportions; for just these rows, the score interval.
    """
    found, n, channel = estimate.proportions, estimate.n, estimate.mechanism.channel
    if estimate.designed:
        return estimate.uncut_interval(level, np.broadcast_to(df, found.shape))
    if not np.isfinite(found).all():
        return Interval(found, found)
    counts, alone = estimate.reported.astype(np.float64), not arrays.has_scores(channel)
    variances = arrays.score_variances(channel, counts)
    if estimate.target == "rows" and variances is not None:
        ends = rows_variance_interval(found, n, variances, recode_matrix(channel) > 0, level=level)
    elif (rates := channel.binomial_rates) is not None:
        low, high = rates.false_positive_rate, rates.true_positive_rate
        ends = carry(wilson_rates(counts, n, level), low, high)
    elif estimate.default_method == "wald":
        error = estimate.with_target("population").std_error
        ends = wald(found, error, normal_quantile(level))
    else:  # samples that need one another stand alone
        cells = np.arange(len(counts))
        scores = arrays.weights(channel, counts) if alone else channel.scores(cells).T
        ends = mean_interval(scores, counts, channel.samples * alone, level)
    stretch = student_quantile(level, df) / normal_quantile(level)
    with np.errstate(invalid="ignore"):
        return Interval(found - stretch * (found - ends.low), found + stretch * (ends.high - found))
