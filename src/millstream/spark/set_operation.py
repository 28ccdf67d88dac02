"""INTERSECT and EXCEPT on the kernel host.

Columns have numbers for names inside: PySpark looks names up unquoted, and a user's name may contain dots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.changelog import KIND
from millstream.kernels.operator import LEFT, RIGHT
from millstream.kernels.set_operation import SetOperator
from millstream.plan.operators.set_operation import Except
from millstream.spark.comparable import kernel_schema
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import ColumnUse, prepare_columns, struct_of
from millstream.spark.python_stage import to_struct
from millstream.spark.types import spark_schema

if TYPE_CHECKING:
    from millstream.plan.operators.set_operation import SetOperation
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import InputRows, PythonStage


def combine_sides(
    left: InputRows, right: InputRows, node: SetOperation, kernel_settings: KernelSettings
) -> PythonStage:
    """Both sides have the types of the result, so that equal rows have equal hashes."""
    struct = to_struct(spark_schema((column.name, column.type) for column in node.columns))
    uses = [
        ColumnUse(field.name, f"column{number}", field.dataType, is_compared=True)
        for number, field in enumerate(struct.fields)
    ]
    operator = SetOperator(
        kernel_schema(struct_of(uses)),
        is_except=isinstance(node, Except),
        is_distinct=node.is_distinct,
        expires=kernel_settings.expires,
        repeats=node.repeats,
    )
    inputs = {LEFT: prepare_columns(left, uses), RIGHT: prepare_columns(right, uses)}
    return host(inputs, operator, node.id, kernel_settings, {use.source: use.name for use in uses} | {KIND: KIND})
