"""Tests of independence of the columns of a table.

Of columns privatized separately the noise is independent, so reports are independent if and only if
the true answers are: the ordinary chi-squared test of the reported table keeps its level.
Source: Gaboardi and Rogers (2018), LocalGenRRIND.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from rrstats._checks import (
    check_left_out,
    check_numbers,
)
from rrstats._names import checked_keywords
from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.crosstab import Crosstab, check_two_way
from rrstats.estimation.hypothesis_tests.counted_reports import (
    CountedDistance,
    as_estimate,
    effective_n,
    table_distance,
)
from rrstats.estimation.hypothesis_tests.pair_independence import INDEPENDENT, pair_independence
from rrstats.estimation.hypothesis_tests.test_result import TestResult, result_of, untested
from rrstats.inference.contrasts import (
    RANK_TOLERANCE,
    known_sum_map,
    with_known_sum,
)
from rrstats.inference.multinomial import (
    distance,
)
from rrstats.mechanisms.base import is_mechanism


@checked_keywords
def independence(
    table: Any,
    mechanism: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    mechanisms: Any = None,
    pairs: Mapping[Any, tuple[Any, Any]] | None = None,
) -> TestResult:
    """Test that two answers, or the items of a battery, are independent.

    Parameters
    ----------
    table : Crosstab, counts, reports, Tally or Estimate
        For columns privatized separately (or one of them ordinary): a Crosstab of the two, or
        counts of reports with ``mechanisms``.  A Crosstab of more columns tests that all of them
        together are independent, such as the items of `rrstats.surveys.sum_of`.  For a pair
        privatized as one answer: its reports
        with ``mechanism`` (or categories with ``prob`` or ``epsilon``), a Tally or an Estimate.
    mechanism, prob, epsilon : optional
        As for `rrstats.estimate`, for a pair privatized as one answer.
    mechanisms : (Mechanism or None, Mechanism or None), optional
        The mechanism of the rows and that of the columns; None for a column that is not private.
    pairs : mapping from category to two parts, optional
        For a pair privatized as one answer; by default the categories are tuples of two.

    Returns
    -------
    TestResult
        It has (r - 1)(c - 1) degrees of freedom.  Categories that nobody reported are left out of
        the table and do not count for the degrees of freedom.

    Warns
    -----
    LowPrecisionWarning
        Expected counts are too small for chi-squared.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> found = independence([[330, 270], [170, 230]], mechanisms=(m, m))
    >>> round(found.statistic, 2), found.df, round(found.effective_n)
    (15.0, 1, 55)
    >>> one = rr.KRR([("no", "no"), ("no", "yes"), ("yes", "no"), ("yes", "yes")], epsilon=1)
    >>> found = independence(rr.Tally.from_counts([330, 270, 170, 230], one))
    >>> round(found.statistic, 2), found.df
    (12.25, 1)

    The same counts give a smaller statistic for a pair that went through one k-RR, because its
    noise is dependent too.
    """
    if isinstance(mechanism, str):
        raise ArgumentTypeError(
            "table must be that of two columns, as in independence(rr.crosstab(df, 'a', 'b'))"
        )
    if mechanisms is None and not isinstance(table, Crosstab):
        estimate = as_estimate(table, mechanism=mechanism, prob=prob, epsilon=epsilon)
        return pair_independence(estimate, pairs)
    reason = (
        "a table of two columns takes mechanisms=(of the rows, of the columns), and not the design "
        "of a pair privatized as one answer"
    )
    check_left_out(reason, mechanism=mechanism, prob=prob, epsilon=epsilon, pairs=pairs)
    if isinstance(table, Crosstab) and len(table.shape) > 2:
        return _mutual_independence(table)
    crossed = two_way(table, mechanisms)
    if crossed.moments.combined is not None:
        return pair_independence(crossed.moments.combined, None)
    return _column_independence(crossed)


def _mutual_independence(crossed: Crosstab) -> TestResult:
    """The test that more than two columns are independent, from the table of their reports.

    The noise of columns that were privatized separately is independent, so their reports are
    independent if and only if the answers are.
    """
    null = f"independence of {len(crossed.shape)} columns"
    all_cells = all(axis.is_multinomial for axis in crossed.moments.axes)
    if (
        crossed.moments.combined is not None
        or not all_cells
        or crossed.moments.counted.shape != crossed.shape
    ):
        raise ArgumentValueError(
            "independence of more than two columns needs columns that were privatized separately, "
            "with as many reports as categories, without weights or a design; test them in pairs"
        )
    observed = crossed.moments.counted.astype(np.float64)
    if not crossed.n:
        return result_of(null, 0, untested(_mutual_df(observed.shape)))
    expected = np.array(float(crossed.n))
    for place in range(observed.ndim):
        others = tuple(axis for axis in range(observed.ndim) if axis != place)
        margin = observed.sum(axis=others)
        observed = np.compress(margin > 0, observed, axis=place)
        expected = np.multiply.outer(expected, margin[margin > 0] / crossed.n)
    value = float(distance(observed.ravel(), expected.ravel()))
    df = _mutual_df(observed.shape)
    gap = CountedDistance("Pearson's of the reported table", value, df, expected.ravel())
    outcome = gap.by_chi_squared("leave columns out")
    estimates = [crossed._estimate(name) for name in crossed._private]
    parts = [effective_n(estimate, estimate.proportions) / crossed.n for estimate in estimates]
    return result_of(null, crossed.n, outcome, crossed.n * prod(parts))


def _mutual_df(shape: Sequence[int]) -> int:
    """Cells less 1, less the free proportions of each column."""
    return prod(shape) - 1 - sum(size - 1 for size in shape)


def _column_independence(crossed: Crosstab) -> TestResult:
    """The test of columns that were privatized separately."""
    n = crossed.n
    rows, columns = crossed.shape
    if not n:
        return result_of(INDEPENDENT, 0, untested((rows - 1) * (columns - 1)))
    estimates = [crossed._estimate(name) for name in crossed._private]
    effective = n * prod(effective_n(estimate, estimate.proportions) / n for estimate in estimates)
    all_cells = all(axis.is_multinomial for axis in crossed.moments.axes)
    if all_cells and crossed.moments.counted.shape == crossed.shape:
        gap = table_distance("the reported table", crossed.moments.counted)
    else:
        # n tr(S1^- C S2^- C') of the covariance C of both debiased answers
        margins, covariances = margins_of(crossed)
        first, second = map(_inverse_root, covariances)
        shift = crossed.proportions - np.outer(*margins)
        value = float(n * ((first @ shift @ second.T) ** 2).sum())
        df = len(first) * len(second)
        method = "test of the covariance of debiased answers"
        gap = CountedDistance(method, value, df, np.empty(0))
    return result_of(INDEPENDENT, n, gap.by_chi_squared(), effective)


def two_way(table: Any, mechanisms: Any = None) -> Crosstab:
    """A Crosstab of two columns, also from counts with the mechanism of each axis."""
    if not isinstance(table, Crosstab):
        counts = check_numbers(table, "table, a crosstab or counts of reports,", axes=2)
        table = Crosstab.from_counts(counts, _columns_of_counts(counts.shape, mechanisms))
    return check_two_way(table)._with_target("population")


def _columns_of_counts(shape: tuple[int, ...], mechanisms: Any) -> dict[str, Any]:
    """The mechanisms of the rows and columns of counts; labels of a column without one."""
    pair = mechanisms if isinstance(mechanisms, tuple | list) else ()
    if len(pair) != 2 or not all(part is None or is_mechanism(part) for part in pair):
        raise ArgumentTypeError(
            "mechanisms must be a pair, the mechanism of the rows and that of the columns of "
            "the counts; None for a column that is not private"
        )
    labels: Any = next((part.categories for part in pair if part is not None), ())
    columns = {}
    for name, mechanism, size in zip(("rows", "columns"), pair, shape, strict=True):
        levels = labels if len(labels) == size else range(size)
        columns[name] = levels if mechanism is None else mechanism
    return columns


def margins_of(table: Crosstab) -> tuple[list[Floats], list[Floats]]:
    """The proportions of both columns, and the covariances of one debiased answer."""
    margins = [table.margin(name) for name in table.names]
    covariances = [np.nan_to_num(margin.covariance * margin.moments.divisor) for margin in margins]
    return [margin.proportions for margin in margins], covariances


def _inverse_root(covariance: Floats) -> Floats:
    """(rank, k) R with R' R the inverse of a covariance among shifts that sum to 0."""
    _, moved = with_known_sum(np.zeros(len(covariance)), covariance)
    values, vectors = np.linalg.eigh(moved)
    kept = values > RANK_TOLERANCE * max(values[-1], 0.0)
    root = (vectors[:, kept] / np.sqrt(values[kept])).T
    return np.asarray(root @ known_sum_map(covariance))
