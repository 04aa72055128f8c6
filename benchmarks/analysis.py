"""What do tables, groups and regressions cost?

A crosstab of three privatized columns and shares of 1,000 groups, beside what pandas takes to only
count the same Categoricals; surveys with weights, strata and clusters, beside that count and svy;
quantiles of a number in privatized groups, beside sorting the number;
a logistic regression of reports, beside one of true answers.
"""

from __future__ import annotations

import sys
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

import rrstats as rr
from benchmarks.inputs import WORDS, answers
from benchmarks.measuring import (
    PROB,
    STANDARD_ERRORS,
    Settings,
    Way,
    stop_unless,
    take_turns,
    unchecked,
)
from benchmarks.processes import MIB, fresh, highest
from benchmarks.rivals import NOT_INSTALLED
from benchmarks.running import alone
from benchmarks.table import Line, Target, at_most, side_by_side
from rrstats.estimation.estimates.groups import GroupEstimates

TITLE = "Tables, groups and regression"

GROUPS = 1000
SURVEY, COEFFICIENTS = 2423, 7
LARGE, LARGE_COVARIATES = 1_000_000, 10
MANY_CATEGORIES, PRINTED_CATEGORIES = 3000, 1000
COVARIATE_ROWS, COVARIATE_CATEGORIES = 100_000, 20


