"""The space of reports that are subsets: which there are, and reading them back from any cells.
Packed bits of many reports at once: unpacked, counted by report, and added up by category.

Everything goes through the reports in parts that stay in the cache, so that nothing of the size of
the column stands beside the result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.builders import Builder, ListBuilder, Places
from rrstats.data.categories import Categories, is_missing
from rrstats.data.columns import Column, Read, Reader, ReportCodec, Table, codec_of, open_reports
from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = [
    "BIT_ORDER",
    "NOT_IN_TEXT",
    "Bits",
    "Packed",
    "PackedReports",
    "Subsets",
    "count_supports",
    "sizes",
    "unpack_into",
    "unpacked",
]

Packed = NDArray[np.uint8]
Bits = NDArray[np.bool_]

BIT_ORDER: Any = "little"
"""Category i is bit i % 8, the lowest first, of byte i // 8."""

_AT_ONCE_BYTES = 1 << 18
"""Packed reports looked at together, so that what is made of them stays in the cache."""


def sizes(codes: Packed) -> NDArray[np.int64]:
    """(n,) how many bits of each report are 1, in parts."""
    found = np.empty(len(codes), dtype=np.int64)
    for rows in _parts(codes):
        found[rows] = np.bitwise_count(codes[rows]).sum(axis=1, dtype=np.int64)
    return found


