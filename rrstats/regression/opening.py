"""Arguments of a regression with privatized covariates, as clean arrays."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Booleans, Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.means import numbers
from rrstats.regression.frames import Design, check_index, column_or_values, covariates, whole_rows
from rrstats.regression.unseen import Unseen, designs, open_unseen

__all__ = ["Opened", "open_columns"]


@dataclass(frozen=True, eq=False)
class Opened:
    """Arguments of a regression as clean arrays.

    same : (rows, s) columns of the design that are alike for all profiles of the privatized
    covariates.  varying : (profiles, rows, v) the others, in a stride of 0 where rows are alike.
    order : the places of all these in the design.  weights : with a mean of 1.
    """

    unseen: Unseen
    design: Design
    names: tuple[str, ...]
    order: list[int]
    same: Floats
    varying: Floats
    weights: Floats | None
    clusters: NDArray[np.intp] | None

    @property
    def ordered(self) -> list[str]:
        """The names of the columns, the varying ones last."""
        return [self.names[place] for place in self.order]


def open_columns(
    absent: dict[str, Booleans],
    rows: int,
    formula: str | None,
    data: Any,
    given: Any,
    group: Any,
    weights: Any,
    clusters: Any,
    missing: str,
    intercept: bool,
    outcome: Any = None,
) -> tuple[Opened, Booleans | None]:
    """Columns, weights and clusters of the rows that are used, and which these are.

    absent : where the outcome is missing.  outcome : its values, to compare indexes with.
    """
    if not rows:
        raise ArgumentValueError("there must be at least one row, found none")
    if formula is None:
        check_index(outcome, data, "the outcome")
    unseen = open_unseen(data, given, _sources(data, formula), group)
    unseen.check_informative()
    w = column_or_values(weights, data, rows, "weights", outcome)
    w = None if w is None else _checked_weights(w, rows)
    in_cluster = column_or_values(clusters, data, rows, "clusters", outcome)
    codes = None if in_cluster is None else pd.factorize(pd.Series(in_cluster))[0]
    gaps = {**absent, **_gaps(data, formula, unseen, rows, intercept), **unseen.missing()}
    if w is not None:
        gaps["weights"] = np.isnan(w)
    if codes is not None:
        gaps["clusters"] = codes < 0
    keep = whole_rows(missing, gaps, rows)
    if w is not None:
        used = (w if keep is None else w[keep]) > 0
        if not used.any():
            raise ArgumentValueError("weights must leave somebody, found that all are 0")
        if not used.all():  # rows that stand for nobody take no part
            kept = np.ones(rows, dtype=np.bool_) if keep is None else keep.copy()
            kept[kept] = used
            keep = kept
        w = w if keep is None else w[keep]
        w = w / w.mean()
    if codes is not None:
        codes = pd.factorize(codes if keep is None else codes[keep])[0]
        if codes.max(initial=0) < 1:
            raise ArgumentValueError("clusters must be at least 2, found 1")
    design, matrices, names = designs(unseen, data, formula, keep, intercept)
    order, same, varying = _apart(matrices, len(names))
    return Opened(unseen, design, names, order, same, varying, w, codes), keep


def _checked_weights(given: Any, rows: int) -> Floats:
    found = numbers(given, "weights", rows)
    if (found < 0).any() or not np.nansum(found) > 0:
        raise ArgumentValueError(
            f"weights must not be negative, nor all 0; found {int((found < 0).sum())} negative"
        )
    return found


def _sources(data: Any, formula: str | None) -> list[Hashable]:
    """The columns that the model may use."""
    if formula is None:
        return list(data.columns) if isinstance(data, pd.DataFrame) else []
    opened = covariates(data, formula, rows=len(data))
    return list(opened.sources)


def _gaps(
    data: Any, formula: str | None, unseen: Unseen, rows: int, intercept: bool
) -> dict[str, Booleans]:
    """Where ordinary covariates are missing."""
    if formula is not None:
        opened = covariates(unseen.framed(data, None), formula, rows=rows)
        return opened.missing()
    if isinstance(data, pd.DataFrame):
        data = unseen.others(data)
        if not data.shape[1]:
            return {}
    return covariates(data, None, rows=rows, intercept=intercept).missing()


def _apart(matrices: list[Floats], columns: int) -> tuple[list[int], Floats, Floats]:
    """Columns that are alike for all profiles, and those that are not, with their places."""
    first = matrices[0]
    differs = np.array(
        [
            any(not np.array_equal(first[:, place], other[:, place]) for other in matrices[1:])
            for place in range(columns)
        ]
    )
    same, vary = np.flatnonzero(~differs), np.flatnonzero(differs)
    if all((matrix[:1, vary] == matrix[:, vary]).all() for matrix in matrices):
        table = np.stack([matrix[:1, vary] for matrix in matrices])
        varying = np.broadcast_to(table, (len(matrices), len(first), len(vary)))
    else:
        varying = np.stack([matrix[:, vary] for matrix in matrices])
    return [*same.tolist(), *vary.tolist()], np.ascontiguousarray(first[:, same]), varying
