"""Which partition of which topic, or which file, rows come from, carried beside them up to the first shuffle.

Spark numbers the tasks of a batch that it does again otherwise than the first time where there are up to four
partitions, and shares files out by the number of cores: whoever must meet the same rows again goes by this instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.spark.python_stage import Rows, Step

SPLIT: Final = "__split"
_SCAN: Final = 1_000_000
"""More partitions than a topic has."""
_POSITION_BITS: Final = 46
_ROOM_BITS: Final = 6
"""A row of a file may become several: room for their order between two positions."""


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


def file_split(*, has_row_numbers: bool) -> Column:
    """Of a row of a file: which file, and where in it. In order along a file, however Spark cuts it into tasks.

    The position is the row's own where the format numbers its rows, else where its block of the file begins.
    """
    file = F.pmod(F.xxhash64("_metadata.file_path"), F.lit(1 << (63 - _POSITION_BITS)))
    position = F.col("_metadata.row_index" if has_row_numbers else "_metadata.file_block_start")
    return (F.shiftleft(file, _POSITION_BITS) + F.shiftleft(position, _ROOM_BITS)).alias(SPLIT)


def file_of(split: Column) -> Column:
    """The part of a file's split that all of its rows have in common."""
    return F.shiftright(split, _POSITION_BITS)


def is_of_files(rows: Rows) -> bool:
    return SPLIT in rows.columns and isinstance(rows.schema[SPLIT].dataType, LongType)


def split_of_insert(insert: int) -> Column:
    """Of rows behind a shuffle, in a set: their task among those of their own INSERT.

    Spark numbers the tasks of a set through, and how many come before may differ when a batch is done again.
    """
    return F.concat(F.lit(f"i{insert}-"), F.spark_partition_id()).alias(SPLIT)


def split_columns(rows: Rows) -> list[Column]:
    """The split, where the rows have it still."""
    return [F.col(SPLIT)] if SPLIT in rows.columns else []
