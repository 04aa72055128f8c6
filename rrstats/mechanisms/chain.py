"""Two rounds: the reports of one mechanism, randomized again by another.

Law: the product of the two channels.  Epsilon of the final report alone is that product's,
at most the first's; whoever sees the intermediate reports as well learns what those tell.
Use it to record that a privatized column was privatized again, or to plan two rounds.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from numpy.typing import NDArray

from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories
from rrstats.data.columns import codec_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import Channel, MultinomialChannel
from rrstats.mechanisms.epsilon import epsilon_from_ratio
from rrstats.mechanisms.verbs import Verbs, as_code, check_keys
from rrstats.randomness.sources import Source, Substream

__all__ = ["Chain"]


@dataclass(frozen=True, repr=False)
class Chain(Verbs):
    """``first``, and then ``second`` on the reports of ``first``.

    first, second : mechanisms; the second's categories are the first's report space.
    Raises ArgumentValueError where they are not.
    Law: the product of the channels; for two k-RR, p = p1 p2 + (k-1) q1 q2, a k-RR again.

    >>> import rrstats as rr
    >>> twice = Chain(rr.KRR(list("abc"), 0.8), rr.KRR(list("abc"), 0.6))
    >>> float(twice.channel.prob_truth)
    0.52
    """

    first: Mechanism
    second: Mechanism

    def __post_init__(self) -> None:
        from rrstats.mechanisms.serialization import is_mechanism

        for name in ("first", "second"):
            part = getattr(self, name)
            if not is_mechanism(part):
                raise ArgumentTypeError(
                    f"{name} must be a mechanism such as rr.KRR(['yes', 'no'], 0.75), found "
                    f"{type(part).__name__}"
                )
            if getattr(part, "groups", None) is not None:
                raise ArgumentValueError(
                    f"{name} must be a mechanism of one sample; chain the mechanism of each sample"
                )
            if not codec_of(part.report_space).is_label:
                raise ArgumentValueError(
                    f"{name} must be a mechanism whose reports are single labels: reports that "
                    "name several categories have no small product; rr.Rappor has two rounds of "
                    "bits, rr.rounds.two_rounds two rounds of one answer"
                )
        if self.first.report_space != self.second.domain:
            raise ArgumentValueError(
                "the second mechanism must have the reports of the first as its categories, in "
                "the same order: "
                f"{self.first.report_space.describe()}, found {self.second.domain.describe()}"
            )
        _ = self.channel  # raises now, and not after reports were made, where there is no product

    @property
    def rounds(self) -> tuple[Mechanism, ...]:
        """The mechanisms in their order, those of inner chains too.

        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.9)
        >>> len(m.then(m).then(m).rounds), len(m.then(m.then(m)).rounds)
        (3, 3)
        """
        found: list[Mechanism] = []
        for part in (self.first, self.second):
            found.extend(getattr(part, "rounds", (part,)))
        return tuple(found)

    @property
    def domain(self) -> Categories:
        """The true answers of the first mechanism."""
        return self.first.domain

    @property
    def report_space(self) -> Categories | Subsets:
        """The reports of the second mechanism."""
        return self.second.report_space

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The declared categories, in their order."""
        return self.first.categories

    @property
    def k(self) -> int:
        """The number of categories."""
        return self.first.k

    @cached_property
    def channel(self) -> Channel:
        """The product of both channels."""
        return cast(MultinomialChannel, self.first.channel).then(
            cast(MultinomialChannel, self.second.channel)
        )

    @cached_property
    def epsilon(self) -> float:
        """The privacy loss of the final report in nats, rounded up."""
        return epsilon_from_ratio(self.channel.max_likelihood_ratio)

    def randomize(self, codes: NDArray[Any], source: Source, block: int = 0) -> NDArray[Any]:
        """Reports of one block of true codes, each round with words of its own."""
        for stage, mechanism in enumerate(self.rounds):
            codes = mechanism.randomize(codes, Substream(source, stage), block)
        return codes

    def count(self, reports: NDArray[Any]) -> NDArray[Any]:
        """How often each final report occurs."""
        return self.second.count(reports)

    def to_dict(self) -> dict[str, Any]:
        """The mechanism as plain JSON."""
        return {"type": "Chain", "first": self.first.to_dict(), "second": self.second.to_dict()}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Chain:
        """The mechanism that `to_dict` described."""
        from rrstats.mechanisms.serialization import from_dict

        check_keys(document, ["first", "second"])
        return cls(from_dict(document["first"]), from_dict(document["second"]))

    def _call(self) -> str:
        return f"Chain({as_code(self.first)},\n      {as_code(self.second)})"
