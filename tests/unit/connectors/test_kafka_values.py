"""Names of topics, addresses of brokers and properties of Kafka's clients, as a table gives them."""

from __future__ import annotations

import pytest

from millstream.errors import Code
from tests.declaring import KAFKA, declare, problems, sink, source, source_codes

BROKERS = "properties.bootstrap.servers"


def notices_of(**options: str) -> str:
    """What is said of a table that is in order, whichever role it has."""
    table = declare({**KAFKA, **{key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}})
    return "\n".join(notice.text for notice in (*source(table).notices, *sink(table).notices))


@pytest.mark.parametrize("name", ["orders", "a.b_c-D9", "x" * 249, "a;b", "<yourTopicName>", "orders-..."])
def test_topic(name: str) -> None:
    assert source_codes(declare({**KAFKA, "topic": name})) == []


@pytest.mark.parametrize("name", ["my orders", "a,b", "ü", ".", "..", "x" * 250, "a;b c", "a/b", "<"])
def test_name_that_no_topic_has(name: str) -> None:
    assert source_codes(declare({**KAFKA, "topic": name})) == [Code.INVALID_OPTION_VALUE]


@pytest.mark.parametrize(
    "address",
    ["localhost:9092", "a:1, b:65535", "[::1]:9092", "SASL_SSL://kafka.example.com:9093", "a:1,", "...", "<host>:9092"],
)
def test_brokers(address: str) -> None:
    assert source_codes(declare({**KAFKA, BROKERS: address})) == []


@pytest.mark.parametrize(
    ("address", "detail"),
    [
        ("localhost", "write localhost:9092"),
        ("http://localhost:9092/", "write localhost:9092"),
        ("https://kafka", "write kafka:9092"),
        ("a:9092;b:9092", 'separated by ","'),
        ("a:0", "between 1 and 65535"),
        ("a:65536", "between 1 and 65535"),
        ("a:port", "host:port"),
        ("a b:9092", "host:port"),
        (",", "no address"),
    ],
)
def test_address_that_no_client_takes(address: str, detail: str) -> None:
    [problem] = problems(source, declare({**KAFKA, BROKERS: address}))
    assert problem.code is Code.INVALID_OPTION_VALUE
    assert detail in (problem.detail or "")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("security.protocol", "sasl_ssl"),
        ("acks", "all"),
        ("acks", "-1"),
        ("linger.ms", "5"),
        ("enable.auto.commit", "FALSE"),
        ("my.own.plugin", "x"),
    ],
)
def test_property_is_handed_over(key: str, value: str) -> None:
    assert source(declare({**KAFKA, f"properties.{key}": value})).properties[key] == value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("security.protocol", "TLS"),
        ("acks", "some"),
        ("linger.ms", "5 ms"),
        ("isolation.level", "committed"),
        ("compression.type", "zip"),
        ("enable.idempotence", "yes"),
    ],
)
def test_property_with_a_value_that_kafka_refuses(key: str, value: str) -> None:
    [problem] = problems(sink, declare({**KAFKA, f"properties.{key}": value}))
    assert (problem.code, f"properties.{key}" in problem.primary) == (Code.INVALID_OPTION_VALUE, True)


def test_property_without_a_name() -> None:
    assert source_codes(declare({**KAFKA, "properties.": "x"})) == [Code.UNDEFINED_OPTION]


def test_slip_in_a_property_is_told() -> None:
    assert "did you mean 'properties.acks'" in notices_of(properties__akcs="all")
    assert "did you mean" not in notices_of(properties__acks="all")


def test_deserializer_is_told_to_be_overridden() -> None:
    assert "'properties.key.deserializer' is overridden" in notices_of(properties__key__deserializer="a.B")


def test_placeholders_are_told() -> None:
    assert "'topic' of table \"orders\" looks like a placeholder" in notices_of(topic="<yourTopicName>")


def test_java_partitioner_is_told() -> None:
    assert "'module:Class'" in notices_of(sink__partitioner="org.mycompany.MyPartitioner")
    assert notices_of(sink__partitioner="mine:Mine") == ""


@pytest.mark.parametrize(
    ("key", "value", "mode"),
    [
        ("scan.startup.timestamp-millis", "5", "scan.startup.mode"),
        ("scan.startup.specific-offsets", "partition:0,offset:4", "scan.startup.mode"),
        ("scan.bounded.timestamp-millis", "5", "scan.bounded.mode"),
        ("scan.bounded.specific-offsets", "partition:0,offset:4", "scan.bounded.mode"),
    ],
)
def test_position_without_its_mode_has_no_effect(key: str, value: str, mode: str) -> None:
    [notice] = source(declare({**KAFKA, key: value})).notices
    assert f"'{key}' of table \"orders\" has no effect: '{mode}' is not" in notice.text
    position = "timestamp" if "timestamp" in key else "specific-offsets"
    assert source(declare({**KAFKA, key: value, mode: position})).notices == ()
