"""The published numbers of the five sources that the package must reproduce."""

import decimal
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import rrstats as rr
from rrstats.errors import NotIdentifiableError
from rrstats.estimators import debias_counts, debias_proportions, debias_reports

LETTERS = ["A", "B", "C", "D"]


# -- 1 and 2: OpenDP's user guide, and the same as a notebook ------------------------------


def exact_log(odds):
    """ln of a fraction to 50 digits; `decimal` rounds it correctly."""
    with decimal.localcontext(prec=50):
        return (Decimal(odds.numerator) / Decimal(odds.denominator)).ln()


@pytest.mark.parametrize(("k", "published"), [(2, 1.0986122886681098), (4, 2.1972245773362196)])
def test_the_published_epsilon_is_the_tightest_upper_bound(k, published):
    """OpenDP's doubles at .75 are above ln 3 and ln 9, and the doubles below them are not."""
    exact = exact_log(Fraction(3 * (k - 1)))
    assert published == rr.privacy.epsilon_from_prob(0.75, k) == rr.KRR(LETTERS[:k], 0.75).epsilon
    assert Decimal(math.nextafter(published, 0)) < exact <= Decimal(published)


def test_debiased_mean_of_the_boolean_example():
    """(m + p - 1) / (2p - 1): a naive .364 gives .228."""
    m, p = 0.364, 0.75
    assert 0.228 == pytest.approx(debias_proportions(m, p, k=2), abs=1e-12)
    assert 228 == pytest.approx(debias_counts(364, p, k=2, n=1000), abs=1e-9)
    assert (m + p - 1) / (2 * p - 1) == pytest.approx(debias_proportions(m, p, k=2), abs=1e-15)


def test_debiased_shares_of_the_four_letters():
    """(m(k-1) + p - 1) / (pk - 1): .165 .349 .284 .202 give .123 .398 .301 .178."""
    naive, p, k = np.array([0.165, 0.349, 0.284, 0.202]), 0.75, 4
    found = debias_proportions(naive, p)
    assert [0.123, 0.398, 0.301, 0.178] == found.round(3).tolist()
    assert (naive * (k - 1) + p - 1) / (p * k - 1) == pytest.approx(found, abs=1e-15)


def test_the_guide_through_the_estimate():
    """The same numbers from a Tally, with what the guide leaves out: errors and intervals."""
    est = rr.estimate(
        rr.Tally.from_counts({"A": 165, "B": 349, "C": 284, "D": 202}, rr.KRR(LETTERS, 0.75))
    )
    assert [0.123, 0.398, 0.301, 0.178] == est.proportions.round(3).tolist()
    assert [122.5, 398.5, 301.0, 178.0] == pytest.approx(est.counts.tolist(), abs=1e-9)
    assert 0.123 == round(est["A"].value, 3)
    low, high = est.interval()
    assert ((low < est.proportions) & (est.proportions < high)).all()


# -- 3: the derivation by epsilon ----------------------------------------------------------


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (10, math.log(3)), (100, 4.0)])
def test_probability_of_a_random_draw(k, epsilon):
    """A uniform draw that may hit the truth: probability k / (k - 1 + e^eps)."""
    draw = k / (k - 1 + math.exp(epsilon))
    prob = rr.privacy.prob_from_epsilon(epsilon, k)
    assert 1 - draw + draw / k == pytest.approx(prob, rel=1e-12)


def test_one_debiased_report():
    """k = 10, eps = ln 3: 5.50 at the report, -0.50 elsewhere, and the sum is 1."""
    (vector,) = debias_reports([3], range(10), epsilon=math.log(3))
    assert [5.5 if v == 3 else -0.5 for v in range(10)] == vector.round(2).tolist()
    assert 1 == pytest.approx(vector.sum(), abs=1e-12)


def test_aggregate_of_one_bucket():
    """(Y - N p/k) / (1 - p) with p the probability of the draw."""
    k, epsilon, n, y = 10, math.log(3), 1000, 140
    p = k / (k - 1 + math.exp(epsilon))
    expected = (y - n * p / k) / (1 - p)
    assert expected == pytest.approx(debias_counts(y, epsilon=epsilon, k=k, n=n), rel=1e-12)
    reports = [3] * y + [v for v in range(10) if v != 3 for _ in range(100)][: n - y]
    summed = debias_reports(reports, range(10), epsilon=epsilon).sum(axis=0)
    assert expected == pytest.approx(summed[3], rel=1e-9)


