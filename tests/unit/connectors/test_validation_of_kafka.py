"""Every situation in which Flink's Kafka connectors refuse a table, one test each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.errors import Code
from millstream.sql.types import BIGINT, INT, STRING, DataType, Field, TypeRoot
from tests.declaring import (
    COLUMNS,
    KAFKA,
    KEYED,
    UPSERT,
    declare,
    metadata_column,
    problems,
    sink,
    sink_codes,
    source,
    source_codes,
)

OFFSETS = "partition:0,offset:42;partition:1,offset:300"
HEADERS = DataType(TypeRoot.MAP, key=STRING, element=DataType(TypeRoot.BYTES))
HEADER = DataType(TypeRoot.ROW, fields=(Field("key", STRING), Field("value", DataType(TypeRoot.BYTES))))
HEADER_LIST = DataType(TypeRoot.ARRAY, element=HEADER)


def test_no_connector_key() -> None:
    assert source_codes(declare({**KAFKA, "connector": None})) == [Code.MISSING_CONNECTOR]


def test_undefined_connector() -> None:
    assert sink_codes(declare({**KAFKA, "connector": "kafkaa"})) == [Code.UNDEFINED_CONNECTOR]


@pytest.mark.parametrize("key", ["format", "value.format"])
def test_undefined_format(key: str) -> None:
    assert source_codes(declare({**KAFKA, "format": None, key: "jsonn"})) == [Code.UNDEFINED_FORMAT]


def test_undefined_key_format() -> None:
    options = {**KAFKA, "key.format": "jsonn", "key.fields": "id"}
    assert source_codes(declare(options)) == [Code.UNDEFINED_FORMAT]


@pytest.mark.parametrize("key", ["properties.bootstrap.servers", "key.format", "value.format", "topic"])
def test_missing_required_on_upsert_kafka(key: str) -> None:
    table = declare({**UPSERT, key: None}, KEYED)
    assert (source_codes(table), sink_codes(table)) == ([Code.MISSING_OPTION], [Code.MISSING_OPTION])


def test_missing_required_on_kafka() -> None:
    assert sink_codes(declare({"connector": "kafka"})) == [Code.MISSING_OPTION] * 3


@pytest.mark.parametrize(
    "key", ["format", "key.fields", "scan.startup.mode", "sink.partitioner", "sink.semantic", "update-mode.x", "topc"]
)
def test_undefined_option_on_upsert_kafka(key: str) -> None:
    assert Code.UNDEFINED_OPTION in sink_codes(declare({**UPSERT, key: "json"}, KEYED))


@pytest.mark.parametrize("key", ["sink.buffer-flush.max-rows", "sink.buffer-flush.interval", "scan.startup.mod"])
def test_undefined_option_on_kafka(key: str) -> None:
    assert source_codes(declare({**KAFKA, key: "0"})) == [Code.UNDEFINED_OPTION]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("value.fields-include", "SOME"),
        ("scan.startup.mode", "start"),
        ("scan.startup.timestamp-millis", "yesterday"),
        ("scan.startup.timestamp-millis", "9223372036854775808"),
        ("scan.bounded.mode", "end"),
        ("scan.topic-partition-discovery.interval", "5 parsecs"),
        ("scan.parallelism", "0"),
        ("scan.watermark.emit.strategy", "never"),
        ("sink.delivery-guarantee", "twice"),
        ("sink.semantic", "at-most-once"),
        ("sink.transaction-naming-strategy", "random"),
        ("sink.parallelism", "two"),
        ("topic-pattern", "orders-["),
    ],
)
def test_value_that_cannot_be_taken_in_either_role(key: str, value: str) -> None:
    table = declare({**KAFKA, "topic": None if key == "topic-pattern" else "orders", key: value})
    assert Code.INVALID_OPTION_VALUE in source_codes(table)
    assert Code.INVALID_OPTION_VALUE in sink_codes(table)


def test_no_format() -> None:
    table = declare({**KAFKA, "format": None})
    assert (source_codes(table), sink_codes(table)) == ([Code.MISSING_OPTION], [Code.MISSING_OPTION])


@pytest.mark.parametrize(("options", "columns"), [(KAFKA, COLUMNS), (UPSERT, KEYED)])
def test_topic_and_pattern(options: dict[str, str], columns: str) -> None:
    table = declare({**options, "topic-pattern": "orders-.*"}, columns)
    assert source_codes(table) == [Code.CONFLICTING_OPTIONS]


def test_neither_topic_nor_pattern() -> None:
    [problem] = problems(source, declare({**KAFKA, "topic": None}))
    assert problem.code is Code.MISSING_OPTION
    assert "'topic-pattern'" in (problem.detail or "")


@pytest.mark.parametrize("mode", ["timestamp", "specific-offsets", "TIMESTAMP"])
@pytest.mark.parametrize("side", ["startup", "bounded"])
def test_mode_without_what_it_needs(mode: str, side: str) -> None:
    table = declare({**KAFKA, f"scan.{side}.mode": mode})
    assert source_codes(table) == [Code.MISSING_OPTION]
    assert sink_codes(table) == []


@pytest.mark.parametrize("side", ["startup", "bounded"])
@pytest.mark.parametrize("topics", [{"topic": "a; b"}, {"topic": None, "topic-pattern": "a.*"}])
def test_specific_offsets_with_several_topics(side: str, topics: dict[str, str | None]) -> None:
    options = {**KAFKA, **topics, f"scan.{side}.mode": "specific-offsets", f"scan.{side}.specific-offsets": OFFSETS}
    assert source_codes(declare(options)) == [Code.CONFLICTING_OPTIONS]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "0:42",
        "partition:0",
        "partition:0,offset:x",
        "partition:0,offset:1;",
        "offset:1,partition:0",
        "partition:-1,offset:2",
    ],
)
def test_malformed_offsets(value: str) -> None:
    options = {**KAFKA, "scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": value}
    assert source_codes(declare(options)) == [Code.INVALID_OPTION_VALUE]


@pytest.mark.parametrize("value", ["", "  "])
def test_empty_partitioner(value: str) -> None:
    assert sink_codes(declare({**KAFKA, "sink.partitioner": value})) == [Code.INVALID_OPTION_VALUE]


def test_round_robin_with_key_fields() -> None:
    table = declare({**KAFKA, "sink.partitioner": "round-robin", "key.format": "json", "key.fields": "id"})
    assert sink_codes(table) == [Code.CONFLICTING_OPTIONS]
    assert source_codes(table) == []


@pytest.mark.parametrize("value", ["rondo", "my class", "a:b:c"])
def test_partitioner_that_is_no_class_name(value: str) -> None:
    assert sink_codes(declare({**KAFKA, "sink.partitioner": value})) == [Code.INVALID_OPTION_VALUE]


def test_key_fields_without_key_format() -> None:
    assert source_codes(declare({**KAFKA, "key.fields": "id"})) == [Code.MISSING_OPTION]


def test_key_format_without_key_fields() -> None:
    assert sink_codes(declare({**KAFKA, "key.format": "json"})) == [Code.MISSING_OPTION]


def test_key_field_that_is_no_column() -> None:
    [problem] = problems(sink, declare({**KAFKA, "key.format": "json", "key.fields": "id;nme"}))
    assert problem.code is Code.INVALID_OPTION_VALUE
    assert problem.detail == "Columns that can be key fields: id, name."


def test_key_field_that_is_no_physical_column() -> None:
    table = declare(
        {**KAFKA, "key.format": "json", "key.fields": "at"}, COLUMNS, metadata_column("at", INT, "partition")
    )
    assert source_codes(table) == [Code.INVALID_OPTION_VALUE]


def test_prefix_that_a_key_field_lacks() -> None:
    options = {
        **KAFKA,
        "key.format": "json",
        "key.fields": "k_id;name",
        "key.fields-prefix": "k_",
        "value.fields-include": "EXCEPT_KEY",
    }
    assert source_codes(declare(options, "k_id BIGINT, name STRING")) == [Code.CONFLICTING_OPTIONS]


@pytest.mark.parametrize("include", [None, "ALL"])
def test_prefix_with_all_fields_in_the_value(include: str | None) -> None:
    options = {
        **UPSERT,
        "key.fields-prefix": "k_",
        "value.fields-include": include,
    }
    table = declare(options, "k_id BIGINT, PRIMARY KEY (k_id) NOT ENFORCED")
    assert sink_codes(table) == [Code.CONFLICTING_OPTIONS]


def test_key_format_with_changes() -> None:
    options = {**KAFKA, "key.format": "debezium-json", "key.fields": "id"}
    assert source_codes(declare(options)) == [Code.CONFLICTING_OPTIONS]


def test_primary_key_on_inserts() -> None:
    table = declare(KAFKA, KEYED)
    assert (source_codes(table), sink_codes(table)) == ([Code.CONFLICTING_OPTIONS], [Code.CONFLICTING_OPTIONS])


def test_primary_key_on_changes_is_fine() -> None:
    table = declare({**KAFKA, "format": "debezium-json"}, KEYED)
    assert (source_codes(table), sink_codes(table)) == ([], [])


@pytest.mark.parametrize(("options", "columns"), [(KAFKA, COLUMNS), (UPSERT, KEYED)])
def test_exactly_once_without_prefix(options: dict[str, str], columns: str) -> None:
    table = declare({**options, "sink.delivery-guarantee": "exactly-once"}, columns)
    assert sink_codes(table) == [Code.MISSING_OPTION]
    assert source_codes(table) == []


def test_transactional_id_prefix_that_is_too_long() -> None:
    options = {**KAFKA, "sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "é" * 32001}
    assert Code.INVALID_OPTION_VALUE in sink_codes(declare(options))


def test_upsert_kafka_without_primary_key() -> None:
    table = declare(UPSERT)
    assert (source_codes(table), sink_codes(table)) == ([Code.MISSING_PRIMARY_KEY], [Code.MISSING_PRIMARY_KEY])


@pytest.mark.parametrize("key", ["key.format", "value.format"])
def test_upsert_kafka_with_a_format_of_changes(key: str) -> None:
    assert sink_codes(declare({**UPSERT, key: "canal-json"}, KEYED)) == [Code.CONFLICTING_OPTIONS]


@pytest.mark.parametrize(
    "buffer",
    [
        {"sink.buffer-flush.max-rows": "100"},
        {"sink.buffer-flush.interval": "1s"},
        {"sink.buffer-flush.max-rows": "0", "sink.buffer-flush.interval": "1s"},
    ],
)
def test_half_a_buffer(buffer: dict[str, str]) -> None:
    assert sink_codes(declare({**UPSERT, **buffer}, KEYED)) == [Code.CONFLICTING_OPTIONS]


@pytest.mark.parametrize(("mode", "codes"), [("group-offsets", [Code.INVALID_OPTION_VALUE]), ("latest-offset", [])])
def test_offset_reset_that_is_no_position(mode: str, codes: list[Code]) -> None:
    options = {
        **KAFKA,
        "properties.group.id": "g",
        "scan.startup.mode": mode,
        "properties.auto.offset.reset": "begin",
    }
    assert source_codes(declare(options)) == codes


@pytest.mark.parametrize("key", ["scan.startup.mode", "scan.bounded.mode"])
def test_group_offsets_without_group(key: str) -> None:
    assert source_codes(declare({**KAFKA, key: "group-offsets"})) == [Code.MISSING_OPTION]
    assert source_codes(declare({**KAFKA, key: "group-offsets", "properties.group.id": "g"})) == []


def test_auto_commit_without_group() -> None:
    assert source_codes(declare({**KAFKA, "properties.enable.auto.commit": "true"})) == [Code.MISSING_OPTION]


def test_metadata_that_is_not_there() -> None:
    [problem] = problems(source, declare(KAFKA, COLUMNS, metadata_column("ofset", BIGINT)))
    assert problem.code is Code.INVALID_METADATA
    assert "'offset'" in (problem.hint or "")


@pytest.mark.parametrize("key", ["partition", "offset", "topic", "timestamp-type", "leader-epoch"])
def test_metadata_that_cannot_be_written(key: str) -> None:
    type_ = STRING if key in ("topic", "timestamp-type") else BIGINT
    assert sink_codes(declare(KAFKA, COLUMNS, metadata_column("m", type_, key))) == [Code.INVALID_METADATA]
    assert sink_codes(declare(KAFKA, COLUMNS, metadata_column("m", type_, key, virtual=True))) == []
    assert source_codes(declare(KAFKA, COLUMNS, metadata_column("m", type_, key))) == []


@pytest.mark.parametrize(
    ("key", "type_"),
    [
        ("timestamp", DataType(TypeRoot.BOOLEAN)),
        ("offset", DataType(TypeRoot.DATE)),
        ("headers", INT),
        ("headers", DataType(TypeRoot.MAP, key=STRING, element=INT)),
        ("header-list", HEADERS),
        ("timestamp", HEADER),
        ("leader-epoch", INT.not_null()),
    ],
)
def test_metadata_of_a_type_without_cast(key: str, type_: DataType) -> None:
    assert source_codes(declare(KAFKA, COLUMNS, metadata_column("m", type_, key))) == [Code.INVALID_METADATA]


def test_written_metadata_of_a_type_without_cast() -> None:
    assert sink_codes(declare(KAFKA, COLUMNS, metadata_column("headers", STRING))) == [Code.INVALID_METADATA]
    assert source_codes(declare(KAFKA, COLUMNS, metadata_column("headers", HEADERS.not_null()))) == []
    assert source_codes(declare(KAFKA, COLUMNS, metadata_column("headers", STRING))) == []


def test_headers_written_twice() -> None:
    both = (metadata_column("headers", HEADERS), metadata_column("l", HEADER_LIST, "header-list"))
    assert sink_codes(declare(KAFKA, COLUMNS, *both)) == [Code.INVALID_METADATA]
    assert source_codes(declare(KAFKA, COLUMNS, *both)) == []


@pytest.mark.parametrize("topics", [{"topic": "a;b"}, {"topic": None, "topic-pattern": "a.*"}])
def test_several_topics_to_write_to(topics: dict[str, str | None]) -> None:
    assert sink_codes(declare({**KAFKA, **topics})) == [Code.CONFLICTING_OPTIONS]
    assert sink_codes(declare({**KAFKA, **topics}, COLUMNS, metadata_column("topic", STRING))) == []


@pytest.mark.parametrize(("topics", "codes"), [("a", []), ("a;b", [Code.MISSING_OPTION])])
def test_subject_of_several_topics(topics: str, codes: list[Code]) -> None:
    options = {**KAFKA, "topic": topics, "format": "avro-confluent", "avro-confluent.url": "http://r"}
    named = [metadata_column("topic", STRING, virtual=topics == "a")]
    assert sink_codes(declare(options, COLUMNS, *named)) == codes
    assert sink_codes(declare({**options, "avro-confluent.subject": "s"}, COLUMNS, *named)) == []


def test_metadata_of_the_value_format() -> None:
    cdc = {**KAFKA, "format": "debezium-json"}
    of_format = metadata_column("origin", STRING, "value.source.table")
    assert source_codes(declare(cdc, COLUMNS, of_format)) == []
    assert sink_codes(declare(cdc, COLUMNS, of_format)) == [Code.INVALID_METADATA]
    assert source_codes(declare(KAFKA, COLUMNS, of_format)) == [Code.INVALID_METADATA]
    without_prefix = metadata_column("origin", STRING, "source.table")
    [problem] = problems(source, declare(cdc, COLUMNS, without_prefix))
    assert "'value.source.table'" in (problem.hint or "")


def test_primary_key_of_an_upsert_topic_is_physical() -> None:
    table = declare(UPSERT, "v INT NOT NULL, PRIMARY KEY (v) NOT ENFORCED", metadata_column("at", INT, "partition"))
    assert sink_codes(replace(table, primary_key=("v", "at"))) == [Code.INVALID_PRIMARY_KEY, Code.INVALID_METADATA]
