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

from rrstats import datasets, errors, estimators, intervals, metadata, planning, privacy
from rrstats.accessor import FrameAccessor, SeriesAccessor
from rrstats.channel import SupportChannel
from rrstats.errors import (
    IllConditionedWarning,
    ImplausibleReportsWarning,
    MetadataError,
    NotIdentifiable,
    RRStatsError,
    SimulationWarning,
    UnknownAnswersError,
    UnknownAnswersWarning,
    UnrecordedWarning,
)
from rrstats.estimates import Estimate
from rrstats.estimators import SimplexTable, estimate
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
from rrstats.simulation import simulate, simulate_frame
from rrstats.tallies import Tally, tally

if TYPE_CHECKING:
    from rrstats import files

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "Chain",
    "Estimate",
    "FrameAccessor",
    "IllConditionedWarning",
    "ImplausibleReportsWarning",
    "Interval",
    "MatrixChannel",
    "MatrixDesign",
    "Mechanism",
    "MetadataError",
    "NotIdentifiable",
    "OptimizedUnary",
    "RRStatsError",
    "Rappor",
    "Samples",
    "SecureGenerator",
    "SeriesAccessor",
    "SimplexTable",
    "SimulationWarning",
    "SubsetSelection",
    "SupportChannel",
    "SurveyDesign",
    "SymmetricUnary",
    "Tally",
    "UnaryEncoding",
    "UnknownAnswersError",
    "UnknownAnswersWarning",
    "UnrecordedWarning",
    "__version__",
    "check",
    "datasets",
    "epsilon_from_prob",
    "errors",
    "estimate",
    "estimators",
    "explain",
    "files",
    "intervals",
    "metadata",
    "planning",
    "posterior",
    "privacy",
    "privatize",
    "privatize_bool",
    "privatize_frame",
    "prob_from_epsilon",
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
