"""Rows of a survey, for results that are made from sums over single rows.

Regressions, means and quantiles weight scores of single rows.  With strata or clusters the variance
of such a sum is that of the clusters' sums within strata, times n / (n - 1), as in `svytotal` of
R's survey package; with replicate weights it is the spread of the sums by the replicates.  Both
have the randomization of the reports in them.
Source: Binder (1983).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from rrstats._cached import cached_property
from rrstats._typing import Booleans, Floats, Indices
from rrstats.data.columns import blocks
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns.replicates import replicate_df
from rrstats.estimation.report_columns.report_columns import ReportColumn
from rrstats.estimation.report_columns.sample_design import (
    Replicates,
    Rows,
    SampleDesign,
    refuse_weights,
)


class UnitSums(NamedTuple):
    """Clusters of the sample, or rows where there are none, and their strata.

    codes : (used rows,) the unit of each row.  strata : (units,) the stratum of each.
    sizes : (strata,) units of the sample, also those without a used row.
    lonely_psu : what to do with strata of one unit.
    """

    codes: Indices
    strata: Indices
    sizes: Indices
    lonely_psu: str

    @classmethod
    def of(cls, sample: Rows, kept: Indices | Booleans, lonely_psu: str) -> UnitSums | None:
        """The units of the used rows of a sample; None without strata and clusters.

        kept : the places of the used rows, or (rows,) which these are; each has a unit.
        """
        codes = sample.unit_codes
        if codes is None:
            return None
        strata = sample.units.strata
        if sample.units.row_is_cluster.any():  # every row is a unit
            known = codes >= 0
            strata = strata[codes[known]]
            codes = np.cumsum(known) - 1
        return cls(codes[kept], strata, np.bincount(strata), lonely_psu)

    @property
    def df(self) -> int:
        """Units with used rows less strata with some."""
        used = np.unique(self.codes)
        return len(used) - len(np.unique(self.strata[used]))

    def sums(self, terms: Floats) -> Floats:
        """(units, p) sums of (rows, p) terms."""
        columns = [np.bincount(self.codes, column, len(self.strata)) for column in terms.T]
        return np.stack(columns, axis=1)

    def sums_of_used(self, terms: Floats, part: slice) -> tuple[Indices, Floats]:
        """The units of some of the rows, and their sums of (rows, p) terms."""
        used, codes = np.unique(self.codes[part], return_inverse=True)
        columns = [np.bincount(codes, column, len(used)) for column in terms.T]
        return used, np.stack(columns, axis=1)

    def refuse_single(self, way: str) -> None:
        """Raise for strata of one unit; way : what to do, after merging strata."""
        single = self.sizes == 1
        if single.any():
            raise ArgumentValueError(
                "strata must have two clusters (or rows) in the sample, found one in "
                f"{int(single.sum())} of {len(single)}: merge similar strata, {way}"
            )

    def products(self, terms: Floats) -> Floats:
        """(p, p) covariance of the sum of (rows, p) weighted terms."""
        return self.covariance(self.sums(terms))

    def covariance(self, sums: Floats) -> Floats:
        """(p, p) covariance of a total, from the (units, p) sums of the units."""
        totals = np.zeros((len(self.sizes), sums.shape[1]))
        np.add.at(totals, self.strata, sums)
        single = self.sizes == 1
        if self.lonely_psu == "raise":
            self.refuse_single("or give lonely_psu='adjust' or 'certainty'")
        centre = totals / self.sizes[:, None]
        factor = np.where(single, 0.0, self.sizes / np.maximum(self.sizes - 1, 1))
        if self.lonely_psu == "adjust":
            centre[single] = totals.sum(axis=0) / self.sizes.sum()
            factor[single] = 1.0
        around = sums - centre[self.strata]
        return np.asarray((around.T * factor[self.strata]) @ around)


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Strata and clusters, or replicate weights, of the used rows.

    places : (rows,) which rows of the data these are.  weights : (rows,) of the full sample.
    units, replicates : one of them is None.
    """

    places: Indices
    weights: Floats
    units: UnitSums | None
    replicates: Replicates | None

    @cached_property
    def df(self) -> int:
        """Degrees of freedom of covariances; rows without weight say nothing."""
        if self.units is not None:
            return self.df_of(np.arange(len(self.weights)))
        replicates = self._replicates.weights
        full = np.where(self.weights > 0, self.weights, 1.0)
        products = np.zeros((replicates.shape[1],) * 2)
        for part in blocks(len(full)):
            factors = replicates[part] / full[part, None]
            products += factors.T @ factors
        return replicate_df(products)

    def df_of(self, rows: Indices) -> int:
        """Degrees of freedom of sums over some of the rows; of replicates always the same."""
        if self.units is None:
            return self.df
        weighted = rows[self.weights[rows] > 0]
        return self.units._replace(codes=self.units.codes[weighted]).df

    @property
    def _replicates(self) -> Replicates:
        return cast(Replicates, self.replicates)

    def sums(self, parts: Iterable[tuple[slice, Floats]], width: int) -> Floats:
        """(u, width) weighted sums by unit, or (R, width) by replicate.

        parts : of the rows, with their (rows, width) terms.
        """
        if self.units is None:
            replicates = self._replicates.weights
            total = np.zeros((replicates.shape[1], width))
            for part, terms in parts:
                total += replicates[part].T @ terms
            return total
        total = np.zeros((len(self.units.strata), width))
        for part, terms in parts:
            used, unit_sums = self.units.sums_of_used(terms * self.weights[part, None], part)
            total[used] += unit_sums
        return total

    def covariance(self, sums: Floats, total: Floats) -> Floats:
        """(p, p) covariance of (p,) totals, from the `sums` of units or replicates."""
        if self.units is not None:
            return self.units.covariance(sums)
        return self._replicates.replication.covariance(sums, total)

    def ratio_covariance(self, sums: Floats, totals: Floats, sizes: Floats) -> Floats:
        """(k, k) covariance of k ratios of a total to a size.

        With replicates it is that of the ratios by each of them, not linearized.

        sums : of the k totals and then of the k sizes.
        """
        k = len(sizes)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = totals / sizes
            if self.units is not None:
                residuals = (sums[:, :k] - sums[:, k:] * ratios) / sizes
                return self.units.covariance(residuals)
            by_replicate = sums[:, :k] / sums[:, k:]
        return self._replicates.replication.covariance(by_replicate, ratios)


