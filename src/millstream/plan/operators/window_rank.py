"""WindowRank: the first rows of each group of a window, when it has ended; Flink's WindowRank, WindowDeduplicate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import INSERT_ONLY
from millstream.plan.operators.rank import Rank

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import Demand, UpsertKey


@dataclass(frozen=True, slots=True)
class WindowRank(Rank):
    """Reads inserts; the start and the end of the window are among the keys."""

    @classmethod
    def of(cls, rank: Rank) -> Self:
        return cls(rank.input, rank.keys, rank.order, rank.ties, rank.limit, rank.rank, rank.span)

    @property
    def changelog(self) -> ChangelogMode:
        return INSERT_ONLY

    @property
    def is_insert_only(self) -> bool:
        return True

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        if self.limit == 1:
            return (self.keys,)
        return () if self.rank is None else ((*self.keys, self.rank),)

    @property
    def end(self) -> str:
        assert self.window is not None
        return self.window.end

    @property
    def needs_time(self) -> bool:
        return not self.follows_clock

    @property
    def follows_clock(self) -> bool:
        """Where the windows are of processing time."""
        assert self.window is not None
        return not self.window.is_event_time

    @property
    def label(self) -> str:
        return f"Window{Rank.label.fget(self)}"  # type: ignore[attr-defined]

    def declare_state(self) -> dict[str, object] | None:
        assert self.window is not None
        return {"windows": self.window.declared, **(Rank.declare_state(self) or {})}

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        """Its rows are never given again: a TTL is of no effect on the state of windows."""
        return (replace(above, needs_before=True, keeps_state=False),)

    def settle(self, above: Demand) -> Self:  # noqa: ARG002
        return self
