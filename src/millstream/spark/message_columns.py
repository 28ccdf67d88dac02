"""Messages as columns: what a consumer gives, under the names and in the types that steps and metadata columns need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.librdkafka import partition_consumer as consumer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from millstream.connectors.metadata import MetadataUse

_CREATED: Final = 1
_APPENDED: Final = 2
_OF_PARTS: Final = {
    "topic": consumer.TOPIC,
    "partition": consumer.PARTITION,
    "offset": consumer.OFFSET,
    "timestamp": consumer.TIMESTAMP,
    "timestamp-type": consumer.TIMESTAMP_TYPE,
    "headers": consumer.HEADERS,
    "header-list": consumer.HEADERS,
    "leader-epoch": consumer.LEADER_EPOCH,
}


@dataclass(frozen=True, slots=True)
class MessageColumn:
    name: str
    """Under which a step finds it."""
    source: str
    """The consumer's name for it."""
    part: str | None = None
    """Which metadata it is, if it is any: in the type of that."""
    type: pa.DataType | None = None


def metadata_column(use: MetadataUse, type_: pa.DataType) -> MessageColumn:
    return MessageColumn(use.column.name, _OF_PARTS[use.key], use.key, type_)


def sources_of(columns: Iterable[MessageColumn]) -> tuple[str, ...]:
    """What to ask the consumer for."""
    return tuple(dict.fromkeys(column.source for column in columns))


def arrange(columns: tuple[MessageColumn, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        arrays = [_convert(column, batch.column(column.source)) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])


def _convert(column: MessageColumn, values: pa.Array) -> pa.Array:
    match column.part:
        case None:
            return values
        case "timestamp":
            return values.cast(pa.timestamp("ms", "UTC")).cast(column.type)
        case "timestampType":
            return pc.subtract(values, 1)  # Spark counts from -1 for none
        case "timestamp-type":
            return _name_types(values)
        case "headers":
            return _last_by_key(values).cast(column.type)
        case _:
            return values.cast(column.type)


def _name_types(kinds: pa.Array) -> pa.Array:
    named = pc.if_else(pc.equal(kinds, _APPENDED), "LogAppendTime", "NoTimestampType")
    return pc.if_else(pc.equal(kinds, _CREATED), "CreateTime", named)


def _last_by_key(lists: pa.Array) -> pa.Array:
    """Of a repeated key, the last value counts, at the place of the last."""
    maps = []
    for headers in lists.to_pylist():
        last = {header["key"]: number for number, header in enumerate(headers)}
        maps.append([(headers[number]["key"], headers[number]["value"]) for number in sorted(last.values())])
    return pa.array(maps, pa.map_(pa.string(), pa.binary()))
