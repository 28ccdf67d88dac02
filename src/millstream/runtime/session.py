"""The entry point from Python: a session parses SQL and runs jobs."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from millstream.catalog.catalog import Catalog
from millstream.catalog.job_settings import JobSettings
from millstream.connectors.kafka.read_range import MessageCounters
from millstream.plan.program import JobPlan, Listing, ShowJobs, Text, compile_script
from millstream.runtime.batch_log import BatchLog
from millstream.runtime.before_start import refuse_unbuilt
from millstream.runtime.checkpoint import Checkpoint
from millstream.runtime.checkpoint_place import checkpoint_folder
from millstream.runtime.dispatching import Dispatching
from millstream.runtime.ended_jobs import refuse_to_go_on
from millstream.runtime.job import Job
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.partition_counts import partitions_of
from millstream.runtime.kafka.preflight import check_kafka
from millstream.runtime.kafka.scan_ends import keep_ends
from millstream.runtime.kafka.shared_prefixes import refuse_shared_prefixes
from millstream.runtime.kafka.topic_ids import keep_ids
from millstream.runtime.printing import (
    goes_to_standard_error,
    list_jobs,
    no_op,
    print_answer,
    print_errors,
    print_rows,
)
from millstream.runtime.results import result_of
from millstream.runtime.session_arguments import check_settings, default_checkpoint
from millstream.runtime.state_errors import damaged_state_error
from millstream.runtime.state_quota import find_excess, measure_operators
from millstream.source import SourceText
from millstream.spark.tick_numbers import TickRequest
from millstream.state.job_state import discard_after
from millstream.state.storage import StateFileError, open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from pyspark.sql import SparkSession

    from millstream.connectors.kafka.read_range import ReadRange
    from millstream.plan.program import Program, Step
    from millstream.runtime.checkpoint import JobFolder
    from millstream.runtime.events import JobEvent
    from millstream.runtime.progress import JobProgress
    from millstream.runtime.results import Result
    from millstream.spark.query import QueryRequest, QueryStart
    from millstream.spark.session import OwnedSession


_BUCKETS_PER_TASK: Final = 2
_KEPT: Final = 'job "{}" of this checkpoint is not in the script; its state is kept'


def _up_to_the_next_end(steps: Sequence[Step]) -> tuple[JobPlan, ...]:
    """The jobs from here to the first that ends by itself."""
    plans = [step for step in steps if isinstance(step, JobPlan)]
    bounded = next((position for position, plan in enumerate(plans) if plan.is_bounded), len(plans))
    return tuple(plans[: bounded + 1])


class Session:
    """Runs scripts as streaming jobs.

    >>> session = Session()                                       # doctest: +SKIP
    >>> [job] = session.execute_sql("CREATE TABLE …; INSERT INTO …")  # doctest: +SKIP
    >>> job.await_caught_up(); job.progress; job.stop()           # doctest: +SKIP

    `spark` is a SparkSession to run in; without it one is started when the first job is. Settings are those of
    SET, by their own names in `settings={"parallelism.default": "2"}`, or as keywords with `_` for `.` and `-`.
    Results of SHOW and the like go to `on_answer`, rows of a SELECT or a print table to `on_rows`: stdout by default.
    With `on_data` the rows of a SELECT go there as JSON objects instead. `on_event`, or as text `on_notice`,
    is called when a job waits for Kafka and when it continues.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        checkpoint: str | Path | None = None,
        fresh: bool = False,
        master: str | None = None,
        on_notice: Callable[[str], None] = no_op,
        on_progress: Callable[[JobProgress], None] = no_op,
        on_event: Callable[[JobEvent], None] | None = None,
        on_answer: Callable[[Listing | Text], None] = print_answer,
        on_rows: Callable[[list[str]], None] = print_rows,
        on_data: Callable[[list[str]], None] | None = None,
        settings: Mapping[str, str] | None = None,
        **named_settings: Any,
    ) -> None:
        self._given_spark = spark
        self._spark: SparkSession | None = None
        self._owned_spark: OwnedSession | None = None
        self._master = master
        self._notice = on_notice
        self._on_progress = on_progress
        self._on_event = on_event or (lambda event: on_notice(event.text))
        self._on_answer = on_answer
        self._on_rows = on_rows
        self._on_data = on_data
        self._setting_texts = check_settings({**(settings or {}), **named_settings})
        self._catalog = Catalog()
        self._root = checkpoint_folder(checkpoint) if checkpoint is not None else default_checkpoint()
        self._fresh = fresh
        self._checkpoint: Checkpoint | None = None
        self._jobs: list[Job] = []
        self._keeps_rows_in_python = False
        self._told: set[str] = set()

    @property
    def jobs(self) -> tuple[Job, ...]:
        return tuple(self._jobs)

    def compile(
        self,
        text: str,
        name: str = "<sql>",
        parameters: Mapping[str, str] | None = None,
        overrides: Mapping[str, str] | None = None,
    ) -> Program:
        """Understands a script without running it; its tables stay known to the session.

        `overrides` are settings that win over a SET in the script. Modules that CREATE FUNCTION names are imported.
        """
        catalog = self._catalog.copy()
        running = [job.name for job in self._jobs if job.is_running or job.is_bounded]
        source = SourceText(name, text)
        program = compile_script(
            source,
            parameters or {},
            self._setting_texts,
            catalog,
            running_jobs=running,
            overrides=overrides,
            imports=True,
        )
        self._catalog, self._setting_texts = catalog, dict(program.setting_texts)
        return program

    def execute_sql(
        self,
        text: str,
        *,
        name: str = "<sql>",
        parameters: Mapping[str, str] | None = None,
        drain: bool = False,
    ) -> tuple[Job, ...]:
        """Runs a script; gives a handle for each INSERT and SELECT, in order.

        With `drain` the jobs end by themselves when they have processed what is in the topics now.
        """
        return self.start(self.compile(text, name, parameters), drain=drain)

    def start(self, program: Program, *, drain: bool = False) -> tuple[Job, ...]:
        """Executes the steps of a compiled script in order, and waits for each job that ends by itself."""
        jobs = []
        for job in self.walk(program, drain=drain):
            jobs.append(job)
            if job.is_bounded:
                job.await_end()
                job.show_result()
        return tuple(jobs)

    def walk(self, program: Program, *, drain: bool = False, is_last: bool = False) -> Iterator[Job]:
        """Like `start`, but leaves the waiting to the caller. Spark is prepared for nothing else if it `is_last`.

        No job starts before all are checked, up to one that ends by itself: later ones are checked with Kafka and Spark
        when it has ended, because it may create the topics and files that they read.
        """
        refuse_unbuilt(program)
        self._tell_once(program.notices)
        self._keeps_rows_in_python = is_last and program.keeps_rows_in_python
        prepared: list[tuple[Job, QueryStart]] = []
        for position, step in enumerate(program.steps):
            match step:
                case JobPlan():
                    if not self._fresh:
                        here = [*(job.name for job in program.jobs), *(job.name for job in self._jobs)]
                        self._tell_once(map(_KEPT.format, self._open_checkpoint().jobs_beside(here)))
                    prepared = prepared or self._prepare(_up_to_the_next_end(program.steps[position:]), drain=drain)
                    yield self._launch(*prepared.pop(0))
                case ShowJobs():
                    self._on_answer(list_jobs(self._jobs))
                case Listing() | Text():
                    self._on_answer(step)

    def _tell_once(self, notices: Iterable[str]) -> None:
        for notice in notices:
            if notice not in self._told:
                self._told.add(notice)
                self._notice(notice)

    def _prepare(self, plans: tuple[JobPlan, ...], *, drain: bool) -> list[tuple[Job, QueryStart]]:
        checkpoint = self._open_checkpoint()
        if not self._fresh:
            plans = tuple(checkpoint.pin_to_checkpoint(plan) for plan in plans)
        folders = [None if self._fresh else checkpoint.find_job(plan) for plan in plans]
        for plan, found in zip(plans, folders, strict=True):
            if found is not None and (notice := refuse_to_go_on(plan, found, drain=drain)) is not None:
                self._notice(notice)
        clients = [KafkaClients() for _ in plans]
        positions = [
            check_kafka(plan, asking, self._notice, resumes=folder.path if folder is not None else None)
            for plan, folder, asking in zip(plans, folders, clients, strict=True)
        ]
        refuse_shared_prefixes(plans)
        if self._fresh:
            checkpoint.clear()
            self._fresh = False
        from millstream.spark.query import QueryStart

        spark = self._open_spark(checkpoint)
        prepared = []
        for plan, found, ranges, asking in zip(plans, folders, positions, clients, strict=True):
            folder = found or checkpoint.new_job(plan, _buckets(plan.settings))
            keep_ends(folder.path, [ranges[scan.id].ends if scan.id in ranges else None for scan in plan.scans])
            keep_ids(folder.path, plan, asking)
            counters = MessageCounters(*(spark.sparkContext.accumulator(0) for _ in range(3)))
            job = Job(
                plan,
                folder,
                self._on_progress,
                self._result_of(plan),
                on_event=self._on_event,
                positions=ranges,
                counters=counters,
                clients=asking,
            )
            counted = {scan: replace(found, counters=counters) for scan, found in ranges.items()}
            dispatching = Dispatching(plan, folder, asking, self._notice)
            ask = partial(self._request, plan, folder, counted, job, dispatching, drain=drain)
            prepared.append((job, QueryStart(spark, ask, partial(checkpoint.record_start, plan))))
        return prepared

    def _request(
        self,
        plan: JobPlan,
        folder: JobFolder,
        positions: Mapping[str, ReadRange],
        job: Job,
        dispatching: Dispatching,
        *,
        drain: bool,
    ) -> QueryRequest:
        from millstream.spark.kernel_stage import KernelSettings
        from millstream.spark.query import QueryRequest

        settings = plan.settings
        _discard_unfinished(folder)
        if (excess := find_excess(plan, measure_operators(plan, folder.state))) is not None:
            raise excess
        return QueryRequest(
            job=plan,
            checkpoint=folder.path,
            kernel_settings=KernelSettings(
                folder.buckets,
                folder.state,
                ttl_ms=settings.state_ttl // timedelta(milliseconds=1),
                state_expires=plan.physical.state_expires,
            ),
            positions=positions,
            max_batch_rows=settings.max_batch_rows,
            interval_ms=settings.trigger_interval_ms,
            drain=drain,
            partitions_of=partitions_of,
            printed=job.count_rows(print_errors if goes_to_standard_error(plan) else self._on_rows),
            shown=job.show,
            dispatch=dispatching.begin(),
            ticks=_ticks(plan, folder),
        )

    def _result_of(self, plan: JobPlan) -> Result | None:
        if not plan.is_shown:
            return None
        return result_of(plan, self._on_data or self._on_rows, as_data=self._on_data is not None)

    def _launch(self, job: Job, query: QueryStart) -> Job:
        if job.resumes:
            self._notice(f'job "{job.name}" continues where it stopped')
        job.start(lambda: query(job), lambda: query.end_time(job))
        self._jobs.append(job)
        return job

    def stop(self, *, finish_batches: bool = True) -> None:
        """Stops all jobs, each after its batch, and the Spark session if this session started it."""
        with ExitStack() as at_the_end:
            at_the_end.callback(self._release)
            for job in self._jobs:
                if job.is_running:
                    at_the_end.callback(job.stop, finish_batch=finish_batches)

    def _release(self) -> None:
        try:
            if self._owned_spark is not None:
                self._owned_spark.close(soon=any(job.is_waiting for job in self._jobs))
        finally:
            self._spark = self._owned_spark = None
            if self._checkpoint is not None:
                self._checkpoint.release()
                self._checkpoint = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _open_checkpoint(self) -> Checkpoint:
        if self._checkpoint is None:
            self._checkpoint = Checkpoint(self._root, fresh=self._fresh)
        return self._checkpoint

    def _open_spark(self, checkpoint: Checkpoint) -> SparkSession:
        from millstream.spark.session import OwnedSession, adopt_session

        settings = JobSettings.of(self._setting_texts)
        if self._spark is None:
            if self._given_spark is not None:
                self._spark = adopt_session(self._given_spark, settings.parallelism)
            else:
                self._owned_spark = OwnedSession(
                    settings,
                    _parallelism(settings),
                    self._master,
                    checkpoint.log,
                    self._notice,
                    lock=checkpoint.lock,
                    keeps_rows_in_python=self._keeps_rows_in_python,
                )
                self._spark = self._owned_spark.spark
        return self._spark


def _parallelism(settings: JobSettings) -> int:
    return settings.parallelism or os.cpu_count() or 1


def _discard_unfinished(folder: JobFolder) -> None:
    try:
        discard_after(open_storage(folder.state), BatchLog(folder.path).last_finished)
    except StateFileError as error:
        raise damaged_state_error(error) from None


def _ticks(plan: JobPlan, folder: JobFolder) -> TickRequest | None:
    """Every job with kernels can tick, so that a TTL may be added without changing what Spark finds in its log."""
    if not (folder.has_ticks and plan.physical.has_kernels):
        return None
    log, interval = BatchLog(folder.path), plan.physical.tick_interval
    seconds = None if interval is None else interval.total_seconds()
    return TickRequest(log.tick_of(log.last_finished), log.tick_of(log.last_begun), seconds)


def _buckets(settings: JobSettings) -> int:
    return settings.state_buckets or _BUCKETS_PER_TASK * _parallelism(settings)
