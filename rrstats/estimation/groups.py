"""Estimates of groups: a mapping from a group's label to its estimate, and their common table.

Groups are taken from ordinary columns, so that everybody knows who is in which; each group is a
sample by itself, of the size it has.  Where weights, strata or clusters are given a group is a
domain of the survey instead, whose own size is estimated too (`weighted`).
The answers of small groups are not less protected: the noise is the same, and so the intervals
grow until they say nothing.  Shares of many groups are many statements: at 95% one interval in
twenty misses.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from rrstats.errors import ArgumentValueError
from rrstats.estimation.arrays import interval_of_counts
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.result import (
    FORMATS,
    label_column,
    proportion_rows,
    said,
    shortened,
)
from rrstats.inference.binomial import Interval
from rrstats.mechanisms.base import Mechanism
from rrstats.plots import PlotOptions, check_truth, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GroupEstimates"]


_FEW = 5
"""Groups of fewer reports are named in the table: nothing can be said of them."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimates(Mapping[Any, Estimate]):
    """A mapping from group to estimate.

    names : of the columns that make the groups.  estimates : by label, which is a tuple where there
    are several columns.  left_out : reports in no group, as their label is missing.

    >>> import rrstats as rr
    >>> reports, region = ["yes", "no", "no", "yes"], ["north", "north", "south", "south"]
    >>> found = rr.estimate(reports, ["no", "yes"], 0.75, by=region)
    >>> list(found), found["north"].n
    (['north', 'south'], 2)
    """

    names: tuple[Hashable, ...]
    estimates: Mapping[Any, Estimate]
    left_out: int = 0

    def __getitem__(self, label: Any) -> Estimate:
        if label not in self.estimates:
            raise KeyError(f"no such group among the {len(self)}; list(groups) names them")
        return self.estimates[label]

    def __contains__(self, label: object) -> bool:
        return label in self.estimates

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def n(self) -> int:
        """The number of reports in all groups."""
        return sum(one.n for one in self.values())

    @property
    def small(self) -> list[Any]:
        """The labels of the groups that have fewer than 5 reports."""
        return [label for label, one in self.items() if one.n < _FEW]

    def to_frame(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> pd.DataFrame:
        """A tidy frame: the groups' columns, then those of the estimates, one row a category.

        Columns after the groups': category, n, reported, naive, proportion, std_error, low, high,
        count; of a design those of `Estimate.to_frame`.  Intervals of counts are those of one
        group: ``groups[label].to_frame()``.
        level, method : of the intervals.  simultaneous : all categories of one group together.
        """
        if not self.estimates:
            return pd.DataFrame(columns=[*self.names, "category", "n", "proportion"])
        alike = self._alike()
        if alike is not None and method is None:
            table = self._at_once(alike, level, simultaneous)
        else:
            table = self._one_by_one(level, method, simultaneous)
        return self._labelled(table)

    def _labelled(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table with as many rows for each group, with the groups' columns before the others."""
        k = len(table) // len(self)
        labels = [label if len(self.names) > 1 else (label,) for label in self]
        for place, name in enumerate(self.names):
            held = [label[place] for label in labels for _ in range(k)]
            table.insert(place, _free(name, table), label_column(tuple(held)), True)
        return table

    def among(self, among: Iterable[Hashable] | None = None, level: float = 0.95) -> pd.DataFrame:
        """The shares among the people of some categories, by default who answered, of each group.

        The groups' columns, then those of `Estimate.among`.
        """
        tables = [one.among(among, level) for one in self.values()]
        return self._labelled(pd.concat(tables, ignore_index=True))

    def _one_by_one(self, level: float, method: str | None, simultaneous: bool) -> pd.DataFrame:
        frames = []
        for one in self.values():
            if one.designed:
                frames.append(one.to_frame(level, method=method, simultaneous=simultaneous))
                continue
            low, high = one.interval(level, method=method, simultaneous=simultaneous)
            frames.append(self._table(one.categories, [one], Interval(low, high)))
        return pd.concat(frames, ignore_index=True)

    def _alike(self) -> list[Estimate] | None:
        """The estimates, where all groups' intervals follow from counts at once."""
        ones = list(self.values())
        plain = [one for one in ones if not one.designed]
        if len(plain) < len(ones) or {one.target for one in plain} != {"population"}:
            return None
        return plain if plain[0].mechanism.channel.binomial_rates is not None else None

    def _at_once(self, ones: list[Estimate], level: float, simultaneous: bool) -> pd.DataFrame:
        rates = ones[0].mechanism.channel.binomial_rates
        assert rates is not None
        counts = np.array([one.named[0] for one in ones])
        sizes = np.array([[float(one.n)] for one in ones])
        method = ones[0].default_method
        found = interval_of_counts(
            counts, sizes, rates, ones[0].k, level, method, simultaneous, "population"
        )
        return self._table(ones[0].categories, ones, found)

    @staticmethod
    def _table(
        categories: tuple[Hashable, ...], ones: Sequence[Estimate], ends: Interval
    ) -> pd.DataFrame:
        def column(name: str) -> Any:
            return np.concatenate([np.asarray(getattr(one, name)) for one in ones])

        named = [one.named for one in ones]
        labels = label_column(categories)
        return pd.DataFrame(
            {
                "category": pd.concat([labels] * len(ones), ignore_index=True),
                "n": np.repeat([one.n for one in ones], len(categories)),
                "reported": np.concatenate([one.reported_by_category for one in ones]),
                "naive": np.concatenate([naive for _, naive in named]),
                "proportion": column("proportions"),
                "std_error": column("std_error"),
                "low": np.ravel(ends.low),
                "high": np.ravel(ends.high),
                "count": column("counts"),
            }
        )

    @cached_property
    def _notes(self) -> list[str]:
        """What a reader of the table must know beside it."""
        notes = []
        if self.left_out:
            lost = f"{self.left_out:,} report{' is' if self.left_out == 1 else 's are'}"
            notes.append(f"{lost} in no group: the label is missing.")
        if small := self.small:
            named = "; ".join(map(label_text, small[:5])) + ("; ..." if len(small) > 5 else "")
            verb = "group has" if len(small) == 1 else "groups have"
            notes.append(
                f"{len(small)} {verb} fewer than {_FEW} reports, of which nothing can be said: "
                f"{named}."
            )
        blind = [label for label, one in self.items() if one.n and np.isnan(one.proportions).any()]
        if blind:
            verb = "group lacks" if len(blind) == 1 else "groups lack"
            named = "; ".join(map(label_text, blind[:5]))
            notes.append(f"{len(blind)} {verb} a sample that the design needs: {named}.")
        return notes

    def plot(
        self,
        ax: Axes | None = None,
        *,
        category: Hashable = ...,
        level: float = 0.95,
        truth: Any = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the proportion of one category in each group, with its interval.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        category : hashable
            The category; by default the last one.
        level : float
            Confidence level of the intervals.
        truth : mapping, Series or sequence of floats, optional
            True proportions by group, where they are public.
        **options
            figsize, title, sort and top; see `rrstats.plots.PlotOptions`.

        Returns
        -------
        Axes
            The area of a dot grows with the group's number of reports.
        """
        if not self:
            raise ArgumentValueError("there are no groups to draw")
        first = next(iter(self.values()))
        if category is not ... and category not in first.categories:
            raise ArgumentValueError(
                f"category must be one of {list(first.categories)}, found {category!r}"
            )
        code = first.k - 1 if category is ... else first.categories.index(category)
        ends = [one.interval(level) for one in self.values()]
        rows = proportion_rows(
            self,
            [one.proportions[code] for one in self.values()],
            ([end.low[code] for end in ends], [end.high[code] for end in ends]),
        ).assign(n=[one.n for one in self.values()])
        if truth is not None:
            rows["truth"] = check_truth(truth, list(self))
        whom = "these rows" if first.target == "rows" else "the population"
        named = said(first.categories[code])
        options = {"title": f"proportion of {named} by {self._by}", **options}
        xlabel = f"proportion of {named} among {whom}"
        return plot_intervals(rows, ax, xlabel=xlabel, level=level, **options)

    def _shown(self) -> pd.DataFrame:
        table = self.to_frame().drop(columns=["reported", "naive"], errors="ignore")
        table["category"] = [said(label) for label in table["category"]]
        return table

    def __repr__(self) -> str:
        table = self._shown().to_string(index=False, formatters=FORMATS, **shortened())
        head = f"Estimates of {len(self)} groups by {self._by}: n={self.n:,}"
        return "\n".join([head, table, *self._notes])

    def _repr_html_(self) -> str:
        import html

        table = self._shown().to_html(
            index=False, escape=True, border=0, formatters=FORMATS, **shortened()
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes)
        return f"{table}<p>{len(self)} groups, n = {self.n:,}</p>{notes}"

    @property
    def _by(self) -> str:
        return ", ".join(str(name) for name in self.names)

    @property
    def mechanism(self) -> Mechanism:
        """What made the reports.  Raises ArgumentValueError where there are no groups."""
        if not self.estimates:
            raise ArgumentValueError("there are no groups, and so no mechanism")
        return next(iter(self.values())).mechanism


def label_text(label: object) -> str:
    """A group's label as people read it."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _free(name: Hashable, table: pd.DataFrame) -> Hashable:
    """A group column's name, changed where the table has a column of that name."""
    return f"{name}_group" if name in table.columns else name


def group_names(columns: Sequence[Any]) -> tuple[Hashable, ...]:
    """What the columns that make groups are called; those without a name are numbered."""
    several = len(columns) > 1
    return tuple(
        name
        if (name := getattr(column, "name", None)) is not None
        else (f"group_{place}" if several else "group")
        for place, column in enumerate(columns)
    )
