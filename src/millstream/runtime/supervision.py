"""Keeps the query of a job running: restarts it after transient failures, and reports when Kafka is unavailable."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, MillstreamError
from millstream.runtime.events import JobGoesOn, JobWaits
from millstream.spark.transient_failures import find_transient_failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.runtime.disk_watch import DiskWatch
    from millstream.runtime.events import JobEvent
    from millstream.runtime.kafka.cluster_watch import KafkaWatch
    from millstream.runtime.restarts import Restarts
    from millstream.spark.running_query import RunningQuery

_LOOK_SECONDS: Final = 0.5
_SILENCE_SECONDS: Final = 3.0
"""How long to wait for a batch before checking that Kafka responds."""
_FINISH_BATCH_SECONDS: Final = 120.0
_LEAVE_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.02


class Supervision:
    """Supervises one job from its first start to its end, across all of its queries."""

    def __init__(
        self,
        job: str,
        start: Callable[[], RunningQuery],
        *,
        end_time: Callable[[], RunningQuery | None],
        restarts: Restarts,
        kafka: KafkaWatch,
        disk: DiskWatch,
        tell: Callable[[JobEvent], None],
        explain: Callable[[MillstreamError], MillstreamError],
        on_end: Callable[[], None],
    ) -> None:
        self._job = job
        self._start = start
        self._end_time = end_time
        self._restarts = restarts
        self._kafka = kafka
        self._disk = disk
        self._tell = tell
        self._explain = explain
        self._on_end = on_end
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._over = threading.Event()
        self._failure: Exception | None = None
        self._ends_with: MillstreamError | None = None
        self._attempts = 0
        self._waits_since: float | None = None
        self._is_cut_short = False
        self._last_sign = time.monotonic()
        self._query: RunningQuery | None = None

    def begin(self) -> None:
        self._query = self._start()
        threading.Thread(target=self._supervise, name=f"millstream-{self._job}", daemon=True).start()

    @property
    def query(self) -> RunningQuery:
        """The current query, or the last one."""
        assert self._query is not None, "the job has not been started"
        return self._query

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    @property
    def is_waiting(self) -> bool:
        """Whether something that the job needs is unavailable."""
        return self._waits_since is not None

    def await_end(self, timeout: float | None) -> bool:
        return self._over.wait(timeout)

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def wake(self) -> None:
        """The query has ended, or should be checked for another reason."""
        self._woken.set()

    def on_batch_finished(self) -> None:
        """A finished batch is the surest sign that all is well."""
        self._last_sign = time.monotonic()
        self._end_waiting()
        self._attempts = 0

    def end_with(self, failure: MillstreamError) -> None:
        """Ends the query for a reason that Spark does not know of."""
        self._ends_with = failure
        self.wake()

    def stop(self, *, finish_batch: bool) -> None:
        """Returns when the query has stopped; a job that is waiting is not waited for."""
        self._stopping.set()
        self.wake()
        before, deadline = self.query.last_finished_batch, time.monotonic() + _FINISH_BATCH_SECONDS
        while (
            finish_batch
            and not (self.is_over or self.is_waiting)
            and self.query.is_in_a_batch
            and self.query.last_finished_batch == before
            and time.monotonic() < deadline
        ):
            self._over.wait(_POLL_SECONDS)
        if self.query.is_active:
            self._is_cut_short = True
            if self.is_waiting:
                self._leave_query()
            else:
                self.query.stop()
        self._over.wait()

    def _leave_query(self) -> None:
        """Spark's clients give up on an unavailable broker only after their own timeout, which may be a minute."""

        def stop(query: RunningQuery) -> None:
            with suppress(MillstreamError):  # nobody waits for it any more
                query.stop()

        stopping = threading.Thread(target=stop, args=(self.query,), daemon=True)
        stopping.start()
        stopping.join(_LEAVE_SECONDS)

    def _supervise(self) -> None:
        try:
            while True:
                fault = self._fault_of_query()
                if not (self._begin_last_query() if fault is None else self._restart_after(fault)):
                    break
        except Exception as error:  # noqa: BLE001 - whoever waits for the job gets it
            self._failure = error
        finally:
            self._over.set()
            self._on_end()

    def _fault_of_query(self) -> MillstreamError | None:
        """Waits until the query ends; None if it ended successfully or was stopped."""
        while self.query.is_active:
            self._woken.wait(_LOOK_SECONDS)
            self._woken.clear()
            if self._ends_with is not None:
                with suppress(MillstreamError):  # the reason to end it is the one to report
                    self.query.stop()
                return self._ends_with
            if self._stopping.is_set() and self.is_waiting:
                continue  # so that stopping the job need not wait for another response
            if time.monotonic() - self._last_sign > _SILENCE_SECONDS or self._stopping.is_set():
                self._look_for_kafka()
                if (full := self._disk.ask()) is not None:
                    with suppress(MillstreamError):  # a task that waits for its state cannot be stopped in time
                        self.query.stop()
                    return full
        return None if self._is_cut_short else self.query.failure()

    def _begin_last_query(self) -> bool:
        """Event time ends in a query of its own, after the one that reads rows; False if there is none."""
        if self._stopping.is_set() or (query := self._end_time()) is None:
            return False
        self._query = query
        if self._stopping.is_set():  # by a caller that had the previous query
            self.query.stop()
        return True

    def _look_for_kafka(self) -> None:
        away = self._kafka.ask()
        self._last_sign = time.monotonic()
        if away is not None and not self.is_waiting:
            self._wait_for(away)
        if away is None and not self._attempts:  # a restarted job counts as waiting until it has finished a batch
            self._end_waiting()

    def _restart_after(self, fault: MillstreamError) -> bool:
        """Returns whether the query runs again."""
        passing = find_transient_failure(fault)
        if passing is None or (passing.attempts is not None and self._attempts >= passing.attempts):
            self._failure = self._explain(fault)
            return False
        while not self._stopping.is_set():
            delay = self._restarts.delay_after_fault(time.monotonic())
            if delay is None:
                self._failure = fault
                return False
            self._attempts += 1
            self._wait_for(fault, delay)
            if not self._stopping.wait(delay):
                away = self._kafka.ask() or self._start_again()
                if away is None:
                    return True
                fault = away
        return False

    def _start_again(self) -> MillstreamError | None:
        """Kafka may become unavailable while the query is prepared."""
        try:
            self._query = self._start()
        except MillstreamError as error:
            if error.code is not Code.BROKER_UNREACHABLE:
                raise
            return error
        self._last_sign = time.monotonic()
        if self._stopping.is_set():  # by a caller that had the previous query
            self.query.stop()
        return None

    def _wait_for(self, fault: MillstreamError, retry_seconds: float | None = None) -> None:
        self._waits_since = self._waits_since or time.time()
        why = fault.diagnostics[0].primary
        self._tell(JobWaits(self._job, why, self._waits_since, self._attempts, retry_seconds))

    def _end_waiting(self) -> None:
        since, self._waits_since = self._waits_since, None
        if since is not None:
            self._tell(JobGoesOn(self._job, time.time() - since, self._attempts))
