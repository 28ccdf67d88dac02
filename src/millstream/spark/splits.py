"""Which partition of which topic the rows of a task come from, carried beside them up to the first shuffle.

Spark numbers the tasks of a batch that it does again otherwise than the first time where there are up to four
partitions: whoever must meet the same rows again goes by this instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from millstream.connectors.kafka_tables import KafkaSource
    from millstream.spark.crossing import Rows, Step

SPLIT: Final = "__split"
_SCAN: Final = 1_000_000
"""More partitions than a topic has."""


@dataclass(frozen=True, slots=True)
class Splits:
    """Of one scan: a number where there is one topic, which is cheap to carry, else a text."""

    scan: int
    """Counts the scans of a job."""
    has_one_topic: bool

    @classmethod
    def of(cls, scan: int, source: KafkaSource) -> Splits:
        return cls(scan, has_one_topic=len(source.topics) == 1)

    @property
    def column_type(self) -> str:
        return "INT" if self.has_one_topic else "STRING"

    def column(self) -> Column:
        """Over the columns of Spark's Kafka source."""
        if self.has_one_topic:
            return (F.col("partition") + F.lit(self.scan * _SCAN)).alias(SPLIT)
        return F.concat(F.lit(f"{self.scan}-"), F.col("topic"), F.lit("-"), F.col("partition")).alias(SPLIT)

    def beside(self, step: Step, partition: str, topic: str) -> Step:
        """`step`, and the split beside its rows; it reads messages that have columns of these names."""

        def through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for first in batches:
                value = self._value(first.column(partition)[0].as_py(), topic, first)
                for rows in step(chain([first], batches)):
                    split = pa.repeat(
                        pa.scalar(value, pa.int32() if self.has_one_topic else pa.string()), rows.num_rows
                    )
                    yield pa.RecordBatch.from_arrays([*rows.columns, split], [*rows.schema.names, SPLIT])

        return through

    def _value(self, partition: int, topic: str, first: pa.RecordBatch) -> int | str:
        if self.has_one_topic:
            return self.scan * _SCAN + partition
        return f"{self.scan}-{first.column(topic)[0].as_py()}-{partition}"


def carried(rows: Rows) -> list[Column]:
    """The split, where the rows have it still."""
    return [F.col(SPLIT)] if SPLIT in rows.columns else []
