"""One workload on one system, over a topic that is there already, from a cold start to the result."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from benchmarks.comparison.figures import ThroughputFigures
from benchmarks.comparison.output_topic import OutputTopic
from benchmarks.comparison.verification import AT, count_steps, find_difference, find_progress, find_steady_rate, fold
from benchmarks.harness.engines import EngineError, start_engine
from benchmarks.harness.input_topics import create_topic, delete_topic
from benchmarks.harness.processes import BROKER, HARNESS, Sampler

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from benchmarks.comparison.systems import System, Task
    from benchmarks.comparison.workload import Workload
    from benchmarks.harness.engines import EngineRun
    from benchmarks.harness.processes import Usage

_SECONDS_BETWEEN_LOOKS: Final = 0.5
_QUIET_SECONDS: Final = 3.0
_PATIENCE_SECONDS: Final = 300.0
"""Without a new message."""
_LONGEST_SECONDS: Final = 900.0
"""Until a job that ends by itself has ended."""


def measure_throughput(
    system: System, task: Task, truth: pl.DataFrame | None
) -> tuple[ThroughputFigures, pl.DataFrame]:
    """The figures, and the table that was written. Without a truth, that is taken for right.

    Raises EngineError if the system ends too early, or does not come to the right result in time.

    While it runs, only the end of the output topic is looked at. Its messages are read when no more come, and bear the
    time at which the broker received them.
    """
    task.folder.mkdir(parents=True)
    if task.workload.write_files:
        task.workload.write_files(task.folder)
    create_topic(task.brokers, task.output)
    output = OutputTopic(task.brokers, task.output, task.workload.sink)
    try:
        with Sampler() as sampler, start_engine(system.command(task), task.folder) as run:
            if task.workload.ends_by_itself:
                run.await_end(_LONGEST_SECONDS)
                written = output.read()
                _check(written, truth, task.workload, run)
            else:
                written = _await_result(task, run, output, truth)
            kept = _size_of(task.checkpoint)
    finally:
        output.close()
        delete_topic(task.brokers, task.output)
    ended = int(written[AT].max() or 0) / 1000  # type: ignore[arg-type]
    progress = find_progress(written, task.workload)
    before, after = sampler.samples[0], sampler.at(ended)
    figures = ThroughputFigures(
        cold_seconds=ended - run.started,
        steady_rows_per_second=find_steady_rate(progress, task.rows),
        bursts=count_steps(progress),
        core_seconds=_per_million(before, after, task.rows),
        peak_memory=sampler.peak_memory(until=after.at),
        messages=written.height,
        checkpoint_bytes=kept,
        written_bytes=sum(size for role, size in after.written.items() if role not in {BROKER, HARNESS}),
        others_cores=after.others_since(before) / (after.at - before.at),
    )
    return figures, fold(written, task.workload)


def _check(written: pl.DataFrame, truth: pl.DataFrame | None, workload: Workload, run: EngineRun) -> None:
    wrong = None if written.height else "it wrote nothing"
    if truth is not None and not wrong:
        wrong = find_difference(written, truth, workload)
    if wrong:
        raise EngineError(f"its result is wrong: {wrong}\n{run.last_lines()}")


def _await_result(task: Task, run: EngineRun, output: OutputTopic, truth: pl.DataFrame | None) -> pl.DataFrame:
    assert truth is not None
    count, grown, was_read = 0, time.monotonic(), False
    wrong: str | None = "it wrote nothing"
    while time.monotonic() - grown < _PATIENCE_SECONDS:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
        run.check()
        now = output.count_messages()
        if now != count:
            count, grown, was_read = now, time.monotonic(), False
        elif count and not was_read and time.monotonic() - grown > _QUIET_SECONDS:
            written, was_read = output.read(), True
            wrong = find_difference(written, truth, task.workload)
            if wrong is None:
                return written
    raise EngineError(f"its result is wrong: {wrong}\n{run.last_lines()}")


def _per_million(before: Usage, after: Usage, rows: int) -> dict[str, float]:
    used = after.since(before)
    return {role: seconds / rows * 1e6 for role, seconds in used.items() if role != HARNESS}


def _size_of(folder: Path) -> int:
    sizes = []
    for file in folder.rglob("*"):
        try:
            sizes.append(file.stat().st_size if file.is_file() else 0)
        except OSError:  # it was removed meanwhile
            continue
    return sum(sizes)
