"""The old row of an update travels only where somebody needs it, and so does a result that did not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.changelog import RowKind
from millstream.plan.operators.node import Demand, state_ttls
from millstream.plan.operators.roots import Collect

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import N
    from millstream.plan.operators.roots import Root


def settle_before_images(plan: Root, settings: JobSettings) -> Root:
    needed = isinstance(plan, Collect) or (
        RowKind.UPDATE_BEFORE in plan.sink.accepts and not plan.sink.ignores_row_kinds
    )
    return _settle(plan, Demand(needed, state_expires=bool(state_ttls(plan, settings.state_ttl))))


def _settle(node: N, above: Demand) -> N:
    inputs = (_settle(below, wanted) for below, wanted in zip(node.inputs, node.demands(above), strict=True))
    return node.with_inputs(*inputs).settle(above)
