"""Reports that are subsets: probabilities by enumeration, parameters, golden values, words.

Unary encoding and subset selection.  The channel by itself is in test_channel.py, what holds for
all mechanisms in test_battery.py, how subsets are kept in test_bitsets.py.  A report of k
categories is a number below 2**k here: bit i says whether category i is in it.
"""

import itertools
import math
import tracemalloc
from fractions import Fraction

import chance
import numpy as np
import pandas as pd
import pytest
from scripted import Counting, EveryStream, Recorded
from subset_probabilities import probability

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    NotIdentifiableError,
)
from rrstats.mechanisms import SubsetSelection, UnaryEncoding
from rrstats.mechanisms.channel import SupportChannel
from rrstats.randomness import samplers
from rrstats.randomness.sources import BLOCK_ROWS, FreshWords

ABC, ABCD = ["a", "b", "c"], list("abcd")
ANY, SYMMETRIC, OPTIMIZED = UnaryEncoding, UnaryEncoding.symmetric, UnaryEncoding.optimized


def bits_of(k):
    """(2**k, k) every subset as a row of 0 and 1."""
    return np.arange(1 << k)[:, None] >> np.arange(k) & 1


def probabilities(mechanism):
    """For each truth the probabilities of all 2**k reports."""
    every = bits_of(mechanism.k).tolist()
    return [[probability(mechanism, bits, truth) for bits in every] for truth in range(mechanism.k)]


def check_law(mechanism, bits, depths, most_undecided=Fraction(1, 4)):
    """All streams of tiny words, through the shipped code: the probabilities of each truth."""
    for truth, expected in enumerate(probabilities(mechanism)):
        assert sum(expected) == 1
        source = EveryStream(bits, depths)
        codes = np.full(source.rows, truth, dtype=mechanism.domain.dtype)
        reports = mechanism.randomize(codes, source, 0)
        assert reports.shape == (source.rows, 1)
        found = source.distribution(reports[:, 0], 1 << mechanism.k)
        assert found.brackets(expected)
        assert found.undecided <= most_undecided
        assert (codes == truth).all(), "the true codes were changed"


def check_channel(mechanism):
    """Four probabilities, odds and likelihood, from the probability of every subset."""
    k, channel, every = mechanism.k, mechanism.channel, bits_of(mechanism.k)
    probs = probabilities(mechanism)

    def chance(truth, *places):
        return sum(p for p, bits in zip(probs[truth], every, strict=True) if bits[[*places]].all())

    for truth, v in itertools.product(range(k), repeat=2):
        assert chance(truth, v) == (channel.prob_truth if v == truth else channel.prob_other)
    for truth, v, w in itertools.product(range(k), repeat=3):
        if v != w:
            pair = channel.pair_truth if truth in (v, w) else channel.pair_other
            assert chance(truth, v, w) == pair
    ratios = {
        column[truth] / column[other]
        for column in zip(*probs, strict=True)
        if any(column)
        for truth, other in itertools.permutations(range(k), 2)
    }
    assert max(ratios) == channel.max_likelihood_ratio
    possible = [place for place, column in enumerate(zip(*probs, strict=True)) if any(column)]
    likelihood = channel.likelihood(every[possible].astype(bool))
    exact = np.array([[float(p[place]) for p in probs] for place in possible])
    found = likelihood / likelihood.sum(axis=1, keepdims=True)
    assert np.allclose(exact / exact.sum(axis=1, keepdims=True), found, rtol=1e-12, atol=0)


