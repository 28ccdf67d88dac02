"""The steps of exactly-once on a real broker, without Spark: replayed, fenced, killed, and through a process."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from millstream.delivery.claims import claim
from millstream.delivery.client import deliver
from millstream.delivery.delivery_error import DeliveryError, Failure
from millstream.delivery.request import DeliveryRequest, Transactions
from millstream.delivery.transactional_writer import TransactionalWriter, transactional_producer
from millstream.testing.script_kafka import ScriptKafka
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


LONG = b"x" * (64 << 10)
"""Larger than all buffers between a task and its delivery, so that what was written has arrived."""


@dataclass(frozen=True)
class Sink:
    brokers: str
    topic: str
    ids: Path

    @property
    def properties(self) -> dict[str, str]:
        return {"bootstrap.servers": self.brokers}

    def transactions(self, start: str = "s1", replayed: int | None = None, run: str = "r1") -> Transactions:
        return Transactions(self.topic, self.topic, run, start, replayed, 60_000, str(self.ids))

    def claim(self, transactions: Transactions) -> None:
        claim(self.properties, transactions)

    def request(self, batch: int, transactions: Transactions) -> DeliveryRequest:
        return DeliveryRequest("sink", self.topic, self.properties, "p0", batch, transactions)

    def write(self, batch: int, transactions: Transactions, *values: bytes) -> None:
        """Like a process that has just started."""
        writer = TransactionalWriter(self.properties, transactions, "p0")
        writer.deliver(self.request(batch, transactions), [messages(*values)])

    def values(self) -> list[bytes | None]:
        return [received.message.value for received in ScriptKafka(self.brokers).read(self.topic)]


def messages(*values: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())})


@pytest.fixture
def sink(broker: str, tmp_path: Path) -> Sink:
    topic = fresh_name("sink")
    ScriptKafka(broker).create_topic(topic, 1)
    return Sink(broker, topic, tmp_path / "ids")


def test_batch_that_is_written_is_passed_over(sink: Sink) -> None:
    sink.write(0, sink.transactions("s1"), b"a")
    sink.write(0, sink.transactions("s2", replayed=0), b"a")
    sink.write(1, sink.transactions("s2", replayed=0), b"b")
    assert sink.values() == [b"a", b"b"]


def test_run_that_starts_over_writes_anew(sink: Sink) -> None:
    sink.write(5, sink.transactions(run="r1"), b"a")
    sink.write(0, sink.transactions(run="r2"), b"b")
    assert sink.values() == [b"a", b"b"]


def test_older_checkpoint_is_refused(sink: Sink) -> None:
    sink.write(5, sink.transactions("s1"), b"a")
    with pytest.raises(DeliveryError) as caught:
        sink.write(5, sink.transactions("s2"), b"other rows")  # no batch was pending: this one is new
    assert caught.value.failure is Failure.OLDER_CHECKPOINT
    assert sink.values() == [b"a"]


def test_what_a_dead_writer_left_open_is_aborted(sink: Sink) -> None:
    left = transactional_producer(sink.properties, sink.transactions().id_of("p0"), 60_000)
    left.init_transactions(30)
    left.begin_transaction()
    left.produce(sink.topic, b"half of it")
    left.flush(30)
    sink.write(0, sink.transactions(), b"all of it")
    assert sink.values() == [b"all of it"]


def test_zombie_is_stopped_by_a_later_start(sink: Sink) -> None:
    old, new = sink.transactions("s1"), sink.transactions("s2")
    sink.claim(old)
    zombie = TransactionalWriter(sink.properties, old, "p0")
    zombie.deliver(sink.request(0, old), [messages(b"a")])
    sink.claim(new)
    sink.write(1, new, b"b")
    for _ in range(2):  # fenced, and then by the claim
        with pytest.raises(DeliveryError) as caught:
            zombie.deliver(sink.request(1, old), [messages(b"b")])
        assert caught.value.failure is Failure.TAKEN_OVER
    sink.write(2, new, b"c")
    assert sink.values() == [b"a", b"b", b"c"]


def test_used_ids_are_noted(sink: Sink) -> None:
    sink.write(0, replace(sink.transactions(), prefix="a/b"), b"a")
    assert [entry.name for entry in sink.ids.iterdir()] == ["a%2Fb-p0"]


def test_process_is_started_once_and_ends_with_its_socket(sink: Sink, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    for batch in range(2):
        deliver(folder, 0, sink.request(batch, sink.transactions()), iter([messages(b"%d" % batch)]))
    assert sink.values() == [b"0", b"1"]
    (folder / "0.socket").unlink()
    deadline = time.monotonic() + 30
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()


def test_query_that_starts_again_has_the_same_process(sink: Sink, tmp_path: Path) -> None:
    """The first start's producer, which is still open there, is fenced and must not look like a replaced run."""
    first, second = sink.transactions("s.1"), sink.transactions("s.2", replayed=0)
    sink.claim(first)
    deliver(tmp_path / "d", 0, sink.request(0, first), iter([messages(b"a")]))
    sink.claim(second)
    transactional_producer(sink.properties, second.id_of("p0"), 60_000).init_transactions(30)
    for batch, value in enumerate((b"a", b"b")):
        deliver(tmp_path / "d", 0, sink.request(batch, second), iter([messages(value)]))
    assert sink.values() == [b"a", b"b"]


