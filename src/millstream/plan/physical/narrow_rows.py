"""Of the rows in a column, only the fields that somebody needs are decoded; and no column that a CASE has lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project
from millstream.plan.operators.scan import Scan
from millstream.plan.typed import FieldOf, InputColumn, parts_of, substitute
from millstream.sql.types import TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from millstream.plan.operators.node import N, Node, OutputColumn
    from millstream.plan.operators.project import ProjectItem
    from millstream.plan.operators.roots import Root
    from millstream.plan.typed import Typed
    from millstream.sql.types import DataType

    Fields: TypeAlias = frozenset[str] | None
    """The names of fields of a column; None is the whole column."""
    Demand: TypeAlias = Mapping[str, Fields] | None
    """By column; None is all columns."""


def narrow_rows(roots: Sequence[Root]) -> tuple[Root, ...]:
    """The same plans over scans whose columns have the needed fields only; one for all that read it."""
    demands: dict[str, dict[str, Fields]] = {}
    for root in roots:
        _collect(root, None, demands)
    narrowed: dict[str, Scan] = {}
    return tuple(_rewrite(root, demands, narrowed) for root in roots)


def _collect(node: Node, demand: Demand, demands: dict[str, dict[str, Fields]]) -> None:
    """What is demanded of scans below a node of whose columns this is."""
    match node:
        case Scan():
            columns = demand or {column.name: None for column in node.columns}
            _add(demands.setdefault(node.id, {}), columns.items())
        case Project():
            below: dict[str, Fields] = {}
            for item in node.items:
                if item.is_plain and isinstance(item.expression, InputColumn):
                    _add(below, [(item.expression.name, None if demand is None else demand.get(item.name))])
                else:
                    _add(below, _fields_in(item.expression))
            _collect(node.inputs[0], below, demands)
        case Filter() | AssignWatermark() if demand is not None:
            kept = dict(demand)
            for expression in node.expressions:
                _add(kept, _fields_in(expression))
            _collect(node.inputs[0], kept, demands)
        case _:
            for input_ in node.inputs:
                _collect(input_, None, demands)


def _add(demand: dict[str, Fields], more: Iterable[tuple[str, Fields]]) -> None:
    for name, fields in more:
        known = demand.get(name, frozenset())
        demand[name] = None if known is None or fields is None else known | fields


def _fields_in(expression: Typed) -> Iterable[tuple[str, Fields]]:
    if isinstance(expression, FieldOf) and isinstance(expression.row, InputColumn):
        yield expression.row.name, frozenset({expression.name})
    elif isinstance(expression, InputColumn):
        yield expression.name, None
    else:
        for part in parts_of(expression):
            yield from _fields_in(part)


def _rewrite(node: N, demands: Mapping[str, Mapping[str, Fields]], narrowed: dict[str, Scan]) -> N:
    if isinstance(node, Scan):
        scan = narrowed.setdefault(node.id, _narrow(node, demands[node.id]))
        assert isinstance(scan, type(node))
        return scan
    inputs = [_rewrite(below, demands, narrowed) for below in node.inputs]
    rewritten = node.with_inputs(*inputs) if inputs else node
    match rewritten:
        case Project():
            return replace(rewritten, items=tuple(_retype(item, inputs[0]) for item in rewritten.items))
        case Filter():
            return replace(rewritten, condition=_with_types(rewritten.condition, inputs[0]))
        case AssignWatermark():
            return replace(rewritten, expression=_with_types(rewritten.expression, inputs[0]))
        case _:
            return rewritten


def _narrow(scan: Scan, demand: Mapping[str, Fields]) -> Scan:
    needed = [column for column in scan.columns if column.name in demand]
    columns = (
        replace(column, type=_with_fields(column.type, fields))
        if (fields := demand.get(column.name)) is not None and _is_narrow(scan, column)
        else column
        for column in needed
    )
    return replace(scan, output=tuple(columns))


def _is_narrow(scan: Scan, column: OutputColumn) -> bool:
    return column.type.root is TypeRoot.ROW and scan.source.decodes_fields_alone(column.name)


def _with_fields(type_: DataType, names: frozenset[str]) -> DataType:
    return replace(type_, fields=tuple(field for field in type_.fields if field.name in names))


def _retype(item: ProjectItem, below: Node) -> ProjectItem:
    expression = _with_types(item.expression, below)
    return replace(item, expression=expression, type=expression.type if item.is_plain else item.type)


def _with_types(expression: Typed, below: Node) -> Typed:
    types = below.column_types()
    return substitute(expression, lambda column: replace(column, type=types.get(column.name, column.type)))
