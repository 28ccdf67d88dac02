"""COUNT(*) per region on Spark's own operator and on the kernel: `python -m benchmarks.operators [ROWS]`.

Both read the same JSON topic on one Spark session: large batches for the rate, then 1,000 rows a second for the time
that a small batch takes. First batches, which pay for compiling and for starting workers, are left out.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import polars as pl

from benchmarks.harness.datasets import PARTITIONS, encode_page_views
from benchmarks.harness.paced_messages import send_in_background
from benchmarks.harness.page_view_jobs import COUNT, SCRIPT, fill, millstream_rate
from benchmarks.harness.page_views import page_views
from millstream import Session
from millstream.catalog.job_settings import JobSettings
from millstream.catalog.settings import AGGREGATE_NATIVE, NativeAggregate
from millstream.spark.session import OwnedSession
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from millstream.runtime.progress import JobProgress

_ROWS_A_SECOND: Final = 1000
_SECONDS: Final = 12.0
_LEFT_OUT: Final = 5
_ROUNDS: Final = 3


def _trickle(brokers: str) -> AbstractContextManager[object]:
    """A thousand rows a second."""
    messages = encode_page_views(pl.DataFrame(page_views(_ROWS_A_SECOND))).values
    return send_in_background(brokers, "pageviews", _ROWS_A_SECOND, lambda number, _: messages[number % _ROWS_A_SECOND])


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
