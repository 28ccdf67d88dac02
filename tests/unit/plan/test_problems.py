"""What `check` reports of a wrong script: everything at once, nothing twice, and never nothing."""

from __future__ import annotations

import pytest

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.program import Listing, compile_script
from millstream.source import SourceText

TABLES = """
CREATE TABLE p (a INT, b STRING, t TIMESTAMP(3)) WITH ('connector' = 'datagen');
CREATE TABLE s (a INT, b STRING) WITH ('connector' = 'print');
"""
JOINED = "s AS h ON p.a = h.a"


def problems(script: str) -> list[Diagnostic]:
    try:
        compile_script(SourceText("s.sql", f"{TABLES}{script}"), {}, {})
    except ScriptError as error:
        return list(error.diagnostics)
    return []


def marked_text(diagnostic: Diagnostic) -> str:
    assert diagnostic.span is not None
    return diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end]


def test_a_view_on_itself_is_a_view_on_nothing() -> None:
    [found] = problems("CREATE VIEW v5 AS SELECT * FROM v5; SELECT * FROM v5;")
    assert (found.code, marked_text(found)) == (Code.UNDEFINED_TABLE, "v5")


def test_views_in_a_circle_are_told_where_the_first_went() -> None:
    [found] = problems(
        "CREATE VIEW v1 AS SELECT a FROM p;\nCREATE VIEW v2 AS SELECT a FROM v1;\n"
        "DROP VIEW v1;\nCREATE VIEW v1 AS SELECT a FROM v2;\nSELECT * FROM v1;"
    )
    assert found.code is Code.UNDEFINED_TABLE
    assert "dropped at s.sql:6" in (found.detail or "")


def test_each_clause_of_a_query_has_its_say() -> None:
    found = problems("SELECT nope1, UPER(b), a + 'x' FROM p WHERE nope2 = 1 GROUP BY nope3, nope5 HAVING nope4 > 1;")
    places = [marked_text(one).split("(")[0].split()[0] for one in found]
    assert places == ["nope1", "UPER", "a", "nope2", "nope3", "nope5", "nope4"]


def test_a_wrong_option_of_a_source_hides_nothing_behind_it() -> None:
    table = "CREATE TABLE w (a INT, b STRING) WITH ('connector' = 'datagen', 'rows' = '5');"
    found = problems(f"{table} INSERT INTO s SELECT b, a FROM w;")
    assert [one.code for one in found] == [Code.UNDEFINED_OPTION, Code.SINK_SCHEMA_MISMATCH]


def test_a_wrong_option_of_a_sink_hides_no_mismatch() -> None:
    found = problems("CREATE TABLE w (a INT) WITH ('connector' = 'print', 'x' = 'y'); INSERT INTO w SELECT b FROM p;")
    assert [one.code for one in found] == [Code.UNDEFINED_OPTION, Code.SINK_SCHEMA_MISMATCH]


def test_every_insert_of_a_statement_set_is_looked_at() -> None:
    found = problems(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO s SELECT nope, b FROM p; INSERT INTO s SELECT b, a FROM p; END;"
    )
    assert [one.code for one in found] == [Code.UNDEFINED_COLUMN, Code.SINK_SCHEMA_MISMATCH]


def test_a_wrong_key_hides_nothing_else_of_its_table() -> None:
    found = problems(
        "CREATE TABLE w (ident INT, c AS UPER(x), w TIMESTAMP(9), WATERMARK FOR w AS w, "
        "PRIMARY KEY (idnt) NOT ENFORCED) PARTITIONED BY (nope) WITH ('connector' = 'upsert-kafka', 'tpic' = 'x');"
        "INSERT INTO w SELECT b FROM p;"
    )
    assert {one.code for one in found} == {
        Code.INVALID_PRIMARY_KEY, Code.UNDEFINED_FUNCTION, Code.UNDEFINED_COLUMN, Code.INVALID_WATERMARK,
        Code.MISSING_OPTION, Code.UNDEFINED_OPTION, Code.SINK_SCHEMA_MISMATCH,
    }  # fmt: skip
    assert next(one.hint for one in found if one.code is Code.INVALID_PRIMARY_KEY) == 'Did you mean "ident"?'


