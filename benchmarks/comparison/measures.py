"""The measures that the page shows: where each comes from, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.comparison.figures import LatencyFigures, Run, ThroughputFigures


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    """Of the file of its chart."""
    title: str
    unit: str
    explanation: str
    value: Callable[[Run], float | None]
    write: Callable[[float], str]
    more_is_better: bool = False
    has_chart: bool = True


def _of_throughput(value: Callable[[ThroughputFigures], float | None]) -> Callable[[Run], float | None]:
    return lambda run: value(run.throughput) if run.throughput else None


def _of_latency(value: Callable[[LatencyFigures], float]) -> Callable[[Run], float | None]:
    return lambda run: value(run.latency) if run.latency else None


def _thousands(value: float) -> str:
    return f"{value / 1000:,.0f} k"


def _one_digit(value: float) -> str:
    return f"{value:,.1f}"


def _two_digits(value: float) -> str:
    return f"{value:,.2f}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:,.0f}"


MEASURES: Final = (
    Measure(
        "steady-rate",
        "Steady rate",
        "rows/s",
        "Input rows per second over the last third of the output.",
        _of_throughput(lambda figures: figures.steady_rows_per_second),
        _thousands,
        more_is_better=True,
    ),
    Measure(
        "cold-start",
        "Cold start to result",
        "s",
        "From the start of the process until the output topic holds the whole result.",
        _of_throughput(lambda figures: figures.cold_seconds),
        _one_digit,
    ),
    Measure(
        "core-seconds",
        "Core-seconds per million rows",
        "core-s",
        "All processes of the system and the broker, from the cold start to the result.",
        _of_throughput(lambda figures: sum(figures.core_seconds.values())),
        _two_digits,
    ),
    Measure(
        "latency-p50",
        "Latency at 1,000 rows/s, p50",
        "ms",
        "From a record's producer to a reader of the results, half of the records.",
        _of_latency(lambda figures: figures.p50_ms),
        _whole,
    ),
    Measure(
        "latency-p99",
        "Latency at 1,000 rows/s, p99",
        "ms",
        "The same, 99 of 100 records.",
        _of_latency(lambda figures: figures.p99_ms),
        _whole,
    ),
    Measure(
        "latency-cores",
        "Cores used at 1,000 rows/s",
        "cores",
        "All processes of the system.",
        _of_latency(lambda figures: figures.cores),
        _two_digits,
        has_chart=False,
    ),
    Measure(
        "memory",
        "Peak memory",
        "MB",
        "All processes of the system, without pages of mapped files.",
        _of_throughput(lambda figures: figures.peak_memory),
        _megabytes,
    ),
    Measure(
        "messages",
        "Messages written",
        "messages",
        "To the output topic, for the whole input.",
        _of_throughput(lambda figures: figures.messages),
        _whole,
        has_chart=False,
    ),
    Measure(
        "checkpoint",
        "Checkpoint",
        "MB",
        "The size of the checkpoint folder when the result is there.",
        _of_throughput(lambda figures: figures.checkpoint_bytes),
        _megabytes,
        has_chart=False,
    ),
    Measure(
        "written",
        "Written to files",
        "MB",
        "By all processes of the system, as the kernel counts it: checkpoints, state, shuffles and logs.",
        _of_throughput(lambda figures: figures.written_bytes),
        _megabytes,
        has_chart=False,
    ),
)
