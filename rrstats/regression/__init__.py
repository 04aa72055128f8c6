"""Regression with privatized columns: answers, covariates, or both, that were seen as reports.

`logit` models an answer, also with other links, and `linear` a number (`models`);
`design_matrix` reads formulas and columns, `private_covariates` makes the classes of people that
privatized ones leave open, `varying_columns` holds the columns that depend on these, and `links`
goes from predictors to probabilities; `likelihood` (of `outcomes`) and `corrected_scores` fit them,
and `survey_people` has covariances by strata, clusters and replicate weights; `effects` has the
means under a fit and the marginal effects, and `results` the coefficients, tests and tables.
Further models: `ordered` categories, `behaviours` of people who do not follow, `random_intercepts`
(with `grouped_likelihood`), columns of a plan (`part_equations`), and `list_experiment` (with
`item_counts`).
"""
