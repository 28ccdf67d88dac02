"""Workloads and systems that are compared with each other: where their results are kept, and where they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.comparison.systems import FLINKS, SYSTEMS
from benchmarks.comparison.workloads import PYSPARK, WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.comparison.systems import System
    from benchmarks.comparison.workload import Workload

THROUGHPUT: Final = "throughput"
LATENCY: Final = "latency"
RESULTS: Final = Path(__file__).parents[1] / "results"
DOCS: Final = Path(__file__).parents[2] / "docs"
BEST_FLINK: Final = {"Millstream : best Flink": FLINKS}


@dataclass(frozen=True, slots=True)
class Suite:
    command: str
    """That measures it and writes its page."""
    workloads: Sequence[Workload]
    systems: Sequence[System]
    kinds: Sequence[str]
    results: Path
    page: Path
    ratios: Mapping[str, Sequence[str]]
    """Columns of the tables: Millstream's figure to the best of other systems."""
    shows_medians: bool = False
    """Of the ratios of all workloads, in a last row."""

    @property
    def begin(self) -> str:
        return f"<!-- measured: begin, written by `{self.command}` -->"


COMPARISON: Final = Suite(
    "make bench",
    WORKLOADS,
    SYSTEMS,
    (THROUGHPUT, LATENCY),
    RESULTS / "comparison.json",
    DOCS / "benchmarks.md",
    {**BEST_FLINK, "Millstream : PySpark": (PYSPARK,)},
)
