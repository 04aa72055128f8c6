"""Unary encoding: a yes/no for every category, each randomized by itself.

A respondent thinks of one bit for each category, 1 for their own and 0 for all others, and
reports every bit through a coin of its own: their own category's as 1 with probability
``prob_own``, each other one with ``prob_other``.
Law: independent bits, p for the truth and q elsewhere; epsilon = ln(p (1 - q) / ((1 - p) q)).
`SymmetricUnary` turns every bit round equally often (RAPPOR's basic randomization, e^(eps/2) on
each of two bits); `OptimizedUnary` has p = 1/2, which for rare categories is the best pair.
For few categories do not use it: k-RR needs fewer people, and its reports are one category.
Sources: Erlingsson, Pihur and Korolova (2014), basic RAPPOR; Wang, Blocki, Li and Jha (2017),
sect. 4.2 and 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_number
from rrstats.data.bitsets import Subsets, count_supports
from rrstats.data.categories import Categories, categories_from_json, categories_to_json
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.epsilon import epsilon_from_ratio, nearest_to_epsilon
from rrstats.mechanisms.support_channel import SupportChannel
from rrstats.mechanisms.verbs import Verbs, check_keys
from rrstats.randomness.samplers import coin, independent_bits
from rrstats.randomness.sources import Source

__all__ = ["OptimizedUnary", "SymmetricUnary", "UnaryEncoding"]

COIN_STREAM = 0


MOST_CATEGORIES = 1 << 15
"""More bits than that would not find addresses for their words."""


@dataclass(frozen=True, init=False, repr=False)
class UnaryEncoding(Verbs):
    """A randomized bit for every category, with any two probabilities.

    categories : k >= 2 distinct hashable answers, as for `KRR`.
    prob_own : P(the bit of the true category is reported as 1).
    prob_other : P(the bit of another category is reported as 1); 0 < prob_other <= prob_own < 1.
    Raises ArgumentValueError or ArgumentTypeError from these arguments alone, never from data.

    Reports are subsets of the categories (`rrstats.data.bitsets`): (n, k) booleans in NumPy, one
    column of packed bits in pandas, Arrow and files; ``unpack`` makes booleans of any of them.
    The debiased report has (bit - q) / (p - q) for each category, and an aggregate of c of n
    bits is the share (c / n - q) / (p - q).
    A value outside the categories is first replaced by a uniform category.

    >>> m = UnaryEncoding(["red", "green", "blue"], 0.75, 0.25)
    >>> m.epsilon, m.report_space.width
    (2.1972245773362196, 1)
    >>> m.estimate(m.pack([[True, False, True], [False, False, True]])).proportions.tolist()
    [0.5, -0.5, 1.5]
    """

    domain: Categories
    prob_own: float
    prob_other: float

    def __init__(self, categories: object, prob_own: float, prob_other: float) -> None:
        own, other = check_number(prob_own, "prob_own"), check_number(prob_other, "prob_other")
        if not 0 < other <= own < 1:
            raise ArgumentValueError(
                "prob_own and prob_other must be in (0, 1), and prob_other at most prob_own, got "
                f"prob_own={own!r} and prob_other={other!r}; they are the probabilities that "
                "the true category's bit and another category's bit are reported as 1"
            )
        self._set(categories, own, other)

    def _set(self, categories: object, own: float, other: float) -> None:
        domain = Categories(categories)
        if domain.k > MOST_CATEGORIES:
            raise ArgumentValueError(
                f"unary encoding takes at most {MOST_CATEGORIES} categories, found {domain.k}; its "
                "reports would have as many bits"
            )
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "prob_own", own)
        object.__setattr__(self, "prob_other", other)

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The declared categories, in their order."""
        return self.domain.categories

    @property
    def k(self) -> int:
        """The number of categories, and of bits in a report."""
        return self.domain.k

    @cached_property
    def report_space(self) -> Subsets:
        """Reports are subsets of the categories, of any size."""
        return Subsets(self.domain)

    @cached_property
    def channel(self) -> SupportChannel:
        """Each bit supports its category; given the truth, bits are independent."""
        p, q = Fraction(self.prob_own), Fraction(self.prob_other)
        return SupportChannel(self.k, p, q, p * q, q * q, _odds(p, q))

    @cached_property
    def epsilon(self) -> float:
        """The privacy loss of one report in nats, rounded up."""
        return epsilon_from_ratio(self.channel.max_likelihood_ratio)

    def randomize(self, codes: NDArray[Any], source: Source, block: int = 0) -> NDArray[np.uint8]:
        """Packed reports of one block of true codes (each below k); shape (rows, width).

        All bits are drawn as if they were those of other categories, without looking at the
        codes; then the true category's bit is replaced by the coin that was drawn for it.
        """
        if codes.dtype != self.domain.dtype:
            raise ArgumentTypeError(f"codes must be {self.domain.dtype}, found {codes.dtype}")
        rows, space = len(codes), self.report_space
        own = coin(source, COIN_STREAM, block, rows, Fraction(self.prob_own))
        reports = independent_bits(source, block, rows, self.k, Fraction(self.prob_other))
        flat = reports.reshape(-1)
        places = np.arange(0, rows * space.width, space.width)
        places += codes >> codes.dtype.type(3)
        shifts = (codes & codes.dtype.type(7)).astype(np.uint8)
        found = flat[places]
        found &= ~(np.uint8(1) << shifts)
        found |= own.view(np.uint8) << shifts
        flat[places] = found
        return reports

    def count(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """How many packed reports have each category's bit; shape (k,), summing to any number."""
        return count_supports(reports, self.k)

    def pack(self, bits: Any) -> NDArray[np.uint8]:
        """(n, k) booleans to packed reports; `subsets.Subsets.pack`."""
        return self.report_space.pack(bits)

    def unpack(self, reports: Any) -> NDArray[np.bool_]:
        """Reports in any container to (n, k) booleans; `subsets.Subsets.unpack`."""
        return self.report_space.unpack(reports)

    def to_dict(self) -> dict[str, Any]:
        """The mechanism as plain JSON."""
        return {
            "type": "UnaryEncoding",
            "categories": categories_to_json(self.categories),
            "prob_own": self.prob_own,
            "prob_other": self.prob_other,
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> UnaryEncoding:
        """The mechanism that `to_dict` described."""
        check_keys(document, ["categories", "prob_own", "prob_other"])
        categories = categories_from_json(document["categories"])
        return cls(categories, document["prob_own"], document["prob_other"])

    def _call(self) -> str:
        probs = f"prob_own={self.prob_own!r}, prob_other={self.prob_other!r}"
        return f"UnaryEncoding({self.domain.describe()}, {probs})"


@dataclass(frozen=True, init=False, repr=False)
class SymmetricUnary(UnaryEncoding):
    """RAPPOR's basic randomization: every bit is told as it is with one probability.

    prob : P(a bit is reported as it is), in [1/2, 1); or ``epsilon`` in nats: the largest
        double whose exact epsilon, 2 ln(prob / (1 - prob)), is at most the request.
    Source: Erlingsson, Pihur and Korolova (2014); SUE of Wang et al. (2017), sect. 4.2.

    >>> SymmetricUnary(["a", "b", "c"], 0.75).epsilon
    2.1972245773362196
    >>> SymmetricUnary(["a", "b", "c"], epsilon=1.0).prob
    0.6224593312018545
    """

    def __init__(
        self, categories: object, prob: float | None = None, *, epsilon: float | None = None
    ) -> None:
        if one_of("prob", prob, "epsilon", epsilon) == "prob":
            own = _check_symmetric(prob)
        else:
            own = nearest_to_epsilon(
                epsilon,
                ratio=lambda p: _odds(Fraction(p), 1 - Fraction(p)),
                guess=lambda grown: 1 / (1 + 1 / grown.sqrt()),
                least_private=math.nextafter(1.0, 0.0),
                most_private=0.5,
            )
        self._set(categories, own, 1 - own)  # exact: own is at least 1/2

    @property
    def prob(self) -> float:
        """P(a bit is reported as it is)."""
        return self.prob_own

    def to_dict(self) -> dict[str, Any]:
        """The mechanism as plain JSON."""
        return {
            "type": "SymmetricUnary",
            "categories": categories_to_json(self.categories),
            "prob": self.prob,
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> SymmetricUnary:
        """The mechanism that `to_dict` described; ``epsilon`` may stand for ``prob``."""
        check_keys(document, ["categories"], ["prob", "epsilon"])
        categories = categories_from_json(document["categories"])
        return cls(categories, document.get("prob"), epsilon=document.get("epsilon"))

    def _call(self) -> str:
        return f"SymmetricUnary({self.domain.describe()}, prob={self.prob!r})"


@dataclass(frozen=True, init=False, repr=False)
class OptimizedUnary(UnaryEncoding):
    """The unary encoding with the least variance for rare categories: a fair coin for the truth.

    epsilon : nats; prob_other is the smallest double whose exact epsilon,
        ln((1 - prob_other) / prob_other), is at most the request.
    prob_other : instead of epsilon, in (0, 1/2].
    Source: OUE of Wang, Blocki, Li and Jha (2017), sect. 4.3.

    >>> m = OptimizedUnary(["a", "b", "c"], epsilon=1.0)
    >>> m.prob_own, m.prob_other, m.epsilon
    (0.5, 0.26894142136999516, 0.9999999999999999)
    """

    def __init__(
        self,
        categories: object,
        *,
        epsilon: float | None = None,
        prob_other: float | None = None,
    ) -> None:
        if one_of("prob_other", prob_other, "epsilon", epsilon) == "prob_other":
            other = check_number(prob_other, "prob_other")
            if not 0 < other <= 0.5:
                raise ArgumentValueError(
                    f"prob_other must be in (0, 1/2], got {other!r}; it is the probability that "
                    "the bit of another category is reported as 1, where one's own has 1/2"
                )
        else:
            other = nearest_to_epsilon(
                epsilon,
                ratio=lambda q: 1 / Fraction(q) - 1,
                guess=lambda grown: 1 / (1 + grown),
                least_private=5e-324,
                most_private=0.5,
            )
        self._set(categories, 0.5, other)

    def to_dict(self) -> dict[str, Any]:
        """The mechanism as plain JSON."""
        return {
            "type": "OptimizedUnary",
            "categories": categories_to_json(self.categories),
            "prob_other": self.prob_other,
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> OptimizedUnary:
        """The mechanism that `to_dict` described; ``epsilon`` may stand for ``prob_other``."""
        check_keys(document, ["categories"], ["prob_other", "epsilon"])
        categories = categories_from_json(document["categories"])
        given = document.get("prob_other")
        return cls(categories, epsilon=document.get("epsilon"), prob_other=given)

    def _call(self) -> str:
        return f"OptimizedUnary({self.domain.describe()}, prob_other={self.prob_other!r})"


# -- parameters ----------------------------------------------------------------------------


def _check_symmetric(prob: object) -> float:
    """``prob`` as a double in [1/2, 1)."""
    value = check_number(prob, "prob")
    if 0.5 <= value < 1:
        return value
    if value == 1:
        why = "at 1 every bit is reported as it is: no privacy"
    elif 0 < value < 0.5:
        why = "below 1/2 each bit is turned round more often than not"
    elif 1 < value < 100:
        why = f"write {value / 100:g} for {value:g}%"
    else:
        why = "it is the probability that a bit is reported as it is"
    raise ArgumentValueError(
        f"prob must be in [1/2, 1) for each bit of a report, got {value!r}; {why}"
    )


def _odds(own: Fraction, other: Fraction) -> Fraction:
    return own * (1 - other) / ((1 - own) * other)


def one_of(name: str, value: object, other_name: str, other: object) -> str:
    """The name of the one argument of two that was given; raises for both and for neither."""
    if (value is None) == (other is None):
        given = "neither" if value is None else "both"
        raise ArgumentTypeError(f"give {name} or {other_name}, found {given}")
    return other_name if value is None else name
