"""The algebra of channels: golden values, the generic matrix, and what is refused."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from catalogue import ASYMMETRIC, channel_of
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentValueError, NotIdentifiableError, RRStatsError
from rrstats.estimation.tallies.arrays import most_likely
from rrstats.mechanisms.channel import (
    KRRChannel,
    check_target,
    expected_rates,
    report_contrast_covariance,
    report_variance,
)
from rrstats.mechanisms.matrix_channel import MatrixChannel, chained

THETA = np.array([0.5, 0.3, 0.2])
SQUARE = channel_of([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])

# -- golden values ------------------------------------------------------------------------------
# theory_cases: formulas computed with mpmath at 30 digits, each confirmed by a second route.


def krr_channel(prob, k):
    return rr.KRR(range(k), prob).channel


def test_krr_debias():
    """Case krr-debias, (c/n - q)/(p - q) of Wang et al. (2017), eq. 2."""
    rates = np.array([412, 288, 180, 120]) / 1000
    expected = [0.52, 0.31333333333333335, 0.13333333333333333, 0.03333333333333333]
    for channel in (krr_channel(0.7, 4), MatrixChannel(krr_channel(0.7, 4).entries)):
        assert expected == pytest.approx(channel.solve(rates), rel=1e-12)


@pytest.mark.parametrize(("target", "expected"), [("sample", 0.35), ("population", 0.56)])
def test_variance_of_both_targets(target, expected):
    """Cases pure-var-finite and pure-var-super: p .7, q .1, f .3, for n = 1000; times n here."""
    found = report_variance(krr_channel(0.7, 4), [0.3, 0.3, 0.2, 0.2], target)
    assert expected == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize("target", ["population", "sample"])
@pytest.mark.parametrize(
    "mechanism",
    [
        rr.KRR(range(5), 0.6),
        rr.mechanisms.UnaryEncoding.optimized(range(5), epsilon=1.0),
        rr.mechanisms.SubsetSelection(range(5), epsilon=0.7),
        rr.MatrixDesign(range(2), [[0.7, 0.1], [0.2, 0.3], [0.1, 0.6]], reports=range(3)),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_contrasts_have_the_covariance_of_the_matrix(mechanism, target):
    """C V C' without V, also at estimates outside [0, 1] that do not sum to 1."""
    channel = mechanism.channel
    rng = np.random.default_rng(1)
    contrasts = rng.normal(size=(3, channel.k))
    for proportions in (rng.dirichlet(np.ones(channel.k)), rng.normal(0.2, 0.1, channel.k)):
        expected = contrasts @ channel.covariance(proportions, target) @ contrasts.T
        found = report_contrast_covariance(channel, proportions, target, contrasts)
        assert expected == pytest.approx(found, rel=1e-12, abs=1e-12)


def test_the_mean_of_many_categories_needs_no_covariance_of_all_pairs():
    """Of 1,500 categories it allocates less than a tenth of their (k, k) covariance."""
    k = 1500
    mechanism = rr.KRR(range(k), 0.6)
    counts = np.random.default_rng(1).multinomial(100_000, np.full(k, 1 / k))
    estimate = rr.estimate(rr.Tally.from_counts(counts, mechanism))
    numbers = np.linspace(-1, 2, k)
    tracemalloc.start()
    try:
        mean = estimate.mean(numbers)
        share = estimate.among(range(20))[7]
        assert tracemalloc.get_traced_memory()[1] < k * k * 8 / 10
    finally:
        tracemalloc.stop()
    assert np.sqrt(numbers @ estimate.covariance @ numbers) == pytest.approx(mean.std_error)
    contrast = (np.arange(k) == 7) - share.value * (np.arange(k) < 20)
    error = np.sqrt(contrast @ estimate.covariance @ contrast)
    assert error / estimate.proportions[:20].sum() == pytest.approx(share.std_error)


def test_variance_of_16_categories():
    """Case var-GRR-k16-e1, (k-2+e)/(e-1)^2 of Wang et al. (2017), Table 1, at f = 0."""
    found = report_variance(rr.KRR(range(16), epsilon=1.0).channel, np.eye(16)[1], "sample")[0]
    assert found == pytest.approx(5.662430016946315, rel=1e-12)


def test_chain_of_two():
    """Case krr-chain: .8 then .6 at k = 10 is a k-RR with prob .4888..."""
    both = krr_channel(0.8, 10).then(krr_channel(0.6, 10))
    assert isinstance(both, KRRChannel)
    assert float(both.prob_truth) == pytest.approx(0.4888888888888889, rel=1e-12)
    gap = (Fraction(0.8) * 10 - 1) * (Fraction(0.6) * 10 - 1) / 81
    assert gap == both.prob_truth - both.prob_other


