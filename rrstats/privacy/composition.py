"""All reports of one person together: columns, waves and rows.

The plain sum of epsilons holds for the worst outcome, which may be very improbable.  A smaller
epsilon therefore holds with a ``delta``: for every set S of outcomes
P(S | true answers) <= e^epsilon P(S | others) + delta.  With probability delta a person may lose
all protection: state the plain sum first, and keep delta far below one over the number of people.
Sources: Kairouz, Oh and Viswanath (2015); Murtagh and Vadhan (2016).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import check_instance, check_number, check_numbers, check_whole_number
from rrstats._display import FrameTable
from rrstats._names import checked_keywords
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import A_MECHANISM, Mechanism, is_mechanism
from rrstats.mechanisms.epsilon import double_above, last_double, round_up
from rrstats.privacy.delta_curve import DeltaCurve, delta_curve
from rrstats.privacy.loss_distribution import PrivacyLoss, privacy_loss

_MAX_REPORTS = 100_000
"""Maximum number of reports of one person: the curve of more takes too long."""
_LARGEST_EPSILON = 1e12
"""Above every finite loss of so many reports."""
_SHOWN_DELTA = 1e-6
"""Delta of the epsilon in the text of a composition."""
_TABLE_DELTAS = (1e-9, 1e-6, 1e-3)


@dataclass(frozen=True)
class Release:
    """One kind of report of a person.

    Parameters
    ----------
    mechanism : Mechanism
        Makes the reports.
    times : int, default 1
        Number of such reports in one row of data.
    name : hashable, optional
        The column's name.
    """

    mechanism: Mechanism
    times: int = 1
    name: Hashable = None


@checked_keywords
@dataclass(frozen=True, repr=False)
class Composition(FrameTable):
    """Privacy of all reports of one person together; `compose` makes it.

    Parameters
    ----------
    releases : tuple of Release
        Each mechanism with the number of its reports in one row of data.
    max_rows_per_person : int, default 1
        The declared largest number of rows of one person.
    note : str, default ""
        What is counted, if a frame's records say it; `df.rr.budget` sets it.
    """

    releases: tuple[Release, ...]
    max_rows_per_person: int = 1
    note: str = field(default="", compare=False)

    @property
    def reports(self) -> int:
        """The largest number of reports of one person."""
        return sum(map(self._times, self.releases))

    @cached_property
    def epsilon(self) -> float:
        """The plain sum of the epsilons of all reports, rounded up; infinite if one of them is."""
        return self._spent(self.releases)

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta with which an epsilon holds.

        Parameters
        ----------
        epsilon : float
            Nats, at least 0.  0 gives the total variation distance between the outcomes of two
            people.

        Returns
        -------
        float
            Rounded up; if `is_exact`, at most one double above the exact number.
        """
        value = check_number(epsilon, "epsilon", 0.0, math.inf)
        return 0.0 if value >= self.epsilon < math.inf else self._curve.delta(value)

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest epsilon that holds with a delta.

        Parameters
        ----------
        delta : float
            In [0, 1]; 0 gives the plain sum.  It should be far below one over the number of
            people.

        Returns
        -------
        float
            Rounded up; infinite if reports prove a true answer with probability above delta.
        """
        value = check_number(delta, "delta", 0.0, 1.0)
        if not value:
            return self.epsilon
        if self.delta(_LARGEST_EPSILON) > value:
            return math.inf
        largest = min(self.epsilon, _LARGEST_EPSILON)
        return last_double(largest, 0.0, lambda epsilon: self.delta(epsilon) <= value)

    @cached_property
    def _losses(self) -> list[PrivacyLoss]:
        return [self._loss(release) for release in self.releases]

    def _loss(self, release: Release) -> PrivacyLoss:
        mechanism = release.mechanism
        if mechanism.deck is not None:
            return PrivacyLoss.of_ratio(mechanism.max_likelihood_ratio)
        return privacy_loss(mechanism.channel, self._times(release))

    @property
    def is_exact(self) -> bool:
        """True if the curve is exact; otherwise it is an upper bound, and `bounds` says why."""
        return not self.bounds

    @property
    def bounds(self) -> tuple[str, ...]:
        """The reasons why the curve is an upper bound, one sentence each; empty if it is exact."""
        reasons = []
        for number, (release, loss) in enumerate(zip(self.releases, self._losses, strict=True), 1):
            if loss.bound is None:
                continue
            if release.name is None:
                which = f"release number {number}"
            else:
                which = f"column {release.name!r}"
            reasons.append(f"{which}: {loss.bound} replaces it")
        return (*reasons, *self._curve.bounds)

    def to_frame(self, deltas: Iterable[float] = _TABLE_DELTAS) -> pd.DataFrame:
        """Return the curve as a table.

        Parameters
        ----------
        deltas : iterable of float, default (1e-9, 1e-6, 1e-3)
            The deltas of the rows after the first.

        Returns
        -------
        DataFrame
            Columns delta, epsilon, and share (epsilon divided by the plain sum).  The first row
            has delta 0 and the plain sum.

        Examples
        --------
        >>> import rrstats as rr
        >>> ten = compose([(rr.KRR(range(100), epsilon=0.5), 10)])
        >>> ten.to_frame([0.001]).round(3)
           delta  epsilon  share
        0  0.000    5.000  1.000
        1  0.001    0.915  0.183
        """
        chosen = [0.0, *(delta for delta in check_numbers(deltas, "deltas").tolist() if delta)]
        epsilons = [self.epsilon_at(delta) for delta in chosen]
        plain_sum = self.epsilon
        ratios = [
            epsilon / plain_sum if plain_sum and epsilon < math.inf else math.nan
            for epsilon in epsilons
        ]
        return pd.DataFrame({"delta": chosen, "epsilon": epsilons, "share": ratios})

    def by_release(self) -> pd.DataFrame:
        """Return each release's contribution to the plain sum.

        Returns
        -------
        DataFrame
            Columns name, epsilon_per_report, reports and epsilon.
        """
        rows = [
            (
                release.name,
                release.mechanism.epsilon,
                self._times(release),
                self._spent([release]),
            )
            for release in self.releases
        ]
        return pd.DataFrame(rows, columns=["name", "epsilon_per_report", "reports", "epsilon"])

    def _times(self, release: Release) -> int:
        return release.times * self.max_rows_per_person

    def _spent(self, releases: Iterable[Release]) -> float:
        """The sum of the epsilons of some releases, rounded up."""
        parts = [(release.mechanism.epsilon, self._times(release)) for release in releases]
        if math.inf in dict(parts):
            return math.inf
        terms = (Fraction(epsilon) * times for epsilon, times in parts)
        return double_above(sum(terms, Fraction(0)))

    @cached_property
    def _curve(self) -> DeltaCurve:
        return delta_curve(zip(self._losses, map(self._times, self.releases), strict=True))

    def __repr__(self) -> str:
        reports = f"{self.reports} report{'s' if self.reports > 1 else ''} of one person"
        text = f"{reports}: epsilon {round_up(self.epsilon)} in all"
        if self.epsilon:
            smaller = round_up(self.epsilon_at(_SHOWN_DELTA))
            if not self.is_exact:
                smaller = f"at most {smaller}"
            text += f", or {smaller} with delta {_SHOWN_DELTA:g}"
        return f"<{text}; {self.note}>" if self.note else f"<{text}>"


@checked_keywords
def compose(mechanisms: Any, *, max_rows_per_person: int = 1) -> Composition:
    """Compute the total privacy loss of all reports of one person.

    Parameters
    ----------
    mechanisms : list of Mechanism, or mapping from column to Mechanism
        Every report of one row.  Use ``(mechanism, times)`` for several reports, such as waves, or
        repeat the mechanism.
    max_rows_per_person : int, default 1
        The largest number of rows of any one person, as the study's design declares it and never
        counted in the data; it multiplies every report.

    Returns
    -------
    Composition
        ``epsilon`` is the plain sum, ``delta(epsilon)`` and ``epsilon_at(delta)`` are the curve,
        ``to_frame()`` a table.

    Notes
    -----
    Count every privatized column, every wave, every row of one person, and every release of the
    same source.  Columns add in full even if they are strongly correlated: for a reader who knows
    that two columns always agree, both are reports of one answer.  Missing answers and answers
    outside the categories are covered where they are replaced (``unknown="uniform"``), because
    their reports are mixtures of the categories'.
    With missing="keep" the data publish who did not answer, and no epsilon covers that.

    A wave that only randomizes kept reports again costs nothing: count the mechanism of the first
    round once for every distinct true answer.  Keyed reports (``key=``) repeat for the
    same value: count every distinct value that a person ever had once.  That covers the values,
    but not whether two of them differ.  Reports must be drawn independently.

    For k-RR the loss of a report is epsilon, 0, -epsilon with probabilities p, (k-2) q, q, and
    losses add.  Many different mechanisms are put on a grid; mechanisms without one worst pair of
    true answers are bounded.  `Composition.bounds` reports both.

    References
    ----------
    Kairouz, Oh and Viswanath (2015).

    Examples
    --------
    >>> import rrstats as rr
    >>> ten = rr.privacy.compose([(rr.KRR(range(10), epsilon=0.5), 10)])
    >>> round(ten.epsilon, 6), round(ten.epsilon_at(1e-6), 4)
    (5.0, 3.8976)
    >>> rr.privacy.compose({"smoker": rr.KRR(["yes", "no"], 0.75)}, max_rows_per_person=4)
    <4 reports of one person: epsilon 4.395 in all, or 4.395 with delta 1e-06>
    """
    rows = _check_max_rows(max_rows_per_person)
    listed = [mechanisms] if is_mechanism(mechanisms) else mechanisms
    rule = "a list of mechanisms, or a mapping from column to mechanism"
    check_instance(listed, "mechanisms", Iterable, rule)
    if isinstance(listed, Mapping):
        releases = [_release(name, entry) for name, entry in listed.items()]
    else:
        releases = [_release(None, entry) for entry in listed]
    composition = Composition(tuple(releases), rows)
    if not 0 < composition.reports <= _MAX_REPORTS:
        raise ArgumentValueError(
            f"mechanisms must be at least one and at most {_MAX_REPORTS:,} reports of one person, "
            f"found {composition.reports:,}; data without records have an unknown epsilon, not 0"
        )
    return composition


def _check_max_rows(number: object) -> int:
    hint = "it is declared by the design, never counted in the data"
    return check_whole_number(number, "max_rows_per_person", 1, hint=hint)


def _release(name: Hashable, entry: Any) -> Release:
    """One release, from a mechanism or a mechanism with its number of reports."""
    if isinstance(entry, tuple) and len(entry) == 2:
        mechanism, times = entry
    else:
        mechanism = entry
        times = 1
    rule = f"mechanisms, or (mechanism, times), {A_MECHANISM}"
    check_instance(mechanism, "mechanisms", Mechanism, rule)
    return Release(mechanism, check_whole_number(times, "times", 1), name)


def check_rows_per_person(person: Any, max_rows_per_person: int) -> None:
    """Raise if a person has more rows than declared.

    Parameters
    ----------
    person : array-like
        A label for the person of each row; none may be missing.
    max_rows_per_person : int
        The declared largest number, at least 1.

    Raises
    ------
    ArgumentValueError
        For more rows, and for a row without a label.  A person's number of rows is private, and so
        is the largest one: no message quotes a label or a count.  The error itself reveals that
        the limit is exceeded, so this check is for the data curator only.

    Examples
    --------
    >>> check_rows_per_person(["a", "b", "a"], 2)
    """
    limit = _check_max_rows(max_rows_per_person)
    labels = person if isinstance(person, pd.Series) else pd.Series(person)
    codes = pd.factorize(labels)[0]
    if (codes < 0).any():
        raise ArgumentValueError(
            "person must identify a person in every row, found missing labels: rows of an unknown "
            "person cannot be counted"
        )
    if len(codes) and int(np.bincount(codes).max()) > limit:
        raise ArgumentValueError(
            f"a person has more rows than max_rows_per_person={limit} declares; declare the "
            "largest number that the study's design allows, or remove rows before privatizing"
        )
