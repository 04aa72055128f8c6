"""Results: proportions, tables, means and quantiles, with intervals and words.

`estimate` has `Estimate`, and `groups` several of them, on the base in `result`; `debiasing` has
the functions of `rr.estimators`, `posterior` what one report says, `ratios` ratios and means.
`crosstab` has tables, whose columns are `axes` and whose moments `table_moments`; their `measures`
of association are `product_moment`, `odds_ratio` and `cramers_v`, and `association` has
correlations of columns.  `means` and `quantiles` are of a number in true groups.  `noncompliance`
has bounds where people do not follow, `control_questions` a correction, `pooled` what groups share.
`two_samples` has the numbers of a difference, and `pairwise` those of all pairs of groups.
`estimated_number` is one number with its interval, `group_labels` names groups, and
`counting_accessor` is what accessors of engines have in common.
"""
