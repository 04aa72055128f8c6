"""Reports under a null hypothesis: counts by cell, fitted proportions, effective sample sizes.

Tests compare reports with their probabilities under the null hypothesis, so that noise changes the
power and not the level.  Sources: Pearson (1900); Cochran (1954) for the counts that chi-squared
needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rrstats._checks import check_left_out
from rrstats._display import Notes
from rrstats._typing import Array, Floats
from rrstats.errors import ArgumentTypeError, LowPrecisionWarning, warn
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.estimates.groups import GroupEstimates
from rrstats.estimation.hypothesis_tests.test_result import Outcome
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.tally import Tally, tally
from rrstats.inference.contrasts import (
    project_to_simplex,
    with_known_sum,
)
from rrstats.inference.multinomial import (
    ZERO_RATE,
    chi_squared_test,
    distance,
    fit_rates,
    score_statistic,
    start_inside,
)
from rrstats.mechanisms.channel import (
    expected_rates,
    has_latent_classes,
    transition_matrix,
)
from rrstats.mechanisms.krr import MechanismLike


@dataclass(frozen=True)
class _ExpectedCounts:
    """Cochran (1954): no expected count below 1, and at most a fifth of them below 5."""

    min_expected: float = 1
    expected: float = 5
    max_proportion: float = 0.2


_CHI_SQUARED = _ExpectedCounts()


Sample = tuple[Floats, Floats, Floats]
"""Transition matrix, counts and sizes of the samples of the report cells of an estimate."""


class CountedDistance(NamedTuple):
    """The squared distance of counts of reports from those of a null hypothesis.

    expected : (cells,) counts under the null hypothesis; empty where the test needs none.
    """

    method: str
    value: float
    df: int
    expected: Floats
    notes: Notes = ()

    def by_chi_squared(self, remedy: str = "merge categories") -> Outcome:
        """The outcome by chi-squared, with a warning where expected counts are small."""
        value, p_value = chi_squared_test(self.value, self.df)
        notes = self.notes + few_expected(self.expected, remedy)
        if self.df < 1:
            notes += ("all reports are the same, so there is nothing to test",)
        return self.method, value, self.df, p_value, notes

    def with_p_value(self, p_value: float, kind: str) -> Outcome:
        """The outcome with a p-value that was computed otherwise."""
        return f"{self.method}, {kind}", self.value, self.df, p_value, self.notes


def table_distance(name: str, table: Array) -> CountedDistance:
    """Pearson's distance of a table of counts from independence of its rows and columns."""
    observed = table[table.any(axis=1)][:, table.any(axis=0)].astype(np.float64)
    rows, columns = observed.shape
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
    notes: Notes = ()
    dropped = sum(table.shape) - rows - columns
    if dropped == 1:
        notes = ("1 category that nobody reported is left out",)
    elif dropped:
        notes = (f"{dropped} categories that nobody reported are left out",)
    return CountedDistance(
        f"Pearson's test of {name}",
        float(distance(observed.ravel(), expected.ravel())),
        (rows - 1) * (columns - 1),
        expected.ravel(),
        notes,
    )


def rates_distance(
    method: str, samples: list[Sample], rates: list[Floats], slopes: Floats
) -> CountedDistance:
    """The distance of reports from their probabilities under the null hypothesis.

    slopes : (cells, p) derivatives of the rates by fitted parameters.
    """
    value = 0.0
    df = -slopes.shape[1]
    for (matrix, counts, sizes), sample_rates in zip(samples, rates, strict=True):
        sample_value, sample_df = score_statistic(matrix, counts, sample_rates, sizes)
        value += sample_value
        df += sample_df
    # A rate that was fitted as 0 takes away a cell and a parameter.
    all_rates = np.concatenate(rates)
    slopes_at_zero = slopes[all_rates <= ZERO_RATE]
    if slopes_at_zero.size:
        df += int(np.linalg.matrix_rank(slopes_at_zero))
    sizes = np.concatenate([sizes for *_, sizes in samples])
    return CountedDistance(method, value, df, sizes * all_rates)


