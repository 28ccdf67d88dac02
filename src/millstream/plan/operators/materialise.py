"""Materialise: rows of the query that claim one key of the sink; Flink's SinkUpsertMaterializer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.changelog import UPSERTS
from millstream.plan.definitions import declare_columns
from millstream.plan.operators.node import KeyedState, Node

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Materialise(KeyedState):
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
    def label(self) -> str:
        return f"Materialise(keys=[{', '.join(self.keys)}])"

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return (*self.keys, *self.replaced_by)

    def declare_state(self) -> dict[str, object] | None:
        columns = declare_columns(self.input)
        return {"columns": columns, "keys": list(self.keys), "replaced_by": list(self.replaced_by)}
