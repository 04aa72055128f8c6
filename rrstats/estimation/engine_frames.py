"""Frames of engines: the columns that they have, what is said of these, and counts by value.

An engine groups its rows, and only the combinations of values that occur come back, as a frame of
pandas whose rows stand for several; all else is counted as in pandas.  Whatever an engine says when
it fails is not repeated: engines put cells into their messages.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_distinct, needing
from rrstats._typing import Counts
from rrstats.data.columns import codec_of, column_of, place_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from rrstats.estimation.report_columns import check_asked
from rrstats.estimation.sample_design import SampleDesign
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.krr import as_mechanism
from rrstats.mechanisms.serialization import KEY, ColumnRecord, arrow_places, read, write

_ENGINES = {"cudf", "dask", "duckdb", "ibis", "modin", "polars", "pyarrow", "pyspark", "sqlframe"}

MOST = 1 << 20
"""Combinations that are fetched at most."""

_UNKNOWN = 1000
"""Values besides the possible reports that are fetched, to count them in an error."""


def is_frame(data: Any) -> bool:
    """Tell a frame of pandas or of an engine that narwhals knows.

    Raises MissingPackageError for a frame of another engine where narwhals is not installed,
    ArgumentValueError for names there twice.
    """
    return isinstance(data, pd.DataFrame) or _understood(data) is not None


def open_frame(data: Any) -> pd.DataFrame | EngineFrame:
    """A frame that `is_frame` has accepted; narwhals' own stand for what they hold.

    Raises ArgumentValueError where the engine cannot say which columns it has.
    """
    if isinstance(data, pd.DataFrame | EngineFrame):
        return data
    frame = _understood(data)
    native = frame.to_native()
    return native if isinstance(native, pd.DataFrame) else EngineFrame(frame)


def _placed(engine: str, frame: Any) -> tuple[Any, tuple[Hashable, ...]]:
    """The frame, with names by place where the engine takes some names for more; its own names.

    To Spark a dot is a field of a structure; to Spark and DuckDB "Age" and "age" are one name, two
    columns may have the same, and "*" is all of them; Polars takes ^...$ for a pattern.
    """
    import narwhals as nw

    native = frame.to_native()
    by_place = engine == "duckdb" or engine.startswith("pyspark")
    names = tuple(native.columns if by_place else frame.collect_schema())
    if engine == "duckdb":
        chosen = ", ".join(f"#{place + 1} AS c{place}" for place in range(len(names)))
        frame = nw.from_native(native.project(chosen))
    elif engine.startswith("pyspark"):
        frame = nw.from_native(native.toDF(*(f"c{place}" for place in range(len(names)))))
    elif engine == "polars":
        frame = frame.rename({name: f"c{place}" for place, name in enumerate(names)})
    return frame, names


def _understood(data: Any) -> Any:
    """The frame of narwhals; None for data that it does not know."""
    kind, package = type(data), _package(data)
    if not hasattr(kind, "columns") or isinstance(data, pd.DataFrame | pd.MultiIndex):
        return None
    if package not in _ENGINES and find_spec("narwhals") is None:
        return None
    what = f"counting in a {kind.__name__} of {package}"
    with needing(f"{what} needs narwhals; install it with: pip install narwhals"):
        import narwhals as nw
    if kind.__name__ == "RecordBatch":  # one chunk of a table, as Arrow's readers give them
        import pyarrow as pa

        data = pa.table(data)
    if package in ("pyarrow", "dask"):
        names = list(getattr(data, "column_names", data.columns))
        if twice := [name for place, name in enumerate(names) if name in names[:place]]:
            raise ArgumentValueError(
                f"the columns of a {kind.__name__} of {package} must have a name each, and "
                f"{twice[0]!r} is there twice; rename one, or leave it out"
            )
    with warnings.catch_warnings():
        # narwhals 2.29 tells of a package for Dask that is still to come
        warnings.filterwarnings("ignore", ".* support is moving out of Narwhals", FutureWarning)
        found = nw.from_native(data, pass_through=True)
    return found if isinstance(found, nw.DataFrame | nw.LazyFrame) else None


def ask_engine(engine: str, ask: Callable[[], Any]) -> Any:
    """An engine's answer; raises without its words where it fails, as they may hold cells."""
    failed: Exception
    try:
        return ask()
    except ImportError as error:
        failed = MissingPackageError(
            f"{engine} needs the package {error.name or 'pyarrow'} to give back what it counted; "
            "install it with: pip install narwhals pyarrow"
        )
    except Exception as error:
        kind, step = type(error).__name__, "let the engine itself count a column to read it"
        if kind == "InvalidOperationError" and "different file extensions" in str(error):
            step = (
                "the directory of this frame holds files beside the data, such as the document "
                "_rrstats.json; name the data alone, as in pl.scan_parquet('dir/*.parquet')"
            )
        failed = ArgumentValueError(
            f"{engine} could not compute this frame ({kind}); its own message is not repeated "
            f"here, as it may quote answers: {step}"
        )
    raise failed  # here, so that the engine's own is not its context


