"""What a regression says of itself in words: titles, notes under the table, warnings with numbers.

A maximum at the boundary is said in one of two ways: all reports together are fewer than the design
alone makes (or more), or those of some covariates are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rrstats._typing import Floats
from rrstats.errors import ConvergenceWarning, warn
from rrstats.estimation.analysis_columns import Variable
from rrstats.regression.bases import by_source
from rrstats.regression.fitted import OutcomeResult
from rrstats.regression.fitting import Fit
from rrstats.regression.frames import Design
from rrstats.regression.outcomes import Outcome

__all__ = ["ConvergenceWarning", "names", "notes", "title", "warn_of"]


_EDGE = 0.01
"""By so much the likelihood must be higher at the edge to be worth a word."""


def title(link: str, reports: Outcome, seen: Variable) -> str:
    """What was fitted, in a line."""
    name = "the answer" if seen.name is None else repr(seen.name)
    if reports.k > 2:
        return f"Multinomial logit of {name}, against {reports.categories[0]!r}, from reports"
    return f"{link.capitalize()} regression of {name} being {reports.categories[1]!r}, from reports"


def names(reports: Outcome, design: Design) -> pd.Index[Any]:
    """Names of the parameters; of several categories pairs of category and covariate."""
    shares = [f"share of {reports.labels[place]!r}" for place in reports.free]
    if reports.k == 2:
        return pd.Index([*design.names, *shares], dtype=object)
    pairs = [(category, name) for category in reports.categories[1:] for name in design.names]
    pairs += [
        (reports.categories[reports.shows[place]], share)
        for place, share in zip(reports.free, shares, strict=True)
    ]
    return pd.MultiIndex.from_tuples(pairs, names=["category", "covariate"])


def notes(
    reports: Outcome,
    columns: Floats,
    found: Fit,
    endless: Floats,
    weighted: bool,
    clustered: bool,
) -> tuple[str, ...]:
    """What belongs under the table."""
    told = []
    level = columns.sum(axis=0)
    if float(level @ level) < (1 - 1e-9) * len(columns):
        told.append(
            "No intercept: the covariates have no column of ones, so that the model fixes the "
            "prevalence where all are 0 (intercept=True adds one)."
        )
    if reports.free:
        told.append(
            "A share of a class is that within its category, taken to be the same for everyone."
        )
    if weighted:
        told.append("With probability weights the log-likelihood is that of a pseudo-sample.")
    elif clustered:
        told.append(
            "The log-likelihood takes people for independent, which in clusters they are not."
        )
    if (endless != 0).any():
        bounds = "  conf_int(method='profile') bounds them on one side."
        told.append(
            f"{int((endless != 0).sum())} of {len(endless)} parameters have no finite maximum: "
            "the likelihood is largest at a prevalence of 0 or 1, and nothing is known of "
            f"parameters without a number.{bounds * (not weighted and not clustered)}"
        )
    if found.edge > _EDGE:
        told.append(
            "This is an interior maximum.  The likelihood is higher by "
            f"{found.edge:.1f} where prevalence is 0 or 1 alone: that fits the noise of few "
            "reports, and was farther from the truth in simulations.  Standard errors are those of "
            "this maximum by itself."
        )
    if not found.converged:
        told.append("NOT CONVERGED: these numbers are no estimates.")
    return tuple(told)


def warn_of(result: OutcomeResult, endless: Floats) -> None:
    """Say what is not to be seen in the numbers."""
    if not result.converged:
        size = float(np.abs(result.found.score).max())
        warn(
            f"no maximum of the likelihood was found in {result.iterations} steps (the gradient is "
            f"still {size:.3g}); these numbers are no estimates: leave covariates out, or look "
            "for groups with few reports",
            ConvergenceWarning,
        )
    if not (endless != 0).any():
        return
    problem = result.problem
    reports, n = problem.outcome, len(endless)
    shares, _ = reports.start(problem.weights, keep_inside=False)
    for place in np.flatnonzero((shares < 1e-4) | (shares > 1 - 1e-4)):
        if reports.k == 2 and place == 0:
            continue
        warn(
            f"all reports together are best explained by a share of {shares[place]:.0%} of "
            f"{reports.categories[place]!r}: the design alone makes as many such reports as were "
            f"found, or more{_floor(reports, problem.weights)}; so {int((endless != 0).sum())} of "
            f"{n} parameters have no estimate, and prevalence can be bounded but not explained; "
            "were these answers privatized, by this mechanism?",
            ConvergenceWarning,
        )
        return
    # Of several categories names are pairs; those of factors have a cell behind the name.
    told = by_source(
        dict.fromkeys(
            str(name[-1] if isinstance(name, tuple) else name)
            for name, one in zip(result.index, endless != 0, strict=True)
            if one
        )
    )
    warn(
        f"the likelihood keeps rising as the parameters {', '.join(told)} grow: for some "
        "covariates the reports are best explained by a prevalence of 0 or 1 (separation, or fewer "
        "reports of the event than the design alone makes); these are infinite or not known, and "
        "have no standard errors; merge levels, or leave the covariate out",
        ConvergenceWarning,
    )


def _floor(reports: Outcome, weights: Floats) -> str:
    """Reported shares beside what the design alone makes of them, for one sample of two reports."""
    if reports.cells is None or len(reports.table) != 2 or reports.free:
        return ""
    rate = reports.counts(weights)[1] / weights.sum()
    low, high = sorted(reports.table[1].tolist())
    return f" (reported {rate:.1%}, which the design keeps between {low:.1%} and {high:.1%})"
