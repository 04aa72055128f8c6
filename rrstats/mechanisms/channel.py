"""The channel of a mechanism: its transition probabilities P(report | truth).

Statistics need only the channel of a mechanism, and three forms cover every design.  In a
`support_channel.SupportChannel` reports support categories and all categories are treated alike,
so every operation takes O(k); in k-ary randomized response a report supports one category.  A
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
from numpy.typing import ArrayLike, NDArray

from rrstats._checks import check_one_of
from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError

Number = float | Fraction
"""A number as a mechanism stores it: a double if it is exactly one, otherwise a fraction."""

_CLOSE = Fraction(1, 10**9)
_MOST_DIGITS = 6000
_MOST_BITS = 20_000

TARGETS = ("population", "rows")
"""The target of inference: the population these people come from, or only these rows."""


@dataclass(frozen=True)
class BinomialRates:
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
    def samples(self) -> NDArray[np.intp]:
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

    def scores(self, reports: NDArray[Any]) -> Floats:
        """(n, k) unbiased values: their mean is the estimate of the proportions."""

    def likelihood(self, reports: NDArray[Any]) -> Floats:
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
    def entries(self) -> tuple[tuple[Fraction, ...], ...]:
        """The matrix as m rows of exact fractions."""

    def then(self, second: MultinomialChannel) -> MultinomialChannel:
        """The channel of reports that ``second`` randomizes again."""


# -- functions of any channel ----------------------------------------------------------------


def fixed(array: Floats) -> Floats:
    """A cached array, made read-only because callers share it."""
    array.flags.writeable = False
    return array


def has_latent_classes(channel: Channel) -> bool:
    """True if the design has more latent classes than categories."""
    return len(channel.class_of) != channel.k


def recode_matrix(channel: Channel) -> Floats:
    """(k, classes) 1 if a latent class belongs to a category, otherwise 0."""
    return np.eye(channel.k)[:, list(channel.class_of)]


def transition_matrix(channel: Channel) -> Floats:
    """(m, classes) ``matrix[report, truth]`` of a multinomial channel."""
    return cast(MultinomialChannel, channel).matrix


def expected_rates(channel: Channel, proportions: ArrayLike) -> Floats:
    """(..., classes) true proportions, which sum to 1, to (..., m) expected rates of the cells."""
    found, rates = np.asarray(proportions, dtype=np.float64), channel.binomial_rates
    if rates is None:
        return found @ transition_matrix(channel).T
    low, high = rates.false_positive_rate, rates.true_positive_rate
    return np.asarray(low + found * (high - low))


# -- arguments -------------------------------------------------------------------------------


def check_target(target: object) -> str:
    """Check that the target is "population" or "rows"."""
    return str(check_one_of(target, "target", TARGETS))


def number(value: Any, name: str) -> Number:
    """A finite number: a double if it is exactly one, otherwise a fraction.

    >>> number(Fraction(3, 4), "prob"), number(Fraction(1, 3), "prob")
    (0.75, Fraction(1, 3))
    """
    if isinstance(value, float) and math.isfinite(value):
        return float(value) + 0.0  # no negative zero
    try:
        if isinstance(value, bool | np.bool_ | str):
            raise TypeError
        exact = Fraction(value.item() if isinstance(value, np.generic) else value)
        double = float(exact)
    except (TypeError, ValueError, OverflowError):
        # A value that is not a number may be an answer: only infinity and NaN are quoted.
        found = repr(value) if isinstance(value, float) else type(value).__name__
        raise ArgumentTypeError(f"{name} must be finite numbers, found {found}") from None
    return double if Fraction(double) == exact else exact


def numbers(values: Any, name: str) -> tuple[Number, ...]:
    """A list of finite numbers."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ArgumentTypeError(f"{name} must be a list of numbers, found {type(values).__name__}")
    return tuple(number(value, name) for value in values)


def normalized(parts: Iterable[Number], what: str) -> list[Fraction]:
    """Probabilities that sum to 1 up to rounding, divided by their exact sum.

    what : the name of the numbers, for the error.
    """
    exact = [Fraction(part) for part in parts]
    common = 1
    for part in exact:
        common = math.lcm(common, part.denominator)
        if common.bit_length() > _MOST_BITS:  # sums would be slow
            raise ArgumentValueError(
                f"{what} must be fractions with a common denominator of at most "
                f"{_MOST_DIGITS:,} digits; give doubles, or rounded fractions"
            )
    numerators = [part.numerator * (common // part.denominator) for part in exact]
    total = sum(numerators)
    off = Fraction(total - common, common)
    if abs(off) > _CLOSE:
        raise ArgumentValueError(
            f"{what} must sum to 1, found {float(1 + off):.12g}: {float(abs(off)):.3g} too "
            f"{'much' if off > 0 else 'little'}"
        )
    return [Fraction(numerator, total) for numerator in numerators]
