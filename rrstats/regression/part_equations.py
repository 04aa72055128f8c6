"""Equations of a linear regression of columns of which a plan asked each row a part.

They need no row that has all columns, but the moments of two at a time, and these are known from
the rows that were asked both (`score_moments`).  A column of the design may therefore use one
private column, as a factor, as a number, or times ordinary columns.
Where all rows have all columns this is the regression by scores of a whole frame.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats._typing import Floats
from rrstats.data.categories import category_numbers
from rrstats.data.columns import numbers
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns.report_columns import ReportColumn, records_of
from rrstats.estimation.report_columns.report_frames import ReportFrame, plan_records
from rrstats.estimation.tallies.part_scores import PartScores
from rrstats.estimation.tallies.score_moments import ColumnGroup, GroupMoments, ScoreMoments
from rrstats.mechanisms.records import KEY, write
from rrstats.regression.design_matrix import table_of
from rrstats.regression.private_covariates import ModelData, ModelRequest, open_model
from rrstats.regression.scores import (
    ScoreEquations,
    ScoreResult,
    check_score_columns,
    solve_scores,
)


class PartOutcome(NamedTuple):
    """The outcome: of reports a column and the numbers of its categories, else values.

    column, numbers : of reports, with (k,) numbers.  values : (used rows,) ordinary ones.
    """

    column: ReportColumn | None
    numbers: Floats
    values: Floats


def with_plan(data: Any, plan: Any) -> pd.DataFrame:
    """A frame that has the records of a plan for its columns."""
    frame = table_of(data).copy(deep=False)
    records = records_of(frame.attrs) | {record.name: record for record in plan_records(plan)}
    in_frame = [record for name, record in records.items() if name in frame.columns]
    frame.attrs = {**frame.attrs, KEY: write(in_frame)}
    return frame


def planned_outcome(request: ModelRequest) -> ReportColumn | None:
    """The outcome if it is a column of a plan; None if it is ordinary, or reports of a number.

    Raises for other reports.
    """
    record = request.record
    if record is None:
        return None
    name = request.values.name
    if record.is_number:
        return None
    if record.plan is None:
        raise ArgumentValueError(
            f"the outcome {name!r} is privatized; use rr.logit for its categories, and "
            "rr.difference(groups['a'], groups['b']).mean(values) for means of a score"
        )
    if request.formula is None:
        raise _needs_formula(record.plan.asked)
    return ReportFrame.of(request.frame).joint([name], group=request.group)[0]


def _needs_formula(public: Hashable) -> ArgumentValueError:
    """The error of columns of one plan without their frame."""
    return ArgumentValueError(
        "several columns of one plan need a formula and their frame, linear('y ~ a + b', frame): "
        f"its public column {public!r} says what each row was asked"
    )


def part_fit(request: ModelRequest, reports: ReportColumn | None, title: str) -> ScoreResult:
    """Fit a linear regression of columns of a plan.

    reports : of the outcome; None for an ordinary one.
    """
    request = replace(request, in_parts=True)
    private = request.private
    if request.formula is None:
        plan = next(column.plan for column in private.columns if column.plan is not None)
        raise _needs_formula(plan.asked)
    rows = len(table_of(request.frame))
    if reports is None:
        y = numbers(request.values, "the outcome", rows)
        data = open_model(request, rows, {"the outcome": np.isnan(y)})
        outcome = PartOutcome(None, np.empty(0), y if data.keep is None else y[data.keep])
    else:
        data = open_model(request, rows, {}, reports)
        outcome = PartOutcome(reports, _numbers_of(reports, request), np.empty(0))
    title = f"{title} by scores of a plan, {private.listed}"
    return moment_fit(outcome, data, title, request.vcov)


def _numbers_of(reports: ReportColumn, request: ModelRequest) -> Floats:
    """(k,) the numbers of the categories of a privatized outcome."""
    name = f"values of column {reports.name!r}"
    return category_numbers(request.numbers.get(reports.name), reports.categories, name, words=True)


def moment_fit(
    outcome: PartOutcome, data: ModelData, title: str, vcov: str | None = None
) -> ScoreResult:
    """Fit a linear regression by the moments of two columns at a time.

    vcov : the kind of covariance; by default that of the design.
    """
    check_score_columns(data, vcov)
    return solve_scores(_equations(outcome, data), title, vcov)


# -- columns ---------------------------------------------------------------------------------


def _equations(outcome: PartOutcome, data: ModelData) -> ScoreEquations:
    """Open the moments of the columns of a design and its outcome."""
    private = list(data.private.columns)
    s = data.same.shape[1]
    b = s + data.varying.columns
    base = data.same
    targets = list(range(s))
    if outcome.column is None:
        base = np.column_stack([base, outcome.values])
        targets.append(b)
    groups = [ColumnGroup(None, np.empty((0, len(targets))), base)]
    for place in range(len(private)):
        group, columns = _group_of(place, data)
        if columns:
            groups.append(group)
            targets += [s + column for column in columns]
    if outcome.column is not None:
        groups.append(ColumnGroup(len(private), outcome.numbers[:, None], None))
        private.append(outcome.column)
        targets.append(b)
    scores = PartScores.of(private).kept(data.keep)
    mix = np.zeros((len(targets), b + 1))
    mix[np.arange(len(targets)), targets] = 1.0

    def moments_by(weights: Floats) -> ScoreMoments:
        return GroupMoments.of(scores, groups, weights).all_pairs()

    return ScoreEquations(data, moments_by, mix, private_outcome=outcome.column is not None)


def _group_of(place: int, data: ModelData) -> tuple[ColumnGroup, list[int]]:
    """The factors and bases of the varying columns that use one private column, and their places.

    A column whose ordinary factor differs between categories is a sum, and has several places.
    """
    varying = data.varying
    shape = data.private.shape
    start = 1 + sum(k - 1 for k in shape[:place])
    profiles = [0, *range(start, start + shape[place] - 1)]
    factors = varying.factors[profiles]
    bases = varying.places[profiles]
    uses = ((factors != factors[0]) | (bases != bases[0])).any(axis=0)
    numbers_of = []
    ordinary = []
    columns = []
    for column in np.flatnonzero(uses).tolist():
        for base in np.unique(bases[factors[:, column] != 0, column]).tolist():
            numbers_of.append(np.where(bases[:, column] == base, factors[:, column], 0.0))
            ordinary.append(base)
            columns.append(column)
    base_of_columns = varying.base[ordinary].T if any(ordinary) else None
    k = shape[place]
    return ColumnGroup(place, np.array(numbers_of).reshape(-1, k).T, base_of_columns), columns
