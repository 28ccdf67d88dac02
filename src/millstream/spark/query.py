"""A plan as a running streaming query, and the reports it makes."""

from __future__ import annotations

import json
import logging
import shutil
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from pyspark.errors import AnalysisException
from pyspark.sql.streaming.listener import StreamingQueryListener

from millstream.changelog import INSERT_ONLY
from millstream.connectors.kafka_tables import KafkaSink
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.changelog import provided
from millstream.spark.kafka_properties import writer_options
from millstream.spark.running_query import RunningQuery
from millstream.spark.translate import Surroundings, messages_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from millstream.plan.program import InsertPlan


class ReportTaker(Protocol):
    """Whoever wants to hear of a query's batches and of its end."""

    name: str

    def report(self, report: Mapping[str, Any]) -> None: ...

    def report_end(self) -> None: ...


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """One INSERT, and all that is decided about how it runs."""

    insert: InsertPlan
    checkpoint: Path
    segment_cache: Path
    start_offsets: Mapping[str, str]
    buckets: int
    max_batch_rows: int
    interval_ms: int
    drain: bool


def prepare_query(spark: SparkSession, request: QueryRequest) -> DataStreamWriter:
    """All of a query but its start; what Spark finds wrong with it is raised here."""
    shutil.rmtree(request.segment_cache, ignore_errors=True)  # what a killed run left behind
    around = Surroundings(spark, request.start_offsets, request.segment_cache, request.buckets, request.max_batch_rows)
    plan = request.insert.plan
    assert isinstance(plan.sink, KafkaSink)
    writer = (
        _checked_by_spark(request.insert, around)
        .writeStream.format("kafka")
        .options(**writer_options(plan.sink.properties))
        .option("topic", plan.sink.topic)
        .option("checkpointLocation", str(request.checkpoint))
        .outputMode("append" if provided(plan) == INSERT_ONLY else "update")
        .queryName(f"{request.insert.name}@{request.checkpoint}")
    )
    if request.drain:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=f"{request.interval_ms} milliseconds")


def start_query(spark: SparkSession, query: DataStreamWriter, job: ReportTaker) -> RunningQuery:
    reports = _reports_of(spark)
    with reports.starting:
        started = query.start()
        reports.subscribe(str(started.runId), job)
    return RunningQuery(job.name, started)


def _checked_by_spark(insert: InsertPlan, around: Surroundings) -> DataFrame:
    """The plan as a DataFrame; what only Spark finds wrong with an expression is told as an error of the script."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True  # they would print the whole plan
    try:
        with _workers_of_this_python(around.spark):
            return messages_of(insert.plan, around)
    except AnalysisException as error:
        raise ScriptError(
            Diagnostic(
                Code.TYPE_MISMATCH,
                "an expression of this query does not fit its operands",
                insert.plan.span,
                detail=str(error).strip().splitlines()[0],
            )
        ) from error


@contextmanager
def _workers_of_this_python(spark: SparkSession) -> Iterator[None]:
    """On one machine, workers run the Python that runs us, whatever PYSPARK_PYTHON a given session started with."""
    context = spark.sparkContext
    before = context.pythonExec
    if (context.master or "").startswith("local"):
        context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


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
