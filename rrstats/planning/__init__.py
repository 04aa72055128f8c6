"""Planning of a survey: design, epsilon, sample size, and comparison with direct questions.

Each function answers one question; for a table or a plot of several values use a comprehension.

- half the width of the interval for n people: `half_width`; sample size for a width: `sample_size`
- smallest epsilon for n people and a width: `least_epsilon`
- power of a test: `power`; sample size for a power: `people_for_power`; smallest difference that n
  people can detect: `detectable_difference`
- variance relative to a direct question: `relative_variance`
- survey designs at one epsilon: `compare_designs`; mechanisms for many categories: `recommend`
- the matrix for a question (proportions, a mean, a distribution over brackets): `optimal_matrix`
- one epsilon for all private columns of a frame: `plan`, which returns a `FramePlan`
- response rates, design effects and several questions, for all of these: `Fieldwork`
- people who do not follow, lie or attack, and the test whether they follow: `compliance`

Each function takes a mechanism, or categories (or only their number, 2 by default) with ``prob`` or
``epsilon``.  `precision` has widths, `power` tests, `response_rates` response rates and design
effects, `designs` matrices, `compliance` people who do not follow, `chances` the best chances of a
plan's parts, and `comparisons` the rest.
"""

from typing import TYPE_CHECKING, NoReturn

from rrstats._names import missing_attribute
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.planning import compliance
from rrstats.planning.comparisons import (
    compare_designs,
    plan,
    recommend,
    relative_variance,
)
from rrstats.planning.designs import optimal_matrix
from rrstats.planning.power import detectable_difference, people_for_power, power
from rrstats.planning.precision import half_width, least_epsilon, sample_size
from rrstats.planning.response_rates import Fieldwork

__all__ = [
    "Fieldwork",
    "FramePlan",
    "compare_designs",
    "compliance",
    "detectable_difference",
    "half_width",
    "least_epsilon",
    "optimal_matrix",
    "people_for_power",
    "plan",
    "power",
    "recommend",
    "relative_variance",
    "sample_size",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
