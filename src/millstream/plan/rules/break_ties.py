"""What decides between rows that a Rank finds equal: their arrival, where that does not depend on the batches.

The order of PROCTIME() is that of arrival, for OVER too, and no column is needed for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.definitions import definitions
from millstream.plan.operators.node import transform, walk
from millstream.plan.operators.over import Over, OverOrder
from millstream.plan.operators.rank import Rank, Ties
from millstream.plan.typed import is_processing_time

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root


def break_ties(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    return plan.with_inputs(*(transform(below, _break_ties) for below in plan.inputs))


def check_arrival(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    """With a TTL, a join below may have to give rows again, which would be others to a Rank that goes by arrival."""
    for node in walk(plan):
        match node:
            case Over(by_arrival=True) | Rank(ties=Ties.FIRST | Ties.LAST):
                _require_inserts(node)
    return plan


def _break_ties(node: Node) -> Node:
    """Rows in the order of PROCTIME() are in that of their arrival, which also decides between equal inserts.

    Behind an operator with state, the order of arrival depends on how batches are cut.
    """
    if isinstance(node, Over) and node.ordered_by is OverOrder.PROCESSING_TIME:
        return replace(node, order=(), by_arrival=True)
    if not isinstance(node, Rank):
        return node
    [below] = node.inputs
    defined = definitions(below)
    for place, column in enumerate(node.order):
        if is_processing_time(defined[column.name]):
            _require_inserts(node)
            ties = Ties.LAST if column.descending else Ties.FIRST
            return replace(node, order=node.order[:place], ties=ties)
    if not node.reads_inserts or any(each.keeps_state for each in walk(below)):
        return node
    # Of the latest rows by an event time, Flink keeps the last to arrive.
    is_latest = node.limit == 1 and [column.name in below.rowtimes for column in node.order] == [True]
    return replace(node, ties=Ties.LAST if is_latest and node.order[0].descending else Ties.FIRST)


def _require_inserts(node: Rank | Over) -> None:
    if node.reads_inserts:
        return
    what = "ROW_NUMBER()" if isinstance(node, Rank) else "OVER"
    why = f"{what} by processing time over rows that are updated is not supported yet"
    raise ScriptError(
        Diagnostic(
            Code.UNSUPPORTED_EXPRESSION,
            why,
            node.span,
            hint="Order by a column of the rows instead, e.g. the time of the change.",
        )
    )
