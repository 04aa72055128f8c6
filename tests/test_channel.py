"""The algebra of channels: golden values, the generic matrix, and what is refused."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from catalogue import ASYMMETRIC

import rrstats as rr
from rrstats.channel import SupportChannel, check_target
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiable
from rrstats.matrices import MatrixChannel

THETA = np.array([0.5, 0.3, 0.2])

# -- golden values ------------------------------------------------------------------------------
# theory_cases: formulas computed with mpmath at 30 digits, each confirmed by a second route.


def channel_of(prob, k):
    return rr.KRR(range(k), prob).channel


def test_krr_debias():
    """Case krr-debias, (c/n - q)/(p - q) of Wang et al. (2017), eq. 2."""
    rates = np.array([412, 288, 180, 120]) / 1000
    expected = [0.52, 0.31333333333333335, 0.13333333333333333, 0.03333333333333333]
    assert expected == pytest.approx(channel_of(0.7, 4).solve(rates), rel=1e-12)
    assert expected == pytest.approx(
        MatrixChannel(channel_of(0.7, 4).entries).solve(rates), rel=1e-12
    )


@pytest.mark.parametrize(("target", "expected"), [("rows", 0.35), ("population", 0.56)])
def test_variance_of_both_targets(target, expected):
    """Cases pure-var-finite and pure-var-super: p .7, q .1, f .3, for n = 1000; times n here."""
    theta = [0.3, 0.3, 0.2, 0.2]
    assert expected == pytest.approx(channel_of(0.7, 4).variance(theta, target)[0], rel=1e-12)


def test_variance_of_16_categories():
    """Case var-GRR-k16-e1, (k-2+e)/(e-1)^2 of Wang et al. (2017), Table 1, at f = 0."""
    channel = rr.KRR(range(16), epsilon=1.0).channel
    found = channel.variance(np.eye(16)[1], "rows")[0]
    assert found == pytest.approx(5.662430016946315, rel=1e-12)


def test_chain_of_two():
    """Case krr-chain: .8 then .6 at k = 10 is a k-RR with prob .4888..."""
    both = channel_of(0.8, 10).then(channel_of(0.6, 10))
    assert isinstance(both, SupportChannel)
    assert float(both.prob_truth) == pytest.approx(0.4888888888888889, rel=1e-12)
    gap = (Fraction(0.8) * 10 - 1) * (Fraction(0.6) * 10 - 1) / 81
    assert gap == both.prob_truth - both.prob_other


def test_variance_of_a_chain():
    """Case long-var-krr-twice: eps 4 then prob .6, k = 10, f = .5, people sampled."""
    both = rr.KRR(range(10), epsilon=4.0).channel.then(channel_of(0.6, 10))
    theta = np.array([0.5] + [0.5 / 9] * 9)
    assert both.variance(theta, "population")[0] == pytest.approx(0.9340266326487559, rel=1e-12)


@pytest.mark.parametrize(
    ("k", "epsilon_perm", "epsilon_report", "prob", "variance"),
    [
        (2, 4, 1, 0.7396804649632878, 0.9206735942077923),
        (10, 4, 1, 0.2565913076674318, 3.6302486929155195),
        (100, 2, 1, 0.28847796105693513, 34.11296855337745),
    ],
)
def test_second_round_of_a_chain(k, epsilon_perm, epsilon_report, prob, variance):
    """Cases lgrr-p2-*: the second round that makes the whole chain's epsilon 1."""
    first = rr.KRR(range(k), epsilon=epsilon_perm)
    chain = first.then(rr.KRR(range(k), prob))
    assert chain.epsilon == pytest.approx(epsilon_report, rel=1e-12)
    nobody = np.eye(k)[1]
    assert chain.channel.variance(nobody, "rows")[0] == pytest.approx(variance, rel=1e-10)


def test_most_likely_cases():
    """Cases mle-krr (agrees with EM run to a 1e-16 step) and mle-interior."""
    found = rr.KRR(range(5), epsilon=1.0).channel.most_likely(np.array([60, 40, 20, 9, 1]))
    expected = [0.7163953413738652, 0.2836046586261347, 0.0, 0.0, 0.0]
    assert expected == pytest.approx(found, rel=1e-9)
    found = rr.KRR(range(3), epsilon=2.0).channel.most_likely(np.array([500, 300, 200]))
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
    channel = MatrixChannel.from_floats(published)
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    assert np.allclose(0.7 * theta + forced, channel.rates(theta), rtol=1e-14)
    assert np.allclose(theta, channel.solve(0.7 * theta + forced), rtol=1e-12)
    with pytest.raises(ArgumentValueError, match="axes swapped"):
        MatrixChannel.from_floats(np.transpose(published))


