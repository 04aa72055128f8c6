"""What does it cost to privatize a pandas column?

Against the pandas idiom: codes by `pd.Categorical`, textbook NumPy, and back to the dtype
that rrstats gives;
for two answers, turning round those of a coin.  In one thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import rrstats as rr
from benchmarks.inputs import IDIOMS, TEXT, WORDS, answers, codes_of, series_of
from benchmarks.measuring import (
    PROB,
    Settings,
    Way,
    check_law,
    stop_unless,
    take_turns,
)
from benchmarks.running import alone
from benchmarks.table import Line, Target, side_by_side

TITLE = "Privatize a column of pandas, in one thread"

CASES = {"text": Target(8), "Categorical": Target(6), "bool": Target(6), "object": None}


def _case(kind: str, settings: Settings) -> list[Line]:
    k = 2 if kind == "bool" else len(WORDS)
    codes = answers(k, settings.rows, np.int8)
    column = series_of(kind, codes)
    dtype = TEXT if kind == "object" and TEXT == "str" else column.dtype
    mechanism = rr.KRR([False, True] if kind == "bool" else WORDS, PROB)

    def way(name: str, run: Callable[[], pd.Series[Any]]) -> Way:
        def check(reports: pd.Series[Any]) -> None:
            stop_unless(reports.dtype == dtype, name, f"dtype {reports.dtype} came back")
            check_law(name, codes, codes_of(reports), k)

        return Way(name, run, check, 1e9 / settings.rows)

    times = take_turns(
        [
            way("rrstats", lambda: rr.privatize(column, mechanism, threads=1)),
            way("pandas idiom", lambda: IDIOMS[kind](column)),
        ],
        settings.rounds,
    )
    shown = {"text": TEXT, "object": f"object in, {dtype} out"}.get(kind, kind)
    return side_by_side(f"{shown}, k = {k}", "ns/row", times, {"pandas idiom": CASES[kind]})


def lines(settings: Settings) -> Iterator[Line]:
    """Text, Categorical, bool, and text in a column of objects."""
    for kind in CASES:
        yield from _case(kind, settings)


if __name__ == "__main__":
    sys.exit(alone("series"))
