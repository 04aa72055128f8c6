"""rrstats: randomized response for sensitive categorical answers.

Privatize a column under local differential privacy, exactly and securely, and estimate the
true proportions from the reports with confidence intervals.

    import rrstats as rr

    released = df.rr.privatize("answer", ["never", "once", "often"], epsilon=1)
    est = released.rr.estimate("answer")       # prints a table; est.interval(0.95), est.plot()
    released.rr.crosstab("answer", "region")   # true answers by an ordinary or a private column
    released.rr.logit("answer ~ age")          # rr.regression has more
    rr.planning.recommend(["never", "once", "often"], epsilon=1)   # which mechanism

Arrays and Series: ``rr.privatize(answers, categories, prob)``, ``rr.estimate(reports, ...)``.
Files of any size: ``rr.files.privatize_file`` (needs pyarrow), or the command ``rrstats``.
``dir(rr)`` lists everything at hand, ``help(df.rr)`` the methods of a frame.
"""

from __future__ import annotations

import importlib
import os
import threading
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from rrstats.accessor import FrameAccessor, SeriesAccessor

_PLACES = {
    "KRR": "rrstats.mechanisms.krr:KRR",
    "MatrixDesign": "rrstats.mechanisms.matrix_design:MatrixDesign",
    "SampleDesign": "rrstats.estimation.report_columns.sample_design:SampleDesign",
    "Tally": "rrstats.estimation.tallies.tally:Tally",
    "__version__": "rrstats._version:__version__",
    "audit": "rrstats.auditing:audit",
    "check": "rrstats.privatization.frame:check",
    "client": "rrstats.privatization.single",
    "correlations": "rrstats.estimation.estimates.association:correlations",
    "crosstab": "rrstats.estimation.estimates.crosstab:crosstab",
    "datasets": "rrstats.datasets",
    "difference": "rrstats.estimation.hypothesis_tests.difference:difference",
    "errors": "rrstats.errors",
    "estimate": "rrstats.estimation.estimates.estimate:estimate",
    "estimators": "rrstats.estimators",
    "explain": "rrstats.privacy:explain",
    "files": "rrstats.files",
    "hypotheses": "rrstats.estimation.hypothesis_tests",
    "linear": "rrstats.regression.models:linear",
    "logit": "rrstats.regression.models:logit",
    "mechanisms": "rrstats.mechanisms",
    "means": "rrstats.estimation.estimates.means:means",
    "number": "rrstats.mechanisms.number_design:number",
    "planning": "rrstats.planning",
    "privacy": "rrstats.privacy",
    "privatize": "rrstats.privatization.frame:privatize",
    "quantiles": "rrstats.estimation.estimates.quantiles:quantiles",
    "regression": "rrstats.regression",
    "simulate": "rrstats.privatization.frame:simulate",
    "surveys": "rrstats.mechanisms.surveys",
    "tally": "rrstats.estimation.tallies.tally:tally",
}
"""The place of each public name, as module:name; `__init__.pyi` tells type checkers the same."""

__all__ = sorted(name for name in _PLACES if name[0] != "_")

_IMPORTING = threading.RLock()
"""Held while a name is imported and while a process forks: in a child an import would not end."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_IMPORTING.acquire,
        after_in_parent=_IMPORTING.release,
        after_in_child=_IMPORTING.release,
    )


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first used."""
    if name not in _PLACES:
        names = importlib.import_module("rrstats._names")
        raise AttributeError(names.missing_attribute("rrstats", name, __all__))
    module_name, _, inner_name = _PLACES[name].partition(":")
    with _IMPORTING:
        module = importlib.import_module(module_name)
    public_object = getattr(module, inner_name) if inner_name else module
    globals()[name] = public_object  # the next access finds it without this function
    return public_object


def __dir__() -> list[str]:
    return __all__


@pd.api.extensions.register_dataframe_accessor("rr")
def _frame_accessor(data: pd.DataFrame) -> FrameAccessor:
    """``df.rr``, for which `help(df.rr)` has the words."""
    with _IMPORTING:
        from rrstats.accessor import FrameAccessor  # at first use, so that the package starts light

    return FrameAccessor(data)


@pd.api.extensions.register_series_accessor("rr")
def _series_accessor(data: pd.Series[Any]) -> SeriesAccessor:
    """``s.rr``, for which `help(s.rr)` has the words."""
    with _IMPORTING:
        from rrstats.accessor import SeriesAccessor  # at first use, as above

    return SeriesAccessor(data)
