"""Frames and columns: `privatize`, `simulate` and `check`.

A frame is privatized column by column, each as a `column.ColumnRelease` with its own words.
Only the reports depend on the answers, and the error that some answers are outside the categories.
`check` shows true answers; it is for the data curator only.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import json
import re
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack, overload

import numpy as np
import pandas as pd

from rrstats._checks import (
    check_distinct,
    check_instance,
    check_left_out,
    naming_column,
    quote,
    quote_list,
    refuse_path,
    type_name,
)
from rrstats._names import checked_keywords
from rrstats._typing import Array, Counts, FrameLike, RateLike
from rrstats.data.categories import Categories
from rrstats.data.cell_types import type_of
from rrstats.data.columns import (
    aligned,
    check_any_column,
    column_labels,
    column_of,
    engine_hint,
    is_by_row,
    is_table,
    name_of,
    names_column,
    open_column,
    place_of,
    rate_column,
)
from rrstats.data.encoders import meant_as, reader
from rrstats.data.number_readers import number_reader
from rrstats.data.number_spaces import NumberGrid
from rrstats.data.rebuilt import rebuilt_column, rebuilt_index, rebuilt_polars, rebuilt_series
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CuratorWarning,
    SimulationWarning,
    UnknownAnswersError,
    warn,
)
from rrstats.mechanisms.attrs import record_columns
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.frame_plans import FramePlan, PlanLike
from rrstats.mechanisms.krr import (
    MechanismLike,
    RowRates,
    answers_of,
    as_mechanism,
    has_mechanism,
)
from rrstats.mechanisms.records import KEY, ColumnRecord, find, read
from rrstats.privatization.column import Answers, ColumnAnswers, ColumnRelease
from rrstats.privatization.frame_release import FrameRelease
from rrstats.randomness.keyed import Keyed, check_keyed
from rrstats.randomness.sources import (
    SIMULATED_TEXT,
    RandomSource,
    Seed,
    SeedLike,
    simulation_source,
)

Values = TypeVar("Values")
Frame = TypeVar("Frame", bound=FrameLike)

_MAX_ERROR_RATE = 1 / 20
"""A column nearly determines the answers if at most this fraction of the guesses is wrong ..."""

_MAX_ERROR_RATIO = 1 / 4
"""... and at most this fraction of the errors of always guessing the commonest answer."""

_MAX_SPELLED = 1000
"""The number of categories up to which `check` names the one that an answer seems to mean."""

_MAX_COMPARED = 100
"""The number of answers, the commonest first, for which it looks for a similar word."""


IN_ORDER = "in order of frequency"
"""The status of the row of `check` that is about the list of categories."""

FRAME_CHECK = "df.rr.check({name}, {categories})"
"""The call that lists the answers of a frame of pandas that fit no category."""

TABLE_CHECK = "rr.check(df, {name}, {categories})"
"""The call that lists such answers in tables of other libraries."""


_MAX_NAMED = 3
"""The number of columns whose answers one error counts."""


def refuse(releases: Mapping[Any, ColumnAnswers], check_call: str) -> None:
    """Raise UnknownAnswersError if the policies refuse answers whose reports were drawn.

    The counts that drawing makes are enough, so no answer is looked at twice.  Call it before the
    reports are returned, written or entered in a ledger.
    check_call : the call that lists them, with {name} and {categories} to be filled in.
    """
    refused = {name: release for name, release in releases.items() if any(release.refused)}
    if not refused:
        return
    unknown, missing = map(any, zip(*(each.refused for each in refused.values()), strict=True))
    counts = [release.refusal(name) for name, release in refused.items()][:_MAX_NAMED]
    if len(refused) > _MAX_NAMED:
        counts.append(f"and so in {len(refused) - _MAX_NAMED} more columns")
    hints = []
    if unknown:
        name = next(name for name, release in refused.items() if release.refused[0])
        domain = refused[name].mechanism.domain
        swapped = meant_as(domain) if refused[name].may_be_swapped else ""
        if swapped:
            hints.append(swapped)
        call = check_call.format(name=quote(name), categories=domain.in_call)
        hints.append(f"{call} lists them for the data curator")
        bounds = _meant_as_bounds(domain)
        if bounds is not None:
            low, high = bounds
            hints.append(f"all numbers between two bounds are rr.number({low!r}, {high!r})")
        hints.append("unknown='uniform' replaces each by a random category, as OpenDP does")
    if missing:
        is_plan = any("plan" in release.facts for release in refused.values())
        keep = "" if is_plan else " or missing='keep' (which publishes who did not answer)"
        declare = ""
        if any(each.mechanism.domain.may_be_missing for each in refused.values()):
            declare = ", or declare None among the categories (--with-missing)"
        hints.append(f"for missing ones give missing='uniform'{keep}{declare}")
    raise UnknownAnswersError("; ".join([*counts, *hints]))


def _meant_as_bounds(domain: Categories) -> list[Any] | None:
    """Two numbers as categories, the lower one first, if they are no neighbours: 18 and 90."""
    is_pair = domain.k == domain.answers == 2 and domain.missing_code is None
    if not is_pair or domain.kind not in ("int", "float"):
        return None
    pair: Any = domain.categories
    low, high = sorted(pair)
    return [low, high] if high - low > 1 else None


def warn_of(releases: Mapping[Any, ColumnAnswers]) -> None:
    """Warn of simulated noise, and of categories in the order of the answers."""
    if not all(release.secure for release in releases.values()):
        warn(SIMULATED_TEXT, SimulationWarning)
    warn_of_order(releases)


def warn_of_order(releases: Mapping[Any, ColumnAnswers]) -> None:
    """Warn the data curator of declarations that may be of the answers, or do not fit them."""
    names = [name for name, release in releases.items() if release.in_order and release.secure]
    if names:
        where = "" if names == [None] else f" of the columns {quote_list(names)}"
        warn(
            f"the categories{where} are listed in the order in which the answers first show them; "
            "a list taken from the data publishes this order, and its first entry is the first "
            "answer: publish these reports only if the list is that of the questionnaire",
            CuratorWarning,
        )
    for name, release in releases.items():
        column = "" if name is None else f" of column {quote(name)}"
        if release.has_fractions and release.secure:
            warn(
                f"some answers{column} are no integers, but the number is declared as integers, "
                f"{release.mechanism.domain.describe()}: means stay right, and correlations, "
                "quantiles and target='sample' do not; of decimals declare the bounds as decimals, "
                "as in rr.number(0.0, 1.0)",
                CuratorWarning,
            )
        for bound in release.bounds_of_data if release.secure else ():
            warn(
                f"the declared bound {bound:g}{column} is also its smallest or largest answer, and "
                "nothing lies beyond: publish these reports only if the bound is that of the "
                "questionnaire, because one that was taken from the data is an answer",
                CuratorWarning,
            )


Drawn = tuple[Any, int | None, Any]
"""A column's label, its place (None for a new one), and its reports."""


