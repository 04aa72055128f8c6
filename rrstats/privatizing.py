"""Privatize: the only step that sees true answers, and the only one that draws entropy.

Answers outside the categories are replaced by a uniform category from a stream of their
own, for every mechanism alike, and then randomized like all others.  Apart from the named
warning that such answers exist, nothing of the result but the reports depends on an answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.columns import column_of, place_of
from rrstats.containers import Container, open_container
from rrstats.domain import Domain
from rrstats.encoding import Encoded, encode, encoder, is_arrow_text
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
from rrstats.mechanisms.samples import Samples, sample_codes
from rrstats.metadata import Record, find, record_columns
from rrstats.randomness import (
    BLOCK_ROWS,
    REPLACEMENT_STREAM,
    SecureGenerator,
    Source,
    below,
    open_source,
)

__all__ = ["ColumnRelease", "check", "privatize", "privatize_bool", "privatize_frame"]

OPTIONS = ("unknown", "missing", "group", "again", "rng", "threads")
UNKNOWN = ("warn", "uniform", "raise")
MISSING = ("unknown", "keep", "raise")

UNKNOWN_TEXT = (
    "some answers are missing or not among the categories; each was answered uniformly at random, "
    "which pulls every estimate towards 1/k (or the part of classes that show a category): a share "
    "u of them turns a true share f into (1-u) f + u/k; df.rr.check counts them, unknown='raise' "
    "refuses them, and None among the categories makes non-response an answer"
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


def _check_threads(threads: object, cells: Any) -> int:
    if threads is None:
        # Arrow works on a block of text for milliseconds, and without the interpreter; blocks of
        # codes are so short that threads would wait for one another.
        return min(_cores(), 4) if is_arrow_text(cells) else 1
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer):
        raise ArgumentTypeError(f"threads must be an integer, found {type(threads).__name__}")
    if threads < 1:
        raise ArgumentValueError(f"threads must be at least 1, got {threads}")
    return int(threads)


def _cores() -> int:
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def randomize_block(
    mechanism: Mechanism,
    encoded: Encoded,
    source: Source,
    block: int,
    samples: NDArray[np.intp] | None = None,
) -> NDArray[Any]:
    """Reports of one block of answers, of which those that no category serves are made uniform.

    encoded : given away; its codes may become the reports.
    samples : the sample of each row, where the mechanism has several.
    """
    codes, outside, k = encoded.codes, encoded.outside, mechanism.domain.k
    # Words are drawn for every row, so that they tell nothing of how many were unknown.
    codes[outside] = below(source, REPLACEMENT_STREAM, block, len(codes), k, only=outside)
    if samples is not None:
        codes = cast(Samples, mechanism).join(codes, samples)
    return mechanism.randomize(codes, source, block)


class ColumnRelease:
    """One column, privatized whole or in parts: all declarations checked, nothing drawn yet.

    like : the column, or any cells of its type: only the type counts here.
    mechanism, unknown, missing, rng, threads : as for `privatize`.
    column : the place of the column in the release; columns never share words.
    Each part gets the next blocks of words of one key, so parts never share noise either, from
    whatever thread they come; a forked process must make its own, and a copy is refused.
    ``rows``, ``unknown`` and ``missing`` count the answers so far that were given, that are
    outside the categories, and that are missing where missing is not a category; they are the
    steward's, and private.

    >>> import numpy as np, rrstats as rr
    >>> release = ColumnRelease(np.array([], dtype=int), rr.KRR([1, 2, 3], 0.5))
    >>> len(release.reports(np.array([1, 2]))), len(release.reports(np.array([3]))), release.rows
    (2, 1, 3)
    """

    def __init__(
        self,
        like: Any,
        mechanism: Mechanism,
        *,
        unknown: str = "warn",
        missing: str = "unknown",
        rng: Any = None,
        column: int = 0,
        threads: int | None = None,
    ) -> None:
        _check_policies(unknown, missing, mechanism.domain)
        container = open_container(like)
        self._threads = _check_threads(threads, container.cells)
        self.mechanism = mechanism
        self._encode = encoder(mechanism.domain, container.cells)
        self._table = container.table(mechanism.report_space, keep_missing=missing == "keep")
        self.type = getattr(self._table, "type", getattr(self._table, "dtype", None))
        self._answer_type = container.dtype
        self._policies = {"unknown": unknown, "missing": missing}
        self._rng, self._column = rng, column
        self._source: Source | None = None
        self._process = os.getpid()
        self._blocks = 0
        self._one_at_a_time = threading.Lock()
        self.rows = self.unknown = self.missing = 0

    @property
    def source(self) -> Source:
        """Where the words come from; the key is drawn when first asked for."""
        with self._one_at_a_time:
            if self._source is None:
                self._source = open_source(self._rng, column=self._column)
            return self._source

    def _take_blocks(self, count: int) -> int:
        """The first of the next blocks, which nobody else gets, even if drawing them fails."""
        if os.getpid() != self._process:
            raise ArgumentTypeError(
                "a ColumnRelease cannot go on in a forked process: both would draw the same noise; "
                "create one in each process"
            )
        with self._one_at_a_time:
            first = self._blocks
            self._blocks += count
            return first

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "a ColumnRelease cannot be pickled: two copies would share their noise"
        )

    @property
    def outside(self) -> int:
        """How many answers so far the policies treat as unknown."""
        return self.unknown + (self.missing if self._policies["missing"] == "unknown" else 0)

    @property
    def warns(self) -> bool:
        """Whether the named warning is due."""
        return bool(self._policies["unknown"] == "warn" and self.outside)

    def look(self, values: Any) -> None:
        """Count what the policies may refuse among some answers; draws nothing."""
        container = open_container(values)
        k = self.mechanism.domain.k
        for rows in self._parts(container):
            encoded = Encoded(self._encode(container.part(rows)), k)
            self._add(len(encoded.codes), encoded.unknown, encoded.missing)

    def refuse(self) -> None:
        """Raise UnknownAnswersError for answers seen so far that were asked to be refused.

        Then counts from the beginning: what was looked at is still to be privatized.
        """
        unknown, missing = self.unknown, self.missing
        outside, rows, domain = self.outside, self.rows, self.mechanism.domain
        self.rows = self.unknown = self.missing = 0
        if self._policies["missing"] == "raise" and missing:
            raise UnknownAnswersError(
                f"{missing} of {rows} answers are missing; declare None among the categories "
                "(--with-missing), choose missing='unknown' or 'keep', or drop them first"
            )
        if self._policies["unknown"] == "raise" and outside:
            absent = outside - unknown
            raise UnknownAnswersError(
                f"{outside} of {rows} answers are not among the {domain.k} categories "
                f"{domain.describe()} ({absent} missing; answer type: {self._type_name}); "
                "rr.check (rrstats check) lists them for the steward"
            )

    @property
    def may_refuse(self) -> bool:
        """Whether answers must be looked at before anything is drawn."""
        return "raise" in self._policies.values()

    def reports(self, values: Any, group: Any = None) -> Any:
        """The reports of the next answers, in the container that came in.

        group : the sample of each answer, where the mechanism has several.
        """
        container = open_container(values)
        samples = sample_codes(self.mechanism, group, container.rows, values)
        keep = self._policies["missing"] == "keep"
        room = container.room(self._table, keep)
        parts = list(enumerate(self._parts(container)))
        source, first = self.source, self._take_blocks(len(parts))

        def one_block(part: tuple[int, slice]) -> tuple[int, int]:
            block, rows = part
            encoded = Encoded(self._encode(container.part(rows)), self.mechanism.domain.k)
            absent = encoded.absent
            found = encoded.unknown, len(absent)
            mine = None if samples is None else samples[rows]
            codes = randomize_block(self.mechanism, encoded, source, first + block, mine)
            room.put(rows, codes, absent if keep else None)
            return found

        if self._threads == 1 or len(parts) < 2:
            found = [one_block(part) for part in parts]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(self._threads, len(parts))) as pool:
                found = list(pool.map(one_block, parts))
        for (_, rows), (unknown, missing) in zip(parts, found, strict=True):
            self._add(rows.stop - rows.start, unknown, missing)
        return container.wrap(room.reports())

    def facts(self) -> tuple[Mechanism, dict[str, Any]]:
        """The mechanism and the other facts of the column's record."""
        return self.mechanism, {**self._policies, "simulated": not self.source.secure}

    @staticmethod
    def _parts(container: Container) -> list[slice]:
        rows = container.rows
        return [slice(at, min(at + BLOCK_ROWS, rows)) for at in range(0, rows, BLOCK_ROWS)]

    def _add(self, rows: int, unknown: int, missing: int) -> None:
        with self._one_at_a_time:
            self.rows += rows
            self.unknown += unknown
            self.missing += missing

    @property
    def _type_name(self) -> str:
        """The answers' type; NumPy's names for text would tell the longest answer's length."""
        dtype = self._answer_type
        if isinstance(dtype, np.dtype) and dtype.kind in "SU":
            return "text" if dtype.kind == "U" else "bytes"
        return str(dtype)


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


