"""Reports that are subsets of the categories, a bit for each: what they are and how they are kept.

Unary encoding and subset selection answer with a set of categories, in one of these forms:

    packed     (n, width) bytes, width = ceil(k / 8): inside the package
    NumPy      (..., k) booleans; the last axis is that of the categories
    pandas     one column of fixed-size binary (Arrow's type; bytes objects without pyarrow)
    Arrow      fixed_size_binary(width), and so in Parquet and Feather files
    lists      bytes objects, each of ``width`` bytes

One rule for all of them: category i is bit ``i % 8``, the lowest first, of byte ``i // 8``, which
is ``np.packbits(..., bitorder="little")`` and Arrow's own order of bits.  The bits behind the
last category are 0.
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

from rrstats.containers import Container, Form, Table, form_of, open_container
from rrstats.domain import Domain, is_missing
from rrstats.encoding import Read, Reader
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.rooms import ListRoom, Places, Room

__all__ = ["PackedReports", "Subsets", "count_supports"]

Packed = NDArray[np.uint8]
Bits = NDArray[np.bool_]

BIT_ORDER: Any = "little"
"""Category i is bit i % 8, the lowest first, of byte i // 8."""

_AT_ONCE_BYTES = 1 << 18
"""Packed reports looked at together, so that what is made of them stays in the cache."""


@dataclass(frozen=True)
class Subsets:
    """The space of reports that are subsets of k categories.

    domain : the categories.  size : how many of them are in each report; None for any number.
    Raises ArgumentValueError for a size that no subset has.

    >>> space = Subsets(Domain(["red", "green", "blue"]))
    >>> space.width, space.pack([[True, False, True]]).tolist()
    (1, [[5]])
    >>> space.unpack([bytes([5]), bytes([2])]).astype(int).tolist()
    [[1, 0, 1], [0, 1, 0]]
    """

    domain: Domain
    size: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise ArgumentTypeError(f"domain must be a Domain, found {type(self.domain).__name__}")
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
        """Room for ``rows`` packed reports."""
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
        return self._none_outside(self._of_bits(found)).codes

    def unpack(self, reports: Any) -> Bits:
        """Reports in any container that rrstats gives back, to (n, k) booleans.

        A missing report is a row without any category.
        Raises ArgumentValueError for values that are no such report, as many as there are.
        """
        form = form_of(self)
        container = form.opened(open_container(reports))
        found = self._none_outside(form.reader(container.cells)(container.cells))
        codes = found.codes
        if found.missing:
            codes = codes.copy()
            codes[found.absent] = 0
        return _bits(codes, self.k)

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
            bad |= _sizes(codes) != self.size
        if absent is not None:
            bad |= absent
        return PackedReports(codes, bad, absent)

    def _of_bits(self, bits: NDArray[Any]) -> PackedReports:
        wrong = None
        if bits.dtype.kind != "b":
            wrong = ((bits != 0) & (bits != 1)).any(axis=1)
        elif (bits.view(np.uint8) > 1).any():  # a bool of a file may hold other bytes than 0 and 1
            wrong = (bits.view(np.uint8) > 1).any(axis=1)
        return self.checked(np.packbits(bits, axis=1, bitorder=BIT_ORDER), wrong, None)

    def _of_objects(self, cells: Any) -> PackedReports:
        listed = cells if isinstance(cells, list) else cells.tolist()
        width, blank = self.width, bytes(self.width)
        wrong = np.zeros(len(listed), dtype=np.bool_)
        absent = np.zeros(len(listed), dtype=np.bool_)
        parts = []
        for row, cell in enumerate(listed):
            if isinstance(cell, bytes) and len(cell) == width:
                parts.append(cell)
                continue
            parts.append(blank)
            (absent if is_missing(cell) else wrong)[row] = True
        codes = np.frombuffer(b"".join(parts), np.uint8).reshape(len(listed), width)
        return self.checked(codes, wrong, absent)

    def _of_arrow(self, cells: Any) -> PackedReports:
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
        if cells.type != pa.binary(self.width):
            cells = cells.cast(pa.large_binary())
            length = pc.fill_null(pc.binary_length(cells), -1).to_numpy(zero_copy_only=False)
            wrong = (length != self.width) & (length >= 0)
            fits = pa.array(length == self.width)
            cells = pc.if_else(fits, cells, pa.scalar(bytes(self.width), pa.large_binary()))
            start = int(np.frombuffer(cells.buffers()[1], np.int64)[cells.offset])
        else:
            start = cells.offset * self.width
        data = cells.buffers()[-1]
        flat = np.frombuffer(data if data is not None and len(cells) else b"", np.uint8)
        codes = flat[start : start + len(cells) * self.width].reshape(len(cells), self.width)
        return self.checked(codes, wrong, absent)


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


