"""What all pictures share: colours, sizes, legends, and labels that are short enough."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rrstats.errors import ArgumentTypeError, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "DEBIASED",
    "NAIVE",
    "TRUTH",
    "check_axes",
    "height_of",
    "labels_of",
    "legend_above",
    "percent_axis",
    "require_matplotlib",
    "width_of",
]

NAIVE, DEBIASED, TRUTH = "#c9ced8", "#1f5fa8", "#d2480a"
_MOST_LABEL = 28
_TALLEST = 40.0
"""Inches; with more categories than fit, rows become thinner instead of the picture higher."""


def require_matplotlib() -> None:
    """Raise MissingPackageError where pictures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise MissingPackageError("plots need matplotlib: pip install matplotlib")


def height_of(categories: int) -> float:
    """Inches for as many rows, up to a limit."""
    return min(0.5 * categories, _TALLEST)


def check_axes(ax: object) -> None:
    """Raise for what is no Axes."""
    require_matplotlib()
    if ax is not None and not hasattr(ax, "barh"):
        raise ArgumentTypeError(
            f"ax must be matplotlib Axes, found {type(ax).__name__}; save the picture with "
            "estimate.plot().figure.savefig('shares.png')"
        )


def percent_axis(axis: Any) -> None:
    """Write the shares along an axis in percent."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{share * 100:.4g}%"))


def width_of(ax: Axes) -> float:
    """The width of the Axes in inches."""
    return float(ax.get_window_extent().width / ax.figure.dpi)


def legend_above(entries: int) -> dict[str, Any]:
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


def labels_of(categories: Iterable[object]) -> list[str]:
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
