"""P-values adjusted for several tests, so that each may be compared with alpha.

Holm's and Bonferroni's bound the probability of any false rejection, whatever the dependence, and
Holm's are never larger.  Benjamini and Hochberg's bound the expected part of false rejections among
all of them (the false discovery rate) where tests are independent or positively dependent,
Benjamini and Yekutieli's whatever the dependence.
Sources: Holm (1979); Benjamini and Hochberg (1995); Benjamini and Yekutieli (2001).
"""

from __future__ import annotations

import numpy as np

from rrstats._typing import Floats

CORRECTIONS = ("holm", "bonferroni", "benjamini-hochberg", "benjamini-yekutieli")
"""Corrections by name; the first is the default."""


def adjusted_p_values(p_values: Floats, correction: str) -> Floats:
    """(m,) adjusted p-values; NaN, which is no test, stays NaN and is not counted.

    >>> adjusted_p_values(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.full(len(p_values), np.nan)
    tests = np.flatnonzero(~np.isnan(p_values))
    m = len(tests)
    if not m:
        return adjusted
    order = tests[np.argsort(p_values[tests], kind="stable")]
    p = p_values[order]
    rank = np.arange(1, m + 1)
    if correction == "bonferroni":
        steps = m * p
    elif correction == "holm":
        steps = np.maximum.accumulate((m - rank + 1) * p)
    else:
        factor = (1 / rank).sum() if correction == "benjamini-yekutieli" else 1.0
        steps = np.minimum.accumulate((factor * m / rank * p)[::-1])[::-1]
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
