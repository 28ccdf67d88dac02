"""Union: the rows of all inputs, as UNION ALL has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.plan.operators.node import Demand, Node, OutputColumn

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.operators.node import WindowColumns
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Union(Node):
    """Every input has the columns of the output, by name and with their types."""

    branches: tuple[Node, ...]
    output: tuple[OutputColumn, ...]
    span: Span
    id: str = ""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    def with_inputs(self, *inputs: Node) -> Self:
        return replace(self, branches=inputs)

    def with_branches(self, branches: tuple[Node, ...], output: tuple[OutputColumn, ...]) -> Self:
        return replace(self, branches=branches, output=output)

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.output

    @property
    def changelog(self) -> ChangelogMode:
        return frozenset().union(*(branch.changelog for branch in self.branches))

    @property
    def is_insert_only(self) -> bool:
        return all(branch.is_insert_only for branch in self.branches)

    @property
    def rowtimes(self) -> frozenset[str]:
        return frozenset.intersection(*(branch.rowtimes for branch in self.branches))

    @property
    def window(self) -> WindowColumns | None:
        return windows.pop() if len(windows := {branch.window for branch in self.branches}) == 1 else None

    @property
    def label(self) -> str:
        return f"Union(columns=[{', '.join(column.name for column in self.output)}])"

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        output = tuple(column for column in self.output if column.name in needed)
        return replace(self, output=output), tuple(needed for _ in self.branches)

    def demands(self, above: Demand) -> tuple[Demand, ...]:
        """Rows of several inputs have no key in common by which an old row could be found."""
        return tuple(replace(above, needs_before=True) for _ in self.branches)
