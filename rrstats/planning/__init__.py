"""Planning of a survey: design, epsilon, sample size, and comparison with direct questions.

Each function answers one question; for a table or a plot of several values use a comprehension.

- half the width of the interval for n people: `half_width`; sample size for a width: `people`
- smallest epsilon for n people and a width: `least_epsilon`
- power of a test: `power`; sample size for a power: `people_for_power`; smallest difference that n
  people can detect: `detectable`
- variance relative to a direct question: `relative_variance`; proportion of liars above which
  randomized response has the smaller error: `break_even`
- survey designs at one epsilon: `at_epsilon`; mechanisms for many categories: `recommend`
- the matrix for a question (proportions, a mean, a distribution over brackets): `design`
- one epsilon for all private columns of a frame: `frame`
- effect of one report, or of a few attackers, on an estimate: `influence`, `worst_case_bias`
- people who do not follow the instructions: `tolerable_noncompliance`; the power of the test
  whether they do: `design_fit_power`, `people_for_design_fit`

Each function takes a mechanism, or categories (or only their number, 2 by default) with ``prob`` or
``epsilon``.  `precision` has widths, `power` tests, `response_rates` response rates and design
effects, `designs` matrices, `compliance` people who do not follow, `chances` the best chances of a
plan's parts, and `compare` the rest.
"""

from typing import TYPE_CHECKING, NoReturn

from rrstats._names import missing_attribute
from rrstats.planning.compare import (
    at_epsilon,
    break_even,
    frame,
    influence,
    recommend,
    relative_variance,
    worst_case_bias,
)
from rrstats.planning.compliance import (
    design_fit_power,
    people_for_design_fit,
    tolerable_noncompliance,
)
from rrstats.planning.designs import design
from rrstats.planning.power import detectable, people_for_power, power
from rrstats.planning.precision import half_width, least_epsilon, people

__all__ = [
    "at_epsilon",
    "break_even",
    "design",
    "design_fit_power",
    "detectable",
    "frame",
    "half_width",
    "influence",
    "least_epsilon",
    "people",
    "people_for_design_fit",
    "people_for_power",
    "power",
    "recommend",
    "relative_variance",
    "tolerable_noncompliance",
    "worst_case_bias",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
