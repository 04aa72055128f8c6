"""``df.rr`` and ``s.rr``: the public functions, at home in pandas.

Registered by ``import rrstats``.  An accessor keeps nothing but the frame it stands on, and
each method is a call of the public function of the same name.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from rrstats.data.columns import column_of
from rrstats.errors import ArgumentValueError, MetadataError
from rrstats.estimation.crosstab import Crosstab, crosstab
from rrstats.estimation.engine_frames import reports_in
from rrstats.estimation.estimate import estimate
from rrstats.estimation.means import Means, means
from rrstats.estimation.sample_design import SampleDesign
from rrstats.estimation.tally import tally
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.epsilon import total_epsilon
from rrstats.mechanisms.serialization import Mechanisms, check_fits, read
from rrstats.privacy import Composition, check_rows_per_person, compose
from rrstats.privatization.frame import (
    check,
    check_table,
    privatize,
    simulate,
    telling_columns,
)
from rrstats.regression.models import linear, logit


def _bound(function: Callable[..., Any]) -> Callable[..., Any]:
    """A public function as a method: the data first, all other arguments as there."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return function(self._data, *args, **options)

    return method


def _of_formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """A regression as a method of a frame: its formula, and all other arguments as there."""

    @functools.wraps(function)
    def method(self: Any, formula: str, **options: Any) -> Any:
        return function(formula, self._data, **options)

    signature = inspect.signature(function)
    told = [one for one in signature.parameters.values() if one.name not in ("outcome", "data")]
    own = list(inspect.signature(method, follow_wrapped=False).parameters.values())[:2]
    vars(method)["__signature__"] = signature.replace(parameters=[*own, *told])
    return method


