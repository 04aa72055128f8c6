"""A frame of another engine, as far as counting needs it: names, claims, levels, and one query.

Whatever an engine says when it fails is not repeated: engines put cells into their messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import pandas as pd

from rrstats.columns import place_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from rrstats.mechanisms import Mechanism
from rrstats.metadata import KEY, Record, read, write
from rrstats.variables import mechanism_of

__all__ = ["EngineFrame", "is_frame", "open_frame"]

_ENGINES = {"cudf", "dask", "duckdb", "ibis", "modin", "polars", "pyarrow", "pyspark", "sqlframe"}

_SILENCE = {
    "pyarrow": "an Arrow table keeps that in its schema, and loses it where its columns are made "
    "anew",
    "dask": "Dask keeps that only from a pandas frame",
    "pyspark": "Spark keeps that in the metadata of a column, where it was read with them",
}


def is_frame(data: Any) -> bool:
    """Whether data are a frame of pandas or of an engine that narwhals knows.

    Raises MissingPackageError for a frame of another engine where narwhals is not installed.
    """
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
    schema = told(engine, lambda: dict(frame.collect_schema()))
    return EngineFrame(frame, native, engine, schema)


def _understood(data: Any) -> Any:
    """What narwhals makes of a frame; None where it is none that it knows."""
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
            "install it with: pip install 'rrstats[engines]'"
        ) from None
    if kind.__name__ == "RecordBatch":  # one chunk of a table, as Arrow's readers give them
        import pyarrow as pa

        data = pa.table(data) if isinstance(data, pa.RecordBatch) else data
    try:
        found = nw.from_native(data, pass_through=True)
    except Exception as error:  # of a version of the engine that it does not know
        raise ArgumentTypeError(
            f"narwhals {nw.__version__} cannot read this {kind.__name__} "
            f"({type(error).__name__}); a newer narwhals may know this version of the engine"
        ) from None
    return found if isinstance(found, nw.DataFrame | nw.LazyFrame) else None


def told(engine: str, ask: Callable[[], Any]) -> Any:
    """What an engine answers; raises without its words where it fails, as they may hold cells."""
    try:
        return ask()
    except ImportError as error:
        failed, module = "", error.name
    except Exception as error:
        failed, module = type(error).__name__, None
    if not failed:
        raise MissingPackageError(
            f"{engine} needs the package {module or 'pyarrow'} to give back what it counted; "
            "install it with: pip install 'rrstats[files,engines]'"
        )
    raise ArgumentValueError(
        f"{engine} could not compute this frame ({failed}); its own message is not repeated here, "
        "as it may quote answers: to read it, let the engine itself count a column of the frame"
    )


@dataclass(frozen=True, eq=False)
class EngineFrame:
    """A frame whose rows stay where they are.

    frame : as narwhals has it.  native : as its engine has it.  engine : the engine's name.
    schema : from column to narwhals' type.
    """

    frame: Any
    native: Any
    engine: str
    schema: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """What it is called in messages."""
        return f"{type(self.native).__name__} of {self.engine}"

    @cached_property
    def header(self) -> pd.DataFrame:
        """A frame with the same columns and claims, and no rows."""
        found = pd.DataFrame(columns=pd.Index(list(self.schema), dtype=object))
        if records := self.records:
            found.attrs[KEY] = write(records)
        return found

    @cached_property
    def records(self) -> list[Record]:
        """How columns were made, as far as the frame says it."""
        if self.engine.startswith("pyspark"):  # said of each column, under whatever name
            fields = self.native.schema.fields
            said = [
                (field.name, record) for field in fields for record in read(field.metadata or {})
            ]
            return [replace(record, name=name) for name, record in said]
        found: dict[Hashable, Record] = {}
        for place in self._claims():
            for record in read(place):
                found.setdefault(record.name, record)
        return list(found.values())

    def _claims(self) -> Iterable[Mapping[Any, Any]]:
        """Where the engine's frames keep what is said of them."""
        if self.engine == "pyarrow":
            metadata = self.native.schema.metadata or {}
            described = _parsed(metadata.get(b"pandas")).get("attributes")
            kept = described if isinstance(described, dict) else {}
            return [metadata, _parsed(metadata.get(b"PANDAS_ATTRS")), kept]
        if self.engine == "dask":
            return [getattr(self.native._meta, "attrs", {})]
        return []

    def check_column(self, name: Hashable) -> None:
        """Raise unless it is the name of a column that can be grouped by."""
        import narwhals as nw

        place_of(self.header, name)
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"a column of a {self.kind} must have text for a name to be counted, found "
                f"{name!r}; rename it"
            )
        dtype = self.schema[name]
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
        dtype = self.schema[str(name)]
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
        kept = [one for one in self.records if one.name in asked or one.name not in self.schema]
        return {KEY: write(kept)} if kept else {}

    def levels(self, name: str) -> list[Any] | None:
        """The declared levels of a column in their order; None where it has none or no order."""
        dtype = self.schema[name]
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
