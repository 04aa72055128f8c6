"""What several reports of one person tell together: the plain sum, and the exact curve.

Losses of independent reports add, whatever the true answers have to do with one another: columns,
waves and rows of one person all count.  The sum of the epsilons is the promise for the worst
outcome.  That outcome may be next to impossible, so a smaller epsilon holds but for ``delta``.
Law: for every set S of outcomes P(S | true answers) <= e^epsilon P(S | others) + delta, with the
smallest such delta, the sum of (P - e^epsilon Q)_+ over all outcomes.
A delta is no second chance for the person: state the plain sum first, and keep delta far below
one over the number of people.
Sources: Kairouz, Oh and Viswanath (2015); Murtagh and Vadhan (2016) for unequal reports.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from rrstats._checks import check_number
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.epsilon import double_above, round_up
from rrstats.privacy.convolving import GridCurve, ProductCurve, privacy_curve
from rrstats.privacy.privacy_loss import PrivacyLoss, privacy_loss

if TYPE_CHECKING:
    from rrstats.mechanisms.base import Mechanism

__all__ = ["Composition", "Release", "check_max_rows_per_person", "compose"]

_DELTA = 1e-6
_DELTAS = (1e-9, 1e-6, 1e-3)

_MOST_REPORTS = 100_000


@dataclass(frozen=True)
class Release:
    """One kind of report of a person: a mechanism, how many such reports, and the column's name."""

    mechanism: Mechanism
    times: int = 1
    name: Hashable = None


