"""Unary encoding: the law by enumeration, parameters to the last double, golden values, words.

The channel by itself is in test_channel.py, what holds for all mechanisms in test_battery.py,
how subsets are kept in test_subsets.py.
"""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction

import chance
import numpy as np
import pandas as pd
import pytest
from scripted import Counting, Recorded, Scripted, every_stream
from subset_laws import bits_of, check_channel, check_law, check_moments

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    NotIdentifiableError,
)
from rrstats.mechanisms import UnaryEncoding
from rrstats.mechanisms.support_channel import SupportChannel
from rrstats.randomness import samplers
from rrstats.randomness.sources import BLOCK_ROWS, FreshWords

ABC = ["a", "b", "c"]


def law(mechanism, bits, truth):
    """Independent bits: the truth's with one probability, all others with another."""
    found = Fraction(1)
    for place, bit in enumerate(bits):
        prob = Fraction(mechanism.prob_own if place == truth else mechanism.prob_other)
        found *= prob if bit else 1 - prob
    return found


# -- the law ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "bits", "depths"),
    [
        # One word for all bits of a report; two words of two bits; and a word for each bit.
        (UnaryEncoding(ABC, 0.75, 0.25), 3, {0: 1, 1: 2}),
        (UnaryEncoding(ABC, 0.7, 0.3), 3, {0: 2, 1: 4}),
        (UnaryEncoding.optimized(list("abcd"), epsilon=1.0), 4, {0: 1, 1: 4}),
        (UnaryEncoding.optimized(ABC, epsilon=1.0), 2, {0: 1, 1: 8}),
        (UnaryEncoding.symmetric(ABC, epsilon=1.0), 3, {0: 2, 1: 4}),
        (UnaryEncoding.symmetric(["no", "yes"], 0.625), 1, {0: 3, 1: 6}),
    ],
    ids=repr,
)
def test_law(mechanism, bits, depths):
    """Every subset has exactly the probability of independent bits, for every truth."""
    check_law(mechanism, law, bits, depths)


def test_law_without_remainder():
    """Where probabilities are short binary fractions, no stream is left undecided."""
    check_law(UnaryEncoding(ABC, 0.75, 0.375), law, 3, {0: 1, 1: 3}, Fraction(0))


@pytest.mark.parametrize(("first", "more"), [(3, 1), (2, 2), (4, 4)])
def test_law_where_several_digits_are_compared_at_once(monkeypatch, first, more):
    """However many binary digits are compared before ties are looked for, the law is the same."""
    monkeypatch.setattr(samplers, "_SLICES", first)
    monkeypatch.setattr(samplers, "_MORE_SLICES", more)
    monkeypatch.setattr(samplers, "TINY_WORDS", 1)
    depth = first + more
    k, bits = (3, 3) if depth <= 4 else (2, 2)
    mechanism = UnaryEncoding(ABC[:k], 0.5, 0.3)
    check_law(mechanism, law, bits, {0: 1, 1: depth}, Fraction(1, 2))


@pytest.mark.parametrize(
    "mechanism",
    [
        UnaryEncoding(ABC, 0.7, 0.3),
        UnaryEncoding.optimized(list("abcd"), epsilon=2.0),
        UnaryEncoding.symmetric(["n", "y"], 0.75),
    ],
    ids=repr,
)
def test_channel_and_moments_are_those_of_all_subsets(mechanism):
    """Pair probabilities, odds, likelihood and both covariances equal sums over 2**k reports."""
    check_channel(mechanism, law)
    check_moments(mechanism, law)


def test_bits_are_not_multinomial():
    """Given the truth, bits are independent: their covariance about the rows is exactly 0."""
    covariance = UnaryEncoding.symmetric(ABC, 0.75).channel.covariance([0.2, 0.3, 0.5], "rows")
    assert np.allclose(np.diag(np.diag(covariance)), covariance, rtol=0, atol=1e-15)
    assert np.diag(covariance) == pytest.approx([0.1875 / 0.25] * 3, rel=1e-14)  # p q / (p - q)^2


