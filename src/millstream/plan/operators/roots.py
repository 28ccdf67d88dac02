"""Where a plan ends: a table that is written, or rows that are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from millstream.plan.operators.node import Node, Unary

if TYPE_CHECKING:
    from millstream.connectors.tables import Sink
    from millstream.plan.operators.node import SortColumn, UpsertKey
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Write(Unary):
    input: Node
    sink: Sink
    span: Span
    id: str = ""

    @property
    def upsert_key(self) -> UpsertKey | None:
        """That of the table, where it is one of the query's."""
        primary = set(self.sink.table.primary_key)
        return next((key for key in self.upsert_keys if set(key) == primary), next(iter(self.upsert_keys), None))

    @property
    def label(self) -> str:
        return f"Write(table=[{self.sink.table.name}], connector=[{self.sink.connector}])"

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:  # noqa: ARG002
        return self, (frozenset(column.name for column in self.columns),)


@dataclass(frozen=True, slots=True)
class ShownOrder:
    columns: tuple[SortColumn, ...]
    hidden: frozenset[str]
    """The columns that are only there to be ordered by."""
    span: Span


@dataclass(frozen=True, slots=True)
class Collect(Unary):
    """The end of a SELECT at the top of a script: its rows are shown."""

    input: Node
    span: Span
    order: ShownOrder | None = None
    """That of ORDER BY without LIMIT."""
    id: str = ""

    @property
    def sorted_by(self) -> tuple[SortColumn, ...]:
        return self.input.sorted_by if self.order is None else self.order.columns

    @property
    def hidden(self) -> frozenset[str]:
        """Columns that are not shown."""
        return frozenset() if self.order is None else self.order.hidden

    @property
    def label(self) -> str:
        return "Show" if self.order is None else f"Show(order=[{', '.join(map(str, self.order.columns))}])"

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:  # noqa: ARG002
        return self, (frozenset(column.name for column in self.columns),)


Root = Write | Collect
