"""Containers of answers: open one, and give reports back in the same form.

The dtype of the reports follows from the declared categories and the container's declared
type alone, never from values or from missingness:

- list, tuple and scalar give back the category objects themselves;
- bool categories give bool, and integer ones the column's integer type where all fit, else int64,
  also from float and object columns;
- NumPy text and bytes are as wide as the widest category;
- a pandas Categorical gets exactly the declared categories, a string dtype stays itself, and for
  words, dates and durations any other column gets what pandas makes of the categories alone;
- Arrow types stay themselves, integers widened where a category does not fit;
- where missing is a category, or missing answers are kept, the type is one that can hold them,
  also if this column has none: float64 for integers, objects for bool.
"""

from __future__ import annotations

import datetime
import enum
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.builders import NUMPY_MISSING, ListRoom, Room, room_for
from rrstats.data.categories import Codes, Domain, is_missing
from rrstats.data.encoding import Reader, reader
from rrstats.errors import ArgumentTypeError

__all__ = [
    "Container",
    "Form",
    "Table",
    "engine_hint",
    "form_of",
    "open_container",
    "open_reports",
]


@dataclass(frozen=True, slots=True)
class Container:
    """What came in.

    cells : the n answers as a list, or as a flat NumPy, pandas or Arrow array.
    family : "list", "tuple", "scalar", "numpy", "pandas", "series", "index", "arrow", "chunked",
        "arrow scalar".
    shape : of an array; like : the Series or Index that came in, for its name and index.
    """

    cells: Any
    family: str
    shape: tuple[int, ...]
    like: Any = None

    @property
    def rows(self) -> int:
        """The number of answers."""
        return len(self.cells)

    @property
    def dtype(self) -> Any:
        """The declared type of the answers."""
        if self.like is not None:
            return self.like.dtype
        if isinstance(self.cells, list):
            return np.dtype(object)
        return self.cells.dtype if hasattr(self.cells, "dtype") else self.cells.type

    def pick(self, places: NDArray[np.intp]) -> list[Any]:
        """The answers at some places, as Python values.  For the steward: they are private."""
        if isinstance(self.cells, list):
            return [self.cells[place] for place in places.tolist()]
        cells = self.cells.take(places)
        return list(cells.to_pylist() if hasattr(cells, "to_pylist") else cells)

    def table(self, space: Any, keep_missing: bool = False) -> Table:
        """What reports of a space look like in this container; comes before anything is drawn.

        space : what reports are: a Domain, or another space that `form_of` knows.
        keep_missing : whether reports may be left missing.
        Raises ArgumentTypeError where the container cannot hold such reports; follows from
        the declarations alone.
        """
        return form_of(space).table(self, keep_missing)

    def part(self, rows: slice) -> Any:
        """The cells of some rows."""
        return self.cells[rows]

    def room(self, table: Table, keep_missing: bool = False) -> Room:
        """Room for the reports of all rows; `wrap` makes them the container that came in.

        table : from `table`, made with the same ``keep_missing``.
        """
        return table.room(self.rows)

    def wrap(self, reports: Any) -> Any:
        """What a room holds, as the container that came in."""
        if self.family == "list":
            return reports
        if self.family == "tuple":
            return tuple(reports)
        if self.family in ("scalar", "arrow scalar"):
            return reports[0]
        if self.family == "numpy":
            return reports.reshape(self.shape + reports.shape[1:])
        # The dtype is named each time, so that pandas infers nothing from the reports.
        if self.family == "series":
            index, name = self.like.index.copy(), self.like.name
            return pd.Series(reports, index=index, name=name, dtype=reports.dtype, copy=False)
        if self.family == "index":
            name = self.like.name
            return pd.Index(reports, dtype=reports.dtype, name=name, tupleize_cols=False)
        if self.family == "pandas" and isinstance(reports, np.ndarray):
            return pd.array(reports, dtype=reports.dtype, copy=False)
        return reports


class Table(Protocol):
    """What reports look like in a container, before there are any."""

    @property
    def type(self) -> Any:
        """Their declared type."""
        ...

    def room(self, rows: int) -> Room:
        """Room for as many."""
        ...


class Form(Protocol):
    """How reports of one space stand in containers."""

    @property
    def labels(self) -> Domain:
        """What the cells of a tally are called."""
        ...

    @property
    def is_label(self) -> bool:
        """Whether a report is one of the labels, so that their counts sum to n."""
        ...

    @property
    def report_bytes(self) -> int:
        """About the bytes of a report in memory, at most."""
        ...

    def opened(self, container: Container) -> Container:
        """The container, a row for each report."""
        ...

    def reader(self, like: Any) -> Reader:
        """A function from cells of the type of ``like`` to coded reports."""
        ...

    def told(self, codes: Codes) -> NDArray[Any]:
        """Coded reports as a channel's ``scores`` and ``likelihood`` take them."""
        ...

    def table(self, container: Container, keep_missing: bool) -> Table:
        """See `Container.table`."""
        ...


