"""GROUP BY on Spark's own streaming aggregation, for the calls of which it makes the kernel's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DecimalType, LongType

from millstream.aggregates import AggregateFunction as Function
from millstream.changelog import KIND, RowKind
from millstream.spark.aggregate import comparable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from millstream.plan.operators.aggregate import Aggregate, AggregateCall

_LIMB: Final = 21
_MASK: Final = (1 << _LIMB) - 1


def native_aggregate(rows: DataFrame, node: Aggregate) -> DataFrame:
    """Spark does not tell a group's first row from a later one: each is an update, which may insert."""
    keys = {name: f"key{number}" for number, name in enumerate(node.keys)}
    results = {call: f"result{number}" for number, call in enumerate(node.calls)}
    groups = rows.groupBy(*(comparable(rows, name).alias(column) for name, column in keys.items()))
    partials = [part.alias(name) for call, result in results.items() for name, part in _parts(rows, call, result)]
    found = groups.agg(*partials)
    return found.select(
        *(F.col(column).alias(name) for name, column in keys.items()),
        *(_result(rows, call, result).alias(call.name) for call, result in results.items()),
        F.lit(int(RowKind.UPDATE_AFTER)).cast("tinyint").alias(KIND),
    )


def _parts(rows: DataFrame, call: AggregateCall, result: str) -> list[tuple[str, Column]]:
    """What Spark aggregates for a call, each under a name of its own."""
    if call.argument is None:
        return [(result, F.count(F.lit(1)))]
    value = comparable(rows, call.argument)
    match call.function:
        case Function.COUNT:
            return [(result, F.count(value))]
        case Function.MIN:
            return [(result, F.min(value))]
        case Function.MAX:
            return [(result, F.max(value))]
        case Function.SUM:
            return _sums(value, rows.schema[call.argument].dataType, result)
        case _:
            return [*_sums(value, rows.schema[call.argument].dataType, result), (f"{result}_count", F.count(value))]


def _result(rows: DataFrame, call: AggregateCall, result: str) -> Column:
    if call.argument is None or call.function not in (Function.SUM, Function.AVG):
        return F.col(result)
    type_ = rows.schema[call.argument].dataType
    limbs = (F.col(f"{result}_{limb}") for limb in range(3))
    total = _together(*limbs) if isinstance(type_, LongType) else F.col(result)
    if call.function is Function.SUM:
        return total
    # Cut off toward zero; a group without values has no average.
    return F.call_function("div", total, F.nullif(F.col(f"{result}_count"), F.lit(0))).cast(type_)


def _sums(value: Column, type_: DataType, result: str) -> list[tuple[str, Column]]:
    """In a type with room for the sum, as far as there is one."""
    if isinstance(type_, LongType):
        return [(f"{result}_{number}", F.sum(limb)) for number, limb in enumerate(_limbs(value))]
    wide = DecimalType(38, type_.scale) if isinstance(type_, DecimalType) else LongType()
    return [(result, F.sum(value.cast(wide)))]


def _limbs(value: Column) -> tuple[Column, Column, Column]:
    """A BIGINT in three parts, so that their sums never leave 64 bits: Spark's SUM would fail, ours wraps."""
    middle = F.shiftright(value, _LIMB).bitwiseAND(_MASK)
    return value.bitwiseAND(_MASK), middle, F.shiftright(value, 2 * _LIMB)


def _together(low: Column, middle: Column, high: Column) -> Column:
    """The sum of which these are the parts' sums, as 64 bits hold it."""
    middle = middle + F.shiftright(low, _LIMB)
    high = high + F.shiftright(middle, _LIMB)
    whole = F.shiftleft(high, 2 * _LIMB).bitwiseOR(F.shiftleft(middle.bitwiseAND(_MASK), _LIMB))
    return whole.bitwiseOR(low.bitwiseAND(_MASK))
