"""A Dask frame as a source: what it declares of its columns, and of what its partitions follow.

Each partition becomes a part of the release, and which rows are in one part is published.  So no
partition may follow the private column: not by the folders it was read from (``answer=yes/``), nor
by a shuffle, a sort or a merge on it.  What a frame is made of, `expr` tells; nothing is computed.
Not seen: what the user's own functions or a groupby cut, and a column that was computed from, or
renamed after, the one that rows follow (of folders, renamed categories are known again).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from dask.dataframe.utils import meta_nonempty

from rrstats.errors import ArgumentValueError
from rrstats.files.plan import Wanted
from rrstats.mechanisms.records import KEY

__all__ = ["check_layout", "schema_of"]

FOLLOWED = ("partitioning_index", "by", "_other", "left_on", "right_on")
"""Operands that name the columns that rows are moved by."""

SHOWN = ("FromPandas", "FromPandasDivisions", "FromArray", "FromMapProjectable")
"""Beginnings that cut no rows by folders: data in memory, and text read by `read_csv`."""


def check_layout(frame: dd.DataFrame, names: Sequence[str]) -> None:
    """Raise ArgumentValueError where the partitions follow a private column, by declaration."""
    folders: dict[str, Any] = {}
    hidden = False
    for step in frame.expr.walk():
        kind = type(step).__name__
        for name in names:
            if name in _followed(step):
                raise ArgumentValueError(
                    f"the frame's rows were moved by column {name!r} ({kind}), and which rows a "
                    f"part holds would tell of the answers; {_way_out(name)}"
                )
        if kind.startswith("ReadParquet"):
            told = _folders(step)
            hidden |= told is None
            folders |= told or {}
        elif not step.dependencies() and kind not in SHOWN:
            hidden = True
    for name in names:
        known = _known_categories(frame._meta, name)
        if name.casefold() in folders or any(
            known and known == those for those in folders.values()
        ):
            raise ArgumentValueError(
                f"the frame was read from folders partitioned by column {name!r}, so each part "
                f"would hold the rows of one answer; {_way_out(name)}"
            )
        if hidden and known is not None:
            raise ArgumentValueError(
                f"column {name!r} has known categories, as one that is told by folders, and the "
                "frame does not show where its rows are from (persist, optimize, from_delayed and "
                "from_map hide it); give the frame as it was before; or, if no partition follows "
                f"this column, ddf.astype({{{name!r}: 'string[pyarrow]'}})"
            )


def _way_out(name: str) -> str:
    return (
        "mix the rows by a public column with many values, "
        f"ddf.astype({{{name!r}: 'string[pyarrow]'}}).shuffle('id').to_parquet(path, "
        "write_index=False), and give that path with shuffle_rows=True"
    )


def _followed(step: Any) -> Iterator[str]:
    """The columns that a step of the frame moves rows by."""
    for operand in FOLLOWED:
        with suppress(ValueError):  # it has none of this name
            given = step.operand(operand)
            for one in given if isinstance(given, list | tuple) else [given]:
                yield from map(str, getattr(one, "columns", [one]))


def _folders(read: Any) -> dict[str, Any] | None:
    """The columns that folders tell, each with its categories; None where Dask hides them."""
    try:
        info = read._dataset_info
        files = info["ds"].files if "ds" in info else [file.path for file in read.fragments]
        told = {
            unquote(folder.partition("=")[0])
            for file in files
            for folder in PurePosixPath(file).parts[:-1]
            if "=" in folder
        }
    except (AttributeError, KeyError, TypeError, OSError):
        return None
    return {name.casefold(): _known_categories(read._meta, name) for name in told}


def _known_categories(meta: pd.DataFrame, name: str) -> Any:
    """The categories of a column where Dask knows them, as it does for folders; or None."""
    if name not in meta.columns or not isinstance(meta.dtypes[name], pd.CategoricalDtype):
        return None
    categories = meta.dtypes[name].categories
    return None if "__UNKNOWN_CATEGORIES__" in categories else [str(value) for value in categories]


# -- what the frame declares ---------------------------------------------------------------


def schema_of(frame: dd.DataFrame, wanted: Sequence[Wanted]) -> tuple[pa.Schema, bool]:
    """The Arrow schema that all partitions get, from declarations alone; whether with the index."""
    meta = frame._meta
    for asked in wanted:
        if asked.name is not None and asked.name in meta.index.names:
            raise ArgumentValueError(
                f"the index carries the name {asked.name!r} too, and would release the answers; "
                "reset_index(drop=True) or rename it first"
            )
    keeps_index = meta.index.name is not None
    sample = _sample(meta)
    attrs = _plain(meta.attrs)
    try:
        schema = pa.Schema.from_pandas(sample, preserve_index=keeps_index)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ArgumentValueError(
            f"the frame cannot be written as Parquet: {_why_not(sample)} ({type(error).__name__})"
        ) from None
    for place, field in enumerate(schema):
        if pa.types.is_dictionary(field.type):
            # Unknown categories may be many; they are text, unless it is said that they are not.
            declared = field.type.value_type
            values = pa.string() if pa.types.is_null(declared) else declared
            wide = pa.dictionary(pa.int32(), values, field.type.ordered)
            schema = schema.set(place, field.with_type(wide))
    return schema.with_metadata({**schema.metadata, b"PANDAS_ATTRS": attrs}), keeps_index


def _sample(meta: pd.DataFrame) -> pd.DataFrame:
    """Rows of the frame's types, made up; a column of objects has text, which nearly all have.

    Without cells it would have no type.
    """
    sample: pd.DataFrame = meta_nonempty(meta)
    sample.attrs = {}
    text = np.array(["text"] * len(sample), dtype=object)
    for place, dtype in enumerate(sample.dtypes):
        if pd.api.types.is_object_dtype(dtype):
            sample.isetitem(place, text)
    return sample


def _why_not(sample: pd.DataFrame) -> str:
    """Which column Arrow cannot hold, and what to do."""
    twice = sample.columns[sample.columns.duplicated()]
    if len(twice):
        return f"more than one column has the name {twice[0]!r}; rename them"
    for place, name in enumerate(sample.columns):
        try:
            pa.array(sample.iloc[:, place], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError):
            return (
                f"Arrow has no type for column {name!r} ({sample.dtypes.iloc[place]}); convert it, "
                f"ddf.astype({{{name!r}: 'string[pyarrow]'}}) for one"
            )
    return "its columns must have different names, and types that Arrow has"


def _plain(attrs: dict[Any, Any]) -> bytes:
    """What pandas keeps of attrs in a file: all of them, or of odd ones only how it was made."""
    try:
        return json.dumps(attrs).encode()
    except (TypeError, ValueError):
        return json.dumps({KEY: attrs[KEY]} if KEY in attrs else {}).encode()
