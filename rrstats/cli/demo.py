"""``rrstats demo``: privatize and estimate embedded real data; and the tables of estimates.

``rrstats estimate`` prints `share_table` and `share_note` too.
"""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rrstats import datasets
from rrstats._checks import check_ending, needing
from rrstats._display import chance, columns, label, percent, percent_range, wrap
from rrstats.errors import FileError
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.estimates.groups import GroupEstimates
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.records import ColumnRecord
from rrstats.statement import row_protection

_LEVEL = 0.95


def page(options: argparse.Namespace) -> str:
    """Privatize and estimate; return the output to print."""
    plan = _plan(options.prob, options.epsilon)
    data = datasets.load_rand_health()
    released = data.rr.privatize(plan)
    estimates = {name: released[name].rr.estimate(target="sample") for name in plan}
    truths = {
        name: data[name].value_counts(normalize=True).reindex(mechanism.categories, fill_value=0.0)
        for name, mechanism in plan.items()
    }
    if options.plot is not None:
        save_plot(estimates, options.plot, _LEVEL, truths=truths)
    parts = [
        wrap(
            f"RAND Health Insurance Experiment: {len(data):,} rows, each a person-year. Most "
            "people have several rows, and no column tells which. So every estimate is about these "
            "rows, and every epsilon about one report or one row: the epsilons of a person add up."
        )
    ]
    inside: list[bool] = []
    for name, mechanism in plan.items():
        heading = (
            f"{name}: {mechanism.k} categories; a report is true with probability "
            f"{chance(mechanism.prob)}, epsilon {round_up(mechanism.epsilon)}"
        )
        table = share_table(estimates[name], _LEVEL, truth=truths[name])
        parts.append(f"{wrap(heading)}\n{table}")
        low, high = estimates[name].interval(_LEVEL)
        inside += list((low <= truths[name]) & (truths[name] <= high))
    note = (
        f"True: proportions of the true answers. {share_note(estimates.values())} {sum(inside)} of "
        f"these {len(inside)} intervals contain the true proportion; over many runs at least 95 "
        "of 100 do."
    )
    records = [ColumnRecord.of(name, mechanism) for name, mechanism in plan.items()]
    reading = f"In words: {estimates['health'].interpret('poor', _LEVEL)}."
    parts += map(wrap, [note, reading, *row_protection(records)])
    return "\n\n".join(parts) + "\n"


def _plan(prob: float | None, epsilon: float | None) -> dict[str, KRR]:
    """The two mechanisms of the demonstration."""
    if prob is None and epsilon is None:
        prob = 0.75
    answers: dict[str, Iterable[Hashable]] = {
        "health": datasets.CATEGORIES["health"],
        "visited_doctor": [False, True],
    }
    return {name: KRR(each, prob, epsilon=epsilon) for name, each in answers.items()}


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
