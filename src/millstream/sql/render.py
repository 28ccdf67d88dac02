"""Renders a statement as text, in the layout of Flink's SHOW CREATE TABLE.

All names are in backticks; queries and expressions are unchanged.
"""

from __future__ import annotations

import re
from functools import singledispatch
from typing import TYPE_CHECKING, Final

from millstream.sql.reserved_words import is_reserved
from millstream.sql.statements import (
    AlterTableRename,
    AlterTableReset,
    AlterTableSet,
    ComputedColumn,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateTableAs,
    CreateView,
    Describe,
    Drop,
    DropCatalog,
    DropDatabase,
    Explain,
    InsertInto,
    MetadataColumn,
    PhysicalColumn,
    ResetOption,
    Select,
    SetOption,
    Show,
    ShowKind,
    StatementSet,
    Use,
)
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from millstream.sql.statements import LikeClause, Name, ObjectName, OptionEntry, Statement


_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@singledispatch
def render(statement: Statement) -> str:
    """The statement's text, without a semicolon."""
    raise TypeError(type(statement))


@render.register
def _(statement: CreateTable) -> str:
    return _create_table(statement)


def _create_table(statement: CreateTable, order: Iterable[Name] = ()) -> str:
    """`order` names columns of a query."""
    head = _sentence(
        "CREATE",
        "TEMPORARY" if statement.is_temporary else "",
        "TABLE",
        "IF NOT EXISTS" if statement.if_not_exists else "",
        _path(statement.name),
    )
    items = _indent((*(quote_name(name.text) for name in order), *_table_items(statement)))
    return "\n".join((f"{head} (\n{items}\n)" if items else head, *_table_clauses(statement)))


@render.register
def _(statement: CreateTableAs) -> str:
    return f"{_create_table(statement.table, statement.order)}\nAS {statement.query.text}"


@render.register
def _(statement: CreateView) -> str:
    head = _sentence(
        "CREATE",
        "TEMPORARY" if statement.is_temporary else "",
        "VIEW",
        "IF NOT EXISTS" if statement.if_not_exists else "",
        _path(statement.name),
    )
    columns = f" (\n{_indent(quote_name(column.text) for column in statement.columns)}\n)" if statement.columns else ""
    comment = _comment(statement.comment)
    return "\n".join(filter(None, (head + columns, comment, f"AS {statement.query.text}")))


@render.register
def _(statement: CreateFunction) -> str:
    return _sentence(
        "CREATE",
        "TEMPORARY" if statement.is_temporary else "",
        "SYSTEM" if statement.is_system else "",
        "FUNCTION",
        "IF NOT EXISTS" if statement.if_not_exists else "",
        f"{_path(statement.name)} AS {quote_text(statement.implementation.text)} LANGUAGE {statement.language}",
    )


@render.register
def _(statement: Drop) -> str:
    return _sentence(
        "DROP",
        "TEMPORARY" if statement.is_temporary else "",
        statement.kind,
        "IF EXISTS" if statement.if_exists else "",
        _path(statement.name),
    )


@render.register
def _(statement: AlterTableSet) -> str:
    return f"ALTER TABLE {_path(statement.name)} SET (\n{_indent(_options(statement.options))}\n)"


@render.register
def _(statement: AlterTableReset) -> str:
    return f"ALTER TABLE {_path(statement.name)} RESET ({', '.join(quote_text(key.text) for key in statement.keys)})"


@render.register
def _(statement: AlterTableRename) -> str:
    return f"ALTER TABLE {_path(statement.name)} RENAME TO {_path(statement.new_name)}"


@render.register
def _(statement: InsertInto) -> str:
    hint = f"/*+ OPTIONS({', '.join(_options(statement.hints))}) */" if statement.hints else ""
    columns = f"({_names(statement.columns)})" if statement.columns else ""
    return f"{_sentence('INSERT INTO', _path(statement.target), hint, columns)}\n{statement.query.text}"


@render.register
def _(statement: StatementSet) -> str:
    return f"EXECUTE {_set_body(statement)}"


@render.register
def _(statement: Select) -> str:
    return statement.query.text


@render.register
def _(statement: SetOption) -> str:
    return f"SET {quote_text(statement.key)} = {quote_text(statement.value)}"


@render.register
def _(statement: ResetOption) -> str:
    return "RESET" if statement.key is None else f"RESET {quote_text(statement.key)}"


@render.register
def _(statement: CreateCatalog) -> str:
    exists = "IF NOT EXISTS" if statement.if_not_exists else ""
    head = _sentence("CREATE CATALOG", exists, quote_name(statement.name.text))
    return "\n".join(filter(None, (head, _comment(statement.comment), _with(statement.options))))


@render.register
def _(statement: CreateDatabase) -> str:
    head = _sentence("CREATE DATABASE", "IF NOT EXISTS" if statement.if_not_exists else "", _path(statement.name))
    return "\n".join(filter(None, (head, _comment(statement.comment), _with(statement.options))))


@render.register
def _(statement: DropCatalog) -> str:
    return _sentence("DROP CATALOG", "IF EXISTS" if statement.if_exists else "", quote_name(statement.name.text))


