"""How far event time has come, from rows as they are read to what every bucket is told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from millstream.kernels.operator import MAX_WATERMARK
from millstream.kernels.watermark import SplitReport
from millstream.plan.vectorised.evaluators import ColumnValue
from millstream.spark import event_time
from millstream.spark.event_time import (
    EVENT_TIME,
    drop_splits,
    hand_over,
    note_places,
    note_times,
    noted,
    pack_noted,
    take_times,
    to_reports,
)
from millstream.spark.packets import unpack
from millstream.spark.splits import SPLIT

if TYPE_CHECKING:
    from pathlib import Path

PARTITIONS = pa.array([1, 0, 1, 0, 1], pa.int32())
ALL = {"scan-1", "scan-2"}


class Tasks:
    """Says which task a worker runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.task = 0
        monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{folder},/nowhere")
        monkeypatch.setattr(event_time, "_task", lambda: self.task)
        self.change_worker()

    def begin(self) -> None:
        self.task += 1

    def change_worker(self) -> None:
        event_time._NOTES.task, event_time._NOTES.reports = None, {}


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tasks:
    return Tasks(monkeypatch, tmp_path)


def times(*values: int | None) -> pa.Array:
    return pa.array(values, pa.timestamp("ms"))


@pytest.mark.usefixtures("tasks")
def test_every_bucket_is_told() -> None:
    rows = pa.record_batch({EVENT_TIME: times(5, None, 9, None, 7), SPLIT: PARTITIONS})
    list(take_times("scan-1", iter([rows.slice(0, 2), rows.slice(2)])))
    packets = pack_noted(ALL, 3)
    assert packets.column("part").to_pylist() == [EVENT_TIME] * 3
    assert packets.column("bucket").to_pylist() == [0, 1, 2]
    found = [to_reports(unpack(payload.as_py())) for payload in packets["payload"]]
    assert found == [{"scan-1/1": SplitReport(9), "scan-1/0": SplitReport(None)}] * 3


@pytest.mark.usefixtures("tasks")
def test_a_batch_of_which_nothing_is_known_reaches_every_bucket() -> None:
    packets = pack_noted(ALL, 3)
    assert [to_reports(unpack(payload.as_py())) for payload in packets["payload"]] == [{}] * 3


@pytest.mark.usefixtures("tasks")
def test_rows_that_came_through_spark_lose_the_column_with_their_time() -> None:
    rows = pa.record_batch({"id": [1, 2], EVENT_TIME: times(5, 6), SPLIT: PARTITIONS.slice(0, 2)})
    [kept] = take_times("scan-1", iter([rows]))
    assert kept.schema.names == ["id", SPLIT]
    [alone] = drop_splits(iter([kept]))
    assert alone.schema.names == ["id"]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_rows_that_stay_in_python_are_looked_at_as_they_are_read(tasks: Tasks, zone: str | None) -> None:
    """A later step may drop them."""
    moment = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None if zone is None else UTC)
    start = round(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    ts = pa.array([moment.replace(microsecond=us) for us in (1999, 0, 5000, 3000, 2000)], pa.timestamp("us", zone))
    batch = pa.RecordBatch.from_arrays([ts, PARTITIONS], names=["ts", SPLIT])
    read = note_times("scan-1", ColumnValue("ts", ts.type), iter([batch.slice(0, 2), batch.slice(2)]))
    assert list(read) == [batch.slice(0, 2), batch.slice(2)]
    assert noted(ALL) == {"scan-1/1": SplitReport(start + 5), "scan-1/0": SplitReport(start + 3)}
    tasks.begin()
    assert noted(ALL) == {}


def test_an_earlier_time_than_that_of_the_epoch_is_rounded_down(tasks: Tasks) -> None:
    assert tasks.task == 0
    batch = pa.record_batch({"ts": pa.array([-1], pa.timestamp("us"))})
    list(note_times("scan-1", ColumnValue("ts", pa.timestamp("us")), iter([batch])))
    assert noted(ALL) == {"scan-1/": SplitReport(-1)}


@pytest.mark.usefixtures("tasks")
@pytest.mark.parametrize("split", [None, pa.array([1 << 46, 2 << 46], pa.int64())], ids=["none", "files"])
def test_a_table_without_partitions_is_one_split(split: pa.Array | None) -> None:
    rows = pa.record_batch({EVENT_TIME: times(8, 6)} | ({} if split is None else {SPLIT: split}))
    list(take_times("scan-1", iter([rows])))
    assert noted(ALL) == {"scan-1/": SplitReport(8)}


@pytest.mark.usefixtures("tasks")
def test_partitions_of_several_topics() -> None:
    rows = pa.record_batch({EVENT_TIME: times(8, 6), SPLIT: pa.array(["12-a-b-3", "12-a-10"])})
    note_places("scan-1", [("a-b/3", False), ("a-b/4", False), ("a/10", True)])
    list(take_times("scan-1", iter([rows])))
    assert noted(ALL) == {
        "scan-1/a-b/3": SplitReport(8),
        "scan-1/a-b/4": SplitReport(is_active=False),
        "scan-1/a/10": SplitReport(MAX_WATERMARK),
    }


@pytest.mark.usefixtures("tasks")
def test_an_operator_is_told_of_its_own_sources() -> None:
    note_places("scan-1", [("0", False)])
    note_places("scan-10", [("0", False)])
    assert set(noted({"scan-1"})) == {"scan-1/0"}


def test_what_one_worker_has_noted_reaches_the_next_one_of_the_task(tasks: Tasks, tmp_path: Path) -> None:
    rows = [pa.record_batch({EVENT_TIME: times(time)}) for time in (3, 9, 4)]
    read = hand_over(take_times("scan-1", iter(rows)))
    assert next(read).num_rows == 1
    assert list(tmp_path.iterdir()) == []
    assert len(list(read)) == 2
    tasks.change_worker()
    assert noted(ALL) == {"scan-1/": SplitReport(9)}
    assert list(tmp_path.iterdir()) == []
    tasks.begin()
    assert list(hand_over(iter([]))) == []
    assert list(tmp_path.iterdir()) == []
    assert noted(ALL) == {}