@singledispatch
def form_of(space: Any) -> Form:
    """How reports of a space stand in containers; each kind of space registers its form."""
    raise ArgumentTypeError(f"reports of a {type(space).__name__} have no form in containers")


@form_of.register
def _(space: Domain) -> Form:
    return _CategoryForm(space)


def open_reports(values: Any, space: Any) -> tuple[Container, Reader]:
    """Reports in any container that `privatize` gives back, and what reads their cells.

    Raises ArgumentTypeError where the container cannot hold reports of the space.
    """
    form = form_of(space)
    container = form.opened(open_container(values))
    return container, form.reader(container.cells)


@dataclass(frozen=True)
class _CategoryForm:
    """Reports that are categories."""

    labels: Domain
    is_label: bool = True

    @property
    def report_bytes(self) -> int:
        texts = [c for c in self.labels.categories if isinstance(c, str | bytes)]
        sizes = [len(t.encode(errors="replace") if isinstance(t, str) else t) for t in texts]
        return 16 + max(sizes, default=0)

    def opened(self, container: Container) -> Container:
        return container

    def reader(self, like: Any) -> Reader:
        return reader(self.labels, like)

    def told(self, codes: Codes) -> NDArray[Any]:
        return codes

    def table(self, container: Container, keep_missing: bool) -> Table:
        """The k categories in the type that the reports will have."""
        domain = self.labels
        if container.family in ("list", "tuple", "scalar"):  # they hold the objects themselves
            return _CategoryTable(domain.objects, ListRoom)
        holds_missing = keep_missing or domain.missing_code is not None
        try:
            with np.errstate(all="ignore"):
                table = self._array(container, holds_missing)
                # Whatever a type does to a value (cut, round, wrap), it must come back as itself.
                kept = bool(np.array_equal(domain.encode(table).codes, np.arange(domain.k)))
        except (ValueError, TypeError, ArithmeticError, NotImplementedError, KeyError):
            kept = False
        if not kept:
            raise ArgumentTypeError(
                f"categories {domain.describe()} cannot be stored, or not be told apart, as "
                f"reports of answers of type {container.dtype}; convert the answers to another type"
            )
        make = partial(room_for, keep_missing=keep_missing, chunked=container.family == "chunked")
        return _CategoryTable(table, make)

    def _array(self, container: Container, holds_missing: bool) -> Any:
        if container.family in ("arrow", "chunked", "arrow scalar"):
            return _arrow_table(self.labels, container.dtype)
        if container.family == "numpy":
            return _numpy_table(self.labels, container.dtype, holds_missing)
        return _pandas_table(self.labels, container.dtype, holds_missing)


@dataclass(frozen=True, eq=False)
class _CategoryTable:
    """The k categories as an array of the reports' type."""

    categories: Any
    make: Callable[[Any, int], Room]

    @property
    def type(self) -> Any:
        return getattr(self.categories, "type", getattr(self.categories, "dtype", None))

    def room(self, rows: int) -> Room:
        return self.make(self.categories, rows)


_SCALARS = (str, bytes, np.generic, numbers.Number, enum.Enum, datetime.date, datetime.timedelta)


def open_container(values: Any) -> Container:
    """The flat cells of a list, tuple, scalar, array, Series, Index or Arrow array.

    Raises ArgumentTypeError for a container that rrstats cannot give back.
    """
    if isinstance(values, pd.DataFrame):
        raise ArgumentTypeError(
            "values must be one column, found a DataFrame; give one column, such as "
            "df['answer'], or use df.rr with its name"
        )
    if isinstance(values, pd.MultiIndex):
        raise ArgumentTypeError("values must be one column, found a MultiIndex; pick one level")
    if isinstance(values, pd.Series | pd.Index):
        family = "series" if isinstance(values, pd.Series) else "index"
        cells = values.to_numpy() if isinstance(values.dtype, np.dtype) else values.array
        return Container(cells, family, (len(values),), values)
    if isinstance(values, pd.api.extensions.ExtensionArray):
        thin = isinstance(values, pd.arrays.NumpyExtensionArray) or isinstance(
            values.dtype, np.dtype
        )
        return Container(values.to_numpy() if thin else values, "pandas", (len(values),))
    if isinstance(values, np.ma.MaskedArray):
        raise ArgumentTypeError(
            "values must not be a masked array: what is masked would be taken for an answer; "
            "convert it, for example with values.astype(object).filled(None)"
        )
    if isinstance(values, np.ndarray):
        return Container(np.asarray(values).reshape(-1), "numpy", values.shape)
    if type(values).__module__.partition(".")[0] == "pyarrow":
        import pyarrow as pa

        if isinstance(values, pa.ChunkedArray):
            return Container(values, "chunked", (len(values),))
        if isinstance(values, pa.Array):
            return Container(values, "arrow", (len(values),))
        if isinstance(values, pa.Scalar):
            return Container(pa.array([values], type=values.type), "arrow scalar", ())
    if isinstance(values, list | tuple):
        if type(values) is list:
            return Container(values, "list", (len(values),))
        family = "list" if isinstance(values, list) else "tuple"
        return Container(list(values), family, (len(values),))
    if isinstance(values, _SCALARS) or is_missing(values):
        return Container([values], "scalar", ())
    raise ArgumentTypeError(
        "values must be a list, tuple, array, Series, Index, Arrow array or one answer, "
        f"found {type(values).__name__}{engine_hint(values) or '; convert it to one of these'}"
        + ("; for counts of reports use rr.Tally.from_counts" if isinstance(values, dict) else "")
    )