def lines(settings: Settings) -> Iterator[Line]:
    """Counting first, then regression of a survey, and of many rows in a fresh process."""
    yield from _crosstab(settings)
    yield from _groups(settings)
    yield from _many_groups(settings)
    yield from _designs(settings)
    yield from _by_row(settings)
    yield from _quantiles(settings)
    yield from _survey(settings)
    rows = settings.fewer(LARGE, 10_000)
    seconds, peak = zip(
        *(fresh("analysis:large", rows=rows) for _ in range(max(1, settings.rounds // 3))),
        strict=True,
    )
    case = f"logit, {rows:,} x {LARGE_COVARIATES + 1}"
    yield Line(case, "s", seconds, target=at_most(3))
    yield Line(case, "MiB", peak, target=at_most(1024), note="peak of the process")
    yield from _private_covariate(settings)
    yield from _many_categories(settings)


def _categorical(labels: Any, rows: int, seed: int) -> pd.Series[Any]:
    codes = np.random.default_rng(seed).permutation(answers(len(labels), rows, np.int16))
    return pd.Series(pd.Categorical.from_codes(codes, categories=labels))


@contextmanager
def _in_silence() -> Iterator[None]:
    """Of a quick run's few rows it is right to warn, and of no use here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.errors.RRStatsWarning)
        yield


def _crosstab(settings: Settings) -> list[Line]:
    names = ["first", "second", "third"]
    frame = pd.DataFrame(
        {name: _categorical(WORDS, settings.rows, seed) for seed, name in enumerate(names)}
    )
    mechanisms = dict.fromkeys(names, rr.KRR(WORDS, PROB))
    expected = frame.groupby(names, observed=False).size().to_numpy()

    def ours() -> rr.estimators.Crosstab:
        with _in_silence():
            return rr.crosstab(frame, *names, mechanisms=mechanisms)

    def check(found: Any) -> None:
        counts = (
            found.moments.reported
            if isinstance(found, rr.estimators.Crosstab)
            else found.to_numpy()
        )
        right = np.array_equal(np.ravel(counts), expected)
        stop_unless(right, "crosstab", "the counts are not those of the reports")

    times = take_turns(
        [
            Way("rrstats", ours, check, 1e3),
            Way("groupby size", lambda: frame.groupby(names, observed=False).size(), check, 1e3),
        ],
        settings.rounds,
    )
    return side_by_side("crosstab of three, k = 4", "ms", times, {"groupby size": Target(0.5)})


def _groups(settings: Settings) -> list[Line]:
    frame = pd.DataFrame(
        {
            "group": _categorical(range(GROUPS), settings.rows, 3),
            "report": _categorical(WORDS, settings.rows, 4),
        }
    )
    mechanism = rr.KRR(WORDS, PROB)
    expected = frame.groupby(["group", "report"], observed=False).size().to_numpy()

    def ours() -> GroupEstimates:
        with _in_silence():
            return rr.estimate(frame["report"], mechanism, by=frame["group"])

    def check_ours(found: GroupEstimates) -> None:
        counts = np.concatenate([one.tally.reported for one in found.values()])
        stop_unless(np.array_equal(counts, expected), "estimate(by=)", "the counts are wrong")

    def check_theirs(found: Any) -> None:
        stop_unless(np.array_equal(found.to_numpy(), expected), "groupby", "the counts are wrong")

    times = take_turns(
        [
            Way("rrstats", ours, check_ours, 1e3),
            Way(
                "groupby size",
                lambda: frame.groupby(["group", "report"], observed=False).size(),
                check_theirs,
                1e3,
            ),
        ],
        settings.rounds,
    )
    return side_by_side(
        f"shares of {GROUPS:,} groups, k = 4", "ms", times, {"groupby size": Target(0.5)}
    )


def _sizes(frame: pd.DataFrame, keys: list[str]) -> Any:
    """The counts of the combinations of keys; a grouper that is kept would have them already."""
    return frame.groupby(keys).size()


def _many_groups(settings: Settings) -> list[Line]:
    """A table of very many small groups, with its intervals."""
    rows = settings.fewer(LARGE, 10_000)
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(
        {"group": rng.integers(0, rows // 100, rows), "report": rng.integers(0, 4, rows)}
    )
    mechanism = rr.KRR(range(4), PROB)

    def ours() -> pd.DataFrame:
        with _in_silence():
            estimates = rr.estimate(frame, mechanism, columns="report", by="group")
            return estimates.to_frame()

    def check(table: pd.DataFrame) -> None:
        right = int(table["reported"].sum()) == rows and (table["low"] <= table["high"]).all()
        stop_unless(bool(right), "estimate(by=).to_frame", "the counts are wrong")

    times = take_turns(
        [
            Way("rrstats", ours, check, 1e3),
            Way("groupby size", partial(_sizes, frame, ["group", "report"]), unchecked, 1e3),
        ],
        settings.rounds,
    )
    case = f"table of {rows // 100:,} groups, {rows:,}"
    return side_by_side(case, "ms", times, {"groupby size": Target(1 / 4)})


def _designs(settings: Settings) -> Iterator[Line]:
    """A survey of weights, strata and clusters, beside svy on the true answers."""
    rows = settings.fewer(LARGE, 20_000)
    rng = np.random.default_rng(10)
    clusters = max(rows // 100, 400)
    frame = pd.DataFrame(
        {
            "answer": rng.integers(0, 4, rows),
            "second": rng.integers(0, 4, rows),
            "group": rng.integers(0, 50, rows),
            "cluster": rng.integers(0, clusters, rows),
            "crossed": rng.integers(0, 40, rows),
            "weight": rng.uniform(0.5, 2.0, rows),
        }
    )
    frame["stratum"] = frame["cluster"] % 40
    mechanism = rr.KRR(range(4), PROB)
    design = rr.SampleDesign(weights="weight", strata="stratum", clusters="cluster")
    crossed = replace(design, strata="crossed")
    pair = {"answer": mechanism, "second": mechanism}
    svy_ways = _svy(frame) if find_spec("svy") else {}

    def by_group() -> Any:
        with _in_silence():
            return rr.estimate(frame, mechanism, columns="answer", by="group", design=design)

    def of_all() -> Any:
        with _in_silence():
            return rr.estimate(frame, mechanism, columns="answer", design=crossed)

    def table() -> Any:
        with _in_silence():
            return rr.crosstab(frame, "answer", "second", mechanisms=pair, design=design)

    def check(result: Any) -> None:
        stop_unless(result.n == rows, "a design", "reports are missing")

    cases = [
        ("50 groups", by_group, ["group", "stratum", "cluster"], 1 / 3),
        ("clusters across strata", of_all, ["crossed", "cluster"], 1 / 3),
        ("crosstab", table, ["stratum", "cluster", "answer", "second"], 1.0),
    ]
    for name, ours, keys, target in cases:
        ways = [
            Way("rrstats", ours, check, 1e3),
            Way("groupby size", partial(_sizes, frame, keys), unchecked, 1e3),
        ]
        targets = {"groupby size": Target(target)}
        if name in svy_ways:
            ways.append(Way("svy, truth", svy_ways[name], unchecked, 1e3))
            targets["svy, truth"] = Target(10)
        times = take_turns(ways, settings.rounds)
        yield from side_by_side(f"{clusters:,} clusters, {name}, {rows:,}", "ms", times, targets)


def _svy(frame: pd.DataFrame) -> dict[str, Any]:
    """The same estimates of true answers by svy."""
    import polars as pl
    import svy

    data = pl.from_pandas(frame)
    sample = svy.Sample(data, svy.Design(stratum="stratum", psu="cluster", wgt="weight"))
    return {
        "50 groups": lambda: sample.estimation.prop("answer", by="group"),
        "crosstab": lambda: sample.categorical.tabulate("answer", "second"),
    }


def _by_row(settings: Settings) -> Iterator[Line]:
    """Reports whose probability differs by row: a tenth as many channels as rows."""
    rows = settings.fewer(LARGE, 10_000)
    rng = np.random.default_rng(5)
    probs = rng.choice(rng.uniform(0.3, 0.95, rows // 10), rows)
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    frame = pd.DataFrame({"answer": rng.choice(WORDS, rows, p=truth), "prob": probs})
    released = frame.rr.privatize("answer", WORDS, prob="prob")

    def check_release(found: Any) -> None:
        far = abs((found["answer"] == frame["answer"]).mean() - probs.mean())
        stop_unless(far < STANDARD_ERRORS / rows**0.5, "privatize by row", "the law is another")

    def check_estimate(found: Any) -> None:
        far = np.abs(found.proportions - truth) > STANDARD_ERRORS * found.std_error
        stop_unless(not far.any(), "estimate by row", "the proportions are wrong")

    for name, run, check in (
        (
            "privatize",
            lambda: frame.rr.privatize("answer", WORDS, prob="prob"),
            check_release,
        ),
        ("estimate", lambda: released.rr.estimate("answer"), check_estimate),
    ):
        times = take_turns([Way(name, run, check, 1.0)], settings.rounds)
        yield Line(f"{name}, {rows // 10:,} channels", "s", times[name], target=at_most(1))


def _quantiles(settings: Settings) -> list[Line]:
    """Quartiles with intervals: nothing that orders the rows is faster than the sort."""
    rows = settings.fewer(LARGE, 10_000)
    rng = np.random.default_rng(6)
    truth = answers(len(WORDS), rows, np.int16)
    values = rng.normal(truth, 1.0)
    mechanism = rr.KRR(WORDS, PROB)
    kept = rng.random(rows) < PROB
    lies = (truth + rng.integers(1, len(WORDS), rows)) % len(WORDS)
    reports = pd.Series(pd.Categorical.from_codes(np.where(kept, truth, lies), categories=WORDS))
    expected = np.array([np.quantile(values[truth == code], 0.5) for code in range(len(WORDS))])

    def ours() -> Any:
        with _in_silence():
            return rr.quantiles(values, reports, mechanism)

    def check_ours(quantiles: Any) -> None:
        low, high = quantiles.interval(1 - 1e-9)
        right = (low[:, 1] <= expected) & (expected <= high[:, 1])
        stop_unless(bool(right.all()), "quantiles", "the medians are not those of the truth")

    times = take_turns(
        [
            Way("rrstats", ours, check_ours, 1e3),
            Way("np.sort", lambda: np.sort(values), unchecked, 1e3),
        ],
        settings.rounds,
    )
    case = f"quartiles of {len(WORDS)} groups, {rows:,}"
    return side_by_side(case, "ms", times, {"np.sort": Target(1 / 5)})


def _people(rows: int, covariates: int) -> tuple[Any, Any, Any, Any]:
    """Covariates with a constant, true coefficients, true answers, and reports of them."""
    rng = np.random.default_rng(rows)
    columns = np.column_stack([np.ones(rows), rng.normal(size=(rows, covariates))])
    beta = np.linspace(-0.5, 0.5, covariates + 1)
    true = rng.random(rows) < 1 / (1 + np.exp(-columns @ beta))
    reports = np.where(rng.random(rows) < PROB, true, ~true)
    return columns, beta, true, reports


def _check_coefficients(found: Any, beta: Any) -> None:
    far = np.abs(np.asarray(found.params) - beta) > STANDARD_ERRORS * np.asarray(found.bse)
    stop_unless(not far.any(), "logit", "coefficients are not those of the simulation")


def _survey(settings: Settings) -> list[Line]:
    """As many rows and coefficients as the Nigerian survey of Blair, Imai and Zhou (2015)."""
    columns, beta, true, reports = _people(SURVEY, COEFFICIENTS - 1)
    mechanism = rr.KRR([False, True], PROB)
    case = f"logit, {SURVEY:,} x {COEFFICIENTS}"
    ways = [
        Way(
            "rrstats",
            lambda: rr.logit(reports, columns[:, 1:], mechanism=mechanism),
            lambda found: _check_coefficients(found, beta),
            1e3,
        )
    ]
    rival = "statsmodels, truth"
    if find_spec("statsmodels"):
        from statsmodels.api import Logit

        ways.append(
            Way(
                rival,
                lambda: Logit(true, columns).fit(disp=0),
                lambda found: _check_coefficients(found, beta),
                1e3,
            )
        )
    times = take_turns(ways, settings.rounds)
    theirs = times.get(rival, ())
    note = "" if theirs else NOT_INSTALLED
    return [Line(case, "ms", times["rrstats"], rival, theirs, note=note, target=at_most(20))]


def _private_covariate(settings: Settings) -> Iterator[Line]:
    """A number on a privatized category of many values, by scores: time, and what is allocated."""
    rows, k = settings.fewer(COVARIATE_ROWS, 10_000), COVARIATE_CATEGORIES
    rng = np.random.default_rng(7)
    labels = [f"c{code:02d}" for code in range(k)]
    mechanism = rr.KRR(labels, PROB)
    truth = rng.integers(0, k, rows)
    reports = np.where(rng.random(rows) < PROB, truth, (truth + rng.integers(1, k, rows)) % k)
    frame = pd.DataFrame(
        {"x": rng.normal(size=rows), "a": pd.Categorical.from_codes(reports, categories=labels)}
    )
    frame["y"] = 0.1 * truth + frame["x"] + rng.normal(size=rows)
    beta = np.r_[0.0, 0.1 * np.arange(1, k), 1.0]

    def ours() -> Any:
        with _in_silence():
            return rr.linear("y ~ C(a) + x", frame, mechanisms={"a": mechanism})

    def check(fit: Any) -> None:
        _check_coefficients(fit, beta)

    times = take_turns([Way("rrstats", ours, check, 1.0)], settings.rounds)
    case = f"linear, {rows:,} rows, private k = {k}"
    yield Line(case, "s", times["rrstats"], target=at_most(0.7))
    tracemalloc.start()
    ours()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield Line(case, "MiB", [peak / MIB], target=at_most(128), note="most allocated at once")


def _many_categories(settings: Settings) -> Iterator[Line]:
    """The mean of the numbers that very many categories stand for."""
    k = settings.fewer(MANY_CATEGORIES, 300)
    numbers = np.linspace(0, 1, k)
    estimate = _of_many_categories(k)
    error = estimate.std_error.max()

    def check(found: Any) -> None:
        far = abs(found.value - 0.5) > STANDARD_ERRORS * error * k**0.5
        stop_unless(not far, "Estimate.mean", "the mean is wrong")

    times = take_turns(
        [Way("rrstats", lambda: estimate.mean(numbers), check, 1e3)], settings.rounds
    )
    yield Line(f"mean of k = {k:,} categories", "ms", times["rrstats"], target=at_most(16))
    k = settings.fewer(PRINTED_CATEGORIES, 100)
    table = _of_many_categories(k)

    def check_frame(frame: Any) -> None:
        covered = (frame["low"] <= 1 / k) & (1 / k <= frame["high"])
        stop_unless(covered.mean() > 0.9, "Estimate.to_frame", "the intervals miss the truth")

    times = take_turns([Way("rrstats", table.to_frame, check_frame, 1e3)], settings.rounds)
    yield Line(f"table of k = {k:,} categories", "ms", times["rrstats"], target=at_most(200))


def _of_many_categories(k: int) -> rr.estimators.Estimate:
    """An estimate from as many reports as a large survey has, all categories alike."""
    counts = np.random.default_rng(8).multinomial(LARGE, np.full(k, 1 / k))
    with _in_silence():
        return rr.estimate(rr.Tally.from_counts(counts, rr.KRR(range(k), PROB)))


def large(rows: int) -> tuple[float, float]:
    """Seconds, and MiB of this process at its highest, for a regression of many rows."""
    import time

    columns, beta, _, reports = _people(rows, LARGE_COVARIATES)
    start = time.perf_counter()
    found = rr.logit(reports, columns[:, 1:], mechanism=rr.KRR([False, True], PROB))
    spent = time.perf_counter() - start
    _check_coefficients(found, beta)
    return spent, (highest() or 0) / MIB


if __name__ == "__main__":
    sys.exit(alone("analysis"))
