"""Each workload compiles, its truth is what DuckDB computes, and every system runs it or says why not."""

from __future__ import annotations

import ast
from pathlib import Path

import duckdb
import polars as pl
import pytest

from benchmarks.comparison import plain_spark
from benchmarks.comparison.systems import SYSTEMS
from benchmarks.comparison.workload import INPUT, Workload
from benchmarks.comparison.workloads import PATHWAY, PYSPARK, WORKLOADS
from benchmarks.harness.datasets import DEBEZIUM, UPSERTS
from millstream.catalog.catalog import Catalog
from millstream.plan.program import compile_script
from millstream.source import SourceText

PATHWAY_JOBS = Path(plain_spark.__file__).with_name("pathway_jobs.py")


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_script_compiles(workload: Workload) -> None:
    script = workload.script("localhost:9092", "input", "output")
    compile_script(SourceText(workload.name, script), {}, {}, Catalog())


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_truth_is_what_duckdb_computes(workload: Workload) -> None:
    rows = pl.concat(part.rows for part in workload.dataset.generate(120_000))
    names = ", ".join(workload.sink.names)
    with duckdb.connect() as database:
        database.register("changes", rows.with_row_index("number").to_arrow())
        database.execute(f"CREATE VIEW {INPUT} AS {_table_of(workload)}")
        expected = database.sql(f"SELECT {names} FROM ({workload.query}) ORDER BY ALL").fetchall()
    assert workload.truth
    found = workload.truth(rows).select(workload.sink.names).sort(workload.sink.names).rows()
    assert found == expected


def _table_of(workload: Workload) -> str:
    """Of changes, the orders that are left."""
    if workload.dataset not in (DEBEZIUM, UPSERTS):
        return "SELECT * FROM changes"
    return "SELECT * FROM changes QUALIFY number = MAX(number) OVER (PARTITION BY id) AND op <> 'd'"


def test_every_system_runs_a_workload_or_says_why_not() -> None:
    names = {workload.name for workload in WORKLOADS}
    written = {PYSPARK: set(plain_spark.JOBS), PATHWAY: _pathway_jobs()}
    for system, jobs in written.items():
        refused = {workload.name for workload in WORKLOADS if system in workload.cannot}
        assert jobs | refused == names
        assert not jobs & refused


def test_workloads_name_only_systems_that_exist() -> None:
    assert {name for workload in WORKLOADS for name in workload.cannot} <= {system.name for system in SYSTEMS}


def _pathway_jobs() -> set[str]:
    """Read, not imported: Pathway is in another environment."""
    for node in ast.parse(PATHWAY_JOBS.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "JOBS":
            assert isinstance(node.value, ast.Dict)
            return {ast.literal_eval(key) for key in node.value.keys if key}
    raise AssertionError("no JOBS")
