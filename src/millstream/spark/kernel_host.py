"""The host of all kernels: combines rows, shuffles packets by bucket, steps the kernel on Spark's state, and unpacks.

Each input of an operator is combined and packed separately; the packets of all inputs go through one exchange.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from millstream.failpoints import reach
from millstream.kernels.cache_folder import hold
from millstream.kernels.operator import ORDER, BatchTime
from millstream.kernels.segment_cache import SegmentCache
from millstream.kernels.state_table import StateTable, TimeToLive
from millstream.spark.comparable import hashable
from millstream.spark.observed_counts import IGNORED, fresh_name
from millstream.spark.packets import PACKET_SCHEMA, pack, to_payloads, unpack, unpack_by_part
from millstream.spark.python_stage import PythonStage
from millstream.spark.row_order import OrderInFiles
from millstream.spark.segment_state import SparkSegmentLog
from millstream.spark.splits import SPLIT
from millstream.spark.state_connection import leave_open

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql.types import StructType

    from millstream.kernels.operator import Operator
    from millstream.spark.python_stage import Rows

_BITS_FOR_ROWS: Final = 40
_PLACES: Final = 1 << 23
_NOW: Final = "now"


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """How all kernels of a job keep their state."""

    buckets: int
    cache: Path
    """The local folder with memory-mapped pieces of the state, on each machine that has workers; one for each run."""
    cache_bytes: int | None = None
    ttl_ms: int = 0
    """How long a row of state lives after it was last written; 0 is forever."""

    @property
    def expires(self) -> bool:
        return self.ttl_ms > 0


def host(inputs: Mapping[str, Rows], operator: Operator, kernel_settings: KernelSettings) -> PythonStage:
    """The operator's changelog, with `__kind`, for the rows of each of its inputs.

    A single input may be read in one pass with other readers; several inputs are DataFrames.
    """
    packed = [pack_input(name, inputs[name], operator, kernel_settings) for name in operator.inputs]
    step = partial(step_kernel, operator, kernel_settings)
    if len(packed) == 1:
        return packed[0].then(step)
    packets = reduce(DataFrame.union, (stage.to_frame() for stage in packed))
    return PythonStage(packets, PACKET_SCHEMA).then(step)


def pack_input(name: str, rows: Rows, operator: Operator, kernel_settings: KernelSettings) -> PythonStage:
    """The packets of one input, which `union` can combine with those of the others."""

    def combine_and_pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in read_in_order(batches) if operator.needs_order(name) else map(_table, batches):
            rows = table.drop_columns(SPLIT) if SPLIT in table.schema.names else table
            yield pack(operator.combine(name, rows), kernel_settings.buckets)

    hashed = rows.withColumns(_hash_columns(operator.hashes(name), rows.schema))
    return PythonStage(hashed, PACKET_SCHEMA, combine_and_pack)


def step_kernel(operator: Operator, kernel_settings: KernelSettings, packets: DataFrame) -> DataFrame:
    """The output of the kernel for packets of its rows."""
    assert not operator.may_ask_for_wakeup, f"{type(operator).__name__} may ask for a wake-up; this host has no timers"
    output = operator.output_schema

    def unpack_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(0).drop_null().to_pylist():
                yield from unpack(payload).cast(output).to_batches()

    # The time of a batch is in its checkpoint, so a repeated batch has the same.
    now = F.unix_millis(F.current_timestamp())
    changes = (
        packets.withColumn(_NOW, now)
        .groupBy("bucket")
        .transformWithState(
            KernelProcessor(operator, kernel_settings),
            f"payload BINARY, {IGNORED} LONG",
            outputMode="Update",
            timeMode="None",
        )
    )
    observed = changes.observe(fresh_name(), F.sum(IGNORED).alias(IGNORED))
    return observed.select("payload").mapInArrow(unpack_rows, from_arrow_schema(output, prefer_timestamp_ntz=True))


def _hash_columns(hashes: Mapping[str, tuple[str, ...]], schema: StructType) -> dict[str, Column]:
    """The hashes that an operator needs, computed in the JVM: the same in every version and on every machine."""

    def hash_of(columns: tuple[str, ...]) -> Column:
        if not columns:
            return F.lit(0).cast("long")
        return F.xxhash64(*(hashable(F.col(name), schema[name].dataType) for name in columns))

    return {name: hash_of(columns) for name, columns in hashes.items()}


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def read_in_order(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Numbers rows in the order of arrival, task by task; a repeated batch has them in the same order."""
    context = TaskContext.get()
    assert context is not None
    count: int | None = None
    in_files = OrderInFiles()
    for batch in batches:
        if SPLIT in batch.schema.names and pa.types.is_int64(batch.schema.field(SPLIT).type):
            yield _table(batch).append_column(ORDER, in_files.of(batch.column(SPLIT)))
            continue
        if count is None:
            count = _place_of_task(batch, context.partitionId()) << _BITS_FOR_ROWS
        numbers = np.arange(count, count + batch.num_rows, dtype=np.int64)
        count += batch.num_rows
        yield _table(batch).append_column(ORDER, pa.array(numbers))


def _place_of_task(batch: pa.RecordBatch, task: int) -> int:
    """The task's position. If two splits shared a position, only the order between them would be undefined."""
    if SPLIT not in batch.schema.names or not batch.num_rows:
        return task
    return zlib.crc32(str(batch.column(SPLIT)[0].as_py()).encode()) % _PLACES


class KernelProcessor(StatefulProcessor):
    """Runs one bucket's kernel on state that is stored as a manifest and a map of pieces."""

    def __init__(self, operator: Operator, kernel_settings: KernelSettings) -> None:
        self._operator = operator
        self._settings = kernel_settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._tables = self._operator.state_tables
        self._logs = {name: SparkSegmentLog.of(handle, name) for name in self._tables}

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        packets = list(rows)
        hold(self._settings.cache.parent)
        cache = SegmentCache(self._settings.cache, self._settings.cache_bytes)
        ttl = TimeToLive(packets[0][_NOW], self._settings.ttl_ms) if self._settings.expires else None

        def open_table(name: str) -> StateTable:
            table = self._tables[name]
            return StateTable(table.keys, table.values, self._logs[name], cache, ttl)

        kernel = self._operator.open(open_table)
        reach("before-state")
        parts = unpack_by_part((row["part"], bytes(row["payload"])) for row in packets)
        result = kernel.step(parts, BatchTime())
        reach("after-state")
        cache.trim()
        for changes in result.changes:
            for payload in to_payloads(changes):
                yield Row(payload=payload, ignored=0)
        if result.ignored:
            yield Row(payload=None, ignored=result.ignored)

    def close(self) -> None:
        leave_open(self._handle)
