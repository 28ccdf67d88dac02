"""A table of upserts, or of change events that may come twice, is brought into order by its primary key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.nodes import Node, Normalise, Scan, Values

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.nodes import Root


def normalise_sources(plan: Root, settings: JobSettings) -> Root:
    return replace(plan, input=_normalised(plan.input, settings))


def _normalised(node: Node, settings: JobSettings) -> Node:
    if isinstance(node, Values):
        return node
    if not isinstance(node, Scan):
        return replace(node, input=_normalised(node.input, settings))
    changes = node.source.changelog
    if changes == INSERT_ONLY:
        return node
    has_before = RowKind.UPDATE_BEFORE in changes
    if has_before and not settings.cdc_events_duplicate:
        return node
    key = node.source.table.primary_key
    if not key:
        raise ScriptError(
            Diagnostic(
                Code.MISSING_PRIMARY_KEY,
                f'table "{node.source.table.name}" needs a primary key, because its change events may come twice',
                node.source.table.span,
                detail="'table.exec.source.cdc-events-duplicate' is true.",
                hint="Add PRIMARY KEY (…) NOT ENFORCED, or RESET the setting.",
            )
        )
    return Normalise(node, key, node.span)
