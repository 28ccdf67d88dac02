"""From `INSERT INTO … SELECT` to plan nodes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from sqlglot import exp

from millstream.connectors.registry import resolve_sink, resolve_source
from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.aggregation import build_aggregate, has_aggregate
from millstream.plan.expressions import Scope, column_reference, output_names
from millstream.plan.nodes import Filter, Node, OutputColumn, Project, ProjectItem, Scan, Write
from millstream.plan.sink_columns import project_to_sink
from millstream.plan.typing import infer

if TYPE_CHECKING:
    from millstream.catalog.catalog import Catalog
    from millstream.catalog.table import CatalogTable
    from millstream.connectors.tables import KafkaSource
    from millstream.source import Span
    from millstream.sql.statements import InsertInto

_CLAUSES: Final = frozenset({"expressions", "from_", "where", "group"})
_OF_A_TABLE: Final = frozenset({"this", "alias"})
_IN_WORDS: Final = {
    "joins": "JOIN",
    "laterals": "LATERAL",
    "order": "ORDER BY",
    "distinct": "SELECT DISTINCT",
    "db": "a database",
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
    columns = tuple(OutputColumn(column.name, column.type) for column in table.columns)
    known = [(column.name, column.type) for column in table.columns]
    scope = Scope.of_table(table_ref.alias_or_name, known, statement.script, statement.span)
    # Where the source's options are wrong, the query is still checked; the plan is then thrown away.
    scan = Scan(cast("KafkaSource", source), columns, _table_span(statement, table_ref))
    node: Node = scan
    if (where := query.args.get("where")) is not None:
        types = {column.name: column.type for column in columns}
        condition = scope.bind(where.this)
        scope.require_boolean(condition, infer(condition, types.get), "WHERE")
        node = Filter(node, condition, scope.place(where))
    items = [item for written in query.expressions for item in _expand_star(written, columns, scope)]
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
    """Whatever sqlglot reads and no step of a plan stands for: silence would be a wrong result."""
    query = statement.query
    refused = _other_parts(query, _CLAUSES)
    table_ref = (query.args.get("from_") or exp.From(this=exp.Table())).this
    if isinstance(table_ref, exp.Table):
        refused += _other_parts(table_ref, _OF_A_TABLE)
        if table_ref.alias_column_names:
            refused.append("renaming columns after FROM")
    for item in query.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            refused += _other_parts(star, frozenset({"this"}))
    if refused:
        raise ScriptError(_unsupported(what, statement) for what in refused)


def _other_parts(node: exp.Expr, known: frozenset[str]) -> list[str]:
    return [
        _IN_WORDS.get(part, part.strip("_").replace("_", " ").upper())
        for part, value in node.args.items()
        if value and part not in known
    ]


def _source_table(statement: InsertInto, catalog: Catalog) -> CatalogTable:
    clause = statement.query.args.get("from_")
    if clause is None:
        raise ScriptError(_unsupported("SELECT without FROM", statement))
    if not isinstance(clause.this, exp.Table) or not isinstance(clause.this.this, exp.Identifier):
        raise ScriptError(_unsupported("anything but a table after FROM", statement))
    return catalog.table(clause.this.name, _table_span(statement, clause.this))


def _table_span(statement: InsertInto, table_ref: exp.Table) -> Span:
    place = table_ref.this.meta
    return statement.script.span(place["start"], place["end"] + 1) if "start" in place else statement.span


def _unsupported(what: str, statement: InsertInto) -> Diagnostic:
    return Diagnostic(Code.UNSUPPORTED_STATEMENT, f"{what} is not supported yet", statement.span)


def _expand_star(item: exp.Expr, columns: tuple[OutputColumn, ...], scope: Scope) -> list[exp.Expr]:
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        if item.table not in scope.qualifiers:
            raise ScriptError(scope.wrong_table(item))
    elif not isinstance(item, exp.Star):
        return [item]
    return [column_reference(column.name) for column in columns]
