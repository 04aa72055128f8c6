"""Tables of estimates, and JSON, as commands print them."""

from __future__ import annotations

import datetime
import json
import math
import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from rrstats._display import columns, label, percent, percent_range
from rrstats.estimation.estimate import Estimate

WIDTH = 78


def share_rows(estimate: Estimate, level: float, method: str | None) -> list[dict[str, Any]]:
    """The rows of `Estimate.to_frame`, with the categories as they were declared."""
    frame = estimate.to_frame(level, method=method)
    rows: list[Any] = frame.astype(object).to_dict(orient="records")
    known = estimate.names_categories
    for row in rows if not known else []:
        row.update(reported=None, naive=None)
    pairs = zip(estimate.categories, rows, strict=True)
    return [{**row, "category": category} for category, row in pairs]


def share_table(
    estimate: Estimate,
    level: float,
    method: str | None = None,
    truth: Mapping[Hashable, float] | None = None,
) -> str:
    """The estimate as people read it; each row has the digits that its interval tells."""
    header = ["answer", "reported", "naive", "share", f"{level * 100:.10g}% interval", "count"]
    rows = []
    for row in share_rows(estimate, level, method):
        low, high = row["low"], row["high"]
        known = row["reported"] is not None
        rows.append(
            [
                label(row["category"]),
                f"{row['reported']:,}" if known else "",
                percent(row["naive"]) if known else "",
                percent(row["proportion"]),
                # Rounded as in the sentence: outward; far beyond 100% as shares are.
                percent_range(low, high)
                if max(abs(low), abs(high)) < 100
                else f"{percent(low)} to {percent(high)}",
                f"{row['count']:,.0f}" if abs(row["count"]) < 1e9 else f"{row['count']:.1e}",
            ]
        )
    if truth is not None:
        header.insert(1, "true")
        for cells, category in zip(rows, estimate.categories, strict=True):
            cells.insert(1, percent(truth[category]))
    return columns([header, *rows])


def share_note(estimates: Sequence[Estimate]) -> str:
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


def as_json(document: Any) -> str:
    """A document as JSON text that every reader accepts.

    Infinity is the string "inf", NaN is null; dates and what else JSON lacks are text.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    readable = encoding.lower().replace("-", "") == "utf8"
    return _laid_out(_plain(document), "", not readable) + "\n"


def _laid_out(value: Any, indent: str, ascii_only: bool) -> str:
    """JSON in lines: what is short stays on one."""
    short = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list) or not value:
        return short
    inner = indent + "  "
    parts = [
        f"{json.dumps(key, ensure_ascii=ascii_only)}: {_laid_out(item, inner, ascii_only)}"
        for key, item in (value.items() if isinstance(value, dict) else ())
    ] or [_laid_out(item, inner, ascii_only) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines = f",\n{inner}".join(parts)
    return f"{opening}\n{inner}{lines}\n{indent}{closing}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else label(key): _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        # A name that is no text in any encoding would stop every reader.
        return value.encode("utf-8", "backslashreplace").decode()
    return value.isoformat() if isinstance(value, datetime.date) else str(value)
