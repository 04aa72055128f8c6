"""The one door to entropy: addressed words, and exact coins, integers and table cells.

Nothing here sees data.  A *source* answers `words(stream, block, rows, round, bits)` with
uniform words of ``bits`` bits; the address makes the result independent of the order of
the calls, so blocks may run in any number of threads.  Fresh noise takes one 32-byte key from
the operating system for each call of `SecureGenerator.open` and never outlives that call.

Law: the sampled probability *is* the rational number asked for.  A coin compares the binary
expansion of the probability, digit by digit, with random digits; integers come from Lemire's
multiplication with rejection.  Tests enumerate every stream of tiny words through this code.
Sources: Lemire (2019), "Fast random integer generation in an interval", algorithm 5.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from rrstats.errors import ArgumentTypeError

__all__ = [
    "BLOCK_ROWS",
    "FreshWords",
    "SecureGenerator",
    "Source",
    "Substream",
    "below",
    "cells",
    "coin",
    "open_source",
]

BLOCK_ROWS = 1 << 17
"""Rows of one block: what is drawn at once, and a part of every address."""

SMALL_CALL_ROWS = 4096
"""Below this many rows a tie of the first digit could be timed, so that digit has 64 bits."""

STREAMS_PER_STAGE = 16
"""Streams that one mechanism may use; a second stage starts behind them."""

STAGES_PER_COLUMN = 1 << 16
"""Stages that one column may use; the next column's streams start behind them."""

REPLACEMENT_STREAM = 0xFFFF
"""The stream that replaces answers outside the categories, for all mechanisms alike."""

_WORD_TYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class Source(Protocol):
    """Where words come from.

    ``bits`` is None for a source that serves words of any width in {8, 16, 32, 64}, and a
    number where every word has that many bits (scripted words, keyed words).  ``secure``
    says whether reports drawn from it may be released.
    """

    bits: int | None
    secure: bool

    def words(
        self, stream: int, block: int, rows: int | NDArray[np.intp], round: int, bits: int
    ) -> NDArray[Any]:
        """Uniform unsigned words below 2**bits, one for each row.

        ``rows`` is a number of rows (all rows of the block) or the indices of those rows
        of the block that need a word in this round.
        """
        ...


def _row_count(rows: int | NDArray[np.intp]) -> int:
    return rows if isinstance(rows, int) else len(rows)


class FreshWords:
    """Words of one call: AES-256 in counter mode under a key that nobody else ever has.

    The counter is (stream, round, block, position), so no two addresses share a word.
    Without the `cryptography` package each word comes from `os.urandom`: slower, same law.
    """

    bits: int | None = None
    secure = True

    def __init__(self) -> None:
        self._cipher: Any = None
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError:
            return
        key = algorithms.AES(os.urandom(32))
        self._cipher = lambda counter: Cipher(key, modes.CTR(counter)).encryptor()

    def words(
        self, stream: int, block: int, rows: int | NDArray[np.intp], round: int, bits: int
    ) -> NDArray[Any]:
        """Uniform words of 8, 16, 32 or 64 bits at this address."""
        dtype = _WORD_TYPES[bits]
        size = _row_count(rows) * bits // 8
        if self._cipher is None:
            return np.frombuffer(os.urandom(size), dtype=dtype)
        counter = (stream << 112 | round << 96 | block << 48).to_bytes(16, "big")
        # update_into asks for one cipher block more than it writes.
        buffer = np.empty(size + 16, dtype=np.uint8)
        self._cipher(counter).update_into(bytes(size), buffer)
        return buffer[:size].view(dtype)

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError("words cannot be pickled: two copies would share their noise")


class SecureGenerator:
    """The default source of noise, as an object: keyed afresh by the operating system.

    It holds no state.  Every call that uses it takes a new 32-byte key, so forked, spawned
    and threaded workers never share noise, and there is nothing to seed, log or recover.

    >>> import rrstats as rr
    >>> len(rr.privatize(["yes", "no"], ["yes", "no"], 0.75, rng=rr.SecureGenerator()))
    2
    """

    __slots__ = ()

    def open(self) -> Source:
        """A source of words under a new key, for one call."""
        return FreshWords()

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "a SecureGenerator cannot be pickled or copied; create one where it is used"
        )

    def __repr__(self) -> str:
        return "SecureGenerator()"


class Substream:
    """The streams of a later stage: the same source behind an offset."""

    def __init__(self, source: Source, stage: int) -> None:
        self._source = source
        self._offset = stage * STREAMS_PER_STAGE
        self.bits = source.bits
        self.secure = source.secure

    def words(
        self, stream: int, block: int, rows: int | NDArray[np.intp], round: int, bits: int
    ) -> NDArray[Any]:
        """The words of ``stream`` in this stage."""
        return self._source.words(stream + self._offset, block, rows, round, bits)


def open_source(rng: object = None, *, column: int = 0) -> Source:
    """The source of words for one column of one call.

    rng : None or a SecureGenerator (a fresh key), a source (as tests script them), or a
        numpy.random.Generator, which is for teaching only and marks what it makes.
    column : the place of the column in the call; columns never share words.
    Raises ArgumentTypeError for anything else, a seed above all.
    """
    if rng is None:
        return SecureGenerator().open()
    if isinstance(rng, SecureGenerator):
        return rng.open()
    if hasattr(rng, "words") and hasattr(rng, "secure"):
        return Substream(rng, column * STAGES_PER_COLUMN)  # type: ignore[arg-type]  # structural
    from rrstats.simulation import simulated_words

    return simulated_words(rng)


