"""Pictures of numbers: frames in, matplotlib Axes out.

- `plot_intervals`: rows of dots with their intervals: proportions, groups, differences,
  coefficients, marginal effects, means, conditional proportions
- `plot_cells`: a table of proportions as a heat map, with or without intervals: crosstabs,
  posterior probabilities
- `plot_lines`: one line for each column, such as the power of several designs
- `plot_bounds`: bounds of a proportion against an assumed proportion
- `plot_diverging`: items with one ordered scale, such as a Likert battery
- `plot_bars`: one bar for each row, such as the people that each design takes

Each function draws on the given Axes, or on new ones.  The colours are those of Okabe and Ito
(2008), which colour-blind readers can distinguish; markers and dashes work in grey.
Text and lines take their colour from the Axes, so that dark styles work.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_probability
from rrstats._display import label, percent_range
from rrstats._typing import Booleans, Floats, Indices, NumbersByCategory
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_bars",
    "plot_bounds",
    "plot_cells",
    "plot_diverging",
    "plot_intervals",
    "plot_lines",
]

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colours of series, in this order."""

_MARKERS = "os^DvPX"
"""Markers of series, in this order."""

_DASHES = ("-", "--", "-.", ":")
"""Dashes of lines, in this order."""

_CAP_POINTS = 13
"""Length of an interval's cap in points: more than the largest dot, so that it stays visible."""

_MAX_HEIGHT = 40.0
"""The maximum height of a picture in inches."""

_ROOMY_ROWS = 12
"""Rows beyond these are as close as their labels allow."""

_MAX_CELLS = 400
"""The maximum cells of a table."""

_MAX_TICKS = 250
"""The maximum labels of rows; of more rows every second or third has one."""

_WIDE_INTERVAL = 0.9
"""Cells with an interval of at least this width are hatched."""

_READABLE_PART = 0.06
"""Parts of a bar of at least this width have their number."""

_SPANS = (0.1, 0.2, 0.3, 0.5, 1.0)
"""Values at the right end of a cell's bar: the first beyond the intervals that can be read."""


FigureSize: TypeAlias = tuple[float, float]
"""Width and height of new Axes in inches."""


class PlotOptions(TypedDict, total=False):
    """Options of pictures with rows.

    figsize : width and height of new Axes in inches.
    title : text above the picture, instead of the default.
    sort : whether rows are sorted, the largest number first.
    top : the number of rows to draw, those with the largest absolute numbers.
    """

    figsize: FigureSize | None
    title: str | None
    sort: bool
    top: int | None


def require_matplotlib() -> None:
    """Raise MissingPackageError without matplotlib."""
    if find_spec("matplotlib") is None:
        raise MissingPackageError("plots need matplotlib: pip install matplotlib")


# -- dots and intervals ------------------------------------------------------------------------


