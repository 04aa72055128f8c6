"""Privatize: the only step that sees true answers, and the only one that draws entropy.

Answers outside the categories are replaced by a uniform category from a stream of their
own, for every mechanism alike, and then randomized like all others.  Apart from the named
warning that such answers exist, nothing of the result but the reports depends on an answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rrstats.data.categories import Categories
from rrstats.data.columns import column_of, encode, engine_hint, open_column, place_of
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    SimulationWarning,
    UnknownAnswersWarning,
    warn,
)
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.chain import Chain
from rrstats.mechanisms.records import Record, find, record_columns
from rrstats.mechanisms.samples import sample_codes
from rrstats.mechanisms.serialization import as_mechanism, is_mechanism
from rrstats.privatization.column import MISSING, UNKNOWN, ColumnRelease, rounds_before
from rrstats.randomness.keyed import KeyedRows
from rrstats.randomness.sources import SecureGenerator

__all__ = [
    "MISSING",
    "UNKNOWN",
    "ColumnRelease",
    "check",
    "privatize",
    "privatize_bool",
    "privatize_frame",
]

OPTIONS = ("unknown", "missing", "group", "again", "rng", "threads", "key", "id")

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
    if not all(release.secure for release in releases):
        warn(SIMULATED_TEXT, SimulationWarning)


@dataclass(frozen=True)
class _Job:
    """One column of pandas or of any other container, all arguments checked."""

    values: Any
    release: ColumnRelease
    recorded: Mechanism
    group: Any
    keyed: KeyedRows | None
    record: Record | None

    @classmethod
    def prepare(
        cls,
        values: Any,
        mechanism: Mechanism,
        again: bool,
        rng: Any,
        group: Any,
        ids: Any,
        **options: Any,
    ) -> _Job:
        record = find(getattr(values, "attrs", None) or {}, getattr(values, "name", None))
        before = rounds_before(record, again)
        release = ColumnRelease(values, mechanism, rng=rng, before=before, **options)
        _check_index(values)
        missing = options["missing"]
        recorded = recorded_mechanism(record, mechanism, again=again, missing=missing, rng=rng)
        rows = open_column(values).rows
        sample_codes(mechanism, group, rows, values)  # raises before words are drawn
        keyed = release.rows_of(ids, rows, values)
        if release.may_refuse:
            release.look(values)
            release.refuse()
        return cls(values, release, recorded, group, keyed, record)

    def run(self) -> Any:
        return self.release.reports(self.values, self.group, self.keyed)

    def facts(self) -> tuple[Mechanism, dict[str, Any]]:
        """How the reports were made, to be recorded beside them."""
        return self.recorded, self.release.facts_after(self.record)


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
    key: Any = None,
    id: Any = None,
    column: Hashable = None,
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
    key, id : for keyed reports, which are the same whenever they are computed: 32 secret bytes
        from `rr.new_key`, and the (n,) ids of the persons (whole numbers, 16 bytes or text; or a
        list of such columns).  It hides a value, not whether or when it changed; epsilon counts
        for every distinct value of a person; rows with the same id and value have the same report,
        so an id names one person in all that is released under the key; whoever has the key has
        nearly everything.  See `rrstats.randomness.keyed`.
    column : the column's name, which keyed noise depends on; a Series has one.
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
    named = getattr(values, "name", None) if column is None else column
    options = {"unknown": unknown, "missing": missing, "threads": threads, "key": key}
    job = _Job.prepare(values, mechanism, again, rng, group, id, name=named, **options)
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
    key: Any = None,
    id: Any = None,
    **refused: object,
) -> pd.DataFrame:
    """A new frame with some columns privatized, each with a key of its own.

    data : a DataFrame; it is not changed.  columns : mapping from column to its mechanism.
    unknown, missing, again, rng, threads : as for `privatize`, for all these columns.
    group : the column that says which sample each row is in, for mechanisms with several.
    key, id : as for `privatize`; the name of the column of ids, or a list of names.
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
        raise ArgumentTypeError(
            f"data must be a DataFrame, found {type(data).__name__}{engine_hint(data)}"
        )
    if not isinstance(columns, Mapping):
        raise ArgumentTypeError(
            "columns must be a mapping from column to mechanism, found "
            f"{type(columns).__name__}; for one column give its name and categories"
        )
    if not columns:
        raise ArgumentValueError("columns must name at least one column, found none")
    options = {"unknown": unknown, "missing": missing, "threads": threads, "key": key}
    jobs: dict[Hashable, _Job] = {}
    samples = None if group is None else column_of(data, group)
    ids = None if id is None else [column_of(data, one) for one in _names(id)]
    for place, (name, given) in enumerate(columns.items()):
        column, mechanism = column_of(data, name), as_mechanism(given)
        mine = None if mechanism.groups is None else samples
        jobs[column.name] = _Job.prepare(
            column, mechanism, again, rng, mine, ids, column=place, name=column.name, **options
        )
    if secret := [one.name for one in ids or [] if one.name in jobs]:
        raise ArgumentValueError(
            f"id must be a public column, and {secret[0]!r} is to be privatized"
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


def _names(id: Any) -> list[Any]:
    """The names that one name or a list of them stands for."""
    if isinstance(id, list) and not id:
        raise ArgumentValueError("id must name at least one column, found an empty list")
    return list(id) if isinstance(id, list) else [id]


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
    domain = categories.domain if is_mechanism(categories) else Categories(categories)
    container = open_column(values)
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
