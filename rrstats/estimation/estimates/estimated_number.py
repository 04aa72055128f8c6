"""One estimated number with its interval: a proportion, a ratio, a mean, a difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rrstats._cached import cached_property
from rrstats._checks import check_level
from rrstats._display import percent_range
from rrstats._names import MissingMembers, checked_keywords
from rrstats.inference.contrasts import Interval


def _no_ends(level: float) -> Interval[float]:
    """The interval of a number that does not exist, at any level."""
    return Interval(math.nan, math.nan)


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False)
class EstimatedNumber(MissingMembers):
    """An estimated number with its standard error and its interval; it prints as one line.

    Attributes
    ----------
    name : str
        What is estimated, such as "proportion of often among once, often".
    value : float
        The estimate, not rounded; NaN where there is none.
    std_error : float
    low, high : float
        The ends of the 95% interval; `interval` has those of other levels.
    is_proportion : bool
        True if `interpret` says it in percent.
    p_value : float or None
        Of a difference: that of no difference.

    Examples
    --------
    >>> import rrstats as rr
    >>> est = rr.estimate(rr.Tally.from_counts([640, 360], rr.KRR(["no", "yes"], 0.75)))
    >>> est["yes"]
    proportion of yes: 0.22, std_error 0.03037, 95% interval 0.1604 to 0.2813
    >>> round(est["yes"].value, 3), round(est["yes"].interval(0.9).low, 3)
    (0.22, 0.17)
    >>> est["yes"].interpret()
    'the proportion of yes is 22.0%, 95% interval 16.0% to 28.1%'
    """

    name: str
    value: float
    std_error: float
    _ends: Callable[[float], Interval] = _no_ends
    is_proportion: bool = True
    p_value: float | None = None
    _absence: str = ""

    def interval(self, level: float = 0.95) -> Interval[float]:
        """The interval of the number.

        Parameters
        ----------
        level : float
            Confidence level.

        Returns
        -------
        Interval
            Two floats, ``low`` and ``high``.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> [round(end, 3) for end in est["yes"].interval(0.9)]
        [0.17, 0.272]
        """
        low, high = self._ends(check_level(level))
        return Interval(float(low), float(high))

    @cached_property
    def _default_interval(self) -> Interval[float]:
        return self.interval()

    @property
    def low(self) -> float:
        """The lower end of the 95% interval."""
        return self._default_interval.low

    @property
    def high(self) -> float:
        """The upper end of the 95% interval."""
        return self._default_interval.high

    def interpret(self, level: float = 0.95) -> str:
        """The number in a sentence.

        Parameters
        ----------
        level : float
            Confidence level of the interval.

        Returns
        -------
        str

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> print(est["yes"].interpret())
        the proportion of yes is 22.0%, 95% interval 16.0% to 28.1%
        """
        low, high = self.interval(level)
        if math.isnan(self.value):
            return self._absence or f"there is no estimate of the {self.name}"
        value = f"{self.value:.4g}"
        ends = f"{low:.4g} to {high:.4g}"
        if self.is_proportion:
            value = f"{self.value:z.1%}"
            ends = percent_range(low, high)
        return f"the {self.name} is {value}, {level * 100:.10g}% interval {ends}"

    def __repr__(self) -> str:
        if self._absence:
            return self._absence
        return (
            f"{self.name}: {self.value:.4g}, std_error {self.std_error:.4g}, "
            f"95% interval {self.low:.4g} to {self.high:.4g}"
        )
