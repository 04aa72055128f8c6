"""Frames and columns: `privatize`, `simulate`, `instantaneous` (RAPPOR's second round), `check`.

A frame is privatized column by column, each a `column.ColumnRelease` with words of its own.
Apart from the named warning that answers outside the categories exist, nothing of the result but
the reports depends on an answer.  `check` shows true answers, for the data curator only.
"""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from rrstats._checks import check_instance, type_name
from rrstats.data.categories import Categories
from rrstats.data.columns import (
    column_of,
    engine_hint,
    is_table,
    open_column,
    open_reports,
    place_of,
    reader,
)
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    SimulationWarning,
    UnknownAnswersWarning,
    warn,
)
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.krr import as_mechanism
from rrstats.mechanisms.serialization import KEY, find, record_columns
from rrstats.mechanisms.unary import Rappor
from rrstats.privatization.column import Answers, ColumnRelease
from rrstats.randomness.sources import BLOCK_ROWS, SIMULATED_TEXT, open_source, seeded

Values = TypeVar("Values")

UNKNOWN_TEXT = (
    "some answers are missing or not among the categories; each was answered uniformly at random, "
    "which pulls every estimate towards 1/k (or the part of classes that show a category): a share "
    "u of them turns a true share f into (1-u) f + u/k; df.rr.check (rrstats check) counts them, "
    "unknown='raise' refuses them, and None among the categories makes non-response an answer"
)


def warn_of(releases: Iterable[ColumnRelease]) -> None:
    """The named warnings, after the results exist: fixed texts, no counts, no values."""
    listed = list(releases)
    if any(release.outside and release.facts["unknown"] == "warn" for release in listed):
        warn(UNKNOWN_TEXT, UnknownAnswersWarning)
    if False in [release.secure for release in listed]:
        warn(SIMULATED_TEXT, SimulationWarning)


class _Prepared(NamedTuple):
    """One column of pandas or of any other container, all arguments checked."""

    release: ColumnRelease
    answers: Answers
    place: int = 0
    """In the frame."""


def _prepare(values: Any, mechanism: Mechanism, group: Any, ids: Any, **options: Any) -> _Prepared:
    """Check one column and open it; nothing is drawn yet."""
    name = getattr(values, "name", None)
    if isinstance(values, pd.Series) and name is not None:
        alike = [name, *name[:1]] if isinstance(name, tuple) and not any(name[1:]) else [name]
        names = {str(label).casefold() for label in values.index.names if label is not None}
        if any(str(label).casefold() in names for label in alike):
            raise ArgumentValueError(
                f"the index carries the name {name!r} too, and would release the answers; "
                "reset_index(drop=True) or rename it first"
            )
    if attrs := getattr(values, "attrs", None):
        options["record"] = find(attrs, name)
    release = ColumnRelease(values, mechanism, **options)
    answers = release.open(values, group, ids)
    if release.may_refuse:
        release.look(values)
        release.refuse()
    return _Prepared(release, answers)


def column_mechanisms(
    columns: Any, categories: Any = None, prob: float | None = None, epsilon: float | None = None
) -> dict[Hashable, Mechanism]:
    """The mechanism of each column: of one name or a list with one design, or of a mapping."""
    if columns is None:
        if not isinstance(categories, Mapping):
            raise ArgumentTypeError(
                "values must be one column; beside a DataFrame give a mapping from column to "
                f"mechanism, or columns= of one design, found {type_name(categories)} alone"
            )
        columns, categories = categories, None
    if isinstance(columns, Mapping):
        if categories is not None or prob is not None or epsilon is not None:
            raise ArgumentTypeError(
                "a mapping from column to mechanism says all; leave categories, prob and "
                "epsilon out"
            )
        found = {name: as_mechanism(given) for name, given in columns.items()}
    else:
        if isinstance(columns, pd.Series | np.ndarray):  # they may hold answers
            raise ArgumentTypeError(f"columns must be a list of names, found {type_name(columns)}")
        several = isinstance(columns, list | set | pd.Index)
        mechanism = as_mechanism(categories, prob, epsilon)
        names = list(columns) if several else [columns]
        found = dict.fromkeys(names, mechanism)
        if len(found) < len(names):  # not quoted: they may be answers
            raise ArgumentValueError(
                f"columns must name each column once, found {len(names)} names, some of them twice"
            )
    if not found:
        raise ArgumentValueError("columns must name at least one column, found none")
    return found


