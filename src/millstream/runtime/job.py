"""A running job."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.secrets import without_secrets_of
from millstream.errors import Code, Diagnostic, JobError, MillstreamError
from millstream.failpoints import reach
from millstream.runtime.checksums import damaged_checkpoint_error, find_damaged_files
from millstream.runtime.disk_watch import DiskWatch
from millstream.runtime.kafka.cluster_watch import KafkaWatch
from millstream.runtime.kafka.group_offsets import LAST_SECONDS
from millstream.runtime.kafka.job_topics import JobTopics
from millstream.runtime.progress import Counted, flat_offsets, least_offsets, planned_messages, progress_of
from millstream.runtime.restarts import restarts_of
from millstream.runtime.state_quota import find_excess, measure_operators
from millstream.runtime.supervision import Supervision
from millstream.state.storage import StateFileError, open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa

    from millstream.connectors.kafka.read_range import MessageCounters, ReadRange
    from millstream.plan.program import JobPlan
    from millstream.runtime.checkpoint import JobFolder
    from millstream.runtime.event_times import EventTime
    from millstream.runtime.events import JobEvent
    from millstream.runtime.kafka.clients import KafkaClients
    from millstream.runtime.progress import JobProgress
    from millstream.runtime.results import Result
    from millstream.source import Span
    from millstream.spark.running_query import RunningQuery
    from millstream.state.job_state import OperatorSize

_POLL_SECONDS: Final = 0.02
_REPORT_SECONDS: Final = 1.0
_LAST_REPORT_SECONDS: Final = 5.0
_LAST_COMMIT_SECONDS: Final = _LAST_REPORT_SECONDS + LAST_SECONDS


class Job:
    """A handle on a running job: watch it, wait for it, stop it."""

    def __init__(
        self,
        plan: JobPlan,
        folder: JobFolder,
        on_progress: Callable[[JobProgress], None],
        result: Result | None = None,
        *,
        on_event: Callable[[JobEvent], None],
        positions: Mapping[str, ReadRange],
        counters: MessageCounters,
        clients: KafkaClients,
    ) -> None:
        self.name = plan.name
        self.tables: Mapping[str, Span] = {used.table.name: used.table.span for used in plan.tables}
        self.is_bounded = plan.is_bounded
        """Whether the job ends by itself."""
        self.resumes = folder.resumes
        """Whether the job resumed from the checkpoint of an earlier run."""
        self._plan = plan
        self._folder = folder
        self._on_progress = on_progress
        self._on_event = on_event
        self._result = result
        self._tallies = counters
        self._messages_read = 0
        self._shown: int | None = None
        self._ends = _last_ends(positions.values())
        self._clients = clients
        self._topics = JobTopics(plan, folder.path, positions, clients)
        self._supervision: Supervision | None = None
        self._progress: JobProgress | None = None
        self._reported = threading.Condition()
        self._reported_offsets: dict[tuple[str, int], int] = {}
        self._last_report = threading.Event()
        self._ended = threading.Event()

    @property
    def progress(self) -> JobProgress | None:
        """The last finished batch; None before the first."""
        return self._progress

    @property
    def is_running(self) -> bool:
        """True also while the job waits for a restart."""
        return self._supervision is not None and not self._supervision.is_over

    @property
    def is_waiting(self) -> bool:
        """Whether the job waits for something that is unavailable, such as a broker."""
        return self._supervision is not None and self._supervision.is_waiting

    def show_result(self) -> None:
        """Shows what is left of the result of a SELECT that has ended; only once."""
        if self._result is not None:
            self._result.end()
            self._result = None

    def start(
        self, start_query: Callable[[], RunningQuery], end_time: Callable[[], RunningQuery | None] = lambda: None
    ) -> None:
        """`start_query` is called again after each transient failure, and `end_time` when all rows have been read."""

        def start() -> RunningQuery:
            self._last_report.clear()
            self._messages_read = self._tallies.read.value
            return start_query()

        def end() -> RunningQuery | None:
            self._last_report.wait(_LAST_REPORT_SECONDS)
            if self._progress is not None and self._progress.time_has_ended:
                return None
            self._last_report.clear()
            query = end_time()
            if query is None:
                self._last_report.set()
            return query

        self._supervision = Supervision(
            self.name,
            start,
            end_time=end,
            restarts=restarts_of(self._plan.settings.restarts),
            kafka=KafkaWatch(self._plan, self._clients),
            disk=DiskWatch(self.name, self._folder.path.parents[1]),
            tell=self._on_event,
            explain=self._name_damaged_files,
            on_end=self._finish,
        )
        self._supervision.begin()

    def await_caught_up(self, timeout: float | None = None) -> None:
        """Returns when everything that is in the topics now has been processed and written."""
        if self.is_bounded:
            if not self.await_end(timeout):
                raise self._error(f'job "{self.name}" did not end within {timeout} s')
            return
        targets = self._topics.ends_now()
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            was_running = self.is_running  # first: the job may reach the end and terminate between the two checks
            if _has_reached(self._read_committed_offsets(), targets):
                break
            self.raise_failure()
            if not was_running:
                raise self._error(f'job "{self.name}" ended before it caught up')
            if deadline is not None and time.monotonic() > deadline:
                raise self._error(f'job "{self.name}" did not catch up within {timeout} s')
            time.sleep(_POLL_SECONDS)
        with self._reported:  # so that `progress` includes it; a job that had nothing left to read reports nothing
            self._reported.wait_for(lambda: _has_reached(self._reported_offsets, targets), _REPORT_SECONDS)

    def await_end(self, timeout: float | None = None) -> bool:
        """Waits until the job ends by itself, and raises its failure. Returns False on a timeout."""
        if not self._require_supervision().await_end(timeout):
            return False
        self.raise_failure()
        self._await_last_commit()
        return True

    def stop(self, *, finish_batch: bool = True) -> None:
        """Lets the current batch finish, then stops. Raises the failure of a job that has already failed."""
        self._require_supervision().stop(finish_batch=finish_batch)
        self.raise_failure()
        if not self.is_waiting:
            self._await_last_commit()

    def raise_failure(self) -> None:
        self._require_supervision().raise_failure()

    def report(self, report: Mapping[str, Any]) -> None:
        """Receives Spark's report of a batch, on the listener's thread."""
        if not report["durationMs"].get("addBatch"):
            return  # a trigger without new data
        reach("after-batch")
        messages = self._count_messages(report)
        lost = self._topics.after_batch(report, messages)
        sizes = measure_operators(self._plan, self._folder.state)
        counted = self._counts_of(sizes, messages, sum(each.count for each in lost))
        counted = replace(counted, event_times=self._event_times(report["batchId"]))
        progress = progress_of(self.name, report, self._progress, counted)
        with self._reported:
            self._progress = progress
            for source in report["sources"]:
                self._reported_offsets |= flat_offsets(source["endOffset"])
            self._reported.notify_all()
        self._require_supervision().on_batch_finished()
        read_up_to = least_offsets(report)
        self._topics.commit(read_up_to)
        for each in lost:
            self._on_event(each)
        self._on_progress(progress)
        if (excess := find_excess(self._plan, sizes)) is not None:
            self._require_supervision().end_with(excess)
        if self.is_bounded and self._ends and _has_reached(read_up_to, self._ends):
            # Rows after the end are dropped, so they need not be read. The listener's thread must not wait for Spark.
            threading.Thread(target=self._end_early, args=(report["runId"],), daemon=True).start()

    def count_rows(self, emit: Callable[[list[str]], None]) -> Callable[[list[str]], None]:
        """Wraps `emit` so that the rows it receives count as output of the job."""

        def count(rows: list[str]) -> None:
            self._shown = (self._shown or 0) + len(rows)
            emit(rows)

        return count

    def show(self, rows: pa.Table, kinds: list[int] | None) -> None:
        """Shows rows of a SELECT."""
        assert self._result is not None
        self._shown = (self._shown or 0) + rows.num_rows
        self._result.take(rows, kinds)

    def _count_messages(self, report: Mapping[str, Any]) -> int:
        """Those that workers have read in this batch; an attempt that failed may have counted some of them, too."""
        counted = min(self._tallies.read.value - self._messages_read, planned_messages(report))
        self._messages_read += counted  # the rest belongs to a batch whose report is still to come
        return counted

    def _counts_of(self, state: tuple[OperatorSize, ...], messages: int, lost: int) -> Counted:
        shown, self._shown = self._shown, None
        return Counted(
            state=state,
            skipped=self._tallies.skipped.value,
            dead_letters=self._tallies.dead_letters.value,
            lost=lost,
            messages=messages,
            rows_in=self._plan.generated_rows if self._plan.is_bounded else None,
            rows_out=shown,
        )

    def _event_times(self, batch: int) -> tuple[EventTime, ...]:
        """The last ones that are known if a file is gone: a job that cannot read its state fails by itself."""
        if not self._plan.physical.needs_time:
            return ()
        from millstream.runtime.event_times import event_times  # loads Arrow

        try:
            return event_times(self._plan, open_storage(self._folder.state), batch)
        except StateFileError:
            return self._progress.event_times if self._progress is not None else ()

    def _end_early(self, run: str) -> None:
        query = self._require_supervision().query
        if query.run != run:  # it has ended, and another one ends event time
            return
        with suppress(MillstreamError):  # it has ended by itself, or its failure is reported elsewhere
            query.stop()

    def discreet(self, text: str) -> str:
        """Text from Spark and its Kafka clients about this job, without the secrets of its tables and settings."""
        tables = [used.table for used in self._plan.tables]
        return without_secrets_of(tables, text, self._plan.setting_texts)

    def report_end(self) -> None:
        """Called after the last report of a query."""
        self._last_report.set()
        self._require_supervision().wake()

    def _finish(self) -> None:
        if not self.is_waiting:  # what it needs is unavailable: nothing to report, and no broker to commit to
            self._last_report.wait(_LAST_REPORT_SECONDS)
            self._topics.close()
        self._clients.close()
        self._ended.set()

    def await_last_report(self, timeout: float) -> None:
        """Reports arrive with a delay; this waits for the last one of a job that has ended."""
        self._ended.wait(timeout)

    def _await_last_commit(self) -> None:
        """Waits, so that the next job of the consumer group finds what this one has read."""
        if self._topics.commits_offsets:
            self._ended.wait(_LAST_COMMIT_SECONDS)

    def _name_damaged_files(self, failure: MillstreamError) -> MillstreamError:
        """Spark does not always say that it could not read a checkpoint file, or which one."""
        may_be_it = self._progress is None and failure.code in (Code.CHECKPOINT_MISMATCH, Code.JOB_FAILED)
        damaged = find_damaged_files(self._folder.path) if self.resumes and may_be_it else []
        return damaged_checkpoint_error(self.name, damaged, failure) if damaged else failure

    def _require_supervision(self) -> Supervision:
        assert self._supervision is not None, "the job has not been started"
        return self._supervision

    def _read_committed_offsets(self) -> dict[tuple[str, int], int]:
        committed: dict[tuple[str, int], int] = {}
        for of_source in self._require_supervision().query.committed_offsets():
            for partition, offset in flat_offsets(of_source).items():  # a topic may be read by several scans
                committed[partition] = min(offset, committed.get(partition, offset))
        return committed

    def _error(self, primary: str) -> JobError:
        return JobError(Diagnostic(Code.JOB_FAILED, primary))


def _last_ends(ranges: Iterable[ReadRange]) -> dict[tuple[str, int], int]:
    """If a topic is read twice, the later end counts."""
    ends: dict[tuple[str, int], int] = {}
    for place, end in (item for found in ranges for item in (found.ends or {}).items()):
        ends[place] = max(end, ends.get(place, end))
    return ends


def _has_reached(committed: Mapping[tuple[str, int], int], targets: Mapping[tuple[str, int], int]) -> bool:
    return all(committed.get(partition, 0) >= offset for partition, offset in targets.items())
