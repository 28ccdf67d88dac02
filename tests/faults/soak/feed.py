"""Produces input continuously, whatever happens to the jobs."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, Self

from confluent_kafka import Producer

from millstream.connectors.kafka.client_settings import client_settings
from tests.faults.soak.jobs import change, order, place_of_change, place_of_order
from tests.runtime.topics import as_json

if TYPE_CHECKING:
    from types import TracebackType

    from confluent_kafka import KafkaError, Message

RATE: Final = 100
"""Numbers per second; each is an order and a change."""
_ROUND_SECONDS: Final = 0.1
_FLUSH_SECONDS: Final = 60.0


class Feed:
    """Produces 0, 1, 2, …; `end` returns how many there were."""

    def __init__(self, brokers: str) -> None:
        self._producer = Producer({**client_settings({"bootstrap.servers": brokers}), "enable.idempotence": True})
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._is_over = threading.Event()
        self._fed = 0
        self._failures: list[KafkaError] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def end(self) -> int:
        self._is_over.set()
        self._thread.join()
        unsent = self._producer.flush(_FLUSH_SECONDS)
        assert not unsent, f"{unsent} messages of the input did not get away"
        assert not self._failures, self._failures[0]
        return self._fed

    def _run(self) -> None:
        began = time.monotonic()
        while not self._is_over.wait(_ROUND_SECONDS):
            due = int((time.monotonic() - began) * RATE)
            for number in range(self._fed, due):
                for topic, value, place in (
                    ("orders", order(number), place_of_order(number)),
                    ("changes", change(number), place_of_change(number)),
                ):
                    self._producer.produce(topic, as_json(value), partition=place, on_delivery=self._on_delivery)
            self._fed = max(due, self._fed)
            self._producer.poll(0)

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failures.append(error)
