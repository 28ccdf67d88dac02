"""Avro's own JSON encoding: a value of a union is an object with the name of its branch, `{"int":7}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from millstream.formats import java_text
from millstream.formats.arrow_types import arrow_schema
from millstream.formats.avro_binary import data_of, row_conversion
from millstream.formats.avro_schema import avro_schema
from millstream.formats.decoded import preview
from millstream.formats.json_text import escape_for_bytes
from millstream.formats.json_tokens import FractionToken, IntegerToken, JsonObject, parse
from millstream.formats.one_by_one import OneByOne, decode_each
from millstream.formats.value_count import ValueCount

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.formats.decoded import Decoded
    from millstream.sql.types import DataType

    Columns = tuple[tuple[str, DataType], ...]

_BITS: Final = {"int": 32, "long": 64}
_ODD_NUMBERS: Final = {
    "NaN": float("nan"), "Infinity": float("inf"), "INF": float("inf"), "-Infinity": -float("inf"),
    "-INF": -float("inf"),
}  # fmt: skip


class AvroJsonDecoder:
    """Reads each message by the schema of the table, which is also that of the writer."""

    def __init__(self, columns: Columns, needed: tuple[str, ...], *, legacy_timestamps: bool) -> None:
        self._avro_schema = avro_schema(columns, legacy_timestamps=legacy_timestamps)
        self._count = ValueCount()
        self._row = row_conversion(columns, self._count)
        types = dict(columns)
        self._schema = arrow_schema((name, types[name]) for name in needed)

    def decode(self, values: pa.Array, *, sets_aside: bool = False) -> Decoded:
        return decode_each(values, OneByOne(self._schema, self._rows, _failure), sets_aside=sets_aside)

    def _rows(self, message: bytes) -> tuple[list[list[object]], bool]:
        self._count.begin(message)
        row: Any = self._row(read_datum(self._avro_schema, parse(message)))
        return [[row[name] for name in self._schema.names]], True


def _failure(message: bytes, cause: Exception) -> str:
    return f"Failed to deserialize Avro record. {cause} in '{preview(message)}'"


class AvroJsonEncoder:
    def __init__(self, columns: Columns, *, legacy_timestamps: bool) -> None:
        self._columns = columns
        self._schema = avro_schema(columns, legacy_timestamps=legacy_timestamps)

    def encode(self, table: pa.Table) -> pa.Array:
        """The messages, one per row, never NULL."""
        if not self._columns:
            return pa.repeat(pa.scalar(b"{}", pa.binary()), table.num_rows)
        data = data_of(table, self._columns)
        return pa.array([datum_text(self._schema, datum).encode() for datum in data], pa.binary())


def read_datum(schema: Any, value: object) -> Any:
    """The datum that a parsed JSON value encodes. Raises ValueError."""
    if isinstance(schema, list):
        return _read_union(schema, value)
    match _kind(schema):
        case "record":
            return _read_record(schema, _expect(value, JsonObject, "record-start"))
        case "array":
            return [read_datum(schema["items"], item) for item in _expect(value, list, "array-start")]
        case "map":
            members = _expect(value, JsonObject, "map-start")
            return {java_text.encodable(name): read_datum(schema["values"], item) for name, item in members}
        case "null":
            return _expect(value, type(None), "null")
        case "boolean":
            return _expect(value, bool, "boolean")
        case "int" | "long" as kind:
            return _whole_number(value, kind)
        case "float" | "double" as kind:
            return _number(value, kind)
        case kind:
            text = _text(value, kind)
            return java_text.encodable(text) if kind == "string" else text.encode("latin-1", "replace")


def _read_union(branches: list[Any], value: object) -> Any:
    if value is None:
        label, inner = "null", None
    elif isinstance(value, JsonObject) and value:
        label, inner = value[0]
    else:
        raise ValueError(f"Expected start-union. Got {_describe(value)}")
    branch = next((branch for branch in branches if _label(branch) == label), None)
    if branch is None:
        raise ValueError(f"Unknown union branch {label}")
    return read_datum(branch, inner)


def _read_record(schema: Any, members: JsonObject) -> dict[str, Any]:
    """In any order; fields without a column may only follow those that have one."""
    wanted = {field["name"]: field["type"] for field in schema["fields"]}
    found: dict[str, Any] = {}
    strange: list[str] = []
    for name, value in members:
        if len(found) == len(wanted):
            break
        if name in wanted:
            found[name] = read_datum(wanted[name], value)
        else:
            strange.append(name)
    if missing := [name for name in wanted if name not in found]:
        raise ValueError(f"Expected field name not found: {missing[0]}")
    if strange:
        raise ValueError(f"Unknown fields: {strange}")
    return found


def _whole_number(value: object, kind: str) -> int:
    if isinstance(value, FractionToken) and float(value).is_integer():
        number = int(float(value))
    elif isinstance(value, IntegerToken):
        number = int(value)
    else:
        raise ValueError(f"Expected {kind}. Got {_describe(value)}")
    limit = 1 << (_BITS[kind] - 1)
    if not -limit <= number < limit:
        raise ValueError(f"Numeric value ({number}) out of range of {kind}")
    return number


def _number(value: object, kind: str) -> float:
    if isinstance(value, (IntegerToken, FractionToken)):
        read: Callable[[str], float] = java_text.parse_float if kind == "float" else java_text.parse_double
        return read(value)
    if isinstance(value, str) and value in _ODD_NUMBERS:
        return _ODD_NUMBERS[value]
    raise ValueError(f"Expected {kind}. Got {_describe(value)}")


def _text(value: object, kind: str) -> str:
    if isinstance(value, str) and not isinstance(value, (IntegerToken, FractionToken)):
        return value
    raise ValueError(f"Expected {kind}. Got {_describe(value)}")


def _expect(value: Any, type_: type, what: str) -> Any:
    if not isinstance(value, type_):
        raise ValueError(f"Expected {what}. Got {_describe(value)}")  # noqa: TRY004
    return value


def _describe(value: object) -> str:
    match value:
        case None:
            return "VALUE_NULL"
        case bool():
            return f"VALUE_{str(value).upper()}"
        case IntegerToken():
            return "VALUE_NUMBER_INT"
        case FractionToken():
            return "VALUE_NUMBER_FLOAT"
        case str():
            return "VALUE_STRING"
        case JsonObject():
            return "START_OBJECT"
        case _:
            return "START_ARRAY"


def datum_text(schema: Any, datum: Any) -> str:
    """A datum as Java's encoder writes it; Flink's puts a line break before all but the first of a task."""
    if isinstance(schema, list):
        if datum is None:
            return "null"
        branch = next(branch for branch in schema if _label(branch) != "null")
        return f'{{"{_label(branch)}":{datum_text(branch, datum)}}}'
    match _kind(schema):
        case "record":
            fields = (
                f"{_quote(field['name'])}:{datum_text(field['type'], datum[field['name']])}"
                for field in schema["fields"]
            )
            return f"{{{','.join(fields)}}}"
        case "array":
            return f"[{','.join(datum_text(schema['items'], item) for item in datum)}]"
        case "map":
            members = (f"{_quote(name)}:{datum_text(schema['values'], item)}" for name, item in datum.items())
            return f"{{{','.join(members)}}}"
        case "boolean":
            return "true" if datum else "false"
        case "float" | "double" as kind:
            text = java_text.float_text(datum) if kind == "float" else java_text.double_text(datum)
            return _quote(text) if text[-1] in "Ny" else text
        case "string":
            return _quote(datum)
        case "bytes":
            return _quote(datum.decode("latin-1"))
        case _:
            return str(datum)


def _quote(text: str) -> str:
    return f'"{escape_for_bytes(text)}"'


def _kind(schema: Any) -> str:
    kind: str = schema["type"] if isinstance(schema, dict) else schema
    return kind


def _label(schema: Any) -> str:
    label: str = schema["name"] if _kind(schema) == "record" else _kind(schema)
    return label
