"""Converts rows to Protocol Buffers messages and back; absent and NULL fields are treated as in Flink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.decoded import preview
from millstream.formats.one_by_one import OneByOne, decode_each
from millstream.formats.protobuf_types import (
    is_enum,
    is_map,
    is_message,
    is_repeated,
    is_text,
    unsigned_bits,
    zero_of,
)
from millstream.formats.value_count import ValueCount, width
from millstream.sql.types import CHARACTER, NESTED, DataType

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from millstream.formats.decoded import Decoded
    from millstream.formats.protobuf_format import ProtobufFormat

    Conversion: TypeAlias = Callable[[Any], Any]

_UNRECOGNIZED: Final = "UNRECOGNIZED"


class ProtobufDecoder:
    """Decodes each message by the descriptor of its type, and only its needed fields."""

    def __init__(
        self, columns: tuple[tuple[str, DataType], ...], format_: ProtobufFormat, needed: tuple[str, ...]
    ) -> None:
        self._arguments = columns, format_, needed
        self._ignores_errors = format_.ignore_parse_errors
        types = dict(columns)
        self._schema = arrow_schema((name, types[name]) for name in needed)
        message_type = format_.descriptors.message_type(format_.message)
        self._parse = message_type.FromString
        self._count = ValueCount()
        reading = _Reading(format_, message_type.DESCRIPTOR, self._count)
        fields = message_type.DESCRIPTOR.fields_by_name
        self._columns = [reading.field(fields[name], types[name]) for name in needed]

    def __reduce__(self) -> tuple[object, ...]:
        return ProtobufDecoder, self._arguments

    def decode(self, values: pa.Array, *, sets_aside: bool = False) -> Decoded:
        reading = OneByOne(self._schema, self._rows, _failure, self._ignores_errors)
        return decode_each(values, reading, sets_aside=sets_aside)

    def _rows(self, data: bytes) -> tuple[list[list[object]], bool]:
        self._count.begin(data)
        message = self._parse(data)
        return [[read(message) for read in self._columns]], True


def _failure(message: bytes, cause: Exception) -> str:
    return f"Failed to deserialize PB object. {cause}. It is '{preview(message)}'."


class _Reading:
    def __init__(self, format_: ProtobufFormat, message: Any, count: ValueCount) -> None:
        self._count = count
        self._nested_defaults = format_.read_default_values
        self._plain_defaults = format_.read_default_values or _is_proto3(message.file)

    def field(self, field: Any, type_: DataType) -> Conversion:
        """The value of this field, NULL if it is absent and defaults are not read."""
        name, convert = field.name, self._value(field, type_)
        reads_default = self._nested_defaults if type_.root in NESTED else self._plain_defaults
        if reads_default or not (field.has_presence or is_repeated(field)):
            return lambda message: convert(getattr(message, name))
        if is_repeated(field):
            return lambda message: convert(found) if len(found := getattr(message, name)) else None
        return lambda message: convert(getattr(message, name)) if message.HasField(name) else None

    def _value(self, field: Any, type_: DataType) -> Conversion:
        if is_map(field):
            assert type_.key is not None
            assert type_.element is not None
            entry = field.message_type.fields_by_name
            key, item = self._single(entry["key"], type_.key), self._single(entry["value"], type_.element)
            return self._count_elements(
                1 + width(type_.element), lambda entries: [(key(name), item(entries[name])) for name in entries]
            )
        if is_repeated(field):
            assert type_.element is not None
            element = self._single(field, type_.element)
            return self._count_elements(width(type_.element), lambda elements: [element(one) for one in elements])
        return self._single(field, type_)

    def _count_elements(self, values: int, convert: Conversion) -> Conversion:
        def read(elements: Any) -> Any:
            self._count.add(len(elements), values)
            return convert(elements)

        return read

    def _single(self, field: Any, type_: DataType) -> Conversion:
        if is_message(field):
            inner = field.message_type.fields_by_name
            parts = [(part.name, self.field(inner[part.name], part.type)) for part in type_.fields]
            return lambda message: {name: read(message) for name, read in parts}
        if is_enum(field):
            return _enum_reading(field, type_)
        bits = unsigned_bits(field)
        return (lambda number: _to_signed(number, bits)) if bits else _identity


def _enum_reading(field: Any, type_: DataType) -> Conversion:
    names = {value.number: value.name for value in reversed(field.enum_type.values)}
    if type_.root in CHARACTER:
        return lambda number: names.get(number, _UNRECOGNIZED)

    def read(number: int) -> int:
        if number not in names:
            raise ValueError("Can't get the number of an unknown enum value.")
        return number

    return read


class ProtobufEncoder:
    def __init__(self, columns: tuple[tuple[str, DataType], ...], format_: ProtobufFormat) -> None:
        self._arguments = columns, format_
        self._message_type = format_.descriptors.message_type(format_.message)
        fields = self._message_type.DESCRIPTOR.fields_by_name
        writing = _Writing(format_.null_string_literal)
        self._columns = [(name, writing.field(fields[name], type_)) for name, type_ in columns]

    def __reduce__(self) -> tuple[object, ...]:
        return ProtobufEncoder, self._arguments

    def encode(self, table: pa.Table) -> pa.Array:
        """The messages, one per row, never NULL. A NULL column is a field that is not set."""
        columns = [(name, write, table[name].to_pylist()) for name, write in self._columns]
        make = self._message_type
        messages = [
            make(**{name: write(values[i]) for name, write, values in columns if values[i] is not None})
            for i in range(table.num_rows)
        ]
        return pa.array([message.SerializeToString(deterministic=True) for message in messages], pa.binary())


class _Writing:
    def __init__(self, null_text: str) -> None:
        self._null_text = null_text

    def field(self, field: Any, type_: DataType) -> Conversion:
        if is_map(field):
            assert type_.key is not None
            assert type_.element is not None
            entry = field.message_type.fields_by_name
            key, item = self._element(entry["key"], type_.key), self._element(entry["value"], type_.element)
            return lambda entries: {key(name): item(value) for name, value in entries}
        if is_repeated(field):
            assert type_.element is not None
            element = self._element(field, type_.element)
            return lambda elements: [element(one) for one in elements]
        return self._single(field, type_)

    def _element(self, field: Any, type_: DataType) -> Conversion:
        """Elements cannot be NULL in a message: they become the default of their type."""
        write = self._single(field, type_)
        missing = self._default(field)
        return lambda value: missing if value is None else write(value)

    def _default(self, field: Any) -> Any:
        if is_message(field):
            return {}
        if is_enum(field):
            return field.enum_type.values[0].number
        return self._null_text if is_text(field) else zero_of(field)

    def _single(self, field: Any, type_: DataType) -> Conversion:
        if is_message(field):
            inner = field.message_type.fields_by_name
            parts = [(part.name, self.field(inner[part.name], part.type)) for part in type_.fields]
            return lambda row: {name: write(row[name]) for name, write in parts if row[name] is not None}
        if is_enum(field):
            first = field.enum_type.values[0].number
            known: dict[Any, int] = {value.name: value.number for value in field.enum_type.values}
            known |= {number: number for number in known.values()}
            return lambda value: known.get(value, first)
        bits = unsigned_bits(field)
        return (lambda number: number % (1 << bits)) if bits else _identity


def _is_proto3(file: Any) -> bool:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    return bool(proto.syntax == "proto3")


def _to_signed(number: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def _identity(value: Any) -> Any:
    return value
