"""Exact random draws from addressed words: coins, integers, cells, bits, tables and permutations.

The sampled probability is exactly the requested rational number.  A coin compares the binary
expansion of the probability, digit by digit, with random digits; integers come from equal runs of
words, with rejection; a table cuts [0, 1) at the union of all columns' thresholds.  Tests enumerate
every stream of tiny words through this code.
Source: Lemire (2019), "Fast random integer generation in an interval", who compares the ways.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._frozen import Shared, fixed
from rrstats._typing import Array, Booleans, Floats, Indices
from rrstats.errors import ArgumentTypeError
from rrstats.randomness.sources import SMALL_CALL_ROWS, Rows, Source

_MAX_TURNS = 64
"""Words of 64 bits for 2**32 rows repeat in every turn with a chance below 2**-64."""

_MAX_NARROW_CUTS = 512
"""With more cuts nearly every 16-bit word would have one inside, so words of 32 bits are drawn."""

_MAX_REJECTION_BITS = 6
"""A word is narrow enough if at most one draw in 2**6 = 64 is rejected."""


@lru_cache(maxsize=1024)
def _split(remainder: Fraction, bits: int) -> tuple[int, Fraction]:
    """The next digit of an expansion in base 2**bits, and the remainder behind it."""
    scaled = remainder * (1 << bits)
    digit = scaled.numerator // scaled.denominator
    return digit, scaled - digit


def coin(source: Source, stream: int, block: int, rows: int, *, prob: Fraction) -> Booleans:
    """Draw independent coins.

    Parameters
    ----------
    source : Source
        The words.
    stream, block, rows : int
        Their address, and how many coins.
    prob : Fraction
        The exact probability of True.

    Returns
    -------
    ndarray of bool of shape (rows,)

    Notes
    -----
    A word below the digit of ``prob`` decides True, above it False; a tie goes on with the
    next digit and a fresh word.  When the digits are used up a tie means False.
    """
    if not 0 < prob.numerator < prob.denominator:
        return np.full(rows, prob >= 1)
    bits = source.bits or (64 if rows < SMALL_CALL_ROWS else 8)
    digit, rest = _split(prob, bits)
    drawn = source.words(stream, block, rows, round=0, bits=bits)
    heads: Booleans = drawn < digit
    if not rest:
        return heads
    tied = np.flatnonzero(drawn == digit)
    turn = 0
    while rest and tied.size:
        turn += 1
        bits = source.bits or 64
        digit, rest = _split(rest, bits)
        drawn = source.words(stream, block, tied, round=turn, bits=bits)
        heads[tied[drawn < digit]] = True
        tied = tied[drawn == digit]
    return heads


def coins(source: Source, stream: int, block: int, probs: Floats) -> Booleans:
    """Draw independent coins, each with a probability of its own.

    Parameters
    ----------
    source : Source
        The words.
    stream, block : int
        Their address.
    probs : ndarray of shape (rows,)
        The probabilities of True; each double is used as an exact rational number.

    Returns
    -------
    ndarray of bool of shape (rows,)

    Notes
    -----
    As for `coin`: multiplying by a power of two and splitting off the fraction are exact.
    """
    bits = source.bits or 64
    rest = probs
    heads = np.zeros(len(probs), dtype=np.bool_)
    pending = np.arange(len(probs))
    turn = 0
    while pending.size:
        rest, digits = np.modf(rest * 2.0**bits)
        rows: Rows = pending if turn else len(probs)
        drawn = source.words(stream, block, rows, round=turn, bits=bits)
        limits = digits.astype(drawn.dtype)
        heads[pending] = drawn < limits
        tied = (drawn == limits) & (rest > 0)
        pending = pending[tied]
        rest = rest[tied]
        turn += 1
    return heads


def below(
    source: Source,
    stream: int,
    block: int,
    rows: int,
    *,
    bound: int,
    only: Indices | None = None,
) -> Array:
    """Draw independent integers, each of 0 .. bound-1 with probability exactly 1/bound.

    Parameters
    ----------
    source : Source
        The words.
    stream, block, rows : int
        Their address, and how many rows.
    bound : int
        At most 2**32.
    only : ndarray of int, optional
        Increasing indices of the rows whose integers are returned.  Words are drawn for all rows,
        so that they reveal nothing about these rows.

    Returns
    -------
    ndarray of shape (rows,) or (len(only),)

    Notes
    -----
    The words are cut into ``bound`` runs of equal length, one for each integer; the few words
    behind the last run are drawn again.  NumPy divides by one number as fast as it multiplies,
    and nothing has to be wider than the word.
    """
    if bound == 1:
        return np.zeros(rows if only is None else len(only), dtype=np.uint8)
    bits = source.bits or _narrowest_word(bound)
    length = (1 << bits) // bound
    words = source.words(stream, block, rows, round=0, bits=bits)
    run = words.dtype.type(length)
    values: Array = (words if only is None else words[only]) // run
    if length * bound == 1 << bits:
        return values
    pending = np.flatnonzero(words >= length * bound)
    turn = 0
    while pending.size:
        turn += 1
        again = source.words(stream, block, pending, round=turn, bits=bits)
        if only is None:
            values[pending] = again // run
        else:
            is_returned = np.isin(pending, only)
            places = np.searchsorted(only, pending[is_returned])
            values[places] = again[is_returned] // run
        pending = pending[again >= length * bound]
    return values


def _narrowest_word(bound: int) -> int:
    """The bits of the narrowest word whose draws are rarely rejected."""
    for bits in (8, 16):
        rejected = (1 << bits) % bound
        if bound <= 1 << bits and rejected <= 1 << (bits - _MAX_REJECTION_BITS):
            return bits
    return 32


def _lookup(words: Array, digits: list[int], tying: list[int], bits: int) -> tuple[Any, Any]:
    """The number of digits (increasing) up to each word, and the places of words in ``tying``."""
    limits = np.array(digits, dtype=np.uint64)
    if words.size < 1 << bits:
        ties = np.isin(words, np.array(tying, dtype=words.dtype))
        return np.searchsorted(limits, words, side="right"), np.flatnonzero(ties)
    counts = np.cumsum(np.bincount(limits.astype(np.intp), minlength=1 << bits))
    is_tying = np.zeros(1 << bits, dtype=np.bool_)
    is_tying[tying] = True
    return counts[words], np.flatnonzero(is_tying.take(words))


def cells(
    source: Source, stream: int, block: int, rows: int, *, cuts: Sequence[Fraction]
) -> Indices:
    """Draw independent cells of [0, 1); cell j, below cuts[j], has probability of its length.

    Parameters
    ----------
    source : Source
        The words.
    stream, block, rows : int
        Their address, and how many cells.
    cuts : sequence of Fraction
        Increasing numbers strictly between 0 and 1; there is one cell more than cuts.

    Returns
    -------
    ndarray of int of shape (rows,)

    Notes
    -----
    A word names an interval of [0, 1); where a cut is inside that interval, further words
    refine it.
    """
    drawn = np.zeros(rows, dtype=np.intp)
    # Rows in one interval that needs a word: their first cell, and the cuts inside, scaled
    # so that the interval is [0, 1).
    pending = [(np.arange(rows), 0, list(cuts))] if cuts else []
    turn = 0
    while pending:
        first_bits = 32 if len(cuts) > _MAX_NARROW_CUTS else 16
        bits = source.bits or (64 if turn or rows < SMALL_CALL_ROWS else first_bits)
        # All intervals of a round share an address, so one request draws their words.
        open_rows = np.sort(np.concatenate([entry[0] for entry in pending])) if turn else rows
        words = source.words(stream, block, open_rows, round=turn, bits=bits)
        undecided = []
        for members, first_cell, inside in pending:
            word = words[np.searchsorted(open_rows, members)] if turn else words
            digits: list[int] = []
            refined: dict[int, list[Fraction]] = {}
            for cut in inside:
                digit, rest = _split(cut, bits)
                digits.append(digit)
                # A cut at the lower edge of a word's interval is settled; one inside is not.
                if rest:
                    refined.setdefault(digit, []).append(rest)
            places, tied = _lookup(word, digits, list(refined), bits)
            drawn[members if turn else slice(None)] = first_cell + places
            for digit in np.unique(word[tied]).tolist():
                equal = members[tied[word[tied] == digit]]
                settled = bisect_right(digits, digit) - len(refined[digit])
                undecided.append((equal, first_cell + settled, refined[digit]))
        pending = undecided
        turn += 1
    return drawn


def permutation(source: Source, stream: int, block: int, rows: int) -> Indices:
    """Draw a uniformly random order of rows, each of the rows! orders equally likely.

    Parameters
    ----------
    source : Source
        The words.
    stream, block, rows : int
        Their address, and how many rows.

    Returns
    -------
    ndarray of int of shape (rows,)

    Notes
    -----
    The permutation sorts one word for each row.  If two words are equal, all are drawn again,
    because the order would not be uniform.
    """
    bits = source.bits or 64
    for turn in range(_MAX_TURNS):
        words = source.words(stream, block, rows, round=turn, bits=bits)
        order = np.argsort(words)
        ordered = words[order]
        if not np.any(ordered[1:] == ordered[:-1]):
            return np.asarray(order)
    raise ArgumentTypeError("rng must not repeat its words; found a source that does")


Words = NDArray[Any]

BITS_STREAM = 1
"""Behind the stream of the coin for the true category's own bit."""

