"""Rows that pass through a step in Python, alone or together with other readers of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from millstream.spark.event_time import hand_over
from millstream.spark.kafka_stream import MessageStream
from millstream.spark.observed_counts import COUNTED, IGNORED, fresh_name, late_name
from millstream.spark.shared_rows import SharedRows
from millstream.spark.task_counts import append_counts

Rows: TypeAlias = DataFrame | SharedRows
Step: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class PythonStage:
    rows: Rows | MessageStream | PythonStage | None
    """With only the columns that are passed to Python; None where a step gives them to several readers.

    A stage in whose crossing all inputs of an operator get their rows.
    """
    schema: str | StructType
    """The schema of the result."""
    step: Step | None = None
    """None if nothing remains for Python to do."""
    exchange: Callable[[DataFrame], DataFrame] | None = None
    """Sends packets to their buckets, where that is what comes back."""
    behind: Callable[[DataFrame], PythonStage] | None = None
    """What becomes of the packets behind the exchange."""
    counts_of: str | None = None
    """The id of the operator that counts something for the driver."""
    notes_time: bool = False
    """Whether a step notes how far event time has come; see `event_time.py`."""

    @property
    def row_schema(self) -> StructType:
        return to_struct(self.schema)

    @property
    def columns(self) -> list[str]:
        return list(self.row_schema.names)

    def pipe(self, step: Step, schema: str | StructType) -> PythonStage:
        """Does one step more in the same crossing."""
        assert (self.exchange, self.behind) == (None, None), "its rows are on their way"
        chained = step if self.step is None else partial(_chain, self.step, step)
        return replace(self, step=chained, schema=schema)

    def to_frame(self) -> DataFrame:
        """The rows in Spark, where nobody else reads what they are made of."""
        rows = self.behind_exchange() if self.exchange is not None else self.result(self.to_rows())
        return rows.to_frame() if isinstance(rows, PythonStage) else rows

    def behind_exchange(self) -> PythonStage:
        """The rows of the kernel that the packets are for."""
        assert self.exchange is not None
        rows = self.result(self.exchange(self.to_rows()))
        assert isinstance(rows, PythonStage)
        return rows

    def to_rows(self) -> DataFrame:
        """What comes back from Python."""
        if self.step is None:
            assert isinstance(self.rows, DataFrame)
            return self.rows
        step = partial(_chain, self.step, hand_over) if self.notes_time and self.exchange is None else self.step
        if self.counts_of is None:
            return self._cross(step, self.row_schema)
        schema = self.row_schema
        counting = partial(append_counts, step, to_arrow_schema(schema, timezone="UTC"))
        counted = self._cross(counting, StructType([*schema.fields, StructField(COUNTED, LongType())]))
        ignored = F.sum(F.greatest(F.col(COUNTED), F.lit(0))).alias(IGNORED)
        late = F.sum(F.greatest(-F.col(COUNTED), F.lit(0))).alias(late_name(self.counts_of))
        return counted.observe(fresh_name(), ignored, late).where(F.col(COUNTED).isNull()).drop(COUNTED)

    def _cross(self, step: Step, schema: StructType) -> DataFrame:
        if isinstance(self.rows, MessageStream):
            return self.rows.run(step, schema)
        assert isinstance(self.rows, DataFrame)
        return self.rows.mapInArrow(step, schema)

    def result(self, crossed: DataFrame) -> DataFrame | PythonStage:
        """What becomes of the rows that came back, and have been exchanged."""
        return crossed if self.behind is None else self.behind(crossed)


@dataclass(frozen=True, slots=True)
class UnitedRows:
    """The rows of several stages, each of which goes on by itself: only what they send in the end is united."""

    sides: tuple[PythonStage, ...]
    """With the same columns in the same order."""

    @property
    def row_schema(self) -> StructType:
        return self.sides[0].row_schema

    @property
    def columns(self) -> list[str]:
        return self.sides[0].columns

    def to_frame(self) -> DataFrame:
        return self.unite(PythonStage.to_frame)

    def unite(self, make: Callable[[PythonStage], DataFrame]) -> DataFrame:
        """The union of what is made of each side."""
        return reduce(DataFrame.union, map(make, self.sides))


InputRows: TypeAlias = Rows | PythonStage | UnitedRows
"""What a step is given."""


def _chain(first: Step, second: Step, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return second(first(batches))


def to_struct(schema: str | StructType) -> StructType:
    struct = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert isinstance(struct, StructType)
    return struct
