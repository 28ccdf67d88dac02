"""Lookup: each row with the rows that a table has for it at that moment; Flink's lookup join."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.plan.operators.node import Demand, Node, Unary
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import columns_in

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import OutputColumn, UpsertKey, WindowColumns
    from millstream.plan.typed import Typed
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Lookup(Unary):
    """A row of the result never changes, whatever becomes of the table.

    The columns of both sides have different names; keys are paired by their places.
    """

    input: Node
    table: Node
    """What is looked up: a scan, and what is computed from its columns. It is no input: its rows make no batch."""
    input_keys: tuple[str, ...]
    table_keys: tuple[str, ...]
    is_outer: bool
    """Whether a row without a match is kept, with NULL in the columns of the table."""
    condition: Typed | None
    """What else must be true of a match."""
    output: tuple[OutputColumn, ...]
    span: Span
    id: str = ""

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.output

    @property
    def looked_up(self) -> tuple[Node, ...]:
        return (self.table,)

    @property
    def changelog(self) -> ChangelogMode:
        return self.input.changelog

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        """A row may match several."""
        return ()

    @property
    def rowtimes(self) -> frozenset[str]:
        return self.input.rowtimes & set(self.column_types())

    @property
    def window(self) -> WindowColumns | None:
        return self.input.window and self.input.window.among(self.column_types())

    @property
    def label(self) -> str:
        pairs = zip(self.input_keys, self.table_keys, strict=True)
        keys = ", ".join(f"{one} = {other}" for one, other in pairs)
        condition = "" if self.condition is None else f", where=[{sql_text(self.condition)}]"
        return f"Lookup(table=[{self._scan_label}], type=[{self._kind}], keys=[{keys}]{condition})"

    @property
    def _kind(self) -> str:
        return "left" if self.is_outer else "inner"

    @property
    def _scan_label(self) -> str:
        node = self.table
        while node.inputs:
            [node] = node.inputs
        return node.label

    @property
    def expressions(self) -> tuple[Typed, ...]:
        return () if self.condition is None else (self.condition,)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        """A row that is given again, only to keep state above alive, might find another one in the table."""
        return (replace(above, keeps_state=False),)

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        output = tuple(column for column in self.output if column.name in needed)
        read = needed | (frozenset() if self.condition is None else columns_in(self.condition))
        below = frozenset(self.input.column_types())
        table = _prune(self.table, (read - below) | set(self.table_keys))
        return replace(self, output=output, table=table), ((read & below) | set(self.input_keys),)


def _prune(node: Node, needed: frozenset[str]) -> Node:
    """What replaces rows by their primary key needs that key, too; the scan's own columns keep it."""
    pruned, of_inputs = node.prune(needed | _kept(node))
    return pruned.with_inputs(*(_prune(below, wanted) for below, wanted in zip(node.inputs, of_inputs, strict=True)))


def _kept(node: Node) -> frozenset[str]:
    return frozenset(name for key in node.upsert_keys[:1] for name in key)
