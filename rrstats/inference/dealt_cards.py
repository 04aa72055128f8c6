"""Numbers of yes in blocks whose cards were dealt without replacement: exact distributions.

A block of j people holds j of the b cards of its deck.  Each report is the truth, its opposite, a
dictated yes or a dictated no.  With a fixed number of cards of each kind the number of yes is

    in the people surveyed  a constant plus hypergeometric numbers, given their true answers
    in a population         a constant plus binomial numbers of the cards that ask, in a full block

Intervals invert both tails of these distributions.  Given the true yes of all people together, the
blocks' numbers are unknown; the widest distribution has them spread evenly (enumerated for up to 20
blocks), and `rows_interval` takes it.
Source of the hypergeometric: Chassang and Zehnder (fixed numbers of garbled answers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from rrstats._typing import Counts, Floats
from rrstats.inference.optimize import first_accepted

_Tails = tuple[float, float]

_NEGLIGIBLE = 1e-13
"""Tails of a distribution below this are left out: rounding of its transform."""

_BISECTIONS = 60
"""Steps that halve an interval of proportions to the last digits."""


@dataclass(frozen=True, eq=False)
class DealtBlocks:
    """Blocks of people with the cards of their decks; all arrays have one entry for each block.

    people : those who reported.  sizes : cards of the deck.
    truth, opposite, yes, no : cards of each kind.
    """

    people: Counts
    sizes: Counts
    truth: Counts
    opposite: Counts
    yes: Counts
    no: Counts

    @cached_property
    def n(self) -> int:
        """The number of people."""
        return int(self.people.sum())

    @cached_property
    def is_full(self) -> bool:
        """True where every card was dealt."""
        return bool((self.people == self.sizes).all())

    @cached_property
    def dictated(self) -> tuple[int, Floats]:
        """The smallest number of dealt cards that dictate, and probabilities from there on."""
        if self.is_full:
            return int((self.yes + self.no).sum()), np.ones(1)
        return _summed(self.sizes, self.yes + self.no, self.people)

    @cached_property
    def _dictated_variance(self) -> float:
        """The variance of the number of dealt cards that dictate."""
        cards = self.yes + self.no
        free = self.people * (self.sizes - self.people)
        return float((self._spread(cards) * free).sum())

    def _spread(self, cards: Counts) -> Floats:
        """The variance of such cards among x of b people, over x (b - x)."""
        share = cards / self.sizes
        return np.asarray(share * (1 - share) / np.maximum(self.sizes - 1, 1))

    # -- variance of the number of yes, a polynomial in the true proportion of yes ----------------

    @property
    def population_variance(self) -> Floats:
        """(3,) coefficients of 1, f and f^2 in the variance, people being drawn at random."""
        asking = (self.people * (self.truth + self.opposite) / self.sizes).sum()
        dealt = np.array([1.0, -2.0, 1.0]) if self.yes.any() else np.array([0.0, 0.0, 1.0])
        return np.asarray(np.array([0.0, asking, -asking]) + self._dictated_variance * dealt)

    @property
    def rows_variance(self) -> Floats:
        """(3,) coefficients of 1, f and f^2 in the variance among these people, largest of all.

        It is that of true answers spread evenly over the blocks.
        """
        people, sizes = self.people, self.sizes
        spread = 4 * self._spread(self.truth) if self.opposite.any() else self._spread(self.truth)
        if self.yes.any() and not self.is_full:  # dictated cards among those with a true no
            terms = [people * (sizes - people), people * (2 * people - sizes), -(people**2)]
        else:
            terms = [0 * people, people * sizes, -(people**2)]
        return np.array([(spread * term).sum() for term in terms])

    # -- intervals ---------------------------------------------------------------------------------

    def population_tails(self, reported: int, proportion: float) -> _Tails:
        """P(at most, at least so many yes) in people drawn from a population."""
        low, weights = self.dictated
        dictated = low + np.arange(len(weights))
        yes = dictated if self.yes.any() and not self.no.any() else np.full(len(weights), 0)
        if self.is_full:
            yes = np.array([self.yes.sum()])
        asked = self.n - dictated
        opposite = int(self.opposite.sum())
        if opposite:
            below, above = _two_binomials(asked.item() - opposite, opposite, proportion, reported)
            return below, above
        binomial = scipy.stats.binom(asked, proportion)
        below = weights @ binomial.cdf(reported - yes)
        above = weights @ binomial.sf(reported - yes - 1)
        return float(below), float(above)

    def rows_tails(self, reported: int, true_yes: int) -> _Tails:
        """P(at most, at least so many yes) if so many of these people are a true yes."""
        with_yes = _spread_evenly(true_yes, self.people)
        step = 1
        if self.opposite.any():
            step = 2
            constant = self.opposite - with_yes
            low, weights = _summed(self.sizes, self.truth, with_yes)
        elif self.yes.any() and not self.is_full:
            constant = with_yes
            low, weights = _summed(self.sizes, self.yes, self.people - with_yes)
        else:
            constant = self.yes
            low, weights = _summed(self.sizes, self.truth, with_yes)
        numbers = int(constant.sum()) + step * (low + np.arange(len(weights)))
        below = weights[numbers <= reported].sum()
        above = weights[numbers >= reported].sum()
        return float(below), float(above)

    def population_interval(self, low: int, high: int, level: float) -> tuple[float, float]:
        """The proportions that both tails accept; ``low`` and ``high`` are numbers of yes.

        The lower end is that of ``low``, the upper end of ``high``: equal but where more or less
        yes were reported than the cards explain.
        """
        tail = (1 - level) / 2

        def is_above(proportion: float) -> bool:
            return self.population_tails(low, proportion)[1] > tail

        def is_below(proportion: float) -> bool:
            return self.population_tails(high, proportion)[0] > tail

        return 1 - _last_proportion(lambda x: is_above(1 - x)), _last_proportion(is_below)

    def rows_interval(self, low: int, high: int, level: float) -> tuple[int, int]:
        """The numbers of true yes among these people that both tails accept."""
        tail = (1 - level) / 2
        n = self.n
        first = first_accepted(lambda x: self.rows_tails(low, x)[1] > tail, -1, n, n // 2)
        least_no = first_accepted(lambda x: self.rows_tails(high, n - x)[0] > tail, -1, n, n // 2)
        return first, n - least_no


def _last_proportion(accept: Callable[[float], bool]) -> float:
    """The last proportion on the way from 0 to 1 that a rule accepts, which stays false then."""
    if accept(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if accept(middle) else (low, middle)
    return high


def _spread_evenly(total: int, sizes: Counts) -> NDArray[np.int64]:
    """A total over blocks in proportion to their sizes, in whole numbers (largest remainders)."""
    exact = total * sizes / max(sizes.sum(), 1)
    whole = np.floor(exact + 1e-9).astype(np.int64)
    left = total - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:left]] += 1
    return np.asarray(whole)


def _summed(sizes: Counts, marked: Counts, drawn: Counts) -> tuple[int, Floats]:
    """The distribution of a sum of hypergeometric numbers: its least value, and probabilities.

    sizes, marked, drawn : (blocks,) balls, those that count, and those that are drawn.
    """
    cases, times = np.unique([sizes, marked, drawn], axis=1, return_counts=True)
    least = np.maximum(0, cases[1] + cases[2] - cases[0])
    most = np.minimum(cases[1], cases[2])
    length = int(((most - least) * times).sum()) + 1
    if len(times) == 1 and times[0] == 1:
        numbers = np.arange(least[0], most[0] + 1)
        return int(least[0]), scipy.stats.hypergeom.pmf(numbers, *cases[:, 0])
    transformed = np.ones(length // 2 + 1, dtype=np.complex128)
    for (size, count, draws), low, high, power in zip(cases.T, least, most, times, strict=True):
        pmf = scipy.stats.hypergeom.pmf(np.arange(low, high + 1), size, count, draws)
        transformed *= np.fft.rfft(pmf, length) ** power
    weights = np.fft.irfft(transformed, length)
    return int((least * times).sum()), np.where(weights > _NEGLIGIBLE, weights, 0.0)


def _two_binomials(truth: int, opposite: int, proportion: float, reported: int) -> _Tails:
    """Tails of the yes of people who tell the truth plus those who tell the opposite."""
    numbers = np.arange(truth + 1)
    weights = scipy.stats.binom.pmf(numbers, truth, proportion)
    other = scipy.stats.binom(opposite, 1 - proportion)
    below = weights @ other.cdf(reported - numbers)
    above = weights @ other.sf(reported - numbers - 1)
    return float(below), float(above)
