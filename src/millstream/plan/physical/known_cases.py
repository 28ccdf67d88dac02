"""Where a filter says which value a column has, a CASE below that asks for this value has one branch.

Tables of several kinds of events have such columns: the time of an event is a field of one of its rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.plan.conditions import conjuncts_of
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import transform
from millstream.plan.operators.project import Project
from millstream.plan.operators.roots import Collect, Write
from millstream.plan.typed import Call, Constant, FieldOf, InputColumn, Word
from millstream.sql.types import INTEGERS, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.operators.project import ProjectItem
    from millstream.plan.operators.roots import Root
    from millstream.plan.typed import Typed

_COMPARED: Final = INTEGERS | {TypeRoot.STRING}
"""Types whose literals are equal if their values are."""


def settle_cases(roots: Sequence[Root]) -> tuple[Root, ...]:
    """Rows that the filter drops get another value, or none. Only fields and columns are given: they cannot fail."""
    settled = [transform(root, _settle) for root in roots]
    return tuple(root for root in settled if isinstance(root, Write | Collect))


def _settle(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    [below] = node.inputs
    if not isinstance(below, Project):
        return node
    given = dict(found for part in conjuncts_of(node.condition) if (found := _equality(part)) is not None)
    known = {
        item.expression.name: given[item.name]
        for item in below.items
        if isinstance(item.expression, InputColumn) and item.is_plain and item.name in given
    }
    if not known:
        return node
    return node.with_inputs(replace(below, items=tuple(_settle_item(item, known) for item in below.items)))


def _equality(condition: Typed | Word) -> tuple[str, Constant] | None:
    """The column and the literal that must be equal."""
    if not isinstance(condition, Call) or condition.function.name != "=":
        return None
    match condition.arguments:
        case (InputColumn() as column, Constant() as value) | (Constant() as value, InputColumn() as column):
            is_known = column.type.root in _COMPARED and value.value is not None
            return (column.name, value) if is_known and column.type.root is value.type.root else None
        case _:
            return None


def _settle_item(item: ProjectItem, known: Mapping[str, Constant]) -> ProjectItem:
    case = item.expression
    if not isinstance(case, Call) or case.function.name != "CASE" or case.clauses:
        return item
    value = next(_possible(case, known), None)
    if value is None or value.type.not_null() != case.type.not_null():
        return item
    return replace(item, expression=value)


def _possible(case: Call, known: Mapping[str, Constant]) -> Iterator[Typed]:
    """The first value that the CASE may have, unless it cannot be told."""
    for place in range(0, len(case.arguments), 2):
        *conditions, value = case.arguments[place : place + 2]
        if isinstance(value, Word) or not _is_given(value):
            return
        if not conditions:
            yield value
            return
        asked = _equality(conditions[0])
        if asked is None or asked[0] not in known:
            return
        if asked[1].value == known[asked[0]].value:
            yield value
            return


def _is_given(value: Typed) -> bool:
    return isinstance(value, InputColumn) or (isinstance(value, FieldOf) and _is_given(value.row))