_SINKS = {
    "dask": "rrstats.engines.dask.privatize_parquet",
    "pyspark": "rrstats.engines.spark.privatize_parquet",
    "polars": "rrstats.engines.polars.sink_privatized",
}


def engine_hint(values: Any) -> str:
    """What to use for a frame or column of an engine; empty for all else.

    Lazy frames are computed anew for every use, and each time the noise would be drawn anew.
    """
    engine = type(values).__module__.partition(".")[0]
    if engine not in _SINKS:
        return ""
    return (
        f" of {engine}: a lazy frame is computed again for every use, and fresh noise would be "
        f"drawn each time, which gives the answers away; {_SINKS[engine]} writes reports once, "
        "and a lazy frame can have keyed ones (key= and id=; import rrstats.engines."
        f"{'spark' if engine == 'pyspark' else engine}); to count reports, give rr.tally or "
        "rr.estimate the engine's frame and columns="
    )


def _objects(values: Iterable[object], count: int) -> NDArray[np.object_]:
    # fromiter, because np.array would look inside tuples and lists.
    return np.fromiter(values, dtype=object, count=count)


def _integer_type(domain: Domain, own: np.dtype[Any]) -> np.dtype[Any] | None:
    """The column's own integer type if all categories fit, else int64, uint64 or None."""
    if domain.integers is not None:
        least, most = int(domain.integers.min()), int(domain.integers.max())
    else:
        declared = [c for c in domain.categories if isinstance(c, int)]
        least, most = min(declared), max(declared)
    candidates = [own] if own.kind in "iu" else []
    for candidate in (*candidates, np.dtype(np.int64), np.dtype(np.uint64)):
        info = np.iinfo(candidate)
        if info.min <= least and most <= info.max:
            return candidate
    return None


def _numpy_type(domain: Domain, own: np.dtype[Any], holds_missing: bool) -> np.dtype[Any] | None:
    """The NumPy type of the reports of a column of type ``own``; None means objects."""
    if domain.kind == "bool":
        return None if holds_missing else np.dtype(bool)
    if domain.kind == "int":
        if not holds_missing:
            return _integer_type(domain, own)
        exact = all(abs(c) <= 2**53 for c in domain.categories if isinstance(c, int))
        return np.dtype(np.float64) if exact else None
    if domain.kind == "float":
        return own if own.kind == "f" else np.dtype(np.float64)
    if domain.kind in ("date", "duration"):
        return own if own.kind in "mM" else None
    if domain.kind == "str" and own.kind == "T" and not holds_missing:
        return own
    if (domain.kind, own.kind) in (("str", "U"), ("bytes", "S")) and not holds_missing:
        texts: list[Any] = list(domain.categories)
        width = max(map(len, texts))
        return np.dtype(f"{own.kind}{max(width, 1)}")
    return None


def _numpy_table(domain: Domain, own: np.dtype[Any], holds_missing: bool) -> NDArray[Any]:
    """The categories as a NumPy array of the reports' type."""
    target = _numpy_type(domain, own, holds_missing)
    if target is None:
        return domain.objects
    if target.kind in "mM":
        return _moments(domain, target)
    if domain.integers is not None:
        return domain.integers.astype(target)
    absent = NUMPY_MISSING.get(target.kind)
    return np.array([absent if c is None else c for c in domain.categories], dtype=target)


def _moments(domain: Domain, target: np.dtype[Any]) -> NDArray[Any]:
    """Dates or durations as NumPy has them; instants in UTC."""
    to_pandas: Any = pd.Timestamp if target.kind == "M" else pd.Timedelta
    absent = NUMPY_MISSING[target.kind]
    exact = [absent if c is None else to_pandas(c).asm8 for c in domain.categories]
    return np.array([moment.astype(target) for moment in exact], dtype=target)


