"""Looks rows up in a table whose current rows each worker has in memory."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from millstream.changelog import KIND
from millstream.connectors.kafka.read_range import ReadRange
from millstream.connectors.kafka.tables import KafkaSource
from millstream.connectors.local.tables import FilesystemSource
from millstream.durable_files import make_folder
from millstream.plan.operators.project import Project
from millstream.plan.operators.scan import Scan
from millstream.plan.typed import columns_in
from millstream.plan.vectorised.evaluators import to_mask
from millstream.plan.vectorised.forms import vectorise
from millstream.spark.comparable import kernel_schema
from millstream.spark.files import read_files_now
from millstream.spark.kafka_source import read_rows
from millstream.spark.kafka_stream import MessageStream
from millstream.spark.lookup_content import FileContent, TopicContent
from millstream.spark.lookup_upkeep import FileReading, LookedUpTable
from millstream.spark.python_rows import project_in_python
from millstream.spark.python_stage import PythonStage, to_struct
from millstream.spark.splits import SPLIT
from millstream.spark.types import spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from millstream.connectors.lookup_options import LookupSettings
    from millstream.kernels.lookup import CurrentRows
    from millstream.plan.operators.lookup import Lookup
    from millstream.plan.operators.node import Node
    from millstream.plan.typed import Typed
    from millstream.plan.vectorised.evaluators import Evaluator
    from millstream.spark.lookup_content import LookupContent

_FOLDER: Final = "lookups"
_NO_ROW: Final = -1
_ROWS_TOGETHER: Final = 1 << 16
_ALL: Final = 1 << 30
"""Messages: a table is read whole."""


def look_up(rows: PythonStage, node: Lookup, content: LookupContent) -> PythonStage:
    schema = rows.row_schema
    beside = [schema[name] for name in (KIND, SPLIT) if name in schema.names]
    declared = to_struct(spark_schema((column.name, column.type) for column in node.output))
    fields = [schema[field.name] if field.name in schema.names else field for field in declared.fields]
    struct = StructType([*fields, *beside])
    condition = None if node.condition is None else Condition.of(node.condition)
    step = LookupStep(content, node.input_keys, node.table_keys, kernel_schema(struct), condition, node.is_outer)
    return rows.pipe(step, struct)


def content_of(node: Lookup, spark: SparkSession, folder: Path) -> LookedUpTable:
    """`folder` is the job's own. What an earlier start of the job has left there goes."""
    stage = _read(node.table, node, spark, folder)
    schema = kernel_schema(StructType([field for field in stage.row_schema.fields if field.name != KIND]))
    for left in (folder / _FOLDER).glob(f"{node.id}-*"):
        left.unlink(missing_ok=True)
    make_folder(folder / _FOLDER)
    file = folder / _FOLDER / f"{node.id}-{uuid.uuid4().hex}.rows"
    if isinstance(stage.rows, MessageStream):
        assert stage.step is not None
        request = replace(stage.rows.request, may_lose=True)  # compaction removes messages as they are replaced
        file.touch()
        return LookedUpTable(TopicContent(file, request, stage.step, schema, node.table.upsert_key or ()))
    rows, content = stage.rows, FileContent(file, stage.step, schema)
    assert isinstance(rows, DataFrame)
    content.write(rows.toArrow())

    def read_again() -> None:
        again = _read(node.table, node, spark, folder).rows
        assert isinstance(again, DataFrame)
        content.write(again.toArrow())

    return LookedUpTable(content, FileReading(_settings_of(node.table), read_again, content.fail))


def _settings_of(table: Node) -> LookupSettings:
    while table.inputs:
        [table] = table.inputs
    assert isinstance(table, Scan)
    assert isinstance(table.source, FilesystemSource)
    return table.source.lookup


def _read(table: Node, node: Lookup, spark: SparkSession, folder: Path) -> PythonStage:
    match table:
        case Scan(source=KafkaSource() as source):
            scan = table.with_id(f"{node.id}-table")
            rows = read_rows(spark, scan, source, ReadRange("earliest"), _ALL, folder=folder)
            assert isinstance(rows, PythonStage)
            return rows
        case Scan(source=FilesystemSource() as source):
            files = read_files_now(spark, source, [column.name for column in table.columns])
            return PythonStage(files, files.schema)
        case Project():
            [below] = table.inputs
            return project_in_python(_read(below, node, spark, folder), table)
        case _:
            raise AssertionError(f"nothing can be looked up in {type(table).__name__}")


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be true of a pair of rows besides that their keys are equal."""

    evaluator: Evaluator
    columns: tuple[str, ...]

    @classmethod
    def of(cls, condition: Typed) -> Condition:
        return cls(vectorise(condition), tuple(sorted(columns_in(condition))))


@dataclass(frozen=True, slots=True)
class LookupStep:
    content: LookupContent
    row_keys: tuple[str, ...]
    table_keys: tuple[str, ...]
    schema: pa.Schema
    """Of the result: columns of either side, and what rows have beside them."""
    condition: Condition | None
    is_outer: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = self.content.rows_now()  # before the first batch: a worker has one consumer for all that it reads
        return (rows for batch in batches for rows in self._look_up(batch, table))

    def _look_up(self, batch: pa.RecordBatch, table: CurrentRows) -> Iterator[pa.RecordBatch]:
        pairs = Pairs(batch, table.rows, *table.match(batch, self.row_keys, self.table_keys))
        if self.condition is not None:
            pairs = pairs.filter(self.condition)
        if self.is_outer:
            pairs = pairs.pad()
        for start in range(0, max(len(pairs.left), 1), _ROWS_TOGETHER):  # also one without rows: readers take turns
            yield pairs.slice(start, start + _ROWS_TOGETHER).to_rows(self.schema)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of a stream with rows of a table, by their places; -1 stands for no row of the table."""

    rows: pa.RecordBatch
    table: pa.Table
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    def filter(self, condition: Condition) -> Pairs:
        if not len(self.left):
            return self
        both = pa.RecordBatch.from_arrays([self._column(name) for name in condition.columns], condition.columns)
        passes = to_mask(condition.evaluator.evaluate(both), len(self.left))
        return replace(self, left=self.left[passes], right=self.right[passes])

    def pad(self) -> Pairs:
        """With the rows that have no match, at their places."""
        alone = np.setdiff1d(np.arange(self.rows.num_rows), self.left, assume_unique=False)
        left = np.concatenate([self.left, alone])
        order = np.argsort(left, kind="stable")
        right = np.concatenate([self.right, np.full(len(alone), _NO_ROW)])
        return replace(self, left=left[order], right=right[order])

    def slice(self, start: int, end: int) -> Pairs:
        return replace(self, left=self.left[start:end], right=self.right[start:end])

    def to_rows(self, schema: pa.Schema) -> pa.RecordBatch:
        if not schema.names:  # only the number of rows is asked for
            return self.rows.take(pa.array(self.left)).select([])
        columns = [self._column(field.name).cast(field.type) for field in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, name: str) -> pa.Array:
        if name in self.rows.schema.names:
            return self.rows.column(name).take(pa.array(self.left))
        taken = self.table.column(name).take(pa.array(self.right, mask=self.right == _NO_ROW))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken
