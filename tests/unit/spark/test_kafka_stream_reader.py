"""Batches as the stream plans them, with what Kafka answers made up."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from millstream.reading.read_request import ReadRequest
from millstream.reading.reading_error import DeletedPartitionsError
from millstream.spark.kafka_stream_reader import KafkaStreamReader

if TYPE_CHECKING:
    from millstream.connectors.kafka.read_range import Offsets


class Answers:
    def __init__(self, latest: Offsets) -> None:
        self.offsets = latest

    def latest(self) -> Offsets:
        return self.offsets

    earliest = latest

    def reads(self, topic: str) -> bool:
        return topic == "t"


def reader(latest: Offsets, **wanted: Any) -> KafkaStreamReader:
    usual = {"folder": Path(), "scan": "scan-1", "starts": None, "ends": None, "may_lose": False, "keeps_apart": False}
    request = ReadRequest(
        topics=("t",), pattern=None, properties={}, most=100, columns=(), reads_committed=False, **{**usual, **wanted}
    )
    made = KafkaStreamReader(request, pickle.dumps(None), pa.schema([]))
    made._asked = Answers(latest)  # type: ignore[assignment]
    return made


def test_a_topic_that_is_not_listed_is_gone() -> None:
    with pytest.raises(DeletedPartitionsError):
        reader({}).latestOffset({"t": {"0": 7}}, ReadMaxRows(100))


def test_where_messages_may_be_lost_its_position_is_kept() -> None:
    """It may come back, for example when the user may see it again."""
    lenient = reader({("t", 1): 9}, may_lose=True)

    assert lenient.latestOffset({"t": {"0": 7, "1": 5}}, ReadMaxRows(100)) == {"t": {"0": 7, "1": 9}}


def test_a_stream_that_is_to_end_does_not_read_what_comes_later() -> None:
    ending = reader({("t", 0): 10})
    ending.prepareForTriggerAvailableNow()
    ending._asked = Answers({("t", 0): 50})  # type: ignore[assignment]

    assert ending.latestOffset({"t": {"0": 0}}, ReadAllAvailable()) == {"t": {"0": 10}}


def test_tasks_share_few_messages_unless_partitions_are_kept_apart() -> None:
    start, end = {"t": {"0": 0, "1": 0}}, {"t": {"0": 5, "1": 6}}

    assert len(reader({}).partitions(start, end)) == 1
    assert len(reader({}, keeps_apart=True).partitions(start, end)) == 2


def test_tasks_share_partitions_evenly_where_there_are_more_of_them() -> None:
    sizes = [10_000, 90_000, 20_000, 30_000, 40_000, 3]
    start, end = {"t": dict.fromkeys(map(str, range(6)), 7)}, {"t": {str(n): 7 + size for n, size in enumerate(sizes)}}

    shared = [part.value.ranges for part in reader({}, tasks=2).partitions(start, end)]

    assert [[one.partition for one in ranges] for ranges in shared] == [[0, 1], [2, 3, 4, 5]]
    assert sum(one.end - one.start for ranges in shared for one in ranges) == sum(sizes)


def test_an_exactly_once_batch_is_divided_alike_on_any_number_of_cores() -> None:
    start, end = {"t": {"0": 0, "1": 0, "2": 0}}, {"t": {"0": 10_000, "1": 20_000, "2": 30_000}}

    assert [len(part.value.ranges) for part in reader({}, tasks=None).partitions(start, end)] == [1, 1, 1]


def test_one_task_tells_which_partitions_there_are() -> None:
    """Also where none of them has messages, as a new partition may."""
    start, end = {"t": {"0": 0, "1": 10_000}}, {"t": {"0": 10_000, "1": 20_000, "2": 0}}
    ends = {("t", 0): 10_000, ("t", 1): 20_001, ("t", 2): 0}

    told = [part.value.places for part in reader({}, tells_partitions=True).partitions(start, end)]
    bounded = [part.value.places for part in reader({}, tells_partitions=True, ends=ends).partitions(start, end)]
    [nothing] = reader({}, tells_partitions=True).partitions(end, end)

    assert told == [(("0", False), ("1", False), ("2", False)), ()]
    assert bounded == [(("0", True), ("1", False), ("2", True)), ()]
    assert (nothing.value.ranges, len(nothing.value.places)) == ((), 3)
    assert [part.value.places for part in reader({}).partitions(start, end)] == [(), ()]


def test_a_stream_that_reads_nothing_stays_where_it_is() -> None:
    assert reader({("t", 0): 50}, reads_nothing=True).latestOffset({"t": {"0": 7}}, ReadMaxRows(100)) == {"t": {"0": 7}}


def test_lag_is_what_is_left_to_read() -> None:
    bounded = reader({("t", 0): 500}, ends={("t", 0): 200})

    assert bounded.latestOffset({"t": {"0": 0}}, ReadMaxRows(100)) == {"t": {"0": 100}}
    assert bounded.reportLatestOffset() == {"t": {"0": 200}}


def test_a_first_batch_that_is_repeated_begins_where_it_began(tmp_path: Path) -> None:
    """By then, the job is one that resumes: nobody looks for its start positions any more."""
    first = reader({}, folder=tmp_path, starts={("t", 0): 40}).initialOffset()
    earliest = reader({("t", 0): 0}, folder=tmp_path, scan="scan-2").initialOffset()

    assert first == {"t": {"0": 40}}
    assert reader({("t", 0): 0}, folder=tmp_path).initialOffset() == first
    assert reader({("t", 0): 9}, folder=tmp_path, scan="scan-2").initialOffset() == earliest == {"t": {"0": 0}}


def test_a_first_batch_of_an_earlier_version_begins_where_it_began(tmp_path: Path) -> None:
    for number, content in enumerate(('{"other":{"0":7}}', '{"t":{"0":40,"1":2}}')):
        file = tmp_path / "sources" / str(number) / "0"
        file.parent.mkdir(parents=True)
        file.write_text(f"\0v1\n{content}")

    assert reader({("t", 0): 0}, folder=tmp_path).initialOffset() == {"t": {"0": 40, "1": 2}}