def plot_intervals(
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    xlabel: str = "",
    level: float = 0.95,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    reference: float | None = 0.0,
    exponential: bool = False,
    comparison: str = "comparison",
    **options: Unpack[PlotOptions],
) -> Axes:
    """Draw estimates with their intervals, one row below the other.

    Parameters
    ----------
    frame : DataFrame
        Columns "estimate", "low" and "high"; the index labels the rows.  Further columns are drawn
        where they are there: "comparison" (a grey bar), "truth" (a cross), "n" (the area of the
        dot, and without series a number beside the label), "series" (rows with equal labels become
        one).
    ax : Axes, optional
        Axes to draw on; by default new ones.
    xlabel : str
        Text below the axis.
    level : float
        Confidence level of the intervals, for the legend.
    bounds : (float, float), optional
        Smallest and largest possible value: an estimate beyond them is drawn hollow, and the axis
        is in percent.  None for numbers without limits, such as coefficients.
    reference : float, optional
        Value at which a vertical line stands; None for no line.
    exponential : bool
        Whether the numbers are logarithms, such as those of odds ratios: the axis is logarithmic,
        and its labels are their exponentials.
    comparison : str
        Name of the grey bars for the legend, such as "naive, among the reports".
    **options
        figsize, title, sort and top; see `PlotOptions`.

    Returns
    -------
    Axes
        A line reaches exactly from low to high; an end at infinity is an arrow.

    Raises
    ------
    ArgumentTypeError
        `ax` is not a matplotlib Axes.
    ArgumentValueError
        There are no rows.
    """
    shown, texts, cut = _arrange(frame, "estimate", options)
    if "n" in shown and "series" not in shown:
        texts = [f"{text} (n={n:,.0f})" for text, n in zip(texts, shown["n"], strict=True)]
    shown = _laid_out(shown, bounds, reference)
    codes = np.zeros(len(shown), dtype=np.intp)
    series = pd.Index(["estimate"])
    if "series" in shown:
        codes, series = _factorized(pd.Index(shown["series"], dtype=object, tupleize_cols=False))
    ax = _axes(ax, options.get("figsize") or _size(texts, max(0.5, 0.22 * len(series) + 0.1)))
    ink = ax.xaxis.label.get_color()
    _draw_series(ax, shown, codes, series, comparison=comparison)
    if shown["hollow"].any() and bounds:
        hollow_text = f"hollow: outside {bounds[0]:.0%} to {bounds[1]:.0%}"
        ax.plot([], [], "o", color="none", markeredgecolor=ink, label=hollow_text)
    line = ax.plot([], [], color=COLORS[0] if len(series) == 1 else ink, linewidth=2.2)
    line[0].set_label(f"{100 * level:.10g}% interval")
    if "truth" in shown:
        (marks,) = ax.plot(shown["truth"], shown["row"], "x", color=COLORS[1], label="true value")
        marks.set(markersize=9, markeredgewidth=2.2, zorder=5)
    if reference is not None:
        ax.axvline(reference, color=ink, linewidth=0.8)
    if bounds:
        _format(ax.xaxis, percent=True)
    if exponential:
        _label_exponentials(ax)
    _name_rows(ax, texts)
    ax.set_xlabel(xlabel + cut, parse_math=False)
    _finish(ax, options.get("title"))
    return ax


