"""IntervalJoin: pairs of rows whose keys are equal and whose event times are at most so far apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import INSERT_ONLY
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
class Interval:
    """The event times of both sides, and by how many milliseconds the left may be later, ends included."""

    left_time: str
    right_time: str
    lower: int
    upper: int

    def __str__(self) -> str:
        return f"{self.left_time} - {self.right_time} BETWEEN {self.lower} AND {self.upper} ms"


@dataclass(frozen=True, slots=True)
class IntervalJoin(Binary):
    """As a Join, of rows that are never retracted. A row of a side that is kept is given once none may be its partner.

    State is bounded by the interval: a watermark decides how long a row is kept.
    """

    left: Node
    right: Node
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    interval: Interval
    output: tuple[OutputColumn, ...]
    """The columns that somebody above needs: a side keeps these, its key and its time."""
    span: Span
    kind: JoinKind = JoinKind.INNER
    condition: Typed | None = None
    """What partners must satisfy beside; for an inner join, a filter above it does that."""
    id: str = ""

    @property
    def left_columns(self) -> tuple[str, ...]:
        return self._columns_of(self.left, (*self.left_keys, self.interval.left_time))

    @property
    def right_columns(self) -> tuple[str, ...]:
        return self._columns_of(self.right, (*self.right_keys, self.interval.right_time))

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
    def changelog(self) -> ChangelogMode:
        return INSERT_ONLY

    @property
    def rowtimes(self) -> frozenset[str]:
        """Those of both sides; where a row has no partner, its time is NULL."""
        return (self.left.rowtimes | self.right.rowtimes) & frozenset(self.column_types())

    @property
    def needs_time(self) -> bool:
        return True

    @property
    def label(self) -> str:
        pairs = zip(self.left_keys, self.right_keys, strict=True)
        keys = ", ".join(f"{left} = {right}" for left, right in pairs)
        condition = "" if self.condition is None else f", condition=[{sql_text(self.condition)}]"
        return f"IntervalJoin(type=[{self.kind}], keys=[{keys}], interval=[{self.interval}]{condition})"

    @property
    def keeps_state(self) -> bool:
        return True

    @property
    def runs_in_one_task(self) -> bool:
        return not self.left_keys

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.left_keys

    def declare_state(self) -> dict[str, object] | None:
        [left_time] = declare_values(self.left, [self.interval.left_time])
        [right_time] = declare_values(self.right, [self.interval.right_time])
        declared: dict[str, object] = {
            "left": declare_values(self.left, self.left_columns),
            "right": declare_values(self.right, self.right_columns),
            "left_keys": declare_values(self.left, self.left_keys),
            "right_keys": declare_values(self.right, self.right_keys),
            "interval": f"{left_time} - {right_time} BETWEEN {self.interval.lower} AND {self.interval.upper} ms",
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
        """A row that is given again would find its partners again."""
        both = replace(above, needs_before=False, keeps_state=False)
        return (both, both)