def _parts(codes: Packed) -> list[slice]:
    step = max(1, _AT_ONCE_BYTES // max(codes.shape[1], 1))
    return [slice(at, at + step) for at in range(0, len(codes), step)]


def unpacked(codes: Packed, k: int) -> Bits:
    """(n, k) booleans of packed reports."""
    found = np.empty((len(codes), k), dtype=np.bool_)
    unpack_into(found, codes)
    return found


def unpack_into(bits: Bits, codes: Packed) -> None:
    """Fill (n, k) booleans from packed reports."""
    k = bits.shape[1]
    for rows in _parts(codes):
        part = np.unpackbits(codes[rows], axis=1, count=k, bitorder=BIT_ORDER)
        bits[rows] = part.view(np.bool_)


# -- counting ------------------------------------------------------------------------------

_FEW_ROWS = 192
"""Up to here rows are unpacked and added one by one; a byte holds their number."""

_WIDE = 256
"""Narrower reports are laid side by side, as many as go into so many bytes."""


def count_supports(codes: Packed, k: int) -> NDArray[np.int64]:
    """How many reports hold each category; shape (k,).

    codes : (n, width) packed reports.  In parts: memory does not grow with n.
    """
    width = codes.shape[1]
    counts = np.zeros(8 * width, dtype=np.int64)
    side = max(1, _WIDE // width)
    for rows in _parts(codes):
        part = np.ascontiguousarray(codes[rows])
        whole = len(part) // side * side
        if whole:
            sums = _column_sums(part[:whole].reshape(-1, side * width))
            counts += sums.reshape(side, -1).sum(axis=0)
        if whole < len(part):
            counts += _column_sums(part[whole:])
    return counts[:k]


def _column_sums(codes: Packed) -> NDArray[np.int64]:
    """(8 width,) how often each bit is 1.

    Three rows become two in five operations on all their bits, as in a full adder: the sums
    modulo 2, and the carries, which count twice (Harley and Seal's population count).
    """
    if len(codes) <= _FEW_ROWS:
        bits = np.unpackbits(codes, axis=1, bitorder=BIT_ORDER)
        return np.asarray(np.add.reduce(bits, axis=0, dtype=np.uint8), dtype=np.int64)
    third = len(codes) // 3
    one, two, three = codes[:third], codes[third : 2 * third], codes[2 * third : 3 * third]
    odd = one ^ two
    carries = odd & three
    carries |= one & two
    odd ^= three
    sums = _column_sums(odd)
    sums += 2 * _column_sums(carries)
    if len(codes) > 3 * third:
        sums += _column_sums(codes[3 * third :])
    return sums


NOT_IN_TEXT = "CSV and other text cannot hold packed reports; Parquet and Feather files can"


@dataclass(frozen=True)
class Subsets:
    """The space of reports that are subsets of k categories.

    domain : the categories.  size : how many of them are in each report; None for any number.
    Raises ArgumentValueError for a size that no subset has.

    >>> space = Subsets(Categories(["red", "green", "blue"]))
    >>> space.width, space.pack([[True, False, True]]).tolist()
    (1, [[5]])
    >>> space.unpack([bytes([5]), bytes([2])]).astype(int).tolist()
    [[1, 0, 1], [0, 1, 0]]
    """

    domain: Categories
    size: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Categories):
            raise ArgumentTypeError(
                f"domain must be Categories, found {type(self.domain).__name__}"
            )
        if self.size is not None and not 0 <= self.size <= self.k:
            raise ArgumentValueError(
                f"size must be in [0, {self.k}] for {self.k} categories, got {self.size}"
            )

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """What the bits of a report stand for, and the cells of a tally."""
        return self.domain.categories

    def code(self, label: object) -> int:
        """The place of a category's bit; k for a label that is none."""
        return min(self.domain.code(label), self.k)

    @property
    def k(self) -> int:
        """The number of categories, each a bit of a report."""
        return self.domain.k

    @property
    def width(self) -> int:
        """The bytes of one packed report."""
        return -(-self.k // 8)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of packed reports: bytes."""
        return np.dtype(np.uint8)

    @property
    def missing_code(self) -> None:
        """No report means that an answer is missing."""
        return None

    def describe(self) -> str:
        """The space in words."""
        which = "subsets" if self.size is None else f"subsets of {self.size}"
        return f"{which} of the {self.k} categories {self.domain.describe()}"

    def empty(self, rows: int) -> Packed:
        """Builder for ``rows`` packed reports."""
        return np.empty((rows, self.width), dtype=np.uint8)

    def pack(self, bits: Any) -> Packed:
        """(n, k) booleans, or whole numbers 0 and 1, to (n, width) bytes.

        Raises ArgumentValueError for anything else, and for subsets that are no report.
        """
        found = np.asarray(bits)
        if found.ndim != 2 or found.shape[1] != self.k or found.dtype.kind not in "biu":
            raise ArgumentValueError(
                f"bits must be booleans of shape (n, {self.k}), a column for each category, found "
                f"{found.dtype} of shape {found.shape}"
            )
        return self._none_outside(self.read_bits(found)).codes

    def unpack(self, reports: Any) -> Bits:
        """Reports in any container that rrstats gives back, to (n, k) booleans.

        A missing report is a row without any category.
        Raises ArgumentValueError for values that are no such report, as many as there are.
        """
        container, read = open_reports(reports, self)
        found = self._none_outside(read(container.cells))
        codes = found.codes
        if found.missing:
            codes = codes.copy()
            codes[found.absent] = 0
        return unpacked(codes, self.k)

    def _none_outside(self, found: Read) -> Read:
        if found.unknown:
            raise ArgumentValueError(
                f"{found.unknown} of {len(found.codes)} reports are not {self.describe()}: each "
                f"has {self.width} bytes, no bit behind the last category"
                + ("" if self.size is None else f", and {self.size} of its bits are 1")
            )
        return found

    # -- reading reports back --------------------------------------------------------------

    def checked(self, codes: Packed, wrong: Bits | None, absent: Bits | None) -> PackedReports:
        """Packed reports, with those apart that are missing or no report of this space.

        wrong, absent : (n,) what is known of them already; their codes do not matter.
        """
        bad = np.zeros(len(codes), dtype=np.bool_) if wrong is None else wrong
        spare = 8 * self.width - self.k
        if spare and len(codes):
            bad |= codes[:, -1] >> np.uint8(8 - spare) != 0
        if self.size is not None:
            bad |= sizes(codes) != self.size
        if absent is not None:
            bad |= absent
        return PackedReports(codes, bad, absent)

    def read_bits(self, bits: NDArray[Any]) -> PackedReports:
        """(n, k) booleans, or whole numbers, of which 0 and 1 are bits."""
        wrong = None
        if bits.dtype.kind != "b":
            wrong = ((bits != 0) & (bits != 1)).any(axis=1)
        elif (bits.view(np.uint8) > 1).any():  # a bool of a file may hold other bytes than 0 and 1
            wrong = (bits.view(np.uint8) > 1).any(axis=1)
        return self.checked(np.packbits(bits, axis=1, bitorder=BIT_ORDER), wrong, None)

    def read_objects(self, cells: Any) -> PackedReports:
        """Bytes objects, in a list or an array; None and its like are missing.

        Raises ArgumentTypeError for bytes that text has been made of.
        """
        listed = cells if isinstance(cells, list) else cells.tolist()
        width, blank = self.width, bytes(self.width)
        wrong = np.zeros(len(listed), dtype=np.bool_)
        absent = np.zeros(len(listed), dtype=np.bool_)
        parts = []
        for row, cell in enumerate(listed):
            if isinstance(cell, bytes) and len(cell) == width:
                parts.append(cell)
                continue
            if isinstance(cell, str) and cell.startswith(("b'", 'b"')):
                raise ArgumentTypeError(
                    f"reports must be {self.describe()}, found them written out as text; "
                    f"{NOT_IN_TEXT}"
                )
            parts.append(blank)
            (absent if is_missing(cell) else wrong)[row] = True
        codes = np.frombuffer(b"".join(parts), np.uint8).reshape(len(listed), width)
        return self.checked(codes, wrong, absent)

    def read_arrow(self, cells: Any) -> PackedReports:
        """Arrow's binary of any kind, chunked or not."""
        import pyarrow as pa

        chunks = cells.chunks if hasattr(cells, "chunks") else [cells]
        parts = [self._of_arrow_array(chunk) for chunk in chunks]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return self._of_arrow_array(pa.array([], pa.binary(self.width)))
        return PackedReports(
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.bad for part in parts]),
            np.concatenate([part.missing_rows for part in parts]),
        )

    def _of_arrow_array(self, cells: Any) -> PackedReports:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        if pa.types.is_null(cells.type):
            cells = cells.cast(pa.binary(self.width))
        absent = cells.is_null().to_numpy(zero_copy_only=False) if cells.null_count else None
        wrong = None
        if cells.type == pa.binary(self.width):
            start = cells.offset * self.width
        else:
            cells = cells.cast(pa.large_binary())
            lengths = np.diff(_ends(cells))
            if (lengths != self.width).any():  # of a missing one, too
                wrong = lengths != self.width
                blank = pa.scalar(bytes(self.width), pa.large_binary())
                cells = pc.if_else(pa.array(~wrong), cells, blank)
            start = int(_ends(cells)[0])
        data = cells.buffers()[-1]
        flat = np.frombuffer(data if data is not None and len(cells) else b"", np.uint8)
        codes = flat[start : start + len(cells) * self.width].reshape(len(cells), self.width)
        return self.checked(codes, wrong, absent)