# -- parameters ---------------------------------------------------------------------------------


def test_golden_variance():
    """n Var at share 0, k = 16, epsilon 1.

    Wang et al. (USENIX Security 2017), table 1: e^(1/2) / (e^(1/2) - 1)^2 for SUE and
    4 e / (e - 1)^2 for OUE, with 15 digits by mpmath.
    """
    nobody = np.zeros(16)
    symmetric = UnaryEncoding.symmetric(range(16), epsilon=1.0).channel.variance(nobody, "rows")
    optimized = UnaryEncoding.optimized(range(16), epsilon=1.0).channel.variance(nobody, "rows")
    assert symmetric == pytest.approx([3.91769808903276375] * 16, rel=1e-12)
    assert optimized == pytest.approx([3.68269437683116928] * 16, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-10, 0.1, 0.5, 1.0, math.log(3), 2.0, 7.25, 30.0])
def test_the_nearest_doubles_to_a_request(epsilon):
    """Each takes as much as the request allows, and one double more would be too much."""
    one = UnaryEncoding.symmetric(ABC, epsilon=epsilon)
    beyond = UnaryEncoding.symmetric(ABC, math.nextafter(one.prob_own, 1))
    assert one.epsilon <= epsilon < beyond.epsilon
    assert one.prob_own + one.prob_other == 1
    two = UnaryEncoding.optimized(ABC, epsilon=epsilon)
    further = UnaryEncoding.optimized(ABC, prob_other=math.nextafter(two.prob_other, 0))
    assert two.epsilon <= epsilon < further.epsilon
    assert two.prob_own == 0.5


def test_no_privacy_budget_is_no_information():
    """With epsilon 0 both report fair coins, and nothing can be estimated from them."""
    for m in (UnaryEncoding.symmetric(ABC, epsilon=0.0), UnaryEncoding.optimized(ABC, epsilon=0)):
        assert (m.prob_own, m.prob_other, m.epsilon) == (0.5, 0.5, 0.0)
        with pytest.raises(NotIdentifiableError):
            m.channel.solve([0.5] * 3)


ANY, SYMMETRIC, OPTIMIZED = UnaryEncoding, UnaryEncoding.symmetric, UnaryEncoding.optimized


@pytest.mark.parametrize(
    ("make", "numbers", "options", "words"),
    [
        (ANY, (0.25, 0.75), {}, "prob_own must be in [0.75, 1)"),
        *((ANY, (0.5, one), {}, "prob_other must be in (0, 1)") for one in (0.0, math.nan)),
        *((ANY, (one, 0.1), {}, "prob_own must be in [0.1, 1)") for one in (1.0, math.nan)),
        *((ANY, (one, 0.1), {}, "prob_own must be a number") for one in ("0.7", True)),
        (SYMMETRIC, (), {}, "prob or epsilon, found neither"),
        (SYMMETRIC, (0.7,), {"epsilon": 1}, "found prob and epsilon"),
        *((SYMMETRIC, (one,), {}, "in [0.5, 1), got") for one in (0.4, math.nan)),
        (SYMMETRIC, (1.0,), {}, "1 is no privacy"),
        (SYMMETRIC, (75,), {}, "each bit is reported as it is"),
        (SYMMETRIC, ("0.7",), {}, "prob must be a number"),
        (SYMMETRIC, (), {"epsilon": -1}, "at least 0"),
        (SYMMETRIC, (), {"epsilon": 80}, "largest possible is 73.47"),
        (OPTIMIZED, (), {}, "prob_other or epsilon"),
        *((OPTIMIZED, (), {"prob_other": one}, "in (0, 0.5]") for one in (0.6, 0)),
        (OPTIMIZED, (), {"epsilon": math.inf}, "finite"),
        (OPTIMIZED, (), {"epsilon": 1000.0}, "largest possible is 744"),
    ],
)
def test_parameters_out_of_range(make, numbers, options, words):
    """Each is refused with the argument, the rule and what was found."""
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as caught:
        make(ABC, *numbers, **options)
    assert words in str(caught.value)
    assert "2 categories" not in str(caught.value)  # each bit has two values, whatever k is


