"""Unary encoding: one bit for every category, each randomized independently.

A true answer is encoded as one bit for each category, 1 for the true category and 0 for all
others.  The bit of the true category is reported as 1 with probability p = ``prob_own``, each
other bit with q = ``prob_other``.  Bits are independent; epsilon = ln(p (1 - q) / ((1 - p) q)).
For few categories use k-RR: it needs fewer people, and its reports are single categories.
`Rappor` keeps the randomized bits and randomizes them again for each report.
Sources: Erlingsson, Pihur and Korolova (2014), basic RAPPOR; Wang, Blocki, Li and Jha (2017),
sect. 4.2 and 4.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rrstats._cached import cached_property
from rrstats._checks import check_exactly_one, check_number
from rrstats._names import checked_keywords
from rrstats._typing import Array, Booleans, CategoriesLike, Counts, JsonObject
from rrstats.data.bitsets import Subsets, count_supports
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import Mechanism, check_codes
from rrstats.mechanisms.channel import SupportChannel
from rrstats.mechanisms.epsilon import LARGEST_PROB, nearest_to_epsilon
from rrstats.randomness.samplers import coin, independent_bits
from rrstats.randomness.sources import Source, Substream

COIN_STREAM = 0

MAX_CATEGORIES = 1 << 15
"""The largest number of bits whose random words have distinct addresses."""


def bit_domain(categories: CategoriesLike) -> Categories:
    """The categories; raises if they are too many for one bit each."""
    domain = Categories(categories)
    if domain.k > MAX_CATEGORIES:
        raise ArgumentValueError(
            f"categories must be at most {MAX_CATEGORIES}, found {domain.k}; a report has one "
            "bit for each"
        )
    return domain


@checked_keywords
class BitReports(Mechanism):
    """A mechanism whose reports are subsets of the categories, packed into bits.

    Reports are (n, k) booleans in NumPy, one column of packed bits in pandas, Arrow and files.
    """

    @cached_property
    def report_space(self) -> Subsets:
        """The reports: subsets of the categories, of any size."""
        return Subsets(self.domain)

    def count(self, reports: Array) -> Counts:
        """Count the packed reports that have each category's bit; the counts need not sum to n.

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
        """Convert booleans to packed reports.

        Parameters
        ----------
        bits : array of shape (n, k)
            True where a report names a category.

        Returns
        -------
        array of shape (n, width)
        """
        return self.report_space.pack(bits)

    def unpack(self, reports: Any) -> Booleans:
        """Convert reports in any container to booleans.

        Parameters
        ----------
        reports : array, Series, list or Arrow array
            n packed reports, or booleans.

        Returns
        -------
        array of shape (n, k)
        """
        return self.report_space.unpack(reports)