def test_rappor_bit_by_bit():
    """RAPPOR's bits are binary randomized response with e^(eps/2): one report of k bits has
    (bit - q) / (p - q), p = e^(eps/2) / (e^(eps/2) + 1)."""
    epsilon, n, ones = 2.0, 1000, np.array([620, 350, 300])
    half = math.exp(epsilon / 2)
    p, q = half / (half + 1), 1 / (half + 1)
    found = debias_counts(ones, epsilon=epsilon / 2, k=2, n=n)
    assert ((ones - n * q) / (p - q)).tolist() == pytest.approx(found.tolist(), rel=1e-12)
    (no, yes) = debias_reports([False, True], [False, True], epsilon=epsilon / 2)[:, 1]
    assert (-q / (p - q), (1 - q) / (p - q)) == pytest.approx((no, yes), rel=1e-12)


# -- 4: the two-coin honour-code survey ----------------------------------------------------


def test_two_coins_are_binary_randomized_response():
    """Truth 1/2, forced yes 1/4, forced no 1/4 is k-RR with 3/4: P(violated) = 2 P(yes) - 1/2."""
    truth, forced = Fraction(1, 2), Fraction(1, 4)
    m = rr.KRR(["no", "yes"], 0.75)
    assert truth + forced == m.channel.entries[1][1] == m.channel.entries[0][0]
    assert forced == m.channel.entries[1][0]
    for yes in (0.25, 0.35, 0.5, 0.75):
        assert 2 * yes - 0.5 == pytest.approx(debias_proportions(yes, 0.75, k=2), abs=1e-15)


def test_the_honour_code_survey():
    """50,000 students of whom 20% violated: a naive 34.9% gives the published 0.198.

    What follows: 9,900 students, and intervals that hold the true 20%, for the students
    asked and, wider, for all students.
    """
    m = rr.KRR(["no", "yes"], 0.75)
    est = rr.estimate(rr.Tally.from_counts({"yes": 17_450, "no": 32_550}, m), target="sample")
    yes = est["yes"]
    assert 0.198 == pytest.approx(yes.value, abs=1e-12)
    assert 9_900 == pytest.approx(est.counts[est.categories.index("yes")], abs=1e-9)
    assert yes.low < 0.2 < yes.high
    wider = replace(est, target="population")["yes"]
    assert wider.low < yes.low
    assert yes.high < wider.high
    assert math.log(3) == pytest.approx(m.epsilon, rel=1e-15)
    # SE for the students asked, any share: sqrt(3/16) / (1/2) / sqrt(n)
    assert math.sqrt(3) / 2 / math.sqrt(50_000) == pytest.approx(yes.std_error, rel=1e-12)


# -- 5: the proof of make_randomized_response ----------------------------------------------


def test_prob_of_one_over_k_is_accepted_and_says_nothing():
    """At 1/k the mechanism exists with epsilon 0; estimating from it is refused."""
    m = rr.KRR(LETTERS, 0.25)
    assert 0.0 == m.epsilon
    with pytest.raises(NotIdentifiableError, match="no information"):
        rr.estimate(["A", "B"], m)


@pytest.mark.parametrize(("k", "prob"), [(2, 0.75), (4, 0.75), (10, 0.1001), (3, 0.999)])
def test_epsilon_bounds_every_ratio_of_the_distribution(k, prob):
    """ln(p(k-1)/(1-p)) rounded towards +infinity: the tightest double above every log-ratio."""
    m = rr.KRR(range(k), prob)
    matrix = m.channel.entries
    worst = max(row[i] / row[j] for row in matrix for i in range(k) for j in range(k))
    p = Fraction(prob)
    assert p * (k - 1) / (1 - p) == worst
    assert Decimal(math.nextafter(m.epsilon, 0)) < exact_log(worst) <= Decimal(m.epsilon)