def check_moments(mechanism):
    """Unbiased scores, and covariance for both targets, by sums over all subsets and truths."""
    k, channel, every = mechanism.k, mechanism.channel, bits_of(mechanism.k)
    probs = np.array(probabilities(mechanism), dtype=float)
    scores = channel.scores(every.astype(bool))
    close = {"rtol": 1e-11, "atol": 1e-12}
    assert np.allclose(np.eye(k), probs @ scores, **close)
    theta = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
    within = [
        scores.T @ (p[:, None] * scores) - np.outer(e, e)
        for p, e in zip(probs, np.eye(k), strict=True)
    ]
    rows = sum(share * cov for share, cov in zip(theta, within, strict=True))
    population = rows + np.diag(theta) - np.outer(theta, theta)
    for target, expected in (("sample", rows), ("population", population)):
        assert np.allclose(expected, channel.covariance(theta, target), **close)
        assert np.allclose(expected.diagonal(), channel.variance(theta, target), **close)


# -- the distribution --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "bits", "depths", "undecided"),
    [
        # One word for all bits of a report; two words of two bits; and a word for each bit.
        (ANY(ABC, 0.75, 0.25), 3, {0: 1, 1: 2}, Fraction(1, 4)),
        (ANY(ABC, 0.7, 0.3), 3, {0: 2, 1: 4}, Fraction(1, 4)),
        (OPTIMIZED(ABCD, epsilon=1.0), 4, {0: 1, 1: 4}, Fraction(1, 4)),
        (OPTIMIZED(ABC, epsilon=1.0), 2, {0: 1, 1: 8}, Fraction(1, 4)),
        (SYMMETRIC(ABC, epsilon=1.0), 3, {0: 2, 1: 4}, Fraction(1, 4)),
        (SYMMETRIC(["no", "yes"], 0.625), 1, {0: 3, 1: 6}, Fraction(1, 4)),
        (SubsetSelection(ABC, epsilon=1.0, size=1), 2, {0: 2, 1: 6}, Fraction(1, 4)),
        (SubsetSelection(ABC, epsilon=1.0, size=2), 2, {0: 2, 1: 6}, Fraction(1, 4)),
        (SubsetSelection(ABCD, epsilon=1.0, size=2), 2, {0: 2, 1: 6}, Fraction(1, 4)),
        (SubsetSelection(ABCD, size=3, prob_own=0.875), 3, {0: 1, 1: 3}, Fraction(1, 4)),
        (SubsetSelection(list("abcde"), epsilon=0.5, size=2), 2, {0: 2, 1: 8}, Fraction(1, 4)),
        (SubsetSelection(["no", "yes"], epsilon=1.0), 2, {0: 4}, Fraction(1, 4)),
        # Where probabilities are short binary fractions, no stream is left undecided.
        (ANY(ABC, 0.75, 0.375), 3, {0: 1, 1: 3}, 0),
        (SubsetSelection(ABC, size=1, prob_own=0.75), 2, {0: 1, 1: 2}, 0),
    ],
    ids=repr,
)
def test_distribution(mechanism, bits, depths, undecided):
    """Every subset has exactly its probability, for every truth."""
    check_law(mechanism, bits, depths, undecided)


@pytest.mark.parametrize(("first", "more"), [(3, 1), (2, 2), (4, 4)])
def test_distribution_where_several_digits_are_compared_at_once(monkeypatch, first, more):
    """The number of binary digits compared before ties are looked for does not matter."""
    monkeypatch.setattr(samplers, "_FIRST_DIGITS", first)
    monkeypatch.setattr(samplers, "_NEXT_DIGITS", more)
    monkeypatch.setattr(samplers, "TINY_WORDS", 1)
    depth = first + more
    k, bits = (3, 3) if depth <= 4 else (2, 2)
    mechanism = UnaryEncoding(ABC[:k], 0.5, 0.3)
    check_law(mechanism, bits, {0: 1, 1: depth}, Fraction(1, 2))


@pytest.mark.parametrize(
    "mechanism",
    [
        ANY(ABC, 0.7, 0.3),
        OPTIMIZED(ABCD, epsilon=2.0),
        SYMMETRIC(["n", "y"], 0.75),
        *(SubsetSelection(range(5), epsilon=1.5, size=size) for size in (1, 2, 3, 4)),
        SubsetSelection(["no", "yes"], epsilon=1.0),
    ],
    ids=repr,
)
def test_channel_and_moments_are_those_of_all_subsets(mechanism):
    """Pair probabilities, odds, likelihood and both covariances equal sums over all reports."""
    check_channel(mechanism)
    check_moments(mechanism)


