"""What DESCRIBE and SHOW answer, as rows of text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.catalog.secrets import mask_all, mask_setting
from millstream.catalog.table import CatalogTable, CatalogView
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.program import Listing
from millstream.plan.resolver.queries import QueryBuilder
from millstream.plan.resolver.scans import computed_items
from millstream.sql.render import render
from millstream.sql.statements import ComputedColumn, MetadataColumn, ObjectName, ShowKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.catalog.catalog import Catalog, Relation
    from millstream.sql.statements import Column, Show
    from millstream.sql.types import DataType

_OF_A_COLUMN: Final = ("name", "type", "null", "key", "extras", "watermark")


def describe(relation: Relation, catalog: Catalog) -> Listing:
    """One row per column, as Flink's DESCRIBE gives it."""
    listing = _table(relation, catalog) if isinstance(relation, CatalogTable) else _view(relation, catalog)
    discreet = relation.span.source.discreet
    return Listing(listing.headings, tuple(tuple(map(discreet, row)) for row in listing.rows))


def list_objects(statement: Show, catalog: Catalog, settings: Mapping[str, str]) -> Listing:
    match statement.kind:
        case ShowKind.SETTINGS:
            discreet = statement.span.source.discreet
            masked = ((key, discreet(mask_setting(key, value))) for key, value in settings.items())
            return Listing(("key", "value"), tuple(sorted(masked)))
        case ShowKind.CURRENT_CATALOG:
            return Listing(("current catalog name",), ((catalog.databases.current.catalog,),))
        case ShowKind.CURRENT_DATABASE:
            return Listing(("current database name",), ((catalog.databases.current.name,),))
        case ShowKind.CATALOGS:
            heading, names = "catalog name", list(catalog.databases.catalogs)
        case ShowKind.DATABASES:
            heading, names = "database name", _databases(statement, catalog)
        case ShowKind.VIEWS:
            heading = "view name"
            names = [name for name, relation in _relations(statement, catalog) if isinstance(relation, CatalogView)]
        case ShowKind.FUNCTIONS:
            heading, names = "function name", list(catalog.functions)
        case _:
            heading, names = "table name", [name for name, _ in _relations(statement, catalog)]
    pattern = statement.like
    if pattern is not None:
        wanted = re.compile(re.escape(pattern).replace("%", ".*").replace("_", "."), re.DOTALL)
        names = [name for name in names if bool(wanted.fullmatch(name)) is not statement.is_negated]
    return Listing((heading,), tuple((name,) for name in sorted(names)))


def _databases(statement: Show, catalog: Catalog) -> list[str]:
    within = statement.within
    if within is not None and len(within.parts) > 1:
        why = f'"{".".join(within.parts)}" is no catalog'
        raise ScriptError(Diagnostic(Code.UNDEFINED_TABLE, why, within.span, hint="The name of one has one part."))
    return list(catalog.databases.names_in(within.text if within is not None else None, statement.span))


def _relations(statement: Show, catalog: Catalog) -> list[tuple[str, Relation]]:
    """The tables and views of a database by their names there."""
    databases = catalog.databases
    found = databases.current if statement.within is None else databases.find(statement.within)
    return [(catalog.path_of(relation)[-1], relation) for relation in catalog.relations_in(found)]


def show_create(relation: Relation, statement: Show, catalog: Catalog) -> str:
    """The statement that makes this table or view again."""
    is_table = isinstance(relation, CatalogTable)
    if is_table is not (statement.kind is ShowKind.CREATE_TABLE):
        found, other = ("table", "TABLE") if is_table else ("view", "VIEW")
        raise ScriptError(
            Diagnostic(
                Code.UNDEFINED_TABLE,
                f'"{relation.name}" is a {found}',
                statement.span,
                hint=f"Write SHOW CREATE {other} {relation.name}.",
            )
        )
    name = ObjectName(catalog.path_of(relation), relation.span)
    if isinstance(relation, CatalogTable):
        made = render(replace(relation.statement(), name=name, options=mask_all(relation.options)))
    else:
        made = render(replace(relation.statement(), name=name))
    return relation.span.source.discreet(made)


def _table(table: CatalogTable, catalog: Catalog) -> Listing:
    types = {item.name: item.type for item in computed_items(table, catalog.functions)}
    key = f"PRI({', '.join(table.primary_key)})"
    rows = []
    for column in table.columns:
        type_ = types[column.name]
        is_rowtime = table.watermark is not None and table.watermark.column == column.name
        name = _without_null(type_)
        watermark = table.watermark.expression.tree.sql("flink") if is_rowtime and table.watermark else ""
        rows.append(
            (
                column.name,
                f"{name} *ROWTIME*" if is_rowtime else name,
                _nullable(type_),
                key if column.name in table.primary_key else "",
                _extras(column),
                f"`{watermark}`" if watermark else "",
            )
        )
    if any(column.comment for column in table.columns):
        commented = ((*row, column.comment or "") for row, column in zip(rows, table.columns, strict=True))
        return Listing((*_OF_A_COLUMN, "comment"), tuple(commented))
    return Listing(_OF_A_COLUMN, tuple(rows))


def _view(view: CatalogView, catalog: Catalog) -> Listing:
    node = QueryBuilder(view.query, catalog.as_seen_by(view), view.span).build()
    types = [column.type for column in node.columns]
    return Listing(
        _OF_A_COLUMN,
        tuple(
            (name, _without_null(type_), _nullable(type_), "", "", "")
            for name, type_ in zip(view.columns, types, strict=True)
        ),
    )


def _without_null(type_: DataType | None) -> str:
    return "?" if type_ is None else str(type_).removesuffix(" NOT NULL")


def _nullable(type_: DataType | None) -> str:
    return str(type_ is None or type_.nullable).upper()


def _extras(column: Column) -> str:
    match column:
        case ComputedColumn():
            return f"AS {column.expression.tree.sql('flink')}"
        case MetadataColumn():
            written = "" if column.key == column.name else f" FROM '{column.key}'"
            return f"METADATA{written}{' VIRTUAL' if column.is_virtual else ''}"
        case _:
            return ""
