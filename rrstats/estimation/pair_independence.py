"""Independence of a pair that was privatized as one answer, over all r times c combinations.

The noise of such a report is not independent between its parts, so that the ordinary test of the
reported table is wrong: it takes the noise's dependence for the answers'.  Both margins are fitted
under ``rates = M vec(pi1 pi2')`` and the reports compared with that.
Source: Gaboardi and Rogers (2018), LocalGenRRIND.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation import debiasing
from rrstats.estimation.arrays import project_to_simplex
from rrstats.estimation.difference import sum_to_zero, summing
from rrstats.estimation.goodness_of_fit import has_cells, null_covariance, wald_tail
from rrstats.estimation.hypothesis_results import NAMES, TestResult, few_expected, known, upper_tail
from rrstats.estimation.null_distributions import (
    distance,
    fit,
    information,
    inside,
    score_statistic,
)
from rrstats.mechanisms.channel import Channel, transition_matrix

__all__ = ["NULL", "fit_margins", "independence_of_pairs"]


NULL = "the two answers are independent"


def independence_of_pairs(
    found: Any, pairs: Mapping[Any, tuple[Any, Any]] | None, kind: str
) -> TestResult:
    """Test the two parts of the categories; see `tables.independence`."""
    cells, shape = _grid(tuple(found.categories), pairs)
    df = (shape[0] - 1) * (shape[1] - 1)
    if not found.n:
        return TestResult(NULL, np.nan, df, np.nan, "none", 0, None, ("there are no reports",))
    if not has_cells(found):
        return _as_one_by_shares(found, cells, shape, kind)
    channel, counts = found.mechanism.channel, found.reported.astype(np.float64)
    matrix = transition_matrix(channel)[:, cells]
    sizes = debiasing.sample_sizes(channel, counts, found.n)
    start = inside(matrix, found.proportions[cells]).reshape(shape)
    first, second = fit_margins(matrix, counts, sizes, start)
    joint = np.outer(first, second).ravel()
    rates = matrix @ joint
    if kind == "pearson":
        value, within = score_statistic(matrix, counts, rates, sizes)
    else:
        value, within = float(distance(counts, sizes * rates, kind)), len(rates) - 1
        if len(counts) != channel.k:
            raise ArgumentValueError(
                "the likelihood ratio is there for designs with as many kinds of reports as "
                "categories; use statistic='pearson', which is the score test here"
            )
    # A rate that came down to 0 is a cell less, and a parameter less.
    empty = matrix[rates <= 1e-9].reshape(-1, *shape)
    by_first, by_second = empty @ second, np.einsum("mij,i->mj", empty, first)
    held = np.hstack([np.diff(by_first), np.diff(by_second)])
    df = within - (sum(shape) - 2 - (int(np.linalg.matrix_rank(held)) if held.size else 0))
    notes = few_expected(sizes * rates, "merge categories")
    if df < 1:
        notes += ("all reports are alike, and nothing is left to test",)
    effective = _interaction_left(channel, cells, first, second, counts, found.n) * found.n
    method = f"{NAMES[kind]} test with both margins fitted through the channel"
    p_value = upper_tail(value, df)
    return TestResult(NULL, value, df, p_value, method, found.n, known(effective), notes)


def _grid(
    categories: tuple[Any, ...], pairs: Mapping[Any, tuple[Any, Any]] | None
) -> tuple[NDArray[np.intp], tuple[int, int]]:
    """Which category each cell of the table is, row by row, and the table's shape."""
    given = dict(pairs) if pairs is not None else {one: one for one in categories}
    if pairs is not None and set(given) != set(categories):
        raise ArgumentValueError(
            f"pairs must name each of the {len(categories)} categories and no other"
        )
    parts = [given[one] for one in categories]
    if not all(isinstance(part, tuple) and len(part) == 2 for part in parts):
        raise ArgumentTypeError(
            "the categories of a pair privatized as one answer must be tuples of two parts, or "
            "pairs= must map each to such a tuple; for columns privatized apart give their "
            "crosstab, or counts with mechanisms="
        )
    rows, columns = (list(dict.fromkeys(part[axis] for part in parts)) for axis in (0, 1))
    places = {part: code for code, part in enumerate(parts)}
    if len(places) != len(parts) or len(parts) != len(rows) * len(columns):
        raise ArgumentValueError(
            f"pairs must be all combinations of {len(rows)} and {len(columns)} parts, once each, "
            f"found {len(places)} different ones of {len(rows) * len(columns)}"
        )
    if len(rows) < 2 or len(columns) < 2:
        raise ArgumentValueError("both parts of the pairs must have at least two categories")
    cells = np.array([places[row, column] for row in rows for column in columns], dtype=np.intp)
    return cells, (len(rows), len(columns))


