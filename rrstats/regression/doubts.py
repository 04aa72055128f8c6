"""What a fit leaves open: sentences that are warned of and stand under its table."""

from __future__ import annotations

from typing import NamedTuple

from rrstats.errors import LowPrecisionWarning, RRStatsWarning

__all__ = ["Doubt"]


class Doubt(NamedTuple):
    """A sentence, and the warning that it is."""

    text: str
    kind: type[RRStatsWarning] = LowPrecisionWarning
