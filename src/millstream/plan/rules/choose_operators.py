"""An aggregate runs on Spark's own operator where that writes what the kernel would write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.aggregates import AggregateFunction as Function
from millstream.catalog.settings import NativeAggregate
from millstream.changelog import INSERT_ONLY, RowKind
from millstream.plan.nodes import Aggregate, Expand, Filter, Node, Operator, Project, Scan, Values, Write
from millstream.sql.types import CHARACTER, INTEGERS, NESTED, NUMERIC, TIMESTAMPS, TypeRoot

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.nodes import AggregateCall, OutputColumn, Root

_ORDERED: Final = NUMERIC | CHARACTER | TIMESTAMPS | {TypeRoot.DATE, TypeRoot.BOOLEAN}
_EXACT: Final = {
    Function.COUNT: frozenset(TypeRoot),
    # The last digit of a sum of floats depends on the order, and a batch that is done again may have another.
    Function.SUM: INTEGERS | {TypeRoot.DECIMAL},
    Function.AVG: INTEGERS,
    Function.MIN: _ORDERED,
    Function.MAX: _ORDERED,
}
"""Per function the arguments of which both operators make the same result."""
_GROWING: Final = frozenset({Function.COUNT_STAR, Function.SUM})
"""Spark gives every group that a batch touched, changed or not: one of these makes sure that it did change."""


def choose_operators(plan: Root, settings: JobSettings) -> Root:
    may_be_native = settings.aggregate_native is NativeAggregate.AUTO and not settings.state_expires
    if not may_be_native or not isinstance(plan, Write):
        return plan
    native = _natively(plan.input, needs_before=not plan.sink.ignores_row_kinds)
    return plan if native is None or not _goes_by_key(plan) else replace(plan, input=native)


def on_kernel(plan: Root) -> Root:
    """The same plan for a job that was begun on the kernel."""
    return replace(plan, input=_on_kernel(plan.input))


def _goes_by_key(plan: Write) -> bool:
    """Whether an insert may look like an update; nobody looks at what a blackhole gets."""
    accepts = plan.sink.accepts
    by_key = RowKind.UPDATE_AFTER in accepts and RowKind.UPDATE_BEFORE not in accepts
    return plan.sink.ignores_row_kinds or by_key


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
    grows = any(call.function in _GROWING for call in node.calls)
    return is_plain and grows and all(_is_same(call, columns) for call in node.calls)


def _is_same(call: AggregateCall, columns: dict[str, OutputColumn]) -> bool:
    if call.function is Function.COUNT_STAR:
        return True
    argument = columns[call.argument].type if call.argument is not None else None
    return not call.distinct and argument is not None and argument.root in _EXACT.get(call.function, ())


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
