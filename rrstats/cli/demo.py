"""``rrstats demo`` does the main job on embedded real data.

Nothing is printed before all is computed and drawn, so that an error is the only line there is.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rrstats as rr
from rrstats import plots
from rrstats._display import columns as in_columns
from rrstats._display import percent, wrap
from rrstats.cli.arguments import add_command, number
from rrstats.errors import ArgumentValueError, RRStatsError
from rrstats.mechanisms.channel import transition_matrix
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.privacy import posterior

__all__ = ["add_demo"]

DEMO_PROB = 0.75
DEMO_PRIOR = 0.05
LEVEL = 0.95


def add_demo(commands: Any) -> None:
    """The command and its options."""
    demo = add_command(
        commands,
        "demo",
        _demo,
        usage="rrstats demo [--prob P | --epsilon E] [--plot FILE.png]",
        description=(
            "Privatize two sensitive columns of real data, then estimate the true shares\n"
            "from the noisy reports alone, beside the truth that only a demonstration knows.\n"
            "\n"
            "The data: 20,190 person-years of the RAND Health Insurance Experiment (public\n"
            "domain): self-rated health (4 answers), and whether a doctor was visited (2)."
        ),
        epilog=(
            "examples:\n"
            "  rrstats demo\n"
            "  rrstats demo --prob 0.9 --plot shares.png\n"
            "  rrstats demo --epsilon 0.1      strong privacy: shares below 0% can occur\n"
            "\n"
            "Each run draws fresh noise from the operating system, so the numbers differ\n"
            "from run to run."
        ),
    )
    amount = demo.add_mutually_exclusive_group()
    amount.add_argument(
        "--prob",
        type=number,
        metavar="P",
        help="probability that a report is the truth: above 0.5, below 1; the closer to 0.5 "
        f"the more private (default {DEMO_PROB})",
    )
    amount.add_argument(
        "--epsilon",
        type=number,
        metavar="E",
        help="or the privacy loss of each report: above 0; 0.1 is strong privacy, 5 is weak",
    )
    demo.add_argument(
        "--plot",
        metavar="FILE.png",
        help="also draw naive shares, debiased shares with intervals, and the truth; the "
        "ending may be .png, .svg or .pdf (needs matplotlib)",
    )


# -- the demonstration ---------------------------------------------------------------------


def _demo(options: argparse.Namespace) -> str:
    """Privatize, estimate, draw; returns what is to be printed."""
    plan = _plan(options.prob, options.epsilon)
    picture = None if options.plot is None else _picture(options.plot)
    data = rr.datasets.load_rand_health()
    released = data.rr.privatize(plan)
    estimates = {column: released[column].rr.estimate(target="rows") for column in plan}
    truths = {column: _true_shares(data[column], m) for column, m in plan.items()}
    if picture is not None:
        _save_picture(estimates, truths, picture)
    return _report(len(data), plan, estimates, truths, picture)


def _plan(prob: float | None, epsilon: float | None) -> dict[str, rr.Mechanism]:
    """The two mechanisms of the demonstration; raises where nothing could be estimated."""
    if prob is not None and not 0.5 < prob < 1:
        raise ArgumentValueError(
            f"--prob must be above 0.5 and below 1, got {prob:g}: at 0.5 the report of a yes/no "
            "answer is pure noise, at 1 it is the truth"
        )
    if prob is None and epsilon is None:
        prob = DEMO_PROB
    try:
        plan: dict[str, rr.Mechanism] = {
            "health": rr.KRR(rr.datasets.HEALTH, prob, epsilon=epsilon),
            "visited_doctor": rr.KRR([False, True], prob, epsilon=epsilon),
        }
        for mechanism in plan.values():
            mechanism.channel.solve(np.full(mechanism.k, 1 / mechanism.k))
    except rr.NotIdentifiableError:
        raise ArgumentValueError(
            f"--epsilon must be above 0, and not by next to nothing, got {epsilon:g}: the reports "
            "would be pure noise"
        ) from None
    except RRStatsError as error:
        raise ArgumentValueError(f"--{error}".replace("at least 0", "above 0")) from None
    return plan


def _picture(text: str) -> Path:
    """Where to draw, checked as far as that goes before anything is computed."""
    path = Path(text)
    if not path.suffix or path.is_dir():
        raise ArgumentValueError(f"--plot must name a file such as shares.png, got {text!r}")
    if not path.parent.is_dir():
        raise ArgumentValueError(f"--plot: there is no folder {str(path.parent)!r}")
    plots.require_matplotlib()
    return path


def _save_picture(
    estimates: Mapping[str, rr.Estimate], truths: Mapping[str, Any], path: Path
) -> None:
    """Draw the estimates below one another and save them; the file's ending says how."""
    axes = plots.stacked_axes([estimate.k for estimate in estimates.values()])
    for (column, estimate), ax in zip(estimates.items(), axes, strict=True):
        title = f"{column}: {estimate.n:,} reports"
        estimate.plot(ax, level=LEVEL, truth=truths.get(column), title=title)
    figure: Any = axes[0].figure
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise ArgumentValueError(f"the picture cannot be saved: {error}") from None


