"""How reports that are subsets stand in containers: what reads them, and room for new ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.bitsets import NOT_IN_TEXT, Subsets
from rrstats.data.builders import ListRoom, Places, Room
from rrstats.data.categories import Domain
from rrstats.data.columns import Container, Form, Table, form_of
from rrstats.data.encoding import Reader
from rrstats.data.packed_bits import BIT_ORDER, Bits, Packed, unpack_into, unpacked
from rrstats.errors import ArgumentTypeError

__all__: list[str] = []

_MOST_BYTES = (1 << 31) - 1
"""What one array of Arrow's binary holds: it counts in 32 bits."""


@dataclass(frozen=True)
class _SubsetForm:
    """See `containers.Form`."""

    space: Subsets

    @property
    def labels(self) -> Domain:
        return self.space.domain

    @property
    def is_label(self) -> bool:
        return False

    @property
    def report_bytes(self) -> int:
        return 16 + self.space.width

    def opened(self, container: Container) -> Container:
        """Rows for reports: of a NumPy array with an axis of categories, or of packed bytes."""
        if container.family != "numpy" or container.dtype.kind not in "biuf":
            return container
        shape, space = container.shape, self.space
        packed = shape[-1:] == (space.width,) and container.dtype == np.uint8
        if not packed and (shape[-1:] != (space.k,) or container.dtype.kind == "f"):
            raise ArgumentTypeError(
                f"reports in NumPy must be booleans with a last axis of {space.k} categories, "
                f"found {container.dtype} of shape {shape}"
            )
        cells = container.cells.reshape(-1, shape[-1])
        return replace(container, cells=cells, shape=shape[:-1])

    def reader(self, like: Any) -> Reader:
        space = self.space
        if isinstance(like, list):
            return space.read_objects
        dtype = like.dtype if hasattr(like, "dtype") else like.type
        if isinstance(dtype, pd.ArrowDtype):
            self._check_arrow(dtype.pyarrow_dtype)
            return lambda cells: space.read_arrow(cells.__arrow_array__())
        if isinstance(dtype, pd.CategoricalDtype) or dtype == np.dtype(object):
            return lambda cells: space.read_objects(np.asarray(cells, dtype=object))
        if isinstance(dtype, np.dtype):
            return self._reader_of_numpy(like.ndim, dtype)
        if type(dtype).__module__.startswith("pyarrow"):
            self._check_arrow(dtype)
            return space.read_arrow
        raise self._refused(dtype)

    def _reader_of_numpy(self, axes: int, dtype: np.dtype[Any]) -> Reader:
        space = self.space
        if axes == 2:
            if dtype == np.uint8:
                return lambda cells: (
                    space.checked(cells, None, None)
                    if cells.shape[1] == space.width
                    else space.read_bits(cells)
                )
            return space.read_bits
        if dtype.kind in "SV" and dtype.itemsize == space.width:
            return lambda cells: space.checked(
                np.ascontiguousarray(cells).view(np.uint8).reshape(-1, space.width), None, None
            )
        if dtype.kind in "SV":
            return lambda cells: space.read_objects([b""] * len(cells))
        raise self._refused(dtype)

    def _check_arrow(self, dtype: Any) -> None:
        import pyarrow as pa

        held = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
        tests = ("is_fixed_size_binary", "is_binary", "is_large_binary", "is_null")
        if not any(getattr(pa.types, test)(held) for test in tests):
            raise self._refused(dtype)

    def _refused(self, dtype: Any) -> ArgumentTypeError:
        return ArgumentTypeError(
            f"reports must be {self.space.describe()}, as binary of {self.space.width} bytes or "
            f"as booleans of NumPy; found {dtype}; were these answers privatized? "
            f"({NOT_IN_TEXT})"
        )

    def told(self, codes: Packed) -> NDArray[Any]:
        return unpacked(codes, self.space.k)

    def table(self, container: Container, keep_missing: bool) -> Table:
        kind, make = self._stored(container.family, keep_missing)
        return _SubsetTable(self.space, kind, make, keep_missing)

    def _stored(self, family: str, keep_missing: bool) -> tuple[Any, Callable[..., Room]]:
        """The type of the reports, and what makes room for them."""
        if family in ("list", "tuple", "scalar"):
            return np.dtype(object), _ListRoom
        if family == "numpy":
            if keep_missing:
                raise ArgumentTypeError(
                    "missing='keep' needs a place for missing reports, which booleans of NumPy "
                    "do not have; use pandas or Arrow, or leave missing= out"
                )
            return np.dtype(bool), _BitsRoom
        is_arrow = family in ("arrow", "chunked", "arrow scalar")
        if not is_arrow and find_spec("pyarrow") is None:
            return np.dtype(object), _ObjectRoom
        import pyarrow as pa

        if not is_arrow:
            return pd.ArrowDtype(pa.binary()), _PandasRoom
        room = _ChunkedRoom if family == "chunked" else _ArrowRoom
        return pa.binary(self.space.width), room


