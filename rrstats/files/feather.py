"""Arrow IPC files, which Feather files are: read batch by batch, and write the like again.

The format has no row groups: the batches of the source become batches of the target, of as many
rows, or of fewer where there are very many.  A dictionary stands in such a file once and may
grow, so the reader sees the whole of it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from rrstats.files import file_metadata, parts
from rrstats.files.parts import Changed, ReportSpace, TablePiece, Writer, changed_schema, reading
from rrstats.files.typed import TypedPart
from rrstats.mechanisms.records import Record

__all__ = ["FeatherPart"]

WHAT = "an Arrow IPC file (Feather version 2)"


class FeatherPart(TypedPart):
    """One Arrow IPC file."""

    def __init__(self, path: Path, relative: str) -> None:
        self.path, self.relative = path, relative
        with reading(path, WHAT), pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_file(file)
            self.schema = reader.schema
            self._footer = getattr(reader, "metadata", None)
            self.rows: int | None = _rows_in(file)
        with reading(path, WHAT):
            self._codec = _codec_of(path)
        self.names = self.schema.names
        self._metadata = dict(self.schema.metadata or {})
        self.records = file_metadata.read_records(self._metadata)

    def pieces(
        self,
        spaces: Mapping[str, ReportSpace],
        *,
        report_bytes: int = 0,
        lines: bool = False,
        only: bool = False,
    ) -> Iterator[TablePiece]:
        """The batches of the file; long ones are cut."""
        with reading(self.path, WHAT), pa.OSFile(str(self.path)) as file:
            columns = [self.names.index(name) for name in spaces] if only else None
            options = pa.ipc.IpcReadOptions(included_fields=columns)
            reader = pa.ipc.open_file(file, options=options)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                for start in range(0, batch.num_rows, parts.GROUP_ROWS):
                    piece = batch.slice(start, parts.GROUP_ROWS)
                    yield TablePiece(piece, piece, opens=True, closes=True)

    def bytes_expected(self, changed: Sequence[Changed]) -> int:
        """What the types say."""
        return (self.rows or 0) * parts.row_bytes(self.schema_of(changed))

    def schema_of(self, changed: Sequence[Changed]) -> pa.Schema:
        """The source's schema with the types of the reports."""
        return changed_schema(self.schema.remove_metadata(), changed)

    def writer(
        self, sink: IO[bytes], changed: Sequence[Changed], records: Sequence[Record], shuffled: bool
    ) -> Writer:
        """A writer with the source's compression."""
        metadata = file_metadata.release_metadata(self._metadata, changed, records, feather=True)
        schema = self.schema_of(changed).with_metadata(metadata)
        names = [column.name for column in changed]
        footer = file_metadata.without(self._footer or {}, names)
        return _FeatherWriter(sink, schema, self._codec, footer)


class _FeatherWriter:
    """Each batch of a group becomes a batch of the file."""

    def __init__(self, sink: IO[bytes], schema: pa.Schema, codec: str | None, footer: Any) -> None:
        options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
        more = {"metadata": footer} if footer else {}
        self._schema = schema
        self._writer = pa.ipc.new_file(sink, schema, options=options, **more)

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write batches."""
        for batch in batches:
            self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


def _rows_in(file: pa.NativeFile) -> int:
    """The rows of all batches, of which no column is read."""
    reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=[]))
    return sum(reader.get_batch(number).num_rows for number in range(reader.num_record_batches))


# -- the compression of a file, which pyarrow does not tell ----------------------------------

# Numbers of the Arrow format: Message.fbs (Message, RecordBatch, BodyCompression).
_MESSAGE_HEADER, _BATCH_COMPRESSION, _COMPRESSION_CODEC = 2, 3, 0
_CODECS = {0: "lz4", 1: "zstd"}


def _codec_of(path: Path) -> str | None:
    """How the first batch of a file is compressed; "lz4", as pandas does, where there is none."""
    with pa.OSFile(str(path)) as file:
        file.seek(8)  # behind the magic word the file is a stream
        for message in pa.MessageReader.open_stream(file):
            if message.type == "record batch":
                return _codec_in(message.metadata.to_pybytes())
    return "lz4"


def _codec_in(message: bytes) -> str | None:
    """The codec in the header of a record batch, a FlatBuffer."""
    (root,) = struct.unpack_from("<I", message, 0)
    header = _child(message, root, _MESSAGE_HEADER)
    compression = None if header is None else _child(message, header, _BATCH_COMPRESSION)
    if compression is None:
        return None
    place = _field(message, compression, _COMPRESSION_CODEC)
    return _CODECS.get(0 if place is None else message[place], "lz4")


def _field(message: bytes, table: int, number: int) -> int | None:
    """Where a field of a table stands; None where it has its default."""
    (back,) = struct.unpack_from("<i", message, table)
    size, _ = struct.unpack_from("<HH", message, table - back)
    if 4 + 2 * number >= size:
        return None
    (offset,) = struct.unpack_from("<H", message, table - back + 4 + 2 * number)
    return table + offset if offset else None


def _child(message: bytes, table: int, number: int) -> int | None:
    """Where the table stands that a field refers to."""
    place = _field(message, table, number)
    return None if place is None else place + struct.unpack_from("<I", message, place)[0]
