"""The settings of all clients that do not run in Java."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from millstream.connectors.kafka.client import client_properties
from millstream.connectors.kafka.key_stores import with_pem_stores

if TYPE_CHECKING:
    from collections.abc import Mapping

_OF_A_CONSUMER: Final = {
    **{
        key: key
        for key in (
            "check.crcs",
            "client.rack",
            "connections.max.idle.ms",
            "fetch.max.bytes",
            "fetch.min.bytes",
            "isolation.level",
            "metadata.max.age.ms",
            "reconnect.backoff.max.ms",
            "reconnect.backoff.ms",
            "retry.backoff.max.ms",
            "retry.backoff.ms",
        )
    },
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_ALWAYS_OF_A_CONSUMER: Final = {
    "auto.offset.reset": "error",
    "enable.partition.eof": "true",
    "isolation.level": "read_uncommitted",
    "check.crcs": "true",
    # What is fetched beyond the end of a range is fetched in vain, so little is fetched ahead, but without a pause.
    "fetch.queue.backoff.ms": "1",
    "queued.min.messages": "20000",
    "queued.max.messages.kbytes": "16384",
    "fetch.wait.max.ms": "10",
}
_SILENT: Final = logging.getLogger("millstream.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def client_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The settings from a table's properties that concern the connection, without logging to stderr.

    Raises UnreadableStoreError.
    """
    return {**client_properties(with_pem_stores(properties)), "log_level": 0, "logger": _SILENT}


def consumer_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The same for a consumer of ranges of offsets, with the settings that concern fetching."""
    found = {name: properties[key].strip() for key, name in _OF_A_CONSUMER.items() if key in properties}
    return {**client_settings(properties), **_ALWAYS_OF_A_CONSUMER, **found}
