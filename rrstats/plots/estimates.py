"""Pictures of estimates; matplotlib is imported only here, when one is drawn.

Grey bars are the shares among the reports, blue lines the intervals of the true shares with
a dot at the unbiased share, orange ticks the true shares where those are public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rrstats.estimates import Estimate

__all__ = ["plot_estimate", "require_matplotlib", "save_estimates"]

_NAIVE, _DEBIASED, _TRUTH = "#c9ced8", "#1f5fa8", "#d2480a"
_MOST_LABEL = 28
_TALLEST = 40.0
"""Inches; with more categories than fit, rows become thinner instead of the picture higher."""


def require_matplotlib() -> None:
    """Raise MissingPackageError where pictures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise MissingPackageError("plots need matplotlib: pip install matplotlib")


def _height(categories: int) -> float:
    return min(0.5 * categories, _TALLEST)


def plot_estimate(
    estimate: Estimate,
    ax: Axes | None = None,
    *,
    level: float = 0.95,
    method: str | None = None,
    simultaneous: bool = False,
    truth: Any = None,
) -> Axes:
    """Draw naive shares, debiased shares with their intervals, and the truth if it is known.

    estimate : an Estimate.  ax : Axes to draw on, by default new ones.
    level, method, simultaneous : of the intervals, as for `Estimate.interval`.
    truth : mapping from category to true share, or k numbers; only where it is public.
    Returns the Axes.  A line reaches exactly from low to high; its dot is the unbiased share,
    which may lie below 0.
    """
    require_matplotlib()
    if ax is not None and not hasattr(ax, "barh"):
        raise ArgumentTypeError(
            f"ax must be matplotlib Axes, found {type(ax).__name__}; save the picture with "
            "estimate.plot().figure.savefig('shares.png')"
        )
    known = _true_shares(estimate, truth)
    ends = estimate.interval(level, method=method, simultaneous=simultaneous)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7.5, 1.3 + _height(estimate.k)), layout="constrained")
    _draw(ax, estimate, ends, level, known)
    entries = len(ax.get_legend_handles_labels()[0])
    # Side by side with other Axes there is no room for one line.
    across = entries if _width(ax) > 1.5 * entries else 2
    lines = -(-entries // across)
    ax.set_title(f"{estimate.n:,} reports", fontsize=10, loc="left", pad=8 + 14 * lines)
    ax.legend(**_legend(across))
    return ax


def _width(ax: Axes) -> float:
    """The width of the Axes in inches."""
    return float(ax.get_window_extent().width / ax.figure.dpi)


def _legend(entries: int) -> dict[str, Any]:
    """A legend in one line above the axes, where no data are."""
    return {
        "loc": "lower left",
        "bbox_to_anchor": (0, 1),
        "ncols": entries,
        "fontsize": 8,
        "frameon": False,
        "borderaxespad": 0.3,
        "handlelength": 1.4,
        "columnspacing": 1.4,
    }


def _draw(ax: Axes, estimate: Estimate, ends: Any, level: float, known: Any) -> None:
    from matplotlib.ticker import FuncFormatter

    place = np.arange(estimate.k)
    if estimate.names_categories:
        ax.barh(
            place, estimate.named[1], height=0.62, color=_NAIVE, label="naive, among the reports"
        )
    ax.hlines(
        place,
        ends.low,
        ends.high,
        color=_DEBIASED,
        linewidth=6,
        alpha=0.5,
        label=f"{level * 100:.10g}% interval",
    )
    ax.plot(
        estimate.proportions,
        place,
        "o",
        color=_DEBIASED,
        markersize=6,
        markeredgecolor="white",
        markeredgewidth=0.8,
        label="debiased share",
    )
    if known is not None:
        ax.plot(
            known,
            place,
            "|",
            color=_TRUTH,
            markersize=15,
            markeredgewidth=2,
            label="true share",
        )
    ax.axvline(0, color="black", linewidth=0.8)
    # Category labels are text, also where they hold a dollar sign.
    ax.set_yticks(place, _labels(estimate.categories), parse_math=False)
    ax.set_ylim(estimate.k - 0.5, -0.5)
    ax.margins(x=0.03)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share * 100:.4g}%"))
    ax.set_xlabel("share of these rows" if estimate.target == "rows" else "share of the population")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _labels(categories: Iterable[object]) -> list[str]:
    """Categories as short text; cut in the middle where a cut end would make two alike."""
    texts = ["(missing)" if c is None else " ".join(str(c).split()) for c in categories]
    short = [_cut(text, _MOST_LABEL - 1) for text in texts]
    if len(set(short)) < len(set(texts)):
        short = [_cut(text, _MOST_LABEL // 2 - 1) for text in texts]
    return short if len(set(short)) == len(set(texts)) else texts


def _cut(text: str, start: int) -> str:
    """The first ``start`` letters of a long text, and as many of its end as there is room for."""
    end = _MOST_LABEL - 1 - start
    return text if len(text) <= _MOST_LABEL else f"{text[:start]}…{text[len(text) - end :]}"


def _true_shares(estimate: Estimate, truth: Any) -> list[float] | None:
    if truth is None:
        return None
    if hasattr(truth, "to_dict"):
        truth = truth.to_dict()
    if isinstance(truth, Mapping):
        strange = [name for name in truth if name not in estimate.categories]
        if strange:
            raise ArgumentValueError(
                f"truth names {len(strange)} categories that the estimate does not have; "
                f"its categories are {estimate.mechanism.domain.describe()}"
            )
        shares = [truth.get(category, 0.0) for category in estimate.categories]
    elif isinstance(truth, str | bytes) or not hasattr(truth, "__iter__"):
        raise ArgumentTypeError(
            f"truth must be a mapping or a list of shares, found {type(truth).__name__}"
        )
    else:
        shares = list(truth)
    if len(shares) != estimate.k:
        raise ArgumentValueError(f"truth must have {estimate.k} shares, found {len(shares)}")
    try:
        return [float(share) for share in shares]
    except (TypeError, ValueError):
        raise ArgumentTypeError("truth must hold numbers, the true shares") from None


def save_estimates(
    estimates: Mapping[str, Estimate],
    truths: Mapping[str, Any],
    path: Any,
    *,
    level: float = 0.95,
) -> None:
    """Draw several estimates below one another and save them; the file's ending says how.

    estimates, truths : by column; a column without a truth is drawn without.
    Raises ArgumentValueError where matplotlib knows no such ending, OSError where the file
    cannot be written, MissingPackageError without matplotlib.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    heights = [_height(estimate.k) for estimate in estimates.values()]
    size = (8, 0.6 + sum(heights) + 0.7 * len(heights))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False, sharex=True)[:, 0]
    for (name, estimate), ax in zip(estimates.items(), axes, strict=True):
        _draw(
            ax, estimate, estimate.interval(level), level, _true_shares(estimate, truths.get(name))
        )
        ax.set_title(f"{name}: {estimate.n:,} reports", fontsize=10, loc="left", parse_math=False)
        ax.tick_params(labelbottom=True)
        if ax is not axes[-1]:
            ax.set_xlabel("")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, **_figure_legend(len(handles)))
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise ArgumentValueError(f"the picture cannot be saved: {error}") from None


def _figure_legend(entries: int) -> dict[str, Any]:
    placed = {"loc": "outside upper left", "fontsize": 9}
    return {k: v for k, v in _legend(entries).items() if k != "bbox_to_anchor"} | placed