# -- the generic matrix: four reports, three truths ---------------------------------------------


def test_orientation():
    """matrix[report, truth]: a row is a report, a column a truth, and columns sum to 1."""
    assert ASYMMETRIC.matrix.shape == (4, 3)
    assert (ASYMMETRIC.m, ASYMMETRIC.k) == (4, 3)
    assert ASYMMETRIC.matrix[0, 1] == pytest.approx(0.05)
    assert ASYMMETRIC.matrix[1, 0] == pytest.approx(0.2)
    assert np.allclose(1, ASYMMETRIC.matrix.sum(axis=0))
    # By hand: .5 (.6) + .3 (.05) + .2 (.1) = .335, and so on.
    assert np.allclose([0.335, 0.34, 0.19, 0.135], ASYMMETRIC.rates(THETA))
    assert np.allclose([[0.2, 0.7, 0.15]], ASYMMETRIC.likelihood(np.array([1])))
    # The worst row: report 0, truth a against truth b.
    assert float(ASYMMETRIC.odds) == pytest.approx(12)


def test_left_inverse_of_a_tall_matrix():
    """Unbiased, sums to one, and the best one where all truths are equally frequent."""
    inverse, matrix = ASYMMETRIC.left_inverse, ASYMMETRIC.matrix
    assert inverse.shape == (3, 4)
    assert np.allclose(np.eye(3), inverse @ matrix, atol=1e-13)
    assert np.allclose(1, inverse.sum(axis=0))
    law = matrix.mean(axis=1)
    weighted = matrix.T / law
    assert np.allclose(np.linalg.inv(weighted @ matrix) @ weighted, inverse)
    # Any other left inverse has a larger variance at the uniform truth (Gauss and Markov).
    null = np.linalg.svd(matrix.T)[2][3]  # matrix.T @ null = 0
    for direction in np.eye(3):
        other = inverse + 0.1 * np.outer(direction, null)
        assert np.allclose(np.eye(3), other @ matrix, atol=1e-13)
        spread = ((other**2 - inverse**2) @ law) @ direction
        assert spread > 1e-4


