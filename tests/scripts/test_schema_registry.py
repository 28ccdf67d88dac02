"""Tables with schemas in a registry, written and read by jobs."""

from __future__ import annotations

import io
import json
import struct
import uuid
from typing import TYPE_CHECKING, Any, Final

import fastavro

from millstream.source import SourceText
from millstream.testing.schema_registry import EmbeddedSchemaRegistry
from millstream.testing.script_file import parse_script_file
from millstream.testing.script_runner import ScriptContext, run_script_file

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


OTHER_WRITERS: Final = """# messages of other writers are read by their schemas, which change from message to message
$ topic name=orders
$ topic name=changes
$ topic name=copies
$ topic name=retold

> CREATE TABLE orders (id BIGINT NOT NULL, name STRING, `at` TIMESTAMP(3), price DOUBLE, tags MAP<STRING, INT>) WITH (
    'connector' = 'kafka', 'topic' = '${orders}', 'properties.bootstrap.servers' = '${brokers}',
    'format' = 'avro-confluent', 'avro-confluent.url' = 'REGISTRY'
  );
> CREATE TABLE copies WITH (
    'connector' = 'kafka', 'topic' = '${copies}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json'
  ) LIKE orders (EXCLUDING OPTIONS);
> CREATE TABLE changes (id INT, name STRING) WITH (
    'connector' = 'kafka', 'topic' = '${changes}', 'properties.bootstrap.servers' = '${brokers}',
    'format' = 'debezium-avro-confluent', 'debezium-avro-confluent.url' = 'REGISTRY'
  );
> CREATE TABLE retold (id INT, name STRING) WITH (
    'connector' = 'kafka', 'topic' = '${retold}', 'properties.bootstrap.servers' = '${brokers}',
    'format' = 'canal-json'
  );
$ produce topic=orders
ORDERS
$ produce topic=changes
CHANGES
> INSERT INTO copies SELECT * FROM orders;
  INSERT INTO retold SELECT id, name FROM changes;
$ await caught-up
$ consume topic=copies
{"id":1,"name":"a","at":"1970-01-01 00:00:01.5","price":null,"tags":null}
{"id":4294967296,"name":null,"at":null,"price":2.5,"tags":{"k":7}}
{"id":3,"name":"c","at":null,"price":4.0,"tags":{}}
$ consume topic=retold
{"data":[{"id":1,"name":"a"}],"type":"INSERT"}
{"data":[{"id":1,"name":"a"}],"type":"DELETE"}
{"data":[{"id":1,"name":"b"}],"type":"INSERT"}
{"data":[{"id":1,"name":"b"}],"type":"DELETE"}
"""
FIRST: Final = {"type": "record", "name": "shop.Order", "fields": [
    {"name": "name", "type": "string"}, {"name": "unread", "type": {"type": "array", "items": "long"}},
    {"name": "id", "type": "int"}, {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
]}  # fmt: skip
SECOND: Final = {"type": "record", "name": "shop.Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "price", "type": ["null", "float"]},
    {"name": "tags", "type": {"type": "map", "values": "int"}},
]}  # fmt: skip
THIRD: Final = {"type": "record", "name": "shop.Order", "fields": [
    {"name": "id", "type": "int"}, {"name": "name", "type": ["string", "null"]}, {"name": "price", "type": "int"},
    {"name": "tags", "type": {"type": "map", "values": "int"}},
]}  # fmt: skip
VALUE: Final = {"type": "record", "name": "Value", "fields": [
    {"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"]},
]}  # fmt: skip
ENVELOPE: Final = {"type": "record", "name": "Envelope", "fields": [
    {"name": "before", "type": ["null", VALUE]}, {"name": "after", "type": ["null", "Value"]},
    {"name": "source", "type": {"type": "record", "name": "Source", "fields": [{"name": "db", "type": "string"}]}},
    {"name": "op", "type": "string"}, {"name": "ts_ms", "type": ["null", "long"]},
]}  # fmt: skip


def message(registry: EmbeddedSchemaRegistry, subject: str, schema: Any, datum: Any) -> str:
    """As another program writes it, which registers and encodes by itself."""
    _, answer = registry.answer("POST", f"/subjects/{subject}/versions", {"schema": json.dumps(schema)})
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), datum)
    return f"hex:{struct.pack('>bI', 0, answer['id']).hex()}{out.getvalue().hex()}"


def test_messages_of_other_writers(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    row, later = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    with EmbeddedSchemaRegistry() as registry:
        orders = [
            message(registry, "o", FIRST, {"name": "a", "unread": [1, 2], "id": 1, "at": 1500}),
            message(registry, "o", SECOND, {"id": 2**32, "price": 2.5, "tags": {"k": 7}}),
            message(registry, "o", THIRD, {"id": 3, "name": "c", "price": 4, "tags": {}}),
        ]
        changes = [
            message(registry, "c", ENVELOPE, {"before": b, "after": a, "source": {"db": "d"}, "op": op, "ts_ms": 1})
            for b, a, op in ((None, row, "r"), (row, later, "u"), (later, None, "d"))
        ]
        text = OTHER_WRITERS.replace("REGISTRY", registry.url)
        text = text.replace("ORDERS", "\n".join(orders)).replace("CHANGES", "\n".join(changes))
        around = ScriptContext(broker, spark, tmp_path, seed=uuid.uuid4().hex[:8])
        run_script_file(parse_script_file(SourceText("other_writers.test", text)), around)


def test_schemas_are_kept_by_a_registry(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    with EmbeddedSchemaRegistry() as registry:
        text = SCRIPT.replace("REGISTRY", registry.url)
        around = ScriptContext(broker, spark, tmp_path, seed=uuid.uuid4().hex[:8])
        run_script_file(parse_script_file(SourceText("schema_registry.test", text)), around)
        (of_topic,) = (subject for subject in registry.subjects if subject != "names")
        assert of_topic.endswith("-value")
        (number,) = registry.subjects["names"]
        fields = json.loads(registry.schemas[number - 1])["fields"]
        assert [field["name"] for field in fields] == ["id", "name"]
