"""From reports to estimates: tallies, proportions, tables, tests.

`tally` counts reports of the columns and samples that `analysis_columns`, `sample_design` and
`engine_frames` resolve; `estimate` has `Estimate`, `groups` several of them, `arrays` the plain
functions behind `rr.estimators`.  `difference`, `means`, `crosstab` and `association` are further
results on the base in `result`; `survey_variance` has the variances of designed samples,
`hypothesis_tests` the tests, `posterior` the chance of each true answer given a report.
"""
