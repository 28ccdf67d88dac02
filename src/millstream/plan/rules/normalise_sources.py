"""A table of upserts, or of change events that may come twice, is brought into order by its primary key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.definitions import definitions
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.normalise import Normalise
from millstream.plan.operators.project import Project
from millstream.plan.operators.scan import Scan
from millstream.plan.typed import InputColumn, substitute

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root


def normalise_sources(plan: Root, settings: JobSettings) -> Root:
    def normalise(node: Node) -> Node:
        if isinstance(node, AssignWatermark):
            return _assign_below(node)
        return Normalise(node, _key(node), node.span) if _needs_order(node, settings) else node

    def visit(node: Node) -> Node:
        return normalise(node.with_inputs(*(b if b in node.reads_upserts else visit(b) for b in node.inputs)))

    return plan.with_inputs(*map(visit, plan.inputs))


def _assign_below(node: AssignWatermark) -> Node:
    """The time of a row counts where it is read: behind an exchange, nobody knows which partition it is from."""
    [rows] = node.inputs
    lower = definitions(rows)
    expression = substitute(node.expression, lambda column: lower[column.name])
    column = lower[node.column]
    name = column.name if isinstance(column, InputColumn) else node.column

    def assign(below: Node) -> Node:
        match below:
            case Project():
                return below.with_inputs(*map(assign, below.inputs))
            case Normalise():
                moved = replace(node, column=name, expression=expression)
                return below.with_inputs(*map(moved.with_inputs, below.inputs))
            case _:
                return below

    changed = assign(rows)
    return node if changed is rows else changed


def _needs_order(node: Node, settings: JobSettings) -> bool:
    if not isinstance(node, Scan) or node.changelog == INSERT_ONLY:
        return False
    return RowKind.UPDATE_BEFORE not in node.changelog or settings.cdc_events_duplicate


def _key(node: Node) -> tuple[str, ...]:
    assert isinstance(node, Scan)
    table = node.source.table
    if not table.primary_key:
        raise ScriptError(
            Diagnostic(
                Code.MISSING_PRIMARY_KEY,
                f'table "{table.name}" needs a primary key, because its change events may be duplicated',
                table.span,
                detail="'table.exec.source.cdc-events-duplicate' is true.",
                hint="Add PRIMARY KEY (…) NOT ENFORCED, or RESET the setting.",
            )
        )
    return table.primary_key
