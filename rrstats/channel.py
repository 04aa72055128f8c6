"""The channel P(report | truth) and its algebra: all that statistics need of a mechanism.

Two forms cover every design.  A `SupportChannel`, here, has reports that *support* categories,
and treats all categories alike: four probabilities and one ratio describe it, and every
operation takes O(k).  k-ary randomized response is the support channel whose reports support
one category.  A `matrices.MatrixChannel` has ``matrix[report, truth]``, m x k, whose columns
sum to 1; several samples with a channel each are a `stacks.StackedChannel`.

Probabilities are exact fractions (a double is one); floats appear only when data are debiased.
Sources: Wang, Blocki, Li and Jha (2017), eq. 1-3 (pure protocols); van den Hout and van der
Heijden (2002) (matrices).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rrstats import likelihood
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiable
from rrstats.general_intervals import default_method, empirical, misfit
from rrstats.intervals import METHOD, Interval, implausible_counts
from rrstats.privacy.losses import PrivacyLoss

__all__ = [
    "TARGETS",
    "BinomialRates",
    "Channel",
    "OneSample",
    "SupportChannel",
    "as_fraction",
    "check_reports_fit",
    "check_target",
    "worst_ratio",
]

Floats = NDArray[np.float64]

TARGETS = ("population", "rows")
"""Whom a statement is about: the population these people come from, or just these rows."""

_NO_INFORMATION = Fraction(1, 2**51)


def check_target(target: object) -> str:
    """The target, if it is one of "population" and "rows"; raises otherwise."""
    if isinstance(target, str) and target in TARGETS:
        return target
    raise ArgumentValueError(
        f"target must be 'population' (these people are a sample of it) or 'rows' (just these "
        f"rows, nobody else), got {target!r}"
    )


def as_fraction(number: Any, name: str = "matrix[report, truth]") -> Fraction:
    """A finite number as a fraction; raises for anything else."""
    if type(number) is Fraction:
        return number
    try:
        if isinstance(number, bool | str):
            raise TypeError
        return Fraction(number)
    except (TypeError, ValueError, OverflowError):
        # Whatever is no number may be an answer: only infinity and NaN are quoted.
        found = repr(number) if isinstance(number, float) else type(number).__name__
        raise ArgumentTypeError(f"{name} must be finite numbers, found {found}") from None


@dataclass(frozen=True)
class BinomialRates:
    """Counts that are binomial each by itself: one for each category.

    base, top : (k,) the rate of the count at a true share of 0 and at 1.
    complementary : whether all counts tell the same (two categories, one report each).
    """

    base: Floats
    top: Floats
    complementary: bool


class Channel(Protocol):
    """What every channel answers; n reports, m report cells, k categories.

    Shares are those of the k categories, except where a design tells finer `classes` of people
    apart than it estimates (truthful and lying carriers, say).
    """

    @property
    def k(self) -> int:
        """The number of categories."""
        ...

    @property
    def classes(self) -> int:
        """The number of classes of true answers; k for most designs."""
        ...

    @property
    def m(self) -> int:
        """The number of cells that a tally counts."""
        ...

    @property
    def odds(self) -> Fraction:
        """The worst ratio P(report | truth) / P(report | other truth); 0 stands for infinite."""
        ...

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """The masses of the privacy losses of one report, for the worst pair of true answers."""
        ...

    @property
    def named(self) -> NDArray[np.intp]:
        """(m,) the category that each cell speaks for; -1 for none."""
        ...

    @property
    def one_cell_each(self) -> bool:
        """Whether each report falls into one cell, so that counts say how many respondents."""
        ...

    @property
    def condition(self) -> float:
        """The condition number of the matrix: how much noise the estimate amplifies."""
        ...

    def check_possible(self, reported: NDArray[Any]) -> None:
        """Raise ArgumentValueError for counts of reports that the design never makes."""
        ...

    @property
    def samples(self) -> NDArray[np.intp]:
        """(m,) the sample of each cell; all 0 where there is one."""
        ...

    def sizes(self, reported: NDArray[Any], n: int) -> Floats:
        """(m,) how many of the n respondents could have given the report of each cell."""
        ...

    def debias(self, reported: NDArray[Any], n: int) -> Floats:
        """(m,) counts of n respondents to (k,) unbiased shares; NaN where there are too few."""
        ...

    def debias_variance(self, reported: NDArray[Any], n: int, target: str, ddof: int = 1) -> Floats:
        """(k,) the estimated variance of `debias`; NaN where there are too few respondents."""
        ...

    def debias_covariance(
        self, reported: NDArray[Any], n: int, target: str, ddof: int = 1
    ) -> Floats:
        """(k, k) the estimated covariance of `debias`."""
        ...

    def implausible(self, reported: NDArray[Any], n: int) -> NDArray[np.bool_]:
        """(k,) which counts of n respondents no true shares explain; false but once in 1e9."""
        ...

    @property
    def shown(self) -> Floats:
        """(k, classes) 1 where a class shows a category."""
        ...

    def score_variances(self, reported: NDArray[Any]) -> Floats | None:
        """(k, classes) variance of the scores of people of one class.

        reported : (m,) counts, of which only the sizes of the samples matter.
        None where a single report has no score.
        """
        ...

    @property
    def default_method(self) -> str:
        """How intervals of the shares are made where no method is named."""
        ...

    def empirical_interval(self, reported: NDArray[Any], level: float) -> Interval:
        """(k,) intervals that assume no more than that scores are unbiased."""
        ...

    def weights(self, reported: NDArray[Any]) -> Floats:
        """(k, m) the estimate is ``weights @ (rates within each sample)``.

        reported : (m,) counts, of which only the sizes of the samples matter.
        """
        ...

    def score_range(self, targets: int = 1) -> tuple[float, float]:
        """The least and the greatest sum of the scores of ``targets`` categories in one report."""
        ...

    def scores(self, reports: NDArray[Any]) -> Floats:
        """(n, k) unbiased values: their mean is the estimate of the shares."""
        ...

    def likelihood(self, reports: NDArray[Any]) -> Floats:
        """(n, classes) P(report | truth), each row up to a factor."""
        ...

    def solve(self, rates: ArrayLike) -> Floats:
        """(..., m) shares of the cells among reports to (..., k) unbiased true shares."""
        ...

    def rates(self, shares: ArrayLike) -> Floats:
        """(..., classes) true shares to (..., m) expected shares of the cells among reports."""
        ...

    def variance(self, shares: ArrayLike, target: str) -> Floats:
        """(..., k) variance of one debiased report; the diagonal of `covariance`."""
        ...

    def covariance(self, shares: ArrayLike, target: str) -> Floats:
        """(..., k, k) covariance of one debiased report, for either target."""
        ...

    @property
    def binomial_rates(self) -> BinomialRates | None:
        """The rates of counts that are binomial by themselves, where the design has them."""
        ...

    def most_likely(self, reported: NDArray[Any]) -> Floats:
        """(m,) counts to the (classes,) shares inside the simplex that make them likeliest."""
        ...

    def then(self, second: Channel) -> Channel:
        """The channel of a report that is randomized once more by ``second``."""
        ...

    @property
    def matrix(self) -> Floats:
        """(m, classes) ``matrix[report, truth]`` of the cells; columns sum to 1 in each sample."""
        ...

    @property
    def entries(self) -> tuple[tuple[Fraction, ...], ...]:
        """The matrix as m rows of exact fractions."""
        ...


class OneSample:
    """What channels share whose respondents all follow the same instructions."""

    @property
    def classes(self) -> int:
        """The number of classes of true answers: the categories."""
        return cast("Channel", self).k

    @property
    def shown(self) -> Floats:
        """(k, k) the unit matrix: classes are categories."""
        return np.eye(cast("Channel", self).k)

    @property
    def one_cell_each(self) -> bool:
        """True: a report is one cell of a matrix."""
        return True

    @property
    def default_method(self) -> str:
        """Exact where counts are binomial, else the best that does not take minutes."""
        channel = cast("Channel", self)
        return METHOD if channel.binomial_rates else default_method(channel.classes, channel.m)

    def empirical_interval(self, reported: NDArray[Any], level: float) -> Interval:
        """(k,) by empirical likelihood: nothing is assumed but that scores are unbiased."""
        channel = cast("Channel", self)
        return empirical(channel.weights(reported), reported, channel.samples, level)

    def weights(self, reported: NDArray[Any]) -> Floats:
        """(k, m) the scores of each cell."""
        channel = cast("Channel", self)
        return np.asarray(channel.solve(np.eye(channel.m)).T)

    @property
    def samples(self) -> NDArray[np.intp]:
        """(m,) all cells belong to one sample."""
        return np.zeros(cast("Channel", self).m, dtype=np.intp)

    def check_possible(self, reported: NDArray[Any]) -> None:
        """Nothing: the design makes every report now and then."""

    def sizes(self, reported: NDArray[Any], n: int) -> Floats:
        """(m,) n for every cell."""
        return np.full(cast("Channel", self).m, float(n))

    def implausible(self, reported: NDArray[Any], n: int) -> NDArray[np.bool_]:
        """(k,) by binomial tails where counts are binomial; else all or none by likelihood."""
        channel = cast("Channel", self)
        if (rates := channel.binomial_rates) is not None:
            return implausible_counts(reported, n, rates.base, rates.top)
        sizes = np.full(channel.m, float(n))
        return np.full(channel.k, misfit(channel.matrix, reported, sizes))

    def debias(self, reported: NDArray[Any], n: int) -> Floats:
        """(m,) counts of n respondents to (k,) unbiased shares; NaN where n is 0."""
        with np.errstate(invalid="ignore"):
            return cast("Channel", self).solve(np.asarray(reported) / np.float64(n))

    def debias_variance(self, reported: NDArray[Any], n: int, target: str, ddof: int = 1) -> Floats:
        """(k,) variance of the estimate at the estimated shares, over n - ddof or n rows."""
        size = _size(n, target, ddof)
        shares = self.debias(reported, n)
        return np.asarray(cast("Channel", self).variance(shares, target) / size)

    def debias_covariance(
        self, reported: NDArray[Any], n: int, target: str, ddof: int = 1
    ) -> Floats:
        """(k, k) covariance of the estimate at the estimated shares."""
        size = _size(n, target, ddof)
        shares = self.debias(reported, n)
        return np.asarray(cast("Channel", self).covariance(shares, target) / size)


def _size(n: int, target: str, ddof: int) -> float:
    """What a variance is divided by, NaN where that is nobody."""
    size = n - ddof if check_target(target) == "population" else n
    return float(size) if size > 0 else np.nan


def worst_ratio(*pairs: tuple[Fraction, Fraction]) -> Fraction | None:
    """The largest ratio within the pairs, either way; None stands for infinite."""
    worst = Fraction(1)
    for one, other in pairs:
        if not one and not other:
            continue
        if not one or not other:
            return None
        worst = max(worst, one / other, other / one)
    return worst


@dataclass(frozen=True)
class SupportChannel(OneSample):
    """Reports that support categories, alike for all k.

    k : number of categories.
    prob_truth : P(v is supported | truth v).
    prob_other : P(v is supported | another truth).
    pair_truth : P(v and w are supported | truth is v or w).
    pair_other : P(v and w are supported | truth is neither).
    odds : P(report | a supported truth) / P(report | an unsupported truth).

    Reports are codes 0 .. k-1, each supporting one category, or (n, k) booleans.

    >>> SupportChannel.single(3, Fraction(3, 4)).matrix.round(3)
    array([[0.75 , 0.125, 0.125],
           [0.125, 0.75 , 0.125],
           [0.125, 0.125, 0.75 ]])
    """

    k: int
    prob_truth: Fraction
    prob_other: Fraction
    pair_truth: Fraction
    pair_other: Fraction
    odds: Fraction

    def __post_init__(self) -> None:
        if self.k < 2:
            raise ArgumentValueError(
                f"k, the number of categories, must be at least 2, got {self.k}"
            )
        bounds = {
            "prob_truth": Fraction(1),
            "prob_other": Fraction(1),
            "pair_truth": min(self.prob_truth, self.prob_other),
            "pair_other": self.prob_other,
        }
        for name, most in bounds.items():
            value = getattr(self, name)
            if not 0 <= value <= most:
                raise ArgumentValueError(f"{name} must be in [0, {most}], got {value}")
        if self.odds < 0:
            raise ArgumentValueError(f"odds must be at least 0, got {self.odds}")
        told = worst_ratio(
            (self.prob_truth, self.prob_other), (1 - self.prob_truth, 1 - self.prob_other)
        )
        claimed = worst_ratio((self.odds, Fraction(1)))
        if claimed is not None and (told is None or claimed < told):
            raise ArgumentValueError(
                f"odds {self.odds} claim more privacy than the support of one category tells: its "
                f"probabilities differ by a factor of {'any size' if told is None else told}"
            )

    @classmethod
    def single(cls, k: int, prob: Fraction | float) -> SupportChannel:
        """Each report supports one category, the truth with probability ``prob``."""
        truth = as_fraction(prob, "prob_truth")
        other = (1 - truth) / (k - 1) if k > 1 else Fraction(0)
        odds = truth / other if other else Fraction(0)
        return cls(k, truth, other, Fraction(0), Fraction(0), odds)

    @property
    def m(self) -> int:
        """The number of cells that a tally counts: the supported categories."""
        return self.k

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """That of every pair of truths: only whether a report supports the one or the other tells.

        A report that supports one of them alone is ``odds`` times as likely under it.
        """
        own, other = self.prob_truth - self.pair_truth, self.prob_other - self.pair_truth
        if own != other * self.odds and (self.odds or min(own, other)):
            return PrivacyLoss.of_odds(self.odds)  # odds that claim less privacy than there is
        return PrivacyLoss.three_points(own, other)

    @property
    def named(self) -> NDArray[np.intp]:
        """(k,) every cell speaks for its category."""
        return np.arange(self.k)

    @cached_property
    def _gap(self) -> float:
        """P(supported | truth) - P(supported | other), by which every estimate is divided."""
        gap = self.prob_truth - self.prob_other
        if abs(gap) <= max(self.prob_truth, Fraction(1, 2)) * _NO_INFORMATION:
            raise NotIdentifiable(
                f"reports carry no information: for {self.k} categories a true answer is "
                "reported as often as any other; choose a larger prob or epsilon"
            )
        return float(gap)

    @property
    def condition(self) -> float:
        """1 / |p - q|: the factor by which noise is amplified."""
        return 1 / abs(self._gap)

    @property
    def one_cell_each(self) -> bool:
        """Whether each report supports one category."""
        return self._is_single

    def _support(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim == 2:
            return np.asarray(reports, dtype=bool)
        return np.asarray(reports[:, None] == np.arange(self.k))

    def scores(self, reports: NDArray[Any]) -> Floats:
        """(n, k) unbiased values: (supported - q) / (p - q); eq. 2 of Wang et al."""
        support = self._support(reports).astype(np.float64)
        return np.asarray((support - float(self.prob_other)) / self._gap)

    def likelihood(self, reports: NDArray[Any]) -> Floats:
        """(n, k) P(report | truth), up to a factor for each report."""
        support = self._support(reports)
        if not self.odds:  # infinite: one of the two never happens
            return np.asarray(support == (self.prob_truth > self.prob_other), dtype=np.float64)
        likelier = support if self.odds > 1 else ~support
        found = np.where(likelier, 1.0, float(min(self.odds, 1 / self.odds)))
        found[~likelier.any(axis=1)] = 1.0  # all alike, however small the other number is
        return found

    def solve(self, rates: ArrayLike) -> Floats:
        """(..., k) rates of support to (..., k) unbiased shares."""
        return (np.asarray(rates, dtype=np.float64) - float(self.prob_other)) / self._gap

    def rates(self, shares: ArrayLike) -> Floats:
        """(..., k) true shares to (..., k) expected rates of support."""
        gap = float(self.prob_truth - self.prob_other)
        return float(self.prob_other) + np.asarray(shares, dtype=np.float64) * gap

    def variance(self, shares: ArrayLike, target: str) -> Floats:
        """(..., k) variance of one debiased report at these true shares."""
        theta = np.asarray(shares, dtype=np.float64)
        if check_target(target) == "population":
            # Rounding must not carry a rate beyond 0 or 1, and its variance below 0.
            rates = np.clip(self.rates(theta), 0.0, 1.0)
            return np.asarray(rates * (1 - rates) / self._gap**2)
        p, q = float(self.prob_truth), float(self.prob_other)
        return np.asarray((theta * p * (1 - p) + (1 - theta) * q * (1 - q)) / self._gap**2)

    def covariance(self, shares: ArrayLike, target: str) -> Floats:
        """(..., k, k) covariance of one debiased report at these true shares."""
        theta = np.asarray(shares, dtype=np.float64)
        either = theta[..., :, None] + theta[..., None, :]
        rest = 1 - either  # estimates of several bits need not sum to 1, true shares do
        both = float(self.pair_truth) * either + float(self.pair_other) * rest
        if check_target(target) == "population":
            rates = self.rates(theta)
            moments = both - rates[..., :, None] * rates[..., None, :]
        else:
            p, q = float(self.prob_truth), float(self.prob_other)
            moments = both - p * q * either - q * q * rest
        cov = np.asarray(moments / self._gap**2, dtype=np.float64)
        diagonal = np.arange(self.k)
        cov[..., diagonal, diagonal] = self.variance(theta, target)
        return cov

    def score_range(self, targets: int = 1) -> tuple[float, float]:
        """The least and the greatest sum of the scores of ``targets`` categories in one report."""
        fewest, most = self.support_sizes
        low, high = self.solve([0.0, 1.0]).tolist()  # the score without support, and with it
        # With so many supported in all, at least and at most so many of the targets are.
        supported = (max(0, targets - (self.k - fewest)), min(targets, most))
        ends = [count * high + (targets - count) * low for count in supported]
        return min(ends), max(ends)

    @property
    def support_sizes(self) -> tuple[int, int]:
        """The least and the greatest number of categories that one report may support.

        A fixed number exactly where the pairs leave it no variance; otherwise anything.
        """
        k = self.k
        mean = self.prob_truth + (k - 1) * self.prob_other
        pairs = 2 * (k - 1) * self.pair_truth + (k - 1) * (k - 2) * self.pair_other
        if mean + pairs == mean**2:
            return int(mean), int(mean)
        return 0, k

    def score_variances(self, reported: NDArray[Any]) -> Floats:
        """(k, k) variance of each category's score for people of each category."""
        p, q = float(self.prob_truth), float(self.prob_other)
        full = np.full((self.k, self.k), q * (1 - q))
        np.fill_diagonal(full, p * (1 - p))
        return full / self._gap**2

    @property
    def binomial_rates(self) -> BinomialRates:
        """The support of each category is binomial: q at share 0, p at share 1."""
        base = np.full(self.k, float(self.prob_other))
        top = np.full(self.k, float(self.prob_truth))
        return BinomialRates(base, top, self.k == 2 and self._is_single)

    @property
    def _is_single(self) -> bool:
        whole = self.prob_truth + (self.k - 1) * self.prob_other == 1
        return bool(whole and self.pair_truth == self.pair_other == 0)

    def _check_single(self) -> None:
        if not self._is_single:
            raise ArgumentValueError(
                "a channel whose reports support several categories has no small matrix; "
                "use scores, rates and covariance"
            )

    @property
    def matrix(self) -> Floats:
        """(k, k) ``matrix[report, truth]``, where each report supports one category."""
        self._check_single()
        full = np.full((self.k, self.k), float(self.prob_other))
        np.fill_diagonal(full, float(self.prob_truth))
        return full

    def most_likely(self, reported: NDArray[Any]) -> Floats:
        """(k,) shares inside the simplex that make the counts likeliest, in closed form.

        f_v = max(0, (c_v t - q) / (p - q)) with t = (|A| q + p - q) / (sum of c over A), where A
        is the largest set of the most frequent categories whose shares are all positive.
        Where the truth is reported less often than another answer (p < q), by EM.
        """
        self._check_single()
        if self._gap < 0:
            return likelihood.most_likely(self.matrix, reported)
        p, q = float(self.prob_truth), float(self.prob_other)
        counts = np.asarray(reported, dtype=np.float64)
        if not counts.any():
            return np.full(self.k, 1 / self.k)
        falling = -np.sort(-counts)
        scale = (np.arange(1, self.k + 1) * q + p - q) / falling.cumsum()
        kept = int(np.flatnonzero(falling * scale > q)[-1])
        return np.asarray(np.maximum((counts * scale[kept] - q) / self._gap, 0.0))

    def then(self, second: Channel) -> Channel:
        """The product: a report of one category randomized once more by ``second``."""
        check_reports_fit(self.m, second)
        if isinstance(second, SupportChannel) and self._is_single and second._is_single:
            p, q = self.prob_truth, self.prob_other
            return SupportChannel.single(
                self.k, p * second.prob_truth + (self.k - 1) * q * second.prob_other
            )
        from rrstats.matrices import MatrixChannel

        return MatrixChannel(self.entries).then(second)

    @property
    def entries(self) -> tuple[tuple[Fraction, ...], ...]:
        """The exact matrix as rows of fractions, where each report supports one category."""
        self._check_single()
        p, q, every = self.prob_truth, self.prob_other, range(self.k)
        return tuple(tuple(p if report == truth else q for truth in every) for report in every)


def check_reports_fit(m: int, second: Channel) -> None:
    """Raise unless a second channel randomizes the m reports of a first one."""
    if second.classes != m:
        raise ArgumentValueError(
            f"the second channel must randomize the {m} reports of the first, but has "
            f"{second.classes} categories"
        )