def _ends(cells: Any) -> NDArray[np.int64]:
    """(n + 1,) where each cell of Arrow's large binary ends; the first is where they begin."""
    if not len(cells):
        return np.zeros(1, dtype=np.int64)
    return np.frombuffer(cells.buffers()[1], np.int64)[cells.offset : cells.offset + len(cells) + 1]


@dataclass(frozen=True, eq=False)
class PackedReports:
    """Packed reports, and where there is none: what `encoding.Encoded` is for categories.

    codes : (n, width) bytes; those of rows outside do not matter.
    bad, lost : (n,) the rows that are no report; those of them that are missing, if any are.
    """

    codes: Packed
    bad: Bits
    lost: Bits | None

    @cached_property
    def outside(self) -> Places:
        """The rows that are unknown or missing."""
        return np.asarray(np.flatnonzero(self.bad))

    @cached_property
    def absent(self) -> Places:
        """The rows that are missing."""
        return np.asarray(np.flatnonzero(self.missing_rows))

    @property
    def missing_rows(self) -> Bits:
        """(n,) whether a row is missing."""
        return np.zeros(len(self.codes), dtype=np.bool_) if self.lost is None else self.lost

    @property
    def unknown(self) -> int:
        """How many rows are neither a report of the space nor missing."""
        return len(self.outside) - self.missing

    @property
    def missing(self) -> int:
        """How many rows are missing."""
        return len(self.absent)


