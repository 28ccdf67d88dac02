"""Joins on the kernel host.

Columns have numbers for names inside: PySpark looks names up unquoted, and a user's name may contain dots.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from millstream.changelog import KIND
from millstream.kernels.join import JoinOperator, JoinSide, PairCondition
from millstream.kernels.operator import LEFT, RIGHT
from millstream.kernels.partners import MARK
from millstream.plan.typed import columns_in, substitute
from millstream.plan.vectorised.forms import vectorise
from millstream.spark.comparable import kernel_schema
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import ColumnUse, filter_rows, prepare_columns, schema_of, struct_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from millstream.plan.operators.join import Join
    from millstream.plan.typed import Typed
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import InputRows, PythonStage


def join(
    left: InputRows,
    right: InputRows,
    node: Join,
    kernel_settings: KernelSettings,
    *,
    has_kinds: bool,
) -> PythonStage:
    inputs, counted, columns = prepare_join(left, right, node, kernel_settings)
    operator = replace(counted, left=_of_inserts(counted.left, left), right=_of_inserts(counted.right, right))
    return host(inputs, operator, node.id, kernel_settings, columns | ({KIND: KIND} if has_kinds else {}))


def _of_inserts(side: JoinSide, rows: InputRows) -> JoinSide:
    """Rows that do not carry their kind are never retracted."""
    return replace(side, insert_only=KIND not in schema_of(rows).names)


def prepare_join(
    left: InputRows, right: InputRows, node: Join, kernel_settings: KernelSettings
) -> tuple[dict[str, InputRows], JoinOperator, dict[str, str]]:
    """The rows as the kernel takes them, and its columns by their names in the plan."""
    lefts, rights = uses_of(left, LEFT, node.left_columns), uses_of(right, RIGHT, node.right_columns)
    inside = {use.source: use.name for use in (*lefts, *rights)}
    operator = JoinOperator(
        side_of(lefts, node.left_keys, kernel_settings.with_ttl(node.left_ttl).ttl_ms),
        side_of(rights, node.right_keys, kernel_settings.with_ttl(node.right_ttl).ttl_ms),
        kernel_settings.expires,
        node.kind,
        pair_condition(node.condition, inside),
    )
    given = inside if node.mark is None else inside | {node.mark: MARK}
    inputs = {LEFT: prepare_columns(left, lefts), RIGHT: prepare_columns(right, rights)}
    return inputs, operator, {column.name: given[column.name] for column in node.output}


def pair_condition(condition: Typed | None, inside: Mapping[str, str]) -> PairCondition | None:
    """`inside` is what columns are called in the kernel."""
    if condition is None:
        return None
    renamed = substitute(condition, lambda column: replace(column, name=inside[column.name]))
    return PairCondition(tuple(sorted(columns_in(renamed))), partial(filter_rows, vectorise(renamed)))


def uses_of(
    rows: InputRows, side: str, columns: Sequence[str], compared: Collection[str] | None = None
) -> list[ColumnUse]:
    """Where whole rows are compared (None), equal maps are one row, whatever the order of their entries."""
    schema = schema_of(rows)
    return [
        ColumnUse(name, f"{side}{number}", schema[name].dataType, is_compared=compared is None or name in compared)
        for number, name in enumerate(columns)
    ]


def side_of(uses: Sequence[ColumnUse], keys: Sequence[str], ttl_ms: int | None = None) -> JoinSide:
    names = {use.source: use.name for use in uses}
    return JoinSide(kernel_schema(struct_of(uses)), tuple(names[key] for key in keys), ttl_ms)
