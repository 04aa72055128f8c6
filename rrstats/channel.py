"""The channel P(report | truth) and its algebra: all that statistics need of a mechanism.

Two forms cover every design.  A `MatrixChannel` has ``matrix[report, truth]``, m x k, whose
columns sum to 1.  A `SupportChannel` has reports that *support* categories, and treats all
categories alike: four probabilities and one ratio describe it, and every operation takes
O(k).  k-ary randomized response is the support channel whose reports support one category.

Probabilities are exact fractions (a double is one); floats appear only when data are debiased.
Sources: Wang, Blocki, Li and Jha (2017), eq. 1-3 (pure protocols); van den Hout and van der
Heijden (2002) (matrices).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiable

__all__ = ["TARGETS", "BinomialRates", "Channel", "MatrixChannel", "SupportChannel", "check_target"]

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


def _exact(number: Any, name: str = "matrix[report, truth]") -> Fraction:
    """A finite number as a fraction; raises for anything else."""
    try:
        if isinstance(number, bool | str):
            raise TypeError
        return Fraction(number)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(f"{name} must be finite numbers, found {number!r}") from None


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
    """What every channel answers; n reports, m report cells, k categories."""

    @property
    def k(self) -> int:
        """The number of categories."""
        ...

    @property
    def m(self) -> int:
        """The number of cells that a tally counts."""
        ...

    @property
    def odds(self) -> Fraction:
        """The worst ratio P(report | truth) / P(report | other truth); 0 stands for infinite."""
        ...

    def scores(self, reports: NDArray[Any]) -> Floats:
        """(n, k) unbiased values: their mean is the estimate of the shares."""
        ...

    def likelihood(self, reports: NDArray[Any]) -> Floats:
        """(n, k) P(report | truth), each row up to a factor."""
        ...

    def solve(self, rates: ArrayLike) -> Floats:
        """(..., m) shares of the cells among reports to (..., k) unbiased true shares."""
        ...

    def rates(self, shares: ArrayLike) -> Floats:
        """(..., k) true shares to (..., m) expected shares of the cells among reports."""
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
        """(m,) counts to the (k,) shares inside the simplex that make them likeliest."""
        ...

    def then(self, second: Channel) -> Channel:
        """The channel of a report that is randomized once more by ``second``."""
        ...

    @property
    def matrix(self) -> Floats:
        """(m, k) ``matrix[report, truth]`` of the cells; columns sum to 1."""
        ...

    @property
    def entries(self) -> tuple[tuple[Fraction, ...], ...]:
        """The matrix as m rows of k exact fractions."""
        ...


def _worst(*pairs: tuple[Fraction, Fraction]) -> Fraction | None:
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
class SupportChannel:
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
        told = _worst(
            (self.prob_truth, self.prob_other), (1 - self.prob_truth, 1 - self.prob_other)
        )
        claimed = _worst((self.odds, Fraction(1)))
        if claimed is not None and (told is None or claimed < told):
            raise ArgumentValueError(
                f"odds {self.odds} claim more privacy than the support of one category tells: its "
                f"probabilities differ by a factor of {'any size' if told is None else told}"
            )

    @classmethod
    def single(cls, k: int, prob: Fraction | float) -> SupportChannel:
        """Each report supports one category, the truth with probability ``prob``."""
        truth = _exact(prob, "prob_truth")
        other = (1 - truth) / (k - 1) if k > 1 else Fraction(0)
        odds = truth / other if other else Fraction(0)
        return cls(k, truth, other, Fraction(0), Fraction(0), odds)

    @property
    def m(self) -> int:
        """The number of cells that a tally counts: the supported categories."""
        return self.k

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
        if self.odds:
            supported, other = float(self.prob_other * self.odds), float(self.prob_other)
        else:  # infinite: one of the two never happens
            supported = float(self.prob_truth > self.prob_other)
            other = 1 - supported
        return np.where(self._support(reports), supported, other)

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
        rest = theta.sum(-1)[..., None, None] - either
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
            return MatrixChannel(self.entries).most_likely(reported)
        p, q = float(self.prob_truth), float(self.prob_other)
        counts = np.asarray(reported, dtype=np.float64)
        falling = -np.sort(-counts)
        scale = (np.arange(1, self.k + 1) * q + p - q) / falling.cumsum()
        kept = int(np.flatnonzero(falling * scale > q)[-1])
        return np.asarray(np.maximum((counts * scale[kept] - q) / self._gap, 0.0))

    def then(self, second: Channel) -> Channel:
        """The product: a report of one category randomized once more by ``second``."""
        _check_reports_fit(self.m, second)
        if isinstance(second, SupportChannel) and self._is_single and second._is_single:
            p, q = self.prob_truth, self.prob_other
            return SupportChannel.single(
                self.k, p * second.prob_truth + (self.k - 1) * q * second.prob_other
            )
        return MatrixChannel(self.entries).then(second)

    @property
    def entries(self) -> tuple[tuple[Fraction, ...], ...]:
        """The exact matrix as rows of fractions, where each report supports one category."""
        self._check_single()
        p, q, every = self.prob_truth, self.prob_other, range(self.k)
        return tuple(tuple(p if report == truth else q for truth in every) for report in every)


def _check_reports_fit(m: int, second: Channel) -> None:
    if second.k != m:
        raise ArgumentValueError(
            f"the second channel must randomize the {m} reports of the first, but has {second.k} "
            "categories"
        )


def _check_total(truth: int, total: Fraction, tolerance: Fraction) -> None:
    """Raise unless the column of one truth sums to 1."""
    if abs(total - 1) > tolerance:
        hint = "; are the axes swapped, or is a report missing?" if abs(total - 1) > 0.001 else ""
        raise ArgumentValueError(
            f"matrix[report, truth] must have columns that sum to 1, column {truth} sums to "
            f"{float(total):.12g}, off by {float(total - 1):.3g}{hint}"
        )


@dataclass(frozen=True)
class MatrixChannel:
    """A channel given by its matrix; reports are codes 0 .. m-1.

    entries : m rows (reports) of k >= 2 exact numbers (truths); columns sum to 1.
    Raises ArgumentValueError or ArgumentTypeError for anything else; for numbers of a survey or
    a paper, which sum to 1 up to rounding, use `from_floats`.

    >>> MatrixChannel(((Fraction(5, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(5, 6)))).k
    2
    """

    entries: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        try:
            rows = tuple(tuple(map(_exact, row)) for row in self.entries)
        except TypeError as error:
            if isinstance(error, ArgumentTypeError):
                raise
            raise ArgumentTypeError("matrix[report, truth] must be rows of numbers") from None
        lengths = {len(row) for row in rows}
        if len(lengths) != 1 or lengths.pop() < 2:
            raise ArgumentValueError(
                "matrix[report, truth] must have rows (reports) of equal length, one number for "
                f"each of at least 2 categories; found rows of {sorted({len(r) for r in rows})}"
            )
        object.__setattr__(self, "entries", rows)
        for truth, column in enumerate(zip(*rows, strict=True)):
            if min(column) < 0:
                raise ArgumentValueError(
                    f"matrix[report, truth] must not be negative, found {float(min(column))!r} in "
                    f"column {truth}"
                )
            _check_total(truth, sum(column, Fraction(0)), Fraction(0))

    @classmethod
    def from_floats(cls, matrix: ArrayLike) -> MatrixChannel:
        """A channel from numbers; a column within 1e-9 of 1 is normalized exactly."""
        try:
            listed = np.asarray(matrix, dtype=object)
        except ValueError:  # rows of different lengths
            listed = np.empty(0)
        if listed.ndim != 2:
            raise ArgumentValueError(
                "matrix[report, truth] must have two axes, reports and categories"
            )
        rows = [[_exact(x) for x in row] for row in listed.tolist()]
        totals = [sum(column, Fraction(0)) for column in zip(*rows, strict=True)]
        for truth, total in enumerate(totals):
            _check_total(truth, total, Fraction(1, 10**9))
        return cls(tuple(tuple(x / t for x, t in zip(r, totals, strict=True)) for r in rows))

    @property
    def k(self) -> int:
        """The number of categories: columns of the matrix."""
        return len(self.entries[0])

    @property
    def m(self) -> int:
        """The number of reports: rows of the matrix."""
        return len(self.entries)

    @cached_property
    def odds(self) -> Fraction:
        """The worst ratio within a row; 0 stands for infinite."""
        worst = Fraction(1)
        for row in self.entries:
            if not max(row):
                continue
            if not min(row):
                return Fraction(0)
            worst = max(worst, max(row) / min(row))
        return worst

    @cached_property
    def matrix(self) -> Floats:
        """(m, k) ``matrix[report, truth]``."""
        full = np.array([[float(x) for x in row] for row in self.entries])
        full.flags.writeable = False  # kept and handed out
        return full

    @cached_property
    def left_inverse(self) -> Floats:
        """(k, m): (P' D^-1 P)^-1 P' D^-1, with D the report law at uniform truth."""
        possible = self.matrix.sum(axis=1) > 0
        weighted = np.zeros_like(self.matrix.T)
        weighted[:, possible] = self.matrix[possible].T / self.matrix[possible].mean(axis=1)
        information = weighted @ self.matrix
        condition = np.linalg.cond(information)
        if not condition < 1e12:
            raise NotIdentifiable(
                "reports do not identify the true shares: the information matrix has condition "
                f"number {condition:.3g}; merge categories that are reported alike"
            )
        inverse = np.asarray(np.linalg.solve(information, weighted))
        inverse.flags.writeable = False  # kept and handed out
        return inverse

    def scores(self, reports: NDArray[Any]) -> Floats:
        """(n, k) unbiased values: the column of the left inverse for each report."""
        return np.asarray(self.left_inverse.T[reports])

    def likelihood(self, reports: NDArray[Any]) -> Floats:
        """(n, k) P(report | truth)."""
        return np.asarray(self.matrix[reports])

    def solve(self, rates: ArrayLike) -> Floats:
        """(..., m) rates of the reports to (..., k) unbiased shares."""
        return np.asarray(rates, dtype=np.float64) @ self.left_inverse.T

    def rates(self, shares: ArrayLike) -> Floats:
        """(..., k) true shares to (..., m) expected rates of the reports."""
        return np.asarray(shares, dtype=np.float64) @ self.matrix.T

    def covariance(self, shares: ArrayLike, target: str) -> Floats:
        """(..., k, k) covariance of one debiased report at these true shares."""
        theta, inverse = np.asarray(shares, dtype=np.float64), self.left_inverse
        # E[score score' | truth]: the same for both targets; what is subtracted differs.
        second = np.einsum("ar,...r,br->...ab", inverse, self.rates(theta), inverse)
        if check_target(target) == "population":
            mean = self.solve(self.rates(theta))
            return np.asarray(second - mean[..., :, None] * mean[..., None, :])
        exact = np.zeros_like(second)
        diagonal = np.arange(self.k)
        exact[..., diagonal, diagonal] = theta
        return np.asarray(second - exact)

    def variance(self, shares: ArrayLike, target: str) -> Floats:
        """(..., k) variance of one debiased report at these true shares."""
        diagonal = np.diagonal(self.covariance(shares, target), axis1=-2, axis2=-1)
        return np.maximum(diagonal, 0.0)  # rounding can carry a 0 below itself

    @property
    def binomial_rates(self) -> BinomialRates | None:
        """The rates of a two by two design; other matrices have none."""
        if (self.m, self.k) != (2, 2):
            return None
        base = np.array([self.matrix[0, 1], self.matrix[1, 0]])
        return BinomialRates(base, np.diagonal(self.matrix).copy(), True)

    def most_likely(self, reported: NDArray[Any]) -> Floats:
        """(k,) shares inside the simplex that make the counts likeliest, by plain EM.

        Stops when a step moves no share by more than 1e-12, at the latest after 100,000.
        """
        rates = np.asarray(reported, dtype=np.float64)
        rates = rates / rates.sum()
        seen = rates > 0
        if not self.matrix[seen].any(axis=1).all():
            raise ArgumentValueError("counts hold reports that this channel never makes")
        rates, matrix = rates[seen], self.matrix[seen]
        shares = np.full(self.k, 1 / self.k)
        for _ in range(100_000):
            step = shares * (matrix.T @ (rates / (matrix @ shares)))
            moved, shares = np.abs(step - shares).max(), step
            if moved < 1e-12:
                break
        return shares

    def then(self, second: Channel) -> Channel:
        """The product: what is reported by this channel, randomized once more."""
        _check_reports_fit(self.m, second)
        before = list(zip(*self.entries, strict=True))
        return MatrixChannel(
            tuple(
                tuple(
                    sum((a * b for a, b in zip(row, col, strict=True)), Fraction(0))
                    for col in before
                )
                for row in second.entries
            )
        )
