"""The admin clients of a job: one for each cluster and set of credentials, shared by everything that asks Kafka."""

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
"""How many errors of a client are kept; it repeats itself."""
_SOON: Final = {"reconnect.backoff.max.ms": 500}
"""A client that lives as long as its job reconnects quickly; its default may take 10 s."""


class Connection:
    """A client, together with the errors that it reported while its requests had no response."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._reported: deque[KafkaError] = deque(maxlen=_MOST_REPORTS)
        self.settings = settings
        reporting: dict[str, Any] = {**settings, "error_cb": self._reported.append}
        self.client = AdminClient(reporting)

    @property
    def reported(self) -> tuple[KafkaError, ...]:
        """The errors so far. The client delivers them only when it is polled."""
        self.client.poll(0)
        return tuple(self._reported)

    def forget(self) -> None:
        """Called when a broker has responded: earlier errors no longer matter."""
        self.client.poll(0)
        self._reported.clear()


class KafkaClients:
    """Connections are opened on first use and kept until the job ends. They may be shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[frozenset[tuple[str, Any]], Connection] = {}

    def connect(self, properties: Mapping[str, str]) -> Connection:
        """Connects by the properties of a table, of which only those that concern the connection matter.

        Raises UnreadableStoreError, or KafkaException if the client rejects the properties.
        """
        settings = {**client_settings(properties), **_SOON}
        key = frozenset(settings.items())
        with self._lock:
            if key not in self._connections:
                self._connections[key] = Connection(settings)
            return self._connections[key]

    def close(self) -> None:
        """Each client closes when its last pending request has finished."""
        with self._lock:
            self._connections.clear()
