"""Audit of any function that privatizes: a lower confidence bound on its epsilon.

The function is a black box from records to a release.  The audit plays a guessing game: it runs the
function on inputs that differ in one record, chosen by a fair coin, and guesses the coin from the
release: its reports, their type and dtype, length, order, places and missingness, or the exception.

A guess between two inputs is right with probability at most e^epsilon / (1 + e^epsilon), whatever
the outcome of all other trials, so the number of right guesses among N is stochastically at most
Bin(N, that probability).  The lower end of Clopper and Pearson's interval for this probability,
through the logit, therefore bounds epsilon from below, even if trials share one call or one
generator.  Some trials choose the guesses, the others test them; the error is split evenly over
all events (Bonferroni).

Calls are of three sizes.  In calls of three records one is chosen by a coin.  In calls of two, and
in long ones, each record has its own coin.  Most categories are absent from two records: a function
that takes its categories from the data then shows by a report which answers it was given.
An audit is not a proof.  No number of trials finds a fault of one part in a million, a weak
generator, or faults that depend on time, on other processes, or on lengths that were not tried.
Sources: Clopper and Pearson (1934); Ding et al. (2018) and Bichsel et al. (2021) for choosing on
other trials; Steinke, Nasr and Jagielski (2023), theorem 5.2, for many records in a call.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from rrstats._checks import (
    check_bool,
    check_epsilon,
    check_left_out,
    check_level,
    check_whole_number,
    cut,
)
from rrstats._display import Notes
from rrstats._names import checked_keywords
from rrstats._typing import Booleans, Floats, Indices, Labels
from rrstats.data.categories import Categories, is_missing
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.krr import MechanismLike
from rrstats.privatization.frame import privatize
from rrstats.randomness.samplers import below
from rrstats.randomness.sources import BLOCK_ROWS, SecureGenerator

Release: TypeAlias = Callable[[list[Any]], Any]
"""The audited function: from a list of answers to their reports."""

EVENTS = ("type and dtype", "length", "index", "missing reports", "all reports", "report in place")
PAIR_EVENT = "reports of two"
LONG_EVENT = "report"


@dataclass(frozen=True)
class _Design:
    """Sizes of an audit: its trials, its inputs, and the choice of its guesses."""

    min_trials: int = 1000
    min_calls: int = 100
    trials_per_call: int = 10
    max_default_calls: int = 2000
    """More short calls are made only when asked for: each runs the function."""

    calls_of_two: int = 2
    """The number of calls of two records for each of three: they alone show rare categories."""

    short_rows: int = 3
    """The number of records of a call with one that changes, and two others in two orders."""

    min_long_calls: int = 8
    max_long_rows: int = 1 << 17
    """The largest number of records of a long call; what fn returns must fit into memory."""

    max_categories_all_pairs: int = 8
    """The largest number of categories of which all pairs are tried."""

    max_pairs: int = 400
    """The most pairs of categories otherwise, so that each has enough trials."""

    prior_guesses: int = 2
    """Right, and wrong, guesses added to each cell, because a few real guesses prove little."""

    ample_evidence: int = 4
    """With so many times the evidence that refutes a claim, the highest bound is sought."""

    reliable_trials: int = 20
    """The number of choosing trials from which a cell's proportion is reliable."""