def sampled_rows(
    design: SampleDesign,
    sample: Rows,
    grouped: ReportColumn,
    *,
    left_out: Booleans,
    target: str,
) -> SampledRows | None:
    """The strata and clusters, or replicate weights, of the used rows; None without any.

    sample : all rows, by the design.  grouped : the reports.
    left_out : (rows,) those that lack something else than a report.
    """
    if design.finite:
        raise ArgumentValueError(
            "design must have no population and no probabilities for sums over single rows; give "
            "weights, whose intervals are a little wider"
        )
    if sample.unit_codes is None and sample.replicates is None:
        return None
    if target == "sample":
        raise ArgumentValueError("with a design target must be 'population', got 'sample'")
    rows = grouped.rows
    kept = np.flatnonzero(~(left_out | grouped.missing()))
    units = UnitSums.of(sample, kept, design.lonely_psu)
    if units is not None and design.lonely_psu == "certainty":
        units.refuse_single("or give lonely_psu='adjust'; 'certainty' is for estimates")
    replicates = sample.replicates
    if replicates is not None:
        replicates = replicates._replace(weights=replicates.weights[kept])
    full = np.ones(rows) if sample.weights is None else sample.weights
    refuse_weights("weights", rows, int(np.isnan(full).sum()), math.inf)
    sampled = SampledRows(kept, full[kept], units, replicates)
    if len(kept) and sampled.df < 1:
        raise ArgumentValueError(
            "design must have two clusters, or two replicates that differ, among the used rows, "
            "found one: it has no variance"
        )
    return sampled
