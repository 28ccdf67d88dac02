"""Nexmark's queries on Millstream and on Flink."""

from __future__ import annotations

from typing import Final

from benchmarks.comparison.suite import BEST_FLINK, DOCS, RESULTS, THROUGHPUT, Suite
from benchmarks.comparison.systems import FLINKS, MILLSTREAM, SYSTEMS
from benchmarks.nexmark.workloads import nexmark_workloads

NEXMARK: Final = Suite(
    "make nexmark",
    nexmark_workloads(),
    [system for system in SYSTEMS if system.name in (MILLSTREAM.name, *FLINKS)],
    (THROUGHPUT,),
    RESULTS / "nexmark.json",
    DOCS / "benchmarks" / "nexmark.md",
    BEST_FLINK,
    shows_medians=True,
)
