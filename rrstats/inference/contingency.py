"""P-values of tables of counts, and margins fitted to them under independence.

P-values come from chi-squared, from F where a covariance rests on few degrees of freedom, from
all tables that could have come, or from simulated ones.
Sources: Korn and Graubard (1990) for Wald's test with few clusters; Davison and Hinkley (1997),
eq. 4.11, for simulated p-values.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from rrstats._checks import check_whole_number
from rrstats._typing import Counts, Floats
from rrstats.errors import ArgumentValueError
from rrstats.inference.multinomial import distance, fit_rates, start_inside
from rrstats.randomness.sources import seeded

_MOST_COUNTS = 4_000_000
"""Counts of listed or simulated tables that are held at once."""


def chi_squared_tail(statistic: float, df: int) -> float:
    """P(chi-squared with df degrees of freedom exceeds a statistic); NaN where df is 0."""
    return float(scipy.special.chdtrc(df, statistic)) if df >= 1 else float("nan")


def hotelling_tail(statistic: float, df: int, covariance_df: float) -> float:
    """The p-value of Wald's statistic whose covariance rests on so many degrees of freedom.

    NaN where these are too few.
    """
    left = covariance_df - df + 1
    if df < 1 or not left > 0 or np.isnan(statistic):
        return float("nan")
    if left == np.inf:
        return chi_squared_tail(statistic, df)
    return float(scipy.special.fdtrc(df, left, statistic * left / (covariance_df * df)))


def _least(observed: float) -> float:
    """The distance from which tables count: rounding must not break ties."""
    return observed - 1e-9 * max(abs(observed), 1.0)


def exact_p_value(rates: Floats, n: int, observed: float, statistic: str) -> float:
    """P(statistic >= observed) over all tables of n reports in m cells."""
    m = len(rates)
    tables = comb(n + m - 1, m - 1)
    if tables * m > _MOST_COUNTS:
        raise ArgumentValueError(
            f"{n} reports of {m} kinds can come out in {tables:,} ways, more than are listed; use "
            "simulations= with seed="
        )
    # Bars between stars: a table is the places of m - 1 walls among n + m - 1.
    walls = np.array(list(combinations(range(n + m - 1), m - 1))).reshape(tables, m - 1)
    counts = np.diff(walls, axis=1, prepend=-1, append=n + m - 1) - 1
    logs = scipy.special.gammaln(n + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
    prob = np.exp(logs + scipy.special.xlogy(counts, rates).sum(axis=1))
    return min(float(prob[distance(counts, n * rates, statistic) >= _least(observed)].sum()), 1.0)


def simulated_p_value(
    draw: Callable[[Any, int], NDArray[Any]],
    expected: Floats,
    observed: float,
    statistic: str,
    *,
    simulations: Any,
    seed: Any,
) -> float:
    """The part of simulated surveys at least as far from the null; counts the real one, too.

    draw : (generator, number) to as many tables of counts, flat or not.  expected : their means.
    """
    number = check_whole_number(simulations, "simulations", 1)
    generator, hits, left = seeded(seed), 0, number
    while left:
        batch = min(left, max(1, _MOST_COUNTS // max(expected.size, 1)))
        drawn = draw(generator, batch).reshape(batch, -1)
        hits += int((distance(drawn, expected, statistic) >= _least(observed)).sum())
        left -= batch
    return (1 + hits) / (1 + number)


def random_tables(generator: Any, size: int, rows: Floats, columns: Floats) -> Counts:
    """(size, r, c) tables with these margins, as likely as shuffled pairs make them.

    Cell by cell: the count of a row in a column is hypergeometric, given the rest of both.
    """
    found = np.zeros((size, len(rows), len(columns)), dtype=np.int64)
    left = np.tile(columns, (size, 1)).astype(np.int64)
    for row, total in enumerate(rows):
        wanted = np.full(size, int(total))
        for column in range(len(columns)):
            beyond = left[:, column + 1 :].sum(axis=1)
            found[:, row, column] = generator.hypergeometric(left[:, column], beyond, wanted)
            wanted -= found[:, row, column]
        left -= found[:, row]
    return found


def fit_margins(
    matrix: Floats, counts: Floats, sizes: Floats, start: Floats
) -> tuple[Floats, Floats, Floats]:
    """The margins of an independent table that make counts likeliest; may leave [0, 1].

    matrix : (m, r c), pairs row by row.  start : (r, c) proportions with positive rates.
    Third, (m, r + c - 2) the slopes of the rates in all margins but the last of each.
    """
    r, c = start.shape
    cube = matrix.reshape(len(matrix), r, c)

    def split(x: Floats) -> tuple[Floats, Floats]:
        first, second = x[: r - 1], x[r - 1 :]
        return np.append(first, 1 - first.sum()), np.append(second, 1 - second.sum())

    def model(x: Floats) -> tuple[Floats, Floats]:
        first, second = split(x)
        by_first, by_second = cube @ second, np.einsum("mij,i->mj", cube, first)
        slopes = [by_first[:, :-1] - by_first[:, -1:], by_second[:, :-1] - by_second[:, -1:]]
        return by_first @ first, np.concatenate(slopes, axis=1)

    rows, columns = start.sum(axis=1), start.sum(axis=0)
    product = start_inside(matrix, np.outer(rows, columns).ravel()).reshape(r, c)
    found = np.concatenate([product.sum(axis=1)[:-1], product.sum(axis=0)[:-1]])
    if not (model(found)[0][matrix.any(axis=1)] > 0).all():
        found = np.concatenate([np.full(r - 1, 1 / r), np.full(c - 1, 1 / c)])
    found = fit_rates(model, counts, sizes, found)
    return (*split(found), model(found)[1])