def privatize(
    values: Values,
    categories: Any,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    columns: Any = None,
    unknown: str = "warn",
    missing: str = "unknown",
    group: Any = None,
    again: bool = False,
    rng: Any = None,
    threads: int | None = None,
    key: Any = None,
    id: Any = None,
    question: Hashable = None,
) -> Values:
    """Replace each true answer by a randomized report.

    Parameters
    ----------
    values : array-like, Series or DataFrame
        n answers as a list, tuple, array of any shape, Series, Index, Arrow array, or one answer
        (a str is one); or a DataFrame of pandas or Polars
        or an Arrow table, some columns of which are privatized.
    categories : sequence of k hashables, Mechanism, or mapping
        The k categories, with ``prob`` or ``epsilon``; or a mechanism alone.  Of a DataFrame also
        a mapping from column to mechanism.
    prob : float, optional
        P(report = truth), in [1/k, 1).
    epsilon : float, optional
        The privacy loss of one report in nats, instead of ``prob``.
    columns : hashable, list of hashables, or mapping, optional
        Of a DataFrame: the columns to privatize with this one design, each with a key of its own.
    unknown : {"warn", "uniform", "raise"}
        Answers that are no category.  "warn" answers them uniformly and says that there are
        some, "uniform" is silent, "raise" refuses them before anything is drawn.
    missing : {"unknown", "uniform", "keep", "raise"}
        Missing answers where None is not a category.  "unknown" treats them like unknown ones,
        "uniform" answers them uniformly without a word and refuses none,
        "keep" leaves them missing (which publishes who did not answer, in a dtype that can hold
        missing values whether or not there are any).
    group : array-like or column name, optional
        The sample of each answer, where the mechanism has several (two-sample designs, or a
        mapping from group to mechanism); it is public.
    again : bool, default False
        Randomize reports once more; without it, a Series that says it holds reports is refused.
    rng : numpy.random.Generator, optional
        By default a fresh key from the operating system for this call.  A generator is for
        teaching: it warns and marks the result.
    threads : int, optional
        How many share the blocks of a large column; by default up to four for text held by
        Arrow and one for all else.  Never changes the distribution, nor the result under given
        words.
    key : bytes, optional
        32 secret bytes from `rr.new_key`, for keyed reports: the same whenever they are computed.
    id : array-like, list of array-likes, or column names, optional
        The persons of keyed reports, as whole numbers, 16 bytes or text.
    question : hashable or mapping, optional
        A name of what was asked, which keyed noise depends on; by default the column's name.  Of
        several columns a mapping from column to question.  Two questions under one name, design,
        key and ids share their noise: reports that differ show for certain that answers do.

    Returns
    -------
    list, tuple, array, Series or DataFrame
        What came in, sharing no memory.  Its dtype follows from the categories and the
        container's type, never from values.  A frame keeps its index, columns and order;
        ``attrs["rrstats"]`` of a Series or frame says how the reports were made.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        For bad arguments, before anything is drawn; no message quotes an answer.
    UnknownAnswersError
        As asked by ``unknown`` and ``missing``.

    Notes
    -----
    Each report is epsilon-LDP for its answer.  Every call is a new release, and epsilons add up.
    Keyed reports hide a value, not whether or when it changed; epsilon counts for every distinct
    value of a person; rows with the same id and value have the same report, so an id names one
    person in all that is released under the key; whoever has the key has nearly everything.

    Examples
    --------
    >>> import rrstats as rr
    >>> reports = rr.privatize(["never", "often", "never"], ["never", "once", "often"], 0.75)
    >>> len(reports), set(reports) <= {"never", "once", "often"}
    (3, True)
    >>> df = pd.DataFrame({"smoker": [True, False, True], "age": [31, 42, 53]})
    >>> released = rr.privatize(df, {"smoker": rr.KRR([False, True], 0.75)})
    >>> list(released["age"]), released.rr.mechanisms["smoker"].prob
    ([31, 42, 53], 0.75)
    """
    options: dict[str, Any] = {"unknown": unknown, "missing": missing, "threads": threads}
    options |= {"again": again, "key": key, "rng": rng}
    if isinstance(values, pd.DataFrame) or is_table(values):
        plan = column_mechanisms(columns, categories, prob, epsilon)
        prepared = _prepared(values, plan, group=group, id=id, question=question, options=options)
        fill: Any = _fill_frame if isinstance(values, pd.DataFrame) else _fill_table
        released = fill(values, prepared)
        warn_of([one.release for one in prepared.values()])
        return cast("Values", released)
    if columns is not None:
        raise ArgumentTypeError(
            f"columns belong to a DataFrame, found {type_name(values)}{engine_hint(values)}"
        )
    mechanism = as_mechanism(categories, prob, epsilon)
    asked = getattr(values, "name", None) if question is None else question
    one = _prepare(values, mechanism, group, id, question=asked, **options)
    reports = one.release.draw(one.answers)
    if isinstance(reports, pd.Series):
        record_columns(reports.attrs, {reports.name: (one.release.recorded, one.release.facts)})
    warn_of([one.release])
    return cast("Values", reports)


