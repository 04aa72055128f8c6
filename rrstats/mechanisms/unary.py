"""Unary encoding: a yes/no for every category, each randomized by itself.

A respondent thinks of one bit for each category, 1 for their own and 0 for all others, and
reports every bit through a coin of its own: their own category's as 1 with probability
``prob_own``, each other one with ``prob_other``.  Bits are independent;
epsilon = ln(p (1 - q) / ((1 - p) q)) with p for the truth and q elsewhere.
For few categories do not use it: k-RR needs fewer people, and its reports are one category.
`Rappor` keeps what was drawn once, and randomizes that anew for each report.
Sources: Erlingsson, Pihur and Korolova (2014), basic RAPPOR; Wang, Blocki, Li and Jha (2017),
sect. 4.2 and 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_exactly_one, check_number
from rrstats.data.bitsets import Subsets, count_supports
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import Mechanism, check_codes
from rrstats.mechanisms.epsilon import LARGEST_PROB, nearest_to_epsilon
from rrstats.mechanisms.support_channel import SupportChannel
from rrstats.randomness.samplers import coin, independent_bits
from rrstats.randomness.sources import Source, Substream

COIN_STREAM = 0

MOST_CATEGORIES = 1 << 15
"""More bits than that would not find addresses for their words."""


def bit_domain(categories: object) -> Categories:
    """Categories that are few enough for reports with a bit for each."""
    domain = Categories(categories)
    if domain.k > MOST_CATEGORIES:
        raise ArgumentValueError(
            f"categories must be at most {MOST_CATEGORIES}, found {domain.k}; a report has a bit "
            "for each"
        )
    return domain


class BitReports(Mechanism):
    """A mechanism whose reports are subsets of the categories, packed into bits.

    Reports are (n, k) booleans in NumPy, one column of packed bits in pandas, Arrow and files.
    """

    @cached_property
    def report_space(self) -> Subsets:
        """Reports are subsets of the categories, of any size."""
        return Subsets(self.domain)

    def count(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Counts of the packed reports that have each category's bit; they sum to any number.

        Parameters
        ----------
        reports : array of shape (n, width)
            Packed reports.

        Returns
        -------
        array of shape (k,)
        """
        return count_supports(reports, self.k)

    def pack(self, bits: Any) -> NDArray[np.uint8]:
        """Booleans as packed reports.

        Parameters
        ----------
        bits : array of shape (n, k)
            True where a report names a category.

        Returns
        -------
        array of shape (n, width)
        """
        return self.report_space.pack(bits)

    def unpack(self, reports: Any) -> NDArray[np.bool_]:
        """Reports in any container as booleans.

        Parameters
        ----------
        reports : array, Series, list or Arrow array
            n packed reports, or booleans.

        Returns
        -------
        array of shape (n, k)
        """
        return self.report_space.unpack(reports)


