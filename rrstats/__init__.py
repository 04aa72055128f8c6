"""rrstats: randomized response for sensitive categorical answers.

Privatize a column under local differential privacy, exactly and securely, and estimate the
true proportions from the reports with confidence intervals.

    import rrstats as rr

    reports = rr.privatize(answers, ["never", "once", "often"], 0.75)
    est = rr.estimate(reports, ["never", "once", "often"], 0.75)
    est.interval(0.95)

In pandas: ``df.rr.privatize("answer", ["never", "once", "often"], 0.75)``; see ``help(df.rr)``.
For files of any size: ``rr.files.privatize_file`` (needs pyarrow), or the command ``rrstats``.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from rrstats.accessor import FrameAccessor, SeriesAccessor

_PLACES = {
    "Crosstab": "rrstats.estimation.estimates.crosstab:Crosstab",
    "Estimate": "rrstats.estimation.estimates.estimate:Estimate",
    "FrameAccessor": "rrstats.accessor:FrameAccessor",
    "FramePlan": "rrstats.privatization.frame_plan:FramePlan",
    "KRR": "rrstats.mechanisms.krr:KRR",
    "Key": "rrstats.randomness.keyed:Key",
    "MatrixDesign": "rrstats.mechanisms.matrix_design:MatrixDesign",
    "Mechanism": "rrstats.mechanisms.base:Mechanism",
    "Rappor": "rrstats.mechanisms.unary:Rappor",
    "SampleDesign": "rrstats.estimation.report_columns.sample_design:SampleDesign",
    "Samples": "rrstats.mechanisms.samples:Samples",
    "SecureGenerator": "rrstats.randomness.sources:SecureGenerator",
    "SeriesAccessor": "rrstats.accessor:SeriesAccessor",
    "SubsetSelection": "rrstats.mechanisms.subset_selection:SubsetSelection",
    "Tally": "rrstats.estimation.tallies.tally:Tally",
    "UnaryEncoding": "rrstats.mechanisms.unary:UnaryEncoding",
    "__version__": "rrstats._version:__version__",
    "audit": "rrstats.auditing:audit",
    "check": "rrstats.privatization.frame:check",
    "client": "rrstats.privatization.single",
    "correlations": "rrstats.estimation.estimates.association:correlations",
    "crosstab": "rrstats.estimation.estimates.crosstab:crosstab",
    "datasets": "rrstats.datasets",
    "difference": "rrstats.estimation.hypothesis_tests.difference:difference",
    "epsilon_from_prob": "rrstats.mechanisms.epsilon:epsilon_from_prob",
    "errors": "rrstats.errors",
    "estimate": "rrstats.estimation.estimates.estimate:estimate",
    "estimators": "rrstats.estimators",
    "explain": "rrstats.privacy:explain",
    "files": "rrstats.files",
    "hypotheses": "rrstats.estimation.hypothesis_tests",
    "instantaneous": "rrstats.privatization.frame:instantaneous",
    "linear": "rrstats.regression.models:linear",
    "list_regression": "rrstats.regression.list_experiment:list_regression",
    "list_with_direct": "rrstats.regression.list_experiment:list_with_direct",
    "logit": "rrstats.regression.models:logit",
    "means": "rrstats.estimation.estimates.means:means",
    "metadata": "rrstats.metadata",
    "new_key": "rrstats.randomness.keyed:new_key",
    "pairwise": "rrstats.estimation.hypothesis_tests.pairwise:pairwise",
    "planning": "rrstats.planning",
    "posterior": "rrstats.estimation.estimates.posterior:posterior",
    "privacy": "rrstats.privacy",
    "privatize": "rrstats.privatization.frame:privatize",
    "prob_from_epsilon": "rrstats.mechanisms.epsilon:prob_from_epsilon",
    "quantiles": "rrstats.estimation.estimates.quantiles:quantiles",
    "simulate": "rrstats.privatization.frame:simulate",
    "surveys": "rrstats.mechanisms.surveys",
    "tally": "rrstats.estimation.tallies.tally:tally",
    "two_rounds": "rrstats.mechanisms.krr:two_rounds",
}
"""The place of each public name, as module:name; `__init__.pyi` tells type checkers the same."""

__all__ = sorted(name for name in _PLACES if name[0] != "_")


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first used; `rr.files` also needs pyarrow."""
    if name not in _PLACES:
        names = importlib.import_module("rrstats._names")
        raise AttributeError(names.missing_attribute("rrstats", name, __all__, _home(name)))
    module_name, _, inner_name = _PLACES[name].partition(":")
    module = importlib.import_module(module_name)
    public_object = getattr(module, inner_name) if inner_name else module
    globals()[name] = public_object  # the next access finds it without this function
    return public_object


def _home(name: str) -> str | None:
    """A name as it is written where one of the public modules has it, such as rr.surveys.warner."""
    modules = [module for module, place in _PLACES.items() if ":" not in place]
    for module in modules if name[0] != "_" else ():
        with suppress(ImportError):  # of an optional package
            if name in __getattr__(module).__all__:
                return f"rr.{module}.{name}"
    return None


def __dir__() -> list[str]:
    return __all__


@pd.api.extensions.register_dataframe_accessor("rr")
def _frame_accessor(data: pd.DataFrame) -> FrameAccessor:
    """``df.rr``, for which `help(df.rr)` has the words."""
    from rrstats.accessor import FrameAccessor  # at first use, so that the package starts light

    return FrameAccessor(data)


@pd.api.extensions.register_series_accessor("rr")
def _series_accessor(data: pd.Series[Any]) -> SeriesAccessor:
    """``s.rr``, for which `help(s.rr)` has the words."""
    from rrstats.accessor import SeriesAccessor  # at first use, as above

    return SeriesAccessor(data)
