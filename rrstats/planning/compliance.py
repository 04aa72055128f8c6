"""Planning for people who do not follow the instructions: what a study can stand, and see.

`tolerable_noncompliance` is the proportion of respondents that moves an estimate by no more than a
given bias.  `design_fit_power` and `people_for_design_fit` plan the test of the design: reports of
people who did not follow are a distribution that the design's proportions do not explain.
If a proportion t of carriers deny it in a direct question, its bias is f t for any sample size;
`break_even` is the t above which randomized response has the smaller mean squared error.  The
actual t must come from a validation study.  `influence` and `worst_case_bias` give the effect of
one report and of a few attackers.

A direct question gets g = f (1 - t) + (1 - f) u yes answers, and its MSE is (g - f)^2 + g (1 - g) /
n, compared with v(f) / n.  Source: Cao, Jia and Gong (2021) (maximal gain attack).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy

from rrstats._checks import (
    check_alpha,
    check_instance,
    check_number,
    check_probability,
    check_whole_number,
    quote,
)
from rrstats._names import checked_keywords, missing_attribute
from rrstats._typing import NumbersByCategory
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.noncompliance import ANY, behaviour_scores, rates_of
from rrstats.estimation.estimates.posterior import proportions_of
from rrstats.estimation.hypothesis_tests.design_fit import distance_to_design, free_cells
from rrstats.estimation.tallies.moments import ChannelMoments
from rrstats.mechanisms.base import A_MECHANISM, Mechanism
from rrstats.mechanisms.channel import transition_matrix
from rrstats.mechanisms.krr import MechanismLike, as_mechanism
from rrstats.planning.comparisons import score_range
from rrstats.planning.power import chi_squared_power
from rrstats.planning.precision import MAX_PEOPLE, ask_about, check_people, numbered

__all__ = [
    "break_even",
    "design_fit_power",
    "influence",
    "people_for_design_fit",
    "tolerable_noncompliance",
    "worst_case_bias",
]


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
    return chi_squared_power(check_people(n) * noncentrality, df, check_alpha(alpha))


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
    return distance_to_design(sample)[0], df


# -- false answers, and false reports --------------------------------------------------------------


@checked_keywords
def break_even(
    n: int,
    proportion: float,
    mechanism: MechanismLike | int = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    accusing: float = 0.0,
    still_denying: float = 0.0,
    category: Hashable = None,
) -> float:
    """Calculate the proportion of liars above which randomized response has the smaller error.

    Parameters
    ----------
    n : int
        The number of respondents, the same for both methods.
    proportion : float
        The true proportion of carriers, in (0, 1].
    mechanism, prob, epsilon, category
        As in `half_width`.
    accusing : float
        The proportion of non-carriers who falsely answer yes to the direct question.
    still_denying : float
        The proportion of carriers who report as non-carriers in randomized response.

    Returns
    -------
    float
        t in [0, 1]: if more than this proportion of carriers deny it in a direct question, the
        direct question has the larger mean squared error.  Infinite if it never has: with so few
        people even a direct question that all carriers deny has the smaller error.

    Notes
    -----
    The larger root of (g - f)^2 + g (1 - g) / n = MSE of randomized response.

    Examples
    --------
    >>> round(break_even(1000, 0.1, epsilon=1.0), 3)
    0.308
    >>> round(break_even(10_000, 0.1, epsilon=1.0), 3)
    0.096
    >>> break_even(50, 0.1, epsilon=1.0)
    inf

    With 10% carriers, randomized response at epsilon 1 has the smaller error with 1,000 people if
    more than 31% of carriers would deny it, with 10,000 people if more than 10% would, and never
    with 50 people.
    """
    size = check_people(n)
    question, expected = ask_about(proportion, (mechanism, prob, epsilon), category)
    f = check_number(expected, "proportion", 0, 1, ends="(]")
    u = check_probability(accusing, "accusing")
    reporting = f * (1 - check_probability(still_denying, "still_denying"))
    error = question.variance(reporting) / size + (f - reporting) ** 2

    def direct(t: float) -> float:
        g = f * (1 - t) + (1 - f) * u
        return (g - f) ** 2 + g * (1 - g) / size

    if direct(1.0) <= error:
        return math.inf
    # a g^2 + 2 b g + c = 0; the smaller g is the larger t.
    a = 1 - 1 / size
    b = 1 / (2 * size) - f
    c = f * f - error
    discriminant = b * b - a * c
    # False accusations alone are worse for any t; or one person is asked, and for a proportion of
    # up to 1/2 every yes is an error.
    if discriminant < 0 or b >= 0:
        return 0.0
    g = c / (-b + math.sqrt(discriminant))
    t = 1 - (g - (1 - f) * u) / f
    return t if 0 <= t <= 1 else 0.0  # above 1: denials would cancel false accusations


@checked_keywords
def influence(mechanism: Mechanism, n: int) -> tuple[float, float]:
    """Calculate the largest change of an estimated proportion by one report, down and up.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism with one sample.
    n : int
        The number of reports.

    Returns
    -------
    low, high : float
        The smallest and the largest score of one report for a category, divided by n: the change
        compared with a report that is not counted.

    Notes
    -----
    For k-RR, unary encoding and subset selection -q / ((p - q) n) and (1 - q) / ((p - q) n).

    Examples
    --------
    >>> import rrstats as rr
    >>> low, high = influence(rr.KRR(range(100), epsilon=1.0), 1000)
    >>> round(low, 6), round(high, 6)
    (-0.000582, 0.058616)
    """
    low, high = score_range(_one_sample(mechanism).channel)
    size = check_people(n)
    return low / size, high / size


@checked_keywords
def worst_case_bias(
    mechanism: Mechanism,
    proportion_of_attackers: float,
    targets: int = 1,
    true_total: float = 0.0,
) -> float:
    """Calculate the largest bias if attackers do not follow the mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism with one sample.
    proportion_of_attackers : float
        The proportion of reports from attackers, in [0, 1].
    targets : int
        The number of categories that attackers try to raise together.
    true_total : float
        The true total proportion of those categories, in [0, 1].

    Returns
    -------
    float
        The largest increase of the expected estimate of their total: attackers send the report with
        the highest score, without noise.  More reports do not reduce this bias.

    Notes
    -----
    proportion_of_attackers (highest total score - true_total); for k-RR this is
    beta (1 - f) + beta (k - r) / (e^epsilon - 1).

    Examples
    --------
    >>> import rrstats as rr
    >>> round(worst_case_bias(rr.KRR(range(100), epsilon=1.0), 0.05, true_total=0.01), 4)
    2.9303
    """
    k = _one_sample(mechanism).k
    attackers = check_probability(proportion_of_attackers, "proportion_of_attackers")
    total = check_probability(true_total, "true_total")
    count = check_whole_number(targets, "targets, the number of categories,", 1, k)
    return attackers * (score_range(mechanism.channel, count)[1] - total)


def _one_sample(mechanism: Mechanism) -> Mechanism:
    """The mechanism; raises for several samples."""
    check_instance(mechanism, "mechanism", Mechanism, A_MECHANISM)
    if mechanism.groups is not None:
        raise ArgumentValueError(
            "mechanism must have one sample, because the influence of a report depends on the size "
            "of its sample; use the mechanism of each sample"
        )
    return mechanism


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
