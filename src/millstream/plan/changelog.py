"""Row kinds, and which of them each plan node gives."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.plan.nodes import Aggregate, Filter, Project, Scan, Write
from millstream.plan.typing import keeps_apart

if TYPE_CHECKING:
    from millstream.plan.nodes import Node


class RowKind(IntEnum):
    """What a row of a changelog does to the table; the numbers travel in the `__kind` column."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def symbol(self) -> str:
        return ("+I", "-U", "+U", "-D")[self]


ChangelogMode = frozenset[RowKind]
INSERT_ONLY: Final[ChangelogMode] = frozenset({RowKind.INSERT})
_LETTERS: Final = {
    RowKind.INSERT: "I",
    RowKind.UPDATE_BEFORE: "UB",
    RowKind.UPDATE_AFTER: "UA",
    RowKind.DELETE: "D",
}


def provided(node: Node) -> ChangelogMode:
    """The kinds of change that leave a node."""
    match node:
        case Scan():
            return INSERT_ONLY
        case Aggregate():
            updating = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})
            return updating if provided(node.input) == INSERT_ONLY else updating | {RowKind.DELETE}
        case Filter() | Project() | Write():
            return provided(node.input)


def upsert_key(node: Node) -> tuple[str, ...] | None:
    """The columns by which a later row replaces an earlier one, if there are such."""
    match node:
        case Scan():
            return None
        case Aggregate():
            return node.keys
        case Filter() | Write():
            return upsert_key(node.input)
        case Project():
            key = upsert_key(node.input)
            if key is None:
                return None
            types = {column.name: column.type for column in node.input.columns}
            kept = {
                item.expression.name: item.name
                for item in reversed(node.items)
                if isinstance(item.expression, exp.Column) and keeps_apart(types[item.expression.name], item.type)
            }
            return tuple(kept[name] for name in key) if all(name in kept for name in key) else None


def describe(node: Node) -> str:
    """`changelog=[I,UA] key=[user_region]`, as EXPLAIN prints it."""
    kinds = ",".join(_LETTERS[kind] for kind in sorted(provided(node)))
    key = upsert_key(node)
    return f"changelog=[{kinds}]" + (f" key=[{','.join(key)}]" if key is not None else "")