class _Prepared(NamedTuple):
    """One column with all arguments checked; ``place`` is its position in the frame."""

    release: ColumnRelease
    answers: Answers
    place: int = 0


@dataclass(frozen=True)
class _Policies:
    """Arguments of `privatize` that hold for every column, as they are documented there."""

    unknown: str
    missing: str
    again: bool
    rng: Any
    threads: int | None
    key: Keyed | None


def _prepare(
    values: Any,
    mechanism: Mechanism,
    policies: _Policies,
    group: Any,
    ids: Any,
    *,
    question: Hashable = None,
    column: int = 0,
    record: ColumnRecord | None = None,
    rates: RowRates | None = None,
) -> _Prepared:
    """Check one column and open it; nothing is drawn yet.

    column : its place among the columns of the release; ``record`` is that of earlier rounds,
        unless its attrs hold one.
    rates : the prob of each row, where it differs; the mechanism is then that of the largest.
    """
    name = name_of(values)
    _check_index(values, name)
    if isinstance(values, pd.Series) and values.attrs:
        record = find(values.attrs, name)
    release = ColumnRelease(
        values,
        mechanism,
        unknown=policies.unknown,
        missing=policies.missing,
        rng=_rng_of(policies.rng, name if question is None else question, record),
        column=column,
        threads=policies.threads,
        key=None if policies.key is None else policies.key.key,
        question=question,
        record=record,
        again=policies.again,
    )
    if rates is None:
        answers = release.open(values, group, ids)
    else:
        answers = release.open(values, group, ids, rates.probs)
        release.facts["by_row"] = dict(rates.columns)
    return _Prepared(release, answers)


def _rng_of(rng: Any, name: Hashable, record: ColumnRecord | None = None) -> Any:
    """The source of a column's noise: of a seed, by its name and the rounds of its record."""
    if not isinstance(rng, Seed):
        return rng
    rounds = 0
    document = None if record is None else record.mechanism
    while document is not None:
        rounds += 1
        document = document.get("first")  # of a chain
    return rng.generator(name, rounds)


def _check_index(values: Any, name: Hashable) -> None:
    """Raise if the index of a Series has its name: it may hold the answers."""
    if isinstance(values, pd.Series) and name is not None:
        spellings = [name]
        if isinstance(name, tuple) and not any(name[1:]):
            spellings = [name, *name[:1]]
        index_names = {str(label).casefold() for label in values.index.names if label is not None}
        if any(str(label).casefold() in index_names for label in spellings):
            raise ArgumentValueError(
                f"the index is also named {name!r} and may release the answers; "
                "use reset_index(drop=True) or rename it first"
            )


