"""Frames of engines: the columns that they have, what is said of these, and counts by value.

An engine groups its rows, and only the combinations of values that occur come back, as a frame of
pandas whose rows stand for several; all else is counted as in pandas.  Whatever an engine says when
it fails is not repeated: engines put cells into their messages.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import needing
from rrstats._typing import Counts, Labels
from rrstats.data.codecs import codec_of
from rrstats.data.columns import place_of
from rrstats.errors import ArgumentValueError, MissingPackageError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.records import ColumnRecord, arrow_places, read

_ENGINES = {"cudf", "dask", "duckdb", "ibis", "modin", "polars", "pyarrow", "pyspark", "sqlframe"}

MOST = 1 << 20
"""Combinations that are fetched at most."""

_UNKNOWN = 1000
"""Values besides the possible reports that are fetched, to count them in an error."""


def open_engine(data: Any) -> pd.DataFrame | EngineFrame | None:
    """The frame of an engine that narwhals knows; narwhals' own stand for what they hold.

    None for all else.  Raises MissingPackageError for a frame of another engine where narwhals is
    not installed, ArgumentValueError for names there twice, and where the engine cannot say which
    columns it has.
    """
    frame = _understood(data)
    native = None if frame is None else frame.to_native()
    return native if native is None or isinstance(native, pd.DataFrame) else EngineFrame(frame)


def _placed(engine: str, frame: Any) -> tuple[Any, Labels]:
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
    kind = type(data)
    package = _package(data)
    if not hasattr(kind, "columns") or isinstance(data, pd.DataFrame | pd.MultiIndex):
        return None
    if package not in _ENGINES and find_spec("narwhals") is None:
        return None
    purpose = f"counting in a {kind.__name__} of {package}"
    with needing(f"{purpose} needs narwhals; install it with: pip install narwhals"):
        import narwhals as nw
    if kind.__name__ == "RecordBatch":  # one chunk of a table, as Arrow's readers give them
        import pyarrow as pa

        data = pa.table(data)
    if package in ("pyarrow", "dask"):
        names = list(data.column_names if package == "pyarrow" else data.columns)
        repeated = [name for place, name in enumerate(names) if name in names[:place]]
        if repeated:
            raise ArgumentValueError(
                f"the columns of a {kind.__name__} of {package} must have a name each, and "
                f"{repeated[0]!r} is there twice; rename one, or leave it out"
            )
    with warnings.catch_warnings():
        # narwhals 2.29 tells of a package for Dask that is still to come
        warnings.filterwarnings("ignore", ".* support is moving out of Narwhals", FutureWarning)
        frame = nw.from_native(data, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame) else None


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
        kind = type(error).__name__
        step = "let the engine itself count a column to read it"
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


class EngineFrame:
    """A frame whose rows stay where they are.

    frame : as narwhals has it; its columns are known by their places, names may be others.
    native : as its engine has it.  engine : the engine's name.
    names, types : of the columns, as the engine and narwhals have them.
    """

    def __init__(self, frame: Any) -> None:
        self.native = frame.to_native()
        self.engine = str(frame.implementation.value)
        self.frame, self.names = ask_engine(self.engine, lambda: _placed(self.engine, frame))
        self.types = ask_engine(self.engine, lambda: tuple(self.frame.collect_schema().values()))

    @cached_property
    def header(self) -> pd.DataFrame:
        """A frame with the same columns, and no rows."""
        return pd.DataFrame(columns=pd.Index(list(self.names), dtype=object))

    @property
    def records(self) -> list[ColumnRecord]:
        """Records of how columns were made, as far as the frame says it."""
        if self.engine.startswith("pyspark"):  # of each column, whatever its name was
            return [
                replace(record, name=field.name)
                for field in self.native.schema.fields
                if self.names.count(field.name) == 1
                for record in read(field.metadata or {})
            ]
        places: list[Mapping[Any, Any]] = []
        if self.engine == "pyarrow":
            places = arrow_places(self.native.schema.metadata or {})
        elif self.engine == "dask":
            places = [getattr(self.native._meta, "attrs", {})]
        by_name: dict[Hashable, ColumnRecord] = {}
        for place in places:
            for record in read(place):
                by_name.setdefault(record.name, record)
        return list(by_name.values())

    def levels(self, name: Hashable) -> list[Any] | None:
        """The declared levels of a column in their order; None where it has none or no order."""
        dtype = self.types[place_of(self.header, name)]
        if hasattr(dtype, "categories"):
            return list(dtype.categories)
        if str(dtype) == "Categorical" and self.engine == "dask":
            is_declared = self.native[name].cat.known
            return list(self.native._meta[name].cat.categories) if is_declared else None
        if str(dtype) == "Categorical" and self.engine == "pyarrow":
            chunks = self.native.column(name).unify_dictionaries().chunks
            return chunks[0].dictionary.to_pylist() if chunks else None
        return None


# -- counts ----------------------------------------------------------------------------------


def group_counts(
    frame: EngineFrame, names: Sequence[Hashable], most: int = MOST
) -> tuple[pd.DataFrame, Counts]:
    """The combinations of values of some columns, and how many rows of the data each stands for.

    The frame has one row each, and the columns under their names.
    most : so many are fetched, and ArgumentValueError is raised where there are more.
    """
    places = {name: place_of(frame.header, name) for name in names}
    counted = ask_engine(frame.engine, lambda: _query(frame, list(places.values()), most))
    times = np.array(counted["times"], dtype=np.int64)
    if len(times) > most:
        raise ArgumentValueError(
            f"the columns {list(places)} hold more than {most:,} combinations of values, and only "
            "counts are fetched: are these reports, and labels of groups? (free text and numbers "
            "not cut into ranges are neither); otherwise add the tallies of parts of the data"
        )
    columns = {
        name: _column(frame, name, counted[f"key{number}"]) for number, name in enumerate(places)
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(len(times))), times


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
    column = pd.Series(values, dtype=object)
    if levels is None or not set(column.dropna()) <= set(levels):
        return column
    return pd.Series(pd.Categorical(column, categories=levels))


def most_of(mechanism: Mechanism) -> int:
    """The number of values, possible or not, that are fetched of a column of its reports."""
    codec = codec_of(mechanism.report_space)
    return codec.domain.k + 2 + _UNKNOWN if codec.is_label else MOST
