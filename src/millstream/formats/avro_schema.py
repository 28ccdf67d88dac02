"""The Avro schema of a table, derived as in Flink, so that readers and writers need no other agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from millstream.sql.types import STRING, DataType, Field, TypeRoot

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
    TypeRoot.BINARY: "bytes",
    TypeRoot.VARBINARY: "bytes",
    TypeRoot.BYTES: "bytes",
    TypeRoot.DATE: {"type": "int", "logicalType": "date"},
    TypeRoot.TIME: {"type": "int", "logicalType": "time-millis"},
    TypeRoot.TIMESTAMP: {"type": "long", "logicalType": "timestamp-millis"},
}


def avro_schema(
    columns: Iterable[tuple[str, DataType]], name: str = RECORD_NAME, *, legacy_timestamps: bool = True
) -> dict[str, Any]:
    """With `legacy_timestamps`, TIMESTAMP is Avro's timestamp-millis and TIMESTAMP_LTZ is not supported."""
    fields = [
        {"name": column, **_field(type_, f"{name}_{column}", legacy_timestamps=legacy_timestamps)}
        for column, type_ in columns
    ]
    return {"type": "record", "name": name, "fields": fields}


def debezium_schema(columns: Iterable[tuple[str, DataType]]) -> Any:
    """The schema of a change message: a nullable record of the row before, the row after and the operation."""
    row = DataType(TypeRoot.ROW, fields=tuple(Field(name, type_) for name, type_ in columns))
    return ["null", avro_schema((("before", row), ("after", row), ("op", STRING)))]


def same_shape(one: Any, other: Any) -> bool:
    """Whether two schemas are equal except for names of records, namespaces, docs and defaults."""
    return bool(_shape(one) == _shape(other))


def _shape(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_shape(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema["type"], (dict, list)):
        return _shape(schema["type"])
    if schema["type"] == "record":
        return [(field["name"], _shape(field["type"])) for field in schema["fields"]]
    inner = [_shape(schema[key]) for key in ("items", "values") if key in schema]
    logical = [schema[key] for key in ("logicalType", "precision", "scale") if key in schema]
    return (schema["type"], *inner, *logical) if inner or logical else schema["type"]


def _field(type_: DataType, name: str, *, legacy_timestamps: bool) -> dict[str, Any]:
    schema = _nullable(type_, name, legacy_timestamps=legacy_timestamps)
    return {"type": schema, "default": None} if type_.nullable else {"type": schema}


def _nullable(type_: DataType, name: str, *, legacy_timestamps: bool) -> Any:
    schema = _bare(type_, name, legacy_timestamps=legacy_timestamps)
    return ["null", schema] if type_.nullable else schema


def _bare(type_: DataType, name: str, *, legacy_timestamps: bool) -> Any:
    match type_.root:
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ if not legacy_timestamps:
            unit = "micros" if (type_.precision or 0) > 3 else "millis"  # noqa: PLR2004
            local = "local-" if type_.root is TypeRoot.TIMESTAMP else ""
            return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
        case TypeRoot.DECIMAL:
            return {
                "type": "bytes",
                "logicalType": "decimal",
                "precision": type_.precision,
                "scale": type_.scale,
            }
        case TypeRoot.ARRAY:
            assert type_.element is not None
            return {"type": "array", "items": _nullable(type_.element, name, legacy_timestamps=legacy_timestamps)}
        case TypeRoot.MAP:
            assert type_.element is not None
            return {"type": "map", "values": _nullable(type_.element, name, legacy_timestamps=legacy_timestamps)}
        case TypeRoot.ROW:
            fields = ((field.name, field.type) for field in type_.fields)
            return avro_schema(fields, name, legacy_timestamps=legacy_timestamps)
        case TypeRoot.MULTISET:
            return {"type": "map", "values": ["null", "int"]}
        case root:
            return _PRIMITIVES[root]
