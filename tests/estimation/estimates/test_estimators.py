"""Debiasing: published values, exact distributions by enumeration, shapes, and bad input."""

import math
import time
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scipy import stats

import rrstats as rr
from rrstats.estimators import (
    confidence_interval,
    count_interval,
    count_variance,
    debias_counts,
    debias_proportions,
    debias_reports,
    proportion_variance,
)

# Counts of published examples, and corners, that no true shares explain are wanted here.
pytestmark = pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")


def from_counts(counts, prob=None, **options):
    """An estimate of k = len(counts) categories 0 .. k-1."""
    epsilon = options.pop("epsilon", None)
    mechanism = rr.KRR(range(len(counts)), prob, epsilon=epsilon)
    return rr.estimate(rr.Tally.from_counts(counts, mechanism), **options)


# -- other software ------------------------------------------------------------------------


def test_estimates_are_those_of_rrreg():
    """RRreg 0.7.6, RRuni(y, model = "custom", p = P, MLest = FALSE), ten categories, to 1e-12.

    Its other estimates are in test_krr.py and test_surveys_golden.py.
    """
    est = from_counts([2300, 1900, 1500, 1100, 900, 700, 600, 400, 350, 250], 0.75)
    shares = [
        0.2800000000000001,
        0.22461538461538474,
        0.16923076923076918,
        0.11384615384615379,
        0.0861538461538462,
        0.058461538461538454,
        0.04461538461538461,
        0.016923076923076916,
        0.009999999999999998,
        -0.0038461538461538464,
    ]
    errors = [
        0.005827203020127906,
        0.005432130296794492,
        0.004944313056978599,
        0.004332536343754917,
        0.003962714823503669,
        0.0035329814965545875,
        0.0032884437734791655,
        0.00271341662007508,
        0.0025447700654598095,
        0.002161838170979658,
    ]
    assert shares == pytest.approx(est.proportions.tolist(), abs=1e-12)
    assert errors == pytest.approx(est.std_error.tolist(), abs=1e-12)


# multi-freq-ldpy 0.2.4, Histogram_estimator.MLE(counts, n, p, q): tolerance 1e-12;
# Histogram_estimator.IBU(k, A, counts/n, 200000, 1e-15, "max_abs"), an EM: tolerance 1e-6
MLE = [
    ([410, 260, 190, 140], 0.6, [0.5928571428571427, 0.27142857142857146, 0.12142857142857144,
                                 0.014285714285714318], 1e-12),
    ([700, 130, 100, 70], 0.6, [1.0, 0.0, 0.0, 0.0], 1e-12),
    ([2300, 1900, 1500, 1100, 900, 700, 600, 400, 350, 250], 0.75,
     [0.27909270216962523, 0.22386587771203156, 0.16863905325443782, 0.11341222879684415,
      0.08579881656804732, 0.05818540433925049, 0.04437869822485206, 0.01676528599605523,
      0.009861932938856025, 0.0], 1e-12),
    ([30, 8, 4, 3, 2, 1, 1, 1, 0, 0], 0.6,
     [0.7999999999999998, 0.15466666666666665, 0.037333333333333336, 0.008000000000000005,
      0, 0, 0, 0, 0, 0], 1e-12),
    ([80, 20], 0.75, [1.0, 0.0], 1e-12),
    ([31, 22, 17, 12, 10, 8], 0.4,
     [0.583673469387755, 0.28979591836734697, 0.12653061224489798, 0, 0, 0], 1e-12),
    ([640, 330, 30], 0.6, [0.8195876288659741, 0.18041237113402578, 0], 1e-6),
    ([600, 250, 150], 0.6, [0.9117647058823419, 0.088235294117658, 0], 1e-6),
    ([500, 300, 200], 0.8, [0.5714285714285707, 0.28571428571428503, 0.1428571428571444], 1e-6),
    ([50, 0, 0, 0, 0], 0.5, [1.0, 0, 0, 0, 0], 1e-6),
]  # fmt: skip


