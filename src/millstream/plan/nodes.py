"""The steps of a plan, from the topics that are read to the topic that is written.

Expressions inside a node are sqlglot trees whose columns are columns of the node's input.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

    from millstream.connectors.tables import Sink, Source
    from millstream.source import Span
    from millstream.sql.types import DataType


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    type: DataType | None
    """None where only Spark can tell."""


@dataclass(frozen=True, slots=True)
class Scan:
    source: Source
    columns: tuple[OutputColumn, ...]
    """Those that are decoded: the ones the query needs."""
    span: Span


@dataclass(frozen=True, slots=True)
class Filter:
    input: Node
    condition: exp.Expr
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class ProjectItem:
    name: str
    expression: exp.Expr
    type: DataType | None


@dataclass(frozen=True, slots=True)
class Project:
    input: Node
    items: tuple[ProjectItem, ...]
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return tuple(OutputColumn(item.name, item.type) for item in self.items)


class AggregateFunction(StrEnum):
    COUNT_STAR = "COUNT(*)"
    COUNT = "COUNT"
    SUM = "SUM"


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """`name` is the column that holds the result; `argument` a column of the input."""

    name: str
    function: AggregateFunction
    argument: str | None
    distinct: bool
    type: DataType | None

    def __str__(self) -> str:
        if self.argument is None:
            return f"COUNT(*) AS {self.name}"
        return f"{self.function}({'DISTINCT ' if self.distinct else ''}{self.argument}) AS {self.name}"


@dataclass(frozen=True, slots=True)
class Aggregate:
    input: Node
    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        types = {column.name: column.type for column in self.input.columns}
        keys = tuple(OutputColumn(key, types[key]) for key in self.keys)
        return keys + tuple(OutputColumn(call.name, call.type) for call in self.calls)


@dataclass(frozen=True, slots=True)
class Write:
    input: Node
    sink: Sink
    span: Span

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.input.columns


Node = Scan | Filter | Project | Aggregate | Write


def sources(node: Node) -> tuple[Source, ...]:
    """The tables a plan reads."""
    return (node.source,) if isinstance(node, Scan) else sources(node.input)
