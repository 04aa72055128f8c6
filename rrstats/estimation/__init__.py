"""From reports to estimates: tallies, proportions, tables, tests.

`report_columns` is the only way from data to columns; `engine_frames` has the frames of engines,
`sample_design` strata, clusters and weights, `sampled_rows` the variances of sums over rows by
them.  `tally` counts reports; `estimate` has `Estimate`, `groups` several of them, `arrays` the
formulas for any channel, `debiasing` the functions of `rr.estimators`.  `means`, `quantiles`,
`crosstab`, `association` (correlations of columns) and `posterior` are further results on the base
in `result`, and so are the tests in `hypothesis_tests` and the `difference` of two estimates, which
`pairwise` asks of many groups.  Tables have `measures` of association: `product_moment`,
`odds_ratio` and `cramers_v`.  Results hold `moments` (of samples with a design in `survey_moments`,
whose replicate weights are in `replicates`; of tables in `table_moments`, whose columns are `axes`;
of columns that a plan asks in parts, for correlations, in `second_moments`); `ratios` are ratios
and means of them.  `noncompliance` has bounds where people do not follow, `control_questions` a
correction, and `pooled` what groups share.
Public: `rr.estimate`, `rr.tally`, `rr.crosstab`, `rr.difference`, `rr.pairwise`, `rr.means`,
`rr.quantiles`, `rr.posterior`, `rr.hypotheses`, `rr.correlations`, `rr.SampleDesign`, results.
"""
