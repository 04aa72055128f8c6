"""Joint tables of columns that were privatized separately or as a pair, and of ordinary columns.

A person's score in a cell is the product of their scores in the columns.  It is unbiased because
the columns were randomized independently.  The table of means is solved column by column,
F = M1^-1 (O / n) M2^-T for two, and so are the variances with squared scores; no Kronecker product
is formed.  n Var(f) = E[product of squared scores] - f^2 grows like the product over columns of
1 / (p - q)^2: with five private columns the effective sample size of a million rows may be near 0,
and `crosstab` warns.  Two columns that a plan asked together hold one answer over all combinations;
their table is the estimate of that answer, with margins that all parts of the plan correct.
Conditional proportions are ratios of two of these proportions: consistent, not unbiased.
Sources: Chaudhuri and Mukerjee (1988) for products of scores; van den Hout and van der
Heijden (2002).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import (
    check_count,
    check_instance,
    check_left_out,
    check_level,
    check_one_of,
    quote_list,
    type_name,
)
from rrstats._display import HeaderLines, TextTable, label, percent_range
from rrstats._frozen import fixed
from rrstats._names import checked_keywords, checked_options
from rrstats._typing import Array, Counts, Floats, Labels
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ImplausibleReportsWarning,
    LowPrecisionWarning,
    warn,
)
from rrstats.estimation.estimates.axes import (
    Axis,
    check_columns,
    check_size,
    count_rows,
    declared_axis,
    joint_tally,
    plan_tally,
    refuse_named,
)
from rrstats.estimation.estimates.cramers_v import cramers_v
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.estimates.measures import Association
from rrstats.estimation.estimates.odds_ratio import odds_ratio
from rrstats.estimation.estimates.product_moment import correlation, phi
from rrstats.estimation.estimates.result import (
    IMPLAUSIBLE,
    ConstrainedProportions,
    Result,
    long_frame,
    place_of,
    proportion_rows,
    wide_frame,
)
from rrstats.estimation.estimates.table_moments import METHODS, TableMoments, table_moments
from rrstats.estimation.report_columns.report_columns import by_samples
from rrstats.estimation.report_columns.report_frames import (
    as_pairs,
    listed,
    not_asked,
    open_frame,
    plan_records,
)
from rrstats.estimation.report_columns.sample_design import (
    SIMPLE,
    SampleDesign,
    check_names,
    design_of,
    frame_design,
    refuse_missing,
    rows_of,
)
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.arrays import check_possible, level_of_each
from rrstats.estimation.tallies.tally import Tally, UnitCounts
from rrstats.inference.contrasts import (
    Interval,
    project_to_simplex,
)
from rrstats.mechanisms.base import check_coins
from rrstats.mechanisms.channel import check_target
from rrstats.plots import FigureSize, PlotOptions, plot_cells, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_CELL_SIZE = 5
"""Minimum effective sample size for each cell, below which `crosstab` warns."""


# -- tables ----------------------------------------------------------------------------------


class CellProportions(Result):
    """Proportions of the cells of several columns, joint or conditional."""

    _given: Labels = ()  # the columns within whose categories proportions are

    @property
    def _n_labels(self: Any) -> int:
        """One column of labels for each axis."""
        return len(self.names)

    def interpret(self: Any, *cell: Hashable, level: float = 0.95) -> str:
        """The proportion of one cell in a sentence.

        Parameters
        ----------
        *cell : hashable
            A category of each column; by default the last cell.
        level : float
            Confidence level of the interval.

        Returns
        -------
        str
            The joint or conditional proportion with its interval.

        Examples
        --------
        >>> import rrstats as rr
        >>> columns = {"smoker": rr.KRR(["no", "yes"], 0.75), "region": ["north", "south"]}
        >>> table = rr.estimators.Crosstab.from_counts([[300, 350], [200, 150]], columns)
        >>> table.interpret("yes", "north")
        'smoker yes and region north: about 15.0%, 95% interval 10.7% to 19.5%'
        """
        cell = cell or tuple(labels[-1] for labels in self.categories)
        place = tuple(
            place_of(category, categories, f"column {name!r}")
            for category, categories, name in zip(cell, self.categories, self.names, strict=True)
        )
        low, high = (float(end[place]) for end in self.interval(level))
        of_texts: list[str] = []
        given_texts: list[str] = []
        for name, category in zip(self.names, cell, strict=True):
            texts = given_texts if name in self._given else of_texts
            texts.append(f"{label(name)} {label(category)}")
        cell_text = " among ".join(
            " and ".join(texts) for texts in (of_texts, given_texts) if texts
        )
        if not np.isfinite(self.proportions[place]):
            return f"{cell_text}: cannot be estimated, there are too few reports"
        ends = f"{level * 100:.10g}% interval {percent_range(low, high)}"
        return f"{cell_text}: about {self.proportions[place]:z.1%}, {ends}"


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False)
class Crosstab(CellProportions):
    """Unbiased joint proportions of the categories of several columns.

    The columns must have been privatized separately, each answer with its own randomization, or be
    a pair that a plan asked together, of which a table uses all parts with one of its columns.
    Proportions may lie outside [0, 1].  Add tables of parts of the data with ``+``.

    Attributes
    ----------
    n_missing : int
        Rows with a missing value in a column; they are not in n.
    target : {"population", "sample"}
        Proportions, variances and intervals are about the population, or about these rows alone.
    """

    _axes: tuple[Axis, ...]  # the columns, in order
    # The number of rows with each combination of the axes' features: their report cells, or, for
    # reports that name several categories, the named categories and all reports.
    _counted: Counts
    n_missing: int = 0
    target: str = "population"
    # With weights, a design or a pair that a plan asked together, the estimate of one column that
    # combines all columns: its categories are the cells.
    _combined: Estimate | None = None

    def __post_init__(self) -> None:
        counted = self._counted.copy()  # the caller may still write to the array
        counted.flags.writeable = False
        object.__setattr__(self, "_counted", counted)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        columns: Mapping[Any, Any],
        *,
        n_missing: int = 0,
        target: str = "population",
    ) -> Self:
        """A table from counts.

        Parameters
        ----------
        counts : array-like of shape (m1, ..., md)
            Rows by report cell; for most mechanisms, by reported category.
        columns : mapping
            From each column's name, in the order of the axes, to its mechanism, or to the list of
            levels of an ordinary column.
        n_missing : int
            Rows left out because of missing values.
        target : {"population", "sample"}
            The table is about the population, or about these rows alone.

        Returns
        -------
        Crosstab
            The table of these rows.

        Examples
        --------
        >>> import rrstats as rr
        >>> smoker = rr.KRR(["no", "yes"], 0.75)
        >>> columns = {"smoker": smoker, "region": ["north", "south"]}
        >>> table = rr.estimators.Crosstab.from_counts([[300, 350], [200, 150]], columns)
        >>> table.proportions.round(3).tolist()
        [[0.35, 0.45], [0.15, 0.05]]

        Of all people, about 15% smoke and live in the north.
        """
        rule = "a mapping from each column's name to its mechanism or its levels"
        check_instance(columns, "columns", Mapping, rule)
        axes = tuple(declared_axis(name, described) for name, described in columns.items())
        check_size(axes)
        refuse_named(axes, "count from the rows with rr.crosstab")
        numbers = np.asarray(counts, dtype=object)
        shape = tuple(axis.m for axis in axes)
        if numbers.shape != shape:
            raise ArgumentValueError(
                f"counts must have the shape {shape}, the report cells of the columns "
                f"{[axis.name for axis in axes]}, found {numbers.shape}"
            )
        checked = [check_count(number, "counts") for number in numbers.ravel()]
        counted = np.array(checked, dtype=np.int64).reshape(shape)
        absent = check_count(n_missing, "n_missing")
        return cls(axes, counted, absent, check_target(target))._checked()

    def _checked(self) -> Self:
        """The table; raises for impossible reports, or reports without information."""
        for axis in self._axes:
            axis.check_scores()
            if axis.mechanism is not None:
                check_coins(axis.mechanism, "mechanism of a table")
            if axis.channel is not None and axis.is_multinomial:
                check_possible(axis.channel, self.margin(axis.name)._counted)
        return self

    @cached_property
    def _implausible(self) -> list[Hashable]:
        """The privatized columns whose reports no true proportions explain."""
        private = self._private if self.n else ()
        return [name for name in private if self._estimate(name).moments.implausible.any()]

    @property
    def _cautions(self) -> Sequence[str]:
        """A sentence that opens the printed table if reports are implausible."""
        if not self._implausible:
            return []
        names = ", ".join(map(label, self._implausible))
        return [f"Warning: in the columns {names} {IMPLAUSIBLE}."]

    # -- counts ----------------------------------------------------------------------------

    @property
    def names(self) -> Labels:
        """The columns."""
        return tuple(axis.name for axis in self._axes)

    @property
    def categories(self) -> tuple[Labels, ...]:
        """The categories of each column."""
        return tuple(axis.categories for axis in self._axes)

    @property
    def _private(self) -> Labels:
        """The columns that are treated as privatized; the others are ordinary."""
        return tuple(axis.name for axis in self._axes if axis.mechanism is not None)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of categories."""
        return tuple(axis.k for axis in self._axes)

    @cached_property
    def moments(self) -> TableMoments:
        """Proportions of the cells, their variances, and what intervals need."""
        return table_moments(self._axes, self._counted, self.target, self._combined)

    @property
    def n(self) -> int:
        """The number of rows without missing values."""
        return self.moments.n

    @property
    def naive(self) -> Floats:
        """(Weighted) proportions of rows whose reports support each cell: biased, to compare."""
        return self.moments.naive

    # -- proportions and their variance ----------------------------------------------------

    @property
    def proportions(self) -> Floats:
        """Unbiased joint proportions; NaN without rows."""
        return self.moments.proportions

    @property
    def counts(self) -> Floats:
        """Unbiased counts among the rows; with a design, totals in the units of its weights."""
        return self.moments.counts

    @property
    def variance(self) -> Floats:
        """Variance of the proportions, for the target; NaN where n is too small.

        For the population, the sample variance of the rows' scores over n; for these rows, the mean
        of score^2 - score over n.  Both are unbiased; the second may be negative with very few
        rows, and then the standard error is 0.
        """
        return self.moments.variance

    @property
    def std_error(self) -> Floats:
        """Standard errors of the proportions: square roots of `variance`."""
        return np.sqrt(np.maximum(self.variance, 0.0))

    @property
    def covariance(self) -> Floats:
        """Covariance of the proportions, with the cells in the order of a flattened array.

        Returns
        -------
        ndarray of shape (cells, cells)
            For the target.
        """
        functions = [np.eye(1 + axis.k)[:, 1:] for axis in self._axes]
        return self.moments.of_functions(functions)[1]

    @property
    def df(self) -> float:
        """Degrees of freedom of the covariance; infinite without a design."""
        return self.moments.df

    @property
    def effective_n(self) -> Floats:
        """Effective sample size of each cell; 0 where the proportion is not in (0, 1).

        It is the number of direct answers that give the cell's variance.  The one number that
        `rr.hypotheses.independence` prints is of its test: equal power, averaged over alternatives.
        """
        inside = np.clip(self.proportions, 0, 1)
        row_variance = self.moments.row_variance
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = self.n * inside * (1 - inside) / row_variance
        return np.where(row_variance > 0, sizes, float(self.n))

    @cached_property
    def _effective_size(self) -> float:
        """Effective sample size of all cells together, at most n.

        It compares the total variance of all proportions with that of n direct answers,
        (1 - sum f^2) / n; the sum of squares is corrected for noise.
        """
        total = float(self.moments.row_variance.sum())
        if not self.n or not total > 0:
            return float(self.n)
        direct = 1 - float((self.proportions**2).sum()) + total / self.n
        direct = min(max(direct, 0.0), 1 - 1 / self.moments.size)
        return min(self.n * direct / total, float(self.n))

    # -- intervals -------------------------------------------------------------------------

    def interval(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> Interval:
        """Intervals of the proportions, for the target.

        Parameters
        ----------
        level : float
            Confidence level.
        method : {"empirical-likelihood", "wald"}, optional
            The default is the first, except for very large tables.
        simultaneous : bool
            Whether the level holds for all cells together (Bonferroni).

        Returns
        -------
        Interval
            In [0, 1]; only Wald intervals are not cut.

        Notes
        -----
        The empirical likelihood makes no assumption about the other cells.  Where an estimate lies
        outside [0, 1], deviances are taken from the best proportion inside, so that the interval
        never shrinks to a point.  If no column is private, the interval is exact (Clopper-Pearson).
        For target "sample" it is the hull of Wald's interval and of the population's interval
        scaled by the ratio of the two standard errors.
        Lowest coverage of any cell at 95% for the population, in tables of 4 to 12 cells, including
        rare and empty cells: 91% at n = 50, 93.5% at 200, 94% at 1,000 (1,500 simulated tables
        each); Wald's falls to 38%, 67% and 91%.  For target "sample" 94.5% at n = 50 and 200.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> [end.round(2).tolist() for end in table.interval(0.9)]
        [[[0.17, 0.1], [0.17, 0.1]], [[0.44, 0.32], [0.44, 0.32]]]
        """
        level = level_of_each(level, simultaneous, self.moments.size)
        default = METHODS[0] if self.moments.has_likelihood else METHODS[1]
        method = check_one_of(method or default, "method", METHODS)
        if self.n < 2:
            return Interval(np.zeros(self.shape), np.ones(self.shape))
        return self.moments.interval(level, method)

    # -- other tables ----------------------------------------------------------------------

    def _places(self, names: Sequence[Hashable]) -> list[int]:
        """The axes of columns; raises for unknown or repeated names."""
        for name in names:
            check_instance(name, "a column", Hashable, "given by its name")
        if len(set(names)) < len(names) or not {*names} <= {*self.names}:
            raise ArgumentValueError(
                f"columns must be distinct names among {list(self.names)}, found "
                f"{quote_list(names)}"
            )
        return [self.names.index(name) for name in names]

    def margin(self, *names: Hashable) -> Self:
        """The marginal table of some of the columns.

        Parameters
        ----------
        *names : hashable
            Columns, in the order of the new table's axes.

        Returns
        -------
        Crosstab
            The table of the same rows.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> table.margin("g").proportions.round(2)
        array([0.6, 0.4])
        """
        moments = self.moments.margin(self._places(names))
        return replace(
            self, _axes=moments.axes, _counted=moments.counted, _combined=moments.combined
        )

    def _with_target(self, target: str) -> Self:
        """The table of the same rows for another target.

        Parameters
        ----------
        target : {"population", "sample"}
            The table is about the population, or about these rows alone.

        Returns
        -------
        Crosstab
            The table of the same rows.
        """
        combined = None if self._combined is None else replace(self._combined, target=target)
        return replace(self, target=check_target(target), _combined=combined)

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Crosstab):
            return NotImplemented
        same_axes = self._axes == other._axes and self.target == other.target
        if not same_axes or not _same_design(self._combined, other._combined):
            raise ArgumentValueError(
                "tables can be added if they have the same columns, levels, mechanisms and target, "
                "and with a design the same population, and both have weights or both have "
                "probabilities; declare the levels of an ordinary column as a Categorical"
            )
        combined = self._combined
        if combined is not None and other._combined is not None:
            combined = replace(combined, tally=combined.tally + other._combined.tally)
        return replace(
            self,
            _counted=self._counted + other._counted,
            n_missing=self.n_missing + other.n_missing,
            _combined=combined,
        )

    def __radd__(self, other: object) -> Self:
        # sum() starts from the number 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def conditional(self, of: Any, given: Any = None) -> ConditionalProportions:
        """Proportions of some columns within each combination of others.

        Parameters
        ----------
        of, given : hashable or list of hashables
            Columns; given is by default all others.  The table is summed over the rest.

        Returns
        -------
        ConditionalProportions
            Proportions with an interval for each cell.

        Examples
        --------
        >>> import rrstats as rr
        >>> columns = {"smoker": rr.KRR(["no", "yes"], 0.75), "region": ["north", "south"]}
        >>> table = rr.estimators.Crosstab.from_counts([[300, 350], [200, 150]], columns)
        >>> found = table.conditional("smoker", given="region")
        >>> found.proportions[1].round(3).tolist()
        [0.3, 0.1]

        30% of the people in the north smoke, and 10% of those in the south.
        """
        of_names = self._listed(of)
        if given is None:
            given = [name for name in self.names if name not in of_names]
        given_names = self._listed(given)
        places = sorted(self._places((*of_names, *given_names)))
        table = self.margin(*(self.names[place] for place in places))
        return ConditionalProportions(table.names, table.categories, table.n, table, given_names)

    def _listed(self, names: Any) -> Labels:
        """One name or a list of them; a tuple may be the name of a column."""
        if isinstance(names, list) or (isinstance(names, tuple) and names not in self.names):
            return tuple(names)
        return (names,)

    def _estimate(self, name: Hashable) -> Estimate:
        """The estimate of one private column, from the rows of this table.

        Parameters
        ----------
        name : hashable
            The column.

        Returns
        -------
        Estimate
            The same as `rrstats.estimate` of these rows.
        """
        margin = self.margin(name)
        (axis,) = margin._axes
        if axis.mechanism is None:
            raise ArgumentValueError(
                f"name must be a private column, found the ordinary column {name!r}; "
                f"table.margin({name!r}) has its proportions"
            )
        if margin._combined is not None:
            tally = margin._combined.tally
            if not arrays.is_pooled(margin._combined.moments.channel):
                tally = replace(tally, mechanism=axis.mechanism)
            return replace(margin._combined, tally=tally, name=axis.name)
        counts = UnitCounts.of_sample(self.n, margin._counted[: axis.m])
        return Estimate(Tally(axis.mechanism, counts, self.n_missing), self.target, name=axis.name)

    def mle(self) -> ConstrainedProportions:
        """The maximum likelihood proportions inside the simplex.

        Returns
        -------
        ConstrainedProportions
            Equal to the unbiased proportions where those are inside and every column has as many
            reports as categories.  They have no interval.  Reports that name several categories
            raise an error: the counts do not hold which were named together.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> table.mle().proportions.round(2).tolist()
        [[0.3, 0.2], [0.3, 0.2]]
        """
        refuse_named(self._axes, "project() gives proportions in [0, 1] that sum to 1")
        return self._constrained(*self.moments.most_likely())

    def project(self) -> ConstrainedProportions:
        """The proportions inside the simplex that are nearest to the unbiased ones (Euclidean).

        Returns
        -------
        ConstrainedProportions
            Proportions without an interval.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> table.project().proportions.round(2).tolist()
        [[0.3, 0.2], [0.3, 0.2]]
        """
        proportions = self.proportions
        if self.n:
            proportions = fixed(project_to_simplex(proportions.ravel()).reshape(self.shape))
        return self._constrained(proportions, "Euclidean projection")

    def _constrained(self, proportions: Floats, method: str) -> ConstrainedProportions:
        """Proportions inside the simplex, with the labels of this table."""
        return ConstrainedProportions(self.categories, proportions, self.n, method, self.names)

    # -- association -----------------------------------------------------------------------

    def association(
        self, kind: str, *, categories: Any = None, values: Any = None, level: float = 0.95
    ) -> Association:
        """A measure of the association of two columns.

        The table must have two columns.

        Parameters
        ----------
        kind : {"phi", "odds_ratio", "cramers_v", "correlation"}
            "phi": the correlation of "this category or not" in both columns.  "odds_ratio": of a
            category of one column and a category of the other.  "cramers_v": the distance from
            independence, from 0 to 1, of columns with any number of categories.  "correlation": of
            columns whose categories are numbers; for more columns, and for quantities, there is
            `rrstats.correlations`.
        categories : (hashable, hashable), optional
            For phi and the odds ratio, one category of each column; by default the last of two.
        values : mapping, optional
            For the correlation, from column to the numbers of its categories (a mapping or a list);
            by default the categories themselves, or 0 and 1 for two words.
        level : float
            Confidence level of the interval.

        Returns
        -------
        Association
            Phi and the correlation may lie outside [-1, 1]; RRreg cuts them there.

        Notes
        -----
        The interval of an odds ratio is the hull of all ratios r for which f11 f00 - r f10 f01 may
        be 0, and of Wald's interval of the logarithm, which alone has a coverage of only 45% with a
        rare category.  It is unbounded above if the denominator may be 0.
        The ordinary V of a noisy table is mostly noise.  Here the expected noise is first
        subtracted from the sum of squares, and V is 0 if nothing remains.  The interval holds the
        values of V that the sum of squares does not reject.

        References
        ----------
        Fox and Tracy (1984), for the correlation; Bergsma (2013) and Patnaik (1949), for V.

        Examples
        --------
        >>> import rrstats as rr
        >>> columns = {"a": rr.KRR(["no", "yes"], 0.8), "b": rr.KRR(["no", "yes"], 0.75)}
        >>> table = rr.estimators.Crosstab.from_counts([[370, 210], [190, 230]], columns)
        >>> round(table.association("phi").value, 3)
        0.644

        The reports alone have a phi of 0.19.

        >>> columns = {"a": rr.KRR(["x", "y", "z"], 0.8), "region": ["north", "south"]}
        >>> table = rr.estimators.Crosstab.from_counts([[250, 150], [160, 140], [90, 210]], columns)
        >>> found = table.association("cramers_v")
        >>> round(found.value, 3), round(found.low, 2), round(found.high, 2)
        (0.386, 0.3, 0.47)
        """
        check_one_of(kind, "kind", ("phi", "odds_ratio", "cramers_v", "correlation"))
        moments = check_two_way(self).moments
        if kind == "correlation":
            check_left_out("values= say what a correlation is of", categories=categories)
            return correlation(moments, values, level)
        check_left_out("only a correlation has numbers", values=values)
        if kind == "cramers_v":
            check_left_out("Cramer's V is of all categories", categories=categories)
            return cramers_v(moments, level)
        measure = phi if kind == "phi" else odds_ratio
        return measure(moments, categories, level)

    # -- for people ------------------------------------------------------------------------

    def _normalized(self, normalize: str) -> ConditionalProportions | None:
        """The proportions within the rows or the columns of the table; None for all."""
        check_one_of(normalize, "normalize", ("all", "index", "columns"))
        if normalize == "all":
            return None
        *others, last = self.names
        if normalize == "index":
            return self.conditional(last, given=others)
        return self.conditional(others, given=last)

    def to_frame(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        simultaneous: bool = False,
        normalize: str = "all",
        wide: str | None = None,
    ) -> pd.DataFrame:
        """A tidy frame, one row for each cell; or one number of each cell, side by side.

        Parameters
        ----------
        level, method, simultaneous
            As for `interval`.
        normalize : {"all", "index", "columns"}
            "index": proportions of the last column within the others; "columns": the reverse.
        wide : str, optional
            One column of the frame, such as "proportion", whose numbers then stand in a table with
            the last column's categories as columns.

        Returns
        -------
        DataFrame
            The categories of each column, under its name ("_group" is appended to a name that is
            also one of the following); reported and naive (NaN if reports support no category),
            proportion, std_error, low, high, count.  Normalized: the categories, proportion,
            std_error, low, high.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> table.to_frame(wide="proportion").round(2).to_numpy().tolist()
        [[0.3, 0.2], [0.3, 0.2]]
        """
        conditional = self._normalized(normalize)
        if conditional is not None:
            numbers = conditional._numbers(level)
        else:
            numbers = self._numbers(level, method, simultaneous=simultaneous)
        if wide is None:
            return long_frame(self.names, self.categories, numbers)
        check_one_of(wide, "wide", tuple(numbers))
        return wide_frame(self.names, self.categories, numbers[wide])

    def _numbers(self, level: float, method: str | None, *, simultaneous: bool) -> dict[str, Array]:
        """The numbers of each cell by the name of their column."""
        low, high = self.interval(level, method=method, simultaneous=simultaneous)
        reported: Array = self.moments.reported
        if not np.isnan(reported).any():
            reported = np.rint(reported).astype(np.int64)
        return {
            "reported": reported,
            "naive": self.naive,
            "proportion": self.proportions,
            "std_error": self.std_error,
            "low": low,
            "high": high,
            "count": self.counts,
        }

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        normalize: str = "all",
        title: str | None = None,
        figsize: FigureSize | None = None,
    ) -> Axes:
        """Draw the table as a heat map, with the interval of each cell as text and as a line.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        normalize : {"all", "index", "columns"}
            Proportions of all, of each row or of each column, as in `to_frame`.
        title : str, optional
            Text above the table.
        figsize : (float, float), optional
            Width and height of new Axes in inches.

        Returns
        -------
        Axes
            The last column's categories are side by side, those of all others are rows.
        """
        source: Any = self._normalized(normalize) or self
        values, low, high = (
            wide_frame(self.names, self.categories, values, text=True)
            for values in (source.proportions, *source.interval(level))
        )
        if not title:
            of = {"all": "all", "index": "each row", "columns": "each column"}[normalize]
            title = f"proportions of {of}: {self.n:,} rows"
            if self._private:
                title += f", effective sample size {self._effective_size:,.0f}"
        return plot_cells(values, ax, low=low, high=high, level=level, title=title, figsize=figsize)

    @property
    def _leading(self) -> int:
        """The number of columns of the printed table that label a row."""
        return max(len(self._axes) - 1, 1)

    @property
    def _header(self) -> HeaderLines:
        """The rows, the privatized and ordinary columns, and the effective sample size."""
        rows = [("target", self.target), ("n", f"{self.n:,}")]
        if self.n_missing:
            rows.append(("missing", f"{self.n_missing:,} left out"))
        if self._combined is not None and self._combined.moments.designed:
            rows.append(("weights sum to", f"{self._combined.moments.weight:,.1f}"))
        if self._private:
            rows.append(("privatized", " and ".join(map(label, self._private))))
        ordinary = [name for name in self.names if name not in self._private]
        if ordinary:
            rows.append(("ordinary", " and ".join(map(label, ordinary))))
        if self._private and self.n:
            rows.append(("effective sample size", f"{self._effective_size:,.0f} of {self.n:,}"))
        return rows

    def _cells(self) -> TextTable:
        """The table for printing, with the last column's categories side by side."""
        shown = wide_frame(self.names, self.categories, self.proportions, text=True)
        shown = shown.map("{:.4f}".format).reset_index(allow_duplicates=True)
        most = pd.get_option("display.max_rows") or len(shown)
        rows = shown.astype(str).to_numpy().tolist()
        if len(rows) > most:
            rows[most // 2 : -(most // 2)] = [["..."] * shown.shape[1]]
        return list(map(str, shown.columns)), rows


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalProportions(CellProportions):
    """Proportions of the other columns of a table within each combination of the given ones.

    They are ratios of two debiased proportions: consistent, not unbiased.  Where the denominator
    may be 0 the interval is [0, 1].  Arrays have the table's shape; over the other columns they
    sum to 1.

    Attributes
    ----------
    names : tuple of hashables
        The columns.
    categories : tuple of tuples of hashables
        The categories of each column.
    n : int
        The number of rows.
    crosstab : Crosstab
        The joint table of exactly these columns.
    given : tuple of hashables
        The given columns.
    """

    names: Labels
    categories: tuple[Labels, ...]
    n: int
    crosstab: Crosstab
    given: Labels

    @property
    def _given(self) -> Labels:  # type: ignore[override]  # of this table
        """The given columns."""
        return self.given

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """The axes of the given columns, and those of the others."""
        is_given = [name in self.given for name in self.names]
        return np.flatnonzero(is_given).tolist(), np.flatnonzero(np.invert(is_given)).tolist()

    @cached_property
    def people(self) -> Floats:
        """Unbiased proportion of each combination of the given columns, in the table's shape."""
        return self.crosstab.moments.among(self._places[0])

    @cached_property
    def proportions(self) -> Floats:
        """Conditional proportions; NaN where the denominator's estimate is 0 or negative."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.crosstab.proportions / self.people
        return fixed(np.where(self.people > 0, ratios, np.nan))

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors of the proportions, by the delta method."""
        return self.crosstab.moments.conditional_errors(self._places[0])

    def interval(self, level: float = 0.95) -> Interval:
        """Intervals of the proportions; [0, 1] where the denominator may be 0.

        Parameters
        ----------
        level : float
            Confidence level of each interval.

        Returns
        -------
        Interval
            The hull of Fieller's interval and, for the population, of the ratios that the
            empirical likelihood does not reject, cut to [0, 1].

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> within = table.conditional(of="a")
        >>> [end.round(2).tolist() for end in within.interval(0.9)]
        [[[0.28, 0.23], [0.28, 0.23]], [[0.72, 0.77], [0.72, 0.77]]]
        """
        return self.crosstab.moments.conditional_interval(self._places[0], check_level(level))

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame, one row for each cell.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            The columns' categories, proportion, std_error, low and high.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> within = table.conditional(of="a")
        >>> list(within.to_frame().columns)
        ['a', 'g', 'proportion', 'std_error', 'low', 'high']
        """
        return long_frame(self.names, self.categories, self._numbers(level))

    def _numbers(self, level: float) -> dict[str, Array]:
        """The numbers of each cell by the name of their column."""
        low, high = self.interval(level)
        estimates = {"proportion": self.proportions, "std_error": self.std_error}
        return {**estimates, "low": low, "high": high}

    def wide(self) -> pd.DataFrame:
        """The proportions with the last column's categories side by side.

        Returns
        -------
        DataFrame
            A copy.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> within = table.conditional(of="a")
        >>> within.wide().round(2).to_numpy().tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        return wide_frame(self.names, self.categories, self.proportions)

    @checked_options(PlotOptions)
    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the proportions with their intervals, one series for each given combination.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        **options
            figsize, title, sort and top.

        Returns
        -------
        Axes
            One row for each combination of the other columns.
        """
        frame = self.to_frame(level)
        cells = [tuple(row) for row in frame.itertuples(index=False)]
        series, labels = (
            [tuple(row[place] for place in places) for row in cells] for places in self._places
        )
        ends = (frame["low"].to_numpy(), frame["high"].to_numpy())
        rows = proportion_rows(labels, frame["proportion"].to_numpy(), ends)
        rows["series"] = pd.Index(series, dtype=object, tupleize_cols=False)
        xlabel = f"proportion within {' and '.join(map(label, self.given))}"
        options = {"title": self._title, **options}
        return plot_intervals(rows, ax, xlabel=xlabel, level=level, **options)

    @property
    def _title(self) -> str:
        """The columns."""
        others = [label(name) for name in self.names if name not in self.given]
        return f"Proportions of {', '.join(others)} within {', '.join(map(label, self.given))}"

    @property
    def _header(self) -> HeaderLines:
        """The number of rows."""
        return [("n", f"{self.n:,}")]


def _same_design(first: Estimate | None, second: Estimate | None) -> bool:
    """True where neither table has a design, or both have the same one."""
    if first is None or second is None:
        return first is None and second is None
    return vars(first.design) == vars(second.design)


def check_two_way(table: Crosstab) -> Crosstab:
    """The table; raises unless it is a Crosstab of two columns."""
    check_instance(table, "table", Crosstab, "a Crosstab")
    if len(table._axes) != 2:
        raise ArgumentValueError(
            f"table must have two columns, found {list(table.names)}; use table.margin(...)"
        )
    return table


# -- from rows -------------------------------------------------------------------------------


@checked_keywords
def crosstab(
    data: Any,
    *columns: Any,
    mechanisms: Mapping[Any, Any] | None = None,
    group: Hashable = None,
    weights: Hashable = None,
    design: SampleDesign | None = None,
    target: str = "population",
    missing: str = "drop",
) -> Crosstab:
    """Estimate joint proportions of columns, privatized separately or as a pair, or ordinary.

    Parameters
    ----------
    data : DataFrame or frame of an engine
        A frame of pandas, or of an engine (Polars, pyarrow, DuckDB, Dask, PySpark), which counts
        the rows itself.
    *columns : hashable, or list of hashables
        Names of columns, in the order of the table's axes; or one list of them.
    mechanisms : mapping from column to mechanism, or FramePlan, optional
        The mechanisms of columns whose frame has no record of them.  A column without a record and
        without a mechanism here is ordinary.  Of two columns that a plan asked together, the rows
        that were asked both hold one answer over all pairs, and those that were asked one of them
        correct its margin: ``reported`` counts the former, n counts all.  A released column whose
        prob differs by row, with at most 100 different ones, is counted as one sample of each.
    group : hashable, optional
        The column with the sample of each row, for mechanisms with several samples.
    weights : hashable, optional
        The column of the sampling weights.
    design : SampleDesign, optional
        Weights, strata, clusters and more of the sample, as names of columns.  Each report must
        then fall into one cell.
    target : {"population", "sample"}
        The table is about the population that these people were drawn from, or about just these
        rows.
    missing : {"drop", "keep", "raise"}
        "drop" leaves rows with missing values out of n and counts them; "keep" makes missing values
        of ordinary columns the level None, and drops rows with a missing report.

    Returns
    -------
    Crosstab
        Unbiased proportions with intervals.

    Raises
    ------
    ArgumentValueError
        The mechanism cannot have made the reports.
    NotIdentifiableError
        The reports carry no information.

    Warns
    -----
    LowPrecisionWarning
        The effective sample size is below 5 times the number of cells.
    ImplausibleReportsWarning
        No true proportions explain a column's reports.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> rows = {"smoker": ["no"] * 650 + ["yes"] * 350}
    >>> rows["region"] = ["north"] * 300 + ["south"] * 350 + ["north"] * 200 + ["south"] * 150
    >>> table = crosstab(
    ...     pd.DataFrame(rows), "smoker", "region",
    ...     mechanisms={"smoker": rr.KRR(["no", "yes"], 0.75)},
    ... )
    >>> table.to_frame(wide="proportion").round(3).to_dict()
    {'north': {'no': 0.35, 'yes': 0.15}, 'south': {'no': 0.45, 'yes': 0.05}}

    Of all people, about 15% smoke and live in the north.
    """
    frame = open_frame(data, mechanisms)
    if frame is None:
        raise ArgumentTypeError(
            "data must be a DataFrame of pandas or of an engine, as in rr.crosstab(df, 'smoker', "
            f"'region'), found {type_name(data)}"
        )
    if plan_records(mechanisms):
        mechanisms = None
    names = _listed_columns(columns, frame.names)
    check_columns(names, mechanisms)
    check_one_of(missing, "missing", ("drop", "keep", "raise"))
    design = design_of(weights, design)
    check_names(frame, design.names)
    frame = frame.counted_columns(names, [*listed(group), *design.columns.values()])
    joint = frame.joint(names, mechanisms, group=group, pairs=True)
    opened = [by_samples(column) for column in as_pairs(joint)]
    rows = opened[0].size
    times = opened[0].times
    axes, counted = count_rows(opened, keep=missing == "keep", times=times)
    table = Crosstab(tuple(axes), counted, 0, check_target(target))
    row_design = frame_design(frame, design)
    sample_rows = rows_of(None, len(frame.table), design=row_design, times=times)
    tally = plan_tally(joint, axes, sample_rows, times)
    is_pooled = tally is not None
    if tally is None and (design is not SIMPLE or any(axis.pair for axis in axes)):
        tally = joint_tally(opened, axes, sample_rows, times)
    if tally is not None:
        table = replace(table, _combined=Estimate(tally, target, 1, design.without_rows()))
    outside_plan = not_asked(opened, len(frame.table), all_of_them=is_pooled)
    n_not_asked = int(outside_plan.sum() if times is None else times[outside_plan].sum())
    table = replace(table, n_missing=rows - table.n - n_not_asked)._checked()
    reason = f"have something missing in the columns {list(names)}"
    refuse_missing(missing, table.n_missing, rows, reason)
    _warn_of_noise(table)
    return table


def _listed_columns(columns: Sequence[Any], names: Collection[Hashable]) -> Sequence[Hashable]:
    """The columns of a table, from names or from one list of names.

    Entries of the list that are no columns are counted: they may be answers.
    """
    if len(columns) != 1 or not isinstance(columns[0], list):
        return columns
    listed_names = columns[0]
    wrong = sum(not isinstance(name, Hashable) or name not in names for name in listed_names)
    if wrong:
        raise ArgumentTypeError(
            "columns must be names of columns, or one list of them, found list with "
            f"{wrong} of {len(listed_names)} entries that are no column of the data"
        )
    return listed_names


def _warn_of_noise(table: Crosstab) -> None:
    """Warn of implausible reports, and of a small effective sample size."""
    if table._implausible:
        warn(f"in the columns {table._implausible} {IMPLAUSIBLE}", ImplausibleReportsWarning)
    effective_size = table._effective_size
    if effective_size < _MIN_CELL_SIZE * table.moments.size <= table.n:
        warn(
            f"the noise of the columns {list(table._private)} leaves an effective sample size of "
            f"{effective_size:,.0f} of {table.n:,} rows for {table.moments.size:,} cells; use "
            "fewer columns, merge categories, or use only the margins",
            LowPrecisionWarning,
        )
