"""Joint tables of columns that were privatized apart, and of columns that stand as they are.

A person's score in a cell is the product of their scores in the columns: unbiased, because each
report was drawn from its own truth by chance of its own.  The table of means is solved column by
column, F = M1^-1 (O / n) M2^-T for two, and so are the variances with squared scores; no
Kronecker product is ever formed.
Law: n Var(f) = E[product of squared scores] - f^2, which grows like the product over columns
of 1 / (p - q)^2: five private columns may leave nothing of a million rows, and `crosstab` says
so (`Crosstab.effective_size`).  Not for a pair that was privatized together as one answer
over all combinations: that is one column, with pairs for categories.
Sources: Chaudhuri and Mukerjee (1988) for products of scores; van den Hout and van der
Heijden (2002).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from rrstats.errors import ArgumentValueError, ImplausibleReportsWarning, LowPrecisionWarning, warn
from rrstats.estimation.analysis_columns import variables
from rrstats.estimation.conditional import Conditional
from rrstats.estimation.constrained_table import TidiedTable
from rrstats.estimation.crosstab_axes import Axis
from rrstats.estimation.crosstab_counts import check_asked, count_rows
from rrstats.estimation.crosstab_results import Crosstab
from rrstats.estimation.debiasing import implausible
from rrstats.estimation.selections import condensed_rows
from rrstats.mechanisms.channel import check_target

__all__ = ["Axis", "Conditional", "Crosstab", "LowPrecisionWarning", "TidiedTable", "crosstab"]

MISSING = ("drop", "keep", "raise")

_FEW = 5
"""Direct answers to a cell, below which a table is not worth reading."""


def crosstab(
    data: Any,
    *columns: Hashable,
    mechanisms: Mapping[Any, Any] | None = None,
    group: Hashable = None,
    target: str = "population",
    missing: str = "drop",
) -> Crosstab:
    """The joint shares of several columns, each privatized by itself or as it stands.

    data : a frame, of pandas or of an engine (Polars, pyarrow, DuckDB, Dask, PySpark), which counts
        its own rows.  columns : their names, in the order of the table's axes.
    mechanisms : mapping from column to mechanism, for columns of reports whose frame does not say
        how they were made.  A column that neither speaks of is taken as it stands.
    group : the column that says which sample a row is in, for mechanisms with several.
    target : "population" (these people are a sample of it) or "rows" (just these rows).
    missing : what to do with rows in which something is missing: "drop" leaves them out of n and
        counts them; "keep" makes missing values of ordinary columns a level of their own, None,
        and drops the others; "raise".
    Returns a Crosstab.  Raises ArgumentValueError for reports that the mechanism cannot have
    made, NotIdentifiableError where reports carry no information.
    Warns LowPrecisionWarning where the noise leaves fewer than 5 direct answers to a cell, and
    ImplausibleReportsWarning where no true shares explain a column's reports.
    Formula: products of scores; van den Hout and van der Heijden (2002).

    >>> import pandas as pd, rrstats as rr
    >>> rows = {"smoker": ["no"] * 650 + ["yes"] * 350}
    >>> rows["region"] = ["north"] * 300 + ["south"] * 350 + ["north"] * 200 + ["south"] * 150
    >>> table = crosstab(
    ...     pd.DataFrame(rows), "smoker", "region",
    ...     mechanisms={"smoker": rr.KRR(["no", "yes"], 0.75)},
    ... )
    >>> table.table().round(3).to_dict()
    {'north': {'no': 0.35, 'yes': 0.15}, 'south': {'no': 0.45, 'yes': 0.05}}

    Of all people, about 15% smoke and live in the north.
    """
    check_asked(data, columns, mechanisms, engines=True)
    check_target(target)
    if missing not in MISSING:
        raise ArgumentValueError(f"missing must be one of {list(MISSING)}, got {missing!r}")
    frame, times = condensed_rows(data, columns, mechanisms, group)
    rows = len(frame) if times is None else int(times.sum())
    read = variables(frame, columns, mechanisms, group=group, times=times)
    axes, counted = count_rows(read, keep=missing == "keep", times=times)
    found = Crosstab(tuple(axes), counted, 0, target)
    found = replace(found, missing=rows - found.n)
    if missing == "raise" and found.missing:
        raise ArgumentValueError(
            f"{found.missing} of {rows} rows have something missing in the columns "
            f"{list(columns)}; missing='drop' leaves them out"
        )
    found.check_possible()
    _check_plausible(found)
    _check_noise(found)
    return found


def _check_plausible(table: Crosstab) -> None:
    """Warn of columns whose reports no true shares explain."""
    strange = []
    for axis in table.axes:
        if axis.mechanism is None or not table.n:
            continue
        alone = table.margin(axis.name).counted[: axis.m]
        if implausible(axis.mechanism.channel, alone, table.n).any():
            strange.append(axis.name)
    if strange:
        warn(
            f"some reports in the columns {strange} are rarer or commoner than any true shares "
            "explain, so the table means nothing: were these answers privatized, by this "
            "mechanism, and is every row there (none dropped or picked by its report)?",
            ImplausibleReportsWarning,
        )


def _check_noise(table: Crosstab) -> None:
    """Warn where noise, and not a lack of rows, leaves nothing to read."""
    left, few = table.effective_size, _FEW * table.size
    if left < few <= table.n:
        warn(
            f"the noise of the columns {list(table.private)} leaves next to nothing: these "
            f"{table.n:,} rows tell of the {table.size:,} cells what {left:,.0f} direct answers "
            "would; take fewer columns, merge categories, or read only the margins",
            LowPrecisionWarning,
        )
