"""Rows that pass through a step in Python, alone or together with other readers of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from millstream.spark.shared_rows import SharedRows

if TYPE_CHECKING:
    from collections.abc import Mapping


Rows: TypeAlias = DataFrame | SharedRows
Step: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class PythonStage:
    rows: Rows
    """With only the columns that are passed to Python."""
    schema: str | StructType
    """The schema of the result."""
    step: Step | None = None
    """None if nothing remains for Python to do."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Columns that say the same in every row, and so need not cross."""
    exchange: Callable[[DataFrame], DataFrame] | None = None
    """Sends packets to their buckets, where that is what comes back."""
    after: tuple[Callable[[DataFrame], DataFrame], ...] = ()
    """Applied to the result."""

    @property
    def row_schema(self) -> StructType:
        return _struct(self.schema)

    @property
    def columns(self) -> list[str]:
        return list(self.row_schema.names)

    def pipe(self, step: Step, schema: str | StructType) -> PythonStage:
        """Does one step more in the same crossing."""
        assert (self.constants, self.exchange, self.after) == ({}, None, ()), "its rows are on their way"
        return replace(self, step=step if self.step is None else partial(_chain, self.step, step), schema=schema)

    def then(self, more: Callable[[DataFrame], DataFrame]) -> PythonStage:
        return replace(self, after=(*self.after, more))

    def to_frame(self) -> DataFrame:
        """The result, where nobody else reads the rows."""
        crossed = self.to_rows()
        return self.result(crossed if self.exchange is None else self.exchange(crossed))

    def to_rows(self) -> DataFrame:
        """What comes back from Python."""
        assert isinstance(self.rows, DataFrame)
        return self.rows if self.step is None else self.rows.mapInArrow(self.step, self.schema)

    def result(self, crossed: DataFrame) -> DataFrame:
        """The result of what came back, and has been exchanged."""
        for name, value in self.constants.items():
            crossed = crossed.withColumn(name, F.lit(value))
        for each in self.after:
            crossed = each(crossed)
        return crossed


def _chain(first: Step, second: Step, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return second(first(batches))


def _struct(schema: str | StructType) -> StructType:
    struct = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert isinstance(struct, StructType)
    return struct