def _package(data: Any) -> str:
    """The package of data's type; compiled modules have a line before their names."""
    return type(data).__module__.partition(".")[0].lstrip("_")


def records_of(given: Any) -> list[ColumnRecord]:
    """The records of a plan of a frame; none of anything else."""
    found = getattr(given, "records", None)
    return found if isinstance(found, list) else []


def recorded(
    frame: pd.DataFrame | EngineFrame, given: Any
) -> tuple[pd.DataFrame | EngineFrame, Any]:
    """The frame and what is given of its columns; a plan goes into the records of the frame."""
    if not (records := records_of(given)):
        return frame, given
    if isinstance(frame, EngineFrame):
        frame.given = records
        return frame, None
    found, named = frame.copy(deep=False), [record.name for record in records]
    others = [record for record in read(frame.attrs) if record.name not in named]
    found.attrs = {**frame.attrs, KEY: write([*others, *records])}
    return found, None


class EngineFrame:
    """A frame whose rows stay where they are.

    frame : as narwhals has it; its columns are known by their places, names may be others.
    native : as its engine has it.  engine : the engine's name.
    names, types : of the columns, as the engine and narwhals have them.
    given : records that a caller gives, where the frame has none.
    """

    given: Sequence[ColumnRecord] = ()

    def __init__(self, frame: Any) -> None:
        self.native, self.engine = frame.to_native(), str(frame.implementation.value)
        self.frame, self.names = ask_engine(self.engine, lambda: _placed(self.engine, frame))
        self.types = ask_engine(self.engine, lambda: tuple(self.frame.collect_schema().values()))

    @cached_property
    def header(self) -> pd.DataFrame:
        """A frame with the same columns and records, and no rows."""
        found = pd.DataFrame(columns=pd.Index(list(self.names), dtype=object))
        if records := self._records():
            found.attrs[KEY] = write(records)
        return found

    def _records(self) -> list[ColumnRecord]:
        """Records of how columns were made, as far as the caller or the frame says it."""
        if self.given:
            return list(self.given)
        if self.engine.startswith("pyspark"):  # said of each column, under whatever name
            fields = self.native.schema.fields
            once = [field for field in fields if self.names.count(field.name) == 1]
            said = [(field.name, record) for field in once for record in read(field.metadata or {})]
            return [replace(record, name=name) for name, record in said]
        places: list[Mapping[Any, Any]] = []
        if self.engine == "pyarrow":
            places = arrow_places(self.native.schema.metadata or {})
        elif self.engine == "dask":
            places = [getattr(self.native._meta, "attrs", {})]
        found: dict[Hashable, ColumnRecord] = {}
        for place in places:
            for record in read(place):
                found.setdefault(record.name, record)
        return list(found.values())

    def levels(self, name: Hashable) -> list[Any] | None:
        """The declared levels of a column in their order; None where it has none or no order."""
        dtype = self.types[place_of(self.header, name)]
        if hasattr(dtype, "categories"):
            return list(dtype.categories)
        if str(dtype) == "Categorical" and self.engine == "dask":
            known = getattr(self.native[name].cat, "known", False)
            return list(self.native._meta[name].cat.categories) if known else None
        if str(dtype) == "Categorical" and self.engine == "pyarrow":
            chunks = self.native.column(name).unify_dictionaries().chunks
            return chunks[0].dictionary.to_pylist() if chunks else None
        return None


# -- counts ----------------------------------------------------------------------------------


def group_counts(
    frame: EngineFrame, names: Sequence[Hashable], most: int = MOST
) -> tuple[pd.DataFrame, Counts]:
    """The combinations of values of some columns, and how many rows of the data each stands for.

    The frame has one row each, the columns under their names, with what is said of them.
    most : so many are fetched, and ArgumentValueError is raised where there are more.
    """
    asked = {name: place_of(frame.header, name) for name in names}
    found = ask_engine(frame.engine, lambda: _query(frame, list(asked.values()), most))
    times = np.array(found["times"], dtype=np.int64)
    if len(times) > most:
        raise ArgumentValueError(
            f"the columns {list(asked)} hold more than {most:,} combinations of values, and only "
            "counts are fetched: are these reports, and labels of groups? (free text and numbers "
            "not cut into ranges are neither); otherwise add the tallies of parts of the data"
        )
    columns = {name: _column(frame, name, found[f"key{at}"]) for at, name in enumerate(asked)}
    table = pd.DataFrame(columns, index=pd.RangeIndex(len(times)))
    records = read(frame.header.attrs)
    if kept := [one for one in records if one.name in asked or one.name not in frame.names]:
        table.attrs[KEY] = write(kept)
    return table, times


def _query(frame: EngineFrame, places: list[int], most: int) -> dict[str, list[Any]]:
    """The engine's answer about the columns in these places: the values of each key, and times."""
    import narwhals as nw

    lazy = frame.frame
    if frame.engine == "pyarrow":  # chunks with dictionaries of their own cannot be grouped
        lazy = nw.from_native(frame.native.unify_dictionaries())
    keys: dict[str, Any] = {}
    for place in places:
        column = nw.nth(place)
        if frame.types[place].is_float():  # two kinds of missing would be two groups
            column = nw.when(~column.is_nan()).then(column)
        keys[f"key{len(keys)}"] = column
    lazy = lazy.lazy().select(**keys).group_by(list(keys))
    options = {"engine": "streaming"} if frame.engine == "polars" else {}
    counted = lazy.agg(nw.len().alias("times")).head(most + 1).collect(**options)
    return dict(counted.to_dict(as_series=False))


