"""Subset selection: the law by enumeration, the best size, golden values, no trace of a place."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import chance
import numpy as np
import pytest
from scripted import Counting, Recorded
from subset_laws import bits_of, check_channel, check_law, check_moments

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    NotIdentifiableError,
)
from rrstats.mechanisms import SubsetSelection, from_dict
from rrstats.mechanisms import subset_selection as subset
from rrstats.mechanisms.records import ColumnRecord
from rrstats.randomness.sources import FreshWords

ABCD = list("abcd")


def law(mechanism, bits, truth):
    """The truth is named with one probability; of the rest every choice is equally likely."""
    k, size, own = mechanism.k, mechanism.size, Fraction(mechanism.prob_own)
    if sum(bits) != size:
        return Fraction(0)
    return own / comb(k - 1, size - 1) if bits[truth] else (1 - own) / comb(k - 1, size)


# -- the law ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "bits", "depths"),
    [
        (SubsetSelection(list("abc"), epsilon=1.0, size=1), 2, {0: 2, 1: 6}),
        (SubsetSelection(list("abc"), epsilon=1.0, size=2), 2, {0: 2, 1: 6}),
        (SubsetSelection(ABCD, epsilon=1.0, size=2), 2, {0: 2, 1: 6}),
        (SubsetSelection(ABCD, size=3, prob_own=0.875), 3, {0: 1, 1: 3}),
        (SubsetSelection(list("abcde"), epsilon=0.5, size=2), 2, {0: 2, 1: 8}),
        (SubsetSelection(["no", "yes"], epsilon=1.0), 2, {0: 4}),
    ],
    ids=repr,
)
def test_law(mechanism, bits, depths):
    """Every subset of the size has exactly its probability, for every truth."""
    check_law(mechanism, law, bits, depths)


def test_law_without_remainder():
    """Among two others each is taken with probability 1/2: no stream is left undecided."""
    check_law(SubsetSelection(list("abc"), size=1, prob_own=0.75), law, 2, {0: 1, 1: 2}, 0)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_channel_and_moments_are_those_of_all_subsets(size):
    """Pair probabilities, odds, likelihood and both covariances equal sums over the subsets."""
    mechanism = SubsetSelection(range(5), epsilon=1.5, size=size)
    check_channel(mechanism, law)
    check_moments(mechanism, law)


def test_two_categories():
    """Of two categories one is named, and there is no third for a pair of others."""
    mechanism = SubsetSelection(["no", "yes"], epsilon=1.0)
    assert mechanism.channel.entries == rr.KRR(["no", "yes"], epsilon=1.0).channel.entries
    check_channel(mechanism, law)


@pytest.mark.parametrize("k", [2, 3, 5, 9])
def test_one_of_them_is_krr(k):
    """Reports of one category have the very law of k-RR, and the same probability."""
    one, krr = SubsetSelection(range(k), epsilon=0.7, size=1), rr.KRR(range(k), epsilon=0.7)
    assert one.prob_own == krr.prob
    assert one.channel == krr.channel
    assert one.epsilon == krr.epsilon


# -- parameters ---------------------------------------------------------------------------------


def test_golden_probabilities():
    """k = 6, w = 2, epsilon 1, by enumeration of all 15 subsets with mpmath: p and q."""
    channel = SubsetSelection(range(6), epsilon=1.0, size=2).channel
    assert float(channel.prob_truth) == pytest.approx(0.5761168847658291, rel=1e-12)
    assert float(channel.prob_other) == pytest.approx(0.28477662304683415, rel=1e-12)


@pytest.mark.parametrize(
    ("k", "epsilon", "expected"),
    [
        # n Var at f = 1/k for the best size, these rows; Ye and Barg (2018), by mpmath.
        (16, 1.0, 3.18602456612404268790),
        (100, 1.0, 3.59953485184093815662),
        (100, 3.0, 0.206441675254669711266),
    ],
)
def test_golden_variance(k, epsilon, expected):
    """The variance at equal shares, with the size that is chosen."""
    channel = SubsetSelection(range(k), epsilon=epsilon).channel
    assert channel.variance(np.full(k, 1 / k), "rows") == pytest.approx([expected] * k, rel=1e-12)


@pytest.mark.slow
def test_the_best_size_is_the_best():
    """No other size has less variance at equal shares, by trying all of them exactly."""
    for epsilon in (0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 9.0):
        for k in (2, 3, 4, 5, 6, 7, 8, 11, 12, 29, 30, 64, 100):
            shares = np.full(k, 1 / k)
            variances = [
                SubsetSelection(range(k), epsilon=epsilon, size=size).channel.variance(
                    shares, "rows"
                )[0]
                for size in range(1, k)
            ]
            chosen = SubsetSelection(range(k), epsilon=epsilon).size
            assert variances[chosen - 1] <= min(variances) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("epsilon", "most"), [(0.5, 3), (1.0, 5), (1.5, 7), (2.0, 11), (3.0, 29), (4.0, 78), (5.0, 211)]
)
def test_krr_is_the_best_size_up_to(epsilon, most):
    """k-RR is the best subset size up to so many categories, and no longer.

    Computed with mpmath from the exact variances at uniform shares.
    """
    assert [subset.best_size(k, epsilon) == 1 for k in (most, most + 1)] == [True, False]


def test_a_size_for_no_privacy_budget():
    """At epsilon 0 about half the categories are named, and nothing can be estimated."""
    m = SubsetSelection(range(8), epsilon=0.0, size=4)
    assert (m.prob_own, m.epsilon) == (0.5, 0.0)
    with pytest.raises(NotIdentifiableError):
        m.channel.solve(np.full(8, 0.5))
    assert 1 <= SubsetSelection(range(8), epsilon=1e-9).size <= 7


@pytest.mark.parametrize("size", [1, 2, 5, 9])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, math.log(3), 12.0])
def test_the_nearest_double_to_a_request(size, epsilon):
    """As much truth as the request allows; one double more would be too much."""
    m = SubsetSelection(range(10), epsilon=epsilon, size=size)
    beyond = SubsetSelection(range(10), size=size, prob_own=math.nextafter(m.prob_own, 1))
    assert m.epsilon <= epsilon < beyond.epsilon


def test_influence_of_one_report():
    """One report moves a share by between -q / ((p-q) n) and (1-q) / ((p-q) n).

    k = 100, epsilon 1, n = 1000, one category a report: -0.00058197670686932640 and
    0.058615693980063323 (mpmath).
    """
    m = SubsetSelection(range(100), epsilon=1.0, size=1)
    scores = rr.estimators.debias_reports([m.pack(np.eye(1, 100, dtype=bool))[0].tobytes()], m)
    assert scores.min() / 1000 == pytest.approx(-0.0005819767068693264, rel=1e-12)
    assert scores.max() / 1000 == pytest.approx(0.05861569398006332, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "epsilon or prob_own, found neither"),
        ({"epsilon": 1.0, "prob_own": 0.5}, "found epsilon and prob_own"),
        ({"prob_own": 0.5}, "needs size"),
        *(({"epsilon": 1.0, "size": size}, "size must be in [1, 3]") for size in (0, 4)),
        *(({"epsilon": 1.0, "size": size}, "must be a whole number") for size in (2.0, True)),
        *(({"size": 2, "prob_own": prob}, "[0.5, 1)") for prob in (0.4, 1.0)),
        ({"epsilon": -1.0}, "at least 0"),
        ({"epsilon": "1"}, "epsilon must be a number"),
        ({"epsilon": 90.0}, "largest possible is"),
    ],
)
def test_parameters_out_of_range(options, words):
    """Each is refused with the argument, the rule and what was found."""
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as caught:
        SubsetSelection(ABCD, **options)
    assert words in str(caught.value)


def test_documents():
    """A plan may say epsilon; many categories become a fingerprint."""
    by_hand = {"type": "SubsetSelection", "categories": ABCD, "epsilon": 1.0}
    assert from_dict(by_hand) == SubsetSelection(ABCD, epsilon=1.0)
    with pytest.raises(MetadataError):
        from_dict({**by_hand, "prob": 0.5})
    many = SubsetSelection(range(101), epsilon=1.0)
    record = ColumnRecord.of("x", many, unknown="warn", missing="unknown")
    assert record.is_shortened
    assert record.resolve(many) is many
    assert record.epsilon == many.epsilon


# -- drawing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 9, 40, 300])
@pytest.mark.parametrize("rows", [1, 7, 9000])
def test_words_do_not_follow_answers(k, rows):
    """The same words are asked for, whatever the answers are, and none twice."""
    m = SubsetSelection(range(k), epsilon=1.0)
    logs = []
    for codes in (np.zeros(rows), np.full(rows, k - 1), np.arange(rows) % k):
        source = Recorded(Counting(1))
        m.randomize(codes.astype(m.domain.dtype), source, 7)
        logs.append(source.log)
    assert logs[0] == logs[1] == logs[2]
    addresses = [(a.stream, a.round) for a in logs[0]]
    assert len(addresses) == len(set(addresses)), "words were used twice"


def test_the_report_of_another_truth_is_the_same_one_renamed():
    """With the same words the others keep their order: the truth's place tells nothing more."""
    m, rows = SubsetSelection(range(20), epsilon=1.0), 500
    bits = [
        m.unpack(m.randomize(np.full(rows, code, np.uint8), Counting(2), 0)) for code in range(20)
    ]
    first = np.delete(bits[0], 0, axis=1)
    for code in range(20):
        assert np.array_equal(bits[0][:, 0], bits[code][:, code])
        assert np.array_equal(first, np.delete(bits[code], code, axis=1))


