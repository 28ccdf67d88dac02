"""TemporalJoin: each row with the version of another that held at its time; Flink's event-time temporal join."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.join_kinds import JoinKind
from millstream.plan.definitions import declare_condition, declare_values
from millstream.plan.operators.node import Binary, Demand, Node, OutputColumn
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import columns_in

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.typed import Typed
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class TemporalJoin(Binary):
    """A row of the left side waits until all versions up to its time are known. Its result never changes.

    The inputs have columns of different names; keys are paired by their places.
    """

    left: Node
    right: Node
    """Each row, or deletion, replaces what held for its key: these are the versions."""
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    left_time: str
    right_time: str | None
    """From when a version holds; None until the versions have been found."""
    output: tuple[OutputColumn, ...]
    span: Span
    table: str
    """What the query calls the right side."""
    kind: JoinKind = JoinKind.INNER
    condition: Typed | None = None
    """What else must be true of a version; for an inner join, a filter above it does that."""
    id: str = ""

    @property
    def left_columns(self) -> tuple[str, ...]:
        return self._columns_of(self.left, (*self.left_keys, self.left_time))

    @property
    def right_columns(self) -> tuple[str, ...]:
        return self._columns_of(self.right, (*self.right_keys, *([self.right_time] if self.right_time else [])))

    def _columns_of(self, side: Node, own: tuple[str, ...]) -> tuple[str, ...]:
        needed = {*own, *(column.name for column in self.output), *self._condition_columns}
        return tuple(column.name for column in side.columns if column.name in needed)

    @property
    def _condition_columns(self) -> frozenset[str]:
        return frozenset() if self.condition is None else columns_in(self.condition)

    @property
    def expressions(self) -> tuple[Typed, ...]:
        return () if self.condition is None else (self.condition,)

    @property
    def keeps_left(self) -> bool:
        """Whether rows without a version are given, too."""
        return self.kind is JoinKind.LEFT

    @property
    def reads_upserts(self) -> tuple[Node, ...]:
        return (self.right,)

    @property
    def changelog(self) -> ChangelogMode:
        return self.left.changelog

    @property
    def rowtimes(self) -> frozenset[str]:
        return self.left.rowtimes & frozenset(self.column_types())

    @property
    def needs_time(self) -> bool:
        return True

    @property
    def label(self) -> str:
        pairs = zip(self.left_keys, self.right_keys, strict=True)
        keys = ", ".join(f"{left} = {right}" for left, right in pairs)
        condition = "" if self.condition is None else f", condition=[{sql_text(self.condition)}]"
        as_of = f"asOf=[{self.left_time}], versions=[{self.right_time}]"
        return f"TemporalJoin(type=[{self.kind}], keys=[{keys}], {as_of}{condition})"

    @property
    def keeps_state(self) -> bool:
        return True

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.left_keys

    def declare_state(self) -> dict[str, object] | None:
        assert self.right_time is not None
        declared: dict[str, object] = {
            "left": declare_values(self.left, self.left_columns),
            "right": declare_values(self.right, self.right_columns),
            "left_keys": declare_values(self.left, self.left_keys),
            "right_keys": declare_values(self.right, self.right_keys),
            "times": [*declare_values(self.left, [self.left_time]), *declare_values(self.right, [self.right_time])],
            "type": str(self.kind),
        }
        if self.condition is not None:
            declared["condition"] = declare_condition(self.condition, self.inputs)
        return declared

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        output = tuple(column for column in self.output if column.name in needed)
        pruned = replace(self, output=output)
        return pruned, (frozenset(pruned.left_columns), frozenset(pruned.right_columns))

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        """A row that is given again would be another one. The old row of an update is no version."""
        both = replace(above, needs_before=False, keeps_state=False)
        return (both, both)
