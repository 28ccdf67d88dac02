"""WindowAggregate: GROUP BY a window, and maybe more; a group has one row, when its window has ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from millstream.changelog import INSERT_ONLY
from millstream.plan.operators.aggregate import Grouping

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.aggregate import AggregateCall
    from millstream.plan.operators.node import Demand, Node, WindowColumns
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class WindowAggregate(Grouping):
    """Its state is that of open windows, and a TTL is of no effect on it."""

    input: Node
    keys: tuple[str, ...]
    """The start and the end of the window are among them."""
    calls: tuple[AggregateCall, ...]
    span: Span
    id: str = ""

    @property
    def changelog(self) -> ChangelogMode:
        return INSERT_ONLY

    @property
    def is_insert_only(self) -> bool:
        return True

    @property
    def rowtimes(self) -> frozenset[str]:
        return self.input.rowtimes & set(self.keys)

    @property
    def window(self) -> WindowColumns | None:
        window = self.input.window
        return window and window.among(self.keys)

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

    def declare_state(self) -> dict[str, object] | None:
        assert self.window is not None
        return {"windows": self.window.declared, **(Grouping.declare_state(self) or {})}

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        return (replace(above, needs_before=True, keeps_state=False),)
