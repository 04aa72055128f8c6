"""How much memory does `privatize` take beyond its input and its output?

In a fresh process: the most that Python, NumPy and Arrow had allocated at once, less what is
still there when the result is. What an allocator keeps for later is not counted; it depends on
which one, and on what ran before. A small call goes first, so that imports are not counted.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import rrstats as rr
from benchmarks.inputs import IDIOMS, TEXT, WORDS, answers, series_of, textbook
from benchmarks.measuring import PROB, Settings
from benchmarks.processes import MIB, fresh
from benchmarks.running import alone
from benchmarks.table import Line, at_most

TITLE = "Extra memory of privatize, beyond input and output (most allocated at once)"

KINDS = ("uint8", "text", "Categorical", "bool", "object")
LIMIT = 16


def _input(kind: str, rows: int) -> Any:
    codes = answers(2 if kind == "bool" else len(WORDS), rows, np.uint8)
    return codes if kind == "uint8" else series_of(kind, codes.view(np.int8))


def _way(kind: str, rival: bool) -> Callable[[Any], Any]:
    if not rival:
        categories: Any = {"uint8": range(len(WORDS)), "bool": [False, True]}.get(kind, WORDS)
        mechanism = rr.KRR(categories, PROB)
        return lambda values: rr.privatize(values, mechanism, threads=1)
    return IDIOMS.get(kind, lambda codes: textbook(codes, len(WORDS)))


def extra(kind: str, rows: int, rival: bool) -> float:
    """MiB beyond input and output, for this process."""
    values, way = _input(kind, rows), _way(kind, rival)
    way(values[:1000])
    tracemalloc.start()
    result = way(values)
    held, peak = tracemalloc.get_traced_memory()
    transient = peak - held
    if "pyarrow" in sys.modules:  # its mark is of the whole process, in which this is the most
        pool = sys.modules["pyarrow"].default_memory_pool()
        transient += pool.max_memory() - pool.bytes_allocated()
    del result
    return transient / MIB


def lines(settings: Settings) -> Iterator[Line]:
    """Each kind of column, at a tenth of the rows and at all of them."""
    for kind in ("uint8", "text") if settings.quick else KINDS:
        for rows in (settings.rows,) if settings.quick else (settings.rows // 10, settings.rows):
            found: dict[bool, list[float]] = {False: [], True: []}
            for rival, numbers in found.items():  # once: nothing here depends on chance or load
                numbers.append(fresh("memory:extra", kind=kind, rows=rows, rival=rival))
            shown = {"text": TEXT, "object": "object (text)"}.get(kind, kind)
            yield Line(
                f"{shown}, {rows:,} rows",
                "MiB",
                found[False],
                "textbook NumPy" if kind == "uint8" else "pandas idiom",
                found[True],
                target=at_most(LIMIT),
            )


if __name__ == "__main__":
    sys.exit(alone("memory"))
