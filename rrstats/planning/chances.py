"""The chances of a plan's parts that are best for what is wanted: a small convex programme.

With n Var of each wanted column or table as a function of the chances, the largest or the sum of
them is least over the simplex.  Each is convex where truths are equally common, because it is then
an entry of the inverse of an information matrix that is linear in the chances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.frame_plans import FramePlan

CRITERIA = ("equal", "minimax", "total")
"""Chances that are all equal; that make the largest n Var least; or their sum."""


@dataclass(frozen=True)
class _Constants:
    """Constants of the programme.

    least : the smallest chance of a part, so that the plan can be estimated as it is.
    iterations, tolerance : of sequential least squares.
    """

    least: float = 1e-3
    iterations: int = 300
    tolerance: float = 1e-10


_PROGRAMME = _Constants()


def best_chances(plan: FramePlan, criterion: str, proportion: float = 0.2) -> list[float]:
    """The chances of the parts that make the n Var of all wanted parts least.

    >>> plan = FramePlan({"a": [0, 1], "b": range(6)}, 2, ["a", "b"])
    >>> [round(chance, 2) for chance in best_chances(plan, "minimax")]
    [0.38, 0.62]
    """
    questions = [plan.question(part, proportion) for part in plan.parts]
    count = len(questions)
    start = np.full(count, 1 / count)
    scale = max(question.variance(start) for question in questions)

    def variances(chances: Floats) -> Floats:
        return np.array([question.variance(chances) for question in questions]) / scale

    simplex: dict[str, Any] = {"type": "eq", "fun": lambda x: x[:count].sum() - 1}
    bounds: list[tuple[float, float | None]] = [(_PROGRAMME.least, 1.0)] * count
    options = {"maxiter": _PROGRAMME.iterations, "ftol": _PROGRAMME.tolerance}
    if criterion == "total":
        solution = optimize.minimize(
            lambda x: float(variances(x).sum()),
            start,
            method="SLSQP",
            bounds=bounds,
            constraints=[simplex],
            options=options,
        )
    else:  # the last variable is a bound of all variances
        below: dict[str, Any] = {"type": "ineq", "fun": lambda x: x[count] - variances(x[:count])}
        solution = optimize.minimize(
            lambda x: float(x[count]),
            np.append(start, 1.0),
            method="SLSQP",
            bounds=[*bounds, (0.0, None)],
            constraints=[simplex, below],
            options=options,
        )
    chances: Floats = np.asarray(solution.x)[:count]
    if not np.isfinite(chances).all() or (
        _criterion(variances(chances), criterion) > _criterion(variances(start), criterion)
    ):
        raise ArgumentValueError(
            f"chances={criterion!r} found no chances for these {count} parts that are better than "
            "equal ones; give a list of chances, or chances='equal'"
        )
    return [float(chance) for chance in np.maximum(chances, _PROGRAMME.least)]


def _criterion(variances: Floats, criterion: str) -> float:
    """The value that the programme minimizes, rounded because of its tolerance."""
    value = variances.sum() if criterion == "total" else variances.max()
    return float(np.round(value, 6))
