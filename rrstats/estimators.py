"""Estimators: functions of arrays, and for annotations the types of results."""

from typing import TYPE_CHECKING, NoReturn

from rrstats._names import missing_attribute
from rrstats.estimation.estimates.association import Correlations
from rrstats.estimation.estimates.control_questions import Corrected
from rrstats.estimation.estimates.crosstab import ConditionalProportions, Crosstab
from rrstats.estimation.estimates.debiasing import (
    confidence_interval,
    count_interval,
    count_variance,
    debias_counts,
    debias_proportions,
    debias_reports,
    proportion_variance,
)
from rrstats.estimation.estimates.estimate import Estimate, estimate
from rrstats.estimation.estimates.estimated_number import EstimatedNumber
from rrstats.estimation.estimates.groups import Estimates, GroupEstimates, GroupResults
from rrstats.estimation.estimates.means import Means
from rrstats.estimation.estimates.measures import Association
from rrstats.estimation.estimates.noncompliance import NoncomplianceBounds
from rrstats.estimation.estimates.pairwise import PairwiseDifferences
from rrstats.estimation.estimates.pooled import PooledGroups
from rrstats.estimation.estimates.posterior import PosteriorProbabilities
from rrstats.estimation.estimates.quantiles import Quantiles
from rrstats.estimation.estimates.result import ConstrainedProportions, LabelledInterval
from rrstats.estimation.hypothesis_tests.difference import Difference
from rrstats.estimation.hypothesis_tests.list_design import ListDesignTest
from rrstats.estimation.hypothesis_tests.test_result import TestResult

__all__ = [
    "Association",
    "ConditionalProportions",
    "ConstrainedProportions",
    "Corrected",
    "Correlations",
    "Crosstab",
    "Difference",
    "Estimate",
    "EstimatedNumber",
    "Estimates",
    "GroupEstimates",
    "GroupResults",
    "LabelledInterval",
    "ListDesignTest",
    "Means",
    "NoncomplianceBounds",
    "PairwiseDifferences",
    "PooledGroups",
    "PosteriorProbabilities",
    "Quantiles",
    "TestResult",
    "confidence_interval",
    "count_interval",
    "count_variance",
    "debias_counts",
    "debias_proportions",
    "debias_reports",
    "estimate",
    "proportion_variance",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
