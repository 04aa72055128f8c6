"""The guessing game: a lower bound on epsilon that needs nothing to be independent.

Each trial tosses a fair coin between two inputs that differ in one record.  Whoever guesses the
coin from all that came back is right with probability at most e^epsilon / (1 + e^epsilon),
whatever the outcome of all other trials.  So of N guesses the right ones are at most as many as
Bin(N, e^epsilon / (1 + e^epsilon)), in distribution, and the lower end of Clopper and Pearson's
interval for that share, carried through the logit, is a lower bound on epsilon.  Trials may share
one call, one generator, one coin: dependence is no excuse for a function that claims privacy.

What to guess from is chosen on one part of the trials and judged on the other, so that
choosing does not flatter; or the guesses are fixed beforehand, and judged in each of some cells.
Level: one-sided, split evenly over all events, and over looks and their cells (Bonferroni).
Sources: Clopper and Pearson (1934); Ding et al. (2018) and Bichsel et al. (2021) for choosing
events on other trials; Steinke, Nasr and Jagielski (2023), theorem 5.2, for many records in a call.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.randomness.samplers import below
from rrstats.randomness.sources import BLOCK_ROWS, SecureGenerator

__all__ = [
    "Bound",
    "Dice",
    "Event",
    "Look",
    "Told",
    "crossed",
    "excess_seen",
    "guessed",
    "least_guesses",
    "lower_epsilon",
    "play",
]

Flags = NDArray[np.bool_]
Codes = NDArray[np.intp]

_MOST_PREFIXES = 1000

_DOUBT = 2
"""Right and wrong guesses that each cell is thought to have seen: so few real ones prove little."""

_ENOUGH = 20
"""Choosing trials after which a cell's share is more than a rumour."""


class Dice:
    """The audit's own coins, from the operating system: no function under audit can know them."""

    def __init__(self) -> None:
        self._source = SecureGenerator().open()
        self._block = 0

    def integers(self, count: int, bound: int) -> Codes:
        """(count,) independent uniform integers below ``bound``."""
        found = np.empty(count, dtype=np.intp)
        for start in range(0, count, BLOCK_ROWS):
            part = found[start : start + BLOCK_ROWS]
            self._block += 1
            part[:] = below(self._source, 0, self._block, len(part), bound)
        return found

    def coins(self, count: int) -> Flags:
        """(count,) fair coins."""
        return self.integers(count, 2).astype(np.bool_)


@dataclass(frozen=True)
class Event:
    """What was seen in some trials, to guess their coins from.

    calls : which calls.  name : what was looked at.
    pairs : (pairs, 2) places among the inputs.  record : (n,) the pair between which the coin of a
        trial chose, a row of ``pairs``.
    coins : (n,) which of the two it was.
    views : one or more ways to look, each (n,) the cell that a trial falls into; made of what came
        back and of what is public about the trial.
    say : what was seen in a trial, in words; A and B stand for the two inputs.
    certain : whether noise has no business here, so that what is seen in every trial is no chance.
    choosers : one trial in so many chooses the view and its guesses; the others judge them.
    """

    calls: str
    name: str
    pairs: Codes
    record: Codes
    coins: Flags
    views: tuple[Codes, ...]
    say: Callable[[int], str]
    certain: bool = False
    choosers: int = 4

    def bound(self, dice: Dice, error: float) -> Bound:
        """What the event comes to, wrongly at most at rate ``error``."""
        return play(self, dice, error)


class Look(NamedTuple):
    """Some of the trials, in cells that were known before anything came back.

    cells : (n,) the cell of each trial, -1 for none.  say : what a cell is, in words.
    """

    cells: Codes
    say: Callable[[int], str]


