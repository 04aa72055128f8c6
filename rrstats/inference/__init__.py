"""Intervals and maximum likelihood of counts: numbers in, numbers out.

`binomial` has intervals of counts and of the proportions behind them, and `melded` intervals of
the difference of two; `multinomial` has maximum likelihood, profile intervals and fit of counts in
many cells; `contrasts` quantiles and intervals of differences, ratios and sums, also by empirical
likelihood; `sandwich` covariances of few clusters and their degrees of freedom; `cone` tests that
means are at least 0; `dealt_cards` has the numbers of yes where cards are dealt
without replacement; `optimize` maximizes smooth functions of a few parameters; `multiplicity`
adjusts p-values of several tests.  No name here is public.
"""
