"""Does the time of a call tell which category was in it?

Every category is privatized several times, in a fresh random order each time.  Odd and even
times give each category two medians; where time depends on the category both put the
categories into the same order, and their rank correlation is near 1.  No dependence: near 0.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import rrstats as rr
from benchmarks.inputs import TEXT
from benchmarks.measuring import PROB, Settings
from benchmarks.rivals import find
from benchmarks.running import alone
from benchmarks.table import Line, at_most

TITLE = "Does the time tell the category?  Rank correlation of medians in two halves"

K = 10_000
BATCH = 1000
LIMIT = 0.6
"""Above it a regression is suspected.  Looking a word up in a dict, which takes some nanoseconds
more or less by where the word lies in memory, has 0.86 if nothing else is timed."""


def halves(call: Callable[[Any], Any], values: Sequence[Any], times: int) -> NDArray[Any]:
    """(2, values): median nanoseconds of each value in the even and in the odd repetitions."""
    orders = np.random.default_rng()
    spent = np.empty((2 * times, len(values)))
    for value in values[:20]:
        call(value)
    gc.collect()
    gc.disable()
    try:
        for row in spent:
            for place in orders.permutation(len(values)).tolist():
                value = values[place]
                start = time.perf_counter_ns()
                call(value)
                row[place] = time.perf_counter_ns() - start
    finally:
        gc.enable()
    return np.stack([np.median(spent[0::2], axis=0), np.median(spent[1::2], axis=0)])


def rank_correlation(pair: NDArray[Any]) -> float:
    """Spearman's: the correlation of the ranks, equal numbers sharing theirs."""
    ranks = [pd.Series(half).rank().to_numpy() for half in pair]
    return float(np.corrcoef(ranks)[0, 1])


def _percentiles(pair: NDArray[Any]) -> list[float]:
    """Microseconds of the category at the 1st, 50th and 99th of 100."""
    return (np.percentile(pair.mean(axis=0), [1, 50, 99]) / 1000).tolist()


def _one_value(labels: list[str], some: list[int], times: int) -> Iterator[Line]:
    """One value a call, beside OpenDP: the correlation, and how far categories lie apart."""
    k = len(labels)
    mechanism = rr.KRR(labels, PROB)
    ours = halves(
        lambda values: rr.privatize(values, mechanism), [[labels[i]] for i in some], times
    )
    rival = find("opendp", k)
    theirs = None
    if not isinstance(rival, str):
        theirs = halves(rival.call, [rival.values[i] for i in some], times)
    cases = (
        (f"one value, k = {k:,}", "rank r", lambda pair: [rank_correlation(pair)], at_most(LIMIT)),
        ("1st, 50th, 99th of 100 of them", "us/call", _percentiles, None),
    )
    for case, unit, number, target in cases:
        yield Line(
            case,
            unit,
            number(ours),
            "OpenDP",
            () if theirs is None else number(theirs),
            note=rival if isinstance(rival, str) else "",
            target=target,
            comparable=False,
        )


def lines(settings: Settings) -> Iterator[Line]:
    """Calls with one value, and with a batch of equal values in a list and in a column."""
    k = settings.fewer(K, 1000)
    labels = [f"c{code:05d}" for code in range(k)]
    some = list(range(0, k, max(k // (100 if settings.quick else 2000), 1)))
    yield from _one_value(labels, some, 1 if settings.quick else 15)
    mechanism = rr.KRR(labels, PROB)
    few = [labels[i] for i in some[:: max(len(some) // (40 if settings.quick else 400), 1)]]
    batches = {
        "a list of": [[label] * BATCH for label in few],
        f"{TEXT} Series of": [pd.Series([label] * BATCH, dtype=TEXT) for label in few],
    }
    for name, values in batches.items():
        pair = halves(
            lambda batch: rr.privatize(batch, mechanism, threads=1),
            values,
            1 if settings.quick else 3,
        )
        yield Line(
            f"{name} {BATCH:,} equal",
            "rank r",
            [rank_correlation(pair)],
            target=at_most(LIMIT),
            comparable=False,
        )


if __name__ == "__main__":
    sys.exit(alone("timing"))
