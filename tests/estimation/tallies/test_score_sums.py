"""Sums of scores: those by reported category are the plain ones over rows, also across blocks."""

import numpy as np
import pytest

from rrstats.estimation.report_columns.report_columns import report_column
from rrstats.estimation.tallies.score_sums import row_sums, sums_of


@pytest.mark.parametrize(("k", "rows"), [(2, 50), (3, 40_000), (7, 50)])
def test_sums_where_prob_differs_are_those_of_the_scores_of_rows(k, rows):
    """With weights, numbers, missing reports and rows that are left out, which need no score."""
    rng = np.random.default_rng(k)
    reports = rng.integers(0, k, rows).astype(object)
    reports[rng.random(rows) < 0.1] = None
    probs = rng.uniform(1.2 / k, 0.95, rows)
    out = rng.random(rows) < 0.1
    probs[out] = 1 / k
    y, w = rng.normal(size=rows), rng.uniform(0, 2, rows)
    column = report_column(reports, range(k), probs)
    sums, _ = sums_of(column, y, w, out)
    kept = ~out & ~column.missing()
    s, y, w = column.scores()[kept], y[kept], w[kept]
    powers = np.stack([np.ones(len(y)), y, y * y])
    weighted = w**2 * powers
    expected = {
        "rows": [len(y)],
        "first": ((w * powers[:2]) @ s)[:, None],
        "linear": weighted @ s,
        "second": weighted @ s**2,
        "fourth": w**4 @ s**4,
        "pairs": np.einsum("tn,nx,nz->txz", weighted, s, s),
    }
    for name, values in expected.items():
        assert values == pytest.approx(getattr(sums, name), rel=1e-10, abs=1e-9), name


def test_sums_of_groups_are_those_of_their_rows():
    """Also without numbers; a row in no group counts nowhere, and may have a prob of 1/k."""
    rng = np.random.default_rng(5)
    groups = rng.integers(-1, 3, 200)
    probs = np.where(groups < 0, 1 / 3, rng.uniform(0.5, 0.9, 200))
    reports = rng.choice(["a", "b", "c", None], 200)
    weights = rng.uniform(1, 2, 200)
    column = report_column(reports, ["a", "b", "c"], probs)
    for group, sums in enumerate(row_sums(column, weights, groups=groups, size=3)):
        inside = groups == group
        own = report_column(reports[inside], ["a", "b", "c"], probs[inside])
        (alone,) = row_sums(own, weights[inside], groups=np.zeros(inside.sum(), dtype=np.intp))
        assert (alone.n, alone.n_missing) == (sums.n, sums.n_missing)
        assert sums.n + sums.n_missing == inside.sum()
        for name in ("first", "linear", "second", "pairs", "noise"):
            assert getattr(alone, name) == pytest.approx(getattr(sums, name), rel=1e-12), name
