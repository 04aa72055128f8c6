"""Numbers of yes in blocks whose cards were dealt without replacement: exact distributions.

A block of j people holds j of the b cards of its deck.  Each report is the truth, its opposite, a
dictated yes or a dictated no.  With a fixed number of cards of each kind the number of yes is

    in the people surveyed  a constant plus hypergeometric numbers, given their true answers
    in a population         a constant plus binomial numbers of the cards that ask, in a full block

Intervals invert both tails of these distributions.  Given the true yes of all people together, the
blocks' numbers are unknown; `rows_interval` takes those of the largest variance.  In no enumerated
case another filling of the blocks is covered less often than the level says.
Source of the hypergeometric: Chassang and Zehnder (fixed numbers of garbled answers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from rrstats._cached import cached_property
from rrstats._typing import Counts, Floats, Indices
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

    @cached_property
    def _varying(self) -> tuple[bool, Counts]:
        """The cards whose number varies, after whether they fall on a true no.

        Of incomplete blocks those that dictate a yes, else those that ask and fall on a true yes.
        """
        on_no = bool(self.yes.any()) and not self.is_full
        return on_no, self.yes if on_no else self.truth

    @property
    def rows_spread(self) -> Floats:
        """(blocks,) variance of a block's yes given its x people that vary, over x (size - x)."""
        _, cards = self._varying
        return self._spread(cards) * (4 if self.opposite.any() else 1)

    def varying_people(self, true_yes: Floats) -> Floats:
        """(blocks,) of numbers of true yes: those on whom cards fall whose number varies."""
        on_no, _ = self._varying
        return self.people - true_yes if on_no else true_yes

    @cached_property
    def _filling(self) -> tuple[Indices, Floats]:
        """(n,) blocks in the order in which people who vary add most variance, and (n + 1,) sums.

        Each block's variance is concave in its number, so that the sums are the largest possible.
        """
        block = np.repeat(np.arange(len(self.people)), self.people)
        before = np.arange(self.n) - (np.cumsum(self.people) - self.people)[block]
        added = self.rows_spread[block] * (self.sizes[block] - 2 * before - 1)
        order = np.argsort(-added, kind="stable")
        return block[order], np.append(0.0, np.cumsum(added[order]))

    def rows_variance(self, true_yes: float) -> float:
        """The largest variance of the number of yes among these people, over all blocks' answers.

        true_yes : their number of true yes, also between two whole numbers.
        """
        on_no, _ = self._varying
        _, variance = self._filling
        varying = self.n - true_yes if on_no else true_yes
        return float(np.interp(varying, np.arange(self.n + 1), variance))

    # -- intervals ---------------------------------------------------------------------------------

    def population_tails(self, reported: int, proportion: float) -> _Tails:
        """P(at most, at least so many yes) in people drawn from a population."""
        opposite = int(self.opposite.sum())
        if opposite:
            yes = np.arange(self.truth.sum() + 1)
            weights = scipy.stats.binom.pmf(yes, yes[-1], proportion)
            asked = np.array(opposite)
            chance = 1 - proportion
        else:
            low, weights = self.dictated
            dictated = low + np.arange(len(weights))
            yes = self.yes.sum() if self.is_full else dictated * self.yes.any()
            asked = self.n - dictated
            chance = proportion
        # without frozen distributions, which take 8 ms each
        below = weights @ scipy.stats.binom.cdf(reported - yes, asked, chance)
        above = weights @ scipy.stats.binom.sf(reported - yes - 1, asked, chance)
        return float(below), float(above)

    def rows_tails(self, reported: int, true_yes: int) -> _Tails:
        """P(at most, at least so many yes) if so many of these people are a true yes."""
        on_no, cards = self._varying
        order, _ = self._filling
        varying = order[: self.n - true_yes if on_no else true_yes]
        low, weights = _summed(self.sizes, cards, np.bincount(varying, minlength=len(self.sizes)))
        numbers = low + np.arange(len(weights))
        if on_no:
            numbers = true_yes + numbers
        elif self.opposite.any():
            numbers = self.opposite.sum() - true_yes + 2 * numbers
        else:
            numbers = self.yes.sum() + numbers
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
