"""Means of an ordinary number by a privatized group: do people who say yes earn less?

Whoever splits a column by what people *reported* mixes the groups, and their means are drawn
together.  The unbiased scores s of the reports unmix them: the mean of y in group v is

    sum w y s_v / sum w s_v,

a ratio of two estimates, consistent and not unbiased.  Its interval is Fieller's: all values mu
for which sum w s_v (y - mu) is within noise of 0.  Where the size of the group itself is within
noise of 0 every mean is possible, and the interval says so by having no ends.
For a 0/1 column by ordinary groups, `estimate` of that column is the better way; for several
explanations at once, a regression.
Sources: theory of ratio estimates (Cochran 1977, chapter 6); Fieller (1954); Satterthwaite (1946);
Zou and Donner (2008) for the difference of two means.
"""

from rrstats.group_means.estimating import means, numbers
from rrstats.group_means.results import MeanDifference, Means

__all__ = ["MeanDifference", "Means", "means", "numbers"]
