"""Tests of shares seen through randomized response: fit, independence, homogeneity, change.

    rr.hypotheses.goodness_of_fit(reports, shares, mechanism)     these shares?
    rr.hypotheses.independence(crosstab)                          two columns
    rr.hypotheses.homogeneity(by_group)                           several samples
    rr.hypotheses.change(before, after)                           two waves

The null is carried through the channel and compared with the reports, so that noise costs power and
not the level.  Each gives a `TestResult`, which says how much of the sample the noise has left.
Intervals for two samples are `rrstats.difference`'s.
"""

from rrstats.estimation.goodness_of_fit import goodness_of_fit, goodness_of_fit_power
from rrstats.estimation.homogeneity import change, homogeneity
from rrstats.estimation.hypothesis_results import TestPower, TestResult
from rrstats.estimation.independence import independence

__all__ = [
    "TestPower",
    "TestResult",
    "change",
    "goodness_of_fit",
    "goodness_of_fit_power",
    "homogeneity",
    "independence",
]
