"""The base class of mechanisms, and the chain of two of them.

A mechanism is an immutable description of the randomization of one true answer.  Estimation uses
its `channel`, privatization uses `randomize`, and counting uses `report_space` and `count`.  A new
mechanism needs a `domain`, a `channel` and `randomize`, and a line in `serialization`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeGuard, cast, runtime_checkable

import numpy as np

from rrstats._cached import cached_property
from rrstats._checks import check_instance, quote_list
from rrstats._names import MissingMembers, checked_keywords
from rrstats._typing import Array, Counts, JsonObject, Labels
from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories
from rrstats.data.category_json import categories_to_json
from rrstats.data.codecs import codec_of
from rrstats.data.columns import blocks
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LowPrecisionWarning,
    NotIdentifiableError,
    warn,
)
from rrstats.mechanisms.channel import Channel, MultinomialChannel, multinomial
from rrstats.mechanisms.decks import Deck
from rrstats.mechanisms.epsilon import epsilon_from_ratio, round_up
from rrstats.mechanisms.matrix_channel import chained
from rrstats.randomness.sources import Source, Substream

_PART_ROWS = 1 << 16
"""The number of codes counted together: bincount copies them as 64-bit integers."""

_MAX_COMPARED = 8
"""The largest number of cells counted by comparisons: one reads 30 codes while bincount reads 1."""

_MAX_CHECKED_ENTRIES = 1 << 10
"""The largest transition matrix whose rank is checked when its mechanism is made."""

_POSITIONAL = ("design", "categories", "matrix", "first", "second")
_LABELS = ("groups", "shows")

_MAX_LETTERS = 600
"""The longest argument that is printed in full, eight lines; of a longer matrix its shape is."""

A_MECHANISM = "a mechanism such as rr.KRR(['yes', 'no'], 0.75)"
"""The rule in messages about an argument that must be a mechanism."""


@checked_keywords
class Mechanism(MissingMembers, ABC):
    """An immutable description of a randomization, with its channel.

    Attributes
    ----------
    domain : Categories
        The true answers, with their codes.
    groups : tuple of hashables or None
        The labels of the samples, for mechanisms with several; each row is then in one sample.
    """

    domain: Categories
    groups: Labels | None = None

    is_number = False
    """True if reports are numbers, whose plain mean is unbiased."""

    @property
    def distribution_ratio(self) -> float:
        """Of numbers: the variance of the distribution function over that of the square wave."""
        return math.inf

    @property
    def deck(self) -> Deck | None:
        """The cards that a block shares without replacement; None if every report has its coins."""
        return None

    @property
    def report_space(self) -> Categories | Subsets:
        """The reports: their labels, codes and storage; the categories themselves by default."""
        return self.domain

    @property
    def categories(self) -> Labels:
        """The categories to estimate, in their order; for a codebook its value labels."""
        return self.domain.labels

    @property
    def k(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """The transition probabilities P(report | truth), with their operations."""

    @cached_property
    def epsilon(self) -> float:
        """The privacy loss of one report in nats, rounded up; infinite if it can prove an answer.

        For every two truths and every report y, P(y | truth) <= exp(epsilon) P(y | other truth).
        """
        return epsilon_from_ratio(self.max_likelihood_ratio)

    @property
    def max_likelihood_ratio(self) -> Fraction | float:
        """The largest P(report | truth) / P(report | other truth), where others know all else.

        Infinite where cards are dealt without replacement: the other answers of a block may then
        prove this one.
        """
        return self.channel.max_likelihood_ratio if self.deck is None else math.inf

    @property
    def rounds(self) -> tuple[Mechanism, ...]:
        """The mechanisms that draw, in their order; a chain and samples have several."""
        return (self,)

    @property
    def of_samples(self) -> tuple[Mechanism, ...]:
        """The mechanism of each sample, in the order of ``groups``; itself if there is one."""
        return (self,)

    def join(self, codes: Array, samples: Array | None) -> Array:
        """Codes of true answers as `randomize` takes them; with several samples, theirs too.

        Parameters
        ----------
        codes : array of shape (rows,)
            Codes of the true answers.
        samples : array of shape (rows,), or None
            Codes of their samples, of a mechanism with several.

        Returns
        -------
        array of shape (rows,)
        """
        return codes

    @abstractmethod
    def randomize(self, codes: Array, source: Source, block: int = 0) -> Array:
        """Randomize one block of true codes into reports.

        Parameters
        ----------
        codes : array of shape (rows,)
            Codes of ``domain.dtype``, all below the number of true answers.  Words are drawn
            independently of them.
        source : Source
            The source of random words.
        block : int
            The number of the block; each block has its own words.

        Returns
        -------
        array
            One coded report for each row.
        """

    def count(self, reports: Array) -> Counts:
        """Count the coded reports in each of the m cells.

        Parameters
        ----------
        reports : array of shape (n,), or (n, width) for packed reports
            As `randomize` returns them.

        Returns
        -------
        array of shape (m,)
        """
        return _count_codes(reports, multinomial(self.channel).m)

    @property
    def parameters(self) -> JsonObject:
        """The numeric parameters by name, as in the JSON and in the call."""
        numbers = int | float | Fraction
        return {name: x for name, x in self._arguments.items() if isinstance(x, numbers)}

    @property
    def _arguments(self) -> JsonObject:
        """The arguments by name, as in the JSON."""
        kind: Any = type(self)
        names = [field.name for field in fields(kind)] if is_dataclass(kind) else []
        return {"categories": self.domain} | {n: vars(self)[n] for n in names if n != "domain"}

    def to_dict(self) -> JsonObject:
        """Return the mechanism as plain JSON, which `mechanisms.from_dict` reads.

        Returns
        -------
        dict

        Examples
        --------
        >>> import rrstats as rr
        >>> rr.KRR([True, False], 0.75).to_dict()
        {'type': 'KRR', 'categories': [{'bool': True}, {'bool': False}], 'prob': 0.75}
        """
        arguments = {name: _to_json(name, value) for name, value in self._arguments.items()}
        return {"type": type(self).__name__} | arguments

    def then(self, second: Mechanism) -> Chain:
        """Chain this mechanism with a second one that randomizes its reports.

        Parameters
        ----------
        second : Mechanism
            A mechanism whose categories are the reports of this one.

        Returns
        -------
        Chain
            Both rounds; its channel is the product of the two channels.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.9)
        >>> m.then(m).epsilon
        1.5163474893680888
        """
        return Chain(self, second)

    def __repr__(self) -> str:
        exact = Fraction(self.epsilon) if self.epsilon < math.inf else self.epsilon
        return f"{self._call()}  # epsilon {round_up(exact)} per report"

    def _call(self, name: str = "") -> str:
        """The Python call that creates the mechanism."""
        return call_text(name or type(self).__name__, self._arguments)


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """The Python call of a function with these arguments."""
    texts = []
    for argument, value in {**arguments, **arguments.get("parameters", {})}.items():
        if argument != "parameters":
            text = _to_text(value)
            texts.append(text if argument in _POSITIONAL else f"{argument}={text}")
    return f"{name}({', '.join(texts)})"


def _to_text(value: Any) -> str:
    """An argument as text in a call."""
    if isinstance(value, Categories):
        return value.describe()
    if isinstance(value, Mechanism):
        return value._call()
    text = repr(_shortest(value))
    if isinstance(value, tuple) and len(text) > _MAX_LETTERS:
        is_matrix = isinstance(value[0], tuple)
        return f"<{len(value)} x {len(value[0])} matrix>" if is_matrix else quote_list(value)
    return text


def _shortest(value: Any) -> Any:
    """Fractions that are doubles as doubles, whose text is shorter; also those in tuples."""
    if isinstance(value, tuple):
        return tuple(map(_shortest, value))
    if isinstance(value, Fraction) and Fraction(float(value)) == value:
        return float(value)
    return value


def _to_json(name: str, value: Any) -> Any:
    """An argument as JSON for `serialization`; labels keep their types."""
    if isinstance(value, Categories):
        return categories_to_json(value.declared)
    if name in _LABELS and value is not None:
        return categories_to_json(value)
    if isinstance(value, Mechanism):
        return value.to_dict()
    if isinstance(value, dict):
        return {key: _to_json(key, part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [_to_json("", part) for part in value]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return value


def is_mechanism(value: object) -> TypeGuard[Mechanism]:
    """True if a value is a mechanism."""
    return isinstance(value, Mechanism)


@runtime_checkable
class HasMechanism(Protocol):
    """A result of reports of one mechanism: an estimate, or a tally."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the reports."""