@pytest.mark.parametrize(("counts", "prob", "shares", "tolerance"), MLE)
def test_mle_is_that_of_multi_freq_ldpy(counts, prob, shares, tolerance):
    """The closed form is their water-filling to 1e-12, and the limit of their EM to 1e-6."""
    est = from_counts(counts, prob)
    found, matrix = est.mle().proportions, est.mechanism.channel.matrix
    assert shares == pytest.approx(found.tolist(), abs=tolerance)
    score = matrix.T @ (np.asarray(counts) / (matrix @ found))
    assert 1 == pytest.approx(found.sum(), abs=1e-12)
    assert found.min() >= 0
    assert score[found > 0] == pytest.approx(est.n, rel=1e-9)
    assert score.max() <= est.n * (1 + 1e-9)


def test_rows_variance_is_that_of_multi_freq_ldpy():
    """multi-freq-ldpy 0.2.4, VAR_Pure(p, q, n, f): the noise alone, for given answers."""
    assert 0.00375 == pytest.approx(
        proportion_variance(0.05, 200, 0.75, k=2, target="sample"), abs=1e-14
    )
    # p = .9, q = .0333 is k = 4
    assert 0.0008579881656804733 == pytest.approx(
        proportion_variance(0.0, 50, 0.9, k=4, target="sample"), abs=1e-14
    )


# -- the theory page (own scripts in mpmath and NumPy, each confirmed by a second route) ----


def test_variances_of_the_theory_page():
    """p = .7, q = .1, n = 1000, f = .3: .00035 for the rows, .00056 for the population."""
    rows = proportion_variance(0.3, 1000, 0.7, k=4, target="sample")
    population = proportion_variance(0.3, 1000, 0.7, k=4)
    assert 0.00035 == pytest.approx(rows, rel=1e-12)
    assert 0.00056 == pytest.approx(population, rel=1e-12)
    assert 0.3 * 0.7 / 1000 == pytest.approx(population - rows, rel=1e-12)
    assert 350.0 == pytest.approx(count_variance(0.3, 1000, 0.7, k=4), rel=1e-12)


def test_intervals_of_counts_are_clopper_and_pearsons_carried():
    """From SciPy's beta distribution; p = .75, q = .125 for three categories, 798 reports."""
    x, n = np.array([165, 349, 284]), 798
    rates = stats.beta.ppf(0.025, x, n - x + 1), stats.beta.ppf(0.975, x + 1, n - x)
    expected = np.clip((np.array(rates) - 0.125) / 0.625, 0, 1)
    assert expected == pytest.approx(np.array(confidence_interval(x, 0.75)), rel=1e-9)
    rows = np.array(confidence_interval(x, 0.75, target="sample"))
    assert n * rows == pytest.approx(np.array(count_interval(x, 0.75)), rel=1e-12)
    assert debias_counts(x, 0.75) == pytest.approx((x - n * 0.125) / 0.625, rel=1e-12)


def test_mle_and_projection_of_the_theory_page():
    """60, 40, 20, 9, 1 at epsilon = 1: the MLE and the nearest point differ; so do both from
    the raw shares. 500, 300, 200 at epsilon = 2: inside the simplex all three are one."""
    est = from_counts([60, 40, 20, 9, 1], epsilon=1)
    assert [
        1.2225849243675808,
        0.621064380621945,
        0.019543836876309322,
        -0.31129246218379036,
        -0.5519006796820446,
    ] == pytest.approx(est.proportions.tolist(), rel=1e-12)
    assert [0.7163953413738652, 0.2836046586261347, 0, 0, 0] == pytest.approx(
        est.mle().proportions.tolist(), rel=1e-9
    )
    assert [0.800760271872818, 0.19923972812718216, 0, 0, 0] == pytest.approx(
        est.project().proportions.tolist(), rel=1e-12
    )
    inside = from_counts([500, 300, 200], epsilon=2)
    for shares in (inside.proportions, inside.mle().proportions, inside.project().proportions):
        assert [0.5782588213748328, 0.28434823572503337, 0.13739294290013374] == pytest.approx(
            shares.tolist(), rel=1e-12
        )


