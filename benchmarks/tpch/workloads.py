"""Three queries of TPC-H as workloads: streaming joins of tables that change."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from benchmarks.comparison.script_workload import make_script_workload, read_title
from benchmarks.comparison.verification import ORDER
from benchmarks.harness.dataset import Dataset
from benchmarks.tpch.changes import TOPICS, generate_changes

if TYPE_CHECKING:
    from benchmarks.comparison.workload import Workload

CHANGES: Final = Dataset("changes of TPC-H's tables", "", "", generate_changes, TOPICS)
ROWS: Final = 2_000_000
_FOLDER: Final = Path(__file__).parent
_PROGRESS: Final = {"q3": pl.lit(1, pl.Int64), "q5": pl.col(ORDER), "q10": pl.lit(1, pl.Int64)}


@cache
def tpch_workloads() -> tuple[Workload, ...]:
    return tuple(_workload(name) for name in _PROGRESS)


def _workload(name: str) -> Workload:
    tables, query = ((_FOLDER / file).read_text(encoding="utf-8") for file in ("tables.sql", f"queries/{name}.sql"))
    return make_script_workload(
        f"tpch_{name}",
        f"TPC-H {name}, {read_title(query)}",
        CHANGES,
        rows=ROWS,
        text=f"{tables}\n{query}",
        progress=_PROGRESS[name],
    )
