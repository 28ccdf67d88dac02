"""Rows as Avro data, by a schema derived from the table or provided by the writer."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final, cast

import fastavro
import pyarrow as pa

from millstream.formats import java_text
from millstream.formats.avro_bounds import AvroBounds
from millstream.formats.value_count import ValueCount, width
from millstream.sql.types import APPROXIMATE, BINARIES, CHARACTER, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal
    from typing import TypeAlias

    Conversion: TypeAlias = Callable[[Any], object]

_MICROS_PER_MILLI: Final = 1000
_NAMED_SCHEMAS: Final = "__named_schemas"
"""Where fastavro keeps the named schemas within a schema that it has parsed."""
_DATUM: Final = "datum"
_NO_BRANCH: Final = "no branch"
"""A type that fastavro does not know, and therefore rejects."""


class AvroData:
    """Reads and writes bare data of one schema. Dates, times and decimals are plain numbers and bytes."""

    def __init__(self, schema: Any) -> None:
        plain = _without_logical_types(schema)
        self._schema = fastavro.parse_schema(plain)
        self._bounds = AvroBounds(self._schema)
        self._is_enclosed = not (isinstance(plain, dict) and plain.get("type") == "record")
        if self._is_enclosed:
            # A record adds no bytes; any other root would be parsed again for each message.
            plain = {"type": "record", "name": "enclosing_datum__", "fields": [{"name": _DATUM, "type": plain}]}
        self._reading: Any = _reject_negative_indices(fastavro.parse_schema(plain))

    def read(self, data: bytes, start: int = 0) -> Any:
        """Raises ValueError if the bytes are not a datum of the schema; a text that is not UTF-8 is read as in Java."""
        self._bounds.check(data, start)
        stream = io.BytesIO(data)
        stream.seek(start)
        try:
            datum: Any = fastavro.schemaless_reader(
                stream, self._reading, None, handle_unicode_errors=java_text.AS_JAVA
            )
        except Exception as error:  # noqa: BLE001 - the reader raises whatever the bytes lead it to
            self._bounds.walk(data, start)
            raise ValueError(f"It is not a datum of the writer's schema ({type(error).__name__})") from None
        return datum[_DATUM] if self._is_enclosed else datum

    def write(self, datum: Any) -> bytes:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, self._schema, datum)
        return stream.getvalue()


def _without_logical_types(schema: Any) -> Any:
    # As in Flink, values are read as plain numbers: the writer's logical types have no effect.
    if isinstance(schema, list):
        return [_without_logical_types(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: value for key, value in schema.items() if key not in ("logicalType", "precision", "scale", "default")}
    for key in ("type", "items", "values"):
        if key in plain:
            plain[key] = _without_logical_types(plain[key])
    if "fields" in plain:
        plain["fields"] = [_without_logical_types(field) for field in plain["fields"]]
    return plain


def _reject_negative_indices(schema: Any) -> Any:
    """The parsed schema, such that a negative branch or symbol number is rejected, not counted from the end."""
    if isinstance(schema, list):
        return [*map(_reject_negative_indices, schema), *[_NO_BRANCH] * len(schema)]
    if not isinstance(schema, dict):
        return schema
    indexed = dict(schema)
    for key in ("type", "items", "values"):
        if key in schema:
            indexed[key] = _reject_negative_indices(schema[key])
    if "fields" in schema:
        indexed["fields"] = [_reject_negative_indices(field) for field in schema["fields"]]
    if "symbols" in schema:
        indexed["symbols"] = dict(enumerate(schema["symbols"]))
    if _NAMED_SCHEMAS in schema:
        indexed[_NAMED_SCHEMAS] = {
            name: _reject_negative_indices(named) for name, named in schema[_NAMED_SCHEMAS].items()
        }
    return indexed


def conversion_of(type_: DataType, count: ValueCount) -> Conversion:
    """The conversion of a decoded value to one that `pa.array` accepts for this type."""
    convert = _choose_conversion(type_, count)
    return lambda value: None if value is None else convert(value)


def _choose_conversion(type_: DataType, count: ValueCount) -> Conversion:  # noqa: C901, PLR0912 - one line per type
    match type_.root:
        case TypeRoot.BOOLEAN:
            return lambda value: _tag_type(value, bool)
        case TypeRoot.TINYINT | TypeRoot.SMALLINT:
            return _narrow_to(8 if type_.root is TypeRoot.TINYINT else 16)
        case TypeRoot.INT | TypeRoot.DATE:
            return lambda value: _check_range(_tag_type(value, int), 32)
        case TypeRoot.TIME:
            return lambda value: _check_time(_tag_type(value, int))
        case TypeRoot.BIGINT:
            return lambda value: _tag_type(value, int)
        case root if root in APPROXIMATE:
            return lambda value: float(_tag_type(value, int, float))
        case root if root in CHARACTER:
            return lambda value: _tag_type(value, str)
        case root if root in BINARIES:
            return lambda value: _tag_type(value, bytes)
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return lambda value: _check_range(_tag_type(value, int) * _MICROS_PER_MILLI, 64)
        case TypeRoot.DECIMAL:
            return _decimal_reading(type_)
        case TypeRoot.ARRAY:
            return _array_reading(cast("DataType", type_.element), count)
        case TypeRoot.MAP:
            return _map_reading(cast("DataType", type_.element), count)
        case TypeRoot.MULTISET:
            return lambda value: list(_tag_type(value, dict).items())
        case _:
            return row_conversion(tuple((field.name, field.type) for field in type_.fields), count)


def _array_reading(element: DataType, count: ValueCount) -> Conversion:
    convert, values = conversion_of(element, count), width(element)

    def read(value: Any) -> list[object]:
        count.add(len(_tag_type(value, list)), values)
        return [convert(item) for item in value]

    return read


def _map_reading(element: DataType, count: ValueCount) -> Conversion:
    convert, values = conversion_of(element, count), 1 + width(element)

    def read(value: Any) -> list[tuple[str, object]]:
        count.add(len(_tag_type(value, dict)), values)
        return [(key, convert(member)) for key, member in value.items()]

    return read


def row_conversion(fields: tuple[tuple[str, DataType], ...], count: ValueCount) -> Conversion:
    """The conversion of a record to its fields by name; missing fields are NULL."""
    readings = [(name, conversion_of(type_, count), type_.nullable) for name, type_ in fields]

    def read(record: Any) -> dict[str, object]:
        members = _tag_type(record, dict)
        for name, _, nullable in readings:
            if name not in members and not nullable:
                raise ValueError(f'the writer has no field "{name}"')
        return {name: convert(members.get(name)) for name, convert, _ in readings}

    return read


def _decimal_reading(type_: DataType) -> Conversion:
    scale, limit = cast("int", type_.scale), 10 ** cast("int", type_.precision)

    def read(value: Any) -> Decimal | None:
        unscaled = int.from_bytes(_tag_type(value, bytes), "big", signed=True)
        return java_text.scale_decimal(unscaled, scale) if abs(unscaled) < limit else None

    return read


def _narrow_to(bits: int) -> Conversion:
    """As Java converts an int to a byte or short: the upper bits are dropped."""
    half = 1 << (bits - 1)
    return lambda value: (_tag_type(value, int) + half) % (2 * half) - half


def _check_range(number: int, bits: int) -> int:
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"{number} is out of range")
    return number


def _check_time(millis: int) -> int:
    """Flink accepts any number and fails where the row is written; here the message is undecodable."""
    if not 0 <= millis < java_text.MILLIS_PER_DAY:
        raise ValueError(f"{millis} is not a time of the day in milliseconds")
    return millis


def _tag_type(value: Any, *types: type) -> Any:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f"a value of the writer is {type(value).__name__}")
    return value


def data_of(table: pa.Table, columns: tuple[tuple[str, DataType], ...]) -> list[dict[str, object]]:
    """The rows in the form that `AvroData.write` accepts."""
    arrays = {name: _data(table[name].combine_chunks(), type_) for name, type_ in columns}
    return [dict(zip(arrays, row, strict=True)) for row in zip(*arrays.values(), strict=True)]


def _data(array: pa.Array, type_: DataType) -> list[Any]:
    values: list[Any]
    match type_.root:
        case TypeRoot.DATE:
            values = array.cast(pa.int32()).to_pylist()
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            micros = array.cast(pa.int64()).to_pylist()
            values = [None if value is None else value // _MICROS_PER_MILLI for value in micros]
        case TypeRoot.DECIMAL:
            scale = cast("int", type_.scale)
            values = [None if value is None else _unscaled_bytes(value, scale) for value in array.to_pylist()]
        case TypeRoot.ARRAY:
            items = _data(array.flatten(), cast("DataType", type_.element))
            values = _regroup(array, items)
        case TypeRoot.MAP | TypeRoot.MULTISET:
            values = [None if value is None else dict(value) for value in _maps(array, type_)]
        case TypeRoot.ROW:
            parts = [_data(part, field.type) for part, field in zip(array.flatten(), type_.fields, strict=True)]
            names = [field.name for field in type_.fields]
            rows = [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]
            values = [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
        case _:
            values = array.to_pylist()
    return values


def _regroup(array: pa.Array, items: list[Any]) -> list[Any]:
    left = iter(items)
    return [None if length is None else [next(left) for _ in range(length)] for length in _lengths(array)]


def _maps(array: pa.Array, type_: DataType) -> list[Any]:
    offsets = array.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    keys = array.keys.slice(first, last - first).to_pylist()
    items = array.items.slice(first, last - first)
    values = items.to_pylist() if type_.root is TypeRoot.MULTISET else _data(items, cast("DataType", type_.element))
    return [
        list(zip(keys[start - first : end - first], values[start - first : end - first], strict=True))
        if valid
        else None
        for start, end, valid in zip(offsets, offsets[1:], array.is_valid().to_pylist(), strict=False)
    ]


def _lengths(array: pa.Array) -> list[int | None]:
    lengths: list[int | None] = pa.compute.list_value_length(array).to_pylist()
    return lengths


def _unscaled_bytes(value: Decimal, scale: int) -> bytes:
    """As few bytes as two's complement needs, as in Java's BigInteger."""
    unscaled = java_text.unscaled_value(value, scale)
    return unscaled.to_bytes((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1, "big", signed=True)