def test_most_likely_cases():
    """Cases mle-krr (agrees with EM run to a 1e-16 step) and mle-interior."""
    found = most_likely(rr.KRR(range(5), epsilon=1.0).channel, np.array([60, 40, 20, 9, 1]))
    expected = [0.7163953413738652, 0.2836046586261347, 0.0, 0.0, 0.0]
    assert expected == pytest.approx(found, rel=1e-9)
    found = most_likely(rr.KRR(range(3), epsilon=2.0).channel, np.array([500, 300, 200]))
    expected = [0.5782588213748328, 0.28434823572503337, 0.13739294290013374]
    assert expected == pytest.approx(found, rel=1e-12)


def test_a_matrix_of_rrreg():
    """RRreg 0.7.6, getPW("FR", c(0.1, 0.05, 0.05, 0.1)): matrix[report, truth].

    Forced response: with .7 the truth, else a forced answer.  Transposed, it would not be a
    channel, which is what tells the axes apart.
    """
    published = [
        [0.8, 0.1, 0.1, 0.1],
        [0.05, 0.75, 0.05, 0.05],
        [0.05, 0.05, 0.75, 0.05],
        [0.1, 0.1, 0.1, 0.8],
    ]
    forced = np.array([0.1, 0.05, 0.05, 0.1])
    assert np.allclose(published, 0.7 * np.eye(4) + forced[:, None], rtol=1e-15)
    channel = channel_of(published)
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    assert np.allclose(0.7 * theta + forced, expected_rates(channel, theta), rtol=1e-14)
    assert np.allclose(theta, channel.solve(0.7 * theta + forced), rtol=1e-12)
    refused(ArgumentValueError, "has rows for reports", channel_of, np.transpose(published))


def test_orientation():
    """matrix[report, truth]: a row is a report, a column a truth, and columns sum to 1."""
    assert ASYMMETRIC.matrix.shape == (4, 3)
    assert (ASYMMETRIC.m, ASYMMETRIC.k) == (4, 3)
    assert ASYMMETRIC.matrix[0, 1] == pytest.approx(0.05)
    assert ASYMMETRIC.matrix[1, 0] == pytest.approx(0.2)
    assert np.allclose(1, ASYMMETRIC.matrix.sum(axis=0))
    # By hand: .5 (.6) + .3 (.05) + .2 (.1) = .335, and so on.
    assert np.allclose([0.335, 0.34, 0.19, 0.135], expected_rates(ASYMMETRIC, THETA))
    assert np.allclose([[0.2, 0.7, 0.15]], ASYMMETRIC.likelihood(np.array([1])))
    # The worst row: report 0, truth a against truth b.
    assert float(ASYMMETRIC.max_likelihood_ratio) == pytest.approx(12)


def test_left_inverse_of_a_tall_matrix():
    """Unbiased, sums to one, and the best one where all truths are equally frequent."""
    inverse, matrix = ASYMMETRIC.left_inverse, ASYMMETRIC.matrix
    assert np.allclose(np.eye(3), inverse @ matrix, atol=1e-13)
    assert np.allclose(1, inverse.sum(axis=0))
    distribution = matrix.mean(axis=1)
    weighted = matrix.T / distribution
    assert np.allclose(np.linalg.inv(weighted @ matrix) @ weighted, inverse)
    # Any other left inverse has a larger variance at the uniform truth (Gauss and Markov).
    null = np.linalg.svd(matrix.T)[2][3]  # matrix.T @ null = 0
    for direction in np.eye(3):
        other = inverse + 0.1 * np.outer(direction, null)
        assert np.allclose(np.eye(3), other @ matrix, atol=1e-13)
        assert ((other**2 - inverse**2) @ distribution) @ direction > 1e-4
    # Square: the left inverse is the inverse, whatever the weights.
    assert np.allclose(np.linalg.inv(SQUARE.matrix), SQUARE.left_inverse)


def test_products():
    """A product is the product of the matrices, second after first, in all pairs of forms."""
    krr3, krr4 = krr_channel(0.75, 3), krr_channel(0.5, 4)
    pairs = [(ASYMMETRIC, krr4), (krr3, SQUARE), (SQUARE, krr3), (krr3, ASYMMETRIC)]
    for first, second in (*pairs, (SQUARE, ASYMMETRIC), (krr3, krr3)):
        both = chained(first, second)
        assert np.allclose(second.matrix @ first.matrix, both.matrix)
        ratio = MatrixChannel(both.entries).max_likelihood_ratio
        # Post-processing: the ratio of a product is at most that of the first channel.
        assert 1 <= both.max_likelihood_ratio == ratio <= first.max_likelihood_ratio
        assert all(sum(column) == 1 for column in zip(*both.entries, strict=True))


