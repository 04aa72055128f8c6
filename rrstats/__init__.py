"""rrstats: randomized response for sensitive categorical answers.

Privatize a column under local differential privacy, exactly and securely, and estimate the
true shares from the reports with intervals that hold.

    import rrstats as rr

    reports = rr.privatize(answers, ["never", "once", "often"], 0.75)
    est = rr.estimate(reports, ["never", "once", "often"], 0.75)
    est.interval(0.95)

In pandas: ``df.rr.privatize("answer", ["never", "once", "often"], 0.75)``; see ``help(df.rr)``.
For files of any size: ``rr.files.privatize_file`` (needs pyarrow), or the command ``rrstats``.
"""

from typing import TYPE_CHECKING, Any

from rrstats import (
    datasets,
    errors,
    estimators,
    hypotheses,
    intervals,
    metadata,
    planning,
    privacy,
)
from rrstats.accessor import FrameAccessor, SeriesAccessor
from rrstats.associations import correlation, correlations, cramers_v, odds_ratio, phi
from rrstats.channel import SupportChannel
from rrstats.crosstabs import Crosstab, crosstab
from rrstats.differences import Difference, difference
from rrstats.errors import (
    BoundaryWarning,
    ConvergenceWarning,
    IllConditionedWarning,
    ImplausibleReportsWarning,
    MetadataError,
    NoisyTableWarning,
    NotIdentifiable,
    RRStatsError,
    RRStatsWarning,
    SimulationWarning,
    SmallCountsWarning,
    UnknownAnswersError,
    UnknownAnswersWarning,
    UnrecordedWarning,
)
from rrstats.estimates import Estimate
from rrstats.estimators import SimplexTable, estimate
from rrstats.group_means import Means, means
from rrstats.groups import GroupEstimates
from rrstats.intervals import Interval
from rrstats.matrices import MatrixChannel
from rrstats.mechanisms import (
    KRR,
    Chain,
    MatrixDesign,
    Mechanism,
    OptimizedUnary,
    Rappor,
    Samples,
    SubsetSelection,
    SurveyDesign,
    SymmetricUnary,
    UnaryEncoding,
    rounds,
    surveys,
)
from rrstats.posteriors import posterior
from rrstats.privacy import epsilon_from_prob, explain, prob_from_epsilon
from rrstats.privatizing import check, privatize, privatize_bool, privatize_frame
from rrstats.randomness import SecureGenerator
from rrstats.regression import RegressionResult, cauchit, cloglog, linear, logit, probit
from rrstats.simulation import simulate, simulate_frame
from rrstats.tallies import Tally, tally
from rrstats.weighted import SurveyEstimate

if TYPE_CHECKING:
    from rrstats import files

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "BoundaryWarning",
    "Chain",
    "ConvergenceWarning",
    "Crosstab",
    "Difference",
    "Estimate",
    "FrameAccessor",
    "GroupEstimates",
    "IllConditionedWarning",
    "ImplausibleReportsWarning",
    "Interval",
    "MatrixChannel",
    "MatrixDesign",
    "Means",
    "Mechanism",
    "MetadataError",
    "NoisyTableWarning",
    "NotIdentifiable",
    "OptimizedUnary",
    "RRStatsError",
    "RRStatsWarning",
    "Rappor",
    "RegressionResult",
    "Samples",
    "SecureGenerator",
    "SeriesAccessor",
    "SimplexTable",
    "SimulationWarning",
    "SmallCountsWarning",
    "SubsetSelection",
    "SupportChannel",
    "SurveyDesign",
    "SurveyEstimate",
    "SymmetricUnary",
    "Tally",
    "UnaryEncoding",
    "UnknownAnswersError",
    "UnknownAnswersWarning",
    "UnrecordedWarning",
    "__version__",
    "cauchit",
    "check",
    "cloglog",
    "correlation",
    "correlations",
    "cramers_v",
    "crosstab",
    "datasets",
    "difference",
    "epsilon_from_prob",
    "errors",
    "estimate",
    "estimators",
    "explain",
    "files",
    "hypotheses",
    "intervals",
    "linear",
    "logit",
    "means",
    "metadata",
    "odds_ratio",
    "phi",
    "planning",
    "posterior",
    "privacy",
    "privatize",
    "privatize_bool",
    "privatize_frame",
    "prob_from_epsilon",
    "probit",
    "rounds",
    "simulate",
    "simulate_frame",
    "surveys",
    "tally",
]


def __getattr__(name: str) -> Any:
    """`rr.files`, imported where it is first used: it needs pyarrow."""
    if name == "files":
        import importlib

        return importlib.import_module("rrstats.files")
    raise AttributeError(f"module 'rrstats' has no attribute {name!r}")
