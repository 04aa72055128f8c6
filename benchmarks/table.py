"""The table: what a line says, and how it is printed.

A line has the numbers of rrstats and of one rival.  Shown are the median and, in brackets, the
extremes; the ratio is the rival's median over that of rrstats, so that more is better for us.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTHS = (32, 7, 21, 23, 25, 8)
TITLES = ("", "unit", "rrstats", "rival", "", "ratio", "target")


@dataclass(frozen=True)
class Target:
    """What this project aims at: a ratio of at least, or numbers of ours of at most, ``bound``."""

    bound: float
    of_ratio: bool = True

    def __str__(self) -> str:
        return ratio_text(self.bound) if self.of_ratio else f"<= {self.bound:g}"


def at_most(bound: float) -> Target:
    return Target(bound, of_ratio=False)


@dataclass(frozen=True)
class Line:
    """A case: our numbers, and a rival's; ``note`` stands where the rival has none."""

    case: str
    unit: str
    ours: Sequence[float] = ()
    rival: str = ""
    theirs: Sequence[float] = ()
    note: str = ""
    target: Target | None = None
    comparable: bool = True

    @property
    def ratio(self) -> float | None:
        """The rival's median over ours; None where a quotient would mean nothing."""
        if not self.comparable or not self.ours or not self.theirs:
            return None
        ours = statistics.median(self.ours)
        return statistics.median(self.theirs) / ours if ours > 0 else None

    @property
    def reached(self) -> bool | None:
        """Whether it is met; None without a target, or without the numbers to judge it."""
        if self.target is None or not self.ours:
            return None
        if not self.target.of_ratio:
            return statistics.median(self.ours) <= self.target.bound
        return None if self.ratio is None else self.ratio >= self.target.bound


def side_by_side(
    case: str,
    unit: str,
    times: Mapping[str, Sequence[float]],
    targets: Mapping[str, Target | None],
    *,
    ours: str = "rrstats",
) -> list[Line]:
    """One line for each rival in ``targets``, against the way that is called ``ours``."""
    return [
        Line(case, unit, times[ours], rival, times[rival], target=target)
        for rival, target in targets.items()
    ]


def number(value: float) -> str:
    """Three digits, more where they stand before the point."""
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.0995 else f"{value:.3f}"


def ratio_text(ratio: float) -> str:
    """``8 x`` for eight times as fast as the rival, ``1/5`` for a fifth of its speed."""
    slower = 0 < ratio < 0.995
    size = 1 / ratio if slower else ratio
    digits = f"{size:,.0f}" if size >= 99.5 else f"{size:.3g}"
    return f"1/{digits}" if slower else f"{digits} x"


def spread(values: Sequence[float]) -> str:
    """The median, and the extremes in brackets where there are several numbers."""
    if not values:
        return ""
    middle = number(statistics.median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({number(min(values))}..{number(max(values))})"


def _row(cells: Sequence[str]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=False)]
    return " ".join([*padded, *cells[len(WIDTHS) :]]).rstrip()


def heading() -> str:
    return _row(TITLES)


def cells(line: Line, *, judge: bool = True, repeated: bool = False) -> tuple[str, ...]:
    """Case, unit, our numbers, the rival, its numbers or a note, the ratio and the target.

    Without ``judge`` it does not say whether a target was met; a ``repeated`` case has its name,
    unit and our numbers on the line above.
    """
    ratio = "" if line.ratio is None else ratio_text(line.ratio)
    target = "" if line.target is None else str(line.target)
    if judge and line.reached is not None:
        target += "  yes" if line.reached else "  no"
    ours = ("", "", "") if repeated else (line.case, line.unit, spread(line.ours))
    rest = (line.note, "", "") if line.note else (spread(line.theirs), ratio, target)
    return (*ours, line.rival, *rest)


def printed(line: Line, *, judge: bool = True, repeated: bool = False) -> str:
    """One line of the table."""
    case, *rest = cells(line, judge=judge, repeated=repeated)
    return _row([f"  {case}", *rest])
