"""Tests of change between two waves, of other people or of the same.

Sources: Stuart (1955), Maxwell (1970) and Bhapkar (1966) for the same people; Rao (1948) for score
tests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rrstats._checks import (
    check_instance,
)
from rrstats._names import checked_keywords
from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.crosstab import Crosstab
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.hypothesis_tests.counted_reports import as_estimate
from rrstats.estimation.hypothesis_tests.homogeneity import check_comparable, homogeneity
from rrstats.estimation.hypothesis_tests.independence import margins_of, two_way
from rrstats.estimation.hypothesis_tests.test_result import TestResult, by_wald, result_of, untested
from rrstats.estimation.tallies import arrays

_UNCHANGED = "equality of the proportions of both waves"


@checked_keywords
def change(
    first: Any, second: Any = None, *, pairs: Any = None, mechanisms: Any = None
) -> TestResult:
    """Test for change between two waves (paired: McNemar's and Stuart-Maxwell's test).

    The null hypothesis is that all proportions are equal.  With two categories the test of the same
    people is McNemar's test of debiased answers, with more of them Stuart and Maxwell's.

    Parameters
    ----------
    first, second : Estimate or Tally
        The two waves.  Without ``pairs`` they are treated as independent samples, as for different
        respondents.  If ``first`` is given alone, it is the crosstab of both waves, or counts of
        reports with ``mechanisms``: Stuart and Maxwell's test of the people who answered both.
    pairs : Crosstab, optional
        The first wave's column by the second's, of the people in both: all reports are used, and
        those of the same people are correlated (Wald's test).
    mechanisms : (Mechanism or None, Mechanism or None), optional
        The mechanisms of the rows and of the columns of counts.

    Returns
    -------
    TestResult
        It has k - 1 degrees of freedom; for the size of the change see `rrstats.difference`.

    Notes
    -----
    Each wave must have its own, independent randomization.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.9)
    >>> found = change([[500, 120], [80, 300]], mechanisms=(m, m))
    >>> round(found.statistic, 2), found.df, round(found.p_value, 4)
    (8.0, 1, 0.0047)

    Equal proportions are rejected: more people changed to yes than to no.
    """
    unused = pairs if second is None else mechanisms
    if unused is not None:
        raise ArgumentTypeError(
            "give first and second, with pairs if the same people answered; or a crosstab of both; "
            "or counts with mechanisms"
        )
    if second is None:
        return _equal_margins(two_way(first, mechanisms))
    before = as_estimate(first)
    after = as_estimate(second)
    if pairs is not None:
        return _paired_change(before, after, pairs)
    test = homogeneity([before, after])
    note = "the waves are treated as independent samples; if the same people answered, give pairs"
    if before.moments.covariance_with(after.moments) is not None:
        note = "the waves are groups of one sample, and different people answered in each"
    return replace(test, null=_UNCHANGED, notes=(*test.notes, note))


def _paired_change(before: Estimate, after: Estimate, pairs: Crosstab) -> TestResult:
    """Wald's test of equal proportions in two waves, some people in both."""
    for name, wave in (("first", before), ("second", after)):
        check_instance(wave, name, Estimate, "reports of one column, or an Estimate of it")
    check_comparable([after, before])
    shared = paired_covariance(after, before, pairs)
    return wald_of_pairs(
        _UNCHANGED,
        after.n + before.n,
        after.proportions - before.proportions,
        after.covariance + before.covariance - shared - shared.T,
    )


def wald_of_pairs(null: str, n: int, differences: Floats, covariance: Floats) -> TestResult:
    """Wald's test that the differences of two estimates are 0, whose people are partly the same."""
    method = "Wald test of a difference of proportions, some people in both samples"
    return result_of(null, n, by_wald(method, differences, covariance))


