"""Scripts of several statements: what one mistake hides, and what it does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from millstream.errors import Code, ScriptError
from millstream.plan.program import compile_script
from millstream.source import SourceText
from millstream.sql.nesting import with_room
from millstream.sql.parser import ParsedScript, parse_script
from millstream.sql.script import expand
from millstream.sql.statements import CreateTable, InsertInto, Select, SetOption, StatementSet

EXAMPLES = sorted(Path(__file__).with_name("examples").glob("*.sql"))


def parse(text: str, **parameters: str) -> ParsedScript:
    return parse_script(expand(SourceText("s", text), parameters))


def places(parsed: ParsedScript) -> list[str]:
    return [f"{problem.span.line}:{problem.span.column}" for problem in parsed.problems if problem.span]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_published_examples_are_understood_as_written(path: Path) -> None:
    parsed = parse(path.read_text(encoding="utf-8"))
    assert parsed.problems == ()
    assert all(isinstance(statement, CreateTable | InsertInto) for statement in parsed.statements)


def test_a_literal_may_have_no_bytes() -> None:
    assert parse("SELECT X'', x'', 'x', X'0a'").problems == ()


def test_select_joined_to_the_target_is_read_with_a_warning() -> None:
    text = Path(__file__).with_name("examples").joinpath("pageviews_joined_select.sql").read_text(encoding="utf-8")
    parsed = parse(text)
    insert = parsed.statements[-1]
    assert isinstance(insert, InsertInto)
    assert insert.target.text == "pageviews_per_region"
    assert insert.query.tree.sql().startswith("SELECT user_region, COUNT(*)")
    [warning] = parsed.warnings
    assert warning.span is not None
    assert text[warning.span.start : warning.span.end] == "pageviews_per_regionSELECT"


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO tSELECT a FROM s",
        "CREATE TABLE t (a INT); CREATE TABLE tSELECT (a INT); INSERT INTO tSELECT a FROM s",
        "CREATE TABLE t (a INT); INSERT INTO `tSELECT` a FROM s",
    ],
)
def test_select_is_parted_only_from_a_table_of_the_script(text: str) -> None:
    parsed = parse(text)
    assert parsed.warnings == ()
    assert [problem.code for problem in parsed.problems] == [Code.SYNTAX]


def test_every_statement_is_read_after_a_broken_one() -> None:
    parsed = parse("CREATE TABLE a (x FOO);\nCREATE TABLE b (x INT);\nCREATE VIEW c AS 1;\nSET 'a' = 'b'")
    assert [type(statement) for statement in parsed.statements] == [CreateTable, SetOption]
    assert places(parsed) == ["1:19", "3:18"]
    assert parsed.unreadable_tables == {"a", "c"}


def test_every_item_is_read_after_a_broken_one() -> None:
    parsed = parse(
        "CREATE TABLE t (\n"
        "  a INT,\n"
        "  b ROW<x INT, y STRNG>,\n"
        "  c DECIMAL(99, 1),\n"
        "  d MAP<INT, STRING>,\n"
        "  e AS (1 + , 2),\n"
        "  f NUMBER(3, 4)\n"
        ") PARTITIONED BY (a, 'b')\n"
        "WITH (\n"
        "  'x' = 'y',\n"
        "  'k' = v,\n"
        "  k = 'v',\n"
        "  'z' = 'z'\n"
        ") AND"
    )
    assert places(parsed) == ["3:18", "4:13", "6:13", "7:5", "8:22", "11:9", "12:3", "14:3"]


def test_a_statement_set_without_its_end_hides_nothing() -> None:
    parsed = parse(
        "EXECUTE STATEMENT SET BEGIN\nINSERT INTO a SELECT 1;\nINSERT INTO b SELECT 1;\nCREATE TABLE t (a INT);"
    )
    assert places(parsed) == ["1:1"]
    assert [type(statement) for statement in parsed.statements] == [CreateTable]


def test_all_problems_of_a_statement_set_are_found() -> None:
    parsed = parse("BEGIN STATEMENT SET;\nINSERT INTO a SELECT (1;\nINSERT INTO b SELECT 1;\nINSERT c;\nEND; SELECT 1")
    assert places(parsed) == ["2:23", "4:1"]
    assert [type(statement) for statement in parsed.statements] == [Select]


def test_hints_know_their_table() -> None:
    text = "SELECT * FROM c.d.`t` /*+ OPTIONS('a' = '${value}') */ AS x JOIN u /*+ OPTIONS('b' = 'c') */ ON TRUE"
    [statement] = parse(text, value="a much longer value").statements
    assert isinstance(statement, Select)
    query = statement.query
    assert [query.script.text[offset:][:3] for offset, _ in query.hints] == ["`t`", "u /"]
    [[first], [second]] = (options for _, options in query.hints)
    assert (first.key, first.value) == ("a", "a much longer value")
    assert text[first.value_span.start : first.value_span.end] == "'${value}'"
    assert text[second.value_span.start : second.value_span.end] == "'c'"


def test_a_statement_set_is_one_statement() -> None:
    parsed = parse("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END; SELECT 3")
    [inserts, _] = parsed.statements
    assert isinstance(inserts, StatementSet)
    assert [insert.target.text for insert in inserts.inserts] == ["a", "b"]
    assert [insert.span.column for insert in inserts.inserts] == [29, 53]


@pytest.mark.parametrize(
    "text",
    [
        f"CREATE TABLE t (a {'ARRAY<' * 5000}INT{'>' * 5000})",
        f"SELECT {'(' * 5000}1{')' * 5000}",
        f"CREATE TABLE t (a AS {'NOT ' * 5000} b)",
    ],
)
def test_deep_nesting_is_reported(text: str) -> None:
    [problem] = parse(text).problems
    assert problem.primary == "this is nested too deeply"


def test_too_deep_nesting_is_shown_at_its_innermost_place() -> None:
    [problem] = parse(f"SELECT {'(' * 5000}1{')' * 5000}").problems
    assert problem.span is not None
    assert problem.span.column == len("SELECT ") + 5000
    assert problem.hint is None


@pytest.mark.parametrize(
    "expression",
    [
        f"{'(' * 200}a{')' * 200} > 1",
        f"{'ABS(' * 200}a{')' * 200} > 1",
        " AND ".join(["a > 1"] * 2000),
        f"{'1 + ' * 2000}1 > a",
        f"{'CASE WHEN a > 1 THEN ' * 50}TRUE{' END' * 50}",
    ],
    ids=lambda expression: expression[:12],
)
def test_what_generators_nest_is_compiled(expression: str) -> None:
    limit = sys.getrecursionlimit()
    table = "CREATE TABLE t (a INT) WITH ('connector' = 'datagen');"
    program = compile_script(SourceText("s", f"{table} SELECT a FROM t WHERE {expression}"), {}, {})
    assert len(program.jobs) == 1
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("expression", [" AND ".join(["a > 1"] * 2000), f"{'1 + ' * 2000}1 > a"], ids=["AND", "+"])
def test_what_generators_nest_is_explained(expression: str) -> None:
    table = "CREATE TABLE t (a INT) WITH ('connector' = 'datagen');"
    [job] = compile_script(SourceText("s", f"{table} SELECT a FROM t WHERE {expression}"), {}, {}).jobs
    assert len(job.explain()) > len(expression)


def nest_unions(depth: int) -> str:
    table = "CREATE TABLE t (a INT) WITH ('connector' = 'datagen');"
    return f"{table} {'SELECT a FROM t UNION ALL (' * depth}SELECT a FROM t{')' * depth}"


def test_nested_unions_are_explained() -> None:
    [job] = compile_script(SourceText("s", nest_unions(100)), {}, {}).jobs
    assert job.explain().count("Union [Spark]") == 100


def test_unions_that_are_nested_deeper_are_an_error() -> None:
    with pytest.raises(ScriptError, match="the query is nested too deeply"):
        compile_script(SourceText("s", nest_unions(300)), {}, {})


@pytest.mark.parametrize("expression", [f"{'(' * 5000}a{')' * 5000}", f"{'NOT ' * 9000}TRUE", f"a{'[1]' * 15000}"])
def test_what_is_nested_deeper_is_an_error(expression: str) -> None:
    table = "CREATE TABLE t (a INT) WITH ('connector' = 'datagen');"
    with pytest.raises(ScriptError, match="nested too deeply"):
        compile_script(SourceText("s", f"{table} SELECT {expression} FROM t"), {}, {})


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("SELECT a FROM t NATURAL LEFT JOIN t AS u", "NATURAL LEFT JOIN"),
        ("SELECT a FROM t INTERSECT BY NAME SELECT a FROM t", "INTERSECT"),
        ("SELECT a FROM t ORDER BY a", "ORDER BY"),
        ("SELECT a FROM t ORDER BY a LIMIT 1 + 2", "LIMIT"),
        ("SELECT a FROM t LIMIT 3 OFFSET a", "OFFSET"),
        ("SELECT a FROM t OFFSET 3", "OFFSET"),
        ("SELECT a FROM t FETCH FIRST 3 ROWS WITH TIES", "FETCH"),
    ],
)
def test_a_clause_that_is_not_supported_is_marked_at_its_keyword(query: str, marked: str) -> None:
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", f"CREATE TABLE t (a INT) WITH ('connector' = 'datagen'); {query}"), {}, {})
    [problem] = caught.value.diagnostics
    assert problem.code is Code.UNSUPPORTED_STATEMENT
    assert problem.span is not None
    assert problem.span.text == marked


def test_room_is_made_once() -> None:
    assert with_room(lambda: with_room(lambda: 42)) == 42


def test_a_text_is_cut_out_with_its_parameters() -> None:
    [statement] = parse("${verb} a, '${value}' FROM t", verb="SELECT", value="x").statements
    assert isinstance(statement, Select)
    assert statement.query.text == "SELECT a, 'x' FROM t"
