"""Test of given proportions (Gaboardi and Rogers 2018, LocalGenRRGOF)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rrstats._display import Notes, label
from rrstats._names import checked_keywords
from rrstats._typing import ColumnLike, Floats, NumbersByCategory
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.estimates.posterior import proportions_of
from rrstats.estimation.hypothesis_tests.counted_reports import (
    as_estimate,
    cells_of,
    effective_n,
    few_expected,
    is_square,
    rates_distance,
)
from rrstats.estimation.hypothesis_tests.test_result import (
    MAX_IN_WORDS,
    Outcome,
    TestResult,
    by_wald,
    result_of,
    untested,
)
from rrstats.inference.multinomial import exact_p_value
from rrstats.mechanisms.channel import (
    expected_rates,
)
from rrstats.mechanisms.krr import MechanismLike


@checked_keywords
def goodness_of_fit(
    reports: Any,
    proportions: NumbersByCategory,
    mechanism: MechanismLike | None = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    group: ColumnLike | None = None,
    exact: bool = False,
) -> TestResult:
    """Test that the true proportions equal given proportions.

    Parameters
    ----------
    reports : array-like, Tally or Estimate
        Reports, with their design in ``mechanism`` (or categories with ``prob`` or ``epsilon``) and
        ``group``; or a Tally or an Estimate of them.
    proportions : sequence of k floats, or mapping
        Proportions that sum to 1, in the order of the categories or by category.
    mechanism, prob, epsilon, group : optional
        As for `rrstats.estimate`.
    exact : bool
        Compute the p-value from all possible counts; for few reports and few report cells of a
        design with as many report cells as categories.

    Returns
    -------
    TestResult
        It has k - 1 degrees of freedom.  For an Estimate with target "sample" the null hypothesis
        is about these rows, and only the noise is random.  With weights, strata or clusters it is
        Wald's test with the sample's covariance and an F distribution.

    Warns
    -----
    LowPrecisionWarning
        Expected counts are too small for chi-squared.

    Notes
    -----
    T = sum (H - n r)^2 / (n r) with r the probabilities of the reports at these proportions; for
    k-RR it is GenRR of Gaboardi and Rogers (2018).  For a design with more report cells than
    categories it is the score test: the part of T that proportions can explain.

    Examples
    --------
    >>> import rrstats as rr
    >>> counts = rr.Tally.from_counts([260, 270, 250, 220], rr.KRR(list("abcd"), epsilon=1))
    >>> found = goodness_of_fit(counts, [0.4, 0.3, 0.2, 0.1])
    >>> round(found.statistic, 4), found.df, round(found.p_value, 4), round(found.effective_n)
    (6.3317, 3, 0.0965, 82)

    These proportions are not rejected, but the effective sample size of the 1,000 reports is 82.
    """
    estimate = as_estimate(reports, mechanism=mechanism, prob=prob, epsilon=epsilon, group=group)
    pi = proportions_of(proportions, Categories(estimate.categories), "proportions")
    null = "agreement with the given proportions"
    if len(pi) <= MAX_IN_WORDS:
        pairs = zip(pi, estimate.categories, strict=True)
        null += f" ({', '.join(f'{value:z.1%} {label(category)}' for value, category in pairs)})"
    if exact and not is_square(estimate):
        raise ArgumentValueError(
            "exact needs as many report cells as categories, one sample without a design, and "
            "target 'population'; leave it out"
        )
    if not estimate.n:
        return result_of(null, 0, untested(estimate.mechanism.k - 1))
    outcome = _fit(estimate, pi, exact) if estimate.moments.has_cells else _wald_fit(estimate, pi)
    return result_of(null, estimate.n, outcome, effective_n(estimate, pi))


def _fit(estimate: Estimate, pi: Floats, exact: bool) -> Outcome:
    """The test of counts: by enumeration or chi-squared."""
    rates = expected_rates(estimate.moments.channel, pi)
    square = is_square(estimate)
    method = "Pearson's test of the reports" if square else "score test of the reports"
    fit = rates_distance(method, [cells_of(estimate)], [rates], np.empty((len(rates), 0)))
    if exact:
        return fit.with_p_value(exact_p_value(rates, estimate.n, fit.value), "exact")
    if not square:
        return fit.by_chi_squared()
    return fit.by_chi_squared("merge categories, or use exact=True where all counts can be listed")


def _wald_fit(estimate: Estimate, pi: Floats) -> Outcome:
    """Wald's test of unbiased proportions, with the covariance under the null where known."""
    channel = estimate.moments.channel
    notes = Notes()
    if not estimate.moments.designed and not channel.is_multinomial:
        rates = expected_rates(channel, pi)
        notes = few_expected(estimate.n * np.minimum(rates, 1 - rates), "merge categories")
    size = effective_n(estimate, pi)
    if estimate.mechanism.deck is not None and np.isfinite(size):
        notes = few_expected(size * pi, "ask more people")
    shift = estimate.proportions - pi
    covariance = estimate.moments.null_covariance(pi)
    return by_wald("Wald test of the proportions", shift, covariance, estimate.df, notes=notes)
