"""From linear predictors to the probabilities of the true answers, and two derivatives.

Two categories: P(event) = F(eta), with F the logistic distribution (logit), the normal (probit),
or the extreme value one (cloglog: 1 - exp(-exp(eta)), hazards in one period).  More categories:
P(j) in proportion to exp(eta_j), the first being the baseline with eta = 0 (multinomial logit).

Arrays have their small axes first: probabilities (k, rows), the jacobian (k, predictors, rows).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError


class Link(NamedTuple):
    """One distribution function: F with 1 - F, its density, the density's slope, its quantiles.

    Density and slope take eta and the (2, rows) probabilities 1 - F and F.
    """

    tails: Callable[[Floats], tuple[Floats, Floats]]
    density: Callable[[Floats, Floats], Floats]
    slope: Callable[[Floats, Floats], Floats]
    quantile: Callable[[Floats], Floats]


_MAX_LOG_HAZARD = 30.0
"""exp(-exp(30)) is 0 already."""


def _hazard(eta: Floats) -> Floats:
    """Cumulative hazard exp(eta), finite."""
    return np.exp(np.minimum(eta, _MAX_LOG_HAZARD))


def _normal_density(eta: Floats) -> Floats:
    """Density of the standard normal distribution."""
    return np.asarray(np.exp(-0.5 * eta * eta) / np.sqrt(2 * np.pi))


LINKS: dict[str, Link] = {
    "logit": Link(
        lambda eta: (scipy.special.expit(eta), scipy.special.expit(-eta)),
        lambda eta, probabilities: probabilities[0] * probabilities[1],
        lambda eta, probabilities: (
            probabilities[0] * probabilities[1] * (probabilities[0] - probabilities[1])
        ),
        lambda p: scipy.special.logit(p),
    ),
    "probit": Link(
        lambda eta: (scipy.special.ndtr(eta), scipy.special.ndtr(-eta)),
        lambda eta, probabilities: _normal_density(eta),
        lambda eta, probabilities: -eta * _normal_density(eta),
        lambda p: scipy.special.ndtri(p),
    ),
    "cloglog": Link(
        lambda eta: (-np.expm1(-_hazard(eta)), np.exp(-_hazard(eta))),
        lambda eta, probabilities: _hazard(eta) * probabilities[0],
        lambda eta, probabilities: _hazard(eta) * probabilities[0] * (1 - _hazard(eta)),
        lambda p: np.log(-np.log1p(-p)),
    ),
}


@dataclass(frozen=True)
class BinaryFamily:
    """Two categories, of which the second is the event; the link by name, so that it pickles."""

    name: str
    predictors: int = 1

    def probabilities(self, eta: Floats) -> Floats:
        """(1, rows) linear predictors to the (2, rows) probabilities."""
        event, other = LINKS[self.name].tails(eta[0])
        return np.stack([other, event])

    def slopes(self, eta: Floats, probabilities: Floats) -> Floats:
        """(2, 1, rows) derivatives: less the density, and the density."""
        density = np.asarray(LINKS[self.name].density(eta[0], probabilities))[None]
        return np.stack([-density, density])

    def curves(self, eta: Floats, probabilities: Floats, values: Floats) -> Floats:
        """(1, 1, rows) second derivatives of ``(values * probabilities).sum(axis=0)``."""
        slope = LINKS[self.name].slope(eta[0], probabilities)
        return np.asarray((slope * (values[1] - values[0]))[None, None])

    def eta(self, probabilities: Floats) -> Floats:
        """The quantile of the event's probability."""
        return np.asarray(LINKS[self.name].quantile(probabilities[1]))[None]


@dataclass(frozen=True)
class MultinomialFamily:
    """k categories, of which the first is the baseline."""

    k: int
    name: ClassVar[str] = "logit"

    @property
    def predictors(self) -> int:
        """One for each category but the first."""
        return self.k - 1

    def probabilities(self, eta: Floats) -> Floats:
        """(k - 1, rows) to the (k, rows) probabilities."""
        logits = np.concatenate([np.zeros((1, *eta.shape[1:])), eta])
        return np.asarray(scipy.special.softmax(logits, axis=0))

    def slopes(self, eta: Floats, probabilities: Floats) -> Floats:
        """(k, k - 1, rows) of the softmax."""
        slopes = -probabilities[:, None] * probabilities[None, 1:]
        places = np.arange(self.k - 1)
        slopes[places + 1, places] += probabilities[1:]
        return np.asarray(slopes)

    def curves(self, eta: Floats, probabilities: Floats, values: Floats) -> Floats:
        """(k - 1, k - 1, rows) second derivatives of a mixture of ``values``."""
        gradient = probabilities[1:] * (values[1:] - (probabilities * values).sum(axis=0))
        cross = -gradient[:, None] * probabilities[None, 1:]
        hessian = cross + cross.swapaxes(0, 1)
        places = np.arange(self.k - 1)
        hessian[places, places] += gradient
        return np.asarray(hessian)

    def eta(self, probabilities: Floats) -> Floats:
        """Logarithms of ratios to the baseline."""
        return np.asarray(np.log(probabilities[1:]) - np.log(probabilities[0]))


Family = BinaryFamily | MultinomialFamily


def check_two(k: int, name: str, alternative: str) -> None:
    """Raise for more than two categories.

    name : of the argument that is for two.  alternative : the one for more.
    """
    if k > 2:
        raise ArgumentValueError(f"{name} is for two categories, found {k}; use {alternative}")


def family_of(link: str, k: int) -> Family:
    """The family of k categories; raises for a link that is for two only."""
    if link != "logit":
        check_two(k, f"link={link!r}", "link='logit'")
    return MultinomialFamily(k) if k > 2 else BinaryFamily(link)
