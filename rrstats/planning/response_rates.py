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
    check_instance,
    check_level,
    check_number,
    check_whole_number,
)
from rrstats._names import checked_keywords
from rrstats.errors import ArgumentValueError

_MAX_ITEMS = 1_000_000


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class Fieldwork:
    """People who are asked and the reports that come of them, for the functions of planning.

    Attributes
    ----------
    response_rate : float
        The part of the people asked who report, in (0, 1]; n of a plan is then that of the people
        asked.
    design_effect : float
        The factor by which weights and clusters enlarge the variance of estimates, as
        `Estimate.design_effect`.  The mechanism's noise (`relative_variance`) is counted anyway.
        The design effect of a direct question is a safe value: noise has no clusters.
    items : int
        The number of questions, or of groups, whose intervals or tests are to hold together
        (Bonferroni).  epsilon is that of each report: several questions of everyone divide it.

    Examples
    --------
    >>> import rrstats as rr
    >>> fieldwork = rr.planning.Fieldwork(response_rate=0.6, items=3)
    >>> rr.planning.sample_size(0.03, 0.1, epsilon=1.0, fieldwork=fieldwork)
    10840
    """

    response_rate: float = 1.0
    design_effect: float = 1.0
    items: int = 1

    def __post_init__(self) -> None:
        check_number(self.response_rate, "response_rate", 0.0, 1.0, ends="(]")
        check_number(self.design_effect, "design_effect", 0.0, math.inf, ends="()")
        check_whole_number(self.items, "items", 1, _MAX_ITEMS)

    @property
    def _reports_each(self) -> Fraction:
        # As written: 0.57 of 100 people are 57.
        rate = Fraction(repr(float(self.response_rate)))
        return rate / Fraction(repr(float(self.design_effect)))

    def reports(self, n: int) -> int:
        """The effective number of reports of n people who are asked; raises for none.

        Examples
        --------
        >>> import rrstats as rr
        >>> rr.planning.Fieldwork(response_rate=0.6, design_effect=1.5).reports(2500)
        1000
        """
        size = math.floor(n * self._reports_each)
        if size < 1:
            raise ArgumentValueError(
                f"n must be at least {self.people(1):,} people, of whom 1 effective report comes, "
                f"got {n:,}"
            )
        return size

    def people(self, reports: int) -> int:
        """The smallest number of people of whom so many effective reports come.

        Examples
        --------
        >>> import rrstats as rr
        >>> rr.planning.Fieldwork(response_rate=0.6, design_effect=1.5).people(1000)
        2500
        """
        return math.ceil(reports / self._reports_each)


def fieldwork_of(
    options: Mapping[str, Any], confidence: str, default: float
) -> tuple[Fieldwork, dict[str, Any]]:
    """The fieldwork of some options, and the others with ``confidence`` for all items together.

    confidence : "level" or "alpha".  default : where it is not given.
    """
    rest = dict(options)
    fieldwork = rest.pop("fieldwork", Fieldwork())
    check_instance(fieldwork, "fieldwork", Fieldwork, "rr.planning.Fieldwork(response_rate=0.6)")
    if rest.get("target") == "sample" and fieldwork.design_effect != 1:
        raise ArgumentValueError(
            "design_effect must be left out for target 'sample': nobody was drawn, so that weights "
            "and clusters do not matter"
        )
    if fieldwork.items > 1:
        if confidence == "level":
            rest["level"] = 1 - (1 - check_level(rest.get("level", default))) / fieldwork.items
        else:
            rest["alpha"] = check_alpha(rest.get("alpha", default)) / fieldwork.items
    return fieldwork, rest
