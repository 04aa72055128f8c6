"""Planning for people who do not follow the instructions: what a study can stand, and see.

`tolerable_noncompliance` is the share of the respondents that moves an estimate by no more than a
given bias.  `design_fit_power` and `people_for_design_fit` plan the test of the design: reports of
people who did not follow are a distribution that the design's proportions do not explain.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy

from rrstats._checks import check_alpha, check_number, quote
from rrstats._names import checked_keywords
from rrstats._typing import NumbersByCategory
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.noncompliance import ANY, behaviour_scores, rates_of
from rrstats.estimation.estimates.posterior import proportions_of
from rrstats.estimation.hypothesis_tests.design_fit import distance_to_design, free_cells
from rrstats.estimation.tallies.moments import ChannelMoments
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import transition_matrix
from rrstats.mechanisms.krr import MechanismLike, as_mechanism
from rrstats.planning.precision import MAX_PEOPLE, check_people, numbered


@checked_keywords
def tolerable_noncompliance(
    bias: float,
    proportion: float,
    mechanism: MechanismLike | int = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    category: Hashable = ...,
    behaviour: Any = "random",
) -> float:
    """Calculate the proportion of people who do not follow that a study can stand.

    Parameters
    ----------
    bias : float
        The largest distance of the expected estimate from the proportion among people who follow.
    proportion : float
        The expected true proportion of the category.
    mechanism, prob, epsilon
        As in `half_width`; samples are planned with equal sizes.
    category : hashable
        By default the last one.
    behaviour : "random", "any", a report, or a mapping from report to probability
        What people who do not follow report, as in `rrstats.estimators.Estimate.noncompliance`;
        "any" is the worst behaviour.

    Returns
    -------
    float
        The largest proportion, at most 1.

    Notes
    -----
    With g people of mean score r the estimate has the mean (1 - g) pi + g r, so the bias is
    g (r - pi).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.crosswise(["no", "yes"], 0.2, yes="yes")
    >>> round(tolerable_noncompliance(0.02, 0.1, m), 3)
    0.05

    5% who answer at random make 12% out of 10%.
    """
    check_number(bias, "bias", 0, 1, ends="(]")
    pi = check_number(proportion, "proportion", 0, 1)
    design = as_mechanism(numbered(mechanism), prob, epsilon)
    categories = list(design.categories)
    if category is not ... and category not in categories:
        answers = Categories(categories).describe()
        raise ArgumentValueError(f"category must be one of {answers}, got {quote(category)}")
    code = design.k - 1 if category is ... else categories.index(category)
    m = len(design.channel.samples)
    moments = ChannelMoments(design.channel, np.ones(m, dtype=np.int64), m, "population", ddof=1)
    scores = behaviour_scores(moments, design.report_space, behaviour)
    largest = max(abs(float(end[code]) - pi) for end in scores)
    return min(bias / largest, 1.0) if largest else 1.0


@checked_keywords
def design_fit_power(
    n: int,
    proportions: NumbersByCategory,
    mechanism: Mechanism,
    *,
    noncompliance: float,
    behaviour: Any,
    alpha: float = 0.05,
) -> float:
    """Calculate the power of the test whether people follow the instructions.

    Parameters
    ----------
    n : int
        The number of respondents, in samples of equal size.
    proportions : sequence of k floats, or mapping
        The expected true proportions.
    mechanism : Mechanism
        A design that has something to test, such as `rrstats.surveys.extended_crosswise`.
    noncompliance : float
        The proportion of respondents who do not follow.
    behaviour : "random", a report, or a mapping from report to probability
        What these report.
    alpha : float
        The significance level, in (0, 1).

    Returns
    -------
    float
        The power of `rrstats.hypotheses.design_fit`, by the noncentral chi-squared distribution.

    Raises
    ------
    ArgumentValueError
        Proportions explain any reports of this design.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.extended_crosswise(
    ...     ["no", "yes"], 0.2, yes="yes", reports=["different", "same"]
    ... )
    >>> round(design_fit_power(1000, [0.8, 0.2], m, noncompliance=0.1, behaviour="different"), 2)
    0.92
    >>> round(design_fit_power(1000, [0.8, 0.2], m, noncompliance=0.1, behaviour="random"), 2)
    0.05

    Random answers move both samples alike, and the test does not see them.
    """
    noncentrality, df = _noncentrality(proportions, mechanism, noncompliance, behaviour)
    return _power(check_people(n) * noncentrality, df, check_alpha(alpha))


@checked_keywords
def people_for_design_fit(
    power: float,
    proportions: NumbersByCategory,
    mechanism: Mechanism,
    *,
    noncompliance: float,
    behaviour: Any,
    alpha: float = 0.05,
) -> int:
    """Calculate how many people the test whether people follow the instructions needs.

    Parameters
    ----------
    power : float
        The power, in (0, 1).
    proportions, mechanism, noncompliance, behaviour, alpha
        As in `design_fit_power`.

    Returns
    -------
    int
        The smallest number of respondents, in samples of equal size.

    Raises
    ------
    ArgumentValueError
        No number is enough, because the test does not see this behaviour.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.extended_crosswise(
    ...     ["no", "yes"], 0.2, yes="yes", reports=["different", "same"]
    ... )
    >>> people_for_design_fit(0.8, [0.8, 0.2], m, noncompliance=0.1, behaviour="different")
    701
    """
    power = check_number(power, "power", 0, 1, ends="()")
    alpha = check_alpha(alpha)
    noncentrality, df = _noncentrality(proportions, mechanism, noncompliance, behaviour)
    limit = scipy.special.chdtri(df, alpha)
    needed = float(scipy.special.chndtrinc(limit, df, 1 - power)) if power > alpha else 0.0
    if needed and not noncompliance:
        raise ArgumentValueError(
            "noncompliance must be above 0, got 0: no test finds people who are not there"
        )
    if needed > noncentrality * MAX_PEOPLE:
        raise ArgumentValueError(
            "behaviour must be one that the test can see, found one that changes the samples as "
            "other proportions would; a control question finds it"
        )
    return max(1, math.ceil(needed / noncentrality)) if needed else 1


def _noncentrality(
    proportions: NumbersByCategory, mechanism: Mechanism, noncompliance: float, behaviour: Any
) -> tuple[float, int]:
    """The noncentrality of the test for one respondent, and its degrees of freedom."""
    channel = mechanism.channel
    if not channel.is_multinomial or (isinstance(behaviour, str) and behaviour == ANY):
        raise ArgumentValueError(
            "the test of a design needs reports of one label each, and one behaviour; found "
            + ("'any'" if channel.is_multinomial else "sets of categories")
        )
    share = check_number(noncompliance, "noncompliance", 0, 1, ends="[)")
    pi = proportions_of(proportions, mechanism.domain, "proportions")
    matrix = transition_matrix(channel)
    samples = len(mechanism.groups or [None])
    others = np.tile(rates_of(behaviour, mechanism.report_space), samples)
    sizes = np.full(len(matrix), 1 / samples)
    counts = sizes * ((1 - share) * (matrix @ pi) + share * others)
    sample = (matrix, counts, sizes)
    df = free_cells(sample)
    return distance_to_design(sample, "likelihood-ratio")[0], df


def _power(noncentrality: float, df: int, alpha: float) -> float:
    """The probability that a noncentral chi-squared is significant."""
    limit = scipy.special.chdtri(df, alpha)
    return 1 - float(scipy.special.chndtr(limit, df, noncentrality))
