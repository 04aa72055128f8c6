"""Counts of items of a list experiment, as an outcome of people with and without one item.

People of the control sample report how many of J items apply to them, those of the treatment sample
that number plus 1 if the sensitive item does.  They are two latent classes, no and yes, whose
control items are binomial with J and expit(x c); c is the same for both, or each has its own.
Source: Imai (2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from rrstats._typing import Booleans, Floats, Labels
from rrstats.regression.likelihood import Likelihood, start_of
from rrstats.regression.links import Family
from rrstats.regression.outcomes import Terms

_CLASSES = np.arange(2)
"""No and yes: how many sensitive items apply."""


@dataclass(frozen=True)
class _StartConstants:
    """Constants of the points from which a search starts.

    logits : of the sensitive item, besides that of the difference in means: mixtures of counts have
        several maxima, and most are reached from one of these.
    shifts : of the logits of control items, from people without to people with the sensitive item.
    min_proportion : a start is so far from proportions of 0 and 1, where the likelihood is flat.
    """

    logits: tuple[float, ...] = (-2.0, 0.0, 2.0)
    shifts: tuple[float, ...] = (0.0, -1.0, 1.0)
    min_proportion: float = 0.02

    def logit(self, proportion: float) -> float:
        """The logit of a proportion that is moved away from 0 and 1."""
        inside = np.clip(proportion, self.min_proportion, 1 - self.min_proportion)
        return float(scipy.special.logit(inside))


_STARTS = _StartConstants()


@dataclass(frozen=True, eq=False)
class CountOutcome:
    """Numbers of items that apply, of people without and with the sensitive item.

    items : control items.
    counts : (rows,) reported numbers of items.  treated : (rows,) whose list had the sensitive one.
    predictors : 1, or 2 if the control items depend on the sensitive one.
    """

    items: int
    counts: Floats
    treated: Booleans
    predictors: int = 1
    ancillary: ClassVar[int] = 0
    categories: ClassVar[Labels] = ()
    family: ClassVar[Family | None] = None
    has_cells: ClassVar[bool] = False

    @property
    def observed(self) -> tuple[Any, ...]:
        """The number of items, the counts and the samples."""
        return self.items, self.counts, self.treated

    def terms(self, rows: slice, eta: Floats, psi: Floats) -> Terms:
        """Binomial probability of the control items that a class leaves of the count."""
        controls = self.counts[rows] - self.treated[rows] * _CLASSES[:, None]
        places = _CLASSES * (self.predictors - 1)
        predictor = eta[places, _CLASSES]
        is_possible = (controls >= 0) & (controls <= self.items)
        ways = np.where(is_possible, scipy.special.binom(self.items, controls), 0.0)
        with np.errstate(divide="ignore"):
            log = np.log(ways) + scipy.special.log_expit(-predictor) * self.items
        proportion = scipy.special.expit(predictor)
        slope = controls - self.items * proportion
        slopes = np.zeros((self.predictors, *controls.shape))
        slopes[places, _CLASSES] = slope
        curves = np.zeros((self.predictors, *slopes.shape))
        curves[places, places, _CLASSES] = slope**2 - self.items * proportion * (1 - proportion)
        return Terms(log + controls * predictor, slopes, curves)

    def difference(self, weights: Floats) -> float:
        """The difference in means."""
        treated, control = (
            np.average(self.counts[sample], weights=weights[sample])
            for sample in (self.treated, ~self.treated)
        )
        return float(treated - control)

    def start(self, weights: Floats) -> tuple[Floats, Floats]:
        """Starting parameters: one proportion of control items for everyone."""
        sensitive = np.clip(
            self.difference(weights), _STARTS.min_proportion, 1 - _STARTS.min_proportion
        )
        mean = float(np.average(self.counts, weights=weights)) - sensitive
        level = _STARTS.logit(mean / self.items)
        return np.full((self.predictors, 1), level), np.empty(0)

    def natural(self, psi: Floats) -> tuple[Floats, Floats]:
        """There are no ancillary parameters."""
        return psi, np.empty((0, 0))


def count_starts(outcome: CountOutcome, model: Likelihood) -> list[Floats]:
    """Starts at several proportions of the sensitive item, and of control items by class.

    model : of the outcome, in columns of mean square 1.
    """
    sensitive = _STARTS.logit(outcome.difference(model.weights))
    shifts = _STARTS.shifts if outcome.predictors == 2 else (0.0,)
    level = model.same.mean(axis=0)
    start = start_of(model)
    starts = []
    for logit in (sensitive, *_STARTS.logits):
        for shift in shifts:
            moved = start.copy()
            moved[model.head - model.columns : model.head] += shift * level
            moved[model.head :] = logit * level
            starts.append(moved)
    return starts
