"""What does one answer cost, as from a form on a web page?

Each call of rrstats takes a key of its own from the operating system.  Mechanisms are made
before, as a server would.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import rrstats as rr
from benchmarks.measuring import PROB, Settings, Way, check_law, take_turns
from benchmarks.rivals import find
from benchmarks.running import alone
from benchmarks.table import Line, Target, side_by_side

TITLE = "One value a call, k = 4"

K, PLACE = 4, 1


def lines(settings: Settings) -> Iterator[Line]:
    """A list of one value, and the value itself, beside one call of OpenDP."""
    calls = settings.fewer(2_000, 200)
    labels = [f"c{code:05d}" for code in range(K)]
    places = {label: code for code, label in enumerate(labels)}
    mechanism = rr.KRR(labels, PROB)
    answer = labels[PLACE]
    truth = np.full(calls, PLACE)

    def way(name: str, call: Callable[[], Any]) -> Way:
        def check(reports: list[Any]) -> None:
            check_law(name, truth, np.array([places[report] for report in reports]), K)

        return Way(name, lambda: [call() for _ in range(calls)], check, 1e6 / calls)

    ways = [
        way("a list of one", lambda: rr.privatize([answer], mechanism)[0]),
        way("the value", lambda: rr.privatize(answer, mechanism)),
    ]
    rival = find("opendp", K)
    if not isinstance(rival, str):
        ways.append(way("OpenDP", lambda: rival.call(answer)))
    times = take_turns(ways, settings.rounds)
    for case, target in (("a list of one", Target(1)), ("the value", None)):
        if isinstance(rival, str):
            yield Line(case, "us/call", times[case], "OpenDP", note=rival, target=target)
        else:
            yield from side_by_side(case, "us/call", times, {"OpenDP": target}, ours=case)


if __name__ == "__main__":
    sys.exit(alone("single"))
