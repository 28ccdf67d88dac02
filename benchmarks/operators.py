"""COUNT(*) per region on Spark's own operator and on the kernel: `python -m benchmarks.operators [ROWS]`.

Both read the same JSON topic on one Spark session: large batches for the rate, then 1,000 rows a second for the time
that a small batch takes. First batches, which pay for compiling and for starting workers, are left out.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from confluent_kafka import Producer

from benchmarks.harness.page_view_topic import PARTITIONS
from benchmarks.harness.page_views import COLUMNS, page_views
from benchmarks.pageviews import COUNT, SCRIPT, fill, millstream_rate
from millstream import Session
from millstream.catalog.job_settings import JobSettings
from millstream.catalog.settings import AGGREGATE_NATIVE, NativeAggregate
from millstream.connectors.kafka.client_settings import client_settings
from millstream.formats.json_encode import JsonEncoder
from millstream.formats.json_options import JsonOptions
from millstream.spark.session import OwnedSession
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from millstream.runtime.progress import JobProgress

_ROWS_A_SECOND: Final = 1000
_SECONDS: Final = 12.0
_LEFT_OUT: Final = 5
_ROUNDS: Final = 3


@contextmanager
def _trickle(brokers: str) -> Iterator[None]:
    """A thousand rows a second, a hundred at a time."""
    ended = threading.Event()
    messages = JsonEncoder(COLUMNS, JsonOptions()).encode(page_views(_ROWS_A_SECOND)).to_pylist()
    producer = Producer({**client_settings({"bootstrap.servers": brokers}), "linger.ms": 0})

    def produce() -> None:
        number, due = 0, time.monotonic()
        while not ended.is_set():
            for _ in range(_ROWS_A_SECOND // 10):
                producer.produce("pageviews", messages[number % len(messages)], partition=number % PARTITIONS)
                number += 1
            producer.poll(0)
            due += 0.1
            ended.wait(max(due - time.monotonic(), 0))
        producer.flush(10)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def small_batch_seconds(spark: SparkSession, brokers: str, insert: str, folder: Path) -> float:
    """The median time of a batch while rows trickle in."""
    batches: list[JobProgress] = []
    script = SCRIPT.replace("'format' = 'json')", "'format' = 'json', 'scan.startup.mode' = 'latest-offset')", 1)
    with Session(spark, checkpoint=folder, on_progress=batches.append) as session, _trickle(brokers):
        session.execute_sql(f"{script} {insert};", parameters={"brokers": brokers})
        time.sleep(_SECONDS)
    return median(batch.batch_seconds for batch in batches[_LEFT_OUT:] if batch.rows_in)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_500_000
    rates: dict[str, list[float]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker(partitions=PARTITIONS) as broker:
        folder, brokers = Path(name), broker.bootstrap
        fill(brokers, rows)
        owned = OwnedSession(JobSettings(), 2, None, folder / "spark.log", print)
        try:
            for number, choice in product(range(_ROUNDS), NativeAggregate):
                insert = f"SET '{AGGREGATE_NATIVE.key}' = '{choice}'; {COUNT}"
                place = folder / f"{choice}-{number}"
                rates[choice].append(millstream_rate(owned.spark, brokers, rows, insert, place / "large"))
                seconds[choice].append(small_batch_seconds(owned.spark, brokers, insert, place / "small"))
        finally:
            owned.close()
    native, kernel = (max(rates[choice]) for choice in NativeAggregate)
    print(f"{rows:,} page views of about 100 bytes, COUNT(*) per region, {PARTITIONS} partitions, best of {_ROUNDS}")
    print(
        f"large batches   native {native:>9,.0f} rows/s   kernel {kernel:>9,.0f} rows/s   ratio {native / kernel:.2f}"
    )
    native, kernel = (min(seconds[choice]) * 1000 for choice in NativeAggregate)
    print(
        f"1,000 rows/s    native {native:>6.0f} ms/batch   kernel {kernel:>6.0f} ms/batch   ratio {kernel / native:.2f}"
    )


if __name__ == "__main__":
    main()
