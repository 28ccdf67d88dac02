"""Time on Spark: ticks reach every bucket, and so does how far event time has come in each split."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.operator import MAX_WATERMARK, ROWS
from millstream.kernels.watermark import TimeSource
from millstream.plan.vectorised.evaluators import ColumnValue
from millstream.runtime.batch_log import BatchLog
from millstream.spark.event_time import note_times
from millstream.spark.kernel_host import host
from millstream.spark.kernel_stage import KernelSettings, TimeFlow
from millstream.spark.print_sink import show_rows
from millstream.spark.python_stage import PythonStage
from millstream.spark.splits import SPLIT
from millstream.spark.tick_numbers import TickRequest, rows_read
from millstream.spark.ticks import Ticks
from millstream.state.job_state import discard_after, measure
from millstream.state.storage import open_storage
from tests.patience import PATIENCE
from tests.runtime.clocks import BUCKETS, ClockOperator

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from millstream.kernels.operator import Operator

EVENTS = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("ms")), (SPLIT, pa.int32())])


class Clock:
    """Runs an operator on Parquet files; it is restarted for each `run`."""

    def __init__(self, spark: SparkSession, folder: Path, operator: Operator, settings: KernelSettings) -> None:
        self.state = settings.state
        self.log = BatchLog(folder / "checkpoint")
        self.settings = settings
        self.rows_read = 0
        self._spark = spark
        self._folder = folder
        self._operator = operator
        self._files = 0

    def run(
        self, rows: pa.Table | None = None, *, ticks: bool = False, ends: bool = False, fails: bool = False
    ) -> list[dict[str, int]]:
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
        step = host({ROWS: self._read()}, self._operator, "clock-1", self.settings)
        changes = Ticks(self._spark, request, only_end=ends).reach(step, self.settings).to_frame()
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
        step = partial(note_times, "scan-1", ColumnValue("ts", pa.timestamp("us")))
        return PythonStage(rows, schema, step, notes_time=True)


def settings_of(folder: Path, idle_ms: int = 0) -> KernelSettings:
    flow = TimeFlow((TimeSource("scan-1", idle_ms),), is_told=False)
    return KernelSettings(BUCKETS, folder / "state", 2, time=flow)


def events(*rows: tuple[int, int, int]) -> pa.Table:
    return pa.table([pa.array(column, field.type) for column, field in zip(zip(*rows), EVENTS)], schema=EVENTS)  # noqa: B905


def one_time(told: list[dict[str, int]]) -> tuple[int | None, int | None]:
    """The watermark before and after a batch; all buckets must have been told the same."""
    assert len(told) == BUCKETS
    [(before, after, _)] = {(row["before"], row["watermark"], row["now"]) for row in told}
    return before, after


def test_event_time_reaches_every_bucket(spark: SparkSession, tmp_path: Path) -> None:
    clock = Clock(spark, tmp_path, ClockOperator(), settings_of(tmp_path))
    assert one_time(clock.run(events((0, 50, 0), (2, 40, 1), (3, 60, 1)))) == (None, 50)
    assert one_time(clock.run(events((4, 30, 2)))) == (50, 50)
    with pytest.raises(StreamingQueryException, match="killed"):
        clock.run(events((6, 55, 2), (7, 70, 0)), fails=True)
    # The batch is repeated, with the time at which it first began, and those of later rows wait for the next one.
    begun_at = round(clock.log.start_time(2) * 1000)
    repeated = clock.run(events((8, 65, 2)))
    assert one_time(repeated[:BUCKETS]) == (50, 55)
    assert one_time(repeated[BUCKETS:]) == (55, 60)
    assert repeated[0]["now"] == begun_at
    assert sum(row["seen"] for row in repeated[BUCKETS:]) == 7
    # Nothing comes but ticks: the splits become idle one after the other, and the watermark stays where it is.
    clock.settings = settings_of(tmp_path, idle_ms=2)
    for _ in range(3):
        assert one_time(clock.run(ticks=True)) == (60, 60)
    # One of them has rows again, and the others do not hold it back any more.
    assert one_time(clock.run(events((10, 90, 1)))) == (60, 90)
    assert clock.rows_read == 8


def test_a_killed_tick_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    """With the first batch of a job and with a later one; what ticks when it starts again is the next batch."""
    clock = Clock(spark, tmp_path, ClockOperator(), settings_of(tmp_path))
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


def test_a_killed_end_is_repeated_and_happens_once(spark: SparkSession, tmp_path: Path) -> None:
    """Whether the job that goes on would end event time or not: the batch has begun."""
    clock = Clock(spark, tmp_path, ClockOperator(), settings_of(tmp_path))
    assert one_time(clock.run(events((0, 10, 0)), ticks=True)) == (None, 10)
    with pytest.raises(StreamingQueryException, match="killed"):
        clock.run(ends=True, fails=True)
    assert one_time(clock.run(ticks=True)) == (10, MAX_WATERMARK)
    assert clock.run(ticks=True) == clock.run(ends=True) == []


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