@pytest.mark.parametrize("k", [2, 3, 5, 9])
def test_one_of_them_is_krr(k):
    """Reports of one category have the very distribution of k-RR, and the same probability."""
    one, krr = SubsetSelection(range(k), epsilon=0.7, size=1), rr.KRR(range(k), epsilon=0.7)
    assert one.prob_own == krr.prob
    assert one.channel == krr.channel
    assert one.epsilon == krr.epsilon


# -- parameters ------------------------------------------------------------------------------------


def test_golden_probabilities():
    """k = 6, w = 2, epsilon 1, by enumeration of all 15 subsets with mpmath: p and q."""
    channel = SubsetSelection(range(6), epsilon=1.0, size=2).channel
    assert float(channel.prob_truth) == pytest.approx(0.5761168847658291, rel=1e-12)
    assert float(channel.prob_other) == pytest.approx(0.28477662304683415, rel=1e-12)


@pytest.mark.slow
def test_the_best_size_is_the_best():
    """No other size has less variance at equal shares, by trying all of them exactly."""
    sizes = (2, 3, 4, 5, 6, 7, 8, 11, 12, 29, 30, 64, 100)
    for epsilon, k in itertools.product((0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 9.0), sizes):
        made = [SubsetSelection(range(k), epsilon=epsilon, size=size) for size in range(1, k)]
        variances = [m.channel.variance(np.full(k, 1 / k), "sample")[0] for m in made]
        chosen = SubsetSelection(range(k), epsilon=epsilon).size
        assert variances[chosen - 1] <= min(variances) * (1 + 1e-12)


def test_no_privacy_budget_is_no_information():
    """With epsilon 0 reports are fair coins, and nothing can be estimated from them."""
    halves = SubsetSelection(range(8), epsilon=0.0, size=4)
    for m in (SYMMETRIC(ABC, epsilon=0.0), OPTIMIZED(ABC, epsilon=0), halves):
        assert (m.prob_own, m.epsilon) == (0.5, 0.0)
        with pytest.raises(NotIdentifiableError):
            m.channel.solve([0.5] * m.k)
    assert 1 <= SubsetSelection(range(8), epsilon=1e-9).size <= 7


@pytest.mark.parametrize("epsilon", [1e-10, 0.1, 0.25, 1.0, math.log(3), 2.0, 7.25, 12.0, 30.0])
def test_the_nearest_doubles_to_a_request(epsilon):
    """Each takes as much as the request allows, and one double more would be too much."""
    one, two = SYMMETRIC(ABC, epsilon=epsilon), OPTIMIZED(ABC, epsilon=epsilon)
    pairs = [
        (one, SYMMETRIC(ABC, math.nextafter(one.prob_own, 1))),
        (two, OPTIMIZED(ABC, prob_other=math.nextafter(two.prob_other, 0))),
    ]
    for size in (1, 2, 5, 9) if 0.25 <= epsilon <= 12 else ():
        m = SubsetSelection(range(10), epsilon=epsilon, size=size)
        more = math.nextafter(m.prob_own, 1)
        pairs.append((m, SubsetSelection(range(10), size=size, prob_own=more)))
    for m, beyond in pairs:
        assert m.epsilon <= epsilon < beyond.epsilon
    assert one.prob_own + one.prob_other == 1
    assert two.prob_own == 0.5