def _label_exponentials(ax: Axes) -> None:
    """Ticks of an axis of logarithms at 1, 2, 5, 10 and so on; where these are rare, at more."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator

    low, high = np.exp(np.clip(ax.get_xlim(), -300, 300))
    powers = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1.0,) if high > 1e4 * low else (1.0, 2.0, 5.0)
    ticks = np.sort(np.outer(powers, steps).ravel())
    ticks = ticks[(low <= ticks) & (ticks <= high)]
    if len(ticks) < 4:
        ticks = np.array(MaxNLocator(6).tick_values(float(low), float(high)))
        ticks = ticks[(low <= ticks) & (ticks <= high)]
    ax.xaxis.set_major_locator(FixedLocator(np.log(ticks).tolist()))
    ax.xaxis.set_major_formatter(FixedFormatter(_distinct_texts(ticks)))


def _distinct_texts(numbers: Floats) -> list[str]:
    """Numbers with three digits, or with as many as tell them apart."""
    texts: list[str] = []
    for digits in range(3, 16):
        texts = [f"{number:.{digits}g}" for number in numbers]
        if len({*texts}) == len(texts):
            break
    return texts


def _laid_out(
    frame: pd.DataFrame, bounds: tuple[float, float] | None, reference: float | None
) -> pd.DataFrame:
    """The frame with ends that can be drawn, areas of dots, and which dots are hollow."""
    names = [name for name in ("estimate", "low", "high", "comparison", "truth") if name in frame]
    numbers = frame.astype(dict.fromkeys(names, np.float64))
    values = np.append(numbers[names].to_numpy(), np.nan if reference is None else reference)
    finite = values[np.isfinite(values)] if np.isfinite(values).any() else np.zeros(1)
    margin = 0.08 * float(np.ptp(finite)) or 1.0
    edges = float(finite.min()) - margin, float(finite.max()) + margin
    least, most = bounds or (-np.inf, np.inf)
    n = numbers["n"] / max(numbers["n"].max(), 1) if "n" in numbers else 0.3
    return numbers.assign(
        left=numbers["low"].clip(*edges),
        right=numbers["high"].clip(*edges),
        hollow=(numbers["estimate"] < least) | (numbers["estimate"] > most),
        area=20 + 60 * n,
    )


def _draw_series(
    ax: Axes,
    shown: pd.DataFrame,
    codes: Indices,
    series: pd.Index[Any],
    *,
    comparison: str,
) -> None:
    """All series, those of one row side by side, and their entries of the legend."""
    for place, name in enumerate(series):
        part = shown[codes == place]
        shift = 0.7 * (place - (len(series) - 1) / 2) / len(series)
        _draw_estimates(ax, part.assign(row=part["row"] + shift), place, comparison)
        dot = ax.plot([], [], _MARKERS[place % 7], color=COLORS[place % 6])
        dot[0].set_label(_legend_text(_text(name)))


def _draw_estimates(ax: Axes, part: pd.DataFrame, place: int, comparison: str) -> None:
    """Bars, intervals and dots of one series."""
    color = COLORS[place % 6]
    y = part["row"]
    if "comparison" in part:
        ink = ax.xaxis.label.get_color()
        bars = ax.barh(y, part["comparison"], height=0.62, color=ink, alpha=0.18)
        bars.set_label(_legend_text(comparison))
    ax.hlines(y, part["left"], part["right"], color=color, linewidth=2.2, zorder=4)
    for end, drawn, arrow in (("low", "left", "<"), ("high", "right", ">")):
        infinite = np.isinf(part[end])
        ax.plot(part[drawn].mask(infinite), y, "|", color=color, ms=_CAP_POINTS, mew=1.6, zorder=4)
        ax.plot(part[drawn].where(infinite), y, arrow, color=color, markersize=8, zorder=4)
    faces = np.where(part["hollow"], "none", color)
    ax.scatter(
        part["estimate"].where(np.isfinite(part["estimate"])), y, s=part["area"],
        marker=_MARKERS[place % 7], facecolor=faces, edgecolor=color, linewidth=1.4, zorder=3,
    )  # fmt: skip


def check_truth(
    truth: NumbersByCategory, labels: Sequence[Hashable], missing: float = np.nan
) -> list[float]:
    """Put known true proportions into the order of the labels of a picture.

    Parameters
    ----------
    truth : mapping, Series or sequence of floats
        By label, or as many numbers as there are labels.
    labels : sequence of hashables
        Labels of the rows.
    missing : float
        Value of a label that a mapping leaves out; NaN is drawn nowhere.

    Returns
    -------
    list of float
        One number for each label.

    Raises
    ------
    ArgumentValueError
        `truth` is neither, or has other labels, or another size, or numbers outside 0 to 1.
    """
    if hasattr(truth, "to_dict"):
        truth = truth.to_dict()
    if isinstance(truth, Mapping):
        extra = len(set(truth) - set(labels))
        if extra:
            raise ArgumentValueError(f"truth has {extra} labels that the picture does not have")
        truth = [truth.get(name, missing) for name in labels]
    try:
        values = [float(value) for value in truth]
    except (TypeError, ValueError):
        values = []
    if len(values) != len(labels):
        raise ArgumentValueError(
            f"truth must be a mapping or {len(labels)} numbers, found {type(truth).__name__}"
        )
    return [v if math.isnan(v) else check_probability(v, "each number of truth") for v in values]


# -- a table -----------------------------------------------------------------------------------


def plot_cells(
    values: pd.DataFrame,
    ax: Axes | None = None,
    *,
    low: pd.DataFrame | None = None,
    high: pd.DataFrame | None = None,
    level: float = 0.95,
    title: str = "",
    figsize: FigureSize | None = None,
) -> Axes:
    """Draw a table of proportions as a heat map, each cell with its number and interval.

    Parameters
    ----------
    values : DataFrame
        Proportions; its labels are those of rows and columns, and their names label the axes.
    ax : Axes, optional
        Axes to draw on; by default new ones.
    low, high : DataFrame, optional
        Ends of the intervals, written in each cell and drawn as a bar that begins at 0 and has the
        same end in all cells.
    level : float
        Confidence level of the intervals, for the title.
    title : str
        First lines above the table.
    figsize : (float, float), optional
        Width and height of new Axes in inches.

    Returns
    -------
    Axes
        Cells in shades of one blue.  A cell is hatched and pale if its interval reaches 0 or is
        very wide: its shade is not reliable.

    Raises
    ------
    ArgumentValueError
        There are more than 400 cells, or none, or the ends have other rows or columns than the
        values.
    """
    if not 0 < values.size <= _MAX_CELLS:
        rule = f"a picture has room for 1 to {_MAX_CELLS} cells"
        raise ArgumentValueError(f"{rule}, found {values.size:,}; plot a part")
    cells = values.to_numpy(dtype=float)
    rows, columns = cells.shape
    ax = _axes(ax, figsize or (2.2 + max(1.25 * columns, 2.5), 1.7 + 0.72 * rows))
    darkest = float(np.clip(np.nanmax(cells, initial=0.0), 0.05, 1.0))
    lines = [title]
    unsure = np.zeros(cells.shape, dtype=bool)
    ends: Floats | None = None
    span = 1.0
    if low is not None and high is not None:
        ends = _cell_ends(values, low, high)
        unsure = (ends[0] <= 0) | (ends[1] - ends[0] > _WIDE_INTERVAL)
        # A round number beyond the intervals of the cells that can be read.
        far = min(1.2 * max(darkest, float(np.median(ends[1]))), 1.0)
        span = next(end for end in _SPANS if end >= far)
        lines.append(f"below: {100 * level:.10g}% interval; bar from 0 to {span:.0%}")
        if unsure.any():
            lines.append("hatched: may be 0, or anything")
    inks = _shade(ax, cells / darkest, unsure)
    for i, j in np.ndindex(cells.shape):
        interval = None if ends is None else ends[:, i, j]
        _write_cell(ax, (j, i), float(cells[i, j]), interval, ink=str(inks[i, j]), span=span)
    _name_cells(ax, values)
    _finish(ax, "\n".join(filter(None, lines)))
    return ax


def _cell_ends(values: pd.DataFrame, low: pd.DataFrame, high: pd.DataFrame) -> Floats:
    """(2, rows, columns) ends of the intervals; raises if their labels are not those of values."""
    for name, end in (("low", low), ("high", high)):
        if not (end.index.equals(values.index) and end.columns.equals(values.columns)):
            raise ArgumentValueError(
                f"{name} must have the rows and columns of values, in the same order; "
                f"use {name}.loc[values.index, values.columns]"
            )
    return np.stack([low.to_numpy(dtype=float), high.to_numpy(dtype=float)])


def _write_cell(
    ax: Axes,
    at: tuple[int, int],
    proportion: float,
    interval: Floats | None,
    *,
    ink: str,
    span: float,
) -> None:
    """The proportion of a cell; below it the interval, as text and as a bar from 0 to ``span``."""
    x, y = at
    style: dict[str, Any] = {"color": ink, "ha": "center", "va": "center"}
    text = f"{proportion:z.1%}" if np.isfinite(proportion) else "unknown"
    ax.text(x, y if interval is None else y - 0.2, text, size=10, **style)
    if interval is not None and np.isfinite(interval).all():
        ax.text(x, y + 0.08, percent_range(*interval), size=7, **style)
        _draw_bar(ax, at, np.append(interval, proportion) / span, ink)


def _name_cells(ax: Axes, values: pd.DataFrame) -> None:
    """Labels of the rows and columns of a table, and no frame."""
    _name_rows(ax, _texts(values.index))
    ax.set_xticks(range(values.shape[1]), _texts(values.columns, 16), parse_math=False)
    ax.set_ylabel(_title(values.index), parse_math=False)
    ax.set_xlabel(_title(values.columns), parse_math=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _shade(ax: Axes, shades: Floats, unsure: Booleans) -> NDArray[np.str_]:
    """Fill the cells; returns for each the colour, black or white, that is read on it."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    blues = LinearSegmentedColormap.from_list("proportions", ["#ffffff", COLORS[0]])
    shades = np.nan_to_num(shades).clip(0)
    shades = np.where(unsure, shades.clip(max=0.15), shades)
    edges = [np.arange(size + 1) - 0.5 for size in shades.T.shape]
    ax.pcolormesh(*edges, shades, cmap=blues, vmin=0, vmax=1, edgecolors="white", linewidth=2)
    for i, j in np.argwhere(unsure):
        cell = Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, fill=False, edgecolor="#d5dbe4")
        cell.set(hatch="///", linewidth=0)
        ax.add_patch(cell)
    luminance = blues(shades)[..., :3] ** 2.2 @ [0.2126, 0.7152, 0.0722]
    return np.where(luminance > 0.26, "black", "white")


