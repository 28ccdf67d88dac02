"""The tables that Flink wrote, kept as the expected results of workloads that no other program computes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.comparison.workload import Workload

REFERENCE: Final = "flink-hashmap"
"""The system whose first result is the reference."""


class References:
    """In files beside the results: a result is compared with that of an earlier run over the same rows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, workload: Workload, rows: int) -> pl.DataFrame | None:
        file = self._file(workload, rows)
        return pl.read_parquet(file) if file.exists() else None

    def keep(self, workload: Workload, rows: int, table: pl.DataFrame) -> None:
        file = self._file(workload, rows)
        file.parent.mkdir(parents=True, exist_ok=True)
        table.write_parquet(file.with_suffix(".new"))
        file.with_suffix(".new").rename(file)

    def _file(self, workload: Workload, rows: int) -> Path:
        """Of another name if the script or the dataset is another."""
        made_from = f"{workload.text}{workload.flink_text}{workload.dataset.fingerprint(rows)}"
        digest = hashlib.sha256(made_from.encode()).hexdigest()[:8]
        return self._folder / f"{workload.name}-{rows}-{digest}.parquet"
