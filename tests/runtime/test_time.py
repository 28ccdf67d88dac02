"""Time on Spark: ticks reach every bucket, and so does how far event time has come in each split."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from millstream.changelog import KIND
from millstream.connectors.kafka.read_range import ReadRange
from millstream.connectors.kafka.tables import KafkaSource
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.operator import ROWS, StateTableSpec, StepResult
from millstream.plan.program import compile_script
from millstream.runtime.batch_log import BatchLog
from millstream.source import SourceText
from millstream.spark.event_time import EVENT_TIME, record_event_time
from millstream.spark.kafka_source import read_rows
from millstream.spark.kernel_host import host
from millstream.spark.kernel_stage import KernelSettings
from millstream.spark.print_sink import show_rows
from millstream.spark.python_stage import PythonStage
from millstream.spark.splits import SPLIT, Splits
from millstream.spark.tick_numbers import TickRequest, rows_read
from millstream.spark.ticks import Ticks
from millstream.state.job_state import discard_after, measure
from millstream.state.state_table import DEAD, HASH
from millstream.state.storage import open_storage
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.patience import PATIENCE
from tests.runtime.topics import as_json, fresh_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from millstream.kernels.operator import BatchTime, OpenTable, Operator, Parts
    from millstream.plan.operators.scan import Scan
    from millstream.state.state_table import StateTable

EVENTS = pa.schema([("id", pa.int64()), ("ts", pa.int64()), (SPLIT, pa.int32())])
BUCKETS = 3


@dataclass(frozen=True, slots=True)
class ClockOperator:
    """Says once per bucket and batch what time it is, and how many rows it has seen in all."""

    inputs: ClassVar = (ROWS,)
    needs_time: ClassVar = True
    watermark_delay_ms: ClassVar = 0
    state_tables: ClassVar = {
        "seen": StateTableSpec((pa.field("key", pa.int64()),), (pa.field("rows", pa.int64()),)),
    }
    output_schema: ClassVar = pa.schema(
        [(name, pa.int64()) for name in ("rows", "now", "watermark", "before")] + [(KIND, pa.int8())]
    )

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: ("id",)}

    def needs_order(self, _: str) -> bool:
        return False

    def combine(self, _: str, batch: pa.Table) -> Parts:
        return {ROWS: batch}

    def open(self, open_table: OpenTable) -> ClockKernel:
        return ClockKernel(open_table("seen"))


@dataclass(frozen=True, slots=True)
class ClockKernel:
    seen: StateTable

    def step(self, parts: Parts, time: BatchTime) -> StepResult:
        key = pa.table({HASH: pa.array([0]), "key": pa.array([0])})
        before = self.seen.lookup(key).values.column("rows")[0].as_py() or 0
        rows = before + (parts[ROWS].num_rows if ROWS in parts else 0)
        self.seen.put(key.append_column("rows", pa.array([rows])).append_column(DEAD, pa.array([False])))
        told = [[value] for value in (rows, time.now, time.watermark, time.before, 0)]
        return StepResult((pa.table(told, schema=ClockOperator.output_schema),))


class Clock:
    """Runs an operator on Parquet files; it is restarted for each `run`."""

    def __init__(self, spark: SparkSession, folder: Path, operator: Operator, settings: KernelSettings) -> None:
        self.state = settings.state
        self.log = BatchLog(folder / "checkpoint")
        self.settings = settings
        self.rows_read = 0
        self.is_recorded = False
        self._spark = spark
        self._folder = folder
        self._operator = operator
        self._files = 0

    def run(self, rows: pa.Table | None = None, *, ticks: bool = False, fails: bool = False) -> list[dict[str, int]]:
        """What the sink was given, by the number of the batch; with `fails` it fails when it has been given that."""
        (self._folder / "in").mkdir(exist_ok=True)
        if rows is not None:
            for number, split in enumerate(rows.column(SPLIT).unique() if SPLIT in rows.column_names else [None]):
                part = rows if split is None else rows.filter(pc.equal(rows.column(SPLIT), split))
                pq.write_table(part, self._folder / "in" / f"{self._files}-{number}.parquet")
            self._files += 1
        discard_after(open_storage(self.state), self.log.last_finished)
        tick_of = self.log.tick_of
        request = TickRequest(tick_of(self.log.last_finished), tick_of(self.log.last_begun), 3600.0 if ticks else None)
        awaited = ("rows:0", "rows:1", "rows:2") if self._operator.needs_time else ()
        step = host({ROWS: self._read()}, self._operator, "clock-1", self.settings, awaited_splits=awaited)
        changes = Ticks(self._spark, request).reach(step, self.settings).to_frame()
        found: list[dict[str, int]] = []

        def take(table: pa.Table, _: list[int] | None) -> None:
            found.extend(table.to_pylist())
            if fails:
                raise RuntimeError("killed")

        writer = show_rows(changes, take).option("checkpointLocation", str(self.log.folder)).outputMode("update")
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE)
        self.rows_read += sum(rows_read(json.loads(report.json)) for report in query.recentProgress)
        return found

    def _read(self) -> DataFrame | PythonStage:
        schema = self._spark.read.parquet(str(self._folder / "in")).schema
        rows = self._spark.readStream.schema(schema).parquet(str(self._folder / "in"))
        if not self._operator.needs_time:
            return rows
        if not self.is_recorded:
            return rows.withColumnRenamed("ts", EVENT_TIME)
        return record_event_time(PythonStage(rows, schema, pass_on), "ts", 0).pipe(drop_odd_rows, schema)


class TopicClock(Clock):
    """Reads the partitions of a topic; rows may be 5 ms late."""

    scan: Scan

    def _read(self) -> PythonStage:
        source = self.scan.source
        assert isinstance(source, KafkaSource)
        splits = Splits.of(0, source)
        rows = read_rows(
            self._spark, self.scan, source, ReadRange("earliest"), 1000, splits=splits, folder=self._folder
        )
        assert isinstance(rows, PythonStage)
        return record_event_time(rows, "ts", 5)


def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def drop_odd_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(pc.equal(pc.bit_wise_and(batch.column("id"), 1), 0))


def events(*rows: tuple[int, int, int]) -> pa.Table:
    return pa.table([pa.array(column, field.type) for column, field in zip(zip(*rows), EVENTS)], schema=EVENTS)  # noqa: B905


def one_time(told: list[dict[str, int]]) -> tuple[int | None, int | None]:
    """The watermark before and after a batch; all buckets must have been told the same."""
    assert len(told) == BUCKETS
    [(before, after, _)] = {(row["before"], row["watermark"], row["now"]) for row in told}
    return before, after


@pytest.mark.parametrize("is_recorded", [False, True], ids=["in a column", "recorded"])
def test_event_time_reaches_every_bucket(spark: SparkSession, tmp_path: Path, *, is_recorded: bool) -> None:
    clock = Clock(spark, tmp_path, ClockOperator(), KernelSettings(BUCKETS, tmp_path / "state", 2))
    clock.is_recorded = is_recorded
    assert one_time(clock.run(events((0, 50, 0), (2, 40, 1), (3, 60, 1)))) == (None, None)
    assert one_time(clock.run(events((4, 30, 2)))) == (None, 30)
    with pytest.raises(StreamingQueryException, match="killed"):
        clock.run(events((6, 55, 2), (7, 70, 0)), fails=True)
    # The batch is repeated, with the time at which it first began, and those of later rows wait for the next one.
    begun_at = round(clock.log.start_time(2) * 1000)
    repeated = clock.run(events((8, 65, 2)))
    assert one_time(repeated[:BUCKETS]) == (30, 55)
    assert one_time(repeated[BUCKETS:]) == (55, 60)
    assert repeated[0]["now"] == begun_at
    counted = 5 if is_recorded else 7
    assert sum(row["rows"] for row in repeated[BUCKETS:]) == counted
    # Nothing comes but ticks: the splits become idle one after the other, and the watermark stays where it is.
    clock.settings = replace(clock.settings, idle_ms=2)
    for _ in range(3):
        assert one_time(clock.run(ticks=True)) == (60, 60)
    # One of them has rows again, and the others do not hold it back any more.
    assert one_time(clock.run(events((10, 90, 1)))) == (60, 90)
    assert clock.rows_read == 8


def test_partitions_of_a_topic(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    """One of three is empty and holds back time until it counts as idle; rows that it has later are late."""
    topic = fresh_name("events")
    kafka = ScriptKafka(broker)
    kafka.create_topic(topic, partitions=3)
    script = f"""
        CREATE TABLE events (id BIGINT, ts BIGINT) WITH ('connector' = 'kafka', 'topic' = '{topic}',
          'properties.bootstrap.servers' = '{broker}', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
        CREATE TABLE copies (id BIGINT, ts BIGINT) WITH ('connector' = 'print');
        INSERT INTO copies SELECT id, ts FROM events;
    """
    clock = TopicClock(spark, tmp_path, ClockOperator(), KernelSettings(BUCKETS, tmp_path / "state", 2, idle_ms=2))
    [clock.scan] = compile_script(SourceText("events.sql", script), {}, {}).jobs[0].scans

    def produce(partition: int, *times: int) -> None:
        kafka.produce(topic, [Message(None, as_json({"id": ts, "ts": ts})) for ts in times], partition=partition)

    produce(0, 50, 20)
    produce(1, 40)
    assert one_time(clock.run()) == (None, None)
    produce(0, 60)
    assert one_time(clock.run()) == (None, None)
    produce(1, 45)
    assert one_time(clock.run(ticks=True)) == (None, 40)
    produce(2, 10)
    produce(0, 70)
    assert one_time(clock.run()) == (40, 40)


def test_a_killed_tick_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    """With the first batch of a job and with a later one; what ticks when it starts again is the next batch."""
    clock = Clock(spark, tmp_path, ClockOperator(), KernelSettings(BUCKETS, tmp_path / "state", 2))
    for number, before in enumerate((None, 10)):
        rows = events((0, 10, 0), (1, 20, 1), (2, 30, 2)) if number == 0 else None
        with pytest.raises(StreamingQueryException, match="killed"):
            clock.run(rows, ticks=True, fails=True)
        begun_at = round(clock.log.start_time(2 * number) * 1000)
        told = clock.run(ticks=True)
        assert one_time(told[:BUCKETS]) == (before, 10)
        assert told[0]["now"] == begun_at
        assert one_time(told[BUCKETS:]) == (10, 10)
    assert clock.run() == []


def test_ticks_sweep_buckets_that_have_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    """A TTL may be added to a job that has ticked and to one that has not, and be taken away again."""
    keyed = pa.schema([("key", pa.string())])
    counting = AggregateOperator(("key",), (Call("n", "COUNT(*)"),), keyed, insert_only=True)
    clock = Clock(spark, tmp_path, counting, KernelSettings(BUCKETS, tmp_path / "state", 2))
    clock.run(pa.table([[str(number) for number in range(1000)]], schema=keyed))
    assert rows_kept(clock) == 1000
    clock.settings = replace(clock.settings, ttl_ms=24 * 60 * 60 * 1000)
    assert clock.run(ticks=True) == []
    assert rows_kept(clock) == 1000
    clock.settings = replace(clock.settings, ttl_ms=1)
    assert clock.run(ticks=True) == []
    assert rows_kept(clock) == 0
    clock.settings = replace(clock.settings, ttl_ms=0)
    assert [row["n"] for row in clock.run(pa.table([["7"]], schema=keyed))] == [1]
    assert clock.rows_read == 1001


def rows_kept(clock: Clock) -> int:
    return sum(table.rows for table in measure(open_storage(clock.state)))