@pytest.mark.parametrize(
    ("make", "numbers", "options", "words"),
    [
        (ANY, (0.25, 0.75), {}, "prob_own must be in [0.75, 1)"),
        *((ANY, (0.5, one), {}, "prob_other must be in (0, 1)") for one in (0.0, math.nan)),
        *((ANY, (one, 0.1), {}, "prob_own must be in [0.1, 1)") for one in (1.0, math.nan)),
        (SYMMETRIC, (), {}, "prob or epsilon, found neither"),
        (SYMMETRIC, (0.7,), {"epsilon": 1}, "found prob and epsilon"),
        *((SYMMETRIC, (one,), {}, "in [0.5, 1), got") for one in (0.4, math.nan)),
        (SYMMETRIC, (1.0,), {}, "1 is no privacy"),
        (SYMMETRIC, (), {"epsilon": 80}, "largest possible is 73.47"),
        (OPTIMIZED, (), {}, "prob_other or epsilon"),
        *((OPTIMIZED, (), {"prob_other": one}, "in (0, 0.5]") for one in (0.6, 0)),
        (OPTIMIZED, (), {"epsilon": 1000.0}, "largest possible is 744"),
        (SubsetSelection, (), {}, "epsilon or prob_own, found neither"),
        (SubsetSelection, (), {"epsilon": 1.0, "prob_own": 0.5}, "found epsilon and prob_own"),
        (SubsetSelection, (), {"prob_own": 0.5}, "needs size"),
        (SubsetSelection, (), {"epsilon": 1.0, "size": 0}, "size must be in [1, 2]"),
        (SubsetSelection, (), {"size": 2, "prob_own": 0.4}, "[0.666667, 1)"),
        (SubsetSelection, (), {"epsilon": 90.0}, "largest possible is"),
    ],
)
def test_parameters_out_of_range(make, numbers, options, words):
    """Each is refused with the argument, the rule and what was found."""
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as caught:
        make(ABC, *numbers, **options)
    assert words in str(caught.value)
    assert "2 categories" not in str(caught.value)  # each bit has two values, whatever k is


def test_too_many_categories():
    """A report has a bit for each."""
    with pytest.raises(ArgumentValueError, match="at most 32768"):
        UnaryEncoding(range(40_000), 0.7, 0.1)


@pytest.mark.parametrize("epsilon", [0.5, 30.0, 700.0, 744.0])
def test_a_report_that_names_all_alike_tells_nothing(epsilon):
    """No bit or every bit leaves the prior as it is, however rare that is; one bit does not."""
    m, prior = UnaryEncoding.optimized(["a", "b"], epsilon=epsilon), [0.3, 0.7]
    none, every, first = rr.privacy.posterior([b"\0", b"\3", b"\1"], m, prior).probabilities
    assert prior == pytest.approx(none.tolist(), rel=1e-15)
    assert prior == pytest.approx(every.tolist(), rel=1e-15)
    odds = float(1 / m.channel.max_likelihood_ratio)  # against "a", once it is named
    assert first[0] == pytest.approx(0.3 / (0.3 + 0.7 * odds), rel=1e-12)
    assert first[1] == pytest.approx(0.7 * odds / (0.3 + 0.7 * odds), rel=1e-12, abs=5e-324)


# -- drawing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [OPTIMIZED, SubsetSelection])
@pytest.mark.parametrize("rows", [1, 7, 9000])
@pytest.mark.parametrize("k", [2, 3, 20, 300])
def test_words_do_not_follow_answers(make, k, rows):
    """The same words are asked for, whatever the answers are, and none twice."""
    m = make(range(k), epsilon=1.0)
    logs = []
    for codes in (np.zeros(rows), np.full(rows, k - 1), np.arange(rows) % k):
        source = Recorded(Counting(1))
        m.randomize(codes.astype(m.domain.dtype), source, 7)
        logs.append(source.log)
    assert logs[0] == logs[1] == logs[2]
    addresses = [(a.stream, a.round) for a in logs[0]]
    assert len(addresses) == len(set(addresses)), "words were used twice"


