"""Ordered categories that were seen through a channel: proportional odds.

The probability of a category up to j is Lambda(c_j - eta), with increasing thresholds c and one
linear predictor eta (McCullagh 1980).  The intercept of eta stands for the first threshold, so
c_1 = 0 and the others are distances from it, sums of exp(psi).  With A_j the probability of a
report where the truth is j, the probability of the report is

    f = A_k + sum_j (A_j - A_{j+1}) Lambda(c_j - eta).

Source: McCullagh (1980); van den Hout and van der Heijden (2002) for reports.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import scipy

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.regression.outcomes import ReportedOutcome, Terms

_MIN_DISTANCE = 0.05
"""Distance of two thresholds at which a search starts at least."""


@dataclass(frozen=True, eq=False)
class OrderedOutcome(ReportedOutcome):
    """Reports of ordered categories; ancillary parameters are log-distances of thresholds."""

    @property
    def predictors(self) -> int:
        """One for all categories."""
        return 1

    @property
    def ancillary(self) -> int:
        """One for each threshold but the first."""
        return self.k - 2

    @property
    def own_names(self) -> list[tuple[Hashable, Hashable]]:
        """The categories below and above each threshold but the first."""
        return list(zip(self.categories[1:-1], self.categories[2:], strict=True))

    def class_proportions(self, psi: Floats) -> Floats:
        """(k,) ones: each category has one class, whatever the thresholds are."""
        return np.ones(self.k)

    def natural(self, psi: Floats) -> tuple[Floats, Floats]:
        """Distances of the thresholds from the first, and their derivatives by psi."""
        steps = np.exp(psi)
        return np.cumsum(steps), np.tril(np.broadcast_to(steps, (len(psi), len(psi))))

    def _thresholds(self, psi: Floats) -> tuple[Floats, Floats]:
        """(k - 1,) thresholds without the intercept, and their (k - 1, ancillary) derivatives."""
        distances, slopes = self.natural(psi)
        return np.append(0.0, distances), np.vstack([np.zeros((1, len(psi))), slopes])

    def _below(self, eta: Floats, psi: Floats) -> Floats:
        """(k - 1, ...) probabilities of all categories up to each threshold."""
        thresholds, _ = self._thresholds(psi)
        return np.asarray(scipy.special.expit(thresholds.reshape(-1, *[1] * eta[0].ndim) - eta))

    def terms(self, rows: slice, eta: Floats, psi: Floats) -> Terms:
        """The logarithm of the probability of the reports, and derivatives of the probability."""
        evidence, _ = self.evidence(rows, psi)
        below = self._below(eta, psi)
        differences = (evidence[:-1] - evidence[1:])[:, None]
        density = evidence[-1] + (differences * below).sum(axis=0)
        inverse = np.divide(1.0, density, out=np.zeros_like(density), where=density > 0)
        by_threshold = differences * below * (1 - below) * inverse
        curve_of_threshold = by_threshold * (1 - 2 * below)
        _, jacobian = self._thresholds(psi)
        by_psi = np.einsum("ji,jcn->icn", jacobian, by_threshold)
        slopes = np.concatenate([-by_threshold.sum(axis=0)[None], by_psi])
        curves = np.empty((1 + self.ancillary, 1 + self.ancillary, *density.shape))
        curves[0, 0] = curve_of_threshold.sum(axis=0)
        mixed = -np.einsum("ji,jcn->icn", jacobian, curve_of_threshold)
        curves[0, 1:] = mixed
        curves[1:, 0] = mixed
        curves[1:, 1:] = np.einsum("ji,jl,jcn->ilcn", jacobian, jacobian, curve_of_threshold)
        each = np.arange(1, 1 + self.ancillary)
        curves[each, each] += by_psi  # the second derivative of exp(psi)
        with np.errstate(divide="ignore"):
            return Terms(np.log(density), slopes, curves)

    def means(self, eta: Floats, psi: Floats) -> tuple[Floats, Floats, Floats]:
        """(k, ...) probabilities and their slopes by eta and by psi."""
        below = self._below(eta, psi)
        density = below * (1 - below)
        _, jacobian = self._thresholds(psi)
        zero = np.zeros((1, *eta[0].shape))
        edges = np.concatenate([zero, below, zero + 1])
        slopes = np.concatenate([zero, density, zero])
        by_psi = np.einsum("ji,j...->ji...", jacobian, density)
        padded = np.concatenate([np.zeros((1, *by_psi.shape[1:]))] * 2)
        padded = np.concatenate([padded[:1], by_psi, padded[1:]])
        return np.diff(edges, axis=0), -np.diff(slopes, axis=0)[:, None], np.diff(padded, axis=0)

    def start(self, weights: Floats) -> tuple[Floats, Floats]:
        """Starting parameters: one set of probabilities for everyone, moved away from 0 and 1."""
        proportions = self.start_proportions(weights)[0]
        thresholds = scipy.special.logit(np.cumsum(proportions)[:-1])
        distances = np.maximum(np.diff(thresholds), _MIN_DISTANCE)
        return -thresholds[:1, None], np.log(distances)


def ordered_outcome(outcome: ReportedOutcome) -> OrderedOutcome:
    """The outcome of these reports with categories that are ordered as declared."""
    if outcome.k < 3:
        raise ArgumentValueError(
            f"ordered categories must be three or more, found {outcome.k}; use rr.logit"
        )
    if outcome.free.size:
        raise ArgumentValueError(
            "ordered categories must have no latent classes, found a design with more classes "
            "than categories; use rr.logit"
        )
    fields = {name: getattr(outcome, name) for name in outcome.__dataclass_fields__}
    return OrderedOutcome(**fields)
