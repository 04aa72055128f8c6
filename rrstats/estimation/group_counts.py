"""Ask an engine which combinations of values occur, and how many rows, and weights, each has.

One group-by in the engine: sums of powers of weights are added where the rows are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.errors import ArgumentValueError
from rrstats.estimation.engine_frames import EngineFrame, told
from rrstats.estimation.sample_design import Multiples, refuse_probabilities, refuse_weights

__all__ = ["MOST", "Combined", "TooManyError", "combine"]

MOST = 1 << 20
"""Combinations that are fetched at most."""

_GREATEST = sys.float_info.max

_TIMES = "times"
_POWERS = ("power1", "power2", "inverse1", "inverse2")


class TooManyError(ArgumentValueError):
    """A frame has more combinations of values than are fetched."""


@dataclass(frozen=True, eq=False)
class Combined:
    """The combinations of values that occur in some columns of a frame.

    frame : one row each, the columns under their names, with what is said of them.
    multiples : how many rows of the data each stands for.
    """

    frame: pd.DataFrame
    multiples: Multiples

    @property
    def rows(self) -> int:
        """The number of rows of the data."""
        return self.multiples.total


def combine(
    frame: EngineFrame,
    names: Sequence[Hashable],
    *,
    weights: Hashable = None,
    probabilities: Hashable = None,
    most: int = MOST,
) -> Combined:
    """The combinations of values of some columns; of weights, or probabilities, the sums.

    most : so many are fetched; TooManyError where there are more.
    Raises ArgumentValueError for weights and probabilities that `rows.check_weights` refuses.
    """
    asked = list(dict.fromkeys(names))
    for name in asked:
        frame.check_column(name)
    keys = {name: f"key{place}" for place, name in enumerate(asked)}
    found = told(frame.engine, lambda: _asked(frame, keys, weights, probabilities, most))
    times = np.array(found[_TIMES], dtype=np.int64)
    if len(times) > most:
        raise TooManyError(
            f"the columns {asked} of this {frame.kind} hold more than {most:,} combinations of "
            "values, and only counts are fetched: are these reports, and labels of groups? (free "
            "text and numbers not cut into ranges are neither); otherwise tally each part of the "
            "data by itself and add the tallies with +, or count files with rr.files.tally_file"
        )
    columns = {name: _column(frame, str(name), found[key]) for name, key in keys.items()}
    table = pd.DataFrame(columns, index=pd.RangeIndex(len(times)))
    table.attrs.update(frame.claims_of(asked))
    powers = None
    if weights is not None or probabilities is not None:
        powers = _checked(found, int(times.sum()), chances=probabilities is not None)
    return Combined(table, Multiples(times, powers))


def _asked(
    frame: EngineFrame,
    keys: dict[Hashable, str],
    weights: Hashable,
    probabilities: Hashable,
    most: int,
) -> dict[str, list[Any]]:
    """What the engine answers: from key, and from sum, to its values."""
    import narwhals as nw

    lazy = frame.frame
    if frame.engine == "pyarrow":  # chunks with dictionaries of their own cannot be grouped
        lazy = nw.from_native(frame.native.unify_dictionaries())
    lazy = lazy.lazy()
    kept = [_key(frame, name).alias(key) for name, key in keys.items()]
    sums = [nw.len().alias(_TIMES)]
    if weights is None and probabilities is None:
        lazy = lazy.select(*kept)
    else:
        number = nw.nth(frame.place(weights if probabilities is None else probabilities))
        given = number.cast(nw.Float64).fill_null(math.inf)  # missing is refused as infinite is
        lazy = lazy.select(*kept, given.alias("given"))
        lazy = lazy.with_columns(*(_weight() if probabilities is None else _reciprocal()))
        lazy = lazy.with_columns(*_powers())
        sums += [nw.col(name).sum() for name in (*_POWERS, "strange", "below", "nobody")]
        sums += [nw.col("least").min(), nw.col("most").max()]
    lazy = lazy.group_by(list(keys.values())).agg(*sums).head(most + 1)
    options = {"engine": "streaming"} if frame.engine == "polars" else {}
    return dict(lazy.collect(**options).to_dict(as_series=False))


def _key(frame: EngineFrame, name: Hashable) -> Any:
    """A column to group by, in which NaN is missing: two kinds of missing would be two groups."""
    import narwhals as nw

    column = nw.nth(frame.place(name))
    return nw.when(~column.is_nan()).then(column) if frame.type_of(name).is_float() else column


# A missing, infinite or NaN number is told by comparisons without null, on which all engines
# agree: NaN is within no bounds, or above all.  A null condition would go to `otherwise` in some
# versions of narwhals and be null in others, and literals fail there in a table without rows.


def _weight() -> list[Any]:
    """The weight of each row, 0 for one that is refused, and why it is refused."""
    import narwhals as nw

    given = nw.col("given")
    finite = (given >= -_GREATEST) & (given <= _GREATEST)
    return [
        nw.when(finite & (given >= 0)).then(given).otherwise(0.0).alias("weight"),
        _count(~finite).alias("strange"),
        _count(given < 0).alias("below"),
    ]


def _reciprocal() -> list[Any]:
    """The same for weights 1 / probability."""
    import narwhals as nw

    given = nw.col("given")
    chance = (given > 0) & (given <= 1)
    return [
        (1.0 / nw.when(chance).then(given).otherwise(1.0)).alias("weight"),
        _count(~chance).alias("strange"),
        _count(given < 0).alias("below"),
    ]


def _powers() -> list[Any]:
    """What is summed: nothing is divided by 0, which is an error in some engines."""
    import narwhals as nw

    weight = nw.col("weight")
    some = weight > 0
    inverse = nw.when(some).then(1.0 / nw.when(some).then(weight).otherwise(1.0)).otherwise(0.0)
    return [
        weight.alias("power1"),
        (weight * weight).alias("power2"),
        inverse.alias("inverse1"),
        (inverse * inverse).alias("inverse2"),
        _count(~some).alias("nobody"),
        nw.when(some).then(weight).otherwise(_GREATEST).alias("least"),
        weight.alias("most"),
    ]


def _count(condition: Any) -> Any:
    """1 where a condition holds, which is null nowhere, and else 0."""
    import narwhals as nw

    return condition.cast(nw.Int64)


def _checked(found: dict[str, list[Any]], rows: int, *, chances: bool) -> NDArray[np.float64]:
    """(4, combinations) the sums of powers of the weights; raises for weights that are none."""
    strange, below = (sum(map(int, found[name])) for name in ("strange", "below"))
    if chances:
        refuse_probabilities(rows, strange)
    else:
        least, most = min(found["least"], default=math.inf), max(found["most"], default=0.0)
        refuse_weights(rows, strange, below, float(least), float(most))
    powers = np.array([found[name] for name in _POWERS], dtype=np.float64)
    nobody = np.array(found["nobody"], dtype=np.int64) > 0
    powers[2:, nobody] = math.inf
    return powers


def _column(frame: EngineFrame, name: str, values: list[Any]) -> Any:
    """Values as a column, with the declared levels where the engine's type has them."""
    levels = frame.levels(name)
    held = pd.Series(values, dtype=object)
    if levels is None or not set(held.dropna()) <= set(levels):
        return held
    return pd.Series(pd.Categorical(held, categories=levels))
