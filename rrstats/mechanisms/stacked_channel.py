"""Several samples on top of one another: each has a channel of its own for the same people.

The cells of a `StackedChannel` are those of its parts, one part after the other, and a tally
of it knows the size of every sample.  Two kinds of survey need it:

- *mixed designs*, in which every sample alone identifies the proportions (versions of a
  questionnaire, waves with other parameters, some who answer directly): the estimate is the mean
  of the scores of all respondents, each debiased by their own channel;
- *two-sample designs*, in which only all samples together do (an unrelated question of unknown
  prevalence, cheater detection): the estimate is one left inverse of the stacked matrix.

The size of each sample counts as given, and people as assigned to samples by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError, NotIdentifiableError
from rrstats.mechanisms.channel import (
    MultinomialChannel,
    check_target,
    has_latent_classes,
    recode_matrix,
)
from rrstats.mechanisms.matrix_channel import (
    Entries,
    MatrixForm,
    kept,
    left_inverse,
    score_covariance,
)


@dataclass(frozen=True)
class StackedChannel(MatrixForm):
    """The channels of several samples, over the same classes of true answers.

    parts : one multinomial channel for each sample.
    class_of : the category of each class; by default the classes are the categories.
    Where the sizes of samples are not given they count as equal.

    >>> from rrstats.mechanisms.support_channel import KRRChannel
    >>> parts = (KRRChannel.of(2, Fraction(3, 4)), KRRChannel.of(2, Fraction(9, 10)))
    >>> StackedChannel(parts, (0, 1)).solve([0.4, 0.6, 0.15, 0.85]).round(3)
    array([0.181, 0.819])
    """

    parts: tuple[MultinomialChannel, ...]
    class_of: tuple[int, ...]

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The first cell of each part, and the end of the last part."""
        return tuple(np.cumsum([0, *(part.m for part in self.parts)]).tolist())

    @cached_property
    def samples(self) -> NDArray[np.intp]:
        """(m,) the sample of each cell."""
        return np.repeat(np.arange(len(self.parts)), [part.m for part in self.parts])

    @property
    def max_likelihood_ratio(self) -> Fraction | float:
        """The largest ratio within any sample."""
        return max(part.max_likelihood_ratio for part in self.parts)

    @cached_property
    def is_separable(self) -> bool:
        """True where every sample identifies the categories by itself."""
        if has_latent_classes(self):
            return False
        try:
            for part in self.parts:
                part.solve(np.zeros(part.m))
        except NotIdentifiableError:
            return False
        return True

    @cached_property
    def matrix(self) -> Floats:
        """(m, classes) ``matrix[report, truth]``; columns sum to 1 within each sample."""
        return kept(np.vstack([part.matrix for part in self.parts]))

    @property
    def entries(self) -> Entries:
        """The exact matrix, one part on top of the other."""
        return tuple(row for part in self.parts for row in part.entries)

    def split(self, values: ArrayLike) -> list[Any]:
        """Values of the cells, along the last axis, for each part."""
        return np.split(np.asarray(values, dtype=np.float64), self.bounds[1:-1], axis=-1)

    def support_counts(self, counts: ArrayLike) -> Floats:
        """(..., k) the sum over samples; NaN where the reports of one support no category."""
        pairs = zip(self.parts, self.split(counts), strict=True)
        total = sum(part.support_counts(block) for part, block in pairs)
        if has_latent_classes(self):
            return np.full((*np.shape(counts)[:-1], self.k), np.nan)
        return np.asarray(total)

    def solve(self, rates: ArrayLike, sizes: Floats | None = None) -> Floats:
        """(..., m) rates within each sample to (..., k) unbiased proportions.

        sizes : (m,) the size of each cell's sample; NaN comes out where one that is needed is
            empty.
        """
        return np.asarray(rates, dtype=np.float64) @ self._weights(sizes).T

    @cached_property
    def _each_alone(self) -> Floats:
        """(k, m) the left inverses of the samples, side by side."""
        return np.hstack([part.solve(np.eye(part.m)).T for part in self.parts])

    def _weights(self, sizes: Floats | None) -> Floats:
        """(k, m) the left inverse of all samples together."""
        if self.is_separable:
            people = np.ones(self.m) if sizes is None else sizes
            with np.errstate(invalid="ignore"):
                shares = people / people[list(self.bounds[:-1])].sum()
            return np.asarray(self._each_alone * shares)
        alike = left_inverse(self.matrix, recode_matrix(self))  # raises for the design itself
        if sizes is None:
            return alike
        try:
            if sizes.any():
                return left_inverse(self.matrix, recode_matrix(self), sizes)
        except NotIdentifiableError:  # a needed sample is empty, or next to nothing beside another
            if sizes.all():
                return alike
        return np.full_like(alike, np.nan)

    def covariance(self, proportions: ArrayLike, target: str) -> Floats:
        """(..., k, k) n times the covariance of the estimate from n people in equal samples."""
        rates, weights = (
            np.asarray(proportions, dtype=np.float64) @ self.matrix.T,
            self._weights(None),
        )
        sizes = np.full(len(self.parts), 1 / len(self.parts))
        found = covariance_within(weights, rates, self.samples, sizes)
        if check_target(target) == "population":
            return found
        mean = rates @ weights.T
        return found - (mean[..., None] * np.eye(self.k) - mean[..., :, None] * mean[..., None, :])

    def scores(self, reports: NDArray[Any]) -> Floats:
        """(n, k) unbiased values of coded reports, where every sample identifies the categories."""
        if not self.is_separable:
            raise ArgumentValueError(
                "a single report has no score where samples need one another: the proportions "
                "follow from all samples together"
            )
        return np.asarray(self._each_alone.T[reports])


def covariance_within(
    weights: Floats, rates: Floats, samples: NDArray[np.intp], sizes: Floats
) -> Floats:
    """(..., k, k) covariance of ``weights @ rates`` where samples are multinomial.

    weights : (k, m).  rates : (..., m) within each sample.  sizes : (samples,).
    """
    total: Any = 0.0
    for sample, size in enumerate(sizes):
        mine = samples == sample
        own = score_covariance(weights[:, mine].T, rates[..., mine], "population")
        total = total + own / size
    return np.asarray(total)
