"""The host of all kernels: combine, shuffle packets by bucket, step the kernel on Spark's state, unpack."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from millstream.kernels.operator import ORDER
from millstream.kernels.segment_log import Segment, SegmentCache
from millstream.kernels.state_table import StateTable
from millstream.spark.packets import PACKET_SCHEMA, pack, to_payload, unpack, unpack_by_part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from millstream.kernels.operator import Operator


_BITS_FOR_ROWS: Final = 40


def host(rows: DataFrame, operator: Operator, buckets: int, cache: Path) -> DataFrame:
    """`rows` has the operator's input columns and hashes; gives its changelog with `__kind`."""

    def combine_and_pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _ordered(batches) if operator.needs_order else map(_table, batches):
            yield pack(operator.combine(table), buckets)

    output = operator.output_schema

    def unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(0).to_pylist():
                yield from unpack(payload).cast(output).to_batches()

    packets = rows.mapInArrow(combine_and_pack, PACKET_SCHEMA)
    changes = packets.groupBy("bucket").transformWithState(
        KernelProcessor(operator, cache), "payload BINARY", outputMode="Update", timeMode="None"
    )
    return changes.mapInArrow(unpacked, from_arrow_schema(output, prefer_timestamp_ntz=True))


def hash_columns(operator: Operator) -> dict[str, Column]:
    """What the operator wants hashed, computed in the JVM: stable over versions, and the same on every machine."""
    return {
        name: F.xxhash64(*map(F.col, columns)) if columns else F.lit(0).cast("long")
        for name, columns in operator.hashes.items()
    }


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _ordered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Rows numbered as they come, task after task; a replayed batch has the same tasks with the same rows."""
    context = TaskContext.get()
    assert context is not None
    count = context.partitionId() << _BITS_FOR_ROWS
    for batch in batches:
        numbers = np.arange(count, count + batch.num_rows, dtype=np.int64)
        count += batch.num_rows
        yield _table(batch).append_column(ORDER, pa.array(numbers))


class KernelProcessor(StatefulProcessor):
    """Runs one bucket's kernel on state kept as a manifest and a map of segments."""

    def __init__(self, operator: Operator, cache: Path) -> None:
        self._operator = operator
        self._cache = cache

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._logs = {
            name: SparkSegmentLog(
                handle.getValueState(f"manifest-{name}", "segments STRING"),
                handle.getMapState(f"segments-{name}", "id STRING", "data BINARY"),
            )
            for name in self._operator.table_names
        }

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        cache = SegmentCache(self._cache)

        def open_table(name: str, keys: tuple[pa.Field, ...], values: tuple[pa.Field, ...]) -> StateTable:
            return StateTable(keys, values, self._logs[name], cache)

        kernel = self._operator.open(open_table)
        changes = kernel.step(unpack_by_part((row["part"], bytes(row["payload"])) for row in rows))
        if changes.num_rows:
            yield Row(payload=to_payload(changes))

    def close(self) -> None:
        pass


class SparkSegmentLog:
    """Segments in Spark's state store, which commits and rolls back with the batch."""

    def __init__(self, manifest: Any, segments: Any) -> None:
        self._manifest = manifest
        self._segments = segments

    def manifest(self) -> tuple[Segment, ...]:
        stored = self._manifest.get()
        return tuple(Segment(*entry) for entry in json.loads(stored[0])) if stored else ()

    def save_manifest(self, segments: tuple[Segment, ...]) -> None:
        self._manifest.update((json.dumps([[segment.id, segment.rows] for segment in segments]),))

    def read(self, segment_id: str) -> bytes:
        return bytes(self._segments.getValue((segment_id,))[0])

    def write(self, segment_id: str, data: bytes) -> None:
        self._segments.updateValue((segment_id,), (data,))

    def remove(self, segment_id: str) -> None:
        self._segments.removeKey((segment_id,))
