"""Intervals of designs whose counts are not binomial, and reports that no shares explain."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from catalogue import ASYMMETRIC
from chance import chances, tables
from scipy.stats import beta

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ImplausibleReportsWarning,
    LowPrecisionWarning,
    NotIdentifiableError,
)
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.arrays import (
    condition_number,
    debias,
    sample_sizes,
    score_variances,
)
from rrstats.inference.binomial import rows_variance_interval
from rrstats.inference.contrasts import cut_to_unit
from rrstats.inference.multinomial import is_misfit
from rrstats.mechanisms.channel import expected_rates, recode_matrix

KUK = rr.surveys.kuk(["no", "yes"], 0.75, 0.25, yes="yes", draws=3)
GENERIC = rr.MatrixDesign(["a", "b", "c"], ASYMMETRIC.entries, reports=list("wxyz"))
DETECTOR = rr.surveys.stochastic_lie_detector(
    ["no", "yes"], [Fraction(1, 6), Fraction(5, 6)], yes="yes"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "people", "least"),
    [
        (KUK, (15, 0), 0.95),
        (KUK, (12, 3), 0.94),
        (KUK, (6, 6), 0.945),
        (GENERIC, (8, 3, 1), 0.945),
        (GENERIC, (12, 0, 0), 0.95),
    ],
)
def test_coverage_among_just_these_rows(mechanism, people, least):
    """Summed over every outcome, for fixed true answers of a few people."""
    channel, n = mechanism.channel, sum(people)
    truth, spread = np.array(people) / n, score_variances(channel, np.zeros(channel.m))
    covered, total = np.zeros(channel.k), 0.0
    listed = [tables(size, channel.m) for size in people]
    each = [
        list(zip(one, chances(one, rates), strict=True))
        for one, rates in zip(listed, np.transpose(channel.matrix), strict=True)
    ]
    for world in itertools.product(*each):
        counts = sum(found for found, _ in world)
        chance = math.prod(prob for _, prob in world)
        shares = debias(channel, counts, n)
        parts = recode_matrix(channel) > 0
        uncut = rows_variance_interval(shares, n, spread, parts, level=0.95)
        low, high = cut_to_unit(uncut)
        covered += chance * ((low <= truth + 1e-12) & (truth - 1e-12 <= high))
        total += chance
    assert total == pytest.approx(1)
    assert covered.min() > least


def test_rows_are_narrower_than_the_population():
    """The true answers of just these rows are fixed, so less is left to chance."""
    est = rr.estimate(rr.Tally.from_counts([200, 300, 300, 200], KUK))
    rows, population = replace(est, target="sample").interval(), est.interval()
    assert (rows.high - rows.low < population.high - population.low).all()
    frame = est.to_frame()
    assert frame["count_low"].tolist() == pytest.approx((rows.low * 1000).tolist())


def test_default_and_named_methods():
    """Profile likelihood unless Wald is asked for; exact binomial methods are refused by name."""
    est = rr.estimate(rr.Tally.from_counts([200, 300, 300, 200], KUK))
    assert est.moments.default_method == "profile-likelihood"
    low, high = est.interval(method="wald")
    z = 1.959963984540054
    assert high == pytest.approx(est.proportions + z * est.std_error, abs=1e-12)
    assert low == pytest.approx(est.proportions - z * est.std_error, abs=1e-12)
    with pytest.raises(ArgumentValueError, match=r"one of.*profile-likelihood"):
        est.interval(method="clopper-pearson")
    with pytest.raises(ArgumentTypeError, match="simultaneous must be True or False"):
        est.interval(simultaneous="yes")


def test_two_point_channels_are_exact():
    """Forced response of several categories has binomial counts, and k-RR's exact intervals."""
    forced = rr.surveys.forced_response(list("abc"), Fraction(1, 2), [Fraction(1, 6)] * 3)
    counts = {"a": 500, "b": 300, "c": 200}
    one = rr.estimate(rr.Tally.from_counts(counts, forced))
    same = rr.estimate(rr.Tally.from_counts(counts, list("abc"), 2 / 3))
    assert one.moments.default_method == "clopper-pearson"
    assert one.interval().low == pytest.approx(same.interval().low, abs=1e-12)
    assert one.interval().high == pytest.approx(same.interval().high, abs=1e-12)
    uneven = rr.surveys.forced_response(
        list("abc"), Fraction(1, 2), [Fraction(1, 4), Fraction(1, 8), Fraction(1, 8)]
    )
    rates = uneven.channel.binomial_rates
    assert rates.false_positive_rate.tolist() == [0.25, 0.125, 0.125]
    assert rates.true_positive_rate.tolist() == [0.75, 0.625, 0.625]
    assert rr.MatrixDesign(list("abc"), ASYMMETRIC.entries).channel.binomial_rates is None


@pytest.mark.parametrize("mechanism", [KUK, GENERIC, DETECTOR], ids=["kuk", "generic", "detector"])
def test_right_reports_are_plausible(mechanism):
    """The likelihood ratio of right reports stays far below its bound."""
    rng = np.random.default_rng(20261121)
    channel = mechanism.channel
    for theta in rng.dirichlet(np.full(mechanism.domain.k, 0.3), size=40):
        rates, samples = expected_rates(channel, theta), channel.samples
        counts = np.concatenate(
            [rng.multinomial(500, rates[samples == s]) for s in np.unique(samples)]
        )
        sizes = sample_sizes(channel, counts, int(counts.sum()))
        assert not is_misfit(channel.matrix, counts, sizes)


