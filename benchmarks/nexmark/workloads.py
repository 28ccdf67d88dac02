"""The queries of Nexmark as workloads: one dataset, and a script of its own for each."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from benchmarks.comparison.script_workload import make_script_workload, read_title
from benchmarks.comparison.systems import FLINKS, MILLSTREAM
from benchmarks.comparison.verification import ORDER
from benchmarks.harness.dataset import Dataset
from benchmarks.nexmark.messages import generate_messages

if TYPE_CHECKING:
    from benchmarks.comparison.workload import Workload

EVENTS: Final = Dataset("Nexmark's events", "", "", generate_messages)
NUMBERS: Final = tuple(range(24))
ROWS: Final = 2_000_000
_FOLDER: Final = Path(__file__).parent
_SIDE_ROWS: Final = 10_000
_EACH_ROW: Final = pl.lit(1, pl.Int64)
_PROGRESS: Final = {
    "q4": pl.col(ORDER),
    "q15": pl.col("total_bids"),
    "q16": pl.col("total_bids"),
    "q17": pl.col("total_bids"),
}
"""Of most queries, the number of rows of the result grows evenly."""
_OVER_UPDATES: Final = "Flink has no OVER aggregates of rows that are updated, so there is no result to compare with"
_BY_THE_CLOCK: Final = "Windows of the clock: no two runs have the same result"
_CANNOT: Final = {
    name: dict.fromkeys((MILLSTREAM.name, *FLINKS), reason)
    for name, reason in (("q6", _OVER_UPDATES), ("q12", _BY_THE_CLOCK))
}
_STATELESS: Final = {"q0", "q1", "q2", "q10", "q13", "q14", "q21", "q22"}


@cache
def nexmark_workloads() -> tuple[Workload, ...]:
    return tuple(_workload(f"q{number}") for number in NUMBERS)


def read_query(name: str) -> str:
    events = (_FOLDER / "events.sql").read_text(encoding="utf-8")
    return f"{events}\n{_query_file(name).read_text(encoding='utf-8')}"


def _workload(name: str) -> Workload:
    query = _query_file(name).read_text(encoding="utf-8")
    return make_script_workload(
        name,
        f"{name}, {read_title(query)}",
        EVENTS,
        rows=ROWS,
        text=read_query(name),
        flink_text=read_query(f"{name}.flink") if _query_file(f"{name}.flink").exists() else "",
        progress=_PROGRESS.get(name, _EACH_ROW),
        write_files=_write_side_input if name == "q13" else None,
        has_state=name not in _STATELESS,
        cannot=_CANNOT.get(name),
    )


def _query_file(name: str) -> Path:
    return _FOLDER / "queries" / f"{name}.sql"


def _write_side_input(folder: Path) -> None:
    """The table that q13 looks values up in."""
    lines = "".join(f"{key},value {key}\n" for key in range(_SIDE_ROWS))
    (folder / "side_input").mkdir()
    (folder / "side_input" / "rows.csv").write_text(lines, encoding="utf-8")
