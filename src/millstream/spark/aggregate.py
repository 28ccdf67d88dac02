"""GROUP BY on the kernel host: arguments and hashes in the JVM, the rest in the kernel.

Inside, columns are called by number: PySpark looks them up unquoted, and a user's name may have dots in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, LongType

from millstream.changelog import KIND
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.kernels.aggregate import AggregateOperator, Call, Function
from millstream.kernels.state_table import HASH
from millstream.plan.nodes import AggregateFunction
from millstream.spark.kernel_host import host
from millstream.spark.types import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from millstream.plan.nodes import Aggregate, AggregateCall

_FUNCTIONS: Final = {
    AggregateFunction.COUNT_STAR: Function.COUNT_STAR,
    AggregateFunction.COUNT: Function.COUNT,
    AggregateFunction.SUM: Function.SUM,
}
"""What the kernel computes; others are planned, and refused here."""


def aggregate(rows: DataFrame, node: Aggregate, buckets: int, cache: Path) -> DataFrame:
    refuse_unknown_functions(node)
    keys = {name: f"key{number}" for number, name in enumerate(node.keys)}
    arguments = {call: f"argument{number}" for number, call in enumerate(node.calls) if call.argument is not None}
    results = {call.name: f"result{number}" for number, call in enumerate(node.calls)}
    columns = [_comparable(rows, name).alias(column) for name, column in keys.items()]
    columns += [_argument(rows, call).alias(column) for call, column in arguments.items()]
    kind = [F.col(KIND)] if KIND in rows.columns else []
    prepared = rows.select(*columns, *kind)
    operator = AggregateOperator(
        tuple(keys.values()),
        tuple(
            Call(results[call.name], _FUNCTIONS[call.function], arguments.get(call), call.distinct)
            for call in node.calls
        ),
        to_arrow_schema(prepared.schema, timezone="UTC"),
    )
    changes = host(prepared.withColumns(_hashes(operator)), operator, buckets, cache)
    named = {**keys, **results}
    return changes.select(*(F.col(column).alias(name) for name, column in named.items()), KIND)


def refuse_unknown_functions(node: Aggregate) -> None:
    problems = [
        Diagnostic(Code.UNSUPPORTED_EXPRESSION, f"{call.function} cannot be computed yet", node.span)
        for call in node.calls
        if call.function not in _FUNCTIONS
    ]
    if problems:
        raise ScriptError(problems)


def _hashes(operator: AggregateOperator) -> dict[str, Column]:
    keys = [F.col(key) for key in operator.keys]
    hashes = {HASH: F.xxhash64(*keys) if keys else F.lit(0).cast("long")}
    for argument in operator.distinct_arguments:
        hashes[operator.value_hash(argument)] = F.xxhash64(*keys, F.col(argument))
    return hashes


def _argument(rows: DataFrame, call: AggregateCall) -> Column:
    """SUM adds up in a wider type than its argument's."""
    assert call.argument is not None
    value = _comparable(rows, call.argument)
    if call.function is AggregateFunction.SUM:
        return value.cast(_accumulator(rows.schema[call.argument].dataType))
    return value


def _comparable(rows: DataFrame, name: str) -> Column:
    """Values that SQL finds equal hash alike: minus zero is zero."""
    column = F.col(quoted(name))
    is_float = isinstance(rows.schema[name].dataType, FloatType | DoubleType)
    return column + F.lit(0.0).cast(rows.schema[name].dataType) if is_float else column


def _accumulator(type_: DataType) -> DataType:
    if isinstance(type_, DecimalType):
        return DecimalType(38, type_.scale)
    return DoubleType() if isinstance(type_, FloatType | DoubleType) else LongType()
