"""Values: rows written in the script."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from millstream.changelog import INSERT_ONLY
from millstream.plan.operators.node import Node, OutputColumn
from millstream.plan.resolver.sql_text import sql_text

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.typed import Typed
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class Values(Node):
    """SELECT without FROM reads one row of no columns."""

    rows: tuple[tuple[Typed, ...], ...]
    output: tuple[OutputColumn, ...]
    span: Span
    id: str = ""

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        return self.output

    @property
    def changelog(self) -> ChangelogMode:
        return INSERT_ONLY

    @property
    def label(self) -> str:
        return f"Values([{'; '.join(', '.join(map(sql_text, row)) for row in self.rows)}])"

    @property
    def expressions(self) -> tuple[Typed, ...]:
        return tuple(value for row in self.rows for value in row)

    def declare_state(self) -> dict[str, object] | None:
        rows = "; ".join(", ".join(map(sql_text, row)) for row in self.rows)
        return {"rows": hashlib.sha256(rows.encode()).hexdigest()[:16]}

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        places = [at for at, column in enumerate(self.columns) if column.name in needed]
        rows = tuple(tuple(row[at] for at in places) for row in self.rows)
        return replace(self, rows=rows, output=tuple(self.columns[at] for at in places)), ()
