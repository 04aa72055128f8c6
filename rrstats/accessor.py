"""The pandas accessors ``df.rr`` and ``s.rr``: the public functions as methods.

``import rrstats`` registers them.  An accessor holds only a reference to its frame or Series, and
each method calls the public function of the same name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import (
    Any,
    NamedTuple,
    Protocol,
    Unpack,
    cast,
    overload,
)

import pandas as pd

from rrstats._checks import check_distinct, cut, needing, quote_list
from rrstats._display import label
from rrstats._names import MissingMembers, checked_keywords
from rrstats._typing import ColumnLike, ColumnName, ColumnNames, FilePath, GroupsLike, RateLike
from rrstats.data.columns import column_of
from rrstats.errors import ArgumentValueError, MetadataError, RRStatsError
from rrstats.estimation.estimates.association import Correlations, correlations
from rrstats.estimation.estimates.counting_accessor import CountingAccessor, as_method
from rrstats.estimation.estimates.estimate import Estimate, EstimateOptions, estimate
from rrstats.estimation.estimates.groups import Estimates, GroupEstimates
from rrstats.estimation.estimates.means import Means, means
from rrstats.estimation.estimates.quantiles import Quantiles, quantiles
from rrstats.estimation.report_columns.report_frames import ReportFrame, ReportRequest, listed
from rrstats.estimation.report_columns.sample_design import (
    SampleDesign,
    check_names,
    design_of,
    frame_design,
    public_column,
)
from rrstats.estimation.tallies.tally import tally
from rrstats.mechanisms.attrs import Mechanisms, carry, released_records
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.frame_plans import MechanismOrPlan, PlanLike
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
from rrstats.privatization.frame import (
    PrivatizeOptions,
    SimulateOptions,
    check,
    privatize,
    simulate,
)
from rrstats.randomness.sources import SeedLike
from rrstats.regression.models import linear, logit
from rrstats.regression.results import LikelihoodResult, RegressionResult


class _FramePrivatize(Protocol):
    """`rrstats.privatize` as a method of a frame."""

    def __call__(
        self,
        columns: PlanLike,
        categories: MechanismLike | None = None,
        prob: RateLike | None = None,
        **options: Unpack[PrivatizeOptions],
    ) -> pd.DataFrame: ...


class _FrameSimulate(Protocol):
    """`rrstats.simulate` as a method of a frame."""

    def __call__(
        self,
        columns: PlanLike,
        categories: MechanismLike | None = None,
        prob: RateLike | None = None,
        *,
        seed: SeedLike,
        **options: Unpack[SimulateOptions],
    ) -> pd.DataFrame: ...


class _GroupColumns(NamedTuple):
    """The opened columns of means or quantiles in true groups."""

    values: Any
    reports: Any
    design: SampleDesign


@checked_keywords
class FrameAccessor(CountingAccessor):
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
        merged.rr.carry(df)                                # the same after a merge, which loses it

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
        self._data: pd.DataFrame = data

    privatize = cast("_FramePrivatize", as_method(cast(Any, privatize)))
    simulate = cast("_FrameSimulate", as_method(cast(Any, simulate)))

    @overload
    def estimate(
        self,
        columns: list[Any] | None = None,
        categories: MechanismOrPlan | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismOrPlan | None = None,
        by: None = None,
        **options: Unpack[EstimateOptions],
    ) -> Estimates[Estimate]: ...

    @overload
    def estimate(
        self,
        columns: list[Any] | None = None,
        categories: MechanismOrPlan | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismOrPlan | None = None,
        by: GroupsLike,
        **options: Unpack[EstimateOptions],
    ) -> Estimates[GroupEstimates[Estimate]]: ...

    @overload
    def estimate(
        self,
        columns: ColumnName,
        categories: MechanismOrPlan | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismOrPlan | None = None,
        by: None = None,
        **options: Unpack[EstimateOptions],
    ) -> Estimate: ...

    @overload
    def estimate(
        self,
        columns: ColumnName,
        categories: MechanismOrPlan | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismOrPlan | None = None,
        by: GroupsLike,
        **options: Unpack[EstimateOptions],
    ) -> GroupEstimates[Estimate]: ...

    def estimate(
        self,
        columns: ColumnNames | None = None,
        categories: MechanismOrPlan | None = None,
        prob: RateLike | None = None,
        *,
        by: ColumnLike | None = None,
        epsilon: RateLike | None = None,
        mechanism: MechanismOrPlan | None = None,
        group: ColumnLike | None = None,
        weights: ColumnLike | None = None,
        design: SampleDesign | None = None,
        blocks: ColumnLike | None = None,
        target: str = "population",
        ddof: int = 1,
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
        by : hashable or list of hashables, optional
            The column, or columns, of groups, each of which gets an estimate.
        epsilon : float or hashable, optional
            The privacy loss of one report, instead of ``prob``.
        mechanism : Mechanism, mapping, FramePlan or str, optional
            The same as categories, as a keyword.  A string is the name of the column that holds the
            mechanism of each row.
        group : hashable, optional
            The column with each row's sample, for designs with several samples.
        weights : hashable, optional
            The column of the sampling weights.
        design : SampleDesign, optional
            Weights, strata, clusters and more of the sample, as names of columns.
        blocks : hashable, optional
            The column with each row's block, for designs whose cards are dealt without replacement
            (`surveys.garbling`).
        target : {"population", "sample"}
            The estimate is about the population that these people were drawn from, or about just
            these rows.
        ddof : int
            Subtracted from n in the population's variance.

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
        if columns is None:
            designs = mechanism if categories is None else categories
            columns = list(designs) if isinstance(designs, Mapping) else self._recorded(designs)
        return super().estimate(
            columns,
            categories,
            prob,
            epsilon=epsilon,
            mechanism=self._mechanisms_of(mechanism),
            group=group,
            target=target,
            ddof=ddof,
            by=by,
            weights=weights,
            design=design,
            blocks=blocks,
        )

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
        target : {"population", "sample"}
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
        target : {"population", "sample"}
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
        _refuse_public_groups(frame, values, names, request)
        reports = frame.answer(names, request)
        record = frame.records.get(values)
        if record is not None and record.is_number:
            column = column_of(self._data, values)  # its plain mean is unbiased
        else:
            column = public_column(frame, "values", values)
        return _GroupColumns(column, reports, frame_design(frame, design))

    correlations: Callable[..., Correlations] = as_method(correlations)

    def logit(
        self,
        formula: str,
        *,
        mechanism: Any = None,
        group: Any = None,
        mechanisms: Any = None,
        weights: Any = None,
        frequencies: Any = None,
        design: SampleDesign | None = None,
        offset: Any = None,
        baseline: Hashable = None,
        link: str = "logit",
        missing: str = "raise",
        vcov: str | None = None,
    ) -> LikelihoodResult:
        """Logistic regression of the true answer on covariates, from reports of it.

        Parameters
        ----------
        formula : str
            Such as ``"smoker ~ age + C(region)"``; the columns are those of the frame.
            A formula is a program, which may run any command: never take a formula from somebody
            else.
        mechanism, group, baseline, link, weights, frequencies, design, offset, missing, vcov,
        mechanisms
            As for `rrstats.logit`, as names of columns.

        Returns
        -------
        LikelihoodResult
            Ordered categories are those of `rrstats.regression.ordinal`, groups such as counties
            of `rrstats.regression.mixed`.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"vote": ["yes", "no"] * 50, "age": list(range(50)) * 2})
        >>> fit = df.rr.logit("vote ~ age", mechanism=rrstats.KRR(["no", "yes"], 0.9))
        >>> fit.nobs
        100
        """
        return logit(
            formula,
            self._data,
            mechanism=mechanism,
            group=group,
            baseline=baseline,
            link=link,
            weights=weights,
            frequencies=frequencies,
            design=design,
            offset=offset,
            missing=missing,
            vcov=vcov,
            mechanisms=mechanisms,
        )

    def linear(
        self,
        formula: str,
        *,
        mechanisms: Any = None,
        group: Any = None,
        weights: Any = None,
        design: SampleDesign | None = None,
        method: str = "scores",
        missing: str = "raise",
        vcov: str | None = None,
        values: Mapping[Any, Any] | None = None,
    ) -> RegressionResult:
        """Linear regression with privatized covariates, and among columns of one plan.

        Parameters
        ----------
        formula : str
            Such as ``"income ~ age + smoker"``; the columns are those of the frame.
            A formula is a program, which may run any command: never take a formula from somebody
            else.
        mechanisms, method, group, weights, design, missing, vcov, values
            As for `rrstats.linear`, as names of columns.

        Returns
        -------
        RegressionResult
            A ScoreResult, or with ``method="likelihood"`` a LikelihoodResult.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"smoker": ["yes", "no"] * 50, "pay": range(100)})
        >>> made_by = {"smoker": rrstats.KRR(["no", "yes"], 0.9)}
        >>> df.rr.linear("pay ~ smoker", mechanisms=made_by).nobs
        100
        """
        return linear(
            formula,
            self._data,
            mechanisms=mechanisms,
            method=method,
            group=group,
            weights=weights,
            design=design,
            missing=missing,
            vcov=vcov,
            values=values,
        )

    def _recorded(self, designs: Any) -> list[Hashable]:
        """The columns that the frame, or a plan, says to be privatized; raises for none."""
        frame = ReportFrame.of(self._data, designs)
        names = [name for name in frame.records if name in frame.names]
        if len(names) < len(frame.records):
            for other in frame.names:
                if other not in frame.records:
                    frame.refuse_renamed(other)
        if not names:
            raise MetadataError(
                "the frame has no record of a privatized column, which merge, join, concat and "
                "read_csv lose: give the column and its mechanism, as in df.rr.estimate('health', "
                "categories, epsilon=1), or df = df.rr.carry(released)"
            )
        return names

    def _mechanisms_of(self, mechanism: Any) -> Any:
        """The mechanism, or the column of mechanisms that a name refers to."""
        return column_of(self._data, mechanism) if isinstance(mechanism, str) else mechanism

    check = as_method(check)

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

    def carry(
        self,
        *earlier: Any,
        names: Mapping[Hashable, Hashable] | None = None,
        dropped: Iterable[Hashable] = (),
    ) -> pd.DataFrame:
        """Copy the records of privatized columns from earlier data to this frame.

        Parameters
        ----------
        *earlier : DataFrame, Series, mapping, ColumnRecord or list of them
            The data before a merge, a concat, an assignment or a renaming; or their document, such
            as `rr.files.describe_file` of the file that this frame was read from.  Records that
            this frame still has are used too.
        names : mapping, optional
            For renamed columns, a mapping from the earlier name to the new one.
        dropped : iterable of hashables, optional
            Privatized columns of the earlier data that are not in this frame under any name.

        Returns
        -------
        DataFrame
            It shares its data with this frame, which is not changed; it has records only of columns
            that it contains.

        Raises
        ------
        MetadataError
            If the earlier data contradict each other, if a column's type does not fit its record,
            if there is no record, or if a privatized column is absent and may have been renamed.
            The last cannot happen if the earlier data have all columns of this frame by name.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> answers = pd.DataFrame({"id": [1, 2, 3], "answer": ["yes", "no", "no"]})
        >>> reports = answers.rr.privatize("answer", ["yes", "no"], 0.75)
        >>> merged = pd.DataFrame({"id": [1, 2, 3], "age": [31, 42, 53]}).merge(reports, on="id")
        >>> merged.rr.carry(reports).rr.epsilon
        1.099 (counts ['answer'], not ['id', 'age'], which the frame does not record)
        >>> answers["kept"] = reports["answer"]
        >>> answers[["kept"]].rr.carry(reports, names={"answer": "kept"}).rr.epsilon
        1.099 (counts ['kept'])
        """
        return carry(self._data, earlier, names, dropped)

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

    def to_csv(self, path: FilePath, **options: Any) -> Any:
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
        with needing("writing a frame needs pyarrow; install pyarrow (pip install pyarrow)"):
            files = importlib.import_module("rrstats.files.privatize_file")
        return files.save_frame(self._data, released_records(self._data), path, **options)

    def to_parquet(self, path: FilePath, **options: Any) -> Any:
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

        Examples
        --------
        >>> import pandas as pd, rrstats as rr, tempfile
        >>> df = pd.DataFrame({"smoker": ["yes", "no"] * 50})
        >>> released = df.rr.privatize("smoker", ["yes", "no"], 0.75)
        >>> path = f"{tempfile.mkdtemp()}/released.parquet"
        >>> receipt = released.rr.to_parquet(path)
        >>> list(rr.files.read(path).rr.mechanisms)
        ['smoker']
        """
        return self.to_csv(path, **options)

    def __repr__(self) -> str:
        methods = (
            "<randomized response on a DataFrame: privatize, estimate, crosstab, means, logit, "
            "linear, tally, check, simulate, to_csv, to_parquet, carry, budget, mechanisms, "
            "epsilon>"
        )
        return "\n".join(filter(None, [methods, _privacy_note(self._data)]))


