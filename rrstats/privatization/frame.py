"""Frames and columns: `privatize`, `simulate`, `instantaneous` (RAPPOR's second round), `check`.

A frame is privatized column by column, each as a `column.ColumnRelease` with its own words.
Only the reports depend on the answers, and the warning that some answers are outside the
categories.  `check` shows true answers; it is for the data curator only.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from rrstats._checks import check_distinct, check_instance, check_left_out, type_name
from rrstats.data.categories import Categories
from rrstats.data.codecs import open_reports
from rrstats.data.columns import column_of, engine_hint, is_table, open_column, place_of
from rrstats.data.encoders import reader
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    SimulationWarning,
    UnknownAnswersWarning,
    warn,
)
from rrstats.mechanisms.attrs import record_columns
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.krr import RowRates, as_mechanism, is_by_row, names_column
from rrstats.mechanisms.records import KEY, find, read
from rrstats.mechanisms.samples import check_aligned
from rrstats.mechanisms.unary import Rappor
from rrstats.privatization.column import Answers, ColumnAnswers, ColumnRelease
from rrstats.privatization.frame_plan import FramePlan, FrameRelease
from rrstats.randomness.sources import BLOCK_ROWS, SIMULATED_TEXT, open_source, seeded

Values = TypeVar("Values")

UNKNOWN_TEXT = (
    "some answers are missing or not among the categories; each was replaced by a uniformly random "
    "one, which pulls every estimate towards 1/k (or the fraction of classes that show a category):"
    " a proportion u of them turns a true proportion f into (1-u) f + u/k; df.rr.check (rrstats "
    "check) counts them, unknown='raise' refuses them, None as a category makes non-response one"
)


def warn_of(releases: Iterable[ColumnAnswers]) -> None:
    """Issue the warnings after the results exist: fixed texts without counts or values."""
    listed = list(releases)
    if any(release.outside and release.facts["unknown"] == "warn" for release in listed):
        warn(UNKNOWN_TEXT, UnknownAnswersWarning)
    if False in [release.secure for release in listed]:
        warn(SIMULATED_TEXT, SimulationWarning)


Drawn = tuple[Any, int | None, Any]
"""A column's label, its place (None for a new one), and its reports."""


class _Prepared(NamedTuple):
    """One column with all arguments checked; ``place`` is its position in the frame."""

    release: ColumnRelease
    answers: Answers
    place: int = 0


def _prepare(
    values: Any,
    mechanism: Mechanism,
    group: Any,
    ids: Any,
    *,
    rates: RowRates | None = None,
    **options: Any,
) -> _Prepared:
    """Check one column and open it; nothing is drawn yet.

    rates : the prob of each row, where it differs; the mechanism is then that of the largest.
    """
    name = getattr(values, "name", None)
    _check_index(values, name)
    if attrs := getattr(values, "attrs", None):
        options["record"] = find(attrs, name)
    release = ColumnRelease(values, mechanism, **options)
    if rates is None:
        answers = release.open(values, group, ids)
    else:
        answers = release.open(values, group, ids, rates.probs)
        release.facts["by_row"] = dict(rates.columns)
    if release.may_refuse:
        release.look(values)
        release.refuse()
    return _Prepared(release, answers)


def _check_index(values: Any, name: Any) -> None:
    """Raise if the index of a Series has its name: it may hold the answers."""
    if isinstance(values, pd.Series) and name is not None:
        alike = [name, *name[:1]] if isinstance(name, tuple) and not any(name[1:]) else [name]
        names = {str(label).casefold() for label in values.index.names if label is not None}
        if any(str(label).casefold() in names for label in alike):
            raise ArgumentValueError(
                f"the index is also named {name!r} and may release the answers; "
                "use reset_index(drop=True) or rename it first"
            )


def column_mechanisms(
    columns: Any, categories: Any = None, prob: float | None = None, epsilon: float | None = None
) -> dict[Hashable, Mechanism]:
    """The mechanism of each column, from names with one design or from a mapping."""
    if columns is None:
        if not isinstance(categories, Mapping):
            raise ArgumentTypeError(
                "values must be one column; for a DataFrame give a mapping from column to "
                f"mechanism, or columns= with one design, found only {type_name(categories)}"
            )
        columns, categories = categories, None
    if isinstance(columns, Mapping):
        why = "a mapping from column to mechanism is the whole design"
        check_left_out(why, categories=categories, prob=prob, epsilon=epsilon)
        names = list(columns)
        found = {name: as_mechanism(columns[name]) for name in names}
    else:
        several = isinstance(columns, list | set | pd.Index)
        if not several and not isinstance(columns, Hashable):  # they may hold answers
            check_instance(columns, "columns", Hashable, "a list of names")
        mechanism = as_mechanism(categories, prob, epsilon)
        names = list(columns) if several else [columns]
        found = dict.fromkeys(names, mechanism)
    if len(names) != 1:
        check_distinct(names, "columns")
    return found


