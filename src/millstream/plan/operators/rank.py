"""Rank: the first rows of each group in an order; Flink's Rank, Deduplicate and Limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.plan.definitions import declare_columns, declare_values
from millstream.plan.operators.node import Demand, Node, OutputColumn, SortColumn, Unary
from millstream.sql.types import BIGINT

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import UpsertKey, WindowColumns
    from millstream.source import Span


MOST_ROWS: Final = (1 << 31) - 1
"""Of a group: a higher limit is none."""


class Ties(StrEnum):
    """What decides between rows that are equal in the order."""

    FIRST = "first to arrive"
    LAST = "last to arrive"
    CONTENTS = "contents"
    """Their other columns, from left to right, ascending, NULL first."""


@dataclass(frozen=True, slots=True)
class Rank(Unary):
    """`limit` rows of each group, and in `rank`, if somebody reads it, the place of each."""

    input: Node
    keys: tuple[str, ...]
    order: tuple[SortColumn, ...]
    ties: Ties
    limit: int | None
    """None until the condition on the row number has been found."""
    rank: str | None
    span: Span
    emits_before: bool = False
    """Whether the new row of a place is preceded by the old one, because somebody above needs it."""
    repeats: bool = False
    """Whether rows of a group that a batch reached are given again: state has a TTL, and that above lives on this."""
    id: str = ""

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        number = () if self.rank is None else (OutputColumn(self.rank, BIGINT.not_null()),)
        return (*self.input.columns, *number)

    @property
    def changelog(self) -> ChangelogMode:
        if self.keeps_first:
            return INSERT_ONLY
        if not self.goes_by_place:
            return frozenset({RowKind.INSERT, RowKind.DELETE})
        updating = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})
        changes = updating if self.input.is_insert_only else updating | {RowKind.DELETE}
        return changes | {RowKind.UPDATE_BEFORE} if self.emits_before else changes

    @property
    def is_insert_only(self) -> bool:
        return self.keeps_first

    @property
    def reads_inserts(self) -> bool:
        """Whether no row is ever retracted or given again, so that those beyond the limit need not be kept."""
        return self.input.changelog == INSERT_ONLY

    @property
    def keeps_first(self) -> bool:
        """Whether rows that are there stay: those that arrive first."""
        return self.reads_inserts and not self.order and self.ties is Ties.FIRST

    @property
    def goes_by_place(self) -> bool:
        """Whether a place of a group is updated, rather than rows coming and going."""
        return self.rank is not None or self.limit == 1

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        """Without the group in it, the old row of a key of the input may leave one task after the new one another."""
        if self.rank is not None and self.limit != 1:
            return ((*self.keys, self.rank),)
        if self.goes_by_place:
            return (self.keys,)
        return tuple(key for key in self.input.upsert_keys if set(key) >= set(self.keys))

    @property
    def rowtimes(self) -> frozenset[str]:
        return self.input.rowtimes

    @property
    def window(self) -> WindowColumns | None:
        return self.input.window

    @property
    def sorted_by(self) -> tuple[SortColumn, ...]:
        return () if self.keys else self.order

    @property
    def label(self) -> str:
        order = [str(column) for column in self.order]
        if self.ties is not Ties.CONTENTS:
            order.append("arrival DESC" if self.ties is Ties.LAST else "arrival")
        rank = "" if self.rank is None else f", rank=[{self.rank}]"
        return f"Rank(keys=[{', '.join(self.keys)}], order=[{', '.join(order)}], limit=[{self.limit}]{rank})"

    @property
    def keeps_state(self) -> bool:
        return True

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.keys

    @property
    def compared_columns(self) -> tuple[str, ...]:
        if self.reads_inserts:
            return (*self.keys, *(column.name for column in self.order))
        return tuple(column.name for column in self.input.columns)

    def declare_state(self) -> dict[str, object] | None:
        """The number of a row is not kept, only its place in the order."""
        kept = {"limit": self.limit, "retractions": not self.reads_inserts}
        if self.keeps_first:
            return {"keys": declare_values(self.input, self.keys), **kept}
        order = [str(column) for column in self.order]
        return {
            "columns": declare_columns(self.input),
            "keys": list(self.keys),
            "order": order,
            "ties": str(self.ties),
            **kept,
        }

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        rank = self.rank if self.rank in needed else None
        wanted = frozenset(column.name for column in self.input.columns if column.name in needed)
        wanted |= {*self.keys, *(column.name for column in self.order)}
        # Arrow does not count rows without columns.
        return replace(self, rank=rank), (wanted or frozenset({self.input.columns[0].name}),)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        """By arrival, a row that is given again would be another one."""
        return (replace(above, needs_before=True, keeps_state=self.ties is Ties.CONTENTS),)

    def settle(self, above: Demand) -> Self:
        settled = replace(self, repeats=above.state_expires and above.keeps_state and not self.keeps_first)
        return replace(settled, emits_before=above.needs_before and settled.updates)

    @property
    def updater(self) -> str:
        return "The Top-N"

    @property
    def key_advice(self) -> str:
        if self.rank is not None and self.limit != 1:
            return "Select the columns of PARTITION BY and the row number, each as it is."
        if self.goes_by_place:
            return "Select the columns of PARTITION BY, each as it is."
        return "Select the row number and the columns of PARTITION BY, or a key of the input that contains them."