def _column(frame: EngineFrame, name: Hashable, values: list[Any]) -> Any:
    """Values as a column, with the declared levels where the engine's type has them."""
    levels = frame.levels(name)
    held = pd.Series(values, dtype=object)
    if levels is None or not set(held.dropna()) <= set(levels):
        return held
    return pd.Series(pd.Categorical(held, categories=levels))


# -- the columns of each tally ---------------------------------------------------------------


def header_of(frame: pd.DataFrame | EngineFrame) -> pd.DataFrame:
    """A frame of pandas, or one without rows that has an engine's columns and records."""
    return frame if isinstance(frame, pd.DataFrame) else frame.header


def resolve_columns(
    header: pd.DataFrame, columns: Any, mechanism: Any
) -> tuple[list[tuple[list[Hashable], Any]], bool]:
    """The columns and the mechanism of each tally of a frame; whether one name asked for all."""
    if columns is None:
        columns = _only_column(header, mechanism)
    single = not isinstance(columns, list)
    named: list[Hashable] = [columns] if single else columns
    for name in named:
        place_of(header, name)
    check_distinct(named, "columns")
    if isinstance(mechanism, Mapping) and any(name in mechanism for name in named):
        check_asked(mechanism, named)
        return [([name], mechanism.get(name)) for name in named], single
    if not single and _is_one_report(mechanism, len(named)):
        return [(named, mechanism)], True
    return [([name], mechanism) for name in named], single


def _only_column(header: pd.DataFrame, mechanism: Any) -> Hashable:
    """The only column that a mapping, or else the frame, speaks of."""
    names = list(header.columns)
    said: list[Hashable] = [record.name for record in read(header.attrs) if record.name in names]
    if isinstance(mechanism, Mapping) and mechanism and all(n in names for n in mechanism):
        said = list(mechanism)
    if len(said) == 1:
        return said[0]
    found = f"reports are in the columns {said}" if said else f"its columns are {names[:20]}"
    raise ArgumentTypeError(
        "values must be one column, found a frame; give one column as columns='name', or several "
        f"as a list with a mapping from column to mechanism; {found}"
    )


def _is_one_report(mechanism: Any, columns: int) -> bool:
    """True where each report is a tuple with as many parts, as where a person answers twice."""
    if not is_mechanism(mechanism) or columns < 2:
        return False
    codec = codec_of(as_mechanism(mechanism).report_space)
    return codec.is_label and all(
        isinstance(label, tuple) and len(label) == columns for label in codec.domain.categories
    )


def check_names(header: pd.DataFrame, by: Any, group: Any, design: SampleDesign) -> None:
    """Raise for what is no name of a column of the frame."""
    labels = [("by", name) for name in listed(by)] + [("group", name) for name in listed(group)]
    for argument, name in [*labels, *design.columns.items()]:
        if isinstance(name, pd.Index) or not isinstance(name, Hashable):
            raise ArgumentTypeError(
                f"with a frame, {argument} is the name of one of its columns, found "
                f"{type(name).__name__}"
            )
        place_of(header, name)


def listed(names: Any) -> list[Hashable]:
    """One name or a list of them; none is an empty list."""
    return list(names) if isinstance(names, list) else [] if names is None else [names]


def reports_in(frame: pd.DataFrame, names: Sequence[Hashable]) -> pd.Series[Any]:
    """A column of reports; of several, the tuples of what stands in them, missing if a part is."""
    columns = [column_of(frame, name) for name in names]
    if len(columns) == 1:
        return columns[0]
    pairs = pd.Series(list(zip(*columns, strict=True)), index=frame.index, dtype=object)
    return pairs.mask(pd.concat(columns, axis=1).isna().any(axis=1), None)


def most_of(mechanism: Mechanism) -> int:
    """The number of values, possible or not, that are fetched of a column of its reports."""
    codec = codec_of(mechanism.report_space)
    return codec.domain.k + 2 + _UNKNOWN if codec.is_label else MOST


def grouped_rows(
    data: Any,
    columns: Sequence[Hashable],
    labels: Any,
    *,
    design: SampleDesign,
    most: int = MOST,
) -> tuple[pd.DataFrame, SampleDesign, Counts | None]:
    """A frame whose columns can be read, its design, and how many rows of the data each row is.

    Of pandas it is the frame itself, and None; of an engine what `group_counts` gives.
    labels : names of further columns.
    """
    frame, times = open_frame(data), None
    check_names(header_of(frame), None, None, design)
    if isinstance(frame, EngineFrame):
        names = [*columns, *listed(labels), *design.columns.values()]
        frame, times = group_counts(frame, names, most)
    held: dict[str, Any] = {name: column_of(frame, one) for name, one in design.columns.items()}
    return frame, replace(design, **held), times
