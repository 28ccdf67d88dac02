"""Sort: the order of a query's rows, where somebody looks at all of them; only below the end of a SELECT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.plan.operators.node import Node, SortColumn, Unary

if TYPE_CHECKING:
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Sort(Unary):
    input: Node
    order: tuple[SortColumn, ...]
    selected: tuple[str, ...]
    """The columns of the result; the input may have others, by which it is ordered."""
    span: Span
    id: str = ""

    @property
    def label(self) -> str:
        return f"Sort(order=[{', '.join(map(str, self.order))}])"
