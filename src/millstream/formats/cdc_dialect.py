"""Change messages in JSON: how each capture tool represents an insert, an update and a delete."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from millstream.formats.declaration import MetadataKey
from millstream.sql.types import BIGINT, INT, STRING, DataType, TypeRoot


class Change(Enum):
    INSERT = auto()
    UPDATE = auto()
    DELETE = auto()
    NONE = auto()
    """A message that is not a change of rows."""


class Shape(Enum):
    """Where the rows are in a message."""

    BEFORE_AND_AFTER = auto()
    """`before` and `after`, each a whole row."""
    DATA_AND_OLD = auto()
    """`data` is a row, `old` has those of its fields that had another value."""
    LISTS_OF_DATA_AND_OLD = auto()
    """As above, each a list with one entry per row."""


class Reading(Enum):
    """How a metadata value is derived from its field in the message."""

    AS_IS = auto()
    EPOCH_MILLIS = auto()
    EPOCH_SECONDS = auto()
    ISO_TEXT = auto()
    SQL_TEXT = auto()


@dataclass(frozen=True, slots=True)
class CdcMetadata:
    """`member` names a part of the field, if the field is an object."""

    key: str
    type: DataType
    doc: str
    field: str
    field_type: DataType
    reading: Reading = Reading.AS_IS
    member: str | None = None
    in_payload: bool = True

    @property
    def declared(self) -> MetadataKey:
        return MetadataKey(self.key, self.type, self.doc)


@dataclass(frozen=True, slots=True)
class CdcDialect:
    identifier: str
    tool: str
    """As error messages name it."""
    doc: str
    shape: Shape
    kind_field: str
    changes: tuple[tuple[str, Change], ...]
    inserts_as: str
    deletes_as: str
    metadata: tuple[CdcMetadata, ...]

    @property
    def new_field(self) -> str:
        return "after" if self.shape is Shape.BEFORE_AND_AFTER else "data"

    @property
    def old_field(self) -> str:
        return "before" if self.shape is Shape.BEFORE_AND_AFTER else "old"


_STRINGS: Final = DataType(TypeRoot.ARRAY, element=STRING)
_PROPERTIES: Final = DataType(TypeRoot.MAP, key=STRING, element=STRING)
_MILLIS: Final = DataType(TypeRoot.TIMESTAMP_LTZ, precision=3)
_MICROS: Final = DataType(TypeRoot.TIMESTAMP_LTZ, precision=6)


def _source_field(key: str, type_: DataType, doc: str, member: str, reading: Reading = Reading.AS_IS) -> CdcMetadata:
    return CdcMetadata(key, type_, doc, "source", _PROPERTIES, reading, member)


DEBEZIUM: Final = CdcDialect(
    "debezium-json",
    "Debezium",
    "Changes as Debezium captures them.",
    Shape.BEFORE_AND_AFTER,
    "op",
    (("c", Change.INSERT), ("r", Change.INSERT), ("u", Change.UPDATE), ("d", Change.DELETE)),
    "c",
    "d",
    (
        CdcMetadata(
            "schema", STRING, "The schema part of the message, as JSON.", "schema", STRING, in_payload=False
        ),
        CdcMetadata(
            "ingestion-timestamp", _MILLIS, "When the tool processed the change.", "ts_ms", BIGINT,
            Reading.EPOCH_MILLIS,
        ),
        _source_field("source.timestamp", _MILLIS, "When the database made the change.", "ts_ms", Reading.EPOCH_MILLIS),
        _source_field("source.database", STRING, "The database.", "db"),
        _source_field("source.schema", STRING, "The schema in the database.", "schema"),
        _source_field("source.table", STRING, "The table.", "table"),
        CdcMetadata("source.properties", _PROPERTIES, "All source information.", "source", _PROPERTIES),
    ),
)  # fmt: skip
CANAL: Final = CdcDialect(
    "canal-json",
    "Canal",
    "Changes as Canal captures them.",
    Shape.LISTS_OF_DATA_AND_OLD,
    "type",
    (("INSERT", Change.INSERT), ("UPDATE", Change.UPDATE), ("DELETE", Change.DELETE), ("CREATE", Change.NONE)),
    "INSERT",
    "DELETE",
    (
        CdcMetadata("database", STRING, "The database.", "database", STRING),
        CdcMetadata("table", STRING, "The table.", "table", STRING),
        CdcMetadata(
            "sql-type", sql_types := DataType(TypeRoot.MAP, key=STRING, element=INT), "The columns' types in JDBC.",
            "sqlType", sql_types,
        ),
        CdcMetadata("pk-names", _STRINGS, "The columns of the primary key.", "pkNames", _STRINGS),
        CdcMetadata(
            "ingestion-timestamp", _MILLIS, "When the tool processed the change.", "ts", BIGINT, Reading.EPOCH_MILLIS
        ),
        CdcMetadata(
            "event-timestamp", _MILLIS, "When the database made the change.", "es", BIGINT, Reading.EPOCH_MILLIS
        ),
    ),
)  # fmt: skip
MAXWELL: Final = CdcDialect(
    "maxwell-json",
    "Maxwell",
    "Changes as Maxwell captures them.",
    Shape.DATA_AND_OLD,
    "type",
    (("insert", Change.INSERT), ("update", Change.UPDATE), ("delete", Change.DELETE)),
    "insert",
    "delete",
    (
        CdcMetadata("database", STRING, "The database.", "database", STRING),
        CdcMetadata("table", STRING, "The table.", "table", STRING),
        CdcMetadata(
            "primary-key-columns", _STRINGS, "The columns of the primary key.", "primary_key_columns", _STRINGS
        ),
        CdcMetadata(
            "ingestion-timestamp", _MILLIS, "When the tool processed the change.", "ts", BIGINT, Reading.EPOCH_SECONDS
        ),
    ),
)
OGG: Final = CdcDialect(
    "ogg-json",
    "Ogg",
    "Changes as Oracle GoldenGate captures them.",
    Shape.BEFORE_AND_AFTER,
    "op_type",
    (("I", Change.INSERT), ("U", Change.UPDATE), ("D", Change.DELETE)),
    "I",
    "D",
    (
        CdcMetadata("table", STRING, "The table.", "table", STRING),
        CdcMetadata("primary-keys", _STRINGS, "The columns of the primary key.", "primary_keys", _STRINGS),
        CdcMetadata(
            "ingestion-timestamp", _MICROS, "When the tool processed the change.", "current_ts", STRING,
            Reading.ISO_TEXT,
        ),
        CdcMetadata(
            "event-timestamp", _MICROS, "When the database made the change.", "op_ts", STRING, Reading.SQL_TEXT
        ),
    ),
)  # fmt: skip