def test_the_variance_of_rows_in_random_samples_is_unbiased():
    """Five people, two of whom are drawn for the first sample: over all samples and reports."""
    channel = DETECTOR.channel
    people = [0, 0, 1, 2, 2]  # no, and those of yes who lie where the first card says so
    chance = square = mean = expected = 0.0
    for first in itertools.combinations(range(5), 2):
        for reports in itertools.product(range(2), repeat=5):
            cells = [r if i in first else 2 + r for i, r in enumerate(reports)]
            weight = 0.1 * math.prod(channel.matrix[cells, people])
            counts = np.bincount(cells, minlength=4).tolist()
            by_sample = dict(zip(DETECTOR.groups, (counts[:2], counts[2:]), strict=True))
            found = rr.estimators.Estimate(rr.Tally.from_counts(by_sample, DETECTOR), "sample")
            chance += weight
            mean += weight * found.proportions[1]
            square += weight * found.proportions[1] ** 2
            expected += weight * found.covariance[1, 1]
    assert [1, 0.6] == pytest.approx([chance, mean])
    assert expected == pytest.approx(square - mean**2, rel=1e-12)


def test_intervals_of_two_samples_hold_the_margins_of_each():
    """Margins of the samples' exact intervals, weighted by their reports, are added in squares."""
    m = rr.surveys.extended_crosswise(["no", "yes"], {"A": 0.2, "B": 0.8}, yes="yes")
    found = rr.estimate(rr.Tally.from_counts({"A": [60, 109], "B": [139, 46]}, m))
    p, same, size = np.array([0.2, 0.8]), np.array([109, 46]), np.array([169, 185])
    ends = beta.ppf(0.025, same, size - same + 1), beta.ppf(0.975, same + 1, size - same)
    low, high = np.sort([(end - (1 - p)) / (2 * p - 1) for end in ends], axis=0)
    each, weight = (same / size - (1 - p)) / (2 * p - 1), size / size.sum()
    expected = weight @ each + np.sqrt(weight**2 @ np.square([each - low, high - each]).T) * [-1, 1]
    assert [end[1] for end in found.interval()] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("k", "most", "method"),
    [
        (50, 0, "profile-likelihood"),
        (51, 51 * 51, "empirical-likelihood"),
        (51, 51 * 51 - 1, "wald"),
    ],
)
def test_methods_follow_the_size_of_the_design(k, most, method, monkeypatch):
    """Profile likelihood up to 50 classes; then empirical likelihood up to classes times cells."""
    entries = np.eye(k) + np.random.default_rng(1).random((k, k))
    design = rr.MatrixDesign(range(k), entries / entries.sum(axis=0))
    monkeypatch.setattr(arrays, "_MAX_SCORES", most)
    assert method == arrays.default_general_method(design.channel)


def test_true_answers_are_no_reports():
    """Answers that nobody privatized, or another design's reports, are called implausible."""
    with pytest.warns(ImplausibleReportsWarning):
        rr.estimate(rr.Tally.from_counts([900, 0, 0, 100], KUK))
    with pytest.warns(ImplausibleReportsWarning):
        rr.estimate(rr.Tally.from_counts({1: [0, 500], 2: [500, 0]}, DETECTOR))


def test_impossible_reports_are_refused():
    """A report that the design never makes is not explained away."""
    never = rr.MatrixDesign(["a", "b"], [[0.75, 0.25], [0.25, 0.75], [0, 0]])
    with pytest.raises(ArgumentValueError, match="3 of 103 reports are impossible in this design"):
        rr.estimate(rr.Tally.from_counts([60, 40, 3], never))
    found = rr.estimate(rr.Tally.from_counts([40, 60, 0], never)).mle().proportions
    assert found.tolist() == pytest.approx([0.3, 0.7])


def test_ill_conditioned_designs_say_so():
    """A design that only just identifies the shares warns with its condition number."""
    entries = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.1], [0.1, 0.3, 0.8]])
    of_matrix = condition_number(rr.MatrixDesign(list("abc"), entries).channel)
    assert of_matrix == pytest.approx(np.linalg.cond(entries))
    faint = rr.MatrixDesign(["a", "b"], [[0.5003, 0.4999], [0.4997, 0.5001]])
    assert condition_number(faint.channel) > 1000
    with pytest.warns(LowPrecisionWarning, match="condition number"):
        rr.estimate(rr.Tally.from_counts([500, 500], faint))
    silent = rr.MatrixDesign(["a", "b", "c"], [[0.5, 0.2, 0.35], [0.5, 0.8, 0.65]])
    with pytest.raises(NotIdentifiableError, match="condition number"):
        rr.estimate(rr.Tally.from_counts([500, 500], silent))


def test_log_likelihood_is_the_binomials():
    """1000 reports, 340 red (RRreg 0.7.6, Kuk, Kukrep 1): logLik -3.6259416472821613."""
    kuk = rr.surveys.kuk(["no", "yes"], 0.6, 0.2, yes="yes")
    est = rr.estimate(rr.Tally.from_counts([660, 340], kuk))
    assert est.moments.log_likelihood() == pytest.approx(-3.6259416472821613, abs=1e-9)
    assert est.moments.log_likelihood([0.9, 0.1]) < est.moments.log_likelihood()
