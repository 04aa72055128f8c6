"""What an audit plays with single rows: long calls, and two workers beside their parent.

Every row has a coin of its own, and many rows share a call.  The report of a row is looked at
alone, by where the row stood, beside its neighbour's, beside the report of the same row in an
earlier call, and beside that of another process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from rrstats.auditing.games import Pairs, Stage, said_of
from rrstats.auditing.guesses import (
    Codes,
    Dice,
    Event,
    Flags,
    Look,
    Told,
    crossed,
    guessed,
    least_guesses,
)
from rrstats.auditing.places import LOOKS, looks_at
from rrstats.auditing.runs import Coder, Inputs, Run, Subject

__all__ = [
    "LONG_EVENTS",
    "WORKER_EVENTS",
    "Compared",
    "Level",
    "LongCallError",
    "coded",
    "long_call",
    "long_calls",
    "worker_events",
]

COMPARED_ROWS = 20_000
"""Rows in which reports are compared with those of neighbours, other calls and other workers."""

TOSSED = slice(1, None, 2)
"""The rows among them whose answers are tossed; the others are known."""

OTHERS = 4
"""In long calls one record in so many may hold what is no category."""

BESIDE = ("the row before", "the same row of an earlier call")
WORKERS = ("the same row of another worker", "the same row of the parent")
REPORT = "report"
NAMED = f"{REPORT}, taken at its word"
PLACED = f"{NAMED}, by place"
LONG_EVENTS = (REPORT, NAMED, PLACED, *(f"{REPORT}, beside {other}" for other in BESIDE))
WORKER_EVENTS = tuple(f"{REPORT}, beside {other}" for other in WORKERS)


@dataclass(frozen=True)
class Level:
    """The epsilon that is claimed, and the error of each event."""

    claimed: float
    error: float

    @property
    def least(self) -> float:
        """So many guesses, all of them right, refute the claim in an event without cells."""
        return least_guesses(self.claimed, self.error)

    def least_rows(self, pairs: Pairs) -> float:
        """So many rows of one kind of place refute the claim, if all of them are bare."""
        plain = 1 - 1 / OTHERS if 0 < pairs.plain < len(pairs.first) else 1.0
        return least_guesses(self.claimed, self.error / LOOKS) / plain


def long_calls(
    subject: Subject,
    inputs: Inputs,
    pairs: Pairs,
    dice: Dice,
    lengths: Codes,
    level: Level,
    notes: list[str],
) -> Iterator[Event]:
    """The events of single rows: of each report, by its place, and of reports beside others.

    lengths : of the columns that are given.  notes : get what could not be tried, in sentences.
    Raises LongCallError where columns of `COMPARED_ROWS` do not give a report for each row.
    """
    rows = int(lengths.sum())
    record, coins = pairs.drawn(dice, rows, OTHERS), dice.coins(rows)
    columns = np.split(pairs.values(record, coins), np.cumsum(lengths)[:-1])
    reports, parts, used = Coder(), [], np.ones(len(lengths), dtype=np.bool_)
    for call, column in enumerate(columns):
        try:
            parts.append(long_call(subject, inputs, column, reports))
        except LongCallError as problem:
            if used.all():
                notes.append(f"some long calls are left out: {problem}")
            used[call] = False
    if parts:
        kept = np.repeat(used, lengths)
        stage = Stage("long calls", inputs, pairs, record[kept], coins[kept])
        yield from _single(stage, reports, np.concatenate(parts), lengths[used], dice, level)
    plan = Compared.drawn(pairs, dice, min(rows, COMPARED_ROWS))
    earlier = long_call(subject, inputs, plan.known, reports)
    both = long_call(subject, inputs, plan.mixed, reports)
    stage = Stage("long calls", inputs, pairs, plan.record, plan.coins)
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
        raise LongCallError(f"fn raised for {rows:,} answers: {run.raised[:200]}")
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


def _single(
    stage: Stage, reports: Coder, mine: Codes, lengths: Codes, dice: Dice, level: Level
) -> Iterator[Event]:
    """The events of single rows.  mine : (n,) their coded reports, in calls of these lengths."""
    words: list[str] = list(map(said_of, reports.things))
    marks, exact = _marks(stage, reports, mine), crossed(stage.record, mine)

    def say(trial: int) -> str:
        return words[int(mine[trial])]

    yield stage.event(REPORT, (exact, crossed(stage.alike, marks)), say)
    beyond = stage.record >= stage.pairs.plain
    if marks[~beyond].any():
        guess = np.where((marks == 1) | (marks == 2), marks - 1, -1)
    else:  # the reports have words of their own, whose meaning must be found first
        guess = guessed(exact, stage.coins, dice, level.error)
    everywhere = Look(np.where(beyond, -1, 0), lambda _: "")
    told = partial(Told, stage.calls, pairs=stage.both, record=stage.record, coins=stage.coins)
    told = partial(told, views=(), say=say, guess=guess, least=level.least)
    yield told(name=NAMED, looks=lambda: iter([everywhere]), most=1)
    yield told(name=PLACED, looks=lambda: looks_at(lengths, beyond), most=LOOKS)


def _marks(stage: Stage, reports: Coder, mine: Codes) -> Codes:
    """(n,) which of the two answers a report shows."""
    shows, both = reports.shows(stage.inputs), stage.both[stage.record]
    return np.asarray(shows[mine, both[:, 0]] + 2 * shows[mine, both[:, 1]])


def _beside(
    stage: Stage, reports: Coder, other: str, mine: Codes, theirs: Codes, truths: Codes
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
    stage = Stage("workers", inputs, pairs, plan.record, plan.coins)
    mine, truths = runs[0][TOSSED], plan.known[TOSSED]
    for other, theirs in zip(WORKERS, runs[1:], strict=True):
        yield _beside(stage, reports, other, mine, theirs[TOSSED], truths)
