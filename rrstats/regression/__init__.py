"""Regression with privatized columns: answers seen through a channel, and private covariates.

`logit`, `probit`, `cloglog` and `cauchit` have a privatized answer on the left (`models`);
`linear`, and `logit` with ``covariates=``, have privatized columns on the right (`covariates`).
"""

from rrstats.errors import ConvergenceWarning
from rrstats.regression.corrected_scores import ScoreResult
from rrstats.regression.models import cauchit, cloglog, linear, logit, probit
from rrstats.regression.results import (
    CovariateResult,
    GoodnessOfFit,
    LikelihoodRatioTest,
    OutcomeResult,
    RegressionResult,
    WaldTest,
)

__all__ = [
    "ConvergenceWarning",
    "CovariateResult",
    "GoodnessOfFit",
    "LikelihoodRatioTest",
    "OutcomeResult",
    "RegressionResult",
    "ScoreResult",
    "WaldTest",
    "cauchit",
    "cloglog",
    "linear",
    "logit",
    "probit",
]
