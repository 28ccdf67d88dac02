"""Catalogs and databases, and what names mean in them."""

from __future__ import annotations

import pytest

from millstream.errors import Code, ScriptError
from millstream.plan.operators.node import walk
from millstream.plan.operators.scan import Scan
from millstream.plan.program import JobPlan, Listing, Program, Text, compile_script
from millstream.source import SourceText

IN_MEMORY = "WITH ('type' = 'generic_in_memory')"


def program(text: str) -> Program:
    return compile_script(SourceText("s", text), {}, {})


def table(name: str, column: str) -> str:
    return f"CREATE TABLE {name} ({column} INT) WITH ('connector' = 'datagen');"


def answers(text: str) -> list[list[str]]:
    return [[row[0] for row in step.rows] for step in program(text).steps if isinstance(step, Listing)]


def columns(text: str) -> list[list[str]]:
    """Of each SELECT."""
    jobs = program(text).jobs
    return [[column.name for column in job.roots[0].columns] for job in jobs]


def tables(job: JobPlan) -> list[str]:
    return [node.source.table.name for node in walk(job.roots[0]) if isinstance(node, Scan)]


def problem(text: str) -> tuple[Code, str]:
    with pytest.raises(ScriptError) as caught:
        program(text)
    [found] = caught.value.diagnostics
    return found.code, found.primary


def test_what_is_there_and_in_use() -> None:
    text = f"""
    CREATE CATALOG c {IN_MEMORY}; CREATE CATALOG IF NOT EXISTS c {IN_MEMORY};
    CREATE CATALOG other WITH ('type' = 'generic_in_memory', 'default-database' = 'first');
    CREATE DATABASE c.d; CREATE DATABASE IF NOT EXISTS c.d COMMENT 'again';
    SHOW CATALOGS; SHOW CATALOGS LIKE 'o%'; SHOW DATABASES; SHOW DATABASES FROM c;
    SHOW CURRENT CATALOG; SHOW CURRENT DATABASE;
    USE CATALOG c; SHOW CURRENT DATABASE; USE d; SHOW CURRENT DATABASE; SHOW DATABASES;
    USE other.`first`; SHOW CURRENT CATALOG; SHOW CURRENT DATABASE;
    DROP DATABASE c.d; SHOW DATABASES IN c; DROP CATALOG c; DROP CATALOG IF EXISTS c; SHOW CATALOGS;
    """
    assert answers(text) == [
        ["c", "default_catalog", "other"],
        ["other"],
        ["default_database"],
        ["d", "default"],
        ["default_catalog"],
        ["default_database"],
        ["default"],
        ["d"],
        ["d", "default"],
        ["other"],
        ["first"],
        ["default"],
        ["default_catalog", "other"],
    ]


def test_names_mean_what_is_in_use() -> None:
    text = f"""
    CREATE DATABASE d; CREATE CATALOG c {IN_MEMORY};
    {table("t", "a")} {table("d.t", "b")} USE CATALOG c; {table("t", "e")} USE CATALOG default_catalog;
    SELECT * FROM t; SELECT * FROM d.t; SELECT * FROM default_catalog.d.t; SELECT * FROM c.`default`.t;
    USE d; SELECT * FROM t; SELECT * FROM default_database.t; SELECT x.b FROM d.t AS x JOIN t ON x.b = t.b;
    """
    assert columns(text) == [["a"], ["b"], ["b"], ["e"], ["b"], ["a"], ["b"]]


def test_tables_of_one_name_are_several() -> None:
    text = (
        f"CREATE DATABASE d; {table('t', 'a')} {table('d.t', 'a')} SELECT x.a FROM t AS x JOIN d.t AS y ON x.a = y.a;"
    )
    [job] = program(text).jobs
    assert sorted(tables(job)) == ["d.t", "t"]


def test_tables_and_views_of_a_database_are_listed() -> None:
    text = f"""
    CREATE DATABASE d; {table("t", "a")} {table("d.u", "b")} CREATE VIEW d.v AS SELECT a FROM t;
    SHOW TABLES; SHOW TABLES FROM d; SHOW VIEWS FROM d; SHOW VIEWS; USE d; SHOW TABLES LIKE 'u';
    """
    assert answers(text) == [["t"], ["u", "v"], ["v"], [], ["u"]]