_DESIGN = _Design()


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """A lower bound on the epsilon of a function, and its evidence; `audit` makes it.

    Parameters
    ----------
    claimed : float
        The claimed epsilon.
    level : float
        Confidence level of the bound, over all events together.
    epsilon_low : float
        The lower confidence bound on the function's epsilon (nats).
    worst : str
        The event that gave the bound, in words.
    tried : DataFrame
        One row for each event, with the columns event, trials, guesses (made in the trials that
        test), right and epsilon_low.
    blind_below : float
        The audit misses a fault of all reports that adds less than about this to epsilon half the
        time or more; infinite if there were too few trials for any fault.
    notes : tuple of str
        Sentences on parts that could not be tried.
    """

    claimed: float
    level: float
    epsilon_low: float
    worst: str
    tried: pd.DataFrame
    blind_below: float
    notes: Notes = ()

    @property
    def passed(self) -> bool:
        """True if no event refutes the claim."""
        return self.epsilon_low <= self.claimed

    def __repr__(self) -> str:
        verdict = "Not refuted" if self.passed else "Refuted"
        blind = f"that adds less than about {self.blind_below:.2g} to epsilon"
        if math.isinf(self.blind_below):
            blind = f"of any size (so few trials cannot refute epsilon {self.claimed:.4g})"
        calls = self.tried["trials"].min() * (1 + _DESIGN.calls_of_two)
        epsilon_low = math.floor(self.epsilon_low * 1e4) / 1e4
        return "\n".join(
            [
                f"{verdict}: epsilon {self.claimed:.4g}",
                f"With confidence {self.level:.10g} epsilon is at least {epsilon_low:.4g}.",
                f"- Strongest evidence: {self.worst}.",
                f"- Tried: {self.tried['trials'].max():,} records together, {calls:,} short calls. "
                f"{' '.join(self.notes)}".rstrip(),
                f"- No proof: the audit can miss a fault of all reports {blind}, and faults of "
                "few rows, of other lengths, of time, memory, processes and the generator.",
            ]
        )