def _true_shares(column: pd.Series[Any], mechanism: rr.Mechanism) -> dict[object, float]:
    shares = column.value_counts(normalize=True)
    return {category: float(shares.get(category, 0.0)) for category in mechanism.categories}


# -- the page it prints --------------------------------------------------------------------


def _report(
    rows: int,
    plan: Mapping[str, rr.Mechanism],
    estimates: Mapping[str, rr.Estimate],
    truths: Mapping[str, Mapping[object, float]],
    picture: Path | None,
) -> str:
    health = estimates["health"]
    parts = [
        wrap(
            f"RAND Health Insurance Experiment: {rows:,} rows, each a person-year. Most persons "
            "have several rows and no column says which, so every statement here is about these "
            "rows, and every epsilon about one report or one row."
        )
    ]
    inside = cells = 0
    negative = False
    for column, mechanism in plan.items():
        estimate, truth = estimates[column], truths[column]
        parts.append(f"{wrap(f'{column}: {_told(mechanism)}')}\n{_table(estimate, truth)}")
        low, high = estimate.interval(LEVEL)
        shares = [truth[category] for category in estimate.categories]
        inside += sum(a <= share <= b for a, share, b in zip(low, shares, high, strict=True))
        cells += estimate.k
        negative |= bool((estimate.proportions < 0).any() or (estimate.proportions > 1).any())
    note = (
        f"True: what the rows said before. Naive: the reports as they are. Debiased: from the "
        f"reports alone. {inside} of these {cells} intervals hold the true share; over many runs "
        "at least 95 of 100 do."
    )
    if negative:
        note += (
            " A debiased share below 0% or above 100% is noise: it is unbiased and not clipped; "
            "its interval says how much it tells."
        )
    parts.append(wrap(note))
    parts.append(wrap(f"Reading: {health.reading('poor', LEVEL)}."))
    parts.append(wrap(_odds(plan)))
    if picture is not None:
        parts.append(f"Drawn: {picture}")
    return "\n\n".join(parts) + "\n"


def _told(mechanism: rr.Mechanism) -> str:
    """How one column was made, in one line."""
    prob = float(transition_matrix(mechanism.channel)[0, 0])
    # What is printed must debias as the real one does, also just above 1/k or below 1.
    close = 0.001 * min(prob - 1 / mechanism.k, 1 - prob)
    rounded = (f"{prob:.{digits}g}" for digits in range(4, 18))
    shown = next(text for text in rounded if abs(float(text) - prob) <= close)
    return (
        f"{mechanism.k} answers; a report is true with probability {shown}, "
        f"epsilon {round_up(mechanism.epsilon)}"
    )


def _odds(plan: Mapping[str, rr.Mechanism]) -> str:
    """What the epsilon of a row means, in plain words."""
    total = total_epsilon(mechanism.epsilon for mechanism in plan.values())
    factor = math.exp(total)
    highest = posterior(DEMO_PRIOR, factor)
    return (
        f"Epsilon of a row, both reports together: {round_up(total)}. In odds: whoever sees both "
        "reports can change the odds between any two possible truths of that row by a factor of "
        f"at most {round_up(factor, 3)}, so what seemed {DEMO_PRIOR:.0%} likely before "
        f"can come to seem {round_up(highest * 100, 3)}% likely, and no more; several rows of one "
        "person add their epsilons up."
    )


def _table(estimate: rr.Estimate, truth: Mapping[object, float]) -> str:
    rows = [["answer", "true", "naive", "debiased", f"{LEVEL:.0%} interval", "count"]]
    low, high = estimate.interval(LEVEL)
    columns = (estimate.naive, estimate.proportions, low, high, estimate.counts)
    for category, naive, share, least, most, count in zip(
        estimate.categories, *(column.tolist() for column in columns), strict=True
    ):
        rows.append(
            [
                str(category),
                percent(truth[category]),
                percent(naive),
                percent(share),
                f"{percent(least)} to {percent(most)}",
                f"{count:,.0f}" if abs(count) < 1e9 else f"{count:.1e}",
            ]
        )
    return in_columns(rows)
