"""Tables of estimates as commands print them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from rrstats._display import columns, label, percent, percent_range
from rrstats.estimation.estimate import Estimate


def share_rows(estimate: Estimate, level: float, method: str | None) -> list[dict[str, Any]]:
    """The rows of `Estimate.to_frame`, with the categories as they were declared."""
    frame = estimate.to_frame(level, method=method)
    rows: list[Any] = frame.astype(object).to_dict(orient="records")
    pairs = zip(estimate.categories, rows, strict=True)
    return [{**row, "category": category} for category, row in pairs]


def share_table(
    estimate: Estimate,
    level: float,
    method: str | None = None,
    truth: Mapping[Hashable, float] | None = None,
) -> str:
    """The estimate as people read it; intervals are rounded as in the sentence, outward."""
    true = ["true"] * (truth is not None)
    table = [["answer", *true, "reported", "naive", "share", f"{level * 100:.10g}% interval"]]
    table[0].append("count")
    for row in share_rows(estimate, level, method):
        known = row["reported"] == row["reported"]
        table.append(
            [
                label(row["category"]),
                *([] if truth is None else [percent(truth[row["category"]])]),
                f"{row['reported']:,}" if known else "",
                percent(row["naive"]) if known else "",
                percent(row["proportion"]),
                percent_range(row["low"], row["high"]),
                f"{row['count']:,.0f}" if abs(row["count"]) < 1e9 else f"{row['count']:.1e}",
            ]
        )
    return columns(table)


def share_note(estimates: Iterable[Estimate]) -> str:
    """The words below tables of shares, in full where a share lies outside [0%, 100%]."""
    note = "Naive: the reports as they are. Share: the estimate of the true share, from them."
    # Where reports are implausible a warning says so, and noise is no excuse.
    plausible = [estimate for estimate in estimates if not estimate.implausible.any()]
    if any((e.proportions < 0).any() or (e.proportions > 1).any() for e in plausible):
        note += (
            " A share below 0% or above 100% is noise: it is unbiased and not clipped; its "
            "interval says how much it tells."
        )
    return note
