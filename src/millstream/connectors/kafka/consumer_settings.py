"""A table's `properties.*` for the consumers of Kafka's C client, which read its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from millstream.connectors.kafka.client_settings import LARGEST, NUMBERS, client_settings, read_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXTS: Final = ("check.crcs", "client.rack", "isolation.level")
_LEAST_FETCHED: Final = 1_000_000
"""The C client wants room for a message in each response."""
_NUMBERS: Final = {
    **NUMBERS,
    "fetch.max.bytes": ("fetch.max.bytes", _LEAST_FETCHED, LARGEST - 512),
    "fetch.max.wait.ms": ("fetch.wait.max.ms", 0, 300_000),
    "fetch.min.bytes": ("fetch.min.bytes", 1, 100_000_000),
    "max.partition.fetch.bytes": ("fetch.message.max.bytes", 1, 1_000_000_000),
}
_DEFAULTS: Final = {
    "auto.offset.reset": "error",
    "check.crcs": "true",
    "enable.partition.eof": "true",
    "isolation.level": "read_uncommitted",
    "receive.message.max.bytes": str(LARGEST),
    # What is fetched beyond the end of a range is fetched in vain, so little is fetched ahead, but without a pause.
    "fetch.queue.backoff.ms": "1",
    "fetch.wait.max.ms": "10",
    "queued.max.messages.kbytes": "16384",
    "queued.min.messages": "20000",
}


def consumer_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a consumer of ranges of offsets. Raises UnreadableStoreError."""
    texts = {key: properties[key].strip().lower() for key in _TEXTS if key in properties and properties[key].strip()}
    if "client.rack" in texts:
        texts["client.rack"] = properties["client.rack"].strip()
    return {**client_settings(properties), **_DEFAULTS, **texts, **read_numbers(properties, _NUMBERS)}
