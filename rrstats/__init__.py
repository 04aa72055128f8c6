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

from rrstats import datasets, errors, estimators, metadata, privacy
from rrstats._version import __version__
from rrstats.accessor import FrameAccessor, SeriesAccessor
from rrstats.errors import (
    ConvergenceWarning,
    ImplausibleReportsWarning,
    LowPrecisionWarning,
    MetadataError,
    NotIdentifiableError,
    RRStatsError,
    RRStatsWarning,
    SimulationWarning,
    UnknownAnswersError,
    UnknownAnswersWarning,
    UnrecordedWarning,
)
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.estimator import ConstrainedProportions, estimate
from rrstats.estimation.groups import GroupEstimates
from rrstats.estimation.posterior import posterior
from rrstats.estimation.tally import Tally, tally
from rrstats.inference import binomial as intervals
from rrstats.inference.binomial import Interval
from rrstats.mechanisms import rappor as rounds
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import Chain, Mechanism
from rrstats.mechanisms.epsilon import epsilon_from_prob, prob_from_epsilon
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.rappor import Rappor
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.surveys import SurveyDesign
from rrstats.mechanisms.unary import UnaryEncoding
from rrstats.privacy import explain
from rrstats.privatization.frame import check, privatize, simulate
from rrstats.randomness.keyed import Key, new_key
from rrstats.randomness.sources import SecureGenerator

if TYPE_CHECKING:
    from rrstats import files, opendp, planning
    from rrstats.auditing import AuditResult, audit
    from rrstats.estimation import hypothesis_tests as hypotheses
    from rrstats.estimation.association import (
        correlation,
        correlations,
        cramers_v,
        odds_ratio,
        phi,
    )
    from rrstats.estimation.crosstab import Crosstab, crosstab
    from rrstats.estimation.difference import Difference, difference
    from rrstats.estimation.means import Means, means
    from rrstats.privatization import single as client
    from rrstats.regression.models import cauchit, cloglog, linear, logit, probit
    from rrstats.regression.results import RegressionResult

__all__ = [
    "KRR",
    "AuditResult",
    "Chain",
    "ConstrainedProportions",
    "ConvergenceWarning",
    "Crosstab",
    "Difference",
    "Estimate",
    "FrameAccessor",
    "GroupEstimates",
    "ImplausibleReportsWarning",
    "Interval",
    "Key",
    "LowPrecisionWarning",
    "MatrixDesign",
    "Means",
    "Mechanism",
    "MetadataError",
    "NotIdentifiableError",
    "RRStatsError",
    "RRStatsWarning",
    "Rappor",
    "RegressionResult",
    "Samples",
    "SecureGenerator",
    "SeriesAccessor",
    "SimulationWarning",
    "SubsetSelection",
    "SurveyDesign",
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
    "prob_from_epsilon",
    "probit",
    "rounds",
    "simulate",
    "surveys",
    "tally",
]


_WITHIN = {
    "auditing": ("AuditResult", "audit"),
    "estimation.association": ("correlation", "correlations", "cramers_v", "odds_ratio", "phi"),
    "estimation.crosstab": ("Crosstab", "crosstab"),
    "estimation.difference": ("Difference", "difference"),
    "estimation.means": ("Means", "means"),
    "regression": ("RegressionResult", "cauchit", "cloglog", "linear", "logit", "probit"),
}
_WHERE = {name: module for module, names in _WITHIN.items() for name in names}
_MODULES = {
    "client": "privatization.single",
    "files": "files",
    "hypotheses": "estimation.hypothesis_tests",
    "opendp": "opendp",
    "planning": "planning",
}


def __getattr__(name: str) -> Any:
    """What analysis needs, imported where it is first used; `rr.files` needs pyarrow, too."""
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"rrstats.{_MODULES[name]}")
    if name in _WHERE:
        found = getattr(importlib.import_module(f"rrstats.{_WHERE[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'rrstats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
