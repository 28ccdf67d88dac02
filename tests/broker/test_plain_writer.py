"""At-least-once delivery on a real broker, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest

from millstream.delivery.delivery_error import DeliveryError, Failure
from millstream.delivery.plain_writer import PlainWriter
from millstream.testing.script_kafka import ScriptKafka
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HEADERS: Final = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))


@pytest.fixture
def writer(broker: str) -> Iterator[PlainWriter]:
    writer = PlainWriter({"bootstrap.servers": broker})
    yield writer
    writer.close()


def create_topic(brokers: str) -> str:
    name = fresh_name("plain")
    ScriptKafka(brokers).create_topic(name, 1)
    return name


def batch(**columns: Sequence[object]) -> pa.RecordBatch:
    types = {"topic": pa.string(), "partition": pa.int32(), "timestamp": pa.int64(), "headers": HEADERS}
    return pa.RecordBatch.from_pydict(
        {name: pa.array(values, types.get(name, pa.binary())) for name, values in columns.items()}
    )


def read_values(brokers: str, topic: str) -> list[bytes | None]:
    return [received.message.value for received in ScriptKafka(brokers).read(topic)]


def test_topic_of_each_message(broker: str, writer: PlainWriter) -> None:
    """Messages of a topic stay in their order; a batch of one topic is written as a whole."""
    first, second = create_topic(broker), create_topic(broker)
    writer.write(None, batch(topic=[first, second, first, second], value=[b"1", b"2", None, b"4"]))
    writer.write(None, batch(topic=[second, second], value=[b"5", b"6"]))
    writer.flush()
    assert read_values(broker, first) == [b"1", None]
    assert read_values(broker, second) == [b"2", b"4", b"5", b"6"]


def test_headers_and_timestamps(broker: str, writer: PlainWriter) -> None:
    topic = create_topic(broker)
    headers = [[{"key": "by", "value": b"x"}, {"key": "by", "value": None}], None]
    writer.write(topic, batch(key=[b"k", None], value=[None, b"v"], headers=headers, timestamp=[1_700_000_000_123, 7]))
    writer.flush()
    first, second = ScriptKafka(broker).read(topic)
    assert (first.message.key, first.message.value, first.headers) == (b"k", None, (("by", b"x"), ("by", None)))
    assert (second.message.key, second.message.value, second.headers) == (None, b"v", ())


@pytest.mark.parametrize("columns", [{}, {"timestamp": [7]}], ids=["columns", "single messages"])
@pytest.mark.parametrize(
    ("properties", "failure"),
    [
        ({"max.request.size": "5000"}, Failure.TOO_LARGE),
        ({"acks": "1", "enable.idempotence": "true"}, Failure.BAD_PROPERTIES),
        ({"bootstrap.servers": "localhost:1", "delivery.timeout.ms": "300"}, Failure.AWAY),
    ],
)
def test_failures(
    broker: str, properties: dict[str, str], failure: Failure, columns: dict[str, Sequence[object]]
) -> None:
    writer = PlainWriter({"bootstrap.servers": broker, **properties})
    with pytest.raises(DeliveryError) as caught:  # noqa: PT012
        writer.write("orders", batch(value=[b"x" * 6000], **columns))
        writer.flush()
    writer.close()
    assert caught.value.failure is failure
    assert caught.value.why.endswith(".")


def test_writer_that_is_closed_gives_up_what_it_has_not_delivered(broker: str) -> None:
    topic = create_topic(broker)
    writer = PlainWriter({"bootstrap.servers": broker, "linger.ms": "60000"})
    writer.write(topic, batch(value=[b"x"] * 10))
    writer.close()
    assert read_values(broker, topic) == []
