"""``rrstats demo`` does the main job on embedded real data.

Nothing is printed before all is computed and drawn, so that an error is the only line there is.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from rrstats import datasets, plots
from rrstats._display import chance, wrap
from rrstats.cli.arguments import Parser
from rrstats.cli.share_tables import share_note, share_table
from rrstats.errors import ArgumentValueError, NotIdentifiableError, RRStatsError
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.records import ColumnRecord
from rrstats.statement import row_protection

LEVEL = 0.95


def add_options(command: Parser) -> None:
    """Privatize two sensitive columns of real data, then estimate the true shares
    from the noisy reports alone, beside the truth that only a demonstration knows.

    The data: 20,190 person-years of the RAND Health Insurance Experiment (public
    domain): self-rated health (4 answers), and whether a doctor was visited (2).

    Examples:
      rrstats demo
      rrstats demo --prob 0.9 --plot shares.png
      rrstats demo --epsilon 0.1      strong privacy: shares below 0% can occur

    Each run draws fresh noise from the operating system, so the numbers differ
    from run to run.
    """
    amount = command.add_mutually_exclusive_group()
    amount.add_argument(
        "--prob",
        type=float,
        metavar="P",
        help="probability that a report is the truth: above 0.5, below 1; the closer to 0.5 "
        "the more private (default 0.75)",
    )
    amount.add_argument(
        "--epsilon",
        type=float,
        metavar="E",
        help="or the privacy loss of each report: above 0; 0.1 is strong privacy, 5 is weak",
    )
    command.add_argument(
        "--plot",
        metavar="FILE.png",
        help="also draw naive shares, debiased shares with intervals, and the truth; the "
        "ending may be .png, .svg or .pdf (needs matplotlib)",
    )


def run(options: argparse.Namespace) -> str:
    """Privatize, estimate, draw; returns the page to be printed."""
    plan = _plan(options.prob, options.epsilon)
    picture = None if options.plot is None else _picture(options.plot)
    data = datasets.load_rand_health()
    released = data.rr.privatize(plan)
    estimates = {name: released[name].rr.estimate(target="rows") for name in plan}
    truths = {}
    for name, mechanism in plan.items():
        counted = data[name].value_counts(normalize=True)
        truths[name] = {answer: float(counted.get(answer, 0)) for answer in mechanism.categories}
    if picture is not None:
        _save_picture(estimates, truths, picture)
    parts = [
        wrap(
            f"RAND Health Insurance Experiment: {len(data):,} rows, each a person-year. Most "
            "persons have several rows and no column says which, so every statement here is about "
            "these rows, and every epsilon about one report or one row: those of a person add up."
        )
    ]
    inside = []
    for name, mechanism in plan.items():
        told = (
            f"{name}: {mechanism.k} answers; a report is true with probability "
            f"{chance(mechanism.prob)}, epsilon {round_up(mechanism.epsilon)}"
        )
        table = share_table(estimates[name], LEVEL, truth=truths[name])
        parts.append(f"{wrap(told)}\n{table}")
        low, high = estimates[name].interval(LEVEL)
        shares = np.array([truths[name][answer] for answer in estimates[name].categories])
        inside += list((low <= shares) & (shares <= high))
    note = (
        f"True: what the rows said before. {share_note(estimates.values())} {sum(inside)} of "
        f"these {len(inside)} intervals hold the true share; over many runs at least 95 of 100 do."
    )
    records = [ColumnRecord.of(name, mechanism) for name, mechanism in plan.items()]
    reading = f"Reading: {estimates['health'].interpret('poor', LEVEL)}."
    parts += map(wrap, [note, reading, *row_protection(records)])
    return "\n\n".join([*parts, *([] if picture is None else [f"Drawn: {picture}"])]) + "\n"


def _plan(prob: float | None, epsilon: float | None) -> dict[str, KRR]:
    """The two mechanisms of the demonstration; raises where nothing could be estimated."""
    if prob is None and epsilon is None:
        prob = 0.75
    answers = {"health": datasets.CATEGORIES["health"], "visited_doctor": [False, True]}
    try:
        plan = {name: KRR(each, prob, epsilon=epsilon) for name, each in answers.items()}
        for mechanism in plan.values():
            mechanism.channel.solve(np.full(mechanism.k, 1 / mechanism.k))
    except NotIdentifiableError:
        raise ArgumentValueError(
            "--prob must be above 0.5, and --epsilon above 0, and not by next to nothing: the "
            "reports would be pure noise"
        ) from None
    except RRStatsError as error:
        raise ArgumentValueError(f"--{error}".replace("at least 0", "above 0")) from None
    return plan


def _picture(text: str) -> Path:
    """The file of the picture, checked before anything is computed."""
    path = Path(text)
    if not path.suffix or not path.parent.is_dir():
        raise ArgumentValueError(
            f"--plot must name a file such as shares.png in a folder that is there, got {text!r}"
        )
    plots.require_matplotlib()
    return path


def _save_picture(estimates: Any, truths: Any, path: Path) -> None:
    """Draw the estimates below one another and save them; the file's ending says how."""
    axes = plots.stacked_axes([estimate.k for estimate in estimates.values()])
    for (name, estimate), ax in zip(estimates.items(), axes, strict=True):
        title = f"{name}: {estimate.n:,} reports"
        estimate.plot(ax, level=LEVEL, truth=truths[name], title=title)
    figure: Any = axes[0].figure
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise ArgumentValueError(f"the picture cannot be saved: {error}") from None
