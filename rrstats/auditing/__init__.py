"""Audit: a lower bound on epsilon, with confidence, for any function that privatizes.

The function is a black box: it is run on inputs that differ in one record, and everything that
comes back is looked at: reports, their order and places, length, type and dtype, missingness,
index, name, attrs, warnings, log records and exceptions; noise shared between rows, calls and
worker processes.  What tells the two inputs apart better than e^epsilon allows refutes the claim.

Law: of guesses between two inputs at most a share e^epsilon / (1 + e^epsilon) is right.
Not for: proof.  No number of trials finds a fault of one part in a million, a weak generator,
what depends on time, or what befalls only columns of a length that was not tried, or a few rows
of a long one; an audit finds wrong wiring, an exact computation finds the rest.
Sources: Clopper and Pearson (1934); Ding et al. (2018); Bichsel et al. (2021); Arcolezi and
Gambs (2024); Steinke, Nasr and Jagielski (2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_epsilon, check_level
from rrstats.auditing.columns import (
    COMPARED_ROWS,
    LONG_EVENTS,
    NAMED,
    WORKER_EVENTS,
    Compared,
    Level,
    LongCallError,
    coded,
    long_call,
    long_calls,
    worker_events,
)
from rrstats.auditing.games import SHORT_CHOOSERS, SHORT_EVENTS, Pairs, short_calls
from rrstats.auditing.guesses import Bound, Dice, Event, excess_seen, least_guesses
from rrstats.auditing.places import spread
from rrstats.auditing.results import AuditResult
from rrstats.auditing.runs import NO_REPORTS, Coder, Inputs, Subject, container_of
from rrstats.auditing.workers import WorkersError, in_workers
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.serialization import is_mechanism

__all__ = ["AuditResult", "audit"]

_FEWEST_TRIALS, _FEWEST_CALLS, _USUAL_CALLS = 1000, 100, 5000


def audit(
    fn: Callable[[Any], Any],
    categories: Any,
    epsilon: float | None = None,
    *,
    trials: int = 100_000,
    calls: int | None = None,
    confidence: float = 0.99,
    form: str | Callable[[list[Any]], Any] = "list",
    one_by_one: bool = False,
    unknown: bool = True,
    missing: bool = True,
    workers: int = 2,
) -> AuditResult:
    """A lower bound on the epsilon of a function that privatizes, from running it many times.

    fn : takes a column of answers and gives back a report for each, in any container.  It must be
        safe to call many thousand times; whatever it raises is part of what is looked at.
    categories : the k declared answers, or a mechanism, which also says its epsilon.
    epsilon : what is claimed (nats), for replacing one record's value by any other.
    trials : records in long calls: columns of lengths from 1 on, and the rest in one.  A fault of
        all reports that adds d to an epsilon near 1 needs about 100 / d**2 of them for 2
        categories, and more for more.
    calls : how many short calls of three records; a 20th of trials by default, 5,000 at most.
    confidence : of the bound, over all events together; in a test suite 1 - 1e-6.
    form : what fn takes: "list", "array", "series" (named "answer"), "frame" (with that column and
        a public column "row"), or a function that makes it from a list.  Its dtype is one
        that holds all that is tried; it never depends on what occurs.
    one_by_one : fn takes one answer and gives one report.
    unknown, missing : whether records may also hold a value that is no category, and a missing
        one; say False for what the function documents to refuse or to leave in place.
    workers : 2 compares the noise of two processes forked from this one (spawned where there is
        no safe fork); 0 starts none.
    Returns an `AuditResult`; ``passed`` is False where the claim is refuted, which for a right
    function happens at most with probability 1 - confidence.
    Raises ArgumentValueError where fn always raises, ArgumentTypeError where it gives no reports.
    A function that answers the same person alike for ever (keyed reports) needs new identities in
    each call; under the same ones it is rightly refuted.

    >>> import rrstats as rr
    >>> m = rr.KRR(["never", "once", "often"], epsilon=1.0)
    >>> found = audit(lambda answers: rr.privatize(answers, m, unknown="uniform"), m, trials=4000)
    >>> found.passed, found.epsilon_low <= 1.0
    (True, True)
    >>> audit(lambda answers: answers, m, trials=4000).passed
    False
    """
    domain, claimed = _claim(categories, epsilon)
    rows = _number(trials, "trials", _FEWEST_TRIALS)
    usual = min(max(rows // 20, _FEWEST_CALLS), _USUAL_CALLS)
    short = _number(usual if calls is None else calls, "calls", _FEWEST_CALLS)
    confidence = check_level(confidence)
    if workers not in (0, 2):
        raise ArgumentValueError(f"workers must be 0 or 2, got {workers!r}")
    if not callable(fn):
        raise ArgumentTypeError(f"fn must be a function, found {type(fn).__name__}")
    inputs = Inputs.of(domain, unknown=unknown, missing=missing)
    subject = Subject(fn, container_of(form, inputs), one_by_one)
    _check_runs(subject, inputs)
    planned = len(SHORT_EVENTS) + len(LONG_EVENTS) + (len(WORKER_EVENTS) if workers else 0)
    error, dice = (1 - confidence) / planned, Dice()
    judged: list[tuple[Event, Bound]] = []
    notes: list[str] = []

    events, broken, rarest = short_calls(subject, inputs, dice, short)
    judged += [(event, event.bound(dice, error)) for event in events]
    if broken:
        named = ", ".join(inputs.names[value] for value in sorted(broken))
        notes.append(f"long calls leave out {named}, for which fn raised or gave another length")
    pairs, level = Pairs.of(inputs).without(broken), Level(claimed, error)
    least = level.least_rows(pairs)
    lengths = spread(dice, rows, least) if pairs.plain else np.array([], dtype=np.intp)
    if pairs.plain:
        try:
            for event in long_calls(subject, inputs, pairs, dice, lengths, level, notes):
                judged.append((event, event.bound(dice, error)))
            if workers:
                for event in _workers(subject, inputs, pairs, dice, rows):
                    judged.append((event, event.bound(dice, error)))
        except LongCallError as problem:
            notes.append(f"not all of the long calls could be used: {problem}")
        except WorkersError as problem:
            notes.append(f"workers were not compared: {problem}")
    rare = least_guesses(claimed, error) / max(rarest * (1 - 1 / SHORT_CHOOSERS), 1)
    limits = rare, least, tuple(sorted({3, *lengths.tolist()}))
    return _result(judged, inputs, (level, confidence), limits, tuple(notes))


def _claim(categories: Any, epsilon: Any) -> tuple[Categories, float]:
    """The categories and the epsilon that is claimed for them."""
    if is_mechanism(categories):
        return categories.domain, check_epsilon(categories.epsilon if epsilon is None else epsilon)
    if epsilon is None:
        raise ArgumentTypeError("epsilon must be given: what the function claims, in nats")
    return Categories(categories), check_epsilon(epsilon)


def _number(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{name} must be an integer, found {type(value).__name__}")
    if value < least:
        raise ArgumentValueError(f"{name} must be at least {least}, got {value}")
    return value


def _check_runs(subject: Subject, inputs: Inputs) -> None:
    """Raise ArgumentValueError where no plain input gets through."""
    plain = [[inputs.values[place]] * 3 for place in {0, inputs.k // 2, inputs.k - 1}]
    runs = [subject.run(values) for values in plain]
    if all(run.raised.startswith(NO_REPORTS) for run in runs):
        raise ArgumentTypeError(runs[0].raised)
    if all(run.reports is None for run in runs):
        raise ArgumentValueError(
            f"fn cannot be run: it raised for all of {len(runs)} lists of categories, first "
            f"{runs[0].raised[:300]}; see form and one_by_one for what it is given"
        )


def _workers(subject: Subject, inputs: Inputs, pairs: Pairs, dice: Dice, rows: int) -> list[Event]:
    """Two workers and their parent on the same rows."""
    plan, reports = Compared.drawn(pairs, dice, min(rows, COMPARED_ROWS)), Coder()
    given = [inputs.taken(column.tolist()) for column in (plan.mixed, plan.known)]
    mixed, known = (coded(run, len(plan.known), reports) for run in in_workers(subject, given))
    parent = long_call(subject, inputs, plan.known, reports)
    return list(worker_events(inputs, pairs, plan, reports, (mixed, known, parent)))


def _result(
    judged: list[tuple[Event, Bound]],
    inputs: Inputs,
    level: tuple[Level, float],
    limits: tuple[float, float, tuple[int, ...]],
    notes: tuple[str, ...],
) -> AuditResult:
    """The best of all bounds, and what was tried.

    level : of each event, and the confidence of all together.  limits : what is rare, how many rows
        are few, and which lengths columns had.
    """
    (each, confidence), (rare, few, lengths) = level, limits
    claimed = each.claimed

    def certain(event: Event, bound: Bound) -> bool:
        return event.certain and bound.always and bound.epsilon_low > claimed

    # Of what was seen every time the first says it best: who raises has no length either.
    event, bound = next(
        (pair for pair in judged if certain(*pair)),
        max(judged, key=lambda pair: pair[1].epsilon_low),
    )
    rows = [(e.calls, e.name, " or ".join(_told_apart(e, b, inputs)), *b[:4]) for e, b in judged]
    columns = ["calls", "event", "record", "trials", "guesses", "right", "epsilon_low"]
    plainly = next((b.guesses for e, b in judged if e.name == NAMED), 0)
    return AuditResult(
        epsilon_low=math.inf if certain(event, bound) else bound.epsilon_low,
        claimed=claimed,
        confidence=confidence,
        passed=bound.epsilon_low <= claimed,
        worst=_worst(event, bound, inputs),
        tried=pd.DataFrame(rows, columns=columns),
        blind_below=excess_seen(claimed, plainly, each.error),
        rare_below=rare,
        rows_below=few,
        lengths=lengths,
        notes=notes,
    )


def _told_apart(event: Event, bound: Bound, inputs: Inputs) -> list[str]:
    """The two inputs between which an event told most, in words."""
    if bound.example is None:
        return []
    return [inputs.names[place] for place in event.pairs[event.record[bound.example]]]


def _worst(event: Event, bound: Bound, inputs: Inputs) -> str:
    """What gave the bound, in words."""
    if bound.example is None:
        return "nothing told the inputs apart"
    names = _told_apart(event, bound, inputs)
    held = bool(event.coins[bound.example])
    return (
        f"{event.name} ({bound.where or event.calls}), from which {bound.right:,} of "
        f"{bound.guesses:,} guesses "
        f"were right; {event.say(bound.example)}: the record held {names[held]}, rather than "
        f"{names[not held]}"
    )