_A_PLAN = "rr.planning.plan({'smoker': ['no', 'yes'], 'party': ['a', 'b', 'c']}, 2)"
"""A call that makes a plan, for messages."""


def column_mechanisms(
    columns: Any,
    categories: MechanismLike | None = None,
    prob: RateLike | None = None,
    epsilon: RateLike | None = None,
) -> dict[Hashable, Mechanism]:
    """The mechanism of each column, from names with one design or from a mapping."""
    if columns is None or isinstance(columns, Mechanism):
        raise ArgumentTypeError(
            "columns must be the name of a column, or a list of names, with one design, as in "
            "rr.privatize(df, 'health', categories, epsilon=1), or a mapping from column to "
            f"mechanism, or a plan of one epsilon for all, {_A_PLAN}, found {type_name(columns)}"
        )
    if isinstance(categories, Number):
        raise ArgumentTypeError(
            "categories must be those of the columns, or a mechanism, as in rr.privatize(df, "
            "'health', categories, 0.75), found a number; with a mapping by column give prob or "
            "epsilon by name"
        )
    if isinstance(columns, Mapping):
        why = "a mapping by column has the categories or the mechanism of each column"
        check_left_out(why, categories=categories)
        names = list(columns)
        mechanisms = _declared_mechanisms(dict(columns), prob, epsilon)
    else:
        several = isinstance(columns, list | set | pd.Index)
        if not several and not isinstance(columns, Hashable):  # they may hold answers
            check_instance(columns, "columns", Hashable, "a list of names")
        names = list(columns) if several else [columns]
        if isinstance(categories, Mapping) and names and {*names} <= {*categories}:
            raise ArgumentTypeError(
                "a mapping from column to categories stands in the place of columns, as in "
                "rr.privatize(df, {'smoker': ['no', 'yes']}, epsilon=1); leave the names out"
            )
        mechanism = as_mechanism(categories, prob, epsilon)
        mechanisms = dict.fromkeys(names, mechanism)
    if len(names) != 1:
        check_distinct(names, "columns")
    return mechanisms


def _declared_mechanisms(
    columns: Mapping[Hashable, Any], prob: RateLike | None, epsilon: RateLike | None
) -> dict[Hashable, Mechanism]:
    """The mechanism of each declaration; those without one share prob or epsilon."""
    complete = {name for name, declared in columns.items() if has_mechanism(declared)}
    if len(complete) == len(columns):
        for name in columns:
            why = f"column {quote(name)} has a mechanism, which is its whole design"
            check_left_out(why, prob=prob, epsilon=epsilon)
    mechanisms: dict[Hashable, Mechanism] = {}
    for name, declared in columns.items():
        # The keys of counts, or of rows by answer, are answers.
        is_named = not isinstance(declared, Number | str | np.ndarray | pd.Index | pd.Series)
        with naming_column(name) if is_named else contextlib.nullcontext():
            if name in complete:
                mechanisms[name] = as_mechanism(declared)
            else:
                mechanisms[name] = as_mechanism(declared, prob, epsilon)
    return mechanisms


class PrivatizeOptions(TypedDict, total=False):
    """The options of `privatize`, which are the same for values and for frames."""

    epsilon: RateLike | None
    group: Any
    unknown: str
    missing: str
    again: bool
    rng: RandomSource | None
    threads: int | None
    key: Keyed | None


class SimulateOptions(TypedDict, total=False):
    """The options of `simulate`."""

    epsilon: RateLike | None
    group: Any
    unknown: str
    missing: str
    again: bool
    threads: int | None


@overload
def privatize(
    values: Frame,
    columns: PlanLike,
    categories: MechanismLike | None = None,
    prob: RateLike | None = None,
    **options: Unpack[PrivatizeOptions],
) -> Frame: ...


@overload
def privatize(
    values: Values,
    categories: MechanismLike,
    prob: RateLike | None = None,
    **options: Unpack[PrivatizeOptions],
) -> Values: ...


