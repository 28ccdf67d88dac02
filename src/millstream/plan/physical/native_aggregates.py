"""Which aggregates run on Spark's own operator: those of which it writes what the kernel would write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.aggregates.registry import aggregate_function
from millstream.changelog import goes_by_key
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import walk
from millstream.plan.operators.project import Project
from millstream.plan.operators.roots import Write
from millstream.sql.types import NESTED

if TYPE_CHECKING:
    from millstream.plan.operators.aggregate import AggregateCall
    from millstream.plan.operators.roots import Root
    from millstream.sql.types import DataType


def native_aggregate_of(root: Root) -> Aggregate | None:
    """The aggregate that can run natively; it is the only operator with state of its plan."""
    if not isinstance(root, Write) or not _may_see_updates_for_inserts(root):
        return None
    [node] = root.inputs
    while isinstance(node, Filter | Project):
        [node] = node.inputs
    if not isinstance(node, Aggregate) or node.emits_before or not _is_exact(node):
        return None
    [below] = node.inputs
    is_alone = not any(other.keeps_state for other in walk(below))
    return node if is_alone and below.is_insert_only else None


def _may_see_updates_for_inserts(root: Write) -> bool:
    return root.sink.ignores_row_kinds or goes_by_key(root.sink.accepts)


def _is_exact(node: Aggregate) -> bool:
    [below] = node.inputs
    types = below.column_types()
    is_plain = bool(node.keys) and not any(types[key].root in NESTED for key in node.keys)
    # Spark gives every group that a batch touched, changed or not: one call makes sure that it did change.
    forms = [aggregate_function(call.function).native for call in node.calls]
    changes = any(form is not None and form.changes_with_rows for form in forms)
    return is_plain and changes and all(_is_same(call, types) for call in node.calls)


def _is_same(call: AggregateCall, types: dict[str, DataType]) -> bool:
    """Whether Spark's result is the kernel's."""
    form = aggregate_function(call.function).native
    if form is None or call.distinct:
        return False
    return call.argument is None or types[call.argument].root in form.exact_for
