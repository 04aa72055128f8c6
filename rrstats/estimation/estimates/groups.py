"""Several estimates: a mapping from group, or from column, to estimate, and their common table.

Groups come from ordinary columns, so they are public; each group is treated as a sample of its own.
With weights, strata or clusters a group is a domain of the survey instead, whose size is estimated
too.  Answers in small groups have the same protection: the noise is the same, and intervals are
wider.  With many groups, about one in twenty of the 95% intervals does not contain the true value.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import check_level, quote, quote_list
from rrstats._display import CellFormats, HeaderLines, label
from rrstats._names import checked_options
from rrstats._typing import Counts, Labels, NumbersByCategory
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.group_labels import label_text, labels_of, with_labels
from rrstats.estimation.estimates.pairwise import ALL, PairwiseDifferences, pairwise
from rrstats.estimation.estimates.pooled import PooledGroups, pool
from rrstats.estimation.estimates.result import (
    IMPLAUSIBLE,
    Result,
    label_column,
    proportion_rows,
    titled,
)
from rrstats.estimation.tallies.arrays import implausible, level_of_each, whole_counts
from rrstats.estimation.tallies.moments import ChannelMoments
from rrstats.inference.multiplicity import CORRECTIONS
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.epsilon import total_epsilon
from rrstats.mechanisms.row_privacy import together
from rrstats.plots import FigureSize, PlotOptions, check_truth, plot_diverging, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_NUMBERS = ("n", "reported", "naive", "proportion", "std_error", "low", "high", "count")
"""Columns of the frame of groups after their labels, in a sample without a design."""

_SMALL_GROUP = 5
"""A note names groups with fewer reports."""


Part = TypeVar("Part")
"""An Estimate; in the result of several columns with groups GroupEstimates."""


class _ByLabel(Result, Mapping[Any, Part], Generic[Part]):
    """Results by label; ``kind`` is the word for a label."""

    estimates: Mapping[Any, Part]
    kind: str

    def __getitem__(self, name: Hashable) -> Part:
        if name not in self.estimates:
            raise KeyError(
                f"the {self.kind} must be one of the {len(self)} {self.kind}s of this result; "
                "list(result) gives them"
            )
        return self.estimates[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def _ipython_key_completions_(self) -> list[Any]:
        return list(self.estimates)


class _Several(_ByLabel[Part]):
    """Estimates by label."""

    _shown = ("proportion", "low", "high", "n", "std_error", "effective_n", "count", "total")

    @property
    def by(self) -> str:
        """The names of the columns whose labels identify the estimates."""
        return self.kind

    @property
    def _parts(self) -> Mapping[Any, Any]:
        """The estimates of either kind by their label."""
        return self.estimates

    def _each(self) -> dict[Any, Any]:
        """Each estimate by its label: a group, a column, or a column and a group."""
        return dict(self.estimates)

    def _with(self, category: Hashable) -> dict[Any, tuple[Any, int]]:
        """The estimates whose column has the category, each with the category's place in it.

        Columns may have other categories, or the same in another order; by default the last.
        """
        estimates = self._each()
        chosen: dict[Any, tuple[Any, int]] = {}
        for name, estimate in estimates.items():
            with suppress(ArgumentValueError):
                chosen[name] = estimate, estimate._code(category)
        if estimates and not chosen:
            raise ArgumentValueError(
                f"{quote(category)} is not among the categories of any {self.kind} of this result"
            )
        return chosen

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """A sentence for each group, or column.

        Parameters
        ----------
        category : hashable
            By default the last one of each column.  Columns without it are left out.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str
            One line for each.
        """
        return "\n".join(
            f"{label_text(name)}: {estimate.interpret(category, level)}"
            for name, (estimate, _) in self._with(category).items()
        )

    @checked_options(PlotOptions)
    def plot(
        self,
        ax: Axes | None = None,
        *,
        category: Hashable = ...,
        level: float = 0.95,
        truth: NumbersByCategory | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the proportion of one category in each group, or column, with its interval.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        category : hashable
            The category; by default the last one of each column.  Columns without it are left out.
        level : float
            Confidence level of the intervals.
        truth : mapping, Series or sequence of floats, optional
            True proportions by group, or column, where they are public; for columns with groups by
            tuples of the column and its group.
        **options
            figsize, title, sort and top; see `rrstats.plots.PlotOptions`.

        Returns
        -------
        Axes
            The area of a dot increases with the number of reports.  If the last categories of the
            columns differ, each row names its own.

        Raises
        ------
        ArgumentValueError
            No column has the category, or there is no estimate.
        """
        chosen = self._with(category)
        codes = [code for _, code in chosen.values()]
        estimates = [estimate for estimate, _ in chosen.values()]
        intervals = [estimate.interval(level) for estimate in estimates]
        pairs = list(zip(intervals, codes, strict=True))
        ends = [low[code] for (low, _), code in pairs], [high[code] for (_, high), code in pairs]
        proportions = [estimate.proportions[code] for estimate, code in chosen.values()]
        rows = proportion_rows(chosen, proportions, ends)
        rows["n"] = [estimate.n for estimate in estimates]
        if truth is not None:
            rows["truth"] = check_truth(truth, list(chosen))
        categories = [label(estimate.categories[code]) for estimate, code in chosen.values()]
        if len({*categories}) == 1:
            what = categories[0]
        else:
            what = "the last category"
            texts = zip(chosen, categories, strict=True)
            rows.index = pd.Index([f"{label_text(name)}: {text}" for name, text in texts])
        of_rows = any(estimate.target == "sample" for estimate in estimates)
        whom = "these rows" if of_rows else "the population"
        columns = {estimate.name for estimate in self._each().values()}
        column = columns.pop() if len(columns) == 1 else None
        options = {"title": titled(column, f"proportion of {what} by {self.by}"), **options}
        xlabel = f"proportion of {what} among {whom}"
        return plot_intervals(rows, ax, xlabel=xlabel, level=level, **options)


