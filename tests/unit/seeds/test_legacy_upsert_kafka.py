"""The upsert-kafka result table in the older dialect: its example and each row of its table of parameters."""

from __future__ import annotations

import pytest

from millstream.changelog import ALL_CHANGES, INSERT_ONLY, UPSERTS, ChangelogMode
from millstream.connectors.kafka.custom_partitioner import partitioner_problems
from millstream.connectors.kafka.option_values import Partitioner, Partitioning, UpdateMode
from millstream.errors import Code
from tests.declaring import declare, declare_sql, problems, sink, sink_codes, source

EXAMPLE = """
   create table upsertKafkaSink(
     car_id STRING,
     car_owner STRING,
     car_brand STRING,
     car_speed INT,
     primary key (car_id) not enforced
   )
   with (
     'connector.type' = 'upsert-kafka',
     'connector.version' = '0.11',
     'connector.topic' = 'test-topic',
     'connector.properties.bootstrap.servers' = 'xx.xx.xx.xx:9092',
     'format.type' = 'csv'
   );
"""
COLUMNS = "car_id STRING, car_speed INT, PRIMARY KEY (car_id) NOT ENFORCED"
OPTIONS = {
    "connector.type": "upsert-kafka",
    "connector.topic": "test-topic",
    "connector.properties.bootstrap.servers": "xx.xx.xx.xx:9092",
    "format.type": "csv",
}


def test_example() -> None:
    found = sink(declare_sql(EXAMPLE))
    assert found.key_format is not None
    assert (found.connector, found.topics, found.accepts) == ("upsert-kafka", ("test-topic",), UPSERTS)
    assert (found.key_format.name, found.value_format.name) == ("csv", "csv")
    assert (found.key.names, len(found.value_columns)) == (("car_id",), 4)
    assert found.properties == {"bootstrap.servers": "xx.xx.xx.xx:9092"}
    assert [notice.text.split("'")[1] for notice in found.notices] == ["connector.version"]


def test_example_as_a_source() -> None:
    assert source(declare_sql(EXAMPLE)).topics == ("test-topic",)


def test_primary_key_is_a_must() -> None:
    assert sink_codes(declare(OPTIONS, "car_id STRING")) == [Code.MISSING_PRIMARY_KEY]


@pytest.mark.parametrize("key", ["connector.topic", "connector.properties.bootstrap.servers", "format.type"])
def test_mandatory_parameter_is_missing(key: str) -> None:
    [problem] = problems(sink, declare({**OPTIONS, key: None}, COLUMNS))
    assert problem.code is Code.MISSING_OPTION
    assert f"'{key}'" in problem.primary


def test_connector_type_is_missing() -> None:
    [problem] = problems(sink, declare({**OPTIONS, "connector.type": None}, COLUMNS))
    assert problem.code is Code.MISSING_CONNECTOR
    assert "'connector.type'" in problem.primary


def test_connector_type_that_is_none() -> None:
    assert sink_codes(declare({**OPTIONS, "connector.type": "kafak"}, COLUMNS)) == [Code.UNDEFINED_CONNECTOR]


@pytest.mark.parametrize("version", ["0.10", "0.11", "universal"])
def test_version_has_no_effect_and_that_is_told(version: str) -> None:
    found = sink(declare({**OPTIONS, "connector.version": version}, COLUMNS))
    assert len([notice for notice in found.notices if "'connector.version'" in notice.text]) == 1


@pytest.mark.parametrize("version", ["2.4.0", ""])
def test_version_that_never_was(version: str) -> None:
    assert sink_codes(declare({**OPTIONS, "connector.version": version}, COLUMNS)) == [Code.INVALID_OPTION_VALUE]


@pytest.mark.parametrize("name", ["csv", "json", "avro"])
def test_format(name: str) -> None:
    found = sink(declare({**OPTIONS, "format.type": name}, COLUMNS))
    assert found.key_format is not None
    assert (found.key_format.name, found.value_format.name) == (name, name)


def test_format_that_is_none() -> None:
    assert sink_codes(declare({**OPTIONS, "format.type": "xml"}, COLUMNS)) == [Code.UNDEFINED_FORMAT]


@pytest.mark.parametrize(
    ("chosen", "partitioner"),
    [
        ({"connector.sink-partitioner": "fixed"}, Partitioner(Partitioning.FIXED)),
        ({"connector.sink-partitioner": "round-robin"}, Partitioner(Partitioning.ROUND_ROBIN)),
        (
            {
                "connector.sink-partitioner": "custom",
                "connector.sink-partitioner-class": "org.mycompany.MyPartitioner",
            },
            Partitioner(Partitioning.CUSTOM, "org.mycompany.MyPartitioner"),
        ),
    ],
)
def test_partitioner(chosen: dict[str, str], partitioner: Partitioner) -> None:
    assert sink(declare({**OPTIONS, **chosen}, COLUMNS)).partitioner == partitioner


def test_java_partitioner_is_refused_when_it_runs() -> None:
    chosen = {"connector.sink-partitioner": "custom", "connector.sink-partitioner-class": "org.mycompany.MyPartitioner"}
    found = sink(declare({**OPTIONS, **chosen}, COLUMNS))
    [problem] = partitioner_problems(found)
    assert problem.code is Code.INVALID_OPTION_VALUE
    assert problem.span is not None
    assert problem.span.text == "'org.mycompany.MyPartitioner'"


@pytest.mark.parametrize("value", ["random", "org.mycompany.MyPartitioner"])
def test_partitioner_that_is_none(value: str) -> None:
    table = declare({**OPTIONS, "connector.sink-partitioner": value}, COLUMNS)
    assert sink_codes(table) == [Code.INVALID_OPTION_VALUE]


def test_custom_partitioner_without_class() -> None:
    table = declare({**OPTIONS, "connector.sink-partitioner": "custom"}, COLUMNS)
    assert sink_codes(table) == [Code.MISSING_OPTION]


def test_partitioner_class_without_custom_is_told() -> None:
    found = sink(declare({**OPTIONS, "connector.sink-partitioner-class": "a.B"}, COLUMNS))
    assert ["'connector.sink-partitioner-class'" in notice.text for notice in found.notices] == [True]


@pytest.mark.parametrize(("value", "ignores"), [(None, False), ("false", False), ("true", True)])
def test_ignore_retraction(value: str | None, ignores: bool) -> None:  # noqa: FBT001
    found = sink(declare({**OPTIONS, "connector.sink.ignore-retraction": value}, COLUMNS))
    assert found.ignore_retraction is ignores


def test_ignore_retraction_of_another_value() -> None:
    table = declare({**OPTIONS, "connector.sink.ignore-retraction": "maybe"}, COLUMNS)
    assert sink_codes(table) == [Code.INVALID_OPTION_VALUE]


@pytest.mark.parametrize(("mode", "accepts"), [("append", INSERT_ONLY), ("retract", ALL_CHANGES), ("upsert", UPSERTS)])
def test_update_mode(mode: str, accepts: ChangelogMode) -> None:
    found = sink(declare({**OPTIONS, "update-mode": mode}, COLUMNS))
    assert (found.update_mode, found.accepts) == (UpdateMode(mode), accepts)


def test_update_mode_that_is_none() -> None:
    assert sink_codes(declare({**OPTIONS, "update-mode": "merge"}, COLUMNS)) == [Code.INVALID_OPTION_VALUE]


def test_native_properties_of_kafka() -> None:
    found = sink(declare({**OPTIONS, "connector.properties.acks": "all"}, COLUMNS))
    assert found.properties["acks"] == "all"