@dataclass(frozen=True, init=False, repr=False)
class UnaryEncoding(BitReports):
    """A randomized bit for every category, with any two probabilities.

    `UnaryEncoding.symmetric` turns every bit round equally often; `UnaryEncoding.optimized` has
    a fair coin for the truth, which for rare categories is the best pair.

    Parameters
    ----------
    categories : sequence of k hashables
        As for `KRR`; a value outside them is first replaced by a uniform category.
    prob_own : float
        P(the bit of the true category is reported as 1).
    prob_other : float
        P(the bit of another category is reported as 1); 0 < prob_other <= prob_own < 1.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        From these arguments alone, never from data.

    Notes
    -----
    The debiased report has (bit - q) / (p - q) for each category, and an aggregate of c of n
    bits is the proportion (c / n - q) / (p - q).

    Examples
    --------
    >>> m = UnaryEncoding(["red", "green", "blue"], 0.75, 0.25)
    >>> m.epsilon, m.report_space.width
    (2.1972245773362196, 1)
    >>> import rrstats as rr
    >>> rr.estimate(m.pack([[True, False, True], [False, False, True]]), m).proportions.tolist()
    [0.5, -0.5, 1.5]
    """

    domain: Categories
    prob_own: float
    prob_other: float
    kind: str

    def __init__(self, categories: object, prob_own: float, prob_other: float) -> None:
        hint = "the true category's bit is reported as 1 with prob_own, another's with prob_other"
        other = check_number(prob_other, "prob_other", 0.0, 1.0, ends="()", hint=hint)
        own = check_number(prob_own, "prob_own", other, 1.0, ends="[)", hint=hint)
        self._set(categories, own, other)

    def _set(
        self, categories: object, own: float, other: float, kind: str = "UnaryEncoding"
    ) -> UnaryEncoding:
        domain = bit_domain(categories)
        vars(self).update(domain=domain, prob_own=own, prob_other=other, kind=kind)
        return self

    @staticmethod
    def symmetric(
        categories: object, prob: float | None = None, *, epsilon: float | None = None
    ) -> UnaryEncoding:
        """RAPPOR's basic randomization: every bit is told as it is with one probability.

        Parameters
        ----------
        categories : sequence of k hashables
            As for `KRR`.
        prob : float, optional
            P(a bit is reported as it is), in [1/2, 1).
        epsilon : float, optional
            Instead of prob: nats; the largest double whose exact epsilon, 2 ln(prob / (1 - prob)),
            is at most the request.

        Returns
        -------
        UnaryEncoding

        References
        ----------
        Erlingsson, Pihur and Korolova (2014); SUE of Wang et al. (2017), sect. 4.2.

        Examples
        --------
        >>> UnaryEncoding.symmetric(["a", "b", "c"], 0.75).epsilon
        2.1972245773362196
        >>> UnaryEncoding.symmetric(["a", "b", "c"], epsilon=1.0).prob_own
        0.6224593312018545
        """
        if check_exactly_one(prob=prob, epsilon=epsilon) == "prob":
            hint = "it is the probability that each bit is reported as it is; 1 is no privacy"
            own = check_number(prob, "prob", 0.5, 1.0, ends="[)", hint=hint)
        else:
            own = nearest_to_epsilon(
                epsilon, lambda p: _ratio(Fraction(p), 1 - Fraction(p)), 0.5, LARGEST_PROB
            )
        # 1 - own is exact: own is at least 1/2.
        return object.__new__(UnaryEncoding)._set(categories, own, 1 - own, "SymmetricUnary")

    @staticmethod
    def optimized(
        categories: object, *, epsilon: float | None = None, prob_other: float | None = None
    ) -> UnaryEncoding:
        """The unary encoding of least variance for rare categories: a fair coin for the truth.

        Parameters
        ----------
        categories : sequence of k hashables
            As for `KRR`.
        epsilon : float, optional
            Nats; prob_other is the smallest double whose exact epsilon,
            ln((1 - prob_other) / prob_other), is at most the request.
        prob_other : float, optional
            Instead of epsilon, in (0, 1/2].

        Returns
        -------
        UnaryEncoding

        References
        ----------
        OUE of Wang, Blocki, Li and Jha (2017), sect. 4.3.

        Examples
        --------
        >>> m = UnaryEncoding.optimized(["a", "b", "c"], epsilon=1.0)
        >>> m.prob_own, m.prob_other, m.epsilon
        (0.5, 0.26894142136999516, 0.9999999999999999)
        """
        if check_exactly_one(prob_other=prob_other, epsilon=epsilon) == "prob_other":
            hint = "it is for the bits of other categories, where one's own has 1/2"
            other = check_number(prob_other, "prob_other", 0.0, 0.5, ends="(]", hint=hint)
        else:
            other = nearest_to_epsilon(epsilon, lambda q: 1 / Fraction(q) - 1, 0.5, 5e-324)
        return object.__new__(UnaryEncoding)._set(categories, 0.5, other, "OptimizedUnary")

    @cached_property
    def channel(self) -> SupportChannel:
        """Each bit supports its category; given the truth, bits are independent."""
        p, q = Fraction(self.prob_own), Fraction(self.prob_other)
        return SupportChannel(self.k, p, q, p * q, q * q, _ratio(p, q))

    def randomize(self, codes: NDArray[Any], source: Source, block: int = 0) -> NDArray[np.uint8]:
        """Packed reports of one block of true codes.

        Parameters
        ----------
        codes : array of shape (rows,)
            Of ``domain.dtype``, all below the number of true answers.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows, width)

        Notes
        -----
        All bits are drawn as if they were those of other categories, without looking at the
        codes; then the true category's bit is replaced by the coin that was drawn for it.
        """
        check_codes(codes, self.domain)
        rows, space = len(codes), self.report_space
        own = coin(source, COIN_STREAM, block, rows, prob=Fraction(self.prob_own))
        reports = independent_bits(source, block, rows, k=self.k, prob=Fraction(self.prob_other))
        flat = reports.reshape(-1)
        places = np.arange(0, rows * space.width, space.width)
        places += codes >> codes.dtype.type(3)
        shifts = (codes & codes.dtype.type(7)).astype(np.uint8)
        found = flat[places]
        found &= ~(np.uint8(1) << shifts)
        found |= own.view(np.uint8) << shifts
        flat[places] = found
        return reports

    @property
    def _arguments(self) -> dict[str, Any]:
        given = {"categories": self.domain}
        if self.kind == "SymmetricUnary":
            return given | {"prob": self.prob_own}
        own = {"prob_own": self.prob_own} if self.kind == "UnaryEncoding" else {}
        return given | own | {"prob_other": self.prob_other}

    def to_dict(self) -> dict[str, Any]:
        """The mechanism as plain JSON, with the stored word for its kind."""
        return super().to_dict() | {"type": self.kind}

    def _call(self, name: str = "") -> str:
        made = {"SymmetricUnary": ".symmetric", "OptimizedUnary": ".optimized"}.get(self.kind, "")
        return super()._call(f"{name or type(self).__name__}{made}")


