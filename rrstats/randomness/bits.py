"""Many independent bits at once, each 1 with one exact probability.

A bit is 1 where a uniform number of [0, 1) lies below the probability: their binary digits are
compared, one random word for a digit of all bits of a report.  Where all digits that were compared
are equal, further ones decide, so that the probability is the rational number asked for.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats.randomness.sources import SMALL_CALL_ROWS, Source

__all__ = ["independent_bits"]

Words = NDArray[Any]

BITS_STREAM = 1
"""Behind the stream of the coin for the true category's own bit."""

_SLICES, _MORE_SLICES = 9, 8
"""Binary digits that are compared at once, for all rows, and for those with a tie."""

TINY_WORDS = 32
"""Narrower words than that of a source with one width are compared one by one."""


def independent_bits(
    source: Source, block: int, rows: int, k: int, prob: Fraction
) -> NDArray[np.uint8]:
    """(rows, width) packed bits, each 1 with probability exactly ``prob``; those behind k are 0."""
    sizes = _word_sizes(k, source.bits)
    columns = [
        _bits_of_words(source, block, rows, prob, bits, column, len(sizes))
        for column, bits in enumerate(sizes)
    ]
    last = columns[-1]
    last &= last.dtype.type((1 << (k - sum(sizes[:-1]))) - 1)
    if source.bits is None or source.bits in (8, 16, 32, 64):
        # The words side by side, their lowest byte first, and no more of the last than there is.
        form = np.dtype(
            [(f"{place}", c.dtype.newbyteorder("<")) for place, c in enumerate(columns)]
        )
        side_by_side = np.empty(rows, dtype=form)
        for place, words in enumerate(columns):
            side_by_side[f"{place}"] = words
        packed = side_by_side.view(np.uint8).reshape(rows, form.itemsize)
        return np.ascontiguousarray(packed[:, : -(-k // 8)])
    single = [
        (words >> words.dtype.type(bit)) & words.dtype.type(1)
        for words, bits in zip(columns, sizes, strict=True)
        for bit in range(bits)
    ]
    return np.packbits(np.stack(single[:k], axis=1), axis=1, bitorder="little")


def _word_sizes(k: int, fixed: int | None) -> list[int]:
    """The bits of the words that make up a report; no more than needed, where any will do."""
    if fixed is not None:
        return [fixed] * -(-k // fixed)
    width = -(-k // 8)
    return [64] * (width // 8) + [bits for bits in (32, 16, 8) if width & (bits // 8)]


def _bits_of_words(
    source: Source, block: int, rows: int, prob: Fraction, bits: int, column: int, columns: int
) -> Words:
    """(rows,) words of independent bits, each 1 with probability exactly ``prob``.

    The expansion of ``prob`` is compared with random digits, one word for a digit of all its
    bits; where all digits that were compared are equal, further ones decide.
    """
    tiny = source.bits is not None and source.bits < TINY_WORDS
    # Few rows: a tie could be timed, so none is to happen.
    first = 1 if tiny else 64 if rows < SMALL_CALL_ROWS else _SLICES
    turn = 0

    def compared(which: int | NDArray[np.intp], digits: list[int]) -> tuple[Words, Words]:
        """Whether each bit is below the digits, and whether it is if a tie counts as below."""
        below: Words | None = None
        most: Words | None = None
        # The last digit first: then each is one operation.  A 1 among the random digits says
        # "below" at a 1, and "go on" at a 0; a 0 says "go on" at a 1, and "above" at a 0.
        for place in range(len(digits) - 1, -1, -1):
            address = (turn + place) * columns + column
            words = source.words(BITS_STREAM, block, which, address, bits)
            if digits[place]:
                below = words.copy() if below is None else np.bitwise_or(below, words, out=below)
                most = most if most is None else np.bitwise_or(most, words, out=most)
            else:
                below = below if below is None else np.bitwise_and(below, words, out=below)
                most = words.copy() if most is None else np.bitwise_and(most, words, out=most)
        every = words.dtype.type((1 << bits) - 1)
        return (
            np.zeros_like(words) if below is None else below,
            np.full_like(words, every) if most is None else most,
        )

    digits, goes_on = _digits(prob, 0, first)
    heads, most = compared(rows, digits)
    if not goes_on:
        return heads
    tied = np.flatnonzero(heads != most)
    open_bits = heads[tied] ^ most[tied]
    turn = first
    while tied.size and goes_on:
        digits, goes_on = _digits(prob, turn, 1 if tiny else _MORE_SLICES)
        below, most = compared(tied, digits)
        heads[tied] |= open_bits & below
        open_bits &= below ^ most
        turn += len(digits)
        left = open_bits != 0
        tied, open_bits = tied[left], open_bits[left]
    return heads


def _digits(prob: Fraction, start: int, count: int) -> tuple[list[int], bool]:
    """Some binary digits of a number in (0, 1) behind the first ``start``; whether more follow.

    Of a number that ends there, no more than there are.
    """
    scaled, rest = divmod(prob.numerator << (start + count), prob.denominator)
    digits = [scaled >> (count - 1 - place) & 1 for place in range(count)]
    while not rest and not digits[-1] and len(digits) > 1:
        digits.pop()
    return digits, rest != 0
