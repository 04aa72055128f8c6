"""Probabilities that differ by row: the coin, the release, and the estimate."""

from fractions import Fraction

import numpy as np
import pytest
from scripted import Counting, EveryStream, Recorded, Scripted

import rrstats as rr
from rrstats.estimation.analysis_columns import variable
from rrstats.mechanisms.epsilon import epsilon_from_prob
from rrstats.mechanisms.krr import KRRByRow
from rrstats.randomness.samplers import coin, coins

PROBS = [0.5, 0.75, 0.6, 1 / 3, 0.7310585786300048, 1 - 2**-53, 2**-40, 3 * 2**-70]


@pytest.mark.parametrize("bits", [2, 3])
def test_a_coin_of_each_row_has_exactly_the_probability_of_its_double(bits):
    """Every stream of tiny words, one block with all streams of several probabilities."""
    depth = 12 // bits
    for prob in PROBS:
        source = EveryStream(bits, {0: depth})
        law = source.law(coins(source, 0, 0, np.full(source.rows, prob)), 2)
        assert law.brackets([1 - Fraction(prob), Fraction(prob)])
        assert law.undecided <= Fraction(1, 2 ** (bits * depth))
    mixed = np.resize(PROBS, 5000)
    found = coins(Counting(1, bits), 0, 0, mixed)
    for prob in PROBS:  # a row's coin depends on its own probability and words alone
        alone = coin(Counting(1, bits), 0, 0, 5000, prob=Fraction(prob))
        assert (found == alone)[mixed == prob].all()


def test_ties_of_whole_words_go_on_with_the_next_digits_of_their_own_row():
    """64-bit words at the digits of each row, one below and one above them, in one block."""
    probs = np.array([2**-40 + 2**-90] * 3 + [0.75] * 3 + [3 * 2**-70] * 4)
    digits = [int(Fraction(p) * 2**64) for p in probs.tolist()]
    first = np.array(digits, dtype=np.uint64) + np.array([-1, 0, 1] * 2 + [0] * 4).astype(np.uint64)
    # 2**-90 is 2**38 of the second digit; 3 * 2**-70 is 3 * 2**58; 0.75 ends with the first.
    second = np.array([0, 2**38 - 1, 0, 0, 0, 0, 0, 3 * 2**58 - 1, 3 * 2**58, 2**64 - 1], np.uint64)
    found = coins(Scripted({0: [first, second]}), 0, 0, probs)
    assert found.tolist() == [True, True, False, True, False, False, True, True, False, False]


def test_words_of_a_block_do_not_depend_on_answers():
    """The same addresses for all answers; the shift of a lie is drawn for every row."""
    logs, m = [], rr.KRR(range(5), 0.5)
    for answer in (0, 4):
        source = Recorded(Counting(3))
        m.randomize(
            np.full(999, answer, dtype=m.domain.dtype), source, 0, np.linspace(0.2, 0.9, 999)
        )
        logs.append(source.addresses)
    assert logs[0] == logs[1]
    assert {one.stream for one in logs[0]} == {0, 1}


@pytest.mark.parametrize("k", [2, 3, 1000])
def test_the_epsilon_of_each_row_is_at_most_what_was_asked(k):
    """The exact epsilon of each row's double: not above the column, and at most 1e-9 below it."""
    epsilons = [1e-12, 1e-6, 0.01, 0.5, 1, 3, 8, 20, 36]
    m = KRRByRow(range(k), epsilon=epsilons, rows=9)
    exact = [epsilon_from_prob(prob, k) for prob in m.probs.tolist()]
    assert all(0 <= asked - got for asked, got in zip(epsilons, exact, strict=True))
    assert all(asked - got < 1e-9 for asked, got in zip(epsilons[:-2], exact, strict=False))
    assert (m.probs >= 1 / k).all()
    assert m.epsilon == max(m.epsilon, *exact) <= 36
    assert m.largest == rr.KRR(range(k), epsilon=36)


def test_scores_of_rows_are_unbiased_and_those_of_their_mechanism():
    """The scores of each row are those of a column of its k-RR."""
    probs, reports = [0.4, 0.5, 0.9, 0.7], ["a", "c", None, "b"]
    found = variable(reports, list("abc"), probs).scores()
    for row, prob in enumerate(probs):
        expected = variable(reports[row : row + 1], list("abc"), prob).scores()
        np.testing.assert_allclose(found[row : row + 1], expected, rtol=1e-12)
