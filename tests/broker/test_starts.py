"""What a job that writes exactly once settles at each start of its query, on a real broker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from millstream.errors import Code, JobError
from millstream.plan.program import compile_script
from millstream.runtime.exactly_once import Start, open_transactions
from millstream.source import SourceText
from millstream.testing.script_kafka import ScriptKafka
from tests.begun_batches import begin_a_batch
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.plan.program import JobPlan

SCRIPT = """
CREATE TABLE t (a BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE sink (a BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${sink}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '${sink}');
INSERT INTO sink SELECT a FROM t;
"""


@pytest.fixture
def plan(broker: str) -> JobPlan:
    topic = fresh_name("sink")
    ScriptKafka(broker).create_topic(topic, 1)
    return compile_script(SourceText("s", SCRIPT), {"brokers": broker, "sink": topic}, {}).jobs[0]


def unheard(_notice: str) -> None:
    pass


def test_query_starts_again(plan: JobPlan, tmp_path: Path) -> None:
    """With a claim of its own, and with the batch that is unfinished by now."""
    first = open_transactions(plan, tmp_path, unheard, Start("us", 1))["sink"]
    begin_a_batch(tmp_path, at_ms=int(time.time() * 1000))
    second = open_transactions(plan, tmp_path, unheard, Start("us", 2))["sink"]
    assert (first.replayed, second.replayed) == (None, 0)
    assert first.run == second.run
    assert first.claim != second.claim


def test_batch_that_kafka_has_forgotten(plan: JobPlan, tmp_path: Path) -> None:
    open_transactions(plan, tmp_path, unheard, Start("us", 1))
    begin_a_batch(tmp_path)
    with pytest.raises(JobError) as caught:
        open_transactions(plan, tmp_path, unheard, Start("us", 2))
    assert caught.value.code is Code.DELIVERY_UNCERTAIN


def test_replaced_run_does_not_start_again(plan: JobPlan, tmp_path: Path) -> None:
    open_transactions(plan, tmp_path / "ours", unheard, Start("us", 1))
    told: list[str] = []
    open_transactions(plan, tmp_path / "theirs", told.append, Start("them", 1))
    assert len(told) == 1
    with pytest.raises(JobError) as caught:
        open_transactions(plan, tmp_path / "ours", unheard, Start("us", 2))
    assert caught.value.code is Code.TAKEN_OVER
    open_transactions(plan, tmp_path / "theirs", unheard, Start("them", 2))
