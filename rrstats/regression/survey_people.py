"""Covariances of coefficients by the design of a survey: strata, clusters and replicate weights.

With clusters the covariance is CR2, of many clusters CR1.  With strata, or on request, coefficients
are linearized as in `svyglm` of R's survey package: the covariance is the sandwich of the bread
with the spread of the clusters' sums of equations within strata, times n / (n - 1).  Up to 100
clusters each statistic has Satterthwaite's degrees of freedom.  With replicate weights the model is
fitted again by each of them.
Sources: Binder (1983); Bell and McCaffrey (2002).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rrstats._typing import Floats, Indices
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns.replicates import replicate_df
from rrstats.estimation.report_columns.sample_design import Replicates
from rrstats.estimation.tallies.sampled_rows import UnitSums
from rrstats.inference.sandwich import MAX_CLUSTERS, ClusterSandwich

DESIGN_KINDS = ("clustered", "linearized", "replicates")
"""Covariances that follow from the design of the survey."""


class DesignedPeople(Protocol):
    """People of a regression, as covariances by their design need them."""

    @property
    def weighted(self) -> bool:
        """Rows have probability weights."""

    @property
    def clusters(self) -> Indices | None:
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

    @property
    def squares(self) -> Floats:
        """(rows,) how many people a row stands for, times the square of their weight."""

    @property
    def people(self) -> int:
        """Number of people for whom the rows stand."""


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


@dataclass(frozen=True, eq=False)
class Reference:
    """Reference distribution of linear combinations of estimates: the normal, Student's t or F.

    design_df : degrees of freedom where there is no sandwich; infinite for the normal.  Linearized
    covariances, which are too small for few clusters, have not more of them.
    sandwich : of few clusters, which has degrees of freedom for each combination.
    slopes : (p, b) of the estimates by those of the sandwich; None if they are the same.
    """

    design_df: float = np.inf
    sandwich: ClusterSandwich | None = None
    slopes: Floats | None = None

    def df(self, contrasts: Floats) -> Floats:
        """(...) degrees of freedom of (..., p) combinations of the estimates."""
        if self.sandwich is None:
            return np.full(contrasts.shape[:-1], self.design_df)
        inner = self._inner(contrasts)
        df = self.sandwich.df(inner.reshape(-1, inner.shape[-1])).reshape(inner.shape[:-1])
        return np.minimum(df, self._most_df)

    @property
    def _most_df(self) -> float:
        """The degrees of freedom that no statistic exceeds."""
        is_linearized = self.sandwich is not None and self.sandwich.form is not None
        return self.design_df if is_linearized else np.inf

    def _inner(self, contrasts: Floats) -> Floats:
        return contrasts if self.slopes is None else np.asarray(contrasts @ self.slopes)

    def joint_df(self, contrasts: Floats) -> tuple[float, float]:
        """Degrees of freedom of the denominator of F, of a test of (q, p) combinations together.

        Second, the factor of Wald's statistic over q that makes it F (Hotelling).
        """
        if self.sandwich is None:
            return self.design_df, 1.0
        of_covariance = self.sandwich.joint_df(self._inner(contrasts))
        df = min(of_covariance - len(contrasts) + 1, self._most_df)
        return df, df / (df + len(contrasts) - 1)


NORMAL = Reference()
"""The normal distribution."""


def _few_clusters(kind: str, people: DesignedPeople) -> list[Indices] | None:
    """The rows of each cluster, in strata also of those without rows; None if they are many."""
    codes, count = _cluster_codes(kind, people)
    if count > MAX_CLUSTERS:
        return None
    return [np.flatnonzero(codes == code) for code in range(count)]


def _cluster_codes(kind: str, people: DesignedPeople) -> tuple[Indices, int]:
    """(rows,) numbers of the clusters, and how many there are; with strata also without rows."""
    if kind == "linearized":
        units = _units(people)
        return units.codes, len(units.strata)
    assert people.clusters is not None
    return people.clusters, int(people.clusters.max()) + 1


def _units(people: DesignedPeople) -> UnitSums:
    """Clusters and strata of people who have them."""
    assert people.units is not None
    return people.units


def _sandwich_of_few(
    kind: str,
    clusters: list[Indices],
    scores: Floats,
    people: DesignedPeople,
    *,
    bread: Floats,
    informations: Floats,
    modelled: bool = True,
) -> ClusterSandwich:
    """The covariance of estimates from few clusters: CR2, or linearized.

    scores : (rows, b), weighted.  informations : (G, b, b), whose sum has the inverse ``bread``.
    modelled : the information of rows is the covariance of their scores, up to a factor; if not,
        or with probability weights, the sum of products of their scores is.
    """
    sums = np.array([scores[rows].sum(axis=0) for rows in clusters])
    meats = None
    if people.weighted or not modelled:
        weight = np.maximum(people.weights, 1e-300)
        rooted = scores * (np.sqrt(people.squares) / weight)[:, None]
        meats = np.array([rooted[rows].T @ rooted[rows] for rows in clusters])
    if kind == "clustered":
        return ClusterSandwich.reduced(sums, informations, bread, meats)
    form = _units(people).covariance(np.eye(len(clusters)))
    return ClusterSandwich.within(sums, informations, bread, form, meats=meats)


def clustered_covariance(
    kind: str,
    scores: Floats,
    people: DesignedPeople,
    *,
    bread: Floats,
    information: Callable[[list[Indices]], Floats],
    inverse: Callable[[Floats], Floats] | None = None,
    modelled: bool = True,
) -> tuple[Floats, ClusterSandwich | None]:
    """(b, b) covariance by clusters or strata, and the sandwich that it is of if these are few.

    information : (G, b, b) of the rows of each cluster.
    inverse : of their sum, where that is not the bread.  Others as for `_sandwich_of_few`.
    """
    clusters = _few_clusters(kind, people)
    if clusters is None:
        return _many_clusters(kind, scores, people, bread), None
    informations = information(clusters)
    if inverse is not None:
        bread = inverse(informations.sum(axis=0))
    sandwich = _sandwich_of_few(
        kind, clusters, scores, people, bread=bread, informations=informations, modelled=modelled
    )
    return sandwich.covariance, sandwich


def _many_clusters(kind: str, scores: Floats, people: DesignedPeople, bread: Floats) -> Floats:
    """(b, b) covariance by many clusters: linearized, or CR1, times G/(G-1) (n-1)/(n-p)."""
    if kind == "linearized":
        return np.asarray(bread @ _units(people).products(scores) @ bread.T)
    clusters, count = _cluster_codes(kind, people)
    sums = np.zeros((count, scores.shape[1]))
    np.add.at(sums, clusters, scores)
    errors = sums @ bread.T
    left = max(people.people - scores.shape[1], 1)
    factor = len(sums) / (len(sums) - 1) * (people.people - 1) / left
    return np.asarray(factor * errors.T @ errors)


def design_df(kind: str, people: DesignedPeople, parameters: int) -> float:
    """Degrees of freedom of Student's t for many clusters, at least 1; else infinite.

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
    people: DesignedPeople, estimates: Floats, fit: Callable[[Floats], Floats | None]
) -> Floats:
    """(b, b) covariance of (b,) estimates by the replicate weights of people, who have them.

    fit : the estimates by (rows,) weights, None where they have no finite maximum.
    """
    replicates = people.replicates
    assert replicates is not None
    fits = [fit(weights) for weights in replicates.weights.T]
    failed = sum(each is None for each in fits)
    if failed:
        raise ArgumentValueError(
            "vcov 'replicates' needs a finite maximum for every replicate, found none for "
            f"{failed} of {len(fits)}; leave covariates out, or give vcov='robust'"
        )
    return replicates.replication.covariance(np.array(fits), estimates)
