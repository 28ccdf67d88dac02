"""Exactly-once beside at-least-once, rows passed through: `python -m benchmarks.exactly_once [ROWS]`.

Throughput in large batches, the first left out, and how long a message takes at 1,000 rows/s from its producer to a
reader of committed messages.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.pageviews import fill, millstream_rate
from millstream import Session
from millstream.catalog.job_settings import JobSettings
from millstream.connectors.kafka.client_settings import client_settings
from millstream.connectors.kafka.option_values import DeliveryGuarantee
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.spark.session import OwnedSession
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARTITIONS: Final = 4
_GUARANTEES: Final = (DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE)
_ROUNDS: Final = 2
_ROWS_A_SECOND: Final = 1000
_SECONDS: Final = 20.0
_LEFT_OUT_SECONDS: Final = 8.0
"""The first batches include compiling and starting workers."""
_COPIES: Final = """
CREATE TABLE copies (user_id BIGINT, page_id BIGINT, viewtime TIMESTAMP(3), user_region STRING) WITH (
  'connector' = 'kafka', 'topic' = 'copies', 'properties.bootstrap.servers' = '${{brokers}}', 'format' = 'json',
  'sink.delivery-guarantee' = '{guarantee}', 'sink.transactional-id-prefix' = '{name}');
INSERT INTO copies SELECT user_id, page_id, viewtime, user_region FROM pageviews"""
_TIMED: Final = """
CREATE TABLE sent (`at` DOUBLE, filling STRING) WITH ('connector' = 'kafka', 'topic' = 'sent', 'format' = 'json',
  'properties.bootstrap.servers' = '${{brokers}}', 'scan.startup.mode' = 'latest-offset');
CREATE TABLE received (`at` DOUBLE, filling STRING) WITH ('connector' = 'kafka', 'topic' = 'received',
  'format' = 'json', 'properties.bootstrap.servers' = '${{brokers}}', 'sink.delivery-guarantee' = '{guarantee}',
  'sink.transactional-id-prefix' = '{name}');
INSERT INTO received SELECT `at`, filling FROM sent;"""


def latencies(spark: SparkSession, brokers: str, guarantee: DeliveryGuarantee, folder: Path) -> list[float]:
    """In milliseconds, for every message that was sent after the first seconds."""
    ended = threading.Event()
    found: list[float] = []
    begun = time.time()
    reading = threading.Thread(target=_read, args=(brokers, begun + _LEFT_OUT_SECONDS, ended, found))
    sending = threading.Thread(target=_send, args=(brokers, ended))
    with Session(spark, checkpoint=folder) as session:
        session.execute_sql(_TIMED.format(guarantee=guarantee, name=folder.name), parameters={"brokers": brokers})
        reading.start()
        sending.start()
        time.sleep(_LEFT_OUT_SECONDS + _SECONDS)
        ended.set()
        reading.join()
        sending.join()
    return found


def _send(brokers: str, ended: threading.Event) -> None:
    producer = Producer({**client_settings({"bootstrap.servers": brokers}), "linger.ms": 0})
    number, due = 0, time.monotonic()
    while not ended.is_set():
        for _ in range(_ROWS_A_SECOND // 100):
            value = json.dumps({"at": time.time(), "filling": "x" * 60}).encode()
            producer.produce("sent", value, partition=number % _PARTITIONS)
            number += 1
        producer.poll(0)
        due += 0.01
        ended.wait(max(due - time.monotonic(), 0))
    producer.flush(10)


def _read(brokers: str, since: float, ended: threading.Event, found: list[float]) -> None:
    settings = {"group.id": "reader", "isolation.level": "read_committed", "fetch.wait.max.ms": 10}
    consumer = Consumer({**client_settings({"bootstrap.servers": brokers}), **settings})
    consumer.assign([TopicPartition("received", partition) for partition in range(_PARTITIONS)])
    while not ended.is_set():
        for message in consumer.consume(1000, 0.05):
            now, value = time.time(), message.value()
            sent = json.loads(value)["at"] if value and not message.error() else 0.0
            if sent > since:
                found.append((now - sent) * 1000)
    consumer.close()


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    rates: dict[str, list[float]] = defaultdict(list)
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker(partitions=_PARTITIONS) as broker:
        folder, brokers = Path(name), broker.bootstrap
        fill(brokers, rows)
        for topic in ("copies", "sent", "received"):
            KafkaAdmin({"bootstrap.servers": brokers}).ensure_topic(topic, topic)
        owned = OwnedSession(JobSettings(), 2, None, folder / "spark.log", print)
        try:
            for number, guarantee in product(range(_ROUNDS), _GUARANTEES):
                place = folder / f"{guarantee}-{number}"
                insert = _COPIES.format(guarantee=guarantee, name=place.name)
                rates[guarantee].append(millstream_rate(owned.spark, brokers, rows, insert, place))
            for guarantee in _GUARANTEES:
                times[guarantee] = latencies(owned.spark, brokers, guarantee, folder / f"timed-{guarantee}")
        finally:
            owned.close()
    least, exactly = (max(rates[guarantee]) for guarantee in _GUARANTEES)
    print(f"{rows:,} page views of about 100 bytes passed through, {_PARTITIONS} partitions, best of {_ROUNDS}")
    print(f"at-least-once {least:>9,.0f} rows/s   exactly-once {exactly:>9,.0f} rows/s   ratio {exactly / least:.2f}")
    for name, found in times.items():
        percentiles = quantiles(found, n=100)
        print(
            f"{name}, {_ROWS_A_SECOND:,} rows/s: p50 {percentiles[49]:.0f} ms, p99 {percentiles[98]:.0f} ms "
            f"({len(found):,} messages)"
        )


if __name__ == "__main__":
    main()
