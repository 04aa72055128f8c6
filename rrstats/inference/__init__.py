"""Intervals and maximum likelihood of counts: numbers in, numbers out.

`binomial` has intervals of counts and of the proportions behind them; `multinomial` maximum
likelihood, profile intervals and fit of counts in many cells; `empirical_likelihood` intervals of
means of scores and of their ratios; `contrasts` quantiles and intervals of differences, ratios and
sums; `optimize` maximizes smooth functions of a few parameters.
"""
