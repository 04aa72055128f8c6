"""The public names of the catalogue, and of its battery, recorded, golden and source tests.

What is renamed for users is renamed here, and nowhere else in these tests:

    names                imported below, or lazily, under the name that the tests use
    ask(result, name)    an attribute, or a method, of a result or a channel
    table(result)        a frame whose columns have the names that were recorded
    design(...) etc.     keyword arguments of functions that have them

>>> ask(KRR(["no", "yes"], 0.75), "k")
2
"""

# ruff: noqa: F401  # names for the tests
from __future__ import annotations

import math
from typing import Any

import pandas as pd

import rrstats
from rrstats import (
    KRR,
    Key,
    MatrixDesign,
    Mechanism,
    Rappor,
    SampleDesign,
    Samples,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    check,
    cli,
    correlations,
    crosstab,
    datasets,
    difference,
    epsilon_from_prob,
    estimate,
    estimators,
    explain,
    linear,
    logit,
    means,
    mechanisms,
    metadata,
    opendp,
    planning,
    posterior,
    privacy,
    privatize,
    prob_from_epsilon,
    simulate,
    surveys,
    tally,
    two_rounds,
)
from rrstats import privatize as privatize_columns
from rrstats import simulate as simulate_columns
from rrstats.errors import (
    ImplausibleReportsWarning,
    LowPrecisionWarning,
    NotIdentifiableError,
    RRStatsError,
)
from rrstats.estimation import hypothesis_tests as hypotheses
from rrstats.estimation.arrays import most_likely
from rrstats.estimators import debias_counts, debias_proportions, debias_reports
from rrstats.inference.contrasts import project_to_simplex
from rrstats.mechanisms import Chain, SurveyDesign, from_dict, serialization
from rrstats.mechanisms.channel import expected_rates as rates
from rrstats.mechanisms.channel import recode_matrix as recode
from rrstats.mechanisms.channel import report_variance as variance
from rrstats.mechanisms.epsilon import total_epsilon
from rrstats.mechanisms.matrix_channel import chained
from rrstats.planning.power import fit_distance
from rrstats.privatization import single as client

ATTRIBUTES: dict[str, str] = {
    "degrees_of_freedom": "df",
    "log_likelihood": "llf",
    "log_likelihood_null": "llnull",
    "pvalue": "p_value",
    "totals": "counts",
    "total_std_error": "count_std_error",
    "total_interval": "count_interval",
}
"""Names of attributes in these tests, to the names that they have now."""

COLUMNS: dict[str, str] = {}
"""Names of columns that they have now, to the names that were recorded."""


COLUMNS_OF: dict[str, dict[str, str]] = {"Means": {"proportion": "share"}}
"""The same for the frames of one type of results."""


def ask(result: Any, name: str) -> Any:
    """An attribute or a method by the name that these tests have for it."""
    now = ATTRIBUTES.get(name, name)
    return getattr(result, now if hasattr(result, now) else name)


def table(result: Any, *args: Any, **options: Any) -> pd.DataFrame:
    """The frame of a result, or a frame, with its columns under the names that were recorded."""
    found = result if isinstance(result, pd.DataFrame) else result.to_frame(*args, **options)
    return found.rename(columns={**COLUMNS, **COLUMNS_OF.get(type(result).__name__, {})})


def design(**columns: Any) -> dict[str, Any]:
    """The sampling design of a survey: weights, strata, clusters, probabilities, population."""
    return {"design": SampleDesign(**columns)} if columns else {}


def method(name: str | None) -> str | None:
    """A method of intervals, of which one was recorded by a shorter name."""
    return "likelihood-ratio" if name == "lr" else name


def alpha(level: float) -> dict[str, float]:
    """The significance of a test that is planned."""
    return {"alpha": level}


def question(name: str) -> dict[str, str]:
    """What was asked, of keyed reports."""
    return {"question": name}


def covariates(mechanisms: Any) -> dict[str, Any]:
    """The covariates of a regression that hold reports, and their mechanisms."""
    return {"covariates": mechanisms}


def mechanism_types() -> set[type]:
    """The classes of mechanisms."""
    classes = (getattr(mechanisms, name) for name in mechanisms.__all__ if name[0].isupper())
    return {c for c in classes if hasattr(c, "randomize") and c is not Mechanism}


def document_types() -> set[str]:
    """The types of mechanisms that a document may name."""
    return set(serialization._TYPES)


def command_line(arguments: list[str]) -> Any:
    """The exit code of a command line."""
    try:
        return cli.main(arguments)
    except SystemExit as stop:
        return stop.code


def __getattr__(name: str) -> Any:
    """`files`, which needs pyarrow."""
    if name == "files":
        return rrstats.files
    raise AttributeError(name)
