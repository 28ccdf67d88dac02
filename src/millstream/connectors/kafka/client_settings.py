"""The settings of all clients that do not run in Java."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from millstream.connectors.kafka.client import client_properties
from millstream.connectors.kafka.key_stores import with_pem_stores

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST: Final = (1 << 31) - 1
NUMBERS: Final = {
    "connections.max.idle.ms": ("connections.max.idle.ms", 0, LARGEST),
    "metadata.max.age.ms": ("metadata.max.age.ms", 1, 86_400_000),
    "receive.buffer.bytes": ("socket.receive.buffer.bytes", 0, 100_000_000),
    "reconnect.backoff.max.ms": ("reconnect.backoff.max.ms", 0, 3_600_000),
    "reconnect.backoff.ms": ("reconnect.backoff.ms", 0, 3_600_000),
    "retry.backoff.max.ms": ("retry.backoff.max.ms", 1, 300_000),
    "retry.backoff.ms": ("retry.backoff.ms", 1, 300_000),
    "send.buffer.bytes": ("socket.send.buffer.bytes", 0, 100_000_000),
}
"""The C client's name of a property of Java's, and the range in which it accepts a value."""
_RECONNECT_MS: Final = 50
_SILENT: Final = logging.getLogger("millstream.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def client_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The settings from a table's properties that concern the connection, without logging to stderr.

    Raises UnreadableStoreError.
    """
    return {**client_properties(with_pem_stores(properties)), "log_level": 0, "logger": _SILENT}


def read_numbers(properties: Mapping[str, str], numbers: Mapping[str, tuple[str, int, int]]) -> dict[str, str]:
    """These properties, by the C client's names and moved into its ranges: 0 is its word for Java's -1."""
    found = {
        name: str(min(max(int(properties[key]), least), most))
        for key, (name, least, most) in numbers.items()
        if key in properties
    }
    first, longest = found.get("reconnect.backoff.ms"), found.get("reconnect.backoff.max.ms")
    if first is not None:  # the C client refuses a first that is longer than the longest
        found["reconnect.backoff.max.ms"] = str(max(int(first), int(longest or first)))
    elif longest is not None:
        found["reconnect.backoff.ms"] = str(min(_RECONNECT_MS, int(longest)))
    return found
