"""Arrow types whose rows can be moved without a trace of their old order, and casts to them.

`pyarrow`'s ``take`` copies the cells that it takes, one after another, for most types.  Of a view
(``list_view``, ``string_view`` and so on) it copies only references, and the values remain in the
order of the source.  So views are moved as lists and text, and become views again afterwards.
Only types that are known to be copied are allowed, so a type of a newer Arrow is refused, and so
are run-end encoded columns, whose rows ``take`` does not move.

Arrow's own cast from list views is not used: where two views share values, pyarrow 26 returns
lists that are not valid.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

FLAT = (
    pa.types.is_null,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_temporal,  # dates, times, timestamps, durations and intervals
    pa.types.is_fixed_size_binary,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_string,
    pa.types.is_large_string,
)
"""Types without children that ``take`` copies."""


def compact_type(type: pa.DataType) -> pa.DataType | None:
    """The type in which cells are moved; None if their old order might remain visible.

    >>> compact_type(pa.list_view(pa.int8())), compact_type(pa.list_(pa.int8()))
    (LargeListType(large_list<item: int8>), ListType(list<item: int8>))
    """
    types = pa.types
    if any(is_type(type) for is_type in FLAT):
        return type
    if types.is_string_view(type):
        return pa.large_string()
    if types.is_binary_view(type):
        return pa.large_binary()
    if isinstance(type, pa.BaseExtensionType):
        storage = compact_type(type.storage_type)
        return type if storage == type.storage_type else storage
    if not (_is_list(type) or _is_other_nested(type)):
        return None
    children = [type.field(place) for place in range(type.num_fields)]
    moved_types = [compact_type(child.type) for child in children]
    if None in moved_types:
        return None
    if moved_types == [child.type for child in children] and not _is_list_view(type):
        return type
    moved = [child.with_type(kind) for child, kind in zip(children, moved_types, strict=True)]
    if _is_list(type):
        return pa.large_list(moved[0])
    if types.is_fixed_size_list(type):
        return pa.list_(moved[0], type.list_size)
    if types.is_struct(type):
        return pa.struct(moved)
    return None  # a map or a union with views inside


def _is_list_view(type: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(type) or pa.types.is_large_list_view(type))


def _is_list(type: pa.DataType) -> bool:
    """True for lists of any length."""
    return bool(_is_list_view(type) or pa.types.is_list(type) or pa.types.is_large_list(type))


def _is_other_nested(type: pa.DataType) -> bool:
    """True for other types with children that ``take`` copies if it copies the children."""
    types = pa.types
    allowed = (types.is_fixed_size_list, types.is_struct, types.is_map, types.is_union)
    return any(is_type(type) for is_type in allowed)


def compacted(cells: pa.Array) -> pa.Array:
    """Cells in their compact type, unchanged where they have it."""
    type = cells.type
    target = compact_type(type)
    if target is None or target == type:
        return cells
    if isinstance(type, pa.BaseExtensionType):
        return compacted(cells.storage)
    if _is_list(type):
        return _as_large_lists(cells, target)
    if pa.types.is_fixed_size_list(type):
        width = type.list_size
        values = cells.values.slice(cells.offset * width, len(cells) * width)
        nulls = cells.is_null()
        return pa.FixedSizeListArray.from_arrays(compacted(values), type=target, mask=nulls)
    if pa.types.is_struct(type):
        children = [compacted(cells.field(place)) for place in range(type.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(target), mask=cells.is_null())
    return cells.cast(target)  # views of text and bytes


def _as_large_lists(cells: pa.Array, target: pa.DataType) -> pa.Array:
    """Lists or list views as lists whose values follow one another."""
    nulls = cells.is_null().to_numpy(zero_copy_only=False)
    offsets = cells.offsets.to_numpy().astype(np.int64)
    if _is_list_view(cells.type):
        starts = offsets
        sizes = cells.sizes.to_numpy().astype(np.int64)
    else:
        starts = offsets[:-1]
        sizes = np.diff(offsets)
    sizes = np.where(nulls, 0, sizes)
    ends = np.cumsum(sizes)
    # For each value its place in the source: the start of its list, and on from there.
    places = np.repeat(starts - (ends - sizes), sizes) + np.arange(sizes.sum())
    values = compacted(cells.values).take(pa.array(places, pa.int64()))
    bounds = pa.array(np.concatenate([[0], ends]), pa.int64())
    return pa.LargeListArray.from_arrays(bounds, values, type=target, mask=pa.array(nulls))


def restored(cells: pa.Array, type: pa.DataType) -> pa.Array:
    """Compact cells in the type that they had, with values in the order of the cells."""
    if cells.type == type:
        return cells
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, restored(cells, type.storage_type))
    if _is_list(type):
        return _from_large_lists(cells, type)
    if pa.types.is_fixed_size_list(type):
        width = type.list_size
        values = cells.values.slice(cells.offset * width, len(cells) * width)
        children = restored(values, type.value_type)
        return pa.FixedSizeListArray.from_arrays(children, type=type, mask=cells.is_null())
    if pa.types.is_struct(type):
        fields = list(type)
        children = [restored(cells.field(n), field.type) for n, field in enumerate(fields)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=cells.is_null())
    return cells.cast(type)


def _from_large_lists(cells: pa.Array, type: pa.DataType) -> pa.Array:
    """Lists whose values follow one another as lists or list views of another type."""
    offsets = cells.offsets.to_numpy()
    first = int(offsets[0])
    last = int(offsets[-1])
    values = restored(cells.values.slice(first, last - first), type.value_type)
    bounds = offsets - first
    is_large = pa.types.is_large_list(type) or pa.types.is_large_list_view(type)
    width = pa.int64() if is_large else pa.int32()
    mask = pa.array(cells.is_null().to_numpy(zero_copy_only=False))
    if _is_list_view(type):
        container = pa.LargeListViewArray if is_large else pa.ListViewArray
        starts = pa.array(bounds[:-1]).cast(width)  # raises where 32 bits are too few
        sizes = pa.array(np.diff(bounds)).cast(width)
        return container.from_arrays(starts, sizes, values, type=type, mask=mask)
    container = pa.LargeListArray if is_large else pa.ListArray
    return container.from_arrays(pa.array(bounds).cast(width), values, type=type, mask=mask)
