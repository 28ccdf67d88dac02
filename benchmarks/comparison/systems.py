"""The systems of the comparison, each as a command that runs one workload, with its settings."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.comparison import plain_spark
from benchmarks.comparison.flink import FLINK_VERSION, flink_command, flink_settings
from benchmarks.comparison.workloads import PATHWAY, PYSPARK
from benchmarks.harness.engine_jars import flink_jars, spark_jars
from benchmarks.harness.engines import PARALLELISM, Command
from benchmarks.harness.pathway_environment import PATHWAY_VERSION, pathway_python

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.comparison.workload import Workload

_ROOT: Final = Path(__file__).parents[2]
_PATHWAY_JOBS: Final = Path(__file__).with_name("pathway_jobs.py")
_LARGEST_BATCH: Final = 1_000_000
_BATCHES: Final = 18
"""At least 15 are needed for a steady rate; the first ones are smaller where a system reads ahead."""


@dataclass(frozen=True, slots=True)
class Task:
    """One workload to run: what to read and write, and where to keep files."""

    workload: Workload
    brokers: str
    source: str
    output: str
    folder: Path
    rows: int
    for_latency: bool = False
    """At a fixed rate: settings that favour latency over throughput."""

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def script(self, *, for_flink: bool = False) -> str:
        return self.workload.script(self.brokers, self.source, self.output, self.folder, for_flink=for_flink)

    @property
    def batch_rows(self) -> int:
        """The most rows of a batch, for systems that have batches."""
        return _LARGEST_BATCH if self.for_latency else max(min(_LARGEST_BATCH, self.rows // _BATCHES), 1)


@dataclass(frozen=True, slots=True)
class System:
    name: str
    title: str
    version: Callable[[], str]
    command: Callable[[Task], Command]
    settings: Mapping[str, str]
    """Shown on the page."""
    prepare: Callable[[], object] = field(default=lambda: None)
    """Downloads what is missing."""
    needs_state: bool = False
    """Differs from another system in its state only, so workloads without state are left out."""

    def reason_against(self, workload: Workload) -> str | None:
        """Why it does not run a workload."""
        if self.needs_state and not workload.has_state:
            return "Without state the backend makes no difference"
        return workload.cannot.get(self.name)


def _millstream(task: Task) -> Command:
    script = task.folder / "script.sql"
    script.write_text(task.script(), encoding="utf-8")
    settings = {"parallelism.default": PARALLELISM, "millstream.batch.max-rows": task.batch_rows}
    options = [option for key, value in settings.items() for option in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "millstream.cli.main", "run", str(script)]
    return Command([*command, "--checkpoint", str(task.checkpoint), *options], {})


@cache
def _millstream_version() -> str:
    """The package's, and the commit of the sources."""
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--", "src"], cwd=_ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return f"{version('millstream')}+{commit}" if commit else version("millstream")


def _pyspark(task: Task) -> Command:
    module = [sys.executable, "-m", "benchmarks.comparison.plain_spark", task.workload.name]
    places = [task.brokers, task.source, task.output, str(task.checkpoint), str(task.batch_rows)]
    return Command([*module, *places], {"PYTHONPATH": ":".join(map(str, (_ROOT, _ROOT / "src")))})


def _pathway(task: Task) -> Command:
    commit_ms = "50" if task.for_latency else "1000"
    places = [task.brokers, task.source, task.output, str(task.checkpoint), commit_ms]
    command = [str(pathway_python()), str(_PATHWAY_JOBS), task.workload.name, *places]
    return Command(command, {"PATHWAY_THREADS": str(PARALLELISM)})


def _flink(backend: str) -> System:
    return System(
        f"flink-{backend}",
        f"Flink, {'heap' if backend == 'hashmap' else 'RocksDB'}",
        lambda: FLINK_VERSION,
        lambda task: flink_command(
            task.script(for_flink=True),
            task.folder,
            flink_settings(backend, task.checkpoint, mini_batch=not task.for_latency),
        ),
        flink_settings(backend, None, mini_batch=True),
        flink_jars,
        needs_state=backend != "hashmap",
    )


MILLSTREAM: Final = System(
    "millstream",
    "Millstream",
    _millstream_version,
    _millstream,
    {"parallelism.default": str(PARALLELISM), "millstream.batch.max-rows": f"rows / {_BATCHES}, at most 1 M"},
)
SYSTEMS: Final = (
    MILLSTREAM,
    _flink("hashmap"),
    _flink("rocksdb"),
    System(PYSPARK, "PySpark, by hand", lambda: version("pyspark"), _pyspark, plain_spark.SETTINGS, spark_jars),
    System(
        PATHWAY,
        "Pathway",
        lambda: PATHWAY_VERSION,
        _pathway,
        {
            "PATHWAY_THREADS": str(PARALLELISM),
            "autocommit_duration_ms": "1000",
            "max_backlog_size": "200000",
            "snapshot_interval_ms": "10000",
        },
        pathway_python,
    ),
)
FLINKS: Final = tuple(system.name for system in SYSTEMS if system.name.startswith("flink"))
