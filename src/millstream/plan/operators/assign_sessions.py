"""AssignSessions: each row with its session, when that has ended; Flink's SESSION window function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import INSERT_ONLY
from millstream.plan.definitions import declare_columns
from millstream.plan.operators.assign_windows import BOUND
from millstream.plan.operators.node import Demand, Node, OutputColumn, Unary, WindowColumns
from millstream.windows import duration

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import UpsertKey
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class AssignSessions(Unary):
    """Rows of equal keys belong together while none is further from the next than `gap`, in milliseconds.

    Rows without a time belong to no session. Its input is insert-only, and a TTL is of no effect on it.
    """

    input: Node
    keys: tuple[str, ...]
    column: str
    """The time attribute."""
    gap: int
    start: str
    end: str
    time: str
    """The last moment of the session, which is the time attribute of the rows from here on."""
    declared: str
    """What the sessions divide, as a checkpoint describes it."""
    span: Span
    id: str = ""

    @property
    def made(self) -> tuple[OutputColumn, ...]:
        """The columns of the session."""
        last = self.input.column_types()[self.column].not_null()
        return (OutputColumn(self.start, BOUND), OutputColumn(self.end, BOUND), OutputColumn(self.time, last))

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return (*self.input.columns, *self.made)

    @property
    def changelog(self) -> ChangelogMode:
        return INSERT_ONLY

    @property
    def is_insert_only(self) -> bool:
        return True

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        return ()

    @property
    def rowtimes(self) -> frozenset[str]:
        """Rows wait here for longer than their own times would say."""
        return frozenset() if self.follows_clock else frozenset({self.time})

    @property
    def proctimes(self) -> frozenset[str]:
        return frozenset({self.time}) if self.follows_clock else frozenset()

    @property
    def window(self) -> WindowColumns | None:
        declared = f"SESSION({duration(self.gap)}) of {self.declared}"
        return WindowColumns(self.start, self.end, self.time, declared, is_event_time=not self.follows_clock)

    @property
    def label(self) -> str:
        keys = ", ".join(self.keys)
        names = ", ".join(column.name for column in self.made)
        windows = f"SESSION({duration(self.gap)})"
        return f"AssignSessions(windows=[{windows}], keys=[{keys}], time=[{self.column}], columns=[{names}])"

    @property
    def keeps_state(self) -> bool:
        return True

    @property
    def needs_time(self) -> bool:
        return not self.follows_clock

    @property
    def follows_clock(self) -> bool:
        return self.column not in self.input.rowtimes

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.keys

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return self.keys

    def declare_state(self) -> dict[str, object] | None:
        return {
            "windows": f"SESSION({duration(self.gap)}) of {self.declared}",
            "columns": declare_columns(self.input),
            "keys": list(self.keys),
        }

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        return self, ((needed - {column.name for column in self.made}) | {self.column, *self.keys},)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        return (replace(above, needs_before=True, keeps_state=False),)