class FrameAccessor:
    """Randomized response on a frame: privatize columns, and estimate from the reports.

    ::

        df.rr.privatize("answer", ["never", "once", "often"], 0.75)  # a new frame with reports
        df.rr.estimate("answer")                           # proportions with intervals
        df.rr.estimate("answer", by="region")              # of each group
        df.rr.crosstab("answer", "region")                 # a table; two private columns, too
        df.rr.logit("answer ~ age")                        # a regression
        df.rr.check("answer", ["never", "once", "often"])  # for the data curator, private
        df.rr.mechanisms, df.rr.epsilon                    # how the frame was made

    The promise: for every record, whatever the other records and columns, the privatized cell is
    epsilon-LDP for replacing that record's value by any other declared category, missing, or
    anything else.  It does not hide that the record exists, its other columns, its index,
    its position, or the time the call took.  Epsilon adds up over privatized columns, over
    waves, over the rows of one person, and over repeated releases of the same source:
    running a privatizing cell again is a second release.  What you attached to a frame as
    attrs goes out with it, like its other columns.
    """

    def __init__(self, data: pd.DataFrame) -> None:
        self._data = data

    def privatize(
        self,
        columns: Any,
        categories: Any = None,
        prob: float | None = None,
        *,
        epsilon: float | None = None,
        unknown: str = "warn",
        missing: str = "unknown",
        group: Hashable = None,
        again: bool = False,
        rng: Any = None,
        threads: int | None = None,
        key: Any = None,
        id: Any = None,
        question: Any = None,
    ) -> pd.DataFrame:
        """Return a new frame in which some columns hold reports instead of true answers.

        Parameters
        ----------
        columns : hashable, list of hashables, or mapping
            A column's name or a list of names, with one design; or a mapping from column to
            mechanism.
        categories, prob, epsilon
            The design: categories with prob = P(report = truth) or epsilon, or a mechanism.
        unknown, missing, again, rng, threads, key, question
            As for `rrstats.privatize`, for all these columns.
        group, id : hashable, optional
            The column of each row's sample, for mechanisms with several; and the column, or a
            list of columns, of each row's person, for keyed reports.

        Returns
        -------
        DataFrame
            With the same index, columns and order.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"q1": ["yes", "no", "no"], "q2": ["no"] * 3, "age": [31, 42, 53]})
        >>> released = df.rr.privatize(["q1", "q2"], ["yes", "no"], 0.75)
        >>> list(released.columns), sorted(released.rr.mechanisms)
        (['q1', 'q2', 'age'], ['q1', 'q2'])
        """
        given = {**locals(), "columns": [None] if columns is None else columns}  # a name, too
        data: pd.DataFrame = given.pop("self")._data
        return privatize(data, **given)

    def simulate(
        self,
        columns: Any,
        categories: Any = None,
        prob: float | None = None,
        *,
        seed: int,
        epsilon: float | None = None,
        unknown: str = "warn",
        missing: str = "unknown",
        group: Hashable = None,
        again: bool = False,
        threads: int | None = None,
    ) -> pd.DataFrame:
        """Privatize with reproducible noise, for teaching and tests; never to be released.

        Parameters
        ----------
        columns, categories, prob, epsilon, unknown, missing, group, again, threads
            As for `privatize`.
        seed : int
            At least 0; it is not stored.

        Returns
        -------
        DataFrame
            Marked as simulated.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"answer": ["yes", "no", "no"]})
        >>> first = df.rr.simulate("answer", ["yes", "no"], 0.75, seed=1)
        >>> first.equals(df.rr.simulate("answer", ["yes", "no"], 0.75, seed=1))
        True
        """
        given = {**locals(), "columns": [None] if columns is None else columns}  # a name, too
        data: pd.DataFrame = given.pop("self")._data
        return simulate(data, **given)

    def estimate(
        self,
        columns: Any = None,
        categories: Any = None,
        prob: float | None = None,
        *,
        epsilon: float | None = None,
        mechanism: Any = None,
        group: Hashable = None,
        target: str = "population",
        ddof: int = 1,
        by: Any = None,
        observed: bool = True,
        weights: Hashable = None,
        design: SampleDesign | None = None,
    ) -> Any:
        """Estimate true proportions of privatized columns.

        Parameters
        ----------
        columns : hashable or list, optional
            A column's name, or a list of names; by default all columns that the frame says are
            privatized.  For designs in which each person gives two reports, a list of two names.
        categories, prob, epsilon, mechanism
            As for `rrstats.estimate`; by default what the frame says.  A name is the column that
            holds the mechanism of each row.
        group, by, weights, design
            Names of columns, as for `rrstats.estimate`.
        target, observed
            As for `rrstats.estimate`.

        Returns
        -------
        Estimate, GroupEstimates or Estimates
            Of one name an Estimate, with ``by`` GroupEstimates; of a list, even of one, Estimates.
            Each prints its table, and ``to_frame()`` has the numbers.

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
        given = {**locals(), "mechanism": self._mechanisms_of(mechanism)}
        if columns is None:
            designs = mechanism if categories is None else categories
            names = designs if isinstance(designs, Mapping) else self.mechanisms
            given["columns"] = [name for name in names if name in self._data.columns]
        return estimate(given.pop("self")._data, **given)

    crosstab: Callable[..., Crosstab] = _bound(crosstab)

    def means(
        self,
        values: Hashable,
        by: Any,
        mechanism: Any = None,
        *,
        group: Hashable = None,
        weights: Hashable = None,
        target: str = "population",
        missing: str = "drop",
    ) -> Means:
        """Estimate means of a column of numbers in the true groups of a privatized column.

        Parameters
        ----------
        values, by, group, weights : hashable
            Names of columns, as for `rrstats.means`.
        mechanism : Mechanism, optional
            Of ``by``, where the frame does not say it.
        target, missing
            As for `rrstats.means`.

        Returns
        -------
        Means
            For a privatized 0/1 over ordinary groups use `estimate` with ``by`` instead.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"vote": ["yes"] * 30 + ["no"] * 70, "age": range(100)})
        >>> df.rr.means("age", "vote", rrstats.KRR(["yes", "no"], 0.9)).n
        100
        """
        return means(
            column_of(self._data, values),
            reports_in(self._data, by if isinstance(by, list) else [by]),
            self._mechanisms_of(mechanism),
            group=None if group is None else column_of(self._data, group),
            weights=None if weights is None else column_of(self._data, weights),
            target=target,
            missing=missing,
        )

    logit = _of_formula(logit)
    linear = _of_formula(linear)

    def tally(
        self,
        columns: Any,
        categories: Any = None,
        prob: float | None = None,
        *,
        epsilon: float | None = None,
        group: Hashable = None,
        by: Any = None,
        observed: bool = True,
        weights: Hashable = None,
        design: SampleDesign | None = None,
    ) -> Any:
        """Count the reports of privatized columns; the counts add to those of other frames.

        Parameters
        ----------
        columns, categories, prob, epsilon, group, by, observed, weights, design
            As for `estimate`.

        Returns
        -------
        Tally
            Or with ``by`` a dict from group to Tally; of a list of names a dict from name to that.
        """
        given = {**locals()}
        return tally(given.pop("self")._data, given.pop("categories"), **given)

    def _mechanisms_of(self, mechanism: Any) -> Any:
        """A mechanism, or the column of them that a name stands for."""
        return column_of(self._data, mechanism) if isinstance(mechanism, str) else mechanism

    def check(self, column: Hashable, categories: Any) -> pd.DataFrame:
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
            As of `rrstats.check`: private, as it shows true answers.  A last row names each
            other column that "determines" or "nearly determines" the answers (``value``), with
            the rows (``count``) whose answer others with the same value in it tell: noise
            cannot hide what such a column shows.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"answer": ["yes", "mabye"]})
        >>> df.rr.check("answer", ["yes", "no"])["count"].tolist()
        [1]
        """
        answers = column_of(self._data, column)
        found, others = check(answers, categories), self._data.drop(columns=[column])
        return pd.concat([found, check_table(telling_columns(others, answers))], ignore_index=True)

    @property
    def mechanisms(self) -> Mapping[Hashable, Mechanism]:
        """The mechanism of each column that the frame says is privatized, by the column's name.

        Of a column with more than 100 categories the frame keeps a fingerprint: its name is there,
        and asking for its mechanism raises MetadataError; the others are not held up by it.

        What a frame says of itself is a default, never evidence: raw values that were put
        back into such a column cannot be noticed.
        """
        return Mechanisms(read(self._data.attrs))

    @property
    def epsilon(self) -> float:
        """The privacy loss of one row over all columns that the frame says are privatized.

        Rounded up; for a column randomized again, of its final reports.  A frame says only what
        its attrs kept: a merge, a CSV file, or a column assigned from a Series leaves releases
        out, which only the data curator knows.  Where noise was simulated it holds only against who
        does not know the seed.
        Raises MetadataError where the frame says nothing, which is unknown and not 0, where a
        column it speaks of is not there just once (renamed, dropped, or two waves side by side),
        and where the type of one shows that it holds no reports any more.
        """
        return total_epsilon(record.epsilon for record in self._released())

    def budget(self, *, max_rows_per_person: int = 1, person: Hashable = None) -> Composition:
        """Add up the privacy of all rows and columns of one person.

        Parameters
        ----------
        max_rows_per_person : int, default 1
            The most rows that any one person has, as the study's design declares.
        person : hashable, optional
            The column that says whose a row is; it is only checked that nobody has more rows
            than declared.  The observed most is private, and never used or told.

        Returns
        -------
        Composition
            As of `rrstats.privacy.compose`.  For a column randomized again, of its final
            reports; not for whether a person answered, where missing answers were kept.

        Raises
        ------
        MetadataError
            As `epsilon` does.
        ArgumentValueError
            Where somebody has more rows, and for several rows of a person with keyed reports,
            which show for certain whether two answers differ.

        Examples
        --------
        >>> import pandas as pd, rrstats
        >>> df = pd.DataFrame({"answer": ["yes", "no", "no"]})
        >>> df.rr.privatize("answer", ["yes", "no"], 0.75).rr.budget(max_rows_per_person=4)
        <4 reports of one person: epsilon 4.395 in all, or 4.395 with delta 1e-06>
        """
        records = self._released()
        released = {record.name: record.unlabelled() for record in records}
        if (keyed := [record.name for record in records if record.keyed]) and (
            max_rows_per_person != 1
        ):
            raise ArgumentValueError(
                f"column {keyed[0]!r} is keyed: two rows of one person show for certain whether "
                "the answers differ, which no epsilon covers; for what the values are, but not "
                "whether they changed, count each distinct answer: rr.privacy.compose({column: "
                "(mechanism, how many), ...})"
            )
        if person is not None:
            check_rows_per_person(column_of(self._data, person), max_rows_per_person)
        return compose(released, max_rows_per_person=max_rows_per_person)

    def to_csv(self, path: Path | str, **options: Any) -> Any:
        """Write this released frame to a CSV or TSV file, with the document of how it was made.

        Parameters
        ----------
        path : path
            Ends in .csv, .tsv, .csv.gz or .tsv.gz; the document lies beside it, as
            ``PATH.rrstats.json``.
        **options
            ``source`` (the file of the true answers) or ``ledger`` names the ledger in which
            the release is entered, once however often it is saved; ``again`` and ``overwrite``
            as for `rrstats.files.privatize_file`; ``mechanisms`` maps a column of more than 100
            categories, of which the frame has only a fingerprint, to its mechanism; all others
            are those of `DataFrame.to_csv`.  The index is left out unless ``index=True``.

        Returns
        -------
        Receipt
            What was written, and in which ledger it was entered, if in any.

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
        room = importlib.import_module("rrstats.files.privatize_file")
        return room.save_frame(self._data, self._released(), path, **options)

    def to_parquet(self, path: Path | str, **options: Any) -> Any:
        """Write this released frame to a Parquet file, which says how its columns were made.

        Parameters
        ----------
        path : path
            Ends in .parquet or .pq.
        **options
            As for `to_csv`; all others are those of `pyarrow.parquet.write_table`.

        Returns
        -------
        Receipt
            What was written, and in which ledger it was entered, if in any.
        """
        return self.to_csv(path, **options)

    def _released(self) -> list[Any]:
        """The records of all privatized columns; raises where there are none, or one is gone."""
        records = read(self._data.attrs)
        if not records:
            raise MetadataError(
                "this frame does not say how it was made, so its epsilon is unknown; pandas drops "
                "that in a merge, and files of other tools never have it.  Put it back: df = "
                "rr.metadata.carry(df, reports)"
            )
        for record in records:
            try:
                column = column_of(self._data, record.name)
            except ArgumentValueError:
                raise MetadataError(
                    f"the frame speaks of a privatized column {record.name!r} that is not there "
                    "just once, so its epsilon is unknown.  Say what became of it: df = "
                    f"rr.metadata.carry(df, names={{{record.name!r}: new}}), or dropped=["
                    f"{record.name!r}]"
                ) from None
            check_fits(column, record)
        return records

    def __repr__(self) -> str:
        return (
            "<randomized response on a DataFrame: privatize, estimate, crosstab, means, logit, "
            "linear, tally, check, simulate, to_csv, to_parquet, budget, mechanisms, epsilon>"
        )


class SeriesAccessor:
    """Randomized response on one column: privatize it, or estimate from its reports.

    ::

        s.rr.privatize(["never", "once", "often"], 0.75)   # a Series of reports
        s.rr.estimate()                                    # an Estimate; a notebook shows a table

    The promise is that of `df.rr`: see ``help(df.rr)``.
    """

    def __init__(self, data: pd.Series[Any]) -> None:
        self._data = data

    privatize: Callable[..., pd.Series[Any]] = _bound(privatize)
    simulate: Callable[..., pd.Series[Any]] = _bound(simulate)
    estimate = _bound(estimate)
    tally = _bound(tally)
    check: Callable[..., pd.DataFrame] = _bound(check)

    def __repr__(self) -> str:
        return "<randomized response on a Series: privatize, estimate, tally, check, simulate>"
