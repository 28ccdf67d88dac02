"""What the operators of a job keep, in the order in which rows reach them and a join's sides one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.cli.numbers import count, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from millstream.state.job_state import OperatorSize


@dataclass(frozen=True, slots=True)
class StatePart:
    name: str
    """`aggregate-1`, or `join-1 left`."""
    rows: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.name} {count(self.rows)} rows {size(self.bytes)}"


def state_parts(sizes: Iterable[OperatorSize]) -> list[StatePart]:
    """Without what is empty."""
    return [part for each in sizes for part in _parts(each) if part.bytes]


def _parts(of_operator: OperatorSize) -> Iterator[StatePart]:
    sides = of_operator.sides
    for side, part in sides.items():
        yield StatePart(f"{of_operator.operator} {side}", part.rows, part.bytes)
    if not sides:
        yield StatePart(of_operator.operator, of_operator.rows, of_operator.bytes)
