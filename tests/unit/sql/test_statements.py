"""Every statement of the language: what is read, given back as text; and what is refused, where."""

from __future__ import annotations

import pytest

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.source import SourceText
from millstream.sql.parser import ParsedScript, parse_script
from millstream.sql.render import render
from millstream.sql.script import expand

SYNTAX, REFUSED = Code.SYNTAX, Code.UNSUPPORTED_STATEMENT


def parse(text: str) -> ParsedScript:
    return parse_script(expand(SourceText("s", text), {"p": "filled"}))


def problems_of(text: str) -> tuple[Diagnostic, ...]:
    try:
        return parse(text).problems
    except ScriptError as error:
        return error.diagnostics


def parse_and_render(text: str) -> str:
    parsed = parse(text)
    assert parsed.problems == ()
    assert parsed.warnings == ()
    return ";\n".join(render(statement) for statement in parsed.statements)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create table t (a int)", "CREATE TABLE `t` (\n  `a` INT\n)"),
        ("CREATE TABLE c.d.t (a INT);", "CREATE TABLE `c`.`d`.`t` (\n  `a` INT\n)"),
        (
            "CREATE TEMPORARY TABLE IF NOT EXISTS `my``t` (a INT COMMENT 'it''s', `select` INT) COMMENT ''",
            "CREATE TEMPORARY TABLE IF NOT EXISTS `my``t` (\n  `a` INT COMMENT 'it''s',\n  `select` INT\n)\nCOMMENT ''",
        ),
        (
            "CREATE TABLE t (a BIGINT METADATA, b INT METADATA FROM 'x' VIRTUAL COMMENT 'y', c AS F(b, 1) COMMENT 'z')",
            ("CREATE TABLE `t` (\n  `a` BIGINT METADATA,\n  `b` INT METADATA FROM 'x' VIRTUAL COMMENT 'y',\n"
            "  `c` AS F(b, 1) COMMENT 'z'\n)"),
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED COMMENT 'k', WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)",
            ("CREATE TABLE `t` (\n  `a` INT COMMENT 'k',\n  WATERMARK FOR `ts` AS ts - INTERVAL '1' SECOND,\n"
            "  PRIMARY KEY (`a`) NOT ENFORCED\n)"),
        ),
        (
            "CREATE TABLE t (a INT CONSTRAINT k PRIMARY KEY NOT ENFORCED)",
            "CREATE TABLE `t` (\n  `a` INT,\n  CONSTRAINT `k` PRIMARY KEY (`a`) NOT ENFORCED\n)",
        ),
        (
            ("CREATE TABLE t (CONSTRAINT k PRIMARY KEY (a, b) NOT ENFORCED, a INT, b INT) PARTITIONED BY (a, b)"
            " WITH ('x'='y;', 'z' = '')"),
            ("CREATE TABLE `t` (\n  `a` INT,\n  `b` INT,\n  CONSTRAINT `k` PRIMARY KEY (`a`, `b`) NOT ENFORCED\n)\n"
            "PARTITIONED BY (`a`, `b`)\nWITH (\n  'x' = 'y;',\n  'z' = ''\n)"),
        ),
        ("CREATE TABLE t LIKE d.s", "CREATE TABLE `t`\nLIKE `d`.`s`"),
        (
            "CREATE TABLE t (WATERMARK FOR a AS a) WITH ('x'='y') LIKE s (INCLUDING ALL OVERWRITING OPTIONS)",
            ("CREATE TABLE `t` (\n  WATERMARK FOR `a` AS a\n)\nWITH (\n  'x' = 'y'\n)\n"
            "LIKE `s` (\n  INCLUDING ALL\n  OVERWRITING OPTIONS\n)"),
        ),
        (
            "CREATE VIEW v (a, b COMMENT 'x') COMMENT 'c' AS SELECT 1, 2",
            "CREATE VIEW `v` (\n  `a`,\n  `b`\n)\nCOMMENT 'c'\nAS SELECT 1, 2",
        ),
        (
            "CREATE TEMPORARY VIEW IF NOT EXISTS v AS (SELECT 1) UNION ALL SELECT 2",
            "CREATE TEMPORARY VIEW IF NOT EXISTS `v`\nAS (SELECT 1) UNION ALL SELECT 2",
        ),
        ("CREATE FUNCTION f AS 'm:f'", "CREATE FUNCTION `f` AS 'm:f' LANGUAGE PYTHON"),
        (
            "CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS f AS 'm:f' language python",
            "CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS `f` AS 'm:f' LANGUAGE PYTHON",
        ),
        ("DROP TABLE IF EXISTS a.b", "DROP TABLE IF EXISTS `a`.`b`"),
        ("DROP TEMPORARY VIEW v", "DROP TEMPORARY VIEW `v`"),
        ("DROP TEMPORARY SYSTEM FUNCTION f", "DROP TEMPORARY FUNCTION `f`"),
        ("ALTER TABLE t SET ('a'='b')", "ALTER TABLE `t` SET (\n  'a' = 'b'\n)"),
        ("ALTER TABLE t RESET ('a', 'b')", "ALTER TABLE `t` RESET ('a', 'b')"),
        ("ALTER TABLE t RENAME TO u", "ALTER TABLE `t` RENAME TO `u`"),
        ("INSERT INTO t (a, b) VALUES (1, 2), (3, 4)", "INSERT INTO `t` (`a`, `b`)\nVALUES (1, 2), (3, 4)"),
        ("INSERT INTO t (SELECT 1)", "INSERT INTO `t`\n(SELECT 1)"),
        (
            "INSERT INTO t /*+ OPTIONS('a'='b') */ SELECT '${p}' FROM s /*+ OPTIONS('c' = '${p}') */ AS x",
            "INSERT INTO `t` /*+ OPTIONS('a' = 'b') */\nSELECT 'filled' FROM s /*+ OPTIONS('c' = 'filled') */ AS x",
        ),
        (
            "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT CASE WHEN x THEN y END; END;",
            ("EXECUTE STATEMENT SET\nBEGIN\nINSERT INTO `a`\nSELECT 1;\nINSERT INTO `b`\n"
            "SELECT CASE WHEN x THEN y END;\nEND"),
        ),
        (
            "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END; SET",
            "EXECUTE STATEMENT SET\nBEGIN\nINSERT INTO `a`\nSELECT 1;\nEND;\nSET",
        ),
        ("SELECT 1", "SELECT 1"),
        ("SELECT * FROM t JOIN u ON conflict = 1", "SELECT * FROM t JOIN u ON conflict = 1"),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "WITH x AS (SELECT 1) SELECT * FROM x"),
        ("VALUES (1)", "VALUES (1)"),
        ("SELECT HOP(data), session FROM t", "SELECT HOP(data), session FROM t"),
        ("SELECT form, whre AS wher FROM t", "SELECT form, whre AS wher FROM t"),
        ("EXECUTE SELECT 1", "SELECT 1"),
        ("SET 'a' = 'b'", "SET 'a' = 'b'"),
        ("SET table.local-time-zone = Europe/Berlin -- here", "SET 'table.local-time-zone' = 'Europe/Berlin'"),
        ("SET execution.checkpointing.interval=10s", "SET 'execution.checkpointing.interval' = '10s'"),
        ("SET execution.checkpointing.interval=10 s", "SET 'execution.checkpointing.interval' = '10 s'"),
        ("RESET; RESET 'a'; RESET a.b", "RESET;\nRESET 'a';\nRESET 'a.b'"),
        ("EXPLAIN SELECT 1", "EXPLAIN PLAN FOR SELECT 1"),
        ("EXPLAIN PLAN FOR INSERT INTO t SELECT 1", "EXPLAIN PLAN FOR INSERT INTO `t`\nSELECT 1"),
        ("explain estimated_cost, changelog_mode select 1", "EXPLAIN ESTIMATED_COST, CHANGELOG_MODE select 1"),
        (
            "EXPLAIN STATEMENT SET BEGIN INSERT INTO t SELECT 1; END",
            "EXPLAIN PLAN FOR STATEMENT SET\nBEGIN\nINSERT INTO `t`\nSELECT 1;\nEND",
        ),
        ("DESC t; DESCRIBE EXTENDED c.d.t; DESC job", "DESCRIBE `t`;\nDESCRIBE `c`.`d`.`t`;\nDESCRIBE `job`"),
        (
            "SHOW TABLES; SHOW VIEWS LIKE 'a%'; SHOW FUNCTIONS NOT LIKE 'b'; SHOW JOBS",
            "SHOW TABLES;\nSHOW VIEWS LIKE 'a%';\nSHOW FUNCTIONS NOT LIKE 'b';\nSHOW JOBS",
        ),
        (
            "SHOW CATALOGS; SHOW DATABASES IN c LIKE 'a'; SHOW CURRENT DATABASE; SHOW TABLES FROM c.d NOT LIKE 'a'",
            ("SHOW CATALOGS;\nSHOW DATABASES FROM `c` LIKE 'a';\nSHOW CURRENT DATABASE;\n"
             "SHOW TABLES FROM `c`.`d` NOT LIKE 'a'"),
        ),
        ("USE CATALOG c; USE d; USE c.d", "USE CATALOG `c`;\nUSE `d`;\nUSE `c`.`d`"),
        ("CREATE CATALOG c WITH ('type' = 'x')", "CREATE CATALOG `c`\nWITH (\n  'type' = 'x'\n)"),
        ("CREATE DATABASE IF NOT EXISTS c.d COMMENT 'x'", "CREATE DATABASE IF NOT EXISTS `c`.`d`\nCOMMENT 'x'"),
        ("DROP DATABASE IF EXISTS d RESTRICT; DROP DATABASE d CASCADE; DROP CATALOG c",
         "DROP DATABASE IF EXISTS `d`;\nDROP DATABASE `d` CASCADE;\nDROP CATALOG `c`"),
        ("CREATE TABLE t AS SELECT 1", "CREATE TABLE `t`\nAS SELECT 1"),
        ("CREATE TABLE t (b, a, PRIMARY KEY (a) NOT ENFORCED) WITH ('a' = 'b') AS SELECT a, b FROM s",
         ("CREATE TABLE `t` (\n  `b`,\n  `a`,\n  PRIMARY KEY (`a`) NOT ENFORCED\n)\nWITH (\n  'a' = 'b'\n)\n"
          "AS SELECT a, b FROM s")),
        ("SHOW CREATE TABLE t; SHOW CREATE VIEW a.v", "SHOW CREATE TABLE `t`;\nSHOW CREATE VIEW `a`.`v`"),
        ("-- nothing\n;/* at all; */;", ""),
        ("CREATE /* ; */ TABLE -- x\n t (a /* /* */ INT)", "CREATE TABLE `t` (\n  `a` INT\n)"),
        ("CREATE TABLE t (a INT, PRIMARY\n  /* c */ KEY (a) NOT  ENFORCED)",
         "CREATE TABLE `t` (\n  `a` INT,\n  PRIMARY KEY (`a`) NOT ENFORCED\n)"),
    ],
)  # fmt: skip
def test_accepted(text: str, expected: str) -> None:
    assert parse_and_render(text) == expected


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("ALTER CATALOG c SET ('a' = 'b')", REFUSED, "1:1"),
        ("CREATE CATALOG a.b WITH ('type' = 'x')", SYNTAX, "1:17"),
        ("DROP DATABASE d CASCADED", SYNTAX, "1:17"),
        ("CREATE OR REPLACE TABLE t AS SELECT 1", REFUSED, "1:1"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", REFUSED, "1:1"),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1", REFUSED, "1:1"),
        ("CREATE TEMPORARY TABLE t AS SELECT 1", REFUSED, "1:26"),
        ("CREATE TABLE t (a, b INT) AS SELECT 1", SYNTAX, "1:18"),
        ("CREATE TABLE t (a) WITH ('a' = 'b')", SYNTAX, "1:18"),
        ("CREATE TABLE t LIKE s AS SELECT 1", SYNTAX, "1:23"),
        ("CREATE TABLE t (a INT) DISTRIBUTED INTO 3 BUCKETS", REFUSED, "1:24"),
        ("CREATE TABLE t (a INT UNIQUE)", REFUSED, "1:23"),
        ("CREATE TABLE t (a INT, UNIQUE (a))", REFUSED, "1:24"),
        ("CREATE FUNCTION f AS 'x' LANGUAGE JAVA", REFUSED, "1:22"),
        ("CREATE FUNCTION f AS 'x' LANGUAGE scala", REFUSED, "1:22"),
        ("CREATE FUNCTION f AS 'a.X'", REFUSED, "1:22"),
        ("CREATE FUNCTION f AS 'a.X' USING JAR 'y'", REFUSED, "1:22"),
        ("CREATE FUNCTION f AS 'a.x' LANGUAGE RUST", SYNTAX, "1:37"),
        ("CREATE FUNCTION f AS 'm:f' USING JAR 'y'", REFUSED, "1:28"),
        ("SELECT f(a => 1) FROM t", Code.UNSUPPORTED_EXPRESSION, "1:10"),
        ("CREATE TABLE t (a INT, b AS f(x => a))", Code.UNSUPPORTED_EXPRESSION, "1:31"),
        ("CREATE TABLE t (a INT) PARTITIONED BY (b STRING)", SYNTAX, "1:42"),
        ("CREATE TABLE t (a INT) LOCATION '/x'", REFUSED, "1:24"),
        ("CREATE TABLE t STORED AS orc", REFUSED, "1:16"),
        ("SHOW MODULES", REFUSED, "1:1"),
        ("SHOW FUNCTIONS FROM d", REFUSED, "1:16"),
        ("SHOW CURRENT CATALOG LIKE 'a'", SYNTAX, "1:22"),
        ("DESCRIBE FUNCTION f", REFUSED, "1:10"),
        ("DELETE FROM t", REFUSED, "1:1"),
        ("UPDATE t SET a = 1", REFUSED, "1:1"),
        ("TRUNCATE TABLE t", REFUSED, "1:1"),
        ("ANALYZE TABLE t COMPUTE STATISTICS", REFUSED, "1:1"),
        ("CALL p()", REFUSED, "1:1"),
        ("ADD JAR 'x'", REFUSED, "1:1"),
        ("LOAD MODULE m", REFUSED, "1:1"),
        ("ALTER TABLE t ADD a INT", REFUSED, "1:15"),
        ("ALTER TABLE t MODIFY a INT", REFUSED, "1:15"),
        ("ALTER TABLE t DROP a", REFUSED, "1:15"),
        ("ALTER TABLE t RENAME a TO b", REFUSED, "1:15"),
        ("ALTER VIEW v RENAME TO w", REFUSED, "1:1"),
        ("ALTER DATABASE d SET ('a' = 'b')", REFUSED, "1:1"),
        ("ALTER FUNCTION f AS 'x'", REFUSED, "1:1"),
        ("INSERT OVERWRITE t SELECT 1", REFUSED, "1:1"),
        ("EXECUTE INSERT OVERWRITE t SELECT 1", REFUSED, "1:9"),
        ("INSERT INTO t PARTITION (a = 'x') SELECT 1", REFUSED, "1:15"),
        ("INSERT INTO t SELECT 1\nON CONFLICT DO NOTHING", REFUSED, "2:1"),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS a > 1)", REFUSED, "1:17"),
        ("SELECT * FROM TABLE(f(TABLE a, DESCRIPTOR(ts)))", REFUSED, "1:15"),
        ("SELECT * FROM HOP(TABLE a, DESCRIPTOR(b), SIZE => f(x => 1))", Code.UNSUPPORTED_EXPRESSION, "1:53"),
        ("SELECT * FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' MINUTE)", SYNTAX, "1:72"),
        ("SELECT * FROM TABLE(f(1))", REFUSED, "1:15"),
        ("SELECT * FROM t, TABLE(f(a))", REFUSED, "1:18"),
        ("SELECT * FROM t CROSS JOIN UNNEST(a) WITH OFFSET AS u (b)", REFUSED, "1:36"),
        ("TABLE t", REFUSED, "1:1"),
        ("SELECT 1 UNION ALL (TABLE t)", REFUSED, "1:21"),
        ("EXECUTE PLAN 'x'", REFUSED, "1:1"),
        ("SELECT /*+ BROADCASTS(t) */ * FROM t", REFUSED, "1:12"),
        ("SELECT /*+ OPTIONS('x' = 'y') */ * FROM t", REFUSED, "1:12"),
        ("SELECT /*+ STATE_TTL(t) */ * FROM t", SYNTAX, "1:22"),
        ("SELECT /*+ STATE_TTL('t' = '1d') BROADCAST(t) */ * FROM t", SYNTAX, "1:34"),
        ("SELECT /*+ */ * FROM t", REFUSED, "1:12"),
        ("SELECT a /*+ STATE_TTL('t' = '1d') */ FROM t", REFUSED, "1:14"),
        ("SELECT * FROM t /*+ STATE_TTL('t' = '1d') */", REFUSED, "1:21"),
        ("SELECT a /*+ OPTIONS('x' = 'y') */ FROM t", REFUSED, "1:10"),
        ("SELECT * FROM t AS u /*+ OPTIONS('x' = 'y') */", REFUSED, "1:22"),
        ("CREATE TABLE t /*+ OPTIONS('x' = 'y') */ (a INT)", REFUSED, "1:16"),
        ("CREATE TABLE t (a AS b /*+ OPTIONS('x' = 'y') */)", REFUSED, "1:24"),
        ("SELECT * FROM t /*+ */", REFUSED, "1:21"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a))", Code.INVALID_PRIMARY_KEY, "1:39"),
        ("CREATE TABLE t (a INT PRIMARY KEY ENFORCED)", Code.INVALID_PRIMARY_KEY, "1:35"),
        ("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED,\nPRIMARY KEY (a) NOT ENFORCED)",
         Code.INVALID_PRIMARY_KEY, "2:1"),
        ("CREATE TABLE t (a INT, WATERMARK FOR a.b AS a)", Code.INVALID_WATERMARK, "1:39"),
        ("CREATE TABLE t (WATERMARK FOR a AS a, WATERMARK FOR b AS b)", Code.INVALID_WATERMARK, "1:39"),
        ("CREATE TABLE t (a INT) LIKE s (OVERWRITING CONSTRAINTS)", SYNTAX, "1:32"),
        ("CREATE TABLE t (a INT) LIKE s (INCLUDING ALL EXCLUDING ALL)", SYNTAX, "1:46"),
        ("CREATE TABLE t (a INT) LIKE s (INCLUDING EVERYTHING)", SYNTAX, "1:42"),
        ("CREATE TABLE t", SYNTAX, "1:14"),
        ("CREATE TABLE t (", SYNTAX, "1:16"),
        ("CREATE TABLE t (a INT,", SYNTAX, "1:22"),
        ("CREATE TABLE t WITH ('a' = 'b')", SYNTAX, "1:31"),
        ("CREATE TABLE a.b.c.d (a INT)", SYNTAX, "1:19"),
        ("CREATE TABLE t (a AS)", SYNTAX, "1:21"),
        ("CREATE VIEW v (a,) AS SELECT 1", SYNTAX, "1:18"),
        ("CREATE VIEW v AS INSERT INTO t SELECT 1", SYNTAX, "1:18"),
        ("DROP TABLE a b", SYNTAX, "1:14"),
        ("ALTER TABLE t", SYNTAX, "1:13"),
        ("INSERT INTO t", SYNTAX, "1:13"),
        ("INSERT t SELECT 1", SYNTAX, "1:8"),
        ("INSERT INTO t FROM s", SYNTAX, "1:15"),
        ("INSERT INTO tSELECT a FROM s", SYNTAX, "1:21"),
        ("SELECT a FROM t GROUP BY", SYNTAX, "1:17"),
        ("SELECT FROM t", SYNTAX, "1:8"),
        ("SELECT a, IF b FROM t", SYNTAX, "1:11"),
        ("SELECT a b c FROM t", SYNTAX, "1:12"),
        ("SELECT 1; SELECT 'a", SYNTAX, "1:18"),
        ("SELECT 1;\nSELECT `a", SYNTAX, "2:8"),
        ("SELECT 1 /* never", SYNTAX, "1:10"),
        ("SELECT 1 /*+ never", SYNTAX, "1:10"),
        ("SELECT x'0g'", SYNTAX, "1:8"),
        ("SELECT 'x', 'a''x''b', X'ZZ'", SYNTAX, "1:24"),
        ("SELECT 1x'ZZ'", SYNTAX, "1:9"),
        ("SELECT 'x', X'ABC'", SYNTAX, "1:13"),
        ("SELECT 1, 1_000", SYNTAX, "1:11"),
        ("SELECT 1, 0x1F", SYNTAX, "1:11"),
        ("CREATE TABLE t (a AS 1L)", SYNTAX, "1:22"),
        ("SELECT CAST(a AS DECIMAL(50)) FROM t", SYNTAX, "1:26"),
        ("SELECT CAST('${p}' AS VARIANT) FROM t", Code.UNSUPPORTED_TYPE, "1:23"),
        ("SELECT CAST(a AS TIMESTAMP WITH TIME ZONE) FROM t", Code.UNSUPPORTED_TYPE, "1:28"),
        ("SELECT ARRAY_AGG(a ORDER BY b) FROM t", Code.UNSUPPORTED_EXPRESSION, "1:20"),
        ("SET 'a'", SYNTAX, "1:5"),
        ("SET a = 'b' 'c'", SYNTAX, "1:13"),
        ("EXPLAIN CREATE TABLE t (a INT)", SYNTAX, "1:9"),
        ("EXPLAIN CHANGELOG_MODE, COST SELECT 1", SYNTAX, "1:25"),
        ("EXECUTE STATEMENT SET INSERT INTO t SELECT 1", SYNTAX, "1:23"),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1; SELECT 2; END", SYNTAX, "1:53"),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1; END t", SYNTAX, "1:57"),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1;", SYNTAX, "1:1"),
        ("SHOW TABLES NOT", SYNTAX, "1:13"),
        ("42", SYNTAX, "1:1"),
    ],
)  # fmt: skip
def test_refused(text: str, code: Code, place: str) -> None:
    [problem] = problems_of(text)
    assert problem.span is not None
    assert (problem.code, f"{problem.span.line}:{problem.span.column}") == (code, place)


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("SELCT 1", "1:1", "Did you mean SELECT?"),
        ("CREATE TABEL t (a INT)", "1:8", "Did you mean TABLE?"),
        ("SHOW TABELS", "1:6", "Did you mean TABLES?"),
        ("INSERT INOT t SELECT 1", "1:8", "Did you mean INTO?"),
        ("SELECT a FORM t", "1:10", "Did you mean FROM?"),
        ("SELECT a FROM t WEHRE a = 1", "1:17", "Did you mean WHERE?"),
        ("SELECT a FROM t AS u WEHRE a = 1", "1:22", "Did you mean WHERE?"),
        ("SELECT a FROM t GROUPBY a", "1:17", "Did you mean GROUP BY?"),
        ("SELECT a FROM t GRUOP BY a", "1:17", "Did you mean GROUP BY?"),
        ("SELECT a FROM (SELECT a FORM t)", "1:25", "Did you mean FROM?"),
        ("INSERT INTO t VALEUS (1)", "1:15", "Did you mean VALUES?"),
        ("WIHT x AS (SELECT 1) SELECT * FROM x", "1:1", "Did you mean WITH?"),
        ("CREATE TABLE t (a INT) WIHT ('a' = 'b')", "1:24", "Did you mean WITH?"),
        ("CREATE TABLE IF NOT EXIST t (a INT)", "1:21", "Did you mean EXISTS?"),
        ("SELECT a FROM t\nSELECT b FROM t", "2:1", 'Is a ; missing before "SELECT"?'),
        ("SELECT a FROM t\nSHOW TABLES", "2:1", 'Is a ; missing before "SHOW"?'),
        ("INSERT INTO t SELECT a FROM s\nCREATE TABLE u (a INT)", "2:1", 'Is a ; missing before "CREATE"?'),
        ("CREATE TABLE t (a INT) WITH ('a' = 'b')\nINSERT INTO t SELECT 1", "2:1", 'Is a ; missing before "INSERT"?'),
        ("CREATE TABLE t (a INT, b INT AS a)", "1:30", "A computed column is declared without a type: b AS …."),
        ("CREATE TABLE t (a INT b STRING)", "1:23", 'Is a comma missing before "b"?'),
        ("CREATE TABLE t (a INT) WITH ('a' = 'b' 'c' = 'd')", "1:40", 'Is a comma missing before "c"?'),
        ("CREATE TABLE t (a INT,)", "1:23", "Remove the comma before it."),
        ("SELECT a, FROM t", "1:11", "Remove the comma before it."),
        ("CREATE TABLE t (a INT WITH ('a' = 'b')", "1:23", 'Is a ) missing before "WITH"?'),
        ("CREATE TABLE t (a INT) WITH ('a' = b)", "1:36", "Put it in single quotes: 'b'."),
        ("CREATE TABLE t (a INT) WITH ('a' = ${p})", "1:36", "Put it in single quotes: '${p}'."),
        ("CREATE TABLE t (a INT) WITH (a = 'b')", "1:30", "Put it in single quotes: 'a'."),
        ("CREATE TABLE t (a INT) WITH ('a' 'b')", "1:34", "Write 'a' = 'value'."),
        ("CREATE TABLE t (a INT) WITH ('a' == 'b')", "1:34", "Write a single = here."),
        ("SELECT a FROM t WHERE a == 1", "1:25", "Write a single = here."),
        ('CREATE TABLE t ("a" INT)', "1:17", "Write text in single quotes, 'text', and names in backticks, `name`."),
        ('SELECT "a" FROM t', "1:8", "Write text in single quotes, 'text', and names in backticks, `name`."),
        ("CREATE TABLE order (a INT)", "1:14", "If it is meant as a name, write it in backticks: `order`."),
        ("SELECT a FROM t WHERE select = 1", "1:23", "If it is meant as a name, write it in backticks: `select`."),
        ("INSERT INTO tSELECT a FROM s", "1:21", 'Is a space missing before the SELECT in "tSELECT"?'),
    ],
)
def test_slips(text: str, place: str, hint: str) -> None:
    [problem] = parse(text).problems
    assert problem.span is not None
    assert (problem.code, f"{problem.span.line}:{problem.span.column}") == (SYNTAX, place)
    assert problem.hint == hint


