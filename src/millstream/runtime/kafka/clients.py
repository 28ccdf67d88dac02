"""The clients that ask Kafka questions for a job: one for each cluster and way to log in, whoever asks."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka.admin import AdminClient

from millstream.connectors.kafka.client_settings import client_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import KafkaError

_MOST_REPORTS: Final = 20
"""How many of a client's reports are kept: it repeats itself."""
_SOON: Final = {"reconnect.backoff.max.ms": 500}
"""A client that lives as long as its job goes back soon to a broker that was away; by itself it may take 10 s."""


class Connection:
    """A client, with what it reported while its questions had no answer."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._reported: deque[KafkaError] = deque(maxlen=_MOST_REPORTS)
        self.settings = settings
        reporting: dict[str, Any] = {**settings, "error_cb": self._reported.append}
        self.client = AdminClient(reporting)

    @property
    def reported(self) -> tuple[KafkaError, ...]:
        """The reports wait for somebody who asks."""
        self.client.poll(0)
        return tuple(self._reported)

    def forget(self) -> None:
        """Called when a broker has answered: what was wrong before is over."""
        self.client.poll(0)
        self._reported.clear()


class KafkaClients:
    """Connections are made when somebody asks, and kept until the job ends. Threads may share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[frozenset[tuple[str, Any]], Connection] = {}

    def connect(self, properties: Mapping[str, str]) -> Connection:
        """By the properties of a table, of which only those count that concern a connection.

        Raises UnreadableStoreError, and KafkaException where the client does not take them.
        """
        settings = {**client_settings(properties), **_SOON}
        key = frozenset(settings.items())
        with self._lock:
            if key not in self._connections:
                self._connections[key] = Connection(settings)
            return self._connections[key]

    def close(self) -> None:
        """A client ends with the last question that is still asked of it."""
        with self._lock:
            self._connections.clear()
