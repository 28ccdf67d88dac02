"""Spark writes and reads binary Avro: for each type Flink's bytes, and the original values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

from millstream.formats.arrow_types import arrow_schema, arrow_type
from millstream.formats.avro_format import AvroFormat
from millstream.spark.avro_halves import avro_struct
from millstream.spark.job_errors import TableHalf
from millstream.spark.kafka_sink import encode_messages
from millstream.spark.types import spark_schema
from tests.declaring import KAFKA, declare, sink
from tests.unit.formats.conformance.reading import parse_columns, plain
from tests.unit.formats.conformance.written_values import ALL, NEWER_AVRO, Written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VALUE: Final = TableHalf("orders", "value", "avro")


@pytest.mark.parametrize(
    ("cases", "legacy"),
    [([case for case in ALL if case.avro], True), (list(NEWER_AVRO), False)],
    ids=["legacy mapping", "newer mapping"],
)
def test_each_type(spark: SparkSession, cases: list[Written], legacy: bool) -> None:  # noqa: FBT001
    declared = ", ".join(f"c{at} {case.type}" for at, case in enumerate(cases))
    columns = parse_columns(declared)
    values = [pa.array([case.value], type_) for case, type_ in zip(cases, arrow_schema(columns).types, strict=True)]
    rows = spark.createDataFrame(pa.Table.from_arrays(values, schema=arrow_schema(columns)), spark_schema(columns))
    options = {**KAFKA, "format": "avro", "avro.timestamp_mapping.legacy": str(legacy).lower()}
    encoded = encode_messages(rows, sink(declare(options, declared))).to_frame()
    messages = encoded.selectExpr("value", "'t' AS topic", "0 AS partition", "0L AS offset").cache()
    [message] = messages.collect()
    assert bytes(message.value).hex() == "".join(case.avro or "" for case in cases)

    read = messages.select(avro_struct(_VALUE, AvroFormat(legacy), columns).alias("row")).select("row.*").toArrow()
    for at, (case, (name, type_)) in enumerate(zip(cases, columns, strict=True)):
        found = read.column(at).cast(arrow_type(type_)).to_pylist()[0]
        assert plain(found, type_) == plain(dict(case.read).get("avro", case.value), type_), (name, str(case))


def test_bytes_that_are_no_record_fail(spark: SparkSession) -> None:
    columns = parse_columns("a INT, b STRING")
    messages = spark.sql("SELECT X'02' AS value, 't' AS topic, 0 AS partition, 0L AS offset")
    with pytest.raises(Exception, match=r"Failed to deserialize Avro record\."):
        messages.select(avro_struct(_VALUE, AvroFormat(), columns).alias("row")).select(F.col("row.a")).collect()
