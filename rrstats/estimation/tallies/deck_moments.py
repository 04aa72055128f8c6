"""Moments of blocks of people whose cards were dealt without replacement.

The units of the tally are the blocks.  In full blocks the yes less the dictated ones are binomial,
as if only the people with a card that asks had been asked directly.
Source: see `inference.dealt_cards`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rrstats._cached import cached_property
from rrstats._checks import check_one_of
from rrstats._display import counted
from rrstats._frozen import fixed
from rrstats._typing import Booleans, Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns.sample_design import SampleDesign
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.moments import (
    ROUNDING,
    ChannelMoments,
    CountedMoments,
    Moments,
    TargetMoments,
)
from rrstats.estimation.tallies.tally import Tally, UnitCounts
from rrstats.inference.binomial import DEFAULT_METHOD, METHODS
from rrstats.inference.contrasts import Interval
from rrstats.inference.dealt_cards import DealtBlocks
from rrstats.inference.melded import BinomialCounts
from rrstats.mechanisms.channel import BinomialRates, multinomial
from rrstats.mechanisms.decks import Deck

_DIRECT = BinomialRates(np.zeros(2), np.ones(2), complementary=True)

_OF_TWO = np.array([[1.0, -1.0], [-1.0, 1.0]])
"""The covariance of two proportions that sum to 1, over their variance."""


class DeckMoments(CountedMoments, TargetMoments):
    """Moments of reports of one deck design.

    blocks : the people and cards of the blocks.
    block_yes : (blocks,) their reports of yes.
    code : the code of the sensitive category.
    """

    def __init__(self, tally: Tally, target: str, ddof: int, deck: Deck) -> None:
        channel = tally.mechanism.channel
        super().__init__(channel, tally.reported, tally.n, target, ddof=ddof)
        self.code = deck.code
        self.blocks = dealt_blocks(tally, deck)
        counts = tally.counts
        self.block_yes = counts.reported[counts.rows > 0, deck.code]
        places = counts.places[counts.rows > 0].tolist()
        self._places = {counts.units.keys[unit]: place for place, unit in enumerate(places)}
        self._deck = deck

    @cached_property
    def _yes(self) -> int:
        return int(self.reported[self.code])

    @cached_property
    def _rates(self) -> tuple[float, float]:
        """P(report yes) at a true proportion of yes of 0 and of 1."""
        row = np.asarray(multinomial(self.channel).matrix)[self.code]
        return float(row[1 - self.code]), float(row[self.code])

    def _variance_at(self, proportion: float) -> float:
        """The variance of the proportion for the target, at a true proportion."""
        if self.target == "population":
            variance = float(np.polyval(self.blocks.population_variance[::-1], proportion))
        else:
            variance = self.blocks.rows_variance(self.n * proportion)
        return variance / self._scale**2

    @cached_property
    def _varying(self) -> Floats:
        """(blocks,) unbiased numbers of people on whom cards fall whose number varies."""
        low, high = self._rates
        true_yes = (self.block_yes - low * self.blocks.people) / (high - low)
        return self.blocks.varying_people(true_yes)

    @cached_property
    def _scale(self) -> float:
        """Reports of yes for a proportion of 1."""
        low, high = self._rates
        return float(self.n * (high - low))

    def _unbiased_variance(self, target: str, ddof: int) -> float:
        """The variance from the estimate, whose square is too large by the variance itself."""
        if not self.n:
            return np.nan
        if target == "sample":
            return self._rows_variance(ddof)
        coefficients = self.blocks.population_variance / self._scale**2
        at_estimate = float(np.polyval(coefficients[::-1], self.proportions[self.code]))
        excess = 1 + ddof * coefficients[2]
        return at_estimate / excess if abs(excess) > ROUNDING else np.nan

    def _rows_variance(self, ddof: int) -> float:
        """The variance for these people, from the estimate of each kind of block.

        Blocks of a kind have equal people and cards.  Unbiased for one block; of several, it is the
        variance of true answers spread evenly, the largest.  A block with one card that asks has no
        unbiased variance, and gets its largest.
        """
        blocks = self.blocks
        low, high = self._rates
        kinds, kind_of, number = np.unique(
            [blocks.people, blocks.sizes], axis=1, return_inverse=True, return_counts=True
        )
        varying = np.bincount(kind_of.ravel(), self._varying)
        spread = np.bincount(kind_of.ravel(), blocks.rows_spread) / number**2
        excess = 1 - ddof * spread / (high - low) ** 2
        cards = number * kinds[1]
        widest = np.minimum(number * kinds[0], cards / 2)
        varying = np.where(np.abs(excess) > ROUNDING, varying, widest)
        excess = np.where(np.abs(excess) > ROUNDING, excess, 1.0)
        return float((spread * varying * (cards - varying) / excess).sum() / self._scale**2)

    def _covariance(self, target: str, ddof: int) -> Floats:
        return self._unbiased_variance(target, ddof) * _OF_TWO

    has_cells = False  # numbers of yes are not those of independent reports

    def null_covariance(self, proportions: Floats) -> Floats:
        """(2, 2) covariance at these proportions."""
        return self._variance_at(float(proportions[self.code])) * _OF_TWO

    def covariance_with(self, other: Moments) -> Floats | None:
        """(2, 2) covariance with another group that has other people of these blocks.

        Of two blocks with one label each has a part if both fit into one deck.  A card that fell on
        one group did not fall on the other.
        """
        if not isinstance(other, DeckMoments) or self._deck != other._deck:
            return None
        pairs = [
            (place, other._places[key])
            for key, place in self._places.items()
            if key in other._places
        ]
        ours, theirs = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        sizes = self.blocks.sizes[ours]
        people = self.blocks.people[ours] + other.blocks.people[theirs]
        parts = (sizes == other.blocks.sizes[theirs]) & (people <= sizes)
        if not parts.any():
            return None
        low, high = self._rates
        spread = self.blocks.rows_spread[ours]
        excess = 1 - spread / (high - low) ** 2
        products = spread * self._varying[ours] * other._varying[theirs]
        products = products / np.where(np.abs(excess) > ROUNDING, excess, 1.0)
        covariance = -float(products[parts].sum()) / (self._scale * other._scale)
        return covariance * _OF_TWO

    @cached_property
    def variance(self) -> Floats:
        """(2,) variance of the proportions, for the target."""
        return fixed(np.diagonal(self.covariance).copy())

    @cached_property
    def randomization_variance(self) -> Floats:
        """(2,) the part of `variance` due to the cards, the largest over the blocks' answers."""
        return fixed(np.full(2, self._unbiased_variance("sample", 1)))

    @cached_property
    def support(self) -> tuple[Floats, Floats]:
        """(2,) counts and proportions of the reports."""
        counts = self.reported.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return counts, counts / self.n

    @cached_property
    def implausible(self) -> Booleans:
        """(2,) True where reports are rarer or commoner than any truth explains."""
        rare = self.blocks.population_tails(self._yes, 0.0)[0] < arrays.FALSE_ALARM
        common = self.blocks.population_tails(self._yes, 1.0)[1] < arrays.FALSE_ALARM
        found = np.array([common, rare]) if self.code == 0 else np.array([rare, common])
        return found & bool(self.n)

    # -- intervals ---------------------------------------------------------------------------------

    @cached_property
    def binomial_rates(self) -> BinomialRates:
        """Those of a direct question in full blocks, else of coins; of an effective sample."""
        coins = self.channel.binomial_rates
        return _DIRECT if self.blocks.is_full or coins is None else coins

    @property
    def binomial_counts(self) -> BinomialCounts | None:
        """The answers to cards that ask, where their number is fixed."""
        if self.target == "sample" or not self.blocks.is_full or self.blocks.opposite.any():
            return None
        asked = float(self.blocks.truth.sum())
        yes = np.clip(self._yes - self.blocks.yes.sum(), 0, asked)
        counts = np.full(2, asked - yes)
        counts[self.code] = yes
        zeros = np.zeros(2)
        return BinomialCounts(counts, np.full(2, asked), zeros, zeros + 1)

    @property
    def effective_support(self) -> Floats:
        """(2,) the proportions, in [0, 1], as rates of these reports."""
        return self._support_at(np.clip(self.proportions, 0, 1))

    def _support_at(self, proportions: Floats) -> Floats:
        """(2,) rates of reports at true proportions."""
        rates = self.binomial_rates
        low = rates.false_positive_rate
        return np.asarray(low + (rates.true_positive_rate - low) * proportions)

    def effective_sizes(self, level: float, df: Floats | float | None = None) -> Floats:
        """(2,) reports whose proportion has this variance; inside (0, 1), so that it has."""
        if not self.n:
            return np.zeros(2)
        inside = (self.n * np.clip(self.proportions, 0, 1) + 0.5) / (self.n + 1)
        variance = self._variance_at(float(inside[self.code]))
        support = self._support_at(inside)
        slope = self._support_at(np.ones(2)) - self._support_at(np.zeros(2))
        sizes = support * (1 - support) / slope**2
        return sizes / variance if variance > 0 else np.full(2, float(self.n))

    def interval(self, level: float, method: str | None, target: str) -> Interval:
        """(2,) intervals of the proportions: both tails of the exact distribution by default."""
        if not self.n:
            return Interval(np.zeros(2), np.ones(2))
        if target == "sample" and method is not None:
            raise ArgumentValueError(
                f"method must be None for target 'sample', which has one interval; found {method!r}"
            )
        name = check_one_of(method or DEFAULT_METHOD, "method", METHODS)
        if name != DEFAULT_METHOD:
            return self.effective_interval(level, name, self.binomial_rates)
        if target == "population":
            low, high = self.blocks.population_interval(*self._possible, level)
        else:
            low, high = np.array(self.blocks.rows_interval(*self._possible, level)) / self.n
        ends = np.array([[1 - high, 1 - low], [low, high]])
        return Interval(*(ends if self.code == 1 else ends[::-1]).T)

    @property
    def _possible(self) -> tuple[int, int]:
        """The yes, not more than are expected of true yes alone, nor less than of no alone.

        So no interval is a sliver where the estimate is outside [0, 1].
        """
        no_yes, all_yes = (round(self.n * rate) for rate in self._rates)
        return min(self._yes, all_yes), max(self._yes, no_yes)

    def _check_likelihood(self) -> None:
        raise ArgumentValueError(
            "counts of decks have no likelihood of independent reports; project() gives "
            "proportions in [0, 1]"
        )

    @property
    def _shared_notes(self) -> Sequence[str]:
        blocks = self.blocks
        notes = [
            f"Cards were dealt without replacement, in {counted(len(blocks.people), 'block')}: "
            "this is not local privacy, and who knows the other answers of a block may know this "
            "one."
        ]
        if self.target == "sample" and len(blocks.people) > 1:
            notes.append(
                "Variances and intervals are the largest over the ways in which true answers fall "
                "into blocks."
            )
        return notes


