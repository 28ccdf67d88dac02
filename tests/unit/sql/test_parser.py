"""Statements as they are written in the wild."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import Code, ScriptError
from millstream.plan.program import compile_script
from millstream.source import SourceText
from millstream.sql.parser import ParsedScript, parse_script
from millstream.sql.script import expand
from millstream.sql.statements import CreateTable, InsertInto, PhysicalColumn, SetOption
from millstream.sql.types import DataType, Field, TypeRoot


def parse(text: str) -> ParsedScript:
    return parse_script(expand(SourceText("s", text), {}))


def only(text: str) -> Any:
    parsed = parse(text)
    assert parsed.problems == ()
    [statement] = parsed.statements
    return statement


def column_type(declared: str) -> DataType:
    statement = only(f"CREATE TABLE t (c {declared})")
    assert isinstance(statement, CreateTable)
    [column] = statement.columns
    assert isinstance(column, PhysicalColumn)
    return column.type


@pytest.mark.parametrize(
    ("declared", "type_"),
    [
        ("BIGINT", DataType(TypeRoot.BIGINT)),
        ("integer not null", DataType(TypeRoot.INT, nullable=False)),
        ("DOUBLE PRECISION", DataType(TypeRoot.DOUBLE)),
        ("DECIMAL", DataType(TypeRoot.DECIMAL, precision=10, scale=0)),
        ("NUMERIC(5)", DataType(TypeRoot.DECIMAL, precision=5, scale=0)),
        ("DECIMAL(38, 18)", DataType(TypeRoot.DECIMAL, precision=38, scale=18)),
        ("VARCHAR(20)", DataType(TypeRoot.VARCHAR, precision=20)),
        ("TIMESTAMP", DataType(TypeRoot.TIMESTAMP)),
        ("TIMESTAMP(3)", DataType(TypeRoot.TIMESTAMP, precision=3)),
        ("TIMESTAMP_LTZ(3)", DataType(TypeRoot.TIMESTAMP_LTZ, precision=3)),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", DataType(TypeRoot.TIMESTAMP_LTZ, precision=3)),
        ("ARRAY<STRING>", DataType(TypeRoot.ARRAY, element=DataType(TypeRoot.STRING))),
        (
            "MAP<STRING, ARRAY<INT>>",
            DataType(
                TypeRoot.MAP,
                key=DataType(TypeRoot.STRING),
                element=DataType(TypeRoot.ARRAY, element=DataType(TypeRoot.INT)),
            ),
        ),
        (
            "ROW<a INT, `b c` ROW<d STRING>>",
            DataType(
                TypeRoot.ROW,
                fields=(
                    Field("a", DataType(TypeRoot.INT)),
                    Field("b c", DataType(TypeRoot.ROW, fields=(Field("d", DataType(TypeRoot.STRING)),))),
                ),
            ),
        ),
    ],
)
def test_types(declared: str, type_: DataType) -> None:
    assert column_type(declared) == type_


def test_create_table_in_full() -> None:
    statement = only(
        """
        create temporary table if not exists `my table` (
          `from` STRING COMMENT 'a word of SQL',
          ts TIMESTAMP(3),
          WATERMARK FOR ts AS ts - INTERVAL '2' SECOND,
          CONSTRAINT pk PRIMARY KEY (`from`, ts) NOT ENFORCED
        ) COMMENT 'it''s one' WITH ('a;b' = 'x;y', 'c' = '')
        """
    )
    assert isinstance(statement, CreateTable)
    assert statement.name.parts == ("my table",)
    assert statement.if_not_exists
    assert [(column.name, column.comment) for column in statement.columns] == [
        ("from", "a word of SQL"),
        ("ts", None),
    ]
    assert statement.primary_key is not None
    assert statement.primary_key.columns == ("from", "ts")
    assert statement.watermark is not None
    assert statement.watermark.expression.tree.sql() == "ts - INTERVAL '2' SECOND"
    assert statement.comment == "it's one"
    assert [(option.key, option.value) for option in statement.options] == [("a;b", "x;y"), ("c", "")]
    assert statement.options[0].value_span.line == 7


def test_primary_key_on_the_column() -> None:
    statement = only("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT)")
    assert isinstance(statement, CreateTable)
    assert statement.primary_key is not None
    assert statement.primary_key.columns == ("a",)


def test_insert_and_set() -> None:
    parsed = parse("SET 'a' = 'b'; INSERT INTO t (x, y) SELECT 1, 2 FROM s; ;")
    assert [type(statement) for statement in parsed.statements] == [SetOption, InsertInto]
    assert isinstance(parsed.statements[1], InsertInto)
    assert [name.text for name in parsed.statements[1].columns] == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CREATE TABLE t (a INT AS b)", Code.SYNTAX),
        ("CREATE TABLE t (a INT) WITH ('x' = y)", Code.SYNTAX),
        ("CREATE TABLE t (a DECIMAL(39, 2))", Code.SYNTAX),
        ("CREATE TABLE t (a TIMESTAMP(10))", Code.SYNTAX),
        ("SELCT 1", Code.SYNTAX),
    ],
)
def test_refusals(text: str, code: Code) -> None:
    assert [problem.code for problem in parse(text).problems] == [code]


def test_every_statement_is_read_after_a_broken_one() -> None:
    parsed = parse("CREATE TABLE a (x FOO);\nCREATE TABLE b (x INT);\nCREATE TABLE c (x BAR);")
    assert [statement.name.text for statement in parsed.statements if isinstance(statement, CreateTable)] == ["b"]
    assert [problem.span.line for problem in parsed.problems if problem.span] == [1, 3]
    assert parsed.unreadable_tables == {"a", "c"}


WORDS = Path(__file__).parents[2].joinpath("golden/plans/grouped_by_expression.sql").read_text().split(" ")


@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from([*WORDS, "(", ")", ",", ";", "'", "`", "<", ">", "NOT", "${x}", "*"]), max_size=40
        ).map(" ".join),
    )
)
def test_no_text_ends_in_a_traceback(text: str) -> None:
    """Anything but a ScriptError fails this test, and so does one that cannot be shown."""
    shown = ""
    try:
        compile_script(SourceText("s", text), {"x": "y"}, {})
    except ScriptError as error:
        shown = str(error)
    assert shown == "" or shown.startswith("error[M")