@checked_keywords  # type: ignore[misc]  # of values the categories stand in the columns' place
def privatize(
    values: Any,
    columns: Any = None,
    categories: Any = None,
    prob: Any = None,
    *,
    epsilon: RateLike | None = None,
    group: Any = None,
    unknown: str = "raise",
    missing: str = "unknown",
    again: bool = False,
    rng: RandomSource | None = None,
    threads: int | None = None,
    key: Keyed | None = None,
) -> Any:
    """Replace each true answer by a randomized report.

    Parameters
    ----------
    values : array-like, Series or DataFrame
        n answers as a list, tuple, array of any shape, Series, Index or Arrow array; one answer,
        such as a str; or a DataFrame of pandas or Polars or an Arrow table, of which some columns
        are privatized.
    columns : hashable, list of hashables, mapping, or FramePlan
        Of a frame alone; for all other values the categories stand in this place.  One column's
        name or a list of names, each with its own key, for the design that follows.  Or a codebook,
        a mapping from column to categories, dtype, mapping from code to label, `number` or
        mechanism, as `files.codebook` reads: prob or epsilon is that of each column that has no
        mechanism, and epsilons add up over a row: two columns at epsilon 2 cost 4, as
        ``df.rr.epsilon`` says.  Or a `FramePlan`, of ``rr.planning.plan(columns, 2)``, with one
        epsilon for a whole row; it goes with unknown, missing (not "keep"), rng and threads alone.
    categories : sequence of k hashables, Mechanism, or mapping from sample to Mechanism
        The k categories, with ``prob`` or ``epsilon``; a number, `rrstats.number`, with
        ``epsilon``; or a mechanism alone.
    prob : float, array-like of shape (n,) or column name, optional
        P(report = truth), in [1/k, 1).  Where it differs by row it is a column, which is public:
        of a frame its name, else the numbers.  It stays in the released frame, for the estimate;
        the epsilon reported is that of the largest.
    epsilon : float, array-like of shape (n,) or column name, optional
        The privacy loss of one report in nats, instead of ``prob``.
    group : array-like or column name, optional
        The sample of each answer, for mechanisms with several samples (two-sample designs, or a
        mapping from group to mechanism); it is public.
    unknown : {"raise", "uniform"}
        Treatment of answers that are no category.  "raise" refuses them: the error counts them,
        and nothing is returned.  "uniform" replaces each by a uniformly random category.
    missing : {"unknown", "uniform", "keep", "raise"}
        Treatment of missing answers if None is not a category.  "unknown" treats them like
        unknown ones.  "uniform" replaces them.  "keep" leaves them missing, which publishes who
        did not answer; the dtype can then always hold missing values.  "raise" refuses them.
    again : bool, default False
        Randomize reports once more; otherwise a Series recorded as holding reports is refused.
    rng : numpy.random.Generator, optional
        By default a fresh key from the operating system for this call.  A generator is for
        teaching: the call warns and marks the result.
    threads : int, optional
        The number of threads for a large column; by default up to four for text held by Arrow,
        otherwise one.  It changes neither the distribution nor the result for given random words.
    key : Keyed, optional
        The secret key, the person of each row, and the question, as in
        ``rr.client.Keyed(key, id="person")``, for keyed reports: the same in every call.

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
    Each report is epsilon-LDP for its answer, between declared categories.  With "raise", that a
    release exists says that all answers were declared; ``unknown="uniform"`` keeps the proof for
    any input.  Every call is a new release, and epsilons add up.
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
    >>> released = rr.privatize(df, "smoker", [False, True], 0.75)
    >>> list(released["age"]), released.rr.mechanisms["smoker"].prob
    ([31, 42, 53], 0.75)
    """
    if key is not None:
        check_keyed(key)
    policies = _Policies(unknown, missing, again, rng, threads, key)
    is_frame = isinstance(values, pd.DataFrame) or is_table(values)
    if not is_frame:
        refuse_path(values, "privatize_file(source, destination, column, categories, epsilon=1)")
        categories, prob = _values_design(values, columns, categories, prob)
        columns = None
    design = _open_design(values, _DesignRequest(columns, categories, prob, epsilon))
    if design.rates is not None:
        check_left_out(
            "prob and epsilon by row take no key= and no again=", key=key, again=again or None
        )
    if is_frame:
        return _privatize_frame(values, design, policies, group)
    mechanism = as_mechanism(design.categories, design.prob, design.epsilon)
    question = name = name_of(values)
    if key is not None and key.question is not None:
        question = key.questions([name])[name]
    ids = None if key is None else key.id
    column = _prepare(
        values, mechanism, policies, group, ids, question=question, rates=design.rates
    )
    return _draw_column(column)


def _values_design(values: Any, columns: Any, categories: Any, prob: Any) -> tuple[Any, Any]:
    """Categories and prob of values without columns, which stand one place earlier by position."""
    has_columns = columns is not None and categories is not None and prob is not None
    is_lazy = bool(engine_hint(values)) and not hasattr(type(values), "__arrow_c_stream__")
    if has_columns or isinstance(columns, FramePlan) or is_lazy:
        raise ArgumentTypeError(
            "columns belong to a DataFrame, and so does a FramePlan; found "
            f"{type_name(values)}{engine_hint(values)}"
        )
    if columns is None:
        return categories, prob
    return columns, prob if categories is None else categories


@dataclass(frozen=True)
class _DesignRequest:
    """Arguments of `privatize` that say how answers become reports, as they are documented there.

    rates : the prob of each row, where it differs; ``categories`` is then the mechanism of the
        largest, and neither prob nor epsilon is left.
    """

    columns: PlanLike | None
    categories: MechanismLike | None
    prob: RateLike | None
    epsilon: RateLike | None
    rates: RowRates | None = None