def _prepared(
    data: Any,
    plan: Mapping[Hashable, Mechanism],
    *,
    group: Hashable,
    id: Any,
    question: Any,
    options: dict[str, Any],
) -> dict[Hashable, _Prepared]:
    """Some columns of a frame by their labels: all is checked before anything is drawn."""
    prepared: dict[Hashable, _Prepared] = {}
    claims = {} if isinstance(data, pd.DataFrame) else _claims_of(data)
    samples = None if group is None else column_of(data, group)
    names = [] if id is None else id if isinstance(id, list) else [id]
    ids = None if id is None else [column_of(data, one) for one in names]
    asked = question if isinstance(question, Mapping) else dict.fromkeys(plan, question)
    shared = question is not None and asked is not question and len(plan) > 1
    if shared or set(asked) - set(plan):
        raise ArgumentTypeError("question must be a mapping from the private columns to questions")
    for turn, (name, mechanism) in enumerate(plan.items()):
        place = place_of(data, name)
        column = data.iloc[:, place] if isinstance(data, pd.DataFrame) else data[name]
        label = getattr(column, "name", name)  # an Arrow column has none
        mine = None if mechanism.groups is None else samples
        said = {"question": label if asked.get(name) is None else asked[name], "column": turn}
        said["record"] = find(claims, label) if claims else None
        one = _prepare(column, mechanism, mine, ids, **options, **said)
        prepared[label] = one._replace(place=place)
    if samples is not None and all(one.answers.samples is None for one in prepared.values()):
        raise ArgumentValueError("group must be a public column that some mechanism here needs")
    for name, column in zip([*names, group], [*(ids or []), samples], strict=True):
        if column is not None and (label := getattr(column, "name", name)) in prepared:
            raise ArgumentValueError(f"{label!r} must be a public column, and is to be privatized")
    return prepared


def _fill_frame(data: pd.DataFrame, prepared: Mapping[Hashable, _Prepared]) -> pd.DataFrame:
    """A frame with reports, whose attrs say how its columns were made."""
    # Shallow, then deep: the true answers are never copied, and no block of other columns
    # is a view into one that holds them.
    released = data.copy(deep=False)
    if type(released) is not pd.DataFrame:  # a subclass may keep what it counted of the answers
        released, attrs = pd.DataFrame(released), released.attrs
        released.attrs = dict(attrs)
    for release, answers, place in prepared.values():
        released.isetitem(place, release.draw(answers))
    released = released.copy()
    record_columns(
        released.attrs,
        {label: (one.release.recorded, one.release.facts) for label, one in prepared.items()},
    )
    return released


