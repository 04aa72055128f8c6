"""Survey designs brought to one epsilon, and what each then costs in people.

Designs are often compared at the same p, but the same p protects differently in each.  Here each
keeps one free number, which is turned until the design's exact epsilon is as large as it may be;
for Warner's cards, forced response, the crosswise question and one card of Kuk this ends
in the same matrix, so that people's trust decides between them, not statistics.
Not here: designs in which one report is a proof, whose epsilon is infinite whatever the number
(triangular, Mangat, Devore).
Law: the largest number, by bisection over doubles, whose epsilon is at most the one asked.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
import scipy

from rrstats._checks import check_epsilon, check_level
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import check_target
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.serialization import is_mechanism
from rrstats.planning.curves import shown, written
from rrstats.planning.questions import MOST_PEOPLE, ask, check_open, check_share
from rrstats.planning.widths import people
from rrstats.plots import plot_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DesignsAtEpsilon", "at_epsilon"]

Family = tuple[Callable[[float], Any], float, float]
"""A design by one number, that number where reports say nothing, and where they say all."""


def _families(categories: Any, yes: Hashable) -> dict[str, Family]:
    """The survey designs of two answers that have an epsilon, by their usual free number."""
    s, asked = surveys, {"categories": categories, "yes": yes}
    return {
        "warner": (lambda p: s.warner(**asked, prob_statement=p), 0.5, 1.0),
        "forced_response": (
            lambda p: s.forced_response(categories, p, [(1 - p) / 2] * 2),
            0.0,
            1.0,
        ),
        "crosswise": (lambda p: s.crosswise(**asked, prob_unrelated=p), 0.5, 1.0),
        "disguised_response": (lambda p: s.disguised_response(**asked, prob_red=p), 0.5, 1.0),
        "unrelated_question, 1 in 2 yes": (
            lambda p: s.unrelated_question(**asked, prob_sensitive=p, prob_yes_unrelated=0.5),
            0.0,
            1.0,
        ),
        "unrelated_question, 1 in 4 yes": (
            lambda p: s.unrelated_question(**asked, prob_sensitive=p, prob_yes_unrelated=0.25),
            0.0,
            1.0,
        ),
        "unrelated_question, 1 in 12 yes": (
            lambda p: s.unrelated_question(**asked, prob_sensitive=p, prob_yes_unrelated=1 / 12),
            0.0,
            1.0,
        ),
        "singh_joarder": (
            lambda p: s.singh_joarder(**asked, prob_statement=p),
            (3 - math.sqrt(5)) / 2,
            1.0,
        ),
        "kuk, 2 cards": (lambda p: s.kuk(categories, p, 1 - p, 2, yes=yes), 0.5, 1.0),
        "kuk, 4 cards": (lambda p: s.kuk(categories, p, 1 - p, 4, yes=yes), 0.5, 1.0),
    }


def at_epsilon(
    epsilon: float,
    categories: Any = ("no", "yes"),
    *,
    yes: Hashable = None,
    share: float = 0.1,
    half_width: float = 0.03,
    target: str = "population",
    level: float = 0.95,
    designs: Mapping[str, Family] | None = None,
) -> DesignsAtEpsilon:
    """Survey designs at one epsilon: their number, and how many people they take.

    epsilon : nats for one report, above 0 and finite.
    categories, yes : two answers, or 2, and which is sensitive; by default True, or the last one.
    share, half_width, target, level : what is to be estimated, and how precisely; see `people`.
    designs : more designs, or others of the same names: a mapping from name to three things, a
        function of one number that makes a mechanism, that number where reports say nothing, and
        where they say all.  Epsilon must grow from the one to the other.
    Returns a DesignsAtEpsilon: ``mechanisms`` by name, ``table``, ``plot()``; a design that cannot
    be computed at so small an epsilon, or takes more than 2**53 people, is ``left_out``.
    Raises ArgumentValueError for numbers outside their ranges, and where all are left out.

    >>> found = at_epsilon(1.0, share=0.1, half_width=0.03)
    >>> found.table[["design", "number", "people"]].head(3)
                design    number  people
    0           warner  0.731059    4383
    1  forced_response  0.462117    4383
    2        crosswise  0.731059    4383
    >>> found.mechanisms["warner"].epsilon <= 1.0
    True

    At epsilon 1 Warner's cards must ask the sensitive question in 73 of 100 draws, and 4,383 people
    give a share of 10% +- 3 points.
    """
    asked = check_epsilon(epsilon)
    if asked == 0:
        raise ArgumentValueError("epsilon must be above 0, got 0.0; at 0 no report says anything")
    expected = check_share(share, "share")
    width = check_open(half_width, "half_width", 0.5)
    if isinstance(categories, int) and not isinstance(categories, bool):
        categories = range(categories)
    listed = list(Categories(categories).categories)
    if yes is None and listed:
        yes = True if any(one is True for one in listed) else listed[-1]
    families = _families(listed, yes) | dict(designs or {})
    check_target(target)
    check_level(level)
    mechanisms: dict[str, Mechanism] = {}
    rows, left_out = [], {}
    for name, family in families.items():
        solved = _solve(name, family, asked)
        if solved is None and name in (designs or {}):
            raise ArgumentValueError(
                f"no number of designs[{name!r}] has an epsilon of at most {asked:g}"
            )
        if solved is None:
            left_out[name] = "doubles are too coarse for its number"
            continue
        try:
            row = _row(name, *solved, yes, expected, width, target, level)
        except NotIdentifiableError:
            left_out[name] = "its reports all but say nothing"
            continue
        if row["people"] is None:
            left_out[name] = "it takes more than 2**53 people"
            continue
        rows.append(row)
        mechanisms[name] = solved[0]
    if not rows:
        raise ArgumentValueError(
            f"no design can be planned at epsilon {asked:g}: {_reasons(left_out)}; ask for a "
            "larger epsilon or a wider interval"
        )
    table = pd.DataFrame(rows).sort_values("people", kind="stable", ignore_index=True)
    return DesignsAtEpsilon(asked, expected, width, mechanisms, table, left_out)


def _reasons(left_out: Mapping[str, str]) -> str:
    """Which designs are left out, by the reason."""
    names: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        names.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(listed)} ({reason})" for reason, listed in names.items())


def _solve(name: str, family: Any, epsilon: float) -> tuple[Mechanism, float] | None:
    """The mechanism that tells most at an epsilon of at most this, and its number, if any."""
    if not isinstance(family, tuple | list) or len(family) != 3 or not callable(family[0]):
        raise ArgumentTypeError(
            f"designs[{name!r}] must be a function of one number, that number where reports say "
            "nothing, and where they say all"
        )
    make, silent, telling = family[0], float(family[1]), float(family[2])
    good, bad, found = silent, telling, None
    while (middle := (good + bad) / 2) not in (good, bad):
        made = make(middle)
        if not is_mechanism(made):
            raise ArgumentTypeError(
                f"designs[{name!r}] must make mechanisms, found {type(made).__name__}"
            )
        if made.epsilon <= epsilon:
            good, found = middle, made
        else:
            bad = middle
    return None if found is None else (found, good)


def _row(
    name: str,
    made: Mechanism,
    number: float,
    yes: Hashable,
    share: float,
    width: float,
    target: str,
    level: float,
) -> dict[str, Any]:
    """What a design costs; people are None where these are more than can be counted."""
    question = ask(made, category=yes, target=target)
    z = float(scipy.special.ndtri((1 + level) / 2))
    countable = z**2 * question.spread(share) / width**2 < 0.99 * MOST_PEOPLE
    needed = None
    if countable:
        needed = people(width, share, made, category=yes, target=target, level=level)
    return {
        "design": name,
        "number": number,
        "epsilon": made.epsilon,
        "variance": question.spread(share),
        "people": needed,
    }


@dataclass(frozen=True, eq=False, repr=False)
class DesignsAtEpsilon:
    """Designs brought to one epsilon.

    epsilon, share, half_width : what was asked.
    mechanisms : by name, each with an epsilon of at most that.
    table : the design that takes the fewest people first: design, number (its free number),
        epsilon (exact, rounded up), variance (of one report at the share), people.
    left_out : why a design is not among them, by name.
    """

    epsilon: float
    share: float
    half_width: float
    mechanisms: Mapping[str, Mechanism]
    table: pd.DataFrame
    left_out: Mapping[str, str] = field(default_factory=dict)

    def to_frame(self) -> pd.DataFrame:
        """A copy of the table."""
        return self.table.copy()

    @property
    def _title(self) -> str:
        return (
            f"designs at epsilon {round_up(self.epsilon)}: people for a share of "
            f"{100 * self.share:g}% +- {100 * self.half_width:g} points"
        )

    def __repr__(self) -> str:
        listed = f"{self._title}\n{written(self.table).to_string(index=False)}"
        return f"{listed}\nleft out: {_reasons(self.left_out)}" if self.left_out else listed

    def _repr_html_(self) -> str:
        listed = shown(self._title, self.table)
        if not self.left_out:
            return listed
        return f"{listed}<p>left out: {html.escape(_reasons(self.left_out))}</p>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """The people that each design takes, as bars on new or given matplotlib Axes."""
        people = self.table.set_index("design")["people"]
        return plot_bars(people, ax, title=self._title)