# -- exact distributions ---------------------------------------------------------------------------


POPULATION = [([1, 3], 0.75, 4), ([1, 3, 5], 0.625, 4), ([1, 3, 5, 7], 0.375, 3)]
ROWS = [([0, 0, 1], 0.75, None), ([0, 1, 2, 2], 0.5, None)]


@pytest.mark.parametrize(("people", "prob", "n"), POPULATION + ROWS)
def test_shares_and_covariance_are_unbiased(people, prob, n):
    """Over every list of reports, of people drawn by these weights or of rows with these codes,
    the mean of the shares is the truth, and that of estimated covariances their covariance."""
    k = len(people) if n else max(people) + 1
    told = np.where(np.eye(k, dtype=bool), Fraction(prob), (1 - Fraction(prob)) / (k - 1))
    truth = [Fraction(w, k * k) for w in people] if n else np.bincount(people) / len(people)
    distributions = (
        [sum(f * row for f, row in zip(truth, told, strict=True))] * n if n else told[people]
    )
    mean, second, estimated, total = np.zeros(k), np.zeros((k, k)), np.zeros((k, k)), Fraction(0)
    for reports in product(range(k), repeat=len(distributions)):
        chance = math.prod(
            distribution[report]
            for distribution, report in zip(distributions, reports, strict=True)
        )
        counts = np.bincount(reports, minlength=k)
        est = from_counts(counts, prob, target="population" if n else "sample")
        total += chance
        mean += float(chance) * est.proportions
        second += float(chance) * np.outer(est.proportions, est.proportions)
        estimated += float(chance) * est.covariance
    assert 1 == total
    assert [float(f) for f in truth] == pytest.approx(mean.tolist(), abs=1e-12)
    assert second - np.outer(mean, mean) == pytest.approx(estimated, abs=1e-12)


def test_ddof_divides_by_n_less_one_or_by_n():
    """1 is unbiased (RRreg), 0 is GLMMRR's; rows know no ddof."""
    counts = [588, 412]
    one, zero = from_counts(counts, 0.7), from_counts(counts, 0.7, ddof=0)
    assert 1000 / 999 == pytest.approx(one.variance[0] / zero.variance[0], rel=1e-12)
    rows = [from_counts(counts, 0.7, target="sample", ddof=ddof).variance[0] for ddof in (0, 1)]
    assert rows[0] == rows[1]


def test_variance_of_the_estimate_is_that_of_the_array_function():
    """Estimate.variance is proportion_variance at the estimated shares."""
    for target, ddof in (("population", 1), ("population", 0), ("sample", 0)):
        est = from_counts([500, 310, 150, 40], 0.6, target=target, ddof=ddof)
        found = proportion_variance(est.proportions, 1000, 0.6, target=target, ddof=ddof)
        assert est.variance.tolist() == pytest.approx(found.tolist(), rel=1e-12)


# -- every way to the same numbers ---------------------------------------------------------


def test_rows_tally_and_arrays_agree():
    """From reports, from a tally, from counts and from shares the estimate is one."""
    m = rr.KRR(["never", "once", "often"], 0.75)
    reports = ["never"] * 50 + ["once"] * 35 + ["often"] * 15
    est = rr.estimate(reports, m)
    shares = est.proportions.tolist()
    for same in (
        rr.estimate(rr.tally(reports, m)).proportions,
        rr.estimate(pd.Series(reports, dtype="category"), m).proportions,
        rr.estimate(reports, ["never", "once", "often"], 0.75).proportions,
        debias_proportions([0.5, 0.35, 0.15], 0.75),
        debias_counts([50, 35, 15], 0.75) / 100,
        debias_reports(reports, m).mean(axis=0),
    ):
        assert shares == pytest.approx(np.asarray(same).tolist(), abs=1e-12)
    low, high = confidence_interval([50, 35, 15], 0.75)
    assert est.interval().low.tolist() == low.tolist()
    assert est.interval().high.tolist() == high.tolist()
    low, high = count_interval([50, 35, 15], 0.75)
    assert est.count_interval().low.tolist() == low.tolist()
    assert est.count_interval().high.tolist() == high.tolist()


