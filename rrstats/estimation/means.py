"""`means`: from values and reports to the means of the true groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning, warn
from rrstats.estimation.analysis_columns import Variable, refuse_reports, variable
from rrstats.estimation.arrays import fixed
from rrstats.estimation.means_results import Means
from rrstats.estimation.means_sums import sums_of_cells, sums_of_rows
from rrstats.mechanisms.channel import check_target
from rrstats.mechanisms.samples import check_aligned

__all__ = ["means", "numbers"]


_NUMERIC = {"integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty"}
"""What pandas calls objects that are numbers."""


def means(
    values: Any,
    reports: Any,
    mechanism: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    group: Any = None,
    weights: Any = None,
    target: str = "population",
    missing: str = "drop",
) -> Means:
    """Means of a number in the true groups, from privatized groups.

    values : (n,) ordinary numbers; true and false count as 1 and 0.
    reports : (n,) reports of the group, with what made them in mechanism, prob, epsilon and group,
        as in `tally`; or a `Variable`.
    weights : (n,) sampling weights, not negative.
    target : "population" (these people are a sample of it) or "rows" (just these rows: what the
        true groups' means would have been, and only the randomization is uncertain).
    missing : "drop" leaves rows out whose value, report or weight is missing, and counts them; that
        is right where what is missing does not depend on the value.  "raise" refuses them.
    Returns Means.  Warns LowPrecisionWarning where a group's size is within noise of 0.
    Raises ArgumentValueError for infinite values and negative weights, NotIdentifiableError where
    reports carry no information.
    Formula: M^-T S / M^-T C, with S and C the sums of values and the counts by reported group.

    >>> import rrstats as rr
    >>> pay = [10.0] * 300 + [20.0] * 300
    >>> answers = ["no"] * 240 + ["yes"] * 60 + ["no"] * 60 + ["yes"] * 240
    >>> found = means(pay, answers, rr.KRR(["no", "yes"], 0.8))
    >>> found.naive.tolist(), found.means.round(6).tolist()
    ([12.0, 18.0], [10.0, 20.0])

    By reported group the means are 12 and 18; in the true groups they are about 10 and 20.
    """
    check_target(target)
    if missing not in ("drop", "raise"):
        raise ArgumentValueError(f"missing must be 'drop' or 'raise', got {missing!r}")
    if isinstance(reports, Variable):
        grouped = reports
    else:
        check_aligned(values, reports, "reports")
        grouped = variable(reports, mechanism, prob, epsilon=epsilon, group=group)
    check_aligned(values, weights, "weights")
    refuse_reports(values, "values", "crosstab both columns, and take conditional shares")
    y = numbers(values, "values", grouped.rows)
    w = None if weights is None else _checked_weights(weights, grouped.rows)
    out = np.isnan(y) if w is None else np.isnan(y) | np.isnan(w)
    some = bool(out.any())
    centre = 0.0 if out.all() else float(y[~out].mean() if some else y.mean())
    y = np.where(out, 0.0, y - centre) if some else y - centre
    w = np.where(out, 0.0, w) if some and w is not None else w
    read = sums_of_cells if grouped.one_cell_each else sums_of_rows
    n, sums, naive, apart = read(grouped, y, w, out)
    absent = grouped.rows - n
    if absent and missing == "raise":
        raise ArgumentValueError(
            f"{absent} of {grouped.rows} rows lack a value, a report or a weight; missing='drop' "
            "leaves them out"
        )
    if apart and target == "rows":
        raise ArgumentValueError(
            "target must be 'population' for a mechanism whose samples need one another: who came "
            "into which sample is chance besides the randomization"
        )
    naive = fixed(naive + centre)
    found = Means(grouped.categories, n, absent, target, naive, centre, sums, apart)
    if doubt := found.doubt():
        warn(doubt, LowPrecisionWarning)
    return found


def numbers(values: Any, name: str, rows: int) -> Floats:
    """(rows,) floats, missing ones NaN; raises for what is no number or infinite."""
    column = values if isinstance(values, pd.Series) else pd.Series(values)
    if column.ndim != 1 or len(column) != rows:
        raise ArgumentValueError(
            f"{name} must be one for each of the {rows} reports, found {len(column)}"
        )
    kind = column.dtype
    numeric = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind)
    if pd.api.types.is_object_dtype(kind):
        numeric = pd.api.types.infer_dtype(column, skipna=True) in _NUMERIC
    if not numeric:
        raise ArgumentTypeError(f"{name} must be numbers, found a column of type {kind}")
    found = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if infinite := int(np.isinf(found).sum()):
        raise ArgumentValueError(
            f"{name} must be finite, found {infinite} infinite of {rows}; leave them out, or bound "
            "them"
        )
    return found


def _checked_weights(weights: Any, rows: int) -> Floats:
    found = numbers(weights, "weights", rows)
    if negative := int((found < 0).sum()):
        raise ArgumentValueError(f"weights must not be negative, found {negative} of {rows}")
    if rows and not np.nansum(found) > 0:
        raise ArgumentValueError("weights must not all be 0 or missing")
    return found
