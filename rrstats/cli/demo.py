"""``rrstats demo``: privatize and estimate embedded real data; and the tables of estimates.

``rrstats estimate`` prints `share_table` and `share_note` too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rrstats import datasets
from rrstats._checks import check_ending, needing
from rrstats._display import chance, columns, label, percent, percent_range, wrap
from rrstats.errors import ArgumentValueError, FileError
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.estimates.groups import GroupEstimates
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.number_design import number
from rrstats.mechanisms.records import ColumnRecord
from rrstats.statement import row_protection

_LEVEL = 0.95

_NUMBER = "age"

_PARTIES = {
    party: party.replace("independent ", "indep. ")
    .replace("democrat", "dem.")
    .replace("republican", "rep.")
    for party in datasets.CATEGORIES["party"]
}
"""Categories with labels that fit a terminal."""


def page(options: argparse.Namespace) -> str:
    """Privatize and estimate; return the output to print."""
    mechanisms = _mechanisms(options.prob, options.epsilon)
    data = datasets.load_anes96()
    released = data.rr.privatize(mechanisms)
    estimates = {name: released[name].rr.estimate() for name in mechanisms}
    categorical = {name: each for name, each in estimates.items() if name != _NUMBER}
    truths = {
        name: data[name]
        .value_counts(normalize=True)
        .reindex(mechanisms[name].domain.categories)
        .set_axis(estimate.categories)
        for name, estimate in categorical.items()
    }
    if options.plot is not None:
        save_plot(categorical, options.plot, _LEVEL, truths=truths)
    parts = [
        wrap(
            f"American National Election Study of 1996: {len(data):,} people, one row each. Their "
            f"answers to {', '.join(mechanisms)} are privatized, and estimated from the reports."
        )
    ]
    inside: list[bool] = []
    for name, estimate in categorical.items():
        heading = (
            f"{name}: {estimate.mechanism.k} categories; a report is true with probability "
            f"{chance(mechanisms[name].prob)}, epsilon {round_up(estimate.mechanism.epsilon)}"
        )
        table = share_table(estimate, _LEVEL, truth=truths[name])
        parts.append(f"{wrap(heading)}\n{table}")
        low, high = estimate.interval(_LEVEL)
        inside += list((low <= truths[name]) & (truths[name] <= high))
    if _NUMBER in estimates:
        mean = estimates[_NUMBER].mean()
        heading = (
            f"{_NUMBER}: {mechanisms[_NUMBER].domain.describe()}; the mean of the reports "
            f"estimates the mean, epsilon {round_up(mechanisms[_NUMBER].epsilon)}"
        )
        true = data[_NUMBER].mean()
        cells = [f"{true:.2f}", f"{mean.value:.2f}", f"{mean.low:.2f} to {mean.high:.2f}"]
        table = columns([["", "true", "estimate", "95% interval"], ["mean", *cells]])
        parts.append(f"{wrap(heading)}\n{table}")
        inside.append(bool(mean.low <= true <= mean.high))
    note = (
        f"True: of these people. {share_note(categorical.values())} {sum(inside)} of these "
        f"{len(inside)} intervals contain the true value; over many runs at least 95 of 100 do."
    )
    records = [ColumnRecord.of(name, mechanism) for name, mechanism in mechanisms.items()]
    reading = f"In words: {estimates['party'].interpret('independent', _LEVEL)}."
    parts += map(wrap, [note, reading, *row_protection(records)])
    return "\n\n".join(parts) + "\n"


def _mechanisms(prob: float | None, epsilon: float | None) -> dict[str, Any]:
    """The mechanisms of two columns of categories and of a number, which needs some epsilon."""
    if prob is None and epsilon is None:
        epsilon = 2.0
    mechanisms: dict[str, Any] = {
        "party": KRR(_PARTIES, prob, epsilon=epsilon),
        "vote": KRR(datasets.CATEGORIES["vote"], prob, epsilon=epsilon),
    }
    with suppress(ArgumentValueError):  # below an epsilon that any mean can use
        mechanisms[_NUMBER] = number(18, 95).mechanism(epsilon=mechanisms["vote"].epsilon)
    return mechanisms


def save_plot(
    estimates: Mapping[str, Estimate],
    path: Path,
    level: float,
    *,
    method: str | None = None,
    truths: Mapping[str, Any] | None = None,
) -> None:
    """Draw the intervals of each column into a new file."""
    check_ending(path, "--plot", (".png", ".svg", ".pdf"))
    if path.exists():
        raise FileError(f"{path} exists; choose another name for --plot, or remove it")
    with needing("--plot needs matplotlib; install matplotlib (pip install matplotlib)"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(7, 3.2 * len(estimates)), layout="constrained")
    axes = figure.subplots(len(estimates), squeeze=False)[:, 0]
    for ax, (name, estimate) in zip(axes, estimates.items(), strict=True):
        truth = None if truths is None else truths[name]
        options: dict[str, Any] = {} if method is None else {"method": method}
        estimate.plot(ax, level=level, truth=truth, title=name, **options)
    figure.savefig(path)


# -- tables --------------------------------------------------------------------------------


def share_table(
    result: Estimate | GroupEstimates[Estimate],
    level: float,
    method: str | None = None,
    truth: Iterable[float] | None = None,
) -> str:
    """The table of an estimate, or of groups; intervals are rounded as in the sentence."""
    frame = result.to_frame(level, method=method)
    ends = zip(frame["low"], frame["high"], strict=True)
    labels = frame.loc[:, :"category"]
    cells: dict[str, Iterable[str]] = {str(name): map(label, labels[name]) for name in labels}
    if truth is not None:
        cells["true"] = map(percent, truth)
    cells |= {
        "reported": ["-" if n != n else f"{n:,}" for n in frame["reported"]],
        "naive": map(percent, frame["naive"]),
        "proportion": map(percent, frame["proportion"]),
        f"{level * 100:.10g}% interval": [percent_range(*pair) for pair in ends],
        "count": [f"{n:z,.0f}" if abs(n) < 1e9 else f"{n:.1e}" for n in frame["count"]],
    }
    return columns([list(cells), *zip(*cells.values(), strict=True)])


def share_note(estimates: Iterable[Estimate]) -> str:
    """The note below tables of estimates, longer if an estimate lies outside [0%, 100%]."""
    note = (
        "Naive: proportions of the reports. Proportion: the estimate of the true proportion, with "
        "its confidence interval. Count: the estimated true count."
    )
    # Implausible reports have a warning instead: noise does not explain them.
    plausible = [estimate for estimate in estimates if not estimate.moments.implausible.any()]
    if any((e.proportions < 0).any() or (e.proportions > 1).any() for e in plausible):
        note += (
            " An estimate below 0% or above 100% is due to noise: estimates are unbiased and "
            "not clipped. The intervals show how precise they are."
        )
    return note
