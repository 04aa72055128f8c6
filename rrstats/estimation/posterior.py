"""The chance of each true answer given a report, P(true answer | report), for a prior.

Also what a data curator tells respondents: the chance at which a reader of the report holds an
answer for true, who held it for true at the prior chance before.
Source: Bayes; van den Hout and Klugkist (2009) for general designs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_proportions
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.data.columns import codec_of
from rrstats.errors import ArgumentValueError
from rrstats.estimation.analysis_columns import reports_of


def posterior(reports: Any, mechanism: Any, prior: Any, *, group: Any = None) -> Floats:
    """Calculate P(true answer | report), from what was believed before.

    Parameters
    ----------
    reports : array-like of shape (n,)
    mechanism : Mechanism
        What made the reports.
    prior : sequence of floats or mapping
        (classes,) proportions of the true answers, in their order, which sum to 1; or from answer
        to proportion.
    group : array-like of shape (n,), optional
        The sample of each report, where the mechanism has several.

    Returns
    -------
    ndarray of shape (n, classes)
        A missing report leaves the prior as it is.

    Raises
    ------
    ArgumentValueError
        For reports that are none, and for those that the prior rules out.

    Notes
    -----
    P(report | truth) prior(truth) / P(report).

    Examples
    --------
    >>> import rrstats as rr
    >>> posterior(["yes"], rr.KRR(["no", "yes"], 0.75), {"no": 0.99, "yes": 0.01}).round(4)
    array([[0.9706, 0.0294]])
    """
    opened = reports_of(reports, mechanism, group=group)
    described = opened.mechanism
    if isinstance(prior, Mapping) and len(prior) < described.domain.k:
        raise ArgumentValueError(
            f"prior must give each of the true answers {described.domain.describe()} one share"
        )
    shares = proportions_of(prior, described.domain, "prior")
    everything = slice(None)
    encoded = opened.read(everything)
    opened.refuse(encoded.unknown)
    found = np.tile(shares, (opened.rows, 1))
    given = np.delete(np.arange(opened.rows), encoded.absent)
    decoded = codec_of(described.report_space).decode(opened.given(encoded, everything))
    weights = described.channel.likelihood(decoded) * shares
    totals = weights.sum(axis=1, keepdims=True)
    if not (totals > 0).all():
        raise ArgumentValueError(
            f"{int((totals == 0).sum())} of {opened.rows} reports are impossible under this "
            "design and prior"
        )
    found[given] = weights / totals
    return found


def proportions_of(given: Any, space: Categories, name: str) -> Floats:
    """(k,) proportions that sum to 1, in the categories' order; by category, others are 0."""
    if isinstance(given, Mapping | pd.Series):
        by_code = {space.code(label): share for label, share in given.items()}
        if space.k in by_code:
            raise ArgumentValueError(
                f"labels in {name} are not among the categories {space.describe()}"
            )
        given = [by_code.get(code, 0.0) for code in range(space.k)]
    return check_proportions(given, name, space.k)
