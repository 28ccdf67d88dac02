"""Expand: every row once per grouping set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from millstream.plan.operators.node import Node, OutputColumn, Unary
from millstream.sql.types import INT

if TYPE_CHECKING:
    from millstream.plan.operators.node import UpsertKey, WindowColumns
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Expand(Unary):
    """NULL stands in the keys that a set leaves out, and the set's number beside them."""

    input: Node
    keys: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    """The keys that each set keeps."""
    number: str
    """The column that holds the number of the set: it keeps the sets apart where their keys are alike."""
    span: Span
    id: str = ""

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        partial = {key for key in self.keys if any(key not in kept for kept in self.sets)}
        columns = (column.or_null() if column.name in partial else column for column in self.input.columns)
        return (*columns, OutputColumn(self.number, INT.not_null()))

    @property
    def rowtimes(self) -> frozenset[str]:
        return self.input.rowtimes

    @property
    def window(self) -> WindowColumns | None:
        return self.input.window if self._keeps_window else None

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        return ()

    @property
    def _keeps_window(self) -> bool:
        """Whether each set has the bounds of the window."""
        window = self.input.window
        return window is not None and all({window.start, window.end} <= {*kept} for kept in self.sets)

    @property
    def label(self) -> str:
        sets = ", ".join(f"({', '.join(kept)})" for kept in self.sets)
        return f"Expand(sets=[{sets}], number=[{self.number}])"

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        return self, ((needed | set(self.keys)) - {self.number},)