@dataclass(frozen=True)
class Told(Event):
    """An event whose guesses do not need to be chosen: nothing is lost to those that choose.

    guess : (n,) the coin to guess in each trial, -1 for none.
    looks : ways to look at the trials, at most ``most``; in each, every cell is judged.
    least : trials that a cell must have to be worth its share of the error.
    """

    guess: Codes = field(kw_only=True)
    looks: Callable[[], Iterator[Look]] = field(kw_only=True)
    least: float = field(kw_only=True)
    most: int = field(kw_only=True)

    def bound(self, dice: Dice, error: float) -> Bound:
        """The best of all cells; the error is split over looks, and in each over its cells."""
        return _scan(self, error)


class Bound(NamedTuple):
    """What an event came to.

    trials : of which some chose.  guesses, right : among those that judged.
    epsilon_low : at the error of this event.
    example : a trial with the guess that told most; None without guesses.
    where : which trials these were, in words; empty for all.
    """

    trials: int
    guesses: int
    right: int
    epsilon_low: float
    example: int | None = None
    where: str = ""

    @property
    def always(self) -> bool:
        """Whether no guess was wrong."""
        return 0 < self.guesses == self.right


def crossed(*codes: Codes) -> Codes:
    """(n,) one code for each combination of codes."""
    found = np.zeros(len(codes[0]), dtype=np.intp)
    for column in codes:
        found = found * (int(column.max(initial=0)) + 1) + column
    return found


def lower_share(right: Any, guesses: Any, error: float) -> Floats:
    """The one-sided lower end of Clopper and Pearson's interval; 0 where nothing was right."""
    sure = np.maximum(right, 1e-300)
    low = scipy.special.betaincinv(sure, guesses - right + 1, error)
    return np.asarray(np.where(right > 0, low, 0.0))


def lower_epsilon(right: int, guesses: int, error: float) -> float:
    """The largest epsilon that so many right guesses refute, wrongly at most at rate ``error``.

    >>> round(lower_epsilon(800, 1000, 0.01), 4)
    1.2021
    >>> lower_epsilon(500, 1000, 0.01)
    0.0
    """
    share = float(lower_share(right, guesses, error))
    return max(0.0, math.log(share) - math.log1p(-share)) if share > 0 else 0.0


def least_guesses(epsilon: float, error: float) -> float:
    """So many guesses, all of them right, refute the claim."""
    each = -math.log1p(math.exp(-epsilon))
    return math.ceil(math.log(error) / each) if each < 0 else math.inf


def excess_seen(epsilon: float, guesses: int, error: float) -> float:
    """What a fault must add to epsilon to be seen half the time; infinite with too few guesses.

    guesses : how many the judging trials gave.
    """
    if guesses < least_guesses(epsilon, error):
        return math.inf
    # The fewest right guesses that refute: half of all audits see as many or more where this is
    # the median, which for a binomial law lies within 1 of its mean.
    needed = bisect_right(
        range(guesses), epsilon, key=lambda right: lower_epsilon(right, guesses, error)
    )
    return math.log(needed / max(guesses - needed, 1)) - epsilon


def guessed(view: Codes, coins: Flags, dice: Dice, error: float) -> Codes:
    """(n,) the guesses in one view that half of the trials choose; -1 for none, and for them."""
    choosing = dice.coins(len(coins))
    _, cells = np.unique(view, return_inverse=True)
    guess, _ = _chosen(cells, coins, choosing, error, certain=False)
    return np.where(choosing, -1, guess[cells])


def play(event: Event, dice: Dice, error: float) -> Bound:
    """Choose a view and its guesses on some trials of an event, and judge them on the others."""
    trials = len(event.coins)
    choosing = dice.integers(trials, event.choosers) == 0
    best, promised = np.full(trials, -1, dtype=np.intp), -1.0
    for view in event.views:
        _, cells = np.unique(view, return_inverse=True)
        guess, promise = _chosen(cells, event.coins, choosing, error, event.certain)
        if promise > promised:
            best, promised, told = guess[cells], promise, cells
    judged = np.flatnonzero(~choosing & (best >= 0))
    hit = best[judged] == event.coins[judged]
    guesses, right = len(judged), int(hit.sum())
    if not guesses:
        return Bound(trials, 0, 0, 0.0)
    most = np.bincount(told[judged], np.where(hit, 1.0, -1.0)).argmax()
    of_it = judged[hit & (told[judged] == most)]
    example = int(of_it[0] if of_it.size else judged[0])
    return Bound(trials, guesses, right, lower_epsilon(right, guesses, error), example)