def test_one_category_alone_is_the_same_as_among_all():
    """A single count, with k and n, gives the numbers it has in the whole table."""
    counts, prob = [412, 288, 180, 120], 0.7
    shares, totals = debias_proportions(np.array(counts) / 1000, prob), debias_counts(counts, prob)
    low, high = confidence_interval(counts, prob)
    for place, count in enumerate(counts):
        assert shares[place] == debias_proportions(count / 1000, prob, k=4)
        assert totals[place] == debias_counts(count, prob, k=4, n=1000)
        alone = confidence_interval(count, prob, k=4, n=1000)
        assert (low[place], high[place]) == alone
        assert all(type(end) is float for end in alone)
    some = debias_counts(counts[:2], prob, k=4, n=1000)
    assert totals[:2].tolist() == some.tolist()


def test_leading_axes_series_and_frames_are_served():
    """(..., k) arrays, Series and DataFrames: the last axis is the categories."""
    counts = np.array([[[412, 288, 300], [10, 20, 30]]])
    shares = counts / counts.sum(axis=-1, keepdims=True)
    assert (1, 2, 3) == debias_proportions(shares, 0.7).shape
    assert 3 == len(debias_proportions([0.33, 0.33, 0.33], 0.75))  # published ones are rounded
    low, high = confidence_interval(counts, 0.7, target="sample")
    assert (1, 2, 3) == low.shape == high.shape
    alone = confidence_interval([10, 20, 30], 0.7, target="sample")
    assert alone.low.tolist() == low[0, 1].tolist()
    frame = pd.DataFrame(counts[0], columns=list("abc"))
    expected = debias_counts(counts[0], 0.7).tolist()
    assert expected == debias_counts(frame, 0.7).tolist()
    assert expected[0] == debias_counts(frame.iloc[0], 0.7).tolist()
    assert expected[0] == debias_counts(frame.iloc[0].astype("Int64"), 0.7).tolist()
    variance = proportion_variance(shares, 60, 0.7)
    assert (1, 2, 3) == variance.shape
    assert (3,) == count_variance(shares[0, 0], 60, 0.7).shape
    low, high = count_interval(counts, 0.7)
    assert (1, 2, 3) == low.shape
    assert (high <= counts.sum(axis=-1, keepdims=True)).all()


def test_epsilon_may_stand_for_prob():
    """Every array function takes epsilon instead of prob, and both say the same."""
    prob = rr.privacy.prob_from_epsilon(1.0, 3)
    for function in (debias_counts, confidence_interval, count_interval):
        first = np.asarray(function([30, 20, 10], prob))
        assert first.tolist() == np.asarray(function([30, 20, 10], epsilon=1.0)).tolist()
    assert debias_proportions(0.3, prob, k=3) == debias_proportions(0.3, epsilon=1.0, k=3)


def test_missing_reports_have_no_scores():
    """A missing report is a row of NaN; where missing is a category it is a report."""
    scores = debias_reports(["yes", None], ["no", "yes"], 0.75)
    assert [[-0.5, 1.5]] == scores[:1].tolist()
    assert np.isnan(scores[1]).all()
    assert [1.5, -0.5] == debias_reports([None], [None, "yes"], 0.75)[0].tolist()
    assert (0, 2) == debias_reports([], ["no", "yes"], 0.75).shape


