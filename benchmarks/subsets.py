"""What do reports of 100 categories cost, each a subset of them, and an estimate from such reports?

Unary encoding and subset selection at epsilon 1, beside the libraries that have them.  Those take
one value a call and give a list of reports; rrstats takes the column, and gives (n, k) booleans
or one column of packed bits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import rrstats as rr
from benchmarks.inputs import answers
from benchmarks.measuring import SKEW, STANDARD_ERRORS, Settings, Way, stop_unless, take_turns
from benchmarks.rivals import (
    SELECTION_RIVALS,
    SUBSET_EPSILON,
    UNARY_RIVALS,
    SubsetRival,
    find,
)
from benchmarks.running import alone
from benchmarks.table import Line, Target

TITLE = "Reports of 100 categories: subsets, in one thread (rivals go value by value)"

K = 100
ROWS = 1_000_000
RIVAL_ROWS = {"pure-ldp": 20_000, "multi-freq-ldpy": 100_000}
QUICK_ROWS = 500

PRIVATIZE, ESTIMATE = Target(20), Target(5)

FAMILIES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "unary": (
        lambda: rr.mechanisms.UnaryEncoding.optimized(range(K), epsilon=SUBSET_EPSILON),
        UNARY_RIVALS,
    ),
    "selection": (
        lambda: rr.mechanisms.SubsetSelection(range(K), epsilon=SUBSET_EPSILON),
        SELECTION_RIVALS,
    ),
}


def check_bits(name: str, codes: NDArray[Any], bits: NDArray[np.bool_], mechanism: Any) -> None:
    """Stop unless own and other categories are reported as often as designed."""
    stop_unless(bits.shape == (len(codes), K), name, f"reports have the shape {bits.shape}")
    channel, rows = mechanism.channel, np.arange(len(codes))
    own = int(bits[rows, codes].sum())
    others = int(bits.sum()) - own
    for found, draws, prob in (
        (own, len(codes), float(channel.prob_truth)),
        (others, len(codes) * (K - 1), float(channel.prob_other)),
    ):
        allowed = STANDARD_ERRORS * np.sqrt(draws * prob * (1 - prob)) + SKEW
        stop_unless(
            abs(found - draws * prob) <= allowed, name, "reports do not have the distribution"
        )


def check_shares(name: str, codes: NDArray[Any], shares: Any, mechanism: Any) -> None:
    """Stop unless estimated shares are near the true ones (rivals cut and scale theirs)."""
    truth = np.bincount(codes, minlength=K) / len(codes)
    error = np.sqrt(mechanism.channel.variance(truth, "sample").max() / len(codes))
    off = float(np.abs(np.asarray(shares) - truth).max())
    stop_unless(off <= STANDARD_ERRORS * error + 0.02, name, f"a share is off by {off:.3f}")


def _absent(rivals: dict[str, Any]) -> Iterator[tuple[str, SubsetRival | str]]:
    for package in rivals:
        yield package, find(package, K, rivals)


def _family(name: str, settings: Settings) -> Iterator[Line]:
    make, packages = FAMILIES[name]
    mechanism, rows = make(), settings.fewer(ROWS, 20_000)
    codes = answers(K, rows, np.uint8)
    column = pd.Series(codes)
    packed = rr.privatize(column, mechanism, threads=1)
    per_row = 1e9 / rows

    def checked(way: str, of: NDArray[Any], bits: Callable[[Any], Any]) -> Callable[[Any], None]:
        return lambda reports: check_bits(way, of, bits(reports), mechanism)

    def near(way: str, of: NDArray[Any]) -> Callable[[Any], None]:
        return lambda shares: check_shares(way, of, shares, mechanism)

    whole = checked("rrstats", codes, mechanism.unpack)
    making = [
        Way("booleans", lambda: rr.privatize(codes, mechanism, threads=1), whole, per_row),
        Way("packed", lambda: rr.privatize(column, mechanism, threads=1), whole, per_row),
    ]
    estimating = [
        Way(
            "packed",
            lambda: rr.estimate(packed, mechanism).proportions,
            near("rrstats", codes),
            per_row,
        )
    ]
    found = dict(_absent(packages))
    for package, rival in found.items():
        if isinstance(rival, str):
            continue
        few = settings.fewer(RIVAL_ROWS[package], QUICK_ROWS)
        some = codes[:few]
        values = [rival.values[code] for code in some.tolist()]
        reports = [rival.call(value) for value in values]
        loop = _loop(rival.call, values)
        making.append(Way(package, loop, checked(package, some, rival.bits), 1e9 / few))
        estimating.append(Way(package, _of(rival.shares, reports), near(package, some), 1e9 / few))
    made, estimated = (take_turns(ways, settings.rounds) for ways in (making, estimating))
    for form in ("booleans", "packed"):
        yield from _beside(f"{name}, {form}", made, form, found, PRIVATIZE)
    yield from _beside(f"{name}, estimate", estimated, "packed", found, ESTIMATE)


def _loop(call: Callable[[Any], Any], values: list[Any]) -> Callable[[], list[Any]]:
    return lambda: [call(value) for value in values]


def _of(shares: Callable[[list[Any]], Any], reports: list[Any]) -> Callable[[], Any]:
    return lambda: shares(reports)


def _beside(
    case: str, times: Any, ours: str, found: dict[str, Any], target: Target
) -> Iterator[Line]:
    for package, rival in found.items():
        note = rival if isinstance(rival, str) else ""
        theirs = () if note else times[package]
        yield Line(case, "ns/row", times[ours], package, theirs, note=note, target=target)


def lines(settings: Settings) -> Iterator[Line]:
    """Unary encoding and subset selection: privatized in both forms, and estimated."""
    for name in FAMILIES:
        yield from _family(name, settings)


if __name__ == "__main__":
    sys.exit(alone("subsets"))
