"""What goes with what: every analysis called with every kind of data, as a table of Markdown.

    python tests/goes_with.py    # prints the table of docs/guide/what_goes_with_what.md

A cell is "yes" where the call gives a result, and empty where it is refused with a sentence of the
package.  Any other error is a fault, and raises.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rrstats as rr
from rrstats.errors import RRStatsError

ROWS = 600
ANSWERS = {"a": ["no", "yes"], "b": ["no", "yes"], "score": [1, 2, 3]}
REPLICATES = [f"replicate{number}" for number in range(8)]


@dataclass(frozen=True)
class Data:
    """One kind of data.

    frame : the reports.  options : arguments of the survey.
    mechanisms : by column, where the frame keeps no records.
    """

    frame: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    mechanisms: Mapping[str, Any] = field(default_factory=dict)


@cache
def people() -> pd.DataFrame:
    """True answers that go together, and public columns of a survey."""
    rng = np.random.default_rng(7)
    region = rng.integers(0, 3, ROWS)
    first = rng.random(ROWS) < 0.3 + 0.1 * region
    frame = pd.DataFrame(
        {
            "a": np.where(first, "yes", "no"),
            "b": np.where(rng.random(ROWS) < np.where(first, 0.7, 0.3), "yes", "no"),
            "score": 1 + first + (rng.random(ROWS) < 0.5),
            "region": np.array(["north", "south", "west"])[region],
            "age": rng.normal(50, 10, ROWS) + 5 * first,
            "weight": rng.choice([1.0, 2.0], ROWS),
            "stratum": np.arange(ROWS) % 2,
            "cluster": np.arange(ROWS) // 10,
            "prob": rng.choice([0.85, 0.9], ROWS),
        }
    )
    replicates = rng.choice([0.0, 2.0], (ROWS, len(REPLICATES))) * frame[["weight"]].to_numpy()
    return frame.assign(**dict(zip(REPLICATES, replicates.T, strict=True)))


@cache
def reports() -> pd.DataFrame:
    """Each private column with noise of its own."""
    return people().rr.simulate(ANSWERS, epsilon=2.5, seed=1)


@cache
def reports_by_row() -> pd.DataFrame:
    """Reports whose prob differs by row, as a public column says."""
    frame = people()
    for seed, (name, categories) in enumerate(ANSWERS.items()):
        frame = frame.rr.simulate(name, categories, prob="prob", seed=seed)
    return frame


@cache
def planned(*parts: Any) -> pd.DataFrame:
    """The reports of a plan, of which each row has a part."""
    plan = rr.planning.FramePlan(ANSWERS, 3, list(parts))
    return rr.simulate(people(), plan, seed=1)


def in_engine(frame: pd.DataFrame) -> Any:
    """The frame in Polars, not yet computed, with the records of its columns."""
    import polars as pl
    import pyarrow as pa

    return pl.from_arrow(pa.Table.from_pandas(frame)).lazy()


@cache
def file_of_reports() -> Path:
    """The reports in a file."""
    path = Path(tempfile.mkdtemp()) / "reports.parquet"
    reports().to_parquet(path)
    return path


DATA: dict[str, Callable[[], Data]] = {
    "weights": lambda: Data(reports(), {"weights": "weight"}),
    "strata, clusters": lambda: Data(
        reports(), {"design": rr.SampleDesign(strata="stratum", clusters="cluster")}
    ),
    "replicate weights": lambda: Data(
        reports(),
        {"design": rr.SampleDesign(weights="weight", replicates=REPLICATES, method="BRR")},
    ),
    "prob by row": lambda: Data(reports_by_row()),
    "column of a plan": lambda: Data(planned("a", "b", "score")),
    "pair of a plan": lambda: Data(planned(("a", "b"), ("a", "score"), ("b", "score"))),
    "engine": lambda: Data(in_engine(reports()), mechanisms=reports().rr.mechanisms),
    "file": lambda: Data(file_of_reports()),
}
"""The columns of the table."""


def estimate(data: Data, **options: Any) -> Any:
    """Proportions of one column, of a frame of any kind or of a file."""
    options |= data.options
    if isinstance(data.frame, Path):
        return rr.files.estimate_file(data.frame, "a", **options)["a"]
    mechanism = data.mechanisms.get("a")
    return rr.estimate(data.frame, mechanism=mechanism, columns="a", **options)


def regions(data: Data) -> Any:
    """The proportions in each region."""
    return estimate(data, by="region")


def crosstab(data: Data, *columns: str) -> Any:
    """A table of true answers."""
    mechanisms = {name: made for name, made in data.mechanisms.items() if name in columns}
    return rr.crosstab(data.frame, *columns, mechanisms=mechanisms or None, **data.options)


def logit(data: Data, formula: str, **options: Any) -> Any:
    """A logistic regression."""
    return rr.logit(formula, data.frame, **options, **data.options)


CALLS: dict[str, Callable[[Data], Any]] = {
    "`estimate`": estimate,
    "`estimate(by=)`": regions,
    "`est.interval(simultaneous=True)`": lambda data: estimate(data).interval(simultaneous=True),
    "`est.mle()`": lambda data: estimate(data).mle(),
    "`est.mean(scores)`": lambda data: estimate(data).mean([0, 1]),
    "`est.noncompliance()`": lambda data: estimate(data).noncompliance(0.1).to_frame(),
    "`difference` of groups": lambda data: rr.difference(
        regions(data)["north"], regions(data)["south"]
    ),
    "`groups.pairwise()`": lambda data: regions(data).pairwise().to_frame(),
    "`groups.pooled()`": lambda data: regions(data).pooled().to_frame(),
    "`crosstab` with an ordinary column": lambda data: crosstab(data, "a", "region").to_frame(),
    "`crosstab` of two private columns": lambda data: crosstab(data, "a", "b").to_frame(),
    "`crosstab` of three": lambda data: crosstab(data, "a", "b", "score").to_frame(),
    "`means`": lambda data: data.frame.rr.means("age", "a", **data.options).to_frame(),
    "`quantiles`": lambda data: data.frame.rr.quantiles("age", "a", **data.options).to_frame(),
    "`correlations`": lambda data: rr.correlations(data.frame, "a", "score", **data.options),
    "`hypotheses.goodness_of_fit`": lambda data: rr.hypotheses.goodness_of_fit(
        estimate(data), [0.5, 0.5]
    ),
    "`hypotheses.homogeneity`": lambda data: rr.hypotheses.homogeneity(regions(data)),
    "`hypotheses.independence`": lambda data: rr.hypotheses.independence(crosstab(data, "a", "b")),
    "`hypotheses.change`": lambda data: rr.hypotheses.change(crosstab(data, "a", "b")),
    "`logit` of a private answer": lambda data: logit(data, "a ~ age"),
    "`regression.ordinal`": lambda data: rr.regression.ordinal(
        "score ~ age", data.frame, **data.options
    ),
    "`regression.mixed`": lambda data: rr.regression.mixed(
        "a ~ age + (1 | region)", data.frame, **data.options
    ),
    "`logit` on a private covariate": lambda data: logit(data, "a ~ b"),
    "`linear` on a private covariate": lambda data: rr.linear(
        "age ~ a", data.frame, **data.options
    ),
    "`linear` on two": lambda data: rr.linear("age ~ a + b", data.frame, **data.options),
    "`linear` on their interaction": lambda data: rr.linear(
        "age ~ a * b", data.frame, **data.options
    ),
}
"""The rows of the table."""

_FRAMES_ALONE = ("`means`", "`quantiles`")
"""Methods of a frame of pandas, which other frames do not have."""


def goes(call: str, kind: str) -> bool:
    """True where a call takes a kind of data; False where the package refuses it."""
    data = DATA[kind]()
    if call in _FRAMES_ALONE and not isinstance(data.frame, pd.DataFrame):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            CALLS[call](data)
        except RRStatsError:
            return False
    return True


def table() -> str:
    """The table of the page."""
    lines = ["| | " + " | ".join(DATA) + " |", "|---" * (len(DATA) + 1) + "|"]
    for call in CALLS:
        cells = ["yes" if goes(call, kind) else "" for kind in DATA]
        lines.append(f"| {call} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
