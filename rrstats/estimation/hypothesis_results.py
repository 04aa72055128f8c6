"""The result of a test, and what all tests share: p-values, doubts about small counts.

A `TestResult` says its null in words, and how much the noise left of the sample: randomized
response never makes a right test wrong, it makes it weak, and a large p-value from the equivalent
of forty direct answers is no evidence that nothing is there.
Source: Cochran (1954) for the counts that chi-squared needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from rrstats._checks import check_count
from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning, warn

__all__ = [
    "NAMES",
    "TestPower",
    "TestResult",
    "check_statistic",
    "few_expected",
    "known",
    "simulated",
    "upper_f",
    "upper_tail",
]


STATISTICS = ("pearson", "likelihood-ratio")

NAMES = {"pearson": "Pearson's", "likelihood-ratio": "likelihood ratio"}

_EXPECTED, _LEAST, _PART = 5, 1, 0.2
"""Cochran: no expected count below 1, and at most a fifth of them below 5."""

_SIMULATED_CELLS = 4_000_000
"""Simulated counts that are held at once."""


@dataclass(frozen=True, repr=False)
class TestResult:
    """What a test found.

    null : what was tested, in words.  method : how.
    statistic, df : compared with chi-squared with df degrees of freedom, unless ``method`` says
        that the p-value is exact or simulated.
    p_value : how often reports under the null are as far from it as these.
    n : reports.  effective_n : how many direct answers would tell as much about the null,
        averaged over all ways in which it can fail; None where it is not known.
    notes : doubts, in sentences.
    """

    __test__: ClassVar[bool] = False  # its name is no invitation to pytest

    null: str
    statistic: float
    df: int
    p_value: float
    method: str
    n: int
    effective_n: float | None = None
    notes: tuple[str, ...] = ()

    def reading(self, level: float = 0.05) -> str:
        """One sentence that says what the test says.

        level : at most so small is a p-value that speaks against the null.
        """
        if np.isnan(self.p_value):
            return f"nothing can be said of whether {self.null}"
        p = "p < 0.0001" if self.p_value < 1e-4 else f"p = {self.p_value:.4f}"
        if self.p_value <= level:
            return f"the reports speak against it that {self.null} ({p})"
        return f"the reports do not contradict that {self.null} ({p})"

    def __repr__(self) -> str:
        lines = [
            f"TestResult: {self.reading()}",
            f"{self.method}: statistic {self.statistic:.6g}, df {self.df}, n = {self.n:,}",
        ]
        if self.effective_n is not None and self.n:
            lines.append(
                f"the reports tell as much as {_rough(self.effective_n)} direct answers "
                f"({self.effective_n / self.n:.2g} of n)"
            )
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class TestPower:
    """How often a test rejects where its null is wrong.

    power : the share of surveys with a p-value of at most ``level``, by the noncentral chi-squared
    distribution, which is good where all expected counts are some fives.
    noncentrality : its parameter; it grows with n in proportion.
    """

    __test__: ClassVar[bool] = False

    power: float
    noncentrality: float
    df: int
    n: int
    level: float


def _rough(number: float) -> str:
    return f"{number:.1f}" if number < 10 else f"{number:,.0f}"


def known(number: float) -> float | None:
    """A number, and None for NaN."""
    return None if np.isnan(number) else float(number)


def upper_tail(statistic: float, df: int) -> float:
    """P(chi-squared with df degrees of freedom exceeds a statistic); NaN where df is 0."""
    if df < 1 or np.isnan(statistic):
        return float("nan")
    return float(scipy.special.chdtrc(df, statistic))


def upper_f(value: float, df: int, free: float) -> float:
    """The p-value of Wald's statistic whose covariance rests on df - 1 + free degrees of freedom.

    NaN where these are too few.
    Source: Korn and Graubard (1990), Hotelling's law.
    """
    if df < 1 or not free > 0 or np.isnan(value):
        return float("nan")
    return float(scipy.special.fdtrc(df, free, value * free / ((free + df - 1) * df)))


def check_statistic(statistic: object) -> str:
    """One of "pearson" and "likelihood-ratio"; raises otherwise."""
    if isinstance(statistic, str) and statistic in STATISTICS:
        return statistic
    raise ArgumentValueError(f"statistic must be one of {list(STATISTICS)}, got {statistic!r}")


def few_expected(expected: Floats, remedy: str) -> tuple[str, ...]:
    """A note, also given as a warning, where expected counts are too small for chi-squared."""
    cells = np.asarray(expected)[np.asarray(expected) > 0]
    small = int((cells < _EXPECTED).sum())
    if not cells.size or (cells.min() >= _LEAST and small <= _PART * cells.size):
        return ()
    text = (
        f"{small} of {cells.size} expected counts of reports are below {_EXPECTED}, the least is "
        f"{cells.min():.2g}: the p-value from chi-squared may be far off; {remedy}"
    )
    warn(text, LowPrecisionWarning)
    return (text,)


def simulated(
    draw: Callable[[Any, int], NDArray[Any]],
    distance: Callable[[Floats], Floats],
    observed: float,
    cells: int,
    simulations: Any,
    seed: Any,
) -> float:
    """The share of simulated surveys at least as far from the null; counts the real one, too.

    draw : (generator, number) to as many tables of counts.  distance : tables to statistics.
    Raises ArgumentTypeError without a seed, and for one that is no integer.
    Source: Davison and Hinkley (1997), eq. 4.11: (1 + hits) / (1 + simulations).
    """
    number = check_count(simulations, "simulations")
    if number < 1:
        raise ArgumentValueError("simulations must be at least 1")
    if seed is None:
        raise ArgumentTypeError(
            "simulations need a seed, an integer, which gives the same p-value every time; none "
            "is drawn in secret"
        )
    from rrstats.privatization.simulation import seeded  # the one place where seeds are taken

    generator, hits, left = seeded(seed), 0, number
    limit = observed - 1e-9 * max(abs(observed), 1.0)  # rounding must not break ties
    while left:
        batch = min(left, max(1, _SIMULATED_CELLS // max(cells, 1)))
        found = distance(np.asarray(draw(generator, batch), dtype=np.float64))
        hits += int((found >= limit).sum())
        left -= batch
    return (1 + hits) / (1 + number)
