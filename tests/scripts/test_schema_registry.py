"""Tables whose schemas a registry keeps, written and read by jobs."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Final

from millstream.source import SourceText
from millstream.testing.schema_registry import EmbeddedSchemaRegistry
from millstream.testing.script_file import parse_script_file
from millstream.testing.script_runner import Surroundings, run_script_file

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SCRIPT: Final = """# rows and changes pass through topics whose schemas a registry keeps
$ topic name=captured
$ topic name=changes
$ topic name=rows
$ topic name=named
$ topic name=retold

> CREATE TABLE captured (id INT, name STRING) WITH (
    'connector' = 'kafka', 'topic' = '${captured}', 'properties.bootstrap.servers' = '${brokers}',
    'format' = 'debezium-json'
  );
> CREATE TABLE changes (id INT, name STRING) WITH (
    'connector' = 'kafka', 'topic' = '${changes}', 'properties.bootstrap.servers' = '${brokers}',
    'format' = 'debezium-avro-confluent', 'debezium-avro-confluent.url' = 'REGISTRY'
  );
> CREATE TABLE retold (id INT, name STRING) WITH (
    'connector' = 'kafka', 'topic' = '${retold}', 'properties.bootstrap.servers' = '${brokers}',
    'format' = 'maxwell-json'
  );
> CREATE TABLE rows_in (id INT, name STRING) WITH (
    'connector' = 'kafka', 'topic' = '${rows}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'csv'
  );
> CREATE TABLE named (id BIGINT, name STRING) WITH (
    'connector' = 'kafka', 'topic' = '${named}', 'properties.bootstrap.servers' = '${brokers}',
    'format' = 'avro-confluent', 'avro-confluent.url' = 'REGISTRY', 'avro-confluent.subject' = 'names'
  );

$ produce topic=captured
{"after":{"id":1,"name":"a"},"op":"c"}
{"before":{"id":1,"name":"a"},"after":{"id":1,"name":"b"},"op":"u"}
$ produce topic=rows
1,a
> INSERT INTO changes SELECT id, name FROM captured;
  INSERT INTO retold SELECT id, name FROM changes;
  INSERT INTO named SELECT id, name FROM rows_in;
$ await caught-up
$ consume topic=retold
{"data":{"id":1,"name":"a"},"type":"insert"}
{"data":{"id":1,"name":"a"},"type":"delete"}
{"data":{"id":1,"name":"b"},"type":"insert"}
"""


def test_schemas_are_kept_by_a_registry(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    with EmbeddedSchemaRegistry() as registry:
        text = SCRIPT.replace("REGISTRY", registry.url)
        around = Surroundings(broker, spark, tmp_path, seed=uuid.uuid4().hex[:8])
        run_script_file(parse_script_file(SourceText("schema_registry.test", text)), around)
        (of_topic,) = (subject for subject in registry.subjects if subject != "names")
        assert of_topic.endswith("-value")
        (number,) = registry.subjects["names"]
        fields = json.loads(registry.schemas[number - 1])["fields"]
        assert [field["name"] for field in fields] == ["id", "name"]
