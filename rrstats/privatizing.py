"""Privatize: the only step that sees true answers, and the only one that draws entropy.

Answers outside the categories are replaced by a uniform category from a stream of their
own, for every mechanism alike, and then randomized like all others.  Apart from the named
warning that such answers exist, nothing of the result but the reports depends on an answer.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.containers import Container, open_container
from rrstats.domain import Domain, Encoded
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    SimulationWarning,
    UnknownAnswersError,
    UnknownAnswersWarning,
    warn,
)
from rrstats.mechanisms import Chain, Mechanism, as_mechanism, is_mechanism
from rrstats.metadata import find, record_columns
from rrstats.randomness import (
    BLOCK_ROWS,
    REPLACEMENT_STREAM,
    SecureGenerator,
    Source,
    below,
    open_source,
)

__all__ = ["check", "privatize", "privatize_bool", "privatize_frame"]

OPTIONS = ("unknown", "missing", "again", "rng", "threads")
UNKNOWN = ("warn", "uniform", "raise")
MISSING = ("unknown", "keep", "raise")

UNKNOWN_TEXT = (
    "some answers are missing or not among the categories; each was answered uniformly at random, "
    "which pulls every estimate towards 1/k: a share u of them turns a true share f "
    "into (1-u) f + u/k; df.rr.check counts them, unknown='raise' refuses them, and None among "
    "the categories makes non-response an answer"
)
SIMULATED_TEXT = (
    "the noise comes from a generator that is not cryptographic: whoever learns its seed or state "
    "reads the true answers; never release these reports"
)


def refuse_options(given: Mapping[str, object], function: str) -> None:
    """Raise ArgumentTypeError for a keyword that privatizing does not have, a seed above all."""
    for name in given:
        if name in OPTIONS:
            continue
        if name in ("seed", "random_state"):
            raise ArgumentTypeError(
                f"{function} takes no {name}: whoever learns a seed reads the true answers; for "
                "teaching use rr.simulate(..., seed=...), or rng=numpy.random.default_rng(...)"
            )
        raise ArgumentTypeError(
            f"{function} has no argument {name!r}; it has prob, epsilon, {', '.join(OPTIONS)}, "
            "and always returns something new"
        )


def _check_policies(unknown: object, missing: object, domain: Domain) -> None:
    for name, value, allowed in (("unknown", unknown, UNKNOWN), ("missing", missing, MISSING)):
        if not isinstance(value, str):
            raise ArgumentTypeError(
                f"{name} must be one of {list(allowed)}, found {type(value).__name__}"
            )
        if value not in allowed:
            raise ArgumentValueError(f"{name} must be one of {list(allowed)}, got {value!r}")
    if domain.missing_code is not None and missing != "unknown":
        raise ArgumentValueError(
            f"missing={missing!r} contradicts the categories, which have a missing value: there, "
            "not answering is an answer like any other; leave missing= out"
        )


def _check_threads(threads: object) -> int:
    if threads is None:
        return 1
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer):
        raise ArgumentTypeError(f"threads must be an integer, found {type(threads).__name__}")
    if threads < 1:
        raise ArgumentValueError(f"threads must be at least 1, got {threads}")
    return int(threads)


def _randomize(
    mechanism: Mechanism, codes: NDArray[Any], source: Source, threads: int
) -> NDArray[Any]:
    """Reports of any number of codes, 0 .. k+1, in blocks; unknown ones first made uniform."""
    k = mechanism.k
    reports = mechanism.report_space.empty(len(codes))

    def one_block(block: int) -> None:
        rows = slice(block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, len(codes)))
        truth = codes[rows]
        # Drawn for every row, so that the words drawn tell nothing of how many were unknown.
        uniform = below(source, REPLACEMENT_STREAM, block, len(truth), k)
        known = truth.copy()
        np.copyto(known, uniform.astype(codes.dtype, copy=False), where=truth >= k)
        reports[rows] = mechanism.randomize(known, source, block)

    blocks = range(-(-len(codes) // BLOCK_ROWS))
    if threads == 1 or len(blocks) < 2:
        for block in blocks:
            one_block(block)
    else:
        with ThreadPoolExecutor(min(threads, len(blocks))) as pool:
            list(pool.map(one_block, blocks))
    return reports


@dataclass(frozen=True)
class _Job:
    """One column, all arguments checked and nothing drawn yet."""

    container: Container
    encoded: Encoded
    table: Any
    mechanism: Mechanism
    recorded: Mechanism
    unknown: str
    missing: str
    threads: int

    @classmethod
    def prepare(
        cls,
        values: Any,
        mechanism: Mechanism,
        unknown: str,
        missing: str,
        again: bool,
        threads: int | None,
        rng: Any,
    ) -> _Job:
        domain = mechanism.domain
        _check_policies(unknown, missing, domain)
        if not isinstance(again, bool):
            raise ArgumentTypeError(f"again must be True or False, found {type(again).__name__}")
        container = open_container(values)
        workers = _check_threads(threads)
        _check_index(values)
        recorded = _whole_mechanism(values, mechanism, again, missing, rng)
        encoded = domain.encode(container.cells)
        table = container.table(mechanism.report_space, keep_missing=missing == "keep")
        job = cls(container, encoded, table, mechanism, recorded, unknown, missing, workers)
        job.refuse()
        return job

    @property
    def outside(self) -> int:
        """How many answers the policies treat as unknown."""
        return self.encoded.unknown + (self.encoded.missing if self.missing == "unknown" else 0)

    def refuse(self) -> None:
        """Raise for answers that the caller asked to be refused."""
        rows, absent, domain = self.container.rows, self.encoded.missing, self.mechanism.domain
        if self.missing == "raise" and absent:
            raise UnknownAnswersError(
                f"{absent} of {rows} answers are missing; declare None among the categories, "
                "choose missing='unknown' or missing='keep', or drop them first"
            )
        if self.unknown == "raise" and self.outside:
            raise UnknownAnswersError(
                f"{self.outside} of {rows} answers are not among the {domain.k} categories "
                f"{domain.describe()} ({absent} missing; answer type: {self._type}); "
                "rr.check lists them for the steward"
            )

    @property
    def _type(self) -> str:
        """The answers' type; NumPy's names for text would tell the longest answer's length."""
        dtype = self.container.dtype
        if isinstance(dtype, np.dtype) and dtype.kind in "SU":
            return "text" if dtype.kind == "U" else "bytes"
        return str(dtype)

    def run(self, source: Source) -> Any:
        """Draw the reports, in the container that came in."""
        codes = _randomize(self.mechanism, self.encoded.codes, source, self.threads)
        left_out = self.encoded.codes == self.encoded.k + 1 if self.missing == "keep" else None
        return self.container.fill(self.table, codes, left_out)

    def facts(self, source: Source) -> tuple[Mechanism, dict[str, Any]]:
        """How the reports were made, to be recorded beside them."""
        return self.recorded, {
            "unknown": self.unknown,
            "missing": self.missing,
            "simulated": not source.secure,
        }


