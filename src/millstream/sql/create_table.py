"""Parses `CREATE TABLE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.options import read_options
from millstream.sql.queries import read_expression, read_query
from millstream.sql.statements import (
    Column,
    ComputedColumn,
    CreateTable,
    CreateTableAs,
    LikeClause,
    LikeFeature,
    LikeOption,
    LikeStrategy,
    MetadataColumn,
    Name,
    PhysicalColumn,
    PrimaryKeyDeclaration,
    WatermarkDeclaration,
)
from millstream.sql.type_parser import parse_type

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from millstream.source import Span
    from millstream.sql.cursor import TokenCursor
    from millstream.sql.statements import Query

_OVERWRITABLE: Final = frozenset(
    {LikeFeature.GENERATED, LikeFeature.METADATA, LikeFeature.OPTIONS, LikeFeature.WATERMARKS}
)
HIVE: Final = "That is Hive syntax; write WITH ('connector' = 'filesystem', 'path' = '…', 'format' = 'parquet')."
_REFUSED_CLAUSES: Final = {
    "DISTRIBUTED": "Kafka partitions by the message key; leave the clause out.",
    "CLUSTERED BY": HIVE,
    "LOCATION": HIVE,
    "ROW FORMAT": HIVE,
    "STORED AS": HIVE,
    "STORED BY": HIVE,
    "TBLPROPERTIES": HIVE,
}


_REFUSED_WORDS: Final = tuple(clause.partition(" ")[0] for clause in _REFUSED_CLAUSES)


class _Body:
    """The contents of the parentheses of a CREATE TABLE, collected item by item."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self.primary_key: PrimaryKeyDeclaration | None = None
        self.watermark: WatermarkDeclaration | None = None
        self.untyped: list[tuple[Name, ScriptError]] = []
        """Names without a type, which can only be those of columns of a query, and the error if there is none."""

    def set_primary_key(self, columns: tuple[str, ...], span: Span, name: str | None) -> None:
        if self.primary_key is not None:
            raise ScriptError(Diagnostic(Code.INVALID_PRIMARY_KEY, "a table has at most one primary key", span))
        self.primary_key = PrimaryKeyDeclaration(columns, span, name)

    def set_watermark(self, watermark: WatermarkDeclaration) -> None:
        if self.watermark is not None:
            raise ScriptError(
                Diagnostic(Code.INVALID_WATERMARK, "a table has at most one WATERMARK declaration", watermark.span)
            )
        self.watermark = watermark


def read_create_table(cursor: TokenCursor, *, is_temporary: bool = False) -> CreateTable | CreateTableAs:
    if_not_exists = cursor.if_not_exists()
    name = cursor.object_name("a table name")
    span = cursor.span_read()
    body = _Body()
    has_columns = cursor.at("(")
    if has_columns:
        cursor.read_list("a column", lambda: _item(cursor, body))
    elif not cursor.at_any("COMMENT", "PARTITIONED", "WITH", "LIKE", "AS", *_REFUSED_WORDS):
        raise cursor.expected_error("( and the columns")
    comment = read_comment(cursor)
    _refuse_clauses(cursor)
    partitioned_by: tuple[Name, ...] = ()
    if cursor.accept("PARTITIONED"):
        cursor.expect("BY")
        partitioned_by = cursor.read_list("a column name", lambda: _partition_column(cursor))
    _refuse_clauses(cursor)
    options = read_options(cursor) if cursor.accept("WITH") else ()
    _refuse_clauses(cursor)
    like = _like(cursor) if cursor.accept("LIKE") else None
    query = None
    if like is None and cursor.at("AS"):
        query = _read_query(cursor, body, is_temporary=is_temporary)
    else:
        cursor.noted += [problem for _, error in body.untyped for problem in error.diagnostics]
        if like is None and not has_columns:
            raise cursor.expected_error("LIKE and the table whose columns it takes")
        cursor.end("WITH", "LIKE", "COMMENT", "PARTITIONED", "AS")
    table = CreateTable(
        name=name,
        columns=tuple(body.columns),
        options=options,
        span=span,
        primary_key=body.primary_key,
        watermark=body.watermark,
        comment=comment,
        partitioned_by=partitioned_by,
        like=like,
        if_not_exists=if_not_exists,
        is_temporary=is_temporary,
    )
    return table if query is None else CreateTableAs(table, query, tuple(name for name, _ in body.untyped))


def _read_query(cursor: TokenCursor, body: _Body, *, is_temporary: bool) -> Query:
    """The query after AS. Columns before it are declared with their types, or are all of the query's by name."""
    if is_temporary:
        raise cursor.unsupported_error("CREATE TEMPORARY TABLE … AS", "Leave TEMPORARY out, or create a view.")
    if body.untyped and body.columns:
        cursor.noted += body.untyped[0][1].diagnostics
    cursor.expect("AS")
    return read_query(cursor)


def read_comment(cursor: TokenCursor) -> str | None:
    return cursor.string("a comment").text if cursor.accept("COMMENT") else None


def _refuse_clauses(cursor: TokenCursor) -> None:
    for clause, instead in _REFUSED_CLAUSES.items():
        if cursor.at(*clause.split()):
            raise cursor.unsupported_error(f"CREATE TABLE … {clause}", instead)


