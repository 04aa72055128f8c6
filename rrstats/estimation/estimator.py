"""Estimate true proportions from reports.

`estimate` counts reports and gives an `Estimate`, one of each group, or one of each column.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ImplausibleReportsWarning,
    LowPrecisionWarning,
    NotIdentifiableError,
    warn,
)
from rrstats.estimation.arrays import condition_number
from rrstats.estimation.estimate import IMPLAUSIBLE_TEXT, Estimate
from rrstats.estimation.groups import Estimates, GroupEstimates
from rrstats.estimation.sample_design import SampleDesign, design_of
from rrstats.estimation.tally import Tally, count_reports
from rrstats.mechanisms.channel import check_target
from rrstats.mechanisms.krr import as_mechanism

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
    columns: None = ...,
    group: Any = ...,
    target: str = ...,
    ddof: int = ...,
    by: None = ...,
    observed: bool = ...,
    weights: Any = ...,
    design: SampleDesign | None = ...,
) -> Estimate: ...


@overload
def estimate(
    reports: Any,
    categories: Any = ...,
    prob: float | None = ...,
    *,
    epsilon: float | None = ...,
    mechanism: Any = ...,
    columns: Any = ...,
    group: Any = ...,
    target: str = ...,
    ddof: int = ...,
    by: Any = ...,
    observed: bool = ...,
    weights: Any = ...,
    design: SampleDesign | None = ...,
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
    design: SampleDesign | None = None,
) -> Any:
    """Estimate true proportions from privatized reports.

    Parameters
    ----------
    reports : array-like of shape (n,), Series, frame or Tally
        Reports in any container that `privatize` gives back, or a Tally of them; or a frame, of
        pandas or of an engine (Polars, pyarrow, DuckDB, Dask, PySpark, Ibis), of which only counts
        come back.
    categories, prob, epsilon
        The categories with prob or epsilon, or a mechanism.  A Tally, and a Series that says how it
        was made, need none.  Where rows were made by different mechanisms: a column of n
        mechanisms, or a mapping from group to mechanism; direct answers have `surveys.direct`.
    mechanism
        The same as categories, under its own name.
    columns, group, by, observed, weights
        As for `tally`.
    target : {"population", "rows"}
        Whom the statement is about: the population these people were drawn from, or just these
        rows.
    ddof : int
        Taken off n in the population's variance.
    design : SampleDesign, optional
        Weights, strata, clusters and more of the sample; of a Tally, which has those, only
        population, probabilities and lonely_psu.

    Returns
    -------
    Estimate
        k unbiased proportions, which may lie outside [0, 1]; `Estimate.mle` tidies the table and
        says what that costs.  With ``by`` `GroupEstimates`, a mapping from group to Estimate; of a
        list of columns `Estimates`, a mapping from name to that.

    Raises
    ------
    ArgumentValueError
        For reports outside the categories.
    NotIdentifiableError
        The reports carry no information (prob is 1/k).
    MetadataError
        An argument contradicts what the reports say of themselves.

    Warns
    -----
    ImplausibleReportsWarning
        No true proportions explain the reports: most often they are true answers that nobody
        privatized, or rows picked by their report.

    Notes
    -----
    Wang et al. (2017), eq. 2, and its generalizations; of a design the formulas of `svymean` and
    `svytotal` in R's survey package, with Arnab (1994) for the coins.

    Examples
    --------
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
    design, settings = design_of(weights, design), (target, ddof)
    if isinstance(reports, Tally):
        _check_tally(reports, (categories, prob, epsilon), by, group, design)
        return _checked(Estimate(reports, *settings, design.without_rows()))
    found = count_reports(
        reports, (categories, prob, epsilon), columns, by, group, design, observed
    )
    made: dict[Any, Any] = {}
    told = design.without_rows()
    for name, counted in found.tallies.items():
        if found.by is None:
            made[name] = _checked(Estimate(counted, *settings, told))
            continue
        left_out = found.rows - sum(one.n + one.missing for one in counted.values())
        each = {label: Estimate(one, *settings, told) for label, one in counted.items()}
        for one in each.values():
            _checked(one, alone=False)
        made[name] = GroupEstimates(found.by, each, left_out)
    return next(iter(made.values())) if found.single else Estimates(made)


def _check_tally(
    counted: Tally, made: tuple[Any, Any, Any], by: Any, group: Any, design: SampleDesign
) -> None:
    """Raise for what a tally has said already."""
    said = [by, group, design.weights, design.strata, design.clusters]
    if design.probabilities is not True:
        said.append(design.probabilities)
    if any(one is not None for one in said):
        raise ArgumentTypeError(
            "a tally is counted already: give by, group, weights and design= to rr.tally"
        )
    if any(one is not None for one in made):
        given = as_mechanism(*made)
        if given != counted.mechanism:
            raise ArgumentValueError(
                f"the tally was counted for {counted.mechanism!r}; leave the mechanism out"
            )


def _checked(found: Estimate, *, alone: bool = True) -> Estimate:
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
