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

from rrstats import datasets, plots
from rrstats._display import chance, wrap
from rrstats.cli.arguments import add_command, number
from rrstats.cli.share_tables import share_note, share_table
from rrstats.errors import ArgumentValueError, NotIdentifiableError, RRStatsError
from rrstats.estimation.estimate import Estimate
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.mechanisms.krr import KRR
from rrstats.privacy import posterior

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
    data = datasets.load_rand_health()
    released = data.rr.privatize(plan)
    estimates = {column: released[column].rr.estimate(target="rows") for column in plan}
    truths = {column: _true_shares(data[column], m) for column, m in plan.items()}
    if picture is not None:
        _save_picture(estimates, truths, picture)
    return _report(len(data), plan, estimates, truths, picture)


def _plan(prob: float | None, epsilon: float | None) -> dict[str, KRR]:
    """The two mechanisms of the demonstration; raises where nothing could be estimated."""
    if prob is not None and not 0.5 < prob < 1:
        raise ArgumentValueError(
            f"--prob must be above 0.5 and below 1, got {prob:g}: at 0.5 the report of a yes/no "
            "answer is pure noise, at 1 it is the truth"
        )
    if prob is None and epsilon is None:
        prob = DEMO_PROB
    try:
        plan: dict[str, KRR] = {
            "health": KRR(datasets.HEALTH, prob, epsilon=epsilon),
            "visited_doctor": KRR([False, True], prob, epsilon=epsilon),
        }
        for mechanism in plan.values():
            mechanism.channel.solve(np.full(mechanism.k, 1 / mechanism.k))
    except NotIdentifiableError:
        raise ArgumentValueError(
            f"--epsilon must be above 0, and not by next to nothing, got {epsilon:g}: the reports "
            "would be pure noise"
        ) from None
    except RRStatsError as error:
        raise ArgumentValueError(f"--{error}".replace("at least 0", "above 0")) from None
    return plan


def _picture(text: str) -> Path:
    """The file of the picture, checked before anything is computed."""
    path = Path(text)
    if not path.suffix or path.is_dir():
        raise ArgumentValueError(f"--plot must name a file such as shares.png, got {text!r}")
    if not path.parent.is_dir():
        raise ArgumentValueError(f"--plot: there is no folder {str(path.parent)!r}")
    plots.require_matplotlib()
    return path


def _save_picture(estimates: Mapping[str, Estimate], truths: Mapping[str, Any], path: Path) -> None:
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


def _true_shares(column: pd.Series[Any], mechanism: KRR) -> dict[object, float]:
    shares = column.value_counts(normalize=True)
    return {category: float(shares.get(category, 0.0)) for category in mechanism.categories}


# -- the page it prints --------------------------------------------------------------------


def _report(
    rows: int,
    plan: Mapping[str, KRR],
    estimates: Mapping[str, Estimate],
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
    for column, mechanism in plan.items():
        found, truth = estimates[column], truths[column]
        told = (
            f"{column}: {mechanism.k} answers; a report is true with probability "
            f"{chance(mechanism.prob)}, epsilon {round_up(mechanism.epsilon)}"
        )
        parts.append(f"{wrap(told)}\n{share_table(found, LEVEL, truth=truth)}")
        shares = [truth[category] for category in found.categories]
        low, high = found.interval(LEVEL)
        inside += sum(a <= share <= b for a, share, b in zip(low, shares, high, strict=True))
        cells += found.k
    note = (
        f"True: what the rows said before. {share_note(list(estimates.values()))} {inside} of "
        f"these {cells} intervals hold the true share; over many runs at least 95 of 100 do."
    )
    parts.append(wrap(note))
    parts.append(wrap(f"Reading: {health.interpret('poor', LEVEL)}."))
    parts.append(wrap(_odds(plan)))
    if picture is not None:
        parts.append(f"Drawn: {picture}")
    return "\n\n".join(parts) + "\n"


def _odds(plan: Mapping[str, KRR]) -> str:
    """The meaning of a row's epsilon in plain words."""
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
