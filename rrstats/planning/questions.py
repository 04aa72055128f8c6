"""What every plan is about: the share of one category, seen through one mechanism.

A `Question` puts a mechanism, a category and its expected share together, and answers by the
channel alone how much one report says: its variance, and the law of the counts where these are
binomial.  Where other categories or finer classes of people matter, ``mix`` says how common they
are beside one another; it never says how common the category of interest is.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_count, check_number
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.tally import Tally
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import (
    check_target,
    expected_rates,
    has_latent_classes,
    recode_matrix,
)
from rrstats.mechanisms.serialization import as_mechanism
from rrstats.mechanisms.support_channel import report_variance

__all__ = ["MOST_PEOPLE", "Question", "ask", "check_open", "check_people", "check_share"]


MOST_PEOPLE = 2**53
"""Beyond it a double no longer tells n from n + 1."""

_SAMPLE = float(2**30)
"""People in each sample of the imagined survey of which one person's part is taken."""


@dataclass(frozen=True, eq=False)
class Question:
    """The share of one category among people who report by one mechanism.

    mechanism : what makes the reports.  code : the category asked for.
    mix : (classes,) how common classes of people are, beside those on the same side.
    """

    mechanism: Mechanism
    code: int
    mix: Floats
    target: str = "population"

    @cached_property
    def _sides(self) -> tuple[Floats, Floats]:
        """(classes,) the law of the class among people of the category, and among the others."""
        inside = recode_matrix(self.mechanism.channel)[self.code] * self.mix
        outside = self.mix - inside
        return inside / inside.sum(), outside / outside.sum()

    def theta(self, share: float) -> Floats:
        """(classes,) true shares in which the category has this one."""
        inside, outside = self._sides
        return np.asarray(share * inside + (1 - share) * outside)

    def spread(self, share: float) -> float:
        """The variance of the estimated share, times the number of people; samples of one size.

        NotIdentifiableError where reports say nothing.
        """
        channel = self.mechanism.channel
        return float(report_variance(channel, self.theta(share), self.target)[self.code])

    @cached_property
    def rates(self) -> tuple[float, float] | None:
        """The rate of a binomial count at a share of 0 and at 1; None where no count is one."""
        _ = self.spread(0.5)  # raises NotIdentifiableError where nothing can be planned
        found = self.mechanism.channel.binomial_rates
        if found is None:
            return None
        return float(found.false_positive_rate[self.code]), float(
            found.true_positive_rate[self.code]
        )

    def rate(self, share: float) -> float:
        """P(a report counts for the category), where counts are binomial."""
        if self.rates is None:
            raise ArgumentValueError(
                "this design has no count that is binomial, so there is no exact law to plan by; "
                "leave exact and assurance out"
            )
        base, top = self.rates
        return float(np.clip(base + share * (top - base), 0, 1))

    def tally(self, share: float, n: int) -> Tally:
        """The reports that n people are expected to give, in whole numbers; samples of one size."""
        channel, groups = self.mechanism.channel, self.mechanism.groups
        rates, samples = expected_rates(channel, self.theta(share)), channel.samples
        sizes = np.diff(np.linspace(0, n, int(samples.max()) + 2).astype(np.int64)).tolist()
        counts = [
            _whole(rates[samples == sample] * size, size).tolist()
            for sample, size in enumerate(sizes)
        ]
        named = counts[0] if groups is None else dict(zip(groups, counts, strict=True))
        return Tally.from_counts(named, self.mechanism)


def _whole(expected: Floats, size: int) -> NDArray[np.int64]:
    """Whole numbers that sum to the size, nearest to these; the largest rests are rounded up."""
    down = np.floor(expected).astype(np.int64)
    rest = size - int(down.sum())
    down[np.argsort(down - expected, kind="stable")[:rest]] += 1
    return down


def ask(
    mechanism: Any,
    prob: float | None = None,
    epsilon: float | None = None,
    *,
    category: Hashable = None,
    mix: Any = None,
    target: str = "population",
) -> Question:
    """The question behind the arguments that all plans share.

    mechanism : a mechanism, or the categories of a k-RR, or only how many there are.
    category : by default the sensitive one where the mechanism says which it is, else the last.
    """
    if isinstance(mechanism, int | np.integer) and not isinstance(mechanism, bool):
        mechanism = range(int(mechanism))
    made = as_mechanism(mechanism, prob, epsilon)
    code = made.k - 1
    wanted = getattr(made, "yes", None) if category is None else category
    if wanted is not None:
        answers = Categories(made.categories)
        code = answers.code(wanted)
        if code >= made.k:
            raise ArgumentValueError(
                f"category must be one of {answers.describe()}, got {wanted!r}"
            )
    return Question(made, code, _check_mix(mix, made, code), check_target(target))


def _check_mix(mix: Any, mechanism: Mechanism, code: int) -> Floats:
    """(classes,) non-negative weights, with some on both sides of the category."""
    channel, classes = mechanism.channel, mechanism.domain
    size = classes.k
    if mix is None:
        if has_latent_classes(channel):
            raise ArgumentTypeError(
                f"this design tells the classes {classes.describe()} apart; say in mix= how common "
                "they are: a number for each, of which only the proportions within the category "
                "and outside it count"
            )
        return np.ones(size)
    if isinstance(mix, Mapping):
        if set(map(classes.code, mix)) != set(range(classes.k)) or len(mix) != classes.k:
            raise ArgumentValueError(
                f"mix must have one number for each of {classes.describe()}, found {len(mix)}"
            )
        mix = [mix[name] for name in sorted(mix, key=classes.code)]
    if isinstance(mix, str | bytes) or not np.iterable(mix):
        raise ArgumentTypeError(f"mix must be {size} numbers, found {type(mix).__name__}")
    found = np.array([check_number(weight, "mix") for weight in mix])
    if len(found) != size or not (np.isfinite(found) & (found >= 0)).all():
        raise ArgumentValueError(
            f"mix must be {size} finite numbers of at least 0, found {len(found)}"
        )
    inside = float(recode_matrix(channel)[code] @ found)
    if not 0 < inside < found.sum():
        raise ArgumentValueError(
            "mix must leave somebody in the category and somebody outside it: how common the "
            "category is, is said by the share"
        )
    return found


def check_share(value: object, name: str) -> float:
    """A share in [0, 1]."""
    share = check_number(value, name)
    if not 0 <= share <= 1:
        hint = f"; write {share / 100:g} for {share:g}%" if 1 < share <= 100 else ""
        raise ArgumentValueError(f"{name} must be in [0, 1], got {share!r}{hint}")
    return share


def check_open(value: object, name: str, highest: float = 1.0, why: str = "") -> float:
    """A number above 0 and below the highest."""
    number = check_number(value, name)
    if not 0 < number < highest:
        raise ArgumentValueError(f"{name} must be in (0, {highest:g}), got {number!r}{why}")
    return number


def check_people(value: object, name: str = "n") -> int:
    """A number of people, 1 to 2**53."""
    people = check_count(value, name)
    if not 1 <= people <= MOST_PEOPLE:
        raise ArgumentValueError(f"{name}, a number of people, must be 1 to 2**53, got {people:,}")
    return people