def privatize(
    values: Values,
    categories: Any,
    prob: Any = None,
    *,
    epsilon: Any = None,
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
        n answers as a list, tuple, array of any shape, Series, Index or Arrow array; one answer,
        such as a str; or a DataFrame of pandas or Polars or an Arrow table, of which some columns
        are privatized.
    categories : sequence of k hashables, Mechanism, mapping, or FramePlan
        The k categories, with ``prob`` or ``epsilon``; or a mechanism alone.  For a DataFrame it
        may be a mapping from column to mechanism, or a `FramePlan` (one epsilon for a whole row),
        which goes with unknown, missing (not "keep"), rng and threads alone.
    prob : float, array-like of shape (n,) or column name, optional
        P(report = truth), in [1/k, 1).  Where it differs by row it is a column, which is public:
        of a frame its name, else the numbers.  It stays in the released frame, for the estimate;
        the epsilon reported is that of the largest.
    epsilon : float, array-like of shape (n,) or column name, optional
        The privacy loss of one report in nats, instead of ``prob``.
    columns : hashable, list of hashables, or mapping, optional
        For a DataFrame: the columns to privatize with this one design, each with its own key.
    unknown : {"warn", "uniform", "raise"}
        Treatment of answers that are no category.  "warn" replaces each by a uniformly random
        category and warns that there are some; "uniform" replaces them without a warning;
        "raise" refuses them before anything is drawn.
    missing : {"unknown", "uniform", "keep", "raise"}
        Treatment of missing answers if None is not a category.  "unknown" treats them like
        unknown ones.  "uniform" replaces them without a warning.  "keep" leaves them missing,
        which publishes who did not answer; the dtype can then always hold missing values.
        "raise" refuses them.
    group : array-like or column name, optional
        The sample of each answer, for mechanisms with several samples (two-sample designs, or a
        mapping from group to mechanism); it is public.
    again : bool, default False
        Randomize reports once more; otherwise a Series recorded as holding reports is refused.
    rng : numpy.random.Generator, optional
        By default a fresh key from the operating system for this call.  A generator is for
        teaching: the call warns and marks the result.
    threads : int, optional
        The number of threads for a large column; by default up to four for text held by Arrow,
        otherwise one.  It changes neither the distribution nor the result for given random words.
    key : bytes, optional
        32 secret bytes from `rr.new_key`, for keyed reports, which are the same in every call.
    id : array-like, list of array-likes, or column names, optional
        The persons of keyed reports, as whole numbers, 16 bytes or text.
    question : hashable or mapping, optional
        The question's name, on which keyed noise depends; by default the column's name.  For
        several columns, a mapping from column to question.  Two questions with the same name,
        design, key and ids share their noise: different reports then prove different answers.

    Returns
    -------
    list, tuple, array, Series or DataFrame
        The container that was given, with reports; it shares no memory with the original.  Its
        dtype follows from the categories and the container's type, never from values.  A frame
        keeps its index, columns and order; ``attrs["rrstats"]`` of a Series or frame records how
        the reports were made.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        For wrong arguments, before anything is drawn; no message quotes an answer.
    UnknownAnswersError
        For answers that ``unknown`` or ``missing`` refuses.

    Notes
    -----
    Each report is epsilon-LDP for its answer.  Every call is a new release, and epsilons add up.
    Keyed reports hide a value, but not whether or when it changed.  Epsilon counts once for every
    distinct value of a person.  Rows with the same id and value have the same report, so an id must
    name one person in all releases under the key.  The key reveals nearly all true answers.

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
    plain = isinstance(prob, Number | None) and isinstance(epsilon, Number | None)
    rates = None
    if not plain and not isinstance(columns, Mapping | FramePlan):
        rates = _row_rates(values, categories, prob, epsilon)
    if rates is not None:
        unfit = {"key": key, "again": again or None}
        check_left_out("prob and epsilon by row take no key= and no again=", **unfit)
        categories, prob, epsilon = rates.base, None, None
    if isinstance(values, pd.DataFrame) or is_table(values):
        given = categories if columns is None else columns
        own: dict[str, Any] = {"group": group, "id": id, "question": question}
        if isinstance(given, FramePlan):
            left = {"prob": prob, "epsilon": epsilon, "again": again or None, "key": key, **own}
            left["categories"] = None if columns is None else categories
            check_left_out(
                "a FramePlan is the whole design, and its coin needs fresh words", **left
            )
            options = {"unknown": unknown, "missing": missing, "threads": threads, "rng": rng}
            drawn, releases = _planned(values, given, **options)
        else:
            plan = column_mechanisms(columns, categories, prob, epsilon)
            prepared = _prepared(values, plan, **own, rates=rates, options=options)
            releases = {label: one.release for label, one in prepared.items()}
            drawn = ((n, one.place, one.release.draw(one.answers)) for n, one in prepared.items())
        fill: Any = _fill_frame if isinstance(values, pd.DataFrame) else _fill_table
        made = {name: (one.recorded, one.facts) for name, one in releases.items()}
        filled = fill(values, drawn, made)
        warn_of(releases.values())
        return cast("Values", filled)
    if columns is not None or isinstance(categories, FramePlan):
        raise ArgumentTypeError(
            "columns belong to a DataFrame, and so does a FramePlan; found "
            f"{type_name(values)}{engine_hint(values)}"
        )
    mechanism = as_mechanism(categories, prob, epsilon)
    asked = getattr(values, "name", None) if question is None else question
    one = _prepare(values, mechanism, group, id, question=asked, rates=rates, **options)
    reports = one.release.draw(one.answers)
    if isinstance(reports, pd.Series):
        record_columns(reports.attrs, {reports.name: (one.release.recorded, one.release.facts)})
    warn_of([one.release])
    return cast("Values", reports)


def _row_rates(data: Any, categories: Any, prob: Any, epsilon: Any) -> RowRates | None:
    """The prob of each row, where prob or epsilon differs by row: a column; of a frame its name."""
    given, labels = {"prob": prob, "epsilon": epsilon}, dict[str, Any]()
    framed = isinstance(data, pd.DataFrame) or is_table(data)
    for name, one in given.items():
        if framed and is_by_row(one):
            check_instance(one, name, Number, "a number, or the name of a column of the frame")
        if (names_column if framed else is_by_row)(one):
            labels[name] = one if framed else getattr(one, "name", None)
            given[name] = column_of(data, one) if framed else one
            check_aligned(data, given[name], name)
    if not labels:
        return None
    rows = len(data) if framed else open_column(data).rows
    return RowRates.of(categories, rows, **given, columns=labels)


def _prepared(
    data: Any,
    plan: Mapping[Hashable, Mechanism],
    *,
    group: Hashable,
    id: Any,
    question: Any,
    rates: RowRates | None,
    options: dict[str, Any],
) -> dict[Hashable, _Prepared]:
    """The columns to privatize, by label; everything is checked before anything is drawn."""
    prepared: dict[Hashable, _Prepared] = {}
    claims = {} if isinstance(data, pd.DataFrame) else _claims_of(data)
    if len(plan) > 1 and not {*plan} & {*getattr(data, "column_names", data.columns)}:
        raise ArgumentValueError(f"none of the {len(plan)} names is a column")  # or an answer
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
        one = _prepare(column, mechanism, mine, ids, rates=rates, **options, **said)
        prepared[label] = one._replace(place=place)
    if samples is not None and all(one.answers.samples is None for one in prepared.values()):
        raise ArgumentValueError("group must be a public column that some mechanism here needs")
    beside = zip([*names, group], [*(ids or []), samples], strict=True)
    public = [getattr(one, "name", name) for name, one in beside if one is not None]
    public += [] if rates is None else rates.columns.values()
    _check_public(prepared, public, data.attrs if isinstance(data, pd.DataFrame) else claims)
    return prepared


def _check_public(private: Iterable[Any], public: list[Any], attrs: Mapping[Any, Any]) -> None:
    """Raise if a column to privatize is public here, or by the records of other columns."""
    for record in read(attrs) if attrs else []:
        public = [*public, *(record.by_row or {}).values(), (record.plan or {}).get("asked")]
    for label in private:
        if label in public and label is not None:
            raise ArgumentValueError(f"{label!r} must be a public column, but is to be privatized")


def _planned(data: Any, plan: FramePlan, **options: Any) -> tuple[Any, Mapping[Any, Any]]:
    """The reports of a plan, and its columns; everything is checked before anything is drawn."""
    is_frame = isinstance(data, pd.DataFrame)
    places = {name: place_of(data, name) for name in plan.categories}
    columns = {name: column_of(data, name) for name in places}
    for name, column in columns.items():
        _check_index(column, name)
    names = getattr(data, "column_names", data.columns)
    records = read(claims := data.attrs if is_frame else _claims_of(data))
    _check_public(places, [], claims)
    release = FrameRelease(columns, plan, names, records=records, **options)
    for name, answers in release.columns.items():
        if answers.may_refuse:
            answers.look(columns[name])
            answers.refuse()
    made = release.reports(columns)
    return [(name, places.get(name), reports) for name, reports in made.items()], release.columns


def _fill_frame(data: pd.DataFrame, drawn: Iterable[Drawn], made: Mapping[Any, Any]) -> Any:
    """A new frame of pandas with reports, whose attrs record how its columns were made.

    It is put together column by column.  In a copy of ``data`` the order of pandas' blocks, which a
    pickle keeps, would tell the dtype that the answers had: whether one was missing, for example.
    """
    series: dict[int, Any] = {}
    labels = data.columns
    for label, place, reports in drawn:
        if place is None:
            series[len(labels)] = reports
            labels = labels.insert(len(labels), label)
        else:
            series[place] = reports
    # Public columns keep their dtype as Series; only these are copied, never true answers.
    public = {i: data.iloc[:, i] for i in range(data.shape[1]) if i not in series}
    columns = dict(sorted({**public, **series}.items()))
    released = pd.DataFrame(columns, index=data.index, copy=True)
    released.columns = labels
    released.attrs = copy.deepcopy(data.attrs)
    flags: Any = data.flags
    released = released.set_flags(allows_duplicate_labels=flags.allows_duplicate_labels)
    record_columns(released.attrs, made)
    return released


def _claims_of(table: Any) -> dict[Any, Any]:
    """The metadata of earlier privatized columns of an Arrow table; refuses index columns."""
    names = getattr(table, "column_names", None) or table.columns
    if copies := [name for name in names if re.fullmatch(r"__index_level_\d+__", name)]:
        raise ArgumentValueError(
            f"column {copies[0]!r} is an index of pandas, which may hold a copy of the answers and "
            "release them; drop it first, or rename it if it does not"
        )
    said = dict(getattr(getattr(table, "schema", None), "metadata", None) or {})
    return {KEY: said[KEY.encode()]} if KEY.encode() in said else {}


def _fill_table(data: Any, drawn: Iterable[Drawn], made: Mapping[Any, Any]) -> Any:
    """A Polars frame or Arrow table with reports; other metadata of an Arrow table are dropped."""
    if hasattr(data, "with_columns"):
        return data.with_columns([reports for _, _, reports in drawn])
    said = _claims_of(data)
    for label, place, reports in drawn:
        where = data.num_columns if place is None else place
        data = (data.add_column if place is None else data.set_column)(where, label, reports)
    record_columns(said, made)
    # The metadata of pandas may hold statistics or attachments.
    return data.replace_schema_metadata({key: json.dumps(value) for key, value in said.items()})


def simulate(
    values: Values,
    categories: Any,
    prob: Any = None,
    *,
    seed: int,
    epsilon: Any = None,
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
        The container that was given.  The metadata of a Series or frame record that it is
        simulated; a list or an array has no metadata.

    Examples
    --------
    >>> simulate(["yes", "no", "yes", "no"], ["yes", "no"], 0.75, seed=1)
    ['no', 'yes', 'no', 'no']
    """
    generator = seeded(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        return privatize(
            values,
            categories,
            prob,
            epsilon=epsilon,
            columns=columns,
            unknown=unknown,
            missing=missing,
            group=group,
            again=again,
            rng=generator,
            threads=threads,
        )


def instantaneous(kept: Any, mechanism: Rappor, *, rng: Any = None) -> Any:
    """Draw the instantaneous reports of RAPPOR for one wave from the permanent reports.

    Parameters
    ----------
    kept : array, Series or list of reports
        Reports of ``mechanism.permanent``, in any container that `privatize` returns.
    mechanism : Rappor
        The mechanism of both rounds; use it to estimate from the new reports.
    rng : optional
        As for `rrstats.privatize`.

    Returns
    -------
    array, Series or list
        New reports in the same container; missing ones stay missing.

    Raises
    ------
    ArgumentValueError
        For values that are not such reports, and for missing ones in NumPy, whose boolean arrays
        cannot hold missing values.

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
    # Boolean arrays of NumPy cannot hold missing reports; all other containers can.
    keeps_missing = container.family != "numpy"
    layout = space.layout(container, keep_missing=keeps_missing)
    found = read(container.cells)
    lost = found.unknown + len(found.absent) * (not keeps_missing)
    if lost:
        raise ArgumentValueError(
            f"{lost} of {container.rows} kept reports are not {space.describe()}, or are missing "
            "in a NumPy array, which cannot hold them; give the reports of ``permanent``"
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
        One row for each distinct answer that is missing or unknown, with the columns value, status
        ("missing" or "unknown") and count; the largest count comes first.  Never release, log or
        share it: it shows true answers.

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
    """Columns that reveal the answers: name, "determines" or "nearly determines", and rows.

    Each row's answer is guessed from the majority of the other rows with the same value, so ids
    reveal nothing.  A column is listed if at most one guess in 20 is wrong, and at most a quarter
    as many as when guessing the most common answer.  For the data curator only.
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
    """An unknown answer as the data curator sees it: itself, or its repr if it has no hash."""
    shown: object = f"<{type(value).__name__} without a repr>"
    with contextlib.suppress(Exception):  # an answer may raise when it is looked at
        shown = repr(value)
        hash(value)
        return cast(object, value)
    return shown
