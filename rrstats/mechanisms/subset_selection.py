"""Subset selection: a report is a random subset of the categories.

A report names ``size`` of the k categories.  It includes the true category with probability
``prob_own``; the others are drawn without replacement, and every choice is equally likely.
With w = size: P(own is in) = p, P(another is in) = q = (p (w-1) + (1-p) w) / (k-1), and
epsilon = ln(p (k - w) / ((1 - p) w)).  Size 1 is k-ary randomized response.
At the best size, near k / (e^epsilon + 1), no other mechanism needs fewer people; unary encoding
needs few more if there are many categories.  For draws by hand use `KRR` instead.
Sources: Wang et al. (2016), "Mutual information optimally local private discrete distribution
estimation"; Ye and Barg (2018), eq. 9 and 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._cached import cached_property
from rrstats._checks import check_epsilon, check_exactly_one, check_number, check_whole_number
from rrstats._names import checked_keywords
from rrstats._typing import Booleans, CategoriesLike
from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError
from rrstats.mechanisms.base import check_codes
from rrstats.mechanisms.channel import KRRChannel, SupportChannel
from rrstats.mechanisms.epsilon import LARGEST_PROB, nearest_to_epsilon
from rrstats.mechanisms.unary import BitReports, bit_domain
from rrstats.randomness.samplers import coin
from rrstats.randomness.sources import SMALL_CALL_ROWS, Source

Codes = NDArray[Any]

COIN_STREAM = 0
SUBSET_STREAM = 1

_COLUMNS_PER_STREAM = 1 << 12
"""The number of categories whose coins are rounds of one stream; it is part of the vectors."""


@checked_keywords
@dataclass(frozen=True, init=False, repr=False)
class SubsetSelection(BitReports):
    """Subset selection: a report names ``size`` categories, the true one with ``prob_own``.

    Parameters
    ----------
    categories : sequence of k hashables
        As for `KRR`.
    epsilon : float, optional
        The privacy loss in nats; prob_own is the largest double whose exact epsilon is at most
        this value.
    size : int, optional
        The number of categories in a report, 1 to k - 1; by default the size with the smallest
        variance at equal proportions.
    prob_own : float, optional
        P(the report names the true category), in [size / k, 1), instead of epsilon; needs ``size``.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        These depend on the arguments alone, never on data.

    Notes
    -----
    Reports are subsets of the categories (`rrstats.data.bitsets`): (n, k) booleans in NumPy, one
    column of packed bits in pandas, Arrow and files; ``unpack`` converts any of them to booleans.
    A value outside the categories is refused, or first replaced by a uniformly random category.

    References
    ----------
    Ye and Barg (2018), eq. 9 and 10.

    Examples
    --------
    >>> m = SubsetSelection(range(100), epsilon=1.0)
    >>> m.size, round(m.prob_own, 4), m.report_space.width
    (27, 0.5013, 13)
    >>> SubsetSelection(["a", "b", "c"], epsilon=1.0).size
    1
    """

    domain: Categories
    size: int
    prob_own: float

    def __init__(
        self,
        categories: CategoriesLike,
        *,
        epsilon: float | None = None,
        size: int | None = None,
        prob_own: float | None = None,
    ) -> None:
        domain = bit_domain(categories)
        parameter = check_exactly_one(epsilon=epsilon, prob_own=prob_own)
        if size is not None:
            hint = f"there are {domain.k} categories"
            size = check_whole_number(size, "size", 1, domain.k - 1, hint=hint)
        elif parameter == "prob_own":
            raise ArgumentTypeError("prob_own needs size, the number of categories in a report")
        else:
            size = best_size(domain.k, check_epsilon(epsilon))
        if prob_own is None:
            ratio = partial(_ratio, domain.k, size)
            prob_own = nearest_to_epsilon(epsilon, ratio, size / domain.k, LARGEST_PROB)
        hint = "below it another category is named more often than the true one"
        low = size / domain.k
        value = check_number(prob_own, "prob_own", low, 1.0, ends="[)", hint=hint)
        vars(self).update(domain=domain, size=size, prob_own=value)

    @property
    def report_space(self) -> Subsets:
        """The reports: subsets of the categories, all of one size."""
        return Subsets(self.domain, self.size)

    @cached_property
    def channel(self) -> SupportChannel:
        """The transition probabilities; a report supports the categories that it names."""
        k = self.k
        size = self.size
        prob = Fraction(self.prob_own)
        if size == 1:
            return KRRChannel.of(k, prob)

        def pair(drawn: int) -> Fraction:
            """P(two given categories are in) if ``drawn`` of k - 1 are drawn."""
            return Fraction(drawn * (drawn - 1), (k - 1) * (k - 2))

        return SupportChannel(
            k=k,
            prob_truth=prob,
            prob_other=(prob * (size - 1) + (1 - prob) * size) / (k - 1),
            pair_truth=prob * Fraction(size - 1, k - 1),
            pair_other=prob * pair(size - 1) + (1 - prob) * pair(size),
            likelihood_ratio=_ratio(k, size, self.prob_own),
        )

    def randomize(self, codes: Codes, source: Source, block: int = 0) -> NDArray[np.uint8]:
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
        All draws are independent of the codes: whether the true category is named, and which of
        the k - 1 others.  Then the bit of the true category is inserted at its place.
        """
        check_codes(codes, self.domain)
        rows = len(codes)
        includes_truth = coin(source, COIN_STREAM, block, rows, prob=Fraction(self.prob_own))
        truth_bits = includes_truth.view(np.uint8)
        others = _subsets(source, block, truth_bits, size=self.size, others=self.k - 1)
        return _insert_truth(others, codes, truth_bits, self.k)


