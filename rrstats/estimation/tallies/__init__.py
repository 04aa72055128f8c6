"""Counts of reports, sums of scores, and the moments that follow from them.

`tally` counts reports by unit of the sample; `arrays` has the formulas for any channel.  Results
hold `moments`, of samples with a design those in `survey_moments`, of decks
of cards those in `deck_moments`.  `score_sums` has the sums of scores of rows, on which means stand
and estimates where prob differs by row.  Sums over single rows have their variances by strata,
clusters and replicates in `sampled_rows`; `score_moments` has the second moments of columns by
scores of rows, and `part_scores` reads the columns of a plan.
"""
