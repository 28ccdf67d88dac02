"""Materialise: rows of the query that claim one key of the sink; Flink's SinkUpsertMaterializer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import UPSERTS
from millstream.plan.definitions import declare_columns
from millstream.plan.operators.node import Demand, Node, Unary

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import UpsertKey
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Materialise(Unary):
    """The latest row of a key is written, and the one before it again when the latest is retracted."""

    input: Node
    keys: tuple[str, ...]
    replaced_by: tuple[str, ...]
    """By which the query's rows replace each other; empty where they are retracted whole."""
    span: Span
    id: str = ""

    @property
    def changelog(self) -> ChangelogMode:
        return UPSERTS

    @property
    def is_insert_only(self) -> bool:
        return False

    @property
    def upsert_key(self) -> UpsertKey | None:
        return self.keys

    @property
    def label(self) -> str:
        return f"Materialise(keys=[{', '.join(self.keys)}])"

    @property
    def keeps_state(self) -> bool:
        return True

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.keys

    def declare_state(self) -> dict[str, object] | None:
        columns = declare_columns(self.input)
        return {"columns": columns, "keys": list(self.keys), "replaced_by": list(self.replaced_by)}

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        return self, (needed | set(self.keys),)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        return (replace(above, needs_before=True, keeps_state=True),)
