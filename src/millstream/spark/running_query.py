"""A started streaming query, asked in our words; that Spark has died is an answer too."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError

from millstream.errors import Code, Diagnostic, JobError
from millstream.spark.failures import job_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql.streaming.query import StreamingQuery

    from millstream.errors import MillstreamError
    from millstream.source import Span


class RunningQuery:
    def __init__(self, job: str, query: StreamingQuery, tables: Mapping[str, Span]) -> None:
        self._job = job
        self._tables = tables
        self._query = query

    @property
    def is_active(self) -> bool:
        """A query whose JVM is gone is not."""
        try:
            return bool(self._query.isActive)
        except (Py4JError, OSError):
            return False

    @property
    def is_in_a_batch(self) -> bool:
        """Whether data is being processed now; looking for data does not count."""
        with self._asked():
            status = self._query.status
            return bool(status["isTriggerActive"] and status["isDataAvailable"])

    @property
    def last_finished_batch(self) -> int:
        """-1 before the first."""
        with self._asked():
            last = self._query._jsq.lastProgress()  # noqa: SLF001
            return -1 if last is None else int(last.batchId())

    def committed_offsets(self) -> list[dict[str, dict[str, int]]]:
        """Per source what finished batches have read, from Spark's own book, also right after a restart."""
        with self._asked():
            offsets = self._query._jsq.streamingQuery().committedOffsets().values().toList()  # noqa: SLF001
            return [json.loads(offsets.apply(index).json()) for index in range(offsets.size())]

    def failure(self) -> MillstreamError | None:
        with self._asked():
            error = self._query.exception()
        return None if error is None else job_error(self._job, error, self._tables)

    def stop(self) -> None:
        with self._asked():
            try:
                self._query.stop()
            except Py4JJavaError as error:
                if not self.is_active:
                    return
                raise JobError(
                    Diagnostic(
                        Code.JOB_FAILED,
                        f'job "{self._job}" did not stop in time',
                        detail="It waits for something that does not answer; a broker that is away, perhaps.",
                        hint="It has lost nothing: started again, it goes on from its last finished batch.",
                    )
                ) from error

    @contextmanager
    def _asked(self) -> Iterator[None]:
        try:
            yield
        except (Py4JError, OSError) as error:
            raise JobError(
                Diagnostic(
                    Code.JOB_FAILED,
                    f'job "{self._job}" failed: Spark ended unexpectedly',
                    hint="Start it again to go on from its last finished batch; spark.log may say why Spark ended.",
                )
            ) from error
