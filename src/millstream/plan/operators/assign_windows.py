"""AssignWindows: each row once for each window that its time belongs to; Flink's WindowTableFunction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.plan.operators.node import Node, OutputColumn, Unary, WindowColumns
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from millstream.plan.operators.node import UpsertKey
    from millstream.source import Span
    from millstream.windows import Windows

BOUND = DataType(TypeRoot.TIMESTAMP, nullable=False, precision=3)
"""The type of the start and the end of a window."""


@dataclass(frozen=True, slots=True)
class AssignWindows(Unary):
    """Rows without a time belong to no window. Columns that nobody reads are None."""

    input: Node
    column: str
    """The time attribute."""
    windows: Windows
    start: str | None
    end: str | None
    time: str | None
    """The last moment of the window, which is a time attribute."""
    declared: str
    """What the windows divide, as a checkpoint describes it."""
    span: Span
    id: str = ""

    @property
    def made(self) -> tuple[OutputColumn, ...]:
        """The columns of the window."""
        types = {self.start: BOUND, self.end: BOUND, self.time: self.input.column_types()[self.column].not_null()}
        return tuple(OutputColumn(name, type_) for name, type_ in types.items() if name is not None)

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return (*self.input.columns, *self.made)

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        """A row may be in several windows."""
        if self.windows.most == 1:
            return self.input.upsert_keys
        return () if self.end is None else tuple((*key, self.end) for key in self.input.upsert_keys)

    @property
    def rowtimes(self) -> frozenset[str]:
        """That of the rows remains one."""
        return self.input.rowtimes | (self._time if self.column in self.input.rowtimes else frozenset())

    @property
    def proctimes(self) -> frozenset[str]:
        return self.input.proctimes | (self._time if self.column in self.input.proctimes else frozenset())

    @property
    def _time(self) -> frozenset[str]:
        return frozenset() if self.time is None else frozenset({self.time})

    @property
    def window(self) -> WindowColumns | None:
        if self.start is None or self.end is None:
            return None
        declared, is_event_time = f"{self.windows} of {self.declared}", self.column in self.input.rowtimes
        return WindowColumns(self.start, self.end, self.time, declared, is_event_time=is_event_time)

    @property
    def label(self) -> str:
        names = ", ".join(column.name for column in self.made)
        return f"AssignWindows(windows=[{self.windows}], time=[{self.column}], columns=[{names}])"

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        start, end, time = (name if name in needed else None for name in (self.start, self.end, self.time))
        below = (needed - {column.name for column in self.made}) | {self.column}
        return replace(self, start=start, end=end, time=time), (below,)
