"""Linear regression of columns of which a plan asked each row a part: normal equations of moments.

The equations M_DD beta = M_Dy need no row that has all columns, but the moments of two at a time,
and these are known from the rows that were asked both (`second_moments`).  A column of the design
may therefore use one private column, as a factor, as a number, or times ordinary columns.
Standard errors are sandwich estimates from the influence of each row on the equations, also by
strata and clusters; by replicate weights the equations are solved again.
Where all rows have all columns this is the regression by corrected scores.
Noise may give moments that belong to no distribution.  Then the variation of the private columns
beside the ordinary ones is replaced by the nearest positive definite matrix (in the correlations,
by Frobenius' norm, with no eigenvalue below one standard error of the smallest), and a warning says
so.  A column without any variation left is refused.
Sources: as `corrected_scores`; Higham (1988) for the nearest matrix.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.data.categories import category_numbers
from rrstats.data.columns import numbers
from rrstats.errors import ArgumentValueError, NotIdentifiableError
from rrstats.estimation.report_columns.report_columns import ReportColumn, records_of
from rrstats.estimation.report_columns.report_frames import ReportFrame, plan_records
from rrstats.estimation.tallies.second_moments import ColumnGroup, PartScores, SecondMoments
from rrstats.mechanisms.records import KEY, write
from rrstats.regression.corrected_scores import ScoreResult, score_covariance
from rrstats.regression.design_matrix import by_source, table_of
from rrstats.regression.likelihood import check_columns
from rrstats.regression.private_covariates import ModelData, ModelRequest, open_model
from rrstats.regression.survey_people import Reference, check_design_kind, default_kind, design_df

_ROUNDING = 1e-10
"""Eigenvalue of correlations up to which it is 0 but for rounding."""


class PartOutcome(NamedTuple):
    """The outcome: of reports a column and the numbers of its categories, else values.

    column, numbers : of reports, with (k,) numbers.  values : (used rows,) ordinary ones.
    """

    column: ReportColumn | None
    numbers: Floats
    values: Floats


@dataclass(frozen=True, eq=False)
class _Equations:
    """Moments of the columns of a design and its outcome, which is the last.

    data : the columns of the design, of which those that vary stand last.
    parts : moments of the columns that these are made of.  mix : (columns of parts, b + 1).
    """

    data: ModelData
    parts: SecondMoments
    mix: Floats

    @property
    def same(self) -> int:
        """The number of ordinary columns, which stand first."""
        return int(self.data.same.shape[1])

    @property
    def moments(self) -> Floats:
        """(b + 1, b + 1) second moments."""
        return np.asarray(self.mix.T @ self.parts.second @ self.mix)

    def influence(self, coefficients: Floats) -> Floats:
        """(rows, b + 1) the influence of each row on ``moments @ coefficients``."""
        return np.asarray(self.parts.influence(self.mix @ coefficients) @ self.mix)

    def information(self, rows: NDArray[np.intp]) -> Floats:
        """(b, b) the part of some rows in the moments of the design."""
        is_in = np.zeros(self.parts.n, dtype=np.bool_)
        is_in[rows] = True
        return np.asarray((self.mix.T @ self.parts.of_rows(is_in) @ self.mix)[:-1, :-1])

    def again(self, weights: Floats) -> Floats | None:
        """(b,) coefficients by other weights; None if they are not known."""
        equations = replace(self, parts=self.parts.again(weights))
        try:
            return _solved(equations).beta
        except NotIdentifiableError:
            return None

    def size_error(self, coefficients: Floats) -> float:
        """The standard error of the mean square of a combination of the columns."""
        return float(np.linalg.norm(self.influence(coefficients) @ coefficients))


def with_plan(data: Any, plan: Any) -> pd.DataFrame:
    """A frame that has the records of a plan for its columns."""
    frame = table_of(data).copy(deep=False)
    records = records_of(frame.attrs) | {record.name: record for record in plan_records(plan)}
    in_frame = [record for name, record in records.items() if name in frame.columns]
    frame.attrs = {**frame.attrs, KEY: write(in_frame)}
    return frame


def planned_outcome(request: ModelRequest) -> ReportColumn | None:
    """The outcome if it is a column of a plan, None if it is ordinary; raises for other reports."""
    record = request.record
    if record is None:
        return None
    name = request.values.name
    if record.plan is None:
        raise ArgumentValueError(f"the outcome {name!r} is privatized; use logit")
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
    rows = len(cast(pd.DataFrame, request.frame))
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
    values = request.numbers.get(reports.name)
    is_text = not all(isinstance(category, Real) for category in reports.categories)
    if values is None and is_text and reports.k == 2:
        values = [0, 1]
    return category_numbers(values, reports.categories, f"values of column {reports.name!r}")


class _Solution(NamedTuple):
    """Coefficients that solve the equations.

    bread : (b, b) the inverse of the information.  beta : (b,).
    repair : a sentence where the moments were those of no distribution; else None.
    """

    bread: Floats
    beta: Floats
    repair: str | None


def _solved(equations: _Equations) -> _Solution:
    """Solve the equations; raises where a private column does not vary beside the others."""
    moments = equations.moments
    squares = np.diag(moments)[:-1]
    sizes = np.sqrt(np.where(squares > 0, squares, 1.0))
    scale = np.outer(sizes, sizes)  # years beside an intercept lose digits without it
    information, repair = _positive(equations, moments[:-1, :-1] / scale, sizes)
    bread = np.asarray(np.linalg.inv(information), np.float64) / scale
    return _Solution(bread, bread @ moments[:-1, -1], repair)


def moment_fit(
    outcome: PartOutcome, data: ModelData, title: str, vcov: str | None = None
) -> ScoreResult:
    """Fit a linear regression by solving the normal equations of moments.

    vcov : the kind of covariance; by default that of the design.
    """
    vcov = vcov or default_kind(data, "robust")
    check_design_kind(vcov, data)
    check_columns(data.same, data.varying, data.ordered, 0)
    equations = _equations(outcome, data)
    bread, beta, repair = _solved(equations)
    scores = equations.influence(np.append(-beta, 1.0))[:, :-1]
    n = len(data.same)
    b = len(beta)
    covariance, sandwich = score_covariance(
        vcov, equations, scores, scores.T @ scores, beta=beta, bread=bread, modelled=False
    )
    moments = equations.moments
    sigma2 = float(moments[-1, -1] - beta @ moments[:-1, -1]) * n / (n - b)
    names = pd.Index(data.ordered[equations.same :], dtype=object)
    place = np.argsort(data.order)
    slopes = np.eye(b)[place]
    return ScoreResult(
        title=title,
        index=pd.Index(list(data.names), dtype=object),
        estimates=beta[place],
        covariance=slopes @ covariance @ slopes.T,
        vcov=vcov,
        nobs=data.people,
        sigma2=sigma2,
        effective_n=pd.Series([], names[:0], dtype=np.float64, name="effective_n"),
        signal=pd.Series(_signal(equations, bread), names, name="signal", dtype=np.float64),
        data=data,
        repair=repair,
        reference=Reference(design_df(vcov, data, b), sandwich, slopes),
    )


def _signal(equations: _Equations, bread: Floats) -> list[float]:
    """Variation of each varying column given all others, divided by its standard error."""
    residualizers = bread / np.diag(bread)
    return [
        1 / bread[place, place] / equations.size_error(np.append(residualizers[:, place], 0.0))
        for place in range(equations.same, len(bread))
    ]


# -- columns ---------------------------------------------------------------------------------


def _equations(outcome: PartOutcome, data: ModelData) -> _Equations:
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
    parts = SecondMoments.of(scores, groups, data.weights)
    mix = np.zeros((len(targets), b + 1))
    mix[np.arange(len(targets)), targets] = 1.0
    return _Equations(data, parts, mix)


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


# -- moments of no distribution --------------------------------------------------------------


def _positive(
    equations: _Equations, information: Floats, lengths: Floats
) -> tuple[Floats, str | None]:
    """Second moments of the design that are positive definite, and a sentence if they were not.

    information : (b, b) of the columns divided by (b,) lengths.
    """
    s = equations.same
    names = equations.data.ordered[s:]
    ordinary = information[:s, :s]
    slopes = np.linalg.solve(ordinary, information[:s, s:])
    explained = information[s:, :s] @ slopes
    rest = information[s:, s:] - explained
    variances = np.diag(rest)
    if not (variances > 0).all():
        bad = [name for name, variance in zip(names, variances, strict=True) if variance <= 0]
        raise NotIdentifiableError(
            f"private columns must vary beside the ordinary covariates, found that {by_source(bad)}"
            " by the reports do not, so that the coefficients are not known; leave these out, or "
            "ask more people"
        )
    sizes = np.sqrt(variances)
    values, vectors = np.linalg.eigh(rest / np.outer(sizes, sizes))
    if not len(values) or values[0] > _ROUNDING:
        return information, None
    axis = vectors[:, 0] / sizes
    combination = np.concatenate([-slopes @ axis, axis]) / lengths
    least = min(equations.size_error(np.append(combination, 0.0)), 1.0)
    repaired = (vectors * np.maximum(values, least)) @ vectors.T * np.outer(sizes, sizes)
    positive = information.copy()
    positive[s:, s:] = repaired + explained
    text = (
        f"the moments of the private columns are not those of any distribution because of noise "
        f"({int((values < least).sum())} of {len(values)} eigenvalues are below one standard "
        "error): the nearest positive definite matrix was used, so that coefficients are biased "
        "and intervals too short; leave covariates out, or ask more people"
    )
    return positive, text
