"""`check` promises all that is wrong with a script, tables that no query uses among it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app

if TYPE_CHECKING:
    from pathlib import Path

KAFKA = "'connector' = 'kafka', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'"


def check(folder: Path, script: str) -> tuple[int, dict[str, Any]]:
    path = folder / "script.sql"
    path.write_text(script)
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    return result.exit_code, json.loads(result.output)


def codes(folder: Path, script: str) -> list[str]:
    return [error["code"] for error in check(folder, script)[1]["errors"]]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("'connector' = 'kafak', 'foo' = 'bar'", "M2011"),
        ("'conector' = 'kafka'", "M2010"),
        ("'connector' = 'print', 'foo' = 'bar'", "M2014"),
        ("'connector' = 'datagen', 'foo' = 'bar'", "M2014"),
        (f"{KAFKA}, 'topic' = 't', 'foo' = 'bar'", "M2014"),
    ],
)
def test_table_that_no_query_uses(tmp_path: Path, options: str, code: str) -> None:
    script = f"CREATE TABLE t (a INT) WITH ({options});"
    assert codes(tmp_path, script) == [code]
    assert check(tmp_path, script)[0] == 2


def test_what_is_wrong_in_one_role_only_may_be_meant_for_the_other(tmp_path: Path) -> None:
    assert codes(tmp_path, f"CREATE TABLE t (a INT) WITH ({KAFKA}, 'topic' = 'a;b');") == []


def test_what_is_wrong_in_either_role(tmp_path: Path) -> None:
    options = f"{KAFKA}, 'topic' = 'a;b', 'scan.startup.mode' = 'timestamp'"
    assert len(codes(tmp_path, f"CREATE TABLE t (a INT) WITH ({options});")) == 2


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE t (a INT);",
        f"CREATE TABLE base (a INT) WITH ({KAFKA}); CREATE TABLE t WITH ('topic' = 't') LIKE base;",
    ],
)
def test_pattern_for_other_tables_need_not_be_whole(tmp_path: Path, script: str) -> None:
    assert codes(tmp_path, script) == []


def test_problem_of_a_used_table_is_told_once(tmp_path: Path) -> None:
    tables = [f"CREATE TABLE {name} (a INT) WITH ('connector' = 'kafak');" for name in "tu"]
    assert codes(tmp_path, f"{' '.join(tables)} INSERT INTO t SELECT 1;") == ["M2011", "M2011"]


def test_problem_of_a_table_that_is_read_twice_is_told_once(tmp_path: Path) -> None:
    tables = (
        f"CREATE TABLE t (a INT, d INTERVAL DAY TO SECOND) WITH ({KAFKA}, 'topic' = 't');"
        "CREATE TABLE u (a INT) WITH ('connector' = 'blackhole');"
    )
    query = "SELECT x.a FROM t x JOIN t y ON x.a = y.a WHERE x.d IS NOT NULL AND y.d IS NOT NULL"
    assert codes(tmp_path, f"{tables} INSERT INTO u {query};") == ["M2021"]


def test_problems_are_told_in_the_order_of_the_script(tmp_path: Path) -> None:
    script = "CREATE TABLE t (a INT) WITH ('connector' = 'kafak'); SELEC 1;"
    assert codes(tmp_path, script) == ["M2011", "M1001"]


@pytest.mark.parametrize("script", ["SELECT 1;", "SELEC 1;", "CREATE TABLE t (a INT) WITH ('connector' = 'kafak');"])
def test_json_has_every_key_in_order_or_not(tmp_path: Path, script: str) -> None:
    assert set(check(tmp_path, script)[1]) == {"errors", "notices", "jobs"}


TABLES = f"CREATE TABLE a (id INT) WITH ({KAFKA}, 'topic' = 'a');"
ONCE = "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'p'"
CHANGES = KAFKA.replace("'json'", "'debezium-json'")


REFUSED = {
    "order of changes": (
        "M2017",
        f"CREATE TABLE b (id INT, n BIGINT) WITH ({CHANGES}, 'topic' = 'b', 'sink.parallelism' = '2');",
        "INSERT INTO b SELECT id, COUNT(*) FROM a GROUP BY id;",
    ),
    "partitioner in Java": (
        "M2015",
        f"CREATE TABLE b (id INT) WITH ({KAFKA}, 'topic' = 'b', 'sink.partitioner' = 'org.mycompany.Mine');",
        "INSERT INTO b SELECT id FROM a;",
    ),
    "shared prefix": (
        "M2016",
        f"CREATE TABLE b (id INT) WITH ({KAFKA}, 'topic' = 'b', {ONCE});",
        "INSERT INTO b SELECT id FROM a; INSERT INTO b SELECT id + 1 FROM a;",
    ),
    "pattern of Java": (
        "M2015",
        f"CREATE TABLE b (id INT) WITH ({KAFKA}, 'topic-pattern' = '\\p{{L}}', 'scan.startup.mode' = 'latest-offset');",
        "SELECT id FROM b;",
    ),
    "interval": (
        "M2021",
        f"CREATE TABLE b (pause INTERVAL DAY) WITH ({KAFKA}, 'topic' = 'b');",
        "SELECT pause FROM b;",
    ),
}


@pytest.mark.parametrize(("code", "table", "jobs"), REFUSED.values(), ids=REFUSED)
def test_what_run_refuses_before_it_starts(tmp_path: Path, code: str, table: str, jobs: str) -> None:
    exit_code, found = check(tmp_path, f"{TABLES} {table} {jobs}")
    assert (exit_code, [error["code"] for error in found["errors"]]) == (2, [code])


def test_pattern_of_java_that_reads_all_there_is(tmp_path: Path) -> None:
    options = f"{KAFKA}, 'topic-pattern' = '\\p{{Lower}}+', 'scan.startup.mode' = 'earliest-offset'"
    assert codes(tmp_path, f"CREATE TABLE b (id INT) WITH ({options}); SELECT id FROM b;") == []


def test_file_that_is_not_there_is_an_error_of_the_same_shape(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(tmp_path / "nowhere.sql"), "--json"])
    assert (result.exit_code, json.loads(result.output)["errors"][0]["code"]) == (2, "M1005")


FOREIGN = """
CREATE FUNCTION shout AS 'foreign_code:shout' LANGUAGE PYTHON;
CREATE FUNCTION plain AS 'foreign_code:plain' LANGUAGE PYTHON;
CREATE TABLE t (a STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
CREATE VIEW v AS SELECT {function}(a) AS b FROM t;
CREATE TABLE s (b STRING) WITH ({kafka}, 'topic' = 's', 'sink.partitioner' = 'foreign_code:{partitioner}');
INSERT INTO s SELECT b FROM v;
"""
FOREIGN_CODE = """
import pathlib
pathlib.Path({ran!r}).touch()
def loud(function):
    return function
@loud
def shout(a: str) -> str:
    return a.upper()
def plain(a: str) -> str:
    return a
class Router:
    def partition(self, key, value, topic, partitions):
        return 0
class Derived(Router):
    pass
"""


@pytest.mark.parametrize(
    ("function", "partitioner", "jobs", "left_open"),
    [
        ("plain", "Router", ["s"], [2]),
        ("plain", "Derived", ["s"], [2, None]),
        ("SHOUT", "Router", [], [2, 5, 7]),
    ],
)
@pytest.mark.parametrize("command", ["check", "explain"])
def test_code_that_a_script_names_is_not_run(  # noqa: PLR0917
    tmp_path: Path, function: str, partitioner: str, jobs: list[str], left_open: list[int | None], command: str
) -> None:
    (tmp_path / "foreign_code.py").write_text(FOREIGN_CODE.format(ran=str(tmp_path / "ran")))
    script = FOREIGN.format(function=function, partitioner=partitioner, kafka=KAFKA)
    if command == "check":
        code, found = check(tmp_path, script)
        assert (code, found["errors"], found["jobs"]) == (0, [], jobs)
        notices = [notice for notice in found["notices"] if "be checked" in notice]
        assert [("script.sql:" in notice and int(notice.split(":")[1])) or None for notice in notices] == left_open
    else:
        (tmp_path / "script.sql").write_text(script)
        result = CliRunner().invoke(app, ["explain", str(tmp_path / "script.sql")])
        assert result.exit_code == 0, result.output
        assert "shout" in result.stderr
    assert not (tmp_path / "ran").exists()


def test_other_problems_of_a_statement_that_is_left_to_the_run_are_told(tmp_path: Path) -> None:
    (tmp_path / "foreign_code.py").write_text(FOREIGN_CODE.format(ran=str(tmp_path / "ran")))
    script = FOREIGN.format(function="shout", partitioner="Router", kafka=KAFKA)
    assert codes(tmp_path, f"{script} SELECT shout(a), nothing FROM t;") == ["M2003"]


@pytest.mark.parametrize(
    ("script", "last"),
    [
        ("CREATE TABLE t (a INT) WITH ('connector' = 'datagen'); SELECT a FROM t;", "no errors; jobs: select"),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'datagen');", "no errors; no INSERT or SELECT, nothing to run"),
        (
            "CREATE FUNCTION p AS 'partial_code:p' LANGUAGE PYTHON; SELECT p(1);",
            "no errors found so far; 2 statements can only be checked at run time",
        ),
    ],
)
def test_the_last_line_says_what_was_found(tmp_path: Path, script: str, last: str) -> None:
    (tmp_path / "partial_code.py").write_text("import functools\np = functools.partial(max, 1)\n")
    path = tmp_path / "script.sql"
    path.write_text(script)
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.output.splitlines()[-1] == f"{path}: {last}"
    assert ("script.sql:1: this statement cannot be checked yet because it uses function" in result.output) is (
        "so far" in last
    )
