"""Differences of two estimates, with an interval and a p-value for each category.

They are between two independent samples, by any two designs with the same categories; between two
groups of one sample with weights, strata or clusters, whose proportions are correlated; or between
two answers of the same people, whose correlation a table of both columns gives.
Where both counts of a category are binomial and independent, intervals are melded from the
confidence distributions of both (`inference.melded`).  In no enumerated case they cover less than
their level.  Else they are MOVER's: the distances from each proportion to the uncut ends of its own
interval are combined like standard errors.  Only the difference is cut to [-1, 1].
The p-value of a category is 1 minus the level at which its interval ends at 0, and z is the
corresponding normal quantile, so neither contradicts the interval.  The difference divided by its
standard error would: a category that nobody reports in a small sample has a standard error of 0.
Sources: Fay, Proschan and Brittain (2015) for melded intervals; Newcombe (1998), method 10, and Zou
and Donner (2008), with their correlation for pairs, for MOVER.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_instance, check_one_of
from rrstats._display import label, percent_range
from rrstats._names import checked_keywords, checked_options
from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.crosstab import Crosstab
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.estimates.result import (
    IMPLAUSIBLE,
    LabelledInterval,
    Result,
    formats_of,
    label_column,
    proportion_rows,
    titled,
)
from rrstats.estimation.hypothesis_tests.change import paired_covariance, wald_of_pairs
from rrstats.estimation.hypothesis_tests.homogeneity import (
    check_comparable,
    covariance_df,
    homogeneity,
)
from rrstats.estimation.hypothesis_tests.test_result import TestResult
from rrstats.estimation.tallies import arrays
from rrstats.inference.contrasts import (
    Interval,
    mover_difference,
    normal_quantile,
)
from rrstats.inference.melded import (
    SMALLEST_TAIL,
    BinomialCounts,
    lower_end,
    melded_interval,
    melded_tail,
)
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = ("melded", "mover")
"""Intervals of differences; the first is the default where counts are binomial."""

_P_VALUE_LEVELS = (0.25, 0.6, 0.9, 0.95, 0.99, 0.999, 0.9999)
"""Levels of MOVER's intervals between which a p-value is interpolated.

