"""From reports to estimates: tallies, proportions, tables, tests.

`tally` counts reports of the columns and samples that `report_columns`, `sample_design` and
`engine_frames` resolve; `estimate` has `Estimate`, `groups` several of them, `arrays` the plain
functions behind `rr.estimators`.  `means`, `quantiles`, `crosstab`, `association` and `posterior`
are further results on the base in `result`, and so are the tests and differences in
`hypothesis_tests`; `survey_variance` has the variances of designed samples.
"""
