"""What becomes of the tables after FROM and of the queries of a UNION."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.errors import ScriptError
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.join import Join
from millstream.plan.operators.materialise import Materialise
from millstream.plan.operators.node import Node, walk
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.union import Union
from millstream.plan.program import compile_script
from millstream.plan.resolver.scope import Scope
from millstream.plan.resolver.sql_text import sql_text
from millstream.source import SourceText

if TYPE_CHECKING:
    from millstream.plan.operators.roots import Root

_KAFKA = "'properties.bootstrap.servers' = 'x:9092'"
_UPSERT = f"'connector' = 'upsert-kafka', {_KAFKA}, 'key.format' = 'json', 'value.format' = 'json'"
TABLES = f"""
CREATE TABLE a (id INT, b STRING, c DECIMAL(10, 2)) WITH (
  'connector' = 'kafka', 'topic' = 'a', {_KAFKA}, 'format' = 'json');
CREATE TABLE u (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('topic' = 'u', {_UPSERT});
CREATE TABLE v (id BIGINT, city STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('topic' = 'v', {_UPSERT});
CREATE TABLE by_id (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('topic' = 's', {_UPSERT});
"""
N = TypeVar("N", bound=Node)


def compile_query(query: str) -> Root:
    return compile_script(SourceText("s", f"{TABLES}{query};"), {}, {}).jobs[0].roots[0]


def find(query: str, kind: type[N]) -> list[N]:
    return [node for node in walk(compile_query(query)) if isinstance(node, kind)]


@pytest.mark.parametrize(
    ("star", "columns"),
    [
        ("*", ["id", "b", "c", "id0", "b0", "c0"]),
        ("x.*", ["id", "b", "c"]),
        ("y.*, x.b", ["id", "b", "c", "b0"]),
    ],
)
def test_columns_of_star(star: str, columns: list[str]) -> None:
    root = compile_query(f"SELECT {star} FROM a AS x JOIN a AS y ON x.id = y.id")
    assert [column.name for column in root.columns] == columns


def test_columns_of_using_are_one_and_come_first() -> None:
    root = compile_query("SELECT *, b, y.b FROM a AS x JOIN a AS y USING (b)")
    assert [column.name for column in root.columns] == ["b", "id", "c", "id0", "c0", "b0", "b1"]


def test_conditions_filter_one_table_before_it_is_joined_and_pairs_after() -> None:
    query = "SELECT x.id FROM a AS x, u WHERE x.id = u.id AND x.b = 'x' AND u.name > 'k' AND x.b <> u.name"
    [join] = find(query, Join)
    filters = {sql_text(node.condition) for node in find(query, Filter)}
    assert filters == {"`b` = 'x'", "`name` > 'k'", "`b` <> `name`"}
    assert [isinstance(below, Filter) for below in walk(join.right)].count(True) == 1


def test_keys_of_other_types_are_compared_in_a_common_one() -> None:
    [join] = find("SELECT b FROM a JOIN u ON a.id = u.id", Join)
    types = [join.left.column_types()[join.left_keys[0]], join.right.column_types()[join.right_keys[0]]]
    assert [str(type_).removesuffix(" NOT NULL") for type_ in types] == ["BIGINT", "BIGINT"]


def test_the_names_of_computed_keys_are_free() -> None:
    table = "CREATE TABLE k (`$key0` INT, id INT) WITH ('connector' = 'datagen');"
    [join] = find(f"{table} SELECT k.`$key0` FROM k JOIN a ON k.id + 1 = a.id", Join)
    assert join.left_keys != ("$key0",)
    assert set(join.left_columns).isdisjoint(join.right_columns)


def test_no_two_columns_get_one_name() -> None:
    many = ", ".join(f"a{number} INT" for number in range(10))
    generated = "WITH ('connector' = 'datagen')"
    tables = f"CREATE TABLE lots (a INT, {many}) {generated}; CREATE TABLE few (a INT, a1 INT) {generated};"
    root = compile_query(f"{tables} SELECT * FROM lots JOIN few ON lots.a = few.a")
    assert len({column.name for column in root.inputs[0].columns}) == 13


@pytest.mark.parametrize(
    "query", ["(SELECT id FROM a) LIMIT 2", "SELECT id FROM ((SELECT id FROM a) ORDER BY id) AS t"]
)
def test_clauses_after_parentheses_are_refused(query: str) -> None:
    with pytest.raises(ScriptError, match="not supported yet"):
        compile_query(query)


def test_outer_join_is_no_inner_one() -> None:
    with pytest.raises(ScriptError, match="OUTER JOIN is not supported yet"):
        compile_query("SELECT a.id FROM a OUTER JOIN u ON a.id = u.id")


def test_what_is_random_is_drawn_for_each_pair() -> None:
    root = compile_query("SELECT x.b FROM a AS x JOIN a AS y ON x.id = y.id WHERE RAND() < 0.5")
    [join] = [node for node in walk(root) if isinstance(node, Join)]
    assert not any(isinstance(node, Filter) for node in walk(join))
    assert any(isinstance(node, Filter) for node in walk(root))


def test_rows_given_again_for_a_ttl_are_changes_of_a_join() -> None:
    text = f"{TABLES}SELECT t.id FROM (SELECT DISTINCT id FROM a) AS t JOIN a ON t.id = a.id;"
    job = compile_script(SourceText("s", text), {}, {"table.exec.state.ttl": "1 h"}).jobs[0]
    assert RowKind.DELETE in job.roots[0].changelog


def test_a_cast_that_loses_something_does_not_decide_what_is_equal() -> None:
    query = "SELECT x.id FROM a AS x JOIN (SELECT b, TO_TIMESTAMP(b) AS moment FROM a) AS y ON x.b = y.moment"
    assert [sql_text(node.condition) for node in find(query, Filter)] == ["`b` = `moment`"]


def test_one_column_may_be_equal_to_two() -> None:
    [join] = find("SELECT x.b FROM a AS x JOIN a AS y ON x.b = y.b AND x.b = UPPER(y.b)", Join)
    assert len(set(join.left_keys)) == len(set(join.right_keys)) == 2


def test_a_side_keeps_what_is_needed_of_it() -> None:
    [join] = find("SELECT x.c FROM a AS x JOIN a AS y ON x.id = y.id", Join)
    assert (join.left_columns, join.right_columns) == (("id", "c"), ("id0",))
    assert [
        [column.name for column in scan.columns] for scan in find("SELECT 1 FROM a JOIN u ON a.b = name", Scan)
    ] == [
        ["b"],
        ["id", "name"],
    ]


def test_changes_of_a_join() -> None:
    [inserts] = find("SELECT x.id FROM a AS x JOIN a AS y ON x.id = y.id", Join)
    [changes] = find("SELECT a.id FROM a JOIN u ON a.id = u.id", Join)
    assert inserts.changelog == INSERT_ONLY
    assert changes.changelog == {RowKind.INSERT, RowKind.DELETE}


@pytest.mark.parametrize(
    ("condition", "is_materialised"),
    [("u.id = v.id", False), ("u.name = v.city", True), ("u.id = v.id + 1", False), ("u.id + 1 = v.id + 2", True)],
)
def test_pairs_that_move_between_tasks_are_put_in_order_before_the_sink(
    condition: str, *, is_materialised: bool
) -> None:
    """A key of both sides that has the join key in it stays in its task; another one does not."""
    sink = "CREATE TABLE pairs (x BIGINT, y BIGINT, name STRING, PRIMARY KEY (x, y) NOT ENFORCED) WITH ('topic' = 'p', "
    query = f"{sink}{_UPSERT}); INSERT INTO pairs SELECT u.id, v.id, name FROM u JOIN v ON {condition}"
    assert bool(find(query, Materialise)) is is_materialised


@pytest.mark.parametrize(
    ("query", "scans"),
    [
        ("SELECT x.id FROM a AS x JOIN a AS y ON x.id = y.id", ["scan-1"]),
        ("SELECT x.id FROM u AS x JOIN u AS y ON x.id = y.id", ["scan-1", "scan-2"]),
        ("SELECT x.id FROM a AS x JOIN a AS y ON x.id = y.id JOIN a AS z ON z.id = y.id", ["scan-1", "scan-3"]),
    ],
)
def test_inputs_of_a_join_read_a_table_once(query: str, scans: list[str]) -> None:
    """Where nothing keeps state between the table and the join, as it does for upserts."""
    [job] = compile_script(SourceText("s", f"{TABLES}{query};"), {}, {}).jobs
    assert [scan.id for scan in job.scans] == scans
    assert len(job.logical_scans) == query.count(" AS ")


def test_a_union_takes_the_names_of_the_first_query_and_types_that_fit_all() -> None:
    root = compile_query("SELECT id, b FROM a UNION ALL SELECT id, name FROM u UNION ALL SELECT 1.5, NULL")
    assert [(column.name, str(column.type)) for column in root.columns] == [("id", "DECIMAL(20, 1)"), ("b", "STRING")]
    [union] = find("SELECT id FROM a UNION ALL SELECT id FROM u UNION ALL SELECT id FROM v", Union)
    assert len(union.inputs) == 3


def test_rows_of_a_union_are_retracted_whole() -> None:
    """A sink by key finds the row to take away by all of its columns."""
    [materialise] = find("INSERT INTO by_id SELECT id, name FROM u UNION ALL SELECT id, city FROM v", Materialise)
    assert (materialise.keys, materialise.replaced_by) == (("id",), ())
    assert RowKind.UPDATE_BEFORE in materialise.inputs[0].changelog


def test_union_of_different_rows_is_an_aggregate_of_no_calls() -> None:
    root = compile_query("SELECT id FROM a UNION SELECT id FROM a")
    assert root.upsert_key == ("id",)
    assert root.changelog == INSERT_ONLY


@pytest.mark.parametrize(("source", "kinds"), [("a", False), ("u", True)])
def test_pairs_of_inserts_carry_no_kinds(source: str, *, kinds: bool) -> None:
    """An aggregate over rows with kinds keeps single values in case one is retracted, and declares none for inserts."""
    text = f"{TABLES}SELECT x.b, MAX(x.id) FROM a AS x JOIN {source} AS y ON x.id = y.id GROUP BY x.b;"
    nodes = compile_script(SourceText("s", text), {}, {}).jobs[0].physical.nodes
    [join] = [node for node in nodes if isinstance(node.operator, Join)]
    assert join.has_kinds is kinds


@pytest.mark.parametrize(
    ("query", "is_materialised"),
    [
        ("SELECT u.id, city FROM u JOIN v ON u.id = v.id", False),
        ("SELECT v.id, name FROM u JOIN v ON u.id = v.id", False),
        ("SELECT id, name FROM u JOIN v USING (id)", False),
        ("SELECT w.id, name FROM u JOIN v ON u.id = v.id JOIN by_id AS w (id, n) ON v.id = w.id", False),
        ("SELECT u.id, name FROM u JOIN v ON u.id = v.id AND u.name = v.city", True),
        ("SELECT u.id, name FROM u JOIN v ON u.name = v.city", True),
    ],
)
def test_of_two_keys_that_are_equal_one_is_enough_for_a_sink(query: str, *, is_materialised: bool) -> None:
    assert bool(find(f"INSERT INTO by_id {query}", Materialise)) is is_materialised


def test_numbers_that_are_equal_and_not_the_same_are_two_keys() -> None:
    tables = "".join(
        f"CREATE TABLE {name} (d DOUBLE, n INT, PRIMARY KEY (d) NOT ENFORCED) WITH ('topic' = '{name}', {_UPSERT});"
        for name in ("e", "f", "g")
    )
    assert find(f"{tables} INSERT INTO g SELECT e.d, f.n FROM e JOIN f ON e.d = f.d", Materialise)


def test_the_order_of_conditions_is_no_part_of_the_state() -> None:
    def state(condition: str) -> object:
        [join] = find(f"SELECT x.c FROM a AS x JOIN a AS y ON {condition}", Join)
        return join.declare_state()

    one = state("x.id = y.id AND x.b = y.b")
    assert one == state("y.b = x.b AND x.id = y.id")
    assert one == state("x.b = y.b AND x.id = y.id")
    assert one != state("x.b = y.b AND x.id + 1 = y.id")


def test_a_join_without_a_key_says_how_to_get_one() -> None:
    text = f"{TABLES}INSERT INTO by_id SELECT u.id, name FROM u JOIN v ON u.name = v.city;"
    with pytest.raises(ScriptError) as raised:
        compile_script(SourceText("s", text), {}, {"table.exec.sink.upsert-materialize": "NONE"})
    assert "primary keys of both tables" in (raised.value.diagnostics[0].hint or "")


def test_a_join_is_named_where_a_sink_does_not_take_its_changes() -> None:
    sink = f"CREATE TABLE plain (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 'p', {_KAFKA}, 'format' = 'json');"
    with pytest.raises(ScriptError) as raised:
        compile_query(f"{sink} INSERT INTO plain SELECT u.id FROM u JOIN v ON u.id = v.id")
    assert "The join" in (raised.value.diagnostics[0].detail or "")


def test_a_chain_of_unions_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a query stands is looked for in all of its text: only an error needs to know."""
    asked: list[object] = []
    monkeypatch.setattr(Scope, "place", lambda _, node: asked.append(node))
    compile_query("SELECT id FROM a" + " UNION SELECT id FROM a UNION ALL SELECT id FROM a" * 20)
    assert len(asked) < 100


@pytest.mark.parametrize(
    ("query", "primary", "hint"),
    [
        ("SELECT 1 FROM a JOIN u USING (name)", 'column "name" of USING is not a column of "a"', "with ON"),
        ("SELECT 1 FROM a JOIN u USING (c)", 'column "c" of USING is not a column of "u"', "with ON"),
        ("SELECT 1 FROM a JOIN u USING (q)", 'column "q" of USING is not a column of "a" or "u"', "with ON"),
        ("SELECT 1 FROM a JOIN u ON b = name JOIN v USING (id)", "more than one table before", "ON a.id = v.id"),
        ("SELECT id FROM (SELECT id, b FROM a) JOIN (SELECT id, name FROM u) ON b = name", "", "AS t, and write t.id"),
        ("SELECT id FROM a AS x JOIN (SELECT id, name FROM u) ON b = name", "more than one table", "Write x.id, or"),
        ("SELECT v.id FROM u JOIN v ON u.id = v.id GROUP BY 1", 'column "id" is neither', "GROUP BY"),
        ("SELECT 1 FROM (a JOIN u ON a.b = u.name)", "a join in parentheses", "one after the other"),
        ("SELECT 1 FROM u JOIN (a) ON a.b = u.name", "a table in parentheses", "without them"),
        ("SELECT 1 FROM a STRAIGHT_JOIN u ON b = name", "STRAIGHT_JOIN is not", "Write JOIN"),
        ("SELECT id FROM a UNION ALL CORRESPONDING SELECT id FROM u", "UNION ALL CORRESPONDING is not", "same columns"),
        ("SELECT id FROM a UNION BY NAME SELECT id FROM u", "UNION BY NAME is not", "same columns"),
    ],
)
def test_what_is_wrong_is_said_once_with_a_way_on(query: str, primary: str, hint: str) -> None:
    with pytest.raises(ScriptError) as raised:
        compile_query(query)
    [problem] = raised.value.diagnostics
    assert primary in problem.primary
    assert hint in (problem.hint or "")


def test_sub_queries_without_names_have_columns_in_common() -> None:
    root = compile_query("SELECT name FROM (SELECT id FROM a) JOIN (SELECT id, name FROM u) USING (id)")
    assert [column.name for column in root.columns] == ["name"]


def test_a_table_waits_for_one_that_it_is_equal_to() -> None:
    root = compile_query("SELECT * FROM a, v, u WHERE a.b = u.name AND u.id = v.id")
    assert [column.name for column in root.columns] == ["id", "b", "c", "id0", "city", "id1", "name"]
    [upper, lower] = [node for node in walk(root) if isinstance(node, Join)]
    assert (lower.left_keys, lower.right_keys) == (("b",), ("name",))
    assert upper.left is not lower.left


def test_a_join_by_many_columns_names_a_few_of_its_keys() -> None:
    columns = list("klmnopqrs")
    listed = ", ".join(f"{name} INT" for name in columns)
    key = f"PRIMARY KEY ({', '.join(columns)}) NOT ENFORCED"
    both = ", ".join(f"{name}0 INT" for name in columns)
    tables = f"""CREATE TABLE wide ({listed}, {key}) WITH ('topic' = 'w', {_UPSERT});
        CREATE TABLE other ({listed}, {key}) WITH ('topic' = 'o', {_UPSERT});
        CREATE TABLE pairs ({listed}, {both}, {key}) WITH ('topic' = 'p', {_UPSERT});"""
    joined = f"FROM wide JOIN other ON {' AND '.join(f'wide.{name} = other.{name}' for name in columns)}"
    [join] = find(f"{tables} SELECT other.* {joined}", Join)
    assert join.upsert_keys == (tuple(f"{name}0" for name in columns),)
    assert not find(f"{tables} INSERT INTO other SELECT other.* {joined}", Materialise)
    assert not find(f"{tables} INSERT INTO pairs SELECT * {joined}", Materialise)
    assert not find(f"{tables} INSERT INTO pairs SELECT other.*, wide.* {joined}", Materialise)


def test_columns_that_an_outer_join_may_fill_with_nulls_are_nullable() -> None:
    def nullable(kind: str) -> list[bool]:
        root = compile_query(f"SELECT u.id, v.id FROM u {kind} JOIN v ON u.id = v.id")
        return [column.type.nullable for column in root.columns]

    assert [nullable(kind) for kind in ("", "LEFT", "RIGHT", "FULL")] == [
        [False, False],
        [False, True],
        [True, False],
        [True, True],
    ]


@pytest.mark.parametrize(
    ("kind", "kept"),
    [("LEFT", ["`id` AS x", "`id0` AS y"]), ("RIGHT", ["`id0` AS x", "`id` AS y"]), ("FULL", ["COALESCE"])],
)
def test_a_column_of_using_is_never_null_by_a_join(kind: str, kept: list[str]) -> None:
    root = compile_query(f"SELECT id AS x, {'v' if kind == 'LEFT' else 'u'}.id AS y FROM u {kind} JOIN v USING (id)")
    assert all(text in root.inputs[0].label for text in kept)
    everything = compile_query(f"SELECT * FROM u {kind} JOIN v USING (id)")
    assert [column.name for column in everything.columns] == ["id", "name", "city"]


def test_a_chain_of_full_joins_has_one_column_of_using() -> None:
    root = compile_query("SELECT * FROM u FULL JOIN v USING (id) FULL JOIN by_id USING (id)")
    assert [column.name for column in root.columns] == ["id", "name", "city", "name0"]


def test_conditions_of_an_outer_join_decide_who_is_a_partner() -> None:
    on = "a.id = u.id AND a.b = 'x' AND u.name > 'k' AND a.b <> u.name"
    [join] = find(f"SELECT * FROM a LEFT JOIN u ON {on} WHERE a.c > 1 AND u.name IS NULL", Join)
    assert "condition=[`b` <> `name`]" in join.label
    filters = {sql_text(node.condition) for node in walk(join) if isinstance(node, Filter)}
    assert filters == {"`c` > 1", "`name` > 'k'"}
    assert "IF(`b` = 'x', `id`, CAST(NULL AS INT))" in join.left.label


def test_what_only_spark_can_evaluate_is_computed_below_an_outer_join() -> None:
    on = "a.id = u.id AND PARSE_URL(u.name, 'HOST') <> a.b"
    [join] = find(f"SELECT u.name FROM a LEFT JOIN u ON {on}", Join)
    assert "condition=[`$on0` <> `b`]" in join.label
    assert "PARSE_URL" in join.right.label
    assert [column.name for column in join.columns] == ["name"]


def test_outer_joins_stay_in_their_order() -> None:
    [upper, lower] = find("SELECT 1 FROM a JOIN u ON a.b = name RIGHT JOIN v ON v.id = u.id WHERE a.c > 1", Join)
    assert (upper.kind, lower.kind) == ("right", "inner")
    assert not any(isinstance(node, Filter) for node in walk(upper))
    [inner, left] = find("SELECT 1 FROM a, u LEFT JOIN v ON u.id = v.id WHERE a.id = u.id", Join)
    assert (inner.kind, left.kind) == ("inner", "left")


@pytest.mark.parametrize(
    ("query", "is_materialised"),
    [
        ("SELECT u.id, city FROM u LEFT JOIN v ON u.id = v.id", False),
        ("SELECT v.id, city FROM u LEFT JOIN v ON u.id = v.id", True),
        ("SELECT v.id, name FROM u RIGHT JOIN v ON u.id = v.id", False),
        ("SELECT id, name FROM u FULL JOIN v USING (id)", True),
        ("SELECT u.id, city FROM u LEFT JOIN v ON u.name = v.city", True),
        ("SELECT u.id, city FROM u LEFT JOIN v ON u.id = v.id AND u.name > 'k'", True),
        ("SELECT id, name FROM u WHERE id IN (SELECT id FROM v)", False),
        ("SELECT id, name FROM u WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.id = u.id)", False),
        ("SELECT id, name FROM u WHERE name IN (SELECT city FROM v)", True),
    ],
)
def test_keys_of_joins_that_keep_rows(query: str, *, is_materialised: bool) -> None:
    assert bool(find(f"INSERT INTO by_id {query}", Materialise)) is is_materialised


def test_changes_of_joins_of_inserts() -> None:
    def kinds(query: str) -> object:
        return find(query, Join)[0].changelog

    assert kinds("SELECT b FROM a WHERE id IN (SELECT id FROM a)") == INSERT_ONLY
    assert kinds("SELECT b FROM a WHERE id NOT IN (SELECT id FROM a)") == {RowKind.INSERT, RowKind.DELETE}
    assert kinds("SELECT x.b FROM a AS x LEFT JOIN a AS y ON x.id = y.id") == {RowKind.INSERT, RowKind.DELETE}


def test_of_a_sub_query_only_what_is_compared_is_kept() -> None:
    [join] = find("SELECT b FROM a WHERE EXISTS (SELECT * FROM u WHERE u.id = a.id AND name = 'x')", Join)
    assert join.right_columns == join.right_keys
    [join] = find("SELECT b FROM a WHERE id IN (SELECT id FROM u WHERE a.b <> name)", Join)
    assert set(join.right_columns) == {*join.right_keys, "name"}


def test_a_name_in_a_sub_query_is_first_its_own() -> None:
    [join] = find("SELECT b FROM a WHERE EXISTS (SELECT 1 FROM u WHERE id = 1 AND u.id = a.id)", Join)
    assert any(isinstance(node, Filter) for node in walk(join.right))


def test_the_kind_and_the_condition_of_a_join_are_part_of_its_state() -> None:
    def state(kind: str, condition: str) -> object:
        [join] = find(f"SELECT x.c FROM a AS x {kind} JOIN a AS y ON x.id = y.id AND {condition}", Join)
        return join.declare_state()

    one = state("LEFT", "x.b < y.b")
    assert one == state("LEFT OUTER", "x.b < y.b")
    assert one != state("LEFT", "x.b > y.b")
    assert one != state("FULL", "x.b < y.b")
    inner = find("SELECT x.c FROM a AS x JOIN a AS y ON x.id = y.id", Join)[0].declare_state()
    assert inner is not None
    assert inner.keys() == {"left", "right", "left_keys", "right_keys"}


@pytest.mark.parametrize(
    ("query", "ttl", "notices"),
    [
        ("SELECT u.id, name FROM u JOIN v ON u.id = v.id", "", []),
        ("SELECT a.id, b FROM a JOIN u ON a.id = u.id JOIN v ON a.id = v.id", "", ["state grows for ever"]),
        ("SELECT a.id, b FROM a JOIN u ON a.id = u.id", "1 h", []),
        ("SELECT /*+ STATE_TTL('a' = '1 h') */ a.id, b FROM a JOIN u ON a.id = u.id", "", []),
        ("SELECT /*+ STATE_TTL('u' = '1 h') */ a.id, b FROM a JOIN u ON a.id = u.id", "", ["grows for ever"]),
        ("SELECT /*+ STATE_TTL('a' = '0 s') */ a.id, b FROM a JOIN u ON a.id = u.id", "1 h", ["grows for ever"]),
        ("SELECT u.id, name FROM u WHERE id IN (SELECT id FROM a)", "", []),
        ("SELECT u.id, name FROM u JOIN v ON u.id < v.id", "", ["in one task"]),
        ("SELECT a.id, b FROM a CROSS JOIN u", "", ["in one task", "state grows for ever"]),
    ],
)
def test_what_a_join_costs_is_said_once(query: str, ttl: str, notices: list[str]) -> None:
    settings = {"table.exec.state.ttl": ttl} if ttl else {}
    program = compile_script(SourceText("s", f"{TABLES}INSERT INTO by_id {query};"), {}, settings)
    assert len(program.notices) == len(notices)
    assert all(part in notice for part, notice in zip(notices, program.notices, strict=True))


@pytest.mark.parametrize(
    ("query", "primary", "hint"),
    [
        ("SELECT 1 FROM u LEFT JOIN v", "a left join needs ON or USING", "ON a.id = b.id"),
        ("SELECT 1 FROM a, u LEFT JOIN v ON u.id = a.id", 'table "a" is not in the FROM clause', "reads"),
        ("SELECT 1 FROM u LEFT JOIN v ON u.id = v.id + RAND_INTEGER(3) AND RAND() < v.id", "RAND", "sub-query"),
        ("SELECT 1 FROM u LEFT JOIN v ON u.id = v.id AND PARSE_URL(name, city) = 'x'", "of both sides", "side alone"),
        (
            "SELECT b FROM a WHERE EXISTS (SELECT MAX(id) FROM u WHERE name = b)",
            "with an aggregate of all rows",
            "compare with its value",
        ),
        ("SELECT b FROM a WHERE id IN (SELECT id, name FROM u)", "IN compares 1 value", "as many columns"),
        ("SELECT b FROM a WHERE EXISTS (SELECT 1 FROM u WHERE u.nme = a.b)", "nme", "name"),
        ("SELECT 1 FROM u NATURAL FULL JOIN v", "NATURAL FULL JOIN is not", "FULL JOIN … USING"),
        ("SELECT 1 FROM u LEFT ANTI JOIN v ON u.id = v.id", "LEFT ANTI JOIN is not", "NOT EXISTS"),
    ],
)
def test_what_is_no_join_yet_is_refused_with_a_way_on(query: str, primary: str, hint: str) -> None:
    with pytest.raises(ScriptError) as raised:
        compile_query(query)
    problem = raised.value.diagnostics[0]
    assert primary in problem.primary
    assert hint in (problem.hint or "")
