"""Who may write, as far as that is settled without a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.errors import Code, ScriptError
from millstream.plan.program import compile_script
from millstream.runtime.before_start import unbuilt_in
from millstream.runtime.kafka.exactly_once import Start
from millstream.source import SourceText

if TYPE_CHECKING:
    from pathlib import Path

TABLES = """
CREATE TABLE t (a BIGINT, b STRING) WITH (
  'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:1', 'format' = 'json');
CREATE TABLE once (a BIGINT) WITH ('connector' = 'kafka', 'topic' = 'o', 'format' = 'json',
  'properties.bootstrap.servers' = 'localhost:1', 'sink.semantic' = 'exactly-once');
CREATE TABLE twice (a BIGINT) WITH ('connector' = 'kafka', 'topic' = 'o', 'format' = 'json',
  'properties.bootstrap.servers' = 'localhost:1');
"""
INSERT = "INSERT INTO once SELECT a FROM t WHERE a > 3;"


@pytest.mark.parametrize(
    ("number", "claim", "expected"),
    [(1, "r another.7", True), (2, "r us.1", True), (3, "r us.1", True), (2, "r another.1", False)],
)
def test_only_its_own_process_starts_a_query_again(number: int, claim: str, expected: bool) -> None:  # noqa: FBT001
    assert Start("us", number).may_follow(claim) is expected


def test_jobs_of_a_script_have_no_prefix_in_common(tmp_path: Path) -> None:
    """Where none is written it comes from the table, so two jobs may have one."""
    with Session(checkpoint=tmp_path) as session, pytest.raises(ScriptError) as caught:
        session.execute_sql(TABLES + INSERT * 2)
    [found] = caught.value.diagnostics
    assert found.code is Code.CONFLICTING_OPTIONS
    assert '"millstream-once"' in found.primary


@pytest.mark.parametrize(
    ("servers", "is_refused"),
    [("LOCALHOST:1", True), ("other:2, PLAINTEXT://localhost:1", True), ("localhost:2", False)],
)
def test_cluster_is_known_by_any_of_its_servers(servers: str, is_refused: bool) -> None:  # noqa: FBT001
    other = TABLES.partition("CREATE TABLE twice")[0].partition("CREATE TABLE once")[2].replace("localhost:1", servers)
    script = (
        f"{TABLES} CREATE TABLE `Once`{other} INSERT INTO once SELECT a FROM t; INSERT INTO `Once` SELECT a FROM t;"
    )
    prefix = "'sink.transactional-id-prefix' = 'p', 'sink.semantic'"
    program = compile_script(SourceText("s", script.replace("'sink.semantic'", prefix)), {}, {})
    found = [problem.code for problem in unbuilt_in(program)]
    assert found == [Code.CONFLICTING_OPTIONS] * is_refused


@pytest.mark.parametrize(("sink", "are_shared"), [("once", False), ("twice", True)])
def test_scans_of_a_set(sink: str, are_shared: bool) -> None:  # noqa: FBT001
    both = f"BEGIN STATEMENT SET; INSERT INTO {sink} SELECT a FROM t; INSERT INTO twice SELECT a + 1 FROM t; END;"
    [plan] = compile_script(SourceText("s", TABLES + both), {}, {}).jobs
    assert bool(plan.physical.shared) is are_shared