def _claims_of(table: Any) -> dict[Any, Any]:
    """The document that an Arrow table holds of columns made before; refuses index columns."""
    names = getattr(table, "column_names", None) or table.columns
    if copies := [name for name in names if re.fullmatch(r"__index_level_\d+__", name)]:
        raise ArgumentValueError(
            f"column {copies[0]!r} is an index of pandas, which may copy the answers and would "
            "release them; drop it first, or rename it if it does not"
        )
    said = dict(getattr(getattr(table, "schema", None), "metadata", None) or {})
    return {KEY: said[KEY.encode()]} if KEY.encode() in said else {}


def _fill_table(data: Any, prepared: Mapping[Hashable, _Prepared]) -> Any:
    """A Polars frame, or an Arrow table whose metadata keep nothing else of private columns."""
    drawn = [(label, *one) for label, one in prepared.items()]
    if hasattr(data, "with_columns"):
        return data.with_columns([release.draw(answers) for _, release, answers, _ in drawn])
    said = _claims_of(data)
    for label, release, answers, place in drawn:
        data = data.set_column(place, label, release.draw(answers))
    record_columns(
        said, {label: (one.release.recorded, one.release.facts) for label, one in prepared.items()}
    )
    # The metadata of pandas may hold what was counted or attached there.
    return data.replace_schema_metadata({key: json.dumps(value) for key, value in said.items()})


