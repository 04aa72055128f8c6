"""A frame of another engine, as far as counting needs it: names, claims, levels, and one query.

Whatever an engine says when it fails is not repeated: engines put cells into their messages.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.columns import codec_of, column_of, place_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from rrstats.estimation.analysis_columns import mechanism_of
from rrstats.estimation.sample_design import (
    Multiples,
    SampleDesign,
    Selection,
    refuse_probabilities,
    refuse_weights,
)
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.records import KEY, Record, read, write
from rrstats.mechanisms.serialization import as_mechanism

_ENGINES = {"cudf", "dask", "duckdb", "ibis", "modin", "polars", "pyarrow", "pyspark", "sqlframe"}

_SILENCE = {
    "pyarrow": "an Arrow table keeps that in its schema, and loses it where its columns are made "
    "anew",
    "dask": "Dask keeps that only from a pandas frame",
    "pyspark": "Spark keeps that in the metadata of a column, where it was read with them",
}

_BESIDE = (
    "the directory of this frame holds files beside the data, such as the document _rrstats.json; "
    "name the data alone, as in pl.scan_parquet('dir/*.parquet')"
)


def is_frame(data: Any) -> bool:
    """Tell a frame of pandas or of an engine that narwhals knows.

    Raises MissingPackageError for a frame of another engine where narwhals is not installed;
    ArgumentTypeError for what must be opened first, ArgumentValueError for names there twice.
    """
    refuse_unopened(data)
    return isinstance(data, pd.DataFrame) or _understood(data) is not None


def open_frame(data: Any) -> pd.DataFrame | EngineFrame:
    """A frame that `is_frame` has accepted; narwhals' own stand for what they hold.

    Raises ArgumentValueError where the engine cannot say which columns it has.
    """
    if isinstance(data, pd.DataFrame):
        return data
    frame = _understood(data)
    assert frame is not None
    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        return native
    engine = frame.implementation.value
    placed, names = told(engine, lambda: _placed(engine, frame))
    types = told(engine, lambda: tuple(placed.collect_schema().values()))
    return EngineFrame(placed, native, engine, names, types)


def _placed(engine: str, frame: Any) -> tuple[Any, tuple[Hashable, ...]]:
    """The frame, with names by place where the engine takes some names for more; its own names.

    To Spark a dot is a field of a structure; to Spark and DuckDB "Age" and "age" are one name, two
    columns may have the same, and "*" is all of them; Polars takes ^...$ for a pattern.
    """
    import narwhals as nw

    native = frame.to_native()
    if engine.startswith("pyspark"):
        names = tuple(native.columns)
        return nw.from_native(native.toDF(*(f"c{place}" for place in range(len(names))))), names
    if engine == "duckdb":
        names = tuple(native.columns)
        chosen = ", ".join(f"#{place + 1} AS c{place}" for place in range(len(names)))
        return nw.from_native(native.project(chosen)), names
    names = tuple(frame.collect_schema())
    if engine == "polars" and any(name[:1] == "^" and name[-1:] == "$" for name in names):
        frame = frame.rename({name: f"c{place}" for place, name in enumerate(names)})
    return frame, names


def _understood(data: Any) -> Any:
    """The frame of narwhals; None for data that it does not know."""
    kind = type(data)
    if not hasattr(kind, "columns") or isinstance(data, pd.DataFrame | pd.MultiIndex):
        return None
    try:
        import narwhals as nw
    except ImportError:
        if kind.__module__.partition(".")[0].lstrip("_") not in _ENGINES:
            return None
        raise MissingPackageError(
            f"counting in a {kind.__name__} of {kind.__module__.partition('.')[0]} needs narwhals; "
            "install it with: pip install narwhals"
        ) from None
    if kind.__name__ == "RecordBatch":  # one chunk of a table, as Arrow's readers give them
        import pyarrow as pa

        data = pa.table(data) if isinstance(data, pa.RecordBatch) else data
    refuse_twice(data)
    try:
        with warnings.catch_warnings():
            # narwhals 2.29 tells of a package for Dask that is still to come
            warnings.filterwarnings("ignore", ".* support is moving out of Narwhals", FutureWarning)
            found = nw.from_native(data, pass_through=True)
    except Exception as error:  # of a version of the engine that it does not know
        raise ArgumentTypeError(
            f"narwhals {nw.__version__} cannot read this {kind.__name__} "
            f"({type(error).__name__}); a newer narwhals may know this version of the engine"
        ) from None
    return found if isinstance(found, nw.DataFrame | nw.LazyFrame) else None


def told(engine: str, ask: Callable[[], Any]) -> Any:
    """An engine's answer; raises without its words where it fails, as they may hold cells."""
    step = "to read it, let the engine itself count a column of the frame"
    try:
        return ask()
    except ImportError as error:
        failed, module = "", error.name
    except Exception as error:
        failed, module = type(error).__name__, None
        if failed == "InvalidOperationError" and "different file extensions" in str(error):
            step = _BESIDE
    if not failed:
        raise MissingPackageError(
            f"{engine} needs the package {module or 'pyarrow'} to give back what it counted; "
            "install it with: pip install narwhals pyarrow"
        )
    raise ArgumentValueError(
        f"{engine} could not compute this frame ({failed}); its own message is not repeated here, "
        f"as it may quote answers: {step}"
    )


