"""What an audit plays: short calls looked at as a whole, long calls row by row, and workers.

    short calls   three records, one of them changed: everything about the result is an event
    long calls    a coin for each row: the report of a row, with its neighbour's, and with the
                  report of the same row in an earlier call
    workers       two processes that start from the same state, compared row by row

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
from rrstats.domain import is_missing

__all__ = ["LONG_EVENTS", "SHORT_EVENTS", "WORKER_EVENTS", "Pairs", "long_calls", "short_calls"]

CALL_ROWS = 1 << 16
"""Rows of one long call."""

COMPARED_ROWS = 20_000
"""Rows in which reports are compared with those of neighbours, other calls and other workers."""

TOSSED = slice(1, None, 2)
"""The rows among them whose answers are tossed; the others are known."""

_ALL_PAIRS, _MOST_PAIRS = 8, 400
"""Up to so many categories all their pairs are tried; and so many pairs at most."""

_ROWS = 3
"""Records of a short call."""

_UNTOLD = -1
"""Stands for the truth of the changed record, which is what is to be guessed."""

MISSING, TOGETHER = "which reports are missing", "all reports"
SHORT_EVENTS = (*FACTS, MISSING, TOGETHER)
BESIDE = ("the row before", "the same row of an earlier call")
WORKERS = ("the same row of another worker", "the same row of the parent")
REPORT = "report"
LONG_EVENTS = (REPORT, *(f"{REPORT}, beside {other}" for other in BESIDE))
WORKER_EVENTS = tuple(f"{REPORT}, beside {other}" for other in WORKERS)

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

    def drawn(self, dice: Dice, count: int) -> Codes:
        """(count,) pairs at random: half of them of categories, where there are others."""
        others = len(self.first) - self.plain
        if not others or not self.plain:
            return dice.integers(count, len(self.first))
        plain, other = dice.integers(count, self.plain), dice.integers(count, others)
        return np.where(dice.coins(count), plain, self.plain + other)

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
    stage = _Stage("short calls", inputs, pairs, record, coins)
    rarest = int(np.bincount(changed, minlength=len(inputs.values)).min())
    given[np.arange(calls), [settings[at][0] for at in setting]] = _UNTOLD
    return list(_short_events(stage, runs, setting, given)), broken, rarest


@dataclass(frozen=True)
class _Stage:
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


def _short_events(stage: _Stage, runs: list[Run], setting: Codes, given: Codes) -> Iterator[Event]:
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
    exact, coarse = Coder().codes(words), Coder().codes(marks)
    views = crossed(pair, others, exact), crossed(pair, setting, exact)
    views += crossed(stage.alike, coarse), crossed(stage.alike, setting, coarse)
    yield stage.event(TOGETHER, views, words.__getitem__, choosers=choosers)


def _told(stage: _Stage, runs: list[Run], given: Codes) -> tuple[list[str], list[str], list[str]]:
    """Of each short call which reports are missing, all reports, and what they show."""
    coder = Coder()
    codes = [None if run.reports is None else coder.codes(run.reports) for run in runs]
    shows, said = coder.shows(stage.inputs), list(map(said_of, coder.things))
    missing, words, marks = [], [], []
    for mine, row, both in zip(codes, given, stage.both[stage.record], strict=True):
        if mine is None:
            told, gone, shown = ["an exception"], ["an exception"], ["an exception"]
        else:
            told = [said[code] for code in mine]
            gone = [str(at) for at, word in enumerate(told, 1) if word == said_of(None)]
            shown = [_mark(shows[c], truth, both) for c, truth in zip(mine, row, strict=False)]
        missing.append(" and ".join(gone) or "none")
        words.append(", ".join(told))
        marks.append(", ".join(shown))
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


# -- long calls ----------------------------------------------------------------------------


def long_calls(
    subject: Subject, inputs: Inputs, pairs: Pairs, dice: Dice, rows: int
) -> Iterator[Event]:
    """The events of single rows: of each report, and of reports beside others.

    Raises LongCallError where a call gives no report for each row.
    """
    record, coins = pairs.drawn(dice, rows), dice.coins(rows)
    given = pairs.values(record, coins)
    reports, parts = Coder(), []
    for start in range(0, rows, CALL_ROWS):
        parts.append(long_call(subject, inputs, given[start : start + CALL_ROWS], reports))
    stage = _Stage("long calls", inputs, pairs, record, coins)
    yield _alone(stage, reports, np.concatenate(parts))
    plan = Compared.drawn(pairs, dice, min(rows, COMPARED_ROWS))
    earlier = long_call(subject, inputs, plan.known, reports)
    both = long_call(subject, inputs, plan.mixed, reports)
    stage = _Stage("long calls", inputs, pairs, plan.record, plan.coins)
    mine = both[TOSSED]
    yield _beside(stage, reports, BESIDE[0], mine, both[::2], plan.mixed[::2])
    yield _beside(stage, reports, BESIDE[1], mine, earlier[TOSSED], plan.known[TOSSED])


class LongCallError(Exception):
    """A long call did not give a report for each row."""


def long_call(subject: Subject, inputs: Inputs, given: Codes, reports: Coder) -> Codes:
    """(rows,) the coded reports of one long call."""
    run = subject.run(inputs.taken(given.tolist()), facts=False)
    return coded(run, len(given), reports)


def coded(run: Run, rows: int, reports: Coder) -> Codes:
    """(rows,) the coded reports of a run; raises LongCallError where there are not as many."""
    if run.reports is None:
        raise LongCallError(f"fn raised {run.raised[:200]}")
    if len(run.reports) != rows:
        raise LongCallError(f"fn gave {len(run.reports):,} reports for {rows:,} answers")
    return reports.codes(run.reports)


@dataclass(frozen=True)
class Compared:
    """Two inputs of as many rows: one all known; in the other known rows and coins take turns."""

    known: Codes
    mixed: Codes
    record: Codes
    coins: Flags

    @classmethod
    def drawn(cls, pairs: Pairs, dice: Dice, rows: int) -> Compared:
        """Known rows hold random categories that some pair has, and so do tossed ones.

        All else would make many generators draw more, so that rows were no longer aligned.
        """
        pairs = Pairs(pairs.first[: pairs.plain], pairs.second[: pairs.plain], pairs.plain)
        plain, half = np.unique(np.stack([pairs.first, pairs.second])), rows // 2
        known = plain[dice.integers(2 * half, len(plain))]
        mixed = plain[dice.integers(2 * half, len(plain))]
        record, coins = pairs.drawn(dice, half), dice.coins(half)
        mixed[TOSSED] = pairs.values(record, coins)
        return cls(known, mixed, record, coins)


def _alone(stage: _Stage, reports: Coder, mine: Codes) -> Event:
    """The event of single rows.  mine : (n,) their coded reports."""
    said = list(map(said_of, reports.things))
    views = crossed(stage.record, mine), crossed(stage.alike, _marks(stage, reports, mine))
    return stage.event(REPORT, views, lambda trial: said[mine[trial]])


def _marks(stage: _Stage, reports: Coder, mine: Codes) -> Codes:
    """(n,) which of the two answers a report shows."""
    shows, both = reports.shows(stage.inputs), stage.both[stage.record]
    return np.asarray(shows[mine, both[:, 0]] + 2 * shows[mine, both[:, 1]])


def _beside(
    stage: _Stage, reports: Coder, other: str, mine: Codes, theirs: Codes, truths: Codes
) -> Event:
    """The event of rows beside known ones.

    mine, theirs : (n,) coded reports of a row and of the known one.  truths : of the known one.
    """
    said, names = list(map(said_of, reports.things)), stage.inputs.names
    honest = reports.shows(stage.inputs)[theirs, truths].astype(np.intp)
    views = (
        crossed(stage.record, mine, theirs, truths),
        crossed(stage.alike, _marks(stage, reports, mine), honest),
    )

    def say(trial: int) -> str:
        return (
            f"{said[mine[trial]]}, where {other} held {names[truths[trial]]} and gave "
            f"{said[theirs[trial]]}"
        )

    return stage.event(f"{REPORT}, beside {other}", views, say)


def worker_events(
    inputs: Inputs, pairs: Pairs, plan: Compared, reports: Coder, runs: tuple[Codes, Codes, Codes]
) -> Iterator[Event]:
    """What rows of one worker tell beside the same rows of another, and of the parent.

    runs : coded reports of ``plan.mixed`` from one worker; of ``plan.known`` from another, and
        from the parent after both had started.
    """
    stage = _Stage("workers", inputs, pairs, plan.record, plan.coins)
    mine, truths = runs[0][TOSSED], plan.known[TOSSED]
    for other, theirs in zip(WORKERS, runs[1:], strict=True):
        yield _beside(stage, reports, other, mine, theirs[TOSSED], truths)
