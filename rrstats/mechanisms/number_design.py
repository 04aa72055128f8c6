"""Numbers between declared bounds, clipped, rounded at random to a grid, and randomized.

A number between two grid points becomes the upper one with the probability of its place between
them, so that its mean is kept; then a report is drawn from the column of that point.  The
distribution of reports is a mixture of two columns of one matrix, so epsilon is the matrix's.
Each report is a value with the mean E[value | number] = number: the plain mean of reports is
unbiased for the mean of the clipped numbers.
The matrix is that of `optimal_matrices`.  Reports whose values are nearly equal are one report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import (
    check_epsilon,
    check_number,
    check_numbers,
    check_one_of,
    check_whole_number,
)
from rrstats._names import checked_keywords
from rrstats._typing import Array, Floats, JsonObject, NumbersByCategory
from rrstats.data.categories import Categories, category_numbers
from rrstats.data.number_spaces import NumberGrid, NumberValues
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import Mechanism, call_text, check_codes
from rrstats.mechanisms.matrix_channel import MatrixChannel
from rrstats.mechanisms.matrix_design import MatrixDesign, Rows
from rrstats.mechanisms.optimal_matrices import (
    MIN_EPSILON,
    exact_ratio,
    matrix_for,
    private_rows,
)
from rrstats.randomness.samplers import TableSampler, coins
from rrstats.randomness.sources import Source

ROUNDING_STREAM = 1
"""Beside the stream of the cells of `TableSampler`."""

_POINTS = 21
"""The largest number of points of a grid whose number is not declared."""

_MAX_POINTS = 100
"""A matrix of more takes minutes, and records hold only a fingerprint of more categories."""

_MAX_DISTANCE = 1000
"""The largest distance of a bound from 0, in ranges: values of 12 digits must tell reports."""

_RANGES = (1e-100, 1e100)
"""The smallest and the largest distance of the bounds: squares of numbers stay doubles."""

_MIN_GAP = 0.00101
"""Of two values, in ranges; rounding leaves more than .001."""

_DIGITS = 12
"""Significant digits of a value, which every program writes and reads."""

_BIAS = 1e-11
"""The largest bias of the mean that rounded values may leave, relative to the largest value."""

_GOALS = ("mean", "distribution")


@dataclass(frozen=True, init=False, repr=False)
class NumberDesign(Mechanism):
    """A design for numbers between bounds; `number` declares one.

    Parameters
    ----------
    categories : sequence of k floats
        The grid: evenly spaced numbers from the lower to the upper bound.
    matrix : sequence of m rows
        P(report | grid point), as for `MatrixDesign`.
    values : sequence of m floats
        The reports, in ascending order.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        The grid is uneven, or the mean of the values at some grid point is not that point.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.number(0, 10).mechanism(epsilon=1)
    >>> m.k, m.epsilon <= 1, bool(abs(m.values @ m.channel.matrix - range(11)).max() < 1e-9)
    (11, True, True)
    """

    domain: NumberGrid
    matrix: Rows
    values: tuple[float, ...]

    is_number = True

    def __init__(self, categories: Any, matrix: Any, values: Any) -> None:
        points = check_numbers(categories, "categories")
        steps = np.diff(points)
        if len(points) < 2 or not (abs(steps - steps.mean()) <= 1e-9 * steps.mean()).all():
            raise ArgumentValueError(
                "categories of a number must be evenly spaced, in ascending order"
            )
        design = MatrixDesign(categories, matrix)
        numbers = check_numbers(values, "values", size=len(design.matrix))
        if not (np.diff(numbers) > 0).all():
            raise ArgumentValueError("values must be in ascending order, one for each report")
        bias = abs(numbers @ design.channel.matrix - points).max()
        if not bias <= _BIAS * abs(numbers).max():
            raise ArgumentValueError(
                "values must have at each number of the grid the mean of that number, found a "
                f"difference of {bias:.3g}"
            )
        vars(self).update(
            domain=NumberGrid(categories), matrix=design.matrix, values=tuple(numbers.tolist())
        )

    @cached_property
    def report_space(self) -> NumberValues:
        """The values of reports."""
        return NumberValues(self.values)

    @cached_property
    def channel(self) -> MatrixChannel:
        """The matrix; the left inverse gives each report its value as the mean of the grid."""
        channel = MatrixDesign(range(self.k), self.matrix, reports=range(len(self.values))).channel
        inverse = channel.left_inverse
        points = self.domain.points
        centred = points - points.mean()
        # Columns still sum to 1, and inverse @ matrix is as before, because values @ matrix is
        # points @ inverse @ matrix.
        slopes = centred / (centred @ points)
        inverse = inverse + np.outer(slopes, np.array(self.values) - points @ inverse)
        exact = tuple(tuple(map(Fraction, row)) for row in inverse.tolist())
        return MatrixChannel(channel.entries, exact)

    @cached_property
    def distribution_ratio(self) -> float:
        """Variance of the distribution function over that of the square wave, at equal answers.

        Both are sums over the grid, of reports at the same epsilon.
        """
        epsilon = max(self.epsilon, MIN_EPSILON)
        wave = matrix_for(Categories(range(self.k)), epsilon, "distribution", None, None)
        up_to = np.tril(np.ones((self.k, self.k)))[:-1]
        equal = np.full(self.k, 1 / self.k)
        own, square_wave = (
            float(np.trace(up_to @ channel.covariance(equal, "population") @ up_to.T))
            for channel in (self.channel, wave.channel)
        )
        return own / square_wave

    @cached_property
    def _sampler(self) -> TableSampler:
        return TableSampler(self.channel.entries, self.report_space.dtype)

    def randomize(self, codes: Array, source: Source, block: int = 0) -> Array:
        """Round and randomize one block of true codes; each step has its own words.

        Parameters
        ----------
        codes : array of shape (rows,)
            Places between the bounds, of ``domain.dtype``.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows,)
        """
        check_codes(codes, self.domain)
        bits = self.domain.fraction_bits
        points = (codes >> bits).astype(np.intp)
        fractions = (codes & (1 << bits) - 1) / float(1 << bits)
        points += coins(source, ROUNDING_STREAM, block, fractions)
        return self._sampler.draw(points, source, block)

    @property
    def _arguments(self) -> JsonObject:
        """The arguments by name; the grid as categories."""
        points = Categories(self.domain.categories)
        return {"categories": points, "matrix": self.matrix, "values": self.values}

    def _call(self, name: str = "") -> str:
        """The call that creates the mechanism, with its values as briefly as categories."""
        values = Categories(self.values)
        return call_text(name or type(self).__name__, {**self._arguments, "values": values})


# -- the declaration -------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberRange:
    """The declaration of a number, as `number` makes it; it stands in the place of categories.

    low, high : the bounds.  points : of the grid.  goal, prior : of the matrix.
    """

    low: float
    high: float
    points: int
    goal: str = "mean"
    prior: str | tuple[float, ...] | None = None

    @cached_property
    def grid(self) -> NumberGrid:
        """The grid of true answers, which needs no epsilon."""
        return NumberGrid(_grid(self.low, self.high, self.points))

    def mechanism(self, prob: Any = None, epsilon: Any = None) -> NumberDesign:
        """Return the mechanism at an epsilon.

        Parameters
        ----------
        prob : None
            Refused: there is no one probability of the truth.
        epsilon : float
            The privacy loss of one report in nats.

        Returns
        -------
        NumberDesign
            Made once for equal arguments.
        """
        if prob is not None or epsilon is None:
            raise ArgumentTypeError(
                "a number takes epsilon=, one for all rows, and no prob: no report of it is the "
                "true answer"
            )
        return _design(self.grid, check_epsilon(epsilon), self.goal, self.prior)

    def __iter__(self) -> Iterator[Any]:
        """Refuse to be a list of categories."""
        raise ArgumentTypeError(
            "rr.number cannot stand here, where every possible answer must be listed, as in plans "
            "of a frame and in the JavaScript client: privatize the number by itself, with "
            "epsilon=, or give brackets as categories"
        )

    def __repr__(self) -> str:
        default = NumberRange(self.low, self.high, _default_points(self.low, self.high))
        texts = [repr(self.low), repr(self.high)]
        for name, value in vars(default).items():
            if vars(self)[name] != value:
                texts.append(f"{name}={vars(self)[name]!r}")
        return f"number({', '.join(texts)})"


def _default_points(low: float, high: float) -> int:
    """The integers between integers, if they are few."""
    if isinstance(low, int) and isinstance(high, int) and high - low < _POINTS:
        return high - low + 1
    return _POINTS


def _grid(low: float, high: float, points: int) -> list[float]:
    """Evenly spaced points; integers where all are and both bounds are of type int."""
    step = (Fraction(high) - Fraction(low)) / (points - 1)
    exact = [low + place * step for place in range(points)]
    if isinstance(low, int) and isinstance(high, int) and step.denominator == 1:
        return list(map(int, exact))
    return list(map(float, exact))


def _bound(value: Any, name: str) -> float:
    """A bound that is written in the program: no number of NumPy, which comes from data."""
    _check_declared(value, name, "the smallest or largest answer", "the bound as a plain number")
    number = check_number(value, name)
    if not np.isfinite(number):
        raise ArgumentValueError(f"{name} must be finite, got {number!r}")
    return int(value) if isinstance(value, int) else number


def _check_declared(value: Any, name: str, shown: str, instead: str) -> None:
    """Raise for what nobody writes down: numbers and arrays of NumPy, and columns."""
    if isinstance(value, np.generic | np.ndarray | pd.Series):
        raise ArgumentTypeError(
            f"{name} must be declared, not taken from data: {shown} would be published, found "
            f"{type(value).__name__}; write {instead}"
        )


@checked_keywords
def number(
    low: float,
    high: float,
    *,
    points: int | None = None,
    goal: str = "mean",
    prior: NumbersByCategory | str | None = None,
) -> NumberRange:
    """Declare a number between two bounds, in the place of categories.

    Parameters
    ----------
    low, high : float
        The bounds, known before the data: answers beyond them are clipped.
    points : int, optional
        The number of evenly spaced grid points to which answers are rounded at random, 2 to 100;
        by default the integers from low to high if they are at most 21, else 21.
    goal : {"mean", "distribution"}
        What the matrix is best for; `Estimate.quantiles` may need the distribution.
    prior : sequence of floats by grid point or "worst-case", optional
        As for `planning.optimal_matrix`; by default all grid points are equally likely.

    Returns
    -------
    NumberRange
        It goes wherever categories go, with ``epsilon=``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For bounds and priors of NumPy or pandas, usually taken from data; bounds that are equal
        or farther from 0 than 1,000 times their distance.

    Notes
    -----
    Reports are doubles, some beyond the bounds; their plain mean is unbiased for the mean of the
    clipped answers.  It never shows how many were clipped.  With 21 points n times its variance,
    given answers on [-1, 1], is at most 4.3 at epsilon 1 (Laplace 8), 1.0 at 2 and .16 at 4.
    Few points suit integers alone: ``number(0, 1)`` has two, ``number(0.0, 1.0)`` 21.
    NaN is a missing answer; infinity is clipped; text and booleans are no numbers.

    References
    ----------
    Duchi, Jordan and Wainwright (2018); Wang, Xiao, Yang et al. (2019).

    Examples
    --------
    >>> import rrstats as rr
    >>> number(18, 90)
    number(18, 90)
    >>> reports = rr.privatize([31, 42.5, 53], number(18, 90), epsilon=1)
    >>> [type(report).__name__ for report in reports]
    ['float', 'float', 'float']
    """
    lower = _bound(low, "low")
    upper = _bound(high, "high")
    if not lower < upper:
        raise ArgumentValueError(f"low must be below high, got {lower!r} and {upper!r}")
    if not _RANGES[0] <= upper - lower <= _RANGES[1]:
        raise ArgumentValueError(
            f"high - low must be from {_RANGES[0]:g} to {_RANGES[1]:g}, got {lower!r} and "
            f"{upper!r}; give the answers in another unit"
        )
    if not max(abs(lower), abs(upper)) <= _MAX_DISTANCE * (upper - lower):
        raise ArgumentValueError(
            f"low and high must be at most {_MAX_DISTANCE:,} times their distance from 0, got "
            f"{lower!r} and {upper!r}; subtract a public number from the answers"
        )
    k = _default_points(lower, upper)
    if points is not None:
        k = check_whole_number(points, "points", 2, _MAX_POINTS)
    check_one_of(goal, "goal", _GOALS)
    weights: Any = prior
    if prior is not None and not isinstance(prior, str):
        _check_declared(prior, "prior", "the proportions of answers", "a list of expectations")
        if isinstance(prior, Mapping):
            prior = category_numbers(prior, _grid(lower, upper, k), "prior")
        weights = tuple(check_numbers(prior, "prior", size=k, low=0.0).tolist())
    return NumberRange(lower, upper, k, goal, weights)


@lru_cache(maxsize=64)
def _design(
    grid: NumberGrid, epsilon: float, goal: str, prior: str | tuple[float, ...] | None
) -> NumberDesign:
    """The mechanism of a grid; its matrix is that of the grid from -1 to 1."""
    rows, unit = _unit_matrix(grid.k, epsilon, goal, prior)
    low, high = map(float, grid.bounds)
    middle = (low + high) / 2
    half = (high - low) / 2
    values = [float(f"{middle + half * value:.{_DIGITS}g}") for value in unit]
    return NumberDesign(grid.categories, rows, values)


@lru_cache(maxsize=64)
def _unit_matrix(
    k: int, epsilon: float, goal: str, prior: str | tuple[float, ...] | None
) -> tuple[Rows, tuple[float, ...]]:
    """The rows of a matrix for k points from -1 to 1, and the values of its reports."""
    scores = np.linspace(-1, 1, k)
    design = matrix_for(Categories(range(k)), epsilon, goal, None, prior)
    values = scores @ design.channel.left_inverse
    order = np.argsort(values, kind="stable")
    rows = tuple(design.matrix[place] for place in order)
    values = values[order]
    if np.diff(values).min() < 2 * _MIN_GAP:
        matrix, values = _merged(design.channel.matrix[order], values, scores)
        matrix = private_rows(matrix, exact_ratio(epsilon, k))
        values = _unbiased(matrix, values, scores)
        rows = tuple(map(tuple, matrix.tolist()))
    return rows, tuple(values.tolist())


def _merged(matrix: Floats, values: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """A matrix and its values, those of nearly equal values merged into one, nearest first."""
    while True:
        gaps = np.diff(values)
        if gaps.min() >= 2 * _MIN_GAP:
            return matrix, values
        place = int(gaps.argmin())
        sizes = matrix[place : place + 2].sum(axis=1)
        pair = matrix[place] + matrix[place + 1]
        matrix = np.vstack([matrix[:place], pair, matrix[place + 2 :]])
        value = sizes @ values[place : place + 2] / sizes.sum()
        values = np.concatenate([values[:place], [value], values[place + 2 :]])
        values = _unbiased(matrix, values, scores)
        order = np.argsort(values, kind="stable")
        matrix = matrix[order]
        values = values[order]


def _unbiased(matrix: Floats, values: Floats, scores: Floats) -> Floats:
    """The nearest values, weighted by the reports' probabilities, whose means are the scores."""
    weighted = matrix / matrix.sum(axis=1, keepdims=True)
    correction = np.linalg.lstsq(matrix.T @ weighted, scores - values @ matrix, rcond=None)[0]
    return np.asarray(values + weighted @ correction)