def test_failure_of_a_delivery_reaches_the_task(sink: Sink, tmp_path: Path) -> None:
    batches = iter([messages(b"0"), messages(b"1")])
    nowhere = replace(sink.request(0, sink.transactions()), topic="no such topic")
    with pytest.raises(DeliveryError) as caught:
        deliver(tmp_path / "d", 0, nowhere, batches)
    assert caught.value.failure is Failure.REFUSED


@pytest.mark.parametrize("error", [ValueError("a step failed"), OSError("a file is gone"), KeyboardInterrupt()])
def test_task_that_fails_between_two_batches_commits_nothing(sink: Sink, tmp_path: Path, error: BaseException) -> None:
    """An OSError of an earlier step is neither mistaken for a broken connection nor waited for."""
    transactions = sink.transactions()
    with pytest.raises(type(error)):
        deliver(tmp_path / "d", 0, sink.request(0, transactions), failing_after([messages(b"a")] * 20, error))
    assert sink.values() == []
    deliver(tmp_path / "d", 0, sink.request(0, transactions), iter([messages(b"a"), messages(b"b")]))
    assert sink.values() == [b"a", b"b"]


def test_task_that_is_killed_between_two_batches_commits_nothing(sink: Sink, tmp_path: Path) -> None:
    transactions = sink.transactions()
    deliver(tmp_path / "d", 0, sink.request(0, transactions), iter([messages(b"first")]))
    if (task := os.fork()) == 0:
        killed = failing_after([messages(LONG)] * 20, lambda: os.kill(os.getpid(), signal.SIGKILL))
        deliver(tmp_path / "d", 0, sink.request(1, transactions), killed)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(task, 0)[1]) == -signal.SIGKILL
    deliver(tmp_path / "d", 0, sink.request(1, transactions), iter([messages(b"again")]))
    assert sink.values() == [b"first", b"again"]


def test_batch_that_is_passed_over_is_still_read_to_its_end(sink: Sink, tmp_path: Path) -> None:
    """Steps before the delivery commit their state when they reach the end of their input."""
    request = sink.request(0, sink.transactions())
    deliver(tmp_path / "d", 0, request, iter([messages(b"a")]))
    again = iter([messages(LONG)] * 2000)  # far more than is in transit when the response arrives
    deliver(tmp_path / "d", 0, request, again)
    assert next(again, None) is None
    assert sink.values() == [b"a"]


def failing_after(
    batches: list[pa.RecordBatch], failure: BaseException | Callable[[], object]
) -> Iterator[pa.RecordBatch]:
    yield from batches
    if isinstance(failure, BaseException):
        raise failure
    failure()


def test_message_has_time_headers_and_partition(sink: Sink, tmp_path: Path) -> None:
    headers = pa.array(
        [[{"key": "by", "value": b"x"}]], pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
    )
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([b"k"], pa.binary()),
            "value": pa.array([None], pa.binary()),
            "headers": headers,
            "partition": pa.array([0], pa.int32()),
            "timestamp": pa.array([1_700_000_000_123], pa.int64()),
        }
    )
    deliver(tmp_path / "d", 0, sink.request(0, sink.transactions()), iter([batch]))
    [found] = ScriptKafka(sink.brokers).read(sink.topic)
    assert (found.message.key, found.message.value, found.headers) == (b"k", None, (("by", b"x"),))
    assert time_of_first(sink) == 1_700_000_000_123


def time_of_first(sink: Sink) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": sink.brokers, "group.id": "times"})
    consumer.assign([TopicPartition(sink.topic, 0, 0)])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    return int(message.timestamp()[1])
