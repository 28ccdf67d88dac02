"""The kafka result table in the older dialect: its example and each row of its table of parameters."""

from __future__ import annotations

import pytest

from millstream.changelog import ALL_CHANGES, INSERT_ONLY, UPSERTS
from millstream.connectors.kafka.option_values import Partitioner, Partitioning, StartupMode
from millstream.errors import Code
from tests.declaring import declare, declare_sql, problems, sink, sink_codes, source

EXAMPLE = """
   create table kafkaSink(
     car_id STRING,
     car_owner STRING,
     car_brand STRING,
     car_speed INT)
   with (
     'connector.type' = 'kafka',
     'connector.version' = '0.10',
     'connector.topic' = 'test-topic',
     'connector.properties.bootstrap.servers' = 'xx.xx.xx.xx:9092',
     'connector.sink-partitioner' = 'round-robin',
     'format.type' = 'csv'
   );
"""
COLUMNS = "car_id STRING, car_speed INT"
OPTIONS = {
    "connector.type": "kafka",
    "connector.topic": "test-topic",
    "connector.properties.bootstrap.servers": "xx.xx.xx.xx:9092",
    "format.type": "csv",
}


def test_example() -> None:
    found = sink(declare_sql(EXAMPLE))
    assert (found.connector, found.topics, found.accepts) == ("kafka", ("test-topic",), INSERT_ONLY)
    assert (found.value_format.name, found.key_format) == ("csv", None)
    assert found.partitioner == Partitioner(Partitioning.ROUND_ROBIN)
    assert [notice.text.split("'")[1] for notice in found.notices] == ["connector.version"]


def test_example_as_a_source() -> None:
    assert source(declare_sql(EXAMPLE)).start.mode is StartupMode.EARLIEST


def test_primary_key_of_the_syntax_is_allowed_and_told() -> None:
    found = sink(declare(OPTIONS, f"{COLUMNS}, PRIMARY KEY (car_id) NOT ENFORCED"))
    assert ["primary key" in notice.text for notice in found.notices] == [True]


@pytest.mark.parametrize("key", ["connector.topic", "connector.properties.bootstrap.servers", "format.type"])
def test_mandatory_parameter_is_missing(key: str) -> None:
    [problem] = problems(sink, declare({**OPTIONS, key: None}, COLUMNS))
    assert problem.code is Code.MISSING_OPTION
    assert f"'{key}'" in problem.primary


def test_connector_type_is_missing() -> None:
    assert sink_codes(declare({**OPTIONS, "connector.type": None}, COLUMNS)) == [Code.MISSING_CONNECTOR]


@pytest.mark.parametrize("version", ["0.10", "0.11"])
def test_version(version: str) -> None:
    assert sink_codes(declare({**OPTIONS, "connector.version": version}, COLUMNS)) == []


def test_version_that_never_was() -> None:
    assert sink_codes(declare({**OPTIONS, "connector.version": "1.0"}, COLUMNS)) == [Code.INVALID_OPTION_VALUE]


@pytest.mark.parametrize("name", ["csv", "json", "avro"])
def test_format(name: str) -> None:
    assert sink(declare({**OPTIONS, "format.type": name}, COLUMNS)).value_format.name == name


def test_format_that_is_none() -> None:
    assert sink_codes(declare({**OPTIONS, "format.type": "xml"}, COLUMNS)) == [Code.UNDEFINED_FORMAT]


def test_field_delimiter_of_csv() -> None:
    assert sink_codes(declare({**OPTIONS, "format.field-delimiter": "|"}, COLUMNS)) == []


def test_field_delimiter_of_another_format() -> None:
    options = {**OPTIONS, "format.type": "json", "format.field-delimiter": "|"}
    [problem] = problems(sink, declare(options, COLUMNS))
    assert problem.code is Code.UNDEFINED_OPTION
    assert "'format.field-delimiter'" in problem.primary


