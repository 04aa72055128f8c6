"""What do the estimates cost, beside counting the values at all?

`rr.estimate` counts the reports and removes the noise; `value_counts` only counts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import rrstats as rr
from benchmarks.inputs import WORDS, answers, series_of
from benchmarks.measuring import PROB, Settings, Way, stop_unless, take_turns
from benchmarks.running import alone
from benchmarks.table import Line, Target, side_by_side

TITLE = "Estimate proportions from reports"


def lines(settings: Settings) -> Iterator[Line]:
    """Reports in a Categorical and in text, k = 4."""
    for kind, target in (("Categorical", Target(3)), ("text", None)):
        codes = answers(len(WORDS), settings.rows, np.int8)
        reports = series_of(kind, codes)
        mechanism = rr.KRR(WORDS, PROB)
        expected = np.bincount(codes, minlength=len(WORDS))

        def check_estimate(found: rr.estimators.Estimate, expected: Any = expected) -> None:
            rates = expected / expected.sum()
            shares = (rates * (len(WORDS) - 1) + PROB - 1) / (PROB * len(WORDS) - 1)
            right = np.allclose(found.proportions, shares, rtol=0, atol=1e-9)
            stop_unless(right, "rr.estimate", "the shares are not those of the reports")

        def check_counts(found: Any, expected: Any = expected) -> None:
            right = found.reindex(WORDS).tolist() == expected.tolist()
            stop_unless(right, "value_counts", "the counts are wrong")

        times = take_turns(
            [
                Way(
                    "rrstats",
                    lambda reports=reports, mechanism=mechanism: rr.estimate(reports, mechanism),
                    check_estimate,
                    1e9 / settings.rows,
                ),
                Way(
                    "value_counts",
                    lambda reports=reports: reports.value_counts(),
                    check_counts,
                    1e9 / settings.rows,
                ),
            ],
            settings.rounds,
        )
        shown = kind if kind == "Categorical" else str(reports.dtype)
        yield from side_by_side(f"{shown}, k = 4", "ns/row", times, {"value_counts": target})


if __name__ == "__main__":
    sys.exit(alone("counting"))
