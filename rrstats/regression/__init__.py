"""Regression with privatized columns: answers seen through a channel, and private covariates.

`logit`, `probit`, `cloglog` and `cauchit` have a privatized answer on the left (`models`);
`linear`, and `logit` with ``covariates=``, have privatized columns on the right (`covariates`).
"""

from rrstats.errors import ConvergenceWarning
from rrstats.regression.covariate_results import CovariateResult
from rrstats.regression.covariates import linear
from rrstats.regression.fitted import GoodnessOfFit, LikelihoodRatioTest, OutcomeResult
from rrstats.regression.models import cauchit, cloglog, logit, probit
from rrstats.regression.results import RegressionResult, WaldTest
from rrstats.regression.scores import ScoreResult

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
