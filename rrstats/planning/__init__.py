"""Planning of a survey: which design, which epsilon, how many people, and whether it is worth it.

Each question is one call; for a table or a picture of many answers call it in a comprehension.

- width of the interval of n people: `half_width`; people for a width: `people`
- least epsilon that n people can afford: `least_epsilon`
- probability that a test notices a difference: `power`; people for it: `people_for_power`; the
  difference that n people notice: `detectable`
- price beside a direct question: `design_effect`; liars from which on it is worth it: `break_even`
- survey designs at one epsilon: `at_epsilon`; mechanisms for many categories: `recommend`
- effect of one report, or of a few liars, on an estimate: `influence`, `worst_case_bias`

Wherever a mechanism is wanted give one, or categories (or only their number) with ``prob`` or
``epsilon``; two categories where nothing is said.  `precision` has widths, `power` tests, and
`compare` the rest.
"""

from rrstats.planning.compare import (
    at_epsilon,
    break_even,
    design_effect,
    influence,
    recommend,
    worst_case_bias,
)
from rrstats.planning.power import detectable, people_for_power, power
from rrstats.planning.precision import half_width, least_epsilon, people

__all__ = [
    "at_epsilon",
    "break_even",
    "design_effect",
    "detectable",
    "half_width",
    "influence",
    "least_epsilon",
    "people",
    "people_for_power",
    "power",
    "recommend",
    "worst_case_bias",
]


def __dir__() -> list[str]:
    return __all__
