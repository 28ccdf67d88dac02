"""How far event time has come, from rows as they are read to what every bucket is told."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from millstream.spark.event_time import EVENT_TIME, EventTimes, merge_highest, record_event_time
from millstream.spark.packets import unpack
from millstream.spark.python_stage import PythonStage
from millstream.spark.splits import SPLIT

PARTITIONS = pa.array([1, 0, 1, 0, 1], pa.int32())


def told(packets: pa.RecordBatch) -> list[dict[str, int | None]]:
    """By bucket."""
    assert set(packets.column("part").to_pylist()) <= {EVENT_TIME}
    assert packets.column("bucket").to_pylist() == list(range(packets.num_rows))
    return [dict(zip(*unpack(payload.as_py()).to_pydict().values(), strict=True)) for payload in packets["payload"]]


def test_rows_that_came_through_spark_carry_it() -> None:
    times = EventTimes("left", is_recorded=False)
    rows = pa.table({"id": [1, 2, 3, 4, 5], EVENT_TIME: pa.array([5, None, 9, None, 7], pa.int64()), SPLIT: PARTITIONS})
    assert times.take_from(rows.slice(0, 2)).column_names == ["id"]
    assert times.take_from(rows.slice(2)).column_names == ["id"]
    assert told(times.packets(3)) == [{"left:1": 9, "left:0": None}] * 3


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_rows_that_stay_in_python_are_looked_at_as_they_are_read(zone: str | None) -> None:
    """A later step may drop them."""
    moment = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None if zone is None else UTC)
    start = round(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    ts = pa.array([moment.replace(microsecond=us) for us in (1999, 0, 5000, 3000, 2000)], pa.timestamp("us", zone))
    batch = pa.RecordBatch.from_arrays([ts, PARTITIONS], names=["ts", SPLIT])
    stage = record_event_time(PythonStage(None, "ts TIMESTAMP, __split INT"), "ts", 1)
    assert stage.records_time
    assert stage.step is not None
    assert [rows.num_rows for rows in stage.step(iter([batch.slice(0, 2), batch.slice(2)]))] == [2, 3]
    assert told(EventTimes("rows", is_recorded=True).packets(1)) == [{"rows:1": start + 4, "rows:0": start + 2}]
    assert list(stage.step(iter([]))) == []
    assert told(EventTimes("rows", is_recorded=True).packets(1)) == []


@pytest.mark.parametrize("split", [None, pa.array([1 << 46, 2 << 46], pa.int64())], ids=["none", "files"])
def test_a_table_without_partitions_is_one_split(split: pa.Array | None) -> None:
    rows = pa.table({EVENT_TIME: pa.array([8, 6], pa.int64())} | ({} if split is None else {SPLIT: split}))
    times = EventTimes("rows", is_recorded=False)
    times.take_from(rows)
    assert told(times.packets(1)) == [{"rows:": 8}]


def test_what_several_tasks_tell_is_put_together() -> None:
    into: dict[str, int | None] = {}
    for splits, highest in ((["a", "b"], [3, None]), (["b", "a"], [4, None]), (["c", "a"], [None, 5])):
        merge_highest(into, pa.table([pa.array(splits), pa.array(highest, pa.int64())], names=["split", "highest"]))
    assert into == {"a": 5, "b": 4, "c": None}
