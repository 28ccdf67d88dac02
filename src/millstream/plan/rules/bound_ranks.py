"""How many rows of each group a query wants: the condition on a row number becomes the limit of its Rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.definitions import definitions
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import transform, walk
from millstream.plan.operators.project import Project
from millstream.plan.operators.rank import Rank, Ties
from millstream.plan.operators.scan import Scan
from millstream.plan.typed import Call, Constant, Conversion, InputColumn
from millstream.sql.alternatives import ALTERNATIVES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.operators.rank import SortColumn
    from millstream.plan.typed import Typed

_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_OF_ARRIVAL: Final = "PROCTIME"


def bound_ranks(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    plan = plan.with_inputs(*(transform(below, _bound) for below in plan.inputs))
    ranks = [node for node in walk(plan) if isinstance(node, Rank)]
    for rank in ranks:
        if rank.limit is None:
            primary, hint = "ROW_NUMBER() without a highest number is not supported yet", ALTERNATIVES["ROW_NUMBER"]
            raise ScriptError(Diagnostic(Code.UNSUPPORTED_EXPRESSION, primary, rank.span, hint=hint))
    return plan.with_inputs(*(transform(below, _settle_ties) for below in plan.inputs)) if ranks else plan


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
            return replace(node, limit=bound.highest if node.limit is None else min(node.limit, bound.highest))
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


def _settle_ties(node: Node) -> Node:
    """Rows in the order of PROCTIME() are in that of their arrival, which also decides between equal inserts.

    Behind an operator with state, the order of arrival depends on how batches are cut.
    """
    if not isinstance(node, Rank):
        return node
    [below] = node.inputs
    defined = definitions(below)
    for place, column in enumerate(node.order):
        if _is_processing_time(defined[column.name]):
            _require_inserts(node)
            ties = Ties.LAST if column.descending else Ties.FIRST
            return replace(node, order=node.order[:place], ties=ties)
    if not node.reads_inserts or any(each.keeps_state for each in walk(below)):
        return node
    is_latest = node.limit == 1 and [_is_event_time(below, column) for column in node.order] == [True]
    return replace(node, ties=Ties.LAST if is_latest and node.order[0].descending else Ties.FIRST)


def _is_processing_time(expression: Typed) -> bool:
    return isinstance(expression, Call) and expression.function.name == _OF_ARRIVAL


def _is_event_time(node: Node, column: SortColumn) -> bool:
    """Whether it is the column of a WATERMARK; of the latest rows by it, Flink keeps the last to arrive."""
    match node:
        case Scan():
            watermark = node.source.table.watermark
            return watermark is not None and watermark.column == column.name
        case Filter():
            return _is_event_time(node.inputs[0], column)
        case Project():
            item = next(item for item in node.items if item.name == column.name)
            [below] = node.inputs
            if isinstance(below, Scan) and _is_declared_by(below, item.name):
                return True
            source = item.expression
            return isinstance(source, InputColumn) and _is_event_time(below, replace(column, name=source.name))
        case _:
            return False


def _is_declared_by(scan: Scan, name: str) -> bool:
    """Whether it is a computed column of the table, with its watermark."""
    watermark = scan.source.table.watermark
    computed = (column.name for column in scan.source.table.computed_columns)
    return watermark is not None and watermark.column == name and name in computed


def _require_inserts(rank: Rank) -> None:
    if rank.reads_inserts:
        return
    why = "ROW_NUMBER() by processing time over rows that are updated is not supported yet"
    raise ScriptError(
        Diagnostic(
            Code.UNSUPPORTED_EXPRESSION,
            why,
            rank.span,
            hint="Order by a column of the rows instead, e.g. the time of the change.",
        )
    )
