"""Channels with exact fractions: a matrix, a product of two channels, or several samples.

``matrix[report, truth]`` has m rows and a column for each class of true answers; columns sum
to 1.  The unbiased estimate is a left inverse of the matrix times the rates of the reports.  Some
designs have their own left inverse (the mean score of Kuk's cards).  The default is
(P' D^-1 P)^-1 P' D^-1, with D the distribution of the reports when all classes are equally common;
for a square P it is the inverse.

A design may have more latent classes than categories: people with a trait who report it and people
who deny it are one category.  Then only the categories need to be identified.

A `StackedChannel` holds several samples of one population.  Inference is conditional on the sizes
of the samples, and people are assumed to be randomly assigned to them.  In mixed designs every
sample alone identifies the proportions (versions of a questionnaire, waves with other parameters,
a sample with direct answers): the estimate is the mean of the scores of all respondents, each
debiased by their own channel.  In two-sample designs only all samples together do (an unrelated
question of unknown prevalence, cheater detection): the estimate uses one left inverse of the
stacked matrix.  So it does where a public coin assigned people to samples (the parts of a plan),
so that all samples have the same proportions and may count by their precision.
Sources: van den Hout and van der Heijden (2002); Chaudhuri (2011) for scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rrstats._cached import cached_property
from rrstats._frozen import Shared, fixed
from rrstats._typing import Array, Floats, Indices
from rrstats.errors import ArgumentValueError, NotIdentifiableError
from rrstats.mechanisms.channel import (
    BinomialRates,
    Entries,
    KRRChannel,
    MultinomialChannel,
    check_target,
    has_latent_classes,
    recode_matrix,
)

_MAX_CONDITION = 1e16
"""Above this condition number of the information matrix estimates are only rounding error."""

_MAX_CONDITION_OF_CLASSES = 1e12
"""Above this condition number a class among several of a category is not told from the others."""

_RECODE_TOLERANCE = 1e-7
"""Tolerance of inverse @ matrix, if only categories are identified: pinv rounds more than inv."""

_EQUAL_RTOL = 1e-5
"""The relative difference below which error messages treat probabilities as equal."""


class MatrixForm(Shared):
    """Operations on an exact matrix; reports are codes 0 .. m-1."""

    inverse: Entries | None
    is_multinomial = True

    if TYPE_CHECKING:  # fields of some channels, computed by others

        @property
        def entries(self) -> Entries:
            """(m, classes) the exact matrix."""

        @property
        def class_of(self) -> tuple[int, ...]:
            """(classes,) the category of each class."""

    @property
    def k(self) -> int:
        """The number of categories."""
        return max(self.class_of) + 1

    @property
    def m(self) -> int:
        """The number of reports: rows of the matrix."""
        return len(self.matrix)

    @cached_property
    def samples(self) -> Indices:
        """(m,) all cells belong to one sample."""
        return fixed(np.zeros(self.m, dtype=np.intp))

    @cached_property
    def max_likelihood_ratio(self) -> Fraction | float:
        """The largest ratio within a row, between any two classes."""
        # Rows repeat few objects many times, and comparing fractions is slow.
        rows = [{id(x): x for x in row}.values() for row in self._comparable if any(row)]
        return max(Fraction(max(row), min(row)) if all(row) else math.inf for row in rows)

    @property
    def _comparable(self) -> Iterable[Sequence[Fraction | int]]:
        """The rows of the matrix, each up to a factor."""
        return self.entries

    @cached_property
    def binomial_rates(self) -> BinomialRates | None:
        """The rates of each report, if all other true answers give it the same probability.

        This holds for all designs with two categories and two reports, and for forced response.
        """
        if not self._names_categories:
            return None
        correct = np.diagonal(self.matrix).copy()
        wrong = self.matrix[~np.eye(self.k, dtype=bool)].reshape(self.k, -1)
        if np.any(wrong != wrong[:, :1]) or np.any(wrong[:, 0] == correct):
            return None
        return BinomialRates(fixed(wrong[:, 0].copy()), fixed(correct), self.k == 2)

    @property
    def _names_categories(self) -> bool:
        """True if there is one report for each category, and classes are categories."""
        return self.m == self.k == len(self.class_of)

    @cached_property
    def matrix(self) -> Floats:
        """(m, classes) ``matrix[report, truth]``, each the double nearest to the exact entry."""
        return fixed(np.array([[x.numerator / x.denominator for x in row] for row in self.entries]))

    @cached_property
    def left_inverse(self) -> Floats:
        """(k, m) the design's own left inverse, or the one of `left_inverse`."""
        if self.inverse is not None:
            return fixed(np.array([[float(x) for x in row] for row in self.inverse]))
        return fixed(left_inverse(self.matrix, recode_matrix(self)))

    def support_counts(self, counts: ArrayLike) -> Floats:
        """(..., k) the counts if each report names a category; otherwise NaN."""
        reported = np.asarray(counts, dtype=np.float64)
        if self._names_categories:
            return reported
        return np.full((*reported.shape[:-1], self.k), np.nan)

    def solve(self, rates: ArrayLike) -> Floats:
        """(..., m) rates of the reports to (..., k) unbiased proportions."""
        return np.asarray(rates, dtype=np.float64) @ self.left_inverse.T

    def _rates(self, proportions: ArrayLike) -> Floats:
        """(..., m) the rates of the reports at true proportions of the classes."""
        return np.asarray(proportions, dtype=np.float64) @ self.matrix.T

    def covariance(self, proportions: ArrayLike, target: str) -> Floats:
        """(..., k, k) covariance of one debiased report at true proportions of the classes."""
        return score_covariance(self.left_inverse.T, self._rates(proportions), target)

    def scores(self, reports: Array) -> Floats:
        """(n, k) unbiased values: for each report its column of the left inverse."""
        return np.asarray(self.left_inverse.T[reports])

    def likelihood(self, reports: Array) -> Floats:
        """(n, classes) P(report | truth)."""
        return np.asarray(self.matrix[reports])


