"""A column or field is named by a reserved word of Flink's only in backticks."""

from __future__ import annotations

import pytest

from millstream.errors import Code
from millstream.source import SourceText
from millstream.sql.parser import parse_script
from millstream.sql.reserved_words import RESERVED
from millstream.sql.script import expand
from millstream.sql.type_text import type_of_text

RESERVED_IN_FLINK = (
    "ABS", "ARRAY", "AT", "BYTES", "COLUMN", "COMMENT", "COUNT", "DATE", "DAY", "DEFAULT", "ELEMENT", "END", "FILTER",
    "FUNCTION", "HASH", "HOUR", "INTERVAL", "LANGUAGE", "MATCH", "METHOD", "MINUTE", "MONTH", "NEXT", "OFFSET", "ONE",
    "OPEN", "ORDER", "PARTITION", "PERIOD", "POSITION", "RANGE", "RANK", "RAW", "RESULT", "ROW", "SECOND", "START",
    "STRING", "SYSTEM", "TABLE", "TIME", "TIMESTAMP", "USER", "VALUE", "VIEWS", "WINDOW", "YEAR",
)  # fmt: skip
NAMES_IN_FLINK = (
    "ABSOLUTE", "CATALOG", "DATA", "DATABASE", "DAYS", "DESCRIPTION", "DOMAIN", "ERROR", "FIRST", "FORMAT", "HOP",
    "HOURS", "JSON", "KEY", "LAST", "LENGTH", "LEVEL", "MAP", "METADATA", "MODEL", "NAME", "NUMBER", "OPTIONS", "PATH",
    "PLAN", "QUARTER", "ROLE", "SCHEMA", "SECONDS", "SESSION", "SIZE", "SOURCE", "STATE", "STATUS", "TEMPORARY",
    "TOPIC", "TUMBLE", "TYPE", "VERSION", "VIEW", "VIRTUAL", "WEEK", "YEARS", "ZONE",
)  # fmt: skip
"""What a Flink 2.2 said of `CREATE TABLE t (word INT)`, `SELECT word FROM t`, `SELECT 1 AS word` and `t.word`."""
PLACES = (
    "CREATE TABLE t (a INT, {0} INT)",
    "CREATE TABLE t ({0} AS 1)",
    "CREATE TABLE t (a ROW<{0} INT>)",
    "CREATE TABLE t (a INT) PARTITIONED BY ({0})",
    "CREATE VIEW v ({0}) AS SELECT 1",
    "INSERT INTO t ({0}) SELECT 1",
    "SELECT {0} FROM t",
    "SELECT t.{0} FROM t",
    "SELECT r.{0}.a FROM t",
    "SELECT (r).{0} FROM t",
    "SELECT UPPER(a) AS {0} FROM t",
    "SELECT CAST(a AS ROW<{0} INT>) FROM t",
    "SELECT a FROM t GROUP BY {0}",
    "SELECT a FROM (VALUES (1)) AS t ({0})",
    "CREATE TABLE t (a INT, b AS a + {0})",
)


def problems(text: str) -> list[tuple[Code, str | None]]:
    parsed = parse_script(expand(SourceText("s", text), {}))
    return [(problem.code, problem.hint) for problem in parsed.problems]


def hint(name: str) -> str:
    return f"If it is meant as a name, write it in backticks: `{name}`."


@pytest.mark.parametrize("place", PLACES)
def test_a_reserved_word_is_no_name(place: str) -> None:
    assert problems(place.format("value")) == [(Code.SYNTAX, hint("value"))]
    assert problems(place.format("`value`")) == []


def test_words_are_reserved_as_in_flink() -> None:
    assert [word for word in RESERVED_IN_FLINK if problems(f"CREATE TABLE t ({word} INT)") == []] == []
    assert [word for word in NAMES_IN_FLINK if problems(f"CREATE TABLE t ({word} INT); SELECT {word} FROM t")] == []
    assert all(
        problems(f"CREATE TABLE t (`{word}` INT); SELECT `{word}`, t.`{word}` FROM t") == [] for word in RESERVED
    )


def test_all_reserved_words_are_told_at_once() -> None:
    text = "CREATE TABLE t (day INT, a INT, Value INT); SELECT day, Value AS result FROM t"
    assert [found for _, found in problems(text)] == [hint(name) for name in ("day", "Value", "day", "Value", "result")]


def test_tables_and_functions_may_have_such_names() -> None:
    assert problems("CREATE TABLE views (a INT); SELECT views.a, COUNT(*), CURRENT_DATE, ARRAY[1] FROM views") == []


def test_types_of_our_own_have_no_backticks() -> None:
    type_ = type_of_text("ROW<`value` INT, `at` STRING>")
    assert str(type_) == "ROW<value INT, at STRING>"
    assert type_of_text(str(type_)) == type_
