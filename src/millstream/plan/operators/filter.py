"""Filter: rows for which a condition is true; WHERE and HAVING."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import INSERT_ONLY
from millstream.plan.operators.node import Demand, Node, Unary
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import columns_in

if TYPE_CHECKING:
    from millstream.plan.operators.node import SortColumn, WindowColumns
    from millstream.plan.typed import Typed
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Filter(Unary):
    input: Node
    condition: Typed
    span: Span
    id: str = ""

    @property
    def label(self) -> str:
        return f"Filter({sql_text(self.condition)})"

    @property
    def rowtimes(self) -> frozenset[str]:
        return self.input.rowtimes

    @property
    def window(self) -> WindowColumns | None:
        return self.input.window

    @property
    def sorted_by(self) -> tuple[SortColumn, ...]:
        return self.input.sorted_by

    @property
    def expressions(self) -> tuple[Typed, ...]:
        return (self.condition,)

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        return self, (needed | columns_in(self.condition),)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        return (replace(above, needs_before=above.needs_before or self._may_drop_updated_rows),)

    @property
    def _may_drop_updated_rows(self) -> bool:
        """Whether an update may turn a row that matched into one that does not; only its old image tells."""
        if self.input.changelog == INSERT_ONLY:
            return False
        return not columns_in(self.condition) <= set(self.input.upsert_key or ())
