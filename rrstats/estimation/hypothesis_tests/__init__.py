"""Hypothesis tests of proportions.

    rr.hypotheses.goodness_of_fit(reports, proportions, mechanism)  the given proportions
    rr.hypotheses.independence(crosstab)                            two columns
    rr.hypotheses.homogeneity(by_group)                             several samples
    rr.hypotheses.change(before, after)                             two waves
    rr.hypotheses.design_fit(estimate)                              did people do as told?
    rr.hypotheses.no_design_effect(estimate)                        the same for a list experiment

Tests compare the reports with the probabilities of reports under the null hypothesis, not debiased
with given proportions.  Counts are then multinomial under the null, so noise reduces the power and
does not change the level.  Reports that name several categories have no small table of counts:
their debiased proportions are compared, with the covariance under the null.  Each test returns a
`TestResult`, which has the effective sample size.

`test_result` has the result, `counted_reports` what the tests share, and each test its module:
`goodness_of_fit`, `independence` (with `pair_independence` for a pair privatized as one answer),
`homogeneity`, `change`, `design_fit`, `list_design`; `adjust` is for several tests.
`difference` compares two estimates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from rrstats._names import missing_attribute
from rrstats.estimation.hypothesis_tests.adjust import adjust
from rrstats.estimation.hypothesis_tests.change import change
from rrstats.estimation.hypothesis_tests.design_fit import design_fit
from rrstats.estimation.hypothesis_tests.goodness_of_fit import goodness_of_fit
from rrstats.estimation.hypothesis_tests.homogeneity import homogeneity
from rrstats.estimation.hypothesis_tests.independence import independence
from rrstats.estimation.hypothesis_tests.list_design import no_design_effect

__all__ = [
    "adjust",
    "change",
    "design_fit",
    "goodness_of_fit",
    "homogeneity",
    "independence",
    "no_design_effect",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute("rrstats.hypotheses", name, __all__))


def __dir__() -> list[str]:
    return __all__
