"""What the formats share whose columns have Arrow types, Parquet and Arrow IPC alike."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from rrstats.files import file_metadata, parts
from rrstats.files.parts import ReportSpace

__all__ = ["TypedPart"]


class TypedPart:
    """A file with a schema: its names, types and keys, as a `parts.Part` is asked for them."""

    document_is_beside = False
    schema: pa.Schema
    names: list[str]
    _metadata: dict[bytes, bytes]

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column."""
        return self.schema.field(self.names.index(name)).type

    @property
    def fields(self) -> Sequence[object]:
        """Names, types and nullability."""
        return list(self.schema)

    def no_cells(self, name: str, space: ReportSpace) -> pa.Array:
        """An empty array of the column's type."""
        return parts.no_cells(self.type_of(name))

    def has_copy(self, name: str) -> bool:
        """Whether an index of pandas has the column's name."""
        return file_metadata.carries_copy(self._metadata, name)