def mechanism_of(value: object) -> Mechanism:
    """The mechanism of an estimate or a tally, or a mechanism itself; raises for all else."""
    mechanism = value.mechanism if isinstance(value, HasMechanism) else value
    rule = f"{A_MECHANISM}, an estimate, a released frame, or its df.rr.mechanisms['column']"
    check_instance(mechanism, "mechanism", Mechanism, rule)
    return cast(Mechanism, mechanism)


def check_codes(codes: Array, domain: Categories) -> None:
    """Raise unless codes have the domain's dtype; their values are never inspected."""
    if codes.dtype != domain.dtype:
        raise ArgumentTypeError(f"codes must be {domain.dtype}, found {codes.dtype}")


def warn_if_uninformative(channel: Channel) -> None:
    """Warn if nothing can be estimated from a design, before the field work begins.

    For large matrices the check is slow, so the first estimate makes it.
    """
    cells = len(channel.samples)
    if cells * len(channel.class_of) > _MAX_CHECKED_ENTRIES:
        return
    try:
        channel.solve(np.zeros(cells))
    except NotIdentifiableError as error:
        warn(f"this design carries no information by itself: {error}", LowPrecisionWarning)


def _count_codes(codes: Array, k: int) -> Counts:
    """Counts of each of 0 .. k-1; shape (k,).  Works in parts to avoid a 64-bit copy."""
    counts = np.zeros(k, dtype=np.int64)
    for part in (codes[rows] for rows in blocks(len(codes), _PART_ROWS)):
        if k > _MAX_COMPARED:
            counts += np.bincount(part, minlength=k)
            continue
        for code in range(k):
            counts[code] += np.count_nonzero(part == code)
    return counts


