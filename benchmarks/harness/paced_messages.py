"""Messages sent at a fixed rate, and read as soon as they can be seen, by threads in the background."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.harness.datasets import PARTITIONS
from millstream.connectors.kafka.client_settings import client_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECONDS_BETWEEN_SENDS: Final = 0.01
_SECONDS_TO_FLUSH: Final = 30


@contextmanager
def send_in_background(
    brokers: str, topic: str, rate: int, value_of: Callable[[int, float], bytes | None]
) -> Iterator[threading.Thread]:
    """The thread also ends when `value_of`, called with the number of a message and the time now, returns None."""

    def send(ended: threading.Event) -> None:
        producer = Producer({**client_settings({"bootstrap.servers": brokers}), "linger.ms": 1})
        number, begun = 0, time.time()
        more = True
        while more and not ended.wait(_SECONDS_BETWEEN_SENDS):
            now = time.time()
            while more and number < (now - begun) * rate:
                value = value_of(number, now)
                more = value is not None
                if more:
                    producer.produce(topic, value, partition=number % PARTITIONS)
                    number += 1
            producer.poll(0)
        producer.flush(_SECONDS_TO_FLUSH)

    with _background(send) as thread:
        yield thread


@contextmanager
def read_in_background(
    brokers: str, topic: str, take: Callable[[float, bytes], None], *, isolation: str = "read_uncommitted"
) -> Iterator[threading.Thread]:
    """`take` is called with the time at which a value was read, and the value."""

    def read(ended: threading.Event) -> None:
        settings = {"group.id": topic, "isolation.level": isolation, "fetch.wait.max.ms": 5}
        consumer = Consumer({**client_settings({"bootstrap.servers": brokers}), **settings})
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        while not ended.is_set():
            messages = consumer.consume(1000, 0.02)
            now = time.time()
            for message in messages:
                value = message.value()
                if value is not None and message.error() is None:
                    take(now, value)
        consumer.close()

    with _background(read) as thread:
        yield thread


@contextmanager
def _background(run: Callable[[threading.Event], None]) -> Iterator[threading.Thread]:
    ended = threading.Event()
    thread = threading.Thread(target=run, args=(ended,), daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        ended.set()
        thread.join()
