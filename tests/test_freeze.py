"""Estimates of the mechanisms without a matrix, as they were when the package was rebuilt.

frozen.json has what each call of `CALLS` gave then, for seeded reports.  The battery goes from the
counts of a mechanism with a matrix to its estimates by a second way; of several samples and of
reports with many bits it has none.  What other tests hold by a formula or by other software is not
here.  Floats are compared to 1e-9, those of fits to 1e-6, near which they stop.

    python tests/test_freeze.py                 records the calls that are new, and forgets old ones
    python tests/test_freeze.py "estimate, "    records anew also those whose names begin so
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, SILENT, WITH_MATRIX, simulated

import rrstats as rr
from rrstats import estimate
from rrstats.privacy import posterior

FROZEN = Path(__file__).with_name("frozen.json")
FITS = ("estimate, likeliest",)
CALLS = {}


# -- any result as JSON, and compared ------------------------------------------------------------


def plain(value):
    """A result as JSON: frames with their dtypes, floats with 12 digits."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, pd.Series):
        return [str(value.dtype), plain(list(value))]
    if isinstance(value, pd.DataFrame):
        index = [] if isinstance(value.index, pd.RangeIndex) else list(map(str, value.index))
        columns = [[str(name), *plain(value.iloc[:, i])] for i, name in enumerate(value.columns)]
        return [index, *columns]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else repr(value)


def gaps(expected, found, rel, where=""):
    """The places at which two JSON values differ."""
    if type(expected) is type(found) is dict and list(expected) == list(found):
        return [gap for k in expected for gap in gaps(expected[k], found[k], rel, f"{where}.{k}")]
    if type(expected) is type(found) is list and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [gap for i, pair in pairs for gap in gaps(*pair, rel, f"{where}[{i}]")]
    if isinstance(expected, float) and isinstance(found, float | int):
        same = found == pytest.approx(expected, rel=rel, abs=1e-12, nan_ok=True)
    else:  # pandas 2 has no dtype of its own for text
        of_text = (expected, found, pd.__version__[0]) == ("str", "object", "2")
        same = found == expected or of_text
    return [] if same else [f"{where}: recorded {expected!r}, found {found!r}"]


def run(name):
    """What a call gives now, as JSON has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(json.dumps(plain(CALLS[name]())))


def record(group, calls, read=lambda result: result):
    """Let what some calls give, as it is read, be recorded under names."""
    for name, call in calls.items():
        CALLS[f"{group}, {name}"] = lambda call=call: read(call())


def of(names, result):
    """Some attributes of a result, by the last part of their names; methods are called."""
    found = {name.rpartition(".")[2].strip("_"): attrgetter(name)(result) for name in names.split()}
    return {name: value() if callable(value) else value for name, value in found.items()}


def table(result, *args, **options):
    """The frame of a result, or a frame."""
    return result if isinstance(result, pd.DataFrame) else result.to_frame(*args, **options)


# -- each mechanism --------------------------------------------------------------


def both_targets(mechanism, names):
    """Parts of an estimate, of the people's population and of these rows."""
    reports, group = simulated(mechanism, 60)
    estimated = estimate(reports, mechanism, **group)
    return {
        target: of(names, replace(estimated, target=target)) for target in ("population", "sample")
    }


PARTS = "tally.reported proportions counts std_error covariance interval"
record("estimate", {
    name: lambda make=make: both_targets(make(), PARTS)
    for name, make in EXAMPLES.items()
    if name not in SILENT and name not in WITH_MATRIX
})  # fmt: skip

# -- estimates, tables of them, intervals --------------------------------------------------------

THREE = rr.KRR(["never", "once", "often"], 0.6)
CARDS = rr.surveys.kuk(["no", "yes"], 0.75, 0.25, yes="yes", draws=3)


def number(name, result):
    """An estimated number, under the name that its value was recorded by."""
    return {name: result.value, **of("std_error low high", result)}


@cache
def counted(*counts, mechanism=THREE, **options):
    return estimate(rr.Tally.from_counts(list(counts), mechanism), **options)


few = partial(counted, 9, 3, 28)
many = partial(counted, 3000, 5200, 9100)
cards = partial(counted, 41, 60, 22, 7, mechanism=CARDS)


record("estimate", {"few": few, "wilson": lambda: table(many(), 0.8, method="wilson")}, table)
record("estimate", {"likeliest": lambda: few().mle(), "projected": lambda: few().project()}, table)
record("estimate", {
    "one category": lambda: {
        **few().to_frame().iloc[2][["n", "reported", "naive", "count"]].to_dict(),
        **number("proportion", few()["often"]),
    },
    "counts": lambda: [few().count_interval(), many().count_interval(simultaneous=True)],
    "ddof": lambda: few(ddof=0).variance,
    "among": lambda: table(few().among(["once", "often"])),
    "share among": lambda: number("proportion", few().among(["once", "often"])["often"]),
    "mean": lambda: number("mean", few(mechanism=rr.KRR([0, 1, 5], 0.6)).mean()),
    "log-likelihood": lambda: [x.moments.log_likelihood() for x in (many(), cards())],
    "posterior": lambda: np.asarray(posterior(["often", "never"], THREE, [0.2, 0.3, 0.5])),
})  # fmt: skip

# -- the test ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frozen():
    return json.loads(FROZEN.read_text("utf-8"))


@pytest.mark.parametrize("name", CALLS)
def test_as_recorded(frozen, name):
    """Each call gives what it gave."""
    assert [] == gaps(frozen[name], run(name), 1e-6 if name.startswith(FITS) else 1e-9)


def test_nothing_else_is_recorded(frozen):
    """The file has no record of a call that is not made any more."""
    assert list(CALLS) == list(frozen)


if __name__ == "__main__":
    known = json.loads(FROZEN.read_text("utf-8")) if FROZEN.exists() else {}
    anew = tuple(sys.argv[1:])
    kept = {n: known[n] for n in CALLS if n in known and not n.startswith(anew)}
    lines = [f"{json.dumps(n)}: {json.dumps(kept[n] if n in kept else run(n))}" for n in CALLS]
    FROZEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
