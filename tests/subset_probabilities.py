"""Probabilities of reports that are subsets, written out from each mechanism's definition.

A report is its bits: bit v says whether category v is in it.  Of k-RR it is a subset of one.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any


def probability(mechanism: Any, bits: Any, truth: int) -> Fraction:
    """P(bits | truth), by the words of each mechanism's definition."""
    k, size = mechanism.k, getattr(mechanism.report_space, "size", 1)
    own = Fraction(getattr(mechanism, "prob_own", None) or mechanism.prob)
    if size is not None:
        # The truth is named with one probability; of the rest every choice is equally likely.
        if sum(bits) != size:
            return Fraction(0)
        return (
            own / math.comb(k - 1, size - 1) if bits[truth] else (1 - own) / math.comb(k - 1, size)
        )
    # Independent bits: the truth's with one probability, all others with another.
    probs = [own if place == truth else Fraction(mechanism.prob_other) for place in range(k)]
    return math.prod(p if bit else 1 - p for p, bit in zip(probs, bits, strict=True))


def reports(mechanism: Any) -> list[tuple[tuple[int, ...], list[Fraction]]]:
    """Every report that can be, with its probability for each truth."""
    every = itertools.product((0, 1), repeat=mechanism.k)
    listed = [
        (bits, [probability(mechanism, bits, t) for t in range(mechanism.k)]) for bits in every
    ]
    return [(bits, probs) for bits, probs in listed if any(probs)]
