"""A channel given by its matrix: whatever a respondent does, one column for each truth.

``matrix[report, truth]`` has m rows and a column for each class of true answers; columns sum
to 1.  The unbiased estimate is a left inverse of it times the shares of the reports: a design's
own (the mean score of Kuk's cards), or else (P' D^-1 P)^-1 P' D^-1 with D the law of the
reports where all classes are equally common, which is the inverse where P is square.

A design may tell finer classes apart than it estimates: people with a trait who say so and
others who deny it are one category.  ``shows`` says which category each class shows, and then
only the categories need to be identified, not the classes.
Sources: van den Hout and van der Heijden (2002); Chaudhuri (2011) for scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rrstats import likelihood
from rrstats.channel import (
    BinomialRates,
    Channel,
    OneSample,
    as_fraction,
    check_reports_fit,
    check_target,
)
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiable
from rrstats.privacy.losses import PrivacyLoss, worst_loss

__all__ = ["MatrixChannel", "exact_sum", "left_inverse", "rounded", "shown_map"]

Floats = NDArray[np.float64]
Entries = tuple[tuple[Fraction, ...], ...]

_MOST_CONDITION = 1e12
"""Beyond this condition number of the information, shares are no more than rounding errors."""

_MOST_PAIRED, _MOST_DIFFERENT = 4_000_000, 50_000
"""So many reports of pairs of truths are compared, and so many in laws that differ."""

_ALIKE = 1e-5
"""Probabilities that differ by less, relatively, are taken for equal in an error's reason."""