_FIRST_DIGITS = 9
"""Binary digits that are compared at once for all rows."""

_NEXT_DIGITS = 8
"""Binary digits that are compared at once for the rows with a tie."""

_SMALL_CALL_DIGITS = 64
"""Digits compared at once for few rows: a tie could be timed, so it must hardly ever happen."""

TINY_WORDS = 32
"""Narrower words than that of a source with one width are compared one by one."""


def independent_bits(
    source: Source, block: int, rows: int, *, k: int, prob: Fraction
) -> NDArray[np.uint8]:
    """Draw packed bits, each 1 with probability exactly ``prob``.

    Parameters
    ----------
    source : Source
        The words.
    block, rows : int
        Their address, and how many reports.
    k : int
        Bits of a report.
    prob : Fraction
        The exact probability of a 1.

    Returns
    -------
    ndarray of uint8 of shape (rows, width)
        The bits behind k are 0.

    Notes
    -----
    A bit is 1 where a uniform number of [0, 1) lies below ``prob``: their binary digits are
    compared, one random word for a digit of all bits of a report.
    """
    sizes = _word_sizes(k, source.bits)
    columns = [
        _bits_of_words(source, block, rows, prob, bits=bits, column=column, columns=len(sizes))
        for column, bits in enumerate(sizes)
    ]
    columns[-1] &= columns[-1].dtype.type((1 << (k - sum(sizes[:-1]))) - 1)
    # The words side by side, their lowest byte first.
    lowest_first = [c.astype(c.dtype.newbyteorder("<"), copy=False) for c in columns]
    width = sum(c.itemsize for c in columns)
    packed = np.rec.fromarrays(lowest_first).view(np.uint8).reshape(rows, width)
    if source.bits is not None and source.bits % 8:
        bits = np.unpackbits(packed, axis=1, bitorder="little").reshape(rows, len(columns), -1)
        return np.packbits(bits[:, :, : source.bits].reshape(rows, -1)[:, :k], 1, bitorder="little")
    return np.ascontiguousarray(packed[:, : -(-k // 8)])


def _word_sizes(k: int, fixed: int | None) -> list[int]:
    """The bits of the words that make up a report; no more than needed, where any will do."""
    if fixed is not None:
        return [fixed for _ in range(-(-k // fixed))]
    width = -(-k // 8)
    full_words = [64 for _ in range(width // 8)]
    return full_words + [bits for bits in (32, 16, 8) if width & (bits // 8)]


def _bits_of_words(
    source: Source, block: int, rows: int, prob: Fraction, *, bits: int, column: int, columns: int
) -> Words:
    """(rows,) words of independent bits, each 1 with probability exactly ``prob``.

    The expansion of ``prob`` is compared with random digits, one word for a digit of all its
    bits; where all digits that were compared are equal, further ones decide.
    """
    is_tiny = source.bits is not None and source.bits < TINY_WORDS
    first_digits = _SMALL_CALL_DIGITS if rows < SMALL_CALL_ROWS else _FIRST_DIGITS
    if is_tiny:
        first_digits = 1
    turn = 0

    def draw(rows_to_draw: Rows, place: int) -> Words:
        address = (turn + place) * columns + column
        return source.words(BITS_STREAM, block, rows_to_draw, round=address, bits=bits)

    digits, goes_on = _digits(prob, 0, first_digits)
    heads, most = _compared(partial(draw, rows), digits, bits)
    if not goes_on:
        return heads
    tied = np.flatnonzero(heads != most)
    open_bits = heads[tied] ^ most[tied]
    turn = first_digits
    while tied.size and goes_on:
        digits, goes_on = _digits(prob, turn, 1 if is_tiny else _NEXT_DIGITS)
        below, most = _compared(partial(draw, tied), digits, bits)
        heads[tied] |= open_bits & below
        open_bits &= below ^ most
        turn += len(digits)
        is_open = open_bits != 0
        tied = tied[is_open]
        open_bits = open_bits[is_open]
    return heads


def _compared(draw: Callable[[int], Words], digits: list[int], bits: int) -> tuple[Words, Words]:
    """Bits below the digits, and the same with ties counted as below."""
    # The last digit first: then each is one operation.  A 1 among the random digits says
    # "below" at a 1, and "go on" at a 0; a 0 says "go on" at a 1, and "above" at a 0.
    words = draw(len(digits) - 1)
    if digits[-1]:
        below = words.copy()
        most = np.full_like(words, (1 << bits) - 1)
    else:
        below = np.zeros_like(words)
        most = words.copy()
    for place in range(len(digits) - 2, -1, -1):
        words = draw(place)
        merge = np.bitwise_or if digits[place] else np.bitwise_and
        merge(below, words, out=below)
        merge(most, words, out=most)
    return below, most


def _digits(prob: Fraction, start: int, count: int) -> tuple[list[int], bool]:
    """The next ``count`` binary digits of a number in (0, 1) after ``start``; whether more follow.

    If the expansion ends among them, its trailing zeros are left out.
    """
    scaled, rest = divmod(prob.numerator << (start + count), prob.denominator)
    digits = [scaled >> (count - 1 - place) & 1 for place in range(count)]
    while not rest and not digits[-1] and len(digits) > 1:
        digits.pop()
    return digits, rest != 0


CELL_STREAM = 0

_MAX_TABLE_ENTRIES = 1 << 22
"""Up to here the report of every cell and truth is looked up in one table."""


class TableSampler(Shared):
    """Exact sampler of a transition matrix: one random cell per row decides the report.

    Parameters
    ----------
    entries : sequence of m sequences of Fraction
        P(report | truth), a row for each report; columns sum to 1.
    dtype : dtype
        Of the codes of reports.

    Notes
    -----
    [0, 1) is cut at the union of all columns' thresholds, so that one cell decides the report of
    every truth; the report is then looked up.
    """

    def __init__(self, entries: Sequence[Sequence[Fraction]], dtype: np.dtype[Any]) -> None:
        columns = list(zip(*entries, strict=True))
        self.classes = len(columns)
        self.dtype = dtype
        cuts, starts = _cuts(columns)
        self.cuts = tuple(cuts)
        self._starts = tuple(map(tuple, starts))
        self._table: Array | None = None
        n_cells = len(self.cuts) + 1
        if n_cells * self.classes <= _MAX_TABLE_ENTRIES:
            numbers = np.arange(n_cells)
            reports = [np.searchsorted(start, numbers, side="right") for start in self._starts]
            self._table = fixed(np.array(reports, dtype=dtype).T.ravel())

    def draw(self, codes: Array, source: Source, block: int) -> Array:
        """Draw the reports of one block of true codes.

        Parameters
        ----------
        codes : ndarray of int of shape (n,)
            True codes.
        source : Source
            The words.
        block : int
            Their address.

        Returns
        -------
        ndarray of shape (n,)
            Codes of reports.
        """
        drawn = cells(source, CELL_STREAM, block, len(codes), cuts=self.cuts)
        if self._table is not None:
            drawn *= self.classes
            drawn += codes
            return np.asarray(self._table.take(drawn))
        for truth in np.unique(codes).tolist():  # the number of its thresholds up to the cell
            rows = codes == truth
            drawn[rows] = np.searchsorted(self._starts[truth], drawn[rows], side="right")
        return drawn.astype(self.dtype)


def _cuts(
    columns: Sequence[Sequence[Fraction]],
) -> tuple[list[Fraction], list[list[int]]]:
    """Thresholds of all columns strictly between 0 and 1, and the cell that each one opens.

    Whole numbers over few denominators: fractions are slow, and made once for each cut.
    """
    sums: list[list[tuple[int, int]]] = []
    for column in columns:
        common = lcm(*{entry.denominator for entry in column})
        parts = [entry.numerator * (common // entry.denominator) for entry in column]
        sums.append([(partial_sum, common) for partial_sum in accumulate(parts)][:-1])
    exact = {pair: Fraction(*pair) for pair in {pair for column in sums for pair in column}}
    inside = {cut for cut in exact.values() if 0 < cut < 1}
    # In the order of the doubles, and in that of the fractions where doubles are equal.
    cuts = sorted(inside, key=lambda cut: (float(cut), cut))
    # A threshold of 1 lies behind every cell.
    cell_after = {Fraction(0): 0, Fraction(1): len(cuts) + 1}
    cell_after |= {cut: number for number, cut in enumerate(cuts, 1)}
    cell_of_sum = {pair: cell_after[cut] for pair, cut in exact.items()}
    return cuts, [[cell_of_sum[pair] for pair in column] for column in sums]
