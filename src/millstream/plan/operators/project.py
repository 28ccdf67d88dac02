"""Project: columns computed from those of the input, row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Self

from millstream.plan.casts import keeps_apart
from millstream.plan.operators.node import Node, OutputColumn, Unary
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import InputColumn, columns_in, is_processing_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.plan.operators.node import SortColumn, UpsertKey, WindowColumns
    from millstream.plan.typed import Typed
    from millstream.source import Span
    from millstream.sql.types import DataType


@dataclass(frozen=True, slots=True)
class ProjectItem:
    name: str
    expression: Typed
    type: DataType
    """The column's; the expression is cast to it."""

    @property
    def is_plain(self) -> bool:
        """Whether it is a column of the input as it is."""
        return isinstance(self.expression, InputColumn) and self.expression.type == self.type

    @property
    def is_selection(self) -> bool:
        """Whether it is a column of the input in every row, whatever is known of NULLs in it."""
        return isinstance(self.expression, InputColumn) and self.expression.type.not_null() == self.type.not_null()


@dataclass(frozen=True, slots=True)
class Project(Unary):
    input: Node
    items: tuple[ProjectItem, ...]
    span: Span
    id: str = ""

    @classmethod
    def of_columns(cls, node: Node, columns: Iterable[OutputColumn], span: Span) -> Self:
        """Just these columns of a node."""
        items = (ProjectItem(column.name, InputColumn(column.name, column.type), column.type) for column in columns)
        return cls(node, tuple(items), span)

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return tuple(OutputColumn(item.name, item.type) for item in self.items)

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        kept = {
            item.expression.name: item.name
            for item in reversed(self.items)
            if isinstance(item.expression, InputColumn) and keeps_apart(item.expression.type, item.type)
        }
        keys = (key for key in self.input.upsert_keys if kept.keys() >= set(key))
        return tuple(tuple(kept[name] for name in key) for key in keys)

    @property
    def rowtimes(self) -> frozenset[str]:
        return self._passed_on(self.input.rowtimes)

    @property
    def proctimes(self) -> frozenset[str]:
        computed = frozenset(item.name for item in self.items if is_processing_time(item.expression))
        return self._passed_on(self.input.proctimes) | computed

    @property
    def window(self) -> WindowColumns | None:
        columns = ((item.name, item.expression) for item in reversed(self.items) if item.is_selection)
        names = {column.name: name for name, column in columns if isinstance(column, InputColumn)}
        return self.input.window and self.input.window.renamed(names)

    def _passed_on(self, names: frozenset[str]) -> frozenset[str]:
        """Columns of the input, as they are called here."""
        columns = ((item.name, item.expression) for item in self.items if item.is_selection)
        return frozenset(name for name, column in columns if isinstance(column, InputColumn) and column.name in names)

    @property
    def sorted_by(self) -> tuple[SortColumn, ...]:
        """As far as the columns of the order are selected."""
        kept = {
            item.expression.name: item.name
            for item in reversed(self.items)
            if isinstance(item.expression, InputColumn) and item.is_selection
        }
        known = takewhile(lambda column: column.name in kept, self.input.sorted_by)
        return tuple(replace(column, name=kept[column.name]) for column in known)

    @property
    def label(self) -> str:
        return f"Project({', '.join(f'{sql_text(item.expression)} AS {item.name}' for item in self.items)})"

    @property
    def expressions(self) -> tuple[Typed, ...]:
        return tuple(item.expression for item in self.items)

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        items = tuple(item for item in self.items if item.name in needed)
        below = frozenset[str]().union(*(columns_in(item.expression) for item in items))
        return replace(self, items=items), (below,)
