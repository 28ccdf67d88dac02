"""WindowJoin: rows of the same window are joined when the window has ended."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import INSERT_ONLY
from millstream.plan.operators.join import Join

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import Demand, UpsertKey, WindowColumns


@dataclass(frozen=True, slots=True)
class WindowJoin(Join):
    """Reads inserts of both sides, which are in windows; their starts and ends are among the keys, as pairs."""

    @classmethod
    def of(cls, join: Join) -> Self:
        parts = {part.name: getattr(join, part.name) for part in fields(join)}
        return cls(**parts | {"left_ttl": None, "right_ttl": None})

    @property
    def changelog(self) -> ChangelogMode:
        return INSERT_ONLY

    @property
    def is_insert_only(self) -> bool:
        return True

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        return ()

    def keeps_all_rows(self, ttl: timedelta) -> bool:  # noqa: ARG002
        return False

    def describe_layout(self, has_kinds: Sequence[bool]) -> str:  # noqa: ARG002
        return ""

    @property
    def ends(self) -> tuple[str, str]:
        """Of the window of each side."""
        assert self.left.window is not None
        assert self.right.window is not None
        return self.left.window.end, self.right.window.end

    @property
    def window(self) -> WindowColumns | None:
        """That of a side whose columns are never NULL."""
        sides = (
            (self.left, not self.kind.keeps_right),
            (self.right, self.kind.gives_pairs and not self.kind.keeps_left),
        )
        names = [column.name for column in self.output]
        found = (side.window.among(names) for side, is_full in sides if is_full and side.window is not None)
        return next((window for window in found if window is not None), None)

    @property
    def rowtimes(self) -> frozenset[str]:
        """The last moment of the window."""
        window = self.window
        of_sides = self.left.rowtimes | self.right.rowtimes
        return frozenset() if window is None or window.time is None else of_sides & {window.time}

    @property
    def needs_time(self) -> bool:
        return not self.follows_clock

    @property
    def follows_clock(self) -> bool:
        """Where the windows are of processing time."""
        assert self.left.window is not None
        return not self.left.window.is_event_time

    @property
    def label(self) -> str:
        return f"Window{Join.label.fget(self)}"  # type: ignore[attr-defined]

    def declare_state(self) -> dict[str, object] | None:
        windows = [side.window.declared for side in self.inputs if side.window is not None]
        return {"windows": windows, **(Join.declare_state(self) or {})}

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        """Its rows are never given again: a TTL is of no effect on the state of windows."""
        both = replace(above, needs_before=True, keeps_state=False)
        return (both, both)
