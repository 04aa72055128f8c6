"""Fits and p-values under a null hypothesis, against closed forms and lists of all tables."""

import itertools

import numpy as np
import pytest
from scipy import stats

from rrstats.errors import ArgumentValueError
from rrstats.inference import multinomial
from rrstats.inference.multinomial import (
    chi_squared_test,
    distance,
    exact_p_value,
    fit_margins,
    fit_rates,
    likelihood_ratio,
    most_likely,
    smoothed,
    start_inside,
)

# -- distances and their p-values ------------------------------------------------------------


def test_distances_by_hand():
    """Pearson's X2 and the likelihood ratio's G2; infinite where nothing was expected."""
    counts, expected = np.array([12.0, 5.0, 3.0]), np.array([10.0, 6.0, 4.0])
    assert distance(counts, expected) == pytest.approx(4 / 10 + 1 / 6 + 1 / 4)
    ratio = stats.power_divergence(counts, expected, lambda_="log-likelihood").statistic
    assert likelihood_ratio(counts, expected) == pytest.approx(ratio)
    for statistic in (distance, likelihood_ratio):
        assert statistic([3, 0], [3.0, 0.0]) == 0
        assert statistic([3, 1], [3.0, 0.0]) == np.inf
        both = statistic([[12, 5, 3], [10, 6, 4]], expected)
        assert both.tolist() == [float(statistic(counts, expected)), 0.0]
    assert likelihood_ratio([0, 4], [2.0, 2.0]) == pytest.approx(8 * np.log(2))


@pytest.mark.parametrize(("n", "rates"), [(4, [0.3, 0.7]), (5, [0.2, 0.5, 0.3]), (3, [0.1] * 10)])
def test_exact_p_values_list_every_table(n, rates):
    """The probability of all tables at least as far off, by SciPy's multinomial."""
    rates = np.array(rates)
    listed = [
        np.bincount(cells, minlength=len(rates))
        for cells in itertools.combinations_with_replacement(range(len(rates)), n)
    ]
    prob = stats.multinomial(n, rates).pmf(listed)
    far = distance(listed, n * rates)
    for observed in sorted(set(far.tolist()))[:: max(1, len(set(far.tolist())) // 6)]:
        expected = prob[far >= observed - 1e-9].sum()
        found = exact_p_value(rates, n, observed)
        assert found == pytest.approx(expected, rel=1e-10)
    assert exact_p_value(rates, n, 0.0) == pytest.approx(1.0)


def test_too_many_tables_are_not_listed(monkeypatch):
    """Ten tables of three counts are 30 counts: listed where so many fit, and refused below."""
    rates = np.array([0.2, 0.5, 0.3])
    monkeypatch.setattr(multinomial, "_MAX_TABLE_COUNTS", 30)
    assert exact_p_value(rates, 3, 0.0) == pytest.approx(1.0)
    monkeypatch.setattr(multinomial, "_MAX_TABLE_COUNTS", 29)
    with pytest.raises(ArgumentValueError, match="3 reports of 3 kinds can come out in 10 ways"):
        exact_p_value(rates, 3, 0.0)


def test_the_tail_of_a_squared_distance():
    """Chi-squared where the covariance is certain, Hotelling's F where few df carry it."""
    assert chi_squared_test(7.3, 3) == (7.3, pytest.approx(stats.chi2.sf(7.3, 3)))
    # T2 = 7.3 of 3 contrasts with 12 df: F = (12 - 3 + 1) / (12 * 3) T2 on 3 and 10 df
    assert chi_squared_test(7.3, 3, 12)[1] == pytest.approx(stats.f.sf(7.3 * 10 / 36, 3, 10))
    assert chi_squared_test(7.3, 1, 1)[1] == pytest.approx(stats.f.sf(7.3, 1, 1))
    impossible = [(7.3, 0), (7.3, 3, 2), (1.0, 2, 1), (np.nan, 2)]
    assert np.isnan([chi_squared_test(*each)[1] for each in impossible]).all()


def test_a_distance_that_rounding_makes_negative_is_0():
    """P-values of a statistic of -1e-15 were NaN; that of 0 is 1, also by F."""
    assert chi_squared_test(-1e-15, 2) == chi_squared_test(-1e-15, 2, 7) == (0.0, 1.0)
    for a, b in itertools.product(range(1, 60), repeat=2):
        # the rates of two samples that agree, as a fit finds them
        expected = (a + b) * np.array([a / (a + b), b / (a + b)]) * (1 + 1e-16)
        assert likelihood_ratio([a, b], expected) >= 0


# -- fits --------------------------------------------------------------------------------------


def test_a_start_gives_every_possible_report_a_rate():
    """Proportions inside stay; at the edge they move inward; impossible reports do not count."""
    matrix = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert start_inside(matrix, np.array([0.4, 0.6])).tolist() == [0.4, 0.6]
    assert start_inside(matrix, np.array([1.0, 0.0])) == pytest.approx([0.995, 0.005])
    assert start_inside(matrix, np.array([1.3, -0.3])) == pytest.approx([0.9, 0.1])
    assert start_inside(matrix, np.array([9.0, -8.0])).tolist() == [0.5, 0.5]


def test_a_fit_stops_before_a_rate_is_zero():
    """All ten reports are of the first cell: its rate comes near 1, the other stays above 0."""

    def model(x):
        return np.array([x[0], 1 - x[0]]), np.array([[1.0], [-1.0]])

    sizes = np.array([10.0, 10.0])
    (rate,) = fit_rates(model, np.array([10.0, 0.0]), sizes, np.array([0.5]))
    assert 1 - 1e-4 < rate < 1
    (rate,) = fit_rates(model, np.array([7.0, 3.0]), sizes, np.array([0.01]))
    assert rate == pytest.approx(0.7, abs=1e-9)


def test_steps_that_lower_the_likelihood_are_halved():
    """Rates exp(x): Newton's first step is far too long, and the fit still ends at the maximum."""

    def model(x):
        rate = 1 / (1 + np.exp(-x[0]))
        return np.array([rate, 1 - rate]), np.array([[1.0], [-1.0]]) * rate * (1 - rate)

    for start in (-6.0, 0.0, 5.0):
        (x,) = fit_rates(model, np.array([90.0, 10.0]), np.array([100.0] * 2), np.array([start]))
        assert x == pytest.approx(np.log(9), abs=1e-6)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (4, 2)])
