"""What does a record cost in the other libraries for local privacy?

They take one value a call; rrstats takes the column.  Each library's own loop is a Python list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import rrstats as rr
from benchmarks.inputs import answers, textbook
from benchmarks.measuring import PROB, Settings, Way, check_law, take_turns
from benchmarks.rivals import NAMES, RIVALS, Rival, find
from benchmarks.running import alone
from benchmarks.table import Line

TITLE = "One record, beside the libraries for local privacy (they go value by value)"

RECORDS = {
    "opendp": 20_000,
    "pure-ldp": 500_000,
    "multi-freq-ldpy": 500_000,
    "diffprivlib": 100_000,
}
QUICK_RECORDS = 2_000


def _loop(rival: Rival, codes: Any) -> Callable[[], list[Any]]:
    values = [rival.values[code] for code in codes]
    call = rival.call
    return lambda: [call(value) for value in values]


def _lines(k: int, settings: Settings) -> Iterator[Line]:
    codes = answers(k, settings.rows, np.uint8)
    mechanism = rr.KRR(range(k), PROB)

    def way(name: str, run: Callable[[], Any], rows: int, translate: Any = None) -> Way:
        def check(reports: Any) -> None:
            found = reports if translate is None else np.array([translate[r] for r in reports])
            check_law(name, codes[:rows], found, k)

        return Way(name, run, check, 1e9 / rows)

    everyone = settings.rows
    ways = [
        way("rrstats", lambda: rr.privatize(codes, mechanism, threads=1), everyone),
        way("textbook NumPy", lambda: textbook(codes, k), everyone),
    ]
    absent, names = {}, ["textbook NumPy"]
    for package in RIVALS:
        rival, name = find(package, k), NAMES.get(package, package)
        if isinstance(rival, str):
            absent[name] = rival
            continue
        rows = settings.fewer(RECORDS[package], QUICK_RECORDS)
        names.append(f"{name}, {rows:,}")
        ways.append(way(names[-1], _loop(rival, codes[:rows].tolist()), rows, rival.codes))
    times = take_turns(ways, settings.rounds)
    for name in names:
        yield Line(f"k = {k}", "ns/row", times["rrstats"], name, times[name])
    for name, reason in absent.items():
        yield Line(f"k = {k}", "ns/row", times["rrstats"], name, note=reason)


def lines(settings: Settings) -> Iterator[Line]:
    """Two answers and four; the rows of a rival stand behind its name."""
    for k in (2, 4):
        yield from _lines(k, settings)


if __name__ == "__main__":
    sys.exit(alone("records"))