In simulations with k-RR, z is within 0.03 of the exact value; where an interval at one of these
levels ends at 0, z is exact.
"""

_LOWEST_COVERAGE = ((9, "87%"), (19, "88%"), (70, "91%"))
"""MOVER's lowest exact coverage at 95%, by the maximum number of reports in the smaller sample."""


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Result):
    """Proportions of one estimate minus those of another, for each category.

    Attributes
    ----------
    first, second : Estimate
        The two estimates.
    shared : ndarray of shape (k, k) or None
        Covariance of the proportions of the first with those of the second; None where the samples
        are independent.
    groups : bool
        Whether they are two groups of one sample, and not two reports of the same people.
    method : {"melded", "mover"}
        The method of intervals and p-values.
    """

    _formats = formats_of("{:.4f}", "first", "second", "difference", "z", "p_value")
    _shown = ("difference", "low", "high", "p_value", "first", "second", "std_error")

    first: Estimate
    second: Estimate
    shared: Floats | None = None
    groups: bool = False
    method: str = "mover"

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
        """The number of reports in both estimates."""
        return self.first.n + self.second.n

    @property
    def target(self) -> str:
        """The target of the difference; for "rows" only the noise is random."""
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
        if self.shared is None:
            return total
        return total - self.shared - self.shared.T

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
        """(k,) Satterthwaite's degrees of freedom; infinite if neither estimate has a design.

        They are at most those of all reports together, where groups in the same clusters count
        once.
        """
        estimates = [self.first, self.second]
        variances = (_trusted_variance(estimate)[:, None, None] for estimate in estimates)
        by_category = zip(*variances, strict=True)
        return np.array([covariance_df(estimates, list(pair)) for pair in by_category])

    @cached_property
    def z(self) -> Floats:
        """(k,) signed normal quantiles of the level at which the interval ends at 0.

        With many reports they are close to differences / std_error.  Beyond the last level at which
        intervals are computed (melded: a p-value of 2e-12, MOVER: 99.99%), their length is assumed
        proportional to z.
        """
        shift = self.differences
        if self.method == "melded":
            first, second = self._binomial()
            return np.where(np.isfinite(shift), _melded_scores(first, second, shift), np.nan)
        margins = np.array([self._margins(level) for level in _P_VALUE_LEVELS])
        toward = np.where(shift > 0, margins[:, 0], margins[:, 1])
        quantiles = np.array([normal_quantile(level) for level in _P_VALUE_LEVELS])
        return np.sign(shift) * _crossing(quantiles, toward, np.abs(shift))

    @property
    def p_value(self) -> Floats:
        """(k,) two-sided p-values for each category: below 5% where the 95% interval excludes 0.

        Melded, for two samples of one design, they are twice the smaller one-sided p-value of
        Fisher's exact test.  Exact false-positive rates at 5% on the grid below: at most 3.8%.
        Those of MOVER, with two samples of 10 to 300 reports by one or two k-RR
        designs (2 to 7 categories, epsilon 0.5 to 5, and direct answers) and equal proportions from
        0 to 1: 4.3% on average and at most 6.7%; 9.2% with 5 reports.  For z = differences /
        std_error they are up to 62%, and 79% with 5 reports.  In 1,000 simulations for each case:
        two independent samples of 2 to 30 clusters each that differ 0.9% to 5.5%, of clusters that
        do not differ 0% (2 of them) to 3.8% (30), and 6% to 20% for differences / std_error; two
        groups of one sample of 3 to 12 clusters 4.5% to 5.6%.
        """
        return np.asarray(2 * scipy.special.ndtr(-np.abs(self.z)))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> LabelledInterval:
        """Intervals of the differences, cut to [-1, 1].

        Parameters
        ----------
        level : float
            Confidence level.
        simultaneous : bool
            Whether the level holds for all categories together (Bonferroni; not needed for two
            categories that sum to 1).

        Returns
        -------
        LabelledInterval
            (k,) ends; [-1, 1] where an estimate has too few reports.

        Notes
        -----
        Lowest exact coverage at 95%, two categories: melded 96.8% (k-RR 0.75, 20 and 20 reports),
        96.2% (50 and 50) and 97.5% (0.9, 12 and 12), and in no case of the tests' grid below 95%;
        it is 18%, 12% and 25% wider than MOVER, which has 93.1%, 93.8% and 91.7%.  With many
        reports both are alike.  MOVER's lowest coverage with 25 to 50 reports: 94.1% with noise,
        93.0% with little noise (prob 0.95).  Simulated with three categories, designs with three
        and four report cells, 50 to 400 reports, either target: 93.2% to 97%.
        """
        sums = [estimate.proportions.sum() for estimate in (self.first, self.second)]
        is_one_number = self.k == 2 and np.allclose(sums, 1, rtol=0, atol=1e-9)
        level = arrays.level_of_each(level, simultaneous, 1 if is_one_number else self.k)
        shift = self.differences
        if self.method == "melded":
            ends = melded_interval(*self._binomial(), level)
        else:
            below, above = self._margins(level)
            ends = Interval(shift - below, shift + above)
        low = np.where(np.isfinite(shift - ends.low), np.clip(ends.low, -1, 1), -1.0)
        high = np.where(np.isfinite(ends.high - shift), np.clip(ends.high, -1, 1), 1.0)
        return LabelledInterval(low, high, self.categories)

    def _binomial(self) -> tuple[BinomialCounts, BinomialCounts]:
        """The counts of both samples; only for melded intervals, which need them."""
        first = self.first.moments.binomial_counts
        second = self.second.moments.binomial_counts
        assert first is not None
        assert second is not None
        return first, second

    def _margins(self, level: float) -> tuple[Floats, Floats]:
        """(k,) distances from the difference to both ends of MOVER's interval."""
        a = self.first.proportions
        b = self.second.proportions
        interval_a = self.first.moments.uncut_interval(level, self.df)
        interval_b = self.second.moments.uncut_interval(level, self.df)
        correlation = np.zeros(self.k)
        if self.shared is not None:
            product = np.sqrt(_trusted_variance(self.first) * _trusted_variance(self.second))
            with np.errstate(divide="ignore", invalid="ignore"):
                correlation = np.nan_to_num(np.diagonal(self.shared) / product).clip(-1, 1)
        low, high = mover_difference(a, interval_a, b, interval_b, correlation=correlation)
        return a - b - low, high - (a - b)

    def test(self) -> TestResult:
        """Test that all proportions are equal, with k - 1 degrees of freedom.

        Returns
        -------
        TestResult
            For independent samples `hypotheses.homogeneity`, which uses the covariance under the
            null: with 50 and 100 reports it keeps its level, where the false-positive rate of
            Wald's test at 5% is 5.7% to 8.9%.  With weights or a design its F distribution keeps
            the level with few clusters, and two groups of one sample have a joint covariance.  For
            pairs it is Wald's test.  For two categories `p_value` inverts intervals instead, and
            differs a little.

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
        null = "equality of the proportions of 2 samples"
        return wald_of_pairs(null, self.n, self.differences, self.covariance)

    # -- for people ------------------------------------------------------------------------

    @property
    def _names(self) -> tuple[str, str] | None:
        """The groups, or else the columns, that are compared; None where they have no names."""
        for first, second in (
            (self.first.group, self.second.group),
            (self.first.name, self.second.name),
        ):
            if first is not None and second is not None and first != second:
                return label(first), label(second)
        return None

    @property
    def _column(self) -> Hashable:
        """The column of both estimates; None for two columns."""
        return self.first.name if self.first.name == self.second.name else None

    def to_frame(self, level: float = 0.95, *, simultaneous: bool = False) -> pd.DataFrame:
        """A tidy frame, one row for each category.

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
        return pd.DataFrame(
            {
                "category": label_column(self.categories),
                "first": self.first.proportions,
                "second": self.second.proportions,
                "difference": self.differences,
                "std_error": self.std_error,
                **self.interval(level, simultaneous=simultaneous)._asdict(),
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
        'yes: 12.0 points more than in the second, 95% interval 3.3 to 20.7 points'
        """
        place = self.first.code_of(category)
        low, high = (float(end[place]) for end in self.interval(level))
        name = label(self.categories[place])
        difference = float(self.differences[place])
        if not np.isfinite(difference):
            return f"{name}: the difference cannot be estimated, there are too few reports"
        span = percent_range(low, high).replace("%", "")
        word = "more" if difference >= 0 else "less"
        compared = f"{word} than in the second"
        if self._names is not None:
            first, second = self._names
            compared = f"{word} in {first} than in {second}"
        doubt = ", which includes 0" if low <= 0 <= high else ""
        return (
            f"{name}: {abs(difference) * 100:.1f} points {compared}, "
            f"{level * 100:.10g}% interval {span} points{doubt}"
        )

    @checked_options(PlotOptions)
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
        xlabel = "proportion in the first minus that in the second"
        if self._names is not None:
            title = titled(self._column, " minus ".join(self._names))
            options = {"title": title, **options}
        return plot_intervals(rows, ax, xlabel=xlabel, level=level, bounds=(-1.0, 1.0), **options)

    @property
    def header(self) -> list[tuple[str, str]]:
        """The target, the numbers of reports, and whether the samples are dependent."""
        facts = [] if self._names is None else [("difference", " minus ".join(self._names))]
        facts += [("target", self.target), ("n", f"{self.first.n:,} and {self.second.n:,}")]
        if self.shared is not None:
            kind = "two groups of one sample" if self.groups else "the same people"
            facts.append(("of", kind))
        return facts

    @property
    def cautions(self) -> list[str]:
        """A sentence that opens the printed result if reports are implausible."""
        samples = {"first": self.first, "second": self.second}
        names = [name for name, sample in samples.items() if sample.cautions]
        if not names:
            return []
        return [f"Warning: in the {' and the '.join(names)} {IMPLAUSIBLE}."]

    @property
    def notes(self) -> list[str]:
        """The coverage of MOVER's intervals with few reports."""
        smaller = min(self.first.n, self.second.n)
        if self.method == "melded" or not 0 < smaller <= _LOWEST_COVERAGE[-1][0]:
            return []
        lowest = next(coverage for size, coverage in _LOWEST_COVERAGE if smaller <= size)
        return [
            f"a sample has only {smaller} reports: in the worst case (two categories, one of them "
            f"rare, little noise) 95% intervals of the difference have {lowest} coverage"
        ]


def _crossing(quantiles: Floats, margins: Floats, shift: Floats) -> Floats:
    """(k,) the quantile at which the margin of the interval equals the shift.

    quantiles : (q,) increasing.  margins : (q, k) at each.  The ratio of margin to quantile is
    nearly constant, and is interpolated linearly between two quantiles.
    """
    slope = margins / quantiles[:, None]
    place = (margins < shift).cumprod(axis=0).sum(axis=0)
    before = np.maximum(place - 1, 0)
    after = np.minimum(place, len(quantiles) - 1)
    category = np.arange(len(shift))
    z0 = quantiles[before]
    z1 = quantiles[after]
    h0 = slope[before, category]
    h1 = slope[after, category]
    with np.errstate(divide="ignore", invalid="ignore"):
        # z (h0 + s (z - z0)) = shift, between z0 and z1
        s = np.where(z1 > z0, (h1 - h0) / np.where(z1 > z0, z1 - z0, 1.0), 0.0)
        middle = h0 - s * z0
        root = np.sqrt(np.maximum(middle**2 + 4 * s * shift, 0.0))
        z = np.where(shift == 0, 0.0, 2 * shift / (middle + root))
    return np.where(z1 > z0, np.clip(z, z0, z1), z)


def _melded_scores(first: BinomialCounts, second: BinomialCounts, shift: Floats) -> Floats:
    """(k,) signed normal quantiles of half of the p-values.

    shift : the estimated differences.
    """
    is_more = melded_tail(first, second)  # small where the first proportion is larger
    is_less = melded_tail(second, first)
    tail = np.minimum(is_more, is_less)
    size = -scipy.special.ndtri(np.clip(tail, SMALLEST_TAIL, 0.5))
    far = np.flatnonzero(tail < SMALLEST_TAIL)
    if far.size:
        sign = np.where(is_more < is_less, 1.0, -1.0)
        above = lower_end(first.take(far), second.take(far), SMALLEST_TAIL)
        below = lower_end(second.take(far), first.take(far), SMALLEST_TAIL)
        margins = np.where(sign[far] > 0, shift[far] - above, -shift[far] - below)
        size[far] *= np.abs(shift[far]) / margins
    signed = np.where(is_more < is_less, size, -size)
    return np.asarray(signed + 0.0)  # no -0.0


@checked_keywords
def difference(
    first: Any, second: Any, *, paired: Crosstab | None = None, method: str | None = None
) -> Difference:
    """Estimate the proportions of one estimate minus those of another.

    Parameters
    ----------
    first, second : Estimate
        Estimates with the same categories in the same order and the same target; designs may
        differ.  For "population" they are two independent samples, or two groups of one sample with
        a design from ``estimate(..., by=)`` (see `Estimate.covariance_with`); for "rows" they are
        two sets of rows, and only the noise is random.
    paired : Crosstab, optional
        If the same people gave both reports, apart or as a pair of a plan: the crosstab of the
        first with the second.  People who gave only one of them may be in the estimates too.
    method : {"melded", "mover"}, optional
        Intervals and p-values.  "melded" is the default for two independent samples or groups
        without weights, target "population", whose count of each category is binomial (see
        `Estimate.interval`); elsewhere "mover".  Melded intervals are 10% to 25% wider with 12 to
        50 reports; MOVER's may cover less than their level.

    Returns
    -------
    Difference
        An interval and a p-value for each category, and a test of all categories together.

    Raises
    ------
    ArgumentValueError
        Categories or targets differ, or method is "melded" and counts are not binomial.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
    >>> b = rr.estimate(rr.Tally.from_counts([420, 580], rr.surveys.direct(["no", "yes"])))
    >>> low, high = difference(a, b).interval()
    >>> low.round(3), high.round(3)
    (array([ 0.291, -0.427]), array([ 0.427, -0.291]))
    """
    for name, estimate in (("first", first), ("second", second)):
        check_instance(estimate, name, Estimate, "an Estimate, from rr.estimate")
    check_comparable([first, second])
    shared = first.covariance_with(second) if paired is None else None
    counts = [estimate.moments.binomial_counts for estimate in (first, second)]
    is_binomial = paired is None and shared is None and None not in counts
    if method is None:
        method = "melded" if is_binomial else "mover"
    if check_one_of(method, "method", METHODS) == "melded" and not is_binomial:
        raise ArgumentValueError(
            "method='melded' needs two independent samples without weights, target 'population' "
            "and counts that are binomial; leave method out, which gives 'mover'"
        )
    if paired is not None:
        shared = paired_covariance(first, second, paired)
    return Difference(
        first, second, shared, groups=paired is None and shared is not None, method=method
    )


def _trusted_variance(estimate: Estimate) -> Floats:
    """(k,) the variance that intervals use: at least the one from strata and weights."""
    return np.nan_to_num(np.fmax(estimate.variance, estimate.moments.least_variance))
