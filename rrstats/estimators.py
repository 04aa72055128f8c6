"""Estimators: the functions of arrays, and `estimate` with its results."""

from rrstats.estimation.estimator import (
    ConstrainedProportions,
    Estimate,
    RatioEstimate,
    ShareEstimate,
    confidence_interval,
    count_interval,
    count_variance,
    debias_counts,
    debias_proportions,
    debias_reports,
    estimate,
    project_to_simplex,
    proportion_variance,
)

__all__ = [
    "ConstrainedProportions",
    "Estimate",
    "RatioEstimate",
    "ShareEstimate",
    "confidence_interval",
    "count_interval",
    "count_variance",
    "debias_counts",
    "debias_proportions",
    "debias_reports",
    "estimate",
    "project_to_simplex",
    "proportion_variance",
]