@pytest.mark.parametrize("column", ["k ROW<x MAP<INT, INT>>", "k MAP<INT, INT>", "k MULTISET<INT>", "k AS a + 1"])
def test_a_key_is_read_and_has_one_spelling(column: str) -> None:
    [found] = problems(f"CREATE TABLE w (a INT, {column}, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');")
    assert found.code is Code.INVALID_PRIMARY_KEY


@pytest.mark.parametrize(
    ("type_", "is_taken"), [("TIMESTAMP(3)", True), ("TIMESTAMP", True), ("TIMESTAMP_LTZ(9)", False)]
)
def test_a_watermark_counts_milliseconds(type_: str, is_taken: bool) -> None:  # noqa: FBT001
    script = f"CREATE TABLE w (r {type_}, WATERMARK FOR r AS r) WITH ('connector' = 'datagen');"
    assert [one.code for one in problems(script)] == ([] if is_taken else [Code.INVALID_WATERMARK])


def test_a_function_cannot_take_the_name_of_a_built_in_one() -> None:
    [found] = problems("CREATE FUNCTION Upper AS 'voices:shout' LANGUAGE PYTHON;")
    assert (found.code, marked_text(found)) == (Code.INVALID_FUNCTION, "Upper")


@pytest.mark.parametrize(
    ("query", "primary", "place"),
    [
        ("SELECT nope", 'there is no table to read column "nope" from', "nope"),
        ("SELECT nope FROM (SELECT a FROM p)", 'column "nope" is not a column of a sub-query without a name', "nope"),
        ("SELECT a & 1 FROM p", "operator & is not supported yet", "a & 1"),
        ("SELECT a FROM p FOR SYSTEM_TIME AS OF t", "FOR SYSTEM_TIME AS OF is not supported yet", "t"),
        ("SELECT a FROM p TABLESAMPLE (10 PERCENT)", "TABLESAMPLE is not supported yet", "10"),
        ("SELECT a FROM p FETCH FIRST 5 PERCENT ROWS ONLY", "FETCH is not supported yet", "FETCH"),
        (
            "SELECT h.b FROM p NATURAL LEFT JOIN s AS h WHERE h.b = 'x'",
            "NATURAL LEFT JOIN is not supported yet",
            "NATURAL LEFT JOIN",
        ),
        ("CREATE VIEW v (x) AS SELECT a, b FROM p", "1 column is named, and the query has 2", "CREATE VIEW v"),
        ("SELECT CASE WHEN a = 1 THEN 1 ELSE b END FROM p", "INT and STRING have no type in common", "b"),
        (
            "SELECT a, (SELECT a FROM p) FROM p",
            "a sub-query that may have several rows cannot stand for a value",
            "a FROM p",
        ),
        (
            "SELECT a, a IN (SELECT MAX(a), b FROM p GROUP BY b) FROM p",
            "IN compares 1 value, and the sub-query has 2 columns",
            "a IN (SELECT MAX(a), b FROM p GROUP BY b",
        ),
        ("SELECT b RLIKE 'a' FROM p", "the operator RLIKE or REGEXP is not supported yet", "b RLIKE 'a'"),
        ("SELECT b = 5 FROM p", "cannot compare STRING with INT", "b = 5"),
        ("SELECT SOURCE_WATERMARK() FROM p", "SOURCE_WATERMARK is not supported", "SOURCE_WATERMARK()"),
        ("WITH c AS (SELECT a FROM p), c AS (SELECT b FROM p) SELECT * FROM c", 'WITH names "c" twice', "c"),
    ],
)
def test_one_problem_in_the_words_of_the_user(query: str, primary: str, place: str) -> None:
    [found] = problems(f"{query};")
    assert (found.primary, marked_text(found)) == (primary, place)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT a FROM p INTERSECT SELECT a, b FROM p", "use NULL for one that is missing"),
        ("SELECT a FROM p EXCEPT CORRESPONDING SELECT a FROM p", "Leave the words out"),
        ("SELECT a FROM p NATURAL JOIN s", "USING (id)"),
        ("SELECT a FROM p JOIN p AS d ON p.a = d.a", "Write p.a."),
        ("SELECT a FROM p UNION ALL SELECT a, b FROM p", "use NULL for one that is missing"),
        ("SELECT a FROM p UNION ALL SELECT b FROM p", "CAST it to the same type"),
        ("SELECT p.a FROM p JOIN p ON p.a = p.a", "p AS other"),
        ("WITH RECURSIVE x AS (SELECT a FROM p) SELECT * FROM x", "Leave RECURSIVE out"),
        ("SELECT b RLIKE 'a' FROM p", "REGEXP(text, pattern)"),
        ("SELECT b = 5 FROM p", "As in Flink"),
        ("INSERT INTO s SELECT a FROM p", "INSERT INTO t (a, b)"),
    ],
)
def test_hints_lead_to_what_works(query: str, hint: str) -> None:
    [found] = problems(f"{query};")
    assert hint in (found.hint or "")