def _check_index(values: Any) -> None:
    """Raise where the index of a Series carries its name, and so a copy of the answers."""
    if not isinstance(values, pd.Series) or values.name is None:
        return
    name = values.name
    alike = [name, *name[:1]] if isinstance(name, tuple) and not any(name[1:]) else [name]
    if any(label in values.index.names for label in alike):
        raise ArgumentValueError(
            f"the index carries the name {name!r} too, and would release the answers; "
            "reset_index(drop=True) or rename it first"
        )


def _whole_mechanism(
    values: Any, mechanism: Mechanism, again: bool, missing: str, rng: Any
) -> Mechanism:
    """The mechanism to record: a chain, where the values say that they are reports already."""
    attrs = getattr(values, "attrs", None) or {}
    record = find(attrs, getattr(values, "name", None))
    if record is None:
        return mechanism
    if not again:
        raise MetadataError(
            f"column {record.name!r} says that it holds reports already; again=True randomizes the "
            "reports once more (post-processing, no new privacy loss); for a new release of "
            "the true answers start from the original data, and add up the epsilons"
        )
    if record.simulated and (rng is None or isinstance(rng, SecureGenerator)):
        raise MetadataError(
            f"column {record.name!r} holds simulated reports: whoever knows their seed sees "
            "through the first round; start from the original data, or simulate the second too"
        )
    if record.missing == "keep" and missing != "keep":
        raise ArgumentValueError(
            f"column {record.name!r} was made with missing='keep', which published who did not "
            "answer; give missing='keep' again, so that those rows stay out of the counts"
        )
    return Chain(record.resolve(), mechanism)