def category_labels(domain: Domain) -> pd.Index[Any]:
    """The declared categories without a missing one, as the labels of a Categorical."""
    values = [c for c in domain.categories if c is not None]
    if domain.kind == "other":
        return pd.Index(_objects(values, len(values)), tupleize_cols=False)
    return pd.Index(values, tupleize_cols=False)


def _pandas_table(domain: Domain, own: Any, holds_missing: bool) -> Any:
    """The categories as an array of the type that reports of a pandas column get."""
    values: list[Any] = list(domain.categories)
    if isinstance(own, pd.CategoricalDtype):
        codes = np.array([-1 if c is None else 0 for c in values])
        codes[codes == 0] = np.arange(np.count_nonzero(codes == 0))
        return pd.Categorical.from_codes(codes, category_labels(domain), ordered=bool(own.ordered))
    if isinstance(own, pd.ArrowDtype):
        table = _arrow_table(domain, own.pyarrow_dtype)
        return pd.array(table, dtype=pd.ArrowDtype(table.type))
    if isinstance(own, pd.StringDtype) and domain.kind == "str":
        return pd.array(values, dtype=own)
    if isinstance(own, pd.BooleanDtype) and domain.kind == "bool":
        return pd.array(values, dtype=own)
    masked = None if isinstance(own, np.dtype) else getattr(own, "numpy_dtype", None)
    if masked is not None and domain.kind == "int":
        fitting = _integer_type(domain, masked)
        if fitting is not None:
            # pandas names its masked integers Int64, UInt8 and so on.
            name: Any = fitting.name.replace("i", "I").replace("u", "U")
            return pd.array(values, dtype=name)
    if masked is not None and domain.kind == "float":
        floating: Any = own if masked.kind == "f" else "Float64"
        return pd.array(values, dtype=floating)
    if domain.kind in ("str", "date", "instant", "duration"):
        # A unit or a time zone of the column may come from one answer, so it does not count.
        of_days = domain.kind == "date" and isinstance(own, np.dtype) and own.kind == "M"
        try:
            alone = pd.Series(pd.DatetimeIndex(values) if of_days else values)
        except UnicodeEncodeError:  # half a surrogate pair does not go into Arrow's strings
            return _objects(values, domain.k)
        return alone.to_numpy() if isinstance(alone.dtype, np.dtype) else alone.array
    return _numpy_table(domain, own if isinstance(own, np.dtype) else np.dtype("O"), holds_missing)


def _arrow_type(domain: Domain, own: Any) -> Any:
    """The Arrow type of the reports of a column of type ``own``."""
    import pyarrow as pa

    if pa.types.is_dictionary(own):
        value_type = _arrow_type(domain, own.value_type)
        return pa.dictionary(pa.int32(), value_type, ordered=own.ordered)
    if pa.types.is_null(own):  # what Arrow makes of a column in which everybody is missing
        return pa.array(domain.categories).type
    if domain.kind == "int":
        integer = pa.types.is_integer(own)
        fitting = _integer_type(domain, np.dtype(own.to_pandas_dtype() if integer else float))
        return own if fitting is None else pa.from_numpy_dtype(fitting)
    if domain.kind == "float" and not pa.types.is_floating(own):
        return pa.float64()
    return own


def _arrow_table(domain: Domain, own: Any) -> Any:
    """The categories as an Arrow array of the reports' type."""
    import pyarrow as pa

    target = _arrow_type(domain, own)
    if not pa.types.is_dictionary(target):
        table = _arrow_values(domain, target)
    else:
        place = iter(range(domain.k))
        indices = [None if c is None else next(place) for c in domain.categories]
        words = _arrow_values(domain, target.value_type).drop_null()
        table = pa.DictionaryArray.from_arrays(
            pa.array(indices, type=target.index_type), words, ordered=target.ordered
        )
    table.take(pa.array([0]))  # some types cannot: better found out before anything is drawn
    return table


def _arrow_values(domain: Domain, target: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_float16(target):  # older pyarrow takes Python floats for it from NumPy only
        absent = [np.nan if c is None else c for c in domain.categories]
        return pa.array(np.array(absent, dtype=np.float16), from_pandas=True)
    if domain.kind not in ("date", "instant", "duration"):
        return pa.array(domain.categories, type=target)
    unit = "D" if pa.types.is_date(target) else getattr(target, "unit", None)
    if unit is None or pa.types.is_time(target):
        return pa.array(domain.categories, type=target)
    kind = "m8" if pa.types.is_duration(target) else "M8"
    return pa.array(_moments(domain, np.dtype(f"{kind}[{unit}]")), type=target)
