"""A plan as a running streaming query, and the reports it makes."""

from __future__ import annotations

import json
import shutil
import threading
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from pyspark.sql.streaming.listener import StreamingQueryListener

from millstream.plan.changelog import INSERT_ONLY, provided
from millstream.spark.kafka_properties import writer_options
from millstream.spark.translate import Surroundings, messages_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from millstream.plan.program import InsertPlan


class ReportTaker(Protocol):
    """Whoever wants to hear of a query's batches and of its end."""

    def report(self, report: Mapping[str, Any]) -> None: ...

    def report_end(self) -> None: ...


def start_query(
    spark: SparkSession,
    insert: InsertPlan,
    checkpoint: Path,
    *,
    segment_cache: Path,
    start_offsets: Mapping[str, str],
    buckets: int,
    max_batch_rows: int,
    interval_ms: int,
    drain: bool,
    job: ReportTaker,
) -> StreamingQuery:
    shutil.rmtree(segment_cache, ignore_errors=True)  # what a killed run left behind
    around = Surroundings(spark, start_offsets, segment_cache, buckets, max_batch_rows)
    sink = insert.plan.sink
    writer = (
        messages_of(insert.plan, around)
        .writeStream.format("kafka")
        .options(**writer_options(sink.properties))
        .option("topic", sink.topic)
        .option("checkpointLocation", str(checkpoint))
        .outputMode("append" if provided(insert.plan) == INSERT_ONLY else "update")
        .queryName(f"{insert.name}@{checkpoint}")
    )
    writer = (
        writer.trigger(availableNow=True) if drain else writer.trigger(processingTime=f"{interval_ms} milliseconds")
    )
    reports = _reports_of(spark)
    with reports.starting:
        query = writer.start()
        reports.subscribe(str(query.runId), job)
    return query


class _Reports(StreamingQueryListener):
    """Hands each report to the job of its query. One listener serves all jobs of a Spark session."""

    def __init__(self) -> None:
        self.starting = threading.Lock()
        self._takers: dict[str, ReportTaker] = {}

    def subscribe(self, run: str, taker: ReportTaker) -> None:
        self._takers[run] = taker

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        if taker := self._taker(str(event.progress.runId)):
            taker.report(json.loads(event.progress.json))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        if taker := self._taker(str(event.runId)):
            taker.report_end()

    def _taker(self, run: str) -> ReportTaker | None:
        # A first batch may end before start() has returned and its job is known here.
        with self.starting:
            return self._takers.get(run)


_LISTENERS: WeakKeyDictionary[SparkSession, _Reports] = WeakKeyDictionary()


def _reports_of(spark: SparkSession) -> _Reports:
    if spark not in _LISTENERS:
        _LISTENERS[spark] = _Reports()
        spark.streams.addListener(_LISTENERS[spark])
    return _LISTENERS[spark]
