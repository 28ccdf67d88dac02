"""The Kafka connector's page of Flink 1.11: its example and each row of its table of options."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.changelog import ALL_CHANGES, INSERT_ONLY
from millstream.connectors.kafka.option_values import DeliveryGuarantee, Partitioner, Partitioning, StartupMode
from millstream.errors import Code
from tests.declaring import declare, declare_sql, sink, sink_codes, source, source_codes

EXAMPLE = """
CREATE TABLE kafkaTable (
 user_id BIGINT,
 item_id BIGINT,
 category_id BIGINT,
 behavior STRING,
 ts TIMESTAMP(3)
) WITH (
 'connector' = 'kafka',
 'topic' = 'user_behavior',
 'properties.bootstrap.servers' = 'localhost:9092',
 'properties.group.id' = 'testGroup',
 'format' = 'csv',
 'scan.startup.mode' = 'earliest-offset'
)
"""
COLUMNS = "user_id BIGINT, behavior STRING"
OPTIONS = {
    "connector": "kafka",
    "topic": "user_behavior",
    "properties.bootstrap.servers": "localhost:9092",
    "properties.group.id": "testGroup",
    "format": "csv",
}


def test_example() -> None:
    found = source(declare_sql(EXAMPLE))
    assert (found.topics, found.group, found.start.mode) == (("user_behavior",), "testGroup", StartupMode.EARLIEST)
    assert found.notices == ()
    assert sink(declare_sql(EXAMPLE)).topics == ("user_behavior",)


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("connector", Code.MISSING_CONNECTOR),
        ("topic", Code.MISSING_OPTION),
        ("properties.bootstrap.servers", Code.MISSING_OPTION),
        ("format", Code.MISSING_OPTION),
    ],
)
def test_required_option_is_missing(key: str, code: Code) -> None:
    table = declare({**OPTIONS, key: None}, COLUMNS)
    assert (source_codes(table), sink_codes(table)) == ([code], [code])


def test_topic_list_is_for_sources() -> None:
    table = declare({**OPTIONS, "topic": "topic-1;topic-2"}, COLUMNS)
    assert source(table).topics == ("topic-1", "topic-2")
    assert sink_codes(table) == [Code.CONFLICTING_OPTIONS]


def test_topic_pattern() -> None:
    table = declare({**OPTIONS, "topic": None, "topic-pattern": "test-topic-[0-9]"}, COLUMNS)
    assert source(table).topic_pattern == "test-topic-[0-9]"


def test_topic_and_pattern() -> None:
    table = declare({**OPTIONS, "topic-pattern": "test-topic-[0-9]"}, COLUMNS)
    assert source_codes(table) == [Code.CONFLICTING_OPTIONS]


def test_group_is_needed_where_its_offsets_are_asked_for() -> None:
    options = {**OPTIONS, "properties.group.id": None}
    assert sink_codes(declare(options, COLUMNS)) == []
    assert source_codes(declare(options, COLUMNS)) == []
    assert source_codes(declare({**options, "scan.startup.mode": "group-offsets"}, COLUMNS)) == [Code.MISSING_OPTION]


@pytest.mark.parametrize("name", ["csv", "json", "avro", "debezium-json", "canal-json"])
def test_format(name: str) -> None:
    changes = ALL_CHANGES if name in ("debezium-json", "canal-json") else INSERT_ONLY
    assert source(declare({**OPTIONS, "format": name}, COLUMNS)).changelog == changes


def test_format_that_is_none() -> None:
    assert source_codes(declare({**OPTIONS, "format": "xml"}, COLUMNS)) == [Code.UNDEFINED_FORMAT]


@pytest.mark.parametrize("mode", ["earliest-offset", "latest-offset", "group-offsets"])
def test_startup_mode(mode: str) -> None:
    found = source(declare({**OPTIONS, "scan.startup.mode": mode}, COLUMNS))
    assert (found.start.mode, found.start.chosen) == (StartupMode(mode), True)


def test_startup_mode_unless_set() -> None:
    found = source(declare(OPTIONS, COLUMNS)).start
    assert (found.mode, found.chosen) == (StartupMode.GROUP, False)


def test_startup_mode_that_is_none() -> None:
    assert source_codes(declare({**OPTIONS, "scan.startup.mode": "begin"}, COLUMNS)) == [Code.INVALID_OPTION_VALUE]


def test_specific_offsets() -> None:
    mode = {**OPTIONS, "scan.startup.mode": "specific-offsets"}
    options = {**mode, "scan.startup.specific-offsets": "partition:0,offset:42;partition:1,offset:300"}
    assert source(declare(options, COLUMNS)).start.offsets == ((0, 42), (1, 300))
    assert source_codes(declare(mode, COLUMNS)) == [Code.MISSING_OPTION]
    malformed = {**mode, "scan.startup.specific-offsets": "0:42"}
    assert source_codes(declare(malformed, COLUMNS)) == [Code.INVALID_OPTION_VALUE]


def test_timestamp() -> None:
    mode = {**OPTIONS, "scan.startup.mode": "timestamp"}
    options = {**mode, "scan.startup.timestamp-millis": "1600000000000"}
    assert source(declare(options, COLUMNS)).start.timestamp == 1600000000000
    assert source_codes(declare(mode, COLUMNS)) == [Code.MISSING_OPTION]


def test_discovery_interval() -> None:
    found = source(declare({**OPTIONS, "scan.topic-partition-discovery.interval": "10 s"}, COLUMNS))
    assert found.discovery == timedelta(seconds=10)
    assert ["discovery" in notice.text for notice in found.notices] == [True]


def test_discovery_interval_that_is_no_duration() -> None:
    table = declare({**OPTIONS, "scan.topic-partition-discovery.interval": "soon"}, COLUMNS)
    assert source_codes(table) == [Code.INVALID_OPTION_VALUE]


@pytest.mark.parametrize(
    ("value", "partitioner"),
    [
        ("fixed", Partitioner(Partitioning.FIXED)),
        ("round-robin", Partitioner(Partitioning.ROUND_ROBIN)),
        ("org.mycompany.MyPartitioner", Partitioner(Partitioning.CUSTOM, "org.mycompany.MyPartitioner")),
    ],
)
def test_partitioner(value: str, partitioner: Partitioner) -> None:
    assert sink(declare({**OPTIONS, "sink.partitioner": value}, COLUMNS)).partitioner == partitioner


@pytest.mark.parametrize(
    ("value", "guarantee"),
    [
        ("at-lease-once", DeliveryGuarantee.AT_LEAST_ONCE),
        ("at-least-once", DeliveryGuarantee.AT_LEAST_ONCE),
        ("exactly-once", DeliveryGuarantee.EXACTLY_ONCE),
        ("none", DeliveryGuarantee.NONE),
        ("AT_LEAST_ONCE", DeliveryGuarantee.AT_LEAST_ONCE),
    ],
)
def test_semantic(value: str, guarantee: DeliveryGuarantee) -> None:
    found = sink(declare({**OPTIONS, "sink.semantic": value}, COLUMNS))
    assert found.delivery.guarantee is guarantee
    assert any("at-lease-once" in notice.text for notice in found.notices) is (value == "at-lease-once")


def test_semantic_that_is_none() -> None:
    assert sink_codes(declare({**OPTIONS, "sink.semantic": "twice"}, COLUMNS)) == [Code.INVALID_OPTION_VALUE]
