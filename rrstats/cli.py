"""The command line: ``rrstats demo`` does the main job on embedded real data."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import rrstats as rr
from rrstats.errors import ArgumentValueError, RRStatsError
from rrstats.privacy import round_up, total_epsilon

__all__ = ["main"]

DEMO_PROB = 0.75


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rrstats",
        description="Randomized response: privatize sensitive answers, estimate the true shares.",
        epilog="In Python: import rrstats as rr; help(rr). Start with: rrstats demo",
    )
    parser.add_argument("--version", action="version", version=f"rrstats {rr.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    demo = commands.add_parser(
        "demo",
        help="privatize two sensitive columns of real data and estimate them",
        description=(
            "Privatizes two sensitive columns of the RAND Health Insurance Experiment (public "
            "domain, 20,190 person-years): self-rated health and whether a doctor was visited. "
            "Then estimates the true shares from the reports alone, and shows them beside the truth, "
            "which only a demonstration can know."
        ),
        epilog=(
            "Each run draws fresh noise from the operating system, so the reports differ from "
            "run to run; about 95 of 100 intervals contain the truth. "
            "Example: rrstats demo --epsilon 1 --plot shares.png"
        ),
    )
    amount = demo.add_mutually_exclusive_group()
    amount.add_argument(
        "--prob",
        type=float,
        metavar="P",
        help=f"probability that a report is the truth (default {DEMO_PROB}); "
        "at least 1/2 here, below 1",
    )
    amount.add_argument(
        "--epsilon",
        type=float,
        metavar="E",
        help="privacy loss of each report in nats, instead of --prob; small is private",
    )
    demo.add_argument(
        "--plot",
        type=Path,
        metavar="FILE.png",
        help="also draw naive shares, debiased shares with intervals, and the truth",
    )
    demo.set_defaults(run=_demo)
    return parser


def _demo(options: argparse.Namespace) -> None:
    data = rr.datasets.load_rand_health()
    prob = DEMO_PROB if options.prob is None and options.epsilon is None else options.prob
    plan: dict[str, rr.Mechanism] = {
        "health": rr.KRR(rr.datasets.HEALTH, prob, epsilon=options.epsilon),
        "visited_doctor": rr.KRR([False, True], prob, epsilon=options.epsilon),
    }
    if options.plot is not None and not options.plot.absolute().parent.is_dir():
        raise ArgumentValueError(f"--plot: there is no folder {options.plot.parent}")
    released = data.rr.privatize(plan)
    print(f"RAND Health Insurance Experiment: {len(data):,} person-years (rows); several belong to")
    print("most persons and no column says which, so all of this is about rows and single reports.")
    estimates = {}
    for column, mechanism in plan.items():
        estimates[column] = released[column].rr.estimate(target="rows")
        print(
            f"\n{column}: {mechanism.k} categories, P(report = truth) = {_shown_prob(mechanism)}, "
            f"epsilon {round_up(mechanism.epsilon)} per report"
        )
        truth = data[column].value_counts(normalize=True, sort=False)
        _print_table(
            estimates[column], {key: float(truth.get(key, 0.0)) for key in mechanism.categories}
        )
    total = total_epsilon(m.epsilon for m in plan.values())
    print(f"\nEpsilon of a row, both columns together: {round_up(total)}.")
    print("In odds: whoever sees both reports of a row can shift the odds between any two true")
    print(
        f"answers of it by a factor of at most {round_up(math.exp(total), 3)}; epsilons of a person's"
    )
    print("rows add up.")
    print(f"\nReading: {estimates['health'].reading('poor')}.")
    if options.plot is not None:
        _draw(estimates, data, options.plot)
        print(f"Drawn: {options.plot}")


def _shown_prob(mechanism: rr.Mechanism) -> str:
    shown = float(mechanism.channel.matrix[0, 0])
    return f"{shown:.4g}"


def _print_table(estimate: rr.Estimate, truth: dict[object, float]) -> None:
    table = estimate.to_frame()
    print(
        f"  {'answer':<12}{'true':>9}{'naive':>9}{'debiased':>10}   {'95% interval':<17}"
        f"{'count':>9}   {'95% interval':<15}"
    )
    for row in table.itertuples(index=False):
        print(
            f"  {row.category!s:<12}{truth[row.category]:>9.2%}{row.naive:>9.2%}{row.proportion:>10.2%}"
            f"   {f'{row.low:.2%} to {row.high:.2%}':<17}"
            f"{row.count:>9,.0f}   {f'{row.count_low:,.0f} to {row.count_high:,.0f}':<15}"
        )


def _draw(estimates: dict[str, rr.Estimate], data: object, path: Path) -> None:
    from rrstats.plots import save_estimates

    truth = {name: data[name].value_counts(normalize=True) for name in estimates}  # type: ignore[index]
    save_estimates(estimates, truth, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 done, 1 data or file, 2 usage, 130 interrupted."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except RRStatsError as error:
        print(f"rrstats: {error}", file=sys.stderr)
        return 2 if isinstance(error, ArgumentValueError) else 1
    except OSError as error:
        print(f"rrstats: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
