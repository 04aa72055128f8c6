"""Estimated means of the true groups, with intervals that may have no ends."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.arrays import fixed
from rrstats.estimation.means_sums import MOST_PAIRED, Sums
from rrstats.estimation.result import label_column, said, shortened
from rrstats.inference.contrasts import Interval, fieller, joined_distance

__all__ = ["MeanDifference", "Means"]


class MeanDifference(NamedTuple):
    """The mean of one group less that of another, in units of the values."""

    difference: float
    std_error: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Means:
    """Means of a number in the true groups, estimated from privatized groups.

    categories : the k groups.  n : rows used.  missing : rows left out because the value, the
    report or the weight was missing.  target : whom the means are about.
    naive : (k,) means by reported group, which are drawn together; NaN where no report names one.
    """

    categories: tuple[Hashable, ...]
    n: int
    missing: int
    target: str
    naive: Floats
    _centre: float = field(repr=False)
    _sums: Sums = field(repr=False)
    _apart: bool = field(repr=False)

    @property
    def k(self) -> int:
        """The number of groups."""
        return len(self.categories)

    @cached_property
    def _sizes(self) -> Floats:
        return fixed(self._sums.first[0].sum(axis=0))

    @cached_property
    def _centred(self) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return fixed(self._sums.first[1].sum(axis=0) / self._sizes)

    @property
    def means(self) -> Floats:
        """(k,) the estimated mean of each true group."""
        return np.asarray(self._centred + self._centre)

    @property
    def shares(self) -> Floats:
        """(k,) the estimated share of each group among these rows, weighted; unbiased."""
        total = self._sizes.sum()
        return np.asarray(self._sizes / total if total else np.full(self.k, np.nan))

    @cached_property
    def effective_n(self) -> Floats:
        """(k,) how many people whose group is known would tell as much.

        If values vary alike in all groups: (sum w s)^2 / sum (w s)^2; 0 where the estimated size
        is not positive.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self._sizes**2 / self._sums.second[0]
        return fixed(np.where(self._sizes > 0, found, 0.0))

    @cached_property
    def std_error(self) -> Floats:
        """(k,) linearized standard errors; little more than a word where `effective_n` is small.

        For the population NaN where there is one row only, of which nothing can vary.
        """
        top, both, size = self._moments
        m = self._centred
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.maximum(top - 2 * m * both + m**2 * size, 0.0)
            return fixed(np.sqrt(spread) / np.abs(self._sizes))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """(k,) each: variance of sum w s y, covariance with sum w s, variance of that."""
        size, both, top = self._spread(self._sums.second, self._sums.own, self._squares())
        return fixed(top), fixed(both), fixed(size)

    def _squares(self) -> Floats:
        """(3, g, k) products of the sums within a sample: of w s, both, and of w s y."""
        size, top = self._sums.first
        return np.stack([size * size, size * top, top * top])

    def _spread(self, second: Floats, own: Floats, squares: Floats) -> Floats:
        """Variances from sums of squares.

        For just these rows only the randomization varies: E[s^2 - s | truth] is its variance.
        """
        if self.target == "rows":
            return second - own
        n = self._sums.rows if self._apart else self._sums.rows.sum(keepdims=True)
        if not self._apart:
            size, top = self._sums.first.sum(axis=1, keepdims=True)
            squares = np.stack([size * size, size * top, top * top])
        with np.errstate(divide="ignore", invalid="ignore"):
            within = np.where(n[:, None] > 0, squares / n[:, None], 0.0).sum(axis=1)
        return np.asarray((second - within) * _widened(n))

    def covariance(self) -> Floats:
        """(k, k) the linearized covariance of the means; kept for up to 256 groups."""
        if self._sums.pairs is None:
            raise ArgumentValueError(
                f"the covariance of means is kept for up to {MOST_PAIRED} groups, found {self.k}"
            )
        m, eye = self._centred, np.eye(self.k)
        size, both, top = self._sums.pairs
        raw = top - m[:, None] * both - both * m[None, :] + np.outer(m, m) * size
        if self.target == "rows":
            own = self._sums.own
            found = raw - eye * (own[2] - 2 * m * own[1] + m**2 * own[0])
        else:
            ends = self._sums.first[1] - m * self._sums.first[0]
            ends = ends if self._apart else ends.sum(axis=0, keepdims=True)
            n = self._sums.rows if self._apart else self._sums.rows.sum(keepdims=True)
            scaled = np.divide(ends, n[:, None], out=np.zeros_like(ends), where=n[:, None] > 0)
            found = (raw - scaled.T @ ends) * _widened(n)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(found / np.outer(self._sizes, self._sizes))

    def interval(self, level: float = 0.95) -> Interval:
        """(k,) Fieller's intervals; without ends (infinite) where a group's size may be 0.

        The critical value is Student's, with as many degrees of freedom as the squared scores are
        worth (Satterthwaite).  Lowest coverage at 95% of what was simulated with 10 effective
        people or more: 93.4% (log-normal values), 94% or more elsewhere; values that are
        nearly always the same number need more.  One row alone has no ends for the population.
        """
        level = check_level(level)
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = self._sums.second[0] ** 2 / self._sums.fourth
        t2 = scipy.special.stdtrit(np.maximum(worth, 1.0), (1 + level) / 2) ** 2
        low, high = fieller(self._centred * self._sizes, self._sizes, self._moments, t2)
        return Interval(low + self._centre, high + self._centre)

    def difference(self, first: Hashable, second: Hashable, level: float = 0.95) -> MeanDifference:
        """The mean of one group less that of another.

        Interval by MOVER from Fieller's intervals and the correlation; the p-value is that of the
        estimate over its standard error.  Source: Zou and Donner (2008).

        >>> import rrstats as rr
        >>> from rrstats.estimation.means import means
        >>> pay = [10.0] * 300 + [20.0] * 300
        >>> answers = ["no"] * 240 + ["yes"] * 60 + ["no"] * 60 + ["yes"] * 240
        >>> found = means(pay, answers, rr.KRR(["no", "yes"], 0.8)).difference("yes", "no")
        >>> round(found.difference, 6), round(found.std_error, 3)
        (10.0, 0.545)
        """
        one, other = self._code(first), self._code(second)
        if one == other:
            raise ArgumentValueError("first and second must be different groups, found the same")
        covariance = self.covariance()
        value = float(self._centred[one] - self._centred[other])
        spread = covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]
        error = float(np.sqrt(np.maximum(spread, 0.0)))
        shared = np.sqrt(covariance[one, one] * covariance[other, other])
        correlation = float(covariance[one, other] / shared) if shared > 0 else 0.0
        m, (low, high) = self.means, self.interval(level)
        up, down = high - m, m - low
        if not np.isfinite(value):  # a group of nobody
            return MeanDifference(value, np.nan, -np.inf, np.inf, np.nan)
        p_value = 2 * scipy.special.ndtr(-abs(value) / error) if error > 0 else np.nan
        return MeanDifference(
            value,
            error,
            float(value - joined_distance(down[one], up[other], correlation)),
            float(value + joined_distance(up[one], down[other], correlation)),
            float(p_value),
        )

    def _code(self, category: Hashable) -> int:
        if category not in self.categories:
            raise ArgumentValueError(
                f"the group must be one of {list(self.categories)[:8]}, got {category!r}"
            )
        return self.categories.index(category)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Columns category, n, share, effective_n, naive, mean, std_error, low and high."""
        low, high = self.interval(level)
        return pd.DataFrame(
            {
                "category": label_column(self.categories),
                "n": self.n,
                "share": self.shares,
                "effective_n": self.effective_n,
                "naive": self.naive,
                "mean": self.means,
                "std_error": self.std_error,
                "low": low,
                "high": high,
            }
        )

    def reading(self, category: Hashable = ..., level: float = 0.95) -> str:
        """One sentence that says what the estimate says of one group; by default the last."""
        code = self.k - 1 if category is ... else self._code(category)
        label = said(self.categories[code])
        if not self.n or (self.n == 1 and self.target == "population"):
            rows = "is only one row" if self.n else "are no rows"
            return f"nothing can be said of {label}: there {rows}"
        low, high = (float(end[code]) for end in self.interval(level))
        worth = f"{self.effective_n[code]:,.1f} people whose group is known"
        if not np.isfinite(high - low):
            return (
                f"nothing can be said of the mean of {label}: the size of the group, estimated as "
                f"{self.shares[code]:.1%} of {self.n:,} rows, is within noise of 0 (it tells as "
                f"much as {worth})"
            )
        whom = "the population behind these rows" if self.target == "population" else "these rows"
        return (
            f"about {self.means[code]:.4g} among {label}, {level * 100:.10g}% interval {low:.4g} "
            f"to {high:.4g}, of {whom}; {self.n:,} rows tell as much as {worth}"
        )

    def __repr__(self) -> str:
        table = self.to_frame().drop(columns="n")
        table["category"] = [said(category) for category in self.categories]
        absent = f", {self.missing:,} missing" if self.missing else ""
        shown = table.to_string(index=False, float_format="{:.4g}".format, **shortened())
        note = f"\n{text}" if (text := self.doubt()) else ""
        return f"Means for target {self.target!r}: n={self.n:,}{absent}\n{shown}{note}"

    def doubt(self) -> str | None:
        """Which groups are so small that nothing is known of their means."""
        if not self.n:
            return None
        lost = np.flatnonzero(~np.isfinite(np.subtract(*self.interval()[::-1])))
        if not lost.size:
            return None
        names = ", ".join(said(self.categories[code]) for code in lost[:5])
        return (
            f"{len(lost)} of {self.k} groups ({names}{', ...' * (len(lost) > 5)}) have an "
            "estimated size within noise of 0 (as good as "
            f"{self.effective_n[lost].max():.1f} known people at most): their means may be "
            "anything; merge groups, or ask more people"
        )


def _widened(n: Floats) -> float:
    """What widens a variance, n / (n - g), for g samples of n rows; NaN where no row can vary."""
    rows, left = float(n.sum()), float(n.sum()) - len(n)
    return rows / left if left > 0 else np.nan