@pytest.mark.parametrize("name", ["fixed", "round-robin"])
def test_partitioner(name: str) -> None:
    found = sink(declare({**OPTIONS, "connector.sink-partitioner": name}, COLUMNS))
    assert found.partitioner == Partitioner(Partitioning(name))


def test_custom_partitioner() -> None:
    chosen = {"connector.sink-partitioner": "custom", "connector.sink-partitioner-class": "shop.routing:ByCar"}
    assert sink(declare({**OPTIONS, **chosen}, COLUMNS)).partitioner.implementation == "shop.routing:ByCar"


def test_custom_partitioner_without_class() -> None:
    table = declare({**OPTIONS, "connector.sink-partitioner": "custom"}, COLUMNS)
    assert sink_codes(table) == [Code.MISSING_OPTION]


def test_custom_partitioner_with_a_class_that_is_no_name() -> None:
    chosen = {"connector.sink-partitioner": "custom", "connector.sink-partitioner-class": "my class"}
    [problem] = problems(sink, declare({**OPTIONS, **chosen}, COLUMNS))
    assert problem.code is Code.INVALID_OPTION_VALUE
    assert "'connector.sink-partitioner-class'" in problem.primary


def test_append_mode() -> None:
    assert sink(declare({**OPTIONS, "update-mode": "append"}, COLUMNS)).accepts == INSERT_ONLY


@pytest.mark.parametrize("mode", ["retract", "upsert"])
@pytest.mark.parametrize("name", ["csv", "json", "avro"])
def test_modes_with_updates_write_by_primary_key(mode: str, name: str) -> None:
    keyed = f"{COLUMNS}, PRIMARY KEY (car_id) NOT ENFORCED"
    options = {**OPTIONS, "update-mode": mode, "format.type": name}
    written = sink(declare(options, keyed))
    assert [column.name for column in written.key_columns] == ["car_id"]
    assert written.key_format == written.value_format
    assert len(written.value_columns) == 2
    assert written.accepts == (ALL_CHANGES if mode == "retract" else UPSERTS)
    assert not any("primary key" in notice.text for notice in written.notices)
    assert source(declare(options, keyed)).changelog == INSERT_ONLY


def test_retract_mode_without_key_takes_inserts() -> None:
    assert sink(declare({**OPTIONS, "update-mode": "retract"}, COLUMNS)).accepts == INSERT_ONLY


@pytest.mark.parametrize("mode", ["retract", "upsert"])
def test_modes_with_updates_of_a_format_with_changes(mode: str) -> None:
    keyed = f"{COLUMNS}, PRIMARY KEY (car_id) NOT ENFORCED"
    with_changes = {**OPTIONS, "update-mode": mode, "format.type": "debezium-json"}
    assert sink(declare(with_changes, keyed)).accepts == ALL_CHANGES


def test_upsert_mode_without_key() -> None:
    options = {**OPTIONS, "update-mode": "upsert", "format.type": "debezium-json"}
    assert sink_codes(declare(options, COLUMNS)) == [Code.MISSING_PRIMARY_KEY]


def test_update_mode_that_is_none() -> None:
    assert sink_codes(declare({**OPTIONS, "update-mode": "merge"}, COLUMNS)) == [Code.INVALID_OPTION_VALUE]


def test_native_properties_of_kafka() -> None:
    assert sink(declare({**OPTIONS, "connector.properties.linger.ms": "5"}, COLUMNS)).properties["linger.ms"] == "5"


def test_start_of_a_table_that_is_read() -> None:
    options = {
        **OPTIONS,
        "connector.startup-mode": "specific-offsets",
        "connector.specific-offsets": "partition:0,offset:42;partition:1,offset:300",
    }
    assert source(declare(options, COLUMNS)).start.offsets == ((0, 42), (1, 300))
    options = {**OPTIONS, "connector.startup-mode": "timestamp", "connector.startup-timestamp-millis": "7"}
    assert source(declare(options, COLUMNS)).start.timestamp == 7
