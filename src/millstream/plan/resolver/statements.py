"""From a statement with a query to plan nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.registry import resolve_sink
from millstream.errors import Problems
from millstream.plan.operators.roots import Collect, ShownOrder, Write
from millstream.plan.operators.sort import Sort
from millstream.plan.resolver.queries import QueryBuilder
from millstream.plan.resolver.sink_columns import project_to_sink

if TYPE_CHECKING:
    from millstream.catalog.catalog import Catalog
    from millstream.sql.statements import CreateView, InsertInto, Select


def build_insert(statement: InsertInto, catalog: Catalog) -> Write:
    """The plan of one INSERT, before any rule has touched it; problems of all its parts at once."""
    found = Problems()
    target = found.of(lambda: catalog.table(statement.target).with_options(statement.hints))
    sink = found.of(lambda: resolve_sink(target)) if target is not None else None
    query = found.of(lambda: QueryBuilder(statement.query, catalog, statement.span, problems=found).build())
    rows = None
    if target is not None and query is not None:
        rows = found.of(lambda: project_to_sink(query, target, statement))
    found.raise_all()
    assert sink is not None
    assert rows is not None
    return Write(rows, sink, statement.span)


def build_select(statement: Select, catalog: Catalog) -> Collect:
    node = QueryBuilder(statement.query, catalog, statement.span, is_shown=True).build()
    if not isinstance(node, Sort):
        return Collect(node, statement.span)
    [below] = node.inputs
    hidden = frozenset(column.name for column in below.columns).difference(node.selected)
    return Collect(below, statement.span, ShownOrder(node.order, hidden, node.span))


def view_columns(statement: CreateView, catalog: Catalog) -> tuple[str, ...]:
    """The columns a view will have; its query is checked on the way."""
    node = QueryBuilder(statement.query, catalog, statement.span).build()
    if statement.columns:
        QueryBuilder.require_as_many(statement.columns, node, statement.span)
        return tuple(name.text for name in statement.columns)
    return tuple(column.name for column in node.columns)
