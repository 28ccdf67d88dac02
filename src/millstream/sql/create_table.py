"""Reading `CREATE TABLE`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.statements import (
    Column,
    CreateTable,
    OptionEntry,
    PhysicalColumn,
    PrimaryKeyDeclaration,
    WatermarkDeclaration,
)
from millstream.sql.type_parser import parse_type

if TYPE_CHECKING:
    from millstream.source import Span
    from millstream.sql.cursor import TokenCursor
    from millstream.sql.queries import QueryReader


class _Body:
    """What the parentheses of a CREATE TABLE declare, gathered item by item."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self.primary_key: PrimaryKeyDeclaration | None = None
        self.watermark: WatermarkDeclaration | None = None

    def set_primary_key(self, columns: tuple[str, ...], span: Span) -> None:
        if self.primary_key is not None:
            raise ScriptError(Diagnostic(Code.INVALID_PRIMARY_KEY, "a table has at most one primary key", span))
        self.primary_key = PrimaryKeyDeclaration(columns, span)

    def set_watermark(self, watermark: WatermarkDeclaration) -> None:
        if self.watermark is not None:
            raise ScriptError(
                Diagnostic(Code.INVALID_WATERMARK, "a table has at most one WATERMARK declaration", watermark.span)
            )
        self.watermark = watermark


def parse_create_table(cursor: TokenCursor, queries: QueryReader) -> CreateTable:
    start = cursor.current
    assert start is not None
    cursor.expect("CREATE")
    is_temporary = cursor.accept("TEMPORARY")
    cursor.expect("TABLE")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name("a table name")
    span = cursor.since(start)
    body = _Body()
    cursor.expect("(")
    _item(cursor, queries, body)
    while cursor.accept(","):
        _item(cursor, queries, body)
    cursor.expect(")")
    comment = cursor.string("a comment").text if cursor.accept("COMMENT") else None
    for clause in ("PARTITIONED", "DISTRIBUTED", "LIKE", "AS"):
        if cursor.at(clause):
            raise cursor.error(f"CREATE TABLE … {clause} is not supported yet", code=Code.UNSUPPORTED_STATEMENT)
    options = _options(cursor) if cursor.accept("WITH") else ()
    cursor.end()
    return CreateTable(
        name=name,
        columns=tuple(body.columns),
        options=options,
        span=span,
        primary_key=body.primary_key,
        watermark=body.watermark,
        comment=comment,
        if_not_exists=if_not_exists,
        is_temporary=is_temporary,
    )


def _item(cursor: TokenCursor, queries: QueryReader, body: _Body) -> None:
    start = cursor.current
    if start is None:
        raise cursor.error("expected a column")
    if cursor.accept("WATERMARK", "FOR"):
        column = cursor.name("the rowtime column")
        cursor.expect("AS")
        expression = queries.expression(cursor.up_to(",", ")"), cursor)
        body.set_watermark(WatermarkDeclaration(column.text, expression, cursor.since(start)))
    elif cursor.at("CONSTRAINT") or cursor.at("PRIMARY", "KEY"):
        if cursor.accept("CONSTRAINT"):
            cursor.name("a constraint name")
        cursor.expect("PRIMARY", "KEY", "(")
        columns = [cursor.name("a column name").text]
        while cursor.accept(","):
            columns.append(cursor.name("a column name").text)
        cursor.expect(")")
        _not_enforced(cursor)
        body.set_primary_key(tuple(columns), cursor.since(start))
    else:
        _column(cursor, body)


def _column(cursor: TokenCursor, body: _Body) -> None:
    name = cursor.name("a column name")
    if cursor.at("AS"):
        raise cursor.error("computed columns are not supported yet", code=Code.UNSUPPORTED_STATEMENT)
    type_ = parse_type(cursor)
    if cursor.at("METADATA"):
        raise cursor.error("metadata columns are not supported yet", code=Code.UNSUPPORTED_STATEMENT)
    if cursor.at("PRIMARY", "KEY"):
        start = cursor.current
        assert start is not None
        cursor.expect("PRIMARY", "KEY")
        _not_enforced(cursor)
        body.set_primary_key((name.text,), cursor.since(start))
    comment = cursor.string("a comment").text if cursor.accept("COMMENT") else None
    body.columns.append(PhysicalColumn(name.text, type_, name.span, comment))


def _not_enforced(cursor: TokenCursor) -> None:
    if not cursor.accept("NOT", "ENFORCED"):
        raise cursor.error(
            "a primary key must be declared NOT ENFORCED",
            hint="A Kafka topic cannot reject a row; write PRIMARY KEY (…) NOT ENFORCED.",
            code=Code.INVALID_PRIMARY_KEY,
        )


def _options(cursor: TokenCursor) -> tuple[OptionEntry, ...]:
    cursor.expect("(")
    entries = [_option(cursor)]
    while cursor.accept(","):
        entries.append(_option(cursor))
    cursor.expect(")")
    return tuple(entries)


def _option(cursor: TokenCursor) -> OptionEntry:
    key = cursor.string("an option key")
    cursor.expect("=")
    value = cursor.string("the option's value")
    return OptionEntry(key.text, value.text, key.span, value.span)
