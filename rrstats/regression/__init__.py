"""Regression with privatized columns: answers, covariates, or both, that were seen as reports.

`logit` models an answer, also with other links, `ordinal` one of ordered categories, `mixed` one
that differs between groups, and `linear` a number (`models`); `formula_terms` reads ``(1 | g)``;
`design_matrix` reads formulas and columns, `private_covariates` makes the classes of people that
privatized ones leave open, `varying_columns` holds the columns that depend on these, and `links`
goes from predictors to probabilities; `likelihood` (of `outcomes`) and `scores` fit them,
and `survey_people` has covariances by strata, clusters and replicate weights; `effects` has the
means under a fit and the marginal effects, `results` the coefficients, tests and predictions, and
`fit_tables` the tables of these.
Further models: `ordered` categories, `behaviours` of people who do not follow, `random_intercepts`
(with `grouped_likelihood`), columns of a plan (`part_equations`), and `list_experiment` (with
`item_counts`).
"""

from typing import TYPE_CHECKING, NoReturn

from rrstats._names import missing_attribute
from rrstats.regression.fit_tables import FitTable
from rrstats.regression.list_experiment import (
    DirectListEstimate,
    ListLikelihoodResult,
    ListResult,
    list_regression,
    list_with_direct,
)
from rrstats.regression.models import linear, logit, mixed, ordinal
from rrstats.regression.random_intercepts import RandomInterceptsResult
from rrstats.regression.results import GoodnessOfFit, LikelihoodResult, RegressionResult
from rrstats.regression.scores import ScoreResult

__all__ = [
    "DirectListEstimate",
    "FitTable",
    "GoodnessOfFit",
    "LikelihoodResult",
    "ListLikelihoodResult",
    "ListResult",
    "RandomInterceptsResult",
    "RegressionResult",
    "ScoreResult",
    "linear",
    "list_regression",
    "list_with_direct",
    "logit",
    "mixed",
    "ordinal",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
