"""Estimate true shares from reports, with what is needed to judge them.

`estimate` counts reports and gives an `Estimate`: unbiased shares with covariance, intervals, a
table, a sentence and a picture.  Shares may lie outside [0, 1]; nothing is clipped silently,
and tables inside the simplex are another type.  The same on plain arrays: `debias_proportions`
and the other functions of `debiasing`, which this module hands on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rrstats.channel import check_target
from rrstats.debiasing import (
    confidence_interval,
    count_interval,
    count_variance,
    debias_counts,
    debias_proportions,
    debias_reports,
    project_to_simplex,
    proportion_variance,
)
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    IllConditionedWarning,
    ImplausibleReportsWarning,
    NotIdentifiable,
    warn,
)
from rrstats.estimates import IMPLAUSIBLE_TEXT, Estimate
from rrstats.mechanisms import as_mechanism
from rrstats.results import RatioEstimate, ShareEstimate, SimplexTable
from rrstats.tallies import Tally, tally

__all__ = [
    "Estimate",
    "RatioEstimate",
    "ShareEstimate",
    "SimplexTable",
    "confidence_interval",
    "count_interval",
    "count_variance",
    "debias_counts",
    "debias_proportions",
    "debias_reports",
    "estimate",
    "project_to_simplex",
    "proportion_variance",
]

_ILL_CONDITIONED = 1000
"""From here on even a million respondents say next to nothing."""


def estimate(
    reports: Any,
    categories: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    mechanism: Any = None,
    group: Any = None,
    target: str = "population",
    ddof: int = 1,
) -> Estimate:
    """Estimate true shares from privatized reports.

    reports : n reports in any container that `privatize` gives back, or a Tally of them.
    categories, prob, epsilon : what made them: the categories with prob or epsilon, or a
        mechanism.  A Tally, and a Series that says how it was made, need none.  Where rows were
        made by different mechanisms: a column of n mechanisms, or a mapping from group to
        mechanism; direct answers have `surveys.direct`.
    mechanism : the same as categories, under the name of what it is.
    group : (n,) the sample of each report, where the mechanism has several.
    target : "population" (these people are a sample of it) or "rows" (just these rows).
    Returns an Estimate: k unbiased shares, which may lie outside [0, 1].  `Estimate.mle`
    tidies the table and says what that costs.
    Raises ArgumentValueError for reports outside the categories, NotIdentifiable where prob
    is 1/k, MetadataError where an argument contradicts what the reports say of themselves.
    Warns ImplausibleReportsWarning where no true shares explain the reports: most often
    they are true answers that nobody privatized, or rows picked by their report.
    Formula: Wang et al. (2017), eq. 2; variance as named by target.

    >>> import rrstats as rr
    >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
    >>> est.proportions.round(4), est.std_error.round(4)
    (array([0.78, 0.22]), array([0.0304, 0.0304]))
    """
    check_target(target)
    if mechanism is not None:
        if categories is not None:
            raise ArgumentTypeError("give categories or mechanism, found both")
        categories = mechanism
    if isinstance(reports, Tally):
        if categories is not None or prob is not None or epsilon is not None:
            given = as_mechanism(categories, prob, epsilon)
            if given != reports.mechanism:
                raise ArgumentValueError(
                    f"the tally was counted for {reports.mechanism!r}; leave the mechanism out"
                )
        found = Estimate(reports, target, ddof)
    else:
        counted = tally(reports, categories, prob, epsilon=epsilon, group=group)
        found = Estimate(counted, target, ddof)
    shares = found.proportions  # raises NotIdentifiable now rather than when it is shown
    if found.n and np.isnan(shares).any():
        raise NotIdentifiable(
            f"no reports are in the samples {found.empty_samples}, and the others alone do not "
            "identify the shares"
        )
    condition = found.mechanism.channel.condition
    if condition > _ILL_CONDITIONED:
        warn(
            f"the design is ill-conditioned (condition number {condition:.3g}): it amplifies noise "
            "by about that factor, so that any estimate needs enormous numbers of respondents",
            IllConditionedWarning,
        )
    if found.n and found.implausible.any():
        warn(IMPLAUSIBLE_TEXT, ImplausibleReportsWarning)
    return found
