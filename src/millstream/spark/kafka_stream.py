"""A stream of Spark's whose messages are read in the step that uses them; see `kafka_stream_reader.py`.

Spark keeps the offsets of each batch in the checkpoint, in the form of its own Kafka source.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from millstream.connectors.kafka.read_range import Tally
    from millstream.reading.read_request import ReadRequest
    from millstream.spark.kafka_stream_reader import KafkaStreamReader

    Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class MessageStream:
    """Messages that nobody has read yet."""

    spark: SparkSession
    request: ReadRequest
    counter: Tally | None = None
    """Counts the messages that are read."""

    def run(self, step: Step, schema: StructType) -> DataFrame:
        """What a step makes of the messages, in the workers that read them."""
        # Pickled here, so that only workers load what a step needs.
        source = _make_source(self.request, cloudpickle.dumps((step, self.counter)), schema)
        self.spark.dataSource.register(source)
        return self.spark.readStream.format(source.name()).load()


def _make_source(request: ReadRequest, step: bytes, result: StructType) -> type[DataSource]:
    """A class, because that is what Spark registers; it has no other way to pass something to the workers."""
    unique_name = f"kafka-{uuid.uuid4().hex}"

    class KafkaStream(DataSource):
        @classmethod
        def name(cls) -> str:
            return unique_name

        def schema(self) -> StructType:
            return result

        def streamReader(self, schema: StructType) -> KafkaStreamReader:  # noqa: N802
            from pyspark.sql.pandas.types import to_arrow_schema

            from millstream.spark.kafka_stream_reader import KafkaStreamReader

            return KafkaStreamReader(request, step, to_arrow_schema(schema, timezone="UTC"))

    return KafkaStream
