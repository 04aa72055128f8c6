"""From reports to estimates: columns, tallies, proportions, tables, tests.

Four folders, each importing only from those before it:

- `report_columns`: data and a request become columns of reports, and the columns of a survey
- `tallies`: counts and sums of scores by unit, and the moments that follow from them
- `estimates`: results, their intervals, tables and words
- `hypothesis_tests`: tests (`rr.hypotheses`) and comparisons of estimates

Public: `rr.estimate`, `rr.tally`, `rr.crosstab`, `rr.difference`, `rr.means`, `rr.quantiles`,
`rr.privacy.posterior`, `rr.hypotheses`, `rr.correlations`, `rr.SampleDesign`, and the results in
`rr.estimators`.
"""
