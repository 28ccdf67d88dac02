"""The host of all kernels: combine each input, send packets to their buckets, step the kernels there."""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from millstream.changelog import KIND
from millstream.durable_files import make_folder
from millstream.kernels.hashing import hash_rows
from millstream.kernels.operator import ORDER
from millstream.spark.comparable import hashable
from millstream.spark.event_time import pack_noted
from millstream.spark.kernel_stage import NOW, KernelSettings, KernelStage
from millstream.spark.packets import PACKET_SCHEMA, exchange, pack
from millstream.spark.python_rows import ColumnUse, select_columns
from millstream.spark.python_stage import PythonStage, UnitedRows
from millstream.spark.row_order import OrderInFiles
from millstream.spark.shared_readers import in_turns
from millstream.spark.splits import SPLIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.types import StructType

    from millstream.kernels.operator import Operator
    from millstream.spark.python_stage import InputRows, Rows

_BITS_FOR_ROWS: Final = 40
_PLACES: Final = 1 << 23


def host(
    inputs: Mapping[str, InputRows],
    operator: Operator,
    id_: str,
    kernel_settings: KernelSettings,
    columns: Mapping[str, str] | None = None,
) -> PythonStage:
    """Gives the operator's changelog for the rows of each of its inputs.

    `id_` names the operator's state. `columns` are those that are wanted, with their names in the operator's output;
    None is all. One input may be read in one pass with other readers; the packets of several, and of the sides of a
    union, go through one exchange.
    """
    packed = [
        pack_input(name, rows, operator, kernel_settings) for name in operator.inputs for rows in _sides(inputs[name])
    ]
    stage = KernelStage(id_, operator, kernel_settings)
    wanted = {name: name for name in operator.output_schema.names} if columns is None else columns
    wanted = wanted or {KIND: KIND}  # Arrow does not count rows without columns
    make_folder(kernel_settings.state / id_)  # which workers must see
    step = partial(step_kernel, stage, wanted)
    if len(packed) == 1:
        return replace(packed[0], behind=step)
    return PythonStage(_unite(packed), PACKET_SCHEMA, exchange=packed[0].exchange, behind=step)


def _unite(packed: Sequence[PythonStage]) -> DataFrame:
    """The packets of all inputs, which may be made of the same rows in one crossing."""
    source = packed[0].rows
    if isinstance(source, PythonStage):
        assert all(stage.rows is source for stage in packed)
        return source.pipe(in_turns([stage.step or iter for stage in packed]), PACKET_SCHEMA).to_rows()
    return reduce(DataFrame.union, (stage.to_rows() for stage in packed))


def _sides(rows: InputRows) -> Sequence[Rows | PythonStage]:
    return rows.sides if isinstance(rows, UnitedRows) else (rows,)


def pack_input(name: str, rows: Rows | PythonStage, operator: Operator, kernel_settings: KernelSettings) -> PythonStage:
    """The packets of one input; `union` combines them with those of other inputs.

    Rows that are in Python already are hashed and packed in the same crossing.
    """
    sources = None if kernel_settings.time is None else {source.id for source in kernel_settings.time.sources}

    def combine_and_pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in read_in_order(batches) if operator.needs_order(name) else map(_table, batches):
            yield pack(operator.combine(name, _without_split(table)), kernel_settings.buckets)
        if sources is not None:
            yield pack_noted(sources, kernel_settings.buckets)

    to_tasks = partial(exchange, kernel_settings.tasks)
    if isinstance(rows, PythonStage):
        hashed = rows.pipe(partial(_add_hashes, operator.hashes(name)), rows.schema)
        return replace(hashed.pipe(combine_and_pack, PACKET_SCHEMA), exchange=to_tasks)
    columns = rows.withColumns(_hash_columns(operator.hashes(name), rows.schema))
    return PythonStage(columns, PACKET_SCHEMA, combine_and_pack, exchange=to_tasks)


def step_kernel(stage: KernelStage, columns: Mapping[str, str], packets: DataFrame) -> PythonStage:
    """What the kernel gives for packets that have been exchanged."""
    operator = stage.operator
    # The time of a batch is in its checkpoint, so a repeated batch has the same.
    packets = packets.withColumn(NOW, F.unix_millis(F.current_timestamp()))
    output = pa.schema([operator.output_schema.field(inside).with_name(name) for name, inside in columns.items()])
    schema = from_arrow_schema(output, prefer_timestamp_ntz=True)
    notes_time = stage.settings.time is not None and stage.settings.time.is_told
    changes = PythonStage(packets, PACKET_SCHEMA, stage, counts_of=stage.id, notes_time=notes_time)
    uses = tuple(ColumnUse(inside, name, schema[name].dataType) for name, inside in columns.items())
    return changes.pipe(partial(select_columns, uses, output), schema)


def _add_hashes(hashes: Mapping[str, tuple[str, ...]], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [hash_rows([batch.column(name) for name in names], batch.num_rows) for names in hashes.values()]
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], [*batch.schema.names, *hashes])


def _hash_columns(hashes: Mapping[str, tuple[str, ...]], schema: StructType) -> dict[str, Column]:
    """The hashes that an operator needs, computed in the JVM: the same in every version and on every machine."""

    def hash_of(columns: tuple[str, ...]) -> Column:
        if not columns:
            return F.lit(0).cast("long")
        return F.xxhash64(*(hashable(F.col(name), schema[name].dataType) for name in columns))

    return {name: hash_of(columns) for name, columns in hashes.items()}


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _without_split(rows: pa.Table) -> pa.Table:
    return rows.drop_columns([SPLIT]) if SPLIT in rows.schema.names else rows


def read_in_order(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Numbers rows in the order of arrival, task by task; a repeated batch has them in the same order."""
    context = TaskContext.get()
    assert context is not None
    count: int | None = None
    in_files = OrderInFiles()
    for batch in batches:
        if not batch.num_rows:  # has no split, and so no place that would be the same in a repeated batch
            continue
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
    if SPLIT not in batch.schema.names:
        return task
    return zlib.crc32(str(batch.column(SPLIT)[0].as_py()).encode()) % _PLACES
