"""Ids of persons as blocks of 16 bytes, from any container.

The same id gives the same block from a list, NumPy, pandas or Arrow, so that a keyed report does
not depend on the engine that computes it:

    whole numbers    two's complement of 128 bits, little-endian, of any declared width
    16 bytes         themselves (bytes, a UUID, Arrow's fixed_size_binary(16), NumPy's V16)
    text             BLAKE2b of its UTF-8, 16 bytes; 10 to 20 times slower than the two above
    other bytes      BLAKE2b, 16 bytes

A kind stands beside each block, so that ids of different kinds never meet.  Whole numbers held as
floats are refused, because engines make them of columns with missing values, and inexactly.
Source: BLAKE2b, RFC 7693.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from unicodedata import is_normalized

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Array
from rrstats.data.arrow import arrow_kind, arrow_type
from rrstats.data.categories import is_missing
from rrstats.data.cell_types import kind_of_type, storage_type, type_of
from rrstats.data.columns import open_column
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.randomness.keyed import Identity

if TYPE_CHECKING:
    import pyarrow as pa

Blocks = NDArray[np.uint64]
Kinds = NDArray[np.uint32]

# Kinds of ids; they are part of the words of keyed reports, so they never change.
_INTEGER = 1
_SIXTEEN = 2
_TEXT = 3
_BYTES = 4

_WORDS = "whole numbers below 2**127, 16 bytes each (bytes or UUID), text or bytes"


def identity(ids: Any, name: str = "id") -> Identity:
    """Open ids in any container.

    Parameters
    ----------
    ids : list, array, Series, Index or Arrow array
        One id a row.
    name : str, default "id"
        The argument or column that errors name.

    Returns
    -------
    Identity
        Their number, and a function that reads the blocks of some rows.

    Raises
    ------
    ArgumentValueError
        Some are missing.
    ArgumentTypeError
        The column's type cannot hold ids.

    Examples
    --------
    >>> blocks, kinds = identity([5, -1]).read(slice(0, 2))
    >>> [hex(int(word)) for word in blocks.ravel()]
    ['0x5', '0x0', '0xffffffffffffffff', '0xffffffffffffffff']
    """
    column = open_column(ids)
    if column.shape == ():
        raise ArgumentTypeError(f"{name} must be a column of ids, found {type(ids).__name__}")
    cells = column.cells
    if isinstance(cells, list):
        absent = sum(map(is_missing, cells))
    elif column.family == "arrow":
        absent = cells.null_count
    else:
        absent = int(cells.dtype.kind != "V" and np.count_nonzero(pd.isna(cells)))
    if absent:
        raise ArgumentValueError(
            f"{name} must not be missing in any row, found {absent} of {column.rows} missing: "
            "without an id a report cannot be recomputed"
        )
    _read(cells[:0], name)  # raises where the type holds no ids
    return Identity(column.rows, lambda rows: _read(column.cells[rows], name))


def _read(part: Any, name: str) -> tuple[Blocks, Kinds]:
    """Words and kinds of some ids, by the declared type of their container."""
    if isinstance(part, pd.Categorical):
        return _of_places(part.codes, part.categories, name)
    dtype = type_of(part)
    arrow = arrow_type(dtype)
    if arrow is not None:
        return _of_arrow(part if arrow is dtype else part.__arrow_array__(), name)
    kind = kind_of_type(dtype)
    if kind == "int":
        return _of_integers(part.astype(storage_type(dtype), copy=False))
    if kind == "str" or dtype == np.dtype(object):
        return _of_objects(part if isinstance(part, list) else part.tolist(), name)
    if dtype == np.dtype("V16") and dtype.names is None:
        return _of_bytes(np.ascontiguousarray(part).tobytes())
    raise _refused(dtype, name)


def _of_arrow(part: pa.Array | pa.ChunkedArray, name: str) -> tuple[Blocks, Kinds]:
    """Words and kinds of the ids in an Arrow array."""
    import pyarrow as pa

    part = part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part
    part = part.storage if isinstance(part, pa.ExtensionArray) else part
    if pa.types.is_dictionary(part.type):
        return _of_places(part.indices.to_numpy(), part.dictionary, name)
    if pa.types.is_integer(part.type):
        return _of_integers(part.to_numpy())
    if part.type == pa.binary(16) and len(part):
        return _of_bytes(part.buffers()[1][part.offset * 16 :][: len(part) * 16])
    if arrow_kind(part.type) in ("str", "bytes"):
        return _of_objects(part.to_pylist(), name)
    raise _refused(part.type, name)


def _of_places(
    places: Array, distinct: pd.Index[Any] | pa.Array, name: str
) -> tuple[Blocks, Kinds]:
    """Words and kinds of ids that are places among distinct ones; unused ones are not read."""
    used, used_place = np.unique(places, return_inverse=True)
    blocks, kinds = _read(open_column(distinct.take(used)).cells, name)
    return blocks[used_place], kinds[used_place]


def _refused(dtype: Any, name: str) -> ArgumentTypeError:
    """The error for a declared type that holds no ids."""
    why = ""
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        why = "; are whole numbers held as floats because some are missing? drop these rows first"
    if isinstance(dtype, np.dtype) and dtype.kind == "S":
        why = "; NumPy drops zeros at the end of these: give objects, or V16 for 16 bytes each"
    return ArgumentTypeError(f"{name} must hold {_WORDS}, found {dtype}{why}")


def _of_integers(part: Array) -> tuple[Blocks, Kinds]:
    """Two's complement of 128 bits of whole numbers of NumPy."""
    blocks = np.zeros((len(part), 2), dtype=np.uint64)
    if part.dtype.kind == "u":
        blocks[:, 0] = part
    else:
        wide = part.astype(np.int64, copy=False)
        blocks[:, 0] = wide.view(np.uint64)
        if part.min(initial=0) < 0:
            blocks[:, 1] = (wide >> 63).view(np.uint64)
    return blocks, np.full(len(part), _INTEGER, dtype=np.uint32)


