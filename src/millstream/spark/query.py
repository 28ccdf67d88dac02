"""Turns a plan into a running streaming query, and receives its reports."""

from __future__ import annotations

import json
import logging
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql.streaming.listener import StreamingQueryListener

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.spark.job_errors import in_short, job_error
from millstream.spark.lookup_upkeep import accompany
from millstream.spark.running_query import RunningQuery
from millstream.spark.ticks import Ticks
from millstream.spark.translate import TranslationContext, shuffle_partitions
from millstream.spark.writers import writer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from millstream.connectors.kafka.read_range import ReadRange
    from millstream.plan.program import JobPlan
    from millstream.source import Span
    from millstream.spark.delivery import Dispatch
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.lookup_upkeep import LookedUpTable
    from millstream.spark.tick_numbers import TickRequest


class ReportTaker(Protocol):
    """Receives the reports of a query's batches and of its end."""

    name: str
    tables: Mapping[str, Span]
    """Where the tables that it uses are declared."""

    def report(self, report: Mapping[str, Any]) -> None: ...

    def report_end(self) -> None: ...

    def discreet(self, text: str) -> str: ...


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """One job, with all decisions about how it runs."""

    job: JobPlan
    checkpoint: Path
    kernel_settings: KernelSettings
    positions: Mapping[str, ReadRange]
    max_batch_rows: int
    interval_ms: int
    drain: bool
    partitions_of: Callable[[Mapping[str, str], str], tuple[int, ...]]
    printed: Callable[[list[str]], None]
    shown: Callable[[pa.Table, list[int] | None], None]
    dispatch: Dispatch
    ticks: TickRequest | None = None
    only_ends: bool = False
    """Whether all rows have been read, and nothing is left but to end event time."""

    @property
    def reads_nothing(self) -> bool:
        """A batch that ends event time may have begun in an earlier run."""
        return self.only_ends or (self.ticks is not None and self.ticks.is_ending)

    @property
    def ends_by_itself(self) -> bool:
        return self.drain or self.job.is_bounded

    @property
    def is_to_end(self) -> bool:
        """Whether event time is still to end when all rows have been read."""
        ends = self.ends_by_itself and self.job.physical.needs_time
        return ends and self.ticks is not None and not self.ticks.has_ended


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    writer: DataStreamWriter
    ticks: Ticks | None
    """Those to come while it runs."""
    lookups: tuple[LookedUpTable, ...]


def prepare_query(spark: SparkSession, request: QueryRequest) -> PreparedQuery:
    """All of a query but its start; what Spark finds wrong with it is raised here."""
    ticks = None if request.ticks is None else Ticks(spark, request.ticks, only_end=request.only_ends)
    context = TranslationContext(
        spark=spark,
        folder=request.checkpoint,
        positions=request.positions,
        kernel_settings=request.kernel_settings,
        max_batch_rows=request.max_batch_rows,
        partitions_of=request.partitions_of,
        printed=request.printed,
        shown=request.shown,
        dispatch=request.dispatch,
        keeps_partitions_apart=any(write.sink.depends_on_tasks for write in request.job.physical.writes),
        ticks=ticks,
        reads_nothing=request.reads_nothing,
    )
    pinned = context.pinned_tasks()
    tasks = pinned or shuffle_partitions(spark)
    context = replace(
        context,
        kernel_settings=replace(request.kernel_settings, tasks=tasks),
        reading_tasks=None if pinned else max(tasks, spark.sparkContext.defaultParallelism),
    )
    writer = (
        _start_writer(request.job, context)
        .option("checkpointLocation", f"file://{request.checkpoint}")  # Hadoop does not decode a %
        .queryName(f"{request.job.name}@{request.checkpoint}")
    )
    lookups = tuple(context.lookups.values())
    if request.ends_by_itself:
        return PreparedQuery(writer.trigger(availableNow=True), None, lookups)
    return PreparedQuery(writer.trigger(processingTime=f"{request.interval_ms} milliseconds"), ticks, lookups)


class QueryStart:
    """Starts a query: the first time as it was prepared together with all others, later by preparing it again.

    `ask` is called before each: what a query must know of the checkpoint, such as an unfinished batch, may have
    changed. `record` is called right before a start, when nothing can refuse it any more.
    """

    def __init__(self, spark: SparkSession, ask: Callable[[], QueryRequest], record: Callable[[], None]) -> None:
        self._spark = spark
        self._ask = ask
        self._record = record
        self._prepared: PreparedQuery | None = prepare_query(spark, ask())

    def __call__(self, job: ReportTaker) -> RunningQuery:
        prepared, self._prepared = self._prepared or prepare_query(self._spark, self._ask()), None
        self._record()
        return start_query(self._spark, prepared, job)

    def end_time(self, job: ReportTaker) -> RunningQuery | None:
        """When all rows have been read, one batch more in which event time ends; None if nobody waits for that."""
        request = self._ask()
        if not request.is_to_end:
            return None
        return start_query(self._spark, prepare_query(self._spark, replace(request, only_ends=True)), job)


def start_query(spark: SparkSession, query: PreparedQuery, job: ReportTaker) -> RunningQuery:
    reports = _reports_of(spark)
    tell = partial(job_error, job.name, tables=job.tables, discreet=job.discreet)
    with reports.starting:
        try:
            started = query.writer.start()
        except PySparkException as error:
            failure = tell(error)
            raise failure from failure.__cause__
        reports.subscribe(str(started.runId), job)
    if query.ticks is not None:
        query.ticks.accompany(started)
    accompany(started, query.lookups)
    return RunningQuery(job.name, started, tell)


def _start_writer(job: JobPlan, context: TranslationContext) -> DataStreamWriter:
    """Turns the plan into a query; problems that only Spark finds in an expression are errors of the script."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True  # they would print the whole plan
    try:
        with _workers_of_this_python(context.spark):
            return writer_of(job, context)
    except AnalysisException as error:
        raise ScriptError(
            Diagnostic(
                Code.TYPE_MISMATCH,
                "an expression of this query has operands of the wrong type",
                job.roots[0].span,
                detail=in_short(str(error)),
                hint="CAST an operand to the expected type.",
            )
        ) from error


@contextmanager
def _workers_of_this_python(spark: SparkSession) -> Iterator[None]:
    """On one machine, workers run the same Python as this process, whatever PYSPARK_PYTHON an existing session has."""
    context = spark.sparkContext
    before = context.pythonExec
    if (context.master or "").startswith("local"):
        context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


class _Reports(StreamingQueryListener):
    """Passes each report to the job of its query. One listener serves all jobs of a Spark session.

    Spark calls it with its own events. PySpark would ask the JVM for every field of a report first, one call after the
    other, which takes 110 ms of processor time per batch.
    """

    class Java:
        """What Py4J wants to know."""

        implements: ClassVar = ["org.apache.spark.sql.streaming.PythonStreamingQueryListener"]

    def __init__(self) -> None:
        self.starting = threading.Lock()
        self._takers: dict[str, ReportTaker] = {}

    @property
    def _jlistener(self) -> Any:
        jvm: Any = SparkContext._jvm  # noqa: SLF001
        return jvm.PythonStreamingQueryListenerWrapper(self)

    def subscribe(self, run: str, taker: ReportTaker) -> None:
        self._takers[run] = taker

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = event.progress()
        if taker := self._taker(progress.runId().toString()):
            taker.report(json.loads(progress.json()))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        run = event.runId().toString()
        if taker := self._taker(run):
            # Spark never releases a listener: a job kept here would keep its query in the JVM, with its plans.
            del self._takers[run]
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
