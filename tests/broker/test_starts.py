"""What an exactly-once job establishes at each start of its query, on a real broker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException

from millstream.delivery.committed import entry, group
from millstream.delivery.delivery_error import DeliveryError, Failure
from millstream.delivery.request import DeliveryRequest
from millstream.delivery.transactional_writer import TransactionalWriter, transactional_producer
from millstream.errors import Code, JobError, ScriptError
from millstream.plan.program import compile_script
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.exactly_once import Start, open_transactions
from millstream.runtime.kafka.shared_prefixes import refuse_shared_prefixes
from millstream.source import SourceText
from millstream.testing.script_kafka import ScriptKafka
from tests.begun_batches import begin_a_batch
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from pathlib import Path

    from confluent_kafka import Producer

    from millstream.delivery.request import Transactions
    from millstream.plan.program import JobPlan

SCRIPT = """
CREATE TABLE t (a BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE sink (a BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${sink}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '${prefix}');
INSERT INTO sink SELECT a FROM t;
"""


def compile_plan(broker: str, prefix: str) -> JobPlan:
    """Each plan has a topic of its own."""
    topic = fresh_name("sink")
    ScriptKafka(broker).create_topic(topic, 1)
    return compile_script(SourceText("s", SCRIPT), {"brokers": broker, "sink": topic, "prefix": prefix}, {}).jobs[0]


@pytest.fixture
def plan(broker: str) -> JobPlan:
    return compile_plan(broker, fresh_name("prefix"))


def write(broker: str, transactions: Transactions, writer: str, batch: int, *values: bytes) -> None:
    """Like a task, through producers that have just started."""
    topic, properties = transactions.progress_topic, {"bootstrap.servers": broker}
    rows = pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())})
    request = DeliveryRequest("sink", topic, properties, writer, batch, transactions)
    TransactionalWriter(properties, transactions, writer).deliver(request, [rows])


def open_transaction(broker: str, transactional_id: str, topic: str) -> Producer:
    """With a message in it that readers of committed messages do not see yet."""
    producer = transactional_producer({"bootstrap.servers": broker}, transactional_id, 60_000)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"from elsewhere")
    producer.flush(30)
    return producer


def no_op(_notice: str) -> None:
    pass


def test_query_starts_again(plan: JobPlan, tmp_path: Path) -> None:
    """With a claim of its own, and with the batch that is unfinished now."""
    first = open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 1))["sink"]
    begin_a_batch(tmp_path, at_ms=int(time.time() * 1000))
    second = open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 2))["sink"]
    assert (first.replayed, second.replayed) == (None, 0)
    assert first.run == second.run
    assert first.claim != second.claim


def test_batch_that_kafka_has_forgotten(plan: JobPlan, tmp_path: Path) -> None:
    open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 1))
    begin_a_batch(tmp_path)
    with pytest.raises(JobError) as caught:
        open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 2))
    assert caught.value.code is Code.DELIVERY_UNCERTAIN


@pytest.mark.parametrize("has_written", [False, True])
def test_replaced_run_does_not_start_again(plan: JobPlan, broker: str, tmp_path: Path, has_written: bool) -> None:  # noqa: FBT001
    ours = open_transactions(plan, tmp_path / "ours", KafkaClients(), no_op, Start("us", 1))["sink"]
    if has_written:
        with group({"bootstrap.servers": broker}, ours.id_of("0"), ours.progress_topic) as progress:
            progress.write(1, ours.claim)
    notices: list[str] = []
    open_transactions(plan, tmp_path / "theirs", KafkaClients(), notices.append, Start("them", 1))
    assert ["an earlier run has written" in notice for notice in notices] == [True] * has_written
    with pytest.raises(JobError) as caught:
        open_transactions(plan, tmp_path / "ours", KafkaClients(), no_op, Start("us", 2))
    assert caught.value.code is Code.TAKEN_OVER
    open_transactions(plan, tmp_path / "theirs", KafkaClients(), no_op, Start("them", 2))


@pytest.mark.parametrize("is_written", [False, True])
def test_changed_job_does_a_batch_only_if_nothing_of_it_is_written(
    plan: JobPlan,
    broker: str,
    tmp_path: Path,
    is_written: bool,  # noqa: FBT001
) -> None:
    transactions = open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 1))["sink"]
    begin_a_batch(tmp_path, at_ms=int(time.time() * 1000))
    note_ids(tmp_path, transactions, "p0", "p1")
    if is_written:
        with group({"bootstrap.servers": broker}, transactions.id_of("p1"), transactions.progress_topic) as progress:
            progress.write(1, transactions.claim)
    if not is_written:
        assert (
            open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 2), must_be_unwritten=True)[
                "sink"
            ].replayed
            == 0
        )
        return
    with pytest.raises(JobError, match="A part of batch 0 is in table") as caught:
        open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 2), must_be_unwritten=True)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH


@pytest.mark.parametrize(("prefixes", "why"), [({"sink": "other"}, "'other'"), ({}, "without exactly-once")])
def test_unfinished_batch_goes_on_with_its_prefix(
    plan: JobPlan, tmp_path: Path, prefixes: dict[str, str], why: str
) -> None:
    open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 1))
    begin_a_batch(tmp_path, at_ms=int(time.time() * 1000))
    with pytest.raises(JobError, match=why) as caught:
        open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 2), prefixes=prefixes)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH


def note_ids(folder: Path, transactions: Transactions, *writers: str) -> None:
    (folder / "transactions").mkdir(exist_ok=True)
    for writer in writers:
        (folder / "transactions" / transactions.id_of(writer)).touch()


def test_prefix_is_taken_over_by_a_job_with_another_topic(plan: JobPlan, broker: str, tmp_path: Path) -> None:
    ours = open_transactions(plan, tmp_path / "ours", KafkaClients(), no_op, Start("us", 1))["sink"]
    write(broker, ours, "p0", 0, b"a")
    their_plan = compile_plan(broker, ours.prefix)
    theirs = open_transactions(their_plan, tmp_path / "theirs", KafkaClients(), no_op, Start("them", 1))["sink"]
    assert theirs.progress_topic != ours.progress_topic
    write(broker, theirs, "p0", 0, b"b")
    with pytest.raises(DeliveryError) as caught:
        write(broker, ours, "p0", 1, b"c")
    assert caught.value.failure is Failure.TAKEN_OVER
    with pytest.raises(JobError) as refused:
        open_transactions(plan, tmp_path / "ours", KafkaClients(), no_op, Start("us", 2))
    assert refused.value.code is Code.TAKEN_OVER
    open_transactions(their_plan, tmp_path / "theirs", KafkaClients(), no_op, Start("them", 2))
    open_transactions(
        plan, tmp_path / "ours", KafkaClients(), no_op, Start("us again", 1)
    )  # the last to start may write


def test_claim_and_progress_of_an_older_version(plan: JobPlan, broker: str, tmp_path: Path) -> None:
    """They had no number, and no length of the prefix in their metadata."""
    first = open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 1))["sink"]
    for name, number in ((first.claim_group, 0), (first.id_of("p0"), 1)):
        with group({"bootstrap.servers": broker}, name, first.progress_topic) as kept:
            kept.write(number, f"{first.run} older.1")
    begin_a_batch(tmp_path, at_ms=int(time.time() * 1000))
    second = open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us later", 1))["sink"]
    write(broker, second, "p0", 0, b"is there already")
    write(broker, second, "p0", 1, b"is new")
    assert [found.message.value for found in ScriptKafka(broker).read(second.progress_topic)] == [b"is new"]


def test_run_that_starts_over_fences_its_own_ids_alone(plan: JobPlan, broker: str, tmp_path: Path) -> None:
    ours = open_transactions(plan, tmp_path / "ours", KafkaClients(), no_op, Start("us", 1))["sink"]
    topic = ours.progress_topic
    written = ("0", "p0", "p0-t-7", "p1000000")
    for writer in written:
        write(broker, ours, writer, 0, b"ours")
    others = []
    for number, middle in enumerate(("eu", "p1", "p1-p0-t")):
        prefix = f"{ours.prefix}-{middle}"
        other = open_transactions(
            compile_plan(broker, prefix), tmp_path / middle, KafkaClients(), no_op, Start(f"them{number}", 1)
        )["sink"]
        for writer in ("0", "p0", "p0-t-7"):
            write(broker, other, writer, 0, b"theirs")
            others.append(other.id_of(writer))
    with group({"bootstrap.servers": broker}, f"{ours.prefix}-dashboard", topic) as reader:
        reader.write(5, "by a reader")
    others.append(f"{ours.prefix}-dashboard")
    is_open = {name: open_transaction(broker, name, topic) for name in (*others, *map(ours.id_of, written))}
    pending = ours.id_of("p0")  # as left by a job that was killed between its progress and the commit
    with group({"bootstrap.servers": broker}, pending, topic) as progress:
        is_open[pending].send_offsets_to_transaction(entry(topic, 2, ours.claim), progress.metadata)
    notices: list[str] = []
    open_transactions(plan, tmp_path / "fresh", KafkaClients(), notices.append, Start("us again", 1))
    assert len(notices) == 1
    for name in others:
        is_open[name].commit_transaction(30)
    for writer in written:
        with pytest.raises(KafkaException):
            is_open[ours.id_of(writer)].commit_transaction(30)


def test_ids_are_fenced_once(plan: JobPlan, broker: str, tmp_path: Path) -> None:
    def read_noted_ids() -> set[str]:
        return {entry.name.removeprefix(f"{first.prefix}-") for entry in (tmp_path / "transactions").iterdir()}

    first = open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 1))["sink"]
    writers = [f"p{number}" for number in range(40)]
    for writer in writers[:3]:
        write(broker, first, writer, 0, b"a")
    for writer in writers[3:]:
        (tmp_path / "transactions" / first.id_of(writer)).touch()
    (tmp_path / "transactions" / "of-another-table").touch()
    left_open = open_transaction(broker, first.id_of("p39"), first.progress_topic)
    second = open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 2))["sink"]
    with pytest.raises(KafkaException):
        left_open.commit_transaction(30)
    assert read_noted_ids() == {"of-another-table"}
    write(broker, second, "p1", 1, b"b")
    assert read_noted_ids() == {"of-another-table", "p1"}
    with pytest.raises(DeliveryError):
        write(broker, first, "p2", 1, b"a zombie's")
    open_transactions(plan, tmp_path, KafkaClients(), no_op, Start("us", 3))
    assert read_noted_ids() == {"of-another-table"}


def test_jobs_of_a_script_that_name_one_cluster_differently(plan: JobPlan, broker: str) -> None:
    """The addresses have no text in common."""
    prefix = fresh_name("prefix")
    host, _, port = broker.rpartition(":")
    assert host in ("127.0.0.1", "localhost")
    other = f"{'localhost' if host == '127.0.0.1' else '127.0.0.1'}:{port}"
    text = SCRIPT + SCRIPT.partition("CREATE TABLE sink")[2].replace("${brokers}", other).replace(
        "sink SELECT", "s SELECT"
    )
    text = text.replace(SCRIPT, SCRIPT + "CREATE TABLE s")
    names = {"brokers": broker, "sink": "t", "prefix": prefix}
    jobs = compile_script(SourceText("s", text), names, {}).jobs
    with pytest.raises(ScriptError) as caught:
        refuse_shared_prefixes(jobs)
    assert caught.value.code is Code.CONFLICTING_OPTIONS
    refuse_shared_prefixes([jobs[0], plan])
