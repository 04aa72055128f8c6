"""Arrow types whose rows can be moved without a trace of their old order, and casts to them.

`pyarrow`'s ``take`` copies the cells that it takes, one after another, for most types.  Of a view
of text or bytes it copies only references, and the values remain in the order of the source.  So
views are moved as text and bytes, and become views again afterwards, also inside other types.
Only types that are known to be copied are allowed, so a type of a newer Arrow is refused, and so
are views of lists, unions, and run-end encoded columns, whose rows ``take`` does not move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from rrstats.data.arrow import text_of_view

FIXED = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_temporal,  # dates, times, timestamps, durations and intervals
    pa.types.is_fixed_size_binary,
)
"""Types with a fixed number of bytes for each cell."""

TEXT = (
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_large_string,
    pa.types.is_large_binary,
)

FLAT = (pa.types.is_null, pa.types.is_boolean, *FIXED, *TEXT)
"""Types without children that ``take`` copies."""

LISTS = (pa.types.is_list, pa.types.is_large_list)
"""Lists of any length."""


def is_any(type: pa.DataType, tests: Iterable[Callable[[pa.DataType], bool]]) -> bool:
    """True for a type of one of several kinds, each a test of `pyarrow.types`."""
    return any(test(type) for test in tests)


def compact_type(type: pa.DataType) -> pa.DataType | None:
    """The type in which cells are moved; None if their old order might remain visible.

    >>> compact_type(pa.list_(pa.string_view())), compact_type(pa.list_(pa.int8()))
    (ListType(list<item: large_string>), ListType(list<item: int8>))
    """
    types = pa.types
    if is_any(type, FLAT):
        return type
    text = text_of_view(type)
    if text is not None:
        return text
    if isinstance(type, pa.BaseExtensionType):
        storage = compact_type(type.storage_type)
        return type if storage == type.storage_type else storage
    if not is_any(type, (*LISTS, types.is_fixed_size_list, types.is_struct, types.is_map)):
        return None
    children = [type.field(place) for place in range(type.num_fields)]
    moved_types = [compact_type(child.type) for child in children]
    if None in moved_types:
        return None
    if moved_types == [child.type for child in children]:
        return type
    moved = [child.with_type(kind) for child, kind in zip(children, moved_types, strict=True)]
    if types.is_list(type):
        return pa.list_(moved[0])
    if types.is_large_list(type):
        return pa.large_list(moved[0])
    if types.is_fixed_size_list(type):
        return pa.list_(moved[0], type.list_size)
    return pa.struct(moved) if types.is_struct(type) else None  # None: a map with views inside


def compacted(cells: pa.Array) -> pa.Array:
    """Cells in their compact type, unchanged where they have it or there is none."""
    target = compact_type(cells.type)
    return cells if target is None else converted(cells, target)


def converted(cells: pa.Array, type: pa.DataType) -> pa.Array:
    """Cells in a type from which theirs differs by views, or by extensions of views, alone."""
    if cells.type == type:
        return cells
    if isinstance(cells.type, pa.BaseExtensionType):
        return converted(cells.storage, type)
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, converted(cells, type.storage_type))
    if is_any(type, LISTS):
        offsets = cells.offsets.to_numpy()
        first = int(offsets[0])
        values = converted(cells.values.slice(first, int(offsets[-1]) - first), type.value_type)
        container = pa.ListArray if pa.types.is_list(type) else pa.LargeListArray
        mask = pa.array(cells.is_null().to_numpy(zero_copy_only=False))
        return container.from_arrays(pa.array(offsets - first), values, type=type, mask=mask)
    if pa.types.is_fixed_size_list(type):
        width = type.list_size
        values = cells.values.slice(cells.offset * width, len(cells) * width)
        children = converted(values, type.value_type)
        return pa.FixedSizeListArray.from_arrays(children, type=type, mask=cells.is_null())
    if pa.types.is_struct(type):
        fields = list(type)
        children = [converted(cells.field(n), field.type) for n, field in enumerate(fields)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=cells.is_null())
    return cells.cast(type)  # views of text and bytes