def _open_design(values: Any, design: _DesignRequest) -> _DesignRequest:
    """The design with the rates of the rows, if prob or epsilon is a column, or names one."""
    if isinstance(design.columns, Mapping | FramePlan):
        return design
    categories: Any = design.categories
    arguments: dict[str, Any] = {"prob": design.prob, "epsilon": design.epsilon}
    labels: dict[str, Any] = {}
    is_frame = isinstance(values, pd.DataFrame) or is_table(values)
    for argument, rate in arguments.items():
        if is_frame and is_by_row(rate):
            rule = "a number, or the name of a column of the frame"
            check_instance(rate, argument, Number, rule)
        if is_frame and names_column(rate):
            labels[argument] = rate
            arguments[argument] = rate_column(values, rate, argument)
        elif not is_frame and is_by_row(rate):
            labels[argument] = name_of(rate)
            aligned(values, [(argument, rate)])
    if not labels:
        return design
    rows = len(values) if is_frame else open_column(values).rows
    rates = RowRates.of(categories, rows, **arguments, columns=labels)
    return _DesignRequest(design.columns, rates.base, None, None, rates)


def _privatize_frame(data: Any, design: _DesignRequest, policies: _Policies, group: Any) -> Any:
    """The data with reports in some columns, by a plan or each by its mechanism."""
    plan = design.columns
    if isinstance(plan, FramePlan):
        check_left_out(
            "a FramePlan is the whole design, and its coin needs fresh words",
            prob=design.prob,
            epsilon=design.epsilon,
            again=policies.again or None,
            key=policies.key,
            group=group,
            categories=design.categories,
        )
        return _fill(data, *_draw_plan(data, plan, policies))
    if isinstance(plan, Mapping):  # before an error about what a name declares
        check_any_column(column_labels(data), plan)
    prepared = _prepare_frame(
        data,
        column_mechanisms(design.columns, design.categories, design.prob, design.epsilon),
        policies,
        group=group,
        rates=design.rates,
    )
    return _draw_frame(data, prepared)


def _prepare_frame(
    data: Any,
    mechanisms: Mapping[Hashable, Mechanism],
    policies: _Policies,
    *,
    group: Hashable,
    rates: RowRates | None,
) -> dict[Hashable, _Prepared]:
    """The columns to privatize, by label; everything is checked before anything is drawn."""
    prepared: dict[Hashable, _Prepared] = {}
    claims = {} if isinstance(data, pd.DataFrame) else _claims_of(data)
    check_any_column(column_labels(data), mechanisms)
    samples = None if group is None else column_of(data, group)
    ids = None
    if policies.key is not None:
        id = policies.key.id
        ids = _public_columns(data, id if isinstance(id, list) else [id])
    questions = {} if policies.key is None else policies.key.questions(list(mechanisms))
    for number, (name, mechanism) in enumerate(mechanisms.items()):
        place = place_of(data, name)
        column = data.iloc[:, place] if isinstance(data, pd.DataFrame) else data[name]
        label = name_of(column, name)  # an Arrow column has none
        with naming_column(name, (ArgumentTypeError,)):
            prepared[label] = _prepare(
                column,
                mechanism,
                policies,
                None if mechanism.groups is None else samples,
                None if ids is None else [cells for _, cells in ids],
                question=label if questions.get(name) is None else questions[name],
                column=number,
                record=find(claims, label) if claims else None,
                rates=rates,
            )._replace(place=place)
    unused = all(column.answers.samples is None for column in prepared.values())
    if samples is not None and unused:
        raise ArgumentValueError("group must be a public column that some mechanism here needs")
    public = _public_labels(ids, samples, group, rates)
    _check_public(prepared, public, data.attrs if isinstance(data, pd.DataFrame) else claims)
    return prepared


def _public_labels(
    ids: list[tuple[Any, Any]] | None, samples: Any, group: Hashable, rates: RowRates | None
) -> list[Any]:
    """The labels of the columns that are used as they are: ids, samples, and rates of the rows."""
    labels = [label for label, _ in ids or []]
    if samples is not None:
        labels.append(name_of(samples, group))
    if rates is not None:
        labels += rates.columns.values()
    return labels


def _draw_column(column: _Prepared) -> Any:
    """The reports of one column, which record how they were made if they are a Series."""
    release = column.release
    reports = release.draw(column.answers)
    is_series = isinstance(reports, pd.Series)
    check_call = "s.rr.check({categories})" if is_series else "rr.check(answers, {categories})"
    releases = {name_of(reports): release}
    refuse(releases, check_call)
    if is_series:
        record_columns(reports.attrs, {reports.name: (release.recorded, release.facts)})
    warn_of(releases)
    return reports


