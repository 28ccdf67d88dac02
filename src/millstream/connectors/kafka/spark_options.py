"""`properties.*` of a table as options of Spark's Kafka connector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.client import with_kafkas_names

if TYPE_CHECKING:
    from collections.abc import Mapping

_READ_DEFAULTS: Final = {
    # Waiting for a full fetch costs a small batch half a second; large polls make large batches fast.
    "fetch.max.wait.ms": "10",
    "max.poll.records": "10000",
    "max.partition.fetch.bytes": str(10 << 20),
}
_NOT_FOR_SPARK: Final = frozenset(
    {
        "auto.offset.reset",
        "enable.auto.commit",
        "group.id",
        "key.deserializer",
        "value.deserializer",
        "key.serializer",
        "value.serializer",
        "interceptor.classes",
        "allow.auto.create.topics",
    }
)
"""Spark rejects them or interprets them differently; positions and groups are handled by the job."""


def reader_options(properties: Mapping[str, str]) -> dict[str, str]:
    options = _add_prefix({**_READ_DEFAULTS, **properties})
    if group := properties.get("group.id"):
        options["groupIdPrefix"] = group
    return options


def _add_prefix(properties: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{key}": with_kafkas_names(value) for key, value in properties.items() if key not in _NOT_FOR_SPARK}
