"""Queries of TPC-H on Millstream and on Flink."""

from __future__ import annotations

from typing import Final

from benchmarks.comparison.suite import BEST_FLINK, DOCS, RESULTS, THROUGHPUT, Suite
from benchmarks.comparison.systems import FLINKS, MILLSTREAM, SYSTEMS
from benchmarks.tpch.workloads import tpch_workloads

TPCH: Final = Suite(
    "make tpch",
    tpch_workloads(),
    [system for system in SYSTEMS if system.name in (MILLSTREAM.name, *FLINKS)],
    (THROUGHPUT,),
    RESULTS / "tpch.json",
    DOCS / "benchmarks" / "tpch.md",
    BEST_FLINK,
    shows_medians=True,
)