def _draw_bar(ax: Axes, at: tuple[int, int], parts: Floats, ink: str) -> None:
    """A bar across the foot of a cell: low, high and a tick, as parts of its length."""
    x, y = at
    start = x - 0.4
    length = 0.8
    low, high, tick = start + length * parts.clip(0, 1)
    ax.hlines(y + 0.3, start, start + length, color=ink, alpha=0.25, linewidth=4)
    ax.hlines(y + 0.3, low, high, color=ink, linewidth=4)
    if np.isfinite(tick):
        ax.vlines(tick, y + 0.21, y + 0.39, color=ink, linewidth=1.6)


# -- lines and bars ----------------------------------------------------------------------------


def plot_lines(
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    log: str = "",
    percent: str = "",
    ylabel: str = "",
    title: str | None = None,
    figsize: FigureSize | None = None,
) -> Axes:
    """Draw a line for each column of a frame, with a legend in the order of their ends.

    Parameters
    ----------
    frame : DataFrame
        One column for each line; the index has the values along the axis, and its name is written
        below.  Numbers that are not finite are left out.
    ax : Axes, optional
        Axes to draw on; by default new ones.
    log, percent : {"", "x", "y", "xy"}
        Axes that are logarithmic, and those in percent.
    ylabel : str
        Text beside the vertical axis.
    title : str, optional
        Text above the picture.
    figsize : (float, float), optional
        Width and height of new Axes in inches.

    Returns
    -------
    Axes
        Lines that differ by colour, dash and marker.

    Examples
    --------
    >>> from rrstats import planning
    >>> sizes = pd.Index([500, 1000, 2000], name="people")
    >>> power = pd.DataFrame(index=sizes)
    >>> for e in (1, 2):
    ...     power[f"epsilon {e}"] = [planning.power(n, 0.15, against=0.1, epsilon=e) for n in sizes]
    >>> power.loc[1000].round(2).to_dict()
    {'epsilon 1': 0.34, 'epsilon 2': 0.83}

    ``plot_lines(power, log="x", percent="y", ylabel="power")`` draws it.
    """
    ax = _axes(ax, figsize or (7.5, 4.0))
    lines: list[tuple[tuple[float, float], Any, str]] = []
    for place, text in enumerate(_texts(frame.columns)):
        values = frame.iloc[:, place].replace([np.inf, -np.inf], np.nan).dropna()
        style = _MARKERS[place % 7] + _DASHES[place % 4]
        line = ax.plot(values.index, values, style, color=COLORS[place % 6], linewidth=1.8, ms=4.5)
        if len(values):
            # The highest end first; of lines that end together the one that is higher on the way.
            height = round(float(values.iloc[-1]), 3), float(values.mean())
            lines.append((height, line[0], text))
    ax.set_xscale("log" if "x" in log else "linear")
    ax.set_yscale("log" if "y" in log else "linear")
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        _format(axis, percent=name in percent, log=name in log)
    if "y" in percent and "y" not in log:
        ax.set_ylim(0, 1.02)
    ax.set_xlabel(_title(frame.index), parse_math=False)
    ax.set_ylabel(ylabel, parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    _finish(ax, title)
    if lines:
        lines.sort(key=lambda entry: entry[0], reverse=True)
        _, handles, names = zip(*lines, strict=True)
        _draw_legend(ax, handles, names, loc="center left", bbox_to_anchor=(1, 0.5))
    return ax


def plot_bounds(
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    level: float = 0.95,
    ylabel: str = "",
    title: str | None = None,
    figsize: FigureSize | None = None,
) -> Axes:
    """Draw bounds of a proportion against an assumed proportion, with the band of their intervals.

    Parameters
    ----------
    frame : DataFrame
        Columns "low_bound", "high_bound", "low" and "high"; the index has the assumed proportions,
        and its name is written below.  Bounds that are equal everywhere are drawn as a line.
    ax : Axes, optional
        Axes to draw on; by default new ones.
    level : float
        Confidence level of the band, for the legend.
    ylabel : str
        Text beside the vertical axis.
    title : str, optional
        Text above the picture.
    figsize : (float, float), optional
        Width and height of new Axes in inches.

    Returns
    -------
    Axes
        Bounds outside 0 to 100% are drawn at the edge.

    Examples
    --------
    >>> frame = pd.DataFrame({"low_bound": [0.4, 0.3], "high_bound": [0.4, 0.3]})
    >>> frame = frame.assign(low=[0.3, 0.1], high=[0.5, 0.5]).set_axis([0.0, 0.5])
    >>> ax = plot_bounds(frame, ylabel="proportion of yes")
    >>> ax.get_ylabel()
    'proportion of yes'
    """
    ax = _axes(ax, figsize or (7.5, 4.0))
    x = frame.index.to_numpy(dtype=np.float64)
    low, high = (frame[name].clip(0, 1) for name in ("low_bound", "high_bound"))
    ax.fill_between(
        x, frame["low"], frame["high"], color=COLORS[0], alpha=0.35, linewidth=0,
        label=f"{level * 100:.10g}% interval",
    )  # fmt: skip
    if (low != high).any():
        ax.fill_between(x, low, high, color=COLORS[0], alpha=0.6, linewidth=0, label="bounds")
    else:
        ax.plot(x, low, color=COLORS[0], linewidth=1.8, label="estimate")
    _format(ax.xaxis, percent=True)
    _format(ax.yaxis, percent=True)
    ax.set_xlim(x.min(), x.max())
    ax.set_ylim(-0.005, min(1.01, 1.15 * float(frame["high"].max())))
    ax.set_xlabel(_title(frame.index), parse_math=False)
    ax.set_ylabel(ylabel, parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    _finish(ax, title)
    return ax


def plot_bars(
    values: pd.Series[Any], ax: Axes | None = None, **options: Unpack[PlotOptions]
) -> Axes:
    """Draw a bar for each row, with its number at the end.

    Parameters
    ----------
    values : Series
        Numbers; the index labels the bars, and the name is written below.
    ax : Axes, optional
        Axes to draw on; by default new ones.
    **options
        figsize, title, sort and top; see `PlotOptions`.

    Returns
    -------
    Axes
        Bars from top to bottom.
    """
    shown, texts, cut = _arrange(values.to_frame("value"), "value", options)
    ax = _axes(ax, options.get("figsize") or _size(texts, 0.34))
    bars = ax.barh(shown["row"], shown["value"], height=0.62, color=COLORS[0])
    numbers = [f"{v:,.0f}" if float(v).is_integer() else f"{v:,.3g}" for v in shown["value"]]
    ax.bar_label(bars, numbers, padding=3, fontsize=8.5, color=ax.xaxis.label.get_color())
    ax.margins(x=0.12)
    _format(ax.xaxis)
    _name_rows(ax, texts)
    ax.set_xlabel(("" if values.name is None else _text(values.name)) + cut, parse_math=False)
    _finish(ax, options.get("title"))
    return ax


def plot_diverging(
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    xlabel: str = "",
    title: str | None = None,
    figsize: FigureSize | None = None,
) -> Axes:
    """Draw items with one ordered scale as bars that diverge from the middle of the scale.

    Parameters
    ----------
    frame : DataFrame
        One row for each item and one column for each category, in the order of the scale; numbers
        are proportions of at least 0.
    ax : Axes, optional
        Axes to draw on; by default new ones.
    xlabel : str
        Text below the axis.
    title : str, optional
        Text above the picture.
    figsize : (float, float), optional
        Width and height of new Axes in inches.

    Returns
    -------
    Axes
        Lower categories are left of the middle, higher ones right of it; half of a middle category
        is on each side.  A part that is wide enough has its number.

    Raises
    ------
    ArgumentValueError
        There are no rows, fewer than two columns, or negative numbers.

    Examples
    --------
    >>> scale = ["disagree", "neither", "agree"]
    >>> frame = pd.DataFrame([[0.3, 0.2, 0.5], [0.1, 0.4, 0.5]], ["pay", "hours"], scale)
    >>> ax = plot_diverging(frame, xlabel="proportion")
    >>> [round(float(bar.get_x()), 2) for bar in ax.containers[1]]  # half of "neither" is left
    [-0.1, -0.2]
    """
    parts = frame.to_numpy(dtype=np.float64)
    items, categories = parts.shape
    if not items or categories < 2 or not (parts >= 0).all():
        raise ArgumentValueError(
            "frame must have a row for each item and at least 2 columns, of proportions of at "
            f"least 0, found {items} rows and {categories} columns"
        )
    texts = _texts(frame.index)
    ax = _axes(ax, figsize or _size(texts, 0.5))
    half = categories // 2
    middle = parts[:, :half].sum(axis=1) + (parts[:, half] / 2 if categories % 2 else 0)
    starts = np.cumsum(parts, axis=1) - parts - middle[:, None]
    for place, name in enumerate(_texts(frame.columns)):
        color = _diverging_color(place, categories)
        bars = ax.barh(
            np.arange(items), parts[:, place], left=starts[:, place], height=0.7, color=color,
            edgecolor="white", linewidth=0.8, label=_legend_text(name),
        )  # fmt: skip
        luminance = np.power(color, 2.2) @ [0.2126, 0.7152, 0.0722]
        numbers = [f"{part:.0%}" if part >= _READABLE_PART else "" for part in parts[:, place]]
        ink = "black" if luminance > 0.26 else "white"
        ax.bar_label(bars, numbers, label_type="center", fontsize=8, color=ink)
    ax.axvline(0, color=ax.xaxis.label.get_color(), linewidth=0.8, zorder=0)
    ax.use_sticky_edges = False
    ax.margins(x=0.03)
    _name_rows(ax, texts)
    _format(ax.xaxis, percent=True, signed=False)
    ax.set_xlabel(xlabel, parse_math=False)
    _finish(ax, title)
    return ax


def _diverging_color(place: int, categories: int) -> Floats:
    """Orange below the middle of a scale, grey at it, blue above, darker at the ends."""
    from matplotlib.colors import to_rgb

    distance = (2 * place - categories + 1) / (categories - 1)
    end = np.array(to_rgb(COLORS[1] if distance < 0 else COLORS[0]))
    grey = np.array(to_rgb("#d4d4d4"))
    return np.asarray(grey + (end - grey) * abs(distance))


# -- what all pictures share -------------------------------------------------------------------


def _axes(ax: Axes | None, size: FigureSize) -> Axes:
    """The Axes of the call, or new ones."""
    require_matplotlib()
    if ax is not None and not hasattr(ax, "barh"):
        raise ArgumentTypeError(
            f"ax must be matplotlib Axes, found {type(ax).__name__}; to save a picture write "
            "result.plot().figure.savefig('picture.png')"
        )
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def _size(texts: Sequence[str], row: float) -> FigureSize:
    """Inches for as many rows, up to a limit; rows grow with the lines of their labels."""
    lines = max(text.count("\n") + 1 for text in texts)
    roomy = min(len(texts), _ROOMY_ROWS)
    close = 0.17 * lines + 0.03
    height = max(row, 0.18 * lines + 0.12) * roomy + close * (len(texts) - roomy)
    return 7.5, 1.3 + min(height, _MAX_HEIGHT)


def _arrange(
    frame: pd.DataFrame, column: str, options: PlotOptions
) -> tuple[pd.DataFrame, list[str], str]:
    """The part of a frame to draw, with its rows; the texts of the rows; how many they are."""
    codes: Any = np.arange(len(frame))
    labels: Any = frame.index
    if "series" in frame:
        codes, labels = _factorized(frame.index)
    top = options.get("top")
    if not len(labels) or (top is not None and top < 1):
        raise ArgumentValueError("a picture needs at least one row, found none")
    values = pd.Series(frame[column].to_numpy(dtype=float)).groupby(codes)
    order = np.arange(len(labels))
    if top is not None:
        farthest = values.agg(lambda row: row.abs().max()).to_numpy()
        order = np.sort(np.argsort(-farthest, kind="stable")[:top])
    if options.get("sort"):
        order = order[np.argsort(-values.max().to_numpy()[order], kind="stable")]
    rows = np.full(len(labels), -1)
    rows[order] = np.arange(len(order))
    shown = frame.assign(row=rows[codes])
    shown = shown[shown["row"] >= 0].sort_values("row", kind="stable")
    cut = "" if top is None else f" (top {len(order):,} of {len(labels):,})"
    return shown, _texts(labels[order]), cut


def _factorized(labels: pd.Index) -> tuple[Indices, pd.Index]:
    """The number of each label, and the distinct labels in the order in which they come."""
    codes, _ = labels.factorize(use_na_sentinel=False)
    _, first = np.unique(codes, return_index=True)
    return codes, labels[first]  # the labels of factorize have NaN for None


def _texts(labels: Any, width: int = 30) -> list[str]:
    """Labels as text in at most three lines; in full where cut ones would be alike."""
    full = [" ".join(_text(name).split()) for name in labels]
    cut = [textwrap.fill(text, width, max_lines=3, placeholder=" …") for text in full]
    return cut if len(set(cut)) == len(set(full)) else [textwrap.fill(t, width) for t in full]


def _text(name: Hashable) -> str:
    """One label as people read it."""
    if isinstance(name, tuple):
        return ", ".join(map(_text, name))
    return label(None if name != name else name)


def _legend_text(text: str) -> str:
    """A name for a legend, from which matplotlib leaves out those that begin with "_"."""
    return f" {text}" if text.startswith("_") else text


def _title(labels: pd.Index) -> str:
    """The names of an index, for an axis."""
    return ", ".join(_text(name) for name in labels.names if name is not None)


def _name_rows(ax: Axes, texts: Sequence[str]) -> None:
    """Labels beside the rows, the first on top; every second or third where they are many."""
    step = -(-len(texts) // _MAX_TICKS)
    ax.set_yticks(range(0, len(texts), step), texts[::step], parse_math=False)
    ax.set_ylim(len(texts) - 0.5, -0.5)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _finish(ax: Axes, title: str | None) -> None:
    """The legend above the Axes, in one line where there is room, and the title above it."""
    handles, names = ax.get_legend_handles_labels()
    lines = 0
    width = ax.get_window_extent().width / ax.figure.dpi
    if names:
        lines = max(1, math.ceil(0.065 * sum(len(name) + 6 for name in names) / width))
        across = -(-len(names) // lines)
        _draw_legend(
            ax, handles, names, loc="lower left", bbox_to_anchor=(0, 1), ncols=across,
            borderaxespad=0.3, handlelength=1.4, columnspacing=1.4,
        )  # fmt: skip
    text = "\n".join(
        textwrap.fill(line, max(20, int(13 * width))) for line in (title or "").split("\n")
    )
    ax.set_title(text, fontsize=10, loc="left", pad=8 + 14 * lines, parse_math=False)


def _draw_legend(ax: Axes, handles: Sequence[Any], names: Sequence[str], **layout: Any) -> None:
    """A legend in the style of the Axes, whose names are no mathematics."""
    legend = ax.legend(
        handles, names, fontsize=8, frameon=False, labelcolor=ax.xaxis.label.get_color(), **layout
    )
    for entry in legend.get_texts():
        entry.set_parse_math(False)
        entry.set_text(entry.get_text().strip())


def _format(axis: Any, percent: bool = False, log: bool = False, signed: bool = True) -> None:
    """Format the numbers of an axis as 10,000 and 2.5%, without powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    def plain(number: float, _: object) -> str:
        number = number if signed else abs(number)
        if percent:
            return f"{100 * number:.4g}%"
        return f"{number:,.4g}" if abs(number) < 1000 else f"{number:,.0f}"

    axis.set_major_formatter(FuncFormatter(plain))
    if log:
        low, high = axis.get_view_interval()
        steps = (1.0, 2.0, 5.0) if high < 300 * low else (1.0, 3.0)
        axis.set_major_locator(LogLocator(subs=steps, numticks=12))
        axis.set_minor_formatter(NullFormatter())


def __dir__() -> list[str]:
    return __all__