def test_square_matrix_is_inverted():
    """Square: the left inverse is the inverse, whatever the weights."""
    square = MatrixChannel.from_floats([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    assert np.allclose(np.linalg.inv(square.matrix), square.left_inverse)


def test_moments_of_the_generic_matrix():
    """Covariance of one report, both targets, against sums over truths and reports."""
    scores = ASYMMETRIC.scores(np.arange(4))
    assert np.allclose(np.eye(3), ASYMMETRIC.matrix.T @ scores, atol=1e-13)
    sampled, rows = np.zeros((3, 3)), np.zeros((3, 3))
    for truth, report in itertools.product(range(3), range(4)):
        chance = THETA[truth] * ASYMMETRIC.matrix[report, truth]
        sampled += chance * np.outer(scores[report] - THETA, scores[report] - THETA)
        off = scores[report] - np.eye(3)[truth]
        rows += chance * np.outer(off, off)
    assert np.allclose(sampled, ASYMMETRIC.covariance(THETA, "population"))
    assert np.allclose(rows, ASYMMETRIC.covariance(THETA, "rows"))
    assert np.allclose(sampled.diagonal(), ASYMMETRIC.variance(THETA, "population"))
    assert np.allclose(rows.diagonal(), ASYMMETRIC.variance(THETA, "rows"))


def test_leading_axes():
    """Everything works along the last axis of any shape."""
    stacked = np.stack([THETA, THETA[::-1], np.eye(3)[0]]).reshape(1, 3, 3)
    for channel in (ASYMMETRIC, channel_of(0.7, 3)):
        for name in ("rates",):
            found = getattr(channel, name)(stacked)
            assert np.allclose(getattr(channel, name)(THETA), found[0, 0])
        for name in ("covariance", "variance"):
            for target in ("population", "rows"):
                found = getattr(channel, name)(stacked, target)
                for place in range(3):
                    expected = getattr(channel, name)(stacked[0, place], target)
                    assert np.allclose(expected, found[0, place], atol=1e-14)


def test_em_of_the_generic_matrix():
    """EM climbs to the shares of the reports' own rates, and inside where those are outside."""
    assert np.allclose(THETA, ASYMMETRIC.most_likely(ASYMMETRIC.rates(THETA) * 1000), atol=1e-8)
    found = ASYMMETRIC.most_likely(np.array([700, 100, 100, 100]))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    counts = np.array([700, 100, 100, 100])
    best = counts @ np.log(ASYMMETRIC.matrix @ found)
    for other in np.random.default_rng(0).dirichlet(np.ones(3), size=200):
        assert best >= counts @ np.log(ASYMMETRIC.matrix @ other) - 1e-9


def test_products():
    """A product is the product of the matrices, second after first, in all pairs of forms."""
    krr3, krr4 = channel_of(0.75, 3), channel_of(0.5, 4)
    square = MatrixChannel.from_floats([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    for first, second in (
        (ASYMMETRIC, krr4),
        (krr3, square),
        (square, krr3),
        (krr3, ASYMMETRIC),
        (square, ASYMMETRIC),
        (krr3, krr3),
    ):
        both = first.then(second)
        assert np.allclose(second.matrix @ first.matrix, both.matrix)
        assert both.odds == MatrixChannel(both.entries).odds
        assert all(sum(column) == 1 for column in zip(*both.entries, strict=True))
    for first, second in ((ASYMMETRIC, krr3), (krr3, krr4), (krr4, square)):
        with pytest.raises(ArgumentValueError, match="second channel must randomize the"):
            first.then(second)


def test_a_round_never_adds_epsilon():
    """Post-processing: the odds of a product are at most those of the first channel."""
    for second in (channel_of(0.9, 4), channel_of(0.25, 4), channel_of(0.5, 4)):
        assert 1 <= ASYMMETRIC.then(second).odds <= ASYMMETRIC.odds


def test_binomial_rates():
    """Two by two designs and supports have counts that are binomial by themselves."""
    warner = MatrixChannel.from_floats([[0.9, 0.2], [0.1, 0.8]])
    rates = warner.binomial_rates
    assert np.allclose([0.2, 0.1], rates.base)
    assert np.allclose([0.9, 0.8], rates.top)
    assert rates.complementary
    assert ASYMMETRIC.binomial_rates is None
    rates = channel_of(0.7, 4).binomial_rates
    assert np.allclose(0.1, rates.base)
    assert np.allclose(0.7, rates.top)
    assert not rates.complementary
    assert channel_of(0.7, 2).binomial_rates.complementary


# -- supports of several categories -------------------------------------------------------------


def unary(k, keep, flip):
    """Each category is reported apart: yes with ``keep`` if true, with ``flip`` if not."""
    odds = keep * (1 - flip) / (flip * (1 - keep))
    return SupportChannel(k, keep, flip, keep * flip, flip * flip, odds)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_unary_support(k):
    """The four numbers of a unary design, against the sum over all its 2**k reports."""
    keep, flip = Fraction(3, 4), Fraction(1, 5)
    channel = unary(k, keep, flip)
    reports = np.array(list(itertools.product([False, True], repeat=k)))
    rates = np.where(np.eye(k, dtype=bool), float(keep), float(flip))
    law = np.prod(np.where(reports[:, None, :], rates, 1 - rates), axis=2)  # report, truth
    scores = channel.scores(reports)
    assert np.allclose(np.eye(k), law.T @ scores)
    theta = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
    sampled, rows = np.zeros((k, k)), np.zeros((k, k))
    for truth, report in itertools.product(range(k), range(len(reports))):
        chance = theta[truth] * law[report, truth]
        off, noise = scores[report] - theta, scores[report] - np.eye(k)[truth]
        sampled += chance * np.outer(off, off)
        rows += chance * np.outer(noise, noise)
    assert np.allclose(sampled, channel.covariance(theta, "population"))
    assert np.allclose(rows, channel.covariance(theta, "rows"))
    ratios = channel.likelihood(reports)
    assert np.allclose(law / law.sum(axis=1, keepdims=True), ratios / ratios.sum(1, keepdims=True))
    worst = max((row.max() / row.min()) for row in law)
    assert float(channel.odds) == pytest.approx(worst)
    assert not channel.binomial_rates.complementary
    for ask in (lambda: channel.matrix, lambda: channel.entries, lambda: channel.then(channel)):
        with pytest.raises(ArgumentValueError, match=r"supports? several categories"):
            ask()
    with pytest.raises(ArgumentValueError, match="support several categories"):
        channel.most_likely(np.ones(k))


def test_truth_and_nothing_else():
    """prob 1 and prob 0 are channels with infinite odds; their likelihoods rule truths out."""
    direct, never = SupportChannel.single(3, 1), SupportChannel.single(3, 0)
    assert (direct.odds, never.odds) == (0, 0)
    assert MatrixChannel(direct.entries).odds == 0
    assert np.array_equal([[1, 0, 0]], direct.likelihood(np.array([0])))
    assert np.array_equal([[False, True, True]], never.likelihood(np.array([0])) > 0)
    assert np.allclose([0.2, 0.3, 0.5], direct.most_likely(np.array([20, 30, 50])))


def test_lies_likelier_than_the_truth():
    """Below 1/k a channel still identifies the shares; inside the simplex it goes by EM."""
    rare = SupportChannel.single(3, Fraction(1, 10))
    assert np.allclose(THETA, rare.solve(rare.rates(THETA)))
    assert np.allclose(THETA, rare.most_likely(rare.rates(THETA) * 1000), atol=1e-8)
    found = rare.most_likely(np.array([0, 50, 50]))
    assert np.allclose([1, 0, 0], found, atol=1e-6)


# -- what cannot be estimated -------------------------------------------------------------------


def test_no_information_at_one_kth():
    """At the double 1/k, above or below the number 1/k, nothing can be estimated."""
    both = {True: 0, False: 0}
    for k in [*range(2, 400), 1000, 4097, 65536, 10**6]:
        channel = SupportChannel.single(k, Fraction(1 / k))
        both[channel.prob_truth < channel.prob_other] += 1
        for ask in (
            lambda c, k=k: c.solve(np.full(k, 1 / k)),
            lambda c, k=k: c.variance(np.full(k, 1 / k), "rows"),
        ):
            with pytest.raises(NotIdentifiable, match="carry no information"):
                ask(channel)
        informative = SupportChannel.single(k, Fraction(1 / k + 1e-9))
        assert np.isfinite(informative.solve(1 / k))
    assert min(both.values()) > 10


def test_matrix_without_information():
    """Truths that are reported alike cannot be told apart, and the condition number says so."""
    for matrix in (
        [[0.5, 0.5], [0.5, 0.5]],
        [[0.6, 0.6, 0.1], [0.4, 0.4, 0.9]],
        [[0.5, 0.2, 0.35], [0.3, 0.4, 0.35], [0.2, 0.4, 0.3]],
        [[0.2, 0.3, 0.5], [0.8, 0.7, 0.5]],
    ):
        channel = MatrixChannel.from_floats(matrix)
        with pytest.raises(NotIdentifiable, match="condition number") as caught:
            channel.solve(np.full(channel.m, 1 / channel.m))
        assert isinstance(caught.value, ValueError)


def test_impossible_reports():
    """A report that the channel never makes has no score, and counts of it are refused."""
    channel = MatrixChannel.from_floats([[0.8, 0.3], [0, 0], [0.2, 0.7]])
    assert np.allclose(np.eye(2), channel.left_inverse @ channel.matrix)
    assert np.allclose(0, channel.left_inverse[:, 1])
    assert float(channel.odds) == pytest.approx(3.5)
    assert np.allclose(channel.most_likely(np.array([5, 0, 5])).sum(), 1)
    with pytest.raises(ArgumentValueError, match="never makes"):
        channel.most_likely(np.array([5, 1, 5]))


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "kind", "message"),
    [
        ([[0.7, 0.2], [0.2, 0.8]], ValueError, "column 0 sums to 0.9, off by -0.1; are the axes"),
        ([[0.7, 0.2], [0.3, 0.80001]], ValueError, "column 1 sums to 1.00001, off by 1e-05"),
        ([[1.2, 0.2], [-0.2, 0.8]], ValueError, "not be negative, found -0.2 in column 0"),
        ([[1.0], [0.0]], ValueError, "each of at least 2 categories"),
        ([[0.5, 0.5], [0.5]], ValueError, "two axes"),
        ([0.5, 0.5], ValueError, "two axes"),
        ([], ValueError, "two axes"),
        (0.5, ValueError, "two axes"),
        (np.full((2, 2, 2), 0.5), ValueError, "two axes"),
        ([[math.nan, 0.5], [0.5, 0.5]], TypeError, "finite numbers, found nan"),
        ([[math.inf, 0.5], [0.5, 0.5]], TypeError, "finite numbers, found inf"),
        ([["1/2", 0.5], [0.5, 0.5]], TypeError, "finite numbers, found str$"),
        ([[None, 0.5], [0.5, 0.5]], TypeError, "finite numbers, found NoneType$"),
        ([[True, 0.5], [0, 0.5]], TypeError, "finite numbers, found bool$"),
    ],
)
def test_bad_matrices(matrix, kind, message):
    """A matrix that is no channel is refused, with the column and by how much."""
    with pytest.raises(kind, match=message) as caught:
        MatrixChannel.from_floats(matrix)
    assert isinstance(caught.value, rr.RRStatsError)


def test_exact_entries():
    """Entries are exact: a column must sum to 1 to the last digit, or be normalized by name."""
    tenths = ((0.7, 0.1), (0.1, 0.8), (0.2, 0.1))
    assert sum(map(Fraction, (0.7, 0.1, 0.2))) != 1
    with pytest.raises(ArgumentValueError, match=r"column 0 sums to 1, off by -?[0-9.]+e-1"):
        MatrixChannel(tenths)
    channel = MatrixChannel.from_floats(tenths)
    assert [sum(column) for column in zip(*channel.entries, strict=True)] == [1, 1]
    exact = MatrixChannel([[Decimal("0.7"), 0.25], [Fraction(3, 10), 0.75]])
    assert exact.entries == (
        (Fraction(7, 10), Fraction(1, 4)),
        (Fraction(3, 10), Fraction(3, 4)),
    )
    assert hash(exact) == hash(MatrixChannel(exact.entries))
    for ragged in ([[Fraction(1), 1], [0]], [], [[1], [0]]):
        with pytest.raises(ArgumentValueError, match="rows"):
            MatrixChannel(ragged)
    for wrong in (0.5, [0.5, 0.5], None):
        with pytest.raises(ArgumentTypeError, match="rows of numbers"):
            MatrixChannel(wrong)


def test_nearly_one_is_normalized_exactly():
    """Within 1e-9 a column is normalized; sampler and epsilon use that same rational."""
    channel = MatrixChannel.from_floats([[0.75 + 4e-10, 0.25], [0.25, 0.75]])
    assert sum(row[0] for row in channel.entries) == 1
    with pytest.raises(ArgumentValueError, match="off by 2e-09"):
        MatrixChannel.from_floats([[0.75 + 2e-9, 0.25], [0.25, 0.75]])


@pytest.mark.parametrize(
    "numbers",
    [
        (1, 1, 0, 0, 0, 0),
        (3, Fraction(3, 2), 0, 0, 0, 1),
        (3, Fraction(1, 2), -1, 0, 0, 1),
        (3, Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), 0, 1),
        (3, Fraction(1, 2), Fraction(1, 4), 0, Fraction(1, 3), 1),
        (3, Fraction(1, 2), Fraction(1, 4), 0, 0, -1),
    ],
)
def test_bad_supports(numbers):
    """Probabilities of support lie in [0, 1] and pairs are not likelier than their parts."""
    with pytest.raises(ArgumentValueError, match="must be"):
        SupportChannel(*numbers)


def test_bad_single():
    """One category and numbers that are none are refused."""
    with pytest.raises(ArgumentValueError, match="at least 2"):
        SupportChannel.single(1, Fraction(1, 2))
    with pytest.raises(ArgumentValueError, match="prob_truth"):
        SupportChannel.single(3, 1.5)
    with pytest.raises(ArgumentTypeError, match="prob_truth must be finite numbers"):
        SupportChannel.single(3, math.nan)


@pytest.mark.parametrize("target", ["Population", "row", None, 1, ["rows"]])
def test_targets(target):
    """A target is one of two words, and the error lists both."""
    with pytest.raises(ArgumentValueError, match=r"'population' .* or 'rows'"):
        check_target(target)
    for channel in (ASYMMETRIC, channel_of(0.7, 3)):
        with pytest.raises(ArgumentValueError, match="target"):
            channel.variance(THETA, target)


def test_handed_out_arrays_cannot_be_changed():
    """The matrix and the left inverse are kept, so what is handed out is read-only."""
    for array in (ASYMMETRIC.matrix, ASYMMETRIC.left_inverse):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
    fresh = channel_of(0.75, 3)
    fresh.matrix[0, 0] = 0.0
    assert fresh.matrix[0, 0] == 0.75
