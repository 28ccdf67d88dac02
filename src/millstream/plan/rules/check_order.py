"""Refuse to sort rows without a last one, or ones that are shown as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.catalog.settings_of_flink import ResultMode
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.node import walk
from millstream.plan.operators.roots import Collect
from millstream.plan.operators.scan import Scan
from millstream.sql.alternatives import ALTERNATIVES

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.roots import Root


def check_order(plan: Root, settings: JobSettings) -> Root:
    if not isinstance(plan, Collect) or plan.order is None:
        return plan
    unbounded = [node.source.table.name for node in walk(plan) if isinstance(node, Scan) and not node.source.is_bounded]
    if unbounded:
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "ORDER BY is not supported yet",
                plan.order.span,
                detail=f'Table "{unbounded[0]}" has no end: there is always a row to come.',
                hint=ALTERNATIVES["ORDER BY"],
            )
        )
    if settings.result_mode not in (None, ResultMode.TABLE):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                f"ORDER BY without LIMIT is not possible in result mode {settings.result_mode}",
                plan.order.span,
                detail="Changes are shown as they come.",
                hint="SET 'sql-client.execution.result-mode' = 'table'.",
            )
        )
    return plan
