"""Interval joins on the kernel host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.changelog import KIND
from millstream.kernels.interval_join import IntervalJoinOperator, TimeBounds
from millstream.kernels.operator import LEFT, RIGHT
from millstream.spark.join import pair_condition, side_of, uses_of
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import prepare_columns

if TYPE_CHECKING:
    from millstream.plan.operators.interval_join import IntervalJoin
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import InputRows, PythonStage


def join_in_time(
    left: InputRows, right: InputRows, node: IntervalJoin, kernel_settings: KernelSettings, *, has_kinds: bool
) -> PythonStage:
    lefts = uses_of(left, LEFT, node.left_columns, node.left_keys)
    rights = uses_of(right, RIGHT, node.right_columns, node.right_keys)
    inside = {use.source: use.name for use in (*lefts, *rights)}
    interval = node.interval
    operator = IntervalJoinOperator(
        side_of(lefts, node.left_keys),
        side_of(rights, node.right_keys),
        TimeBounds(interval.lower, interval.upper),
        (inside[interval.left_time], inside[interval.right_time]),
        node.kind,
        pair_condition(node.condition, inside),
    )
    columns = {column.name: inside[column.name] for column in node.output} | ({KIND: KIND} if has_kinds else {})
    inputs = {LEFT: prepare_columns(left, lefts), RIGHT: prepare_columns(right, rights)}
    return host(inputs, operator, node.id, kernel_settings, columns)
