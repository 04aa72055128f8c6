"""Test of a list experiment: the sensitive item leaves the other answers as they are.

Source: Blair and Imai (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from rrstats._display import Notes
from rrstats._names import checked_keywords
from rrstats._typing import Array, Floats, Indices
from rrstats.errors import ArgumentValueError
from rrstats.estimation.hypothesis_tests.counted_reports import as_estimate
from rrstats.estimation.hypothesis_tests.test_result import TestResult
from rrstats.estimation.tallies import arrays
from rrstats.inference.cone import MAX_EXACT, distance_to_orthant, orthant_p_value
from rrstats.mechanisms.survey_design import list_samples

_SAME_ANSWERS = "absence of a design effect"


@dataclass(frozen=True, repr=False)
class ListDesignTest(TestResult):
    """Result of `no_design_effect`.

    Attributes
    ----------
    table : DataFrame
        The joint types: category, count of control items, proportion and standard error.
    """

    table: pd.DataFrame | None = None

    def __repr__(self) -> str:
        written = "" if self.table is None else self.table.to_string(index=False)
        return f"{super().__repr__()}\n{written}"


@checked_keywords
def no_design_effect(
    reports: Any, mechanism: Any = None, *, group: Any = None, selection: bool = True
) -> ListDesignTest:
    """Test whether the sensitive item of a list leaves the other answers as they are.

    If it changes how many control items people count, some estimated proportions of joint types
    (category and number of control items) are below 0 by more than chance.  A result that is not
    significant does not show that there is no such effect.  This is not the design effect of
    survey sampling, which compares variances.

    Parameters
    ----------
    reports : Estimate, Tally or array-like
        An Estimate or a Tally of a list experiment; or counts, with ``mechanism`` and ``group``.
    mechanism, group : optional
        As for `rrstats.estimate`.
    selection : bool
        Whether proportions far above 0, by more than sqrt(log n) standard errors, are left out of
        the test (generalized moment selection), which gives power.

    Returns
    -------
    ListDesignTest
        The p-value is twice the smaller one of the two categories (Bonferroni); ``statistic`` and
        ``df`` (the number of proportions) are of that category.  ``table`` has all joint types.

    Raises
    ------
    ArgumentValueError
        It is no list experiment, a sample is missing or gave only one count, or it has weights.

    Notes
    -----
    The statistic of a category is the distance of its estimated proportions from those of at least
    0, by their covariance; its distribution is a mixture of chi-squared ones (`inference.cone`), or
    Student's t for one proportion.  R's list 9.2.6 selects by the spread of the proportions among
    themselves, instead of by their standard errors; so its p-values may differ.

    References
    ----------
    Blair and Imai (2012); Andrews and Soares (2010).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.list_experiment(3)
    >>> control = {0: 60, 1: 90, 2: 110, 3: 40}
    >>> treatment = {0: 100, 1: 60, 2: 80, 3: 40, 4: 20}
    >>> counts = rr.Tally.from_counts({"control": control, "treatment": treatment}, m)
    >>> test = no_design_effect(counts)
    >>> test.interpret(), test.table["proportion"].round(3).tolist()[4:]
    ('Absence of a design effect is rejected (p = 0.0009)', [-0.133, -0.033, 0.067, 0.067])

    A third of the treatment sample says that no item applies, but only a fifth of the control
    sample does: people hide more than the sensitive item.
    """
    estimate = as_estimate(reports, mechanism=mechanism, group=group)
    samples = list_samples(estimate.tally.mechanism)
    if estimate.moments.designed:
        raise ArgumentValueError(
            "no_design_effect compares counts, found a sample with weights, strata or clusters; "
            "leave them out"
        )
    cells = estimate.tally.reported.reshape(2, samples.items + 2)
    arrays.check_possible(estimate.moments.channel, estimate.tally.reported)
    types = _JointTypes.of(cells[samples.control], cells[samples.treatment])
    types_of_category = samples.items + 1
    table = pd.DataFrame(
        {
            "category": np.repeat(np.array(samples.categories, dtype=object), types_of_category),
            "control_items": np.tile(np.arange(types_of_category), 2),
            "proportion": types.proportions.ravel(),
            "std_error": types.errors.ravel(),
        }
    )
    limit = sqrt(log(estimate.n)) if selection else None
    outcomes = [types.dominance(code, types.selected(code, limit)) for code in (0, 1)]
    statistic, df, p_value = min(outcomes, key=lambda outcome: outcome[2])
    notes: Notes = ()
    if df > MAX_EXACT:
        notes = (f"the p-value is an upper bound, as {df} proportions are compared",)
    return ListDesignTest(
        null=_SAME_ANSWERS,
        statistic=statistic,
        df=df,
        p_value=min(1.0, 2 * p_value),
        method="joint types of a list experiment against 0, chi-bar-squared",
        n=estimate.n,
        notes=notes,
        table=table,
    )


class _JointTypes(NamedTuple):
    """Estimated proportions of the joint types of a list: of the category no, and of yes.

    proportions : (2, items + 1).
    covariances : (2, 2, items + 1, items + 1) their parts from the control and treatment sample.
    moments : for each category the places of the proportions that may be below 0.
    sizes : people of the control and treatment sample.
    """

    proportions: Floats
    covariances: Floats
    moments: tuple[Indices, Indices]
    sizes: tuple[int, int]

    @classmethod
    def of(cls, control: Array, treatment: Array) -> _JointTypes:
        """The types from the counts of each number of items, 0 to all."""
        for name, counts in (("control", control), ("treatment", treatment)):
            if np.count_nonzero(counts) < 2:
                raise ArgumentValueError(
                    f"the {name} sample must have at least two different counts, found "
                    f"{np.count_nonzero(counts)} among {counts.sum()} people: it has no variance"
                )
        sizes = int(control.sum()), int(treatment.sum())
        at_control, at_treatment = (
            np.cumsum(counts)[:-1] / counts.sum() for counts in (control, treatment)
        )
        before = np.append(0.0, at_control[:-1])  # F_control(y - 1)
        covariances = [
            [_covariance_of_steps(before, sizes[0]), _covariance_of_steps(at_treatment, sizes[1])],
            [
                _covariance_of_steps(at_control, sizes[0]),
                _covariance_of_steps(at_treatment, sizes[1]),
            ],
        ]
        places = np.arange(len(before))
        return cls(
            proportions=np.array([at_treatment - before, at_control - at_treatment]),
            covariances=np.array(covariances),
            moments=(places[1:], places[:-1]),
            sizes=sizes,
        )

    @property
    def errors(self) -> Floats:
        """(2, items + 1) standard errors."""
        variances = np.diagonal(self.covariances.sum(axis=1), axis1=1, axis2=2)
        return np.asarray(np.sqrt(variances))

    def selected(self, code: int, limit: float | None) -> Indices:
        """The moments of a category, of those at most so many standard errors above 0."""
        kept = self.moments[code]
        if limit is None:
            return kept
        is_close = self.proportions[code][kept] <= limit * self.errors[code][kept]
        return np.asarray(kept[is_close])

    def dominance(self, code: int, kept: Indices) -> tuple[float, int, float]:
        """Statistic, number of moments and p-value of a category, from some of its moments."""
        joint = self.covariances[code].sum(axis=0)
        kept = _independent(joint, kept)
        estimates = self.proportions[code][kept]
        covariance = joint[np.ix_(kept, kept)]
        if (estimates >= 0).all():
            return 0.0, len(kept), 1.0
        distance = distance_to_orthant(estimates, covariance)
        if len(kept) > 1:
            return distance, len(kept), orthant_p_value(distance, covariance)
        # One proportion is a difference of two: Welch's test.
        freedom = np.array(self.sizes) - 1.0
        parts = self.covariances[code][:, kept[0], kept[0]] * self.sizes / freedom
        df = parts.sum() ** 2 / (parts**2 / freedom).sum()
        z = float(estimates[0] / np.sqrt(parts.sum()))
        return z**2, 1, float(scipy.special.stdtr(df, z))


def _independent(covariance: Floats, places: Indices) -> Indices:
    """The places of estimates that do not follow from those before, as where nobody has a count."""
    kept: list[int] = []
    for place in places.tolist():
        extended = [*kept, place]
        if np.linalg.matrix_rank(covariance[np.ix_(extended, extended)]) == len(extended):
            kept = extended
    return np.array(kept, dtype=np.intp)


def _covariance_of_steps(distribution: Floats, n: int) -> Floats:
    """Covariance of an empirical distribution function at several points."""
    lower = np.minimum.outer(distribution, distribution)
    upper = np.maximum.outer(distribution, distribution)
    return np.asarray(lower * (1 - upper) / n)