def _sizes(codes: Packed) -> NDArray[np.int64]:
    """(n,) how many bits of each report are 1, in parts."""
    found = np.empty(len(codes), dtype=np.int64)
    for rows in _parts(codes):
        found[rows] = np.bitwise_count(codes[rows]).sum(axis=1, dtype=np.int64)
    return found


def _parts(codes: Packed) -> list[slice]:
    step = max(1, _AT_ONCE_BYTES // max(codes.shape[1], 1))
    return [slice(at, at + step) for at in range(0, len(codes), step)]


def _bits(codes: Packed, k: int) -> Bits:
    """(n, k) booleans of packed reports."""
    found = np.empty((len(codes), k), dtype=np.bool_)
    _unpack_into(found, codes)
    return found


def _unpack_into(bits: Bits, codes: Packed) -> None:
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


# -- how they stand in containers ----------------------------------------------------------


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
            return space._of_objects
        dtype = like.dtype if hasattr(like, "dtype") else like.type
        if isinstance(dtype, pd.ArrowDtype):
            self._check_arrow(dtype.pyarrow_dtype)
            return lambda cells: space._of_arrow(cells.__arrow_array__())
        if isinstance(dtype, pd.CategoricalDtype) or dtype == np.dtype(object):
            return lambda cells: space._of_objects(np.asarray(cells, dtype=object))
        if isinstance(dtype, np.dtype):
            return self._reader_of_numpy(like.ndim, dtype)
        if type(dtype).__module__.startswith("pyarrow"):
            self._check_arrow(dtype)
            return space._of_arrow
        raise self._refused(dtype)

    def _reader_of_numpy(self, axes: int, dtype: np.dtype[Any]) -> Reader:
        space = self.space
        if axes == 2:
            if dtype == np.uint8:
                return lambda cells: (
                    space.checked(cells, None, None)
                    if cells.shape[1] == space.width
                    else space._of_bits(cells)
                )
            return space._of_bits
        if dtype.kind in "SV" and dtype.itemsize == space.width:
            return lambda cells: space.checked(
                np.ascontiguousarray(cells).view(np.uint8).reshape(-1, space.width), None, None
            )
        if dtype.kind in "SV":
            return lambda cells: space._of_objects([b""] * len(cells))
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
            f"as booleans of NumPy; found {dtype}; were these answers privatized?"
        )

    def told(self, codes: Packed) -> NDArray[Any]:
        return _bits(codes, self.space.k)

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

        held = pa.binary(self.space.width)
        if not is_arrow:
            return pd.ArrowDtype(held), _PandasRoom
        return held, _ChunkedRoom if family == "chunked" else _ArrowRoom


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
        _unpack_into(self._bits[rows], codes)

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
        valid = None
        if self._absent is not None:
            self._codes[self._absent] = 0
            valid = pa.py_buffer(np.packbits(~self._absent, bitorder=BIT_ORDER))
        data = pa.py_buffer(self._codes.reshape(-1))
        return pa.Array.from_buffers(pa.binary(width), rows, [valid, data])


class _ChunkedRoom(_ArrowRoom):
    """The same as a chunked array."""

    def reports(self) -> Any:
        import pyarrow as pa

        return pa.chunked_array([super().reports()])


class _PandasRoom(_ArrowRoom):
    """The same behind an array of pandas."""

    def reports(self) -> Any:
        held = super().reports()
        return pd.array(held, dtype=pd.ArrowDtype(held.type))
