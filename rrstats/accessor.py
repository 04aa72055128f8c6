"""The pandas accessors ``df.rr`` and ``s.rr``: the public functions as methods.

``import rrstats`` registers them.  An accessor holds only a reference to its frame or Series, and
each method calls the public function of the same name.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import (
    Any,
    Concatenate,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    cast,
    overload,
)

import pandas as pd

from rrstats._checks import check_distinct
from rrstats._display import label
from rrstats._names import checked_keywords
from rrstats._typing import ColumnLike, ColumnName, ColumnNames, GroupsLike, RateLike
from rrstats.data.categories import Categories
from rrstats.data.columns import column_of
from rrstats.errors import ArgumentValueError, RRStatsError
from rrstats.estimation.estimates.crosstab import Crosstab, crosstab
from rrstats.estimation.estimates.estimate import Estimate, EstimateOptions, estimate
from rrstats.estimation.estimates.groups import Estimates, GroupEstimates
from rrstats.estimation.estimates.means import Means, means
from rrstats.estimation.estimates.quantiles import Quantiles, quantiles
from rrstats.estimation.report_columns.report_frames import Plan, ReportFrame, ReportRequest, listed
from rrstats.estimation.report_columns.sample_design import (
    SampleDesign,
    check_names,
    design_of,
    frame_design,
    public_column,
)
from rrstats.estimation.tallies.tally import tally
from rrstats.mechanisms.attrs import Mechanisms, released_records
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.krr import MechanismLike
from rrstats.mechanisms.records import read
from rrstats.mechanisms.row_privacy import (
    RowEpsilon,
    coverage_note,
    epsilon_text,
    row_epsilon,
    row_mechanisms,
)
from rrstats.privacy.composition import Composition, check_rows_per_person, compose
from rrstats.privatization.frame import check, check_table, privatize, simulate, telling_columns
from rrstats.privatization.frame_plan import FramePlan
from rrstats.randomness.sources import RandomSource, SeedLike
from rrstats.regression.models import linear, logit

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _bound(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """A public function as a method: the data come first, the other arguments are the same."""

    @functools.wraps(function)
    def method(self: Any, /, *args: Arguments.args, **options: Arguments.kwargs) -> Result:
        return function(self._data, *args, **options)

    return method


def _of_formula(function: Callable[..., Result]) -> Callable[..., Result]:
    """A regression as a method of a frame: the formula first, the other arguments are the same."""

    @functools.wraps(function)
    def method(self: Any, formula: str, **options: Any) -> Result:
        return function(formula, self._data, **options)

    signature = inspect.signature(function)
    data_names = ("outcome", "data")
    options = [each for each in signature.parameters.values() if each.name not in data_names]
    self_and_formula = list(inspect.signature(method, follow_wrapped=False).parameters.values())[:2]
    vars(method)["__signature__"] = signature.replace(parameters=[*self_and_formula, *options])
    return method


def _frame_columns(columns: Any) -> Any:
    """The names of the columns to privatize: None is the name of a column here, too."""
    return [None] if columns is None else columns


class _GroupColumns(NamedTuple):
    """The opened columns of means or quantiles in true groups."""

    values: Any
    reports: Any
    design: SampleDesign


@checked_keywords
class FrameAccessor:
    """Randomized response on a frame: privatize columns, and estimate from the reports.

    ::

        df.rr.privatize("answer", ["never", "once", "often"], 0.75)  # a new frame with reports
        df.rr.privatize(plan)                              # one epsilon for all columns of a plan
        df.rr.estimate("answer")                           # proportions with intervals
        df.rr.estimate("answer", by="region")              # the same in each group
        df.rr.crosstab("answer", "region")                 # a two-way table of true answers
        df.rr.means("age", "answer")                       # means of a number in true groups
        df.rr.quantiles("age", "answer")                   # its quantiles
        df.rr.logit("answer ~ age")                        # a logistic regression
        df.rr.check("answer", ["never", "once", "often"])  # private: for the data curator only
        df.rr.mechanisms, df.rr.epsilon                    # how the frame was privatized

    The promise: for every record, whatever the other records and columns, the privatized cell is
    epsilon-LDP for replacing that record's value by any other declared category.  With
    ``unknown="raise"``, the default, that a release exists says that all answers were declared;
    ``unknown="uniform"`` keeps the proof for any input.  It does not hide that the record exists,
    its other columns, its index, its position, or the time the call took.  Epsilon adds up over
    privatized columns, over waves, over the rows of one person, and over repeated releases of the
    same source: running a privatizing cell again is a second release.  Entries that you added to
    ``df.attrs`` stay in the released frame, like its other columns.
    """

    def __init__(self, data: pd.DataFrame) -> None:
        self._data = data

    def privatize(
        self,
        columns: ColumnNames | Mapping[Any, MechanismLike] | FramePlan,
        categories: MechanismLike | None = None,
        prob: RateLike | None = None,
        *,
        epsilon: RateLike | None = None,
        unknown: str = "raise",
        missing: str = "unknown",
        group: Hashable = None,
        again: bool = False,
        rng: RandomSource | None = None,
        threads: int | None = None,
        key: bytes | None = None,
        id: ColumnLike | None = None,
        question: Any = None,
    ) -> pd.DataFrame:
        """Return a new frame in which some columns hold reports instead of true answers.

        Parameters
        ----------
        columns : hashable, list of hashables, mapping, or FramePlan
            One column name or a list of names, all with the same design; or a mapping from
            column name to mechanism; or a `FramePlan`, one epsilon for all its columns.
        categories : sequence of k hashables, Mechanism or mapping, optional
            The design: the categories, with ``prob`` or ``epsilon``; or a mechanism alone.
        prob : float or hashable, optional
            P(report = truth), in [1/k, 1).  Where it differs by row it is the name of a public
            column.
        epsilon : float or hashable, optional
            The privacy loss of one report in nats, instead of ``prob``.
        unknown : {"raise", "uniform"}
            Treatment of answers that are no category: refused with an error that counts them, or
            each replaced by a uniformly random category.
        missing : {"unknown", "uniform", "keep", "raise"}
            Treatment of missing answers if None is not a category: like unknown ones, replaced,
            left missing (which publishes who did not answer), or refused.
        group : hashable, optional
            The column that holds each row's sample, for designs with several samples.
        again : bool, default False
            Randomize reports once more; otherwise a column recorded as holding reports is refused.
        rng : numpy.random.Generator, optional
            By default a fresh key from the operating system.  A generator is for teaching: the call
            warns and marks the result.
        threads : int, optional
            The number of threads for a large column.
        key : bytes, optional
            32 secret bytes from `rr.new_key`, for keyed reports, which are the same in every call.
        id : hashable or list of hashables, optional
            The column, or columns, that identify the person, for keyed reports.
        question : hashable or mapping, optional
            The question's name, on which keyed noise depends; by default the column's name.

        Returns
        -------
        DataFrame
            The same index, columns and order as the original; with a `FramePlan` one public column
            more, which says what each row reports.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"q1": ["yes", "no", "no"], "q2": ["no"] * 3, "age": [31, 42, 53]})
        >>> released = df.rr.privatize(["q1", "q2"], ["yes", "no"], 0.75)
        >>> list(released.columns), sorted(released.rr.mechanisms)
        (['q1', 'q2', 'age'], ['q1', 'q2'])
        """
        return privatize(
            self._data,
            categories,
            prob,
            epsilon=epsilon,
            columns=_frame_columns(columns),
            unknown=unknown,
            missing=missing,
            group=group,
            again=again,
            rng=rng,
            threads=threads,
            key=key,
            id=id,
            question=question,
        )

    def simulate(
        self,
        columns: ColumnNames | Mapping[Any, MechanismLike],
        categories: MechanismLike | None = None,
        prob: float | None = None,
        *,
        seed: SeedLike,
        epsilon: float | None = None,
        unknown: str = "raise",
        missing: str = "unknown",
        group: Hashable = None,
        again: bool = False,
        threads: int | None = None,
    ) -> pd.DataFrame:
        """Privatize with reproducible noise, for teaching and tests.  Never release the result.

        Parameters
        ----------
        columns : hashable, list of hashables, or mapping
            One column name or a list of names, all with the same design; or a mapping from
            column name to mechanism.
        categories : sequence of k hashables or Mechanism, optional
            The design: the categories, with ``prob`` or ``epsilon``; or a mechanism alone.
        prob : float, optional
            P(report = truth), in [1/k, 1).
        seed : int or numpy.random.Generator
            As for `rrstats.simulate`: each column has noise of its own by its name, and calls with
            equal name and seed share it.
        epsilon : float, optional
            The privacy loss of one report in nats, instead of ``prob``.
        unknown : {"raise", "uniform"}
            Treatment of answers that are no category, as in `privatize`.
        missing : {"unknown", "uniform", "keep", "raise"}
            Treatment of missing answers, as in `privatize`.
        group : hashable, optional
            The column that holds each row's sample, for designs with several samples.
        again : bool, default False
            Randomize reports once more; otherwise a column recorded as holding reports is refused.
        threads : int, optional
            The number of threads for a large column.

        Returns
        -------
        DataFrame
            A new frame, marked as simulated.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"answer": ["yes", "no", "no"]})
        >>> first = df.rr.simulate("answer", ["yes", "no"], 0.75, seed=1)
        >>> first.equals(df.rr.simulate("answer", ["yes", "no"], 0.75, seed=1))
        True
        """
        return simulate(
            self._data,
            categories,
            prob,
            seed=seed,
            epsilon=epsilon,
            columns=_frame_columns(columns),
            unknown=unknown,
            missing=missing,
            group=group,
            again=again,
            threads=threads,
        )

    @overload
    def estimate(
        self,
        columns: list[Any] | None = None,
        categories: MechanismLike | Plan | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismLike | Plan | None = None,
        by: None = None,
        **options: Unpack[EstimateOptions],
    ) -> Estimates[Estimate]: ...

    @overload
    def estimate(
        self,
        columns: list[Any] | None = None,
        categories: MechanismLike | Plan | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismLike | Plan | None = None,
        by: GroupsLike,
        **options: Unpack[EstimateOptions],
    ) -> Estimates[GroupEstimates[Estimate]]: ...

    @overload
    def estimate(
        self,
        columns: ColumnName,
        categories: MechanismLike | Plan | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismLike | Plan | None = None,
        by: None = None,
        **options: Unpack[EstimateOptions],
    ) -> Estimate: ...

    @overload
    def estimate(
        self,
        columns: ColumnName,
        categories: MechanismLike | Plan | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismLike | Plan | None = None,
        by: GroupsLike,
        **options: Unpack[EstimateOptions],
    ) -> GroupEstimates[Estimate]: ...

    def estimate(
        self,
        columns: ColumnNames | None = None,
        categories: MechanismLike | Plan | None = None,
        prob: RateLike | None = None,
        *,
        epsilon: RateLike | None = None,
        mechanism: MechanismLike | Plan | None = None,
        group: ColumnLike | None = None,
        target: str = "population",
        ddof: int = 1,
        by: ColumnLike | None = None,
        observed: bool = True,
        weights: ColumnLike | None = None,
        design: SampleDesign | None = None,
        weighting: str = "equal",
    ) -> Any:
        """Estimate true proportions of privatized columns.

        Parameters
        ----------
        columns : hashable or list, optional
            A column name or a list of names; by default all columns that the frame's metadata
            record as privatized.  For designs with two reports per person, a list of two names.
        categories : sequence of k hashables, Mechanism, mapping or FramePlan, optional
            The categories, with ``prob`` or ``epsilon``; or a mechanism alone; by default the
            recorded one.
        prob : float or hashable, optional
            P(report = truth).  Where it differs by row it is the name of a column.
        epsilon : float or hashable, optional
            The privacy loss of one report, instead of ``prob``.
        mechanism : Mechanism, mapping, FramePlan or str, optional
            The same as categories, as a keyword.  A string is the name of the column that holds the
            mechanism of each row.
        group : hashable, optional
            The column with each row's sample, for designs with several samples.
        target : {"population", "rows"}
            The estimate is about the population that these people were drawn from, or about just
            these rows.
        ddof : int
            Subtracted from n in the population's variance.
        by : hashable or list of hashables, optional
            The column, or columns, of groups, each of which gets an estimate.
        observed : bool
            Whether only groups that occur are counted; False keeps all of a Categorical.
        weights : hashable, optional
            The column of the sampling weights.
        design : SampleDesign, optional
            Weights, strata, clusters and more of the sample, as names of columns.
        weighting : {"equal", "precision"}
            Of rows whose prob differs: the mean of the rows' scores, or weighted by (p - q)^2.

        Returns
        -------
        Estimate, GroupEstimates or Estimates
            One name gives an Estimate, or GroupEstimates with ``by``.  A list gives Estimates, even
            a list of one name.  Each prints its table; ``to_frame()`` returns the numbers.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"answer": ["yes"] * 36 + ["no"] * 64, "sex": ["f", "m"] * 50})
        >>> df.rr.estimate("answer", ["yes", "no"], 0.75)
        Estimate: target=population, n=100
          category  proportion     low    high  std_error  count  count_low  count_high
          yes           0.2200  0.0328  0.4242     0.0965     22          4          39
          no            0.7800  0.5758  0.9672     0.0965     78         61          96
        to_frame() has also reported, naive
        >>> df.rr.estimate("answer", ["yes", "no"], 0.75, by="sex")["f"].n
        50
        """
        mechanisms = self._mechanisms_of(mechanism)
        if columns is None:
            designs = mechanism if categories is None else categories
            names = designs if isinstance(designs, Mapping) else self.mechanisms
            columns = [name for name in names if name in self._data.columns]
        return estimate(
            self._data,
            categories,
            prob,
            epsilon=epsilon,
            mechanism=mechanisms,
            columns=cast(Any, columns),
            group=group,
            target=target,
            ddof=ddof,
            by=cast(Any, by),
            observed=observed,
            weights=weights,
            design=design,
            weighting=weighting,
        )

    crosstab: Callable[..., Crosstab] = _bound(crosstab)

    def means(
        self,
        values: Hashable,
        by: ColumnLike,
        mechanism: MechanismLike | None = None,
        prob: RateLike | None = None,
        *,
        group: Hashable = None,
        weights: Hashable = None,
        design: SampleDesign | None = None,
        target: str = "population",
        missing: str = "drop",
    ) -> Means:
        """Estimate means of a numeric column in the true groups of a privatized column.

        Parameters
        ----------
        values : hashable
            The column of ordinary numbers; true and false count as 1 and 0.
        by : hashable or list of two hashables
            The privatized column of the groups; two, if a report is a pair of columns.
        mechanism : Mechanism or sequence of k hashables, optional
            The mechanism of ``by``, or its categories; needed only if the frame does not record it.
        prob : float or hashable, optional
            P(report = truth), with categories.  Where it differs by row it is the name of a column.
        group : hashable, optional
            The column with each row's sample, for designs with several samples.
        weights : hashable, optional
            The column of the sampling weights.
        design : SampleDesign, optional
            Weights, strata, clusters and replicate weights, as names of columns.
        target : {"population", "rows"}
            Means are about the population that these people were drawn from, or about the true
            groups among just these rows.
        missing : {"drop", "raise"}
            "drop" leaves out rows with a missing value, report or weight, and counts them.

        Returns
        -------
        Means
            For the proportions of a privatized column in ordinary groups, use `estimate` with
            ``by``.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"vote": ["yes"] * 30 + ["no"] * 70, "age": range(100)})
        >>> df.rr.means("age", "vote", rrstats.KRR(["yes", "no"], 0.9)).n
        100
        """
        request = ReportRequest(self._mechanisms_of(mechanism), prob, group=group)
        columns = self._group_columns(values, by, request, design_of(weights, design))
        return means(
            columns.values,
            columns.reports,
            design=columns.design,
            target=target,
            missing=missing,
        )

    def quantiles(
        self,
        values: Hashable,
        by: ColumnLike,
        mechanism: MechanismLike | None = None,
        prob: RateLike | None = None,
        *,
        q: float | Sequence[float] = (0.25, 0.5, 0.75),
        group: Hashable = None,
        weights: Hashable = None,
        design: SampleDesign | None = None,
        target: str = "population",
    ) -> Quantiles:
        """Estimate quantiles of a numeric column in the true groups of a privatized column.

        Parameters
        ----------
        values : hashable
            The column of ordinary numbers; true and false count as 1 and 0.
        by : hashable or list of two hashables
            The privatized column of the groups; two, if a report is a pair of columns.
        mechanism : Mechanism or sequence of k hashables, optional
            The mechanism of ``by``, or its categories; needed only if the frame does not record it.
        prob : float or hashable, optional
            P(report = truth), with categories.  Where it differs by row it is the name of a column.
        q : float or sequence of floats
            Probabilities of the quantiles in (0, 1): 0.5 is the median.
        group : hashable, optional
            The column with each row's sample, for designs with several samples.
        weights : hashable, optional
            The column of the sampling weights.
        design : SampleDesign, optional
            Weights, strata, clusters and replicate weights, as names of columns.
        target : {"population", "rows"}
            Quantiles are about the population that these people were drawn from, or about the true
            groups among just these rows.

        Returns
        -------
        Quantiles
            Quantiles with intervals of each group.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"vote": ["yes"] * 30 + ["no"] * 70, "age": range(100)})
        >>> df.rr.quantiles("age", "vote", rrstats.KRR(["yes", "no"], 0.9), q=0.5).n
        100
        """
        request = ReportRequest(self._mechanisms_of(mechanism), prob, group=group)
        columns = self._group_columns(values, by, request, design_of(weights, design))
        return quantiles(
            columns.values,
            columns.reports,
            q=q,
            design=columns.design,
            target=target,
        )

    def _group_columns(
        self, values: Hashable, by: ColumnLike, request: ReportRequest, design: SampleDesign
    ) -> _GroupColumns:
        """Open the columns of means or quantiles; request : the mechanism of ``by``."""
        frame = ReportFrame.of(self._data)
        check_names(frame, {"values": values, "by": by, **design.names})
        names = listed(by)
        check_distinct(names, "by")
        reports = frame.answer(names, request)
        column = public_column(frame, "values", values)
        return _GroupColumns(column, reports, frame_design(frame, design))

    logit = _of_formula(logit)
    linear = _of_formula(linear)

    def tally(
        self,
        columns: ColumnNames,
        categories: MechanismLike | Plan | None = None,
        prob: float | None = None,
        *,
        epsilon: float | None = None,
        group: Hashable = None,
        by: ColumnLike | None = None,
        observed: bool = True,
        weights: Hashable = None,
        design: SampleDesign | None = None,
    ) -> Any:
        """Count the reports of privatized columns; tallies of several frames can be added.

        Parameters
        ----------
        columns : hashable or list of hashables
            A column name or a list of names.
        categories : sequence of k hashables, Mechanism, mapping or FramePlan, optional
            The categories, with ``prob`` or ``epsilon``; or a mechanism alone; by default the
            recorded one.
        prob : float, optional
            P(report = truth).
        epsilon : float, optional
            The privacy loss of one report, instead of ``prob``.
        group : hashable, optional
            The column with each row's sample, for designs with several samples.
        by : hashable or list of hashables, optional
            The column, or columns, of groups, each of which gets a tally.
        observed : bool
            Whether only groups that occur are counted; False keeps all of a Categorical.
        weights : hashable, optional
            The column of the sampling weights.
        design : SampleDesign, optional
            Weights, strata, clusters and more of the sample, as names of columns.

        Returns
        -------
        Tally
            With ``by``, a dict from group to Tally; for a list of names, a dict from name to these.
        """
        return tally(
            self._data,
            categories,
            prob,
            epsilon=epsilon,
            columns=columns,
            group=group,
            by=by,
            observed=observed,
            weights=weights,
            design=design,
        )

    def _mechanisms_of(self, mechanism: Any) -> Any:
        """The mechanism, or the column of mechanisms that a name refers to."""
        return column_of(self._data, mechanism) if isinstance(mechanism, str) else mechanism

    def check(self, column: Hashable, categories: MechanismLike) -> pd.DataFrame:
        """List the answers that match no category, for the data curator only.

        Parameters
        ----------
        column : hashable
            The column's name.
        categories : sequence of hashables or Mechanism
            The declared categories, or the mechanism that has them.

        Returns
        -------
        DataFrame
            The table of `rrstats.check`; it is private because it shows true answers.  The last
            rows name the other columns (``value``) that "determine" or "nearly determine" the
            answers (``status``).  Their ``count`` is the number of rows whose answer can be guessed
            from other rows with the same value.  Noise cannot hide what such a column shows.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"answer": ["yes", "mabye"]})
        >>> df.rr.check("answer", ["yes", "no"])["count"].tolist()
        [1]
        """
        answers = column_of(self._data, column)
        unmatched = check(answers, categories)
        others = self._data.drop(columns=[column])
        domain = categories.domain if isinstance(categories, Mechanism) else Categories(categories)
        telling = check_table(telling_columns(others, answers), domain)
        return pd.concat([unmatched, telling], ignore_index=True)

    @property
    def mechanisms(self) -> Mapping[Hashable, Mechanism]:
        """The mechanism of each column that the frame records as privatized, by column name.

        For a column with more than 100 categories the frame holds only a fingerprint: the name is
        listed, and looking up its mechanism raises MetadataError; other columns still work.

        The record is a default, never evidence: rrstats cannot notice raw values that were put
        back into such a column.
        """
        return Mechanisms(read(self._data.attrs))

    @property
    def epsilon(self) -> float:
        """The privacy loss of one row over all columns that the frame records as privatized.

        It is a float, rounded up, and its repr names the columns that it counts and those without
        a record.  A column randomized again counts with its final reports, and the columns of one
        `FramePlan` count once.  The frame knows only what its attrs kept: a merge, a CSV file, or
        a column assigned from a Series loses records, and pandas' ``concat`` and ``assign`` keep
        those of one frame; only the data curator knows of the other releases.  Simulated noise
        protects nobody: epsilon is then infinite.
        Raises MetadataError if nothing is recorded (epsilon is then unknown, not 0), if a recorded
        column is absent or occurs twice (renamed, dropped, or two waves side by side), if the type
        of one shows that it no longer holds reports, or if a prob by row is above the recorded one.
        """
        records = released_records(self._data)
        return RowEpsilon(row_epsilon(records), coverage_note(records, self._data.columns))

    def budget(self, *, max_rows_per_person: int = 1, person: Hashable = None) -> Composition:
        """Compute the total privacy loss of one person over all their rows and columns.

        Parameters
        ----------
        max_rows_per_person : int, default 1
            The largest number of rows of any one person, as the study's design declares it.
        person : hashable, optional
            The column that identifies the person of each row.  It serves only to check that nobody
            has more rows than declared; the observed maximum is private, never used or shown.

        Returns
        -------
        Composition
            As from `rrstats.privacy.compose`.  A column randomized again counts with its final
            reports; the columns of one plan count once, under the name of its public column.  If
            missing answers were kept, it does not cover whether a person answered.  Its ``note``
            names the columns that it counts and those without a record.  Simulated noise protects
            nobody: epsilon is then infinite.

        Raises
        ------
        MetadataError
            In the cases that `epsilon` lists.
        ArgumentValueError
            If a person has more rows than declared; or if keyed reports have several rows per
            person, because these show for certain whether two answers differ.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"vote": ["yes", "no", "no"]})
        >>> df.rr.privatize("vote", ["yes", "no"], 0.75).rr.budget(max_rows_per_person=4)
        <4 reports of one person: epsilon 4.395 in all, or 4.395 with delta 1e-06; counts ['vote']>
        """
        records = released_records(self._data)
        released = row_mechanisms(records)
        keyed = [record.name for record in records if record.keyed]
        if keyed and max_rows_per_person != 1:
            raise ArgumentValueError(
                f"column {keyed[0]!r} is keyed: two rows of one person show for certain whether "
                "the answers differ, and no epsilon covers that; to cover the values, but not "
                "whether they changed, count each distinct answer: rr.privacy.compose({column: "
                "(mechanism, number of answers), ...})"
            )
        if person is not None:
            check_rows_per_person(column_of(self._data, person), max_rows_per_person)
        budget = compose(released, max_rows_per_person=max_rows_per_person)
        return replace(budget, note=coverage_note(records, self._data.columns))

    def to_csv(self, path: Path | str, **options: Any) -> Any:
        """Write this released frame to a CSV or TSV file, and its metadata to a second file.

        Parameters
        ----------
        path : path
            Ends in .csv, .tsv, .csv.gz or .tsv.gz; the metadata document is written beside it, as
            ``PATH.rrstats.json``.
        **options
            ``source`` (the file of the true answers) or ``ledger`` names the ledger that records
            the release, once however often it is saved.  ``again`` and ``overwrite`` are as for
            `rrstats.files.privatize_file`.  ``mechanisms`` maps each column with more than 100
            categories to its mechanism, because the frame holds only a fingerprint.  All others
            go to `DataFrame.to_csv`.  The index is left out unless ``index=True``.

        Returns
        -------
        Receipt
            The rows and columns written, and the ledger that records the release, if any.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr, tempfile
        >>> df = pd.DataFrame({"smoker": ["yes", "no"] * 50})
        >>> released = df.rr.privatize("smoker", ["yes", "no"], 0.75)
        >>> path = f"{tempfile.mkdtemp()}/released.csv"
        >>> receipt = released.rr.to_csv(path)
        >>> receipt.rows, receipt.ledger
        (100, None)

        The file can be estimated without its design: ``rr.files.estimate_file(path)``.
        """
        files = importlib.import_module("rrstats.files.privatize_file")
        return files.save_frame(self._data, released_records(self._data), path, **options)

    def to_parquet(self, path: Path | str, **options: Any) -> Any:
        """Write this released frame to a Parquet file, with its metadata inside.

        Parameters
        ----------
        path : path
            Ends in .parquet or .pq.
        **options
            As for `to_csv`; all others go to `pyarrow.parquet.write_table`.

        Returns
        -------
        Receipt
            The rows and columns written, and the ledger that records the release, if any.
        """
        return self.to_csv(path, **options)

    def __repr__(self) -> str:
        methods = (
            "<randomized response on a DataFrame: privatize, estimate, crosstab, means, logit, "
            "linear, tally, check, simulate, to_csv, to_parquet, budget, mechanisms, epsilon>"
        )
        return "\n".join(filter(None, [methods, _privacy_note(self._data)]))


_MAX_COLUMNS = 10
"""The number of private columns that the accessor prints."""


def _privacy_note(frame: pd.DataFrame) -> str:
    """The private columns of a frame, their designs, and the epsilon of a row; or ""."""
    try:
        if not read(frame.attrs):
            return ""
        records = released_records(frame)
    except RRStatsError as error:
        return f"The record of the private columns does not fit: {error}"
    rows = [["private column", "design"]]
    for record in records[:_MAX_COLUMNS]:
        design = f"epsilon {epsilon_text(record)} per report"
        if not record.is_shortened:
            by_row = "" if record.by_row is None else ", the largest; it differs by row"
            design = f"{record.largest()!r}{by_row}"
        rows.append([label(record.name), design])
    if len(records) > _MAX_COLUMNS:
        rows.append(["...", f"{len(records)} in all"])
    width = max(len(name) for name, _ in rows)
    table = [f"  {name:<{width}}  {design}" for name, design in rows]
    epsilon = round_up(row_epsilon(records))
    coverage = coverage_note(records, frame.columns)
    return "\n".join([*table, f"Epsilon of a row: {epsilon} ({coverage})"])


class _SeriesEstimate(Protocol):
    """`rrstats.estimate` as a method of a Series."""

    @overload
    def __call__(
        self,
        categories: MechanismLike | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismLike | None = None,
        by: None = None,
        **options: Unpack[EstimateOptions],
    ) -> Estimate: ...

    @overload
    def __call__(
        self,
        categories: MechanismLike | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismLike | None = None,
        by: GroupsLike,
        **options: Unpack[EstimateOptions],
    ) -> GroupEstimates[Estimate]: ...


@checked_keywords
class SeriesAccessor:
    """Randomized response on one column: privatize it, or estimate from its reports.

    ::

        s.rr.privatize(["never", "once", "often"], 0.75)   # a Series of reports
        s.rr.estimate()                                    # an Estimate; a notebook shows a table

    The privacy promise is the same as for `df.rr`: see ``help(df.rr)``.
    """

    def __init__(self, data: pd.Series[Any]) -> None:
        self._data = data

    privatize: Callable[..., pd.Series[Any]] = _bound(privatize)
    simulate: Callable[..., pd.Series[Any]] = _bound(simulate)
    estimate = cast("_SeriesEstimate", _bound(cast(Any, estimate)))
    tally = _bound(tally)
    check: Callable[..., pd.DataFrame] = _bound(check)

    def __repr__(self) -> str:
        return "<randomized response on a Series: privatize, estimate, tally, check, simulate>"