def _refuse_public_groups(
    frame: ReportFrame, values: Hashable, by: list[Hashable], request: ReportRequest
) -> None:
    """Raise where the values are private and the groups are not: an estimate has the means."""
    known = frame.records
    if values in known and request.mechanism is None and known.keys().isdisjoint(by):
        raise ArgumentValueError(
            f"by must be a private column that has a record, found {quote_list(by)}; for means of "
            f"the private {cut(values)} in public groups df.rr.estimate({cut(values)}, by=...)"
            ".mean(), of scores mean([0, 1, 2, 3])"
        )


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
class SeriesAccessor(MissingMembers):
    """Randomized response on one column: privatize it, or estimate from its reports.

    ::

        s.rr.privatize(["never", "once", "often"], 0.75)   # a Series of reports
        s.rr.estimate()                                    # an Estimate; a notebook shows a table

    The privacy promise is the same as for `df.rr`: see ``help(df.rr)``.
    """

    def __init__(self, data: pd.Series[Any]) -> None:
        self._data = data

    privatize: Callable[..., pd.Series[Any]] = as_method(privatize)
    simulate: Callable[..., pd.Series[Any]] = as_method(simulate)
    estimate = cast("_SeriesEstimate", as_method(cast(Any, estimate)))
    tally = as_method(tally)
    check: Callable[..., pd.DataFrame] = as_method(check)

    def carry(
        self,
        *earlier: Any,
        names: Mapping[Hashable, Hashable] | None = None,
        dropped: Iterable[Hashable] = (),
    ) -> pd.Series[Any]:
        """Copy the record of this column from earlier data, as `df.rr.carry` does for a frame.

        Parameters
        ----------
        *earlier : DataFrame, Series, mapping, ColumnRecord or list of them
            The data before an assignment or a renaming, or their document.
        names : mapping, optional
            For a renamed column, a mapping from the earlier name to the new one.
        dropped : iterable of hashables, optional
            Privatized columns of the earlier data that this column is not.

        Returns
        -------
        Series
            It shares its data with this one, which is not changed.

        Raises
        ------
        MetadataError
            In the cases of `df.rr.carry`.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> released = pd.Series(["no", "yes"], name="a").rr.simulate(["no", "yes"], 0.75, seed=1)
        >>> merged = pd.Series(released.tolist(), name="a")  # without its record
        >>> merged.rr.carry(released).rr.estimate().n
        2
        """
        return carry(self._data, earlier, names, dropped)

    def __repr__(self) -> str:
        return (
            "<randomized response on a Series: privatize, estimate, tally, check, simulate, carry>"
        )
