"""COUNT(*) and COUNT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.aggregates.accumulators import ROW_COUNT, add_to_old, count_one, present
from millstream.aggregates.libraries import pa, pl
from millstream.aggregates.record import AggregateFunction
from millstream.sql.functions import Nulls, Parameter, signature
from millstream.sql.types import BIGINT

if TYPE_CHECKING:
    from millstream.aggregates.accumulators import Accumulator
    from millstream.aggregates.calls import Call, Input

_STAR: Final = "COUNT(*)"


@dataclass(frozen=True, slots=True)
class RowCount:
    """Uses the count of rows that every group has."""

    call: Call

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return ()

    def partial(self, _: Input) -> list[pl.Expr]:
        return []

    def merge(self) -> list[pl.Expr]:
        return []

    def apply(self) -> list[pl.Expr]:
        return []

    def of_row(self, _: pl.Expr) -> list[pl.Expr]:
        return []

    def join(self) -> list[pl.Expr]:
        return []

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + ROW_COUNT)


@dataclass(frozen=True, slots=True)
class Count:
    call: Call

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field(self.call.column("count"), pa.int64()),)

    def partial(self, rows: Input) -> list[pl.Expr]:
        return [present(rows).alias(self.call.column("count"))]

    def merge(self) -> list[pl.Expr]:
        return [pl.col(field.name).sum() for field in self.fields]

    def apply(self) -> list[pl.Expr]:
        return [add_to_old(field.name) for field in self.fields]

    def of_row(self, value: pl.Expr) -> list[pl.Expr]:
        return [count_one(value).alias(self.call.column("count"))]

    def join(self) -> list[pl.Expr]:
        return self.apply()

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + self.call.column("count"))


def _count_of_rows(call: Call, _: pa.DataType | None) -> Accumulator:
    return Count(call) if call.filter is not None else RowCount(call)


FUNCTIONS: Final = (
    AggregateFunction(
        name=_STAR,
        signatures=(),
        result_type=lambda _: pa.int64(),
        accumulator=_count_of_rows,
    ),
    AggregateFunction(
        name="COUNT",
        signatures=(signature(Parameter("value"), gives=BIGINT, nulls=Nulls.NEVER),),
        written="COUNT(*) or COUNT([DISTINCT] value)",
        star=_STAR,
        result_type=lambda _: pa.int64(),
        accumulator=lambda call, _: Count(call),
    ),
)