def _split(remainder: Fraction, bits: int) -> tuple[int, Fraction]:
    """The next digit of a binary expansion in base 2**bits, and what is left behind it."""
    scaled = remainder * (1 << bits)
    digit = scaled.numerator // scaled.denominator
    return digit, scaled - digit


def coin(source: Source, stream: int, block: int, rows: int, prob: Fraction) -> NDArray[np.bool_]:
    """Independent coins, True with probability exactly ``prob``; shape (rows,).

    A word below the digit of ``prob`` decides True, above it False; a tie goes on with the
    next digit and a fresh word.  When the digits are used up a tie means False.
    """
    if prob <= 0 or prob >= 1:
        return np.full(rows, prob >= 1)
    bits = source.bits or (64 if rows < SMALL_CALL_ROWS else 8)
    digit, rest = _split(prob, bits)
    drawn = source.words(stream, block, rows, 0, bits)
    heads: NDArray[np.bool_] = drawn < digit
    if not rest:
        return heads
    tied = np.flatnonzero(drawn == digit)
    turn = 0
    while rest and tied.size:
        turn += 1
        bits = source.bits or 64
        digit, rest = _split(rest, bits)
        drawn = source.words(stream, block, tied, turn, bits)
        heads[tied[drawn < digit]] = True
        tied = tied[drawn == digit]
    return heads


def _integer_bits(bound: int) -> int:
    """The narrowest word that is rejected in at most one draw of 64."""
    for bits in (8, 16):
        if bound <= 1 << bits and (1 << bits) % bound <= 1 << (bits - 6):
            return bits
    return 32


def below(source: Source, stream: int, block: int, rows: int, bound: int) -> NDArray[Any]:
    """Independent integers, each of 0 .. bound-1 with probability exactly 1/bound; shape (rows,).

    Lemire: the product of a word and the bound is the integer (high part) and a fraction
    (low part); the few words that would make some integers likelier are drawn again.
    ``bound`` is at most 2**32.
    """
    if bound == 1:
        return np.zeros(rows, dtype=np.uint8)
    bits = source.bits or _integer_bits(bound)
    if bits > 32 or bound > 1 << bits:
        raise ArgumentTypeError(f"integers below {bound} cannot be drawn from {bits}-bit words")
    wide = np.uint16 if bits <= 8 else np.uint32 if bits <= 16 else np.uint64
    rejected_below = (1 << bits) % bound
    product = source.words(stream, block, rows, 0, bits).astype(wide) * wide(bound)
    values: NDArray[Any] = product >> wide(bits)
    if not rejected_below:
        return values
    mask = wide((1 << bits) - 1)
    pending = np.flatnonzero((product & mask) < rejected_below)
    turn = 0
    while pending.size:
        turn += 1
        product = source.words(stream, block, pending, turn, bits).astype(wide) * wide(bound)
        values[pending] = product >> wide(bits)
        pending = pending[(product & mask) < rejected_below]
    return values


def cells(
    source: Source, stream: int, block: int, rows: int, cuts: Sequence[Fraction]
) -> NDArray[np.intp]:
    """Independent cells of [0, 1) cut at ``cuts``; cell j lies below cuts[j]; shape (rows,).

    cuts : increasing numbers strictly between 0 and 1; there is one cell more than cuts.
    Cell j is drawn with probability exactly cuts[j] - cuts[j-1].  A word whose interval
    contains a cut is undecided, and is refined by further words.
    """
    drawn = np.empty(rows, dtype=np.intp)
    # Each entry: rows in the same undecided interval, their first cell, the cuts inside it
    # (scaled to [0, 1)), and the round they are in.
    pending: list[tuple[int | NDArray[np.intp], int, list[Fraction], int]] = [
        (rows, 0, list(cuts), 0)
    ]
    while pending:
        # Rows of one round share an address, so one round is finished before the next.
        turn = pending[0][3]
        now = [entry for entry in pending if entry[3] == turn]
        pending = [entry for entry in pending if entry[3] != turn]
        first_draw = isinstance(now[0][0], int)
        members = [np.arange(rows)] if first_draw else [np.asarray(e[0]) for e in now]
        everyone = np.sort(np.concatenate(members))
        bits = source.bits or (64 if rows < SMALL_CALL_ROWS or turn else 16)
        asked: int | NDArray[np.intp] = rows if first_draw else everyone
        words = source.words(stream, block, asked, turn, bits)
        for (_, first_cell, inside, _), member in zip(now, members, strict=True):
            word = words[np.searchsorted(everyone, member)]
            digits: dict[int, list[Fraction]] = {}
            steps: list[int] = []
            for cut in inside:
                digit, rest = _split(cut, bits)
                steps.append(digit)
                group = digits.setdefault(digit, [])
                if rest:
                    group.append(rest)
            # Words at or above a cut's digit lie in a later cell, unless the cut is inside.
            edges = np.array(steps, dtype=np.uint64)
            place = np.searchsorted(edges, word.astype(np.uint64), side="right")
            drawn[member] = first_cell + place
            for digit, rests in digits.items():
                tied = member[word == digit]
                if rests and tied.size:
                    whole = sum(1 for step in steps if step <= digit) - len(rests)
                    pending.append((tied, first_cell + whole, rests, turn + 1))
    return drawn
