"""Plan a survey: which design, which epsilon, how many people, and whether it is worth it.

Each question is one call; its plural asks it for many numbers at once and has a ``plot()``.

- How wide will the interval be for n people?  `half_width`, `half_widths`
- How many people give an interval so narrow?  `people`
- How much protection can n people afford?  `least_epsilon`
- Will a test notice the difference?  `power`, `powers`; how many people until it does:
  `people_for_power`; which difference do n people notice: `detectable`
- What does it cost beside a direct question?  `design_effect`, `design_effects`
- How many must lie to a direct question before it is worth it?  `break_even`, `break_evens`
- Which survey design, at one epsilon?  `at_epsilon`; and for many categories: `recommend`
- What can one report, or a few liars, do to an estimate?  `influence`, `worst_case_bias`

Wherever a mechanism is wanted give one, or categories (or only their number) with ``prob`` or
``epsilon``; two categories where nothing is said.
"""

from rrstats.planning.costs import break_even, design_effect
from rrstats.planning.curves import PlanTable, break_evens, design_effects, half_widths, powers
from rrstats.planning.designs import Recommendation, influence, recommend, worst_case_bias
from rrstats.planning.detecting import detectable, people_for_power, power
from rrstats.planning.equal_privacy import DesignsAtEpsilon, at_epsilon
from rrstats.planning.widths import half_width, least_epsilon, people

__all__ = [
    "DesignsAtEpsilon",
    "PlanTable",
    "Recommendation",
    "at_epsilon",
    "break_even",
    "break_evens",
    "design_effect",
    "design_effects",
    "detectable",
    "half_width",
    "half_widths",
    "influence",
    "least_epsilon",
    "people",
    "people_for_power",
    "power",
    "powers",
    "recommend",
    "worst_case_bias",
]