@dataclass(frozen=True, repr=False)
class Composition:
    """What all reports of one person tell together; `compose` makes it.

    releases : each mechanism with how often it reports, in one row of data.
    max_rows_per_person : how many rows of one person there are at most, as declared.
    """

    releases: tuple[Release, ...]
    max_rows_per_person: int = 1

    @property
    def reports(self) -> int:
        """How many reports one person gives at most."""
        return sum(release.times for release in self.releases) * self.max_rows_per_person

    @cached_property
    def epsilon(self) -> float:
        """The plain sum of the epsilons of all reports, rounded up; infinite where one is."""
        return _added([self._spent(release) for release in self.releases])

    def delta(self, epsilon: float) -> float:
        """The smallest delta with which ``epsilon`` holds, rounded up.

        epsilon : nats, at least 0.  0 gives the total variation: the most by which two people's
            outcomes differ.
        Where `is_exact`, at most one double above the exact number; never below it.
        """
        value = check_number(epsilon, "epsilon")
        if not value >= 0:
            raise ArgumentValueError(f"epsilon must be at least 0 (nats), got {value!r}")
        if value >= self.epsilon < math.inf:
            return 0.0
        return self._curve.delta(value)

    def epsilon_at(self, delta: float) -> float:
        """The smallest epsilon that holds but for ``delta``, rounded up.

        delta : in [0, 1]; 0 gives the plain sum.  Infinite where reports prove the truth with a
            larger chance than delta.
        Where `is_exact`, a few doubles above the exact number at most (or below 1e-60 where that
        is 0); never below it.
        """
        value = check_number(delta, "delta")
        if not 0 <= value <= 1:
            raise ArgumentValueError(
                f"delta must be in [0, 1], got {value!r}; it should be far below one over the "
                "number of people"
            )
        if value == 0:
            return self.epsilon
        return min(self._curve.epsilon_at(value), self.epsilon)

    @cached_property
    def _losses(self) -> list[PrivacyLoss]:
        return [privacy_loss(release.mechanism.channel) for release in self.releases]

    @property
    def is_exact(self) -> bool:
        """Whether the curve is exact, and not only an upper bound; `bounds` says why it is one."""
        return not self.bounds

    @property
    def bounds(self) -> tuple[str, ...]:
        """Why the curve is an upper bound, a sentence for each reason; none where it is exact."""
        found = [
            f"{self._called(place)}: {reason} stands for it"
            for place, loss in enumerate(self._losses)
            if (reason := loss.bound) is not None
        ]
        return (*found, *self._curve.bounds)

    def to_frame(self, deltas: Iterable[float] = _DELTAS) -> pd.DataFrame:
        """The curve as a table: delta, epsilon, and epsilon's share of the plain sum.

        The first row has delta 0, the plain sum.

        >>> import rrstats as rr
        >>> ten = compose([(rr.KRR(range(100), epsilon=0.5), 10)])
        >>> ten.to_frame([0.001]).round(3)
           delta  epsilon  share
        0  0.000    5.000  1.000
        1  0.001    0.915  0.183
        """
        if isinstance(deltas, str | bytes) or not isinstance(deltas, Iterable):
            raise ArgumentTypeError(
                f"deltas must be a list of numbers, found {type(deltas).__name__}"
            )
        chosen = [0.0, *(value for delta in deltas if (value := check_number(delta, "deltas")))]
        epsilons = [self.epsilon_at(delta) for delta in chosen]
        shares = [self._share(epsilon) for epsilon in epsilons]
        return pd.DataFrame({"delta": chosen, "epsilon": epsilons, "share": shares})

    def by_release(self) -> pd.DataFrame:
        """What each release adds to the plain sum: name, epsilon_per_report, reports, epsilon."""
        return pd.DataFrame(
            {
                "name": pd.Series([release.name for release in self.releases], dtype=object),
                "epsilon_per_report": [release.mechanism.epsilon for release in self.releases],
                "reports": [release.times * self.max_rows_per_person for release in self.releases],
                "epsilon": [_added([self._spent(release)]) for release in self.releases],
            }
        )

    def _spent(self, release: Release) -> Fraction | None:
        """The exact sum of the epsilons of one release; None where they are infinite."""
        epsilon = release.mechanism.epsilon
        if epsilon == math.inf:
            return None
        return Fraction(epsilon) * release.times * self.max_rows_per_person

    @cached_property
    def _curve(self) -> ProductCurve | GridCurve:
        return privacy_curve(
            [
                (loss, release.times * self.max_rows_per_person)
                for loss, release in zip(self._losses, self.releases, strict=True)
            ]
        )

    def _share(self, epsilon: float) -> float:
        if epsilon == math.inf or not self.epsilon:
            return math.nan
        return epsilon / self.epsilon

    def _called(self, place: int) -> str:
        name = self.releases[place].name
        return f"release number {place + 1}" if name is None else f"column {name!r}"

    def __repr__(self) -> str:
        reports = f"{self.reports} report{'s' if self.reports > 1 else ''} of one person"
        whole = f"epsilon {round_up(self.epsilon)} in all"
        if self.epsilon == 0:
            return f"<{reports}: {whole}>"
        found = f"{'' if self.is_exact else 'at most '}{round_up(self.epsilon_at(_DELTA))}"
        return f"<{reports}: {whole}, or {found} with delta {_DELTA:g}>"


def _added(parts: Iterable[Fraction | None]) -> float:
    """The sum, rounded up; None stands for infinite."""
    listed = list(parts)
    known = [part for part in listed if part is not None]
    return double_above(sum(known, Fraction(0))) if len(known) == len(listed) else math.inf


