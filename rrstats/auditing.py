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
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._checks import check_epsilon, check_level, check_whole_number, cut
from rrstats._typing import Floats
from rrstats.data.categories import Categories, is_missing
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import is_mechanism
from rrstats.randomness.samplers import below
from rrstats.randomness.sources import BLOCK_ROWS, SecureGenerator

Codes = NDArray[np.intp]

EVENTS = ("type and dtype", "length", "index", "missing reports", "all reports", "report in place")
LONG_EVENT = "report"

_FEWEST_TRIALS, _FEWEST_CALLS, _USUAL_CALLS = 1000, 100, 5000
_ROWS = 3
_CALL_ROWS = 1 << 17
"""The number of records of a short call, and the largest number of a long call."""

_ALL_PAIRS, _MOST_PAIRS = 8, 400
"""The largest number of categories of which all pairs are tried, and the most pairs."""

_DOUBT = 2
"""Right and wrong guesses added to each cell as a prior, because few real guesses prove little."""

_ENOUGH = 20
"""The number of choosing trials from which a cell's proportion is reliable."""


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
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if no event refutes the claim."""
        return self.epsilon_low <= self.claimed

    def __repr__(self) -> str:
        verdict = "Not refuted" if self.passed else "Refuted"
        blind = f"that adds less than about {self.blind_below:.2g} to epsilon"
        if math.isinf(self.blind_below):
            blind = f"of any size (so few trials cannot refute epsilon {self.claimed:.4g})"
        calls, least = self.tried["trials"].min(), math.floor(self.epsilon_low * 1e4) / 1e4
        return "\n".join(
            [
                f"{verdict}: epsilon {self.claimed:.4g}",
                f"With confidence {self.level:.10g} epsilon is at least {least:.4g}.",
                f"- Strongest evidence: {self.worst}.",
                f"- Tried: {self.tried['trials'].max():,} records, {calls:,} in separate calls. "
                f"{' '.join(self.notes)}".rstrip(),
                f"- No proof: the audit can miss a fault of all reports {blind}, and faults of "
                "few rows, of other lengths, of time, memory, processes and the generator.",
            ]
        )


def audit(
    fn: Callable[[list[Any]], Any],
    categories: Any,
    epsilon: float | None = None,
    *,
    trials: int = 100_000,
    calls: int | None = None,
    level: float = 0.99,
    unknown: bool = True,
    missing: bool = True,
) -> AuditResult:
    """Compute a lower bound on the epsilon of a function that privatizes, from many runs.

    Parameters
    ----------
    fn : callable
        Takes a list of records and returns a release: one report for each record, in a list,
        array, Series, Arrow array or frame.  For a function of a single answer give
        ``lambda records: [f(record) for record in records]``; for a function of a Series create
        the Series with a fixed dtype, which must not follow from the records.
    categories : sequence of k hashables, or Mechanism
        The declared answers, or a mechanism, which also has the claimed epsilon.
    epsilon : float, optional
        The claimed epsilon in nats, for replacing one record's value by any other.
    trials : int, default 100,000
        The number of records in long calls.  A fault of all reports that adds d to an epsilon near
        1 needs about 130 / d**2 of them for 2 categories, and more for more categories.
    calls : int, optional
        The number of short calls of three records; by default a 20th of trials, at most 5,000.
    level : float, default 0.99
        Confidence level of the bound, over all events together; use 1 - 1e-6 in a test suite.
    unknown, missing : bool, default True
        Whether records may also hold an unknown value and a missing value.  Give False for values
        that the function, as documented, refuses or leaves in place.

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
    if is_mechanism(categories):
        domain, epsilon = categories.domain, categories.epsilon if epsilon is None else epsilon
    else:
        domain = Categories(categories)
    claimed = check_epsilon(epsilon)
    rows = check_whole_number(trials, "trials", _FEWEST_TRIALS)
    usual = min(max(rows // 20, _FEWEST_CALLS), _USUAL_CALLS)
    short = usual if calls is None else check_whole_number(calls, "calls", _FEWEST_CALLS)
    error = (1 - check_level(level)) / (len(EVENTS) + 1)
    inputs = _Inputs.of(domain, unknown=unknown, missing=missing)
    _check_runs(fn, inputs)
    bounds, broken = _short_calls(fn, inputs, short, error)
    notes = []
    if broken:
        named = ", ".join(inputs.names[value] for value in sorted(broken))
        notes.append(f"Long calls omit {named}, as fn raised or gave another length there.")
    alone = _long_calls(fn, inputs.without(broken), rows, error=error, notes=notes)
    judged = [*bounds, *([] if alone is None else [alone])]
    best = max(judged, key=lambda bound: bound.epsilon_low)
    blind = math.inf if alone is None else excess_seen(claimed, alone.guesses, error)
    tried = pd.DataFrame([bound[:5] for bound in judged], columns=_Bound._fields[:5])
    return AuditResult(
        claimed, float(level), best.epsilon_low, best.told, tried, blind, tuple(notes)
    )


# -- inputs that differ in one record --------------------------------------------------------


class _Inputs(NamedTuple):
    """Values of a record (the k categories, then the others) and the pairs to compare.

    first, second : (pairs,) places among the values, pairs of two categories before the rest.
    """

    values: list[Any]
    names: list[str]
    k: int
    first: Codes
    second: Codes

    @classmethod
    def of(cls, domain: Categories, *, unknown: bool, missing: bool) -> _Inputs:
        values: list[Any] = list(domain.categories)
        names, k = ["a missing value" if is_missing(v) else repr(v) for v in values], len(values)
        if unknown:
            kinds = {"int": 1, "float": 1.5, "bytes": b"no category"}
            stem: Any = kinds.get(domain.kind, "no category")
            value = stem
            while value in values:
                value = value + stem
            values.append(value)
            names.append(f"an unknown value ({value!r})")
        if missing and domain.missing_code is None:
            values.append(None)
            names.append("a missing value")
        if k <= _ALL_PAIRS:
            pairs = list(combinations(range(k), 2))
        else:
            pairs = [(c, (c + 1) % k) for c in range(0, k, -(-k // _MOST_PAIRS))]
        others = range(k, len(values))
        pairs += [(c, other) for other in others for c in (0, k - 1)]
        pairs += combinations(others, 2)
        first, second = np.array(pairs, dtype=np.intp).T
        return cls(values, names, k, first, second)

    def without(self, dropped: set[int]) -> _Inputs:
        """The inputs without the pairs that contain these values."""
        lost = list(dropped)
        kept = ~(np.isin(self.first, lost) | np.isin(self.second, lost))
        return self._replace(first=self.first[kept], second=self.second[kept])

    def drawn(self, count: int, others_in: int) -> tuple[Codes, Codes]:
        """(count,) random pairs, one in ``others_in`` with a non-category, and their coins."""
        plain = int(((self.first < self.k) & (self.second < self.k)).sum())
        record = _random(count, plain or len(self.first))
        if 0 < plain < len(self.first):
            beyond = plain + _random(count, len(self.first) - plain)
            record = np.where(_random(count, others_in) > 0, record, beyond)
        return record, _random(count, 2)

    def held(self, record: Codes, coins: Codes) -> Codes:
        """(n,) the place of the value that each record holds."""
        return np.where(coins > 0, self.second[record], self.first[record])

    def marks(self, report: Hashable, pair: int) -> str:
        """The values of a pair that equal a report, as "A" or "B", the same for all pairs."""
        both = ((self.first[pair], "A"), (self.second[pair], "B"))
        return "".join(mark for place, mark in both if _key(self.values[place]) == report)

    def alike(self, record: Codes) -> Codes:
        """(n,) a code that is equal for all pairs of categories; others have their own."""
        first, second = (np.maximum(side - self.k + 1, 0) for side in (self.first, self.second))
        return np.asarray((first + second * len(self.values))[record])

    def told(self, pair: int, coin: int) -> str:
        """The value that a record held, and the alternative, in words."""
        both = self.names[self.first[pair]], self.names[self.second[pair]]
        return f"the record held {both[coin]}, not {both[not coin]}"


def _random(count: int, bound: int) -> Codes:
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


def _run(fn: Callable[[list[Any]], Any], records: list[Any]) -> _Run:
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
    kinds = sorted({type(report).__name__ for report in reports if not is_missing(report)})
    dtype = getattr(release, "dtype", getattr(release, "dtypes", getattr(release, "type", "")))
    kind = f"{type(release).__name__} {dtype} of {', '.join(kinds)}"
    for name in ("name", "attrs"):
        kind += f", {name} {getattr(release, name, '')!r}"
    index = getattr(release, "index", None)
    listed = f"{index.dtype} {list(index)}" if isinstance(index, pd.Index) else ""
    return _Run(reports, kind, f"{len(reports)} reports", listed)


def _reports_in(release: Any) -> list[Any] | None:
    """The reports in a release as a list, for a frame its rows; None if there are none."""
    if isinstance(release, pd.DataFrame):
        return list(release.itertuples(index=False, name=None))
    if isinstance(release, list | tuple) or getattr(release, "ndim", 1) == 2:
        return list(release)
    for name in ("to_pylist", "tolist", "to_list"):  # Arrow, NumPy and pandas, Polars
        if callable(listed := getattr(release, name, None)) and np.ndim(release) == 1:
            return list(listed())
    return None


def _check_runs(fn: Callable[[list[Any]], Any], inputs: _Inputs) -> None:
    """Raise if fn returns reports for no simple input."""
    places = {0, inputs.k // 2, inputs.k - 1}
    runs = [_run(fn, [inputs.values[place]] * _ROWS) for place in sorted(places)]
    if all(run.reports is None for run in runs):
        raise ArgumentValueError(
            f"fn must return a release for a list of records, found {runs[0].kind[:300]}"
        )


def _key(value: Any) -> Hashable:
    """A key that distinguishes reports: True is not 1, and all missing values are equal."""
    if is_missing(value):
        return ("missing",)
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return ("bool", value)
    return value if isinstance(value, Hashable) else repr(value)


def _said(report: Any) -> str:
    return "missing" if is_missing(report) else cut(report, 40)


def _codes(things: Sequence[Hashable]) -> Codes:
    """(n,) numbers for things, in the order of first occurrence."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(thing, len(known)) for thing in things], dtype=np.intp)


def _crossed(*codes: Codes) -> Codes:
    """(n,) one code for each combination of codes."""
    found = np.zeros(len(codes[0]), dtype=np.intp)
    for column in codes:
        found = found * (int(column.max(initial=0)) + 1) + column
    return found


def _short_calls(
    fn: Callable[[list[Any]], Any], inputs: _Inputs, calls: int, error: float
) -> tuple[list[_Bound], set[int]]:
    """The bounds from calls with one changed record, and the values that break the length."""
    last, middle = inputs.k - 1, inputs.k // 2
    # The other two records: constant, in order, and out of order.
    company = list(dict.fromkeys([(0, 0), (0, last), (last, 0), (0, middle), (middle, 0)]))
    record, coins = inputs.drawn(calls, 2)
    others, place = _random(calls, len(company)), _random(calls, _ROWS)
    runs, keys, marks = list[_Run](), list[tuple[Hashable, ...]](), list[tuple[Hashable, ...]]()
    for at, value in enumerate(inputs.held(record, coins).tolist()):
        given, mine = list(company[others[at]]), place[at]
        given.insert(mine, value)
        run = _run(fn, [inputs.values[code] for code in given])
        told = tuple(map(_key, run.reports or []))
        runs.append(run)
        keys.append(told)
        marks.append(
            tuple(
                inputs.marks(key, record[at]) if row == mine else key == _key(inputs.values[code])
                for row, (key, code) in enumerate(zip(told, given, strict=False))
            )
        )

    def looks(things: Sequence[Hashable]) -> tuple[Codes, ...]:
        seen = _codes(things)
        return seen, _crossed(record, seen), _crossed(record, place, others, seen)

    def own(rows: Sequence[tuple[Hashable, ...]]) -> Codes:
        return _codes([row[at : at + 1] for row, at in zip(rows, place, strict=True)])

    alike, marked = inputs.alike(record), _codes(marks)
    views = {
        "type and dtype": looks([run.kind for run in runs]),
        "length": looks([run.length for run in runs]),
        "index": looks([run.labels for run in runs]),
        "missing reports": looks([tuple(key == ("missing",) for key in row) for row in keys]),
        "all reports": (
            *looks(keys)[1:],
            _crossed(alike, marked),
            _crossed(alike, place, others, marked),
        ),
        "report in place": (_crossed(record, place, own(keys)), _crossed(alike, place, own(marks))),
    }

    def say(name: str, at: int) -> str:
        run = runs[at]
        listed = ", ".join(map(_said, run.reports or [])) or run.kind
        fact = {"type and dtype": run.kind, "length": run.length, "index": run.labels}
        return f"{fact.get(name) or listed}: {inputs.told(record[at], coins[at])}"

    bounds = [
        _judge(name, views[name], coins, partial(say, name), error=error, choosers=2)
        for name in EVENTS
    ]
    wrong = [run.reports is None or len(run.reports) != _ROWS for run in runs]
    return bounds, set(inputs.held(record, coins)[wrong].tolist())


def _long_calls(
    fn: Callable[[list[Any]], Any], inputs: _Inputs, trials: int, *, error: float, notes: list[str]
) -> _Bound | None:
    """The bound from single reports, with a coin for each record; None if all calls failed."""
    if not len(inputs.first):
        return None
    record, coins = inputs.drawn(trials, 4)
    held, reports, used = inputs.held(record, coins), [], []
    for rows in np.array_split(np.arange(trials), max(8, -(-trials // _CALL_ROWS))):
        run = _run(fn, [inputs.values[place] for place in held[rows]])
        if run.reports is None or len(run.reports) != len(rows):
            if len(notes) < 2:
                notes.append(f"Some long calls gave no report for each record: {run.kind[:200]}.")
            continue
        reports += run.reports
        used.append(rows)
    if not used:
        return None
    kept = np.concatenate(used)
    record, coins = record[kept], coins[kept]
    keys = list(map(_key, reports))
    marks = _codes([inputs.marks(key, pair) for key, pair in zip(keys, record, strict=True)])
    views = _crossed(record, _codes(keys)), _crossed(inputs.alike(record), marks)

    def say(at: int) -> str:
        return f"{_said(reports[at])}: {inputs.told(record[at], coins[at])}"

    return _judge(LONG_EVENT, views, coins, say, error=error, choosers=4)


# -- the guessing game -----------------------------------------------------------------------


class _Bound(NamedTuple):
    """The bound of one event."""

    event: str
    trials: int
    guesses: int
    right: int
    epsilon_low: float
    told: str = "no event distinguished the inputs"


def _judge(
    event: str,
    views: Sequence[Codes],
    coins: Codes,
    say: Callable[[int], str],
    *,
    error: float,
    choosers: int,
) -> _Bound:
    """Choose a view and its guesses on one trial in ``choosers``; test them on the others.

    views : ways to group the trials, each (n,) the cell of a trial.
    """
    choosing = _random(len(coins), choosers) == 0
    best, promised = np.full(len(coins), -1, dtype=np.intp), -1.0
    for view in views:
        _, cells = np.unique(view, return_inverse=True)
        guess, promise = _guesses(cells, coins, choosing, error)
        if promise > promised:
            best, promised, told = guess[cells], promise, cells
    judged = np.flatnonzero(~choosing & (best >= 0))
    hit = best[judged] == coins[judged]
    guesses, right = len(judged), int(hit.sum())
    if not guesses:
        return _Bound(event, len(coins), 0, 0, 0.0)
    most = np.bincount(told[judged], np.where(hit, 1.0, -1.0)).argmax()
    of_it = judged[hit & (told[judged] == most)]
    example = int(of_it[0] if of_it.size else judged[0])
    return _Bound(
        event,
        len(coins),
        guesses,
        right,
        lower_epsilon(right, guesses, error),
        f"{event}, with {right:,} of {guesses:,} guesses right; for example {say(example)}",
    )


def _guesses(cells: Codes, coins: Codes, choosing: Any, error: float) -> tuple[Codes, float]:
    """The coin to guess in each cell, -1 for none, and the expected lower bound."""
    count = int(cells.max(initial=0)) + 1
    tails, heads = (np.bincount(cells[choosing & (coins == c)], minlength=count) for c in (0, 1))
    n, k = tails + heads, np.maximum(tails, heads)
    # A cell seen once looks certain; a prior and one standard deviation correct for that.
    share = (k + _DOUBT) / (n + 2 * _DOUBT)
    margin = np.sqrt(share * (1 - share) / (n + 2 * _DOUBT + 1))
    order = np.argsort(margin - share, kind="stable")
    scale = (~choosing).sum() / max(choosing.sum(), 1)
    guesses, right = np.cumsum(n[order]) * scale, np.cumsum((n * share)[order]) * scale
    promises = lower_share(right, guesses, error)
    best = int(promises.argmax())
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[order[: best + 1]] = True
    # The best prefix is chosen with bias: add cells that may be as good, if that costs little.
    pooled = right[best] / max(guesses[best], 1)
    wider = chosen | ((n >= _ENOUGH) & (share + 2 * margin >= pooled))
    more, sure = n[wider].sum() * scale, (n * share)[wider].sum() * scale
    noise = np.sqrt(pooled * (1 - pooled) / max(n[chosen].sum(), 1))
    if lower_share(sure, more, error) >= promises[best] - noise:
        chosen = wider
    return np.where(chosen & (n > 0), heads > tails, -1), float(promises[best])


def lower_share(right: Any, guesses: Any, error: float) -> Floats:
    """The one-sided lower end of Clopper and Pearson's interval; 0 if no guess was right."""
    sure = np.maximum(right, 1e-300)
    low = scipy.special.betaincinv(sure, guesses - right + 1, error)
    return np.asarray(np.where(right > 0, low, 0.0))


def lower_epsilon(right: int, guesses: int, error: float) -> float:
    """The largest epsilon that this number of right guesses refutes, with error rate ``error``.

    >>> round(lower_epsilon(800, 1000, 0.01), 4)
    1.2021
    >>> lower_epsilon(500, 1000, 0.01)
    0.0
    """
    share = float(lower_share(right, guesses, error))
    return max(0.0, math.log(share) - math.log1p(-share)) if share > 0 else 0.0


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
