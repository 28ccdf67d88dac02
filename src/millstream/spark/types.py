"""SQL types as Spark writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES: Final = {
    TypeRoot.CHAR: "STRING",
    TypeRoot.VARCHAR: "STRING",
    TypeRoot.BINARY: "BINARY",
    TypeRoot.VARBINARY: "BINARY",
    TypeRoot.BYTES: "BINARY",
    TypeRoot.NULL: "VOID",
    TypeRoot.TIME: "INT",  # milliseconds of the day: Spark cannot pass its own TIME to Python
    TypeRoot.TIMESTAMP: "TIMESTAMP_NTZ",
    TypeRoot.TIMESTAMP_LTZ: "TIMESTAMP_LTZ",
}


def spark_type(type_: DataType) -> str:
    """The type in Spark's DDL, e.g. `DECIMAL(10, 2)` or `ARRAY<STRING>`."""
    match type_.root:
        case TypeRoot.DECIMAL:
            return f"DECIMAL({type_.precision}, {type_.scale})"
        case TypeRoot.ARRAY:
            assert type_.element is not None
            return f"ARRAY<{spark_type(type_.element)}>"
        case TypeRoot.MULTISET:
            assert type_.element is not None
            return f"MAP<{spark_type(type_.element)}, INT>"
        case TypeRoot.MAP:
            assert type_.key is not None
            assert type_.element is not None
            return f"MAP<{spark_type(type_.key)}, {spark_type(type_.element)}>"
        case TypeRoot.ROW:
            fields = ", ".join(f"{quote_name(field.name)}: {spark_type(field.type)}" for field in type_.fields)
            return f"STRUCT<{fields}>"
        case root:
            return _NAMES.get(root, str(root))


def spark_schema(columns: Iterable[tuple[str, DataType]]) -> str:
    return ", ".join(f"{quote_name(name)} {spark_type(type_)}" for name, type_ in columns)


def quote_name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
