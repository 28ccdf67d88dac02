"""The inner equi-join on the kernel host.

Columns have numbers for names inside: PySpark looks names up unquoted, and a user's name may contain dots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import KIND
from millstream.kernels.join import JoinOperator, JoinSide
from millstream.kernels.operator import LEFT, RIGHT
from millstream.spark.comparable import alike, kernel_schema
from millstream.spark.kernel_host import host
from millstream.spark.types import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from millstream.plan.operators.join import Join
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import PythonStage


def join(
    left: DataFrame, right: DataFrame, node: Join, kernel_settings: KernelSettings, *, has_kinds: bool
) -> PythonStage:
    left_names = {name: f"left{number}" for number, name in enumerate(node.left_columns)}
    right_names = {name: f"right{number}" for number, name in enumerate(node.right_columns)}
    lefts, rights = _number(left, left_names), _number(right, right_names)
    operator = JoinOperator(
        _side(lefts, left_names, node.left_keys),
        _side(rights, right_names, node.right_keys),
        expires=kernel_settings.expires,
    )
    inside = {**left_names, **right_names}
    columns = [F.col(inside[column.name]).alias(column.name) for column in node.output]
    kind = [F.col(KIND)] if has_kinds else []
    return host({LEFT: lefts, RIGHT: rights}, operator, node.id, kernel_settings).then(
        lambda changes: changes.select(*columns, *kind)
    )


def _number(rows: DataFrame, names: Mapping[str, str]) -> DataFrame:
    def column(name: str) -> Column:
        value = F.col(quote_name(name))
        return alike(value, rows.schema[name].dataType)  # equal maps are one row, whatever the order of their entries

    kind = [F.col(KIND)] if KIND in rows.columns else []
    return rows.select(*(column(name).alias(inside) for name, inside in names.items()), *kind)


def _side(rows: DataFrame, names: Mapping[str, str], keys: Sequence[str]) -> JoinSide:
    schema = kernel_schema(rows.select(*names.values()).schema)
    return JoinSide(schema, tuple(names[key] for key in keys))