@checked_keywords
@dataclass(frozen=True, init=False, repr=False)
class UnaryEncoding(BitReports):
    """A randomized bit for every category, with any two probabilities.

    `UnaryEncoding.symmetric` flips all bits with the same probability.  `UnaryEncoding.optimized`
    has prob_own = 1/2, which gives the smallest variance for rare categories.

    Parameters
    ----------
    categories : sequence of k hashables
        As for `KRR`.
    prob_own : float
        P(the bit of the true category is reported as 1).
    prob_other : float
        P(the bit of another category is reported as 1); 0 < prob_other <= prob_own < 1.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        These depend on the arguments alone, never on data.

    Notes
    -----
    The debiased report is (bit - q) / (p - q) for each category.  If c of n reports have the bit
    of a category, its estimated proportion is (c / n - q) / (p - q).

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

    def __init__(self, categories: CategoriesLike, prob_own: float, prob_other: float) -> None:
        hint = "the true category's bit is reported as 1 with prob_own, another's with prob_other"
        prob_other = check_number(prob_other, "prob_other", 0.0, 1.0, ends="()", hint=hint)
        prob_own = check_number(prob_own, "prob_own", prob_other, 1.0, ends="[)", hint=hint)
        self._set(categories, prob_own, prob_other)

    def _set(
        self,
        categories: CategoriesLike,
        prob_own: float,
        prob_other: float,
        kind: str = "UnaryEncoding",
    ) -> UnaryEncoding:
        domain = bit_domain(categories)
        vars(self).update(domain=domain, prob_own=prob_own, prob_other=prob_other, kind=kind)
        return self

    @staticmethod
    def symmetric(
        categories: CategoriesLike, prob: float | None = None, *, epsilon: float | None = None
    ) -> UnaryEncoding:
        """Return RAPPOR's basic randomization: each bit is unchanged with the same probability.

        Parameters
        ----------
        categories : sequence of k hashables
            As for `KRR`.
        prob : float, optional
            P(a bit is reported unchanged), in [1/2, 1).
        epsilon : float, optional
            The privacy loss in nats, instead of prob.  The prob is then the largest double whose
            exact epsilon, 2 ln(prob / (1 - prob)), is at most this value.

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
            hint = "it is the probability that each bit is reported unchanged; 1 is no privacy"
            prob = check_number(prob, "prob", 0.5, 1.0, ends="[)", hint=hint)
        else:
            prob = nearest_to_epsilon(
                epsilon, lambda p: _ratio(Fraction(p), 1 - Fraction(p)), 0.5, LARGEST_PROB
            )
        # 1 - prob is exact: prob is at least 1/2.
        return object.__new__(UnaryEncoding)._set(categories, prob, 1 - prob, "SymmetricUnary")

    @staticmethod
    def optimized(
        categories: CategoriesLike, *, epsilon: float | None = None, prob_other: float | None = None
    ) -> UnaryEncoding:
        """Return the unary encoding with the smallest variance for rare categories: prob_own = 1/2.

        Parameters
        ----------
        categories : sequence of k hashables
            As for `KRR`.
        epsilon : float, optional
            The privacy loss in nats; prob_other is the smallest double whose exact epsilon,
            ln((1 - prob_other) / prob_other), is at most this value.
        prob_other : float, optional
            P(the bit of another category is reported as 1), in (0, 1/2], instead of epsilon.

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
            hint = "it is for the bits of other categories; the true category's bit has 1/2"
            prob_other = check_number(prob_other, "prob_other", 0.0, 0.5, ends="(]", hint=hint)
        else:
            smallest = math.ulp(0.0)
            prob_other = nearest_to_epsilon(epsilon, lambda q: 1 / Fraction(q) - 1, 0.5, smallest)
        return object.__new__(UnaryEncoding)._set(categories, 0.5, prob_other, "OptimizedUnary")

    @cached_property
    def channel(self) -> SupportChannel:
        """The transition probabilities; a bit supports its category, bits are independent."""
        p = Fraction(self.prob_own)
        q = Fraction(self.prob_other)
        return SupportChannel(self.k, p, q, p * q, q * q, _ratio(p, q))

    def randomize(self, codes: Array, source: Source, block: int = 0) -> NDArray[np.uint8]:
        """Randomize one block of true codes into packed reports.

        Parameters
        ----------
        codes : array of shape (rows,)
            The dtype is ``domain.dtype``; all codes are below the number of true answers.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows, width)

        Notes
        -----
        All bits are first drawn with prob_other, independently of the codes; then the true
        category's bit is replaced by a separate coin with prob_own.
        """
        check_codes(codes, self.domain)
        rows = len(codes)
        width = self.report_space.width
        truth_bits = coin(source, COIN_STREAM, block, rows, prob=Fraction(self.prob_own))
        reports = independent_bits(source, block, rows, k=self.k, prob=Fraction(self.prob_other))
        flat = reports.reshape(-1)
        places = np.arange(0, rows * width, width)
        places += codes >> codes.dtype.type(3)
        shifts = (codes & codes.dtype.type(7)).astype(np.uint8)
        packed = flat[places]
        packed &= ~(np.uint8(1) << shifts)
        packed |= truth_bits.view(np.uint8) << shifts
        flat[places] = packed
        return reports

    @property
    def _arguments(self) -> JsonObject:
        if self.kind == "SymmetricUnary":
            return {"categories": self.domain, "prob": self.prob_own}
        if self.kind == "OptimizedUnary":
            return {"categories": self.domain, "prob_other": self.prob_other}
        probs = {"prob_own": self.prob_own, "prob_other": self.prob_other}
        return {"categories": self.domain} | probs

    def to_dict(self) -> JsonObject:
        """Return the mechanism as plain JSON, with the stored word for its kind.

        Examples
        --------
        >>> import rrstats as rr
        >>> sorted(rr.mechanisms.UnaryEncoding(["a", "b"], 0.75, 0.25).to_dict())
        ['categories', 'prob_other', 'prob_own', 'type']
        """
        return super().to_dict() | {"type": self.kind}

    def _call(self, name: str = "") -> str:
        constructors = {"SymmetricUnary": ".symmetric", "OptimizedUnary": ".optimized"}
        constructor = constructors.get(self.kind, "")
        return super()._call(f"{name or type(self).__name__}{constructor}")


@checked_keywords
@dataclass(frozen=True, init=False, repr=False)
class Rappor(UnaryEncoding):
    """Basic RAPPOR: one bit for every category, a permanent draw, and a new draw for each report.

    Parameters
    ----------
    categories : sequence of hashables
        As for `UnaryEncoding`; there is one bit for each category and no Bloom filter.
    f : float
        P(the permanent round replaces a bit by a fair coin), in (0, 1).
    p, q : float
        p is P(the instantaneous round reports a kept 0 as 1), q is P(it reports a kept 1 as 1);
        0 < p < q < 1.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        These depend on the arguments alone, never on data.

    Notes
    -----
    ``permanent`` is the mechanism of the first round; a person keeps its report, and
    `rrstats.mechanisms.instantaneous` draws the reports of one wave from it.  `privatize` with the
    Rappor itself draws both rounds at once and keeps nothing: this is the unary encoding with
    P(1 | own bit) = q (1 - f/2) + p f/2 and P(1 | other bit) = q f/2 + p (1 - f/2), drawn exactly.
    ``epsilon`` is for one report alone, ``epsilon_lifetime`` for all reports of one unchanged
    answer; two answers differ in two bits.  Published values are h times these, because a Bloom
    filter with h hashes sets h bits for each answer.

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
    >>> m.unpack(rr.mechanisms.instantaneous(kept, m)).shape
    (3, 3)
    """

    f: float
    p: float
    q: float
    permanent: UnaryEncoding

    def __init__(self, categories: CategoriesLike, f: float, p: float, q: float) -> None:
        hint = "it is the probability that a fair coin replaces a kept bit"
        f = check_number(f, "f", 0.0, 1.0, ends="()", hint=hint)
        p = check_number(p, "p", 0.0, 1.0, ends="()", hint="it is P(a kept 0 is reported as 1)")
        q = check_number(q, "q", p, 1.0, ends="()", hint="it is P(a kept 1 is reported as 1)")
        permanent = UnaryEncoding.symmetric(categories, float(1 - Fraction(f) / 2))

        def after_both(prob_kept: float) -> float:
            """P(1 in the report), from P(1 in the kept report)."""
            kept = Fraction(prob_kept)
            # A Fraction, because the product of both rounds need not be a double.
            return cast("float", kept * Fraction(q) + (1 - kept) * Fraction(p))

        prob_own = after_both(permanent.prob_own)
        prob_other = after_both(permanent.prob_other)
        self._set(permanent.domain.declared, prob_own, prob_other, "Rappor")
        vars(self).update(f=f, p=p, q=q, permanent=permanent)

    @property
    def epsilon_lifetime(self) -> float:
        """The privacy loss of all reports of one unchanged answer, in nats, rounded up."""
        return self.permanent.epsilon

    def randomize_kept(
        self, codes: NDArray[np.uint8], source: Source, block: int = 0
    ) -> NDArray[np.uint8]:
        """Randomize one block of kept packed reports; words are drawn independently of them.

        Parameters
        ----------
        codes : array of shape (rows, width)
            Kept reports; see `rrstats.mechanisms.instantaneous`.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows, width)

        Notes
        -----
        Stages begin at 1 because the first round uses stage 0.
        """
        p = Fraction(self.p)
        q = Fraction(self.q)
        rows = len(codes)
        first = independent_bits(Substream(source, 1), block, rows, k=self.k, prob=p)
        second = independent_bits(
            Substream(source, 2), block, rows, k=self.k, prob=(q - p) / (1 - p)
        )
        # A kept 0 is 1 with p; a kept 1 with p, and else with (q - p) / (1 - p): together q.
        return first | (second & codes)

    @property
    def _arguments(self) -> JsonObject:
        return {"categories": self.domain, "f": self.f, "p": self.p, "q": self.q}


def _ratio(p: Fraction, q: Fraction) -> Fraction:
    """The largest likelihood ratio of bits that are 1 with p (the true one) and q (others)."""
    return p * (1 - q) / ((1 - p) * q)
