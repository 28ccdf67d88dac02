"""What becomes of UNNEST after FROM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.errors import Code, ScriptError
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.join import Join
from millstream.plan.operators.node import walk
from millstream.plan.operators.unnest import PartKind, Unnest
from millstream.plan.physical.nodes import Execution
from millstream.plan.program import JobPlan, compile_script
from millstream.source import SourceText

if TYPE_CHECKING:
    from pathlib import Path

_KAFKA = "'properties.bootstrap.servers' = 'x:9092'"
TABLES = f"""
CREATE TABLE o (id BIGINT, tags ARRAY<STRING>, items ARRAY<ROW<sku STRING, n INT NOT NULL>>, attrs MAP<STRING, INT>,
  bag MULTISET<STRING NOT NULL>, r ROW<tags ARRAY<INT NOT NULL>>, t STRING) WITH (
  'connector' = 'kafka', 'topic' = 'o', {_KAFKA}, 'format' = 'json');
CREATE TABLE u (id BIGINT, tags ARRAY<STRING>, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'u', {_KAFKA}, 'key.format' = 'json', 'value.format' = 'json');
"""


def compile_job(query: str) -> JobPlan:
    return compile_script(SourceText("s", f"{TABLES}{query};"), {}, {}).jobs[0]


def columns(query: str) -> list[str]:
    return [f"{column.name} {column.type}" for column in compile_job(query).roots[0].columns]


def find(query: str) -> Unnest:
    [found] = [node for node in walk(compile_job(query).roots[0]) if isinstance(node, Unnest)]
    return found


@pytest.mark.parametrize(
    ("after_from", "expected"),
    [
        ("CROSS JOIN UNNEST(tags) AS t (tag)", ["id BIGINT", "tag STRING"]),
        ("CROSS JOIN UNNEST(o.tags) AS tag", ["id BIGINT", "tag STRING"]),
        (", UNNEST(o.tags)", ["id BIGINT", "EXPR$0 STRING"]),
        ("CROSS JOIN UNNEST(items) AS t", ["id BIGINT", "sku STRING", "n INT"]),
        ("CROSS JOIN UNNEST(attrs) AS t", ["id BIGINT", "KEY STRING", "VALUE INT"]),
        ("CROSS JOIN UNNEST(bag) AS t (b)", ["id BIGINT", "b STRING NOT NULL"]),
        ("LEFT JOIN UNNEST(bag) AS t (b) ON TRUE", ["id BIGINT", "b STRING"]),
        ("JOIN UNNEST(r.tags) AS t (b) ON TRUE", ["id BIGINT", "b INT NOT NULL"]),
        ("CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t (tag, n)", ["id BIGINT", "tag STRING", "n INT NOT NULL"]),
        ("CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t", ["id BIGINT", "EXPR$0 STRING", "ORDINALITY INT NOT NULL"]),
        ("LEFT JOIN UNNEST(attrs) WITH ORDINALITY AS t (k, v, n) ON TRUE", ["id BIGINT", "k STRING", "v INT", "n INT"]),
        ("CROSS JOIN UNNEST(SPLIT(o.t, ',')) AS s (word)", ["id BIGINT", "word STRING"]),
        ("CROSS JOIN LATERAL UNNEST(tags) AS x (y)", ["id BIGINT", "y STRING"]),
        ("CROSS JOIN UNNEST(tags) AS x (id)", ["id BIGINT", "id0 STRING"]),
    ],
)
def test_columns(after_from: str, expected: list[str]) -> None:
    query = f"SELECT * FROM (SELECT id, tags, items, attrs, bag, r, t FROM o) AS o {after_from}"
    found = columns(query)
    assert [found[0], *found[7:]] == expected


def test_a_field_of_a_row_keeps_its_name() -> None:
    table = "CREATE TABLE n (a ARRAY<ROW<p INT>>) WITH ('connector' = 'datagen');"
    job = compile_script(SourceText("s", f"{table} SELECT t.p FROM n, UNNEST(a) AS t;"), {}, {}).jobs[0]
    assert [column.name for column in job.roots[0].columns] == ["p"]


def test_star_lists_tables_as_they_stand() -> None:
    query = "SELECT * FROM u, UNNEST(u.tags) AS a, UNNEST(u.tags) AS b JOIN u AS v ON v.id = u.id, UNNEST(v.tags) AS c"
    names = [column.partition(" ")[0] for column in columns(query)]
    assert names == ["id", "tags", "a", "b", "id0", "tags0", "c"]


def test_elements_are_keys_of_joins_and_conditions() -> None:
    query = "SELECT u.id FROM o CROSS JOIN UNNEST(items) AS i (sku, n) JOIN u ON i.n = u.id WHERE i.sku > 'a' AND n > 1"
    root = compile_job(query).roots[0]
    [join] = [node for node in walk(root) if isinstance(node, Join)]
    assert any(isinstance(node, Unnest) for node in walk(join.left))


def test_what_is_unnested_is_unnested_again() -> None:
    table = "CREATE TABLE n (a ARRAY<ARRAY<INT>>) WITH ('connector' = 'datagen');"
    job = compile_script(SourceText("s", f"{table} SELECT y FROM n, UNNEST(a) AS x, UNNEST(x) AS y;"), {}, {}).jobs[0]
    assert [str(column.type) for column in job.roots[0].columns] == ["INT"]


def test_a_constant_has_no_table() -> None:
    assert columns("SELECT * FROM UNNEST(ARRAY[1, 2]) AS u (x)") == ["x INT NOT NULL"]


def test_only_what_is_needed_stays() -> None:
    found = find("SELECT i.n FROM o, UNNEST(items) AS i")
    assert (found.kept, [part.kind for part in found.parts]) == ((), [PartKind.FIELD])
    assert [column.name for column in found.input.columns] == ["items"]


def test_changes_are_passed_on_and_old_rows_asked_for() -> None:
    assert compile_job("SELECT x FROM o, UNNEST(tags) AS x").roots[0].changelog == INSERT_ONLY
    sink = "CREATE TABLE s (id BIGINT, n INT, x STRING, PRIMARY KEY (id, n) NOT ENFORCED) WITH ('connector' ="
    sink += f"'upsert-kafka', 'topic' = 's', {_KAFKA}, 'key.format' = 'json', 'value.format' = 'json');"
    root = compile_job(
        f"{sink} INSERT INTO s SELECT id, n, x FROM u CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t (x, n)"
    ).roots[0]
    assert RowKind.UPDATE_BEFORE in root.changelog
    assert root.upsert_key == ("id", "n")


def test_there_is_no_key_without_the_position() -> None:
    assert find("SELECT id, x FROM u, UNNEST(tags) AS x").upsert_keys == ()


def test_rows_stay_in_python() -> None:
    for query, execution in (
        ("SELECT id, x FROM o, UNNEST(tags) AS x", Execution.PYTHON),
        ("SELECT id, x FROM o, UNNEST(SPLIT(t, ',')) AS x", Execution.SPARK),
    ):
        nodes = compile_job(query).physical.nodes
        assert [node.execution for node in nodes if isinstance(node.operator, Unnest)] == [execution]


def test_what_is_unnested_is_part_of_the_state() -> None:
    queries = [f"SELECT x, COUNT(*) FROM o, UNNEST({array}) AS x GROUP BY x" for array in ("tags", "SPLIT(t, ',')")]
    one, other = ([node.declare_state() for node in walk(compile_job(query).roots[0])] for query in queries)
    assert one != other


@pytest.mark.parametrize("side", ["", "LEFT", "RIGHT"])
def test_what_names_no_column_is_unnested_beside_rows_that_are_kept(side: str) -> None:
    root = compile_job(f"SELECT o.id, x FROM o {side} JOIN u ON o.id = u.id, UNNEST(ARRAY[1, 2]) AS x").roots[0]
    [join] = [node for node in walk(root) if isinstance(node, Join)]
    kept = join.right if side == "RIGHT" else join.left
    assert any(isinstance(node, Unnest) for node in walk(kept))


@pytest.mark.parametrize(
    ("after_from", "code", "primary", "marked"),
    [
        ("o, UNNEST(o.id) AS x", Code.TYPE_MISMATCH, "UNNEST takes an ARRAY, a MAP or a MULTISET, not BIGINT", "o.id"),
        ("o, UNNEST(tags) AS x (a, b)", Code.SINK_SCHEMA_MISMATCH, "x names 2 columns, and UNNEST gives 1", None),
        ("o, UNNEST(tags) AS o", Code.DUPLICATE_TABLE, '"o" appears twice in FROM', "o"),
        ("o, UNNEST(tags, tags) AS x", Code.UNSUPPORTED_STATEMENT, "UNNEST of several collections", None),
        ("o, UNNEST(nope) AS x", Code.UNDEFINED_COLUMN, 'column "nope" is not a column of "o"', "nope"),
        ("UNNEST(tags) AS x, o", Code.UNDEFINED_COLUMN, 'no table to read column "tags"', "tags"),
        ("o RIGHT JOIN UNNEST(tags) AS x ON TRUE", Code.UNSUPPORTED_STATEMENT, "RIGHT JOIN UNNEST", None),
        ("o LEFT JOIN UNNEST(tags) AS x ON x = 'a'", Code.UNSUPPORTED_STATEMENT, "another condition than TRUE", None),
        ("o FULL JOIN u ON o.id = u.id, UNNEST(ARRAY[1]) AS x", Code.UNSUPPORTED_STATEMENT, "of no column", None),
        ("o FULL JOIN u ON o.id = u.id, UNNEST(u.tags) AS x", Code.UNSUPPORTED_STATEMENT, "filled with NULL", None),
        ("o, u, UNNEST(ARRAY[o.id, u.id]) AS x", Code.UNSUPPORTED_STATEMENT, "columns of several tables", None),
        ("o, UNNEST(tags) WITH OFFSET AS x", Code.UNSUPPORTED_STATEMENT, "UNNEST … WITH OFFSET", None),
        ("o, LATERAL (SELECT 1) AS x", Code.UNSUPPORTED_STATEMENT, "LATERAL is not supported", None),
    ],
)
def test_what_cannot_be_unnested(after_from: str, code: Code, primary: str, marked: str | None) -> None:
    with pytest.raises(ScriptError) as caught:
        compile_job(f"SELECT 1 FROM {after_from}")
    problem = caught.value.diagnostics[0]
    assert problem.code is code
    assert primary in problem.primary
    if marked is not None:
        assert problem.span is not None
        assert problem.span.text == marked


def test_conditions_of_an_inner_join_filter() -> None:
    query = "SELECT x FROM o JOIN UNNEST(tags) AS t (x) ON x > 'a' AND o.id > 1"
    nodes = list(walk(compile_job(query).roots[0]))
    assert [node.label for node in nodes if isinstance(node, Filter)] == ["Filter(`x` > 'a')", "Filter(`id` > 1)"]


def test_conditions_on_other_columns_come_before_the_elements() -> None:
    query = "SELECT id, x FROM o, UNNEST(SPLIT(t, ',')) AS x WHERE id > 1 AND x > 'a' AND id < CHAR_LENGTH(x)"
    nodes = list(walk(compile_job(query).roots[0]))
    names = " ".join(type(node).__name__ for node in nodes)
    assert names == "Collect Filter Unnest Project Filter Scan"
    assert [node.label for node in nodes if isinstance(node, Filter)] == [
        "Filter(`x` > 'a' AND `id` < CHAR_LENGTH(`x`))",
        "Filter(`id` > 1)",
    ]


def test_what_is_random_is_drawn_for_each_element() -> None:
    query = "SELECT id, x FROM o, UNNEST(tags) AS x WHERE RAND() < 0.5"
    names = " ".join(type(node).__name__ for node in walk(compile_job(query).roots[0]))
    assert names == "Collect Filter Unnest Scan"


MODULE = """
from collections.abc import Iterator
from millstream import udtf
def words(text: str) -> Iterator[tuple[str, int]]:
    yield text, 1
