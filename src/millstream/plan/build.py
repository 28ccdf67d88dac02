"""From `INSERT INTO … SELECT` to plan nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.connectors.registry import resolve_sink, resolve_source
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.aggregation import build_aggregate, has_aggregate
from millstream.plan.expressions import Scope
from millstream.plan.nodes import Filter, Node, OutputColumn, Project, ProjectItem, Scan, Write
from millstream.plan.sink_columns import project_to_sink
from millstream.plan.typing import infer

if TYPE_CHECKING:
    from millstream.catalog.catalog import Catalog
    from millstream.sql.statements import InsertInto

_UNSUPPORTED_CLAUSES: Final = {
    "with_": "WITH",
    "joins": "JOIN",
    "laterals": "LATERAL",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "distinct": "SELECT DISTINCT",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "hint": "a hint",
}


def build_insert(statement: InsertInto, catalog: Catalog) -> Write:
    """The plan of one INSERT, before any rule has touched it; problems of all its parts at once."""
    problems: list[Diagnostic] = []
    query: Node | None = None
    try:
        query = _build_query(statement, catalog)
    except ScriptError as error:
        problems += error.diagnostics
    try:
        sink = resolve_sink(catalog.table(statement.target, statement.target_span))
    except ScriptError as error:
        problems += error.diagnostics
    if problems or query is None:
        raise ScriptError(problems)
    return Write(project_to_sink(query, sink, statement), sink, statement.span)


def _build_query(statement: InsertInto, catalog: Catalog) -> Node:
    query = statement.query
    _refuse_clauses(statement)
    scan, scope = _scan(statement, catalog)
    node: Node = scan
    types = {column.name: column.type for column in scan.columns}
    where = query.args.get("where")
    if where is not None:
        condition = scope.bind(where.this)
        node = Filter(node, condition, scope.place(where))
    items = [item for item in query.expressions for item in _expand_star(item, scan)]
    if query.args.get("group") is not None or any(has_aggregate(item) for item in items):
        return build_aggregate(node, items, query.args.get("group"), scope)
    problems: list[Diagnostic] = []
    projected = []
    for position, item in enumerate(items):
        try:
            bound = scope.bind(item.unalias())
            projected.append(ProjectItem(item.alias_or_name or f"EXPR${position}", bound, infer(bound, types.get)))
        except ScriptError as error:
            problems += error.diagnostics
    if problems:
        raise ScriptError(problems)
    return Project(node, tuple(projected), statement.span)


def _refuse_clauses(statement: InsertInto) -> None:
    query = statement.query
    problems = [
        Diagnostic(Code.UNSUPPORTED_STATEMENT, f"{words} is not supported yet", statement.span)
        for clause, words in _UNSUPPORTED_CLAUSES.items()
        if query.args.get(clause)
    ]
    if problems:
        raise ScriptError(problems)


def _scan(statement: InsertInto, catalog: Catalog) -> tuple[Scan, Scope]:
    query, script = statement.query, statement.script
    source_clause = query.args.get("from_")
    if source_clause is None:
        raise ScriptError(
            Diagnostic(Code.UNSUPPORTED_STATEMENT, "SELECT without FROM is not supported yet", statement.span)
        )
    table_ref = source_clause.this
    if not isinstance(table_ref, exp.Table) or not isinstance(table_ref.this, exp.Identifier):
        raise ScriptError(
            Diagnostic(Code.UNSUPPORTED_STATEMENT, "only a table can stand after FROM, so far", statement.span)
        )
    positions = table_ref.this.meta
    span = script.span(positions["start"], positions["end"] + 1) if "start" in positions else statement.span
    table = catalog.table(table_ref.name, span)
    source = resolve_source(table)
    columns = tuple(OutputColumn(column.name, column.type) for column in table.columns)
    scope = Scope(table_ref.alias_or_name, table.column_names, script, statement.span)
    return Scan(source, columns, span), scope


def _expand_star(item: exp.Expr, scan: Scan) -> list[exp.Expr]:
    if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
        return [exp.column(exp.to_identifier(column.name, quoted=True)) for column in scan.columns]
    return [item]