@dataclass(frozen=True, eq=False, repr=False)
class GroupResults(_ByLabel[Any]):
    """A mapping from group to a result of its estimate, with a common table.

    Attributes
    ----------
    names : tuple of hashables
        The columns that make the groups.
    estimates : mapping
        From label (a tuple for several columns) to result.
    """

    names: Labels
    estimates: Mapping[Any, Any]
    kind = "group"

    @property
    def _first(self) -> Any:
        return next(iter(self.values()))

    @property
    def _n_labels(self) -> int:
        """The columns of the groups, and the labels of a result."""
        return len(self.names) + int(self._first._n_labels)

    @property
    def _shown(self) -> Sequence[str]:  # type: ignore[override]  # of its results, not of its class
        """The columns of the results."""
        shown: Sequence[str] = self._first._shown
        return shown

    @property
    def _formats(self) -> CellFormats:  # type: ignore[override]  # of its results, not of its class
        """The formatters of the results."""
        formats: CellFormats = self._first._formats
        return formats

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame of all groups.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            The columns of the groups, then those of each result's frame.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> list(groups.noncompliance(0.1).to_frame().columns)  # doctest: +NORMALIZE_WHITESPACE
        ['group', 'assumed', 'category', 'low_bound', 'high_bound', 'low', 'high', 'all_low',
        'all_high']
        """
        tables = [result.to_frame(level) for result in self.values()]
        return with_labels(pd.concat(tables, ignore_index=True), self.names, self)

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """A sentence for each group.

        Parameters
        ----------
        category : hashable
            By default the last one.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str
            One line for each.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> print(groups.noncompliance(0.1).interpret())  # doctest: +NORMALIZE_WHITESPACE
        north: if 10.0% answer at random, 18.9% yes among the others, 95% interval 0.0% to 41.6%
        south: if 10.0% answer at random, 50.0% yes among the others, 95% interval 27.4% to
        72.6%
        """
        return "\n".join(
            f"{label_text(group)}: {result.interpret(category, level)}"
            for group, result in self.items()
        )

    @property
    def _title(self) -> str:
        """The kind of result, and the columns of the groups."""
        return f"{self._first._title} of {len(self)} groups by {', '.join(map(str, self.names))}"

    @property
    def _header(self) -> HeaderLines:
        """The number of reports in all groups."""
        return [("n", f"{sum(result.n for result in self.values()):,}")]

    @property
    def notes(self) -> Sequence[str]:
        """The notes of the results, each once."""
        return list(dict.fromkeys(note for result in self.values() for note in result.notes))


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimates(_Several[Part]):
    """A mapping from group to estimate.

    Attributes
    ----------
    names : tuple of hashables
        The columns that make the groups.
    estimates : mapping
        From label (a tuple for several columns) to Estimate.
    left_out : int
        Reports in no group, because their label is missing.
    moments : ChannelMoments, optional
        Those of all groups together, where arrays hold them; an Estimate is then made when asked
        for.

    Examples
    --------
    >>> import rrstats as rr
    >>> reports, region = ["yes", "no", "no", "yes"], ["north", "north", "south", "south"]
    >>> found = rr.estimate(reports, ["no", "yes"], 0.75, by=region)
    >>> list(found), found["north"].n
    (['north', 'south'], 2)
    """

    names: Labels
    estimates: Mapping[Any, Part]
    left_out: int = 0
    moments: ChannelMoments | None = None
    kind = "group"

    @cached_property
    def sizes(self) -> Counts:
        """(groups,) the number of reports in each group."""
        if self.moments is not None:
            return np.asarray(self.moments.n)
        return np.array([estimate.n for estimate in self._parts.values()], dtype=np.int64)

    @property
    def n(self) -> int:
        """The number of reports in all groups."""
        return int(self.sizes.sum())

    @property
    def small(self) -> list[Any]:
        """The labels of the groups that have fewer than 5 reports."""
        labels = list(self)
        return [labels[place] for place in np.flatnonzero(self.sizes < _SMALL_GROUP).tolist()]

    @property
    def _not_identified(self) -> list[Any]:
        """The labels of groups with reports whose proportions are not identified."""
        if self.moments is not None:
            return []
        return [
            name
            for name, estimate in self._parts.items()
            if estimate.n and np.isnan(estimate.proportions).any()
        ]

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that made the reports of the groups."""
        mechanism: Mechanism = next(iter(self._parts.values())).mechanism
        return mechanism

    @property
    def _n_labels(self) -> int:
        """The columns of the groups and the column of the category."""
        return len(self.names) + 1

    def to_frame(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> pd.DataFrame:
        """A tidy frame, one row for each group and category.

        Parameters
        ----------
        level, method : float, str
            As for `Estimate.interval`.
        simultaneous : bool
            Whether the level holds for all categories of one group together.

        Returns
        -------
        DataFrame
            The columns of the groups, then those of `Estimate.to_frame` without intervals of
            counts; ``groups[label].to_frame()`` has these.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> groups.to_frame()["proportion"].round(2).tolist()
        [0.78, 0.22, 0.5, 0.5]
        """
        if not self.estimates:
            return pd.DataFrame(columns=[*self.names, "category", *_NUMBERS])
        columns: dict[str, Any]
        if self.moments is not None:
            columns = self._columns_of_all(self.moments, level, method, simultaneous)
        else:
            tables = [
                estimate.to_frame(level, method=method, simultaneous=simultaneous)
                for estimate in self._parts.values()
            ]
            stacked = pd.concat(tables, ignore_index=True)
            columns = stacked.drop(columns=["count_low", "count_high"], errors="ignore")
        return with_labels(pd.DataFrame(columns), self.names, self)

    def mean(self, values: NumbersByCategory | None = None, level: float = 0.95) -> pd.DataFrame:
        """The mean of each group, as `Estimate.mean` has it.

        Parameters
        ----------
        values : mapping or sequence of k floats, optional
            From category to number.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            The columns of the groups, then category (what is estimated), mean, low, high,
            std_error and n.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = [0] * 64 + [1] * 36 + [0] * 50 + [1] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, [0, 1], 0.75, by=area)
        >>> groups.mean().round(2)
           group category  mean   low  high  std_error    n
        0  north     mean  0.22  0.03  0.42        0.1  100
        1  south     mean  0.50  0.30  0.70        0.1  100
        """
        level = check_level(level)
        means = [estimate.mean(values) for estimate in self._parts.values()]
        ends = [mean.interval(level) for mean in means]
        table = pd.DataFrame(
            {
                "category": [mean.name for mean in means],
                "mean": [mean.value for mean in means],
                "low": [end.low for end in ends],
                "high": [end.high for end in ends],
                "std_error": [mean.std_error for mean in means],
                "n": self.sizes,
            }
        )
        return with_labels(table, self.names, self) if means else table

    def _table(self) -> pd.DataFrame:
        """The frame for printing: of a number the mean of each group."""
        if self.sizes.any() and self.mechanism.is_number:
            with suppress(ArgumentValueError):  # for these rows alone there is none
                return self.mean()
        return super()._table()

    def _columns_of_all(
        self, moments: ChannelMoments, level: float, method: str | None, simultaneous: bool
    ) -> dict[str, Any]:
        """The columns of the frame after the labels, from arrays of (groups, k)."""
        first = next(iter(self._parts.values()))
        shape = moments.proportions.shape
        if moments.binomial_rates is None:
            ends = [
                estimate.interval(level, method=method, simultaneous=simultaneous)
                for estimate in self._parts.values()
            ]
            low, high = (np.array(end) for end in zip(*ends, strict=True))
        else:
            statements = 1 if moments.binomial_rates.complementary else moments.k
            statement_level = level_of_each(level, simultaneous, statements)
            low, high = moments.interval(statement_level, method, first.target)
        reported, naive = moments.support
        numbers = {
            "n": self.sizes[:, None],
            "reported": whole_counts(reported),
            "naive": naive,
            "proportion": moments.proportions,
            "std_error": moments.std_error,
            "low": low,
            "high": high,
            "count": moments.totals,
        }
        columns = {name: np.broadcast_to(array, shape).ravel() for name, array in numbers.items()}
        return {"category": label_column(first.categories * len(self)), **columns}

    def corrected(
        self, control: Any, *, proportion: Any = None, paired: Any = True
    ) -> GroupResults:
        """Correct each group for people who answer at random, by a control question.

        Parameters
        ----------
        control : (wrong, n), Estimate, or a mapping from group to either
            As for `Estimate.corrected`; a mapping has a control for each group, else all groups
            have the same.
        proportion, paired
            As for `Estimate.corrected`; ``paired`` may be a mapping from group, too.

        Returns
        -------
        GroupResults
            A mapping from group to its corrected estimate.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> groups.corrected((8, 100)).to_frame()["proportion"].round(2).tolist()
        [0.83, 0.17, 0.5, 0.5]
        """
        controls = self._by_group(control, "control")
        pairs = self._by_group(paired, "paired")
        results = {
            group: estimate.corrected(controls[group], proportion=proportion, paired=pairs[group])
            for group, estimate in self._parts.items()
        }
        return GroupResults(self.names, results)

    def noncompliance(self, proportion: Any, behaviour: Any = "random") -> GroupResults:
        """The proportions of each group if some of its respondents did not follow.

        Parameters
        ----------
        proportion : object, or a mapping from group
            As for `Estimate.noncompliance`; a mapping has one for each group.
        behaviour : object
            As for `Estimate.noncompliance`.

        Returns
        -------
        GroupResults
            A mapping from group to its bounds.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> groups.noncompliance(0.1)["north"].proportions.round(2)
        array([0.81, 0.19])
        """
        proportions = self._by_group(proportion, "proportion")
        results = {
            group: estimate.noncompliance(proportions[group], behaviour)
            for group, estimate in self._parts.items()
        }
        return GroupResults(self.names, results)

    def pooled(self, covariates: pd.DataFrame | None = None) -> PooledGroups:
        """Pooled proportions: each group borrows strength from all (small area estimation).

        Parameters
        ----------
        covariates : DataFrame, optional
            Numbers or factors that may explain how groups differ: a row for each group, indexed by
            its label.  Groups that only these rows have get the mean of the model.

        Returns
        -------
        PooledGroups
            Proportions inside the simplex that are drawn towards the mean, the more so the fewer
            reports a group has, with root mean squared errors and intervals; coverage holds on
            average over groups, and not for each: the group that is truly the most extreme is
            covered less often.  They are never a default.

        Raises
        ------
        ArgumentValueError
            Fewer than two groups have two reports, or covariates are collinear.

        Notes
        -----
        Fay and Herriot (1979), with the variance between groups by restricted maximum likelihood,
        errors by Prasad and Rao (1990), and intervals integrated over that variance.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> counts = {"a": [60, 40], "b": [52, 48], "c": [66, 34], "d": [50, 50]}
        >>> reports = [r for c in counts.values() for r in ["no"] * c[0] + ["yes"] * c[1]]
        >>> groups = rr.estimate(reports, m, by=[name for name in counts for _ in range(100)])
        >>> pooled = groups.pooled()
        >>> [round(float(p), 2) for p in pooled.raw[:, 1]]
        [0.3, 0.46, 0.18, 0.5]
        >>> [round(float(p), 2) for p in pooled.proportions[:, 1]]
        [0.33, 0.42, 0.26, 0.44]
        """
        return pool(self.names, self.estimates, covariates)

    def pairwise(
        self, reference: Hashable = ALL, *, correction: str = CORRECTIONS[0]
    ) -> PairwiseDifferences:
        """Compare the proportions of all groups, with p-values adjusted for their number.

        Parameters
        ----------
        reference : hashable, optional
            The group that all others are compared with; by default every pair is compared.
        correction : {"holm", "bonferroni", "benjamini-hochberg", "benjamini-yekutieli"}
            As for `rrstats.hypotheses.adjust`; all rows of the result are adjusted together.

        Returns
        -------
        PairwiseDifferences
            One row for each pair and category (the last alone, if there are two).

        Raises
        ------
        ArgumentValueError
            There is one group, or there are too many pairs.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["yes"] * 80 + ["no"] * 120 + ["yes"] * 60 + ["no"] * 140 + ["yes"] * 55
        >>> region = ["north"] * 200 + ["south"] * 200 + ["west"] * 200
        >>> groups = rr.estimate(reports + ["no"] * 145, ["no", "yes"], 0.9, by=region)
        >>> table = groups.pairwise().to_frame()
        >>> table[["first", "second", "difference", "p_value", "p_adjusted"]].round(3)
           first second  difference  p_value  p_adjusted
        0  north  south       0.125    0.046       0.092
        1  north   west       0.156    0.011       0.033
        2  south   west       0.031    0.659       0.659

        Of three comparisons, that of the north with the west stays below 5%.
        """
        return pairwise(self._parts, reference, correction)

    def _by_group(self, argument: Any, name: str) -> Mapping[Any, Any]:
        """An argument of each group, from a mapping by group or from one for all."""
        if not len(self):
            raise ArgumentValueError("there must be at least one group, found none")
        if not isinstance(argument, Mapping):
            return dict.fromkeys(self, argument)
        absent = [group for group in self if group not in argument]
        if absent:
            raise ArgumentValueError(
                f"{name} must be for each group, found none for {len(absent)} of {len(self)}: "
                f"{quote_list(absent)}"
            )
        return argument

    def among(self, among: Iterable[Hashable] | None = None) -> GroupResults:
        """The proportions among the people of some categories, by default those who answered.

        Parameters
        ----------
        among
            As for `Estimate.among`.

        Returns
        -------
        GroupResults
            A mapping from group to its proportions.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> [found["yes"].value for found in groups.among(["yes"]).values()]
        [1.0, 1.0]
        """
        categories = None if among is None else list(among)
        results = {group: estimate.among(categories) for group, estimate in self._parts.items()}
        return GroupResults(self.names, results)

    def merge(self, categories: Mapping[Any, Any] | None = None) -> GroupEstimates[Any]:
        """Estimate merged categories in each group, or the latent classes of a design.

        Parameters
        ----------
        categories : mapping, optional
            As for `Estimate.merge`.

        Returns
        -------
        GroupEstimates

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["never", "once", "often", "never"] * 50
        >>> levels = ["never", "once", "often"]
        >>> groups = rr.estimate(reports, levels, 0.75, by=["north", "south"] * 100)
        >>> groups.merge({"ever": ["once", "often"], "never": ["never"]})["north"].categories
        ('never', 'ever')
        """
        merged = {group: estimate.merge(categories) for group, estimate in self._parts.items()}
        return GroupEstimates(self.names, merged, self.left_out)

    @cached_property
    def implausible(self) -> list[Any]:
        """The labels of the groups whose reports no true proportions explain."""
        labels = list(self)
        if self.moments is not None:
            places = np.flatnonzero(self.moments.implausible.any(axis=1)).tolist()
            return [labels[place] for place in places]
        return [
            name
            for name in labels
            if self._parts[name].n and self._parts[name].moments.implausible.any()
        ]

    @property
    def _cautions(self) -> Sequence[str]:
        """A sentence that opens the printed table if reports are implausible.

        Groups that are too small to be judged alone are judged together: whatever their true
        proportions, the sum of their counts is plausible.
        """
        if self.implausible:
            names = _first_labels(self.implausible)
            where = f"in {len(self.implausible)} of {len(self)} groups ({names})"
        elif self._are_implausible_together:
            where = "in all groups together"
        else:
            return []
        return [f"Warning: {where} {IMPLAUSIBLE}."]

    @property
    def _are_implausible_together(self) -> bool:
        """True where no true proportions explain the reports of all groups together."""
        if not self.n:
            return False
        if self.moments is not None:
            counts = self.moments.reported.sum(axis=0)
            return bool(implausible(self.moments.channel, counts, self.n).any())
        first, *others = (estimate.moments for estimate in self._parts.values())
        return bool(first._implausible_with(others))

    @property
    def _title(self) -> str:
        """The groups."""
        return f"Estimates of {len(self)} groups by {self.by}"

    @property
    def by(self) -> str:
        """The names of the columns that make the groups."""
        return ", ".join(map(str, self.names))

    @property
    def _header(self) -> HeaderLines:
        """The number of reports in groups."""
        return [("n", f"{self.n:,}")]

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that a reader of the table must know."""
        first = next(iter(self._parts.values()), None)
        notes = [] if first is None else list(first.moments._shared_notes)
        if self.left_out:
            reports = "1 report is" if self.left_out == 1 else f"{self.left_out:,} reports are"
            notes.append(f"{reports} in no group: the label is missing.")
        if self.small:
            groups = "1 group has" if len(self.small) == 1 else f"{len(self.small)} groups have"
            notes.append(
                f"{groups} fewer than {_SMALL_GROUP} reports, too few for a useful estimate: "
                f"{_first_labels(self.small)}."
            )
        unidentified = self._not_identified
        if unidentified:
            groups = (
                "1 group lacks" if len(unidentified) == 1 else f"{len(unidentified)} groups lack"
            )
            notes.append(f"{groups} a sample that the design needs: {_first_labels(unidentified)}.")
        return notes


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(_Several[Part]):
    """A mapping from column to its Estimate, or to its GroupEstimates.

    Attributes
    ----------
    estimates : mapping
        By column.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> frame = pd.DataFrame({"q1": ["no", "yes"] * 50, "q2": ["no"] * 60 + ["yes"] * 40})
    >>> found = rr.estimate(frame, ["no", "yes"], 0.75, columns=["q1", "q2"])
    >>> found
    Estimates: columns=2, epsilon of a row=2.197
      column  category  proportion     low    high    n  std_error  count
      q1      no            0.5000  0.2966  0.7034  100     0.1005     50
      q1      yes           0.5000  0.2966  0.7034  100     0.1005     50
      q2      no            0.7000  0.4944  0.8934  100     0.0985     70
      q2      yes           0.3000  0.1066  0.5056  100     0.0985     30
    """

    estimates: Mapping[Any, Part]
    kind = "column"

    def _each(self) -> dict[Any, Any]:
        """The estimates by column, or by column and labels of the group."""
        estimates: dict[Any, Any] = {}
        for name, of_column in self._parts.items():
            if isinstance(of_column, GroupEstimates):
                for group, estimate in of_column.items():
                    estimates[(name, *labels_of(of_column.names, group))] = estimate
            else:
                estimates[name] = of_column
        return estimates

    @property
    def by(self) -> str:
        """The column, and the names of the columns that make its groups."""
        by_groups = [
            groups.by for groups in self._parts.values() if isinstance(groups, GroupEstimates)
        ]
        return ", ".join([self.kind, *by_groups[:1]])

    @property
    def _n_labels(self) -> int:
        """The column, those of groups, and the category."""
        return 1 + max((estimate._n_labels for estimate in self._parts.values()), default=1)

    @property
    def epsilon(self) -> float:
        """The privacy loss of one row over these columns, rounded up; those of a plan share one."""
        tallies = [
            (next(iter(part.values())) if isinstance(part, GroupEstimates) else part).tally
            for part in self._parts.values()
        ]
        return total_epsilon(
            max(
                max(tally.mechanism.epsilon, 0 if tally.plan is None else tally.plan.epsilon)
                for tally in sharing
            )
            for sharing in together(tallies)
        )

    @property
    def _mean_texts(self) -> dict[str, str]:
        """The means of numbers with their intervals, by the label of the column."""
        texts = {
            label(name): part._mean_text
            for name, part in self._parts.items()
            if not isinstance(part, GroupEstimates)
        }
        return {name: text for name, text in texts.items() if text}

    @property
    def _header(self) -> HeaderLines:
        """The number of columns, the epsilon of a row, and the means of numbers."""
        means = [(f"mean of {name}", text) for name, text in self._mean_texts.items()]
        return [("columns", f"{len(self)}"), ("epsilon of a row", f"{self.epsilon:.4g}"), *means]

    def _table(self) -> pd.DataFrame:
        """The frame for printing; of numbers only the means are printed, above it."""
        table = super()._table()
        is_number = table["column"].isin(list(self._mean_texts))
        return table if is_number.all() else table[~is_number]

    @property
    def _cautions(self) -> Sequence[str]:
        """Cautions of each column."""
        return [
            f"{label(name)}: {caution}"
            for name, estimate in self._parts.items()
            for caution in estimate._cautions
        ]

    @property
    def notes(self) -> Sequence[str]:
        """Notes of each column."""
        return [
            f"{label(name)}: {note}"
            for name, estimate in self._parts.items()
            for note in estimate.notes
        ]

    def plot_scale(
        self,
        ax: Axes | None = None,
        *,
        title: str | None = None,
        figsize: FigureSize | None = None,
    ) -> Axes:
        """Draw all columns with one ordered scale, such as a Likert battery, as diverging bars.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        title : str, optional
            Text above the picture; by default the number of reports.
        figsize : (float, float), optional
            Width and height of new Axes in inches.

        Returns
        -------
        Axes
            A bar for each column, or column and group: maximum likelihood proportions
            (`Estimate.mle`), because a bar cannot be negative.  Intervals are in `plot`.

        Raises
        ------
        ArgumentValueError
            The columns have other categories, or the same in another order.
        """
        estimates = self._each()
        scales = {estimate.categories for estimate in estimates.values()}
        if len(scales) != 1:
            raise ArgumentValueError(
                f"columns must have the same categories in one order, found {len(scales)} scales; "
                "estimate those of one scale together"
            )
        labels = pd.Index(list(estimates), dtype=object, tupleize_cols=False)
        rows = [estimate.mle().proportions for estimate in estimates.values()]
        columns = pd.Index(scales.pop(), dtype=object, tupleize_cols=False)
        sizes = sorted({estimate.n for estimate in estimates.values()})
        if title is None:
            title = " to ".join(f"{n:,}" for n in dict.fromkeys([sizes[0], sizes[-1]])) + " reports"
        xlabel = "maximum likelihood proportion, left and right of the middle of the scale"
        frame = pd.DataFrame(rows, index=labels, columns=columns)
        return plot_diverging(frame, ax, xlabel=xlabel, title=title, figsize=figsize)

    def to_frame(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> pd.DataFrame:
        """One long table: the column, then the columns of each estimate's frame.

        Parameters
        ----------
        level, method, simultaneous
            As for `Estimate.to_frame`.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "b": ["no"] * 60 + ["yes"] * 40})
        >>> both = rr.estimate(frame, ["no", "yes"], 0.75, columns=["a", "b"])
        >>> both.to_frame()["proportion"].round(2).tolist()
        [0.5, 0.5, 0.7, 0.3]
        """
        tables: list[pd.DataFrame] = []
        for name, estimate in self._parts.items():
            table = estimate.to_frame(level, method=method, simultaneous=simultaneous)
            table.insert(0, "column", label_column((name,) * len(table)), True)
            tables.append(table)
        if len({table["category"].dtype for table in tables}) > 1:  # True is not 1
            tables = [table.astype({"category": object}) for table in tables]
        return pd.concat(tables, ignore_index=True)


def _first_labels(groups: Sequence[Hashable]) -> str:
    """The labels of up to five groups, as text."""
    labels = "; ".join(map(label_text, groups[:5]))
    return f"{labels}; ..." if len(groups) > 5 else labels
