"""Normalise: upserts and tombstones become a changelog; Flink's ChangelogNormalize."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import UPSERTS, RowKind
from millstream.plan.definitions import declare_columns
from millstream.plan.operators.node import Demand, KeyedState, Node

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import WindowColumns
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Normalise(KeyedState):
    """What a row does depends on the row that its key had."""

    input: Node
    keys: tuple[str, ...]
    span: Span
    emits_before: bool = False
    id: str = ""

    @property
    def changelog(self) -> ChangelogMode:
        return UPSERTS | {RowKind.UPDATE_BEFORE} if self.emits_before else UPSERTS

    @property
    def rowtimes(self) -> frozenset[str]:
        return self.input.rowtimes

    @property
    def window(self) -> WindowColumns | None:
        return self.input.window

    @property
    def label(self) -> str:
        return f"Normalise(keys=[{', '.join(self.keys)}])"

    def declare_state(self) -> dict[str, object] | None:
        return {"columns": declare_columns(self.input), "keys": list(self.keys)}

    def settle(self, above: Demand) -> Self:
        return replace(self, emits_before=above.needs_before)

    @property
    def updater(self) -> str:
        return self.input.updater

    @property
    def key_advice(self) -> str:
        return self.input.key_advice