def simulate(
    values: Values,
    categories: Any,
    prob: float | None = None,
    *,
    seed: int,
    epsilon: float | None = None,
    columns: Any = None,
    unknown: str = "warn",
    missing: str = "unknown",
    group: Any = None,
    again: bool = False,
    threads: int | None = None,
) -> Values:
    """Privatize with reproducible noise, for teaching and tests.  Never release the result.

    Parameters
    ----------
    values, categories, prob, epsilon, columns, unknown, missing, group, again, threads
        As for `privatize`.
    seed : int
        At least 0; it is not stored.

    Returns
    -------
    list, tuple, array, Series or DataFrame
        What came in.  A Series or frame says in its metadata that it is simulated; a list or an
        array cannot.

    Examples
    --------
    >>> simulate(["yes", "no", "yes", "no"], ["yes", "no"], 0.75, seed=1)
    ['no', 'yes', 'no', 'no']
    """
    given = {**locals(), "rng": seeded(seed)}
    del given["seed"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        return cast(Values, privatize(**given))


def instantaneous(kept: Any, mechanism: Rappor, *, rng: Any = None) -> Any:
    """The instantaneous reports of RAPPOR for one wave, from those of the permanent round.

    Parameters
    ----------
    kept : array, Series or list of reports
        Reports of ``mechanism.permanent``, in any container that `privatize` gives back.
    mechanism : Rappor
        Both rounds; estimate from the new reports with it.
    rng : optional
        As for `rrstats.privatize`.

    Returns
    -------
    array, Series or list
        New reports in the same container; missing ones stay missing.

    Raises
    ------
    ArgumentValueError
        For values that are no such report, and for missing ones in NumPy, whose booleans have no
        place for them.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.Rappor(["red", "green", "blue"], f=0.5, p=0.5, q=0.75)
    >>> kept = rr.privatize(["red", "blue", "red"], m.permanent)
    >>> m.unpack(instantaneous(kept, m)).shape
    (3, 3)
    """
    check_instance(mechanism, "mechanism", Rappor, "a Rappor")
    space = mechanism.report_space
    container, read = open_reports(kept, space)
    # Booleans of NumPy have no place for missing reports; all other containers have one.
    keeps_missing = container.family != "numpy"
    layout = space.layout(container, keep_missing=keeps_missing)
    found = read(container.cells)
    lost = found.unknown + len(found.absent) * (not keeps_missing)
    if lost:
        raise ArgumentValueError(
            f"{lost} of {container.rows} kept reports are not {space.describe()}, or missing where "
            "NumPy has no place for that; give the reports of ``permanent``"
        )
    source, builder = open_source(rng), layout.builder(container.rows)
    absent = np.zeros(container.rows, dtype=np.bool_)
    absent[found.absent] = True
    for block, start in enumerate(range(0, container.rows, BLOCK_ROWS)):
        rows = slice(start, min(start + BLOCK_ROWS, container.rows))
        reports = mechanism.randomize_kept(found.codes[rows], source, block)
        builder.write(rows, reports, np.flatnonzero(absent[rows]))
    made = container.wrap(builder.reports())
    if isinstance(made, pd.Series):
        said, facts = find(kept.attrs, kept.name), dict[str, Any](simulated=not source.secure)
        if said is not None:
            said.resolve(mechanism.permanent)
            facts["simulated"] |= said.simulated
            facts |= {"unknown": said.unknown, "missing": said.missing, "keyed": said.keyed}
        record_columns(made.attrs, {kept.name: (mechanism, facts)})
    if not source.secure:
        warn(SIMULATED_TEXT, SimulationWarning)
    return made


def check(values: Any, categories: Any) -> pd.DataFrame:
    """List the answers that match no category, for the data curator only.

    Parameters
    ----------
    values : array-like
        The true answers, in any container.
    categories : sequence of hashables or Mechanism
        The declared categories, or the mechanism that has them.

    Returns
    -------
    DataFrame
        A row for each distinct answer that is missing or unknown: value, status ("missing" or
        "unknown") and count, largest count first.  Never release, log or share it: it shows
        true answers.

    Examples
    --------
    >>> check(["yes", "no", "mabye", None], ["yes", "no"])[["status", "count"]]
        status  count
    0  unknown      1
    1  missing      1
    """
    domain = categories.domain if is_mechanism(categories) else Categories(categories)
    container = open_column(values)
    cells = container.cells
    encoded = reader(domain, cells)(cells)
    tally: dict[tuple[type, str], list[Any]] = {}
    for value in container.pick(np.setdiff1d(encoded.outside, encoded.absent)):
        shown = _shown(value)
        tally.setdefault((type(value), repr(shown)), [shown, "unknown", 0])[2] += 1
    absent = len(encoded.absent)
    rows = [*tally.values(), *([[None, "missing", absent]] if absent else [])]
    return check_table(sorted(rows, key=lambda row: -row[2]))


def check_table(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """The table of `check`, from rows of value, status and count."""
    types = {"value": object, "status": object, "count": np.int64}
    return pd.DataFrame(
        {
            name: pd.Series([row[place] for row in rows], dtype=kind)
            for place, (name, kind) in enumerate(types.items())
        }
    )


def telling_columns(frame: pd.DataFrame, answers: Any) -> list[tuple[Any, str, int]]:
    """Columns that give the answers away: name, "determines" or "nearly determines", and rows.

    Each row's answer is guessed from that of most other rows with its value, so that ids tell
    nothing; a column counts where at most one guess in 20, and a quarter of those by the commonest
    answer, are wrong.  For the data curator only.
    """
    truth, found = pd.factorize(pd.Series(answers), use_na_sentinel=False)[0], []
    errors = len(truth) - np.bincount(truth, minlength=1).max()
    for place, name in enumerate(frame.columns):
        try:
            groups = pd.factorize(frame.iloc[:, place], use_na_sentinel=False)[0]
        except TypeError:  # cells that have no equal, such as lists
            continue
        counts = pd.DataFrame({"group": groups, "truth": truth}).value_counts().groupby("group")
        most = counts.max()
        right = int(most[2 * most - 1 > counts.sum()].sum())
        wrong = len(truth) - right
        if errors and wrong <= min(len(truth) / 20, errors / 4):
            found.append((name, "nearly determines" if wrong else "determines", right))
    return found


def _shown(value: Any) -> object:
    """An unknown answer as the data curator sees it: itself, or a description where it is odd."""
    shown: object = f"<{type(value).__name__} without a repr>"
    with contextlib.suppress(Exception):  # an answer may raise when it is looked at
        shown = repr(value)
        hash(value)
        return cast(object, value)
    return shown
