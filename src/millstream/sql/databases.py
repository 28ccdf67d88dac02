"""Parses the statements about catalogs and databases, except SHOW."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.sql.create_table import read_comment
from millstream.sql.options import read_options
from millstream.sql.statements import CreateCatalog, CreateDatabase, DropCatalog, DropDatabase, Use

if TYPE_CHECKING:
    from millstream.sql.cursor import TokenCursor


def read_create_catalog(cursor: TokenCursor) -> CreateCatalog:
    if_not_exists = cursor.if_not_exists()
    name = cursor.name("the name of a catalog")
    span = cursor.span_read()
    comment = read_comment(cursor)
    options = read_options(cursor) if cursor.accept("WITH") else ()
    cursor.end("COMMENT", "WITH")
    return CreateCatalog(name, options, span, comment, if_not_exists)


def read_drop_catalog(cursor: TokenCursor) -> DropCatalog:
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name("the name of a catalog")
    cursor.end()
    return DropCatalog(name, cursor.span_read(), if_exists)


def read_create_database(cursor: TokenCursor) -> CreateDatabase:
    """Options of a database say nothing: they are for other types of catalogs."""
    if_not_exists = cursor.if_not_exists()
    name = cursor.object_name("the name of a database")
    span = cursor.span_read()
    comment = read_comment(cursor)
    options = read_options(cursor) if cursor.accept("WITH") else ()
    cursor.end("COMMENT", "WITH")
    return CreateDatabase(name, options, span, comment, if_not_exists)


def read_drop_database(cursor: TokenCursor) -> DropDatabase:
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.object_name("the name of a database")
    cascades = cursor.accept_any("RESTRICT", "CASCADE") == "CASCADE"
    cursor.end("RESTRICT", "CASCADE")
    return DropDatabase(name, cursor.span_read(), if_exists, cascades)


def read_use(cursor: TokenCursor, *, is_catalog: bool) -> Use:
    name = cursor.object_name("the name of a catalog" if is_catalog else "the name of a database")
    cursor.end()
    return Use(name, is_catalog, cursor.span_read())