def test_binomial_rates():
    """Two by two designs and supports have counts that are binomial by themselves."""
    rates = channel_of([[0.9, 0.2], [0.1, 0.8]]).binomial_rates
    assert np.allclose([0.2, 0.1], rates.false_positive_rate)
    assert np.allclose([0.9, 0.8], rates.true_positive_rate)
    assert rates.complementary
    assert ASYMMETRIC.binomial_rates is None
    rates = krr_channel(0.7, 4).binomial_rates
    assert np.allclose(0.1, rates.false_positive_rate)
    assert np.allclose(0.7, rates.true_positive_rate)
    assert not rates.complementary
    assert krr_channel(0.7, 2).binomial_rates.complementary


def test_truth_and_nothing_else():
    """prob 1 and prob 0 have infinite ratios; their likelihoods rule truths out."""
    direct, never = (KRRChannel.of(3, Fraction(prob)) for prob in (1, 0))
    assert direct.max_likelihood_ratio == never.max_likelihood_ratio == math.inf
    assert MatrixChannel(direct.entries).max_likelihood_ratio == math.inf
    assert np.array_equal([[1, 0, 0]], direct.likelihood(np.array([0])))
    assert np.array_equal([[False, True, True]], never.likelihood(np.array([0])) > 0)
    assert np.allclose([0.2, 0.3, 0.5], most_likely(direct, np.array([20, 30, 50])))


def test_lies_likelier_than_the_truth():
    """Below 1/k a channel still identifies the shares; inside the simplex it goes by EM."""
    rare = KRRChannel.of(3, Fraction(1, 10))
    rates = expected_rates(rare, THETA)
    assert np.allclose(THETA, rare.solve(rates))
    assert np.allclose(THETA, most_likely(rare, rates * 1000), atol=1e-8)
    assert np.allclose([1, 0, 0], most_likely(rare, np.array([0, 50, 50])), atol=1e-6)


def test_no_information_at_one_kth():
    """At the double 1/k, above or below the number 1/k, nothing can be estimated."""
    both = {True: 0, False: 0}
    for k in [*range(2, 400), 1000, 4097, 65536, 10**6]:
        channel = KRRChannel.of(k, Fraction(1 / k))
        both[channel.prob_truth < channel.prob_other] += 1
        uniform = np.full(k, 1 / k)
        for ask in (channel.solve, lambda p, channel=channel: channel.variance(p, "sample")):
            refused(NotIdentifiableError, "carry no information", ask, uniform)
        assert np.isfinite(KRRChannel.of(k, Fraction(1 / k + 1e-9)).solve(1 / k))
    assert min(both.values()) > 10


def test_impossible_reports():
    """A report that the channel never makes has no score, and counts of it are refused."""
    channel = channel_of([[0.8, 0.3], [0, 0], [0.2, 0.7]])
    assert np.allclose(np.eye(2), channel.left_inverse @ channel.matrix)
    assert np.allclose(0, channel.left_inverse[:, 1])
    assert float(channel.max_likelihood_ratio) == pytest.approx(3.5)
    assert np.allclose(most_likely(channel, np.array([5, 0, 5])).sum(), 1)
    with pytest.raises(ArgumentValueError, match="1 of 11 reports are impossible"):
        most_likely(channel, np.array([5, 1, 5]))


@pytest.mark.parametrize("target", ["Population", "row", None, 1, ["rows"]])
def test_targets(target):
    """A target is one of two words, and the error lists both."""
    for ask in (check_target, *(lambda t, c=c: report_variance(c, THETA, t)
                                for c in (ASYMMETRIC, krr_channel(0.7, 3)))):  # fmt: skip
        refused(RRStatsError, r"target must be one of \['population', 'sample'\]", ask, target)


def test_handed_out_arrays_cannot_be_changed():
    """The matrix and the left inverse are kept, so what is handed out is read-only."""
    for array in (ASYMMETRIC.matrix, ASYMMETRIC.left_inverse):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
    fresh = krr_channel(0.75, 3)
    fresh.matrix[0, 0] = 0.0
    assert fresh.matrix[0, 0] == 0.75
