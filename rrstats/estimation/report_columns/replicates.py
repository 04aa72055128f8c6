"""Replicate weights: the weights of a survey, changed R times as its sample could have changed.

Public-use files hold them in place of strata and clusters.  With the R estimates t_r by them,

    variance = sum of scale rscale_r (t_r - centre)^2

The centre is the mean of the t_r, or the estimate itself (``mse``).  `Replication` holds these
constants, `ReplicateSums` what tallies keep of the weights.
Source: Wolter (2007), Introduction to Variance Estimation; the conventions, and the degrees of
freedom, are those of `svrepdesign` in R's survey package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import (
    check_bool,
    check_instance,
    check_left_out,
    check_number,
    check_numbers,
    check_one_of,
    check_rows,
)
from rrstats._typing import Booleans, Floats, Indices, JsonObject
from rrstats.data.columns import numbers
from rrstats.errors import ArgumentTypeError, ArgumentValueError

REPLICATE_METHODS = ("BRR", "Fay", "JK1", "JKn", "bootstrap", "ACS")
"""Balanced half-samples, these by Fay, jackknives without and with strata, the bootstrap, and the
successive differences of the American Community Survey."""

_LARGEST = 1e100
"""The largest replicate weight, so that sums of products stay finite."""

_UNLIKE = 2.0
"""Replicate weights are no factors if their mean differs from that of the weights by less."""

_RANK_TOLERANCE = 1e-10
"""Squares of R's tolerance for the rank of the weights, 1e-5."""


@dataclass(frozen=True, eq=False)
class Replication:
    """The rule by which variances follow from R replicates.

    method : one of `REPLICATE_METHODS`.  coefficients : (R,) the factors of the squared deviations.
    mse : True if deviations are from the estimate, not from the mean of the replicates.
    """

    method: str
    coefficients: Floats
    mse: bool

    @classmethod
    def of(
        cls,
        count: int,
        method: str,
        *,
        rho: float | None,
        scale: Any,
        rscales: Any,
        mse: bool | None,
    ) -> Replication:
        """The constants of a method for a number of replicates."""
        by_method = {
            "BRR": 1 / count,
            "Fay": 1 / (count * (1 - (rho or 0.0)) ** 2),
            "JK1": (count - 1) / count,
            "JKn": 1.0,
            "bootstrap": 1 / (count - 1),
            "ACS": 4 / count,
        }
        factor = by_method[method] if scale is None else float(scale)
        factors = np.ones(count)
        if rscales is not None:
            factors = check_numbers(rscales, "rscales", size=count, low=0.0)
        return cls(method, factor * factors, method == "ACS" if mse is None else mse)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Replication)
            and (self.method, self.mse) == (other.method, other.mse)
            and np.array_equal(self.coefficients, other.coefficients)
        )

    def deviations(self, estimates: Floats, estimate: Floats) -> Floats:
        """(R, ...) what is squared; NaN for replicates without an estimate.

        estimates : (R, ...) by replicate, NaN where nobody has a weight.
        estimate : by the weights of the full sample.
        """
        if self.mse:
            return np.asarray(estimates - estimate)
        usable = self.usable(estimates) & (self.coefficients > 0)
        if not usable.any():
            return np.full_like(estimates, np.nan)
        return np.asarray(estimates - estimates[usable].mean(axis=0))

    def covariance(self, estimates: Floats, estimate: Floats) -> Floats:
        """(p, p) covariance of (p,) estimates, from the (R, p) of the replicates.

        A replicate without an estimate is left out for this one alone, as by R's `svyby`.
        """
        columns = zip(estimates.T, estimate, strict=True)
        deviations = np.stack(
            [self.deviations(column[:, None], value)[:, 0] for column, value in columns], axis=1
        )
        usable = np.isfinite(deviations)
        used = np.where(usable, deviations, 0.0)
        covariance = (used.T * self.coefficients) @ used
        nothing = ~usable.any(axis=0)
        covariance[nothing] = np.nan
        covariance[:, nothing] = np.nan
        return np.asarray(covariance)

    @staticmethod
    def usable(estimates: Floats) -> Booleans:
        """(R,) True for replicates with an estimate."""
        return np.asarray(np.isfinite(estimates.reshape(len(estimates), -1)).all(axis=1))


def check_replication(
    method: Any, rho: Any, scale: Any, rscales: Any, mse: Any, *, replicates: Any
) -> None:
    """Raise for constants that no method of replication has."""
    if replicates is None:
        why = "they need replicates, the columns of the replicate weights"
        check_left_out(why, method=method, rho=rho, scale=scale, rscales=rscales, mse=mse)
        return
    if method is None:
        raise ArgumentTypeError(
            "replicates need method=, how they were made, as the documentation of the data says: "
            f"one of {', '.join(map(repr, REPLICATE_METHODS))}"
        )
    check_one_of(method, "method", REPLICATE_METHODS)
    if method == "Fay":
        if rho is None:
            raise ArgumentTypeError(
                "method 'Fay' needs rho, the factor that keeps part of the weights of a left-out "
                "half-sample, as the documentation of the data says (often 0.3 or 0.5)"
            )
        check_number(rho, "rho", 0.0, 1.0, ends="[)")
    else:
        check_left_out("rho belongs to method='Fay'", rho=rho)
    if method == "JKn" and rscales is None:
        raise ArgumentTypeError(
            "method 'JKn' needs rscales, for each replicate (n - 1) / n of the n clusters of its "
            "stratum"
        )
    if scale is not None:
        check_number(scale, "scale", 0.0, np.inf, ends="()")
    if mse is not None and not isinstance(mse, bool):
        raise ArgumentTypeError(f"mse must be True or False, found {type(mse).__name__}")