def test_margins_of_direct_answers_are_the_observed(shape):
    """Without noise the likeliest independent table has the margins of the counts."""
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 30, shape).astype(float)
    start = rng.dirichlet(np.ones(np.prod(shape))).reshape(shape)
    sizes = np.full(counts.size, counts.sum())
    rows, columns, slopes = fit_margins(np.eye(counts.size), counts.ravel(), sizes, start)
    assert rows == pytest.approx(counts.sum(axis=1) / counts.sum(), abs=1e-9)
    assert columns == pytest.approx(counts.sum(axis=0) / counts.sum(), abs=1e-9)
    assert slopes.shape == (counts.size, sum(shape) - 2)
    # The slope of rate (i, j) in the first row's margin: + column j in row 0, - in the last row.
    first = slopes[:, 0].reshape(shape)
    assert first[0] == pytest.approx(columns)
    assert first[-1] == pytest.approx(-columns)
    assert np.all(first[1:-1] == 0)


def test_margins_behind_noise_are_likeliest():
    """Of pairs from two designs no other margins near by have a larger likelihood."""
    rng = np.random.default_rng(4)
    left, right = np.eye(2) * 0.5 + 0.25, np.eye(3) * 0.4 + 0.2
    matrix = np.kron(left, right)
    counts = rng.multinomial(500, matrix @ np.outer([0.7, 0.3], [0.2, 0.5, 0.3]).ravel())
    sizes = np.full(6, 500.0)
    rows, columns, _ = fit_margins(matrix, counts.astype(float), sizes, np.full((2, 3), 1 / 6))

    def log_likelihood(rows, columns):
        return counts @ np.log(matrix @ np.outer(rows, columns).ravel())

    best = log_likelihood(rows, columns)
    for _ in range(40):
        step, turn = rng.normal(0, 0.01, 2), rng.normal(0, 0.01, 3)
        assert log_likelihood(rows + step - step.mean(), columns + turn - turn.mean()) <= best


def test_the_kernel_of_smoothing_conserves_mass():
    """A kernel with columns 1/4 1/2 1/4, and 2/3 1/3 at the ends, each of sum 1.

    Of reports that say nothing its only fixed point is left: 3/4 of the others at both ends.
    """
    k = 9
    kernel = 0.5 * np.eye(k) + 0.25 * (np.eye(k, k=1) + np.eye(k, k=-1))
    kernel[:, 0] = [2 / 3, 1 / 3, *[0] * (k - 2)]
    kernel[:, -1] = kernel[::-1, 0]
    assert np.ones(k) == pytest.approx(kernel.sum(axis=0))
    flat = np.array([3, *[4] * (k - 2), 3]) / (4 * k - 2)
    assert flat == pytest.approx(kernel @ flat, abs=1e-15)
    silent = smoothed(np.full((2, k), 0.5), np.array([60.0, 40.0]))
    assert flat == pytest.approx(silent, abs=1e-6)
    # All reports come from one category with certainty: the kernel's column of that category.
    for place in (0, 4, k - 1):
        start = smoothed(np.eye(k), 100.0 * np.eye(k)[place])
        assert kernel[:, place] == pytest.approx(start, abs=1e-9)


def test_a_geometric_path_is_extrapolated_to_its_end():
    """Two steps that each halve the gap give the limit; gaps that grow give no leap."""
    end, gap = np.array([0.5, 0.3, 0.2]), np.array([0.08, -0.05, -0.03])
    leap = multinomial._extrapolated(end + gap, end + gap / 2, end + gap / 4)
    assert leap == pytest.approx(end, abs=1e-14)
    assert multinomial._extrapolated(end + gap / 4, end + gap / 2, end + gap * 1.5) is None


def test_the_likeliest_of_a_matrix_with_other_column_sums():
    """Columns that do not sum to 1, as of several samples, are no linear system to solve."""
    matrix = np.array([[0.9, 0.3], [0.3, 0.5]])
    counts = np.array([70.0, 50.0])
    proportions = most_likely(matrix, counts)
    grid = np.linspace(0.001, 0.999, 999)
    rates = matrix @ np.stack([grid, 1 - grid])
    values = counts @ np.log(rates)
    assert proportions[0] == pytest.approx(grid[values.argmax()], abs=2e-3)
