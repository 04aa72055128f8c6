"""Estimators: `estimate` with its results, and functions of arrays."""

from typing import TYPE_CHECKING, NoReturn

from rrstats._names import missing_attribute
from rrstats.estimation.estimates.debiasing import (
    confidence_interval,
    count_interval,
    count_variance,
    debias_counts,
    debias_proportions,
    debias_reports,
    proportion_variance,
)
from rrstats.estimation.estimates.estimate import Estimate, estimate

__all__ = [
    "Estimate",
    "confidence_interval",
    "count_interval",
    "count_variance",
    "debias_counts",
    "debias_proportions",
    "debias_reports",
    "estimate",
    "proportion_variance",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
