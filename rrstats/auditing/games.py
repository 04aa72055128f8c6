"""What an audit plays: pairs of answers, and short calls, in which everything is looked at.

    short calls   three records, one of them changed: everything about the result is an event
    long calls    a coin for each row: see `rrstats.auditing.columns`
    workers       two processes that start from the same state, compared row by row: there too

Each event has several views, among which the choosing trials choose: exact reports for each pair
of answers; and, over all pairs together, only which of the two a report shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rrstats.auditing.guesses import Codes, Dice, Event, Flags, crossed
from rrstats.auditing.runs import FACTS, Coder, Inputs, Run, Subject
from rrstats.data.categories import is_missing

__all__ = ["SHORT_EVENTS", "Pairs", "Stage", "said_of", "short_calls"]

_ALL_PAIRS, _MOST_PAIRS = 8, 400
"""Up to so many categories all their pairs are tried; and so many pairs at most."""

_ROWS = 3
"""Records of a short call."""

_UNTOLD = -1
"""Stands for the truth of the changed record, which is what is to be guessed."""

MISSING, TOGETHER, OWN = "which reports are missing", "all reports", "report at its place"
SHORT_EVENTS = (*FACTS, MISSING, TOGETHER, OWN)

SHORT_CHOOSERS = 2
"""One short call in so many chooses what to look at: there are few, and much to be seen."""


@dataclass(frozen=True)
class Pairs:
    """The pairs of answers between which a record is changed.

    first, second : (pairs,) places among the inputs.  plain : how many pairs are of categories.
    """

    first: Codes
    second: Codes
    plain: int

    @classmethod
    def of(cls, inputs: Inputs, *, few: bool = False) -> Pairs:
        """All pairs of few categories, neighbours of many; with all else, first and last.

        few : neighbours in any case.
        """
        k = inputs.k
        if k <= _ALL_PAIRS and not few:
            plain = list(combinations(range(k), 2))
        else:
            step = -(-k // _MOST_PAIRS)
            plain = [(c, (c + 1) % k) for c in range(0, k, step)][: 1 if k == 2 else k]
        others = [(c, other) for other in inputs.others for c in (0, k - 1)]
        others += list(combinations(inputs.others, 2))
        first, second = np.array(plain + others, dtype=np.intp).T
        return cls(first, second, len(plain))

    def without(self, dropped: set[int]) -> Pairs:
        """The pairs of other inputs than these."""
        lost = list(dropped)
        kept = ~(np.isin(self.first, lost) | np.isin(self.second, lost))
        return Pairs(self.first[kept], self.second[kept], int(kept[: self.plain].sum()))

    def drawn(self, dice: Dice, count: int, others_in: int = 2) -> Codes:
        """(count,) pairs at random; one in ``others_in`` is not of categories, if any are not."""
        others = len(self.first) - self.plain
        if not others or not self.plain:
            return dice.integers(count, len(self.first))
        plain, other = dice.integers(count, self.plain), dice.integers(count, others)
        return np.where(dice.integers(count, others_in) > 0, plain, self.plain + other)

    def values(self, record: Codes, coins: Flags) -> Codes:
        """What the record holds."""
        return np.where(coins, self.second[record], self.first[record])


# -- short calls ---------------------------------------------------------------------------


def _settings(k: int) -> list[tuple[int, tuple[int, int]]]:
    """Where the changed record stands, and what the two others hold."""
    last, middle = k - 1, k // 2
    # Constant, then two others in order and out of it.
    backgrounds = dict.fromkeys([(0, 0), (0, last), (last, 0), (0, middle), (middle, 0)])
    return [(place, others) for place in range(_ROWS) for others in backgrounds]


def short_calls(
    subject: Subject, inputs: Inputs, dice: Dice, calls: int
) -> tuple[list[Event], set[int], int]:
    """All events of the short calls; the inputs with which no long call can be made; and how
    often the rarest input stood in the record.
    """
    pairs, settings = Pairs.of(inputs, few=True), _settings(inputs.k)
    record, coins = pairs.drawn(dice, calls), dice.coins(calls)
    setting = dice.integers(calls, len(settings))
    changed = pairs.values(record, coins)
    given = np.empty((calls, _ROWS), dtype=np.intp)
    for at, (place, others) in enumerate(settings):
        here = setting == at
        given[here] = np.insert(np.array(others), place, 0)
        given[here, place] = changed[here]
    runs = [subject.run(inputs.taken(row)) for row in given.tolist()]
    broken = {
        int(value)
        for value, run in zip(changed, runs, strict=True)
        if run.reports is None or len(run.reports) != _ROWS
    }
    stage = Stage("short calls", inputs, pairs, record, coins)
    rarest = int(np.bincount(changed, minlength=len(inputs.values)).min())
    given[np.arange(calls), [settings[at][0] for at in setting]] = _UNTOLD
    return list(_short_events(stage, runs, setting, given)), broken, rarest


@dataclass(frozen=True)
class Stage:
    """What all events of some trials share."""

    calls: str
    inputs: Inputs
    pairs: Pairs
    record: Codes
    coins: Flags

    @property
    def both(self) -> Codes:
        """(pairs, 2) the places of the two inputs."""
        return np.stack([self.pairs.first, self.pairs.second], axis=1)

    @property
    def alike(self) -> Codes:
        """(n,) the same for all pairs of categories, and for others as well as they go."""
        beyond = np.maximum(self.both - self.inputs.k + 1, 0)
        return np.asarray(beyond @ [1, len(self.inputs.values)])[self.record]

    def event(
        self, name: str, views: tuple[Codes, ...], say: Callable[[int], str], **options: Any
    ) -> Event:
        """An event of these trials."""
        return Event(self.calls, name, self.both, self.record, self.coins, views, say, **options)


def _short_events(stage: Stage, runs: list[Run], setting: Codes, given: Codes) -> Iterator[Event]:
    """All events of the short calls, looked at with and without how the call was set."""
    company, pair, choosers = Coder(), stage.record, SHORT_CHOOSERS
    others = company.codes([str(sorted(held)) for _, held in _settings(stage.inputs.k)])[setting]
    for fact in FACTS:
        texts = [run.facts.get(fact) or "nothing" for run in runs]
        seen = Coder().codes(texts)
        looks = seen, crossed(pair, seen), crossed(pair, others, seen), crossed(pair, setting, seen)
        yield stage.event(fact, looks, texts.__getitem__, certain=True, choosers=choosers)
    missing, words, marks = _told(stage, runs, given)
    seen = Coder().codes(missing)
    views: tuple[Codes, ...] = crossed(pair, seen), crossed(pair, setting, seen)
    yield stage.event(MISSING, views, missing.__getitem__, choosers=choosers)
    together = list(map(", ".join, words))
    exact, coarse = Coder().codes(together), Coder().codes(list(map(", ".join, marks)))
    views = crossed(pair, others, exact), crossed(pair, setting, exact)
    views += crossed(stage.alike, coarse), crossed(stage.alike, setting, coarse)
    yield stage.event(TOGETHER, views, together.__getitem__, choosers=choosers)
    place = np.array([at for at, _ in _settings(stage.inputs.k)])[setting]
    own, mine = (Coder().codes(_at(place, told)) for told in (words, marks))
    views = crossed(pair, place, own), crossed(stage.alike, place, mine)
    yield stage.event(OWN, views, _at(place, words).__getitem__, choosers=choosers)


def _at(places: Codes, told: list[list[str]]) -> list[str]:
    """What each call told at the place of its changed record."""
    found = zip(places.tolist(), told, strict=True)
    return [f"row {at + 1}: {words[at] if at < len(words) else 'nothing'}" for at, words in found]


def _told(
    stage: Stage, runs: list[Run], given: Codes
) -> tuple[list[str], list[list[str]], list[list[str]]]:
    """Of each short call which reports are missing, all reports, and what they show."""
    coder = Coder()
    codes = [None if run.reports is None else coder.codes(run.reports) for run in runs]
    shows, said = coder.shows(stage.inputs), list(map(said_of, coder.things))
    missing: list[str] = []
    words: list[list[str]] = []
    marks: list[list[str]] = []
    for mine, row, both in zip(codes, given, stage.both[stage.record], strict=True):
        if mine is None:
            told, gone, shown = ["an exception"], ["an exception"], ["an exception"]
        else:
            told = [said[code] for code in mine]
            gone = [str(at) for at, word in enumerate(told, 1) if word == said_of(None)]
            shown = [_mark(shows[c], truth, both) for c, truth in zip(mine, row, strict=False)]
        missing.append(" and ".join(gone) or "none")
        words.append(told)
        marks.append(shown)
    return missing, words, marks


def said_of(report: Any) -> str:
    """A report in words."""
    if is_missing(report):
        return "missing"
    text = repr(report)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _mark(shown: Flags, truth: int, both: Codes) -> str:
    """What a report shows, in words; of the changed record only which of the two answers."""
    words = [word for word, at in zip("AB", both, strict=True) if shown[at]]
    if truth != _UNTOLD and shown[truth]:
        words.append("the truth")
    return " and ".join(words) or "neither"