def fit_proportions(samples: list[Sample], start: Floats) -> Floats:
    """(k,) the maximum likelihood proportions of all reports; may lie outside [0, 1]."""
    matrix, counts, sizes = (np.concatenate(part) for part in zip(*samples, strict=True))
    slopes = matrix[:, :-1] - matrix[:, -1:]
    last = matrix[:, -1]
    others = fit_rates(
        lambda x: (slopes @ x + last, slopes), counts, sizes, start_inside(matrix, start)[:-1]
    )
    return np.append(others, 1 - others.sum())


def as_estimate(
    reports: Any,
    *,
    mechanism: MechanismLike | None = None,
    prob: float | None = None,
    epsilon: float | None = None,
    group: Any = None,
) -> Estimate:
    """An estimate, from an estimate, a Tally, or reports and their mechanism."""
    if isinstance(reports, GroupEstimates):
        raise ArgumentTypeError(
            "reports must be one sample, found estimates of groups; "
            "rr.hypotheses.homogeneity(groups) tests that all groups are equal"
        )
    if isinstance(reports, Tally | Estimate):
        check_left_out(
            "a tally or an estimate holds its mechanism",
            mechanism=mechanism,
            prob=prob,
            epsilon=epsilon,
            group=group,
        )
    else:
        reports = tally(reports, mechanism, prob, epsilon=epsilon, group=group)
    return Estimate(reports) if isinstance(reports, Tally) else reports


def is_square(estimate: Estimate) -> bool:
    """True for counts of cells in one sample, with as many report cells as categories."""
    samples = estimate.moments.channel.samples
    return estimate.moments.has_cells and not samples.any() and len(samples) == estimate.mechanism.k


def cells_of(estimate: Estimate) -> Sample:
    """The report cells of an estimate."""
    channel = estimate.moments.channel
    arrays.check_possible(channel, estimate.tally.reported)
    counts = estimate.tally.reported.astype(np.float64)
    return transition_matrix(channel), counts, arrays.sample_sizes(channel, counts, estimate.n)


def few_expected(expected: Floats, remedy: str) -> Notes:
    """A note, also issued as a warning, where expected counts are too small for chi-squared."""
    cells = np.asarray(expected)[np.asarray(expected) > 0]
    limits = _CHI_SQUARED
    small = int((cells < limits.expected).sum())
    is_small = small > limits.max_proportion * cells.size
    if not cells.size or (cells.min() >= limits.min_expected and not is_small):
        return ()
    text = (
        f"{small} of {cells.size} expected counts of reports are below {limits.expected}, "
        f"the smallest is {cells.min():.2g}: the chi-squared p-value may be inaccurate; {remedy}"
    )
    warn(text, LowPrecisionWarning)
    return (text,)


def information(estimate: Estimate, proportions: Floats) -> Floats | None:
    """(k, k) the Fisher information of one report: a quadratic form for shifts that sum to 0.

    proportions : inside the simplex.  None with a design, latent classes or target "sample".
    """
    channel = estimate.moments.channel
    if estimate.moments.designed or estimate.target != "population" or has_latent_classes(channel):
        return None
    if not estimate.n or not np.isfinite(proportions).all():
        return None
    if estimate.moments.has_cells:
        rates = expected_rates(channel, proportions)
        sizes = arrays.sample_sizes(channel, estimate.tally.reported, estimate.n)
        possible = rates > 0
        matrix = transition_matrix(channel)[possible]
        return np.asarray((matrix.T * (sizes[possible] / estimate.n / rates[possible])) @ matrix)
    covariance = estimate.moments.null_covariance(proportions) * estimate.n
    _, covariance = with_known_sum(proportions, covariance)
    # The added constant makes the matrix invertible and does not matter for shifts that sum to 0.
    return np.asarray(np.linalg.inv(covariance + np.trace(covariance) / channel.k**2))


def effective_n(estimate: Estimate, proportions: Floats) -> float:
    """Effective sample size of one sample, averaged over all shifts of proportions; or NaN.

    A random shift with the covariance of one direct answer has information k - 1 on average in one
    direct answer; the effective sample size is its information in all reports divided by k - 1.
    """
    pi = project_to_simplex(proportions)
    fisher = information(estimate, pi)
    positive = int((pi > 0).sum())
    if fisher is None or positive < 2:  # one direct answer may disprove a proportion of 0
        return float("nan")
    covariance = np.diag(pi) - np.outer(pi, pi)
    return float(estimate.n * np.sum(fisher * covariance) / (positive - 1))
