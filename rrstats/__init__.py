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
    intervals,
    metadata,
    privacy,
)
from rrstats.accessor import FrameAccessor, SeriesAccessor
from rrstats.channel import SupportChannel
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
from rrstats.groups import GroupEstimates
from rrstats.intervals import Interval
from rrstats.keyed import Key, new_key
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
from rrstats.simulation import simulate, simulate_frame
from rrstats.tallies import Tally, tally
from rrstats.weighted import SurveyEstimate

if TYPE_CHECKING:
    from rrstats import client, files, hypotheses, opendp, planning
    from rrstats.associations import correlation, cramers_v, odds_ratio, phi
    from rrstats.associations.correlations import correlations
    from rrstats.auditing import AuditResult, audit
    from rrstats.crosstabs import Crosstab, crosstab
    from rrstats.differences import Difference, difference
    from rrstats.group_means import Means, means
    from rrstats.regression import RegressionResult, cauchit, cloglog, linear, logit, probit

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "AuditResult",
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
    "Key",
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
    "audit",
    "cauchit",
    "check",
    "client",
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
    "new_key",
    "odds_ratio",
    "opendp",
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


_WITHIN = {
    "auditing": ("AuditResult", "audit"),
    "associations": ("correlation", "correlations", "cramers_v", "odds_ratio", "phi"),
    "crosstabs": ("Crosstab", "crosstab"),
    "differences": ("Difference", "difference"),
    "group_means": ("Means", "means"),
    "regression": ("RegressionResult", "cauchit", "cloglog", "linear", "logit", "probit"),
}
_WHERE = {name: module for module, names in _WITHIN.items() for name in names}
_MODULES = ("client", "files", "hypotheses", "opendp", "planning")


def __getattr__(name: str) -> Any:
    """What analysis needs, imported where it is first used; `rr.files` needs pyarrow, too."""
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"rrstats.{name}")
    if name in _WHERE:
        found = getattr(importlib.import_module(f"rrstats.{_WHERE[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'rrstats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