@pytest.mark.parametrize(
    "text",
    [
        "END",
        "EXPLAIN CREATE TABLE t (a INT)",
        "CREATE VIEW v AS INSERT INTO t SELECT 1",
        "SELECT CAST(a AS TIMESTAMP WITH TIME ZONE) FROM t",
        "SELECT FROM t",
        f"SELECT {'(' * 5000}1{')' * 5000}",
    ],
)
def test_a_keyword_is_not_taken_for_a_name(text: str) -> None:
    [problem] = parse(text).problems
    assert "backticks" not in (problem.hint or "")


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("CREATE TABLE t (\n  a DECIMAL(10, 2", "2:12"),
        ("CREATE TABLE t (\n  a INT\n", "1:16"),
        ("CREATE TABLE t (a INT) WITH ('a' = 'b'", "1:29"),
        ("SELECT COUNT(* FROM t", "1:13"),
        ("SELECT a FROM t WHERE (b = 1", "1:23"),
    ],
)
def test_an_open_parenthesis_is_shown(text: str, opened: str) -> None:
    [problem] = parse(text).problems
    assert problem.detail == f"The parenthesis opened at {opened} is not closed."


@pytest.mark.parametrize("text", ["SELECT 1 FROM 5", "SELECT a FROM t JOIN 5 ON TRUE", "SELECT a FROM (5)"])
def test_no_object_of_the_parser_is_shown(text: str) -> None:
    [problem] = problems_of(text)
    assert problem.code is SYNTAX
    assert "Token" not in problem.render()
