"""Regression of the answers of people who follow the instructions, beside those who do not.

Some designs have classes of people whose reports do not depend on the truth: those who always give
one report, cheaters, the inattentive.  They are one more mixture: with t(z) the proportion of a
behaviour, a multinomial logit on covariates of its own,

    P(report | x, z) = t(z) P(report | behaviour) + (1 - t(z)) sum_j P(report | j) P(j | x).

The proportions of the answers are those among people who follow.
Sources: Cruyff, Sayed, Petroczi and van der Heijden (2024); Atsusaka and Stevenson (2023).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from rrstats._typing import Booleans, Floats, Labels
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns.report_frames import ReportFrame
from rrstats.regression.design_matrix import DesignMatrix, check_ordinary, covariates, from_r, sides
from rrstats.regression.outcomes import ReportedOutcome, Terms
from rrstats.regression.private_covariates import ClassColumns, ModelRequest
from rrstats.regression.varying_columns import VaryingColumns


@dataclass(frozen=True, eq=False, kw_only=True)
class BehavedOutcome(ReportedOutcome):
    """Reports of people who follow the instructions, the first class, and of the other classes.

    behaviours : (cells, B) P(cell | behaviour).
    names : (B,) what the behaviours are called.
    """

    behaviours: Floats
    names: Labels

    def terms(self, rows: slice, eta: Floats, psi: Floats) -> Terms:
        """Terms of followers and of the others, whose reports depend on no parameter."""
        followers = super().terms(rows, eta[:, :1], psi)
        if eta.shape[1] == 1:  # a fit of the followers alone, from which the search starts
            return followers
        assert self.cells is not None
        with np.errstate(divide="ignore"):
            log = np.log(self.behaviours[self.cells[rows]].T)
        log = np.concatenate([followers.log, log])
        size = len(followers.slopes)
        slopes = np.zeros((size, *log.shape))
        slopes[:, :1] = followers.slopes
        curves = np.zeros((size, size, *log.shape))
        curves[:, :, :1] = followers.curves
        return Terms(log, slopes, curves)


def behaved(outcome: ReportedOutcome, answers: Sequence[Hashable]) -> BehavedOutcome:
    """The outcome with the classes that are no answer as behaviours.

    answers : the categories that people may truly be of.
    """
    is_answer = np.array([category in answers for category in outcome.categories])
    classes = is_answer[outcome.class_of]
    categories = tuple(category for category in outcome.categories if category in answers)
    place_of = np.cumsum(is_answer) - 1
    return BehavedOutcome(
        categories=categories,
        table=outcome.table[:, classes],
        cells=outcome.cells,
        class_of=place_of[outcome.class_of[classes]],
        labels=tuple(
            label for label, is_kept in zip(outcome.labels, classes, strict=True) if is_kept
        ),
        family=outcome.family,
        samples=outcome.samples,
        behaviours=outcome.table[:, ~classes],
        names=tuple(
            label for label, is_kept in zip(outcome.labels, classes, strict=True) if not is_kept
        ),
    )


@dataclass(frozen=True)
class BehaviourColumns(ClassColumns):
    """Covariates of the proportions of the behaviours, of the people of the fit.

    matrix : (rows, g).
    """

    matrix: Floats

    def of(self, same: Floats, varying: VaryingColumns) -> Floats:
        """(rows, g) the columns."""
        return self.matrix


@dataclass(frozen=True, eq=False)
class BehaviourModel:
    """The formula of the behaviours over the rows of the data.

    answers : the categories that people may truly be of.
    design : the covariates before their matrix is made.
    """

    answers: Labels
    design: DesignMatrix

    def missing(self) -> dict[str, Booleans]:
        """Rows where a covariate of the behaviours is missing."""
        return self.design.missing()

    def columns(self, keep: Booleans | None) -> BehaviourColumns:
        """The covariates of the rows that are used."""
        evaluated = self.design.evaluated(keep)
        return BehaviourColumns(evaluated.names, (), evaluated.matrix)


def open_behaviours(
    request: ModelRequest, categories: Sequence[Hashable], answers: Sequence[Hashable], rows: int
) -> BehaviourModel:
    """The model of the behaviours, whose covariates follow ``|`` in the formula.

    categories : of the design.  answers : those of them that people may truly be of.
    """
    if len(answers) == len(categories):
        raise ArgumentValueError(
            f"'| {request.classes}' needs a design with people who do not follow the instructions, "
            "such as surveys.extended_crosswise(..., behaviour=), cheater_detection or "
            f"crosswise_with_anchor, found one whose classes are the answers {list(answers)}"
        )
    frame = request.frame
    assert frame is not None
    assert request.sides is not None
    formula = from_r(f"`the behaviour` ~ {request.classes}", frame.columns)
    design = covariates(frame, sides(formula), rows=rows)
    check_ordinary(ReportFrame.of(frame), list(design.frame.columns))
    if request.sides.outcome in design.frame.columns:
        raise ArgumentValueError(
            f"'| {request.classes}' must hold covariates, found the outcome "
            f"{request.sides.outcome!r} in it"
        )
    return BehaviourModel(tuple(answers), design)
