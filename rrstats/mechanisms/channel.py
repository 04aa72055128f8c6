"""The channel of a mechanism: its transition probabilities P(report | truth).

Statistics need only the channel of a mechanism, and three forms cover every design.  In a
`SupportChannel` (unary encoding, subset selection) reports support categories and all categories
are treated alike, so four probabilities and one ratio describe it and every operation takes O(k);
in a `KRRChannel` (k-ary randomized response) a report supports one category.  A
`matrix_channel.MatrixChannel` has ``matrix[report, truth]``, whose columns sum to 1.  A
`matrix_channel.StackedChannel` has one channel for each sample.

Probabilities are exact fractions (a double is one); floats appear only when data are debiased.
Proportions refer to the k categories.  Some designs have more latent classes than categories, such
as truthful and lying people with the attribute; ``class_of`` has the category of each class.
Sources: Wang, Blocki, Li and Jha (2017), eq. 1-3 (pure protocols); van den Hout and van der
Heijden (2002) (matrices).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from rrstats._cached import cached_property
from rrstats._checks import check_instance, check_one_of
from rrstats._frozen import Shared, fixed
from rrstats._typing import Array, Booleans, Floats, Indices
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError

Number = float | Fraction
"""A number as a mechanism stores it: a double if it is exactly one, otherwise a fraction."""

Entries = tuple[tuple[Fraction, ...], ...]

_MIN_RELATIVE_GAP = Fraction(1, 2**51)
"""The least relative difference of the probabilities of support that their doubles tell apart."""

_SUM_TOLERANCE = Fraction(1, 10**9)
"""Tolerance of the sum of probabilities: rounded decimals pass, typing errors do not."""

_MAX_DENOMINATOR_DIGITS = 6000
_MAX_DENOMINATOR_BITS = 20_000
"""The largest common denominator of a column; sums of larger fractions would be slow."""

TARGETS = ("population", "sample")
"""The target of inference: the population these people come from, or only these people."""


@dataclass(frozen=True)
class BinomialRates(Shared):
    """Rates of counts, one for each category, that are each binomial.

    false_positive_rate, true_positive_rate : (k,) the rate of the count at a true proportion of
        0 and at 1.
    complementary : whether one count determines the other (two categories, one report each).
    """

    false_positive_rate: Floats
    true_positive_rate: Floats
    complementary: bool


class Channel(Protocol):
    """Operations on P(report | truth); n reports, m cells that a tally counts, k categories."""

    @property
    def k(self) -> int:
        """The number of categories."""

    @property
    def class_of(self) -> Sequence[int]:
        """(classes,) the category of each latent class; 0 .. k-1 if classes are categories."""

    @property
    def samples(self) -> Indices:
        """(m,) the sample of each cell; all 0 if there is one sample."""

    @property
    def is_multinomial(self) -> bool:
        """True if each report falls into one cell; the channel is then a `MultinomialChannel`."""

    @property
    def max_likelihood_ratio(self) -> Fraction | float:
        """The largest P(report | truth) / P(report | other truth); `math.inf` if one is 0."""

    @property
    def binomial_rates(self) -> BinomialRates | None:
        """The rates of the counts if each is binomial; otherwise None."""

    def support_counts(self, counts: ArrayLike) -> Floats:
        """(..., m) counts of cells to (..., k) counts by category; NaN if there are none."""

    def solve(self, rates: ArrayLike) -> Floats:
        """(..., m) rates of the cells among reports to (..., k) unbiased true proportions."""

    def covariance(self, proportions: ArrayLike, target: str) -> Floats:
        """(..., k, k) covariance of one debiased report at true proportions of the classes."""

    def scores(self, reports: Array) -> Floats:
        """(n, k) unbiased values: their mean is the estimate of the proportions."""

    def likelihood(self, reports: Array) -> Floats:
        """(n, classes) P(report | truth), each row up to a factor."""


class MultinomialChannel(Channel, Protocol):
    """A channel in which each report falls into one of m cells."""

    @property
    def m(self) -> int:
        """The number of cells."""

    @property
    def matrix(self) -> Floats:
        """(m, classes) ``matrix[report, truth]``; columns sum to 1 within each sample."""

    @property
    def entries(self) -> Entries:
        """The matrix as m rows of exact fractions."""


# -- reports that support categories ---------------------------------------------------------


@dataclass(frozen=True)
class SupportChannel(Shared):
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
    def samples(self) -> Indices:
        """(k,) zeros: all cells belong to one sample."""
        return fixed(np.zeros(self.k, dtype=np.intp))

    @property
    def max_likelihood_ratio(self) -> Fraction | float:
        """The larger of the likelihood ratio and its inverse."""
        ratio = self.likelihood_ratio
        return max(ratio, 1 / ratio) if ratio else math.inf

    @property
    def binomial_rates(self) -> BinomialRates:
        """The rates of support, binomial for each category: q at a proportion of 0, p at 1."""
        return BinomialRates(
            np.full(self.k, float(self.prob_other)),
            np.full(self.k, float(self.prob_truth)),
            self.k == 2 and self.is_multinomial,
        )

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

    def check_informative(self) -> None:
        """Raise where the true answer is reported as often as any other."""
        gap = self.prob_truth - self.prob_other
        if abs(gap) <= max(self.prob_truth, Fraction(1, 2)) * _MIN_RELATIVE_GAP:
            raise NotIdentifiableError(
                f"reports carry no information: for {self.k} categories the true answer is "
                "reported as often as any other; choose a larger prob or epsilon"
            )

    @cached_property
    def gap(self) -> float:
        """P(supported | truth) - P(supported | other), the divisor of every estimate."""
        self.check_informative()
        return float(self.prob_truth - self.prob_other)

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
            p = float(self.prob_truth)
            q = float(self.prob_other)
            moments = both - p * q * either - q * q * rest
        covariance = np.asarray(moments / self.gap**2, dtype=np.float64)
        diagonal = np.arange(self.k)
        covariance[..., diagonal, diagonal] = self.variance(theta, target)
        return covariance

    def contrast_covariance(self, proportions: Floats, target: str, contrasts: Floats) -> Floats:
        """(j, j) covariance of sums of one debiased report's values, in O(j k).

        proportions : (k,) true ones.  contrasts : (j, k) the weights of the sums.
        Off its diagonal `covariance` is a sum of products of vectors, so no (k, k) array is needed.
        """
        p = float(self.prob_truth)
        q = float(self.prob_other)
        both = float(self.pair_truth)
        neither = float(self.pair_other)
        if check_target(target) == "population":
            by_either = both - neither
            constant = neither
            rates = expected_rates(self, proportions)
        else:
            by_either = both - neither - p * q + q * q
            constant = neither - q * q
            rates = np.zeros_like(proportions)
        # Off the diagonal the entry of v and w is
        # by_either (theta_v + theta_w) + constant - rate_v rate_w, over gap^2.
        products = 2 * by_either * proportions + constant - rates**2
        diagonal = self.variance(proportions, target) - products / self.gap**2
        sums = contrasts.sum(axis=1)
        means = contrasts @ rates
        crossed = np.multiply.outer(sums, contrasts @ proportions)
        moments = by_either * (crossed + crossed.T) + constant * np.multiply.outer(sums, sums)
        moments -= np.multiply.outer(means, means)
        return np.asarray((contrasts * diagonal) @ contrasts.T + moments / self.gap**2)

    def variance(self, proportions: ArrayLike, target: str) -> Floats:
        """The variance of one debiased report, for each of some true proportions."""
        theta = np.asarray(proportions)
        p = float(self.prob_truth)
        q = float(self.prob_other)
        if check_target(target) == "sample":
            return np.asarray((theta * p * (1 - p) + (1 - theta) * q * (1 - q)) / self.gap**2)
        # Rounding must not make a rate leave [0, 1], nor its variance negative.
        rates = np.clip(q + theta * self.gap, 0.0, 1.0)
        return np.asarray(rates * (1 - rates) / self.gap**2)

    def scores(self, reports: Array) -> Floats:
        """(n, k) unbiased values: (supported - q) / (p - q); eq. 2 of Wang et al."""
        return self.solve(self._supported(reports))

    def likelihood(self, reports: Array) -> Floats:
        """(n, k) P(report | truth), up to a factor for each report."""
        supported = self._supported(reports)
        likelier = supported if self.likelihood_ratio > 1 else ~supported
        likelihood = np.where(likelier, 1.0, float(1 / self.max_likelihood_ratio))
        likelihood[~likelier.any(axis=1)] = 1.0  # all are equal; avoids a tiny common factor
        return likelihood

    def _supported(self, reports: Array) -> Booleans:
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
        p = self.prob_truth
        q = self.prob_other
        codes = range(self.k)
        return tuple(tuple(p if report == truth else q for truth in codes) for report in codes)

    def then(self, second: KRRChannel) -> KRRChannel:
        """The product of two channels of as many categories, which is a k-RR too."""
        other = (self.k - 1) * self.prob_other * second.prob_other
        return KRRChannel.of(self.k, self.prob_truth * second.prob_truth + other)


# -- functions of any channel ----------------------------------------------------------------


def has_latent_classes(channel: Channel) -> bool:
    """True if the design has more latent classes than categories."""
    return len(channel.class_of) != channel.k


def recode_matrix(channel: Channel) -> Floats:
    """(k, classes) 1 if a latent class belongs to a category, otherwise 0."""
    return np.eye(channel.k)[:, list(channel.class_of)]


def multinomial(channel: Channel) -> MultinomialChannel:
    """The channel of a design whose reports fall into one cell each; only such a design has one."""
    return cast(MultinomialChannel, channel)


def transition_matrix(channel: Channel) -> Floats:
    """(m, classes) ``matrix[report, truth]`` of a multinomial channel."""
    return multinomial(channel).matrix


def expected_rates(channel: Channel, proportions: ArrayLike) -> Floats:
    """(..., classes) true proportions, which sum to 1, to (..., m) expected rates of the cells."""
    theta = np.asarray(proportions, dtype=np.float64)
    rates = channel.binomial_rates
    if rates is None:
        return theta @ transition_matrix(channel).T
    gaps = rates.true_positive_rate - rates.false_positive_rate
    return np.asarray(rates.false_positive_rate + theta * gaps)


def report_variance(channel: Channel, proportions: ArrayLike, target: str) -> Floats:
    """(..., k) variance of one debiased report; O(k) for a SupportChannel."""
    if isinstance(channel, SupportChannel):
        return channel.variance(proportions, target)
    covariance = channel.covariance(proportions, target)
    # Rounding can make a variance of 0 negative.
    return np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0)


def report_contrast_covariance(
    channel: Channel, proportions: Floats, target: str, contrasts: Floats
) -> Floats:
    """(j, j) covariance of (j, k) contrasts of one debiased report; O(j k) for a SupportChannel."""
    if isinstance(channel, SupportChannel):
        return channel.contrast_covariance(proportions, target, contrasts)
    return np.asarray(contrasts @ channel.covariance(proportions, target) @ contrasts.T)


# -- arguments -------------------------------------------------------------------------------


def check_target(target: object) -> str:
    """Check that the target is "population" or "sample"."""
    return str(check_one_of(target, "target", TARGETS))


def number(value: Any, name: str) -> Number:
    """A finite number: a double if it is exactly one, otherwise a fraction.

    >>> number(Fraction(3, 4), "prob"), number(Fraction(1, 3), "prob")
    (0.75, Fraction(1, 3))
    """
    if isinstance(value, float) and math.isfinite(value):
        return float(value) + 0.0  # no negative zero
    try:
        plain: Any = value.item() if isinstance(value, np.generic) else value
        # A truth value or a text is no number, although a Fraction takes it.
        if isinstance(plain, bool | str):
            raise TypeError
        exact = Fraction(plain)
        double = float(exact)
    except (TypeError, ValueError, OverflowError):
        # A value that is not a number may be an answer: only infinity and NaN are quoted.
        description = repr(value) if isinstance(value, float) else type(value).__name__
        raise ArgumentTypeError(f"{name} must be finite numbers, found {description}") from None
    return double if Fraction(double) == exact else exact


def numbers(values: Any, name: str) -> tuple[Number, ...]:
    """A list of finite numbers."""
    listed = check_instance(values, name, Iterable, "a list of numbers")
    return tuple(number(value, name) for value in listed)


def normalized(parts: Iterable[Number], what: str) -> list[Fraction]:
    """Probabilities that sum to 1 up to rounding, divided by their exact sum.

    what : the name of the numbers, for the error.
    """
    exact = [Fraction(part) for part in parts]
    common = 1
    for part in exact:
        common = math.lcm(common, part.denominator)
        if common.bit_length() > _MAX_DENOMINATOR_BITS:
            raise ArgumentValueError(
                f"{what} must be fractions with a common denominator of at most "
                f"{_MAX_DENOMINATOR_DIGITS:,} digits; give doubles, or rounded fractions"
            )
    numerators = [part.numerator * (common // part.denominator) for part in exact]
    total = sum(numerators)
    excess = Fraction(total - common, common)
    if abs(excess) > _SUM_TOLERANCE:
        raise ArgumentValueError(
            f"{what} must sum to 1, found {float(1 + excess):.12g}: {float(abs(excess)):.3g} too "
            f"{'much' if excess > 0 else 'little'}"
        )
    return [Fraction(numerator, total) for numerator in numerators]