def _warn(jobs: Iterable[_Job], source: Source) -> None:
    """The named warnings, after the results exist: fixed texts, no counts, no values."""
    if any(job.unknown == "warn" and job.outside for job in jobs):
        warn(UNKNOWN_TEXT, UnknownAnswersWarning)
    if not source.secure:
        warn(SIMULATED_TEXT, SimulationWarning)


def privatize(
    values: Any,
    categories: Any,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    unknown: str = "warn",
    missing: str = "unknown",
    again: bool = False,
    rng: Any = None,
    threads: int | None = None,
    **refused: object,
) -> Any:
    """Replace each true answer by a randomized report.

    values : n answers as a list, tuple, array of any shape, Series, Index, Arrow array, or
        one answer (a str is one).  The same container comes back, sharing no memory; its
        dtype follows from the categories and the container's type, never from values.
    categories, prob, epsilon : the k categories with prob = P(report = truth) in [1/k, 1)
        or with epsilon in nats; or a mechanism alone.
    unknown : answers that are no category. "warn" answers them uniformly and says that there
        are some, "uniform" is silent, "raise" refuses them before anything is drawn.
    missing : missing answers where None is not a category. "unknown" treats them like
        unknown ones, "keep" leaves them missing (which publishes who did not answer, in a
        dtype that can hold missing values whether or not there are any), "raise".
    again : randomize reports once more; without it, a Series that says it holds reports is
        refused.
    rng : None, the default, takes a fresh key from the operating system for this call.  A
        numpy.random.Generator is for teaching: it warns and marks the result.
    threads : how many share the blocks of a large column, by default one.  Never changes the
        law, nor the result under given words.
    Raises ArgumentValueError or ArgumentTypeError for bad arguments, UnknownAnswersError as
    asked; no message quotes an answer.
    The promise: each report is epsilon-LDP for its answer.  Every call is a new release,
    and epsilons add up.

    >>> import rrstats as rr
    >>> reports = rr.privatize(["never", "often", "never"], ["never", "once", "often"], 0.75)
    >>> len(reports), set(reports) <= {"never", "once", "often"}
    (3, True)
    """
    refuse_options(refused, "privatize")
    mechanism = as_mechanism(categories, prob, epsilon)
    job = _Job.prepare(values, mechanism, unknown, missing, again, threads, rng)
    source = open_source(rng)
    reports = job.run(source)
    if isinstance(reports, pd.Series):
        record_columns(reports.attrs, {reports.name: job.facts(source)})
    _warn([job], source)
    return reports


def privatize_bool(values: Any, prob: float | None = None, **options: Any) -> Any:
    """`privatize` for yes/no answers: the categories are False and True.

    values : booleans in any container; 0 and 1 are not booleans.
    prob : P(report = truth), in [1/2, 1); or ``epsilon=``.  options : as for `privatize`.
    Source: Warner (1965); OpenDP make_randomized_response_bool.

    >>> import rrstats as rr
    >>> rr.privatize_bool([True, False], 0.75).count(True) in (0, 1, 2)
    True
    """
    return privatize(values, [False, True], prob, **options)


