"""What a report says of one person: P(true answer | report), for a prior.

Also what a steward tells respondents: whoever held an answer for likely at a prior share holds
it, after seeing the report, for this likely.
Source: Bayes; van den Hout and Klugkist (2009) for general designs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rrstats._typing import Floats
from rrstats.data.columns import codec_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import reports_of
from rrstats.mechanisms.base import Mechanism

__all__ = ["posterior"]


def posterior(reports: Any, mechanism: Any, prior: Any, *, group: Any = None) -> Floats:
    """P(true answer | report), from what somebody believed before.

    reports : n reports.  mechanism : what made them.  group : the sample of each report, where
        the mechanism has several.
    prior : (classes,) shares of the true answers, in their order, which sum to 1; or a mapping
        from answer to share.
    Returns (n, classes); a missing report leaves the prior as it is.
    Raises ArgumentValueError for reports that are none, and for those that the prior rules out.
    Formula: P(report | truth) prior(truth) / P(report).

    >>> import rrstats as rr
    >>> posterior(["yes"], rr.KRR(["no", "yes"], 0.75), {"no": 0.99, "yes": 0.01}).round(4)
    array([[0.9706, 0.0294]])
    """
    opened = reports_of(reports, mechanism, group=group)
    described = opened.mechanism
    shares = _shares(prior, described)
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


def _shares(prior: Any, mechanism: Mechanism) -> Floats:
    space = mechanism.domain
    if isinstance(prior, Mapping):
        codes = [space.code(answer) for answer in prior]
        if sorted(codes) != list(range(space.k)):
            raise ArgumentValueError(
                f"prior must give each of the true answers {space.describe()} one share"
            )
        prior = [share for _, share in sorted(zip(codes, prior.values(), strict=True))]
    try:
        shares = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError("prior must be shares, one for each true answer") from None
    if shares.shape != (space.k,) or not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise ArgumentValueError(
            f"prior must be {space.k} shares of at least 0 that sum to 1, one for each of "
            f"{space.describe()}"
        )
    return shares