_MOST_BYTES = (1 << 31) - 1
"""What one array of Arrow's binary holds: it counts in 32 bits."""


@dataclass(frozen=True)
class _SubsetCodec:
    """See `containers.ReportCodec`."""

    space: Subsets

    @property
    def labels(self) -> Categories:
        return self.space.domain

    @property
    def is_label(self) -> bool:
        return False

    @property
    def report_bytes(self) -> int:
        return 16 + self.space.width

    def rows(self, container: Column) -> Column:
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

    def decode(self, codes: Packed) -> NDArray[Any]:
        return unpacked(codes, self.space.k)

    def table(self, container: Column, keep_missing: bool) -> Table:
        kind, make = self._stored(container.family, keep_missing)
        return _SubsetTable(self.space, kind, make, keep_missing)

    def _stored(self, family: str, keep_missing: bool) -> tuple[Any, Callable[..., Builder]]:
        """The type of the reports, and what makes room for them."""
        if family in ("list", "tuple", "scalar"):
            return np.dtype(object), _ListBuilder
        if family == "numpy":
            if keep_missing:
                raise ArgumentTypeError(
                    "missing='keep' needs a place for missing reports, which booleans of NumPy "
                    "do not have; use pandas or Arrow, or leave missing= out"
                )
            return np.dtype(bool), _BitsBuilder
        is_arrow = family in ("arrow", "chunked", "arrow scalar")
        if not is_arrow and find_spec("pyarrow") is None:
            return np.dtype(object), _ObjectBuilder
        import pyarrow as pa

        if not is_arrow:
            return pd.ArrowDtype(pa.binary()), _PandasBuilder
        room = _ChunkedBuilder if family == "chunked" else _ArrowBuilder
        return pa.binary(self.space.width), room


@codec_of.register
def _(space: Subsets) -> ReportCodec:
    return _SubsetCodec(space)


@dataclass(frozen=True)
class _SubsetTable:
    """See `containers.Table`."""

    space: Subsets
    type: Any
    make: Callable[[Subsets, int, bool], Builder]
    keep_missing: bool

    def builder(self, rows: int) -> Builder:
        return self.make(self.space, rows, self.keep_missing)


class _BitsBuilder:
    """(rows, k) booleans."""

    def __init__(self, space: Subsets, rows: int, keep_missing: bool) -> None:
        self._bits = np.empty((rows, space.k), dtype=np.bool_)

    def write(self, rows: slice, codes: Packed, missing: Places | None) -> None:
        unpack_into(self._bits[rows], codes)

    def reports(self) -> Bits:
        return self._bits


class _ListBuilder(ListBuilder):
    """A list of bytes objects."""

    def __init__(self, space: Subsets, rows: int, keep_missing: bool) -> None:
        super().__init__(np.empty(0, dtype=object), rows)

    def write(self, rows: slice, codes: Packed, missing: Places | None) -> None:
        found = np.ascontiguousarray(codes).view(f"V{codes.shape[1]}").ravel().astype(object)
        if missing is not None:
            found[missing] = None
        self._list[rows] = found.tolist()


class _ObjectBuilder(_ListBuilder):
    """The same as an array of objects, for pandas without Arrow."""

    def reports(self) -> Any:
        return np.fromiter(self._list, dtype=object, count=len(self._list))


class _ArrowBuilder:
    """One Arrow array, whose bytes are filled in place."""

    def __init__(self, space: Subsets, rows: int, keep_missing: bool) -> None:
        self._codes = space.empty(rows)
        self._absent = np.zeros(rows, dtype=np.bool_) if keep_missing else None

    def write(self, rows: slice, codes: Packed, missing: Places | None) -> None:
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


class _ChunkedBuilder(_ArrowBuilder):
    """The same as a chunked array."""

    def reports(self) -> Any:
        import pyarrow as pa

        return pa.chunked_array([super().reports()])


class _PandasBuilder(_ArrowBuilder):
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
