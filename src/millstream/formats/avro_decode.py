"""Decodes bare Avro data, whose schema follows from the columns of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.avro_binary import AvroData, row_conversion
from millstream.formats.avro_schema import avro_schema
from millstream.formats.avro_walk import AvroWalk
from millstream.formats.decoded import preview, table_of
from millstream.formats.message_decoder import MessageDecoder
from millstream.formats.value_count import ValueCount

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from millstream.sql.types import DataType

    Columns = tuple[tuple[str, DataType], ...]

FEWEST_MESSAGES: Final = 48
"""Fewer are read sooner one by one."""


class AvroDecoder(MessageDecoder):
    """All columns are decoded, whether they are needed or not: the bytes contain no field names."""

    empty_says_nothing = False

    def __init__(self, columns: Columns, needed: tuple[str, ...]) -> None:
        self._columns = columns
        self._needed = needed
        self._count = ValueCount()
        self._data = AvroData(avro_schema(columns, legacy_timestamps=False))
        self._row = row_conversion(columns, self._count)
        types = dict(columns)
        super().__init__(arrow_schema((name, types[name]) for name in needed), reads_batches=True, ignores_errors=False)

    def __reduce__(self) -> tuple[object, ...]:
        return AvroDecoder, (self._columns, self._needed)

    def _prepare(self, messages: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
        return messages, np.ones(len(messages), np.bool_)

    def _read_batch(self, messages: pa.Array) -> tuple[pa.Table, None] | None:
        if len(messages) < FEWEST_MESSAGES:
            return None
        found = AvroWalk(messages).read(self._columns, self._needed)
        return table_of([found[name] for name in self._needed], self._schema, len(messages)), None

    def _rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        self._count.begin(message)
        row: Any = self._row(self._data.read(message))
        return [[row[name] for name in self._needed]], True

    def _failure(self, message: bytes, cause: Exception) -> str:
        return f"Failed to deserialize Avro record. {cause}. It is '{preview(message)}'."
