"""Refuses random values where an exactly-once job would depend on them.

A repeated batch draws other values. In a key, a row that one writer has already written would go to another writer, or
the other way round; below an aggregate, the results that are written would not match the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.kafka.sink_options import SINK_PARALLELISM
from millstream.errors import Code, Diagnostic
from millstream.plan.definitions import definitions, expressions_below
from millstream.plan.functions.registry import RANDOM_FUNCTIONS
from millstream.plan.operators.node import walk
from millstream.plan.operators.roots import Write
from millstream.plan.typed import functions_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.tables import Sink
    from millstream.plan.operators.node import Node
    from millstream.plan.program import JobPlan
    from millstream.plan.typed import Typed
    from millstream.source import Span


def random_keys(job: JobPlan) -> Iterator[Diagnostic]:
    for root in job.roots:
        if isinstance(root, Write) and root.sink.is_exactly_once:
            yield from _in_sink(root, root.sink)
            yield from _in_query(root, root.sink)


def _in_sink(root: Write, sink: Sink) -> Iterator[Diagnostic]:
    """Without a key, rows are spread by all of their columns."""
    if sink.parallelism is None:
        return
    names = sink.exchange_keys or tuple(column.name for column in root.columns)
    [below] = root.inputs
    defined = definitions(below)
    drawn = {function for name in names if name in defined for function in _random_in(defined[name])}
    if drawn:
        yield _refusal(drawn, f"'{SINK_PARALLELISM.key}' spreads rows by values", root.span, sink)


def _in_query(node: Node, sink: Sink) -> Iterator[Diagnostic]:
    """Everything that goes into the last stateful operators."""
    if not node.keeps_state:
        for below in node.inputs:
            yield from _in_query(below, sink)
        return
    inputs = (expression for below in node.inputs for expression in expressions_below(below))
    drawn = {function for expression in inputs for function in _random_in(expression)}
    drawn |= {"a table that is looked up" for below in node.inputs for each in walk(below) if each.looked_up}
    if drawn:
        yield _refusal(drawn, "its state is made of rows", node.span, sink)


def _refusal(drawn: set[str], what: str, span: Span, sink: Sink) -> Diagnostic:
    return Diagnostic(
        Code.CONFLICTING_OPTIONS,
        f'table "{sink.table.name}" is written exactly once, and {what} that depend on {", ".join(sorted(drawn))}',
        span,
        detail="A replayed batch has other values: a row could be missing or duplicated.",
        hint="Use a column of the table that is read, or 'sink.delivery-guarantee' = 'at-least-once'.",
    )


def _random_in(expression: Typed) -> frozenset[str]:
    return functions_in(expression) & RANDOM_FUNCTIONS
