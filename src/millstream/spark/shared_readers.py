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

from millstream.spark.observed_counts import DELIVERED_TYPE
from millstream.spark.packets import PACKET_SCHEMA, exchange, post, unpack_posted
from millstream.spark.python_stage import PythonStage
from millstream.spark.shared_rows import SharedRows
from millstream.spark.types import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from millstream.spark.python_stage import Step

Reader: TypeAlias = Callable[[SharedRows | PythonStage], PythonStage]

_READER: Final = "reader"


@dataclass(frozen=True, slots=True)
class Lane:
    """What one reader makes of the rows of all."""

    step: Step
    stage: PythonStage
    """The reader's own, which refers to Spark's session."""

    @property
    def gives_packets(self) -> bool:
        return self.stage.schema == PACKET_SCHEMA


@dataclass(frozen=True, slots=True)
class PartedRows:
    """Rows with all that their readers need of them, and a lane per reader."""

    rows: PythonStage
    lanes: Sequence[Lane]


def part_in_python(rows: PythonStage, readers: Sequence[Reader]) -> PartedRows:
    """In the crossing that makes the rows."""
    stages = [reader(PythonStage(None, rows.schema)) for reader in readers]
    return PartedRows(rows, [Lane(stage.step or iter, stage) for stage in stages])


def part_in_spark(rows: DataFrame, readers: Sequence[Reader]) -> PartedRows:
    """What readers compute becomes columns of one frame."""
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
        own = {inside: name for name, inside in columns.items()}
        lanes.append(Lane(partial(_run_lane, own, passes, stage.step), stage))
    frame = frame.drop(*hidden.values())
    return PartedRows(PythonStage(frame, frame.schema), lanes)


def write_in_one_pass(parted: PartedRows) -> DataFrame:
    """What is delivered by readers that only write messages."""
    return parted.rows.pipe(in_turns([lane.step for lane in parted.lanes]), DELIVERED_TYPE).to_frame()


def pack_in_one_pass(parted: PartedRows, tasks: int, ticks: DataFrame | None = None) -> list[DataFrame | PythonStage]:
    """Per reader what comes of its stage; all packets go to so many tasks, and ticks to the kernels among them."""
    lanes = parted.lanes
    packing = (lane.step if lane.gives_packets else partial(_post, lane.step, tasks) for lane in lanes)
    steps = [partial(_tag, step, number) for number, step in enumerate(packing)]
    packets = parted.rows.pipe(in_turns(steps), f"{PACKET_SCHEMA}, {_READER} INT").to_rows()
    kernels = [number for number, lane in enumerate(lanes) if lane.gives_packets]
    if ticks is not None and kernels:
        packets = packets.union(ticks.select("*", F.explode(F.array(*map(F.lit, kernels))).alias(_READER)))
    packets = exchange(tasks, packets)
    return [lane.stage.result(_take_out(packets, number, lane)) for number, lane in enumerate(lanes)]


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


def _take_out(packets: DataFrame, number: int, lane: Lane) -> DataFrame:
    """Spark would push a constant condition below the exchange, which would then differ between readers."""
    own = packets.where(F.floor(F.col(_READER) + F.rand(0)) == number)
    return own if lane.gives_packets else own.mapInArrow(unpack_posted, lane.stage.schema)
