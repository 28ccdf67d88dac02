"""A table as the start of a plan: what its messages hold, then what is computed from that."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from millstream.catalog.table import MOST_OF_A_ROWTIME, finer_than_milliseconds
from millstream.connectors.registry import resolve_source
from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.node import OutputColumn
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.operators.scan import Scan
from millstream.plan.resolver.scope import Scope
from millstream.plan.typed import InputColumn
from millstream.sql.statements import ComputedColumn
from millstream.sql.types import TIMESTAMPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.catalog.functions import UserFunction
    from millstream.catalog.table import CatalogTable
    from millstream.connectors.tables import Source
    from millstream.plan.operators.node import Node
    from millstream.plan.typed import Typed
    from millstream.source import Span
    from millstream.sql.statements import WatermarkDeclaration
    from millstream.sql.types import DataType

    Functions = Mapping[str, UserFunction]


def scan_of(table: CatalogTable, span: Span, functions: Functions, problems: Problems) -> Node:
    """Where the table's options are wrong, the query over it is still checked; the plan is then thrown away."""
    source = problems.of(lambda: resolve_source(table))
    columns = tuple(
        OutputColumn(column.name, column.type) for column in table.columns if not isinstance(column, ComputedColumn)
    )
    scan: Node = Scan(cast("Source", source), columns, span)
    rows = Project(scan, computed_items(table, functions), span) if table.computed_columns else scan
    if table.watermark is None:
        return rows
    declared = table.watermark
    watermark = problems.of(lambda: _resolve_watermark(declared, table, rows.column_types(), functions))
    if watermark is None or source is None:
        return rows
    return AssignWatermark(rows, declared.column, watermark, span, source.idle_timeout)


def computed_items(table: CatalogTable, functions: Functions) -> tuple[ProjectItem, ...]:
    """All columns in declared order; a computed one may use those that are read, not other computed ones."""
    types = {column.name: column.type for column in table.columns if not isinstance(column, ComputedColumn)}
    problems = Problems()
    items = []
    for column in table.columns:
        if not isinstance(column, ComputedColumn):
            type_ = types[column.name]
            items.append(ProjectItem(column.name, InputColumn(column.name, type_), type_))
            continue
        expression = column.expression
        scope = Scope.of_table(table.name, types.items(), expression.script, expression.span, functions)
        typed = problems.of(partial(scope.resolve, expression.tree))
        if typed is not None:
            items.append(ProjectItem(column.name, typed, typed.type))
    problems.raise_all()
    return tuple(items)


def _resolve_watermark(
    watermark: WatermarkDeclaration, table: CatalogTable, types: Mapping[str, DataType], functions: Functions
) -> Typed:
    expression = watermark.expression
    scope = Scope.of_table(table.name, types.items(), expression.script, expression.span, functions)
    return scope.resolve(expression.tree)


def check_watermark(table: CatalogTable, functions: Functions) -> None:
    """The rowtime column is a timestamp, computed or not, and the expression over it is one too."""
    watermark = table.watermark
    if watermark is None:
        return
    types = {item.name: item.type for item in computed_items(table, functions)}
    found = (
        (f'watermark column "{watermark.column}"', types[watermark.column]),
        ("the watermark", _resolve_watermark(watermark, table, types, functions).type),
    )
    problems = [
        Diagnostic(
            Code.INVALID_WATERMARK,
            f"{what} is of type {type_}",
            watermark.span,
            hint="A watermark needs a TIMESTAMP or TIMESTAMP_LTZ column.",
        )
        for what, type_ in found
        if type_.root not in TIMESTAMPS
    ]
    rowtime = types[watermark.column]
    if rowtime.root in TIMESTAMPS and (rowtime.precision or 0) > MOST_OF_A_ROWTIME:
        problems.append(finer_than_milliseconds(watermark, rowtime))
    if problems:
        raise ScriptError(problems)