def privatize_frame(
    data: pd.DataFrame,
    columns: Mapping[Hashable, Any],
    *,
    unknown: str = "warn",
    missing: str = "unknown",
    again: bool = False,
    rng: Any = None,
    threads: int | None = None,
    **refused: object,
) -> pd.DataFrame:
    """A new frame with some columns privatized, each with a key of its own.

    data : a DataFrame; it is not changed.  columns : mapping from column to its mechanism.
    unknown, missing, again, rng, threads : as for `privatize`, for all these columns.
    Returns a frame with the same index, columns and column order; ``attrs["rrstats"]`` says
    how the columns were made.  Everything is checked before anything is drawn.
    Raises ArgumentValueError for a column that is not there, or there twice, or whose name the
    index carries too (its copy of the answers would be released).

    >>> import rrstats as rr
    >>> df = pd.DataFrame({"smoker": [True, False, True], "age": [31, 42, 53]})
    >>> out = privatize_frame(df, {"smoker": rr.KRR([False, True], 0.75)})
    >>> list(out["age"]), rr.metadata.find(out.attrs, "smoker").mechanism["prob"]
    ([31, 42, 53], 0.75)
    """
    refuse_options(refused, "privatize")
    if not isinstance(data, pd.DataFrame):
        raise ArgumentTypeError(f"data must be a DataFrame, found {type(data).__name__}")
    if not isinstance(columns, Mapping):
        raise ArgumentTypeError(
            "columns must be a mapping from column to mechanism, found "
            f"{type(columns).__name__}; for one column give its name and categories"
        )
    if not columns:
        raise ArgumentValueError("columns must name at least one column, found none")
    jobs = {}
    for name, given in columns.items():
        column = column_of(data, name)
        jobs[column.name] = _Job.prepare(
            column, as_mechanism(given), unknown, missing, again, threads, rng
        )
    # Shallow, then deep: the true answers are never copied, and no block of other columns
    # is a view into one that holds them.
    released = data.copy(deep=False)
    sources = [open_source(rng, column=place) for place in range(len(jobs))]
    for (name, job), source in zip(jobs.items(), sources, strict=True):
        released.isetitem(_place_of(data, name), job.run(source))
    released = released.copy()
    pairs = zip(jobs.items(), sources, strict=True)
    record_columns(released.attrs, {name: job.facts(source) for (name, job), source in pairs})
    _warn(jobs.values(), sources[0])
    return released


def _place_of(data: pd.DataFrame, name: Hashable) -> int:
    places: Any
    try:
        places = data.columns.get_loc(name)
    except (KeyError, TypeError, ValueError, pd.errors.InvalidIndexError):
        places = slice(0)
    if isinstance(places, int | np.integer):
        return int(places)
    times = len(np.arange(len(data.columns))[places])
    found = f"is there {times} times" if times else "is not there"
    near = difflib.get_close_matches(str(name), [str(c) for c in data.columns], n=1)
    hint = f"; did you mean {near[0]!r}" if near and not times else ""
    listed = ", ".join(repr(c) for c in list(data.columns)[:20])
    raise ArgumentValueError(f"column {name!r} {found}{hint}; the columns are {listed}")


def column_of(data: pd.DataFrame, name: Hashable) -> pd.Series[Any]:
    """One column of a frame; raises where it is not there just once."""
    return data.iloc[:, _place_of(data, name)]


def check(values: Any, categories: Any) -> pd.DataFrame:
    """For the data steward only: which answers no category serves.  The result is private.

    values : the true answers, in any container.  categories : the categories or a mechanism.
    Returns a frame with one row for each distinct answer that is missing or unknown:
    columns value, status ("missing" or "unknown") and count, largest count first; no rows
    where all answers are served.  Never release, log or share it: it shows true answers.

    >>> check(["yes", "no", "mabye", None], ["yes", "no"])[["status", "count"]]
        status  count
    0  unknown      1
    1  missing      1
    """
    domain = categories.domain if is_mechanism(categories) else Domain(categories)
    container = open_container(values)
    codes = domain.encode(container.cells).codes
    tally: dict[tuple[type, str], list[Any]] = {}
    for value in container.pick(codes == domain.k):
        shown = _shown(value)
        tally.setdefault((type(value), repr(shown)), [shown, "unknown", 0])[2] += 1
    absent = int(np.count_nonzero(codes == domain.k + 1))
    rows = [*tally.values(), *([[None, "missing", absent]] if absent else [])]
    rows.sort(key=lambda row: -row[2])
    return pd.DataFrame(
        {
            "value": pd.Series([row[0] for row in rows], dtype=object),
            "status": pd.Series([row[1] for row in rows], dtype=object),
            "count": pd.Series([row[2] for row in rows], dtype=np.int64),
        }
    )


def _shown(value: Any) -> object:
    """An unknown answer as the steward sees it: itself, or a description where it is odd."""
    try:
        hash(value)
        repr(value)
        return value
    except Exception:  # unhashable, or an object that raises when looked at
        pass
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} without a repr>"