def test_a_view_reads_what_was_in_use_when_it_was_created() -> None:
    text = f"""
    CREATE DATABASE d; {table("t", "a")} {table("d.t", "b")}
    CREATE VIEW d.v AS SELECT * FROM t; USE d; CREATE VIEW w AS SELECT * FROM t;
    SELECT * FROM v; USE default_database; SELECT * FROM d.w; DESCRIBE d.w;
    """
    assert columns(text) == [["a"], ["b"]]
    assert answers(text) == [["b"]]


def test_a_table_is_written_as_the_statement_that_makes_it() -> None:
    text = f"CREATE DATABASE d; {table('d.t', 'a')} {table('u', 'a')}"
    texts = [
        step.text
        for step in program(f"{text} SHOW CREATE TABLE d.t; SHOW CREATE TABLE u;").steps
        if isinstance(step, Text)
    ]
    assert [made.partition(" (")[0] for made in texts] == ["CREATE TABLE `d`.`t`", "CREATE TABLE `u`"]


def test_tables_are_changed_where_they_are() -> None:
    text = f"""
    CREATE DATABASE d; {table("t", "a")} {table("d.t", "b")}
    ALTER TABLE d.t RENAME TO u; SELECT * FROM d.u; DROP TABLE d.u; SHOW TABLES FROM d; SELECT * FROM t;
    CREATE TABLE d.l LIKE t; SELECT * FROM d.l; DROP DATABASE d CASCADE; SHOW TABLES;
    """
    assert columns(text) == [["b"], ["a"], ["a"]]
    assert answers(text) == [[], ["t"]]


@pytest.mark.parametrize(
    ("text", "code", "primary"),
    [
        ("USE nowhere;", Code.UNDEFINED_TABLE, 'there is no database "nowhere"'),
        ("USE CATALOG nowhere;", Code.UNDEFINED_TABLE, 'there is no catalog "nowhere"'),
        ("SELECT * FROM nowhere.t;", Code.UNDEFINED_TABLE, 'there is no database "nowhere"'),
        ("SHOW TABLES FROM a.b.c;", Code.UNDEFINED_TABLE, "the name of a database has one or two parts"),
        ("SHOW DATABASES FROM a.b;", Code.UNDEFINED_TABLE, '"a.b" is no catalog'),
        ("CREATE DATABASE default_database;", Code.DUPLICATE_TABLE, 'database "default_database" already exists'),
        (f"CREATE CATALOG default_catalog {IN_MEMORY};", Code.DUPLICATE_TABLE, "already exists"),
        ("CREATE CATALOG h WITH ('type' = 'hive');", Code.UNSUPPORTED_STATEMENT, "a catalog of type 'hive'"),
        ("CREATE CATALOG h;", Code.MISSING_OPTION, "a catalog needs option 'type'"),
        (
            "CREATE CATALOG h WITH ('type' = 'generic_in_memory', 'a' = 'b');",
            Code.UNDEFINED_OPTION,
            "option 'a' is not known for catalogs",
        ),
        ("DROP CATALOG default_catalog;", Code.UNSUPPORTED_STATEMENT, "is in use and cannot be dropped"),
        ("DROP DATABASE default_database;", Code.UNSUPPORTED_STATEMENT, "is in use and cannot be dropped"),
        ("DROP DATABASE nowhere;", Code.UNDEFINED_TABLE, 'there is no database "nowhere"'),
        (
            f"CREATE DATABASE d; {table('d.t', 'a')} DROP DATABASE d;",
            Code.UNSUPPORTED_STATEMENT,
            'database "default_catalog.d" is not empty',
        ),
        (f"CREATE DATABASE d; {table('d.t', 'a')} {table('d.t', 'a')}", Code.DUPLICATE_TABLE, '"t" already exists'),
        (f"CREATE DATABASE d; {table('d.t', 'a')} SELECT * FROM t;", Code.UNDEFINED_TABLE, 'table "t" is not defined'),
    ],
)
def test_what_is_refused(text: str, code: Code, primary: str) -> None:
    found = problem(text)
    assert found[0] is code
    assert primary in found[1]
