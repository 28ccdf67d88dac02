"""Exactly-once beside at-least-once, rows passed through: `python -m benchmarks.exactly_once [ROWS]`.

Throughput in large batches, the first left out, and how long a message takes at 1,000 rows/s from its producer to a
reader of committed messages.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Final

from benchmarks.harness.datasets import PARTITIONS
from benchmarks.harness.paced_messages import read_in_background, send_in_background
from benchmarks.harness.page_view_jobs import fill, millstream_rate
from millstream import Session
from millstream.catalog.job_settings import JobSettings
from millstream.connectors.kafka.option_values import DeliveryGuarantee
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.spark.session import OwnedSession
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    found: list[float] = []
    since = time.time() + _LEFT_OUT_SECONDS

    def note(now: float, value: bytes) -> None:
        sent = json.loads(value)["at"]
        if sent > since:
            found.append((now - sent) * 1000)

    with Session(spark, checkpoint=folder) as session:
        session.execute_sql(_TIMED.format(guarantee=guarantee, name=folder.name), parameters={"brokers": brokers})
        with (
            read_in_background(brokers, "received", note, isolation="read_committed"),
            send_in_background(brokers, "sent", _ROWS_A_SECOND, _message),
        ):
            time.sleep(_LEFT_OUT_SECONDS + _SECONDS)
    return found


def _message(_: int, now: float) -> bytes:
    return json.dumps({"at": now, "filling": "x" * 60}).encode()


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    rates: dict[str, list[float]] = defaultdict(list)
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker(partitions=PARTITIONS) as broker:
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
    print(f"{rows:,} page views of about 100 bytes passed through, {PARTITIONS} partitions, best of {_ROUNDS}")
    print(f"at-least-once {least:>9,.0f} rows/s   exactly-once {exactly:>9,.0f} rows/s   ratio {exactly / least:.2f}")
    for name, found in times.items():
        percentiles = quantiles(found, n=100)
        print(
            f"{name}, {_ROWS_A_SECOND:,} rows/s: p50 {percentiles[49]:.0f} ms, p99 {percentiles[98]:.0f} ms "
            f"({len(found):,} messages)"
        )


if __name__ == "__main__":
    main()
