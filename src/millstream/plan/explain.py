"""A plan as text: one line per step, with the changes it gives and the key they go by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.changelog import describe
from millstream.plan.nodes import (
    Aggregate,
    Collect,
    Expand,
    Filter,
    Materialise,
    Node,
    Normalise,
    Operator,
    Project,
    Scan,
    Values,
    Write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def explain(node: Node) -> str:
    return "\n".join(_lines(node, 0))


def _lines(node: Node, depth: int) -> Iterator[str]:
    prefix = "" if depth == 0 else "   " * (depth - 1) + "+- "
    yield f"{prefix}{_step(node)} {describe(node)}"
    if not isinstance(node, Scan | Values):
        yield from _lines(node.input, depth + 1)


def _step(node: Node) -> str:
    match node:
        case Scan() | Values():
            return _read(node)
        case Filter():
            return f"Filter({node.condition.sql(dialect='flink')})"
        case Project():
            items = (f"{item.expression.sql(dialect='flink')} AS {item.name}" for item in node.items)
            return f"Project({', '.join(items)})"
        case Expand():
            sets = ", ".join(f"({', '.join(kept)})" for kept in node.sets)
            return f"Expand(sets=[{sets}], number=[{node.number}])"
        case Aggregate() | Normalise() | Materialise():
            return _stateful(node)
        case Write():
            return f"Write(table=[{node.sink.table.name}], connector=[{node.sink.connector}])"
        case Collect():
            return "Show"


def _stateful(node: Aggregate | Normalise | Materialise) -> str:
    """A step that keeps state, and what runs it."""
    keys, operator = f"keys=[{', '.join(node.keys)}]", Operator.KERNEL
    if isinstance(node, Aggregate):
        keys, operator = f"{keys}, calls=[{', '.join(map(str, node.calls))}]", node.operator
    return f"{type(node).__name__}({keys}) [{operator}]"


def _read(node: Scan | Values) -> str:
    if isinstance(node, Values):
        rows = "; ".join(", ".join(value.sql(dialect="flink") for value in row) for row in node.rows)
        return f"Values([{rows}])"
    columns = ", ".join(column.name for column in node.columns)
    shared = f", shared by=[{', '.join(node.shared_by)}]" if node.shared_by else ""
    return f"Scan(table=[{node.source.table.name}], columns=[{columns}], {node.source.summary}{shared})"
