"""Two groups of one sample: how far their shares go together.

People of one cluster are alike whichever group they are in, and a stratum that is in the sample
with more of one group has fewer of the other.  Both groups' rows are read as one sample with report
cells of their own, so that the covariance is that of two sums over it; coins are
thrown for each person, and add nothing.
Without clusters the products of the strata's means are left, which are 0 in a single stratum.
Source: Binder (1983); what R's survey package calls the covariance matrix of `svyby`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from rrstats._typing import Floats
from rrstats.estimation.survey_variance import SampleCells, degrees_of_freedom, variance_form

__all__ = ["Group", "covariance_between", "free_together"]


_ROUNDING = 1e-9


@dataclass(frozen=True)
class Group:
    """What is asked of an estimate: its cells, how they were drawn, and (m, k) ``centred`` values.

    sampled : (strata,) the share of the population's clusters.  probabilities, lonely : as of
        `SurveyEstimate`.
    """

    cells: SampleCells
    sampled: Floats
    centred: Floats
    probabilities: bool
    lonely: str


def covariance_between(first: Group, second: Group) -> Floats | None:
    """(k, l) covariance of the shares of two groups of one sample; None where they are not."""
    both = _one_sample(first, second)
    if both is None:
        return None
    form = variance_form(
        both, first.sampled, probabilities=first.probabilities, lonely=first.lonely
    )
    here, there = (np.zeros((both.first.shape[1], g.centred.shape[1])) for g in (first, second))
    here[: len(first.centred)] = first.centred
    there[len(first.centred) :] = second.centred
    return form.between(here, there)


def free_together(groups: Sequence[Group]) -> int | None:
    """Degrees of freedom of the reports of all; None where they are not groups of one sample."""
    first, cells = groups[0], groups[0].cells
    for other in groups[1:]:
        both = _one_sample(replace(first, cells=cells), other)
        if both is None:
            return None
        cells = both
    return degrees_of_freedom(cells, first.sampled, probabilities=first.probabilities)


def _one_sample(first: Group, second: Group) -> SampleCells | None:
    """The rows of both, with report cells of their own; None where no sample has them."""
    if (first.probabilities, first.lonely) != (second.probabilities, second.lonely):
        return None
    one, other = first.cells, second.cells
    places = {key: place for place, key in enumerate(other.keys)}
    if len(places) != len(one.keys) or any(key not in places for key in one.keys):
        return None
    order = np.array([places[key] for key in one.keys], dtype=np.intp)
    present = one.rows + one.others
    rows = one.rows + other.rows[order]
    alike = np.array_equal(present, (other.rows + other.others)[order])
    if not alike or (rows > present).any():
        return None
    shares = first.sampled[one.strata], second.sampled[other.strata[order]]
    if not np.allclose(*shares, rtol=_ROUNDING, atol=0):
        return None
    return replace(
        one,
        rows=rows,
        others=present - rows,
        inverse=one.inverse + other.inverse[order],
        inverse2=one.inverse2 + other.inverse2[order],
        reported=np.hstack([one.reported, other.reported[order]]),
        first=np.hstack([one.first, other.first[order]]),
        second=np.hstack([one.second, other.second[order]]),
        table=scipy.linalg.block_diag(one.table, other.table),
        speaks=scipy.linalg.block_diag(one.speaks, other.speaks),
    )
