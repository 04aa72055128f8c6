"""Reports that are subsets of the categories, packed as bits: reading, writing and counting them.

A report in NumPy is a row of k booleans; elsewhere it is ceil(k / 8) bytes, category i at bit
i % 8, the lowest first, of byte i // 8.  Everything goes through the reports in parts that stay in
the cache, so that nothing of the size of the column stands beside the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rrstats._typing import Array, Counts, Labels
from rrstats.data.arrow import arrow_kind, arrow_type
from rrstats.data.builders import NumpyBuilder, ReportLayout
from rrstats.data.categories import is_missing
from rrstats.data.cell_types import type_of
from rrstats.data.codecs import ReportCodec, open_reports
from rrstats.data.columns import Column, blocks
from rrstats.data.encoders import Encoded, Reader
from rrstats.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    import pyarrow as pa

Packed = NDArray[np.uint8]
Bits = NDArray[np.bool_]

BIT_ORDER: Any = "little"
"""Category i is bit i % 8, the lowest first, of byte i // 8."""

_BLOCK_BYTES = 1 << 18
"""Packed reports of one block, so that what is made of them stays in the cache."""


def _blocks(codes: Packed) -> list[slice]:
    """Slices of rows, of about `_BLOCK_BYTES` each."""
    return blocks(len(codes), max(1, _BLOCK_BYTES // max(codes.shape[1], 1)))


def unpack_into(bits: Bits, codes: Packed) -> None:
    """Fill (n, k) booleans from packed reports."""
    k = bits.shape[1]
    for rows in _blocks(codes):
        part = np.unpackbits(codes[rows], axis=1, count=k, bitorder=BIT_ORDER)
        bits[rows] = part.view(np.bool_)


# -- counting ------------------------------------------------------------------------------

_MAX_UNPACKED_ROWS = 192
"""Up to here rows are unpacked and added one by one; a byte holds their number (at most 255)."""

_LANE_BYTES = 256
"""Narrower reports are laid side by side in a lane of so many bytes, for longer operations."""


def count_supports(codes: Packed, k: int) -> Counts:
    """Count the reports that hold each category.

    Parameters
    ----------
    codes : ndarray of uint8 of shape (n, width)
        Packed reports; they are counted in parts, so memory does not grow with n.
    k : int
        The number of categories.

    Returns
    -------
    ndarray of int of shape (k,)
    """
    width = codes.shape[1]
    counts = np.zeros(8 * width, dtype=np.int64)
    per_lane = max(1, _LANE_BYTES // width)  # reports side by side, counted as one wide report
    for rows in _blocks(codes):
        part = np.ascontiguousarray(codes[rows])
        in_lanes = len(part) // per_lane * per_lane
        if in_lanes:
            sums = _column_sums(part[:in_lanes].reshape(-1, per_lane * width))
            counts += sums.reshape(per_lane, -1).sum(axis=0)
        if in_lanes < len(part):
            counts += _column_sums(part[in_lanes:])
    return counts[:k]


def _column_sums(codes: Packed) -> Counts:
    """(8 width,) numbers of reports in which each bit is 1.

    Three rows become two in five operations on all their bits, as in a full adder: the sums
    modulo 2, and the carries, which count twice (Harley and Seal's population count).
    """
    if len(codes) <= _MAX_UNPACKED_ROWS:
        bits = np.unpackbits(codes, axis=1, bitorder=BIT_ORDER)
        return np.asarray(np.add.reduce(bits, axis=0, dtype=np.uint8), dtype=np.int64)
    third = len(codes) // 3
    a = codes[:third]
    b = codes[third : 2 * third]
    c = codes[2 * third : 3 * third]
    odd = a ^ b
    carries = odd & c
    carries |= a & b
    odd ^= c
    sums = _column_sums(odd)
    sums += 2 * _column_sums(carries)
    if len(codes) > 3 * third:
        sums += _column_sums(codes[3 * third :])
    return sums


NOT_IN_TEXT = "CSV and other text cannot hold packed reports; Parquet and Feather files can"


@dataclass(frozen=True)
class Subsets(ReportCodec):
    """The space of reports that are subsets of k categories, and their codec.

    Parameters
    ----------
    domain : Categories
        The categories.
    size : int, optional
        The number of categories in each report; any number by default.

    Raises
    ------
    ArgumentValueError
        No subset has that size.

    Examples
    --------
    >>> from rrstats.data.categories import Categories
    >>> space = Subsets(Categories(["red", "green", "blue"]))
    >>> space.width, space.pack([[True, False, True]]).tolist()
    (1, [[5]])
    >>> space.unpack([bytes([5]), bytes([2])]).astype(int).tolist()
    [[1, 0, 1], [0, 1, 0]]
    """

    size: int | None = None
    is_label = False
    dtype = np.dtype(np.uint8)
    """The type of packed reports: bytes."""
    missing_code = None
    """No report means that an answer is missing."""

    @property
    def categories(self) -> Labels:
        """Labels of a report's bits, and of the cells of a tally."""
        return self.domain.categories

    def code(self, label: object) -> int:
        """Return the place of a category's bit; k for a label that is none."""
        return min(self.domain.code(label), self.k)

    @property
    def k(self) -> int:
        """The number of categories, each a bit of a report."""
        return self.domain.k

    @property
    def width(self) -> int:
        """The bytes of one packed report."""
        return -(-self.k // 8)

    def describe(self) -> str:
        """Return the space in words."""
        which = "subsets" if self.size is None else f"subsets of {self.size}"
        return f"{which} of the {self.k} categories {self.domain.describe()}"

    def empty(self, rows: int) -> Packed:
        """Return an empty array for ``rows`` packed reports."""
        return np.empty((rows, self.width), dtype=np.uint8)

    def pack(self, bits: ArrayLike) -> Packed:
        """Pack booleans.

        Parameters
        ----------
        bits : array-like of shape (n, k)
            Booleans, or whole numbers 0 and 1.

        Returns
        -------
        ndarray of uint8 of shape (n, width)

        Raises
        ------
        ArgumentValueError
            Anything else, and subsets that are no report.
        """
        rows = np.asarray(bits)
        if rows.ndim != 2 or rows.shape[1] != self.k or rows.dtype.kind not in "biu":
            raise ArgumentValueError(
                f"bits must be booleans of shape (n, {self.k}), a column for each category, found "
                f"{rows.dtype} of shape {rows.shape}"
            )
        return self._none_outside(self._read_bits(rows)).codes

    def unpack(self, reports: Any) -> Bits:
        """Unpack reports.

        Parameters
        ----------
        reports : container
            Any that `privatize` gives back.

        Returns
        -------
        ndarray of bool of shape (n, k)
            A missing report is a row without any category.

        Raises
        ------
        ArgumentValueError
            Some values are no such report; it says how many.
        """
        container, read = open_reports(reports, self)
        encoded = self._none_outside(read(container.cells))
        codes = encoded.codes
        if len(encoded.absent):
            codes = codes.copy()
            codes[encoded.absent] = 0
        return self.decode(codes)

    def _none_outside(self, encoded: Encoded) -> Encoded:
        """Encoded reports as they are; raises if some are none of this space."""
        if encoded.unknown:
            size_rule = "" if self.size is None else f", and {self.size} of its bits are 1"
            raise ArgumentValueError(
                f"{encoded.unknown} of {len(encoded.codes)} reports are not {self.describe()}: "
                f"each has {self.width} bytes, no bit after the last category{size_rule}"
            )
        return encoded

    def _checked(
        self, codes: Packed, wrong: Bits | None = None, absent: Bits | None = None
    ) -> Encoded:
        """Packed reports, with the rows that are missing or no report of this space.

        wrong : (n,) rows that the caller already refused.  absent : (n,) rows that are missing.
        """
        bad = np.zeros(len(codes), dtype=np.bool_) if wrong is None else wrong
        spare = 8 * self.width - self.k
        if spare and len(codes):
            bad |= codes[:, -1] >> np.uint8(8 - spare) != 0
        if self.size is not None:
            bad |= np.bitwise_count(codes).sum(axis=1, dtype=np.int64) != self.size
        absent_rows = np.flatnonzero([] if absent is None else absent)
        bad[absent_rows] = True
        return Encoded(codes, np.flatnonzero(bad), absent_rows)

    def _read_bits(self, bits: Array) -> Encoded:
        """(n, k) booleans, or whole numbers, of which 0 and 1 are bits."""
        # A bool of a file may hold other bytes than 0 and 1.
        numbers = bits.view(np.uint8) if bits.dtype.kind == "b" else bits
        are_bits = numbers.dtype == np.uint8 and numbers.max(initial=0) < 2
        wrong = None if are_bits else np.asarray((numbers & ~numbers.dtype.type(1)).any(axis=1))
        return self._checked(np.packbits(bits, axis=1, bitorder=BIT_ORDER), wrong)

    def _read_objects(self, cells: Any) -> Encoded:
        """Bytes objects, in a list or an array; None and its like are missing."""
        listed = cells if isinstance(cells, list) else np.asarray(cells, dtype=object).tolist()
        width = self.width
        blank = bytes(width)
        fits = [isinstance(cell, bytes) and len(cell) == width for cell in listed]
        wrong = ~np.array(fits, dtype=bool)
        absent = np.zeros(len(listed), dtype=np.bool_)
        misfits = np.flatnonzero(wrong).tolist()
        if misfits:
            others = [listed[row] for row in misfits]
            if any(isinstance(cell, str) and cell.startswith(("b'", 'b"')) for cell in others):
                raise ArgumentTypeError(
                    f"reports must be {self.describe()}, found them written out as text; "
                    f"{NOT_IN_TEXT}"
                )
            absent[misfits] = [is_missing(cell) for cell in others]
            listed = [cell if fit else blank for cell, fit in zip(listed, fits, strict=True)]
        codes = np.frombuffer(b"".join(listed), np.uint8).reshape(len(fits), width)
        return self._checked(codes, wrong, absent)

    def _read_arrow(self, cells: Any) -> Encoded:
        """Arrow's binary of any kind, chunked or not."""
        import pyarrow as pa

        array = cells.__arrow_array__() if hasattr(cells, "__arrow_array__") else cells
        array = array.cast(pa.large_binary())
        array = array.combine_chunks() if hasattr(array, "chunks") else array
        if array.null_count or not len(array):
            return self._read_objects(array.to_pylist())
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
        if (np.diff(ends) != self.width).any():
            return self._read_objects(array.to_pylist())
        codes = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
        return self._checked(codes.reshape(-1, self.width))

    # -- codec: see `ReportCodec` ----------------------------------------------------------

    @property
    def report_bytes(self) -> int:
        """About the bytes of a report in memory, at most."""
        return 16 + self.width

    def rows(self, column: Column) -> Column:
        """Return a NumPy column with a row of bits, or of packed bytes, for each report."""
        if column.family != "numpy" or column.dtype.kind not in "biuf":
            return column
        shape = column.shape
        packed = shape[-1:] == (self.width,) and column.dtype == np.uint8
        if not packed and (shape[-1:] != (self.k,) or column.dtype.kind == "f"):
            raise ArgumentTypeError(
                f"reports in NumPy must be booleans with a last axis of {self.k} categories, "
                f"found {column.dtype} of shape {shape}"
            )
        return column._replace(
            cells=column.cells.reshape(-1, shape[-1]),
            shape=shape[:-1],
            wrap=lambda reports: reports.reshape(shape[:-1] + reports.shape[1:]),
        )

    def reader(self, like: Any) -> Reader:
        """Return a function from cells of the type of ``like`` to packed reports."""
        dtype = type_of(like)
        if isinstance(dtype, pd.CategoricalDtype) or dtype == np.dtype(object):
            return self._read_objects
        if isinstance(dtype, np.dtype):
            if like.ndim == 2 and (dtype != np.uint8 or like.shape[1] != self.width):
                return self._read_bits
            if like.ndim == 2 or (dtype.kind in "SV" and dtype.itemsize == self.width):
                return lambda cells: self._checked(
                    np.ascontiguousarray(cells).view(np.uint8).reshape(-1, self.width)
                )
        arrow = arrow_type(dtype)
        if arrow is not None:
            import pyarrow as pa

            if arrow_kind(arrow) == "bytes" or pa.types.is_null(arrow):
                return self._read_arrow
        raise ArgumentTypeError(
            f"reports must be {self.describe()}, as binary of {self.width} bytes or "
            f"as booleans of NumPy; found {dtype}; were these answers privatized? ({NOT_IN_TEXT})"
        )

    def decode(self, codes: Packed) -> Bits:
        """Return packed reports as booleans."""
        bits = np.empty((len(codes), self.k), dtype=np.bool_)
        unpack_into(bits, codes)
        return bits

    def layout(self, column: Column, keep_missing: bool) -> ReportLayout:
        """Return the form of reports in a container, as `ReportCodec.layout` says."""
        family = column.family
        if family == "list":
            return ReportLayout(np.dtype(object), lambda n: _objects(n, np.ndarray.tolist))
        if family == "numpy":
            if keep_missing:
                raise ArgumentTypeError(
                    "missing='keep' needs missing reports, which boolean arrays of NumPy cannot "
                    "hold; use pandas or Arrow, or leave missing= out"
                )
            return ReportLayout(
                np.dtype(bool),
                lambda n: NumpyBuilder(np.empty((n, self.k), bool), unpack_into),
            )
        if family == "pandas" and find_spec("pyarrow") is None:
            return ReportLayout(np.dtype(object), lambda n: _objects(n, np.asarray))
        import pyarrow as pa

        # The name of Arrow's fixed-size type is one that pandas writes and cannot read back.
        binary = pa.binary(self.width) if family == "arrow" else pa.binary()

        def finish(codes: Packed, absent: Bits | None) -> Any:
            parts = _binary_parts(codes, absent, binary)
            if family == "pandas":
                return pd.array(pa.chunked_array(parts, binary), pd.ArrowDtype(binary))
            return pa.chunked_array(parts) if hasattr(column.cells, "chunks") else parts[0]

        def builder(n: int) -> NumpyBuilder:
            mask = np.zeros(n, dtype=np.bool_) if keep_missing else None
            return NumpyBuilder(self.empty(n), np.copyto, finish, mask)

        return ReportLayout(binary if family == "arrow" else pd.ArrowDtype(binary), builder)


def _objects(rows: int, wrap: Callable[[Array], Any]) -> NumpyBuilder:
    """The builder of reports that are bytes objects."""

    def fill(part: Array, codes: Packed) -> None:
        reports = np.ascontiguousarray(codes).view(f"V{codes.shape[1]}").ravel()
        part[:] = reports.astype(object)

    return NumpyBuilder(np.empty(rows, object), fill, lambda reports, _: wrap(reports))


def _binary_parts(codes: Packed, absent: Bits | None, binary: pa.DataType) -> list[Any]:
    """Packed reports as Arrow arrays, which take over their memory; missing ones are blank."""
    import pyarrow as pa

    rows, width = codes.shape
    step = max(rows, 1) if binary == pa.binary(width) else _MAX_BINARY_BYTES // width
    if absent is not None:
        codes[absent] = 0
    parts = []
    for start in range(0, max(rows, 1), step):
        part = codes[start : start + step]
        valid = None
        if absent is not None:
            valid = pa.py_buffer(np.packbits(~absent[start : start + step], bitorder=BIT_ORDER))
        buffers = [valid, pa.py_buffer(part.reshape(-1))]
        parts.append(pa.Array.from_buffers(pa.binary(width), len(part), buffers).cast(binary))
    return parts


_MAX_BINARY_BYTES = (1 << 31) - 1
"""The bytes that one array of Arrow's binary holds: it counts in 32 bits."""