@form_of.register
def _(space: Subsets) -> Form:
    return _SubsetForm(space)


@dataclass(frozen=True)
class _SubsetTable:
    """See `containers.Table`."""

    space: Subsets
    type: Any
    make: Callable[[Subsets, int, bool], Room]
    keep_missing: bool

    def room(self, rows: int) -> Room:
        return self.make(self.space, rows, self.keep_missing)


class _BitsRoom:
    """(rows, k) booleans."""

    def __init__(self, space: Subsets, rows: int, keep_missing: bool) -> None:
        self._bits = np.empty((rows, space.k), dtype=np.bool_)

    def put(self, rows: slice, codes: Packed, missing: Places | None) -> None:
        unpack_into(self._bits[rows], codes)

    def reports(self) -> Bits:
        return self._bits


class _ListRoom(ListRoom):
    """A list of bytes objects."""

    def __init__(self, space: Subsets, rows: int, keep_missing: bool) -> None:
        super().__init__(np.empty(0, dtype=object), rows)

    def put(self, rows: slice, codes: Packed, missing: Places | None) -> None:
        found = np.ascontiguousarray(codes).view(f"V{codes.shape[1]}").ravel().astype(object)
        if missing is not None:
            found[missing] = None
        self._list[rows] = found.tolist()


class _ObjectRoom(_ListRoom):
    """The same as an array of objects, for pandas without Arrow."""

    def reports(self) -> Any:
        return np.fromiter(self._list, dtype=object, count=len(self._list))


class _ArrowRoom:
    """One Arrow array, whose bytes are filled in place."""

    def __init__(self, space: Subsets, rows: int, keep_missing: bool) -> None:
        self._codes = space.empty(rows)
        self._absent = np.zeros(rows, dtype=np.bool_) if keep_missing else None

    def put(self, rows: slice, codes: Packed, missing: Places | None) -> None:
        self._codes[rows] = codes
        if missing is not None and self._absent is not None:
            self._absent[rows][missing] = True

    def reports(self) -> Any:
        import pyarrow as pa

        rows, width = self._codes.shape
        return pa.Array.from_buffers(pa.binary(width), rows, self._buffers(slice(rows)))

    def _buffers(self, rows: slice) -> list[Any]:
        """Where some rows are not missing, as Arrow's bits or None, and their bytes."""
        import pyarrow as pa

        valid = None
        if self._absent is not None:
            self._codes[rows][self._absent[rows]] = 0
            valid = pa.py_buffer(np.packbits(~self._absent[rows], bitorder=BIT_ORDER))
        return [valid, pa.py_buffer(self._codes[rows].reshape(-1))]


class _ChunkedRoom(_ArrowRoom):
    """The same as a chunked array."""

    def reports(self) -> Any:
        import pyarrow as pa

        return pa.chunked_array([super().reports()])


class _PandasRoom(_ArrowRoom):
    """The same behind an array of pandas, as binary of any length.

    The name of Arrow's fixed-size type is one that pandas writes into files and cannot read back.
    """

    def reports(self) -> Any:
        import pyarrow as pa

        rows, width = self._codes.shape
        step = _MOST_BYTES // width
        parts = []
        for start in range(0, rows, step):
            number = min(step, rows - start)
            valid, data = self._buffers(slice(start, start + number))
            ends = pa.py_buffer(np.arange(number + 1, dtype=np.int32) * np.int32(width))
            parts.append(pa.Array.from_buffers(pa.binary(), number, [valid, ends, data]))
        held = pa.chunked_array(parts, type=pa.binary())
        return pd.array(held, dtype=pd.ArrowDtype(held.type))