def _partition_column(cursor: TokenCursor) -> Name:
    name = cursor.column_name()
    if not cursor.at_any(",", ")"):
        declaration = f"Declare {name.text} among the columns of the table, and name it here without its type"
        raise cursor.error(Code.SYNTAX, "PARTITIONED BY lists columns and does not declare them", f"{declaration}.")
    return name


def _item(cursor: TokenCursor, body: _Body) -> None:
    start = cursor.current
    assert start is not None
    if cursor.accept("WATERMARK", "FOR"):
        body.set_watermark(_watermark(cursor, start))
    elif cursor.at("CONSTRAINT") or cursor.at("PRIMARY", "KEY"):
        name = _constraint_name(cursor)
        _refuse_unique(cursor)
        cursor.expect("PRIMARY", "KEY")
        columns = tuple(column.text for column in cursor.column_names())
        _read_not_enforced(cursor)
        body.set_primary_key(columns, cursor.since(start), name)
    else:
        _refuse_unique(cursor)
        _column(cursor, body)


def _watermark(cursor: TokenCursor, start: Token) -> WatermarkDeclaration:
    column = cursor.column_name("the rowtime column")
    if cursor.at("."):
        raise cursor.error(
            Code.INVALID_WATERMARK,
            f'a field inside "{column.text}" cannot be the rowtime',
            "Add a computed column that holds it, and declare the watermark for that.",
        )
    cursor.expect("AS")
    expression = read_expression(cursor, cursor.up_to(lambda: cursor.at_any(",", ")")))
    return WatermarkDeclaration(column.text, expression, cursor.since(start))


def _column(cursor: TokenCursor, body: _Body) -> None:
    name = cursor.column_name()
    if cursor.accept("AS"):
        tokens = cursor.up_to(
            lambda: cursor.at_any(",", ")") or (cursor.at("COMMENT") and cursor.at_string(distance=1))
        )
        expression = read_expression(cursor, tokens)
        body.columns.append(ComputedColumn(name.text, expression, name.span, read_comment(cursor)))
        return
    if cursor.at_any(",", ")"):
        error = cursor.expected_error("a type", f"Add one after the name, e.g. {name.text} STRING.")
        body.untyped.append((name, error))
        return
    type_ = parse_type(cursor)
    if cursor.at("AS"):
        raise cursor.expected_error(", or )", f"A computed column is declared without a type: {name.text} AS ….")
    if cursor.accept("METADATA"):
        key = cursor.string("the metadata key").text if cursor.accept("FROM") else name.text
        is_virtual = cursor.accept("VIRTUAL")
        body.columns.append(MetadataColumn(name.text, type_, name.span, key, is_virtual, read_comment(cursor)))
        return
    start = cursor.current
    constraint = _constraint_name(cursor)
    _refuse_unique(cursor)
    if start is not None and (constraint is not None or cursor.at("PRIMARY")):
        cursor.expect("PRIMARY", "KEY")
        _read_not_enforced(cursor)
        body.set_primary_key((name.text,), cursor.since(start), constraint)
    body.columns.append(PhysicalColumn(name.text, type_, name.span, read_comment(cursor)))


def _constraint_name(cursor: TokenCursor) -> str | None:
    return cursor.name("a constraint name").text if cursor.accept("CONSTRAINT") else None


def _refuse_unique(cursor: TokenCursor) -> None:
    if cursor.at("UNIQUE"):
        raise cursor.unsupported_error("UNIQUE", "A table can have only a primary key: PRIMARY KEY (…) NOT ENFORCED.")


def _read_not_enforced(cursor: TokenCursor) -> None:
    if not cursor.accept("NOT", "ENFORCED"):
        raise cursor.error(
            Code.INVALID_PRIMARY_KEY,
            "a primary key must be declared NOT ENFORCED",
            "A Kafka topic cannot reject a row; write PRIMARY KEY (…) NOT ENFORCED.",
        )


def _like(cursor: TokenCursor) -> LikeClause:
    table = cursor.object_name("a table name")
    options: list[LikeOption] = []
    if cursor.accept("("):
        while not cursor.accept(")"):
            options.append(_like_option(cursor, {option.feature for option in options}))
    return LikeClause(table, tuple(options))


def _like_option(cursor: TokenCursor, taken: set[LikeFeature]) -> LikeOption:
    start = cursor.current
    strategy = cursor.accept_any(*LikeStrategy)
    if strategy is None or start is None:
        raise cursor.expected_error(f"{', '.join(LikeStrategy)} or )")
    if not cursor.at_any(*LikeFeature):
        raise cursor.expected_error(f"one of {', '.join(LikeFeature)}")
    feature = LikeFeature(cursor.accept_any(*LikeFeature) or "")
    option = LikeOption(LikeStrategy(strategy), feature, cursor.since(start))
    if strategy == LikeStrategy.OVERWRITING and feature not in _OVERWRITABLE:
        raise ScriptError(Diagnostic(Code.SYNTAX, f"{feature} cannot be overwritten", option.span))
    if feature in taken:
        raise ScriptError(Diagnostic(Code.SYNTAX, f"{feature} is named twice", option.span))
    return option
