"""A watermark is computed only where an operator above depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.operators.assign_watermark import AssignWatermark

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root


def drop_watermarks(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    return plan.with_inputs(*(_drop(below, is_needed=False) for below in plan.inputs))


def _drop(node: Node, *, is_needed: bool) -> Node:
    inputs = [_drop(below, is_needed=is_needed or node.needs_time) for below in node.inputs]
    if isinstance(node, AssignWatermark) and not is_needed:
        return inputs[0]
    return node.with_inputs(*inputs)
