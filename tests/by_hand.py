"""The wrong functions of docs/guide/by_hand.md, by the page's own code, and what audits can show.

`page()` runs the cells.  Its functions read ``answers`` and ``epsilon`` from the page, so that
`of` sets both for any number of categories and any claim.
"""

from __future__ import annotations

import math
import re
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy import stats
from scipy.special import rel_entr

from rrstats import auditing
from rrstats.data.categories import Categories

PATH = Path(__file__).parents[1] / "docs" / "guide" / "by_hand.md"
TRIALS = 20_000
LEVEL = 1 - 1e-6
ERROR = (1 - LEVEL) / (len(auditing.EVENTS) + 2)


@cache
def page() -> tuple[dict, str]:
    """What the page's cells define, and what they print."""
    cells = re.findall(
        r"```\{code-cell\} python\n(?::tags:[^\n]*\n)?(.*?)```", PATH.read_text("utf-8"), re.S
    )
    namespace: dict = {}
    with redirect_stdout(StringIO()) as printed:
        for cell in cells:
            exec(cell, namespace)
    return namespace, printed.getvalue()


def of(name: str, claimed: float, k: int) -> SimpleNamespace:
    """A way of the page at a claim and a number of categories: its function, inputs and options."""
    namespace, _ = page()
    namespace["epsilon"] = claimed
    namespace["answers"] = [f"answer {number}" for number in range(k)]
    fn, how = namespace["ways"][name]
    columns = how.get("columns", 1)
    others = how.get("others", [])
    declared = namespace["answers"]
    if columns > 1:
        declared = list(product(declared, repeat=columns))
    options = {"missing": None in others, "unknown": "other" in others}
    return SimpleNamespace(
        fn=fn, declared=declared, others=others, n=how.get("n", 1), options=options
    )


def missed(judging: int, rate: float, share: float, claimed: float, error: float) -> float:
    """How often a fault stays unseen that says something in a share ``rate`` of judging trials."""
    middle, width = judging * rate, 10 * math.sqrt(judging * rate) + 10
    said = np.arange(max(0, int(middle - width)), min(judging, int(middle + width)) + 1)
    chance_of = stats.binom.pmf(said, judging, rate)
    needed = stats.binom.isf(error, said, 1 / (1 + math.exp(-claimed))) + 1
    return float((chance_of * stats.binom.cdf(needed - 1, said, share)).sum())


def escapes(way: SimpleNamespace, claimed: float) -> float:
    """The probability that a way escapes the best guesses that its trials allow.

    The trials are the long calls' records or, for a way that shows in two records
    together, those of calls of two; 2 in 3 judge.
    """
    namespace, _ = page()
    inputs = auditing._Inputs.of(Categories(way.declared), **way.options)
    values = [*way.declared, *way.others]
    pairs = list(zip(inputs.first.tolist(), inputs.second.tolist(), strict=True))
    of_categories = sum(max(pair) < inputs.k for pair in pairs)
    weights = []
    for pair in pairs:
        is_other = max(pair) >= inputs.k
        part = 1.0 if of_categories == len(pairs) else (0.25 if is_other else 0.75)
        weights.append(part / (len(pairs) - of_categories if is_other else of_categories))
    beside = pairs if way.n == 2 else [()]
    distributions = {
        x: namespace["distribution"](way.fn, [values[code] for code in x])
        for x in product(range(len(values)), repeat=way.n)
    }
    rights, totals = [], []
    for pair, weight in zip(pairs, weights, strict=True):
        for other in beside:
            chances = []
            for code in pair:
                inputs_here = [(code, *rest) for rest in ([(c,) for c in other] or [()])]
                chances.append(
                    {
                        release: sum(float(distributions[x][release]) for x in inputs_here)
                        / len(inputs_here)
                        for x in inputs_here
                        for release in set().union(*(distributions[y] for y in inputs_here))
                    }
                )
            for release in {*chances[0], *chances[1]}:
                both = [chance.get(release, 0.0) / 2 * weight / len(beside) for chance in chances]
                rights.append(max(both))
                totals.append(sum(both))
    order = np.argsort(-np.round(np.array(rights) / np.array(totals), 9), kind="stable")
    rate = np.cumsum(np.array(totals)[order])
    share = np.minimum(np.cumsum(np.array(rights)[order]) / rate, 1.0)
    trials = TRIALS if way.n == 1 else 4 * auditing._DESIGN.max_default_calls
    judging = trials * 2 // 3
    # Cells that say as much are chosen together; five ends with the most evidence are tried.
    ends = np.flatnonzero(np.diff(share, append=-1.0) < -1e-9)
    truth = 1 / (1 + math.exp(-claimed))
    evidence = rel_entr(share[ends], truth) + rel_entr(1 - share[ends], 1 - truth)
    best = ends[np.argsort(-np.where(share[ends] > truth, rate[ends] * evidence, 0.0))[:5]]
    return min(
        missed(judging, min(rate[end], 1.0), share[end], claimed, ERROR) for end in best.tolist()
    )
