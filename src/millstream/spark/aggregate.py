"""GROUP BY on the kernel host: arguments and hashes are computed in the JVM, the rest in the kernel.

Columns have numbers for names inside: PySpark looks names up unquoted, and a user's name may contain dots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from millstream.aggregates.registry import aggregate_function
from millstream.changelog import KIND
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.operator import ROWS
from millstream.spark.comparable import kernel_schema
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import ColumnUse, prepare_columns, schema_of, struct_of

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

    from millstream.plan.operators.aggregate import Aggregate, AggregateCall, Grouping
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import InputRows, PythonStage


@dataclass(frozen=True, slots=True)
class Grouped:
    """The rows of a grouping as the kernel takes them, and its columns there by their names in the plan."""

    rows: InputRows
    operator: AggregateOperator
    keys: dict[str, str]
    results: dict[str, str]


def aggregate(rows: InputRows, node: Aggregate, kernel_settings: KernelSettings) -> PythonStage:
    found = prepare_grouping(rows, node)
    operator = replace(found.operator, emits_before=node.emits_before, repeats=node.repeats)
    settings = kernel_settings.with_ttl(node.state_ttl)
    return host({ROWS: found.rows}, operator, node.id, settings, {**found.keys, **found.results, KIND: KIND})


def prepare_grouping(rows: InputRows, node: Grouping) -> Grouped:
    keys = {name: f"key{number}" for number, name in enumerate(node.keys)}
    filters = {call.filter: f"filter{number}" for number, call in enumerate(node.calls) if call.filter is not None}
    results = {call.name: f"result{number}" for number, call in enumerate(node.calls)}
    schema = schema_of(rows)
    taken = {call: (call.argument, _type_taken(schema, call)) for call in node.calls if call.argument is not None}
    arguments = {use: f"argument{number}" for number, use in enumerate(dict.fromkeys(taken.values()))}
    uses = [ColumnUse(name, column, schema[name].dataType, is_compared=True) for name, column in keys.items()]
    uses += [ColumnUse(name, column, type_, is_compared=True) for (name, type_), column in arguments.items()]
    uses += [ColumnUse(name, column, schema[name].dataType, is_condition=True) for name, column in filters.items()]
    has_kinds = KIND in schema.names
    operator = AggregateOperator(
        tuple(keys.values()),
        tuple(
            Call(
                results[call.name],
                call.function,
                arguments[taken[call]] if call in taken else None,
                call.distinct,
                filters.get(call.filter) if call.filter is not None else None,
                call.parameters,
            )
            for call in node.calls
        ),
        kernel_schema(struct_of(uses, [schema[KIND]] if has_kinds else [])),
        insert_only=not has_kinds,
    )
    return Grouped(prepare_columns(rows, uses), operator, keys, results)


def _type_taken(schema: StructType, call: AggregateCall) -> DataType:
    """The type in which the function takes its argument: SUM adds up in a wider one than the argument's."""
    assert call.argument is not None
    type_ = schema[call.argument].dataType
    widens = aggregate_function(call.function).widens
    return type_ if widens is None else from_arrow_type(widens(to_arrow_type(type_)))