def _draw_frame(data: Any, columns: Mapping[Hashable, _Prepared]) -> Any:
    """The data with reports in these columns; each is drawn when it is filled in."""
    drawn = (
        (label, column.place, column.release.draw(column.answers))
        for label, column in columns.items()
    )
    return _fill(data, drawn, {label: column.release for label, column in columns.items()})


def _public_columns(data: Any, names: Iterable[Hashable]) -> list[tuple[Any, Any]]:
    """The label and the cells of each of these columns."""
    columns = [(name, column_of(data, name)) for name in names]
    return [(name_of(cells, name), cells) for name, cells in columns]


def _check_public(private: Iterable[Hashable], public: list[Any], attrs: Mapping[Any, Any]) -> None:
    """Raise if a column to privatize is public here, or by the records of other columns."""
    for record in read(attrs) if attrs else []:
        public = [*public, *(record.by_row or {}).values(), record.plan and record.plan.asked]
    for label in private:
        if label in public and label is not None:
            raise ArgumentValueError(f"{label!r} must be a public column, but is to be privatized")


def _draw_plan(
    data: Any, plan: FramePlan, policies: _Policies
) -> tuple[Iterable[Drawn], Mapping[Any, ColumnAnswers]]:
    """The reports of a plan, and its columns; everything is checked before anything is drawn."""
    claims = data.attrs if isinstance(data, pd.DataFrame) else _claims_of(data)
    places = {name: place_of(data, name) for name in plan.categories}
    columns = {name: column_of(data, name) for name in places}
    for name, column in columns.items():
        _check_index(column, name)
    records = read(claims)
    released = [record.name for record in records if record.name in places]
    if released:
        raise ArgumentValueError(
            f"a plan takes true answers, and the columns {quote_list(released)} hold reports "
            "already; give the frame that was privatized"
        )
    _check_public(places, [], claims)
    release = FrameRelease(
        columns,
        plan,
        column_labels(data),
        unknown=policies.unknown,
        missing=policies.missing,
        rng=_rng_of(policies.rng, tuple(places)),
        threads=policies.threads,
        records=records,
    )
    drawn = [
        (name, places.get(name), reports) for name, reports in release.reports(columns).items()
    ]
    return drawn, release.columns


def _fill(data: Any, drawn: Iterable[Drawn], releases: Mapping[Any, ColumnAnswers]) -> Any:
    """The data with reports and their records; refuses and warns after the reports exist."""
    facts = {name: (release.recorded, release.facts) for name, release in releases.items()}
    if isinstance(data, pd.DataFrame):
        released = _fill_frame(data, drawn, facts)
    else:
        released = _fill_table(data, drawn, facts)
    refuse(releases, FRAME_CHECK if isinstance(data, pd.DataFrame) else TABLE_CHECK)
    warn_of(releases)
    return released