def _of_bytes(joined: bytes | pa.Buffer) -> tuple[Blocks, Kinds]:
    """Blocks of ids of 16 bytes each, joined without a gap."""
    # Their bytes as they stand: what is little-endian is the layout of the words alone.
    blocks = np.frombuffer(joined, dtype="<u8").reshape(-1, 2).astype(np.uint64)
    return blocks, np.full(len(blocks), _SIXTEEN, dtype=np.uint32)


def _of_objects(part: list[Any], name: str) -> tuple[Blocks, Kinds]:
    """Words and kinds of ids that are Python objects."""
    pairs = [_of_value(value, name) for value in part]
    blocks, _ = _of_bytes(b"".join([block for block, _ in pairs]))
    return blocks, np.fromiter((kind for _, kind in pairs), np.uint32, len(pairs))


def _of_value(value: Any, name: str) -> tuple[bytes, int]:
    """The 16 bytes and the kind of one id."""
    if isinstance(value, str):
        if value != value.strip() or not (value.isascii() or is_normalized("NFC", value)):
            raise ArgumentValueError(
                f"{name} must hold text without surrounding space, in Unicode's composed form "
                "(NFC): another spelling of an id would count as another person; strip and "
                "normalize the column"
            )
        return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16).digest(), _TEXT
    content = value.bytes if hasattr(value, "bytes") else value  # of a UUID
    if isinstance(content, bytes):
        if len(content) == 16:
            return content, _SIXTEEN
        return blake2b(content, digest_size=16).digest(), _BYTES
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if is_whole and abs(int(value)) < 1 << 127:
        return int(value).to_bytes(16, "little", signed=True), _INTEGER
    raise ArgumentTypeError(f"{name} must hold {_WORDS}, found a {type(value).__name__}")
