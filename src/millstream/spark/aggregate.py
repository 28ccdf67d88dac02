"""GROUP BY on the kernel host: arguments and hashes are computed in the JVM, the rest in the kernel.

Columns have numbers for names inside: PySpark looks names up unquoted, and a user's name may contain dots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from millstream.aggregates.registry import aggregate_function
from millstream.changelog import KIND
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.operator import ROWS
from millstream.spark.comparable import alike, kernel_schema
from millstream.spark.kernel_host import host
from millstream.spark.splits import split_columns
from millstream.spark.types import quote_name

if TYPE_CHECKING:
    from pyspark.sql import Column

    from millstream.plan.operators.aggregate import Aggregate, AggregateCall
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import PythonStage, Rows


def aggregate(rows: Rows, node: Aggregate, kernel_settings: KernelSettings) -> PythonStage:
    keys = {name: f"key{number}" for number, name in enumerate(node.keys)}
    arguments = {call: f"argument{number}" for number, call in enumerate(node.calls) if call.argument is not None}
    filters = {call.filter: f"filter{number}" for number, call in enumerate(node.calls) if call.filter is not None}
    results = {call.name: f"result{number}" for number, call in enumerate(node.calls)}
    columns = [comparable(rows, name).alias(column) for name, column in keys.items()]
    columns += [_argument(rows, call).alias(column) for call, column in arguments.items()]
    columns += [F.coalesce(F.col(quote_name(name)), F.lit(False)).alias(column) for name, column in filters.items()]
    kind = [F.col(KIND)] if KIND in rows.columns else []
    prepared = rows.select(*columns, *kind, *split_columns(rows))
    operator = AggregateOperator(
        tuple(keys.values()),
        tuple(
            Call(
                results[call.name],
                call.function,
                arguments.get(call),
                call.distinct,
                filters.get(call.filter) if call.filter is not None else None,
                call.parameters,
            )
            for call in node.calls
        ),
        kernel_schema(rows.select(*columns, *kind).schema),
        emits_before=node.emits_before,
        insert_only=not kind,
        repeats=node.repeats,
    )
    named = {**keys, **results}
    return host({ROWS: prepared}, operator, node.id, kernel_settings).then(
        lambda changes: changes.select(*(F.col(column).alias(name) for name, column in named.items()), KIND)
    )


def _argument(rows: Rows, call: AggregateCall) -> Column:
    """The argument in the type that the function takes: SUM adds up in a wider type than its argument's."""
    assert call.argument is not None
    value = comparable(rows, call.argument)
    widens = aggregate_function(call.function).widens
    if widens is None:
        return value
    return value.cast(from_arrow_type(widens(to_arrow_type(rows.schema[call.argument].dataType))))


def comparable(rows: Rows, name: str) -> Column:
    return alike(F.col(quote_name(name)), rows.schema[name].dataType)
