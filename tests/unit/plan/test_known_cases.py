"""A filter on a column settles a CASE that asks for its value, and spares what only the other branches need."""

from __future__ import annotations

import pytest

from millstream.plan.operators.node import walk
from millstream.plan.operators.project import Project
from millstream.plan.operators.scan import Scan
from millstream.plan.physical.known_cases import settle_cases
from millstream.plan.program import compile_script
from millstream.plan.resolver.sql_text import sql_text
from millstream.source import SourceText

KAFKA = "'connector' = 'kafka', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json'"
TABLES = f"""
CREATE TABLE events (
  kind INT, word STRING, r ROW<t INT, u INT>, s ROW<t INT>,
  t AS CASE WHEN kind = 0 THEN r.t WHEN kind = 1 THEN s.t ELSE r.u END,
  w AS CASE word WHEN 'r' THEN r.t WHEN 's' THEN s.t END,
  risky AS CASE WHEN kind = 0 THEN CAST(word AS INT) ELSE s.t END
) WITH ({KAFKA}, 'topic' = 'e');
"""


def settled(query: str) -> tuple[list[str], list[str]]:
    """What the lowest projection computes, and the columns that are read."""
    [job] = compile_script(SourceText("s", f"{TABLES}{query};"), {}, {}).jobs
    [root] = settle_cases(job.roots)
    [*_, lowest] = [node for node in walk(root) if isinstance(node, Project) and isinstance(node.inputs[0], Scan)]
    [scan] = job.scans
    return [sql_text(item.expression) for item in lowest.items], [column.name for column in scan.columns]


@pytest.mark.parametrize(
    ("query", "value", "read"),
    [
        ("SELECT t FROM events WHERE kind = 0", "`r`.`t`", ["kind", "r"]),
        ("SELECT t FROM events WHERE 1 = kind AND word > 'a'", "`s`.`t`", ["kind", "word", "s"]),
        ("SELECT t FROM events WHERE kind = 7", "`r`.`u`", ["kind", "r"]),
    ],
)
def test_case_with_one_branch_left(query: str, value: str, read: list[str]) -> None:
    computed, columns = settled(query)
    assert value in computed
    assert columns == read


@pytest.mark.parametrize(
    "query",
    [
        "SELECT t FROM events WHERE kind > 0",
        "SELECT t FROM events WHERE kind = 0 OR word = 'a'",
        "SELECT t FROM events WHERE kind IS NULL",
        "SELECT t FROM events WHERE word = 'r'",
        "SELECT risky FROM events WHERE kind = 0",
        "SELECT t FROM events WHERE kind = CAST(NULL AS INT)",
    ],
)
def test_case_that_stays(query: str) -> None:
    """Another branch may be taken, or the only one may fail for rows that the filter drops."""
    computed, columns = settled(query)
    assert any(text.startswith("CASE") for text in computed)
    assert "s" in columns
