"""From linear predictors to the probabilities of the true answers, and two derivatives.

Two categories: P(event) = F(eta), with F the logistic distribution (logit), the normal (probit),
the extreme value one (cloglog: 1 - exp(-exp(eta)), hazards in one period) or Cauchy's (cauchit: for
data with surprising outliers).  More categories: P(j) in proportion to exp(eta_j), the first being
the baseline with eta = 0 (multinomial logit).

Arrays have their small axes first: shares (k, rows), the jacobian (k, predictors, rows).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError


class Family(Protocol):
    """P(true answer | linear predictors)."""

    @property
    def predictors(self) -> int:
        """The number of linear predictors of a row."""
        ...

    def shares(self, eta: Floats) -> Floats:
        """(predictors, rows) to the (k, rows) probabilities."""
        ...

    def slopes(self, eta: Floats, shares: Floats) -> Floats:
        """(k, predictors, rows) their derivatives."""
        ...

    def bends(self, eta: Floats, shares: Floats, values: Floats) -> Floats:
        """(predictors, predictors, rows) second derivatives of ``(values * shares).sum(axis=0)``.

        values : (k, rows).
        """
        ...

    def eta(self, shares: Floats) -> Floats:
        """(k, ...) probabilities to the (predictors, ...) that give them."""
        ...


@dataclass(frozen=True)
class Link:
    """One distribution function: F with 1 - F, its density, the density's slope, its quantiles.

    Density and slope are told what F and 1 - F are: (2, rows), 1 - F first.
    """

    name: str
    tails: Callable[[Floats], tuple[Floats, Floats]]
    density: Callable[[Floats, Floats], Floats]
    slope: Callable[[Floats, Floats], Floats]
    quantile: Callable[[Floats, Floats], Floats]


def _logistic_density(eta: Floats, shares: Floats) -> Floats:
    return np.asarray(shares[0] * shares[1])


def _normal_density(eta: Floats, shares: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * eta * eta) / np.sqrt(2 * np.pi))


def _hazard(eta: Floats) -> Floats:
    return np.exp(np.minimum(eta, 30.0))  # exp(-exp(30)) is 0 already


def _hazard_density(eta: Floats, shares: Floats) -> Floats:
    hazard = _hazard(eta)
    return np.asarray(hazard * np.exp(-hazard))


def _cauchy_density(eta: Floats, shares: Floats) -> Floats:
    return np.asarray(1 / (np.pi * (1 + eta * eta)))


def _logistic_tails(eta: Floats) -> tuple[Floats, Floats]:
    return scipy.special.expit(eta), scipy.special.expit(-eta)


def _logistic_slope(eta: Floats, shares: Floats) -> Floats:
    return np.asarray(shares[0] * shares[1] * (shares[0] - shares[1]))


def _logistic_quantile(p: Floats, q: Floats) -> Floats:
    return np.asarray(np.log(p) - np.log(q))


def _normal_tails(eta: Floats) -> tuple[Floats, Floats]:
    return scipy.special.ndtr(eta), scipy.special.ndtr(-eta)


def _normal_slope(eta: Floats, shares: Floats) -> Floats:
    return np.asarray(-eta * _normal_density(eta, shares))


def _normal_quantile(p: Floats, q: Floats) -> Floats:
    return np.asarray(np.where(p < q, scipy.special.ndtri(p), -scipy.special.ndtri(q)))


def _hazard_tails(eta: Floats) -> tuple[Floats, Floats]:
    return -np.expm1(-_hazard(eta)), np.exp(-_hazard(eta))


def _hazard_slope(eta: Floats, shares: Floats) -> Floats:
    return np.asarray(_hazard_density(eta, shares) * (1 - _hazard(eta)))


def _hazard_quantile(p: Floats, q: Floats) -> Floats:
    return np.asarray(np.log(np.where(p < q, -np.log1p(-p), -np.log(q))))


def _cauchy_tails(eta: Floats) -> tuple[Floats, Floats]:
    return np.arctan2(1, -eta) / np.pi, np.arctan2(1, eta) / np.pi


def _cauchy_slope(eta: Floats, shares: Floats) -> Floats:
    return np.asarray(-2 * np.pi * eta * _cauchy_density(eta, shares) ** 2)


def _cauchy_quantile(p: Floats, q: Floats) -> Floats:
    return np.where(p < q, -1 / np.tan(np.pi * p), 1 / np.tan(np.pi * q))


# Named functions: a result that holds a link can be pickled.
LINKS: dict[str, Link] = {
    link.name: link
    for link in (
        Link("logit", _logistic_tails, _logistic_density, _logistic_slope, _logistic_quantile),
        Link("probit", _normal_tails, _normal_density, _normal_slope, _normal_quantile),
        Link("cloglog", _hazard_tails, _hazard_density, _hazard_slope, _hazard_quantile),
        Link("cauchit", _cauchy_tails, _cauchy_density, _cauchy_slope, _cauchy_quantile),
    )
}


@dataclass(frozen=True)
class BinaryFamily:
    """Two categories, of which the second is the event."""

    link: Link
    predictors: int = 1

    def shares(self, eta: Floats) -> Floats:
        """(1, rows) to the (2, rows) probabilities."""
        event, other = self.link.tails(eta[0])
        return np.stack([other, event])

    def slopes(self, eta: Floats, shares: Floats) -> Floats:
        """(2, 1, rows) less the density, and the density."""
        density = self.link.density(eta[0], shares)[None]
        return np.stack([-density, density])

    def bends(self, eta: Floats, shares: Floats, values: Floats) -> Floats:
        """(1, 1, rows) second derivatives of a mixture of ``values``."""
        return np.asarray((self.link.slope(eta[0], shares) * (values[1] - values[0]))[None, None])

    def eta(self, shares: Floats) -> Floats:
        """The quantile of the event's probability."""
        return np.asarray(self.link.quantile(shares[1], shares[0]))[None]


