"""The Avro schema of a table, as Flink derives it: reader and writer need no other agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable

RECORD_NAME: Final = "org.apache.flink.avro.generated.record"
_PRIMITIVES: Final[dict[TypeRoot, Any]] = {
    TypeRoot.BOOLEAN: "boolean",
    TypeRoot.TINYINT: "int",
    TypeRoot.SMALLINT: "int",
    TypeRoot.INT: "int",
    TypeRoot.BIGINT: "long",
    TypeRoot.FLOAT: "float",
    TypeRoot.DOUBLE: "double",
    TypeRoot.CHAR: "string",
    TypeRoot.VARCHAR: "string",
    TypeRoot.STRING: "string",
    TypeRoot.BYTES: "bytes",
    TypeRoot.DATE: {"type": "int", "logicalType": "date"},
    TypeRoot.TIME: {"type": "int", "logicalType": "time-millis"},
    TypeRoot.TIMESTAMP: {"type": "long", "logicalType": "timestamp-millis"},
}


def avro_schema(columns: Iterable[tuple[str, DataType]], name: str = RECORD_NAME) -> dict[str, Any]:
    fields = [{"name": column, **_field(type_, f"{name}_{column}")} for column, type_ in columns]
    return {"type": "record", "name": name, "fields": fields}


def _field(type_: DataType, name: str) -> dict[str, Any]:
    schema = _nullable(type_, name)
    return {"type": schema, "default": None} if type_.nullable else {"type": schema}


def _nullable(type_: DataType, name: str) -> Any:
    schema = _bare(type_, name)
    return ["null", schema] if type_.nullable else schema


def _bare(type_: DataType, name: str) -> Any:
    match type_.root:
        case TypeRoot.DECIMAL:
            return {
                "type": "bytes",
                "logicalType": "decimal",
                "precision": type_.precision,
                "scale": type_.scale,
            }
        case TypeRoot.ARRAY:
            assert type_.element is not None
            return {"type": "array", "items": _nullable(type_.element, name)}
        case TypeRoot.MAP:
            assert type_.element is not None
            return {"type": "map", "values": _nullable(type_.element, name)}
        case TypeRoot.ROW:
            return avro_schema(((field.name, field.type) for field in type_.fields), name)
        case root:
            return _PRIMITIVES[root]
