"""How large a batch should be after a long stop, and what dead letters cost: `python -m benchmarks.batch_size [ROWS]`.

COUNT(*) and COUNT(DISTINCT) of the same JSON topic with several bounds of a batch, and once with
'scan.dead-letter.topic' while every message can be read. The first batch, which pays for compiling, is left out.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.harness.page_view_jobs import DISTINCT, SCRIPT, fill
from millstream import Session
from millstream.catalog.job_settings import JobSettings
from millstream.spark.session import OwnedSession
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.progress import JobProgress

_BOUNDS: Final = (100_000, 300_000, 1_000_000)
_PARTITIONS: Final = 4
_DEAD: Final = " /*+ OPTIONS('scan.dead-letter.topic' = 'dead') */"


def batches_of(spark: SparkSession, brokers: str, bound: int, hint: str, folder: Path) -> list[JobProgress]:
    batches: list[JobProgress] = []
    insert = DISTINCT.replace("FROM pageviews", f"FROM pageviews{hint}")
    with Session(spark, checkpoint=folder, on_progress=batches.append, on_notice=lambda _: None) as session:
        script = f"SET 'millstream.batch.max-rows' = '{bound}'; {SCRIPT} {insert};"
        [job] = session.execute_sql(script, parameters={"brokers": brokers}, drain=True)
        job.await_end()
        job.await_last_report(10)
    return [batch for batch in batches if batch.rows_in][1:]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000_000
    cases = [(bound, hint) for bound in _BOUNDS for hint in ("", _DEAD)]
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker(partitions=_PARTITIONS) as broker:
        folder = Path(name)
        fill(broker.bootstrap, rows)
        owned = OwnedSession(JobSettings(), 2, None, folder / "spark.log", print)
        try:
            batches_of(owned.spark, broker.bootstrap, rows // 3, "", folder / "warm")
            found = {
                case: batches_of(owned.spark, broker.bootstrap, *case, folder / str(number))
                for number, case in enumerate(cases)
            }
        finally:
            owned.close()
    print(f"{rows:,} page views of about 100 bytes, {_PARTITIONS} partitions")
    for (bound, hint), batches in found.items():
        rate = sum(batch.rows_in for batch in batches) / sum(batch.batch_seconds for batch in batches)
        longest = max(batch.batch_seconds for batch in batches)
        print(f"{bound:>10,} rows a batch{', dead letters' if hint else '':14} {rate:>10,.0f} rows/s, {longest:.1f} s")


if __name__ == "__main__":
    main()
