"""GROUP BY on the kernel host: arguments and hashes in the JVM, the rest in the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, LongType

from millstream.kernels.aggregate import AggregateOperator, Call, Function
from millstream.kernels.state_table import HASH
from millstream.plan.nodes import AggregateFunction
from millstream.spark.kernel_host import host
from millstream.spark.types import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from millstream.plan.nodes import Aggregate, AggregateCall

_FUNCTIONS: Final = {
    AggregateFunction.COUNT_STAR: Function.COUNT_STAR,
    AggregateFunction.COUNT: Function.COUNT,
    AggregateFunction.SUM: Function.SUM,
}


def aggregate(rows: DataFrame, node: Aggregate, buckets: int, cache: Path) -> DataFrame:
    summed = {
        _summed_column(call.argument): F.col(quoted(call.argument)).cast(
            _accumulator(rows.schema[call.argument].dataType)
        )
        for call in node.calls
        if call.function is AggregateFunction.SUM and call.argument is not None
    }
    rows = rows.withColumns(summed)
    operator = AggregateOperator(
        node.keys,
        tuple(Call(call.name, _FUNCTIONS[call.function], _argument_column(call), call.distinct) for call in node.calls),
        to_arrow_schema(rows.schema, timezone="UTC"),
    )
    keys = [F.col(quoted(key)) for key in node.keys]
    hashes = {HASH: F.xxhash64(*keys) if keys else F.lit(0).cast("long")}
    for argument in operator.distinct_arguments:
        hashes[operator.value_hash(argument)] = F.xxhash64(*keys, F.col(quoted(argument)))
    return host(rows.withColumns(hashes), operator, buckets, cache)


def _argument_column(call: AggregateCall) -> str | None:
    return _summed_column(call.argument) if call.function is AggregateFunction.SUM else call.argument


def _summed_column(argument: str | None) -> str:
    """SUM adds up in a wider type than its argument's, in a column of its own."""
    return f"$sum-{argument}"


def _accumulator(type_: DataType) -> DataType:
    if isinstance(type_, DecimalType):
        return DecimalType(38, type_.scale)
    return DoubleType() if isinstance(type_, FloatType | DoubleType) else LongType()