@pytest.mark.parametrize(
    ("k", "size"), [(3, 2), (8, 3), (9, 1), (17, 16), (64, 30), (300, 255), (300, 270)]
)
def test_every_report_has_the_size(k, size):
    """Exactly so many categories are named, and no bit stands behind the last of them."""
    m = SubsetSelection(range(k), epsilon=1.0, size=size)
    codes = (np.arange(6000) % k).astype(m.domain.dtype)
    for rows in (100, 6000):
        for source in (FreshWords(), Counting(3), Counting(3, 16), Counting(3, 5)):
            reports = m.randomize(codes[:rows], source, 0)
            bits = m.unpack(reports)
            assert (bits.sum(axis=1) == size).all()
            assert np.array_equal(m.pack(bits), reports)


@pytest.mark.parametrize(("k", "size"), [(9, 4), (30, 8), (300, 40)])
def test_shares_and_pairs(k, size):
    """Own and other categories, and neighbours together, as often as the law says.

    False alarm below 1e-9 for each case.
    """
    m, rows = SubsetSelection(range(k), epsilon=1.0, size=size), 60_000
    codes = (np.arange(rows) % k).astype(m.domain.dtype)
    bits = m.unpack(m.randomize(codes, FreshWords(), 0))
    p, q, _, pair = (
        float(getattr(m.channel, name))
        for name in ("prob_truth", "prob_other", "pair_truth", "pair_other")
    )
    assert chance.p_value(bits[np.arange(rows), codes].sum(), rows, p) > 1e-10
    for v in range(k):
        other = codes != v
        assert chance.p_value(bits[other, v].sum(), other.sum(), q) * k > 1e-10
        w = (v + 1) % k
        other &= codes != w
        both = (bits[:, v] & bits[:, w])[other].sum()
        assert chance.p_value(both, other.sum(), pair) * k > 1e-10


def test_a_number_alone_says_nothing():
    """0.75 would be an epsilon here and a probability elsewhere: the amount has its name."""
    with pytest.raises(TypeError, match="positional"):
        SubsetSelection(ABCD, 0.75)
    assert SubsetSelection(ABCD, size=2, prob_own=0.75) != SubsetSelection(ABCD, epsilon=0.75)


def test_codes_of_another_type_are_refused():
    """Codes must be of the domain's type."""
    with pytest.raises(ArgumentTypeError):
        SubsetSelection(ABCD, epsilon=1.0).randomize(np.zeros(3, np.int64), Counting(0), 0)


# -- planted faults -------------------------------------------------------------------------------


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


@pytest.mark.parametrize("fault", [TruthFirst, WithReplacement])
def test_the_law_catches_planted_faults(fault):
    """Enumeration fails for reports of the right size with another law."""
    with pytest.raises(AssertionError):
        check_law(fault(ABCD, epsilon=1.0, size=2), law, 2, {0: 2, 1: 6})


def test_the_law_sums_over_the_right_subsets():
    """There are 6 subsets of two of four."""
    assert sum(bits.sum() == 2 for bits in bits_of(4)) == 6