# -- sizes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["population", "sample"])
def test_no_reports_give_nan_shares_and_whole_intervals(target):
    """n = 0: shares and errors are NaN, intervals [0, 1], counts 0; nothing raises or warns."""
    est = rr.estimate([], ["no", "yes", None], 0.75, target=target)
    assert 0 == est.n
    assert np.isnan(est.proportions).all()
    assert np.isnan(est.naive).all()
    assert np.isnan(est.std_error).all()
    assert np.isnan(est.covariance).all()
    assert ([0, 0, 0], [1, 1, 1]) == tuple(end.tolist() for end in est.interval())
    assert [0, 0, 0] == est.counts.tolist() == est.count_interval().high.tolist()
    for table in (est.mle(), est.project()):
        assert np.isnan(table.proportions).all()
        assert [0, 0, 0] == table.counts.tolist()
    assert 3 == len(est.to_frame())


def test_one_report_has_a_share_but_no_sampling_error():
    """n = 1: dividing by n - 1 cannot be; for the rows there is an error."""
    est = rr.estimate(["yes"], ["no", "yes"], 0.75)
    assert [-0.5, 1.5] == est.proportions.tolist()
    assert np.isnan(est.std_error).all()
    assert np.isnan(est.covariance).all()
    rows = replace(est, target="sample")
    assert math.sqrt(0.75 * 0.25) / 0.5 == pytest.approx(rows.std_error[0], rel=1e-12)
    assert (rows.interval().low <= rows.interval().high).all()


@pytest.mark.slow
def test_ten_thousand_categories_work():
    """k = 10,000: all in frame, intervals, MLE and projection, and few shown in a notebook."""
    k = 10_000
    counts = np.arange(k) % 7 + 20
    est = from_counts(counts, 0.2, target="sample")
    frame = est.to_frame()
    assert k == len(frame)
    assert 1 == pytest.approx(est.proportions.sum(), abs=1e-9)
    assert (frame["low"] <= frame["high"]).all()
    place = 4321
    assert len(repr(est).splitlines()) < 100
    assert est._repr_html_().count("<tr") < 100
    assert len(repr(est.mle()).splitlines()) < 100
    alone = confidence_interval(int(counts[place]), 0.2, k=k, n=int(counts.sum()), target="sample")
    assert (frame["low"][place], frame["high"][place]) == alone
    for table in (est.mle(), est.project()):
        assert 1 == pytest.approx(table.proportions.sum(), abs=1e-9)
        assert table.proportions.min() >= 0


# -- bad input -----------------------------------------------------------------------------

SHARES, COUNTS = [0.5, 0.3, 0.2], [50, 30, 20]

BAD = [
    # shares
    (lambda: debias_proportions([0.5, 0.6, -0.1], 0.7), "naive must be finite numbers in"),
    (lambda: debias_proportions([50, 30, 20], 0.7), "debias_counts"),
    (lambda: debias_proportions([0.5, 0.3], 0.7), "sum to 1.*0.8.*give k"),
    (lambda: debias_proportions(["a", "b"], 0.7), "naive must be numbers"),
    (lambda: debias_proportions(0.5, 0.7), "needs k"),
    # prob, epsilon, k
    (lambda: debias_proportions(SHARES), "give prob or epsilon, found neither"),
    (lambda: debias_proportions(SHARES, 0.7, epsilon=1), "give prob or epsilon, found prob"),
    (lambda: debias_proportions(SHARES, 0.2), "prob must be in"),
    (lambda: debias_proportions([0.5, 0.5], 0.5), "no information"),
    (lambda: proportion_variance([0.5, 0.5], 10, 0.5), "no information"),
    (lambda: debias_proportions(0.5, 0.7, k=1), "k, the number of categories"),
    # counts and n
    (lambda: debias_counts([50, -1, 20], 0.7), "reported must be finite numbers of at least 0"),
    (lambda: debias_counts(30, 0.7, k=3), "need n"),
    (lambda: debias_counts(30, 0.7, k=3, n=20), "counts of n = 20 reports, found counts up to 30"),
    (lambda: debias_counts(COUNTS, 0.7, n=200), "n = 200 reports, .* up to 100"),
    (lambda: confidence_interval([50.5, 29.5, 20], 0.7), "whole numbers, because"),
    (lambda: confidence_interval(COUNTS, 0.7, level=95), "level must be in .*write 0.95 for 95%"),
    (lambda: confidence_interval(COUNTS, 0.7, method="normal"), "method must be one of"),
    (lambda: confidence_interval(COUNTS, 0.7, target="people"), "target must be"),
    (lambda: confidence_interval(COUNTS, 0.7, target="sample", method="wilson"), "one of"),
    # variances
    (lambda: proportion_variance(SHARES, 0, 0.7), "n must be at least 1"),
    (lambda: proportion_variance(SHARES, 1, 0.7, ddof=1), "n must be at least 1 more"),
    # reports
    (lambda: rr.estimate(["no"], ["no", "yes"], 0.5), "no information"),
    (lambda: rr.estimate(["no"], ["no", "yes"], 0.75, ddof=2), "ddof must be 0 or 1"),
    (lambda: rr.estimate(["no"], rr.KRR(["no", "yes"], 0.75), 0.75), "a mechanism already has its"),
    (
        lambda: rr.estimate(rr.tally(["no"], ["no", "yes"], 0.75), ["no", "yes"], 0.8),
        "the tally was counted for",
    ),
    (lambda: from_counts(COUNTS, 0.7).interval(method="exact"), "method must be one of"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), BAD, ids=range(len(BAD)))
