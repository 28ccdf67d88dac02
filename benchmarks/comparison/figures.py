"""What one run measured, and what several runs come to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class ThroughputFigures:
    cold_seconds: float
    """From the start of the process until the output topic held the result."""
    steady_rows_per_second: float | None
    """Over the last third of the progress."""
    bursts: int
    """Of output messages: about the number of batches."""
    core_seconds: Mapping[str, float]
    """Per million rows, by role of process."""
    peak_memory: int
    """Bytes, of all processes but the broker."""
    messages: int
    checkpoint_bytes: int
    """In the checkpoint folder at the end."""
    written_bytes: int
    """To files, by all processes but the broker."""
    others_cores: float
    """Cores that other processes on the machine used meanwhile."""


@dataclass(frozen=True, slots=True)
class LatencyFigures:
    rows_per_second: int
    p50_ms: float
    p99_ms: float
    cores: float
    """Of all processes but the broker, while rows arrived."""
    others_cores: float


@dataclass(frozen=True, slots=True)
class Run:
    """Identified by everything but its figures."""

    workload: str
    system: str
    version: str
    rows: int
    """Of a latency run: 0."""
    repeat: int
    throughput: ThroughputFigures | None = None
    latency: LatencyFigures | None = None

    @property
    def identity(self) -> tuple[str, str, str, int, int]:
        return self.workload, self.system, self.version, self.rows, self.repeat

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def of_json(cls, entry: Mapping[str, Any]) -> Self:
        throughput, latency = entry.get("throughput"), entry.get("latency")
        return cls(
            **{
                **entry,
                "throughput": ThroughputFigures(**throughput) if throughput else None,
                "latency": LatencyFigures(**latency) if latency else None,
            }
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several measurements, and the least and the greatest."""

    median: float
    least: float
    greatest: float
    number: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Self | None:
        measured = [value for value in values if value is not None]
        return cls(median(measured), min(measured), max(measured), len(measured)) if measured else None


def select_newest(runs: Iterable[Run]) -> list[Run]:
    """Of each workload and system, the runs with the version and number of rows of its newest run."""
    groups: dict[tuple[str, str, bool], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.workload, run.system, run.latency is not None), []).append(run)
    return [
        run
        for group in groups.values()
        for run in group
        if (run.version, run.rows) == (group[-1].version, group[-1].rows)
    ]
