"""What a job that writes exactly once settles at each start of its query, on a real broker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from millstream.delivery.committed import group
from millstream.errors import Code, JobError
from millstream.plan.program import compile_script
from millstream.runtime.exactly_once import Start, open_transactions
from millstream.source import SourceText
from millstream.testing.script_kafka import ScriptKafka
from tests.begun_batches import begin_a_batch
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.delivery.consignment import Transactions
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


@pytest.mark.parametrize("has_written", [False, True])
def test_replaced_run_does_not_start_again(plan: JobPlan, broker: str, tmp_path: Path, has_written: bool) -> None:  # noqa: FBT001
    ours = open_transactions(plan, tmp_path / "ours", unheard, Start("us", 1))["sink"]
    if has_written:
        with group({"bootstrap.servers": broker}, ours.id_of("0"), ours.progress_topic) as progress:
            progress.write(1, ours.claim)
    told: list[str] = []
    open_transactions(plan, tmp_path / "theirs", told.append, Start("them", 1))
    assert ["an earlier run has written" in notice for notice in told] == [True] * has_written
    with pytest.raises(JobError) as caught:
        open_transactions(plan, tmp_path / "ours", unheard, Start("us", 2))
    assert caught.value.code is Code.TAKEN_OVER
    open_transactions(plan, tmp_path / "theirs", unheard, Start("them", 2))


@pytest.mark.parametrize("is_written", [False, True])
def test_changed_job_does_a_batch_only_if_nothing_of_it_is_written(
    plan: JobPlan,
    broker: str,
    tmp_path: Path,
    is_written: bool,  # noqa: FBT001
) -> None:
    transactions = open_transactions(plan, tmp_path, unheard, Start("us", 1))["sink"]
    begin_a_batch(tmp_path, at_ms=int(time.time() * 1000))
    note_ids(tmp_path, transactions, "p0", "p1")
    if is_written:
        with group({"bootstrap.servers": broker}, transactions.id_of("p1"), transactions.progress_topic) as progress:
            progress.write(1, transactions.claim)
    if not is_written:
        assert open_transactions(plan, tmp_path, unheard, Start("us", 2), must_be_unwritten=True)["sink"].replayed == 0
        return
    with pytest.raises(JobError, match="A part of batch 0 is in table") as caught:
        open_transactions(plan, tmp_path, unheard, Start("us", 2), must_be_unwritten=True)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH


@pytest.mark.parametrize(("prefixes", "why"), [({"sink": "other"}, "'other'"), ({}, "without exactly-once")])
def test_unfinished_batch_goes_on_with_its_prefix(
    plan: JobPlan, tmp_path: Path, prefixes: dict[str, str], why: str
) -> None:
    open_transactions(plan, tmp_path, unheard, Start("us", 1))
    begin_a_batch(tmp_path, at_ms=int(time.time() * 1000))
    with pytest.raises(JobError, match=why) as caught:
        open_transactions(plan, tmp_path, unheard, Start("us", 2), prefixes=prefixes)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH


def note_ids(folder: Path, transactions: Transactions, *writers: str) -> None:
    (folder / "transactions").mkdir(exist_ok=True)
    for writer in writers:
        (folder / "transactions" / transactions.id_of(writer)).touch()
