"""What a plan says of its changes: keys that survive a cast, rows that are given again, names that are taken."""

from __future__ import annotations

import pytest

from millstream.errors import Code, ScriptError
from millstream.plan.program import compile_script
from millstream.source import SourceText

KAFKA = "'properties.bootstrap.servers' = 'x:9092', 'topic' = 't'"
UPSERTS = f"'connector' = 'upsert-kafka', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json'"
INSERTS = f"'connector' = 'kafka', {KAFKA}, 'format' = 'json'"
TTL = {"table.exec.state.ttl": "1 d"}


def explain(script: str, settings: dict[str, str] | None = None) -> str:
    return "\n".join(job.explain() for job in compile_script(SourceText("s", script), {}, settings or {}).jobs)


@pytest.mark.parametrize(
    ("found", "wanted", "is_kept"),
    [
        ("TIMESTAMP(3)", "TIMESTAMP(6)", True),
        ("TIMESTAMP", "TIMESTAMP(6)", True),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", False),
        ("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", False),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3)", False),
        ("INT", "BIGINT", True),
        ("BIGINT", "DOUBLE", False),
        ("DECIMAL(10, 2)", "DECIMAL(12, 3)", True),
        ("DECIMAL(10, 3)", "DECIMAL(10, 2)", False),
        ("ROW<a INT, b ARRAY<STRING>>", "ROW<a BIGINT, b ARRAY<STRING>>", True),
        ("ROW<a INT, b TIMESTAMP(6)>", "ROW<a INT, b TIMESTAMP(3)>", False),
        ("ARRAY<INT>", "ARRAY<DOUBLE>", False),
    ],
)
def test_key_stays_a_key_where_the_sinks_type_keeps_values_apart(found: str, wanted: str, *, is_kept: bool) -> None:
    plan = explain(
        f"CREATE TABLE a (k {found}, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ({UPSERTS});"
        f"CREATE TABLE b (k {wanted}, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ({UPSERTS});"
        "INSERT INTO b SELECT * FROM a;"
    )
    assert ("Materialise" not in plan) is is_kept


DISTINCT = f"CREATE TABLE t (a INT, b INT) WITH ({INSERTS}); CREATE VIEW d AS SELECT DISTINCT a, b FROM t;"


@pytest.mark.parametrize(
    ("query", "settings", "expected"),
    [
        ("SELECT * FROM d", {}, ["I"]),
        ("SELECT * FROM d", TTL, ["I"]),
        ("SELECT a, COUNT(*) FROM d GROUP BY a", {}, ["I,UB,UA", "I"]),
        ("SELECT a, COUNT(*) FROM d GROUP BY a", TTL, ["I,UB,UA", "I,UB,UA"]),
        ("SELECT DISTINCT a FROM d WHERE b > 1", {}, ["I", "I"]),
        ("SELECT DISTINCT a FROM d WHERE b > 1", TTL, ["I", "I,UB,UA"]),
    ],
)
def test_distinct_rows_are_given_again_only_for_state_that_expires(
    query: str, settings: dict[str, str], expected: list[str]
) -> None:
    steps = [line for line in explain(f"{DISTINCT}{query};", settings).splitlines() if "Aggregate(" in line]
    assert [line.partition("changelog=[")[2].partition("]")[0] for line in steps] == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a AS __kind FROM t",
        "SELECT COUNT(*) FROM (SELECT b AS __kind FROM t) AS q",
        "SELECT a FROM t AS q (a, __kind)",
        "WITH q (__kind, b) AS (SELECT a, b FROM t) SELECT b FROM q",
        "SELECT COUNT(*) FROM (VALUES (1)) AS q (__kind)",
    ],
)
def test_kind_of_a_row_has_its_name_for_itself(query: str) -> None:
    with pytest.raises(ScriptError) as refused:
        explain(f"{DISTINCT}{query};")
    assert [problem.code for problem in refused.value.diagnostics] == [Code.DUPLICATE_COLUMN]
