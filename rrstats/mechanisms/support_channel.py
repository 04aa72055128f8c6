"""Channels whose reports support categories and treat all categories alike.

Four probabilities and one ratio describe a `SupportChannel` (unary encoding, subset selection),
and every operation takes O(k).  In a `KRRChannel` (k-ary randomized response) each report supports
one category.
Source: Wang, Blocki, Li and Jha (2017), eq. 1-3 (pure protocols).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rrstats._typing import Floats
from rrstats.errors import NotIdentifiableError
from rrstats.mechanisms.channel import (
    BinomialRates,
    Channel,
    MultinomialChannel,
    check_target,
    expected_rates,
)
from rrstats.mechanisms.matrix_channel import Entries, ProductChannel

_NO_INFORMATION = Fraction(1, 2**51)


@dataclass(frozen=True)
class SupportChannel:
    """A channel whose reports support categories, with the same probabilities for all k.

    k : number of categories.
    prob_truth : P(v is supported | truth v).
    prob_other : P(v is supported | another truth).
    pair_truth : P(v and w are supported | truth is v or w).
    pair_other : P(v and w are supported | truth is neither).
    likelihood_ratio : P(report | a supported truth) / P(report | an unsupported truth).

    Reports are (n, k) booleans, or codes 0 .. k-1 if each supports one category.
    """

    k: int
    prob_truth: Fraction
    prob_other: Fraction
    pair_truth: Fraction
    pair_other: Fraction
    likelihood_ratio: Fraction | float
    is_multinomial = False

    @property
    def class_of(self) -> range:
        """The classes are the categories."""
        return range(self.k)

    @property
    def m(self) -> int:
        """The number of cells that a tally counts: the supported categories."""
        return self.k

    @cached_property
    def samples(self) -> NDArray[np.intp]:
        """(k,) zeros: all cells belong to one sample."""
        return np.zeros(self.k, dtype=np.intp)

    @property
    def max_likelihood_ratio(self) -> Fraction | float:
        """The larger of the likelihood ratio and its inverse."""
        ratio = self.likelihood_ratio
        return max(ratio, 1 / ratio) if ratio else math.inf

    @property
    def binomial_rates(self) -> BinomialRates:
        """The rates of support, binomial for each category: q at a proportion of 0, p at 1."""
        low, high = np.full(self.k, float(self.prob_other)), np.full(self.k, float(self.prob_truth))
        return BinomialRates(low, high, self.k == 2 and self.is_multinomial)

    @property
    def support_sizes(self) -> tuple[int, int]:
        """The least and the greatest number of categories that one report may support.

        Both are equal if the pair probabilities give the number no variance; otherwise 0 and k.
        """
        k = self.k
        mean = self.prob_truth + (k - 1) * self.prob_other
        pairs = 2 * (k - 1) * self.pair_truth + (k - 1) * (k - 2) * self.pair_other
        if mean + pairs == mean**2:
            return int(mean), int(mean)
        return 0, k

    @cached_property
    def gap(self) -> float:
        """P(supported | truth) - P(supported | other), the divisor of every estimate."""
        gap = self.prob_truth - self.prob_other
        if abs(gap) <= max(self.prob_truth, Fraction(1, 2)) * _NO_INFORMATION:
            raise NotIdentifiableError(
                f"reports carry no information: for {self.k} categories the true answer is "
                "reported as often as any other; choose a larger prob or epsilon"
            )
        return float(gap)

    def support_counts(self, counts: ArrayLike) -> Floats:
        """(..., k) the counts themselves."""
        return np.asarray(counts, dtype=np.float64)

    def solve(self, rates: ArrayLike) -> Floats:
        """(..., k) rates of support to (..., k) unbiased proportions."""
        return (np.asarray(rates, dtype=np.float64) - float(self.prob_other)) / self.gap

    def covariance(self, proportions: ArrayLike, target: str) -> Floats:
        """(..., k, k) covariance of one debiased report at these true proportions."""
        theta = np.asarray(proportions, dtype=np.float64)
        either = theta[..., :, None] + theta[..., None, :]
        rest = 1 - either  # estimated proportions need not sum to 1, true proportions do
        both = float(self.pair_truth) * either + float(self.pair_other) * rest
        if check_target(target) == "population":
            rates = expected_rates(self, theta)
            moments = both - rates[..., :, None] * rates[..., None, :]
        else:
            p, q = float(self.prob_truth), float(self.prob_other)
            moments = both - p * q * either - q * q * rest
        found = np.asarray(moments / self.gap**2, dtype=np.float64)
        diagonal = np.arange(self.k)
        found[..., diagonal, diagonal] = self.variance(theta, target)
        return found

    def variance(self, proportions: ArrayLike, target: str) -> Floats:
        """The variance of one debiased report, for each of some true proportions."""
        theta, p, q = np.asarray(proportions), float(self.prob_truth), float(self.prob_other)
        if check_target(target) == "rows":
            return np.asarray((theta * p * (1 - p) + (1 - theta) * q * (1 - q)) / self.gap**2)
        # Rounding must not make a rate leave [0, 1], nor its variance negative.
        rates = np.clip(q + theta * self.gap, 0.0, 1.0)
        return np.asarray(rates * (1 - rates) / self.gap**2)

    def scores(self, reports: NDArray[Any]) -> Floats:
        """(n, k) unbiased values: (supported - q) / (p - q); eq. 2 of Wang et al."""
        return self.solve(self._supported(reports))

    def likelihood(self, reports: NDArray[Any]) -> Floats:
        """(n, k) P(report | truth), up to a factor for each report."""
        supported = self._supported(reports)
        likelier = supported if self.likelihood_ratio > 1 else ~supported
        found = np.where(likelier, 1.0, float(1 / self.max_likelihood_ratio))
        found[~likelier.any(axis=1)] = 1.0  # all are equal; avoids a tiny common factor
        return found

    def _supported(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim == 2:
            return np.asarray(reports, dtype=bool)
        return np.asarray(reports[:, None] == np.arange(self.k))


@dataclass(frozen=True)
class KRRChannel(SupportChannel):
    """The channel of k-RR: a report supports one category, the true one with ``prob_truth``.

    >>> KRRChannel.of(3, Fraction(3, 4)).matrix.round(3)
    array([[0.75 , 0.125, 0.125],
           [0.125, 0.75 , 0.125],
           [0.125, 0.125, 0.75 ]])
    """

    is_multinomial = True

    @classmethod
    def of(cls, k: int, prob: Fraction) -> KRRChannel:
        """The channel for k categories, at least 2, and an exact P(report = truth)."""
        other = (1 - prob) / (k - 1)
        ratio = prob / other if other else math.inf
        return cls(k, prob, other, Fraction(0), Fraction(0), ratio)

    @property
    def matrix(self) -> Floats:
        """(k, k) ``matrix[report, truth]``."""
        full = np.full((self.k, self.k), float(self.prob_other))
        np.fill_diagonal(full, float(self.prob_truth))
        return full

    @property
    def entries(self) -> Entries:
        """The exact matrix as rows of fractions."""
        p, q, every = self.prob_truth, self.prob_other, range(self.k)
        return tuple(tuple(p if report == truth else q for truth in every) for report in every)

    def then(self, second: MultinomialChannel) -> MultinomialChannel:
        """The product of two channels; the product of two k-RR is a k-RR."""
        if isinstance(second, KRRChannel) and second.k == self.k:
            other = (self.k - 1) * self.prob_other * second.prob_other
            return KRRChannel.of(self.k, self.prob_truth * second.prob_truth + other)
        return ProductChannel(self, second)


def report_variance(channel: Channel, proportions: ArrayLike, target: str) -> Floats:
    """(..., k) variance of one debiased report; O(k) for a SupportChannel."""
    if isinstance(channel, SupportChannel):
        return channel.variance(proportions, target)
    covariance = channel.covariance(proportions, target)
    # Rounding can make a variance of 0 negative.
    return np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0)
