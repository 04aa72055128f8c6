"""A crosstab as a heat map that shows how sure each cell is.

Each cell is shaded by its share and says it and its interval in figures; the bar below spans 0 to
an end that is the same for all, with the interval in dark and a tick at the share.  Beside one
cell with most of the people the bars of others shrink to their ticks, and the figures still tell.
Cells whose interval reaches 0, or says next to nothing, are hatched: do not read their shade.
Shades of one blue stay apart in black and white.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.plots.shared import require_matplotlib
from rrstats.results import percent_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rrstats.crosstabs import Crosstab

__all__ = ["plot_crosstab"]

_DARK, _PALE = "#12355b", "#b9c4d3"
_LONGEST = 18
_MOST_CELLS = 400
_WIDE = 0.9
"""An interval of this width says next to nothing."""


def plot_crosstab(
    table: Crosstab, ax: Axes | None = None, *, level: float = 0.95, normalize: str = "all"
) -> Axes:
    """Draw the shares of a table, each with its interval in figures and as a bar.

    table : a Crosstab; of more than two columns, all but the last go down the side.
    ax : Axes to draw on, by default new ones.  level : of the intervals.
    normalize : "all", "index" or "columns", as for `Crosstab.to_frame`.
    Returns the Axes.  Raises ArgumentValueError for more than 400 cells, and for none.
    """
    require_matplotlib()
    if ax is not None and not hasattr(ax, "pcolormesh"):
        raise ArgumentTypeError(f"ax must be matplotlib Axes, found {type(ax).__name__}")
    if table.size > _MOST_CELLS:
        raise ArgumentValueError(
            f"a picture has room for {_MOST_CELLS} cells, found {table.size:,}; plot a margin"
        )
    if not table.size:
        empty = [axis.name for axis in table.axes if not axis.k]
        raise ArgumentValueError(
            f"a picture needs cells, and the columns {empty} have no categories: nothing but "
            "missing values was found in them"
        )
    frame = table.to_frame(level, normalize=normalize)
    columns = table.shape[-1] if len(table.shape) > 1 else 1
    shares, low, high = (
        frame[name].to_numpy(dtype=float).reshape(-1, columns)
        for name in ("proportion", "low", "high")
    )
    sides = [_labels(table.categories[: len(table.shape) - (columns > 1)])]
    sides.append(_labels(table.categories[-1:]) if len(table.shape) > 1 else ["share"])
    if ax is None:
        import matplotlib.pyplot as plt

        size = (2.2 + max(1.25 * shares.shape[1], 2.5), 1.7 + 0.72 * shares.shape[0])
        _, ax = plt.subplots(figsize=size, layout="constrained")
    _shade(ax, shares, low, high)
    end = _end(shares, high)
    for i, j in np.ndindex(shares.shape):
        share, *ends = (float(held[i, j]) for held in (shares, low, high))
        _cell(ax, (j, i), share, ends[0], ends[1], _top(shares), end)
    _dress(ax, table, sides, level, normalize, end)
    return ax


def _top(shares: Any) -> float:
    """The share with the darkest shade."""
    known = shares[np.isfinite(shares)]
    return float(min(max(known.max(initial=0.0), 0.05), 1.0))


def _end(shares: Any, high: Any) -> float:
    """Where all bars end: a round share beyond the intervals of the cells that can be read."""
    far = max(_top(shares), float(np.median(high)))
    return next(end for end in (0.1, 0.2, 0.3, 0.5, 1.0) if end >= min(1.2 * far, 1.0))


def _unsure(low: Any, high: Any) -> Any:
    return (low <= 0) | (high - low > _WIDE)


def _shade(ax: Axes, shares: Any, low: Any, high: Any) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    blues = LinearSegmentedColormap.from_list("shares", ["#ffffff", "#7fa8d6", "#2f6db3"])
    shown = np.clip(np.nan_to_num(shares), 0, None)
    # A pale cell is one that must not be read by its shade.
    shown = np.where(_unsure(low, high), np.minimum(shown, 0.15 * _top(shares)), shown)
    ax.pcolormesh(
        np.arange(shares.shape[1] + 1) - 0.5,
        np.arange(shares.shape[0] + 1) - 0.5,
        shown,
        cmap=blues,
        vmin=0,
        vmax=_top(shares) * 1.15,
        edgecolors="white",
        linewidth=2,
    )


def _cell(
    ax: Axes,
    at: tuple[int, int],
    share: float,
    low: float,
    high: float,
    top: float,
    end: float,
) -> None:
    from matplotlib.patches import Rectangle

    (x, y), unsure = at, bool(_unsure(low, high))
    dark = not unsure and share > 0.7 * top
    ink, ground = ("white", "#ffffff66") if dark else (_DARK, _PALE)
    if unsure:
        corner = (x - 0.48, y - 0.48)
        ax.add_patch(
            Rectangle(corner, 0.96, 0.96, fill=False, hatch="///", edgecolor="#d5dbe4", linewidth=0)
        )
    text = f"{share:.1%}" if np.isfinite(share) else "unknown"
    ax.text(x, y - 0.2, text, ha="center", va="center", fontsize=10, color=ink)
    ax.text(x, y + 0.08, percent_range(low, high), ha="center", va="center", fontsize=7, color=ink)
    start, width = x - 0.4, 0.8
    ax.hlines(y + 0.3, start, start + width, color=ground, linewidth=4)
    ends = [start + width * float(np.clip(one / end, 0, 1)) for one in (low, high, share)]
    ax.hlines(y + 0.3, ends[0], ends[1], color=ink, linewidth=4)
    if np.isfinite(share):
        ax.vlines(ends[2], y + 0.21, y + 0.39, color=ink, linewidth=1.6)


def _labels(categories: Any) -> list[str]:
    """Short texts for combinations of categories."""
    texts = [""]
    for one in categories:
        said = ["(missing)" if c is None else " ".join(str(c).split()) for c in one]
        cut = [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in said]
        said = cut if len(set(cut)) == len(set(said)) else said
        texts = [f"{start}, {text}" if start else text for start in texts for text in said]
    return texts


def _dress(
    ax: Axes, table: Crosstab, sides: list[list[str]], level: float, normalize: str, end: float
) -> None:
    rows, columns = sides
    ax.set_yticks(range(len(rows)), rows, parse_math=False)
    ax.set_xticks(range(len(columns)), columns, parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    down = table.names[:-1] if len(table.names) > 1 else table.names
    ax.set_ylabel(", ".join(map(str, down)), parse_math=False)
    if len(table.names) > 1:
        ax.set_xlabel(str(table.names[-1]), parse_math=False)
    of = {"all": "all", "index": "each row", "columns": "each column"}[normalize]
    left = f",\nas much as {table.effective_size:,.0f} direct answers" if table.private else ""
    ax.set_title(
        f"shares of {of}: {table.n:,} rows{left}\n"
        f"below: {level * 100:.10g}% interval; bar from 0 to {end:.0%}\n"
        "hatched: may be 0, or anything",
        fontsize=9,
        loc="left",
    )
    for side in ax.spines.values():
        side.set_visible(False)
    ax.tick_params(length=0)
