"""A table's `properties.*` for the producers of Kafka's C client, which write its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from millstream.connectors.kafka.client_settings import LARGEST, NUMBERS, client_settings, read_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXTS: Final = ("acks", "compression.type", "enable.idempotence")
_NUMBERS: Final = {
    **NUMBERS,
    "batch.size": ("batch.size", 1, LARGEST),
    "delivery.timeout.ms": ("message.timeout.ms", 1, LARGEST),
    "linger.ms": ("linger.ms", 0, 900_000),
    "max.in.flight.requests.per.connection": ("max.in.flight.requests.per.connection", 1, 1_000_000),
    "max.request.size": ("message.max.bytes", 1000, 1_000_000_000),
    "request.timeout.ms": ("request.timeout.ms", 1, 900_000),
    "retries": ("retries", 0, LARGEST),
}
_DEFAULTS: Final = {
    # As in Java's producers: keys go to the same partitions, and a retry inside the client writes nothing twice.
    "partitioner": "murmur2_random",
    "enable.idempotence": "true",
    "message.max.bytes": "1048576",
    "message.timeout.ms": "120000",
    # Large requests save processor time, and the end of a task does not wait for them to fill.
    "linger.ms": "20",
    "batch.size": "1000000",
    "queue.buffering.max.messages": "200000",
    "queue.buffering.max.kbytes": str(64 << 10),
}
_QUEUE_BYTES: Final = "buffer.memory"
_MOST_IN_FLIGHT_IN_ORDER: Final = 5
_SETTLED_BY_TRANSACTIONS: Final = frozenset(
    {"acks", "enable.idempotence", "max.in.flight.requests.per.connection", "retries", "message.timeout.ms"}
)


def producer_settings(properties: Mapping[str, str], *, transactional: bool = False) -> dict[str, Any]:
    """The settings of a producer of a table's messages. Raises UnreadableStoreError."""
    found = {key: properties[key].strip() for key in _TEXTS if key in properties}
    found |= read_numbers(properties, _NUMBERS)
    if _QUEUE_BYTES in properties:
        found["queue.buffering.max.kbytes"] = str(min(max(int(properties[_QUEUE_BYTES]) >> 10, 1), LARGEST))
    if transactional:
        found = {name: value for name, value in found.items() if name not in _SETTLED_BY_TRANSACTIONS}
        defaults = {name: value for name, value in _DEFAULTS.items() if name != "message.timeout.ms"}
    else:
        defaults = _DEFAULTS
        if "enable.idempotence" not in found and not _can_be_idempotent(found):
            found["enable.idempotence"] = "false"
    return {**client_settings(properties), **_agree({**defaults, **found})}


def _can_be_idempotent(settings: Mapping[str, str]) -> bool:
    """Java's producers are, unless what is set rules it out."""
    return (
        settings.get("acks", "all") in ("all", "-1")
        and int(settings.get("retries", 1)) > 0
        and int(settings.get("max.in.flight.requests.per.connection", 1)) <= _MOST_IN_FLIGHT_IN_ORDER
    )


def _agree(settings: dict[str, str]) -> dict[str, str]:
    """The C client refuses some combinations that Java's accept."""
    if "message.timeout.ms" in settings:
        timeout = max(int(settings["message.timeout.ms"]), int(settings["linger.ms"]) + 1)
        settings["message.timeout.ms"] = str(timeout)
    least = 2 * int(settings["message.max.bytes"]) >> 10  # a message that is larger than the queue would wait forever
    settings["queue.buffering.max.kbytes"] = str(max(least, int(settings["queue.buffering.max.kbytes"])))
    return settings
