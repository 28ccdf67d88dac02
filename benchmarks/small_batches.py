"""How long batches take, and messages on their way: `python -m benchmarks.small_batches [ROWS_A_SECOND]`.

A job without state, the same exactly once, and an aggregate, each over a topic that grows by so many rows a second, in
a Spark session like that of `millstream run`. Batches and messages of the first minute, which pays for compiling
and for starting workers, are left out.
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
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from millstream.runtime.progress import JobProgress

_ROWS_A_SECOND: Final = 1000
_SECONDS: Final = 90.0
_LEFT_OUT_SECONDS: Final = 60.0
_SOURCE: Final = """
CREATE TABLE sent (`at` BIGINT, k BIGINT) WITH ('connector' = 'kafka', 'topic' = 'sent', 'format' = 'json',
  'properties.bootstrap.servers' = '${brokers}', 'scan.startup.mode' = 'latest-offset');
"""
_JOBS: Final = {
    "stateless": """
CREATE TABLE received (k BIGINT, `at` BIGINT) WITH ('connector' = 'kafka', 'topic' = '${received}', 'format' = 'json',
  'properties.bootstrap.servers' = '${brokers}');
INSERT INTO received SELECT k, `at` FROM sent WHERE k >= 0;""",
    "exactly-once": """
CREATE TABLE received (k BIGINT, `at` BIGINT) WITH ('connector' = 'kafka', 'topic' = '${received}', 'format' = 'json',
  'properties.bootstrap.servers' = '${brokers}', 'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = 'timed');
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


def measure(brokers: str, job: str, rate: int, folder: Path) -> Measured:
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
        checkpoint=folder,
        settings={"parallelism.default": "2"},
        on_progress=lambda progress: batches.append((time.time(), progress)),
        on_notice=lambda _: None,
    ) as session:
        program = session.compile(_SOURCE + _JOBS[job], parameters={"brokers": brokers, "received": received})
        started = list(session.walk(program, is_last=True))
        counted_from = time.time() + _LEFT_OUT_SECONDS
        with (
            send_in_background(brokers, "sent", rate, _message),
            read_in_background(brokers, received, note, isolation="read_committed"),
        ):
            time.sleep(_LEFT_OUT_SECONDS)
            before = measure_usage()
            time.sleep(_SECONDS - _LEFT_OUT_SECONDS)
            used = measure_usage().since(before)
        for each in started:
            each.stop()
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
        for job in jobs:
            found = measure(broker.bootstrap, job, rate, Path(name) / job)
            percentiles = quantiles(found.message_ms, n=100)
            print(
                f"{job:12} {rate:,} rows/s: batch median {median(found.batch_ms):.0f} ms"
                f" of {len(found.batch_ms)} batches; record to reader p50 {percentiles[49]:.0f} ms,"
                f" p99 {percentiles[98]:.0f} ms; {found.core_seconds:.2f} cores",
                flush=True,
            )


if __name__ == "__main__":
    main()
