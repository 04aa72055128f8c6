"""Containers of answers: open one, and give reports back in the same form.

The dtype of the reports follows from the declared categories and the container's declared
type alone, never from values or from missingness:

- list, tuple and scalar give back the category objects themselves;
- NumPy arrays: bool categories give bool and integer ones the column's integer type (else
  int64), also from float and object columns; text is as wide as the widest category;
- pandas: as NumPy, but Categorical gives exactly the declared categories, every string dtype
  stays itself, and an object column gets what pandas makes of the categories alone;
- Arrow: the same type, integers widened where a category does not fit.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.domain import Domain, is_missing
from rrstats.errors import ArgumentTypeError

__all__ = ["Container", "open_container"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Container:
    """What came in.

    cells : the n answers as a flat NumPy, pandas or Arrow array.
    family : "list", "tuple", "scalar", "numpy", "pandas", "series", "index", "arrow", "chunked".
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
        return self.cells.type if self.family in ("arrow", "chunked") else self.cells.dtype

    def fill(self, domain: Domain, codes: NDArray[Any], missing: Mask | None = None) -> Any:
        """The reports with these codes in the form that came in, sharing no memory with it.

        codes : (n,), all below k where not missing.  missing : where given, those reports
        are left missing; the dtype is then one that can hold missing values, if the
        answers' own type is.
        """
        if missing is not None and not self._can_miss():
            missing = None
        holds_missing = missing is not None or domain.missing_code is not None
        if self.family in ("list", "tuple", "scalar"):
            reports = [domain.categories[code] for code in codes.tolist()]
            if missing is not None:
                reports = [None if m else r for r, m in zip(reports, missing, strict=True)]
            if self.family == "scalar":
                return reports[0]
            return reports if self.family == "list" else tuple(reports)
        if self.family in ("arrow", "chunked"):
            return self._fill_arrow(domain, codes, missing)
        if self.family == "numpy":
            table = _numpy_table(domain, self.dtype, holds_missing)
            return _take(table, codes, missing).reshape(self.shape)
        reports = _take(_pandas_table(domain, self.dtype, holds_missing), codes, missing)
        if self.family == "series":
            return pd.Series(reports, index=self.like.index.copy(), name=self.like.name)
        if self.family == "index":
            return pd.Index(reports, name=self.like.name, tupleize_cols=False)
        return pd.array(reports, dtype=reports.dtype) if self.family == "pandas" else reports

    def _can_miss(self) -> bool:
        """Whether the declared type can hold a missing value at all."""
        return not (isinstance(self.dtype, np.dtype) and self.dtype.kind in "biuUS")

    def _fill_arrow(self, domain: Domain, codes: NDArray[Any], missing: Mask | None) -> Any:
        import pyarrow as pa

        reports = _take_arrow(domain, self.dtype, codes, missing)
        return pa.chunked_array([reports]) if self.family == "chunked" else reports


def open_container(values: Any) -> Container:
    """The flat cells of a list, tuple, scalar, array, Series, Index or Arrow array.

    Raises ArgumentTypeError for a container that rrstats cannot give back.
    """
    if isinstance(values, pd.DataFrame):
        raise ArgumentTypeError(
            "values must be one column, found a DataFrame; name the column: "
            "df.rr.privatize('answer', ...)"
        )
    if isinstance(values, pd.MultiIndex):
        raise ArgumentTypeError("values must be one column, found a MultiIndex; pick one level")
    if isinstance(values, pd.Series | pd.Index):
        family = "series" if isinstance(values, pd.Series) else "index"
        cells = values.to_numpy() if isinstance(values.dtype, np.dtype) else values.array
        return Container(cells, family, (len(values),), values)
    if isinstance(values, pd.api.extensions.ExtensionArray):
        if isinstance(getattr(values, "dtype", None), np.dtype):
            values = values.to_numpy()  # pandas' thin wrapper around a NumPy array
            return Container(values, "numpy", (len(values),))
        return Container(values, "pandas", (len(values),))
    if isinstance(values, np.ndarray):
        return Container(np.asarray(values).reshape(-1), "numpy", values.shape)
    if type(values).__module__.partition(".")[0] == "pyarrow":
        import pyarrow as pa

        if isinstance(values, pa.ChunkedArray):
            combined = values.combine_chunks()
            if isinstance(combined, pa.ChunkedArray):  # what older pyarrow gives for no chunk
                combined = pa.concat_arrays(values.chunks or [pa.array([], values.type)])
            return Container(combined, "chunked", (len(values),))
        if isinstance(values, pa.Array):
            return Container(values, "arrow", (len(values),))
        if isinstance(values, pa.Scalar):
            values = values.as_py()
    if isinstance(values, list | tuple):
        family = "list" if isinstance(values, list) else "tuple"
        return Container(_objects(values, len(values)), family, (len(values),))
    scalars = (str, bytes, bool, int, float, complex, np.generic, datetime.date)
    if isinstance(values, scalars) or is_missing(values):
        return Container(_objects([values], 1), "scalar", ())
    raise ArgumentTypeError(
        "values must be a list, tuple, array, Series, Index, Arrow array or one answer, "
        f"found {type(values).__name__}; convert it to one of these"
    )


