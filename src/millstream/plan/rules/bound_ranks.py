"""How many rows of each group a query wants: the condition on a row number becomes the limit of its Rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import transform
from millstream.plan.operators.over import Over, OverCall
from millstream.plan.operators.project import Project
from millstream.plan.operators.rank import MOST_ROWS, Rank
from millstream.plan.typed import Call, Constant, Conversion, InputColumn
from millstream.sql.types import BIGINT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.typed import Typed

_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def bound_ranks(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    plan = plan.with_inputs(*(transform(below, _bound) for below in plan.inputs))
    return plan.with_inputs(*(transform(below, _number_all) for below in plan.inputs))


def _number_all(node: Node) -> Node:
    """Where all rows of a group are wanted, their numbers are computed as OVER computes anything else."""
    if not isinstance(node, Rank) or node.limit is not None:
        return node
    assert node.rank is not None
    number = OverCall(node.rank, "ROW_NUMBER", BIGINT.not_null())
    return Over(node.inputs[0], node.keys, node.order, (number,), node.span)


@dataclass(frozen=True, slots=True)
class _Bound:
    column: str
    highest: int
    says_all: bool
    """Whether no row below the highest is excluded."""


def _bound(node: Node) -> Node:
    """A filter hands what it knows of row numbers to the Rank below it, and keeps the rest."""
    if not isinstance(node, Filter):
        return node
    [below] = node.inputs
    said: list[Typed] = []
    for condition in _conjuncts(node.condition):
        bound = _bound_in(condition)
        limited = _limit(below, bound, node) if bound is not None else None
        if bound is None or limited is None:
            continue
        below = limited
        if bound.says_all:
            said.append(condition)
    rest = _without(node.condition, said)
    return below if rest is None else replace(node, condition=rest).with_inputs(below)


def _limit(node: Node, bound: _Bound, asked: Filter) -> Node | None:
    """The plan with the limit in its Rank; None if the column is no row number."""
    match node:
        case Rank(rank=bound.column):
            if bound.highest < 1:
                why, hint = "no row has a row number below 1", "Row numbers begin at 1: compare with 1 or more."
                raise ScriptError(Diagnostic(Code.UNSUPPORTED_EXPRESSION, why, asked.span, hint=hint))
            return replace(node, limit=min(bound.highest, MOST_ROWS if node.limit is None else node.limit))
        case Filter():
            [below] = node.inputs
        case Project():
            [below] = node.inputs
            source = next(item.expression for item in node.items if item.name == bound.column)
            if not isinstance(source, InputColumn):
                return None
            bound = replace(bound, column=source.name)
        case _:
            return None
    limited = _limit(below, bound, asked)
    return None if limited is None else node.with_inputs(limited)


def _bound_in(condition: Typed) -> _Bound | None:
    if not isinstance(condition, Call):
        return None
    name, arguments = condition.function.name, [_plain(part) for part in condition.arguments]
    match name, arguments:
        case ("BETWEEN", [InputColumn() as column, Constant(value=int(low)), Constant(value=int(high))]):
            return _Bound(column.name, high, low <= 1)
        case (_, [Constant() as constant, InputColumn() as column]) if name in _TURNED:
            name, arguments = _TURNED[name], [column, constant]
    match name, arguments:
        case ("<=", [InputColumn() as column, Constant(value=int(highest))]):
            return _Bound(column.name, highest, says_all=True)
        case ("<", [InputColumn() as column, Constant(value=int(highest))]):
            return _Bound(column.name, highest - 1, says_all=True)
        case ("=", [InputColumn() as column, Constant(value=int(only))]):
            return _Bound(column.name, only, only == 1)
    return None


def _plain(part: object) -> object:
    """Without the conversion to a type in which both sides can be compared."""
    return _plain(part.value) if isinstance(part, Conversion) and not part.attempt else part


def _conjuncts(condition: Typed) -> Iterator[Typed]:
    if isinstance(condition, Call) and condition.function.name == "AND":
        for part in condition.arguments:
            yield from _conjuncts(part)  # type: ignore[arg-type]
    else:
        yield condition


def _without(condition: Typed, said: list[Typed]) -> Typed | None:
    """What is left of it; None if nothing is."""
    if any(condition is part for part in said):
        return None
    if not isinstance(condition, Call) or condition.function.name != "AND":
        return condition
    rest = [left for part in condition.arguments if (left := _without(part, said)) is not None]  # type: ignore[arg-type]
    if len(rest) < len(condition.arguments):
        return rest[0] if rest else None
    return replace(condition, arguments=tuple(rest))