@checked_keywords
def audit(
    fn: Any,
    categories: MechanismLike | None = None,
    epsilon: float | None = None,
    *,
    trials: int = 100_000,
    calls: int | None = None,
    level: float = 0.99,
    unknown: bool = False,
    missing: bool = False,
) -> AuditResult:
    """Compute a lower bound on the epsilon of a function that privatizes, from many runs.

    Parameters
    ----------
    fn : callable or Mechanism
        A mechanism, for an audit of `rrstats.privatize` with it.  Or a function that takes a list
        of records and returns a release: one report for each record, in a list, array, Series,
        Arrow array or frame.  For a function of a single answer give
        ``lambda records: [f(record) for record in records]``; for a function of a Series create
        the Series with a fixed dtype, which must not follow from the records.
    categories : sequence of k hashables, or Mechanism
        The declared answers, or a mechanism, which also has the claimed epsilon.  A mechanism as
        ``fn`` needs none.
    epsilon : float, optional
        The claimed epsilon in nats, for replacing one record's value by any other declared answer.
    trials : int, default 100,000
        The number of records in long calls.  A fault of all reports that adds d to an epsilon near
        1 needs about 150 / d**2 of them for 2 categories, and more for more categories.
    calls : int, optional
        The number of short calls of three records, beside twice as many of two; by default a tenth
        of trials, at most 2,000.
    level : float, default 0.99
        Confidence level of the bound, over all events together; use 1 - 1e-6 in a test suite.
    unknown, missing : bool, default False
        Whether the claim also holds for an unknown value and for a missing value, as with
        ``unknown="uniform"`` of `rrstats.privatize`.  An error for one is then evidence.  By
        default it is a note, and other releases of these values are not compared.

    Returns
    -------
    AuditResult
        ``passed`` is False if the claim is refuted.  For a correct function this happens with
        probability at most 1 - level.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        If fn always raises, or returns no reports.

    Notes
    -----
    A function that always gives the same person the same report (keyed reports) needs new ids in
    each call; with the same ids the audit refutes it, and rightly.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["never", "once", "often"], epsilon=1.0)
    >>> def ours(answers):
    ...     return rr.privatize(answers, m, unknown="uniform")
    >>> found = audit(ours, m, trials=4000, level=1 - 1e-6)  # wrong once in a million runs
    >>> found.passed, found.epsilon_low <= 1.0
    (True, True)
    >>> audit(lambda answers: answers, m, trials=4000).passed
    False
    """
    fn, domain, claimed = _claim(fn, categories, epsilon)
    rows = check_whole_number(trials, "trials", _DESIGN.min_trials)
    if calls is None:
        most = rows // _DESIGN.trials_per_call
        calls = min(max(most, _DESIGN.min_calls), _DESIGN.max_default_calls)
    calls = check_whole_number(calls, "calls", _DESIGN.min_calls)
    error = (1 - check_level(level)) / (len(EVENTS) + 2)
    unknown = check_bool(unknown, "unknown")
    missing = check_bool(missing, "missing")
    inputs = _Inputs.of(domain, unknown=unknown, missing=missing)
    _check_runs(fn, inputs)
    bounds, failing = _short_calls(fn, inputs, calls, claimed, error)
    notes = []
    if failing:
        names = ", ".join(inputs.names[value] for value in sorted(failing))
        notes.append(f"Long calls omit {names}, as fn raised or gave another length there.")
    blind_below = math.inf
    of_two, _ = _EachRecord.of(fn, inputs, 2 * _DESIGN.calls_of_two * calls, 2)
    if of_two.reports:
        bounds.append(of_two.bound(PAIR_EVENT, claimed, error))
    working = inputs.without(failing)
    if len(working.first):
        n_calls = max(_DESIGN.min_long_calls, -(-rows // _DESIGN.max_long_rows))
        together, failure = _EachRecord.of(fn, working, rows, -(-rows // n_calls))
        if failure:
            notes.append(f"Some long calls gave no report for each record: {failure[:200]}.")
        if together.reports:
            bounds.append(together.bound(LONG_EVENT, claimed, error))
            blind_below = excess_seen(claimed, bounds[-1].guesses, error)
    notes += _left_out(fn, _Inputs.of(domain, unknown=not unknown, missing=not missing))
    best = max(bounds, key=lambda bound: bound.epsilon_low)
    return AuditResult(
        claimed,
        float(level),
        best.epsilon_low,
        best.evidence,
        pd.DataFrame([bound[:5] for bound in bounds], columns=_Bound._fields[:5]),
        blind_below,
        tuple(notes),
    )


def _left_out(fn: Release, inputs: _Inputs) -> list[str]:
    """Notes on values that are no category and were not compared; fn may refuse them."""
    refused: list[str] = []
    accepted: list[str] = []
    for value, name in list(zip(inputs.values, inputs.names, strict=True))[inputs.k :]:
        run = _run(fn, [value for _ in range(_DESIGN.short_rows)])
        (refused if run.reports is None else accepted).append(name)
    notes = []
    if refused:
        names = " and for ".join(refused)
        notes.append(f"fn raises for {names}; that a release exists says that there is none.")
    if accepted:
        notes.append(f"Not compared with the answers: {' and '.join(accepted)}.")
    return notes


def _claim(fn: Any, categories: Any, epsilon: float | None) -> tuple[Release, Categories, float]:
    """The function, its categories, and the claimed epsilon; a mechanism claims its own."""
    if is_mechanism(fn):
        check_left_out("a mechanism has its own categories", categories=categories)
        categories = fn
        fn = partial(privatize, categories=categories, unknown="uniform")
    if isinstance(categories, Mechanism):
        domain = categories.domain
        if epsilon is None:
            epsilon = categories.epsilon
    else:
        domain = Categories(categories)
    return fn, domain, check_epsilon(epsilon)


# -- inputs that differ in one record --------------------------------------------------------


class _Inputs(NamedTuple):
    """Values of a record (the k categories, then the others), and the pairs to compare.

    first, second : (pairs,) places among the values, pairs of two categories before the rest.
    """

    values: list[Any]
    names: list[str]
    k: int
    first: Indices
    second: Indices

    @classmethod
    def of(cls, domain: Categories, *, unknown: bool, missing: bool) -> _Inputs:
        values: list[Any] = list(domain.categories)
        names = ["a missing value" if is_missing(value) else repr(value) for value in values]
        k = len(values)
        if unknown:
            kinds = {"int": 1, "float": 1.5, "bytes": b"no category"}
            # Where answers lie between the categories, every number is an answer.
            kind = domain.kind if domain.answers == domain.k else "str"
            stem: Any = kinds.get(kind, "no category")
            value = stem
            while value in values:
                value = value + stem
            values.append(value)
            names.append(f"an unknown value ({value!r})")
        if missing and domain.missing_code is None:
            values.append(None)
            names.append("a missing value")
        if k <= _DESIGN.max_categories_all_pairs:
            pairs = list(combinations(range(k), 2))
        else:
            # The first with the last, and so on inward: each category is in one pair, so that its
            # cells have many trials, and records of several columns differ in each column.
            step = -(-k // (2 * _DESIGN.max_pairs))
            pairs = [(code, k - 1 - code) for code in range(0, k // 2, step)]
            pairs += [(0, k // 2)] * (k % 2)
        others = range(k, len(values))
        pairs += [(code, other) for other in others for code in (0, k - 1)]
        pairs += combinations(others, 2)
        first, second = np.array(pairs, dtype=np.intp).T
        return cls(values, names, k, first, second)

    def without(self, dropped: set[int]) -> _Inputs:
        """The inputs without the pairs that contain these values."""
        omitted = list(dropped)
        kept = ~(np.isin(self.first, omitted) | np.isin(self.second, omitted))
        return self._replace(first=self.first[kept], second=self.second[kept])

    def draw(self, count: int, others_in: int) -> tuple[Indices, Indices]:
        """(count,) random pairs, one in ``others_in`` with a non-category, and their coins."""
        n_pairs = len(self.first)
        n_of_categories = int(((self.first < self.k) & (self.second < self.k)).sum())
        pairs = _random(count, n_of_categories or n_pairs)
        if 0 < n_of_categories < n_pairs:
            with_others = n_of_categories + _random(count, n_pairs - n_of_categories)
            pairs = np.where(_random(count, others_in) > 0, pairs, with_others)
        return pairs, _random(count, 2)

    def codes(self, pairs: Indices, coins: Indices) -> Indices:
        """(n,) the place of the value that each record has: a pair and a coin choose it."""
        return np.where(coins > 0, self.second[pairs], self.first[pairs])

    def marks(self, reports: Indices, pairs: Indices) -> Indices:
        """(n,) which value of a pair a report equals, 0 for none: alike for all pairs."""
        return np.asarray((reports == self.first[pairs]) + 2 * (reports == self.second[pairs]))

    def report_codes(self, keys: Sequence[Hashable]) -> Indices:
        """(n,) numbers of reports' keys; those of a value are the value's place."""
        return _codes([*map(_key, self.values), *keys])[len(self.values) :]

    def kinds(self, pairs: Indices) -> Indices:
        """(n,) a code that is equal for all pairs of categories; others have their own."""
        first = np.maximum(self.first - self.k + 1, 0)
        second = np.maximum(self.second - self.k + 1, 0)
        return np.asarray((first + second * len(self.values))[pairs])

    def in_words(self, pair: int, coin: int) -> str:
        """The value that a record held, and the alternative, in words."""
        names = [self.names[self.first[pair]], self.names[self.second[pair]]]
        return f"the record held {names[coin]}, not {names[not coin]}"


def _random(count: int, bound: int) -> Indices:
    """(count,) random integers below a bound, from the operating system's entropy."""
    source = SecureGenerator().open()
    sizes = [min(BLOCK_ROWS, count - at) for at in range(0, count, BLOCK_ROWS)]
    parts = [below(source, 0, block, size, bound=bound) for block, size in enumerate(sizes)]
    return np.concatenate(parts).astype(np.intp)


# -- runs ------------------------------------------------------------------------------------


class _Run(NamedTuple):
    """One release: its reports, or None if fn raised, and its other visible properties."""

    reports: list[Any] | None
    kind: str
    length: str = ""
    labels: str = ""


def _run(fn: Release, records: list[Any]) -> _Run:
    """One call; an exception is recorded, not raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = fn(records)
    except Exception as error:
        return _Run(None, f"{type(error).__name__}: {error}")
    reports = _reports_in(release)
    if reports is None:
        return _Run(None, f"a release without reports: {type(release).__name__}")
    values = (one for one in reports if isinstance(one, str) or not is_missing(one))
    kinds = sorted({type(value).__name__ for value in values})
    dtype = getattr(release, "dtype", getattr(release, "dtypes", getattr(release, "type", "")))
    kind = f"{type(release).__name__} {dtype} of {', '.join(kinds)}"
    for name in ("name", "attrs"):
        kind += f", {name} {getattr(release, name, '')!r}"
    index = getattr(release, "index", None)
    labels = f"{index.dtype} {list(index)}" if isinstance(index, pd.Index) else ""
    return _Run(reports, kind, f"{len(reports)} reports", labels)


def _reports_in(release: Any) -> list[Any] | None:
    """The reports in a release as a list, for a frame its rows; None if there are none."""
    if isinstance(release, pd.DataFrame):
        return list(release.itertuples(index=False, name=None))
    if isinstance(release, list | tuple) or getattr(release, "ndim", 1) == 2:
        return list(release)
    for name in ("to_pylist", "tolist", "to_list"):  # Arrow, NumPy and pandas, Polars
        to_list = getattr(release, name, None)
        if callable(to_list) and np.ndim(release) == 1:
            return list(to_list())
    return None


def _check_runs(fn: Release, inputs: _Inputs) -> None:
    """Raise if fn returns reports for no simple input."""
    places = {0, inputs.k // 2, inputs.k - 1}
    runs = [
        _run(fn, [inputs.values[place] for _ in range(_DESIGN.short_rows)])
        for place in sorted(places)
    ]
    if all(run.reports is None for run in runs):
        raise ArgumentValueError(
            f"fn must return a release for a list of records, found {runs[0].kind[:300]}"
        )


def _key(value: Any) -> Hashable:
    """A key that distinguishes reports: True is not 1, and all missing values are equal."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ("missing",)
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return ("bool", value)
    return value if isinstance(value, Hashable) else repr(value)


def _report_text(report: object) -> str:
    return "missing" if is_missing(report) else cut(report, 40)


def _codes(keys: Sequence[Hashable]) -> Indices:
    """(n,) numbers of keys, in the order of first occurrence."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def _crossed(*codes: Indices) -> Indices:
    """(n,) one code for each combination of codes."""
    combined = np.zeros(len(codes[0]), dtype=np.intp)
    for column in codes:
        combined = combined * (int(column.max(initial=0)) + 1) + column
    return combined


class _ShortCalls(NamedTuple):
    """Calls of three records, of which one is a choice between two values: inputs and outcomes.

    pairs, coins : (n,) the pair of values and the choice.
    others, places : (n,) the other two records, by number, and the place of the changed one.
    runs : the releases.  keys : the key of each report of a call.
    marks : (n, 3) which values the reports equal: that of the changed record one of its pair,
        those of the others their answer.
    """

    inputs: _Inputs
    pairs: Indices
    coins: Indices
    others: Indices
    places: Indices
    runs: list[_Run]
    keys: list[Labels]
    marks: Indices

    @classmethod
    def of(cls, fn: Release, inputs: _Inputs, n: int) -> _ShortCalls:
        """The outcomes of ``n`` calls with random pairs, coins, places and other records."""
        last = inputs.k - 1
        middle = inputs.k // 2
        # The other two records: constant, in order, and out of order.
        company = list(dict.fromkeys([(0, 0), (0, last), (last, 0), (0, middle), (middle, 0)]))
        pairs, coins = inputs.draw(n, 2)
        others = _random(n, len(company))
        places = _random(n, _DESIGN.short_rows)
        records = np.array(company)[others]
        changed = np.arange(_DESIGN.short_rows) == places[:, None]
        codes = np.empty(changed.shape, dtype=np.intp)
        codes[changed] = inputs.codes(pairs, coins)
        codes[~changed] = records.ravel()
        runs = [_run(fn, [inputs.values[code] for code in row]) for row in codes.tolist()]
        keys = [tuple(map(_key, run.reports or [])) for run in runs]
        padding = ("no report",) * _DESIGN.short_rows
        padded = [key for row in keys for key in (row + padding)[: _DESIGN.short_rows]]
        reports = inputs.report_codes(padded).reshape(codes.shape)
        marks = np.where(changed, inputs.marks(reports, pairs[:, None]), reports == codes)
        return cls(inputs, pairs, coins, others, places, runs, keys, marks)

    def views(self) -> dict[str, tuple[Indices, ...]]:
        """Ways to group the calls, by event: of all pairs together, of each, and of each input."""
        kinds = self.inputs.kinds(self.pairs)
        missing = [tuple(key == ("missing",) for key in keys) for keys in self.keys]
        return {
            "type and dtype": self._groupings([run.kind for run in self.runs]),
            "length": self._groupings([run.length for run in self.runs]),
            "index": self._groupings([run.labels for run in self.runs]),
            "missing reports": self._groupings(missing),
            "all reports": (
                *self._groupings(self.keys)[1:],
                _crossed(kinds, *self.marks.T),
                _crossed(kinds, self.places, self.others, *self.marks.T),
            ),
            "report in place": (
                _crossed(self.pairs, self.places, self._reports_in_place()),
                _crossed(kinds, self.places, self.marks[np.arange(len(kinds)), self.places]),
            ),
        }

    def _groupings(self, outcomes: Sequence[Hashable]) -> tuple[Indices, ...]:
        """Calls by outcome; also by pair; also by place and the other records."""
        codes = _codes(outcomes)
        return (
            codes,
            _crossed(self.pairs, codes),
            _crossed(self.pairs, self.places, self.others, codes),
        )

    def _reports_in_place(self) -> Indices:
        """(n,) codes of the report of the changed record; calls without one have their own."""
        rows = zip(self.keys, self.places, strict=True)
        return _codes([row[place : place + 1] for row, place in rows])

    def in_words(self, event: str, number: int) -> str:
        """The outcome of a call as evidence for an event, and its input."""
        run = self.runs[number]
        facts = {"type and dtype": run.kind, "length": run.length, "index": run.labels}
        reports = ", ".join(map(_report_text, run.reports or [])) or run.kind
        inputs = self.inputs.in_words(self.pairs[number], self.coins[number])
        return f"{facts.get(event) or reports}: {inputs}"

    def failing(self) -> set[int]:
        """The values for which a call raised, or returned another number of reports."""
        failed = [
            run.reports is None or len(run.reports) != _DESIGN.short_rows for run in self.runs
        ]
        return set(self.inputs.codes(self.pairs, self.coins)[failed].tolist())


def _short_calls(
    fn: Release, inputs: _Inputs, n: int, claimed: float, error: float
) -> tuple[list[_Bound], set[int]]:
    """The bounds from calls with one changed record, and the values that break the length."""
    calls = _ShortCalls.of(fn, inputs, n)
    views = calls.views()
    bounds = [
        _judge(
            event,
            [(view, calls.coins) for view in views[event]],
            partial(calls.in_words, event),
            claimed=claimed,
            error=error,
            choosers=2,
        )
        for event in EVENTS
    ]
    return bounds, calls.failing()


class _EachRecord(NamedTuple):
    """Records with a coin each, of calls that gave a report for each record.

    pairs, coins : (n,) the pair of values of a record, and the choice.
    reports : n reports.
    """

    inputs: _Inputs
    pairs: Indices
    coins: Indices
    reports: list[Any]

    @classmethod
    def of(cls, fn: Release, inputs: _Inputs, n: int, size: int) -> tuple[_EachRecord, str]:
        """The outcomes of ``n`` records in calls of ``size``, and how the last failed call did."""
        pairs, coins = inputs.draw(n, 4)
        values = [inputs.values[code] for code in inputs.codes(pairs, coins).tolist()]
        kept = np.zeros(n, dtype=np.bool_)
        reports: list[Any] = []
        failure = ""
        for start in range(0, n, size):
            records = values[start : start + size]
            run = _run(fn, records)
            if run.reports is None or len(run.reports) != len(records):
                failure = run.kind
                continue
            kept[start : start + size] = True
            reports += run.reports
        return cls(inputs, pairs[kept], coins[kept], reports), failure

    def bound(self, event: str, claimed: float, error: float) -> _Bound:
        """The bound from the report of a record, also with its type or the report beside it."""
        keys = self.inputs.report_codes(list(map(_key, self.reports)))
        types = _codes(list(map(type, self.reports)))
        kinds = self.inputs.kinds(self.pairs)
        n = len(keys)
        beside = keys[np.minimum(np.arange(n) ^ 1, n - 1)]
        marks = self.inputs.marks(keys, self.pairs)
        marks_beside = self.inputs.marks(beside, self.pairs)
        # Categories are alike: where the reports point to the second, it changes with the first.
        turned = (kinds == 0) & (np.where(marks > 0, marks, marks_beside) == 2)
        of_turned = np.array([0, 2, 1, 3])
        marks = np.where(turned, of_turned[marks], marks)
        marks_beside = np.where(turned, of_turned[marks_beside], marks_beside)
        coins = self.coins ^ turned
        views = (
            (_crossed(self.pairs, keys), self.coins),
            (_crossed(kinds, marks, types), coins),
            (_crossed(kinds, marks, marks_beside), coins),
        )
        return _judge(
            event,
            views,
            self._in_words,
            claimed=claimed,
            error=error,
            choosers=3,
        )

    def _in_words(self, record: int) -> str:
        """A report as evidence, and the record's alternatives."""
        inputs = self.inputs.in_words(self.pairs[record], self.coins[record])
        return f"{_report_text(self.reports[record])}: {inputs}"


# -- the guessing game -----------------------------------------------------------------------


class _Bound(NamedTuple):
    """The bound of one event."""

    event: str
    trials: int
    guesses: int
    right: int
    epsilon_low: float
    evidence: str = "no event distinguished the inputs"


def _judge(
    event: str,
    views: Sequence[tuple[Indices, Indices]],
    in_words: Callable[[int], str],
    *,
    claimed: float,
    error: float,
    choosers: int,
) -> _Bound:
    """Choose a view and its guesses on one trial in ``choosers``; test them on the others.

    views : ways to group the trials, each (n,) the cell of a trial, and (n,) its coin.
    in_words : the outcome of a trial in words, for the example.
    """
    n = len(views[0][1])
    choosing = _random(n, choosers) == 0
    best_promise = (-1.0, -1.0, -1.0)
    for view, view_coins in views:
        _, view_cells = np.unique(view, return_inverse=True)
        cell_guesses, promise = _guesses(view_cells, view_coins, choosing, claimed, error)
        if promise > best_promise:
            best_promise = promise
            cells = view_cells
            coins = view_coins
            chosen = cell_guesses[cells]
    judged = np.flatnonzero(~choosing & (chosen >= 0))
    hit = chosen[judged] == coins[judged]
    guesses = len(judged)
    right = int(hit.sum())
    if not guesses:
        return _Bound(event, n, 0, 0, 0.0)
    # The example is from the cell with the most right guesses beyond the wrong ones.
    clearest = np.bincount(cells[judged], np.where(hit, 1.0, -1.0)).argmax()
    examples = judged[hit & (cells[judged] == clearest)]
    example = int(examples[0] if examples.size else judged[0])
    return _Bound(
        event,
        n,
        guesses,
        right,
        lower_epsilon(right, guesses, error),
        f"{event}, with {right:,} of {guesses:,} guesses right; for example {in_words(example)}",
    )


def _guesses(
    cells: Indices, coins: Indices, choosing: Booleans, claimed: float, error: float
) -> tuple[Indices, tuple[float, float, float]]:
    """The coin to guess in each cell, -1 for none, and what is expected of it.

    The guesses have the highest expected bound, if that refutes the claim.  If not, they have the
    most evidence against it, or without any again the highest bound.
    """
    n_cells = int(cells.max(initial=0)) + 1
    tails = np.bincount(cells[choosing & (coins == 0)], minlength=n_cells)
    heads = np.bincount(cells[choosing & (coins == 1)], minlength=n_cells)
    n = tails + heads
    # A cell seen once looks certain; a prior and one standard deviation correct for that.
    prior = _DESIGN.prior_guesses
    proportion = (np.maximum(tails, heads) + prior) / (n + 2 * prior)
    standard_error = np.sqrt(proportion * (1 - proportion) / (n + 2 * prior + 1))
    order = np.argsort(standard_error - proportion, kind="stable")
    scale = (~choosing).sum() / max(choosing.sum(), 1)
    guesses = np.cumsum(n[order]) * scale
    right = np.cumsum((n * proportion)[order]) * scale
    promises = lower_proportion(right, guesses, error)
    best = int(promises.argmax())
    promise = float(promises[best])
    guess = np.where(n > 0, heads > tails, -1)
    share = 1 / (1 + math.exp(-claimed))
    evidence = scale * _evidence(np.maximum(tails, heads)[order], n[order], claimed)
    most = int(evidence.argmax())
    is_ample = promise > share and evidence[most] > _DESIGN.ample_evidence * -math.log(error)
    if evidence[most] > 0 and not is_ample:
        guess[order[most + 1 :]] = -1
        return guess, (share, float(evidence[most]), promise)
    chosen = np.zeros(n_cells, dtype=np.bool_)
    chosen[order[: best + 1]] = True
    # The best prefix is chosen with bias: add cells that may be as good, if that costs little.
    pooled = right[best] / max(guesses[best], 1)
    is_reliable = n >= _DESIGN.reliable_trials
    wider = chosen | (is_reliable & (proportion + 2 * standard_error >= pooled))
    wider_guesses = n[wider].sum() * scale
    wider_right = (n * proportion)[wider].sum() * scale
    noise = np.sqrt(pooled * (1 - pooled) / max(n[chosen].sum(), 1))
    if lower_proportion(wider_right, wider_guesses, error) >= promises[best] - noise:
        chosen = wider
    return np.where(chosen, guess, -1), (max(promise, share), 0.0, promise)


def _evidence(right: Indices, n: Indices, claimed: float) -> Floats:
    """(cells,) the log likelihood ratio of the first cells together against the claim.

    Less one standard error, and for each cell, which is the best of all, the log of their number.
    """
    rights = np.cumsum(right)
    wrongs = np.cumsum(n) - rights
    share = 1 / (1 + math.exp(-claimed))
    evidence = scipy.special.rel_entr(rights, share * np.cumsum(n))
    evidence = evidence + scipy.special.rel_entr(wrongs, (1 - share) * np.cumsum(n))
    excess = np.log((rights + 0.5) / (wrongs + 0.5)) - claimed
    evidence -= excess / np.sqrt(1 / (rights + 0.5) + 1 / (wrongs + 0.5))
    penalty = math.log(len(n) + 1) * np.arange(1, len(n) + 1)
    return np.asarray(np.where(excess > 0, evidence, 0.0) - penalty)


def lower_proportion(right: ArrayLike, guesses: ArrayLike, error: float) -> Floats:
    """The one-sided lower end of Clopper and Pearson's interval; 0 if no guess was right."""
    right = np.asarray(right, dtype=np.float64)
    wrong = np.asarray(guesses, dtype=np.float64) - right
    low = scipy.special.betaincinv(np.maximum(right, 1e-300), wrong + 1, error)
    return np.asarray(np.where(right > 0, low, 0.0))


def lower_epsilon(right: int, guesses: int, error: float) -> float:
    """The largest epsilon that this number of right guesses refutes, with error rate ``error``.

    >>> round(lower_epsilon(800, 1000, 0.01), 4)
    1.2021
    >>> lower_epsilon(500, 1000, 0.01)
    0.0
    """
    proportion = float(lower_proportion(right, guesses, error))
    if proportion == 0:
        return 0.0
    return max(0.0, math.log(proportion) - math.log1p(-proportion))


def excess_seen(epsilon: float, guesses: int, error: float) -> float:
    """The smallest excess of epsilon found half the time; infinite with too few guesses."""
    if lower_epsilon(guesses, guesses, error) <= epsilon:
        return math.inf
    # The fewest right guesses that refute: half of all audits have at least as many if this is the
    # median, which for a binomial distribution lies within 1 of its mean.
    needed = bisect_right(
        range(guesses), epsilon, key=lambda right: lower_epsilon(right, guesses, error)
    )
    return math.log(needed / max(guesses - needed, 1)) - epsilon