def exact_sum(parts: Sequence[Fraction]) -> Fraction:
    """The sum of many fractions, over one denominator: ten times as fast as one by one."""
    common = lcm(*{part.denominator for part in parts})
    return Fraction(sum(part.numerator * (common // part.denominator) for part in parts), common)


def rounded(number: Fraction, digits: int) -> str:
    """A fraction of any size in so many digits.

    >>> rounded(Fraction(2, 3), 3), rounded(Fraction(2 * 10**400), 3)
    ('0.667', '2.00e+400')
    """
    try:
        return f"{float(number):.{digits}g}"
    except OverflowError:
        return f"{Decimal(number.numerator) / Decimal(number.denominator):.{digits}g}"


def _check_total(truth: int, total: Fraction, tolerance: Fraction) -> None:
    """Raise unless the column of one truth sums to 1."""
    if abs(total - 1) > tolerance:
        hint = "; are the axes swapped, or is a report missing?" if abs(total - 1) > 0.001 else ""
        raise ArgumentValueError(
            f"matrix[report, truth] must have columns that sum to 1, column {truth} sums to "
            f"{rounded(total, 12)}, off by {rounded(total - 1, 3)}{hint}"
        )


def _rows(entries: Any, name: str) -> Entries:
    try:
        return tuple(tuple(as_fraction(number, name) for number in row) for row in entries)
    except TypeError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise ArgumentTypeError(f"{name} must be rows of numbers") from None


def shown_map(shows: tuple[int, ...]) -> Floats:
    """(k, classes) 1 where a class shows a category."""
    categories = np.arange(max(shows) + 1)
    return np.asarray(categories[:, None] == np.array(shows)[None, :], dtype=np.float64)


def left_inverse(matrix: Floats, shown: Floats, sizes: Floats | None = None) -> Floats:
    """(k, m) L with L @ matrix == shown, of least variance where all classes are equally common.

    matrix : (m, classes), of one sample or of several on top of one another.
    shown : (k, classes) the map to the categories.
    sizes : (m,) the size of each row's sample, where samples differ in size.
    Raises NotIdentifiable, with the condition number, where there is none.
    """
    possible = matrix.sum(axis=1) > 0
    weighted = np.zeros_like(matrix.T)
    weighted[:, possible] = matrix[possible].T / matrix[possible].mean(axis=1)
    if sizes is not None:
        weighted *= sizes / sizes.max()
    information = weighted @ matrix
    if np.array_equal(shown, np.eye(len(information))):
        condition = float(np.linalg.cond(information))
        if condition < _MOST_CONDITION:
            return np.asarray(np.linalg.solve(information, weighted))
    else:  # the classes need not be identified, only what they show
        values, vectors = np.linalg.eigh(information)
        kept = values > values[-1] / _MOST_CONDITION
        condition = float(values[-1] / values[kept][0])
        inverse = shown @ (vectors[:, kept] / values[kept]) @ vectors[:, kept].T @ weighted
        if np.allclose(inverse @ matrix, shown, rtol=0, atol=1e-7):
            return np.asarray(inverse)
        condition = float("inf")
    raise NotIdentifiable(
        "reports do not identify the true shares (the information matrix has condition number "
        f"{condition:.3g}): {_reason(matrix, shown)}"
    )


def _reason(matrix: Floats, shown: Floats) -> str:
    """Why reports do not identify what classes show, and what to do about it."""
    m, classes = matrix.shape
    samples = round(float(matrix[:, 0].sum()))  # each adds 1 to the sum of a column
    if samples > 1 and m % samples == 0:
        blocks = matrix.reshape(samples, -1, classes)
        if np.allclose(blocks, blocks[0], rtol=_ALIKE, atol=0):
            return (
                "all samples have the same probabilities, so that together they tell no more than "
                "one; the samples must differ"
            )
    columns = matrix.T
    if np.allclose(columns, columns[0], rtol=_ALIKE, atol=0):
        return (
            f"all {classes} true answers are reported alike, so that reports carry no information; "
            "choose another probability"
        )
    for one, other in combinations(range(classes), 2):
        if np.array_equal(shown[:, one], shown[:, other]):
            continue
        if np.allclose(columns[one], columns[other], rtol=_ALIKE, atol=0):
            return (
                f"the true answers number {one + 1} and {other + 1} are reported alike; merge "
                "them, or choose other probabilities"
            )
    return (
        "some true answers are reported like a mixture of others; merge categories, or let them "
        "make more different reports"
    )


@dataclass(frozen=True)
class MatrixChannel(OneSample):
    """A channel given by its matrix; reports are codes 0 .. m-1.

    entries : m rows (reports) of exact numbers (truths); columns sum to 1.
    inverse : the design's own left inverse, k rows of m exact numbers; checked.
    shows : for each class of true answers (a column) the category 0 .. k-1 that it shows; by
        default the classes are the categories.
    Raises ArgumentValueError or ArgumentTypeError for anything else; for numbers of a survey or
    a paper, which sum to 1 up to rounding, use `from_floats`.

    >>> MatrixChannel(((Fraction(5, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(5, 6)))).k
    2
    """

    entries: Entries
    inverse: Entries | None = None
    shows: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        rows = _rows(self.entries, "matrix[report, truth]")
        lengths = {len(row) for row in rows}
        if len(lengths) != 1 or lengths.pop() < 2:
            raise ArgumentValueError(
                "matrix[report, truth] must have rows (reports) of equal length, one number for "
                f"each of at least 2 categories; found rows of {sorted({len(r) for r in rows})}"
            )
        object.__setattr__(self, "entries", rows)
        for truth, column in enumerate(zip(*rows, strict=True)):
            if any(entry.numerator < 0 for entry in column):
                raise ArgumentValueError(
                    "matrix[report, truth] must not be negative, found "
                    f"{rounded(min(column), 6)} in column {truth}"
                )
            _check_total(truth, exact_sum(column), Fraction(0))
        self._check_shows()
        self._check_inverse()

    def _check_shows(self) -> None:
        if self.shows is None:
            return
        codes = tuple(map(int, self.shows))
        if (
            len(codes) != self.classes
            or set(codes) != set(range(len(set(codes))))
            or not any(codes)
        ):
            raise ArgumentValueError(
                f"shows must give each of the {self.classes} classes one of at least 2 categories "
                f"0, 1, ..., found {list(codes)}"
            )
        own = codes == tuple(range(self.classes))
        object.__setattr__(self, "shows", None if own else codes)

    def _check_inverse(self) -> None:
        if self.inverse is None:
            return
        rows = _rows(self.inverse, "inverse[category, report]")
        object.__setattr__(self, "inverse", rows)
        if [len(row) for row in rows] != [self.m] * self.k:
            raise ArgumentValueError(
                f"inverse must have {self.k} rows (categories) of {self.m} numbers (reports)"
            )
        columns = list(zip(*self.entries, strict=True))
        for category, row in enumerate(rows):
            for truth, column in enumerate(columns):
                found = sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
                if found != int(self._shows[truth] == category):
                    raise ArgumentValueError(
                        "inverse times the matrix must be 1 where a truth shows a category and 0 "
                        f"elsewhere; found {rounded(found, 12)} for category {category}, truth "
                        f"{truth}"
                    )

    @classmethod
    def from_floats(
        cls, matrix: ArrayLike, inverse: Any = None, shows: tuple[int, ...] | None = None
    ) -> MatrixChannel:
        """A channel from numbers; a column within 1e-9 of 1 is normalized exactly."""
        try:
            listed = np.asarray(matrix, dtype=object)
        except ValueError:  # rows of different lengths
            listed = np.empty(0)
        if listed.ndim != 2:
            raise ArgumentValueError(
                "matrix[report, truth] must have two axes, reports and categories"
            )
        rows = [[as_fraction(x, "matrix[report, truth]") for x in row] for row in listed.tolist()]
        totals = [exact_sum(column) for column in zip(*rows, strict=True)]
        for truth, total in enumerate(totals):
            _check_total(truth, total, Fraction(1, 10**9))
        entries = tuple(tuple(x / t for x, t in zip(r, totals, strict=True)) for r in rows)
        return cls(entries, inverse, shows)

    @property
    def classes(self) -> int:
        """The number of classes of true answers: columns of the matrix."""
        return len(self.entries[0])

    @property
    def k(self) -> int:
        """The number of categories."""
        return self.classes if self.shows is None else max(self.shows) + 1

    @property
    def m(self) -> int:
        """The number of reports: rows of the matrix."""
        return len(self.entries)

    @property
    def _shows(self) -> tuple[int, ...]:
        return tuple(range(self.classes)) if self.shows is None else self.shows

    @property
    def named(self) -> NDArray[np.intp]:
        """(m,) in a square matrix each report speaks for its category; else none does."""
        own = self.shows is None and self.m == self.k
        return np.arange(self.m) if own else np.full(self.m, -1, dtype=np.intp)

    @cached_property
    def odds(self) -> Fraction:
        """The worst ratio within a row, between any two classes; 0 stands for infinite."""
        worst = Fraction(1)
        for row in map(_distinct, self.entries):
            if not any(row):
                continue
            if not all(row):
                return Fraction(0)
            worst = max(worst, max(row) / min(row))
        return worst

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """The least law above all pairs of classes; where they are too many, by the odds."""
        laws = _laws(self.entries)
        return PrivacyLoss.of_odds(self.odds) if laws is None else worst_loss(laws)

    @cached_property
    def matrix(self) -> Floats:
        """(m, classes) ``matrix[report, truth]``."""
        return _kept(np.array([[x.numerator / x.denominator for x in row] for row in self.entries]))

    @cached_property
    def shown(self) -> Floats:
        """(k, classes) 1 where a class shows a category."""
        return _kept(shown_map(self._shows))

    @cached_property
    def left_inverse(self) -> Floats:
        """(k, m): the design's own, or that of `left_inverse`."""
        if self.inverse is not None:
            return _kept(np.array([[float(x) for x in row] for row in self.inverse]))
        return _kept(left_inverse(self.matrix, self.shown))

    @property
    def condition(self) -> float:
        """The condition number: how much the left inverse amplifies."""
        return float(np.linalg.norm(self.left_inverse, 2) * np.linalg.norm(self.matrix, 2))

    def check_possible(self, reported: NDArray[Any]) -> None:
        """Raise for counts of reports that this design never makes."""
        never = int(np.asarray(reported)[~self.matrix.any(axis=1)].sum())
        if never:
            raise ArgumentValueError(
                f"{never} of {int(np.sum(reported))} counts hold reports that this design never "
                "makes; give the mechanism that made them"
            )

    def debias(self, reported: NDArray[Any], n: int) -> Floats:
        """(m,) counts of n respondents to (k,) unbiased shares; NaN where n is 0.

        Raises ArgumentValueError for reports that the design never makes.
        """
        self.check_possible(reported)
        return super().debias(reported, n)

    def debias_covariance(
        self, reported: NDArray[Any], n: int, target: str, ddof: int = 1
    ) -> Floats:
        """(k, k) covariance of the estimate, at the estimated shares or the reported rates."""
        if self.shows is None:
            return super().debias_covariance(reported, n, target, ddof)
        # Classes are not known from the shares of the categories; the rates are.
        size = n - ddof if check_target(target) == "population" else n
        with np.errstate(invalid="ignore"):
            found = self._moments(np.asarray(reported) / np.float64(n), target)
        return found / (size if size > 0 else np.nan)

    def debias_variance(self, reported: NDArray[Any], n: int, target: str, ddof: int = 1) -> Floats:
        """(k,) the diagonal of `debias_covariance`."""
        return np.maximum(np.diagonal(self.debias_covariance(reported, n, target, ddof)), 0.0)

    def score_range(self, targets: int = 1) -> tuple[float, float]:
        """The least and the greatest sum of the scores of ``targets`` categories in one report."""
        scores = np.sort(self.left_inverse, axis=0)
        low, high = scores[:targets].sum(axis=0), scores[-targets:].sum(axis=0)
        return float(low.min()), float(high.max())

    def score_variances(self, reported: NDArray[Any]) -> Floats:
        """(k, classes) variance of each category's score for people of each class."""
        # The mean of a score is 0 or 1, so it is its own square.
        return np.maximum(self.left_inverse**2 @ self.matrix - self.shown, 0.0)

    def scores(self, reports: NDArray[Any]) -> Floats:
        """(n, k) unbiased values: the column of the left inverse for each report."""
        return np.asarray(self.left_inverse.T[reports])

    def likelihood(self, reports: NDArray[Any]) -> Floats:
        """(n, classes) P(report | truth)."""
        return np.asarray(self.matrix[reports])

    def solve(self, rates: ArrayLike) -> Floats:
        """(..., m) rates of the reports to (..., k) unbiased shares."""
        return np.asarray(rates, dtype=np.float64) @ self.left_inverse.T

    def rates(self, shares: ArrayLike) -> Floats:
        """(..., classes) true shares to (..., m) expected rates of the reports."""
        return np.asarray(shares, dtype=np.float64) @ self.matrix.T

    def _moments(self, rates: Floats, target: str) -> Floats:
        """Covariance of one score where reports have these rates."""
        inverse = self.left_inverse
        # E[score score' | truth]: the same for both targets; what is subtracted differs.
        second = np.einsum("ar,...r,br->...ab", inverse, rates, inverse)
        mean = self.solve(rates)
        if check_target(target) == "population":
            return np.asarray(second - mean[..., :, None] * mean[..., None, :])
        exact = np.zeros_like(second)
        diagonal = np.arange(self.k)
        exact[..., diagonal, diagonal] = mean
        return np.asarray(second - exact)

    def covariance(self, shares: ArrayLike, target: str) -> Floats:
        """(..., k, k) covariance of one debiased report at true shares of the classes."""
        return self._moments(self.rates(shares), target)

    def variance(self, shares: ArrayLike, target: str) -> Floats:
        """(..., k) variance of one debiased report at true shares of the classes."""
        diagonal = np.diagonal(self.covariance(shares, target), axis1=-2, axis2=-1)
        return np.maximum(diagonal, 0.0)  # rounding can carry a 0 below itself

    @cached_property
    def binomial_rates(self) -> BinomialRates | None:
        """The rates of the reports that name a category, where other truths are all alike in it.

        So in every design of two categories and two reports, and in forced response.
        """
        if self.shows is not None or self.m != self.k:
            return None
        base = []
        for report, row in enumerate(self.entries):
            others = set(_distinct(row[:report] + row[report + 1 :]))
            if len(others) != 1 or row[report] in others:
                return None
            base.append(float(others.pop()))
        return BinomialRates(np.array(base), np.diagonal(self.matrix).copy(), self.k == 2)

    def most_likely(self, reported: NDArray[Any]) -> Floats:
        """(classes,) shares inside the simplex that make the counts likeliest."""
        self.check_possible(reported)
        _ = self.left_inverse  # raises NotIdentifiable where nothing can be said
        return likelihood.most_likely(self.matrix, reported)

    def then(self, second: Channel) -> Channel:
        """The product: what is reported by this channel, randomized once more."""
        check_reports_fit(self.m, second)
        before = list(zip(*self.entries, strict=True))
        entries = tuple(
            tuple(
                sum((a * b for a, b in zip(row, col, strict=True)), Fraction(0)) for col in before
            )
            for row in second.entries
        )
        return MatrixChannel(entries, shows=self.shows)


def _distinct(row: Sequence[Fraction]) -> list[Fraction]:
    """The numbers of a row once each, as far as they are the same objects: hashing them is slow."""
    return list({id(number): number for number in row}.values())


def _laws(entries: Entries) -> list[list[tuple[Fraction, Fraction]]] | None:
    """The different laws of pairs of columns, whatever the order of the rows; None if too many."""
    m, classes = len(entries), len(entries[0])
    if m * classes**2 > _MOST_PAIRED:
        return None
    codes: dict[Fraction, int] = {}
    table = np.array([[codes.setdefault(x, len(codes)) for x in row] for row in entries])
    numbers = list(codes)
    different = set()
    for one, other in combinations(range(classes), 2):
        both = [table[:, a] * len(numbers) + table[:, b] for a, b in ((one, other), (other, one))]
        different.add(min(np.sort(law).tobytes() for law in both))
    if m * len(different) > _MOST_DIFFERENT:
        return None
    pairs = [np.divmod(np.frombuffer(law, table.dtype), len(numbers)) for law in different]
    return [[(numbers[a], numbers[b]) for a, b in zip(*pair, strict=True)] for pair in pairs]


def _kept(array: Floats) -> Floats:
    """An array that is kept and handed out, so nobody may write to it."""
    array.flags.writeable = False
    return array
