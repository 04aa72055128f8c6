"""Pictures of plans: lines against people or shares, and bars of designs.

matplotlib is imported only here, when a picture is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rrstats.errors import ArgumentTypeError
from rrstats.plots.shared import require_matplotlib

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from rrstats.planning import PlanTable

__all__ = ["plot_bars", "plot_lines"]

_COLORS = ("#1f5fa8", "#d2480a", "#00795c", "#7b4fa3", "#5f6773", "#b8860b")
_DASHES = ("-", "--", "-.", ":")

_WORDS = {
    "n": "people",
    "share": "true share",
    "half_width": "half-width of the interval",
    "power": "probability to notice",
    "design_effect": "times the people of a direct question",
    "liars": "carriers who deny it directly",
}
"""What the columns of plans are called below an axis."""


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The Axes given, or new ones."""
    require_matplotlib()
    if ax is not None and not hasattr(ax, "plot"):
        raise ArgumentTypeError(f"ax must be matplotlib Axes, found {type(ax).__name__}")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def plot_lines(plan: PlanTable, ax: Axes | None = None) -> Axes:
    """A line for each mechanism of a plan; answers that are infinite are left out.

    Returns the Axes.  The legend beside them has the order of the lines.
    """
    ax = _axes(ax, (7.5, 4.0))
    wide = plan.table.replace([np.inf, -np.inf], np.nan)
    for place, name in enumerate(wide.columns):
        line = wide[name].dropna()
        style = _DASHES[place // len(_COLORS) % len(_DASHES)]
        color = _COLORS[place % len(_COLORS)]
        ax.plot(
            line.index, line, style, color=color, linewidth=2, marker="o", markersize=3, label=name
        )
    ax.set_xscale("log" if plan.log_x else "linear")
    ax.set_yscale("log" if plan.log_y else "linear")
    if plan.percent_y and not plan.log_y:
        ax.set_ylim(0, 1.02)
    _ticks(ax.xaxis, plan.log_x, plan.percent_x)
    _ticks(ax.yaxis, plan.log_y, plan.percent_y)
    ax.set_xlabel(_WORDS.get(plan.x, plan.x))
    ax.set_ylabel(_WORDS.get(plan.y, plan.y))
    ax.set_title(plan.title, fontsize=10, loc="left", parse_math=False)
    _legend(ax, wide)
    return ax


def _legend(ax: Axes, wide: pd.DataFrame) -> None:
    """Beside the lines, the highest first."""
    handles, labels = ax.get_legend_handles_labels()
    order = np.argsort(-wide.mean().fillna(np.inf).to_numpy(), kind="stable")
    ax.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="center left",
        bbox_to_anchor=(1, 0.5),
        fontsize=8,
        frameon=False,
        handlelength=2.6,
    )


def _ticks(axis: Any, logarithmic: bool, percent: bool) -> None:
    """Numbers as people write them: 10,000 and 2.5%, no powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    def plain(number: float, _: object) -> str:
        return (
            f"{100 * number:.3g}%"
            if percent
            else f"{number:,.4g}"
            if number < 1000
            else f"{number:,.0f}"
        )

    axis.set_major_formatter(FuncFormatter(plain))
    if logarithmic:
        low, high = axis.get_view_interval()
        steps = (1.0, 2.0, 5.0) if high < 300 * low else (1.0, 3.0)
        axis.set_major_locator(LogLocator(subs=steps, numticks=12))
        axis.set_minor_formatter(NullFormatter())


def plot_bars(
    table: pd.DataFrame, label: str, value: str, title: str, ax: Axes | None = None
) -> Axes:
    """A bar for each row of a table, with its number at the end, the first on top."""
    ax = _axes(ax, (7.5, 1.0 + 0.32 * len(table)))
    place = np.arange(len(table))
    bars = ax.barh(place, table[value], height=0.62, color=_COLORS[0])
    ax.bar_label(bars, [f"{number:,}" for number in table[value]], padding=3, fontsize=8)
    ax.set_yticks(place, [str(name).replace("_", " ") for name in table[label]], parse_math=False)
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.margins(x=0.1)
    _ticks(ax.xaxis, False, False)
    ax.set_xlabel(_WORDS.get(value, value))
    ax.set_title(title, fontsize=10, loc="left", parse_math=False)
    ax.tick_params(axis="y", length=0)
    return ax
