"""An aggregate runs on Spark's own operator where that writes what the kernel would write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.aggregates.registry import aggregate_function
from millstream.catalog.settings import NativeAggregate
from millstream.changelog import INSERT_ONLY, RowKind
from millstream.connectors.local.tables import BlackholeSink
from millstream.plan.nodes import Aggregate, Expand, Filter, Node, Operator, Project, Scan, Values, Write
from millstream.sql.types import NESTED

if TYPE_CHECKING:
    from millstream.plan.nodes import AggregateCall, OutputColumn, Root
    from millstream.plan.settings import PlanSettings


def choose_operators(plan: Root, settings: PlanSettings) -> Root:
    may_be_native = settings.aggregate_native is NativeAggregate.AUTO and not settings.state_expires
    if not may_be_native or not isinstance(plan, Write):
        return plan
    native = _natively(plan.input, needs_before=not isinstance(plan.sink, BlackholeSink))
    return plan if native is None or not _goes_by_key(plan) else replace(plan, input=native)


def on_kernel(plan: Root) -> Root:
    """The same plan for a job that was begun on the kernel."""
    return replace(plan, input=_on_kernel(plan.input))


def _goes_by_key(plan: Write) -> bool:
    """Whether an insert may look like an update; nobody looks at what a blackhole gets."""
    accepts = plan.sink.accepts
    return isinstance(plan.sink, BlackholeSink) or (
        RowKind.UPDATE_AFTER in accepts and RowKind.UPDATE_BEFORE not in accepts
    )


def _natively(node: Node, *, needs_before: bool) -> Node | None:
    """The steps above and including a native aggregate; None where the first one that keeps state cannot be."""
    match node:
        case Filter() | Project():
            below = _natively(node.input, needs_before=needs_before)
            return None if below is None else replace(node, input=below)
        case Aggregate() if not (needs_before and node.emits_before) and _is_exact(node) and _is_stateless(node.input):
            return replace(node, operator=Operator.NATIVE, emits_before=False)
        case _:
            return None


def _is_exact(node: Aggregate) -> bool:
    columns = {column.name: column for column in node.input.columns}
    keys = [columns[key].type for key in node.keys]
    is_plain = bool(keys) and not any(key is None or key.root in NESTED for key in keys)
    # Spark gives every group that a batch touched, changed or not: one call makes sure that it did change.
    forms = [aggregate_function(call.function).native for call in node.calls]
    changes = any(form is not None and form.changes_with_rows for form in forms)
    return is_plain and changes and all(_is_same(call, columns) for call in node.calls)


def _is_same(call: AggregateCall, columns: dict[str, OutputColumn]) -> bool:
    """Whether Spark's result is the kernel's."""
    form = aggregate_function(call.function).native
    if form is None or call.distinct or call.argument is None:
        return form is not None and not call.distinct
    argument = columns[call.argument].type
    return argument is not None and argument.root in form.exact_for


def _is_stateless(node: Node) -> bool:
    """Whether only rows that nobody takes back come from here."""
    match node:
        case Scan():
            return node.source.changelog == INSERT_ONLY
        case Values():
            return True
        case Filter() | Project() | Expand():
            return _is_stateless(node.input)
        case _:
            return False


def _on_kernel(node: Node) -> Node:
    match node:
        case Scan() | Values():
            return node
        case Aggregate():
            return replace(node, operator=Operator.KERNEL, input=_on_kernel(node.input))
        case _:
            return replace(node, input=_on_kernel(node.input))
