"""Estimate true shares from reports, with what is needed to judge them.

`estimate` counts reports and gives an `Estimate`: unbiased shares with covariance, intervals, a
table, a sentence and a picture.  Shares may lie outside [0, 1]; nothing is clipped silently,
and tables inside the simplex are another type.  The same on plain arrays: `debias_proportions`
and the other functions of `debiasing`, which this module hands on.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from rrstats.data.columns import open_column
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ImplausibleReportsWarning,
    LowPrecisionWarning,
    NotIdentifiableError,
    warn,
)
from rrstats.estimation.arrays import (
    confidence_interval,
    count_interval,
    count_variance,
    debias_counts,
    debias_proportions,
    debias_reports,
    project_to_simplex,
    proportion_variance,
)
from rrstats.estimation.debiasing import condition_number
from rrstats.estimation.engine_frames import is_frame, refuse_unopened
from rrstats.estimation.estimate import IMPLAUSIBLE_TEXT, Estimate
from rrstats.estimation.groups import GroupEstimates, group_names
from rrstats.estimation.result import ConstrainedProportions, RatioEstimate, ShareEstimate
from rrstats.estimation.sample_design import columns_of, inverse_probabilities
from rrstats.estimation.selections import Beside
from rrstats.estimation.survey_variance import Sampling
from rrstats.estimation.tally import Tally, counted_frame, tally
from rrstats.mechanisms.channel import check_target
from rrstats.mechanisms.samples import check_aligned
from rrstats.mechanisms.serialization import as_mechanism

__all__ = [
    "ConstrainedProportions",
    "Estimate",
    "RatioEstimate",
    "ShareEstimate",
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


@overload
def estimate(
    reports: Any,
    categories: Any = ...,
    prob: float | None = ...,
    *,
    epsilon: float | None = ...,
    mechanism: Any = ...,
    group: Any = ...,
    target: str = ...,
    ddof: int = ...,
) -> Estimate: ...


@overload
def estimate(
    reports: Any,
    categories: Any = ...,
    prob: float | None = ...,
    *,
    epsilon: float | None = ...,
    mechanism: Any = ...,
    group: Any = ...,
    target: str = ...,
    ddof: int = ...,
    columns: Any = ...,
    by: Any = ...,
    observed: bool = ...,
    weights: Any = ...,
    probabilities: Any = ...,
    strata: Any = ...,
    clusters: Any = ...,
    population: Any = ...,
    lonely: str = ...,
) -> Any: ...


def estimate(
    reports: Any,
    categories: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    mechanism: Any = None,
    columns: Any = None,
    group: Any = None,
    target: str = "population",
    ddof: int = 1,
    by: Any = None,
    observed: bool = True,
    weights: Any = None,
    probabilities: Any = None,
    strata: Any = None,
    clusters: Any = None,
    population: Any = None,
    lonely: str = "raise",
) -> Any:
    """Estimate true shares from privatized reports.

    reports : n reports in any container that `privatize` gives back, or a Tally of them; or a
        frame, of pandas or of an engine (Polars, pyarrow, DuckDB, Dask, PySpark), of which only
        counts come back.  Then group, by, weights, probabilities, strata and clusters are names of
        its columns.
    categories, prob, epsilon : what made them: the categories with prob or epsilon, or a
        mechanism.  A Tally, and a Series that says how it was made, need none.  Where rows were
        made by different mechanisms: a column of n mechanisms, or a mapping from group to
        mechanism; direct answers have `surveys.direct`.
    mechanism : the same as categories, under the name of what it is.
    columns : of a frame, the name of the column of reports, or a list of names; see `rr.tally`.
    group : (n,) the sample of each report, where the mechanism has several.
    target : "population" (these people are a sample of it) or "rows" (just these rows).
    by : (n,) labels of groups to estimate apart, a list of such columns, or a frame of them;
        observed=False keeps categories of a Categorical that do not occur.
    weights : (n,) how many people each row stands for; or probabilities : (n,) with which rows
        came into the sample.  strata, clusters : (n,) labels of the sample's design.
        population : the number of units in the population, or in each stratum (a mapping).
        lonely : what to do with a stratum of one cluster.  See `weighted`.
    Returns an Estimate: k unbiased shares, which may lie outside [0, 1]; `Estimate.mle`
    tidies the table and says what that costs; with ``by`` a mapping from group to Estimate.  Of a
    list of columns a dict from name to that.
    Raises ArgumentValueError for reports outside the categories, NotIdentifiableError where prob
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
    if weights is not None and probabilities is not None:
        raise ArgumentTypeError("give weights or probabilities, found both")
    beside = {"by": by, "weights": weights, "strata": strata, "clusters": clusters}
    settings = _Settings(target, ddof, population, probabilities is not None, lonely)
    if is_frame(reports):
        named = Beside(**beside, probabilities=probabilities, group=group)
        return settings.frame(reports, categories, prob, epsilon, columns, named, observed)
    if columns is not None:
        refuse_unopened(reports, text=True)
        raise ArgumentTypeError(
            f"columns are names of a frame's, found reports in a {type(reports).__name__}; give "
            "the frame, or leave columns out"
        )
    if probabilities is not None:
        check_aligned(reports, probabilities, "probabilities")
        beside["weights"] = inverse_probabilities(probabilities, open_column(reports).rows)
    designed = any(beside[name] is not None for name in ("weights", "strata", "clusters"))
    if population is not None and not designed and not isinstance(reports, Tally):
        # One stratum, so that rows outside a group count as sampled.
        beside["strata"] = np.zeros(open_column(reports).rows, dtype=np.int8)
    counted, names = _counted(reports, categories, prob, epsilon, group, beside, observed)
    rows = 0 if isinstance(counted, Tally) else open_column(reports).rows
    return settings.finish(counted, names, rows)


