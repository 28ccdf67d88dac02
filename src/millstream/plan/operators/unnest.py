"""Unnest: every row once per element of a collection, with the element beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from millstream.changelog import INSERT_ONLY
from millstream.plan.operators.node import Demand, Node, OutputColumn, Unary

if TYPE_CHECKING:
    from millstream.plan.operators.node import UpsertKey, WindowColumns
    from millstream.source import Span
    from millstream.sql.types import DataType


class PartKind(StrEnum):
    """What a column holds of an element."""

    ELEMENT = "element"
    FIELD = "field"
    KEY = "key"
    VALUE = "value"
    ORDINALITY = "ordinality"


@dataclass(frozen=True, slots=True)
class ElementPart:
    """A column with a part of each element."""

    name: str
    type: DataType
    kind: PartKind
    field: str = ""
    """Of a ROW."""


@dataclass(frozen=True, slots=True)
class Unnest(Unary):
    """An element of a MULTISET comes as often as it is in it. A NULL collection has no elements, as an empty one."""

    input: Node
    collection: str
    """The column of the input that holds it."""
    kept: tuple[str, ...]
    """The columns of the input that stay."""
    parts: tuple[ElementPart, ...]
    keeps_rows: bool
    """LEFT JOIN: a row without elements stays, with NULL in the parts."""
    span: Span
    id: str = ""

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        types = self.input.column_types()
        kept = tuple(OutputColumn(name, types[name]) for name in self.kept)
        return kept + tuple(OutputColumn(part.name, part.type) for part in self.parts)

    @property
    def collection_type(self) -> DataType:
        return self.input.column_types()[self.collection]

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        """A key of the input, with the position of the element; without it, nothing tells a row's elements apart."""
        position = next((part.name for part in self.parts if part.kind is PartKind.ORDINALITY), None)
        if position is None or self.keeps_rows:
            return ()
        return tuple((*key, position) for key in self.input.upsert_keys if set(key) <= set(self.kept))

    @property
    def rowtimes(self) -> frozenset[str]:
        return self.input.rowtimes & set(self.kept)

    @property
    def window(self) -> WindowColumns | None:
        return self.input.window and self.input.window.among(self.kept)

    @property
    def label(self) -> str:
        names = ", ".join(part.name for part in self.parts)
        return f"Unnest(type=[{'left' if self.keeps_rows else 'inner'}], {self.collection} AS [{names}])"

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        """One part stays: rows are made by what is beside them."""
        kept = tuple(name for name in self.kept if name in needed)
        parts = tuple(part for part in self.parts if part.name in needed) or self.parts[:1]
        return replace(self, kept=kept, parts=parts), (frozenset({*kept, self.collection}),)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        """An updated row may have fewer elements than before; only its old image tells which are gone."""
        return (replace(above, needs_before=above.needs_before or self.input.changelog != INSERT_ONLY),)
