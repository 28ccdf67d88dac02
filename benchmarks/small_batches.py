"""How long batches take, and messages on their way: `python -m benchmarks.small_batches [ROWS_A_SECOND]`.

A job without state and an aggregate on the kernel, each over a topic that grows by so many rows a second. Batches and
messages of the first part of a run, which pays for compiling and for starting workers, are left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.harness.datasets import PARTITIONS
from benchmarks.harness.paced_messages import read_in_background, send_in_background
from benchmarks.harness.processes import BROKER, measure_usage
from millstream import Session
from millstream.catalog.job_settings import JobSettings
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.spark.session import OwnedSession
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.progress import JobProgress

_ROWS_A_SECOND: Final = 1000
_SECONDS: Final = 50.0
_LEFT_OUT_SECONDS: Final = 25.0
_SOURCE: Final = """
CREATE TABLE sent (`at` BIGINT, k BIGINT) WITH ('connector' = 'kafka', 'topic' = 'sent', 'format' = 'json',
  'properties.bootstrap.servers' = '${brokers}', 'scan.startup.mode' = 'latest-offset');
"""
_JOBS: Final = {
    "stateless": """
CREATE TABLE received (k BIGINT, `at` BIGINT) WITH ('connector' = 'kafka', 'topic' = '${received}', 'format' = 'json',
  'properties.bootstrap.servers' = '${brokers}');
INSERT INTO received SELECT k, `at` FROM sent WHERE k >= 0;""",
    "aggregate": """
CREATE TABLE received (k BIGINT, `at` BIGINT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '${received}', 'key.format' = 'json', 'value.format' = 'json',
  'properties.bootstrap.servers' = '${brokers}');
INSERT INTO received SELECT k, MAX(`at`), COUNT(DISTINCT `at`) FROM sent GROUP BY k;""",
}


class Measured(NamedTuple):
    batch_ms: list[float]
    message_ms: list[float]
    core_seconds: float
    """Per second, of all processes but the broker."""


def measure(spark: SparkSession, brokers: str, job: str, rate: int, folder: Path) -> Measured:
    received = f"received-{job}"
    for topic in ("sent", received):
        KafkaAdmin({"bootstrap.servers": brokers}).ensure_topic(topic, topic)
    batches: list[tuple[float, JobProgress]] = []
    delays: list[float] = []
    counted_from = float("inf")

    def note(now: float, value: bytes) -> None:
        at = json.loads(value).get("at", 0)
        if at > 1000 * counted_from:
            delays.append(1000 * now - at)

    with Session(
        spark,
        checkpoint=folder,
        on_progress=lambda progress: batches.append((time.time(), progress)),
        on_notice=lambda _: None,
    ) as session:
        session.execute_sql(_SOURCE + _JOBS[job], parameters={"brokers": brokers, "received": received})
        counted_from = time.time() + _LEFT_OUT_SECONDS
        with send_in_background(brokers, "sent", rate, _message), read_in_background(brokers, received, note):
            time.sleep(_LEFT_OUT_SECONDS)
            before = measure_usage()
            time.sleep(_SECONDS - _LEFT_OUT_SECONDS)
            used = measure_usage().since(before)
    steady = [progress for at, progress in batches if at > counted_from and progress.rows_in]
    # The driver is a thread of this process, so its core-seconds include sending and reading.
    seconds = sum(spent for role, spent in used.items() if role != BROKER) / (_SECONDS - _LEFT_OUT_SECONDS)
    return Measured([1000 * progress.batch_seconds for progress in steady], delays, seconds)


def _message(number: int, now: float) -> bytes:
    return json.dumps({"at": int(now * 1000), "k": number % 1000}).encode()


def main() -> None:
    rate = int(sys.argv[1]) if len(sys.argv) > 1 else _ROWS_A_SECOND
    jobs = sys.argv[2:] or list(_JOBS)
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker(partitions=PARTITIONS) as broker:
        owned = OwnedSession(JobSettings(), 2, None, Path(name) / "spark.log", print)
        try:
            for job in jobs:
                found = measure(owned.spark, broker.bootstrap, job, rate, Path(name) / job)
                percentiles = quantiles(found.message_ms, n=100)
                print(
                    f"{job:10} {rate:,} rows/s: batch median {median(found.batch_ms):.0f} ms"
                    f" of {len(found.batch_ms)} batches; record to reader p50 {percentiles[49]:.0f} ms,"
                    f" p99 {percentiles[98]:.0f} ms; {found.core_seconds:.2f} cores",
                    flush=True,
                )
        finally:
            owned.close()


if __name__ == "__main__":
    main()