def _equal_margins(table: Crosstab) -> TestResult:
    """Stuart and Maxwell's test of equal margins of debiased answers."""
    k, other = table.shape
    if len(set(table.categories)) > 1:
        raise ArgumentValueError(
            f"both waves must have the same categories in the same order, found {k} and {other}"
        )
    if not table.n:
        outcome = untested(k - 1)
    elif table.moments.combined is not None:
        contrast = np.kron(np.ones((1, k)), np.eye(k)) - np.kron(np.eye(k), np.ones((1, k)))
        shift = contrast @ table.proportions.ravel()
        covariance = table.covariance
        scale = float(np.abs(contrast).sum(axis=1).max() ** 2 * np.diagonal(covariance).max())
        of_margins = contrast @ covariance @ contrast.T
        method = "Wald test of equal margins"
        outcome = by_wald(method, shift, of_margins, table.df, scale=scale)
    else:
        (first, second), (first_covariance, second_covariance) = margins_of(table)
        shift = second - first
        cross = table.proportions - np.outer(first, second)
        # E[(s1 - s2)(s1 - s2)'], the covariance under the null
        moments = first_covariance + second_covariance - cross - cross.T + np.outer(shift, shift)
        method = "Stuart and Maxwell's test of equal margins, on debiased answers"
        outcome = by_wald(method, shift, moments / table.n)
    return result_of(_UNCHANGED, table.n, outcome)


def paired_covariance(first: Estimate, second: Estimate, table: Crosstab) -> Floats:
    """(k, k) covariance of the proportions of the first with those of the second."""
    k = first.mechanism.k
    check_instance(table, "paired", Crosstab, "the crosstab of both columns")
    combined = table.moments.combined
    one_noise = combined is not None  # a pair of a plan
    designed = combined is not None and combined.moments.designed
    if designed or first.moments.designed or second.moments.designed:
        raise ArgumentValueError(
            "paired is for estimates and a crosstab without weights or a design; test a crosstab "
            "of both columns with rr.hypotheses.change"
        )
    if table.moments.combined is not None and arrays.is_pooled(
        table.moments.combined.moments.channel
    ):
        return _pooled_paired(first, second, table)
    if table.shape != (k, k) or table.n > min(first.n, second.n):
        raise ArgumentValueError(
            f"paired must be the crosstab of both columns, {k} by {k} categories, of people in "
            f"both estimates ({first.n} and {second.n} reports), found the shape {table.shape} and "
            f"{table.n} people"
        )
    if one_noise:
        eye = np.eye(k)
        ones = np.ones((1, k))
        joint = table._with_target(first.target).covariance
        covariance = np.kron(eye, ones) @ joint @ np.kron(ones, eye).T
        return np.asarray(covariance * (table.n**2 / (first.n * second.n)))
    if first.target == "sample" or table.n < 2:  # the noise of both columns is independent
        return np.zeros((k, k))
    rows, columns = (table.margin(name).proportions for name in table.names)
    # The people in the table are a part of those in each estimate.
    covariance = table.proportions - np.outer(rows, columns)
    unbiased = table.n / (table.n - first._ddof)
    return np.asarray(covariance * (unbiased * table.n / (first.n * second.n)))


def _pooled_paired(first: Estimate, second: Estimate, table: Crosstab) -> Floats:
    """The covariance of two columns of a plan, whose estimates are the margins of their table."""
    k = first.mechanism.k
    margins = [table._estimate(name).proportions for name in table.names]
    same = [
        len(margin) == k and np.allclose(margin, estimate.proportions, rtol=0, atol=1e-9)
        for margin, estimate in zip(margins, (first, second), strict=True)
    ]
    if not all(same) or first.target != "population":
        raise ArgumentValueError(
            "paired must be the crosstab of the same rows of a plan as both estimates, in their "
            f"order and for target 'population', found target {first.target!r} and "
            f"{sum(same)} of 2 estimates that are margins of the table"
        )
    ones = np.ones((1, k))
    sums = np.kron(np.eye(k), ones), np.kron(ones, np.eye(k))
    return np.asarray(sums[0] @ table.covariance @ sums[1].T)
