"""Metadata columns that Spark's Kafka source provides, as expressions over its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.metadata import OF_THE_VALUE
from millstream.spark.casts import convert

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.connectors.metadata import MetadataUse

_HEADERS: Final = "coalesce(headers, array())"
_LAST_OF_EACH_KEY: Final = (
    f"filter({_HEADERS}, (one, at) -> NOT exists(slice({_HEADERS}, at + 2, size(headers)), "
    "later -> later.key = one.key))"
)
_EXPRESSIONS: Final = {
    "topic": "topic",
    "partition": "partition",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestamp-type": (
        "CASE timestampType WHEN 0 THEN 'CreateTime' WHEN 1 THEN 'LogAppendTime' ELSE 'NoTimestampType' END"
    ),
    "headers": f"map_from_entries({_LAST_OF_EACH_KEY})",
    "header-list": _HEADERS,
    "leader-epoch": "CAST(NULL AS INT)",  # Spark's consumers know it and do not pass it on
}
_NEED_HEADERS: Final = ("headers", "header-list")


def format_key(use: MetadataUse) -> str | None:
    """The format's key for it; None if it is metadata of the message itself."""
    return use.key.removeprefix(OF_THE_VALUE) if use.key.startswith(OF_THE_VALUE) else None


def needs_headers(uses: Iterable[MetadataUse]) -> bool:
    return any(use.key in _NEED_HEADERS for use in uses)


def part_of(use: MetadataUse) -> str:
    """The metadata, in the column's type."""
    return convert(_EXPRESSIONS[use.key], use.type, use.column.type)