def recorded_mechanism(
    record: Record | None, mechanism: Mechanism, *, again: bool, missing: str, rng: Any
) -> Mechanism:
    """The mechanism to record: a chain, where the data say that they are reports already.

    record : what the data say of the column, if anything.
    Raises MetadataError without ``again``, and where the first round was simulated.
    """
    if not isinstance(again, bool):
        raise ArgumentTypeError(f"again must be True or False, found {type(again).__name__}")
    if record is None:
        return mechanism
    if not again:
        raise MetadataError(
            f"column {record.name!r} says that it holds reports already; again=True (--again) "
            "randomizes the reports once more (post-processing, no new privacy loss); for a new "
            "release of the true answers start from the original data, and add up the epsilons"
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


def warn_of(releases: Iterable[ColumnRelease]) -> None:
    """The named warnings, after the results exist: fixed texts, no counts, no values."""
    releases = list(releases)
    if any(release.warns for release in releases):
        warn(UNKNOWN_TEXT, UnknownAnswersWarning)
    if not all(release.source.secure for release in releases):
        warn(SIMULATED_TEXT, SimulationWarning)


@dataclass(frozen=True)
class _Job:
    """One column of pandas or of any other container, all arguments checked."""

    values: Any
    release: ColumnRelease
    recorded: Mechanism
    group: Any

    @classmethod
    def prepare(
        cls, values: Any, mechanism: Mechanism, again: bool, rng: Any, group: Any, **options: Any
    ) -> _Job:
        release = ColumnRelease(values, mechanism, rng=rng, **options)
        _check_index(values)
        record = find(getattr(values, "attrs", None) or {}, getattr(values, "name", None))
        missing = options["missing"]
        recorded = recorded_mechanism(record, mechanism, again=again, missing=missing, rng=rng)
        rows = open_container(values).rows
        sample_codes(mechanism, group, rows, values)  # raises before words are drawn
        if release.may_refuse:
            release.look(values)
            release.refuse()
        return cls(values, release, recorded, group)

    def run(self) -> Any:
        return self.release.reports(self.values, self.group)

    def facts(self) -> tuple[Mechanism, dict[str, Any]]:
        """How the reports were made, to be recorded beside them."""
        return self.recorded, self.release.facts()[1]


def privatize(
    values: Any,
    categories: Any,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    unknown: str = "warn",
    missing: str = "unknown",
    group: Any = None,
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
    group : the sample of each answer, where the mechanism has several (two-sample designs, or
        a mapping from group to mechanism); it is public.
    again : randomize reports once more; without it, a Series that says it holds reports is
        refused.
    rng : None, the default, takes a fresh key from the operating system for this call.  A
        numpy.random.Generator is for teaching: it warns and marks the result.
    threads : how many share the blocks of a large column; by default up to four for text held
        by Arrow and one for all else, where more gain nothing.  Never changes the law, nor the
        result under given words.
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
    options = {"unknown": unknown, "missing": missing, "threads": threads}
    job = _Job.prepare(values, mechanism, again, rng, group, **options)
    reports = job.run()
    if isinstance(reports, pd.Series):
        record_columns(reports.attrs, {reports.name: job.facts()})
    warn_of([job.release])
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
    group: Hashable = None,
    again: bool = False,
    rng: Any = None,
    threads: int | None = None,
    **refused: object,
) -> pd.DataFrame:
    """A new frame with some columns privatized, each with a key of its own.

    data : a DataFrame; it is not changed.  columns : mapping from column to its mechanism.
    unknown, missing, again, rng, threads : as for `privatize`, for all these columns.
    group : the column that says which sample each row is in, for mechanisms with several.
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
    options = {"unknown": unknown, "missing": missing, "threads": threads}
    jobs: dict[Hashable, _Job] = {}
    samples = None if group is None else column_of(data, group)
    for place, (name, given) in enumerate(columns.items()):
        column, mechanism = column_of(data, name), as_mechanism(given)
        mine = None if mechanism.groups is None else samples
        jobs[column.name] = _Job.prepare(
            column, mechanism, again, rng, mine, column=place, **options
        )
    if samples is not None and (
        samples.name in jobs or not any(j.group is not None for j in jobs.values())
    ):
        raise ArgumentValueError(
            "group must be a public column that some mechanism here needs; "
            f"{samples.name!r} is to be privatized, or no mechanism has several samples"
        )
    # Shallow, then deep: the true answers are never copied, and no block of other columns
    # is a view into one that holds them.
    released = data.copy(deep=False)
    for name, job in jobs.items():
        released.isetitem(place_of(data, name), job.run())
    released = released.copy()
    record_columns(released.attrs, {name: job.facts() for name, job in jobs.items()})
    warn_of(job.release for job in jobs.values())
    return released


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
    encoded = encode(domain, container.cells)
    tally: dict[tuple[type, str], list[Any]] = {}
    for value in container.pick(np.setdiff1d(encoded.outside, encoded.absent)):
        shown = _shown(value)
        tally.setdefault((type(value), repr(shown)), [shown, "unknown", 0])[2] += 1
    absent = encoded.missing
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