def _fill_frame(
    data: pd.DataFrame, drawn: Iterable[Drawn], facts: Mapping[Any, Any]
) -> pd.DataFrame:
    """A new frame of pandas with reports, whose attrs record the ``facts`` of its columns.

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
    public = {i: rebuilt_series(data.iloc[:, i]) for i in range(data.shape[1]) if i not in series}
    columns = dict(sorted({**public, **series}.items()))
    released = pd.DataFrame(columns, index=data.index, copy=True)
    released.index = rebuilt_index(data.index)
    released.columns = rebuilt_index(labels)
    released.attrs = copy.deepcopy(data.attrs)
    flags: Any = data.flags
    released = released.set_flags(allows_duplicate_labels=flags.allows_duplicate_labels)
    record_columns(released.attrs, facts)
    return released


def _claims_of(table: Any) -> dict[Any, Any]:
    """The metadata of earlier privatized columns of an Arrow table; refuses index columns."""
    copies = [name for name in column_labels(table) if re.fullmatch(r"__index_level_\d+__", name)]
    if copies:
        raise ArgumentValueError(
            f"column {copies[0]!r} is an index of pandas, which may hold a copy of the answers and "
            "release them; drop it first, or rename it if it does not"
        )
    metadata = {} if _is_polars(table) else table.schema.metadata or {}
    return {KEY: metadata[KEY.encode()]} if KEY.encode() in metadata else {}


def _is_polars(table: Any) -> bool:
    """True for a frame of Polars, which has no metadata; false for a table of Arrow."""
    return hasattr(table, "with_columns")


def _fill_table(data: Any, drawn: Iterable[Drawn], facts: Mapping[Any, Any]) -> Any:
    """A Polars frame or Arrow table with reports; other metadata of an Arrow table are dropped."""
    if _is_polars(data):
        return rebuilt_polars(data.with_columns([reports for _, _, reports in drawn]))
    claims = _claims_of(data)
    public = set(range(data.num_columns))
    for label, place, reports in drawn:
        if place is None:
            data = data.append_column(label, reports)
        else:
            data = data.set_column(place, label, reports)
            public.remove(place)
    for place in public:
        data = data.set_column(place, data.schema.field(place), rebuilt_column(data.column(place)))
    record_columns(claims, facts)
    # The metadata of pandas may hold statistics or attachments.
    return data.replace_schema_metadata({key: json.dumps(value) for key, value in claims.items()})


@overload
def simulate(
    values: Frame,
    columns: PlanLike,
    categories: MechanismLike | None = None,
    prob: RateLike | None = None,
    *,
    seed: SeedLike,
    **options: Unpack[SimulateOptions],
) -> Frame: ...


@overload
def simulate(
    values: Values,
    categories: MechanismLike,
    prob: RateLike | None = None,
    *,
    seed: SeedLike,
    **options: Unpack[SimulateOptions],
) -> Values: ...


@checked_keywords  # type: ignore[misc]  # of values the categories stand in the columns' place
def simulate(
    values: Any,
    columns: Any = None,
    categories: Any = None,
    prob: Any = None,
    *,
    seed: SeedLike,
    epsilon: RateLike | None = None,
    group: Any = None,
    unknown: str = "raise",
    missing: str = "unknown",
    again: bool = False,
    threads: int | None = None,
) -> Any:
    """Privatize with reproducible noise, for teaching and tests.  Never release the result.

    Parameters
    ----------
    values, columns, categories, prob : object
        As for `privatize`.
    seed : int or numpy.random.Generator
        An integer of at least 0, which is not stored.  It is mixed with the column's name and the
        number of rounds that the column had, so that columns of other names, and further rounds,
        have noise of their own.  Equal name and seed share the noise, and so do two arrays, which
        have no name, with one seed.  For arrays, and for waves under one name, give one Generator
        to all calls: it advances.
    epsilon, group, unknown, missing, again, threads : object
        As for `privatize`.

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
    rng: Any = simulation_source(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        return privatize(
            values,
            columns,
            categories,
            prob,
            epsilon=epsilon,
            unknown=unknown,
            missing=missing,
            group=group,
            again=again,
            rng=rng,
            threads=threads,
        )


class _AnswerTable(pd.DataFrame):
    """The frame of `check`; without rows it prints that all answers fit."""

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame  # a part of it says nothing of all answers

    def __repr__(self) -> str:
        return "all answers are among the categories" if self.empty else super().__repr__()

    def _repr_html_(self) -> str:
        return repr(self) if self.empty else self.to_html()


@checked_keywords
def check(
    values: Any, columns: Any = None, categories: MechanismLike | None = None
) -> pd.DataFrame:
    """List the answers that match no category, for the data curator only.

    Parameters
    ----------
    values : array-like or DataFrame
        The true answers, in any container, or a frame of pandas or Polars or an Arrow table.
    columns : hashable
        Of a frame alone, the name of one column; for all other values the categories stand in
        this place.
    categories : sequence of hashables, NumberRange or Mechanism
        The declared categories, or the mechanism that has them; or a number, of which the answers
        beyond each bound are counted as clipped to it.

    Returns
    -------
    DataFrame
        One row for each distinct answer that is missing or unknown, with the columns value, status
        ("missing", "unknown" or "clipped"), count and did_you_mean, a category of similar spelling;
        the largest count comes first.  A last row with the status "in order of frequency" says that
        4 or more categories are listed as in a table of frequencies, which a release would
        publish.
        Of a frame of pandas further rows name other columns (value) that "determine" or "nearly
        determine" the answers (status): for so many rows (count) the answer can be guessed from
        other rows with the same value.  Noise cannot hide what such a column shows.
        Never release, log or share the table: it shows true answers.

    Examples
    --------
    >>> check(["yes", "no", "Yes", "Yes", None], ["yes", "no"])
      value   status  count did_you_mean
    0   Yes  unknown      2          yes
    1  None  missing      1         None
    >>> check(["yes", "no"], ["yes", "no"])
    all answers are among the categories
    """
    others = None
    if isinstance(values, pd.DataFrame) or is_table(values):
        answers = column_of(values, columns)
        others = values.drop(columns=[columns]) if isinstance(values, pd.DataFrame) else None
    else:
        refuse_path(values, "check_file(path, column, categories)")
        answers = values
        categories, _ = _values_design(values, columns, categories, None)
    domain = answers_of(categories)
    container = open_column(answers)
    cells = container.cells
    encoded = reader(domain, cells)(cells)
    tally: dict[tuple[type, str], list[Any]] = {}
    for value in container.pick(np.setdiff1d(encoded.outside, encoded.absent)):
        displayed = _displayed(value)
        tally.setdefault((type(value), repr(displayed)), [displayed, "unknown", 0])[2] += 1
    rows = list(tally.values())
    if len(encoded.absent):
        rows.append([None, "missing", len(encoded.absent)])
    rows += clipped_counts(domain, cells)
    rows.sort(key=lambda row: -row[2])
    counts = category_counts(encoded.codes, domain)
    telling = [] if others is None else telling_columns(others, answers)
    return check_table([*rows, *frequency_order(counts, domain), *telling], domain)


def category_counts(codes: Array, domain: Categories) -> Counts:
    """(k,) counts of true answers, for `frequency_order`; 0 where answers are numbers."""
    if not domain.order_tells:
        return np.zeros(domain.k, dtype=np.int64)
    return np.bincount(codes, minlength=domain.k)[: domain.k]


def clipped_counts(domain: Categories, cells: Any) -> list[list[Any]]:
    """Rows of `check` with the numbers of answers beyond the bounds; none for categories."""
    if not isinstance(domain, NumberGrid):
        return []
    numbers, _ = number_reader(type_of(cells))(cells)
    counts = map(np.count_nonzero, domain.clipped(numbers))
    pairs = zip(domain.bounds, counts, strict=True)
    return [[bound, "clipped", count] for bound, count in pairs if count]


def frequency_order(counts: Array, domain: Categories) -> list[tuple[None, str, int]]:
    """The row of `check` for categories whose list has the order of their frequencies, if it has.

    counts : (k,) of the true answers.  People list categories so, too; hence no warning.
    """
    falls = counts[-1] > 0 and counts[0] > counts[-1] and bool((np.diff(counts) <= 0).all())
    return [(None, IN_ORDER, int(counts.sum()))] if domain.order_tells and falls else []


def check_table(rows: Sequence[Sequence[Any]], domain: Categories) -> pd.DataFrame:
    """The table of `check`, from rows of value, status and count."""
    values, states, counts = zip(*rows, strict=True) if rows else ((), (), ())
    similar = _similar_categories(values, states, domain)
    return _AnswerTable(
        {
            "value": pd.Series(values, dtype=object),
            "status": pd.Series(states, dtype=object),
            "count": pd.Series(counts, dtype=np.int64),
            "did_you_mean": pd.Series(similar, dtype=object),
        }
    )


def _similar_categories(
    values: Sequence[Any], states: Sequence[str], domain: Categories
) -> list[Any]:
    """The category that each unknown answer seems to mean, or None."""
    if domain.k > _MAX_SPELLED:
        return [None] * len(values)
    spellings: dict[str, Any] = {}
    for category, text in zip(domain.categories, domain.labels, strict=True):
        for spelling in (category, text):
            spellings.setdefault(_spelled(spelling), category)
    spellings.pop("", None)
    similar: list[Any] = []
    for place, (value, status) in enumerate(zip(values, states, strict=True)):
        spelling = _spelled(value) if status == "unknown" else ""
        category = spellings.get(spelling)
        if spelling and category is None and place < _MAX_COMPARED and type(value) is str:
            near = difflib.get_close_matches(spelling, spellings, n=1)
            category = spellings[near[0]] if near else None
        similar.append(category)
    return similar


def _spelled(value: object) -> str:
    """A value without case, spaces around it and type, so that 1, 1.0 and " 1" are equal.

    It is empty for values that have no words, such as None and tuples.
    """
    with contextlib.suppress(Exception):  # an answer may raise when it is looked at
        if isinstance(value, float | np.floating) and float(value).is_integer():
            value = int(value)
        if isinstance(value, str | Number | np.bool_):
            return str(value).strip().casefold()
    return ""


def telling_columns(frame: pd.DataFrame, answers: Any) -> list[tuple[Any, str, int]]:
    """Columns that reveal the answers: name, "determines" or "nearly determines", and rows.

    Each row's answer is guessed from the majority of the other rows with the same value, so ids
    reveal nothing.  A column is listed if at most one guess in 20 is wrong, and at most a quarter
    as many as when guessing the most common answer.  For the data curator only.
    """
    telling: list[tuple[Any, str, int]] = []
    truth = pd.factorize(pd.Series(answers), use_na_sentinel=False)[0]
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
        if errors and wrong <= min(len(truth) * _MAX_ERROR_RATE, errors * _MAX_ERROR_RATIO):
            telling.append((name, "nearly determines" if wrong else "determines", right))
    return telling


def _displayed(value: object) -> object:
    """An unknown answer as the data curator sees it: itself, or its repr if it has no hash."""
    displayed: object = f"<{type(value).__name__} without a repr>"
    with contextlib.suppress(Exception):  # an answer may raise when it is looked at
        displayed = repr(value)
        hash(value)
        return value
    return displayed