# -- parameters ----------------------------------------------------------------------------

_LARGEST_EXPONENT = 700.0
"""The exponential of a larger number may overflow; the best size is 1 long before."""


def _ratio(k: int, size: int, prob_own: float) -> Fraction:
    """P(a report | its truth is in it) / P(the report | its truth is not)."""
    prob = Fraction(prob_own)
    return prob * (k - size) / ((1 - prob) * size)


def best_size(k: int, epsilon: float) -> int:
    """The report size with the smallest variance at equal proportions.

    k : number of categories, at least 2.  epsilon : nats.
    It is near k / (e^epsilon + 1): the variance for these n rows first falls and then rises with
    the size.  Ties give the smallest size.  Source: Ye and Barg (2018), sect. III.

    >>> best_size(100, 1.0), best_size(5, 1.0)
    (27, 1)
    """
    near = k / (math.exp(min(epsilon, _LARGEST_EXPONENT)) + 1)
    sizes = range(max(1, int(near) - 1), min(k - 1, int(near) + 2) + 1)

    def variance(size: int) -> float:
        p = size / (size + (k - size) * math.exp(-epsilon))
        q = (p * (size - 1) + (1 - p) * size) / (k - 1)
        gap = (size / k - p) * k / (k - 1)  # p - q, up to its sign, without cancelling
        total = p * (1 - p) + (k - 1) * q * (1 - q)
        return total / gap**2 if gap else math.inf

    return min(sizes, key=variance, default=1)


# -- drawing -------------------------------------------------------------------------------


def _subsets(
    source: Source, block: int, truth_bits: NDArray[np.uint8], *, size: int, others: int
) -> list[NDArray[np.uint8]]:
    """Uniformly random subsets of ``others`` categories, packed; a (rows,) byte for 8 of them.

    truth_bits : (rows,) 1 where the true category is named too: the subset then has one element
        fewer than ``size``.
    Each category in turn is taken with probability (number still to take) / (categories still to
    come); then every subset is equally likely.
    Source: Fan, Muller and Rezucha (1962), method 1; Knuth, vol. 2, algorithm 3.4.2 S.
    """
    left = size - truth_bits.astype(np.min_scalar_type(size))
    planes = []
    column = 0
    while column < others:
        plane = np.zeros(len(truth_bits), dtype=np.uint8)
        # The first category drawn ends in the highest bit, so each bit costs one addition.
        for _ in range(min(8, others - column)):
            if others - column > 1:
                taken = _taken(source, block, left, column=column, others=others, size=size)
            else:
                taken = left.astype(np.uint8)
            plane += plane
            plane |= taken
            left -= taken
            column += 1
        planes.append(plane)
    return planes