@dataclass(frozen=True, eq=False)
class EngineFrame:
    """A frame whose rows stay where they are.

    frame : as narwhals has it; its columns are known by their places, names may be others.
    native : as its engine has it.  engine : the engine's name.
    names, types : of the columns, as the engine and narwhals have them.
    """

    frame: Any
    native: Any
    engine: str
    names: tuple[Hashable, ...]
    types: tuple[Any, ...]

    @property
    def kind(self) -> str:
        """Its name in messages."""
        return f"{type(self.native).__name__} of {self.engine}"

    @cached_property
    def header(self) -> pd.DataFrame:
        """A frame with the same columns and claims, and no rows."""
        found = pd.DataFrame(columns=pd.Index(list(self.names), dtype=object))
        if records := self.records:
            found.attrs[KEY] = write(records)
        return found

    @cached_property
    def records(self) -> list[Record]:
        """Records of how columns were made, as far as the frame says it."""
        if self.engine.startswith("pyspark"):  # said of each column, under whatever name
            fields = self.native.schema.fields
            once = [field for field in fields if self.names.count(field.name) == 1]
            said = [(field.name, record) for field in once for record in read(field.metadata or {})]
            return [replace(record, name=name) for name, record in said]
        found: dict[Hashable, Record] = {}
        for place in self._claims():
            for record in read(place):
                found.setdefault(record.name, record)
        return list(found.values())

    def _claims(self) -> Iterable[Mapping[Any, Any]]:
        """Places in which the engine's frames keep what is said of them."""
        if self.engine == "pyarrow":
            metadata = self.native.schema.metadata or {}
            described = _parsed(metadata.get(b"pandas")).get("attributes")
            kept = described if isinstance(described, dict) else {}
            return [metadata, _parsed(metadata.get(b"PANDAS_ATTRS")), kept]
        if self.engine == "dask":
            return [getattr(self.native._meta, "attrs", {})]
        return []

    def place(self, name: Hashable) -> int:
        """The place of a column; raises where it is not there just once."""
        return place_of(self.header, name)

    def type_of(self, name: Hashable) -> Any:
        """The type of a column, as narwhals has it."""
        return self.types[self.place(name)]

    def check_column(self, name: Hashable) -> None:
        """Raise unless it is the name of a column that can be grouped by."""
        import narwhals as nw

        dtype = self.type_of(name)
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"a column of a {self.kind} must have text for a name to be counted, found "
                f"{name!r}; rename it"
            )
        if isinstance(dtype, nw.List | nw.Array | nw.Struct):
            raise ArgumentTypeError(
                f"column {name!r} holds several values in each row ({dtype}), which cannot be "
                "counted; reports that name several categories are kept as packed bytes (binary)"
            )

    def check_numbers(self, name: Hashable, argument: str) -> None:
        """Raise unless it is the name of a column of numbers."""
        self.check_column(name)
        if any(record.name == name for record in self.records):
            raise ArgumentValueError(
                f"{argument} must be ordinary values, and {name!r} holds reports of a privatized "
                "column, which are not what people are: weigh by what is known of everybody"
            )
        dtype = self.type_of(name)
        if not (dtype.is_numeric() or str(dtype) == "Boolean"):
            raise ArgumentTypeError(f"{argument} must be numbers, found a column of type {dtype}")

    def mechanism_of(
        self, name: Hashable, given: Any, prob: float | None, epsilon: float | None
    ) -> Mechanism:
        """The mechanism of a column, from the arguments, from the frame's claims, or both."""
        silence = _SILENCE.get(self.engine, f"frames of {self.engine} do not keep that")
        column = SimpleNamespace(attrs=self.header.attrs, name=name)
        return mechanism_of(column, given, prob, epsilon, silence=silence)

    def claims_of(self, names: Iterable[Hashable]) -> dict[Any, Any]:
        """The attrs of a frame of some of the columns: without what is said of the others."""
        asked = set(names)
        kept = [one for one in self.records if one.name in asked or one.name not in self.names]
        return {KEY: write(kept)} if kept else {}

    def levels(self, name: str) -> list[Any] | None:
        """The declared levels of a column in their order; None where it has none or no order."""
        dtype = self.type_of(name)
        if hasattr(dtype, "categories"):
            return list(dtype.categories)
        if str(dtype) != "Categorical":
            return None
        if self.engine == "dask":
            column = self.native._meta[name]
            known = getattr(self.native[name].cat, "known", False)
            return list(column.cat.categories) if known else None
        if self.engine == "pyarrow":
            chunks = self.native.column(name).unify_dictionaries().chunks
            return chunks[0].dictionary.to_pylist() if chunks else None
        return None