def _scan(event: Told, error: float) -> Bound:
    """The highest bound among all cells that have trials enough."""
    trials, told, hit = len(event.coins), event.guess >= 0, event.guess == event.coins
    tables = []
    for at, look in enumerate(event.looks()):
        held = np.bincount(look.cells[look.cells >= 0])
        worth = np.flatnonzero(held >= event.least)
        if worth.size:
            here = told & (look.cells >= 0)
            guesses = np.bincount(look.cells[here], minlength=len(held))[worth]
            right = np.bincount(look.cells[here & hit], minlength=len(held))[worth]
            tables.append((at, worth, guesses, right))
    best, found = Bound(trials, 0, 0, 0.0), (0, 0)
    for at, worth, guesses, right in tables:
        each = error / (event.most * len(worth))
        top = int(lower_share(right, guesses, each).argmax())
        low = lower_epsilon(int(right[top]), int(guesses[top]), each)
        if low > best.epsilon_low or not best.guesses:
            best, found = Bound(trials, int(guesses[top]), int(right[top]), low), (at, worth[top])
    if not best.guesses:
        return best
    look = next(islice(event.looks(), found[0], None))
    inside = np.flatnonzero((look.cells == found[1]) & told)
    of_it = inside[hit[inside]]
    example = int(of_it[0] if of_it.size else inside[0])
    return best._replace(example=example, where=look.say(int(found[1])))


def _chosen(
    cells: Codes, coins: Flags, choosing: Flags, error: float, certain: bool
) -> tuple[Codes, float]:
    """The coin to guess in each cell, -1 for none, and the share that is promised thereby.

    certain : whether cells are expected to be right always or half the time, and those that were
        never wrong are enough, if they promise as much.
    """
    count = int(cells.max(initial=0)) + 1
    tails = np.bincount(cells[choosing & ~coins], minlength=count)
    heads = np.bincount(cells[choosing & coins], minlength=count)
    n, k = tails + heads, np.maximum(tails, heads)
    # A cell seen once looks certain; a prior, and one standard deviation less, know better.
    doubt = _DOUBT / 4 if certain else _DOUBT
    share = (k + doubt) / (n + 2 * doubt)
    spread = np.sqrt(share * (1 - share) / (n + 2 * doubt + 1))
    order = np.argsort(spread - share, kind="stable")
    scale = (~choosing).sum() / max(choosing.sum(), 1)
    guesses, right = np.cumsum(n[order]) * scale, np.cumsum((n * share)[order]) * scale
    ends = np.unique(np.geomspace(1, count, _MOST_PREFIXES).astype(np.intp)) - 1
    promises = lower_share(right[ends], guesses[ends], error)
    at = promises.argmax()
    best, promise = ends[at], float(promises[at])
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[order[: best + 1]] = True
    # The best prefix is flattered: cells that may well be as good come too, if that costs little.
    pooled = right[best] / max(guesses[best], 1)
    wider = chosen | ((n >= _ENOUGH) & (share + 2 * spread >= pooled))
    more, sure = n[wider].sum() * scale, (n * share)[wider].sum() * scale
    noise = np.sqrt(pooled * (1 - pooled) / max(n[chosen].sum(), 1))
    if lower_share(sure, more, error) >= promise - noise:
        chosen = wider
    never_wrong = (n >= _ENOUGH) & (k == n)
    often = n[never_wrong].sum() * scale
    if certain and often and (alone := float(lower_share(often, often, error))) >= promise:
        chosen, promise = never_wrong, alone
    return np.where(chosen & (n > 0), heads > tails, -1), promise
