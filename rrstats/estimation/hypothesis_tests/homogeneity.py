"""Test of homogeneity: several samples have the same proportions.

One vector of proportions is fitted to all reports, and each sample is compared with it; if all
designs are the same this is Pearson's test of the table of samples by reports.  Two small samples
of two categories have an exact p-value, that of the melded interval of their difference.  Groups of
one survey with weights or a design are compared by Wald's test, with their joint covariance.
Source: Krishnamoorthy and Yu (2004) for the degrees of freedom of several covariances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import scipy

from rrstats._checks import (
    check_instance,
)
from rrstats._display import Notes, counted
from rrstats._names import checked_keywords
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.estimates.two_samples import covariance_df
from rrstats.estimation.hypothesis_tests.counted_reports import (
    CountedDistance,
    as_estimate,
    cells_of,
    effective_n,
    fit_proportions,
    is_square,
    rates_distance,
    table_distance,
)
from rrstats.estimation.hypothesis_tests.test_result import (
    Outcome,
    TestResult,
    by_wald,
    result_of,
    untested,
)
from rrstats.estimation.tallies.tally import Tally
from rrstats.inference.contrasts import (
    known_sum_map,
    project_to_simplex,
    with_known_sum,
)
from rrstats.inference.melded import melded_p_value

_SMALL_SAMPLE = 24
"""With at most so many reports in the smallest sample, homogeneity's level is off by over 1%."""


_LEVEL = "with samples of this size the false-positive rate of chi-squared at 5% is up to 9%"


_EXACT_LEVEL = "the p-value is exact, because chi-squared's false-positive rate at 5% is up to 9%"


@checked_keywords
def homogeneity(
    first: Any,
    *others: Any,
) -> TestResult:
    """Test that independent samples, or groups of one sample, have equal proportions.

    Parameters
    ----------
    first, *others : Estimate or Tally
        Two or more samples with the same categories, as separate arguments, as a list, or as a
        mapping (for example the groups of `estimate`); designs may differ.

    Returns
    -------
    TestResult
        It has (g - 1)(k - 1) degrees of freedom for g samples.  Samples without reports are left
        out, with a note.

    Warns
    -----
    LowPrecisionWarning
        Expected counts are too small for chi-squared.

    Notes
    -----
    Samples of one design have Pearson's test of their table, those of several the score test.
    For two samples of two categories, of which one has at most 24 reports, the p-value is exact: by
    melded confidence distributions (Fay, Proschan and Brittain 2015), which for one design is twice
    the smaller one-sided p-value of Fisher's test.  Its false-positive rate at 5% is at most 3.8%,
    by enumeration; chi-squared's is 6.4% with 12 and 12 reports and 9.0% with 5 and 20, mid-p's up
    to 6.2%.

    For reports that name several categories, latent classes, estimates with weights and target
    "sample", it is Wald's test of the debiased proportions against their common value.  Groups of
    one sample with weights, strata or clusters have a joint covariance, and the F distribution
    allows for few clusters.  False-positive rates at 5% in 1,000 simulations for each case: two
    groups in 3 to 12 clusters 2.0% to 4.1%, two independent samples of 4 to 30 clusters that differ
    4.5% to 5.4%, of 2 clusters 1.3%; less where clusters do not differ (chi-squared: 6% to 20%).
    For 4 to 10 regions of 3 clusters each the rate is 0% to 0.3%, so the power is low there.

    Examples
    --------
    >>> import rrstats as rr
    >>> a = rr.Tally.from_counts([640, 360], rr.KRR(["no", "yes"], 0.75))
    >>> b = rr.Tally.from_counts([620, 380], rr.KRR(["no", "yes"], 0.9))
    >>> found = homogeneity(a, b)
    >>> round(found.statistic, 2), found.df, round(found.p_value, 4)
    (12.78, 1, 0.0003)
    """
    estimates, notes = _samples(first, others)
    sizes = [estimate.n for estimate in estimates]
    n = sum(sizes)
    if len(estimates) < 2:
        null = "equality of the proportions of the samples"
        return result_of(null, n, untested(0, "fewer than two samples have reports"), notes=notes)
    null = f"equality of the proportions of {len(estimates)} samples"
    proportions = [estimate.proportions for estimate in estimates]
    pooled = np.average(proportions, axis=0, weights=sizes)
    effective = float(np.sum([effective_n(estimate, pooled) for estimate in estimates]))
    all_cells = all(estimate.moments.has_cells for estimate in estimates)
    same_design = len({estimate.mechanism for estimate in estimates}) == 1
    is_table = all_cells and same_design and is_square(estimates[0])
    smallest = min(sizes)
    is_small = smallest <= _SMALL_SAMPLE
    p_value = _exact_p_value(estimates) if is_small else None
    if not all_cells and p_value is None:
        return result_of(null, n, _against_common(estimates, pooled), effective, notes=notes)
    if not all_cells:
        method, value, df, *_ = _against_common(estimates, pooled)
        gap = CountedDistance(method, value, int(df), np.empty(0))
    elif is_table:
        table = np.stack([estimate.tally.reported for estimate in estimates])
        gap = table_distance("samples by reports", table)
    else:
        gap = _different_designs(estimates, pooled)
    if p_value is not None and gap.df > 0:
        outcome = gap.with_p_value(p_value, "exact p-value")
    else:
        outcome = gap.by_chi_squared()
    if is_small:
        level = _LEVEL if p_value is None else _EXACT_LEVEL
        notes += (f"a sample has only {counted(smallest, 'report')}: {level}",)
    return result_of(null, n, outcome, effective, notes=notes)


