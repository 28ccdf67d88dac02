"""Messages that are deleted before a job has read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.errors import BrokerError, Code
from millstream.runtime.events import MessagesLost
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.patience import PATIENCE
from tests.runtime.topics import delete_before, delete_topic, fresh_name, recreate_topic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from millstream.runtime.events import JobEvent
    from millstream.runtime.job import Job
    from millstream.runtime.progress import JobProgress

SCRIPT = """
CREATE TABLE numbers (n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${numbers}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset', 'scan.fail-on-data-loss' = '${fails}');
CREATE TABLE copies (n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${copies}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
INSERT INTO copies SELECT n FROM numbers;
"""


class Copying:
    """A job that copies numbers of partition 0 up to the end of the topic, and resumes when it is run again."""

    def __init__(self, brokers: str, spark: SparkSession, folder: Path) -> None:
        self.brokers, self.spark, self.folder = brokers, spark, folder
        self.numbers, self.copies = fresh_name("numbers"), fresh_name("copies")
        for topic in (self.numbers, self.copies):
            KafkaAdmin({"bootstrap.servers": brokers}).ensure_topic(topic, topic)
        self.events: list[JobEvent] = []

    def produce(self, *numbers: int) -> None:
        messages = [Message(None, json.dumps({"n": number}).encode()) for number in numbers]
        ScriptKafka(self.brokers).produce(self.numbers, messages, partition=0)

    def run(self, *, fails: bool) -> JobProgress | None:
        parameters = {"brokers": self.brokers, "numbers": self.numbers, "copies": self.copies, "fails": str(fails)}
        with Session(self.spark, checkpoint=self.folder, on_event=self.events.append) as session:
            [job] = session.execute_sql(SCRIPT, parameters=parameters, drain=True)
            assert job.await_end(PATIENCE)
            job.await_last_report(PATIENCE)
        return job.progress

    def read_copies(self) -> list[int]:
        received = (each.message.value for each in ScriptKafka(self.brokers).read(self.copies))
        return sorted(json.loads(value)["n"] for value in received if value is not None)


@pytest.fixture
def copy_job(broker: str, spark: SparkSession, tmp_path: Path) -> Copying:
    copy_job = Copying(broker, spark, tmp_path)
    copy_job.produce(1, 2, 3, 4, 5)
    copy_job.run(fails=True)
    return copy_job


def test_gap_is_refused_by_name_or_counted(copy_job: Copying) -> None:
    copy_job.produce(6, 7, 8, 9)
    delete_before(copy_job.brokers, copy_job.numbers, 8)
    with pytest.raises(BrokerError) as refused:
        copy_job.run(fails=True)
    assert refused.value.code is Code.OFFSETS_UNAVAILABLE
    assert "Partition 0: offsets 5 to 7, 3 in all" in str(refused.value)
    assert copy_job.read_copies() == [1, 2, 3, 4, 5]
    progress = copy_job.run(fails=False)
    assert copy_job.read_copies() == [1, 2, 3, 4, 5, 9]
    assert [event for event in copy_job.events if isinstance(event, MessagesLost)] == [
        MessagesLost("copies", copy_job.numbers, 0, 5, 8)
    ]
    assert progress is not None
    assert progress.lost == 3


@pytest.mark.parametrize("numbers", [(6, 7), range(6, 16)], ids=["shorter", "longer"])
def test_topic_made_anew_is_refused(copy_job: Copying, numbers: Sequence[int]) -> None:
    recreate_topic(copy_job.brokers, copy_job.numbers)
    copy_job.produce(*numbers)
    with pytest.raises(BrokerError) as refused:
        copy_job.run(fails=True)
    assert refused.value.code is Code.OFFSETS_UNAVAILABLE
    assert f"Partition 0 was read up to offset 5 and ends at {len(numbers)}" in str(refused.value)
    assert copy_job.read_copies() == [1, 2, 3, 4, 5]


PATTERN_SCRIPT = """
CREATE TABLE numbers (n BIGINT) WITH (
  'connector' = 'kafka', 'topic-pattern' = '${pattern}', 'properties.bootstrap.servers' = '${brokers}',
  'format' = 'json', 'scan.startup.mode' = 'earliest-offset',
  'properties.metadata.max.age.ms' = '200', 'scan.topic-partition-discovery.interval' = '200 ms');
CREATE TABLE copies (n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${copies}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
INSERT INTO copies SELECT n FROM numbers;
"""


class CopyingByPattern(Copying):
    """The same, from all topics that begin with its name; `pattern` may be one that only Java supports."""

    pattern = "{}.*"

    def topic(self, name: str) -> str:
        topic = f"{self.numbers}-{name}"
        KafkaAdmin({"bootstrap.servers": self.brokers}).ensure_topic(topic, topic)
        return topic

    def produce_to(self, topic: str, *numbers: int) -> None:
        messages = [Message(None, json.dumps({"n": number}).encode()) for number in numbers]
        ScriptKafka(self.brokers).produce(topic, messages, partition=0)

    def execute(self, session: Session, *, drain: bool) -> Job:
        parameters = {
            "brokers": self.brokers,
            "copies": self.copies,
            "pattern": self.pattern.format(self.numbers),
        }
        [job] = session.execute_sql(PATTERN_SCRIPT, parameters=parameters, drain=drain)
        return job

    def run_to_the_end(self) -> None:
        with Session(self.spark, checkpoint=self.folder) as session:
            job = self.execute(session, drain=True)
            assert job.await_end(PATIENCE)
            job.await_last_report(PATIENCE)


@pytest.mark.parametrize("pattern", ["{}.*", r"\Q{}\E.*"], ids=["of-both", "of-java"])
def test_topic_of_a_pattern_made_anew_is_refused(
    broker: str, spark: SparkSession, tmp_path: Path, pattern: str
) -> None:
    copy_job = CopyingByPattern(broker, spark, tmp_path)
    copy_job.pattern = pattern
    copy_job.produce(1, 2, 3)
    copy_job.run_to_the_end()
    recreate_topic(broker, copy_job.numbers)
    copy_job.produce(4, 5, 6, 7, 8)
    with pytest.raises(BrokerError) as refused:
        copy_job.run_to_the_end()
    assert refused.value.code is Code.OFFSETS_UNAVAILABLE
    assert "Partition 0 was read up to offset 3 and ends at 5" in str(refused.value)
    assert copy_job.read_copies() == [1, 2, 3]


def test_topic_that_a_pattern_finds_while_the_job_runs_is_known_too(
    broker: str, spark: SparkSession, tmp_path: Path
) -> None:
    copy_job = CopyingByPattern(broker, spark, tmp_path)
    copy_job.produce(1, 2, 3)
    with Session(spark, checkpoint=tmp_path) as session:
        job = copy_job.execute(session, drain=False)
        job.await_caught_up(PATIENCE)
        late = copy_job.topic("late")
        copy_job.produce_to(late, 10, 11, 12)
        job.await_caught_up(PATIENCE)
    assert copy_job.read_copies() == [1, 2, 3, 10, 11, 12]
    recreate_topic(broker, late)
    copy_job.produce_to(late, 13, 14, 15, 16)
    with pytest.raises(BrokerError) as refused:
        copy_job.run_to_the_end()
    assert f'topic "{late}" is not the one that job "copies" has read before' in str(refused.value)
    assert copy_job.read_copies() == [1, 2, 3, 10, 11, 12]


def test_topic_of_a_pattern_that_is_gone_is_named(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    copy_job = CopyingByPattern(broker, spark, tmp_path)
    late = copy_job.topic("late")
    copy_job.produce(1)
    copy_job.produce_to(late, 2)
    copy_job.run_to_the_end()
    delete_topic(broker, late)
    with pytest.raises(BrokerError) as refused:
        copy_job.run_to_the_end()
    assert f'topic "{late}", which job "copies" has read before, is gone' in str(refused.value)


def test_what_is_still_there_is_not_missed(copy_job: Copying) -> None:
    """Offsets that the job has already read may be deleted."""
    delete_before(copy_job.brokers, copy_job.numbers, 5)
    copy_job.produce(6)
    progress = copy_job.run(fails=False)
    assert copy_job.read_copies() == [1, 2, 3, 4, 5, 6]
    assert progress is not None
    assert progress.lost == 0