def lines(text: str) -> Iterator[str]:
    yield text
def loud(text: str) -> str:
    return text.upper()
@udtf(arguments=["DECIMAL(10, 2)"], result_types=["ARRAY<INT>", "TIME(3)"])
def odd(number):
    yield [1], None
"""
FUNCTIONS = "".join(
    f"CREATE FUNCTION {name} AS 'table_functions_here:{name}' LANGUAGE PYTHON;"
    for name in ("words", "lines", "loud", "odd")
)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "table_functions_here.py").write_text(MODULE)
    return tmp_path / "s.sql"


def compile_in(place: Path, query: str) -> JobPlan:
    return compile_script(SourceText(str(place), f"{TABLES}{FUNCTIONS}{query};"), {}, {}).jobs[0]


@pytest.mark.parametrize(
    ("after_from", "expected"),
    [
        ("o, LATERAL TABLE(words(t)) AS w (word, n)", ["word STRING", "n BIGINT"]),
        ("o CROSS JOIN LATERAL TABLE(words(UPPER(t))) AS w", ["f0 STRING", "f1 BIGINT"]),
        ("o JOIN LATERAL TABLE(LINES(t)) AS w ON TRUE", ["f0 STRING"]),
        ("o LEFT JOIN LATERAL TABLE(lines(t)) AS w (line) ON TRUE", ["line STRING"]),
        ("LATERAL TABLE(lines('a')) AS w (line)", ["line STRING"]),
        ("o, LATERAL TABLE(odd(id)) AS w (a, b)", ["a ARRAY<INT>", "b TIME(3)"]),
    ],
)
def test_columns_of_table_functions(module: Path, after_from: str, expected: list[str]) -> None:
    names = ", ".join(column.partition(" ")[0] for column in expected)
    root = compile_in(module, f"SELECT {names} FROM {after_from}").roots[0]
    assert [f"{column.name} {column.type}" for column in root.columns] == expected


@pytest.mark.parametrize(
    ("query", "code", "primary", "marked"),
    [
        ("SELECT words(t) FROM o", Code.TYPE_MISMATCH, 'function "words" gives rows', "words(t)"),
        (
            "SELECT 1 FROM o, LATERAL TABLE(shout(t)) AS w",
            Code.UNDEFINED_FUNCTION,
            'function "shout" does not exist',
            "shout(t)",
        ),
        ("SELECT 1 FROM o, LATERAL TABLE(loud(t)) AS w", Code.TYPE_MISMATCH, "gives one value", "loud(t)"),
        ("SELECT 1 FROM o, LATERAL TABLE(words(t, 1)) AS w", Code.TYPE_MISMATCH, "does not take 2", "words(t, 1)"),
        ("SELECT 1 FROM o, LATERAL TABLE(words(tags)) AS w", Code.TYPE_MISMATCH, "takes STRING here", "tags"),
        ("SELECT 1 FROM o, TABLE(words(t)) AS w", Code.UNSUPPORTED_STATEMENT, "a table function", "TABLE"),
        ("SELECT 1 FROM o, LATERAL TABLE(words(t)) AS w (a)", Code.SINK_SCHEMA_MISMATCH, "names 1 column", None),
    ],
)
def test_what_is_no_table_function(module: Path, query: str, code: Code, primary: str, marked: str | None) -> None:
    with pytest.raises(ScriptError) as caught:
        compile_in(module, query)
    problem = caught.value.diagnostics[0]
    assert problem.code is code
    assert primary in problem.primary
    if marked is not None:
        assert problem.span is not None
        assert problem.span.text == marked
