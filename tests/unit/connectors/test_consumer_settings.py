"""What Java's consumers accept, the C client accepts after translation."""

from __future__ import annotations

import pytest

from millstream.connectors.kafka.consumer_settings import consumer_settings
from millstream.librdkafka import library

BROKERS = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("receive.buffer.bytes", "-1"),
        ("send.buffer.bytes", "-1"),
        ("connections.max.idle.ms", "-1"),
        ("fetch.min.bytes", "0"),
        ("fetch.max.bytes", "500000"),
        ("fetch.max.bytes", "2147483647"),
        ("max.partition.fetch.bytes", "2147483647"),
        ("max.partition.fetch.bytes", "0"),
        ("fetch.max.wait.ms", "2147483647"),
        ("metadata.max.age.ms", "0"),
        ("metadata.max.age.ms", "604800000"),
        ("retry.backoff.ms", "0"),
        ("reconnect.backoff.ms", "20000"),
        ("reconnect.backoff.max.ms", "50"),
        ("reconnect.backoff.max.ms", "0"),
        ("isolation.level", " READ_COMMITTED "),
        ("check.crcs", "FALSE"),
        ("client.rack", ""),
        ("client.rack", "Rack A"),
    ],
)
def test_a_client_takes_what_javas_take(key: str, value: str) -> None:
    settings = consumer_settings({**BROKERS, key: value})
    ignore = library.ERROR_CALLBACK(lambda *_: None)

    library.destroy(library.create_client(library.CONSUMER, settings, ignore))


def test_values_reach_the_client() -> None:
    properties = {"isolation.level": "READ_COMMITTED", "client.rack": "Rack A", "fetch.max.wait.ms": "250"}

    settings = consumer_settings({**BROKERS, **properties})

    assert settings["isolation.level"] == "read_committed"
    assert settings["client.rack"] == "Rack A"
    assert settings["fetch.wait.max.ms"] == "250"


def test_a_setting_that_no_client_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"nonsense"):
        library.create_client(library.CONSUMER, {"nonsense": "1"}, library.ERROR_CALLBACK(lambda *_: None))