def test_few_rows_compare_64_digits_at_once():
    """Below 4096 rows 64 digits are compared before ties are looked for: none can be timed."""
    m = UnaryEncoding.optimized(range(20), epsilon=1.0)
    for rows, digits in ((100, 53 + 1), (5000, samplers._FIRST_DIGITS)):
        source = Recorded(Counting(3))
        m.randomize(np.zeros(rows, np.uint8), source, 0)
        asked = [a for a in source.log if a.stream == samplers.BITS_STREAM and not a.which]
        columns = {(a.round % 2, a.bits) for a in asked}
        assert columns == {(0, 16), (1, 8)}
        assert 2 * digits - 2 <= len(asked) <= 2 * digits


def of_sizes(*sizes):
    return [SubsetSelection(range(k), epsilon=1.0, size=size) for k, size in sizes]


@pytest.mark.parametrize(
    "m",
    [
        *(OPTIMIZED(range(k), epsilon=0.1) for k in (9, 13, 60)),
        *of_sizes((3, 2), (8, 3), (9, 1), (17, 16), (64, 30), (300, 255), (300, 270)),
    ],
    ids=lambda m: f"{m.k}",
)
def test_no_report_is_impossible(m):
    """No bit stands behind the last category, with words of any width; a fixed size is kept."""
    codes = (np.arange(6000) % m.k).astype(m.domain.dtype)
    for rows in (100, 6000):
        for source in (FreshWords(), Counting(3), Counting(3, 16), Counting(3, 5)):
            reports = m.randomize(codes[:rows], source, 0)
            bits = m.unpack(reports)
            assert reports.shape == (rows, m.report_space.width)
            assert np.array_equal(m.pack(bits), reports)
            assert isinstance(m, UnaryEncoding) or (bits.sum(axis=1) == m.size).all()


@pytest.mark.parametrize(
    "m",
    [
        *(ANY(range(k), 0.75, 0.3) for k in (2, 8, 9, 63, 64, 65, 100, 129, 300)),
        *of_sizes((9, 4), (30, 8), (300, 40)),
    ],
    ids=lambda m: f"{m.k}",
)
def test_shares_and_pairs(m):
    """Own and other categories, and neighbours across bytes and words, have their probabilities.

    In blocks of fresh words; false alarm below 1e-9 for each case.
    """
    k, rows, channel = m.k, 60_000, m.channel
    codes = (np.arange(rows) % k).astype(m.domain.dtype)
    bits = m.unpack(m.randomize(codes, FreshWords(), 0))
    p, q, pair = map(float, (channel.prob_truth, channel.prob_other, channel.pair_other))
    assert chance.p_value(bits[np.arange(rows), codes].sum(), rows, p) > 1e-10
    for v in range(k):
        other = codes != v
        assert chance.p_value(bits[other, v].sum(), other.sum(), q) * k > 1e-10
        w = (v + 1) % k
        other &= codes != w
        both = (bits[:, v] & bits[:, w])[other].sum()
        assert not other.any() or chance.p_value(both, other.sum(), pair) * k > 1e-10


def test_extreme_probabilities():
    """A bit that is nearly never set costs no endless loop and is nearly never set."""
    m = UnaryEncoding.optimized(range(10), epsilon=700.0)
    bits = m.unpack(m.randomize(np.zeros(6000, np.uint8), FreshWords(), 0))
    assert bits[:, 1:].sum() == 0
    assert 0 < bits[:, 0].sum() < 6000


# -- in one piece ----------------------------------------------------------------------------------


def test_debiased_by_the_published_derivation():
    """One report is (bit - q) / (p - q); an aggregate is (c / n - q) / (p - q)."""
    m = UnaryEncoding.symmetric(ABC, 0.75)
    bits = np.array([[True, False, True], [False, False, True]])
    scores = rr.estimators.debias_reports(bits, m)
    assert scores.tolist() == [[1.5, -0.5, 1.5], [-0.5, -0.5, 1.5]]
    assert rr.estimate(bits, m).proportions.tolist() == scores.mean(axis=0).tolist()
    counted = rr.Tally.from_counts({"a": 1, "c": 2}, m, n=2)
    assert counted == rr.tally(bits, m)
    with pytest.raises(ArgumentTypeError, match="n, the number of reports"):
        rr.Tally.from_counts({"a": 1, "c": 2}, m)