@pytest.mark.parametrize(("k", "words"), [(1, "at least two"), (40_000, "at most 32768")])
def test_too_few_or_too_many_categories(k, words):
    """A report has a bit for each."""
    with pytest.raises(ArgumentValueError, match=words):
        UnaryEncoding(range(k), 0.7, 0.1)


@pytest.mark.parametrize("epsilon", [0.5, 30.0, 700.0, 744.0])
def test_a_report_that_names_all_alike_tells_nothing(epsilon):
    """No bit or every bit leaves the prior as it is, however rare that is; one bit does not."""
    m, prior = UnaryEncoding.optimized(["a", "b"], epsilon=epsilon), [0.3, 0.7]
    none, every, first = rr.posterior([b"\0", b"\3", b"\1"], m, prior).probabilities
    assert prior == pytest.approx(none.tolist(), rel=1e-15)
    assert prior == pytest.approx(every.tolist(), rel=1e-15)
    odds = float(1 / m.channel.max_likelihood_ratio)  # against "a", once it is named
    assert first[0] == pytest.approx(0.3 / (0.3 + 0.7 * odds), rel=1e-12)
    assert first[1] == pytest.approx(0.7 * odds / (0.3 + 0.7 * odds), rel=1e-12, abs=5e-324)


# -- drawing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 5, 1000, 20_000])
@pytest.mark.parametrize("k", [3, 20, 300])
def test_words_do_not_follow_answers(rows, k):
    """The same words are asked for, whatever the answers are."""
    m = UnaryEncoding.optimized(range(k), epsilon=1.0)
    logs = []
    for codes in (np.zeros(rows), np.full(rows, k - 1), np.arange(rows) % k):
        source = Recorded(Counting(1))
        m.randomize(codes.astype(m.domain.dtype), source, 7)
        logs.append(source.log)
    assert logs[0] == logs[1] == logs[2]
    addresses = [(a.stream, a.round) for a in logs[0]]
    assert len(addresses) == len(set(addresses)), "words were used twice"


def test_bits_of_others_do_not_depend_on_the_answer():
    """With the same words, answers change their own bits only."""
    m, rows = UnaryEncoding.symmetric(range(20), 0.75), 5000
    zeros, lasts = (
        m.unpack(m.randomize(np.full(rows, code, np.uint8), Counting(2), 0)) for code in (0, 19)
    )
    assert np.array_equal(zeros[:, 1:19], lasts[:, 1:19])
    assert not np.array_equal(zeros[:, 0], lasts[:, 0])
    # The coin that each gives for its own bit is the same one.
    assert np.array_equal(zeros[:, 0], lasts[:, 19])


def test_few_rows_compare_64_digits_at_once():
    """Below 4096 rows 64 digits are compared before ties are looked for: none can be timed."""
    m = UnaryEncoding.optimized(range(20), epsilon=1.0)
    for rows, digits in ((100, 53 + 1), (5000, samplers._SLICES)):
        source = Recorded(Counting(3))
        m.randomize(np.zeros(rows, np.uint8), source, 0)
        asked = [a for a in source.log if a.stream == samplers.BITS_STREAM and not a.which]
        columns = {(a.round % 2, a.bits) for a in asked}
        assert columns == {(0, 16), (1, 8)}
        assert 2 * digits - 2 <= len(asked) <= 2 * digits