@dataclass(frozen=True)
class _Settings:
    """What `estimate` is told besides the data; see there."""

    target: str
    ddof: int
    population: Any
    probabilities: bool
    lonely: str

    def finish(
        self, counted: Tally | dict[Hashable, Tally], names: tuple[Hashable, ...], rows: int
    ) -> Any:
        """The estimate of a tally, or those of groups.

        names : of the columns that make the groups.  rows : of the data, in groups and outside.
        """
        if isinstance(counted, Tally):
            return self._of(counted, alone=True)
        left_out = rows - sum(one.n + one.missing for one in counted.values())
        found = {label: self._of(one, alone=False) for label, one in counted.items()}
        return GroupEstimates(names, found, left_out)

    def frame(
        self,
        data: Any,
        categories: Any,
        prob: float | None,
        epsilon: float | None,
        columns: Any,
        beside: Beside,
        observed: bool,
    ) -> Any:
        """The estimates of the columns of a frame, or the one of a single column."""
        designed = (beside.weights, beside.probabilities, beside.strata, beside.clusters)
        if self.population is not None and all(name is None for name in designed):
            beside = replace(beside, one_stratum=True)
        counted = counted_frame(
            data, categories, prob, epsilon, columns=columns, beside=beside, observed=observed
        )
        names = tuple(beside.groups)
        found = {
            name: self.finish(one, names, counted.rows) for name, one in counted.tallies.items()
        }
        return next(iter(found.values())) if counted.single else found

    def _of(self, one: Tally, *, alone: bool) -> Estimate:
        sampling = Sampling(self.population, self.probabilities, self.lonely)
        return _checked(Estimate(one, self.target, self.ddof, sampling), alone=alone)


def _counted(
    reports: Any,
    categories: Any,
    prob: float | None,
    epsilon: float | None,
    group: Any,
    beside: dict[str, Any],
    observed: bool,
) -> tuple[Tally | dict[Hashable, Tally], tuple[Hashable, ...]]:
    """The tally of reports, or one of each group with the names of the groups' columns."""
    by = beside["by"]
    if isinstance(reports, Tally):
        if any(given is not None for given in (group, *beside.values())):
            raise ArgumentTypeError(
                "a tally is counted already: give by, weights, strata and clusters to rr.tally"
            )
        if categories is not None or prob is not None or epsilon is not None:
            given = as_mechanism(categories, prob, epsilon)
            if given != reports.mechanism:
                raise ArgumentValueError(
                    f"the tally was counted for {reports.mechanism!r}; leave the mechanism out"
                )
        return reports, ()
    found = tally(
        reports, categories, prob, epsilon=epsilon, group=group, observed=observed, **beside
    )
    return found, () if by is None else group_names(columns_of(by))


def _checked(found: Estimate, *, alone: bool) -> Estimate:
    """An estimate that says something; warns of what it cannot say.

    alone : whether it is all there is; a group may lack a sample that it needs.
    """
    shares = found.proportions  # raises NotIdentifiableError now rather than when it is shown
    if alone and found.n and not found.designed and np.isnan(shares).any():
        raise NotIdentifiableError(
            f"no reports are in the samples {found.empty_samples}, and the others alone do not "
            "identify the shares"
        )
    condition = condition_number(found.mechanism.channel)
    if condition > _ILL_CONDITIONED:
        warn(
            f"the design is ill-conditioned (condition number {condition:.3g}): it amplifies noise "
            "by about that factor, so that any estimate needs enormous numbers of respondents",
            LowPrecisionWarning,
        )
    if found.n and found.implausible.any():
        warn(IMPLAUSIBLE_TEXT, ImplausibleReportsWarning)
    return found