def replicate_weights(replicates: Any, weights: Floats, rows: int) -> Floats:
    """(rows, R) replicate weights from a frame or an array; raises for factors and missing values.

    weights : (rows,) of the full sample.
    """
    columns = np.shape(replicates)[-1:]
    if columns in ((0,), (1,)):
        raise ArgumentValueError(f"replicates must have at least 2 columns, found {columns[0]}")
    if isinstance(replicates, pd.DataFrame):
        check_rows(len(replicates), rows, "replicates", each="reports")
        if replicates.columns.has_duplicates:
            raise ArgumentValueError("replicates must have each column once, found one twice")
        by_name = [replicates.iloc[:, place] for place in range(replicates.shape[1])]
        replicates = np.stack([numbers(each, "replicates", rows) for each in by_name], axis=1)
    values = check_numbers(replicates, "replicates", axes=2, low=-_LARGEST, high=_LARGEST)
    check_rows(len(values), rows, "replicates", each="reports")
    if not rows:
        return values
    ratio = values.mean() / weights.mean()
    if not 1 / _UNLIKE < ratio < _UNLIKE:
        raise ArgumentValueError(
            "replicates must be weights of the rows as large as weights on average, found "
            f"{ratio:.3g} times as large; multiply factors by the weights first"
        )
    return values


@dataclass(frozen=True, eq=False)
class ReplicateSums:
    """Sums of replicate weights over the rows of u groups or units.

    replication : the same for all.
    sums, totals : (u, R, m) sums by report cell, and (u, R) over all rows.
    products : (u, R, R) sums of the products of the factors by which weights were changed, whose
        rank says how many replicates differ.
    """

    replication: Replication
    sums: Floats
    totals: Floats
    products: Floats

    @classmethod
    def zeros(cls, replication: Replication, size: int, m: int) -> ReplicateSums:
        """Sums of no rows."""
        count = len(replication.coefficients)
        sums = np.zeros((size, count, m))
        return cls(replication, sums, np.zeros((size, count)), np.zeros((size, count, count)))

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """The three arrays, each with the units as its first axis."""
        return self.sums, self.totals, self.products

    def to_dict(self) -> JsonObject:
        """The sums over all units as plain JSON."""
        sums, totals, products = (array.sum(axis=0) for array in self.arrays)
        return {
            "method": self.replication.method,
            "coefficients": self.replication.coefficients.tolist(),
            "mse": self.replication.mse,
            "sums": sums.tolist(),
            "totals": totals.tolist(),
            "products": products.tolist(),
        }

    @classmethod
    def from_dict(cls, document: Any, m: int) -> ReplicateSums:
        """The sums of one unit with m report cells; raises for any other document."""
        facts = dict(check_instance(document, "replicates", Mapping, "a dict"))
        names = ("method", "coefficients", "mse", "sums", "totals", "products")
        if {*facts} != {*names}:
            raise ArgumentValueError(f"replicates must have the keys {list(names)}")
        method = check_one_of(facts["method"], "method", REPLICATE_METHODS)
        mse = check_bool(facts["mse"], "mse")
        coefficients = check_numbers(facts["coefficients"], "coefficients", low=0.0)
        count = len(coefficients)
        shapes = {"sums": (count, m), "totals": (count,), "products": (count, count)}
        arrays = []
        for name, shape in shapes.items():
            array = check_numbers(facts[name], name, axes=len(shape))
            if array.shape != shape:
                raise ArgumentValueError(f"{name} must have the shape {shape}, found {array.shape}")
            arrays.append(array[None])
        return cls(Replication(method, coefficients, mse), *arrays)

    def part(self, units: slice) -> ReplicateSums:
        """The sums of some units."""
        return ReplicateSums(self.replication, *(array[units] for array in self.arrays))

    def add(
        self,
        replicates: Floats,
        weights: Floats,
        places: Indices,
        *,
        report: Any,
        flat: Indices,
    ) -> None:
        """Add rows.

        replicates, weights, places : (n, R), (n,) and (n,) the rows', and the unit of each.
        report, flat : the row of each report cell, and the place of the cell in (u, m).
        """
        size, count, m = self.sums.shape
        by_cell = np.zeros((count, size * m))
        for total, column in zip(by_cell, replicates.T, strict=True):
            total += np.bincount(flat, column[report], minlength=size * m)
        self.sums[...] += by_cell.reshape(count, size, m).swapaxes(0, 1)
        factors = replicates / np.where(weights > 0, weights, 1.0)[:, None]
        order = np.argsort(places, kind="stable")
        used, starts = np.unique(places[order], return_index=True)
        for unit, rows in zip(used.tolist(), np.split(order, starts[1:]), strict=True):
            self.totals[unit] += replicates[rows].sum(axis=0)
            self.products[unit] += factors[rows].T @ factors[rows]


def replicate_df(products: Floats) -> int:
    """Degrees of freedom: the rank of the (rows, R) replicate weights, minus 1."""
    size = np.sqrt(np.diagonal(products))
    used = size > 0
    scaled = products[np.ix_(used, used)] / np.outer(size[used], size[used])
    if not used.any():
        return 0
    values = np.linalg.eigvalsh(scaled)
    return int((values > _RANK_TOLERANCE * len(values)).sum()) - 1
