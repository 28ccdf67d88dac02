"""Python workers that die in the middle of a batch."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.errors import Code, JobError
from millstream.runtime.events import JobGoesOn, JobWaits
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.script_kafka import ScriptKafka
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from millstream.runtime.events import JobEvent

KILLER = """
import os, signal
from pathlib import Path

def fatal(n: int) -> int:
    if n != 700:  # only one worker has it, so that nobody reads what another is writing
        return n
    lives = Path({lives!r})
    left = int(lives.read_text())
    if left:
        lives.write_text(str(left - 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return n
"""
FATAL = SCRIPT.replace(
    "CREATE TABLE numbers", "CREATE FUNCTION fatal AS 'killing:fatal' LANGUAGE PYTHON;\nCREATE TABLE numbers"
)
FATAL = FATAL.replace("COUNT(DISTINCT n)", "COUNT(DISTINCT fatal(n))")
ONCE = """
CREATE FUNCTION fatal AS 'killing:fatal' LANGUAGE PYTHON;
CREATE TABLE numbers (digit BIGINT, n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${numbers}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE passed (n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${passed}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '${passed}');
INSERT INTO passed SELECT fatal(n) FROM numbers;
"""
SETTINGS = {"millstream.batch.max-rows": "400", "restart-strategy.exponential-delay.initial-backoff": "100 ms"}


@pytest.mark.parametrize("deaths", [2, pytest.param(9, marks=pytest.mark.slow)])
def test_worker_killed(broker: str, spark: SparkSession, tmp_path: Path, deaths: int) -> None:
    """The job survives some deaths; a worker that dies on the same message every time eventually fails the job."""
    _arm(tmp_path, deaths)
    parameters = {"brokers": broker, "numbers": fresh_name("numbers"), "digits": fresh_name("digits")}
    KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(parameters["numbers"], "numbers")
    rows = numbers(range(1000))
    produce(broker, parameters["numbers"], rows)
    events: list[JobEvent] = []
    with Session(spark, checkpoint=tmp_path / "c", on_event=events.append, settings=SETTINGS) as session:
        script = str(tmp_path / "fatal.sql")
        [job] = session.execute_sql(FATAL, name=script, parameters=parameters, drain=True)
        if deaths > 3:
            with pytest.raises(JobError, match="one of its workers ended unexpectedly") as failed:
                job.await_end(PATIENCE)
            assert failed.value.code is Code.JOB_FAILED
        else:
            assert job.await_end(PATIENCE)
            assert read_table(broker, parameters["digits"]) == truth(rows)
            assert isinstance(events[-1], JobGoesOn)
    attempts = [event.attempt for event in events if isinstance(event, JobWaits)]
    assert attempts == list(range(1, min(deaths, 3) + 1))


def test_worker_of_an_exactly_once_job_killed(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    """The tasks of its other partitions may have written their part of the batch."""
    _arm(tmp_path, 2)
    parameters = {"brokers": broker, "numbers": fresh_name("numbers"), "passed": fresh_name("passed")}
    for topic in ("numbers", "passed"):
        ScriptKafka(broker).create_topic(parameters[topic], 3)
    produce(broker, parameters["numbers"], numbers(range(1000)))
    events: list[JobEvent] = []
    with Session(spark, checkpoint=tmp_path / "c", on_event=events.append, settings=SETTINGS) as session:
        script = str(tmp_path / "once.sql")
        [job] = session.execute_sql(ONCE, name=script, parameters=parameters, drain=True)
        assert job.await_end(PATIENCE)
    assert [event.attempt for event in events if isinstance(event, JobWaits)] == [1, 2]
    written = (received.message.value for received in ScriptKafka(broker).read(parameters["passed"]))
    assert sorted(json.loads(value or "")["n"] for value in written) == list(range(1000))


def _arm(folder: Path, deaths: int) -> None:
    sys.modules.pop("killing", None)
    lives = folder / "lives"
    lives.write_text(str(deaths))
    (folder / "killing.py").write_text(KILLER.format(lives=str(lives)))
