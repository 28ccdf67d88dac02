"""Scan: a table is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import INSERT_ONLY
from millstream.plan.operators.node import Node, OutputColumn

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.connectors.tables import Source
    from millstream.plan.operators.node import UpsertKey
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Scan(Node):
    source: Source
    output: tuple[OutputColumn, ...]
    """Those that are decoded: the ones the query needs."""
    span: Span
    id: str = ""

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.output

    @property
    def changelog(self) -> ChangelogMode:
        return self.source.changelog

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        key = self.source.table.primary_key
        return (key,) if key and self.source.changelog != INSERT_ONLY else ()

    @property
    def label(self) -> str:
        columns = ", ".join(column.name for column in self.columns)
        return f"Scan(table=[{self.source.table.name}], columns=[{columns}], {self.source.summary})"

    def declare_state(self) -> dict[str, object] | None:
        return {"reads": self.source.reads}

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        return replace(self, output=tuple(column for column in self.columns if column.name in needed)), ()

    @property
    def updater(self) -> str:
        return f'Table "{self.source.table.name}"'

    @property
    def key_advice(self) -> str:
        return f'Select the primary key of "{self.source.table.name}", each column as it is.'
