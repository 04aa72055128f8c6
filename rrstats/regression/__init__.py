"""Regression with privatized columns: answers, covariates, or both, that were seen as reports.

`logit`, `probit`, `cloglog` and `cauchit` model an answer and `linear` a number (`models`);
`likelihood` and `corrected_scores` fit them, `results` holds what comes out.
"""
