"""Regression with privatized columns: answers, covariates, or both, that were seen as reports.

`logit`, `probit`, `cloglog` and `cauchit` model an answer and `linear` a number (`models`);
`likelihood` and `corrected_scores` fit them, `results` holds what comes out.
"""

from rrstats.errors import ConvergenceWarning
from rrstats.regression.corrected_scores import ScoreResult
from rrstats.regression.models import cauchit, cloglog, linear, logit, probit
from rrstats.regression.results import LikelihoodResult, RegressionResult

__all__ = [
    "ConvergenceWarning",
    "LikelihoodResult",
    "RegressionResult",
    "ScoreResult",
    "cauchit",
    "cloglog",
    "linear",
    "logit",
    "probit",
]
