"""Pictures of estimates; matplotlib is imported only here, when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rrstats.estimators import Estimate

__all__ = ["plot_estimate", "save_estimates"]

_NAIVE, _DEBIASED, _TRUTH = "#b0b7c3", "#1f5fa8", "#c2410c"
_MOST_LABEL = 24


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401  # only whether it is there
    except ImportError:
        raise MissingPackageError("plots need matplotlib: pip install 'rrstats[plot]'") from None


def _axes(categories: int) -> Axes:
    _require_matplotlib()
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7, 1.2 + 0.55 * categories), layout="constrained")
    return ax


def plot_estimate(
    estimate: Estimate,
    ax: Axes | None = None,
    *,
    level: float = 0.95,
    method: str = "clopper-pearson",
    simultaneous: bool = False,
    truth: Any = None,
) -> Axes:
    """Draw naive shares, debiased shares with their intervals, and the truth if it is known.

    estimate : an Estimate.  ax : Axes to draw on, by default new ones.
    truth : mapping from category to true share, or k numbers; only where it is public.
    Returns the Axes.  A bar reaches exactly from low to high; the dot is the unbiased share.
    """
    known = _true_shares(estimate, truth)
    axes = _axes(estimate.k) if ax is None else ax
    low, high = estimate.interval(level, method=method, simultaneous=simultaneous)
    place = np.arange(estimate.k)
    axes.barh(place, estimate.naive, height=0.62, color=_NAIVE, label="among the reports (naive)")
    axes.hlines(
        place,
        low,
        high,
        color=_DEBIASED,
        linewidth=5,
        alpha=0.55,
        label=f"{level * 100:.4g}% interval of the true share",
    )
    axes.plot(estimate.proportions, place, "o", color=_DEBIASED, label="debiased share")
    if known is not None:
        axes.plot(
            known,
            place,
            "D",
            color=_TRUTH,
            markersize=6,
            fillstyle="none",
            markeredgewidth=1.6,
            label="true share",
        )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(place, [_label(c) for c in estimate.categories])
    axes.invert_yaxis()
    axes.set_xlabel("share")
    axes.set_title(
        f"{estimate.n:,} reports, {'these rows' if estimate.target == 'rows' else 'population'}",
        fontsize=10,
        loc="left",
    )
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(fontsize=8, frameon=False, loc="best")
    return axes


def _label(category: object) -> str:
    text = "(missing)" if category is None else str(category)
    return text if len(text) <= _MOST_LABEL else text[: _MOST_LABEL - 1] + "…"


def _true_shares(estimate: Estimate, truth: Any) -> list[float] | None:
    if truth is None:
        return None
    if hasattr(truth, "to_dict"):
        truth = truth.to_dict()
    if isinstance(truth, Mapping):
        return [float(truth.get(category, 0.0)) for category in estimate.categories]
    try:
        shares = [float(share) for share in truth]
    except TypeError:
        raise ArgumentTypeError("truth must be a mapping or a list of shares") from None
    if len(shares) != estimate.k:
        raise ArgumentValueError(f"truth must have {estimate.k} shares, found {len(shares)}")
    return shares


def save_estimates(estimates: Mapping[str, Estimate], truths: Mapping[str, Any], path: Any) -> None:
    """Draw several estimates below one another and save them; the file's ending says how."""
    _require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    heights = [estimate.k + 1.5 for estimate in estimates.values()]
    figure = Figure(figsize=(8, 0.55 * sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for (name, estimate), ax in zip(estimates.items(), axes, strict=True):
        plot_estimate(estimate, ax, truth=truths.get(name))
        ax.set_title(f"{name}, {ax.get_title(loc='left')}", fontsize=10, loc="left")
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise ArgumentValueError(f"the picture cannot be saved: {error}") from None