def fit_margins(
    matrix: Floats, counts: Floats, sizes: Floats, start: Floats
) -> tuple[Floats, Floats]:
    """The margins of an independent table that make counts likeliest; may leave [0, 1].

    matrix : (m, r c), pairs row by row.  start : (r, c) shares with positive rates.
    """
    r, c = start.shape
    cube = matrix.reshape(len(matrix), r, c)

    def split(x: Floats) -> tuple[Floats, Floats]:
        first, second = x[: r - 1], x[r - 1 :]
        return np.append(first, 1 - first.sum()), np.append(second, 1 - second.sum())

    def law(x: Floats) -> tuple[Floats, Floats]:
        first, second = split(x)
        by_first, by_second = cube @ second, np.einsum("mij,i->mj", cube, first)
        slopes = [by_first[:, :-1] - by_first[:, -1:], by_second[:, :-1] - by_second[:, -1:]]
        return by_first @ first, np.concatenate(slopes, axis=1)

    rows, columns = start.sum(axis=1), start.sum(axis=0)
    product = inside(matrix, np.outer(rows, columns).ravel()).reshape(r, c)
    found = np.concatenate([product.sum(axis=1)[:-1], product.sum(axis=0)[:-1]])
    if not (law(found)[0][matrix.any(axis=1)] > 0).all():
        found = np.concatenate([np.full(r - 1, 1 / r), np.full(c - 1, 1 / c)])
    return split(fit(law, counts, sizes, found))


def _interaction_left(
    channel: Channel, cells: Any, first: Floats, second: Floats, counts: Floats, n: int
) -> float:
    """Direct pairs worth one report for a dependence, averaged over all kinds of it."""
    first, second = project_to_simplex(first), project_to_simplex(second)
    shares = np.empty(channel.k)
    shares[cells] = np.outer(first, second).ravel()
    form = information(channel, shares, counts, n)
    if form is None or not (shares > 0).all():
        return float("nan")
    form = form[np.ix_(cells, cells)]
    one, other = _contrasts(first), _contrasts(second)
    margins = np.concatenate(
        [np.kron(one, second[:, None]), np.kron(first[:, None], other)], axis=1
    )
    both = np.kron(one, other)
    known, mixed, own = (
        left.T @ form @ right for left, right in ((margins, margins), (margins, both), (both, both))
    )
    return float(np.trace(own - mixed.T @ np.linalg.solve(known, mixed)) / both.shape[1])


def _contrasts(shares: Floats) -> Floats:
    """(k, k - 1) shifts that sum to 0 and are of unit information in direct answers."""
    root = np.sqrt(shares)
    basis = np.linalg.svd(root[None])[2][1:].T
    return np.asarray(root[:, None] * basis)


def _as_one_by_shares(
    found: Any, cells: NDArray[np.intp], shape: tuple[int, int], kind: str
) -> TestResult:
    """Wald's test of the joint shares less the product of their margins."""
    if kind != "pearson":
        raise ArgumentValueError(
            "the likelihood ratio needs reports that fall into one cell each, of a design without "
            "latent classes and a population as target; leave statistic out"
        )
    r, c = shape
    shares = np.asarray(found.proportions)[cells]
    margins = [project_to_simplex(shares.reshape(shape).sum(axis=axis)) for axis in (1, 0)]
    null = np.empty(len(shares))
    null[cells] = np.outer(*margins).ravel()
    shares, covariance = summing(shares, null_covariance(found, null)[np.ix_(cells, cells)])
    rows, columns = shares.reshape(shape).sum(axis=1), shares.reshape(shape).sum(axis=0)
    sum_rows, sum_columns = np.kron(np.eye(r), np.ones((1, c))), np.kron(np.ones((1, r)), np.eye(c))
    slope = np.eye(r * c) - np.kron(np.eye(r), columns[:, None]) @ sum_rows
    slope -= np.kron(rows[:, None], np.eye(c)) @ sum_columns
    shift = shares - np.outer(rows, columns).ravel()
    value, df = sum_to_zero(shift, slope @ covariance @ slope.T)
    p_value, name, notes = wald_tail(value, df, getattr(found, "degrees_of_freedom", None))
    method = "Wald test of the joint shares against the product of their margins" + name
    return TestResult(NULL, value, df, p_value, method, int(found.n), notes=notes)
