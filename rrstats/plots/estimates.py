"""Pictures of estimates; matplotlib is imported only here, when one is drawn.

Grey bars are the shares among the reports, blue lines the intervals of the true shares with
a dot at the unbiased share, orange ticks the true shares where those are public.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.plots.shared import (
    DEBIASED,
    NAIVE,
    TRUTH,
    check_axes,
    height_of,
    labels_of,
    legend_above,
    percent_axis,
    require_matplotlib,
    width_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rrstats.estimates import Estimate

__all__ = ["plot_estimate", "save_estimates"]


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

    estimate : an Estimate, or a SurveyEstimate.  ax : Axes to draw on, by default new ones.
    level, method, simultaneous : of the intervals, as for `Estimate.interval`.
    truth : mapping from category to true share, or k numbers; only where it is public.
    Returns the Axes.  A line reaches exactly from low to high; its dot is the unbiased share,
    which may lie below 0.
    """
    check_axes(ax)
    known = _true_shares(estimate, truth)
    ends = estimate.interval(level, method=method, simultaneous=simultaneous)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7.5, 1.3 + height_of(estimate.k)), layout="constrained")
    _draw(ax, estimate, ends, level, known)
    entries = len(ax.get_legend_handles_labels()[0])
    # Side by side with other Axes there is no room for one line.
    across = entries if width_of(ax) > 1.5 * entries else 2
    lines = -(-entries // across)
    ax.set_title(f"{estimate.n:,} reports", fontsize=10, loc="left", pad=8 + 14 * lines)
    ax.legend(**legend_above(across))
    return ax


def _draw(ax: Axes, estimate: Estimate, ends: Any, level: float, known: Any) -> None:
    place = np.arange(estimate.k)
    if estimate.names_categories:
        ax.barh(
            place, estimate.named[1], height=0.62, color=NAIVE, label="naive, among the reports"
        )
    ax.hlines(
        place,
        ends.low,
        ends.high,
        color=DEBIASED,
        linewidth=6,
        alpha=0.5,
        label=f"{level * 100:.10g}% interval",
    )
    ax.plot(
        estimate.proportions,
        place,
        "o",
        color=DEBIASED,
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
            color=TRUTH,
            markersize=15,
            markeredgewidth=2,
            label="true share",
        )
    ax.axvline(0, color="black", linewidth=0.8)
    # Category labels are text, also where they hold a dollar sign.
    ax.set_yticks(place, labels_of(estimate.categories), parse_math=False)
    ax.set_ylim(estimate.k - 0.5, -0.5)
    ax.margins(x=0.03)
    percent_axis(ax.xaxis)
    ax.set_xlabel("share of these rows" if estimate.target == "rows" else "share of the population")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)


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

    heights = [height_of(estimate.k) for estimate in estimates.values()]
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
    return {k: v for k, v in legend_above(entries).items() if k != "bbox_to_anchor"} | placed
