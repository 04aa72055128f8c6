"""The sampled distribution is the published one: shipped code on every stream of tiny words.

Each check below is a function of the code it checks, so that the last part can hand it copies
of the shipped modules with one planted fault each, and see every one caught.
"""

import inspect
import types
from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scripted

import rrstats as rr
from rrstats.data.encoders import Encoded
from rrstats.mechanisms import krr
from rrstats.privatization import column as column_release
from rrstats.privatization import frame as privatizing
from rrstats.randomness import samplers
from rrstats.randomness.sources import BLOCK_ROWS, REPLACEMENT_STREAM

COIN, LIE = 0, 1

# Digits that end early and late, 1/k, and doubles within 2**-11 of 0 and of 1.
PROBS = [
    *(Fraction(m, 16) for m in range(1, 16)),
    *(Fraction(1 / k) for k in (3, 5, 257, 70_000)),
    *(Fraction(x) for x in (0.7, 0.1, 2**-12, 5e-324, 0.75 * 2**-11, 2**-11 + 2**-40)),
    *(1 - Fraction(x) for x in (2**-12, 2**-53, 0.75 * 2**-11, 2**-11 + 2**-40)),
    Fraction(1, 3),
]


def split(x, bits, depth):
    """What ``depth`` digits of x decide: the share surely below x, and whether more is left."""
    scaled = x * (1 << bits * depth)
    return Fraction(scaled // 1, 1 << bits * depth), scaled.denominator != 1


# -- checks: functions of the code that they check ------------------------------------------


def check_coin(code):
    for bits, depth in ((1, 12), (2, 2), (3, 4), (4, 3), (8, 1)):
        for prob in PROBS:
            source = scripted.EveryStream(bits, {COIN: depth})
            distribution = source.distribution(
                code.coin(source, COIN, 0, source.rows, prob=prob), 2
            )
            decided, more = split(prob, bits, depth)
            assert more * Fraction(1, source.rows) == distribution.undecided
            assert decided == distribution.probs[True]
            assert distribution.brackets([1 - prob, prob])


def check_below(code):
    small = [(b, d, k) for b, d in ((1, 8), (3, 4), (5, 3)) for k in range(2, 2**b + 1)]
    large = [(8, 2, 255), (8, 2, 256), (9, 2, 256), (9, 2, 257), (17, 1, 69_999), (20, 1, 70_000)]
    for bits, depth, bound in [*small, *large]:
        source = scripted.EveryStream(bits, {LIE: depth})
        distribution = source.distribution(
            code.below(source, LIE, 0, source.rows, bound=bound), bound
        )
        rejected = Fraction((1 << bits) % bound, 1 << bits)
        assert rejected**depth == distribution.undecided
        assert {(1 - rejected**depth) / bound} == set(distribution.probs)


CUTS = [
    [Fraction(1, 2)],
    [Fraction(1, 3), Fraction(2, 3)],
    [Fraction(m, 8) for m in range(1, 8)],
    [Fraction(1, 1000), Fraction(2, 1000), Fraction(1, 4), Fraction(999, 1000)],
    [Fraction(0.1), Fraction(0.1) + Fraction(1, 2**60), Fraction(5, 8), Fraction(0.7)],
    [Fraction(m, 37) for m in range(1, 37)],
    [],
]


def check_cells(code):
    for bits, depth in ((1, 8), (2, 5), (3, 4), (6, 2), (10, 1)):
        for cuts in CUTS:
            source = scripted.EveryStream(bits, {COIN: depth})
            drawn = code.cells(source, COIN, 0, source.rows, cuts=cuts)
            distribution = source.distribution(drawn, len(cuts) + 1)
            inside = {split(c, bits, depth)[0] for c in cuts if split(c, bits, depth)[1]}
            assert Fraction(len(inside), source.rows) == distribution.undecided
            edges = [Fraction(0), *cuts, Fraction(1)]
            assert distribution.brackets([high - low for low, high in pairwise(edges)])
    # Fewer rows than words: the search instead of the table, compared row by row.
    cuts = [1, 15, 16, 17, 64, 200, 201, 255]
    for start in range(0, 256, 15):
        rows = np.arange(start, min(start + 15, 256))
        source = scripted.Scripted({COIN: [rows >> 4, rows & 15]}, bits=4)
        drawn = code.cells(source, COIN, 0, len(rows), cuts=[Fraction(c, 256) for c in cuts])
        assert [bisect_right(cuts, row) for row in rows] == drawn.tolist()


def krr_distribution(k, prob, truth):
    return [prob if y == truth else (1 - prob) / (k - 1) for y in range(k)]


def check_krr(code):
    cases = [
        (k, prob, 3, {COIN: 2, LIE: 2})
        for k in (2, 3, 5)
        for prob in (1 / k, 0.5, 0.7, 0.75, 63 / 64, 1 - 2**-12, 1 - 2**-53)
        if prob >= 1 / k
    ]
    cases += [
        (k, prob, 8, {COIN: 1, LIE: 1})
        for k in (256, 257)
        for prob in (1 / k, 1 / 256, 0.75, 1 - 2**-12, 1 - 2**-53)
        if prob >= 1 / k
    ]
    for k, prob, bits, depths in cases:
        mechanism = code.KRR(range(k), prob)
        target = Fraction(prob)
        keeps, more = split(target, bits, depths[COIN])
        lies = 1 - Fraction((1 << bits) % (k - 1), 1 << bits) ** depths[LIE]
        flips = 1 - keeps - more * Fraction(1, 1 << bits * depths[COIN])
        for truth in {0, 1, k - 1}:
            source = scripted.EveryStream(bits, depths)
            codes = np.full(source.rows, truth, dtype=mechanism.domain.dtype)
            distribution = source.distribution(mechanism.randomize(codes, source), k)
            # Coin and lie come from disjoint streams: the distribution is the product.
            expected = [flips * lies / (k - 1)] * k
            expected[truth] = keeps * lies
            assert expected == distribution.probs
            assert distribution.brackets(krr_distribution(k, target, truth))


def check_replacement(code):
    for k, prob in ((2, 0.75), (2, 0.5), (3, 0.75), (3, 1 / 3), (5, 0.7)):
        mechanism = rr.KRR(range(k), prob)
        for answer in (0, k - 1, k, k + 1):
            bits, depth = (2, 2) if k < 5 else (3, 2)
            depths = {REPLACEMENT_STREAM: depth, COIN: depth, LIE: depth}
            source = scripted.EveryStream(bits, depths)
            codes = np.full(source.rows, answer, dtype=mechanism.domain.dtype)
            reports = code.randomize_block(mechanism, Encoded.of(codes, k), source, 0)
            distribution = source.distribution(reports, k)
            if answer < k:
                assert distribution.brackets(krr_distribution(k, Fraction(prob), answer))
                assert distribution.probs[answer] == max(distribution.probs)
            else:
                assert {(1 - distribution.undecided) / k} == set(distribution.probs)


def check_blocks(code):
    """Blocks have words of their own, and threads change nothing."""
    k, rows = 200, 2 * BLOCK_ROWS + 3000
    mechanism = rr.KRR(range(k), 0.3)
    truth = np.zeros(rows, dtype=np.uint8)
    results = []
    for threads in (1, 2, 5):
        source = scripted.Recorded(scripted.Counting(7))
        results.append(code.privatize(truth, mechanism, rng=source, threads=threads))
        assert len(source.log) == len({asked[:2] + asked[3:4] for asked in source.log})
    first, second, third = (results[0][b * BLOCK_ROWS :][:3000] for b in range(3))
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()
    # Equal by chance in 0.3**2 + 0.7**2 / 199 of the rows: 277 of 3000; a shared block, in all.
    for one, other in ((first, second), (first, third), (second, third)):
        assert np.count_nonzero(one == other) < 600


CHECKS = {
    "coin": (check_coin, samplers),
    "below": (check_below, samplers),
    "cells": (check_cells, samplers),
    "krr": (check_krr, krr),
    "replacement": (check_replacement, column_release),
    "blocks": (check_blocks, privatizing),
}


@pytest.mark.parametrize("name", CHECKS)
def test_EveryStream_gives_the_published_distribution(name):
    """Coin, integers, cells, k-RR and replacement have their exact distributions in each block."""
    check, shipped = CHECKS[name]
    check(shipped)


# -- planted faults ---------------------------------------------------------------------------


def edited(module, *edits, **names):
    """A copy of a shipped module with planted faults: text edits, or other names inside."""
    text = inspect.getsource(module)
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    copy = types.ModuleType(module.__name__)
    exec(compile(text, f"<edited {module.__name__}>", "exec"), copy.__dict__)
    copy.__dict__.update(names)
    return copy


FIRST = "source.words(stream, block, rows, round=0, bits=bits)"
FIRST_OF_ALL = "np.repeat(source.words(stream, block, 1, round=0, bits=bits), rows)"
REJECTED = "np.flatnonzero(words >= length * bound)"
SPLIT = "digit = scaled.numerator // scaled.denominator"

SAMPLER_FAULTS = {
    "coin: <= for <": ("= drawn < digit", "= drawn <= digit"),
    "coin: <= for < after a tie": ("[drawn < digit]", "[drawn <= digit]"),
    "coin: ties dropped": ("while rest and tied.size", "while False"),
    "coin: ties forever true": ("= drawn < digit", "= drawn <= digit - (not rest)"),
    "coin: threshold rounded": (SPLIT, "digit = round(scaled)"),
    "coin: tie reads the first word again": ("tied, round=turn", "tied, round=0"),
    "coin: one for all": (f"{FIRST}\n    heads", f"{FIRST_OF_ALL}\n    heads"),
    "below: no rejection": (REJECTED, "np.flatnonzero(words > 1 << bits)"),
    "below: one rejected too many": (REJECTED, "np.flatnonzero(words >= length * bound - 1)"),
    "below: one rejected too few": (REJECTED, "np.flatnonzero(words > length * bound)"),
    "below: runs too long": ("= (1 << bits) // bound", "= -(-(1 << bits) // bound)"),
    "below: never drawn again": ("if length * bound == 1 << bits:", "if True:"),
    "below: rejected once only": (
        "while pending.size:\n        turn",
        "if pending.size:\n        turn",
    ),
    "below: later draws not rejected": ("pending[again >= length * bound]", "pending[:0]"),
    "below: later words of other rows": (
        "pending, round=turn",
        "np.arange(len(pending)), round=turn",
    ),
    "below: one for all": (f"{FIRST}\n    run", f"{FIRST_OF_ALL}\n    run"),
    "cells: edges on the wrong side": ('words, side="right"', 'words, side="left"'),
    "cells: table on the wrong side": ("counts[words]", "np.append(0, counts)[words]"),
    "cells: inside cuts dropped": ("pending = undecided", "pending = []"),
    "cells: settled cuts forgotten": ("first_cell + settled", "first_cell"),
    "cells: round reused": ("open_rows, round=turn", "open_rows, round=0"),
    "cells: cuts refined at the wrong scale": (".append(rest)", ".append(cut)"),
}


@pytest.mark.parametrize("fault", SAMPLER_FAULTS)
def test_a_fault_in_the_sampler_is_caught(fault):
    """A copy of the sampler with one classic fault fails its check."""
    check, shipped = CHECKS[fault.partition(":")[0]]
    faulty = edited(shipped, SAMPLER_FAULTS[fault])
    with pytest.raises(AssertionError):
        check(faulty)


def lie_may_hit_the_truth(source, stream, block, rows, bound):
    return samplers.below(source, stream, block, rows, bound=bound + 1).astype(np.int64) - 1


def lie_of_the_neighbour(source, stream, block, rows, bound, only=None):
    return np.zeros(rows if only is None else len(only), dtype=np.int64)


def lie_below_one_more(source, stream, block, rows, bound, only=None):
    return samplers.below(source, stream, block, rows, bound=bound + 1, only=only)


def coin_of_the_lie(source, stream, block, rows, prob):
    return samplers.coin(source, LIE, block, rows, prob=prob)


def below_by_remainder(source, stream, block, rows, bound, only=None):
    values = source.words(stream, block, rows, round=0, bits=source.bits) % bound
    return values if only is None else values[only]


class FixedAddress:
    """A source that forgets a part of the address."""

    def __init__(self, source, **fixed):
        self.source, self.fixed = source, fixed
        self.bits, self.secure = source.bits, source.secure

    def words(self, stream, block, rows, round, bits):
        address = {"stream": stream, "block": block, "round": round} | self.fixed
        return self.source.words(rows=rows, bits=bits, **address)


def below_of_block_0(source, *rest, **named):
    return samplers.below(FixedAddress(source, block=0), *rest, **named)


def coin_of_block_0(source, *rest, **named):
    return samplers.coin(FixedAddress(source, block=0), *rest, **named)


def krr_of_block_0():
    return edited(krr, coin=coin_of_block_0, below=below_of_block_0).KRR


WIRING_FAULTS = {
    "k for k - 1": ("krr", {"below": lie_below_one_more}),
    "a lie may hit the truth": ("krr", {"below": lie_may_hit_the_truth}),
    "lies to the neighbour only": ("krr", {"below": lie_of_the_neighbour}),
    "lie by remainder": ("krr", {"below": below_by_remainder}),
    "lie from the coin's stream": ("krr", {"LIE_STREAM": COIN}),
    "coin from the lie's stream": ("krr", {"coin": coin_of_the_lie}),
    "replacement from the coin's stream": ("replacement", {"REPLACEMENT_STREAM": COIN}),
    "replacement from the lie's stream": ("replacement", {"REPLACEMENT_STREAM": LIE}),
    "replacement by one category": ("replacement", {"below": lie_of_the_neighbour}),
    "replacement by remainder": ("replacement", {"below": below_by_remainder}),
    "replacement below k + 1": ("replacement", {"below": lie_below_one_more}),
}


@pytest.mark.parametrize("fault", WIRING_FAULTS)
def test_a_fault_in_the_wiring_is_caught(fault):
    """k-RR or the replacement of unknown answers with one classic fault fails its check."""
    name, names = WIRING_FAULTS[fault]
    check, shipped = CHECKS[name]
    faulty = edited(shipped, **names)
    with pytest.raises(AssertionError):
        check(faulty)


def test_the_same_block_twice_is_caught(monkeypatch):
    """A mechanism that always reads block 0 repeats its noise, and fails the block check."""
    monkeypatch.setattr(rr, "KRR", krr_of_block_0())
    with pytest.raises(AssertionError):
        check_blocks(privatizing)


# -- shipped widths -----------------------------------------------------------------------------


def test_a_large_domain_lies_evenly():
    """k = 70,000: of 2**17 words each of the 69,999 lies has one; the others are drawn again."""
    k, rows = 70_000, 1 << 17
    mechanism = rr.KRR(range(k), 1 / k)
    never, again = np.full(rows, rows - 1), np.full(rows, 5)
    script = {COIN: [never], LIE: [np.arange(rows), again]}
    truth = np.full(rows, 69_998, dtype=mechanism.domain.dtype)
    reports = mechanism.randomize(truth, scripted.Scripted(script, bits=17))
    counts = np.bincount(reports, minlength=k)
    drawn_again = 5 // (rows // (k - 1))  # the lie that the word 5 stands for, less one
    expected = np.ones(k, dtype=int)
    expected[69_998] = 0
    expected[(69_998 + 1 + drawn_again) % k] += rows - (k - 1)
    assert expected.tolist() == counts.tolist()


def digits_of(prob, widths):
    """The digits of prob in these widths, and how many of them there are."""
    rest, digits = Fraction(prob), []
    for bits in widths:
        if not rest:
            break
        rest *= 1 << bits
        digits.append(int(rest // 1))
        rest -= rest // 1
    assert not rest
    return digits


@pytest.mark.parametrize("rows", [1, 4095, 4096, BLOCK_ROWS])
@pytest.mark.parametrize("prob", [0.7, 1 / 3, 2**-12, 1 - 2**-53, 5e-324, 0.5])
def test_the_last_digit_decides_at_shipped_widths(rows, prob):
    """Ties up to the last digit: one less is True, equal and one more are False."""
    first = 64 if rows < 4096 else 8
    digits = digits_of(prob, [first] + [64] * 17)
    for last, expected in ((-1, True), (0, False), (1, False)):
        words = [*digits[:-1], digits[-1] + last]
        if words[-1] >= 1 << (64 if len(words) > 1 else first):
            continue
        table = {COIN: [np.full(rows, word, dtype=np.uint64) for word in words]}
        source = scripted.Recorded(scripted.Scripted(table))
        heads = samplers.coin(source, COIN, 0, rows, prob=Fraction(prob))
        assert [first, *[64] * (len(words) - 1)] == [asked.bits for asked in source.log]
        assert {expected} == set(heads.tolist())


def test_bytes_first_and_only_ties_go_on():
    """All bytes over 4096 rows at prob 0.7: 16 rows tie with 179, and their next word decides."""
    rows, digits = 4096, digits_of(0.7, [8, 64])
    first = np.tile(np.arange(256), 16)
    second = np.where(np.arange(rows) < rows // 2, digits[1] - 1, digits[1]).astype(np.uint64)
    source = scripted.Recorded(scripted.Scripted({COIN: [first, second]}))
    heads = samplers.coin(source, COIN, 0, rows, prob=Fraction(0.7))
    assert [(rows, 8), (16, 64)] == [(asked.rows, asked.bits) for asked in source.log]
    assert heads.sum() == 16 * 179 + 8


@pytest.mark.parametrize(("rows", "first"), [(500, 64), (5000, 16), (1 << 17, 16)])
def test_cells_at_shipped_widths_agree_with_whole_fractions(rows, first):
    """The cell is the place of 0.w1w2 among the cuts, with 64-bit or 16-bit first words."""
    cuts = sorted({Fraction(m, 1009) for m in range(1, 1009, 40)} | {Fraction(1, 4)})
    source = scripted.Counting(3)
    drawn = samplers.cells(source, COIN, 0, rows, cuts=cuts)
    one = source.words(COIN, 0, rows, round=0, bits=first).tolist()
    two = source.words(COIN, 0, rows, round=1, bits=64).tolist()
    scaled = [cut * (1 << (first + 64)) for cut in cuts]
    expected = [bisect_right(scaled, (a << 64) + b) for a, b in zip(one, two, strict=True)]
    assert expected == drawn.tolist()


def test_integers_use_the_narrowest_word_that_is_rarely_rejected():
    """Each width of a first integer word, by its bound; rejection is below one in 64."""
    for bound, bits in ((2, 8), (4, 8), (99, 16), (256, 8), (257, 16), (65_536, 16), (69_999, 32)):
        source = scripted.Recorded(scripted.Counting(1))
        samplers.below(source, LIE, 0, 10, bound=bound)
        assert bits == source.log[0].bits
        assert ((1 << bits) % bound) * 64 <= 1 << bits


@pytest.mark.parametrize("bound", [2, 3, 6, 200])
def test_integers_of_some_rows_are_those_of_all_rows(bound):
    """Asked for some rows only, the same words are drawn, and these rows get the same."""
    rows = 5000
    all_of_them = scripted.Recorded(scripted.Counting(5))
    values = samplers.below(all_of_them, LIE, 0, rows, bound=bound)
    for only in (np.array([], dtype=np.intp), np.arange(0, rows, 7), np.arange(rows)):
        some = scripted.Recorded(scripted.Counting(5))
        assert (
            values[only].tolist()
            == samplers.below(some, LIE, 0, rows, bound=bound, only=only).tolist()
        )
        assert all_of_them.log == some.log


def test_certain_coins_and_single_integers_draw_nothing():
    """prob 0 and 1, bound 1 and no cuts need no words."""
    source = scripted.Scripted({})
    assert samplers.coin(source, COIN, 0, 3, prob=Fraction(0)).tolist() == [False] * 3
    assert samplers.coin(source, COIN, 0, 3, prob=Fraction(1)).tolist() == [True] * 3
    assert samplers.below(source, LIE, 0, 3, bound=1).tolist() == [0] * 3
    assert samplers.cells(source, COIN, 0, 3, cuts=[]).tolist() == [0] * 3
