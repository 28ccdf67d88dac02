"""Reads the topic that a system has written."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

import fastavro
import polars as pl
import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition
from pyarrow import json as arrow_json

from benchmarks.comparison.verification import AT, DELETED, KEY, ORDER, OUTPUT_COLUMNS
from benchmarks.harness.datasets import PARTITIONS
from millstream.connectors.kafka.client_settings import client_settings

if TYPE_CHECKING:
    from benchmarks.comparison.workload import Sink

_MESSAGES: Final = 50_000
_LOOK_SECONDS: Final = 0.2
_ANSWER_SECONDS: Final = 60
_TYPES: Final = {
    "TIMESTAMP(3)": (pa.timestamp("ms"), pl.Datetime("ms")),
    "BIGINT": (pa.int64(), pl.Int64()),
    "INT": (pa.int64(), pl.Int64()),
    "STRING": (pa.string(), pl.String()),
    "DATE": (pa.string(), pl.String()),
    "DECIMAL": (pa.float64(), pl.Float64()),
}
"""Decimals here have few enough digits to be told apart as doubles."""
_AVRO_TYPES: Final = {"TIMESTAMP(3)": "long", "BIGINT": "long", "STRING": "string"}


class OutputTopic:
    """Read to its end including uncommitted messages: a system may be checked before it commits."""

    def __init__(self, brokers: str, topic: str, sink: Sink) -> None:
        self._sink = sink
        settings = {
            "group.id": "output",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "fetch.min.bytes": 1 << 16,
            "queued.max.messages.kbytes": 1 << 18,
        }
        self._consumer = Consumer({**client_settings({"bootstrap.servers": brokers}), **settings})
        self._partitions = [TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)]
        self._consumer.assign(self._partitions)
        self._parts: list[pl.DataFrame] = []

    def count_messages(self) -> int:
        return sum(self._ends())

    def read(self) -> pl.DataFrame:
        """Everything up to now; what was read before is not read again."""
        ends = self._ends()
        while not self._is_at(ends):
            if messages := self._consumer.consume(_MESSAGES, _LOOK_SECONDS):
                self._parts.append(parse_messages(messages, self._sink))
        return pl.concat(self._parts) if self._parts else pl.DataFrame(schema=_schema(self._sink))

    def close(self) -> None:
        self._consumer.close()

    def _ends(self) -> list[int]:
        """The offset after the last message of each partition."""
        found = [self._consumer.get_watermark_offsets(part, _ANSWER_SECONDS) for part in self._partitions]
        return [end for _, end in found]

    def _is_at(self, ends: list[int]) -> bool:
        reached = [at.offset for at in self._consumer.position(self._partitions)]
        return all(at >= end for at, end in zip(reached, ends, strict=True) if end)


def parse_messages(messages: list[Any], sink: Sink) -> pl.DataFrame:
    """One row per message, in the columns of the sink and those of `OUTPUT_COLUMNS`.

    Pathway writes each change as a row with its time and a difference of 1 or -1; others delete with a null value.
    """
    messages = [message for message in messages if message.error() is None]
    values = [message.value() for message in messages]
    rows = pl.DataFrame(
        {
            KEY: pl.Series([message.key() for message in messages], dtype=pl.Binary).hash(seed=7),
            AT: [message.timestamp()[1] for message in messages],
            ORDER: [message.offset() for message in messages],
            DELETED: [value is None for value in values],
        },
        schema=OUTPUT_COLUMNS,
    )
    present = rows.filter(~pl.col(DELETED)).hstack(_decode([value for value in values if value is not None], sink))
    if "diff" in present.columns:
        order = 2 * pl.col("time") + (pl.col("diff") > 0).cast(pl.Int64)
        present = present.with_columns(order.alias(ORDER), (pl.col("diff") < 0).alias(DELETED))
    return pl.concat([present, rows.filter(DELETED)], how="diagonal").select(*_schema(sink))


def _decode(values: list[bytes], sink: Sink) -> pl.DataFrame:
    if sink.format == "avro":
        return _decode_avro(values, sink)
    if not values:
        return pl.DataFrame(schema={name: type_ for name, type_ in _schema(sink).items() if name in sink.names})
    schema = pa.schema([(name, _types_of(type_)[0]) for name, type_ in sink.columns])
    options = arrow_json.ParseOptions(explicit_schema=schema)
    reading = arrow_json.ReadOptions(block_size=1 << 26)
    parsed = arrow_json.read_json(io.BytesIO(b"\n".join(values)), reading, options)
    return pl.DataFrame(parsed)


def _decode_avro(values: list[bytes], sink: Sink) -> pl.DataFrame:
    fields = [{"name": name, "type": ["null", _AVRO_TYPES[type_]]} for name, type_ in sink.columns]
    schema = fastavro.parse_schema({"type": "record", "name": "results", "fields": fields})
    records: list[Any] = [fastavro.schemaless_reader(io.BytesIO(value), schema, None) for value in values]
    frame = pl.DataFrame(records, schema=list(sink.names))
    return frame.cast({name: type_ for name, type_ in _schema(sink).items() if name in sink.names})


def _schema(sink: Sink) -> dict[str, Any]:
    return {**{name: _types_of(type_)[1] for name, type_ in sink.columns}, **OUTPUT_COLUMNS}


def _types_of(type_: str) -> tuple[pa.DataType, pl.DataType]:
    return _TYPES["DECIMAL" if type_.startswith("DECIMAL") else type_]
