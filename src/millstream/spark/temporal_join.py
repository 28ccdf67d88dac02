"""Temporal joins on the kernel host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.changelog import KIND
from millstream.kernels.operator import LEFT, RIGHT
from millstream.kernels.temporal_join import TemporalJoinOperator
from millstream.spark.join import pair_condition, side_of, uses_of
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import prepare_columns

if TYPE_CHECKING:
    from millstream.plan.operators.temporal_join import TemporalJoin
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import InputRows, PythonStage


def join_versions(
    left: InputRows, right: InputRows, node: TemporalJoin, kernel_settings: KernelSettings, *, has_kinds: bool
) -> PythonStage:
    lefts = uses_of(left, LEFT, node.left_columns, node.left_keys)
    rights = uses_of(right, RIGHT, node.right_columns, node.right_keys)
    inside = {use.source: use.name for use in (*lefts, *rights)}
    assert node.right_time is not None
    operator = TemporalJoinOperator(
        side_of(lefts, node.left_keys),
        side_of(rights, node.right_keys),
        (inside[node.left_time], inside[node.right_time]),
        node.keeps_left,
        pair_condition(node.condition, inside),
    )
    columns = {column.name: inside[column.name] for column in node.output} | ({KIND: KIND} if has_kinds else {})
    inputs = {LEFT: prepare_columns(left, lefts), RIGHT: prepare_columns(right, rights)}
    return host(inputs, operator, node.id, kernel_settings, columns)
