"""Draws beside coins and integers: bits, coins of each row, tables and random orders, exactly."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scripted

from rrstats.errors import ArgumentTypeError
from rrstats.randomness import samplers
from rrstats.randomness.samplers import BITS_STREAM, CELL_STREAM
from rrstats.randomness.sources import Substream, open_source

# -- addresses ---------------------------------------------------------------------------------


def test_columns_and_stages_have_streams_of_their_own():
    """A column has 2**16 stages of 16 streams: the last of one is just before the next column."""
    source = scripted.Recorded(scripted.Counting(1))
    first, second = (open_source(source, column=column) for column in (0, 1))
    Substream(first, (1 << 16) - 1).words(15, 2, 3, round=4, bits=8)
    second.words(0, 2, 3, round=4, bits=8)
    assert [asked.stream for asked in source.log] == [(1 << 20) - 1, 1 << 20]


def test_simulated_words_take_32_bytes_of_the_generator():
    """A generator gives 32 bytes to each call and moves on by these alone."""
    generator, other = np.random.default_rng(5), np.random.default_rng(5)
    open_source(generator)
    other.bytes(32)
    assert generator.bytes(16) == other.bytes(16)


# -- a coin of each row ------------------------------------------------------------------------

PROBS = [0.5, 0.75, 0.6, 1 / 3, 0.7310585786300048, 1 - 2**-53, 2**-40, 3 * 2**-70]


@pytest.mark.parametrize("bits", [2, 3])
def test_a_coin_of_each_row_has_exactly_the_probability_of_its_double(bits):
    """Every stream of tiny words, one block with all streams of several probabilities."""
    depth = 12 // bits
    for prob in PROBS:
        source = scripted.EveryStream(bits, {0: depth})
        distribution = source.distribution(
            samplers.coins(source, 0, 0, np.full(source.rows, prob)), 2
        )
        assert distribution.brackets([1 - Fraction(prob), Fraction(prob)])
        assert distribution.undecided <= Fraction(1, 2 ** (bits * depth))
    mixed = np.resize(PROBS, 5000)
    heads = samplers.coins(scripted.Counting(1, bits), 0, 0, mixed)
    for prob in PROBS:  # a row's coin depends on its own probability and words alone
        single = samplers.coin(scripted.Counting(1, bits), 0, 0, 5000, prob=Fraction(prob))
        assert (heads == single)[mixed == prob].all()


def test_ties_of_whole_words_go_on_with_the_next_digits_of_their_own_row():
    """64-bit words at the digits of each row, one below and one above them, in one block."""
    probs = np.array([2**-40 + 2**-90] * 3 + [0.75] * 3 + [3 * 2**-70] * 4)
    digits = [int(Fraction(p) * 2**64) for p in probs.tolist()]
    first = np.array(digits, dtype=np.uint64) + np.array([-1, 0, 1] * 2 + [0] * 4).astype(np.uint64)
    # 2**-90 is 2**38 of the second digit; 3 * 2**-70 is 3 * 2**58; 0.75 ends with the first.
    second = np.array([0, 2**38 - 1, 0, 0, 0, 0, 0, 3 * 2**58 - 1, 3 * 2**58, 2**64 - 1], np.uint64)
    heads = samplers.coins(scripted.Scripted({0: [first, second]}), 0, 0, probs)
    assert heads.tolist() == [True, True, False, True, False, False, True, True, False, False]


# -- independent bits --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "bits", "depth"), [(1, 1, 12), (3, 3, 4), (2, 3, 3), (3, 2, 6), (5, 3, 4)]
)
@pytest.mark.parametrize("prob", [Fraction(3, 4), Fraction(1, 3), Fraction(5, 16), Fraction(7, 8)])
def test_packed_bits_are_independent(k, bits, depth, prob):
    """Each of the 2**k reports has the product of its bits' probabilities, on every stream."""
    source = scripted.EveryStream(bits, {BITS_STREAM: depth})
    packed = samplers.independent_bits(source, 0, source.rows, k=k, prob=prob)
    distribution = source.distribution(packed[:, 0], 1 << k)
    ones = [report.bit_count() for report in range(1 << k)]
    assert distribution.brackets([prob**n * (1 - prob) ** (k - n) for n in ones])
    # Each piece of a report has a word for each digit; any of its bits may still tie.
    pieces = -(-k // bits)
    digits = depth // pieces
    tied = 1 - (1 - Fraction(1, 1 << digits)) ** (bits * pieces)
    ends = prob.denominator.bit_length() - 1 <= digits and prob.denominator.bit_count() == 1
    assert distribution.undecided == (0 if ends else tied)


WIDTHS = {3: [8], 9: [16], 23: [16, 8], 40: [32, 8], 64: [64], 70: [64, 8]}
"""The words of a report of k bits, where the source serves words of any width."""


def plain_bits(source, rows, k, prob):
    """Bits that compare 80 random digits with those of ``prob``, the first difference decides."""
    digits = [int(prob * 2 ** (place + 1)) % 2 for place in range(80)]
    columns = []
    for column, width in enumerate(WIDTHS[k]):
        below = np.zeros((rows, width), dtype=bool)
        is_open = np.ones((rows, width), dtype=bool)
        for place, digit in enumerate(digits):
            address = place * len(WIDTHS[k]) + column
            words = source.words(BITS_STREAM, 5, rows, round=address, bits=width)
            drawn = words[:, None] >> np.arange(width).astype(words.dtype) & 1 == 1
            # A random 1 stands for the digit 0, so that "below" is a 1 at a 1.
            below |= is_open & drawn & (digit == 1)
            is_open &= drawn == (digit == 0)
            if not is_open.any():
                break
        columns.append(below)
    return np.concatenate(columns, axis=1)[:, :k]


@pytest.mark.parametrize("k", WIDTHS)
@pytest.mark.parametrize("rows", [40, 4200])
def test_packed_bits_at_shipped_widths(k, rows):
    """Few rows compare 64 digits at once, many compare 9 and then 8: both the plain bits."""
    source = scripted.Counting(3)
    for prob in (Fraction(1, 3), Fraction(3, 4), Fraction(2**-12), Fraction(0.3)):
        packed = samplers.independent_bits(source, 5, rows, k=k, prob=prob)
        assert packed.shape == (rows, -(-k // 8))
        expected = np.packbits(plain_bits(source, rows, k, prob), axis=1, bitorder="little")
        assert np.array_equal(packed, expected)


# -- tables ------------------------------------------------------------------------------------

HALF, THIRD, SIXTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)
TABLES = [
    [[Fraction(3, 4), Fraction(1, 8)], [Fraction(1, 4), Fraction(7, 8)]],
    [[1, 0, HALF], [0, HALF, Fraction(1, 4)], [0, HALF, Fraction(1, 4)]],
    [[THIRD, 0], [SIXTH, HALF], [0, SIXTH], [HALF, THIRD]],
]


@pytest.mark.parametrize("table_entries", [None, 0], ids=["looked up", "searched"])
@pytest.mark.parametrize("entries", TABLES)
@pytest.mark.parametrize(("bits", "depth"), [(1, 10), (3, 3), (4, 2)])
def test_tables_have_their_columns_as_distributions(
    monkeypatch, table_entries, entries, bits, depth
):
    """For each truth the reports have that column's probabilities, on every stream."""
    if table_entries is not None:
        monkeypatch.setattr(samplers, "_MAX_TABLE_ENTRIES", table_entries)
    entries = [[Fraction(entry) for entry in row] for row in entries]
    sampler = samplers.TableSampler(entries, np.dtype(np.uint8))
    for truth, column in enumerate(zip(*entries, strict=True)):
        source = scripted.EveryStream(bits, {CELL_STREAM: depth})
        reports = sampler.draw(np.full(source.rows, truth), source, 0)
        assert reports.dtype == np.uint8
        distribution = source.distribution(reports, len(entries))
        assert distribution.brackets(column)
        assert distribution.undecided <= Fraction(len(sampler.cuts), 1 << bits * depth)


def test_lots_of_unlike_denominators():
    """Thresholds that are equal as numbers are one cut, however they are written."""
    third, sixth = Fraction(1, 3), Fraction(1, 6)
    near = Fraction(2**60 // 3, 2**60)  # the same double as a third
    entries = [[third, third + sixth, near], [0, sixth, 0], [1 - third, third, 1 - near]]
    drawn = samplers.TableSampler(
        tuple(tuple(map(Fraction, row)) for row in entries), np.dtype(np.uint8)
    )
    assert float(near) == float(third)
    assert drawn.cuts == (near, third, Fraction(1, 2), Fraction(2, 3))


def test_a_table_too_large_to_look_up_gives_the_same_reports(monkeypatch):
    """Thresholds that are searched give each row of a block the report that the table gives."""
    codes = np.resize([2, 0, 1, 1, 0, 2, 0], 5000)
    columns = [[THIRD, 0, SIXTH], [SIXTH, HALF, SIXTH], [HALF, HALF, 2 * THIRD]]
    entries = [[Fraction(entry) for entry in row] for row in columns]
    looked_up = samplers.TableSampler(entries, np.dtype(np.uint8))
    monkeypatch.setattr(samplers, "_MAX_TABLE_ENTRIES", 0)
    searched = samplers.TableSampler(entries, np.dtype(np.uint8))
    reports = [sampler.draw(codes, scripted.Counting(4), 3) for sampler in (looked_up, searched)]
    assert np.array_equal(*reports)
    assert reports[1].dtype == np.uint8


# -- random orders -----------------------------------------------------------------------------


def every_order(bits, rows, rounds):
    """How often `permutation` gives each order, over all streams of tiny words."""
    found, undecided = Counter(), 0
    for words in itertools.product(range(1 << bits), repeat=rows * rounds):
        source = scripted.Scripted({7: np.array(words).reshape(rounds, rows)}, bits)
        try:
            found[tuple(samplers.permutation(source, 7, 0, rows).tolist())] += 1
        except AssertionError:
            undecided += 1
    return found, undecided


@pytest.mark.parametrize(("bits", "rows", "rounds"), [(1, 2, 5), (2, 3, 2), (2, 4, 1), (3, 3, 1)])
def test_every_order_is_equally_likely(bits, rows, rounds):
    """Each of the n! orders has the same number of streams; the rest wait for more words."""
    found, undecided = every_order(bits, rows, rounds)
    assert set(itertools.permutations(range(rows))) == set(found)
    tied = 1 - Fraction(math.perm(1 << bits, rows), 1 << bits * rows)
    assert {(1 - tied**rounds) / math.factorial(rows)} == {
        Fraction(count, 1 << bits * rows * rounds) for count in found.values()
    }
    assert tied**rounds == Fraction(undecided, 1 << bits * rows * rounds)


def test_an_order_from_words_with_ties_would_be_found(monkeypatch):
    """Planted: ties that keep the rows' order make some orders likelier."""
    monkeypatch.setattr(samplers.np, "any", lambda ties: False)
    found, undecided = every_order(2, 3, 1)
    assert 0 == undecided
    assert 1 < len(set(found.values()))


def test_few_rows_are_ordered_by_wide_words():
    """The real words have 64 bits, and no rows or one row need no more than one draw."""
    source = scripted.Recorded(scripted.Counting(1))
    assert [] == samplers.permutation(source, 3, 9, 0).tolist()
    assert [0] == samplers.permutation(source, 3, 9, 1).tolist()
    assert [(3, 9, 0, 0, 64, b""), (3, 9, 1, 0, 64, b"")] == [tuple(a) for a in source.log]
    with pytest.raises(ArgumentTypeError, match="must not repeat its words"):
        samplers.permutation(scripted.Counting(1, bits=1), 0, 0, 3)
