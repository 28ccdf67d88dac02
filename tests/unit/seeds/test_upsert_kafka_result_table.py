"""The upsert-kafka result table of a page in English and in Chinese: its examples and each row of its table."""

from __future__ import annotations

import pytest

from millstream.changelog import UPSERTS
from millstream.connectors.kafka.tables import KafkaSink
from millstream.errors import Code
from millstream.plan.operators.roots import Write
from millstream.plan.program import compile_script
from millstream.source import SourceText
from tests.declaring import declare, declare_sql, sink, sink_codes

DDL = """
CREATE TABLE upsert_kafka_sink (
  user_region STRING,
  pv BIGINT,
  uv BIGINT,
  PRIMARY KEY (user_region) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '<yourTopicName>',
  'properties.bootstrap.servers' = '...',
  'key.format' = 'avro',
  'value.format' = 'avro'
);
"""
EXAMPLE = """
--{source}
CREATE TABLE pageviews (
  user_id BIGINT,
  page_id BIGINT,
  viewtime TIMESTAMP,
  user_region STRING,
  WATERMARK FOR viewtime AS viewtime - INTERVAL '2' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = '<yourTopicName>',
  'properties.bootstrap.servers' = '...',
  'format' = 'json'
);


--{sink}
CREATE TABLE pageviews_per_region (
  user_region STRING,
  pv BIGINT,
  uv BIGINT,
  PRIMARY KEY (user_region) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '<yourTopicName>',
  'properties.bootstrap.servers' = '...',
  'key.format' = 'avro',
  'value.format' = 'avro'
);

--{insert}
INSERT INTO pageviews_per_region
SELECT
  user_region,
  COUNT(*),
  COUNT(DISTINCT user_id)
FROM pageviews
GROUP BY user_region;
"""
ENGLISH = EXAMPLE.format(
    source="Create a source table for storing data about PVs and UVs. ",
    sink="Create an Upsert Kafka result table. ",
    insert="Write the PV and UV data to the result table. ",
)
CHINESE = EXAMPLE.format(
    source="创建统计PV和UV的源表。", sink="创建Upsert Kafka结果表。", insert="将统计的PV、UV数据写入结果表中。"
)
COLUMNS = "user_region STRING, pv BIGINT, uv BIGINT, PRIMARY KEY (user_region) NOT ENFORCED"
OPTIONS = {
    "connector": "upsert-kafka",
    "topic": "<yourTopicName>",
    "properties.bootstrap.servers": "...",
    "key.format": "avro",
    "value.format": "avro",
}


def test_ddl() -> None:
    found = sink(declare_sql(DDL))
    assert (found.topics, found.key.names, found.accepts) == (("<yourTopicName>",), ("user_region",), UPSERTS)
    assert ["looks like a placeholder" in notice.text for notice in found.notices] == [True, True]


@pytest.mark.parametrize("script", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_example(script: str) -> None:
    [job] = compile_script(SourceText("s", script), {}, {}).jobs
    [root] = job.roots
    assert isinstance(root, Write)
    assert isinstance(root.sink, KafkaSink)
    assert root.sink.key.names == ("user_region",)


def test_primary_key_is_a_must() -> None:
    assert sink_codes(declare(OPTIONS, "user_region STRING, pv BIGINT")) == [Code.MISSING_PRIMARY_KEY]


@pytest.mark.parametrize("key", ["topic", "properties.bootstrap.servers", "key.format", "value.format"])
def test_required_parameter_is_missing(key: str) -> None:
    assert sink_codes(declare({**OPTIONS, key: None}, COLUMNS)) == [Code.MISSING_OPTION]


def test_connector_is_missing() -> None:
    assert sink_codes(declare({**OPTIONS, "connector": None}, COLUMNS)) == [Code.MISSING_CONNECTOR]


@pytest.mark.parametrize("name", ["csv", "json", "avro"])
@pytest.mark.parametrize("key", ["key.format", "value.format"])
def test_valid_formats(key: str, name: str) -> None:
    found = sink(declare({**OPTIONS, key: name}, COLUMNS))
    assert found.key_format is not None
    assert (found.key_format if key == "key.format" else found.value_format).name == name


@pytest.mark.parametrize("key", ["key.format", "value.format"])
def test_format_that_is_none(key: str) -> None:
    assert sink_codes(declare({**OPTIONS, key: "xml"}, COLUMNS)) == [Code.UNDEFINED_FORMAT]


@pytest.mark.parametrize(
    ("include", "columns"),
    [(None, ["user_region", "pv", "uv"]), ("ALL", ["user_region", "pv", "uv"]), ("EXCEPT_KEY", ["pv", "uv"])],
)
def test_fields_include(include: str | None, columns: list[str]) -> None:
    found = sink(declare({**OPTIONS, "value.fields-include": include}, COLUMNS))
    assert [column.name for column in found.value_columns] == columns


def test_fields_include_of_another_value() -> None:
    assert sink_codes(declare({**OPTIONS, "value.fields-include": "KEY"}, COLUMNS)) == [Code.INVALID_OPTION_VALUE]


def test_kafka_parameters() -> None:
    options = {
        **OPTIONS,
        "properties.allow.auto.create.topics": "false",
        "properties.bootstrap.servers": "a:9092,b:9092,c:9092",
    }
    found = sink(declare(options, COLUMNS))
    assert found.properties == {"bootstrap.servers": "a:9092,b:9092,c:9092", "allow.auto.create.topics": "false"}