def dealt_blocks(tally: Tally, deck: Deck) -> DealtBlocks:
    """The blocks of a tally: its strata, or all people, with the cards of their decks."""
    counts = tally.counts
    _check_units(counts)
    people = counts.rows
    sizes = counts.drawn[counts.places]
    if len(counts.units) == 1:
        sizes = np.maximum(sizes, people + tally.n_missing)
    used = people > 0
    people, sizes = people[used], sizes[used]
    largest = sizes.max(initial=0)
    if deck.size is not None and largest > deck.size:
        raise ArgumentValueError(
            f"blocks must have at most {deck.size} people, the cards of a deck, found one of "
            f"{largest}; give blocks=, the block of each person"
        )
    sizes = sizes if deck.size is None else np.full(len(people), deck.size)
    blocks = DealtBlocks(people, sizes, *deck.cards(sizes))
    kinds = sum(bool(share) for share in deck.shares)
    if not blocks.is_full and (deck.opposite or kinds > 2):
        raise ArgumentValueError(
            "blocks must be full where cards ask for the opposite, or dictate both answers: every "
            f"card dealt and every report there, found {int((people < sizes).sum())} that are not"
        )
    return blocks


def _check_units(counts: UnitCounts) -> None:
    """Raise where a sample has more than blocks."""
    has_clusters = len(set(counts.units.strata.tolist())) < len(counts.units)
    if counts.weights is not None or counts.replicates is not None or has_clusters:
        raise ArgumentValueError(
            "a deck of cards takes blocks= alone, without weights, clusters and replicates: its "
            "variance is that of people who all count the same"
        )


def deck_moments(tally: Tally, target: str, ddof: int, design: SampleDesign, deck: Deck) -> Moments:
    """The moments of a deck design; where each deck was dealt to one person, those of coins."""
    if design.finite:
        raise ArgumentValueError(
            "design must have no population for a deck of cards; target='sample' is about the "
            "people surveyed"
        )
    moments = DeckMoments(tally, target, ddof, deck)
    drawn = tally.counts.drawn[tally.counts.places]
    if deck.size is not None and (drawn == 1).all():
        return ChannelMoments(tally.mechanism.channel, tally.reported, tally.n, target, ddof=ddof)
    return moments
