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
from typing import NamedTuple

import numpy as np
import scipy

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError


class Link(NamedTuple):
    """One distribution function: F with 1 - F, its density, the density's slope, its quantiles.

    Density and slope are told what F and 1 - F are: (2, rows), 1 - F first.
    """

    tails: Callable[[Floats], tuple[Floats, Floats]]
    density: Callable[[Floats, Floats], Floats]
    slope: Callable[[Floats, Floats], Floats]
    quantile: Callable[[Floats], Floats]


def _hazard(eta: Floats) -> Floats:
    return np.exp(np.minimum(eta, 30.0))  # exp(-exp(30)) is 0 already


def _normal(eta: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * eta * eta) / np.sqrt(2 * np.pi))


LINKS: dict[str, Link] = {
    "logit": Link(
        lambda eta: (scipy.special.expit(eta), scipy.special.expit(-eta)),
        lambda eta, shares: shares[0] * shares[1],
        lambda eta, shares: shares[0] * shares[1] * (shares[0] - shares[1]),
        lambda p: scipy.special.logit(p),
    ),
    "probit": Link(
        lambda eta: (scipy.special.ndtr(eta), scipy.special.ndtr(-eta)),
        lambda eta, shares: _normal(eta),
        lambda eta, shares: -eta * _normal(eta),
        lambda p: scipy.special.ndtri(p),
    ),
    "cloglog": Link(
        lambda eta: (-np.expm1(-_hazard(eta)), np.exp(-_hazard(eta))),
        lambda eta, shares: _hazard(eta) * shares[0],
        lambda eta, shares: _hazard(eta) * shares[0] * (1 - _hazard(eta)),
        lambda p: np.log(-np.log1p(-p)),
    ),
    "cauchit": Link(
        lambda eta: (np.arctan2(1, -eta) / np.pi, np.arctan2(1, eta) / np.pi),
        lambda eta, shares: 1 / (np.pi * (1 + eta * eta)),
        lambda eta, shares: -2 * eta / (np.pi * (1 + eta * eta) ** 2),
        lambda p: np.tan(np.pi * (p - 0.5)),
    ),
}


@dataclass(frozen=True)
class BinaryFamily:
    """Two categories, of which the second is the event; the link by name, so that it pickles."""

    name: str
    predictors: int = 1

    def shares(self, eta: Floats) -> Floats:
        """(1, rows) linear predictors to the (2, rows) probabilities."""
        event, other = LINKS[self.name].tails(eta[0])
        return np.stack([other, event])

    def slopes(self, eta: Floats, shares: Floats) -> Floats:
        """(2, 1, rows) derivatives: less the density, and the density."""
        density = np.asarray(LINKS[self.name].density(eta[0], shares))[None]
        return np.stack([-density, density])

    def bends(self, eta: Floats, shares: Floats, values: Floats) -> Floats:
        """(1, 1, rows) second derivatives of ``(values * shares).sum(axis=0)``."""
        return np.asarray(
            (LINKS[self.name].slope(eta[0], shares) * (values[1] - values[0]))[None, None]
        )

    def eta(self, shares: Floats) -> Floats:
        """The quantile of the event's probability."""
        return np.asarray(LINKS[self.name].quantile(shares[1]))[None]


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
        return np.asarray(scipy.special.softmax(whole, axis=0))

    def slopes(self, eta: Floats, shares: Floats) -> Floats:
        """(k, k - 1, rows) of the softmax."""
        found = -shares[:, None] * shares[None, 1:]
        places = np.arange(self.k - 1)
        found[places + 1, places] += shares[1:]
        return np.asarray(found)

    def bends(self, eta: Floats, shares: Floats, values: Floats) -> Floats:
        """(k - 1, k - 1, rows) second derivatives of a mixture of ``values``."""
        above = shares[1:] * (values[1:] - (shares * values).sum(axis=0))
        found = -above[:, None] * shares[None, 1:]
        found = found + found.swapaxes(0, 1)
        places = np.arange(self.k - 1)
        found[places, places] += above
        return np.asarray(found)

    def eta(self, shares: Floats) -> Floats:
        """Logarithms of ratios to the baseline."""
        return np.asarray(np.log(shares[1:]) - np.log(shares[0]))


Family = BinaryFamily | MultinomialFamily


def check_two(k: int, what: str, other: str) -> None:
    """Raise for what is for two categories only, and name what is for more."""
    if k > 2:
        raise ArgumentValueError(f"{what} is for two categories, found {k}; use {other}")


def family_of(link: str, k: int) -> Family:
    """The family of k categories; raises for links that are not for so many."""
    if link != "logit":
        check_two(k, link, "logit")
    return MultinomialFamily(k) if k > 2 else BinaryFamily(link)