@pytest.mark.parametrize("k", [2, 8, 9, 63, 64, 65, 100, 129, 300])
def test_each_bit_has_its_law(k):
    """Own bits, other bits and their pairs, of every category, in blocks of fresh words.

    False alarm below 1e-9 for each k.
    """
    m, rows = UnaryEncoding(range(k), 0.75, 0.3), 60_000
    codes = (np.arange(rows) % k).astype(m.domain.dtype)
    bits = m.unpack(m.randomize(codes, FreshWords(), 0))
    own = bits[np.arange(rows), codes]
    assert min(chance.p_value(own.sum(), rows, 0.75), 1) > 1e-10
    others = np.array([bits[codes != v, v].sum() for v in range(k)])
    sizes = np.array([(codes != v).sum() for v in range(k)])
    assert chance.p_value(others, sizes, 0.3).min() * k > 1e-10
    # Neighbours are independent, across bytes and words too.
    for v in range(k - 1):
        neither = (codes != v) & (codes != v + 1)
        both = (bits[:, v] & bits[:, v + 1])[neither].sum()
        if neither.any():
            assert chance.p_value(both, neither.sum(), 0.09) * k > 1e-10


def test_spare_bits_are_zero():
    """No bit stands behind the last category, with words of any width."""
    for k in (1 + 8, 13, 60):
        m = UnaryEncoding.optimized(range(k), epsilon=0.1)
        codes = np.zeros(5000, m.domain.dtype)
        for source in (Counting(4), Counting(4, 16), Counting(4, 5), FreshWords()):
            reports = m.randomize(codes, source, 0)
            assert reports.shape == (5000, m.report_space.width)
            assert np.array_equal(m.pack(m.unpack(reports)), reports)


def test_widths_of_words_do_not_change_the_law():
    """From words of 32 bits one by one, the same law as from the shipped widths.

    False alarm 1e-9: 40 comparisons.
    """
    m, rows = UnaryEncoding(range(40), 0.5, 0.125), 40_000
    bits = m.unpack(m.randomize(np.zeros(rows, np.uint8), Counting(5, 32), 0))
    counts = bits[:, 1:].sum(axis=0)
    assert chance.p_value(counts, rows, 0.125).min() * 39 > 1e-9


def test_extreme_probabilities():
    """A bit that is nearly never set costs no endless loop and is nearly never set."""
    m = UnaryEncoding.optimized(range(10), epsilon=700.0)
    bits = m.unpack(m.randomize(np.zeros(6000, np.uint8), FreshWords(), 0))
    assert bits[:, 1:].sum() == 0
    assert 0 < bits[:, 0].sum() < 6000


# -- in one piece ---------------------------------------------------------------------------------


def test_debiased_by_the_published_derivation():
    """One report is (bit - q) / (p - q); an aggregate is (c / n - q) / (p - q).

    For h = e^(eps/2) = 3: p = 3/4, q = 1/4, so a 1 counts 1.5 and a 0 counts -0.5.
    """
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


def test_scripted_bits():
    """A 1 among the digits says "below" at a digit 1 of the probability, and goes on at a 0.

    q = 0.25 is 0.01 in binary: a bit is set where the first word has 1 (go on) and the second
    1 (below).  p = 0.5 is a word of 3 bits below 4.
    """
    m = UnaryEncoding(ABC, 0.5, 0.25)
    source = Scripted({0: [[3, 4]], 1: [[0b110, 0b011], [0b010, 0b111]]}, 3)
    reports = m.randomize(np.array([0, 2], np.uint8), source, 0)
    assert reports[:, 0].tolist() == [0b011, 0b011]


# -- planted faults -------------------------------------------------------------------------------


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


@pytest.mark.parametrize("fault", [OwnBitOr, OneWordForAll])
def test_the_law_catches_planted_faults(fault):
    """Enumeration fails for reports that are nearly right."""
    with pytest.raises(AssertionError):
        check_law(fault(ABC, 0.75, 0.25), law, 3, {0: 1, 1: 2})


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
        check_moments(Multinomial(ABC, 0.75, 0.25), law)
    with pytest.raises(AssertionError):
        check_channel(Multinomial(ABC, 0.75, 0.25), law)


def test_enumeration_sees_every_subset():
    """Each subset is listed once."""
    assert len({tuple(row) for row in bits_of(4).tolist()}) == 16
    assert every_stream(2, {0: 1}).rows == 4