@dataclass(frozen=True, init=False, repr=False)
class Rappor(UnaryEncoding):
    """Basic RAPPOR: a bit for every category, kept once randomized, and randomized each time.

    Parameters
    ----------
    categories : sequence of hashables
        As for `UnaryEncoding`; one bit for each, no Bloom filter.
    f : float
        P(the permanent round replaces a bit by a fair coin), in (0, 1).
    p, q : float
        P(the instantaneous round reports a kept 0 as 1) and P(a kept 1 as 1); 0 < p < q < 1.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        From these arguments alone, never from data.

    Notes
    -----
    ``permanent`` is the mechanism of the first round, whose reports a person keeps;
    `rrstats.instantaneous` makes the reports of one wave from them.  As a mechanism of its own it
    is both rounds at once, the unary encoding with P(1 | own bit) = q (1 - f/2) + p f/2 and
    P(1 | other bit) = q f/2 + p (1 - f/2), drawn exactly, with nothing kept.
    ``epsilon`` is that of one report seen alone, ``epsilon_lifetime`` that of all reports of one
    unchanged answer: two people's bits differ in two places, one of each.  Published figures
    are h times these for Bloom filters of h hashes, which set h bits for each answer.

    References
    ----------
    Erlingsson, Pihur and Korolova (2014), sect. 2 and 3.

    Examples
    --------
    >>> m = Rappor(["red", "green", "blue"], f=0.5, p=0.5, q=0.75)
    >>> round(m.epsilon, 4), round(m.epsilon_lifetime, 4)
    (0.5371, 2.1972)
    >>> import rrstats as rr
    >>> kept = rr.privatize(["red", "blue", "red"], m.permanent)
    >>> m.unpack(rr.instantaneous(kept, m)).shape
    (3, 3)
    """

    f: float
    p: float
    q: float
    permanent: UnaryEncoding

    def __init__(self, categories: object, f: float, p: float, q: float) -> None:
        coin = "it is the probability that a kept bit is a coin"
        f = check_number(f, "f", 0.0, 1.0, ends="()", hint=coin)
        p = check_number(p, "p", 0.0, 1.0, ends="()", hint="a kept 0 is reported as 1 with it")
        q = check_number(q, "q", p, 1.0, ends="()", hint="a kept 1 is reported as 1 with it")
        kept = UnaryEncoding.symmetric(categories, float(1 - Fraction(f) / 2))
        mixed = (
            Fraction(bit) * Fraction(q) + (1 - Fraction(bit)) * Fraction(p)
            for bit in (kept.prob_own, kept.prob_other)
        )
        # Fractions, as no double need be the product of both rounds.
        own, other = (cast("float", prob) for prob in mixed)
        self._set(kept.domain.declared, own, other, "Rappor")
        vars(self).update(f=f, p=p, q=q, permanent=kept)

    @property
    def epsilon_lifetime(self) -> float:
        """Epsilon of all reports of one unchanged answer together, in nats, rounded up."""
        return self.permanent.epsilon

    def randomize_kept(
        self, codes: NDArray[np.uint8], source: Source, block: int = 0
    ) -> NDArray[np.uint8]:
        """The second round of one block of packed reports, drawn without looking at them.

        Parameters
        ----------
        codes : array of shape (rows, width)
            Kept reports; see `rrstats.instantaneous`.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows, width)

        Notes
        -----
        Stages begin at 1: the first round has drawn in stage 0.
        """
        p, q = Fraction(self.p), Fraction(self.q)
        low, more = (
            independent_bits(Substream(source, stage), block, len(codes), k=self.k, prob=prob)
            for stage, prob in enumerate([p, (q - p) / (1 - p)], start=1)
        )
        # A kept 0 is 1 with p; a kept 1 with p, and else with (q - p) / (1 - p): together q.
        return low | (more & codes)

    @property
    def _arguments(self) -> dict[str, Any]:
        return {"categories": self.domain, "f": self.f, "p": self.p, "q": self.q}


def _ratio(own: Fraction, other: Fraction) -> Fraction:
    return own * (1 - other) / ((1 - own) * other)
