"""Avro preceded by the id of its schema: a zero byte, four bytes of id, then the datum."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.changelog import ALL_CHANGES, KIND, RowKind
from millstream.formats.arrow_types import arrow_schema
from millstream.formats.avro_binary import AvroData, data_of, row_conversion
from millstream.formats.avro_encode import AvroEncoder
from millstream.formats.avro_schema import avro_schema, debezium_schema
from millstream.formats.cdc_changes import before_and_after, change_of
from millstream.formats.cdc_dialect import DEBEZIUM
from millstream.formats.decoded import preview
from millstream.formats.one_by_one import OneByOne, decode_each
from millstream.formats.schema_registry import NoSchemaError, RegistryError, SchemaRegistry
from millstream.formats.value_count import ValueCount
from millstream.sql.types import STRING, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.formats.confluent_format import ConfluentAvroFormat
    from millstream.formats.decoded import Decoded

_HEAD: Final = struct.Struct(">bI")
_MAGIC: Final = 0
_PUTS_IN: Final = (RowKind.INSERT, RowKind.UPDATE_AFTER)
_CORRUPT_RECORD: Final = "Failed to deserialize Avro record."
_CORRUPT_CHANGE: Final = "Can't deserialize Debezium Avro message."


def schema_number(message: bytes) -> int:
    if len(message) < _HEAD.size or message[0] != _MAGIC:
        raise ValueError("Unknown data format. Magic number does not match")
    number: int = _HEAD.unpack_from(message)[1]
    return number


class ConfluentAvroDecoder:
    """Decodes each message by its writer's schema; columns are found by name, and nullable ones may be missing."""

    def __init__(self, columns: tuple[tuple[str, DataType], ...], format_: ConfluentAvroFormat) -> None:
        self._columns = columns
        self._format = format_
        self._changes = format_.changelog == ALL_CHANGES
        schema = arrow_schema(columns)
        self._schema = schema.append(pa.field(KIND, pa.int8())) if self._changes else schema
        self._count = ValueCount()
        self._row = row_conversion(_change_fields(columns) if self._changes else columns, self._count)
        self._registry = SchemaRegistry(format_.options.registry)
        self._data: dict[int, AvroData] = {}
        self._without_schema: dict[int, str] = {}
        """Why an id has no schema, as far as this batch has found out."""

    def __reduce__(self) -> tuple[object, ...]:
        return ConfluentAvroDecoder, (self._columns, self._format)

    def decode(self, values: pa.Array, *, sets_aside: bool = False) -> Decoded:
        """Raises RegistryError if a registry does not respond. A missing schema may exist by the next batch."""
        self._without_schema.clear()
        rows_of = self._changes_of if self._changes else self._rows
        return decode_each(values, OneByOne(self._schema, rows_of, self._failure), sets_aside=sets_aside)

    def _rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        record = self._record(message)
        return [[record[name] for name in self._schema.names]], True

    def _changes_of(self, message: bytes) -> tuple[list[list[object]], bool]:
        """An empty message has no changes, like one that is NULL."""
        if not message:
            return [], True
        record = self._record(message)
        changes = before_and_after(change_of(record["op"], DEBEZIUM), record["before"], record["after"])
        names = self._schema.names[:-1]
        return [[*(row[name] for name in names), kind] for kind, row in changes], True

    def _failure(self, message: bytes, cause: Exception) -> str:
        return f"{_CORRUPT_CHANGE if self._changes else _CORRUPT_RECORD} {cause}. It is '{preview(message)}'."

    def _record(self, message: bytes) -> Any:
        number = schema_number(message)
        if number not in self._data:
            if number in self._without_schema:
                raise ValueError(self._without_schema[number])
            try:
                self._data[number] = self._data_of(number)
            except ValueError as error:
                self._without_schema[number] = str(error)
                raise
        self._count.begin(message)
        return self._row(self._data[number].read(message, _HEAD.size))

    def _data_of(self, number: int) -> AvroData:
        try:
            return AvroData(self._registry.schema_of(number))
        except NoSchemaError as error:
            raise ValueError(str(error)) from None
        except RegistryError:
            raise
        except Exception as error:  # noqa: BLE001 - a registry keeps schemas of other kinds too
            raise ValueError(f"The writer's schema cannot be read: {error}") from None


class ConfluentAvroEncoder:
    """Writes each row by the schema of the table, which it registers with the first row."""

    def __init__(self, columns: tuple[tuple[str, DataType], ...], format_: ConfluentAvroFormat) -> None:
        self._columns = columns
        self._format = format_
        self._changes = format_.changelog == ALL_CHANGES
        derived = debezium_schema(columns) if self._changes else avro_schema(columns)
        declared = format_.options.schema
        self._written = derived if declared is None else json.loads(declared)
        self._data = AvroData(self._written)
        self._by_column = AvroEncoder(columns) if declared is None and not self._changes else None
        self._registry = SchemaRegistry(format_.options.registry)

    def __reduce__(self) -> tuple[object, ...]:
        return ConfluentAvroEncoder, (self._columns, self._format)

    def encode(self, table: pa.Table) -> pa.Array:
        """The messages, one per row, never NULL."""
        if self._format.options.subject is None:
            raise RegistryError(f"Option '{self._format.name}.subject' is required for serialization")
        if not table.num_rows:
            return pa.array([], pa.binary())
        head = _HEAD.pack(_MAGIC, self._registry.register(self._format.options.subject, self._written))
        if self._by_column is not None:
            return pc.binary_join_element_wise(head, self._by_column.encode(table), b"")
        rows = data_of(table, self._columns)
        data = self._change_data(rows, table) if self._changes else rows
        return pa.array([head + self._data.write(datum) for datum in data], pa.binary())

    def _change_data(self, rows: list[dict[str, object]], table: pa.Table) -> Iterator[dict[str, object]]:
        kinds = table[KIND].to_pylist() if KIND in table.column_names else [RowKind.INSERT] * len(rows)
        for row, kind in zip(rows, kinds, strict=True):
            puts_in = kind in _PUTS_IN
            yield {"before": None if puts_in else row, "after": row if puts_in else None, "op": "c" if puts_in else "d"}


def _change_fields(columns: tuple[tuple[str, DataType], ...]) -> tuple[tuple[str, DataType], ...]:
    row = DataType(TypeRoot.ROW, fields=tuple(Field(name, type_) for name, type_ in columns))
    return ("before", row), ("after", row), ("op", STRING)