def test_tally_in_blocks_of_bounded_memory():
    """2,000,000 packed reports are counted in a few MiB, and blocks change nothing."""
    m, rows = UnaryEncoding.symmetric(range(12), 0.75), 2_000_000
    codes = np.random.default_rng(0).integers(0, 1 << 12, rows).astype("<u2")
    packed = codes.view(np.uint8).reshape(rows, 2)
    expected = [(codes >> place & 1).sum() for place in range(12)]
    rr.tally(packed[:10], m)
    tracemalloc.start()
    found = rr.tally(packed, m)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.reported.tolist() == expected
    assert found.n == rows
    assert most < 8 << 20


def test_privatizing_needs_little_beside_the_result():
    """The noise of a column is made block by block: memory beside the result does not grow."""
    m = UnaryEncoding.optimized(range(20), epsilon=1.0)
    answers = pd.array(np.zeros(4 * BLOCK_ROWS, np.int8), dtype="Int8")
    rr.privatize(answers[:10], m)
    tracemalloc.start()
    reports = rr.privatize(answers, m)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(reports) == 4 * BLOCK_ROWS
    result = 3 * len(reports) if "pyarrow" in str(reports.dtype) else 100 * len(reports)
    assert most < result + (16 << 20)


# -- planted faults --------------------------------------------------------------------------------


class OwnBitOr(UnaryEncoding):
    """The own bit is added to the drawn one, not put in its place."""

    def randomize(self, codes, source, block=0):
        other = samplers.independent_bits(
            source, block, len(codes), k=self.k, prob=Fraction(self.prob_other)
        )
        return super().randomize(codes, source, block) | other


class OneWordForAll(UnaryEncoding):
    """All bits of a report from one coin."""

    def randomize(self, codes, source, block=0):
        bits = self.unpack(super().randomize(codes, source, block))
        bits[:, 1:] = bits[:, :1]
        return self.pack(bits)


class TruthFirst(SubsetSelection):
    """Where the truth is not named, the last others are named more often."""

    def randomize(self, codes, source, block=0):
        bits = self.unpack(super().randomize(codes, source, block))
        rows = np.flatnonzero(~bits[np.arange(len(codes)), codes])
        bits[rows] = False
        bits[rows, (codes[rows] + 1) % self.k] = True
        bits[rows, (codes[rows] + 2) % self.k] = True
        return self.pack(bits)


class WithReplacement(SubsetSelection):
    """Every category is taken with the same probability, until there are enough."""

    def randomize(self, codes, source, block=0):
        bits = self.unpack(super().randomize(codes, source, block))
        return self.pack(np.where(codes[:, None] == 0, bits, bits[:, ::-1]))


@pytest.mark.parametrize(
    ("fault", "bits", "depths"),
    [
        *((fault(ABC, 0.75, 0.25), 3, {0: 1, 1: 2}) for fault in (OwnBitOr, OneWordForAll)),
        *(
            (fault(ABCD, epsilon=1.0, size=2), 2, {0: 2, 1: 6})
            for fault in (TruthFirst, WithReplacement)
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_distribution_catches_planted_faults(fault, bits, depths):
    """Enumeration fails for reports that are nearly right."""
    with pytest.raises(AssertionError):
        check_law(fault, bits, depths)


def test_the_moments_catch_a_multinomial_covariance():
    """The brute-force covariance differs from that of one category a report."""

    class Multinomial(UnaryEncoding):
        @property
        def channel(self):
            p, q = Fraction(self.prob_own), Fraction(self.prob_other)
            zero = Fraction(0)
            ratio = UnaryEncoding.channel.func(self).likelihood_ratio
            return SupportChannel(self.k, p, q, zero, zero, ratio)

    with pytest.raises(AssertionError):
        check_moments(Multinomial(ABC, 0.75, 0.25))
    with pytest.raises(AssertionError):
        check_channel(Multinomial(ABC, 0.75, 0.25))
