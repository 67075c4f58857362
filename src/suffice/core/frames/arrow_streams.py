"""Streams of Arrow that come from a file: their structure is checked before Arrow reads them.

Arrow reads a stream without copying it, unless it is compressed: then a few bytes may ask for any amount of memory. So
only what suffice writes is accepted: plain columns in buffers that are not compressed and do not overlap.

The metadata of a message is a table of FlatBuffers, https://flatbuffers.dev/internals: a table begins with the distance
to its list of fields, which holds the sizes of both and then, for each field, its place in the table.
"""

from __future__ import annotations

import struct
from typing import Any

from suffice.core.errors import InvalidDataError

HEADER, RECORD_BATCH, DICTIONARY_BATCH = 2, 3, 2  # the field of a message that holds its header; types of headers
BUFFERS, COMPRESSION = 2, 3  # fields of a record batch


def read_stream(data: bytes) -> Any:
    """Return the `pyarrow.Table` of a stream; Arrow checks every value.

    Refused are types other than plain ones, and buffers that are compressed or overlap. The table shares the memory of
    the stream.
    """
    import pyarrow as pa

    stream = pa.py_buffer(data)
    try:
        _check_messages(stream)
        table = pa.ipc.open_stream(stream).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, TypeError) as error:
        raise InvalidDataError(str(error)) from None
    if len(set(table.column_names)) < table.num_columns:
        raise InvalidDataError("two columns have the same name")
    _check_views(table, len(data))
    return table


def _check_messages(stream: Any) -> None:
    import pyarrow as pa

    _check_types(pa.ipc.open_stream(stream).schema)
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type == "schema":
            continue
        size = 0 if message.body is None else message.body.size
        try:
            batch = _batch(_Table.root(memoryview(message.metadata)))
            compressed, lengths = batch.field(COMPRESSION) is not None, batch.buffer_lengths(BUFFERS)
        except (struct.error, IndexError, ValueError):
            raise InvalidDataError("a message of the rows has no readable description") from None
        if compressed:
            raise InvalidDataError("the rows are compressed, and suffice writes them plain")
        if any(length < 0 for length in lengths) or sum(lengths) > size:
            raise InvalidDataError(f"the columns of the rows overlap: {sum(lengths)} bytes in {size}")


def _check_types(schema: Any) -> None:
    import pyarrow as pa

    is_a = pa.types
    for field in schema:
        held = field.type.value_type if is_a.is_dictionary(field.type) else field.type
        if is_a.is_nested(held) or is_a.is_run_end_encoded(held) or isinstance(held, pa.BaseExtensionType):
            raise InvalidDataError(f"column {field.name!r} holds {field.type}, which suffice does not write")


def _check_views(table: Any, size: int) -> None:
    """Raise an error if strings share their characters, as views may: they would not once they are copied."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
            total = sum(pc.sum(pc.binary_length(chunk.cast(pa.large_binary()))).as_py() or 0 for chunk in column.chunks)
            if total > size:
                raise InvalidDataError(f"the strings of column {name!r} overlap")


def _batch(message: _Table) -> _Table:
    """Return the record batch of a message, or that of a dictionary."""
    kind = message.number(1, "<B")
    header = message.table(HEADER)
    return header.table(1) if kind == DICTIONARY_BATCH else header


class _Table:
    """A table of FlatBuffers. Reading outside of the bytes is an error of `struct`."""

    def __init__(self, data: memoryview, at: int):
        self.data, self.at = data, at

    @classmethod
    def root(cls, data: memoryview) -> _Table:
        return cls(data, *struct.unpack_from("<I", data, 0))

    def field(self, number: int) -> int | None:
        """Return where a field is; None if it is not there."""
        fields = self.at - self._at("<i", self.at)
        size = self._at("<H", fields)
        place = 4 + 2 * number
        offset = self._at("<H", fields + place) if place < size else 0
        return self.at + offset if offset else None

    def number(self, number: int, kind: str) -> int:
        at = self.field(number)
        return 0 if at is None else self._at(kind, at)

    def table(self, number: int) -> _Table:
        at = self.field(number)
        if at is None:
            raise ValueError("the table is not there")
        return _Table(self.data, at + self._at("<I", at))

    def buffer_lengths(self, number: int) -> list[int]:
        """Return the lengths in a list of buffers, each of which is an offset and a length."""
        at = self.field(number)
        if at is None:
            return []
        first = at + self._at("<I", at)
        count = self._at("<I", first)
        if count > len(self.data) // 16:
            raise ValueError("the list is longer than the message")
        return [self._at("<q", first + 4 + 16 * i + 8) for i in range(count)]

    def _at(self, kind: str, at: int) -> int:
        if at < 0:
            raise ValueError("before the message")
        (found,) = struct.unpack_from(kind, self.data, at)
        return int(found)
