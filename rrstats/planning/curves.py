"""Tables of plans: one answer for many numbers of people, shares and epsilons, and its picture.

The plural of a question asks it many times: `half_widths`, `powers`, `design_effects` and
`break_evens` return a `PlanTable`, one row an answer, one line of its picture a mechanism.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.serialization import is_mechanism
from rrstats.planning.costs import break_even, design_effect
from rrstats.planning.detecting import power
from rrstats.planning.widths import half_width
from rrstats.plots import plot_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PlanTable", "break_evens", "design_effects", "half_widths", "powers"]

_EPSILONS = (0.5, 1.0, 2.0, 4.0)
_PEOPLE = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True, eq=False, repr=False)
class PlanTable:
    """Answers to one question for several mechanisms.

    frame : the columns ``x``, "mechanism" and ``y``, one row an answer.
    x, y : what was varied and what is answered.  title : the question.
    log_x, log_y, percent_x, percent_y : how the axes are drawn.
    """

    title: str
    frame: pd.DataFrame
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    percent_x: bool = False
    percent_y: bool = False

    def to_frame(self) -> pd.DataFrame:
        """A tidy copy: one row an answer."""
        return self.frame.copy()

    @property
    def table(self) -> pd.DataFrame:
        """The answers with a row for each x and a column for each mechanism."""
        names = list(dict.fromkeys(self.frame["mechanism"]))
        wide = self.frame.pivot(index=self.x, columns="mechanism", values=self.y)
        return wide[names]

    @property
    def _wide(self) -> pd.DataFrame:
        return self.table.rename_axis(columns=None).reset_index()

    def __repr__(self) -> str:
        return f"{self.title}\n{written(self._wide).to_string(index=False)}"

    def _repr_html_(self) -> str:
        return shown(self.title, self._wide)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line for each mechanism, on new or given matplotlib Axes."""
        log = "x" * self.log_x + "y" * self.log_y
        percent = "x" * self.percent_x + "y" * self.percent_y
        options: Any = {"log": log, "percent": percent, "ylabel": self.y, "title": self.title}
        return plot_lines(self.table, ax, **options)


def written(table: pd.DataFrame) -> pd.DataFrame:
    """The table as people read it: four digits, whole numbers with separators."""
    texts = table.copy().astype(object)
    for name in table.columns:
        if pd.api.types.is_integer_dtype(table[name]):
            texts[name] = [f"{value:,}" for value in table[name]]
        elif pd.api.types.is_float_dtype(table[name]):
            texts[name] = [f"{value:.4g}" for value in table[name]]
    return texts


def shown(title: str, table: pd.DataFrame) -> str:
    """The same for a notebook."""
    body = written(table).to_html(border=0, index=False, escape=True)
    return f"<p><b>{html.escape(title)}</b></p>{body}"


def half_widths(
    share: float,
    n: Iterable[int] = _PEOPLE,
    *,
    epsilons: Iterable[float] = _EPSILONS,
    categories: Any = 2,
    mechanisms: Mapping[str, Mechanism] | None = None,
    target: str = "population",
    level: float = 0.95,
    assurance: float | None = None,
) -> PlanTable:
    """Half the width of the interval against the number of people.

    n : numbers of people.  epsilons, categories : of k-RR; or
    mechanisms : by the names under which they are to appear.  The rest as in `half_width`.

    >>> half_widths(0.1, [1000, 10_000], epsilons=[1, 4])
    half-width of the 95% interval of a share of 10%
         n epsilon 1 epsilon 4
     1,000   0.06248   0.02095
    10,000   0.01981  0.006522

    At epsilon 1 a thousand people give +- 6 points, ten thousand +- 2.
    """
    lines = _lines(epsilons, categories, mechanisms)
    counts = _listed(n, "n")
    answers = _answers(
        "n", counts, "half_width", lines,
        lambda x, m: half_width(x, share, m, target=target, level=level, assurance=assurance),
    )  # fmt: skip
    title = f"half-width of the {100 * level:g}% interval of a share of {100 * share:g}%"
    return PlanTable(title, answers, "n", "half_width", True, True, False, True)