def _parsed(text: bytes | None) -> dict[str, Any]:
    """A JSON object; empty where there is none."""
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


_STEPS = {
    ("pyarrow", "Dataset"): "give the table that its .to_table() reads",
    ("pyarrow", "RecordBatchReader"): "give the table that its .read_all() reads",
    ("pyarrow", "ParquetFile"): "give the table that its .read() reads",
    ("duckdb", "DuckDBPyConnection"): "give one of its relations, con.table('name') or "
    "con.sql('SELECT ...')",
    ("pyspark", "SparkSession"): "give one of its frames, spark.table('name') or "
    "spark.read.parquet(path)",
}

_FILE = (
    "count one column of a file with rr.files.tally_file(path, 'name'), or open it as a frame, as "
    "pandas.read_parquet does"
)


def refuse_unopened(data: Any, *, text: bool = False) -> None:
    """Raise ArgumentTypeError, with the step to take, for what holds a frame and is none.

    text : whether text is meant as a path, and not as an answer.
    """
    step = None
    if isinstance(data, os.PathLike) or (text and isinstance(data, str)):
        step = _FILE
    for kind in type(data).__mro__:
        step = step or _STEPS.get((_package(kind), kind.__name__))
    if step is not None:
        raise ArgumentTypeError(
            f"data must be a frame, or a column of one, found {type(data).__name__}; {step}"
        )


def refuse_twice(data: Any) -> None:
    """Raise ArgumentValueError for a frame of Arrow or Dask in which a name is there twice."""
    kind = type(data)
    if _package(kind) not in ("pyarrow", "dask"):
        return
    names = data.column_names if hasattr(data, "column_names") else list(data.columns)
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ArgumentValueError(
            f"the columns of a {kind.__name__} of {_package(kind)} must have a name each, and "
            f"{twice[0]!r} is there twice; rename one, or leave it out"
        )


def _package(kind: type) -> str:
    """The package of a type; compiled modules have a line before their names."""
    return kind.__module__.partition(".")[0].lstrip("_")


MOST = 1 << 20
"""Combinations that are fetched at most."""

_GREATEST = sys.float_info.max

