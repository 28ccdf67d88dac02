"""The partitions of a topic, requested by the tasks that choose among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from confluent_kafka.admin import AdminClient

from millstream.connectors.kafka.client_settings import client_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT_SECONDS: Final = 30.0
_CLIENTS: dict[frozenset[tuple[str, str]], Any] = {}
"""Kept for the life of the process: a Spark worker outlives a batch, and connecting costs more than the request."""


def partitions_of(properties: Mapping[str, str], topic: str) -> tuple[int, ...]:
    """Raises LookupError if the topic does not exist."""
    cluster = frozenset(properties.items())
    if cluster not in _CLIENTS:
        _CLIENTS[cluster] = AdminClient(client_settings(properties))
    found = _CLIENTS[cluster].list_topics(topic, timeout=_TIMEOUT_SECONDS).topics[topic]
    if not found.partitions:
        raise LookupError(f'topic "{topic}" has no partitions: {found.error}')
    return tuple(sorted(found.partitions))
