"""Time several ways of doing the same thing, in turns, and only where the result is right.

A way is run once to warm up and then once a round; the order moves on by one each round, so
that none always runs behind the same other.  Its result is checked every time, outside the clock.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PROB = 0.75
"""P(report = truth) in every benchmark."""

STANDARD_ERRORS = 7
"""A right sampler is stopped less than once in 10**11 comparisons."""

SKEW = 12
"""Reports granted on top: rare lies have a longer tail than the normal law."""

GROUPS = 50
"""Lies, and truths, are compared in at most so many groups, so that none is nearly empty."""


@dataclass(frozen=True)
class Settings:
    """How large and how often, for all questions alike."""

    rows: int = 10_000_000
    rounds: int = 7
    quick: bool = False
    large: bool = False

    def fewer(self, rows: int, quick: int) -> int:
        """Rows for a question that needs fewer: never more than asked for."""
        return min(self.rows, quick if self.quick else rows)


@dataclass(frozen=True)
class Way:
    """One way to do a thing: what to run, how its result is checked, and what a second is.

    ``scale`` turns seconds into the unit of the line: 1e9 / rows for nanoseconds a row.
    """

    name: str
    run: Callable[[], Any]
    check: Callable[[Any], None]
    scale: float


def take_turns(ways: Sequence[Way], rounds: int) -> dict[str, tuple[float, ...]]:
    """The times of every way, one number a round."""
    times: dict[str, list[float]] = {way.name: [] for way in ways}
    for turn in range(rounds + 1):
        first = turn % len(ways)
        for way in (*ways[first:], *ways[:first]):
            gc.collect()
            start = time.perf_counter()
            result = way.run()
            spent = time.perf_counter() - start
            way.check(result)
            del result
            if turn:
                times[way.name].append(spent * way.scale)
    return {name: tuple(spent) for name, spent in times.items()}


def unchecked(result: object) -> None:
    """For a way that draws nothing, as a copy."""


def stop_unless(right: bool, name: str, finding: str) -> None:
    """End the run with a message that says whose result is wrong."""
    if not right:
        raise SystemExit(f"{name}: {finding}; its time means nothing")


def _outside(found: NDArray[Any], law: Any, draws: Any) -> bool:
    """Is any share of ``draws`` further from its law than chance goes?"""
    allowed = STANDARD_ERRORS * np.sqrt(draws * law * (1 - law)) + SKEW
    return bool((np.abs(found - draws * law) > allowed).any())


def _grouped(counts: NDArray[Any], groups: int) -> NDArray[Any]:
    """Sums of neighbouring cells, at most ``groups`` of them."""
    groups = min(groups, len(counts))
    place = np.arange(len(counts)) * groups // max(len(counts), 1)
    return np.bincount(place, weights=counts, minlength=groups)


def check_law(name: str, truth: NDArray[Any], reports: NDArray[Any], k: int) -> None:
    """Stop unless true reports and each lie have the designed probabilities.

    Compared are the lies by their distance from the truth, of all answers together, and the
    share of true reports, for each truth.  Beyond `GROUPS` cells neighbours are added up.
    """
    stop_unless(len(reports) == len(truth), f"{name}, k={k}", "reports are missing")
    lies = reports.astype(np.int64) - truth
    lies[lies < 0] += k
    inside = not len(reports) or (reports.min() >= 0 and reports.max() < k)
    stop_unless(bool(inside), f"{name}, k={k}", "a report is no category")
    distances = np.bincount(lies, minlength=k)
    each_other = np.full(k - 1, (1 - PROB) / (k - 1))
    wrong_lies = _outside(
        np.append(distances[0], _grouped(distances[1:], GROUPS)),
        np.append(PROB, _grouped(each_other, GROUPS)),
        len(truth),
    )
    people = _grouped(np.bincount(truth, minlength=k), GROUPS)
    kept = _grouped(np.bincount(truth[lies == 0], minlength=k), GROUPS)
    wrong = wrong_lies or _outside(kept, PROB, people)
    stop_unless(not wrong, f"{name}, k={k}", "the reports do not have the distribution")