@dataclass(frozen=True)
class MatrixChannel(MatrixForm):
    """A channel given by its matrix.

    Parameters
    ----------
    entries : tuple of m tuples of Fractions
        A row for each report, with one number for each class; columns sum to 1.
    inverse : tuple of k tuples of m Fractions, optional
        The design's own left inverse.
    class_of : tuple of int, optional
        The category of each class; by default the classes are the categories.

    Examples
    --------
    >>> MatrixChannel(((Fraction(5, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(5, 6)))).k
    2
    """

    entries: Entries
    inverse: Entries | None = None
    class_of: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.class_of:
            object.__setattr__(self, "class_of", tuple(range(len(self.entries[0]))))


@dataclass(frozen=True)
class ProductChannel(MatrixForm):
    """The channel of reports of ``first`` that ``second`` randomizes again."""

    first: MultinomialChannel
    second: MultinomialChannel
    inverse: None = None

    @property
    def class_of(self) -> tuple[int, ...]:
        """The category of each class of the first channel."""
        return tuple(self.first.class_of)

    @cached_property
    def _integers(self) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """(m, classes) integers, and the (m,) denominators of the rows.

        Sums of fractions would take a hundred times as long.
        """
        rows, row_denominators = _common_denominators(self.second.entries)
        columns, column_denominators = _common_denominators(zip(*self.first.entries, strict=True))
        common = math.lcm(*column_denominators)
        numerators = rows @ columns.T * (common // column_denominators)
        return fixed(numerators), fixed(row_denominators * common)

    @property
    def _comparable(self) -> Iterable[Sequence[Fraction | int]]:
        rows: list[list[int]] = self._integers[0].tolist()
        return rows

    @property
    def entries(self) -> Entries:
        """The exact product."""
        rows = zip(*self._integers, strict=True)
        return tuple(
            tuple(Fraction(numerator, denominator) for numerator in numerators)
            for numerators, denominator in rows
        )

    @cached_property
    def matrix(self) -> Floats:
        """(m, classes) ``matrix[report, truth]``, each the double nearest to the exact entry."""
        numerators, denominators = self._integers
        return fixed((numerators / denominators[:, None]).astype(np.float64))


def chained(first: MultinomialChannel, second: MultinomialChannel) -> MultinomialChannel:
    """The channel of reports of ``first`` that ``second`` randomizes again."""
    if isinstance(first, KRRChannel) and isinstance(second, KRRChannel) and first.k == second.k:
        return first.then(second)
    return ProductChannel(first, second)


def _common_denominators(
    rows: Iterable[Sequence[Fraction]],
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """The numerators of rows of fractions over a common denominator, and the denominators."""
    listed = list(rows)
    denominators = [math.lcm(*{part.denominator for part in row}) for row in listed]
    numerators = [
        [part.numerator * (denominator // part.denominator) for part in row]
        for row, denominator in zip(listed, denominators, strict=True)
    ]
    return np.array(numerators, dtype=object), np.array(denominators, dtype=object)


def score_covariance(scores: Floats, rates: Floats, target: str) -> Floats:
    """(..., k, k) covariance of one report's score if the cells have these rates.

    scores : (m, k).  rates : (..., m).
    E[score score' | truth] is the same for both targets; the subtracted term differs.
    """
    second = np.einsum("ra,...r,rb->...ab", scores, rates, scores)
    mean = rates @ scores
    if check_target(target) == "population":
        return np.asarray(second - mean[..., :, None] * mean[..., None, :])
    return np.asarray(second - mean[..., None] * np.eye(scores.shape[1]))


# -- the left inverse ------------------------------------------------------------------------


def left_inverse(matrix: Floats, recode: Floats, sizes: Floats | None = None) -> Floats:
    """(k, m) L with L @ matrix == recode, and the least variance if all classes are equally common.

    matrix : (m, classes), of one sample or of several stacked samples.
    recode : (k, classes) the map to the categories.
    sizes : (m,) the size of each row's sample, if samples differ in size.
    Raises NotIdentifiableError, with the condition number, if there is no such L.
    """
    possible = matrix.sum(axis=1) > 0
    weights = np.zeros(len(matrix))
    weights[possible] = 1 / matrix[possible].mean(axis=1)
    if sizes is not None:
        weights *= sizes / sizes.max()
    # Least squares from the root of the information matrix, whose condition number is the root:
    # near epsilon 0 the matrix itself would lose all digits.
    scales = np.sqrt(weights)
    root = scales[:, None] * matrix
    if np.array_equal(recode, np.eye(root.shape[1])):
        has_rows = len(root) >= root.shape[1]
        condition = float(np.linalg.cond(root)) ** 2 if has_rows else math.inf
        if condition < _MAX_CONDITION and possible.sum() == root.shape[1]:
            # The only left inverse; elimination keeps the zeros of a triangular matrix exact, so
            # that a group without people has the size 0.
            inverse = np.zeros_like(matrix.T)
            inverse[:, possible] = np.linalg.inv(matrix[possible])
            return inverse
        if condition < _MAX_CONDITION:
            orthogonal, triangle = np.linalg.qr(root)
            return np.asarray(np.linalg.solve(triangle, orthogonal.T) * scales)
    else:  # the classes need not be identified, only their categories
        cutoff = _MAX_CONDITION_OF_CLASSES**-0.5
        inverse = recode @ np.linalg.pinv(root, rcond=cutoff) * scales
        if np.allclose(inverse @ matrix, recode, rtol=0, atol=_RECODE_TOLERANCE):
            return np.asarray(inverse)
        condition = math.inf
    raise NotIdentifiableError(
        "reports do not identify the true proportions (the information matrix has condition "
        f"number {condition:.3g}): {_reason(matrix)}"
    )


def _reason(matrix: Floats) -> str:
    """The reason why reports do not identify the categories, and a remedy."""
    samples = round(float(matrix[:, 0].sum()))  # each adds 1 to the sum of a column
    is_even = len(matrix) % samples == 0  # a plan's samples differ in their cells
    if samples > 1 and is_even and _all_equal(matrix.reshape(samples, -1)):
        return (
            "all samples have the same probabilities, so together they carry no more information "
            "than one; the samples must differ"
        )
    columns = matrix.T
    if _all_equal(columns):
        return (
            f"all {len(columns)} true answers have the same report probabilities, so reports carry "
            "no information; choose another probability"
        )
    return (
        "some true answers have the same report probabilities as others, or as a mixture of "
        "others; merge categories, or choose a matrix that distinguishes them"
    )


def _all_equal(rows: Floats) -> bool:
    """True if all rows of probabilities are equal, as far as an error message can tell."""
    return np.allclose(rows, rows[0], rtol=_EQUAL_RTOL, atol=0)


# -- several samples ------------------------------------------------------------------------


@dataclass(frozen=True)
class StackedChannel(MatrixForm):
    """The channels of several samples, over the same classes of true answers.

    parts : one multinomial channel for each sample.
    class_of : the category of each class.
    pooled : whether a coin assigned people to samples.  They then count by their precision at
        equally common classes; else, where each identifies the categories, all reports count alike.
    If the sizes of samples are not given, they count as equal.

    >>> parts = (KRRChannel.of(2, Fraction(3, 4)), KRRChannel.of(2, Fraction(9, 10)))
    >>> StackedChannel(parts, (0, 1)).solve([0.4, 0.6, 0.15, 0.85]).round(3)
    array([0.181, 0.819])
    """

    parts: tuple[MultinomialChannel, ...]
    class_of: tuple[int, ...]
    pooled: bool = False

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The first cell of each part, and the end of the last part."""
        return tuple(np.cumsum([0, *(part.m for part in self.parts)]).tolist())

    @cached_property
    def samples(self) -> Indices:
        """(m,) the sample of each cell."""
        return fixed(np.repeat(np.arange(len(self.parts)), [part.m for part in self.parts]))

    @property
    def max_likelihood_ratio(self) -> Fraction | float:
        """The largest ratio within any sample."""
        return max(part.max_likelihood_ratio for part in self.parts)

    @cached_property
    def is_separable(self) -> bool:
        """True if every sample alone identifies the categories."""
        if has_latent_classes(self):
            return False
        try:
            for part in self.parts:
                part.solve(np.zeros(part.m))
        except NotIdentifiableError:
            return False
        return True

    @property
    def has_scores(self) -> bool:
        """True if the estimate is the mean of the scores of all reports, each from its sample."""
        return self.is_separable and not self.pooled

    def pool(self) -> StackedChannel:
        """The channel of these samples for people whom a coin assigned to them."""
        return replace(self, pooled=True)

    @cached_property
    def matrix(self) -> Floats:
        """(m, classes) ``matrix[report, truth]``; columns sum to 1 within each sample."""
        return fixed(np.vstack([part.matrix for part in self.parts]))

    @property
    def entries(self) -> Entries:
        """The exact stacked matrix of all parts."""
        return tuple(row for part in self.parts for row in part.entries)

    def split(self, values: ArrayLike) -> list[Any]:
        """Values of the cells, along the last axis, for each part."""
        return np.split(np.asarray(values, dtype=np.float64), self.bounds[1:-1], axis=-1)

    def support_counts(self, counts: ArrayLike) -> Floats:
        """(..., k) the sum over samples; NaN if the reports of a sample support no category."""
        pairs = zip(self.parts, self.split(counts), strict=True)
        total = sum(part.support_counts(block) for part, block in pairs)
        if has_latent_classes(self):
            return np.full((*np.shape(counts)[:-1], self.k), np.nan)
        return np.asarray(total)

    def solve(self, rates: ArrayLike, sizes: Floats | None = None) -> Floats:
        """(..., m) rates within each sample to (..., k) unbiased proportions.

        sizes : (m,) the size of each cell's sample; the result is NaN if a needed sample is empty.
        """
        return np.asarray(rates, dtype=np.float64) @ self._weights(sizes).T

    @cached_property
    def _separate_inverses(self) -> Floats:
        """(k, m) the left inverses of the samples, side by side."""
        return fixed(np.hstack([part.solve(np.eye(part.m)).T for part in self.parts]))

    @cached_property
    def _precisions(self) -> Floats | None:
        """(m,) the precision of a report of each cell's sample, if all samples are k-RR.

        Up to a factor the inverse variance of its score at equally common categories, (p - q)^2:
        then these weights are those of `left_inverse`.
        """
        gaps = [part.gap for part in self.parts if isinstance(part, KRRChannel)]
        if len(gaps) < len(self.parts):
            return None
        return fixed(np.array(gaps)[self.samples] ** 2)

    def _weights(self, sizes: Floats | None) -> Floats:
        """(k, m) the left inverse of all samples together."""
        precisions = self._precisions if self.pooled else np.ones(self.m)
        if self.is_separable and precisions is not None:
            people = precisions if sizes is None else sizes * precisions
            with np.errstate(invalid="ignore"):
                proportions = people / people[list(self.bounds[:-1])].sum()
            return np.asarray(self._separate_inverses * proportions)
        equal_sizes = left_inverse(self.matrix, recode_matrix(self))  # raises for the design itself
        if sizes is None:
            return equal_sizes
        try:
            if sizes.any():
                return left_inverse(self.matrix, recode_matrix(self), sizes)
        except NotIdentifiableError:  # a needed sample is empty, or far smaller than another
            if sizes.all():
                return equal_sizes
        return np.full_like(equal_sizes, np.nan)

    def covariance(self, proportions: ArrayLike, target: str) -> Floats:
        """(..., k, k) n times the covariance of the estimate from n people in equal samples."""
        sizes = np.full(len(self.parts), 1 / len(self.parts))
        covariance = self.covariance_of_parts(proportions, sizes)
        if check_target(target) == "population":
            return covariance
        mean = self._rates(proportions) @ self._weights(None).T
        sampling = mean[..., None] * np.eye(self.k) - mean[..., :, None] * mean[..., None, :]
        return covariance - sampling

    def covariance_of_parts(self, proportions: ArrayLike, fractions: Floats) -> Floats:
        """(..., k, k) n times the covariance in the population, for samples of unequal sizes.

        fractions : (parts,) the part of all n people in each sample.
        """
        weights = self._weights(fractions[self.samples])
        return covariance_within(weights, self._rates(proportions), self.samples, fractions)

    def scores(self, reports: Array) -> Floats:
        """(n, k) unbiased values of coded reports, if every sample identifies the categories."""
        if not self.has_scores:
            raise ArgumentValueError(
                "a single report has no score in this design: only all samples together identify "
                "the proportions"
            )
        return np.asarray(self._separate_inverses.T[reports])


def covariance_within(weights: Floats, rates: Floats, samples: Indices, sizes: Floats) -> Floats:
    """(..., k, k) covariance of ``weights @ rates`` with multinomial samples.

    weights : (k, m).  rates : (..., m) within each sample.  sizes : (samples,).
    """
    total: Any = 0.0
    for sample, size in enumerate(sizes):
        cells = samples == sample
        covariance = score_covariance(weights[:, cells].T, rates[..., cells], "population")
        total = total + covariance / size
    return np.asarray(total)
