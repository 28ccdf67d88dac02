"""Three INSERTs of one statement set over one topic: `python -m benchmarks.statement_set [ROWS]`.

Where they name one table, it is read and decoded once; where each names a table of its own on the same topic, three
times. Both in turn on one Spark session: large batches for the rate, then 1,000 rows a second for the time that a small
batch takes. First batches, which pay for compiling and for starting workers, are left out.
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

from benchmarks.harness.datasets import encode_page_views
from benchmarks.harness.paced_messages import send_in_background
from benchmarks.harness.page_view_jobs import SCRIPT, fill, millstream_rate
from benchmarks.harness.page_views import page_views
from millstream import Session
from millstream.catalog.job_settings import JobSettings
from millstream.spark.session import OwnedSession
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from millstream.runtime.progress import JobProgress

_PARTITIONS: Final = 4
_ROUNDS: Final = 3
_ROWS_A_SECOND: Final = 1000
_SECONDS: Final = 12.0
_LEFT_OUT: Final = 5
_TABLES: Final = """
CREATE TABLE views_too WITH ('topic' = 'pageviews') LIKE pageviews (OVERWRITING OPTIONS);
CREATE TABLE views_again WITH ('topic' = 'pageviews') LIKE pageviews (OVERWRITING OPTIONS);
CREATE TABLE passed WITH ('topic' = 'passed') LIKE pageviews (OVERWRITING OPTIONS);
"""
_PASSED: Final = "INSERT INTO passed SELECT * FROM {} WHERE user_id > 100"
_FEW: Final = "INSERT INTO passed SELECT * FROM {} WHERE user_id < 100"
_COUNT: Final = "INSERT INTO counts SELECT user_region, COUNT(*) FROM {} GROUP BY user_region"
_DISTINCT: Final = """
INSERT INTO distinct_counts
SELECT user_region, COUNT(*), COUNT(DISTINCT user_id) FROM {} GROUP BY user_region"""
_SETS: Final = {
    "filter, COUNT(*), PV/UV": (_PASSED, _COUNT, _DISTINCT),
    "three filters": (_PASSED, _FEW, _PASSED),
}
_READ: Final = {"once": ("pageviews",) * 3, "three times": ("pageviews", "views_too", "views_again")}


def _script(inserts: tuple[str, ...], tables: tuple[str, ...]) -> str:
    written = "; ".join(insert.format(table) for insert, table in zip(inserts, tables, strict=True))
    return f"{_TABLES} EXECUTE STATEMENT SET BEGIN {written}; END"


def _trickle(brokers: str) -> AbstractContextManager[object]:
    """A thousand rows a second."""
    messages = encode_page_views(pl.DataFrame(page_views(_ROWS_A_SECOND))).values
    return send_in_background(brokers, "pageviews", _ROWS_A_SECOND, lambda number, _: messages[number % _ROWS_A_SECOND])


def _small_batch_seconds(spark: SparkSession, brokers: str, insert: str, folder: Path) -> float:
    """The median time of a batch while rows trickle in."""
    batches: list[JobProgress] = []
    script = SCRIPT.replace("'format' = 'json')", "'format' = 'json', 'scan.startup.mode' = 'latest-offset')", 1)
    with Session(spark, checkpoint=folder, on_progress=batches.append) as session, _trickle(brokers):
        session.execute_sql(f"{script} {insert};", parameters={"brokers": brokers})
        time.sleep(_SECONDS)
    return median(batch.batch_seconds for batch in batches[_LEFT_OUT:] if batch.rows_in)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_500_000
    rates: dict[tuple[str, str], list[float]] = defaultdict(list)
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker(partitions=_PARTITIONS) as broker:
        folder, brokers = Path(name), broker.bootstrap
        fill(brokers, rows)
        owned = OwnedSession(JobSettings(), 2, None, folder / "spark.log", print)
        try:
            for number, inserts, read in product(range(_ROUNDS), _SETS, _READ):
                script = _script(_SETS[inserts], _READ[read])
                place = folder / f"{number}-{inserts[:3]}-{read[:5]}"
                sources = len(set(_READ[read]))
                rate = millstream_rate(owned.spark, brokers, rows, script, place / "large", sources=sources)
                rates[inserts, read].append(rate)
            for inserts, read in product(_SETS, _READ):
                script = _script(_SETS[inserts], _READ[read])
                place = folder / f"{inserts[:3]}-{read[:5]}"
                seconds[inserts, read].append(_small_batch_seconds(owned.spark, brokers, script, place / "small"))
        finally:
            owned.close()
    print(f"{rows:,} page views of about 100 bytes, {_PARTITIONS} partitions, three INSERTs, best of {_ROUNDS}")
    for inserts in _SETS:
        print(inserts)
        apart_rate, apart_ms = max(rates[inserts, "three times"]), min(seconds[inserts, "three times"]) * 1000
        for read in _READ:
            rate, ms = max(rates[inserts, read]), min(seconds[inserts, read]) * 1000
            print(f"  read {read:<12} {rate:>9,.0f} rows/s, ratio {rate / apart_rate:.2f}")
            print(f"  at 1,000 rows/s   {ms:>6.0f} ms/batch, ratio {apart_ms / ms:.2f}")


if __name__ == "__main__":
    main()
