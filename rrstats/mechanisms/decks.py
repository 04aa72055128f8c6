"""Decks: the cards of a survey design, dealt to the people of a block without replacement.

A deck has a fixed number of cards of each kind, so that the number of answers of a block that are
garbled is fixed, too ("hard garbling").  The share in a population then needs far fewer people than
with independent coins.  It is **not** local differential privacy: whoever knows the other answers
of a block may read the last one from the reports, so epsilon is infinite and `privatize` refuses
such a design.
Sources: Chassang and Zehnder; Chassang, Boudreau, Gonzalez-Torres and Heath (NBER 31011).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rrstats._typing import Counts
from rrstats.errors import ArgumentValueError

_MAX_DENOMINATOR = 10**6
"""A number within rounding of such a fraction stands for it: 0.05 of 20 cards is one card."""

_ROUNDING = Fraction(1, 2**50)
"""The distance of 1 - 0.95 from 1/20 is below it."""

MAX_CARDS = 1_000_000
"""The largest deck."""


@dataclass(frozen=True)
class Deck:
    """The cards of a deck: what each asks of its respondent.

    truth : the share of cards that ask for the true answer.
    opposite : that of cards that ask for its opposite (Warner's second statement).
    yes, no : those of cards that dictate the answer.
    size : the number of cards, or None where each block has a deck of its own size.
    code : the code of the answer yes.
    """

    code: int
    size: int | None
    truth: Fraction
    opposite: Fraction = Fraction(0)
    yes: Fraction = Fraction(0)
    no: Fraction = Fraction(0)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of cards of each kind."""
        return self.truth, self.opposite, self.yes, self.no

    @property
    def direct(self) -> float:
        """Direct answers whose variance in a population is that of one card of a full deck."""
        return float((self.truth - self.opposite) ** 2 / (self.truth + self.opposite))

    def cards(self, sizes: Counts) -> Counts:
        """(4, blocks) cards of each kind in decks of these sizes; raises if they are not whole."""
        for size in np.unique(sizes).tolist():
            if any((share * size).denominator > 1 for share in self.shares):
                shares = ", ".join(str(share) for share in self.shares if share)
                raise ArgumentValueError(
                    "the share of each kind of card times the number of cards must be whole, found "
                    f"{shares} of {size}; give deck=, the number of cards of a block, and leave "
                    "the people who took part incomplete"
                )
        return np.array([[int(share * size) for size in sizes.tolist()] for share in self.shares])


def simple_share(value: Fraction) -> Fraction:
    """The simplest fraction within rounding: 1/20 for 0.05.

    >>> simple_share(Fraction(0.05))
    Fraction(1, 20)
    """
    simple = value.limit_denominator(_MAX_DENOMINATOR)
    return simple if abs(simple - value) <= _ROUNDING else value
