"""Independence of two answers that were privatized together, as one.

The noise of both is dependent, and the ordinary test would mistake it for dependence of the
answers: both margins are fitted through the channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from rrstats._typing import Floats, Indices
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.hypothesis_tests.counted_reports import (
    cells_of,
    information,
    rates_distance,
)
from rrstats.estimation.hypothesis_tests.test_result import (
    Outcome,
    TestResult,
    by_wald,
    result_of,
    untested,
)
from rrstats.estimation.tallies import arrays
from rrstats.inference.contrasts import (
    project_to_simplex,
    with_known_sum,
)
from rrstats.inference.multinomial import (
    fit_margins,
    start_inside,
)

INDEPENDENT = "independence"
"""The null hypothesis, in words."""


def pair_independence(
    estimate: Estimate, pairs: Mapping[Any, tuple[Any, Any]] | None
) -> TestResult:
    """The test of the two parts of the categories."""
    cells, shape = _grid(tuple(estimate.categories), pairs)
    if not estimate.n:
        return result_of(INDEPENDENT, 0, untested((shape[0] - 1) * (shape[1] - 1)))
    if not estimate.moments.has_cells or arrays.is_pooled(estimate.moments.channel):
        return result_of(INDEPENDENT, estimate.n, _wald_pairs(estimate, cells, shape))
    matrix_by_category, counts, sizes = cells_of(estimate)
    matrix = matrix_by_category[:, cells]
    start = start_inside(matrix, estimate.proportions[cells]).reshape(shape)
    first, second, slopes = fit_margins(matrix, counts, sizes, start)
    rates = matrix @ np.outer(first, second).ravel()
    method = "Pearson's test with both margins fitted through the channel"
    gap = rates_distance(method, [(matrix, counts, sizes)], [rates], slopes)
    effective = _effective_n_of_pairs(estimate, cells, first, second)
    return result_of(INDEPENDENT, estimate.n, gap.by_chi_squared(), effective)


def _effective_n_of_pairs(
    estimate: Estimate, cells: Indices, first: Floats, second: Floats
) -> float:
    """Effective sample size for dependence of a pair with these margins; or NaN."""
    margins = [project_to_simplex(margin) for margin in (first, second)]
    proportions = np.empty(estimate.mechanism.k)
    proportions[cells] = np.outer(*margins).ravel()
    fisher = information(estimate, proportions)
    if fisher is None or not (proportions > 0).all():
        return np.nan
    return estimate.n * _interaction_information(fisher[np.ix_(cells, cells)], *margins)


def _grid(
    categories: tuple[Any, ...], pairs: Mapping[Any, tuple[Any, Any]] | None
) -> tuple[Indices, tuple[int, int]]:
    """The category of each cell of the table, row by row, and the table's shape."""
    parts: list[Any] = [label if pairs is None else pairs.get(label) for label in categories]
    rows: list[Any] = []
    columns: list[Any] = []
    if all(isinstance(part, tuple) and len(part) == 2 for part in parts):
        rows, columns = (list(dict.fromkeys(side)) for side in zip(*parts, strict=True))
    cells = list(product(rows, columns))
    shape = (len(rows), len(columns))
    if not len(set(parts)) == len(parts) == len(cells) or min(shape) < 2:
        raise ArgumentValueError(
            "the categories of a pair privatized as one answer must be tuples of two parts, or "
            f"pairs must map each of the {len(parts)} to such a tuple, each combination of two or "
            "more parts once; for columns privatized separately give their crosstab, or counts "
            "with mechanisms"
        )
    return np.array([parts.index(cell) for cell in cells], dtype=np.intp), shape


def _interaction_information(fisher: Floats, first: Floats, second: Floats) -> float:
    """Effective sample size of one report, averaged over all kinds of dependence."""
    rows = _contrasts(first)
    columns = _contrasts(second)
    margins = [np.kron(rows, second[:, None]), np.kron(first[:, None], columns)]
    nuisance = np.concatenate(margins, axis=1)
    interaction = np.kron(rows, columns)
    # The information of the interaction that is orthogonal to that of the margins.
    mixed = nuisance.T @ fisher @ interaction
    explained = mixed.T @ np.linalg.solve(nuisance.T @ fisher @ nuisance, mixed)
    residual = interaction.T @ fisher @ interaction - explained
    return float(np.trace(residual) / interaction.shape[1])


def _contrasts(proportions: Floats) -> Floats:
    """(k, k - 1) shifts that sum to 0 and have unit information in direct answers."""
    root = np.sqrt(proportions)
    return np.asarray(root[:, None] * np.linalg.svd(root[None])[2][1:].T)


def _wald_pairs(estimate: Estimate, cells: Indices, shape: tuple[int, int]) -> Outcome:
    """Wald's test of the joint proportions against the product of their margins."""
    r, c = shape
    unbiased = estimate.proportions[cells]
    margins = [project_to_simplex(unbiased.reshape(shape).sum(axis=axis)) for axis in (1, 0)]
    null = np.empty(estimate.mechanism.k)
    null[cells] = np.outer(*margins).ravel()
    of_cells = estimate.moments.null_covariance(null)[np.ix_(cells, cells)]
    joint, covariance = with_known_sum(unbiased, of_cells)
    rows = joint.reshape(shape).sum(axis=1)
    columns = joint.reshape(shape).sum(axis=0)
    slope = np.eye(r * c) - np.kron(np.eye(r), np.outer(columns, np.ones(c)))
    slope -= np.kron(np.outer(rows, np.ones(r)), np.eye(c))
    shift = joint - np.outer(rows, columns).ravel()
    method = "Wald test of the joint proportions against the product of their margins"
    return by_wald(method, shift, slope @ covariance @ slope.T, estimate.df)
