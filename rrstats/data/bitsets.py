"""The space of reports that are subsets: which there are, and reading them back from any cells."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats.data.builders import Places
from rrstats.data.categories import Domain, is_missing
from rrstats.data.columns import open_reports
from rrstats.data.encoding import Read
from rrstats.data.packed_bits import BIT_ORDER, Bits, Packed, sizes, unpacked
from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["NOT_IN_TEXT", "PackedReports", "Subsets"]

NOT_IN_TEXT = "CSV and other text cannot hold packed reports; Parquet and Feather files can"


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
