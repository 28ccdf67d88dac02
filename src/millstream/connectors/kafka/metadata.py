"""The metadata of a Kafka message: what it has besides its key and value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.connectors.metadata import MessagePart
from millstream.formats.registry import FORMATS
from millstream.sql.types import BIGINT, INT, STRING, TIMESTAMPS, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from millstream.connectors.metadata import MetadataUse
    from millstream.formats.registry import Format

_BYTES: Final = DataType(TypeRoot.BYTES)
_HEADER: Final = DataType(TypeRoot.ROW, fields=(Field("key", STRING), Field("value", _BYTES)))

TOPIC: Final = MessagePart("topic", STRING.not_null(), "The topic; writable where the table has several.")
HEADERS: Final = MessagePart(
    "headers",
    DataType(TypeRoot.MAP, key=STRING, element=_BYTES).not_null(),
    "Headers by key; of a repeated key, the last value counts.",
    is_writable=True,
)
HEADER_LIST: Final = MessagePart(
    "header-list",
    DataType(TypeRoot.ARRAY, element=_HEADER).not_null(),
    "Headers in order, repeated keys included.",
    is_writable=True,
)
TIMESTAMP: Final = MessagePart(
    "timestamp",
    DataType(TypeRoot.TIMESTAMP_LTZ, precision=3).not_null(),
    "The timestamp of the message; if NULL or 1970-01-01 00:00:00 is written, the time of writing.",
    is_writable=True,
)
KAFKA_METADATA: Final = (
    TOPIC,
    MessagePart("partition", INT.not_null(), "The partition."),
    HEADERS,
    HEADER_LIST,
    MessagePart("leader-epoch", INT, "The epoch of the partition's leader."),
    MessagePart("offset", BIGINT.not_null(), "The offset in the partition."),
    TIMESTAMP,
    MessagePart("timestamp-type", STRING.not_null(), "NoTimestampType, CreateTime or LogAppendTime."),
)
OF_THE_VALUE: Final = "value."
_MILLISECONDS: Final = 3


def is_read_as_declared(use: MetadataUse) -> bool:
    """Whether a worker gives the metadata in the type of its column."""
    if use.key.startswith(OF_THE_VALUE):
        return False
    if use.type.root in TIMESTAMPS and use.column.type.root in TIMESTAMPS:  # the only time zone is UTC
        return use.column.type.precision is None or use.column.type.precision >= _MILLISECONDS
    return use.type.not_null() == use.column.type.not_null()


def message_parts(value_format: Format | None, *, many_topics: bool) -> dict[str, MessagePart]:
    """The metadata keys of a table: the connector's, and under `value.` those of its value format."""
    parts = {part.key: part for part in KAFKA_METADATA}
    parts[TOPIC.key] = replace(TOPIC, is_writable=many_topics)
    if value_format is not None and value_format.name in FORMATS:
        for metadata in FORMATS[value_format.name].metadata:
            parts[OF_THE_VALUE + metadata.key] = MessagePart(OF_THE_VALUE + metadata.key, metadata.type, metadata.doc)
    return parts
