"""CREATE TABLE … AS: the columns of a table that holds what a query gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.resolver.queries import QueryBuilder
from millstream.sql.statements import InsertInto, Name, PhysicalColumn
from millstream.sql.types import INTERVALS, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.catalog.catalog import Catalog
    from millstream.plan.operators.node import OutputColumn
    from millstream.sql.statements import CreateTable, CreateTableAs


@dataclass(frozen=True, slots=True)
class TableOfQuery:
    table: CreateTable
    insert: InsertInto


def table_of_query(statement: CreateTableAs, catalog: Catalog) -> TableOfQuery:
    """The table with all its columns, and the INSERT that fills it by their names.

    As in Flink, a declared column that the query gives too has the declared type and the query's place; others come
    first.
    """
    given = QueryBuilder(statement.query, catalog, statement.span).build().columns
    _refuse_types(statement, given)
    declared = {column.name: column for column in statement.table.columns}
    names = [column.name for column in given]
    own = [column for name, column in declared.items() if name not in names]
    found = [declared.get(column.name) or PhysicalColumn(column.name, column.type, statement.span) for column in given]
    if statement.order:
        places = _places(statement, names)
        found = [found[place] for place in places]
    table = replace(statement.table, columns=(*own, *found))
    columns = tuple(Name(name, statement.span) for name in names)
    return TableOfQuery(table, InsertInto(statement.name, statement.query, statement.span, columns))


def _refuse_types(statement: CreateTableAs, given: Sequence[OutputColumn]) -> None:
    problems = [
        Diagnostic(
            Code.TYPE_MISMATCH,
            f'column "{column.name}" of the query is of type {column.type}, which no table has',
            statement.query.span,
            hint="Use CAST, e.g. CAST(NULL AS STRING).",
        )
        for column in given
        if column.type.root is TypeRoot.NULL or column.type.root in INTERVALS
    ]
    if problems:
        raise ScriptError(problems)


def _places(statement: CreateTableAs, names: Sequence[str]) -> list[int]:
    """Of the columns in the written order among those of the query: all of them, each once."""
    written = [name.text for name in statement.order]
    if sorted(written) != sorted(names):
        place = statement.order[0].span
        raise ScriptError(
            Diagnostic(
                Code.SINK_SCHEMA_MISMATCH,
                "columns without a type are those of the query, each once, and these are not",
                place,
                detail=f"Written: {', '.join(written)}. The query gives: {', '.join(names)}.",
                hint="Name all columns of the query, or declare others with their types.",
            )
        )
    return [names.index(name) for name in written]
