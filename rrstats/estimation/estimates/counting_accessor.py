"""Methods that only count, of the accessor ``rr`` of every frame: pandas, Polars and Dask.

A frame's own module adds what its kind can do besides, such as `privatize`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from rrstats._names import MissingMembers, checked_keywords
from rrstats._typing import ColumnLike, ColumnNames, RateLike
from rrstats.estimation.estimates.crosstab import Crosstab, crosstab
from rrstats.estimation.estimates.estimate import EstimateOptions, estimate
from rrstats.estimation.report_columns.sample_design import SampleDesign
from rrstats.estimation.tallies.tally import tally
from rrstats.mechanisms.frame_plans import MechanismOrPlan

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def as_method(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """A public function as a method: the data come first, the other arguments are the same."""

    @functools.wraps(function)
    def method(self: Any, /, *args: Arguments.args, **options: Arguments.kwargs) -> Result:
        return function(self._data, *args, **options)

    return method


@checked_keywords
class CountingAccessor(MissingMembers):
    """The accessor ``rr`` of a frame: estimates, tallies and tables from columns of reports."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def estimate(
        self,
        columns: Any,
        categories: MechanismOrPlan | None = None,
        prob: RateLike | None = None,
        *,
        mechanism: MechanismOrPlan | None = None,
        by: Any = None,
        **options: Unpack[EstimateOptions],
    ) -> Any:
        """`rrstats.estimate` of a column of reports, or a list of them, with its options."""
        return estimate(
            self._data, categories, prob, columns=columns, mechanism=mechanism, by=by, **options
        )

    def tally(
        self,
        columns: ColumnNames,
        categories: MechanismOrPlan | None = None,
        prob: float | None = None,
        *,
        by: ColumnLike | None = None,
        epsilon: float | None = None,
        group: Hashable = None,
        weights: Hashable = None,
        design: SampleDesign | None = None,
        blocks: Hashable = None,
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
        by : hashable or list of hashables, optional
            The column, or columns, of groups, each of which gets a tally.
        epsilon : float, optional
            The privacy loss of one report, instead of ``prob``.
        group : hashable, optional
            The column with each row's sample, for designs with several samples.
        weights : hashable, optional
            The column of the sampling weights.
        design : SampleDesign, optional
            Weights, strata, clusters and more of the sample, as names of columns.
        blocks : hashable, optional
            The column with each row's block; see `rrstats.tally`.

        Returns
        -------
        Tally
            With ``by``, a dict from group to Tally; for a list of names, a dict from name to these.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"smoker": ["no", "yes", "no"]})
        >>> frame.rr.tally("smoker", ["no", "yes"], 0.75).reported
        array([2, 1])
        """
        return tally(
            self._data,
            categories,
            prob,
            epsilon=epsilon,
            columns=columns,
            group=group,
            by=by,
            weights=weights,
            design=design,
            blocks=blocks,
        )

    crosstab: Callable[..., Crosstab] = as_method(crosstab)
