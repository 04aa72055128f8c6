"""Where a row stood: the lengths of calls, and the kinds of places that wiring faults leave bare.

A function that works in blocks may forget the rows behind the last full one, the first row of
each, those from some row on; one with a short path may forget all columns of some lengths.  So the
rows of the long calls are cut into columns of spread lengths, and looked at by the length of their
call, by how far they are from its start and its end, and by where they are in blocks.
Blocks: powers of 2 and of 10.  What befalls few rows elsewhere in a long column is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from rrstats.auditing.guesses import Codes, Dice, Flags, Look

__all__ = ["LOOKS", "looks_at", "spread"]

CALL_ROWS = 1 << 17
"""Rows of one long call at most."""

_STEP = 4
"""Lengths are drawn between neighbouring powers of this, some for each."""

_SPREAD, _SHARE = 3, 300
"""At most one row in 3 is in a column of spread length; one in 300 at each step, if not more."""

_FEWEST, _MOST = 2, 300
"""Calls at each step, as far as rows last."""

_THOUSAND = 1 << 10
"""Rows of a long column that are looked at together."""

_RESIDUES = (64, 100)
"""Row numbers modulo these are looked at one by one; of larger blocks the edges are."""

_BLOCKS = tuple(sorted([*(1 << power for power in range(2, 17)), 10, 100, 1000, 10_000]))
_EDGED = tuple(size for size in _BLOCKS if size > min(_RESIDUES))

LOOKS = 4 + len(_RESIDUES) + len(_BLOCKS) + 2 * len(_EDGED)
"""Looks there are at most: each has the same share of the error, used or not."""


def spread(dice: Dice, rows: int, least: float) -> Codes:
    """(calls,) lengths that sum to ``rows``: some at each step from 1 on, and the rest together.

    least : rows that show a fault, if all of them have it; half as many again are wanted.
    """
    lengths: list[int] = []
    room, low = rows // _SPREAD, 1
    group = max(1.5 * min(least, rows), rows / _SHARE)
    while room >= (high := low * _STEP):
        count = max(math.ceil(2 * group / (low + high)), _FEWEST)
        drawn = low + dice.integers(min(count, _MOST, room // high), high - low)
        lengths += drawn.tolist()
        room -= int(drawn.sum())
        low = high
    rest = rows - sum(lengths)
    return np.array(lengths + [len(part) for part in _parts(rest)], dtype=np.intp)


def _parts(rows: int) -> list[range]:
    """As few calls as may be, of about the same size."""
    count = -(-rows // CALL_ROWS)
    ends = [rows * at // count for at in range(count + 1)]
    return [range(*pair) for pair in pairwise(ends)]


def looks_at(lengths: Codes, beyond: Flags) -> Iterator[Look]:
    """Every way to look at the rows of calls of these lengths, one call after the other.

    beyond : (n,) rows of another kind, which have cells of their own.
    """
    for cells, say in _looks(lengths):
        both = np.where(cells < 0, -1, 2 * cells + beyond)
        yield Look(both, _halved(say))


def _halved(say: Callable[[int], str]) -> Callable[[int], str]:
    """What a cell is called, where rows of the other kind have every second one."""
    return lambda code: say(code // 2)


def _looks(lengths: Codes) -> Iterator[Look]:
    whole = np.repeat(lengths, lengths)
    row = np.arange(len(whole)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    yield Look(_octave(whole), lambda c: f"in columns of {1 << c:,} to {(2 << c) - 1:,} rows")
    yield Look(_octave(row + 1), lambda c: f"in rows {1 << c:,} to {(2 << c) - 1:,}")
    yield Look(
        _octave(whole - row), lambda c: f"in rows {1 << c:,} to {(2 << c) - 1:,} from the end"
    )
    yield Look(row // _THOUSAND, lambda c: f"in {_THOUSAND:,} rows from {c * _THOUSAND + 1:,} on")
    for size in _RESIDUES:
        yield Look(row % size, partial(_in_each, size))
    for size in filter(whole.max(initial=0).__gt__, _BLOCKS):
        behind = (whole > size) & (row >= whole - whole % size)
        yield _only(behind, f"in the rows behind the last full block of {size:,}")
    for size in filter(whole.max(initial=0).__gt__, _EDGED):
        first, last = (row % size == 0) & (row > 0), row % size == size - 1
        yield _only(first, f"in the first row of each block of {size:,} but the first")
        yield _only(last, f"in the last row of each block of {size:,}")


def _only(flags: Flags, text: str) -> Look:
    """One cell, and no cell for other rows."""
    return Look(np.where(flags, 0, -1), lambda _: text)


def _in_each(size: int, cell: int) -> str:
    return f"in row {cell + 1:,} of each {size:,}"


def _octave(numbers: Codes) -> Codes:
    """(n,) the power of 2 at or below each."""
    return np.asarray(np.frexp(numbers.astype(np.float64))[1] - 1, dtype=np.intp)
