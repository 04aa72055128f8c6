"""How long does k-ary randomized response take, and against what?

    python benchmarks/krr.py                  10,000,000 codes, about a minute
    python benchmarks/krr.py --rows 1000000   fewer
    python benchmarks/krr.py --quick          a look, in seconds

Side by side in one run, in turns, so that a busy machine slows all alike:

    rrstats              rr.privatize of a uint8 array, the public call, in one thread
    rrstats, threads     the same in as many threads as there are cores
    rrstats, kernel      KRR.randomize on codes in blocks, without encoding and checks
    textbook NumPy       rng.random(n) < p, rng.integers; neither exact nor secure
    copy                 codes.copy(): what any function that returns a new array pays
    OpenDP               one call a record, on few rows, where it is installed

Each way is checked against the published law on the output that was timed.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rrstats as rr
from rrstats.randomness import BLOCK_ROWS

PROB = 0.75
CATEGORIES = (2, 4, 100)
OPENDP_ROWS = 20_000
REFERENCE = "textbook NumPy"

Codes = NDArray[np.uint8]
Way = Callable[[Codes], Codes]


def textbook(codes: Codes, k: int) -> Codes:
    """What a tutorial writes: doubles against a double, from a generator that is not secure."""
    rng = np.random.default_rng()
    keep = rng.random(len(codes)) < PROB
    lie = rng.integers(0, k - 1, len(codes))
    lie += lie >= codes
    return np.where(keep, codes, lie).astype(np.uint8)


def kernel(codes: Codes, mechanism: rr.KRR) -> Codes:
    """The mechanism alone: what is left when encoding, checks and copies are taken away."""
    source = rr.SecureGenerator().open()
    reports = np.empty_like(codes)
    for block, start in enumerate(range(0, len(codes), BLOCK_ROWS)):
        rows = slice(start, start + BLOCK_ROWS)
        reports[rows] = mechanism.randomize(codes[rows], source, block)
    return reports


def opendp_way(k: int) -> Way | None:
    """OpenDP's k-ary randomized response, or None where it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    measurement = dp.m.make_randomized_response(list(range(k)), prob=PROB)
    return lambda codes: np.array([measurement(code) for code in codes.tolist()], dtype=np.uint8)


def ways(k: int) -> dict[str, Way]:
    mechanism = rr.KRR(range(k), PROB)
    return {
        "rrstats": lambda codes: rr.privatize(codes, mechanism, threads=1),
        "rrstats, threads": lambda codes: rr.privatize(codes, mechanism, threads=os.cpu_count()),
        "rrstats, kernel": lambda codes: kernel(codes, mechanism),
        REFERENCE: lambda codes: textbook(codes, k),
        "copy": lambda codes: codes.copy(),
    }


def check_law(name: str, truth: Codes, reports: Codes, k: int) -> None:
    """Stop unless reports are true, and each lie is as common, as the law says.

    Six standard errors: a right way fails about twice in a billion comparisons.
    """
    lies = reports.astype(np.int64) - truth
    lies[lies < 0] += k
    shares = np.bincount(lies, minlength=k) / len(truth)
    law = np.full(k, (1 - PROB) / (k - 1))
    law[0] = PROB
    allowed = 6 * np.sqrt(law * (1 - law) / len(truth)) + 2 / len(truth)
    if len(shares) != k or (np.abs(shares - law) > allowed).any():
        raise SystemExit(
            f"{name}, k={k}: the reports do not follow the law; its time means nothing"
        )


def timed(way: Way, codes: Codes) -> tuple[float, Codes]:
    start = time.perf_counter()
    reports = way(codes)
    return (time.perf_counter() - start) / len(codes) * 1e9, reports


def measure(k: int, rows: int, rounds: int, opendp_rows: int) -> dict[str, list[float]]:
    """Nanoseconds a record of every way, one number a round; the ways take turns."""
    rng = np.random.default_rng(k)
    codes = np.minimum(rng.geometric(0.3, rows) - 1, k - 1).astype(np.uint8)
    times: dict[str, list[float]] = {}
    for turn in range(rounds + 1):
        for name, way in ways(k).items():
            spent, reports = timed(way, codes)
            if turn == 0:  # a warm-up, which is checked
                if name != "copy":
                    check_law(name, codes, reports, k)
                continue
            times.setdefault(name, []).append(spent)
    other = opendp_way(k)
    if other is not None:
        for _ in range(max(rounds // 2, 1)):
            spent, reports = timed(other, codes[:opendp_rows])
            check_law("OpenDP", codes[: len(reports)], reports, k)
            times.setdefault("OpenDP", []).append(spent)
    return times


def machine() -> str:
    model = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    packages = []
    for name in ("rrstats", "numpy", "cryptography", "opendp"):
        try:
            packages.append(f"{name} {version(name)}")
        except ImportError:
            packages.append(f"{name} absent")
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}\n{', '.join(packages)}"
    )


def report(k: int, times: dict[str, list[float]]) -> str:
    """The table of one k, with the median as the number and the extremes as its spread."""
    reference = statistics.median(times[REFERENCE])
    lines = [
        f"k = {k}, epsilon {rr.epsilon_from_prob(PROB, k):.4f}",
        f"  {'':<18}{'ns/record':>11}{'from':>11}{'to':>11}{'M records/s':>13}   speed",
    ]
    for name, spent in times.items():
        middle = statistics.median(spent)
        ratio = reference / middle
        speed = f"{ratio:.3g} x" if ratio >= 0.01 else f"1/{1 / ratio:,.0f}"
        lines.append(
            f"  {name:<18}{middle:>11,.2f}{min(spent):>11,.2f}{max(spent):>11,.2f}"
            f"{1e3 / middle:>13,.4g}   {speed}"
        )
    if "OpenDP" not in times:
        lines.append("  OpenDP is not installed: pip install opendp adds its row")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time k-ary randomized response, side by side.")
    parser.add_argument("--rows", type=int, default=10_000_000, help="codes (default 10,000,000)")
    parser.add_argument("--quick", action="store_true", help="at most 1,000,000 rows and 3 rounds")
    options = parser.parse_args(arguments)
    if options.rows < 1000:
        parser.error("--rows must be at least 1000")
    rows = min(options.rows, 1_000_000) if options.quick else options.rows
    rounds = 3 if options.quick else 7
    opendp_rows = min(rows, 2_000 if options.quick else OPENDP_ROWS)
    print(machine())
    print(
        f"{rows:,} codes (uint8), P(report = truth) = {PROB}, median of {rounds} rounds; OpenDP on"
    )
    print(f"{opendp_rows:,} rows. Speed is against {REFERENCE}: above 1 is faster.\n")
    for k in CATEGORIES:
        print(report(k, measure(k, rows, rounds, opendp_rows)), end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
