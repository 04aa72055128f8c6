"""What every mechanism answers, for type checkers and for whoever writes the next one.

A mechanism is a frozen description of what a respondent (or a program) does with a true
answer.  It is not a base class: there is nothing to inherit and no registry.  Statistics ask
its `channel`, privatizing asks `randomize`, counting asks `report_space` and `count`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories
from rrstats.mechanisms.channel import Channel
from rrstats.randomness.sources import Source

__all__ = ["Mechanism"]


@runtime_checkable
class Mechanism(Protocol):
    """An immutable description that owns a channel and can randomize and count."""

    @property
    def domain(self) -> Categories:
        """The true answers: the declared categories."""
        ...

    @property
    def report_space(self) -> Categories | Subsets:
        """The reports: their labels, codes and storage; often the categories themselves."""
        ...

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The declared categories, in their order."""
        ...

    @property
    def k(self) -> int:
        """The number of categories."""
        ...

    @property
    def groups(self) -> tuple[Hashable, ...] | None:
        """The labels of the samples, where each row must say which one it is in; else None."""
        ...

    @property
    def channel(self) -> Channel:
        """P(report | truth) and its algebra."""
        ...

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, rounded up (nats)."""
        ...

    def randomize(self, codes: NDArray[Any], source: Source, block: int = 0) -> NDArray[Any]:
        """Reports of one block of true codes, all below k."""
        ...

    def count(self, reports: NDArray[Any]) -> NDArray[Any]:
        """How often each of the m cells occurs among coded reports."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """A JSON document that `mechanisms.from_dict` reads back."""
        ...
