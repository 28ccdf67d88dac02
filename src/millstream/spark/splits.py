"""The partition of a topic, or the file, that rows come from, carried with them up to the first shuffle.

When Spark repeats a batch, it numbers its tasks differently if there are up to four partitions, and it assigns files by
the number of cores. Whatever must see the same rows again uses this instead of the task's number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.spark.python_stage import PythonStage, Rows, Step

SPLIT: Final = "__split"
_TASK: Final = "__task"
_SCAN: Final = 1_000_000
"""More partitions than any topic has."""
_POSITION_BITS: Final = 46
_ROOM_BITS: Final = 6
"""A row of a file may become several: leaves room for their order between two positions."""


@dataclass(frozen=True, slots=True)
class Splits:
    """The splits of one scan: a number if there is one topic, which is cheap to carry, otherwise a text."""

    scan: int
    """The number of the scan in its job."""
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
        """Wraps `step` so that it adds the split to its rows; its messages have columns of these names.

        Each batch has messages of one partition.
        """

        def through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                value = self._value(batch.column(partition)[0].as_py(), topic, batch)
                for rows in step(iter([batch])):
                    split = pa.repeat(
                        pa.scalar(value, pa.int32() if self.has_one_topic else pa.string()), rows.num_rows
                    )
                    yield pa.RecordBatch.from_arrays([*rows.columns, split], [*rows.schema.names, SPLIT])

        return through

    def _value(self, partition: int, topic: str, first: pa.RecordBatch) -> int | str:
        if self.has_one_topic:
            return self.scan * _SCAN + partition
        return f"{self.scan}-{first.column(topic)[0].as_py()}-{partition}"


def place_of(split: int | str) -> str:
    """The partition that a split of `Splits` stands for."""
    if isinstance(split, int):
        return str(split % _SCAN)
    topic, _, partition = split.partition("-")[2].rpartition("-")
    return f"{topic}/{partition}" if topic else ""


def file_split(*, has_row_numbers: bool) -> Column:
    """The split of a row of a file: the file and the position in it, which is ordered, however Spark splits the file.

    The position is the row's own if the format numbers its rows, otherwise the start of its block of the file.
    """
    file = F.pmod(F.xxhash64("_metadata.file_path"), F.lit(1 << (63 - _POSITION_BITS)))
    position = F.col("_metadata.row_index" if has_row_numbers else "_metadata.file_block_start")
    return (F.shiftleft(file, _POSITION_BITS) + F.shiftleft(position, _ROOM_BITS)).alias(SPLIT)


def file_of(split: Column) -> Column:
    """The part of a split that all rows of a file have in common."""
    return F.shiftright(split, _POSITION_BITS)


def is_of_files(rows: Rows) -> bool:
    return SPLIT in rows.columns and isinstance(rows.schema[SPLIT].dataType, LongType)


def split_of_insert(insert: int) -> Column:
    """For rows after a shuffle, in a statement set: their task among those of the same INSERT.

    Spark numbers the tasks of a set consecutively, and how many come first may differ when a batch is repeated.
    """
    return F.concat(F.lit(prefix_of_insert(insert)), F.spark_partition_id()).alias(SPLIT)


def prefix_of_insert(insert: int) -> str:
    return f"i{insert}-"


def number_by_task(rows: PythonStage, prefix: str) -> PythonStage:
    """Adds a split to rows after a shuffle that are in Python: as `split_of_insert` does, and with its numbers."""
    assert isinstance(rows.rows, DataFrame)
    assert rows.step is not None
    schema = StructType([*rows.row_schema.fields, StructField(SPLIT, StringType())])
    frame = rows.rows.withColumn(_TASK, F.spark_partition_id())
    return replace(rows, rows=frame, step=partial(run_beside_task, rows.step, prefix), schema=schema)


def run_beside_task(step: Step, prefix: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    tasks: set[int] = set()

    def read() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            tasks.update(batch.column(_TASK).slice(0, 1).to_pylist())
            yield batch

    for rows in step(read()):
        [task] = tasks
        yield rows.append_column(SPLIT, pa.repeat(f"{prefix}{task}", rows.num_rows))


def prefix_splits(rows: PythonStage, prefix: str) -> PythonStage:
    """Distinguishes the splits of one input of a union from those of the others."""
    fields = (StructField(SPLIT, StringType()) if field.name == SPLIT else field for field in rows.row_schema.fields)
    return rows.pipe(partial(_prefix, prefix), StructType(list(fields)))


def _prefix(prefix: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        names = batch.schema.names
        splits = pc.binary_join_element_wise(prefix, batch.column(SPLIT).cast(pa.string()), "")
        yield batch.set_column(names.index(SPLIT), SPLIT, splits)


def split_columns(rows: Rows) -> list[Column]:
    """The split, if the rows still have it."""
    return [F.col(SPLIT)] if SPLIT in rows.columns else []
