"""Intersect and Except: rows by how often they are on each of two sides, compared as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.plan.definitions import declare_values
from millstream.plan.operators.node import Binary, Demand, Node, OutputColumn

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import UpsertKey
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class SetOperation(Binary):
    """Both inputs have the columns of the output, by name and with their types."""

    left: Node
    right: Node
    is_distinct: bool
    """Without ALL: each row is in the result once or not at all."""
    output: tuple[OutputColumn, ...]
    span: Span
    repeats: bool = False
    """Whether a row of the result that comes again is given again: state has a TTL, and that above lives on this."""
    id: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.output)

    @property
    def changelog(self) -> ChangelogMode:
        """A row that is given again is retracted first."""
        never_retracts = self.is_insert_only and not self.repeats
        return INSERT_ONLY if never_retracts else frozenset({RowKind.INSERT, RowKind.DELETE})

    @property
    def gives_kinds(self) -> bool:
        """Always: aggregates above keep state for changes, whether or not there is a TTL."""
        return True

    @property
    def upsert_keys(self) -> tuple[UpsertKey, ...]:
        """Rows come to their state by all columns, so that nothing orders rows that differ in one of them."""
        return (self.names,) if self.is_distinct else ()

    @property
    def label(self) -> str:
        every = "" if self.is_distinct else "all, "
        return f"{type(self).__name__}({every}columns=[{', '.join(self.names)}])"

    @property
    def updater(self) -> str:
        return type(self).__name__.upper()

    @property
    def keeps_state(self) -> bool:
        return True

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.names

    def declare_state(self) -> dict[str, object] | None:
        return {
            "left": declare_values(self.left, self.names),
            "right": declare_values(self.right, self.names),
            "rows": "distinct" if self.is_distinct else "all",
        }

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:  # noqa: ARG002
        return self, (frozenset(self.names), frozenset(self.names))

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        both = replace(above, needs_before=True, keeps_state=True)
        return (both, both)

    def settle(self, above: Demand) -> Self:
        return replace(self, repeats=above.state_expires and above.keeps_state)

    @property
    def key_advice(self) -> str:
        if self.is_distinct:
            return "Make all columns of the query the primary key, each in a column of the same type."
        return "With ALL, rows have no key to write them by: leave ALL out, or RESET the setting."


class Intersect(SetOperation):
    """The rows that are on both sides; with ALL, as often as on the side that has fewer."""

    __slots__ = ()

    @property
    def is_insert_only(self) -> bool:
        """A row that is given again, to keep state above alive, retracts none."""
        return all(side.is_insert_only for side in self.inputs)


class Except(SetOperation):
    """The rows of the left side that are not on the right; with ALL, less as many as are there."""

    __slots__ = ()

    @property
    def is_insert_only(self) -> bool:
        return False