def powers(
    share: float,
    n: Iterable[int] = _PEOPLE,
    *,
    against: float | None = None,
    other: float | None = None,
    epsilons: Iterable[float] = _EPSILONS,
    categories: Any = 2,
    mechanisms: Mapping[str, Mechanism] | None = None,
    alternative: str = "two-sided",
    significance: float = 0.05,
    exact: bool | None = None,
) -> PlanTable:
    """The power of a test against the number of people.

    share, against, other, alternative, significance, exact : as in `power`.
    n, epsilons, categories, mechanisms : as in `half_widths`.

    >>> powers(0.15, [1000, 10_000], against=0.10, epsilons=[1, 4])
    power to tell a share of 15% from 10%
         n epsilon 1 epsilon 4
     1,000    0.3374     0.993
    10,000    0.9984         1

    At epsilon 1 a thousand people notice 15% instead of 10% in every third survey.
    """
    lines = _lines(epsilons, categories, mechanisms)
    counts = _listed(n, "n")
    options: dict[str, Any] = {"alternative": alternative, "significance": significance}
    answers = _answers(
        "n", counts, "power", lines,
        lambda x, m: power(x, share, m, against=against, other=other, exact=exact, **options),
    )  # fmt: skip
    second = against if other is None else other
    group = "" if other is None else " in a second group"
    title = f"power to tell a share of {100 * share:g}% from {100 * (second or 0):g}%{group}"
    return PlanTable(title, answers, "n", "power", True, False, False, True)


def design_effects(
    shares: Iterable[float] = _SHARES,
    *,
    epsilons: Iterable[float] = _EPSILONS,
    categories: Any = 2,
    mechanisms: Mapping[str, Mechanism] | None = None,
) -> PlanTable:
    """How many times the people of a direct question it takes, by the true share.

    shares : true shares.  epsilons, categories, mechanisms : as in `half_widths`.

    >>> design_effects([0.1, 0.5], epsilons=[1, 4])
    times the people of a direct question, if nobody lies to it
    share epsilon 1 epsilon 4
      0.1     11.23     1.211
      0.5     4.683     1.076

    At epsilon 1 a share of 10% takes 11 times the people that a direct question would.
    """
    lines = _lines(epsilons, categories, mechanisms)
    answers = _answers("share", _listed(shares, "shares"), "design_effect", lines, design_effect)
    title = "times the people of a direct question, if nobody lies to it"
    return PlanTable(title, answers, "share", "design_effect", False, True, True, False)


def break_evens(
    share: float,
    n: Iterable[int] = _PEOPLE,
    *,
    epsilons: Iterable[float] = _EPSILONS,
    categories: Any = 2,
    mechanisms: Mapping[str, Mechanism] | None = None,
    accusing: float = 0.0,
    still_denying: float = 0.0,
) -> PlanTable:
    """How many carriers must deny it directly before randomized response is nearer the truth.

    share, accusing, still_denying : as in `break_even`; infinite where it never is.
    n, epsilons, categories, mechanisms : as in `half_widths`.

    >>> break_evens(0.1, [100, 1000, 10_000], epsilons=[1, 4])
    carriers who must deny it to a direct question, share of carriers 10%
         n epsilon 1 epsilon 4
       100       inf    0.1847
     1,000    0.3076    0.0478
    10,000   0.09636   0.01419

    With 1,000 people epsilon 4 pays from 5 liars in 100 carriers on.
    """
    lines = _lines(epsilons, categories, mechanisms)
    options = {"accusing": accusing, "still_denying": still_denying}
    answers = _answers(
        "n", _listed(n, "n"), "liars", lines, lambda x, m: break_even(x, share, m, **options)
    )
    title = f"carriers who must deny it to a direct question, share of carriers {100 * share:g}%"
    return PlanTable(title, answers, "n", "liars", True, False, False, True)


def _lines(epsilons: Iterable[float], categories: Any, mechanisms: Any) -> dict[str, Mechanism]:
    """The mechanisms of a table by the names of their lines."""
    from rrstats.mechanisms.krr import KRR

    if mechanisms is None:
        if isinstance(categories, int | np.integer) and not isinstance(categories, bool):
            categories = range(int(categories))
        return {f"epsilon {e:g}": KRR(categories, epsilon=e) for e in _listed(epsilons, "epsilons")}
    if not isinstance(mechanisms, Mapping) or not all(map(is_mechanism, mechanisms.values())):
        raise ArgumentTypeError(
            "mechanisms must be a mapping from name to mechanism, found "
            f"{type(mechanisms).__name__}"
        )
    if not mechanisms:
        raise ArgumentValueError("mechanisms must name at least one mechanism, found none")
    return dict(mechanisms)


def _listed(values: Any, name: str) -> list[Any]:
    """Several numbers, or one, in their order; none twice."""
    if isinstance(values, str | bytes):
        raise ArgumentTypeError(f"{name} must be numbers, found {type(values).__name__}")
    listed = list(values) if np.iterable(values) else [values]
    if not listed:
        raise ArgumentValueError(f"{name} must be at least one number, found none")
    return sorted(set(listed))


def _answers(
    x: str,
    values: list[Any],
    y: str,
    lines: Mapping[str, Mechanism],
    answer: Callable[[Any, Mechanism], float],
) -> pd.DataFrame:
    """One row for each value and mechanism."""
    rows = [
        {x: value, "mechanism": name, y: float(answer(value, mechanism))}
        for name, mechanism in lines.items()
        for value in values
    ]
    return pd.DataFrame(rows)
