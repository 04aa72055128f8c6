"""Differences of two estimates, with an interval and a p-value for each category.

They are between two independent samples, by any two designs with the same categories; between two
groups of one sample with weights, strata or clusters, whose proportions are correlated; or between
two answers of the same people, whose correlation a table of both columns gives.
Intervals, p-values and their sources are in `estimates.two_samples`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from scipy.special import ndtr

from rrstats._checks import check_instance, check_one_of
from rrstats._display import HeaderLines, counted, label, percent_range
from rrstats._names import checked_keywords, checked_options
from rrstats._typing import NumbersByCategory
from rrstats.data.categories import category_numbers
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.crosstab import Crosstab
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.estimates.estimated_number import EstimatedNumber
from rrstats.estimation.estimates.result import (
    IMPLAUSIBLE,
    Result,
    formats_of,
    label_column,
    proportion_rows,
    titled,
)
from rrstats.estimation.estimates.two_samples import METHODS, TwoSamples, are_binomial
from rrstats.estimation.hypothesis_tests.change import paired_covariance, wald_of_pairs
from rrstats.estimation.hypothesis_tests.homogeneity import (
    check_comparable,
    homogeneity,
)
from rrstats.estimation.hypothesis_tests.test_result import TestResult
from rrstats.inference.contrasts import Interval, mover_difference
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOWEST_COVERAGE = ((9, "87%"), (19, "88%"), (70, "91%"))
"""MOVER's lowest exact coverage at 95%, by the maximum number of reports in the smaller sample."""


@dataclass(frozen=True, eq=False, repr=False)
class Difference(TwoSamples, Result):
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

    def mean(self, values: NumbersByCategory | None = None) -> EstimatedNumber:
        """The difference of the means of a number that each category stands for.

        Parameters
        ----------
        values : mapping or sequence of k floats, optional
            As for `Estimate.mean`.

        Returns
        -------
        EstimatedNumber
            MOVER's interval from those of both means, and the p-value of the ratio to the standard
            error.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR([0, 1], 0.75)
        >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
        >>> difference(a, rr.estimate(rr.Tally.from_counts([580, 420], m))).mean()
        mean of the first minus that of the second: -0.12, std_error 0.04356, 95% interval -0.2064 \
to -0.0331
        """
        numbers = category_numbers(values, self.categories, "values")
        first = self.first.mean(numbers)
        second = self.second.mean(numbers)
        variance = first.std_error**2 + second.std_error**2
        correlation = 0.0
        if self.shared is not None:
            shared = float(numbers @ self.shared @ numbers)
            variance = variance - 2 * shared
            correlation = shared / (first.std_error * second.std_error)
        std_error = float(np.sqrt(np.maximum(variance, 0.0)))
        value = first.value - second.value

        def ends(level: float) -> Interval[float]:
            return mover_difference(
                first.value,
                first.interval(level),
                second.value,
                second.interval(level),
                correlation=correlation,
            )

        named = self._names or ("the first", "that of the second")
        return EstimatedNumber(
            f"mean of {named[0]} minus {named[1]}",
            value,
            std_error,
            ends,
            is_proportion=False,
            p_value=float(2 * ndtr(-abs(value) / std_error)) if std_error else np.nan,
        )

    # -- for people ------------------------------------------------------------------------

    @property
    def _names(self) -> tuple[str, str] | None:
        """The groups, or else the columns, that are compared; None where they have no names."""
        for first, second in (
            (self.first._group, self.second._group),
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

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> found = rr.difference(groups["north"], groups["south"])
        >>> found.to_frame().iloc[:, :4].round(2)
          category  first  second  difference
        0       no   0.78     0.5        0.28
        1      yes   0.22     0.5       -0.28
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
        place = self.first._code(category)
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
    def _header(self) -> HeaderLines:
        """The target, the numbers of reports, and whether the samples are dependent."""
        facts = [] if self._names is None else [("difference", " minus ".join(self._names))]
        facts += [("target", self.target), ("n", f"{self.first.n:,} and {self.second.n:,}")]
        if self.shared is not None:
            kind = "two groups of one sample" if self.groups else "the same people"
            facts.append(("of", kind))
        return facts

    @property
    def _cautions(self) -> list[str]:
        """A sentence that opens the printed result if reports are implausible."""
        samples = {"first": self.first, "second": self.second}
        names = [name for name, sample in samples.items() if sample._cautions]
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
            f"a sample has only {counted(smaller, 'report')}: in the worst case (two categories, "
            "one of them rare, little noise) 95% intervals of the difference have "
            f"{lowest} coverage"
        ]


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
        a design from ``estimate(..., by=)`` (see `Moments.covariance_with`); for "sample" they are
        two sets of rows, and only the noise is random.
    paired : Crosstab, optional
        If the same people gave both reports, apart or as a pair of a plan: the crosstab of the
        first with the second.  People who gave only one of them may be in the estimates too.
        Without it the two are taken for independent, two columns of the same frame as well.
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
        hint = "rr.hypotheses.goodness_of_fit(estimate, 0.3) tests a number"
        if isinstance(estimate, EstimatedNumber):
            hint = "rr.difference(a, b).mean(values) is the difference of two means"
        check_instance(estimate, name, Estimate, "an Estimate, from rr.estimate", hint=hint)
    check_comparable([first, second])
    shared = first.moments.covariance_with(second.moments) if paired is None else None
    is_binomial = paired is None and shared is None and are_binomial(first, second)
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
