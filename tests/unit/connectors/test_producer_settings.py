"""Properties of Java's producer, for the C client's."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from millstream.connectors.kafka import producer_settings as producer_settings_module
from millstream.connectors.kafka.producer_settings import producer_settings

SERVERS = {"bootstrap.servers": "localhost:1"}


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        ({"compression.type": "zstd"}, "compression.type", "zstd"),
        ({"max.request.size": "2000000"}, "message.max.bytes", "2000000"),
        ({"delivery.timeout.ms": "5000"}, "message.timeout.ms", "5000"),
        ({"acks": "1"}, "enable.idempotence", "false"),
        ({"acks": "all"}, "enable.idempotence", "true"),
        ({"retries": "0"}, "enable.idempotence", "false"),
        ({"max.in.flight.requests.per.connection": "6"}, "enable.idempotence", "false"),
        ({"acks": "1", "enable.idempotence": "true"}, "enable.idempotence", "true"),  # the client says what is wrong
        ({}, "partitioner", "murmur2_random"),
        ({}, "message.max.bytes", "1048576"),
        ({}, "message.timeout.ms", "120000"),
        ({"delivery.timeout.ms": "1", "linger.ms": "30"}, "message.timeout.ms", "31"),
        ({"buffer.memory": "1000000000"}, "queue.buffering.max.kbytes", "976562"),
        ({"buffer.memory": "1000"}, "queue.buffering.max.kbytes", "2048"),
        ({"max.request.size": "100000000"}, "queue.buffering.max.kbytes", "195312"),
    ],
)
def test_names(written: dict[str, str], name: str, value: str) -> None:
    assert producer_settings({**SERVERS, **written})[name] == value


def test_transactions_settle_the_rest() -> None:
    written = {"acks": "0", "retries": "0", "delivery.timeout.ms": "9", "enable.idempotence": "false", "linger.ms": "1"}
    found = producer_settings({**SERVERS, **written}, transactional=True)
    assert found["linger.ms"] == "1"
    assert found["enable.idempotence"] == "true"
    assert not {"acks", "retries", "message.timeout.ms"} & found.keys()


@pytest.mark.parametrize("value", ["-1", "0", "9223372036854775807"])
@pytest.mark.parametrize("key", [*producer_settings_module._NUMBERS, "buffer.memory"])
def test_numbers_that_only_java_accepts_are_moved_into_the_range(key: str, value: str) -> None:
    Producer(producer_settings({**SERVERS, key: value}))


@pytest.mark.parametrize("transactional", [True, False])
def test_client_takes_them_all(transactional: bool) -> None:  # noqa: FBT001
    numbers = ("linger.ms", "batch.size", "request.timeout.ms", "retry.backoff.ms", "reconnect.backoff.ms", "retries")
    written = {**dict.fromkeys(numbers, "1000"), "acks": "-1", "send.buffer.bytes": "65536", "group.id": "ignored"}
    identity = {"transactional.id": "x"} if transactional else {}
    Producer({**producer_settings({**SERVERS, **written}, transactional=transactional), **identity})