@dataclass(frozen=True)
class MultinomialFamily:
    """k categories, of which the first is the baseline."""

    k: int

    @property
    def predictors(self) -> int:
        """One for each category but the first."""
        return self.k - 1

    def shares(self, eta: Floats) -> Floats:
        """(k - 1, rows) to the (k, rows) probabilities."""
        whole = np.concatenate([np.zeros((1, *eta.shape[1:])), eta])
        whole = np.exp(whole - whole.max(axis=0))
        return np.asarray(whole / whole.sum(axis=0))

    def slopes(self, eta: Floats, shares: Floats) -> Floats:
        """(k, k - 1, rows) of the softmax."""
        found = -shares[:, None] * shares[None, 1:]
        places = np.arange(self.k - 1)
        found[places + 1, places] += shares[1:]
        return np.asarray(found)

    def bends(self, eta: Floats, shares: Floats, values: Floats) -> Floats:
        """(k - 1, k - 1, rows) second derivatives of a mixture of ``values``."""
        mean = (shares * values).sum(axis=0)
        above = shares[1:] * (values[1:] - mean)
        found = -above[:, None] * shares[None, 1:]
        found = found + found.swapaxes(0, 1)
        places = np.arange(self.k - 1)
        found[places, places] += above
        return np.asarray(found)

    def eta(self, shares: Floats) -> Floats:
        """Logarithms of ratios to the baseline."""
        return np.asarray(np.log(shares[1:]) - np.log(shares[0]))


def family_of(link: str, k: int) -> Family:
    """The family of k categories; raises for links that do not exist, or not for so many."""
    if link not in LINKS:
        raise ArgumentValueError(f"link must be one of {list(LINKS)}, got {link!r}")
    if k == 2:
        return BinaryFamily(LINKS[link])
    if link != "logit":
        raise ArgumentValueError(
            f"{link} is for two categories, and this outcome has {k}; use logit, or read the "
            "outcome for two categories"
        )
    return MultinomialFamily(k)
