"""Several readers of the same rows in a single pass.

Spark runs the input of a union once per branch, unless it is an exchange, and the same one in each branch. So readers
that only write messages write them together; otherwise the output of all readers goes through one exchange as packets,
and each reader takes its own packets after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import tee, zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from millstream.spark.packets import PACKET_SCHEMA, exchange, post, unpack_posted
from millstream.spark.python_stage import PythonStage
from millstream.spark.shared_rows import SharedRows
from millstream.spark.types import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from millstream.spark.python_stage import Step

Reader: TypeAlias = Callable[[SharedRows], PythonStage]

_READER: Final = "reader"


def write_in_one_pass(rows: DataFrame, readers: Sequence[Reader]) -> DataFrame:
    """All messages of readers that only write messages."""
    frame, lanes = _combine_columns(rows, readers)
    fields = {field.name: field for lane in lanes for field in _schema(lane.stage).fields}
    constant = {name for lane in lanes for name in lane.stage.constants}
    schema = StructType(list(fields.values()))
    for name in sorted(constant - fields.keys()):
        schema = schema.add(name, "string")
    arrow = to_arrow_schema(schema)
    steps = [partial(_fill, lane.through(), arrow, dict(lane.stage.constants)) for lane in lanes]
    return frame.mapInArrow(in_turns(steps), schema)


def pack_in_one_pass(
    rows: DataFrame, readers: Sequence[Reader], tasks: int, ticks: DataFrame | None = None
) -> list[DataFrame | PythonStage]:
    """Per reader what comes of its stage; all packets go to so many tasks, and ticks to the kernels among them."""
    frame, lanes = _combine_columns(rows, readers)
    steps = []
    for number, lane in enumerate(lanes):
        through = lane.through()
        packing = through if lane.gives_packets else partial(_post, through, tasks)
        steps.append(partial(_tag, packing, number))
    packets = frame.mapInArrow(in_turns(steps), f"{PACKET_SCHEMA}, {_READER} INT")
    kernels = [number for number, lane in enumerate(lanes) if lane.gives_packets]
    if ticks is not None and kernels:
        packets = packets.union(ticks.select("*", F.explode(F.array(*map(F.lit, kernels))).alias(_READER)))
    packets = exchange(tasks, packets)
    return [lane.stage.result(_take_out(packets, number, lane)) for number, lane in enumerate(lanes)]


@dataclass(frozen=True, slots=True)
class _Lane:
    """The columns of one reader among all that are passed, and what is computed from them."""

    columns: Mapping[str, str]
    """By their names in the frame."""
    passes: str | None
    """The column that selects the reader's rows; None for all."""
    stage: PythonStage

    @property
    def gives_packets(self) -> bool:
        return self.stage.schema == PACKET_SCHEMA

    def through(self) -> Step:
        """The part that is sent to Python: the stage itself refers to Spark's session."""
        return partial(_run_lane, dict(self.columns), self.passes, self.stage.step)


def _combine_columns(rows: DataFrame, readers: Sequence[Reader]) -> tuple[DataFrame, list[_Lane]]:
    """The columns of all readers in one frame."""
    hidden = {name: f"__row{number}" for number, name in enumerate(rows.columns)}
    frame = rows.select(*(F.col(quote_name(name)).alias(inside) for name, inside in hidden.items()))
    lanes = []
    for number, reader in enumerate(readers):
        seen = (F.col(inside).alias(name) for name, inside in hidden.items())
        shared_rows = SharedRows(frame.select(*seen, *frame.columns), tuple(hidden), tuple(frame.columns))
        stage = reader(shared_rows)
        assert isinstance(stage.rows, SharedRows)
        columns = {name: f"__{number}_{place}" for place, name in enumerate(stage.rows.columns)}
        passes = f"__{number}" if stage.rows.is_filtered else None
        frame = stage.rows.set_aside(columns, passes)
        lanes.append(_Lane({inside: name for name, inside in columns.items()}, passes, stage))
    return frame.drop(*hidden.values()), lanes


def in_turns(steps: Sequence[Step]) -> Step:
    """Each step gets every batch; they take turns, so that few batches are buffered for a slow one."""

    def through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = (step(copy) for step, copy in zip(steps, tee(batches, len(steps)), strict=True))
        for turn in zip_longest(*made):
            yield from (batch for batch in turn if batch is not None)

    return through


def _run_lane(
    columns: Mapping[str, str], passes: str | None, step: Step | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    own = (_select_lane(batch, columns, passes) for batch in batches)
    return own if step is None else step(own)


def _select_lane(batch: pa.RecordBatch, columns: Mapping[str, str], passes: str | None) -> pa.RecordBatch:
    rows = batch.select(list(columns)).rename_columns(list(columns.values()))
    return rows if passes is None else rows.filter(batch.column(passes))


def _post(step: Step, tasks: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All that a task sends goes to one task, where it stays in its order."""
    context = TaskContext.get()
    assert context is not None
    return post(step(batches), context.partitionId() % tasks)


def _tag(step: Step, number: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in step(batches):
        yield batch.append_column(_READER, pa.repeat(pa.scalar(number, pa.int32()), batch.num_rows))


def _fill(
    step: Step, schema: pa.Schema, constants: Mapping[str, str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Adds the columns that messages of any reader have."""
    for batch in step(batches):
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        arrays |= {name: pa.repeat(value, batch.num_rows) for name, value in constants.items()}
        columns = [arrays.get(field.name, pa.nulls(batch.num_rows, field.type)) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, names=schema.names)


def _take_out(packets: DataFrame, number: int, lane: _Lane) -> DataFrame:
    """Spark would push a constant condition below the exchange, which would then differ between readers."""
    own = packets.where(F.floor(F.col(_READER) + F.rand(0)) == number)
    return own if lane.gives_packets else own.mapInArrow(unpack_posted, _schema(lane.stage))


def _schema(stage: PythonStage) -> StructType:
    schema = StructType.fromDDL(stage.schema) if isinstance(stage.schema, str) else stage.schema
    assert isinstance(schema, StructType)
    return schema