def _taken(
    source: Source, block: int, left: Codes, *, column: int, others: int, size: int
) -> NDArray[np.uint8]:
    """Coins that are 1 with probability exactly ``left`` / (categories still to come)."""
    rows = len(left)
    to_come = others - column
    stream = SUBSET_STREAM + column // _COLUMNS_PER_STREAM
    within = column % _COLUMNS_PER_STREAM
    width = min(others, _COLUMNS_PER_STREAM)
    # Few rows: a tie could be timed, so the first digit has 64 bits.
    bits = source.bits or (64 if rows < SMALL_CALL_ROWS else 8)
    drawn = source.words(stream, block, rows, round=within, bits=bits)
    digit = _next_digits(left, to_come, bits, size, only_digits=True)[0].astype(drawn.dtype)
    heads: Booleans = drawn < digit
    if to_come <= size:  # all remaining categories are taken; no digit expresses probability 1
        heads |= left == to_come
    tied = np.flatnonzero(drawn == digit)
    _, remainders = _next_digits(left[tied], to_come, bits, size)
    turn = 0
    while remainders.any():
        undecided = remainders != 0
        tied = tied[undecided]
        remainders = remainders[undecided]
        turn += 1
        bits = source.bits or 32
        digit, remainders = _next_digits(remainders, to_come, bits, to_come)
        drawn = source.words(stream, block, tied, round=turn * width + within, bits=bits)
        heads[tied[drawn < digit]] = True
        equal = drawn == digit
        tied = tied[equal]
        remainders = remainders[equal]
    return heads.view(np.uint8)


def _next_digits(
    numerators: Codes, denominator: int, bits: int, largest: int, *, only_digits: bool = False
) -> tuple[Codes, Codes]:
    """The next digits in base 2**bits of numerators / denominator, and the remainders.

    numerators : at most ``largest``.  A digit of 64 bits is computed in two halves.
    """
    if bits > 32:
        high, remainders = _next_digits(numerators, denominator, bits - 32, largest)
        low, remainders = _next_digits(remainders, denominator, 32, denominator)
        return (high.astype(np.uint64) << np.uint64(32)) | low, remainders
    # The narrowest type that holds them; NumPy divides by a scalar as fast as it multiplies.
    wide = np.min_scalar_type(max(largest << bits, denominator)).type
    scaled = numerators.astype(wide) * wide(1 << bits)
    digits = scaled // wide(denominator)
    if only_digits:
        return digits, numerators
    return digits, scaled - digits * wide(denominator)


def _insert_truth(
    others: list[NDArray[np.uint8]], codes: Codes, truth_bits: NDArray[np.uint8], k: int
) -> NDArray[np.uint8]:
    """(rows, width) reports: the bits of the others with the true category's bit inserted.

    Bits from the true category's place on move up by one; all categories need equal operations.
    """
    reports = np.empty((len(codes), -(-k // 8)), dtype=np.uint8)
    of_codes = codes.dtype.type
    byte = codes >> of_codes(3)
    bit = np.left_shift(np.uint8(1), (codes & of_codes(7)).astype(np.uint8))
    zero = np.uint8(0)
    carried = np.zeros(len(codes), dtype=np.uint8)
    for place in range(reports.shape[1]):
        bits = others[place] if place < len(others) else np.zeros_like(carried)
        truth_mask = zero - (byte == place).view(np.uint8)  # all bits or none
        below_mask = zero - (byte > place).view(np.uint8)
        below_mask |= truth_mask & (bit - np.uint8(1))
        truth_mask &= bit
        moved = bits + bits
        moved |= carried
        carried = bits >> np.uint8(7)
        moved ^= (moved ^ bits) & below_mask
        moved &= ~truth_mask
        truth_mask &= zero - truth_bits
        moved |= truth_mask
        reports[:, place] = moved
    return reports
