"""Parses statements that create, alter and drop views, functions and tables, except CREATE TABLE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.create_table import read_comment
from millstream.sql.options import read_options
from millstream.sql.queries import read_query
from millstream.sql.statements import (
    AlterTableRename,
    AlterTableReset,
    AlterTableSet,
    CreateFunction,
    CreateView,
    Drop,
    Name,
    ObjectKind,
)

if TYPE_CHECKING:
    from millstream.sql.cursor import TokenCursor

_PYTHON: Final = "PYTHON"
_REFUSED_CHANGES: Final = {
    "ADD": "Write the table with the new column in CREATE TABLE.",
    "MODIFY": "Write the table as it should be in CREATE TABLE.",
    "DROP": "Write the table without it in CREATE TABLE.",
    "RENAME": "Only the table itself can be renamed: ALTER TABLE t RENAME TO u.",
}


def read_create_view(cursor: TokenCursor, *, is_temporary: bool = False) -> CreateView:
    if_not_exists = cursor.if_not_exists()
    name = cursor.object_name("a view name")
    span = cursor.span_read()
    columns = cursor.read_list("a column name", lambda: _view_column(cursor)) if cursor.at("(") else ()
    comment = read_comment(cursor)
    cursor.expect("AS")
    return CreateView(name, columns, read_query(cursor), span, comment, if_not_exists, is_temporary)


def _view_column(cursor: TokenCursor) -> Name:
    name = cursor.column_name()
    read_comment(cursor)
    return name


def read_create_function(cursor: TokenCursor, *, is_temporary: bool = False, is_system: bool = False) -> CreateFunction:
    if_not_exists = cursor.if_not_exists()
    name = cursor.object_name("a function name")
    span = cursor.span_read()
    cursor.expect("AS")
    implementation = cursor.string("module:function")
    if cursor.accept("LANGUAGE"):
        if cursor.at_any("JAVA", "SCALA"):
            raise _refuse_class(implementation)
        cursor.expect(_PYTHON)
    elif ":" not in implementation.text:
        raise _refuse_class(implementation, "As in Flink, a function without LANGUAGE PYTHON is a Java function.")
    if cursor.at_any("USING", "WITH"):
        raise cursor.unsupported_error("CREATE FUNCTION … USING", "The module is found on the Python path.")
    cursor.end()
    return CreateFunction(name, implementation, _PYTHON, span, if_not_exists, is_temporary, is_system)


def _refuse_class(implementation: Name, detail: str | None = None) -> ScriptError:
    return ScriptError(
        Diagnostic(
            Code.UNSUPPORTED_STATEMENT,
            f'"{implementation.text}" is a Java or Scala class, but functions must be written in Python',
            implementation.span,
            detail,
            "Write it in Python: CREATE FUNCTION … AS 'module:function' LANGUAGE PYTHON.",
        )
    )


def read_drop(cursor: TokenCursor, kind: ObjectKind, *, is_temporary: bool = False) -> Drop:
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.object_name(f"a {kind.lower()} name")
    cursor.end()
    return Drop(kind, name, cursor.span_read(), if_exists, is_temporary)


def read_alter_table(cursor: TokenCursor) -> AlterTableSet | AlterTableReset | AlterTableRename:
    if cursor.at("IF", "EXISTS"):
        raise cursor.unsupported_error("ALTER TABLE IF EXISTS")
    name = cursor.object_name("a table name")
    if cursor.accept("SET"):
        options = read_options(cursor)
        cursor.end()
        return AlterTableSet(name, options, cursor.span_read())
    if cursor.accept("RESET"):
        keys = cursor.read_list("an option key in single quotes", lambda: cursor.string("an option key"))
        cursor.end()
        return AlterTableReset(name, keys, cursor.span_read())
    if cursor.accept("RENAME", "TO"):
        new_name = cursor.object_name("the new name")
        cursor.end()
        return AlterTableRename(name, new_name, cursor.span_read())
    for word, instead in _REFUSED_CHANGES.items():
        if cursor.at(word):
            raise cursor.unsupported_error(f"ALTER TABLE … {word}", instead)
    raise cursor.expected_error("SET, RESET or RENAME TO")
