"""A plan as text: one line per step, with the changes it gives and the key they go by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.kafka_tables import KafkaSource
from millstream.connectors.local_tables import DatagenSource, FilesystemSource
from millstream.plan.changelog import describe
from millstream.plan.nodes import Aggregate, Filter, Node, Project, Scan, Write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.tables import Source


def explain(node: Node) -> str:
    return "\n".join(_lines(node, 0))


def _lines(node: Node, depth: int) -> Iterator[str]:
    prefix = "" if depth == 0 else "   " * (depth - 1) + "+- "
    yield f"{prefix}{_step(node)} {describe(node)}"
    if not isinstance(node, Scan):
        yield from _lines(node.input, depth + 1)


def _step(node: Node) -> str:
    match node:
        case Scan():
            columns = ", ".join(column.name for column in node.columns)
            return f"Scan(table=[{node.source.table.name}], columns=[{columns}]{_format(node.source)})"
        case Filter():
            return f"Filter({node.condition.sql(dialect='flink')})"
        case Project():
            items = (f"{item.expression.sql(dialect='flink')} AS {item.name}" for item in node.items)
            return f"Project({', '.join(items)})"
        case Aggregate():
            return f"Aggregate(keys=[{', '.join(node.keys)}], calls=[{', '.join(map(str, node.calls))}])"
        case Write():
            return f"Write(table=[{node.sink.table.name}], connector=[{node.sink.connector}])"


def _format(source: Source) -> str:
    match source:
        case KafkaSource():
            return f", format=[{source.value_format.name}]"
        case FilesystemSource():
            return f", format=[{source.format.name}]"
        case DatagenSource():
            return ""
