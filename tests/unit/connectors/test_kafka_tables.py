"""What a table that is in order carries to whoever reads or writes it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.changelog import ALL_CHANGES, INSERT_ONLY, UPSERTS, letters
from millstream.connectors.kafka.option_values import (
    BoundedMode,
    DeliveryGuarantee,
    NamingStrategy,
    Partitioner,
    Partitioning,
    StartupMode,
)
from millstream.connectors.kafka.tables import BufferFlush, Delivery, EndPosition, StartPosition
from millstream.sql.types import BIGINT, STRING, DataType, TypeRoot
from tests.declaring import COLUMNS, KAFKA, KEYED, UPSERT, declare, metadata_column, sink, source

TIMESTAMP = DataType(TypeRoot.TIMESTAMP, precision=3)


@pytest.mark.parametrize(
    ("options", "start"),
    [
        ({}, StartPosition(StartupMode.EARLIEST, chosen=False)),
        ({"properties.group.id": "g"}, StartPosition(StartupMode.GROUP, chosen=False)),
        ({"scan.startup.mode": "LATEST-offset"}, StartPosition(StartupMode.LATEST)),
        (
            {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "1719792000000"},
            StartPosition(StartupMode.TIMESTAMP, 1719792000000),
        ),
        (
            {
                "scan.startup.mode": "specific-offsets",
                "scan.startup.specific-offsets": "partition:0,offset:42;partition:1,offset:300",
            },
            StartPosition(StartupMode.SPECIFIC, None, ((0, 42), (1, 300))),
        ),
    ],
)
def test_start(options: dict[str, str], start: StartPosition) -> None:
    assert source(declare({**KAFKA, **options})).start == start


@pytest.mark.parametrize(
    ("options", "end"),
    [
        ({}, None),
        ({"scan.bounded.mode": "unbounded"}, None),
        ({"scan.bounded.mode": "latest-offset"}, EndPosition(BoundedMode.LATEST)),
        (
            {"scan.bounded.mode": "timestamp", "scan.bounded.timestamp-millis": "5"},
            EndPosition(BoundedMode.TIMESTAMP, 5),
        ),
        (
            {"scan.bounded.mode": "specific-offsets", "scan.bounded.specific-offsets": "partition:3,offset:9"},
            EndPosition(BoundedMode.SPECIFIC, None, ((3, 9),)),
        ),
    ],
)
def test_end(options: dict[str, str], end: EndPosition | None) -> None:
    found = source(declare({**KAFKA, **options}))
    assert (found.end, found.is_bounded) == (end, end is not None)
    assert found.discovery == (timedelta(0) if end else timedelta(minutes=5))


def test_topics_and_patterns() -> None:
    assert source(declare({**KAFKA, "topic": "a; b;c"})).topics == ("a", "b", "c")
    by_pattern = source(declare({**KAFKA, "topic": None, "topic-pattern": r"(?<shop>\w+)-orders"}))
    assert (by_pattern.topics, by_pattern.topic_pattern) == ((), r"(?<shop>\w+)-orders")
    assert by_pattern.notices == ()


def test_pattern_that_only_java_reads_is_told() -> None:
    found = source(declare({**KAFKA, "topic": None, "topic-pattern": r"\p{Alpha}+"}))
    assert ["only Java" in notice.text for notice in found.notices] == [True]


def test_key_fields_keep_their_order() -> None:
    options = {**KAFKA, "key.format": "json", "key.fields": "name;id"}
    found = sink(declare(options))
    assert found.key.names == ("name", "id")
    assert [column.name for column in found.value_columns] == ["id", "name"]


def test_key_prefix_is_not_in_the_key() -> None:
    options = {
        **KAFKA,
        "key.format": "json",
        "key.fields": "k_name;k_id",
        "key.fields-prefix": "k_",
        "value.fields-include": "except_key",
    }
    found = source(declare(options, "k_id BIGINT, v INT, k_name STRING"))
    assert [column.name for column in found.key.columns] == ["k_name", "k_id"]
    assert found.key.names == ("name", "id")
    assert [column.name for column in found.value_columns] == ["v"]


def test_upsert_key_follows_the_primary_key() -> None:
    columns = "v INT, a STRING NOT NULL, b STRING NOT NULL, PRIMARY KEY (b, a) NOT ENFORCED"
    for found in (source(declare(UPSERT, columns)), sink(declare(UPSERT, columns))):
        assert found.key.names == ("b", "a")
        assert [column.name for column in found.value_columns] == ["v", "a", "b"]
    except_key = declare({**UPSERT, "value.fields-include": "EXCEPT_KEY"}, columns)
    assert [column.name for column in sink(except_key).value_columns] == ["v"]


def test_changes_given_and_taken() -> None:
    cdc = declare({**KAFKA, "format": "debezium-json"})
    assert (source(declare(KAFKA)).changelog, sink(declare(KAFKA)).accepts) == (INSERT_ONLY, INSERT_ONLY)
    assert (source(cdc).changelog, sink(cdc).accepts) == (ALL_CHANGES, ALL_CHANGES)
    upsert = declare(UPSERT, KEYED)
    assert letters(source(upsert).changelog) == "UA,D"
    assert sink(upsert).accepts == UPSERTS
    assert source(upsert).start == StartPosition(StartupMode.EARLIEST)


def test_metadata_read_and_written() -> None:
    table = declare(
        KAFKA,
        COLUMNS,
        metadata_column("at", TIMESTAMP, "timestamp"),
        metadata_column("place", BIGINT, "partition", virtual=True),
        metadata_column("topic", STRING, virtual=True),
    )
    read = [(use.column.name, use.key, str(use.type)) for use in source(table).metadata]
    assert read == [
        ("at", "timestamp", "TIMESTAMP_LTZ(3) NOT NULL"),
        ("place", "partition", "INT NOT NULL"),
        ("topic", "topic", "STRING NOT NULL"),
    ]
    assert [(use.key, str(use.type)) for use in sink(table).metadata] == [("timestamp", "TIMESTAMP_LTZ(3)")]


@pytest.mark.parametrize(
    ("value", "partitioner"),
    [
        (None, Partitioner()),
        ("default", Partitioner()),
        ("Fixed", Partitioner(Partitioning.FIXED)),
        ("round-robin", Partitioner(Partitioning.ROUND_ROBIN)),
        ("shop.routing:ByRegion", Partitioner(Partitioning.CUSTOM, "shop.routing:ByRegion")),
        ("org.mycompany.MyPartitioner", Partitioner(Partitioning.CUSTOM, "org.mycompany.MyPartitioner")),
    ],
)
def test_partitioner(value: str | None, partitioner: Partitioner) -> None:
    assert sink(declare({**KAFKA, "sink.partitioner": value})).partitioner == partitioner


def test_delivery() -> None:
    options = {
        **UPSERT,
        "sink.delivery-guarantee": "Exactly-Once",
        "sink.transactional-id-prefix": "p",
        "sink.transaction-naming-strategy": "pooling",
    }
    assert sink(declare(options, KEYED)).delivery == Delivery(
        DeliveryGuarantee.EXACTLY_ONCE, "p", NamingStrategy.POOLING
    )
    assert sink(declare(UPSERT, KEYED)).delivery == Delivery()


@pytest.mark.parametrize(
    ("value", "guarantee"),
    [("none", "none"), ("EXACTLY_ONCE", "exactly-once"), ("at-least-once", "at-least-once")],
)
def test_semantic_comes_before_guarantee(value: str, guarantee: str) -> None:
    found = sink(declare({**KAFKA, "sink.semantic": value, "sink.delivery-guarantee": "at-least-once"}))
    assert found.delivery.guarantee == guarantee
    assert any("'sink.delivery-guarantee' of table" in notice.text for notice in found.notices)


def test_semantic_exactly_once_has_a_prefix_of_its_own() -> None:
    found = sink(declare({**KAFKA, "sink.semantic": "exactly-once"}))
    assert found.delivery.transactional_id_prefix == "millstream-orders"
    assert any('"millstream-orders"' in notice.text for notice in found.notices)


def test_buffer_parallelism_and_idleness() -> None:
    options = {
        **UPSERT,
        "sink.buffer-flush.max-rows": "100",
        "sink.buffer-flush.interval": "2 s",
        "sink.parallelism": "3",
        "scan.parallelism": "2",
        "scan.watermark.idle-timeout": "1 min",
    }
    written, read = sink(declare(options, KEYED)), source(declare(options, KEYED))
    assert written.buffer_flush == BufferFlush(100, timedelta(seconds=2))
    assert (written.parallelism, read.parallelism, read.idle_timeout) == (3, 2, timedelta(minutes=1))
    assert {notice.text.split("'")[1] for notice in read.notices} == {"scan.parallelism"}
    assert written.notices == ()


def test_format_comes_before_value_format() -> None:
    found = sink(declare({**KAFKA, "value.format": "avro", "value.json.ignore-parse-errors": None}))
    assert found.value_format.name == "json"
    assert ["'value.format'" in notice.text for notice in found.notices] == [True]


def test_properties_are_handed_over_and_not_shown() -> None:
    found = source(declare({**KAFKA, "properties.ssl.key.password": "tiger", "properties.anything.at.all": "1"}))
    assert found.properties["ssl.key.password"] == "tiger"
    assert found.properties["anything.at.all"] == "1"
    assert "properties=" not in repr(found)