def check_coins(mechanism: Mechanism, name: str) -> None:
    """Raise for cards dealt without replacement where each report must be random by itself."""
    if mechanism.deck is not None:
        raise ArgumentValueError(
            f"{name} must not be a deck of cards, whose reports depend on each other: give by= and "
            "blocks= to rr.estimate, or the design of a coin for each person, such as "
            "rr.surveys.forced_response"
        )


@dataclass(frozen=True, repr=False)
class Chain(Mechanism):
    """Two rounds: the reports of one mechanism, randomized again by another.

    The channel is the product of both channels.  ``epsilon`` is for the final report alone and is
    at most the first mechanism's.  It does not cover people who also see the intermediate reports.

    Parameters
    ----------
    first, second : Mechanism
        Mechanisms of one sample with single labels as reports; the categories of the second are
        the reports of the first.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If these conditions do not hold.

    Notes
    -----
    Two rounds of k-RR are again a k-RR, with p = p1 p2 + (k-1) q1 q2.

    Examples
    --------
    >>> import rrstats as rr
    >>> twice = Chain(rr.KRR(list("abc"), 0.8), rr.KRR(list("abc"), 0.6))
    >>> float(twice.channel.prob_truth)
    0.52
    """

    first: Mechanism
    second: Mechanism

    def __post_init__(self) -> None:
        for name, part in (("first", self.first), ("second", self.second)):
            check_instance(part, name, Mechanism, A_MECHANISM)
            check_coins(part, name)
            if part.groups is not None or not codec_of(part.report_space).is_label:
                raise ArgumentValueError(
                    f"{name} must be a mechanism of one sample whose reports are single labels: "
                    "chain the mechanism of each sample; rr.mechanisms.Rappor has two rounds "
                    "of bits"
                )
        if self.first.report_space != self.second.domain:
            raise ArgumentValueError(
                "the second mechanism must have the reports of the first as its categories, in "
                "the same order: "
                f"{self.first.report_space.describe()}, found {self.second.domain.describe()}"
            )
        object.__setattr__(self, "domain", self.first.domain)

    @property
    def rounds(self) -> tuple[Mechanism, ...]:
        """The mechanisms in their order, including those of inner chains."""
        return self.first.rounds + self.second.rounds

    @property
    def report_space(self) -> Categories | Subsets:
        """The reports of the second mechanism."""
        return self.second.report_space

    @property
    def categories(self) -> Labels:
        """The categories that the first mechanism estimates."""
        return self.first.categories

    @cached_property
    def channel(self) -> MultinomialChannel:
        """The product of both channels."""
        return chained(multinomial(self.first.channel), multinomial(self.second.channel))

    def randomize(self, codes: Array, source: Source, block: int = 0) -> Array:
        """Randomize one block of true codes; each round has its own words.

        Parameters
        ----------
        codes : array of shape (rows,)
            The dtype is ``domain.dtype``; all codes are below the number of true answers.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows,)
        """
        for stage, mechanism in enumerate(self.rounds):
            codes = mechanism.randomize(codes, Substream(source, stage), block)
        return codes

    @property
    def _arguments(self) -> JsonObject:
        return {"first": self.first, "second": self.second}