def compose(mechanisms: Any, *, max_rows_per_person: int = 1) -> Composition:
    """What all reports of one person spend together.

    mechanisms : every report of one row: a list of mechanisms, or a mapping from column to
        mechanism.  ``(mechanism, times)`` in a mechanism's place is that many reports, as from
        several waves; so is a mechanism that stands there several times.
    max_rows_per_person : the most rows that any one person has in the data, as declared by the
        design of the study and never counted in the data; it multiplies every report.
    Returns a Composition: ``epsilon`` is the plain sum, ``delta(epsilon)`` and
    ``epsilon_at(delta)`` are the exact curve, ``to_frame()`` a table.
    Raises ArgumentTypeError and ArgumentValueError for anything else.

    What counts: every privatized column; every wave; every row of one person; every release of
    the same source.  Columns add in full however strongly they hang together, as someone who
    knows that two columns always agree reads both for one.  Answers that are not among the
    categories, or missing, are covered: their reports mix those of the categories.  Where missing
    answers were kept (missing="keep"), who did not answer is published, and no epsilon covers it.
    What does not: a wave that only randomizes kept reports anew: count the mechanism of the first
    round once for every distinct true answer.  Likewise keyed reports (``key=``, ``id=``)
    repeat under the same value: count every distinct value that a person ever had, once; that
    covers what the values are, and not whether two of them differ.
    Reports must be drawn independently of one another.

    Formula: for k-RR the loss of a report is epsilon, 0, -epsilon with
    chances p, (k-2) q, q, and losses add.  Certified: computed in decimals rounded outward.
    Many different mechanisms are put on a grid, and mechanisms in which no one pair of true
    answers is the worst are bounded: `Composition.bounds` says so.
    Source: Kairouz, Oh and Viswanath (2015); see `rrstats.privacy.losses`.

    >>> import rrstats as rr
    >>> ten = rr.privacy.compose([(rr.KRR(range(10), epsilon=0.5), 10)])
    >>> round(ten.epsilon, 6), round(ten.epsilon_at(1e-6), 4)
    (5.0, 3.8976)
    >>> rr.privacy.compose({"smoker": rr.KRR(["yes", "no"], 0.75)}, max_rows_per_person=4)
    <4 reports of one person: epsilon 4.395 in all, or 4.395 with delta 1e-06>
    """
    rows = check_max_rows_per_person(max_rows_per_person)
    if hasattr(mechanisms, "channel") and not isinstance(mechanisms, type):
        mechanisms = [mechanisms]
    if isinstance(mechanisms, Mapping):
        named = list(mechanisms.items())
    elif isinstance(mechanisms, Iterable) and not isinstance(mechanisms, str | bytes):
        named = [(None, given) for given in mechanisms]
    else:
        raise ArgumentTypeError(
            "mechanisms must be a list of mechanisms, or a mapping from column to mechanism, found "
            f"{type(mechanisms).__name__}"
        )
    if not named:
        raise ArgumentValueError(
            "mechanisms must hold at least one mechanism: data that say nothing of their making "
            "have an unknown epsilon, not 0"
        )
    found = Composition(tuple(_release(name, given) for name, given in named), rows)
    if found.reports > _MOST_REPORTS:
        raise ArgumentValueError(
            f"mechanisms must be at most {_MOST_REPORTS:,} reports of one person, found "
            f"{found.reports:,}; their plain sum is rr.privacy.total_epsilon"
        )
    return found


def check_max_rows_per_person(number: object) -> int:
    """``max_rows_per_person`` as an int of at least 1; raises otherwise."""
    return _count(number, "max_rows_per_person", "as declared, never counted in the data")


def _count(number: object, name: str, meaning: str) -> int:
    try:
        if isinstance(number, bool):
            raise TypeError
        found = operator.index(number)  # type: ignore[arg-type]  # it is what is being checked
    except TypeError:
        raise ArgumentTypeError(
            f"{name} must be a whole number, found {type(number).__name__}"
        ) from None
    if found < 1:
        raise ArgumentValueError(f"{name} must be at least 1, got {found}; {meaning}")
    return found


def _release(name: Hashable, given: Any) -> Release:
    """One entry: a mechanism, or a mechanism with how many reports."""
    mechanism, times = given if isinstance(given, tuple) and len(given) == 2 else (given, 1)
    if getattr(mechanism, "channel", None) is None or isinstance(mechanism, type):
        found = mechanism.__name__ if isinstance(mechanism, type) else type(mechanism).__name__
        raise ArgumentTypeError(
            "mechanisms must hold mechanisms such as rr.KRR(['yes', 'no'], 0.75), or "
            f"(mechanism, times), found {found}"
        )
    return Release(mechanism, _count(times, "times", "how many such reports a row has"), name)