_TIMES = "times"
_POWERS = ("power1", "power2", "inverse1", "inverse2")


class TooManyError(ArgumentValueError):
    """A frame has more combinations of values than are fetched."""


def group_counts(
    frame: EngineFrame,
    names: Sequence[Hashable],
    *,
    weights: Hashable = None,
    probabilities: Hashable = None,
    most: int = MOST,
) -> tuple[pd.DataFrame, Multiples]:
    """The combinations of values of some columns, and how many rows of the data each stands for.

    The frame has one row each, the columns under their names, with what is said of them.
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
    return table, Multiples(times, powers)


def _asked(
    frame: EngineFrame,
    keys: dict[Hashable, str],
    weights: Hashable,
    probabilities: Hashable,
    most: int,
) -> dict[str, list[Any]]:
    """The engine's answer: from key, and from sum, to its values."""
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
        lazy = lazy.with_columns(*_weight(probabilities is not None))
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


def _weight(chances: bool) -> list[Any]:
    """The weight of each row, 0 for one that is refused, and why it is refused."""
    import narwhals as nw

    given = nw.col("given")
    if chances:
        known = (given > 0) & (given <= 1)
        weight = 1.0 / nw.when(known).then(given).otherwise(1.0)
    else:
        known = (given >= -_GREATEST) & (given <= _GREATEST)
        weight = nw.when(known & (given >= 0)).then(given).otherwise(0.0)
    refused = [_count(~known).alias("strange"), _count(given < 0).alias("below")]
    return [weight.alias("weight"), *refused]


