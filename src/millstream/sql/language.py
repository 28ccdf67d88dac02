"""The statements of the language: their leading words, and the parser of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.create_table import HIVE, read_create_table
from millstream.sql.databases import (
    read_create_catalog,
    read_create_database,
    read_drop_catalog,
    read_drop_database,
    read_use,
)
from millstream.sql.inserts import read_begin, read_execute, read_explain, read_insert, read_select
from millstream.sql.objects import read_alter_table, read_create_function, read_create_view, read_drop
from millstream.sql.queries import BEGINS_A_QUERY, at_query
from millstream.sql.settings import (
    read_describe,
    read_reset,
    read_set,
    read_show,
    read_show_create,
    read_show_current,
    read_show_jobs,
)
from millstream.sql.slips import did_you_mean
from millstream.sql.statements import ObjectKind, ShowKind, Statement

if TYPE_CHECKING:
    from millstream.sql.cursor import TokenCursor

Reader = Callable[["TokenCursor"], Statement]

READERS: Final[dict[str, Reader]] = {
    "CREATE TABLE": read_create_table,
    "CREATE TEMPORARY TABLE": partial(read_create_table, is_temporary=True),
    "CREATE VIEW": read_create_view,
    "CREATE TEMPORARY VIEW": partial(read_create_view, is_temporary=True),
    "CREATE FUNCTION": read_create_function,
    "CREATE TEMPORARY FUNCTION": partial(read_create_function, is_temporary=True),
    "CREATE TEMPORARY SYSTEM FUNCTION": partial(read_create_function, is_temporary=True, is_system=True),
    "CREATE CATALOG": read_create_catalog,
    "CREATE DATABASE": read_create_database,
    "DROP CATALOG": read_drop_catalog,
    "DROP DATABASE": read_drop_database,
    "DROP TABLE": partial(read_drop, kind=ObjectKind.TABLE),
    "DROP TEMPORARY TABLE": partial(read_drop, kind=ObjectKind.TABLE, is_temporary=True),
    "DROP VIEW": partial(read_drop, kind=ObjectKind.VIEW),
    "DROP TEMPORARY VIEW": partial(read_drop, kind=ObjectKind.VIEW, is_temporary=True),
    "DROP FUNCTION": partial(read_drop, kind=ObjectKind.FUNCTION),
    "DROP TEMPORARY FUNCTION": partial(read_drop, kind=ObjectKind.FUNCTION, is_temporary=True),
    "DROP TEMPORARY SYSTEM FUNCTION": partial(read_drop, kind=ObjectKind.FUNCTION, is_temporary=True),
    "ALTER TABLE": read_alter_table,
    "INSERT INTO": read_insert,
    "EXECUTE": read_execute,
    "BEGIN STATEMENT SET": read_begin,
    "EXPLAIN": read_explain,
    "SET": read_set,
    "RESET": read_reset,
    "USE": partial(read_use, is_catalog=False),
    "USE CATALOG": partial(read_use, is_catalog=True),
    "DESCRIBE": read_describe,
    "DESC": read_describe,
    "SHOW CATALOGS": partial(read_show, kind=ShowKind.CATALOGS),
    "SHOW DATABASES": partial(read_show, kind=ShowKind.DATABASES),
    "SHOW CURRENT CATALOG": partial(read_show_current, kind=ShowKind.CURRENT_CATALOG),
    "SHOW CURRENT DATABASE": partial(read_show_current, kind=ShowKind.CURRENT_DATABASE),
    "SHOW TABLES": partial(read_show, kind=ShowKind.TABLES),
    "SHOW VIEWS": partial(read_show, kind=ShowKind.VIEWS),
    "SHOW FUNCTIONS": partial(read_show, kind=ShowKind.FUNCTIONS),
    "SHOW JOBS": read_show_jobs,
    "SHOW CREATE TABLE": partial(read_show_create, kind=ShowKind.CREATE_TABLE),
    "SHOW CREATE VIEW": partial(read_show_create, kind=ShowKind.CREATE_VIEW),
}

_TABLE_OF_QUERY: Final = "Write CREATE TABLE … AS SELECT, which makes a table and fills it."
_TABLE_ANEW: Final = "Write DROP TABLE IF EXISTS and the table's name first, then CREATE TABLE."
_VIEW_ANEW: Final = "Write DROP VIEW IF EXISTS and the view's name first, then CREATE VIEW."
_APPEND_ONLY: Final = (
    "A topic takes messages only; write to an upsert-kafka table, where a newer row replaces an older one."
)
_ON_THE_PATH: Final = "Leave it out: Python modules are found on the Python path."
_IN_MEMORY: Final = "Leave it out: catalogs and databases are kept in memory and have no properties."
_ONLY_SHOWN: Final = (
    "SHOW supports CATALOGS, DATABASES, CURRENT CATALOG, CURRENT DATABASE, TABLES, VIEWS, FUNCTIONS, JOBS, "
    "CREATE TABLE and CREATE VIEW."
)

REFUSED: Final[dict[str, str | None]] = {
    "ADD JAR": _ON_THE_PATH,
    "ALTER CATALOG": _IN_MEMORY,
    "ALTER CONNECTION": None,
    "ALTER DATABASE": _IN_MEMORY,
    "ALTER FUNCTION": "Drop the function and create it again.",
    "ALTER MATERIALIZED TABLE": _TABLE_OF_QUERY,
    "ALTER MODEL": None,
    "ALTER TEMPORARY FUNCTION": "Drop the function and create it again.",
    "ALTER TEMPORARY SYSTEM FUNCTION": "Drop the function and create it again.",
    "ALTER VIEW": "Drop the view and create it again.",
    "ANALYZE TABLE": None,
    "CALL": None,
    "CLEAR": None,
    "COMPILE AND EXECUTE PLAN": "A job is recompiled from its script.",
    "COMPILE PLAN": "A job is recompiled from its script.",
    "CREATE CONNECTION": None,
    "CREATE EXTERNAL TABLE": HIVE,
    "CREATE MATERIALIZED TABLE": _TABLE_OF_QUERY,
    "CREATE MODEL": None,
    "CREATE OR ALTER MATERIALIZED TABLE": _TABLE_OF_QUERY,
    "CREATE OR REPLACE TABLE": _TABLE_ANEW,
    "CREATE OR REPLACE TEMPORARY VIEW": _VIEW_ANEW,
    "CREATE OR REPLACE VIEW": _VIEW_ANEW,
    "CREATE TEMPORARY MODEL": None,
    "DELETE FROM": _APPEND_ONLY,
    "DROP CONNECTION": None,
    "DROP MATERIALIZED TABLE": None,
    "DROP MODEL": None,
    "EXECUTE PLAN": "A job is recompiled from its script.",
    "EXIT": None,
    "HELP": None,
    "INSERT OVERWRITE": "A topic cannot be overwritten; write INSERT INTO.",
    "LOAD MODULE": "The functions are built in.",
    "MERGE INTO": _APPEND_ONLY,
    "QUIT": None,
    "REMOVE JAR": _ON_THE_PATH,
    "REPLACE TABLE": _TABLE_ANEW,
    "SHOW COLUMNS": "Write DESCRIBE and the table's name.",
    "SHOW CREATE CATALOG": _ONLY_SHOWN,
    "SHOW CREATE MATERIALIZED TABLE": _ONLY_SHOWN,
    "SHOW CREATE MODEL": _ONLY_SHOWN,
    "SHOW FULL MODULES": _ONLY_SHOWN,
    "SHOW JARS": _ONLY_SHOWN,
    "SHOW MATERIALIZED TABLES": _ONLY_SHOWN,
    "SHOW MODELS": _ONLY_SHOWN,
    "SHOW MODULES": _ONLY_SHOWN,
    "SHOW PARTITIONS": _ONLY_SHOWN,
    "SHOW PROCEDURES": _ONLY_SHOWN,
    "SHOW USER FUNCTIONS": "Write SHOW FUNCTIONS.",
    "STOP JOB": "Stop the job where it runs.",
    "TRUNCATE TABLE": "Delete the topic's messages with Kafka's own tools.",
    "UNLOAD MODULE": "The functions are built in.",
    "UPDATE": _APPEND_ONLY,
    "UPGRADE STATEMENT SET": None,
    "USE MODULES": "The functions are built in.",
}
"""Other statements of Flink, and what to do instead where there is an alternative."""

_LONGEST_FIRST: Final = sorted([*READERS, *REFUSED], key=lambda words: -len(words.split()))


def read_statement(cursor: TokenCursor) -> Statement:
    if at_query(cursor):
        return read_select(cursor)
    for words in _LONGEST_FIRST:
        if not cursor.accept(*words.split()):
            continue
        if words in REFUSED:
            primary = f"{words} is not supported"
            raise ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, primary, cursor.span_read(), hint=REFUSED[words]))
        return READERS[words](cursor)
    raise _not_a_statement(cursor)


def _not_a_statement(cursor: TokenCursor) -> ScriptError:
    """Points at the first word with which no statement continues, and lists those that would."""
    going_on = [words.split() for words in (*READERS, *BEGINS_A_QUERY)]
    refused = [words.split() for words in REFUSED]
    depth = 0
    while following := next(
        (words[depth] for words in going_on + refused if cursor.at(*words[depth : depth + 1])), None
    ):
        cursor.expect(following)
        going_on, refused, depth = (
            _continuations(going_on, following, depth),
            _continuations(refused, following, depth),
            depth + 1,
        )
    offered = list(dict.fromkeys(words[depth] for words in going_on))
    written = cursor.current.text if cursor.current is not None else ""
    near = did_you_mean(written, [*offered, *(words[depth] for words in refused)])
    what = _one_of(offered or [words[depth] for words in refused]) if depth else "a statement"
    return cursor.expected_error(what, near)


def _continuations(beginnings: list[list[str]], word: str, depth: int) -> list[list[str]]:
    return [words for words in beginnings if words[depth] == word and len(words) > depth + 1]


def _one_of(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
