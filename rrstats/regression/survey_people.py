"""Covariances of coefficients by the design of a survey: strata, clusters and replicate weights.

With strata, or on request, coefficients are linearized as in `svyglm` of R's survey package: the
covariance is the sandwich of the bread with the spread of the clusters' sums of equations within
strata, times n / (n - 1).  With replicate weights the model is fitted again by each of them.
Source: Binder (1983).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.replicates import replicate_df
from rrstats.estimation.sample_design import Replicates
from rrstats.estimation.sampled_rows import UnitSums

DESIGN_KINDS = ("clustered", "linearized", "replicates")
"""Covariances that follow from the design of the survey."""


class DesignedPeople(Protocol):
    """People of a regression, as covariances by their design need them."""

    @property
    def weighted(self) -> bool:
        """Rows have probability weights."""

    @property
    def clusters(self) -> NDArray[np.intp] | None:
        """(rows,) numbers of the clusters, or None."""

    @property
    def units(self) -> UnitSums | None:
        """Clusters and strata, or None."""

    @property
    def stratified(self) -> bool:
        """There are strata."""

    @property
    def replicates(self) -> Replicates | None:
        """(rows, R) replicate weights, or None."""

    @property
    def weights(self) -> Floats:
        """(rows,) how many people a row stands for, times their weight."""


def default_kind(people: DesignedPeople, otherwise: str) -> str:
    """The covariance that suits the design of the survey."""
    if people.replicates is not None:
        return "replicates"
    if people.stratified:
        return "linearized"
    if people.clusters is not None:
        return "clustered"
    return "robust" if people.weighted else otherwise


def check_design_kind(kind: str, people: DesignedPeople) -> None:
    """Raise for a covariance whose part of the design is not there."""
    needed = {
        "clustered": ("clusters", people.clusters),
        "linearized": ("strata or clusters", people.units),
        "replicates": ("replicates", people.replicates),
    }
    if kind in needed and needed[kind][1] is None:
        raise ArgumentValueError(f"vcov {kind!r} needs a design with {needed[kind][0]}")


def design_df(kind: str, people: DesignedPeople, parameters: int) -> float:
    """Degrees of freedom of Student's t, at least 1; infinite for other covariances.

    Clusters minus parameters; with strata these less, plus 1; by replicates their rank minus
    parameters: R's ``degf(design) + 1 - parameters``.
    """
    if kind == "clustered" and people.clusters is not None:
        df = int(people.clusters.max()) + 1 - parameters
    elif kind == "linearized" and people.units is not None:
        df = people.units.df + 1 - parameters
    elif kind == "replicates" and people.replicates is not None:
        factors = people.replicates.weights / people.weights[:, None]
        df = replicate_df(factors.T @ factors) + 1 - parameters
    else:
        return np.inf
    return float(max(df, 1))


def replicate_covariance(
    replicates: Replicates, estimates: Floats, fit: Callable[[Floats], Floats | None]
) -> Floats:
    """(b, b) covariance of (b,) estimates.

    fit : the estimates by (rows,) weights, None where they have no finite maximum.
    """
    fits = [fit(weights) for weights in replicates.weights.T]
    failed = sum(each is None for each in fits)
    if failed:
        raise ArgumentValueError(
            "vcov 'replicates' needs a finite maximum for every replicate, found none for "
            f"{failed} of {len(fits)}; leave covariates out, or give vcov='robust'"
        )
    return replicates.replication.covariance(np.array(fits), estimates)
