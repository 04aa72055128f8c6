"""Estimators: `estimate` with its results, and functions of arrays."""

from rrstats._names import answer_names
from rrstats.estimation.debiasing import (
    confidence_interval,
    count_interval,
    count_variance,
    debias_counts,
    debias_proportions,
    debias_reports,
    proportion_variance,
)
from rrstats.estimation.estimate import Estimate, estimate

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


answer_names(__name__, __all__)