def test_one_star_is_one_problem() -> None:
    [found] = problems("SELECT *, COUNT(*) FROM p;")
    assert found.code is Code.UNDEFINED_COLUMN


def test_numbers_in_group_by_are_no_positions() -> None:
    [found] = problems("SELECT a, COUNT(*) FROM p GROUP BY 1;")
    assert "not the position" in (found.detail or "")
    assert problems("SELECT COUNT(*) FROM p GROUP BY 1;") == []


@pytest.mark.parametrize("query", ["VALUES (1, 'x'), (NULL, 'y')", "SELECT NULL, b FROM p"])
def test_a_null_that_is_written_is_refused(query: str) -> None:
    table = "CREATE TABLE n (a INT NOT NULL, b STRING) WITH ('connector' = 'print');"
    assert [one.code for one in problems(f"{table} INSERT INTO n {query};")] == [Code.SINK_SCHEMA_MISMATCH]
    assert problems(f"INSERT INTO s {query};") == []


def test_what_stands_in_the_way_of_a_name_is_named() -> None:
    [found] = problems("CREATE VIEW p AS SELECT 1;")
    assert found.hint == "Choose another name, or DROP the table first."


@pytest.mark.parametrize(
    "covered",
    ["CREATE TABLE t (a INT) WITH ('connector' = 'datagen');", "CREATE VIEW t AS SELECT 1 AS a;"],
)
def test_a_table_or_view_can_be_created_behind_a_temporary_one(covered: str) -> None:
    cover = "CREATE TEMPORARY TABLE t (z INT) WITH ('connector' = 'datagen');"
    assert problems(f"{cover} {covered} SELECT z FROM t; DROP TEMPORARY TABLE t; SELECT a FROM t;") == []
    assert [found.code for found in problems(f"{cover} {covered} {covered}")] == [Code.DUPLICATE_TABLE]
    assert [found.code for found in problems(f"{cover} {cover}")] == [Code.DUPLICATE_TABLE]


def test_a_table_behind_a_temporary_one_is_checked_too() -> None:
    cover = "CREATE TEMPORARY TABLE t (z INT) WITH ('connector' = 'datagen');"
    [found] = problems(f"{cover} CREATE TABLE t (a INT, b AS missing + 1) WITH ('connector' = 'datagen');")
    assert found.code is Code.UNDEFINED_COLUMN


def test_what_is_said_in_vain_is_told() -> None:
    script = """CREATE TABLE t (a INT) WITH ('connector' = 'datagen');
    ALTER TABLE t RESET ('rows-per-second');
    EXECUTE STATEMENT SET BEGIN END;
    BEGIN STATEMENT SET; END;"""
    program = compile_script(SourceText("s.sql", script), {}, {})
    assert program.jobs == ()
    assert [notice.partition(" ")[0] for notice in program.notices] == ["s.sql:2:", "s.sql:3:", "s.sql:4:"]


