"""What does it cost to privatize an array of codes?

Against textbook NumPy, whose noise is neither exact nor secure; and, for two categories, against
the least that secure noise can cost: a byte of AES-256 key stream for each row and one copy.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rrstats as rr
from benchmarks.inputs import answers, textbook
from benchmarks.measuring import PROB, Settings, Way, check_law, take_turns, unchecked
from benchmarks.running import alone
from benchmarks.table import Line, Target, side_by_side

TITLE = "Privatize an array of codes, in one thread"

CASES = [("uint8", 2, 10), ("uint8", 4, 8), ("uint8", 100, 6), ("uint16", 1000, 4)]
LARGEST = ("int32", 100_000, 4)

BLOCK = 1 << 18


def key_stream_and_copy() -> Callable[[NDArray[Any]], Any] | None:
    """One byte of key stream a row, in blocks into one buffer, and a copy; None without AES."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return None

    def run(codes: NDArray[Any]) -> NDArray[Any]:
        aes = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
        zeros, buffer = memoryview(bytes(BLOCK)), bytearray(BLOCK + 16)
        for start in range(0, len(codes), BLOCK):
            aes.update_into(zeros[: len(codes) - start], buffer)
        return codes.copy()

    return run


def _case(settings: Settings, dtype: str, k: int, target: float) -> list[Line]:
    codes = answers(k, settings.rows, np.dtype(dtype))
    mechanism = rr.KRR(range(k), PROB)
    per_row = 1e9 / settings.rows

    def way(name: str, run: Callable[[], Any]) -> Way:
        return Way(name, run, lambda reports: check_law(name, codes, reports, k), per_row)

    ways = [
        way("rrstats", lambda: rr.privatize(codes, mechanism, threads=1)),
        way("textbook NumPy", lambda: textbook(codes, k)),
    ]
    targets: dict[str, Target | None] = {"textbook NumPy": Target(target)}
    floor = key_stream_and_copy() if k == 2 else None
    if floor is not None:
        ways.append(Way("key stream + copy", partial(floor, codes), unchecked, per_row))
        targets["key stream + copy"] = Target(1 / 5)
    case = f"{dtype}, k = {k:,}"
    lines = side_by_side(case, "ns/row", take_turns(ways, settings.rounds), targets)
    if k == 2 and floor is None:
        lines.append(Line(case, "ns/row", rival="key stream + copy", note="needs cryptography"))
    return lines


def _threads(settings: Settings) -> list[Line]:
    """What the other cores add."""
    k, cores = 4, os.cpu_count() or 1
    codes = answers(k, settings.rows, np.uint8)
    mechanism = rr.KRR(range(k), PROB)

    def way(name: str, threads: int) -> Way:
        return Way(
            name,
            lambda: rr.privatize(codes, mechanism, threads=threads),
            lambda reports: check_law(name, codes, reports, k),
            1e9 / settings.rows,
        )

    times = take_turns([way("rrstats", cores), way("one thread", 1)], settings.rounds)
    return side_by_side(f"uint8, k = 4, threads={cores}", "ns/row", times, {"one thread": None})


def lines(settings: Settings) -> Iterator[Line]:
    """Codes of several widths, and what threads add."""
    for case in CASES:
        yield from _case(settings, *case)
    dtype, k, target = LARGEST
    yield from _case(settings, dtype, min(k, settings.rows), target)
    yield from _threads(settings)


if __name__ == "__main__":
    sys.exit(alone("columns"))