def test_bad_input_is_refused_by_name(call, said):
    """Every wrong argument raises an RRStatsError, by argument and rule, and a standard error."""
    with pytest.raises(rr.errors.RRStatsError, match=said) as caught:
        call()
    assert isinstance(caught.value, ValueError | TypeError)


def test_rates_among_some_people_are_fast():
    """`among` of 21 categories takes less than 0.02 s of CPU a category, with a design too."""
    rng = np.random.default_rng(1)
    mechanism = rr.KRR([*range(20), None], 0.7)
    reports = rng.permutation([*range(20), None] * 200).tolist()
    for weights in (None, rng.uniform(1, 3, len(reports))):
        found = rr.estimate(reports, mechanism, weights=weights)
        start = time.process_time()
        found.among().to_frame()
        assert time.process_time() - start < 20 * 0.02


def test_reports_outside_the_categories_are_counted_not_quoted():
    """Most often such reports are answers that nobody privatized: they are never shown."""
    for call in (
        lambda: rr.estimate(["heroin", "no"], ["no", "yes"], 0.75),
        lambda: debias_reports(["heroin", "no"], ["no", "yes"], 0.75),
    ):
        assert "heroin" not in refused(rr.errors.RRStatsError, "1 of 2 reports", call)


def test_reports_that_no_truth_explains_are_said():
    """Raw answers given as reports, or rows picked by their report: one warning, fixed text."""
    m = rr.KRR(["no", "yes"], 0.75)
    for counts in ([2595, 405], [0, 914]):
        with pytest.warns(rr.errors.ImplausibleReportsWarning, match="are not valid") as caught:
            found = rr.estimate(rr.Tally.from_counts(counts, m))
        assert 1 == len(caught)
        assert "are not valid" in repr(found)
        assert "are not valid" in found._repr_html_()
        assert [True, True] == found.moments.implausible.tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("k", [2, 4, 100])
def test_right_reports_of_extreme_shares_are_not_doubted(k):
    """Everybody in one category, and small samples: whatever the noise does within 6 errors."""
    m = rr.KRR(range(k), 0.75)
    for n in (1, 10, 1000, 100_000):
        rate = (1 - 0.75) / (k - 1)
        low = max(0, math.floor(n * rate - 5.5 * math.sqrt(n * rate * (1 - rate))))
        top = min(n, math.ceil(n * 0.75 + 5.5 * math.sqrt(n * 0.75 * 0.25)))
        rest = n - top - low * (k - 2)
        counts = [top, *([low] * (k - 2)), rest] if rest >= 0 else [n - low, low] + [0] * (k - 2)
        if min(counts) >= low:
            assert not rr.estimate(rr.Tally.from_counts(counts, m)).moments.implausible.any()
    assert not rr.estimate(rr.Tally.from_counts([0] * k, m)).moments.implausible.any()
