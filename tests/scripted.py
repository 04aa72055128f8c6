"""Scripted entropy: sources of words that a test chooses, in the form of `randomness.Source`.

Every function that takes ``rng=`` takes one of these, and every mechanism's ``randomize`` does.

    Scripted     chosen words, row by row; raises when a script is too short
    EveryStream  all streams of tiny words: one call of the shipped code gives its distribution
    Counting     endless fixed words of the shipped widths, for "same words, other data"
    Recorded     another source, and a log of the addresses that were asked

A row is counted over the whole call: row r of block b is row b * BLOCK_ROWS + r here.

>>> from rrstats.randomness.samplers import coin
>>> source = EveryStream(2, {0: 1})
>>> source.distribution(coin(source, 0, 0, source.rows, prob=Fraction(3, 4)), 2)
Distribution(probs=[Fraction(1, 4), Fraction(3, 4)], undecided=Fraction(0, 1))
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from rrstats.randomness.sources import BLOCK_ROWS, Source


class Asked(NamedTuple):
    """One request for words.  ``which`` holds the rows' indices, b"" where all were asked."""

    stream: int
    block: int
    rows: int
    round: int
    bits: int
    which: bytes


class Distribution(NamedTuple):
    """Exact shares of all streams: those with each outcome, and those that ran out of words."""

    probs: list[Fraction]
    undecided: Fraction

    def brackets(self, target: Sequence[Fraction]) -> bool:
        """Whether the distribution can be ``target``, each undecided stream going anywhere."""
        return len(target) == len(self.probs) and all(
            low <= aim <= low + self.undecided for low, aim in zip(self.probs, target, strict=True)
        )


def _places(block: int, rows: Any) -> np.ndarray:
    """The rows of a request, counted over the whole call."""
    inside = np.arange(rows) if isinstance(rows, int) else np.asarray(rows)
    return block * BLOCK_ROWS + inside


def _word_type(bits: int) -> np.dtype:
    return np.dtype(f"uint{max(8, 1 << (bits - 1).bit_length())}")


class Scripted:
    """Words of ``bits`` bits from arrays: ``table[stream][round][row]``.

    bits : None lets the shipped code choose its own widths; the words must then fit them.
    secure : what the source says of itself; False makes privatizing warn and mark.
    Raises AssertionError for a stream, round or row that the script does not have.
    """

    def __init__(
        self, table: Mapping[int, Sequence[Any]], bits: int | None = None, *, secure: bool = True
    ) -> None:
        self.bits = bits
        self.secure = secure
        self._table = {s: [np.asarray(words) for words in rounds] for s, rounds in table.items()}

    def words(self, stream: int, block: int, rows: Any, round: int, bits: int) -> np.ndarray:
        rounds = self._table.get(stream, [])
        places = _places(block, rows)
        if round >= len(rounds) or places.max(initial=-1) >= len(rounds[round]):
            raise AssertionError(f"no script for stream {stream}, round {round}, block {block}")
        words = rounds[round][places]
        assert words.max(initial=0) < 1 << bits, f"a scripted word has more than {bits} bits"
        return words.astype(_word_type(bits))


class EveryStream:
    """A source with one row for each combination of ``bits``-bit words.

    depths : how many rounds each stream has; any other stream that is asked is an error.
    Call the shipped code once on ``source.rows`` rows, then ``source.distribution(outcomes, k)``.
    Rows that asked for more rounds than there are count as undecided: the true distribution lies
    between ``probs`` and ``probs + undecided``.  Use a new source for each call.
    """

    secure = True

    def __init__(self, bits: int, depths: Mapping[int, int]) -> None:
        self.bits = bits
        self.rows = 1 << (bits * sum(depths.values()))
        assert self.rows <= 1 << 22, "too many streams to enumerate"
        self._depths = dict(depths)
        self._shifts = {}
        shift = 0
        for stream, depth in depths.items():
            self._shifts[stream] = shift
            shift += bits * depth
        self.undecided = np.zeros(self.rows, dtype=bool)

    def words(self, stream: int, block: int, rows: Any, round: int, bits: int) -> np.ndarray:
        assert stream in self._depths, f"an unexpected stream was asked: {stream}"
        places = _places(block, rows)
        if round < self._depths[stream]:
            words = places >> (self._shifts[stream] + bits * round) & ((1 << bits) - 1)
            return words.astype(_word_type(bits))
        # Out of words: these rows count as undecided.  What they get only has to end the loop.
        self.undecided[places] = True
        return Counting(0, bits).words(stream, block, rows, round=round, bits=bits)

    def distribution(self, outcomes: Any, k: int) -> Distribution:
        """The exact distribution of ``outcomes`` (rows,), integers below k or booleans (k = 2)."""
        decided = np.asarray(outcomes)[~self.undecided].astype(np.int64)
        assert len(outcomes) == self.rows
        counts = np.bincount(decided, minlength=k)
        assert len(counts) == k, f"an outcome is not below {k}"
        return Distribution(
            [Fraction(int(count), self.rows) for count in counts],
            Fraction(int(self.undecided.sum()), self.rows),
        )


class Counting:
    """Endless fixed words: a hash of the address, so that nothing but the address matters.

    bits : None for the shipped widths, as fresh words have; or the width of all words.
    The word of a row does not depend on which other rows are asked with it.
    """

    def __init__(self, seed: int, bits: int | None = None, *, secure: bool = True) -> None:
        self.bits = bits
        self.secure = secure
        self._seed = seed

    def words(self, stream: int, block: int, rows: Any, round: int, bits: int) -> np.ndarray:
        asked = np.arange(rows) if isinstance(rows, int) else np.asarray(rows)
        dtype = _word_type(bits)
        size = (int(asked.max(initial=-1)) + 1) * dtype.itemsize
        address = repr((self._seed, stream, block, round, bits)).encode()
        words = np.frombuffer(
            hashlib.shake_128(address).digest(size), dtype=dtype.newbyteorder("<")
        )
        return (words[asked] & dtype.type((1 << bits) - 1)).astype(dtype)


class Recorded:
    """Another source, with a log of what was asked of it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.bits = source.bits
        self.secure = source.secure
        self.log: list[Asked] = []

    def words(self, stream: int, block: int, rows: Any, round: int, bits: int) -> np.ndarray:
        everyone = isinstance(rows, int)
        which = b"" if everyone else np.asarray(rows, dtype=np.int64).tobytes()
        count = rows if everyone else len(rows)
        self.log.append(Asked(stream, block, count, round, bits, which))
        return self._source.words(stream, block, rows, round=round, bits=bits)

    @property
    def addresses(self) -> list[Asked]:
        """The log in an order that does not depend on threads."""
        return sorted(self.log)

    def streams(self) -> set[int]:
        """The streams that were asked."""
        return {asked.stream for asked in self.log}