def _exact_p_value(estimates: list[Estimate]) -> float | None:
    """The melded p-value of two samples of two categories, whose counts are binomial; else None."""
    if len(estimates) != 2 or estimates[0].mechanism.k != 2:
        return None
    first, second = (estimate.moments.binomial_counts for estimate in estimates)
    if first is None or second is None:
        return None
    last = np.array([1])  # the two categories have the same p-value
    return float(melded_p_value(first.take(last), second.take(last))[0])


def _samples(samples: Any, others: tuple[Any, ...]) -> tuple[list[Estimate], Notes]:
    """The estimates with reports, and a note about the others."""
    if isinstance(samples, Mapping):
        samples = list(samples.values())
    if not isinstance(samples, list | tuple):
        samples = [samples]
    samples = [*samples, *others]
    if len(samples) < 2:
        raise ArgumentTypeError(f"samples must be two or more, found {len(samples)}")
    rule = "Estimates or Tallies, from rr.estimate or rr.tally"
    estimates = [
        as_estimate(check_instance(sample, "samples", (Tally, Estimate), rule))
        for sample in samples
    ]
    check_comparable(estimates)
    with_reports = [estimate for estimate in estimates if estimate.n]
    empty = len(estimates) - len(with_reports)
    if not empty:
        return estimates, ()
    note = f"{empty} of {len(estimates)} samples have no reports and are left out"
    return with_reports or estimates[:1], (note,)


def check_comparable(estimates: Sequence[Estimate]) -> None:
    """Raise unless estimates have the same categories and target."""
    first, *others = dict.fromkeys(tuple(estimate.categories) for estimate in estimates)
    if others:
        second = others[0]
        differing = [label for label in (*first, *second) if (label in first) != (label in second)]
        both = " and ".join(Categories(labels).describe() for labels in (first, second))
        difference = f", which differ in {differing[:6]}" if differing else ""
        raise ArgumentValueError(
            f"all samples must have the same categories in the same order, found {both}{difference}"
        )
    if len({estimate.target for estimate in estimates}) > 1:
        raise ArgumentValueError(
            "all samples must have the same target, found 'population' and 'sample'; give one "
            "target to rr.estimate"
        )


def _different_designs(estimates: list[Estimate], pooled: Floats) -> CountedDistance:
    """The distance from one vector of proportions, fitted to all reports."""
    samples = [cells_of(estimate) for estimate in estimates]
    common = fit_proportions(samples, pooled)
    rates = [np.maximum(matrix @ common, 0.0) for matrix, *_ in samples]
    slopes = np.vstack([matrix[:, :-1] - matrix[:, -1:] for matrix, *_ in samples])
    method = "score test against proportions fitted to all samples"
    return rates_distance(method, samples, rates, slopes)


def _against_common(estimates: list[Estimate], pooled: Floats) -> Outcome:
    """Wald's test of all proportions against common proportions."""
    k = estimates[0].mechanism.k
    g = len(estimates)
    pi = project_to_simplex(pooled)
    covariances = [estimate.moments.null_covariance(pi) for estimate in estimates]
    moved = [
        with_known_sum(estimate.proportions, covariance)
        for estimate, covariance in zip(estimates, covariances, strict=True)
    ]
    joint = scipy.linalg.block_diag(*(covariance for _, covariance in moved))
    method = "Wald test against common proportions"
    for i, j in permutations(range(g), 2):
        shared = estimates[i].moments.covariance_with(estimates[j].moments)
        if shared is not None:
            block = known_sum_map(covariances[i]) @ shared @ known_sum_map(covariances[j]).T
            joint[i * k : (i + 1) * k, j * k : (j + 1) * k] = block
            method = "Wald test against common proportions of groups of one sample"
    contrast = np.kron(np.hstack([-np.ones((g - 1, 1)), np.eye(g - 1)]), np.eye(k))
    shift = contrast @ np.concatenate([proportions for proportions, _ in moved])
    total = contrast @ joint @ contrast.T
    contrasts = np.split(contrast, g, axis=1)
    parts = [
        part @ covariance @ part.T for part, (_, covariance) in zip(contrasts, moved, strict=True)
    ]
    return by_wald(method, shift, total, covariance_df(estimates, parts))