def _objects(values: Iterable[object], count: int) -> NDArray[np.object_]:
    # fromiter, because np.array would look inside tuples and lists.
    return np.fromiter(values, dtype=object, count=count)


def _take(table: Any, codes: NDArray[Any], missing: Mask | None) -> Any:
    """Reports from a table of the categories, some left missing; always fresh memory."""
    if missing is not None:
        codes = np.where(missing, codes.dtype.type(0), codes)
    reports = table.take(codes.astype(np.intp))
    if missing is not None:
        if isinstance(reports, np.ndarray):
            fill: Any = {"f": np.nan, "M": np.datetime64("NaT")}.get(reports.dtype.kind)
            reports[missing] = fill
        else:
            reports[missing] = reports.dtype.na_value
    return reports


def _integer_type(domain: Domain, own: np.dtype[Any]) -> np.dtype[Any] | None:
    """The column's own integer type if all categories fit, else int64, uint64 or None."""
    numbers = [c for c in domain.categories if isinstance(c, int)]
    candidates = [own] if own.kind in "iu" else []
    for candidate in (*candidates, np.dtype(np.int64), np.dtype(np.uint64)):
        info = np.iinfo(candidate)
        if info.min <= min(numbers) and max(numbers) <= info.max:
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
    if domain.kind == "date":
        return own if own.kind == "M" else None
    if domain.kind == "str" and own.kind == "T" and not holds_missing:
        return own
    if {domain.kind: own.kind} in ({"str": "U"}, {"bytes": "S"}) and not holds_missing:
        width = max(len(c) for c in domain.categories)  # type: ignore[arg-type]  # str or bytes
        return np.dtype(f"{own.kind}{width}")
    return None


def _numpy_table(domain: Domain, own: np.dtype[Any], holds_missing: bool) -> NDArray[Any]:
    """The categories as a NumPy array of the reports' type."""
    target = _numpy_type(domain, own, holds_missing)
    if target is None:
        return _objects(domain.categories, domain.k)
    absent: Any = {"f": np.nan, "M": np.datetime64("NaT")}.get(target.kind)
    return np.array([absent if c is None else c for c in domain.categories], dtype=target)


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
    if isinstance(own, pd.DatetimeTZDtype) and domain.kind == "date":
        return pd.array(values, dtype=own)
    masked = None if isinstance(own, np.dtype) else getattr(own, "numpy_dtype", None)
    if masked is not None and domain.kind == "int":
        fitting = _integer_type(domain, masked)
        if fitting is not None:
            # pandas names its masked integers Int64, UInt8 and so on.
            return pd.array(values, dtype=fitting.name.replace("i", "I").replace("u", "U"))
    if masked is not None and domain.kind == "float":
        return pd.array(values, dtype=own if masked.kind == "f" else "Float64")
    if domain.kind == "str":
        # What pandas makes of these words by itself: `str`, or object before pandas 3.
        return pd.Series(values).array
    return _numpy_table(domain, own if isinstance(own, np.dtype) else np.dtype("O"), holds_missing)


def _arrow_type(domain: Domain, own: Any) -> Any:
    """The Arrow type of the reports of a column of type ``own``."""
    import pyarrow as pa

    if pa.types.is_dictionary(own):
        value_type = _arrow_type(domain, own.value_type)
        return pa.dictionary(pa.int32(), value_type, ordered=own.ordered)
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
    try:
        if not pa.types.is_dictionary(target):
            return pa.array(domain.categories, type=target)
        words = pa.array([c for c in domain.categories if c is not None], type=target.value_type)
        place = iter(range(len(words)))
        indices = [None if c is None else next(place) for c in domain.categories]
        return pa.DictionaryArray.from_arrays(
            pa.array(indices, type=target.index_type), words, ordered=target.ordered
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        raise ArgumentTypeError(
            f"categories {domain.describe()} cannot be stored as Arrow type {own}"
        ) from None


def _take_arrow(domain: Domain, own: Any, codes: NDArray[Any], missing: Mask | None) -> Any:
    import pyarrow as pa

    if missing is not None:
        codes = np.where(missing, codes.dtype.type(0), codes)
    return _arrow_table(domain, own).take(pa.array(codes.astype(np.int64), mask=missing))
