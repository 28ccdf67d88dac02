"""A wrapper of a started streaming query, which also handles the death of Spark's JVM."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError, Py4JJavaError

from millstream.errors import Code, Diagnostic, JobError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql.streaming.query import StreamingQuery

    from millstream.errors import MillstreamError

_WITHOUT_REASON: Final = "Failed to create new KafkaAdminClient"
_MOST_CAUSES: Final = 10


class RunningQuery:
    """`tell` creates the job's error from Spark's message and its causes."""

    def __init__(
        self, job: str, query: StreamingQuery, tell: Callable[[BaseException, list[str]], MillstreamError]
    ) -> None:
        self._job = job
        self._query = query
        self._tell = tell

    @property
    def is_active(self) -> bool:
        """A query whose JVM is gone is not active."""
        try:
            return bool(self._query.isActive)
        except (Py4JError, OSError):
            return False

    @property
    def run(self) -> str:
        """Distinguishes it from other queries of the job."""
        return str(self._query.runId)

    @property
    def is_in_a_batch(self) -> bool:
        """Whether data is being processed now; looking for new data does not count."""
        with self._translate_failures():
            status = self._query.status
            return bool(status["isTriggerActive"] and status["isDataAvailable"])

    @property
    def last_finished_batch(self) -> int:
        """-1 before the first batch."""
        with self._translate_failures():
            last = self._query._jsq.lastProgress()  # noqa: SLF001
            return -1 if last is None else int(last.batchId())

    def committed_offsets(self) -> list[dict[str, dict[str, int]]]:
        """What finished batches have read, for each source; from Spark's own log, so also right after a restart."""
        with self._translate_failures():
            offsets = self._query._jsq.streamingQuery().committedOffsets().values().toList()  # noqa: SLF001
            return [json.loads(offsets.apply(index).json()) for index in range(offsets.size())]

    def failure(self) -> MillstreamError | None:
        with self._translate_failures():
            error = self._query.exception()
            return None if error is None else self._tell(error, self._causes(str(error)))

    def _causes(self, message: str) -> list[str]:
        """Spark reports its own exception, and of its causes only what a task raised."""
        if _WITHOUT_REASON not in message:
            return []
        found: list[str] = []
        thrown = self._query._jsq.exception().get().getCause()  # noqa: SLF001
        while thrown is not None and len(found) < _MOST_CAUSES:
            found.append(str(thrown.toString()))
            thrown = thrown.getCause()
        return found

    def stop(self) -> None:
        with self._translate_failures():
            try:
                self._query.stop()
            except Py4JJavaError as error:
                if not self.is_active:
                    return
                raise JobError(
                    Diagnostic(
                        Code.JOB_FAILED,
                        f'job "{self._job}" did not stop in time',
                        detail="It is waiting for something that does not answer, perhaps a broker.",
                        hint="It has lost nothing: started again, it continues from its last finished batch.",
                    )
                ) from error

    @contextmanager
    def _translate_failures(self) -> Iterator[None]:
        try:
            yield
        except (Py4JError, OSError) as error:
            raise JobError(
                Diagnostic(
                    Code.JOB_FAILED,
                    f'job "{self._job}" failed: Spark ended unexpectedly',
                    hint="Start it again to continue from its last finished batch; spark.log may say why Spark ended.",
                )
            ) from error
