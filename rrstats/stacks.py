"""Several samples on top of one another: each has a channel of its own for the same people.

The cells of a `StackedChannel` are those of its parts, one part after the other, and a tally
of it knows the size of every sample.  Two kinds of survey need it:

- *mixed designs*, in which every sample alone identifies the shares (versions of a questionnaire,
  waves with other parameters, some who answer directly): the estimate is the mean of the scores
  of all respondents, each debiased by their own channel;
- *two-sample designs*, in which only all samples together do (an unrelated question of unknown
  prevalence, cheater detection): the estimate is one left inverse of the stacked matrix.

The size of each sample counts as given, and people as assigned to samples by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rrstats import likelihood
from rrstats.channel import Channel, check_target
from rrstats.errors import ArgumentValueError, NotIdentifiable
from rrstats.general_intervals import default_method, empirical, misfit, mixed
from rrstats.intervals import Interval
from rrstats.matrices import left_inverse, shown_map
from rrstats.privacy.losses import PrivacyLoss, worst_loss

__all__ = ["StackedChannel"]

Floats = NDArray[np.float64]

_ENDS = ("base", "top")


@dataclass(frozen=True)
class StackedChannel:
    """The channels of several samples, over the same classes of true answers.

    parts : one channel for each sample, each of whose reports falls into one cell.
    shows : for each class the category 0 .. k-1 that it shows; by default the classes are the
        categories.

    >>> from rrstats.channel import SupportChannel
    >>> parts = (SupportChannel.single(2, 0.75), SupportChannel.single(2, 0.9))
    >>> StackedChannel(parts).debias(np.array([40, 60, 15, 85]), 200).round(3)
    array([0.181, 0.819])
    """

    parts: tuple[Channel, ...]
    shows: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not all(part.one_cell_each for part in self.parts):
            raise ArgumentValueError(
                "reports that support several categories cannot be put together with others: their "
                "counts do not say how many respondents each sample has; estimate each by itself"
            )
        if len({part.k for part in self.parts}) != 1:
            raise ArgumentValueError(
                "all samples must have the same true answers, found "
                f"{[part.k for part in self.parts]} of them"
            )
        if self.shows is not None and self.shows == tuple(range(self.classes)):
            object.__setattr__(self, "shows", None)

    @property
    def classes(self) -> int:
        """The number of classes of true answers."""
        return self.parts[0].k

    @property
    def k(self) -> int:
        """The number of categories."""
        return self.classes if self.shows is None else max(self.shows) + 1

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """Where the cells of each part begin, and where the last part ends."""
        return tuple(np.cumsum([0, *(part.m for part in self.parts)]).tolist())

    @property
    def m(self) -> int:
        """The number of cells of all parts."""
        return self.bounds[-1]

    @cached_property
    def samples(self) -> NDArray[np.intp]:
        """(m,) the sample of each cell."""
        return np.repeat(np.arange(len(self.parts)), [part.m for part in self.parts])

    @property
    def named(self) -> NDArray[np.intp]:
        """(m,) the category that each cell speaks for; -1 where it is one of several classes."""
        if self.shows is not None:
            return np.full(self.m, -1, dtype=np.intp)
        return np.concatenate([part.named for part in self.parts])

    @property
    def odds(self) -> Fraction:
        """The worst ratio within any sample; 0 stands for infinite."""
        ratios = [part.odds for part in self.parts]
        return Fraction(0) if 0 in ratios else max(max(ratio, 1 / ratio) for ratio in ratios)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """The least law above those of all samples: each person is in one, and that is public."""
        laws = [part.privacy_loss for part in self.parts]
        found = worst_loss([law.outcomes for law in laws])
        if found.bound is not None:
            return found
        alike = [law for law in laws if law.outcomes == found.outcomes]
        return min(alike, key=lambda law: law.bound is not None, default=found)

    @cached_property
    def alone(self) -> bool:
        """Whether every sample identifies the categories by itself."""
        if self.shows is not None:
            return False
        try:
            for part in self.parts:
                part.solve(np.zeros(part.m))
        except NotIdentifiable:
            return False
        return True

    @cached_property
    def shown(self) -> Floats:
        """(k, classes) 1 where a class shows a category."""
        return shown_map(tuple(range(self.classes)) if self.shows is None else self.shows)

    def _inverses(self, sizes: Floats | None = None) -> list[Floats]:
        """(k, m_g) for each sample: what its rates add to the estimate, if samples need others.

        sizes : (m,) the size of each cell's sample; by default all count alike.  An empty sample
            adds nothing.
        """
        whole = left_inverse(self.matrix, self.shown, sizes)
        return np.split(whole, self.bounds[1:-1], axis=1)

    @property
    def condition(self) -> float:
        """The condition number of the least informative sample, or of all together."""
        if self.alone:
            return max(part.condition for part in self.parts)
        return float(
            np.linalg.norm(np.hstack(self._inverses()), 2) * np.linalg.norm(self.matrix, 2)
        )

    @property
    def one_cell_each(self) -> bool:
        """True: the parts must be so."""
        return True

    def check_possible(self, reported: NDArray[Any]) -> None:
        """Raise ArgumentValueError for counts of reports that a sample's design never makes."""
        for part, block, _ in self._split(reported):
            part.check_possible(block)

    def implausible(self, reported: NDArray[Any], n: int) -> NDArray[np.bool_]:
        """(k,) in any sample, where each stands alone; else all or none by their likelihood."""
        if not self.alone:
            sizes = self.sizes(reported, n)
            return np.full(self.k, misfit(self.matrix, reported, sizes))
        found = np.zeros(self.k, dtype=np.bool_)
        for part, block, size in self._split(reported):
            found |= part.implausible(block, size)
        return found

    def _split(self, reported: NDArray[Any]) -> list[tuple[Channel, NDArray[Any], int]]:
        """Each part with its counts and the size of its sample."""
        blocks = np.split(np.asarray(reported), self.bounds[1:-1])
        return [
            (part, block, round(float(block.sum())))
            for part, block in zip(self.parts, blocks, strict=True)
        ]

    def sizes(self, reported: NDArray[Any], n: int) -> Floats:
        """(m,) the size of each cell's sample."""
        return np.repeat(
            [float(size) for _, _, size in self._split(reported)],
            [part.m for part in self.parts],
        )

    def debias(self, reported: NDArray[Any], n: int) -> Floats:
        """(m,) counts to (k,) unbiased shares; NaN where a sample that is needed is empty."""
        split = self._split(reported)
        if self.alone:
            means = [part.debias(block, size) * size for part, block, size in split if size]
            return sum(means, np.zeros(self.k)) / n if n else np.full(self.k, np.nan)
        self.check_possible(reported)
        inverses = self._fitting(reported)
        if inverses is None:
            return np.full(self.k, np.nan)
        each = zip(split, inverses, strict=True)
        shares = np.zeros(self.k)
        for (_, block, size), inverse in each:
            shares += inverse @ (block / max(size, 1))
        return shares

    def _fitting(self, reported: NDArray[Any]) -> list[Floats] | None:
        """The inverses for the samples as they are; None where an empty sample is needed."""
        sizes = self.sizes(reported, 0)
        alike = self._inverses()  # raises NotIdentifiable for the design itself
        try:
            return self._inverses(sizes) if sizes.any() else None
        except NotIdentifiable:  # a needed sample is empty, or next to nothing beside another
            return alike if sizes.all() else None

    def debias_variance(self, reported: NDArray[Any], n: int, target: str, ddof: int = 1) -> Floats:
        """(k,) the diagonal of `debias_covariance`."""
        return np.maximum(np.diagonal(self.debias_covariance(reported, n, target, ddof)), 0.0)

    def debias_covariance(
        self, reported: NDArray[Any], n: int, target: str, ddof: int = 1
    ) -> Floats:
        """(k, k) covariance of `debias`, given the sizes of the samples.

        For the population and samples that stand alone: that of all scores over n - ddof, which
        takes differences between samples for noise.  A left inverse of all samples together
        adds up their covariances; among just these rows, where people came into samples by
        chance, less what sampling the rows themselves would add.
        """
        rows = check_target(target) == "rows"
        split = self._split(reported)
        if not self.alone:
            total = self._joint_covariance(reported, 1 if rows else ddof)
            if not rows:
                return total
            # Who comes into which sample is chance, and the rows' own shares are what is estimated:
            # Neyman (1923), with the product of shares less the variance that it holds.
            shares = self.debias(reported, n)
            sampling = np.diag(shares) - np.outer(shares, shares)
            return ((n - 1) * total - sampling) / max(n, 1)
        if not n or (not rows and n <= ddof):
            return np.full((self.k, self.k), np.nan)
        total = np.zeros((self.k, self.k))
        for part, block, size in split:
            if not size:
                continue
            within = part.debias_covariance(block, size, target, 0) * size
            if not rows:
                mean = part.debias(block, size)
                within = within + np.outer(mean, mean)
            total += within * size
        if rows:
            return total / n**2
        mean = self.debias(reported, n)
        return (total / n - np.outer(mean, mean)) / (n - ddof)

    def _joint_covariance(self, reported: NDArray[Any], ddof: int) -> Floats:
        """(k, k) the sum over samples, each over its size less ddof."""
        inverses = self._fitting(reported)
        if inverses is None:
            return np.full((self.k, self.k), np.nan)
        total = np.zeros((self.k, self.k))
        for (_, block, size), inverse in zip(self._split(reported), inverses, strict=True):
            if not np.any(inverse):
                continue
            if size <= ddof:
                return np.full((self.k, self.k), np.nan)
            rates = block / size
            mean = inverse @ rates
            total += ((inverse * rates) @ inverse.T - np.outer(mean, mean)) / (size - ddof)
        return total

    @property
    def default_method(self) -> str:
        """Of samples that stand alone nothing more is assumed than that their scores are right.

        The profile likelihood would have all samples from one population.
        """
        cells = 2 * len(self.parts) if self._two_point else self.m
        return default_method(self.classes, cells, assuming_less=self.alone)

    @cached_property
    def _two_point(self) -> bool:
        """Whether each category's count is binomial in every sample."""
        return self.alone and all(part.binomial_rates is not None for part in self.parts)

    def empirical_interval(self, reported: NDArray[Any], level: float) -> Interval:
        """(k,) intervals that assume no more than that scores are unbiased.

        Of samples that stand alone, of the mean of all scores, whatever the sizes of the samples.
        """
        if not self.alone:
            used = self.sizes(reported, 0) > 0
            places = np.unique(self.samples[used], return_inverse=True)[1]
            return empirical(self.weights(reported)[:, used], reported[used], places, level)
        if not self._two_point:
            weights = np.hstack([part.weights(np.zeros(part.m)) for part in self.parts])
            return empirical(weights, reported, np.zeros(self.m, dtype=np.intp), level)
        parts = [(part.binomial_rates, block, n) for part, block, n in self._split(reported) if n]
        counts = np.array([block for _, block, _ in parts], dtype=np.float64)
        base, top = (np.array([getattr(rates, end) for rates, _, _ in parts]) for end in _ENDS)
        return mixed(counts, np.array([float(n) for *_, n in parts]), base, top, level)

    def weights(self, reported: NDArray[Any]) -> Floats:
        """(k, m) the estimate is ``weights @ (rates within each sample)``."""
        if not self.alone:
            return np.hstack(self._fitting(reported) or self._inverses())
        split = self._split(reported)
        n = max(sum(size for _, _, size in split), 1)
        return np.hstack([part.weights(block) * (size / n) for part, block, size in split])

    def score_range(self, targets: int = 1) -> NoReturn:
        """Not of one report: what it weighs depends on the size of its sample."""
        raise ArgumentValueError(
            "what one report weighs depends on the size of its sample; ask for each sample's own "
            "mechanism"
        )

    def score_variances(self, reported: NDArray[Any]) -> Floats | None:
        """(k, classes) variance of the respondents' scores, where every sample stands alone."""
        if not self.alone:
            return None
        split = self._split(reported)
        n = max(sum(size for _, _, size in split), 1)
        total = np.zeros((self.k, self.classes))
        for part, block, size in split:
            own = part.score_variances(block)
            if own is not None:  # a sample that stands alone has scores
                total += own * (size / n)
        return total

    def scores(self, reports: NDArray[Any]) -> Floats:
        """(n, k) unbiased values of coded reports, where every sample stands alone."""
        if not self.alone:
            self._no_scores()
        found = np.empty((len(reports), self.k))
        for place, part in enumerate(self.parts):
            mine = self.samples[reports] == place
            found[mine] = part.scores(np.asarray(reports)[mine] - self.bounds[place])
        return found

    @staticmethod
    def _no_scores() -> NoReturn:
        raise ArgumentValueError(
            "a single report has no score where samples need one another: the shares follow from "
            "all samples together"
        )

    def likelihood(self, reports: NDArray[Any]) -> Floats:
        """(n, classes) P(report | truth) of coded reports."""
        return np.asarray(self.matrix[reports])

    def solve(self, rates: ArrayLike) -> Floats:
        """(..., m) rates within each sample to (..., k) shares, all samples counting alike."""
        found = np.asarray(rates, dtype=np.float64)
        blocks = np.split(found, self.bounds[1:-1], axis=-1)
        if self.alone:
            each = [part.solve(block) for part, block in zip(self.parts, blocks, strict=True)]
            return np.asarray(np.mean(each, axis=0))
        pairs = zip(blocks, self._inverses(), strict=True)
        return np.asarray(np.sum([block @ inverse.T for block, inverse in pairs], axis=0))

    def rates(self, shares: ArrayLike) -> Floats:
        """(..., classes) true shares to (..., m) expected rates within each sample."""
        return np.concatenate([part.rates(shares) for part in self.parts], axis=-1)

    def covariance(self, shares: ArrayLike, target: str) -> NoReturn:
        """Not of one report: it depends on the sizes of the samples; see `debias_covariance`."""
        raise ArgumentValueError(
            "the covariance of one report is not defined over several samples; use the "
            "estimate's covariance"
        )

    variance = covariance

    @property
    def binomial_rates(self) -> None:
        """None: the counts of several samples are not one binomial."""
        return None

    @cached_property
    def matrix(self) -> Floats:
        """(m, classes) ``matrix[report, truth]``; columns sum to 1 within each sample."""
        full = np.vstack([part.matrix for part in self.parts])
        full.flags.writeable = False  # kept and handed out
        return full

    @property
    def entries(self) -> tuple[tuple[Fraction, ...], ...]:
        """The exact matrix, one part on top of the other."""
        return tuple(row for part in self.parts for row in part.entries)

    def most_likely(self, reported: NDArray[Any]) -> Floats:
        """(classes,) shares inside the simplex that make the counts likeliest."""
        self.check_possible(reported)
        _ = self.alone or self._inverses()  # raises NotIdentifiable where nothing can be said
        return likelihood.most_likely(self.matrix, reported)

    def then(self, second: Channel) -> NoReturn:
        """Several samples are not randomized once more together."""
        raise ArgumentValueError(
            "a second round over several samples is not defined; chain the mechanism of each sample"
        )
