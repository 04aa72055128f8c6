"""Differences of many groups, with p-values adjusted for their number.

Each is the `difference` of two groups, so groups of one sample with a design are compared with
their covariance.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_instance, check_one_of, quote_list
from rrstats._names import checked_keywords
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.groups import GroupEstimates
from rrstats.estimation.estimates.result import label_column
from rrstats.estimation.hypothesis_tests.difference import difference
from rrstats.inference.multiplicity import CORRECTIONS, adjusted_p_values

_MAX_PAIRS = 5_000
"""Maximum number of pairs; a pair takes some milliseconds."""

_ALL: Any = object()


@checked_keywords
def pairwise(
    groups: GroupEstimates[Any],
    reference: Hashable = _ALL,
    *,
    correction: str = CORRECTIONS[0],
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare the proportions of several groups, with p-values adjusted for their number.

    Parameters
    ----------
    groups : GroupEstimates
        Of ``rr.estimate(..., by=)``.
    reference : hashable, optional
        The group that all others are compared with; by default every pair is compared.
    correction : {"holm", "bonferroni", "benjamini-hochberg", "benjamini-yekutieli"}
        As for `rrstats.hypotheses.adjust`; all rows of the result are adjusted together.
    level : float
        Confidence level of each interval by itself.

    Returns
    -------
    DataFrame
        One row for each pair and category (the last alone, if there are two): first, second,
        category, difference (first minus second), std_error, low, high, p_value and p_adjusted.
        Groups with too few reports have NaN.

    Raises
    ------
    ArgumentValueError
        There is one group, or there are too many pairs.

    Examples
    --------
    >>> import rrstats as rr
    >>> reports = ["yes"] * 80 + ["no"] * 120 + ["yes"] * 60 + ["no"] * 140 + ["yes"] * 55
    >>> region = ["north"] * 200 + ["south"] * 200 + ["west"] * 200
    >>> groups = rr.estimate(reports + ["no"] * 145, ["no", "yes"], 0.9, by=region)
    >>> pairwise(groups)[["first", "second", "difference", "p_value", "p_adjusted"]].round(3)
       first second  difference  p_value  p_adjusted
    0  north  south       0.125    0.046       0.092
    1  north   west       0.156    0.011       0.033
    2  south   west       0.031    0.659       0.659

    Of three comparisons, that of the north with the west stays below 5%.
    """
    check_instance(groups, "groups", GroupEstimates, "groups, from rr.estimate(..., by=)")
    check_one_of(correction, "correction", CORRECTIONS)
    labels = list(groups)
    if len(labels) < 2:
        raise ArgumentValueError(f"groups must be at least 2, found {len(labels)}")
    if reference is _ALL:
        pairs = list(combinations(labels, 2))
    elif reference in labels:
        pairs = [(group, reference) for group in labels if group != reference]
    else:
        raise ArgumentValueError(
            f"reference must be one of the {len(labels)} groups {quote_list(labels)}"
        )
    if len(pairs) > _MAX_PAIRS:
        raise ArgumentValueError(
            f"at most {_MAX_PAIRS:,} pairs of groups are compared, found {len(pairs):,}; give "
            "reference, which the others are compared with"
        )
    tables = []
    for first, second in pairs:
        table = difference(groups[first], groups[second]).to_frame(level)
        if len(table) == 2:
            table = table.iloc[1:]
        names = {"first": first, "second": second}
        for name, group in names.items():
            table[name] = label_column((group,) * len(table)).to_numpy()
        tables.append(table)
    compared = pd.concat(tables, ignore_index=True)
    p_values = compared["p_value"].to_numpy(dtype=np.float64)
    compared["p_adjusted"] = adjusted_p_values(p_values, correction)
    columns = ["first", "second", "category", "difference", "std_error", "low", "high"]
    return compared[[*columns, "p_value", "p_adjusted"]]