def test_a_temporary_table_covers_another_until_it_is_dropped() -> None:
    cover = "CREATE TEMPORARY TABLE p (z INT) WITH ('connector' = 'datagen');"
    assert problems(f"{cover} SELECT z FROM p; DROP TEMPORARY TABLE p; SELECT a FROM p;") == []
    assert problems(f"{cover} ALTER TABLE p RENAME TO q; SELECT z FROM q; SELECT a FROM p;") == []
    assert [one.code for one in problems(f"{cover} SELECT a FROM p;")] == [Code.UNDEFINED_COLUMN]
    assert [one.code for one in problems(f"{cover} DROP TABLE p;")] == [Code.DUPLICATE_TABLE]


def test_a_view_that_covers_what_it_reads_reads_itself() -> None:
    [found] = problems("CREATE TEMPORARY VIEW p AS SELECT a FROM p; SELECT * FROM p;")
    assert found.primary == 'view "p" reads itself'


def test_views_and_computed_columns_are_described_alike() -> None:
    script = (
        "CREATE TABLE c (a INT NOT NULL, x AS a + 1) WITH ('connector' = 'datagen');"
        "CREATE VIEW v AS SELECT a, a + 1 AS x FROM c; DESCRIBE c; DESCRIBE v;"
    )
    table, view = compile_script(SourceText("s.sql", script), {}, {}).steps
    assert isinstance(table, Listing)
    assert isinstance(view, Listing)
    assert (
        [row[:3] for row in table.rows]
        == [row[:3] for row in view.rows]
        == [("a", "INT", "FALSE"), ("x", "INT", "FALSE")]
    )


def test_a_computed_column_can_be_too_fine_for_a_watermark() -> None:
    columns = "s STRING, r AS CAST(s AS TIMESTAMP(6)), WATERMARK FOR r AS r"
    [found] = problems(f"CREATE TABLE w ({columns}) WITH ('connector' = 'datagen');")
    assert found.code is Code.INVALID_WATERMARK


def test_every_query_of_with_is_looked_at() -> None:
    found = problems(
        "WITH c AS (SELECT nope1 FROM p), d AS (SELECT * FROM c), e AS (SELECT nope2 FROM p) SELECT * FROM c;"
    )
    assert [marked_text(one) for one in found] == ["nope1", "nope2"]


def test_every_value_is_looked_at() -> None:
    assert [marked_text(one) for one in problems("INSERT INTO s VALUES (nope1, nope2);")] == ["nope1", "nope2"]


def test_what_is_taken_back_needs_a_key_where_the_format_has_inserts_only() -> None:
    options = (
        "'connector.type' = 'kafka', 'connector.topic' = 't', 'connector.properties.bootstrap.servers' = 'x:9092', "
        "'format.type' = 'csv', 'update-mode' = 'retract'"
    )
    insert = "INSERT INTO t SELECT a, COUNT(*) FROM p GROUP BY a;"
    [found] = problems(f"CREATE TABLE t (k INT, n BIGINT) WITH ({options}); {insert}")
    assert found.code is Code.SINK_REFUSES_CHANGES
    assert "Add PRIMARY KEY (k) NOT ENFORCED" in (found.hint or "")
    assert problems(f"CREATE TABLE t (k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ({options}); {insert}") == []


@pytest.mark.parametrize(
    "name", ["CATALOG default_catalog", "default_database", "default_catalog.default_database", "`default_database`"]
)
def test_what_is_in_use_anyway_may_be_named(name: str) -> None:
    assert problems(f"USE {name};") == []


@pytest.mark.parametrize("name", ["CATALOG other", "other", "CATALOG default_database", "default_catalog", "a.b.c"])
def test_only_what_was_created_can_be_used(name: str) -> None:
    assert [found.code for found in problems(f"USE {name};")] == [Code.UNDEFINED_TABLE]
