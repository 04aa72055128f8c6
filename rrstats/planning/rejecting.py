"""The tests that power is planned for: where they reject, and how often.

`Exact` adds up the binomial law of the reports over the region of rejection of the exact test, and
`ExactPair` over that of the z test of two groups; `Formula` is the normal formula; `Usual` is the
law up to as many people as it is added up for, and the formula beyond.
Law: the reported share of n people is Bin(n, base + share (top - base)) / n.
Source: rr's `power.rr.test` for the formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rrstats._checks import check_number
from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.planning.questions import MOST_PEOPLE, Question, check_open, check_share

__all__ = ["ALTERNATIVES", "Formula", "check_pair", "described"]


ALTERNATIVES = ("two-sided", "greater", "less")
"""What is to be shown of the share: that it differs, is greater, or is less."""

_MOST_EXACT, _MOST_EXACT_PAIRS = 10**9, 20_000
"""People up to whom the law of the reports is added up: one group, and the first of two."""

_AT_ONCE = 4096
_TAIL = 9.0


def described(
    question: Question,
    share: float,
    against: float | None,
    other: float | None,
    null: float | None,
    ratio: float,
    alternative: str,
    significance: float,
    exact: bool | None,
) -> Formula:
    """The test that the arguments describe; raises where they do not."""
    check_pair(against, other)
    if alternative not in ALTERNATIVES:
        raise ArgumentValueError(
            f"alternative must be one of {list(ALTERNATIVES)}, got {alternative!r}"
        )
    if exact is not None and not isinstance(exact, bool | np.bool_):
        raise ArgumentTypeError(f"exact must be True, False or None, found {type(exact).__name__}")
    share, significance = check_share(share, "share"), check_open(significance, "significance")
    proportion = check_number(ratio, "ratio")
    if not 0 < proportion < math.inf:
        raise ArgumentValueError(
            f"ratio, of the second group's people to the first's, must be above 0, got {ratio!r}"
        )
    if against is not None:
        if null is not None or proportion != 1:
            raise ArgumentTypeError("null and ratio are for two groups; leave them out")
        second: float | None = None
        expected = check_share(against, "against")
    else:
        if null is not None and exact:
            raise ArgumentTypeError(
                "null is for the normal formula: the test of two groups takes from the reports "
                "what both have in common; leave null or exact out"
            )
        second = check_share(other, "other")
        common = (share + proportion * second) / (1 + proportion)
        expected = common if null is None else check_share(null, "null")
    if exact is None and (null is not None or question.rates is None):
        exact = False
    kind = Usual if exact is None else law_of(second) if exact else Formula
    return kind(question, share, second, expected, proportion, alternative, significance)


def law_of(other: float | None) -> type[Exact]:
    """The exact test of one group, or of two."""
    return Exact if other is None else ExactPair


def check_pair(against: float | None, other: float | None) -> None:
    """Raise unless there is one thing to compare with."""
    if (against is None) == (other is None):
        raise ArgumentTypeError(
            "give against, a value that is known, or other, the share in a second group; found "
            f"{'neither' if against is None else 'both'}"
        )


@dataclass(frozen=True, eq=False)
class Formula:
    """The power by the normal formula, as rr has it.

    Off where few reports are expected on one side: at epsilon 6 it says that 5 people show 10%
    against 0, and the exact test takes 29.
    """

    question: Question
    share: float
    other: float | None
    null: float
    ratio: float
    alternative: str
    significance: float

    most = MOST_PEOPLE

    @property
    def difference(self) -> float:
        """What is to be noticed."""
        return self.share - (self.null if self.other is None else self.other)

    @property
    def z(self) -> float:
        """The quantile that the estimate must exceed."""
        tail = self.significance / (1 + (self.alternative == "two-sided"))
        return float(-scipy.special.ndtri(tail))

    @property
    def deviations(self) -> tuple[float, float]:
        """sqrt(n) times the standard error if nothing is there, and as it is."""
        spread = self.question.spread
        if self.other is None:
            return math.sqrt(spread(self.null)), math.sqrt(spread(self.share))
        without = spread(self.null) * (1 + 1 / self.ratio)
        return math.sqrt(without), math.sqrt(spread(self.share) + spread(self.other) / self.ratio)

    def power(self, n: NDArray[Any]) -> Floats:
        """The power at each n."""
        without, real = self.deviations
        if without == 0:
            hint = (
                "plan against another value"
                if self.question.rates is None
                else f"leave exact out, for at most {_MOST_EXACT:,} people"
            )
            raise ArgumentValueError(
                f"at a share of {self.null:g} no report of this design varies, so the normal "
                f"formula says nothing of a test against it; {hint}"
            )
        scaled = np.sqrt(n.astype(np.float64)) * self.difference
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = (scaled - self.z * without) / real, (-scaled - self.z * without) / real
        tails = {"greater": [up], "less": [down], "two-sided": [up, down]}[self.alternative]
        # Where nothing varies the test decides without error: 0 / 0 is "not beyond".
        return np.asarray(sum(scipy.special.ndtr(np.nan_to_num(t, nan=-np.inf)) for t in tails))

    def check_possible(self, wanted: float) -> None:
        """Raise where more people do not help, or none are needed."""
        if wanted <= self.significance:
            raise ArgumentValueError(
                f"power must be above significance, {self.significance:g}, which a test reaches "
                f"without any reports; got {wanted:g}"
            )
        side = {"greater": 1, "less": -1}.get(self.alternative, 0)
        if self.difference == 0 or side * self.difference < 0:
            relation = "is" if self.difference == 0 else f"is not {self.alternative} than"
            raise ArgumentValueError(
                f"no number of people reaches a power of {wanted:g}: the share expected {relation} "
                f"{'the value' if self.other is None else 'that of the other group'}"
            )

    def guess(self, wanted: float) -> float:
        """About how many people, from the tail that counts."""
        without, real = self.deviations
        reach = self.z * without + float(scipy.special.ndtri(wanted)) * real
        return (max(reach, 0.0) / self.difference) ** 2

    def settle(self, n: int, wanted: float) -> int:
        """The smallest n from which on the power is kept, at or after the one found."""
        return n


class Exact(Formula):
    """The power of the exact binomial test of the reported share."""

    most = _MOST_EXACT

    def power(self, n: NDArray[Any]) -> Floats:
        """The sum of the law of the count over the region of rejection, at each n."""
        self._check(n)
        rate, null = self.question.rate(self.share), self.question.rate(self.null)
        size = n.astype(np.float64)
        tail = self.significance / (1 + (self.alternative == "two-sided"))
        base, top = self.question.rates or (0.0, 1.0)
        found = np.zeros(len(size))
        for side in self._sides(top < base):
            null_rate, real_rate = (null, rate) if side > 0 else (1 - null, 1 - rate)
            least = _critical(size, null_rate, tail)
            found += _upper_tail(least, size, real_rate)
        return found

    def settle(self, n: int, wanted: float) -> int:
        """The smallest n from which on the power is kept, at or after the one found."""
        s = self.question.rate(self.null)
        spread = max(s * (1 - s), 0.1 / n)
        quantiles = abs(self.z) + abs(float(scipy.special.ndtri(wanted)))
        # A wave lasts 1/s or 1/(1-s) people, and waves die away over so many (see the tests).
        wave = (2 + 4 / quantiles) * math.sqrt(n / spread) + 3 / spread
        ahead, start = math.ceil(min(wave * self._waves(), 1e6)), n
        while start <= n + ahead:
            block = np.arange(start, min(start + _AT_ONCE, n + ahead + 1))
            short = np.flatnonzero(self.power(block) < wanted)
            if short.size:
                n = int(block[short[-1]]) + 1
            start = int(block[-1]) + 1
        return n

    def _waves(self) -> float:
        """How far waves reach, beside those of one group."""
        return 1.0

    def added_up(self, n: NDArray[Any]) -> NDArray[np.bool_]:
        """At which n the law is added up."""
        return np.asarray(n <= self.most)

    def _check(self, n: NDArray[Any]) -> None:
        if not self.added_up(n).all():
            raise ArgumentValueError(
                f"exact is for at most {self._limit}, got {n.max():,}; leave it out"
            )

    @property
    def _limit(self) -> str:
        return f"{self.most:,} people"

    def _sides(self, reverse: bool) -> list[int]:
        """On which side of the null rate counts reject: 1 above, -1 below."""
        side = {"greater": [1], "less": [-1], "two-sided": [1, -1]}[self.alternative]
        return [-one for one in side] if reverse else side


class ExactPair(Exact):
    """The power of the z test of two reported shares, pooled variance."""

    most = _MOST_EXACT_PAIRS

    def _waves(self) -> float:
        return 0.1

    def power(self, n: NDArray[Any]) -> Floats:
        """The sum over the first group's counts of the second's tail that rejects, at each n."""
        self._check(n)
        base, top = self.question.rates or (0.0, 1.0)
        rates = self.question.rate(self.share), self.question.rate(self.other or 0.0)
        sides = self._sides(top < base)
        return np.array(
            [sum(self._rejects(int(size), rates, side) for side in sides) for size in n]
        )

    def added_up(self, n: NDArray[Any]) -> NDArray[np.bool_]:
        """At which n the law is added up: over the first group; the second may be larger."""
        return np.asarray((n <= self.most) & (n * self.ratio <= _MOST_EXACT))

    @property
    def _limit(self) -> str:
        return f"{self.most:,} people in the first group and {_MOST_EXACT:,} in the second"

    def _rejects(self, n: int, rates: tuple[float, float], side: int) -> float:
        """P(the first share exceeds the second by z pooled standard errors), for side 1."""
        rate, other = rates if side > 0 else (1 - rates[0], 1 - rates[1])
        m = max(1, round(n * self.ratio))
        reach = _TAIL * math.sqrt(n * rate * (1 - rate)) + 40
        x = np.arange(max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach)) + 1)
        below = _upper_tail(np.append(x, x[-1] + 1), np.float64(n), rate)

        def rejected(second: Floats) -> NDArray[np.bool_]:
            y = np.maximum(second, 0)
            pooled = (x + y) / (n + m)
            error = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
            return np.asarray((x / n - y / m >= self.z * error) & (error > 0))

        # The largest second count that is still rejected: fewer ones are, too.
        low, high = np.full(len(x), -1.0), np.floor(np.minimum(m, x * (m / n)))
        low = np.where(rejected(np.zeros(len(x))), 0.0, low)
        high = np.maximum(high, low)
        while np.any(high - low > 0):
            middle = np.ceil((low + high) / 2)
            kept = rejected(middle) & (middle >= 0)
            low, high = np.where(kept, middle, low), np.where(kept, high, middle - 1)
        second = np.where(low < 0, 0.0, 1 - _upper_tail(low + 1, np.float64(m), other))
        return float(-np.diff(below) @ second)


class Usual(Exact):
    """The power by the exact law where it is added up, by the normal formula beyond."""

    most = MOST_PEOPLE

    @cached_property
    def _law(self) -> Exact:
        return law_of(self.other)(
            self.question,
            self.share,
            self.other,
            self.null,
            self.ratio,
            self.alternative,
            self.significance,
        )

    def power(self, n: NDArray[Any]) -> Floats:
        """Of each n by the one or the other."""
        found, exact = np.empty(len(n)), self._law.added_up(n)
        if exact.any():
            found[exact] = self._law.power(n[exact])
        if not exact.all():
            found[~exact] = Formula.power(self, n[~exact])
        return found

    def _waves(self) -> float:
        return self._law._waves()


def _upper_tail(x: ArrayLike, size: ArrayLike, rate: float) -> Floats:
    """P(X >= x) for X ~ Bin(size, rate)."""
    inner = np.clip(x, 1, size)
    tail = scipy.special.betainc(inner, np.asarray(size) - inner + 1, rate)
    return np.where(np.asarray(x) <= 0, 1.0, np.where(np.asarray(x) > size, 0.0, tail))


def _critical(size: Floats, rate: float, tail: float) -> Floats:
    """The least count whose upper tail is at most this; size + 1 where none is."""
    low, high = np.full_like(size, -1.0), size + 1
    z = float(-scipy.special.ndtri(tail))
    skew = (1 - 2 * rate) * (z * z - 1) / 6  # Cornish and Fisher: mostly the edge itself
    near = np.ceil(size * rate + z * np.sqrt(size * rate * (1 - rate)) + skew + 0.5)
    near = np.clip(near, 0, size)
    step = np.ones_like(size)

    def small(count: Floats) -> NDArray[np.bool_]:
        return np.asarray(_upper_tail(count, size, rate) <= tail)

    # Strides from the guess, twice as far each time, until the edge is enclosed.
    place = near
    while np.any(high - low > 1):
        inside = np.clip(place, low + 1, np.maximum(high - 1, low + 1))
        accepted = small(inside)
        open_ = high - low > 1
        high = np.where(open_ & accepted, inside, high)
        low = np.where(open_ & ~accepted, inside, low)
        half = np.floor((low + high) / 2)
        stride = np.where(
            accepted, np.maximum(inside - step, half), np.minimum(inside + step, half)
        )
        place, step = stride, step * 2
    return high
