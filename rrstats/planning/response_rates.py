"""People who are asked and the reports that count, and several questions at once.

Of n people who are asked n r report, with the response rate r; weights and clusters make of them
n r / d reports of a simple random sample, with the design effect d, that of `Estimate`.
Plans whose intervals or tests hold together for several items divide 1 - level, or alpha, by their
number (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rrstats._checks import (
    check_alpha,
    check_level,
    check_number,
    check_whole_number,
)
from rrstats.errors import ArgumentValueError

_MAX_ITEMS = 1_000_000


@dataclass(frozen=True)
class Fieldwork:
    """The number of reports that come of people who are asked.

    response_rate : the part of them that report.  design_effect : the variance over that of as many
    reports of a simple random sample.
    """

    response_rate: float = 1.0
    design_effect: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.response_rate, "response_rate", 0.0, 1.0, ends="(]")
        check_number(self.design_effect, "design_effect", 0.0, math.inf, ends="()")

    @property
    def _reports_each(self) -> Fraction:
        # As written: 0.57 of 100 people are 57.
        rate = Fraction(repr(float(self.response_rate)))
        return rate / Fraction(repr(float(self.design_effect)))

    def reports(self, n: int) -> int:
        """The effective number of reports of n people who are asked; raises for none."""
        size = math.floor(n * self._reports_each)
        if size < 1:
            raise ArgumentValueError(
                f"n must be at least {self.people(1):,} people, of whom 1 effective report comes, "
                f"got {n:,}"
            )
        return size

    def people(self, reports: int) -> int:
        """The smallest number of people of whom so many effective reports come."""
        return math.ceil(reports / self._reports_each)


def fieldwork_of(
    options: Mapping[str, Any], confidence: str, default: float
) -> tuple[Fieldwork, dict[str, Any]]:
    """The fieldwork of some options, and the others with ``confidence`` for all items together.

    confidence : "level" or "alpha".  default : where it is not given.
    """
    rest = dict(options)
    rate = rest.pop("response_rate", 1.0)
    effect = rest.pop("design_effect", 1.0)
    fieldwork = Fieldwork(rate, effect)
    if rest.get("target") == "sample" and fieldwork.design_effect != 1:
        raise ArgumentValueError(
            "design_effect must be left out for target 'sample': nobody was drawn, so that weights "
            "and clusters do not matter"
        )
    items = check_whole_number(rest.pop("items", 1), "items", 1, _MAX_ITEMS)
    if items > 1:
        if confidence == "level":
            rest["level"] = 1 - (1 - check_level(rest.get("level", default))) / items
        else:
            alpha = check_alpha(rest.get("alpha", default))
            rest["alpha"] = alpha / items
    return fieldwork, rest
