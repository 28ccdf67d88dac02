"""From `INSERT INTO … SELECT` to plan nodes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from sqlglot import exp

from millstream.connectors.registry import resolve_sink, resolve_source
from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.aggregation import build_aggregate, has_aggregate
from millstream.plan.expressions import Scope, output_names
from millstream.plan.nodes import Filter, Node, OutputColumn, Project, ProjectItem, Scan, Write
from millstream.plan.sink_columns import project_to_sink
from millstream.plan.typing import infer

if TYPE_CHECKING:
    from millstream.catalog.catalog import Catalog
    from millstream.catalog.table import CatalogTable
    from millstream.connectors.tables import KafkaSource
    from millstream.source import Span
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
    found = Problems()
    sink = found.of(lambda: resolve_sink(catalog.table(statement.target, statement.target_span)))
    table = found.of(lambda: _source_table(statement, catalog))
    found.of(lambda: _refuse_clauses(statement))
    if table is not None:
        source = found.of(lambda: resolve_source(table))
        query = found.of(lambda: _build_query(statement, table, source))
    found.raise_all()
    assert sink is not None
    assert query is not None
    return Write(project_to_sink(query, sink, statement), sink, statement.span)


def _build_query(statement: InsertInto, table: CatalogTable, source: KafkaSource | None) -> Node:
    query = statement.query
    table_ref = query.args["from_"].this
    scope = Scope(table_ref.alias_or_name, table.column_names, statement.script, statement.span)
    columns = tuple(OutputColumn(column.name, column.type) for column in table.columns)
    # Where the source's options are wrong, the query is still checked; the plan is then thrown away.
    scan = Scan(cast("KafkaSource", source), columns, _table_span(statement, table_ref))
    node: Node = scan
    if (where := query.args.get("where")) is not None:
        types = {column.name: column.type for column in columns}
        condition = scope.bind(where.this)
        scope.require_boolean(condition, infer(condition, types.get), "WHERE")
        node = Filter(node, condition, scope.place(where))
    items = [item for item in query.expressions for item in _expand_star(item, scan)]
    group = query.args.get("group")
    if group is not None or any(has_aggregate(item) for item in items):
        return build_aggregate(node, items, group, scope)
    return _project(node, items, scope)


def _project(node: Node, items: list[exp.Expr], scope: Scope) -> Project:
    types = {column.name: column.type for column in node.columns}
    problems = Problems()
    bound = [problems.of(partial(scope.bind, item.unalias())) for item in items]
    problems.raise_all()
    named = zip(output_names(items), (expression for expression in bound if expression is not None), strict=True)
    return Project(
        node,
        tuple(ProjectItem(name, expression, infer(expression, types.get)) for name, expression in named),
        scope.statement,
    )


def _refuse_clauses(statement: InsertInto) -> None:
    query = statement.query
    problems = [
        Diagnostic(Code.UNSUPPORTED_STATEMENT, f"{words} is not supported yet", statement.span)
        for clause, words in _UNSUPPORTED_CLAUSES.items()
        if query.args.get(clause)
    ]
    if problems:
        raise ScriptError(problems)


def _source_table(statement: InsertInto, catalog: Catalog) -> CatalogTable:
    clause = statement.query.args.get("from_")
    if clause is None:
        raise _unsupported("SELECT without FROM", statement)
    if not isinstance(clause.this, exp.Table) or not isinstance(clause.this.this, exp.Identifier):
        raise _unsupported("anything but a table after FROM", statement)
    return catalog.table(clause.this.name, _table_span(statement, clause.this))


def _table_span(statement: InsertInto, table_ref: exp.Table) -> Span:
    place = table_ref.this.meta
    return statement.script.span(place["start"], place["end"] + 1) if "start" in place else statement.span


def _unsupported(what: str, statement: InsertInto) -> ScriptError:
    return ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, f"{what} is not supported yet", statement.span))


def _expand_star(item: exp.Expr, scan: Scan) -> list[exp.Expr]:
    if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
        return [exp.column(exp.to_identifier(column.name, quoted=True)) for column in scan.columns]
    return [item]
