"""Protocol Buffers messages, written by one job and read by another."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from millstream.source import SourceText
from millstream.testing.script_file import parse_script_file
from millstream.testing.script_runner import ScriptContext, run_script_file
from tests.unit.formats.test_protobuf import shop

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SCRIPT: Final = """# rows go through messages of Protocol Buffers, as keys and as values
$ topic name=given
$ topic name=orders
$ topic name=copies

> CREATE TABLE given (id INT, name STRING, xs ARRAY<BIGINT>, item ROW<sku STRING>, counts MAP<STRING, INT>) WITH (
    'connector' = 'kafka', 'topic' = '${given}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json'
  );
> CREATE TABLE orders WITH (
    'connector' = 'kafka', 'topic' = '${orders}', 'properties.bootstrap.servers' = '${brokers}',
    'key.format' = 'protobuf', 'key.fields' = 'id', 'value.format' = 'protobuf',
    'key.protobuf.message-class-name' = 'shop.Order', 'key.protobuf.descriptor-file' = 'DESCRIPTORS',
    'value.protobuf.message-class-name' = 'com.example.ShopOrders$Order',
    'value.protobuf.descriptor-file' = 'DESCRIPTORS'
  ) LIKE given (EXCLUDING OPTIONS);
> CREATE TABLE copies WITH ('topic' = '${copies}') LIKE given;
$ produce topic=given
{"id":1,"name":"a","xs":[1,2],"item":{"sku":"x"},"counts":{"k":7}}
{"id":2}
> INSERT INTO orders SELECT * FROM given;
  INSERT INTO copies SELECT * FROM orders;
$ await caught-up
$ consume topic=orders
hex:0801 => hex:08011201615a02010272030a01787a050a016b1007
hex:0802 => hex:0802
$ consume topic=copies
{"id":1,"name":"a","xs":[1,2],"item":{"sku":"x"},"counts":{"k":7}}
{"id":2,"name":"","xs":null,"item":null,"counts":null}
"""


def test_messages_by_a_file_of_descriptors(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    text = SCRIPT.replace("DESCRIPTORS", shop(tmp_path / "shop.pb", "proto3"))
    around = ScriptContext(broker, spark, tmp_path / "job", seed=uuid.uuid4().hex[:8])
    run_script_file(parse_script_file(SourceText("protobuf.test", text)), around)
