"""A forest plot: one share in each of several groups, with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.groups import label_text
from rrstats.plots.shared import (
    DEBIASED,
    TRUTH,
    check_axes,
    height_of,
    labels_of,
    legend_above,
    percent_axis,
    width_of,
)
from rrstats.results import said

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rrstats.groups import GroupEstimates

__all__ = ["plot_groups"]


def plot_groups(
    groups: GroupEstimates,
    ax: Axes | None = None,
    *,
    category: Hashable = ...,
    level: float = 0.95,
    truth: Any = None,
) -> Axes:
    """Draw the share of one category in each group, groups from top to bottom.

    category : by default the last one.  level : of the intervals.
    truth : where it is public, a mapping from group to true share.
    Returns the Axes.  The area of a dot grows with the group's number of reports.
    """
    check_axes(ax)
    if not groups:
        raise ArgumentValueError("there are no groups to draw")
    ones = list(groups.values())
    categories = ones[0].categories
    if category is not ... and category not in categories:
        raise ArgumentValueError(f"category must be one of {list(categories)}, found {category!r}")
    code = len(categories) - 1 if category is ... else categories.index(category)
    ends = [one.interval(level) for one in ones]
    low = np.array([float(end.low[code]) for end in ends])
    high = np.array([float(end.high[code]) for end in ends])
    shares = np.array([float(one.proportions[code]) for one in ones])
    sizes = np.array([one.n for one in ones], dtype=float)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7.5, 1.3 + height_of(len(ones))), layout="constrained")
    place = np.arange(len(ones))
    span = f"{level * 100:.10g}% interval"
    ax.hlines(place, low, high, color=DEBIASED, linewidth=5, alpha=0.5, label=span)
    areas = 20 + 80 * sizes / max(float(sizes.max()), 1.0)
    ax.scatter(
        shares, place, s=areas, color=DEBIASED, edgecolor="white", zorder=3, label="debiased share"
    )
    if truth is not None:
        marks = _true_share_of_each(groups, truth)
        ax.plot(
            marks, place, "|", color=TRUTH, markersize=15, markeredgewidth=2, label="true share"
        )
    named = labels_of(map(label_text, groups))
    texts = [f"{text} (n={one.n:,})" for text, one in zip(named, ones, strict=True)]
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(place, texts, parse_math=False)
    ax.set_ylim(len(ones) - 0.5, -0.5)
    percent_axis(ax.xaxis)
    whom = "these rows" if ones[0].target == "rows" else "the population"
    ax.set_xlabel(f"share of {said(categories[code])} among {whom}", parse_math=False)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    entries = len(ax.get_legend_handles_labels()[0])
    ax.legend(**legend_above(entries if width_of(ax) > 1.5 * entries else 2))
    return ax


def _true_share_of_each(groups: GroupEstimates, truth: Any) -> list[float]:
    if hasattr(truth, "to_dict"):
        truth = truth.to_dict()
    if not isinstance(truth, Mapping) or set(truth) != set(groups):
        raise ArgumentTypeError("truth must be a mapping from each group to its true share")
    return [float(truth[label]) for label in groups]
