"""A watermark is computed only where an operator above depends on it, and there it is settled when a split is idle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.plan.operators.assign_watermark import AssignWatermark

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root


def drop_watermarks(plan: Root, settings: JobSettings) -> Root:
    return plan.with_inputs(*(_drop(below, settings, is_needed=False) for below in plan.inputs))


def _drop(node: Node, settings: JobSettings, *, is_needed: bool) -> Node:
    inputs = [_drop(below, settings, is_needed=is_needed or node.needs_time) for below in node.inputs]
    if not isinstance(node, AssignWatermark):
        return node.with_inputs(*inputs)
    if not is_needed:
        return inputs[0]
    idle_after = settings.source_idle_timeout if node.idle_after is None else node.idle_after
    return replace(node, input=inputs[0], idle_after=idle_after)
