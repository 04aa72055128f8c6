"""Packed bits of many reports at once: unpacked, counted by report, and added up by category.

Everything goes through the reports in parts that stay in the cache, so that nothing of the size of
the column stands beside the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BIT_ORDER", "Bits", "Packed", "count_supports", "sizes", "unpack_into", "unpacked"]

Packed = NDArray[np.uint8]
Bits = NDArray[np.bool_]

BIT_ORDER: Any = "little"
"""Category i is bit i % 8, the lowest first, of byte i // 8."""

_AT_ONCE_BYTES = 1 << 18
"""Packed reports looked at together, so that what is made of them stays in the cache."""


def sizes(codes: Packed) -> NDArray[np.int64]:
    """(n,) how many bits of each report are 1, in parts."""
    found = np.empty(len(codes), dtype=np.int64)
    for rows in _parts(codes):
        found[rows] = np.bitwise_count(codes[rows]).sum(axis=1, dtype=np.int64)
    return found


def _parts(codes: Packed) -> list[slice]:
    step = max(1, _AT_ONCE_BYTES // max(codes.shape[1], 1))
    return [slice(at, at + step) for at in range(0, len(codes), step)]


def unpacked(codes: Packed, k: int) -> Bits:
    """(n, k) booleans of packed reports."""
    found = np.empty((len(codes), k), dtype=np.bool_)
    unpack_into(found, codes)
    return found


def unpack_into(bits: Bits, codes: Packed) -> None:
    """Fill (n, k) booleans from packed reports."""
    k = bits.shape[1]
    for rows in _parts(codes):
        part = np.unpackbits(codes[rows], axis=1, count=k, bitorder=BIT_ORDER)
        bits[rows] = part.view(np.bool_)


# -- counting ------------------------------------------------------------------------------

_FEW_ROWS = 192
"""Up to here rows are unpacked and added one by one; a byte holds their number."""

_WIDE = 256
"""Narrower reports are laid side by side, as many as go into so many bytes."""


def count_supports(codes: Packed, k: int) -> NDArray[np.int64]:
    """How many reports hold each category; shape (k,).

    codes : (n, width) packed reports.  In parts: memory does not grow with n.
    """
    width = codes.shape[1]
    counts = np.zeros(8 * width, dtype=np.int64)
    side = max(1, _WIDE // width)
    for rows in _parts(codes):
        part = np.ascontiguousarray(codes[rows])
        whole = len(part) // side * side
        if whole:
            sums = _column_sums(part[:whole].reshape(-1, side * width))
            counts += sums.reshape(side, -1).sum(axis=0)
        if whole < len(part):
            counts += _column_sums(part[whole:])
    return counts[:k]


def _column_sums(codes: Packed) -> NDArray[np.int64]:
    """(8 width,) how often each bit is 1.

    Three rows become two in five operations on all their bits, as in a full adder: the sums
    modulo 2, and the carries, which count twice (Harley and Seal's population count).
    """
    if len(codes) <= _FEW_ROWS:
        bits = np.unpackbits(codes, axis=1, bitorder=BIT_ORDER)
        return np.asarray(np.add.reduce(bits, axis=0, dtype=np.uint8), dtype=np.int64)
    third = len(codes) // 3
    one, two, three = codes[:third], codes[third : 2 * third], codes[2 * third : 3 * third]
    odd = one ^ two
    carries = odd & three
    carries |= one & two
    odd ^= three
    sums = _column_sums(odd)
    sums += 2 * _column_sums(carries)
    if len(codes) > 3 * third:
        sums += _column_sums(codes[3 * third :])
    return sums