def _powers() -> list[Any]:
    """Columns to sum: nothing is divided by 0, which is an error in some engines."""
    import narwhals as nw

    weight = nw.col("weight")
    some = weight > 0
    inverse = nw.when(some).then(1.0 / nw.when(some).then(weight).otherwise(1.0)).otherwise(0.0)
    sums = zip(_POWERS, (weight, weight * weight, inverse, inverse * inverse), strict=True)
    return [
        *(power.alias(name) for name, power in sums),
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


# -- the columns of each tally ---------------------------------------------------------------

_TOGETHER = 1 << 12
"""Combinations of reports of several columns that are fetched to save a pass."""

_UNKNOWN = 1000
"""Values besides the possible reports that are fetched, to count them in an error."""


@dataclass(frozen=True)
class ColumnRequest:
    """One tally: its column of reports, or several that make one report together.

    mechanism : given for it; None where the frame must say it.
    """

    columns: tuple[Hashable, ...]
    mechanism: Any = None

    @property
    def name(self) -> Hashable:
        """The column, or all of them."""
        return self.columns[0] if len(self.columns) == 1 else self.columns


def _header_of(frame: pd.DataFrame | EngineFrame) -> pd.DataFrame:
    """A frame of pandas, or one without rows that has an engine's columns and claims."""
    return frame if isinstance(frame, pd.DataFrame) else frame.header


def resolve_columns(
    frame: pd.DataFrame | EngineFrame, columns: Any, mechanism: Any, *, more: bool = False
) -> tuple[list[ColumnRequest], bool]:
    """The tallies that are asked of a frame, and whether they were asked by one name.

    more : whether prob or epsilon are given besides.
    """
    header = _header_of(frame)
    if columns is None:
        columns = _only_column(frame, mechanism)
    single = not isinstance(columns, list)
    named: list[Hashable] = [columns] if single else columns
    if not named:
        raise ArgumentTypeError("columns must name at least one column, found an empty list")
    for name in named:
        place_of(header, name)
    if twice := [name for place, name in enumerate(named) if name in named[:place]]:
        raise ArgumentValueError(f"columns must name each column once, found {twice[0]!r} again")
    if not isinstance(mechanism, Mapping) or not any(name in mechanism for name in named):
        if not single and not more and _is_one_report(mechanism, len(named)):
            return [ColumnRequest(tuple(named), mechanism)], True
        return [ColumnRequest((name,), mechanism) for name in named], single
    if strange := [name for name in mechanism if name not in named]:
        raise ArgumentValueError(
            f"mechanisms must be of the columns asked for, {named}, found also {strange}"
        )
    if more:
        raise ArgumentTypeError(
            "a mapping from column to mechanism says all; leave prob and epsilon out"
        )
    return [ColumnRequest((name,), mechanism.get(name)) for name in named], single


def _only_column(frame: pd.DataFrame | EngineFrame, mechanism: Any) -> Hashable:
    """The only column that a mapping, or else the frame, speaks of."""
    header = _header_of(frame)
    kind = type(frame).__name__ if isinstance(frame, pd.DataFrame) else frame.kind
    names = list(header.columns)
    if isinstance(mechanism, Mapping) and mechanism and all(n in names for n in mechanism):
        said: list[Hashable] = list(mechanism)
    else:
        said = [record.name for record in read(header.attrs) if record.name in names]
    if len(said) == 1:
        return said[0]
    found = f"reports are in the columns {said}" if said else f"its columns are {names[:20]}"
    raise ArgumentTypeError(
        f"values must be one column, found a {kind}; give one column as columns='name', or several "
        f"as a list with a mapping from column to mechanism; {found}"
    )


def _is_one_report(mechanism: Any, columns: int) -> bool:
    """True where each report is a tuple with as many parts, as where a person answers twice."""
    if not is_mechanism(mechanism) or columns < 2:
        return False
    codec = codec_of(as_mechanism(mechanism).report_space)
    return codec.is_label and all(
        isinstance(label, tuple) and len(label) == columns for label in codec.labels.categories
    )


def _refuse_by_row(frame: EngineFrame, mechanism: Any) -> None:
    """Raise for a column of mechanisms, whose rows belong to none of an engine's."""
    if isinstance(mechanism, pd.Series) or (
        isinstance(mechanism, list | tuple) and any(map(is_mechanism, mechanism))
    ):
        raise ArgumentTypeError(
            f"a column of mechanisms cannot be matched with the rows of a {frame.kind}, which have "
            "no order; name in group= the column that tells which mechanism made a row, and give a "
            "mapping from its labels to mechanisms"
        )


def _check_names(header: pd.DataFrame, beside: Selection) -> None:
    """Raise for what is no name of a column of the frame."""
    if isinstance(beside.by, list) and not beside.by:
        raise ArgumentTypeError("by must name at least one column, found an empty list")
    labels = {"by": _listed(beside.by), "group": _listed(beside.group)}
    listed = [(argument, name) for argument, names in labels.items() for name in names]
    for argument, name in [*listed, *beside.design.columns.items()]:
        if isinstance(name, pd.Index) or not isinstance(name, Hashable):
            several = " or a list of names" if argument == "by" else ""
            raise ArgumentTypeError(
                f"with a frame, {argument} is the name of one of its columns{several}, "
                f"found {type(name).__name__}"
            )
        place_of(header, name)


def _listed(names: Any) -> list[Hashable]:
    """One name or a list of them; none is an empty list."""
    return list(names) if isinstance(names, list) else [] if names is None else [names]


def selections(
    frame: pd.DataFrame | EngineFrame,
    requests: Sequence[ColumnRequest],
    beside: Selection,
    prob: float | None = None,
    epsilon: float | None = None,
) -> Iterator[tuple[ColumnRequest, Selection]]:
    """The columns of each tally that is asked for; an engine's are grouped first.

    beside : names of columns.  Names and mechanisms are checked before the engine computes.
    """
    _check_names(_header_of(frame), beside)
    if isinstance(frame, pd.DataFrame):
        for request in requests:
            yield request, _selection(frame, request, beside)
        return
    for argument in ("weights", "probabilities"):
        if argument in beside.design.columns:
            frame.check_numbers(beside.design.columns[argument], argument)
    found = []
    for request in requests:
        _refuse_by_row(frame, request.mechanism)
        name = request.name if len(request.columns) == 1 else None
        made = frame.mechanism_of(name, request.mechanism, prob, epsilon)
        found.append(ColumnRequest(request.columns, made))
    for chunk in _chunks(found):
        yield from _grouped(frame, chunk, beside)


def _grouped(
    frame: EngineFrame, chunk: Sequence[ColumnRequest], beside: Selection
) -> Iterator[tuple[ColumnRequest, Selection]]:
    """The columns of tallies that are grouped at once; one by one where that is too much."""
    design, cells = beside.design, prod(_cells(request.mechanism) for request in chunk)
    named = (beside.by, design.strata, design.clusters, beside.group)
    labels = [name for names in named for name in _listed(names)]
    try:
        combinations, multiples = group_counts(
            frame,
            [*(name for request in chunk for name in request.columns), *labels],
            weights=design.weights,
            probabilities=design.probabilities,
            most=MOST if labels else min(MOST, cells + _UNKNOWN),
        )
    except TooManyError:
        if len(chunk) == 1:
            raise
        multiples = None
    if multiples is None:
        for request in chunk:
            yield from _grouped(frame, [request], beside)
        return
    unweighted = replace(design, weights=None, probabilities=None)  # they are summed up already
    beside = replace(beside, design=unweighted, multiples=multiples)
    for request in chunk:
        yield request, _selection(combinations, request, beside)


def _selection(frame: pd.DataFrame, request: ColumnRequest, beside: Selection) -> Selection:
    """The columns that are named."""
    columns: Any = {key: column_of(frame, name) for key, name in beside.design.columns.items()}
    return replace(
        beside,
        by=[column_of(frame, name) for name in _listed(beside.by)] or None,
        group=None if beside.group is None else column_of(frame, beside.group),
        design=replace(beside.design, **columns),
        reports=reports_in(frame, request.columns),
        mechanism=request.mechanism,
    )


def reports_in(frame: pd.DataFrame, names: Sequence[Hashable]) -> pd.Series[Any]:
    """A column of reports; of several, the tuples of what stands in them, missing if a part is."""
    columns = [column_of(frame, name) for name in names]
    if len(columns) == 1:
        return columns[0]
    absent = np.logical_or.reduce([column.isna().to_numpy() for column in columns])
    pairs = [
        None if lost else pair
        for lost, pair in zip(absent.tolist(), zip(*columns, strict=True), strict=True)
    ]
    return pd.Series(pairs, index=frame.index, dtype=object)


def _cells(mechanism: Mechanism) -> int:
    """The number of values a column of reports may hold, with two kinds of missing ones."""
    codec = codec_of(mechanism.report_space)
    return codec.labels.k + 2 if codec.is_label else MOST


def _chunks(requests: Sequence[ColumnRequest]) -> list[list[ColumnRequest]]:
    """Tallies whose reports have few combinations, together."""
    found: list[list[ColumnRequest]] = []
    size = 0
    for one in requests:
        cells = _cells(one.mechanism)
        if found and size * cells <= _TOGETHER:
            found[-1].append(one)
            size *= cells
        else:
            found.append([one])
            size = cells
    return found


def condensed_rows(
    data: Any,
    columns: Sequence[Hashable],
    mechanisms: Mapping[Any, Any] | None,
    group: Hashable,
    design: SampleDesign,
) -> tuple[pd.DataFrame, SampleDesign, Multiples | None]:
    """A frame whose columns can be read, its design, and how many rows of the data each row is.

    Of pandas it is the frame itself, and None; of an engine the combinations that occur.
    """
    frame = open_frame(data)
    _check_names(_header_of(frame), Selection(design=design))
    multiples = None
    if isinstance(frame, EngineFrame):
        for given in (mechanisms or {}).values():
            _refuse_by_row(frame, given)
        labels = [*_listed(group), *_listed(design.strata), *_listed(design.clusters)]
        chances = design.probabilities
        frame, multiples = group_counts(
            frame, [*columns, *labels], weights=design.weights, probabilities=chances
        )
        design = replace(design, weights=None, probabilities=None)  # they are summed up already
    held: dict[str, Any] = {name: column_of(frame, one) for name, one in design.columns.items()}
    return frame, replace(design, **held), multiples
