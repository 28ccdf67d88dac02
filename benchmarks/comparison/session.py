"""Runs everything that a plan asks for and the results do not have yet, with one broker per dataset."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from benchmarks.comparison.figures import Run
from benchmarks.comparison.latency import measure_latency, number_of_rows
from benchmarks.comparison.references import REFERENCE, References
from benchmarks.comparison.suite import LATENCY
from benchmarks.comparison.systems import System, Task
from benchmarks.comparison.throughput import measure_throughput
from benchmarks.comparison.workload import INPUT, Workload
from benchmarks.harness.datasets import PARTITIONS, encode_page_views
from benchmarks.harness.engines import EngineError
from benchmarks.harness.input_topics import fill_topic
from benchmarks.harness.packages import MissingError
from benchmarks.harness.page_views import page_views
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.comparison.results import Results
    from benchmarks.harness.dataset import Messages

_FIRST_PAGE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    workloads: Sequence[Workload]
    systems: Sequence[System]
    rows: int | None
    """Instead of each workload's own number."""
    repeats: int
    kinds: Sequence[str]
    command: str = "make bench"


@dataclass(frozen=True, slots=True)
class Step:
    """A run that is still to be made."""

    workload: Workload
    system: System
    run: Run

    @property
    def is_for_latency(self) -> bool:
        return self.run.rows == 0

    def __str__(self) -> str:
        what = "latency" if self.is_for_latency else f"{self.run.rows:,} rows"
        return f"{self.workload.name}, {self.system.name}, {what}, run {self.run.repeat + 1}"


def list_steps(plan: Plan, results: Results) -> list[Step]:
    """Repeats are interleaved: all systems make their first run of a workload before any makes its second."""
    steps = []
    for _, group in groupby(plan.workloads, lambda workload: workload.dataset.name):
        workloads = list(group)
        for kind in plan.kinds:
            for repeat in range(plan.repeats):
                for workload in workloads:
                    if kind == LATENCY and workload.arrival is None:
                        continue
                    rows = 0 if kind == LATENCY else plan.rows or workload.rows
                    for system in _in_order(plan.systems):
                        run = Run(workload.name, system.name, system.version(), rows, repeat)
                        if system.reason_against(workload) is None and not results.holds(run):
                            steps.append(Step(workload, system, run))
    return steps


def _in_order(systems: Sequence[System]) -> list[System]:
    """That which writes the expected results comes first."""
    return sorted(systems, key=lambda system: system.name != REFERENCE)


def run_plan(plan: Plan, results: Results) -> list[str]:
    """Returns what could not be measured, each with the reason."""
    steps = list_steps(plan, results)
    for system in {step.system.name: step.system for step in steps}.values():
        _prepare(system, plan)
    print(f"{len(steps)} runs to make, {len(results.runs)} in the results", flush=True)
    failures: list[str] = []
    to_go = len(steps)
    for dataset, group in groupby(steps, lambda step: step.workload.dataset.name):
        with (
            tempfile.TemporaryDirectory(prefix="millstream-bench-") as name,
            EmbeddedBroker(partitions=PARTITIONS) as broker,
        ):
            bench = Bench(broker.bootstrap, Path(name), References(results.folder / "references"))
            print(f"== {dataset}", flush=True)
            for step in group:
                to_go -= 1
                print(f"{step} …", end=" ", flush=True)
                try:
                    run = bench.measure(step)
                except EngineError as error:
                    failures.append(f"{step}: {error}")
                    print(f"no figure: {str(error).splitlines()[0]}", flush=True)
                    continue
                results.add(run)
                print(f"{_summary(run)}; {to_go} to go", flush=True)
    return failures


def _prepare(system: System, plan: Plan) -> None:
    """Now, because a download is not part of a run."""
    try:
        system.prepare()
    except MissingError as error:
        others = ",".join(other.name for other in plan.systems if other is not system)
        raise MissingError(f"{error}\nWithout {system.title}: {plan.command} SYSTEMS={others}") from error


class Bench:
    """One broker, and the topics that are filled on it."""

    def __init__(self, brokers: str, folder: Path, references: References) -> None:
        self._brokers = brokers
        self._folder = folder
        self._references = references
        self._number = 0
        self._rows: dict[str, pl.DataFrame] = {}
        self._truths: dict[str, pl.DataFrame] = {}

    def measure(self, step: Step) -> Run:
        self._number += 1
        task = Task(
            workload=step.workload,
            brokers=self._brokers,
            source=f"latency-{self._number}" if step.is_for_latency else f"{INPUT}-{step.run.rows}",
            output=f"results-{self._number}",
            folder=self._folder / f"{self._number}-{step.system.name}",
            rows=step.run.rows or number_of_rows(),
            for_latency=step.is_for_latency,
        )
        try:
            if step.is_for_latency:
                return replace(step.run, latency=measure_latency(step.system, task, latency_messages()))
            truth = self._truth(task)
            if truth is None and step.system.name != REFERENCE:
                raise EngineError(f"nothing to compare its result with: {REFERENCE} has not made a run")
            figures, table = measure_throughput(step.system, task, truth)
            if truth is None:
                self._references.keep(task.workload, task.rows, table)
            return replace(step.run, throughput=figures)
        finally:
            shutil.rmtree(task.folder, ignore_errors=True)

    def _truth(self, task: Task) -> pl.DataFrame | None:
        if task.source not in self._rows:
            begin = time.monotonic()
            self._rows[task.source] = fill_topic(self._brokers, task.source, task.workload.dataset, task.rows)
            print(f"(topic filled in {time.monotonic() - begin:.0f} s)", end=" ", flush=True)
        if task.workload.truth is None:
            return self._references.find(task.workload, task.rows)
        if task.workload.name not in self._truths:
            self._truths[task.workload.name] = task.workload.truth(self._rows[task.source])
        return self._truths[task.workload.name]


def latency_messages() -> Messages:
    """Page views with a page of its own each, so that a reader knows a row again."""
    views = pl.DataFrame(page_views(number_of_rows(), seed=3, users=1_000_000))
    return encode_page_views(views.with_columns((_FIRST_PAGE + pl.int_range(pl.len())).alias("page_id")))


def _summary(run: Run) -> str:
    if run.latency:
        return f"p50 {run.latency.p50_ms:.0f} ms, p99 {run.latency.p99_ms:.0f} ms"
    assert run.throughput
    steady = run.throughput.steady_rows_per_second
    cores = sum(run.throughput.core_seconds.values())
    rate = f"{steady:,.0f} rows/s steady, " if steady else ""
    return f"{run.throughput.cold_seconds:.1f} s, {rate}{cores:.2f} core-s per M rows"