@render.register
def _(statement: DropDatabase) -> str:
    cascade = "CASCADE" if statement.cascades else ""
    return _sentence("DROP DATABASE", "IF EXISTS" if statement.if_exists else "", _path(statement.name), cascade)


@render.register
def _(statement: Use) -> str:
    return f"USE {'CATALOG ' if statement.is_catalog else ''}{_path(statement.name)}"


@render.register
def _(statement: Explain) -> str:
    inner = statement.statement
    body = _set_body(inner) if isinstance(inner, StatementSet) else render(inner)
    return f"EXPLAIN {', '.join(statement.details) or 'PLAN FOR'} {body}"


@render.register
def _(statement: Describe) -> str:
    return f"DESCRIBE {_path(statement.name)}"


@render.register
def _(statement: Show) -> str:
    if statement.kind is ShowKind.SETTINGS:
        return "SET"
    return _sentence(
        f"SHOW {statement.kind}",
        _path(statement.name) if statement.name is not None else "",
        f"FROM {_path(statement.within)}" if statement.within is not None else "",
        "NOT" if statement.is_negated else "",
        f"LIKE {quote_text(statement.like)}" if statement.like is not None else "",
    )


def render_column(column: PhysicalColumn | MetadataColumn | ComputedColumn) -> str:
    match column:
        case ComputedColumn():
            declared = f"AS {column.expression.text}"
        case MetadataColumn():
            declared = _sentence(
                f"{render_type(column.type)} METADATA",
                f"FROM {quote_text(column.key)}" if column.key != column.name else "",
                "VIRTUAL" if column.is_virtual else "",
            )
        case PhysicalColumn():
            declared = render_type(column.type)
    return _sentence(quote_name(column.name), declared, _comment(column.comment))


def render_type(type_: DataType) -> str:
    return f"{_shape(type_)}{'' if type_.nullable else ' NOT NULL'}"


def quote_name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def write_name(name: str) -> str:
    """In backticks only where the language needs them."""
    return name if _PLAIN_NAME.fullmatch(name) and not is_reserved(name) else quote_name(name)


def quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _shape(type_: DataType) -> str:
    match type_:
        case DataType(root=TypeRoot.ARRAY | TypeRoot.MULTISET, element=DataType() as element):
            return f"{type_.root}<{render_type(element)}>"
        case DataType(root=TypeRoot.MAP, key=DataType() as key, element=DataType() as element):
            return f"MAP<{render_type(key)}, {render_type(element)}>"
        case DataType(root=TypeRoot.ROW):
            fields = (
                _sentence(
                    quote_name(field.name),
                    render_type(field.type),
                    quote_text(field.comment) if field.comment is not None else "",
                )
                for field in type_.fields
            )
            return f"ROW<{', '.join(fields)}>"
        case DataType(root=TypeRoot.TIMESTAMP_LTZ):
            digits = f"({type_.precision})" if type_.precision is not None else ""
            return f"TIMESTAMP{digits} WITH LOCAL TIME ZONE"
        case _:
            return str(DataType(type_.root, precision=type_.precision, scale=type_.scale))


def _table_clauses(table: CreateTable) -> Iterator[str]:
    if table.comment is not None:
        yield _comment(table.comment)
    if table.partitioned_by:
        yield f"PARTITIONED BY ({_names(table.partitioned_by)})"
    if table.options:
        yield _with(table.options)
    if table.like is not None:
        yield _like(table.like)


def _with(options: Iterable[OptionEntry]) -> str:
    listed = _indent(_options(options))
    return f"WITH (\n{listed}\n)" if listed else ""


def _table_items(table: CreateTable) -> Iterator[str]:
    yield from (render_column(column) for column in table.columns)
    if (watermark := table.watermark) is not None:
        yield f"WATERMARK FOR {quote_name(watermark.column)} AS {watermark.expression.text}"
    if (key := table.primary_key) is not None:
        constraint = f"CONSTRAINT {quote_name(key.name)} " if key.name is not None else ""
        yield f"{constraint}PRIMARY KEY ({', '.join(map(quote_name, key.columns))}) NOT ENFORCED"


def _like(like: LikeClause) -> str:
    options = "\n".join(f"  {option.strategy} {option.feature}" for option in like.options)
    return f"LIKE {_path(like.table)}" + (f" (\n{options}\n)" if options else "")


def _set_body(statement: StatementSet) -> str:
    return "STATEMENT SET\nBEGIN\n" + "".join(f"{render(insert)};\n" for insert in statement.inserts) + "END"


def _sentence(*words: str) -> str:
    return " ".join(filter(None, words))


def _comment(comment: str | None) -> str:
    return f"COMMENT {quote_text(comment)}" if comment is not None else ""


def _indent(lines: Iterable[str]) -> str:
    return ",\n".join(f"  {line}" for line in lines)


def _options(options: Iterable[OptionEntry]) -> Iterator[str]:
    return (f"{quote_text(option.key)} = {quote_text(option.value)}" for option in options)


def _names(names: Iterable[Name]) -> str:
    return ", ".join(quote_name(name.text) for name in names)


def _path(name: ObjectName) -> str:
    return ".".join(map(quote_name, name.parts))
